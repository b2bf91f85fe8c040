/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command_study.h"

#include <inttypes.h>
#include <string.h>

/* ---- options -------------------------------------------------------------------------------- */

static const command_store stores[] = {
    TAKE_OPERAND("FILE", study_options, file),
    TAKE_TEXT('b', study_options, backend),
    TAKE_TEXT('p', study_options, profile),
    TAKE_TEXT('j', study_options, json),
    TAKE_PICTURE(OPTION_PICTURE, study_options, picture),
    TAKE_INTEGER('n', study_options, sampling.samples, 1, INT32_MAX),
    TAKE_INTEGER(OPTION_ROUNDS, study_options, sampling.rounds, 1, INT32_MAX),
    TAKE_INTEGER(OPTION_DISCARD, study_options, sampling.discard, 0, INT32_MAX),
    TAKE_INTEGER(OPTION_SEED, study_options, sampling.seed, 0, INT64_MAX),
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  study_options *options = state->input;
  switch (key) {
  case OPTION_SCENARIO:
    options->sampling.scenario = sampling_parse_scenario(state, text);
    options->scenario_given = true;
    return 0;
  case OPTION_ENGINE:
    options->engine = sampling_parse_engine(state, text);
    return 0;
  case ARGP_KEY_SUCCESS:
    command_check_outputs(state, options->file,
                          (const char *const[]){options->json, options->picture}, 2);
    return 0;
  default:
    return command_take(stores, OPTIONS_OBSERVING, key, text, state);
  }
}

const struct argp study_argp = {.options = command_options[OPTIONS_OBSERVING],
                                .parser = parse,
                                .children = command_common_children};

/* ---- opening -------------------------------------------------------------------------------- */

static int judge_classes(const study_options *options, const prem_schedule *schedule) {
  for (int32_t t = 0; options->no_best_effort && t < schedule->task_count; ++t)
    if (schedule->tasks[t].best_effort)
      return command_fail(COMMAND_INVALID, "%s: task '%s' is best effort: %s", options->file,
                          schedule->tasks[t].name, options->no_best_effort);
  return COMMAND_DONE;
}

void study_serve_always(prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].server.capacity > 0) {
      schedule->tasks[t].server = (prem_server){0};
      schedule->tasks[t].deadline_ns = 0;
    }
}

int study_open(study_options *options, bool keep_plan, const prem_backend **backend,
               prem_machine *machine, prem_schedule **schedule) {
  int status = command_find_backend(options->backend, backend, machine);
  if (status != COMMAND_DONE)
    return status;
  if (!command_output_check(options->json) || !command_output_check(options->picture))
    return COMMAND_INVALID;
  status = command_open_schedule(options->file, options->profile, keep_plan ? machine : NULL,
                                 keep_plan, schedule);
  if (status != COMMAND_DONE)
    return status;
  study_serve_always(*schedule);
  const char *const paths[] = {options->json, options->picture};
  if (!command_keep_apart(*schedule, &(command_outputs){.paths = paths, .count = 2}))
    status = COMMAND_USAGE;
  if (status == COMMAND_DONE)
    status = judge_classes(options, *schedule);
  if (status == COMMAND_DONE && keep_plan && !(*schedule)->plan)
    status = sampling_plan(*schedule, *backend, machine);
  if (status != COMMAND_DONE) {
    prem_schedule_free(*schedule);
    *schedule = NULL;
  }
  return status;
}

/* ---- reporting ------------------------------------------------------------------------------ */

int study_report(const study_options *options, const prem_findings *findings,
                 const prem_machine *machine, bool stdout_taken) {
  int status = COMMAND_DONE;
  stdout_taken |= options->json && !strcmp(options->json, "-");
  if (!stdout_taken)
    prem_findings_print(findings, stdout);
  else if (!command_quiet)
    prem_findings_print(findings, stderr);
  fflush(stdout);
  if (options->json) {
    prem_diag *diag = prem_diag_new();
    status =
        sampling_failed(prem_findings_write(findings, machine, command_line, options->json, diag),
                        diag, options->json);
  }
  if (options->picture) {
    prem_diag *diag = prem_diag_new();
    const int drawn =
        sampling_failed(prem_findings_draw(findings, options->picture, &command_stop, diag), diag,
                        options->picture);
    status = status == COMMAND_DONE ? drawn : status;
  }
  return status;
}

void study_progress(void *context, int64_t done, int64_t all) {
  progress_show(context, all > 0 ? (double)done / (double)all : -1,
                "%" PRId64 " of %" PRId64 " measurements", done, all);
}
