/* Cache sizes, read off the time of an access over the length of the list that is walked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caches.h"

enum {
  LEAST_BYTES = 1024,
  MOST_POINTS = 64, /* of a curve */
  REPEATS = 3,
  HALVINGS = 4, /* of the step in which an edge lies */
  GPU_STEPS = 4096,
  CPU_STEPS = 1 << 17,
  UNKNOWN_ROOM = 64 << 20 /* where nothing is known of the caches */
};

/* An edge: so much of the way to the next level's time, or so much above a hit, whichever is less.
 */
static const double rise = 0.1, slower = 0.3;
static const double agreement = 0.15; /* of a size read off with the one reported */

typedef struct access_curve {
  prem_walk_path path;
  prem_walk_order order;
  int count;
  int64_t bytes[MOST_POINTS];
  prem_walk_time times[MOST_POINTS]; /* mean of the repeats' means, least and largest of them */
} access_curve;

typedef struct cache_study {
  const prem_experiment_setting *setting;
  prem_findings *findings;
  prem_diag *diag;
  prem_walker *walker;
  prem_cache caches[PREM_MOST_CACHES];
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
  prem_status status = prem_walk_measure(study->walker, &walk, REPEATS, out, study->diag);
  study->right &= status != PREM_OK || out->right;
  return status;
}

/** Number `point` of the sizes between 1 KiB and the room, in whole nodes. */
static int64_t size_at(const cache_study *study, int point) {
  const double per_octave = study->setting->quick ? 1 : 2;
  const int64_t node = prem_walk_node_bytes(study->setting->backend);
  return (int64_t)(LEAST_BYTES * exp2(point / per_octave)) / node * node;
}

static int count_sizes(const cache_study *study) {
  int count = 0;
  while (count < MOST_POINTS && size_at(study, count) <= study->room_bytes)
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
    prem_experiment_progress(study->setting, ++study->points_done, study->points_all);
  }
  return PREM_OK;
}

/* ---- reading off ---------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/** Median of the least times of the lists in [from, to]; NAN if there are none. */
static double level_ns(const access_curve *curve, double from, double to) {
  double times[MOST_POINTS];
  int count = 0;
  for (int i = 0; i < curve->count; ++i)
    if ((double)curve->bytes[i] >= from && (double)curve->bytes[i] <= to)
      times[count++] = curve->times[i].min_ns;
  if (count == 0)
    return NAN;
  qsort(times, (size_t)count, sizeof *times, by_size);
  return times[count / 2];
}

/** The time of a hit in the cache, and of what comes after it. */
static void find_levels(const cache_study *study, int32_t number, double *hit_ns, double *miss_ns) {
  const prem_cache *cache = &study->caches[number];
  const access_curve *curve = &study->curves[cache->path][PREM_WALK_RANDOM];
  const double size = (double)cache->bytes;
  const bool first = number == 0 || study->gpu;
  const double below = first ? 0 : 1.5 * (double)study->caches[number - 1].bytes;
  *hit_ns =
      level_ns(curve, study->gpu && cache->path == PREM_WALK_L2 ? 64 * 1024 : below, size / 2);
  if (study->gpu && cache->path != PREM_WALK_L2) {
    /* What L1 does not have, L2 has: the same lists walked past L1 tell its time. */
    *miss_ns = level_ns(&study->curves[PREM_WALK_L2][PREM_WALK_RANDOM], 0, size);
    return;
  }
  const bool last = number + 1 == study->cache_count;
  *miss_ns =
      level_ns(curve, 2 * size, last ? INFINITY : (double)study->caches[number + 1].bytes / 2);
}

/** The longest list behind which no access time is below the threshold any more, or -1. */
static int last_fast_point(const access_curve *curve, double threshold_ns) {
  int point = curve->count - 1;
  while (point >= 0 && curve->times[point].min_ns > threshold_ns)
    --point;
  return point + 1 < curve->count ? point : -1;
}

