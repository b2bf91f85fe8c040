/* SPDX-License-Identifier: Apache-2.0 */
/** The use of a resource over time, as a plan has it. */
#pragma once

#include "ttprem/schedule.h"

/** From `at_ns` on, until the next step, so much is used. */
typedef struct prem_usage_step {
  int64_t at_ns, used;
} prem_usage_step;

/**
 * How much of a resource the planned phases hold, warm-up left out: a phase for its `busy_ns`, a
 * joined pair once, a chain from its release on the largest demand of what may still come, a gang
 * the largest demand of its blocks. What is held beyond the end of a hyperperiod that repeats is
 * held at its beginning.
 *
 * @param      slots  as prem_plan_expand() gives them.
 * @param[out] steps  the first at 0, each of another use than the one before; free with free().
 * @retval PREM_ERR_MEMORY  `steps` is NULL
 */
prem_status prem_plan_resource_usage(const prem_schedule *schedule, const prem_slot *slots,
                                     int64_t count, int32_t resource, prem_usage_step **steps,
                                     int64_t *step_count);
