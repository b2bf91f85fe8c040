/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: warps 3 and on, which compute. */
#pragma once

#include "kernels/kernel_headers.h"
#include "runtime/cuda/device/gates.cuh"
#include "runtime/cuda/device/record.cuh"
#include "runtime/cuda/device/tokens.cuh"

namespace {

/** The views of a record, four lanes a port. One warp. */
__device__ __forceinline__ void views_prepare(block_state *own, const prem_launch &launch,
                                              const prem_device_record *record) {
  const prem_device_task *task = task_at(own, launch, record->task);
  static_assert(PREM_MAX_RANK == 4 && 4 * PREM_MAX_PORTS <= 32, "four lanes for each port");
  const table_cursor *unit = &own->compute_table;
  const int32_t lane = lane_number(), number = lane >> 2, d = lane & 3;
  if (number >= task->port_count)
    return;
  const prem_device_port *port = port_at(own, launch, task->first_port + number);
  shared_view *view = view_at(own, launch, number);
  const bool is_output = port->is_output != 0;
  int64_t origin;
  int32_t extent;
  prem_window_at(&port->dim[d], is_output, record->index, &origin, &extent);
  view->origin[d] = origin;
  view->extent[d] = extent;
  if (d < 3)
    view->pitch[d] = port->dim[d].pitch;
  else
    view->at = launch.buffers_at + port->offset_bytes + prem_lead_bytes(port, origin) +
               (is_output ? unit->out_at[record->out_buffer] : unit->in_at[record->in_buffer]);
}

#define PREM_KERNEL(NAME, FAMILY)    KERNEL_##NAME,
#define PREM_COMPATIBLE_KERNEL(NAME) KERNEL_##NAME,
enum kernel_number {
#include "kernels/kernels.def"
  KERNEL_COUNT
};
#undef PREM_COMPATIBLE_KERNEL
#undef PREM_KERNEL

/** The current tile's views. They are rebuilt in each kernel's own code, so that the compiler sees
 *  that their data is in the scratchpad, and loads only what the kernel uses. */
__device__ __forceinline__ void views_load(block_state *own, const prem_launch &launch,
                                           prem_view views[PREM_MAX_PORTS]) {
#pragma unroll
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p) {
    const shared_view *from = view_at(own, launch, p);
    views[p].data = bytes_at(own, from->at);
    views[p].reserved = 0;
#pragma unroll
    for (int32_t d = 0; d < 4; ++d) {
      views[p].extent[d] = from->extent[d];
      views[p].origin[d] = from->origin[d];
      if (d < 3)
        views[p].pitch[d] = from->pitch[d];
    }
  }
}

/** A compatible interval's views: the windows where they lie in their arrays. Behind the task's
 * ports lies what nobody reads: unsigned, so that it may be anything. */
__device__ __forceinline__ void views_place(block_state *own, const prem_device_task *task,
                                            prem_view views[PREM_MAX_PORTS]) {
  views_load(own, own->launch, views);
#pragma unroll
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p) {
    const prem_device_port *port = port_at(own, own->launch, task->first_port + p);
    uint64_t at = 0;
#pragma unroll
    for (int32_t d = 0; d < 4; ++d)
      at += (uint64_t)views[p].origin[d] * (uint64_t)port->dim[d].pitch_bytes;
    at += slot_shift_bytes(own, p);
    views[p].data = port->array + at;
  }
}

__device__ __forceinline__ void interval_dispatch(block_state *own, const prem_device_task *task) {
  switch (task->kernel) {
#define PREM_KERNEL(NAME, FAMILY)
#define PREM_COMPATIBLE_KERNEL(NAME)                                                               \
  case KERNEL_##NAME: {                                                                            \
    prem_view views[PREM_MAX_PORTS];                                                               \
    views_place(own, task, views);                                                                 \
    NAME##_compute((const NAME##_params *)task->params, views);                                    \
    break;                                                                                         \
  }
#include "kernels/kernels.def"
#undef PREM_COMPATIBLE_KERNEL
#undef PREM_KERNEL
  default:
    break;
  }
}

