/* SPDX-License-Identifier: Apache-2.0 */
/** The checker: the second opinion on a plan. */
#ifndef TTPREM_CHECK_H
#define TTPREM_CHECK_H

#include "ttprem/diag.h"
#include "ttprem/machine.h"
#include "ttprem/schedule.h"

PREM_EXTERN_C_BEGIN

/**
 * Judge the schedule's plan: the second opinion. Shares no code with the planners. Reports every
 * problem (E016, E018, E021..E023, E026, E028..E030, E032..E045, E049..E055), errors only; broken
 * tasks are skipped.
 *
 * @param schedule  bound, with a plan. Without a plan only what needs none is judged.
 * @param machine   NULL: the platform.
 * @retval PREM_OK           no error was added
 * @retval PREM_ERR_INVALID  see diag
 */
PREM_API prem_status prem_check(const prem_schedule *schedule, const prem_machine *machine,
                                prem_diag *diag);

PREM_EXTERN_C_END
#endif
