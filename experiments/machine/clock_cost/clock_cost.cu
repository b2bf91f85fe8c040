/* SPDX-License-Identifier: Apache-2.0 */
/* What reading the GPU's clocks costs. All loops are counted. */
#include <algorithm>
#include <cmath>

#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/machine/clock_cost/clock_reads.h"

namespace {

enum { READS = 64, ROUNDS = 256 };

struct cycles_32 {
  static __device__ __forceinline__ int64_t read() {
    uint32_t now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
    return now;
  }
  static __device__ __forceinline__ int64_t between(int64_t begin, int64_t end) {
    return (uint32_t)end - (uint32_t)begin;
  }
};

struct cycles_64 {
  static __device__ __forceinline__ int64_t read() {
    int64_t now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
  }
  static __device__ __forceinline__ int64_t between(int64_t begin, int64_t end) {
    return end - begin;
  }
};

struct global_timer {
  static __device__ __forceinline__ int64_t read() { return prem_gpu_clock_ns(); }
  static __device__ __forceinline__ int64_t between(int64_t begin, int64_t end) {
    return end - begin;
  }
};

/** What a kernel finds of one clock. */
struct reads_found {
  int64_t ns, cycles; /* of READS x ROUNDS readings */
  int64_t pairs[PREM_CLOCK_WORKS][PREM_CLOCK_PAIRS];
  uint32_t kept; /* results that nothing else needs, so that they are not left out */
};

/** Two readings with `work` dependent operations between them. The second one hangs on their result
 *  by a branch that is never taken, so that it cannot be read early. */
template <class clock> __device__ int64_t time_work(int32_t work, uint32_t *value) {
  uint32_t worked = *value;
  const int64_t begin = clock::read();
#pragma unroll 1
  for (int32_t i = 0; i < work; i += 32)
#pragma unroll
    for (int operation = 0; operation < 32; ++operation)
      asm volatile("mad.lo.u32 %0, %0, %0, 12345;" : "+r"(worked));
  if (worked == 1) /* it never is: no square is -12344 modulo 2^32 */
    return -1;
  const int64_t end = clock::read();
  *value = worked;
  return clock::between(begin, end);
}

template <class clock> __global__ void read_clock(reads_found *found) {
  uint32_t kept = 2;
  /* Readings that nobody looks at would be left out. */
  int64_t longest = 0, last = clock::read();
  const int64_t begin_ns = prem_gpu_clock_ns();
  const int64_t begin_cycles = cycles_64::read();
#pragma unroll 1
  for (int round = 0; round < ROUNDS; ++round)
#pragma unroll
    for (int i = 0; i < READS; ++i) {
      const int64_t now = clock::read();
      longest = max(longest, clock::between(last, now));
      last = now;
    }
  found->cycles = cycles_64::read() - begin_cycles;
  found->ns = prem_gpu_clock_ns() - begin_ns;
  for (int work = 0; work < PREM_CLOCK_WORKS; ++work)
    for (int pair = 0; pair < PREM_CLOCK_PAIRS; ++pair)
      found->pairs[work][pair] = time_work<clock>(prem_clock_work(work), &kept);
  found->kept = kept + (uint32_t)longest;
}

double median(int64_t *values, int count) {
  std::sort(values, values + count);
  return (double)values[count / 2];
}

/** Mean differences: a clock that steps shows one step or none. */
double mean(const int64_t *values, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += (double)values[i];
  return sum / count;
}

template <class clock>
cudaError_t find_cost(const char *name, const char *unit, reads_found *here,
                      prem_clock_cost *cost) {
  static reads_found found;
  cudaError_t error = cudaSuccess;
  for (int round = 0; round < 2 && error == cudaSuccess; ++round) { /* the first one warms up */
    read_clock<clock><<<1, 1>>>(here);
    error = cudaGetLastError();
  }
  if (error == cudaSuccess)
    error = cudaMemcpy(&found, here, sizeof found, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess)
    return error;
  *cost = prem_clock_cost{};
  cost->clock = name;
  cost->unit = unit;
  cost->ordered = true;
  cost->read_ns = (double)found.ns / (READS * ROUNDS);
  cost->read_cycles = (double)found.cycles / (READS * ROUNDS);
  for (int work = 0; work < PREM_CLOCK_WORKS; ++work)
    cost->over_work[work] = mean(found.pairs[work], PREM_CLOCK_PAIRS);
  cost->pair = median(found.pairs[0], PREM_CLOCK_PAIRS);
  return cudaSuccess;
}

} // namespace

prem_status prem_gpu_clock_costs(prem_clock_cost *costs, int32_t *count, prem_diag *diag) {
  reads_found *here = NULL;
  *count = 0;
  cudaError_t error = cudaMalloc((void **)&here, sizeof *here);
  if (error == cudaSuccess)
    error = find_cost<cycles_32>("clock()", "cycles", here, &costs[0]);
  if (error == cudaSuccess)
    error = find_cost<cycles_64>("clock64()", "cycles", here, &costs[1]);
  if (error == cudaSuccess)
    error = find_cost<global_timer>("%globaltimer", "ns", here, &costs[2]);
  if (error == cudaSuccess)
    *count = 3;
  cudaFree(here);
  return prem_gpu_judge(error, "reading its clocks", diag);
}
