/* SPDX-License-Identifier: Apache-2.0 */
/** Ordinary kernels: the tasks of a program as launches over whole arrays, every task on a stream
 * of its own. What modes make of them: baselines.h. */
#pragma once

#include "runtime/cuda/host/arrays.h"

typedef struct prem_native prem_native;
struct prem_native_passes;

/** What all of them work on. */
typedef struct prem_native_place {
  const prem_program *program;
  const prem_cuda_arrays *arrays;
  const prem_arrays *host;
  cudaGraph_t attached; /* what the one task does, an application's; NULL: tasks have kernels */
  int32_t sm_count;     /* that a task can use */
} prem_native_place;

/**
 * @param streams  one a task; taken over, also on error, and destroyed at the end. NULL: plain
 * ones.
 * @retval PREM_ERR_UNAVAILABLE  an array is too large for a task's ordinary kernel (diag: a note)
 */
prem_status prem_native_new(const prem_native_place *place, const cudaStream_t *streams,
                            prem_native **out, prem_diag *diag);
/** A copy of `bytes` that reads and writes half of them, in place of the tasks. Has to be tuned. */
prem_status prem_native_copy_new(const prem_native_place *place, int64_t bytes, prem_native **out,
                                 prem_diag *diag);
/** Not of one that is lost: freeing would wait for its kernel. */
void prem_native_free(prem_native *native);
/** A kernel never came back: nothing of the device can be freed. */
bool prem_native_is_lost(const prem_native *native);

/** Choose a way for every task by trying all. Leaves right outputs behind. */
prem_status prem_native_tune(prem_native *native, const prem_run_request *request, prem_diag *diag);
/** What was tried. */
const prem_launch_search *prem_native_launch_search(const prem_native *native);
/** The ways that were chosen for another one of the same tasks. */
void prem_native_take_ways(prem_native *native, const prem_native *from);
/** The ways that were chosen for another one's tasks of the same name, code and work. False: some
 *  task has none there, and keeps its own. */
bool prem_native_follow(prem_native *native, const prem_native *from);

/** What a graph of all jobs begins with. */
typedef enum prem_native_graph_start {
  PREM_GRAPH_AT_ONCE, /* releases count from S, which is known by then */
  PREM_GRAPH_AT_S,    /* a gate, which ends at S */
  PREM_GRAPH_AS_PASS  /* a gate that lets it in whole; its last node sees its end. No releases */
} prem_native_graph_start;

/** All jobs as a graph of `*node_count` nodes, to be launched after any number of others. The
 *  caller destroys it.
 *  @param passes  in device memory, for PREM_GRAPH_AS_PASS; else NULL */
prem_status prem_native_graph_new(const prem_native *native, prem_native_graph_start start,
                                  struct prem_native_passes *passes, cudaGraphExec_t *out,
                                  int64_t *node_count, prem_diag *diag);
/** What such a graph takes from S on, launched before: the median of a few runs, which leave right
 *  outputs behind. Without gates of its own, it waits for one before it in its stream. */
prem_status prem_native_graph_time(prem_native *native, cudaGraphExec_t graph, bool has_gates,
                                   const prem_run_request *request, int64_t *median_ns,
                                   prem_diag *diag);
