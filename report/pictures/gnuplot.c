/* SPDX-License-Identifier: Apache-2.0 */
/* Running gnuplot. Script and picture are files, not pipes: no signal if it ends early. */
#include "report/pictures/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prem/base/clock.h"
#include "prem/base/fail.h"

enum {
  PATIENCE_MS = 60000,
  AFTER_MS = 10000,   /* for a picture of what was measured before an interruption, */
  STOPPING_MS = 1000, /* and for one that is interrupted itself */
  POLL_MS = 5
};

static prem_status refuse(prem_diag *diag, prem_status status, const char *reason) {
  return prem_fail(diag, status, 0, (prem_place){0}, "", "%s", reason);
}

/** What gnuplot reads and writes. */
typedef struct gnuplot_files {
  int script, picture, complaints;
} gnuplot_files;

/* Only what is allowed between fork() and exec(). In a process group of its own: Ctrl-C is for the
 * measurement, whose picture is still wanted. But when we are killed nobody waits for it. */
static void become_gnuplot(const gnuplot_files *files, pid_t parent, int told) {
  /* -d: nobody's start-up files may change our pictures */
  char program[] = "gnuplot", defaults[] = "-d", from_stdin[] = "-";
  char *arguments[] = {program, defaults, from_stdin, NULL};
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent && dup2(files->script, STDIN_FILENO) >= 0 &&
      dup2(files->picture, STDOUT_FILENO) >= 0 && dup2(files->complaints, STDERR_FILENO) >= 0)
    execvp(program, arguments);
  const int error = errno;
  (void)!write(told, &error, sizeof error); /* else who waits sees that nobody is there */
  _exit(1);
}

/* 0, or the errno of what failed: ENOENT without gnuplot. */
static int start_gnuplot(const gnuplot_files *files, pid_t *process) {
  int ends[2], error = 0;
  const pid_t parent = getpid();
  if (pipe2(ends, O_CLOEXEC))
    return errno;
  *process = fork();
  if (*process == 0)
    become_gnuplot(files, parent, ends[1]);
  if (*process < 0)
    error = errno;
  close(ends[1]);
  ssize_t got = 0;
  while (*process > 0 && (got = read(ends[0], &error, sizeof error)) < 0 && errno == EINTR)
    continue;
  close(ends[0]);
  if (got > 0)
    while (waitpid(*process, NULL, 0) < 0 && errno == EINTR)
      continue;
  return error;
}

static bool is_set(const volatile sig_atomic_t *stop) {
  return stop && *stop;
}

static int64_t now_ms(void) {
  return prem_host_clock_ns() / 1000000;
}

/** Its exit status; -1 if it was ended by a signal, ours included.
 *  @param stopped_before  the measurement was interrupted, before gnuplot was started. */
static int wait_for(pid_t process, bool stopped_before, const volatile sig_atomic_t *stop) {
  const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
  int64_t until_ms = now_ms() + (stopped_before ? AFTER_MS : PATIENCE_MS);
  int status = 0;
  for (bool stopping = stopped_before; now_ms() < until_ms; nanosleep(&pause, NULL)) {
    pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended == process)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (ended < 0 && errno != EINTR)
      return -1;
    if (!stopping && is_set(stop)) {
      stopping = true;
      until_ms = now_ms() + STOPPING_MS;
    }
  }
  kill(-process, SIGKILL); /* what it may have started as well */
  while (waitpid(process, &status, 0) < 0 && errno == EINTR)
    continue;
  return -1;
}

static prem_status report_failure(FILE *complaints, prem_diag *diag) {
  char line[256] = "";
  rewind(complaints);
  while (fgets(line, sizeof line, complaints) && strspn(line, " \t\r\n^") == strlen(line))
    continue;
  line[strcspn(line, "\n")] = 0;
  if (strstr(line, "terminal type"))
    return prem_fail(diag, PREM_ERR_UNAVAILABLE, 0, (prem_place){0}, "",
                     "this gnuplot draws no PDF or PNG; install gnuplot-nox, which has cairo");
  return prem_fail(diag, PREM_ERR_IO, 0, (prem_place){0}, "", "gnuplot failed: %s",
                   line[0] ? line : "it took too long, or was ended by a signal");
}

/* On a full disk gnuplot leaves half a picture and reports success. */
static bool is_whole(FILE *picture) {
  char end[16];
  const int descriptor = fileno(picture);
  const off_t bytes = lseek(descriptor, 0, SEEK_END);
  if (bytes < (off_t)sizeof end)
    return false;
  if (pread(descriptor, end, sizeof end, bytes - (off_t)sizeof end) != (ssize_t)sizeof end)
    return false;
  return memmem(end, sizeof end, "</svg>", 6) || memmem(end, sizeof end, "IEND", 4) ||
         memmem(end, sizeof end, "%%EOF", 5);
}

prem_status prem_gnuplot_run(FILE *script, FILE *picture, const volatile sig_atomic_t *stop,
                             prem_diag *diag) {
  if (fflush(script) != 0 || fflush(picture) != 0)
    return refuse(diag, PREM_ERR_IO, "no room for the picture's script");
  rewind(script);
  FILE *complaints = tmpfile();
  if (!complaints)
    return refuse(diag, PREM_ERR_IO, "no temporary file can be made");
  pid_t process = -1;
  prem_status status = PREM_OK;
  const gnuplot_files files = {fileno(script), fileno(picture), fileno(complaints)};
  const bool stopped_before = is_set(stop);
  const int error = start_gnuplot(&files, &process);
  if (error == ENOENT)
    status = refuse(diag, PREM_ERR_UNAVAILABLE,
                    "pictures need gnuplot, which is not on the PATH; install gnuplot-nox");
  else if (error)
    status = refuse(diag, PREM_ERR_UNAVAILABLE, strerror(error));
  else if (wait_for(process, stopped_before, stop) != 0)
    status = is_set(stop)
                 ? refuse(diag, PREM_ERR_INTERRUPTED,
                          "interrupted before gnuplot had drawn the picture; none is written")
                 : report_failure(complaints, diag);
  else if (!is_whole(picture))
    status = refuse(diag, PREM_ERR_IO, "gnuplot left half a picture: is the disk full?");
  fclose(complaints);
  return status;
}
