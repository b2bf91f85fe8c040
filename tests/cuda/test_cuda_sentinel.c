/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timing */
/* The sentinel on the GPU: it watches every mode, sees that the GPU stood still, tells the jobs
 * that were under way then from others, and ends with the run or when nobody tells it anything.
 * Exit status 77 without a GPU, or in a build without the backend. */
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#ifdef WITH_CUDART
#include "runtime/cuda/host/sentinel.h"
#endif
#include "tests/common/needs_gpu.h"
#include "tests/common/running.h"

#ifdef EMULATED_GPU /* whose threads lose their cores all the time */
enum { IS_EMULATED = 1, HYPERPERIODS = 6 };
#else
enum { IS_EMULATED = 0, HYPERPERIODS = 2000 };
#endif
enum { PERIOD_US = 1024 };

static const prem_mode modes[] = {PREM_MODE_TT,          PREM_MODE_FREE,     PREM_MODE_LOCK,
                                  PREM_MODE_LEGACY,      PREM_MODE_LAUNCHED, PREM_MODE_GRAPH,
                                  PREM_MODE_GATED_GRAPH, PREM_MODE_PRIORITY};
enum { MODES = sizeof modes / sizeof *modes };

static prem_schedule *schedule;
static prem_session *session;
static prem_trace *trace;

static void set_up(void) {
  schedule = prepared_schedule(
      text("version = 1; name = \"two\"; platform: { blocks = 2; clock_step_ns = 32L;"
           "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
           "tasks = ( { name = \"a\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1;"
           "  period_ns = %d000L; compute: { wcet_ns = 9600L; }; },"
           "{ name = \"b\"; kernel = \"noop\"; blocks = [ 1 ]; tiles = 1; period_ns = %d000L;"
           "  after = ( { task = \"a\"; } ); compute: { wcet_ns = 9600L; }; } );",
           PERIOD_US, PERIOD_US));
  session = open_on("cuda", schedule);
  ck_assert_int_eq(prem_trace_new(schedule, HYPERPERIODS, 1000, &trace), PREM_OK);
}

static void tear_down(void) {
  prem_trace_free(trace);
  prem_session_close(session);
  prem_schedule_free(schedule);
}

static void run_with(prem_mode mode, bool sentinel) {
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {
      .mode = mode, .hyperperiods = HYPERPERIODS, .sentinel = sentinel};
  if (prem_session_run(session, &request, trace, diag) != PREM_OK)
    abort_with(prem_mode_name(mode), diag);
  ck_assert_int_eq(trace->hyperperiods, HYPERPERIODS);
}

static int64_t jobs_with(bool (*is_so)(int64_t)) {
  int64_t count = 0;
  for (int64_t j = 0; j < trace->hyperperiods * trace->job_count; ++j)
    count += is_so(trace->away_ns[j]);
  return count;
}

static bool is_unknown(int64_t away_ns) {
  return away_ns < 0;
}

static bool is_stalled(int64_t away_ns) {
  return away_ns > 0;
}

/* What is kept is in the order of time and within the watch, each a stall; what is not is counted.
 */
static void assert_whole(const prem_stalls *stalls) {
  int64_t sum_ns = 0, longest_ns = 0, behind_ns = 0;
  ck_assert_int_gt(stalls->watched_ns, 0);
  ck_assert_int_eq(stalls->kept_count,
                   stalls->count < PREM_STALLS_KEPT ? stalls->count : PREM_STALLS_KEPT);
  for (int32_t i = 0; i < stalls->kept_count; ++i) {
    const prem_stall *stall = &stalls->kept[i];
    ck_assert_int_ge(stall->start_ns, behind_ns);
    ck_assert_int_gt(stall->length_ns, PREM_STALL_NS);
    behind_ns = stall->start_ns + stall->length_ns;
    sum_ns += stall->length_ns;
    longest_ns = stall->length_ns > longest_ns ? stall->length_ns : longest_ns;
  }
  ck_assert_int_le(behind_ns, stalls->watched_ns);
  ck_assert_int_le(sum_ns, stalls->sum_ns);
  ck_assert_int_le(longest_ns, stalls->longest_ns);
  if (stalls->count <= PREM_STALLS_KEPT) {
    ck_assert_int_eq(sum_ns, stalls->sum_ns);
    ck_assert_int_eq(longest_ns, stalls->longest_ns);
  }
}

GROUP("cuda_sentinel", .set_up = set_up, .tear_down = tear_down);

TESTS(it_watches_every_mode, MODES) {
  const prem_mode mode = modes[_i];
  run_with(mode, true);
  assert_whole(&trace->stalls);
  printf("%s: %lld stalls in %.3f s, the longest %lld ns, on SM %d%s; %lld of %lld jobs stalled, "
         "%lld not watched\n",
         prem_mode_name(mode), (long long)trace->stalls.count,
         (double)trace->stalls.watched_ns * 1e-9, (long long)trace->stalls.longest_ns,
         (int)trace->stalls.sm, trace->stalls.has_own_sm ? ", its own" : "",
         (long long)jobs_with(is_stalled), (long long)(trace->hyperperiods * trace->job_count),
         (long long)jobs_with(is_unknown));
  if (jobs_with(is_stalled) > 0)
    ck_assert_int_gt(trace->stalls.count, 0);
  /* Beside the executive it may come some us after the start; an emulated one, whose thread gets no
   * core, after the run. */
  if (!IS_EMULATED)
    ck_assert_int_le(jobs_with(is_unknown), 4);
  ck_assert(trace->stalls.has_own_sm == prem_mode_has_phases(mode)); /* two blocks leave others */
  if (prem_mode_has_phases(mode))
    ck_assert_int_ge(trace->stalls.sm, 2); /* the plan has SMs 0 and 1 */
}

