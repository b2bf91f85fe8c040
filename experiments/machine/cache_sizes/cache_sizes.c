/* SPDX-License-Identifier: Apache-2.0 */
/* Cache sizes, read off the time of an access over the length of the list that is walked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/caches.h"
#include "experiments/common/probe.h"
#include "experiments/machine/cache_sizes/cache_levels.h"

enum {
  MIN_BYTES = 1024,
  MAX_POINTS = 64, /* of a curve */
  REPEATS = 3,
  CPU_REPEATS = 7, /* others use the caches as well */
  PER_OCTAVE = 2,  /* a level is seen by two points at least */
  HALVINGS = 4,    /* of the step in which an edge lies */
  GPU_STEPS = 1 << 14,
  CPU_STEPS = 1 << 17,
  ROOM = 4,               /* times the largest cache: the longest list */
  UNKNOWN_ROOM = 64 << 20 /* where nothing is known of the caches */
};

/* Levels of a GPU are steady, and the two halves of its L2 are levels; a core's memory gets slower
 * with the pages that a list has. */
static const double gpu_apart = 0.15, cpu_apart = 0.5;

typedef struct access_curve {
  prem_walk_path path;
  prem_walk_order order;
  int count;
  int64_t bytes[MAX_POINTS];
  prem_walk_time times[MAX_POINTS]; /* mean of the repeats' means, least and largest of them */
} access_curve;

typedef struct cache_study {
  const prem_experiment_context *context;
  const prem_probe_call *call;
  prem_diag *diag;
  prem_walker *walker;
  prem_cache caches[PREM_MAX_CACHES];
  int32_t cache_count;
  bool gpu;
  int64_t room_bytes, points_done, points_all;
  access_curve curves[PREM_WALK_PATH_COUNT][2]; /* by path and order */
  bool right;
} cache_study;

/* ---- measuring ------------------------------------------------------------------------------ */

static prem_status measure_point(cache_study *study, prem_walk_path path, prem_walk_order order,
                                 int64_t bytes, prem_walk_time *out) {
  const prem_walk walk = {.bytes = bytes,
                          .order = order,
                          .path = path,
                          .kernels = 1,
                          .threads = 1,
                          .steps = study->gpu ? GPU_STEPS : CPU_STEPS};
  const int32_t repeats = study->gpu || study->context->quick ? REPEATS : CPU_REPEATS;
  prem_status status = prem_walk_measure(study->walker, &walk, repeats, out, study->diag);
  study->right &= status != PREM_OK || out->right;
  return status;
}

/** Number `point` of the sizes between 1 KiB and the room, in whole nodes. */
static int64_t size_at(const cache_study *study, int point) {
  const int64_t node = prem_walk_node_bytes(study->context->backend);
  return (int64_t)(MIN_BYTES * exp2((double)point / PER_OCTAVE)) / node * node;
}

static int count_sizes(const cache_study *study) {
  int count = 0;
  while (count < MAX_POINTS && size_at(study, count) <= study->room_bytes)
    ++count;
  return count;
}

static prem_status measure_curve(cache_study *study, prem_walk_path path, prem_walk_order order) {
  access_curve *curve = &study->curves[path][order];
  curve->path = path;
  curve->order = order;
  const int sizes = count_sizes(study);
  for (int point = 0; point < sizes; ++point) {
    const int64_t bytes = size_at(study, point);
    prem_status status = measure_point(study, path, order, bytes, &curve->times[curve->count]);
    if (status != PREM_OK)
      return status;
    curve->bytes[curve->count++] = bytes;
    prem_experiment_progress(study->context, ++study->points_done, study->points_all);
  }
  return PREM_OK;
}

/* ---- reading off ---------------------------------------------------------------------------- */

/** The walks that sizes are read off. A GPU fetches nothing ahead, and a list that is touched in
 *  order and then walked in order shows an edge as sharp as can be: its walk begins with what was
 *  touched first and is thrown out first. A CPU would fetch ahead. */
static const access_curve *curve_of(const cache_study *study, prem_walk_path path) {
  return &study->curves[path][study->gpu ? PREM_WALK_SEQUENTIAL : PREM_WALK_RANDOM];
}

/** The levels of a curve, and its times that nothing disturbed. */
static int32_t levels_of(const cache_study *study, const access_curve *curve, double ns[MAX_POINTS],
                         prem_level levels[PREM_MAX_LEVELS]) {
  for (int i = 0; i < curve->count; ++i)
    ns[i] = curve->times[i].min_ns;
  return prem_levels_find(ns, curve->count, study->gpu ? gpu_apart : cpu_apart, levels);
}

/** Halve the step behind the last list of which half of the accesses are still hits. */
static prem_status refine_edge(cache_study *study, const access_curve *curve, const double *ns,
                               double threshold_ns, double *edge_bytes) {
  const int fast = prem_edge_find(ns, curve->count, threshold_ns);
  if (fast < 0)
    return PREM_OK;
  const int64_t node = prem_walk_node_bytes(study->context->backend);
  double low = (double)curve->bytes[fast], high = (double)curve->bytes[fast + 1];
  for (int i = 0; i < HALVINGS; ++i) {
    const int64_t middle = (int64_t)sqrt(low * high) / node * node;
    prem_walk_time time;
    prem_status status = measure_point(study, curve->path, curve->order, middle, &time);
    if (status != PREM_OK)
      return status;
    if (time.min_ns > threshold_ns)
      high = (double)middle;
    else
      low = (double)middle;
  }
  *edge_bytes = sqrt(low * high);
  return PREM_OK;
}

/** What the walks say of a cache; NAN: not seen. */
typedef struct cache_reading {
  double hit_ns, miss_ns, edge_bytes;
} cache_reading;

