/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of schedules with best-effort tasks: that of the critical ones, and the windows in which
 * the memory is closed to the others. */
#include "schedules/planner/planner.h"

#include <stdio.h>
#include <stdlib.h>

/** Closed windows while they are collected. */
typedef struct closing {
  prem_closed_window *windows;
  int64_t count;
  int64_t length_ns; /* of the hyperperiod */
} closing;

static int by_start(const void *left, const void *right) {
  const prem_closed_window *a = left, *b = right;
  return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* ---- what is closed ------------------------------------------------------------------------- */

/* What reaches over the hyperperiod's end closes the beginning of the next one. */
static void close_from(closing *c, int64_t start_ns, int64_t end_ns) {
  const int64_t length_ns = end_ns - start_ns;
  const int64_t from_ns = start_ns - prem_div_floor(start_ns, c->length_ns) * c->length_ns;
  if (length_ns >= c->length_ns) {
    c->windows[c->count++] = (prem_closed_window){0, c->length_ns};
    return;
  }
  const int64_t left_ns = c->length_ns - from_ns;
  c->windows[c->count++] =
      (prem_closed_window){from_ns, from_ns + prem_min_i64(length_ns, left_ns)};
  if (length_ns > left_ns)
    c->windows[c->count++] = (prem_closed_window){0, length_ns - left_ns};
}

/* A chained phase begins as early as its chain where those before it take no time. */
static void close_slot(const prem_schedule *schedule, closing *c, const prem_slot *slot) {
  const prem_task *task = &schedule->tasks[slot->task];
  const bool joined = (slot->flags & PREM_SLOT_JOINED) && task->joined.exists;
  const bool is_chained = slot->flags & PREM_SLOT_CHAINED;
  if ((slot->flags & PREM_SLOT_WARMUP) ||
      (task->phase[slot->phase].demand[0] == 0 && !(joined && task->joined.demand[0] > 0)))
    return;
  close_from(c, is_chained ? slot->head_ns : slot->planned_ns, slot->planned_ns + slot->length_ns);
}

/* Those that touch are one. */
static void merge(closing *c) {
  int64_t kept = 0;
  qsort(c->windows, (size_t)c->count, sizeof *c->windows, by_start);
  for (int64_t i = 0; i < c->count; ++i) {
    prem_closed_window *last = kept > 0 ? &c->windows[kept - 1] : NULL;
    if (last && c->windows[i].start_ns <= last->end_ns)
      last->end_ns = prem_max_i64(last->end_ns, c->windows[i].end_ns);
    else
      c->windows[kept++] = c->windows[i];
  }
  c->count = kept;
}

/* Gaps in which no memory phase of best effort could run are closed as well, that round the
 * hyperperiod's end too. */
static void close_gaps(closing *c, int64_t least_ns) {
  if (c->count == 0)
    return;
  int64_t kept = 1;
  for (int64_t i = 1; i < c->count; ++i) {
    prem_closed_window *last = &c->windows[kept - 1];
    if (c->windows[i].start_ns - last->end_ns < least_ns)
      last->end_ns = c->windows[i].end_ns;
    else
      c->windows[kept++] = c->windows[i];
  }
  prem_closed_window *first = &c->windows[0], *last = &c->windows[kept - 1];
  if (c->length_ns - last->end_ns + first->start_ns < least_ns) {
    last->end_ns = c->length_ns;
    first->start_ns = 0;
  }
  c->count = kept;
}

/* The shortest and the longest time ahead of all best-effort memory phases; 0: there are none. */
static void find_ahead(const prem_schedule *schedule, int64_t *least_ns, int64_t *most_ns) {
  *least_ns = *most_ns = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT && schedule->tasks[t].best_effort; ++p) {
      const int64_t ahead_ns = prem_ahead_ns(schedule, &schedule->tasks[t], (prem_phase)p);
      if (ahead_ns > 0 && (*least_ns == 0 || ahead_ns < *least_ns))
        *least_ns = ahead_ns;
      *most_ns = prem_max_i64(*most_ns, ahead_ns);
    }
}

static int64_t open_ns_of(const closing *c, int64_t ahead_ns) {
  int64_t open_ns = c->count > 0 ? 0 : c->length_ns;
  for (int64_t i = 0; i < c->count; ++i) {
    const bool is_last = i + 1 == c->count;
    const int64_t next_ns = c->windows[is_last ? 0 : i + 1].start_ns + is_last * c->length_ns;
    open_ns += prem_max_i64(0, next_ns - c->windows[i].end_ns - ahead_ns);
  }
  return open_ns;
}

