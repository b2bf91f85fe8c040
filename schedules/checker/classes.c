/* SPDX-License-Identifier: Apache-2.0 */
/* What is between critical and best-effort tasks: they share nothing but the memory, and that is
 * closed to best effort while critical memory phases run. */
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "schedules/checker/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void refuse_task(const prem_checker *checker, int code, const prem_task *task,
                        const char *key, const char *reason) {
  prem_diag_add(checker->diag, PREM_ERROR, code, task->place,
                prem_key("tasks.%s.%s", task->name, key).text, "%s", reason);
}

static const char *class_of(const prem_task *task) {
  return task->best_effort ? "best effort" : "critical";
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* A task of the class on each block; -1: none. */
static prem_status check_class_blocks(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  int32_t *critical = malloc(((size_t)schedule->platform.blocks + 1) * sizeof *critical);
  char reason[2 * PREM_NAME_BYTES + 200];
  if (!critical)
    return PREM_ERR_MEMORY;
  for (int32_t b = 0; b < schedule->platform.blocks; ++b)
    critical[b] = -1;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t i = 0; !schedule->tasks[t].best_effort && i < schedule->tasks[t].block_count; ++i)
      critical[schedule->tasks[t].blocks[i]] = t;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    int32_t i = 0;
    while (task->best_effort && i < task->block_count && critical[task->blocks[i]] < 0)
      ++i;
    if (!task->best_effort || i == task->block_count)
      continue;
    snprintf(reason, sizeof reason,
             "block %d is also one of critical task '%s': best effort runs on blocks of its own; "
             "use others (with blocks_per_sm = 2, block b and block b + sms are on one SM)",
             task->blocks[i], schedule->tasks[critical[task->blocks[i]]].name);
    refuse_task(checker, 55, task, "blocks", reason);
  }
  free(critical);
  return PREM_OK;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* What the first tasks of both classes do with an array; the writers before readers. */
typedef struct class_use {
  int32_t task[2]; /* by class; -1: none uses it */
  bool writes[2];
} class_use;

static void note_use(class_use *use, int32_t t, bool best_effort, bool writes) {
  if (use->task[best_effort] >= 0 && (use->writes[best_effort] || !writes))
    return;
  use->task[best_effort] = t;
  use->writes[best_effort] = writes;
}

static void refuse_shared(const prem_checker *checker, int32_t array, const class_use *use) {
  const prem_task *task = &checker->schedule->tasks[use->task[1]];
  char reason[3 * PREM_NAME_BYTES + 200];
  snprintf(
      reason, sizeof reason,
      "%s array '%s', which critical task '%s' %s: nothing keeps an order between the classes; "
      "give each an array of its own",
      use->writes[1] ? "writes" : "reads", checker->schedule->arrays[array].name,
      checker->schedule->tasks[use->task[0]].name, use->writes[0] ? "writes" : "reads");
  refuse_task(checker, 45, task, "arrays", reason);
}

static prem_status check_class_arrays(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  class_use *uses = malloc(((size_t)schedule->array_count + 1) * sizeof *uses);
  if (!uses)
    return PREM_ERR_MEMORY;
  for (int32_t a = 0; a < schedule->array_count; ++a)
    uses[a] = (class_use){.task = {-1, -1}};
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; task->definition && task->arrays && p < task->definition->port_count; ++p)
      note_use(&uses[task->arrays[p]], t, task->best_effort,
               task->definition->ports[p].access == PREM_OUT);
  }
  for (int32_t a = 0; a < schedule->array_count; ++a)
    if (uses[a].task[0] >= 0 && uses[a].task[1] >= 0 && (uses[a].writes[0] || uses[a].writes[1]))
      refuse_shared(checker, a, &uses[a]);
  free(uses);
  return PREM_OK;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void check_class_edges(const prem_checker *checker, const prem_task *task) {
  for (int32_t a = 0; a < task->after_count; ++a) {
    const prem_task *before = &checker->schedule->tasks[task->after[a].task];
    if (before->best_effort == task->best_effort)
      continue;
    prem_diag_add(checker->diag, PREM_ERROR, 55,
                  task->after[a].place.line ? task->after[a].place : task->place,
                  prem_key("tasks.%s.after", task->name).text,
                  "'%s' is %s and '%s' is %s: tasks come after others of their own class alone; "
                  "leave this out, or give both one class",
                  task->name, class_of(task), before->name, class_of(before));
  }
}