/** A compatible interval, given its record in the ring. What its threads wrote is in the arrays,
 * and visible to all blocks and their bulk copies, when they return. The compute warps. It is
 * called, so that its registers do not count with the tiled kernels'. */
__device__ __noinline__ void interval_compute(int32_t slot) {
  block_state *own = shared();
  volatile int32_t *computing = &own->computing;
  if (PREM_FIRST_LANE())
    *computing = AT_INTERVAL + slot;
  interval_dispatch(own, task_at(own, own->launch, own->compute.records[slot].task));
  prem_store_publish();
  prem_meet((int32_t)blockDim.x - PREM_MEMORY_THREADS);
  if (PREM_FIRST_LANE())
    *computing = 1;
}

/** A tiled kernel's code, by its number. */
template <int32_t NUMBER> struct tiled_kernel;
#define PREM_COMPATIBLE_KERNEL(NAME)
#define PREM_KERNEL(NAME, FAMILY)                                                                  \
  template <> struct tiled_kernel<KERNEL_##NAME> {                                                 \
    static __device__ __forceinline__ void compute(block_state *own, const prem_launch &launch,    \
                                                   const prem_device_task *task) {                 \
      prem_view views[PREM_MAX_PORTS];                                                             \
      views_load(own, launch, views);                                                              \
      NAME##_compute((const NAME##_params *)task->params, views);                                  \
    }                                                                                              \
  };
#include "kernels/kernels.def"
#undef PREM_KERNEL
#undef PREM_COMPATIBLE_KERNEL

/** Has this executive the kernels of a family? */
#ifdef PREM_EXECUTIVE_FAMILY
constexpr bool has_family(prem_kernel_family family) {
  return PREM_EXECUTIVE_FAMILY == PREM_FAMILY_separate || family == PREM_EXECUTIVE_FAMILY ||
         family == PREM_FAMILY_common;
}
#else
constexpr bool has_family(prem_kernel_family family) {
  return family != PREM_FAMILY_separate;
}
#endif

