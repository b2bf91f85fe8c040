/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: how many random sets are tried. What holds of each is the release build's matter,
 * which tries all; a sanitizer looks at how the same code runs on them, and slows each down several
 * times.
 */
#pragma once

#include <stdbool.h>

#define ROUNDS(count) ((count) / TTPREM_TEST_ROUNDS_DIVISOR)

/** For the thread sanitizer alone, which would see nothing in cases that start no thread? They are
 *  left out there; all other builds have them. */
static inline bool only_threads(void) {
#ifdef __SANITIZE_THREAD__
  return true;
#else
  return false;
#endif
}
