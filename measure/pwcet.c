/* SPDX-License-Identifier: Apache-2.0 */
/* Extreme values, or why there are none: see pwcet.h. */
#include "measure/pwcet.h"

#include "prem/base/sorting.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_RUNS = 300, MIN_EXCESSES = 20, MIN_VALUES = 10 };

static const double normal_99 = 2.576;     /* two-sided 1 % of a normal distribution */
static const double normal_95 = 1.645;     /* one-sided 5 % */
static const double kolmogorov_99 = 1.628; /* 1 % of Kolmogorov's distribution */

static bool PREM_PRINTF(2, 3) no_estimate(prem_pwcet *pwcet, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(pwcet->reason, sizeof pwcet->reason, format, args);
  va_end(args);
  return false;
}

/* All of it sorted, or each half by itself. NULL: out of memory. */
static int64_t *sorted_copy(const int64_t *values, int64_t count, bool by_halves) {
  const int64_t first = by_halves ? count / 2 : 0;
  int64_t *copy = malloc((size_t)(count + 1) * sizeof *copy);
  if (!copy)
    return NULL;
  memcpy(copy, values, (size_t)count * sizeof *copy);
  qsort(copy, (size_t)first, sizeof *copy, prem_by_i64);
  qsort(copy + first, (size_t)(count - first), sizeof *copy, prem_by_i64);
  return copy;
}

/* ---- is it one distribution? ---------------------------------------------------------------- */

/* The largest distance of two empirical distributions, both sorted. */
static double distance(const int64_t *a, int64_t a_count, const int64_t *b, int64_t b_count) {
  int64_t i = 0, j = 0;
  double max = 0;
  while (i < a_count && j < b_count) {
    const int64_t value = a[i] < b[j] ? a[i] : b[j];
    while (i < a_count && a[i] == value)
      ++i;
    while (j < b_count && b[j] == value)
      ++j;
    const double apart = fabs((double)i / (double)a_count - (double)j / (double)b_count);
    max = apart > max ? apart : max;
  }
  return max;
}

/* `halves` has both, each sorted. */
static bool is_stationary(const int64_t *halves, int64_t count, prem_pwcet *pwcet) {
  const int64_t first = count / 2, second = count - first;
  const double apart = distance(halves, first, halves + first, second);
  const double limit =
      kolmogorov_99 * sqrt((double)(first + second) / ((double)first * (double)second));
  return apart <= limit ||
         no_estimate(pwcet,
                     "the times drift: first and second half of the runs differ by %.3f, "
                     "chance explains %.3f",
                     apart, limit);
}

/* ---- are the runs independent? -------------------------------------------------------------- */

/* Twice the mean rank among all: ties share theirs. */
static double rank_of(const int64_t *sorted, int64_t count, int64_t value) {
  int64_t low = 0, high = count;
  PREM_BISECT(low, high, middle, sorted[middle] < value);
  int64_t above = low, top = count;
  PREM_BISECT(above, top, middle, sorted[middle] <= value);
  return (double)(low + above - 1);
}

/* Correlation of the ranks of neighbours: no outlier can hide or feign it. */
static bool is_independent(const int64_t *values, const int64_t *sorted, int64_t count,
                           prem_pwcet *pwcet) {
  const double mean = (double)(count - 1);
  double product = 0, square = 0, before = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double rank = rank_of(sorted, count, values[i]) - mean;
    product += i > 0 ? rank * before : 0;
    square += rank * rank;
    before = rank;
  }
  const double correlation = square > 0 ? product / square : 0;
  const double limit = normal_99 / sqrt((double)count);
  return fabs(correlation) <= limit ||
         no_estimate(pwcet,
                     "runs depend on the run before: rank correlation %.3f, chance explains "
                     "%.3f",
                     correlation, limit);
}

/* ---- the tail ------------------------------------------------------------------------------- */

static int64_t distinct_above(const int64_t *sorted, int64_t first, int64_t count) {
  int64_t distinct = 0;
  for (int64_t i = first; i < count; ++i)
    distinct += i == first || sorted[i] != sorted[i - 1];
  return distinct;
}

static bool fit(const int64_t *sorted, int64_t count, prem_pwcet *pwcet) {
  const int64_t threshold_ns = sorted[count * 9 / 10];
  int64_t first = count * 9 / 10;
  while (first < count && sorted[first] == threshold_ns)
    ++first;
  const int64_t excesses = count - first;
  const int64_t distinct = distinct_above(sorted, first, count);
  if (excesses < MIN_EXCESSES || distinct < MIN_VALUES)
    return no_estimate(pwcet,
                       "too many ties: %lld different times among the %lld above the ninth decile, "
                       "%d among %d are needed",
                       (long long)distinct, (long long)excesses, MIN_VALUES, MIN_EXCESSES);
  double sum = 0, square = 0;
  for (int64_t i = first; i < count; ++i)
    sum += (double)(sorted[i] - threshold_ns);
  const double mean = sum / (double)excesses;
  for (int64_t i = first; i < count; ++i) {
    const double apart = (double)(sorted[i] - threshold_ns) - mean;
    square += apart * apart;
  }
  pwcet->variation = sqrt(square / (double)(excesses - 1)) / mean;
  const double limit = 1 + normal_95 / sqrt((double)excesses);
  if (pwcet->variation > limit)
    return no_estimate(pwcet,
                       "the tail is heavier than an exponential one: coefficient of variation "
                       "%.2f of the %lld times above the ninth decile, chance explains %.2f",
                       pwcet->variation, (long long)excesses, limit);
  pwcet->threshold_ns = threshold_ns;
  pwcet->excesses = excesses;
  pwcet->mean_excess_ns = mean;
  return true;
}

static bool extrapolate(const int64_t *values, const int64_t *sorted, const int64_t *halves,
                        int64_t count, double probability, prem_pwcet *pwcet) {
  if (!is_stationary(halves, count, pwcet) || !is_independent(values, sorted, count, pwcet) ||
      !fit(sorted, count, pwcet))
    return false;
  const double share = (double)pwcet->excesses / (double)count;
  pwcet->estimate_ns =
      (int64_t)ceil((double)pwcet->threshold_ns + pwcet->mean_excess_ns * log(share / probability));
  return true;
}

prem_status prem_pwcet_estimate(const int64_t *maxima_ns, int64_t count, double probability,
                                prem_pwcet *out) {
  *out = (prem_pwcet){.probability = probability, .runs = count};
  if (count < MIN_RUNS) {
    no_estimate(out, "%lld runs, %d are needed", (long long)count, MIN_RUNS);
    return PREM_OK;
  }
  int64_t *sorted = sorted_copy(maxima_ns, count, false);
  int64_t *halves = sorted_copy(maxima_ns, count, true);
  if (sorted && halves)
    out->known = extrapolate(maxima_ns, sorted, halves, count, probability, out);
  else
    no_estimate(out, "out of memory");
  const prem_status status = sorted && halves ? PREM_OK : PREM_ERR_MEMORY;
  free(sorted);
  free(halves);
  return status;
}
