/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why there is no plan. A proof is looked for in this order: a path of precedence that leaves no
 * time, a renewable that is asked for more than it has within an interval (preemptive earliest
 * deadline first finds one if there is any), no order left at all. Then tasks are left out one by
 * one, and renewables, for as long as the proof holds: a deletion filter (J. Chinneck, E.
 * Dravnieks, 1991, Locating minimal infeasible constraint sets in linear programs).
 */
#include "schedules/planner/proof/explain.h"
#include "prem/base/clock.h"
#include "prem/base/list.h"
#include "schedules/planner/common/jackson.h"
#include "schedules/planner/proof/exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBE_STEPS = 200000000, MAX_FILTERED = 400, NAMED = 8 };
#define MIN_NS INT64_C(200000000) /* for smaller sets of a proof that was found at once */

typedef enum proof_kind { NOTHING, BY_PATH, BY_LINE, BY_ORDER } proof_kind;

/** What was proven, in ns. */
typedef struct proof {
  proof_kind kind;
  prem_node node;    /* by path: it cannot start in [from, to] */
  int32_t renewable; /* by renewable: in [from, to) */
  int64_t from, to;
  prem_wide asked, there;
  bool *tasks; /* by path and renewable: who takes part */
} proof;

typedef struct explaining {
  const prem_planning *planning;
  const volatile sig_atomic_t *stop;
  double until_s;
  bool *without_tasks, *without_renewables;
  int64_t order_steps;    /* of the refuter; 0: orders need not be looked at */
  int64_t order_limit_ns; /* of the solver */
  bool measured;          /* both are what the first proof by order took */
  proof found;
} explaining;

static bool in_time(const explaining *e) {
  return prem_host_clock_s() < e->until_s && !(e->stop && *e->stop);
}

static int32_t task_count(const explaining *e) {
  return e->planning->schedule->task_count;
}

/* ---- paths and renewables ------------------------------------------------------------------- */

typedef struct paths {
  prem_rules rules;
  int64_t *head, *tail, *latest;
  prem_work *works;
  int32_t *heap;
} paths;

static void close_paths(paths *p) {
  PREM_FREE(p->head, p->tail, p->latest, p->works, p->heap);
  prem_rules_free(&p->rules);
}

static bool open_paths(const explaining *e, paths *p) {
  *p = (paths){0};
  prem_without without = {e->without_tasks, e->without_renewables};
  if (prem_rules_build(e->planning, true, &without, INT32_MAX, &p->rules))
    return false;
  size_t nodes = (size_t)p->rules.node_count + 1, holds = (size_t)p->rules.hold_count + 1;
  p->head = malloc(nodes * sizeof *p->head);
  p->tail = malloc(nodes * sizeof *p->tail);
  p->latest = malloc(nodes * sizeof *p->latest);
  p->works = malloc(holds * sizeof *p->works);
  p->heap = malloc(holds * sizeof *p->heap);
  if (p->head && p->tail && p->latest && p->works && p->heap &&
      prem_rules_paths(&p->rules, p->head, p->tail, p->latest) == PREM_OK)
    return true;
  close_paths(p);
  return false;
}

/* Mark the tasks along the longest path to a node. */
static bool mark_path(const paths *p, int32_t node, bool *tasks) {
  const prem_rules *rules = &p->rules;
  int64_t *via = malloc((size_t)rules->node_count * sizeof *via);
  if (!via)
    return false;
  for (int32_t n = 0; n < rules->node_count; ++n)
    via[n] = -1;
  for (int64_t a = 0; a < rules->arc_count; ++a)
    if (p->head[rules->arcs[a].from] + rules->arcs[a].gap == p->head[rules->arcs[a].to])
      via[rules->arcs[a].to] = a;
  tasks[rules->nodes[node].task] = true;
  for (; via[node] >= 0; node = rules->arcs[via[node]].from)
    tasks[rules->nodes[rules->arcs[via[node]].from].task] = true;
  free(via);
  return true;
}

