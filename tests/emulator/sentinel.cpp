/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device/sentinel.cu"

static const bool are_emulated = emulated(sentinel);
