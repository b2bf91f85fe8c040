/* SPDX-License-Identifier: Apache-2.0 */
/* From a schedule to a plan that holds: see fit.h. */
#include "studies/fit_parts.h"

#include "prem/base/clock.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "ttprem/prepare.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  TURNS = 12,
  MAX_SAMPLES = 20000,
  MIN_SAMPLES = 3,
  ROUNDS = 2,
  ALONE_TRIES = 3,
  LAUNCHES = 4,          /* resident: outputs are verified after each */
  RAISES_PER_MARGIN = 2, /* then the margin is doubled */
  MAX_RECORDS = 1 << 17, /* of a measurement; beyond them there are counts and longest times */
  SIM_STEPS = 2000       /* of a search: a time limit would make another plan each time */
};
/* Parts of the time limit; of what is left, where a measurement takes longer than its part; of a
 * measurement, for what does not count. */
static const double search_part = 1.0 / 16, measure_part = 1.0 / 24, compare_part = 1.0 / 12,
                    left_part = 1.0 / 4, waste_part = 1.0 / 4;
/* A plan in company, one beside a load, and one that may not be late for long. */
static const double margin_one_shot = 0.05, margin_beside = 0.10, margin_periodic = 0.20,
                    margin_largest = 0.8;

const char *prem_fit_times_name(prem_fit_times times) {
  static const char *const names[PREM_FIT_TIMES_COUNT] = {"file", "company", "alone",
                                                          "anew", "raised",  "lowered"};
  return names[times];
}

/* ---- time and words ------------------------------------------------------------------------- */

double prem_fit_passed_s(const prem_fitting *all) {
  return prem_host_clock_s() - all->began_s;
}

static double left_s(const prem_fitting *all) {
  return fmax(all->options->time_limit_s - prem_fit_passed_s(all), 0);
}

bool prem_fit_is_stopped(const prem_fitting *all) {
  return all->options->stop && *all->options->stop;
}

static void show(const prem_fitting *all) {
  if (all->options->progress)
    all->options->progress(all->options->context,
                           prem_fit_passed_s(all) / all->options->time_limit_s, all->doing);
}

void prem_fit_begin(prem_fitting *all, const char *doing) {
  all->doing = doing;
  show(all);
}

static void show_runs(void *context, int64_t done, int64_t runs) {
  prem_fitting *all = context;
  (void)runs;
  if (done == 0)
    all->opened_s = prem_host_clock_s();
  show(all);
}

static void show_search(void *context, const prem_plan_progress *progress) {
  (void)progress;
  show(context);
}

static void show_comparison(void *context, int64_t done, int64_t runs, prem_mode mode) {
  (void)done, (void)runs, (void)mode;
  show(context);
}

void prem_fit_tell(const prem_fitting *all, const char *format, ...) {
  char sentence[256];
  va_list arguments;
  if (!all->options->tell)
    return;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  all->options->tell(all->options->context, sentence);
}

/* ---- the schedule's times ------------------------------------------------------------------- */

static bool is_sim(const prem_fitting *all) {
  return strcmp(prem_backend_name(all->backend), "sim") == 0;
}

/* What prem_profile_order() forgets and a profile does not bring back. */
static prem_status keep_file(prem_fitting *all) {
  const prem_schedule *schedule = all->schedule;
  const size_t tasks = (size_t)schedule->task_count + 1;
  all->joined = calloc(tasks, sizeof *all->joined);
  all->demands = calloc(tasks * PREM_PHASE_COUNT, sizeof *all->demands);
  if (!all->joined || !all->demands)
    return PREM_ERR_MEMORY;
  all->open_share = schedule->policy.open_share;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    all->joined[t] = schedule->tasks[t].joined;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (schedule->tasks[t].phase[p].demand)
        all->demands[t * PREM_PHASE_COUNT + p] = schedule->tasks[t].phase[p].demand[0];
  }
  return PREM_OK;
}

prem_status prem_fit_take_times(prem_fitting *all, prem_profile *profile) {
  prem_schedule *schedule = all->schedule;
  schedule->policy.open_share = all->open_share;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (schedule->tasks[t].phase[p].demand)
        schedule->tasks[t].phase[p].demand[0] = all->demands[t * PREM_PHASE_COUNT + p];
  if (all->now.profile != all->best.profile && all->now.profile != profile)
    prem_profile_free(all->now.profile);
  all->now.profile = profile;
  return prem_profile_apply(profile, schedule, PREM_FIT_PROFILE, all->joined);
}

static double choose_margin(const prem_fitting *all) {
  if (all->options->margin >= 0)
    return all->options->margin;
  if (prem_schedule_has_best_effort(all->schedule))
    return margin_beside;
  return all->schedule->period_lcm_ns > 0 ? margin_periodic : margin_one_shot;
}

/* ---- measuring ------------------------------------------------------------------------------ */

prem_scenario prem_fit_scenario(const prem_fitting *all) {
  return strcmp(prem_backend_name(all->backend), "cuda") == 0 ? PREM_RESIDENT
                                                              : all->schedule->measure.scenario;
}

