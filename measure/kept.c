/* SPDX-License-Identifier: Apache-2.0 */
/* The worst run of a mode and the one before it, and the first release beyond a limit. */
#include "measure/kept.h"

#include <stdlib.h>

#include "measure/job_times.h"
#include "prem/base/numbers.h"

static int64_t lateness_of(const prem_trace_record *record) {
  return record->release_ns == PREM_NO_RELEASE ? INT64_MIN : record->start_ns - record->release_ns;
}

/* ---- the worst hyperperiod of a trace ------------------------------------------------------- */

static bool has_releases(const prem_trace *trace) {
  for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i)
    if (trace->stats[i].releases > 0)
      return true;
  return false;
}

/** How bad each hyperperiod was that has raw records; INT64_MIN: not known. */
static void rate(const prem_trace *trace, int64_t *rates_ns) {
  const bool by_lateness = has_releases(trace);
  for (int64_t h = 0; h < trace->hyperperiods; ++h)
    rates_ns[h] = INT64_MIN;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    const int64_t h = record->hyperperiod;
    if (h >= trace->hyperperiods || record->flags & PREM_SLOT_WARMUP)
      continue;
    if (by_lateness)
      rates_ns[h] = prem_max_i64(rates_ns[h], lateness_of(record));
    else if (rates_ns[h] == INT64_MIN)
      rates_ns[h] = prem_makespan_ns(trace, h);
  }
}

static int64_t find_worst(const int64_t *rates_ns, int64_t discard, int64_t count) {
  int64_t worst = discard;
  for (int64_t h = discard; h < count; ++h)
    if (rates_ns[h] > rates_ns[worst])
      worst = h;
  return worst;
}

/* ---- keeping it ----------------------------------------------------------------------------- */

prem_status prem_excerpt_new(int64_t hyperperiods, int64_t records, prem_trace **out) {
  prem_trace *made = calloc(1, sizeof *made);
  *out = made;
  if (!made)
    return PREM_ERR_MEMORY;
  made->records = malloc(((size_t)records + 1) * sizeof *made->records);
  made->epoch_ns = calloc((size_t)hyperperiods, sizeof *made->epoch_ns);
  made->record_capacity = records;
  made->hyperperiod_capacity = hyperperiods;
  if (made->records && made->epoch_ns)
    return PREM_OK;
  prem_trace_free(made);
  *out = NULL;
  return PREM_ERR_MEMORY;
}

/** Room that is there is used again. */
static prem_status keep(const prem_trace *trace, int64_t hyperperiod, int64_t run,
                        prem_kept_run *to) {
  int64_t count = 0;
  for (int64_t i = 0; i < trace->record_count && count < PREM_KEPT_RECORDS; ++i)
    count += trace->records[i].hyperperiod == hyperperiod;
  if (!to->trace || to->trace->record_capacity < count) {
    prem_trace_free(to->trace);
    const prem_status status = prem_excerpt_new(1, count, &to->trace);
    if (status != PREM_OK)
      return status;
  }
  to->trace->record_count = 0;
  for (int64_t i = 0;
       i < trace->record_count && to->trace->record_count < to->trace->record_capacity; ++i)
    if (trace->records[i].hyperperiod == hyperperiod)
      to->trace->records[to->trace->record_count++] = trace->records[i];
  to->run = run;
  to->epoch_ns = trace->epoch_ns[hyperperiod];
  return PREM_OK;
}

static void swap(prem_kept_run *a, prem_kept_run *b) {
  const prem_kept_run kept = *a;
  *a = *b;
  *b = kept;
}

/** Of a launch, the hyperperiod before; where each launch is one run, the mode's run before. */
static prem_status keep_before(const prem_trace *trace, int64_t worst, int64_t first_run,
                               prem_row *row, prem_kept_run *last) {
  if (worst > 0)
    return keep(trace, worst - 1, first_run + worst - 1, &row->before);
  if (last)
    swap(&row->before, last);
  if (row->scenario == PREM_RESIDENT && row->before.trace)
    row->before.trace->record_count = 0;
  return PREM_OK;
}

