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

/* An index that moves the window: `count` values, each `step` further, `tiles` tiles apart. */
typedef struct mover {
  prem_wide step;
  int32_t count, tiles;
} mover;

static int by_step(const void *left, const void *right) {
  const prem_wide a = ((const mover *)left)->step, b = ((const mover *)right)->step;
  return (a > b) - (a < b);
}

/* The window goes on from one value of an index to the next, of the index with the smallest step
 * first; each other index repeats what those before it make. */
static bool is_cut(prem_wide first, int64_t extent, int64_t shape, mover *movers, int32_t count,
                   const char *unit, const char *port, char *reason, size_t bytes) {
  prem_wide length = extent, gap = shape;
  int32_t tile = 0; /* the first one */
  for (int32_t i = 0; i < count; ++i)
    if (movers[i].step < 0) { /* the other way round */
      first += movers[i].step * (movers[i].count - 1);
      tile += movers[i].tiles * (movers[i].count - 1);
      movers[i].step *= -1;
      movers[i].tiles *= -1;
    }
  qsort(movers, (size_t)count, sizeof *movers, by_step);
  for (int32_t i = 0; i < count && gap == shape; length *= movers[i++].count)
    if (movers[i].step < length) {
      const int32_t other = tile + movers[i].tiles;
      snprintf(reason, bytes, "tiles %d and %d both write %s %" PRId64 " of '%s'",
               prem_min_i32(tile, other), prem_max_i32(tile, other), unit,
               (int64_t)prem_max_wide(first + movers[i].step, 0), port);
      return false;
    } else if (movers[i].step > length) {
      gap = prem_max_wide(first + length, 0);
    }
  if (first > 0)
    gap = 0;
  else if (gap == shape)
    gap = prem_max_wide(first + length, 0);
  if (gap < shape)
    snprintf(reason, bytes, "%s %" PRId64 " of '%s' is in no tile's window", unit, (int64_t)gap,
             port);
  return gap >= shape;
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

bool prem_is_cut(const int32_t grid[PREM_MAX_GRID], const prem_window *window,
                 const int64_t shape[4], const char *port, char *reason, size_t reason_bytes) {
  static const char *const units[] = {"volume", "plane", "row", "column", "element"};
  const bool is_vector = shape[0] == 1 && shape[1] == 1 && shape[2] == 1;
  mover movers[PREM_MAX_RANK][PREM_MAX_GRID];
  int32_t counts[PREM_MAX_RANK] = {0};
  for (int k = PREM_MAX_GRID - 1, tiles = 1; k >= 0; tiles *= grid[k--]) {
    const int d = dimension_of(window, k);
    if (grid[k] == 1)
      continue;
    if (d < 0) {
      snprintf(reason, reason_bytes,
               "index %d of the tile moves the window of '%s' in two dimensions; of an output each "
               "may move it in one",
               k, port);
      return false;
    }
    movers[d][counts[d]++] = (mover){window->step[d][k], grid[k], tiles};
  }
  for (int d = 0; d < PREM_MAX_RANK; ++d)
    if (!is_cut(window->base[d], window->extent[d], shape[d], movers[d], counts[d],
                units[d + (is_vector && d == 3)], port, reason, reason_bytes))
      return false;
  return true;
}
