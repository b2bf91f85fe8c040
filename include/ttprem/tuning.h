/* SPDX-License-Identifier: Apache-2.0 */
/** Tuning: the smallest offset between starts at which a schedule still keeps what is asked of it.
 */
#ifndef TTPREM_TUNING_H
#define TTPREM_TUNING_H

#include "ttprem/findings.h"
#include "ttprem/measure.h"

/** What was measured at an offset. */
typedef struct prem_tune_point {
  int64_t offset_ns;
  bool planned; /* false: the planner or the checker refuses it */
  bool kept;    /* every try kept the limits */
  int32_t tries;
  int64_t samples;
  double makespan_ns; /* mean */
  int64_t makespan_max_ns;
  int64_t phases, releases, late, overruns;
  int64_t lateness_max_ns;                             /* INT64_MIN without a release */
  double isolation_p50, isolation_p999, isolation_max; /* of memory phases, with co-runners / alone;
                                                          NAN: not measured */
  bool swept;                                          /* a point of the full sweep */
} prem_tune_point;

/**
 * Measure once at an offset: fill `planned`, `kept` and what was seen.
 *
 * @return any error ends the search; PREM_ERR_INTERRUPTED keeps what was found.
 */
typedef prem_status prem_tune_measure(void *context, int64_t offset_ns, prem_tune_point *out);

typedef struct prem_tune_options {
  int64_t start_ns;       /* where to begin */
  int64_t min_ns, max_ns; /* no offset outside */
  int64_t grid_ns;        /* offsets are multiples of it */
  int32_t tries;          /* so many measurements must keep the limits, one after the other */
  double precision_pct;   /* the search ends when it knows the offset so well; 0: to the grid */
  int64_t sweep_step_ns;  /* above 0: measure min_ns, min_ns + step, ... as well */
} prem_tune_options;

typedef struct prem_tune_result {
  prem_tune_point *points; /* [count], in the order in which they were first measured */
  int32_t count;
  int32_t best;       /* the smallest offset found by the search that keeps the limits; -1: none */
  int32_t best_swept; /* the same of the sweep; -1: none, or no sweep */
} prem_tune_result;

PREM_EXTERN_C_BEGIN

/**
 * Search by bisection between an offset that fails and one that keeps the limits. Noise can make a
 * good offset fail once, or a bad one pass once: an offset is accepted only after `tries`
 * measurements in a row, and the one found at the end is measured as often again; if it fails then,
 * the search goes on above it.
 *
 * @param[out] out  free with prem_tune_free(); filled as far as it got on any status.
 * @retval PREM_ERR_ARGUMENT    no offset of the grid lies in the range
 * @retval PREM_ERR_INFEASIBLE  no offset up to max_ns keeps the limits
 */
PREM_API prem_status prem_tune(const prem_tune_options *options, prem_tune_measure *measure,
                               void *context, prem_tune_result *out);
PREM_API void prem_tune_free(prem_tune_result *result);

/** How one try is measured. */
typedef struct prem_tune_try_options {
  prem_sampling sampling; /* of each schedule */
  prem_engine engine;
  const volatile sig_atomic_t *stop; /* not 0 ends it; may be NULL */
} prem_tune_try_options;

/** A schedule made ready for tries: its arrays are filled and its references computed once. */
typedef struct prem_tune_trial prem_tune_trial;

/**
 * Get ready to run the schedule's plan in tt and, by turns with it, the first task of each kernel
 * alone. What is alike everywhere is not compared: with one task there is no isolation to measure.
 *
 * @param      schedule  bound, with a plan; schedule, plan and options outlive the trial.
 * @param[out] out       close with prem_tune_trial_close(); NULL on error.
 * @return as prem_session_open()
 */
PREM_API prem_status prem_tune_trial_open(const prem_schedule *schedule,
                                          const prem_backend *backend,
                                          const prem_tune_try_options *options,
                                          prem_tune_trial **out, prem_diag *diag);
/**
 * One try, its random order another one each time: fill all of a point but `planned` and `kept`.
 *
 * @retval PREM_ERR_WRONG        an output differs from its reference
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen; those of prem_session_run()
 */
PREM_API prem_status prem_tune_trial_run(prem_tune_trial *trial, prem_tune_point *out,
                                         prem_diag *diag);
PREM_API void prem_tune_trial_close(prem_tune_trial *trial);

/** The search for one setting. */
typedef struct prem_tune_search {
  const char *key; /* such as "prefetch_offset_ns" */
  int64_t start_ns;
  prem_tune_result result;
} prem_tune_search;

/** Curves of mean, lateness and isolation over the offset, and the sentence; NULL when out of
 *  memory. Free with prem_findings_free(). @param limits  what had to be kept, in words */
PREM_API prem_findings *prem_tune_findings(const prem_schedule *schedule,
                                           const prem_tune_search *searches, int32_t count,
                                           const char *limits);

PREM_EXTERN_C_END
#endif
