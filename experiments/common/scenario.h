/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For the experiments that run schedules: from the text of a schedule to the durations of its
 * phases.
 */
#pragma once

#include "experiments/common/experiment.h"
#include "measure/times.h"

/** What to run and how often. */
typedef struct prem_scenario_request {
  const prem_experiment_context *context;
  prem_findings *findings; /* learn of every verified output */
  const char *text;        /* a schedule file; without a plan it is planned for the machine */
  const char *path;        /* or where it is, if `text` is NULL */
  prem_mode modes[PREM_MODE_COUNT];
  int32_t mode_count;
  int64_t repeat, discard;
  int32_t task; /* whose phases are collected; -1: all tasks' */
  /** Phases to be kept apart from the other collected ones; NULL: there are none. */
  bool (*is_reference)(const prem_trace_record *record);
  int64_t *done, all; /* scenarios run so far, counted here, of all: for the progress */
} prem_scenario_request;

/** What one mode of a scenario did. Warm-up tiles are left out of everything but the row. */
typedef struct prem_outcome {
  const prem_row *row;
  int64_t *makespan_ns;                   /* of the row's repeats, ascending */
  prem_times phase[PREM_PHASE_COUNT];     /* end - start of the collected phases */
  prem_times beside[PREM_PHASE_COUNT];    /* of each collected phase, the per mille of its time in
                                             which a phase of another task ran */
  prem_times reference[PREM_PHASE_COUNT]; /* as `phase`, of those that `is_reference` names */
  prem_times span; /* of each run: from the earliest start of a phase to the latest end of one */
  prem_times handover; /* from the end of a memory phase to the start of the next one, where that
                          was ready before */
  double waiting_pct;  /* of the blocks' time: memory phases that were ready and not yet started */
  double at_once; /* blocks at the memory while any is, on average: 1 is exclusive; 0: none was */
} prem_outcome;

typedef struct prem_measured {
  prem_result *result;
  prem_outcome outcomes[PREM_MODE_COUNT]; /* in the order of the request's modes */
} prem_measured;

/** How long phases take: percentiles in ns. */
typedef struct prem_lengths {
  int64_t typical[PREM_PHASE_COUNT]; /* p50 */
  int64_t max[PREM_PHASE_COUNT];     /* p99 */
  int64_t worst[PREM_PHASE_COUNT];
  /* To plan with: p99, but at most four times the median: longer ones were interrupted, and a plan
   * made of them would take for ever. */
  int64_t planned[PREM_PHASE_COUNT];
} prem_lengths;

/**
 * Load, bind, plan and check a scenario.
 *
 * @param[out] out  free with prem_schedule_free() on every status.
 */
prem_status prem_scenario_prepare(const prem_scenario_request *request, prem_schedule **out,
                                  prem_diag *diag);
/**
 * Load, bind, plan, check and run a scenario; outputs are verified after every run.
 *
 * @param[out] out   what was measured, also when the run was interrupted, as far as it got; free
 *                   with prem_measured_free() on every status.
 * @param      diag  errors only.
 * @return the statuses of the calls that it makes; PREM_ERR_INTERRUPTED when the stop flag was seen
 */
prem_status prem_scenario_run(const prem_scenario_request *request, prem_measured *out,
                              prem_diag *diag);
void prem_measured_free(prem_measured *measured);

/** The nearest-rank percentile, `share` in [0, 1]; 0 when there are no times. */
int64_t prem_times_at(const prem_times *times, double share);
/** The same of the runs' makespans; NAN: no run counted. */
double prem_makespan_at(const prem_outcome *outcome, double share);
/** A number of a row's makespans, for a table; NAN: no run counted. */
double prem_of_runs(const prem_row *row, double number);
prem_lengths prem_lengths_of(const prem_outcome *outcome);
