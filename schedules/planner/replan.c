/* SPDX-License-Identifier: Apache-2.0 */
/* From an older plan to one that keeps as much of it as it can. */
#include "schedules/planner/replan.h"

#include "prem/base/clock.h"
#include "prem/base/list.h"
#include "prem/base/sorting.h"
#include "schedules/planner/common/wrap.h"
#include "schedules/planner/repair/repair.h"

#include <stdlib.h>
#include <string.h>

/* ---- which tasks are still the same --------------------------------------------------------- */

static bool same_demand(const prem_phase_spec *a, const prem_phase_spec *b, int32_t resources) {
  for (int32_t r = 0; r < resources; ++r)
    if (a->demand[r] != b->demand[r])
      return false;
  return true;
}

static bool same_spec(const prem_phase_spec *a, const prem_phase_spec *b, int32_t resources) {
  return a->exists == b->exists &&
         (!a->exists ||
          (a->wcet_ns == b->wcet_ns && a->busy_ns == b->busy_ns &&
           a->turnaround_ns == b->turnaround_ns && a->unit_turnaround_ns == b->unit_turnaround_ns &&
           same_demand(a, b, resources)));
}

static bool same_blocks(const prem_task *a, const prem_task *b) {
  return a->block_count == b->block_count &&
         memcmp(a->blocks, b->blocks, (size_t)a->block_count * sizeof *a->blocks) == 0;
}

static bool same_order(const prem_old_plan *old, const prem_task *was, const prem_task *is,
                       bool same_precedence) {
  if (was->after_count != is->after_count || (is->after_count > 0 && !same_precedence))
    return false;
  for (int32_t i = 0; i < is->after_count; ++i)
    if (old->task_of[was->after[i].task] != is->after[i].task ||
        was->after[i].lag_ns != is->after[i].lag_ns ||
        was->after[i].latest != is->after[i].latest ||
        was->after[i].per_block != is->after[i].per_block)
      return false;
  return true;
}

static bool same_task(const prem_old_plan *old, const prem_schedule *schedule, const prem_task *was,
                      const prem_task *is) {
  int32_t resources = schedule->platform.resource_count;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (!same_spec(&was->phase[p], &is->phase[p], resources))
      return false;
  return same_spec(&was->joined, &is->joined, resources) && same_blocks(was, is) &&
         was->together == is->together && was->tile_count == is->tile_count &&
         was->period_ns == is->period_ns && was->release_ns == is->release_ns &&
         was->deadline_ns == is->deadline_ns && was->publish_ns == is->publish_ns &&
         old->from->job_turnaround_ns == schedule->job_turnaround_ns &&
         old->from->job_prefetch_ns == schedule->job_prefetch_ns &&
         same_order(old, was, is,
                    prem_schedule_precedence_ns(old->from) ==
                        prem_schedule_precedence_ns(schedule));
}

static bool same_resources(const prem_platform *a, const prem_platform *b) {
  bool same = a->resource_count == b->resource_count;
  for (int32_t r = 0; r < a->resource_count && same; ++r)
    same = strcmp(a->resources[r].name, b->resources[r].name) == 0;
  return same;
}

static int by_name(const void *left, const void *right, void *context) {
  const prem_schedule *schedule = context;
  return strcmp(schedule->tasks[*(const int32_t *)left].name,
                schedule->tasks[*(const int32_t *)right].name);
}

static int32_t find_task(const prem_schedule *schedule, const int32_t *sorted, const char *name) {
  int32_t low = 0, high = schedule->task_count;
  PREM_BISECT(low, high, middle, strcmp(schedule->tasks[sorted[middle]].name, name) < 0);
  bool found = low < schedule->task_count && !strcmp(schedule->tasks[sorted[low]].name, name);
  return found ? sorted[low] : -1;
}

