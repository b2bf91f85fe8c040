/* SPDX-License-Identifier: Apache-2.0 */
/** For qsort(). */
#pragma once

#include <stdint.h>

/** int64_t, or structs that begin with one: the least first. */
static inline int prem_by_i64(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}
