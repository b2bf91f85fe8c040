/* SPDX-License-Identifier: Apache-2.0 */
/** For tests: schedules from string literals. The loader reads files, so the text goes through one.
 */
#pragma once

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/owned.h"

/** printf into one of many buffers, good until the 64th call from now. */
PREM_PRINTF(1, 2) static inline const char *text(const char *format, ...) {
  static char buffers[64][8192];
  static int next;
  char *buffer = buffers[next++ % 64];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(buffer, sizeof buffers[0], format, args);
  va_end(args);
  ck_assert_int_ge(length, 0);
  ck_assert_int_lt(length, (int)sizeof buffers[0]);
  return buffer;
}

static inline void print_problems(const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[4096];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    printf("  %s\n", line);
  }
  fflush(stdout);
}

/** Load and bind what can be read of a text (see prem_schedule_load_lenient()); problems are added
 *  to `diag`. */
static inline prem_schedule *schedule_from_text_lenient(const char *source, prem_diag *diag) {
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  int file = mkstemps(path, 4);
  ck_assert_int_ge(file, 0);
  ck_assert_int_eq(write(file, source, strlen(source)), (ssize_t)strlen(source));
  close(file);
  prem_schedule *schedule = NULL;
  prem_status status = prem_schedule_load_lenient(path, NULL, &schedule, diag);
  unlink(path);
  if (status != PREM_OK)
    print_problems(diag);
  ck_assert_int_eq(status, PREM_OK);
  prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  return schedule;
}

/** Load and bind a text that has no error; free with prem_schedule_free(). */
static inline prem_schedule *schedule_from_text(const char *source) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text_lenient(source, diag);
  if (prem_diag_errors(diag) > 0) {
    print_problems(diag);
    ck_abort_msg("the text has errors");
  }
  return schedule;
}

static char *printed_text;
static size_t printed_bytes;

/** What is printed until print_end() becomes a schedule, which is not bound yet. */
static inline FILE *print_begin(void) {
  return open_memstream(&printed_text, &printed_bytes);
}

static inline prem_schedule *print_end(FILE *file) {
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  fclose(file);
  if (prem_schedule_load_text("printed.cfg", printed_text, &schedule, diag) != PREM_OK)
    print_problems(diag);
  ck_assert_ptr_nonnull(schedule);
  free(printed_text);
  return schedule;
}
