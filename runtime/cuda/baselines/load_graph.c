/* SPDX-License-Identifier: Apache-2.0 */
/* Best-effort tasks as a CUDA graph, see load_graph.h. */
#include "runtime/cuda/baselines/load_graph.h"

#include "prem/base/fail.h"
#include "runtime/cuda/baselines/native_round.h"

#include <stdio.h>
#include <stdlib.h>

#define TIMEOUT_NS INT64_C(5000000000)
#define LONGEST_NS INT64_C(250000000) /* those that are queued have to end within seconds */

struct prem_load_graph {
  prem_native *native;
  cudaGraphExec_t exec;
  int64_t node_count;
  prem_native_passes *passes; /* in device memory */
  prem_native_passes seen;    /* on the host */
  long long alone_ns;         /* the longest pass that was seen alone, stalls aside */
  prem_native_load *load;     /* NULL: nothing is under way */
};

/* Kernels beside a resident executive divide the SM's memory as that does. */
static cudaError_t divide_memory(const prem_load_graph *graph, int carveout) {
  const prem_native *native = graph->native;
  const enum cudaFuncAttribute what = cudaFuncAttributePreferredSharedMemoryCarveout;
  cudaError_t error = cudaFuncSetAttribute(prem_native_pass_gate_code(), what, carveout);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(prem_native_pass_end_code(), what, carveout);
  for (int32_t t = 0; t < native->task_count && error == cudaSuccess; ++t) {
    const prem_native_variant *variant = native->tasks[t].way.variant;
    if (!variant) /* an application's nodes are given it when they are attached */
      continue;
    const bool is_given = !variant->by_block || carveout == cudaSharedmemCarveoutMaxShared;
    error = cudaFuncSetAttribute(variant->code, what,
                                 is_given ? carveout : cudaSharedmemCarveoutDefault);
  }
  return error;
}

static cudaError_t tell_passes(prem_load_graph *graph, const prem_device_gated *gated) {
  prem_native_passes *seen = &graph->seen;
  *seen = (prem_native_passes){.gated = *gated,
                               .word = graph->native->words,
                               .bound_ns = seen->bound_ns,
                               .most_ns = seen->most_ns,
                               .timeout_ns = TIMEOUT_NS,
                               .clock_step_ns =
                                   graph->native->place.program->schedule->platform.clock_step_ns};
  __atomic_store_n(graph->native->words, (uint32_t)PREM_NATIVE_GO, __ATOMIC_SEQ_CST);
  return cudaMemcpy(graph->passes, seen, sizeof *seen, cudaMemcpyHostToDevice);
}

/* ---- how long a pass takes ------------------------------------------------------------------- */

static int by_length(const void *a, const void *b) {
  const long long x = *(const long long *)a, y = *(const long long *)b;
  return (x > y) - (x < y);
}

/* What takes twice the median was stalled with the whole GPU, and bounds nothing. The first pass
 * warms up. */
static prem_status find_bound(prem_load_graph *graph, const prem_run_request *request,
                              prem_diag *diag) {
  enum { COUNTED = PREM_NATIVE_SEEN - 1 };
  prem_native_passes passes;
  prem_status status = prem_load_graph_prepare(graph, &(prem_device_gated){0}, diag);
  if (status != PREM_OK)
    return status;
  status = prem_native_load_start_graph(graph->native, graph->exec, PREM_NATIVE_SEEN, request->stop,
                                        &graph->load, diag);
  const prem_status ended = prem_load_graph_end(graph, &passes, diag);
  if (status != PREM_OK || ended != PREM_OK)
    return status != PREM_OK ? status : ended;
  long long *took_ns = passes.took_ns + 1;
  qsort(took_ns, COUNTED, sizeof *took_ns, by_length);
  graph->seen.most_ns = 2 * took_ns[COUNTED / 2];
  graph->seen.bound_ns = 0;
  for (int i = 0; i < COUNTED && took_ns[i] <= graph->seen.most_ns; ++i)
    graph->seen.bound_ns = took_ns[i];
  graph->alone_ns = graph->seen.bound_ns;
  return PREM_OK;
}

/* An application's graph has the bound of the file, which no pass raises. */
static prem_status take_bound(prem_load_graph *graph, const prem_free_part *part, prem_diag *diag) {
  const prem_task *task = &part->schedule->tasks[0];
  graph->seen.bound_ns = part->ahead_ns[PREM_COMPUTE] - part->schedule->platform.clock_step_ns;
  graph->seen.most_ns = 0;
  if (graph->alone_ns <= graph->seen.bound_ns && graph->seen.bound_ns <= LONGEST_NS)
    return PREM_OK;
  prem_diag_add(diag, PREM_NOTE, 0, task->phase[PREM_COMPUTE].place,
                prem_key("tasks.%s.compute.wcet_ns", task->name).text,
                "cuda: the attached graph takes %lld ns alone, and its bound is %lld ns; %s",
                graph->alone_ns, (long long)graph->seen.bound_ns,
                graph->seen.bound_ns > LONGEST_NS ? "250 ms are the most: attach a shorter graph"
                                                  : "raise wcet_ns, or attach a shorter graph");
  return PREM_ERR_UNAVAILABLE;
}

