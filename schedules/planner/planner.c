/* SPDX-License-Identifier: Apache-2.0 */
/* The way into the generator: what every planner may rely on is judged here, once. */
#include "schedules/planner/planner.h"
#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "schedules/planner/common/data_gaps.h"
#include "schedules/planner/common/wrap.h"
#include "schedules/planner/greedy/greedy.h"
#include "schedules/planner/greedy/pipeline.h"
#include "schedules/planner/proof/bounds.h"
#include "schedules/planner/proof/exact.h"
#include "schedules/planner/proof/explain.h"
#include "schedules/planner/replan.h"
#include "schedules/planner/response.h"
#include "schedules/planner/search/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Below it, probing for a better bound would take too large a part of the time. */
#define PROBE_FROM_NS INT64_C(4000000000)

static const prem_policy_info policies[] = {
    {"auto", "any set of tasks: phase after phase, latest finish first; then a search, given time"},
    {"tile_kernelwise", "whole tiles, kernels one offset apart (equal one-shot tasks)"},
    {"tile_blockwise", "whole tiles, blocks one offset apart (equal one-shot tasks)"},
    {"phase_kernelwise", "prefetches, then writebacks, kernels one offset apart (equal one-shot)"},
    {"phase_blockwise", "prefetches, then writebacks, blocks one offset apart (equal one-shot)"},
    {NULL, NULL}};

const prem_policy_info *prem_policy_list(void) {
  return policies;
}

/* ---- what is judged before any planner ------------------------------------------------------ */

static bool policy_exists(const prem_planning *planning) {
  char known[256] = "";
  for (const prem_policy_info *policy = policies; policy->name; ++policy) {
    if (strcmp(policy->name, planning->policy) == 0)
      return true;
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", policy->name);
  }
  prem_diag_add(planning->diag, PREM_ERROR, 24, planning->schedule->policy.place, "policy.use",
                "unknown policy '%s'; there are %s", planning->policy, known);
  return false;
}

static bool tasks_profiled(const prem_planning *planning) {
  enum { NAMED = 8 };
  char names[NAMED * (PREM_NAME_BYTES + 4)] = "";
  const prem_task *first = NULL;
  int32_t missing = 0;
  for (int32_t t = 0; t < planning->schedule->task_count; ++t) {
    const prem_task *task = &planning->schedule->tasks[t];
    if (prem_task_profiled(task))
      continue;
    first = first ? first : task;
    size_t used = strlen(names);
    if (missing++ < NAMED)
      snprintf(names + used, sizeof names - used, "%s'%s'", used ? ", " : "", task->name);
  }
  if (!first)
    return true;
  char more[32] = "";
  if (missing > NAMED)
    snprintf(more, sizeof more, " and %d more", missing - NAMED);
  prem_diag_add(planning->diag, PREM_ERROR, 0, first->place, "tasks",
                "no profile: run `ttprem fit`; there are no WCETs for %s%s", names, more);
  return false;
}

static bool is_plannable(const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].broken || schedule->tasks[t].tile_count < 1)
      return false;
  return schedule->task_count > 0;
}

static bool size_allowed(const prem_planning *planning) {
  const prem_schedule *schedule = planning->schedule;
  prem_wide slots = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    int phases = 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      phases += task->phase[p].exists;
    slots += (prem_wide)prem_task_jobs(schedule, task) * task->tile_count * (phases ? phases : 1);
  }
  if (slots <= PREM_MAX_SLOTS)
    return true;
  prem_diag_add(planning->diag, PREM_ERROR, 13, schedule->tasks[0].place, "tasks",
                "%.0f phases in one hyperperiod, which would take some %.1f GiB to plan; the limit "
                "is %" PRId64 " phases",
                (double)slots, (double)slots * PREM_PLANNING_BYTES / 0x1p30, PREM_MAX_SLOTS);
  return false;
}