/* Tasks alone are measured one after the other, then all of them together. */
static int32_t turns_of(const prem_fitting *all, prem_condition times) {
  const bool is_split = prem_schedule_has_best_effort(all->schedule);
  return times == PREM_ISOLATED    ? all->schedule->task_count + 1
         : times == PREM_CORUNNING ? 1 + is_split
                                   : 1;
}

static int64_t launches_of(const prem_sampling *sampling) {
  if (sampling->scenario == PREM_RELAUNCH)
    return sampling->samples + sampling->rounds * sampling->discard;
  return prem_min_i64(prem_max_i64(sampling->launches, sampling->rounds), sampling->samples);
}

static int64_t hyperperiods_of(const prem_sampling *sampling) {
  const int64_t launches = launches_of(sampling);
  return sampling->scenario == PREM_RELAUNCH ? launches
                                             : sampling->samples + launches * sampling->discard;
}

/* Of so many turns. */
static double cost_s(const prem_fit_costs *costs, const prem_sampling *sampling, int32_t turns) {
  return turns * (costs->open_s + (double)launches_of(sampling) * costs->launch_s +
                  (double)hyperperiods_of(sampling) * costs->hyperperiod_s);
}

/* What the clock says of a measurement. Where no makespan counted, launches that have one
 * hyperperiod take it all. */
static void learn(prem_fitting *all, double began_s, const prem_profile *seen,
                  const prem_profile_options *options) {
  const int32_t turns = turns_of(all, options->times);
  const prem_summary *makespan =
      &seen->makespan_ns[options->times == PREM_PLANNED ? PREM_PLANNED : PREM_CORUNNING];
  const double run_s = (prem_host_clock_s() - all->opened_s) / turns;
  const double hyperperiods = (double)hyperperiods_of(&options->sampling);
  prem_fit_costs *costs = &all->costs;
  costs->open_s = (all->opened_s - began_s) / turns;
  costs->hyperperiod_s = makespan->count > 0                           ? makespan->mean / 1e9
                         : options->sampling.scenario == PREM_RELAUNCH ? 0
                                                                       : run_s / hyperperiods;
  costs->hyperperiod_s = fmax(costs->hyperperiod_s, (double)all->schedule->period_lcm_ns / 1e9);
  costs->launch_s = fmax(run_s - hyperperiods * costs->hyperperiod_s, 0) /
                    (double)launches_of(&options->sampling);
}

/* As many samples as fit into the part of the time limit that a measurement has, or a few, where
 * these take a quarter of what is left at most. `*out` has one at least; false: it does not fit. */
static bool choose_sampling(const prem_fitting *all, const prem_fit_costs *costs,
                            prem_condition times, prem_sampling *out) {
  const int32_t turns = turns_of(all, times);
  const bool is_relaunch = prem_fit_scenario(all) == PREM_RELAUNCH;
  const double step_s = costs->hyperperiod_s + (is_relaunch ? costs->launch_s : 0) + 1e-9;
  prem_sampling least = {
      .scenario = prem_fit_scenario(all), .samples = 1, .rounds = 1, .launches = 1};
  *out = least;
  out->seed = all->options->seed;
  out->max_records = MAX_RECORDS;
  if (is_sim(all))
    return true;
  least.samples = MIN_SAMPLES;
  const double few_s = fmin(cost_s(costs, &least, turns), left_s(all) * left_part);
  const double part_s = fmin(all->options->time_limit_s * measure_part, left_s(all));
  const double room_s = fmax(part_s, few_s) / turns - costs->open_s;
  const double waste_s = fmax(room_s, 0) * waste_part;
  if (!is_relaunch)
    out->launches = costs->launch_s * LAUNCHES > waste_s
                        ? prem_max_i64((int64_t)(waste_s / costs->launch_s), 1)
                        : LAUNCHES;
  const double begin_s = is_relaunch ? 0 : (double)out->launches * costs->launch_s;
  /* what begins for a while may as well run that long: its first hyperperiods are cold */
  const double fit = fmin(fmax(room_s - begin_s, begin_s) / step_s, 2 * MAX_SAMPLES);
  const int64_t begins = is_relaunch ? ROUNDS : out->launches;
  out->discard = prem_min_i64(all->schedule->measure.discard,
                              (int64_t)(fmax(fit, 0) * waste_part / (double)begins));
  out->samples = prem_min_i64((int64_t)fmax(fit, 1) - begins * out->discard, MAX_SAMPLES);
  out->samples = prem_max_i64(out->samples, 1);
  out->discard = prem_min_i64(out->discard, out->samples);
  out->rounds = prem_min_i64(out->samples, is_relaunch ? ROUNDS : prem_min_i64(begins, ROUNDS));
  return cost_s(costs, out, turns) <= left_s(all);
}

static prem_profile_options profiling(prem_fitting *all, prem_condition times,
                                      const prem_sampling *sampling) {
  /* In a long launch few tiles are cold, and wide windows for these would be there each time. */
  const bool is_steady = prem_fit_scenario(all) == PREM_RESIDENT &&
                         all->schedule->period_lcm_ns == 0 &&
                         !prem_schedule_has_best_effort(all->schedule);
  return (prem_profile_options){.sampling = *sampling,
                                .engine = all->options->engine,
                                .times = times,
                                .together = times != PREM_ISOLATED,
                                .steady = is_steady,
                                .usual =
                                    is_steady && !all->options->quick, /* else no turn follows */
                                .shared = true,
                                .quantile = all->quantile < 1 ? all->quantile : 0,
                                .mix_disturbed = all->is_mixed,
                                .margin_pct = 100 * all->margin,
                                .stop = all->options->stop,
                                .progress = show_runs,
                                .progress_context = all};
}

