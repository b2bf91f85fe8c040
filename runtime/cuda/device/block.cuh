/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: what a block keeps in its scratchpad, its records, and when they may start. */
#pragma once

#include <stddef.h>

#include "runtime/core/courier.h"
#include "runtime/cuda/device/clock.cuh"
#include "runtime/cuda/device/engine.cuh"
#include "ttprem/kernel.h"

/** The executive of live sessions (executive_live.cu) or of runs. */
#ifndef PREM_LIVE
#define PREM_LIVE 0
#endif

/** The executive of best-effort tasks (executive_gated.cu), beside that of the critical ones. */
#ifndef PREM_GATED
#define PREM_GATED 0
#endif

/** The same with servers among them (executive_serving.cu). */
#ifndef PREM_SERVES
#define PREM_SERVES 0
#endif

/** The same where tiles of some make tiles (executive_making.cu). */
#ifndef PREM_MAKES
#define PREM_MAKES 0
#endif
#if PREM_SERVES
#include "runtime/cuda/device/server.h"
#endif

namespace {

constexpr bool LIVE = PREM_LIVE != 0;

/** Of a run or a session, from its first on. */
#if PREM_LIVE
using hyperperiod_number = int64_t;
#else
using hyperperiod_number = int32_t;
#endif

/** The warps that move memory, first in a block; all others compute. */
enum { STARTER, WRITER, WATCHER, MEMORY_WARPS };
static_assert(PREM_MEMORY_THREADS == 32 * MEMORY_WARPS,
              "kernels count their lanes from behind the warps that move memory");

/** Who uses the memory: the phase of a record, or the two of a joined pair. */
struct token_user {
  int32_t task, phase, other_task, other_phase; /* tasks of this block */
};

constexpr int32_t RING = PREM_DEVICE_PREFETCHES;
constexpr int32_t CHUNK = 4;         /* records brought from L2 at a time */
constexpr int32_t HYPERPERIODS = 4;  /* of a live session, that one block has begun and not all
                                        have ended, and one more */
constexpr int32_t MAX_IN_FLIGHT = 8; /* phases of a kind in flight or not yet written down */
constexpr int32_t LOOK_NS = 4096;    /* between two looks at the abort word in L2 */
constexpr uint32_t NAP_NS = 1000;    /* the longest that a warp sleeps at a barrier */
constexpr uint32_t IDLE_NS = 100;    /* and with nothing in flight */
constexpr uint32_t PEEK_NS = 50;     /* and between two looks of the writer at what it needs */
constexpr uint32_t HELD_NS = 250;    /* and of all warps of a block that a gate holds back */
constexpr int64_t NEAR_NS = 1024;    /* before an instant the writer sleeps no more */
constexpr int64_t WAKE_NS = 512;     /* in which it wakes up for an order */
constexpr int64_t LEAD_NS = 32;      /* from the reading of the clock to a copy's issue */
constexpr int64_t MEET_NS = 256;     /* in which all compute warps meet */
constexpr uint32_t FULL_WARP = 0xffffffffu;
constexpr uint32_t GANG_GRANTED = 0x80000000u;

/** Slots are numbers of records in the starter's ring; from here on in the compute warps', and from
 *  here on in the entries of writebacks in flight. */
constexpr int32_t COMPUTES = 2 * CHUNK, STORES = 4 * CHUNK;

/** block_state::computing during a compatible interval: this + its slot in the ring. */
constexpr int32_t AT_INTERVAL = 2;

/** tests/faults: who is slow, on the plan block of that number. */
enum { DELAY_STARTER, DELAY_WRITER, DELAY_COMPUTE, DELAY_WATCHER, DELAY_COMPUTING, DELAY_LANDING };

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
  int64_t ready_ns;
  int64_t released_ns; /* the reading of the clock that showed that it may start; of an ordered
                          writeback, before that: the instant from which it may */
  int64_t end_ns;
  hyperperiod_number hyperperiod;
  int32_t index;     /* of the record in its table */
  uint32_t issue_ns; /* so long after that reading it started */
  int32_t buffer_at; /* of a writeback: its buffer in the scratchpad */
#if PREM_GATED
  int64_t closes_ns; /* when the window begins that it has to end before */
  int64_t held_ns;   /* for so long the gate held it back */
  int32_t window;    /* that one's number */
#endif
#if PREM_SERVES
  int64_t came_ns; /* when the errand came that it works for; 0: for none */
#endif
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
  hyperperiod_number hyperperiod;
  uint32_t base[PREM_PHASE_COUNT]; /* phases done before this hyperperiod */
  int64_t origin_ns;               /* the hyperperiod's start on the clock */
};

