/* SPDX-License-Identifier: Apache-2.0 */
/* Products on the GPU, launched or by blocks that stay. */
#include <string.h>

#include "experiments/common/gpu_work.h"
#include "experiments/machine/task_queue/products.h"
#include "prem/base/clock.h"
#include "runtime/core/ring.h"

/** Unless something went wrong before. */
#define NEXT(call) error = error == cudaSuccess ? (call) : error

namespace {

enum { STREAMS = 8, ONE_THREAD_TURNS = 3 };
constexpr uint64_t stop = UINT64_MAX; /* in place of a number of tasks */

/** On the GPU; */
struct near_words {
  prem_ring_line there; /* tasks that have come, of all turns */
  prem_ring_line next;  /* the next that no block has */
};
/** in the host's memory. */
struct far_words {
  prem_ring_line asked; /* as `there` */
  prem_ring_line done[PRODUCT_TASKS];
  uint64_t values[PRODUCT_TASKS]; /* of `there`, to be copied */
};

/** Where tasks begin; where they are worked the results may lie elsewhere. */
struct task_data {
  const char *in;
  char *out;
  uint64_t stride, extra;
};

/* ---- on the GPU ------------------------------------------------------------------------------ */

__device__ void multiply(const task_data &data, uint32_t task) {
  __shared__ float factors[2 * PRODUCT_FLOATS];
  const float *in = (const float *)(data.in + task * data.stride);
  float *out = (float *)(data.out + task * data.stride + PRODUCT_IN_BYTES + data.extra);
  for (uint32_t i = threadIdx.x; i < 2 * PRODUCT_FLOATS; i += blockDim.x)
    factors[i] = in[i];
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < PRODUCT_FLOATS; i += blockDim.x)
    out[i] = product_element(factors, factors + PRODUCT_FLOATS, PRODUCT_SIDE, i / PRODUCT_SIDE,
                             i % PRODUCT_SIDE);
}

__global__ void work_tasks(task_data data, uint32_t first) {
  multiply(data, first + blockIdx.x);
}

/** Until the word is above `than`, and not `stop`; false: it is, or patience has ended. */
__device__ bool await_above(const prem_word *word, uint64_t than, int64_t patience_ns,
                            uint64_t *value) {
  const int64_t end_ns = prem_clock_ns() + patience_ns;
  while ((*value = prem_word_far(word)) <= than) {
    if (prem_clock_ns() > end_ns)
      return false;
    __nanosleep(20);
  }
  return *value != stop;
}

/** One thread: what the host asks for, to all blocks. */
__device__ void carry(near_words *words, const far_words *far, int64_t patience_ns) {
  uint64_t asked = 0;
  while (await_above(&far->asked.word, asked, patience_ns, &asked))
    prem_word_set_far(&words->there.word, asked);
  prem_word_set_far(&words->there.word, stop);
}

/** Blocks that stay. `is_carried`: the last of them looks at the host's word for all. */
__global__ void serve(near_words *words, far_words *far, task_data data, bool is_carried,
                      int64_t patience_ns) {
  __shared__ uint64_t drawn;
  if (is_carried && blockIdx.x + 1 == gridDim.x) {
    if (threadIdx.x == 0)
      carry(words, far, patience_ns);
    return;
  }
  for (;;) {
    if (threadIdx.x == 0) {
      uint64_t there;
      const uint64_t ticket = prem_add_relaxed(&words->next.word, 1);
      drawn = await_above(&words->there.word, ticket, patience_ns, &there) ? ticket : stop;
    }
    __syncthreads();
    const uint64_t ticket = drawn;
    if (ticket == stop)
      return;
    const uint32_t task = (uint32_t)(ticket % PRODUCT_TASKS);
    multiply(data, task);
    const uint64_t at = task * data.stride + PRODUCT_IN_BYTES;
    for (uint64_t i = threadIdx.x; data.in != data.out && i < data.extra / 16; i += blockDim.x)
      ((ulonglong2 *)(data.out + at))[i] = ((const ulonglong2 *)(data.in + at))[i];
    prem_fence_far();
    __syncthreads();
    if (threadIdx.x == 0)
      prem_word_set_far(&far->done[task].word, ticket / PRODUCT_TASKS + 1);
  }
}

