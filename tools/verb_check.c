/* ttprem check: judge files, start nothing. */
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"

enum { KEY_SVG = 256 };

typedef struct check_options {
  const char *profile, *picture;
  char **files;
  int file_count;
} check_options;

static error_t parse(int key, char *text, struct argp_state *state) {
  check_options *options = state->input;
  switch (key) {
  case 'p':
    options->profile = text;
    return 0;
  case KEY_SVG:
    command_check_picture(state, "--svg", text);
    options->picture = text;
    return 0;
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
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options_list[] = {
    {.name = "profile", .key = 'p', .arg = "NAME", .doc = "WCETs from this profile of the file"},
    {.name = "svg",
     .key = KEY_SVG,
     .arg = "P",
     .doc = "draw the plan in the one FILE, as `ttprem plan --svg` does: P.svg or P.png; needs "
            "gnuplot"},
    {0}};
static const struct argp_child children[] = {{.argp = &command_common_argp}, {0}};
static const struct argp argp = {
    .options = options_list,
    .parser = parse,
    .children = children,
    .args_doc = "FILE...",
    .doc = "Judge schedules (`-` is stdin) and the plans in them against the machine of their "
           "`platform`, by code that the planners do not share. Nothing is planned or started.\v"
           "Every problem goes to stderr as `file:line: E017: key: reason`, a verdict for each "
           "file to stdout.\n\n" COMMAND_EXIT_DOC,
};

static int judge(const char *path, const char *profile, const char *picture) {
  prem_schedule *schedule = NULL;
  int status = command_open_schedule(path, profile, NULL, true, &schedule);
  if (status != COMMAND_DONE)
    printf("%s: refused\n", path);
  else if (!schedule->plan)
    printf("%s: ok, no plan yet (`ttprem plan` makes one)\n", path);
  else
    printf("%s: ok, %" PRId64 " phases, hyperperiod %" PRId64 " ns\n", path,
           command_phase_count(schedule), schedule->plan->hyperperiod_ns);
  if (status == COMMAND_DONE)
    status = command_draw_plan(schedule, picture);
  prem_schedule_free(schedule);
  return status;
}

int verb_check(int argc, char **argv) {
  check_options options = {0};
  argp_parse(&argp, argc, argv, 0, NULL, &options);
  if (!command_output_check(options.picture))
    return COMMAND_INVALID;
  int worst = COMMAND_DONE;
  for (int i = 0; i < options.file_count; ++i) {
    int status = judge(options.files[i], options.profile, options.picture);
    if (status > worst)
      worst = status;
  }
  return worst;
}
