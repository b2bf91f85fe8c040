/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary kernels on two SMs of a GPU. Every loop is counted, every wait has a deadline. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/thesis/ordinary/work.h"

namespace {

enum {
  SMS = 2,
  FILL_THREADS = 1024, /* of a block that fills; two are an SM */
  FILL_BLOCKS = 2,
  BATCH = 50,     /* runs that are launched before one is waited for */
  LEAD_NS = 4000, /* from the last block's arrival to the start */
  MAX_FAILURES = 3
};
constexpr int64_t patience_ns = 1000000000;    /* of a block for the others */
constexpr int64_t fill_life_ns = 5000000000LL; /* of the filling blocks, whatever happens */

/** Of a run. */
struct gate {
  uint32_t arrived, gone; /* blocks; gone: the start is agreed */
  int64_t start_ns;
  uint32_t steps[PREM_ORDINARY_KERNELS]; /* arrivals at the ends of steps */
  uint32_t failed, reserved;
};

struct stamp {
  int64_t start_ns, end_ns;
  uint32_t sm, reserved;
};

/** What fills the other SMs. */
struct filling {
  uint32_t arrived, over;
};

struct job {
  prem_ordinary_arrays arrays;
  gate *at;
  stamp *stamps;   /* [PREM_ORDINARY_BLOCKS] */
  uint32_t blocks; /* of all kernels of the run */
  int32_t number;  /* of the kernel */
};

/* ---- on the GPU ----------------------------------------------------------------------------- */

/** Blocks on the first SMs leave, when all are there; the others stay until they are told. One
 *  thread looks, the others stand at a barrier and issue nothing. */
__global__ void __launch_bounds__(FILL_THREADS, FILL_BLOCKS) fill(filling *state, uint32_t blocks) {
  if (threadIdx.x == 0) {
    const int64_t deadline_ns = prem_gpu_clock_ns() + fill_life_ns;
    atomicAdd(&state->arrived, 1u);
    if (prem_gpu_sm() < SMS) {
      prem_gpu_wait<prem_word_alone>(&state->arrived, blocks, deadline_ns);
    } else {
      while (prem_word_alone::look(&state->over) == 0 && prem_gpu_clock_ns() < deadline_ns)
        __nanosleep(2000);
    }
  }
  __syncthreads();
}

__device__ void meet_all(const job &self) {
  const int64_t deadline_ns = prem_gpu_clock_ns() + patience_ns;
  gate *at = self.at;
  if (atomicAdd(&at->arrived, 1u) + 1 == self.blocks) {
    at->start_ns = prem_gpu_clock_ns() + LEAD_NS;
    prem_gpu_wide::tell(&at->gone, 1);
  } else if (!prem_gpu_wait<prem_gpu_wide>(&at->gone, 1, deadline_ns)) {
    at->failed = 1;
    return;
  }
  while (prem_gpu_clock_ns() < at->start_ns) {
  }
}

/** Both blocks are through with step `step`. */
__device__ void end_step(const job &self, int32_t step) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t *word = &self.at->steps[self.number];
    atomicAdd(word, 1u);
    if (!prem_gpu_wait<prem_gpu_wide>(word, PREM_ORDINARY_BLOCKS * (uint32_t)(step + 1),
                                      prem_gpu_clock_ns() + patience_ns))
      self.at->failed = 1;
  }
  __syncthreads();
}

template <prem_ordinary_work work>
__global__ void __launch_bounds__(PREM_ORDINARY_THREADS, PREM_ORDINARY_KERNELS) run_work(job self) {
  if (threadIdx.x == 0) {
    meet_all(self);
    self.stamps[blockIdx.x].start_ns = prem_gpu_clock_ns();
    self.stamps[blockIdx.x].sm = prem_gpu_sm();
  }
  __syncthreads();
  const worker_place at = {(int32_t)(blockIdx.x * blockDim.x + threadIdx.x),
                           (int32_t)(gridDim.x * blockDim.x)};
  const int32_t steps = work_steps(work);
  for (int32_t step = 0; step < steps; ++step) {
    work_step(work, &self.arrays, step, at);
    if (step + 1 < steps)
      end_step(self, step);
  }
  __syncthreads();
  if (threadIdx.x == 0)
    self.stamps[blockIdx.x].end_ns = prem_gpu_clock_ns();
}

/* ---- the table of them ---------------------------------------------------------------------- */

template <int first> struct code_table {
  static const void *find(int work) {
    return work == first ? (const void *)run_work<(prem_ordinary_work)first>
                         : code_table<first + 1>::find(work);
  }
};
template <> struct code_table<PREM_ORDINARY_WORKS> {
  static const void *find(int) { return nullptr; }
};

} // namespace