static prem_status match_tasks(const prem_schedule *schedule, prem_old_plan *old) {
  const prem_schedule *from = old->from;
  int32_t *sorted = malloc((size_t)schedule->task_count * sizeof *sorted);
  old->task_of = malloc((size_t)from->task_count * sizeof *old->task_of);
  old->changed = malloc((size_t)schedule->task_count * sizeof *old->changed);
  if (!sorted || !old->task_of || !old->changed) {
    free(sorted);
    return PREM_ERR_MEMORY;
  }
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    sorted[t] = t;
    old->changed[t] = true;
  }
  qsort_r(sorted, (size_t)schedule->task_count, sizeof *sorted, by_name, (void *)schedule);
  for (int32_t t = 0; t < from->task_count; ++t)
    old->task_of[t] = find_task(schedule, sorted, from->tasks[t].name);
  free(sorted);
  bool comparable = same_resources(&from->platform, &schedule->platform);
  for (int32_t t = 0; t < from->task_count && comparable; ++t)
    if (old->task_of[t] >= 0)
      old->changed[old->task_of[t]] =
          !same_task(old, schedule, &from->tasks[t], &schedule->tasks[old->task_of[t]]);
  return PREM_OK;
}

/* ---- slots in terms of the new set ---------------------------------------------------------- */

/* The slot `times` hyperperiods of the older plan later; false: the new set does not have it. */
static bool translate(const prem_planning *planning, const prem_old_plan *old, int64_t times,
                      const prem_slot *was, prem_slot *out) {
  const prem_schedule *schedule = planning->schedule;
  int32_t t = old->task_of[was->task];
  if (t < 0)
    return false;
  const prem_task *task = &schedule->tasks[t];
  int64_t jobs = prem_task_jobs(old->from, &old->from->tasks[was->task]);
  int64_t job = was->job + times * jobs, later_ns = times * old->from->plan->hyperperiod_ns;
  if (was->tile >= task->tile_count || !task->phase[was->phase].exists ||
      task->blocks[was->tile % task->block_count] != was->block ||
      job >= prem_task_jobs(schedule, task) || job < 0)
    return false;
  bool warms_up = was->tile / task->block_count < prem_planning_warmup(planning, task);
  *out = *was;
  out->task = t;
  out->job = (int32_t)job;
  out->planned_ns += later_ns;
  out->head_ns += later_ns;
  out->length_ns = task->phase[was->phase].wcet_ns;
  return !warms_up;
}

/* How many slots stand and fall together from this one on: a pair, and what is chained to it. */
static int64_t group_length(const prem_slot *slots, int64_t i, int64_t count) {
  int64_t next = i + 1;
  if ((slots[i].flags & PREM_SLOT_JOINED) && slots[i].phase == PREM_PREFETCH && next < count &&
      (slots[next].flags & PREM_SLOT_JOINED) && slots[next].phase == PREM_WRITEBACK)
    ++next;
  while (next < count && (slots[next].flags & PREM_SLOT_CHAINED))
    ++next;
  return next - i;
}

/* The lengths of the new set: a chain's later phases begin when those before them end. */
static void set_lengths(const prem_schedule *schedule, prem_slot *group, int64_t count) {
  int64_t next = 1;
  if (count > 1 && (group[1].flags & PREM_SLOT_JOINED)) {
    const prem_task *task = &schedule->tasks[group[0].task];
    bool given = task->joined.exists && group[0].task == group[1].task;
    group[0].length_ns = given ? task->joined.wcet_ns : group[0].length_ns + group[1].length_ns;
    group[1].length_ns = group[0].length_ns;
    next = 2;
  }
  int64_t end_ns = group[0].planned_ns + group[0].length_ns;
  for (; next < count; ++next) {
    group[next].planned_ns = end_ns;
    end_ns += group[next].length_ns;
  }
}

/* A group of which a part is gone loses what ties it together: what has a start of its own stays.
 */
