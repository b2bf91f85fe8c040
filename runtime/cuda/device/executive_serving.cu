/* SPDX-License-Identifier: Apache-2.0 */
/* The executive of best-effort tasks with servers among them (serve.cuh). */
#define PREM_GATED               1
#define PREM_SERVES              1
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_separate
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_serving
#include "runtime/cuda/device/executive.cu"

extern "C" int32_t prem_executive_serving_bytes(void) {
  return (int32_t)aligned(sizeof(block_state), 16);
}