/* Not an error: warm-up tiles have no releases, so the first planned ones would only be late. */
static void judge_warmup(const prem_planning *planning) {
  const prem_schedule *schedule = planning->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    prem_wide tile_ns = 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      tile_ns += task->phase[p].exists ? task->phase[p].wcet_ns : 0;
    prem_wide needed = tile_ns * prem_planning_warmup(planning, task);
    if (needed <= schedule->policy.warmup_ns)
      continue;
    prem_diag_add(planning->diag, PREM_WARNING, 0, schedule->policy.place, "policy.warmup_ns",
                  "%" PRId64
                  " ns are less than the %.0f ns that the warm-up tiles of task '%s' take",
                  schedule->policy.warmup_ns, (double)needed, task->name);
    return;
  }
}

static int64_t coarser_step(const prem_schedule *schedule, const prem_machine *machine) {
  int64_t step = schedule->platform.clock_step_ns;
  if (machine && machine->clock_step_ns > step)
    step = machine->clock_step_ns;
  return step > 0 ? step : 1;
}

static prem_status judge_set(const prem_planning *planning) {
  if (!is_plannable(planning->schedule))
    return PREM_ERR_ARGUMENT;
  if (!policy_exists(planning) || !tasks_profiled(planning) || !size_allowed(planning))
    return PREM_ERR_INVALID;
  judge_warmup(planning);
  return PREM_OK;
}

/* ---- making a plan -------------------------------------------------------------------------- */

/* The constructive plan explains what is late only where nothing better was found. */
static prem_status explain(const prem_planning *planning) {
  prem_draft draft;
  prem_status status = prem_plan_constructive(planning, &draft);
  free(draft.placements);
  return status;
}

static prem_status copy_draft(const prem_draft *draft, prem_draft *out) {
  *out = *draft;
  out->placements = malloc((size_t)(draft->count + 1) * sizeof *out->placements);
  if (!out->placements)
    return PREM_ERR_MEMORY;
  memcpy(out->placements, draft->placements, (size_t)draft->count * sizeof *out->placements);
  return PREM_OK;
}

/* How much there is to write of a plan, and to read. */
static int64_t numbers_of(const prem_planning *planning, const prem_draft *draft) {
  prem_plan *plan = prem_plan_new();
  int64_t numbers = 0;
  if (plan && prem_planning_compress(planning, draft, plan) == PREM_OK) {
    numbers = (int64_t)plan->affine_count * 8;
    for (int32_t i = 0; i < plan->starts_count; ++i)
      numbers += plan->starts[i].count;
  }
  prem_plan_free(plan);
  return numbers;
}

/* Less than 1 % of time is no reason to give up a plan that is a few affine runs. */
static bool is_worthwhile(const prem_planning *planning, const prem_draft *regular,
                          const prem_draft *found) {
  prem_wide gain_ns = (prem_wide)regular->hyperperiod_ns - found->hyperperiod_ns;
  return gain_ns * 100 >= found->hyperperiod_ns ||
         numbers_of(planning, regular) * 4 > numbers_of(planning, found);
}

/* Does a draft of a periodic set keep its data gaps? One of a one-shot set that does not gets a
 * longer hyperperiod. */
static prem_status settle_gaps(const prem_planning *planning, prem_draft *draft, bool *kept) {
  prem_data_gaps *gaps;
  prem_status status = prem_data_gaps_new(planning, &gaps);
  *kept = status == PREM_OK;
  if (!gaps)
    return status;
  prem_data_gaps_note_draft(gaps, draft);
  if (planning->schedule->period_lcm_ns) {
    *kept = prem_data_gaps_short(gaps, planning->schedule->period_lcm_ns, NULL) == 0;
  } else if (prem_data_gaps_length_ns(gaps) > draft->hyperperiod_ns) {
    int64_t above_ns = (int64_t)prem_data_gaps_length_ns(gaps) + planning->grid_ns - 1;
    draft->hyperperiod_ns = above_ns - above_ns % planning->grid_ns;
  }
  prem_data_gaps_free(gaps);
  return PREM_OK;
}

