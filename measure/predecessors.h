/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Whose ends the first phases of a job wait for: jobs of the tasks that its own task follows, and
 * of those that use the same array where one of the two writes it.
 */
#pragma once

#include "ttprem/runtime.h"

typedef struct prem_predecessors prem_predecessors;

/** Of all jobs that a phase waits for, the one that let it go last. */
typedef struct prem_predecessor {
  bool exists; /* there is one */
  bool known;  /* the trace tells when it ended */
  int32_t task;
  int64_t free_ns;  /* its last end on any block, and the lag */
  int64_t tardy_ns; /* that end after the planned one; below 0: before it */
  int64_t record;   /* the phase that ended last; -1: lost */
} prem_predecessor;

/**
 * O(records + slots of the plan); nothing is looked at where no task waits for another.
 *
 * @param schedule,trace  both outlive it.
 * @param[out] out        free with prem_predecessors_free(); NULL on error.
 */
prem_status prem_predecessors_new(const prem_schedule *schedule, const prem_trace *trace,
                                  prem_predecessors **out);
void prem_predecessors_free(prem_predecessors *of);

/** Of a phase that is its job's first of its kind on its block. */
prem_predecessor prem_predecessor_of(const prem_predecessors *of, const prem_trace_record *record);
