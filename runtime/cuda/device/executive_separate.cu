/* SPDX-License-Identifier: Apache-2.0 */
/* The executive of all kernels of kernels.def and of compatible intervals, for schedules that have
 * a separate kernel. */
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_separate
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_separate
#include "runtime/cuda/device/executive.cu"