static prem_status keep_worst(const prem_trace *trace, const int64_t *rates_ns, int64_t discard,
                              int64_t first_run, prem_row *row, prem_kept_run *last) {
  const int64_t worst = find_worst(rates_ns, discard, trace->hyperperiods);
  const bool is_first = !row->worst.trace;
  if (rates_ns[worst] == INT64_MIN || (!is_first && rates_ns[worst] <= row->worst_ns))
    return PREM_OK;
  row->worst_ns = rates_ns[worst];
  prem_status status = keep_before(trace, worst, first_run, row, last);
  if (status == PREM_OK)
    status = keep(trace, worst, first_run + worst, &row->worst);
  return status;
}

prem_status prem_kept_fold(const prem_trace *trace, int64_t discard, int64_t first_run,
                           prem_row *row, prem_kept_run *last) {
  if (trace->hyperperiods <= discard || trace->record_count == 0)
    return PREM_OK;
  int64_t *rates_ns = malloc((size_t)trace->hyperperiods * sizeof *rates_ns);
  if (!rates_ns)
    return PREM_ERR_MEMORY;
  rate(trace, rates_ns);
  prem_status status = keep_worst(trace, rates_ns, discard, first_run, row, last);
  free(rates_ns);
  if (status == PREM_OK && last && row->scenario == PREM_RELAUNCH)
    status = keep(trace, 0, first_run, last);
  return status;
}

static bool has_records(const prem_trace *trace) {
  return trace && trace->record_count > 0;
}

int32_t prem_row_kept(const prem_row *row, prem_kept_run kept[PREM_MAX_KEPT]) {
  int32_t count = 0;
  if (!has_records(row->example))
    return 0;
  if (has_records(row->worst.trace) && row->worst.run != row->example_run) {
    kept[count++] = row->worst;
    if (has_records(row->before.trace) && row->before.run != row->example_run)
      kept[count++] = row->before;
  }
  const prem_trace *example = row->example;
  kept[count++] = (prem_kept_run){.trace = row->example,
                                  .run = row->example_run,
                                  .epoch_ns = example->epoch_ns[example->records[0].hyperperiod]};
  return count;
}

/* ---- the first release beyond a limit ------------------------------------------------------- */

static bool find_among_records(const prem_trace *trace, int64_t limit_ns, int64_t discard,
                               int64_t first_run, prem_break *out) {
  const prem_trace_record *first = NULL;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (record->hyperperiod >= discard && !(record->flags & PREM_SLOT_WARMUP) &&
        lateness_of(record) > limit_ns && (!first || record->release_ns < first->release_ns))
      first = record;
  }
  if (!first)
    return false;
  out->task = first->task;
  out->phase = (prem_phase)first->phase;
  out->lateness_ns = lateness_of(first);
  out->has_place = true;
  out->run = first_run + first->hyperperiod;
  out->block = first->block;
  out->job = first->job;
  out->tile = first->tile;
  out->planned_ns = first->release_ns - trace->epoch_ns[first->hyperperiod];
  return true;
}

bool prem_find_break(const prem_trace *trace, int64_t limit_ns, int64_t discard, int64_t first_run,
                     prem_break *out) {
  int32_t worst = 0;
  for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i)
    if (trace->stats[i].lateness_max_ns > trace->stats[worst].lateness_max_ns)
      worst = i;
  if (trace->stats[worst].lateness_max_ns <= limit_ns)
    return false;
  *out = (prem_break){.found = true, .run = first_run, .block = -1, .job = -1, .tile = -1};
  if (!find_among_records(trace, limit_ns, discard, first_run, out)) {
    out->task = worst / PREM_PHASE_COUNT;
    out->phase = (prem_phase)(worst % PREM_PHASE_COUNT);
    out->lateness_ns = trace->stats[worst].lateness_max_ns;
  }
  return true;
}
