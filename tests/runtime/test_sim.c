/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator: sharing, releases, tokens, precedence, data. */
#include "runtime/core/backend.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static const prem_trace_record *assert_phase(const prem_trace *trace, const prem_schedule *schedule,
                                             const char *task, int32_t tile, prem_phase phase,
                                             int64_t start_ns, int64_t end_ns) {
  const prem_trace_record *record = find_phase(trace, schedule, task, tile, phase);
  ck_assert_msg(record->start_ns == start_ns && record->end_ns == end_ns,
                "%s of %s tile %d in [%lld, %lld), not [%lld, %lld)", prem_phase_name(phase), task,
                tile, (long long)record->start_ns, (long long)record->end_ns, (long long)start_ns,
                (long long)end_ns);
  return record;
}

static void assert_no_lateness(const prem_trace *trace, const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_phase_stats *stats = &trace->stats[t * PREM_PHASE_COUNT + p];
      ck_assert_int_eq(stats->late, 0);
      ck_assert_int_eq(stats->overruns, 0);
      if (stats->releases)
        ck_assert_int_eq(stats->lateness_max_ns, 0);
      if (stats->count && !schedule->tasks[t].joined.exists) {
        ck_assert_int_eq(stats->duration_min_ns, schedule->tasks[t].phase[p].wcet_ns);
        ck_assert_int_eq(stats->duration_max_ns, schedule->tasks[t].phase[p].wcet_ns);
      }
    }
}

/* ---- sharing -------------------------------------------------------------------------------- */

/* Two blocks that prefetch one tile each, one after the other in the plan. */
static prem_schedule *two_prefetches(const char *resources, const char *first, const char *second,
                                     int64_t second_start_ns) {
  return checked_schedule(text(
      "version = 1; name = \"t\"; platform: { blocks = 2; %s };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1; prefetch: { %s }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 1; prefetch: { %s }; } );"
      "plan: { hyperperiod_ns = 1000L; runs = ( { task = \"a\"; phase = \"prefetch\"; start_ns = "
      "0L; },"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = %lldL; } ); };",
      resources, first, second, (long long)second_start_ns));
}

static void assert_free_ends(prem_schedule *schedule, int64_t a_ns, int64_t b_ns) {
  prem_trace *trace = simulate(schedule, PREM_MODE_FREE, 1);
  assert_phase(trace, schedule, "a", 0, PREM_PREFETCH, 0, a_ns);
  assert_phase(trace, schedule, "b", 0, PREM_PREFETCH, 0, b_ns);
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_TT, 1);
  assert_no_lateness(trace, schedule);
  prem_trace_free(trace);
  prem_schedule_free(schedule);
}

GROUP("sharing");

TEST(free_interferes_where_tt_does_not) {
  const char *memory = "resources = ( { name = \"memory\"; capacity = 3; } );";
  assert_free_ends(two_prefetches("", "wcet_ns = 10L;", "wcet_ns = 10L;", 10), 20, 20);
  /* the longer one has the memory alone at the end */
  assert_free_ends(two_prefetches("", "wcet_ns = 10L;", "wcet_ns = 30L;", 10), 20, 40);
  /* demand 4 of 3: at three quarters of the pace */
  assert_free_ends(two_prefetches(memory, "wcet_ns = 9L; demand: { memory = 2; };",
                                  "wcet_ns = 9L; demand: { memory = 2; };", 9),
                   12, 12);
  /* within the capacity: as if alone */
  assert_free_ends(two_prefetches(memory, "wcet_ns = 9L; demand: { memory = 2; };",
                                  "wcet_ns = 9L; demand: { memory = 1; };", 3),
                   9, 9);
  /* what is left of the first after 6 at half the pace is latency only */
  assert_free_ends(
      two_prefetches("", "wcet_ns = 10L; busy_ns = 6L;", "wcet_ns = 10L; busy_ns = 6L;", 6), 16,
      16);
}

TEST(ends_are_rounded_up) {
  const char *memory = "resources = ( { name = \"memory\"; capacity = 2; } );";
  /* 10 at 2/3 is 15; 11 at 2/3 is 16.5 */
  assert_free_ends(
      two_prefetches(memory, "wcet_ns = 10L; demand: { memory = 2; };", "wcet_ns = 10L;", 10), 15,
      15);
  assert_free_ends(
      two_prefetches(memory, "wcet_ns = 11L; demand: { memory = 2; };", "wcet_ns = 11L;", 11), 17,
      17);
}

TEST(the_shortest_resource_sets_the_pace) {
  const char *two = "resources = ( { name = \"memory\"; capacity = 2; },"
                    "  { name = \"link\"; capacity = 1; } );";
  assert_free_ends(two_prefetches(two, "wcet_ns = 10L; demand: { memory = 2; link = 1; };",
                                  "wcet_ns = 10L; demand: { memory = 1; link = 1; };", 10),
                   20, 20);
  /* b has no part in the link: both run at 2/3 while both are there */
  assert_free_ends(two_prefetches(two, "wcet_ns = 10L; demand: { memory = 2; link = 1; };",
                                  "wcet_ns = 10L; demand: { memory = 1; };", 10),
                   15, 15);
}

