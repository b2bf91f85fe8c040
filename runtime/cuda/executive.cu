/*
 * The executive: one persistent kernel that runs any plan.
 *
 * A CUDA block claims a plan block of its own SM and works its two tables. The last warp is the
 * memory warp: it issues prefetches and writebacks at their releases and sees them land. All other
 * warps compute. Both units work their tables strictly in order; what one waits for from the other
 * are counts of phases done, kept in the scratchpad with one writer each:
 *
 *   done[PREFETCH], done[WRITEBACK]  written by the memory warp after the bytes landed
 *   done[COMPUTE]                    written by thread 0 after all compute warps met
 *   full[i]                          mbarrier of the prefetches i, i + RING, ...: compute waits on
 *                                    it itself, so that what the copy engine wrote is visible to
 *                                    it, and hears of it without the memory warp
 *
 * Across blocks: done_jobs[] says how many jobs of a task a block has finished; written with
 * release after the last writeback is visible in L2, read with acquire. Nothing else is shared.
 *
 * All that a phase needs lies in the scratchpad before its release: the record, the tasks and ports
 * of this block, the counts. A phase reads nothing from memory but its data. What can be worked out
 * before a release is, what can wait until the count is published does: between the release and the
 * first copy, and between the landing and the count, there are only a few instructions. The copies
 * of the next phase are worked out while those of the last ones are in flight, and issued when they
 * are due, landed or not.
 *
 * Every wait sees the abort word and ends: those for an instant by themselves, the others at the
 * stall timeout, which raises a fault that stops everybody.
 */
#include "device_clock.cuh"
#include "device_engine.cuh"
#include "executive.h"

#include "kernel_headers.h"

#include <cstring>

