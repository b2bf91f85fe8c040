/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact engine: the rules of a small set, narrowed by the refuter, handed to a solver.
 *
 * What is found obeys the strict reading: a plan without chains and joined phases. Where these
 * could save time, the proof that there is none is asked of the relaxed reading, which allows for
 * chains.
 */
#include "schedules/planner/proof/exact.h"
#include "prem/base/clock.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "schedules/planner/greedy/greedy.h"
#include "schedules/planner/proof/bounds.h"
#include "schedules/planner/proof/solver.h"

#include <stdlib.h>
#include <string.h>

/* Beyond it the same holds. */
enum { MAX_PAIRS = 400000 };
enum { REFUTE_STEPS = 200000000, ASK_STEPS = 50000000 };

/** A reading of the rules with its windows, and a solver of them. */
typedef struct reading {
  prem_rules rules;
  int64_t *head, *tail, *latest, *starts;
  int64_t *first, *last;             /* windows of all starts */
  int64_t *asked_first, *asked_last; /* those of a question */
  prem_refuter *refuter;             /* NULL: the set is too large for it */
  bool excluded;                     /* no solution: the refuter has shown it */
  prem_solver *solver;
  bool unsolved; /* it could not be handed to the solver, or not in time */
} reading;

typedef struct engine {
  const prem_planning *planning;
  const volatile sig_atomic_t *stop;
  double until_s;
  int64_t grid_ns;
  reading strict;
  prem_draft draft; /* the constructive plan */
  int64_t found,
      low;          /* in steps of the grid: the best plan; none shorter obeys the strict reading */
  bool solved;      /* the best plan is the solver's */
  int64_t slack_ns; /* asked for of every job that is due; PREM_NO_SLACK: none */
} engine;

const char *prem_exact_engine(void) {
  return prem_solver_name();
}

static int64_t left_ns(const engine *e) {
  double left_s = e->until_s - prem_host_clock_s();
  return left_s > 0 ? (int64_t)(left_s * 1e9) : 0;
}

/* Of the refuter, which looks at no clock: what it may take is said in steps. */
static int64_t steps_in(int64_t limit_ns, int64_t max) {
  return prem_min_i64(limit_ns / PREM_NS_PER_STEP, max);
}

/* ---- readings ------------------------------------------------------------------------------- */

static void close_reading(reading *r) {
  prem_solver_free(r->solver);
  prem_refuter_free(r->refuter);
  PREM_FREE(r->head, r->tail, r->latest, r->first, r->last, r->starts, r->asked_first,
            r->asked_last);
  prem_rules_free(&r->rules);
  *r = (reading){0};
}

static bool is_small(const prem_rules *rules) {
  int64_t pairs = 0;
  for (int32_t l = 0; l < rules->renewable_count; ++l) {
    int64_t holds = rules->first_hold[l + 1] - rules->first_hold[l];
    pairs += holds * holds;
  }
  return pairs <= MAX_PAIRS;
}

/* The windows of all starts, as far as nothing ends after `end`; false: one is empty. */
static bool set_windows(const reading *r, int64_t end, int64_t *first, int64_t *last) {
  bool possible = true;
  for (int32_t n = 0; n < r->rules.node_count; ++n) {
    first[n] = r->head[n];
    last[n] = r->latest[n] < end - r->tail[n] ? r->latest[n] : end - r->tail[n];
    possible = possible && first[n] <= last[n];
  }
  return possible;
}

static bool narrow_windows(const reading *r, int64_t end, prem_effort *effort, int64_t *first,
                           int64_t *last) {
  if (!set_windows(r, end, first, last))
    return false;
  if (!r->refuter)
    return true;
  if (prem_refuter_excludes(r->refuter, end, effort))
    return false;
  const int64_t *narrow_first, *narrow_last;
  prem_refuter_windows(r->refuter, &narrow_first, &narrow_last);
  memcpy(first, narrow_first, (size_t)r->rules.node_count * sizeof *first);
  memcpy(last, narrow_last, (size_t)r->rules.node_count * sizeof *last);
  return true;
}

