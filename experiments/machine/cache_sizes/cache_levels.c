/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of a memory hierarchy. */
#include "experiments/machine/cache_sizes/cache_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 256 };

/* In a level no point differs from the one before it by more than this share of what sets levels
 * apart. */
static const double flat = 1.0 / 3.0;

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_ns(const double *ns, int32_t count) {
  double sorted[MAX_POINTS];
  const size_t used = count < MAX_POINTS ? (size_t)count : MAX_POINTS;
  memcpy(sorted, ns, used * sizeof *ns);
  qsort(sorted, used, sizeof *sorted, by_size);
  return sorted[used / 2];
}

static bool is_near(double a, double b, double share) {
  return fabs(a - b) < share * fmin(a, b);
}

/** Add a run of points, or make the last level longer by it. */
static int32_t add_run(const double *ns, int32_t first, int32_t last, double apart,
                       prem_level *levels, int32_t count) {
  const prem_level run = {first, last, median_ns(ns + first, last - first + 1)};
  if (count > 0 && is_near(levels[count - 1].ns, run.ns, apart)) {
    prem_level *before = &levels[count - 1];
    before->last = last;
    before->ns = median_ns(ns + before->first, last - before->first + 1);
    return count;
  }
  if (count == PREM_MAX_LEVELS)
    return count;
  levels[count] = run;
  return count + 1;
}

int32_t prem_levels_find(const double *ns, int32_t count, double apart,
                         prem_level levels[PREM_MAX_LEVELS]) {
  int32_t found = 0;
  for (int32_t first = 0, last; first < count; first = last + 1) {
    last = first;
    while (last + 1 < count && is_near(ns[last], ns[last + 1], flat * apart))
      ++last;
    if (last > first)
      found = add_run(ns, first, last, apart, levels, found);
  }
  return found;
}

int32_t prem_level_of_cache(const prem_level *levels, int32_t count, const int64_t *list_bytes,
                            int64_t cache_bytes, bool last) {
  int32_t level = count - 2;
  while (!last && level >= 0 &&
         sqrt((double)list_bytes[levels[level].first] * (double)list_bytes[levels[level].last]) >
             (double)cache_bytes)
    --level;
  return level;
}

double prem_level_threshold_ns(const prem_level *hit, const prem_level *miss) {
  return (hit->ns + miss->ns) / 2;
}

int32_t prem_edge_find(const double *ns, int32_t count, double threshold_ns) {
  int32_t point = count - 1;
  while (point >= 0 && ns[point] > threshold_ns)
    --point;
  return point + 1 < count ? point : -1;
}
