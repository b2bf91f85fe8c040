/* SPDX-License-Identifier: Apache-2.0 */
/* An application's CUDA graph as best effort: what is taken, and how its kernels share an SM. */
#include <stdlib.h>

#include "runtime/core/best_effort.h"
#include "runtime/cuda/host/backend_parts.h"

static prem_status refuse(prem_diag *diag, prem_status status, const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "attach", "%s", reason);
  return status;
}

/* A kernel that divides the SM's memory in another way than a resident executive has to wait until
 * that has left, or for another SM. */
static cudaError_t divide_memory(cudaGraphNode_t node) {
#if CUDART_VERSION >= 12050 /* the first with this attribute */
  const cudaKernelNodeAttrValue value = {.sharedMemCarveout = cudaSharedmemCarveoutMaxShared};
  return cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePreferredSharedMemoryCarveout,
                                         &value);
#else
  (void)node;
  return cudaErrorNotSupported;
#endif
}

static prem_status prepare_nodes(cudaGraph_t graph, cudaError_t *kept, prem_diag *diag);

/* @param kept  why a kernel divides the memory as it did before */
static prem_status prepare_node(cudaGraphNode_t node, cudaError_t *kept, prem_diag *diag) {
  enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  cudaGraph_t child = NULL;
  cudaError_t error = cudaGraphNodeGetType(node, &type);
  if (error != cudaSuccess)
    return prem_cuda_report(error, diag, "attaching a graph");
  switch (type) {
  case cudaGraphNodeTypeKernel:
    error = divide_memory(node);
    *kept = error == cudaSuccess ? *kept : error;
    return PREM_OK;
  case cudaGraphNodeTypeGraph:
    error = cudaGraphChildGraphNodeGetGraph(node, &child);
    return error == cudaSuccess ? prepare_nodes(child, kept, diag)
                                : prem_cuda_report(error, diag, "attaching a graph");
  case cudaGraphNodeTypeMemcpy:
  case cudaGraphNodeTypeMemset:
  case cudaGraphNodeTypeEmpty:
    return PREM_OK;
  default:
    return refuse(diag, PREM_ERR_INVALID,
                  "the graph has a node that is no kernel, copy or set of memory: what waits, "
                  "allocates or calls the host has no bound; leave it out");
  }
}

static prem_status prepare_nodes(cudaGraph_t graph, cudaError_t *kept, prem_diag *diag) {
  size_t count = 0;
  cudaError_t error = cudaGraphGetNodes(graph, NULL, &count);
  cudaGraphNode_t *nodes = calloc(count + 1, sizeof(cudaGraphNode_t));
  if (!nodes)
    return PREM_ERR_MEMORY;
  if (error == cudaSuccess && count > 0)
    error = cudaGraphGetNodes(graph, nodes, &count);
  prem_status status = prem_cuda_report(error, diag, "attaching a graph");
  for (size_t i = 0; i < count && status == PREM_OK; ++i)
    status = prepare_node(nodes[i], kept, diag);
  free(nodes);
  return status;
}

prem_status prem_cuda_attach(prem_cuda *critical, cudaGraph_t graph, prem_diag *diag) {
  prem_cuda *beside = critical->beside;
  cudaGraph_t clone = NULL;
  cudaError_t kept = cudaSuccess;
  if (beside->attached)
    return refuse(diag, PREM_ERR_ARGUMENT, "a graph is attached already; open a session for each");
  prem_status status = prem_cuda_report(prem_cuda_enter(critical->gpu), diag, "choosing the GPU");
  if (status == PREM_OK && cudaGraphClone(&clone, graph) != cudaSuccess) {
    cudaGetLastError(); /* else the next call would tell it */
    return refuse(diag, PREM_ERR_INVALID,
                  "CUDA cannot clone the graph: it is none, or allocates memory");
  }
  if (status == PREM_OK)
    status = prepare_nodes(clone, &kept, diag);
  if (kept != cudaSuccess) {
    cudaGetLastError();
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){0}, "",
                  "cuda: kernels of the attached graph divide an SM's memory as they did (%s), and "
                  "may find no room beside critical blocks",
                  cudaGetErrorName(kept));
  }
  if (status == PREM_OK)
    beside->attached = clone;
  else if (clone)
    cudaGraphDestroy(clone);
  return status;
}

prem_status prem_cuda_judge_attached(const prem_cuda *critical, prem_mode mode, prem_diag *diag) {
  const prem_cuda *beside = critical->beside;
  const prem_task *task = beside ? &beside->part->schedule->tasks[0] : NULL;
  if (!task || !prem_task_is_cuda_graph(task))
    return PREM_OK;
  if (beside->attached && (mode == PREM_MODE_TT || mode == PREM_MODE_FREE))
    return PREM_OK;
  if (beside->attached)
    prem_diag_add(diag, PREM_NOTE, 0, task->place, "",
                  "mode '%s' runs no attached graph, and that of task '%s' is one; use tt or free",
                  prem_mode_name(mode), task->name);
  else
    prem_diag_add(diag, PREM_ERROR, 0, task->place, "",
                  "task '%s' has no graph yet: the application attaches one, by "
                  "prem_session_attach_graph(), before the first run; no file can",
                  task->name);
  return PREM_ERR_UNAVAILABLE;
}
