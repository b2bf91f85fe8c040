/* SPDX-License-Identifier: Apache-2.0 */
/** Times in which everything stood still: the processor was taken away from whoever ran. */
#pragma once

#include "ttprem/trace.h"

typedef struct prem_standstills {
  int64_t watched_ns;
  int64_t count, longest_ns, sum_ns; /* of the stops */
} prem_standstills;

PREM_EXTERN_C_BEGIN

/** Add what another one saw. */
PREM_API void prem_standstills_merge(prem_standstills *to, const prem_standstills *from);
/** In percent of the time watched; 0 when none was. */
PREM_API double prem_standstills_share_pct(const prem_standstills *standstills);

/**
 * Stops of all blocks at once: no phase of any block begins or ends for `min_ns`, though some are
 * under way. A block that waits for an instant or for data stops alone, and with none under way
 * there may be nothing to do.
 *
 * Lengths are exact to 1 us, and too short by up to 2: what is looked for takes far longer. Where
 * the trace spans more than a second they are exact to 1 us a second; a trace so long that stops of
 * `min_ns` could not be told is not looked at, and adds nothing to `watched_ns`.
 *
 * @param         trace  sorted or not; phases without raw records are not seen.
 * @param[in,out] stops  is added to.
 * @retval PREM_ERR_MEMORY  nothing was added
 */
PREM_API prem_status prem_trace_standstills(const prem_trace *trace, int64_t min_ns,
                                            prem_standstills *standstills);

PREM_EXTERN_C_END
