/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/beside.h"

#include <stdlib.h>
#include <string.h>

#include "measure/times.h"

/* The part's tasks are in the order of the whole. */
static prem_status find_bounds(const prem_schedule *whole, prem_row *row) {
  prem_status status = PREM_OK;
  for (int32_t t = 0, of = 0; t < whole->task_count && status == PREM_OK; ++t) {
    const prem_task *task = &whole->tasks[t];
    if (!task->best_effort)
      continue;
    row->best_effort[of].serves = task->server.capacity > 0;
    if (row->best_effort[of].serves)
      row->best_effort[of].responses = calloc(1, sizeof *row->best_effort[of].responses);
    if (row->best_effort[of].serves && !row->best_effort[of].responses)
      return PREM_ERR_MEMORY;
    if (row->best_effort[of].serves)
      status = prem_errand_bound(whole, t, &row->best_effort[of].bound_ns);
    ++of;
  }
  return status;
}

prem_status prem_beside_new(const prem_schedule *whole, const prem_schedule *part, prem_row *row) {
  if (!part)
    return PREM_OK;
  row->best_effort = calloc((size_t)part->task_count, sizeof *row->best_effort);
  if (!row->best_effort)
    return PREM_ERR_MEMORY;
  row->best_effort_count = part->task_count;
  for (int32_t t = 0; t < part->task_count; ++t) {
    memcpy(row->best_effort[t].name, part->tasks[t].name, sizeof row->best_effort[t].name);
    row->best_effort[t].job_tiles = part->tasks[t].tile_count;
  }
  return find_bounds(whole, row);
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

/* Those that are done. */
static prem_status fold_errands(const prem_best_effort_trace *trace, prem_row *row) {
  for (int64_t i = 0; i < trace->errand_count; ++i) {
    const prem_errand *errand = &trace->errands[i];
    if (errand->end == PREM_ERRAND_DONE && !prem_times_add(row->best_effort[errand->task].responses,
                                                           errand->end_ns - errand->arrival_ns))
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

prem_status prem_beside_fold(const prem_best_effort_trace *trace, int64_t run, prem_row *row) {
  if (!trace)
    return PREM_OK;
  for (int32_t t = 0; t < row->best_effort_count; ++t)
    fold_task(&trace->counts[t], run, row, &row->best_effort[t]);
  row->best_effort_ns += trace->length_ns;
  row->gated = trace->gated;
  row->open_share = trace->open_share;
  return fold_errands(trace, row);
}

void prem_beside_finish(prem_row *row) {
  for (int32_t t = 0; t < row->best_effort_count; ++t)
    if (row->best_effort[t].responses)
      prem_times_summarise(row->best_effort[t].responses, &row->best_effort[t].response_ns);
}

void prem_beside_free(prem_row *row) {
  for (int32_t t = 0; t < row->best_effort_count; ++t)
    if (row->best_effort[t].responses) {
      prem_times_free(row->best_effort[t].responses);
      free(row->best_effort[t].responses);
    }
  free(row->best_effort);
}

bool prem_row_is_partial(const prem_row *row) {
  return row->output_checked && row->output_ok && row->partly_verified > 0 &&
         row->partly_verified == row->verified_hyperperiods;
}