static bool allocate(reading *r) {
  size_t nodes = (size_t)r->rules.node_count + 1;
  int64_t **arrays[] = {&r->head,  &r->tail, &r->latest,      &r->starts,
                        &r->first, &r->last, &r->asked_first, &r->asked_last};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
    if (!(*arrays[i] = calloc(nodes, sizeof **arrays[i])))
      return false;
  return true;
}

/* end 0: as long as it takes. */
static prem_status open_reading(const prem_planning *planning, bool relaxed,
                                const prem_without *without, int64_t end, prem_effort *effort,
                                reading *r) {
  *r = (reading){0};
  prem_status status =
      prem_rules_build(planning, relaxed, without, PREM_EXACT_MAX_NODES, &r->rules);
  if (status)
    return status;
  if (!allocate(r))
    status = PREM_ERR_MEMORY;
  else if (!is_small(&r->rules))
    status = PREM_ERR_UNAVAILABLE;
  else
    status = prem_rules_paths(&r->rules, r->head, r->tail, r->latest);
  if (status) {
    close_reading(r);
    return status;
  }
  r->refuter = prem_refuter_new(&r->rules, r->head, r->tail);
  r->excluded =
      !narrow_windows(r, end ? end : prem_rules_far(&r->rules), effort, r->first, r->last);
  return PREM_OK;
}

/* How long before it is due a node's job ends where the node starts at `start`; PREM_MAX_NS: it is
 * never due. */
static int64_t slack_of(const engine *e, const reading *r, int32_t n, int64_t start) {
  const prem_node *node = &r->rules.nodes[n];
  if (node->tile < 0)
    return PREM_MAX_NS;
  const prem_schedule *schedule = e->planning->schedule;
  int64_t target_ns =
      prem_planning_window(e->planning, &schedule->tasks[node->task], node->job).target_ns;
  return target_ns < PREM_MAX_NS - schedule->platform.guard_ns
             ? target_ns - start * r->rules.unit_ns - node->wcet_ns
             : PREM_MAX_NS;
}

/* Take from the windows of the question what would leave too little slack. */
static bool leave_slack(const engine *e, reading *r) {
  bool possible = true;
  for (int32_t n = 0; n < r->rules.node_count && e->slack_ns != PREM_NO_SLACK; ++n) {
    int64_t missing_ns = e->slack_ns - slack_of(e, r, n, r->asked_last[n]);
    if (missing_ns > 0)
      r->asked_last[n] -= (missing_ns + r->rules.unit_ns - 1) / r->rules.unit_ns;
    possible = possible && r->asked_first[n] <= r->asked_last[n];
  }
  return possible;
}

/* Handing over may take all the time that is left, whatever the limit of the first question. */
static bool hand_over(const engine *e, reading *r) {
  if (!r->solver && !r->unsolved)
    r->solver = prem_solver_new(&r->rules, r->first, r->last, e->until_s, e->stop);
  r->unsolved = !r->solver;
  return r->solver;
}

static prem_answer ask(const engine *e, reading *r, int64_t end, int64_t limit_ns) {
  prem_effort effort = {.steps = steps_in(limit_ns, ASK_STEPS), .probe = true, .stop = e->stop};
  if (limit_ns <= 0)
    return PREM_ANSWER_UNKNOWN;
  if (r->excluded || !narrow_windows(r, end, &effort, r->asked_first, r->asked_last) ||
      !leave_slack(e, r))
    return PREM_ANSWER_NO;
  if (!hand_over(e, r))
    return PREM_ANSWER_UNKNOWN;
  return prem_solver_ask(r->solver, end, r->asked_first, r->asked_last,
                         prem_min_i64(limit_ns, left_ns(e)), e->stop, r->starts);
}

/* A tile that holds one of several buffers for longer than a hyperperiod is legal; no reading knows
 * it. */
