/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cuda/spinner.h"

#include <cuda_runtime_api.h>
#include <time.h>

#include "experiments/common/gpu_work.cuh"

namespace {

enum { NAP_NS = 1000000, NAPS = 10000 /* until all blocks have come */ };

cudaStream_t stream;
uint32_t *arrived; /* pinned: blocks */

/** One thread of a block looks at the clock, the others wait for it. */
__global__ void spin(int64_t ns, uint32_t *count) {
  if (threadIdx.x == 0) {
    const int64_t end_ns = prem_gpu_clock_ns() + ns;
    atomicAdd_system(count, 1u);
    while (prem_gpu_clock_ns() < end_ns) {
    }
  }
  __syncthreads();
}

struct shape {
  int blocks, threads, scratch_bytes;
};

cudaError_t find_shape(spinner_room room, shape *out) {
  int sms = 0, threads = 0, sm_bytes = 0, block_bytes = 0, system_bytes = 0;
  const struct {
    int *to;
    cudaDeviceAttr what;
  } asked[] = {{&sms, cudaDevAttrMultiProcessorCount},
               {&threads, cudaDevAttrMaxThreadsPerMultiProcessor},
               {&sm_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
               {&block_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin},
               {&system_bytes, cudaDevAttrReservedSharedMemoryPerBlock}};
  cudaError_t error = cudaSuccess;
  for (size_t i = 0; i < sizeof asked / sizeof *asked && error == cudaSuccess; ++i)
    error = cudaDeviceGetAttribute(asked[i].to, asked[i].what, 0);
  if (room == SPINNER_ALL) /* two blocks an SM, since one cannot have all threads */
    *out = {2 * sms, threads / 2, sm_bytes / 2 - system_bytes};
  else
    *out = {sms, 32, block_bytes};
  return error;
}

bool have_all_come(uint32_t blocks) {
  const struct timespec nap = {0, NAP_NS};
  for (int i = 0; i < NAPS && __atomic_load_n(arrived, __ATOMIC_ACQUIRE) < blocks; ++i)
    nanosleep(&nap, NULL);
  return __atomic_load_n(arrived, __ATOMIC_ACQUIRE) == blocks;
}

} // namespace

const char *spinner_begin(spinner_room room, int64_t ns) {
  shape of = {};
  uint32_t *there = NULL;
  cudaError_t error = find_shape(room, &of);
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaHostAlloc((void **)&arrived, sizeof *arrived, cudaHostAllocMapped);
  if (error == cudaSuccess)
    error = cudaHostGetDevicePointer((void **)&there, arrived, 0);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute((const void *)spin, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 of.scratch_bytes);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute((const void *)spin, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  if (error == cudaSuccess) {
    *arrived = 0;
    void *arguments[] = {&ns, &there};
    error =
        cudaLaunchKernel((const void *)spin, dim3((unsigned)of.blocks), dim3((unsigned)of.threads),
                         arguments, (size_t)of.scratch_bytes, stream);
  }
  if (error != cudaSuccess)
    return cudaGetErrorString(error);
  return have_all_come((uint32_t)of.blocks) ? NULL : "not all of its blocks found room";
}

void spinner_end(void) {
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  cudaFreeHost(arrived);
}
