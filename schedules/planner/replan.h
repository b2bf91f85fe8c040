/* SPDX-License-Identifier: Apache-2.0 */
/** Planning anew with an older plan at hand: what of it there is to keep, and how much was kept. */
#pragma once

#include "schedules/planner/common/planning.h"

/** An older plan in terms of the new set. */
typedef struct prem_old_plan {
  const prem_schedule *from;
  int32_t *task_of; /* [task of the older set]: of the new one, or -1 */
  bool *changed;    /* [task]: it is another one than before, or new */
  prem_slot *slots; /* those that the new set has as well; over a longer hyperperiod repeated */
  int64_t slot_count;
  int64_t phases, removed; /* that were planned; those of them that the new set does not have */
} prem_old_plan;

/** @retval PREM_ERR_INVALID  the older plan cannot be expanded (see diag) */
prem_status prem_old_plan_read(const prem_planning *planning, const prem_schedule *from,
                               prem_old_plan *out);
void prem_old_plan_free(prem_old_plan *old);

/** The older plan as it is, if it holds for the new set; PREM_ERR_INFEASIBLE: it does not. */
prem_status prem_replan_unchanged(const prem_planning *planning, const prem_old_plan *old,
                                  prem_plan *plan);
/**
 * A plan that keeps as many places as possible.
 *
 * @param[out] steps  plans that were made
 * @retval PREM_ERR_INFEASIBLE  none was found
 */
prem_status prem_replan(const prem_planning *planning, const prem_search_limits *limits,
                        const prem_old_plan *old, prem_draft *draft, int64_t *steps);
/** How many phases of a plan are where they were. */
prem_status prem_replan_count(const prem_planning *planning, const prem_old_plan *old,
                              const prem_plan *plan, prem_plan_report *report);