/* NULL on any error; what was interrupted is none. Where no run goes undisturbed, disturbed ones
 * count: the profile says that it is not valid. */
static prem_status measure(prem_fitting *all, const prem_profile_options *options,
                           prem_profile **out) {
  const double began_s = prem_host_clock_s();
  prem_status status =
      prem_profile_measure(all->schedule, all->backend, &all->machine, options, out, all->diag);
  if (status == PREM_OK)
    learn(all, began_s, *out, options);
  if (status == PREM_OK)
    all->is_disturbed = (*out)->all_disturbed;
  if (status == PREM_OK && !(*out)->output_ok) {
    prem_diag_add(all->diag, PREM_ERROR, 0, (prem_place){all->schedule->path, 0}, "outputs",
                  "an output differs from its reference: `ttprem run` shows which, "
                  "`ttprem kernel-test` looks for the reason in a kernel");
    status = PREM_ERR_WRONG;
  }
  if (status == PREM_OK)
    return status;
  prem_profile_free(*out);
  *out = NULL;
  return status;
}

prem_status prem_fit_measure_more(prem_fitting *all, prem_condition times, int64_t most,
                                  prem_profile **seen) {
  prem_sampling sampling;
  if (!choose_sampling(all, &all->costs, times, &sampling) || prem_fit_is_stopped(all))
    return PREM_OK;
  sampling.samples = prem_min_i64(sampling.samples, most);
  sampling.discard = prem_min_i64(sampling.discard, sampling.samples);
  sampling.rounds = prem_min_i64(sampling.rounds, sampling.samples);
  if (sampling.samples <= (*seen)->sampling.samples)
    return PREM_OK;
  prem_profile *more = NULL;
  const prem_profile_options options = profiling(all, times, &sampling);
  const prem_status status = measure(all, &options, &more);
  if (status != PREM_OK)
    return status;
  if (*seen != all->now.profile)
    prem_profile_free(*seen);
  *seen = more;
  return PREM_OK;
}

static prem_sampling pilot_sampling(const prem_fitting *all, int64_t samples) {
  return (prem_sampling){.scenario = prem_fit_scenario(all),
                         .samples = samples,
                         .rounds = 1,
                         .launches = 1,
                         .discard =
                             prem_fit_scenario(all) == PREM_RESIDENT && samples > 1, /* cold */
                         .seed = all->options->seed,
                         .max_records = MAX_RECORDS};
}

prem_status prem_fit_look(prem_fitting *all, prem_condition times, int64_t samples,
                          prem_profile **out) {
  const prem_sampling one = pilot_sampling(all, samples);
  const prem_profile_options options = profiling(all, times, &one);
  const prem_status status =
      prem_profile_order(all->schedule, all->probed, all->options->stop, all->diag);
  return status == PREM_OK ? measure(all, &options, out) : status;
}

/* ---- planning ------------------------------------------------------------------------------- */

static prem_fit_turn *add_turn(prem_fitting *all, prem_fit_times times) {
  prem_fit *result = all->result;
  prem_fit_turn *grown = prem_grow(result->turns, (size_t)result->count, sizeof *grown);
  if (!grown)
    return NULL;
  result->turns = grown;
  grown[result->count] = (prem_fit_turn){
      .times = times, .margin = all->margin, .lateness_max_ns = INT64_MIN, .raised = -1};
  return &grown[result->count++];
}

static void add_problems(prem_diag *to, const prem_diag *from) {
  for (size_t i = 0; i < prem_diag_count(from); ++i) {
    const prem_problem *problem = prem_diag_at(from, i);
    prem_diag_add(to, problem->severity, problem->code, (prem_place){problem->file, problem->line},
                  problem->key, "%s", problem->reason);
  }
}

static void warn_unsearched(const prem_fitting *all, const char *why) {
  const prem_place policy = all->schedule->policy.place;
  prem_diag_add(all->diag, PREM_WARNING, 0,
                policy.file ? policy : (prem_place){all->schedule->path, 0}, "policy",
                "no better plan was searched: %s", why);
}

/* In the place of all that the checker found: it comes of one thing. */
static prem_diag *refuse_formula(const prem_fitting *all, prem_diag *found) {
  prem_diag *one = prem_diag_new();
  const prem_problem *first = NULL;
  for (size_t i = 0; i < prem_diag_count(found) && !first; ++i)
    if (prem_diag_at(found, i)->severity == PREM_ERROR)
      first = prem_diag_at(found, i);
  prem_diag_add(one, PREM_ERROR, 0, all->schedule->policy.place, "policy.use",
                "'%s' starts tiles where its formula says, whatever the resources allow; use "
                "\"auto\". The first that is wrong: %s",
                all->schedule->policy.use, first ? first->reason : "not known");
  prem_diag_free(found);
  return one;
}

