/* SPDX-License-Identifier: Apache-2.0 */
/* Of the executive: writing down what has been executed. */
#pragma once

#include "runtime/cuda/device/best_effort.cuh"

namespace {

/** Take a phase's record from the ring, and where it stands. One warp. */
__device__ __forceinline__ void entry_fill(in_flight_phase *of, const prem_device_record *record,
                                           const standing &at, int64_t origin_ns) {
  constexpr int32_t WORDS = (int32_t)(sizeof(prem_device_record) / 16);
  const int32_t lane = lane_number();
  if (lane < WORDS)
    ((int4 *)&of->record)[lane] = ((const int4 *)record)[lane];
  if (lane == 0) {
    of->origin_ns = origin_ns;
    of->hyperperiod = at.hyperperiod;
    of->index = at.index;
    came_set(of, 0);
  }
}

/** Wait until the in_flight_phase of a phase is free: the one that had it before is written down.
 * The watcher does that whatever happens, as long as there is a unit that could wait for it. One
 * warp. */
__device__ __forceinline__ void entry_await(const volatile uint32_t *written, uint32_t number) {
  while (__any_sync(FULL_WARP, (int32_t)(*written - (number - (MAX_IN_FLIGHT - 1))) < 0)) {
  }
}

/** Wait until the in_flight_phase of a writeback is free: the one that had it before has landed and
 * is written down. @return false: stopped. One warp. */
__device__ __forceinline__ bool store_entry_await(block_state *own, uint32_t number) {
  const volatile uint32_t *written = &own->stores_written;
  while (__any_sync(FULL_WARP, (int32_t)(*written - (number - (MAX_IN_FLIGHT - 1))) < 0))
    if (__any_sync(FULL_WARP, *(volatile uint32_t *)&own->counts[ABORT]))
      return false;
  return true;
}

/** Whom the last phase of a job on this block tells its end, worked out before it has ended. */
struct job_end {
  int32_t word;    /* among the launch's; -1: nobody waits for it */
  bool keeps_end;  /* the word does */
  int64_t host_at; /* in job_end_ns; -1: it is not the last one */
};

__device__ __forceinline__ job_end job_end_of(block_state *own, const in_flight_phase *of) {
  const prem_launch &launch = own->launch;
  if (!(of->record.flags & PREM_RECORD_LAST))
    return job_end{-1, false, -1};
  const prem_device_task *task = task_at(own, launch, of->record.task);
  const int32_t job = of->record.job;
  const hyperperiod_number hyperperiod = of->hyperperiod;
  const int64_t host_at = row_of(own, hyperperiod) * launch.job_count + task->first_job + job;
  if (task->ends == nullptr)
    return job_end{-1, false, host_at};
  const uint32_t number = (uint32_t)hyperperiod * (uint32_t)task->jobs + (uint32_t)job;
  const prem_device_end *end = &task->ends[number & ((1u << task->ends_shift) - 1u)];
  return job_end{(int32_t)(end - launch.ends), task->keeps_end != 0, host_at};
}

/** It has ended: tell those who wait. Who wrote something has seen to it that bulk copies see it as
 * well, so that the others need no fence of their own. Then the host, for whom it need not be soon;
 * in a live session the courier, which reads the end when all blocks have noted it. One lane. */
__device__ __noinline__ void job_tell(job_end job, int64_t end_ns) {
  const prem_launch &launch = shared()->launch;
  if (job.word >= 0) {
    prem_device_end *end = &launch.ends[job.word];
    if (job.keeps_end)
      atomicMax(&end->end_ns, (long long)end_ns);
    prem_add_release(&end->blocks);
  }
  atomicMax(&launch.job_end_ns[job.host_at], (long long)(end_ns - shared()->start_ns));
  if (LIVE && job.word >= 0)
    prem_add_release(&launch.ends[job.word].noted);
}

/** The same of a phase that the watcher has seen end. One lane. */
__device__ __noinline__ void job_finish(const in_flight_phase *of) {
  job_tell(job_end_of(shared(), of), of->end_ns);
}

__device__ __forceinline__ int32_t histogram_bucket(int64_t lateness_ns) {
  return lateness_ns <= 0 ? 0 : min(64 - __clzll(lateness_ns), PREM_HIST_BUCKETS - 1);
}

/** Log a late release. One lane. */
__device__ __noinline__ void late_keep(const in_flight_phase *of, int64_t late_ns) {
  block_state *own = shared();
  prem_device_late *log = own->launch.late;
  if (prem_load_relaxed(&log->count) >= PREM_LATE_KEPT)
    return;
  const uint32_t at = atomicAdd(&log->count, 1u);
  if (at >= PREM_LATE_KEPT)
    return;
  prem_late_release *kept = &log->kept[at];
  kept->hyperperiod = (int32_t)of->hyperperiod;
  kept->tile = of->record.tile;
  kept->task = (uint16_t)task_at(own, own->launch, of->record.task)->number;
  kept->block = (uint16_t)own->plan_block;
  kept->late_ns = (uint32_t)min((long long)late_ns, 0xffffffffLL);
  kept->phase = of->record.phase;
}

/** Count a phase into its cell: five lanes, each two words. */
__device__ __forceinline__ void cell_add(block_state *own, const in_flight_phase *of, bool timed,
                                         int32_t lane) {
  const prem_launch &launch = own->launch;
  prem_device_cell *cell =
      cell_at(own, launch, of->record.task * PREM_PHASE_COUNT + of->record.phase);
  const bool tt = launch.mode == PREM_MODE_TT;
  const int64_t planned_ns = of->origin_ns + of->record.start_ns;
  const int64_t start_ns = of->released_ns + of->issue_ns;
  const int64_t duration_ns = of->end_ns - start_ns;
  const int64_t late_ns = start_ns - planned_ns;
  const int64_t over_ns = of->end_ns - planned_ns - of->record.window_ns;
  int64_t *time = &cell->duration_sum_ns + lane;
  const int64_t old = *time;
  int64_t value = lane == 2 ? -duration_ns : duration_ns;
  value = lane == 3 ? (timed ? late_ns : old) : value;
  value = lane == 4 ? (tt ? over_ns : old) : value;
  *time = lane == 0 ? old + value : max((long long)old, (long long)value);
  const bool adds = lane == 0 || (lane == 3 ? tt && over_ns > 0 : timed);
  uint32_t *count =
      lane < 4 ? &cell->count + lane : &cell->lateness_hist[histogram_bucket(late_ns)];
  if (adds && (lane != 2 || late_ns > launch.late_ns))
    ++*count;
  if (lane == 2 && timed && late_ns > launch.late_ns)
    late_keep(of, late_ns);
}

/** The same in best effort, where no phase has an instant: one lane, so that the watcher keeps up
 *  with many short tiles. What it is late with, the gate takes for the memory's time. */
__device__ __forceinline__ void cell_add_untimed(block_state *own, const in_flight_phase *of) {
  prem_device_cell *cell =
      cell_at(own, own->launch, of->record.task * PREM_PHASE_COUNT + of->record.phase);
  const int64_t duration_ns = of->end_ns - of->released_ns - of->issue_ns;
  cell->duration_sum_ns += duration_ns;
  cell->duration_max_ns = max((long long)cell->duration_max_ns, (long long)duration_ns);
  cell->duration_min_negated_ns =
      max((long long)cell->duration_min_negated_ns, (long long)-duration_ns);
  ++cell->count;
}

#if PREM_LIVE
/** A cell's counts would run over soon. One lane; stores only. */
__device__ __noinline__ void cell_fold(int32_t number) {
  block_state *own = shared();
  const prem_launch &launch = own->launch;
  volatile uint32_t *counts = &cell_at(own, launch, number)->count;
  prem_device_fold *fold = &own->live.folds[launch.blocks[own->plan_block].first_cell + number];
#pragma unroll 1
  for (int32_t i = 0; i < PREM_DEVICE_COUNTS; ++i) {
    atomicAdd((unsigned long long *)&fold->counts[i], counts[i]);
    counts[i] = 0;
  }
}

/** A phase was counted: a session may last for years. One warp. */
__device__ __forceinline__ void cell_keep_small(block_state *own, const in_flight_phase *of,
                                                int32_t lane) {
  const int32_t number = of != nullptr ? of->record.task * PREM_PHASE_COUNT + of->record.phase : 0;
  if (of != nullptr && lane == 0 && cell_at(own, own->launch, number)->count >= own->live.fold_at)
    cell_fold(number);
}
#else
__device__ __forceinline__ void cell_keep_small(block_state *, const in_flight_phase *, int32_t) {}
#endif

/* A record of the trace, word by word: its times in the order of a phase's in flight, then what
 * write_to_trace() puts together. */
static_assert(offsetof(in_flight_phase, ready_ns) == offsetof(in_flight_phase, origin_ns) + 8 &&
                  offsetof(in_flight_phase, released_ns) ==
                      offsetof(in_flight_phase, origin_ns) + 16 &&
                  offsetof(in_flight_phase, end_ns) == offsetof(in_flight_phase, origin_ns) + 24,
              "lane n takes the n-th time of a phase in flight");
static_assert(offsetof(prem_trace_record, release_ns) == 0 &&
                  offsetof(prem_trace_record, ready_ns) == 8 &&
                  offsetof(prem_trace_record, start_ns) == 16 &&
                  offsetof(prem_trace_record, end_ns) == 24,
              "lanes 0 to 3 write the times of a record");
static_assert(offsetof(prem_trace_record, hyperperiod) == 32 &&
                  offsetof(prem_trace_record, job) == 36,
              "lane 4 writes the hyperperiod, above it the job");
static_assert(offsetof(prem_trace_record, tile) == 40 && offsetof(prem_trace_record, task) == 44 &&
                  offsetof(prem_trace_record, block) == 46,
              "lane 5 writes the tile, above it task and block");
static_assert(offsetof(prem_trace_record, phase) == 48 &&
                  offsetof(prem_trace_record, flags) == 49 &&
                  offsetof(prem_trace_record, issue_ns) == 52,
              "lane 6 writes the phase, above it the flags, above them the issue");

/**
 * Phases have ended and their counts are published: write them down, one of each kind at most,
 * each by eight lanes at the same time as the others. NULL: none. One warp; stores only, nothing
 * waits for memory.
 */
__device__ __noinline__ void write_to_trace(const in_flight_phase *fetch,
                                            const in_flight_phase *compute,
                                            const in_flight_phase *store) {
  block_state *own = shared();
  const prem_launch &launch = own->launch;
  const int32_t group = lane_number() >> 3, lane = lane_number() & 7;
  const in_flight_phase *of = group == 0   ? fetch
                              : group == 1 ? compute
                              : group == 2 ? store
                                           : nullptr;
  if (LIVE && of != nullptr && (of->record.at_memory & PREM_DEVICE_EMPTY))
    of = nullptr;
  if (of != nullptr) {
    const prem_device_record *record = &of->record;
    trace_writer *book = &own->trace_writers[record->phase];
    const bool warms = (record->flags & PREM_SLOT_WARMUP) != 0;
    const bool timed = has_release(launch, record->flags);
    const int64_t recorded = book->recorded;
    constexpr int32_t WORDS = (int32_t)(sizeof(prem_trace_record) / 8);
    static_assert(WORDS == 7, "a lane for each word of a record");
    if (recorded < book->capacity && lane < WORDS) {
      int64_t word = (&of->origin_ns)[lane & 3]; /* ready, start, end in their places */
      if (lane == 0)
        word += record->start_ns;
      if (lane == 2)
        word += of->issue_ns;
      word = lane == 0 && !timed ? PREM_NO_RELEASE : word - own->start_ns;
      if (lane == 0 && came_at(of) > 0)
        word = came_at(of) - own->start_ns;
      if (lane == 4)
        word = (int64_t)record->job << 32 | (uint32_t)of->hyperperiod;
      if (lane == 5) {
        const uint32_t task = (uint32_t)task_at(own, launch, record->task)->number;
        const uint32_t who = task | (uint32_t)own->plan_block << 16;
        word = (int64_t)who << 32 | (uint32_t)record->tile;
      }
      if (lane == 6) {
        constexpr uint32_t KEPT = PREM_SLOT_CHAINED | PREM_SLOT_JOINED | PREM_SLOT_WARMUP;
        word = (int64_t)of->issue_ns << 32 | record->phase | (record->flags & KEPT) << 8;
      }
      ((int64_t *)&book->room[recorded])[lane] = word;
    }
    const bool counts = !warms && of->hyperperiod >= launch.discard;
    if (!PREM_GATED && counts && lane < 5)
      cell_add(own, of, timed, lane);
    if (PREM_GATED && lane == 0) {
      if (counts)
        cell_add_untimed(own, of);
      ended_count(own, of);
    }
  }
  __syncwarp(); /* all lanes have read how many are recorded */
  if (of != nullptr && lane == 7) {
    trace_writer *book = &own->trace_writers[of->record.phase];
    book->recorded += 1;
    book->warmups += (of->record.flags & PREM_SLOT_WARMUP) != 0;
  }
  cell_keep_small(own, of, lane);
  __syncwarp();
}

} // namespace
