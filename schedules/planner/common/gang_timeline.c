/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks have of a resource of which each of them counts once. */
#include "schedules/planner/common/gang_timeline.h"

#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"

/** How many phases of a task ask for so much, over time. */
typedef struct demand_timeline {
  prem_timeline phases;
  int32_t demand;
} demand_timeline;

struct prem_gang_owner {
  demand_timeline *timelines;
  int32_t count;
};

prem_status prem_gang_timeline_open(prem_gang_timeline *timeline, prem_timeline *all,
                                    int32_t task_count) {
  timeline->all = all;
  timeline->owners = calloc((size_t)task_count + 1, sizeof(prem_gang_owner *));
  timeline->task_count = timeline->owners ? task_count : 0;
  return timeline->owners ? PREM_OK : PREM_ERR_MEMORY;
}

static void free_owner(prem_gang_owner *owner) {
  for (int32_t i = 0; owner && i < owner->count; ++i)
    prem_timeline_free(&owner->timelines[i].phases);
  if (owner)
    free(owner->timelines);
  free(owner);
}

void prem_gang_timeline_free(prem_gang_timeline *timeline) {
  for (int32_t t = 0; t < timeline->task_count; ++t)
    free_owner(timeline->owners[t]);
  free(timeline->owners);
  *timeline = (prem_gang_timeline){0};
}

/* The largest demand of a task's phases at an instant, those of one timeline left out. *until_ns,
 * if later, becomes when it may change. */
static int32_t largest(const prem_gang_owner *owner, const demand_timeline *without, int64_t at_ns,
                       int64_t *until_ns) {
  int32_t max = 0;
  for (int32_t i = 0; i < owner->count; ++i) {
    const demand_timeline *timeline = &owner->timelines[i];
    int64_t end_ns;
    if (timeline == without)
      continue;
    if (prem_timeline_level(&timeline->phases, at_ns, &end_ns) > 0 && timeline->demand > max)
      max = timeline->demand;
    *until_ns = prem_min_i64(*until_ns, end_ns);
  }
  return max;
}

/* ---- searching ------------------------------------------------------------------------------ */

/* There is too little at `at_ns`, until `until_ns` at least: where to look on. Where the task has
 * nothing before `own_ns`, it is a phase like any other, unless it reaches that far. */
static int64_t look_on(const prem_gang_timeline *timeline, bool nothing, int64_t at_ns,
                       int64_t until_ns, int64_t own_ns, int64_t length_ns, int32_t demand,
                       int64_t grid_ns) {
  if (!nothing)
    return prem_round_up(until_ns, grid_ns);
  int64_t alone_ns = prem_timeline_fit(timeline->all, at_ns, length_ns, demand, grid_ns);
  int64_t beside_ns = own_ns == INT64_MAX ? INT64_MAX : own_ns - length_ns + 1;
  return alone_ns <= beside_ns ? alone_ns
                               : prem_round_up(prem_max_i64(until_ns, beside_ns), grid_ns);
}

int64_t prem_gang_timeline_fit(const prem_gang_timeline *timeline, int32_t task, int64_t from_ns,
                               int64_t length_ns, int32_t demand, int64_t grid_ns) {
  const prem_gang_owner *owner = timeline->owners[task];
  if (!owner || demand == 0)
    return prem_timeline_fit(timeline->all, from_ns, length_ns, demand, grid_ns);
  int64_t start_ns = prem_round_up(from_ns, grid_ns), at_ns = start_ns;
  while (at_ns - start_ns < length_ns) {
    int64_t own_ns = INT64_MAX, until_ns;
    int32_t own = largest(owner, NULL, at_ns, &own_ns);
    int32_t level = prem_timeline_level(timeline->all, at_ns, &until_ns);
    until_ns = prem_min_i64(until_ns, own_ns);
    bool enough = own >= demand || level - own <= timeline->all->capacity - demand;
    if (!enough)
      start_ns = look_on(timeline, own == 0, at_ns, until_ns, own_ns, length_ns, demand, grid_ns);
    at_ns = enough ? until_ns : start_ns;
  }
  return start_ns;
}

/* ---- filling -------------------------------------------------------------------------------- */

static prem_gang_owner *owner_of(prem_gang_timeline *timeline, int32_t task) {
  if (!timeline->owners[task])
    timeline->owners[task] = calloc(1, sizeof *timeline->owners[task]);
  return timeline->owners[task];
}

static demand_timeline *timeline_of(prem_gang_owner *owner, int32_t demand) {
  for (int32_t i = 0; i < owner->count; ++i)
    if (owner->timelines[i].demand == demand)
      return &owner->timelines[i];
  const demand_timeline made = {.phases = {.capacity = INT32_MAX}, .demand = demand};
  return PREM_APPEND(owner->timelines, owner->count, made) ? &owner->timelines[owner->count - 1]
                                                           : NULL;
}

/* The sum of all changes where no other phase of the task asks for as much. */
static prem_status use_all(prem_gang_timeline *timeline, const prem_gang_owner *owner,
                           const demand_timeline *of, int64_t start_ns, int64_t end_ns,
                           int32_t sign) {
  prem_status status = PREM_OK;
  for (int64_t at_ns = start_ns, until_ns; at_ns < end_ns && !status; at_ns = until_ns) {
    bool changes = prem_timeline_level(&of->phases, at_ns, &until_ns) == (sign > 0 ? 0 : 1);
    until_ns = prem_min_i64(until_ns, end_ns);
    int32_t others = largest(owner, of, at_ns, &until_ns);
    if (changes && of->demand > others)
      status = prem_timeline_use(timeline->all, at_ns, until_ns, sign * (of->demand - others));
  }
  return status;
}

prem_status prem_gang_timeline_use(prem_gang_timeline *timeline, int32_t task, int64_t start_ns,
                                   int64_t end_ns, int32_t demand, int32_t sign) {
  if (demand == 0 || start_ns >= end_ns)
    return PREM_OK;
  prem_gang_owner *owner = owner_of(timeline, task);
  demand_timeline *of = owner ? timeline_of(owner, demand) : NULL;
  if (!of)
    return PREM_ERR_MEMORY;
  prem_status status = use_all(timeline, owner, of, start_ns, end_ns, sign);
  return status ? status : prem_timeline_use(&of->phases, start_ns, end_ns, sign);
}
