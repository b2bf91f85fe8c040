/* SPDX-License-Identifier: Apache-2.0 */
/** For tests that run schedules: plan, check, open, run, find a record. */
#pragma once

#include "tests/common/schedule_text.h"

static inline void abort_with(const char *what, const prem_diag *diag) {
  print_problems(diag);
  ck_abort_msg("%s: see above", what);
}

/** The checker finds nothing wrong with the schedule. */
static inline void assert_checked(const prem_schedule *schedule) {
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_check(schedule, NULL, diag) != PREM_OK)
    abort_with("check", diag);
}

/** Of a text, made ready: bound, planned where it has no plan, checked. */
static inline prem_schedule *prepared_schedule(const char *source) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text(source);
  if (prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag) != PREM_OK)
    abort_with("prepare", diag);
  return schedule;
}

/** Of a text with a plan that the checker accepts. */
static inline prem_schedule *checked_schedule(const char *source) {
  prem_schedule *schedule = schedule_from_text(source);
  assert_checked(schedule);
  return schedule;
}

/** Load and prepare. */
static inline prem_schedule *planned_schedule(const char *path) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  if (prem_schedule_load(path, NULL, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag) != PREM_OK)
    abort_with(path, diag);
  return schedule;
}

static inline prem_session *open_on(const char *backend, const prem_schedule *schedule) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_session *session = NULL;
  if (prem_session_open(prem_backend_find(backend), schedule, &session, diag) != PREM_OK)
    abort_with("open", diag);
  return session;
}

/** Run so many hyperperiods; the trace is whole and sorted. Free with prem_trace_free(). */
static inline prem_trace *run_in(prem_session *session, const prem_schedule *schedule,
                                 prem_mode mode, int64_t hyperperiods) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, hyperperiods, INT64_MAX / 2, &trace), PREM_OK);
  prem_run_request request = {.mode = mode, .hyperperiods = hyperperiods};
  if (prem_session_run(session, &request, trace, diag) != PREM_OK)
    abort_with("run", diag);
  prem_trace_sort(trace);
  return trace;
}

static inline prem_trace *simulate(const prem_schedule *schedule, prem_mode mode,
                                   int64_t hyperperiods) {
  OWNED(prem_session) *session = open_on("sim", schedule);
  prem_trace *trace = run_in(session, schedule, mode, hyperperiods);
  return trace;
}

/** The record of a phase in hyperperiod 0, job 0. */
static inline const prem_trace_record *find_phase(const prem_trace *trace,
                                                  const prem_schedule *schedule, const char *task,
                                                  int32_t tile, prem_phase phase) {
  int32_t index = prem_schedule_find_task(schedule, task);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    if (r->task == index && r->tile == tile && r->phase == phase && r->job == 0 &&
        r->hyperperiod == 0)
      return r;
  }
  ck_abort_msg("no %s of tile %d of '%s'", prem_phase_name(phase), tile, task);
  return NULL;
}

/** A program's main. */
static inline int run_suite(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/** Two runs over poisoned outputs: they are right. */
static inline void run_and_verify(const char *backend, const prem_schedule *schedule,
                                  prem_mode mode) {
  prem_verdict verdict;
  OWNED(prem_session) *session = open_on(backend, schedule);
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  prem_trace_free(run_in(session, schedule, mode, 2));
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
}
