/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/machine/errands/errands.cu"

static const bool are_emulated = emulated(work_tile);
