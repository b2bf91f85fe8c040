/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that say where they are. Each stays until a deadline on the clock, and no longer. */
#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/machine/block_placement/placements.h"

namespace {

constexpr int64_t stay_ns = 200000;
enum { MAX_SMS = 1024 };

__device__ void stay(prem_block_place *place, int64_t begin_ns) {
  int64_t now_ns = begin_ns;
  while (now_ns < begin_ns + stay_ns)
    now_ns = prem_gpu_clock_ns();
  place->sm = (int32_t)prem_gpu_sm();
  place->begin_ns = begin_ns;
  place->end_ns = now_ns;
}

__global__ void place_here(prem_block_place *places) {
  if (threadIdx.x == 0)
    stay(&places[blockIdx.x], prem_gpu_clock_ns());
}

/** The claim number n of an SM takes the n-th plan block of that SM, if there is one. */
__global__ void place_claimed(prem_block_place *places, uint32_t *claims, int32_t sms,
                              int32_t blocks) {
  if (threadIdx.x > 0)
    return;
  const int64_t begin_ns = prem_gpu_clock_ns();
  const uint32_t sm = prem_gpu_sm();
  const uint32_t claim = sm < MAX_SMS ? atomicAdd(&claims[sm], 1u) : UINT32_MAX;
  const int64_t block = sm + (int64_t)claim * sms;
  if (block < blocks)
    stay(&places[block], begin_ns);
}

struct launch_room {
  prem_block_place *places;
  uint32_t *claims;
  cudaStream_t streams[PREM_MAX_LAUNCHED];
};

cudaError_t open_room(launch_room *room, const prem_launching *launching) {
  const size_t bytes =
      (size_t)launching->kernels * (size_t)launching->blocks * sizeof(prem_block_place);
  cudaError_t error = cudaMalloc((void **)&room->places, bytes);
  if (error == cudaSuccess)
    error = cudaMemset(room->places, 0xff, bytes);
  if (error == cudaSuccess)
    error = prem_gpu_zeros((void **)&room->claims, MAX_SMS * sizeof *room->claims);
  for (int32_t k = 0; k < launching->kernels && error == cudaSuccess; ++k)
    error = cudaStreamCreateWithFlags(&room->streams[k], cudaStreamNonBlocking);
  return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

void close_room(launch_room *room) {
  for (int k = 0; k < PREM_MAX_LAUNCHED; ++k)
    if (room->streams[k])
      cudaStreamDestroy(room->streams[k]);
  cudaFree(room->places);
  cudaFree(room->claims);
}

cudaError_t launch_all(const launch_room *room, const prem_launching *launching) {
  const void *kernel = launching->claimed ? (const void *)place_claimed : (const void *)place_here;
  cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           (int)prem_gpu_scratch_bytes());
  int32_t sms = prem_gpu_sm_count(), blocks = launching->blocks;
  uint32_t *claims = room->claims;
  for (int32_t k = 0; k < launching->kernels && error == cudaSuccess; ++k) {
    prem_block_place *places = room->places + (size_t)k * (size_t)blocks;
    void *arguments[] = {&places, &claims, &sms, &blocks};
    error = cudaLaunchKernel(kernel, dim3((unsigned)blocks), dim3((unsigned)launching->threads),
                             arguments, (size_t)launching->scratch_bytes, room->streams[k]);
  }
  const cudaError_t ended = cudaDeviceSynchronize();
  return error == cudaSuccess ? ended : error;
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

} // namespace

int32_t prem_gpu_sm_count(void) {
  return attribute(cudaDevAttrMultiProcessorCount);
}

int64_t prem_gpu_scratch_bytes(void) {
  return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

prem_status prem_gpu_place(const prem_launching *launching, prem_block_place *placements,
                           prem_diag *diag) {
  launch_room room = {};
  cudaError_t error = open_room(&room, launching);
  if (error == cudaSuccess)
    error = launch_all(&room, launching);
  if (error == cudaSuccess)
    error = cudaMemcpy(placements, room.places,
                       (size_t)launching->kernels * (size_t)launching->blocks * sizeof *placements,
                       cudaMemcpyDeviceToHost);
  close_room(&room);
  return prem_gpu_judge(error, "placing blocks", diag);
}
