/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executive once more, with the separate kernels of kernels.def and with compatible intervals:
 * for schedules that have a separate kernel. The code of all others' executives stays what it is.
 */
#define PREM_SEPARATE_EXECUTIVE
#include "runtime/cuda/device/executive.cu"