/** A position as the starter hands it on: by value, in few registers. */
struct standing {
  int32_t index, slot;
  hyperperiod_number hyperperiod;
};

__device__ __forceinline__ standing standing_of(const table_position &at) {
  return standing{at.index, at.slot, at.hyperperiod};
}

#if PREM_SERVES
/** What a block has in hand of a server. */
struct serve_hand {
  uint64_t number; /* of the errand */
  int64_t came_ns, begin_ns;
  uint64_t tiles, bytes; /* of all, that count */
  uint64_t asked;        /* of one that looks: the ticket of the next message */
  int32_t next, end;     /* tiles claimed and not begun */
  int32_t room;
  int32_t begins;     /* 1: the next one is the errand's first */
  int32_t is_whole;   /* 1: the errand has no other tiles */
  int32_t expired;    /* of such a one: 1: it was too late for a tile to begin */
  int32_t looks;      /* 1: this block looks for the next errand */
  int32_t passed;     /* tiles of other servers since the last one of this */
  int32_t turn;       /* of the next tile; above 0: it has been worked, and wants another one */
  int32_t generation; /* of the next tile: 0: it was asked for */
};
#endif

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
  int64_t due_ns;            /* to the compute warps: they begin at that instant; 0: at once */
  int32_t go;                /* 0: the compute warps end */
  uint32_t issued;           /* prefetches of the run */
  uint32_t computes_written; /* computes of the run that are written down */
  uint32_t stores_written;   /* writebacks */
  uint32_t ordered;          /* writebacks of the run, when `closing` is set */
  int32_t closing;           /* no memory phase will be started any more */
  int32_t computing;         /* 0: the compute warps have ended; 1: they have not */
#if PREM_GATED
  const prem_device_record *store_records; /* the writer's table, and its moves */
  const prem_device_move *store_moves;
  int32_t store_count; /* records in one hyperperiod */
  prem_device_gated gated;
  prem_memory_gate gates[2];       /* of the starter, of the writer */
  int64_t look_ns[2];              /* when they look at the abort word again */
  int32_t held[2];                 /* 1: they wait at their gates */
  int64_t ended[PREM_PHASE_COUNT]; /* phases that count */
#endif
#if PREM_SERVES
  int32_t serves;                         /* servers of this block; 0: it works its tables */
  int32_t served;                         /* of which it had the last tile */
  int32_t order_served[PREM_MAX_SERVERS]; /* who is asked for a tile first */
  serve_hand hands[PREM_MAX_SERVERS];
  prem_device_server servers[PREM_MAX_SERVERS]; /* facts of each */
#endif
#if PREM_MAKES
  prem_ring_hand made; /* on the way to a ring of made tiles, or from it */
#endif
#if PREM_LIVE
  int32_t begins; /* to the compute warps, at a table's start: 0: no hyperperiod begins any more */
  prem_device_live live;
  /* of the last that have begun here, counted round: prem_begin_line; tickets that did not come
   * with it are 0 */
  alignas(8) uint32_t begun_with[HYPERPERIODS][PREM_BEGIN_WORDS];
  uint32_t snapshot;                     /* of arguments, that the tasks of this block have */
  hyperperiod_number begun;              /* hyperperiods that have */
  int32_t ended;                         /* 1: no more will */
  uint8_t empty_fetch[RING];             /* by prefetches, counted round: its job is skipped */
  uint8_t empty_store[PREM_MAX_BUFFERS]; /* by output buffer, where it lies: the same */
  int32_t has_skipped;                   /* a compute, ever: else `empty_store` has nothing */
  int64_t shift_bytes[PREM_MAX_PORTS];   /* of a compatible interval's ports: to their slots */
  int32_t outputs_at, out_bytes; /* output buffers: behind the first input buffer; of each */
