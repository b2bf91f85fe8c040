/* SPDX-License-Identifier: Apache-2.0 */
/* A run on the cpu always ends: the stop flag, the watchdog, computes that never return, records
 * that are wrong. */
/* ctest: threads alone timing */
#include "tests/common/cpu_fixture.h"
#include "tests/common/suite.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

#include "runtime/core/backend.h"

/* ---- a kernel that can hang ----------------------------------------------------------------- */

static _Atomic int computes, rests; /* since the test began; a test is a process of its own */
static _Atomic int hangs_at = -1;
static _Atomic bool let_go;
static _Atomic int returned;

static _Atomic int stops_at = -1, stops_behind = -1; /* a compute, so many of `rest`: Ctrl-C */

enum { REST = 400 }; /* elements of its tiles */

static void hang_compute(const void *params, const prem_view *views) {
  (void)params;
  const struct timespec nap = {.tv_nsec = 1000000};
  const int number = atomic_fetch_add(&computes, 1);
  if (number == atomic_load(&stops_at) ||
      (views[1].extent[3] == REST && atomic_fetch_add(&rests, 1) + 1 == atomic_load(&stops_behind)))
    kill(getpid(), SIGALRM); /* which no block's thread takes */
  if (number != atomic_load(&hangs_at))
    return;
  while (!atomic_load(&let_go))
    nanosleep(&nap, NULL);
  if (views[1].data)
    ((float *)views[1].data)[0] = 1.0F; /* its scratchpad is its own, even now */
  atomic_fetch_add(&returned, 1);
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

static _Atomic bool dwells_untiled; /* for a second */

static void hang_reference(const void *params, const prem_array_view *arrays) {
  const struct timespec second = {.tv_sec = 1};
  (void)params;
  (void)arrays;
  if (atomic_load(&dwells_untiled))
    nanosleep(&second, NULL);
}

static const prem_port hang_ports[] = {{"in", PREM_IN, PREM_F32}, {"out", PREM_OUT, PREM_F32}};

static const prem_kernel hang_kernel = {
    .name = "hang",
    .summary = "computes nothing, one of its tiles for ever",
    .version = 1,
    .ports = hang_ports,
    .port_count = 2,
    .bind = hang_bind,
    .compute = hang_compute,
    .reference = hang_reference,
};

static const prem_kernel *const hang_list[] = {&hang_kernel};
static const prem_registry hang_registry = {hang_list, 1};

/* Tile 5 is the third of block 1; `rest` goes on, on block 0 alone, and waits for `work`. */
static const char *const hanging =
    "version = 1; name = \"hanging\";"
    "platform: { blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } ); };"
    "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 800 ]; } );"
    "tasks = ( { name = \"work\"; kernel = \"hang\"; blocks = [ 1 ]; tile = [ 100 ];"
    "            arrays: { in = \"v\"; out = \"new\"; };"
    "            prefetch: { wcet_ns = 10000L; }; compute: { wcet_ns = 10000L; };"
    "            writeback: { wcet_ns = 10000L; }; },"
    "          { name = \"rest\"; kernel = \"hang\"; blocks = [ 0 ]; tile = [ 400 ];"
    "            arrays: { in = \"v\"; out = \"new\"; }; after = ( { task = \"work\"; } );"
    "            prefetch: { wcet_ns = 10000L; }; compute: { wcet_ns = 10000L; };"
    "            writeback: { wcet_ns = 10000L; }; } );"
    "plan: { hyperperiod_ns = 400000L; runs = ("
    "  { task = \"work\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
    "    start_ns = 0L; repeat = 8; step_ns = 40000L; },"
    "  { task = \"rest\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
    "    start_ns = 320000L; repeat = 2; step_ns = 40000L; } ); };";

static const char *const idle =
    "version = 1; name = \"idle\"; platform: { blocks = 2; };"
    "tasks = ( { name = \"n\"; kernel = \"noop\"; blocks = 2; tiles = 4;"
    "            compute: { wcet_ns = 1000L; }; } );"
    "plan: { hyperperiod_ns = %lldL; runs = ( { task = \"n\"; phase = \"compute\"; count = 2;"
    "         start_ns = %lldL; repeat = 2; step_ns = 1000L; } ); };";

/* ---- stopping ------------------------------------------------------------------------------- */

enum { SOON_MS = 10000 }; /* within a second, and a busy machine gets ten */

static volatile sig_atomic_t stop;

static void ask_to_stop(int signal_number) {
  (void)signal_number;
  stop = 1;
}

/* As Ctrl-C does. */
static void stop_by_signal(void) {
  struct sigaction action = {.sa_handler = ask_to_stop};
  sigaction(SIGALRM, &action, NULL);
}

static void stop_in_ms(int64_t ms) {
  stop_by_signal();
  const struct itimerval timer = {.it_value.tv_usec = ms * 1000};
  setitimer(ITIMER_REAL, &timer, NULL);
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

TESTS(the_stop_flag_ends_a_long_run, 2) {
  FIXTURE f = {0};
  fixture_load(&f, &hang_registry, "%s", hanging);
  fixture_open(&f, 100000, 1000); /* 40 s */
  const prem_run_request request = {
      .mode = _i == 0 ? PREM_MODE_TT : PREM_MODE_FREE, .hyperperiods = 100000, .stop = &stop};
  stop_by_signal();
  atomic_store(&stops_behind, 2 * 20); /* hyperperiods, and `rest` is the last in each */
  const int64_t began_ms = now_ms();
  const prem_status status = prem_session_run(f.session, &request, f.trace, f.diag);
  fixture_expect(&f, status, PREM_ERR_INTERRUPTED);
  ck_assert_int_lt(now_ms() - began_ms, SOON_MS);
  ck_assert_int_gt(f.trace->hyperperiods, 10);
  ck_assert_int_lt(f.trace->hyperperiods, 100000);
  ck_assert_int_ge(f.trace->stats[PREM_COMPUTE].count, 8 * f.trace->hyperperiods);
  for (int64_t h = 0; h < f.trace->hyperperiods; ++h)
    ck_assert_int_ge(f.trace->job_end_ns[2 * h], h * 400000);
  ck_assert_int_eq(f.trace->job_end_ns[2 * 99999], -1);

  stop = 0; /* the session is as good as before */
  const prem_run_request again = {.mode = PREM_MODE_TT, .hyperperiods = 3, .stop = &stop};
  fixture_expect(&f, prem_session_run(f.session, &again, f.trace, f.diag), PREM_OK);
  ck_assert_int_eq(f.trace->hyperperiods, 3);
}

TEST(the_stop_flag_ends_a_wait_for_a_far_release) {
  FIXTURE f = {0};
  fixture_load(&f, prem_registry_builtin(), idle, 61000000000LL, 60000000000LL);
  fixture_open(&f, 1, 1000);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 1, .stop = &stop};
  const int64_t began_ms = now_ms();
  stop_in_ms(100);
  const prem_status status = prem_session_run(f.session, &request, f.trace, f.diag);
  fixture_expect(&f, status, PREM_ERR_INTERRUPTED);
  ck_assert_int_lt(now_ms() - began_ms, SOON_MS); /* not at the release */
  ck_assert_int_eq(f.trace->record_count, 0);
  ck_assert_int_eq(f.trace->hyperperiods, 0);
}

TEST(the_stop_flag_ends_a_run_whose_compute_hangs) {
  FIXTURE f = {0};
  fixture_load(&f, &hang_registry, "%s", hanging);
  fixture_open(&f, 1, 1000);
  atomic_store(&hangs_at, 5);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 1, .stop = &stop};
  const int64_t began_ms = now_ms();
  stop_by_signal();
  atomic_store(&stops_at, 5);
  const prem_status status = prem_session_run(f.session, &request, f.trace, f.diag);
  fixture_expect(&f, status, PREM_ERR_INTERRUPTED);
  ck_assert_int_lt(now_ms() - began_ms, SOON_MS);
  ck_assert_int_eq(f.trace->stats[PREM_WRITEBACK].count, 5); /* what was measured is kept */
  fixture_expect_said(&f, "did not return");
  const prem_run_request again = {.mode = PREM_MODE_TT, .hyperperiods = 1};
  stop = 0;
  ck_assert_int_eq(prem_session_run(f.session, &again, f.trace, f.diag), PREM_ERR_MACHINE);
}

