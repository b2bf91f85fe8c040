/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem tune: the smallest offset that keeps what is asked of a schedule, by measuring. */
#include "command/command_study.h"
#include "prem/base/numbers.h"
#include "ttprem/tuning.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
  DEFAULT_SAMPLES = 100,
  SWEEP_POINTS = 24,
  RANGE = 4,     /* offsets from a RANGEth of the file's to RANGE times it */
  MIN_UNITS = 4, /* steps of the clock: a plan whose offset is shorter has none */
  SEARCHES = 2
};

typedef struct tune_options {
  study_options common;
  const char *output;
  int64_t from_ns, to_ns; /* 0: not given */
  int64_t tries, sweep_step_ns;
  bool sweep;
  double late_pct, overruns_pct, isolation, precision_pct;
  int64_t lateness_ns; /* -1: no limit */
} tune_options;

/** What is tuned, and what a try at it needs. */
typedef struct tuning {
  const tune_options *options;
  prem_schedule *schedule;
  prem_plan *base; /* the file's plan, to be stretched; NULL: the policy makes the plan */
  const prem_backend *backend;
  prem_machine machine;
  prem_tune_try_options how;
  int64_t *setting;       /* the policy's offset that is tuned; NULL: the plan's */
  prem_tune_trial *trial; /* of the schedule with its plan; NULL: none is open */
  int64_t trial_ns;       /* its offset */
  progress line;
  prem_diag *diag;
} tuning;

/* ---- options -------------------------------------------------------------------------------- */

static const command_store stores[] = {
    TAKE_TEXT('o', tune_options, output),
    TAKE_INTEGER(OPTION_FROM, tune_options, from_ns, 1, PREM_MAX_NS),
    TAKE_INTEGER(OPTION_TO, tune_options, to_ns, 1, PREM_MAX_NS),
    TAKE_INTEGER(OPTION_TRIES, tune_options, tries, 1, 1000),
    TAKE_NUMBER(OPTION_LATE, tune_options, late_pct, 100),
    TAKE_INTEGER(OPTION_LATENESS, tune_options, lateness_ns, 0, PREM_MAX_NS),
    TAKE_NUMBER(OPTION_OVERRUNS, tune_options, overruns_pct, 100),
    TAKE_NUMBER(OPTION_ISOLATION, tune_options, isolation, 1000000),
    TAKE_NUMBER(OPTION_PRECISION, tune_options, precision_pct, 100),
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  tune_options *options = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &options->common;
    return 0;
  case OPTION_SWEEP:
    options->sweep = true;
    if (text)
      options->sweep_step_ns = command_parse_int(state, "--sweep", text, 1, PREM_MAX_NS);
    return 0;
  case ARGP_KEY_SUCCESS: /* FILE may be tuned in its place */
    command_check_outputs(
        state, NULL,
        (const char *const[]){options->output, options->common.json, options->common.picture}, 3);
    return 0;
  default:
    return command_take(stores, OPTIONS_TUNE, key, text, state);
  }
}

static const struct argp_child children[] = {{.argp = &study_argp}, {0}};
static const struct argp argp = {
    .options = command_options[OPTIONS_TUNE],
    .parser = parse,
    .children = children,
    .args_doc = "FILE",
    .doc =
        "Find the smallest offset between starts, and so the smallest cycle, at which a schedule "
        "in mode tt keeps its limits, by measuring: the policy's offsets where the policy is "
        "one of tile_... or phase_..., else the offset of which all starts of the file's plan "
        "are multiples. A try takes the file's runs, 100 at most, unless --repeat says how many.\v"
        "What was found goes to stdout, or to stderr when an output is `-`.\n\n" COMMAND_EXIT_DOC,
};

/* ---- one try -------------------------------------------------------------------------------- */

static bool keeps_limits(const tune_options *options, const prem_tune_point *point) {
  const double releases = (double)point->releases;
  const double ratio = isnan(point->isolation_p999) ? point->isolation_max : point->isolation_p999;
  return 100.0 * (double)point->late <= options->late_pct * releases &&
         100.0 * (double)point->overruns <= options->overruns_pct * (double)point->phases &&
         (options->lateness_ns < 0 || point->lateness_max_ns <= options->lateness_ns) &&
         !(ratio > options->isolation); /* it is not known with one task */
}