static void tell_disturbed(prem_fitting *all) {
  if (!all->is_disturbed || all->has_told)
    return;
  all->has_told = true;
  prem_fit_tell(
      all,
      "the operating system took a core away in every run of some task: disturbed runs count, "
      "windows bound the time of %g %% of phases instead of the longest, and no plan is better "
      "than the runs are (`ttprem doctor`)",
      100 * all->now.profile->quantile);
}

/* The schedule has the plan after PREM_OK, and the checker has accepted it. */
static prem_status plan(prem_fitting *all, prem_fit_times times) {
  const prem_fit_options *asked = all->options;
  /* On sim there is one search, which a number of schedules ends, mostly before the time does. */
  const double room_s =
      is_sim(all) ? left_s(all) : fmin(asked->time_limit_s * search_part, left_s(all));
  prem_plan_options options = {.seed = asked->seed,
                               .time_limit_ns = asked->quick ? 0 : (int64_t)(room_s * 1e9),
                               .step_limit = is_sim(all) && !asked->quick ? SIM_STEPS : 0,
                               .stop = asked->stop,
                               .progress = show_search,
                               .progress_context = all};
  tell_disturbed(all);
  prem_fit_begin(all, "planning");
  prem_plan_report report;
  prem_plan *plan = NULL;
  prem_diag *found = prem_diag_new();
  prem_status status =
      prem_plan_make_reported(all->schedule, &all->machine, &options, &plan, &report, found);
  if (status == PREM_OK) {
    status = prem_adopt_plan(all->schedule, &all->machine, plan, found);
    if (status == PREM_ERR_INVALID && strcmp(all->schedule->policy.use, "auto") != 0)
      found = refuse_formula(all, found);
  }
  if (status != PREM_OK && all->best.turn < 0) /* else there is a plan all the same */
    add_problems(all->diag, found);
  prem_diag_free(found);
  if (status != PREM_OK)
    return status;
  prem_fit_turn *turn = add_turn(all, times);
  if (!turn)
    return PREM_ERR_MEMORY;
  turn->report = report;
  turn->hyperperiod_ns = all->schedule->plan->hyperperiod_ns;
  turn->open_ns = all->schedule->plan->gates ? all->schedule->plan->open_ns : 0;
  all->now.turn = all->result->count - 1;
  return PREM_OK;
}

/* ---- which plan is best --------------------------------------------------------------------- */

/* Would the schedule's plan be better than the best one, were nothing of it late? */
static bool may_be_better(const prem_fitting *all) {
  const prem_fit_turn *turns = all->result->turns;
  return prem_fit_may_be_better(all->options, &turns[all->now.turn], &turns[all->best.turn]);
}

/* The schedule's plan, if it is the best so far, is put aside. */
static void keep_best(prem_fitting *all) {
  const prem_fit_turn *turns = all->result->turns;
  if (!all->schedule->plan ||
      (all->best.turn >= 0 &&
       !prem_fit_is_better(all->options, &turns[all->now.turn], &turns[all->best.turn])))
    return;
  if (all->best.profile != all->now.profile)
    prem_profile_free(all->best.profile);
  prem_plan_free(all->best.plan);
  all->best = all->now;
  all->best.plan = all->schedule->plan;
  all->schedule->plan = NULL;
}

/* The best plan is the schedule's again, with its times. */
static prem_status restore_best(prem_fitting *all) {
  prem_status status = PREM_OK;
  if (all->best.profile) {
    prem_profile *worse = all->now.profile == all->best.profile ? NULL : all->now.profile;
    all->now.profile = all->best.profile;
    prem_profile_free(worse);
    status = prem_fit_take_times(all, all->best.profile);
  }
  prem_schedule_set_plan(all->schedule, all->best.plan);
  all->best.plan = NULL;
  all->result->best = all->best.turn;
  return status;
}

/* ---- turns ---------------------------------------------------------------------------------- */

static void tell_turn(const prem_fitting *all, const prem_fit_turn *turn) {
  char raised[64] = "";
  if (turn->raised >= 0 && turn->times != PREM_FIT_FILE)
    snprintf(raised, sizeof raised, ", %d phases took longer than their windows", turn->raised);
  prem_fit_tell(all,
                "plan %d, by times %s: %.1f us, %" PRId64 " of %" PRId64
                " releases late%s; %.0f s, at most %.0f more",
                all->result->count, prem_fit_times_name(turn->times),
                (double)turn->hyperperiod_ns / 1e3, turn->late, turn->releases, raised,
                prem_fit_passed_s(all), left_s(all));
}

/* By the plan a hyperperiod takes at least as long as planned. */
static prem_fit_costs costs_of_plan(const prem_fitting *all, int32_t turn) {
  prem_fit_costs costs = all->costs;
  costs.hyperperiod_s =
      fmax(costs.hyperperiod_s, (double)all->result->turns[turn].hyperperiod_ns / 1e9);
  return costs;
}

/* Run the schedule's plan; `*out` are its times, for the next one; NULL: there is no time for it.
 * A first plan that nobody has run says little: it may take the limit once more. */
