/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's wait for an instant, which compares readings as doubles, beside a loop that compares
 * integers: wherever halves of the clock run over, however long the warp is kept away meanwhile. */
#include "prem/base/random.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#define __device__
#define __forceinline__ inline

static double prem_as_double(int64_t bits) {
  union {
    int64_t bits;
    double value;
  } as = {bits};
  return as.value;
}

enum { STEP_NS = 32, MOST_READINGS = 4096 };

static struct {
  int64_t readings[MOST_READINGS];
  int next;
} gpu;

static int64_t prem_clock_ns(void) {
  ck_assert_int_lt(gpu.next, MOST_READINGS);
  return gpu.readings[gpu.next++];
}

#include "runtime/cuda/device/clock_wait.cuh"

/* A clock from `now_ns` on, by single steps; with one pause somewhere. */
static void clock_new(int64_t now_ns, int pause_at, int64_t pause_ns) {
  gpu.next = 0;
  for (int i = 0; i < MOST_READINGS; ++i)
    gpu.readings[i] = now_ns + (int64_t)i * STEP_NS + (i >= pause_at ? pause_ns : 0);
}

static int64_t by_integers(int64_t at_ns) {
  int i = 0;
  while (gpu.readings[i] < at_ns)
    ++i;
  return gpu.readings[i];
}

static void assert_wait(int64_t now_ns, int64_t at_ns, int pause_at, int64_t pause_ns) {
  clock_new(now_ns, pause_at, pause_ns);
  const int64_t expected = by_integers(at_ns);
  ck_assert_int_eq(prem_clock_await(at_ns), expected);
  ck_assert_int_eq(gpu.readings[gpu.next - 1], expected); /* it looked no more behind that */
}

/* The last: today, and the exponent of a double runs over; the last instants before NaNs. */
static const int64_t edges_ns[] = {0,
                                   INT64_C(1) << 31,
                                   INT64_C(1) << 32,
                                   INT64_C(3) << 31,
                                   INT64_C(1) << 52,
                                   INT64_C(1761234567) << 30,
                                   INT64_C(0x18d) << 52,
                                   (INT64_C(0x7ff) << 52) - 6000};

TESTS(an_instant_is_seen_at_every_edge_of_the_clock, sizeof edges_ns / sizeof *edges_ns) {
  for (int64_t before = -40 * STEP_NS; before <= 40 * STEP_NS; before += STEP_NS)
    for (int64_t wait = -3 * STEP_NS; wait <= 50 * STEP_NS; wait += 17) {
      const int64_t now_ns = edges_ns[_i] + (_i < 4 ? INT64_C(1) << 33 : 0) + before;
      assert_wait(now_ns, now_ns + wait, MOST_READINGS, 0);
    }
}

TEST(an_instant_before_all_is_over) {
  const int64_t instants_ns[] = {INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 52), -32, -1, 0, 1};
  for (size_t i = 0; i < sizeof instants_ns / sizeof *instants_ns; ++i)
    assert_wait(INT64_C(1) << 33, instants_ns[i], MOST_READINGS, 0);
}

/* The GPU is taken away for up to two seconds: the wait ends with the first reading behind that. */
TEST(a_pause_does_not_run_over) {
  uint64_t random = 5;
  for (int i = 0; i < 20000; ++i) {
    const int64_t now_ns = (INT64_C(1) << 33) + prem_random_below(&random, INT64_C(1) << 34);
    const int64_t wait = prem_random_below(&random, 20000);
    const int64_t pause_ns = prem_random_below(&random, 2000000000);
    assert_wait(now_ns, now_ns + wait, (int)prem_random_below(&random, 600), pause_ns);
  }
}
