/* SPDX-License-Identifier: Apache-2.0 */
/** ttprem: finds the verb and hands over. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

/* Exported: glibc finds it by name. */
PREM_API const char *argp_program_version = "ttprem " PREM_VERSION;

static command_verb verb_help; /* it knows the table */

static const struct {
  const char *name;
  command_verb *run;
  const char *summary;
  uint32_t options;      /* groups, OPTIONS_COMMON apart */
  const char *arguments; /* as values in command_list_options(), and @experiments */
} verbs[] = {
    {"fit", verb_fit, "measure, plan and check by turns until a plan holds here", OPTIONS_OF(FIT),
     "@files *.cfg"},
    {"plan", verb_plan, "decide when every phase starts; write the schedule with its plan",
     OPTIONS_OF(PLAN), "@files *.cfg"},
    {"check", verb_check, "judge schedules and their plans: an independent second opinion",
     OPTIONS_OF(CHECK), "@files *.cfg"},
    {"run", verb_run, "run a schedule in one mode and measure it",
     OPTIONS_OF(MEASURING) | OPTIONS_OF(RUN), "@files *.cfg"},
    {"compare", verb_compare, "run a schedule in several modes and set them side by side",
     OPTIONS_OF(MEASURING) | OPTIONS_OF(COMPARE), "@files *.cfg"},
    {"report", verb_report, "one page of everything that was measured", OPTIONS_OF(REPORT),
     "@files *.json"},
    {"trace", verb_trace, "a recorded trace, filtered or for Perfetto", OPTIONS_OF(TRACE),
     "@files *.csv"},
    {"profile", verb_profile, "measure the times that planning needs",
     OPTIONS_OF(OBSERVING) | OPTIONS_OF(PROFILE), "@files *.cfg"},
    {"isolate", verb_isolate, "certify that tasks do not feel their neighbours",
     OPTIONS_OF(OBSERVING) | OPTIONS_OF(ISOLATE), "@files *.cfg"},
    {"tune", verb_tune, "find the smallest offset that keeps given limits",
     OPTIONS_OF(OBSERVING) | OPTIONS_OF(TUNE), "@files *.cfg"},
    {"kernel-test", verb_kernel_test, "hold a kernel's header against the contract",
     OPTIONS_OF(KERNEL_TEST), "@files *.h"},
#ifdef TTPREM_EXPERIMENTS
    {"experiment", verb_experiment, "repeat the tables and figures of the literature",
     OPTIONS_OF(EXPERIMENT), "@experiments"},
#endif
    {"explain", verb_explain, "what a code such as E045 means, and what to do", 0, ""},
    {"new", verb_new, "a folder with a project that runs at once, to begin with", OPTIONS_OF(NEW),
     ""},
    {"doctor", verb_doctor, "what disturbs runs on this machine, and the command against it",
     OPTIONS_OF(DOCTOR), ""},
    {"info", verb_info, "the backends and what the machine can do", 0, ""},
    {"list", verb_list, "kernels, policies, backends and modes", 0, ""},
    {"help", verb_help, "the verbs, or one verb's options", 0, "@verbs"},
};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0], KEY_COMPLETE = 256 };

static void print_verbs(FILE *file) {
  for (size_t i = 0; i < VERB_COUNT; ++i)
    fprintf(file, "  %-11s %s\n", verbs[i].name, verbs[i].summary);
}

/* The verbs are listed once, in the table above, and reach --help through this filter. */
static char *help_filter(int key, const char *text, void *input) {
  (void)input;
  if (key != ARGP_KEY_HELP_POST_DOC)
    return (char *)text;
  char *list = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&list, &bytes);
  if (!file)
    return (char *)text;
  fputs("Verbs:\n", file);
  print_verbs(file);
  fprintf(file, "\n`ttprem VERB --help` tells more.\n\n%s", text);
  fclose(file);
  return list;
}

