/* SPDX-License-Identifier: Apache-2.0 */
/* The executive of best-effort tasks with servers among them whose tiles make tiles (serve.cuh). */
#define PREM_GATED               1
#define PREM_SERVES              1
#define PREM_MAKES               1
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_separate
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_making
#include "runtime/cuda/device/executive.cu"

extern "C" int32_t prem_executive_making_bytes(void) {
  return (int32_t)aligned(sizeof(block_state), 16);
}
