/* SPDX-License-Identifier: Apache-2.0 */
/** From a loaded schedule to one that may run, in one call. */
#ifndef TTPREM_PREPARE_H
#define TTPREM_PREPARE_H

#include "ttprem/kernel.h"
#include "ttprem/planner.h"

PREM_EXTERN_C_BEGIN

/**
 * Bind the schedule, plan it where it has no plan, sign that plan, and have the checker judge it:
 * what prem_session_open() asks for. A schedule that is bound or has a plan keeps it.
 *
 * @param registry  prem_registry_builtin(), or kernels of your own.
 * @param machine   that it shall run on, as probed; NULL: the platform.
 * @param options   of the planner; NULL: defaults.
 * @return the status of the first step that failed, as prem_schedule_bind(), prem_plan_make() and
 *         prem_check() give it; `diag` says why, and the schedule is good for prem_schedule_free()
 *         only.
 */
PREM_API prem_status prem_prepare(prem_schedule *schedule, const prem_registry *registry,
                                  const prem_machine *machine, const prem_plan_options *options,
                                  prem_diag *diag);

/**
 * Sign a plan that was made for a bound schedule, give it to the schedule, close its windows where
 * there are best-effort tasks and it has none, and have the checker judge it: the second half of
 * prem_prepare(), for who makes plans himself.
 *
 * @param plan  the schedule's from here on, whatever comes of it.
 * @return as prem_check().
 */
PREM_API prem_status prem_adopt_plan(prem_schedule *schedule, const prem_machine *machine,
                                     prem_plan *plan, prem_diag *diag);

PREM_EXTERN_C_END
#endif