namespace {

constexpr int32_t RING = 32;      /* prefetches of a block that may be in flight or unread */
constexpr int32_t CHUNK = 4;      /* records brought from L2 at a time */
constexpr int32_t FLIGHTS = 4;    /* memory phases in flight; a power of 2 */
constexpr int32_t LOOK_NS = 4096; /* between two looks at the abort word in L2 */
constexpr int32_t CLOSE_NS = 128; /* so long before a release nothing else is looked at */
constexpr uint32_t FULL_WARP = 0xffffffffu;
constexpr uint32_t GANG_GRANTED = 0x80000000u;

/** Rather than a record of the memory warp's ring: one of the compute warps'. */
constexpr int32_t COMPUTES = 2 * CHUNK;

/** Words of control::counts: the phases done, and: */
constexpr int32_t ABORT = PREM_PHASE_COUNT;

/** A table of records, brought by chunks: while one is worked the next is on its way. */
struct record_ring {
  prem_device_record records[2 * CHUNK];
};

/** A phase to be recorded when it has ended. */
struct flight {
  prem_trace_record out;
  int64_t planned_end_ns; /* from S, as the stamps */
  int32_t done;           /* the job's number + 1 over the run if the phase is its last here; 0 */
  uint16_t task;          /* of the block */
  uint8_t phase;
  bool counts; /* into the cells */
};

/** What a unit knows of itself and does not need in a hurry. */
struct books {
  const prem_device_record *table;
  int32_t next; /* record at which the chunk to be sent begins */
  int64_t recorded, warmups, capacity;
  prem_trace_record *room;
  int32_t in_at[PREM_MAX_BUFFERS], out_at[PREM_MAX_BUFFERS]; /* buffers now, bytes */
};

/** A view of the current tile: prem_view, its data as an offset in the scratchpad. */
struct shared_view {
  int64_t origin[4];
  int32_t extent[4];
  int32_t pitch[3];
  int32_t at;
};

/** Where a unit stands in its table, and what its waits count from. */
struct cursor {
  int32_t count; /* records */
  int32_t index; /* in the table */
  int32_t slot;  /* in the ring */
  int32_t hyperperiod;
  uint32_t base[PREM_PHASE_COUNT]; /* phases done before this hyperperiod */
  int64_t origin_ns;               /* the hyperperiod's start on the clock */
};

/** The start of the scratchpad. Behind it lie the tasks, ports, cells and moves of this block, then
 *  the buffers. */
struct control {
  prem_launch launch; /* for what is called, which cannot see the kernel's constants */
  uint64_t full[RING];
  alignas(16) uint32_t counts[4]; /* phases done; the abort word */
  record_ring memory, compute;
  flight flights[FLIGHTS + 1]; /* of the memory warp; the last one of the compute warps */
  shared_view views[PREM_MAX_PORTS];
  books memory_books, compute_books;
  cursor memory_cursor; /* the compute warps have theirs in registers: each its own */
  int32_t held;         /* mode lock: halves of the phase whose tokens the memory warp holds */
  int64_t stamps[2][2]; /* ready and start of a compute, of even and odd ones */
  int64_t start_ns;     /* S */
  int32_t phase_count[PREM_PHASE_COUNT]; /* in one hyperperiod */
  int32_t turns;                         /* whether hyperperiods turn the buffers */
  int32_t plan_block;                    /* -1: nothing to do */
  int32_t go;                            /* 0: the compute warps end */
};

constexpr size_t aligned(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

extern __shared__ __align__(128) unsigned char scratch[];

__device__ __forceinline__ control *shared(void) {
  return (control *)scratch;
}
__device__ __forceinline__ prem_device_task *task_at(const prem_launch &launch, int32_t task) {
  return (prem_device_task *)(scratch + launch.tasks_at) + task;
}
__device__ __forceinline__ prem_device_port *port_at(const prem_launch &launch, int32_t port) {
  return (prem_device_port *)(scratch + launch.ports_at) + port;
}
__device__ __forceinline__ prem_device_cell *cell_at(const prem_launch &launch, int32_t cell) {
  return (prem_device_cell *)(scratch + launch.cells_at) + cell;
}
__device__ __forceinline__ prem_move *moves_of(const prem_launch &launch, int32_t half) {
  return (prem_move *)(scratch + launch.moves_at) + half * launch.widest_task;
}

/** A record in a ring: slots from COMPUTES on are those of the compute warps'. What is called takes
 *  such numbers: they need fewer registers than pointers. */
__device__ __forceinline__ const prem_device_record *record_at(int32_t slot) {
  return slot < COMPUTES ? &shared()->memory.records[slot]
                         : &shared()->compute.records[slot - COMPUTES];
}

/** A lane as a number. */
__device__ __forceinline__ int32_t lane_number(void) {
  return (int32_t)(threadIdx.x & 31u);
}

/* ---- records --------------------------------------------------------------------------------- */

/** At the start of a table. */
__device__ __forceinline__ cursor cursor_at(int32_t count) {
  cursor at = {};
  at.count = count;
  at.origin_ns = shared()->start_ns;
  return at;
}

/** A warp sends the next chunk of its table on its way into a half of the ring; round and round. */
__device__ __forceinline__ void ring_load(books *unit, int32_t count, record_ring *ring,
                                          int32_t half) {
  constexpr int32_t WORDS = (int32_t)(sizeof(prem_device_record) / 16);
  static_assert(CHUNK * WORDS <= 32, "a word for each lane at most");
  const int32_t word = lane_number(), first = unit->next;
  const int4 *from = (const int4 *)&unit->table[first] + word;
  int4 *to = (int4 *)&ring->records[half * CHUNK] + word;
  if (word < min(count - first, CHUNK) * WORDS) {
#if PREM_ARCH >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(prem_shared_address(to)),
                 "l"(from)
                 : "memory");
#else
    *to = *from;
#endif
  }
  __syncwarp();
  if (word == 0)
    unit->next = first + CHUNK < count ? first + CHUNK : 0;
  __syncwarp();
}

__device__ __forceinline__ void ring_arrive(void) {
#if PREM_ARCH >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  __syncwarp();
}

__device__ __forceinline__ void ring_start(books *unit, int32_t count, record_ring *ring) {
#pragma unroll 1
  for (int32_t half = 0; half < 2; ++half)
    ring_load(unit, count, ring, half);
  ring_arrive();
}

/** Is the record the last of its chunk? */
__device__ __forceinline__ bool chunk_ends(const cursor &at) {
  return at.index + 1 == at.count || (at.slot & (CHUNK - 1)) == CHUNK - 1;
}

/** The buffers of the next hyperperiod, where tiles alive across its start turn them. One warp. */
__device__ __noinline__ void buffers_turn(const prem_launch &launch, books *unit) {
  const prem_device_block *block = &launch.blocks[shared()->plan_block];
  const int32_t lane = lane_number();
  int32_t in_at = 0, out_at = 0;
  if (lane < PREM_MAX_BUFFERS) {
    in_at = unit->in_at[block->in_turn[lane]];
    out_at = unit->out_at[block->out_turn[lane]];
  }
  __syncwarp();
  if (lane < PREM_MAX_BUFFERS) {
    unit->in_at[lane] = in_at;
    unit->out_at[lane] = out_at;
  }
  __syncwarp();
}

/** Step to the next record. A new chunk must have arrived. */
__device__ __forceinline__ void cursor_step(const prem_launch &launch, cursor *at) {
  const bool crosses = chunk_ends(*at);
  ++at->index;
  at->slot = crosses ? ((at->slot & CHUNK) ^ CHUNK) : at->slot + 1;
  if (at->index < at->count)
    return;
  at->index = 0;
  ++at->hyperperiod;
  at->origin_ns += launch.hyperperiod_ns;
  for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    at->base[phase] += (uint32_t)shared()->phase_count[phase];
}

/* ---- waiting --------------------------------------------------------------------------------- */

/** Look at the abort word of the launch; remember it in the scratchpad. */
__device__ bool abort_look(const prem_launch &launch) {
  volatile uint32_t *abort = &shared()->counts[ABORT];
  if (prem_load_relaxed(&launch.state->abort))
    *abort = 1;
  return *abort != 0;
}

__device__ __forceinline__ uint4 counts_now(void) {
  uint4 now;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(now.x), "=r"(now.y), "=r"(now.z), "=r"(now.w)
               : "r"(prem_shared_address(shared()->counts))
               : "memory");
  return now;
}

/** All is ready and the instant near: nothing but the clock. One warp. */
__device__ __forceinline__ int64_t wait_until(int64_t at_ns) {
  int64_t now;
  do
    now = prem_clock_ns();
  while (now < at_ns);
  __syncwarp();
  return now;
}

__device__ __forceinline__ void count_publish(int32_t phase, uint32_t count) {
  *(volatile uint32_t *)&shared()->counts[phase] = count;
}