prem_status prem_planner_close(const prem_schedule *schedule, prem_plan *plan, prem_diag *diag) {
  prem_schedule planned = *schedule; /* its clock has the plan's step */
  prem_slot *slots = NULL;
  int64_t count = 0, least_ns = 0, most_ns = 0;
  plan->gates = true;
  planned.plan = plan;
  find_ahead(&planned, &least_ns, &most_ns);
  prem_status status = prem_plan_expand(schedule, plan, &slots, &count, diag);
  if (status != PREM_OK)
    return status;
  closing c = {.length_ns = plan->hyperperiod_ns,
               .windows = malloc((size_t)(2 * count + 1) * sizeof *c.windows)};
  if (!c.windows) {
    free(slots);
    return PREM_ERR_MEMORY;
  }
  if (plan->warmup_tiles > 0 && plan->warmup_ns > 0)
    c.windows[c.count++] = (prem_closed_window){0, prem_min_i64(plan->warmup_ns, c.length_ns)};
  for (int64_t i = 0; i < count; ++i)
    close_slot(schedule, &c, &slots[i]);
  merge(&c);
  close_gaps(&c, least_ns);
  plan->open_ns = open_ns_of(&c, most_ns);
  for (int64_t i = 0; i < c.count && status == PREM_OK; ++i)
    status = prem_plan_add_closed(plan, c.windows[i].start_ns, c.windows[i].end_ns);
  free(c.windows);
  free(slots);
  return status;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* Bounds are needed for the windows as WCETs are for the plan. */
static bool has_bounds(const prem_schedule *schedule, prem_diag *diag) {
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (!task->best_effort || prem_task_profiled(task))
      continue;
    prem_diag_add(diag, PREM_ERROR, 0, task->place, "tasks",
                  "no profile: run `ttprem fit`; there are no bounds (wcet_ns) for the phases "
                  "of best-effort task '%s'",
                  task->name);
    return false;
  }
  return true;
}

/* Without critical tasks nothing has an instant: runs are counted by the hyperperiod. */
static prem_status plan_nothing(const char *policy, prem_plan **out, prem_plan_report *report) {
  enum { LENGTH_NS = 1000000 };
  *out = prem_plan_new();
  if (!*out)
    return PREM_ERR_MEMORY;
  (*out)->hyperperiod_ns = report->hyperperiod_ns = LENGTH_NS;
  report->verdict = PREM_PLAN_FEASIBLE;
  snprintf((*out)->policy, sizeof(*out)->policy, "%s", policy);
  snprintf(report->method, sizeof report->method, "%s", policy);
  return PREM_OK;
}

/* Best effort must be able to run (E052), as much as the file asks for (E053), and servers in time
 * (E056, E057): what the checker will say of that says why there is no plan. */
static prem_status judge_open(const prem_schedule *schedule, prem_plan *plan, prem_judge *judge,
                              prem_diag *diag) {
  prem_schedule judged = *schedule;
  prem_diag *found = prem_diag_new();
  prem_status status = found ? PREM_OK : PREM_ERR_MEMORY;
  judged.plan = plan;
  if (found && judge(&judged, NULL, found) == PREM_ERR_MEMORY)
    status = PREM_ERR_MEMORY;
  for (size_t i = 0; i < prem_diag_count(found); ++i) {
    const prem_problem *problem = prem_diag_at(found, i);
    if (problem->code != 52 && problem->code != 53 && problem->code != 56 && problem->code != 57)
      continue;
    prem_diag_add(diag, PREM_ERROR, problem->code, (prem_place){problem->file, problem->line},
                  problem->key, "no plan found: %s", problem->reason);
    status = status ? status : PREM_ERR_INFEASIBLE;
  }
  prem_diag_free(found);
  return status;
}

prem_status prem_planner_make_gated(const prem_schedule *schedule, const prem_machine *machine,
                                    const prem_plan_options *options, prem_judge *judge, bool tells,
                                    prem_plan **out, prem_plan_report *report, prem_diag *diag) {
  prem_schedule *critical = NULL, *kept = NULL;
  prem_plan_options own = {0};
  int32_t *tasks = NULL;
  if (options)
    own = *options;
  *report = (prem_plan_report){.verdict = PREM_PLAN_UNKNOWN};
  if (!has_bounds(schedule, diag))
    return PREM_ERR_INVALID;
  prem_status status = prem_schedule_critical(schedule, &critical, &tasks);
  if (status == PREM_OK && own.keep)
    status = prem_schedule_critical(own.keep, &kept, NULL);
  if (status == PREM_OK) {
    own.keep = kept;
    prem_schedule_set_plan(critical, NULL);
    status = critical->task_count == 0
                 ? plan_nothing(own.policy ? own.policy : schedule->policy.use, out, report)
                 : prem_planner_make_one(critical, machine, &own, judge,
                                         (prem_planner_wish){.tells = tells}, out, report, diag);
  }
  if (status == PREM_OK) {
    prem_plan_number_tasks(*out, tasks);
    status = prem_planner_close(schedule, *out, diag);
  }
  if (status == PREM_OK)
    status = judge_open(schedule, *out, judge, diag);
  if (status != PREM_OK) {
    prem_plan_free(*out);
    *out = NULL;
    report->verdict = PREM_PLAN_UNKNOWN;
    report->optimal = false;
  }
  prem_schedule_free(critical);
  prem_schedule_free(kept);
  free(tasks);
  return status;
}