/* The search knows no data gaps: is what it found still good with them? */
static prem_status judge_gaps(const prem_planning *planning, const prem_draft *first,
                              bool first_is_legal, prem_draft *draft, prem_search_result *found) {
  int64_t searched_ns = draft->hyperperiod_ns;
  bool kept;
  prem_status status = settle_gaps(planning, draft, &kept);
  bool one_shot = planning->schedule->period_lcm_ns == 0;
  bool longer = draft->hyperperiod_ns > searched_ns;
  found->optimal = found->optimal && !longer;
  if (kept &&
      !(one_shot && longer && first_is_legal && draft->hyperperiod_ns >= first->hyperperiod_ns))
    return status;
  memcpy(draft->placements, first->placements, (size_t)first->count * sizeof *first->placements);
  draft->hyperperiod_ns = first->hyperperiod_ns;
  found->improved = found->optimal = found->feasible = false;
  return status;
}

/* Search on from the constructive draft, which may be too late. */
static prem_status improve(const prem_planning *planning, const prem_search_limits *limits,
                           prem_draft *draft, prem_search_result *found, prem_status status) {
  prem_draft first;
  if (copy_draft(draft, &first))
    return PREM_ERR_MEMORY;
  prem_status searched = prem_plan_search(planning, limits, draft, found);
  prem_status judged = found->improved || found->feasible
                           ? judge_gaps(planning, &first, status == PREM_OK, draft, found)
                           : PREM_OK;
  bool one_shot = planning->schedule->period_lcm_ns == 0;
  if (status == PREM_OK && found->improved && one_shot && !is_worthwhile(planning, &first, draft)) {
    memcpy(draft->placements, first.placements, (size_t)first.count * sizeof *first.placements);
    draft->hyperperiod_ns = first.hyperperiod_ns;
    found->improved = found->optimal = false;
  }
  free(first.placements);
  if (judged)
    return judged;
  if (found->feasible)
    return PREM_OK;
  return searched && searched != PREM_ERR_UNAVAILABLE ? searched : status;
}

/* The time of which proofs may take a part: none where the search is limited in steps, for what it
 * makes then must not depend on the clock. */
static int64_t proof_ns(const prem_plan_options *options) {
  return options->step_limit ? 0 : options->time_limit_ns;
}

/* Is there so much time left? */
static bool has_time(const prem_search_limits *limits, double for_s) {
  const prem_plan_options *options = limits->options;
  return options->time_limit_ns <= 0 ||
         prem_host_clock_s() - limits->began_s + for_s < (double)options->time_limit_ns * 1e-9;
}

/* The bound first: the search ends at once where it is reached. */
static void bound(const prem_planning *planning, prem_search_limits *limits,
                  const prem_draft *draft, bool feasible) {
  const prem_plan_options *options = limits->options;
  if (prem_planning_lower_bound(planning, &limits->lower_bound_ns) && feasible &&
      proof_ns(options) >= PROBE_FROM_NS)
    prem_planning_raise_bound(planning, draft->hyperperiod_ns, options->stop,
                              &limits->lower_bound_ns);
}

/* As a draft has them: the search takes the phases of a tile, and the tiles of a job, one after the
 * other. */
static int by_job_and_tile(const void *left, const void *right) {
  const prem_placement *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->task, a->job, a->tile, a->phase},
                         (int64_t[]){b->task, b->job, b->tile, b->phase}, 4);
}

/* A draft of a plan; on error the draft stays as it was. */
static prem_status draft_of(const prem_planning *planning, const prem_plan *plan, prem_draft *out) {
  prem_slot *slots;
  int64_t count;
  prem_status status = prem_plan_expand(planning->schedule, plan, &slots, &count, NULL);
  if (status)
    return status;
  prem_placement *placements = malloc((size_t)(count + 1) * sizeof *placements);
  if (!placements) {
    free(slots);
    return PREM_ERR_MEMORY;
  }
  out->hyperperiod_ns = plan->hyperperiod_ns;
  out->count = 0;
  for (int64_t i = 0; i < count; ++i)
    if (!(slots[i].flags & PREM_SLOT_WARMUP))
      placements[out->count++] = (prem_placement){.start_ns = slots[i].planned_ns,
                                                  .task = slots[i].task,
                                                  .job = slots[i].job,
                                                  .tile = slots[i].tile,
                                                  .count = 1,
                                                  .phase = (prem_phase)slots[i].phase};
  free(slots);
  qsort(placements, (size_t)out->count, sizeof *placements, by_job_and_tile);
  free(out->placements);
  out->placements = placements;
  return PREM_OK;
}

