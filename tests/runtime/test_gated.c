/* SPDX-License-Identifier: Apache-2.0 */
/* Best-effort tasks in the simulator: no memory phase of theirs in a closed window, whatever the
 * tasks, the clock's step, the times within the bounds and the delay from reading to copy. */

#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "runtime/core/backend.h"
#include "runtime/core/best_effort.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SETS = ROUNDS(3000), TEXT_BYTES = 8192, MAX_WINDOWS = 8, MAX_PHASES = 2 * MAX_WINDOWS };

/* ---- random sets ----------------------------------------------------------------------------- */

static uint64_t state;
static int64_t clock_step_ns = 1;

static int64_t draw(int64_t low, int64_t high) {
  return low + prem_random_below(&state, high - low + 1);
}

typedef struct random_set {
  char text[TEXT_BYTES];
  size_t length;
  int64_t hyperperiod_ns, step_ns, open_ns, longest_ns;
  int32_t windows, phases;
  int64_t start_ns[MAX_WINDOWS], end_ns[MAX_WINDOWS];
  int64_t over_ns[MAX_WINDOWS]; /* where the last phase of a window ends, or sooner than that */
  int64_t phase_ns[MAX_PHASES], took_ns[MAX_PHASES];
} random_set;

static void PREM_PRINTF(2, 3) put(random_set *set, const char *format, ...) {
  va_list args;
  va_start(args, format);
  set->length +=
      (size_t)vsnprintf(set->text + set->length, sizeof set->text - set->length, format, args);
  va_end(args);
  ck_assert_uint_lt(set->length, sizeof set->text);
}

static int64_t put_bound(random_set *set, const char *phase) {
  const int64_t bound_ns = draw(1, draw(0, 3) ? 40 : 200);
  put(set, " %s: { wcet_ns = %lldL; };", phase, (long long)bound_ns);
  return bound_ns;
}

static void put_load(random_set *set, int32_t number, int32_t blocks) {
  put(set,
      ", { name = \"load%d\"; class = \"best_effort\"; kernel = \"none\"; blocks = \"1-%d\"; "
      "tiles = %d;",
      number, blocks, (int)draw(1, 9));
  if (number > 0 && draw(0, 1))
    put(set, " after = ( { task = \"load%d\"; } );", (int)draw(0, number - 1));
  const bool fetches = draw(0, 7) > 0, stores = draw(0, 3) > 0;
  int64_t bound_ns = 0;
  if (fetches || !stores)
    bound_ns = put_bound(set, "prefetch");
  if (draw(0, 3))
    put_bound(set, "compute");
  if (stores)
    bound_ns = prem_max_i64(bound_ns, put_bound(set, "writeback"));
  set->longest_ns = prem_max_i64(set->longest_ns, bound_ns);
  put(set, " }");
}

/* Windows on the clock's grid, each that of one or two critical prefetches; some meet at the end.
 */
static void put_plan(random_set *set) {
  put(set, "plan: { hyperperiod_ns = %lldL; starts = ( ", (long long)set->hyperperiod_ns);
  for (int32_t i = 0; i < set->phases; ++i)
    put(set, "%s{ task = \"c%d\"; phase = \"prefetch\"; block = 0; start_ns = [ %lldL ]; }",
        i ? ", " : "", i, (long long)set->phase_ns[i]);
  put(set, " ); closed: { open_ns = 1L; start_ns = [ ");
  for (int32_t w = 0; w < set->windows; ++w)
    put(set, "%s%lldL", w ? ", " : "", (long long)set->start_ns[w]);
  put(set, " ]; end_ns = [ ");
  for (int32_t w = 0; w < set->windows; ++w)
    put(set, "%s%lldL", w ? ", " : "", (long long)set->end_ns[w]);
  put(set, " ]; }; };");
}

static void add_phase(random_set *set, int64_t *at_ns) {
  const int64_t took_ns = draw(1, 20) * set->step_ns;
  set->phase_ns[set->phases] = *at_ns;
  set->took_ns[set->phases++] = took_ns;
  *at_ns += took_ns;
}

