/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timing */
/* Errands on the GPU: many threads send and collect while runs come and go, are stopped, and fail.
 * Exit status 77 without a GPU, or in a build without the backend. */
#ifdef EMULATED_GPU /* some thousand times as slow */
enum {
  IS_SLOW = 1,
  CROWD_EACH = 25,
  CROWD_HYPERPERIODS = 4,
  CROWD_PERIOD_NS = 200000256,
  CROWD_CLOCK_NS = 256,
  GROW_RUN_NS = 800000000
};
#else
enum {
  IS_SLOW = 0,
  CROWD_EACH = 3000,
  CROWD_HYPERPERIODS = 200,
  CROWD_PERIOD_NS = 1000000,
  CROWD_CLOCK_NS = 32,
  GROW_RUN_NS = 20000000
};
#endif
#define CROWD_EACH  CROWD_EACH
#define GROW_RUN_NS GROW_RUN_NS
enum { GROW_CLOCK_NS = CROWD_CLOCK_NS };

#include <signal.h>
#include <sys/time.h>

#include "tests/common/has_gpu.h"
#ifdef EMULATED_GPU
#include "tests/common/made_tiles.h"
#endif
#include "tests/common/turns.h"
#include "tests/common/verdict.h"

enum { SKIPPED = 77 };

START_TEST(many_threads_send_to_one_block) {
  send_from_many_threads("cuda", 1);
}
END_TEST

START_TEST(many_threads_send_to_some_blocks) {
  send_from_many_threads("cuda", 3);
}
END_TEST

/* Tiles are counted that ended in time, each with what it moved. */
static void assert_tiles_counted(const prem_trace *trace) {
  const prem_best_effort_trace *beside = trace->best_effort;
  int64_t tiles[2] = {0};
  for (int64_t i = 0; i < beside->trace->record_count; ++i) {
    const prem_trace_record *record = &beside->trace->records[i];
    tiles[record->task] += record->phase == PREM_WRITEBACK && record->end_ns <= beside->length_ns;
  }
  for (int32_t t = 0; t < 2 && beside->trace->lost == 0; ++t) {
    ck_assert_int_eq(beside->counts[t].tiles, tiles[t]);
    ck_assert_int_eq(beside->counts[t].bytes, tiles[t] * 2 * TILE * (int64_t)sizeof(float));
  }
}

/* Their tiles are recorded, released when their errand came; and what they wrote is right. */
START_TEST(they_come_by_themselves) {
  enum { COUNT = 60 };
  OWNED(prem_schedule) *schedule = filter_and_servers(2, "");
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  prem_arrival arrivals[COUNT];
  prem_verdict verdict;
  int64_t full = 0, done = 0, tiles = 0;
  for (int32_t i = 0; i < COUNT; ++i)
    arrivals[i] = (prem_arrival){i / 12 * (CROWD_PERIOD_NS / 2), 1 + i % 2, i % 10, 1};
  const prem_run_request request = {.mode = PREM_MODE_TT,
                                    .hyperperiods = HYPERPERIODS,
                                    .arrivals = arrivals,
                                    .arrival_count = COUNT};
  for (int run = 0; run < 20 && (full == 0 || done == 0); ++run) {
    ck_assert_int_eq(prem_session_poison(session), PREM_OK);
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
    assert_counted(trace);
    const prem_best_effort_trace *beside = trace->best_effort;
    done += beside->counts[0].errands.ended[PREM_ERRAND_DONE];
    full += beside->counts[1].errands.full; /* six at once, and room for three */
    ck_assert_int_eq(beside->errand_count,
                     beside->counts[0].errands.sent + beside->counts[1].errands.sent);
    assert_tiles_counted(trace);
    for (int64_t i = 0; i < beside->trace->record_count; ++i) {
      const prem_trace_record *record = &beside->trace->records[i];
      tiles += record->phase == PREM_WRITEBACK;
      ck_assert_int_ge(record->release_ns, 0);
      ck_assert_int_le(record->release_ns, record->ready_ns);
      ck_assert_int_le(record->start_ns, record->end_ns);
    }
    for (int64_t i = 0; i < beside->errand_count; ++i)
      if (beside->errands[i].end == PREM_ERRAND_DONE) {
        ck_assert_int_ge(beside->errands[i].begin_ns, 0);
        ck_assert_int_ge(beside->errands[i].end_ns, beside->errands[i].begin_ns);
      }
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert(verdict.ok);
  }
  ck_assert_int_gt(done, 0);
  ck_assert_int_gt(tiles, 0);
  ck_assert_int_gt(full, 0);
}
END_TEST

