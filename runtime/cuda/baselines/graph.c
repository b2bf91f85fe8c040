/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary kernels of one hyperperiod as a CUDA graph. A node a job; releases and lags are gates,
 * and so may be the start. */
#include <stdlib.h>

#include "prem/base/list.h"
#include "runtime/cuda/baselines/native_round.h"

enum { MAX_JOBS = 100000 }; /* more of them take seconds to make ready */

#define CUDA_TRY(call)                                                                             \
  do {                                                                                             \
    if ((error = (call)) != cudaSuccess)                                                           \
      return error;                                                                                \
  } while (0)

typedef struct building {
  const prem_native *native;
  cudaGraph_t graph;
  cudaGraphNode_t *of_job;  /* by its number in the order */
  cudaGraphNode_t *of_task; /* its last one so far; NULL: none */
  cudaGraphNode_t *awaited; /* by the next node */
  size_t awaited_count;
  cudaGraphNode_t start;      /* a gate; NULL: S comes before the graph */
  prem_native_passes *passes; /* of a pass; else NULL */
  int64_t node_count;
} building;

static void await(building *at, cudaGraphNode_t node) {
  for (size_t i = 0; i < at->awaited_count; ++i)
    if (at->awaited[i] == node) /* the API refuses to have one twice */
      return;
  if (node)
    at->awaited[at->awaited_count++] = node;
}

static cudaError_t add_node(building *at, const cudaGraphNode_t *awaited, size_t count,
                            struct cudaKernelNodeParams launch, void *argument,
                            cudaGraphNode_t *out) {
  void *arguments[] = {argument};
  launch.kernelParams = arguments;
  ++at->node_count;
  return cudaGraphAddKernelNode(out, at->graph, awaited, count, &launch);
}

static struct cudaKernelNodeParams one_thread(const void *code) {
  return (struct cudaKernelNodeParams){
      .func = (void *)(uintptr_t)code, .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
}

static cudaError_t add_gate(building *at, cudaGraphNode_t awaited, prem_native_gate gate,
                            cudaGraphNode_t *out) {
  return add_node(at, &awaited, awaited ? 1 : 0, one_thread(prem_native_gate_code()), &gate, out);
}

/* Behind the task's job before it, and its own release. A gate that ends at a release waits for S
 * itself. */
static cudaError_t await_turn(building *at, const prem_untiled_job *job) {
  cudaGraphNode_t before = at->of_task[job->task];
  cudaError_t error;
  if (job->release_ns > 0 && !at->passes)
    CUDA_TRY(
        add_gate(at, before, prem_native_gate_until(at->native, NULL, job->release_ns), &before));
  else if (!before && job->pred_count == 0)
    before = at->start;
  await(at, before);
  return cudaSuccess;
}

static cudaError_t await_predecessor(building *at, const prem_untiled_pred *pred) {
  cudaGraphNode_t node = at->of_job[pred->number];
  cudaError_t error;
  if (pred->lag_ns > 0)
    CUDA_TRY(add_gate(at, node,
                      prem_native_gate_until(
                          at->native, prem_native_ends_of(at->native, pred->number), pred->lag_ns),
                      &node));
  await(at, node);
  return cudaSuccess;
}

static cudaError_t add_job(building *at, int64_t number) {
  const prem_untiled_order *order = &at->native->order;
  const prem_untiled_job *job = &order->jobs[number];
  cudaError_t error;
  at->awaited_count = 0;
  CUDA_TRY(await_turn(at, job));
  for (int32_t p = 0; p < job->pred_count; ++p)
    CUDA_TRY(await_predecessor(at, &order->preds[job->first_pred + p]));
  if (at->native->place.attached) {
    CUDA_TRY(cudaGraphAddChildGraphNode(&at->of_job[number], at->graph, at->awaited,
                                        at->awaited_count, at->native->place.attached));
  } else {
    prem_native_work work;
    const struct cudaKernelNodeParams launch = prem_native_launch(at->native, order, number, &work);
    CUDA_TRY(add_node(at, at->awaited, at->awaited_count, launch, &work, &at->of_job[number]));
  }
  at->of_task[job->task] = at->of_job[number];
  return cudaSuccess;
}

static cudaError_t add_start(building *at) {
  if (at->passes)
    return add_node(at, NULL, 0, one_thread(prem_native_pass_gate_code()), &at->passes, &at->start);
  prem_native_gate gate = prem_native_gate_until(at->native, NULL, 0);
  gate.arrived = prem_native_arrival_of(at->native, 0);
  return add_gate(at, NULL, gate, &at->start);
}

/* After all tasks. */
static cudaError_t add_end(building *at) {
  cudaGraphNode_t end;
  at->awaited_count = 0;
  for (int32_t t = 0; t < at->native->task_count; ++t)
    await(at, at->of_task[t]);
  return add_node(at, at->awaited, at->awaited_count, one_thread(prem_native_pass_end_code()),
                  &at->passes, &end);
}

static cudaError_t build(building *at, bool has_start, cudaGraphExec_t *out) {
  cudaError_t error;
  CUDA_TRY(cudaGraphCreate(&at->graph, 0));
  if (has_start)
    CUDA_TRY(add_start(at));
  for (int64_t number = 0; number < at->native->order.job_count; ++number)
    CUDA_TRY(add_job(at, number));
  if (at->passes)
    CUDA_TRY(add_end(at));
  CUDA_TRY(cudaGraphInstantiateWithFlags(out, at->graph, 0));
  return cudaGraphUpload(*out, at->native->tasks[0].stream);
}

static size_t max_awaited(const prem_untiled_order *order, int32_t tasks) {
  int32_t max = tasks;
  for (int64_t number = 0; number < order->job_count; ++number)
    if (order->jobs[number].pred_count > max)
      max = order->jobs[number].pred_count;
  return (size_t)max + 1;
}

prem_status prem_native_graph_new(const prem_native *native, prem_native_graph_start start,
                                  prem_native_passes *passes, cudaGraphExec_t *out,
                                  int64_t *node_count, prem_diag *diag) {
  const prem_untiled_order *order = &native->order;
  *out = NULL;
  if (order->job_count > MAX_JOBS) {
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "",
                  "cuda: %lld jobs in a hyperperiod, a graph takes %d at most",
                  (long long)order->job_count, MAX_JOBS);
    return PREM_ERR_UNAVAILABLE;
  }
  building at = {.native = native,
                 .passes = passes,
                 .of_job = calloc((size_t)order->job_count + 1, sizeof(cudaGraphNode_t)),
                 .of_task = calloc((size_t)native->task_count + 1, sizeof(cudaGraphNode_t)),
                 .awaited =
                     calloc(max_awaited(order, native->task_count), sizeof(cudaGraphNode_t))};
  prem_status status = PREM_ERR_MEMORY;
  if (at.of_job && at.of_task && at.awaited)
    status = prem_native_report(build(&at, start != PREM_GRAPH_AT_ONCE, out), diag);
  if (at.graph)
    cudaGraphDestroy(at.graph);
  PREM_FREE(at.of_job, at.of_task, at.awaited);
  *node_count = at.node_count;
  if (status != PREM_OK && *out) {
    cudaGraphExecDestroy(*out);
    *out = NULL;
  }
  return status;
}
