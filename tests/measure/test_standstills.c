/* SPDX-License-Identifier: Apache-2.0 */
/* Stops of all blocks at once, in traces made by hand. */
#include "measure/standstills.h"

#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { RECORDS = 8, MIN_NS = 50000 };

static prem_trace_record records[RECORDS];
static prem_trace trace;
static prem_standstills standstills;

static void set_up(void) {
  trace = (prem_trace){.records = records, .record_capacity = RECORDS};
  standstills = (prem_standstills){0};
}

static void phase(int block, int64_t start_us, int64_t end_us) {
  records[trace.record_count++] = (prem_trace_record){
      .block = (uint16_t)block, .start_ns = 1000 * start_us, .end_ns = 1000 * end_us};
}

static void look(void) {
  ck_assert_int_eq(prem_trace_standstills(&trace, MIN_NS, &standstills), PREM_OK);
}

GROUP("stops", .set_up = set_up);

TEST(nothing_stands_still_nowhere) {
  look();
  ck_assert_int_eq(standstills.count, 0);
  ck_assert_int_eq(standstills.watched_ns, 0);
  ck_assert_double_eq(prem_standstills_share_pct(&standstills), 0);
}

/* Both blocks are in a phase from 10 us on; nothing is heard of either until 410. */
TEST(all_blocks_stop_at_once) {
  phase(0, 10, 410);
  phase(1, 8, 412);
  phase(1, 412, 500);
  phase(0, 410, 420);
  phase(0, 420, 460);
  phase(0, 460, 500);
  look();
  ck_assert_int_eq(standstills.count, 1);
  ck_assert_int_ge(standstills.longest_ns, 398000);
  ck_assert_int_le(standstills.longest_ns, 400000);
  ck_assert_int_eq(standstills.sum_ns, standstills.longest_ns);
  ck_assert_int_eq(standstills.watched_ns, 500000);
  ck_assert_double_eq_tol(prem_standstills_share_pct(&standstills), 80, 0.5);
}

/* A long phase on one block is no stop while another one works. */
TEST(one_block_stands_still_alone) {
  phase(0, 10, 210);
  for (int at = 10; at < 210; at += 40)
    phase(1, at, at + 40);
  look();
  ck_assert_int_eq(standstills.count, 0);
}

TEST(nothing_to_do_is_no_stop) {
  phase(0, 0, 10);
  phase(1, 5, 20);
  phase(0, 500, 510);
  look();
  ck_assert_int_eq(standstills.count, 0);
  ck_assert_int_eq(standstills.watched_ns, 510000);
}

TEST(short_ones_do_not_count) {
  phase(0, 0, 45);
  phase(0, 45, 145);
  look();
  ck_assert_int_eq(standstills.count, 1);
  ck_assert_int_le(standstills.longest_ns, 100000);
}

TEST(order_does_not_matter) {
  phase(1, 200, 300);
  phase(0, 0, 20);
  phase(0, 20, 200);
  look();
  ck_assert_int_eq(standstills.count, 2);
  ck_assert_int_ge(standstills.longest_ns, 178000);
}

TEST(several_traces_add_up) {
  phase(0, 0, 100);
  look();
  look();
  ck_assert_int_eq(standstills.count, 2);
  ck_assert_int_eq(standstills.watched_ns, 200000);
  ck_assert_int_eq(standstills.sum_ns, 2 * standstills.longest_ns);
}

TEST(counts_of_several_traces_are_added) {
  prem_standstills all = {.watched_ns = 300, .count = 2, .longest_ns = 6, .sum_ns = 8};
  const prem_standstills shorter = {.watched_ns = 100, .count = 1, .longest_ns = 4, .sum_ns = 4};
  const prem_standstills longer = {.watched_ns = 200, .count = 1, .longest_ns = 12, .sum_ns = 12};
  prem_standstills_merge(&all, &shorter);
  ck_assert_int_eq(all.longest_ns, 6);
  prem_standstills_merge(&all, &longer);
  ck_assert_int_eq(all.watched_ns, 600);
  ck_assert_int_eq(all.count, 4);
  ck_assert_int_eq(all.sum_ns, 24);
  ck_assert_int_eq(all.longest_ns, 12);
  ck_assert_double_eq_tol(prem_standstills_share_pct(&all), 4, 1e-9);
  ck_assert_double_eq(prem_standstills_share_pct(&(prem_standstills){0}), 0);
}
