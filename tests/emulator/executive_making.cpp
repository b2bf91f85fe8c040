/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device/executive_making.cu"

#include "tests/emulator/gated_variants.h"
