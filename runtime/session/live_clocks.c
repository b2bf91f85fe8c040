/* SPDX-License-Identifier: Apache-2.0 */
/* Live sessions: how other clocks stand to the host's CLOCK_MONOTONIC. */
#include <sys/timex.h>
#include <time.h>

#include "prem/base/clock.h"
#include "runtime/session/live_parts.h"

void prem_live_compare_clocks(const prem_live *live, prem_live_clocks *out) {
  *out = (prem_live_clocks){0};
  if (!prem_live_enter(live))
    return;
  if (atomic_load(&live->has_started) && prem_live_engine_of(live)->compare_clocks)
    prem_live_engine_of(live)->compare_clocks(live->state, out);
  prem_live_leave(live, PREM_OK);
}

/* Between two readings of one clock lies that of the other. */
static prem_status compare_once(prem_live_tai *out) {
  struct timespec tai;
  const int64_t before_ns = prem_host_clock_ns();
  if (clock_gettime(CLOCK_TAI, &tai) != 0)
    return PREM_ERR_UNAVAILABLE;
  const int64_t behind_ns = prem_host_clock_ns();
  const int64_t tai_ns = (int64_t)tai.tv_sec * 1000000000 + tai.tv_nsec;
  out->bound_ns = (behind_ns - before_ns + 1) / 2;
  out->offset_ns = tai_ns - (before_ns + (behind_ns - before_ns) / 2);
  return PREM_OK;
}

prem_status prem_live_compare_tai(prem_live_tai *out) {
  enum { QUESTIONS = 16 }; /* the one that was interrupted least counts */
  struct timex kernel = {.modes = 0};
  *out = (prem_live_tai){0};
  prem_status status = compare_once(out);
  for (int i = 1; i < QUESTIONS && status == PREM_OK; ++i) {
    prem_live_tai next = *out;
    status = compare_once(&next);
    if (next.bound_ns < out->bound_ns)
      *out = next;
  }
  out->leap_s = adjtimex(&kernel) < 0 ? 0 : kernel.tai;
  return status;
}
