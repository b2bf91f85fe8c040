/* SPDX-License-Identifier: Apache-2.0 */
/** For tests: a folder of their own; make_folder(), or enter_folder(), and remove_folder() are
 *  fixtures. */
#pragma once

#include "tests/common/schedule_text.h"

static char folder[] = "/tmp/ttprem-test-XXXXXX";

static inline void make_folder(void) {
  memset(folder + sizeof folder - 7, 'X', 6);
  ck_assert_ptr_nonnull(mkdtemp(folder));
}

/** Make it the working folder as well. */
static inline void enter_folder(void) {
  make_folder();
  ck_assert_int_eq(chdir(folder), 0);
}

static inline void remove_folder(void) {
  ck_assert_int_eq(system(text("chmod -R u+w %s && rm -r %s", folder, folder)), 0);
}

static inline const char *in_folder(const char *name) {
  return text("%s/%s", folder, name);
}

/** Write a file of the folder; its path. */
static inline const char *put(const char *name, const char *content) {
  const char *path = in_folder(name);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(content, file);
  ck_assert_int_eq(fclose(file), 0);
  return path;
}

static inline int files_in_folder(void) {
  FILE *list = popen(text("ls -A %s | wc -l", folder), "r");
  int count = -1;
  ck_assert_int_eq(fscanf(list, "%d", &count), 1);
  pclose(list);
  return count;
}

/** The whole of a file, with a zero behind it. Free with free(). */
static inline char *content_of(const char *path) {
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file, "%s is not there", path);
  ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
  const size_t bytes = (size_t)ftell(file);
  char *content = calloc(1, bytes + 1);
  rewind(file);
  ck_assert_uint_eq(fread(content, 1, bytes, file), bytes);
  fclose(file);
  return content;
}
