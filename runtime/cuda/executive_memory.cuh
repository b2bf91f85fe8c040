/* Of the executive: the memory warp. */
#ifndef TTPREM_EXECUTIVE_MEMORY_CUH
#define TTPREM_EXECUTIVE_MEMORY_CUH

#include "executive_record.cuh"
#include "executive_tokens.cuh"

namespace {

/** What the memory warp keeps of itself. In registers, the same in all lanes. */
struct memory_state {
  uint32_t armed;       /* prefetches */
  uint32_t first, last; /* in flight: first .. last - 1 of a ring */
  int32_t stores;       /* writebacks in flight */
};

/** The bulk engine is on; known at compile time where there is none. */
__device__ __forceinline__ bool by_bulk(const prem_launch &launch) {
#if PREM_ARCH >= 900
  return launch.engine == PREM_ENGINE_BULK;
#else
  (void)launch;
  return false;
#endif
}

/** Work out the copies of a record, four lanes a port, and arm a prefetch's barrier, number
 *  `armed`. @return how many copies. */
__device__ __noinline__ int32_t memory_prepare(uint32_t armed, int32_t slot, int32_t half) {
  const prem_device_record *record = record_at(slot);
  const prem_launch &launch = shared()->launch;
  prem_move *moves = moves_of(launch, half);
  const prem_device_task *task = task_at(launch, record->task);
  const books *unit = &shared()->memory_books;
  const int32_t lane = lane_number();
  const bool is_output = record->phase == PREM_WRITEBACK;
  const int32_t at = is_output ? unit->out_at[record->out_buffer] : unit->in_at[record->in_buffer];
  const prem_device_port *port = port_at(launch, task->first_port + (lane >> 2));
  const bool mine = (lane >> 2) < task->port_count && (port->is_output != 0) == is_output;
  const uint32_t who = __ballot_sync(FULL_WARP, mine && (lane & 3) == 0);
  const int32_t place = __popc(who & ((1u << (lane & ~3)) - 1u));
  uint32_t bytes =
      prem_move_prepare(&moves[place], mine, port, record->index, scratch + launch.buffers_at + at);
#if PREM_ARCH >= 900
  if (by_bulk(launch) && !is_output) {
    bytes = __reduce_add_sync(FULL_WARP, (lane & 3) == 0 ? bytes : 0u);
    if (lane == 0)
      prem_barrier_expect(&shared()->full[armed % RING], bytes);
  }
#endif
  (void)bytes;
  (void)armed;
  __syncwarp();
  return __popc(who);
}

#if PREM_ARCH >= 900
/** The words at the ragged ends of rows whose bodies are on their way. One warp. */
__device__ __noinline__ void store_ends(int32_t half, int32_t count) {
  const prem_move *moves = moves_of(shared()->launch, half);
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    const prem_ends ends = prem_ends_of(&moves[i]);
    if (ends.body < moves[i].width_bytes)
      prem_move_store_ends(&moves[i], ends.head, ends.body);
  }
  __syncwarp();
}
#endif

/** Start the copies of a record by other means than bulk copies; a prefetch has arrived after it.
 */
__device__ __noinline__ void issue_by_lanes(uint32_t sequence, int32_t half, int32_t count,
                                            bool is_output) {
  const prem_move *moves = moves_of(shared()->launch, half);
#pragma unroll 1
  for (int32_t i = 0; i < count; ++i) {
    if (!is_output) {
      prem_move_fetch_lanes(&moves[i], shared()->launch.engine);
      continue;
    }
    const prem_ends ends = prem_ends_of(&moves[i]);
    if (ends.body > 0)
      prem_move_store_lanes(&moves[i], ends.head, ends.body);
    if (ends.body < moves[i].width_bytes)
      prem_move_store_ends(&moves[i], ends.head, ends.body);
  }
  __syncwarp();
  if (!is_output && lane_number() == 0)
    prem_barrier_arrive(&shared()->full[sequence % RING]);
}

__device__ __forceinline__ void prefetch_issue(const prem_launch &launch, uint32_t sequence,
                                               int32_t half, int32_t count) {
#if PREM_ARCH >= 900
  if (by_bulk(launch)) {
    const prem_move *moves = moves_of(launch, half);
    if (prem_elect()) {
#pragma unroll 1
      for (int32_t i = 0; i < count; ++i)
        prem_move_fetch(&moves[i], &shared()->full[sequence % RING]);
    }
    __syncwarp();
    return;
  }
#endif
  issue_by_lanes(sequence, half, count, false);
}

