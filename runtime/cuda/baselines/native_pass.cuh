/* SPDX-License-Identifier: Apache-2.0 */
/** The first and the last node of a graph that is begun whole, only where its bound ends before the
 *  next closed window. */
#pragma once

#include "runtime/cuda/baselines/native_gate.cuh"

namespace {

/** Has the run ended? The host's word is far away: a look now and then. */
__device__ bool pass_is_over(const prem_native_passes *passes, int64_t now_ns, int64_t *look_ns) {
  if (now_ns < *look_ns)
    return false;
  *look_ns = now_ns + LOOK_NS;
  return *(const volatile uint32_t *)passes->word == PREM_NATIVE_STOP;
}

/** False: nobody begins any more. */
__device__ bool pass_await_start(prem_native_passes *passes) {
  const prem_device_state *meeting = passes->gated.meeting;
  int64_t now = prem_clock_ns(), start = meeting ? 0 : now;
  const int64_t give_up_ns = now + passes->timeout_ns;
  for (int64_t look_ns = now; start == 0; now = prem_clock_ns())
    if ((start = prem_load_acquire(&meeting->start_ns)) == 0 &&
        (pass_is_over(passes, now, &look_ns) || now > give_up_ns))
      return false;
  passes->start_ns = start;
  passes->gate = prem_gate_new(&passes->gated.closed, start);
  return true;
}

/** The reading that lets the pass in; 0: the run is over. */
__device__ int64_t pass_await_turn(prem_native_passes *passes) {
  const prem_gate_list *closed = &passes->gated.closed;
  const int64_t asked_ns = prem_clock_ns();
  int64_t now = asked_ns, look_ns = asked_ns + LOOK_NS;
  while (passes->gated.is_gated) {
    const int64_t from_ns =
        prem_gate_ask(&passes->gate, closed, now, passes->bound_ns + passes->clock_step_ns);
    if (from_ns <= now)
      break;
    for (; now < from_ns; now = prem_clock_ns())
      if (pass_is_over(passes, now, &look_ns))
        return 0;
  }
  passes->held.waits += now > asked_ns;
  passes->held.wait_ns += (unsigned long long)(now - asked_ns);
  return now;
}

/** One thread. What comes after the run's end is let in at once: nobody waits for it. */
__global__ void pass_gate(prem_native_passes *passes) {
  passes->begun_ns = 0;
  if (passes->start_ns != 0 || pass_await_start(passes))
    passes->begun_ns = pass_await_turn(passes);
  passes->closes_ns = passes->gated.is_gated ? passes->gate.start_ns : INT64_MAX;
}

/** One thread, when all kernels of the pass have ended, and their stores are visible. */
__global__ void pass_end(prem_native_passes *passes) {
  const long long now = prem_clock_ns(), into_ns = now - passes->closes_ns;
  const long long took_ns = now - passes->begun_ns;
  if (passes->begun_ns == 0)
    return;
  if (passes->seen < PREM_NATIVE_SEEN)
    passes->took_ns[passes->seen++] = took_ns;
  if (took_ns <= passes->most_ns)
    passes->bound_ns = max(passes->bound_ns, took_ns);
  passes->ended += now - passes->start_ns <= passes->gated.counted_ns;
  if (into_ns <= 0)
    return;
  ++passes->held.overruns;
  if (into_ns > passes->held.by_ns) {
    passes->held.by_ns = into_ns;
    passes->held.at_ns = passes->closes_ns - passes->start_ns;
    passes->held.window = passes->gate.index;
  }
}

} // namespace