TEST(a_phase_that_joins_later_slows_from_then_on) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
      "    prefetch: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 1; release_ns = 4L;"
      "    prefetch: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"prefetch\"; start_ns = "
      "0L; },"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 10L; } ); };");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 2);
  assert_phase(trace, schedule, "a", 0, PREM_PREFETCH, 0, 16);
  const prem_trace_record *b = assert_phase(trace, schedule, "b", 0, PREM_PREFETCH, 4, 20);
  ck_assert_int_eq(b->release_ns, PREM_NO_RELEASE);
  ck_assert_int_eq(trace->job_end_ns[0], 16);
  ck_assert_int_eq(trace->job_end_ns[3], 120);
}

TEST(a_gang_counts_once) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 4;"
      "  resources = ( { name = \"memory\"; capacity = 1; per = \"task\"; } ); };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 2;"
      "    prefetch: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = 2; tiles = 2; prefetch: { "
      "wcet_ns = 30L; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; count = 2; },"
      "  { task = \"b\"; phase = \"prefetch\"; count = 2; start_ns = 10L; } ); };");
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 3);
  assert_no_lateness(trace, schedule);
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_FREE, 1);
  for (int tile = 0; tile < 2; ++tile) {
    assert_phase(trace, schedule, "a", tile, PREM_PREFETCH, 0, 20);
    assert_phase(trace, schedule, "b", tile, PREM_PREFETCH, 0, 40);
  }
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_LOCK, 1);
  for (int tile = 0; tile < 2; ++tile) {
    assert_phase(trace, schedule, "a", tile, PREM_PREFETCH, 0, 10);
    assert_phase(trace, schedule, "b", tile, PREM_PREFETCH, 10, 40);
  }
  prem_trace_free(trace);
}

TEST(computes_share_what_they_demand) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 2;"
      "  resources = ( { name = \"memory\"; capacity = 1; }, { name = \"alu\"; capacity = 3; } ); "
      "};"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 2;"
      "  compute: { wcet_ns = 30L; demand: { alu = 2; }; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"a\"; phase = \"compute\"; start_ns = 0L; count = 2; block_step_ns = 30L; } ); "
      "};");
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 1);
  assert_no_lateness(trace, schedule);
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_FREE, 1);
  assert_phase(trace, schedule, "a", 0, PREM_COMPUTE, 0, 40);
  assert_phase(trace, schedule, "a", 1, PREM_COMPUTE, 0, 40);
  prem_trace_free(trace);
}

TEST(long_phases_do_not_overflow) {
  const int64_t day_ns = INT64_C(86400000000000);
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 3; };"
      "tasks = ( { name = \"a\"; copies = 3; kernel = \"none\"; blocks = 1; tiles = 1;"
      "    prefetch: { wcet_ns = 86400000000000L; }; } );"
      "plan: { hyperperiod_ns = 864000000000000L; runs = ( { task = \"a.0\"; phase = \"prefetch\"; "
      "start_ns = 0L; },"
      "  { task = \"a.1\"; phase = \"prefetch\"; start_ns = 86400000000000L; },"
      "  { task = \"a.2\"; phase = \"prefetch\"; start_ns = 172800000000000L; } ); };");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 2);
  assert_phase(trace, schedule, "a.1", 0, PREM_PREFETCH, 0, 3 * day_ns);
}

/* One group at work for hours without a pause: its clock is set back while phases are going on. */
TEST(a_busy_group_may_last) {
  const long long step_ns = 1LL << 40;
  OWNED(prem_schedule) *schedule = checked_schedule(text(
      "version = 1; name = \"t\"; platform: { blocks = 3;"
      "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
      "tasks = ( { name = \"a\"; copies = 3; kernel = \"none\"; blocks = 1; tiles = 24;"
      "  prefetch: { wcet_ns = %lldL; }; } );"
      "plan: { hyperperiod_ns = %lldL; runs = ("
      "  { task = \"a.0\"; phase = \"prefetch\"; start_ns = 0L; repeat = 24; step_ns = %lldL; },"
      "  { task = \"a.1\"; phase = \"prefetch\"; start_ns = %lldL; repeat = 24; step_ns = %lldL; },"
      "  { task = \"a.2\"; phase = \"prefetch\"; start_ns = %lldL; repeat = 24; step_ns = %lldL; }"
      "); };",
      step_ns, 49 * step_ns, step_ns, step_ns / 2, step_ns, 25 * step_ns, step_ns));
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 1);
  assert_no_lateness(trace, schedule);
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_FREE, 1); /* three of two, without a pause */
  for (int task = 0; task < 3; ++task)
    ck_assert_int_eq(trace->job_end_ns[task], 36 * step_ns);
  prem_trace_free(trace);
}

/* ---- tokens --------------------------------------------------------------------------------- */

TEST(lock_serialises_in_the_order_of_asking) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 3; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 5L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 1; prefetch: { wcet_ns = 20L; }; },"
      "  { name = \"c\"; kernel = \"none\"; blocks = 1; tiles = 1;"
      "    prefetch: { wcet_ns = 9L; busy_ns = 5L; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; chain = [ \"compute\" ]; repeat = 2; "
      "step_ns = 15L; },"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 30L; },"
      "  { task = \"c\"; phase = \"prefetch\"; start_ns = 50L; } ); };");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_LOCK, 1);
  assert_phase(trace, schedule, "a", 0, PREM_PREFETCH, 0, 10);
  const prem_trace_record *b = assert_phase(trace, schedule, "b", 0, PREM_PREFETCH, 10, 30);
  ck_assert_int_eq(b->ready_ns, 0);
  /* its token is given back after 5, its last byte arrives after 9 */
  assert_phase(trace, schedule, "c", 0, PREM_PREFETCH, 30, 39);
  assert_phase(trace, schedule, "a", 1, PREM_PREFETCH, 35, 45); /* asked at 15 */
}