/* ---- the exact engine beside the search ----------------------------------------------------- */

/* Is slack what is wanted, of jobs that are due? */
static bool wants_slack(const prem_planning *planning, const prem_draft *draft) {
  return planning->schedule->period_lcm_ns > 0 &&
         strcmp(planning->schedule->policy.objective, "slack") == 0 &&
         prem_planning_slack(planning, draft) < PREM_MAX_NS;
}

/* Does not take one that the data gaps forbid, which the engine does not know of periodic sets. */
static bool take_solution(const prem_planning *planning, const prem_plan *plan, prem_draft *draft) {
  prem_draft solution = {0};
  bool kept = false;
  if (draft_of(planning, plan, &solution) == PREM_OK &&
      settle_gaps(planning, &solution, &kept) == PREM_OK && kept &&
      (kept = prem_planning_draft_ends_within(planning, &solution))) {
    prem_placement *worse = draft->placements;
    draft->placements = solution.placements;
    draft->count = solution.count;
    draft->hyperperiod_ns = solution.hyperperiod_ns;
    solution.placements = worse;
  }
  free(solution.placements);
  return kept;
}

/* The exact engine's plan, if it has found one: any where none was feasible, else one with more
 * slack. */
static bool solve(const prem_planning *planning, const prem_search_limits *limits, bool feasible,
                  prem_draft *draft, prem_search_result *found) {
  const prem_plan_options *options = limits->options;
  bool slack = wants_slack(planning, draft);
  int64_t known_ns = feasible ? prem_planning_slack(planning, draft) : PREM_NO_SLACK;
  int64_t limit_ns = limits->all_ns / 3;
  prem_exact_verdict verdict = {.verdict = PREM_PLAN_UNKNOWN};
  if (draft->count > PREM_EXACT_MAX_NODES)
    return false;
  prem_plan *plan = prem_plan_new();
  prem_status status =
      !plan   ? PREM_ERR_MEMORY
      : slack ? prem_plan_exact_slack(planning, limit_ns, options->stop, known_ns, plan, &verdict)
              : prem_plan_exact(planning, limit_ns, options->stop, plan, &verdict);
  bool solved = status == PREM_OK && verdict.verdict == PREM_PLAN_FEASIBLE &&
                take_solution(planning, plan, draft);
  if (status == PREM_OK && slack)
    found->optimal = verdict.optimal;
  prem_plan_free(plan);
  return solved;
}

/* Do tiles start together, which a solved plan, tile by tile, does not tell the search? */
static bool has_rounds(const prem_planning *planning) {
  const prem_placer placer = {.planning = planning, .schedule = planning->schedule};
  for (int32_t t = 0; t < planning->schedule->task_count; ++t)
    if (prem_placer_by_rounds(&placer, &planning->schedule->tasks[t]))
      return true;
  return false;
}

/* Search on from a solved plan, which may run into the next hyperperiod, as no search's plan does:
 * so the slacks are compared here. */
static prem_status search_on(const prem_planning *planning, const prem_search_limits *limits,
                             prem_draft *draft, prem_search_result *found) {
  prem_draft solved;
  if (copy_draft(draft, &solved))
    return PREM_ERR_MEMORY;
  improve(planning, limits, draft, found, PREM_OK);
  if (prem_planning_slack(planning, draft) <= prem_planning_slack(planning, &solved)) {
    memcpy(draft->placements, solved.placements, (size_t)solved.count * sizeof *solved.placements);
    found->improved = found->optimal = false;
  }
  free(solved.placements);
  return PREM_OK;
}

