/* SPDX-License-Identifier: Apache-2.0 */
/* Modes compared on the simulator: what the row of each says of its runs. */
/* ctest: threads */
#include <inttypes.h>

#include "runtime/core/backend.h"
#include "tests/common/compared.h"
#include "tests/common/suite.h"

GROUP("compare", .set_up = set_up, .tear_down = tear_down);

TEST(rows_come_in_the_order_asked_for) {
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->row_count, 2);
  ck_assert_str_eq(result->rows[0].label, "free");
  ck_assert_str_eq(result->rows[1].label, "tt");
  ck_assert_str_eq(result->schedule_name, "pair");
  ck_assert_int_eq(result->hyperperiod_ns, 800);
  ck_assert_int_eq(result->late_ns, 1);
  ck_assert(!result->interrupted);
  for (int i = 0; i < 2; ++i) {
    ck_assert_str_eq(result->rows[i].backend, "sim");
    ck_assert_int_eq(result->rows[i].samples, 5);
    ck_assert_int_eq(result->rows[i].discarded, 2);
    ck_assert(!result->rows[i].output_checked); /* abstract tasks write nothing */
  }
}

TEST(tt_takes_what_the_plan_says) {
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *tt = &result->rows[1];
  ck_assert_int_eq(tt->makespan_ns.count, 5);
  ck_assert_int_eq(tt->makespan_ns.max, 580);
  ck_assert_int_eq(tt->jitter_ns, 0);
  ck_assert_int_eq(tt->releases, 5 * PHASES_OF_PAIR);
  ck_assert_int_eq(tt->late_releases, 0);
  ck_assert_int_eq(tt->lateness_max_ns, 0);
  ck_assert_int_eq(tt->lateness_hist[0], 5 * PHASES_OF_PAIR);
  ck_assert_int_eq(tt->overruns, 0);
  ck_assert_int_eq(tt->violations_certain + tt->violations_possible, 0);
  ck_assert_int_eq(tt->violations_checked, 5);
  ck_assert_int_eq(tt->trace_lost, 0);
  ck_assert_int_eq(tt->tasks[0].response_ns.count, 10);
  ck_assert_int_eq(tt->tasks[0].response_ns.min, 180);
  ck_assert_int_eq(tt->tasks[0].response_ns.max, 180);
  ck_assert_int_eq(tt->tasks[1].response_ns.max, 280); /* 380 minus its release at 100 */
  ck_assert_int_eq(tt->tasks[0].published_ns, -1);
  ck_assert_int_eq(tt->tasks[1].published_ns, 500);
  ck_assert_int_eq(tt->tasks[1].wcet_ns[PREM_PREFETCH], 100);
  ck_assert_int_eq(tt->tasks[1].phase[PREM_PREFETCH].duration_max_ns, 100);
  ck_assert_int_eq(tt->tasks[1].phase[PREM_PREFETCH].count, 5);
}

TEST(free_shows_interference_and_violations) {
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->releases, 0);
  ck_assert_int_eq(row->lateness_max_ns, INT64_MIN);
  ck_assert_int_eq(row->violations_certain, 5);
  ck_assert_int_eq(row->violations_checked, 5);
  ck_assert_int_eq(row->tasks[0].response_ns.max, 210);
  ck_assert_int_eq(row->tasks[0].response_ns.min, 180); /* its second job is alone */
  ck_assert_int_eq(row->tasks[0].phase[PREM_WRITEBACK].duration_max_ns, 60);
  ck_assert_int_eq(row->tasks[1].phase[PREM_PREFETCH].duration_max_ns, 130);
}

TEST(samples_are_kept_in_order) {
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->job_count, 3);
  for (int64_t s = 0; s < row->samples; ++s) {
    ck_assert_int_eq(row->samples_ns[s], 580);
    ck_assert_int_eq(row->response_samples_ns[s * 3], 210);
    ck_assert_int_eq(row->response_samples_ns[s * 3 + 1], 180);
    ck_assert_int_eq(row->response_samples_ns[s * 3 + 2], 210); /* 310 minus 100 */
  }
}

TEST(the_example_holds_one_counted_run) {
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_trace *example = result->rows[1].example;
  ck_assert_ptr_nonnull(example);
  ck_assert_int_eq(example->record_count, PHASES_OF_PAIR);
  for (int64_t i = 1; i < example->record_count; ++i)
    ck_assert_int_le(example->records[i - 1].start_ns, example->records[i].start_ns);
}