/* The schedule with a plan of this offset; false: the planner or the checker refuses it. */
static prem_status plan_with(const tuning *all, int64_t offset_ns, bool *planned) {
  prem_plan *plan = NULL;
  prem_diag *quiet = prem_diag_new(); /* a refusal is an answer here */
  prem_status status;
  if (all->setting) {
    *all->setting = offset_ns;
    status = prem_plan_make(all->schedule, &all->machine, NULL, &plan, quiet);
  } else {
    status = prem_plan_stretch(all->schedule, all->base, offset_ns, &plan, quiet);
  }
  if (status == PREM_OK)
    status = prem_adopt_plan(all->schedule, &all->machine, plan, quiet);
  prem_diag_free(quiet);
  *planned = status == PREM_OK;
  return status == PREM_ERR_INVALID || status == PREM_ERR_INFEASIBLE ? PREM_OK : status;
}

static void close_trial(tuning *all) {
  prem_tune_trial_close(all->trial);
  all->trial = NULL;
}

/* Tries at one offset, one after the other, share the arrays and their references. */
static prem_status open_trial(tuning *all, int64_t offset_ns, bool *planned) {
  *planned = true;
  if (all->trial && all->trial_ns == offset_ns)
    return PREM_OK;
  close_trial(all);
  const prem_status status = plan_with(all, offset_ns, planned);
  if (status != PREM_OK || !*planned)
    return status;
  all->trial_ns = offset_ns;
  return prem_tune_trial_open(all->schedule, all->backend, &all->how, &all->trial, all->diag);
}

static prem_status try_offset(void *context, int64_t offset_ns, prem_tune_point *out) {
  tuning *all = context;
  progress_show(&all->line, -1, "offset %" PRId64 " ns", offset_ns);
  prem_status status = open_trial(all, offset_ns, &out->planned);
  if (status != PREM_OK || !out->planned)
    return status;
  status = prem_tune_trial_run(all->trial, out, all->diag);
  out->kept = status == PREM_OK && keeps_limits(all->options, out);
  return status;
}

/* ---- searching ------------------------------------------------------------------------------ */

/* What a closed-form policy takes when the file gives no offset. */
static int64_t default_offset_ns(const prem_schedule *schedule, prem_phase phase) {
  int64_t longest_ns = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].phase[phase].exists)
      longest_ns = prem_max_i64(longest_ns, schedule->tasks[t].phase[phase].wcet_ns);
  return longest_ns + prem_schedule_gap_ns(schedule, NULL);
}

static prem_status search_one(tuning *all, prem_tune_search *search) {
  const tune_options *options = all->options;
  prem_tune_options tune = {
      .start_ns = search->start_ns,
      .min_ns = options->from_ns ? options->from_ns : prem_max_i64(search->start_ns / RANGE, 1),
      .max_ns = options->to_ns ? options->to_ns : search->start_ns * RANGE,
      .grid_ns = prem_max_i64(all->machine.clock_step_ns, all->schedule->platform.clock_step_ns),
      .tries = (int32_t)options->tries,
      .precision_pct = options->precision_pct};
  if (options->sweep)
    tune.sweep_step_ns = options->sweep_step_ns
                             ? options->sweep_step_ns
                             : prem_max_i64((tune.max_ns - tune.min_ns) / SWEEP_POINTS, 1);
  progress_begin(&all->line);
  const prem_status status = prem_tune(&tune, try_offset, all, &search->result);
  close_trial(all);
  progress_end(&all->line);
  if (status == PREM_ERR_ARGUMENT)
    command_error("%s: no multiple of the clock's step, %" PRId64 " ns, from %" PRId64
                  " to %" PRId64 " ns; change --from or --to",
                  search->key, tune.grid_ns, tune.min_ns, tune.max_ns);
  if (status == PREM_ERR_INFEASIBLE)
    command_error("%s: no offset up to %" PRId64 " ns keeps the limits; raise --to or the limits",
                  search->key, tune.max_ns);
  if (status == PREM_OK) { /* the next search, and the file, go on with what was found */
    bool planned;
    return plan_with(all, search->result.points[search->result.best].offset_ns, &planned);
  }
  return status;
}

