/* Of the executive: the writer, which starts writebacks and waits until they have landed. */
#ifndef TTPREM_EXECUTIVE_WRITER_CUH
#define TTPREM_EXECUTIVE_WRITER_CUH

#include "executive_memory.cuh"

namespace {

/** Copy a writeback out of its buffer, and wait until it is there. */
__device__ __forceinline__ void writeback_move(control *own, const prem_launch &launch,
                                               const slip *of, const prem_device_move *moves) {
  const int32_t count = of->record.move_count;
  unsigned char *buffer = bytes_at(own, of->buffer_at);
  const prem_device_port *ports = port_at(own, launch, 0);
  const bool bulk = by_bulk(launch);
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    const prem_device_port *port = &ports[moves[i].port];
#if PREM_ARCH >= 900
    const int4 box = *(const int4 *)moves[i].box_at;
    if (bulk && box.x >= 0) { /* it has no ragged ends */
      if (prem_elect())
        prem_box_store(box, port, prem_shared_address(buffer) + (uint32_t)moves[i].scratch_at);
      continue;
    }
#endif
    const prem_ends ends = prem_ends_of(&moves[i]);
#if PREM_ARCH >= 900
    if (bulk && ends.body > 0 && prem_elect())
      prem_move_store(&moves[i], port, buffer, ends);
#endif
    if (!bulk && ends.body > 0)
      prem_move_store_lanes(&moves[i], port, buffer, ends);
    if (ends.body < moves[i].width_bytes)
      prem_move_store_ends(&moves[i], port, buffer, ends);
  }
#if PREM_ARCH >= 900
  if (bulk && prem_elect())
    prem_store_wait();
#endif
  __syncwarp();
}

/** Until an order is there. @return whether it is; else the run is over: the starter has ended,
 *  which it does when the run is stopped as well. */
__device__ __forceinline__ bool order_await(control *own, uint32_t number) {
  const volatile int32_t *closing = &own->closing;
  uint64_t *order = &own->order[number % SLIPS];
  const uint32_t parity = number / SLIPS & 1u;
  for (;;) {
    const bool closed = *closing; /* before the look: orders come before it */
    const bool there = __any_sync(FULL_WARP, barrier_doze(order, parity));
    if (there || __all_sync(FULL_WARP, closed))
      return there;
  }
}

/** The writer: writebacks one after the other, in the order of the table. */
__device__ __forceinline__ void writer_warp(control *own, const prem_launch &launch) {
#pragma unroll 1
  for (uint32_t number = 0; order_await(own, number); ++number) {
    slip *of = &own->stores[number % SLIPS];
    writeback_move(own, launch, of, moves_at(own, launch, 2 * CHUNK + (int32_t)(number % SLIPS)));
    const int64_t end_ns = prem_clock_ns();
    const bool last = of->record.flags & PREM_RECORD_LAST;
    if (last)
      prem_store_publish();
    if (lane_number() == 0) {
      of->end_ns = end_ns;
      count_publish(own, PREM_WRITEBACK, number + 1u);
      if (last)
        job_finish(of);
    }
    __syncwarp();
  }
}

} // namespace

#endif
