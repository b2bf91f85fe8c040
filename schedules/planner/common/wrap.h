/* SPDX-License-Identifier: Apache-2.0 */
/** Inside the generator: from the last phases of a one-shot plan to the first ones of the next
 *  hyperperiod, which begins right behind it where one launch runs many. */
#ifndef TTPREM_SCHEDULES_PLANNER_COMMON_WRAP_H
#define TTPREM_SCHEDULES_PLANNER_COMMON_WRAP_H

#include "schedules/planner/common/planning.h"

/** Make the hyperperiod as long as the turnarounds at its end ask for. Nothing changes without
 *  turnarounds, nor for sets with periods, whose plans end early enough. */
prem_status prem_planning_turn_around(const prem_planning *planning, prem_plan *plan);

#endif
