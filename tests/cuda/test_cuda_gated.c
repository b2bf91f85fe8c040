/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timing */
/* Best-effort tasks on the GPU: an executive of their own beside that of the critical ones, which
 * passes the gate, counts what it does, and ends with the run. Exit status 77 without a GPU, or in
 * a build without the backend. */
#include <signal.h>
#include <sys/time.h>

#include "runtime/core/best_effort.h"
#include "tests/common/needs_gpu.h"
#include "tests/common/running.h"

#ifdef EMULATED_GPU /* some thousand times as slow */
enum { IS_EMULATED = 1, PERIOD_US = 200000, HYPERPERIODS = 3, CLOCK_NS = 256 };
#else
enum { IS_EMULATED = 0, PERIOD_US = 300, HYPERPERIODS = 30, CLOCK_NS = 32 };
#endif
enum { MOST_RECORDS = 1000000, ELEMENTS = 16384, TILE = 1024 };

static volatile sig_atomic_t stop;
static int64_t let_in_early; /* phases that began in windows that were over */

/* A filter on block 0, and a load on blocks from 1 on: its tiles, its memory phases' bound, what
 * else it says. */
typedef struct setting {
  int32_t loads, threads, buffers, tile, elements;
  int64_t bound_ns;
  const char *more;
} setting;

static setting usual(void) {
  return (setting){.loads = 2,
                   .threads = 128,
                   .buffers = 2,
                   .tile = TILE,
                   .elements = IS_EMULATED ? 8 * ELEMENTS : 64 * ELEMENTS, /* a trace has 64 jobs */
                   .bound_ns = PERIOD_US * 20,
                   .more = ""};
}

static const char *text_of(setting s) {
  const long long phase_ns = PERIOD_US / 10 * 1000 / CLOCK_NS * CLOCK_NS,
                  period_ns = PERIOD_US * 1000LL;
  return text(
      "version = 1; name = \"t\"; platform: { blocks = %d; clock_step_ns = %dL;"
      "  block_threads = 128; resources = ( { name = \"memory\"; capacity = 1; } );"
      "  best_effort: { buffers = %d; block_threads = %d; }; };"
      "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ 32, 64 ]; fill = \"random\"; seed "
      "= "
      "7; }, { name = \"stream\"; type = \"f32\"; shape = [ %d ]; fill = \"random\"; seed = 8; } );"
      "tasks = ( { name = \"filter\"; kernel = \"conv2d\"; blocks = [ 0 ]; tile = [ 32, 64 ];"
      "  arrays: { in = \"image\"; out = \"new\"; }; period_ns = %lldL;"
      "  prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = %lldL; };"
      "  writeback: { wcet_ns = %lldL; }; },"
      "{ name = \"load\"; kernel = \"vector_increment\"; class = \"best_effort\"; blocks = "
      "\"1-%d\";"
      "  tile = [ %d ]; arrays: { in = \"stream\"; out = \"new\"; }; %s"
      "  prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = 20000L; };"
      "  writeback: { wcet_ns = %lldL; }; } );",
      s.loads + 1, CLOCK_NS, s.buffers, s.threads, s.elements, period_ns, phase_ns, phase_ns,
      phase_ns, s.loads, s.tile, s.more, (long long)s.bound_ns, (long long)s.bound_ns);
}

typedef struct bench {
  prem_schedule *schedule;
  prem_session *session;
  prem_trace *trace;
} bench;

static bench open_bench(setting s, int64_t hyperperiods) {
  bench b = {.schedule = prepared_schedule(text_of(s))};
  b.session = open_on("cuda", b.schedule);
  ck_assert_int_eq(prem_session_trace_new(b.session, hyperperiods, MOST_RECORDS, &b.trace),
                   PREM_OK);
  return b;
}

static void close_bench(bench *b) {
  prem_trace_free(b->trace);
  prem_session_close(b->session);
  prem_schedule_free(b->schedule);
}

static void run_for(const bench *b, prem_mode mode, int64_t hyperperiods) {
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {.mode = mode, .hyperperiods = hyperperiods};
  prem_verdict verdict;
  ck_assert_int_eq(prem_session_poison(b->session), PREM_OK);
  if (prem_session_run(b->session, &request, b->trace, diag) != PREM_OK)
    abort_with("run", diag);
  ck_assert_int_eq(b->trace->hyperperiods, hyperperiods);
  ck_assert_int_eq(prem_session_verify(b->session, &verdict), PREM_OK);
  ck_assert(verdict.ok);
}

/* ---- what the records say -------------------------------------------------------------------- */

static const prem_best_effort_counts *counts_of(const bench *b) {
  return &b->trace->best_effort->counts[0];
}

/* The first window that begins after an instant. */
static int64_t next_window(const prem_plan *plan, int64_t at_ns) {
  for (int64_t epoch_ns = at_ns / plan->hyperperiod_ns * plan->hyperperiod_ns;;
       epoch_ns += plan->hyperperiod_ns)
    for (int32_t w = 0; w < plan->closed_count; ++w)
      if (epoch_ns + plan->closed[w].start_ns > at_ns)
        return epoch_ns + plan->closed[w].start_ns;
}

