/* ttprem profile: measure the WCETs that planning needs. */
#include <inttypes.h>
#include <string.h>

#include "command.h"

enum { DEFAULT_RUNS = 100 };

typedef struct profile_options {
  const char *path, *output, *backend;
  int64_t runs;
} profile_options;

static error_t parse(int key, char *text, struct argp_state *state) {
  profile_options *options = state->input;
  switch (key) {
  case 'o':
    options->output = text;
    return 0;
  case 'b':
    options->backend = text;
    return 0;
  case 'n':
    options->runs = command_parse_int(state, "repeat", text, 1, INT32_MAX);
    return 0;
  case ARGP_KEY_ARG:
    if (options->path)
      argp_error(state, "one FILE is enough");
    options->path = text;
    return 0;
  case ARGP_KEY_END:
    if (!options->path || !options->output)
      argp_error(state, "FILE and -o OUT are needed");
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options_list[] = {
    {.name = "output", .key = 'o', .arg = "OUT", .doc = "the profile to write; `-` is stdout"},
    {.name = "backend",
     .key = 'b',
     .arg = "NAME",
     .doc = "auto (default: the best that is available), cuda or cpu"},
    {.name = "repeat", .key = 'n', .arg = "N", .doc = "runs; default 100"},
    {0}};
static const struct argp_child children[] = {{.argp = &command_common_argp}, {0}};
static const struct argp argp = {
    .options = options_list,
    .parser = parse,
    .children = children,
    .args_doc = "FILE -o OUT",
    .doc =
        "Run the tiles of a schedule in mode lock, where memory phases do not disturb each other, "
        "and write the longest time of each phase, in ns, as a profile for the file's `profiles` "
        "group. A longest time seen is no bound: give the plan room above it.\v" COMMAND_EXIT_DOC,
};

/* The order of the tiles is all that lock mode takes from a plan: any times do to make one. */
static void forget_times(prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      prem_phase_spec *spec = &schedule->tasks[t].phase[phase];
      if (spec->exists)
        spec->wcet_ns = spec->busy_ns = 1;
    }
}

static void write_task(FILE *file, const prem_task *task, const prem_task_result *measured) {
  fprintf(file, "  { name = \"%s\";", task->name);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    if (task->phase[phase].exists && measured->phase[phase].count > 0) {
      const int64_t longest_ns = measured->phase[phase].duration_max_ns;
      fprintf(file, " %s: { wcet_ns = %" PRId64 "L; };", prem_phase_name((prem_phase)phase),
              longest_ns > 0 ? longest_ns : 1);
    }
  fputs(" }", file);
}

static int write_profile(const profile_options *options, const prem_schedule *schedule,
                         const prem_result *result) {
  command_output output;
  if (!command_output_open(&output, options->output))
    return COMMAND_INVALID;
  const prem_row *row = &result->rows[0];
  fprintf(output.file,
          "# Longest times of %" PRId64 " runs in mode lock on %s, by ttprem %s.\n"
          "version = 1;\nmachine = \"%s\";\ntasks = (\n",
          row->repeats, row->backend, prem_version(), result->machine.name);
  for (int32_t t = 0; t < row->task_count; ++t) {
    write_task(output.file, &schedule->tasks[t], &row->tasks[t]);
    fputs(t + 1 < row->task_count ? ",\n" : "\n", output.file);
  }
  fputs(");\n", output.file);
  return command_output_commit(&output) ? COMMAND_DONE : COMMAND_INVALID;
}

static int measure(const profile_options *options, const prem_schedule *schedule,
                   const prem_backend *backend, prem_diag *diag) {
  prem_session *session = NULL;
  prem_result *result = NULL;
  command_catch_signals();
  const prem_compare_options compare = {.modes = {PREM_MODE_LOCK},
                                        .mode_count = 1,
                                        .scenario = PREM_RELAUNCH,
                                        .repeat = options->runs,
                                        .discard = 1,
                                        .seed = 1,
                                        .stop = &command_stop};
  prem_status status = prem_session_open(backend, schedule, &session, diag);
  if (status == PREM_OK)
    status = prem_compare(session, schedule, backend, &compare, &result, diag);
  int ended = command_exit_status(status);
  if (status == PREM_OK && !result->rows[0].output_ok && result->rows[0].output_checked) {
    command_error("%s: wrong output; nothing is written", schedule->name);
    ended = COMMAND_INVALID;
  } else if (status == PREM_OK) {
    ended = write_profile(options, schedule, result);
  } else if (prem_diag_errors(diag) == 0) {
    command_error("%s: %s; nothing is written", schedule->name, prem_status_text(status));
  }
  prem_result_free(result);
  prem_session_close(session);
  return ended;
}

static int profile(const profile_options *options, const prem_backend *backend,
                   const prem_machine *machine) {
  prem_schedule *schedule = NULL;
  int status = command_open_schedule(options->path, NULL, NULL, false, &schedule);
  if (status != COMMAND_DONE)
    return status;
  prem_diag *diag = prem_diag_new();
  forget_times(schedule);
  status = command_plan_schedule(schedule, machine, "auto", diag);
  if (status == COMMAND_DONE)
    status = measure(options, schedule, backend, diag);
  command_print_diag(diag);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
  return status;
}

int verb_profile(int argc, char **argv) {
  profile_options options = {.backend = "auto", .runs = DEFAULT_RUNS};
  argp_parse(&argp, argc, argv, 0, NULL, &options);
  if (strcmp(options.backend, "sim") == 0) {
    command_error("the simulator takes its times from the file: there is nothing to measure on it");
    return COMMAND_USAGE;
  }
  const prem_backend *backend = NULL;
  prem_machine machine;
  int status = command_find_backend(options.backend, &backend, &machine);
  if (status == COMMAND_DONE && !command_output_check(options.output))
    status = COMMAND_INVALID;
  return status == COMMAND_DONE ? profile(&options, backend, &machine) : status;
}
