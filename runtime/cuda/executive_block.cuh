/* Of the executive: what a block keeps in its scratchpad, its records, its waits. */
#ifndef TTPREM_EXECUTIVE_BLOCK_CUH
#define TTPREM_EXECUTIVE_BLOCK_CUH

#include "device_clock.cuh"
#include "device_engine.cuh"

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

} // namespace

#endif
