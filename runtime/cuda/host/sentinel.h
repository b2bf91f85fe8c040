/* SPDX-License-Identifier: Apache-2.0 */
/** The sentinel beside a run: begun, told that the host lives, ended; which jobs its gaps met. */
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/core/backend.h"

typedef struct prem_sentinel prem_sentinel;

/** Of a host that looks every few ms, until it counts as stopped or dead. */
#define PREM_SENTINEL_SILENCE_NS INT64_C(10000000000)

/** Before anything runs: it needs memory, and its code is loaded. */
cudaError_t prem_sentinel_new(prem_sentinel **out);
/** Not while it runs: it would wait for that. NULL is fine. */
void prem_sentinel_free(prem_sentinel *sentinel);

/** Before each launch, while nothing runs.
 *  @param carveout  as the kernels beside it have it: an SM has one division of its memory at once
 */
cudaError_t prem_sentinel_prepare(prem_sentinel *sentinel, int carveout);
/** Its block finds room beside blocks that leave some, and is placed when they end otherwise. It
 *  ends by itself when prem_sentinel_tell() has not been called for `silence_ns`.
 *  @param sm_first  in device memory, as in prem_launch: it takes one of the `sm_count` SMs that
 * has no block of the plan, of which there are some; NULL: any */
cudaError_t prem_sentinel_launch(prem_sentinel *sentinel, int64_t silence_ns,
                                 const int32_t *sm_first, int32_t sm_count);
/** Until it has come, for some ms at most. */
void prem_sentinel_await(const prem_sentinel *sentinel);
/** The host lives. Any thread of its; NULL is fine. */
void prem_sentinel_tell(prem_sentinel *sentinel);
/** Tell it to end, and wait for that where `waits`. @return cudaErrorNotReady: it does not */
cudaError_t prem_sentinel_end(prem_sentinel *sentinel, bool waits);

/** Stalls of the run that ended, to the trace. The diag is told, once, where not all was seen. */
void prem_sentinel_report(prem_sentinel *sentinel, prem_trace *trace, prem_diag *diag);
/** prem_watch_judge(), by the GPU's clock. */
void prem_sentinel_judge(const prem_sentinel *sentinel, const prem_program *program,
                         int64_t hyperperiod, int64_t start_ns, prem_trace *trace);
