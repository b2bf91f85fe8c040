/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: warp 2, the watcher, which sees prefetches land and writes down what has ended.
 */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_WATCHER_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_WATCHER_CUH

#include "runtime/cuda/device/record.cuh"

namespace {

/**
 * The watcher sees prefetches land, one after the other, publishes the ends of jobs that end with a
 * compute, and writes down what has ended: one phase of each kind at a time, so that its work grows
 * with the tiles and not with their phases.
 */
__device__ __forceinline__ void watcher_warp(block_state *own) {
  uint32_t landed = 0;               /* prefetches of the run */
  uint32_t computes = 0, stores = 0; /* written down */
  uint32_t told = 0;                 /* computes of the run whose jobs' ends are published */
#pragma unroll 1
  for (;;) {
    const bool closed = __all_sync(FULL_WARP, *(volatile int32_t *)&own->closing &&
                                                  *(volatile int32_t *)&own->computing == 0);
    const uint32_t issued = __shfl_sync(FULL_WARP, *(volatile uint32_t *)&own->issued, 0);
    bool lands = false;
    if (issued != landed)
      lands = __any_sync(FULL_WARP, barrier_doze(&own->full[landed % RING], landed / RING & 1u));
    else
      __nanosleep(IDLE_NS);
#ifdef TTPREM_FAULT_DELAY /* tests/faults: this block's watcher is slow */
    if (lands && own->plan_block == DELAY_WATCHER)
      wait_until(prem_clock_ns() + TTPREM_FAULT_DELAY);
#endif
    const int64_t end_ns = prem_clock_ns();
    block_fence();
    const in_flight_phase *fetch = nullptr;
    if (lands) {
      in_flight_phase *of = &own->fetches[landed++ % MAX_IN_FLIGHT];
      if (lane_number() == 0) {
        of->end_ns = end_ns;
        count_publish(own, PREM_PREFETCH, landed);
        if (of->record.flags & PREM_RECORD_LAST)
          job_finish(of);
      }
      __syncwarp();
      fetch = of;
    }
    const bool flies = issued != landed;
    const uint4 done = counts_now(own);
    const uint32_t computed = __shfl_sync(FULL_WARP, done.y, 0) - computes;
    const uint32_t stored = __shfl_sync(FULL_WARP, done.z, 0) - stores;
    block_fence();
    if (computes + computed != told) { /* others wait for it: all at once, a lane each */
      const in_flight_phase *of = &own->computes[(told + (uint32_t)lane_number()) % MAX_IN_FLIGHT];
      if (told + (uint32_t)lane_number() - computes < computed &&
          (of->record.flags & PREM_RECORD_LAST) != 0)
        job_finish(of);
      __syncwarp();
      told = computes + computed;
    }
    if (closed && !flies && !lands && computed == 0 && stored == 0) {
      const uint32_t ordered = *(volatile uint32_t *)&own->ordered;
      if (__all_sync(FULL_WARP, done.w != 0 || ordered == stores))
        return;
    }
    /* while one flies, just behind a landing: the next one is not near then */
    if (!lands && (flies ? max(computed, stored) < MAX_IN_FLIGHT / 2 : computed + stored == 0))
      continue;
    const in_flight_phase *compute =
        computed ? &own->computes[computes++ % MAX_IN_FLIGHT] : nullptr;
    const in_flight_phase *store = stored ? &own->stores[stores++ % MAX_IN_FLIGHT] : nullptr;
    write_to_trace(fetch, compute, store);
    if (lane_number() == 0) {
      *(volatile uint32_t *)&own->computes_written = computes;
      *(volatile uint32_t *)&own->stores_written = stores;
    }
  }
}

} // namespace

#endif
