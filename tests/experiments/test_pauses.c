/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses among loads made by hand, and on this machine's cores. */
/* ctest: threads */
#include "experiments/machine/memory_pause/pauses.h"

#include "tests/common/running.h"
#include "tests/common/suite.h"

enum {
  SAMPLERS = 8,
  MAX = 4000,
  LATENCY_NS = 200,
  PERIOD_NS = 20000,
  PAUSE_NS = 1500,
  FIRST_NS = 7000 /* the first pause */
};

static prem_load list[SAMPLERS * MAX];
static int32_t counts[SAMPLERS];
static prem_loads loads;
static prem_times latencies;
static prem_pauses pauses;

static void set_up(void) {
  memset(counts, 0, sizeof counts);
  loads = (prem_loads){list, counts, SAMPLERS, MAX};
  latencies = (prem_times){0};
  pauses = (prem_pauses){0};
}

static void tear_down(void) {
  prem_times_free(&latencies);
  prem_pauses_free(&pauses);
}

static void add_load(int32_t sampler, int64_t begin_ns, int64_t end_ns) {
  list[sampler * MAX + counts[sampler]++] = (prem_load){begin_ns, end_ns};
}

/** What would end in a pause ends behind it, as much later as the pause is long. */
static int64_t behind_pause_ns(int64_t begin_ns, int64_t latency_ns) {
  const int64_t end_ns = begin_ns + latency_ns;
  const int64_t pause_ns = end_ns - (end_ns - FIRST_NS) % PERIOD_NS;
  const bool stopped = end_ns > FIRST_NS && end_ns > pause_ns && end_ns <= pause_ns + PAUSE_NS;
  return stopped ? end_ns + PAUSE_NS : end_ns;
}

/** Samplers at work, each at a pace of its own, until `end_ns`; memory stops every PERIOD_NS. */
static void sample_with_pauses(int64_t end_ns) {
  for (int32_t sampler = 0; sampler < SAMPLERS; ++sampler)
    for (int64_t now_ns = 13 * sampler; now_ns < end_ns && counts[sampler] < MAX;) {
      const int64_t load_ns =
          behind_pause_ns(now_ns, LATENCY_NS + 3 * sampler + counts[sampler] % 7);
      add_load(sampler, now_ns, load_ns);
      now_ns = load_ns;
    }
}

GROUP("pauses", .set_up = set_up, .tear_down = tear_down);

TEST(planted_pauses_are_found) {
  sample_with_pauses(400000);
  ck_assert(prem_loads_latencies(&loads, &latencies));
  const int64_t threshold_ns = prem_pause_threshold_ns(&latencies, SAMPLERS);
  ck_assert_int_ge(threshold_ns, LATENCY_NS);
  ck_assert_int_lt(threshold_ns, PAUSE_NS);
  ck_assert_int_eq(prem_pauses_find(&loads, threshold_ns, &pauses), PREM_OK);
  ck_assert_int_eq(pauses.count, 20);
  for (int64_t i = 0; i < pauses.count; ++i) {
    ck_assert_int_le(llabs(pauses.list[i].begin_ns - FIRST_NS - i * PERIOD_NS), LATENCY_NS);
    ck_assert_int_le(llabs(pauses.list[i].length_ns - PAUSE_NS), LATENCY_NS);
  }
  ck_assert_int_lt(pauses.ordinary_ns, LATENCY_NS);
  ck_assert_int_eq(pauses.gaps_ns.max_ns > PAUSE_NS - LATENCY_NS, 1);
}

/* One sampler goes on: the memory does not stand still. */
TEST(one_that_goes_on_is_no_pause) {
  sample_with_pauses(400000);
  counts[3] = 0;
  for (int64_t now_ns = 0; now_ns < 400000; now_ns += LATENCY_NS)
    add_load(3, now_ns, now_ns + LATENCY_NS);
  ck_assert_int_eq(prem_pauses_find(&loads, LATENCY_NS, &pauses), PREM_OK);
  ck_assert_int_eq(pauses.count, 0);
  ck_assert_int_le(pauses.ordinary_ns, LATENCY_NS);
}