/** Counts of this block that a phase needs; of a joined pair the larger ones. Compared by their
 *  difference, so that they may wrap. */
struct needs {
  uint32_t prefetches, computes, writebacks;
};

__device__ __forceinline__ needs needs_of(const cursor &at, const prem_device_record *record) {
  return needs{at.base[0] + (uint32_t)record->wait[0], at.base[1] + (uint32_t)record->wait[1],
               at.base[2] + (uint32_t)record->wait[2]};
}

__device__ __forceinline__ uint32_t later(uint32_t a, uint32_t b) {
  return (int32_t)(a - b) > 0 ? a : b;
}

/** Have all blocks of the predecessors finished the jobs we follow? @return the instant from which
 *  we may start (end + lag); -1: not yet. */
__device__ int64_t predecessors_done(const prem_launch &launch, const prem_device_record *record,
                                     int64_t hyperperiod) {
  const prem_device_task *task = task_at(launch, record->task);
  const int32_t job = record->job;
  int64_t from = 0;
  for (int32_t a = 0; a < task->after_count; ++a) {
    const prem_device_after *after = &launch.afters[task->first_after + a];
    const prem_device_task *before = &launch.tasks[after->task];
    const int64_t need = hyperperiod * before->jobs + launch.pred_jobs[after->first_pred_job + job];
    for (int32_t position = 0; need > 0 && position < before->active_blocks; ++position) {
      const int32_t word = before->first_done + position;
      if (prem_load_acquire((const int64_t *)&launch.done_jobs[word]) < need)
        return -1;
      const int64_t ended = *(volatile long long *)&launch.done_at[word];
      from = max((long long)from, (long long)(ended + after->lag_ns));
    }
  }
  prem_fence_async(); /* what others wrote is visible to our bulk copies */
  return from;
}

/** Does a record have predecessors to wait for? */
__device__ __forceinline__ bool has_after(const prem_launch &launch,
                                          const prem_device_record *record) {
  return (record->flags & PREM_RECORD_AFTER) && task_at(launch, record->task)->after_count > 0;
}

__device__ __forceinline__ bool has_release(const prem_launch &launch, int32_t flags) {
  return launch.mode == PREM_MODE_TT && !(flags & (PREM_SLOT_CHAINED | PREM_SLOT_WARMUP));
}

/** When a record may start in this mode, on the clock. */
__device__ __forceinline__ int64_t earliest_start(const prem_launch &launch, const cursor &at,
                                                  const prem_device_record *record) {
  if (has_release(launch, record->flags))
    return at.origin_ns + record->start_ns;
  const prem_device_task *task = task_at(launch, record->task);
  return at.origin_ns + record->job * task->period_ns + task->release_ns;
}

__device__ __noinline__ void stall(const prem_launch &launch, prem_fault_code code, int32_t index,
                                   const prem_device_record *record, int64_t hyperperiod) {
  prem_fault_raise(launch.state, code, shared()->plan_block, index, record,
                   task_at(launch, record->task)->number, hyperperiod,
                   prem_clock_ns() - shared()->start_ns);
  *(volatile uint32_t *)&shared()->counts[ABORT] = 1;
}

/** From time to time while a wait lasts: is the run over? A wait is too long that lasts longer than
 *  the timeout, and as long after the planned start. One warp.
 *  @param looks  at the same unmet conditions so far, this one included; 0: they are met. */
__device__ __noinline__ bool wait_look(int32_t looks, int32_t index, int32_t slot,
                                       int32_t hyperperiod, int64_t origin_ns) {
  const prem_launch &launch = shared()->launch;
  const prem_device_record *record = record_at(slot);
  bool over = false;
  if (lane_number() == 0) {
    over = abort_look(launch);
    const int64_t since_ns = prem_clock_ns() - (origin_ns + record->start_ns);
    if (!over && looks > 0 && (int64_t)looks * LOOK_NS > launch.stall_timeout_ns &&
        since_ns > launch.stall_timeout_ns) {
      stall(launch, PREM_FAULT_STALL, index, record, hyperperiod);
      over = true;
    }
  }
  return __any_sync(FULL_WARP, over);
}

/** Predecessors of a record, or of both of a joined pair, as predecessors_done(). One warp. */
__device__ __noinline__ int64_t after_wait(int32_t slot, int32_t other, int32_t hyperperiod) {
  const prem_launch &launch = shared()->launch;
  const prem_device_record *first = record_at(slot), *second = record_at(other);
  int64_t from = 0;
  if (has_after(launch, first))
    from = predecessors_done(launch, first, hyperperiod);
  if (from >= 0 && second != first && has_after(launch, second)) {
    const int64_t also = predecessors_done(launch, second, hyperperiod);
    from = also < 0 ? also : max((long long)from, (long long)also);
  }
  return __shfl_sync(FULL_WARP, (long long)from, 0);
}

/* ---- tokens of mode lock --------------------------------------------------------------------- */

__device__ bool token_take(const prem_launch &launch, int32_t resource, int32_t demand,
                           int64_t limit_ns) {
  int32_t *available = &launch.tokens[resource].available;
  for (;;) {
    int32_t seen = atomicAdd(available, 0);
    if (seen >= demand && atomicCAS(available, seen, seen - demand) == seen)
      return true;
    if (abort_look(launch) || prem_clock_ns() > limit_ns)
      return false;
    __nanosleep(64);
  }
}