/** The level that a cache's hits are of, or -1. */
static int32_t hit_level(const cache_study *study, int32_t number, const prem_level *levels,
                         int32_t count) {
  const prem_cache *cache = &study->caches[number];
  return prem_level_of_cache(levels, count, curve_of(study, cache->path)->bytes, cache->bytes,
                             number + 1 == study->cache_count);
}

/** Do two caches share a level? Then that of one of them was not seen, and who misses where is not
 *  known. */
static bool is_shared(const cache_study *study, int32_t number, int32_t hit,
                      const prem_level *levels, int32_t count) {
  for (int32_t i = 0; i < study->cache_count; ++i)
    if (i != number && study->caches[i].path == study->caches[number].path &&
        hit_level(study, i, levels, count) == hit)
      return true;
  return false;
}

static prem_status read_off(cache_study *study, int32_t number, cache_reading *reading) {
  const access_curve *curve = curve_of(study, study->caches[number].path);
  double ns[MAX_POINTS];
  prem_level levels[PREM_MAX_LEVELS];
  const int32_t count = levels_of(study, curve, ns, levels);
  const int32_t hit = hit_level(study, number, levels, count);
  *reading = (cache_reading){NAN, NAN, NAN};
  if (hit < 0 || is_shared(study, number, hit, levels, count))
    return PREM_OK;
  reading->hit_ns = levels[hit].ns;
  reading->miss_ns = levels[hit + 1].ns;
  return refine_edge(study, curve, ns, prem_level_threshold_ns(&levels[hit], &levels[hit + 1]),
                     &reading->edge_bytes);
}

/* ---- telling -------------------------------------------------------------------------------- */

static void curve_name(const cache_study *study, const access_curve *curve, char name[96]) {
  snprintf(name, 96, "%s%s%s", prem_walk_order_name(curve->order), study->gpu ? ", " : "",
           study->gpu ? prem_walk_path_name(curve->path) : "");
}

static void tell_curves(const cache_study *study) {
  for (int path = 0; path < PREM_WALK_PATH_COUNT; ++path)
    for (int order = 0; order < 2; ++order) {
      const access_curve *curve = &study->curves[path][order];
      char name[96];
      curve_name(study, curve, name);
      for (int i = 0; i < curve->count; ++i)
        prem_table_row(prem_probe_table(study->call, "access"), TEXT(name),
                       REAL((double)curve->bytes[i] / 1024), REAL(curve->times[i].mean_ns),
                       REAL(curve->times[i].min_ns), REAL(curve->times[i].max_ns));
    }
}

/** Every level of the curves that sizes are read off, reported or not. */
static void tell_levels(const cache_study *study) {
  prem_table *table = prem_probe_table(study->call, "levels");
  for (int path = 0; path < (study->gpu ? PREM_WALK_PATH_COUNT : 1); ++path) {
    const access_curve *curve = curve_of(study, (prem_walk_path)path);
    double ns[MAX_POINTS];
    char name[96];
    prem_level levels[PREM_MAX_LEVELS];
    curve_name(study, curve, name);
    const int32_t count = levels_of(study, curve, ns, levels);
    for (int32_t i = 0; i < count; ++i)
      prem_table_row(table, TEXT(name), REAL((double)curve->bytes[levels[i].first] / 1024),
                     REAL((double)curve->bytes[levels[i].last] / 1024), REAL(levels[i].ns));
  }
}

static prem_status find_sizes(cache_study *study) {
  for (int32_t i = 0; i < study->cache_count; ++i) {
    const prem_cache *cache = &study->caches[i];
    cache_reading reading;
    const prem_status status = read_off(study, i, &reading);
    if (status != PREM_OK)
      return status;
    prem_table_row(study->call->found, TEXT(cache->name), TEXT(cache->source), REAL(reading.hit_ns),
                   REAL(reading.miss_ns), REAL(reading.edge_bytes), INT(cache->bytes));
  }
  return PREM_OK;
}

/* ---- the experiment ------------------------------------------------------------------------- */

static prem_status measure_curves(cache_study *study) {
  const int paths = study->gpu ? PREM_WALK_PATH_COUNT : 1;
  study->points_all = (int64_t)paths * 2 * count_sizes(study);
  prem_experiment_progress(study->context, 0, study->points_all);
  for (int path = 0; path < paths; ++path)
    for (int order = 0; order < 2; ++order) {
      prem_status status = measure_curve(study, (prem_walk_path)path, (prem_walk_order)order);
      if (status != PREM_OK)
        return status;
    }
  return PREM_OK;
}

static prem_status measure(const prem_probe_call *call) {
  cache_study *study = calloc(1, sizeof *study);
  if (!study)
    return PREM_ERR_MEMORY;
  *study = (cache_study){.context = call->context, .call = call, .diag = call->diag, .right = true};
  study->gpu = prem_is_gpu(call->context->backend);
  study->cache_count = prem_caches_find(call->context->backend, study->caches);
  study->room_bytes = study->cache_count ? ROOM * study->caches[study->cache_count - 1].bytes : 0;
  if (study->room_bytes < UNKNOWN_ROOM)
    study->room_bytes = UNKNOWN_ROOM;
  prem_status status =
      prem_walker_open(call->context, study->room_bytes, false, &study->walker, call->diag);
  if (status == PREM_OK)
    status = measure_curves(study);
  if (status == PREM_OK)
    status = find_sizes(study);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    tell_levels(study);
    tell_curves(study);
    prem_findings_output(call->findings, study->right);
  }
  prem_walker_close(study->walker);
  free(study);
  return status;
}

const prem_probe prem_caches_probe = {"cache [text]; source [text]; hit; miss; edge; bytes",
                                      measure, "access"};
