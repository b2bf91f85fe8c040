/* SPDX-License-Identifier: Apache-2.0 */
/** Times and how often each was seen: all that a long measurement keeps of its phases. */
#pragma once

#include "ttprem/measure.h"

typedef struct prem_time_count {
  int64_t ns, count;
} prem_time_count;

/**
 * Times are kept with 11 leading bits: below 2048 ns exactly, above with an error of less than
 * 0.1 % (on a clock of 32 ns exactly up to 65 us). min, max and sum are exact. All zeros is empty.
 */
typedef struct prem_times {
  prem_time_count *list; /* ascending */
  int64_t distinct;
  int64_t count, min_ns, max_ns;
  double sum_ns;
} prem_times;

/** False: out of memory. */
PREM_API bool prem_times_add(prem_times *times, int64_t ns);
PREM_API void prem_times_free(prem_times *times);
/** Nearest rank: the least time that per_mille of all do not exceed; 0 when there are none. */
PREM_API int64_t prem_times_percentile(const prem_times *times, int64_t per_mille);
/** As prem_summarise(), percentiles within the precision above. */
PREM_API void prem_times_summarise(const prem_times *times, prem_summary *out);
