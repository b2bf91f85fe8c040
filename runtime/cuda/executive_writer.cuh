/* Of the executive: the writer, which starts writebacks and waits until they have landed. */
#ifndef TTPREM_EXECUTIVE_WRITER_CUH
#define TTPREM_EXECUTIVE_WRITER_CUH

#include "executive_memory.cuh"

namespace {

/** Start copying a writeback out. */
__device__ __forceinline__ void writeback_issue(control *own, const prem_launch &launch,
                                                const slip *of, const prem_device_move *moves) {
  const prem_device_port *ports = port_at(own, launch, 0);
  const int32_t count = of->told.move_count;
  unsigned char *buffer = bytes_at(own, of->buffer_at);
  const bool bulk = by_bulk(launch);
  /* The computes met before they were counted, and we have seen the count: from here on the copy
   * engine sees what they stored. */
  if (bulk)
    prem_fence_async_scratch();
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    const prem_ends ends = prem_ends_of(&moves[i]);
    const prem_device_port *port = &ports[moves[i].port];
#if PREM_ARCH >= 900
    if (bulk && ends.body > 0 && prem_elect())
      prem_move_store(&moves[i], port, buffer, ends);
#endif
    if (!bulk && ends.body > 0)
      prem_move_store_lanes(&moves[i], port, buffer, ends);
    if (ends.body < moves[i].width_bytes)
      prem_move_store_ends(&moves[i], port, buffer, ends);
  }
}

/** Until it is there. */
__device__ __forceinline__ void writeback_await(const prem_launch &launch) {
#if PREM_ARCH >= 900
  if (by_bulk(launch) && prem_elect())
    prem_store_wait();
#endif
  (void)launch;
  __syncwarp();
}

/** Until an order is there. @return whether it is; else the run is over. */
__device__ __forceinline__ bool order_await(control *own, uint32_t number) {
  const volatile int32_t *closing = &own->closing;
  const volatile uint32_t *abort = &own->counts[ABORT];
  uint64_t *order = &own->order[number % SLIPS];
  const uint32_t parity = number / SLIPS & 1u;
  for (;;) {
    const bool closed = *closing; /* before the look: orders come before it */
    const bool there = __any_sync(FULL_WARP, barrier_doze(order, parity));
    if (__any_sync(FULL_WARP, *abort != 0))
      return false;
    if (there || __all_sync(FULL_WARP, closed))
      return there;
  }
}

/** Is an order there that is due, or nearly? */
__device__ __forceinline__ bool order_presses(control *own, uint32_t number) {
  const bool there = prem_barrier_test(&own->order[number % SLIPS], number / SLIPS & 1u);
  return __any_sync(FULL_WARP,
                    there && own->stores[number % SLIPS].due_ns - prem_clock_ns() < RECORDING_NS);
}

/** The writer: writebacks one after the other, in the order of the table. One that has landed is
 *  written down when none presses, or while the next one is on its way. */
__device__ __forceinline__ void writer_warp(control *own, const prem_launch &launch) {
  const slip *landed = nullptr;
  uint32_t number = 0;
#pragma unroll 1
  for (;; ++number) {
    if (landed && !order_presses(own, number)) {
      slip_record(own, launch, PREM_WRITEBACK, landed);
      landed = nullptr;
    }
    if (!order_await(own, number))
      break;
    slip *of = &own->stores[number % SLIPS];
    const int64_t due_ns = of->due_ns;
    if (due_ns - of->ready_ns > 4 * LOOK_NS && !far_sleep(due_ns)) /* the same to all lanes */
      break;
    const int64_t start_ns = wait_until(due_ns);
    writeback_issue(own, launch, of, moves_at(own, launch, 2 * CHUNK + (int32_t)(number % SLIPS)));
    if (landed) /* its slip is not used again while one more is on its way */
      slip_record(own, launch, PREM_WRITEBACK, landed);
    writeback_await(launch);
    const int64_t end_ns = prem_clock_ns();
    const bool last = of->told.flags & PREM_RECORD_LAST;
    if (last)
      prem_store_publish();
    if (lane_number() == 0) {
      count_publish(own, PREM_WRITEBACK, number + 1u);
      of->start_ns = start_ns;
      of->end_ns = end_ns;
      if (last)
        job_finish(of);
    }
    __syncwarp();
    landed = of;
  }
  if (landed)
    slip_record(own, launch, PREM_WRITEBACK, landed);
}

} // namespace

#endif
