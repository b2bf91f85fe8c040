/* Of the executive: writing down what has been executed. */
#ifndef TTPREM_EXECUTIVE_RECORD_CUH
#define TTPREM_EXECUTIVE_RECORD_CUH

#include "executive_block.cuh"

namespace {

__device__ __forceinline__ int32_t histogram_bucket(int64_t lateness_ns) {
  return lateness_ns <= 0 ? 0 : min(64 - __clzll(lateness_ns), PREM_HIST_BUCKETS - 1);
}

__device__ __forceinline__ void cell_add(const prem_launch &launch, const flight *of,
                                         int64_t end_ns) {
  prem_device_cell *cell = cell_at(launch, of->task * PREM_PHASE_COUNT + of->phase);
  const int64_t start_ns = of->out.start_ns, release_ns = of->out.release_ns;
  const int64_t duration = end_ns - start_ns;
  ++cell->count;
  cell->duration_sum_ns += duration;
  cell->duration_min_ns = min((long long)cell->duration_min_ns, (long long)duration);
  cell->duration_max_ns = max((long long)cell->duration_max_ns, (long long)duration);
  if (launch.mode != PREM_MODE_TT)
    return;
  const int64_t over_ns = end_ns - of->planned_end_ns;
  if (over_ns > 0) {
    ++cell->overruns;
    cell->overrun_max_ns = max((long long)cell->overrun_max_ns, (long long)over_ns);
  }
  if (release_ns == PREM_NO_RELEASE)
    return;
  const int64_t lateness = start_ns - release_ns;
  ++cell->releases;
  cell->late += lateness > launch.late_ns;
  cell->lateness_max_ns = max((long long)cell->lateness_max_ns, (long long)lateness);
  ++cell->lateness_hist[histogram_bucket(lateness)];
}

/** All that is known of a phase when it starts. One warp. Called rather than part of the loops, as
 *  is all that is not urgent: the urgent rest keeps to its registers. */
__device__ __noinline__ void flight_begin(int32_t number, int32_t slot, int32_t hyperperiod,
                                          int64_t origin_ns, int64_t release_ns, int64_t ready_ns,
                                          int64_t start_ns) {
  const prem_launch &launch = shared()->launch;
  flight *of = &shared()->flights[number];
  const prem_device_record *record = record_at(slot);
  if (lane_number() == 0) {
    const prem_device_task *task = task_at(launch, record->task);
    const int64_t s = shared()->start_ns;
    const int32_t flags = record->flags;
    of->out.release_ns = has_release(launch, flags) ? release_ns - s : PREM_NO_RELEASE;
    of->out.ready_ns = ready_ns - s;
    of->out.start_ns = start_ns - s;
    of->out.hyperperiod = hyperperiod;
    of->out.job = record->job;
    of->out.tile = record->tile;
    of->out.task = (uint16_t)task->number;
    of->out.block = (uint16_t)shared()->plan_block;
    of->out.phase = record->phase;
    of->out.flags = (uint8_t)(flags & (PREM_SLOT_CHAINED | PREM_SLOT_JOINED | PREM_SLOT_WARMUP));
    of->planned_end_ns = origin_ns - s + record->end_ns;
    of->done = (flags & PREM_RECORD_LAST) != 0;
    of->task = record->task;
    of->phase = record->phase;
    of->counts = !(flags & PREM_SLOT_WARMUP) && hyperperiod >= launch.discard;
  }
  __syncwarp();
}

/** The last record of a job on this block has ended: tell the others, keep the end. */
__device__ __noinline__ void job_finish(int32_t number, int64_t end_ns) {
  const prem_launch &launch = shared()->launch;
  const flight *of = &shared()->flights[number];
  const prem_device_task *task = task_at(launch, of->task);
  const int64_t hyperperiod = of->out.hyperperiod;
  const int32_t job = of->out.job;
  *(volatile long long *)&launch.done_at[task->first_done] = end_ns;
  prem_store_release((int64_t *)&launch.done_jobs[task->first_done],
                     hyperperiod * task->jobs + job + 1);
  atomicMax(&launch.job_end_ns[hyperperiod * launch.job_count + task->first_job + job],
            (long long)(end_ns - shared()->start_ns));
}

/** A phase has ended and its count is published: write it down. One warp; stores only, nothing
 *  waits for memory. */
__device__ __noinline__ void flight_record(int32_t number, int64_t end_ns) {
  const flight *of = &shared()->flights[number];
  books *unit = number < FLIGHTS ? &shared()->memory_books : &shared()->compute_books;
  const prem_launch &launch = shared()->launch;
  constexpr int32_t WORDS = (int32_t)(sizeof(prem_trace_record) / 8);
  const int32_t lane = lane_number();
  const int64_t from_start_ns = end_ns - shared()->start_ns;
  const int64_t recorded = unit->recorded;
  if (recorded < unit->capacity && lane < WORDS) {
    constexpr int32_t END = (int32_t)(offsetof(prem_trace_record, end_ns) / 8);
    const int64_t word = ((const volatile int64_t *)&of->out)[lane];
    ((int64_t *)&unit->room[recorded])[lane] = lane == END ? from_start_ns : word;
  }
  __syncwarp();
  if (lane == 0) {
    unit->recorded = recorded + 1;
    if (of->counts)
      cell_add(launch, of, from_start_ns);
    else if (of->out.flags & PREM_SLOT_WARMUP)
      ++unit->warmups;
  }
  __syncwarp();
}

} // namespace

#endif
