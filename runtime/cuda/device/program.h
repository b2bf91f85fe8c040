/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The program as the GPU reads it: plain structs shared by the host part (C) and the executive
 * (CUDA C++). All pointers are device pointers.
 */
#pragma once

#include <stdalign.h>
#include <stddef.h>

#include "runtime/core/gate.h"
#include "runtime/core/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An array in device memory: a padded box of zeros around it, wide enough for every halo, so that
 *  a window that hangs over an edge is read like any other. */
typedef struct prem_device_array {
  unsigned char *box; /* the allocation */
  int64_t box_bytes;
  unsigned char *origin;  /* element (0, 0, 0, 0); aligned to 128 bytes */
  int64_t pitch_bytes[3]; /* from one index of dimension 0, 1, 2 to the next */
  int64_t shape[4];
  int32_t element_bytes;
  int32_t type; /* prem_type */
  int64_t
      slot_bytes; /* of a live array: from slot to slot, each with margins of its own; else all */
  const int64_t *slot_offsets; /* [slots], in device memory: frames of the application's begin so
                                  many bytes from origin; NULL: slot_bytes apart, in the box */
} prem_device_array;

/** One dimension of a port: what the lane that works it needs. */
typedef struct prem_device_dim {
  int64_t base;
  int64_t step[PREM_MAX_GRID];
  int64_t shape;       /* of the array */
  int64_t pitch_bytes; /* of the array; of the innermost dimension: an element */
  int32_t extent;
  int32_t pitch; /* of views, elements: in the scratchpad, or in a compatible interval's array */
} prem_device_dim;

/** A port and its array: what views of it are made from, and what its moves have in common. Copied
 *  to the scratchpad. */
typedef struct prem_device_port {
  prem_device_dim dim[PREM_MAX_RANK];
  union {
    const void *map;      /* tensor map of its windows; NULL: they go row by row */
    unsigned char *array; /* of a compatible interval: element (0, 0, 0, 0) */
  };
  int32_t offset_bytes; /* in the tile's buffer */
  int32_t element_bytes;
  int32_t is_output;
  int32_t scratch_pitch[2]; /* bytes from one index of dimension 0 and 1 to the next */
  int32_t aim; /* 0; 1 + port of the task: an aimed window, whose place that one's numbers say */
} prem_device_port;

/**
 * The copy of one window, worked out before the run: rows of `width_bytes`. Of an input whole
 * 16-byte pieces, from the boundary before the window's first byte; of an output the bytes that
 * count. Where `box_at` is given the bulk engine moves the window as a box of the port's tensor
 * map.
 */
typedef struct prem_device_move {
  unsigned char *array; /* the first row in the array */
  int32_t scratch_at;   /* the same byte in the tile's buffer */
  int32_t width_bytes;
  int32_t pitch_bytes, scratch_pitch; /* from row to row (dimension 2) */
  uint16_t rows;
  uint16_t planes[2]; /* of dimensions 0 and 1 */
  uint16_t port;      /* of the block: it has their pitches */
  int32_t box_at[4];  /* in the map, innermost dimension first; box_at[0] < 0: no box, and: */
} prem_device_move;

enum {
  PREM_MOVE_ROWS = -1, /* row by row */
  PREM_MOVE_SPAN = -2  /* one row of whole 16-byte pieces: one copy */
};

static_assert(sizeof(prem_device_move) == 48, "prem_device_move is 48 bytes");
static_assert(offsetof(prem_device_move, box_at) % 16 == 0, "a box's place is read at once");

/** Prefetches of a block that the executive tells apart: so many are started at most before the
 *  first of them has been read. */
#define PREM_DEVICE_PREFETCHES 32

/** A wait that is always over: no two counts of a run are so far apart. */
#define PREM_DEVICE_NO_WAIT (-(1 << 30))

/** A record as the executive wants it: all that can be worked out before the run is. Read 16 bytes
 * at a time. */
typedef struct prem_device_record {
  int64_t start_ns,
      job_release_ns;             /* from the hyperperiod's start: the plan's, the job's release */
  int32_t wait[PREM_PHASE_COUNT]; /* PREM_DEVICE_NO_WAIT for none */
  uint32_t window_ns;             /* planned length; the largest number for all above */
  int32_t index[PREM_MAX_GRID];   /* of the tile */
  int32_t tile;
  int32_t job;
  uint16_t task;        /* counted among the tasks of its block */
  uint8_t phase, flags; /* PREM_RECORD_AFTER only where there are predecessors */
  uint8_t in_buffer, out_buffer;
  uint8_t move_count;  /* of a memory phase: windows to copy */
  uint8_t at_memory;   /* of a compute: in mode lock it takes tokens; and PREM_DEVICE_... bits */
  int32_t fetch_bytes; /* of a prefetch: what its copies bring */
} prem_device_record;

