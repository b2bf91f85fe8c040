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
  ROOM = 4,               /* times the largest cache: the longest list */
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

/**
 * What a GPU's L2 holds, by the share of accesses that it still serves in lists that are too long
 * for it. The list is touched in order before the walk, so of S bytes the last C are there, and an
 * access takes C / S hits and (1 - C / S) misses on average: a straight line over 1 / S, whose
 * slope and height are found by least squares. NAN: too few such lists, or no such line.
 */
static double held_bytes(const cache_study *study, const prem_cache *cache, double hit_ns) {
  const access_curve *curve = &study->curves[cache->path][PREM_WALK_RANDOM];
  double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (int i = 0; i < curve->count; ++i) {
    if ((double)curve->bytes[i] < 1.4 * (double)cache->bytes)
      continue;
    const double x = 1 / (double)curve->bytes[i], y = curve->times[i].mean_ns;
    n += 1;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double slope = (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
  const double miss_ns = (sum_y - slope * sum_x) / n;
  const double held = -slope / (miss_ns - hit_ns);
  return n >= 2 && held > 0 && isfinite(held) ? held : NAN;
}

/** What the walks say of a cache. */
typedef struct cache_reading {
  double hit_ns, miss_ns;
  double edge_bytes, held_bytes; /* NAN: not seen */
} cache_reading;

static prem_status read_off(cache_study *study, int32_t number, cache_reading *reading) {
  const prem_cache *cache = &study->caches[number];
  *reading = (cache_reading){.edge_bytes = NAN, .held_bytes = NAN};
  find_levels(study, number, &reading->hit_ns, &reading->miss_ns);
  const double way_ns = reading->miss_ns - reading->hit_ns;
  if (!(way_ns > 0.2 * reading->hit_ns))
    return PREM_OK;
  if (study->gpu && cache->path == PREM_WALK_L2)
    reading->held_bytes = held_bytes(study, cache, reading->hit_ns);
  return refine_edge(study, cache, reading->hit_ns + fmin(rise * way_ns, slower * reading->hit_ns),
                     &reading->edge_bytes);
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
  prem_table_column(table, "edge", "KiB");
  prem_table_column(table, "by share of hits", "KiB");
  prem_table_column(table, "reported", "KiB");
  prem_table_column(table, "edge off by", "%");
  prem_table_column(table, "reported by", "");
  return table;
}

/** Why a size is not the reported one. */
static const char *reason_for(const cache_study *study, bool smaller) {
  if (study->gpu && smaller)
    return "hits get slower before they get fewer where a cache is divided and parts of it are far "
           "from the SM that walks, and what else lives in the same memory takes its share";
  if (smaller)
    return "the cores, or guests of a host, that share it leave less of it, and a cache that does "
           "not replace its oldest line first begins to miss before it is full";
  return "the caches beside it hold other lines than it does, so that together they hold more";
}

static void explain(const cache_study *study, const prem_cache *cache,
                    const cache_reading *reading) {
  const double reported = (double)cache->bytes, off = reading->edge_bytes / reported - 1;
  if (isnan(off))
    prem_findings_note(study->findings,
                       "%s: its hits and its misses do not differ enough to show an edge.",
                       cache->name);
  else if (fabs(off) > agreement)
    prem_findings_note(study->findings, "%s: the edge is at %.0f KiB, %.0f are reported: %s.",
                       cache->name, reading->edge_bytes / 1024, reported / 1024,
                       reason_for(study, off < 0));
}

static void add_size(prem_table *table, const prem_cache *cache, const cache_reading *reading) {
  prem_table_add_text(table, cache->name);
  prem_table_add_real(table, reading->hit_ns);
  prem_table_add_real(table, reading->miss_ns);
  prem_table_add_real(table, reading->edge_bytes / 1024);
  prem_table_add_real(table, reading->held_bytes / 1024);
  prem_table_add_real(table, (double)cache->bytes / 1024);
  prem_table_add_real(table, 100 * (reading->edge_bytes / (double)cache->bytes - 1));
  prem_table_add_text(table, cache->source);
}

/** A part of the verdict. */
static void append_size(char *verdict, size_t bytes, const prem_cache *cache,
                        const cache_reading *reading) {
  const size_t used = strlen(verdict);
  char held[64] = "";
  if (!isnan(reading->held_bytes))
    snprintf(held, sizeof held, " (%.0f by its share of hits)", reading->held_bytes / 1024);
  if (isnan(reading->edge_bytes))
    snprintf(verdict + used, bytes - used, "%s%s: not seen", used ? "; " : "", cache->name);
  else
    snprintf(verdict + used, bytes - used, "%s%s: edge at %.0f KiB%s, %.0f reported",
             used ? "; " : "", cache->name, reading->edge_bytes / 1024, held,
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
  study->room_bytes = study->cache_count ? ROOM * study->caches[study->cache_count - 1].bytes : 0;
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
