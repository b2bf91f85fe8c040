/* SPDX-License-Identifier: Apache-2.0 */
/* One run folded into its row: see campaign.h. */
#include "measure/beside.h"
#include "measure/campaign.h"
#include "measure/disturbed.h"
#include "measure/kept.h"
#include "measure/standstills.h"
#include "prem/base/numbers.h"

#include <stdlib.h>
#include <string.h>

/** Of a run that did not come to its end, the jobs of the hyperperiod in hand that never ended. */
void prem_row_count_unended(prem_row *row, const prem_trace *trace) {
  const int64_t h = trace->hyperperiods;
  if (h >= trace->hyperperiod_capacity || trace->epoch_ns[h] < 0)
    return;
  for (int32_t t = 0; t < trace->task_count; ++t)
    for (int64_t j = trace->first_job[t]; j < trace->first_job[t + 1]; ++j)
      if (trace->job_end_ns[h * trace->job_count + j] < 0) {
        ++row->tasks[t].all.jobs;
        row->tasks[t].all.missed += row->tasks[t].deadline_ns > 0;
      }
}
/* ---- what is judged by the records
 * --------------------------------------------------------------- */

/** Counted hyperperiods of which no raw record is missing, and some job counts. */
static prem_status count_complete(const prem_campaign *campaign, int64_t discard,
                                  int64_t *complete) {
  const prem_trace *trace = campaign->trace;
  const bool is_mixed = campaign->options->mix_disturbed;
  if (trace->hyperperiods <= discard)
    return PREM_OK;
  int64_t *kept = calloc((size_t)trace->hyperperiods, sizeof *kept);
  if (!kept)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].hyperperiod < trace->hyperperiods)
      ++kept[trace->records[i].hyperperiod];
  for (int64_t h = discard; h < trace->hyperperiods; ++h)
    *complete +=
        kept[h] == campaign->phases && (is_mixed || prem_disturbed_in(trace, h) < trace->job_count);
  free(kept);
  return PREM_OK;
}

/** A copy of what pictures need: the first counted records. */
static prem_status keep_example(const prem_campaign *campaign, int64_t discard, prem_trace **out) {
  const prem_trace *trace = campaign->trace;
  prem_trace *copy = NULL;
  int64_t hyperperiods = trace->hyperperiod_capacity;
  prem_status status =
      prem_excerpt_new(hyperperiods, prem_min_i64(trace->record_count, PREM_KEPT_RECORDS), &copy);
  if (status != PREM_OK)
    return status;
  for (int64_t i = 0; i < trace->record_count && copy->record_count < copy->record_capacity; ++i)
    if (trace->records[i].hyperperiod >= discard)
      copy->records[copy->record_count++] = trace->records[i];
  memcpy(copy->epoch_ns, trace->epoch_ns, (size_t)hyperperiods * sizeof *copy->epoch_ns);
  copy->lost = trace->lost;
  copy->oversubscribed = trace->oversubscribed;
  copy->launch_ns = trace->launch_ns;
  *out = copy;
  return PREM_OK;
}

static prem_status fold_violations(const prem_campaign *campaign, prem_row *row, int64_t discard) {
  int64_t certain = 0, possible = 0;
  const prem_status status =
      prem_violations(campaign->schedule, campaign->trace, discard,
                      campaign->result->machine.clock_skew_ns, &certain, &possible);
  row->violations_certain += certain;
  row->violations_possible += possible;
  return status;
}

/** Why releases were late; there are none but in tt. */
static prem_status fold_causes(const prem_campaign *campaign, prem_row *row, int64_t discard,
                               int64_t first_run) {
  if (row->mode != PREM_MODE_TT || !prem_trace_has_late(campaign->trace))
    return PREM_OK;
  if (!row->late)
    row->late = calloc((size_t)row->task_count * PREM_PHASE_COUNT, sizeof *row->late);
  if (!row->late)
    return PREM_ERR_MEMORY;
  return prem_find_causes(campaign->schedule, campaign->trace, discard,
                          campaign->result->machine.clock_step_ns, first_run, row->late,
                          &row->first);
}

