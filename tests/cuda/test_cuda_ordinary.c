/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timing */
/* Modes of ordinary kernels on the GPU: each job ends after its release and after what it follows,
 * stopped runs end, and a graph that is launched before its start waits for it. Exit status 77
 * without a GPU, or in a build without the backend. */
#include <signal.h>
#include <sys/time.h>

#include "runtime/core/best_effort.h"
#include "tests/common/needs_gpu.h"
#include "tests/common/running.h"

#ifdef EMULATED_GPU
enum { IS_EMULATED = 1 };
#else
enum { IS_EMULATED = 0 };
#endif
enum { HYPERPERIODS = 5, TIMED = 200, LAG_NS = 64000, RELEASE_NS = 320000 };

static const prem_mode modes[] = {PREM_MODE_LEGACY, PREM_MODE_LAUNCHED, PREM_MODE_GRAPH,
                                  PREM_MODE_GATED_GRAPH, PREM_MODE_PRIORITY};

static volatile sig_atomic_t stop;

static void stop_now(int number) {
  (void)number;
  stop = 1;
}

/* A task with two jobs, one that follows both, one with a lag, one with a release. */
static const char *text_of_four(void) {
  return text(
      "version = 1; name = \"four\"; platform: { blocks = 1; clock_step_ns = 32L;"
      "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
      "tasks = ( { name = \"twice\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;"
      "  period_ns = 512000L; compute: { wcet_ns = 9600L; }; },"
      "{ name = \"after\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;"
      "  period_ns = 512000L; after = ( { task = \"twice\"; } ); compute: { wcet_ns = 9600L; }; },"
      "{ name = \"lag\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;"
      "  period_ns = 1024000L; compute: { wcet_ns = 9600L; };"
      "  after = ( { task = \"twice\"; instance = \"latest\"; lag_ns = %dL; } ); },"
      "{ name = \"late\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;"
      "  period_ns = 1024000L; release_ns = %dL; compute: { wcet_ns = 9600L; }; } );",
      LAG_NS, RELEASE_NS);
}

/* From S on: of a hyperperiod, in the file's order of tasks. */
static int64_t end_of(const prem_trace *trace, int64_t h, int32_t task, int64_t job) {
  return trace->job_end_ns[h * trace->job_count + trace->first_job[task] + job] -
         trace->epoch_ns[h];
}

static void assert_ends(const prem_trace *trace, prem_mode mode) {
  ck_assert_int_eq(trace->hyperperiods, HYPERPERIODS);
  for (int64_t h = 0; h < trace->hyperperiods; ++h) {
    ck_assert_msg(end_of(trace, h, 0, 0) > 0, "%s", prem_mode_name(mode));
    ck_assert_int_gt(end_of(trace, h, 0, 1), 512000);
    for (int64_t job = 0; job < 2; ++job)
      ck_assert_int_ge(end_of(trace, h, 1, job), end_of(trace, h, 0, job));
    ck_assert_int_gt(end_of(trace, h, 2, 0), end_of(trace, h, 0, 0) + LAG_NS);
    ck_assert_int_gt(end_of(trace, h, 3, 0), RELEASE_NS);
  }
}

TEST(jobs_end_after_what_they_wait_for) {
  OWNED(prem_schedule) *schedule = prepared_schedule(text_of_four());
  OWNED(prem_session) *session = open_on("cuda", schedule);
  for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m) {
    OWNED(prem_trace) *trace = run_in(session, schedule, modes[m], HYPERPERIODS);
    assert_ends(trace, modes[m]);
  }
  const char *note = prem_session_mode_note(session, PREM_MODE_GATED_GRAPH);
  ck_assert_ptr_nonnull(note);
  ck_assert_ptr_nonnull(strstr(note, "launched before S; what waits for S is "));
}

static prem_status run_stopped(prem_session *session, prem_mode mode, prem_trace *trace,
                               int64_t hyperperiods) {
  const prem_run_request request = {.mode = mode, .hyperperiods = hyperperiods, .stop = &stop};
  prem_trace_clear(trace);
  return prem_session_run(session, &request, trace, NULL);
}

/* Before it begins, and by a signal in the midst of it; the next run is as good as any. */
TEST(stopped_runs_end) {
  enum { MANY = 100000 };
  const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
  OWNED(prem_schedule) *schedule = prepared_schedule(text_of_four());
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, MANY, 0, &trace), PREM_OK);
  signal(SIGALRM, stop_now);
  for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m) {
    stop = 1;
    ck_assert_int_eq(run_stopped(session, modes[m], trace, MANY), PREM_ERR_INTERRUPTED);
    ck_assert_int_eq(trace->hyperperiods, 0);
    stop = 0;
    setitimer(ITIMER_REAL, &soon, NULL);
    ck_assert_int_eq(run_stopped(session, modes[m], trace, MANY), PREM_ERR_INTERRUPTED);
    ck_assert_int_lt(trace->hyperperiods, MANY);
    stop = 0;
    ck_assert_int_eq(run_stopped(session, modes[m], trace, HYPERPERIODS), PREM_OK);
    assert_ends(trace, modes[m]);
  }
}