/* First a part of the time for the search; then the exact engine, where there is no plan yet, or
 * where more slack is sought; what is left is the search's again. */
static prem_status search_and_solve(const prem_planning *planning, prem_search_limits *limits,
                                    prem_draft *draft, prem_search_result *found, bool *solved,
                                    prem_status status) {
  int64_t all_ns = limits->all_ns;
  bool slack = wants_slack(planning, draft);
  bool asks = proof_ns(limits->options) > 0 && prem_exact_engine();
  limits->until_ns = asks && slack ? all_ns / 3 : all_ns;
  limits->give_up_ns = asks ? all_ns / 2 : all_ns;
  status = improve(planning, limits, draft, found, status);
  if (!asks || found->optimal || (status == PREM_OK && !slack))
    return status;
  *solved = solve(planning, limits, status == PREM_OK, draft, found);
  if (found->optimal || (*solved && (!slack || has_rounds(planning))))
    return *solved ? PREM_OK : status;
  prem_search_result more = {0};
  limits->until_ns = limits->give_up_ns = all_ns;
  ++limits->seed;
  status = *solved ? search_on(planning, limits, draft, &more)
                   : improve(planning, limits, draft, &more, status);
  found->steps += more.steps;
  found->improved = found->improved || more.improved;
  found->optimal = more.optimal;
  *solved = *solved && !more.improved;
  return status;
}

/* ---- pipelines of joined phases ------------------------------------------------------------- */

/* Each takes as long as a constructive plan. */
enum { DEEPEST_PIPELINE = 4 };

/* Below 2: there are none to be tried. */
static int32_t deepest_pipeline(const prem_planning *planning) {
  const prem_placer placer = {.planning = planning, .schedule = planning->schedule};
  const int32_t buffers = planning->schedule->platform.buffers;
  bool any;
  free(prem_pipeline_list(&placer, &any));
  return !any ? 0 : buffers < DEEPEST_PIPELINE ? buffers : DEEPEST_PIPELINE;
}

/* Shorter, or with more slack where that is wanted. */
static bool is_better(const prem_planning *planning, const prem_draft *a, const prem_draft *b) {
  if (wants_slack(planning, b))
    return prem_planning_slack(planning, a) > prem_planning_slack(planning, b);
  return a->hyperperiod_ns < b->hyperperiod_ns;
}

/* The search knows no joined phases; so pipelines are tried beside what it found. */
static prem_status try_pipelines(const prem_planning *planning, const prem_search_limits *limits,
                                 double each_s, prem_draft *draft, prem_status status,
                                 bool *taken) {
  int32_t deepest = deepest_pipeline(planning);
  for (int32_t depth = 2; depth <= deepest; ++depth) {
    if (status == PREM_OK && !has_time(limits, each_s))
      return status;
    prem_draft other;
    prem_status made = prem_plan_pipelines(planning, depth, &other);
    if (made == PREM_OK && prem_planning_draft_ends_within(planning, &other) &&
        (status || is_better(planning, &other, draft))) {
      prem_draft worse = *draft;
      *draft = other;
      other = worse;
      status = PREM_OK;
      *taken = true;
    }
    free(other.placements);
    free(other.slots);
    if (made == PREM_ERR_MEMORY)
      return made;
  }
  return status;
}

/* What comes after the search: pipelines, and writing the plan down, up to three times. */
static int64_t finish_ns(const prem_planning *planning, double first_s) {
  const int32_t deepest = deepest_pipeline(planning);
  return (int64_t)(first_s * 1e9 * (0.5 + (deepest > 1 ? deepest - 1 : 0)));
}