/** Bits of prem_device_record::at_memory in a live session. */
enum {
  PREM_DEVICE_AT_MEMORY = 1, /* a compute takes tokens in mode lock; all there is in a run */
  PREM_DEVICE_GATED = 2,     /* its task has gates */
  PREM_DEVICE_PLACED = 4,    /* set by the starter: the gates of a writeback have been asked */
  PREM_DEVICE_EMPTY = 8,     /* set by units: its job is skipped; the trace does not have it */
  PREM_DEVICE_STORES = 16,   /* a compute has an output buffer */
  PREM_DEVICE_AIMED = 32     /* its task has an aimed window */
};

static_assert(sizeof(prem_device_record) == 64, "prem_device_record is 64 bytes");

/**
 * How far a task is that others follow: a word a job, used in turn, and of many blocks several,
 * since adds to one word come one after the other. Every block that finishes the job adds one to
 * it. A job's word has been used by the jobs 1 << shift before it and so on, and all blocks have
 * added to it for those (prem_device_ask keeps a task from running so far ahead of itself).
 */
typedef struct prem_device_end {
  uint32_t blocks;  /* that have finished: this job, and those that had the word before */
  uint32_t noted;   /* in a live session: likewise, whose ends job_end_ns has */
  long long end_ns; /* the latest end, on %globaltimer; kept where a follower has a lag */
  int64_t spare[2]; /* a sector of L2 each */
} prem_device_end;

static_assert(sizeof(prem_device_end) == 32, "prem_device_end is 32 bytes");

/** What a job waits for of one other task, before its first phase of some kind on a block. */
typedef struct prem_device_ask {
  const prem_device_end *ends; /* of the other task */
  int64_t lag_ns;              /* from its end to our start */
  int32_t jobs;                /* of it in one hyperperiod */
  int32_t need;   /* in hyperperiod h, h * jobs + need of its jobs; none if that is 0 or less */
  int32_t blocks; /* that finish each of its jobs */
  int32_t shift;  /* it has 1 << shift words */
} prem_device_ask;

static_assert(sizeof(prem_device_ask) == 32, "prem_device_ask is 32 bytes");

/** Copied to the scratchpad of every block that works for the task. */
typedef struct prem_device_task {
  int32_t number;
  int32_t kernel; /* place in kernels.def */
  int32_t port_count;
  int32_t first_port;    /* in all ports; in the scratchpad: in this block's */
  prem_device_end *ends; /* NULL: nobody follows it; in the scratchpad: this block's */
  int64_t first_job;     /* in job_end_ns of one hyperperiod */
  int32_t first_ask[PREM_PHASE_COUNT];  /* of the phase that asks: [job][ask_count] */
  uint16_t ask_count[PREM_PHASE_COUNT]; /* of each job */
  uint8_t ends_shift;                   /* there are 1 << ends_shift */
  uint8_t keeps_end;                    /* a follower has a lag */
  int32_t jobs;                         /* in one hyperperiod */
  int32_t ends_parts; /* block b adds to the words from (b % ends_parts) << ends_shift on */
  alignas(16) unsigned char params[PREM_PARAMS_BYTES]; /* computes load it 16 bytes at a time */
} prem_device_task;

static_assert(sizeof(prem_device_task) == 64 + PREM_PARAMS_BYTES &&
                  offsetof(prem_device_task, params) == 64,
              "a task's head is 64 bytes");
static_assert(sizeof(prem_device_task) % 8 == 0 && sizeof(prem_device_port) % 8 == 0,
              "tasks and ports are brought to the scratchpad 8 bytes at a time");

/** Of each resource, by phase; read in mode lock only. */
typedef struct prem_device_demand {
  int32_t of[PREM_PHASE_COUNT][PREM_MAX_RESOURCES];
} prem_device_demand;

/** A block's tables. The `task` of its records counts the tasks of this block. */
typedef struct prem_device_block {
  const prem_device_record *memory, *store, *compute;
  const prem_device_move *moves; /* [memory_count + store_count][launch.max_moves] */
  int32_t memory_count;          /* prefetches; of planned tasks writebacks among them */
  int32_t store_count; /* of best-effort tasks: writebacks, which the writer works itself */
  int32_t compute_count;
  int32_t phase_count[PREM_PHASE_COUNT];
  int32_t in_bytes, out_bytes;
  uint8_t in_rotation[PREM_MAX_BUFFERS], out_rotation[PREM_MAX_BUFFERS];
  int32_t rotates;
  int32_t task_count;
  const int32_t *tasks;       /* their numbers */
  int64_t first_cell;         /* of its cells in the launch's */
  prem_trace_record *records; /* its share of the raw trace, phase by phase */
  int64_t capacity[PREM_PHASE_COUNT];
} prem_device_block;

