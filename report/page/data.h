/* SPDX-License-Identifier: Apache-2.0 */
/** The CSV files beside a result as JSON small enough for a page. */
#pragma once

#include <jansson.h>

#include "ttprem/diag.h"

/**
 * Distributions of the samples of `path` (prem_result_write()): by row label {"makespan": D,
 * "tasks": {name: D}}, D = {"ns": [values], "upto": [how many are not longer]}. Long ones are
 * thinned; the smallest values and the largest are kept.
 *
 * @return NULL when it is unreadable or broken: a warning in `diag`
 */
json_t *prem_report_samples(const json_t *result, const char *path, prem_diag *diag);

/**
 * Phases of `path` (prem_phases_write()): by row label an object of equally long lists.
 *
 * @return as above
 */
json_t *prem_report_phases(const json_t *result, const char *path, prem_diag *diag);