static int by_value(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t median_end_ns(prem_session *session, const prem_schedule *schedule, prem_mode mode) {
  static int64_t ends_ns[TIMED];
  OWNED(prem_trace) *trace = run_in(session, schedule, mode, TIMED);
  for (int64_t h = 0; h < TIMED; ++h)
    ends_ns[h] = end_of(trace, h, 3, 0);
  qsort(ends_ns, TIMED, sizeof *ends_ns, by_value);
  return ends_ns[TIMED / 2];
}

/* A chain of four: what a launch takes is more than what the gate takes. */
TEST(a_gated_graph_leaves_its_launch_out) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      "version = 1; name = \"chain\"; platform: { blocks = 1; clock_step_ns = 32L;"
      "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
      "tasks = ( { name = \"a\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;"
      "  compute: { wcet_ns = 9600L; }; },"
      "{ name = \"b\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; after = ( { task = \"a\"; } );"
      "  compute: { wcet_ns = 9600L; }; },"
      "{ name = \"c\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; after = ( { task = \"b\"; } );"
      "  compute: { wcet_ns = 9600L; }; },"
      "{ name = \"d\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; after = ( { task = \"c\"; } );"
      "  compute: { wcet_ns = 9600L; }; } );");
  OWNED(prem_session) *session = open_on("cuda", schedule);
  const int64_t launched_ns = median_end_ns(session, schedule, PREM_MODE_GRAPH);
  const int64_t gated_ns = median_end_ns(session, schedule, PREM_MODE_GATED_GRAPH);
  printf("from S to the end of four kernels: graph %lld ns, gated_graph %lld ns (%s)\n",
         (long long)launched_ns, (long long)gated_ns,
         prem_session_mode_note(session, PREM_MODE_GATED_GRAPH));
  ck_assert_int_gt(gated_ns, 0);
  if (!IS_EMULATED) /* it judges no times */
    ck_assert_int_lt(gated_ns, launched_ns);
}

/* ---- kernels that nobody wrote over whole arrays -----------------------------------------------
 */

#define PHASES                                                                                     \
  "prefetch: { wcet_ns = 20000L; }; compute: { wcet_ns = 20000L; };"                               \
  "writeback: { wcet_ns = 20000L; };"

/* Halos, rows of 37 bytes, tiles that no piece of 16 bytes divides, results of one word a tile, a
 * work area. */
static const char *text_of_tiled(void) {
  return text("version = 1; name = \"tiled\"; platform: { blocks = 1; clock_step_ns = 32L;"
              "  scratch_bytes = 65536L; };"
              "arrays = ( { name = \"frame\"; type = \"u8\"; shape = [ 7, 37 ];"
              "  fill = \"random\"; seed = 1; } );"
              "tasks = ( { name = \"filter\"; kernel = \"conv2d_u8\"; blocks = [ 0 ];"
              "  tile = [ 4, 20 ]; arrays: { in = \"frame\"; out = \"new\"; }; " PHASES " },"
              "{ name = \"sums\"; kernel = \"tile_sum\"; blocks = [ 0 ]; tile = [ 3, 20 ];"
              "  arrays: { in = \"frame\"; out = \"new\"; };"
              "  after = ( { task = \"filter\"; } ); " PHASES " } );");
}

/* What a mode's jobs made is the references'. */
TEST(they_go_tile_by_tile) {
  OWNED(prem_schedule) *schedule = prepared_schedule(text_of_tiled());
  OWNED(prem_session) *session = open_on("cuda", schedule);
  prem_verdict verdict = {0};
  static const prem_mode both[] = {PREM_MODE_LEGACY, PREM_MODE_GATED_GRAPH};
  for (size_t m = 0; m < (IS_EMULATED ? 1 : sizeof both / sizeof *both); ++m) {
    ck_assert_int_eq(prem_session_poison(session), PREM_OK);
    OWNED(prem_trace) *trace = run_in(session, schedule, both[m], 2);
    for (int64_t h = 0; h < trace->hyperperiods; ++h)
      ck_assert_int_ge(end_of(trace, h, 1, 0), end_of(trace, h, 0, 0));
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert_msg(verdict.ok, "%s", prem_mode_name(both[m]));
  }
  const prem_launch_search *tried = prem_session_launch_search(session);
  ck_assert_int_gt(tried->candidate_count, 8);
  for (int32_t i = 0; i < tried->candidate_count; ++i) {
    ck_assert(!tried->candidates[i].wrong);
    ck_assert_int_eq(strncmp(tried->candidates[i].way, "tile by tile, ", 14), 0);
  }
}

