/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/device/executive_live_convolution.cu"

#include "tests/emulator/live_variants.h"
