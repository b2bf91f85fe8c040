/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring the GPU's clocks and its memory. No kernel here can wait for ever. */
#include "runtime/cuda/host/machine_facts.h"

#include "runtime/cuda/device/clock.cuh"

#include <time.h>

namespace {

enum {
  CLOCK_READS = 20000,
  EXCHANGES = 128,      /* of every pair of SMs */
  SKEW_NS = 30000000,   /* for all pairs; a block gives up after it, */
  SKEW_POLLS = 1 << 18, /* or after so many looks, should its clock stand still */
  STAMPS = 4,           /* of the GPU's clock on the host's; the first one loads the kernel */
  COPIES = 5,
  COPY_BYTES = 256 << 20, /* several times the largest L2 */
  TAG_BITS = 24
};
/* A stamp takes at most, since the host may be held up; an emulated GPU on a busy machine needs
 * more. */
#ifndef PREM_CUDA_STAMP_NS
#define PREM_CUDA_STAMP_NS 1000000000
#endif
constexpr int64_t stamp_ns_at_most = PREM_CUDA_STAMP_NS;

/** One thread reads the clock `reads` times: the smallest step seen, and the time of all. */
__global__ void read_clock(int32_t reads, int64_t *result) {
  int64_t smallest = INT64_MAX;
  const int64_t first = prem_clock_ns();
  int64_t last = first;
  for (int32_t i = 0; i < reads; ++i) {
    const int64_t now = prem_clock_ns();
    if (now > last && now - last < smallest)
      smallest = now - last;
    last = now;
  }
  result[0] = smallest;
  result[1] = last - first;
}

/* ---- skew ------------------------------------------------------------------------------------ */

/** A word that one SM writes and one other reads, in a sector of its own. */
struct alignas(32) mailbox {
  uint64_t message; /* a stamp's low 40 bits, and the number of the exchange below it */
};

struct skew_result {
  unsigned long long bound_ns; /* that covers all pairs */
  unsigned long long pairs;    /* that were measured */
};

/** What a block may still spend on waiting. */
struct patience {
  int64_t deadline_ns;
  int32_t polls;
};

__device__ void send(mailbox *box, uint32_t exchange, int64_t stamp_ns) {
  const uint64_t message = (uint64_t)stamp_ns << TAG_BITS | exchange;
  prem_store_relaxed(&box->message, message);
}

/** Wait for the message of an exchange; false when patience ends. */
__device__ bool receive(const mailbox *box, uint32_t exchange, patience *left, uint64_t *message) {
  while (left->polls-- > 0) {
    *message = prem_load_relaxed(&box->message);
    if ((*message & ((1u << TAG_BITS) - 1)) == exchange)
      return true;
    if (prem_clock_ns() > left->deadline_ns)
      return false;
  }
  return false;
}

/** By how much the stamp in a message is after one of ours. */
__device__ int64_t ahead_ns(uint64_t message, int64_t stamp_ns) {
  return (int64_t)(message - ((uint64_t)stamp_ns << TAG_BITS)) >> TAG_BITS;
}

__device__ bool lead(mailbox *theirs, const mailbox *ours, patience *left, skew_result *result) {
  int64_t max_ahead = INT64_MAX, max_behind = INT64_MAX;
  for (uint32_t exchange = 1; exchange <= EXCHANGES; ++exchange) {
    uint64_t answer;
    const int64_t sent = prem_clock_ns();
    send(theirs, exchange, sent);
    if (!receive(ours, exchange, left, &answer))
      return false;
    const int64_t back = prem_clock_ns();
    max_ahead = min(max_ahead, ahead_ns(answer, sent));
    max_behind = min(max_behind, -ahead_ns(answer, back));
  }
  atomicMax(&result->bound_ns, (unsigned long long)max(max(max_ahead, max_behind), (int64_t)0));
  atomicAdd(&result->pairs, 1ull);
  return true;
}

__device__ bool answer(mailbox *theirs, const mailbox *ours, patience *left) {
  for (uint32_t exchange = 1; exchange <= EXCHANGES; ++exchange) {
    uint64_t message;
    if (!receive(ours, exchange, left, &message))
      return false;
    send(theirs, exchange, prem_clock_ns());
  }
  return true;
}

/** Who meets `self` in a round of a tournament of `players`, an even number, in which everybody
 *  meets everybody in players - 1 rounds: the last stays, the others turn around it. */
__device__ int32_t baseline(int32_t self, int32_t round, int32_t players) {
  const int32_t circle = players - 1;
  if (self == circle) /* it meets the one that would meet itself: 2 x = round */
    return round % 2 == 0 ? round / 2 : (round + circle) / 2;
  const int32_t other = (round - self + circle) % circle;
  return other == self ? circle : other;
}

/** One thread a block, one block an SM: disjoint pairs at a time, so that all pairs take no longer
 *  than one SM with all others. `boxes` has a row for each reader. */
__global__ void meet_all(mailbox *boxes, skew_result *result) {
  const int32_t self = (int32_t)blockIdx.x, blocks = (int32_t)gridDim.x;
  const int32_t players = blocks + blocks % 2;
  patience left = {prem_clock_ns() + SKEW_NS, SKEW_POLLS};
  for (int32_t round = 0; round < players - 1; ++round) {
    const int32_t other = baseline(self, round, players);
    if (other >= blocks) /* an odd one out rests */
      continue;
    mailbox *theirs = &boxes[other * blocks + self];
    const mailbox *ours = &boxes[self * blocks + other];
    if (!(self < other ? lead(theirs, ours, &left, result) : answer(theirs, ours, &left)))
      return;
  }
}

/** All blocks resident, each with an SM of its own because it takes the SM's whole scratchpad. */
cudaError_t launch_meeting(int device, mailbox *boxes, skew_result *result, int32_t blocks) {
  int scratch = 0;
  cudaError_t error =
      cudaDeviceGetAttribute(&scratch, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute((const void *)meet_all,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, scratch);
  void *arguments[] = {&boxes, &result};
  if (error == cudaSuccess)
    error = cudaLaunchCooperativeKernel((const void *)meet_all, dim3((unsigned)blocks), dim3(1),
                                        arguments, (size_t)scratch, NULL);
  return error;
}

/* ---- the host's clock ------------------------------------------------------------------------ */

__global__ void write_clock(volatile int64_t *word) {
  *word = prem_clock_ns();
}

int64_t host_now_ns(void) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** A launch, from before its call until its stamp is seen; 0 in the word: not in time. */
cudaError_t stamp_once(cudaStream_t stream, volatile int64_t *word, int64_t *called_ns,
                       int64_t *seen_ns) {
  *word = 0;
  *called_ns = host_now_ns();
  void *arguments[] = {&word};
  const cudaError_t error =
      cudaLaunchKernel((const void *)write_clock, dim3(1), dim3(1), arguments, 0, stream);
  do
    *seen_ns = host_now_ns();
  while (error == cudaSuccess && *word == 0 && *seen_ns - *called_ns < stamp_ns_at_most);
  return error;
}

/* ---- copying --------------------------------------------------------------------------------- */

/** Every copy is timed alone: the shortest of them. */
cudaError_t time_copies(unsigned char *to, const unsigned char *from, float *shortest_ms) {
  cudaEvent_t begin = NULL, end = NULL;
  cudaError_t error = cudaEventCreate(&begin);
  if (error == cudaSuccess)
    error = cudaEventCreate(&end);
  for (int i = 0; i < COPIES && error == cudaSuccess; ++i) {
    float ms = 0;
    cudaEventRecord(begin, NULL);
    cudaMemcpyAsync(to, from, COPY_BYTES, cudaMemcpyDeviceToDevice, NULL);
    cudaEventRecord(end, NULL);
    error = cudaEventSynchronize(end);
    if (error == cudaSuccess)
      error = cudaEventElapsedTime(&ms, begin, end);
    if (i == 0 || ms < *shortest_ms)
      *shortest_ms = ms;
  }
  if (begin)
    cudaEventDestroy(begin);
  if (end)
    cudaEventDestroy(end);
  return error;
}

} // namespace

extern "C" cudaError_t prem_measure_clock(int64_t *step_ns, int64_t *read_ns) {
  int64_t *result = NULL, host[2] = {0};
  cudaError_t error = cudaMalloc((void **)&result, sizeof host);
  if (error == cudaSuccess) {
    int32_t reads = CLOCK_READS;
    void *arguments[] = {&reads, &result};
    error = cudaLaunchKernel((const void *)read_clock, dim3(1), dim3(1), arguments, 0, NULL);
  }
  if (error == cudaSuccess) {
    error = cudaMemcpy(host, result, sizeof host, cudaMemcpyDeviceToHost);
  }
  cudaFree(result);
  *step_ns = host[0];
  *read_ns = host[1] / CLOCK_READS;
  return error;
}

extern "C" cudaError_t prem_measure_skew(int device, int64_t step_ns, int64_t *skew_ns) {
  *skew_ns = 0;
  int blocks = 0;
  cudaError_t error = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device);
  const size_t box_bytes = (size_t)blocks * (size_t)blocks * sizeof(mailbox);
  unsigned char *room = NULL;
  skew_result host = {0, 0};
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&room, box_bytes + sizeof host);
  if (error == cudaSuccess)
    error = cudaMemset(room, 0, box_bytes + sizeof host);
  skew_result *result = (skew_result *)(room + box_bytes);
  if (error == cudaSuccess)
    error = launch_meeting(device, (mailbox *)room, result, blocks);
  if (error == cudaSuccess)
    error = cudaMemcpy(&host, result, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(room);
  const unsigned long long pairs = (unsigned long long)blocks * (unsigned)(blocks - 1) / 2;
  if (error == cudaSuccess && host.pairs == pairs)
    *skew_ns = (int64_t)host.bound_ns + step_ns;
  return error;
}