/* Again and again has no hyperperiod to be counted in beside a rate. */
static void check_rates(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  const prem_task *first = NULL;
  char reason[PREM_NAME_BYTES + 160];
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (!task->best_effort)
      continue;
    first = first ? first : task;
    if ((task->period_ns > 0) == (first->period_ns > 0))
      continue;
    snprintf(reason, sizeof reason,
             "%s, and '%s' %s: give all best-effort tasks a period_ns, or none",
             task->period_ns > 0 ? "has a period_ns" : "has no period_ns", first->name,
             first->period_ns > 0 ? "has one" : "has none");
    refuse_task(checker, 55, task, "period_ns", reason);
    return;
  }
}

/* A given time ahead must do for all phases. */
static void check_ahead(const prem_checker *checker, const prem_task *task) {
  const prem_best_effort *given = &checker->schedule->platform.best_effort;
  prem_schedule derived = *checker->schedule;
  derived.platform.best_effort.ahead_ns = 0;
  for (int p = 0; task->best_effort && given->ahead_ns > 0 && p < PREM_PHASE_COUNT; ++p) {
    const int64_t needed_ns = prem_ahead_ns(&derived, task, (prem_phase)p);
    if (needed_ns > given->ahead_ns)
      prem_diag_add(checker->diag, PREM_ERROR, 55, given->place, "platform.best_effort.ahead_ns",
                    "%" PRId64 " ns are less than the %" PRId64
                    " ns of the %s of '%s', its bound and a step of the clock: it could reach into "
                    "a closed window; give %" PRId64 "L, or leave ahead_ns out",
                    given->ahead_ns, needed_ns, prem_phase_name((prem_phase)p), task->name,
                    needed_ns);
  }
}

static void check_live(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  if (schedule->live_count > 0 || schedule->operating_mode_count > 0)
    prem_diag_add(checker->diag, PREM_ERROR, 55,
                  schedule->live_count > 0 ? schedule->live[0].place
                                           : schedule->operating_modes[0].place,
                  "live",
                  "stands beside best-effort tasks, and a live session has no gate yet: leave "
                  "`live` out, or the tasks with class = \"best_effort\"");
}

prem_status prem_check_classes(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    check_class_edges(checker, &schedule->tasks[t]);
    check_ahead(checker, &schedule->tasks[t]);
  }
  check_rates(checker);
  check_live(checker);
  prem_status status = prem_check_servers(checker);
  if (status == PREM_OK)
    status = check_class_blocks(checker);
  return status == PREM_OK ? check_class_arrays(checker) : status;
}

/* ---- closed windows ------------------------------------------------------------------------- */

/** Where one more critical memory phase runs, or one less, within the hyperperiod. */
typedef struct edge {
  int64_t at_ns;
  int32_t step;
} edge;

typedef struct closed_check {
  const prem_checker *checker;
  int64_t length_ns;
  edge *edges;
  int64_t edge_count;
  prem_closed_window *windows; /* as they follow from the phases */
  int32_t window_count;
  int64_t longest_ns;        /* between two phases or groups of them, joined or not */
  int64_t least_ns, most_ns; /* ahead of a window, of all best-effort memory phases; 0: none */
} closed_check;

static int by_instant(const void *left, const void *right) {
  const edge *a = left, *b = right;
  if (a->at_ns != b->at_ns)
    return a->at_ns < b->at_ns ? -1 : 1;
  return (a->step < b->step) - (a->step > b->step); /* begin before end: what touches is one */
}

static void add_span(closed_check *c, int64_t from_ns, int64_t to_ns) {
  if (from_ns >= to_ns)
    return;
  c->edges[c->edge_count++] = (edge){from_ns, 1};
  c->edges[c->edge_count++] = (edge){to_ns, -1};
}

