/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An intruder in another process: the command, started again with a part to play.
 *
 * They talk in lines. The child says "at work" when it is, ends when its standard input does, and
 * then says what it did. Whatever happens to either of them, the child ends: with the parent's end
 * comes that of its input, and a signal; and an alarm goes off after two minutes.
 */
#include "experiments/thesis/intruders/intruder.h"

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

#include "prem/base/clock.h"

enum {
  LINE_BYTES = 256,
  LOOK_MS = 50,
  LIFE_S = 120,        /* of the child at most */
  STARTING_MS = 30000, /* a GPU's driver takes its time */
  ENDING_MS = 5000
};

static const char at_work[] = "at work";
static const char report_format[] = "moved %" PRId64 " watched %" PRId64 " stops %" PRId64
                                    " longest %" PRId64 " altogether %" PRId64;
static const char report_scan[] = "moved %" SCNd64 " watched %" SCNd64 " stops %" SCNd64
                                  " longest %" SCNd64 " altogether %" SCNd64;

struct prem_other_process {
  pid_t pid;
  int to, from; /* pipes; -1: closed */
  const volatile sig_atomic_t *stop;
};

static int64_t now_ms(void) {
  return prem_host_clock_ns() / 1000000;
}

/* ---- the parent's side ---------------------------------------------------------------------- */

static void close_end(int *end) {
  if (*end >= 0)
    close(*end);
  *end = -1;
}

/* After fork() in a process with threads: nothing but system calls. */
static void become(const prem_experiment_context *context, char *const arguments[], int from,
                   int to, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || dup2(from, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0 ||
      dup2(to, STDERR_FILENO) < 0)
    _exit(1);
  execv(context->program, arguments);
  _exit(1);
}

static int start_child(const prem_experiment_context *context, const char *part,
                       prem_other_process *process) {
  int to[2], from[2];
  char *const arguments[] = {"ttprem",  "experiment", "intruders",
                             "--quiet", "--backend",  (char *)prem_backend_name(context->backend),
                             "--part",  (char *)part, NULL};
  if (pipe2(to, O_CLOEXEC))
    return errno;
  if (pipe2(from, O_CLOEXEC)) {
    const int error = errno;
    close(to[0]);
    close(to[1]);
    return error;
  }
  const pid_t self = getpid();
  process->pid = fork();
  const int error = process->pid < 0 ? errno : 0;
  if (process->pid == 0)
    become(context, arguments, to[0], from[1], self);
  close(to[0]);
  close(from[1]);
  process->to = to[1];
  process->from = from[0];
  return error;
}

/* The next line; false when there is none by the deadline. */
static bool next_line(const prem_other_process *process, int64_t deadline_ms, char *line) {
  size_t used = 0;
  while (now_ms() < deadline_ms && !*process->stop) {
    struct pollfd look = {.fd = process->from, .events = POLLIN};
    if (poll(&look, 1, LOOK_MS) <= 0)
      continue;
    if (read(process->from, line + used, 1) <= 0)
      return false;
    if (line[used] == '\n' || used + 1 == LINE_BYTES) {
      line[used] = '\0';
      return true;
    }
    ++used;
  }
  return false;
}

static bool is_at_work(const char *line, prem_intrusion *done) {
  (void)done;
  return strcmp(line, at_work) == 0;
}

static bool is_report(const char *line, prem_intrusion *done) {
  prem_standstills seen = {0};
  int64_t moved_bytes = 0;
  if (sscanf(line, report_scan, &moved_bytes, &seen.watched_ns, &seen.count, &seen.longest_ns,
             &seen.sum_ns) != 5)
    return false;
  done->moved_bytes += moved_bytes;
  prem_standstills_merge(&done->seen_by_them, &seen);
  return true;
}

/* Whatever else the command has to say comes before it; the last of that is in `line` when the line
 * does not come. */
static bool line_like(const prem_other_process *process, int64_t patience_ms,
                      bool (*is_it)(const char *line, prem_intrusion *done), prem_intrusion *done,
                      char *line) {
  const int64_t deadline_ms = now_ms() + patience_ms;
  char next[LINE_BYTES];
  line[0] = '\0';
  while (next_line(process, deadline_ms, next)) {
    if (is_it(next, done))
      return true;
    memcpy(line, next, sizeof next);
  }
  return false;
}

