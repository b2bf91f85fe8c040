/* SPDX-License-Identifier: Apache-2.0 */
/* The use of a resource over time: holds of the planned phases, summed by a sweep. */
#include "measure/resource_usage.h"

#include "prem/base/sorting.h"

#include <stdlib.h>

/** At an instant a task begins (positive) or ends (negative) to hold a demand. */
typedef struct change {
  int64_t at_ns, amount;
  int32_t task;
} change;

typedef struct changes {
  change *list;
  int64_t count, room;
} changes;

/** What is held until `end_ns`. */
typedef struct hold {
  int64_t end_ns, demand;
} hold;

static void add(changes *all, int64_t at_ns, int64_t amount, int32_t task) {
  all->list[all->count++] = (change){at_ns, amount, task};
}

static bool make_room(changes *all) {
  if (all->room - all->count >= 4)
    return true;
  int64_t room = all->room * 2 + 64;
  change *list = realloc(all->list, (size_t)room * sizeof *list);
  if (!list)
    return false;
  all->list = list;
  all->room = room;
  return true;
}

/** Half open; what reaches over the end of a hyperperiod that repeats begins the next one. */
static bool add_hold(changes *all, const prem_schedule *schedule, int32_t task, int64_t start_ns,
                     hold held) {
  if (held.demand == 0 || held.end_ns <= start_ns)
    return true;
  if (!make_room(all))
    return false;
  int64_t hyperperiod_ns = schedule->plan->hyperperiod_ns;
  add(all, start_ns, held.demand, task);
  if (schedule->period_lcm_ns > 0 && held.end_ns > hyperperiod_ns && start_ns < hyperperiod_ns) {
    add(all, hyperperiod_ns, -held.demand, task);
    add(all, 0, held.demand, task);
    add(all, held.end_ns - hyperperiod_ns, -held.demand, task);
  } else {
    add(all, held.end_ns, -held.demand, task);
  }
  return true;
}

/* ---- what each phase holds ------------------------------------------------------------------ */

static bool is_pair(const prem_slot *slots, int64_t count, int64_t i) {
  return i + 1 < count && (slots[i].flags & slots[i + 1].flags & PREM_SLOT_JOINED) &&
         slots[i].phase == PREM_PREFETCH && slots[i + 1].phase == PREM_WRITEBACK &&
         slots[i].planned_ns == slots[i + 1].planned_ns && slots[i].block == slots[i + 1].block;
}

static int64_t demand_of(const prem_phase_spec *spec, int32_t resource) {
  return spec->demand ? spec->demand[resource] : 0;
}

static hold hold_of(const prem_schedule *schedule, const prem_slot *slot, int32_t resource) {
  const prem_phase_spec *spec = &schedule->tasks[slot->task].phase[slot->phase];
  return (hold){slot->planned_ns + spec->busy_ns, demand_of(spec, resource)};
}

/** Its task's `joined`, or both lengths and the larger demand. */
static hold hold_of_pair(const prem_schedule *schedule, const prem_slot *fetch, int32_t resource) {
  const prem_slot *store = fetch + 1;
  const prem_phase_spec *joined = &schedule->tasks[fetch->task].joined;
  if (joined->exists && fetch->task == store->task)
    return (hold){fetch->planned_ns + joined->busy_ns, demand_of(joined, resource)};
  hold held = hold_of(schedule, fetch, resource), other = hold_of(schedule, store, resource);
  held.end_ns += other.end_ns - store->planned_ns;
  if (other.demand > held.demand)
    held.demand = other.demand;
  return held;
}

static bool follows(const prem_slot *head, const prem_slot *slot) {
  return (slot->flags & PREM_SLOT_CHAINED) && slot->head_ns == head->planned_ns &&
         slot->task == head->task && slot->job == head->job && slot->block == head->block &&
         slot->place == head->place;
}

/** Chained phases come as early as the one before them ends: until a phase's latest end, the chain
 *  may hold the largest demand of this one and those behind it. */
static bool add_chain(changes *all, const prem_schedule *schedule, const prem_slot *head,
                      const hold *holds, int count) {
  int64_t from_ns = head->planned_ns;
  for (int k = 0; k < count; ++k) {
    const hold *max = &holds[k];
    for (int later = k + 1; later < count; ++later)
      if (holds[later].demand >= max->demand)
        max = &holds[later];
    if (!add_hold(all, schedule, head->task, from_ns, *max))
      return false;
    if (max->demand > 0 && max->end_ns > from_ns)
      from_ns = max->end_ns;
  }
  return true;
}

/** Where all of a job is one chain: one phase at a time on each unit, from the chain's release on.
 */
static bool add_job_chain(changes *all, const prem_schedule *schedule, const prem_slot *slots,
                          int64_t first, int64_t end, int32_t resource) {
  hold of_unit[2] = {{0}, {0}};
  for (int64_t i = first; i < end; ++i) {
    const hold held = hold_of(schedule, &slots[i], resource);
    hold *most = &of_unit[slots[i].phase == PREM_COMPUTE];
    if (held.demand > 0 && held.end_ns > most->end_ns)
      most->end_ns = held.end_ns;
    if (held.demand > most->demand)
      most->demand = held.demand;
  }
  const int64_t from_ns = slots[first].planned_ns;
  return add_hold(all, schedule, slots[first].task, from_ns, of_unit[0]) &&
         add_hold(all, schedule, slots[first].task, from_ns, of_unit[1]);
}

static bool is_job_chain(const prem_slot *slots, int64_t first, int64_t count) {
  for (int64_t i = first + 1; i < count && follows(&slots[first], &slots[i]); ++i)
    if (slots[i].tile != slots[first].tile)
      return true;
  return false;
}

