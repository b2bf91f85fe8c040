/* SPDX-License-Identifier: Apache-2.0 */
/* ttprem kernel-test: hold a kernel's header against the contract. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command/kernel_test.h"

enum { DEFAULT_CASES = 50, SCHEDULE_CASES = 3 /* of which each takes other numbers of lanes */ };

typedef struct kernel_options {
  kernel_test test;
  const char *header;
  char *args;
} kernel_options;

static void take_arg(struct argp_state *state, kernel_options *options, const char *text) {
  char *args = NULL;
  const char *equals = strchr(text, '=');
  if (!equals || equals == text)
    argp_error(state, "--arg=%s is not KEY=VALUE", text);
  else if (asprintf(&args, "%s%.*s = %s; ", options->args, (int)(equals - text), text,
                    equals + 1) >= 0) {
    free(options->args);
    options->test.args = options->args = args;
  }
}

static const command_store stores[] = {
    TAKE_OPERAND("HEADER", kernel_options, header),
    TAKE_INTEGER(OPTION_CASES, kernel_options, test.cases, 1, 1000000),
    TAKE_TEXT(OPTION_SCHEDULE, kernel_options, test.schedule),
    TAKE_INTEGER(OPTION_SEED, kernel_options, test.seed, 0, INT64_MAX),
    TAKE_TEXT(OPTION_TILE, kernel_options, test.tile),
    {0}};

static error_t parse(int key, char *value, struct argp_state *state) {
  kernel_options *options = state->input;
  kernel_test *test = &options->test;
  switch (key) {
  case OPTION_ARG:
    take_arg(state, options, value);
    return 0;
  case ARGP_KEY_SUCCESS:
    if (test->schedule && (test->tile || *test->args))
      argp_error(state, "--schedule says what --tile and --arg do: leave them out");
    if (test->cases == 0)
      test->cases = test->schedule ? SCHEDULE_CASES : DEFAULT_CASES;
    return 0;
  default:
    return command_take(stores, OPTIONS_KERNEL_TEST, key, value, state);
  }
}

static const struct argp argp = {
    .options = command_options[OPTIONS_KERNEL_TEST],
    .parser = parse,
    .children = command_common_children,
    .args_doc = "HEADER",
    .doc = "Compile a kernel, of one HEADER as ttprem/kernel.h says, for the CPU and as a GPU's "
           "compiler sees it, and test it with random arrays and tiles: its windows, stores "
           "outside of them, and its results against its reference, on the CPU and with the lanes "
           "of an emulated GPU, which come in another order in each run.\v"
           "The first error goes to stderr, with tile, array and element. The compilers and their "
           "options are those of CC, CXX and CPPFLAGS in the environment.\n\n"
           "Exit status: 0 nothing is wrong; 1 the kernel is; 2 usage; 3 there is no compiler; 130 "
           "interrupted.",
};

/* ---- processes ------------------------------------------------------------------------------- */

/* fork(), with a process group for what the child starts. */
static pid_t start(void) {
  fflush(NULL);
  const pid_t child = fork();
  if (child < 0)
    command_error("no process can be started: %s", strerror(errno));
  else
    setpgid(child, child);
  return child;
}

/* @return as waitpid() gives it; an interruption ends the child */
static int await(pid_t child) {
  static const struct timespec pause = {.tv_nsec = 5000000};
  int status = COMMAND_INVALID << 8;
  while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
    if (command_stop)
      kill(-child, SIGKILL);
    nanosleep(&pause, NULL);
  }
  return status;
}

static int compile(const char *name, const char *header, const char *folder) {
  const pid_t child = start();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", kernel_compile_script, name, header, folder, kernel_host_source,
          kernel_lanes_source, (char *)NULL);
    _exit(COMMAND_INVALID);
  }
  const int status = await(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_INVALID;
}

static int test_apart(const kernel_test *test, const char *folder) {
  char library[PATH_MAX + 16];
  snprintf(library, sizeof library, "%s/kernel.so", folder);
  kernel_test_place *place =
      mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED)
    return COMMAND_INVALID;
  const pid_t child = start();
  if (child == 0)
    kernel_test_run(test, library, place);
  const int status = await(child);
  if (child < 0 || place->is_over)
    return WEXITSTATUS(status);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (!command_stop)
    kernel_test_tell(test, place, "%s: %s%s", place->at,
                     signal == SIGPROF ? "it does not end"
                     : signal          ? strsignal(signal)
                                       : "stopped by the error above",
                     signal == SIGSEGV  ? ": it reads or writes far outside of its windows"
                     : signal == SIGILL ? ": it does what C++ leaves undefined, such as an overflow"
                                        : "");
  return COMMAND_INVALID;
}

static int test_header(const kernel_test *test, const char *header) {
  char folder[PATH_MAX];
  const char *temporary = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/ttprem-XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(folder))
    return command_fail(COMMAND_INVALID, "%s: %s", folder, strerror(errno));
  command_catch_signals();
  int status = compile(test->name, header, folder);
  if (status == COMMAND_DONE && !command_stop)
    status = test_apart(test, folder);
  const bool is_stopped = command_stop;
  command_stop = 0; /* now this ends as well, and nobody else is left */
  const pid_t child = start();
  if (child == 0) {
    execl("/bin/rm", "rm", "-rf", folder, (char *)NULL);
    _exit(COMMAND_INVALID);
  }
  await(child);
  return is_stopped ? COMMAND_INTERRUPTED : status;
}

/* The name of NAME.h, as CMake has it. */
static bool find_name(const char *header, char name[PREM_NAME_BYTES]) {
  const char *slash = strrchr(header, '/'), *file = slash ? slash + 1 : header;
  const size_t bytes = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789_");
  snprintf(name, PREM_NAME_BYTES, "%.*s", (int)bytes, file);
  if (bytes > 0 && bytes < PREM_NAME_BYTES && strspn(file, "0123456789") == 0 &&
      strcmp(file + bytes, ".h") == 0)
    return true;
  command_error("'%s' is no header of a kernel, NAME.h; small letters, digits and _ make a name",
                header);
  return false;
}

int verb_kernel_test(int argc, char **argv) {
  kernel_options options = {.args = strdup(""), .test = {.args = "", .seed = 1}};
  char name[PREM_NAME_BYTES], header[PATH_MAX];
  command_parse(&argp, argc, argv, &options);
  int status = COMMAND_USAGE;
  if (!find_name(options.header, name))
    goto done;
  options.test.name = name;
  status = COMMAND_INVALID;
  if (realpath(options.header, header))
    status = test_header(&options.test, header);
  else
    command_error("%s: %s", options.header, strerror(errno));
done:
  free(options.args);
  return status;
}
