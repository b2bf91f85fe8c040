/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks so large that two fill an SM, and so long-lived that all SMs that there are get some.
 * Counted, not compared between streams: how SMs of a share are numbered is the driver's business.
 */
#include "runtime/cuda/baselines/partition_probe.h"

#include "runtime/cuda/device/clock.cuh"

namespace {

enum { MAX_SMS = 1024, STAY_NS = 20000, THREADS = 1024 };

__global__ void __launch_bounds__(THREADS) show_sm(uint32_t *seen) {
  if (threadIdx.x == 0) {
    const uint32_t sm = prem_smid();
    atomicOr(&seen[sm % MAX_SMS / 32], 1u << sm % 32);
    const int64_t until_ns = prem_clock_ns() + STAY_NS;
    while (prem_clock_ns() < until_ns) {
    }
  }
  __syncthreads(); /* the block keeps its room until then */
}

cudaError_t show(cudaStream_t stream, int32_t sm_count, uint32_t *words, uint32_t *seen) {
  cudaError_t error = cudaMemsetAsync(words, 0, MAX_SMS / 8, stream);
  if (error == cudaSuccess) {
    void *arguments[] = {&words};
    error = cudaLaunchKernel((const void *)show_sm, dim3(2 * (unsigned)sm_count), dim3(THREADS),
                             arguments, 0, stream);
  }
  if (error == cudaSuccess)
    error = cudaStreamSynchronize(stream);
  return error == cudaSuccess ? cudaMemcpy(seen, words, MAX_SMS / 8, cudaMemcpyDeviceToHost)
                              : error;
}

} // namespace

extern "C" cudaError_t prem_count_sms(cudaStream_t stream, int32_t sm_count, int32_t *seen) {
  uint32_t *words = nullptr, on_host[MAX_SMS / 32] = {};
  cudaError_t error = cudaMalloc((void **)&words, MAX_SMS / 8);
  if (error == cudaSuccess)
    error = show(stream, sm_count, words, on_host);
  cudaFree(words);
  *seen = 0;
  for (uint32_t word : on_host)
    *seen += __builtin_popcount(word);
  return error;
}
