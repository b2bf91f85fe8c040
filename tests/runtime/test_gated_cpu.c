/* SPDX-License-Identifier: Apache-2.0 */
/* Best-effort tasks on the host: threads of their own that stand back at the gate, and end with the
 * run, however it ends. */
/* ctest: threads timing */
#include <signal.h>
#include <sys/time.h>

#include "runtime/core/best_effort.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static volatile sig_atomic_t stop;

/* A filter each millisecond, and a load on so many blocks whose copies have such a bound. */
static prem_schedule *filter_and_load(int32_t loads, int64_t bound_ns) {
  return prepared_schedule(text(
      "version = 1; name = \"t\"; platform: { blocks = %d; clock_step_ns = 1L;"
      "  resources = ( { name = \"memory\"; capacity = 1; } ); best_effort: { buffers = 2; }; };"
      "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ 32, 64 ]; fill = \"random\"; seed "
      "= "
      "7; }, { name = \"stream\"; type = \"f32\"; shape = [ 65536 ]; fill = \"random\"; seed = 8; "
      "} );"
      "tasks = ( { name = \"filter\"; kernel = \"conv2d\"; blocks = [ 0 ]; tile = [ 32, 64 ];"
      "  arrays: { in = \"image\"; out = \"new\"; }; period_ns = 1000000L;"
      "  prefetch: { wcet_ns = 100000L; }; compute: { wcet_ns = 100000L; };"
      "  writeback: { wcet_ns = 100000L; }; },"
      "{ name = \"load\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = "
      "\"1-%d\";"
      "  tile = [ 4096 ]; arrays: { in = \"stream\"; out = \"new\"; };"
      "  prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = 20000L; };"
      "  writeback: { wcet_ns = %lldL; }; } );",
      loads + 1, loads, (long long)bound_ns, (long long)bound_ns));
}

static prem_trace *trace_of(const prem_session *session, int64_t hyperperiods) {
  prem_trace *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, hyperperiods, 200000, &trace), PREM_OK);
  return trace;
}

static void run_for(prem_session *session, prem_mode mode, int64_t hyperperiods,
                    prem_trace *trace) {
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {.mode = mode, .hyperperiods = hyperperiods};
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  if (prem_session_run(session, &request, trace, diag) != PREM_OK)
    abort_with("run", diag);
}

/* The filter's job of a window had ended: all that the window was for. */
static bool was_over(const prem_trace *critical, int64_t hyperperiod, int64_t at_ns) {
  return hyperperiod < critical->hyperperiods && critical->job_end_ns[hyperperiod] <= at_ns;
}

/* A phase's start is the reading that the gate let in, so this holds on a busy machine as well.
 * Returns how many began in a window that was over. */
static int64_t assert_let_in(const prem_schedule *schedule, const prem_session *session,
                             const prem_trace *critical) {
  int64_t early = 0;
  const prem_trace *trace = critical->best_effort->trace;
  const prem_schedule *beside = prem_session_best_effort(session);
  const prem_plan *plan = schedule->plan;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    const int64_t ahead_ns = prem_ahead_ns(beside, &beside->tasks[r->task], (prem_phase)r->phase);
    const int64_t epoch_ns = r->start_ns / plan->hyperperiod_ns * plan->hyperperiod_ns;
    for (int32_t w = 0; ahead_ns > 0 && w < 2 * plan->closed_count; ++w) {
      const prem_closed_window *window = &plan->closed[w % plan->closed_count];
      const int64_t at_ns = epoch_ns + w / plan->closed_count * plan->hyperperiod_ns;
      if (r->start_ns >= at_ns + window->end_ns ||
          r->start_ns + ahead_ns <= at_ns + window->start_ns)
        continue;
      ck_assert(was_over(critical, at_ns / plan->hyperperiod_ns, r->start_ns));
      ++early;
    }
  }
  return early;
}

