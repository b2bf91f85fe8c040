/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A plan being compiled into tables: what the three files share that do it.
 *
 *   program.c          begin here: tasks and their edges; expands the plan, calls the others
 *   program_tables.c   a block's two tables: their order, the phases of each tile, flags
 *   program_buffers.c  which scratch buffer each tile gets, and the waits that come of it
 */
#pragma once

#include "runtime/core/program.h"

/** The phases of one tile of one job on a block. */
typedef struct prem_tile_phases {
  prem_record *record[PREM_PHASE_COUNT];
  int32_t ordinal[PREM_PHASE_COUNT]; /* among the phases of its kind on the block */
} prem_tile_phases;

typedef struct prem_compilation {
  const prem_schedule *schedule;
  prem_program *program;
  prem_diag *diag;
  const prem_slot *slots;
  struct prem_entry *entries; /* bucketed by block */
  int64_t *first_entry;       /* [block_count + 1] */
  /* of the block in hand: */
  prem_block_program *block;
  int32_t block_index;
  prem_record **order; /* all its records as the plan orders them */
  int64_t order_count;
  struct prem_share *shares; /* [task_count] */
  prem_tile_phases *tiles;
  int64_t tile_count;
  uint8_t *job_seen;
  int64_t job_count;
} prem_compilation;

/** NULL: the task has no such tile on this block, or no such job. */
prem_tile_phases *prem_tile_phases_of(const prem_compilation *c, const prem_record *record);
prem_status prem_refuse_tile(const prem_compilation *c, const prem_record *record, int code,
                             const char *what);

static inline void prem_record_wait_for(prem_record *record, int phase, int32_t done) {
  if (record->wait[phase] < done)
    record->wait[phase] = done;
}

/** Does the plan leave a task's jobs out? */
static inline bool prem_task_is_off(const prem_program *program, int32_t task) {
  return program->off && program->off[task];
}

/** So many jobs of a task are waited for, from the hyperperiod's first, where one plan alone would
 *  have it `needed`. Among several, all of earlier hyperperiods at least, and of what is left out
 * no other. */
static inline int32_t prem_needed_jobs(const prem_program *program, int32_t task, int32_t needed) {
  if (!program->switches)
    return needed;
  return needed < 0 || prem_task_is_off(program, task) ? 0 : needed;
}

/** The tables of all blocks. */
prem_status prem_tables_make(prem_program *program, const prem_slot *slots, int64_t slot_count,
                             prem_diag *diag);

/** Give every tile of the block in hand its buffers, and their users their waits. */
prem_status prem_buffers_hold(const prem_compilation *c);
