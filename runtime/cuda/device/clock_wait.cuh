/* SPDX-License-Identifier: Apache-2.0 */
/* The wait for an instant of the GPU's clock. For a compiler of C as well: its test brings a clock
 * (prem_clock_ns()) of its own. */
#pragma once

#include <stdint.h>

/**
 * Look at the clock until an instant. @return the reading that showed it.
 *
 * Where compute warps keep the scheduler, each instruction of this loop waits for its turn, so it
 * has three: a reading, a comparison, a branch. Integers of 64 bits take two to compare; but as
 * doubles, positive integers with the same bits have the same order (to the year 2262, where
 * NaNs begin; a negative instant is over, whether it is a number as a double or not).
 */
static __device__ __forceinline__ int64_t prem_clock_await(int64_t at_ns) {
  const double at = prem_as_double(at_ns);
  int64_t now;
  do
    now = prem_clock_ns();
  while (prem_as_double(now) < at);
  return now;
}
