/* SPDX-License-Identifier: Apache-2.0 */
/** Which driver the GPU has. */
#ifndef TTPREM_RUNTIME_CUDA_HOST_DRIVER_VERSION_H
#define TTPREM_RUNTIME_CUDA_HOST_DRIVER_VERSION_H

#include <stddef.h>

/** "580.95.05, CUDA 13.0": the driver's own version as far as NVML tells, and the newest CUDA that
 * it supports; "" when neither is known. */
void prem_driver_version(char *text, size_t bytes);

#endif