static bool may_outlast(const reading *r) {
  for (int64_t h = 0; h < r->rules.hold_count && r->rules.cycle; ++h) {
    const prem_hold *hold = &r->rules.holds[h];
    if (prem_rules_renewable(&r->rules, hold->renewable).capacity > 1 &&
        r->last[hold->last] + hold->length - r->first[hold->first] > r->rules.cycle)
      return true;
  }
  return false;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static prem_slot slot_of(const prem_schedule *schedule, int32_t t, int32_t job, int32_t tile,
                         prem_phase phase, int64_t start_ns) {
  const prem_task *task = &schedule->tasks[t];
  return (prem_slot){.planned_ns = start_ns,
                     .length_ns = task->phase[phase].wcet_ns,
                     .head_ns = start_ns,
                     .task = t,
                     .job = job,
                     .tile = tile,
                     .block = task->blocks[tile % task->block_count],
                     .phase = (uint8_t)phase};
}

static int64_t slots_of_solution(const engine *e, prem_slot *slots) {
  const prem_rules *rules = &e->strict.rules;
  int64_t count = 0;
  for (int32_t n = 0; n < rules->node_count; ++n) {
    const prem_node *node = &rules->nodes[n];
    if (node->tile >= 0)
      slots[count++] = slot_of(e->planning->schedule, node->task, node->job, node->tile,
                               node->phase, e->strict.starts[n] * rules->unit_ns);
  }
  return count;
}

static int64_t slots_of_draft(const engine *e, prem_slot *slots) {
  int64_t count = 0;
  for (int64_t i = 0; i < e->draft.count; ++i) {
    const prem_placement *placed = &e->draft.placements[i];
    for (int32_t m = 0; m < placed->count; ++m)
      slots[count++] = slot_of(e->planning->schedule, placed->task, placed->job, placed->tile + m,
                               placed->phase, placed->start_ns);
  }
  return count;
}

static prem_status write_plan(const engine *e, prem_plan *plan) {
  prem_slot *slots = malloc((size_t)(e->strict.rules.node_count + 1) * sizeof *slots);
  if (!slots)
    return PREM_ERR_MEMORY;
  int64_t count = e->solved ? slots_of_solution(e, slots) : slots_of_draft(e, slots);
  int64_t period_ns = e->planning->schedule->period_lcm_ns;
  plan->hyperperiod_ns = period_ns ? period_ns : e->found * e->grid_ns;
  prem_status status = prem_plan_compress(e->planning->schedule, slots, count, plan);
  free(slots);
  return status;
}

/* ---- one-shot sets -------------------------------------------------------------------------- */

static int64_t length_of(const engine *e) {
  const reading *r = &e->strict;
  int64_t end = e->planning->warmup_ns / e->grid_ns;
  for (int32_t n = 0; n < r->rules.node_count; ++n)
    end = prem_max_i64(end, r->starts[n] + prem_div_ceil(r->rules.nodes[n].wcet_ns, e->grid_ns));
  for (int64_t w = 0; w < r->rules.wrap_count; ++w) {
    const prem_apart *wrap = &r->rules.wraps[w];
    end = prem_max_i64(end, r->starts[wrap->from] + wrap->gap - r->starts[wrap->to]);
  }
  return end;
}

/* The starts that the solver leaves in its hand are those of its last answer; keep the best. */
static prem_answer ask_shorter(engine *e, int64_t end, int64_t limit_ns) {
  prem_answer answer = ask(e, &e->strict, end, limit_ns);
  if (answer == PREM_ANSWER_YES) {
    e->found = length_of(e);
    e->solved = true;
  } else if (answer == PREM_ANSWER_NO) {
    e->low = end + 1;
  }
  return answer;
}

/* Halve what is open. A question without an answer in a third of the time left is passed over, and
 * the last one, for any shorter plan, gets all of it. */
static void bisect(engine *e) {
  while (e->low < e->found && left_ns(e) > 0) {
    for (int64_t from = e->low; from < e->found;) {
      int64_t end = from + (e->found - 1 - from) / 2;
      if (ask_shorter(e, end, left_ns(e) / 3) == PREM_ANSWER_UNKNOWN)
        from = end + 1;
      else
        from = prem_max_i64(from, e->low);
    }
    if (e->low < e->found && ask_shorter(e, e->found - 1, left_ns(e)) == PREM_ANSWER_UNKNOWN)
      return;
  }
}

/* No plan at all, or none shorter than the one found: of every legal plan, chains included. */
static bool is_proven(engine *e, bool by_strict, int64_t shorter_than_ns) {
  if (by_strict && e->strict.rules.complete)
    return !may_outlast(&e->strict);
  reading relaxed;
  int64_t end = shorter_than_ns ? shorter_than_ns - e->grid_ns : 0;
  prem_effort effort = {
      .steps = steps_in(left_ns(e), REFUTE_STEPS), .probe = true, .stop = e->stop};
  if (!by_strict || open_reading(e->planning, true, NULL, end, &effort, &relaxed))
    return false;
  bool proven =
      relaxed.rules.complete && !may_outlast(&relaxed) &&
      ask(e, &relaxed, end ? end : prem_rules_far(&relaxed.rules), left_ns(e)) == PREM_ANSWER_NO;
  close_reading(&relaxed);
  return proven;
}

static void plan_one_shot(engine *e, prem_exact_verdict *out) {
  int64_t bound_ns = 0;
  bool feasible = e->found < INT64_MAX;
  if (prem_planning_lower_bound(e->planning, &bound_ns) && feasible)
    prem_planning_raise_bound(e->planning, e->found * e->grid_ns, e->stop, &bound_ns);
  e->low = bound_ns / e->grid_ns;
  if (!feasible &&
      ask_shorter(e, prem_rules_far(&e->strict.rules), left_ns(e)) != PREM_ANSWER_YES) {
    bool none = e->low > prem_rules_far(&e->strict.rules);
    out->verdict = is_proven(e, none, 0) ? PREM_PLAN_INFEASIBLE : PREM_PLAN_UNKNOWN;
    return;
  }
  bisect(e);
  out->verdict = PREM_PLAN_FEASIBLE;
  out->makespan_ns = e->found * e->grid_ns;
  out->optimal = bound_ns == out->makespan_ns || is_proven(e, e->low == e->found, out->makespan_ns);
  if (e->strict.rules.complete)
    bound_ns = prem_max_i64(bound_ns, e->low * e->grid_ns);
  out->lower_bound_ns = out->optimal ? out->makespan_ns : bound_ns;
}

/* ---- periodic sets -------------------------------------------------------------------------- */

static void plan_periodic(engine *e, prem_exact_verdict *out) {
  prem_answer answer = ask(e, &e->strict, prem_rules_far(&e->strict.rules), left_ns(e));
  e->solved = answer == PREM_ANSWER_YES;
  if (answer == PREM_ANSWER_YES)
    out->verdict = PREM_PLAN_FEASIBLE;
  else if (is_proven(e, answer == PREM_ANSWER_NO, 0))
    out->verdict = PREM_PLAN_INFEASIBLE;
}

static int64_t slack_of_starts(const engine *e, const int64_t *starts) {
  int64_t min_ns = PREM_MAX_NS;
  for (int32_t n = 0; n < e->strict.rules.node_count; ++n) {
    int64_t slack_ns = slack_of(e, &e->strict, n, starts[n]);
    min_ns = slack_ns < min_ns ? slack_ns : min_ns;
  }
  return min_ns;
}

/* Halve what is open between the slack that is known and the one that the windows allow. What is
 * not answered in a third of the time left is not asked again, and leaves the best one unproven. */
static void raise_slack(engine *e, int64_t known_ns, prem_exact_verdict *out) {
  int64_t high_ns = slack_of_starts(e, e->strict.first);
  bool proven = true;
  while (known_ns < high_ns && left_ns(e) > 0) {
    e->slack_ns = known_ns + (high_ns - known_ns + 1) / 2;
    prem_answer answer = ask(e, &e->strict, prem_rules_far(&e->strict.rules), left_ns(e) / 3);
    if (answer == PREM_ANSWER_YES) {
      known_ns = slack_of_starts(e, e->strict.starts);
      e->solved = true;
      continue;
    }
    high_ns = e->slack_ns - 1;
    proven = proven && answer == PREM_ANSWER_NO;
  }
  out->optimal =
      proven && known_ns >= high_ns && e->strict.rules.complete && !may_outlast(&e->strict);
}

static void plan_slack(engine *e, int64_t known_ns, prem_exact_verdict *out) {
  if (known_ns == PREM_NO_SLACK) {
    plan_periodic(e, out);
    if (!e->solved)
      return;
    known_ns = slack_of_starts(e, e->strict.starts);
  }
  if (known_ns < PREM_MAX_NS)
    raise_slack(e, known_ns, out);
  out->verdict = e->solved ? PREM_PLAN_FEASIBLE : PREM_PLAN_UNKNOWN;
}

/* ---- all together --------------------------------------------------------------------------- */

static prem_status prepare(engine *e) {
  prem_planning quiet = *e->planning;
  quiet.diag = NULL;
  e->found = INT64_MAX;
  prem_effort effort = {.steps = steps_in(left_ns(e), REFUTE_STEPS), .stop = e->stop};
  if (!e->planning->schedule->period_lcm_ns) {
    prem_status status = prem_plan_constructive(&quiet, &e->draft);
    if (status == PREM_ERR_MEMORY)
      return status;
    if (status == PREM_OK)
      e->found = e->draft.hyperperiod_ns / e->grid_ns;
  }
  return open_reading(e->planning, false, NULL, e->found < INT64_MAX ? e->found : 0, &effort,
                      &e->strict);
}

/* Demand above supply needs no engine, and no planner may see it. */
static bool is_supplied(const prem_planning *planning, prem_exact_verdict *out) {
  prem_planning judged = *planning;
  judged.diag = prem_diag_new();
  bool supplied = prem_planning_supplied(&judged);
  if (prem_diag_has(judged.diag, 43))
    out->verdict = PREM_PLAN_INFEASIBLE;
  prem_diag_free(judged.diag);
  return supplied;
}

/* What is asked for: the shortest plan, any, or one with more slack than `known_ns`. */
static void answer(engine *e, bool slack, int64_t known_ns, prem_exact_verdict *out) {
  if (slack)
    plan_slack(e, known_ns, out);
  else if (e->planning->schedule->period_lcm_ns)
    plan_periodic(e, out);
  else
    plan_one_shot(e, out);
}

static prem_status plan_exactly(const prem_planning *planning, int64_t limit_ns,
                                const volatile sig_atomic_t *stop, bool slack, int64_t known_ns,
                                prem_plan *plan, prem_exact_verdict *out) {
  *out = (prem_exact_verdict){.verdict = PREM_PLAN_UNKNOWN};
  if (!prem_solver_name())
    return PREM_ERR_UNAVAILABLE;
  if (!is_supplied(planning, out))
    return PREM_OK;
  engine e = {.planning = planning,
              .stop = stop,
              .until_s = prem_host_clock_s() + (double)limit_ns * 1e-9,
              .grid_ns = planning->grid_ns,
              .slack_ns = PREM_NO_SLACK};
  prem_status status = prepare(&e);
  if (!status) {
    answer(&e, slack, known_ns, out);
    if (out->verdict == PREM_PLAN_FEASIBLE)
      status = write_plan(&e, plan);
  }
  close_reading(&e.strict);
  free(e.draft.placements);
  return status;
}

prem_status prem_plan_exact(const prem_planning *planning, int64_t limit_ns,
                            const volatile sig_atomic_t *stop, prem_plan *plan,
                            prem_exact_verdict *out) {
  return plan_exactly(planning, limit_ns, stop, false, PREM_NO_SLACK, plan, out);
}

prem_status prem_plan_exact_slack(const prem_planning *planning, int64_t limit_ns,
                                  const volatile sig_atomic_t *stop, int64_t known_ns,
                                  prem_plan *plan, prem_exact_verdict *out) {
  return plan_exactly(planning, limit_ns, stop, true, known_ns, plan, out);
}

bool prem_planning_refuted(const prem_planning *planning, const prem_without *without,
                           prem_effort *effort, int64_t limit_ns) {
  reading relaxed;
  if (open_reading(planning, true, without, 0, effort, &relaxed))
    return false;
  engine e = {.planning = planning,
              .stop = effort->stop,
              .until_s = prem_host_clock_s() + (double)limit_ns * 1e-9,
              .slack_ns = PREM_NO_SLACK};
  bool refuted = relaxed.excluded;
  if (!refuted && limit_ns > 0 && relaxed.rules.complete && !may_outlast(&relaxed))
    refuted = ask(&e, &relaxed, prem_rules_far(&relaxed.rules), limit_ns) == PREM_ANSWER_NO;
  close_reading(&relaxed);
  return refuted;
}
