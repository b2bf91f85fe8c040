/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Showing that a set has no plan that ends by some instant, or none at all.
 *
 * Every phase has a window for its start. Reasoning narrows the windows: along arcs; for pairs that
 * cannot overlap, one of which must come first; and by the energy that renewables must deliver
 * within intervals (J. Erschler, P. Lopez, C. Thuriot, 1991; P. Baptiste, C. Le Pape, W. Nuijten,
 * 1999, Satisfiability tests and time-bound adjustments for cumulative scheduling problems).
 * Probing assumes one order of a pair, or one end of a window, and rules it out when that leaves
 * nothing. A window that is empty is a proof.
 */
#pragma once

#include "schedules/planner/proof/rules.h"

typedef struct prem_refuter prem_refuter;

/** About what a step takes. */
#define PREM_NS_PER_STEP 10

/** How hard to try. */
typedef struct prem_effort {
  int64_t steps; /* elementary ones, so that equal sets give equal answers; they are used up */
  bool probe;
  const volatile sig_atomic_t *stop; /* no more when it is not 0; may be NULL */
} prem_effort;

/**
 * @param rules  relaxed or strict; must stay. `head` and `tail` are their paths.
 * @return NULL: too large (above some hundred phases), phases that may be joined, or out of memory
 */
prem_refuter *prem_refuter_new(const prem_rules *rules, const int64_t *head, const int64_t *tail);
void prem_refuter_free(prem_refuter *refuter);
/** Is it proven that no solution of the rules ends by `end` (in units)? */
bool prem_refuter_excludes(prem_refuter *refuter, int64_t end, prem_effort *effort);
/** The windows of the starts that the last call left, where it excluded nothing. */
void prem_refuter_windows(const prem_refuter *refuter, const int64_t **first, const int64_t **last);
