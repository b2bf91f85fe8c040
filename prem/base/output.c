/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are either complete or not there. */
#include "ttprem/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RIGHTS = 0777, PROC_BYTES = 32, LINK_TRIES = 100, LINKS = 40 };

static prem_status refuse(char *reason, size_t reason_bytes, const char *why) {
  snprintf(reason, reason_bytes, "%s", why);
  return PREM_ERR_IO;
}

/* ---- places --------------------------------------------------------------------------------- */

/** A file that is there; or, by `name`, one that is not, in the folder of these numbers. */
typedef struct file_place {
  dev_t device;
  ino_t inode;
  char *name; /* NULL: the file is there */
} file_place;

/* The folder of a path, "." where it names none; free with free(). */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash)
    return strdup(".");
  return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* Where a path ends that leads over links to what is not there: whoever opens it makes the file
 * there. Free with free(). */
static char *follow_links(const char *path) {
  char *at = strdup(path);
  for (int i = 0; at && i < LINKS; ++i) {
    char target[PATH_MAX], *next = NULL;
    const ssize_t length = readlink(at, target, sizeof target - 1);
    if (length < 0)
      return at;
    target[length] = '\0';
    char *folder = folder_of(at);
    if (folder && asprintf(&next, "%s%s%s", *target == '/' ? "" : folder, *target == '/' ? "" : "/",
                           target) < 0)
      next = NULL;
    free(folder);
    free(at);
    at = next;
  }
  return at;
}

static bool find_file(const char *path, file_place *out) {
  struct stat facts;
  const bool found = stat(path, &facts) == 0;
  *out = (file_place){0};
  if (found) {
    out->device = facts.st_dev;
    out->inode = facts.st_ino;
  }
  return found;
}

/* Free name with free(). */
static bool find_place(const char *path, file_place *out) {
  if (find_file(path, out))
    return true;
  char *end = follow_links(path), *folder = end ? folder_of(end) : NULL;
  const char *slash = end ? strrchr(end, '/') : NULL;
  const bool found = folder && find_file(folder, out);
  if (found)
    out->name = strdup(slash ? slash + 1 : end);
  free(folder);
  free(end);
  return found && out->name;
}

bool prem_output_same(const char *path, const char *other) {
  file_place one = {0}, two = {0};
  if (strcmp(path, "-") == 0 || strcmp(other, "-") == 0)
    return strcmp(path, other) == 0;
  bool same = strcmp(path, other) == 0;
  if (find_place(path, &one) && find_place(other, &two))
    same = one.device == two.device && one.inode == two.inode && !one.name == !two.name &&
           (!one.name || strcmp(one.name, two.name) == 0);
  free(one.name);
  free(two.name);
  return same;
}

/* The part of a path that is there, links followed; NULL where what is missing leads up again. */
static char *real_part(const char *path) {
  char *at = follow_links(path), *real = NULL;
  while (at && !(real = realpath(at, NULL))) {
    const char *slash = strrchr(at, '/');
    char *folder = strcmp(slash ? slash + 1 : at, "..") == 0 ? NULL : folder_of(at);
    const bool is_end = folder && strcmp(folder, at) == 0;
    free(at);
    at = folder;
    if (is_end)
      break;
  }
  free(at);
  return real;
}

bool prem_output_is_here(const char *path) {
  char *here = realpath(".", NULL), *place = real_part(path);
  const size_t length = here ? strlen(here) : 0;
  const bool is_here = length > 0 && place && strncmp(place, here, length) == 0 &&
                       (length == 1 || place[length] == '/' || place[length] == '\0');
  free(here);
  free(place);
  return is_here;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* An output replaces what stands in its place: that must be a plain file or nothing. `facts` are
 * its own; the mode is 0 when there is none. */
static prem_status judge_place(const char *path, struct stat *facts, char *reason,
                               size_t reason_bytes) {
  *facts = (struct stat){0};
  if (!*path)
    return refuse(reason, reason_bytes, "a file name is missing");
  if (stat(path, facts)) {
    *facts = (struct stat){0};
    return errno == ENOENT ? PREM_OK : refuse(reason, reason_bytes, strerror(errno));
  }
  if (S_ISDIR(facts->st_mode))
    return refuse(reason, reason_bytes, "it is a directory");
  if (!S_ISREG(facts->st_mode))
    return refuse(reason, reason_bytes, "it is not a regular file; `-` is stdout");
  if (!(facts->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH))) /* access() lets root write */
    return refuse(reason, reason_bytes, "it is write-protected; chmod u+w, or name another file");
  return access(path, W_OK) == 0 ? PREM_OK : refuse(reason, reason_bytes, strerror(errno));
}

