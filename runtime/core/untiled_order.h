/* SPDX-License-Identifier: Apache-2.0 */
/** The jobs of one hyperperiod as a single host thread launches them, whole and untiled: in an
 *  order in which every job stands behind all that it waits for. */
#pragma once

#include "runtime/core/program.h"

/** An earlier job that a job waits for. */
typedef struct prem_untiled_pred {
  int64_t number; /* in the order */
  int64_t lag_ns; /* from its end */
} prem_untiled_pred;

typedef struct prem_untiled_job {
  int32_t task, job;
  int64_t release_ns; /* from the hyperperiod's start */
  int64_t first_pred; /* into preds */
  int32_t pred_count;
  bool awaited; /* by a job of another task */
} prem_untiled_job;

typedef struct prem_untiled_order {
  prem_untiled_job *jobs;
  prem_untiled_pred *preds;
  int64_t job_count;
} prem_untiled_order;

/**
 * Order the jobs by the instant at which they can begin at the earliest: their own release and
 * those of all that they follow. A task's jobs keep their order. What a job awaits of an earlier
 * hyperperiod is left out: hyperperiods run one after the other.
 */
prem_status prem_untiled_order_new(const prem_program *program, prem_untiled_order *out);
/** Of another order the first job of each task, without releases and lags: all that can be begins
 * at once. */
prem_status prem_untiled_order_first(const prem_untiled_order *from, prem_untiled_order *out);
void prem_untiled_order_free(prem_untiled_order *order);
