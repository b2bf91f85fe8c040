/* SPDX-License-Identifier: Apache-2.0 */
/* Critical tasks alone and beside their load, on the simulator: what is refused, and what is kept
 * of a measurement that somebody ends. What it finds is in
 * tests/cli/cases/isolate/best_effort.case. */
#include "runtime/core/backend.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "ttprem/isolation.h"

static prem_schedule *schedule;
static prem_load_isolation *isolation;
static prem_isolate_options options;
static volatile sig_atomic_t stop;

static void set_up(void) {
  schedule = planned_schedule(SOURCE_DIR "/schedules/examples/beside_a_load.cfg");
  isolation = NULL;
  stop = 0;
  options = (prem_isolate_options){.modes = {PREM_MODE_FREE, PREM_MODE_TT},
                                   .mode_count = 2,
                                   .sampling.scenario = PREM_RESIDENT,
                                   .sampling.samples = 4,
                                   .sampling.rounds = 2,
                                   .sampling.max_records = 1000,
                                   .stop = &stop};
}

static void tear_down(void) {
  prem_load_isolation_free(isolation);
  prem_schedule_free(schedule);
}

static prem_status isolate(void) {
  return prem_isolate_load(schedule, prem_backend_find("sim"), &options, &isolation, NULL);
}

GROUP("load", .set_up = set_up, .tear_down = tear_down);

TEST(it_is_measured) {
  ck_assert_int_eq(isolate(), PREM_OK);
  ck_assert(isolation->valid && isolation->output_ok && !isolation->interrupted);
  ck_assert_str_eq(isolation->nothing, "");
  ck_assert_ptr_nonnull(isolation->findings);
  ck_assert_int_gt(schedule->plan->closed_count, 0); /* its own plan is as it was */
}

TEST(what_has_no_gate_is_refused) {
  options.mode_count = 1; /* free */
  ck_assert_int_eq(isolate(), PREM_ERR_ARGUMENT);
  options.modes[1] = PREM_MODE_LOCK;
  options.mode_count = 2;
  ck_assert_int_eq(isolate(), PREM_ERR_ARGUMENT);
  options.modes[1] = PREM_MODE_TT;
  options.sampling.samples = 0;
  ck_assert_int_eq(isolate(), PREM_ERR_ARGUMENT);
  options.sampling.samples = 1;
  prem_schedule_set_plan(schedule, NULL);
  ck_assert_int_eq(isolate(), PREM_ERR_ARGUMENT);
  prem_schedule_free(schedule);
  schedule = planned_schedule(SOURCE_DIR "/schedules/examples/smallest.cfg");
  ck_assert_int_eq(isolate(), PREM_ERR_ARGUMENT);
  ck_assert_ptr_null(isolation);
}

static void stop_after_one(void *context, int64_t done, int64_t all) {
  (void)context;
  stop = done == 1;
  ck_assert_int_eq(all, 8);
}

TEST(what_was_measured_is_kept) {
  options.progress = stop_after_one;
  ck_assert_int_eq(isolate(), PREM_ERR_INTERRUPTED);
  ck_assert(isolation->interrupted);
}

/* On sim alone, with a part of what was measured taken away. */
static bool all_disturbed;

static prem_status lossy_run(void *state, const prem_run_request *request, prem_trace *trace,
                             prem_diag *diag) {
  const prem_status status = prem_backend_sim.run(state, request, trace, diag);
  for (int64_t i = 0; i < trace->hyperperiods * trace->job_count; ++i)
    trace->away_ns[i] = all_disturbed ? 1000 : 0;
  for (int32_t t = 0; trace->best_effort && t < trace->best_effort->trace->task_count; ++t)
    if (!all_disturbed)
      trace->best_effort->counts[t] = (prem_best_effort_counts){0};
  return status;
}

TESTS(a_measurement_that_counts_nothing_is_not_valid, 2) {
  static const char *const nothing[] = {
      "best-effort tasks ended no tile, with no gate either",
      "of 4 hyperperiods of 'alone' (mode tt) all were disturbed"};
  prem_backend lossy = prem_backend_sim;
  lossy.run = lossy_run;
  all_disturbed = _i;
  ck_assert_int_eq(prem_isolate_load(schedule, &lossy, &options, &isolation, NULL), PREM_OK);
  ck_assert_str_eq(isolation->nothing, nothing[_i]);
  ck_assert(!isolation->valid);
  ck_assert_str_eq(isolation->disturbed, nothing[_i]);
}
