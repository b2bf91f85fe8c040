/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/baselines/partition_probe.cu"

static const bool is_emulated = emulated(show_sm);