/** What no phase should take: far more than planned, and than the phases of its kind took here. */
static int64_t min_standstill_ns(const prem_campaign *campaign) {
  enum { MIN_NS = 50000, MEANS = 4 };
  const prem_schedule *schedule = campaign->schedule;
  int64_t min_ns = MIN_NS;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      const prem_phase_stats *stats = &campaign->trace->stats[t * PREM_PHASE_COUNT + phase];
      const int64_t planned_ns = schedule->tasks[t].phase[phase].wcet_ns;
      min_ns = prem_max_i64(min_ns, planned_ns < INT64_MAX / 2 ? 2 * planned_ns : INT64_MAX);
      if (stats->count > 0)
        min_ns = prem_max_i64(min_ns, MEANS * (stats->duration_sum_ns / stats->count));
    }
  return min_ns;
}

/** Has somebody else been given the processor meanwhile, as processes that share a GPU take turns?
 *  The simulator has nobody else. */
static prem_status fold_standstills(const prem_campaign *campaign, prem_row *row) {
  if (strcmp(campaign->result->machine.backend, "sim") == 0)
    return PREM_OK;
  prem_standstills found = {0};
  const prem_status status =
      prem_trace_standstills(campaign->trace, min_standstill_ns(campaign), &found);
  row->standstills += found.count;
  row->standstill_max_ns = prem_max_i64(row->standstill_max_ns, found.longest_ns);
  return status;
}

/** Along the chains that the schedule names. */
static prem_status fold_chains(const prem_campaign *campaign, prem_samples *samples,
                               int64_t discard) {
  const prem_measure *measure = &campaign->schedule->measure;
  if (measure->chain_count == 0)
    return PREM_OK;
  if (!samples->chains)
    samples->chains = calloc((size_t)measure->chain_count, sizeof *samples->chains);
  prem_status status = samples->chains ? PREM_OK : PREM_ERR_MEMORY;
  for (int32_t c = 0; status == PREM_OK && c < measure->chain_count; ++c)
    status = prem_chain_fold(&measure->chains[c], campaign->trace, discard, campaign->phases,
                             &samples->chains[c]);
  return status;
}

/** What takes the records in order. */
static prem_status judge_run(prem_campaign *campaign, prem_row *row, int64_t discard,
                             int64_t first_run, prem_samples *samples) {
  prem_trace_sort(campaign->trace);
  prem_status status = fold_violations(campaign, row, discard);
  if (status == PREM_OK)
    status = fold_causes(campaign, row, discard, first_run);
  if (status == PREM_OK)
    status = fold_standstills(campaign, row);
  const bool first_example = !row->example && campaign->trace->record_count > 0;
  if (status == PREM_OK && first_example)
    status = keep_example(campaign, discard, &row->example);
  if (status == PREM_OK && first_example)
    row->example_run =
        first_run + (row->example->record_count > 0 ? row->example->records[0].hyperperiod : 0);
  if (status == PREM_OK)
    status = prem_kept_fold(campaign->trace, discard, first_run, row,
                            campaign->rounds == 1 ? NULL : &samples->last);
  if (status == PREM_OK)
    status = fold_chains(campaign, samples, discard);
  return status;
}

static void find_break(prem_campaign *campaign, prem_mode mode, int64_t discard,
                       int64_t first_run) {
  prem_result *result = campaign->result;
  if (campaign->options->break_ns > 0 && !result->broke.found &&
      prem_find_break(campaign->trace, campaign->options->break_ns, discard, first_run,
                      &result->broke))
    result->broke.mode = mode;
}
static void fold_stalls(const prem_stalls *from, int64_t launch, prem_stalls *to) {
  if (from->watched_ns == 0)
    return;
  to->has_own_sm = from->has_own_sm && (to->watched_ns == 0 || to->has_own_sm);
  to->watched_ns += from->watched_ns;
  to->count += from->count;
  to->sum_ns += from->sum_ns;
  to->longest_ns = prem_max_i64(to->longest_ns, from->longest_ns);
  to->sm = from->sm;
  for (int32_t i = 0; i < from->kept_count && to->kept_count < PREM_STALLS_KEPT; ++i) {
    to->kept[to->kept_count] = from->kept[i];
    to->kept[to->kept_count++].launch = launch;
  }
}

/* ---- the whole
 * ----------------------------------------------------------------------------------- */

