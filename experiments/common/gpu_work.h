/* SPDX-License-Identifier: Apache-2.0 */
/** What the GPU parts of experiments share on the host. */
#ifndef TTPREM_EXPERIMENTS_COMMON_GPU_WORK_H
#define TTPREM_EXPERIMENTS_COMMON_GPU_WORK_H

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

#endif
