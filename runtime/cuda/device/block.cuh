/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: what a block keeps in its scratchpad, its records, its waits. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_BLOCK_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_BLOCK_CUH

#include <stddef.h>

#include "runtime/cuda/device/clock.cuh"
#include "runtime/cuda/device/engine.cuh"

namespace {

/** Who uses the memory: the phase of a record, or the two of a joined pair. */
struct token_user {
  int32_t task, phase, other_task, other_phase; /* tasks of this block */
};

constexpr int32_t RING = PREM_DEVICE_PREFETCHES;
constexpr int32_t CHUNK = 4;         /* records brought from L2 at a time */
constexpr int32_t MAX_IN_FLIGHT = 8; /* phases of a kind in flight or not yet written down */
constexpr int32_t LOOK_NS = 4096;    /* between two looks at the abort word in L2 */
constexpr uint32_t NAP_NS = 1000;    /* the longest that a warp sleeps at a barrier */
constexpr uint32_t IDLE_NS = 100;    /* and with nothing in flight */
constexpr uint32_t PEEK_NS = 50;     /* and between two looks of the writer at what it needs */
constexpr int64_t NEAR_NS = 1024;    /* before an instant the writer sleeps no more */
constexpr int64_t WAKE_NS = 512;     /* in which it wakes up for an order */
constexpr uint32_t FULL_WARP = 0xffffffffu;
constexpr uint32_t GANG_GRANTED = 0x80000000u;

/** Slots are numbers of records in the starter's ring; from here on in the compute warps', and from
 *  here on in the entries of writebacks in flight. */
constexpr int32_t COMPUTES = 2 * CHUNK, STORES = 4 * CHUNK;

/** block_state::computing during a compatible interval: this + its slot in the ring. */
constexpr int32_t AT_INTERVAL = 2;

#ifdef TTPREM_FAULT_DELAY
/** tests/faults: who is slow on which plan block. */
enum { DELAY_STARTER, DELAY_WRITER, DELAY_COMPUTE, DELAY_WATCHER, DELAY_COMPUTING, DELAY_LANDING };
#endif

/** Words of block_state::counts: the phases done, and: */
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
struct alignas(16) in_flight_phase {
  prem_device_record record;
  int64_t origin_ns; /* the hyperperiod's start */
  int64_t ready_ns, start_ns, end_ns;
  int32_t hyperperiod;
  int32_t index;     /* of the record in its table */
  int32_t buffer_at; /* of a writeback: its buffer in the scratchpad */
};

static_assert(offsetof(in_flight_phase, record) == 0,
              "lanes bring a phase's record 16 bytes at a time");

/** A unit's table, and the buffers as they are now, in bytes. */
struct table_cursor {
  const prem_device_record *records;
  const prem_device_move *moves;
  int32_t next; /* record at which the chunk to be sent begins */
  int32_t in_at[PREM_MAX_BUFFERS], out_at[PREM_MAX_BUFFERS];
};

/** What has been written down of a phase. One warp writes each. */
struct trace_writer {
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

/** Where a unit stands in its table, and what its waits count from. The starter, whose registers
 * are few, works that out instead: see origin_of() and needs_in(). */
struct table_position {
  int32_t count; /* records */
  int32_t index; /* in the table */
  int32_t slot;  /* in the ring */
  int32_t hyperperiod;
  uint32_t base[PREM_PHASE_COUNT]; /* phases done before this hyperperiod */
  int64_t origin_ns;               /* the hyperperiod's start on the clock */
};

/** The start of the scratchpad. Behind it lie the views of the current tile, the tasks, ports,
 * cells and moves of this block, then the buffers. */
struct block_state {
  prem_launch launch;             /* for what is called, which cannot see the kernel's constants */
  uint64_t full[RING];            /* of prefetches, counted round: landed */
  uint64_t order[MAX_IN_FLIGHT];  /* of writebacks, counted round: handed to the writer */
  alignas(16) uint32_t counts[4]; /* phases done; the abort word */
  record_ring memory, compute;
  in_flight_phase fetches[MAX_IN_FLIGHT], stores[MAX_IN_FLIGHT]; /* counted round */
  in_flight_phase computes[MAX_IN_FLIGHT];                       /* the same */
  table_cursor memory_table, compute_table;
  trace_writer trace_writers[PREM_PHASE_COUNT];
  token_user holder;                     /* mode lock: whose tokens the starter holds */
  int64_t start_ns;                      /* S */
  int32_t phase_count[PREM_PHASE_COUNT]; /* in one hyperperiod */
  int32_t rotates;                       /* whether hyperperiods rotate the buffers */
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

static_assert(offsetof(block_state, counts) % 16 == 0 && offsetof(block_state, memory) % 16 == 0 &&
                  offsetof(block_state, compute) % 16 == 0,
              "counts are read, and rings are filled, 16 bytes at a time");

constexpr size_t aligned(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

extern __shared__ __align__(128) unsigned char scratch[];

/** The scratchpad. What it returns is kept in a register: the compiler, left to itself, works the
 *  address out again at each use. */
__device__ __forceinline__ block_state *shared(void) {
  uint32_t base;
  asm("mov.u32 %0, %1;" : "=r"(base) : "r"((uint32_t)__cvta_generic_to_shared(scratch)));
  return (block_state *)__cvta_shared_to_generic(base);
}
__device__ __forceinline__ unsigned char *bytes_at(block_state *own, int32_t at) {
  return (unsigned char *)own + at;
}
__device__ __forceinline__ shared_view *view_at(block_state *own, const prem_launch &launch,
                                                int32_t port) {
  return (shared_view *)bytes_at(own, launch.views_at) + port;
}
__device__ __forceinline__ prem_device_task *task_at(block_state *own, const prem_launch &launch,
                                                     int32_t task) {
  return (prem_device_task *)bytes_at(own, launch.tasks_at) + task;
}
__device__ __forceinline__ prem_device_port *port_at(block_state *own, const prem_launch &launch,
                                                     int32_t port) {
  return (prem_device_port *)bytes_at(own, launch.ports_at) + port;
}
__device__ __forceinline__ prem_device_cell *cell_at(block_state *own, const prem_launch &launch,
                                                     int32_t cell) {
  return (prem_device_cell *)bytes_at(own, launch.cells_at) + cell;
}
/** The moves of a record in the starter's ring; behind them those of the writebacks in flight. */
__device__ __forceinline__ prem_device_move *moves_at(block_state *own, const prem_launch &launch,
                                                      int32_t slot) {
  return (prem_device_move *)bytes_at(own, launch.moves_at) + slot * launch.widest_move;
}

/** A record: slots from COMPUTES on are in the compute warps' ring, from STORES on in the entries
 * of writebacks. What is called takes such numbers: they need fewer registers than pointers. */
__device__ __forceinline__ const prem_device_record *record_at(block_state *own, int32_t slot) {
  if (slot >= STORES)
    return &own->stores[slot - STORES].record;
  return slot < COMPUTES ? &own->memory.records[slot] : &own->compute.records[slot - COMPUTES];
}

/** A lane as a number. */
__device__ __forceinline__ int32_t lane_number(void) {
  return (int32_t)(threadIdx.x & 31u);
}

/* ---- records --------------------------------------------------------------------------------- */

/** A hyperperiod's start on the clock. */
__device__ __forceinline__ int64_t origin_of(const block_state *own, int32_t hyperperiod) {
  return own->start_ns + hyperperiod * own->launch.hyperperiod_ns;
}

/** At the start of a table. */
__device__ __forceinline__ table_position position_at_start(const block_state *own, int32_t count) {
  table_position at = {};
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
  block_state *own = shared();
  const prem_launch &launch = own->launch;
  record_ring *ring = memory ? &own->memory : &own->compute;
  table_cursor *unit = memory ? &own->memory_table : &own->compute_table;
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
__device__ __forceinline__ bool chunk_ends(const table_position &at) {
  return at.index + 1 == at.count || (at.slot & (CHUNK - 1)) == CHUNK - 1;
}

/** The buffers of the next hyperperiod, where tiles alive across its start rotate them. One warp.
 */
__device__ __noinline__ void rotate_buffers(bool memory) {
  block_state *own = shared();
  table_cursor *unit = memory ? &own->memory_table : &own->compute_table;
  const prem_device_block *block = &own->launch.blocks[own->plan_block];
  const int32_t lane = lane_number();
  int32_t in_at = 0, out_at = 0;
  if (lane < PREM_MAX_BUFFERS) {
    in_at = unit->in_at[block->in_rotation[lane]];
    out_at = unit->out_at[block->out_rotation[lane]];
  }
  __syncwarp();
  if (lane < PREM_MAX_BUFFERS) {
    unit->in_at[lane] = in_at;
    unit->out_at[lane] = out_at;
  }
  __syncwarp();
}

/** Go on at the table's start, in the next hyperperiod. */
__device__ __forceinline__ void position_wrap(const block_state *own, table_position *at) {
  at->index = 0;
  ++at->hyperperiod;
  at->origin_ns += own->launch.hyperperiod_ns;
  for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    at->base[phase] += (uint32_t)own->phase_count[phase];
}

/** Step to the next record. A new chunk must have arrived. */
__device__ __forceinline__ void position_step(const block_state *own, table_position *at) {
  const bool crosses = chunk_ends(*at);
  ++at->index;
  at->slot = crosses ? ((at->slot & CHUNK) ^ CHUNK) : at->slot + 1;
  if (at->index == at->count)
    position_wrap(own, at);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/** Look at the abort word of the launch; remember it in the scratchpad. */
__device__ __forceinline__ bool abort_look(block_state *own) {
  volatile uint32_t *abort = &own->counts[ABORT];
  if (prem_load_relaxed(&own->launch.state->abort))
    *abort = 1;
  return *abort != 0;
}

__device__ __forceinline__ uint4 counts_now(const block_state *own) {
  uint4 now;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(now.x), "=r"(now.y), "=r"(now.z), "=r"(now.w)
               : "r"(prem_shared_address(own->counts))
               : "memory");
  return now;
}

/** Has a prefetch landed, counted over the run? Then what it brought is visible to this lane. */
__device__ __forceinline__ bool prefetch_there(block_state *own, uint32_t number) {
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
  const int64_t now = prem_clock_await(at_ns);
  __syncwarp();
  return now;
}

/** What this thread, and those it met, did before stays before what follows, for all of the block.
 */
__device__ __forceinline__ void block_fence(void) {
  asm volatile("fence.acq_rel.cta;" ::: "memory");
}

__device__ __forceinline__ void count_publish(block_state *own, int32_t phase, uint32_t count) {
  block_fence();
  *(volatile uint32_t *)&own->counts[phase] = count;
}

__device__ __forceinline__ needs needs_of(const table_position &at,
                                          const prem_device_record *record) {
  return needs{at.base[0] + (uint32_t)record->wait[0], at.base[1] + (uint32_t)record->wait[1],
               at.base[2] + (uint32_t)record->wait[2]};
}

__device__ __forceinline__ needs needs_in(const block_state *own, int32_t hyperperiod,
                                          const prem_device_record *record) {
  const uint32_t h = (uint32_t)hyperperiod;
  return needs{h * (uint32_t)own->phase_count[0] + (uint32_t)record->wait[0],
               h * (uint32_t)own->phase_count[1] + (uint32_t)record->wait[1],
               h * (uint32_t)own->phase_count[2] + (uint32_t)record->wait[2]};
}

/** Have phases been done as often as needed? */
__device__ __forceinline__ bool counts_reach(const uint4 &done, const needs &need) {
  return (int32_t)((done.x - need.prefetches) | (done.y - need.computes) |
                   (done.z - need.writebacks)) >= 0;
}

__device__ __forceinline__ uint32_t later(uint32_t a, uint32_t b) {
  return (int32_t)(a - b) > 0 ? a : b;
}

/** Is a phase of these flags started at an instant of the plan? */
__device__ __forceinline__ bool has_release(const prem_launch &launch, int32_t flags) {
  return launch.mode == PREM_MODE_TT && !(flags & (PREM_SLOT_CHAINED | PREM_SLOT_WARMUP));
}

/** When a record may start in this mode, on the clock. */
__device__ __forceinline__ int64_t earliest_start(const prem_launch &launch, int64_t origin_ns,
                                                  const prem_device_record *record) {
  return origin_ns +
         (has_release(launch, record->flags) ? record->start_ns : record->job_release_ns);
}

__device__ __noinline__ void stall(block_state *own, prem_fault_code code, int32_t index,
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
                                       int32_t hyperperiod) {
  block_state *own = shared();
  const int64_t timeout_ns = own->launch.stall_timeout_ns;
  const prem_device_record *record = record_at(own, slot);
  bool over = false;
  if (lane_number() == 0) {
    over = abort_look(own);
    const int64_t since_ns =
        prem_clock_ns() - patience_from(own->launch, origin_of(own, hyperperiod), record);
    if (!over && looks > 0 && (int64_t)looks * LOOK_NS > timeout_ns && since_ns > timeout_ns) {
      stall(own, PREM_FAULT_STALL, index, record, hyperperiod);
      over = true;
    }
  }
  return __any_sync(FULL_WARP, over);
}

/** The jobs that one of a lane's asks is about. */
struct awaited {
  const prem_device_end *end; /* NULL: there is nothing to wait for */
  uint32_t blocks;            /* that it has to count */
  int64_t lag_ns;
};

__device__ __forceinline__ awaited awaited_by(const prem_device_ask *ask, int64_t hyperperiod) {
  const int64_t jobs = hyperperiod * ask->jobs + ask->need;
  if (jobs <= 0)
    return awaited{nullptr, 0, 0};
  const int64_t last = jobs - 1, round = last >> ask->shift;
  return awaited{ask->ends + (last - (round << ask->shift)),
                 (uint32_t)(round + 1) * (uint32_t)ask->blocks, ask->lag_ns};
}

__device__ __forceinline__ bool has_ended(const awaited &job) {
  return (int32_t)(prem_load_acquire(&job.end->blocks) - job.blocks) >= 0;
}

/** Wait until what a record follows has ended on all blocks, a lane an edge, so that many cost what
 * one does. What it wrote is visible to this warp and its bulk copies then (job_tell). @return the
 * instant from which the record may start: the latest end + lag; 0 without a lag; -1: stopped. One
 * warp. */
__device__ __noinline__ int64_t follow(int32_t slot, int32_t index, int32_t hyperperiod) {
  block_state *own = shared();
  const prem_launch &launch = own->launch;
  const prem_device_record *record = record_at(own, slot);
  const prem_device_task *task = task_at(own, launch, record->task);
  const int32_t count = task->ask_count[record->phase];
  const prem_device_ask *asks =
      &launch.asks[task->first_ask[record->phase] + (int64_t)record->job * count];
  int64_t from_ns = 0;
#pragma unroll 1
  for (int32_t first = 0; first < count; first += 32) {
    awaited job = {nullptr, 0, 0};
    if (first + lane_number() < count)
      job = awaited_by(&asks[first + lane_number()], hyperperiod);
    bool open = job.end != nullptr;
    int64_t look_ns = 0;
    for (int32_t looks = 0;;) {
      open = open && !has_ended(job);
      if (!__any_sync(FULL_WARP, open))
        break;
      const int64_t now = prem_clock_ns();
      look_ns = look_ns ? look_ns : now + LOOK_NS;
      if (__any_sync(FULL_WARP, now > look_ns)) {
        look_ns = 0;
        if (wait_look(++looks, index, slot, hyperperiod))
          return -1;
      }
    }
    if (__any_sync(FULL_WARP, job.lag_ns > 0)) {
      int64_t end_ns = 0;
      if (job.lag_ns > 0)
        end_ns = *(const volatile long long *)&job.end->end_ns + job.lag_ns;
      for (int32_t step = 16; step > 0; step /= 2)
        end_ns = max((long long)end_ns, __shfl_xor_sync(FULL_WARP, (long long)end_ns, step));
      from_ns = max((long long)from_ns, (long long)end_ns);
    }
  }
  return from_ns;
}

} // namespace

#endif
