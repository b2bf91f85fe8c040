/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: lines of text that are known beforehand, in tests/golden. What is long is told by a
 * number that any change of it changes.
 *
 * After a wanted change run the program with TTPREM_GOLDEN=write, and read the difference before it
 * is committed.
 */
#ifndef TTPREM_TESTS_COMMON_GOLDEN_H
#define TTPREM_TESTS_COMMON_GOLDEN_H

#include <inttypes.h>
#include <sys/stat.h>

#include "tests/common/running.h"

/** FNV-1a of bytes, from `sum` on; begin with GOLDEN_SUM. */
#define GOLDEN_SUM UINT64_C(0xcbf29ce484222325)
static inline uint64_t golden_sum(uint64_t sum, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sum = (sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
  return sum;
}

static inline uint64_t golden_text(const char *text) {
  return golden_sum(GOLDEN_SUM, text, strlen(text));
}

/** All problems, as they are shown. */
static inline uint64_t golden_problems(const prem_diag *diag) {
  uint64_t sum = GOLDEN_SUM;
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[4096];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    const char *said = strstr(line, ": "); /* not the file's name, which is drawn */
    said = said ? said : line;
    sum = golden_sum(sum, said, strlen(said));
  }
  return sum;
}

/* A folder of its own, in which gnuplot is a script that keeps what it was asked to draw: a
 * fixture. */
static char golden_folder[] = "/tmp/ttprem-golden-XXXXXX";

static inline const char *golden_path(const char *name) {
  return text("%s/%s", golden_folder, name);
}

static inline void golden_make_folder(void) {
  ck_assert_ptr_nonnull(mkdtemp(golden_folder));
  FILE *file = fopen(golden_path("gnuplot"), "w");
  ck_assert_ptr_nonnull(file);
  fputs("#!/bin/sh\ncat >\"$0.script\"\necho '<svg width=\"1\"></svg>'\n", file);
  fclose(file);
  ck_assert_int_eq(chmod(golden_path("gnuplot"), 0700), 0);
  ck_assert_int_eq(setenv("PATH", text("%s:%s", golden_folder, getenv("PATH")), 1), 0);
}

static inline void golden_remove_folder(void) {
  ck_assert_int_eq(system(text("rm -r %s", golden_folder)), 0);
}

/** Of a file, which is removed. 0: there is none. */
static inline uint64_t golden_file_sum(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return 0;
  uint64_t sum = GOLDEN_SUM;
  unsigned char bytes[4096];
  for (size_t count; (count = fread(bytes, 1, sizeof bytes, file)) > 0;)
    sum = golden_sum(sum, bytes, count);
  fclose(file);
  remove(path);
  return sum;
}

/** The whole of a file, which is removed. Free with free(). */
static inline char *golden_take(const char *path) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
  const size_t bytes = (size_t)ftell(file);
  char *all = calloc(1, bytes + 1);
  rewind(file);
  ck_assert_uint_eq(fread(all, 1, bytes, file), bytes);
  fclose(file);
  remove(path);
  return all;
}

/** The file of a schedule with its plan, as it is saved. Free with free(). */
static inline char *golden_saved(const prem_schedule *schedule) {
  char path[] = "/tmp/ttprem-golden-XXXXXX";
  const int descriptor = mkstemp(path);
  ck_assert_int_ge(descriptor, 0);
  close(descriptor);
  prem_diag *diag = prem_diag_new();
  if (prem_schedule_save(schedule, path, diag) != PREM_OK)
    abort_with("save", diag);
  prem_diag_free(diag);
  return golden_take(path);
}

/** What is told of many alike: of the first ones all, of the others what it begins with, up to ':',
 *  and a number. */
typedef struct golden_lines {
  FILE *file, *one;
  char *text;
  size_t bytes;
} golden_lines;

static inline FILE *golden_begin(golden_lines *lines, bool is_whole) {
  lines->one = is_whole ? NULL : open_memstream(&lines->text, &lines->bytes);
  return is_whole ? lines->file : lines->one;
}

static inline void golden_end(golden_lines *lines) {
  if (!lines->one)
    return;
  fclose(lines->one);
  const int begin = (int)strcspn(lines->text, ":");
  if (lines->bytes > 0)
    fprintf(lines->file, "%.*s: %016" PRIx64 "\n", begin, lines->text, golden_text(lines->text));
  free(lines->text);
}

/** `found` is the text of tests/golden/NAME; frees it. The first line that is not is told. */
static inline void golden_judge(const char *name, char *found) {
  char path[512];
  snprintf(path, sizeof path, SOURCE_DIR "/tests/golden/%s", name);
  const char *wish = getenv("TTPREM_GOLDEN");
  FILE *file = fopen(path, wish && strcmp(wish, "write") == 0 ? "w+" : "r");
  if (!file)
    ck_abort_msg("%s is missing: run with TTPREM_GOLDEN=write", path);
  if (wish && strcmp(wish, "write") == 0) {
    ck_assert_int_ge(fputs(found, file), 0);
    rewind(file);
  }
  char *at = found, *expected = NULL;
  size_t room = 0;
  while (*at && getline(&expected, &room, file) >= 0) {
    const size_t length = strcspn(at, "\n") + 1;
    if (strlen(expected) != length || strncmp(expected, at, length) != 0)
      ck_abort_msg("%s has\n%sand now it is\n%.*s", path, expected, (int)length, at);
    at += length;
  }
  ck_assert_msg(!*at && getline(&expected, &room, file) < 0, "%s has not as many lines", path);
  fclose(file);
  free(expected);
  free(found);
}

#endif
