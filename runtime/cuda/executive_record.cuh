/* Of the executive: writing down what has been executed. */
#ifndef TTPREM_EXECUTIVE_RECORD_CUH
#define TTPREM_EXECUTIVE_RECORD_CUH

#include "executive_block.cuh"

namespace {

/** Take all that will be told of a phase from its record, before the ring goes on. One warp. */
__device__ __forceinline__ void slip_fill(const prem_launch &launch, slip *of,
                                          const prem_device_record *record, const cursor &at) {
  if (lane_number() != 0)
    return;
  const int32_t flags = record->flags;
  const int64_t planned_ns = at.origin_ns + record->start_ns;
  of->release_ns = has_release(launch, flags) ? planned_ns : PREM_NO_RELEASE;
  of->who = record->who;
  of->who.hyperperiod = at.hyperperiod;
  of->window_end_ns = planned_ns + record->window_ns;
  of->task = record->task;
  of->flags = flags;
  of->counts = !(flags & PREM_SLOT_WARMUP) && at.hyperperiod >= launch.discard;
}

/** The last record of a job on this block has ended: tell the others, keep the end. One lane. */
__device__ __noinline__ void job_finish(const slip *of) {
  control *own = shared();
  const prem_launch &launch = own->launch;
  const prem_device_task *task = task_at(own, launch, of->task);
  const int64_t hyperperiod = of->who.hyperperiod, end_ns = of->end_ns;
  const int32_t job = of->who.job;
  *(volatile long long *)&launch.done_at[task->first_done] = end_ns;
  prem_store_release((int64_t *)&launch.done_jobs[task->first_done],
                     hyperperiod * task->jobs + job + 1);
  atomicMax(&launch.job_end_ns[hyperperiod * launch.job_count + task->first_job + job],
            (long long)(end_ns - own->start_ns));
}

__device__ __forceinline__ int32_t histogram_bucket(int64_t lateness_ns) {
  return lateness_ns <= 0 ? 0 : min(64 - __clzll(lateness_ns), PREM_HIST_BUCKETS - 1);
}

/** Count a phase into its cell: a lane for each word. One warp. */
__device__ __forceinline__ void cell_add(const prem_launch &launch, prem_device_cell *cell,
                                         const slip *of) {
  const int32_t lane = lane_number();
  const bool tt = launch.mode == PREM_MODE_TT, timed = of->release_ns != PREM_NO_RELEASE;
  const int64_t duration_ns = of->end_ns - of->start_ns;
  const int64_t late_ns = timed ? of->start_ns - of->release_ns : INT64_MIN;
  const int64_t over_ns = tt ? of->end_ns - of->window_end_ns : 0;
  if (lane < 5) {
    int64_t *word = &cell->duration_sum_ns + lane;
    int64_t value = lane == 2 ? -duration_ns : duration_ns;
    value = lane == 3 ? late_ns : value;
    value = lane == 4 ? over_ns : value;
    const int64_t old = *word;
    *word = lane == 0 ? old + value : max((long long)old, (long long)value);
  } else if (lane < 10) {
    const bool adds = lane == 5 || (lane == 8 ? over_ns > 0 : timed);
    uint32_t *word =
        lane < 9 ? &cell->count + (lane - 5) : &cell->lateness_hist[histogram_bucket(late_ns)];
    if (adds && (lane != 7 || late_ns > launch.late_ns))
      ++*word;
  }
}

/** A phase has ended and its count is published: write it down. One warp, the same for all of a
 *  phase's slips; stores only, nothing waits for memory. */
__device__ __forceinline__ void slip_record(control *own, const prem_launch &launch,
                                            prem_phase phase, const slip *of) {
  constexpr int32_t WORDS = (int32_t)(sizeof(prem_trace_record) / 8);
  ledger *book = &own->ledgers[phase];
  const int32_t lane = lane_number();
  const int64_t recorded = book->recorded;
  if (recorded < book->capacity && lane < WORDS) {
    int64_t word = (&of->release_ns)[lane];
    if (lane < 4 && word != PREM_NO_RELEASE)
      word -= own->start_ns;
    ((int64_t *)&book->room[recorded])[lane] = word;
  }
  if (of->counts)
    cell_add(launch, cell_at(own, launch, of->task * PREM_PHASE_COUNT + phase), of);
  __syncwarp();
  if (lane == 0) {
    book->recorded = recorded + 1;
    book->warmups += (of->flags & PREM_SLOT_WARMUP) != 0;
  }
  __syncwarp();
}

} // namespace

#endif
