/* SPDX-License-Identifier: Apache-2.0 */
/** Tasks that use an array which one of them writes: their jobs keep the order that the plan gives
 *  them. */
#pragma once

#include "prem/model/versions.h"

/** Phases of `task` from `phase` on must not overtake jobs of `before`. */
typedef struct prem_conflict {
  int32_t task, before;
  prem_phase phase;
} prem_conflict;

/**
 * All of a bound schedule, both ways, by task, `before` and phase, none twice.
 *
 * @param versions  arrays that they keep are left out; NULL: state arrays are
 * @param[out] out  free it with free(); NULL on error
 */
PREM_API prem_status prem_conflicts_new(const prem_schedule *schedule,
                                        const prem_versions *versions, prem_conflict **out,
                                        int64_t *count);