/* A launch of two hyperperiods that do not count and some that do, with room for so many records:
 * the example is made of those that count, and without any it is the first hyperperiod's. */
TEST(an_example_has_what_there_is_room_for) {
  options.mode_count = 1;
  options.modes[0] = PREM_MODE_TT;
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 12;
  for (int64_t room = 1; room <= 4 * PHASES_OF_PAIR; ++room) {
    options.sampling.max_records = room;
    ck_assert_int_eq(compare(), PREM_OK);
    const prem_row *row = &result->rows[0];
    const int64_t counted = room - 2 * PHASES_OF_PAIR;
    ck_assert_ptr_nonnull(row->example);
    ck_assert_int_eq(row->example_run, counted > 0 ? 2 : 0);
    ck_assert_msg(row->example->record_count <= (counted > 0 ? counted : 0),
                  "%" PRId64 " of %" PRId64, row->example->record_count, counted);
    ck_assert_int_eq(row->example->record_count > 0, counted > 0);
  }
}

TEST(resident_hyperperiods_are_samples) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 23;
  ck_assert_int_eq(compare(), PREM_OK);
  for (int i = 0; i < 2; ++i) {
    const prem_row *row = &result->rows[i];
    ck_assert_int_eq(row->samples, 23);
    ck_assert_int_eq(row->discarded, 10 * 2); /* two of each of the ten launches */
    ck_assert_int_eq(row->makespan_ns.min, 580);
    ck_assert_int_eq(row->makespan_ns.max, 580);
    ck_assert_int_eq(row->violations_checked, 23);
    ck_assert_int_eq(row->tasks[1].response_ns.count, 23);
    ck_assert_int_eq(row->tasks[1].phase[PREM_COMPUTE].count, 23);
    ck_assert_int_ge(row->example->records[0].hyperperiod, 2);
  }
  ck_assert_int_eq(result->rows[0].violations_certain, 23);
  ck_assert_int_eq(result->rows[1].tasks[1].response_ns.max, 280);
}

TEST(times_alone_are_the_same_times) {
  options.times_only = true;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *row = &result->rows[0];
  ck_assert_int_eq(row->makespan_ns.count, 5);
  ck_assert_int_eq(row->tasks[0].response_ns.max, 210);
  ck_assert_int_eq(row->tasks[0].phase[PREM_WRITEBACK].duration_max_ns, 60);
  ck_assert_int_eq(row->violations_checked, 0);
  ck_assert_ptr_null(row->example);
}

/* ---- raw records ---------------------------------------------------------------------------- */

TEST(without_room_counts_are_kept_and_losses_told) {
  options.sampling.max_records = 0;
  ck_assert_int_eq(compare(), PREM_OK);
  const prem_row *tt = &result->rows[1];
  ck_assert_int_eq(tt->trace_lost, 5 * PHASES_OF_PAIR);
  ck_assert_int_eq(tt->releases, 5 * PHASES_OF_PAIR);
  ck_assert_int_eq(tt->violations_checked, 0);
  ck_assert_ptr_null(tt->example);
}

TEST(incomplete_hyperperiods_do_not_count_as_judged) {
  options.sampling.scenario = PREM_RESIDENT;
  options.sampling.samples = 1;
  options.sampling.discard = 3;
  options.sampling.max_records = 2 * PHASES_OF_PAIR;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].samples, 1);
  ck_assert_int_eq(result->rows[0].violations_checked, 0);
  ck_assert_int_eq(result->rows[0].trace_lost, 2 * PHASES_OF_PAIR);
}

/* ---- which rule is promised ----------------------------------------------------------------- */

static void expect_exclusivity(prem_exclusivity planned, prem_exclusivity when_free) {
  options.sampling.discard = 0;
  options.sampling.samples = 1;
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].exclusivity, when_free);
  ck_assert_int_eq(result->rows[1].exclusivity, planned);
}