TEST(nobody_jumps_the_queue) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 3;"
      "  resources = ( { name = \"memory\"; capacity = 2; } ); };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
      "    prefetch: { wcet_ns = 20L; }; },"
      "  { name = \"wide\"; kernel = \"none\"; blocks = 1; tiles = 1; release_ns = 5L;"
      "    prefetch: { wcet_ns = 10L; demand: { memory = 2; }; }; },"
      "  { name = \"c\"; kernel = \"none\"; blocks = 1; tiles = 1; release_ns = 6L;"
      "    prefetch: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; },"
      "  { task = \"wide\"; phase = \"prefetch\"; start_ns = 20L; },"
      "  { task = \"c\"; phase = \"prefetch\"; start_ns = 30L; } ); };");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_LOCK, 1);
  assert_phase(trace, schedule, "wide", 0, PREM_PREFETCH, 20, 30);
  assert_phase(trace, schedule, "c", 0, PREM_PREFETCH, 30, 40); /* there was room at 6 already */
}

/* ---- releases, precedence, joined pairs ----------------------------------------------------- */

GROUP("order");

TEST(stamps_name_the_cause) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
      "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 30L; };"
      "  writeback: { wcet_ns = 5L; }; } );"
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 20L; repeat = 2; step_ns = 10L; },"
      "  { task = \"a\"; phase = \"compute\"; chain = [ \"writeback\" ]; start_ns = 40L; repeat = "
      "2;"
      "    step_ns = 40L; } ); };");
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 1);
  const prem_trace_record *c = assert_phase(trace, schedule, "a", 0, PREM_COMPUTE, 40, 70);
  ck_assert_int_eq(c->release_ns, 40);
  ck_assert_int_eq(c->ready_ns, 30);
  const prem_trace_record *wb = assert_phase(trace, schedule, "a", 0, PREM_WRITEBACK, 70, 75);
  ck_assert_int_eq(wb->release_ns, PREM_NO_RELEASE);
  ck_assert_int_eq(wb->ready_ns, 70);
  ck_assert(wb->flags & PREM_SLOT_CHAINED);
  c = assert_phase(trace, schedule, "a", 1, PREM_COMPUTE, 80, 110);
  ck_assert_int_eq(c->ready_ns, 70); /* its data was there, the unit was not */
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_FREE, 1);
  assert_phase(trace, schedule, "a", 0, PREM_PREFETCH, 0, 10);
  assert_phase(trace, schedule, "a", 1, PREM_PREFETCH, 10, 20);
  assert_phase(trace, schedule, "a", 1, PREM_COMPUTE, 40, 70);
  assert_phase(trace, schedule, "a", 1, PREM_WRITEBACK, 70, 75);
  prem_trace_free(trace);
}

TEST(successors_follow_in_every_mode) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 3;"
      "  resources = ( { name = \"memory\"; capacity = 9; } ); };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 3;"
      "    prefetch: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 2; prefetch: { wcet_ns = 5L; };"
      "    after = ( { task = \"a\"; lag_ns = 7L; } ); },"
      "  { name = \"c\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; compute: { wcet_ns = 5L; };"
      "    after = ( { task = \"b\"; } ); } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; count = 2; repeat = 2; step_ns = "
      "15L; },"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 50L; repeat = 2; step_ns = 15L; },"
      "  { task = \"c\"; phase = \"compute\"; start_ns = 80L; } ); };");
  const prem_mode modes[] = {PREM_MODE_FREE, PREM_MODE_LOCK};
  for (int i = 0; i < 2; ++i) {
    OWNED(prem_trace) *trace = simulate(schedule, modes[i], 2);
    assert_phase(trace, schedule, "a", 2, PREM_PREFETCH, 10, 20);
    const prem_trace_record *b = assert_phase(trace, schedule, "b", 0, PREM_PREFETCH, 27, 32);
    ck_assert_int_eq(b->ready_ns, 27);
    assert_phase(trace, schedule, "b", 1, PREM_PREFETCH, 32, 37);
    assert_phase(trace, schedule, "c", 0, PREM_COMPUTE, 37, 42);
    ck_assert_int_eq(trace->job_end_ns[0], 20);
    ck_assert_int_eq(trace->job_end_ns[2], 42);
    ck_assert_int_eq(trace->job_end_ns[5], 142);
  }
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 2);
  assert_no_lateness(trace, schedule);
}

