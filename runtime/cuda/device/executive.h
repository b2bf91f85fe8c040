/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the host part knows of the executive, and where what is in this folder.
 *
 *   executive.cu  begin here: how a block works; becoming resident, each warp's part, the end
 *   executive_convolution.cu, executive_kcf.cu  the same with the kernels of a family alone
 *   executive_separate.cu  the same with all kernels, for schedules with a separate one
 *   starter.cuh   warp 0 starts prefetches and hands writebacks over; where there are compatible
 *                 intervals it then watches over the last of them
 *   writer.cuh    warp 1 starts writebacks and waits until they have landed
 *   watcher.cuh   warp 2 sees prefetches land and writes down what has ended
 *   compute.cuh   warps 3 and on compute
 *   block.cuh     what a block keeps in its scratchpad; its records, and when they may start
 *   gates.cuh     of a live session: when a hyperperiod begins, which frames a job has
 *   waits.cuh     counts, barriers, instants, other blocks: every wait, and how it ends
 *   record.cuh    phases on their way to the trace; the ends of jobs, told to other blocks
 *   engine.cuh    moving windows: the starter fetches, the writer stores; barriers
 *   tokens.cuh    mode lock: taken by the starter, and by the compute warps for an interval
 *   clock.cuh     the GPU's clock, words in L2, raising a fault
 *   clock_wait.cuh  the wait for an instant of that clock
 *   executive_live.cu  the same executive once more, for live sessions;
 *                 executive_live_convolution.cu, executive_live_kcf.cu with a family alone
 *   executive_gated.cu, executive_gated_convolution.cu  the same executive once more, for
 * best-effort tasks best_effort.cuh  in it: the gate that memory phases pass, and what is counted
 * of it courier.cu    of a live session: who decides; a kernel of its own beside the executive
 *   courier_ahead.cuh  in it: the next hyperperiod, prepared ahead
 *   executive_serving.cu  and once more, with servers among these
 *   executive_making.cu   and once more, where tiles of some make tiles
 *   serve.cuh     in it: blocks that work errands off
 *   server.h      what the host fills in of servers
 *   program.h     the structs that the host fills in
 *   verify.cu     kernels of their own around a run: poison, compare
 *   sentinel.cu   a kernel of its own beside a run: sees the GPU stand still
 *
 * Who writes what in the scratchpad (struct block_state; the counts are in executive.cu's head):
 *
 *   memory, memory_table    the starter
 *   compute, compute_table  the compute warp that prepares, as it does the views
 *   fetches                 the starter, but for their ends: the watcher
 *   stores                  the starter; their times the writer
 *   computes                the compute warps
 *   trace_writers, cells    the watcher
 *   issued, ordered,        the starter
 *   closing, holder
 *   computes_written,       the watcher
 *   stores_written
 *   go, begins, computing   the compute warps
 *   gates                   best effort: the starter its own, the writer its own
 *   ended                   best effort: the watcher
 *   all else                nobody after thread 0 has opened the block
 *
 * And in device memory, where several blocks write:
 *
 *   sm_claims, block_taken  thread 0 of a block that looks for its plan block
 *   state                   arrived, bound: each block's thread 0; start_ns: the last one's;
 *                           fault and abort: who raises a fault; abort: the host as well
 *   ends, job_end_ns        whoever ends a job on a block: the writer, or the watcher
 *   tokens, gangs           mode lock: starters and compute warps
 *   records, cells, counts  each block its own: records by the watcher, the others at its end
 */
#pragma once

#include "runtime/cuda/device/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An executive for cudaLaunchCooperativeKernel, its one argument a prem_launch. Variants differ
 *  in registers a thread, most first; NULL behind the last. */
typedef const void *prem_executive(int32_t number, int32_t *max_threads);
/** That of all kernels but the separate ones of kernels.def. */
const void *prem_executive_general(int32_t number, int32_t *max_threads);
/** The same with compatible intervals, by more code; */
const void *prem_executive_intervals(int32_t number, int32_t *max_threads);
/** and with the separate kernels as well. */
const void *prem_executive_separate(int32_t number, int32_t *max_threads);
/** With the tiled kernels of a family and the common ones alone: less code, so that computes
 *  take less time. */
const void *prem_executive_convolution(int32_t number, int32_t *max_threads);
const void *prem_executive_kcf(int32_t number, int32_t *max_threads);
/** Families of kernels.def, and compatible intervals as one. From PREM_FAMILY_general on the
 *  executive of each has the kernels of all before it. */
typedef enum prem_kernel_family {
  PREM_FAMILY_common,
  PREM_FAMILY_convolution,
  PREM_FAMILY_kcf,
  PREM_FAMILY_general,
  PREM_FAMILY_intervals,
  PREM_FAMILY_separate
} prem_kernel_family;
prem_kernel_family prem_executive_family(const char *kernel);
/** What it keeps of a block's state in the scratchpad. */
int32_t prem_executive_bytes(void);
/** Divide the scratchpad by max_views, max_tasks, max_ports, max_moves, behind a block's state:
 * sets all `..._at`; the buffers come last. */
void prem_executive_lay_out(prem_launch *launch, int32_t state_bytes);
/** The executive of live sessions: arguments are a prem_launch and a prem_device_live. It has the
 *  separate kernels and compatible intervals; */
const void *prem_executive_live(int32_t number, int32_t *max_threads);
/** the tiled kernels of a family and the common ones alone. */
const void *prem_executive_live_convolution(int32_t number, int32_t *max_threads);
const void *prem_executive_live_kcf(int32_t number, int32_t *max_threads);
int32_t prem_executive_live_bytes(void);
/** The executive of best-effort tasks, launched beside that of the critical ones: arguments are a
 *  prem_launch and a prem_device_gated. It has the separate kernels and no compatible intervals; */
const void *prem_executive_gated(int32_t number, int32_t *max_threads);
/** the convolutions and the common ones alone. */
const void *prem_executive_gated_convolution(int32_t number, int32_t *max_threads);
int32_t prem_executive_gated_bytes(void);
/** With servers among them. */
const void *prem_executive_serving(int32_t number, int32_t *max_threads);
int32_t prem_executive_serving_bytes(void);
/** Where tiles of some make tiles. */
const void *prem_executive_making(int32_t number, int32_t *max_threads);
int32_t prem_executive_making_bytes(void);
/** The courier: one block of so many threads, its argument a prem_courier_launch. */
enum { PREM_COURIER_THREADS = 128 };
const void *prem_courier_kernel(void);
/** A kernel's number in this build, or -1: none of this name that is a compatible interval, or is
 *  not. */
int32_t prem_executive_kernel(const char *name, bool compatible);

#ifdef __cplusplus
}
#endif
