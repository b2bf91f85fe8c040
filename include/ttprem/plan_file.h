/* SPDX-License-Identifier: Apache-2.0 */
/** Plans as CSV, for planners of other people: a row for each phase and when it begins. */
#ifndef TTPREM_PLAN_FILE_H
#define TTPREM_PLAN_FILE_H

#include <stdio.h>

#include "ttprem/schedule.h"

PREM_EXTERN_C_BEGIN

/**
 * Write the plan of a schedule, those of its operating modes included, in order of their starts.
 * docs/data-formats.md says what the columns are.
 *
 * @retval PREM_ERR_ARGUMENT  there is no plan
 * @retval PREM_ERR_IO        it could not be written; those of prem_plan_expand()
 */
PREM_API prem_status prem_plan_write_csv(const prem_schedule *schedule, FILE *file,
                                         prem_diag *diag);

/**
 * Read a plan for a bound schedule. Whether it keeps the rules is for prem_adopt_plan() to judge,
 * which closes the windows of best-effort tasks as well.
 *
 * @param      name  of the file, for messages.
 * @param[out] out   free with prem_plan_free(); NULL on error.
 * @retval PREM_ERR_PARSE  no such file; diag has line, column and what is wanted there
 */
PREM_API prem_status prem_plan_read_csv(const prem_schedule *schedule, FILE *file, const char *name,
                                        prem_plan **out, prem_diag *diag);

PREM_EXTERN_C_END
#endif
