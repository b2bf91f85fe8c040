/* SPDX-License-Identifier: Apache-2.0 */
/* A row summed up when all its runs are over: see campaign.h. */
#include "measure/beside.h"
#include "measure/campaign.h"
#include "measure/disturbed.h"
#include "measure/padding.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static prem_status summarise_copy(const int64_t *values, int64_t count, prem_summary *out) {
  int64_t *copy = malloc((size_t)(count + 1) * sizeof *copy);
  if (!copy)
    return PREM_ERR_MEMORY;
  if (count > 0)
    memcpy(copy, values, (size_t)count * sizeof *copy);
  prem_summarise(copy, count, out);
  free(copy);
  return PREM_OK;
}

/** Of a task's jobs in the order of execution: response times, or how long cores were away. */
static int64_t list_jobs(const prem_time_list *of, const prem_trace *trace, int32_t t,
                         int64_t *values) {
  int64_t count = 0;
  for (int64_t first = 0; first < of->count; first += trace->job_count)
    for (int64_t j = first + trace->first_job[t]; j < first + trace->first_job[t + 1]; ++j)
      values[count++] = of->ns[j];
  return count;
}

/** Returns how many are left. */
static int64_t drop_disturbed(int64_t *values, const int64_t *away_ns, int64_t count) {
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i)
    if (away_ns[i] <= 0)
      values[kept++] = values[i];
  return kept;
}

static void judge_deadlines(int64_t deadline_ns, const int64_t *values, int64_t count,
                            prem_deadlines *out) {
  out->jobs += count;
  for (int64_t i = 0; i < count; ++i)
    out->missed += values[i] > deadline_ns;
  if (deadline_ns <= 0)
    out->missed = -1;
}

static int64_t step_of(const prem_campaign *campaign) {
  return campaign->result->machine.clock_step_ns;
}

/** Over all jobs of a task in all samples, and over the undisturbed ones. `values` and `away_ns`
 *  have room for them. */
static prem_status summarise_jobs(const prem_campaign *campaign, prem_row *row,
                                  const prem_samples *samples, int32_t t, int64_t *values,
                                  int64_t *away_ns) {
  const bool mixed = row->disturbed.mixed;
  prem_task_result *task = &row->tasks[t];
  list_jobs(&samples->away, campaign->trace, t, away_ns);
  int64_t count = list_jobs(&samples->response, campaign->trace, t, values);
  prem_status status =
      prem_pad(values, mixed ? NULL : away_ns, count, step_of(campaign), &task->padded);
  judge_deadlines(task->deadline_ns, values, count, &task->all);
  if (status == PREM_OK)
    status = summarise_copy(values, count, &task->all_response_ns);
  if (!mixed)
    count = drop_disturbed(values, away_ns, count);
  judge_deadlines(task->deadline_ns, values, count, &task->undisturbed);
  prem_summarise(values, count, &task->response_ns);
  return status;
}

static prem_status summarise_responses(const prem_campaign *campaign, prem_row *row,
                                       const prem_samples *samples, int32_t t) {
  prem_task_result *task = &row->tasks[t];
  if (!prem_mode_computes(row->mode)) { /* nor responds */
    task->all = task->undisturbed = (prem_deadlines){-1, -1};
    return PREM_OK;
  }
  const prem_trace *trace = campaign->trace; /* room for this task's alone: there may be many */
  const int64_t hyperperiods = samples->response.count / prem_max_i64(trace->job_count, 1);
  const size_t room = (size_t)(hyperperiods * (trace->first_job[t + 1] - trace->first_job[t])) + 1;
  int64_t *values = calloc(room, sizeof *values), *away_ns = calloc(room, sizeof *away_ns);
  const prem_status status = values && away_ns
                                 ? summarise_jobs(campaign, row, samples, t, values, away_ns)
                                 : PREM_ERR_MEMORY;
  free(values);
  free(away_ns);
  const int64_t publish_ns = campaign->schedule->tasks[t].publish_ns;
  if (publish_ns > 0 && task->response_ns.count > 0)
    task->published_ns = prem_max_i64(task->response_ns.max, publish_ns);
  return status;
}

/** The longest that a core of a sample's jobs was away. */
static int64_t sample_away_ns(const prem_row *row, const prem_samples *samples, int64_t sample) {
  int64_t away_ns = 0;
  for (int64_t j = sample * row->job_count; j < (sample + 1) * row->job_count; ++j)
    away_ns = prem_max_i64(away_ns, samples->away.ns[j]);
  return away_ns;
}

static prem_status pad_makespans(const prem_campaign *campaign, prem_row *row,
                                 const prem_samples *samples) {
  const int64_t count = prem_mode_computes(row->mode) ? samples->makespan.count : 0;
  int64_t *away_ns = malloc((size_t)(count + 1) * sizeof *away_ns);
  if (!away_ns)
    return PREM_ERR_MEMORY;
  for (int64_t s = 0; s < count; ++s)
    away_ns[s] = sample_away_ns(row, samples, s);
  const prem_status status = prem_pad(samples->makespan.ns, row->disturbed.mixed ? NULL : away_ns,
                                      count, step_of(campaign), &row->padded);
  free(away_ns);
  return status;
}

