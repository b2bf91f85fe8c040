/* SPDX-License-Identifier: Apache-2.0 */
/* Does a profiler change the step of the clock, and does it stay so? */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiments/common/probe.h"
#include "experiments/thesis/profiler_step/stamps.h"
#include "prem/base/clock.h"

enum { SAID_BYTES = 4096, PROFILER_MS = 90000, ALONE_MS = 30000, LOOK_MS = 50 };

static const char part_name[] = "read", profiler_name[] = "ncu";
static const char said_format[] = "step %" PRId64 " ns";
static const char said_scan[] = "step %" SCNd64 " ns";

/** The least difference of two readings of a block that is not 0; -1: there is none. */
static int64_t step_of(const int64_t readings_ns[PREM_STAMPS]) {
  int64_t step_ns = -1;
  for (int32_t i = 1; i < PREM_STAMPS; ++i) {
    const int64_t difference_ns = readings_ns[i] - readings_ns[i - 1];
    if (difference_ns > 0 && (step_ns < 0 || difference_ns < step_ns))
      step_ns = difference_ns;
  }
  return step_ns;
}

static prem_status read_stamps(prem_stamps *out, prem_diag *diag) {
#ifdef TTPREM_CUDA
  return prem_gpu_stamps(out, diag);
#else
  (void)out, (void)diag;
  return PREM_ERR_UNAVAILABLE;
#endif
}

/** -1: not known. With a table the readings are told, under the name of `when`. */
static int64_t find_step(prem_table *table, const char *when, prem_diag *diag) {
  enum { FIRST = 3800, SHOWN = 50 };
  prem_stamps *stamps = calloc(1, sizeof *stamps);
  int64_t step_ns = -1;
  if (stamps && read_stamps(stamps, diag) == PREM_OK)
    step_ns = step_of(stamps->readings_ns[0]);
  for (int b = 0; b < PREM_STAMP_BLOCKS && step_ns > 0 && table; b += PREM_STAMP_BLOCKS / 2)
    for (int i = 0; i < SHOWN && stamps->place[b]; ++i) {
      char name[64];
      snprintf(name, sizeof name, "SM %d, %s", (int)stamps->place[b] - 1, when);
      prem_table_row(table, TEXT(name), INT(i),
                     INT(stamps->readings_ns[b][FIRST + i] - stamps->readings_ns[0][FIRST]));
    }
  free(stamps);
  return step_ns;
}

/* ---- a child -------------------------------------------------------------------------------- */

typedef struct child {
  pid_t pid;
  int from;
  int status;
  bool ended;
  char said[SAID_BYTES];
} child;

static int64_t now_ms(void) {
  return prem_host_clock_ns() / 1000000;
}

/* After fork() in a process with threads: nothing but system calls. Its group is its own, so that
 * whatever a profiler starts can be ended with it. */
static void become(char *const arguments[], int to, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || dup2(to, STDOUT_FILENO) < 0 || dup2(to, STDERR_FILENO) < 0)
    _exit(127);
  execvp(arguments[0], arguments);
  _exit(127);
}

static bool start_child(char *const arguments[], child *out) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC))
    return false;
  const pid_t self = getpid();
  out->pid = fork();
  if (out->pid == 0)
    become(arguments, ends[1], self);
  close(ends[1]);
  out->from = ends[0];
  if (out->pid < 0)
    close(ends[0]);
  return out->pid >= 0;
}

/* What it says, up to the end of its output. */
static void listen_to(child *of, int64_t deadline_ms, const volatile sig_atomic_t *stop) {
  size_t used = 0;
  while (now_ms() < deadline_ms && !*stop) {
    struct pollfd look = {.fd = of->from, .events = POLLIN};
    char bytes[256];
    if (poll(&look, 1, LOOK_MS) <= 0)
      continue;
    const ssize_t got = read(of->from, bytes, sizeof bytes);
    if (got <= 0)
      break;
    for (ssize_t i = 0; i < got && used + 1 < SAID_BYTES; ++i)
      of->said[used++] = bytes[i];
  }
  of->said[used] = '\0';
}

static void end_child(child *of) {
  const struct timespec pause = {.tv_nsec = 1000000};
  for (int look = 0; look < 2000 && !of->ended; ++look) {
    of->ended = waitpid(of->pid, &of->status, WNOHANG) == of->pid;
    if (!of->ended)
      nanosleep(&pause, NULL);
  }
  if (!of->ended) {
    kill(-of->pid, SIGKILL);
    waitpid(of->pid, &of->status, 0);
  }
  close(of->from);
}

