/* SPDX-License-Identifier: Apache-2.0 */
/* The executive of a family of kernels.def. */
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_convolution
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_convolution
#include "runtime/cuda/device/executive.cu"
