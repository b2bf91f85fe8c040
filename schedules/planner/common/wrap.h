/* SPDX-License-Identifier: Apache-2.0 */
/** Inside the generator: from the last phases of a plan to the first ones of the next hyperperiod,
 *  which begins right behind it where one launch runs many, or which has another plan. */
#pragma once

#include "schedules/planner/common/planning.h"

/** Make the hyperperiod as long as the turnarounds at its end ask for. Nothing changes without
 *  turnarounds, nor for sets with periods, whose plans end early enough. */
prem_status prem_planning_turn_around(const prem_planning *planning, prem_plan *plan);

/** Where any plan may follow: make a one-shot set's hyperperiod as long as that asks for. Of a set
 *  with periods, whose plan may have been made otherwise, say what ends too late (E051). */
prem_status prem_planning_end_within(const prem_planning *planning, prem_plan *plan);
/** Does a draft end so early that any plan may follow? True where none other does. */
bool prem_planning_draft_ends_within(const prem_planning *planning, const prem_draft *draft);