static prem_status plan_any(const prem_planning *planning, prem_search_limits *limits,
                            prem_plan *plan, prem_plan_report *report) {
  const prem_plan_options *options = limits->options;
  if (!prem_planning_supplied(planning))
    return PREM_ERR_INFEASIBLE;
  prem_planning quiet = *planning;
  quiet.diag = NULL;
  prem_draft draft;
  prem_search_result found = {0};
  quiet.limits = limits;
  const double before_s = prem_host_clock_s();
  prem_status status = prem_plan_constructive(&quiet, &draft);
  const double first_s = prem_host_clock_s() - before_s;
  quiet.limits = NULL;
  bool late = status == PREM_ERR_INFEASIBLE && draft.complete, solved = false;
  bool proven = late && has_time(limits, first_s) &&
                prem_planning_explain(planning, proof_ns(options) / 6, options->stop);
  if (draft.complete && !proven && options->time_limit_ns > 0) {
    if (has_time(limits, first_s))
      bound(planning, limits, &draft, !late);
    report->lower_bound_ns = limits->lower_bound_ns;
    limits->all_ns = options->time_limit_ns - finish_ns(&quiet, first_s);
    if (has_time(limits, 2 * first_s + (double)finish_ns(&quiet, first_s) * 1e-9))
      status = search_and_solve(&quiet, limits, &draft, &found, &solved, status);
    else
      found.unsearched = "the first plan leaves no time for it";
  }
  if (draft.complete && options->time_limit_ns <= 0 && limits->tells)
    prem_planning_lower_bound(planning, &report->lower_bound_ns);
  bool joined = false;
  if (status == PREM_OK || status == PREM_ERR_INFEASIBLE)
    status = try_pipelines(&quiet, limits, first_s, &draft, status, &joined);
  found.optimal = found.optimal && !joined;
  snprintf(report->method, sizeof report->method,
           joined           ? "pipelines"
           : solved         ? "exact"
           : found.improved ? "search"
                            : "constructive");
  if (status == PREM_OK)
    status = prem_planning_compress(planning, &draft, plan);
  else if (status == PREM_ERR_INFEASIBLE)
    status = explain(planning);
  report->optimal =
      status == PREM_OK && (found.optimal || draft.hyperperiod_ns == report->lower_bound_ns);
  report->min_slack_ns = status == PREM_OK ? prem_planning_slack(planning, &draft) : PREM_MAX_NS;
  report->due = report->min_slack_ns < PREM_MAX_NS;
  report->steps = found.steps;
  report->unsearched = solved ? NULL : found.unsearched;
  free(draft.placements);
  free(draft.slots);
  return status;
}

static bool wants_response(const prem_planning *planning) {
  return strcmp(planning->schedule->policy.objective, "response") == 0 &&
         !prem_is_closed_form(planning->policy);
}

static prem_status plan_fresh(const prem_planning *planning, prem_search_limits *limits,
                              prem_plan *plan, prem_plan_report *report) {
  if (wants_response(planning))
    return prem_plan_response(planning, limits, plan, report);
  return prem_is_closed_form(planning->policy) ? prem_plan_closed_form(planning, plan)
                                               : plan_any(planning, limits, plan, report);
}

/* ---- with a plan to keep -------------------------------------------------------------------- */

static void report_kept(const prem_planning *planning, const prem_draft *draft,
                        prem_plan_report *report) {
  prem_planning_lower_bound(planning, &report->lower_bound_ns);
  report->min_slack_ns = prem_planning_slack(planning, draft);
  report->due = report->min_slack_ns < PREM_MAX_NS;
  report->optimal = report->lower_bound_ns > 0 && draft->hyperperiod_ns == report->lower_bound_ns;
  snprintf(report->method, sizeof report->method, "keep");
}

static prem_status move_little(const prem_planning *planning, const prem_search_limits *limits,
                               const prem_old_plan *old, prem_plan *plan,
                               prem_plan_report *report) {
  prem_draft draft;
  prem_status status = prem_replan(planning, limits, old, &draft, &report->steps);
  if (!status && !prem_planning_draft_ends_within(planning, &draft))
    status = PREM_ERR_INFEASIBLE;
  if (!status)
    status = prem_planning_compress(planning, &draft, plan);
  if (!status) {
    snprintf(plan->policy, sizeof plan->policy, "auto"); /* whatever made the older one */
    report_kept(planning, &draft, report);
  }
  free(draft.placements);
  free(draft.slots);
  return status;
}