static void draw_windows(random_set *set) {
  const int64_t step_ns = set->step_ns;
  int64_t at_ns = draw(0, 1) ? 0 : draw(0, 20) * step_ns;
  set->windows = 0;
  for (int32_t count = (int32_t)draw(1, MAX_WINDOWS); set->windows < count; ++set->windows) {
    set->start_ns[set->windows] = at_ns;
    add_phase(set, &at_ns);
    if (draw(0, 1)) {
      at_ns += draw(0, 10) * step_ns;
      add_phase(set, &at_ns);
    }
    set->over_ns[set->windows] = at_ns;
    set->end_ns[set->windows] = at_ns += draw(0, 1) * draw(1, 60) * step_ns;
    at_ns += draw(1, 60) * step_ns;
  }
  const int64_t last_ns = set->end_ns[set->windows - 1];
  set->hyperperiod_ns = draw(0, 1) ? last_ns : last_ns + draw(1, 80) * step_ns;
}

static prem_schedule *random_schedule(random_set *set) {
  *set = (random_set){.step_ns = draw(0, 1) ? 1 : draw(2, 32)};
  const int32_t blocks = (int32_t)draw(1, 3);
  draw_windows(set);
  put(set,
      "version = 1; name = \"random\"; platform: { blocks = %d; clock_step_ns = %lldL; "
      "best_effort: { buffers = %d; }; }; tasks = ( ",
      blocks + 1, (long long)set->step_ns, (int)draw(1, 3));
  for (int32_t i = 0; i < set->phases; ++i)
    put(set,
        "%s{ name = \"c%d\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; prefetch: { wcet_ns "
        "= %lldL; }; }",
        i ? ", " : "", i, (long long)set->took_ns[i]);
  for (int32_t count = (int32_t)draw(1, 3), i = 0; i < count; ++i)
    put_load(set, i, blocks);
  put(set, " );");
  put_plan(set);
  prem_schedule *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_schedule_load_text("random", set->text, &schedule, diag) != PREM_OK ||
      prem_schedule_bind(schedule, prem_registry_builtin(), diag) != PREM_OK)
    abort_with(set->text, diag);
  return schedule;
}

/* ---- running them ---------------------------------------------------------------------------- */

/* A simulator whose clock goes in the file's steps. */
static prem_status stepping_probe(prem_machine *machine, prem_diag *diag) {
  const prem_status status = prem_backend_sim.probe(machine, diag);
  machine->clock_step_ns = clock_step_ns;
  return status;
}

static prem_trace *run_beside(const prem_schedule *schedule, prem_mode mode, int64_t hyperperiods,
                              uint64_t seed, prem_verdict *verdict) {
  static prem_backend stepping;
  stepping = prem_backend_sim;
  stepping.probe = stepping_probe;
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {.mode = mode, .hyperperiods = hyperperiods, .seed = seed};
  if (prem_session_open(&stepping, schedule, &session, diag) != PREM_OK ||
      prem_session_trace_new(session, hyperperiods, 100000, &trace) != PREM_OK ||
      prem_session_poison(session) != PREM_OK ||
      prem_session_run(session, &request, trace, diag) != PREM_OK)
    abort_with("run", diag);
  if (verdict)
    ck_assert_int_eq(prem_session_verify(session, verdict), PREM_OK);
  prem_session_close(session);
  ck_assert_int_eq(trace->lost, 0);
  return trace;
}

/* Best-effort memory phases that share an instant with a part of a window of each hyperperiod. */
static int64_t count_in(const prem_trace *trace, const random_set *set, const int64_t *start_ns,
                        const int64_t *end_ns) {
  int64_t inside = 0;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *r = &trace->records[i];
    for (int32_t w = 0; r->phase != PREM_COMPUTE && w < set->windows; ++w)
      for (int64_t h = r->start_ns / set->hyperperiod_ns; h <= r->end_ns / set->hyperperiod_ns; ++h)
        inside += r->start_ns < h * set->hyperperiod_ns + end_ns[w] &&
                  r->end_ns > h * set->hyperperiod_ns + start_ns[w];
  }
  return inside;
}

