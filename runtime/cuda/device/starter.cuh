/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: warp 0, the starter, which starts prefetches and hands writebacks to the
 * writer. */
#pragma once

#include "runtime/cuda/device/best_effort.cuh"
#include "runtime/cuda/device/gates.cuh"
#include "runtime/cuda/device/record.cuh"
#include "runtime/cuda/device/tokens.cuh"

namespace {

/** A prefetch that only waits to be started. */
struct copy_request {
  unsigned char *buffer;
  uint64_t *full; /* by the bulk engine it expects the bytes already */
  const prem_device_move *moves;
  int32_t count;
  first_copy first; /* in best effort; by a plan there is time for it at the instant */
};

/** Its barrier is told of the bytes to come, before there is anything to wait for. Where none come
 * that would complete it, and the compute would run before what the prefetch itself waits for: the
 * writeback of an only buffer, say. So of a skipped job it is told at the start. */
__device__ __forceinline__ void prefetch_expect(block_state *own, const prem_launch &launch,
                                                int32_t slot, uint32_t number) {
  if (LIVE && own->memory.records[slot].move_count == 0)
    return;
  if (by_bulk(launch) && prem_elect())
    prem_barrier_expect(&own->full[number % RING], (uint32_t)own->memory.records[slot].fetch_bytes);
}

/** tests/faults: a block whose windows lie outside of all arrays. */
#ifdef TTPREM_FAULT_WINDOW
__device__ __forceinline__ void fault_window(block_state *own, const prem_launch &launch,
                                             int32_t slot) {
  if (own->plan_block == TTPREM_FAULT_WINDOW && lane_number() == 0) {
    moves_at(own, launch, slot)->array += (int64_t)1 << 40;
    moves_at(own, launch, slot)->box_at[0] = PREM_MOVE_ROWS;
  }
  __syncwarp();
}
#else
__device__ __forceinline__ void fault_window(block_state *, const prem_launch &, int32_t) {}
#endif

/** All else of a prefetch that can be done before its start. */
__device__ __forceinline__ copy_request prefetch_prepare(block_state *own,
                                                         const prem_launch &launch, int32_t slot,
                                                         uint32_t number) {
  const prem_device_record *record = &own->memory.records[slot];
  fault_window(own, launch, slot);
  copy_request now = {bytes_at(own, launch.buffers_at + own->memory_table.in_at[record->in_buffer]),
                      &own->full[number % RING],
                      moves_at(own, launch, slot),
                      record->move_count,
                      {}};
  if (PREM_GATED)
    now.first = prem_first_copy(now.moves, now.count, port_at(own, launch, 0), now.buffer);
  return now;
}

/** At an instant start the one copy of a prefetch. Each kind waits by itself: so its operands are
 *  where its instruction wants them. One lane. @return the reading that showed the instant */
__device__ __forceinline__ int64_t first_fetch(const block_state *own, const first_copy &first,
                                               uint32_t signal, int64_t due_ns) {
  int64_t released_ns;
  if (first.box.x >= 0) {
    released_ns = instant_await(own, DELAY_STARTER, due_ns);
    prem_box_fetch(first.box, first.from, first.scratch, signal);
  } else {
    released_ns = instant_await(own, DELAY_STARTER, due_ns);
    prem_bulk_fetch(first.scratch, first.from, first.bytes, signal, prem_fetch_policy());
  }
  return released_ns;
}

/** At an instant start the copies of a prefetch. One lane, which has the first one's operands in
 *  registers by then. @return the reading that showed the instant */
__device__ __forceinline__ int64_t prefetch_issue(block_state *own, const prem_launch &launch,
                                                  const copy_request &now, int64_t due_ns,
                                                  int64_t *issued_ns) {
  const prem_device_port *ports = port_at(own, launch, 0);
  const first_copy first =
      PREM_GATED ? now.first : prem_first_copy(now.moves, now.count, ports, now.buffer);
  const bool is_one = prem_is_one(first);
  const uint32_t signal = prem_shared_address(now.full);
  const int64_t released_ns =
      is_one ? first_fetch(own, first, signal, due_ns) : instant_await(own, DELAY_STARTER, due_ns);
  if (LIVE && now.count == 0)
    prem_barrier_expect(now.full, 0);
  *issued_ns = prem_clock_ns();
  witness_tell(own, DELAY_STARTER, due_ns, *issued_ns);
#pragma unroll 1
  for (int32_t i = is_one; i < now.count; ++i)
    prem_move_fetch(&now.moves[i], &ports[now.moves[i].port], now.buffer, now.full);
  return released_ns;
}

/** The same where lanes copy. The whole warp. */
__device__ __forceinline__ int64_t prefetch_issue_lanes(block_state *own, const prem_launch &launch,
                                                        const copy_request &now, int64_t due_ns,
                                                        int64_t *issued_ns) {
  const prem_device_port *ports = port_at(own, launch, 0);
  const int64_t released_ns = PREM_GATED ? due_ns : wait_until(due_ns);
  fault_dwell(own, DELAY_STARTER, due_ns);
  *issued_ns = prem_clock_ns();
#pragma unroll 1
  for (int32_t i = 0; i < now.count; ++i)
    prem_move_fetch_lanes(&now.moves[i], &ports[now.moves[i].port], now.buffer, launch.engine);
  if (lane_number() == 0)
    prem_barrier_arrive(now.full);
  return released_ns;
}

/** Fill a writeback's entry, its moves with it: all that the writer will need but the start. */
__device__ __forceinline__ void writeback_prepare(block_state *own, const prem_launch &launch,
                                                  int32_t slot, uint32_t number,
                                                  const standing &at) {
  const int32_t place = (int32_t)(number % MAX_IN_FLIGHT), lane = lane_number();
  const prem_device_record *record = &own->memory.records[slot];
  const int4 *from = (const int4 *)moves_at(own, launch, slot);
  int4 *to = (int4 *)moves_at(own, launch, 2 * CHUNK + place);
  in_flight_phase *of = &own->stores[place];
  entry_fill(of, record, at, origin_of(own, at.hyperperiod));
  static_assert(MOVE_WORDS * PREM_MAX_PORTS <= 32, "a word for each lane at most");
  if (lane < MOVE_WORDS * record->move_count)
    to[lane] = from[lane];
  if (lane == 0)
    of->buffer_at = launch.buffers_at + own->memory_table.out_at[record->out_buffer];
  __syncwarp();
}

/** Hand it to the writer, which keeps its instant. `ready_ns`: when all that it needs was there;
 * -1: the writer has to wait for that as well, and knows the instant then. */
__device__ __forceinline__ void writeback_order(block_state *own, uint32_t number, int64_t ready_ns,
                                                int64_t due_ns) {
  const int32_t place = (int32_t)(number % MAX_IN_FLIGHT);
  if (lane_number() == 0) {
    own->stores[place].ready_ns = ready_ns;
    own->stores[place].released_ns = due_ns;
    prem_barrier_arrive(&own->order[place]);
  }
}

/** Step over a phase or a pair; the half of the ring that becomes free is filled again. */
__device__ __forceinline__ void starter_advance(block_state *own, table_position *at,
                                                int32_t records) {
  const int32_t old = at->slot;
  at->index += records;
  at->slot = (at->slot + records) & (2 * CHUNK - 1);
  if (at->index == at->count) {
    position_wrap(own, at);
    at->slot = (old & CHUNK) ^ CHUNK;
    if (own->rotates)
      rotate_buffers(true);
  }
  const bool crosses = (at->slot ^ old) & CHUNK;
  if (crosses || chunk_ends(*at)) /* a pair may reach into the next chunk */
    ring_arrive();
  if (crosses)
    ring_load(true, at->count, old / CHUNK);
}

/** A step of the starter: a phase or a joined pair. */
struct memory_step {
  int32_t prefetch, writeback; /* slots; -1: none */
  int32_t other;               /* slot of a pair's second record; of a single phase its own */
  int32_t flags;               /* of the first */
};

__device__ __forceinline__ memory_step step_at(const block_state *own, const table_position &at) {
  const prem_device_record *first = &own->memory.records[at.slot];
  if (PREM_GATED) /* the writer has the others */
    return memory_step{at.slot, -1, at.slot, first->flags};
  memory_step now = {-1, -1, at.slot, first->flags};
  if (now.flags & PREM_RECORD_JOIN_NEXT)
    now.other = (at.slot + 1) & (2 * CHUNK - 1);
  const bool fetches = first->phase == PREM_PREFETCH;
  const int32_t second = now.other == at.slot ? -1 : now.other;
  now.prefetch = fetches ? at.slot : second;
  now.writeback = fetches ? second : at.slot;
  return now;
}

/** Wait for counts. The whole warp, which agrees. `seen`: the counts that were enough.
 *  @return false: stopped. */
__device__ __forceinline__ bool counts_await(block_state *own, const standing &at,
                                             const needs &need, uint4 *seen) {
  uint32_t look = 0;
  int32_t looks = 0;
#pragma unroll 1
  for (;;) {
    const uint4 done = counts_now(own);
    if (__any_sync(FULL_WARP, counts_reach(done, need) || done.w != 0)) {
      *seen = done;
      prem_block_fence();
      return !__any_sync(FULL_WARP, done.w != 0);
    }
    held_nap(own);
    const uint32_t now = (uint32_t)prem_clock_ns();
    look = look ? look : (now + LOOK_NS) | 1u;
    if (__any_sync(FULL_WARP, (int32_t)(now - look) > 0)) {
      look = 0;
      if (wait_look(++looks, at.index, at.slot, at.hyperperiod))
        return false;
    }
  }
}

/** Wait for what a step follows. @return the instant from which it may start; -1: stopped. One
 * warp. */
__device__ __noinline__ int64_t follow_others(int32_t slot, int32_t other, int32_t index,
                                              hyperperiod_number hyperperiod) {
  block_state *own = shared();
  int64_t from_ns = 0;
  if (own->memory.records[slot].flags & PREM_RECORD_AFTER)
    from_ns = follow(slot, index, hyperperiod);
  if (from_ns >= 0 && other != slot && own->memory.records[other].flags & PREM_RECORD_AFTER) {
    const int64_t also_ns = follow(other, index, hyperperiod);
    from_ns = also_ns < 0 ? also_ns : max((long long)from_ns, (long long)also_ns);
  }
  return from_ns;
}

/** Mode lock: wait for all that a record needs but tokens. `*due_ns` rises to the instant from
 * which it may start. @return false: stopped. */
__device__ __noinline__ bool wait_for_needs(int32_t slot, standing at, int64_t *due_ns) {
  block_state *own = shared();
  const prem_device_record *record = &own->memory.records[slot];
  int64_t from_ns = 0;
  uint4 seen;
  if (record->flags & PREM_RECORD_AFTER)
    from_ns = follow(slot, at.index, at.hyperperiod);
  if (from_ns < 0 || !counts_await(own, at, needs_in(own, at.hyperperiod, record), &seen))
    return false;
  const int64_t earliest_ns =
      earliest_start(own->launch, origin_of(own, at.hyperperiod), record, LEAD_NS);
  *due_ns = max((long long)*due_ns, max((long long)earliest_ns, (long long)from_ns));
  return true;
}

/** Mode lock: take the tokens of a step when it may start. @return when nothing else was waited
 * for; -1: stopped. */
__device__ __noinline__ int64_t step_lock(int32_t other, standing at) {
  int64_t due_ns = 0;
  if (!wait_for_needs(at.slot, at, &due_ns) ||
      (other != at.slot && !wait_for_needs(other, at, &due_ns)))
    return -1;
  const int64_t ready_ns = prem_clock_ns();
  if (!far_sleep(due_ns))
    return -1;
  wait_until(due_ns);
  return tokens_take(at.slot, other, at.index, at.hyperperiod) ? ready_ns : -1;
}

/** Mode lock: give them back when all has landed. @return false: stopped. */
__device__ __noinline__ bool return_tokens(standing at, uint32_t issued, uint32_t ordered) {
  block_state *own = shared();
  const uint32_t computes = own->counts[PREM_COMPUTE];
  uint4 seen;
  if (!counts_await(own, at, needs{issued, computes, ordered}, &seen))
    return false;
  tokens_give(own->holder);
  return true;
}

/** The starter has nothing left to start. It watches over the compatible intervals that are still
 * to end: it may be that nobody waits for them. One that ends has the timeout besides its window.
 */
__device__ __noinline__ void intervals_watch(void) {
  block_state *own = shared();
  const volatile int32_t *computing = &own->computing;
  uint32_t number = 0; /* computes done when the clock was last set back */
  int64_t began_ns = prem_clock_ns();
  int32_t at;
  while (lane_number() == 0 && (at = *computing) != 0) {
    const uint32_t done = counts_now(own).y;
    const int64_t now = prem_clock_ns();
    if (at < AT_INTERVAL || done != number) {
      number = done;
      began_ns = now;
    }
    const prem_device_record *record = &own->compute.records[max(at - AT_INTERVAL, 0)];
    if (now - began_ns > own->launch.stall_timeout_ns + record->window_ns) {
      const uint32_t records = (uint32_t)own->compute_count;
      if (!abort_look(own))
        stall(own, PREM_FAULT_ENDLESS, (int32_t)(done % records), record, done / records);
      break;
    }
    __nanosleep(NAP_NS);
  }
  __syncwarp();
}

/** Keep an entry for a writeback, and fill it. @return false: stopped. */
__device__ __forceinline__ bool writeback_reserve(block_state *own, const prem_launch &launch,
                                                  int32_t slot, uint32_t number,
                                                  const standing &at) {
  if (!store_entry_await(own, number))
    return false;
  writeback_prepare(own, launch, slot, number, at);
  return true;
}

/** It has been started: stamp that, and count it for the watcher, which sees it land. One lane. */
__device__ __forceinline__ void prefetch_stamp(block_state *own, in_flight_phase *fetch,
                                               int64_t ready_ns, int64_t released_ns,
                                               int64_t issued_ns, uint32_t issued) {
  fetch->ready_ns = ready_ns;
  fetch->released_ns = released_ns;
  fetch->issue_ns = (uint32_t)(issued_ns - released_ns);
  prem_block_fence();
  *(volatile uint32_t *)&own->issued = issued;
}

/** What the starter counts, and what it has seen of the others' counts. */
struct starter_counts {
  uint32_t issued, ordered; /* prefetches and writebacks of the run */
  uint4 seen;               /* not so long ago */
};

/** A prefetch that may start, from when, and since when nothing else was missing. */
struct step_start {
  copy_request flying;
  int64_t due_ns, ready_ns;
  int64_t quiet_ns; /* best effort: see gate_prepare() */
};

/** At its instant start a prefetch. @return false: stopped. */
__device__ __forceinline__ bool prefetch_start(block_state *own, const prem_launch &launch,
                                               const step_start &start, starter_counts *my) {
  in_flight_phase *fetch = &own->fetches[my->issued % MAX_IN_FLIGHT];
  const int64_t due_ns = gate_pass(STARTER, fetch, start.ready_ns, start.due_ns, start.quiet_ns);
  if (PREM_GATED && due_ns < 0)
    return false;
  ++my->issued;
  int64_t issued_ns;
  if (by_bulk(launch)) {
    if (prem_elect()) {
      const int64_t released_ns = prefetch_issue(own, launch, start.flying, due_ns, &issued_ns);
      prefetch_stamp(own, fetch, start.ready_ns, released_ns, issued_ns, my->issued);
    }
    __syncwarp();
    return true;
  }
  const int64_t released_ns = prefetch_issue_lanes(own, launch, start.flying, due_ns, &issued_ns);
  if (lane_number() == 0)
    prefetch_stamp(own, fetch, start.ready_ns, released_ns, issued_ns, my->issued);
  __syncwarp();
  return true;
}

/** No memory phase will be started any more: the writer and the watcher end. So do compute warps of
 * a session that is stopped amid a hyperperiod whose computes they have done: none begins any more.
 */
__device__ __forceinline__ void starter_close(block_state *own, uint32_t ordered) {
  __syncwarp();
  if (lane_number() == 0) {
    *(volatile uint32_t *)&own->ordered = ordered;
    prem_block_fence();
    session_end(own);
    *(volatile int32_t *)&own->closing = 1;
  }
}

/** All that can be done for a step before its needs are met: entries are kept and filled, the gates
 *  of a live session have been asked. A writeback alone is the writer's then, but in mode lock.
 *  @return false: stopped. */
__device__ __forceinline__ bool step_reserve(block_state *own, const prem_launch &launch,
                                             const memory_step &step, const table_position &at,
                                             bool locks, starter_counts *my) {
  const bool pair = step.other != at.slot;
  if (step.writeback >= 0) {
    if (!writeback_reserve(own, launch, step.writeback, my->ordered, standing_of(at)))
      return false;
    if (!locks && !pair)
      writeback_order(own, my->ordered++, -1, 0);
  }
  const prem_device_record *record =
      &own->memory.records[step.prefetch >= 0 ? step.prefetch : at.slot];
  if (step.prefetch >= 0 && is_gated(record) &&
      !prefetch_gate(step.prefetch, at.hyperperiod, my->issued))
    return false;
  if (pair && is_gated(&own->memory.records[step.writeback]) &&
      !writeback_gate((int32_t)(my->ordered % MAX_IN_FLIGHT), at.hyperperiod))
    return false;
  if (step.prefetch < 0)
    return true;
  const needs room = {my->issued - (MAX_IN_FLIGHT - 2), my->seen.y, my->seen.z};
  const bool is_room = __any_sync(FULL_WARP, counts_reach(my->seen, room));
  if (!is_room && !counts_await(own, standing_of(at), room, &my->seen))
    return false;
  entry_fill(&own->fetches[my->issued % MAX_IN_FLIGHT], record, standing_of(at),
             origin_of(own, at.hyperperiod));
  return true;
}

/** Mode lock: a step has its tokens. @return false: stopped. */
__device__ __forceinline__ bool step_await_tokens(block_state *own, const prem_launch &launch,
                                                  const memory_step &step, const table_position &at,
                                                  starter_counts *my, step_start *start) {
  const prem_device_record *record =
      &own->memory.records[step.prefetch >= 0 ? step.prefetch : at.slot];
  start->ready_ns = step_lock(step.other, standing_of(at));
  const bool goes_on = start->ready_ns >= 0;
  if (goes_on && step.prefetch >= 0 && is_aimed(record))
    moves_aim(step.prefetch);
  if (step.prefetch >= 0) {
    prefetch_expect(own, launch, step.prefetch, my->issued);
    start->flying = prefetch_prepare(own, launch, step.prefetch, my->issued);
  }
  if (goes_on && step.other != at.slot) { /* the writer is awake by then */
    start->due_ns = prem_clock_ns() + WAKE_NS;
    writeback_order(own, my->ordered++, start->ready_ns, start->due_ns + launch.clock_step_ns);
  }
  return goes_on;
}

/** All that a step with a prefetch needs is there, and its instant not far. @return false: stopped.
 */
__device__ __forceinline__ bool step_await(block_state *own, const prem_launch &launch,
                                           const memory_step &step, const table_position &at,
                                           starter_counts *my, step_start *start) {
  const bool pair = step.other != at.slot;
  const prem_device_record *record = &own->memory.records[step.prefetch];
  const prem_device_record *second = &own->memory.records[pair ? step.writeback : step.prefetch];
  bool goes_on = true;
  start->due_ns = earliest_start(launch, origin_of(own, at.hyperperiod), record, LEAD_NS);
  prefetch_expect(own, launch, step.prefetch, my->issued);
  if ((record->flags | second->flags) & PREM_RECORD_AFTER) {
    const int64_t from_ns = follow_others(at.slot, step.other, at.index, at.hyperperiod);
    goes_on = from_ns >= 0;
    start->due_ns = max((long long)start->due_ns, (long long)from_ns);
  }
  if (goes_on && is_aimed(record))
    moves_aim(step.prefetch);
  start->flying = prefetch_prepare(own, launch, step.prefetch, my->issued);
  start->quiet_ns = gate_prepare(STARTER, &own->fetches[my->issued % MAX_IN_FLIGHT]);
  const needs both =
      needs_of_both(needs_in(own, at.hyperperiod, record), needs_in(own, at.hyperperiod, second));
  goes_on = goes_on && counts_await(own, standing_of(at), both, &my->seen);
  start->ready_ns = prem_clock_ns();
  if (goes_on && pair) /* a step after the prefetch, whose bytes others wait for */
    writeback_order(own, my->ordered++, start->ready_ns, start->due_ns + launch.clock_step_ns);
  if (!PREM_GATED && goes_on &&
      __any_sync(FULL_WARP, start->due_ns - start->ready_ns > 4 * LOOK_NS))
    goes_on = far_sleep(start->due_ns);
  return goes_on;
}

/**
 * The starter works the table of memory phases. Writebacks it hands to the writer as soon as it
 * comes to them; prefetches it brings to their instants itself. That is all it does: others see the
 * copies land and write them down, so that the next step begins at once. In mode lock it waits for
 * all that a step needs, takes its tokens, starts it and gives them back.
 */
__device__ __forceinline__ void starter_warp(block_state *own, const prem_launch &launch) {
  table_position at = position_at_start(own, own->memory_count);
  starter_counts my = {0, 0, {0, 0, 0, 0}};
  bool goes_on = at.count > 0;
  if (goes_on)
    ring_start(true, at.count);
  /* Computes alone: they wait for this. For a block without work nobody waits, so it would lose
   * count, and leaves. */
  const bool begins_computes = at.count == 0 && own->compute_count > 0;
  for (hyperperiod_number hyperperiod = 0; begins_computes && hyperperiod_begin(hyperperiod);)
    ++hyperperiod;
#pragma unroll 1
  while (goes_on && at.hyperperiod < launch.hyperperiods) {
    if (at.index == 0 && !memory_table_begin(at.count, at.slot, at.hyperperiod))
      break;
    const memory_step step = step_at(own, at);
    const bool locks =
        !PREM_GATED && launch.mode == PREM_MODE_LOCK && !(step.flags & PREM_SLOT_WARMUP);
    const bool pair = step.other != at.slot;
    step_start start = {};
    if (!step_reserve(own, launch, step, at, locks, &my))
      break;
    if (locks)
      goes_on = step_await_tokens(own, launch, step, at, &my, &start);
    else if (step.prefetch >= 0)
      goes_on = step_await(own, launch, step, at, &my, &start);
    if (!goes_on)
      break;
    if (step.prefetch >= 0 && !prefetch_start(own, launch, start, &my))
      break;
    if (locks && step.writeback >= 0 && !pair)
      writeback_order(own, my.ordered++, start.ready_ns, 0);
    __syncwarp();
    if (locks && !return_tokens(standing_of(at), my.issued, my.ordered))
      break;
    starter_advance(own, &at, pair ? 2 : 1);
  }
  starter_close(own, my.ordered);
}

} // namespace