/** Halve the step behind the last list that is still fast. */
static prem_status refine_edge(cache_study *study, const prem_cache *cache, double threshold_ns,
                               double *edge_bytes) {
  const access_curve *curve = &study->curves[cache->path][PREM_WALK_RANDOM];
  const int fast = last_fast_point(curve, threshold_ns);
  *edge_bytes = NAN;
  if (fast < 0)
    return PREM_OK;
  const int64_t node = prem_walk_node_bytes(study->setting->backend);
  double low = (double)curve->bytes[fast], high = (double)curve->bytes[fast + 1];
  for (int i = 0; i < HALVINGS; ++i) {
    const int64_t middle = (int64_t)sqrt(low * high) / node * node;
    prem_walk_time time;
    prem_status status = measure_point(study, cache->path, PREM_WALK_RANDOM, middle, &time);
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

/* ---- telling -------------------------------------------------------------------------------- */

static void tell_curves(const cache_study *study) {
  prem_table *table = prem_findings_table(study->findings, "access",
                                          "Time of an access over the length of the list", NULL);
  prem_table_column(table, "walk", "");
  prem_table_column(table, "list", "KiB");
  prem_table_column(table, "mean", "ns");
  prem_table_column(table, "least", "ns");
  prem_table_column(table, "largest", "ns");
  for (int path = 0; path < PREM_WALK_PATH_COUNT; ++path)
    for (int order = 0; order < 2; ++order) {
      const access_curve *curve = &study->curves[path][order];
      char name[96];
      snprintf(name, sizeof name, "%s%s%s", prem_walk_order_name((prem_walk_order)order),
               study->gpu ? ", " : "", study->gpu ? prem_walk_path_name((prem_walk_path)path) : "");
      for (int i = 0; i < curve->count; ++i) {
        prem_table_add_text(table, name);
        prem_table_add_real(table, (double)curve->bytes[i] / 1024);
        prem_table_add_real(table, curve->times[i].mean_ns);
        prem_table_add_real(table, curve->times[i].min_ns);
        prem_table_add_real(table, curve->times[i].max_ns);
      }
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

static prem_table *begin_sizes(const cache_study *study) {
  prem_table *table =
      prem_findings_table(study->findings, "sizes", "Cache sizes, read off the random walks", NULL);
  prem_table_column(table, "cache", "");
  prem_table_column(table, "hit", "ns");
  prem_table_column(table, "miss", "ns");
  prem_table_column(table, "read off", "KiB");
  prem_table_column(table, "reported", "KiB");
  prem_table_column(table, "difference", "%");
  prem_table_column(table, "reported by", "");
  return table;
}

static void explain(const cache_study *study, const prem_cache *cache, double edge_bytes) {
  const double off = edge_bytes / (double)cache->bytes - 1;
  if (isnan(edge_bytes))
    prem_findings_note(study->findings,
                       "%s: no edge was seen between its hits and its misses, so no size is read "
                       "off.",
                       cache->name);
  else if (fabs(off) > agreement && study->gpu)
    prem_findings_note(study->findings,
                       "%s: %.0f KiB read off, %.0f reported: one SM walks alone, and what it sees "
                       "of a cache that is divided among partitions, or shared with other uses of "
                       "the same memory, is not the whole.",
                       cache->name, edge_bytes / 1024, (double)cache->bytes / 1024);
  else if (off < -agreement)
    prem_findings_note(study->findings,
                       "%s: %.0f KiB read off, %.0f reported: the cores, or guests of a host, that "
                       "share it leave less of it; pages that fall on the same sets do so too.",
                       cache->name, edge_bytes / 1024, (double)cache->bytes / 1024);
  else if (off > agreement)
    prem_findings_note(
        study->findings,
        "%s: %.0f KiB read off, %.0f reported: the caches beside it hold other lines "
        "than it does, so that together they hold more.",
        cache->name, edge_bytes / 1024, (double)cache->bytes / 1024);
}

static prem_status tell_size(cache_study *study, int32_t number, prem_table *table, char *verdict,
                             size_t verdict_bytes) {
  const prem_cache *cache = &study->caches[number];
  double hit_ns, miss_ns, edge_bytes = NAN;
  find_levels(study, number, &hit_ns, &miss_ns);
  if (miss_ns > 1.2 * hit_ns) {
    prem_status status = refine_edge(
        study, cache, hit_ns + fmin(rise * (miss_ns - hit_ns), slower * hit_ns), &edge_bytes);
    if (status != PREM_OK)
      return status;
  }
  prem_table_add_text(table, cache->name);
  prem_table_add_real(table, hit_ns);
  prem_table_add_real(table, miss_ns);
  prem_table_add_real(table, edge_bytes / 1024);
  prem_table_add_real(table, (double)cache->bytes / 1024);
  prem_table_add_real(table, 100 * (edge_bytes / (double)cache->bytes - 1));
  prem_table_add_text(table, cache->source);
  explain(study, cache, edge_bytes);
  const size_t used = strlen(verdict);
  if (isnan(edge_bytes))
    snprintf(verdict + used, verdict_bytes - used, "%s%s: not seen", used ? "; " : "", cache->name);
  else
    snprintf(verdict + used, verdict_bytes - used, "%s%s: %.0f KiB read off, %.0f reported",
             used ? "; " : "", cache->name, edge_bytes / 1024, (double)cache->bytes / 1024);
  return PREM_OK;
}

static prem_status tell_sizes(cache_study *study) {
  char verdict[400] = "";
  prem_table *table = begin_sizes(study);
  for (int32_t i = 0; i < study->cache_count; ++i) {
    prem_status status = tell_size(study, i, table, verdict, sizeof verdict);
    if (status != PREM_OK)
      return status;
  }
  if (*verdict)
    prem_findings_verdict(study->findings, "%s.", verdict);
  else
    prem_findings_verdict(study->findings, "The machine reports no caches to compare with.");
  return PREM_OK;
}

static void tell_original(const cache_study *study) {
  prem_table *table = prem_findings_table(
      study->findings, "original", "Cache sizes as the original read them off", "thesis, TX2");
  prem_table_column(table, "cache", "");
  prem_table_column(table, "read off", "KiB");
  prem_table_add_text(table, "L1");
  prem_table_add_int(table, 12);
  prem_table_add_text(table, "L2");
  prem_table_add_int(table, 512);
}

/* ---- the experiment ------------------------------------------------------------------------- */

static prem_status measure_curves(cache_study *study) {
  const int paths = study->gpu ? PREM_WALK_PATH_COUNT : 1;
  study->points_all = (int64_t)paths * 2 * count_sizes(study);
  for (int path = 0; path < paths; ++path)
    for (int order = 0; order < 2; ++order) {
      prem_status status = measure_curve(study, (prem_walk_path)path, (prem_walk_order)order);
      if (status != PREM_OK)
        return status;
    }
  return PREM_OK;
}

static prem_status run(const prem_experiment_setting *setting, prem_findings *findings,
                       prem_diag *diag) {
  cache_study *study = calloc(1, sizeof *study);
  if (!study)
    return PREM_ERR_MEMORY;
  *study = (cache_study){.setting = setting, .findings = findings, .diag = diag, .right = true};
  study->gpu = strcmp(prem_backend_name(setting->backend), "cuda") == 0;
  study->cache_count = prem_caches_find(setting->backend, study->caches);
  study->room_bytes = study->cache_count ? 3 * study->caches[study->cache_count - 1].bytes : 0;
  if (study->room_bytes < UNKNOWN_ROOM)
    study->room_bytes = UNKNOWN_ROOM;
  prem_status status = prem_walker_open(setting, study->room_bytes, false, &study->walker, diag);
  if (status == PREM_OK)
    status = measure_curves(study);
  if (status == PREM_OK)
    status = tell_sizes(study);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    tell_original(study);
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
    .question =
        "How large are the caches as one thread sees them, and do the sizes agree with what "
        "the machine reports?",
    .backends = "cuda cpu",
    .run = run,
};