TEST(the_latest_predecessor_is_awaited) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 2; };"
      "tasks = ( { name = \"slow\"; kernel = \"none\"; blocks = 1; tiles = 1; period_ns = 200L;"
      "    compute: { wcet_ns = 30L; }; },"
      "  { name = \"fast\"; kernel = \"none\"; blocks = 1; tiles = 1; period_ns = 100L;"
      "    compute: { wcet_ns = 10L; };"
      "    after = ( { task = \"slow\"; instance = \"latest\"; } ); } );"
      "plan: { hyperperiod_ns = 200L; runs = ( { task = \"slow\"; phase = \"compute\"; start_ns = "
      "0L; },"
      "  { task = \"fast\"; phase = \"compute\"; start_ns = 60L; jobs = 2; } ); };");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 2);
  ck_assert_int_eq(trace->job_end_ns[0], 30);
  ck_assert_int_eq(trace->job_end_ns[1], 40);
  ck_assert_int_eq(trace->job_end_ns[2], 110); /* released at 100, slow long over */
  ck_assert_int_eq(trace->job_end_ns[4], 240);
}

/* One block of the task is a job ahead of the other: the job ends when both have done it. */
TEST(a_job_ends_on_all_its_blocks) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 3; buffers = 2;"
      "  resources = ( { name = \"memory\"; capacity = 1; }, { name = \"alu\"; capacity = 1; } ); "
      "};"
      "tasks = ( { name = \"both\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;"
      "    period_ns = 100L; compute: { wcet_ns = 10L; }; },"
      "  { name = \"big\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 200L;"
      "    compute: { wcet_ns = 70L; demand: { alu = 1; }; }; },"
      "  { name = \"other\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; period_ns = 200L;"
      "    compute: { wcet_ns = 70L; demand: { alu = 1; }; }; },"
      "  { name = \"next\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; period_ns = 100L;"
      "    writeback: { wcet_ns = 5L; }; after = ( { task = \"both\"; } ); } );"
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"big\"; phase = \"compute\"; start_ns = 0L; },"
      "  { task = \"other\"; phase = \"compute\"; start_ns = 100L; },"
      "  { task = \"both\"; phase = \"compute\"; start_ns = 70L; count = 2; jobs = 2; },"
      "  { task = \"next\"; phase = \"writeback\"; start_ns = 85L; jobs = 2; } ); };");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 1);
  /* big and other share the alu: big ends at 140, so block 1 does job 0 after block 0 did job 1 */
  const int64_t *ends = trace->job_end_ns;
  ck_assert_int_eq(ends[0], 150);
  ck_assert_int_eq(ends[1], 160);
  ck_assert_int_eq(ends[4], 155);
  ck_assert_int_eq(ends[5], 165);
}

/* Nothing is believed: a plan that breaks a rule shows in the counts. */
TEST(a_bad_plan_shows_as_overruns) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 4;"
      "  prefetch: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; count = 2; repeat = 2;"
      "    step_ns = 15L; } ); };");
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 1);
  const prem_phase_stats *stats = &trace->stats[PREM_PREFETCH];
  ck_assert_int_eq(stats->overruns, 4);
  ck_assert_int_eq(stats->overrun_max_ns, 15); /* 0 to 20, then 20 to 40 instead of 15 to 25 */
  ck_assert_int_eq(stats->late, 2);
  ck_assert_int_eq(stats->lateness_max_ns, 5);
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_FREE, 1);
  ck_assert_int_eq(trace->stats[PREM_PREFETCH].overruns, 0); /* no windows, no overruns */
  prem_trace_free(trace);
}

TEST(joined_halves_are_one) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4;"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
      "    writeback: { wcet_ns = 10L; }; joined: { wcet_ns = 15L; busy_ns = 12L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 1; release_ns = 30L;"
      "    prefetch: { wcet_ns = 6L; }; } );"
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L; repeat = 6;"
      "    step_ns = 20L; join: { task = \"a\"; tile = -2; }; },"
      "  { task = \"b\"; phase = \"prefetch\"; start_ns = 130L; } ); };");
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 3);
  assert_phase(trace, schedule, "a", 2, PREM_PREFETCH, 40, 55);
  const prem_trace_record *wb = assert_phase(trace, schedule, "a", 0, PREM_WRITEBACK, 40, 55);
  ck_assert_int_eq(wb->release_ns, 40);
  ck_assert(wb->flags & PREM_SLOT_JOINED);
  assert_phase(trace, schedule, "a", 3, PREM_WRITEBACK, 100, 110);
  assert_no_lateness(trace, schedule);
  prem_trace_free(trace);
  /* free: the pair counts as one use of the memory. It starts at 30 with b and runs at half the
   * pace until b's 6 are done at 42; its remaining 6 of 12 take until 48, then 3 of latency */
  trace = simulate(schedule, PREM_MODE_FREE, 1);
  assert_phase(trace, schedule, "b", 0, PREM_PREFETCH, 30, 42);
  assert_phase(trace, schedule, "a", 2, PREM_PREFETCH, 30, 51);
  assert_phase(trace, schedule, "a", 0, PREM_WRITEBACK, 30, 51);
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_LOCK, 1); /* one token for the pair, for 12 of its 15 */
  assert_phase(trace, schedule, "a", 2, PREM_PREFETCH, 30, 45);
  assert_phase(trace, schedule, "b", 0, PREM_PREFETCH, 42, 48);
  prem_trace_free(trace);
}

