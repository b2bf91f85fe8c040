/* SPDX-License-Identifier: Apache-2.0 */
/** Why a set has no plan. */
#pragma once

#include "schedules/planner/common/planning.h"

/**
 * Prove that no legal plan exists and say why (E043): the smallest set of tasks that was found, and
 * what they lack: time between release and deadline, a resource in an interval, or an order on
 * several of them. Sets of any size for the first two; small ones for the last, with the solver
 * where it is built in.
 *
 * @param limit_ns  of the search for orders that are left (0: none), and for smaller sets
 * @param stop      ends it early when it is not 0; may be NULL
 * @return true: proven; false: nothing is said
 */
bool prem_planning_explain(const prem_planning *planning, int64_t limit_ns,
                           const volatile sig_atomic_t *stop);
