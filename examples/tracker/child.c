/* SPDX-License-Identifier: Apache-2.0 */
/* posix_spawn, and waits that look at the clock. */
#include "child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_NS = 2000000, NS_IN_MS = 1000000 };

int64_t child_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool child_ready(int descriptor, short events, int64_t until_ns) {
  struct pollfd wanted = {.fd = descriptor, .events = events};
  for (;;) {
    const int64_t left_ms = (until_ns - child_now_ns() + NS_IN_MS - 1) / NS_IN_MS;
    const int ready = poll(&wanted, 1, left_ms <= 0 ? 0 : left_ms < 60000 ? (int)left_ms : 60000);
    if (ready > 0 || (ready < 0 && errno != EINTR))
      return true; /* an error is seen by whoever reads or writes */
    if (ready == 0 && left_ms <= 0)
      return false;
  }
}

/* An error number of posix_spawn. */
static int spawn(child *of, char *const arguments[], int from, int to) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t manners;
  sigset_t none, ours;
  int error = posix_spawn_file_actions_init(&files);
  if (error)
    return error;
  error = posix_spawnattr_init(&manners);
  if (error) {
    posix_spawn_file_actions_destroy(&files);
    return error;
  }
  sigemptyset(&none);
  sigemptyset(&ours);
  sigaddset(&ours, SIGPIPE); /* when we end it ends, even if we ignore that signal */
  posix_spawnattr_setflags(&manners,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&manners, &none);
  posix_spawnattr_setsigdefault(&manners, &ours);
  error = from >= 0 ? posix_spawn_file_actions_adddup2(&files, from, STDIN_FILENO)
                    : posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", 0, 0);
  if (!error)
    error = to >= 0 ? posix_spawn_file_actions_adddup2(&files, to, STDOUT_FILENO)
                    : posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", 1, 0);
  if (!error)
    error = posix_spawn_file_actions_adddup2(&files, fileno(of->complaints), STDERR_FILENO);
  if (!error)
    error = posix_spawnp(&of->process, arguments[0], &files, &manners, arguments, environ);
  posix_spawnattr_destroy(&manners);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

prem_status child_start(child *of, char *const arguments[], int from, int to, prem_diag *diag) {
  *of = (child){.complaints = tmpfile()};
  const int error = of->complaints ? spawn(of, arguments, from, to) : errno;
  if (!error)
    return PREM_OK;
  of->process = 0;
  child_end(of);
  if (error == ENOENT)
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, arguments[0],
                  "is not on the PATH; install %s", arguments[0]);
  else
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, arguments[0], "cannot be started: %s",
                  strerror(error));
  return PREM_ERR_UNAVAILABLE;
}

static int end_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int child_wait(child *of, int64_t until_ns) {
  const struct timespec pause = {.tv_nsec = POLL_NS};
  int status = 0;
  if (of->process <= 0)
    return -1;
  for (;;) {
    const pid_t ended = waitpid(of->process, &status, WNOHANG);
    if (ended == of->process || (ended < 0 && errno != EINTR)) {
      of->process = 0;
      return ended > 0 ? end_of(status) : -1;
    }
    if (child_now_ns() >= until_ns)
      break;
    nanosleep(&pause, NULL);
  }
  kill(-of->process, SIGKILL); /* what it may have started as well */
  while (waitpid(of->process, &status, 0) < 0 && errno == EINTR)
    continue;
  of->process = 0;
  return -1;
}

void child_complaint(const child *of, const char *else_text, char *out, size_t out_bytes) {
  char line[256];
  snprintf(out, out_bytes, "%s", else_text);
  if (!of->complaints)
    return;
  rewind(of->complaints);
  while (fgets(line, sizeof line, of->complaints)) {
    line[strcspn(line, "\r\n")] = 0;
    if (line[strspn(line, " \t")])
      snprintf(out, out_bytes, "%s", line);
  }
}

void child_end(child *of) {
  child_wait(of, 0);
  if (of->complaints)
    fclose(of->complaints);
  *of = (child){0};
}
