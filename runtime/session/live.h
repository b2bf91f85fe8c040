/* SPDX-License-Identifier: Apache-2.0 */
/** Live sessions, for tests. */
#ifndef TTPREM_RUNTIME_SESSION_LIVE_H
#define TTPREM_RUNTIME_SESSION_LIVE_H

#include "ttprem/live.h"

/** Let the first hyperperiod, and the first frame of each stream, have these numbers. Right after
 *  open. */
void prem_live_count_from(prem_live *live, int64_t hyperperiod, uint64_t frame);
/** On a GPU: results that the courier's keeper has shown by itself. As far as has been told: all of
 *  them when the session is over. */
uint64_t prem_live_count_by_keeper(const prem_live *live);
/** See prem_courier_fold_at(). */
void prem_live_fold_at(prem_live *live, uint32_t phases);

#endif
