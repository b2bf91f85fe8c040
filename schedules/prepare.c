/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that sees both planners and checker: plans are made, signed and judged here. */
#include "ttprem/prepare.h"

#include <string.h>

#include "schedules/planner/planner.h"
#include "ttprem/check.h"

prem_status prem_plan_make_reported(const prem_schedule *schedule, const prem_machine *machine,
                                    const prem_plan_options *options, prem_plan **out,
                                    prem_plan_report *report, prem_diag *diag) {
  return prem_planner_make(schedule, machine, options, prem_check, true, out, report, diag);
}

prem_status prem_plan_make(const prem_schedule *schedule, const prem_machine *machine,
                           const prem_plan_options *options, prem_plan **out, prem_diag *diag) {
  prem_plan_report report;
  return prem_planner_make(schedule, machine, options, prem_check, false, out, &report, diag);
}

prem_status prem_adopt_plan(prem_schedule *schedule, const prem_machine *machine, prem_plan *plan,
                            prem_diag *diag) {
  prem_plan_sign(schedule, plan);
  prem_schedule_set_plan(schedule, plan);
  const bool is_open = prem_schedule_has_best_effort(schedule) && !plan->gates;
  prem_status status = is_open ? prem_planner_close(schedule, plan, diag) : PREM_OK;
  char kernels[PREM_KERNELS_BYTES]; /* these ones: to hash all tasks again says nothing */
  memcpy(kernels, plan->kernels, sizeof kernels);
  plan->kernels[0] = '\0';
  if (status == PREM_OK)
    status = prem_check(schedule, machine, diag);
  memcpy(plan->kernels, kernels, sizeof kernels);
  return status;
}

prem_status prem_prepare(prem_schedule *schedule, const prem_registry *registry,
                         const prem_machine *machine, const prem_plan_options *options,
                         prem_diag *diag) {
  prem_plan *plan = NULL;
  prem_status status = schedule->bound ? PREM_OK : prem_schedule_bind(schedule, registry, diag);
  if (status != PREM_OK)
    return status;
  if (schedule->plan)
    return prem_check(schedule, machine, diag);
  status = prem_plan_make(schedule, machine, options, &plan, diag);
  return status == PREM_OK ? prem_adopt_plan(schedule, machine, plan, diag) : status;
}