static volatile sig_atomic_t stop;

static void stop_now(int number) {
  (void)number;
  stop = 1;
}

/* It ends with a run that is stopped, before it begins or in the midst of it. */
TESTS(it_ends_with_a_run_that_is_stopped, MODES) {
  const struct itimerval soon = {.it_value = {.tv_usec = IS_EMULATED ? 3000 : 300}};
  const prem_run_request request = {
      .mode = modes[_i], .hyperperiods = HYPERPERIODS, .stop = &stop, .sentinel = true};
  signal(SIGALRM, stop_now);
  stop = 1;
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_ERR_INTERRUPTED);
  run_with(modes[_i], false); /* baselines are made ready */
  stop = 0;
  setitimer(ITIMER_REAL, &soon, NULL);
  const prem_status status = prem_session_run(session, &request, trace, NULL);
  ck_assert(status == PREM_ERR_INTERRUPTED || status == PREM_OK);
  run_with(modes[_i], true);
  assert_whole(&trace->stalls);
}

TESTS(without_it_nothing_is_known, MODES) {
  run_with(modes[_i], false);
  ck_assert_int_eq(trace->stalls.watched_ns, 0);
  ck_assert_int_eq(trace->stalls.count, 0);
  ck_assert_int_eq(jobs_with(is_unknown), trace->hyperperiods * trace->job_count);
}

#ifdef EMULATED_GPU
/* The emulated GPU stands still with its process, half of the time. A run that none of these stops
 * fell into is run again. */
TESTS(it_sees_that_the_gpu_stands_still, 2) {
  enum { STILL_MS = 100, RUNS = 60 };
  const struct timespec still = {.tv_nsec = STILL_MS * 1000000L};
  int over[2];
  ck_assert_int_eq(pipe(over), 0);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    struct pollfd end = {.fd = over[0], .events = POLLIN};
    close(over[1]);
    while (poll(&end, 1, STILL_MS) == 0) { /* until the other end is closed */
      kill(parent, SIGSTOP);
      nanosleep(&still, NULL);
      kill(parent, SIGCONT);
    }
    _exit(0);
  }
  close(over[0]);
  int64_t longest_ns = 0;
  for (int run = 0; run < RUNS && longest_ns < (STILL_MS - 20) * INT64_C(1000000); ++run) {
    run_with(modes[_i], true);
    assert_whole(&trace->stalls);
    longest_ns = trace->stalls.longest_ns;
  }
  close(over[1]);
  waitpid(child, NULL, 0);
  ck_assert_int_ge(longest_ns, (STILL_MS - 20) * INT64_C(1000000));
}
#endif

#ifdef WITH_CUDART
/* As beside a host that is stopped: nobody tells it anything. */
TEST(it_ends_by_itself_when_nobody_tells_it_anything) {
  enum { SILENCE_MS = 200 };
  const struct timespec wait = {.tv_sec = 2};
  prem_sentinel *sentinel = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_sentinel_new(&sentinel), cudaSuccess);
  ck_assert_int_eq(prem_sentinel_prepare(sentinel, cudaSharedmemCarveoutDefault), cudaSuccess);
  ck_assert_int_eq(prem_sentinel_launch(sentinel, SILENCE_MS * INT64_C(1000000), NULL, 0),
                   cudaSuccess);
  nanosleep(&wait, NULL);
  ck_assert_int_eq(prem_sentinel_end(sentinel, true), cudaSuccess);
  prem_trace_clear(trace);
  prem_sentinel_report(sentinel, trace, diag);
  ck_assert_int_gt(trace->stalls.watched_ns, SILENCE_MS * INT64_C(1000000));
  ck_assert_int_lt(trace->stalls.watched_ns, INT64_C(1900000000));
  prem_sentinel_free(sentinel);
}
#endif

#ifdef WITH_CUDART
TEST(one_that_found_no_room_is_told_once) {
  prem_sentinel *sentinel = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_sentinel_new(&sentinel), cudaSuccess);
  for (int i = 0; i < 3; ++i) { /* as if it had not been placed: it is not launched */
    ck_assert_int_eq(prem_sentinel_prepare(sentinel, cudaSharedmemCarveoutDefault), cudaSuccess);
    ck_assert_int_eq(prem_sentinel_end(sentinel, true), cudaSuccess);
    prem_trace_clear(trace);
    prem_sentinel_report(sentinel, trace, diag);
    ck_assert_int_eq(trace->stalls.watched_ns, 0);
    ck_assert_uint_eq(prem_diag_count(diag), 1);
  }
  ck_assert_int_eq(prem_diag_at(diag, 0)->severity, PREM_WARNING);
  prem_sentinel_free(sentinel);
}
#endif
