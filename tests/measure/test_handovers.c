/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-overs told from traces: of the simulator, where they take what the schedule says, and of
 * stamps made up. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include "measure/handovers.h"
#include "measure/predecessors.h"

/* `b` follows `a`; each has a tile on each of four blocks.
 */
static const char *graph(const char *after) {
  return text("version = 1; name = \"graph\";"
              "platform: { blocks = 4; buffers = 1; guard_ns = 20L; precedence_ns = 700L;"
              "  resources = ( { name = \"memory\"; capacity = 4; } ); };"
              "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = \"0-3\"; tiles = 4;"
              "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
              "    writeback: { wcet_ns = 100L; }; },"
              "  { name = \"b\"; kernel = \"none\"; blocks = \"0-3\"; tiles = 4;"
              "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
              "    writeback: { wcet_ns = 100L; }; %s } );",
              after);
}

static prem_schedule *prepared(const char *source) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  if (prem_schedule_load_text("graph.cfg", source, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag) != PREM_OK)
    abort_with(source, diag);
  return schedule;
}

/* What is told of so many hyperperiods, which go to the successor alone. */
static void assert_told(const prem_schedule *schedule, const prem_trace *trace, int64_t from,
                        int64_t count, int64_t min_ns, int64_t max_ns) {
  prem_times times[2] = {0};
  ck_assert_int_eq(prem_handovers_add(schedule, trace, from, times), PREM_OK);
  ck_assert_int_eq(times[0].count, 0);
  ck_assert_int_eq(times[1].count, count);
  if (count > 0) {
    ck_assert_int_eq(times[1].min_ns, min_ns);
    ck_assert_int_eq(times[1].max_ns, max_ns);
  }
  for (int t = 0; t < 2; ++t)
    prem_times_free(&times[t]);
}

TEST(the_simulator_takes_what_it_is_told) {
  OWNED(prem_schedule) *schedule = prepared(graph("after = ( { task = \"a\"; } );"));
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 5);
  assert_told(schedule, trace, 0, 20, 700, 700);
  assert_told(schedule, trace, 2, 12, 700, 700);
}

TEST(without_an_edge_nothing_is_told) {
  OWNED(prem_schedule) *schedule = prepared(graph(""));
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 5);
  assert_told(schedule, trace, 0, 0, 0, 0);
}

static prem_trace_record *record_of(prem_trace *trace, int32_t hyperperiod, int32_t block,
                                    int phase) {
  for (int64_t i = 0; i < trace->record_count; ++i) {
    prem_trace_record *record = &trace->records[i];
    if (record->task == 1 && record->hyperperiod == hyperperiod && record->block == block &&
        record->phase == phase)
      return record;
  }
  ck_abort_msg("no such record");
}

/* One block late to know; one whose last writeback of the hyperperiod before ended behind the
 * message, which is left out. */
TEST(what_a_block_itself_held_up_is_left_out) {
  OWNED(prem_schedule) *schedule = prepared(graph("after = ( { task = \"a\"; } );"));
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 2);
  record_of(trace, 0, 2, PREM_PREFETCH)->ready_ns += 40;
  assert_told(schedule, trace, 0, 8, 700, 740);
  const int64_t ready_ns = record_of(trace, 1, 3, PREM_PREFETCH)->ready_ns;
  record_of(trace, 0, 3, PREM_WRITEBACK)->end_ns =
      ready_ns - 700; /* with the message: not behind */
  assert_told(schedule, trace, 0, 8, 700, 740);
  record_of(trace, 0, 3, PREM_WRITEBACK)->end_ns = ready_ns;
  assert_told(schedule, trace, 0, 7, 700, 740);
}

static void lose_record(prem_trace *trace, const prem_trace_record *record) {
  trace->records[record - trace->records] = trace->records[--trace->record_count];
  ++trace->lost;
}

/* Of a hyperperiod from which on records are lost nobody knows what else held a phase up; where all
 * are like that these are better than none. */
TEST(of_what_is_not_whole_nothing_is_told) {
  OWNED(prem_schedule) *schedule = prepared(graph("after = ( { task = \"a\"; } );"));
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 3);
  record_of(trace, 1, 2, PREM_PREFETCH)->ready_ns += 12000;
  lose_record(trace, record_of(trace, 1, 2, PREM_COMPUTE));
  assert_told(schedule, trace, 0, 4, 700, 700);
  lose_record(trace, record_of(trace, 0, 2, PREM_COMPUTE));
  assert_told(schedule, trace, 0, 12, 700, 12700);
}

/* Any order of the records will do. */
TEST(records_may_stand_in_any_order) {
  OWNED(prem_schedule) *schedule = prepared(graph("after = ( { task = \"a\"; } );"));
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_FREE, 3);
  for (int64_t i = 0, j = trace->record_count - 1; i < j; ++i, --j) {
    const prem_trace_record record = trace->records[i];
    trace->records[i] = trace->records[j];
    trace->records[j] = record;
  }
  assert_told(schedule, trace, 1, 8, 700, 700);
}

/* `z` follows two that end at once, at 10. */
static const char *const two_before_one =
    "version = 1; name = \"t\"; platform: { blocks = 3; };"
    "tasks = ( { name = \"x\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
    "    compute: { wcet_ns = 10L; }; },"
    "  { name = \"y\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; compute: { wcet_ns = 10L; }; "
    "},"
    "  { name = \"z\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; compute: { wcet_ns = 10L; };"
    "    after = ( { task = \"y\"; }, { task = \"x\"; } ); } );"
    "plan: { hyperperiod_ns = 100L; runs = ("
    "  { task = \"x\"; phase = \"compute\"; start_ns = 0L; },"
    "  { task = \"y\"; phase = \"compute\"; start_ns = 0L; },"
    "  { task = \"z\"; phase = \"compute\"; start_ns = 20L; } ); };";

static prem_predecessor before_z(const prem_schedule *schedule, prem_trace *trace) {
  prem_predecessors *predecessors;
  ck_assert_int_eq(prem_predecessors_new(schedule, trace, &predecessors), PREM_OK);
  const prem_predecessor before =
      prem_predecessor_of(predecessors, find_phase(trace, schedule, "z", 0, PREM_COMPUTE));
  prem_predecessors_free(predecessors);
  return before;
}

/* It is the first of the file's tasks, however `after` lists them. */
TEST(of_two_that_end_at_once_the_first_counts) {
  OWNED(prem_schedule) *schedule = checked_schedule(two_before_one);
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 1);
  const prem_predecessor before = before_z(schedule, trace);
  ck_assert(before.exists && before.known);
  ck_assert_int_eq(before.task, 0);
  ck_assert_int_eq(before.free_ns, 10);
}

/* On a clock with large steps a phase at the very beginning ends when it starts. */
TEST(an_end_at_the_instant_0_is_known) {
  OWNED(prem_schedule) *schedule = checked_schedule(two_before_one);
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 1);
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].start_ns == 0)
      trace->records[i].end_ns = 0;
  const prem_predecessor before = before_z(schedule, trace);
  ck_assert(before.exists && before.known);
  ck_assert_int_eq(before.free_ns, 0);
  ck_assert_int_eq(before.tardy_ns, -10);
}
