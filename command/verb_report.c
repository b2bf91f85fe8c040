/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem report: one page for everything that was measured. */
#include <string.h>

#include "command/command.h"
#include "ttprem/report.h"

typedef struct report_options {
  char **paths;
  int path_count;
  const char *output;
} report_options;

/** With a pattern of the shell, as in `-o *.json`, OUT would be a result. */
static bool is_json(const char *path) {
  size_t length = strlen(path);
  return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  report_options *options = state->input;
  switch (key) {
  case 'o':
    if (is_json(text))
      argp_error(state, "-o %s: a page is not written over a result; call it .html", text);
    options->output = text;
    return 0;
  case ARGP_KEY_ARGS:
    options->paths = state->argv + state->next;
    options->path_count = state->argc - state->next;
    return 0;
  case ARGP_KEY_END:
    if (options->path_count == 0 || !options->output)
      argp_error(state, "RESULT and -o OUT are needed");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_REPORT],
    .parser = parse,
    .children = command_common_children,
    .args_doc = "RESULT... -o OUT.html",
    .doc = "Make one page of results (`ttprem compare --json`) and findings (`ttprem experiment`): "
           "verdicts, tables, timelines, distributions. It needs no network and can be printed. "
           "A RESULT that cannot be used is told, the others are reported all the same; the exit "
           "status is 1 then.\v" COMMAND_EXIT_DOC,
};

static int add(prem_report *report, const char *path) {
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_report_add(report, path, diag);
  command_print_diag(diag);
  if (status != PREM_OK && prem_diag_errors(diag) == 0)
    command_error("%s: %s", path, prem_status_text(status));
  prem_diag_free(diag);
  return command_exit_status(status);
}

static int write_page(const prem_report *report, const char *path) {
  prem_diag *diag = prem_diag_new();
  prem_status status = prem_report_write(report, path, diag);
  command_print_diag(diag);
  if (status == PREM_ERR_ARGUMENT)
    command_error("nothing to report: %s is not written", path);
  prem_diag_free(diag);
  return command_exit_status(status);
}

int verb_report(int argc, char **argv) {
  report_options options = {0};
  command_parse(&argp, argc, argv, &options);
  prem_report *report = prem_report_new();
  if (!report)
    return command_fail(COMMAND_INVALID, "%s", prem_status_text(PREM_ERR_MEMORY));
  int status = COMMAND_DONE;
  for (int i = 0; i < options.path_count; ++i)
    if (add(report, options.paths[i]) != COMMAND_DONE)
      status = COMMAND_INVALID;
  int written = write_page(report, options.output);
  prem_report_free(report);
  return status == COMMAND_DONE ? written : status;
}
