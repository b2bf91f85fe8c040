/* SPDX-License-Identifier: Apache-2.0 */
/** Planners that place each phase once: closed forms, and the constructive one. */
#pragma once

#include "schedules/planner/common/planning.h"

/** The four schedules of the thesis. The plan comes empty; a failure leaves it half filled. */
prem_status prem_plan_closed_form(const prem_planning *planning, prem_plan *plan);
bool prem_is_closed_form(const char *policy);

/**
 * Any set of tasks: each phase in turn at the earliest instant that every rule allows.
 *
 * @param[out] out  also filled on PREM_ERR_INFEASIBLE, as far as `complete` says; free its
 *                  placements and slots with free().
 */
prem_status prem_plan_constructive(const prem_planning *planning, prem_draft *out);
