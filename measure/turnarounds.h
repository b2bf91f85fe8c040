/* SPDX-License-Identifier: Apache-2.0 */
/** How long after the end of a phase its block was ready for what came next. */
#pragma once

#include "measure/times.h"
#include "ttprem/runtime.h"

/** What the stamps of a run are judged by. */
typedef struct prem_turnarounds_of {
  const prem_schedule *schedule;
  const prem_trace *trace; /* its records may stand in any order */
  prem_mode mode;          /* tt or free */
  int64_t from;            /* the first hyperperiod that counts */
  int64_t clock_step_ns;
  int64_t told_ns; /* so long after a job's end those that follow it know for sure */
} prem_turnarounds_of;

/** What a run's turnarounds are added to. */
typedef struct prem_turnaround_times {
  prem_times *of;         /* [task * PREM_PHASE_COUNT + phase] of the phase that ended */
  prem_times *jobs;       /* [task] of its writebacks with several buffers, until the first one of
                             another job on the block: they are left out of the others */
  prem_times *computes;   /* one: from a compute to the next one on the block that has a prefetch:
                             they are left out of the others as well */
  prem_times *prefetches; /* one: with several buffers, by the plan: from the start of a prefetch
                             until the next one on the block was ready, where that was the first
                             one of a job whose predecessors had ended. Those between whose instants
                             a message would have time are left out */
} prem_turnaround_times;

/**
 * Add the turnarounds of a run: from the end of a compute or a writeback to the start of the phase
 * that waited for nothing else on its block: the next one of its unit, its tile or its buffer.
 * Left out are phases that began at their release, and a job's first phases where another job may
 * have been what they waited for. A compute tells when it was ready: from one to the next those
 * count that began at their release as well. O(records * log records).
 */
prem_status prem_turnarounds_add(const prem_turnarounds_of *run, const prem_turnaround_times *out);
