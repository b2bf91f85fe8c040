/* SPDX-License-Identifier: Apache-2.0 */
/* Padding: see padding.h. */
#include "measure/padding.h"

#include <stdlib.h>

#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

static bool is_disturbed(const int64_t *away_ns, int64_t i) {
  return away_ns && away_ns[i] > 0;
}

/* The times that an instant is set by, sorted: a stall must not set it. */
static int64_t take_trained(const int64_t *values, const int64_t *away_ns, int64_t half,
                            int64_t *trained) {
  int64_t count = 0;
  for (int64_t i = 0; i < half; ++i)
    if (!is_disturbed(away_ns, i))
      trained[count++] = values[i];
  qsort(trained, (size_t)count, sizeof *trained, prem_by_i64);
  return count;
}

/* One step of the clock more than the time, rounded up to the clock's grid. */
static int64_t instant_ns(int64_t time_ns, int64_t step_ns) {
  return (time_ns + 2 * step_ns - 1) / step_ns * step_ns;
}

int64_t prem_padding_needs(prem_padding_by by) {
  static const int64_t needs[PREM_PADDING_COUNT] = {10000, 100000, 1};
  return needs[by];
}

prem_status prem_pad(const int64_t *values, const int64_t *away_ns, int64_t count, int64_t step_ns,
                     prem_padding *out) {
  *out = (prem_padding){0};
  for (int by = 0; by < PREM_PADDING_COUNT; ++by)
    out->at[by].published_ns = -1;
  int64_t *trained = malloc((size_t)(count / 2 + 1) * sizeof *trained);
  if (!trained)
    return PREM_ERR_MEMORY;
  out->trained = take_trained(values, away_ns, count / 2, trained);
  for (int64_t i = count / 2; i < count; ++i)
    ++*(is_disturbed(away_ns, i) ? &out->judged_disturbed : &out->judged);
  for (int by = 0; by < PREM_PADDING_COUNT; ++by) {
    const int64_t needs = prem_padding_needs((prem_padding_by)by);
    if (out->trained < needs)
      continue;
    const int64_t above = by == PREM_PADDING_LONGEST ? 0 : out->trained / needs; /* nearest rank */
    out->at[by].published_ns =
        instant_ns(trained[out->trained - 1 - above], prem_max_i64(step_ns, 1));
    for (int64_t i = count / 2; i < count; ++i)
      if (values[i] > out->at[by].published_ns)
        ++*(is_disturbed(away_ns, i) ? &out->at[by].missed_disturbed : &out->at[by].missed);
  }
  free(trained);
  return PREM_OK;
}