static int64_t translate_group(const prem_planning *planning, prem_old_plan *old, int64_t times,
                               const prem_slot *group, int64_t count) {
  prem_slot *out = &old->slots[old->slot_count];
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i)
    found += translate(planning, old, times, &group[i], &out[found]);
  const prem_plan *from = old->from->plan;
  const bool is_job = group->place >= 0 && group->place < from->affine_count &&
                      (from->affine[group->place].chain & PREM_CHAIN_JOB);
  if (found == count) {
    if (!is_job)
      set_lengths(planning->schedule, out, count);
    return found;
  }
  int64_t kept = 0;
  for (int64_t i = 0; i < found; ++i) {
    if (out[i].flags & PREM_SLOT_CHAINED)
      continue;
    out[kept] = out[i];
    out[kept++].flags = 0;
  }
  return kept;
}

static int64_t repeats(const prem_planning *planning, const prem_old_plan *old) {
  int64_t is_ns = planning->schedule->period_lcm_ns, was_ns = old->from->period_lcm_ns;
  return is_ns && was_ns && is_ns > was_ns && is_ns % was_ns == 0 ? is_ns / was_ns : 1;
}

/* Is the phase a part of the new set, wherever it may be? */
static bool is_removed(const prem_planning *planning, const prem_old_plan *old,
                       const prem_slot *was) {
  prem_slot is;
  return !translate(planning, old, 0, was, &is);
}

static int by_phase(const void *left, const void *right, void *slots) {
  const int64_t i = *(const int64_t *)left, k = *(const int64_t *)right;
  const prem_slot *a = (const prem_slot *)slots + i, *b = (const prem_slot *)slots + k;
  return prem_by_numbers((int64_t[]){a->task, a->job, a->tile, a->phase, i},
                         (int64_t[]){b->task, b->job, b->tile, b->phase, k}, 5);
}

/* A plan that is not legal may have a phase twice: which are there again? NULL: no memory. */
static bool *mark_repeated(const prem_slot *slots, int64_t count) {
  int64_t *order = malloc((size_t)(count + 1) * sizeof *order);
  bool *again = calloc((size_t)count + 1, sizeof *again);
  for (int64_t i = 0; order && i < count; ++i)
    order[i] = i;
  if (order && again)
    qsort_r(order, (size_t)count, sizeof *order, by_phase, (void *)slots);
  for (int64_t i = 1; order && again && i < count; ++i) {
    const prem_slot *a = &slots[order[i - 1]], *b = &slots[order[i]];
    again[order[i]] =
        a->task == b->task && a->job == b->job && a->tile == b->tile && a->phase == b->phase;
  }
  if (!order) {
    free(again);
    again = NULL;
  }
  free(order);
  return again;
}

static bool is_any(const bool *of, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (of[i])
      return true;
  return false;
}

static prem_status translate_all(const prem_planning *planning, const prem_slot *was, int64_t count,
                                 prem_old_plan *old) {
  int64_t times = repeats(planning, old);
  bool *again = mark_repeated(was, count);
  old->slots = calloc((size_t)(count * times + 1), sizeof *old->slots);
  if (!old->slots || !again) {
    free(again);
    return PREM_ERR_MEMORY;
  }
  for (int64_t i = 0, length; i < count; i += length) {
    length = group_length(was, i, count);
    if (was[i].flags & PREM_SLOT_WARMUP)
      continue;
    for (int64_t k = 0; k < length; ++k)
      old->removed += is_removed(planning, old, &was[i + k]);
    old->phases += length;
    if (is_any(&again[i], length)) /* it has its place already */
      continue;
    for (int64_t k = 0; k < times; ++k)
      old->slot_count += translate_group(planning, old, k, &was[i], length);
  }
  free(again);
  return PREM_OK;
}

prem_status prem_old_plan_read(const prem_planning *planning, const prem_schedule *from,
                               prem_old_plan *out) {
  *out = (prem_old_plan){.from = from};
  prem_slot *slots;
  int64_t count;
  prem_status status = prem_plan_expand(from, from->plan, &slots, &count, planning->diag);
  if (!status)
    status = match_tasks(planning->schedule, out);
  if (!status)
    status = translate_all(planning, slots, count, out);
  free(slots);
  return status;
}

void prem_old_plan_free(prem_old_plan *old) {
  PREM_FREE(old->task_of, old->changed, old->slots);
  *old = (prem_old_plan){0};
}

