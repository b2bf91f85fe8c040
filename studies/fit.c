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
  PILOT_SAMPLES = 5,
  MAX_SAMPLES = 20000,
  MIN_SAMPLES = 3,
  LAUNCH_NS = 1000000, /* about what it takes to begin and verify a run */
  ROUNDS = 2,
  LAUNCHES = 4,          /* resident: outputs are verified after each */
  RAISES_PER_MARGIN = 2, /* then the margin is doubled */
  MAX_RECORDS = 1 << 17, /* of a measurement; beyond them there are counts and longest times */
  SIM_STEPS = 2000       /* of a search: a time limit would make another plan each time */
};
/* Parts of the time limit. */
static const double search_part = 1.0 / 16, measure_part = 1.0 / 24, compare_part = 1.0 / 12;
/* A plan in company, one beside a load, and one that may not be late for long. */
static const double margin_one_shot = 0.05, margin_beside = 0.10, margin_periodic = 0.20,
                    margin_largest = 0.8;

/** A plan, and the times that it was made with. */
typedef struct made {
  prem_profile *profile; /* NULL: the schedule's own times */
  prem_plan *plan;       /* NULL: the schedule has it, or there is none */
  int32_t turn;          /* -1: none */
} made;

typedef struct fitting {
  prem_schedule *schedule;
  const prem_backend *backend;
  const prem_machine *probed;
  prem_machine machine; /* with what was measured of it */
  const prem_fit_options *options;
  prem_fit *result;
  prem_phase_spec *joined; /* [task_count]: as the file has them */
  int32_t *demands;        /* [task_count * PREM_PHASE_COUNT]: of the memory */
  double open_share, began_s;
  bool is_disturbed; /* no run was undisturbed: all count */
  double margin;
  made now, best;
  const char *doing;
  prem_diag *diag;
} fitting;

const char *prem_fit_times_name(prem_fit_times times) {
  static const char *const names[PREM_FIT_TIMES_COUNT] = {"file", "company", "alone", "anew",
                                                          "raised"};
  return names[times];
}

/* ---- time and words ------------------------------------------------------------------------- */

static double passed_s(const fitting *all) {
  return prem_host_clock_s() - all->began_s;
}

static bool is_stopped(const fitting *all) {
  return all->options->stop && *all->options->stop;
}

static void show(const fitting *all) {
  if (all->options->progress)
    all->options->progress(all->options->context, passed_s(all) / all->options->time_limit_s,
                           all->doing);
}

static void begin(fitting *all, const char *doing) {
  all->doing = doing;
  show(all);
}

static void show_runs(void *context, int64_t done, int64_t runs) {
  (void)done, (void)runs;
  show(context);
}

static void show_search(void *context, const prem_plan_progress *progress) {
  (void)progress;
  show(context);
}

static void show_comparison(void *context, int64_t done, int64_t runs, prem_mode mode) {
  (void)done, (void)runs, (void)mode;
  show(context);
}

