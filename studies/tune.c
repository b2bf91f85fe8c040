/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the smallest offset: see tuning.h. */
#include "ttprem/tuning.h"

#include <math.h>
#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"

typedef struct search {
  const prem_tune_options *options;
  prem_tune_measure *measure;
  void *context;
  prem_tune_result *result;
} search;

/* ---- points --------------------------------------------------------------------------------- */

static prem_tune_point *point_at(prem_tune_result *result, int64_t offset_ns) {
  for (int32_t i = 0; i < result->count; ++i)
    if (result->points[i].offset_ns == offset_ns)
      return &result->points[i];
  prem_tune_point *grown = prem_grow(result->points, (size_t)result->count, sizeof *grown);
  if (!grown)
    return NULL;
  result->points = grown;
  grown[result->count] = (prem_tune_point){.offset_ns = offset_ns, .lateness_max_ns = INT64_MIN};
  return &grown[result->count++];
}

static double max_known(double a, double b) {
  return isnan(a) || b > a ? b : a;
}

/* What another try saw: means by their samples, the worst of everything else. */
static void add_try(prem_tune_point *to, const prem_tune_point *from) {
  const bool first = to->tries == 0;
  const double samples = (double)(to->samples + from->samples);
  if (samples > 0)
    to->makespan_ns =
        (to->makespan_ns * (double)to->samples + from->makespan_ns * (double)from->samples) /
        samples;
  to->samples += from->samples;
  to->planned = from->planned;
  to->kept = (first || to->kept) && from->kept;
  to->makespan_max_ns = prem_max_i64(to->makespan_max_ns, from->makespan_max_ns);
  to->phases += from->phases;
  to->releases += from->releases;
  to->late += from->late;
  to->overruns += from->overruns;
  to->lateness_max_ns = prem_max_i64(to->lateness_max_ns, from->lateness_max_ns);
  to->isolation_p50 =
      first ? from->isolation_p50 : max_known(to->isolation_p50, from->isolation_p50);
  to->isolation_p999 =
      first ? from->isolation_p999 : max_known(to->isolation_p999, from->isolation_p999);
  to->isolation_max =
      first ? from->isolation_max : max_known(to->isolation_max, from->isolation_max);
  ++to->tries;
}

/* Up to `tries` more measurements, no more once one fails. */
static prem_status try_offset(search *all, int64_t offset_ns, int32_t tries, bool *kept) {
  prem_tune_point *point = point_at(all->result, offset_ns);
  if (!point)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < tries && (point->tries == 0 || point->kept); ++i) {
    prem_tune_point seen = {.offset_ns = offset_ns,
                            .lateness_max_ns = INT64_MIN,
                            .isolation_p50 = (double)NAN,
                            .isolation_p999 = (double)NAN,
                            .isolation_max = (double)NAN};
    prem_status status = all->measure(all->context, offset_ns, &seen);
    if (status != PREM_OK)
      return status;
    add_try(point, &seen);
  }
  *kept = point->kept;
  return PREM_OK;
}

/* A point that has been measured often enough is not measured again. */
static prem_status judge(search *all, int64_t offset_ns, bool *kept) {
  const prem_tune_point *point = point_at(all->result, offset_ns);
  if (!point)
    return PREM_ERR_MEMORY;
  return try_offset(all, offset_ns, all->options->tries - point->tries, kept);
}

/* ---- the search ----------------------------------------------------------------------------- */

static int64_t on_grid_up(const search *all, int64_t ns) {
  return prem_round_up(ns, all->options->grid_ns);
}

static int64_t min_ns(const search *all) {
  return prem_max_i64(on_grid_up(all, all->options->min_ns), all->options->grid_ns);
}

static int64_t max_ns(const search *all) {
  return all->options->max_ns / all->options->grid_ns * all->options->grid_ns;
}

/* From `at_ns` upwards, in growing steps, to the first offset that keeps the limits. */
static prem_status climb(search *all, int64_t at_ns, int64_t *low_ns, int64_t *high_ns) {
  int64_t step_ns = prem_max_i64(on_grid_up(all, at_ns / 8), all->options->grid_ns);
  for (;;) {
    bool kept = false;
    prem_status status = judge(all, at_ns, &kept);
    if (status != PREM_OK)
      return status;
    if (kept) {
      *high_ns = at_ns;
      return PREM_OK;
    }
    *low_ns = at_ns;
    if (at_ns >= max_ns(all))
      return PREM_ERR_INFEASIBLE;
    at_ns = prem_min_i64(at_ns + step_ns, max_ns(all));
    step_ns *= 2;
  }
}