extern "C" cudaError_t prem_measure_offset(cudaStream_t stream, int64_t *word, int64_t *offset_ns,
                                           int64_t *width_ns) {
  int64_t narrowest_ns = INT64_MAX;
  *offset_ns = INT64_MIN;
  for (int i = 0; i < STAMPS; ++i) {
    int64_t called_ns, seen_ns;
    const cudaError_t error = stamp_once(stream, word, &called_ns, &seen_ns);
    const int64_t stamp_ns = *(volatile int64_t *)word;
    if (error != cudaSuccess)
      return error;
    if (stamp_ns == 0)
      return cudaSuccess; /* a later stamp could be this one's */
    if (seen_ns - called_ns < narrowest_ns) {
      narrowest_ns = seen_ns - called_ns;
      *offset_ns = stamp_ns - called_ns - narrowest_ns / 2;
      *width_ns = narrowest_ns;
    }
  }
  return cudaSuccess;
}

extern "C" cudaError_t prem_measure_copy(int64_t *bytes_per_s) {
  *bytes_per_s = 0;
  unsigned char *room = NULL;
  cudaError_t error = cudaMalloc((void **)&room, 2 * (size_t)COPY_BYTES);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return cudaSuccess;
  }
  float shortest_ms = 0;
  if (error == cudaSuccess)
    error = time_copies(room + COPY_BYTES, room, &shortest_ms);
  cudaFree(room);
  if (error == cudaSuccess && shortest_ms > 0)
    *bytes_per_s = (int64_t)(2.0 * COPY_BYTES / ((double)shortest_ms * 1e-3));
  return error;
}
