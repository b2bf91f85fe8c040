/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each index of a tile moves the window in one dimension at most, the windows are a product
 * of four sets of intervals, one a dimension: each element is in exactly one window if and only if
 * that holds of the intervals in each dimension. An index that moves them in two is refused:
 * windows that lie within the array then never cut it into parts, and of those that hang over its
 * edges nobody needs any that do.
 */
#include "prem/model/cover.h"

#include "prem/base/numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The intervals of a dimension: they begin at base + the sum of step[i] * (0 .. count[i] - 1). */
typedef struct intervals {
  int64_t extent, shape;
  prem_wide base;
  int32_t indices;
  prem_wide step[PREM_MAX_GRID];
  int64_t count[PREM_MAX_GRID];
  int32_t tiles[PREM_MAX_GRID]; /* from one value of the index to the next */
  const char *unit;             /* "row" */
  const char *port;
} intervals;

typedef struct interval {
  prem_wide first;
  int32_t tile;
} interval;

static prem_status say_gap(const intervals *of, prem_wide at, char *reason, size_t bytes) {
  snprintf(reason, bytes, "%s %" PRId64 " of '%s' is in no tile's window", of->unit, (int64_t)at,
           of->port);
  return PREM_ERR_INVALID;
}

/* Do they follow each other without a gap? The index with the smallest step then goes from one to
 * the next, and each other one from one row of those before it to the next. */
static bool is_row(const intervals *of, prem_wide *first, prem_wide *end) {
  bool is_used[PREM_MAX_GRID] = {false};
  prem_wide length = of->extent;
  *first = of->base;
  for (int32_t n = 0; n < of->indices; ++n) {
    int32_t next = 0;
    while (next < of->indices &&
           (is_used[next] || (of->step[next] != length && of->step[next] != -length)))
      ++next;
    if (next == of->indices)
      return false;
    is_used[next] = true;
    *first += prem_min_wide(of->step[next] * (of->count[next] - 1), 0);
    length *= of->count[next];
  }
  *end = *first + length;
  return true;
}

static int by_first(const void *left, const void *right) {
  const interval *a = left, *b = right;
  if (a->first != b->first)
    return a->first < b->first ? -1 : 1;
  return (a->tile > b->tile) - (a->tile < b->tile);
}

/* Those that meet the array, in order. */
static int64_t list(const intervals *of, interval *out) {
  int64_t all = 1, count = 0;
  for (int32_t i = 0; i < of->indices; ++i)
    all *= of->count[i];
  for (int64_t n = 0; n < all; ++n) {
    interval it = {.first = of->base};
    int64_t rest = n;
    for (int32_t i = 0; i < of->indices; rest /= of->count[i++]) {
      it.first += of->step[i] * (rest % of->count[i]);
      it.tile += (int32_t)(rest % of->count[i]) * of->tiles[i];
    }
    if (it.first < of->shape && it.first + of->extent > 0)
      out[count++] = it;
  }
  qsort(out, (size_t)count, sizeof *out, by_first);
  return count;
}

static prem_status judge_list(const intervals *of, const interval *list, int64_t count,
                              char *reason, size_t bytes) {
  prem_wide reached = 0;
  for (int64_t i = 0; i < count; ++i) {
    const prem_wide first = prem_max_wide(list[i].first, 0);
    if (first > reached)
      return say_gap(of, reached, reason, bytes);
    if (first < reached) {
      snprintf(reason, bytes, "tiles %d and %d both write %s %" PRId64 " of '%s'", list[i - 1].tile,
               list[i].tile, of->unit, (int64_t)first, of->port);
      return PREM_ERR_INVALID;
    }
    reached = list[i].first + of->extent;
  }
  return reached < of->shape ? say_gap(of, reached, reason, bytes) : PREM_OK;
}

static prem_status judge_intervals(const intervals *of, char *reason, size_t bytes) {
  prem_wide first, end;
  if (is_row(of, &first, &end)) {
    if (first <= 0 && end >= of->shape)
      return PREM_OK;
    return say_gap(of, first > 0 ? 0 : prem_max_wide(end, 0), reason, bytes);
  }
  size_t all = 1;
  for (int32_t i = 0; i < of->indices; ++i)
    all *= (size_t)of->count[i];
  interval *listed = malloc(all * sizeof *listed);
  if (!listed)
    return PREM_ERR_MEMORY;
  const prem_status status = judge_list(of, listed, list(of, listed), reason, bytes);
  free(listed);
  return status;
}

/* The dimension in which an index moves the window; the last one, by 0, where it moves it in none.
 * -1: more than one. */
static int dimension_of(const prem_window *window, int k) {
  int found = PREM_MAX_RANK - 1, count = 0;
  for (int d = 0; d < PREM_MAX_RANK; ++d)
    if (window->step[d][k] != 0) {
      found = d;
      ++count;
    }
  return count > 1 ? -1 : found;
}

prem_status prem_judge_cover(const int32_t grid[PREM_MAX_GRID], const prem_window *window,
                             const int64_t shape[4], const char *port, char *reason,
                             size_t reason_bytes) {
  static const char *const units[] = {"volume", "plane", "row", "column"};
  const bool is_vector = shape[0] == 1 && shape[1] == 1 && shape[2] == 1;
  intervals dimensions[PREM_MAX_RANK];
  for (int d = 0; d < PREM_MAX_RANK; ++d)
    dimensions[d] = (intervals){.extent = window->extent[d],
                                .shape = shape[d],
                                .base = window->base[d],
                                .unit = is_vector && d == 3 ? "element" : units[d],
                                .port = port};
  for (int k = PREM_MAX_GRID - 1, tiles = 1; k >= 0; tiles *= grid[k--]) {
    const int d = dimension_of(window, k);
    if (grid[k] == 1)
      continue;
    if (d < 0) {
      snprintf(reason, reason_bytes,
               "index %d of the tile moves the window of '%s' in two dimensions; of an output each "
               "may move it in one",
               k, port);
      return PREM_ERR_INVALID;
    }
    intervals *of = &dimensions[d];
    of->step[of->indices] = window->step[d][k];
    of->count[of->indices] = grid[k];
    of->tiles[of->indices++] = tiles;
  }
  for (int d = 0; d < PREM_MAX_RANK; ++d) {
    const prem_status status = judge_intervals(&dimensions[d], reason, reason_bytes);
    if (status)
      return status;
  }
  return PREM_OK;
}
