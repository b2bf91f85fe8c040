/* SPDX-License-Identifier: Apache-2.0 */
/** The phases of a run as they were planned and as they were: what the report's timeline shows. */
#pragma once

#include <stdio.h>

#include "ttprem/measure.h"

/** Which phases are written: of every row the same blocks of the runs that are
 *  kept of it. */
typedef struct prem_phases {
  const prem_result *result;
  const prem_schedule *schedule;
  bool *chosen;        /* [platform.blocks] */
  int32_t block_count; /* chosen */
  int64_t max;         /* phases of a run, at most; later ones are left out */
  bool has_runs;       /* a row has more runs than its first */
  prem_slot *slots;    /* planned, of these blocks, in order of their tiles */
  int64_t slot_count;
} prem_phases;

/** Choose 20 000 phases at most, of the blocks with the worst lateness and of every task's first
 *  blocks. block_count 0: no row has records. Free with prem_phases_free(). */
prem_status prem_phases_choose(const prem_result *result, const prem_schedule *schedule,
                               prem_phases *out, prem_diag *diag);
void prem_phases_free(prem_phases *phases);
/** Write them as CSV, header `label,task,job,block,tile,phase,planned_ns,planned_end_ns,release_ns,
 *  ready_ns,start_ns,end_ns`, and `,run` where a row has several, the worst first; times from the
 *  hyperperiod's start, what a phase has not is empty. */
void prem_phases_write(const prem_phases *phases, FILE *file);