/* While critical phases are at work in it, or to come. */
static int64_t count_inside(const prem_trace *trace, const random_set *set) {
  return count_in(trace, set, set->start_ns, set->over_ns);
}

static void assert_undisturbed(const prem_trace *trace, int32_t tasks) {
  for (int32_t t = 0; t < tasks; ++t) {
    const prem_phase_stats *stats = &trace->stats[t * PREM_PHASE_COUNT];
    ck_assert_int_eq(stats->overruns, 0);
    ck_assert_int_eq(stats->late, 0);
  }
}

GROUP("gated", .timeout_s = getenv("TTPREM_GATED_SETS") ? 0 : 60);

TEST(no_phase_is_in_a_closed_window) {
  const char *wanted = getenv("TTPREM_GATED_SETS"); /* 1000000, by hand */
  const int64_t sets = wanted ? atoll(wanted) : SETS;
  int64_t gated = 0, waited = 0, idle = 0, inside_free = 0, early = 0;
  for (int64_t i = 0; i < sets; ++i) {
    state = (uint64_t)i;
    random_set set;
    OWNED(prem_schedule) *schedule = random_schedule(&set);
    clock_step_ns = set.step_ns;
    const uint64_t seed = draw(0, 3) ? 1 + (uint64_t)draw(0, 1 << 30) : 0;
    prem_trace *trace = run_beside(schedule, PREM_MODE_TT, 5, seed, NULL);
    if (count_inside(trace->best_effort->trace, &set) > 0)
      ck_abort_msg("set %lld: a phase in a closed window: %s", (long long)i, set.text);
    early += count_in(trace->best_effort->trace, &set, set.over_ns, set.end_ns);
    assert_undisturbed(trace, set.phases);
    for (int32_t t = 0; t < trace->best_effort->trace->task_count; ++t) {
      ck_assert_int_eq(trace->best_effort->counts[t].overruns, 0);
      waited += trace->best_effort->counts[t].waits;
    }
    gated += trace->best_effort->trace->record_count;
    idle += trace->best_effort->trace->record_count == 0;
    prem_trace_free(trace);
    if (i % 8 == 0) {
      trace = run_beside(schedule, PREM_MODE_FREE, 5, seed, NULL);
      inside_free += count_inside(trace->best_effort->trace, &set);
      prem_trace_free(trace);
    }
  }
  ck_assert_int_gt(gated, 20 * sets);      /* they got something done, */
  ck_assert_int_gt(waited, sets);          /* stood back for it, */
  ck_assert_int_gt(early, sets);           /* no longer than they had to, */
  ck_assert_int_lt(idle, sets / 4);        /* mostly, */
  ck_assert_int_gt(inside_free, sets / 8); /* and would not have without a gate */
}

/* ---- known instants -------------------------------------------------------------------------- */

/* A critical prefetch in [100, 150) of 200, and a load of one task on another block. */
static prem_schedule *one_window(const char *load) {
  prem_schedule *schedule = schedule_from_text(text(
      "version = 1; name = \"t\"; platform: { blocks = 2; best_effort: { buffers = 1; }; };"
      "tasks = ( { name = \"critical\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; prefetch: { "
      "wcet_ns = 50L; }; }, { name = \"load\"; class = \"best_effort\"; kernel = \"none\"; blocks "
      "= [ 1 ]; %s } ); plan: { hyperperiod_ns = 200L; starts = ( { task = \"critical\"; phase = "
      "\"prefetch\"; block = 0; start_ns = [ 100L ]; } ); closed: { open_ns = 120L; start_ns = [ "
      "100L ]; end_ns = [ 150L ]; }; };",
      load));
  clock_step_ns = 1;
  return schedule;
}

static void assert_record(const prem_trace *trace, int64_t i, prem_phase phase, int64_t start_ns,
                          int64_t end_ns) {
  ck_assert_int_lt(i, trace->record_count);
  const prem_trace_record *r = &trace->records[i];
  ck_assert_int_eq(r->phase, phase);
  ck_assert_int_eq(r->start_ns, start_ns);
  ck_assert_int_eq(r->end_ns, end_ns);
}

