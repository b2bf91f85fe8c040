/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An experiment as a file: schedules with values in their text, what to run and how often, and the
 * tables, charts and sentences that come of it. README.md has the format.
 */
#pragma once

#include "experiments/common/experiment.h"

typedef struct prem_sweep prem_sweep;

PREM_EXTERN_C_BEGIN

/** Is it a path of such a file, by its extension? */
bool prem_sweep_is_path(const char *name);
/**
 * Read a sweep and what it includes: syntax, keys and kinds of values. Its expressions are judged
 * when it runs, before anything is measured.
 *
 * @param[out] out  NULL on error; free with prem_sweep_free().
 * @retval PREM_ERR_IO     unreadable
 * @retval PREM_ERR_PARSE  `diag` says where and why
 */
prem_status prem_sweep_read(const char *path, prem_sweep **out, prem_diag *diag);
/** One that the build has taken in, "token_cost.exp". @retval PREM_ERR_IO  there is none */
prem_status prem_sweep_shipped(const char *name, prem_sweep **out, prem_diag *diag);
void prem_sweep_free(prem_sweep *sweep);
/** Its head: name, title, question, backends; owned by the sweep, which it runs. */
const prem_experiment *prem_sweep_experiment(const prem_sweep *sweep);
/** As prem_experiment_start(). @retval PREM_ERR_PARSE  an expression, a name or a table is wrong */
prem_status prem_sweep_run(const prem_sweep *sweep, const prem_experiment_context *context,
                           prem_findings *findings, prem_diag *diag);

PREM_EXTERN_C_END