/** Take one resource for a task's block; a gang's later blocks share what the first one took. */
__device__ bool resource_take(const prem_launch &launch, int32_t task, int32_t resource,
                              int32_t demand, int64_t limit_ns) {
  if (!(launch.per_task_mask >> resource & 1u))
    return token_take(launch, resource, demand, limit_ns);
  uint32_t *gang = &launch.gangs[task * launch.resource_count + resource];
  for (;;) {
    const uint32_t seen = atomicAdd(gang, 0u);
    if (atomicCAS(gang, seen, seen + 1u) != seen)
      continue;
    if (seen == 0u) {
      if (!token_take(launch, resource, demand, limit_ns))
        return false;
      atomicOr(gang, GANG_GRANTED);
      return true;
    }
    while (!(atomicAdd(gang, 0u) & GANG_GRANTED)) {
      if (abort_look(launch) || prem_clock_ns() > limit_ns)
        return false;
      __nanosleep(64);
    }
    return true;
  }
}

__device__ void resource_give(const prem_launch &launch, int32_t task, int32_t resource,
                              int32_t demand) {
  if (launch.per_task_mask >> resource & 1u) {
    uint32_t *gang = &launch.gangs[task * launch.resource_count + resource];
    for (;;) {
      const uint32_t seen = atomicAdd(gang, 0u);
      const uint32_t left = (seen & ~GANG_GRANTED) - 1u;
      if (atomicCAS(gang, seen, left ? (left | GANG_GRANTED) : 0u) != seen)
        continue;
      if (left)
        return;
      break;
    }
  }
  atomicAdd(&launch.tokens[resource].available, demand);
}

/** Who uses the memory: the phase of a record, or the two of a joined pair. */
struct token_user {
  int32_t task, phase, other_task, other_phase; /* tasks of this block */
};

/** Take or give the tokens of a memory phase; resources in order of their numbers, so that two
 *  tasks never hold one each and wait for the other's. A joined pair is one use: the larger demand
 *  of its halves, taken under the first one's task. */
__device__ __noinline__ bool tokens_move(const prem_launch &launch, token_user user, bool take,
                                         int64_t limit_ns) {
  const int32_t task = task_at(launch, user.task)->number;
  const int32_t other = task_at(launch, user.other_task)->number;
  for (int32_t r = 0; r < launch.resource_count; ++r) {
    const int32_t demand =
        max(launch.demands[task].of[user.phase][r], launch.demands[other].of[user.other_phase][r]);
    if (demand == 0)
      continue;
    if (!take)
      resource_give(launch, task, r, demand);
    else if (!resource_take(launch, task, r, demand, limit_ns))
      return false;
  }
  return true;
}

/** Take the tokens of a phase that is about to start. @return its start; -1: the run is over. One
 *  warp. */
__device__ __noinline__ int64_t tokens_take(int32_t slot, int32_t other, int32_t index,
                                            int32_t hyperperiod) {
  const prem_launch &launch = shared()->launch;
  const prem_device_record *record = record_at(slot), *second = record_at(other);
  const token_user user = {record->task, record->phase, second->task, second->phase};
  int64_t start_ns = -1;
  if (lane_number() == 0) {
    if (tokens_move(launch, user, true, prem_clock_ns() + launch.stall_timeout_ns))
      start_ns = prem_clock_ns();
    else if (!abort_look(launch))
      stall(launch, PREM_FAULT_LOCK, index, record, hyperperiod);
  }
  return __shfl_sync(FULL_WARP, (long long)start_ns, 0);
}

/** Give them back. One warp. */
__device__ __noinline__ void tokens_give(const prem_launch &launch, token_user user) {
  if (lane_number() == 0)
    tokens_move(launch, user, false, 0);
  __syncwarp();
}

/* ---- recording ------------------------------------------------------------------------------- */

__device__ __forceinline__ int32_t histogram_bucket(int64_t lateness_ns) {
  return lateness_ns <= 0 ? 0 : min(64 - __clzll(lateness_ns), PREM_HIST_BUCKETS - 1);
}

__device__ __forceinline__ void cell_add(const prem_launch &launch, const flight *of,
                                         int64_t end_ns) {
  prem_device_cell *cell = cell_at(launch, of->task * PREM_PHASE_COUNT + of->phase);
  const int64_t start_ns = of->out.start_ns, release_ns = of->out.release_ns;
  const int64_t duration = end_ns - start_ns;
  ++cell->count;
  cell->duration_sum_ns += duration;
  cell->duration_min_ns = min((long long)cell->duration_min_ns, (long long)duration);
  cell->duration_max_ns = max((long long)cell->duration_max_ns, (long long)duration);
  if (launch.mode != PREM_MODE_TT)
    return;
  const int64_t over_ns = end_ns - of->planned_end_ns;
  if (over_ns > 0) {
    ++cell->overruns;
    cell->overrun_max_ns = max((long long)cell->overrun_max_ns, (long long)over_ns);
  }
  if (release_ns == PREM_NO_RELEASE)
    return;
  const int64_t lateness = start_ns - release_ns;
  ++cell->releases;
  cell->late += lateness > launch.late_ns;
  cell->lateness_max_ns = max((long long)cell->lateness_max_ns, (long long)lateness);
  ++cell->lateness_hist[histogram_bucket(lateness)];
}