/* ---- the older plan as it is ---------------------------------------------------------------- */

static prem_status copy_runs(const prem_old_plan *old, prem_plan *plan) {
  const prem_plan *was = old->from->plan;
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < was->affine_count && !status; ++i) {
    prem_affine run = was->affine[i];
    run.task = old->task_of[run.task];
    run.join_task = run.join_task < 0 ? -1 : old->task_of[run.join_task];
    status = prem_plan_add_affine(plan, &run);
  }
  for (int32_t i = 0; i < was->starts_count && !status; ++i) {
    prem_starts starts = was->starts[i];
    starts.task = old->task_of[starts.task];
    status = prem_plan_add_starts(plan, &starts);
  }
  return status;
}

/* All of it is still there. What it is made of the planners may not be able to say (any plan that
 * was written by hand), so the second opinion is asked whether it holds. */
/* It is not changed: a longer hyperperiod of a one-shot set is another plan. */
static bool ends_within(const prem_planning *planning, prem_plan *plan) {
  const int64_t length_ns = plan->hyperperiod_ns;
  prem_planning quiet = *planning;
  quiet.diag = NULL;
  return prem_planning_end_within(&quiet, plan) == PREM_OK && plan->hyperperiod_ns == length_ns;
}

prem_status prem_replan_unchanged(const prem_planning *planning, const prem_old_plan *old,
                                  prem_plan *plan) {
  const prem_plan *was = old->from->plan;
  for (int32_t t = 0; t < old->from->task_count; ++t)
    if (old->task_of[t] < 0)
      return PREM_ERR_INFEASIBLE;
  if (old->removed || old->from->task_count != planning->schedule->task_count ||
      was->warmup_tiles != plan->warmup_tiles || was->warmup_ns != plan->warmup_ns)
    return PREM_ERR_INFEASIBLE;
  prem_plan *copy = prem_plan_new();
  prem_status status = copy ? copy_runs(old, copy) : PREM_ERR_MEMORY;
  if (!status) {
    prem_plan *runs = copy;
    copy->hyperperiod_ns = was->hyperperiod_ns;
    copy->clock_step_ns = was->clock_step_ns;
    copy->warmup_tiles = was->warmup_tiles;
    copy->warmup_ns = was->warmup_ns;
    memcpy(copy->policy, was->policy, sizeof copy->policy);
    memcpy(copy->generator, was->generator, sizeof copy->generator);
    prem_schedule judged = *planning->schedule;
    judged.plan = copy;
    prem_machine machine;
    prem_schedule_machine(&judged, &machine);
    machine.clock_step_ns = planning->grid_ns;
    machine.precedence_ns = planning->machine_precedence_ns;
    if (planning->judge(&judged, &machine, NULL) == PREM_OK && ends_within(planning, copy)) {
      prem_plan moved = *plan;
      *plan = *runs;
      *runs = moved;
    } else {
      status = PREM_ERR_INFEASIBLE;
    }
  }
  prem_plan_free(copy);
  return status;
}

/* ---- planning anew -------------------------------------------------------------------------- */

typedef struct replanning {
  const prem_planning *planning;
  const prem_search_limits *limits;
  const prem_old_plan *old;
  prem_repair *repair;
  int64_t *wanted_ns; /* [tile, phase]: where it was; -1: it was not, or in a chain */
  int64_t steps;
} replanning;

static void free_draft(prem_draft *draft) {
  free(draft->placements);
  free(draft->slots);
  *draft = (prem_draft){0};
}

static bool is_over(const replanning *r) {
  const prem_plan_options *options = r->limits->options;
  if ((options->stop && *options->stop) ||
      (options->step_limit > 0 && r->steps >= options->step_limit))
    return true;
  return prem_host_clock_s() - r->limits->began_s >= (double)options->time_limit_ns * 1e-9;
}

/* Of wider and wider tries: where there is none left, a plan is made as if nothing were to be kept.
 */
