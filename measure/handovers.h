/* SPDX-License-Identifier: Apache-2.0 */
/** How long it took until a job's first phase on a block knew that the jobs before it had ended. */
#pragma once

#include "measure/times.h"
#include "ttprem/runtime.h"

/**
 * Add the hand-overs of a run, each from the last end of a job to the instant at which a first
 * phase that waits for it is ready. Left out are phases that something on their own block held up
 * as well, and hyperperiods of which records are lost, where others are whole. O(records * log
 * records).
 *
 * @param trace     its records may stand in any order.
 * @param from      the first hyperperiod that counts.
 * @param[in,out] of  [task] the successor.
 */
prem_status prem_handovers_add(const prem_schedule *schedule, const prem_trace *trace, int64_t from,
                               prem_times *of);
