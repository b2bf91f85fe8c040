/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs of the ways: of one turn, and those that go on by themselves. */
#include "experiments/live/ways/gpu_way.h"

#include <string.h>

static dim3 line_of(int32_t count) {
  return (dim3){(unsigned)count, 1, 1};
}

/* Launching nothing takes no argument. */
static prem_way_kernel kernel_of_turn(const prem_gpu_way *way, prem_work work, bool tells) {
  return work == PREM_WORK_EMPTY && !way->job.stamps && !tells ? PREM_KERNEL_NOTHING
                                                               : PREM_KERNEL_ONCE;
}

static cudaError_t copy_in(prem_gpu_way *way) {
  cudaError_t error = cudaSuccess;
  for (int i = 0; i < 2 && error == cudaSuccess; ++i)
    if (way->data->in_count[i] > 0)
      error = cudaMemcpyAsync(way->job.in[i], way->in[i],
                              (size_t)way->data->in_count[i] * sizeof(float),
                              cudaMemcpyHostToDevice, way->stream);
  return error;
}

static cudaError_t copy_out(prem_gpu_way *way) {
  if (way->data->out_count == 0)
    return cudaSuccess;
  return cudaMemcpyAsync(way->out, way->job.out, (size_t)way->data->out_count * sizeof(float),
                         cudaMemcpyDeviceToHost, way->stream);
}

cudaError_t prem_gpu_way_enqueue(prem_gpu_way *way, prem_work work, bool tells) {
  const bool copies =
      way->setup.memory == PREM_MEMORY_COPIED || way->setup.memory == PREM_MEMORY_PAGEABLE;
  const void *kernel = prem_way_kernel_of(kernel_of_turn(way, work, tells), work);
  void *arguments[] = {&way->job, &tells};
  const dim3 grid = line_of(way->setup.blocks), block = line_of(way->setup.threads);
  cudaError_t error = copies ? copy_in(way) : cudaSuccess;
  if (error == cudaSuccess)
    error = way->setup.way == PREM_WAY_COOPERATIVE
                ? cudaLaunchCooperativeKernel(kernel, grid, block, arguments, 0, way->stream)
                : cudaLaunchKernel(kernel, grid, block, arguments, 0, way->stream);
  if (error == cudaSuccess && copies)
    error = copy_out(way);
  return error;
}

/* ---- of one turn ----------------------------------------------------------------------------- */

static cudaError_t capture(prem_gpu_way *way, prem_work work, bool tells, cudaGraph_t *graph) {
  cudaError_t error = cudaStreamBeginCapture(way->stream, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess)
    return error;
  error = prem_gpu_way_enqueue(way, work, tells);
  const cudaError_t ended = cudaStreamEndCapture(way->stream, graph);
  return error == cudaSuccess ? ended : error;
}

static cudaError_t graphs_of_turns(prem_gpu_way *way) {
  cudaError_t error = cudaSuccess;
  for (int v = 0; v < PREM_WORK_VARIANTS && error == cudaSuccess; ++v) {
    const prem_work command = way->data->command[v];
    if (way->exec[command])
      continue;
    error = capture(way, command, false, &way->graph[command]);
    if (error == cudaSuccess)
      error = cudaGraphInstantiate(&way->exec[command], way->graph[command], 0);
    if (error == cudaSuccess)
      error = cudaGraphUpload(way->exec[command], way->stream);
  }
  return error;
}

/* ---- going on by themselves ------------------------------------------------------------------ */

#if CUDART_VERSION >= 12080

static cudaError_t add_node(cudaGraph_t graph, cudaGraphNode_t before,
                            struct cudaGraphNodeParams *what, cudaGraphNode_t *node) {
  const size_t count = before ? 1 : 0;
#if CUDART_VERSION >= 13000
  return cudaGraphAddNode(node, graph, &before, NULL, count, what);
#else
  return cudaGraphAddNode(node, graph, &before, count, what);
#endif
}

