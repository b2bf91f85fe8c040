/** What no legal plan can be shorter than. */
#ifndef TTPREM_BOUNDS_H
#define TTPREM_BOUNDS_H

#include "planners.h"

/**
 * A lower bound of the makespan of a one-shot set: critical path; what each block, unit, buffer and
 * resource is asked for between heads and tails; and for small sets a destructive bound, which
 * shows that no plan is as short as it claims. Near-linear in phases for large sets. It holds for
 * every plan that the checker accepts, chains and joined phases included, and is a multiple of the
 * clock grid, as plans are.
 *
 * @param[out] out_ns  unchanged on false
 * @return false: none is known (periodic sets, or out of memory)
 */
bool prem_planning_lower_bound(const prem_planning *planning, int64_t *out_ns);

#endif
