/* SPDX-License-Identifier: Apache-2.0 */
/* Disturbed jobs told apart: see disturbed.h. */
#include "measure/disturbed.h"

#include <stdlib.h>
#include <string.h>

#include "measure/slot_order.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"

int64_t prem_disturbed_in(const prem_trace *trace, int64_t hyperperiod) {
  int64_t count = 0;
  for (int64_t j = 0; j < trace->job_count; ++j)
    count += trace->away_ns[hyperperiod * trace->job_count + j] > 0;
  return count;
}

int64_t prem_disturbed_jobs(const prem_trace *trace, int64_t discard) {
  int64_t count = 0;
  for (int64_t h = discard; h < trace->hyperperiods; ++h)
    count += prem_disturbed_in(trace, h);
  return count;
}

int64_t prem_disturbed_apart(prem_trace *trace) {
  prem_trace_record *behind = malloc((size_t)(trace->record_count + 1) * sizeof *behind);
  int64_t others = 0, disturbed = 0;
  if (!behind)
    return -1;
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (prem_is_disturbed(trace, &trace->records[i]))
      behind[disturbed++] = trace->records[i];
    else
      trace->records[others++] = trace->records[i];
  memcpy(trace->records + others, behind, (size_t)disturbed * sizeof *behind);
  free(behind);
  return others;
}

/* ---- counts --------------------------------------------------------------------------------- */

/* Windows hold in tt alone. */
static int64_t window_end_ns(const prem_trace *trace, const prem_slot *slots, int64_t count,
                             const prem_trace_record *record, prem_mode mode) {
  const prem_slot *slot =
      mode == PREM_MODE_TT ? prem_slot_find(slots, count, record) : (const prem_slot *)NULL;
  return slot ? trace->epoch_ns[record->hyperperiod] + slot->planned_ns + slot->length_ns
              : INT64_MAX;
}

static prem_status count_records(const prem_schedule *schedule, const prem_trace *trace,
                                 int64_t discard, prem_mode mode, prem_phase_stats *stats) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  const prem_status status = prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL);
  if (status != PREM_OK)
    return status;
  qsort(slots, (size_t)count, sizeof *slots, prem_slot_order);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (record->hyperperiod < discard || record->hyperperiod >= trace->hyperperiods ||
        (record->flags & PREM_SLOT_WARMUP) || prem_is_disturbed(trace, record))
      continue;
    prem_phase_stats_add(&stats[record->task * PREM_PHASE_COUNT + record->phase], record,
                         window_end_ns(trace, slots, count, record, mode),
                         schedule->platform.late_ns);
  }
  free(slots);
  return PREM_OK;
}

prem_status prem_disturbed_recount(const prem_schedule *schedule, const prem_trace *trace,
                                   int64_t discard, prem_mode mode, prem_phase_stats *stats,
                                   bool *whole) {
  const int64_t counted = (trace->hyperperiods - discard) * trace->job_count;
  const int64_t disturbed = prem_disturbed_jobs(trace, discard);
  *whole = disturbed == counted || trace->lost == 0;
  if (!*whole || disturbed == 0) {
    memcpy(stats, trace->stats, (size_t)trace->task_count * PREM_PHASE_COUNT * sizeof *stats);
    return PREM_OK;
  }
  for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i)
    prem_phase_stats_clear(&stats[i]);
  return disturbed == counted ? PREM_OK : count_records(schedule, trace, discard, mode, stats);
}

/* ---- what a row says of them ---------------------------------------------------------------- */

bool prem_disturbed_note(prem_disturbed *disturbed, const prem_disturbed_sample *sample) {
  if (!PREM_APPEND(disturbed->samples, disturbed->count, *sample))
    return false;
  disturbed->longest_away_ns = prem_max_i64(disturbed->longest_away_ns, sample->away_ns);
  if (sample->makespan_ns > disturbed->makespan_max_ns)
    disturbed->makespan_max_ns = sample->makespan_ns;
  return true;
}

void prem_disturbed_count_late(prem_disturbed *disturbed, const prem_trace *trace,
                               const prem_phase_stats *stats) {
  for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i) {
    disturbed->releases += trace->stats[i].releases - stats[i].releases;
    disturbed->late_releases += trace->stats[i].late - stats[i].late;
    disturbed->overruns += trace->stats[i].overruns - stats[i].overruns;
  }
}