prem_status prem_load_graph_new(prem_native *native, const prem_free_part *part,
                                const prem_run_request *request, prem_load_graph **out,
                                prem_diag *diag) {
  prem_load_graph *graph = *out = calloc(1, sizeof *graph);
  if (!graph)
    return PREM_ERR_MEMORY;
  graph->native = native;
  prem_status status = prem_native_load_judge(native, diag);
  if (status == PREM_OK)
    status = prem_native_report(cudaMalloc((void **)&graph->passes, sizeof *graph->passes), diag);
  if (status == PREM_OK) /* a node keeps how its kernel divides the memory when it is made */
    status = prem_native_report(divide_memory(graph, cudaSharedmemCarveoutMaxShared), diag);
  if (status == PREM_OK)
    status = prem_native_graph_new(native, PREM_GRAPH_AS_PASS, graph->passes, &graph->exec,
                                   &graph->node_count, diag);
  if (status == PREM_OK)
    status = find_bound(graph, request, diag);
  if (status == PREM_OK && native->place.attached)
    status = take_bound(graph, part, diag);
  if (status != PREM_OK && !native->lost) {
    prem_load_graph_free(graph);
    *out = NULL;
  }
  return status;
}

void prem_load_graph_free(prem_load_graph *graph) {
  if (!graph)
    return;
  if (graph->exec)
    cudaGraphExecDestroy(graph->exec);
  cudaFree(graph->passes);
  free(graph);
}

prem_status prem_load_graph_judge(const prem_load_graph *graph, const prem_free_part *part,
                                  prem_diag *diag) {
  const int64_t bound_ns = graph->seen.bound_ns + part->schedule->platform.clock_step_ns;
  const int64_t gap_ns = prem_gate_longest_gap_ns(&part->closed);
  if (bound_ns <= gap_ns)
    return PREM_OK;
  prem_diag_add(
      diag, PREM_NOTE, 0, part->schedule->measure.place, "measure.load",
      "cuda: a graph of all best-effort tasks takes %lld ns, and the longest time between "
      "two closed windows is %lld ns, so that it never begins; make their arrays "
      "smaller, or let them run as tiles (load = \"tiles\")",
      (long long)bound_ns, (long long)gap_ns);
  return PREM_ERR_UNAVAILABLE;
}

void prem_load_graph_describe(const prem_load_graph *graph, char *to, size_t bytes) {
  if (graph->native->place.attached)
    snprintf(to, bytes,
             "an application's graph, begun whole: alone it takes %lld ns at most, its bound is "
             "%lld ns",
             graph->alone_ns, (long long)graph->seen.bound_ns);
  else
    snprintf(to, bytes,
             "best effort as a graph of %lld nodes, begun whole: it takes %lld ns at most",
             (long long)graph->node_count, (long long)graph->seen.bound_ns);
}

/* ---- beside a launch ------------------------------------------------------------------------- */

prem_status prem_load_graph_prepare(prem_load_graph *graph, const prem_device_gated *gated,
                                    prem_diag *diag) {
  cudaError_t error = divide_memory(graph, cudaSharedmemCarveoutMaxShared);
  if (error == cudaSuccess)
    error = tell_passes(graph, gated);
  return prem_native_report(error, diag);
}

prem_status prem_load_graph_begin(prem_load_graph *graph, prem_diag *diag) {
  return prem_native_load_start_graph(graph->native, graph->exec, 0, NULL, &graph->load, diag);
}

prem_status prem_load_graph_end(prem_load_graph *graph, prem_native_passes *out, prem_diag *diag) {
  __atomic_store_n(graph->native->words, (uint32_t)PREM_NATIVE_STOP, __ATOMIC_SEQ_CST);
  const prem_status status = prem_native_load_end(graph->load, diag);
  graph->load = NULL;
  if (graph->native->lost)
    return status;
  cudaError_t error =
      cudaMemcpy(&graph->seen, graph->passes, sizeof graph->seen, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error = divide_memory(graph, cudaSharedmemCarveoutMaxL1);
  *out = graph->seen;
  return status == PREM_OK ? prem_native_report(error, diag) : status;
}
