/* SPDX-License-Identifier: Apache-2.0 */
/* Upper bounds of quantiles: against Wilks' sample sizes, and against counting. */
#include "measure/quantile.h"

#include <math.h>

#include "tests/common/suite.h"

/* With 95 % confidence the longest of 59 is above the 95 % quantile, the second of 93, the third of
 * 124; of the 99 % one the longest of 299. */
TEST(sample_sizes_are_those_of_wilks) {
  static const struct {
    int64_t count, above;
    double share;
  } known[] = {{58, -1, 0.95},    {59, 0, 0.95},    {92, 0, 0.95},  {93, 1, 0.95},  {123, 1, 0.95},
               {124, 2, 0.95},    {298, -1, 0.99},  {299, 0, 0.99}, {472, 0, 0.99}, {473, 1, 0.99},
               {2994, -1, 0.999}, {2995, 0, 0.999}, {0, -1, 0.99}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
    ck_assert_msg(prem_quantile_above(known[i].count, known[i].share, 0.95) == known[i].above,
                  "%lld samples", (long long)known[i].count);
}

/* P(B <= m) one by one, far from where single terms vanish. */
TEST(many_samples_keep_their_confidence) {
  const int64_t count = 2000000;
  const double share = 0.99;
  const int64_t above = prem_quantile_above(count, share, 0.95);
  double sum[2] = {0, 0}; /* to `above`, and one further */
  for (int64_t k = 0; k <= above + 1; ++k) {
    const double term =
        exp(lgamma((double)count + 1) - lgamma((double)k + 1) - lgamma((double)(count - k) + 1) +
            (double)k * log(1 - share) + (double)(count - k) * log(share));
    sum[0] += k <= above ? term : 0;
    sum[1] += term;
  }
  ck_assert(sum[0] <= 0.05001);
  ck_assert(sum[1] > 0.04999);
}

TEST(two_lists_count_as_one) {
  prem_times a = {0}, b = {0};
  for (int i = 0; i < 100; ++i)
    ck_assert(prem_times_add(&a, 100 + i)); /* 100 to 199 */
  for (int i = 0; i < 24; ++i)
    ck_assert(prem_times_add(&b, i == 0 ? 1900 : 190));            /* the longest, and ties */
  ck_assert_int_eq(prem_quantile_bound(&a, &b, 0.95, 0.95), 198);  /* behind 1900 and 199 */
  ck_assert_int_eq(prem_quantile_bound(&a, &b, 0.99, 0.95), 1900); /* too few: the longest */
  ck_assert_int_eq(prem_quantile_bound(&b, &a, 0.95, 0.95), 198);
  prem_times_free(&a);
  ck_assert_int_eq(prem_quantile_bound(&a, &a, 0.95, 0.95), 0);
  prem_times_free(&b);
}

/* Kept with 11 bits: a bound is never below the time that it stands for. */
TEST(rounding_never_shortens) {
  prem_times a = {0}, none = {0};
  for (int i = 0; i < 93; ++i)
    ck_assert(prem_times_add(&a, i < 92 ? 100001 : 200001));
  ck_assert_int_ge(prem_quantile_bound(&a, &none, 0.95, 0.95), 100001);
  ck_assert_int_le(prem_quantile_bound(&a, &none, 0.95, 0.95), 100101);
  prem_times_free(&a);
}