static bool is_closed_form(const char *policy) {
  return strncmp(policy, "tile_", 5) == 0 || strncmp(policy, "phase_", 6) == 0;
}

/* The settings to be tuned, in their order. */
static int32_t choose_searches(tuning *all, prem_tune_search *searches, int64_t **settings) {
  prem_schedule *schedule = all->schedule;
  const bool has_writebacks = !strncmp(schedule->policy.use, "phase_", 6) &&
                              default_offset_ns(schedule, PREM_WRITEBACK) > 0;
  if (!is_closed_form(schedule->policy.use)) {
    searches[0] = (prem_tune_search){.key = "plan", .start_ns = prem_plan_offset_ns(all->base)};
    settings[0] = NULL;
    return 1;
  }
  settings[0] = &schedule->policy.prefetch_offset_ns;
  settings[1] = &schedule->policy.writeback_offset_ns;
  searches[0].key = "prefetch_offset_ns";
  searches[1].key = "writeback_offset_ns";
  for (int i = 0; i < SEARCHES; ++i)
    searches[i].start_ns = *settings[i]
                               ? *settings[i]
                               : default_offset_ns(schedule, i ? PREM_WRITEBACK : PREM_PREFETCH);
  return has_writebacks ? 2 : 1;
}

/* ---- reporting ------------------------------------------------------------------------------ */

static void say_limits(const tune_options *options, char *text, size_t bytes) {
  int used = snprintf(text, bytes, "at most %g %% of releases late, %g %% of phases overrunning",
                      options->late_pct, options->overruns_pct);
  if (options->lateness_ns >= 0)
    used += snprintf(text + used, bytes - (size_t)used, ", worst lateness %" PRId64 " ns",
                     options->lateness_ns);
  if (isfinite(options->isolation))
    snprintf(text + used, bytes - (size_t)used, ", isolation of memory phases %g",
             options->isolation);
}

static int report(const tuning *all, const prem_tune_search *searches, int32_t count) {
  char limits[256];
  say_limits(all->options, limits, sizeof limits);
  prem_findings *findings = prem_tune_findings(all->schedule, searches, count, limits);
  if (!findings)
    return command_fail(COMMAND_INVALID, "%s", prem_status_text(PREM_ERR_MEMORY));
  const bool stdout_taken = all->options->output && !strcmp(all->options->output, "-");
  if (command_stop)
    prem_findings_incomplete(findings);
  prem_findings_seed(findings, all->options->common.sampling.seed);
  const int status = study_report(&all->options->common, findings, &all->machine, stdout_taken);
  prem_findings_free(findings);
  return status;
}

static int write_schedule(tuning *all, const prem_tune_search *searches, int32_t count) {
  prem_diag *diag = prem_diag_new();
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < count && status == PREM_OK && is_closed_form(all->schedule->policy.use);
       ++i)
    status = prem_schedule_edit_policy(all->schedule, searches[i].key,
                                       searches[i].result.points[searches[i].result.best].offset_ns,
                                       diag);
  if (status == PREM_OK)
    status = prem_schedule_save(all->schedule, all->options->output, diag);
  return sampling_failed(status, diag, all->options->output);
}

static int tune(tuning *all) {
  prem_tune_search searches[SEARCHES] = {{0}};
  int64_t *settings[SEARCHES] = {0};
  const int32_t count = choose_searches(all, searches, settings);
  prem_status status = PREM_OK;
  int32_t done = 0;
  for (; done < count && status == PREM_OK; ++done) {
    all->setting = settings[done];
    status = search_one(all, &searches[done]);
  }
  int ended = COMMAND_DONE;
  command_print_diag(all->diag);
  if (status != PREM_OK && status != PREM_ERR_INFEASIBLE && status != PREM_ERR_ARGUMENT &&
      prem_diag_errors(all->diag) == 0)
    command_error("%s: %s", all->schedule->path, prem_status_text(status));
  if (status != PREM_OK)
    ended = status == PREM_ERR_ARGUMENT ? COMMAND_USAGE : command_exit_status(status);
  if (searches[0].result.count > 0) {
    const int reported = report(all, searches, done);
    ended = ended == COMMAND_DONE ? reported : ended;
  }
  if (ended == COMMAND_DONE && all->options->output)
    ended = write_schedule(all, searches, count);
  for (int i = 0; i < SEARCHES; ++i)
    prem_tune_free(&searches[i].result);
  return ended;
}