/** Why a run ended early; the first fault wins. */
typedef enum prem_fault_code {
  PREM_FAULT_NONE,
  PREM_FAULT_RESIDENT, /* not all blocks became resident */
  PREM_FAULT_STALL,    /* a wait did not end */
  PREM_FAULT_LOCK,     /* a token was not given back */
  PREM_FAULT_ENDLESS,  /* a compatible interval did not end, for which nobody waited */
  PREM_FAULT_COURIER   /* of a live session: the courier decides nothing any more */
} prem_fault_code;

typedef struct prem_device_fault {
  uint32_t code;
  int32_t block, record, phase;
  int32_t task, tile, job, hyperperiod;
  uint32_t computes; /* that the block had done in the run */
  int64_t at_ns;     /* from S */
} prem_device_fault;

/** One word of state per resource and per (task, resource) for mode lock. */
typedef struct prem_device_token {
  int32_t available;
  int32_t pad[31];
} prem_device_token;

/** What changes during a run; one in device memory, zeroed before each. */
typedef struct prem_device_state {
  uint32_t arrived;   /* blocks that are resident */
  uint32_t bound;     /* blocks that have a plan block */
  uint32_t abort;     /* set by the host or by a fault */
  int64_t start_ns;   /* S on %globaltimer; 0 until agreed */
  uint32_t left_over; /* plan blocks bound to another SM than planned */
  prem_device_fault fault;
} prem_device_state;

/** Late releases of a launch. */
typedef struct prem_device_late {
  uint32_t count; /* of all; it stays where it is full */
  prem_late_release kept[PREM_LATE_KEPT];
} prem_device_late;

/** Counts of one phase of one task on one block, as prem_phase_stats; kept in the scratchpad. Lanes
 * of a warp work the first words at the same time: the sum, then maxima. */
typedef struct prem_device_cell {
  int64_t duration_sum_ns;
  int64_t duration_max_ns, duration_min_negated_ns; /* the shortest is a maximum too */
  int64_t lateness_max_ns, overrun_max_ns;
  uint32_t count, releases, late, overruns; /* in this order: by lanes as well */
  uint32_t lateness_hist[PREM_HIST_BUCKETS];
} prem_device_cell;

static_assert(offsetof(prem_device_cell, duration_sum_ns) == 0 &&
                  offsetof(prem_device_cell, duration_max_ns) == 8 &&
                  offsetof(prem_device_cell, duration_min_negated_ns) == 16 &&
                  offsetof(prem_device_cell, lateness_max_ns) == 24 &&
                  offsetof(prem_device_cell, overrun_max_ns) == 32,
              "lane n works the n-th time of a cell");
static_assert(offsetof(prem_device_cell, releases) == offsetof(prem_device_cell, count) + 4 &&
                  offsetof(prem_device_cell, late) == offsetof(prem_device_cell, count) + 8 &&
                  offsetof(prem_device_cell, overruns) == offsetof(prem_device_cell, count) + 12,
              "lane n works the n-th count of a cell");
static_assert(sizeof(prem_device_cell) % 8 == 0, "cells are given to the host 8 bytes at a time");

/** Of a live session, which may last for years: the counts of a cell that were taken out of it
 * before they ran over. In device memory. */
enum { PREM_DEVICE_COUNTS = 4 + PREM_HIST_BUCKETS };
typedef struct prem_device_fold {
  uint64_t counts[PREM_DEVICE_COUNTS]; /* as a cell has them from `count` on */
} prem_device_fold;

static_assert(sizeof(prem_device_cell) ==
                  offsetof(prem_device_cell, count) + PREM_DEVICE_COUNTS * sizeof(uint32_t),
              "a cell ends with its counts");

