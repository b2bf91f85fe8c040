/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem run: one mode, or with --live a session that an application would have. */
#include "command/live_options.h"

static error_t parse(int key, char *text, struct argp_state *state) {
  run_options *options = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = &options->measure;
    return 0;
  case 'm':
    options->measure.mode_count = 0;
    measure_add_mode(&options->measure, state, text);
    return 0;
  case 't':
    options->measure.trace = text;
    return 0;
  case ARGP_KEY_SUCCESS:
    live_options_judge(options, state);
    return 0;
  default:
    return live_options_parse(&options->live, key, text, state);
  }
}

static const struct argp_child children[] = {{.argp = &measure_argp}, {0}};
static const struct argp argp = {
    .options = command_options[OPTIONS_RUN],
    .parser = parse,
    .children = children,
    .args_doc = "FILE",
    .doc = "Run a schedule (`-` is stdin) and print what was measured. A file without a plan is "
           "planned in memory; what the checker refuses is never started. Arrays with a `save` "
           "path are written when the run ends.\v"
           "The table goes to stdout, or to stderr when an output is `-`.\n\n" MEASURE_EXIT_DOC,
};

int verb_run(int argc, char **argv) {
  run_options options = {.measure = {.backend = "auto",
                                     .sampling = SAMPLING_DEFAULTS,
                                     .modes = {PREM_MODE_TT},
                                     .mode_count = 1}};
  command_parse(&argp, argc, argv, &options);
  return options.live.is_live ? live_run(&options) : measure_run(&options.measure);
}
