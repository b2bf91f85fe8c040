/* SPDX-License-Identifier: Apache-2.0 */
/* Two clocks compared: the bound holds whatever delays and drifts are, and is as close as they
 * allow. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "prem/base/random.h"
#include "runtime/core/clock_match.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"

enum { SETS = ROUNDS(200), QUESTIONS = 2000, STEP_NS = 32 };

/* The other clock: starts anywhere, goes too fast or too slow by some ppm, which wander. */
typedef struct other_clock {
  double shown_ns, ppm;
  int64_t host_ns;
} other_clock;

static uint64_t random_state;

static int64_t pick(int64_t min, int64_t max) {
  return min + (int64_t)(prem_random_next(&random_state) % (uint64_t)(max - min + 1));
}

static void pass(other_clock *clock, int64_t ns) {
  clock->host_ns += ns;
  clock->shown_ns += (double)ns * (1 + clock->ppm * 1e-6);
}

static int64_t look(const other_clock *clock) {
  return (int64_t)floor(clock->shown_ns / STEP_NS) * STEP_NS;
}

static void ask(other_clock *clock, prem_clock_match *match, int64_t there_ns, int64_t back_ns) {
  const int64_t asked_ns = clock->host_ns;
  pass(clock, there_ns);
  const int64_t shown_ns = look(clock);
  pass(clock, back_ns);
  prem_clock_match_add(match, asked_ns, shown_ns, clock->host_ns, STEP_NS);
}

static void assert_bounded(const other_clock *clock, const prem_clock_match *match) {
  const prem_clock_match now = prem_clock_match_at(match, clock->host_ns);
  const double truth = clock->shown_ns - (double)clock->host_ns;
  const double off = fabs(truth - (double)prem_clock_match_offset_ns(&now));
  ck_assert_double_le(off, (double)prem_clock_match_bound_ns(&now) + 1);
}

START_TEST(the_bound_holds_at_all_times) { /* E20 */
  for (int set = 0; set < SETS; ++set) {
    random_state = (uint64_t)set;
    other_clock clock = {.shown_ns = (double)pick(0, INT64_C(1) << 40),
                         .ppm = (double)pick(-49, 49),
                         .host_ns = pick(0, INT64_C(1) << 40)};
    const int64_t longest_ns = pick(100, 100000); /* lopsided as it comes */
    prem_clock_match match = {0};
    for (int q = 0; q < QUESTIONS; ++q) {
      clock.ppm = fmin(49, fmax(-49, clock.ppm + (double)pick(-10, 10) / 10));
      ask(&clock, &match, pick(50, longest_ns), pick(50, longest_ns));
      assert_bounded(&clock, &match);
      pass(&clock, pick(0, 100000000));
      assert_bounded(&clock, &match);
    }
    ck_assert_uint_eq(match.contradictions, 0);
    ck_assert_uint_eq(match.questions, QUESTIONS);
  }
}
END_TEST

START_TEST(a_quick_answer_is_not_spoilt_by_slow_ones) {
  other_clock clock = {.shown_ns = 5e9, .ppm = 12};
  prem_clock_match match = {0};
  ask(&clock, &match, 500, 500);
  ck_assert_int_le(prem_clock_match_bound_ns(&match), 500 + STEP_NS);
  for (int q = 0; q < 10; ++q) {
    pass(&clock, 1000000);
    ask(&clock, &match, 900000, 400000);
    assert_bounded(&clock, &match);
  }
  const prem_clock_match now = prem_clock_match_at(&match, clock.host_ns);
  ck_assert_int_le(prem_clock_match_bound_ns(&now), 500 + STEP_NS + 23 * PREM_CLOCK_DRIFT_PPM + 50);
}
END_TEST

START_TEST(a_clock_that_was_set_is_noticed_and_followed) {
  other_clock clock = {.shown_ns = 5e9};
  prem_clock_match match = {0};
  for (int q = 0; q < 5; ++q) {
    pass(&clock, 1000000);
    ask(&clock, &match, 500, 700);
  }
  clock.shown_ns += 1e6;
  ask(&clock, &match, 500, 700);
  ck_assert_uint_eq(match.contradictions, 1);
  assert_bounded(&clock, &match);
  pass(&clock, 1000000);
  ask(&clock, &match, 500, 700);
  ck_assert_uint_eq(match.contradictions, 1);
  assert_bounded(&clock, &match);
}
END_TEST

START_TEST(the_bound_grows_with_the_time_since_the_last_answer) {
  other_clock clock = {.shown_ns = 0};
  prem_clock_match match = {0};
  ask(&clock, &match, 500, 500);
  const int64_t at_once_ns = prem_clock_match_bound_ns(&match);
  const prem_clock_match later = prem_clock_match_at(&match, match.at_ns + 1000000000);
  ck_assert_int_ge(prem_clock_match_bound_ns(&later), at_once_ns + 1000 * PREM_CLOCK_DRIFT_PPM);
  ck_assert_int_le(prem_clock_match_bound_ns(&later), at_once_ns + 1000 * PREM_CLOCK_DRIFT_PPM + 2);
  const prem_clock_match before = prem_clock_match_at(&match, match.at_ns - 1000);
  ck_assert_int_eq(before.at_ns, match.at_ns);
}
END_TEST

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  ck_assert_int_eq(clock_gettime(clock, &now), 0);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Readings of the host's clock, of TAI, and of the host's again: what TAI stands above it lies
 * between. Somebody may set the clock meanwhile, so that one of several rounds is enough. */
START_TEST(tai_is_as_far_ahead_as_is_said) {
  bool is_within = false;
  for (int i = 0; i < 100 && !is_within; ++i) {
    prem_live_tai tai = {.offset_ns = -1, .bound_ns = -1, .leap_s = -1};
    const int64_t before_ns = clock_ns(CLOCK_MONOTONIC), first_ns = clock_ns(CLOCK_TAI);
    ck_assert_int_eq(prem_live_compare_tai(&tai), PREM_OK);
    const int64_t last_ns = clock_ns(CLOCK_TAI), behind_ns = clock_ns(CLOCK_MONOTONIC);
    ck_assert_int_gt(tai.bound_ns, 0);
    ck_assert_int_le(tai.bound_ns, (behind_ns - before_ns + 1) / 2);
    const int64_t leap_ns = clock_ns(CLOCK_TAI) - clock_ns(CLOCK_REALTIME);
    ck_assert_int_eq((leap_ns + 500000000) / 1000000000, tai.leap_s);
    /* TAI less the host's clock: of readings around the whole call, and of one within the bound */
    const int64_t min_ns = first_ns - behind_ns, max_ns = last_ns - before_ns;
    is_within = tai.offset_ns - tai.bound_ns >= min_ns && tai.offset_ns + tai.bound_ns <= max_ns &&
                last_ns - (tai.offset_ns - tai.bound_ns) >= before_ns &&
                last_ns - (tai.offset_ns + tai.bound_ns) <= behind_ns;
  }
  ck_assert(is_within);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("clock_match");
  TCase *cases = tcase_create("clock_match");
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, the_bound_holds_at_all_times);
  tcase_add_test(cases, a_quick_answer_is_not_spoilt_by_slow_ones);
  tcase_add_test(cases, a_clock_that_was_set_is_noticed_and_followed);
  tcase_add_test(cases, the_bound_grows_with_the_time_since_the_last_answer);
  tcase_add_test(cases, tai_is_as_far_ahead_as_is_said);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