static prem_status run_plan(prem_fitting *all, bool anew, prem_profile **out) {
  const prem_fit_costs costs = costs_of_plan(all, all->now.turn);
  prem_sampling sampling;
  const bool fits = choose_sampling(all, &costs, PREM_PLANNED, &sampling);
  const bool may_take_more = all->now.turn == 0 && left_s(all) > 0 &&
                             cost_s(&costs, &sampling, 1) <= all->options->time_limit_s;
  if (!fits && !may_take_more)
    return PREM_OK;
  prem_profile_options options = profiling(all, PREM_PLANNED, &sampling);
  options.anew = anew;
  options.raise = options.raise_late = !anew;
  options.late = all->options->late;
  prem_fit_begin(all, "measuring the plan");
  return measure(all, &options, out);
}

static prem_status measure_plan(prem_fitting *all, prem_profile **out) {
  prem_fit_turn *turn = &all->result->turns[all->now.turn];
  const bool is_first = turn->times < PREM_FIT_ANEW;
  const double began_s = prem_host_clock_s();
  const prem_status status = run_plan(all, is_first, out);
  if (status != PREM_OK || !*out)
    return status;
  turn->is_measured = true;
  turn->makespan_ns = (*out)->makespan_ns[PREM_PLANNED];
  turn->releases = (*out)->releases;
  turn->late = (*out)->late;
  turn->lateness_max_ns = (*out)->lateness_max_ns;
  turn->raised = is_first ? -1 : (*out)->raised;
  turn->measured_s = prem_host_clock_s() - began_s;
  tell_turn(all, turn);
  return PREM_OK;
}

/* To compare with. Where there is no graph there is no ordinary kernel that was tuned. */
static int32_t modes_of(const prem_fitting *all, prem_mode *out) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LEGACY, PREM_MODE_GRAPH,
                                    PREM_MODE_GATED_GRAPH};
  const bool has_ordinary = prem_backend_has_mode(all->backend, PREM_MODE_GRAPH);
  int32_t count = 0;
  for (size_t i = 0; i < (has_ordinary ? sizeof modes / sizeof modes[0] : 2); ++i)
    if (prem_backend_has_mode(all->backend, modes[i]))
      out[count++] = modes[i];
  return count;
}

/* A run of so many modes, each as long as the plan. */
static double compare_cost_s(const prem_fitting *all, int32_t turn, int32_t modes) {
  const prem_fit_costs costs = costs_of_plan(all, turn);
  return costs.open_s + modes * (costs.launch_s + costs.hyperperiod_s);
}

/* What is kept for the comparison: one run of each mode at least, where these take a quarter of the
 * limit at most. */
static double comparison_s(const prem_fitting *all) {
  const double limit_s = all->options->time_limit_s;
  prem_mode modes[PREM_MODE_COUNT];
  const double least_s = compare_cost_s(all, all->now.turn, modes_of(all, modes));
  return fmax(limit_s * compare_part, fmin(least_s, limit_s * left_part));
}

static bool may_widen(const prem_fitting *all) {
  return all->options->margin < 0 && all->margin < margin_largest;
}

/* Is there time for so much before the comparison? */
static bool has_time(const prem_fitting *all, double seconds) {
  return prem_fit_passed_s(all) + seconds <= all->options->time_limit_s - comparison_s(all);
}

/* For one turn more from the best plan? */
static bool may_go_on(const prem_fitting *all) {
  const double measured_s = all->result->turns[all->best.turn].measured_s;
  return !prem_fit_is_stopped(all) &&
         has_time(all, 2 * measured_s + all->options->time_limit_s * search_part);
}

/* Why these turns are enough; NULL: go on. */
static const char *why_enough(const prem_fitting *all, const prem_fit_turn *turn, double turn_s) {
  if (is_sim(all))
    return "on sim phases take the times that they are given";
  if (turn->raised == 0 &&
      (prem_fit_keeps_limit(all->options, turn) || all->is_disturbed || !may_widen(all)))
    return "no time was longer than its window";
  if (turn->raised > 0 && prem_fit_keeps_limit(all->options, turn))
    return "few enough releases were late";
  if (turn->raised > 0 && all->is_disturbed)
    return "all runs were disturbed, and longer windows would be those of the disturbances";
  if (all->result->count >= TURNS)
    return "that was the last turn";
  /* by the times of a plan the next one is much shorter than by those of the worst company */
  return has_time(all, all->result->count > 1 ? turn_s : 0) ? NULL : "time was up";
}

/* No window was too short, and yet releases are late: by times that have no record. */
static void widen(prem_fitting *all) {
  const int32_t raises = all->result->count - 2;
  if (raises > 0 && may_widen(all) &&
      (raises % RAISES_PER_MARGIN == 0 || all->result->turns[raises].raised == 0))
    all->margin = fmin(2 * all->margin, margin_largest);
}

/* The best plan is measured once more, and another one is made; `*is_made`: it may be better. */
static prem_status plan_by_best(prem_fitting *all, prem_fit_times times, bool *is_made) {
  prem_profile *seen = NULL;
  all->now.turn = all->best.turn;
  prem_status status = restore_best(all);
  if (status == PREM_OK)
    status = run_plan(all, times != PREM_FIT_RAISED, &seen);
  all->best.plan = all->schedule->plan;
  all->schedule->plan = NULL;
  if (status != PREM_OK || !seen)
    return status;
  status = prem_fit_take_times(all, seen);
  if (status == PREM_OK)
    status = plan(all, times);
  *is_made = status == PREM_OK && may_be_better(all);
  return status;
}

