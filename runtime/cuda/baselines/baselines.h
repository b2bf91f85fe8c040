/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Modes legacy, launched, graph, gated_graph, priority, partition and copy: what a user would pick
 * otherwise.
 *
 * All but the last run the same tasks as ordinary kernels, one launch a job over the whole array,
 * in the ways that are best where every task has a stream of its own (native_tune.c, at the first
 * run of a session). Hyperperiods run one after the other; the host waits for the end of each. They
 * differ in how the launches reach the GPU:
 *
 * - legacy: a stream a task, `after` by cudaStreamWaitEvent. Gated: all is queued behind one gate a
 *   stream, a thread that waits for S, so that no cost of launching is inside. From S to a stream's
 *   first block about one microsecond goes by, which counts. A job with a release has a gate of its
 *   own, and so has a lag.
 * - launched: the same streams, as launched: the GPU stamps S when it sees a word of the host,
 * which launches as soon as it sees the stamp, about one microsecond later. Later releases are kept
 * by the host's clock.
 * - graph: as launched; all jobs of a hyperperiod in one CUDA graph, one launch of it. Releases and
 *   lags are gates in the graph.
 * - gated_graph: gated; the graph is launched before S. It waits for a gate before it in its
 * stream, or at gates that are its first nodes: what ends sooner.
 * - priority: gated; the streams have priorities, the file's first task the highest. Where there
 * are more tasks than levels, neighbours in the file share one.
 * - partition: gated; every task on an equal share of the SMs, by green contexts, in the ways that
 *   are best there.
 * - copy, gated, computes nothing: a copy from device memory to device memory, which reads and
 * writes as many bytes as the tasks' inputs and outputs have, each once a job; by cudaMemcpyAsync
 * or by a plain kernel, what is faster. No ordinary kernel can be faster than moving its bytes.
 *
 * Best-effort tasks run beside the first five as ordinary kernels too, again and again on streams
 * of their own (load.h): with priorities on those of the lowest, with a partition on the SMs that
 * the critical tasks leave. A hyperperiod then begins no earlier than the period after the one
 * before, so that critical tasks ask no more of the GPU than by the plan.
 *
 * What is measured: the end of a job is when its last block has issued its last store, stamped by
 * the blocks themselves on %globaltimer. (When the store is visible to other SMs is not waited for:
 * less than a microsecond, to the baseline's benefit. Behind cudaMemcpyAsync one thread stamps.) It
 * counts from S.
 */
#pragma once

#include "runtime/core/best_effort.h"
#include "runtime/cuda/baselines/native.h"
#include "runtime/cuda/host/sentinel.h"

typedef struct prem_baselines prem_baselines;

/** NULL without memory. Nothing is made ready before it is asked for.
 *  @param part    the best-effort tasks beside those of the place, which are at `beside`; NULL:
 * none
 *  @param leader  whose ways and shares are taken, see prem_session_follow(); NULL: nobody's */
prem_baselines *prem_baselines_new(const prem_native_place *place, const prem_native_place *beside,
                                   const prem_free_part *part, const prem_baselines *leader);
/** Not if they are lost: freeing would wait for a kernel. */
void prem_baselines_free(prem_baselines *baselines);
/**
 * As prem_session_run(); a mode without phases.
 * @param sentinel  that is ready, where the request asks for it
 * @retval PREM_ERR_UNAVAILABLE  a task's kernel has no ordinary version, an array is too large for
 *                               it, or the driver cannot part the GPU so (diag: a note)
 */
prem_status prem_baselines_run(prem_baselines *baselines, const prem_run_request *request,
                               prem_sentinel *sentinel, prem_trace *trace, prem_diag *diag);
/** Best-effort tasks as a CUDA graph beside the executive, made ready at the first call: see
 *  load_graph.h. Before each run.
 *  @param gated  whose S they wait for, and the windows that they heed
 *  @retval PREM_ERR_UNAVAILABLE  as above, or it never fits between two windows (diag: a note) */
prem_status prem_baselines_graph_ready(prem_baselines *baselines, const prem_run_request *request,
                                       const prem_device_gated *gated, prem_diag *diag);
prem_status prem_baselines_graph_begin(prem_baselines *baselines, prem_diag *diag);
/** The executive has ended. @param[out] out  but for its length */
prem_status prem_baselines_graph_end(prem_baselines *baselines, prem_best_effort_trace *out,
                                     prem_diag *diag);
/** What was tried; NULL before the first run of ordinary kernels. */
const prem_launch_search *prem_baselines_launch_search(const prem_baselines *baselines);
/** As prem_session_mode_note(). */
const char *prem_baselines_mode_note(const prem_baselines *baselines, prem_mode mode);
/** A kernel never came back: nothing of the device can be freed. */
bool prem_baselines_are_lost(const prem_baselines *baselines);
