/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of the GPU: copies both ways, kernels at its memory. Each piece of work is short and
 * counted. */
#include "experiments/common/gpu_work.h"
#include "experiments/live/live_stress/loads.h"

namespace {

enum { BYTES = 1 << 24, FLOATS = 1 << 26, THREADS = 512 };

/* Once over the whole buffer. */
__global__ void add_one(float *values, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    values[i] += 1.0F;
}

bool goes_on(const int32_t *stop) {
  return __atomic_load_n(stop, __ATOMIC_RELAXED) == 0;
}

void say(int32_t *begun, cudaError_t error) {
  __atomic_store_n(begun, error == cudaSuccess ? 1 : -1, __ATOMIC_RELEASE);
}

struct copies {
  char *host[2], *device[2];
  cudaStream_t streams[2];
};

cudaError_t open_copies(copies *c) {
  cudaError_t error = cudaSuccess;
  for (int way = 0; way < 2 && error == cudaSuccess; ++way) {
    error = cudaHostAlloc((void **)&c->host[way], BYTES, cudaHostAllocDefault);
    if (error == cudaSuccess)
      error = cudaMalloc((void **)&c->device[way], BYTES);
    if (error == cudaSuccess)
      error = cudaStreamCreateWithFlags(&c->streams[way], cudaStreamNonBlocking);
  }
  return error;
}

void close_copies(copies *c) {
  for (int way = 0; way < 2; ++way) {
    if (c->streams[way])
      cudaStreamDestroy(c->streams[way]);
    cudaFree(c->device[way]);
    cudaFreeHost(c->host[way]);
  }
}

void copy_both_ways(const int32_t *stop, int32_t *begun) {
  copies c = {};
  cudaError_t error = open_copies(&c);
  say(begun, error);
  while (error == cudaSuccess && goes_on(stop)) {
    error = cudaMemcpyAsync(c.device[0], c.host[0], BYTES, cudaMemcpyHostToDevice, c.streams[0]);
    if (error == cudaSuccess)
      error = cudaMemcpyAsync(c.host[1], c.device[1], BYTES, cudaMemcpyDeviceToHost, c.streams[1]);
    for (int way = 0; way < 2 && error == cudaSuccess; ++way)
      error = cudaStreamSynchronize(c.streams[way]);
  }
  close_copies(&c);
}

void run_kernels(const int32_t *stop, int32_t *begun) {
  float *values = nullptr;
  cudaStream_t stream = nullptr;
  int sms = 0;
  cudaError_t error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  if (error == cudaSuccess)
    error = cudaMalloc((void **)&values, FLOATS * sizeof *values);
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) { /* loads the code, before anything waits on the GPU */
    add_one<<<1, 1, 0, stream>>>(values, 1);
    error = cudaStreamSynchronize(stream);
  }
  say(begun, error);
  while (error == cudaSuccess && goes_on(stop)) {
    add_one<<<sms / 2, THREADS, 0, stream>>>(values, FLOATS);
    error = cudaGetLastError();
    if (error == cudaSuccess)
      error = cudaStreamSynchronize(stream);
  }
  if (stream)
    cudaStreamDestroy(stream);
  cudaFree(values);
}

} // namespace

/* What goes wrong ends the load, and is seen where turns are measured. */
void prem_gpu_load(prem_load load, const int32_t *stop, int32_t *begun) {
  if (load == PREM_LOAD_COPIES)
    copy_both_ways(stop, begun);
  else
    run_kernels(stop, begun);
}
