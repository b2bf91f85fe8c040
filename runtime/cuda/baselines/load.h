/* SPDX-License-Identifier: Apache-2.0 */
/** Best-effort tasks as ordinary kernels: a thread launches them again and again, a few passes
 *  ahead, beside the critical ones. */
#pragma once

#include "runtime/cuda/baselines/native.h"

typedef struct prem_native_load prem_native_load;

/**
 * Begin to launch; returns when the first pass over all tasks has ended.
 *
 * @param native  tuned; nobody else uses it until the end
 * @param stop    may be NULL: the caller's wish to end
 * @retval PREM_ERR_UNAVAILABLE  tasks follow each other with a lag (diag: a note)
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen
 */
prem_status prem_native_load_start(prem_native *native, const volatile sig_atomic_t *stop,
                                   prem_native_load **out, prem_diag *diag);
/** As a graph of all tasks, launched again and again; returns when so many passes have ended,
 * without a pause; 0: at once, and they keep their rate. What `out` then has is to be ended in any
 * case. */
prem_status prem_native_load_start_graph(prem_native *native, cudaGraphExec_t graph, int64_t passes,
                                         const volatile sig_atomic_t *stop, prem_native_load **out,
                                         prem_diag *diag);
/** What tasks want that streams and graphs do not keep is refused. */
prem_status prem_native_load_judge(const prem_native *native, prem_diag *diag);
/** Passes that have ended so far: jobs of each task. */
int64_t prem_native_load_passes(const prem_native_load *load);
/** Launch no more, wait for what is under way, free. NULL is fine.
 *  @retval PREM_ERR_MACHINE  a launch failed, or a kernel does not end (then `native` is lost) */
prem_status prem_native_load_end(prem_native_load *load, prem_diag *diag);
