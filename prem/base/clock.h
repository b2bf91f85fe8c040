/* SPDX-License-Identifier: Apache-2.0 */
/** The host's clock, which never steps back: CLOCK_MONOTONIC, and the cpu backend's own. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t prem_host_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline double prem_host_clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
