/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timing */
/* An application's own CUDA graph as best effort: begun whole between closed windows, counted, and
 * refused where it cannot be. Exit status 77 without a GPU, or in a build without the backend. */
#include <signal.h>
#include <sys/time.h>

#include "tests/common/needs_gpu.h"
#include "tests/common/running.h"
#include "tests/cuda/attached_work.h"

#ifndef WITH_CUDART /* nobody calls them */
const char *attached_work_new(attached_work *out, bool calls_host) {
  (void)out, (void)calls_host;
  return "a build without the backend";
}
void attached_work_drop_graph(attached_work *work) {
  (void)work;
}
void attached_work_free(attached_work *work) {
  (void)work;
}
#endif

#ifdef EMULATED_GPU
enum { IS_EMULATED = 1 };
#else
enum { IS_EMULATED = 0 };
#endif
/* Times are such that a launch fits between two windows, on an emulated GPU too. */
enum {
  HYPERPERIODS = IS_EMULATED ? 8 : 20,
  LEAST_JOBS = IS_EMULATED ? 0 : HYPERPERIODS / 2,
  PERIOD_NS = IS_EMULATED ? 256000000 : 1024000,
  BOUND_NS = IS_EMULATED ? 240000000 : PERIOD_NS / 2,
  SHORT_NS = IS_EMULATED ? 1000000 : 50000
};

static volatile sig_atomic_t stop;

static void stop_now(int number) {
  (void)number;
  stop = 1;
}

static prem_schedule *beside_a_graph(int bound_ns) {
  return prepared_schedule(text(
      "version = 1; name = \"beside\"; platform: { blocks = 2; clock_step_ns = 32L;"
      "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
      "tasks = ( { name = \"job\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; period_ns = %dL;"
      "  prefetch: { wcet_ns = 96000L; }; compute: { wcet_ns = 9600L; }; },"
      "{ name = \"mine\"; kernel = \"cuda_graph\"; class = \"best_effort\"; blocks = [ 1 ];"
      "  compute: { wcet_ns = %dL; }; } );",
      PERIOD_NS, bound_ns));
}

static prem_status run(prem_session *session, prem_mode mode, prem_trace *trace,
                       int64_t hyperperiods, prem_diag *diag) {
  const prem_run_request request = {.mode = mode, .hyperperiods = hyperperiods, .stop = &stop};
  prem_trace_clear(trace);
  return prem_session_run(session, &request, trace, diag);
}

static attached_work work_of(int64_t ns, bool calls_host) {
  attached_work work;
  const char *reason = attached_work_new(&work, calls_host);
  ck_assert_msg(!reason, "%s", reason);
  *work.ns = ns;
  return work;
}

static void assert_says(const prem_diag *diag, const char *reason) {
  ck_assert_uint_gt(prem_diag_count(diag), 0);
  ck_assert_msg(strstr(prem_diag_at(diag, prem_diag_count(diag) - 1)->reason, reason), "%s",
                prem_diag_at(diag, prem_diag_count(diag) - 1)->reason);
}

/* The caller's graph goes at once: the session has its own. */
TEST(it_begins_whole_between_windows) {
  OWNED(prem_schedule) *schedule = beside_a_graph(BOUND_NS);
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = NULL;
  attached_work work = work_of(SHORT_NS, false);
  ck_assert_int_eq(prem_session_trace_new(session, HYPERPERIODS, 0, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", work.graph, NULL), PREM_OK);
  attached_work_drop_graph(&work);
  for (int again = 0; again < 2; ++again) {
    const prem_best_effort_trace *load = trace->best_effort;
    uint32_t before = *work.runs;
    ck_assert_int_eq(run(session, PREM_MODE_TT, trace, HYPERPERIODS, NULL), PREM_OK);
    ck_assert_int_eq(trace->hyperperiods, HYPERPERIODS);
    ck_assert(load->gated);
    ck_assert_int_gt(load->counts[0].jobs, LEAST_JOBS);
    ck_assert_int_le(load->counts[0].jobs, *work.runs - before);
    ck_assert_int_gt(load->counts[0].waits, 0);
    ck_assert_int_le(load->counts[0].waits, HYPERPERIODS + 1); /* each window stops one */
    if (!IS_EMULATED)
      ck_assert_int_eq(load->counts[0].overruns, 0);
    printf("beside tt: %lld launches, %lld waits, %lld overruns; %s\n",
           (long long)load->counts[0].jobs, (long long)load->counts[0].waits,
           (long long)load->counts[0].overruns, prem_session_mode_note(session, PREM_MODE_TT));
    ck_assert_ptr_nonnull(strstr(prem_session_mode_note(session, PREM_MODE_TT),
                                 "an application's graph, begun whole: alone it takes "));
    before = *work.runs;
    ck_assert_int_eq(run(session, PREM_MODE_FREE, trace, HYPERPERIODS, NULL), PREM_OK);
    ck_assert(!load->gated);
    ck_assert_int_gt(load->counts[0].jobs, LEAST_JOBS);
    ck_assert_int_le(load->counts[0].jobs, *work.runs - before);
    ck_assert_int_eq(load->counts[0].waits, 0);
    ck_assert_int_eq(load->counts[0].overruns, 0);
  }
  prem_session_close(session);
  session = NULL;
  attached_work_free(&work);
}

/* It keeps its bound alone, and takes longer once it is beside the job. */
TEST(what_outlives_its_bound_is_counted) {
  OWNED(prem_schedule) *schedule = beside_a_graph(BOUND_NS);
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = NULL;
  attached_work work = work_of(SHORT_NS, false);
  ck_assert_int_eq(prem_session_trace_new(session, HYPERPERIODS, 0, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", work.graph, NULL), PREM_OK);
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, 2, NULL), PREM_OK);
  *work.ns = PERIOD_NS + PERIOD_NS / 2;
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, HYPERPERIODS, NULL), PREM_OK);
  const prem_best_effort_counts *counts = &trace->best_effort->counts[0];
  ck_assert_int_gt(counts->overruns, 1);
  ck_assert_int_ge(counts->overruns, counts->jobs);
  ck_assert_int_gt(counts->longest.by_ns, PERIOD_NS / 2);
  ck_assert_int_eq(counts->longest.into, 0);
  ck_assert_int_eq(counts->longest.phase, PREM_COMPUTE);
  prem_session_close(session);
  session = NULL;
  attached_work_free(&work);
}

