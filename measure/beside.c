/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/beside.h"

#include <stdlib.h>
#include <string.h>

prem_status prem_beside_new(const prem_schedule *schedule, prem_row *row) {
  if (!schedule)
    return PREM_OK;
  row->best_effort = calloc((size_t)schedule->task_count, sizeof *row->best_effort);
  if (!row->best_effort)
    return PREM_ERR_MEMORY;
  row->best_effort_count = schedule->task_count;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    memcpy(row->best_effort[t].name, schedule->tasks[t].name, sizeof row->best_effort[t].name);
    row->best_effort[t].job_tiles = schedule->tasks[t].tile_count;
  }
  return PREM_OK;
}

static void fold_task(const prem_best_effort_counts *from, int64_t run, const prem_row *row,
                      prem_best_effort_result *to) {
  const bool is_longest = from->longest.by_ns > to->counts.longest.by_ns;
  prem_best_effort_counts_merge(&to->counts, from);
  if (!is_longest)
    return;
  to->run = run;
  memcpy(to->into, row->tasks[from->longest.into].name, sizeof to->into);
}

void prem_beside_fold(const prem_best_effort_trace *trace, int64_t run, prem_row *row) {
  if (!trace)
    return;
  for (int32_t t = 0; t < row->best_effort_count; ++t)
    fold_task(&trace->counts[t], run, row, &row->best_effort[t]);
  row->best_effort_ns += trace->length_ns;
  row->gated = trace->gated;
  row->open_share = trace->open_share;
}

bool prem_row_is_partial(const prem_row *row) {
  return row->output_checked && row->output_ok && row->partly_verified > 0 &&
         row->partly_verified == row->verified_hyperperiods;
}