/** Samples with a disturbed job are noted, and their makespans are taken out of the others unless
 * they are mixed in. */
static prem_status tell_apart(prem_row *row, prem_samples *samples) {
  const int64_t jobs = row->job_count;
  int64_t kept = 0;
  row->all_samples = samples->makespan.count;
  for (int64_t s = 0; s < row->all_samples; ++s) {
    const int64_t away_ns = sample_away_ns(row, samples, s);
    for (int64_t j = s * jobs; j < (s + 1) * jobs; ++j) {
      row->disturbed.watched |= samples->away.ns[j] >= 0;
      row->disturbed.jobs += samples->away.ns[j] > 0;
      row->disturbed.unwatched += samples->away.ns[j] < 0;
    }
    const prem_disturbed_sample sample = {
        .after = kept, .makespan_ns = samples->makespan.ns[s], .away_ns = away_ns};
    if (away_ns > 0 && !prem_disturbed_note(&row->disturbed, &sample))
      return PREM_ERR_MEMORY;
    if (away_ns > 0 && !row->disturbed.mixed)
      continue;
    samples->makespan.ns[kept++] = samples->makespan.ns[s];
  }
  if (!row->disturbed.watched && row->stalls.watched_ns == 0)
    row->disturbed.unwatched = 0;
  row->samples = kept;
  return PREM_OK;
}

static void sum_counts(prem_row *row) {
  row->lateness_max_ns = INT64_MIN;
  for (int32_t t = 0; t < row->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_phase_counts *counts = &row->tasks[t].phase[p];
      row->releases += counts->releases;
      row->late_releases += counts->late;
      row->overruns += counts->overruns;
      row->lateness_max_ns = prem_max_i64(row->lateness_max_ns, counts->lateness_max_ns);
    }
}

static prem_status summarise_chains(const prem_campaign *campaign, prem_row *row,
                                    prem_samples *samples) {
  const prem_measure *measure = &campaign->schedule->measure;
  if (measure->chain_count == 0)
    return PREM_OK;
  row->chains = calloc((size_t)measure->chain_count, sizeof *row->chains);
  if (!row->chains)
    return PREM_ERR_MEMORY;
  row->chain_count = measure->chain_count;
  for (int32_t c = 0; c < row->chain_count; ++c) {
    memcpy(row->chains[c].name, measure->chains[c].name, sizeof row->chains[c].name);
    if (!samples->chains)
      continue;
    prem_chain_samples *chain = &samples->chains[c];
    prem_summarise(chain->reaction_ns, chain->reaction_count, &row->chains[c].reaction_ns);
    prem_summarise(chain->age_ns, chain->age_count, &row->chains[c].age_ns);
  }
  return PREM_OK;
}

prem_status prem_row_finish(const prem_campaign *campaign, prem_row *row, prem_samples *samples) {
  prem_status status = PREM_OK;
  row->disturbed.mixed = campaign->options->mix_disturbed;
  for (int32_t t = 0; status == PREM_OK && t < row->task_count; ++t)
    status = summarise_responses(campaign, row, samples, t);
  if (status == PREM_OK)
    status = pad_makespans(campaign, row, samples);
  if (status == PREM_OK)
    status = tell_apart(row, samples);
  if (status != PREM_OK)
    return status;
  row->samples_ns = samples->makespan.ns;
  row->response_samples_ns = samples->response.ns;
  row->away_samples_ns = samples->away.ns;
  samples->makespan.ns = samples->response.ns = samples->away.ns = NULL;
  status = summarise_copy(row->samples_ns, row->samples, &row->makespan_ns);
  row->jitter_ns = row->makespan_ns.max - row->makespan_ns.min;
  if (row->makespan_ns.mean > 0)
    row->jitter_pct = 100.0 * (double)row->jitter_ns / row->makespan_ns.mean;
  row->max_minus_mean_ns = row->makespan_ns.max - (int64_t)row->makespan_ns.mean;
  int64_t launches = samples->launch.count;
  if (launches > 0 && samples->launch.ns[0] >= 0)
    prem_summarise(samples->launch.ns, launches, &row->launch_ns);
  if (status == PREM_OK)
    status = summarise_chains(campaign, row, samples);
  sum_counts(row);
  prem_beside_finish(row);
  const char *mode_note = prem_session_mode_note(campaign->session, row->mode);
  snprintf(row->mode_note, sizeof row->mode_note, "%s", mode_note ? mode_note : "");
  return status;
}

void prem_row_free(prem_row *row) {
  free(row->tasks);
  free(row->late);
  prem_beside_free(row);
  PREM_FREE(row->samples_ns, row->response_samples_ns, row->away_samples_ns, row->chains,
            row->disturbed.samples);
  prem_first_causes_free(&row->first);
  prem_trace_free(row->example);
  prem_trace_free(row->worst.trace);
  prem_trace_free(row->before.trace);
}
