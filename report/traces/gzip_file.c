/* SPDX-License-Identifier: Apache-2.0 */
/* zlib behind a stream of the C library. */
#include "report/traces/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static ssize_t read_some(void *cookie, char *to, size_t bytes) {
  gzFile file = cookie;
  const int got = gzread(file, to, bytes < INT_MAX ? (unsigned)bytes : INT_MAX);
  int problem = Z_OK;
  gzerror(file, &problem);
  if (got < 0 || (got == 0 && problem != Z_OK && problem != Z_STREAM_END)) {
    errno = EIO;
    return -1;
  }
  return got;
}

static int close_it(void *cookie) {
  return gzclose_r(cookie) == Z_OK ? 0 : EOF;
}

/* Never waits, as for the writer of a pipe. -1: errno is 0 where it is no regular file. */
static int open_regular(const char *path) {
  struct stat facts;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return -1;
  const int problem = fstat(descriptor, &facts) == 0 ? 0 : errno;
  if (problem == 0 && S_ISREG(facts.st_mode))
    return descriptor;
  close(descriptor);
  errno = problem;
  return -1;
}

static FILE *open_compressed(const char *path) {
  static const char ending[] = ".gz";
  const size_t length = strlen(path);
  char *name = malloc(length + sizeof ending);
  if (!name)
    return NULL;
  memcpy(name, path, length);
  memcpy(name + length, ending, sizeof ending);
  const int descriptor = open_regular(name);
  free(name);
  gzFile compressed = descriptor < 0 ? NULL : gzdopen(descriptor, "rb");
  if (!compressed) {
    if (descriptor >= 0)
      close(descriptor);
    return NULL;
  }
  FILE *file =
      fopencookie(compressed, "r", (cookie_io_functions_t){.read = read_some, .close = close_it});
  if (!file)
    gzclose_r(compressed);
  return file;
}

FILE *prem_gzip_open(const char *path) {
  const int descriptor = open_regular(path);
  if (descriptor < 0 && errno != ENOENT)
    return NULL;
  FILE *file = descriptor < 0 ? open_compressed(path) : fdopen(descriptor, "rb");
  if (!file && descriptor >= 0) {
    const int problem = errno;
    close(descriptor);
    errno = problem;
  } else if (!file && errno != 0) {
    errno = ENOENT;
  }
  return file;
}
