/* SPDX-License-Identifier: Apache-2.0 */
/** Times in which everything stood still: the processor was taken away from whoever ran. */
#ifndef TTPREM_MEASURE_STANDSTILLS_H
#define TTPREM_MEASURE_STANDSTILLS_H

#include "ttprem/trace.h"

typedef struct prem_stops {
  int64_t watched_ns;
  int64_t count, longest_ns, sum_ns; /* of the stops */
} prem_stops;

PREM_EXTERN_C_BEGIN

/** Add what another one saw. */
void prem_stops_merge(prem_stops *to, const prem_stops *from);
/** In percent of the time watched; 0 when none was. */
double prem_stops_share_pct(const prem_stops *stops);

/**
 * Stops of all blocks at once: no phase of any block begins or ends for `least_ns`, though some are
 * under way. A block that waits for an instant or for data stops alone, and with none under way
 * there may be nothing to do.
 *
 * Lengths are exact to 1 us, and too short by up to 2: what is looked for takes far longer. Where
 * the trace spans more than a second they are exact to 1 us a second; a trace so long that stops of
 * `least_ns` could not be told is not looked at, and adds nothing to `watched_ns`.
 *
 * @param         trace  sorted or not; phases without raw records are not seen.
 * @param[in,out] stops  is added to.
 * @retval PREM_ERR_MEMORY  nothing was added
 */
prem_status prem_trace_stops(const prem_trace *trace, int64_t least_ns, prem_stops *stops);

PREM_EXTERN_C_END
#endif
