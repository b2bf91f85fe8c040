/* SPDX-License-Identifier: Apache-2.0 */
/* zlib behind a stream of the C library. */
#include "report/traces/gzip_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
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

static FILE *open_compressed(const char *path) {
  static const char ending[] = ".gz";
  const size_t length = strlen(path);
  char *name = malloc(length + sizeof ending);
  if (!name)
    return NULL;
  memcpy(name, path, length);
  memcpy(name + length, ending, sizeof ending);
  gzFile compressed = gzopen(name, "rb");
  free(name);
  if (!compressed)
    return NULL;
  FILE *file =
      fopencookie(compressed, "r", (cookie_io_functions_t){.read = read_some, .close = close_it});
  if (!file)
    gzclose_r(compressed);
  return file;
}

FILE *prem_gzip_open(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file || errno != ENOENT)
    return file;
  file = open_compressed(path);
  if (!file)
    errno = ENOENT;
  return file;
}