static void run_both(int32_t loads) {
  OWNED(prem_schedule) *schedule = filter_and_load(loads, 20000);
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 30);
  prem_verdict verdict;
  for (int turn = 0; turn < 4; ++turn) {
    const prem_mode mode = turn % 2 ? PREM_MODE_FREE : PREM_MODE_TT;
    run_for(session, mode, 30, trace);
    ck_assert_int_eq(trace->hyperperiods, 30);
    ck_assert_int_eq(trace->best_effort->gated, mode == PREM_MODE_TT);
    ck_assert_int_gt(trace->best_effort->length_ns, 29000000);
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert(verdict.ok);
    if (mode == PREM_MODE_TT)
      assert_let_in(schedule, session, trace);
    else
      ck_assert_int_eq(trace->best_effort->counts[0].waits, 0);
  }
}

TEST(they_run_beside_the_others) {
  run_both(1);
  run_both(3);
}

/* The filter takes some microseconds of the 300 that its windows are long together; its last one is
 * over then, while the others wait for the job's end. */
TEST(a_window_is_over_when_its_job_has_ended) {
  OWNED(prem_schedule) *schedule = filter_and_load(1, 20000);
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 50);
  int64_t early = 0;
  for (int turn = 0; turn < 200 && early == 0; ++turn) {
    run_for(session, PREM_MODE_TT, 50, trace);
    early = assert_let_in(schedule, session, trace);
  }
  ck_assert_int_gt(early, 0);
}

/* A bound of 1 ns lets copies begin right before a window; it cannot hold. */
TEST(what_outlives_its_bound_is_counted_and_named) {
  OWNED(prem_schedule) *schedule = filter_and_load(1, 1);
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 50);
  const prem_best_effort_counts *counts = &trace->best_effort->counts[0];
  for (int turn = 0; turn < 200 && counts->overruns == 0; ++turn)
    run_for(session, PREM_MODE_TT, 50, trace);
  ck_assert_int_gt(counts->overruns, 0);
  ck_assert_int_gt(counts->longest.by_ns, 0);
  ck_assert_int_eq(counts->longest.block, 1);
  ck_assert_str_eq(prem_session_critical(session)->tasks[counts->longest.into].name, "filter");
  bool is_window = false;
  for (int32_t w = 0; w < schedule->plan->closed_count; ++w)
    is_window |= counts->longest.at_ns % schedule->plan->hyperperiod_ns ==
                 schedule->plan->closed[w].start_ns;
  ck_assert(is_window);
}

static void stop_now(int number) {
  (void)number;
  stop = 1;
}

/* On a busy machine it takes a while until anything has been done. */
static void stop_a_run(prem_session *session, prem_trace *trace) {
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 60000, .stop = &stop};
  int64_t after_us = 50000;
  signal(SIGALRM, stop_now);
  do {
    after_us *= 2;
    stop = 0;
    const struct itimerval once = {.it_value = {after_us / 1000000, after_us % 1000000}};
    ck_assert_int_eq(setitimer(ITIMER_REAL, &once, NULL), 0);
    ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_ERR_INTERRUPTED);
    ck_assert_int_lt(trace->hyperperiods, 60000);
  } while (trace->best_effort->counts[0].tiles == 0 && after_us < 10000000);
}

TEST(what_was_measured_is_kept_when_the_run_is_stopped) {
  OWNED(prem_schedule) *schedule = filter_and_load(2, 20000);
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 60000);
  stop_a_run(session, trace);
  ck_assert_int_gt(trace->best_effort->length_ns, 0);
  ck_assert_int_gt(trace->best_effort->counts[0].tiles, 0);
  /* and the session goes on */
  run_for(session, PREM_MODE_TT, 5, trace);
  ck_assert_int_eq(trace->hyperperiods, 5);
}

TEST(a_mode_without_phases_says_that_it_runs_none) {
  OWNED(prem_schedule) *schedule = filter_and_load(1, 20000);
  OWNED(prem_session) *session = open_on("cpu", schedule);
  OWNED(prem_trace) *trace = trace_of(session, 1);
  const prem_run_request request = {.mode = PREM_MODE_LEGACY, .hyperperiods = 1};
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_ERR_UNAVAILABLE);
  run_for(session, PREM_MODE_TT, 1, trace);
}