/* Whatever came late once made the next plan too long: most of the times make another one. */
static prem_status leave_out_rare(prem_fitting *all) {
  static const double shares[] = {0.999, 0.99};
  const bool is_first = all->result->turns[all->best.turn].times < PREM_FIT_ANEW;
  bool is_made = false;
  prem_status status = PREM_OK;
  for (size_t i = 0; i < sizeof shares / sizeof shares[0] && !is_made && status == PREM_OK; ++i)
    if (shares[i] < all->quantile && may_go_on(all)) {
      all->quantile = shares[i];
      status = plan_by_best(all, is_first ? PREM_FIT_ANEW : PREM_FIT_RAISED, &is_made);
    }
  if (status == PREM_OK && !is_made)
    all->result->why = "the next plan would be too long, were nothing of it late";
  return status;
}

/* Measure the plan, and make the next one by what was seen, until it is enough. */
static prem_status take_turns(prem_fitting *all) {
  prem_status status = PREM_OK;
  while (status == PREM_OK && !all->result->why) {
    const double began_s = prem_fit_passed_s(all);
    const bool is_first = all->now.turn == 0;
    prem_profile *seen = NULL;
    widen(all);
    status = measure_plan(all, &seen);
    if (status != PREM_OK)
      break;
    if (!seen) {
      all->result->why = "time was up";
      break;
    }
    const prem_fit_turn *turn = &all->result->turns[all->now.turn];
    all->result->why = why_enough(
        all, turn, prem_fit_passed_s(all) - began_s + all->options->time_limit_s * search_part);
    keep_best(all);
    if (all->result->why) {
      prem_profile_free(seen);
      break;
    }
    status = prem_fit_take_times(all, seen);
    if (status == PREM_OK)
      status = plan(all, is_first ? PREM_FIT_ANEW : PREM_FIT_RAISED);
    if (status == PREM_OK && !may_be_better(all))
      status = leave_out_rare(all);
  }
  if (all->best.turn < 0 || status == PREM_ERR_MEMORY)
    return status;
  if (status == PREM_ERR_INFEASIBLE || status == PREM_ERR_INVALID) {
    all->result->why = "by the times of that plan there is no other one";
    return PREM_OK;
  }
  return status;
}

/* Some windows were raised without need: what was too short was another one. While that helps, and
 * there is time for it, all are those of the best plan's own times. */
static prem_status go_down(prem_fitting *all) {
  prem_status status = PREM_OK;
  bool is_made = all->best.turn >= 0;
  for (int32_t from = -1; status == PREM_OK && is_made && all->best.turn != from;) {
    from = all->best.turn;
    is_made = false;
    if (all->result->turns[from].times < PREM_FIT_RAISED || all->is_disturbed || !may_go_on(all))
      break;
    prem_profile *seen = NULL;
    all->margin = choose_margin(all);
    status = plan_by_best(all, PREM_FIT_LOWERED, &is_made);
    if (status == PREM_OK && is_made)
      status = measure_plan(all, &seen);
    prem_profile_free(seen);
    if (status == PREM_OK && is_made)
      keep_best(all);
  }
  return status == PREM_ERR_INFEASIBLE || status == PREM_ERR_INVALID ? PREM_OK : status;
}

/* ---- the first plan ------------------------------------------------------------------------- */

static bool has_times(prem_fitting *all) {
  const prem_schedule *schedule = all->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (!prem_task_profiled(&schedule->tasks[t])) {
      prem_diag_add(all->diag, PREM_ERROR, 0, schedule->tasks[t].place, "tasks",
                    "task '%s' has no times (wcet_ns), and on the simulator there is nothing to "
                    "measure: write them down, or fit on backend cpu or cuda",
                    schedule->tasks[t].name);
      return false;
    }
  return true;
}

static bool has_open_blocks(const prem_schedule *schedule) {
  bool any = false;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    any |= schedule->tasks[t].blocks_open;
  return any;
}

/* Blocks that are open, and an order of the tiles on each. */
static prem_status deal(prem_fitting *all, bool *dealt_anew, prem_diag *found) {
  prem_schedule_set_plan(all->schedule, NULL);
  const prem_status status = prem_schedule_deal(all->schedule, dealt_anew, found);
  return status == PREM_OK
             ? prem_profile_order(all->schedule, all->probed, all->options->stop, found)
             : status;
}

/* By the times of the pilot, if all tasks together are no slower then; else by bytes, as before. */
static prem_status deal_anew(prem_fitting *all, prem_condition condition, prem_profile **seen) {
  const int64_t before_ns = (*seen)->makespan_ns[PREM_CORUNNING].min;
  const prem_sampling few = pilot_sampling(all, PREM_FIT_PILOTS);
  prem_diag *whole = all->diag, *found = prem_diag_new();
  bool dealt_anew = false;
  prem_profile *again = NULL;
  prem_status status = prem_fit_take_times(all, *seen);
  all->diag = found;
  if (status == PREM_OK)
    status = deal(all, &dealt_anew, found);
  if (status == PREM_OK && dealt_anew) {
    const prem_profile_options options = profiling(all, condition, &few);
    status = measure(all, &options, &again);
  }
  const bool is_slower =
      again && before_ns > 0 && again->makespan_ns[PREM_CORUNNING].min > before_ns;
  if (status == PREM_ERR_INVALID || is_slower) {
    prem_profile_free(again);
    again = NULL;
    prem_fit_forget_times(all->schedule);
    status = deal(all, &dealt_anew, found);
  } else if (status == PREM_OK && dealt_anew) {
    prem_fit_tell(all, "open blocks are dealt anew, by the times");
  }
  all->diag = whole;
  if (status != PREM_OK)
    add_problems(all->diag, found);
  if (again)
    *seen = again; /* the other one is the schedule's */
  prem_diag_free(found);
  return status;
}

