/* SPDX-License-Identifier: Apache-2.0 */
/* There are no ordinary kernels on the emulated GPU: modes that run them are refused. */
#include "runtime/cuda/baselines/native_kernels.h"

extern "C" const prem_native_variant *prem_native_variant_at(int32_t) {
  return nullptr;
}
extern "C" size_t prem_native_shared_bytes(const char *, const void *) {
  return 0;
}
extern "C" const void *prem_native_gate_code(void) {
  return nullptr;
}
