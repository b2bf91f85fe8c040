/* SPDX-License-Identifier: Apache-2.0 */
/** Arithmetic that every room needs: the larger and the smaller of two, division that rounds. */
#pragma once

#include <stdint.h>

/** For products of two int64_t and sums of such products. */
__extension__ typedef __int128 prem_wide;

static inline int32_t prem_min_i32(int32_t a, int32_t b) {
  return a < b ? a : b;
}

static inline int32_t prem_max_i32(int32_t a, int32_t b) {
  return a > b ? a : b;
}

static inline int64_t prem_min_i64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t prem_max_i64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static inline prem_wide prem_min_wide(prem_wide a, prem_wide b) {
  return a < b ? a : b;
}

static inline prem_wide prem_max_wide(prem_wide a, prem_wide b) {
  return a > b ? a : b;
}

/** The greatest common divisor, never below 0; of 0 and b it is b. */
static inline int64_t prem_common_divisor(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/** The largest whole number that is not above value / by; by > 0. */
static inline int64_t prem_div_floor(int64_t value, int64_t by) {
  return value / by - (value % by < 0);
}

/** The smallest whole number that is not below value / by; by > 0. */
static inline int64_t prem_div_ceil(int64_t value, int64_t by) {
  return value / by + (value % by > 0);
}

/** Of the numbers whose lower 32 bits are `low`, the one that is nearest to `to`. */
static inline int64_t prem_nearest_with_low(int64_t to, int32_t low) {
  return to + (int32_t)((uint32_t)low - (uint32_t)to);
}

/** The smallest multiple of `to` that is not below `value`; to > 0. */
static inline int64_t prem_round_up(int64_t value, int64_t to) {
  const int64_t above = value % to;
  return above > 0 ? value + (to - above) : value - above;
}
