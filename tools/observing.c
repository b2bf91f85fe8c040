/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/observing.h"

#include <inttypes.h>
#include <string.h>

/* ---- options -------------------------------------------------------------------------------- */

enum { KEY_ROUNDS = 256, KEY_DISCARD, KEY_SCENARIO, KEY_ENGINE, KEY_SEED, KEY_PICTURE };

static error_t parse_count(int key, const char *text, struct argp_state *state,
                           observing_options *options) {
  switch (key) {
  case 'n':
    options->sampling.samples = command_parse_int(state, "--repeat", text, 1, INT32_MAX);
    return 0;
  case KEY_ROUNDS:
    options->sampling.rounds = command_parse_int(state, "--rounds", text, 1, INT32_MAX);
    return 0;
  case KEY_DISCARD:
    options->sampling.discard = command_parse_int(state, "--discard", text, 0, INT32_MAX);
    return 0;
  case KEY_SEED:
    options->sampling.seed = (uint64_t)command_parse_int(state, "--seed", text, 0, INT64_MAX);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  observing_options *options = state->input;
  switch (key) {
  case 'b':
    options->backend = text;
    return 0;
  case 'p':
    options->profile = text;
    return 0;
  case 'j':
    options->json = text;
    return 0;
  case KEY_PICTURE:
    command_check_picture(state, "--picture", text);
    options->picture = text;
    return 0;
  case KEY_SCENARIO:
    options->sampling.scenario = sampling_parse_scenario(state, text);
    options->scenario_given = true;
    return 0;
  case KEY_ENGINE:
    options->engine = sampling_parse_engine(state, text);
    return 0;
  case ARGP_KEY_ARG:
    if (options->file)
      argp_error(state, "one FILE at a time");
    options->file = text;
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_error(state, "no FILE");
    return 0;
  case ARGP_KEY_SUCCESS:
    command_check_outputs(state, options->file,
                          (const char *const[]){options->json, options->picture}, 2);
    return 0;
  default:
    return parse_count(key, text, state, options);
  }
}

static const struct argp_option options_list[] = {
    {.name = "backend",
     .key = 'b',
     .arg = "NAME",
     .doc = "auto (default: the best that is available), cuda, cpu or sim"},
    {.name = "profile", .key = 'p', .arg = "NAME", .doc = "WCETs from this profile of the file"},
    {.name = "repeat",
     .key = 'n',
     .arg = "N",
     .doc = "runs, or hyperperiods when resident, of each measurement; default: the file's"},
    {.name = "rounds",
     .key = KEY_ROUNDS,
     .arg = "N",
     .doc = "over which the runs are spread, in random order in each; default 5"},
    {.name = "discard",
     .key = KEY_DISCARD,
     .arg = "N",
     .doc = "more runs at each start that are not counted; default: the file's"},
    {.name = "scenario",
     .key = KEY_SCENARIO,
     .arg = "NAME",
     .doc = "relaunch or resident; default: the file's"},
    {.name = "engine",
     .key = KEY_ENGINE,
     .arg = "NAME",
     .doc = "how the GPU moves memory: best (default), bulk, cp_async or vector"},
    {.name = "seed", .key = KEY_SEED, .arg = "N", .doc = "of the random orders; default 1"},
    {.name = "json",
     .key = 'j',
     .arg = "R",
     .doc = "write what was found as JSON, times in ns; `-` is stdout"},
    {.name = "picture",
     .key = KEY_PICTURE,
     .arg = "P",
     .doc = "draw what was found: P.svg or P.png; needs gnuplot"},
    {0}};
static const struct argp_child children[] = {{.argp = &command_common_argp}, {0}};
const struct argp observing_argp = {.options = options_list, .parser = parse, .children = children};

/* ---- opening -------------------------------------------------------------------------------- */

int observing_open(observing_options *options, bool keep_plan, const prem_backend **backend,
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
  const char *const paths[] = {options->json, options->picture};
  if (!command_keep_apart(*schedule, &(command_outputs){.paths = paths, .count = 2})) {
    prem_schedule_free(*schedule);
    *schedule = NULL;
    return COMMAND_USAGE;
  }
  if (keep_plan && !(*schedule)->plan)
    status = sampling_plan(*schedule, machine);
  return status;
}

/* ---- reporting ------------------------------------------------------------------------------ */

int observing_report(const observing_options *options, const prem_findings *findings,
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

void observing_progress(void *context, int64_t done, int64_t all) {
  progress_show(context, all > 0 ? (double)done / (double)all : -1,
                "%" PRId64 " of %" PRId64 " measurements", done, all);
}
