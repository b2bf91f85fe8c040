/* SPDX-License-Identifier: Apache-2.0 */
/** Which driver the GPU has. */
#pragma once

#include <stddef.h>

/** "580.95.05, CUDA 13.0": the driver's own version as far as NVML tells, and the newest CUDA that
 * it supports; "" when neither is known. */
void prem_driver_version(char *text, size_t bytes);