TEST(exclusivity_follows_from_the_plan) {
  expect_exclusivity(PREM_EXCLUSIVE_BLOCK, PREM_EXCLUSIVE_NONE);
  prem_resource *memory = &schedule->platform.resources[0];
  memory->per_task = true;
  expect_exclusivity(PREM_EXCLUSIVE_GANG, PREM_EXCLUSIVE_NONE);
  memory->capacity = 2;
  expect_exclusivity(PREM_EXCLUSIVE_NONE, PREM_EXCLUSIVE_NONE);
  for (int t = 0; t < 2; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      schedule->tasks[t].phase[p].demand[0] *= 2;
  memory->per_task = false;
  expect_exclusivity(PREM_EXCLUSIVE_BLOCK, PREM_EXCLUSIVE_NONE); /* any two ask for too much */
  schedule->tasks[1].phase[PREM_WRITEBACK].busy_ns = 20;
  expect_exclusivity(PREM_EXCLUSIVE_REGULATED, PREM_EXCLUSIVE_NONE);
}

/* ---- launches ------------------------------------------------------------------------------- */

/* From the call to the common start, in every mode. The simulator's host takes no time: it has
 * none. */
TEST(each_launch_that_counts_has_its_time) {
  reopen(increment);
  ck_assert_int_eq(compare(), PREM_OK);
  ck_assert_int_eq(result->rows[0].launch_ns.count, 0);
  prem_session_close(session);
  session = open_on("cpu", schedule);
  options.modes[2] = PREM_MODE_LOCK;
  options.modes[3] = PREM_MODE_LEGACY;
  options.mode_count = 4;
  for (int resident = 0; resident < 2; ++resident) {
    options.sampling.scenario = resident ? PREM_RESIDENT : PREM_RELAUNCH;
    options.sampling.samples = resident ? 20 : 5;
    prem_result_free(result);
    ck_assert_int_eq(
        prem_compare(session, schedule, prem_backend_find("cpu"), &options, &result, diag),
        PREM_OK);
    for (int i = 0; i < options.mode_count; ++i) {
      ck_assert_int_eq(result->rows[i].launch_ns.count, resident ? 10 : 5);
      ck_assert_int_gt(result->rows[i].launch_ns.min, 0);
    }
  }
}

/* ---- what a backend tells beside its runs --------------------------------------------------- */

/** Takes so long as free does, and says how it was run. */
static prem_status run_copy(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *to) {
  prem_run_request moved = *request;
  if (moved.mode == PREM_MODE_COPY)
    moved.mode = PREM_MODE_FREE;
  return prem_backend_sim.run(state, &moved, trace, to);
}

static const char *copy_mode_note(const void *state, prem_mode mode) {
  (void)state;
  return mode == PREM_MODE_COPY ? "by hand" : NULL;
}

TEST(what_computes_nothing_has_no_responses_and_no_verdict) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.run = run_copy;
  backend.mode_note = copy_mode_note;
  backend.modes |= 1u << PREM_MODE_COPY;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  options.modes[1] = PREM_MODE_COPY;
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  const prem_row *free_run = &result->rows[0], *copy = &result->rows[1];
  ck_assert_str_eq(free_run->mode_note, "");
  ck_assert_str_eq(copy->mode_note, "by hand");
  ck_assert_int_eq(copy->makespan_ns.max, 580);
  ck_assert_int_eq(copy->padded.at[PREM_PADDING_LONGEST].published_ns, -1);
  ck_assert_int_ne(free_run->padded.at[PREM_PADDING_LONGEST].published_ns, -1);
  ck_assert(!copy->output_checked);
  for (int t = 0; t < 2; ++t) {
    ck_assert_int_eq(copy->tasks[t].response_ns.count, 0);
    ck_assert_int_eq(copy->tasks[t].padded.at[PREM_PADDING_LONGEST].published_ns, -1);
    ck_assert_int_eq(copy->tasks[t].published_ns, -1);
  }
}

static prem_launch_candidate tried[] = {{.task = 0, .way = "one block a tile", .alone_ns = 7},
                                        {.task = 1, .way = "one thread", .chosen = true}};

static const prem_launch_search *two_ways(const void *state) {
  static const prem_launch_search search = {tried, 2};
  (void)state;
  return &search;
}

TEST(ways_that_were_tried_outlive_the_session) {
  static prem_backend backend;
  backend = prem_backend_sim;
  backend.launch_search = two_ways;
  prem_session_close(session);
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  ck_assert_int_eq(prem_compare(session, schedule, &backend, &options, &result, diag), PREM_OK);
  ck_assert_int_eq(result->launch_search.candidate_count, 2);
  ck_assert_ptr_ne(result->launch_search.candidates, tried);
  for (int i = 0; i < 2; ++i) {
    const prem_launch_candidate *found = &result->launch_search.candidates[i];
    ck_assert_int_eq(found->task, tried[i].task);
    ck_assert_str_eq(found->way, tried[i].way);
    ck_assert_int_eq(found->alone_ns, tried[i].alone_ns);
    ck_assert_int_eq(found->chosen, tried[i].chosen);
  }
}