/* They are kept all or none: no phase of a job could be moved apart from the others. */
static bool has_job_chains(const prem_plan *plan) {
  for (int32_t i = 0; i < plan->affine_count; ++i)
    if (plan->affine[i].chain & PREM_CHAIN_JOB)
      return true;
  return false;
}

static prem_status plan_beside(const prem_planning *planning, prem_search_limits *limits,
                               const prem_old_plan *old, prem_plan *plan,
                               prem_plan_report *report) {
  prem_status status = prem_replan_unchanged(planning, old, plan);
  if (status == PREM_OK) {
    prem_draft as_it_was = {
        .slots = old->slots, .slot_count = old->slot_count, .hyperperiod_ns = plan->hyperperiod_ns};
    report_kept(planning, &as_it_was, report);
  }
  if (status == PREM_ERR_INFEASIBLE && !prem_planning_supplied(planning))
    return status;
  if (status == PREM_ERR_INFEASIBLE && !wants_response(planning) &&
      !has_job_chains(old->from->plan))
    status = move_little(planning, limits, old, plan, report);
  if (status == PREM_ERR_INFEASIBLE)
    status = plan_fresh(planning, limits, plan, report);
  return status;
}

static prem_status plan_keeping(const prem_planning *planning, prem_search_limits *limits,
                                prem_plan *plan, prem_plan_report *report) {
  prem_old_plan old;
  prem_status status = prem_old_plan_read(planning, limits->options->keep, &old);
  if (!status)
    status = plan_beside(planning, limits, &old, plan, report);
  if (!status)
    status = prem_replan_count(planning, &old, plan, report);
  prem_old_plan_free(&old);
  return status;
}

/* ---- all together --------------------------------------------------------------------------- */

static int64_t count_phases(const prem_planning *planning) {
  int64_t count = 0;
  for (int32_t t = 0; t < planning->schedule->task_count; ++t) {
    const prem_task *task = &planning->schedule->tasks[t];
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (task->phase[p].exists && !task->is_copy)
        count += prem_task_jobs(planning->schedule, task) * task->tile_count;
  }
  return count;
}

static int64_t peak_bytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (int64_t)usage.ru_maxrss * 1024;
}

static void fill_report(const prem_planning *planning, const prem_plan *plan, double began_s,
                        prem_plan_report *report) {
  report->periodic = planning->schedule->period_lcm_ns > 0;
  report->phases = count_phases(planning);
  report->seconds = prem_host_clock_s() - began_s;
  report->peak_bytes = peak_bytes();
  if (!plan && prem_diag_has(planning->diag, 43)) /* demand above supply, whatever the order */
    report->verdict = PREM_PLAN_INFEASIBLE;
  if (!plan)
    return;
  report->verdict = PREM_PLAN_FEASIBLE;
  report->hyperperiod_ns = plan->hyperperiod_ns;
  if (report->periodic)
    return;
  report->makespan_ns = plan->hyperperiod_ns;
  if (report->lower_bound_ns > 0)
    report->gap_pct = 100.0 * (double)(report->makespan_ns - report->lower_bound_ns) /
                      (double)report->lower_bound_ns;
}

const char *prem_plan_verdict_name(prem_plan_verdict verdict) {
  static const char *const names[] = {"feasible", "infeasible", "unknown"};
  return names[verdict];
}

static prem_status start_plan(prem_planning *planning, prem_plan **out) {
  const prem_schedule *schedule = planning->schedule;
  prem_plan *plan = *out = prem_plan_new();
  if (!plan)
    return PREM_ERR_MEMORY;
  snprintf(plan->policy, sizeof plan->policy, "%s", planning->policy);
  snprintf(plan->generator, sizeof plan->generator, "ttprem %s", prem_version());
  plan->clock_step_ns = planning->grid_ns;
  plan->warmup_tiles = schedule->policy.warmup_tiles;
  plan->warmup_ns = schedule->policy.warmup_ns;
  if (!prem_planning_align(planning, "policy.warmup_ns", &plan->warmup_ns))
    return PREM_ERR_INVALID;
  planning->warmup_ns = plan->warmup_tiles ? plan->warmup_ns : 0;
  return PREM_OK;
}

