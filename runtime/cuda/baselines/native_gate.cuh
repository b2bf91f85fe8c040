/* SPDX-License-Identifier: Apache-2.0 */
/** The gate, which ends at an instant, and the kernel that only stamps its end. */
#pragma once

#include "runtime/cuda/baselines/native_device.cuh"

namespace {

__global__ void __launch_bounds__(512) nothing(const prem_native_work work) {
  stamp_end(work.ends);
}

enum { LOOK_NS = 100000 }; /* the host's word is far away: no look at it so shortly before */

__device__ void tell_host(const prem_native_gate &gate, prem_native_arrival how) {
  if (gate.arrived) {
    *(volatile uint32_t *)gate.arrived = how;
    __threadfence_system();
  }
}

__device__ uint32_t word_now(const prem_native_gate &gate) {
  return *(const volatile uint32_t *)gate.word;
}

/** Wait for GO, and agree on S. 0: stopped. */
__device__ int64_t start_wait(const prem_native_gate &gate) {
  const int64_t give_up_ns = prem_clock_ns() + gate.timeout_ns;
  uint32_t word;
  while ((word = word_now(gate)) == PREM_NATIVE_HOLD)
    if (prem_clock_ns() > give_up_ns) {
      atomicExch(&gate.state->stopped, 1u);
      return 0;
    }
  if (word == PREM_NATIVE_STOP)
    return 0;
  const long long start = prem_clock_ns() + gate.margin_ns;
  const long long agreed = (long long)atomicCAS((unsigned long long *)&gate.state->start_ns, 0ull,
                                                (unsigned long long)start);
  return agreed ? agreed : start;
}

/** When a job ended whose kernel has ended. */
__device__ int64_t end_of(const long long *ends) {
  long long last = 0;
  for (int32_t slot = 0; slot < PREM_NATIVE_SLOTS; ++slot)
    last = max(last, __ldcg(&ends[slot * PREM_NATIVE_SLOT_STRIDE]));
  return last;
}

__global__ void gate(const prem_native_gate gate) {
  tell_host(gate, PREM_NATIVE_WAITS);
  const int64_t came_ns = prem_clock_ns();
  const int64_t start = start_wait(gate);
  if (start == 0)
    return;
  tell_host(gate, PREM_NATIVE_STARTED);
  const int64_t until_ns = (gate.ends ? end_of(gate.ends) : start) + gate.offset_ns;
  if (gate.arrived && gate.margin_ns > 0 && came_ns > until_ns)
    atomicMax(&gate.state->late_ns, (long long)(came_ns - until_ns));
  for (int64_t now = prem_clock_ns(); now < until_ns; now = prem_clock_ns())
    if (until_ns - now > LOOK_NS && word_now(gate) == PREM_NATIVE_STOP)
      return;
}

} // namespace
