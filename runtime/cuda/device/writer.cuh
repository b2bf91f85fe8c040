/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: warp 1, the writer, which starts writebacks and waits until they have landed.
 */
#pragma once

#include "runtime/cuda/device/best_effort.cuh"
#include "runtime/cuda/device/gates.cuh"
#include "runtime/cuda/device/record.cuh"

namespace {

/** The first copy of a writeback, its operands at hand before its instant. */
__device__ __forceinline__ first_copy store_prepare(block_state *own, const prem_launch &launch,
                                                    const in_flight_phase *of,
                                                    const prem_device_move *moves) {
  return prem_first_copy(moves, by_bulk(launch) ? of->record.move_count : 0,
                         port_at(own, launch, 0), bytes_at(own, of->buffer_at));
}

/** At an instant start the one copy of a writeback: see first_fetch(). */
__device__ __forceinline__ int64_t first_store(const block_state *own, const first_copy &first,
                                               int64_t due_ns) {
  int64_t released_ns;
  if (first.box.x >= 0) {
    released_ns = instant_await(own, DELAY_WRITER, due_ns);
    prem_box_store(first.box, first.from, first.scratch);
  } else {
    released_ns = instant_await(own, DELAY_WRITER, due_ns);
    prem_row_store((unsigned char *)first.from, first.scratch, first.bytes);
  }
  return released_ns;
}

/** At an instant start the first copy of a writeback, and stamp that. One warp, of which one lane
 *  waits where it is one copy. */
__device__ __forceinline__ void store_start(block_state *own, in_flight_phase *of,
                                            const first_copy &first, int64_t due_ns) {
  if (prem_is_one(first)) {
    if (prem_elect()) {
      const int64_t released_ns = first_store(own, first, due_ns);
      const int64_t issued_ns = prem_clock_ns();
      of->issue_ns = (uint32_t)(issued_ns - released_ns);
      of->released_ns = released_ns;
      witness_tell(own, DELAY_WRITER, due_ns, issued_ns);
    }
    __syncwarp();
    return;
  }
  const int64_t released_ns = PREM_GATED ? due_ns : wait_until(due_ns);
  fault_dwell(own, DELAY_WRITER, due_ns);
  if (lane_number() == 0) {
    of->issue_ns = (uint32_t)(prem_clock_ns() - released_ns);
    of->released_ns = released_ns;
  }
}

/** Start the other copies of a writeback out of its buffer. @return whether lanes do some of it,
 *  who see to it themselves that others see it. */
__device__ __forceinline__ bool writeback_issue(block_state *own, const prem_launch &launch,
                                                const in_flight_phase *of,
                                                const prem_device_move *moves, int32_t from) {
  const int32_t count = of->record.move_count;
  unsigned char *buffer = bytes_at(own, of->buffer_at);
  const prem_device_port *ports = port_at(own, launch, 0);
  const bool bulk = by_bulk(launch);
  bool by_lanes = false;
#pragma unroll 1
  for (int32_t i = from; i < count; ++i) {
    const prem_device_port *port = &ports[moves[i].port];
    const int4 box = *(const int4 *)moves[i].box_at;
    if (bulk && box.x >= 0) { /* it has no ragged ends */
      if (prem_elect())
        prem_box_store(box, port->map, prem_shared_address(buffer) + (uint32_t)moves[i].scratch_at);
      continue;
    }
    const prem_ends ends = prem_ends_of(&moves[i]);
    if (bulk && ends.body > 0 && prem_elect())
      prem_move_store(&moves[i], port, buffer, ends);
    if (!bulk && ends.body > 0)
      prem_move_store_lanes(&moves[i], port, buffer, ends);
    if (ends.body < moves[i].width_bytes)
      prem_move_store_ends(&moves[i], port, buffer, ends);
    by_lanes |= !bulk || ends.body < moves[i].width_bytes;
  }
  return by_lanes;
}

/** Until it is there. */
__device__ __forceinline__ void writeback_land(const prem_launch &launch, bool by_lanes) {
  if (by_bulk(launch) && prem_elect())
    prem_bulk_store_wait();
  if (by_lanes)
    prem_store_publish();
  __syncwarp();
}

/** Wait for what a writeback follows, asked before there is anything to write, then for what it
 * needs on this block. @return the instant from which it may start; -1: stopped. One warp. */
__device__ __forceinline__ int64_t store_await(int32_t place) {
  block_state *own = shared();
  const in_flight_phase *of = &own->stores[place];
  const prem_device_record *record = &of->record;
  const needs need = needs_in(own, of->hyperperiod, record);
  int64_t due_ns = earliest_start(own->launch, of->origin_ns, record, LEAD_NS);
  if (record->flags & PREM_RECORD_AFTER) {
    const int64_t from_ns = follow(STORES + place, of->index, of->hyperperiod);
    if (from_ns < 0)
      return -1;
    due_ns = max((long long)due_ns, (long long)from_ns);
  }
  int64_t look_ns = 0;
  int32_t looks = 0;
#pragma unroll 1
  for (;;) {
    const uint4 done = counts_now(own);
    if (__any_sync(FULL_WARP, done.w != 0))
      return -1;
    if (__any_sync(FULL_WARP, counts_reach(done, need)))
      break;
    __nanosleep(PEEK_NS);
    held_nap(own);
    const int64_t now = prem_clock_ns();
    look_ns = look_ns ? look_ns : now + LOOK_NS;
    if (__any_sync(FULL_WARP, now > look_ns && !is_near(due_ns, now))) {
      look_ns = 0;
      if (wait_look(++looks, of->index, STORES + place, of->hyperperiod))
        return -1;
    }
  }
  prem_block_fence();
  return due_ns;
}

/** An instant comes nearer: sleep until just before it. nanosleep takes twice its time at most.
 *  @return false: stopped. */
__device__ __forceinline__ bool instant_near(int64_t due_ns) {
  int64_t left_ns = due_ns - prem_clock_ns();
  if (__any_sync(FULL_WARP, left_ns > 4 * LOOK_NS) && !far_sleep(due_ns))
    return false;
  while ((left_ns = due_ns - prem_clock_ns()) > NEAR_NS)
    __nanosleep((uint32_t)min((long long)NAP_NS / 2, (long long)(left_ns - NEAR_NS) / 2));
  return true;
}

/** A writeback has landed: stamp its end, count it, tell whoever follows its job. */
__device__ __forceinline__ void writeback_finish(block_state *own, in_flight_phase *of,
                                                 uint32_t number, const job_end &job) {
  const int64_t end_ns = prem_clock_ns();
  if (lane_number() == 0) {
    of->end_ns = end_ns;
    count_publish(own, PREM_WRITEBACK, number + 1u); /* the entry is the watcher's then */
    if (job.host_at >= 0) {
      prem_fence_async(); /* bulk copies of others may fetch it */
      job_tell(job, end_ns);
    }
  }
  __syncwarp();
}

/** Start a writeback that has all it needs. @return see writeback_issue(). One warp. */
__device__ __forceinline__ bool writeback_start(block_state *own, const prem_launch &launch,
                                                in_flight_phase *of, const prem_device_move *moves,
                                                const first_copy &first, int64_t due_ns) {
  store_start(own, of, first, due_ns);
  return writeback_issue(own, launch, of, moves, prem_is_one(first));
}

/** Wait until it has landed, and say so. */
__device__ __forceinline__ void writeback_end(block_state *own, const prem_launch &launch,
                                              in_flight_phase *of, uint32_t number, bool by_lanes) {
  const job_end job = job_end_of(own, of);
  writeback_land(launch, by_lanes);
  fault_dwell(own, DELAY_LANDING);
  writeback_finish(own, of, number, job);
}

#if PREM_GATED

/** The writer's table at its start. One thread. */
__device__ __forceinline__ void stores_open(block_state *own, const prem_launch &launch,
                                            const prem_device_block *block) {
  own->store_records = block->store;
  own->store_moves = block->moves + (int64_t)block->memory_count * launch.max_moves;
  own->store_count = block->store_count;
}

/** Send a record of the writer's table on its way into an entry, when that is free, and its moves.
 *  @return false: stopped. One warp. */
__device__ __forceinline__ bool store_bring(block_state *own, const prem_launch &launch,
                                            int32_t index, uint32_t number) {
  constexpr int32_t WORDS = (int32_t)(sizeof(prem_device_record) / 16);
  const int32_t place = (int32_t)(number % MAX_IN_FLIGHT), lane = lane_number();
  if (!store_entry_await(own, number))
    return false;
  if (lane < WORDS)
    prem_copy_16((int4 *)&own->stores[place].record + lane,
                 (const int4 *)&own->store_records[index] + lane);
  static_assert(MOVE_WORDS * PREM_MAX_PORTS <= 32, "a word for each lane at most");
  if (lane < MOVE_WORDS * launch.max_moves)
    prem_copy_16((int4 *)moves_at(own, launch, 2 * CHUNK + place) + lane,
                 (const int4 *)&own->store_moves[(int64_t)index * launch.max_moves] + lane);
  return true;
}

/** A writeback that only waits for what it needs. */
struct store_ready {
  first_copy first;
  int64_t quiet_ns; /* see gate_prepare() */
};

/** It is there: fill the rest of its entry, and make ready what can be. One warp. */
__device__ __forceinline__ store_ready store_fill(block_state *own, const prem_launch &launch,
                                                  const table_position &at, uint32_t number) {
  const int32_t place = (int32_t)(number % MAX_IN_FLIGHT);
  in_flight_phase *of = &own->stores[place];
  ring_arrive();
  if (lane_number() == 0) {
    of->origin_ns = at.origin_ns;
    of->hyperperiod = at.hyperperiod;
    of->index = at.index;
    of->buffer_at = launch.buffers_at + own->memory_table.out_at[of->record.out_buffer];
    came_set(of, 0);
  }
  __syncwarp();
  return store_ready{store_prepare(own, launch, of, moves_at(own, launch, 2 * CHUNK + place)),
                     gate_prepare(WRITER, of)};
}

/**
 * The writer: writebacks one after the other, in the order of a table of its own, so that the
 * starter has nothing to do with them. While one flies the next one is made ready, and the record
 * of the one after it comes.
 */
__device__ __forceinline__ void writer_warp(block_state *own, const prem_launch &launch) {
  table_position at = position_at_start(own, own->store_count);
  if (at.count == 0 || !store_bring(own, launch, 0, 0))
    return;
  store_ready next = store_fill(own, launch, at, 0);
  int32_t coming = at.count > 1;
  bool goes_on = store_bring(own, launch, coming, 1);
#pragma unroll 1
  for (uint32_t number = 0; goes_on; ++number) {
    const int32_t place = (int32_t)(number % MAX_IN_FLIGHT);
    in_flight_phase *of = &own->stores[place];
    const int64_t due_ns = store_await(place);
    if (due_ns < 0)
      return;
    const int64_t ready_ns = prem_clock_ns();
    const int64_t passed_ns = gate_pass(WRITER, of, ready_ns, due_ns, next.quiet_ns);
    if (passed_ns < 0)
      return;
    if (lane_number() == 0)
      of->ready_ns = ready_ns;
    const bool by_lanes = writeback_start(own, launch, of, moves_at(own, launch, 2 * CHUNK + place),
                                          next.first, passed_ns);
    if (++at.index == at.count)
      position_wrap(own, &at); /* buffers do not rotate: orders end within their hyperperiod */
    goes_on = at.hyperperiod < launch.hyperperiods;
    if (goes_on) {
      next = store_fill(own, launch, at, number + 1u);
      coming = coming + 1 < at.count ? coming + 1 : 0;
      goes_on = store_bring(own, launch, coming, number + 2u);
    }
    writeback_end(own, launch, of, number, by_lanes);
  }
}

#else

__device__ __forceinline__ void stores_open(block_state *, const prem_launch &,
                                            const prem_device_block *) {}

__device__ __forceinline__ prem_device_move *
moves_of_store(block_state *own, const prem_launch &launch, uint32_t number) {
  return moves_at(own, launch, 2 * CHUNK + (int32_t)(number % MAX_IN_FLIGHT));
}

/** Until an order is there. @return whether it is; else the run is over: the starter has ended,
 *  which it does when the run is stopped as well. */
__device__ __forceinline__ bool order_await(block_state *own, uint32_t number) {
  const volatile int32_t *closing = &own->closing;
  uint64_t *order = &own->order[number % MAX_IN_FLIGHT];
  const uint32_t parity = number / MAX_IN_FLIGHT & 1u;
  for (;;) {
    const bool closed = *closing; /* before the look: orders come before it */
    const bool there = __any_sync(FULL_WARP, barrier_doze(order, parity));
    if (there || __all_sync(FULL_WARP, closed))
      return there;
  }
}

/** From when an ordered writeback may start. The starter knows it of a joined one; the writer waits
 *  itself for all that another one needs. @return false: stopped. */
__device__ __forceinline__ bool order_due(in_flight_phase *of, uint32_t number, int64_t *due_ns) {
  *due_ns = of->released_ns;
  if (of->ready_ns < 0) {
    *due_ns = store_await((int32_t)(number % MAX_IN_FLIGHT));
    if (*due_ns < 0)
      return false;
    if (lane_number() == 0)
      of->ready_ns = prem_clock_ns();
  }
  return true;
}

/**
 * The writer: writebacks one after the other, in the order of the table. It has an order before
 * anything is there to write, waits for that, and starts it at its instant.
 */
__device__ __forceinline__ void writer_warp(block_state *own, const prem_launch &launch) {
#pragma unroll 1
  for (uint32_t number = 0; order_await(own, number); ++number) {
    in_flight_phase *of = &own->stores[number % MAX_IN_FLIGHT];
    int64_t due_ns;
    if (is_gated(&of->record) &&
        !writeback_gate((int32_t)(number % MAX_IN_FLIGHT), of->hyperperiod))
      return;
    if (!order_due(of, number, &due_ns))
      return;
    if (is_gated(&of->record) && has_skipped(own))
      writeback_judge(of);
    const prem_device_move *moves = moves_of_store(own, launch, number);
    const first_copy first = store_prepare(own, launch, of, moves);
    if (!instant_near(due_ns))
      return;
    const bool by_lanes = writeback_start(own, launch, of, moves, first, due_ns);
    writeback_end(own, launch, of, number, by_lanes);
  }
}

#endif

} // namespace
