/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device/verify.cu"

static const bool are_emulated = emulated(poison) && emulated(compare);
