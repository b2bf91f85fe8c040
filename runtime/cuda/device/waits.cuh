/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: waits, all of which end. */
#pragma once

#include "runtime/cuda/device/block.cuh"

namespace {

/** Look at the abort word of the launch; remember it in the scratchpad. */
__device__ __forceinline__ bool abort_look(block_state *own) {
  volatile uint32_t *abort = &own->counts[ABORT];
  if (prem_load_relaxed(&own->launch.state->abort))
    *abort = 1;
  return *abort != 0;
}

/** All counts at one instant: of prefetches, computes, writebacks; the abort word. */
__device__ __forceinline__ uint4 counts_now(const block_state *own) {
  static_assert(PREM_PREFETCH == 0 && PREM_COMPUTE == 1 && PREM_WRITEBACK == 2 && ABORT == 3 &&
                    sizeof own->counts == sizeof(uint4),
                "x, y, z and w are the phases' counts and the abort word");
  return prem_look_4(own->counts);
}

/** Has a prefetch landed, counted over the run? Then what it brought is visible to this lane. */
__device__ __forceinline__ bool prefetch_there(block_state *own, uint32_t number) {
  return prem_barrier_test(&own->full[number % RING], number / RING & 1u);
}

/** Look at a barrier for a microsecond or so, mostly asleep. @return whether its phase has
 * completed. */
__device__ __forceinline__ bool barrier_doze(uint64_t *barrier, uint32_t parity) {
  bool there = false;
#pragma unroll 1
  for (int32_t tries = 0; tries < 16 && !there; ++tries)
    there = prem_barrier_await(barrier, parity, NAP_NS);
  return there;
}

/** An instant comes so soon that a look at the launch's words, in L2, could keep its phase waiting:
 *  it is put off until the phase has begun, or is late. */
__device__ __forceinline__ bool is_near(int64_t due_ns, int64_t now_ns) {
  enum { QUIET_NS = 1024 };
  return (uint64_t)(due_ns - now_ns) < QUIET_NS;
}

/** All is ready and the instant near: nothing but the clock. One warp. */
__device__ __forceinline__ int64_t wait_until(int64_t at_ns) {
  const int64_t now = prem_clock_await(at_ns);
  __syncwarp();
  return now;
}

/** Best effort, in a loop that waits: while the gate holds this block back nothing comes soon, and
 *  the processor is for the critical task. */
#if PREM_GATED
__device__ __forceinline__ void held_nap(const block_state *own) {
  const volatile int32_t *held = own->held;
  if (__any_sync(FULL_WARP, held[STARTER] | held[WRITER]))
    __nanosleep(HELD_NS);
}
#else
__device__ __forceinline__ void held_nap(const block_state *) {}
#endif

/** tests/faults: be slow now, if this is who is slow (any lanes); and tell a witness of a start,
 * after its act (one lane), whom witness.cuh brings. */
#ifndef TTPREM_WITNESS
#ifdef TTPREM_FAULT_DELAY
__device__ __forceinline__ void fault_dwell(const block_state *own, int32_t who, int64_t = 0) {
  if (own->plan_block == who)
    prem_clock_await(prem_clock_ns() + TTPREM_FAULT_DELAY);
}
#else
__device__ __forceinline__ void fault_dwell(const block_state *, int32_t, int64_t = 0) {}
#endif

__device__ __forceinline__ void witness_tell(const block_state *, int32_t, int64_t, int64_t) {}
#endif

/** A phase's operands are at hand: until its instant. In best effort the gate has let it in. One
 *  lane. @return the reading that showed it */
__device__ __forceinline__ int64_t instant_await(const block_state *own, int32_t who,
                                                 int64_t due_ns) {
  const int64_t released_ns = PREM_GATED ? due_ns : prem_clock_await(due_ns);
  fault_dwell(own, who, due_ns);
  return released_ns;
}

/** An instant is far: sleep until it is near. @return false: stopped. */
__device__ __noinline__ bool far_sleep(int64_t due_ns) {
  block_state *own = shared();
  bool over = false;
  if (lane_number() == 0)
    while (!over && due_ns - prem_clock_ns() > 2 * LOOK_NS) {
      over = abort_look(own);
      __nanosleep(NAP_NS);
    }
  return !__any_sync(FULL_WARP, over);
}

__device__ __forceinline__ void count_publish(block_state *own, int32_t phase, uint32_t count) {
  prem_block_fence();
  *(volatile uint32_t *)&own->counts[phase] = count;
}

__device__ __forceinline__ needs needs_of(const table_position &at,
                                          const prem_device_record *record) {
  return needs{at.base[0] + (uint32_t)record->wait[0], at.base[1] + (uint32_t)record->wait[1],
               at.base[2] + (uint32_t)record->wait[2]};
}

__device__ __forceinline__ needs needs_in(const block_state *own, hyperperiod_number hyperperiod,
                                          const prem_device_record *record) {
  const uint32_t h = (uint32_t)hyperperiod;
  return needs{h * (uint32_t)own->phase_count[0] + (uint32_t)record->wait[0],
               h * (uint32_t)own->phase_count[1] + (uint32_t)record->wait[1],
               h * (uint32_t)own->phase_count[2] + (uint32_t)record->wait[2]};
}

/** Have phases been done as often as needed? */
__device__ __forceinline__ bool counts_reach(const uint4 &done, const needs &need) {
  return (int32_t)((done.x - need.prefetches) | (done.y - need.computes) |
                   (done.z - need.writebacks)) >= 0;
}

__device__ __forceinline__ uint32_t later(uint32_t a, uint32_t b) {
  return (int32_t)(a - b) > 0 ? a : b;
}

__device__ __forceinline__ needs needs_of_both(const needs &one, const needs &other) {
  return needs{later(one.prefetches, other.prefetches), later(one.computes, other.computes),
               later(one.writebacks, other.writebacks)};
}

__device__ __noinline__ void stall(block_state *own, prem_fault_code code, int32_t index,
                                   const prem_device_record *record, int64_t hyperperiod) {
  prem_fault_raise(own->launch.state, code, own->plan_block, index, record,
                   task_at(own, own->launch, record->task)->number, hyperperiod, counts_now(own).y,
                   prem_clock_ns() - own->start_ns);
  *(volatile uint32_t *)&own->counts[ABORT] = 1;
}

/** A wait is too long that lasts longer than the timeout, and as long after this instant: the
 *  planned start. Tokens are taken in any order: in mode lock it is the hyperperiod's end. */
__device__ __forceinline__ int64_t patience_from(const prem_launch &launch, int64_t origin_ns,
                                                 const prem_device_record *record) {
  return origin_ns + (launch.mode == PREM_MODE_LOCK ? launch.hyperperiod_ns : record->start_ns);
}

/** From time to time while a wait lasts: is the run over? Has it lasted too long? One warp.
 *  @param looks  at the same unmet conditions so far, this one included; 0: they are met. */
__device__ __noinline__ bool wait_look(int32_t looks, int32_t index, int32_t slot,
                                       hyperperiod_number hyperperiod) {
  block_state *own = shared();
  const int64_t timeout_ns = own->launch.stall_timeout_ns;
  const prem_device_record *record = record_at(own, slot);
  bool over = false;
  if (lane_number() == 0) {
    over = abort_look(own);
    const int64_t since_ns =
        prem_clock_ns() - patience_from(own->launch, origin_of(own, hyperperiod), record);
    if (!over && looks > 0 && (int64_t)looks * LOOK_NS > timeout_ns && since_ns > timeout_ns) {
      stall(own, PREM_FAULT_STALL, index, record, hyperperiod);
      over = true;
    }
  }
  return __any_sync(FULL_WARP, over);
}

/** The jobs that one of a lane's asks is about. */
struct awaited {
  const prem_device_end *end; /* NULL: there is nothing to wait for */
  uint32_t blocks;            /* that it has to count */
  int64_t lag_ns;
};

__device__ __forceinline__ awaited awaited_by(const prem_device_ask *ask, int64_t hyperperiod) {
  const int64_t jobs = hyperperiod * ask->jobs + ask->need;
  if (jobs <= 0)
    return awaited{nullptr, 0, 0};
  const int64_t last = jobs - 1, round = last >> ask->shift;
  return awaited{ask->ends + (last - (round << ask->shift)),
                 (uint32_t)(round + 1) * (uint32_t)ask->blocks, ask->lag_ns};
}

__device__ __forceinline__ bool has_ended(const awaited &job) {
  return (int32_t)(prem_load_acquire(&job.end->blocks) - job.blocks) >= 0;
}

/** Wait until what a record follows has ended on all blocks, a lane an edge, so that many cost what
 * one does. What it wrote is visible to this warp and its bulk copies then (job_tell). @return the
 * instant from which the record may start: the latest end + lag; 0 without a lag; -1: stopped. One
 * warp. */
__device__ __noinline__ int64_t follow(int32_t slot, int32_t index,
                                       hyperperiod_number hyperperiod) {
  block_state *own = shared();
  const prem_launch &launch = own->launch;
  const prem_device_record *record = record_at(own, slot);
  const prem_device_task *task = task_at(own, launch, record->task);
  const int32_t count = task->ask_count[record->phase];
  const prem_device_ask *asks =
      &launch.asks[first_ask_of(own, hyperperiod) + task->first_ask[record->phase] +
                   (int64_t)record->job * count];
  int64_t from_ns = 0;
#pragma unroll 1
  for (int32_t first = 0; first < count; first += 32) {
    awaited job = {nullptr, 0, 0};
    if (first + lane_number() < count)
      job = awaited_by(&asks[first + lane_number()], hyperperiod);
    bool open = job.end != nullptr;
    int64_t look_ns = 0;
    for (int32_t looks = 0;;) {
      open = open && !has_ended(job);
      if (!__any_sync(FULL_WARP, open))
        break;
      const int64_t now = prem_clock_ns();
      look_ns = look_ns ? look_ns : now + LOOK_NS;
      if (__any_sync(FULL_WARP, now > look_ns)) {
        look_ns = 0;
        if (wait_look(++looks, index, slot, hyperperiod))
          return -1;
      }
    }
    if (__any_sync(FULL_WARP, job.lag_ns > 0)) {
      int64_t end_ns = 0;
      if (job.lag_ns > 0)
        end_ns = *(const volatile long long *)&job.end->end_ns + job.lag_ns;
      for (int32_t step = 16; step > 0; step /= 2)
        end_ns = max((long long)end_ns, __shfl_xor_sync(FULL_WARP, (long long)end_ns, step));
      from_ns = max((long long)from_ns, (long long)end_ns);
    }
  }
  return from_ns;
}

} // namespace
