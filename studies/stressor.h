/* SPDX-License-Identifier: Apache-2.0 */
/** Stressors: tasks that take the place of others and fill their windows. */
#pragma once

#include "ttprem/isolation.h"

/**
 * Replace tasks: each gets the kernel over an array of its own, so large a tile
 * that its memory phases fill their planned windows as far as the buffers allow, and keeps its
 * blocks, tiles, instants and windows.
 *
 * @param      elements  of a tile of each task, as prem_stressor_size() gives them; 0: leave it.
 * @param      spare     a task, with those that it follows, that stays as it is; -1: none.
 * @param[out] out       free with prem_schedule_free(), before `schedule`.
 */
prem_status prem_stressor_schedule(const prem_schedule *schedule, const char *kernel,
                                   const int32_t *elements, int32_t spare, prem_schedule **out,
                                   prem_diag *diag);

/** PREM_ERR_ARGUMENT unless there is such a kernel, of one f32 vector `in` and one `out`. */
prem_status prem_stressor_judge(const char *kernel, prem_diag *diag);

/**
 * How large the tiles of stressors can be: what the block's buffers hold, cut down by trial until
 * every phase of a stressor alone ends within its window.
 *
 * @param[out] elements  [task_count]
 * @param[out] stressors   [task_count]
 */
prem_status prem_stressor_size(const prem_schedule *schedule, const prem_backend *backend,
                               const prem_isolate_options *options, int32_t *elements,
                               prem_stressor *stressors, prem_diag *diag);
