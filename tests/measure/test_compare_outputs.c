/* SPDX-License-Identifier: Apache-2.0 */
/* Modes compared: is what their runs write right? */
/* ctest: threads */
#include "runtime/core/backend.h"
#include "tests/common/compared.h"
#include "tests/common/suite.h"

GROUP("compare_outputs", .set_up = set_up, .tear_down = tear_down);

TEST(right_outputs_are_seen_to_be_right) {
  reopen(increment);
  ck_assert_int_eq(compare(), PREM_OK);
  for (int i = 0; i < 2; ++i) {
    ck_assert(result->rows[i].output_checked);
    ck_assert(result->rows[i].output_ok);
    ck_assert(result->rows[i].verdict.ok);
  }
}

static void compute_one_too_many(const void *params, const prem_view *views) {
  (void)params;
  for (int32_t i = 0; i < views[1].extent[3]; ++i)
    ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + (i == 5 ? 2.0F : 1.0F);
}

TEST(a_wrong_output_is_told_and_does_not_stop_the_measuring) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(increment);
  prem_kernel wrong = *schedule->tasks[0].definition;
  wrong.compute = compute_one_too_many;
  schedule->tasks[0].definition = &wrong;
  session = open_on("sim", schedule);
  ck_assert_int_eq(compare(), PREM_OK);
  for (int i = 0; i < 2; ++i) {
    const prem_row *row = &result->rows[i];
    ck_assert_int_eq(row->samples, 5);
    ck_assert(row->output_checked);
    ck_assert(!row->output_ok);
    ck_assert(!row->verdict.ok);
    ck_assert_int_eq(row->verdict.wrong, 2); /* one in each tile */
    ck_assert_int_eq(row->verdict.index[3], 5);
  }
}

/* Of the runs with two tiles each the first is wrong in both, the second in one, the others in
 * none. */
static void compute_wrong_at_first(const void *params, const prem_view *views) {
  static int computes;
  if (++computes <= 3)
    compute_one_too_many(params, views);
  else
    for (int32_t i = 0; i < views[1].extent[3]; ++i)
      ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + 1.0F;
}

TEST(right_runs_do_not_make_up_for_a_wrong_one) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(increment);
  prem_kernel wrong = *schedule->tasks[0].definition;
  wrong.compute = compute_wrong_at_first;
  schedule->tasks[0].definition = &wrong;
  session = open_on("sim", schedule);
  options.mode_count = 1;
  options.sampling.discard = 0;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert(!result->rows[0].output_ok);
  ck_assert(!result->rows[0].verdict.ok);
  ck_assert_int_eq(result->rows[0].verdict.wrong, 2); /* what the first wrong run had */
}

enum { WRONG_ONE = 24, ALL_OF_THEM = 50 }; /* the 24th of 50 hyperperiods of two tiles */

static void compute_wrong_in_the_middle(const void *params, const prem_view *views) {
  static int computes;
  const int hyperperiod = computes++ / 2 % ALL_OF_THEM + 1;
  for (int32_t i = 0; i < views[1].extent[3]; ++i)
    ((float *)views[1].data)[i] =
        ((const float *)views[0].data)[i] + (hyperperiod == WRONG_ONE && i == 5 ? 2.0F : 1.0F);
  (void)params;
}

static void verify_resident(int64_t every, int64_t verified, bool right) {
  options.sampling.verify_every = every;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, ALL_OF_THEM);
  ck_assert_int_eq(row->hyperperiods, ALL_OF_THEM);
  ck_assert_int_eq(row->verified_hyperperiods, verified);
  ck_assert_int_eq(row->output_ok, right);
  ck_assert_int_eq(row->verdict.wrong, right ? 0 : 2);
}

/* What hyperperiods behind it overwrite is not there any more when a launch ends. */
TESTS(a_wrong_output_amid_a_resident_run_is_found_where_it_is_verified, 2) {
  static const char *const backends[] = {"sim", "cpu"};
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(increment);
  prem_kernel wrong = *schedule->tasks[0].definition;
  wrong.compute = compute_wrong_in_the_middle;
  schedule->tasks[0].definition = &wrong;
  session = open_on(backends[_i], schedule);
  options.modes[0] = PREM_MODE_TT;
  options.mode_count = 1;
  options.sampling = (prem_sampling){.scenario = PREM_RESIDENT, .samples = ALL_OF_THEM};
  options.mix_disturbed = true;           /* cores may be shared here */
  verify_resident(0, 10, true);           /* launches end with the 5th, 10th, ... */
  verify_resident(5, 10, true);           /* the same */
  verify_resident(1, ALL_OF_THEM, false); /* each */
  verify_resident(3, 17, false);          /* 3rd, 6th, ... 24th, ... 50th */
  verify_resident(4, 13, false);          /* 4th, 8th, ... 24th, ... 44th, 47th, 50th */
  verify_resident(ALL_OF_THEM, 10, true); /* no fewer launches than without */
}

static int launches;
static prem_status ended_by;

/* The third launch ends behind three of its five hyperperiods. */
static prem_status run_interrupted(void *state, const prem_run_request *request, prem_trace *trace,
                                   prem_diag *to) {
  prem_run_request shorter = *request;
  if (++launches < 3)
    return prem_backend_sim.run(state, request, trace, to);
  shorter.hyperperiods = 3;
  const prem_status status = prem_backend_sim.run(state, &shorter, trace, to);
  return status == PREM_OK ? ended_by : status;
}

/* Nor one in which the machine failed; what both had measured counts. */
TESTS(an_interrupted_launch_is_not_verified, 2) {
  static prem_backend backend; /* the session outlives the test */
  launches = 0;
  ended_by = _i ? PREM_ERR_MACHINE : PREM_ERR_INTERRUPTED;
  backend = prem_backend_sim;
  backend.run = run_interrupted;
  reopen(increment);
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.mode_count = 1;
  options.sampling = (prem_sampling){.scenario = PREM_RESIDENT, .samples = ALL_OF_THEM};
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), ended_by);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->samples, 5 + 5 + 3);
  ck_assert_int_eq(row->hyperperiods, 5 + 5 + 3);
  ck_assert_int_eq(row->verified_hyperperiods, 2);
  ck_assert(row->output_ok);
}

TEST(what_is_discarded_or_relaunched_is_told_of_what_was_verified) {
  reopen(increment);
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].hyperperiods, 7); /* two discarded, all of them verified */
  ck_assert_int_eq(result->rows[0].verified_hyperperiods, 7);
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.verify_every = 2;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].hyperperiods, 5 * 3); /* five launches for five that count */
  ck_assert_int_eq(result->rows[0].verified_hyperperiods, 5);
}

static void compute_once(const void *params, const prem_view *views) {
  static int runs;
  if (++runs <= 2) /* the two tiles of the first run */
    for (int32_t i = 0; i < views[1].extent[3]; ++i)
      ((float *)views[1].data)[i] = ((const float *)views[0].data)[i] + 1.0F;
  else
    memset(views[1].data, 0, sizeof(float) * (size_t)views[1].extent[3]);
  (void)params;
}

TEST(an_output_of_an_earlier_run_does_not_pass) {
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(increment);
  prem_kernel forgetful = *schedule->tasks[0].definition;
  forgetful.compute = compute_once;
  schedule->tasks[0].definition = &forgetful;
  session = open_on("sim", schedule);
  options.mode_count = 1;
  options.sampling.discard = 0;
  options.sampling.samples = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert(result->rows[0].output_ok);
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert(!result->rows[0].output_ok);
}
