/* SPDX-License-Identifier: Apache-2.0 */
/** Phases and times of a hyperperiod. Times count from where it began in the run, which need not be
 *  where the plan, repeated without a gap, would have it. */
#pragma once

#include "ttprem/trace.h"

/** Of job `job` of a task, by its number in the hyperperiod: from its release to its last end. */
PREM_API int64_t prem_response_ns(const prem_schedule *schedule, const prem_trace *trace,
                                  int64_t hyperperiod, int32_t task, int64_t job);
/** From the hyperperiod's beginning to the end of its last job. */
PREM_API int64_t prem_makespan_ns(const prem_trace *trace, int64_t hyperperiod);
/** Its phases, as the plan has each of them once. */
int64_t prem_phases_in(const prem_schedule *schedule);
/** The first hyperperiod of which records are lost: what is lost may be what a phase waited for.
 *  False: out of memory. */
bool prem_find_whole(const prem_schedule *schedule, const prem_trace *trace, int64_t *until);
