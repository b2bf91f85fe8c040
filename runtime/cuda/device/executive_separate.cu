/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executive with all kernels of kernels.def and with compatible intervals, for schedules that
 * have a separate one.
 */
#define PREM_SEPARATE_EXECUTIVE
#include "runtime/cuda/device/executive.cu"