/* Eighty tiles at once, and a deadline that a few of them can keep. */
START_TEST(what_comes_too_late_has_expired) {
  const char *deadline = text("deadline_ns = %lldL;", CROWD_PERIOD_NS / 10LL);
  OWNED(prem_schedule) *schedule = filter_and_servers(2, deadline);
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS};
  prem_errand errand;
  int32_t ended[PREM_ERRAND_ENDS] = {0};
  for (int32_t i = 0; i < 8; ++i) {
    ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_OK);
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
  }
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
  assert_counted(trace);
  for (int32_t i = 0; i < 8; ++i) {
    ck_assert_int_eq(prem_errand_collect(session, 0, &errand), PREM_OK);
    ++ended[errand.end];
    if (errand.end == PREM_ERRAND_EXPIRED)
      ck_assert_int_ge(errand.end_ns, CROWD_PERIOD_NS / 10);
  }
  if (IS_SLOW) { /* a GPU may be through before it is too late */
    ck_assert_int_gt(ended[PREM_ERRAND_EXPIRED], 0);
    ck_assert_int_lt(trace->best_effort->counts[0].tiles, 80);
  }
  for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
    ck_assert_int_eq(trace->best_effort->counts[0].errands.ended[e], ended[e]);
}
END_TEST

START_TEST(runs_end_and_errands_with_them) {
  OWNED(prem_schedule) *schedule = filter_and_servers(1, "");
  end_with_their_runs("cuda", schedule, 1);
}
END_TEST

START_TEST(the_greater_priority_goes_first) {
  go_by_priority("cuda");
}
END_TEST

#ifdef EMULATED_GPU /* whose executives have these kernels */
START_TEST(tiles_have_the_turns_that_they_want) {
  count_queens("cuda", 5, 1, 1000, 10);
  count_queens("cuda", 6, 2, 1000, 4);
}
END_TEST

/* Its errands are one block's as a whole, or of two. */
START_TEST(one_that_has_too_few_is_not_done) {
  count_queens("cuda", 6, 1, 2, -1);
  count_queens("cuda", 6, 2, 2, -1);
  count_queens("cuda", 6, 1, 1, -1);
}
END_TEST

START_TEST(others_go_between_two_turns) {
  go_between_turns("cuda");
}
END_TEST

START_TEST(a_deadline_comes_between_two_turns) {
  expire_between_turns("cuda");
}
END_TEST

START_TEST(each_tile_is_made_once) {
  make_each_tile_once("cuda");
}
END_TEST

START_TEST(no_more_tiles_are_made_than_may_be) {
  make_no_more_than_may_be("cuda");
}
END_TEST

START_TEST(tiles_make_tiles) {
  make_random_tiles("cuda", 1, 8);
  make_random_tiles("cuda", 3, 40);
}
END_TEST

START_TEST(what_tiles_make_is_right) {
  make_what_is_right("cuda");
}
END_TEST
#endif

START_TEST(a_server_runs_without_a_critical_task) {
  OWNED(prem_schedule) *schedule = server_alone("");
  OWNED(prem_schedule) *loaded = server_alone(LOAD_ALONE);
  end_with_their_runs("cuda", schedule, 0);
  run_with_load("cuda", loaded);
}
END_TEST

static volatile sig_atomic_t stop;
static _Atomic int64_t done; /* errands that were collected */

/* Once a second: something is done, or it never will be. */
static void stop_when_done(int number) {
  enum { MOST = 50 };
  static _Atomic int32_t times;
  (void)number;
  if (done > 0 || ++times == MOST)
    stop = 1;
}

/* Four threads send more than there is room for while the run is stopped: what was measured is
 * there, and each errand has ended once. */
static void *storm(void *argument) {
  prem_session *session = argument;
  prem_errand errand;
  while (!stop) {
    if (prem_errand_acquire(session, 1, &errand) == PREM_OK &&
        prem_errand_send(session, &errand) != PREM_OK)
      prem_errand_release(session, &errand);
    if (prem_errand_collect(session, 0, &errand) == PREM_OK) {
      done += errand.end == PREM_ERRAND_DONE;
      prem_errand_release(session, &errand);
    }
  }
  return NULL;
}

START_TEST(a_storm_ends_with_a_run_that_is_stopped) {
  enum { MANY = 60000 };
  OWNED(prem_schedule) *schedule = filter_and_servers(2, "");
  OWNED(prem_session) *session = open_on("cuda", schedule);
  prem_trace *trace = NULL;
  pthread_t threads[SENDERS];
  prem_errand errand;
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = MANY, .stop = &stop};
  ck_assert_int_eq(prem_session_trace_new(session, MANY, 1000, &trace), PREM_OK);
  const struct itimerval each = {.it_value = {IS_SLOW ? 6 : 1, 0}, .it_interval = {1, 0}};
  const struct itimerval never = {0};
  signal(SIGALRM, stop_when_done);
  for (int32_t i = 0; i < SENDERS; ++i)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, storm, session), 0);
  ck_assert_int_eq(setitimer(ITIMER_REAL, &each, NULL), 0);
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_ERR_INTERRUPTED);
  ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
  for (int32_t i = 0; i < SENDERS; ++i)
    ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
  assert_counted(trace);
  ck_assert_int_gt(trace->best_effort->counts[0].errands.ended[PREM_ERRAND_DONE], 0);
  ck_assert_int_gt(trace->best_effort->counts[0].errands.full, 0);
  while (prem_errand_collect(session, 0, &errand) == PREM_OK)
    ck_assert_int_eq(prem_errand_release(session, &errand), PREM_OK);
  prem_trace_free(trace);
}
END_TEST

