/* Files that appear whole or not at all. */
#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static prem_status say_unwritable(prem_diag *diag, const char *path, int error) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){.file = path}, "", "cannot be written: %s",
                strerror(error));
  return PREM_ERR_IO;
}

static void forget(prem_beside *beside) {
  free(beside->path);
  free(beside->temporary);
  *beside = (prem_beside){0};
}

/** Renaming over a device or a pipe would replace it. */
static bool is_replaceable(const char *path) {
  struct stat facts;
  return stat(path, &facts) != 0 || S_ISREG(facts.st_mode);
}

prem_status prem_beside_open(prem_beside *beside, const char *path, prem_diag *diag) {
  *beside = (prem_beside){0};
  char *followed = realpath(path, NULL);
  beside->path = followed ? followed : strdup(path);
  if (!beside->path)
    return PREM_ERR_MEMORY;
  const char *written = beside->path;
  int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  if (is_replaceable(beside->path)) {
    if (asprintf(&beside->temporary, "%s.%ld.new", beside->path, (long)getpid()) < 0) {
      beside->temporary = NULL;
      forget(beside);
      return PREM_ERR_MEMORY;
    }
    written = beside->temporary;
  }
  int descriptor = open(written, flags, 0666);
  if (descriptor >= 0)
    beside->file = fdopen(descriptor, "w");
  if (beside->file)
    return PREM_OK;
  int error = errno;
  if (descriptor >= 0)
    close(descriptor);
  forget(beside);
  return say_unwritable(diag, path, error);
}

prem_status prem_beside_commit(prem_beside *beside, prem_diag *diag) {
  bool failed = ferror(beside->file) != 0;
  failed |= fclose(beside->file) != 0;
  beside->file = NULL;
  if (!failed && beside->temporary)
    failed = rename(beside->temporary, beside->path) != 0;
  int error = errno ? errno : EIO;
  prem_status status = PREM_OK;
  if (failed) {
    if (beside->temporary)
      unlink(beside->temporary);
    status = say_unwritable(diag, beside->path, error);
  }
  forget(beside);
  return status;
}

void prem_beside_abandon(prem_beside *beside) {
  if (!beside->file)
    return;
  fclose(beside->file);
  if (beside->temporary)
    unlink(beside->temporary);
  forget(beside);
}