struct prem_ordinary {
  prem_ordinary_work works[PREM_ORDINARY_KERNELS];
  int32_t count;
  bool mapped;
  prem_ordinary_arrays arrays[PREM_ORDINARY_KERNELS]; /* as the GPU sees them */
  float *room[PREM_ORDINARY_KERNELS];                 /* of each kernel's arrays, one block */
  float *host[PREM_ORDINARY_KERNELS];                 /* mapped: the same here */
  cudaStream_t streams[PREM_ORDINARY_KERNELS], filler;
  filling *filling_here; /* pinned, to tell the end with */
  filling *state;
  gate *gates;   /* [BATCH] */
  stamp *stamps; /* [BATCH][kernels][PREM_ORDINARY_BLOCKS] */
  int32_t sms;
};

namespace {

/* ---- arrays --------------------------------------------------------------------------------- */

prem_ordinary_arrays divide(float *room, prem_ordinary_work work) {
  const int64_t floats = prem_ordinary_floats(work);
  return (prem_ordinary_arrays){room, room + floats, room + 2 * floats, room + 3 * floats};
}

size_t room_bytes(prem_ordinary_work work) {
  return (size_t)(3 * prem_ordinary_floats(work) + prem_ordinary_out_floats(work)) * sizeof(float);
}

void fill_inputs(float *room, prem_ordinary_work work, uint32_t seed) {
  memset(room, 0, room_bytes(work));
  prem_ordinary_fill(room, 3 * prem_ordinary_floats(work), seed);
}

cudaError_t open_arrays(prem_ordinary *ordinary, int32_t k) {
  const prem_ordinary_work work = ordinary->works[k];
  const size_t bytes = room_bytes(work);
  cudaError_t error;
  float *here = nullptr;
  if (ordinary->mapped) {
    error = cudaHostAlloc((void **)&ordinary->host[k], bytes, cudaHostAllocMapped);
    if (error == cudaSuccess)
      error = cudaHostGetDevicePointer((void **)&here, ordinary->host[k], 0);
    if (error == cudaSuccess)
      fill_inputs(ordinary->host[k], work, (uint32_t)k + 1);
  } else {
    float *filled = (float *)malloc(bytes);
    if (!filled)
      return cudaErrorMemoryAllocation;
    fill_inputs(filled, work, (uint32_t)k + 1);
    error = cudaMalloc((void **)&ordinary->room[k], bytes);
    here = ordinary->room[k];
    if (error == cudaSuccess)
      error = cudaMemcpy(here, filled, bytes, cudaMemcpyHostToDevice);
    free(filled);
  }
  ordinary->arrays[k] = divide(here, work);
  return error;
}

/** Code is loaded when it is first asked for, which may wait for all that runs: not while the
 *  filling does. */
cudaError_t load_code(const prem_ordinary *ordinary) {
  cudaFuncAttributes facts;
  cudaError_t error = cudaFuncGetAttributes(&facts, (const void *)fill);
  for (int32_t k = 0; k < ordinary->count && error == cudaSuccess; ++k)
    error = cudaFuncGetAttributes(&facts, code_table<0>::find(ordinary->works[k]));
  return error;
}

cudaError_t open_all(prem_ordinary *ordinary) {
  const size_t stamps = sizeof(stamp) * BATCH * PREM_ORDINARY_KERNELS * PREM_ORDINARY_BLOCKS;
  cudaError_t error = cudaDeviceGetAttribute(&ordinary->sms, cudaDevAttrMultiProcessorCount, 0);
  for (int32_t k = 0; k < ordinary->count && error == cudaSuccess; ++k)
    error = open_arrays(ordinary, k);
  for (int32_t k = 0; k < ordinary->count && error == cudaSuccess; ++k)
    error = cudaStreamCreateWithFlags(&ordinary->streams[k], cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags(&ordinary->filler, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaHostAlloc((void **)&ordinary->filling_here, 2 * sizeof(filling), 0);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&ordinary->state, sizeof(filling));
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&ordinary->gates, sizeof(gate) * BATCH);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&ordinary->stamps, stamps);
  if (error == cudaSuccess)
    error = load_code(ordinary);
  return error;
}

/* ---- filling the other SMs ------------------------------------------------------------------ */

