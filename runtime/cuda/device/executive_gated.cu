/* SPDX-License-Identifier: Apache-2.0 */
/* The executive of best-effort tasks, in mode free: it runs beside that of the critical ones, and
 * its memory phases pass a gate. Compiled apart, so that plans have the code and the registers that
 * they had. It has the separate kernels and no compatible intervals, which no gate could hold. */
#define PREM_GATED               1
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_separate
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_gated
#include "runtime/cuda/device/executive.cu"

extern "C" int32_t prem_executive_gated_bytes(void) {
  return (int32_t)aligned(sizeof(block_state), 16);
}
