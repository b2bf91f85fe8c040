/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs an absence of a core may have disturbed, of absences and ends made by hand. */
#include "runtime/cpu/cpu.h"
#include "tests/common/pair_trace.h"
#include "tests/common/suite.h"

static void judge(prem_cpu_absence *absences, int64_t count) {
  ck_assert_int_eq(prem_cpu_away_judge(program, HYPERPERIODS, absences, count, trace), PREM_OK);
}

static void assert_away(int64_t a0, int64_t a1, int64_t b, int64_t next_a0) {
  ck_assert_int_eq(trace->away_ns[A0], a0);
  ck_assert_int_eq(trace->away_ns[A1], a1);
  ck_assert_int_eq(trace->away_ns[B], b);
  ck_assert_int_eq(trace->away_ns[JOBS + A0], next_a0);
  ck_assert_int_eq(trace->away_ns[JOBS + A1], 0);
}

GROUP("absences", .set_up = set_up_trace, .tear_down = tear_down_trace);

TEST(without_an_absence_nobody_is_disturbed) {
  judge(NULL, 0);
  assert_away(0, 0, 0, 0);
}

TEST(an_absence_in_an_idle_gap_harms_nobody) {
  prem_cpu_absence gaps[] = {{580, 800, 99}, {385, 400, 9}}; /* one touches a release */
  judge(gaps, 2);
  assert_away(0, 0, 0, 0);
}

TEST(jobs_under_way_are_disturbed) {
  prem_cpu_absence within[] = {{10, 20, 7}};
  trace->job_end_ns[A0] = 90; /* b is released later */
  judge(within, 1);
  assert_away(7, 0, 0, 0);
  prem_cpu_absence two[] = {{570, 801, 5}, {120, 130, 3}};
  judge(two, 2);
  assert_away(0, 5, 3, 5);
}

/* A long one of one block began before the short ones of another. */
TEST(the_longest_absence_counts) {
  prem_cpu_absence several[] = {{100, 110, 4}, {0, 450, 9}, {120, 130, 3}, {440, 441, 2}};
  judge(several, 4);
  assert_away(9, 9, 9, 0);
}

/* The absence is over before b is released. It may have waited for a all the same. */
TEST(a_job_during_which_a_disturbed_one_ends_is_disturbed) {
  prem_cpu_absence early[] = {{20, 60, 6}};
  judge(early, 1);
  assert_away(6, 0, 6, 0);
  trace->job_end_ns[B] = 450; /* and the next job of a for b */
  judge(early, 1);
  assert_away(6, 6, 6, 0);
}

TEST(a_job_that_never_ended_was_under_way_to_the_end) {
  prem_cpu_absence late[] = {{790, 799, 8}};
  trace->job_end_ns[B] = -1;
  judge(late, 1);
  assert_away(0, 0, 8, 0);
}
