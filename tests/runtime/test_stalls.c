/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs a stall met, of gaps and ends made by hand. */
#include "runtime/core/stalls.h"
#include "tests/common/pair_trace.h"
#include "tests/common/suite.h"

enum { BEGIN_NS = 10000 }; /* of the watch's clock, of the first hyperperiod */

/* From the first hyperperiod's begin on. */
static void judge(int64_t begin_ns, int64_t until_ns, prem_gap *gaps, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    gaps[i].start_ns += BEGIN_NS;
  const prem_watch watch = {.begin_ns = BEGIN_NS + begin_ns,
                            .until_ns = BEGIN_NS + until_ns,
                            .gaps = gaps,
                            .gap_count = count};
  for (int64_t h = 0; h < HYPERPERIODS; ++h)
    prem_watch_judge(&watch, program, h, BEGIN_NS + 800 * h, trace);
}

static void assert_stalled(int64_t hyperperiod, int64_t a0, int64_t a1, int64_t b) {
  const int64_t *away_ns = trace->away_ns + hyperperiod * JOBS;
  ck_assert_int_eq(away_ns[A0], a0);
  ck_assert_int_eq(away_ns[A1], a1);
  ck_assert_int_eq(away_ns[B], b);
}

GROUP("stalls", .set_up = set_up_trace, .tear_down = tear_down_trace);

TEST(without_a_gap_none_is_stalled) {
  judge(0, 1600, NULL, 0);
  assert_stalled(0, 0, 0, 0);
  assert_stalled(1, 0, 0, 0);
}

/* Ends are half-open: a gap that ends at a release, or begins at an end, meets nobody. */
TEST(a_gap_meets_jobs_between_release_and_end) {
  prem_gap gaps[] = {{-50, 50}, {179, 1}, {380, 20}, {579, 1}, {580, 220}};
  judge(-100, 1600, gaps, 5);
  assert_stalled(0, 1, 1, 1);
  assert_stalled(1, 0, 0, 0);
}

TEST(the_longest_gap_counts) {
  prem_gap gaps[] = {{-20, 60}, {110, 5}, {120, 30}, {200, 7}, {1190, 10}};
  judge(-100, 1600, gaps, 5);
  assert_stalled(0, 60, 0, 30);
  assert_stalled(1, 0, 0, 0); /* it ends at the release of a's second job, at 1200 */
  trace->away_ns[JOBS + A1] = -1;
  gaps[4].length_ns = 11;
  gaps[4].start_ns -= BEGIN_NS;
  judge(-100, 1600, &gaps[4], 1);
  assert_stalled(1, 0, 11, 0);
}

/* How long a job took plays no part. */
TEST(a_long_job_without_a_gap_is_not_stalled) {
  prem_gap gaps[] = {{900, 10}};
  trace->job_end_ns[B] = 799;
  judge(0, 1600, gaps, 1);
  assert_stalled(0, 0, 0, 0);
  assert_stalled(1, 10, 0, 10);
}

TEST(what_nobody_watched_stays_unknown) {
  prem_gap gaps[] = {{450, 10}};
  trace->job_end_ns[JOBS + A1] = -1; /* it did not end */
  judge(50, 1250, gaps, 1);
  assert_stalled(0, -1, 10, 0);
  assert_stalled(1, 0, -1, 0);
  judge(50, 50, NULL, 0); /* nothing was watched */
  assert_stalled(0, -1, 10, 0);
}