/** Its step as it says it, or -1. @param profiler  with its own arguments; NULL: none */
static int64_t ask_child(const prem_experiment_context *context, const char *profiler,
                         int64_t patience_ms, child *of) {
  char program[4096] = ""; /* a link to oneself leads a profiler to the profiler */
  const ssize_t length = readlink(context->program, program, sizeof program - 1);
  if (length <= 0)
    snprintf(program, sizeof program, "%s", context->program);
  char *const profiled[] = {(char *)profiler,
                            "--launch-count",
                            "1",
                            program,
                            "experiment",
                            "profiler_step",
                            "-q",
                            "--backend",
                            "cuda",
                            "--part",
                            (char *)part_name,
                            NULL};
  char *const plain[] = {
      (char *)context->program, "experiment", "profiler_step", "-q", "--backend", "cuda", "--part",
      (char *)part_name,        NULL};
  *of = (child){0};
  if (!start_child(profiler ? profiled : plain, of))
    return -1;
  listen_to(of, now_ms() + patience_ms, context->stop);
  end_child(of);
  int64_t step_ns = -1;
  for (const char *at = of->said; (at = strstr(at, "step ")) != NULL; ++at)
    if (sscanf(at, said_scan, &step_ns) == 1)
      break;
  return step_ns;
}

/** Is a program on the PATH? */
static bool is_there(const char *name) {
  const char *path = getenv("PATH");
  char *copy = strdup(path ? path : ""), *rest = copy, *folder;
  bool found = false;
  while (copy && !found && (folder = strsep(&rest, ":")) != NULL) {
    char file[4096];
    snprintf(file, sizeof file, "%s/%s", *folder ? folder : ".", name);
    found = access(file, X_OK) == 0;
  }
  free(copy);
  return found;
}

/* ---- what it says --------------------------------------------------------------------------- */

static void give(const prem_probe_call *call, const char *when, int64_t step_ns) {
  prem_table_row(call->found, TEXT(when), INT(step_ns), INT(0), INT(0));
}

/* The last line that a profiler wrote tells why it did nothing. */
static void tell_failure(prem_findings *findings, const char *profiler, const child *of) {
  char line[160] = "nothing";
  for (const char *at = of->said; *at;) {
    const size_t length = strcspn(at, "\n");
    if (strstr(at, "rror") && length > 0)
      snprintf(line, sizeof line, "%.*s", (int)(length < 150 ? length : 150), at);
    at += length + (at[length] != '\0');
  }
  prem_findings_note(findings, "%s %s; it said: %s.", profiler,
                     of->ended ? "ended without a profile" : "was ended after its time", line);
}

static prem_status profile(const prem_probe_call *call, prem_table *stamps) {
  const prem_experiment_context *context = call->context;
  child of;
  const int64_t under_ns = ask_child(context, profiler_name, PROFILER_MS, &of);
  const bool profiled = of.ended && WIFEXITED(of.status) && WEXITSTATUS(of.status) == 0 &&
                        !strstr(of.said, "ERR_NVGPUCTRPERM");
  give(call, "under the profiler", under_ns);
  if (!profiled)
    tell_failure(call->findings, profiler_name, &of);
  prem_experiment_progress(context, 1, 2);
  give(call, "afterwards", find_step(stamps, "afterwards", call->diag));
  const int64_t other_ns = ask_child(context, NULL, ALONE_MS, &of);
  prem_table_row(call->found, TEXT("afterwards, another process"), INT(other_ns), INT(1),
                 INT(profiled));
  return prem_experiment_stopped(context) ? PREM_ERR_INTERRUPTED : PREM_OK;
}

static prem_status measure(const prem_probe_call *call) {
  if (call->context->part) {
    printf(said_format, find_step(NULL, NULL, call->diag));
    putchar('\n');
    return PREM_OK;
  }
  prem_table *stamps = prem_probe_table(call, "stamps");
  give(call, "before", find_step(stamps, "before", call->diag));
  return call->context->program && is_there(profiler_name) ? profile(call, stamps) : PREM_OK;
}

const prem_probe prem_profiled_steps_probe = {"when [text]; step; ran; profiled", measure,
                                              "stamps"};
