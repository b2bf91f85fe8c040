/* Files that are either complete or not there. */
#include "ttprem/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static prem_status refuse(char *reason, size_t reason_bytes, const char *why) {
  snprintf(reason, reason_bytes, "%s", why);
  return PREM_ERR_IO;
}

/* An output replaces what stands in its place: that must be a plain file or nothing. */
static prem_status judge_place(const char *path, char *reason, size_t reason_bytes) {
  struct stat facts;
  if (!*path)
    return refuse(reason, reason_bytes, "a file name is missing");
  if (stat(path, &facts))
    return errno == ENOENT ? PREM_OK : refuse(reason, reason_bytes, strerror(errno));
  if (S_ISDIR(facts.st_mode))
    return refuse(reason, reason_bytes, "it is a directory");
  if (!S_ISREG(facts.st_mode))
    return refuse(reason, reason_bytes, "it is not a regular file; `-` is stdout");
  return access(path, W_OK) == 0 ? PREM_OK : refuse(reason, reason_bytes, strerror(errno));
}

/* mkstemp() gives 0600; the file is to have the rights that open() would give. */
static FILE *open_temporary(char *temporary) {
  const int descriptor = mkstemp(temporary);
  if (descriptor < 0)
    return NULL;
  const mode_t mask = umask(0);
  umask(mask);
  FILE *file = fchmod(descriptor, 0666 & ~mask) == 0 ? fdopen(descriptor, "w") : NULL;
  if (!file) {
    close(descriptor);
    unlink(temporary);
  }
  return file;
}

prem_status prem_output_open(prem_output *output, const char *path, char *reason,
                             size_t reason_bytes) {
  *output = (prem_output){0};
  if (strcmp(path, "-") == 0) {
    output->file = stdout;
    return PREM_OK;
  }
  prem_status status = judge_place(path, reason, reason_bytes);
  if (status != PREM_OK)
    return status;
  char *followed = realpath(path, NULL);
  output->path = followed ? followed : strdup(path);
  if (output->path && asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0)
    output->temporary = NULL;
  if (output->temporary)
    output->file = open_temporary(output->temporary);
  if (output->file)
    return PREM_OK;
  refuse(reason, reason_bytes, strerror(output->temporary ? errno : ENOMEM));
  free(output->temporary);
  output->temporary = NULL;
  prem_output_abandon(output);
  return PREM_ERR_IO;
}

prem_status prem_output_commit(prem_output *output, char *reason, size_t reason_bytes) {
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
  prem_output_abandon(output);
  return error ? refuse(reason, reason_bytes, strerror(error)) : PREM_OK;
}

void prem_output_abandon(prem_output *output) {
  if (output->temporary) {
    if (output->file)
      fclose(output->file);
    unlink(output->temporary);
  }
  free(output->temporary);
  free(output->path);
  *output = (prem_output){0};
}