static bool is_in_window(const prem_plan *plan, int64_t at_ns) {
  for (int32_t w = 0; w < plan->closed_count; ++w)
    if (at_ns % plan->hyperperiod_ns >= plan->closed[w].start_ns &&
        at_ns % plan->hyperperiod_ns < plan->closed[w].end_ns)
      return true;
  return false;
}

/* When all that is critical has ended of the hyperperiod that an instant is in: a window is over
 * then. INT64_MAX: nothing of it was recorded. */
static int64_t over_ns(const bench *b, int64_t at_ns) {
  const int64_t hyperperiod = at_ns / b->schedule->plan->hyperperiod_ns;
  int64_t end_ns = -1;
  for (int64_t i = 0; i < b->trace->record_count; ++i)
    if (b->trace->records[i].hyperperiod == hyperperiod && b->trace->records[i].end_ns > end_ns)
      end_ns = b->trace->records[i].end_ns;
  return end_ns < 0 ? INT64_MAX : end_ns;
}

/* The gate let a phase in by the reading before its start: none in a window that is not over, none
 * too near before one. So many outlived their bound. */
static int64_t assert_let_in(const bench *b) {
  const prem_schedule *beside = prem_session_best_effort(b->session);
  const prem_trace *trace = b->trace->best_effort->trace;
  const prem_plan *plan = b->schedule->plan;
  int64_t overruns = 0, drain_ns[PREM_PHASE_COUNT] = {0};
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    const int64_t ahead_ns = prem_ahead_ns(beside, &beside->tasks[r->task], (prem_phase)r->phase);
    if (ahead_ns == 0)
      continue;
    const int64_t let_in_ns = r->start_ns - r->issue_ns;
    const int64_t closes_ns = next_window(plan, let_in_ns);
    if (is_in_window(plan, let_in_ns)) {
      ck_assert_int_ge(let_in_ns, over_ns(b, let_in_ns));
      ++let_in_early;
    }
    ck_assert_int_le(let_in_ns + ahead_ns, closes_ns);
    overruns += r->end_ns > closes_ns;
    if (r->end_ns - (closes_ns - ahead_ns) > drain_ns[r->phase])
      drain_ns[r->phase] = r->end_ns - (closes_ns - ahead_ns);
  }
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    ck_assert_int_eq(counts_of(b)->drain_ns[phase], drain_ns[phase]);
  return overruns;
}

/* All phases were recorded: what was counted are those that ended in time. */
static void assert_counted(const bench *b) {
  const prem_best_effort_trace *beside = b->trace->best_effort;
  const prem_trace *trace = beside->trace;
  int64_t tiles = 0, phases = 0;
  ck_assert_int_eq(trace->lost, 0);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const bool counts = trace->records[i].end_ns <= beside->length_ns;
    tiles += counts && trace->records[i].phase == PREM_WRITEBACK;
    phases += counts && trace->records[i].phase != PREM_COMPUTE;
  }
  ck_assert_int_gt(tiles, 0);
  ck_assert_int_eq(counts_of(b)->tiles, tiles);
  ck_assert_int_eq(counts_of(b)->bytes, phases * TILE * (int64_t)sizeof(float));
  ck_assert_int_ge(tiles, counts_of(b)->jobs * (b->schedule->arrays[1].shape[3] / TILE));
  ck_assert_int_le(trace->hyperperiods, counts_of(b)->jobs);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* Once in each mode, and in tt until the load was let into a window that was over: windows are ten
 * times as long as the filter takes, on a busy machine's emulated GPU about as long. */
TEST(they_run_beside_the_others) {
  bench b = open_bench(usual(), HYPERPERIODS);
  for (int turn = 0; turn < 4 || (let_in_early == 0 && turn < 40); ++turn) {
    const prem_mode mode = turn % 2 ? PREM_MODE_FREE : PREM_MODE_TT;
    run_for(&b, mode, HYPERPERIODS);
    ck_assert_int_eq(b.trace->best_effort->gated, mode == PREM_MODE_TT);
    ck_assert_int_eq(b.trace->best_effort->length_ns, INT64_C(1000) * HYPERPERIODS * PERIOD_US);
    assert_counted(&b);
    if (mode == PREM_MODE_TT)
      ck_assert_int_eq(counts_of(&b)->overruns, assert_let_in(&b));
    else
      ck_assert_int_eq(counts_of(&b)->waits + counts_of(&b)->overruns, 0);
  }
  ck_assert_int_gt(let_in_early, 0);
  close_bench(&b);
}

TEST(a_rate_is_kept) {
  setting s = usual();
  s.more = text("period_ns = %lldL;", PERIOD_US * 500LL);
  s.elements = ELEMENTS;
  bench b = open_bench(s, HYPERPERIODS);
  run_for(&b, PREM_MODE_TT, HYPERPERIODS);
  assert_let_in(&b);
  assert_counted(&b);
  ck_assert_int_le(counts_of(&b)->jobs, 2 * HYPERPERIODS);
  if (!IS_EMULATED)
    ck_assert_int_ge(counts_of(&b)->jobs, 2 * HYPERPERIODS - 2);
  const prem_trace *trace = b.trace->best_effort->trace;
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].phase == PREM_PREFETCH)
      ck_assert_int_ge(trace->records[i].start_ns,
                       INT64_C(500) * trace->records[i].hyperperiod * PERIOD_US);
  close_bench(&b);
}

