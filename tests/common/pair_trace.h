/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: a trace of tests/common/compared.h's pair, with ends made by hand. a is released at 0
 * and 400, b at 100, all of them in hyperperiods of 800.
 */
#pragma once

#include "tests/common/compared.h"

enum { HYPERPERIODS = 2, A0 = 0, A1, B, JOBS };

static prem_program *program;
static prem_trace *trace;

static void set_up_trace(void) {
  static const int64_t ends_ns[JOBS] = {180, 580, 380};
  set_up();
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  ck_assert_int_eq(prem_trace_new(schedule, HYPERPERIODS, 0, &trace), PREM_OK);
  ck_assert_int_eq(trace->job_count, JOBS);
  prem_trace_begin_periodically(trace, 800, HYPERPERIODS);
  for (int h = 0; h < HYPERPERIODS; ++h)
    for (int j = 0; j < JOBS; ++j)
      trace->job_end_ns[h * JOBS + j] = 800 * h + ends_ns[j];
}

static void tear_down_trace(void) {
  prem_trace_free(trace);
  prem_program_free(program);
  tear_down();
}
