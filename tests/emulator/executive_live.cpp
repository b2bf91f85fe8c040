/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device/executive_live.cu"

#include "tests/emulator/live_variants.h"
