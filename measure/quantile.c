/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of quantiles: see quantile.h. */
#include "measure/quantile.h"

#include <math.h>

/* log(exp(a) + exp(b)) */
static double add_logs(double a, double b) {
  const double max = a > b ? a : b, min = a > b ? b : a;
  return max + log1p(exp(min - max));
}

int64_t prem_quantile_above(int64_t count, double share, double confidence) {
  const double limit = log(1 - confidence), odds = log(1 - share) - log(share);
  double term = (double)count * log(share), sum = term;
  int64_t above = -1;
  while (sum <= limit && above + 1 < count) {
    ++above;
    term += log((double)(count - above) / (double)(above + 1)) + odds;
    sum = add_logs(sum, term);
  }
  return above;
}

/* The longest time of the two lists below their last `*a_left` and `*b_left` entries, with its
 * count. */
static prem_time_count take_longest(const prem_times *a, const prem_times *b, int64_t *a_left,
                                    int64_t *b_left) {
  if (*b_left == 0 || (*a_left > 0 && a->list[*a_left - 1].ns >= b->list[*b_left - 1].ns))
    return a->list[--*a_left];
  return b->list[--*b_left];
}

int64_t prem_quantile_bound(const prem_times *a, const prem_times *b, double share,
                            double confidence) {
  enum { ROUNDING = 2048 }; /* see times.h */
  const int64_t longest_ns = a->max_ns > b->max_ns ? a->max_ns : b->max_ns;
  const int64_t above = prem_quantile_above(a->count + b->count, share, confidence);
  int64_t a_left = a->distinct, b_left = b->distinct, seen = 0;
  while (above > 0 && a_left + b_left > 0) {
    const prem_time_count next = take_longest(a, b, &a_left, &b_left);
    seen += next.count;
    if (seen > above) {
      const int64_t bound_ns = next.ns + next.ns / ROUNDING;
      return bound_ns < longest_ns ? bound_ns : longest_ns;
    }
  }
  return longest_ns;
}
