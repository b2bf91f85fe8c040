/* SPDX-License-Identifier: Apache-2.0 */
/** What the GPU parts of experiments share on the host. */
#pragma once

#include <cuda_runtime_api.h>

#include "ttprem/diag.h"

/** PREM_OK, or an error in `diag` that names what was being done. */
static inline prem_status prem_gpu_judge(cudaError_t error, const char *doing, prem_diag *diag) {
  if (error == cudaSuccess)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){NULL, 0}, "", "GPU, %s: %s", doing,
                cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? PREM_ERR_MEMORY : PREM_ERR_MACHINE;
}

/** Room in the GPU's memory, zeros. */
static inline cudaError_t prem_gpu_zeros(void **out, size_t bytes) {
  const cudaError_t error = cudaMalloc(out, bytes);
  return error == cudaSuccess ? cudaMemset(*out, 0, bytes) : error;
}

/** Blocks that run at once, each on an SM of its own, whose whole scratchpad it takes. */
static inline cudaError_t prem_gpu_launch_apart(const void *kernel, int32_t blocks, int32_t threads,
                                                void **arguments) {
  const dim3 grid = {(unsigned)blocks, 1, 1}, block = {(unsigned)threads, 1, 1};
  int scratch_bytes = 0;
  cudaError_t error =
      cudaDeviceGetAttribute(&scratch_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (error == cudaSuccess)
    error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, scratch_bytes);
  if (error != cudaSuccess)
    return error;
  return cudaLaunchCooperativeKernel(kernel, grid, block, arguments, (size_t)scratch_bytes, NULL);
}