/* A copy of the file's plan, to be stretched; refuses what has no offset. */
static int take_base(tuning *all) {
  const prem_plan *plan = all->schedule->plan;
  const int64_t offset_ns = prem_plan_offset_ns(plan);
  const int64_t grid_ns =
      prem_max_i64(all->machine.clock_step_ns, all->schedule->platform.clock_step_ns);
  if (all->schedule->period_lcm_ns > 0) {
    command_error("%s: the tasks have periods, which give the cycle: there is none to tune. To be "
                  "chosen are",
                  all->schedule->path);
    fputs(
        "  windows  `ttprem profile --margin PERCENT` or `--quantile PERCENT`, then `ttprem plan`\n"
        "  slack    policy: { objective = \"slack\"; } or \"response\", then `ttprem plan`\n"
        "  load     period_ns, or more tasks, until `ttprem plan` finds no plan;\n"
        "           `ttprem isolate` says how far they disturb each other\n",
        stderr);
    return COMMAND_INVALID;
  }
  if (offset_ns < MIN_UNITS * grid_ns)
    return command_fail(
        COMMAND_INVALID,
        "%s: the starts of the plan have no offset in common (they are multiples of "
        "%" PRId64 " ns, of at least %" PRId64 " they should be): write a policy tile_... "
        "or phase_..., or a plan of equal steps",
        all->schedule->path, offset_ns, MIN_UNITS * grid_ns);
  const prem_status status =
      prem_plan_stretch(all->schedule, plan, offset_ns, &all->base, all->diag);
  if (status != PREM_OK)
    command_error("%s: %s", all->schedule->path, prem_status_text(status));
  return command_exit_status(status);
}

static int tune_schedule(tuning *all) {
  const tune_options *options = all->options;
  all->how = (prem_tune_try_options){.engine = options->common.engine, .stop = &command_stop};
  all->how.sampling = sampling_choose(&options->common.sampling, options->common.scenario_given,
                                      all->schedule, all->backend);
  if (options->common.sampling.samples == 0)
    all->how.sampling.samples = prem_min_i64(all->how.sampling.samples, DEFAULT_SAMPLES);
  int status = is_closed_form(all->schedule->policy.use) ? COMMAND_DONE : take_base(all);
  command_catch_signals();
  if (status == COMMAND_DONE)
    status = tune(all);
  prem_plan_free(all->base);
  return status;
}

int verb_tune(int argc, char **argv) {
  tune_options options = {.common = STUDY_DEFAULTS,
                          .tries = 3,
                          .lateness_ns = -1,
                          .isolation = INFINITY,
                          .precision_pct = 1};
  options.common.no_best_effort =
      "tune looks for the shortest cycle of planned tasks, and with a load the cycle is given; "
      "`ttprem profile`, plan, then `profile --times planned --raise` and plan until it says that "
      "the windows hold";
  command_parse(&argp, argc, argv, &options);
  tuning all = {.options = &options};
  if (!command_output_check(options.output))
    return COMMAND_INVALID;
  int status = study_open(&options.common, true, &all.backend, &all.machine, &all.schedule);
  if (status != COMMAND_DONE)
    return status;
  const command_outputs outputs = {&options.output, 1, options.common.file};
  if (command_keep_apart(all.schedule, &outputs)) {
    all.diag = prem_diag_new();
    status = tune_schedule(&all);
    prem_diag_free(all.diag);
  } else {
    status = COMMAND_USAGE;
  }
  prem_schedule_free(all.schedule);
  return status;
}