TEST(a_stopped_run_ends_it) {
  enum { MANY = 100000 };
  const struct itimerval soon = {.it_value = {.tv_usec = 300000}};
  OWNED(prem_schedule) *schedule = beside_a_graph(BOUND_NS);
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = NULL;
  attached_work work = work_of(SHORT_NS, false);
  ck_assert_int_eq(prem_session_trace_new(session, MANY, 0, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", work.graph, NULL), PREM_OK);
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, 2, NULL), PREM_OK);
  signal(SIGALRM, stop_now);
  setitimer(ITIMER_REAL, &soon, NULL);
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, MANY, NULL), PREM_ERR_INTERRUPTED);
  ck_assert_int_lt(trace->hyperperiods, MANY);
  stop = 0;
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, 2, NULL), PREM_OK);
  prem_session_close(session);
  session = NULL;
  attached_work_free(&work);
}

TEST(nothing_begins_without_it) {
  OWNED(prem_schedule) *schedule = beside_a_graph(BOUND_NS);
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_trace) *trace = NULL;
  attached_work work = work_of(SHORT_NS, false), calling = work_of(SHORT_NS, true);
  ck_assert_int_eq(prem_session_trace_new(session, 2, 0, &trace), PREM_OK);
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, 2, diag), PREM_ERR_UNAVAILABLE);
  assert_says(diag, "task 'mine' has no graph yet: the application attaches one");
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", NULL, diag), PREM_ERR_ARGUMENT);
  assert_says(diag, "there is no graph");
  ck_assert_int_eq(prem_session_attach_graph(session, "job", work.graph, diag), PREM_ERR_ARGUMENT);
  assert_says(diag, "no task 'job' has kernel = \"cuda_graph\"");
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", calling.graph, diag),
                   PREM_ERR_INVALID);
  assert_says(diag, "a node that is no kernel, copy or set of memory");
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", work.graph, diag), PREM_OK);
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", work.graph, diag), PREM_ERR_ARGUMENT);
  assert_says(diag, "a graph is attached already");
  ck_assert_int_eq(run(session, PREM_MODE_LEGACY, trace, 2, diag), PREM_ERR_UNAVAILABLE);
  assert_says(diag, "mode 'legacy' runs no attached graph");
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, 2, diag), PREM_OK);
  prem_session_close(session);
  session = NULL;
  attached_work_free(&work);
  attached_work_free(&calling);
}

TEST(what_takes_longer_alone_is_refused) {
  OWNED(prem_schedule) *schedule = beside_a_graph(BOUND_NS);
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_trace) *trace = NULL;
  attached_work work = work_of(BOUND_NS, false);
  ck_assert_int_eq(prem_session_trace_new(session, 2, 0, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", work.graph, NULL), PREM_OK);
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, 2, diag), PREM_ERR_UNAVAILABLE);
  assert_says(diag, "; raise wcet_ns, or attach a shorter graph");
  *work.ns = SHORT_NS;
  ck_assert_int_eq(run(session, PREM_MODE_TT, trace, 2, diag), PREM_OK);
  prem_session_close(session);
  session = NULL;
  attached_work_free(&work);
}
