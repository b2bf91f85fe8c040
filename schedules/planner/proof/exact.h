/* SPDX-License-Identifier: Apache-2.0 */
/** Exact answers for small sets. */
#pragma once

#include "schedules/planner/proof/refute.h"

/** Of larger sets the solver's model takes longer than any answer is worth. */
enum { PREM_EXACT_MAX_NODES = 4000 };

/** What the exact engine has proven or found. */
typedef struct prem_exact_verdict {
  prem_plan_verdict verdict; /* infeasible: no legal plan exists, chains included */
  bool optimal;              /* no legal plan is shorter, or has more slack where that was asked */
  int64_t makespan_ns;       /* one-shot sets: of the plan */
  int64_t lower_bound_ns;    /* one-shot sets: of every plan */
} prem_exact_verdict;

/** The name of the solver that is built in, or NULL: there is none. */
const char *prem_exact_engine(void);

/**
 * Plan a small set exactly. One-shot sets: the shortest plan, by bisection between the lower bound
 * and the constructive plan. Periodic sets: a plan that breaks no rule; it may run phases into the
 * next hyperperiod where nothing is in their way.
 *
 * @param      limit_ns  it ends by then, give or take some tenths of a second
 * @param      stop      it ends soon after this is not 0; may be NULL
 * @param[out] plan      comes empty; filled when feasible, else left as it was
 * @retval PREM_OK               the verdict says what is known
 * @retval PREM_ERR_UNAVAILABLE  no solver is built in, or the set is too large for it
 */
prem_status prem_plan_exact(const prem_planning *planning, int64_t limit_ns,
                            const volatile sig_atomic_t *stop, prem_plan *plan,
                            prem_exact_verdict *out);

/**
 * Raise the smallest slack of a periodic set: the plan with the largest one that is found.
 *
 * @param      known_ns  a plan with this smallest slack is known; PREM_NO_SLACK: none is
 * @param[out] plan      comes empty; filled when feasible, else left as it was
 * @param[out] out       feasible: `plan` has more slack than was known; infeasible: there is no
 * plan at all; optimal: no legal plan has more slack than the best one known now
 * @retval PREM_ERR_UNAVAILABLE  as prem_plan_exact()
 */
prem_status prem_plan_exact_slack(const prem_planning *planning, int64_t limit_ns,
                                  const volatile sig_atomic_t *stop, int64_t known_ns,
                                  prem_plan *plan, prem_exact_verdict *out);
#define PREM_NO_SLACK INT64_MIN

/**
 * Is it proven that no legal plan exists? Small sets only.
 *
 * @param left_out  parts of the set that do not count; NULL: none
 * @param effort    of the refuter
 * @param limit_ns  of the solver, which comes after it; 0: without it
 */
bool prem_planning_refuted(const prem_planning *planning, const prem_without *without,
                           prem_effort *effort, int64_t limit_ns);
