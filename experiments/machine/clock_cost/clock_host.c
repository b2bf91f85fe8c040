/* SPDX-License-Identifier: Apache-2.0 */
/* What reading the host's clocks costs. */
#include <math.h>
#include <time.h>

#include "experiments/machine/clock_cost/clock_reads.h"
#include "prem/base/clock.h"
#include "ttprem/measure.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { READS = 100000 };

typedef int64_t read_clock(void);

static int64_t read_monotonic(void) {
  return prem_host_clock_ns();
}

static int64_t read_raw(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#if defined(__x86_64__)
static int64_t read_tsc(void) {
  return (int64_t)__rdtsc();
}

/** Intel's manual asks for a fence on both sides, if a reading is to stand between what is before
 *  it and what is after. */
static int64_t read_fenced_tsc(void) {
  _mm_lfence();
  const int64_t now = (int64_t)__rdtsc();
  _mm_lfence();
  return now;
}
#endif

static const struct {
  const char *clock, *unit;
  bool ordered;
  read_clock *read;
} clocks[] = {
    {"clock_gettime(MONOTONIC)", "ns", true, read_monotonic},
    {"clock_gettime(MONOTONIC_RAW)", "ns", true, read_raw},
#if defined(__x86_64__)
    {"rdtsc", "ticks", false, read_tsc},
    {"rdtsc between fences", "ticks", true, read_fenced_tsc},
#endif
};
enum { CLOCKS = sizeof clocks / sizeof clocks[0] };
_Static_assert((int)CLOCKS <= (int)PREM_MAX_CLOCKS, "there is room for all");

/** Two readings with `work` multiplications between them, each of the result of the one before. */
static int64_t time_work(read_clock *read, int32_t work, uint64_t *value) {
  uint64_t worked = *value;
  const int64_t begin = read();
  for (int32_t i = 0; i < work; ++i) {
    worked *= 0x9E3779B97F4A7C15u;
    __asm__ volatile("" : "+r"(worked)); /* one by one, and where they stand */
  }
  const int64_t end = read();
  *value = worked;
  return end - begin;
}

static double read_cost_ns(read_clock *read) {
  volatile int64_t last = 0;
  const int64_t begin_ns = prem_host_clock_ns();
  for (int32_t i = 0; i < READS; ++i)
    last = read();
  (void)last;
  return (double)(prem_host_clock_ns() - begin_ns) / READS;
}

prem_status prem_host_clock_costs(prem_clock_cost *costs, int32_t *count, prem_diag *diag) {
  (void)diag;
  uint64_t value = 1;
  for (int32_t i = 0; i < CLOCKS; ++i) {
    costs[i] = (prem_clock_cost){.clock = clocks[i].clock,
                                 .unit = clocks[i].unit,
                                 .ordered = clocks[i].ordered,
                                 .read_cycles = NAN};
    costs[i].read_ns = read_cost_ns(clocks[i].read);
    for (int work = 0; work < PREM_CLOCK_WORKS; ++work) {
      int64_t pairs[PREM_CLOCK_PAIRS];
      prem_summary summary;
      for (int pair = 0; pair < PREM_CLOCK_PAIRS; ++pair)
        pairs[pair] = time_work(clocks[i].read, prem_clock_work(work), &value);
      prem_summarise(pairs, PREM_CLOCK_PAIRS, &summary);
      costs[i].over_work[work] = (double)summary.p50;
    }
    costs[i].pair = costs[i].over_work[0];
  }
  /* The multiplications are part of what is measured: their result must not be left out. */
  volatile uint64_t kept = value;
  (void)kept;
  *count = CLOCKS;
  return PREM_OK;
}
