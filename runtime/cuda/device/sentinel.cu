/* SPDX-License-Identifier: Apache-2.0 */
/* The sentinel: see sentinel.h. The warp that looks at the clock touches nothing farther away than
 * the scratchpad until it has seen a gap, so that full memory makes none. */
#include "runtime/cuda/device/sentinel.h"

#include "runtime/core/ptx.cuh"

namespace {

enum { NAP_NS = 50000 }; /* the host's word is across the bus */

__device__ void look_at_clock(const prem_sentinel_orders &orders, const volatile uint32_t *over) {
  prem_sentinel_log *log = orders.log;
  int64_t count = 0, longest_ns = 0, sum_ns = 0, before_ns = prem_clock_ns();
  log->begin_ns = before_ns;
  log->sm = (int32_t)prem_smid();
  while (!*over) {
    const int64_t now_ns = prem_clock_ns(), length_ns = now_ns - before_ns;
    if (length_ns > orders.gap_ns) {
      if (count < PREM_SENTINEL_GAPS)
        log->gaps[count] = {before_ns, length_ns};
      ++count;
      longest_ns = max(longest_ns, length_ns);
      sum_ns += length_ns;
    }
    before_ns = now_ns;
  }
  log->end_ns = before_ns;
  log->count = count;
  log->longest_ns = longest_ns;
  log->sum_ns = sum_ns;
}

/** Until the host says so, or has said nothing for too long: it is stopped, or dead. */
__device__ void listen(const prem_sentinel_orders &orders) {
  int64_t heard_ns = prem_clock_ns();
  uint32_t heard = PREM_SENTINEL_STOP;
  *(volatile uint32_t *)orders.is_there = 1;
  for (;;) {
    const uint32_t word = *(const volatile uint32_t *)orders.word;
    const int64_t now_ns = prem_clock_ns();
    if (word == PREM_SENTINEL_STOP || (word == heard && now_ns - heard_ns > orders.silence_ns))
      return;
    if (word != heard) {
      heard = word;
      heard_ns = now_ns;
    }
    __nanosleep(NAP_NS);
  }
}

__device__ bool may_stay(const prem_sentinel_orders &orders) {
  const int32_t *first = orders.sm_first ? orders.sm_first + prem_smid() : nullptr;
  return (!first || first[0] == first[1]) && atomicCAS(&orders.log->taken, 0u, 1u) == 0u;
}

__global__ void __launch_bounds__(PREM_SENTINEL_THREADS)
    sentinel(const prem_sentinel_orders orders) {
  __shared__ volatile uint32_t over;
  if (threadIdx.x == 0)
    over = !may_stay(orders);
  __syncthreads();
  if (over)
    return;
  __syncthreads(); /* all have read it before it is written */
  if (threadIdx.x == 0) {
    look_at_clock(orders, &over);
  } else if (threadIdx.x == 32) {
    listen(orders);
    over = 1;
  }
}

} // namespace

extern "C" const void *prem_sentinel_code(void) {
  return (const void *)sentinel;
}
