/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cuda/attached_work.cu"

static const bool is_emulated = emulated(take_time);
