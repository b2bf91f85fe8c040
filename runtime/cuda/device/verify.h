/* SPDX-License-Identifier: Apache-2.0 */
/** Kernels that surround a run: poison and compare. */
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/cuda/device/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Write `pattern` to every word of the array (not of the box around it). */
cudaError_t prem_device_poison(const prem_device_array *array, uint32_t pattern,
                               cudaStream_t stream);
/** Count elements that differ, and find the first: wrong_and_first[0] (zeroed before) and [1]
 *  (all ones before), in device memory. */
cudaError_t prem_device_compare(const prem_device_array *array, const prem_device_array *reference,
                                double tolerance, unsigned long long *wrong_and_first,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif
