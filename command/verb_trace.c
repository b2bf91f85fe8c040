/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem trace: a recorded trace in another form. */
#include <errno.h>
#include <string.h>

#include "command/command.h"
#include "ttprem/trace_file.h"

typedef struct trace_options {
  const char *path, *output;
  bool format_given;
  prem_trace_options convert;
} trace_options;

static prem_trace_format parse_format(struct argp_state *state, const char *text) {
  if (strcmp(text, "perfetto") == 0)
    return PREM_TRACE_PERFETTO;
  if (strcmp(text, "csv") != 0)
    argp_error(state, "unknown format '%s'; there are: perfetto, csv", text);
  return PREM_TRACE_CSV;
}

static const command_store stores[] = {
    TAKE_TEXT('o', trace_options, output),
    TAKE_INTEGER(OPTION_RUN, trace_options, convert.run, 0, INT64_MAX),
    TAKE_TEXT(OPTION_TASK, trace_options, convert.task),
    TAKE_INTEGER(OPTION_LATE_NS, trace_options, convert.late_ns, 0, INT64_MAX),
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  trace_options *options = state->input;
  switch (key) {
  case 'f':
    options->convert.format = parse_format(state, text);
    options->format_given = true;
    return 0;
  case ARGP_KEY_ARG:
    if (options->path)
      argp_error(state, "one TRACE at a time");
    options->path = text;
    return 0;
  case ARGP_KEY_END:
    if (!options->path || !options->format_given)
      argp_error(state, "TRACE and --format are needed");
    command_check_outputs(state, options->path, (const char *const[]){options->output}, 1);
    return 0;
  default:
    return command_take(stores, OPTIONS_TRACE, key, text, state);
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_TRACE],
    .parser = parse,
    .children = command_common_children,
    .args_doc = "TRACE",
    .doc = "Filter a trace that `ttprem run --trace` wrote, or turn it into Perfetto's form: a "
           "track for each block, phases as slices, releases as instants. TRACE `-` is stdin. "
           "Times are in ns from the run's start.\v" COMMAND_EXIT_DOC,
};

static int convert(const trace_options *options, FILE *in, const char *name) {
  command_output output;
  if (!command_output_open(&output, options->output))
    return COMMAND_INVALID;
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_trace_convert(in, name, &options->convert, output.file, diag);
  command_print_diag(diag);
  int ended = command_exit_status(status);
  if (status == PREM_OK)
    ended = command_output_commit(&output) ? COMMAND_DONE : COMMAND_INVALID;
  else if (prem_diag_errors(diag) == 0 && status == PREM_ERR_IO)
    command_error("cannot write %s", options->output);
  else if (prem_diag_errors(diag) == 0)
    command_error("%s: %s", name, prem_status_text(status));
  command_output_abandon(&output);
  prem_diag_free(diag);
  return ended;
}

int verb_trace(int argc, char **argv) {
  trace_options options = {.output = "-", .convert = {.run = -1}};
  command_parse(&argp, argc, argv, &options);
  options.convert.stop = &command_stop;
  command_catch_signals();
  if (!strcmp(options.path, "-"))
    return convert(&options, stdin, "stdin");
  FILE *in = fopen(options.path, "rb");
  if (!in)
    return command_fail(COMMAND_INVALID, "cannot read %s: %s", options.path, strerror(errno));
  int status = convert(&options, in, options.path);
  fclose(in);
  return status;
}