static void tell(const fitting *all, const char *format, ...) PREM_PRINTF(2, 3);
static void tell(const fitting *all, const char *format, ...) {
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

static bool is_sim(const fitting *all) {
  return strcmp(prem_backend_name(all->backend), "sim") == 0;
}

/* What prem_profile_order() forgets and a profile does not bring back. */
static prem_status keep_file(fitting *all) {
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

static prem_status take_times(fitting *all, prem_profile *profile) {
  prem_schedule *schedule = all->schedule;
  schedule->policy.open_share = all->open_share;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (schedule->tasks[t].phase[p].demand)
        schedule->tasks[t].phase[p].demand[0] = all->demands[t * PREM_PHASE_COUNT + p];
  if (all->now.profile != all->best.profile)
    prem_profile_free(all->now.profile);
  all->now.profile = profile;
  return prem_profile_apply(profile, schedule, PREM_FIT_PROFILE, all->joined);
}

static double choose_margin(const fitting *all) {
  if (all->options->margin >= 0)
    return all->options->margin;
  if (prem_schedule_has_best_effort(all->schedule))
    return margin_beside;
  return all->schedule->period_lcm_ns > 0 ? margin_periodic : margin_one_shot;
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* One launch lasts as long as it takes on a GPU, where launches are dear. Threads lose their cores
 * now and then, and what follows in a launch would be late. */
static prem_scenario scenario_of(const fitting *all) {
  return strcmp(prem_backend_name(all->backend), "cuda") == 0 ? PREM_RESIDENT
                                                              : all->schedule->measure.scenario;
}

/* So many hyperperiods of that length fill the time that a measurement has. */
static int64_t samples_of(const fitting *all, int64_t hyperperiod_ns) {
  const double room_s = all->options->time_limit_s * measure_part;
  const int64_t launch_ns = scenario_of(all) == PREM_RELAUNCH ? LAUNCH_NS : 1;
  const double fit = room_s * 1e9 / (double)(hyperperiod_ns + launch_ns);
  if (is_sim(all))
    return 1;
  return fit < MIN_SAMPLES ? MIN_SAMPLES : fit > MAX_SAMPLES ? MAX_SAMPLES : (int64_t)fit;
}

static prem_profile_options profiling(fitting *all, prem_condition times, int64_t samples) {
  /* In a long launch few tiles are cold, and wide windows for these would be there each time. */
  const bool is_steady = scenario_of(all) == PREM_RESIDENT && all->schedule->period_lcm_ns == 0 &&
                         !prem_schedule_has_best_effort(all->schedule);
  const int64_t discard = is_sim(all) ? 0 : all->schedule->measure.discard;
  return (prem_profile_options){.sampling = {.scenario = scenario_of(all),
                                             .samples = samples,
                                             .discard = prem_min_i64(discard, samples),
                                             .rounds = prem_min_i64(samples, ROUNDS),
                                             .launches = LAUNCHES,
                                             .seed = all->options->seed,
                                             .max_records = MAX_RECORDS},
                                .engine = all->options->engine,
                                .times = times,
                                .together = times != PREM_ISOLATED,
                                .steady = is_steady,
                                .margin_pct = 100 * all->margin,
                                .stop = all->options->stop,
                                .progress = show_runs,
                                .progress_context = all};
}

/* NULL on any error; what was interrupted is none. Where no run goes undisturbed, disturbed ones
 * are better than none: the profile says that it is not valid. */
static prem_status measure(fitting *all, const prem_profile_options *options, prem_profile **out) {
  prem_profile_options now = *options;
  prem_status status;
  for (;;) {
    now.mix_disturbed = all->is_disturbed;
    status = prem_profile_measure(all->schedule, all->backend, &all->machine, &now, out, all->diag);
    if (status != PREM_OK || !(*out)->none_counted || all->is_disturbed)
      break;
    tell(all, "the operating system took a core away in every run: from here on disturbed runs "
              "count, and no plan is better than they are (`ttprem doctor`)");
    all->is_disturbed = true;
    prem_profile_free(*out);
    *out = NULL;
  }
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

/* Of all tasks at once, or of each alone; a short look first says how long a run takes. */
static prem_status measure_first(fitting *all, prem_condition times, prem_profile **out) {
  prem_schedule *schedule = all->schedule;
  prem_profile_options options = profiling(all, times, PILOT_SAMPLES);
  prem_status status = prem_profile_order(schedule, all->probed, all->options->stop, all->diag);
  if (status == PREM_OK)
    status = measure(all, &options, out);
  if (status != PREM_OK || all->options->quick)
    return status;
  const int64_t turns = times == PREM_ISOLATED ? schedule->task_count + 1 : 1;
  const int64_t run_ns =
      prem_max_i64((*out)->makespan_ns[PREM_CORUNNING].max, schedule->period_lcm_ns);
  const int64_t samples = samples_of(all, run_ns * turns);
  if (samples <= PILOT_SAMPLES)
    return PREM_OK;
  prem_profile_free(*out);
  options = profiling(all, times, samples);
  return measure(all, &options, out);
}

/* ---- planning ------------------------------------------------------------------------------- */

static prem_fit_turn *add_turn(fitting *all, prem_fit_times times) {
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

static void warn_unsearched(const fitting *all, const char *why) {
  const prem_place policy = all->schedule->policy.place;
  prem_diag_add(all->diag, PREM_WARNING, 0,
                policy.file ? policy : (prem_place){all->schedule->path, 0}, "policy",
                "no better plan was searched: %s", why);
}

/* In the place of all that the checker found: it comes of one thing. */
static prem_diag *refuse_formula(const fitting *all, prem_diag *found) {
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

/* The schedule has the plan after PREM_OK, and the checker has accepted it. */
static prem_status plan(fitting *all, prem_fit_times times) {
  const prem_fit_options *asked = all->options;
  const double left_s = fmax(asked->time_limit_s - passed_s(all), 0);
  /* On sim there is one search, which a number of schedules ends, mostly before the time does. */
  const double room_s = is_sim(all) ? left_s : fmin(asked->time_limit_s * search_part, left_s);
  prem_plan_options options = {.seed = asked->seed,
                               .time_limit_ns = asked->quick ? 0 : (int64_t)(room_s * 1e9),
                               .step_limit = is_sim(all) && !asked->quick ? SIM_STEPS : 0,
                               .stop = asked->stop,
                               .progress = show_search,
                               .progress_context = all};
  begin(all, "planning");
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

static double late_part(const prem_fit_turn *turn) {
  return turn->releases > 0 ? (double)turn->late / (double)turn->releases : 0;
}

static bool keeps_limit(const fitting *all, const prem_fit_turn *turn) {
  return late_part(turn) <= all->options->late;
}

static bool is_better(const fitting *all, const prem_fit_turn *a, const prem_fit_turn *b) {
  if (a->is_measured != b->is_measured)
    return a->is_measured;
  if (keeps_limit(all, a) != keeps_limit(all, b))
    return keeps_limit(all, a);
  if (!keeps_limit(all, a))
    return late_part(a) < late_part(b);
  if (a->hyperperiod_ns != b->hyperperiod_ns) /* with periods they are equal */
    return a->hyperperiod_ns < b->hyperperiod_ns;
  return a->open_ns != b->open_ns ? a->open_ns > b->open_ns
                                  : a->report.min_slack_ns > b->report.min_slack_ns;
}

/* The schedule's plan, if it is the best so far, is put aside. */
static void keep_best(fitting *all) {
  const prem_fit_turn *turns = all->result->turns;
  if (!all->schedule->plan ||
      (all->best.turn >= 0 && !is_better(all, &turns[all->now.turn], &turns[all->best.turn])))
    return;
  if (all->best.profile != all->now.profile)
    prem_profile_free(all->best.profile);
  prem_plan_free(all->best.plan);
  all->best = all->now;
  all->best.plan = all->schedule->plan;
  all->schedule->plan = NULL;
}

/* The best plan is the schedule's again, with its times; the checker says so once more. */
static prem_status restore_best(fitting *all) {
  prem_status status = PREM_OK;
  if (all->best.profile) {
    prem_profile *worse = all->now.profile == all->best.profile ? NULL : all->now.profile;
    all->now.profile = all->best.profile;
    prem_profile_free(worse);
    status = take_times(all, all->best.profile);
  }
  prem_schedule_set_plan(all->schedule, all->best.plan);
  all->best.plan = NULL;
  all->result->best = all->best.turn;
  if (status == PREM_OK)
    status = prem_prepare(all->schedule, NULL, &all->machine, NULL, all->diag);
  return status;
}

/* ---- turns ---------------------------------------------------------------------------------- */

static void tell_turn(const fitting *all, const prem_fit_turn *turn) {
  const double left_s = all->options->time_limit_s - passed_s(all);
  char raised[64] = "";
  if (turn->raised >= 0 && turn->times != PREM_FIT_FILE)
    snprintf(raised, sizeof raised, ", %d phases took longer than their windows", turn->raised);
  tell(all,
       "plan %d, by times %s: %.1f us, %" PRId64 " of %" PRId64
       " releases late%s; %.0f s, at most %.0f more",
       all->result->count, prem_fit_times_name(turn->times), (double)turn->hyperperiod_ns / 1e3,
       turn->late, turn->releases, raised, passed_s(all), left_s > 0 ? left_s : 0);
}

/* Run the schedule's plan; `*out` are its times, for the next one. */
static prem_status measure_plan(fitting *all, prem_profile **out) {
  prem_fit_turn *turn = &all->result->turns[all->now.turn];
  prem_profile_options options =
      profiling(all, PREM_PLANNED, samples_of(all, turn->hyperperiod_ns));
  const bool is_first = turn->times != PREM_FIT_ANEW && turn->times != PREM_FIT_RAISED;
  options.anew = is_first;
  options.raise = !is_first;
  begin(all, "measuring the plan");
  const double began_s = prem_host_clock_s();
  const prem_status status = measure(all, &options, out);
  if (status != PREM_OK)
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

/* Why these turns are enough; NULL: go on. */
static const char *why_enough(const fitting *all, const prem_fit_turn *turn, double turn_s) {
  const double end_s = all->options->time_limit_s * (1 - compare_part);
  if (is_sim(all))
    return "on sim phases take the times that they are given";
  if (turn->raised == 0)
    return "no time was longer than its window";
  if (turn->raised > 0 && keeps_limit(all, turn))
    return "few enough releases were late";
  if (all->result->count >= TURNS)
    return "that was the last turn";
  return passed_s(all) + turn_s > end_s ? "time was up" : NULL;
}

static void widen(fitting *all) {
  const int32_t raises = all->result->count - 2;
  if (all->options->margin < 0 && raises > 0 && raises % RAISES_PER_MARGIN == 0)
    all->margin = fmin(2 * all->margin, margin_largest);
}

/* Measure the plan, and make the next one by what was seen, until it is enough. */
static prem_status take_turns(fitting *all) {
  prem_status status = PREM_OK;
  while (status == PREM_OK && !all->result->why) {
    const double began_s = passed_s(all);
    const bool is_first = all->now.turn == 0;
    prem_profile *seen = NULL;
    widen(all);
    status = measure_plan(all, &seen);
    if (status != PREM_OK)
      break;
    const prem_fit_turn *turn = &all->result->turns[all->now.turn];
    all->result->why =
        why_enough(all, turn, passed_s(all) - began_s + all->options->time_limit_s * search_part);
    keep_best(all);
    if (all->result->why) {
      prem_profile_free(seen);
      break;
    }
    status = take_times(all, seen);
    if (status == PREM_OK)
      status = plan(all, is_first ? PREM_FIT_ANEW : PREM_FIT_RAISED);
  }
  if (all->best.turn < 0 || status == PREM_ERR_MEMORY)
    return status;
  if (status == PREM_ERR_INFEASIBLE || status == PREM_ERR_INVALID) {
    all->result->why = "by the times of that plan there is no other one";
    return PREM_OK;
  }
  return status;
}

/* ---- the first plan ------------------------------------------------------------------------- */

static bool has_times(fitting *all) {
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

static prem_status plan_by(fitting *all, prem_condition condition, prem_fit_times times) {
  prem_profile *seen = NULL;
  begin(all, times == PREM_FIT_ALONE ? "measuring each task alone" : "measuring all tasks");
  prem_status status = measure_first(all, condition, &seen);
  if (status == PREM_OK)
    status = take_times(all, seen);
  bool dealt_anew = false;
  prem_schedule_set_plan(all->schedule, NULL); /* one that was refused */
  if (status == PREM_OK && !all->options->quick)
    status = prem_schedule_deal(all->schedule, &dealt_anew, all->diag);
  if (status == PREM_OK && dealt_anew && !is_stopped(all)) {
    tell(all, "open blocks are dealt anew, by the times");
    status = measure_first(all, condition, &seen);
    if (status == PREM_OK)
      status = take_times(all, seen);
  }
  return status == PREM_OK ? plan(all, times) : status;
}

static prem_status make_first(fitting *all) {
  if (is_sim(all))
    return has_times(all) ? plan(all, PREM_FIT_FILE) : PREM_ERR_INVALID;
  prem_diag *whole = all->diag, *of_company = prem_diag_new();
  all->diag = of_company;
  prem_status status = plan_by(all, PREM_CORUNNING, PREM_FIT_COMPANY);
  all->diag = whole;
  const bool again = status == PREM_ERR_INFEASIBLE ||
                     (status == PREM_ERR_INVALID && prem_diag_errors(of_company) > 0);
  if (again && !is_stopped(all)) {
    tell(all, "by the times of all tasks together there is no plan; each is measured alone");
    status = plan_by(all, PREM_ISOLATED, PREM_FIT_ALONE);
  } else {
    add_problems(all->diag, of_company);
  }
  prem_diag_free(of_company);
  return status;
}

/* ---- what it costs -------------------------------------------------------------------------- */

/* Where there is no graph there is no ordinary kernel that was tuned. */
static void choose_modes(const fitting *all, prem_compare_options *compare) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LEGACY, PREM_MODE_GRAPH,
                                    PREM_MODE_GATED_GRAPH};
  const bool has_ordinary = prem_backend_has_mode(all->backend, PREM_MODE_GRAPH);
  for (size_t i = 0; i < (has_ordinary ? sizeof modes / sizeof modes[0] : 2); ++i)
    if (prem_backend_has_mode(all->backend, modes[i]))
      compare->modes[compare->mode_count++] = modes[i];
}

/* No plan is the worse for a mode that is not possible: it is left out. */
static prem_status compare(fitting *all) {
  const prem_measure *file = &all->schedule->measure;
  prem_compare_options options = {
      .sampling = {.scenario = file->scenario,
                   .samples = is_sim(all) ? 1 : 0,
                   .discard = is_sim(all) ? 0 : file->discard,
                   .rounds = ROUNDS,
                   .duration_s = is_sim(all) ? 0 : all->options->time_limit_s * compare_part,
                   .seed = all->options->seed},
      .engine = all->options->engine,
      .mix_disturbed = all->is_disturbed,
      .times_only = true,
      .stop = all->options->stop,
      .progress = show_comparison,
      .progress_context = all};
  prem_session *session = NULL;
  prem_diag *found = prem_diag_new();
  choose_modes(all, &options);
  begin(all, "comparing");
  prem_status status = prem_session_open(all->backend, all->schedule, &session, found);
  if (status == PREM_OK)
    status = prem_compare(session, prem_session_critical(session), all->backend, &options,
                          &all->result->comparison, found);
  prem_session_close(session);
  if (status == PREM_ERR_UNAVAILABLE) /* the comparison says of which modes, and why */
    status = PREM_OK;
  if (status != PREM_OK)
    add_problems(all->diag, found);
  prem_diag_free(found);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static prem_status fit(fitting *all) {
  prem_status status = make_first(all);
  if (status == PREM_OK && all->options->quick)
    all->result->why = "no more than a first plan was asked for";
  else if (status == PREM_OK)
    status = take_turns(all);
  if (status != PREM_OK && status != PREM_ERR_INTERRUPTED)
    return status;
  if (status == PREM_ERR_INTERRUPTED || is_stopped(all)) {
    all->result->interrupted = true;
    all->result->why = "it was interrupted";
  }
  if (all->now.turn >= 0)
    keep_best(all);
  if (all->best.turn < 0)
    return status;
  const prem_status restored = restore_best(all);
  if (restored != PREM_OK)
    return restored;
  const prem_fit_turn *turn = &all->result->turns[all->best.turn];
  all->result->is_settled = turn->is_measured && (keeps_limit(all, turn) || turn->raised == 0);
  if (turn->report.unsearched)
    warn_unsearched(all, turn->report.unsearched);
  if (!all->options->quick && !all->result->interrupted)
    status = compare(all);
  if (status == PREM_ERR_INTERRUPTED || is_stopped(all))
    all->result->interrupted = true;
  return all->result->interrupted ? PREM_ERR_INTERRUPTED : status;
}

static void free_all(fitting *all) {
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
  result->best = -1;
  fitting all = {.schedule = schedule,
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
  if (options->objective)
    snprintf(schedule->policy.objective, sizeof schedule->policy.objective, "%s",
             options->objective);
  prem_schedule_set_plan(schedule, NULL);
  prem_status status = keep_file(&all);
  if (status == PREM_OK) {
    prem_backend_measure(backend, &all.machine, NULL); /* what fails is not known, so not judged */
    status = fit(&all);
  }
  result->seconds = passed_s(&all);
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
