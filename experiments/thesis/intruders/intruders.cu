/* SPDX-License-Identifier: Apache-2.0 */
/* Intruders on the GPU: a kernel that lodges on spare SMs, copies from and to the host. */
#include <pthread.h>
#include <time.h>

#include <cstdlib>
#include <cstring>

#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/thesis/intruders/intruder.h"
#include "prem/base/clock.h"

namespace {

enum {
  THREADS = 1024,
  AT_ONCE = 8,          /* accesses of a thread in flight */
  ROUNDS_PER_LOOK = 64, /* between two looks at the host's word */
  CLOCKS_PER_LOOK = 4096,
  NAP_NS = 50000,        /* the host's looks at the GPU */
  PIECE_BYTES = 8 << 20, /* of a copy */
  QUEUED = 16,           /* pieces */
  DIRECTIONS = 2
};
constexpr int64_t launch_ns = 2000000; /* of one launch: so long may others wait for its SMs */
constexpr int64_t patience_ns = 10000000000;
constexpr int64_t life_ns = 60000000000;         /* of an intruder that is not ended */
constexpr size_t room_bytes = (size_t)256 << 20; /* far more than an L2 holds; a power of two */

/** What all launches did. */
struct lodger_counts {
  unsigned long long moved_bytes;
  long long watched_ns, standstills, longest_ns, standstills_ns;
};

struct lodger_order {
  uint4 *room;
  uint32_t pieces;      /* a power of two */
  const uint32_t *over; /* the host's: not 0, and the launch ends early */
  lodger_counts *counts;
};

/** The scratchpad is taken so that nobody else has it; its first word says that it is over. */
extern __shared__ uint32_t lodging[];

/** Look at the clock without a pause: the time between two looks is long when somebody else has the
 *  GPU. One thread. */
__device__ void watch(const lodger_order &order) {
  const int64_t begin_ns = prem_gpu_clock_ns(), end_ns = begin_ns + launch_ns;
  lodger_counts seen = {};
  int64_t last_ns = begin_ns;
  for (uint32_t look = 1; last_ns < end_ns; ++look) {
    const int64_t now_ns = prem_gpu_clock_ns(), gap_ns = now_ns - last_ns;
    if (gap_ns >= PREM_STOP_NS) {
      ++seen.standstills;
      seen.standstills_ns += gap_ns;
      seen.longest_ns = max(seen.longest_ns, (long long)gap_ns);
    }
    last_ns = now_ns;
    if (look % CLOCKS_PER_LOOK == 0 && *(const volatile uint32_t *)order.over)
      break;
  }
  lodger_counts *all = order.counts; /* launches follow each other: there is no other writer */
  all->watched_ns += last_ns - begin_ns;
  all->standstills += seen.standstills;
  all->standstills_ns += seen.standstills_ns;
  all->longest_ns = max(all->longest_ns, seen.longest_ns);
}

/** Read, change, write memory piece by piece. All threads of the blocks from 1 on. */
__device__ void stream_through(const lodger_order &order) {
  const int64_t end_ns = prem_gpu_clock_ns() + launch_ns;
  const uint32_t threads = (gridDim.x - 1) * blockDim.x, mask = order.pieces - 1;
  uint32_t at = (blockIdx.x - 1) * blockDim.x + threadIdx.x;
  unsigned long long rounds = 0;
  volatile uint32_t *over = lodging;
  while (prem_gpu_clock_ns() < end_ns && *over == 0) {
    uint4 pieces[AT_ONCE];
#pragma unroll
    for (uint32_t i = 0; i < AT_ONCE; ++i)
      pieces[i] = __ldcg(&order.room[(at + i * threads) & mask]);
#pragma unroll
    for (uint32_t i = 0; i < AT_ONCE; ++i) {
      ++pieces[i].x;
      __stcg(&order.room[(at + i * threads) & mask], pieces[i]);
    }
    at += AT_ONCE * threads;
    ++rounds;
    if (threadIdx.x == 0 && rounds % ROUNDS_PER_LOOK == 0 && *(const volatile uint32_t *)order.over)
      *over = 1;
  }
  atomicAdd(&order.counts->moved_bytes, rounds * AT_ONCE * 2 * sizeof(uint4));
}

__global__ void __launch_bounds__(THREADS, 1) lodge(lodger_order order) {
  if (threadIdx.x == 0)
    lodging[0] = 0;
  __syncthreads();
  if (blockIdx.x > 0)
    stream_through(order);
  else if (threadIdx.x == 0)
    watch(order);
}

/* ---- on the host ---------------------------------------------------------------------------- */

void nap(void) {
  const struct timespec pause = {0, NAP_NS};
  nanosleep(&pause, NULL);
}

prem_status start_thread(pthread_t *thread, void *(*work)(void *), void *argument, bool *running,
                         prem_diag *diag) {
  const int failed = pthread_create(thread, NULL, work, argument);
  *running = failed == 0;
  if (failed)
    prem_diag_add(diag, PREM_ERROR, 0, prem_place{NULL, 0}, "", "an intruder gets no thread: %s",
                  strerror(failed));
  return failed ? PREM_ERR_MACHINE : PREM_OK;
}

/** Until all of a stream is done, for a while: what is in it ends by itself. */
cudaError_t await_stream(cudaStream_t stream) {
  const int64_t deadline_ns = prem_host_clock_ns() + patience_ns;
  for (;;) {
    const cudaError_t error = cudaStreamQuery(stream);
    if (error != cudaErrorNotReady)
      return error;
    if (prem_host_clock_ns() > deadline_ns)
      return cudaErrorLaunchTimeout;
    nap();
  }
}

} // namespace

