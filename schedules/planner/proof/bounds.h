/* SPDX-License-Identifier: Apache-2.0 */
/** What no legal plan can be shorter than. */
#pragma once

#include "schedules/planner/common/planning.h"

/**
 * A lower bound of the makespan of a one-shot set: critical path; what each block, unit, buffer and
 * resource is asked for between heads and tails; and for small sets (some hundred phases) the
 * shortest end that windows do not exclude. Near-linear in phases for large sets, below 0.1 s for
 * small ones. It holds for every plan that the checker accepts, chains and joined phases included,
 * and is a multiple of the clock grid, as the length of a plan is.
 *
 * @param[out] out_ns  unchanged on false
 * @return false: none is known (periodic sets, times that cannot be added up, out of memory)
 */
bool prem_planning_lower_bound(const prem_planning *planning, int64_t *out_ns);

/**
 * Raise the bound of a small set by probing, up to a second. Equal sets give equal bounds.
 *
 * @param         known_ns  makespan of a plan: the bound needs to be no larger
 * @param         stop      ends it early when it is not 0; may be NULL
 * @param[in,out] bound_ns  from prem_planning_lower_bound()
 */
void prem_planning_raise_bound(const prem_planning *planning, int64_t known_ns,
                               const volatile sig_atomic_t *stop, int64_t *bound_ns);