/** All that is known of a phase when it starts. One warp. Called rather than part of the loops, as
 *  is all that is not urgent: the urgent rest keeps to its registers. */
__device__ __noinline__ void flight_begin(int32_t number, int32_t slot, int32_t hyperperiod,
                                          int64_t origin_ns, int64_t release_ns, int64_t ready_ns,
                                          int64_t start_ns) {
  const prem_launch &launch = shared()->launch;
  flight *of = &shared()->flights[number];
  const prem_device_record *record = record_at(slot);
  if (lane_number() == 0) {
    const prem_device_task *task = task_at(launch, record->task);
    const int64_t s = shared()->start_ns;
    const int32_t flags = record->flags;
    of->out.release_ns = has_release(launch, flags) ? release_ns - s : PREM_NO_RELEASE;
    of->out.ready_ns = ready_ns - s;
    of->out.start_ns = start_ns - s;
    of->out.hyperperiod = hyperperiod;
    of->out.job = record->job;
    of->out.tile = record->tile;
    of->out.task = (uint16_t)task->number;
    of->out.block = (uint16_t)shared()->plan_block;
    of->out.phase = record->phase;
    of->out.flags = (uint8_t)(flags & (PREM_SLOT_CHAINED | PREM_SLOT_JOINED | PREM_SLOT_WARMUP));
    of->planned_end_ns = origin_ns - s + record->end_ns;
    of->done = (flags & PREM_RECORD_LAST) != 0;
    of->task = record->task;
    of->phase = record->phase;
    of->counts = !(flags & PREM_SLOT_WARMUP) && hyperperiod >= launch.discard;
  }
  __syncwarp();
}

/** The last record of a job on this block has ended: tell the others, keep the end. */
__device__ __noinline__ void job_finish(int32_t number, int64_t end_ns) {
  const prem_launch &launch = shared()->launch;
  const flight *of = &shared()->flights[number];
  const prem_device_task *task = task_at(launch, of->task);
  const int64_t hyperperiod = of->out.hyperperiod;
  const int32_t job = of->out.job;
  *(volatile long long *)&launch.done_at[task->first_done] = end_ns;
  prem_store_release((int64_t *)&launch.done_jobs[task->first_done],
                     hyperperiod * task->jobs + job + 1);
  atomicMax(&launch.job_end_ns[hyperperiod * launch.job_count + task->first_job + job],
            (long long)(end_ns - shared()->start_ns));
}

/** A phase has ended and its count is published: write it down. One warp; stores only, nothing
 *  waits for memory. */
__device__ __noinline__ void flight_record(int32_t number, int64_t end_ns) {
  const flight *of = &shared()->flights[number];
  books *unit = number < FLIGHTS ? &shared()->memory_books : &shared()->compute_books;
  const prem_launch &launch = shared()->launch;
  constexpr int32_t WORDS = (int32_t)(sizeof(prem_trace_record) / 8);
  const int32_t lane = lane_number();
  const int64_t from_start_ns = end_ns - shared()->start_ns;
  const int64_t recorded = unit->recorded;
  if (recorded < unit->capacity && lane < WORDS) {
    constexpr int32_t END = (int32_t)(offsetof(prem_trace_record, end_ns) / 8);
    const int64_t word = ((const volatile int64_t *)&of->out)[lane];
    ((int64_t *)&unit->room[recorded])[lane] = lane == END ? from_start_ns : word;
  }
  __syncwarp();
  if (lane == 0) {
    unit->recorded = recorded + 1;
    if (of->counts)
      cell_add(launch, of, from_start_ns);
    else if (of->out.flags & PREM_SLOT_WARMUP)
      ++unit->warmups;
  }
  __syncwarp();
}

/* ---- the memory warp ------------------------------------------------------------------------- */

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

/* ---- the compute warps ----------------------------------------------------------------------- */

/** The views of a record, four lanes a port. One warp. */
__device__ __forceinline__ void views_prepare(const prem_launch &launch,
                                              const prem_device_record *record) {
  const prem_device_task *task = task_at(launch, record->task);
  const books *unit = &shared()->compute_books;
  const int32_t lane = lane_number(), number = lane >> 2, d = lane & 3;
  if (number >= task->port_count)
    return;
  const prem_device_port *port = port_at(launch, task->first_port + number);
  shared_view *view = &shared()->views[number];
  const bool is_output = port->is_output != 0;
  int64_t origin;
  int32_t extent;
  prem_window_at(&port->dim[d], is_output, record->index, &origin, &extent);
  view->origin[d] = origin;
  view->extent[d] = extent;
  if (d < 3)
    view->pitch[d] = port->dim[d].pitch;
  else
    view->at = launch.buffers_at + port->offset_bytes + prem_lead_bytes(port, origin) +
               (is_output ? unit->out_at[record->out_buffer] : unit->in_at[record->in_buffer]);
}

#define PREM_KERNEL(NAME) KERNEL_##NAME,
enum kernel_number {
#include "kernels.def"
  KERNEL_COUNT
};
#undef PREM_KERNEL

/** The current tile's views. They are rebuilt in each kernel's own code, so that the compiler sees
 *  that their data is in the scratchpad, and loads only what the kernel uses. */
