/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/host/machine_facts.cu"

static const bool are_emulated =
    emulated(read_clock) && emulated(meet_all) && emulated(write_clock);