/* Of the nodes that cannot start by their own limit the earliest. */
static bool prove_by_path(const paths *p, proof *out) {
  const prem_node *nodes = p->rules.nodes;
  int32_t worst = -1;
  for (int32_t n = 0; n < p->rules.node_count; ++n)
    if (p->head[n] > nodes[n].latest && (worst < 0 || p->head[n] < p->head[worst]))
      worst = n;
  if (worst < 0 || !mark_path(p, worst, out->tasks))
    return false;
  out->kind = BY_PATH;
  out->node = nodes[worst];
  out->from = p->head[worst];
  out->to = nodes[worst].latest;
  return true;
}

/* The instant by which a hold must be over; PREM_MAX_NS: none. */
static int64_t due_of(const paths *p, const prem_hold *hold) {
  if (p->latest[hold->last] == PREM_MAX_NS)
    return PREM_MAX_NS;
  int64_t by_last = p->latest[hold->last] + hold->length;
  int64_t by_first = p->latest[hold->first] + hold->min;
  return by_last > by_first ? by_last : by_first;
}

static int32_t list_works(const paths *p, int32_t l, prem_renewable renewable) {
  int32_t count = 0;
  for (int64_t k = p->rules.first_hold[l]; k < p->rules.first_hold[l + 1]; ++k) {
    const prem_hold *hold = &p->rules.holds[p->rules.renewable_holds[k]];
    int64_t due = due_of(p, hold);
    if (due < PREM_MAX_NS && prem_rules_counts(&p->rules, renewable, hold))
      p->works[count++] = (prem_work){.head = (prem_wide)p->head[hold->first] * renewable.capacity,
                                      .left = (prem_wide)hold->min * hold->demand,
                                      .tail = -(prem_wide)due * renewable.capacity,
                                      .name = p->rules.renewable_holds[k]};
  }
  return count;
}

/* The shortest interval before the instant `due` that is asked for more than it has. */
static void find_interval(const paths *p, int32_t count, prem_renewable renewable, int64_t due,
                          proof *out) {
  for (int32_t i = count - 1; i >= 0; --i) {
    const prem_hold *hold = &p->rules.holds[p->works[i].name];
    if (due_of(p, hold) > due)
      continue;
    out->asked += (prem_wide)hold->min * hold->demand;
    out->from = p->head[hold->first];
    out->there = (prem_wide)(due - out->from) * renewable.capacity;
    out->tasks[p->rules.nodes[hold->first].task] = true;
    if (out->asked > out->there)
      return;
  }
}

static bool prove_by_renewable(const paths *p, proof *out) {
  for (int32_t l = 0; l < p->rules.renewable_count; ++l) {
    prem_renewable renewable = prem_rules_renewable(&p->rules, l);
    int32_t count = list_works(p, l, renewable), worst;
    if (count == 0 || prem_jackson_end(p->works, count, p->heap, &worst) <= 0)
      continue;
    out->kind = BY_LINE;
    out->renewable = l;
    out->to = due_of(p, &p->rules.holds[p->works[worst].name]);
    find_interval(p, count, renewable, out->to, out);
    return true;
  }
  return false;
}

/* ---- proofs --------------------------------------------------------------------------------- */

static void forget(explaining *e) {
  bool *tasks = e->found.tasks;
  memset(tasks, 0, (size_t)task_count(e) * sizeof *tasks);
  e->found = (proof){.tasks = tasks};
}

static bool prove_at_once(explaining *e) {
  paths p;
  forget(e);
  if (!open_paths(e, &p))
    return false;
  bool proven = prove_by_path(&p, &e->found) || prove_by_renewable(&p, &e->found);
  close_paths(&p);
  return proven;
}

/* The refuter first, then the solver. Three times what the first proof took is enough for those of
 * its parts. */
static bool prove_by_order(explaining *e) {
  prem_without without = {e->without_tasks, e->without_renewables};
  prem_effort effort = {.steps = e->order_steps, .probe = true, .stop = e->stop};
  double began_s = prem_host_clock_s();
  if (!in_time(e) || !prem_planning_refuted(e->planning, &without, &effort, e->order_limit_ns))
    return false;
  if (!e->measured) {
    e->measured = true;
    e->order_steps = 3 * (e->order_steps - effort.steps) + 1000000;
    if (e->order_limit_ns > 0)
      e->order_limit_ns = (int64_t)(3e9 * (prem_host_clock_s() - began_s)) + 100000000;
  }
  forget(e);
  e->found.kind = BY_ORDER;
  return true;
}

