/* SPDX-License-Identifier: Apache-2.0 */
/* Places of an older plan: making and freeing what keeps them, and which jobs yield. */
#include "prem/base/list.h"
#include "prem/base/sorting.h"
#include "schedules/planner/repair/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- yielding -------------------------------------------------------------------------------- */

void prem_repair_miss(prem_repair *k, int64_t job) {
  k->late[k->late_count++] = job;
}

int64_t prem_repair_late_count(const prem_repair *k) {
  return k->late_count;
}

bool prem_repair_parted(const prem_repair *k) {
  return k->parted;
}

bool *prem_repair_yielding(prem_repair *k, int64_t *jobs) {
  *jobs = k->first_job[k->schedule->task_count];
  return k->yields;
}

static prem_job_window window_of(const prem_repair *k, int32_t task, int64_t job) {
  return prem_planning_window(k->planning, &k->schedule->tasks[task],
                              (int32_t)(job - k->first_job[task]));
}

static int32_t task_of_job(const prem_repair *k, int64_t job) {
  int32_t low = 0, high = k->schedule->task_count;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (k->first_job[middle] <= job)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/** Where jobs were late: windows that do not overlap. */
typedef struct lateness {
  prem_wide from_ns, to_ns;
  int64_t due_ns; /* the first one that was missed */
} lateness;

static int by_from(const void *left, const void *right) {
  const lateness *a = left, *b = right;
  return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int64_t merge(lateness *late, int64_t count) {
  int64_t merged = 0;
  qsort(late, (size_t)count, sizeof *late, by_from);
  for (int64_t i = 1; i < count; ++i) {
    lateness *last = &late[merged];
    if (late[i].from_ns >= last->to_ns) {
      late[++merged] = late[i];
      continue;
    }
    last->due_ns = prem_min_i64(last->due_ns, late[i].due_ns);
    last->to_ns = late[i].to_ns > last->to_ns ? late[i].to_ns : last->to_ns;
  }
  return count ? merged + 1 : 0;
}

/* The last window that begins before `end_ns`, if it is not over by `start_ns`. */
static const lateness *window_at(const lateness *late, int64_t count, int64_t start_ns,
                                 int64_t end_ns) {
  int64_t low = 0, high = count;
  PREM_BISECT(low, high, middle, late[middle].from_ns < end_ns);
  return low > 0 && late[low - 1].to_ns > start_ns ? &late[low - 1] : NULL;
}

static void yield_within(prem_repair *k, const lateness *late, int64_t count, bool any) {
  for (int64_t i = 0; i < k->group_count; ++i) {
    const prem_kept_group *b = &k->groups[i];
    int64_t job = k->first_job[b->task] + b->job;
    int64_t end_ns = b->start_ns + prem_kept_group_task(k, b)->phase[b->phase].wcet_ns;
    const lateness *within = window_at(late, count, b->start_ns, end_ns);
    if (within && (any || window_of(k, b->task, job).due_ns > within->due_ns))
      k->yields[job] = true;
  }
}

prem_status prem_repair_yield(prem_repair *k, int64_t around, bool any, int64_t *count) {
  lateness *late = malloc((size_t)(k->late_count + 1) * sizeof *late);
  if (!late)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < k->late_count; ++i) {
    prem_job_window window = window_of(k, task_of_job(k, k->late[i]), k->late[i]);
    prem_wide reach = (prem_wide)(window.due_ns - window.earliest_ns) * (around - 1);
    late[i] = (lateness){window.earliest_ns - reach, window.due_ns + reach, window.due_ns};
    k->yields[k->late[i]] = true;
  }
  yield_within(k, late, merge(late, k->late_count), any);
  free(late);
  *count = 0;
  for (int64_t q = 0; q < k->first_job[k->schedule->task_count]; ++q)
    *count += k->yields[q];
  return PREM_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int by_change_and_start(const void *left, const void *right, void *context) {
  const prem_repair *k = context;
  const prem_kept_group *a = &k->groups[*(const int32_t *)left],
                        *b = &k->groups[*(const int32_t *)right];
  if (k->changed[a->task] != k->changed[b->task])
    return k->changed[a->task] ? 1 : -1;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  return (a > b) - (a < b);
}

static bool allocate(prem_repair *k) {
  size_t tasks = (size_t)k->schedule->task_count;
  k->first_tile = calloc(tasks + 1, sizeof *k->first_tile);
  k->first_job = calloc(tasks + 1, sizeof *k->first_job);
  if (!k->first_tile || !k->first_job)
    return false;
  for (size_t t = 0; t < tasks; ++t) {
    const prem_task *task = &k->schedule->tasks[t];
    int64_t jobs = prem_task_jobs(k->schedule, task);
    k->first_job[t + 1] = k->first_job[t] + jobs;
    k->first_tile[t + 1] = k->first_tile[t] + jobs * task->tile_count;
  }
  size_t tiles = (size_t)k->first_tile[tasks] + 1, jobs = (size_t)k->first_job[tasks] + 1;
  k->place_of = malloc(tiles * sizeof *k->place_of);
  k->held = calloc(tiles, sizeof *k->held);
  k->groups = malloc((size_t)(k->slot_count + 1) * sizeof *k->groups);
  k->order = malloc((size_t)(k->slot_count + 1) * sizeof *k->order);
  k->yields = calloc(jobs, sizeof *k->yields);
  k->until_ns = malloc(jobs * sizeof *k->until_ns);
  k->late = malloc(jobs * sizeof *k->late);
  return k->place_of && k->held && k->groups && k->order && k->yields && k->until_ns && k->late;
}

prem_status prem_repair_new(const prem_planning *planning, const prem_slot *slots, int64_t count,
                            const bool *changed, prem_repair **out) {
  prem_repair *k = *out = calloc(1, sizeof *k);
  if (!k)
    return PREM_ERR_MEMORY;
  k->planning = planning;
  k->schedule = planning->schedule;
  k->guard_ns = planning->schedule->platform.guard_ns;
  k->slots = slots;
  k->slot_count = count;
  k->changed = changed;
  prem_status status = allocate(k) ? PREM_OK : PREM_ERR_MEMORY;
  if (!status) {
    int64_t tiles = k->first_tile[k->schedule->task_count];
    memset(k->place_of, -1, (size_t)tiles * sizeof *k->place_of);
    status = prem_repair_gather(k);
  }
  if (!status) {
    for (int64_t i = 0; i < k->group_count; ++i)
      k->order[i] = (int32_t)i;
    qsort_r(k->order, (size_t)k->group_count, sizeof *k->order, by_change_and_start, k);
    return PREM_OK;
  }
  prem_repair_free(k);
  *out = NULL;
  return status;
}

void prem_repair_free(prem_repair *k) {
  if (!k)
    return;
  PREM_FREE(k->first_tile, k->first_job, k->groups, k->order, k->place_of, k->held, k->yields,
            k->until_ns, k->late, k);
}
