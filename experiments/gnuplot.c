/* Running gnuplot. Script and picture are files, not pipes: no signal if it ends early. */
#include "gnuplot.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 60, POLL_NS = 5000000 };

static prem_status refuse(prem_diag *diag, prem_status status, const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "", "%s", reason);
  return status;
}

/* In a process group of its own: Ctrl-C is for the measurement, whose picture is still wanted. */
static int spawn_apart(const char *program, const posix_spawn_file_actions_t *actions,
                       char *arguments[], pid_t *process) {
  posix_spawnattr_t attributes;
  int error = posix_spawnattr_init(&attributes);
  if (error)
    return error;
  error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  if (!error)
    error = posix_spawnp(process, program, actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  return error;
}

static int spawn_gnuplot(FILE *script, FILE *picture, FILE *complaints, pid_t *process) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error)
    return error;
  /* -d: nobody's start-up files may change our pictures */
  char program[] = "gnuplot", defaults[] = "-d", from_stdin[] = "-";
  char *arguments[] = {program, defaults, from_stdin, NULL};
  error = posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
  if (!error)
    error = posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
  if (!error)
    error = posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
  if (!error)
    error = spawn_apart(program, &actions, arguments, process);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/** Its exit status; -1 if it was ended by a signal, ours included. */
static int wait_for(pid_t process) {
  const struct timespec pause = {.tv_nsec = POLL_NS};
  int status = 0;
  for (int64_t waited_ns = 0; waited_ns < PATIENCE_S * INT64_C(1000000000); waited_ns += POLL_NS) {
    pid_t ended = waitpid(process, &status, WNOHANG);
    if (ended == process)
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (ended < 0 && errno != EINTR)
      return -1;
    nanosleep(&pause, NULL);
  }
  kill(process, SIGKILL);
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
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "", "gnuplot failed: %s",
                line[0] ? line : "it took too long, or was ended by a signal");
  return PREM_ERR_IO;
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
  return memmem(end, sizeof end, "</svg>", 6) || memmem(end, sizeof end, "IEND", 4);
}

prem_status prem_gnuplot_run(FILE *script, FILE *picture, prem_diag *diag) {
  if (fflush(script) != 0 || fflush(picture) != 0)
    return refuse(diag, PREM_ERR_IO, "no room for the picture's script");
  rewind(script);
  FILE *complaints = tmpfile();
  if (!complaints)
    return refuse(diag, PREM_ERR_IO, "no temporary file can be made");
  pid_t process = -1;
  prem_status status = PREM_OK;
  int error = spawn_gnuplot(script, picture, complaints, &process);
  if (error == ENOENT)
    status = refuse(diag, PREM_ERR_UNAVAILABLE,
                    "pictures need gnuplot, which is not on the PATH; install gnuplot-nox");
  else if (error)
    status = refuse(diag, PREM_ERR_UNAVAILABLE, strerror(error));
  else if (wait_for(process) != 0)
    status = report_failure(complaints, diag);
  else if (!is_whole(picture))
    status = refuse(diag, PREM_ERR_IO, "gnuplot left half a picture: is the disk full?");
  fclose(complaints);
  return status;
}
