/* SPDX-License-Identifier: Apache-2.0 */
/* Extreme values: estimates where they are allowed, the reason where they are not. */
#include "measure/pwcet.h"

#include <math.h>

#include "tests/common/failing_memory.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { RUNS = 4000 };

static int64_t times[RUNS];
static uint64_t state;

static double uniform(void) { /* in (0, 1) */
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static void fill(double (*draw)(int run)) {
  state = 1;
  for (int i = 0; i < RUNS; ++i)
    times[i] = (int64_t)draw(i);
}

static double exponential(int run) {
  (void)run;
  return 10000 - 1000 * log(uniform());
}

static double even(int run) {
  (void)run;
  return 10000 + 1000 * uniform();
}

static double heavy(int run) {
  (void)run;
  return 1000 * pow(uniform(), -1 / 1.5); /* Pareto, no variance */
}

static double drifting(int run) {
  return exponential(run) + run / 4.0;
}

static double coarse(int run) { /* a clock of 1000 ns */
  return floor(even(run) / 1000) * 1000;
}

static double constant(int run) {
  (void)run;
  return 12345;
}

static double remembered;

static double dependent(int run) {
  remembered = run == 0 ? 0 : 0.5 * remembered + 1000 * uniform();
  return 10000 + remembered;
}

static prem_pwcet estimate(int64_t count) {
  prem_pwcet pwcet;
  ck_assert_int_eq(prem_pwcet_estimate(times, count, 1e-6, &pwcet), PREM_OK);
  return pwcet;
}

TEST(an_exponential_tail_is_found) {
  fill(exponential);
  const prem_pwcet pwcet = estimate(RUNS);
  ck_assert_msg(pwcet.known, "%s", pwcet.reason);
  const double truth = 10000 + 1000 * log(1e6); /* 23 816 */
  ck_assert_double_gt((double)pwcet.estimate_ns, 0.9 * truth);
  ck_assert_double_lt((double)pwcet.estimate_ns, 1.1 * truth);
  ck_assert_double_eq_tol(pwcet.mean_excess_ns, 1000, 120);
}

TEST(a_bounded_tail_is_bounded_from_above) {
  fill(even);
  const prem_pwcet pwcet = estimate(RUNS);
  ck_assert_msg(pwcet.known, "%s", pwcet.reason);
  ck_assert_int_ge(pwcet.estimate_ns, 11000); /* no time is above that */
  ck_assert_double_lt(pwcet.variation, 1);
}

static void assert_refused(const char *reason) {
  const prem_pwcet pwcet = estimate(RUNS);
  ck_assert(!pwcet.known);
  ck_assert_msg(strstr(pwcet.reason, reason) != NULL, "%s", pwcet.reason);
}

TEST(a_heavy_tail_gets_no_estimate) {
  fill(heavy);
  assert_refused("heavier than an exponential");
}

TEST(times_that_drift_get_no_estimate) {
  fill(drifting);
  assert_refused("drift");
}

static int shift; /* of the second half, in ranks of 2000 */

static double shifted(int run) {
  return run < RUNS / 2 ? run : run - RUNS / 2 + shift;
}

/* 1.628 x sqrt(4000 / 2000^2) = 0.05148: chance explains 102 of 2000 ranks, and not 103. */
TEST(drift_is_more_than_chance_explains) {
  shift = 103;
  fill(shifted);
  assert_refused("the times drift: first and second half of the runs differ by 0.052, chance "
                 "explains 0.051");
  shift = 102;
  fill(shifted);
  assert_refused("depend on the run before"); /* they do not drift, but rise */
}

TEST(runs_that_depend_on_each_other_get_no_estimate) {
  fill(dependent);
  assert_refused("depend on the run before");
}

TEST(ties_get_no_estimate) {
  fill(coarse);
  assert_refused("too many ties");
}

/* Nothing follows from a run for the next one, where all are alike. */
TEST(equal_times_get_no_estimate) {
  fill(constant);
  assert_refused("too many ties");
}

TEST(few_runs_get_no_estimate) {
  fill(exponential);
  const prem_pwcet pwcet = estimate(299);
  ck_assert(!pwcet.known);
  ck_assert_str_eq(pwcet.reason, "299 runs, 300 are needed");
}

TEST(no_runs_get_no_estimate) {
  const prem_pwcet pwcet = estimate(0);
  ck_assert(!pwcet.known);
}

TEST(without_memory_that_is_what_is_said) {
  enum { REQUESTS = 2 };
  fill(exponential);
  failing_prepare();
  for (int i = 1; i <= REQUESTS + 1; ++i) {
    prem_pwcet pwcet;
    failing_arm(i);
    const prem_status status = prem_pwcet_estimate(times, RUNS, 1e-6, &pwcet);
    failing_disarm();
    ck_assert_int_eq(status, i <= REQUESTS ? PREM_ERR_MEMORY : PREM_OK);
    ck_assert_int_eq(pwcet.known, i > REQUESTS);
    ck_assert_str_eq(pwcet.reason, i <= REQUESTS ? "out of memory" : "");
  }
}
