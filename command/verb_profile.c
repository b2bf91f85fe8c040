/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem profile: measure the WCETs that planning needs. */
#include "command/command_study.h"
#include "ttprem/profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct profile_options {
  study_options common;
  const char *output;
  prem_condition times;
  bool times_given, regulated, steady, anew, raise, with_disturbed;
  int64_t margin_pct;
  double quantile; /* 0: not given */
} profile_options;

static prem_condition parse_times(struct argp_state *state, const char *text) {
  static const char *const names[PREM_PROFILE_CONDITION_COUNT] = {"alone", "company", "planned"};
  static const prem_condition conditions[PREM_PROFILE_CONDITION_COUNT] = PREM_PROFILE_CONDITIONS;
  for (int which = 0; which < PREM_PROFILE_CONDITION_COUNT; ++which)
    if (!strcmp(text, names[which]))
      return conditions[which];
  argp_error(state, "--times: '%s' is none of alone, company, planned", text);
  return PREM_ISOLATED;
}

/* "99.9" is 0.999; "longest" 1. */
static double parse_quantile(struct argp_state *state, const char *text) {
  char *end = NULL;
  if (!strcmp(text, "longest"))
    return 1;
  const double percent = strtod(text, &end);
  if (end == text || *end || !(percent >= 50) || !(percent <= 99.9999))
    argp_error(state, "--quantile: '%s' is neither `longest` nor a percentage from 50 to 99.9999",
               text);
  return percent / 100;
}

static const command_store stores[] = {
    TAKE_TEXT('o', profile_options, output),
    TAKE_FLAG(OPTION_REGULATED, profile_options, regulated),
    TAKE_FLAG(OPTION_STEADY, profile_options, steady),
    TAKE_FLAG(OPTION_ANEW, profile_options, anew),
    TAKE_FLAG(OPTION_RAISE, profile_options, raise),
    TAKE_FLAG(OPTION_WITH_DISTURBED, profile_options, with_disturbed),
    TAKE_INTEGER(OPTION_MARGIN, profile_options, margin_pct, 0, 10000),
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  profile_options *options = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &options->common;
    return 0;
  case OPTION_TIMES:
    options->times = parse_times(state, text);
    options->times_given = true;
    return 0;
  case OPTION_QUANTILE:
    options->quantile = parse_quantile(state, text);
    return 0;
  case ARGP_KEY_END:
    if (!options->output)
      argp_error(state, "FILE and -o OUT are needed");
    if (options->raise && options->times != PREM_PLANNED)
      argp_error(state,
                 "--raise raises the times of a plan that was measured: it needs --times planned");
    if (options->anew && options->times != PREM_PLANNED)
      argp_error(state, "--anew measures by the plan alone: it needs --times planned");
    if (options->anew && options->raise)
      argp_error(state, "--anew lets times get shorter, --raise does not: give one of them");
    command_check_outputs(
        state, options->common.file,
        (const char *const[]){options->output, options->common.json, options->common.picture}, 3);
    return 0;
  default:
    return command_take(stores, OPTIONS_PROFILE, key, text, state);
  }
}

static const struct argp_child children[] = {{.argp = &study_argp}, {0}};
static const struct argp argp = {
    .options = command_options[OPTIONS_PROFILE],
    .parser = parse,
    .children = children,
    .args_doc = "FILE -o OUT",
    .doc = "Measure what the phases of a schedule take: each task alone, by the file's resources, "
           "and all of them together, each as fast as it can, cold start apart, in interleaved "
           "rounds; and write the longest times, in ns, as a profile for the file's `profiles` "
           "group. A longest time seen is no bound: give the plan room above it. A profile that "
           "was disturbed says so and is marked invalid. On sim there is nothing to "
           "measure.\v" COMMAND_EXIT_DOC,
};

static int plan_any_order(prem_schedule *schedule, const prem_machine *machine) {
  prem_diag *diag = prem_diag_new();
  command_tell_size(schedule);
  const prem_status status = prem_profile_order(schedule, machine, &command_stop, diag);
  return sampling_failed(status, diag, schedule->path);
}

/* What the windows of a machine that was disturbed are good for. */
static void advise(const profile_options *options, const prem_profile *profile) {
  if (profile->disturbed_runs > 0)
    command_note("something else took a core in %" PRId64 " runs; the jobs that it disturbed are "
                 "left out%s",
                 profile->disturbed_runs,
                 profile->all_disturbed ? ", but for phases that have no other times" : "");
  if (profile->quantile > 0)
    command_note("wcet_ns bounds the time that %g %% of phases do not exceed; the others will "
                 "overrun: give --margin, or measure on cores that nobody else uses",
                 100 * profile->quantile);
  if (profile->quantile_short)
    command_note("some phase has too few times for that: its longest is taken; --repeat more");
  if (profile->quantile == 0 && !profile->valid && options->quantile == 0)
    command_note("too few samples for a quantile: wcet_ns is the longest time of a disturbed "
                 "machine, and may be far above the usual; --repeat more");
}