/* What may follow a verb; the last line are its arguments. */
static void print_completion(const char *name) {
  for (size_t i = 0; i < VERB_COUNT; ++i)
    if (!strcmp(name, verbs[i].name)) {
      command_list_options(verbs[i].options | OPTIONS_OF(COMMON), stdout);
      if (strcmp(verbs[i].arguments, "@verbs")) {
        printf("\t%s\n", verbs[i].arguments);
        continue;
      }
      for (size_t j = 0; j < VERB_COUNT; ++j)
        printf("%s%s", j ? " " : "\t", verbs[j].name);
      putchar('\n');
    }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  int *verb_at = state->input;
  switch (key) {
  case KEY_COMPLETE:
    print_completion(text);
    exit(COMMAND_DONE);
  case ARGP_KEY_ARG:
    (void)text;
    *verb_at = state->next - 1;
    state->next = state->argc;
    return 0;
  case ARGP_KEY_NO_ARGS:
    command_error("no verb: see `ttprem help`; `ttprem new NAME` makes a first project");
    exit(COMMAND_USAGE);
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

/* For the shells: command/ttprem.bash, .zsh and .fish. */
static const struct argp_option options_list[] = {
    {.name = "complete", .key = KEY_COMPLETE, .arg = "VERB", .flags = OPTION_HIDDEN}, {0}};
static const struct argp argp = {
    .options = options_list,
    .parser = parse,
    .args_doc = "VERB [ARGUMENT...]",
    .doc = "Plan, check and run GPU kernels tile by tile at times decided before the run."
           "\v" COMMAND_EXIT_DOC,
    .help_filter = help_filter,
};

/* argv[0] is the verb. */
static int run_verb(int argc, char **argv) {
  for (size_t i = 0; i < VERB_COUNT; ++i) {
    if (strcmp(argv[0], verbs[i].name))
      continue;
    char name[32];
    snprintf(name, sizeof name, "ttprem %s", verbs[i].name);
    argv[0] = name;
    return verbs[i].run(argc, argv);
  }
  const char *names[VERB_COUNT + 1] = {NULL};
  for (size_t i = 0; i < VERB_COUNT; ++i)
    names[i] = verbs[i].name;
  command_unknown_verb(argv[0], names);
  print_verbs(stderr);
  return COMMAND_USAGE;
}

static error_t parse_help(int key, char *text, struct argp_state *state) {
  char **verb = state->input;
  switch (key) {
  case ARGP_KEY_INIT:
    state->child_inputs[0] = NULL;
    return 0;
  case ARGP_KEY_ARG:
    if (*verb)
      argp_error(state, "one verb at a time");
    *verb = text;
    return 0;
  default:
    return ARGP_ERR_UNKNOWN;
  }
}

static int verb_help(int argc, char **argv) {
  static const struct argp help_argp = {
      .parser = parse_help,
      .children = command_common_children,
      .args_doc = "[VERB]",
      .doc = "List the verbs, or show what `ttprem VERB --help` shows.\v" COMMAND_EXIT_DOC,
  };
  char *verb = NULL, option[] = "--help";
  command_parse(&help_argp, argc, argv, &verb);
  if (verb)
    return run_verb(2, (char *[]){verb, option, NULL});
  print_verbs(stdout);
  puts("\n`ttprem help VERB` tells more.");
  return COMMAND_DONE;
}

/* argv as one line; kept until the end of the process. */
static const char *join(int argc, char **argv) {
  char *line = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&line, &bytes);
  if (!file)
    return "";
  for (int i = 0; i < argc; ++i)
    fprintf(file, "%s%s", i ? " " : "", i ? argv[i] : "ttprem");
  return fclose(file) ? "" : line;
}

int main(int argc, char **argv) {
  /* A hardware queue for every stream of mode legacy; read when the GPU is first used. */
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  command_line = join(argc, argv);
  signal(SIGXFSZ, SIG_IGN); /* a file above the shell's limit is an error like others */
  argp_err_exit_status = COMMAND_USAGE;
  argv[0] = "ttprem";
  int verb_at = 0;
  argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &verb_at);
  int status = run_verb(argc - verb_at, argv + verb_at);
  if ((fflush(stdout) || ferror(stdout)) && status == COMMAND_DONE) {
    command_error("cannot write to stdout");
    status = COMMAND_INVALID;
  }
  return status;
}
