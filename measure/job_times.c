/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/job_times.h"

#include <stdlib.h>

#include "prem/base/numbers.h"

int64_t prem_response_ns(const prem_schedule *schedule, const prem_trace *trace,
                         int64_t hyperperiod, int32_t task, int64_t job) {
  const prem_task *of = &schedule->tasks[task];
  const int64_t release_ns = trace->epoch_ns[hyperperiod] + job * of->period_ns + of->release_ns;
  return trace->job_end_ns[hyperperiod * trace->job_count + trace->first_job[task] + job] -
         release_ns;
}

int64_t prem_makespan_ns(const prem_trace *trace, int64_t hyperperiod) {
  const int64_t *ends_ns = trace->job_end_ns + hyperperiod * trace->job_count;
  const int64_t epoch_ns = trace->epoch_ns[hyperperiod];
  int64_t last_ns = epoch_ns;
  for (int64_t j = 0; j < trace->job_count; ++j)
    last_ns = prem_max_i64(last_ns, ends_ns[j]);
  return last_ns - epoch_ns;
}

int64_t prem_phases_in(const prem_schedule *schedule) {
  int64_t count = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (schedule->tasks[t].phase[p].exists)
        count += prem_task_jobs(schedule, &schedule->tasks[t]) * schedule->tasks[t].tile_count;
  return count;
}

bool prem_find_whole(const prem_schedule *schedule, const prem_trace *trace, int64_t *until) {
  const int64_t phases = prem_phases_in(schedule);
  *until = trace->hyperperiod_capacity;
  if (trace->lost == 0)
    return true;
  int64_t *seen = calloc((size_t)trace->hyperperiod_capacity + 1, sizeof *seen);
  for (int64_t i = 0; i < trace->record_count && seen; ++i)
    if (trace->records[i].hyperperiod < trace->hyperperiod_capacity)
      ++seen[trace->records[i].hyperperiod];
  for (int64_t h = 0; h < trace->hyperperiod_capacity && seen; ++h)
    if (seen[h] < phases) {
      *until = h;
      break;
    }
  const bool room = seen;
  free(seen);
  return room;
}
