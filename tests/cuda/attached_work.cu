/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cuda/attached_work.h"

#include <cuda_runtime_api.h>

#include "runtime/core/ptx.cuh"

namespace {

__global__ void take_time(const volatile int64_t *ns, volatile uint32_t *runs) {
  const int64_t end_ns = prem_clock_ns() + *ns;
  while (prem_clock_ns() < end_ns) {
  }
  *runs = *runs + 1;
}

void do_nothing(void *) {}

cudaError_t make_graph(attached_work *out, bool calls_host) {
  void *ns = nullptr, *runs = nullptr;
  cudaGraph_t whole = nullptr, part = nullptr;
  cudaGraphNode_t node, call;
  cudaError_t error = cudaHostGetDevicePointer(&ns, (void *)out->ns, 0);
  if (error == cudaSuccess)
    error = cudaHostGetDevicePointer(&runs, (void *)out->runs, 0);
  if (error == cudaSuccess)
    error = cudaGraphCreate(&part, 0);
  if (error != cudaSuccess)
    return error;
  void *arguments[] = {&ns, &runs};
  cudaKernelNodeParams launch = {};
  launch.func = (void *)take_time;
  launch.gridDim = launch.blockDim = dim3(1, 1, 1);
  launch.kernelParams = arguments;
  error = cudaGraphAddKernelNode(&node, part, nullptr, 0, &launch);
  if (error == cudaSuccess)
    error = cudaGraphCreate(&whole, 0);
  out->graph = whole;
  if (error == cudaSuccess)
    error = cudaGraphAddChildGraphNode(&node, whole, nullptr, 0, part);
  cudaHostNodeParams host = {};
  host.fn = do_nothing;
  if (error == cudaSuccess && calls_host)
    error = cudaGraphAddHostNode(&call, whole, &node, 1, &host);
  cudaGraphDestroy(part);
  return error;
}

} // namespace

const char *attached_work_new(attached_work *out, bool calls_host) {
  *out = {};
  cudaError_t error = cudaHostAlloc((void **)&out->ns, sizeof *out->ns, cudaHostAllocMapped);
  if (error == cudaSuccess)
    error = cudaHostAlloc((void **)&out->runs, sizeof *out->runs, cudaHostAllocMapped);
  if (error == cudaSuccess) {
    *out->ns = 0;
    *out->runs = 0;
    error = make_graph(out, calls_host);
  }
  return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

void attached_work_drop_graph(attached_work *work) {
  if (work->graph)
    cudaGraphDestroy((cudaGraph_t)work->graph);
  work->graph = nullptr;
}

void attached_work_free(attached_work *work) {
  attached_work_drop_graph(work);
  cudaFreeHost((void *)work->ns);
  cudaFreeHost((void *)work->runs);
}
