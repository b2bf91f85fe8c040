/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A plan compiled for execution: what every backend runs. Fixed-size records, one table for the
 * memory phases and one for the computes of each block, both in the order of execution.
 *
 * A record starts at max(release, its waits are over, its unit is free); the units of a block
 * (memory, compute) work their tables strictly in order, hyperperiod after hyperperiod. A backend
 * whose block is one thread merges both tables with prem_block_next().
 */
#pragma once

#include <assert.h>

#include "prem/model/versions.h"
#include "ttprem/runtime.h"

/** Flags of a record: PREM_SLOT_CHAINED, _JOINED, _WARMUP, and: */
enum {
  PREM_RECORD_JOIN_NEXT = 8, /* the next record of the table is the other half of the joined pair */
  PREM_RECORD_AFTER = 16,    /* first record of its phase, task and job on this block, and there are
                              * edges for this phase: check them */
  PREM_RECORD_LAST = 32,     /* when it ends, its task and job have ended on this block */
  PREM_RECORD_OFF = 64       /* of a job that the operating mode leaves out: it has no instant, and
                              * stands behind all that do */
};

#define PREM_NO_WAIT INT32_MIN

typedef struct prem_record {
  int64_t planned_ns;     /* start by the plan, from the hyperperiod's; latest start when chained;
                           * warm-up: below 0, only the order counts */
  int64_t planned_end_ns; /* of its window */
  int32_t tile;
  int32_t job;
  /* wait[p]: in hyperperiod h, phases of kind p done on this block, counted from the run's start,
   * must be at least h * block->phase_count[p] + wait[p]. May be 0 or negative: the wait is for an
   * earlier hyperperiod. */
  int32_t wait[PREM_PHASE_COUNT];
  uint16_t task;
  uint8_t phase;
  uint8_t flags;
  uint8_t in_buffer, out_buffer; /* of the tile's inputs and outputs, before prem_turn_buffers() */
  uint8_t reserved[6];
} prem_record;

static_assert(sizeof(prem_record) == 48, "prem_record is 48 bytes");

/** A task that a block works, and the block's place in the task's list. */
typedef struct prem_block_task {
  int32_t task, position;
} prem_block_task;

typedef struct prem_block_program {
  prem_record *memory; /* prefetches and writebacks */
  prem_record *compute;
  int32_t memory_count, compute_count;
  int32_t phase_count[PREM_PHASE_COUNT]; /* in one hyperperiod */
  int32_t in_bytes, out_bytes; /* of one buffer: the largest of the tasks that use the block */
  /* Tiles alive across the hyperperiod's end shift the buffers of the next one round: see
   * prem_turn_buffers(). turns: whether they do (mostly not). */
  uint8_t in_turn[PREM_MAX_BUFFERS], out_turn[PREM_MAX_BUFFERS];
  bool turns;
  const prem_block_task *tasks; /* [task_count], in the order of their numbers */
  int32_t task_count;
} prem_block_program;

/** An edge of precedence, ready to test. */
typedef struct prem_dependency {
  int32_t task;  /* predecessor */
  int32_t phase; /* which waits, one that the task has: what comes behind it waits for it anyway */
  int64_t lag_ns;
  /* our job j of hyperperiod h needs h * jobs(task) + needed_jobs[j] jobs of it done on every block
   * that has tiles of it; none if that is 0 or less */
  int32_t *needed_jobs;
  bool
      by_block; /* where there are tiles the counts of each block keep it, and nobody asks others */
} prem_dependency;

typedef struct prem_task_program {
  int32_t jobs;          /* in one hyperperiod */
  int32_t active_blocks; /* the first so many of its blocks have tiles */
  prem_dependency *after;
  int32_t after_count; /* edges of the schedule file */
  int32_t edge_count;  /* and data edges behind them: see data_edges.h */
  const prem_version_use *
      *versions; /* [PREM_MAX_PORTS]: what each does with an array that is kept by
                    versions; NULL: nothing, and of a task none of its ports */
} prem_task_program;