/* A bound of 1 ns lets copies begin right before a window; it cannot hold. */
TEST(what_outlives_its_bound_is_counted_and_named) {
  setting s = usual();
  s.bound_ns = 1;
  bench b = open_bench(s, HYPERPERIODS);
  int64_t found = 0;
  for (int turn = 0; turn < 20 && found == 0; ++turn) {
    run_for(&b, PREM_MODE_TT, HYPERPERIODS);
    found = assert_let_in(&b);
    ck_assert_int_eq(counts_of(&b)->overruns, found);
  }
  ck_assert_int_gt(found, 0);
  const prem_gate_overrun *longest = &counts_of(&b)->longest;
  ck_assert_int_gt(longest->by_ns, 0);
  ck_assert_int_ge(longest->block, 1);
  ck_assert_int_ne(longest->phase, PREM_COMPUTE);
  ck_assert_str_eq(prem_session_critical(b.session)->tasks[longest->into].name, "filter");
  bool is_recorded = false;
  const prem_trace *trace = b.trace->best_effort->trace;
  for (int64_t i = 0; i < trace->record_count; ++i)
    is_recorded |= trace->records[i].block == longest->block &&
                   trace->records[i].phase == longest->phase &&
                   trace->records[i].tile == longest->tile &&
                   trace->records[i].end_ns == longest->at_ns + longest->by_ns;
  ck_assert(is_recorded);
  close_bench(&b);
}

static void stop_now(int number) {
  (void)number;
  stop = 1;
}

TEST(what_was_measured_is_kept_when_the_run_is_stopped) {
  enum { MANY = 60000 };
  bench b = open_bench(usual(), MANY);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = MANY, .stop = &stop};
  int64_t after_us = 50000;
  signal(SIGALRM, stop_now);
  do { /* on a busy machine it takes a while until anything has been done */
    after_us *= 2;
    stop = 0;
    const struct itimerval once = {.it_value = {after_us / 1000000, after_us % 1000000}};
    ck_assert_int_eq(setitimer(ITIMER_REAL, &once, NULL), 0);
    ck_assert_int_eq(prem_session_run(b.session, &request, b.trace, NULL), PREM_ERR_INTERRUPTED);
    ck_assert_int_lt(b.trace->hyperperiods, MANY);
  } while (counts_of(&b)->tiles == 0 && after_us < 10000000);
  ck_assert_int_gt(counts_of(&b)->tiles, 0);
  ck_assert_int_gt(b.trace->best_effort->length_ns, 0);
  ck_assert_int_lt(b.trace->best_effort->length_ns, INT64_C(1000) * MANY * PERIOD_US);
  run_for(&b, PREM_MODE_TT, 2); /* and the session goes on */
  close_bench(&b);
}

static void assert_refused(const char *source, prem_status status, int code, const char *key) {
  OWNED(prem_schedule) *schedule = prepared_schedule(source);
  prem_session *session = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_session_open(prem_backend_find("cuda"), schedule, &session, diag), status);
  ck_assert_uint_gt(prem_diag_count(diag), 0);
  const prem_problem *problem = prem_diag_at(diag, prem_diag_count(diag) - 1);
  ck_assert_int_eq(problem->code, code);
  ck_assert_str_eq(problem->key, key);
}

TEST(what_finds_no_room_on_an_sm_is_refused) {
  setting s = usual();
  s.buffers = 4;
  s.tile = ELEMENTS / 2; /* 4 x 2 x 32 KiB */
  assert_refused(text_of(s), PREM_ERR_INVALID, 41, "platform.best_effort");
  s = usual();
  s.threads = 2016; /* more than a block holds */
  assert_refused(text_of(s), PREM_ERR_INVALID, 42, "platform.block_threads");
}

/* An interval's computes read and write arrays. */
TEST(what_no_gate_could_hold_is_refused) {
  assert_refused(
      text("version = 1; name = \"t\"; platform: { blocks = 2; clock_step_ns = %dL;"
           "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
           "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; },"
           "  { name = \"maze\"; type = \"f32\"; shape = [ 64 ]; fill = \"random\"; } );"
           "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = "
           "[ 64 ]; arrays: { in = \"x\"; out = \"new\"; }; period_ns = 9600000L;"
           "  prefetch: { wcet_ns = 9600L; }; compute: { wcet_ns = 9600L; };"
           "  writeback: { wcet_ns = 9600L; }; },"
           "{ name = \"load\"; kernel = \"walk\"; class = \"best_effort\"; blocks = [ 1 ];"
           "  tile = [ 8 ]; args: { walkers = 16; steps = 2; };"
           "  arrays: { vector = \"maze\"; out = \"new\"; };"
           "  compute: { wcet_ns = 9600L; }; } );",
           CLOCK_NS),
      PREM_ERR_UNAVAILABLE, 0, "tasks.load.compute");
}