__device__ __forceinline__ void views_load(prem_view views[PREM_MAX_PORTS]) {
#pragma unroll
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p) {
    const shared_view *from = &shared()->views[p];
    views[p].data = scratch + from->at;
    views[p].reserved = 0;
#pragma unroll
    for (int32_t d = 0; d < 4; ++d) {
      views[p].extent[d] = from->extent[d];
      views[p].origin[d] = from->origin[d];
      if (d < 3)
        views[p].pitch[d] = from->pitch[d];
    }
  }
}

__device__ __forceinline__ void compute_dispatch(const prem_device_task *task) {
  switch (task->kernel) {
#define PREM_KERNEL(NAME)                                                                          \
  case KERNEL_##NAME: {                                                                            \
    prem_view views[PREM_MAX_PORTS];                                                               \
    views_load(views);                                                                             \
    NAME##_compute((const NAME##_params *)task->params, views);                                    \
    break;                                                                                         \
  }
#include "kernels.def"
#undef PREM_KERNEL
  default:
    break;
  }
}

__device__ __forceinline__ void compute_meet(int32_t threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/** Does a compute read a prefetch of this run? Then `*sequence` is its number. */
__device__ __forceinline__ bool compute_reads(const cursor &at, const prem_device_record *record,
                                              uint32_t *sequence) {
  const int32_t wait = record->wait[PREM_PREFETCH];
  const int64_t before = (int64_t)at.hyperperiod * shared()->phase_count[PREM_PREFETCH];
  *sequence = at.base[PREM_PREFETCH] + (uint32_t)wait - 1u;
  return wait != PREM_DEVICE_NO_WAIT && before + wait > 0;
}

__device__ __forceinline__ bool prefetch_there(uint32_t sequence) {
  return prem_barrier_test(&shared()->full[sequence % RING], sequence / RING & 1u);
}

/** Warp 0 brings a compute to its start. @return its start; -1: stopped. */
__device__ __forceinline__ int64_t compute_wait(const prem_launch &launch, const cursor &at,
                                                const prem_device_record *record,
                                                int64_t *ready_ns) {
  const int64_t release_ns = earliest_start(launch, at, record);
  const needs need = needs_of(at, record);
  uint32_t sequence;
  const bool reads = compute_reads(at, record, &sequence);
  bool after = has_after(launch, record);
  int64_t ready = -1, look_ns = 0;
  int32_t looks = 0;
#pragma unroll 1
  for (;;) {
    const uint4 done = counts_now();
    bool met = (int32_t)((done.y - need.computes) | (done.z - need.writebacks)) >= 0;
    met = met && (!reads || prefetch_there(sequence));
    if (__any_sync(FULL_WARP, done.w != 0))
      return -1;
    int64_t from_ns = 0;
    if (after && __all_sync(FULL_WARP, met)) {
      from_ns = after_wait(COMPUTES + at.slot, COMPUTES + at.slot, at.hyperperiod);
      after = from_ns < 0;
    }
    const int64_t now = prem_clock_ns();
    met = met && !after;
    if (met && ready < 0)
      ready = max((long long)now, (long long)from_ns);
    const int64_t due_ns = max((long long)release_ns, (long long)ready);
    if (__all_sync(FULL_WARP, met && due_ns - now < LOOK_NS)) {
      *ready_ns = ready;
      return wait_until(due_ns);
    }
    if (look_ns == 0)
      look_ns = now + LOOK_NS;
    if (!__any_sync(FULL_WARP, now > look_ns))
      continue;
    look_ns = now + LOOK_NS;
    ++looks;
    if (wait_look(met ? 0 : looks, at.index, COMPUTES + at.slot, at.hyperperiod, at.origin_ns))
      return -1;
  }
}

/** A compute has ended: write it down. The warp that does so. */
__device__ __forceinline__ void compute_record(const prem_launch &launch, const cursor &at,
                                               const prem_device_record *record, uint32_t number) {
  const int64_t end_ns = prem_clock_ns();
  const flight *computed = &shared()->flights[FLIGHTS];
  const int64_t *stamps = shared()->stamps[number & 1u];
  flight_begin(FLIGHTS, COMPUTES + at.slot, at.hyperperiod, at.origin_ns,
               earliest_start(launch, at, record), stamps[0], stamps[1]);
  if (computed->done && lane_number() == 0)
    job_finish(FLIGHTS, end_ns);
  __syncwarp();
  flight_record(FLIGHTS, end_ns);
}

/**
 * Between two computes the warps have parts of their own, at the same time: warp 0 counts the last
 * one and waits for the next, the second warp prepares the next one's views, the third writes the
 * last one down (where there are fewer, one warp has several parts).
 */
__device__ __forceinline__ void compute_warps(const prem_launch &launch, cursor at,
                                              int32_t threads) {
  record_ring *ring = &shared()->compute;
  const int32_t warp = (int32_t)threadIdx.x / 32, warps = threads / 32;
  const bool leads = warp == 0, views = warp == 1 % warps, writes = warp == 2 % warps;
  uint32_t number = 0; /* computes done */
  if (at.count == 0)
    return;
  if (leads)
    ring_start(&shared()->compute_books, at.count, ring);
  compute_meet(threads);
  while (at.hyperperiod < launch.hyperperiods) {
    const prem_device_record *record = &ring->records[at.slot];
    if (views)
      views_prepare(launch, record);
    if (leads) {
      int64_t ready_ns = 0;
      const int64_t start_ns = compute_wait(launch, at, record, &ready_ns);
      if (lane_number() == 0) {
        shared()->stamps[number & 1u][0] = ready_ns;
        shared()->stamps[number & 1u][1] = start_ns;
        shared()->go = start_ns >= 0;
      }
    }
    compute_meet(threads);
    if (!shared()->go)
      return;
    if (leads && number > 0 && (at.slot & (CHUNK - 1)) == 0) /* the other half is free now */
      ring_load(&shared()->compute_books, at.count, ring, (at.slot ^ CHUNK) / CHUNK);
    uint32_t sequence;
    if (compute_reads(at, record, &sequence))
      while (!prefetch_there(sequence)) {
      }
    compute_dispatch(task_at(launch, record->task));
    prem_fence_async();
    if (leads && chunk_ends(at)) /* the next chunk: there, and seen by all after they met */
      ring_arrive();
    compute_meet(threads);
    ++number;
    if (threadIdx.x == 0) {
      __threadfence_block();
      count_publish(PREM_COMPUTE, number);
    }
    if (writes)
      compute_record(launch, at, record, number - 1u);
    cursor_step(launch, &at);
    if (views && at.index == 0 && shared()->turns)
      buffers_turn(launch, &shared()->compute_books);
  }
}

/* ---- becoming resident ----------------------------------------------------------------------- */

/** Claim a plan block of this SM; -1: none left here. */
__device__ int32_t block_claim(const prem_launch *launch) {
  const uint32_t sm = prem_smid();
  if (sm >= (uint32_t)launch->sm_count)
    return -1;
  const int32_t first = launch->sm_first[sm];
  const int32_t count = launch->sm_first[sm + 1] - first;
  const uint32_t claim = atomicAdd(&launch->sm_claims[sm], 1u);
  if (claim >= (uint32_t)count)
    return -1;
  const int32_t block = launch->sm_blocks[first + (int32_t)claim];
  atomicExch(&launch->block_taken[block], 1u);
  return block;
}

/** A plan block whose SM got too few CUDA blocks goes to any block without work. */
__device__ int32_t block_claim_left(const prem_launch *launch) {
  for (int32_t block = 0; block < launch->block_count; ++block)
    if (atomicCAS(&launch->block_taken[block], 0u, 1u) == 0u) {
      atomicAdd(&launch->state->left_over, 1u);
      return block;
    }
  return -1;
}

/** Wait until a counter reaches `count`; false at the timeout or on abort. */
__device__ bool counter_wait(const prem_launch *launch, const uint32_t *counter, uint32_t count) {
  const int64_t limit = prem_clock_ns() + launch->resident_timeout_ns;
  while (prem_load_relaxed(counter) < count) {
    if (prem_load_relaxed(&launch->state->abort))
      return false;
    if (prem_clock_ns() > limit) {
      prem_fault_raise(launch->state, PREM_FAULT_RESIDENT, -1, -1, nullptr, -1, 0, 0);
      return false;
    }
    __nanosleep(100);
  }
  return true;
}

/** All blocks are here: bind them to plan blocks. Thread 0. -1: nothing to do. */
__device__ int32_t become_resident(const prem_launch *launch) {
  prem_device_state *state = launch->state;
  int32_t block = block_claim(launch);
  __threadfence();
  atomicAdd(&state->arrived, 1u);
  if (!counter_wait(launch, &state->arrived, gridDim.x))
    return -1;
  return block >= 0 ? block : block_claim_left(launch);
}

/** All blocks are ready: agree on S. Thread 0. */
__device__ bool agree_on_start(const prem_launch *launch, int64_t *start_ns) {
  prem_device_state *state = launch->state;
  __threadfence();
  if (atomicAdd(&state->bound, 1u) + 1u == (uint32_t)launch->block_count) {
    int64_t start = prem_clock_ns() + launch->start_margin_ns;
    start -= start % launch->clock_step_ns;
    prem_store_release(&state->start_ns, start);
  }
  if (!counter_wait(launch, &state->bound, (uint32_t)launch->block_count))
    return false;
  do
    *start_ns = prem_load_acquire(&state->start_ns);
  while (*start_ns == 0);
  return true;
}

/** Bring the tasks and ports of this block to the scratchpad, clear its cells. All threads. */
__device__ void block_furnish(const prem_launch &launch, const prem_device_block *block) {
  const int32_t thread = (int32_t)threadIdx.x, threads = (int32_t)blockDim.x;
  int32_t first_port = 0;
  for (int32_t t = 0; t < block->task_count; ++t) {
    const prem_device_task *from = &launch.tasks[block->tasks[t]];
    const int32_t ports = from->port_count;
    for (int32_t word = thread; word < (int32_t)(sizeof *from / 8); word += threads)
      ((int64_t *)task_at(launch, t))[word] = ((const int64_t *)from)[word];
    const int64_t *port = (const int64_t *)&launch.ports[from->first_port];
    for (int32_t word = thread; word < ports * (int32_t)(sizeof(prem_device_port) / 8);
         word += threads)
      ((int64_t *)port_at(launch, first_port))[word] = port[word];
    __syncthreads();
    if (thread == 0) {
      task_at(launch, t)->first_port = first_port;
      task_at(launch, t)->first_done += block->positions[t];
    }
    first_port += ports;
  }
  for (int32_t c = thread; c < block->task_count * PREM_PHASE_COUNT; c += threads) {
    prem_device_cell *cell = cell_at(launch, c);
    *cell = prem_device_cell{};
    cell->duration_min_ns = INT64_MAX;
    cell->duration_max_ns = INT64_MIN;
    cell->lateness_max_ns = INT64_MIN;
  }
  __syncthreads();
}

/** Open the books of both units. One thread. */
__device__ void books_open(const prem_launch &launch, const prem_device_block *block) {
  control *start = shared();
  for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    start->phase_count[phase] = block->phase_count[phase];
  start->turns = block->turns;
  books *memory = &start->memory_books, *compute = &start->compute_books;
  *memory = books{};
  memory->table = block->memory;
  memory->room = block->records;
  memory->capacity = block->memory_capacity;
  for (int32_t buffer = 0; buffer < launch.buffers; ++buffer) {
    memory->in_at[buffer] = buffer * block->in_bytes;
    memory->out_at[buffer] = launch.buffers * block->in_bytes + buffer * block->out_bytes;
  }
  *compute = *memory;
  compute->table = block->compute;
  compute->room = block->records + block->memory_capacity;
  compute->capacity = block->compute_capacity;
}

/** Give the counts of this block to the host. All threads. */
__device__ void block_report(const prem_launch &launch, const prem_device_block *block) {
  const int32_t words =
      block->task_count * PREM_PHASE_COUNT * (int32_t)(sizeof(prem_device_cell) / 8);
  int64_t *to = (int64_t *)&launch.cells[block->first_cell];
  const int64_t *from = (const int64_t *)cell_at(launch, 0);
  for (int32_t word = (int32_t)threadIdx.x; word < words; word += (int32_t)blockDim.x)
    to[word] = from[word];
  if (threadIdx.x != 0)
    return;
  const int32_t number = shared()->plan_block;
  launch.record_counts[2 * number] = shared()->memory_books.recorded;
  launch.record_counts[2 * number + 1] = shared()->compute_books.recorded;
  launch.warmup_counts[2 * number] = shared()->memory_books.warmups;
  launch.warmup_counts[2 * number + 1] = shared()->compute_books.warmups;
}

template <int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    executive(const __grid_constant__ prem_launch launch) {
  if (threadIdx.x == 0) {
    for (int32_t i = 0; i < RING; ++i)
      prem_barrier_init(&shared()->full[i]);
    for (int32_t i = 0; i < 4; ++i)
      shared()->counts[i] = 0;
    shared()->go = 0;
    shared()->launch = launch;
    prem_fence_async();
    shared()->plan_block = become_resident(&launch);
  }
  __syncthreads();
  if (shared()->plan_block < 0)
    return;
  const prem_device_block *block = &launch.blocks[shared()->plan_block];
  block_furnish(launch, block);
  if (threadIdx.x == 0) {
    books_open(launch, block);
    if (!agree_on_start(&launch, &shared()->start_ns))
      shared()->counts[ABORT] = 1;
    shared()->memory_cursor = cursor_at(block->memory_count);
    shared()->held = 0;
  }
  __syncthreads();
  const int32_t compute_threads = (int32_t)blockDim.x - 32;
  const bool moves = (int32_t)threadIdx.x >= compute_threads;
  if (shared()->counts[ABORT] == 0) {
    if (moves)
      memory_warp(launch);
    else
      compute_warps(launch, cursor_at(block->compute_count), compute_threads);
  }
  __syncthreads();
  block_report(launch, block);
}

} // namespace

