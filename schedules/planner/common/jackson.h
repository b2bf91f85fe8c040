/* SPDX-License-Identifier: Apache-2.0 */
/** One machine, work that may be interrupted: Jackson's preemptive schedule. */
#pragma once

#include "schedules/planner/common/planning.h"

/** Not before `head`; `tail` follows it (minus an instant by which it is due). */
typedef struct prem_work {
  prem_wide head, left, tail;
  int64_t name; /* the caller's */
} prem_work;

/**
 * The longest end with its tail, which no schedule can make shorter (J. R. Jackson, 1955; J.
 * Carlier, 1982, The one-machine sequencing problem). O(n log n).
 *
 * @param     works  not empty; are sorted by head and used up
 * @param     heap   room for `count`
 * @param[out] worst  index of the work that ends there; may be NULL
 */
prem_wide prem_jackson_end(prem_work *works, int32_t count, int32_t *heap, int32_t *worst);