static prem_status plan_by(prem_fitting *all, prem_condition condition, prem_fit_times times) {
  prem_profile *seen = NULL;
  prem_fit_begin(all,
                 times == PREM_FIT_ALONE ? "measuring each task alone" : "measuring all tasks");
  const bool is_quick = all->options->quick;
  /* a session takes longer to open than a few short hyperperiods of one launch */
  const bool is_short =
      prem_fit_scenario(all) == PREM_RESIDENT && all->schedule->period_lcm_ns == 0;
  prem_status status = prem_fit_look(all, condition, is_short ? PREM_FIT_PILOTS : 1, &seen);
  if (status == PREM_OK)
    status = prem_fit_measure_more(all, condition, PREM_FIT_PILOTS, &seen);
  if (status == PREM_OK && !is_quick && has_open_blocks(all->schedule))
    status = deal_anew(all, condition, &seen);
  if (status == PREM_OK && !is_quick)
    status = prem_fit_measure_more(all, condition, MAX_SAMPLES, &seen);
  if (status == PREM_OK)
    status = prem_fit_take_times(all, seen);
  else if (seen != all->now.profile)
    prem_profile_free(seen);
  prem_schedule_set_plan(all->schedule, NULL); /* one that was refused */
  return status == PREM_OK ? plan(all, times) : status;
}

/* Is there no plan by times that other ones may take the place of? */
static bool may_measure_again(const prem_fitting *all, prem_status status, const prem_diag *found) {
  return !prem_fit_is_stopped(all) && (status == PREM_ERR_INFEASIBLE ||
                                       (status == PREM_ERR_INVALID && prem_diag_errors(found) > 0));
}

/* Times of a machine that had other work say little: they are measured again while half of the time
 * is left. */
static prem_status make_first(prem_fitting *all) {
  if (is_sim(all))
    return has_times(all) ? plan(all, PREM_FIT_FILE) : PREM_ERR_INVALID;
  prem_diag *whole = all->diag, *found = all->diag = prem_diag_new();
  prem_status status = plan_by(all, PREM_CORUNNING, PREM_FIT_COMPANY);
  if (may_measure_again(all, status, found))
    prem_fit_tell(all,
                  "by the times of all tasks together there is no plan; each is measured alone");
  for (int tries = 0; tries < ALONE_TRIES && may_measure_again(all, status, found); ++tries) {
    if (tries > 0 && (!all->now.profile || all->now.profile->valid ||
                      prem_fit_passed_s(all) > all->options->time_limit_s / 2))
      break;
    if (tries > 0)
      prem_fit_tell(
          all,
          "nor is there a plan by those: other work disturbed them, and they are measured again");
    prem_diag_free(found);
    found = all->diag = prem_diag_new();
    status = plan_by(all, PREM_ISOLATED, PREM_FIT_ALONE);
  }
  all->diag = whole;
  add_problems(all->diag, found);
  prem_diag_free(found);
  return status;
}

/* ---- what it costs -------------------------------------------------------------------------- */

/* For the modes that there is time for: tt and free at least; false: for none. */
static bool choose_comparison(const prem_fitting *all, prem_compare_options *compare) {
  prem_sampling *sampling = &compare->sampling;
  const double room_s = all->options->time_limit_s * compare_part;
  /* however long others took */
  const double may_take_s = fmax(left_s(all), all->options->time_limit_s * left_part);
  double least_s = compare_cost_s(all, all->best.turn, compare->mode_count);
  if (least_s > may_take_s && compare->mode_count > 2) {
    prem_fit_tell(all, "no time to compare the plan with ordinary kernels (--time-limit)");
    least_s = compare_cost_s(all, all->best.turn, compare->mode_count = 2);
  }
  const double launch_s = all->costs.launch_s * compare->mode_count;
  if (sampling->scenario == PREM_RESIDENT && launch_s > 0)
    sampling->launches = prem_max_i64((int64_t)fmin(room_s * waste_part / launch_s, 10), 1);
  if (room_s < 2 * (least_s - all->costs.open_s))
    sampling->discard = 0;
  sampling->duration_s = room_s;
  if (least_s > may_take_s)
    prem_fit_tell(all, "no time to compare the plan (--time-limit)");
  return least_s <= may_take_s;
}

/* No plan is the worse for a mode that is not possible, or for which there is no time: it is left
 * out. */
