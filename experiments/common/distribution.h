/* SPDX-License-Identifier: Apache-2.0 */
/** Distributions in findings: a table and its chart of steps, and many values in a few rows. */
#pragma once

#include "ttprem/findings.h"
#include "ttprem/measure.h"

/**
 * A table of the columns `series`, `quantity` and "share": so many percent are no larger.
 *
 * @param series    column that tells the distributions apart
 * @param quantity  what is distributed, in ns
 */
prem_table *prem_distribution_begin(prem_findings *findings, const char *name, const char *title,
                                    const char *series, const char *quantity);
/** Sorts `values_ns` in place; adds some 100 rows, those of the tail among them. */
void prem_distribution_add(prem_table *table, const char *series, int64_t *values_ns,
                           int64_t count);

/** A table with a row for each of several sets of times: count, least, median, mean, p99, largest.
 */
prem_table *prem_summaries_begin(prem_findings *findings, const char *name, const char *title,
                                 const char *series);
void prem_summaries_add(prem_table *table, const char *series, const prem_summary *summary);
