/* SPDX-License-Identifier: Apache-2.0 */
/** What the suites of the cpu backend share: a schedule out of text, made ready, run and judged. */
#pragma once

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/owned.h"
#include "ttprem/ttprem.h"

typedef struct fixture {
  prem_schedule *schedule;
  prem_session *session;
  prem_trace *trace;
  prem_diag *diag;
} fixture;

/** All problems found, one a line; free with free(). */
static inline char *fixture_problems(const prem_diag *diag) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[1024];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(out, "%s\n", line);
  }
  fclose(out);
  return text;
}

static inline void fixture_expect(const fixture *f, prem_status status, prem_status expected) {
  if (status == expected)
    return;
  char *problems = fixture_problems(f->diag);
  ck_abort_msg("%s instead of %s:\n%s", prem_status_text(status), prem_status_text(expected),
               problems);
}

/** Does a problem say this? */
static inline void fixture_expect_said(const fixture *f, const char *words) {
  FREED char *problems = fixture_problems(f->diag);
  ck_assert_msg(strstr(problems, words), "'%s' is not in:\n%s", words, problems);
}

/** Load a schedule given as text, not bound yet. */
static inline void fixture_read(fixture *f, const char *source) {
  *f = (fixture){.diag = prem_diag_new()};
  const prem_status status = prem_schedule_load_text("fixture.cfg", source, &f->schedule, f->diag);
  fixture_expect(f, status, PREM_OK);
}

/** Load and bind a schedule given as text (a printf format). */
PREM_PRINTF(3, 4)
static inline void fixture_load(fixture *f, const prem_registry *registry, const char *format,
                                ...) {
  FREED char *source = NULL;
  va_list args;
  va_start(args, format);
  ck_assert_int_ge(vasprintf(&source, format, args), 0);
  va_end(args);
  fixture_read(f, source);
  fixture_expect(f, prem_schedule_bind(f->schedule, registry, f->diag), PREM_OK);
}

/** Open a session on the cpu with room for so many hyperperiods. */
static inline void fixture_open(fixture *f, int64_t hyperperiods, int64_t max_records) {
  const prem_backend *cpu = prem_backend_find("cpu");
  ck_assert_ptr_nonnull(cpu);
  fixture_expect(f, prem_session_open(cpu, f->schedule, &f->session, f->diag), PREM_OK);
  fixture_expect(f, prem_trace_new(f->schedule, hyperperiods, max_records, &f->trace), PREM_OK);
}

static inline void fixture_close(fixture *f) {
  prem_session_close(f->session);
  prem_trace_free(f->trace);
  prem_schedule_free(f->schedule);
  prem_diag_free(f->diag);
}

/** Closed at the end of its scope. */
#define FIXTURE __attribute__((cleanup(fixture_close))) fixture