typedef struct prem_program {
  const prem_schedule *schedule;
  const prem_plan *plan;
  prem_block_program *blocks;
  int32_t block_count;
  prem_task_program *tasks;
  int64_t hyperperiod_ns;
  int64_t record_count;         /* of all blocks, one hyperperiod */
  prem_block_task *block_tasks; /* the tasks of all blocks, one block behind the other */
  prem_versions versions;
  /* Of a live session: a hyperperiod is worked by the plan of its operating mode. All have the same
   * blocks, and on each block as many phases of each kind. */
  struct prem_program **plans; /* [plan_count]: this one, of the file's plan, comes first */
  int32_t plan_count;          /* 1: there is no other */
  uint8_t plan_of_mode[PREM_MAX_OPERATING_MODES];
  /* Of one of several plans: */
  bool switches; /* others come before and behind it: what waits for an earlier hyperperiod waits
                  * for all of it */
  bool *off;     /* [task]: has no jobs in it; NULL: all have */
  const struct prem_free_part *beside; /* best-effort tasks, in a program of their own that runs
                                          beside this one; NULL: there are none. The session's */
} prem_program;

/**
 * Compile. The schedule is bound, has a plan that the checker accepts, and outlives the program.
 * The order of each table is that of the planned starts (chained: latest starts), warm-up first;
 * the plan's own times are a witness that it has no circle, so no mode should deadlock on it.
 */
prem_status prem_program_new(const prem_schedule *schedule, prem_program **out, prem_diag *diag);
/** The same for a live session: with the plans that operating modes have of their own. */
prem_status prem_program_new_live(const prem_schedule *schedule, prem_program **out,
                                  prem_diag *diag);
void prem_program_free(prem_program *program);

/**
 * How far prefetches of a block run ahead of computes: the most, counted from one on whose tile has
 * not been computed, that the waits let start. Over all hyperperiods; INT32_MAX: any number.
 */
int32_t prem_block_max_ahead(const prem_block_program *block);

/** Is a record at the memory: a memory phase, or a compatible interval? In mode lock it takes
 *  tokens. */
static inline bool prem_record_is_at_memory(const prem_schedule *schedule,
                                            const prem_record *record) {
  const prem_kernel *kernel = schedule->tasks[record->task].definition;
  return record->phase != PREM_COMPUTE || (kernel && kernel->compatible);
}

static inline int64_t prem_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/** When job `job` of a task is released in the hyperperiod that began at an instant. */
static inline int64_t prem_job_release_ns(const prem_program *program, int32_t task, int32_t job,
                                          int64_t epoch_ns) {
  const prem_task *of = &program->schedule->tasks[task]; /* a one-shot task has job 0 alone */
  return epoch_ns + job * of->period_ns + of->release_ns;
}

/**
 * From one hyperperiod to the next: scratch buffer `buffers[record->in_buffer]` is the one that a
 * record uses; in the first hyperperiod buffers[i] = i. One array for in_turn, one for out_turn.
 */
static inline void prem_turn_buffers(const uint8_t turn[PREM_MAX_BUFFERS],
                                     uint8_t buffers[PREM_MAX_BUFFERS]) {
  uint8_t before[PREM_MAX_BUFFERS];
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    before[i] = buffers[i];
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    buffers[i] = before[turn[i]];
}

/** In a run: the slot of each port's array that a record reads or writes. NULL: the first of all,
 *  and `room` is left alone. */
const int32_t *prem_program_slots(const prem_program *program, int64_t hyperperiod,
                                  const prem_record *record, int32_t room[PREM_MAX_PORTS]);

/** A block's place in a task's list of blocks; -1: it is not in it. */
int32_t prem_block_position(const prem_block_program *block, int32_t task);

/** For one-thread blocks: is the memory table's record at `m` before the compute table's at `c`?
 *  Indexes at the tables' ends are allowed. */
bool prem_block_memory_first(const prem_block_program *block, int32_t m, int32_t c);