__global__ void one_thread(const float *factors, float *product, uint32_t side) {
  for (uint32_t row = 0; row < side; ++row)
    for (uint32_t column = 0; column < side; ++column)
      product[row * side + column] =
          product_element(factors, factors + side * side, side, row, column);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

struct shop {
  const product_run *run;
  char *in, *out, *data; /* the host's; the GPU's */
  uint64_t stride, in_bytes, out_bytes;
  near_words *words;
  far_words *far;
  cudaStream_t streams[STREAMS];
  cudaGraphExec_t graph;
};

bool stays(product_way way) {
  return way == PRODUCT_QUEUE || way == PRODUCT_MAPPED;
}

cudaError_t launch_work(const shop *s, char *data, uint32_t first, uint32_t blocks,
                        cudaStream_t stream) {
  task_data of = {data, data, s->stride, s->run->extra};
  void *arguments[] = {&of, &first};
  return cudaLaunchKernel((const void *)work_tasks, dim3(blocks), dim3(s->run->threads), arguments,
                          0, stream);
}

cudaError_t copy_in(const shop *s, uint32_t task, cudaStream_t stream) {
  const uint64_t at = task * s->stride;
  return cudaMemcpyAsync(s->data + at, s->in + at, s->in_bytes, cudaMemcpyHostToDevice, stream);
}
cudaError_t copy_out(const shop *s, uint32_t task, cudaStream_t stream) {
  const uint64_t at = task * s->stride + PRODUCT_IN_BYTES;
  return cudaMemcpyAsync(s->out + at, s->data + at, s->out_bytes, cudaMemcpyDeviceToHost, stream);
}

cudaError_t by_loop(shop *s) {
  cudaError_t error = cudaSuccess;
  for (uint32_t task = 0; task < PRODUCT_TASKS && error == cudaSuccess; ++task) {
    char *data = NULL;
    const uint64_t at = task * s->stride, out_at = at + PRODUCT_IN_BYTES;
    NEXT(cudaMalloc((void **)&data, s->in_bytes + PRODUCT_OUT_BYTES));
    NEXT(cudaMemcpy(data, s->in + at, s->in_bytes, cudaMemcpyHostToDevice));
    NEXT(launch_work(s, data, 0, 1, NULL));
    NEXT(
        cudaMemcpy(s->out + out_at, data + PRODUCT_IN_BYTES, s->out_bytes, cudaMemcpyDeviceToHost));
    cudaFree(data);
  }
  return error;
}

cudaError_t by_streams(shop *s, uint32_t streams) {
  cudaError_t error = cudaSuccess;
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task) {
    const cudaStream_t stream = s->streams[task % streams];
    NEXT(copy_in(s, task, stream));
    NEXT(launch_work(s, s->data, task, 1, stream));
    NEXT(copy_out(s, task, stream));
    if (streams == 1)
      NEXT(cudaStreamSynchronize(stream));
  }
  for (uint32_t i = 0; i < streams; ++i)
    NEXT(cudaStreamSynchronize(s->streams[i]));
  return error;
}

cudaError_t by_one(shop *s) {
  const uint64_t bytes = PRODUCT_TASKS * s->stride;
  const cudaStream_t stream = s->streams[0];
  cudaError_t error = cudaMemcpyAsync(s->data, s->in, bytes, cudaMemcpyHostToDevice, stream);
  NEXT(launch_work(s, s->data, 0, PRODUCT_TASKS, stream));
  NEXT(cudaMemcpyAsync(s->out + PRODUCT_IN_BYTES, s->data + PRODUCT_IN_BYTES,
                       bytes - PRODUCT_IN_BYTES, cudaMemcpyDeviceToHost, stream));
  NEXT(cudaStreamSynchronize(stream));
  return error;
}

/** Until a task of this turn is done, or patience has ended: then its output is wrong. */
void await_done(const shop *s, uint32_t task, uint64_t turn, int64_t end_ns) {
  while (__atomic_load_n(&s->far->done[task].word, __ATOMIC_ACQUIRE) != turn + 1 &&
         prem_host_clock_ns() < end_ns) {
  }
}

cudaError_t by_queue(shop *s, uint64_t turn) {
  const int64_t end_ns = prem_host_clock_ns() + s->run->patience_ns;
  cudaError_t error = cudaSuccess;
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task) {
    s->far->values[task] = turn * PRODUCT_TASKS + task + 1;
    NEXT(copy_in(s, task, s->streams[0]));
    NEXT(cudaMemcpyAsync(&s->words->there, &s->far->values[task], sizeof(uint64_t),
                         cudaMemcpyHostToDevice, s->streams[0]));
  }
  for (uint32_t task = 0; task < PRODUCT_TASKS && error == cudaSuccess; ++task) {
    await_done(s, task, turn, end_ns);
    error = copy_out(s, task, s->streams[1]);
  }
  NEXT(cudaStreamSynchronize(s->streams[1]));
  return error;
}