/* ---- beside best-effort tasks ------------------------------------------------------------------
 */

enum { PERIOD_NS = 1024000 };

/* A load of two tasks, one after the other, beside one job. */
static prem_schedule *beside_a_load(const char *lag) {
  return prepared_schedule(text(
      "version = 1; name = \"beside\"; platform: { blocks = 3; clock_step_ns = 32L;"
      "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
      "tasks = ( { name = \"job\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; period_ns = %dL;"
      "  prefetch: { wcet_ns = 96000L; }; compute: { wcet_ns = 9600L; }; },"
      "{ name = \"x\"; kernel = \"noop\"; class = \"best_effort\"; blocks = [ 1 ]; tiles = 2;"
      "  prefetch: { wcet_ns = 9600L; }; compute: { wcet_ns = 9600L; }; },"
      "{ name = \"y\"; kernel = \"noop\"; class = \"best_effort\"; blocks = [ 2 ]; tiles = 3;"
      "  prefetch: { wcet_ns = 9600L; }; compute: { wcet_ns = 9600L; };"
      "  after = ( { task = \"x\"; %s } ); } );",
      PERIOD_NS, lag));
}

static void assert_load(const prem_best_effort_trace *load, int64_t hyperperiods) {
  ck_assert(!load->gated);
  ck_assert_int_ge(load->length_ns, (hyperperiods - 1) * PERIOD_NS);
  ck_assert_int_gt(load->counts[0].jobs, 0);
  ck_assert_int_eq(load->counts[1].jobs, load->counts[0].jobs);
  ck_assert_int_eq(load->counts[0].tiles, 2 * load->counts[0].jobs);
  ck_assert_int_eq(load->counts[1].tiles, 3 * load->counts[1].jobs);
  ck_assert_int_ge(load->trace->hyperperiods, load->counts[0].jobs);
}

TEST(a_load_goes_on_beside_them) {
  enum { MANY = 100000 };
  const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
  OWNED(prem_schedule) *schedule = beside_a_load("");
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, MANY, 0, &trace), PREM_OK);
  signal(SIGALRM, stop_now);
  for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m) {
    stop = 0;
    ck_assert_int_eq(run_stopped(session, modes[m], trace, 20), PREM_OK);
    ck_assert_int_eq(trace->hyperperiods, 20);
    for (int64_t h = 0; h < trace->hyperperiods; ++h)
      ck_assert_int_gt(end_of(trace, h, 0, 0), 0);
    assert_load(trace->best_effort, 20);
    setitimer(ITIMER_REAL, &soon, NULL);
    ck_assert_int_eq(run_stopped(session, modes[m], trace, MANY), PREM_ERR_INTERRUPTED);
    ck_assert_int_lt(trace->hyperperiods, MANY);
    stop = 1;
    ck_assert_int_eq(run_stopped(session, modes[m], trace, MANY), PREM_ERR_INTERRUPTED);
  }
  stop = 0;
  ck_assert_int_eq(run_stopped(session, PREM_MODE_COPY, trace, 1), PREM_ERR_UNAVAILABLE);
}

TEST(what_streams_do_not_keep_is_refused) {
  OWNED(prem_schedule) *schedule = beside_a_load("lag_ns = 9600L;");
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, 1, 0, &trace), PREM_OK);
  ck_assert_int_eq(run_stopped(session, PREM_MODE_LEGACY, trace, 1), PREM_ERR_UNAVAILABLE);
  ck_assert_int_eq(run_stopped(session, PREM_MODE_TT, trace, 1), PREM_OK);
}

/* ---- the load as a graph beside the executive --------------------------------------------------
 */

/* Long enough that a pass fits between two windows, on an emulated GPU too, whose passes take as
 * long as its host lets them. */
enum {
  GRAPH_PERIOD_NS = IS_EMULATED ? 256000000 : 1024000,
  GRAPH_HYPERPERIODS = IS_EMULATED ? 8 : 20,
  MOST_OVERRUNS = IS_EMULATED ? GRAPH_HYPERPERIODS : GRAPH_HYPERPERIODS / 2
};

static prem_schedule *beside_a_graph(int64_t period_ns, int phase_ns, const char *more) {
  return prepared_schedule(text(
      "version = 1; name = \"beside\"; platform: { blocks = 3; clock_step_ns = 32L;"
      "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
      "tasks = ( { name = \"job\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; period_ns = %lldL;"
      "  prefetch: { wcet_ns = 96000L; }; compute: { wcet_ns = %dL; }; },"
      "{ name = \"x\"; kernel = \"noop\"; class = \"best_effort\"; blocks = [ 1 ]; tiles = 2;"
      "  prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = 9600L; }; },"
      "{ name = \"y\"; kernel = \"noop\"; class = \"best_effort\"; blocks = [ 2 ]; tiles = 3;"
      "  prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = 9600L; };"
      "  after = ( { task = \"x\"; %s } ); } );"
      "measure: { load = \"graph\"; };",
      (long long)period_ns, phase_ns, phase_ns, phase_ns, more));
}

