/* SPDX-License-Identifier: Apache-2.0 */
/* Two clocks compared: the bound holds whatever delays and drifts are, and is as close as they
 * allow. */
#include <dlfcn.h>
#include <math.h>
#include <sys/timex.h>
#include <time.h>

#include "prem/base/random.h"
#include "runtime/core/clock_match.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

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

TEST(the_bound_holds_at_all_times) { /* E20 */
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

TEST(a_quick_answer_is_not_spoilt_by_slow_ones) {
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

TEST(a_clock_that_was_set_is_noticed_and_followed) {
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

TEST(the_bound_grows_with_the_time_since_the_last_answer) {
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

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  ck_assert_int_eq(clock_gettime(clock, &now), 0);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Readings of the host's clock, of TAI, and of the host's again: what TAI stands above it lies
 * between. Somebody may set the clock meanwhile, so that one of several rounds is enough. */
TEST(tai_is_as_far_ahead_as_is_said) {
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

/* ---- clocks that are made up ------------------------------------------------------------------
 */

enum { ASKED = 16 };

static struct {
  bool used;
  int64_t width_ns[ASKED]; /* between the two readings of the host's clock */
  int readings, fails_at;  /* of TAI; -1: none fails */
  int tai_s;               /* what the kernel was told; -1: nothing can be asked */
  int64_t now_ns;
} made_up;

static void tell(int64_t ns, struct timespec *out) {
  *out = (struct timespec){ns / 1000000000, ns % 1000000000};
}

/* The ones that the library calls. TAI is 5 s ahead, and 7 ns further from each question to the
 * next. */
int clock_gettime(clockid_t clock, struct timespec *out) {
  int (*next)(clockid_t, struct timespec *);
  *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
  if (!made_up.used)
    return next(clock, out);
  if (clock != CLOCK_TAI) {
    tell(made_up.now_ns, out);
    return 0;
  }
  const int question = made_up.readings++;
  tell(made_up.now_ns + 5000000000 + 7 * question, out);
  made_up.now_ns += question < ASKED ? made_up.width_ns[question] : 1;
  return question == made_up.fails_at ? -1 : 0;
}

int adjtimex(struct timex *out) {
  int (*next)(struct timex *);
  *(void **)&next = dlsym(RTLD_NEXT, "adjtimex");
  if (!made_up.used)
    return next(out);
  out->tai = made_up.tai_s;
  return made_up.tai_s < 0 ? -1 : 0;
}

static prem_status compare_made_up(int best, int64_t width_ns, prem_live_tai *tai) {
  made_up.readings = 0;
  made_up.now_ns = 3000000000;
  for (int i = 0; i < ASKED; ++i)
    made_up.width_ns[i] = i == best ? width_ns : width_ns + 2 + i % 3;
  made_up.used = true;
  const prem_status status = prem_live_compare_tai(tai);
  made_up.used = false;
  return status;
}

/* Of all questions that which was interrupted least counts, of equal ones the first. */
TEST(the_quickest_of_some_questions_counts) {
  prem_live_tai tai;
  made_up.fails_at = -1;
  made_up.tai_s = 37;
  for (int best = 0; best < ASKED; ++best)
    for (int64_t width_ns = 20; width_ns <= 21; ++width_ns) {
      ck_assert_int_eq(compare_made_up(best, width_ns, &tai), PREM_OK);
      ck_assert_int_eq(made_up.readings, ASKED);
      ck_assert_int_eq(tai.bound_ns, (width_ns + 1) / 2);
      ck_assert_int_eq(tai.offset_ns, 5000000000 + 7 * best - width_ns / 2);
      ck_assert_int_eq(tai.leap_s, 37);
    }
  ck_assert_int_eq(compare_made_up(-1, 20, &tai), PREM_OK); /* 22, 23, 24, 22 ... */
  ck_assert_int_eq(tai.bound_ns, 11);
  ck_assert_int_eq(tai.offset_ns, 5000000000 - 11);
}

TEST(what_cannot_be_asked_is_not_known) {
  prem_live_tai tai;
  made_up.tai_s = 37;
  for (made_up.fails_at = 0; made_up.fails_at < ASKED; ++made_up.fails_at) {
    tai = (prem_live_tai){.offset_ns = -1, .bound_ns = -1, .leap_s = -1};
    ck_assert_int_eq(compare_made_up(3, 20, &tai), PREM_ERR_UNAVAILABLE);
    ck_assert_int_eq(made_up.readings, made_up.fails_at + 1);
    ck_assert_int_ne(tai.offset_ns, -1);
    ck_assert_int_ne(tai.bound_ns, -1);
  }
  made_up.fails_at = -1;
  made_up.tai_s = -1;
  ck_assert_int_eq(compare_made_up(3, 20, &tai), PREM_OK);
  ck_assert_int_eq(tai.leap_s, 0);
}
