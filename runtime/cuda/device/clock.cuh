/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's clock, its abort word, and waits that always end. */
#pragma once

#include "runtime/core/ptx.cuh"
#include "runtime/cuda/device/clock_wait.cuh"
#include "runtime/cuda/device/program.h"

/** Take the fault record if nobody has, and make everybody stop. */
static __device__ void prem_fault_raise(prem_device_state *state, prem_fault_code code,
                                        int32_t block, int32_t record_index,
                                        const prem_device_record *record, int32_t task,
                                        int64_t hyperperiod, uint32_t computes, int64_t at_ns) {
  if (atomicCAS(&state->fault.code, (uint32_t)PREM_FAULT_NONE, (uint32_t)code) ==
      (uint32_t)PREM_FAULT_NONE) {
    state->fault.block = block;
    state->fault.record = record_index;
    state->fault.phase = record ? record->phase : -1;
    state->fault.task = task;
    state->fault.tile = record ? record->tile : -1;
    state->fault.job = record ? record->job : -1;
    state->fault.hyperperiod = (int32_t)hyperperiod;
    state->fault.computes = computes;
    state->fault.at_ns = at_ns;
    __threadfence();
  }
  atomicExch(&state->abort, 1u);
}