/* From an instant of any hyperperiod on, cut where the hyperperiod ends. */
static void add_phase(closed_check *c, int64_t start_ns, int64_t end_ns) {
  if (end_ns - start_ns >= c->length_ns) {
    add_span(c, 0, c->length_ns);
    return;
  }
  start_ns %= c->length_ns;
  end_ns %= c->length_ns;
  if (start_ns < end_ns) {
    add_span(c, start_ns, end_ns);
  } else { /* they are not the same instant, unless it takes no time */
    add_span(c, start_ns, c->length_ns);
    add_span(c, 0, end_ns);
  }
}

/* Of the plan's promise, an event-driven phase uses what it likes: durations below their bounds let
 * a chained one begin as early as its chain, never end later than planned. */
static void collect_phases(closed_check *c, const prem_slot *slots, int64_t count) {
  const prem_checker *checker = c->checker;
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &slots[i];
    const prem_task *task = &checker->schedule->tasks[slot->task];
    bool at_memory = task->phase[slot->phase].demand[0] > 0;
    if ((slot->flags & PREM_SLOT_JOINED) && task->joined.exists)
      at_memory = at_memory || task->joined.demand[0] > 0;
    if (at_memory && !(slot->flags & PREM_SLOT_WARMUP) && slot->head_ns >= 0)
      add_phase(c, (slot->flags & PREM_SLOT_CHAINED) ? slot->head_ns : slot->planned_ns,
                prem_slot_end_ns(slot));
  }
  if (checker->plan->warmup_tiles > 0)
    add_span(c, 0,
             checker->plan->warmup_ns < c->length_ns ? checker->plan->warmup_ns : c->length_ns);
}

/* True: it is too short for any phase of best effort. */
static bool note_gap(closed_check *c, int64_t gap_ns) {
  c->longest_ns = gap_ns > c->longest_ns ? gap_ns : c->longest_ns;
  return gap_ns <= 0 || gap_ns < c->least_ns;
}

static void find_windows(closed_check *c) {
  int32_t depth = 0;
  int64_t from_ns = 0;
  qsort(c->edges, (size_t)c->edge_count, sizeof *c->edges, by_instant);
  for (int64_t i = 0; i < c->edge_count; ++i) {
    if (depth == 0)
      from_ns = c->edges[i].at_ns;
    depth += c->edges[i].step;
    if (depth > 0)
      continue;
    prem_closed_window *last = c->window_count > 0 ? &c->windows[c->window_count - 1] : NULL;
    if (last && note_gap(c, from_ns - last->end_ns))
      last->end_ns = c->edges[i].at_ns;
    else
      c->windows[c->window_count++] = (prem_closed_window){from_ns, c->edges[i].at_ns};
  }
  if (c->window_count == 0)
    return;
  prem_closed_window *first = &c->windows[0], *last = &c->windows[c->window_count - 1];
  if (note_gap(c, first->start_ns + c->length_ns - last->end_ns)) {
    first->start_ns = 0;
    last->end_ns = c->length_ns;
  }
}

static void find_ahead(closed_check *c) {
  const prem_schedule *schedule = c->checker->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = PREM_WRITEBACK; p >= 0 && schedule->tasks[t].best_effort; --p) {
      const int64_t ahead_ns = prem_ahead_ns(schedule, &schedule->tasks[t], (prem_phase)p);
      if (ahead_ns == 0)
        continue;
      c->least_ns = c->least_ns == 0 || ahead_ns < c->least_ns ? ahead_ns : c->least_ns;
      c->most_ns = ahead_ns > c->most_ns ? ahead_ns : c->most_ns;
    }
}

/* ---- what the plan says of them -------------------------------------------------------------- */

static void refuse_closed(const prem_checker *checker, const char *key, const char *format, ...)
    PREM_PRINTF(3, 4);
