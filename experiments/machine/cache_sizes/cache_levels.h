/* SPDX-License-Identifier: Apache-2.0 */
/** Levels of a memory hierarchy, read off the time of an access over the length of the list. */
#pragma once

#include <stdint.h>

#include "ttprem/base.h"

enum { PREM_MAX_LEVELS = 16 };

/** Lists of about the same time: the same memory serves them. */
typedef struct prem_level {
  int32_t first, last; /* points of the curve */
  double ns;           /* median of their times */
} prem_level;

PREM_EXTERN_C_BEGIN

/**
 * The levels of a curve: runs of two or more points, each less than a third of `apart` from the one
 * before it; neighbours that are not `apart` are one level.
 *
 * @param ns     of the points, shortest lists first, their lengths growing by a factor
 * @param apart  share of the lesser time by which two levels differ
 * @return how many there are, shortest lists first
 */
int32_t prem_levels_find(const double *ns, int32_t count, double apart,
                         prem_level levels[PREM_MAX_LEVELS]);
/**
 * The level that a cache of `cache_bytes` serves, which is the last one whose lists are shorter
 * than the cache, by their geometric mean; with `last`, the cache before the memory, the last level
 * but one. Its misses are the next level.
 *
 * @return its number, or -1: there is none, or nothing behind it
 */
int32_t prem_level_of_cache(const prem_level *levels, int32_t count, const int64_t *list_bytes,
                            int64_t cache_bytes, bool last);
/** Half of the accesses miss. */
double prem_level_threshold_ns(const prem_level *hit, const prem_level *miss);
/** The last point whose time is not above the threshold; -1: none is, or the last one of all. */
int32_t prem_edge_find(const double *ns, int32_t count, double threshold_ns);

PREM_EXTERN_C_END
