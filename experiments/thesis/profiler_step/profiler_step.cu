/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of the clock by blocks on two SMs. Every wait has a deadline. */
#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/thesis/profiler_step/stamps.h"

namespace {

enum { SMS = 2, AN_SM = PREM_STAMP_BLOCKS / SMS };
constexpr int64_t patience_ns = 1000000000;

struct arrivals {
  uint32_t all, of_sm[SMS];
};

/** Readings go to the SM's own memory first, as in the original: nothing but the clock is waited
 *  for. */
__global__ void read_stamps(prem_stamps *out, arrivals *words) {
  __shared__ int64_t own_ns[PREM_STAMPS];
  const uint32_t sm = prem_gpu_sm();
  const uint32_t place = sm < SMS ? atomicAdd(&words->of_sm[sm], 1u) : AN_SM;
  atomicAdd(&words->all, 1u);
  prem_gpu_wait<prem_word_alone>(&words->all, gridDim.x, prem_gpu_clock_ns() + patience_ns);
  if (place >= AN_SM)
    return;
  for (int32_t i = 0; i < PREM_STAMPS; ++i)
    own_ns[i] = prem_gpu_clock_ns();
  const uint32_t block = sm * AN_SM + place;
  out->place[block] = (int32_t)sm + 1;
  for (int32_t i = 0; i < PREM_STAMPS; ++i)
    out->readings_ns[block][i] = own_ns[i];
}

} // namespace

prem_status prem_gpu_stamps(prem_stamps *out, prem_diag *diag) {
  int32_t sm_count = 0;
  prem_stamps *here = NULL;
  arrivals *words = NULL;
  cudaError_t error = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0);
  if (error == cudaSuccess)
    error = prem_gpu_zeros((void **)&here, sizeof *here);
  if (error == cudaSuccess)
    error = prem_gpu_zeros((void **)&words, sizeof *words);
  if (error == cudaSuccess) {
    void *arguments[] = {&here, &words};
    error = cudaLaunchCooperativeKernel((const void *)read_stamps, dim3(AN_SM * (unsigned)sm_count),
                                        dim3(1), arguments, 0, NULL);
  }
  if (error == cudaSuccess)
    error = cudaMemcpy(out, here, sizeof *out, cudaMemcpyDeviceToHost);
  cudaFree(here);
  cudaFree(words);
  return prem_gpu_judge(error, "reading the clocks of two SMs", diag);
}