TEST(a_phase_stands_back_until_the_window_is_over) {
  OWNED(prem_schedule) *schedule =
      one_window("tiles = 1; prefetch: { wcet_ns = 30L; }; compute: { wcet_ns = 25L; };");
  OWNED(prem_trace) *trace = run_beside(schedule, PREM_MODE_TT, 2, 0, NULL);
  prem_best_effort_trace *beside = trace->best_effort;
  prem_trace_sort(beside->trace);
  assert_record(beside->trace, 0, PREM_PREFETCH, 0, 30);
  assert_record(beside->trace, 1, PREM_COMPUTE, 30, 55);
  assert_record(beside->trace, 2, PREM_PREFETCH, 55, 85);
  assert_record(beside->trace, 3, PREM_COMPUTE, 85, 110); /* not held back */
  assert_record(beside->trace, 4, PREM_PREFETCH, 150, 180);
  ck_assert_int_eq(beside->counts[0].waits, 2);
  ck_assert_int_eq(beside->counts[0].wait_ns, 40 + 35); /* 110 to 150; 315 to 350 */
  ck_assert_int_eq(beside->counts[0].jobs, 5);          /* the sixth prefetch is done, no more */
  ck_assert_int_eq(beside->counts[0].tiles, 5);
  ck_assert_int_eq(beside->length_ns, 400);
  ck_assert(beside->gated);
}

/* It may begin at 0 and 45; from 150 on again, as soon as the window's job has ended. */
TEST(a_compute_at_the_memory_stands_back) {
  OWNED(prem_schedule) *schedule =
      one_window("tiles = 1; compute: { wcet_ns = 45L; demand: { memory = 1; }; };");
  OWNED(prem_trace) *trace = run_beside(schedule, PREM_MODE_TT, 1, 0, NULL);
  prem_trace_sort(trace->best_effort->trace);
  assert_record(trace->best_effort->trace, 0, PREM_COMPUTE, 0, 45);
  assert_record(trace->best_effort->trace, 1, PREM_COMPUTE, 45, 90);
  assert_record(trace->best_effort->trace, 2, PREM_COMPUTE, 150, 195);
  ck_assert_int_eq(trace->best_effort->counts[0].waits, 1);
}

/* The bound and a step of the clock fit from 69 on no more. */
TEST(the_last_instant_is_a_bound_and_a_step_before_the_window) {
  for (int64_t length_ns = 68; length_ns <= 70; ++length_ns) {
    OWNED(prem_schedule) *schedule =
        one_window(text("tiles = 1; compute: { wcet_ns = %lldL; }; writeback: { wcet_ns = "
                        "30L; };",
                        (long long)length_ns));
    OWNED(prem_trace) *trace = run_beside(schedule, PREM_MODE_TT, 1, 0, NULL);
    prem_trace_sort(trace->best_effort->trace);
    ck_assert_int_eq(trace->best_effort->counts[0].waits, length_ns > 69);
    const int64_t start_ns = length_ns > 69 ? 150 : length_ns;
    int64_t first = 0;
    while (trace->best_effort->trace->records[first].phase != PREM_WRITEBACK)
      ++first;
    assert_record(trace->best_effort->trace, first, PREM_WRITEBACK, start_ns, start_ns + 30);
  }
}

/* ---- windows that are over ------------------------------------------------------------------- */

/* Two critical blocks, and a load of prefetches of 10 ns; windows as they are given. */
static prem_best_effort_trace *beside;
static prem_trace *run_windows(const char *tasks, const char *plan, int64_t hyperperiods) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = 3; best_effort: { buffers = 1; }; };"
           "tasks = ( %s, { name = \"load\"; class = \"best_effort\"; kernel = \"none\"; blocks = "
           "[ 2 ]; tiles = 1; prefetch: { wcet_ns = 10L; }; } ); plan: { %s };",
           tasks, plan));
  clock_step_ns = 1;
  prem_trace *trace = run_beside(schedule, PREM_MODE_TT, hyperperiods, 0, NULL);
  beside = trace->best_effort;
  prem_trace_sort(beside->trace);
  return trace;
}

