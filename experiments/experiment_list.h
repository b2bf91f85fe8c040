/* SPDX-License-Identifier: Apache-2.0 */
/** The experiments there are: those of experiments.def. */
#pragma once

#include "experiments/common/experiment.h"

PREM_EXTERN_C_BEGIN

/** Number `index` of experiments.def; NULL behind the last. */
const prem_experiment *prem_experiment_at(int32_t index);
/** The experiment of a name, or NULL. */
const prem_experiment *prem_experiment_find(const char *name);
/**
 * Measure, and fill `findings`: tables, charts, verdict, notes.
 *
 * Device code ends by itself: every wait has a deadline on the clock. The host looks at `stop`
 * between pieces of work that take well below a second.
 *
 * @retval PREM_OK
 * @retval PREM_ERR_INTERRUPTED  `stop` was seen; what is in `findings` is right as far as it goes
 * @retval PREM_ERR_UNAVAILABLE  the machine cannot do it; `diag` says why: no failure
 * @return any other status: the experiment failed, `diag` says why, and the findings are not
 * written
 */
prem_status prem_experiment_start(const prem_experiment *experiment,
                                  const prem_experiment_context *context, prem_findings *findings,
                                  prem_diag *diag);
/** Does it make sense on a backend of this name? */
bool prem_experiment_serves(const prem_experiment *experiment, const char *backend);

/** A part of the group `thesis`. */
typedef struct prem_chapter {
  const char *title;    /* section and figure of the thesis */
  const char *name;     /* of the experiment */
  int32_t gpu_s, cpu_s; /* that it may take on a GPU; elsewhere */
  const prem_experiment *experiment;
} prem_chapter;

/** Number `index` of chapters.def; NULL behind the last. */
const prem_chapter *prem_chapter_at(int32_t index);

PREM_EXTERN_C_END
