/* SPDX-License-Identifier: Apache-2.0 */
/** Operating modes as schedules of their own: who has jobs in one, and a schedule of these. */
#pragma once

#include "ttprem/schedule.h"

/** `off[t]`, bit m: in operating mode m task t has no jobs, since it is off or made of what is. Of
 *  a bound schedule. */
prem_status prem_tasks_off(const prem_schedule *schedule, uint32_t *off);

/**
 * A schedule of the tasks that have jobs in an operating mode, by the mode's policy and, where it
 * is there, its plan; the hyperperiod stays. Edges to tasks that are off are left out: no job of
 * them is waited for. A state array whose writer is off is an ordinary array.
 *
 * @param      schedule  bound; must outlive the other one, whose places name its files.
 * @param[out] out       free with prem_schedule_free(); NULL on error.
 * @param[out] tasks     [task_count of `out` + 1], the schedule's index of each; free with free().
 * @retval PREM_ERR_MEMORY
 */
prem_status prem_mode_schedule(const prem_schedule *schedule, int32_t mode, prem_schedule **out,
                               int32_t **tasks);