/* What is before the last one's beginning or behind the first one's end says nothing of all. */
TEST(only_where_all_are_at_work) {
  loads.samplers = 2;
  add_load(0, 0, 5000);
  add_load(0, 5000, 6000);
  add_load(0, 6000, 6100);
  add_load(0, 6100, 9000);
  add_load(1, 5900, 6050);
  add_load(1, 6050, 6200);
  ck_assert_int_eq(prem_pauses_find(&loads, 90, &pauses), PREM_OK);
  ck_assert_int_eq(pauses.begin_ns, 5900);
  ck_assert_int_eq(pauses.end_ns, 6200);
  ck_assert_int_eq(pauses.gaps_ns.count, 3); /* 6000, 6050, 6100, 6200 */
  ck_assert_int_eq(pauses.count, 1);
  ck_assert_int_eq(pauses.list[0].begin_ns, 6100);
  ck_assert_int_eq(pauses.list[0].length_ns, 100);
  ck_assert_int_eq(pauses.sum_ns, 100);
}

TEST(never_at_work_together) {
  loads.samplers = 2;
  add_load(0, 0, 500);
  ck_assert_int_eq(prem_pauses_find(&loads, 90, &pauses), PREM_ERR_UNAVAILABLE);
  add_load(1, 600, 700);
  ck_assert_int_eq(prem_pauses_find(&loads, 90, &pauses), PREM_ERR_UNAVAILABLE);
}

TEST(loads_meet_pauses) {
  prem_pause two[] = {{1000, 100}, {2000, 100}};
  const prem_pauses planted = {.list = two, .count = 2};
  const struct {
    prem_load load;
    bool within;
  } cases[] = {{{800, 1000}, false},  {{850, 1001}, true},  {{1001, 1100}, true},
               {{1100, 1900}, false}, {{1900, 2300}, true}, {{2099, 2200}, true},
               {{2100, 2300}, false}, {{2300, 9000}, false}};
  int64_t next = 0;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    ck_assert_int_eq(prem_load_in_pause(&cases[i].load, &planted, &next), cases[i].within);
}

/* Two samplers: so rare a latency that two of them at once are no chance. Many: the median. */
TEST(threshold_follows_the_number_of_samplers) {
  for (int64_t i = 1; i <= 1000; ++i)
    ck_assert(prem_times_add(&latencies, i));
  ck_assert_int_eq(prem_pause_threshold_ns(&latencies, 32), 500);
  ck_assert_int_eq(prem_pause_threshold_ns(&latencies, 2), 997); /* 1000 sqrt(0.01 / 1000) = 3.2 */
  ck_assert_int_eq(prem_pause_threshold_ns(&latencies, 1), 1000);
}

TEST(visits_go_to_different_lines) {
  enum { LINES = 4096 };
  static bool seen[LINES];
  memset(seen, 0, sizeof seen);
  for (uint32_t visit = 0; visit < LINES; ++visit) {
    const uint32_t line = prem_load_line(visit, LINES);
    ck_assert_uint_lt(line, LINES);
    ck_assert(!seen[line]);
    seen[line] = true;
  }
}

/* Each sampler's loads are in order, and both limits hold. */
TEST(cores_sample) {
  loads.samplers = 1;
  const prem_load_order order = {
      .place = PREM_LOAD_MEMORY, .lines = 1 << 14, .length_ns = 1000000000};
  OWNED(prem_diag) *diag = prem_diag_new();
  ck_assert_int_eq(prem_host_sample_loads(&order, &loads, diag), PREM_OK);
  ck_assert_int_eq(counts[0], MAX);
  for (int32_t i = 0; i < MAX; ++i) {
    ck_assert_int_ge(list[i].end_ns, list[i].begin_ns);
    ck_assert(i == 0 || list[i].begin_ns >= list[i - 1].end_ns);
  }
  const prem_load_order none = {.place = PREM_LOAD_CACHE, .lines = 1 << 10, .length_ns = 0};
  ck_assert_int_eq(prem_host_sample_loads(&none, &loads, diag), PREM_OK);
  ck_assert_int_eq(counts[0], 0);
}