__device__ __forceinline__ void writeback_issue(const prem_launch &launch, int32_t half,
                                                int32_t count) {
#if PREM_ARCH >= 900
  if (by_bulk(launch)) {
    const prem_move *moves = moves_of(launch, half);
    bool ragged = false;
#pragma unroll 1
    for (int32_t i = 0; i < count; ++i) {
      const prem_ends ends = prem_ends_of(&moves[i]);
      if (ends.body > 0 && prem_elect())
        prem_move_store(&moves[i], ends.head, ends.body);
      ragged = ragged || ends.body < moves[i].width_bytes;
    }
    if (prem_elect())
      prem_store_commit();
    __syncwarp();
    if (ragged)
      store_ends(half, count);
    return;
  }
#endif
  issue_by_lanes(0, half, count, true);
}

/** Has the oldest phase in flight, if a prefetch of number `sequence`, landed? Writebacks cannot be
 * asked, only waited for. */
__device__ __forceinline__ bool flight_landed(const prem_launch &launch, const flight *oldest,
                                              const memory_state &state, uint32_t sequence) {
  if (oldest->phase == PREM_PREFETCH) {
    return __all_sync(FULL_WARP,
                      prem_barrier_test(&shared()->full[sequence % RING], sequence / RING & 1u));
  }
#if PREM_ARCH >= 900
  if (by_bulk(launch)) {
    if (prem_elect())
      prem_store_wait(state.stores - 1);
    __syncwarp();
  }
#endif
  return true;
}

/** The oldest phase in flight has landed: count it, tell the others, write it down. */
__device__ __forceinline__ void flight_retire(const prem_launch &launch, const flight *oldest,
                                              memory_state &state, const uint4 &done) {
  const int64_t end_ns = prem_clock_ns();
  const bool fetched = oldest->phase == PREM_PREFETCH;
  const uint32_t number = state.first % FLIGHTS;
  if (oldest->done)
    prem_store_publish();
  state.stores -= !fetched;
  ++state.first;
  if (lane_number() == 0) {
    if (fetched)
      count_publish(PREM_PREFETCH, done.x + 1u);
    else
      count_publish(PREM_WRITEBACK, done.z + 1u);
    if (oldest->done)
      job_finish((int32_t)number, end_ns);
  }
  flight_record((int32_t)number, end_ns);
}

/** Mode lock: all has landed, the tokens go back. */
__device__ __noinline__ void flights_give(uint32_t last) {
  const flight *one = &shared()->flights[(last - (uint32_t)shared()->held) % FLIGHTS];
  const flight *other = &shared()->flights[(last - 1u) % FLIGHTS];
  tokens_give(shared()->launch, token_user{one->task, one->phase, other->task, other->phase});
  if (lane_number() == 0)
    shared()->held = 0;
  __syncwarp();
}

/** Step over one record; the half of the ring that becomes free is filled again. One warp. @return
 *  whether the run goes on. */
__device__ __noinline__ bool memory_step(void) {
  const prem_launch &launch = shared()->launch;
  record_ring *ring = &shared()->memory;
  cursor at = shared()->memory_cursor;
  const bool crosses = chunk_ends(at);
  const int32_t old = at.slot / CHUNK;
  cursor_step(launch, &at);
  __syncwarp();
  if (lane_number() == 0)
    shared()->memory_cursor = at;
  if (crosses) {
    ring_arrive();
    ring_load(&shared()->memory_books, at.count, ring, old);
  }
  if (chunk_ends(at)) /* a pair may reach into the next chunk */
    ring_arrive();
  if (at.index == 0 && shared()->turns)
    buffers_turn(launch, &shared()->memory_books);
  __syncwarp();
  return at.hyperperiod < launch.hyperperiods;
}

/**
 * The memory warp. A turn works a phase or a joined pair out while earlier ones are in flight,
 * waits until it is due, retiring meanwhile what lands, and issues it. The last turn, at the end of
 * the run or when it has been stopped, only waits until nothing is in flight: the scratchpad is not
 * ours any longer after that.
 */