/* Where a prefetch of the load begins at an instant or behind it first. */
static int64_t first_start(int64_t at_ns) {
  for (int64_t i = 0; i < beside->trace->record_count; ++i)
    if (beside->trace->records[i].start_ns >= at_ns)
      return beside->trace->records[i].start_ns;
  return -1;
}

#define PREFETCHING(name, block, ns, more)                                                         \
  "{ name = \"" name "\"; kernel = \"none\"; blocks = [ " block " ]; tiles = 1; prefetch: { "      \
  "wcet_ns = " ns "; }; " more " }"
#define BEGINS(name, phase, instants)                                                              \
  "{ task = \"" name "\"; phase = \"" phase "\"; block = 0; start_ns = [ " instants " ]; "         \
  "}"

TEST(a_window_is_over_when_all_its_jobs_are) {
  OWNED(prem_trace) *trace = run_windows(
      PREFETCHING("a", "0", "20L", "") ", " PREFETCHING("b", "1", "30L", ""),
      "hyperperiod_ns = 400L; starts = ( " BEGINS("a", "prefetch", "100L") ", " BEGINS(
          "b", "prefetch", "105L") " ); closed: { open_ns = 1L; start_ns = [ 100L ]; end_ns "
                                   "= [ 300L ]; };",
      2);
  for (int64_t h = 0; h < 2; ++h) { /* they share the memory for a while */
    ck_assert_int_eq(trace->job_end_ns[h * 2 + 1], h * 400 + 150);
    ck_assert_int_eq(first_start(h * 400 + 90), trace->job_end_ns[h * 2 + 1]);
  }
  ck_assert_int_eq(beside->counts[0].waits, 2);
}

/* Its prefetch is done, its writeback is to come in another window. */
TEST(a_window_with_a_job_that_goes_on_lasts_as_planned) {
  OWNED(prem_trace) *trace = run_windows(
      PREFETCHING("a", "0", "20L", "writeback: { wcet_ns = 20L; };"),
      "hyperperiod_ns = 400L; starts = ( " BEGINS("a", "prefetch", "100L") ", " BEGINS(
          "a", "writeback", "200L") " ); closed: { open_ns = 1L; start_ns = [ 100L, 200L ]; "
                                    "end_ns = [ 150L, 300L ]; };",
      2);
  ck_assert_int_eq(first_start(90), 150);
  ck_assert_int_eq(first_start(190), 220);
  ck_assert_int_eq(first_start(490), 550);
}

TEST(each_job_of_a_task_has_its_own_window) {
  OWNED(prem_trace) *trace = run_windows(
      PREFETCHING("a", "0", "20L", "period_ns = 200L;") ", " PREFETCHING("b", "1", "5L",
                                                                         "period_ns = 400L;"),
      "hyperperiod_ns = 400L; starts = ( " BEGINS("a", "prefetch", "40L, 240L") ", " BEGINS(
          "b", "prefetch", "390L") " ); closed: { open_ns = 1L; start_ns = [ 40L, 240L, 390L "
                                   "]; end_ns = [ 100L, 300L, 395L ]; };",
      2);
  for (int64_t h = 0; h < 2; ++h) {
    ck_assert_int_eq(first_start(h * 400 + 32), h * 400 + 60);
    ck_assert_int_eq(first_start(h * 400 + 232), h * 400 + 260);
  }
}

TEST(a_window_of_two_jobs_is_over_with_the_second) {
  OWNED(prem_trace) *trace = run_windows(
      PREFETCHING("b", "1", "5L", "period_ns = 400L;") ", " PREFETCHING("a", "0", "20L",
                                                                        "period_ns = 200L;"),
      "hyperperiod_ns = 400L; starts = ( " BEGINS("a", "prefetch", "40L, 240L") ", " BEGINS(
          "b", "prefetch", "45L") " ); closed: { open_ns = 1L; start_ns = [ 40L ]; end_ns = [ 350L "
                                  "]; };",
      2);
  ck_assert_int_eq(first_start(32), 260);
  ck_assert_int_eq(first_start(432), 660);
}