static void add_counts(prem_phase_counts *to, const prem_phase_stats *from) {
  to->count += from->count;
  to->releases += from->releases;
  to->late += from->late;
  to->overruns += from->overruns;
  to->lateness_max_ns = prem_max_i64(to->lateness_max_ns, from->lateness_max_ns);
  to->overrun_max_ns = prem_max_i64(to->overrun_max_ns, from->overrun_max_ns);
  to->duration_min_ns = prem_min_i64(to->duration_min_ns, from->duration_min_ns);
  to->duration_max_ns = prem_max_i64(to->duration_max_ns, from->duration_max_ns);
  to->duration_sum_ns += from->duration_sum_ns;
}

/** @param stats  the trace's, or those without disturbed jobs */
static void fold_stats(prem_row *row, const prem_trace *trace, const prem_phase_stats *stats) {
  for (int32_t i = 0; i < row->task_count * PREM_PHASE_COUNT; ++i) {
    add_counts(&row->tasks[i / PREM_PHASE_COUNT].phase[i % PREM_PHASE_COUNT], &stats[i]);
    for (int b = 0; b < PREM_HIST_BUCKETS; ++b)
      row->lateness_hist[b] += stats[i].lateness_hist[b];
  }
  row->warmup_phases += trace->warmup_count;
  row->trace_lost += trace->lost;
  row->oversubscribed |= trace->oversubscribed;
}

/** The counts of what was not disturbed, and the others' beside them. */
static prem_status fold_counts_apart(const prem_campaign *campaign, prem_row *row,
                                     int64_t discard) {
  const prem_trace *trace = campaign->trace;
  prem_phase_stats *stats = calloc((size_t)row->task_count * PREM_PHASE_COUNT + 1, sizeof *stats);
  bool whole = false;
  if (!stats)
    return PREM_ERR_MEMORY;
  const prem_status status =
      prem_disturbed_recount(campaign->schedule, trace, discard, row->mode, stats, &whole);
  if (status == PREM_OK) {
    row->disturbed.counts_mixed |= !whole;
    prem_disturbed_count_late(&row->disturbed, trace, stats);
    fold_stats(row, trace, stats);
  }
  free(stats);
  return status;
}

/** Judge the records that are not of disturbed jobs, as these waited for none of the others; the
 * trace keeps them all. */
static prem_status judge_run_apart(prem_campaign *campaign, prem_row *row, int64_t discard,
                                   int64_t first_run, prem_samples *samples) {
  const int64_t all = campaign->trace->record_count;
  const int64_t others = prem_disturbed_apart(campaign->trace);
  if (others < 0)
    return PREM_ERR_MEMORY;
  campaign->trace->record_count = others;
  const prem_status status = judge_run(campaign, row, discard, first_run, samples);
  campaign->trace->record_count = all;
  prem_trace_sort(campaign->trace);
  return status;
}

prem_status prem_row_fold(prem_campaign *campaign, int32_t row_index, int64_t discard) {
  prem_row *row = &campaign->result->rows[row_index];
  prem_samples *samples = &campaign->samples[row_index];
  prem_trace *trace = campaign->trace;
  int64_t run = samples->launch.count;
  prem_status status = prem_beside_fold(trace->best_effort, run, row);
  fold_stalls(&trace->stalls, run, &row->stalls);
  const bool apart = !campaign->options->mix_disturbed && prem_disturbed_jobs(trace, discard) > 0;
  for (int64_t h = discard; h < trace->hyperperiods && status == PREM_OK; ++h)
    status = prem_samples_add(samples, campaign->schedule, trace, h) ? PREM_OK : PREM_ERR_MEMORY;
  if (status != PREM_OK || !prem_time_list_add(&samples->launch, trace->launch_ns))
    return PREM_ERR_MEMORY;
  if (apart)
    status = fold_counts_apart(campaign, row, discard);
  else
    fold_stats(row, trace, trace->stats);
  if (status == PREM_OK && !campaign->options->times_only)
    status = count_complete(campaign, discard, &row->violations_checked);
  if (status == PREM_OK && !campaign->options->times_only)
    status = (apart ? judge_run_apart : judge_run)(campaign, row, discard, samples->hyperperiods,
                                                   samples);
  find_break(campaign, row->mode, discard, samples->hyperperiods);
  samples->hyperperiods += trace->hyperperiods;
  if (status == PREM_OK && campaign->options->on_trace)
    status = campaign->options->on_trace(campaign->options->trace_context, trace, row->mode, run);
  return status;
}