/** Everything a launch needs; passed by value. */
typedef struct prem_launch {
  const prem_device_port *ports;
  const prem_device_task *tasks;
  const prem_device_demand *demands; /* [task] */
  const prem_device_ask *asks;
  const prem_device_block *blocks;
  const int32_t *sm_first;  /* [sm_count + 1] into sm_blocks */
  const int32_t *sm_blocks; /* plan blocks of each SM */
  uint32_t *sm_claims;      /* [sm_count] */
  uint32_t *block_taken;    /* [block_count] */
  prem_device_state *state;
  prem_device_end *ends;     /* of all tasks that others follow */
  long long *job_end_ns;     /* [hyperperiod][job], from S; max over blocks */
  prem_device_cell *cells;   /* [first_cell + task of the block * 3 + phase] */
  int64_t *record_counts;    /* [block][phase]: phases recorded or lost */
  int64_t *warmup_counts;    /* [block][phase]: of these, warm-up */
  prem_device_token *tokens; /* [resource] */
  uint32_t *gangs;           /* [task][resource]: holders, top bit: granted */
  int32_t resource_count;
  uint32_t per_task_mask; /* bit r: resource r counts tasks */
  int32_t task_count, block_count, sm_count;
  int32_t buffers;
  int32_t max_views;            /* ports of one task */
  int32_t max_tasks, max_ports; /* of one block: how the scratchpad is divided */
  int32_t max_moves;            /* most windows of one memory phase */
  int32_t views_at, tasks_at, ports_at, cells_at, moves_at, buffers_at; /* bytes before them */
  int32_t engine; /* prem_engine, never PREM_ENGINE_BEST */
  int32_t mode;   /* prem_mode */
  int64_t hyperperiods, discard;
  int64_t hyperperiod_ns, job_count;
  int64_t late_ns;
  int64_t start_margin_ns; /* from the last arrival to S */
  int64_t resident_timeout_ns, stall_timeout_ns;
  int64_t clock_step_ns;
  prem_device_late *late;
} prem_launch;

/* ---- best effort ------------------------------------------------------------------------------
 */

/** What the gate did to one phase of a task on a block. Its block alone writes it. */
typedef struct prem_device_held {
  unsigned long long waits, wait_ns; /* of phases that it held back */
  unsigned long long overruns; /* phases that ended in the window that they were to end before */
  int64_t by_ns, at_ns;        /* the longest: so far into a window that began then, from S */
  int64_t drain_ns; /* the longest from the last instant at which the gate would have let one in to
                       its end; 0: none was in flight then */
  int32_t tile, window;
} prem_device_held;

/** Hyperperiods of which it keeps the ends of jobs: the last ones. */
enum { PREM_DEVICE_ROWS = 64 };

/** What a launch of best-effort tasks has besides a prem_launch. Their records have in start_ns
 * what the gate asks for ahead of a closed window; 0: it lets them pass. */
typedef struct prem_device_gated {
  prem_gate_list closed;
  const prem_device_ask *due; /* critical jobs, window by window; when they have ended it is over */
  const int32_t *due_from;    /* [closed.count + 1]: where those of a window begin */
  prem_device_state
      *meeting;           /* of the critical tasks' launch: all blocks of both agree on S there */
  int64_t counted_ns;     /* from S: phases that have ended by then count */
  prem_device_held *held; /* as prem_launch::cells */
  int64_t *ended;         /* [block][phase]: that count */
  int32_t is_gated;
  const struct prem_device_server *servers; /* [task]: of those that are none `state` is NULL; NULL:
                                               there are none */
  struct prem_server_talk *talk;
  int32_t clock_block; /* answers there */
} prem_device_gated;

/* ---- live sessions --------------------------------------------------------------------------- */

enum { PREM_DEVICE_NEAR_JOBS = 4 };

typedef enum prem_device_gate_kind {
  PREM_DEVICE_GATE_STREAM,
  PREM_DEVICE_GATE_READS, /* a version of a state array: prem_live_versions */
  PREM_DEVICE_GATE_WRITES
} prem_device_gate_kind;

/** A ticket that a job looks at: of the stream that a port reads or writes, or of a source that the
 *  job depends on through others. */
typedef struct prem_device_gate {
  const uint64_t *tickets; /* of the stream: prem_stream */
  uint64_t ring_mask;
  const int32_t *job_of; /* [job of the task]: which job of the stream, in its hyperperiod */
  int32_t first_jobs_of[PREM_DEVICE_NEAR_JOBS]; /* of its first jobs the same, at hand */
  union {
    int64_t slot_bytes;          /* of the array, from slot to slot */
    const int64_t *slot_offsets; /* or where slots lie from the first */
  };
  int32_t slot_planes; /* slot_bytes as the outermost coordinate of a tensor map; -1: slot_offsets
                          is valid, and there is no map */
  int32_t stream_jobs; /* in one hyperperiod */
  int16_t port;        /* of the task, that takes its slot; -1: none */
  int16_t stream;      /* its number, if it has one job in a hyperperiod; else -1 */
  int32_t kind;        /* prem_device_gate_kind */
} prem_device_gate;