static void assert_passes(const prem_best_effort_trace *load) {
  ck_assert_int_gt(load->counts[0].jobs, 0);
  ck_assert_int_eq(load->counts[0].jobs, load->trace->hyperperiods);
  ck_assert_int_eq(load->counts[1].jobs, load->counts[0].jobs);
  ck_assert_int_eq(load->counts[0].tiles, 2 * load->counts[0].jobs);
  ck_assert_int_eq(load->counts[1].tiles, 3 * load->counts[1].jobs);
}

TEST(a_graph_goes_on_between_windows) {
  OWNED(prem_schedule) *schedule = beside_a_graph(GRAPH_PERIOD_NS, 9600, "");
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, GRAPH_HYPERPERIODS, 0, &trace), PREM_OK);
  for (int again = 0; again < (IS_EMULATED ? 2 : 3); ++again) {
    ck_assert_int_eq(run_stopped(session, PREM_MODE_TT, trace, GRAPH_HYPERPERIODS), PREM_OK);
    ck_assert_int_eq(trace->hyperperiods, GRAPH_HYPERPERIODS);
    ck_assert(trace->best_effort->gated);
    assert_passes(trace->best_effort);
    ck_assert_int_gt(trace->best_effort->counts[0].waits, 0); /* each window stops one */
    ck_assert_int_le(trace->best_effort->counts[0].waits, GRAPH_HYPERPERIODS + 1);
    ck_assert_int_le(trace->best_effort->counts[0].overruns, MOST_OVERRUNS);
    printf("graph beside tt: %lld passes, %lld waits, %lld overruns; %s\n",
           (long long)trace->best_effort->counts[0].jobs,
           (long long)trace->best_effort->counts[0].waits,
           (long long)trace->best_effort->counts[0].overruns,
           prem_session_mode_note(session, PREM_MODE_TT));
    ck_assert_int_eq(run_stopped(session, PREM_MODE_FREE, trace, GRAPH_HYPERPERIODS), PREM_OK);
    ck_assert(!trace->best_effort->gated);
    assert_passes(trace->best_effort);
    ck_assert_int_eq(trace->best_effort->counts[0].waits, 0);
    ck_assert_int_eq(trace->best_effort->counts[0].overruns, 0);
  }
}

TEST(a_stopped_run_ends_its_graph) {
  enum { MANY = 100000 };
  const struct itimerval soon = {.it_value = {.tv_usec = 300000}};
  OWNED(prem_schedule) *schedule = beside_a_graph(GRAPH_PERIOD_NS, 9600, "");
  OWNED(prem_session) *session = open_on("cuda", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, MANY, 0, &trace), PREM_OK);
  ck_assert_int_eq(run_stopped(session, PREM_MODE_TT, trace, 2), PREM_OK);
  signal(SIGALRM, stop_now);
  setitimer(ITIMER_REAL, &soon, NULL);
  ck_assert_int_eq(run_stopped(session, PREM_MODE_TT, trace, MANY), PREM_ERR_INTERRUPTED);
  ck_assert_int_lt(trace->hyperperiods, MANY);
  ck_assert_int_eq(run_stopped(session, PREM_MODE_TT, trace, MANY), PREM_ERR_INTERRUPTED);
  stop = 0;
  ck_assert_int_eq(run_stopped(session, PREM_MODE_LEGACY, trace, 2), PREM_OK);
  ck_assert_int_eq(run_stopped(session, PREM_MODE_TT, trace, 2), PREM_OK);
}

static void assert_refused(prem_session *session, const char *reason) {
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 1};
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_session_trace_new(session, 1, 0, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_UNAVAILABLE);
  ck_assert_uint_gt(prem_diag_count(diag), 0);
  ck_assert_msg(strstr(prem_diag_at(diag, prem_diag_count(diag) - 1)->reason, reason), "%s",
                prem_diag_at(diag, prem_diag_count(diag) - 1)->reason);
}

/* Some 2 us between two windows: two kernels, and what sees their end, take longer. */
TEST(graphs_that_never_fit_are_refused) {
  prem_schedule *schedule = beside_a_graph(GRAPH_PERIOD_NS, 9600, "lag_ns = 9600L;");
  prem_session *session = open_on("cuda", schedule);
  assert_refused(session, "with a lag");
  prem_session_close(session);
  prem_schedule_free(schedule);
  schedule = beside_a_graph(98560, 640, "");
  session = open_on("cuda", schedule);
  assert_refused(session, "so that it never begins; make their arrays smaller");
  prem_session_close(session);
  prem_schedule_free(schedule);
}