/* Until now it is 0600: it is to have the rights that open() would give, or those of what it
 * replaces. A group that cannot be kept gets no more than everybody. */
static bool give_rights(int descriptor, const struct stat *replaced) {
  if (!S_ISREG(replaced->st_mode)) {
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(descriptor, 0666 & ~mask) == 0;
  }
  mode_t mode = replaced->st_mode & RIGHTS;
  struct stat own;
  if (fstat(descriptor, &own))
    return false;
  if (own.st_uid != replaced->st_uid && fchown(descriptor, replaced->st_uid, (gid_t)-1))
    errno = 0; /* whoever may replace a file of somebody else's owns it then */
  if (own.st_gid != replaced->st_gid && fchown(descriptor, (uid_t)-1, replaced->st_gid))
    mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
  return fchmod(descriptor, mode) == 0;
}

/* A file without a name goes with the process that made it, however that ends. It gets its name
 * through /proc. -1: there is no such thing here. */
static int open_unnamed(const char *path) {
  char *folder = folder_of(path), self[PROC_BYTES];
  const int descriptor =
      folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR) : -1;
  free(folder);
  snprintf(self, sizeof self, "/proc/self/fd/%d", descriptor);
  if (descriptor < 0 || access(self, F_OK) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

static int open_named(prem_output *output) {
  if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
    output->temporary = NULL;
    errno = ENOMEM;
    return -1;
  }
  const int descriptor = mkostemp(output->temporary, O_CLOEXEC);
  if (descriptor < 0) {
    free(output->temporary);
    output->temporary = NULL;
  }
  return descriptor;
}

static bool open_beside(prem_output *output, const struct stat *replaced) {
  int descriptor = open_unnamed(output->path);
  if (descriptor < 0)
    descriptor = open_named(output);
  if (descriptor < 0)
    return false;
  output->file = give_rights(descriptor, replaced) ? fdopen(descriptor, "w") : NULL;
  const int error = errno;
  if (!output->file)
    close(descriptor);
  errno = error;
  return output->file;
}

prem_status prem_output_open(prem_output *output, const char *path, char *reason,
                             size_t reason_bytes) {
  struct stat replaced;
  *output = (prem_output){0};
  if (strcmp(path, "-") == 0) {
    output->file = stdout;
    return PREM_OK;
  }
  prem_status status = judge_place(path, &replaced, reason, reason_bytes);
  if (status != PREM_OK)
    return status;
  char *followed = realpath(path, NULL);
  output->path = followed ? followed : follow_links(path);
  errno = ENOMEM;
  if (output->path && open_beside(output, &replaced))
    return PREM_OK;
  refuse(reason, reason_bytes, strerror(errno));
  prem_output_abandon(output);
  return PREM_ERR_IO;
}

/* ---- closing -------------------------------------------------------------------------------- */

/* Name a file that has none; what stands at its place already must be replaced at once, which only
 * a rename does. 0, or errno. */
static int give_name(prem_output *output) {
  char self[PROC_BYTES];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(output->file));
  if (linkat(AT_FDCWD, self, AT_FDCWD, output->path, AT_SYMLINK_FOLLOW) == 0)
    return 0;
  for (int i = 0; errno == EEXIST && i < LINK_TRIES; ++i) {
    char *name = NULL;
    if (asprintf(&name, "%s.%ld-%d", output->path, (long)getpid(), i) < 0)
      return ENOMEM;
    if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
      output->temporary = name;
      return 0;
    }
    const int error = errno;
    free(name);
    errno = error;
  }
  return errno;
}

/* 0, or errno. */
static int put_in_place(prem_output *output) {
  int error = output->temporary ? 0 : give_name(output);
  if (fclose(output->file) && !error)
    error = errno;
  output->file = NULL;
  if (!error && output->temporary && rename(output->temporary, output->path))
    error = errno;
  if (!error) {
    free(output->temporary);
    output->temporary = NULL;
  }
  return error;
}

prem_status prem_output_commit(prem_output *output, char *reason, size_t reason_bytes) {
  int error = 0;
  errno = 0;
  if (fflush(output->file) || ferror(output->file))
    error = errno ? errno : EIO;
  if (!error && output->path)
    error = put_in_place(output);
  prem_output_abandon(output);
  return error ? refuse(reason, reason_bytes, strerror(error)) : PREM_OK;
}

void prem_output_abandon(prem_output *output) {
  if (output->path && output->file)
    fclose(output->file);
  if (output->temporary)
    unlink(output->temporary);
  free(output->temporary);
  free(output->path);
  *output = (prem_output){0};
}
