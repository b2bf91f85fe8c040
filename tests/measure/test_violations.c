/* SPDX-License-Identifier: Apache-2.0 */
/* Violations: hand-made traces on a hand-made model of three tasks. */

#include "ttprem/measure.h"

#include "tests/common/suite.h"

enum { A, B, C, TASKS, MAX_RECORDS = 16 };

static int32_t one[] = {1}, two[] = {2}, none[] = {0};
static prem_resource memory;
static prem_task tasks[TASKS];
static prem_schedule schedule;
static prem_trace_record records[MAX_RECORDS];
static prem_trace trace;

/** Memory of capacity 1, counted per block; memory phases ask for 1, computes for nothing. */
static void set_up(void) {
  memory = (prem_resource){.name = "memory", .capacity = 1};
  for (int t = 0; t < TASKS; ++t) {
    tasks[t] = (prem_task){0};
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      tasks[t].phase[p] = (prem_phase_spec){
          .exists = true, .wcet_ns = 100, .busy_ns = 100, .demand = p == PREM_COMPUTE ? none : one};
  }
  schedule = (prem_schedule){
      .platform = {.resources = &memory, .resource_count = 1}, .tasks = tasks, .task_count = TASKS};
  trace = (prem_trace){.records = records};
}

/** The next record of the trace; records are added in the order of their starts. */
static prem_trace_record *ran(uint16_t task, uint16_t block, prem_phase phase, int64_t start_ns,
                              int64_t end_ns) {
  ck_assert_int_lt(trace.record_count, MAX_RECORDS);
  prem_trace_record *record = &records[trace.record_count++];
  *record = (prem_trace_record){.release_ns = start_ns,
                                .ready_ns = start_ns,
                                .start_ns = start_ns,
                                .end_ns = end_ns,
                                .task = task,
                                .block = block,
                                .phase = (uint8_t)phase};
  return record;
}

static void expect(int64_t discard, int64_t skew_ns, int64_t certain, int64_t possible) {
  int64_t found_certain = -1, found_possible = -1;
  prem_status status =
      prem_violations(&schedule, &trace, discard, skew_ns, &found_certain, &found_possible);
  ck_assert_int_eq(status, PREM_OK);
  ck_assert_int_eq(found_certain, certain);
  ck_assert_int_eq(found_possible, possible);
}

GROUP("violations", .set_up = set_up);

TEST(an_empty_trace_violates_nothing) {
  expect(0, 0, 0, 0);
}

TEST(phases_that_touch_do_not_overlap) {
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 100, 200);
  expect(0, 0, 0, 0);
}

TEST(one_nanosecond_is_a_violation) {
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 99, 200);
  expect(0, 0, 1, 0);
}

TEST(within_the_skew_it_is_only_possible) {
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 68, 200);
  expect(0, 32, 0, 1);
  expect(0, 31, 1, 0);
}

TEST(one_excess_is_counted_once) {
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 10, 90);
  ran(C, 2, PREM_PREFETCH, 20, 80);
  expect(0, 0, 1, 0);
}

TEST(an_excess_handed_on_is_one_excess) {
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 10, 50);
  ran(C, 2, PREM_PREFETCH, 50, 90);
  expect(0, 50, 1, 0); /* 80 ns in all; each half alone would be within the skew */
}

TEST(two_excesses_are_two) {
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 10, 20);
  ran(C, 2, PREM_PREFETCH, 50, 90);
  expect(0, 10, 1, 1);
}

TEST(computes_hold_nothing_unless_they_ask) {
  ran(A, 0, PREM_COMPUTE, 0, 100);
  ran(B, 1, PREM_PREFETCH, 10, 90);
  expect(0, 0, 0, 0);
  tasks[A].phase[PREM_COMPUTE].demand = one;
  expect(0, 0, 1, 0);
}

TEST(capacity_two_allows_two) {
  memory.capacity = 2;
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 10, 90);
  expect(0, 0, 0, 0);
  ran(C, 2, PREM_WRITEBACK, 20, 30);
  expect(0, 0, 1, 0);
}

TEST(demands_are_added) {
  memory.capacity = 2;
  tasks[A].phase[PREM_PREFETCH].demand = two;
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 10, 90);
  expect(0, 0, 1, 0);
}

TEST(a_gang_counts_once) {
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(A, 1, PREM_PREFETCH, 10, 110);
  ran(A, 2, PREM_WRITEBACK, 20, 120);
  expect(0, 0, 1, 0);
  memory.per_task = true;
  expect(0, 0, 0, 0);
}

TEST(a_gang_holds_until_its_last_block_is_done) {
  memory.per_task = true;
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(A, 1, PREM_PREFETCH, 10, 110);
  ran(B, 2, PREM_PREFETCH, 105, 200);
  expect(0, 0, 1, 0);
}

TEST(a_gang_asks_for_the_largest_of_its_demands) {
  memory.per_task = true;
  memory.capacity = 2;
  tasks[A].phase[PREM_WRITEBACK].demand = two;
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 2, PREM_PREFETCH, 0, 100);
  expect(0, 0, 0, 0);
  ran(A, 1, PREM_WRITEBACK, 40, 60);
  expect(0, 0, 1, 0);
}