/** Until all that fill are there: words are copied by an engine of their own. */
cudaError_t begin_filling(prem_ordinary *ordinary, bool *there) {
  const uint32_t blocks = (uint32_t)ordinary->sms * FILL_BLOCKS;
  filling *seen = ordinary->filling_here;
  *there = ordinary->sms <= SMS;
  if (*there)
    return cudaSuccess;
  cudaError_t error = cudaMemset(ordinary->state, 0, sizeof(filling));
  if (error == cudaSuccess)
    error = cudaDeviceSynchronize();
  if (error != cudaSuccess)
    return error;
  fill<<<blocks, FILL_THREADS, 0, ordinary->filler>>>(ordinary->state, blocks);
  error = cudaGetLastError();
  for (int look = 0; look < 2000 && error == cudaSuccess && !*there; ++look) {
    error = cudaMemcpyAsync(seen, ordinary->state, sizeof *seen, cudaMemcpyDeviceToHost,
                            ordinary->streams[0]);
    if (error == cudaSuccess)
      error = cudaStreamSynchronize(ordinary->streams[0]);
    *there = seen->arrived == blocks;
  }
  return error;
}

cudaError_t end_filling(prem_ordinary *ordinary) {
  if (ordinary->sms <= SMS)
    return cudaSuccess;
  filling *said = ordinary->filling_here + 1;
  said->over = 1;
  cudaError_t error = cudaMemcpyAsync(&ordinary->state->over, &said->over, sizeof said->over,
                                      cudaMemcpyHostToDevice, ordinary->streams[0]);
  const cudaError_t ended = cudaStreamSynchronize(ordinary->filler);
  return error == cudaSuccess ? ended : error;
}

/* ---- runs ----------------------------------------------------------------------------------- */

cudaError_t launch_run(prem_ordinary *ordinary, int32_t run) {
  cudaError_t error = cudaSuccess;
  for (int32_t k = 0; k < ordinary->count && error == cudaSuccess; ++k) {
    job self = {ordinary->arrays[k], ordinary->gates + run,
                ordinary->stamps + ((size_t)run * ordinary->count + k) * PREM_ORDINARY_BLOCKS,
                (uint32_t)ordinary->count * PREM_ORDINARY_BLOCKS, k};
    void *arguments[] = {&self};
    error = cudaLaunchKernel(code_table<0>::find(ordinary->works[k]), dim3(PREM_ORDINARY_BLOCKS),
                             dim3(PREM_ORDINARY_THREADS), arguments, 0, ordinary->streams[k]);
  }
  return error;
}

cudaError_t run_batch(prem_ordinary *ordinary, int32_t runs, stamp *stamps, gate *gates,
                      bool *filled) {
  cudaError_t error = cudaMemset(ordinary->gates, 0, sizeof(gate) * BATCH);
  if (error == cudaSuccess)
    error = cudaDeviceSynchronize(); /* the streams below do not wait for it by themselves */
  if (error == cudaSuccess)
    error = begin_filling(ordinary, filled);
  for (int32_t run = 0; run < runs && error == cudaSuccess && *filled; ++run)
    error = launch_run(ordinary, run);
  for (int32_t k = 0; k < ordinary->count && error == cudaSuccess; ++k)
    error = cudaStreamSynchronize(ordinary->streams[k]);
  const cudaError_t ended = end_filling(ordinary);
  if (error == cudaSuccess)
    error = ended;
  const size_t count = (size_t)runs * ordinary->count * PREM_ORDINARY_BLOCKS;
  if (error == cudaSuccess)
    error = cudaMemcpy(stamps, ordinary->stamps, count * sizeof *stamps, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error =
        cudaMemcpy(gates, ordinary->gates, (size_t)runs * sizeof *gates, cudaMemcpyDeviceToHost);
  return error;
}

int64_t span_ns(const stamp *stamps, int32_t count) {
  int64_t first = stamps[0].start_ns, last = stamps[0].end_ns;
  for (int32_t i = 1; i < count; ++i) {
    first = stamps[i].start_ns < first ? stamps[i].start_ns : first;
    last = stamps[i].end_ns > last ? stamps[i].end_ns : last;
  }
  return last - first;
}

bool is_elsewhere(const stamp *stamps, int32_t kernels) {
  bool elsewhere = false;
  for (int32_t k = 0; k < kernels; ++k) {
    const stamp *own = stamps + k * PREM_ORDINARY_BLOCKS;
    elsewhere |= own[0].sm == own[1].sm || own[0].sm >= SMS || own[1].sm >= SMS;
  }
  return elsewhere;
}

void keep_run(const prem_ordinary *ordinary, const stamp *stamps, prem_ordinary_times *times) {
  if (is_elsewhere(stamps, ordinary->count)) {
    ++times->elsewhere;
    return;
  }
  times->scenario_ns[times->runs] = span_ns(stamps, ordinary->count * PREM_ORDINARY_BLOCKS);
  times->own_ns[times->runs] = span_ns(stamps, PREM_ORDINARY_BLOCKS);
  ++times->runs;
}

prem_status refuse(prem_diag *diag, const char *why) {
  prem_diag_add(diag, PREM_NOTE, 0, (prem_place){NULL, 0}, "",
                "ordinary kernels cannot be held to two SMs: %s", why);
  return PREM_ERR_UNAVAILABLE;
}

} // namespace

