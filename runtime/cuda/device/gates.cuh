/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive of live sessions: when a hyperperiod begins, and which frame a job reads and
 * writes. In a run none of this is there. The words are the courier's: runtime/core/courier.h. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_GATES_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_GATES_CUH

#include "runtime/cuda/device/waits.cuh"

#if PREM_LIVE

namespace {

/** The courier has not looked at the clock for as long as the timeout: nothing will be decided any
 *  more. One lane. */
__device__ __forceinline__ bool courier_is_lost(block_state *own, int64_t now_ns) {
  const int64_t beat_ns = (int64_t)prem_word_near(own->live.beat);
  return beat_ns > 0 && now_ns - beat_ns > own->launch.stall_timeout_ns;
}

/** From time to time while the courier is waited for. @return whether to give up. One lane. */
__device__ __noinline__ bool courier_look(hyperperiod_number hyperperiod) {
  block_state *own = shared();
  if (abort_look(own))
    return true;
  const int64_t now = prem_clock_ns();
  if (!courier_is_lost(own, now))
    return false;
  prem_fault_raise(own->launch.state, PREM_FAULT_COURIER, own->plan_block, -1, nullptr, -1,
                   hyperperiod, counts_now(own).y, now - own->start_ns);
  *(volatile uint32_t *)&own->counts[ABORT] = 1;
  return true;
}

/** The starter, before a hyperperiod: wait until it may begin, and tell the compute warps.
 *  @return false: it never will, or the session is stopped. One warp. */
__device__ __noinline__ bool hyperperiod_begin(hyperperiod_number hyperperiod) {
  constexpr uint32_t ALWAYS = (1u << PREM_BEGIN_TICKETS) - 1;
  block_state *own = shared();
  const uint64_t *words = own->live.begins[row_of(own, hyperperiod)].words;
  const int32_t lane = lane_number();
  int64_t look_ns = prem_clock_ns() + LOOK_NS;
  for (;;) {
    const uint64_t word = prem_word_near(&words[lane]);
    const uint32_t there = __ballot_sync(FULL_WARP, word >> 32 == (uint32_t)(hyperperiod + 1));
    const uint32_t plan = __shfl_sync(FULL_WARP, (uint32_t)word, PREM_BEGIN_PLAN);
    const uint32_t needed = ALWAYS | plan >> 8 << PREM_BEGIN_TICKETS;
    if ((there & needed) == needed) {
      *(volatile uint32_t *)&own->begun_with[hyperperiod & (HYPERPERIODS - 1)][lane] =
          needed >> lane & 1 ? (uint32_t)word : 0;
      __syncwarp();
      if (lane == 0) {
        prem_block_fence();
        *(volatile hyperperiod_number *)&own->begun = hyperperiod + 1;
      }
      return true;
    }
    bool is_over = false;
    if (lane == 0 && prem_clock_ns() >= look_ns) {
      look_ns = prem_clock_ns() + LOOK_NS;
      /* those that begin are below `last` at the time that it is written */
      is_over =
          (uint64_t)hyperperiod >= prem_word_near(own->live.last) || courier_look(hyperperiod);
    }
    if (__any_sync(FULL_WARP, is_over)) {
      if (lane == 0) {
        prem_block_fence();
        *(volatile int32_t *)&own->ended = 1;
      }
      return false;
    }
  }
}

/** The starter, before the first step of a hyperperiod, which stands in that slot: wait until it
 * may begin, and go over to its plan. @return false: it never will, or the session is stopped. One
 *  warp. */
__device__ __noinline__ bool memory_table_begin(int32_t count, int32_t slot,
                                                hyperperiod_number hyperperiod) {
  if (!hyperperiod_begin(hyperperiod))
    return false;
  if (plan_changes(shared(), hyperperiod))
    table_change(true, count, slot / CHUNK, true, hyperperiod);
  return true;
}

/** The compute warps, before a hyperperiod: until the starter has begun it.
 *  @return false: it never will. One warp. */
__device__ __forceinline__ bool hyperperiod_await(block_state *own,
                                                  hyperperiod_number hyperperiod) {
  const volatile hyperperiod_number *begun = &own->begun;
  const volatile int32_t *ended = &own->ended;
  for (;;) {
    const bool is_over = *ended != 0; /* before the look: it begins no more then */
    const bool begins = *begun > hyperperiod;
    if (__any_sync(FULL_WARP, begins)) {
      prem_block_fence();
      return true;
    }
    if (__all_sync(FULL_WARP, is_over))
      return false;
    __nanosleep(PEEK_NS);
  }
}

/** The parameters of this block's tasks, from a snapshot in the host's memory. All compute lanes.
 */
__device__ __noinline__ void params_bring(uint32_t snapshot) {
  enum { WORDS = PREM_PARAMS_BYTES / 16 };
  block_state *own = shared();
  const int32_t count = own->launch.blocks[own->plan_block].task_count;
  const uint64_t first = snapshot % PREM_SNAPSHOTS * (uint64_t)own->launch.task_count;
  for (int32_t i = PREM_LANE; i < count * WORDS; i += PREM_LANE_COUNT) {
    prem_device_task *task = task_at(own, own->launch, i / WORDS);
    const unsigned char *from = own->live.params[first + (uint64_t)task->number];
    ((int4 *)task->params)[i % WORDS] = prem_load_fresh((const int4 *)from + i % WORDS);
  }
}

/** A hyperperiod begins: all its computes have the arguments of one snapshot. All compute lanes. */
__device__ __forceinline__ void arguments_change(block_state *own, hyperperiod_number hyperperiod) {
  const uint32_t wanted = begin_of(own, hyperperiod)[PREM_BEGIN_SNAPSHOT];
  if (wanted == *(const volatile uint32_t *)&own->snapshot)
    return;
  params_bring(wanted);
  PREM_SYNC();
  if (PREM_FIRST_LANE())
    own->snapshot = wanted;
  PREM_SYNC();
}

/** The compute warps, before the first compute of a hyperperiod, which stands in that slot: wait
 *  until the starter has begun it, go over to its plan and its arguments.
 *  @param leads, prepares  of this warp. @param is_first  of the session. @return false: it never
 *  will. All compute lanes. */
__device__ __noinline__ bool compute_table_begin(int32_t count, int32_t slot,
                                                 hyperperiod_number hyperperiod, bool leads,
                                                 bool prepares, bool is_first) {
  block_state *own = shared();
  const int32_t threads = (int32_t)blockDim.x - PREM_MEMORY_THREADS;
  if (leads) {
    const bool begins = hyperperiod_await(own, hyperperiod);
    if (lane_number() == 0)
      own->begins = begins; /* `go` may be written before all have looked at this */
  }
  prem_meet(threads);
  if (!own->begins)
    return false;
  if (plan_changes(own, hyperperiod)) {
    if (prepares) /* who prepares the first compute brings the other half, but for the first */
      table_change(false, count, slot / CHUNK, is_first, hyperperiod);
    prem_meet(threads);
  }
  arguments_change(own, hyperperiod);
  return true;
}

/** A task of this block, its gates behind it. */
__device__ __forceinline__ prem_device_live_task *live_task_at(block_state *own, int32_t task) {
  return (prem_device_live_task *)bytes_at(own, own->live.tasks_at) + task;
}
__device__ __forceinline__ prem_device_gate *gate_at(block_state *own, int32_t gate) {
  return (prem_device_gate *)bytes_at(own, own->live.gates_at) + gate;
}

/** Bring the gates of this block's tasks to the scratchpad. All threads. */
__device__ __forceinline__ void company_furnish(block_state *own, const prem_device_block *block) {
  int32_t first = 0;
  for (int32_t t = 0; t < block->task_count; ++t) {
    const prem_device_live_task from = own->live.tasks[block->tasks[t]];
    const int32_t words = (from.sources + from.sinks) * (int32_t)(sizeof(prem_device_gate) / 8);
    for (int32_t word = (int32_t)threadIdx.x; word < words; word += (int32_t)blockDim.x)
      ((int64_t *)gate_at(own, first))[word] =
          ((const int64_t *)&own->live.gates[from.first_gate])[word];
    if (threadIdx.x == 0) {
      *live_task_at(own, t) = from;
      live_task_at(own, t)->first_gate = first;
    }
    first += from.sources + from.sinks;
  }
  __syncthreads();
}

__device__ __forceinline__ bool is_gated(const prem_device_record *record) {
  return (record->at_memory & PREM_DEVICE_GATED) != 0;
}

/** A lane's ticket, flags << 8 | slot. @return false: it is not written yet. */
__device__ __forceinline__ bool ticket_look(const prem_device_gate *gate, int64_t job,
                                            uint32_t *ticket) {
  const uint64_t word = prem_word_near(&gate->tickets[(uint64_t)job & gate->ring_mask]);
  *ticket = (uint32_t)word & 0xFFFFu;
  if (gate->kind != PREM_DEVICE_GATE_STREAM) /* of a version: two slots */
    *ticket = gate->kind == PREM_DEVICE_GATE_WRITES ? *ticket >> 8 : *ticket & 0xFFu;
  return word >> 16 == ((uint64_t)job + 1) << 16 >> 16;
}

/** Tickets that did not come with the begin of their hyperperiod, a lane each. The courier decides
 *  all of them in bounded time, or the session ends. @return false: stopped. One warp. */
__device__ __noinline__ bool tickets_look(const prem_device_gate *gate, int32_t task_job,
                                          hyperperiod_number hyperperiod, uint32_t *ticket) {
  const int32_t job_of =
      task_job < PREM_DEVICE_NEAR_JOBS ? gate->first_jobs_of[task_job] : gate->job_of[task_job];
  /* of a version that nobody has made: the first of all */
  const int64_t job = max((long long)((int64_t)hyperperiod * gate->stream_jobs + job_of),
                          (long long)(gate->kind == PREM_DEVICE_GATE_STREAM ? INT64_MIN : 0));
  bool is_there = *ticket != 0;
  int64_t look_ns = prem_clock_ns() + LOOK_NS;
  for (;;) {
    is_there = is_there || ticket_look(gate, job, ticket);
    if (__all_sync(FULL_WARP, is_there))
      return true;
    bool over = false;
    if (lane_number() == 0 && prem_clock_ns() >= look_ns) {
      look_ns = prem_clock_ns() + LOOK_NS;
      over = courier_look(hyperperiod);
    }
    if (__any_sync(FULL_WARP, over))
      return false;
  }
}

/** How far a slot lies from the first. One lane. */
__device__ __forceinline__ int64_t slot_shift(const prem_device_gate *gate, int32_t slot) {
  return gate->slot_planes < 0 ? __ldg((const long long *)&gate->slot_offsets[slot])
                               : slot * gate->slot_bytes;
}

/** The slot of a gate's port is known: its moves go so far. `moves` NULL: a compatible interval.
 * One warp. */
__device__ __forceinline__ void port_place(block_state *own, const prem_device_task *task,
                                           const prem_device_record *record,
                                           prem_device_move *moves, const prem_device_gate *gate,
                                           int32_t slot) {
  const int32_t lane = lane_number(), port = gate->port;
  if (port < 0)
    return;
  if (moves == nullptr) {
    if (lane == 0)
      own->shift_bytes[port] = slot_shift(gate, slot);
  } else if (lane < record->move_count && moves[lane].port == task->first_port + port) {
    moves[lane].array += slot_shift(gate, slot);
    if (moves[lane].box_at[0] >= 0)
      moves[lane].box_at[3] += slot * gate->slot_planes;
  }
}

enum ticket_verdict : int32_t { TICKETS_STOPPED, TICKETS_RUN, TICKETS_SKIP };

/**
 * Wait for the tickets that a record needs, of sources or of sinks, a lane each, and place its
 * moves. Those that came with the begin are at hand. One warp.
 * @param moves  of the record; NULL: a compatible interval
 */
__device__ __noinline__ ticket_verdict tickets_await(int32_t slot_of_record,
                                                     hyperperiod_number hyperperiod, bool of_sinks,
                                                     prem_device_move *moves) {
  block_state *own = shared();
  const prem_device_record *record = record_at(own, slot_of_record);
  const prem_device_task *task = task_at(own, own->launch, record->task);
  const prem_device_live_task *of = live_task_at(own, record->task);
  const int32_t first = of->first_gate + (of_sinks ? of->sources : 0);
  const int32_t count = of_sinks ? of->sinks : of->sources;
  /* of a task's own ticket it says that the job has been given up; of a sink's only that it is
   * not shown */
  const uint32_t leaves_out = (of_sinks ? PREM_TICKET_SKIP : PREM_TICKET_SKIP | PREM_TICKET_VOID)
                              << 8;
  bool skips = false;
#pragma unroll 1
  for (int32_t base = 0; base < count; base += 32) {
    const int32_t own_one = base + lane_number() < count ? base + lane_number() : base;
    const prem_device_gate *gate = gate_at(own, first + own_one);
    uint32_t ticket =
        gate->stream < 0 ? 0 : begin_of(own, hyperperiod)[PREM_BEGIN_TICKETS + gate->stream];
    if (__any_sync(FULL_WARP, ticket == 0) &&
        !tickets_look(gate, record->job, hyperperiod, &ticket))
      return TICKETS_STOPPED;
    skips |= __any_sync(FULL_WARP, (ticket & leaves_out) != 0);
#pragma unroll 1
    for (int32_t lane = 0; lane < min(count - base, 32); ++lane)
      port_place(own, task, record, moves, gate_at(own, first + base + lane),
                 (int32_t)(__shfl_sync(FULL_WARP, ticket, lane) & 0xFFu));
  }
  __syncwarp();
  return skips ? TICKETS_SKIP : TICKETS_RUN;
}

/* ---- aimed windows --------------------------------------------------------------------------- */

__device__ __forceinline__ bool is_aimed(const prem_device_record *record) {
  return (record->at_memory & PREM_DEVICE_AIMED) != 0;
}

/** What a port's window is aimed by: lane d < 4 has the number for dimension d. */
__device__ __forceinline__ int32_t aim_number(const int32_t *numbers, int32_t count, int32_t d) {
  return d >= PREM_MAX_RANK - count ? __ldcg(numbers + d - (PREM_MAX_RANK - count)) : 0;
}

/** Lane d < 4: the window's first element in dimension d, as declared and as aimed. */
__device__ __forceinline__ void aim_lane(const prem_device_dim *dim, const int32_t *index,
                                         bool is_aimed, int32_t number, int64_t *declared,
                                         int64_t *aimed) {
  int32_t extent;
  prem_window_at(dim, false, index, declared, &extent);
  *aimed = is_aimed ? prem_aimed(*declared, number, dim->extent, dim->shape) : *declared;
}

/** A move of an aimed window goes where the numbers say that `from` will fetch. What wrote them has
 *  ended: they are in L2. One warp. */
__device__ __forceinline__ void move_aim(const prem_device_port *port, const prem_device_port *from,
                                         const prem_device_move *numbers_move, const int32_t *index,
                                         prem_device_move *move) {
  const int32_t lane = lane_number(), d = lane & 3;
  int64_t first, declared, aimed;
  int32_t count;
  prem_window_at(&from->dim[3], false, index, &first, &count);
  const int32_t *numbers = (const int32_t *)(numbers_move->array + prem_lead_bytes(from, first));
  aim_lane(&port->dim[d], index, d >= PREM_MAX_RANK - count, aim_number(numbers, count, d),
           &declared, &aimed);
  int64_t way_bytes = (aimed - declared) * port->dim[d].pitch_bytes;
  if (d == 3)
    way_bytes += prem_lead_bytes(port, declared) - prem_lead_bytes(port, aimed);
  way_bytes += __shfl_xor_sync(FULL_WARP, (long long)way_bytes, 1);
  way_bytes += __shfl_xor_sync(FULL_WARP, (long long)way_bytes, 2);
  if (lane == 0)
    move->array += way_bytes;
  __syncwarp();
}

/** Before a prefetch is issued, when what it follows has ended: its aimed windows. One warp. */
__device__ __noinline__ void moves_aim(int32_t slot) {
  block_state *own = shared();
  const prem_device_record *record = &own->memory.records[slot];
  const prem_device_task *task = task_at(own, own->launch, record->task);
  prem_device_move *moves = moves_at(own, own->launch, slot);
#pragma unroll 1
  for (int32_t m = 0; m < record->move_count; ++m) {
    const prem_device_port *port = port_at(own, own->launch, moves[m].port);
    if (port->aim == 0)
      continue;
    const int32_t from = task->first_port + port->aim - 1;
    int32_t n = 0;
    while (n + 1 < record->move_count && moves[n].port != from)
      ++n;
    move_aim(port, port_at(own, own->launch, from), &moves[n], record->index, &moves[m]);
  }
}

/** When its data is there: views of aimed windows are where the same numbers, in the scratchpad
 * now, say. One warp; others look at the views when they have met it. */
__device__ __noinline__ void views_aim(int32_t slot) {
  block_state *own = shared();
  const prem_device_record *record = &own->compute.records[slot];
  const prem_device_task *task = task_at(own, own->launch, record->task);
  const int32_t lane = lane_number(), number = lane >> 2, d = lane & 3;
  const bool is_port = number < task->port_count;
  const prem_device_port *port =
      port_at(own, own->launch, task->first_port + (is_port ? number : 0));
  if (is_port && port->aim != 0) {
    shared_view *view = view_at(own, own->launch, number);
    const shared_view *from = view_at(own, own->launch, port->aim - 1);
    const int32_t *numbers = (const int32_t *)bytes_at(own, from->at);
    const int32_t count = from->extent[3], behind = d - (PREM_MAX_RANK - count);
    int64_t declared, aimed;
    aim_lane(&port->dim[d], record->index, behind >= 0, behind >= 0 ? numbers[behind] : 0,
             &declared, &aimed);
    view->origin[d] = aimed;
    if (d == 3)
      view->at += prem_lead_bytes(port, aimed) - prem_lead_bytes(port, declared);
  }
  __syncwarp();
}

/** The compute warps, at their table's start. @return false: no hyperperiod begins any more. */
__device__ __forceinline__ bool computes_begin(block_state *own, table_position *at, bool leads,
                                               bool prepares, bool is_first) {
  if (!compute_table_begin(at->count, at->slot, at->hyperperiod, leads, prepares, is_first))
    return false;
  at->origin_ns = origin_of(own, at->hyperperiod);
  return true;
}

/** A compatible interval's port lies in a slot of its array: so far from the first one. */
__device__ __forceinline__ uint64_t slot_shift_bytes(const block_state *own, int32_t port) {
  return (uint64_t)own->shift_bytes[port];
}

/** What a launch has besides a prem_launch. */
using launch_company = prem_device_live;

/** A block's state at the start of a session. One thread, before its tables are open; */
__device__ __forceinline__ void company_begin(block_state *own, const prem_device_live &live) {
  own->live = live;
  own->begun = own->ended = own->has_skipped = 0;
  own->snapshot = 0;
  for (int32_t i = 0; i < RING; ++i)
    own->empty_fetch[i] = 0;
  for (int32_t i = 0; i < PREM_MAX_BUFFERS; ++i)
    own->empty_store[i] = 0;
}

/** and when they are. */
__device__ __forceinline__ void company_open(block_state *own, const prem_device_block *block) {
  own->outputs_at = own->launch.buffers * block->in_bytes;
  own->out_bytes = block->out_bytes;
}

/** To the compute warps: no hyperperiod begins any more. One lane. */
__device__ __forceinline__ void session_end(block_state *own) {
  *(volatile int32_t *)&own->ended = 1;
}

/* ---- what is skipped ------------------------------------------------------------------------- */

/** The job is skipped: nothing is moved. One warp. */
__device__ __forceinline__ void record_empty(prem_device_record *record) {
  if (lane_number() == 0) {
    record->move_count = 0;
    record->fetch_bytes = 0;
    record->at_memory |= PREM_DEVICE_EMPTY;
  }
  __syncwarp();
}

/* What has no gate runs by a test alone: these are called, so that they do not lie in the code that
 * every phase fetches. */

/** Before the prefetch of that number, which is gated: its frames, and whether there is anything to
 *  fetch. @return false: stopped. One warp. */
__device__ __noinline__ bool prefetch_gate(int32_t slot, hyperperiod_number hyperperiod,
                                           uint32_t number) {
  block_state *own = shared();
  prem_device_record *record = &own->memory.records[slot];
  const ticket_verdict verdict =
      tickets_await(slot, hyperperiod, false, moves_at(own, own->launch, slot));
  if (verdict == TICKETS_SKIP)
    record_empty(record);
  if (lane_number() == 0)
    own->empty_fetch[number % RING] = verdict == TICKETS_SKIP;
  __syncwarp();
  return verdict != TICKETS_STOPPED;
}

/** Before a gated writeback, whose entry is filled: its slots. @return false: stopped. One warp. */
__device__ __noinline__ bool writeback_gate(int32_t place, hyperperiod_number hyperperiod) {
  block_state *own = shared();
  prem_device_record *record = &own->stores[place].record;
  if (record->at_memory & PREM_DEVICE_PLACED)
    return true;
  const ticket_verdict verdict = tickets_await(STORES + place, hyperperiod, true,
                                               moves_at(own, own->launch, 2 * CHUNK + place));
  if (lane_number() == 0)
    record->at_memory |= PREM_DEVICE_PLACED;
  __syncwarp();
  return verdict != TICKETS_STOPPED;
}

/** Which output buffer lies there: `at` is counted from the first buffer. */
__device__ __forceinline__ int32_t output_number(const block_state *own, int32_t at) {
  const uint32_t out_bytes = (uint32_t)own->out_bytes;
  return out_bytes > 0 ? (int32_t)((uint32_t)(at - own->outputs_at) / out_bytes) : 0;
}

/** The compute of a gated one is over: of a skipped job there is nothing to write. One warp. */
__device__ __noinline__ void writeback_judge(in_flight_phase *of) {
  block_state *own = shared();
  const int32_t number = output_number(own, of->buffer_at - own->launch.buffers_at);
  if (*(const volatile uint8_t *)&own->empty_store[number])
    record_empty(&of->record);
}

/** Before a gated compatible interval: its frames and slots. The warp that leads. */
__device__ __noinline__ ticket_verdict interval_gate(int32_t slot, hyperperiod_number hyperperiod) {
  block_state *own = shared();
  if (!live_task_at(own, own->compute.records[slot].task)->in_compute)
    return TICKETS_RUN;
  const ticket_verdict verdict = tickets_await(COMPUTES + slot, hyperperiod, false, nullptr);
  if (verdict == TICKETS_STOPPED)
    return verdict;
  const bool stopped =
      tickets_await(COMPUTES + slot, hyperperiod, true, nullptr) == TICKETS_STOPPED;
  return stopped ? TICKETS_STOPPED : verdict;
}

/** Was there anything to fetch for a compute? The starter has written it before the bytes came. */
__device__ __forceinline__ ticket_verdict fetch_verdict(const block_state *own,
                                                        const prem_device_record *record,
                                                        bool reads, uint32_t fetched) {
  const bool is_empty =
      is_gated(record) && reads && *(const volatile uint8_t *)&own->empty_fetch[fetched % RING];
  return is_empty ? TICKETS_SKIP : TICKETS_RUN;
}

/** Is there a job that was skipped, ever, on this block? */
__device__ __forceinline__ bool has_skipped(const block_state *own) {
  return *(const volatile int32_t *)&own->has_skipped != 0;
}

/** A gated compute begins: what the writer and the watcher have to know of it. One lane. */
__device__ __noinline__ void compute_judge(const prem_device_record *record, in_flight_phase *of,
                                           bool skipped) {
  block_state *own = shared();
  if (skipped) {
    of->record.at_memory |= PREM_DEVICE_EMPTY;
    *(volatile int32_t *)&own->has_skipped = 1;
  }
  if (record->at_memory & PREM_DEVICE_STORES)
    *(volatile uint8_t *)&own
         ->empty_store[output_number(own, own->compute_table.out_at[record->out_buffer])] = skipped;
}

} // namespace

