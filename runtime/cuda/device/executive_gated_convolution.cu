/* SPDX-License-Identifier: Apache-2.0 */
/* The executive of best-effort tasks with a family of kernels.def alone. */
#define PREM_GATED               1
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_convolution
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_gated_convolution
#include "runtime/cuda/device/executive.cu"
