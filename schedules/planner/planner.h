/* SPDX-License-Identifier: Apache-2.0 */
/** The way into the planners. It does not call the checker: whoever calls it may hand one in. */
#pragma once

#include "schedules/planner/common/planning.h"

typedef struct prem_planner_wish {
  bool tells;       /* a report is wanted: bounds as well where nothing is searched */
  bool ends_within; /* the hyperperiod that follows may have another plan */
} prem_planner_wish;

/**
 * As prem_plan_make_reported(): a plan of the schedule, and of each operating mode that has one of
 * its own.
 *
 * @param judge  asked whether an older plan still holds as it is: what that is made of the planners
 *               may not be able to say, such as any plan that was written by hand.
 * @param tells  a report is wanted: bounds as well where nothing is searched.
 */
prem_status prem_planner_make(const prem_schedule *schedule, const prem_machine *machine,
                              const prem_plan_options *options, prem_judge *judge, bool tells,
                              prem_plan **out, prem_plan_report *report, prem_diag *diag);

/** The plan of a schedule alone, whatever its operating modes have. */
prem_status prem_planner_make_one(const prem_schedule *schedule, const prem_machine *machine,
                                  const prem_plan_options *options, prem_judge *judge,
                                  prem_planner_wish wish, prem_plan **out, prem_plan_report *report,
                                  prem_diag *diag);

/** The plan of the critical tasks of a schedule with best effort, and its closed windows. */
prem_status prem_planner_make_gated(const prem_schedule *schedule, const prem_machine *machine,
                                    const prem_plan_options *options, prem_judge *judge, bool tells,
                                    prem_plan **out, prem_plan_report *report, prem_diag *diag);

/** Give a plan of the critical tasks of such a schedule its closed windows. */
prem_status prem_planner_close(const prem_schedule *schedule, prem_plan *plan, prem_diag *diag);

/** Of a plan of a part: its tasks become those of the whole, by the index of each. */
void prem_plan_number_tasks(prem_plan *plan, const int32_t *tasks);
