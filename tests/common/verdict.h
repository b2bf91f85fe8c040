/* SPDX-License-Identifier: Apache-2.0 */
/** For tests of the checker: what it says of a schedule text. */
#pragma once

#include "tests/common/schedule_text.h"

/** Machine against which the tests judge; NULL: the platform. */
static const prem_machine *judged_on;

static inline prem_diag *verdict_on(const char *source) {
  prem_diag *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  prem_status status = prem_check(schedule, judged_on, diag);
  ck_assert_int_eq(status, prem_diag_errors(diag) ? PREM_ERR_INVALID : PREM_OK);
  ck_assert_int_eq(prem_check(schedule, judged_on, NULL), status);
  return diag;
}

/** Is there an error of this code whose line contains the fragment and names its place? */
static inline bool says(const prem_diag *diag, int code, const char *fragment) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    if (problem->code == code && problem->severity == PREM_ERROR && problem->line > 0 &&
        problem->key[0] && strstr(problem->reason, fragment))
      return true;
  }
  return false;
}

static inline void assert_says(const prem_diag *diag, int code, const char *fragment) {
  if (says(diag, code, fragment))
    return;
  print_problems(diag);
  ck_abort_msg("expected E%03d: ...%s...", code, fragment);
}

static inline void assert_legal(const char *source) {
  OWNED(prem_diag) *diag = verdict_on(source);
  if (prem_diag_errors(diag) > 0) {
    print_problems(diag);
    ck_abort_msg("refused, but legal:\n%s", source);
  }
}

static inline void assert_refused(int code, const char *fragment, const char *source) {
  OWNED(prem_diag) *diag = verdict_on(source);
  assert_says(diag, code, fragment);
}

/** A bad schedule, and its twin on the good side. */
static inline void assert_twins(int code, const char *fragment, const char *bad, const char *good) {
  assert_refused(code, fragment, bad);
  assert_legal(good);
}

/** As assert_refused(), and it is the only code. */
static inline void assert_only(int code, const char *fragment, const char *source) {
  OWNED(prem_diag) *diag = verdict_on(source);
  assert_says(diag, code, fragment);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (prem_diag_at(diag, i)->code != code) {
      print_problems(diag);
      ck_abort_msg("expected no other code than E%03d", code);
    }
}

/** A schedule file with these settings of the platform, tasks and plan. */
static inline const char *file_of(const char *platform, const char *tasks, const char *plan) {
  return text(
      "version = 1;\nname = \"test\";\nplatform: { %s };\ntasks = (\n%s\n);\nplan: { %s };\n",
      platform, tasks, plan);
}