static void refuse_closed(const prem_checker *checker, const char *key, const char *format, ...) {
  char path[64], reason[512];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  snprintf(path, sizeof path, "plan.closed%s", key);
  prem_diag_add(checker->diag, PREM_ERROR, 54, checker->plan->place, path, "%s: plan again",
                reason);
}

/* Sorted, apart, within the hyperperiod. */
static bool are_windows(const closed_check *c) {
  const prem_plan *plan = c->checker->plan;
  int64_t from_ns = -1;
  for (int32_t i = 0; i < plan->closed_count; ++i) {
    const prem_closed_window *w = &plan->closed[i];
    if (w->start_ns <= from_ns || w->end_ns <= w->start_ns || w->end_ns > c->length_ns) {
      refuse_closed(c->checker, ".start_ns",
                    "window %d, [%" PRId64 ", %" PRId64
                    "), is empty, not after the one before it, or not in the hyperperiod of "
                    "%" PRId64 " ns",
                    i, w->start_ns, w->end_ns, c->length_ns);
      return false;
    }
    from_ns = w->end_ns;
  }
  return true;
}

static void compare_pair(const closed_check *c, int32_t i, const prem_closed_window *due,
                         const prem_closed_window *is) {
  const bool is_short = is->start_ns > due->start_ns || is->end_ns < due->end_ns;
  if (is->start_ns != due->start_ns || is->end_ns != due->end_ns)
    refuse_closed(c->checker, is->start_ns != due->start_ns ? ".start_ns" : ".end_ns",
                  "window %d is [%" PRId64 ", %" PRId64 "), too %s: by the plan it is [%" PRId64
                  ", %" PRId64 ")",
                  i, is->start_ns, is->end_ns, is_short ? "short" : "long", due->start_ns,
                  due->end_ns);
}

/* Both lists at once: what lies behind the other's window is missing there. */
static void compare_windows(const closed_check *c) {
  const prem_plan *plan = c->checker->plan;
  int32_t i = 0, d = 0;
  while (i < plan->closed_count || d < c->window_count) {
    const prem_closed_window *is = i < plan->closed_count ? &plan->closed[i] : NULL;
    const prem_closed_window *due = d < c->window_count ? &c->windows[d] : NULL;
    if (!is || (due && due->end_ns <= is->start_ns)) {
      refuse_closed(c->checker, "",
                    "a window is missing: critical memory phases run in [%" PRId64 ", %" PRId64 ")",
                    due->start_ns, due->end_ns);
      ++d;
    } else if (!due || is->end_ns <= due->start_ns) {
      refuse_closed(c->checker, "",
                    "window %d, [%" PRId64 ", %" PRId64
                    "), is one too many: no critical memory phase runs there",
                    i, is->start_ns, is->end_ns);
      ++i;
    } else {
      compare_pair(c, i, due, is);
      ++i;
      ++d;
    }
  }
}

/* ---- what is left for best effort ------------------------------------------------------------ */

/* Behind a window, until the next one; the last is followed by the first of the next hyperperiod.
 */
static int64_t gap_behind(const closed_check *c, int32_t i) {
  const int64_t end_ns = c->windows[i].end_ns;
  return i + 1 < c->window_count ? c->windows[i + 1].start_ns - end_ns
                                 : c->windows[0].start_ns + (c->length_ns - end_ns);
}

static void check_open(const closed_check *c) {
  const prem_checker *checker = c->checker;
  const prem_schedule *schedule = checker->schedule;
  int64_t open_ns = c->window_count == 0 ? c->length_ns : 0;
  for (int32_t i = 0; i < c->window_count; ++i)
    open_ns += gap_behind(c, i) > c->most_ns ? gap_behind(c, i) - c->most_ns : 0;
  const double share = (double)open_ns / (double)c->length_ns;
  if (checker->plan->open_ns != open_ns)
    refuse_closed(checker, ".open_ns", "%" PRId64 " ns, but by the plan %" PRId64 " ns stay open",
                  checker->plan->open_ns, open_ns);
  if (share < schedule->policy.open_share)
    prem_diag_add(checker->diag, PREM_ERROR, 53, schedule->policy.place, "policy.open_share",
                  "%g of the time is to stay open to best effort, but %.4f does: %" PRId64
                  " of %" PRId64 " ns, in which its longest memory phase may begin; make critical "
                  "memory phases shorter or rarer, best-effort tiles smaller, or ask for less",
                  schedule->policy.open_share, share, open_ns, c->length_ns);
}

