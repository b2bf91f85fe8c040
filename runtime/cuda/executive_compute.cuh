/* Of the executive: the compute warps. */
#ifndef TTPREM_EXECUTIVE_COMPUTE_CUH
#define TTPREM_EXECUTIVE_COMPUTE_CUH

#include "executive_record.cuh"
#include "kernel_headers.h"

namespace {

/** The views of a record, four lanes a port. One warp. */
__device__ __forceinline__ void views_prepare(const prem_launch &launch,
                                              const prem_device_record *record) {
  const prem_device_task *task = task_at(launch, record->task);
  const books *unit = &shared()->compute_books;
  const int32_t lane = lane_number(), number = lane >> 2, d = lane & 3;
  if (number >= task->port_count)
    return;
  const prem_device_port *port = port_at(launch, task->first_port + number);
  shared_view *view = &shared()->views[number];
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

#define PREM_KERNEL(NAME) KERNEL_##NAME,
enum kernel_number {
#include "kernels.def"
  KERNEL_COUNT
};
#undef PREM_KERNEL

/** The current tile's views. They are rebuilt in each kernel's own code, so that the compiler sees
 *  that their data is in the scratchpad, and loads only what the kernel uses. */
__device__ __forceinline__ void views_load(prem_view views[PREM_MAX_PORTS]) {
#pragma unroll
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p) {
    const shared_view *from = &shared()->views[p];
    views[p].data = scratch + from->at;
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

__device__ __forceinline__ void compute_dispatch(const prem_device_task *task) {
  switch (task->kernel) {
#define PREM_KERNEL(NAME)                                                                          \
  case KERNEL_##NAME: {                                                                            \
    prem_view views[PREM_MAX_PORTS];                                                               \
    views_load(views);                                                                             \
    NAME##_compute((const NAME##_params *)task->params, views);                                    \
    break;                                                                                         \
  }
#include "kernels.def"
#undef PREM_KERNEL
  default:
    break;
  }
}

__device__ __forceinline__ void compute_meet(int32_t threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/** Does a compute read a prefetch of this run? Then `*sequence` is its number. */
__device__ __forceinline__ bool compute_reads(const cursor &at, const prem_device_record *record,
                                              uint32_t *sequence) {
  const int32_t wait = record->wait[PREM_PREFETCH];
  const int64_t before = (int64_t)at.hyperperiod * shared()->phase_count[PREM_PREFETCH];
  *sequence = at.base[PREM_PREFETCH] + (uint32_t)wait - 1u;
  return wait != PREM_DEVICE_NO_WAIT && before + wait > 0;
}

__device__ __forceinline__ bool prefetch_there(uint32_t sequence) {
  return prem_barrier_test(&shared()->full[sequence % RING], sequence / RING & 1u);
}

/** Warp 0 brings a compute to its start. @return its start; -1: stopped. */
__device__ __forceinline__ int64_t compute_wait(const prem_launch &launch, const cursor &at,
                                                const prem_device_record *record,
                                                int64_t *ready_ns) {
  const int64_t release_ns = earliest_start(launch, at, record);
  const needs need = needs_of(at, record);
  uint32_t sequence;
  const bool reads = compute_reads(at, record, &sequence);
  bool after = has_after(launch, record);
  int64_t ready = -1, look_ns = 0;
  int32_t looks = 0;
#pragma unroll 1
  for (;;) {
    const uint4 done = counts_now();
    bool met = (int32_t)((done.y - need.computes) | (done.z - need.writebacks)) >= 0;
    met = met && (!reads || prefetch_there(sequence));
    if (__any_sync(FULL_WARP, done.w != 0))
      return -1;
    int64_t from_ns = 0;
    if (after && __all_sync(FULL_WARP, met)) {
      from_ns = after_wait(COMPUTES + at.slot, COMPUTES + at.slot, at.hyperperiod);
      after = from_ns < 0;
    }
    const int64_t now = prem_clock_ns();
    met = met && !after;
    if (met && ready < 0)
      ready = max((long long)now, (long long)from_ns);
    const int64_t due_ns = max((long long)release_ns, (long long)ready);
    if (__all_sync(FULL_WARP, met && due_ns - now < LOOK_NS)) {
      *ready_ns = ready;
      return wait_until(due_ns);
    }
    if (look_ns == 0)
      look_ns = now + LOOK_NS;
    if (!__any_sync(FULL_WARP, now > look_ns))
      continue;
    look_ns = now + LOOK_NS;
    ++looks;
    if (wait_look(met ? 0 : looks, at.index, COMPUTES + at.slot, at.hyperperiod, at.origin_ns))
      return -1;
  }
}

/** A compute has ended: write it down. The warp that does so. */
__device__ __forceinline__ void compute_record(const prem_launch &launch, const cursor &at,
                                               const prem_device_record *record, uint32_t number) {
  const int64_t end_ns = prem_clock_ns();
  const flight *computed = &shared()->flights[FLIGHTS];
  const int64_t *stamps = shared()->stamps[number & 1u];
  flight_begin(FLIGHTS, COMPUTES + at.slot, at.hyperperiod, at.origin_ns,
               earliest_start(launch, at, record), stamps[0], stamps[1]);
  if (computed->done && lane_number() == 0)
    job_finish(FLIGHTS, end_ns);
  __syncwarp();
  flight_record(FLIGHTS, end_ns);
}

/**
 * Between two computes the warps have parts of their own, at the same time: warp 0 counts the last
 * one and waits for the next, the second warp prepares the next one's views, the third writes the
 * last one down (where there are fewer, one warp has several parts).
 */
__device__ __forceinline__ void compute_warps(const prem_launch &launch, cursor at,
                                              int32_t threads) {
  record_ring *ring = &shared()->compute;
  const int32_t warp = (int32_t)threadIdx.x / 32, warps = threads / 32;
  const bool leads = warp == 0, views = warp == 1 % warps, writes = warp == 2 % warps;
  uint32_t number = 0; /* computes done */
  if (at.count == 0)
    return;
  if (leads)
    ring_start(&shared()->compute_books, at.count, ring);
  compute_meet(threads);
  while (at.hyperperiod < launch.hyperperiods) {
    const prem_device_record *record = &ring->records[at.slot];
    if (views)
      views_prepare(launch, record);
    if (leads) {
      int64_t ready_ns = 0;
      const int64_t start_ns = compute_wait(launch, at, record, &ready_ns);
      if (lane_number() == 0) {
        shared()->stamps[number & 1u][0] = ready_ns;
        shared()->stamps[number & 1u][1] = start_ns;
        shared()->go = start_ns >= 0;
      }
    }
    compute_meet(threads);
    if (!shared()->go)
      return;
    if (leads && number > 0 && (at.slot & (CHUNK - 1)) == 0) /* the other half is free now */
      ring_load(&shared()->compute_books, at.count, ring, (at.slot ^ CHUNK) / CHUNK);
    uint32_t sequence;
    if (compute_reads(at, record, &sequence))
      while (!prefetch_there(sequence)) {
      }
    compute_dispatch(task_at(launch, record->task));
    prem_fence_async();
    if (leads && chunk_ends(at)) /* the next chunk: there, and seen by all after they met */
      ring_arrive();
    compute_meet(threads);
    ++number;
    if (threadIdx.x == 0) {
      __threadfence_block();
      count_publish(PREM_COMPUTE, number);
    }
    if (writes)
      compute_record(launch, at, record, number - 1u);
    cursor_step(launch, &at);
    if (views && at.index == 0 && shared()->turns)
      buffers_turn(launch, &shared()->compute_books);
  }
}

} // namespace

#endif
