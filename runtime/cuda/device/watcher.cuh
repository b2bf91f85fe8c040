/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: warp 2, the watcher, which sees prefetches land and writes down what has ended.
 */
#pragma once

#include "runtime/cuda/device/best_effort.cuh"
#include "runtime/cuda/device/record.cuh"

namespace {

/** What has ended and is not written down yet. */
struct ended_phases {
  uint32_t computes, stores;
  bool stopped; /* the run is */
};

/** Does nobody start anything any more? The whole warp agrees. */
__device__ __forceinline__ bool units_have_closed(const block_state *own) {
  return __all_sync(FULL_WARP, *(const volatile int32_t *)&own->closing &&
                                   *(const volatile int32_t *)&own->computing == 0);
}

/** Doze until the next prefetch lands, for a microsecond or so; a shorter while if none flies. */
__device__ __forceinline__ bool landing_await(block_state *own, uint32_t landed, uint32_t issued) {
  bool lands = false;
  if (issued != landed) {
    lands = __any_sync(FULL_WARP, barrier_doze(&own->full[landed % RING], landed / RING & 1u));
  } else {
    held_nap(own);
    __nanosleep(IDLE_NS);
  }
  return lands;
}

/** A prefetch has landed: stamp its end, count it, tell whoever follows its job. */
__device__ __forceinline__ void landing_publish(block_state *own, in_flight_phase *of,
                                                uint32_t landed, int64_t end_ns) {
  if (lane_number() == 0) {
    of->end_ns = end_ns;
    count_publish(own, PREM_PREFETCH, landed);
    if (of->record.flags & PREM_RECORD_LAST)
      job_finish(of);
  }
  __syncwarp();
}

/** Look at what the other warps have counted. */
__device__ __forceinline__ ended_phases ended_now(const block_state *own, uint32_t computes_written,
                                                  uint32_t stores_written) {
  const uint4 done = counts_now(own);
  const uint32_t computes = __shfl_sync(FULL_WARP, done.y, 0) - computes_written;
  const uint32_t stores = __shfl_sync(FULL_WARP, done.z, 0) - stores_written;
  prem_block_fence();
  return ended_phases{computes, stores, done.w != 0};
}

/** Tell whoever follows the jobs that ended with a compute: others wait for it, so all at once, a
 *  lane each. */
__device__ __forceinline__ void computes_tell(block_state *own, uint32_t told, uint32_t written,
                                              uint32_t ended) {
  const in_flight_phase *of = &own->computes[(told + (uint32_t)lane_number()) % MAX_IN_FLIGHT];
  if (told + (uint32_t)lane_number() - written < ended &&
      (of->record.flags & PREM_RECORD_LAST) != 0)
    job_finish(of);
  __syncwarp();
}

/** All orders have been carried out, or the run is stopped. */
__device__ __forceinline__ bool orders_are_done(const block_state *own, bool stopped,
                                                uint32_t stores_written) {
  const uint32_t ordered = *(const volatile uint32_t *)&own->ordered;
  return __all_sync(FULL_WARP, stopped || ordered == stores_written);
}

/** With nothing landed, is it too early to write down? While a prefetch flies until entries get
 *  scarce: just behind a landing is better, since the next one is not near then. */
__device__ __forceinline__ bool is_too_early(const ended_phases &ended, bool flies) {
  return flies ? max(ended.computes, ended.stores) < MAX_IN_FLIGHT / 2
               : ended.computes + ended.stores == 0;
}

/** Write one phase of each kind down, at most; their entries are free then. */
__device__ __forceinline__ void phases_write(block_state *own, const in_flight_phase *fetch,
                                             const in_flight_phase *compute,
                                             const in_flight_phase *store, uint32_t computes,
                                             uint32_t stores) {
  write_to_trace(fetch, compute, store);
  if (lane_number() == 0) {
    *(volatile uint32_t *)&own->computes_written = computes;
    *(volatile uint32_t *)&own->stores_written = stores;
  }
}

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
    const bool closed = units_have_closed(own);
    const uint32_t issued = __shfl_sync(FULL_WARP, *(volatile uint32_t *)&own->issued, 0);
    const bool lands = landing_await(own, landed, issued);
    if (lands)
      fault_dwell(own, DELAY_WATCHER);
    const int64_t end_ns = prem_clock_ns();
    prem_block_fence();
    const in_flight_phase *fetch = nullptr;
    if (lands) {
      in_flight_phase *of = &own->fetches[landed++ % MAX_IN_FLIGHT];
      landing_publish(own, of, landed, end_ns);
      fetch = of;
    }
    const bool flies = issued != landed;
    const ended_phases ended = ended_now(own, computes, stores);
    if (computes + ended.computes != told) {
      computes_tell(own, told, computes, ended.computes);
      told = computes + ended.computes;
    }
    if (closed && !flies && !lands && ended.computes == 0 && ended.stores == 0)
      if (orders_are_done(own, ended.stopped, stores))
        return;
    if (!lands && is_too_early(ended, flies))
      continue;
    const in_flight_phase *compute =
        ended.computes ? &own->computes[computes++ % MAX_IN_FLIGHT] : nullptr;
    const in_flight_phase *store = ended.stores ? &own->stores[stores++ % MAX_IN_FLIGHT] : nullptr;
    phases_write(own, fetch, compute, store, computes, stores);
  }
}

} // namespace