/* From an offset that keeps the limits downwards, in growing steps, to one that does not. */
static prem_status descend(search *all, int64_t *low_ns, int64_t *high_ns) {
  int64_t step_ns = prem_max_i64(on_grid_up(all, *high_ns / 8), all->options->grid_ns);
  while (*high_ns > min_ns(all)) {
    bool kept = false;
    const int64_t at_ns = prem_max_i64(*high_ns - step_ns, min_ns(all));
    prem_status status = judge(all, at_ns, &kept);
    if (status != PREM_OK)
      return status;
    if (!kept) {
      *low_ns = at_ns;
      return PREM_OK;
    }
    *high_ns = at_ns;
    step_ns *= 2;
  }
  *low_ns = *high_ns - all->options->grid_ns; /* nothing below it is asked for */
  return PREM_OK;
}

static bool is_close(const search *all, int64_t low_ns, int64_t high_ns) {
  return high_ns - low_ns <= all->options->grid_ns ||
         (double)(high_ns - low_ns) <= all->options->precision_pct / 100 * (double)high_ns;
}

static prem_status bisect(search *all, int64_t low_ns, int64_t *high_ns) {
  while (!is_close(all, low_ns, *high_ns)) {
    bool kept = false;
    const int64_t at_ns = on_grid_up(all, low_ns + (*high_ns - low_ns) / 2);
    if (at_ns >= *high_ns)
      break;
    prem_status status = judge(all, at_ns, &kept);
    if (status != PREM_OK)
      return status;
    if (kept)
      *high_ns = at_ns;
    else
      low_ns = at_ns;
  }
  return PREM_OK;
}

static prem_status find(search *all) {
  int64_t low_ns = 0, high_ns = 0;
  const int64_t start_ns =
      prem_min_i64(prem_max_i64(on_grid_up(all, all->options->start_ns), min_ns(all)), max_ns(all));
  prem_status status = climb(all, start_ns, &low_ns, &high_ns);
  if (status == PREM_OK && high_ns == start_ns)
    status = descend(all, &low_ns, &high_ns);
  while (status == PREM_OK) {
    bool kept = false;
    status = bisect(all, low_ns, &high_ns);
    if (status == PREM_OK) /* as often again: noise may have let it pass */
      status = try_offset(all, high_ns, all->options->tries, &kept);
    if (status != PREM_OK)
      return status;
    if (kept) {
      all->result->best = (int32_t)(point_at(all->result, high_ns) - all->result->points);
      return PREM_OK;
    }
    low_ns = high_ns;
    if (high_ns >= max_ns(all))
      return PREM_ERR_INFEASIBLE;
    status = climb(all, high_ns + all->options->grid_ns, &low_ns, &high_ns);
  }
  return status;
}

/* ---- the sweep ------------------------------------------------------------------------------ */

static prem_status sweep(search *all) {
  prem_tune_result *result = all->result;
  const int64_t step_ns = prem_max_i64(on_grid_up(all, all->options->sweep_step_ns), 1);
  for (int64_t at_ns = min_ns(all); at_ns <= max_ns(all); at_ns += step_ns) {
    bool kept = false;
    prem_status status = judge(all, at_ns, &kept);
    if (status != PREM_OK)
      return status;
    prem_tune_point *point = point_at(result, at_ns);
    point->swept = true;
    if (kept && result->best_swept < 0)
      result->best_swept = (int32_t)(point - result->points);
  }
  return PREM_OK;
}

prem_status prem_tune(const prem_tune_options *options, prem_tune_measure *measure, void *context,
                      prem_tune_result *out) {
  *out = (prem_tune_result){.best = -1, .best_swept = -1};
  search all = {.options = options, .measure = measure, .context = context, .result = out};
  if (options->grid_ns < 1 || options->tries < 1 || min_ns(&all) > max_ns(&all))
    return PREM_ERR_ARGUMENT;
  const prem_status found = find(&all);
  if (found != PREM_OK && found != PREM_ERR_INFEASIBLE)
    return found;
  const prem_status swept = options->sweep_step_ns > 0 ? sweep(&all) : PREM_OK;
  return swept == PREM_OK ? found : swept;
}

void prem_tune_free(prem_tune_result *result) {
  free(result->points);
  *result = (prem_tune_result){.best = -1, .best_swept = -1};
}