#endif
};

static_assert(offsetof(block_state, counts) % 16 == 0 && offsetof(block_state, memory) % 16 == 0 &&
                  offsetof(block_state, compute) % 16 == 0,
              "counts are read, and rings are filled, 16 bytes at a time");
static_assert(offsetof(record_ring, records) == 0 && sizeof(prem_device_record) % 16 == 0,
              "lane n brings the n-th 16 bytes of a chunk");

#if PREM_SERVES
/** Is it a block of servers? */
__device__ __forceinline__ bool serves_here(const block_state *own) {
  return own->serves > 0;
}
/** When the errand came that a phase works for; 0: for none. */
__device__ __forceinline__ int64_t came_at(const in_flight_phase *of) {
  return of->came_ns;
}
__device__ __forceinline__ void came_set(in_flight_phase *of, int64_t came_ns) {
  of->came_ns = came_ns;
}
#else
__device__ __forceinline__ constexpr bool serves_here(const block_state *) {
  return false;
}
__device__ __forceinline__ constexpr int64_t came_at(const in_flight_phase *) {
  return 0;
}
__device__ __forceinline__ void came_set(in_flight_phase *, int64_t) {}
#endif

constexpr size_t aligned(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

extern __shared__ __align__(128) unsigned char scratch[];

/** The scratchpad. */
__device__ __forceinline__ block_state *shared(void) {
  return (block_state *)prem_shared_pointer(scratch);
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
  return (prem_device_move *)bytes_at(own, launch.moves_at) + slot * launch.max_moves;
}

/** A record: slots from COMPUTES on are in the compute warps' ring, from STORES on in the entries
 * of writebacks. What is called takes such numbers: they need fewer registers than pointers. */
__device__ __forceinline__ const prem_device_record *record_at(block_state *own, int32_t slot) {
  if (slot >= STORES)
    return &own->stores[slot - STORES].record;
  return slot < COMPUTES ? &own->memory.records[slot] : &own->compute.records[slot - COMPUTES];
}

/** The bulk engine is on; known at compile time where there is none. */
__device__ __forceinline__ bool by_bulk(const prem_launch &launch) {
  return PREM_ARCH >= 900 && launch.engine == PREM_ENGINE_BULK;
}

/** A lane as a number. */
__device__ __forceinline__ int32_t lane_number(void) {
  return (int32_t)(threadIdx.x & 31u);
}

/* ---- records --------------------------------------------------------------------------------- */

#if !PREM_LIVE
/** A hyperperiod's start on the clock. */
__device__ __forceinline__ int64_t origin_of(const block_state *own,
                                             hyperperiod_number hyperperiod) {
  return own->start_ns + hyperperiod * own->launch.hyperperiod_ns;
}
/** Its row in job_end_ns, which keeps all of a run, and the last ones of what has no end. */
__device__ __forceinline__ int64_t row_of(const block_state *, hyperperiod_number hyperperiod) {
  return PREM_GATED ? hyperperiod & (PREM_DEVICE_ROWS - 1) : hyperperiod;
}
#else
/** What has come with the begin of a hyperperiod, which begins with its epoch. */
__device__ __forceinline__ const volatile uint32_t *begin_of(const block_state *own,
                                                             hyperperiod_number hyperperiod) {
  return own->begun_with[hyperperiod & (HYPERPERIODS - 1)];
}
__device__ __forceinline__ int64_t origin_of(const block_state *own,
                                             hyperperiod_number hyperperiod) {
  return own->start_ns + *(const volatile int64_t *)begin_of(own, hyperperiod);
}
__device__ __forceinline__ int64_t row_of(const block_state *own, hyperperiod_number hyperperiod) {
  return hyperperiod & (own->live.rows - 1);
}
#endif

/** At the start of a table. */
__device__ __forceinline__ table_position position_at_start(const block_state *own, int32_t count) {
  table_position at = {};
  at.count = count;
  at.origin_ns = own->start_ns;
  return at;
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
    prem_copy_16((int4 *)&ring->records[half * CHUNK] + lane,
                 (const int4 *)&unit->records[first] + lane);
  if (memory) {
    const int4 *from = (const int4 *)&unit->moves[(int64_t)first * launch.max_moves];
    int4 *to = (int4 *)moves_at(own, launch, half * CHUNK);
    for (int32_t word = lane; word < MOVE_WORDS * records * launch.max_moves; word += 32)
      prem_copy_16(to + word, from + word);
  }
  __syncwarp();
  if (lane == 0)
    unit->next = first + CHUNK < count ? first + CHUNK : 0;
  __syncwarp();
}

__device__ __forceinline__ void ring_arrive(void) {
  prem_copies_wait();
  __syncwarp();
}

__device__ __forceinline__ void ring_start(bool memory, int32_t count) {
#pragma unroll 1
  for (int32_t half = 0; half < 2; ++half)
    ring_load(memory, count, half);
  ring_arrive();
}

#if PREM_LIVE
/** Number of the plan by which a hyperperiod is worked that has begun here, or the one before. */
__device__ __forceinline__ int32_t plan_of(const block_state *own, hyperperiod_number hyperperiod) {
  return (int32_t)(begin_of(own, hyperperiod)[PREM_BEGIN_PLAN] & 0xFFu);
}

/** Is a hyperperiod worked by another plan than the one before? A session begins with the file's.
 */
__device__ __forceinline__ bool plan_changes(const block_state *own,
                                             hyperperiod_number hyperperiod) {
  const int32_t before = hyperperiod == 0 ? 0 : plan_of(own, hyperperiod - 1);
  return plan_of(own, hyperperiod) != before;
}

/** Where its asks begin among the launch's. */
__device__ __forceinline__ int64_t first_ask_of(const block_state *own,
                                                hyperperiod_number hyperperiod) {
  return plan_of(own, hyperperiod) * own->live.asks_of_plan;
}

/** A unit's records, from the table's start on, are those of another plan: bring them anew to a
 * half of the ring, and to the other one. Nobody reads the ring. One warp.
 *  @param both  the other half is not brought later */
__device__ __noinline__ void table_change(bool memory, int32_t count, int32_t half, bool both,
                                          hyperperiod_number hyperperiod) {
  block_state *own = shared();
  table_cursor *unit = memory ? &own->memory_table : &own->compute_table;
  const prem_device_block *block =
      &own->launch.blocks[plan_of(own, hyperperiod) * own->launch.block_count + own->plan_block];
  ring_arrive(); /* what is on its way comes before */
  if (lane_number() == 0) {
    unit->records = memory ? block->memory : block->compute;
    unit->moves = memory ? block->moves : nullptr;
    unit->next = 0;
  }
  __syncwarp();
  ring_load(memory, count, half);
  if (both)
    ring_load(memory, count, half ^ 1);
  ring_arrive();
}
#else
__device__ __forceinline__ int64_t first_ask_of(const block_state *, hyperperiod_number) {
  return 0;
}
#endif

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
  static_assert(PREM_MAX_BUFFERS <= 32, "a lane for each buffer");
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

/** Is a phase of these flags started at an instant of the plan? */
__device__ __forceinline__ bool has_release(const prem_launch &launch, int32_t flags) {
  return !PREM_GATED && launch.mode == PREM_MODE_TT &&
         !(flags & (PREM_SLOT_CHAINED | PREM_SLOT_WARMUP));
}

/** When a record may start in this mode, on the clock. `lead_ns`: what passes between the instant
 *  and the act, of a phase that has one. */
__device__ __forceinline__ int64_t earliest_start(const prem_launch &launch, int64_t origin_ns,
                                                  const prem_device_record *record,
                                                  int64_t lead_ns) {
  return origin_ns +
         (has_release(launch, record->flags) ? record->start_ns - lead_ns : record->job_release_ns);
}

} // namespace
