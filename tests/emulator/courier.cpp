/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device/courier.cu"

namespace {

thread_local unsigned char own_image[232448] __attribute__((aligned(128)));

const bool is_emulated = emulated(courier);

} // namespace
