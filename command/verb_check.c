/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem check: judge files, start nothing. */
#include <inttypes.h>
#include <string.h>

#include "command/command_json.h"
#include "report/json_pieces.h"

typedef struct check_options {
  const char *profile, *picture, *json;
  char **files;
  int file_count;
} check_options;

static const command_store stores[] = {TAKE_TEXT('p', check_options, profile),
                                       TAKE_TEXT('j', check_options, json),
                                       TAKE_PICTURE(OPTION_SVG, check_options, picture),
                                       {0}};

static error_t parse(int key, char *value, struct argp_state *state) {
  check_options *options = state->input;
  switch (key) {
  case ARGP_KEY_ARGS:
    options->files = state->argv + state->next;
    options->file_count = state->argc - state->next;
    return 0;
  case ARGP_KEY_NO_ARGS:
    argp_error(state, "no FILE");
    return 0;
  case ARGP_KEY_SUCCESS:
    if (options->picture && options->file_count > 1)
      argp_error(state, "one FILE at a time with --svg");
    for (int i = 0; i < options->file_count; ++i)
      command_check_outputs(state, options->files[i],
                            (const char *const[]){options->json, options->picture}, 2);
    return 0;
  default:
    return command_take(stores, OPTIONS_CHECK, key, value, state);
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_CHECK],
    .parser = parse,
    .children = command_common_children,
    .args_doc = "FILE...",
    .doc = "Judge schedules (`-` is stdin) and the plans in them against the machine of their "
           "`platform`, by code that the planners do not share. Nothing is planned or started.\v"
           "Every problem goes to stderr as `file:line: E017: key: reason`, a verdict for each "
           "file to stdout. `ttprem explain E017` says more of a code.\n\n"
           "JSON: files, each with file, verdict (ok, refused), problems; of one that is ok also "
           "name, sha256, and of its plan phases and hyperperiod_ns, with best-effort "
           "tasks closed, as `ttprem plan` has them.\n\n" COMMAND_EXIT_DOC,
};

static void print_verdict(const char *path, const prem_schedule *schedule) {
  command_show(path, stdout);
  if (!schedule)
    printf(": refused\n");
  else if (!schedule->plan)
    printf(": ok, no plan yet (`ttprem plan` makes one)\n");
  else
    printf(": ok, %" PRId64 " phases, hyperperiod %" PRId64 " ns%s%s\n",
           command_phase_count(schedule), schedule->plan->hyperperiod_ns,
           schedule->plan->gates ? "; " : "", command_closed(schedule->plan).text);
  for (int32_t t = 0; schedule && schedule->plan && t < schedule->task_count; ++t)
    if (schedule->tasks[t].server.capacity > 0)
      printf("  %s\n", command_server(schedule, t).text);
}

static json_t *verdict_json(const char *path, const prem_schedule *schedule,
                            const prem_diag *diag) {
  json_t *root = json_object();
  bool whole = put(root, "file", text(path));
  whole &= put(root, "verdict", text(schedule ? "ok" : "refused"));
  if (schedule) {
    whole &= put(root, "name", text(schedule->name));
    whole &= put(root, "sha256", text(schedule->sha256));
  }
  if (schedule && schedule->plan) {
    whole &= put(root, "phases", integer(command_phase_count(schedule)));
    whole &= put(root, "hyperperiod_ns", integer(schedule->plan->hyperperiod_ns));
    if (schedule->plan->gates)
      whole &= put(root, "closed", command_closed_json(schedule));
  }
  whole &= put(root, "problems", command_problems_json(diag));
  return finished(root, whole);
}

/* What is judged here may be run by somebody who did not write it. */
static void tell_saves(const prem_schedule *schedule, prem_diag *diag) {
  prem_diag *found = command_diag();
  prem_schedule_judge_saves(schedule, false, PREM_WARNING, found);
  command_print_diag(found);
  prem_diag_free(found);
  prem_schedule_judge_saves(schedule, false, PREM_WARNING, diag);
}

/* `verdicts` is NULL where nobody wants them. */
static int judge(const check_options *options, const char *path, json_t *verdicts) {
  prem_schedule *schedule = NULL;
  prem_diag *diag = command_diag();
  const char *const paths[] = {options->json, options->picture};
  const command_outputs outputs = {.paths = paths, .count = 2};
  int status =
      command_judge_schedule(path, options->profile, NULL, true, &outputs, &schedule, diag);
  if (schedule)
    tell_saves(schedule, diag);
  if (status != COMMAND_USAGE && (!options->json || strcmp(options->json, "-")))
    print_verdict(path, schedule);
  if (options->json)
    json_array_append_new(verdicts, verdict_json(path, schedule, diag));
  if (status == COMMAND_DONE)
    status = command_draw_plan(schedule, options->picture);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
  return status;
}

/* A list that lost a verdict is none. */
static bool write_verdicts(const check_options *options, json_t *verdicts) {
  const bool whole = json_array_size(verdicts) == (size_t)options->file_count;
  json_t *root = json_object();
  bool put_all = put(root, "schema", text("ttprem.check/1"));
  put_all &= put(root, "files", verdicts);
  return command_write_json(options->json, finished(root, whole && put_all));
}

int verb_check(int argc, char **argv) {
  check_options options = {0};
  command_parse(&argp, argc, argv, &options);
  if (!command_output_check(options.picture) || !command_output_check(options.json))
    return COMMAND_INVALID;
  json_t *verdicts = options.json ? json_array() : NULL;
  int worst = COMMAND_DONE;
  for (int i = 0; i < options.file_count; ++i) {
    int status = judge(&options, options.files[i], verdicts);
    if (status > worst)
      worst = status;
  }
  if (worst == COMMAND_USAGE) /* nothing is written over what is read */
    json_decref(verdicts);
  else if (options.json && !write_verdicts(&options, verdicts) && worst == COMMAND_DONE)
    worst = COMMAND_INVALID;
  return worst;
}
