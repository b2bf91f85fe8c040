/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: text that a user sees and that is known beforehand, in tests/golden.
 *
 * After a wanted change run the program with TTPREM_GOLDEN=write, and read the difference before it
 * is committed.
 */
#pragma once

#include <inttypes.h>
#include <sys/stat.h>

#include "tests/common/running.h"

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
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_schedule_save(schedule, path, diag) != PREM_OK)
    abort_with("save", diag);
  return golden_take(path);
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