static cudaError_t add_kernel(cudaGraph_t graph, cudaGraphNode_t before, const void *kernel,
                              dim3 grid, dim3 block, void **arguments, cudaGraphNode_t *node) {
  struct cudaGraphNodeParams what = {.type = cudaGraphNodeTypeKernel};
  what.kernel.func = (void *)(uintptr_t)kernel;
  what.kernel.gridDim = grid;
  what.kernel.blockDim = block;
  what.kernel.kernelParams = arguments;
  return add_node(graph, before, &what, node);
}

/* A kernel of one thread that gets the handles. */
static cudaError_t add_single(prem_gpu_way *way, cudaGraph_t graph, cudaGraphNode_t before,
                              prem_way_kernel kernel, cudaGraphNode_t *node) {
  void *arguments[] = {&way->job, &way->handles};
  return add_kernel(graph, before, prem_way_kernel_of(kernel, PREM_WORK_EMPTY), line_of(1),
                    line_of(1), arguments, node);
}

static cudaError_t add_work(prem_gpu_way *way, cudaGraph_t graph, cudaGraphNode_t before,
                            prem_work work, bool tells, cudaGraphNode_t *node) {
  void *arguments[] = {&way->job, &tells};
  return add_kernel(graph, before, prem_way_kernel_of(kernel_of_turn(way, work, tells), work),
                    line_of(way->setup.blocks), line_of(way->setup.threads), arguments, node);
}

static cudaError_t add_conditional(cudaGraph_t graph, cudaGraphNode_t before, uint64_t handle,
                                   enum cudaGraphConditionalNodeType type, unsigned size,
                                   cudaGraph_t *bodies, cudaGraphNode_t *node) {
  struct cudaGraphNodeParams what = {.type = cudaGraphNodeTypeConditional};
  what.conditional.handle = handle;
  what.conditional.type = type;
  what.conditional.size = size;
  const cudaError_t error = add_node(graph, before, &what, node);
  for (unsigned i = 0; i < size && error == cudaSuccess; ++i)
    bodies[i] = what.conditional.phGraph_out[i];
  return error;
}

/* while (loop) { wait; switch (command) { ... } tell; } */
static cudaError_t fill_loop(prem_gpu_way *way, cudaGraph_t body) {
  cudaGraph_t choices[PREM_WORK_COUNT] = {0};
  cudaGraphNode_t node = NULL, inner = NULL;
  cudaGraphConditionalHandle handle = 0;
  cudaError_t error = cudaGraphConditionalHandleCreate(&handle, body, 0, 0);
  way->handles.choice = handle;
  if (error == cudaSuccess)
    error = add_single(way, body, NULL, PREM_KERNEL_AWAIT, &node);
  if (error == cudaSuccess)
    error = add_conditional(body, node, handle, cudaGraphCondTypeSwitch, PREM_WORK_COUNT, choices,
                            &node);
  for (int command = 0; command < PREM_WORK_COUNT && error == cudaSuccess; ++command)
    error = add_work(way, choices[command], NULL, (prem_work)command, false, &inner);
  if (error == cudaSuccess)
    error = add_single(way, body, node, PREM_KERNEL_TELL, &node);
  return error;
}

static cudaError_t loop_graph(prem_gpu_way *way) {
  cudaGraph_t body = NULL;
  cudaGraphNode_t node = NULL;
  cudaGraphConditionalHandle handle = 0;
  cudaError_t error = cudaGraphCreate(&way->graph[0], 0);
  if (error == cudaSuccess)
    error = cudaGraphConditionalHandleCreate(&handle, way->graph[0], 1, cudaGraphCondAssignDefault);
  way->handles.loop = handle;
  if (error == cudaSuccess)
    error = add_conditional(way->graph[0], NULL, handle, cudaGraphCondTypeWhile, 1, &body, &node);
  if (error == cudaSuccess)
    error = fill_loop(way, body);
  if (error == cudaSuccess)
    error = cudaGraphInstantiate(&way->exec[0], way->graph[0], 0);
  return error;
}