/* ---- the watchdog --------------------------------------------------------------------------- */

TESTS(the_watchdog_names_a_compute_that_hangs, 3) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  fixture f;
  fixture_load(&f, &hang_registry, "%s", hanging);
  fixture_open(&f, 1, 1000);
  atomic_store(&hangs_at, 5);
  const prem_run_request request = {.mode = modes[_i], .hyperperiods = 1, .timeout_ns = 1500000000};
  const int64_t began_ms = now_ms();
  const prem_status status = prem_session_run(f.session, &request, f.trace, f.diag);
  fixture_expect(&f, status, PREM_ERR_MACHINE);
  ck_assert_int_lt(now_ms() - began_ms, SOON_MS);
  fixture_expect_said(&f, "watchdog");
  fixture_expect_said(&f, "1500 ms");
  fixture_expect_said(&f, "block 1");
  fixture_expect_said(&f, "task 'work'");
  fixture_expect_said(&f, "tile 5");
  fixture_expect_said(&f, "compute");
  fixture_expect_said(&f, "record 16 of hyperperiod 0");
  ck_assert_int_eq(prem_diag_at(f.diag, 0)->code, 0); /* no mistake of the file's */
  ck_assert_int_eq(f.trace->stats[PREM_WRITEBACK].count, 5);
  ck_assert_int_eq(f.trace->hyperperiods, 0);
  const int64_t closing_ms = now_ms();
  fixture_close(&f);
  ck_assert_int_lt(now_ms() - closing_ms, SOON_MS);
}

