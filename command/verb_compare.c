/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem compare: the modes side by side. */
#include <string.h>

#include "command/command_measure.h"

static error_t parse(int key, char *text, struct argp_state *state) {
  measure_options *options = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = options;
    return 0;
  case 'm':
    options->mode_count = 0;
    for (char *name; (name = strsep(&text, ","));)
      measure_add_mode(options, state, name);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child children[] = {{.argp = &measure_argp}, {0}};
static const struct argp argp = {
    .options = command_options[OPTIONS_COMPARE],
    .parser = parse,
    .children = children,
    .args_doc = "FILE",
    .doc = "Run a schedule (`-` is stdin) in several modes, interleaved in random order, and print "
           "them side by side. A file without a plan is planned in memory; what the checker "
           "refuses is never started.\v"
           "The table goes to stdout, or to stderr when an output is `-`.\n\n" MEASURE_EXIT_DOC,
};

int verb_compare(int argc, char **argv) {
  measure_options options = {.backend = "auto", .sampling = SAMPLING_DEFAULTS};
  command_parse(&argp, argc, argv, &options);
  return measure_run(&options);
}
