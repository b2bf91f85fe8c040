/* SPDX-License-Identifier: Apache-2.0 */
/** The clocks of SMs and cores, looked at. */
#pragma once

#include "ttprem/diag.h"

/** By how much another clock is ahead of ours: at least, and at most. */
typedef struct prem_clock_gap {
  int32_t place; /* SM or core */
  int64_t min_ns, max_ns;
} prem_clock_gap;

/**
 * Bounds from one exchange: sent at `sent_ns`, seen by the other at `seen_ns` of its clock, its
 * answer seen at `back_ns`. The narrowest of many count (Cristian, "Probabilistic clock
 * synchronization", 1989). Begin with least INT64_MIN, most INT64_MAX.
 */
#ifdef __CUDACC__
__host__ __device__
#endif
    static inline void
    prem_clock_gap_narrow(prem_clock_gap *gap, int64_t sent_ns, int64_t seen_ns, int64_t back_ns) {
  if (seen_ns - back_ns > gap->min_ns)
    gap->min_ns = seen_ns - back_ns;
  if (seen_ns - sent_ns < gap->max_ns)
    gap->max_ns = seen_ns - sent_ns;
}

PREM_EXTERN_C_BEGIN

/** One thread reads the clock `count` times. */
prem_status prem_gpu_read_clock(int32_t count, int64_t *readings_ns, prem_diag *diag);
/**
 * All SMs' clocks against that of the SM of block 0.
 *
 * @param[in,out] count  room for gaps; how many there are
 * @param[out]    first  SM that the others are compared with
 * @retval PREM_ERR_UNAVAILABLE  not all blocks were there in time; `diag` says so
 */
prem_status prem_gpu_clock_gaps(prem_clock_gap *gaps, int32_t *count, int32_t *first,
                                prem_diag *diag);

PREM_EXTERN_C_END
