/* SPDX-License-Identifier: Apache-2.0 */
/* The times of counted hyperperiods, as they come: see campaign.h. */
#include "measure/campaign.h"
#include "measure/job_times.h"
#include "prem/base/list.h"

#include <stdlib.h>

bool prem_time_list_add(prem_time_list *list, int64_t ns) {
  return PREM_APPEND(list->ns, list->count, ns);
}

void prem_samples_free(prem_samples *samples, int32_t chains) {
  for (int32_t c = 0; samples->chains && c < chains; ++c)
    prem_chain_samples_free(&samples->chains[c]);
  PREM_FREE(samples->chains, samples->makespan.ns, samples->response.ns, samples->launch.ns,
            samples->away.ns);
  prem_trace_free(samples->last.trace);
}

/** Response times in the order of tasks and jobs, then the makespan, of one hyperperiod. */
static bool add_times(prem_samples *samples, const prem_schedule *schedule, const prem_trace *trace,
                      int64_t hyperperiod) {
  const int64_t *away_ns = trace->away_ns + hyperperiod * trace->job_count;
  for (int32_t t = 0; t < trace->task_count; ++t)
    for (int64_t j = 0; j < trace->first_job[t + 1] - trace->first_job[t]; ++j)
      if (!prem_time_list_add(&samples->response,
                              prem_response_ns(schedule, trace, hyperperiod, t, j)))
        return false;
  for (int64_t j = 0; j < trace->job_count; ++j)
    if (!prem_time_list_add(&samples->away, away_ns[j]))
      return false;
  return prem_time_list_add(&samples->makespan, prem_makespan_ns(trace, hyperperiod));
}

/** All times of a hyperperiod or, without memory, none: what was measured before still counts. */
bool prem_samples_add(prem_samples *samples, const prem_schedule *schedule, const prem_trace *trace,
                      int64_t hyperperiod) {
  const int64_t responses = samples->response.count, away = samples->away.count;
  if (add_times(samples, schedule, trace, hyperperiod))
    return true;
  samples->response.count = responses;
  samples->away.count = away;
  return false;
}
