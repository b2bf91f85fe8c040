/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside the generator: tasks that share an array which one of them writes.
 *
 * A run keeps the order in which the plan has them at the array (docs/architecture.md): a job of
 * one that the plan ends before a job of the other first touches the array is waited for. Being
 * told of that end takes time, so the plan has to leave as much between the two, from one
 * hyperperiod to the next as well. Where they are at work at the same time nothing is asked for, so
 * which of the two it is belongs to the plan, and no planner can know it before.
 */
#pragma once

#include "prem/model/versions.h"
#include "schedules/planner/common/planning.h"

/** Phases of `task` from `phase` on touch an array that `before` uses as well. */
typedef struct prem_data_pair {
  int32_t task, before;
  prem_phase phase;
  const int32_t *needed_jobs; /* of an array that is kept by versions: the jobs that have to end
                                 before, as prem_version_edge has them, whatever the plan; NULL:
                                 those that the plan ends before */
} prem_data_pair;

/** When a job is at work, in a plan. */
typedef struct prem_data_span {
  int64_t first_ns[PREM_PHASE_COUNT]; /* of its phases of each kind; PREM_MAX_NS: none */
  int64_t end_ns;                     /* -1: nothing of it is planned */
} prem_data_span;

typedef struct prem_data_gaps {
  const prem_schedule *schedule;
  int64_t gap_ns;
  prem_data_pair *pairs;
  int64_t pair_count;
  int64_t *first_job;       /* [task_count + 1] */
  prem_data_span *spans;    /* [job] */
  int64_t *ends_ns;         /* of one task: all its jobs so far have ended */
  prem_version_edge *edges; /* that pairs have their needed jobs of */
  int32_t edge_count;
} prem_data_gaps;

/** @param[out] out  NULL: nothing is asked for. Free with prem_data_gaps_free(). */
prem_status prem_data_gaps_new(const prem_planning *planning, prem_data_gaps **out);
void prem_data_gaps_free(prem_data_gaps *gaps);

/** Forget the plan. */
void prem_data_gaps_clear(prem_data_gaps *gaps);
/** A phase of the plan. */
void prem_data_gaps_note(prem_data_gaps *gaps, int32_t task, int32_t job, prem_phase phase,
                         int64_t start_ns, int64_t end_ns);
/** All of a draft. */
void prem_data_gaps_note_draft(prem_data_gaps *gaps, const prem_draft *draft);

/** One-shot sets: how long the hyperperiod must be, so that the next one does not begin too early.
 */
prem_wide prem_data_gaps_length_ns(const prem_data_gaps *gaps);
/**
 * How many gaps are too short in a hyperperiod of this length.
 *
 * @param later_ns  [job], task by task: where a job would have to begin for such a gap to be long
 *                  enough, if that is later than what stands there. NULL: nobody wants to know.
 */
int64_t prem_data_gaps_short(const prem_data_gaps *gaps, int64_t hyperperiod_ns, int64_t *later_ns);
