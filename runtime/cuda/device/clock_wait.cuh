/* SPDX-License-Identifier: Apache-2.0 */
/* The wait for an instant of the GPU's clock. For a compiler of C as well: its test brings a clock
 * (prem_clock_ns()) of its own. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_CLOCK_WAIT_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_CLOCK_WAIT_CUH

#include <stdint.h>

/**
 * Look at the clock until an instant. @return the reading that showed it.
 *
 * Where compute warps keep the scheduler, each instruction of this loop waits for its turn, so it
 * has three: a reading, one comparison of 32 bits, a branch. Low halves of the clock can be
 * compared as long as none of the two runs over: both instants lie between the same multiples of
 * 2^31 ns, and the comparison, signed or not, is the one that runs over later, some 2 s from here.
 */
static __device__ __forceinline__ int64_t prem_clock_await(int64_t at_ns) {
  const uint32_t at = (uint32_t)at_ns;
  int64_t now = prem_clock_ns();
  uint32_t low;
  if (now >= at_ns)
    return now;
  if ((now ^ at_ns) >> 31 != 0) {
    do
      now = prem_clock_ns();
    while (now < at_ns);
    return now;
  }
  if (at >> 31 == 0)
    do
      low = (uint32_t)prem_clock_ns();
    while (low < at);
  else
    do
      low = (uint32_t)prem_clock_ns();
    while ((int32_t)low < (int32_t)at);
  return at_ns + (low - at);
}

#endif