/* What a phase of the load outlived its bound into. */
TESTS(windows_are_those_of_the_task_that_opens_them, 2) {
  static const char *const plans[] = {
      BEGINS("a", "prefetch", "100L") ", " BEGINS("b", "prefetch", "110L"),
      BEGINS("a", "prefetch", "110L") ", " BEGINS("b", "prefetch", "100L")};
  OWNED(prem_schedule) *schedule = schedule_from_text(text(
      "version = 1; name = \"t\"; platform: { blocks = 3; }; tasks = ( { name = \"load\"; class "
      "= \"best_effort\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; prefetch: { wcet_ns = "
      "10L; }; }, " PREFETCHING("a", "0", "20L", "") ", " PREFETCHING(
          "b", "1", "30L", "") " ); plan: { hyperperiod_ns = 400L; starts = ( %s ); closed: { "
                               "open_ns = 1L; start_ns = [ 100L ]; end_ns = [ 200L ]; }; };",
      plans[_i]));
  prem_free_part *part = NULL;
  ck_assert_int_eq(prem_free_part_new(schedule, &part, NULL), PREM_OK);
  ck_assert_int_eq(part->closed_for[0], _i);
  ck_assert_int_eq(part->due_from[1] - part->due_from[0], 2);
  prem_free_part_free(part);
}

/* [190, 220) of 200, cut in two: the first part is over with the second, the second early. */
TEST(a_phase_may_reach_over_the_hyperperiods_end) {
  OWNED(prem_trace) *trace =
      run_windows(PREFETCHING("a", "0", "30L", "period_ns = 200L;"),
                  "hyperperiod_ns = 200L; starts = ( " BEGINS(
                      "a", "prefetch",
                      "190L") " ); closed: { "
                              "open_ns = 1L; start_ns = [ 0L, 190L ]; end_ns = [ 60L, 200L ]; };",
                  4);
  ck_assert_int_eq(first_start(0), 0); /* nothing came before the first one */
  for (int64_t h = 1; h < 4; ++h)
    ck_assert_int_eq(first_start(h * 200 - 9), h * 200 + 20);
}

/* Nobody says when warm-up tiles are done, nor whose a window is that no phase is in. */
TEST(windows_of_nobody_last_as_planned) {
  prem_trace *trace = run_windows(
      PREFETCHING("a", "0", "20L", ""),
      "hyperperiod_ns = 400L; starts = ( " BEGINS(
          "a", "prefetch",
          "100L") " ); closed: { "
                  "open_ns = 1L; start_ns = [ 100L, 250L ]; end_ns = [ 200L, 350L ]; };",
      2);
  ck_assert_int_eq(first_start(95), 120);
  ck_assert_int_eq(first_start(245), 350);
  prem_trace_free(trace);
  trace = run_windows(
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2; prefetch: { wcet_ns = 20L; }; "
      "}",
      "hyperperiod_ns = 400L; warmup_tiles = 1; warmup_ns = 60L; starts = ( { task = \"a\"; phase "
      "= \"prefetch\"; block = 0; start_ns = [ 60L ]; } ); closed: { open_ns = 1L; "
      "start_ns = [ 0L, 60L ]; end_ns = [ 60L, 200L ]; };",
      2);
  ck_assert_int_eq(first_start(0), 80);
  ck_assert_int_eq(first_start(390), 480);
  prem_trace_free(trace);
  trace = run_windows(
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2; prefetch: { wcet_ns = 20L; }; "
      "}",
      "hyperperiod_ns = 400L; warmup_tiles = 1; warmup_ns = 60L; starts = ( { task = \"a\"; phase "
      "= \"prefetch\"; block = 0; start_ns = [ 60L ]; } ); closed: { open_ns = 1L; "
      "start_ns = [ 0L ]; end_ns = [ 200L ]; };",
      1);
  ck_assert_int_eq(first_start(0), 200);
  prem_trace_free(trace);
}