TEST(one_shot_beside_periodic) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; };"
      "tasks = ( { name = \"once\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; release_ns = 25L;"
      "    compute: { wcet_ns = 40L; }; },"
      "  { name = \"often\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;"
      "    prefetch: { wcet_ns = 5L; }; },"
      "  { name = \"seldom\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 200L;"
      "    release_ns = 120L; writeback: { wcet_ns = 5L; }; } );"
      "plan: { hyperperiod_ns = 200L; runs = ( { task = \"once\"; phase = \"compute\"; start_ns = "
      "30L; },"
      "  { task = \"often\"; phase = \"prefetch\"; start_ns = 10L; jobs = 2; },"
      "  { task = \"seldom\"; phase = \"writeback\"; start_ns = 150L; } ); };");
  prem_trace *trace = simulate(schedule, PREM_MODE_TT, 1000);
  assert_no_lateness(trace, schedule);
  ck_assert_int_eq(trace->record_count, 4000);
  ck_assert_int_eq(trace->hyperperiods, 1000);
  for (int64_t h = 0; h < 1000; ++h) {
    const int64_t *ends = &trace->job_end_ns[4 * h];
    ck_assert_int_eq(ends[0], 200 * h + 70);
    ck_assert_int_eq(ends[1], 200 * h + 15);
    ck_assert_int_eq(ends[2], 200 * h + 115);
    ck_assert_int_eq(ends[3], 200 * h + 155);
  }
  prem_trace_free(trace);
  trace = simulate(schedule, PREM_MODE_FREE, 10); /* job releases hold, planned starts not */
  for (int64_t h = 0; h < 10; ++h) {
    const int64_t *ends = &trace->job_end_ns[4 * h];
    ck_assert_int_eq(ends[0], 200 * h + 65);
    ck_assert_int_eq(ends[1], 200 * h + 5);
    ck_assert_int_eq(ends[2], 200 * h + 105);
    ck_assert_int_eq(ends[3], 200 * h + 125);
  }
  prem_trace_free(trace);
}

/* Three tiles and two input buffers, of which one is always held across the hyperperiod's end. */
TEST(buffers_turn_from_hyperperiod_to_hyperperiod) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 3; period_ns = 120L;"
      "  prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 40L; }; } );"
      "plan: { hyperperiod_ns = 120L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 5L; repeat = 3; step_ns = 40L; },"
      "  { task = \"a\"; phase = \"compute\"; start_ns = 10L; repeat = 3; step_ns = 40L; } ); };");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 50);
  assert_no_lateness(trace, schedule);
  ck_assert_int_eq(trace->record_count, 300);
}

/* ---- data ----------------------------------------------------------------------------------- */

static const char convolution[] =
    "version = 1; name = \"t\"; platform: { blocks = 3; buffers = %d; };"
    "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ 37, 53 ]; fill = \"random\"; seed = "
    "3; } );"
    "tasks = ( { name = \"conv\"; kernel = \"conv2d\"; blocks = 3;"
    "    args: { coefficients = [ 0.2, 0.5, -0.8, -0.3, 0.6, -0.9, 0.4, 0.7, 0.1 ]; };"
    "    arrays: { in = \"image\"; out = \"new\"; }; tile = [ 5, 8 ]; period_ns = 100000L;"
    "    prefetch: { wcet_ns = 50L; }; compute: { wcet_ns = 90L; };"
    "    writeback: { wcet_ns = 30L; }; },"
    "  { name = \"again\"; kernel = \"conv2d\"; blocks = \"0-2\";"
    "    args: { coefficients = [ 1, 1, 1, 1, 1, 1, 1, 1, 1 ]; };"
    "    arrays: { in = \"conv.out\"; out = \"new\"; }; tile = [ 7, 9 ]; period_ns = 100000L;"
    "    prefetch: { wcet_ns = 50L; }; compute: { wcet_ns = 90L; };"
    "    writeback: { wcet_ns = 30L; }; after = ( { task = \"conv\"; } ); } );";

GROUP("whole");

TESTS_FROM(outputs_are_right, 1, 4) {
  OWNED(prem_schedule) *schedule = prepared_schedule(text(convolution, _i));
  OWNED(prem_session) *session = open_on("sim", schedule);
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode) {
    prem_verdict verdict;
    ck_assert_int_eq(prem_session_poison(session), PREM_OK);
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert(!verdict.ok);
    OWNED(prem_trace) *trace = run_in(session, schedule, (prem_mode)mode, 2);
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert(verdict.ok);
    if (mode == PREM_MODE_TT)
      assert_no_lateness(trace, schedule);
  }
}

/* Two kernels of three tiles: `ramp` has an output and no input, `sink` an input and no output, and
 * remembers what it was given. */
static prem_status three_tiles_bind(prem_bind *bind) {
  bind->grid[0] = bind->grid[1] = 1;
  bind->grid[2] = 3;
  bind->window[0] = (prem_window){.step = {[3] = {0, 0, 8}}, .extent = {1, 1, 1, 8}};
  bind->new_rank[0] = 1;
  for (int d = 0; d < 3; ++d)
    bind->new_shape[0][d] = 1;
  bind->new_shape[0][3] = 24;
  return PREM_OK;
}

enum { LAST_TILE = 10 /* tile 1 of the fourth hyperperiod: what `ramp` computes last */ };

static float given[64]; /* the first element of each tile, in order */
static int given_count;

static void sink_compute(const void *params, const prem_view *views) {
  (void)params;
  given[given_count++ % 64] = *(const float *)views[0].data;
}

