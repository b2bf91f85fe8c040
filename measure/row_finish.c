/* SPDX-License-Identifier: Apache-2.0 */
/* A row summed up when all its runs are over: see campaign.h. */
#include "measure/campaign.h"
#include "measure/disturbed.h"
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

/** `values` in the order of execution, `per_sample` of them in each sample. */
static prem_padding pad(const prem_campaign *campaign, const int64_t *values, int64_t samples,
                        int64_t per_sample) {
  const int64_t trained = samples / 2 * per_sample, all = samples * per_sample;
  const int64_t step_ns = prem_max_i64(campaign->result->machine.clock_step_ns, 1);
  prem_padding padded = {.published_ns = -1};
  if (trained == 0)
    return padded;
  int64_t longest_ns = values[0];
  for (int64_t i = 1; i < trained; ++i)
    longest_ns = prem_max_i64(longest_ns, values[i]);
  padded.published_ns = (longest_ns + 2 * step_ns - 1) / step_ns * step_ns;
  padded.trained = trained;
  padded.judged = all - trained;
  for (int64_t i = trained; i < all; ++i)
    padded.missed += values[i] > padded.published_ns;
  return padded;
}

/** The response times of a task's jobs in the order of execution. */
static int64_t list_responses(const prem_samples *samples, const prem_trace *trace, int32_t t,
                              bool undisturbed, int64_t *values) {
  int64_t count = 0;
  for (int64_t first = 0; first < samples->response.count; first += trace->job_count)
    for (int64_t j = first + trace->first_job[t]; j < first + trace->first_job[t + 1]; ++j)
      if (!undisturbed || samples->away.ns[j] <= 0)
        values[count++] = samples->response.ns[j];
  return count;
}

static void judge_deadlines(int64_t deadline_ns, const int64_t *values, int64_t count,
                            prem_deadlines *out) {
  out->jobs += count;
  for (int64_t i = 0; i < count; ++i)
    out->missed += values[i] > deadline_ns;
  if (deadline_ns <= 0)
    out->missed = -1;
}

/** Over all jobs of a task in all samples, and over the undisturbed ones. */
static prem_status summarise_responses(const prem_campaign *campaign, prem_row *row,
                                       const prem_samples *samples, int32_t t) {
  const prem_trace *trace = campaign->trace;
  prem_task_result *task = &row->tasks[t];
  if (!prem_mode_computes(row->mode)) { /* nor responds */
    task->all = task->undisturbed = (prem_deadlines){-1, -1};
    return PREM_OK;
  }
  int64_t *values = calloc((size_t)samples->response.count + 1, sizeof *values);
  if (!values)
    return PREM_ERR_MEMORY;
  int64_t count = list_responses(samples, trace, t, false, values);
  judge_deadlines(task->deadline_ns, values, count, &task->all);
  prem_summarise(values, count, &task->all_response_ns);
  count = list_responses(samples, trace, t, !row->disturbed.mixed, values);
  judge_deadlines(task->deadline_ns, values, count, &task->undisturbed);
  const int64_t jobs = trace->first_job[t + 1] - trace->first_job[t];
  task->padded = pad(campaign, values, count / jobs, jobs);
  prem_summarise(values, count, &task->response_ns);
  free(values);
  int64_t publish_ns = campaign->schedule->tasks[t].publish_ns;
  if (publish_ns > 0 && task->response_ns.count > 0)
    task->published_ns = prem_max_i64(task->response_ns.max, publish_ns);
  return PREM_OK;
}

/** Samples with a disturbed job are noted, and their makespans are taken out of the others unless
 * they are mixed in. */
static prem_status tell_apart(prem_row *row, prem_samples *samples) {
  const int64_t jobs = row->job_count;
  int64_t kept = 0;
  row->all_samples = samples->makespan.count;
  for (int64_t s = 0; s < row->all_samples; ++s) {
    int64_t away_ns = 0;
    for (int64_t j = s * jobs; j < (s + 1) * jobs; ++j) {
      row->disturbed.watched |= samples->away.ns[j] >= 0;
      row->disturbed.jobs += samples->away.ns[j] > 0;
      away_ns = prem_max_i64(away_ns, samples->away.ns[j]);
    }
    const prem_disturbed_sample sample = {
        .after = kept, .makespan_ns = samples->makespan.ns[s], .away_ns = away_ns};
    if (away_ns > 0 && !prem_disturbed_note(&row->disturbed, &sample))
      return PREM_ERR_MEMORY;
    if (away_ns > 0 && !row->disturbed.mixed)
      continue;
    samples->makespan.ns[kept++] = samples->makespan.ns[s];
  }
  row->samples = kept;
  return PREM_OK;
}

static void sum_stats(prem_row *row) {
  row->lateness_max_ns = INT64_MIN;
  for (int32_t t = 0; t < row->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_phase_stats *stats = &row->tasks[t].phase[p];
      row->releases += stats->releases;
      row->late_releases += stats->late;
      row->overruns += stats->overruns;
      row->lateness_max_ns = prem_max_i64(row->lateness_max_ns, stats->lateness_max_ns);
      for (int b = 0; b < PREM_HIST_BUCKETS; ++b)
        row->lateness_hist[b] += stats->lateness_hist[b];
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
    status = tell_apart(row, samples);
  if (status != PREM_OK)
    return status;
  row->samples_ns = samples->makespan.ns;
  row->response_samples_ns = samples->response.ns;
  row->away_samples_ns = samples->away.ns;
  samples->makespan.ns = samples->response.ns = samples->away.ns = NULL;
  status = summarise_copy(row->samples_ns, row->samples, &row->makespan_ns);
  row->padded = pad(campaign, row->samples_ns, prem_mode_computes(row->mode) ? row->samples : 0, 1);
  row->jitter_ns = row->makespan_ns.max - row->makespan_ns.min;
  if (row->makespan_ns.mean > 0)
    row->jitter_pct = 100.0 * (double)row->jitter_ns / row->makespan_ns.mean;
  row->max_minus_mean_ns = row->makespan_ns.max - (int64_t)row->makespan_ns.mean;
  int64_t launches = samples->launch.count;
  if (launches > 0 && samples->launch.ns[0] >= 0)
    prem_summarise(samples->launch.ns, launches, &row->launch_ns);
  if (status == PREM_OK)
    status = summarise_chains(campaign, row, samples);
  sum_stats(row);
  const char *mode_note = prem_session_mode_note(campaign->session, row->mode);
  snprintf(row->mode_note, sizeof row->mode_note, "%s", mode_note ? mode_note : "");
  return status;
}

void prem_row_free(prem_row *row) {
  free(row->tasks);
  free(row->best_effort);
  free(row->samples_ns);
  free(row->response_samples_ns);
  free(row->away_samples_ns);
  free(row->chains);
  free(row->disturbed.samples);
  prem_first_causes_free(&row->first);
  prem_trace_free(row->example);
  prem_trace_free(row->worst.trace);
  prem_trace_free(row->before.trace);
}
