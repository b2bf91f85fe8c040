/* SPDX-License-Identifier: Apache-2.0 */
/* Hyperperiods of a live session that keep to the host's clock, on a GPU whose clock goes by steps
 * and otherwise: where each one begins. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "runtime/core/courier_steps.h"
#pragma GCC diagnostic pop

enum { COUNT = 4000, PARTS = 10000 };

/* The epochs of COUNT hyperperiods; the GPU's clock gains `drift_ns` in each, and is known again
 * every 20. */
static void epochs_of(int64_t hyperperiod_ns, int64_t step_ns, int64_t drift_ns,
                      int64_t epochs[COUNT]) {
  int64_t row[1];
  prem_courier c = {.hyperperiod_ns = hyperperiod_ns,
                    .step_ns = step_ns,
                    .rows = 1,
                    .epoch_ns = row,
                    .start_ns = 64 * step_ns,
                    .host_start_ns = 1000 + 64 * step_ns,
                    .base_ns = 1000,
                    .follows_host = true};
  for (int64_t i = 0; i < COUNT; ++i) {
    if (i % 20 == 0)
      c.base_ns = 1000 - i * drift_ns; /* the host's clock at the GPU's time 0 */
    row[0] = epochs[i] = earliest_epoch_ns(&c);
    ++c.begun;
  }
}

/* By whole steps, each a little longer or shorter, and never further from the host's than what
 * the clocks drift until they are compared again, and two corrections. */
static void assert_follows(int64_t hyperperiod_ns, int64_t step_ns, int64_t drift_ns) {
  static int64_t epochs[COUNT];
  epochs_of(hyperperiod_ns, step_ns, drift_ns, epochs);
  const int64_t rate_ns = hyperperiod_ns / PARTS + 1,
                most_ns = rate_ns > step_ns ? rate_ns : step_ns;
  const int64_t slack_ns = 20 * (drift_ns < 0 ? -drift_ns : drift_ns) + 2 * most_ns;
  ck_assert_int_eq(epochs[0], 64 * step_ns);
  for (int64_t i = 1; i < COUNT; ++i) {
    const int64_t length_ns = epochs[i] - epochs[i - 1], change_ns = length_ns - hyperperiod_ns;
    ck_assert_int_eq(change_ns % step_ns, 0);
    ck_assert_int_le(change_ns, most_ns);
    ck_assert_int_ge(change_ns, -most_ns);
    const int64_t host_ns = 64 * step_ns + i * (hyperperiod_ns + drift_ns);
    ck_assert_int_le(epochs[i], host_ns + slack_ns);
    ck_assert_int_ge(epochs[i], host_ns - slack_ns);
  }
}

TEST(hyperperiods_follow_by_whole_steps) {
  const int64_t steps_ns[] = {1, 32, 1000}, lengths_ns[] = {32000, 1000000, 5000000};
  for (size_t s = 0; s < sizeof steps_ns / sizeof *steps_ns; ++s)
    for (size_t l = 0; l < sizeof lengths_ns / sizeof *lengths_ns; ++l)
      for (int64_t drift_ns = -3; drift_ns <= 3; ++drift_ns)
        assert_follows(lengths_ns[l], steps_ns[s], drift_ns);
}

/* Without a step it is what it was: to the nanosecond, 1/10000 at most. */
TEST(a_clock_of_nanoseconds_is_followed_to_the_nanosecond) {
  static int64_t epochs[COUNT];
  epochs_of(1000000, 1, 7, epochs);
  ck_assert_int_eq(epochs[19], 64 + 19 * INT64_C(1000000));
  ck_assert_int_eq(epochs[20], 64 + 20 * INT64_C(1000000) + 101); /* of 140 */
  ck_assert_int_eq(epochs[21], 64 + 21 * INT64_C(1000000) + 140);
}