static void ran_joined(uint16_t block, int64_t start_ns, int64_t end_ns) {
  ran(A, block, PREM_PREFETCH, start_ns, end_ns)->flags = PREM_SLOT_JOINED;
  ran(B, block, PREM_WRITEBACK, start_ns, end_ns)->flags = PREM_SLOT_JOINED;
}

TEST(beyond_its_wcet_a_phase_holds_as_well) {
  ran(A, 0, PREM_PREFETCH, 0, 150); /* 100 were planned */
  ran(B, 1, PREM_PREFETCH, 120, 200);
  expect(0, 0, 1, 0);
}

/* What a gang's pair asked for is forgotten when the pair has ended: the next one has another half.
 */
TEST(a_gang_forgets_its_earlier_demand) {
  memory.per_task = true;
  memory.capacity = 2;
  tasks[B].phase[PREM_WRITEBACK].demand = two;
  ran_joined(0, 0, 100);
  ran(A, 0, PREM_PREFETCH, 200, 300)->flags = PREM_SLOT_JOINED;
  ran(C, 0, PREM_WRITEBACK, 200, 300)->flags = PREM_SLOT_JOINED;
  ran(B, 1, PREM_PREFETCH, 210, 290);
  expect(0, 0, 0, 0);
  tasks[C].phase[PREM_WRITEBACK].demand = two;
  expect(0, 0, 1, 0);
}

TEST(a_joined_pair_counts_once) {
  ran_joined(0, 0, 100);
  expect(0, 0, 0, 0);
  records[1].flags = 0;
  expect(0, 0, 1, 0);
}

TEST(a_joined_pair_is_found_around_a_compute) {
  ran(A, 0, PREM_PREFETCH, 0, 100)->flags = PREM_SLOT_JOINED;
  ran(A, 0, PREM_COMPUTE, 0, 50);
  ran(A, 0, PREM_WRITEBACK, 0, 100)->flags = PREM_SLOT_JOINED;
  expect(0, 0, 0, 0);
}

TEST(a_joined_pair_around_a_compute_holds_until_both_have_ended) {
  ran(A, 0, PREM_PREFETCH, 0, 60)->flags = PREM_SLOT_JOINED;
  ran(A, 0, PREM_COMPUTE, 0, 50);
  ran(B, 0, PREM_WRITEBACK, 0, 100)->flags = PREM_SLOT_JOINED;
  ran(C, 1, PREM_PREFETCH, 70, 90);
  expect(0, 0, 1, 0);
}

TEST(joined_pairs_of_two_blocks_are_two) {
  ran_joined(0, 0, 100);
  ran_joined(1, 0, 100);
  expect(0, 0, 1, 0);
}

TEST(a_joined_pair_has_its_own_demand) {
  memory.capacity = 2;
  tasks[A].joined =
      (prem_phase_spec){.exists = true, .wcet_ns = 100, .busy_ns = 100, .demand = two};
  ran(A, 0, PREM_PREFETCH, 0, 100)->flags = PREM_SLOT_JOINED;
  ran(A, 0, PREM_WRITEBACK, 0, 100)->flags = PREM_SLOT_JOINED;
  ran(C, 1, PREM_PREFETCH, 10, 90);
  expect(0, 0, 1, 0);
  tasks[A].joined.demand = one;
  expect(0, 0, 0, 0);
}

TEST(a_regulated_phase_holds_for_its_busy_time) {
  tasks[A].phase[PREM_PREFETCH].busy_ns = 40;
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 40, 140);
  expect(0, 0, 0, 0);
  records[1].start_ns = 39;
  expect(0, 0, 1, 0);
}

TEST(warm_up_and_discarded_hyperperiods_are_not_judged) {
  ran(A, 0, PREM_PREFETCH, 0, 100)->flags = PREM_SLOT_WARMUP;
  ran(B, 1, PREM_PREFETCH, 10, 90);
  expect(0, 0, 0, 0);
  records[0].flags = 0;
  expect(0, 0, 1, 0);
  expect(1, 0, 0, 0);
  records[0].hyperperiod = records[1].hyperperiod = 1;
  expect(1, 0, 1, 0);
}

TEST(every_resource_is_judged) {
  static int32_t memory_only[] = {1, 0}, both[] = {1, 1}, nothing[] = {0, 0};
  prem_resource resources[] = {{.name = "memory", .capacity = 2}, {.name = "h2d", .capacity = 1}};
  schedule.platform.resources = resources;
  schedule.platform.resource_count = 2;
  for (int t = 0; t < TASKS; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      tasks[t].phase[p].demand = p == PREM_COMPUTE ? nothing : memory_only;
  ran(A, 0, PREM_PREFETCH, 0, 100);
  ran(B, 1, PREM_PREFETCH, 10, 90);
  expect(0, 0, 0, 0);
  tasks[A].phase[PREM_PREFETCH].demand = tasks[B].phase[PREM_PREFETCH].demand = both;
  expect(0, 0, 1, 0);
}
