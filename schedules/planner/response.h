/* SPDX-License-Identifier: Apache-2.0 */
/** Objective "response": worst responses as short as can be, the most urgent task's first. */
#pragma once

#include "schedules/planner/planner.h"

/** A plan in which each job has one instant a block, and is event-driven from there. */
prem_status prem_plan_response(const prem_planning *planning, const prem_search_limits *limits,
                               prem_plan *plan, prem_plan_report *report);