static void sink_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  (void)arrays;
}

static void ramp_compute(const void *params, const prem_view *views) {
  (void)params;
  for (int32_t i = 0; i < views[0].extent[3]; ++i)
    ((float *)views[0].data)[i] = (float)(views[0].origin[3] + i);
  if (given_count++ == LAST_TILE) /* a store too far ends the run */
    ((float *)views[0].data)[views[0].extent[3]] = 0;
}

static void ramp_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  for (int64_t i = 0; i < arrays[0].shape[3]; ++i)
    ((float *)arrays[0].data)[i] = (float)i;
}

static const prem_port out_port[] = {{"out", PREM_OUT, PREM_F32}};
static const prem_port in_port[] = {{"in", PREM_IN, PREM_F32}};
static const prem_kernel ramp = {.name = "ramp",
                                 .summary = "0, 1, 2, ...",
                                 .ports = out_port,
                                 .port_count = 1,
                                 .bind = three_tiles_bind,
                                 .compute = ramp_compute,
                                 .reference = ramp_reference};
static const prem_kernel sink = {.name = "sink",
                                 .summary = "nothing",
                                 .ports = in_port,
                                 .port_count = 1,
                                 .bind = three_tiles_bind,
                                 .compute = sink_compute,
                                 .reference = sink_reference};

static prem_status run_three_tiles(const char *source, prem_verdict *verdict) {
  const prem_kernel *kernels[] = {&ramp, &sink};
  const prem_registry registry = {kernels, 2};
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(source, diag);
  schedule->tasks[0].broken = schedule->bound = false; /* the built-in kernels lack these two */
  ck_assert_int_eq(prem_schedule_bind(schedule, &registry, NULL), PREM_OK);
  assert_checked(schedule);
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 4, 100, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 4};
  const prem_status status = prem_session_run(session, &request, trace, diag);
  assert_no_lateness(trace, schedule);
  ck_assert_int_eq(prem_session_verify(session, verdict), PREM_OK);
  return status;
}

/* Tile 2 is written back until 10 ns into the next hyperperiod, whose tile 0 computes at once.
 * The run ends before tile 2 is written back again, so that the array shows what it was then. */
TEST(an_output_keeps_its_buffer_across_the_hyperperiods_end) {
  prem_verdict verdict;
  const prem_status status = run_three_tiles(
      "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"ramp\"; blocks = 1; period_ns = 110L;"
      "  arrays: { out = \"new\"; }; compute: { wcet_ns = 5L; }; writeback: { wcet_ns = 30L; }; }"
      " ); plan: { hyperperiod_ns = 110L; starts = ("
      "  { task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ 0L, 10L, 45L ]; },"
      "  { task = \"a\"; phase = \"writeback\"; block = 0; start_ns = [ 10L, 50L, 90L ]; } ); };",
      &verdict);
  ck_assert_int_eq(status, PREM_ERR_WRONG);
  ck_assert_int_eq(given_count, LAST_TILE + 1);
  ck_assert(verdict.ok);
}

/* Tile 2 computes until 10 ns into the next hyperperiod, whose tile 0 is fetched before. */
TEST(an_input_keeps_its_buffer_across_the_hyperperiods_end) {
  prem_verdict verdict;
  const prem_status status = run_three_tiles(
      "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 24 ]; fill = \"random\"; } );"
      "tasks = ( { name = \"a\"; kernel = \"sink\"; blocks = 1; period_ns = 120L;"
      "  arrays: { in = \"x\"; }; prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 40L; }; } );"
      "plan: { hyperperiod_ns = 120L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 5L; repeat = 3; step_ns = 40L; },"
      "  { task = \"a\"; phase = \"compute\"; start_ns = 10L; repeat = 3; step_ns = 40L; } ); };",
      &verdict);
  ck_assert_int_eq(status, PREM_OK);
  ck_assert_int_eq(given_count, 12);
  for (int i = 1; i < 12; ++i)
    ck_assert(given[i] != given[i - 1] && (i < 3 || given[i] == given[i - 3]));
}

/* ---- conservation, determinism -------------------------------------------------------------- */

static int compare_identity(const void *left, const void *right) {
  const prem_trace_record *a = left, *b = right;
  const int64_t pairs[][2] = {{a->hyperperiod, b->hyperperiod},
                              {a->task, b->task},
                              {a->job, b->job},
                              {a->tile, b->tile},
                              {a->phase, b->phase}};
  for (int i = 0; i < 5; ++i)
    if (pairs[i][0] != pairs[i][1])
      return pairs[i][0] < pairs[i][1] ? -1 : 1;
  return 0;
}

TEST(every_slot_is_executed_once) {
  OWNED(prem_schedule) *schedule = prepared_schedule(text(convolution, 2));
  FREED prem_slot *slots = NULL;
  int64_t count = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode) {
    OWNED(prem_trace) *trace = simulate(schedule, (prem_mode)mode, 3);
    ck_assert_int_eq(trace->record_count, 3 * count);
    ck_assert_int_eq(trace->lost, 0);
    qsort(trace->records, (size_t)trace->record_count, sizeof *trace->records, compare_identity);
    for (int64_t i = 1; i < trace->record_count; ++i)
      ck_assert_int_ne(compare_identity(&trace->records[i - 1], &trace->records[i]), 0);
    for (int64_t i = 0; i < trace->record_count; ++i) {
      const prem_trace_record *r = &trace->records[i];
      const prem_task *task = &schedule->tasks[r->task];
      ck_assert(task->phase[r->phase].exists && r->tile >= 0 && r->tile < task->tile_count);
      ck_assert_int_eq(r->block, task->blocks[r->tile % task->block_count]);
    }
    int64_t counted = 0;
    for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i)
      counted += trace->stats[i].count;
    ck_assert_int_eq(counted, 3 * count);
  }
}