extern "C" const void *prem_executive_variant(int32_t number, int32_t *most_threads) {
  /* by registers a thread: 128, 64, 56, 48, 32 */
  switch (number) {
  case 0:
    *most_threads = 512;
    return (const void *)&executive<512, 1>;
  case 1:
    *most_threads = 1024;
    return (const void *)&executive<1024, 1>;
  case 2:
    *most_threads = 288;
    return (const void *)&executive<288, 4>;
  case 3:
    *most_threads = 320;
    return (const void *)&executive<320, 4>;
  case 4:
    *most_threads = 1024;
    return (const void *)&executive<1024, 2>;
  default:
    *most_threads = 0;
    return nullptr;
  }
}

extern "C" void prem_executive_lay_out(prem_launch *launch) {
  const size_t tasks = (size_t)launch->most_tasks;
  size_t at = aligned(sizeof(control), 16);
  launch->tasks_at = (int32_t)at;
  at += aligned(tasks * sizeof(prem_device_task), 16);
  launch->ports_at = (int32_t)at;
  at += aligned((size_t)launch->most_ports * sizeof(prem_device_port), 16);
  launch->cells_at = (int32_t)at;
  at += aligned(tasks * PREM_PHASE_COUNT * sizeof(prem_device_cell), 16);
  launch->moves_at = (int32_t)at;
  at += 2 * (size_t)launch->widest_task * sizeof(prem_move);
  launch->buffers_at = (int32_t)aligned(at, 128);
}

extern "C" int32_t prem_executive_kernel(const char *name) {
#define PREM_KERNEL(NAME)                                                                          \
  if (strcmp(name, #NAME) == 0)                                                                    \
    return KERNEL_##NAME;
#include "kernels.def"
#undef PREM_KERNEL
  return -1;
}