/* A phase that fits between no two windows would wait for ever. */
static void check_runnable(const closed_check *c) {
  const prem_schedule *schedule = c->checker->schedule;
  for (int32_t t = 0; t < schedule->task_count && c->window_count > 0; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT && schedule->tasks[t].best_effort; ++p) {
      const prem_task *task = &schedule->tasks[t];
      const int64_t ahead_ns = prem_ahead_ns(schedule, task, (prem_phase)p);
      if (ahead_ns <= c->longest_ns)
        continue;
      prem_diag_add(
          c->checker->diag, PREM_ERROR, 52,
          task->phase[p].place.line ? task->phase[p].place : task->place,
          prem_key("tasks.%s.%s.wcet_ns", task->name, prem_phase_name((prem_phase)p)).text,
          "would never begin: it asks for %" PRId64
          " ns before a closed window, and the longest time between two is %" PRId64
          " ns; use smaller tiles, or fewer or shorter critical memory phases",
          ahead_ns, c->longest_ns);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What the plan has no right to hold, and what the windows cannot be found without. */
static bool can_be_judged(const prem_checker *checker) {
  const prem_schedule *schedule = checker->schedule;
  const prem_plan *plan = checker->plan;
  const size_t before = prem_diag_errors(checker->diag);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].best_effort && !prem_task_profiled(&schedule->tasks[t]))
      refuse_task(checker, 16, &schedule->tasks[t], "wcet_ns",
                  "a phase has no bound, so nobody knows when it may begin before a closed window: "
                  "run `ttprem profile`, then plan again");
  for (int32_t i = 0; i < plan->affine_count; ++i)
    if (schedule->tasks[plan->affine[i].task].best_effort)
      prem_diag_add(checker->diag, PREM_ERROR, 55, plan->affine[i].place, "plan.runs",
                    "starts phases of best-effort task '%s', which have no instants: plan again",
                    schedule->tasks[plan->affine[i].task].name);
  for (int32_t i = 0; i < plan->starts_count; ++i)
    if (schedule->tasks[plan->starts[i].task].best_effort)
      prem_diag_add(checker->diag, PREM_ERROR, 55, plan->starts[i].place, "plan.starts",
                    "starts phases of best-effort task '%s', which have no instants: plan again",
                    schedule->tasks[plan->starts[i].task].name);
  if (!plan->gates)
    refuse_closed(checker, "", "missing, beside best-effort tasks");
  return prem_diag_errors(checker->diag) == before && checker->hyperperiod_ns > 0;
}

static prem_status judge_closed(closed_check *c) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  prem_status status =
      prem_plan_expand(c->checker->schedule, c->checker->plan, &slots, &count, NULL);
  if (status != PREM_OK) /* the critical tasks' part has said so */
    return status == PREM_ERR_MEMORY ? status : PREM_OK;
  c->edges = malloc((size_t)(4 * count + 4) * sizeof *c->edges);
  c->windows = malloc((size_t)(2 * count + 2) * sizeof *c->windows);
  status = c->edges && c->windows ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    collect_phases(c, slots, count);
    find_ahead(c);
    find_windows(c);
    if (are_windows(c))
      compare_windows(c);
    check_open(c);
    check_runnable(c);
  }
  PREM_FREE(slots, c->edges, c->windows);
  return status;
}

prem_status prem_check_closed(const prem_checker *checker) {
  closed_check c = {.checker = checker, .length_ns = checker->hyperperiod_ns};
  const size_t before = prem_diag_errors(checker->diag);
  const prem_status status = can_be_judged(checker) ? judge_closed(&c) : PREM_OK;
  const bool are_right = prem_diag_errors(checker->diag) == before;
  return status == PREM_OK && are_right ? prem_check_responses(checker) : status;
}