cudaError_t by_mapped(shop *s, uint64_t turn) {
  const int64_t end_ns = prem_host_clock_ns() + s->run->patience_ns;
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task)
    __atomic_store_n(&s->far->asked.word, turn * PRODUCT_TASKS + task + 1, __ATOMIC_RELEASE);
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task)
    await_done(s, task, turn, end_ns);
  return cudaSuccess;
}

#ifdef __NVCC__
/** A chain of three for each task. */
cudaError_t make_graph(shop *s) {
  cudaGraph_t graph;
  uint32_t first = 0;
  task_data of = {s->data, s->data, s->stride, s->run->extra};
  void *arguments[] = {&of, &first};
  cudaKernelNodeParams what = {};
  what.func = (void *)work_tasks;
  what.gridDim = dim3(1);
  what.blockDim = dim3(s->run->threads);
  what.kernelParams = arguments;
  cudaError_t error = cudaGraphCreate(&graph, 0);
  if (error != cudaSuccess)
    return error;
  for (; first < PRODUCT_TASKS; ++first) {
    cudaGraphNode_t in, works, out;
    const uint64_t at = first * s->stride, out_at = at + PRODUCT_IN_BYTES;
    NEXT(cudaGraphAddMemcpyNode1D(&in, graph, NULL, 0, s->data + at, s->in + at, s->in_bytes,
                                  cudaMemcpyHostToDevice));
    NEXT(cudaGraphAddKernelNode(&works, graph, &in, 1, &what));
    NEXT(cudaGraphAddMemcpyNode1D(&out, graph, &works, 1, s->out + out_at, s->data + out_at,
                                  s->out_bytes, cudaMemcpyDeviceToHost));
  }
  NEXT(cudaGraphInstantiateWithFlags(&s->graph, graph, 0));
  cudaGraphDestroy(graph);
  return error == cudaSuccess ? cudaGraphUpload(s->graph, s->streams[0]) : error;
}
#else
cudaError_t make_graph(shop *) {
  return cudaErrorNotSupported; /* the emulated GPU's graphs do not copy */
}
#endif

cudaError_t by_graph(shop *s) {
  cudaError_t error = cudaGraphLaunch(s->graph, s->streams[0]);
  NEXT(cudaStreamSynchronize(s->streams[0]));
  return error;
}

cudaError_t take_turn(shop *s, uint64_t turn) {
  switch (s->run->way) {
  case PRODUCT_LOOP:
    return by_loop(s);
  case PRODUCT_KEPT:
    return by_streams(s, 1);
  case PRODUCT_STREAMS:
    return by_streams(s, STREAMS);
  case PRODUCT_GRAPH:
    return by_graph(s);
  case PRODUCT_ONE:
    return by_one(s);
  case PRODUCT_QUEUE:
    return by_queue(s, turn);
  default:
    return by_mapped(s, turn);
  }
}

/* ---- right, or not --------------------------------------------------------------------------- */

void fill(shop *s) {
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task) {
    char *at = s->in + task * s->stride;
    for (uint32_t i = 0; i < 2 * PRODUCT_FLOATS; ++i)
      ((float *)at)[i] = product_factor(task, i);
    for (uint64_t i = 0; i < s->run->extra; ++i)
      ((unsigned char *)at)[PRODUCT_IN_BYTES + i] = product_extra(task, i);
  }
}

/** Nothing of the turn before may pass for this one's; extra bytes are looked at after the last. */
void forget(shop *s, bool is_last) {
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task) {
    char *at = s->out + task * s->stride + PRODUCT_IN_BYTES;
    memset(is_last ? at : at + s->run->extra, 0xff, is_last ? s->out_bytes : PRODUCT_OUT_BYTES);
  }
}

bool is_right(const shop *s, bool is_last) {
  const uint64_t extra = s->run->extra;
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task) {
    const uint64_t at = task * s->stride + PRODUCT_IN_BYTES;
    if (memcmp(s->out + at + extra, s->run->right[task], PRODUCT_OUT_BYTES) != 0 ||
        (is_last && memcmp(s->out + at, s->in + at, extra) != 0))
      return false;
  }
  return true;
}

/* ---- opening --------------------------------------------------------------------------------- */

cudaError_t open_shop(shop *s) {
  const product_run *run = s->run;
  s->stride = product_stride(run);
  s->in_bytes = PRODUCT_IN_BYTES + run->extra;
  s->out_bytes = run->extra + PRODUCT_OUT_BYTES;
  const uint64_t bytes = PRODUCT_TASKS * s->stride;
  cudaError_t error = cudaMalloc((void **)&s->data, bytes);
  NEXT(cudaHostAlloc((void **)&s->in, bytes, cudaHostAllocDefault));
  NEXT(cudaHostAlloc((void **)&s->out, bytes, cudaHostAllocDefault));
  NEXT(cudaHostAlloc((void **)&s->far, sizeof *s->far, cudaHostAllocDefault));
  NEXT(prem_gpu_zeros((void **)&s->words, sizeof *s->words));
  for (cudaStream_t &stream : s->streams)
    NEXT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (error != cudaSuccess)
    return error;
  memset((void *)s->far, 0, sizeof *s->far);
  fill(s);
  if (run->way == PRODUCT_GRAPH)
    NEXT(make_graph(s));
  NEXT(cudaDeviceSynchronize());
  return error;
}

