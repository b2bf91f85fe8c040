/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device/executive.cu"

namespace {

thread_local unsigned char scratch[232448] __attribute__((aligned(128)));

template <bool INTERVALS> bool emulate_variants(void) {
  return emulated(executive<512, 1, INTERVALS>) && emulated(executive<384, 2, INTERVALS>) &&
         emulated(executive<224, 4, INTERVALS>) && emulated(executive<1024, 1, INTERVALS>) &&
         emulated(executive<288, 4, INTERVALS>) && emulated(executive<1024, 2, INTERVALS>);
}
#ifdef PREM_EXECUTIVE_FAMILY
const bool are_emulated = emulate_variants<PREM_EXECUTIVE_FAMILY == PREM_FAMILY_separate>();
#else
const bool are_emulated = emulate_variants<true>() && emulate_variants<false>();
#endif

} // namespace
