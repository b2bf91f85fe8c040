/* SPDX-License-Identifier: Apache-2.0 */
/** What a run of a schedule measured, by name: "makespan.p50", "prefetch.mean", "late". */
#pragma once

#include "experiments/common/elements.h"
#include "experiments/common/scenario.h"
#include "experiments/thesis/ordinary/ordinary.h"

/** What one mode measured, or ordinary kernels, a walk, or numbers that were put together; none of
 * these: not yet, or it could not be had. */
typedef struct prem_sweep_measured {
  const prem_result *result;
  const prem_outcome *outcome;
  bool is_ordinary, is_walk, is_tally;
  prem_ordinary_found ordinary;
  prem_walk_time walk; /* repeats 0: not yet */
  double *numbers;     /* of a tally, ascending */
  int64_t number_count;
  prem_findings *found; /* of a probe: a table; NULL: it is none */
} prem_sweep_measured;

/** Times are in ns; a number that is not there is NAN. False: there is no such quantity. */
bool prem_sweep_quantity(const prem_sweep_measured *measured, const char *name, double *out);
