/* SPDX-License-Identifier: Apache-2.0 */
/* What a way on the GPU needs of memory, by where its inputs and outputs are to lie. */
#include "experiments/live/ways/gpu_way.h"

#include <stdlib.h>
#include <string.h>

#include "experiments/common/gpu_work.h"

enum { PAGE_BYTES = 4096 };
#define PATIENCE_NS INT64_C(2000000000)

static cudaError_t mapped(size_t bytes, unsigned flags, void **host, void **device) {
  cudaError_t error = cudaHostAlloc(host, bytes, cudaHostAllocMapped | flags);
  if (error == cudaSuccess)
    error = cudaHostGetDevicePointer(device, *host, 0);
  if (error == cudaSuccess)
    memset(*host, 0, bytes);
  return error;
}

static cudaError_t registered(size_t bytes, void **host, void **device) {
  if (posix_memalign(host, PAGE_BYTES, bytes) != 0) {
    *host = NULL;
    return cudaErrorMemoryAllocation;
  }
  memset(*host, 0, bytes);
  const cudaError_t error = cudaHostRegister(*host, bytes, cudaHostRegisterMapped);
  if (error != cudaSuccess) {
    free(*host);
    *host = NULL;
    return error;
  }
  return cudaHostGetDevicePointer(device, *host, 0);
}

static cudaError_t copied(size_t bytes, bool pinned, void **host, void **device) {
  cudaError_t error = cudaSuccess;
  if (pinned)
    error = cudaHostAlloc(host, bytes, cudaHostAllocDefault);
  else if (!(*host = calloc(1, bytes)))
    error = cudaErrorMemoryAllocation;
  return error == cudaSuccess ? cudaMalloc(device, bytes) : error;
}

static cudaError_t managed(size_t bytes, void **host, void **device) {
  const cudaError_t error = cudaMallocManaged(host, bytes, cudaMemAttachGlobal);
  *device = *host;
  return error;
}

static cudaError_t array(const prem_gpu_way *way, int64_t count, bool is_input, float **host,
                         float **device) {
  const size_t bytes = (size_t)(count > 0 ? count : 1) * sizeof(float);
  void *here = NULL, *there = NULL;
  cudaError_t error;
  switch (way->setup.memory) {
  case PREM_MEMORY_REGISTERED:
    error = registered((bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES, &here, &there);
    break;
  case PREM_MEMORY_COPIED:
  case PREM_MEMORY_PAGEABLE:
    error = copied(bytes, way->setup.memory == PREM_MEMORY_COPIED, &here, &there);
    break;
  case PREM_MEMORY_MANAGED:
    error = managed(bytes, &here, &there);
    break;
  default: {
    const bool combined = way->setup.memory == PREM_MEMORY_COMBINED && is_input;
    error = mapped(bytes, combined ? cudaHostAllocWriteCombined : 0, &here, &there);
  }
  }
  *host = here;
  *device = there;
  return error;
}

static void free_array(const prem_gpu_way *way, float *host, float *device) {
  if (!host)
    return;
  switch (way->setup.memory) {
  case PREM_MEMORY_REGISTERED:
    cudaHostUnregister(host);
    free(host);
    break;
  case PREM_MEMORY_COPIED:
    cudaFreeHost(host);
    cudaFree(device);
    break;
  case PREM_MEMORY_PAGEABLE:
    free(host);
    cudaFree(device);
    break;
  case PREM_MEMORY_MANAGED:
    cudaFree(host);
    break;
  default:
    cudaFreeHost(host);
  }
}

static cudaError_t arrays(prem_gpu_way *way) {
  cudaError_t error = cudaSuccess;
  for (int i = 0; i < 2 && error == cudaSuccess; ++i)
    error = array(way, way->data->in_count[i], true, &way->in[i], &way->job.in[i]);
  if (error == cudaSuccess)
    error = array(way, way->data->out_count, false, &way->out, &way->job.out);
  return error;
}

static cudaError_t state(prem_gpu_way *way) {
  const cudaError_t error = prem_gpu_zeros((void **)&way->job.state, sizeof *way->job.state);
  return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

cudaError_t prem_gpu_way_room(prem_gpu_way *way, bool stamped) {
  memcpy(way->job.size, way->data->size, sizeof way->job.size);
  way->job.patience_ns = PATIENCE_NS;
  cudaError_t error = mapped(sizeof *way->words, 0, (void **)&way->words, (void **)&way->job.words);
  if (error == cudaSuccess && stamped)
    error = mapped((size_t)way->setup.blocks * sizeof *way->stamps, 0, (void **)&way->stamps,
                   (void **)&way->job.stamps);
  if (error == cudaSuccess)
    error = state(way);
  if (error == cudaSuccess)
    error = arrays(way);
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags(&way->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaEventCreateWithFlags(
        &way->event,
        cudaEventDisableTiming | (way->setup.way == PREM_WAY_BLOCKING ? cudaEventBlockingSync : 0));
  return error;
}

void prem_gpu_way_free(prem_gpu_way *way) {
  for (int command = 0; command < PREM_WORK_COUNT; ++command) {
    if (way->exec[command])
      cudaGraphExecDestroy(way->exec[command]);
    if (way->graph[command])
      cudaGraphDestroy(way->graph[command]);
  }
  for (int child = 0; child < PREM_WAY_CHILDREN_ALL; ++child)
    if (way->handles.children[child])
      cudaGraphExecDestroy(way->handles.children[child]);
  if (way->child_graph)
    cudaGraphDestroy(way->child_graph);
  if (way->event)
    cudaEventDestroy(way->event);
  if (way->stream)
    cudaStreamDestroy(way->stream);
  for (int i = 0; i < 2; ++i)
    free_array(way, way->in[i], way->job.in[i]);
  free_array(way, way->out, way->job.out);
  cudaFree(way->job.state);
  cudaFreeHost(way->stamps);
  cudaFreeHost(way->words);
}
