/* SPDX-License-Identifier: Apache-2.0 */
/** Inside the generator: jobs whose tiles run through a block as a pipeline of joined phases. */
#pragma once

#include "schedules/planner/common/placing.h"

/** Where a job came to lie. */
typedef struct prem_pipeline_span {
  int64_t first_ns, last_start_ns, end_ns;
} prem_pipeline_span;

/** Of which tasks can the tiles be a pipeline, and could that save time? Those that have all three
 *  phases, their blocks to themselves and whole rounds where their blocks start together; and
 * either `joined` or a guard. Free with free(); NULL: out of memory. */
bool *prem_pipeline_list(const prem_placer *placer, bool *any);

/**
 * Place a job from `from_ns` on. On every block memory phase k is the prefetch of tile k joined
 * with the writeback of tile k - depth, while the tiles between are computed; the first and the
 * last `depth` of them are single. All blocks of the task take their turns.
 *
 * @param      depth  2 to the platform's buffers
 * @param[out] slots  room for all phases of the job; pairs stand side by side
 * @param[out] count  of slots
 */
prem_status prem_pipeline_place(prem_placer *placer, int32_t task, int32_t job, int64_t from_ns,
                                int32_t depth, prem_slot *slots, int64_t *count,
                                prem_pipeline_span *span);

/** As prem_plan_constructive(), with pipelines wherever they serve; PREM_ERR_UNAVAILABLE: nowhere.
 */
prem_status prem_plan_pipelines(const prem_planning *planning, int32_t depth, prem_draft *out);
