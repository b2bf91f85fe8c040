/* SPDX-License-Identifier: Apache-2.0 */
/* Of ordinary kernels the emulated GPU has the gates and the one that does nothing: files whose
 * tasks are all noop run in the modes of ordinary kernels, others are refused there. */
#include "runtime/cuda/baselines/native_gate.cuh"
#include "runtime/cuda/baselines/native_pass.cuh"

static const bool are_emulated =
    emulated(gate) && emulated(nothing) && emulated(pass_gate) && emulated(pass_end);
static const prem_native_variant only = {"noop", "nothing", (const void *)nothing, 0, 0, 512, -1,
                                         false,  false};

extern "C" const prem_native_variant *prem_native_variant_at(int32_t number) {
  return number == 0 ? &only : nullptr;
}
extern "C" size_t prem_native_shared_bytes(const char *, const void *) {
  return 0;
}
extern "C" const void *prem_native_gate_code(void) {
  return (const void *)gate;
}
extern "C" const void *prem_native_pass_gate_code(void) {
  return (const void *)pass_gate;
}
extern "C" const void *prem_native_pass_end_code(void) {
  return (const void *)pass_end;
}
