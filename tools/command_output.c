/* Files that are either complete or not there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

static bool refuse(const char *path, const char *reason) {
  command_error("cannot write %s: %s", path, reason);
  return false;
}

/* An output replaces what stands in its place: that must be a plain file or nothing. */
static bool may_replace(const char *path) {
  struct stat status;
  if (stat(path, &status))
    return errno == ENOENT || refuse(path, strerror(errno));
  if (S_ISDIR(status.st_mode))
    return refuse(path, "it is a directory");
  if (!S_ISREG(status.st_mode))
    return refuse(path, "it is not a regular file; `-` is stdout");
  return access(path, W_OK) == 0 || refuse(path, strerror(errno));
}

/* mkstemp() gives 0600; the file is to have the rights that open() would give. */
static int open_beside(char *temporary) {
  int descriptor = mkstemp(temporary);
  if (descriptor < 0)
    return -1;
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(descriptor, 0666 & ~mask)) {
    close(descriptor);
    unlink(temporary);
    return -1;
  }
  return descriptor;
}

bool command_output_open(command_output *output, const char *path) {
  *output = (command_output){0};
  if (!strcmp(path, "-")) {
    output->path = strdup(path);
    output->file = stdout;
    return output->path || refuse(path, strerror(ENOMEM));
  }
  if (!*path)
    return refuse("''", "a file name is missing");
  if (!may_replace(path))
    return false;
  output->path = strdup(path);
  if (output->path && asprintf(&output->temporary, "%s.XXXXXX", path) < 0)
    output->temporary = NULL;
  int descriptor = output->temporary ? open_beside(output->temporary) : -1;
  if (descriptor < 0) {
    refuse(path, strerror(errno));
    free(output->temporary);
    output->temporary = NULL;
    command_output_abandon(output);
    return false;
  }
  output->file = fdopen(descriptor, "w");
  if (output->file)
    return true;
  refuse(path, strerror(errno));
  close(descriptor);
  command_output_abandon(output);
  return false;
}

bool command_output_commit(command_output *output) {
  int error = 0;
  if (fflush(output->file) || ferror(output->file))
    error = errno ? errno : EIO;
  if (output->temporary) {
    if (fclose(output->file) && !error)
      error = errno;
    output->file = NULL;
    if (!error && rename(output->temporary, output->path))
      error = errno;
    if (!error) {
      free(output->temporary);
      output->temporary = NULL;
    }
  }
  if (error)
    refuse(output->path, strerror(error));
  command_output_abandon(output);
  return !error;
}

void command_output_abandon(command_output *output) {
  if (output->temporary) {
    if (output->file)
      fclose(output->file);
    unlink(output->temporary);
  }
  free(output->temporary);
  free(output->path);
  *output = (command_output){0};
}

bool command_output_check(const char *path) {
  if (!path || !strcmp(path, "-"))
    return true;
  command_output output;
  if (!command_output_open(&output, path))
    return false;
  command_output_abandon(&output);
  return true;
}
