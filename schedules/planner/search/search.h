/* SPDX-License-Identifier: Apache-2.0 */
/** The search for a better plan. */
#pragma once

#include "schedules/planner/common/planning.h"

/** What came of a search. */
typedef struct prem_search_result {
  int64_t steps;          /* schedules that were made */
  bool improved;          /* the draft is better than it was */
  bool feasible;          /* the draft breaks no rule */
  bool optimal;           /* no plan is better */
  const char *unsearched; /* with PREM_ERR_UNAVAILABLE: why; NULL: there is nothing to search */
} prem_search_result;

/** Make a complete draft better. PREM_ERR_UNAVAILABLE: nothing was tried. */
prem_status prem_plan_search(const prem_planning *planning, const prem_search_limits *limits,
                             prem_draft *draft, prem_search_result *out);