static bool collect(changes *all, const prem_schedule *schedule, const prem_slot *slots,
                    int64_t count, int32_t resource) {
  for (int64_t i = 0; i < count;) {
    const prem_slot *head = &slots[i];
    hold holds[PREM_PHASE_COUNT];
    int length = 0;
    bool pair = is_pair(slots, count, i);
    holds[length++] =
        pair ? hold_of_pair(schedule, head, resource) : hold_of(schedule, head, resource);
    i += pair ? 2 : 1;
    if (head->flags & PREM_SLOT_WARMUP)
      continue;
    if (!pair && is_job_chain(slots, i - 1, count)) {
      const int64_t first = i - 1;
      while (i < count && follows(head, &slots[i]))
        ++i;
      if (!add_job_chain(all, schedule, slots, first, i, resource))
        return false;
      continue;
    }
    for (; i < count && length < PREM_PHASE_COUNT && follows(head, &slots[i]); ++i)
      holds[length++] = hold_of(schedule, &slots[i], resource);
    if (!add_chain(all, schedule, head, holds, length))
      return false;
  }
  return true;
}

/* ---- gangs ---------------------------------------------------------------------------------- */

static int by_task_and_instant(const void *a, const void *b) {
  const change *x = a, *y = b;
  if (x->task != y->task)
    return x->task < y->task ? -1 : 1;
  return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/** How many blocks of one task hold each of the demands that it has. */
typedef struct gang {
  int64_t *demands, *holders;
  int64_t count;
} gang;

static void find_demands(gang *task, const change *list, int64_t count) {
  int64_t all = 0;
  for (int64_t i = 0; i < count; ++i)
    if (list[i].amount > 0)
      task->demands[all++] = list[i].amount;
  qsort(task->demands, (size_t)all, sizeof *task->demands, prem_by_i64);
  task->count = 0;
  for (int64_t i = 0; i < all; ++i)
    if (i == 0 || task->demands[i] != task->demands[i - 1]) {
      task->demands[task->count] = task->demands[i];
      task->holders[task->count++] = 0;
    }
}

static void count_holder(gang *task, int64_t amount) {
  int64_t demand = amount < 0 ? -amount : amount;
  int64_t *found =
      bsearch(&demand, task->demands, (size_t)task->count, sizeof *task->demands, prem_by_i64);
  task->holders[found - task->demands] += amount < 0 ? -1 : 1;
}

static int64_t largest_held(const gang *task) {
  for (int64_t i = task->count - 1; i >= 0; --i)
    if (task->holders[i] > 0)
      return task->demands[i];
  return 0;
}

/** The changes of one task, sorted, become those of its largest demand. */
static int64_t merge_task(gang *task, change *list, int64_t count) {
  int64_t kept = 0, held = 0;
  find_demands(task, list, count);
  for (int64_t i = 0; i < count;) {
    change merged = list[i];
    for (; i < count && list[i].at_ns == merged.at_ns; ++i)
      count_holder(task, list[i].amount);
    merged.amount = largest_held(task) - held;
    held += merged.amount;
    if (merged.amount != 0)
      list[kept++] = merged;
  }
  return kept;
}

static bool merge_gangs(changes *all) {
  gang task = {.demands = malloc((size_t)(all->count + 1) * sizeof *task.demands),
               .holders = malloc((size_t)(all->count + 1) * sizeof *task.holders)};
  bool merged = task.demands && task.holders;
  qsort(all->list, (size_t)all->count, sizeof *all->list, by_task_and_instant);
  int64_t kept = 0;
  for (int64_t first = 0, next = 0; merged && first < all->count; first = next) {
    while (next < all->count && all->list[next].task == all->list[first].task)
      ++next;
    int64_t left = merge_task(&task, &all->list[first], next - first);
    for (int64_t i = 0; i < left; ++i)
      all->list[kept++] = all->list[first + i];
  }
  all->count = kept;
  free(task.demands);
  free(task.holders);
  return merged;
}

/* ---- the sum -------------------------------------------------------------------------------- */

static int by_instant(const void *a, const void *b) {
  const change *x = a, *y = b;
  return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static prem_status sum_up(changes *all, prem_usage_step **steps, int64_t *step_count) {
  prem_usage_step *list = malloc((size_t)(all->count + 1) * sizeof *list);
  if (!list)
    return PREM_ERR_MEMORY;
  qsort(all->list, (size_t)all->count, sizeof *all->list, by_instant);
  int64_t count = 0, used = 0;
  list[count++] = (prem_usage_step){0, 0};
  for (int64_t i = 0; i < all->count;) {
    int64_t at_ns = all->list[i].at_ns;
    for (; i < all->count && all->list[i].at_ns == at_ns; ++i)
      used += all->list[i].amount;
    if (at_ns == 0)
      list[0].used = used;
    else if (used != list[count - 1].used)
      list[count++] = (prem_usage_step){at_ns, used};
  }
  *steps = list;
  *step_count = count;
  return PREM_OK;
}

prem_status prem_plan_resource_usage(const prem_schedule *schedule, const prem_slot *slots,
                                     int64_t count, int32_t resource, prem_usage_step **steps,
                                     int64_t *step_count) {
  changes all = {0};
  *steps = NULL;
  *step_count = 0;
  bool complete = make_room(&all) && collect(&all, schedule, slots, count, resource);
  if (complete && schedule->platform.resources[resource].per_task)
    complete = merge_gangs(&all);
  prem_status status = complete ? sum_up(&all, steps, step_count) : PREM_ERR_MEMORY;
  free(all.list);
  return status;
}