TEST(without_a_gate_the_critical_phase_takes_longer) {
  OWNED(prem_schedule) *schedule = one_window("tiles = 1; prefetch: { wcet_ns = 30L; };");
  prem_trace *trace = run_beside(schedule, PREM_MODE_FREE, 1, 0, NULL);
  ck_assert(!trace->best_effort->gated);
  ck_assert_int_eq(trace->best_effort->counts[0].waits, 0);
  ck_assert_int_eq(trace->job_end_ns[0], 100); /* begun at 0, at half the pace */
  prem_trace_free(trace);
  trace = run_beside(schedule, PREM_MODE_TT, 1, 0, NULL);
  ck_assert_int_eq(trace->job_end_ns[0], 150);
  prem_trace_free(trace);
}

TEST(a_rate_is_kept_while_there_is_room) {
  OWNED(prem_schedule) *schedule =
      one_window("tiles = 1; period_ns = 400L; prefetch: { wcet_ns = 30L; };");
  OWNED(prem_trace) *trace = run_beside(schedule, PREM_MODE_TT, 10, 0, NULL);
  prem_trace_sort(trace->best_effort->trace);
  ck_assert_int_eq(trace->best_effort->counts[0].jobs, 5);
  for (int64_t i = 0; i < 5; ++i)
    assert_record(trace->best_effort->trace, i, PREM_PREFETCH, 400 * i, 400 * i + 30);
}

/* Three tiles, a nanosecond for each phase: an order of 8 ns, or of 12 with one buffer. At 8 ns and
 * more no tile is alive across a period's start, so that buffers keep their numbers. */
TESTS(a_period_that_is_shorter_than_its_order_is_refused, 2) {
  static const char *const fetches[] = {"", "prefetch: { wcet_ns = 30L; };"};
  for (int buffers = 1; buffers <= 4; ++buffers)
    for (int period_ns = 1; period_ns < 16; ++period_ns) {
      OWNED(prem_schedule) *schedule = schedule_from_text(text(
          "version = 1; name = \"t\"; platform: { blocks = 2; best_effort: { buffers = %d; }; };"
          "tasks = ( " PREFETCHING(
              "a", "0", "20L",
              "") ", { name = \"load\"; kernel = \"none\";"
                  " class = \"best_effort\"; blocks = [ 1 ]; tiles = 3; period_ns = %dL; %s"
                  " writeback: { wcet_ns = 30L; }; } ); plan: { hyperperiod_ns = 400L; starts = "
                  "( " BEGINS("a", "prefetch",
                              "100L") " ); closed: { open_ns = 1L; start_ns = [ 100L ];"
                                      " end_ns = [ 200L ]; }; };",
          buffers, period_ns, fetches[_i]));
      OWNED(prem_diag) *diag = prem_diag_new();
      prem_free_part *part = NULL;
      const bool is_long = period_ns >= (buffers == 1 ? 12 : 8);
      ck_assert_int_eq(prem_free_part_new(schedule, &part, diag),
                       is_long ? PREM_OK : PREM_ERR_INVALID);
      ck_assert(is_long ? !part->program->blocks[1].turns : prem_diag_has(diag, 43));
      if (!is_long)
        ck_assert_str_eq(prem_diag_at(diag, 0)->key, "tasks.load.period_ns");
      prem_free_part_free(part);
    }
}

TEST(what_never_fits_never_begins_and_the_run_ends) {
  OWNED(prem_schedule) *schedule = one_window("tiles = 1; prefetch: { wcet_ns = 151L; };");
  OWNED(prem_trace) *trace = run_beside(schedule, PREM_MODE_TT, 50, 0, NULL);
  ck_assert_int_eq(trace->best_effort->trace->record_count, 0);
  ck_assert_int_eq(trace->hyperperiods, 50);
}

