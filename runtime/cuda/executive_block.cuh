/* Of the executive: what a block keeps in its scratchpad, its records, its waits. */
#ifndef TTPREM_EXECUTIVE_BLOCK_CUH
#define TTPREM_EXECUTIVE_BLOCK_CUH

#include "device_clock.cuh"
#include "device_engine.cuh"

namespace {

/** Who uses the memory: the phase of a record, or the two of a joined pair. */
struct token_user {
  int32_t task, phase, other_task, other_phase; /* tasks of this block */
};

constexpr int32_t RING = PREM_DEVICE_PREFETCHES;
constexpr int32_t CHUNK = 4;      /* records brought from L2 at a time */
constexpr int32_t SLIPS = 8;      /* phases of a kind in flight or not yet written down */
constexpr int32_t LOOK_NS = 4096; /* between two looks at the abort word in L2 */
constexpr uint32_t NAP_NS = 1000; /* the longest that a warp sleeps at a barrier */
constexpr uint32_t IDLE_NS = 100; /* and with nothing in flight */
constexpr int32_t MEMORY_THREADS = 96;
constexpr uint32_t FULL_WARP = 0xffffffffu;
constexpr uint32_t GANG_GRANTED = 0x80000000u;

/** Rather than a record of the starter's ring: one of the compute warps'. */
constexpr int32_t COMPUTES = 2 * CHUNK;

/** control::computing during a compatible interval: this + its slot in the ring. */
constexpr int32_t AT_INTERVAL = 2;

/** Words of control::counts: the phases done, and: */
constexpr int32_t ABORT = PREM_PHASE_COUNT;

constexpr int32_t MOVE_WORDS = (int32_t)(sizeof(prem_device_move) / 16);

/** A table of records, brought by chunks: while one is worked the next is on its way. */
struct record_ring {
  prem_device_record records[2 * CHUNK];
};

/** Counts of this block that a phase needs; of a joined pair the larger ones. Compared by their
 *  difference, so that they may wrap. */
struct needs {
  uint32_t prefetches, computes, writebacks;
};

/** A phase on its way from its record to the trace. Its times are on the clock. */
struct alignas(16) slip {
  prem_device_record record;
  int64_t origin_ns; /* the hyperperiod's start */
  int64_t ready_ns, start_ns, end_ns;
  int32_t hyperperiod;
  int32_t buffer_at; /* of a writeback: its buffer in the scratchpad */
};

/** A unit's table, and the buffers as they are now, in bytes. */
struct feed {
  const prem_device_record *records;
  const prem_device_move *moves;
  int32_t next; /* record at which the chunk to be sent begins */
  int32_t in_at[PREM_MAX_BUFFERS], out_at[PREM_MAX_BUFFERS];
};

/** What has been written down of a phase. One warp writes each. */
struct ledger {
  prem_trace_record *room;
  int64_t capacity, recorded, warmups;
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

/** The start of the scratchpad. Behind it lie the views of the current tile, the tasks, ports,
 * cells and moves of this block, then the buffers. */
struct control {
  prem_launch launch;             /* for what is called, which cannot see the kernel's constants */
  uint64_t full[RING];            /* of prefetches, counted round: landed */
  uint64_t order[SLIPS];          /* of writebacks, counted round: handed to the writer */
  alignas(16) uint32_t counts[4]; /* phases done; the abort word */
  record_ring memory, compute;
  slip fetches[SLIPS], stores[SLIPS], computes[SLIPS]; /* counted round */
  feed memory_feed, compute_feed;
  ledger ledgers[PREM_PHASE_COUNT];
  token_user holder;                     /* mode lock: whose tokens the starter holds */
  int64_t start_ns;                      /* S */
  int32_t phase_count[PREM_PHASE_COUNT]; /* in one hyperperiod */
  int32_t turns;                         /* whether hyperperiods turn the buffers */
  int32_t memory_count, compute_count;   /* records in one hyperperiod */
  int32_t plan_block;                    /* -1: nothing to do */
  int32_t go;                            /* 0: the compute warps end */
  uint32_t issued;                       /* prefetches of the run */
  uint32_t computes_written;             /* computes of the run that are written down */
  uint32_t stores_written;               /* writebacks */
  uint32_t ordered;                      /* writebacks of the run, when `closing` is set */
  int32_t closing;                       /* no memory phase will be started any more */
  int32_t computing;                     /* 0: the compute warps have ended; 1: they have not */
};

constexpr size_t aligned(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

extern __shared__ __align__(128) unsigned char scratch[];

/** The scratchpad. What it returns is kept in a register: the compiler, left to itself, works the
 *  address out again at each use. */
__device__ __forceinline__ control *shared(void) {
  uint32_t base;
  asm("mov.u32 %0, %1;" : "=r"(base) : "r"((uint32_t)__cvta_generic_to_shared(scratch)));
  return (control *)__cvta_shared_to_generic(base);
}
__device__ __forceinline__ unsigned char *bytes_at(control *own, int32_t at) {
  return (unsigned char *)own + at;
}
__device__ __forceinline__ shared_view *view_at(control *own, const prem_launch &launch,
                                                int32_t port) {
  return (shared_view *)bytes_at(own, launch.views_at) + port;
}
__device__ __forceinline__ prem_device_task *task_at(control *own, const prem_launch &launch,
                                                     int32_t task) {
  return (prem_device_task *)bytes_at(own, launch.tasks_at) + task;
}
__device__ __forceinline__ prem_device_port *port_at(control *own, const prem_launch &launch,
                                                     int32_t port) {
  return (prem_device_port *)bytes_at(own, launch.ports_at) + port;
}
__device__ __forceinline__ prem_device_cell *cell_at(control *own, const prem_launch &launch,
                                                     int32_t cell) {
  return (prem_device_cell *)bytes_at(own, launch.cells_at) + cell;
}
/** The moves of a record in the starter's ring; behind them those of the writer's slips. */
__device__ __forceinline__ prem_device_move *moves_at(control *own, const prem_launch &launch,
                                                      int32_t slot) {
  return (prem_device_move *)bytes_at(own, launch.moves_at) + slot * launch.widest_move;
}

/** A record in a ring: slots from COMPUTES on are those of the compute warps'. What is called takes
 *  such numbers: they need fewer registers than pointers. */
__device__ __forceinline__ const prem_device_record *record_at(control *own, int32_t slot) {
  return slot < COMPUTES ? &own->memory.records[slot] : &own->compute.records[slot - COMPUTES];
}

/** A lane as a number. */
__device__ __forceinline__ int32_t lane_number(void) {
  return (int32_t)(threadIdx.x & 31u);
}

/* ---- records --------------------------------------------------------------------------------- */

/** At the start of a table. */
__device__ __forceinline__ cursor cursor_at(const control *own, int32_t count) {
  cursor at = {};
  at.count = count;
  at.origin_ns = own->start_ns;
  return at;
}

/** 16 bytes to the scratchpad, without waiting for them. */
__device__ __forceinline__ void word_send(int4 *to, const int4 *from) {
#if PREM_ARCH >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(prem_shared_address(to)), "l"(from)
               : "memory");
#else
  *to = *from;
#endif
}

/** A warp sends the next chunk of its table on its way into a half of the ring; round and round. */
__device__ __noinline__ void ring_load(bool memory, int32_t count, int32_t half) {
  control *own = shared();
  const prem_launch &launch = own->launch;
  record_ring *ring = memory ? &own->memory : &own->compute;
  feed *unit = memory ? &own->memory_feed : &own->compute_feed;
  constexpr int32_t WORDS = (int32_t)(sizeof(prem_device_record) / 16);
  static_assert(CHUNK * WORDS <= 32, "a word for each lane at most");
  const int32_t lane = lane_number(), first = unit->next;
  const int32_t records = min(count - first, CHUNK);
  if (lane < records * WORDS)
    word_send((int4 *)&ring->records[half * CHUNK] + lane,
              (const int4 *)&unit->records[first] + lane);
  if (memory) {
    const int4 *from = (const int4 *)&unit->moves[(int64_t)first * launch.widest_move];
    int4 *to = (int4 *)moves_at(own, launch, half * CHUNK);
    for (int32_t word = lane; word < MOVE_WORDS * records * launch.widest_move; word += 32)
      word_send(to + word, from + word);
  }
  __syncwarp();
  if (lane == 0)
    unit->next = first + CHUNK < count ? first + CHUNK : 0;
  __syncwarp();
}

__device__ __forceinline__ void ring_arrive(void) {
#if PREM_ARCH >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  __syncwarp();
}

__device__ __forceinline__ void ring_start(bool memory, int32_t count) {
#pragma unroll 1
  for (int32_t half = 0; half < 2; ++half)
    ring_load(memory, count, half);
  ring_arrive();
}

/** Is the record the last of its chunk? */
__device__ __forceinline__ bool chunk_ends(const cursor &at) {
  return at.index + 1 == at.count || (at.slot & (CHUNK - 1)) == CHUNK - 1;
}

/** The buffers of the next hyperperiod, where tiles alive across its start turn them. One warp. */
__device__ __noinline__ void buffers_turn(bool memory) {
  control *own = shared();
  feed *unit = memory ? &own->memory_feed : &own->compute_feed;
  const prem_device_block *block = &own->launch.blocks[own->plan_block];
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

/** Go on at the table's start, in the next hyperperiod. */
__device__ __forceinline__ void cursor_wrap(const control *own, cursor *at) {
  at->index = 0;
  ++at->hyperperiod;
  at->origin_ns += own->launch.hyperperiod_ns;
  for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    at->base[phase] += (uint32_t)own->phase_count[phase];
}

/** Step to the next record. A new chunk must have arrived. */
__device__ __forceinline__ void cursor_step(const control *own, cursor *at) {
  const bool crosses = chunk_ends(*at);
  ++at->index;
  at->slot = crosses ? ((at->slot & CHUNK) ^ CHUNK) : at->slot + 1;
  if (at->index == at->count)
    cursor_wrap(own, at);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/** Look at the abort word of the launch; remember it in the scratchpad. */
__device__ __forceinline__ bool abort_look(control *own) {
  volatile uint32_t *abort = &own->counts[ABORT];
  if (prem_load_relaxed(&own->launch.state->abort))
    *abort = 1;
  return *abort != 0;
}

__device__ __forceinline__ uint4 counts_now(const control *own) {
  uint4 now;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(now.x), "=r"(now.y), "=r"(now.z), "=r"(now.w)
               : "r"(prem_shared_address(own->counts))
               : "memory");
  return now;
}

/** Has a prefetch landed, counted over the run? Then what it brought is visible to this lane. */
__device__ __forceinline__ bool prefetch_there(control *own, uint32_t number) {
  return prem_barrier_test(&own->full[number % RING], number / RING & 1u);
}

/** Look at a barrier for a microsecond or so, mostly asleep. @return whether its phase has
 * completed. */
__device__ __forceinline__ bool barrier_doze(uint64_t *barrier, uint32_t parity) {
  bool there = false;
#pragma unroll 1
  for (int32_t tries = 0; tries < 16 && !there; ++tries)
    there = prem_barrier_await(barrier, parity, NAP_NS);
  return there;
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

/** What this thread, and those it met, did before stays before what follows, for all of the block.
 */
__device__ __forceinline__ void block_fence(void) {
  asm volatile("fence.acq_rel.cta;" ::: "memory");
}

__device__ __forceinline__ void count_publish(control *own, int32_t phase, uint32_t count) {
  block_fence();
  *(volatile uint32_t *)&own->counts[phase] = count;
}

__device__ __forceinline__ needs needs_of(const cursor &at, const prem_device_record *record) {
  return needs{at.base[0] + (uint32_t)record->wait[0], at.base[1] + (uint32_t)record->wait[1],
               at.base[2] + (uint32_t)record->wait[2]};
}

/** Have phases been done as often as needed? */
__device__ __forceinline__ bool counts_reach(const uint4 &done, const needs &need) {
  return (int32_t)((done.x - need.prefetches) | (done.y - need.computes) |
                   (done.z - need.writebacks)) >= 0;
}

__device__ __forceinline__ uint32_t later(uint32_t a, uint32_t b) {
  return (int32_t)(a - b) > 0 ? a : b;
}

/** Have all blocks of the predecessors finished the jobs we follow? @return the instant from which
 *  we may start (end + lag); -1: not yet. */
__device__ int64_t predecessors_done(control *own, const prem_device_record *record,
                                     int64_t hyperperiod) {
  const prem_launch &launch = own->launch;
  const prem_device_task *task = task_at(own, launch, record->task);
  const int32_t job = record->job;
  int64_t from = 0;
  for (int32_t a = 0; a < task->after_count; ++a) {
    const prem_device_after *after = &launch.afters[task->first_after + a];
    const prem_device_task *before = &launch.tasks[after->task];
    int64_t need = hyperperiod * before->jobs + launch.pred_jobs[after->first_pred_job + job];
    if (record->phase < after->phase)
      need = 0;
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

/** Is a phase of these flags started at an instant of the plan? */
__device__ __forceinline__ bool has_release(const prem_launch &launch, int32_t flags) {
  return launch.mode == PREM_MODE_TT && !(flags & (PREM_SLOT_CHAINED | PREM_SLOT_WARMUP));
}

/** When a record may start in this mode, on the clock. */
__device__ __forceinline__ int64_t earliest_start(const prem_launch &launch, const cursor &at,
                                                  const prem_device_record *record) {
  return at.origin_ns + (has_release(launch, record->flags) ? record->start_ns : record->gate_ns);
}

__device__ __noinline__ void stall(control *own, prem_fault_code code, int32_t index,
                                   const prem_device_record *record, int64_t hyperperiod) {
  prem_fault_raise(own->launch.state, code, own->plan_block, index, record,
                   task_at(own, own->launch, record->task)->number, hyperperiod, counts_now(own).y,
                   prem_clock_ns() - own->start_ns);
  *(volatile uint32_t *)&own->counts[ABORT] = 1;
}

/** A wait is too long that lasts longer than the timeout, and as long after this instant: the
 *  planned start. Tokens are taken in any order: in mode lock it is the hyperperiod's end. */
__device__ __forceinline__ int64_t patience_from(const prem_launch &launch, int64_t origin_ns,
                                                 const prem_device_record *record) {
  return origin_ns + (launch.mode == PREM_MODE_LOCK ? launch.hyperperiod_ns : record->start_ns);
}

/** From time to time while a wait lasts: is the run over? Has it lasted too long? One warp.
 *  @param looks  at the same unmet conditions so far, this one included; 0: they are met. */
__device__ __noinline__ bool wait_look(int32_t looks, int32_t index, int32_t slot,
                                       int32_t hyperperiod, int64_t origin_ns) {
  control *own = shared();
  const int64_t timeout_ns = own->launch.stall_timeout_ns;
  const prem_device_record *record = record_at(own, slot);
  bool over = false;
  if (lane_number() == 0) {
    over = abort_look(own);
    const int64_t since_ns = prem_clock_ns() - patience_from(own->launch, origin_ns, record);
    if (!over && looks > 0 && (int64_t)looks * LOOK_NS > timeout_ns && since_ns > timeout_ns) {
      stall(own, PREM_FAULT_STALL, index, record, hyperperiod);
      over = true;
    }
  }
  return __any_sync(FULL_WARP, over);
}

/** Predecessors of a record, or of both of a joined pair, as predecessors_done(). One warp. */
__device__ __noinline__ int64_t after_wait(int32_t slot, int32_t other, int32_t hyperperiod) {
  control *own = shared();
  const prem_device_record *first = record_at(own, slot), *second = record_at(own, other);
  int64_t from = 0;
  if (first->flags & PREM_RECORD_AFTER)
    from = predecessors_done(own, first, hyperperiod);
  if (from >= 0 && second != first && (second->flags & PREM_RECORD_AFTER)) {
    const int64_t also = predecessors_done(own, second, hyperperiod);
    from = also < 0 ? also : max((long long)from, (long long)also);
  }
  return __shfl_sync(FULL_WARP, (long long)from, 0);
}

} // namespace

#endif
