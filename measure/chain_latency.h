/* SPDX-License-Identifier: Apache-2.0 */
/** Latency of chains of tasks: reaction to an input, and age of the data in an output. */
#pragma once

#include "ttprem/measure.h"

/** Samples of one chain over all launches of a mode. */
typedef struct prem_chain_samples {
  int64_t *reaction_ns, *age_ns;
  int64_t reaction_count, age_count;
} prem_chain_samples;

/**
 * Add the samples of a launch, as docs/timing-method.md defines them: of outputs that end in
 * hyperperiods from number `discard` on, up to the first one of which a raw record is missing.
 *
 * @param phases  of one hyperperiod, warm-up included: so many records are a complete one
 */
prem_status prem_chain_fold(const prem_chain *chain, const prem_trace *trace, int64_t discard,
                            int64_t phases, prem_chain_samples *samples);
void prem_chain_samples_free(prem_chain_samples *samples);