TEST(two_runs_are_byte_identical) {
  OWNED(prem_schedule) *schedule = prepared_schedule(text(convolution, 2));
  OWNED(prem_session) *session = open_on("sim", schedule);
  for (int mode = PREM_MODE_TT; mode <= PREM_MODE_LOCK; ++mode) {
    OWNED(prem_trace) *one = run_in(session, schedule, (prem_mode)mode, 5);
    OWNED(prem_trace) *two = run_in(session, schedule, (prem_mode)mode, 5);
    OWNED(prem_trace) *three = simulate(schedule, (prem_mode)mode, 5);
    size_t bytes = (size_t)one->record_count * sizeof *one->records;
    ck_assert_mem_eq(one->records, two->records, bytes);
    ck_assert_mem_eq(one->records, three->records, bytes);
  }
}

/* ---- ends and refusals ---------------------------------------------------------------------- */

TEST(a_deadlock_is_named) {
  /* b's only tile stands before a's on the block, but comes after it: no checker lets this pass */
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 2; };"
      "tasks = ( { name = \"x\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "    compute: { wcet_ns = 5L; }; },"
      "  { name = \"a\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; compute: { wcet_ns = 5L; }; "
      "},"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; compute: { wcet_ns = 5L; };"
      "    after = ( { task = \"a\"; } ); } );"
      "plan: { hyperperiod_ns = 100L; runs = ( { task = \"x\"; phase = \"compute\"; start_ns = 0L; "
      "},"
      "  { task = \"b\"; phase = \"compute\"; start_ns = 0L; },"
      "  { task = \"a\"; phase = \"compute\"; start_ns = 10L; } ); };");
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 1, 10, &trace), PREM_OK);
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_run_request request = {.mode = PREM_MODE_FREE, .hyperperiods = 1};
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_MACHINE);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason,
                               "deadlock at 5 ns in mode free: block 1, record 0 of its computes"));
  ck_assert_int_eq(trace->record_count, 1); /* what was measured is kept */
  ck_assert_int_eq(trace->job_end_ns[0], 5);
  ck_assert_int_eq(trace->job_end_ns[1], -1);
  ck_assert_int_eq(trace->hyperperiods, 0);
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_ARGUMENT);
}

/* What no checker lets pass, in mode `mode`: the run says who waits, and for what. */
static void assert_deadlock(const char *text, prem_mode mode, const char *reason) {
  OWNED(prem_schedule) *schedule = schedule_from_text(text);
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_run_request request = {.mode = mode, .hyperperiods = 1};
  ck_assert_int_eq(prem_trace_new(schedule, 1, 10, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_MACHINE);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason, reason);
}

TEST(a_deadlock_says_what_is_waited_for) {
  assert_deadlock("version = 1; name = \"t\"; platform: { blocks = 1; };"
                  "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                  "    prefetch: { wcet_ns = 5L; demand: { memory = 2; }; }; } );"
                  "plan: { hyperperiod_ns = 100L; runs = ("
                  "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; } ); };",
                  PREM_MODE_LOCK,
                  "deadlock at 0 ns in mode lock: block 0, record 0 of its memory phases, "
                  "hyperperiod 0 (prefetch of tile 0, job 0 of task 'a') waits for tokens");
  /* `x` waits for `y` behind it, and `a` for the buffer that `x` has until then. */
  assert_deadlock(
      "version = 1; name = \"t\"; platform: { blocks = 1; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
      "    prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 5L; }; },"
      "  { name = \"x\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "    compute: { wcet_ns = 5L; }; after = ( { task = \"y\"; } ); },"
      "  { name = \"y\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "    compute: { wcet_ns = 5L; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"x\"; phase = \"compute\"; start_ns = 0L; },"
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 10L;"
      "    repeat = 2; step_ns = 10L; },"
      "  { task = \"y\"; phase = \"compute\"; start_ns = 50L; } ); };",
      PREM_MODE_FREE,
      "deadlock at 0 ns in mode free: block 0, record 0 of its memory phases, "
      "hyperperiod 0 (prefetch of tile 0, job 0 of task 'a') waits for compute number 1 "
      "of its block, where 0 are done");
}

TEST(a_raised_flag_stops_the_run) {
  OWNED(prem_schedule) *schedule = two_prefetches("", "wcet_ns = 10L;", "wcet_ns = 10L;", 10);
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 100, 1000, &trace), PREM_OK);
  volatile sig_atomic_t stop = 1;
  prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 100, .stop = &stop};
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_ERR_INTERRUPTED);
  ck_assert_int_lt(trace->hyperperiods, 100);
  stop = 0;
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_OK);
  ck_assert_int_eq(trace->hyperperiods, 100);
}