/* A filter of short phases, so that waits may be short, and a server of long computes, whose
 * errands take longer than a wait. */
static prem_schedule *filter_and_patient_server(void) {
  const long long period_ns = CROWD_PERIOD_NS, phase_ns = CROWD_CLOCK_NS, bound_ns = period_ns / 50;
  return prepared_schedule(text(
      "version = 1; name = \"t\"; platform: { blocks = 3; clock_step_ns = %dL; block_threads = "
      "128; best_effort: { buffers = 1; block_threads = 128; }; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; }, { name = "
      "\"a\"; type = \"f32\"; shape = [ 262144 ]; } ); tasks = ( { name = \"filter\"; kernel = "
      "\"vector_increment\"; blocks = [ 0 ]; tile = [ 64 ]; arrays: { in = \"x\"; out = \"new\"; };"
      "  period_ns = %lldL; prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = %lldL; };"
      "  writeback: { wcet_ns = %lldL; }; },"
      "{ name = \"s\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = [ 1, 2 ];"
      "  tile = [ 8192 ]; arrays: { in = \"a\"; out = \"new\"; }; server: { capacity = 8; };"
      "  prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = 20000L; };"
      "  writeback: { wcet_ns = %lldL; }; } );",
      (int)CROWD_CLOCK_NS, period_ns, phase_ns, phase_ns, phase_ns, bound_ns, bound_ns));
}

/* By a limit of 1 ns a wait is too long, of the filter or for a compute of the server: what is not
 * done ends as a fault, or is aborted, and the application has it. */
START_TEST(a_fault_ends_all) {
  OWNED(prem_schedule) *schedule = filter_and_patient_server();
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = trace_of(session);
  const prem_run_request request = {
      .mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS, .timeout_ns = 1};
  prem_errand errand;
  int32_t ended[PREM_ERRAND_ENDS] = {0}, all = 0;
  for (int32_t i = 0; i < 8; ++i) {
    ck_assert_int_eq(prem_errand_acquire(session, 1, &errand), PREM_OK);
    ck_assert_int_eq(prem_errand_send(session, &errand), PREM_OK);
  }
  const prem_status status = prem_session_run(session, &request, trace, NULL);
  if (IS_SLOW) /* a GPU may be so quick that no wait is looked at */
    ck_assert_int_eq(status, PREM_ERR_MACHINE);
  for (; prem_errand_collect(session, 0, &errand) == PREM_OK; ++all)
    ++ended[errand.end];
  ck_assert_int_eq(all, 8);
  ck_assert(status == PREM_OK || ended[PREM_ERRAND_FAULT] + ended[PREM_ERRAND_ABORTED] > 0);
  ck_assert_int_eq(trace->best_effort->counts[0].errands.sent, 8);
  for (int e = 0; e < PREM_ERRAND_ENDS; ++e)
    ck_assert_int_eq(trace->best_effort->counts[0].errands.ended[e], ended[e]);
}
END_TEST

int main(void) {
  if (!has_gpu()) {
    printf("skipped: no GPU, or a build without it\n");
    return SKIPPED;
  }
  Suite *suite = suite_create("cuda_errands");
  TCase *cases = tcase_create("cuda_errands");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, they_come_by_themselves);
  tcase_add_test(cases, what_comes_too_late_has_expired);
  tcase_add_test(cases, runs_end_and_errands_with_them);
  tcase_add_test(cases, the_greater_priority_goes_first);
#ifdef EMULATED_GPU
  tcase_add_test(cases, tiles_have_the_turns_that_they_want);
  tcase_add_test(cases, one_that_has_too_few_is_not_done);
  tcase_add_test(cases, others_go_between_two_turns);
  tcase_add_test(cases, a_deadline_comes_between_two_turns);
  tcase_add_test(cases, each_tile_is_made_once);
  tcase_add_test(cases, no_more_tiles_are_made_than_may_be);
  tcase_add_test(cases, tiles_make_tiles);
  tcase_add_test(cases, what_tiles_make_is_right);
#endif
  tcase_add_test(cases, a_server_runs_without_a_critical_task);
  tcase_add_test(cases, a_fault_ends_all);
  tcase_add_test(cases, a_storm_ends_with_a_run_that_is_stopped);
  tcase_add_test(cases, many_threads_send_to_one_block);
  tcase_add_test(cases, many_threads_send_to_some_blocks);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
