/* SPDX-License-Identifier: Apache-2.0 */
/* Levels and edges, read off curves that were measured and off made ones. */
#include <math.h>

#include "experiments/machine/cache_sizes/cache_levels.h"
#include "tests/common/suite.h"

enum { POINTS = 36 };

/** Lists of 1 KiB and longer, two an octave. */
static void list_sizes(int64_t bytes[POINTS]) {
  for (int i = 0; i < POINTS; ++i)
    bytes[i] = (int64_t)(1024 * exp2(i / 2.0));
}

/* An NVIDIA H200 on 2026-11-21: ns of an access, sequential walks past L1, in the order of
 * list_sizes(). */
static const double h200_past_l1[POINTS] = {
    153.9, 149.7, 146.7, 145.4, 146.0, 145.6, 144.9, 144.2, 145.0, 145.1, 145.5, 145.7,
    146.5, 146.0, 146.5, 146.5, 146.5, 146.5, 146.5, 146.5, 146.5, 146.5, 146.5, 146.5,
    146.5, 146.5, 146.5, 146.5, 146.5, 146.5, 208.6, 208.4, 244.8, 245.4, 245.7, 245.6};

/* A core of an AMD EPYC, a guest's, on 2026-11-21: random walks. */
enum { EPYC_POINTS = 35 };
static const double epyc[EPYC_POINTS] = {
    1.22,  1.22,  1.22,  1.22,   1.22,   1.22,   1.22,   1.22,  1.22,   1.22,   1.22,  1.22,
    3.66,  3.66,  3.67,  3.67,   3.67,   3.67,   4.08,   5.41,  6.61,   11.79,  13.41, 13.67,
    13.68, 14.91, 17.84, 116.08, 131.05, 146.52, 146.35, 150.1, 156.27, 155.74, 153.22};

/** The edge of a cache between two points: how far their middle is off. */
static double off_by(const double *ns, int32_t count, double apart, int64_t cache_bytes,
                     bool last) {
  int64_t bytes[POINTS];
  prem_level levels[PREM_MAX_LEVELS];
  list_sizes(bytes);
  const int32_t found = prem_levels_find(ns, count, apart, levels);
  const int32_t hit = prem_level_of_cache(levels, found, bytes, cache_bytes, last);
  ck_assert_int_ge(hit, 0);
  const int32_t edge =
      prem_edge_find(ns, count, prem_level_threshold_ns(&levels[hit], &levels[hit + 1]));
  ck_assert_int_ge(edge, 0);
  return sqrt((double)bytes[edge] * (double)bytes[edge + 1]) / (double)cache_bytes - 1;
}

GROUP("levels");

TEST(an_h200_has_two_levels_of_l2) {
  prem_level levels[PREM_MAX_LEVELS];
  ck_assert_int_eq(prem_levels_find(h200_past_l1, POINTS, 0.15, levels), 3);
  ck_assert_double_eq_tol(levels[0].ns, 146.5, 1);
  ck_assert_double_eq_tol(levels[1].ns, 208.5, 1);
  ck_assert_double_eq_tol(levels[2].ns, 245.5, 1);
}

/** Not where its nearer half is full, at 30 MiB. */
TEST(the_l2_of_an_h200_is_read_off_within_15_percent) {
  ck_assert_double_le(fabs(off_by(h200_past_l1, POINTS, 0.15, 61440 * 1024, true)), 0.15);
}

TEST(the_caches_of_a_core_are_in_the_steps_where_they_end) {
  const double step = exp2(0.25) - 1; /* half of a step, from its middle */
  ck_assert_double_le(fabs(off_by(epyc, EPYC_POINTS, 0.5, 48 * 1024, false)), step);
  ck_assert_double_le(fabs(off_by(epyc, EPYC_POINTS, 0.5, 1024 * 1024, false)), step);
  /* 32 MiB are reported; this guest had a third of them */
  ck_assert_double_eq_tol(off_by(epyc, EPYC_POINTS, 0.5, 32 << 20, true), -0.7, 0.05);
}

/** 2 % of noise, and a hit that grows slower by 12 % before it misses. */
TEST(noise_and_small_steps_are_no_edges) {
  double ns[POINTS];
  for (int trial = 0; trial < 200; ++trial) {
    for (int i = 0; i < POINTS; ++i) {
      const double noise = 1 + 0.02 * ((double)rand() / RAND_MAX - 0.5);
      ns[i] = (i < 6 ? 20 : i < 16 ? 22.4 : 146) * noise; /* 1 KiB x 2^8 = 256 KiB is the 17th */
    }
    prem_level levels[PREM_MAX_LEVELS];
    ck_assert_int_eq(prem_levels_find(ns, POINTS, 0.15, levels), 2);
    ck_assert_double_le(fabs(off_by(ns, POINTS, 0.15, 256 * 1024, false)), exp2(0.25) - 1);
  }
}

TEST(one_level_has_no_edge) {
  double ns[POINTS];
  int64_t bytes[POINTS];
  prem_level levels[PREM_MAX_LEVELS];
  list_sizes(bytes);
  for (int i = 0; i < POINTS; ++i)
    ns[i] = 5;
  ck_assert_int_eq(prem_levels_find(ns, POINTS, 0.15, levels), 1);
  ck_assert_int_eq(prem_level_of_cache(levels, 1, bytes, 1 << 20, true), -1);
  ck_assert_int_eq(prem_level_of_cache(levels, 1, bytes, 1 << 20, false), -1);
  ck_assert_int_eq(prem_edge_find(ns, POINTS, 6), -1);
  ck_assert_int_eq(prem_edge_find(ns, POINTS, 4), -1);
  ck_assert_int_eq(prem_levels_find(ns, 0, 0.15, levels), 0);
}

/** A curve that rises all the way has no level, one that leaps at each point neither. */
TEST(a_slope_is_no_level) {
  double ns[POINTS];
  prem_level levels[PREM_MAX_LEVELS];
  for (int i = 0; i < POINTS; ++i)
    ns[i] = 20 * pow(1.07, i);
  ck_assert_int_eq(prem_levels_find(ns, POINTS, 0.15, levels), 0);
}