struct prem_gpu_lodger {
  pthread_t thread;
  bool running;
  int32_t streams;
  int scratch_bytes;
  cudaStream_t stream;
  lodger_order order;
  uint32_t *over;        /* order.over, as the host sees it */
  lodger_counts *counts; /* pinned: order.counts, read at the end */
  cudaError_t error;     /* of the thread */
};

namespace {

/** May it go on? Not when it is over, and at its life's end something is wrong. */
bool goes_on(const uint32_t *over, int64_t began_ns, cudaError_t *error) {
  if (*error == cudaSuccess && prem_host_clock_ns() - began_ns > life_ns)
    *error = cudaErrorLaunchTimeout;
  return *error == cudaSuccess && !__atomic_load_n(over, __ATOMIC_ACQUIRE);
}

/** Launch after launch. The naps between them let a schedule that wants all SMs have them. */
void *lodge_on(void *argument) {
  prem_gpu_lodger *lodger = (prem_gpu_lodger *)argument;
  void *arguments[] = {&lodger->order};
  const int64_t began_ns = prem_host_clock_ns();
  cudaError_t error = cudaSuccess;
  while (goes_on(lodger->over, began_ns, &error)) {
    error =
        cudaLaunchKernel((const void *)lodge, dim3((unsigned)lodger->streams + 1), dim3(THREADS),
                         arguments, (size_t)lodger->scratch_bytes, lodger->stream);
    if (error == cudaSuccess)
      error = await_stream(lodger->stream);
    nap();
  }
  lodger->error = error;
  return NULL;
}

cudaError_t clear_counts(prem_gpu_lodger *lodger) {
  const cudaError_t error =
      cudaMemsetAsync(lodger->order.counts, 0, sizeof(lodger_counts), lodger->stream);
  return error == cudaSuccess ? await_stream(lodger->stream) : error;
}

cudaError_t read_counts(prem_gpu_lodger *lodger) {
  const cudaError_t error =
      cudaMemcpyAsync(lodger->counts, lodger->order.counts, sizeof(lodger_counts),
                      cudaMemcpyDeviceToHost, lodger->stream);
  return error == cudaSuccess ? await_stream(lodger->stream) : error;
}

/** The function is loaded here: nothing is loaded beside a kernel that does not end. */
cudaError_t take_whole_sms(prem_gpu_lodger *lodger) {
  cudaError_t error =
      cudaDeviceGetAttribute(&lodger->scratch_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(lodge, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 lodger->scratch_bytes);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(lodge, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  return error;
}

cudaError_t furnish(prem_gpu_lodger *lodger) {
  lodger_order *order = &lodger->order;
  order->pieces = (uint32_t)(room_bytes / sizeof(uint4));
  cudaError_t error = take_whole_sms(lodger);
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags(&lodger->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&order->room, room_bytes);
  if (error == cudaSuccess)
    error = cudaMemset(order->room, 1, room_bytes);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&order->counts, sizeof(lodger_counts));
  if (error == cudaSuccess)
    error = cudaHostAlloc((void **)&lodger->over, sizeof *lodger->over, cudaHostAllocMapped);
  if (error == cudaSuccess)
    error = cudaHostGetDevicePointer((void **)&order->over, lodger->over, 0);
  if (error == cudaSuccess)
    error = cudaHostAlloc((void **)&lodger->counts, sizeof(lodger_counts), cudaHostAllocDefault);
  return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

} // namespace

prem_status prem_gpu_lodger_open(prem_gpu_lodger **out, prem_diag *diag) {
  *out = NULL;
  prem_gpu_lodger *lodger = (prem_gpu_lodger *)calloc(1, sizeof *lodger);
  if (!lodger)
    return PREM_ERR_MEMORY;
  const prem_status status = prem_gpu_judge(furnish(lodger), "making room for an intruder", diag);
  if (status == PREM_OK)
    *out = lodger;
  else
    prem_gpu_lodger_close(lodger);
  return status;
}

void prem_gpu_lodger_close(prem_gpu_lodger *lodger) {
  if (!lodger)
    return;
  if (lodger->stream)
    cudaStreamDestroy(lodger->stream);
  cudaFree(lodger->order.room);
  cudaFree(lodger->order.counts);
  cudaFreeHost(lodger->over);
  cudaFreeHost(lodger->counts);
  free(lodger);
}

prem_status prem_gpu_lodger_begin(prem_gpu_lodger *lodger, int32_t streams, prem_diag *diag) {
  lodger->streams = streams;
  *lodger->over = 0;
  const prem_status status = prem_gpu_judge(clear_counts(lodger), "starting an intruder", diag);
  return status == PREM_OK ? start_thread(&lodger->thread, lodge_on, lodger, &lodger->running, diag)
                           : status;
}

prem_status prem_gpu_lodger_end(prem_gpu_lodger *lodger, prem_intrusion *done, prem_diag *diag) {
  if (!lodger->running)
    return PREM_OK;
  lodger->running = false;
  __atomic_store_n(lodger->over, 1u, __ATOMIC_RELEASE);
  pthread_join(lodger->thread, NULL);
  cudaError_t error = lodger->error;
  if (error == cudaSuccess)
    error = read_counts(lodger);
  if (error == cudaSuccess) {
    const lodger_counts *counts = lodger->counts;
    const prem_standstills seen = {counts->watched_ns, counts->standstills, counts->longest_ns,
                                   counts->standstills_ns};
    prem_standstills_merge(&done->seen, &seen);
    done->moved_bytes += (int64_t)counts->moved_bytes;
  }
  return prem_gpu_judge(error, "an intruder's kernel", diag);
}

/* ---- copies --------------------------------------------------------------------------------- */

namespace {

/** One way. */
struct copy_lane {
  pthread_t thread;
  bool running;
  const uint32_t *over;
  cudaMemcpyKind kind;
  cudaStream_t stream;
  unsigned char *host, *device; /* QUEUED pieces each; the host's are pinned */
  int64_t moved_bytes;
  cudaError_t error;
};

cudaError_t queue_pieces(copy_lane *lane) {
  cudaError_t error = cudaSuccess;
  for (size_t piece = 0; piece < QUEUED && error == cudaSuccess; ++piece) {
    unsigned char *host = lane->host + piece * PIECE_BYTES;
    unsigned char *device = lane->device + piece * PIECE_BYTES;
    const bool there = lane->kind == cudaMemcpyHostToDevice;
    error = cudaMemcpyAsync(there ? device : host, there ? host : device, PIECE_BYTES, lane->kind,
                            lane->stream);
  }
  return error;
}

void *copy_on(void *argument) {
  copy_lane *lane = (copy_lane *)argument;
  const int64_t began_ns = prem_host_clock_ns();
  cudaError_t error = cudaSuccess;
  while (goes_on(lane->over, began_ns, &error)) {
    error = queue_pieces(lane);
    if (error == cudaSuccess)
      error = await_stream(lane->stream);
    lane->moved_bytes += (int64_t)QUEUED * PIECE_BYTES;
  }
  lane->error = error;
  return NULL;
}

cudaError_t lane_open(copy_lane *lane) {
  cudaError_t error = cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaHostAlloc((void **)&lane->host, (size_t)QUEUED * PIECE_BYTES, cudaHostAllocDefault);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&lane->device, (size_t)QUEUED * PIECE_BYTES);
  return error;
}

void lane_close(copy_lane *lane) {
  if (lane->stream)
    cudaStreamDestroy(lane->stream);
  cudaFreeHost(lane->host);
  cudaFree(lane->device);
}

} // namespace

struct prem_gpu_copier {
  copy_lane lanes[DIRECTIONS];
  uint32_t over;
};

prem_status prem_gpu_copier_open(prem_gpu_copier **out, prem_diag *diag) {
  static const cudaMemcpyKind kinds[DIRECTIONS] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost};
  *out = NULL;
  prem_gpu_copier *copier = (prem_gpu_copier *)calloc(1, sizeof *copier);
  if (!copier)
    return PREM_ERR_MEMORY;
  cudaError_t error = cudaSuccess;
  for (int i = 0; i < DIRECTIONS && error == cudaSuccess; ++i) {
    copier->lanes[i].kind = kinds[i];
    copier->lanes[i].over = &copier->over;
    error = lane_open(&copier->lanes[i]);
  }
  const prem_status status = prem_gpu_judge(error, "making room for copies", diag);
  if (status == PREM_OK)
    *out = copier;
  else
    prem_gpu_copier_close(copier);
  return status;
}