static cudaError_t instantiate_for_gpu(prem_gpu_way *way, cudaGraph_t graph,
                                       cudaGraphExec_t *exec) {
  cudaError_t error = cudaGraphInstantiate(exec, graph, cudaGraphInstantiateFlagDeviceLaunch);
  if (error == cudaSuccess)
    error = cudaGraphUpload(*exec, way->stream);
  return error == cudaSuccess ? cudaStreamSynchronize(way->stream) : error;
}

/* wait, work, tell and launch it all again */
static cudaError_t relaunch_graph(prem_gpu_way *way) {
  cudaGraphNode_t node = NULL;
  cudaError_t error = cudaGraphCreate(&way->graph[0], 0);
  if (error == cudaSuccess)
    error = add_single(way, way->graph[0], NULL, PREM_KERNEL_AWAIT, &node);
  if (error == cudaSuccess)
    error = add_work(way, way->graph[0], node, way->setup.work, false, &node);
  if (error == cudaSuccess)
    error = add_single(way, way->graph[0], node, PREM_KERNEL_RELAUNCH, &node);
  return error == cudaSuccess ? instantiate_for_gpu(way, way->graph[0], &way->exec[0]) : error;
}

static cudaError_t parent_graph(prem_gpu_way *way) {
  cudaGraphNode_t node = NULL;
  cudaError_t error = cudaGraphCreate(&way->child_graph, 0);
  if (error == cudaSuccess)
    error = add_work(way, way->child_graph, NULL, way->setup.work, true, &node);
  for (int child = 0; child < PREM_WAY_CHILDREN_ALL && error == cudaSuccess; ++child)
    error = instantiate_for_gpu(way, way->child_graph, &way->handles.children[child]);
  if (error == cudaSuccess)
    error = cudaGraphCreate(&way->graph[0], 0);
  if (error == cudaSuccess)
    error = add_single(way, way->graph[0], NULL, PREM_KERNEL_PARENT, &node);
  return error == cudaSuccess ? instantiate_for_gpu(way, way->graph[0], &way->exec[0]) : error;
}

#else /* conditional nodes with several bodies came with CUDA 12.8 */

static cudaError_t loop_graph(prem_gpu_way *way) {
  (void)way;
  return cudaErrorNotSupported;
}
static cudaError_t relaunch_graph(prem_gpu_way *way) {
  (void)way;
  return cudaErrorNotSupported;
}
static cudaError_t parent_graph(prem_gpu_way *way) {
  (void)way;
  return cudaErrorNotSupported;
}

#endif

cudaError_t prem_gpu_way_graphs(prem_gpu_way *way) {
  switch (way->setup.way) {
  case PREM_WAY_GRAPH:
  case PREM_WAY_QUEUED_GRAPH:
    return graphs_of_turns(way);
  case PREM_WAY_LOOP:
    return loop_graph(way);
  case PREM_WAY_RELAUNCH:
    return relaunch_graph(way);
  case PREM_WAY_CHILDREN:
    return parent_graph(way);
  default:
    return cudaSuccess;
  }
}

/* ---- stream memory operations ---------------------------------------------------------------- */

#if CUDART_VERSION >= 12050 /* that finds the driver's functions */

static void *find(const char *name) {
  enum { SINCE = 12000 };
  void *found = NULL;
  enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  if (cudaGetDriverEntryPointByVersion(name, &found, SINCE, cudaEnableDefault, &result) !=
          cudaSuccess ||
      result != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    return NULL;
  }
  return found;
}

cudaError_t prem_gpu_way_find_memory(prem_gpu_way *way) {
  void *wait = find("cuStreamWaitValue64"), *write = find("cuStreamWriteValue64");
  if (!wait || !write)
    return cudaErrorNotSupported;
  memcpy(&way->memory.wait, &wait, sizeof wait); /* C knows no cast to a pointer to a function */
  memcpy(&way->memory.write, &write, sizeof write);
  return cudaSuccess;
}

#else

cudaError_t prem_gpu_way_find_memory(prem_gpu_way *way) {
  (void)way;
  return cudaErrorNotSupported;
}

#endif