/* Formulas know nothing of arrays, and rules between instants little of state arrays: the next
 * hyperperiod begins when the versions are there that it needs. */
static prem_status leave_time_for_versions(const prem_planning *planning, prem_plan *plan,
                                           prem_plan_report *report) {
  prem_data_gaps *gaps;
  prem_slot *slots = NULL;
  int64_t count = 0;
  prem_status status = prem_data_gaps_new(planning, &gaps);
  if (!gaps)
    return status;
  if (gaps->edge_count > 0 && planning->schedule->period_lcm_ns == 0)
    status = prem_plan_expand(planning->schedule, plan, &slots, &count, planning->diag);
  for (int64_t i = 0; i < count; ++i)
    prem_data_gaps_note(gaps, slots[i].task, slots[i].job, (prem_phase)slots[i].phase,
                        slots[i].planned_ns, slots[i].planned_ns + slots[i].length_ns);
  if (count > 0 && prem_data_gaps_length_ns(gaps) > plan->hyperperiod_ns) {
    plan->hyperperiod_ns =
        prem_round_up((int64_t)prem_data_gaps_length_ns(gaps), planning->grid_ns);
    report->optimal = false;
  }
  free(slots);
  prem_data_gaps_free(gaps);
  return status;
}

static prem_status make(prem_planning *planning, prem_search_limits *limits, prem_plan **out,
                        prem_plan_report *report) {
  prem_plan *plan = NULL;
  prem_status status = start_plan(planning, &plan);
  if (!status)
    status = limits->options->keep ? plan_keeping(planning, limits, plan, report)
                                   : plan_fresh(planning, limits, plan, report);
  if (!status)
    status = prem_planning_turn_around(planning, plan);
  if (!status)
    status = leave_time_for_versions(planning, plan, report);
  const int64_t length_ns = status ? 0 : plan->hyperperiod_ns;
  if (!status)
    status = prem_planning_end_within(planning, plan);
  if (!status && plan->hyperperiod_ns > length_ns)
    report->optimal = false;
  if (status) {
    prem_plan_free(plan);
    return status;
  }
  if (plan->hyperperiod_ns < planning->grid_ns) /* nothing but warm-up: it is as long as it likes */
    plan->hyperperiod_ns = planning->grid_ns;
  *out = plan;
  return PREM_OK;
}

prem_status prem_planner_make_one(const prem_schedule *schedule, const prem_machine *machine,
                                  const prem_plan_options *options, prem_judge *judge,
                                  prem_planner_wish wish, prem_plan **out, prem_plan_report *report,
                                  prem_diag *diag) {
  static const prem_plan_options defaults = {0};
  prem_search_limits limits = {.options = options ? options : &defaults,
                               .began_s = prem_host_clock_s(),
                               .tells = wish.tells};
  limits.seed = limits.options->seed;
  *out = NULL;
  prem_planning planning = {.schedule = schedule,
                            .grid_ns = coarser_step(schedule, machine),
                            .diag = diag,
                            .machine_precedence_ns = machine ? machine->precedence_ns : 0,
                            .policy = limits.options->policy ? limits.options->policy
                                                             : schedule->policy.use,
                            .stop = limits.options->stop,
                            .judge = judge,
                            .ends_within = wish.ends_within};
  *report = (prem_plan_report){.verdict = PREM_PLAN_UNKNOWN, .seed = limits.options->seed};
  snprintf(report->method, sizeof report->method, "%s", planning.policy);
  prem_status status = judge_set(&planning);
  if (!status)
    status = make(&planning, &limits, out, report);
  fill_report(&planning, *out, limits.began_s, report);
  return status;
}
