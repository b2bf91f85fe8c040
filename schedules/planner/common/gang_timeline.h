/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside the generator: a resource that is counted per task, over time. Whatever phases of one task
 * use it at the same time, be it of several blocks, tiles or jobs, they count once, with the
 * largest demand among them.
 */
#pragma once

#include "schedules/planner/common/timeline.h"

/** What one task has of it. */
typedef struct prem_gang_owner prem_gang_owner;

/** All zeros is empty: prem_gang_timeline_open() makes room for the tasks. */
typedef struct prem_gang_timeline {
  prem_timeline *all;       /* what all tasks have together; belongs to who opened it */
  prem_gang_owner **owners; /* [task]; NULL: it has had nothing yet */
  int32_t task_count;
} prem_gang_timeline;

/** `all` is empty, its capacity set. */
prem_status prem_gang_timeline_open(prem_gang_timeline *timeline, prem_timeline *all,
                                    int32_t task_count);
void prem_gang_timeline_free(prem_gang_timeline *timeline);

/** As prem_timeline_fit(), for one more phase of a task. */
int64_t prem_gang_timeline_fit(const prem_gang_timeline *timeline, int32_t task, int64_t from_ns,
                               int64_t length_ns, int32_t demand, int64_t grid_ns);

/** A phase of a task uses `demand` in [start_ns, end_ns); sign -1: no longer. */
prem_status prem_gang_timeline_use(prem_gang_timeline *timeline, int32_t task, int64_t start_ns,
                                   int64_t end_ns, int32_t demand, int32_t sign);