static_assert(sizeof(prem_device_gate) == 64, "prem_device_gate is 64 bytes");

/** The gates of a task, those of sources first. In the scratchpad: among this block's. */
typedef struct prem_device_live_task {
  int32_t first_gate, sources, sinks;
  int32_t in_compute; /* it is a compatible interval: its compute asks for both */
} prem_device_live_task;

/** What the executive of a live session needs besides. */
typedef struct prem_device_live {
  const uint64_t *last;                 /* a word of the courier */
  const uint64_t *beat;                 /* its last reading of the clock */
  const struct prem_begin_line *begins; /* [rows] */
  int64_t asks_of_plan; /* launch.asks has so many for each, launch.blocks all blocks */
  const unsigned char (*params)[PREM_PARAMS_BYTES]; /* as prem_courier's, in the host's memory */
  int64_t rows;                                     /* of begins and job_end_ns: a power of two */
  const prem_device_gate *gates;
  const prem_device_live_task *tasks; /* [task] */
  int32_t tasks_at, gates_at;         /* of a block's in its scratchpad: bytes before them */
  prem_device_fold *folds;            /* as the launch's cells */
  uint32_t fold_at;                   /* a cell that counts so many phases is emptied there */
} prem_device_live;

enum {
  PREM_DEVICE_STREAMS = 24, /* live inputs and outputs: the courier has a lane for each */
  /* of the courier's own, that its scratchpad has room for: at least, and at most */
  PREM_DEVICE_NEAR_BYTES = 8192,
  PREM_DEVICE_MOST_NEAR_BYTES = 40960
};
enum { PREM_DEVICE_PARTS = 4 }; /* of a task's blocks, that each have words of their own */

/** How the courier sees that jobs of a task are over: as prem_device_ask. */
typedef struct prem_device_leader {
  const prem_device_end *ends;       /* [part][1 << shift] */
  int32_t blocks[PREM_DEVICE_PARTS]; /* of each part, that finish each job; 0: none */
  int32_t shift;
  int32_t reserved;
} prem_device_leader;

/** The frames of a stream that the courier brings over itself, rows of them. */
typedef struct prem_device_carry {
  unsigned char *host;   /* slot 0, as the GPU sees it; NULL: others bring them */
  unsigned char *device; /* slot 0 */
  int64_t host_slot_bytes, device_slot_bytes;
  int64_t host_pitch[3], device_pitch[3]; /* of dimensions 0 to 2 */
  int32_t shape[3];
  int32_t row_bytes;
  uint64_t
      brought[PREM_MAX_LIVE_BUFFERS]; /* of an input: 1 + number of the frame that lies there */
} prem_device_carry;

typedef enum prem_courier_leave {
  PREM_COURIER_STAYS,
  PREM_COURIER_LEAVES,   /* the session is over */
  PREM_COURIER_STOPS_ALL /* it leaves, and has all blocks leave: a word overtakes copies */
} prem_courier_leave;

/** Words between the host and the courier's kernel, far ones, beside prem_courier_face. A line each
 *  side. */
typedef struct prem_courier_talk {
  alignas(128) uint64_t begin; /* the host: 1: the next two are there */
  int64_t start_ns;            /* of the first hyperperiod, from S */
  int64_t base_ns;             /* the host's clock at S; corrected while it runs */
  uint64_t ping;               /* counts the host's questions after the time */
  uint64_t leave;              /* prem_courier_leave */
  uint64_t host_beat;          /* counts, as long as the host lives */
  alignas(128) int64_t s_ns;   /* the courier: S on the GPU's clock; 0: not all are there yet */
  int64_t pong_ns;             /* the GPU's clock at the question `pong` */
  uint64_t pong;
  uint64_t left; /* 1: it has */
} prem_courier_talk;

/** What the courier's kernel is launched with. */
typedef struct prem_courier_launch {
  unsigned char *image;     /* the courier and all that is its own, which begins with it */
  const uint32_t *pointers; /* where in it pointers into it are: distances until they are moved */
  int32_t image_bytes, pointer_count;
  int32_t leaders_at, carries_at; /* in the image: of tasks, of streams */
  int32_t is_near;                /* the image fits into the scratchpad that it was launched with */
  int32_t reserved;
  prem_courier_talk *talk;
  prem_device_state *state;
  uint64_t *beat;
  int64_t host_silence_ns; /* so long without a beat of the host, and the session ends; 0: never */
  int64_t resident_timeout_ns;
} prem_courier_launch;

#ifdef __cplusplus
}
#endif
