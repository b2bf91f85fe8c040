/* SPDX-License-Identifier: Apache-2.0 */
/** The experiments there are: those of experiments.def. */
#pragma once

#include "experiments/common/experiment.h"

PREM_EXTERN_C_BEGIN

/** Number `index` of experiments.def; NULL behind the last. */
const prem_experiment *prem_experiment_at(int32_t index);
/** The experiment of a name, or NULL. */
const prem_experiment *prem_experiment_find(const char *name);
/** Run it, be it a program or a file; as prem_experiment_run. */
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
