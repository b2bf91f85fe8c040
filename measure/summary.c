/* SPDX-License-Identifier: Apache-2.0 */
/* What a set of times says, maximum before mean. */
#include <stdlib.h>

#include "ttprem/measure.h"

#include "prem/base/sorting.h"

enum { P99_SAMPLES = 1000, P999_SAMPLES = 10000, P9999_SAMPLES = 100000 };

/** The nearest-rank percentile of sorted values: the smallest that so many of `of` of them do not
 *  exceed. */
static int64_t nearest_rank(const int64_t *values, int64_t count, int64_t part, int64_t of) {
  int64_t whole = count / of * part;
  int64_t rest = (count % of * part + of - 1) / of;
  return values[whole + rest - 1];
}

/** Summed relative to the minimum, so that times far from zero lose no digits. */
static double mean_of(const int64_t *values, int64_t count) {
  long double above_min = 0;
  for (int64_t i = 0; i < count; ++i)
    above_min += (long double)values[i] - (long double)values[0];
  return (double)((long double)values[0] + above_min / (long double)count);
}

void prem_summarise(int64_t *values, int64_t count, prem_summary *out) {
  *out = (prem_summary){
      .count = count > 0 ? count : 0, .p99 = INT64_MIN, .p999 = INT64_MIN, .p9999 = INT64_MIN};
  if (count <= 0)
    return;
  qsort(values, (size_t)count, sizeof *values, prem_by_i64);
  out->min = values[0];
  out->p50 = nearest_rank(values, count, 500, 1000);
  if (count >= P99_SAMPLES)
    out->p99 = nearest_rank(values, count, 990, 1000);
  if (count >= P999_SAMPLES)
    out->p999 = nearest_rank(values, count, 999, 1000);
  if (count >= P9999_SAMPLES)
    out->p9999 = nearest_rank(values, count, 9999, 10000);
  out->max = values[count - 1];
  out->mean = mean_of(values, count);
}
