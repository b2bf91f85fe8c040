/* SPDX-License-Identifier: Apache-2.0 */
/** On how many SMs do the kernels of a stream run? */
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Fill `sm_count` SMs from a stream, and count those that blocks came to. Takes about 50 us. */
cudaError_t prem_count_sms(cudaStream_t stream, int32_t sm_count, int32_t *seen);

#ifdef __cplusplus
}
#endif
