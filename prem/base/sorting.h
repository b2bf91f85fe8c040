/* SPDX-License-Identifier: Apache-2.0 */
/** For qsort(), and to find a place in what is sorted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** int64_t, or structs that begin with one: the least first. */
static inline int prem_by_i64(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

/** By the first of `count` numbers in which two lists differ. */
static inline int prem_by_numbers(const int64_t *a, const int64_t *b, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (a[i] != b[i])
      return a[i] < b[i] ? -1 : 1;
  return 0;
}

/** Let `low` be the first place of [low, high) for which `is_before` does not hold, or `high`; it
 * is an expression of the place AT, and holds for all before the first for which it does not. Both
 *  are variables of one type. */
#define PREM_BISECT(low, high, at, is_before)                                                      \
  while ((low) < (high)) {                                                                         \
    const __typeof__(low) at = (low) + ((high) - (low)) / 2;                                       \
    if (is_before)                                                                                 \
      (low) = at + 1;                                                                              \
    else                                                                                           \
      (high) = at;                                                                                 \
  }
