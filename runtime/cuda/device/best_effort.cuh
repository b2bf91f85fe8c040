/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive of best-effort tasks: memory phases pass a gate (runtime/core/gate.h) in place
 * of waiting for a planned instant. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_BEST_EFFORT_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_BEST_EFFORT_CUH

#include "runtime/cuda/device/waits.cuh"

#if PREM_GATED

namespace {

/** What a launch has besides a prem_launch. */
using launch_company = prem_device_gated;

__device__ __forceinline__ void company_begin(block_state *own, const prem_device_gated &gated) {
  own->gated = gated;
}

/** Where all blocks agree on S: those of the critical tasks do as well. */
__device__ __forceinline__ prem_device_state *meeting_of(const prem_launch &,
                                                         const prem_device_gated &gated) {
  return gated.meeting;
}

/** Both gates at the start. One thread, when S is known. */
__device__ __forceinline__ void gates_open(block_state *own) {
  own->gates[0] = own->gates[1] = prem_gate_new(&own->gated.closed, own->start_ns);
  own->look_ns[0] = own->look_ns[1] = 0;
  own->held[0] = own->held[1] = 0;
  for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    own->ended[phase] = 0;
}

/** The whole warp goes by what one lane read. */
__device__ __forceinline__ int64_t agreed_instant(int64_t due_ns) {
  return __shfl_sync(FULL_WARP, (long long)wait_until(due_ns), 0);
}

/** Where memory and computes keep up with each other no wait is long enough for a look at the abort
 *  word, and these tasks have no last hyperperiod: so look now and then. One warp.
 *  @return the clock, read again, since the look takes long; -1: the run is over */
__device__ __noinline__ int64_t gate_look(int32_t warp, int64_t due_ns) {
  enum { LOOK_EVERY_NS = 100000 };
  block_state *own = shared();
  const bool over = __any_sync(FULL_WARP, abort_look(own));
  const int64_t now_ns = agreed_instant(due_ns);
  if (lane_number() == 0)
    own->look_ns[warp] = now_ns + LOOK_EVERY_NS;
  __syncwarp();
  return over ? -1 : now_ns;
}

/** Sleep until an instant, or a little longer: the critical task has the processor. One warp, which
 *  goes by what one lane read. nanosleep takes twice its time at most. @return the clock */
__device__ __forceinline__ int64_t sleep_until(int64_t at_ns) {
  int64_t now_ns;
  while ((now_ns = agreed_instant(0)) < at_ns)
    __nanosleep((uint32_t)max(32ll, min((long long)NAP_NS, (long long)(at_ns - now_ns) / 2)));
  return now_ns;
}

/** Have all jobs ended that a window is closed for? Each lane looks at a word that they count in.
 *  One warp, which agrees. */
__device__ __forceinline__ bool window_is_over(const prem_memory_gate &gate) {
  block_state *own = shared();
  const prem_device_gated &gated = own->gated;
  const int32_t from = gated.due_from[gate.index], to = gated.due_from[gate.index + 1];
  const int64_t hyperperiod = (gate.epoch_ns - own->start_ns) / gated.closed.hyperperiod_ns;
  bool over = from < to;
#pragma unroll 1
  for (int32_t first = from; first < to && over; first += 32) {
    awaited jobs = {nullptr, 0, 0};
    if (first + lane_number() < to)
      jobs = awaited_by(&gated.due[first + lane_number()], hyperperiod);
    over = __all_sync(FULL_WARP, jobs.end == nullptr || has_ended(jobs));
  }
  return over;
}

/** The gate is closed until an instant: when to look at it again. Its jobs mostly end before it
 *  does, and hardly in its first half; looks too often would be traffic beside them. */
__device__ __forceinline__ int64_t next_look(const prem_memory_gate &gate, int64_t now_ns,
                                             int64_t from_ns) {
  enum { LOOK_AGAIN_NS = 512 };
  const int64_t middle_ns = gate.start_ns + (gate.end_ns - gate.start_ns) / 2;
  return min((long long)from_ns, max((long long)middle_ns, (long long)now_ns + LOOK_AGAIN_NS));
}

/** A window is in the way, or has passed: wait for the gate. One warp.
 *  @return the reading that it let in; -1: stopped */
__device__ __noinline__ int64_t gate_wait(int32_t warp, int64_t now_ns, int64_t ahead_ns) {
  block_state *own = shared();
  const prem_gate_list *closed = &own->gated.closed;
  prem_memory_gate gate = own->gates[warp];
  if (lane_number() == 0)
    *(volatile int32_t *)&own->held[warp] = 1;
  bool stopped = __any_sync(FULL_WARP, abort_look(own));
  for (int64_t from_ns; !stopped;) {
    from_ns = prem_gate_ask(&gate, closed, now_ns, ahead_ns);
    if (from_ns <= now_ns)
      break;
    if (now_ns >= gate.start_ns && window_is_over(gate)) {
      prem_gate_next(&gate, closed);
      now_ns = agreed_instant(now_ns);
      continue;
    }
    from_ns = next_look(gate, now_ns, from_ns);
    stopped = !far_sleep(from_ns);
    now_ns = sleep_until(from_ns);
  }
  if (lane_number() == 0)
    *(volatile int32_t *)&own->held[warp] = 0;
  if (stopped)
    return -1;
  if (lane_number() == 0)
    own->gates[warp] = gate;
  __syncwarp();
  return now_ns;
}

/** A phase's entry has its record: note by which window it is to end, as long as the gate does not
 * hold it back. One warp, which alone changes its gate.
 *  @param warp  STARTER or WRITER
 *  @return a reading of the clock before that lets the phase in, whatever else is the case */
__device__ __forceinline__ int64_t gate_prepare(int32_t warp, in_flight_phase *of) {
  block_state *own = shared();
  const int64_t ahead_ns = own->gated.is_gated ? of->record.start_ns : 0;
  const int64_t look_ns = *(const volatile int64_t *)&own->look_ns[warp];
  const int64_t closes_ns =
      ahead_ns > 0 ? *(const volatile int64_t *)&own->gates[warp].start_ns : INT64_MAX;
  if (lane_number() == 0) {
    of->closes_ns = closes_ns;
    of->window = own->gates[warp].index;
    of->held_ns = 0;
  }
  __syncwarp();
  return min((long long)look_ns, (long long)(closes_ns - ahead_ns));
}

/** The gate may be closed, or it is time for a look at the abort word: wait until it lets a phase
 * in. One warp. @return the reading that it let in; -1: stopped */
__device__ __noinline__ int64_t gate_ask(int32_t warp, in_flight_phase *of, int64_t now_ns) {
  block_state *own = shared();
  const int64_t ahead_ns = own->gated.is_gated ? of->record.start_ns : 0;
  if (now_ns >= own->look_ns[warp] && (now_ns = gate_look(warp, now_ns)) < 0)
    return -1;
  const int64_t asked_ns = now_ns;
  if (ahead_ns > 0 && now_ns > own->gates[warp].start_ns - ahead_ns &&
      (now_ns = gate_wait(warp, now_ns, ahead_ns)) < 0)
    return -1;
  if (lane_number() == 0) {
    of->closes_ns = ahead_ns > 0 ? own->gates[warp].start_ns : INT64_MAX;
    of->window = own->gates[warp].index;
    of->held_ns = now_ns - asked_ns;
  }
  __syncwarp();
  return now_ns;
}

/**
 * All that a phase needs is there: wait until the gate lets it in. One warp. Mostly the next window
 * is far, and one comparison says so.
 *
 * @param now_ns    each lane's reading of the clock, when all was there
 * @param due_ns    the phase may not start before
 * @param quiet_ns  what gate_prepare() has returned
 * @return the gate's reading of the clock, from which the bound counts: the lane that starts the
 *         phase goes by its own; -1, of all lanes: stopped
 */
__device__ __forceinline__ int64_t gate_pass(int32_t warp, in_flight_phase *of, int64_t now_ns,
                                             int64_t due_ns, int64_t quiet_ns) {
  if (__any_sync(FULL_WARP, now_ns < due_ns)) {
    if (!far_sleep(due_ns))
      return -1;
    now_ns = agreed_instant(due_ns);
  }
  if (__all_sync(FULL_WARP, now_ns < quiet_ns))
    return now_ns;
  return gate_ask(warp, of, __shfl_sync(FULL_WARP, (long long)now_ns, 0));
}

/** Both, of a phase that may start at once. */
__device__ __forceinline__ int64_t gate_await(int32_t warp, in_flight_phase *of) {
  const int64_t quiet_ns = gate_prepare(warp, of);
  return gate_pass(warp, of, prem_clock_ns(), 0, quiet_ns);
}

/** A phase is written down: count it, and what the gate did to it. One lane. */
__device__ __forceinline__ void ended_count(block_state *own, const in_flight_phase *of) {
  const int32_t phase = of->record.phase;
  if (!serves_here(own) && of->end_ns - own->start_ns <= own->gated.counted_ns)
    ++own->ended[phase];
  const int64_t into_ns = of->end_ns - of->closes_ns, drain_ns = into_ns + of->record.start_ns;
  if (phase == PREM_COMPUTE || (of->held_ns == 0 && drain_ns <= 0))
    return;
  prem_device_held *held = &own->gated.held[own->launch.blocks[own->plan_block].first_cell +
                                            of->record.task * PREM_PHASE_COUNT + phase];
  held->drain_ns = max((long long)held->drain_ns, (long long)drain_ns);
  if (of->held_ns > 0) {
    atomicAdd(&held->waits, 1ull);
    atomicAdd(&held->wait_ns, (unsigned long long)of->held_ns);
  }
  if (into_ns <= 0)
    return;
  atomicAdd(&held->overruns, 1ull);
  if (into_ns > held->by_ns) {
    held->by_ns = into_ns;
    held->at_ns = of->closes_ns - own->start_ns;
    held->tile = of->record.tile;
    held->window = of->window;
  }
}

/** Give the counts to the host. One thread. */
__device__ __forceinline__ void ended_report(const block_state *own) {
  for (int32_t phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    own->gated.ended[own->plan_block * PREM_PHASE_COUNT + phase] = own->ended[phase];
}

} // namespace

#else /* ---- planned: phases wait for their instants, and the gate is not there                   \
         ------------------- */

namespace {

#if !PREM_LIVE
struct launch_company {};
__device__ __forceinline__ void company_begin(block_state *, const launch_company &) {}
#endif

template <class COMPANY>
__device__ __forceinline__ prem_device_state *meeting_of(const prem_launch &launch,
                                                         const COMPANY &) {
  return launch.state;
}
__device__ __forceinline__ void gates_open(block_state *) {}
__device__ __forceinline__ int64_t gate_prepare(int32_t, in_flight_phase *) {
  return 0;
}
__device__ __forceinline__ int64_t gate_pass(int32_t, in_flight_phase *, int64_t, int64_t due_ns,
                                             int64_t) {
  return due_ns;
}
__device__ __forceinline__ void ended_count(block_state *, const in_flight_phase *) {}
__device__ __forceinline__ void ended_report(const block_state *) {}

} // namespace

#endif

#endif
