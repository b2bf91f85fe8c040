/* SPDX-License-Identifier: Apache-2.0 */
/** Which jobs are left out, for an overrun or an operating mode: those that are made of others that
 *  are left out as well. */
#pragma once

#include "ttprem/schedule.h"

/** Tasks whose same job another one is made of: it comes after theirs, directly or over others, job
 *  by job, and reads what they write. */
typedef struct prem_makers {
  int32_t *tasks;
  int32_t count;
} prem_makers;

typedef struct prem_overruns {
  int32_t task_count;
  bool *concerns;      /* [task]: its jobs can be left out: for an overrun or an operating mode, its
                        own or that of one that they are made of */
  prem_makers *makers; /* [task]: those that it concerns as well */
  int32_t *order;      /* [task_count]: tasks, each behind those that it comes after job by job */
} prem_overruns;

/** Does an overrun of a task lead to jobs that are left out? Then its deadlines are looked at. */
static inline bool prem_leaves_out_jobs(const prem_task *task) {
  return task->deadline_ns > 0 &&
         (task->overrun == PREM_OVERRUN_SKIP || task->overrun == PREM_OVERRUN_ABORT ||
          task->overrun == PREM_OVERRUN_DEGRADE);
}

/** Does it leave jobs half done? */
static inline bool prem_gives_up_jobs(const prem_task *task) {
  return prem_leaves_out_jobs(task) && task->overrun == PREM_OVERRUN_ABORT;
}

/** Of a bound schedule. Where no job can be left out nothing is made: `order` is NULL. Free it
 *  also after an error. */
prem_status prem_overruns_new(const prem_schedule *schedule, prem_overruns *out);
void prem_overruns_free(prem_overruns *overruns);

/** Mark a task, and all whose jobs are made of its, directly or over others. */
void prem_overruns_mark(const prem_overruns *overruns, int32_t task, bool *is_marked);