/* Two gangs share the memory all the time, and so when the run is stopped: by its first record.
 * What they took is not taken from the next run. */
TESTS(a_run_after_a_stopped_one_begins_anew, 5) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      text("version = 1; name = \"t\"; platform: { blocks = %d;"
           "  resources = ( { name = \"memory\"; capacity = 1; per = \"task\"; } ); };"
           "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = %d; tiles = %d;"
           "    prefetch: { wcet_ns = 19L; }; },"
           "  { name = \"b\"; kernel = \"none\"; blocks = 2; tiles = 2; prefetch: { wcet_ns = 21L; "
           "}; } );"
           "plan: { hyperperiod_ns = 40L; runs = ("
           "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; count = %d; },"
           "  { task = \"b\"; phase = \"prefetch\"; count = 2; start_ns = 19L; } ); };",
           3 + _i, 1 + _i, 1 + _i, 1 + _i));
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 5000, 40000, &trace), PREM_OK);
  memset(trace->records, 0, sizeof *trace->records);
  prem_run_request request = {.mode = PREM_MODE_FREE,
                              .hyperperiods = 5000,
                              .stop = (const volatile sig_atomic_t *)&trace->records[0].end_ns};
  ck_assert_int_eq(prem_session_run(session, &request, trace, NULL), PREM_ERR_INTERRUPTED);
  ck_assert_int_gt(trace->hyperperiods, 0);
  OWNED(prem_trace) *again = run_in(session, schedule, PREM_MODE_FREE, 5);
  OWNED(prem_trace) *fresh = simulate(schedule, PREM_MODE_FREE, 5);
  ck_assert_int_eq(again->record_count, fresh->record_count);
  ck_assert_mem_eq(again->records, fresh->records,
                   (size_t)again->record_count * sizeof *again->records);
}

TEST(impossible_requests_are_refused) {
  OWNED(prem_schedule) *schedule = two_prefetches("", "wcet_ns = 10L;", "wcet_ns = 10L;", 10);
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  ck_assert_int_eq(prem_trace_new(schedule, 10, 0, &trace), PREM_OK);
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_run_request request = {.mode = PREM_MODE_LEGACY, .hyperperiods = 1};
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, "'sim' has no mode 'legacy'"));
  request = (prem_run_request){.mode = PREM_MODE_TT, .hyperperiods = 11};
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 1)->reason, "11 hyperperiods"));
  request.hyperperiods = 0;
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_ARGUMENT);
  request.hyperperiods = 10; /* no raw records asked for: the counts are there all the same */
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_OK);
  ck_assert_int_eq(trace->lost, 20);
  ck_assert_int_eq(trace->stats[0].count, 10);
}

/* The clock of a run ends at 2^61. */
TEST(a_run_beyond_all_times_is_refused) {
  OWNED(prem_schedule) *schedule =
      checked_schedule("version = 1; name = \"t\"; platform: { blocks = 1; };"
                       "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                       "    compute: { wcet_ns = 5L; }; } );"
                       "plan: { hyperperiod_ns = 1152921504606846976L; runs = ("
                       "  { task = \"a\"; phase = \"compute\"; start_ns = 0L; } ); };");
  OWNED(prem_session) *session = open_on("sim", schedule);
  OWNED(prem_trace) *trace = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 3};
  ck_assert_int_eq(prem_trace_new(schedule, 3, 0, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_ARGUMENT);
  ck_assert_str_eq(prem_diag_at(diag, 0)->reason,
                   "3 hyperperiods of 1152921504606846976 ns are too many for one run; at most 2");
  request.hyperperiods = 2;
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_OK);
}

static int64_t asked; /* of a backend that has a memory of its own: so often */

static prem_status count_asked(void *state) {
  (void)state;
  ++asked;
  return PREM_OK;
}

static prem_status broken_run(void *state, const prem_run_request *request, prem_trace *trace,
                              prem_diag *to) {
  (void)state, (void)request, (void)trace, (void)to;
  return PREM_ERR_MACHINE;
}

/* It is asked for poison and for its outputs, but never once it has failed. */
TEST(a_session_that_failed_is_good_for_nothing) {
  static prem_backend backend;
  OWNED(prem_schedule) *schedule = two_prefetches("", "wcet_ns = 10L;", "wcet_ns = 10L;", 10);
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_session) *session = NULL;
  OWNED(prem_trace) *trace = NULL;
  prem_verdict verdict;
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 1};
  backend = prem_backend_sim;
  backend.run = broken_run;
  backend.poison = count_asked;
  backend.download = count_asked;
  asked = 0;
  ck_assert_int_eq(prem_session_open(&backend, schedule, &session, diag), PREM_OK);
  ck_assert_int_eq(prem_session_poison(session), PREM_OK);
  ck_assert_int_eq(prem_session_save(session, false, diag), PREM_OK);
  ck_assert_int_eq(asked, 2);
  ck_assert_int_eq(prem_trace_new(schedule, 1, 0, &trace), PREM_OK);
  ck_assert_int_eq(prem_session_run(session, &request, trace, diag), PREM_ERR_MACHINE);
  ck_assert_int_eq(prem_session_poison(session), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(prem_session_save(session, false, diag), PREM_ERR_ARGUMENT);
  ck_assert_int_eq(asked, 2);
}
