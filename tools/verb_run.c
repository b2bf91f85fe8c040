/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem run: one mode. */
#include "tools/measuring.h"

static error_t parse(int key, char *text, struct argp_state *state) {
  measuring_options *options = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = options;
    return 0;
  case 'm':
    options->mode_count = 0;
    measuring_add_mode(options, state, text);
    return 0;
  case 't':
    options->trace = text;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options_list[] = {
    {.name = "mode",
     .key = 'm',
     .arg = "MODE",
     .doc = "tt (default) or another one of `ttprem list`"},
    {.name = "trace",
     .key = 't',
     .arg = "T",
     .doc = "write every phase of every counted run as CSV, times in ns from the run's start; `-` "
            "is stdout"},
    {0}};
static const struct argp_child children[] = {{.argp = &measuring_argp}, {0}};
static const struct argp argp = {
    .options = options_list,
    .parser = parse,
    .children = children,
    .args_doc = "FILE",
    .doc = "Run a schedule (`-` is stdin) and print what was measured. A file without a plan is "
           "planned in memory; what the checker refuses is never started. Arrays with a `save` "
           "path are written when the run ends.\v"
           "The table goes to stdout, or to stderr when an output is `-`.\n\n" MEASURING_EXIT_DOC,
};

int verb_run(int argc, char **argv) {
  measuring_options options = {
      .backend = "auto", .sampling = SAMPLING_DEFAULTS, .modes = {PREM_MODE_TT}, .mode_count = 1};
  argp_parse(&argp, argc, argv, 0, NULL, &options);
  return measuring_run(&options);
}