void prem_gpu_copier_close(prem_gpu_copier *copier) {
  if (!copier)
    return;
  for (int i = 0; i < DIRECTIONS; ++i)
    lane_close(&copier->lanes[i]);
  free(copier);
}

prem_status prem_gpu_copier_begin(prem_gpu_copier *copier, prem_diag *diag) {
  prem_status status = PREM_OK;
  copier->over = 0;
  for (int i = 0; i < DIRECTIONS && status == PREM_OK; ++i) {
    copy_lane *lane = &copier->lanes[i];
    lane->moved_bytes = 0;
    status = start_thread(&lane->thread, copy_on, lane, &lane->running, diag);
  }
  return status;
}

prem_status prem_gpu_copier_end(prem_gpu_copier *copier, prem_intrusion *done, prem_diag *diag) {
  __atomic_store_n(&copier->over, 1u, __ATOMIC_RELEASE);
  cudaError_t error = cudaSuccess;
  for (int i = 0; i < DIRECTIONS; ++i) {
    copy_lane *lane = &copier->lanes[i];
    if (!lane->running)
      continue;
    lane->running = false;
    pthread_join(lane->thread, NULL);
    error = error == cudaSuccess ? lane->error : error;
    done->moved_bytes += lane->moved_bytes;
  }
  return prem_gpu_judge(error, "an intruder's copies", diag);
}