static bool is_too_late(const replanning *r) {
  const int64_t limit_ns = r->limits->options->time_limit_ns;
  return limit_ns > 0 && prem_host_clock_s() - r->limits->began_s >= (double)limit_ns * 1e-9;
}

/* One plan; again as long as joined pairs had to be parted. */
static prem_status try_once(replanning *r, prem_draft *draft) {
  prem_planning quiet = *r->planning;
  quiet.diag = NULL;
  for (;;) {
    prem_status status = prem_plan_repair(&quiet, r->repair, draft);
    ++r->steps;
    if (!status && !prem_repair_parted(r->repair))
      status = prem_repair_end(r->repair, draft);
    if (!prem_repair_parted(r->repair) || (status && status != PREM_ERR_INFEASIBLE))
      return status;
    free_draft(draft);
  }
}

/* More and more jobs yield to those that are late: first such with more time within their windows,
 * then all within, then further around, at last all. */
static prem_status try_wider(replanning *r, prem_draft *draft) {
  int64_t yielding = 0, jobs;
  prem_repair_yielding(r->repair, &jobs);
  prem_status status = try_once(r, draft);
  for (int64_t around = 1; status == PREM_ERR_INFEASIBLE && yielding < jobs; around *= 2) {
    for (int any = 0; any < 2 && status == PREM_ERR_INFEASIBLE; ++any) {
      int64_t before = yielding;
      if (prem_repair_late_count(r->repair) == 0 || is_too_late(r))
        return status;
      if (prem_repair_yield(r->repair, around, any, &yielding))
        return PREM_ERR_MEMORY;
      if (yielding == before)
        continue;
      free_draft(draft);
      status = try_once(r, draft);
    }
    if (around > INT64_MAX / 4)
      break;
  }
  return status;
}

/* ---- giving places back --------------------------------------------------------------------- */

static int64_t *make_index(const prem_schedule *schedule) {
  int64_t *first = calloc((size_t)schedule->task_count + 1, sizeof *first);
  for (int32_t t = 0; t < schedule->task_count && first; ++t)
    first[t + 1] = first[t] + prem_task_jobs(schedule, &schedule->tasks[t]) *
                                  schedule->tasks[t].tile_count * PREM_PHASE_COUNT;
  return first;
}

static int64_t phase_index(const prem_schedule *schedule, const int64_t *first, int32_t task,
                           int32_t job, int32_t tile, int phase) {
  return first[task] + ((int64_t)job * schedule->tasks[task].tile_count + tile) * PREM_PHASE_COUNT +
         phase;
}

/* Where each phase was; -1: nowhere. A chained phase is where its chain lets it. */
static int64_t *list_wanted(const prem_planning *planning, const prem_old_plan *old,
                            const int64_t *first) {
  const prem_schedule *schedule = planning->schedule;
  int64_t count = first[schedule->task_count];
  int64_t *wanted_ns = malloc((size_t)(count + 1) * sizeof *wanted_ns);
  for (int64_t i = 0; i < count && wanted_ns; ++i)
    wanted_ns[i] = -1;
  for (int64_t i = 0; i < old->slot_count && wanted_ns; ++i) {
    const prem_slot *slot = &old->slots[i];
    wanted_ns[phase_index(schedule, first, slot->task, slot->job, slot->tile, slot->phase)] =
        slot->planned_ns;
  }
  return wanted_ns;
}

static int64_t count_moved(const replanning *r, const int64_t *first, const prem_draft *draft) {
  int64_t moved = 0;
  for (int64_t i = 0; i < draft->count; ++i) {
    const prem_placement *p = &draft->placements[i];
    for (int32_t m = 0; m < p->count; ++m) {
      int64_t wanted_ns = r->wanted_ns[phase_index(r->planning->schedule, first, p->task, p->job,
                                                   p->tile + m, (int)p->phase)];
      moved += wanted_ns >= 0 && wanted_ns != p->start_ns;
    }
  }
  return moved;
}

/** A plan, and how many phases are elsewhere in it. */
typedef struct candidate {
  prem_draft *draft;
  int64_t moved;
} candidate;

