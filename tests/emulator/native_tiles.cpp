/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/baselines/native_tiles.cu"

namespace {

thread_local unsigned char tile_scratch[232448] __attribute__((aligned(128)));

#define PREM_COMPATIBLE_KERNEL(NAME) &&emulated(by_tiles<tiled_##NAME>)
#define PREM_KERNEL(NAME, FAMILY)    &&emulated(by_tiles<tiled_##NAME>)
const bool are_emulated = true
#include "kernels/kernels.def"
    ;
#undef PREM_KERNEL
#undef PREM_COMPATIBLE_KERNEL

} // namespace
