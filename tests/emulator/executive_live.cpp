/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device/executive_live.cu"

namespace {

thread_local unsigned char scratch[232448] __attribute__((aligned(128)));

const bool are_emulated = emulated(executive_live<384, 2, true>) &&
                          emulated(executive_live<1024, 1, true>) &&
                          emulated(executive_live<288, 4, true>);

} // namespace