#else /* ---- a run: hyperperiods begin by the clock, and no record looks at a ticket              \
         -------------- */

namespace {

enum ticket_verdict : int32_t { TICKETS_STOPPED, TICKETS_RUN, TICKETS_SKIP };

__device__ __forceinline__ constexpr bool is_gated(const prem_device_record *) {
  return false;
}
__device__ __forceinline__ constexpr bool is_aimed(const prem_device_record *) {
  return false;
}
__device__ __forceinline__ constexpr bool hyperperiod_begin(hyperperiod_number) {
  return false;
}
__device__ __forceinline__ constexpr bool memory_table_begin(int32_t, int32_t, hyperperiod_number) {
  return true;
}
__device__ __forceinline__ constexpr bool prefetch_gate(int32_t, hyperperiod_number, uint32_t) {
  return true;
}
__device__ __forceinline__ constexpr bool writeback_gate(int32_t, hyperperiod_number) {
  return true;
}
__device__ __forceinline__ constexpr ticket_verdict interval_gate(int32_t, hyperperiod_number) {
  return TICKETS_RUN;
}
__device__ __forceinline__ constexpr ticket_verdict
fetch_verdict(const block_state *, const prem_device_record *, bool, uint32_t) {
  return TICKETS_RUN;
}
__device__ __forceinline__ constexpr bool computes_begin(const block_state *, table_position *,
                                                         bool, bool, bool) {
  return true;
}
__device__ __forceinline__ constexpr uint64_t slot_shift_bytes(const block_state *, int32_t) {
  return 0;
}
__device__ __forceinline__ void company_furnish(block_state *, const prem_device_block *) {}
__device__ __forceinline__ void company_open(block_state *, const prem_device_block *) {}
__device__ __forceinline__ void session_end(block_state *) {}
__device__ __forceinline__ constexpr bool has_skipped(const block_state *) {
  return false;
}
__device__ __forceinline__ void moves_aim(int32_t) {}
__device__ __forceinline__ void views_aim(int32_t) {}
__device__ __forceinline__ void writeback_judge(in_flight_phase *) {}
__device__ __forceinline__ void compute_judge(const prem_device_record *, in_flight_phase *, bool) {
}

} // namespace

#endif
#endif