static bool prove_first(explaining *e, int64_t limit_ns) {
  if (prove_at_once(e))
    return true;
  int64_t steps = prem_min_i64(limit_ns / PREM_NS_PER_STEP, PROBE_STEPS);
  e->order_steps = steps;
  if (steps == 0 || prove_by_order(e))
    return steps > 0;
  e->order_steps = steps;
  e->order_limit_ns = limit_ns / 2;
  return prove_by_order(e);
}

static bool prove(explaining *e) {
  return prove_at_once(e) || (e->order_steps && prove_by_order(e));
}

/* ---- smaller sets --------------------------------------------------------------------------- */

/* Leave out what took no part; false: the proof needs it after all. */
static bool keep_parts(explaining *e) {
  bool *before = malloc((size_t)task_count(e) * sizeof *before);
  if (!before)
    return false;
  memcpy(before, e->without_tasks, (size_t)task_count(e) * sizeof *before);
  for (int32_t t = 0; t < task_count(e); ++t)
    e->without_tasks[t] = e->without_tasks[t] || !e->found.tasks[t];
  bool proven = prove(e);
  if (!proven)
    memcpy(e->without_tasks, before, (size_t)task_count(e) * sizeof *before);
  free(before);
  return proven;
}

/* Leave out one after the other, the last first; false: the time is over. */
static bool filter(explaining *e, bool *without, int32_t count) {
  for (int32_t i = count - 1; i >= 0; --i) {
    if (without[i])
      continue;
    if (!in_time(e))
      return false;
    without[i] = true;
    if (!prove(e))
      without[i] = false;
  }
  return true;
}

static int32_t count_kept(const bool *without, int32_t count) {
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i)
    kept += !without[i];
  return kept;
}

/* Renewables that nothing uses matter to no proof. */
static void drop_unused_renewables(explaining *e) {
  paths p;
  if (!open_paths(e, &p))
    return;
  for (int32_t l = 0; l < p.rules.renewable_count; ++l)
    if (p.rules.first_hold[l + 1] == p.rules.first_hold[l])
      e->without_renewables[l] = true;
  close_paths(&p);
}

static void reduce(explaining *e) {
  if (e->found.kind != BY_ORDER)
    keep_parts(e);
  if (count_kept(e->without_tasks, task_count(e)) <= MAX_FILTERED)
    filter(e, e->without_tasks, task_count(e));
  prove(e);
  if (e->found.kind == BY_ORDER) {
    drop_unused_renewables(e);
    filter(e, e->without_renewables, prem_planning_renewables(e->planning));
    prove(e);
  }
}

/* ---- words ---------------------------------------------------------------------------------- */

/** Names, one behind the other. */
typedef struct words {
  char text[NAMED * (PREM_NAME_BYTES + 40) + 64];
  int32_t count;
} words;

static void add_word(words *w, const char *word) {
  size_t used = strlen(w->text);
  if (w->count++ < NAMED)
    snprintf(w->text + used, sizeof w->text - used, "%s%s", used ? ", " : "", word);
}

static void close_words(words *w) {
  size_t used = strlen(w->text);
  if (w->count > NAMED)
    snprintf(w->text + used, sizeof w->text - used, " and %" PRId32 " more", w->count - NAMED);
}

static const prem_task *name_tasks(const explaining *e, words *w) {
  const prem_task *first = NULL;
  for (int32_t t = 0; t < task_count(e); ++t) {
    const prem_task *task = &e->planning->schedule->tasks[t];
    char word[PREM_NAME_BYTES + 2];
    if (e->without_tasks[t])
      continue;
    snprintf(word, sizeof word, "'%s'", task->name);
    add_word(w, word);
    first = first ? first : task;
  }
  close_words(w);
  return first;
}

static prem_rules no_rules(const explaining *e) {
  return (prem_rules){.planning = e->planning};
}

static void name_renewables(const explaining *e, words *w) {
  prem_rules rules = no_rules(e);
  for (int32_t l = 0; l < prem_planning_renewables(e->planning); ++l) {
    char word[PREM_NAME_BYTES + 40];
    if (e->without_renewables[l])
      continue;
    prem_rules_name_renewable(&rules, l, word, sizeof word);
    add_word(w, word);
  }
  close_words(w);
}

/* Starts lie on the grid, so that a phase takes whole steps: the file's own numbers would not add
 * up. */
