/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses: gaps between the ends of all samplers' loads, merged. */
#include "experiments/machine/memory_pause/pauses.h"

#include <math.h>
#include <stdlib.h>

#include "prem/base/list.h"

static const double chance = 0.01; /* of a pause in a measurement without any */

/* ---- loads ---------------------------------------------------------------------------------- */

static const prem_load *loads_of(const prem_loads *loads, int32_t sampler) {
  return loads->list + (int64_t)sampler * loads->max;
}

bool prem_loads_latencies(const prem_loads *loads, prem_times *latencies) {
  for (int32_t sampler = 0; sampler < loads->samplers; ++sampler) {
    const prem_load *own = loads_of(loads, sampler);
    for (int32_t i = 0; i < loads->counts[sampler]; ++i)
      if (!prem_times_add(latencies, own[i].end_ns - own[i].begin_ns))
        return false;
  }
  return true;
}

int64_t prem_pause_threshold_ns(const prem_times *latencies, int32_t samplers) {
  if (latencies->count == 0)
    return 0;
  const double count = (double)latencies->count;
  const double exceeding = count * fmin(0.5, pow(chance / count, 1.0 / samplers));
  int64_t above = 0, at = latencies->distinct - 1;
  while (at > 0 && (double)(above + latencies->list[at].count) <= exceeding)
    above += latencies->list[at--].count;
  return latencies->list[at].ns;
}

/* ---- gaps ----------------------------------------------------------------------------------- */

/** From when the last sampler had begun until the first one ended. */
static bool find_watched(const prem_loads *loads, prem_pauses *out) {
  out->begin_ns = INT64_MIN;
  out->end_ns = INT64_MAX;
  for (int32_t sampler = 0; sampler < loads->samplers; ++sampler) {
    const int32_t count = loads->counts[sampler];
    const prem_load *own = loads_of(loads, sampler);
    if (count == 0)
      return false;
    out->begin_ns = own[0].begin_ns > out->begin_ns ? own[0].begin_ns : out->begin_ns;
    out->end_ns = own[count - 1].end_ns < out->end_ns ? own[count - 1].end_ns : out->end_ns;
  }
  return loads->samplers > 0 && out->begin_ns < out->end_ns;
}

/** The ends of all samplers' loads, one after the other. */
typedef struct ends_merged {
  const prem_loads *loads;
  int32_t next[PREM_MAX_SAMPLERS];
  int64_t next_ns[PREM_MAX_SAMPLERS]; /* INT64_MAX: no more */
} ends_merged;

static void move_on(ends_merged *merged, int32_t sampler, int32_t to) {
  const bool more = to < merged->loads->counts[sampler];
  merged->next[sampler] = to;
  merged->next_ns[sampler] = more ? loads_of(merged->loads, sampler)[to].end_ns : INT64_MAX;
}

static int64_t take_next_ns(ends_merged *merged) {
  int32_t first = 0;
  for (int32_t sampler = 1; sampler < merged->loads->samplers; ++sampler)
    if (merged->next_ns[sampler] < merged->next_ns[first])
      first = sampler;
  const int64_t end_ns = merged->next_ns[first];
  if (end_ns < INT64_MAX)
    move_on(merged, first, merged->next[first] + 1);
  return end_ns;
}

static bool add_pause(prem_pauses *pauses, prem_pause pause) {
  prem_pause *grown = prem_grow(pauses->list, (size_t)pauses->count, sizeof *grown);
  if (!grown)
    return false;
  pauses->list = grown;
  pauses->list[pauses->count++] = pause;
  pauses->sum_ns += pause.length_ns;
  return true;
}

static bool add_gap(prem_pauses *pauses, prem_pause gap, int64_t threshold_ns) {
  if (gap.length_ns > threshold_ns && !add_pause(pauses, gap))
    return false;
  if (gap.length_ns <= threshold_ns && gap.length_ns > pauses->ordinary_ns)
    pauses->ordinary_ns = gap.length_ns;
  return prem_times_add(&pauses->gaps_ns, gap.length_ns);
}

prem_status prem_pauses_find(const prem_loads *loads, int64_t threshold_ns, prem_pauses *out) {
  *out = (prem_pauses){0};
  if (loads->samplers > PREM_MAX_SAMPLERS)
    return PREM_ERR_ARGUMENT;
  if (!find_watched(loads, out))
    return PREM_ERR_UNAVAILABLE;
  ends_merged merged = {.loads = loads};
  for (int32_t sampler = 0; sampler < loads->samplers; ++sampler)
    move_on(&merged, sampler, 0);
  int64_t before_ns = INT64_MIN;
  for (int64_t end_ns = take_next_ns(&merged); end_ns <= out->end_ns;
       end_ns = take_next_ns(&merged)) {
    if (before_ns >= out->begin_ns &&
        !add_gap(out, (prem_pause){before_ns, end_ns - before_ns}, threshold_ns))
      return PREM_ERR_MEMORY;
    before_ns = end_ns;
  }
  return PREM_OK;
}

void prem_pauses_free(prem_pauses *pauses) {
  free(pauses->list);
  prem_times_free(&pauses->gaps_ns);
  *pauses = (prem_pauses){0};
}

bool prem_load_in_pause(const prem_load *load, const prem_pauses *pauses, int64_t *next) {
  while (*next < pauses->count &&
         pauses->list[*next].begin_ns + pauses->list[*next].length_ns <= load->begin_ns)
    ++*next;
  return *next < pauses->count && pauses->list[*next].begin_ns < load->end_ns;
}