static int write_profile(const profile_options *options, const prem_profile *profile,
                         const char *name) {
  const bool stdout_taken = !strcmp(options->output, "-");
  if (profile->interrupted) { /* half a profile would be planned with; half the findings may help */
    command_error("%s: interrupted; no profile is written", name);
    study_report(&options->common, profile->findings, &profile->machine, stdout_taken);
    return COMMAND_INTERRUPTED;
  }
  if (!profile->output_ok)
    return command_fail(COMMAND_INVALID, "%s: wrong output; nothing is written", name);
  if (profile->none_counted)
    return command_fail(COMMAND_UNAVAILABLE,
                        "%s: of %" PRId64
                        " runs all were disturbed: the operating system took a core "
                        "away; no profile is written; measure on a quieter machine, or "
                        "--with-disturbed; see docs/timing-method.md, 'Disturbed jobs'",
                        name, profile->disturbed_runs);
  if (!profile->valid)
    command_note("the profile is marked invalid: %s", profile->disturbed);
  advise(options, profile);
  if (profile->raises)
    command_note(profile->raised > 0
                     ? "%d times are longer than in the schedule: plan, and profile again"
                     : "%d times are longer than in the schedule: its windows hold",
                 (int)profile->raised);
  prem_diag *diag = prem_diag_new();
  int status =
      sampling_failed(prem_profile_write(profile, options->output, diag), diag, options->output);
  if (status == COMMAND_DONE)
    status = study_report(&options->common, profile->findings, &profile->machine, stdout_taken);
  return status;
}

static int measure(const profile_options *options, const prem_schedule *schedule,
                   const prem_backend *backend, prem_machine *machine) {
  prem_profile_options profiling = {.engine = options->common.engine,
                                    .times = options->times,
                                    .regulated = options->regulated,
                                    .steady = options->steady,
                                    .anew = options->anew,
                                    .raise = options->raise,
                                    .mix_disturbed = options->with_disturbed,
                                    .quantile = options->quantile,
                                    .margin_pct = (double)options->margin_pct,
                                    .stop = &command_stop};
  profiling.sampling =
      sampling_choose(&options->common.sampling, options->common.scenario_given, schedule, backend);
  if (options->regulated && !options->times_given)
    profiling.times = PREM_CORUNNING;
  progress line;
  progress_begin(&line);
  profiling.progress = study_progress;
  profiling.progress_context = &line;
  command_catch_signals();
  prem_diag *diag = prem_diag_new();
  prem_profile *profile = NULL;
  prem_status status = PREM_OK;
  if (options->regulated)
    status = prem_backend_measure(backend, machine, diag);
  else
    prem_backend_measure(backend, machine, NULL); /* what fails is not known, so not judged */
  if (status == PREM_OK && options->regulated && machine->bandwidth_bytes_per_s == 0) {
    command_error("--regulated: backend %s does not measure its bandwidth",
                  prem_backend_name(backend));
    prem_diag_free(diag);
    return COMMAND_UNAVAILABLE;
  }
  if (status == PREM_OK)
    status = prem_profile_measure(schedule, backend, machine, &profiling, &profile, diag);
  progress_end(&line);
  int ended = sampling_failed(profile ? PREM_OK : status, diag, schedule->path);
  if (profile)
    ended = write_profile(options, profile, schedule->name);
  prem_profile_free(profile);
  return ended;
}

/* A profile takes the place of an older one that the schedule names, and of nothing else. */
static bool may_write(const char *output, const prem_schedule *schedule) {
  command_outputs outputs = {.paths = &output, .count = 1};
  for (int32_t i = 0; i < schedule->profile_count; ++i)
    if (prem_output_same(output, schedule->profiles[i].path))
      outputs.spared = schedule->profiles[i].path;
  return command_keep_apart(schedule, &outputs);
}

int verb_profile(int argc, char **argv) {
  profile_options options = {.common = STUDY_DEFAULTS};
  command_parse(&argp, argc, argv, &options);
  if (strcmp(options.common.backend, "sim") == 0)
    return command_fail(
        COMMAND_USAGE,
        "the simulator takes its times from the file: there is nothing to measure on it");
  const prem_backend *backend = NULL;
  prem_machine machine;
  prem_schedule *schedule = NULL;
  if (!command_output_check(options.output))
    return COMMAND_INVALID;
  const bool planned = options.times == PREM_PLANNED;
  int status = study_open(&options.common, planned, &backend, &machine, &schedule);
  if (status != COMMAND_DONE)
    return status;
  if (!may_write(options.output, schedule))
    status = COMMAND_USAGE;
  if (status == COMMAND_DONE && !planned)
    status = plan_any_order(schedule, &machine);
  if (status == COMMAND_DONE)
    status = measure(&options, schedule, backend, &machine);
  prem_schedule_free(schedule);
  return status;
}