__device__ __forceinline__ void memory_warp(const prem_launch &launch) {
  record_ring *ring = &shared()->memory;
  const cursor &at = shared()->memory_cursor;
  memory_state state = {};
  bool over = at.count == 0;
  if (!over)
    ring_start(&shared()->memory_books, at.count, ring);
#pragma unroll 1
  for (;;) {
    int32_t slot = at.slot, other = slot, halves = 1, moves = 0;
    needs need = {};
    int64_t release_ns = 0, ready_ns = -1, start_ns = 0;
    uint32_t look = 0; /* the clock's low half at the next look; 0: not yet set */
    int32_t looks = 0;
    bool after = false, locks = false, timed = false;
    if (!over) {
      const prem_device_record *first = &ring->records[slot];
      const int32_t flags = first->flags;
      if (flags & PREM_RECORD_JOIN_NEXT) {
        halves = 2;
        other = chunk_ends(at) ? ((slot & CHUNK) ^ CHUNK) : slot + 1;
      }
      locks = launch.mode == PREM_MODE_LOCK && !(flags & PREM_SLOT_WARMUP);
      need = needs_of(at, first);
      after = has_after(launch, first);
      timed = has_release(launch, flags);
      release_ns = earliest_start(launch, at, first);
#pragma unroll 1
      for (int32_t half = 0; half < halves; ++half) {
        const int32_t which = half ? other : slot;
        moves |= memory_prepare(state.armed, which, half) << 16 * half;
        state.armed += ring->records[which].phase == PREM_PREFETCH;
      }
      if (halves == 2) {
        const needs more = needs_of(at, &ring->records[other]);
        need = needs{later(need.prefetches, more.prefetches), later(need.computes, more.computes),
                     later(need.writebacks, more.writebacks)};
        after = after || has_after(launch, &ring->records[other]);
      }
    }
    /* in mode lock nothing is in flight when tokens are taken, else as much as there is room for */
    const uint32_t room = locks ? 0u : (uint32_t)(FLIGHTS - halves);
#pragma unroll 1
    for (;;) { /* until it is due */
      const uint4 done = counts_now();
      bool met = (int32_t)((done.x - need.prefetches) | (done.y - need.computes) |
                           (done.z - need.writebacks)) >= 0;
      over = over || __any_sync(FULL_WARP, done.w != 0);
      int64_t from_ns = 0;
      if (after && !over && __all_sync(FULL_WARP, met)) {
        from_ns = after_wait(slot, other, at.hyperperiod);
        after = from_ns < 0;
      }
      const int64_t now = prem_clock_ns();
      met = met && !after;
      if (met && ready_ns < 0)
        ready_ns = max((long long)now, (long long)from_ns);
      const bool idle = state.first == state.last;
      if (!idle && !timed) { /* what has landed is stamped before anything follows it */
        const flight *oldest = &shared()->flights[state.first % FLIGHTS];
        if (oldest->phase == PREM_PREFETCH && flight_landed(launch, oldest, state, done.x)) {
          flight_retire(launch, oldest, state, done);
          continue;
        }
      }
      const int64_t due_ns = max((long long)release_ns, (long long)ready_ns);
      const bool near = met && !over && state.last - state.first <= room &&
                        due_ns - now < (idle ? LOOK_NS : CLOSE_NS);
      if (__all_sync(FULL_WARP, near)) {
        start_ns = wait_until(due_ns);
        break;
      }
      if (!idle) {
        const flight *oldest = &shared()->flights[state.first % FLIGHTS];
        if (flight_landed(launch, oldest, state, done.x))
          flight_retire(launch, oldest, state, done);
        continue;
      }
      if (launch.mode == PREM_MODE_LOCK && shared()->held > 0)
        flights_give(state.last);
      if (over)
        return;
      if (look == 0)
        look = ((uint32_t)now + LOOK_NS) | 1u;
      if (!__any_sync(FULL_WARP, (int32_t)((uint32_t)now - look) > 0))
        continue;
      look = ((uint32_t)now + LOOK_NS) | 1u;
      ++looks;
      over = wait_look(met ? 0 : looks, at.index, slot, at.hyperperiod, at.origin_ns);
    }
    if (locks) {
      if (shared()->held > 0) /* nothing is in flight: what was taken before goes back first */
        flights_give(state.last);
      start_ns = tokens_take(slot, other, at.index, at.hyperperiod);
      over = start_ns < 0;
      if (over)
        continue;
      if (lane_number() == 0)
        shared()->held = halves;
    }
    /* issue it */
#pragma unroll 1
    for (int32_t half = 0; half < halves; ++half) {
      const int32_t count = moves >> 16 * half & 0xffff;
      if (ring->records[half ? other : slot].phase == PREM_PREFETCH)
        prefetch_issue(launch, state.armed - 1u, half, count);
      else
        writeback_issue(launch, half, count);
    }
    /* write down what is known of it; of a pair the prefetch first, since it can be asked */
    if (ring->records[slot].phase == PREM_WRITEBACK) {
      const int32_t first = slot;
      slot = other;
      other = first;
    }
#pragma unroll 1
    for (int32_t half = 0; half < halves; ++half) {
      const int32_t which = half ? other : slot;
      flight_begin((int32_t)(state.last % FLIGHTS), which, at.hyperperiod, at.origin_ns, release_ns,
                   ready_ns, start_ns);
      ++state.last;
      state.stores += ring->records[which].phase == PREM_WRITEBACK;
    }
#pragma unroll 1
    for (int32_t half = 0; half < halves; ++half)
      over = !memory_step();
  }
}

} // namespace

#endif
