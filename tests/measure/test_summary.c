/* SPDX-License-Identifier: Apache-2.0 */
/* Summaries: nearest-rank percentiles, and none that the sample does not carry. */

#include "ttprem/measure.h"

#include "tests/common/suite.h"

/** 1 .. count in a scrambled order, so that sorting is part of what is tested. */
static prem_summary summarise_scrambled(int64_t count) {
  FREED int64_t *values = malloc((size_t)count * sizeof *values);
  ck_assert_ptr_nonnull(values);
  for (int64_t i = 0; i < count; ++i)
    values[i] = i * 7919 % count + 1; /* 7919 is prime and divides no count used here */
  prem_summary summary;
  prem_summarise(values, count, &summary);
  return summary;
}

TEST(nothing_gives_zeros) {
  prem_summary summary = {.max = 7, .mean = 7.0};
  prem_summarise(NULL, 0, &summary);
  ck_assert_int_eq(summary.count, 0);
  ck_assert_int_eq(summary.max, 0);
  ck_assert_double_eq(summary.mean, 0.0);
}

TEST(one_value_is_everything) {
  int64_t values[] = {42};
  prem_summary summary;
  prem_summarise(values, 1, &summary);
  ck_assert_int_eq(summary.min, 42);
  ck_assert_int_eq(summary.p50, 42);
  ck_assert_int_eq(summary.max, 42);
  ck_assert_double_eq(summary.mean, 42.0);
}

TEST(the_median_is_a_value_that_was_measured) {
  int64_t values[] = {40, 10, 30, 20};
  prem_summary summary;
  prem_summarise(values, 4, &summary);
  ck_assert_int_eq(summary.p50, 20); /* rank ceil(0.5 * 4) = 2, not the 25 between */
  ck_assert_double_eq(summary.mean, 25.0);
  int64_t odd[] = {5, 1, 3};
  prem_summarise(odd, 3, &summary);
  ck_assert_int_eq(summary.p50, 3);
}

TEST(p99_needs_a_thousand_samples) {
  prem_summary few = summarise_scrambled(999);
  ck_assert_int_eq(few.p99, INT64_MIN);
  prem_summary enough = summarise_scrambled(1000);
  ck_assert_int_eq(enough.p99, 990);
  ck_assert_int_eq(enough.p999, INT64_MIN);
  ck_assert_int_eq(summarise_scrambled(1001).p99, 991); /* rank ceil(990.99) */
}

TEST(p999_needs_ten_thousand_samples) {
  ck_assert_int_eq(summarise_scrambled(9999).p999, INT64_MIN);
  prem_summary enough = summarise_scrambled(10000);
  ck_assert_int_eq(enough.p999, 9990);
  ck_assert_int_eq(enough.p99, 9900);
  ck_assert_int_eq(enough.p50, 5000);
  ck_assert_int_eq(enough.min, 1);
  ck_assert_int_eq(enough.max, 10000);
  ck_assert_int_eq(summarise_scrambled(10999).p999, 10989); /* rank ceil(10988.001) */
}

TEST(p9999_needs_a_hundred_thousand_samples) {
  ck_assert_int_eq(summarise_scrambled(99999).p9999, INT64_MIN);
  prem_summary enough = summarise_scrambled(100000);
  ck_assert_int_eq(enough.p9999, 99990);
  ck_assert_int_eq(enough.p999, 99900);
  ck_assert_int_eq(summarise_scrambled(100001).p9999, 99991);  /* rank ceil(99990.9999) */
  ck_assert_int_eq(summarise_scrambled(109999).p9999, 109989); /* rank ceil(109988.0001) */
}

TEST(the_mean_keeps_single_nanoseconds_of_large_times) {
  int64_t base = INT64_C(1) << 61;
  int64_t values[] = {base, base + 4096};
  prem_summary summary;
  prem_summarise(values, 2, &summary);
  ck_assert_double_eq(summary.mean - (double)base, 2048.0);
  int64_t many[1000];
  for (int i = 0; i < 1000; ++i)
    many[i] = 1000000000 + i % 2;
  prem_summarise(many, 1000, &summary);
  ck_assert_double_eq(summary.mean, 1000000000.5);
}

TEST(negative_times_are_times) {
  int64_t values[] = {-5, 3, -1};
  prem_summary summary;
  prem_summarise(values, 3, &summary);
  ck_assert_int_eq(summary.min, -5);
  ck_assert_int_eq(summary.p50, -1);
  ck_assert_int_eq(summary.max, 3);
  ck_assert_double_eq(summary.mean, -1.0);
}
