/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: files of schedules, and what is said of each when it is read, bound and checked.
 *
 * A case has a name (#), a schedule behind `version = 1; name = "t";`, unless it says so itself,
 * and for each question (?) the values of $1, $2 ... with " | " between them (-: none). Each
 * problem follows (>), whole and in order, its line counted from the name on. Where !
 * stands for ?, a schedule without a plan is planned before it is checked, and how that ends comes
 * first. An empty line ends the case.
 *
 * After a wanted change run the program with TTPREM_GOLDEN=write, and read the difference before it
 * is committed.
 */
#pragma once

#include "tests/common/golden.h"

enum { CASE_BYTES = 8192 };

/* Counted from 1. */
static inline const char *case_value(const char *values, int number) {
  for (; number > 1; --number) {
    values = strstr(values, " | ");
    ck_assert_ptr_nonnull(values);
    values += 3;
  }
  const char *end = strstr(values, " | ");
  const char *value =
      text("%.*s", (int)(end ? (size_t)(end - values) : strcspn(values, "\n")), values);
  return strcmp(value, "-") == 0 ? "" : value;
}

static inline const char *case_source(const char *form, const char *values) {
  static char source[2 * CASE_BYTES];
  size_t length = 0;
  if (!strstr(form, "version = "))
    length = (size_t)sprintf(source, "version = 1; name = \"t\"; ");
  for (const char *at = form; *at; ++at)
    if (*at != '$')
      source[length++] = *at;
    else
      length += (size_t)sprintf(source + length, "%s", case_value(values, *++at - '0'));
  source[length] = '\0';
  return source;
}

static inline prem_status case_plan(prem_schedule *schedule, prem_diag *diag, FILE *told) {
  prem_plan *plan = NULL;
  const prem_status status = prem_plan_make(schedule, NULL, NULL, &plan, diag);
  ck_assert((plan != NULL) == (status == PREM_OK));
  prem_schedule_set_plan(schedule, plan);
  fprintf(told, "> %s\n", prem_status_text(status));
  return status;
}

static inline void case_tell(FILE *told, const char *source, bool plans) {
  static const char path[] = "t.cfg";
  char line[4096];
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_status status = prem_schedule_load_text(path, source, &schedule, diag);
  if (status == PREM_OK) {
    status = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
    ck_assert_int_eq(schedule->bound, status == PREM_OK);
  }
  if (status == PREM_OK && plans && !schedule->plan)
    status = case_plan(schedule, diag, told);
  if (status == PREM_OK) {
    status = prem_check(schedule, NULL, diag);
    ck_assert_int_eq(prem_check(schedule, NULL, NULL), status);
  }
  ck_assert_int_eq(status == PREM_OK, prem_diag_errors(diag) == 0);
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(told, ">%s\n", line + strlen(path));
  }
}

/** All cases of tests/NAME. */
static inline void cases_judge(const char *name) {
  char line[CASE_BYTES], form[CASE_BYTES] = "", *found = NULL;
  size_t bytes = 0;
  FILE *cases = fopen(text(SOURCE_DIR "/tests/%s", name), "r"),
       *told = open_memstream(&found, &bytes);
  ck_assert_ptr_nonnull(cases);
  while (fgets(line, sizeof line, cases)) {
    if (*line == '>')
      continue;
    fputs(line, told);
    if (*line == '?' || *line == '!')
      case_tell(told, case_source(form, line[1] == ' ' ? line + 2 : line + 1), *line == '!');
    else if (*line == '#')
      *form = '\0';
    else
      strcat(form, line);
  }
  fclose(cases);
  fclose(told);
  golden_judge(text("../%s", name), found);
}