TEST(other_modes_say_that_they_run_none) {
  OWNED(prem_schedule) *schedule = one_window("tiles = 1; prefetch: { wcet_ns = 30L; };");
  OWNED(prem_session) *session = open_on("sim", schedule);
  prem_trace *trace = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_session_trace_new(session, 1, 0, &trace), PREM_OK);
  const prem_run_request request = {.mode = PREM_MODE_LOCK, .hyperperiods = 1};
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "'load'"));
  prem_trace_free(trace);
  /* nor is a trace without room for them taken */
  ck_assert_int_eq(prem_trace_new(prem_session_critical(session), 1, 0, &trace), PREM_OK);
  const prem_run_request planned = {.mode = PREM_MODE_TT, .hyperperiods = 1};
  ck_assert_int_eq(prem_session_run(session, &planned, trace, diag), PREM_ERR_ARGUMENT);
  prem_trace_free(trace);
}

/* ---- a CUDA graph of the application's ------------------------------------------------------- */

static prem_schedule *beside_a_graph(void) {
  return schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 2; };"
      "tasks = ( { name = \"critical\"; kernel = \"noop\"; blocks = [ 0 ]; tiles = 1; prefetch: { "
      "wcet_ns = 50L; }; }, { name = \"mine\"; class = \"best_effort\"; kernel = \"cuda_graph\";"
      " blocks = [ 1 ]; compute: { wcet_ns = 45L; }; } ); plan: { hyperperiod_ns = 200L; starts = "
      "( "
      "{ task = \"critical\"; phase = \"prefetch\"; block = 0; start_ns = [ 100L ]; } ); closed: {"
      " open_ns = 104L; start_ns = [ 100L ]; end_ns = [ 150L ]; }; };");
}

/* Its bound, from 0, 45 and 150 on. */
TEST(a_graph_takes_its_bound) {
  OWNED(prem_schedule) *schedule = beside_a_graph();
  clock_step_ns = 1;
  assert_checked(schedule);
  OWNED(prem_trace) *trace = run_beside(schedule, PREM_MODE_TT, 1, 0, NULL);
  const prem_best_effort_trace *load = trace->best_effort;
  prem_trace_sort(load->trace);
  assert_record(load->trace, 0, PREM_COMPUTE, 0, 45);
  assert_record(load->trace, 1, PREM_COMPUTE, 45, 90);
  assert_record(load->trace, 2, PREM_COMPUTE, 150, 195);
  ck_assert_int_eq(load->counts[0].jobs, 3);
  ck_assert_int_eq(load->counts[0].waits, 1);
}

TEST(other_backends_run_no_graph) {
  OWNED(prem_schedule) *schedule = beside_a_graph();
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_diag) *diag = prem_diag_new();
  int graph = 0;
  ck_assert_int_eq(prem_session_attach_graph(session, "mine", &graph, diag), PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "'sim' runs no graph"));
  ck_assert_int_eq(prem_session_attach_graph(session, "critical", &graph, diag), PREM_ERR_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 1)->reason, "no task 'critical' has kernel"));
  OWNED(prem_session) *other = NULL;
  ck_assert_int_eq(prem_session_open(prem_backend_find("cpu"), schedule, &other, diag),
                   PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 2)->reason, "'sim' takes its bound for it"));
}

/* ---- data ------------------------------------------------------------------------------------ */

TEST(outputs_of_both_classes_are_right) {
  OWNED(prem_schedule) *schedule =
      planned_schedule(SOURCE_DIR "/schedules/examples/beside_a_load.cfg");
  prem_verdict verdict;
  clock_step_ns = 1;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    OWNED(prem_trace) *trace = run_beside(schedule, PREM_MODE_TT, 20, seed, &verdict);
    ck_assert(verdict.ok);
    const prem_best_effort_counts *counts = &trace->best_effort->counts[0];
    ck_assert_int_gt(counts->jobs, 0);
    ck_assert_int_eq(counts->overruns, 0);
    /* 8 KiB in and out of each tile; of those under way one phase may be done */
    ck_assert_int_ge(counts->bytes, counts->tiles * 2 * 8192);
    ck_assert_int_le(counts->bytes, (counts->tiles + 3) * 2 * 8192);
  }
}
