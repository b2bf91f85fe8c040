/* SPDX-License-Identifier: Apache-2.0 */
/* Counted times: a sorted list of the few values that a clock can show. */
#include "measure/times.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/sorting.h"

enum { LEADING_BITS = 11, P99_SAMPLES = 1000, P999_SAMPLES = 10000, P9999_SAMPLES = 100000 };

static int64_t rounded(int64_t ns) {
  if (ns < INT64_C(1) << LEADING_BITS)
    return ns;
  const int bits = 64 - __builtin_clzll((unsigned long long)ns);
  const int64_t step = INT64_C(1) << (bits - LEADING_BITS);
  return (ns + step / 2) / step * step;
}

/* Where `ns` stands, or would. */
static int64_t place_of(const prem_times *times, int64_t ns) {
  int64_t low = 0, high = times->distinct;
  PREM_BISECT(low, high, middle, times->list[middle].ns < ns);
  return low;
}

bool prem_times_add(prem_times *times, int64_t ns) {
  const int64_t kept = rounded(ns);
  const int64_t at = place_of(times, kept);
  if (at == times->distinct || times->list[at].ns != kept) {
    if (!prem_make_room(&times->list, (size_t)times->distinct, sizeof *times->list))
      return false;
    memmove(&times->list[at + 1], &times->list[at],
            (size_t)(times->distinct - at) * sizeof *times->list);
    times->list[at] = (prem_time_count){.ns = kept};
    ++times->distinct;
  }
  ++times->list[at].count;
  if (times->count == 0 || ns < times->min_ns)
    times->min_ns = ns;
  if (times->count == 0 || ns > times->max_ns)
    times->max_ns = ns;
  ++times->count;
  times->sum_ns += (double)ns;
  return true;
}

void prem_times_free(prem_times *times) {
  free(times->list);
  *times = (prem_times){0};
}

static int64_t nearest_rank(const prem_times *times, int64_t part, int64_t of) {
  const int64_t rank = times->count / of * part + (times->count % of * part + of - 1) / of;
  int64_t before = 0;
  for (int64_t i = 0; i < times->distinct; ++i) {
    before += times->list[i].count;
    if (before >= rank) {
      const int64_t ns = times->list[i].ns;
      return ns > times->max_ns ? times->max_ns : ns < times->min_ns ? times->min_ns : ns;
    }
  }
  return times->max_ns;
}

int64_t prem_times_percentile(const prem_times *times, int64_t per_mille) {
  return nearest_rank(times, per_mille, 1000);
}

void prem_times_summarise(const prem_times *times, prem_summary *out) {
  *out = (prem_summary){
      .count = times->count, .p99 = INT64_MIN, .p999 = INT64_MIN, .p9999 = INT64_MIN};
  if (times->count == 0)
    return;
  out->min = times->min_ns;
  out->p50 = prem_times_percentile(times, 500);
  if (times->count >= P99_SAMPLES)
    out->p99 = prem_times_percentile(times, 990);
  if (times->count >= P999_SAMPLES)
    out->p999 = prem_times_percentile(times, 999);
  if (times->count >= P9999_SAMPLES)
    out->p9999 = nearest_rank(times, 9999, 10000);
  out->max = times->max_ns;
  out->mean = times->sum_ns / (double)times->count;
}