/* It was told to end: if it does not, it is ended. */
static void await_end(prem_other_process *process) {
  const int64_t deadline_ms = now_ms() + ENDING_MS;
  const struct timespec pause = {.tv_nsec = 1000000};
  while (waitpid(process->pid, NULL, WNOHANG) == 0) {
    if (now_ms() > deadline_ms)
      kill(process->pid, SIGKILL);
    nanosleep(&pause, NULL);
  }
}

static void release(prem_other_process *process) {
  close_end(&process->to);
  if (process->pid > 0)
    await_end(process);
  close_end(&process->from);
  free(process);
}

prem_status prem_other_process_begin(const prem_experiment_context *context, int32_t blocks,
                                     prem_other_process **out, prem_diag *diag) {
  *out = NULL;
  char part[32], line[LINE_BYTES];
  snprintf(part, sizeof part, "%" PRId32, blocks);
  if (!context->program)
    return prem_experiment_refuse(diag, PREM_ERR_UNAVAILABLE, "there is no command to start again");
  prem_other_process *process = malloc(sizeof *process);
  if (!process)
    return PREM_ERR_MEMORY;
  *process = (prem_other_process){.to = -1, .from = -1, .stop = context->stop};
  const int error = start_child(context, part, process);
  if (error == 0 && line_like(process, STARTING_MS, is_at_work, NULL, line)) {
    *out = process;
    return PREM_OK;
  }
  release(process);
  if (*context->stop)
    return PREM_ERR_INTERRUPTED;
  return prem_experiment_refuse(diag, PREM_ERR_UNAVAILABLE,
                                "another process does not get to work: %s",
                                error   ? strerror(error)
                                : *line ? line
                                        : "it says nothing");
}

prem_status prem_other_process_end(prem_other_process *process, prem_intrusion *done,
                                   prem_diag *diag) {
  char line[LINE_BYTES];
  close_end(&process->to);
  const bool told = line_like(process, ENDING_MS, is_report, done, line);
  const bool interrupted = *process->stop != 0;
  release(process);
  if (told || interrupted)
    return told ? PREM_OK : PREM_ERR_INTERRUPTED;
  return prem_experiment_refuse(diag, PREM_ERR_MACHINE,
                                "another process ended without a report: %s",
                                *line ? line : "it says nothing");
}

/* ---- the child's side ----------------------------------------------------------------------- */

/* Until the input ends, which nobody writes to. */
static void await_word(const prem_experiment_context *context) {
  struct pollfd look = {.fd = STDIN_FILENO, .events = POLLIN};
  char word;
  while (!prem_experiment_stopped(context)) {
    const int found = poll(&look, 1, LOOK_MS);
    if (found > 0 && read(STDIN_FILENO, &word, 1) <= 0)
      return;
    if (found < 0 && errno != EINTR)
      return;
  }
}

prem_status prem_other_process_play(const prem_experiment_context *context, prem_diag *diag) {
  alarm(LIFE_S);
  const bool gpu = prem_is_gpu(context->backend);
  const int32_t blocks = (int32_t)strtol(context->part, NULL, 10);
  prem_intruder *intruder = NULL;
  prem_status status = prem_intruder_open(context, blocks + 1, &intruder, diag);
  if (status == PREM_OK)
    status =
        prem_intruder_begin(intruder, gpu ? PREM_INTRUDER_NEIGHBOUR : PREM_INTRUDER_CORES, diag);
  if (status == PREM_OK) {
    puts(at_work);
    fflush(stdout);
    await_word(context);
    prem_intrusion done = {0};
    status = prem_intruder_end(intruder, &done, diag);
    printf(report_format, done.moved_bytes, done.seen.watched_ns, done.seen.count,
           done.seen.longest_ns, done.seen.sum_ns);
    putchar('\n');
    fflush(stdout);
  }
  prem_intruder_close(intruder);
  return status;
}
