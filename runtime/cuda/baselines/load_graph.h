/* SPDX-License-Identifier: Apache-2.0 */
/** Best-effort tasks as a CUDA graph beside the executive: a pass over all of them is begun whole,
 *  only where its bound ends before the next closed window, and its end is seen. The bound is the
 *  longest that a pass was seen to take: of some alone, then of all beside the critical tasks. That
 *  of an application's graph is the file's. */
#pragma once

#include "runtime/core/best_effort.h"
#include "runtime/cuda/baselines/load.h"
#include "runtime/cuda/baselines/native_kernels.h"

typedef struct prem_load_graph prem_load_graph;

/**
 * Make the graph, and see how long it takes. Nothing else runs.
 * @param native  tuned; the graph's as long as that lives. Right outputs are left behind
 * @retval PREM_ERR_UNAVAILABLE  tasks want what graphs do not keep, or an application's graph takes
 *                               longer than its bound (diag: a note)
 */
prem_status prem_load_graph_new(prem_native *native, const prem_free_part *part,
                                const prem_run_request *request, prem_load_graph **out,
                                prem_diag *diag);
/** Not if the native kernels are lost. NULL is fine. */
void prem_load_graph_free(prem_load_graph *graph);
/** Does a pass ever fit?
 *  @retval PREM_ERR_UNAVAILABLE  it does not (diag: a note with the bound and the gap) */
prem_status prem_load_graph_judge(const prem_load_graph *graph, const prem_free_part *part,
                                  prem_diag *diag);
/** What was seen, in words. */
void prem_load_graph_describe(const prem_load_graph *graph, char *to, size_t bytes);

/** Before a launch of the executive. @param gated  without counts */
prem_status prem_load_graph_prepare(prem_load_graph *graph, const prem_device_gated *gated,
                                    prem_diag *diag);
/** That is under way; passes wait for its S. */
prem_status prem_load_graph_begin(prem_load_graph *graph, prem_diag *diag);
/** That launch has ended, or does not come. @param[out] out  what was counted */
prem_status prem_load_graph_end(prem_load_graph *graph, prem_native_passes *out, prem_diag *diag);