cudaError_t begin_serving(shop *s) {
  bool is_carried = s->run->way == PRODUCT_MAPPED;
  task_data of = {is_carried ? s->in : s->data, is_carried ? s->out : s->data, s->stride,
                  s->run->extra};
  int64_t patience_ns = s->run->patience_ns;
  void *arguments[] = {&s->words, &s->far, &of, &is_carried, &patience_ns};
  return cudaLaunchKernel((const void *)serve, dim3(PRODUCT_TASKS + is_carried),
                          dim3(s->run->threads), arguments, 0, s->streams[STREAMS - 1]);
}

/** All blocks leave; they would without it as soon as their patience ends. */
cudaError_t end_serving(shop *s) {
  cudaError_t error = cudaSuccess;
  if (s->run->way == PRODUCT_MAPPED) {
    __atomic_store_n(&s->far->asked.word, stop, __ATOMIC_RELEASE);
  } else {
    s->far->values[0] = stop;
    error = cudaMemcpyAsync(&s->words->there, s->far->values, sizeof(uint64_t),
                            cudaMemcpyHostToDevice, s->streams[0]);
  }
  const cudaError_t ended = cudaStreamSynchronize(s->streams[STREAMS - 1]);
  return error == cudaSuccess ? ended : error;
}

void close_shop(shop *s) {
  if (s->graph)
    cudaGraphExecDestroy(s->graph);
  for (cudaStream_t stream : s->streams)
    if (stream)
      cudaStreamDestroy(stream);
  cudaFree(s->words);
  cudaFree(s->data);
  cudaFreeHost(s->far);
  cudaFreeHost(s->out);
  cudaFreeHost(s->in);
}

} // namespace

prem_status prem_gpu_products(const product_run *run, int64_t *ns, product_result *result,
                              prem_diag *diag) {
  shop s = {};
  s.run = run;
  *result = product_result{true, 0};
  cudaError_t error = open_shop(&s);
  const bool serves = error == cudaSuccess && stays(run->way);
  if (serves)
    error = begin_serving(&s);
  while (error == cudaSuccess && result->ok && result->turns < run->turns) {
    const bool is_last = result->turns + 1 == run->turns;
    forget(&s, is_last);
    const int64_t begin_ns = prem_host_clock_ns();
    error = take_turn(&s, (uint64_t)result->turns);
    ns[result->turns++] = prem_host_clock_ns() - begin_ns;
    result->ok = is_right(&s, is_last);
  }
  if (serves) {
    const cudaError_t ended = end_serving(&s);
    error = error == cudaSuccess ? ended : error;
  }
  close_shop(&s);
  if (error == cudaErrorNotSupported && run->way == PRODUCT_GRAPH)
    return PREM_ERR_UNAVAILABLE;
  return prem_gpu_judge(error, "multiplying", diag);
}

prem_status prem_gpu_one_thread(uint32_t side, const float *factors, float *product, int64_t *ns,
                                prem_diag *diag) {
  const size_t bytes = side * side * sizeof(float);
  float *there = NULL, *made = NULL;
  void *arguments[] = {&there, &made, &side};
  *ns = INT64_MAX;
  cudaError_t error = cudaMalloc((void **)&there, 2 * bytes);
  NEXT(cudaMalloc((void **)&made, bytes));
  NEXT(cudaMemcpy(there, factors, 2 * bytes, cudaMemcpyHostToDevice));
  for (int turn = 0; turn < ONE_THREAD_TURNS && error == cudaSuccess; ++turn) {
    const int64_t begin_ns = prem_host_clock_ns();
    NEXT(cudaLaunchKernel((const void *)one_thread, dim3(1), dim3(1), arguments, 0, NULL));
    NEXT(cudaDeviceSynchronize());
    const int64_t took_ns = prem_host_clock_ns() - begin_ns;
    *ns = took_ns < *ns ? took_ns : *ns;
  }
  NEXT(cudaMemcpy(product, made, bytes, cudaMemcpyDeviceToHost));
  cudaFree(made);
  cudaFree(there);
  return prem_gpu_judge(error, "multiplying with one thread", diag);
}