static prem_status compare(prem_fitting *all) {
  const prem_measure *file = &all->schedule->measure;
  prem_compare_options options = {.sampling = {.scenario = file->scenario,
                                               .samples = is_sim(all) ? 1 : 0,
                                               .discard = is_sim(all) ? 0 : file->discard,
                                               .rounds = ROUNDS,
                                               .seed = all->options->seed},
                                  .engine = all->options->engine,
                                  .mix_disturbed = all->is_disturbed,
                                  .times_only = true,
                                  .stop = all->options->stop,
                                  .progress = show_comparison,
                                  .progress_context = all};
  prem_session *session = NULL;
  prem_diag *found = prem_diag_new();
  options.mode_count = modes_of(all, options.modes);
  if (!is_sim(all) && !choose_comparison(all, &options)) {
    prem_diag_free(found);
    return PREM_OK;
  }
  prem_fit_begin(all, "comparing");
  const double began_s = prem_fit_passed_s(all);
  prem_status status = prem_session_open(all->backend, all->schedule, &session, found);
  if (status == PREM_OK)
    status = prem_compare(session, prem_session_critical(session), all->backend, &options,
                          &all->result->comparison, found);
  prem_session_close(session);
  if (options.mode_count > 2)
    prem_fit_tell(
        all,
        "comparing the plan took %.1f s, with what it takes to choose launches of ordinary kernels",
        prem_fit_passed_s(all) - began_s);
  if (status == PREM_ERR_UNAVAILABLE) /* the comparison says of which modes, and why */
    status = PREM_OK;
  if (status != PREM_OK)
    add_problems(all->diag, found);
  prem_diag_free(found);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static prem_status fit(prem_fitting *all) {
  prem_status status = make_first(all);
  if (status == PREM_OK && all->options->quick)
    all->result->why = "no more than a first plan was asked for";
  else if (status == PREM_OK)
    status = take_turns(all);
  if (status == PREM_OK)
    status = go_down(all);
  if (status != PREM_OK && status != PREM_ERR_INTERRUPTED)
    return status;
  if (status == PREM_ERR_INTERRUPTED || prem_fit_is_stopped(all)) {
    all->result->interrupted = true;
    all->result->why = "it was interrupted";
  }
  if (all->now.turn >= 0)
    keep_best(all);
  if (all->best.turn < 0)
    return status;
  prem_status restored = restore_best(all);
  if (restored == PREM_OK) /* the checker says so once more */
    restored = prem_prepare(all->schedule, NULL, &all->machine, NULL, all->diag);
  if (restored != PREM_OK)
    return restored;
  const prem_fit_turn *turn = &all->result->turns[all->best.turn];
  all->result->is_settled =
      turn->is_measured && (prem_fit_keeps_limit(all->options, turn) || turn->raised == 0);
  if (turn->report.unsearched)
    warn_unsearched(all, turn->report.unsearched);
  if (!all->options->quick && !all->result->interrupted)
    status = compare(all);
  if (status == PREM_ERR_INTERRUPTED || prem_fit_is_stopped(all))
    all->result->interrupted = true;
  return all->result->interrupted ? PREM_ERR_INTERRUPTED : status;
}

static void free_all(prem_fitting *all) {
  if (all->now.profile != all->best.profile)
    prem_profile_free(all->now.profile);
  all->result->profile = all->best.profile;
  prem_plan_free(all->best.plan);
  free(all->joined);
  free(all->demands);
}

prem_status prem_fit_schedule(prem_schedule *schedule, const prem_backend *backend,
                              const prem_machine *machine, const prem_fit_options *options,
                              prem_fit **out, prem_diag *diag) {
  *out = NULL;
  if (!schedule->bound || !(options->time_limit_s > 0))
    return PREM_ERR_ARGUMENT;
  prem_fit *result = calloc(1, sizeof *result);
  if (!result)
    return PREM_ERR_MEMORY;
  result->best = result->layout = -1;
  prem_fitting all = {.schedule = schedule,
                      .backend = backend,
                      .probed = machine,
                      .machine = *machine,
                      .options = options,
                      .result = result,
                      .began_s = prem_host_clock_s(),
                      .now.turn = -1,
                      .best.turn = -1,
                      .diag = diag};
  all.margin = choose_margin(&all);
  all.quantile = 1;
  if (options->objective)
    snprintf(schedule->policy.objective, sizeof schedule->policy.objective, "%s",
             options->objective);
  prem_schedule_set_plan(schedule, NULL);
  prem_schedule_keep_references(schedule); /* of sessions there are many */
  prem_status status = keep_file(&all);
  if (status == PREM_OK && !options->quick && !is_sim(&all))
    status = prem_fit_choose_layout(&all);
  if (status == PREM_OK) {
    prem_backend_measure(backend, &all.machine, NULL); /* what fails is not known, so not judged */
    status = fit(&all);
  }
  result->seconds = prem_fit_passed_s(&all);
  free_all(&all);
  if ((status == PREM_OK || status == PREM_ERR_INTERRUPTED) && result->best >= 0)
    result->findings = prem_fit_findings(schedule, result, options);
  if (result->findings) {
    *out = result;
    return status;
  }
  prem_fit_free(result);
  return status == PREM_OK ? PREM_ERR_MEMORY : status;
}

void prem_fit_free(prem_fit *fit) {
  if (!fit)
    return;
  prem_findings_free(fit->findings);
  prem_result_free(fit->comparison);
  prem_profile_free(fit->profile);
  free(fit->turns);
  free(fit);
}