prem_status prem_ordinary_measure(prem_ordinary *ordinary, int64_t runs, int64_t end_ns,
                                  const volatile sig_atomic_t *stop, prem_ordinary_times *times,
                                  prem_diag *diag) {
  stamp stamps[BATCH * PREM_ORDINARY_KERNELS * PREM_ORDINARY_BLOCKS];
  gate gates[BATCH];
  bool warm = false;
  int failures = 0;
  times->runs = times->elsewhere = 0;
  while (times->runs < runs && times->runs + times->elsewhere < 2 * runs) {
    if (*stop)
      return PREM_ERR_INTERRUPTED;
    if (times->runs > 0 && prem_host_clock_ns() >= end_ns)
      break;
    /* The first of a batch begins with what the filling left in the caches, and does not count. */
    const int64_t left = runs - times->runs + 1;
    const int32_t batch = !warm ? 2 : left < BATCH ? (int32_t)left : (int32_t)BATCH;
    bool filled = false;
    const cudaError_t error = run_batch(ordinary, batch, stamps, gates, &filled);
    if (error != cudaSuccess)
      return prem_gpu_judge(error, "running ordinary kernels", diag);
    bool failed = !filled;
    for (int32_t run = 0; run < batch; ++run)
      failed |= gates[run].failed != 0;
    if (failed && ++failures >= MAX_FAILURES)
      return refuse(diag, filled ? "their blocks did not all come in time"
                                 : "the other SMs were not filled in time");
    for (int32_t run = 1; run < batch && warm && !failed; ++run)
      keep_run(ordinary, stamps + (size_t)run * ordinary->count * PREM_ORDINARY_BLOCKS, times);
    warm = warm || !failed;
  }
  return PREM_OK;
}

prem_status prem_ordinary_verify(prem_ordinary *ordinary, bool *right, prem_diag *diag) {
  *right = true;
  for (int32_t k = 0; k < ordinary->count; ++k) {
    const prem_ordinary_work work = ordinary->works[k];
    const int64_t count = prem_ordinary_out_floats(work);
    float *room = (float *)malloc(room_bytes(work));
    float *made = (float *)malloc((size_t)count * sizeof *made);
    cudaError_t error = room && made ? cudaMemcpy(made, ordinary->arrays[k].out,
                                                  (size_t)count * sizeof *made, cudaMemcpyDefault)
                                     : cudaErrorMemoryAllocation;
    if (error == cudaSuccess) {
      const prem_ordinary_arrays arrays = divide(room, work);
      fill_inputs(room, work, (uint32_t)k + 1);
      prem_ordinary_reference(work, &arrays);
      for (int64_t i = 0; i < count; ++i)
        *right &= fabsf(made[i] - arrays.out[i]) <= 1e-4f * fmaxf(fabsf(arrays.out[i]), 1.0f);
    }
    free(room);
    free(made);
    if (error != cudaSuccess)
      return prem_gpu_judge(error, "looking at outputs of ordinary kernels", diag);
  }
  return PREM_OK;
}

prem_status prem_ordinary_open(const prem_ordinary_work *works, int32_t count, bool mapped,
                               prem_ordinary **out, prem_diag *diag) {
  *out = NULL;
  prem_ordinary *ordinary = (prem_ordinary *)calloc(1, sizeof *ordinary);
  if (!ordinary || count > PREM_ORDINARY_KERNELS) {
    free(ordinary);
    return ordinary ? PREM_ERR_ARGUMENT : PREM_ERR_MEMORY;
  }
  ordinary->count = count;
  ordinary->mapped = mapped;
  for (int32_t k = 0; k < count; ++k)
    ordinary->works[k] = works[k];
  const cudaError_t error = open_all(ordinary);
  if (error != cudaSuccess) {
    prem_ordinary_close(ordinary);
    return prem_gpu_judge(error, "making room for ordinary kernels", diag);
  }
  *out = ordinary;
  return PREM_OK;
}

void prem_ordinary_close(prem_ordinary *ordinary) {
  if (!ordinary)
    return;
  for (int32_t k = 0; k < ordinary->count; ++k) {
    cudaFree(ordinary->room[k]);
    cudaFreeHost(ordinary->host[k]);
    if (ordinary->streams[k])
      cudaStreamDestroy(ordinary->streams[k]);
  }
  if (ordinary->filler)
    cudaStreamDestroy(ordinary->filler);
  cudaFreeHost(ordinary->filling_here);
  cudaFree(ordinary->state);
  cudaFree(ordinary->gates);
  cudaFree(ordinary->stamps);
  free(ordinary);
}
