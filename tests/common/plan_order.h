/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: does a run keep the order in which its plan lets tasks use arrays? What the plan ends
 * before another job touches the array, one of the two writing it, has ended in the trace as well.
 *
 * No test framework: the GPU's suites run where there is none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/owned.h"
#include "ttprem/ttprem.h"

/** One job of a run: when the plan has it touch arrays and end, and when it did. */
typedef struct order_job {
  int64_t planned_touch_ns[PREM_PHASE_COUNT], touch_ns[PREM_PHASE_COUNT]; /* by kind of phase */
  int64_t planned_end_ns, end_ns;
} order_job;

typedef struct order_counts {
  int64_t pairs;  /* of jobs that had to keep their order */
  int64_t broken; /* that did not */
} order_counts;

static inline int64_t order_earlier(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/** Does phase `p` of task `a` touch an array that it shares with `u`, one of the two writing it? */
static inline bool order_matters(const prem_task *a, const prem_task *u, int p) {
  for (int32_t i = 0; a->definition && i < a->definition->port_count; ++i) {
    const bool writes = a->definition->ports[i].access == PREM_OUT;
    const int touches = a->definition->compatible ? PREM_COMPUTE
                        : writes                  ? PREM_WRITEBACK
                                                  : PREM_PREFETCH;
    for (int32_t k = 0; touches == p && u->definition && k < u->definition->port_count; ++k)
      if (a->arrays[i] == u->arrays[k] && (writes || u->definition->ports[k].access == PREM_OUT))
        return true;
  }
  return false;
}

static inline void order_plan_job(order_job *job, const prem_slot *slot, int64_t begin_ns) {
  const int64_t start_ns = begin_ns + (slot->flags & PREM_SLOT_WARMUP ? 0 : slot->planned_ns);
  const int64_t end_ns = begin_ns + slot->planned_ns + slot->length_ns;
  int64_t *touch_ns = &job->planned_touch_ns[slot->phase];
  *touch_ns = order_earlier(*touch_ns, start_ns);
  job->planned_end_ns = end_ns > job->planned_end_ns ? end_ns : job->planned_end_ns;
}

/** Jobs of the whole run: [hyperperiod][job of the hyperperiod, as in the trace]. */
static inline order_job *order_jobs(const prem_schedule *schedule, const prem_trace *trace) {
  const int64_t count = trace->hyperperiods * trace->job_count;
  order_job *jobs = (order_job *)calloc((size_t)count + 1, sizeof *jobs);
  FREED prem_slot *slots = NULL;
  int64_t slot_count = 0;
  if (!jobs || prem_plan_expand(schedule, schedule->plan, &slots, &slot_count, NULL) != PREM_OK)
    abort();
  for (int64_t i = 0; i < count; ++i) {
    jobs[i] = (order_job){.end_ns = trace->job_end_ns[i]};
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      jobs[i].planned_touch_ns[p] = jobs[i].touch_ns[p] = INT64_MAX;
  }
  for (int64_t i = 0; i < trace->hyperperiods * slot_count; ++i) {
    const prem_slot *slot = &slots[i % slot_count];
    const int64_t h = i / slot_count;
    order_plan_job(&jobs[h * trace->job_count + trace->first_job[slot->task] + slot->job], slot,
                   h * schedule->plan->hyperperiod_ns);
  }
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    order_job *job = &jobs[r->hyperperiod * trace->job_count + trace->first_job[r->task] + r->job];
    job->touch_ns[r->phase] = order_earlier(job->touch_ns[r->phase], r->start_ns);
  }
  return jobs;
}

/** A job of task `a` against those of `u` that are no later than its hyperperiod. */
static inline void order_judge_job(const prem_trace *trace, const order_job *jobs,
                                   const order_job *job, int64_t hyperperiod, int32_t u, int p,
                                   int64_t tolerance_ns, order_counts *counts) {
  for (int64_t h = 0; h <= hyperperiod; ++h)
    for (int64_t j = trace->first_job[u]; j < trace->first_job[u + 1]; ++j) {
      const order_job *before = &jobs[h * trace->job_count + j];
      if (before->planned_end_ns > job->planned_touch_ns[p])
        return; /* jobs are done one after the other */
      ++counts->pairs;
      counts->broken += before->end_ns > job->touch_ns[p] + tolerance_ns;
    }
}

/** All jobs of a run of which no raw record was lost; `tolerance_ns`: of clocks that differ. */
static inline order_counts order_judge(const prem_schedule *schedule, const prem_trace *trace,
                                       int64_t tolerance_ns) {
  order_counts counts = {0, 0};
  FREED order_job *jobs = order_jobs(schedule, trace);
  for (int32_t a = 0; a < schedule->task_count; ++a)
    for (int32_t u = 0; u < schedule->task_count; ++u)
      for (int p = 0; a != u && p < PREM_PHASE_COUNT; ++p) {
        if (!order_matters(&schedule->tasks[a], &schedule->tasks[u], p))
          continue;
        for (int64_t h = 0; h < trace->hyperperiods; ++h)
          for (int64_t j = trace->first_job[a]; j < trace->first_job[a + 1]; ++j)
            order_judge_job(trace, jobs, &jobs[h * trace->job_count + j], h, u, p, tolerance_ns,
                            &counts);
      }
  return counts;
}
