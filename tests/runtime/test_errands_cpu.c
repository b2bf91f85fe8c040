/* SPDX-License-Identifier: Apache-2.0 */
/* Errands on the host: many threads send and collect while runs come and go. Each errand that was
 * sent is collected once, with its own data. */
/* ctest: threads timing */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tests/common/made_tiles.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"
#include "tests/common/turns.h"

TEST(many_threads_send_to_one_block) {
  send_from_many_threads("cpu", 1);
}

TEST(many_threads_send_to_some_blocks) {
  send_from_many_threads("cpu", 3);
}

TEST(they_come_by_themselves) {
  OWNED(prem_schedule) *schedule = filter_and_servers(2, "deadline_ns = 60000L;");
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  prem_arrival arrivals[60];
  prem_verdict verdict;
  int64_t expired = 0, full = 0;
  for (int32_t i = 0; i < 60; ++i)
    arrivals[i] = (prem_arrival){i / 12 * 2000000, 1 + i % 2, i % 10, 1};
  const prem_run_request request = {.mode = PREM_MODE_TT,
                                    .hyperperiods = HYPERPERIODS,
                                    .arrivals = arrivals,
                                    .arrival_count = 60};
  for (int run = 0; run < 200 && (expired == 0 || full == 0); ++run) {
    ck_assert_int_eq(prem_session_poison(session), PREM_OK);
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    const prem_best_effort_counts *counts = trace->best_effort->counts;
    ck_assert_int_le(counts[0].errands.sent + counts[0].errands.full, 30);
    expired += counts[0].errands.ended[PREM_ERRAND_EXPIRED];
    full += counts[1].errands.full; /* six at once, and room for three */
    ck_assert_int_eq(trace->best_effort->errand_count,
                     counts[0].errands.sent + counts[1].errands.sent);
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert(verdict.ok);
  }
  ck_assert_int_gt(expired, 0);
  ck_assert_int_gt(full, 0);
}

TEST(runs_end_and_errands_with_them) {
  OWNED(prem_schedule) *schedule = filter_and_servers(1, "");
  end_with_their_runs("cpu", schedule, 1);
}

TEST(a_server_runs_without_a_critical_task) {
  OWNED(prem_schedule) *schedule = server_alone("");
  OWNED(prem_schedule) *loaded = server_alone(LOAD_ALONE);
  end_with_their_runs("cpu", schedule, 0);
  run_with_load("cpu", loaded);
}

TEST(the_greater_priority_goes_first) {
  go_by_priority("cpu");
}

/* ---- turns -------------------------------------------------------------------------------------
 */

TEST(tiles_have_the_turns_that_they_want) {
  count_queens("cpu", 8, 2, 1000, 92);
  count_queens("cpu", 8, 2, 2, -1);
  count_queens("sim", 9, 2, 1000, 352);
  count_queens("sim", 6, 2, 1, -1);
}

TEST(others_go_between_two_turns) {
  go_between_turns("cpu");
  go_between_turns("sim");
}

TEST(a_deadline_comes_between_two_turns) {
  expire_between_turns("cpu");
  expire_between_turns("sim");
}

/* ---- tiles that make tiles -------------------------------------------------------------------
 */

TEST(tiles_make_tiles) {
  make_each_tile_once("cpu");
  make_no_more_than_may_be("cpu");
  make_random_tiles("cpu", 4, ROUNDS(400));
  make_what_is_right("cpu");
}

/* ---- a compute that does not return -----------------------------------------------------------
 */

enum { HANGS = 13 };
static _Atomic bool let_go;

static void hang_compute(const void *params, const prem_view *views) {
  const struct timespec nap = {.tv_nsec = 1000000};
  (void)params;
  while (((const float *)views[0].data)[0] == HANGS && !let_go)
    nanosleep(&nap, NULL);
}

static prem_status hang_bind(prem_bind *bind) {
  prem_window window;
  const prem_status status = prem_bind_tile(bind, 1, bind->shape[0], &window);
  if (status != PREM_OK)
    return status;
  bind->window[0] = bind->window[1] = window;
  bind->new_rank[1] = 1;
  for (int d = 0; d < 4; ++d)
    bind->new_shape[1][d] = bind->shape[0][d];
  return PREM_OK;
}

static void hang_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  (void)arrays;
}

static const prem_port hang_ports[] = {{"in", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_F32}};
static const prem_kernel hang_kernel = {.name = "hang",
                                        .summary = "computes nothing, 13 for ever",
                                        .version = 1,
                                        .ports = hang_ports,
                                        .port_count = 2,
                                        .bind = hang_bind,
                                        .compute = hang_compute,
                                        .reference = hang_reference};
static const prem_kernel *const hang_list[] = {&hang_kernel};
static const prem_registry hang_registry = {hang_list, 1};

static prem_schedule *hanging_server(void) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  const char *source =
      "version = 1; name = \"t\"; platform: { blocks = 2; }; arrays = ( { name = \"a\"; type = "
      "\"f32\"; shape = [ 200 ]; }, { name = \"b\"; type = \"f32\"; shape = [ 100 ]; } ); tasks = "
      "( "
      "{ name = \"c\"; kernel = \"hang\"; blocks = [ 0 ]; tile = [ 100 ]; arrays: { in = \"b\"; "
      "out "
      "= \"new\"; }; period_ns = 1000000L; prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = "
      "1000L; }; writeback: { wcet_ns = 1000L; }; }, { name = \"s\"; kernel = \"hang\"; class = "
      "\"best_effort\"; blocks = [ 1 ]; tile = [ 100 ]; arrays: { in = \"a\"; out = \"new\"; }; "
      "server: { capacity = 3; }; prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = 1000L; }; "
      "writeback: { wcet_ns = 1000L; }; } );";
  if (prem_schedule_load_text("t", source, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, &hang_registry, NULL, NULL, diag) != PREM_OK)
    abort_with("hang", diag);
  return schedule;
}

TEST(one_that_never_ends_is_a_fault) {
  OWNED(prem_schedule) *schedule = hanging_server();
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {
      .mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS, .timeout_ns = 200000000};
  prem_errand errand;
  prem_errand_view view;
  int32_t ended[PREM_ERRAND_ENDS] = {0};
  for (int32_t i = 0; i < 3; ++i) {
    ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_OK);
    ck_assert_int_eq(prem_errand_port(session, &errand, "in", &view), PREM_OK);
    ((float *)view.data)[100] = i == 1 ? HANGS : 0; /* its second tile */
    errand.tag = (uint64_t)i;
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
  }
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_MACHINE);
  ck_assert_ptr_nonnull(
      strstr(prem_diag_at(diag, 0)->reason, "block 1: task 's', tile 1, compute"));
  while (prem_errand_collect(session, 0, &errand) == PREM_OK)
    ++ended[errand.end];
  ck_assert_int_eq(ended[PREM_ERRAND_DONE], 1);
  ck_assert_int_eq(ended[PREM_ERRAND_FAULT], 1);
  ck_assert_int_eq(ended[PREM_ERRAND_ABORTED], 1);
  ck_assert_int_eq(trace->best_effort->counts[0].errands.sent, 3);
  let_go = true;
}