/** The numbers of its tiled kernels, in their order. */
struct kernel_list {
  int32_t numbers[KERNEL_COUNT + 1] = {};
  int32_t count = 0;
  constexpr kernel_list() {
#define PREM_COMPATIBLE_KERNEL(NAME)
#define PREM_KERNEL(NAME, FAMILY)                                                                  \
  if (has_family(PREM_FAMILY_##FAMILY))                                                            \
    numbers[count++] = KERNEL_##NAME;
#include "kernels/kernels.def"
#undef PREM_KERNEL
#undef PREM_COMPATIBLE_KERNEL
  }
};

/** One of COUNT kernels, halved until one is left: a `switch` would jump by a table, which a warp
 * reads from constant memory each time. */
template <int32_t FIRST, int32_t COUNT>
__device__ __forceinline__ void tiled_dispatch(block_state *own, const prem_launch &launch,
                                               const prem_device_task *task, int32_t kernel) {
  constexpr kernel_list tiled;
  constexpr int32_t HALF = COUNT / 2, MIDDLE = tiled.numbers[FIRST + HALF];
  if constexpr (COUNT == 1)
    tiled_kernel<MIDDLE>::compute(own, launch, task);
  else if (kernel < MIDDLE)
    tiled_dispatch<FIRST, HALF>(own, launch, task, kernel);
  else
    tiled_dispatch<FIRST + HALF, COUNT - HALF>(own, launch, task, kernel);
}

__device__ __forceinline__ bool is_interval(int32_t kernel) {
#define PREM_KERNEL(NAME, FAMILY)
#define PREM_COMPATIBLE_KERNEL(NAME) || kernel == KERNEL_##NAME
  return false
#include "kernels/kernels.def"
      ;
#undef PREM_COMPATIBLE_KERNEL
#undef PREM_KERNEL
}

#if PREM_SERVES
/** Called: of two loops that compute, each would have all kernels. */
__device__ __noinline__ void tiled_call(int32_t task) {
  constexpr kernel_list tiled;
  block_state *own = shared();
  const prem_device_task *of = task_at(own, own->launch, task);
  tiled_dispatch<0, tiled.count>(own, own->launch, of, of->kernel);
}
__device__ __forceinline__ void tiled_work(block_state *own, const prem_launch &launch,
                                           const prem_device_task *task) {
  tiled_call((int32_t)(task - task_at(own, launch, 0)));
}
#else
__device__ __forceinline__ void tiled_work(block_state *own, const prem_launch &launch,
                                           const prem_device_task *task) {
  constexpr kernel_list tiled;
  if constexpr (tiled.count > 0)
    tiled_dispatch<0, tiled.count>(own, launch, task, task->kernel);
}
#endif

template <bool INTERVALS>
__device__ __forceinline__ void compute_dispatch(block_state *own, const prem_launch &launch,
                                                 const prem_device_task *task, int32_t slot) {
  if (INTERVALS && is_interval(task->kernel))
    interval_compute(slot);
  else
    tiled_work(own, launch, task);
}

/** Does a compute take tokens? */
template <bool INTERVALS>
__device__ __forceinline__ bool compute_locks(const prem_launch &launch,
                                              const prem_device_record *record) {
  /* in a run there is no other bit */
  const bool is_at_memory =
      LIVE ? (record->at_memory & PREM_DEVICE_AT_MEMORY) != 0 : record->at_memory != 0;
  return INTERVALS && !PREM_GATED && launch.mode == PREM_MODE_LOCK && is_at_memory;
}

/** The first compute warp takes the tokens of a compute that may start now.
 *  @return its start; -1: stopped. */
__device__ __forceinline__ int64_t compute_lock(const table_position &at) {
  const int32_t slot = COMPUTES + at.slot;
  return tokens_take(slot, slot, at.index, at.hyperperiod) ? prem_clock_ns() : -1;
}

/** Does a compute read a prefetch of this run? Then `*number` is its number. */
__device__ __forceinline__ bool compute_reads(const block_state *own, const table_position &at,
                                              const prem_device_record *record, uint32_t *number) {
  const int32_t wait = record->wait[PREM_PREFETCH];
  *number = at.base[PREM_PREFETCH] + (uint32_t)wait - 1u;
  if (wait > 0 || at.hyperperiod == 0 || wait == PREM_DEVICE_NO_WAIT)
    return wait > 0;
  return (int64_t)at.hyperperiod * own->phase_count[PREM_PREFETCH] + wait > 0;
}

/** A compute's instant is near. All warps meet before it, and wait for it themselves; in mode lock
 *  the first one takes the tokens first. @return its start, as far as that is known; -1: stopped.
 */
template <bool INTERVALS>
__device__ __forceinline__ int64_t compute_call(block_state *own, const prem_launch &launch,
                                                const table_position &at,
                                                const prem_device_record *record, int64_t due_ns) {
  if (compute_locks<INTERVALS>(launch, record)) {
    wait_until(due_ns);
    return compute_lock(at);
  }
  const int64_t met_ns = wait_until(due_ns - MEET_NS);
  if (lane_number() == 0)
    own->due_ns = due_ns > met_ns ? due_ns : 0;
  return met_ns;
}

/** The first compute warp brings a compute to its start; lane 0 decides, and knows the times.
 *  @param reads   it reads the prefetch of that number. @return its start; -1: stopped. */
template <bool INTERVALS>
__device__ __forceinline__ int64_t compute_wait(block_state *own, const prem_launch &launch,
                                                const table_position &at,
                                                const prem_device_record *record, bool reads,
                                                uint32_t number, int64_t *ready_ns) {
  const needs need = needs_of(at, record);
  int64_t from_ns = 0;
  if (record->flags & PREM_RECORD_AFTER) /* none that has a prefetch: that has asked */
    from_ns = follow(COMPUTES + at.slot, at.index, at.hyperperiod);
  if (from_ns < 0)
    return -1;
  uint32_t look = (uint32_t)prem_clock_ns() + LOOK_NS;
  int32_t looks = 0;
  enum compute_act : int32_t { NOTHING, LOOK, START, STOP };
  const int64_t due_ns =
      max((long long)earliest_start(launch, at.origin_ns, record, 0), (long long)from_ns);
  *ready_ns = -1;
  if (lane_number() == 0)
    own->due_ns = 0;
#pragma unroll 1
  for (;;) {
    const uint4 done = counts_now(own);
    bool met = (int32_t)((done.y - need.computes) | (done.z - need.writebacks)) >= 0;
    if (met && reads)
      met = prem_barrier_await(&own->full[number % RING], number / RING & 1u, NAP_NS);
    const int64_t now = prem_clock_ns();
    int32_t act = (int32_t)((uint32_t)now - look) < 0 || is_near(due_ns, now) ? NOTHING : LOOK;
    if (met) {
      *ready_ns = *ready_ns < 0 ? now : *ready_ns;
      act = due_ns - now < LOOK_NS ? START : act;
    }
    if (done.w != 0)
      act = STOP;
    act = __shfl_sync(FULL_WARP, act, 0);
    if (act == NOTHING) {
      held_nap(own);
      continue;
    }
    if (act == STOP)
      return -1;
    if (act == START)
      return compute_call<INTERVALS>(own, launch, at, record, due_ns);
    look = (uint32_t)now + LOOK_NS;
    looks = *ready_ns < 0 ? looks + 1 : 0;
    if (wait_look(looks, at.index, COMPUTES + at.slot, at.hyperperiod))
      return -1;
  }
}

/** Make all ready that a compute needs but its data: its views, its entry, the records behind it.
 * The warp that prepares. */
__device__ __forceinline__ void compute_prepare(block_state *own, const prem_launch &launch,
                                                const table_position &at,
                                                const prem_device_record *record,
                                                in_flight_phase *of, uint32_t number) {
  views_prepare(own, launch, record);
  entry_await(&own->computes_written, number);
  entry_fill(of, record, standing_of(at), at.origin_ns);
  if (number > 0 && (at.slot & (CHUNK - 1)) == 0) /* the other half is free now */
    ring_load(false, at.count, (at.slot ^ CHUNK) / CHUNK);
}

/** Wait until a compute may start, and say to all whether it does. The warp that leads. @return its
 * start. */
template <bool INTERVALS>
__device__ __forceinline__ int64_t compute_release(block_state *own, const prem_launch &launch,
                                                   const table_position &at,
                                                   const prem_device_record *record, bool reads,
                                                   uint32_t fetched, int64_t *ready_ns) {
  /* an interval's tickets come before its release, a prefetch has asked for all others */
  ticket_verdict verdict =
      INTERVALS && is_gated(record) ? interval_gate(at.slot, at.hyperperiod) : TICKETS_RUN;
  const int64_t start_ns =
      verdict == TICKETS_STOPPED
          ? -1
          : compute_wait<INTERVALS>(own, launch, at, record, reads, fetched, ready_ns);
  if (verdict == TICKETS_RUN)
    verdict = fetch_verdict(own, record, reads, fetched);
  if (lane_number() == 0)
    own->go = start_ns < 0 ? 0 : (int32_t)verdict;
  return start_ns;
}

/** Its data is there: each lane looks itself, so that it sees the bytes. */
__device__ __forceinline__ void data_await(block_state *own, bool reads, uint32_t fetched) {
  while (reads && !prefetch_there(own, fetched)) {
  }
}

/** They have met, and begin at the instant. `ready_ns`, `start_ns`: what the warp that leads knows.
 *  @return whether the job is skipped. */
__device__ __forceinline__ bool compute_begin(block_state *own, const prem_device_record *record,
                                              in_flight_phase *of, bool leads, bool reads,
                                              uint32_t fetched, int64_t ready_ns,
                                              int64_t start_ns) {
  const bool skips = LIVE && own->go == TICKETS_SKIP;
  if (PREM_FIRST_LANE() && is_gated(record) && (skips || has_skipped(own)))
    compute_judge(record, of, skips);
  if (own->due_ns > 0)
    start_ns = prem_clock_await(own->due_ns);
  int64_t begun_ns = 0;
  if (leads) {
    fault_dwell(own, DELAY_COMPUTE, own->due_ns);
    begun_ns = prem_clock_ns();
  }
  data_await(own, reads, fetched);
  if (PREM_FIRST_LANE()) { /* its entry is free now */
    of->ready_ns = ready_ns;
    of->released_ns = start_ns;
    of->issue_ns = (uint32_t)(begun_ns - start_ns);
    witness_tell(own, DELAY_COMPUTE, own->due_ns, begun_ns);
  }
  return skips;
}

/** Its views depend on what a prefetch brought. `prepares`: this warp aims them. */
__device__ __forceinline__ void views_await(const table_position &at, bool prepares,
                                            int32_t threads) {
  if (prepares)
    views_aim(at.slot);
  prem_meet(threads);
}

/** Do the work, unless its job is skipped, until all lanes have done it and seen the records behind
 * it. */
template <bool INTERVALS>
__device__ __forceinline__ void compute_work(block_state *own, const prem_launch &launch,
                                             const table_position &at, const prem_device_task *task,
                                             bool skips, bool prepares, int32_t threads) {
  if (!skips)
    compute_dispatch<INTERVALS>(own, launch, task, at.slot);
  prem_fence_async_scratch();
  if (prepares && chunk_ends(at))
    ring_arrive();
  prem_meet(threads);
}

/** It is done: stamp that, and count it. */
__device__ __forceinline__ void compute_end(block_state *own, in_flight_phase *of,
                                            uint32_t number) {
  if (PREM_FIRST_LANE()) {
    of->end_ns = prem_clock_ns();
    count_publish(own, PREM_COMPUTE, number);
  }
}

/**
 * Between two computes these warps have parts of their own, at the same time: the first counts the
 * last one and waits for the next, the second (where there is one) prepares all that the next one
 * needs.
 */
template <bool INTERVALS>
__device__ __forceinline__ void compute_warps(block_state *own, const prem_launch &launch) {
  const int32_t threads = (int32_t)blockDim.x - PREM_MEMORY_THREADS;
  const int32_t warp = PREM_LANE / 32;
  const bool leads = warp == 0, prepares = warp == (threads > 32);
  table_position at = position_at_start(own, own->compute_count);
  uint32_t number = 0; /* computes done */
  if (at.count == 0)
    return;
  if (prepares)
    ring_start(false, at.count);
  prem_meet(threads);
#pragma unroll 1
  while (at.hyperperiod < launch.hyperperiods) {
    if (at.index == 0 && !computes_begin(own, &at, leads, prepares, number == 0))
      return;
    const prem_device_record *record = &own->compute.records[at.slot];
    const prem_device_task *task = task_at(own, launch, record->task);
    in_flight_phase *of = &own->computes[number % MAX_IN_FLIGHT];
    uint32_t fetched;
    const bool reads = compute_reads(own, at, record, &fetched);
    if (prepares)
      compute_prepare(own, launch, at, record, of, number);
    int64_t ready_ns, start_ns;
    if (leads)
      start_ns = compute_release<INTERVALS>(own, launch, at, record, reads, fetched, &ready_ns);
    prem_meet(threads);
    if (!own->go)
      return;
    const bool skips = compute_begin(own, record, of, leads, reads, fetched, ready_ns, start_ns);
    if (is_aimed(record))
      views_await(at, prepares && !skips, threads);
    const bool locks = leads && compute_locks<INTERVALS>(launch, record);
    const int32_t user = record->task; /* when they have met the record may be another */
    fault_dwell(own, DELAY_COMPUTING);
    compute_work<INTERVALS>(own, launch, at, task, skips, prepares, threads);
    compute_end(own, of, ++number);
    if (locks)
      tokens_give(token_user{user, PREM_COMPUTE, user, PREM_COMPUTE});
    position_step(own, &at);
    if (prepares && at.index == 0 && own->rotates)
      rotate_buffers(false);
  }
}

} // namespace