/* A whole task on a thread of its own. */
TEST(the_watchdog_names_an_untiled_task_that_dwells) {
  FIXTURE f = {0};
  fixture_load(&f, &hang_registry, "%s", hanging);
  fixture_open(&f, 2, 1000);
  atomic_store(&dwells_untiled, true);
  const prem_run_request request = {
      .mode = PREM_MODE_LEGACY, .hyperperiods = 2, .timeout_ns = 300000000};
  const prem_status status = prem_session_run(f.session, &request, f.trace, f.diag);
  fixture_expect(&f, status, PREM_ERR_MACHINE);
  fixture_expect_said(&f, "task 'work', untiled, job 0 of hyperperiod 0");
}

TEST(a_compute_that_comes_back_late_touches_nothing) {
  fixture f;
  fixture_load(&f, &hang_registry, "%s", hanging);
  fixture_open(&f, 1, 1000);
  atomic_store(&hangs_at, 3);
  const prem_run_request request = {
      .mode = PREM_MODE_FREE, .hyperperiods = 1, .timeout_ns = 1500000000};
  const prem_status status = prem_session_run(f.session, &request, f.trace, f.diag);
  fixture_expect(&f, status, PREM_ERR_MACHINE);
  fixture_close(&f);
  atomic_store(&let_go, true); /* arrays, program and schedule are gone: sanitizers watch */
  const struct timespec nap = {.tv_nsec = 10000000};
  for (int i = 0; i < 6000 && atomic_load(&returned) == 0; ++i)
    nanosleep(&nap, NULL);
  ck_assert_int_eq(atomic_load(&returned), 1);
  nanosleep(&nap, NULL);
  ck_assert_int_eq(atomic_load(&computes), 4);
}

/* On a busy machine blocks may stand still for that long indeed, after the release; not each time.
 */
TEST(a_far_release_is_no_standstill) {
  enum { ATTEMPTS = 10 };
  prem_status status = PREM_ERR_MACHINE;
  for (int i = 0; i < ATTEMPTS && status == PREM_ERR_MACHINE; ++i) {
    fixture f;
    fixture_load(&f, prem_registry_builtin(), idle, 1400000000LL, 1300000000LL);
    fixture_open(&f, 1, 1000);
    const prem_run_request request = {
        .mode = PREM_MODE_TT, .hyperperiods = 1, .timeout_ns = 1200000000};
    status = prem_session_run(f.session, &request, f.trace, f.diag);
    ck_assert(status != PREM_OK || f.trace->record_count == 4);
    fixture_close(&f);
  }
  ck_assert_int_eq(status, PREM_OK);
}

/* ---- faults --------------------------------------------------------------------------------- */

TEST(a_record_before_its_turn_is_a_fault) {
  FIXTURE f = {0};
  fixture_load(&f, &hang_registry, "%s", hanging);
  OWNED(prem_program) *program = NULL;
  OWNED(prem_arrays) *arrays = NULL;
  prem_machine machine;
  void *state;
  fixture_expect(&f, prem_program_new(f.schedule, &program, f.diag), PREM_OK);
  fixture_expect(&f, prem_arrays_new(f.schedule, &arrays, f.diag), PREM_OK);
  fixture_expect(&f, prem_trace_new(f.schedule, 1, 1000, &f.trace), PREM_OK);
  ck_assert_int_eq(prem_backend_cpu.probe(&machine, f.diag), PREM_OK);
  fixture_expect(&f, prem_backend_cpu.open(program, arrays, &machine, &state, f.diag), PREM_OK);
  program->blocks[1].compute[4].wait[PREM_PREFETCH] = 6; /* its own prefetch is the fifth */
  const prem_run_request request = {.mode = PREM_MODE_FREE, .hyperperiods = 1};
  const prem_status status = prem_backend_cpu.run(state, &request, f.trace, f.diag);
  fixture_expect(&f, status, PREM_ERR_MACHINE);
  fixture_expect_said(&f, "block 1: task 'work', tile 4, compute, record 13 of hyperperiod 0");
  long long at_ns = 0;
  for (size_t i = 0; i < prem_diag_count(f.diag); ++i) {
    const char *at = strstr(prem_diag_at(f.diag, i)->reason, ", at ");
    if (at)
      at_ns = atoll(at + 5);
  }
  ck_assert_int_gt(at_ns, 0); /* ns after the start, behind a dozen records */
  ck_assert_int_eq(f.trace->record_count, 4 * 3 + 1);
  prem_backend_cpu.close(state);
}