static const char *say_rounded(const explaining *e, char *out, size_t bytes) {
  const int64_t grid_ns = e->planning->grid_ns;
  const prem_schedule *schedule = e->planning->schedule;
  *out = '\0';
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (schedule->tasks[t].phase[p].exists && schedule->tasks[t].phase[p].wcet_ns % grid_ns)
        snprintf(out, bytes, ", rounded to the grid of %" PRId64 " ns", grid_ns);
  return out;
}

static void say_path(const explaining *e, const char *tasks) {
  const prem_node *node = &e->found.node;
  const prem_task *task = &e->planning->schedule->tasks[node->task];
  char key[PREM_NAME_BYTES + 8], rounded[64];
  snprintf(key, sizeof key, "tasks.%s", task->name);
  prem_diag_add(e->planning->diag, PREM_ERROR, 43, task->place, key,
                "no time is left even if nothing else runs than %s: the %s of tile %" PRId32
                ", job %" PRId32 ", cannot start before %" PRId64 " ns and must start by %" PRId64
                "%s: infeasible whatever the order",
                tasks, prem_phase_name(node->phase), node->tile, node->job, e->found.from,
                e->found.to, say_rounded(e, rounded, sizeof rounded));
}

static void say_renewable(const explaining *e, const char *tasks) {
  const prem_platform *platform = &e->planning->schedule->platform;
  const proof *found = &e->found;
  prem_rules rules = no_rules(e);
  prem_renewable renewable = prem_rules_renewable(&rules, found->renewable);
  bool resource = renewable.kind == PREM_RENEWABLE_RESOURCE;
  prem_place place = resource ? platform->resources[renewable.number].place : platform->place;
  char name[PREM_NAME_BYTES + 40], times[32] = "", rounded[64];
  prem_rules_name_renewable(&rules, found->renewable, name, sizeof name);
  if (renewable.capacity > 1)
    snprintf(times, sizeof times, " (%" PRId32 " x %.0f)", renewable.capacity,
             (double)(found->to - found->from));
  prem_diag_add(e->planning->diag, PREM_ERROR, 43, place.line ? place : platform->place,
                resource ? "platform.resources" : "platform.blocks",
                "%s has %.0f ns%s in [%" PRId64 ", %" PRId64 "), where tasks %s need %.0f of it"
                "%s%s: infeasible whatever the order",
                name, (double)found->there, times, found->from, found->to, tasks,
                (double)found->asked, platform->guard_ns ? ", guards included" : "",
                say_rounded(e, rounded, sizeof rounded));
}

static void say(const explaining *e) {
  words tasks = {0}, renewables = {0};
  char rounded[64];
  const prem_task *first = name_tasks(e, &tasks);
  if (e->found.kind == BY_PATH) {
    say_path(e, tasks.text);
  } else if (e->found.kind == BY_LINE) {
    say_renewable(e, tasks.text);
  } else {
    name_renewables(e, &renewables);
    prem_diag_add(e->planning->diag, PREM_ERROR, 43, first->place, "tasks",
                  "tasks %s cannot all be in time on %s: every order was ruled "
                  "out, whatever else runs%s",
                  tasks.text, renewables.text, say_rounded(e, rounded, sizeof rounded));
  }
}

/* ---- all together --------------------------------------------------------------------------- */

bool prem_planning_explain(const prem_planning *planning, int64_t limit_ns,
                           const volatile sig_atomic_t *stop) {
  size_t tasks = (size_t)planning->schedule->task_count;
  explaining e = {
      .planning = planning,
      .stop = stop,
      .until_s = prem_host_clock_s() + (double)(limit_ns > MIN_NS ? limit_ns : MIN_NS) * 1e-9,
      .without_tasks = calloc(tasks, sizeof(bool)),
      .without_renewables = calloc((size_t)prem_planning_renewables(planning), sizeof(bool)),
      .found = {.tasks = calloc(tasks, sizeof(bool))}};
  bool proven =
      e.without_tasks && e.without_renewables && e.found.tasks && prove_first(&e, limit_ns);
  if (proven) {
    reduce(&e);
    say(&e);
  }
  PREM_FREE(e.without_tasks, e.without_renewables, e.found.tasks);
  return proven;
}
