/* SPDX-License-Identifier: Apache-2.0 */
/* The executive of live sessions: hyperperiods begin when the courier lets them, records look at
 * its tickets. It has the separate kernels and compatible intervals. Compiled apart, so that runs
 * have the code and the registers that they had. */
#define PREM_LIVE                1
#define PREM_EXECUTIVE_FAMILY    PREM_FAMILY_separate
#define PREM_EXECUTIVE_OF_FAMILY prem_executive_live
#include "runtime/cuda/device/executive.cu"

extern "C" int32_t prem_executive_live_bytes(void) {
  return (int32_t)aligned(sizeof(block_state), 16);
}
