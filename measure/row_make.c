/* SPDX-License-Identifier: Apache-2.0 */
/* An empty row: see campaign.h. */
#include "measure/beside.h"
#include "measure/campaign.h"
#include "prem/base/numbers.h"

#include <stdlib.h>
#include <string.h>

/** What the plan promises for `memory`: never two memory phases at once if any two of them together
 *  ask for more than there is. */
static prem_exclusivity plan_exclusivity(const prem_schedule *schedule) {
  const prem_resource *memory = &schedule->platform.resources[0];
  int64_t min = INT64_MAX;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = PREM_PREFETCH; p <= PREM_WRITEBACK; p += PREM_WRITEBACK - PREM_PREFETCH) {
      const prem_phase_spec *spec = &schedule->tasks[t].phase[p];
      if (!spec->exists)
        continue;
      if (spec->busy_ns > 0 && spec->busy_ns < spec->wcet_ns)
        return PREM_EXCLUSIVE_REGULATED;
      min = prem_min_i64(min, spec->demand ? spec->demand[0] : 0);
    }
  if (min > memory->capacity / 2)
    return memory->per_task ? PREM_EXCLUSIVE_GANG : PREM_EXCLUSIVE_BLOCK;
  return PREM_EXCLUSIVE_NONE;
}

prem_status prem_row_make(const prem_campaign *campaign, prem_mode mode, prem_row *row) {
  const prem_schedule *schedule = campaign->schedule;
  row->mode = mode;
  row->scenario = campaign->options->sampling.scenario;
  row->exclusivity = mode == PREM_MODE_TT || mode == PREM_MODE_LOCK ? plan_exclusivity(schedule)
                                                                    : PREM_EXCLUSIVE_NONE;
  row->output_ok = true;
  row->verdict = (prem_verdict){.ok = true, .array = -1};
  row->job_count = campaign->trace->job_count;
  memcpy(row->backend, campaign->result->machine.backend, sizeof row->backend);
  strncpy(row->label, prem_mode_name(mode), sizeof row->label - 1);
  row->tasks = calloc((size_t)schedule->task_count + 1, sizeof *row->tasks);
  if (!row->tasks)
    return PREM_ERR_MEMORY;
  row->task_count = schedule->task_count;
  for (int32_t t = 0; t < row->task_count; ++t) {
    prem_task_result *task = &row->tasks[t];
    memcpy(task->name, schedule->tasks[t].name, sizeof task->name);
    task->published_ns = -1;
    for (int by = 0; by < PREM_PADDING_COUNT; ++by)
      task->padded.at[by].published_ns = -1;
    task->period_ns = schedule->tasks[t].period_ns;
    task->deadline_ns = schedule->tasks[t].deadline_ns;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      task->phase[p] =
          (prem_phase_counts){.lateness_max_ns = INT64_MIN, .duration_min_ns = INT64_MAX};
      task->wcet_ns[p] = schedule->tasks[t].phase[p].wcet_ns;
    }
  }
  return prem_beside_new(prem_session_schedule(campaign->session),
                         prem_session_best_effort(campaign->session), row);
}