/* A plan in which these jobs have their places again, if it is one and moves less. */
static prem_status try_without(replanning *r, const int64_t *first, const int64_t *jobs,
                               int64_t count, bool *yielding, candidate *best) {
  for (int64_t i = 0; i < count; ++i)
    yielding[jobs[i]] = false;
  prem_draft draft = {0};
  prem_status status = try_once(r, &draft);
  int64_t moved = status ? INT64_MAX : count_moved(r, first, &draft);
  if (moved < best->moved) {
    free_draft(best->draft);
    *best->draft = draft;
    best->moved = moved;
    return PREM_OK;
  }
  free_draft(&draft);
  for (int64_t i = 0; i < count; ++i)
    yielding[jobs[i]] = true;
  return status == PREM_ERR_INFEASIBLE ? PREM_OK : status;
}

/* Let jobs have their places again, in groups of half of them, a quarter, at last one by one: what
 * still gives a plan, and moves less, stays. */
static prem_status give_back(replanning *r, const int64_t *first, prem_draft *draft) {
  candidate best = {draft, count_moved(r, first, draft)};
  int64_t jobs, count = 0;
  bool *yielding = prem_repair_yielding(r->repair, &jobs);
  int64_t *list = malloc((size_t)(jobs + 1) * sizeof *list);
  if (!list)
    return PREM_ERR_MEMORY;
  for (int64_t q = 0; q < jobs; ++q)
    if (yielding[q])
      list[count++] = q;
  prem_status status = PREM_OK;
  for (int64_t size = (count + 1) / 2; size > 0 && !status; size = size == 1 ? 0 : (size + 1) / 2)
    for (int64_t from = 0; from < count && best.moved > 0 && !is_over(r) && !status; from += size)
      status = try_without(r, first, list + from, size < count - from ? size : count - from,
                           yielding, &best);
  free(list);
  return status;
}

prem_status prem_replan(const prem_planning *planning, const prem_search_limits *limits,
                        const prem_old_plan *old, prem_draft *draft, int64_t *steps) {
  replanning r = {.planning = planning, .limits = limits, .old = old};
  int64_t *first = make_index(planning->schedule);
  *draft = (prem_draft){0};
  r.wanted_ns = first ? list_wanted(planning, old, first) : NULL;
  prem_status status = r.wanted_ns ? PREM_OK : PREM_ERR_MEMORY;
  if (!status)
    status = prem_repair_new(planning, old->slots, old->slot_count, old->changed, &r.repair);
  if (!status)
    status = try_wider(&r, draft);
  if (!status)
    status = give_back(&r, first, draft);
  if (status)
    free_draft(draft);
  prem_repair_free(r.repair);
  free(r.wanted_ns);
  free(first);
  *steps = r.steps;
  return status;
}

prem_status prem_replan_count(const prem_planning *planning, const prem_old_plan *old,
                              const prem_plan *plan, prem_plan_report *report) {
  const prem_schedule *schedule = planning->schedule;
  int64_t *first = make_index(schedule), count = 0;
  int64_t *wanted_ns = first ? list_wanted(planning, old, first) : NULL;
  prem_slot *slots = NULL;
  prem_status status =
      wanted_ns ? prem_plan_expand(schedule, plan, &slots, &count, NULL) : PREM_ERR_MEMORY;
  for (int64_t i = 0; i < count && !status; ++i) {
    const prem_slot *slot = &slots[i];
    if ((slot->flags & PREM_SLOT_WARMUP) || schedule->tasks[slot->task].is_copy)
      continue;
    int64_t was_ns =
        wanted_ns[phase_index(schedule, first, slot->task, slot->job, slot->tile, slot->phase)];
    report->kept += was_ns == slot->planned_ns;
    report->moved += was_ns >= 0 && was_ns != slot->planned_ns;
    report->added += was_ns < 0;
  }
  report->removed = old->removed;
  report->keeps = true;
  PREM_FREE(slots, wanted_ns, first);
  return status;
}
