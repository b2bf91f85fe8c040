/* SPDX-License-Identifier: Apache-2.0 */
/* Cache sizes, read off the time of an access over the length of the list that is walked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/caches.h"
#include "experiments/common/originals.h"
#include "experiments/machine/cache_sizes/cache_levels.h"
#include "report/findings/tables.h"

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
static const double agreement = 0.15; /* of a size read off with the one reported */

typedef struct access_curve {
  prem_walk_path path;
  prem_walk_order order;
  int count;
  int64_t bytes[MAX_POINTS];
  prem_walk_time times[MAX_POINTS]; /* mean of the repeats' means, least and largest of them */
} access_curve;

typedef struct cache_study {
  const prem_experiment_context *context;
  prem_findings *findings;
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
  prem_table *table =
      prem_table_begin(study->findings, "access", "Time of an access over the length of the list",
                       NULL, "walk; list [KiB]; mean [ns]; least [ns]; largest [ns]");
  for (int path = 0; path < PREM_WALK_PATH_COUNT; ++path)
    for (int order = 0; order < 2; ++order) {
      const access_curve *curve = &study->curves[path][order];
      char name[96];
      curve_name(study, curve, name);
      for (int i = 0; i < curve->count; ++i)
        prem_table_row(table, TEXT(name), REAL((double)curve->bytes[i] / 1024),
                       REAL(curve->times[i].mean_ns), REAL(curve->times[i].min_ns),
                       REAL(curve->times[i].max_ns));
    }
  prem_findings_chart(study->findings,
                      &(prem_chart){.kind = PREM_CHART_LINES,
                                    .title = "Time of an access over the length of the list",
                                    .table = "access",
                                    .x = "list",
                                    .y = "mean",
                                    .low = "least",
                                    .high = "largest",
                                    .series = "walk",
                                    .log_x = true,
                                    .log_y = true});
}

/** Every level of the curves that sizes are read off, reported or not. */
static void tell_levels(const cache_study *study) {
  prem_table *table = prem_table_begin(study->findings, "levels", "Lists of about the same time",
                                       NULL, "walk; from [KiB]; to [KiB]; access [ns]");
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

static prem_table *begin_sizes(const cache_study *study) {
  prem_table *table = prem_table_begin(
      study->findings, "sizes", "Cache sizes, read off the walks", NULL,
      "cache; hit [ns]; miss [ns]; edge [KiB]; reported [KiB]; off by [%]; reported by");
  return table;
}

/** Why a size is not the reported one. */
static const char *reason_for(const cache_study *study, bool smaller) {
  if (study->gpu && smaller)
    return "what else lives in the same memory takes its share, and a cache that does not replace "
           "its oldest line first begins to miss before it is full";
  if (smaller)
    return "the cores, or guests of a host, that share it leave less of it, and a cache that does "
           "not replace its oldest line first begins to miss before it is full";
  return "the caches beside it hold other lines than it does, so that together they hold more, or "
         "a cache that does not replace its oldest line first still hits in longer lists";
}

static void explain(const cache_study *study, const prem_cache *cache,
                    const cache_reading *reading) {
  const double reported = (double)cache->bytes, off = reading->edge_bytes / reported - 1;
  if (isnan(off))
    prem_findings_note(study->findings,
                       "%s: no level of its own in the times of an access, and so no edge; what "
                       "else runs on the machine may hide it.",
                       cache->name);
  else if (fabs(off) > agreement)
    prem_findings_note(study->findings, "%s: the edge is at %.0f KiB, %.0f are reported: %s.",
                       cache->name, reading->edge_bytes / 1024, reported / 1024,
                       reason_for(study, off < 0));
}

static void add_size(prem_table *table, const prem_cache *cache, const cache_reading *reading) {
  prem_table_row(table, TEXT(cache->name), REAL(reading->hit_ns), REAL(reading->miss_ns),
                 REAL(reading->edge_bytes / 1024), REAL((double)cache->bytes / 1024),
                 REAL(100 * (reading->edge_bytes / (double)cache->bytes - 1)), TEXT(cache->source));
}

/** A part of the verdict. */
static void append_size(char *verdict, size_t bytes, const prem_cache *cache,
                        const cache_reading *reading) {
  const size_t used = strlen(verdict);
  if (isnan(reading->edge_bytes))
    snprintf(verdict + used, bytes - used, "%s%s: not seen", used ? "; " : "", cache->name);
  else
    snprintf(verdict + used, bytes - used, "%s%s: edge at %.0f KiB, %.0f reported",
             used ? "; " : "", cache->name, reading->edge_bytes / 1024,
             (double)cache->bytes / 1024);
}

static prem_status tell_sizes(cache_study *study) {
  char verdict[400] = "";
  prem_table *table = begin_sizes(study);
  for (int32_t i = 0; i < study->cache_count; ++i) {
    cache_reading reading;
    prem_status status = read_off(study, i, &reading);
    if (status != PREM_OK)
      return status;
    add_size(table, &study->caches[i], &reading);
    explain(study, &study->caches[i], &reading);
    append_size(verdict, sizeof verdict, &study->caches[i], &reading);
  }
  if (*verdict)
    prem_findings_verdict(study->findings, "%s.", verdict);
  else
    prem_findings_verdict(study->findings, "The machine reports no caches to compare with.");
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

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  cache_study *study = calloc(1, sizeof *study);
  if (!study)
    return PREM_ERR_MEMORY;
  *study = (cache_study){.context = context, .findings = findings, .diag = diag, .right = true};
  study->gpu = prem_is_gpu(context->backend);
  study->cache_count = prem_caches_find(context->backend, study->caches);
  study->room_bytes = study->cache_count ? ROOM * study->caches[study->cache_count - 1].bytes : 0;
  if (study->room_bytes < UNKNOWN_ROOM)
    study->room_bytes = UNKNOWN_ROOM;
  prem_status status = prem_walker_open(context, study->room_bytes, false, &study->walker, diag);
  if (status == PREM_OK)
    status = measure_curves(study);
  if (status == PREM_OK)
    status = tell_sizes(study);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    tell_levels(study);
    prem_original_add(study->findings, "cache_sizes", "original");
    tell_curves(study);
    prem_findings_output(findings, study->right);
  }
  prem_walker_close(study->walker);
  free(study);
  return status;
}

const prem_experiment prem_cache_sizes_experiment = {
    .name = "cache_sizes",
    .title = "Cache sizes by random and sequential walks",
    .question = "How large are the caches as one thread sees them, and do the sizes agree with "
                "what the machine reports?",
    .backends = "cuda cpu",
    .run = run,
};
