/* SPDX-License-Identifier: Apache-2.0 */
/* Counted times. */
#include "measure/times.h"

#include "tests/common/running.h"
#include "tests/common/suite.h"

static prem_times times;

static void tear_down(void) {
  prem_times_free(&times);
}

static prem_summary summary(void) {
  prem_summary out;
  prem_times_summarise(&times, &out);
  return out;
}

GROUP("times", .tear_down = tear_down);

TEST(nothing_is_nothing) {
  ck_assert_int_eq(summary().count, 0);
  ck_assert_int_eq(summary().p99, INT64_MIN);
  ck_assert_int_eq(prem_times_percentile(&times, 500), 0);
}

TEST(short_times_are_exact) {
  for (int64_t ns = 2000; ns > 0; --ns)
    ck_assert(prem_times_add(&times, ns));
  const prem_summary all = summary();
  ck_assert_int_eq(all.count, 2000);
  ck_assert_int_eq(times.distinct, 2000);
  ck_assert_int_eq(all.min, 1);
  ck_assert_int_eq(all.p50, 1000);
  ck_assert_int_eq(all.p99, 1980);
  ck_assert_int_eq(all.p999, INT64_MIN); /* of 10 000 */
  ck_assert_int_eq(all.max, 2000);
  ck_assert_double_eq(all.mean, 1000.5);
}

TEST(equal_times_are_counted_once) {
  for (int i = 0; i < 20000; ++i)
    ck_assert(prem_times_add(&times, i % 2 ? 96 : 64));
  ck_assert_int_eq(times.distinct, 2);
  ck_assert_int_eq(times.list[0].count, 10000);
  ck_assert_int_eq(summary().p50, 64);
  ck_assert_int_eq(summary().p999, 96);
}

TEST(p9999_needs_a_hundred_thousand_times) {
  for (int i = 0; i < 99999; ++i)
    ck_assert(prem_times_add(&times, i < 99989 ? 64 : 96));
  ck_assert_int_eq(summary().p9999, INT64_MIN);
  ck_assert(prem_times_add(&times, 128));
  ck_assert_int_eq(summary().p9999, 96); /* the 99 990th */
}

/* Of 10 999 times the 10 989th, for 10988.001 is more than 10 988; of 109 999 the 109 989th. */
TEST(ranks_are_rounded_up) {
  for (int i = 0; i < 10999; ++i)
    ck_assert(prem_times_add(&times, i < 10988 ? 64 : 96));
  ck_assert_int_eq(summary().p999, 96);
  prem_times_free(&times);
  for (int i = 0; i < 109999; ++i)
    ck_assert(prem_times_add(&times, i < 109988 ? 64 : 96));
  ck_assert_int_eq(summary().p9999, 96);
}

/* A clock of 32 ns: exact up to 65 us. Beyond, a tenth of a percent is lost, and not at the ends.
 */
TEST(long_times_are_rounded_ends_are_not) {
  ck_assert(prem_times_add(&times, 65504));
  ck_assert_int_eq(times.list[0].ns, 65504);
  ck_assert(prem_times_add(&times, 1234567891));
  ck_assert(prem_times_add(&times, 1234567890));
  const prem_summary all = summary();
  ck_assert_int_eq(all.max, 1234567891);
  ck_assert_int_le(llabs(all.p50 - 1234567890), 1234567);
  ck_assert_int_le(all.p50, all.max);
}
