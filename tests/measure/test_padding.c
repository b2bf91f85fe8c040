/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that count at a fixed instant, which the first half of the times sets. */

#include "measure/padding.h"

#include "tests/common/suite.h"

enum { STEP_NS = 32, MANY = 2 * 100000 };

static int64_t *values, *away_ns;

static void set_up(void) {
  values = calloc(MANY, sizeof *values);
  away_ns = calloc(MANY, sizeof *away_ns);
}

static void tear_down(void) {
  free(values);
  free(away_ns);
}

static prem_padding padded(const int64_t *away, int64_t count) {
  prem_padding out;
  ck_assert_int_eq(prem_pad(values, away, count, STEP_NS, &out), PREM_OK);
  return out;
}

GROUP("padding", .set_up = set_up, .tear_down = tear_down);

/* A multiple of the step is shown one step later, what lies between is rounded up as well. */
TEST(the_longest_of_the_first_half_sets_an_instant) {
  static const int64_t times_ns[] = {320, 640, 321, 640, 672, 673, 300};
  for (int i = 0; i < 7; ++i)
    values[i] = times_ns[i];
  prem_padding out = padded(NULL, 7);
  ck_assert_int_eq(out.at[PREM_PADDING_LONGEST].published_ns, 672);
  ck_assert_int_eq(out.trained, 3);
  ck_assert_int_eq(out.judged, 4);
  ck_assert_int_eq(out.at[PREM_PADDING_LONGEST].missed, 1);
  values[1] = 641;
  ck_assert_int_eq(padded(NULL, 7).at[PREM_PADDING_LONGEST].published_ns, 704);
}

TEST(too_few_times_set_no_instant) {
  prem_padding out = padded(NULL, 1);
  ck_assert_int_eq(out.at[PREM_PADDING_LONGEST].published_ns, -1);
  ck_assert_int_eq(out.trained, 0);
  for (int64_t i = 0; i < MANY; ++i)
    values[i] = 64 * (i + 1);
  out = padded(NULL, 2 * 10000 - 1);
  ck_assert_int_eq(out.at[PREM_PADDING_P9999].published_ns, -1);
  out = padded(NULL, 2 * 10000);
  ck_assert_int_eq(out.at[PREM_PADDING_P9999].published_ns, 64 * 9999 + STEP_NS);
  ck_assert_int_eq(out.at[PREM_PADDING_P9999].missed, 10000);
  ck_assert_int_eq(out.at[PREM_PADDING_P99999].published_ns, -1);
  out = padded(NULL, MANY);
  ck_assert_int_eq(out.at[PREM_PADDING_P9999].published_ns, 64 * 99990 + STEP_NS);
  ck_assert_int_eq(out.at[PREM_PADDING_P99999].published_ns, 64 * 99999 + STEP_NS);
  ck_assert_int_eq(out.at[PREM_PADDING_LONGEST].published_ns, 64 * 100000 + STEP_NS);
}

/* Disturbed times set nothing, and are counted apart. */
TEST(disturbed_times_are_told_apart) {
  for (int i = 0; i < 10; ++i)
    values[i] = 100;
  values[2] = values[7] = values[8] = 9000;
  away_ns[2] = away_ns[6] = away_ns[7] = 500;
  away_ns[3] = -1; /* nobody looked */
  prem_padding out = padded(away_ns, 10);
  const prem_padded *longest = &out.at[PREM_PADDING_LONGEST];
  ck_assert_int_eq(longest->published_ns, 160);
  ck_assert_int_eq(out.trained, 4);
  ck_assert_int_eq(out.judged, 3);
  ck_assert_int_eq(out.judged_disturbed, 2);
  ck_assert_int_eq(longest->missed, 1);
  ck_assert_int_eq(longest->missed_disturbed, 1);
  out = padded(NULL, 10);
  ck_assert_int_eq(longest->published_ns, 9056);
  ck_assert_int_eq(out.trained, 5);
  ck_assert_int_eq(longest->missed + longest->missed_disturbed, 0);
}
