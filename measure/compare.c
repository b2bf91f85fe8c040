/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of several modes, interleaved in random order, folded into one row for each mode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/beside.h"
#include "measure/chain_latency.h"
#include "measure/job_times.h"
#include "measure/kept.h"
#include "measure/preempted.h"
#include "measure/standstills.h"
#include "prem/base/clock.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "ttprem/measure.h"

enum { MAX_RESIDENT_LAUNCHES = 10 };

typedef struct prem_time_list {
  int64_t *ns;
  int64_t count;
} prem_time_list;

/** What a row's summaries are made of. */
typedef struct prem_samples {
  prem_time_list makespan, response, launch;
  prem_time_list away;        /* of each response; empty: nobody looked */
  int64_t hyperperiods;       /* of the runs before, those that do not count among them */
  prem_kept_run last;         /* the last counted run; relaunch only */
  prem_chain_samples *chains; /* [chain_count of the schedule] */
} prem_samples;

typedef struct prem_campaign {
  prem_session *session;
  const prem_schedule *schedule;
  const prem_compare_options *options;
  prem_diag *diag;
  prem_result *result;
  prem_samples samples[PREM_MODE_COUNT]; /* of each row */
  bool is_left_out[PREM_MODE_COUNT];     /* the same */
  prem_trace *trace;
  int64_t rounds;         /* 0: until the duration is over */
  prem_sampling sampling; /* as the options have it; samples and discard less where a duration has
                             no room for more */
  int64_t pace_ns;        /* what a hyperperiod takes, by which it is fitted into a duration */
  int64_t phases;         /* of one hyperperiod */
  bool has_outputs;
  int64_t runs_done;
  uint64_t random;
} prem_campaign;

static prem_status refuse(prem_diag *diag, prem_status status, const char *key,
                          const char *reason) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, key, "%s", reason);
  return status;
}

/* ---- samples -------------------------------------------------------------------------------- */

static bool time_list_add(prem_time_list *list, int64_t ns) {
  int64_t *grown = prem_grow(list->ns, (size_t)list->count, sizeof *grown);
  if (!grown)
    return false;
  list->ns = grown;
  list->ns[list->count++] = ns;
  return true;
}

static void samples_free(prem_samples *samples, int32_t chains) {
  for (int32_t c = 0; samples->chains && c < chains; ++c)
    prem_chain_samples_free(&samples->chains[c]);
  free(samples->chains);
  free(samples->makespan.ns);
  free(samples->response.ns);
  free(samples->launch.ns);
  free(samples->away.ns);
  prem_trace_free(samples->last.trace);
}

/** Response times in the order of tasks and jobs, then the makespan, of one hyperperiod. */
static bool add_times(prem_samples *samples, const prem_schedule *schedule, const prem_trace *trace,
                      int64_t hyperperiod) {
  const int64_t *away_ns = trace->away_ns + hyperperiod * trace->job_count;
  for (int32_t t = 0; t < trace->task_count; ++t)
    for (int64_t j = 0; j < trace->first_job[t + 1] - trace->first_job[t]; ++j)
      if (!time_list_add(&samples->response, prem_response_ns(schedule, trace, hyperperiod, t, j)))
        return false;
  for (int64_t j = 0; j < trace->job_count && *away_ns >= 0; ++j)
    if (!time_list_add(&samples->away, away_ns[j]))
      return false;
  return time_list_add(&samples->makespan, prem_makespan_ns(trace, hyperperiod));
}

/** All times of a hyperperiod or, without memory, none: what was measured before still counts. */
static bool add_sample(prem_samples *samples, const prem_schedule *schedule,
                       const prem_trace *trace, int64_t hyperperiod) {
  const int64_t responses = samples->response.count, away = samples->away.count;
  if (add_times(samples, schedule, trace, hyperperiod))
    return true;
  samples->response.count = responses;
  samples->away.count = away;
  return false;
}

/** Of a run that did not come to its end, the jobs of the hyperperiod in hand that never ended. */
static void count_unended(prem_row *row, const prem_trace *trace) {
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

/* ---- folding a run into its row ------------------------------------------------------------- */

/** Counted hyperperiods of which no raw record is missing, and some job counts. */
static prem_status count_complete(const prem_campaign *campaign, int64_t discard,
                                  int64_t *complete) {
  const prem_trace *trace = campaign->trace;
  const bool is_mixed = campaign->options->mix_preempted;
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
  prem_status status = prem_trace_new(campaign->schedule, hyperperiods,
                                      prem_min_i64(trace->record_count, PREM_KEPT_RECORDS), &copy);
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

/** @param stats  the trace's, or those without disturbed jobs */
static void fold_stats(prem_row *row, const prem_trace *trace, const prem_phase_stats *stats) {
  for (int32_t t = 0; t < row->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      prem_phase_stats_merge(&row->tasks[t].phase[p], &stats[t * PREM_PHASE_COUNT + p]);
  row->warmup_phases += trace->warmup_count;
  row->trace_lost += trace->lost;
  row->oversubscribed |= trace->oversubscribed;
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
  if (row->mode != PREM_MODE_TT)
    return PREM_OK;
  prem_late_causes *causes = calloc((size_t)row->task_count * PREM_PHASE_COUNT + 1, sizeof *causes);
  if (!causes)
    return PREM_ERR_MEMORY;
  for (int32_t i = 0; i < row->task_count * PREM_PHASE_COUNT; ++i)
    causes[i] = row->tasks[i / PREM_PHASE_COUNT].late[i % PREM_PHASE_COUNT];
  prem_status status =
      prem_find_causes(campaign->schedule, campaign->trace, discard,
                       campaign->result->machine.clock_step_ns, first_run, causes, &row->first);
  for (int32_t i = 0; i < row->task_count * PREM_PHASE_COUNT; ++i)
    row->tasks[i / PREM_PHASE_COUNT].late[i % PREM_PHASE_COUNT] = causes[i];
  free(causes);
  return status;
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

static int64_t first_kept(const prem_trace *example) {
  return example->record_count > 0 ? example->records[0].hyperperiod : 0;
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
    row->example_run = first_run + first_kept(row->example);
  if (status == PREM_OK)
    status = prem_kept_fold(campaign->schedule, campaign->trace, discard, first_run, row,
                            &samples->last);
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

/** The counts of what was not disturbed, and the others' beside them. */
static prem_status fold_counts_apart(const prem_campaign *campaign, prem_row *row,
                                     int64_t discard) {
  const prem_trace *trace = campaign->trace;
  prem_phase_stats *stats = calloc((size_t)row->task_count * PREM_PHASE_COUNT + 1, sizeof *stats);
  bool whole = false;
  if (!stats)
    return PREM_ERR_MEMORY;
  const prem_status status =
      prem_preempted_recount(campaign->schedule, trace, discard, row->mode, stats, &whole);
  if (status == PREM_OK) {
    row->preempted.counts_mixed |= !whole;
    prem_preempted_count_late(&row->preempted, trace, stats);
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
  const int64_t others = prem_preempted_apart(campaign->trace);
  if (others < 0)
    return PREM_ERR_MEMORY;
  campaign->trace->record_count = others;
  const prem_status status = judge_run(campaign, row, discard, first_run, samples);
  campaign->trace->record_count = all;
  prem_trace_sort(campaign->trace);
  return status;
}

static prem_status fold_run(prem_campaign *campaign, int32_t row_index, int64_t discard) {
  prem_row *row = &campaign->result->rows[row_index];
  prem_samples *samples = &campaign->samples[row_index];
  prem_trace *trace = campaign->trace;
  int64_t run = samples->launch.count;
  prem_beside_fold(trace->best_effort, run, row);
  const bool apart = !campaign->options->mix_preempted && prem_disturbed_jobs(trace, discard) > 0;
  prem_status status = PREM_OK;
  for (int64_t h = discard; h < trace->hyperperiods && status == PREM_OK; ++h)
    status = add_sample(samples, campaign->schedule, trace, h) ? PREM_OK : PREM_ERR_MEMORY;
  if (status != PREM_OK || !time_list_add(&samples->launch, trace->launch_ns))
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

/* ---- running -------------------------------------------------------------------------------- */

static prem_status verify_outputs(prem_campaign *campaign, prem_row *row) {
  if (!campaign->has_outputs || !prem_mode_computes(row->mode))
    return PREM_OK;
  prem_verdict verdict = {0};
  prem_status status = prem_session_verify(campaign->session, &verdict);
  if (status != PREM_OK)
    return status;
  if (!verdict.ok && row->output_ok)
    row->verdict = verdict;
  row->output_checked = true;
  row->output_ok &= verdict.ok;
  ++row->verified_hyperperiods;
  return PREM_OK;
}

/** One launch of one mode. A run that is cut short still gives what it measured. */
static prem_status run_once(prem_campaign *campaign, int32_t row_index, int64_t hyperperiods,
                            int64_t discard, bool counted) {
  prem_row *row = &campaign->result->rows[row_index];
  prem_run_request request = {.mode = row->mode,
                              .hyperperiods = hyperperiods,
                              .discard = discard,
                              .stop = campaign->options->stop,
                              .engine = campaign->options->engine,
                              .cpu = campaign->options->cpu};
  /* What computes nothing leaves the outputs of the run before. */
  prem_status status =
      prem_mode_computes(row->mode) ? prem_session_poison(campaign->session) : PREM_OK;
  if (status != PREM_OK)
    return status;
  status = prem_session_run(campaign->session, &request, campaign->trace, campaign->diag);
  bool measured = status == PREM_OK || status == PREM_ERR_INTERRUPTED || status == PREM_ERR_MACHINE;
  if (measured && counted) {
    prem_status folded = fold_run(campaign, row_index, discard);
    if (status == PREM_ERR_MACHINE)
      count_unended(row, campaign->trace);
    status = status == PREM_OK ? folded : status;
  }
  if (measured)
    row->hyperperiods += campaign->trace->hyperperiods;
  row->discarded += counted ? prem_min_i64(discard, campaign->trace->hyperperiods) : 1;
  return status == PREM_OK ? verify_outputs(campaign, row) : status;
}

static int64_t launch_share(const prem_campaign *campaign, int64_t round) {
  int64_t launches = campaign->rounds;
  return campaign->sampling.samples / launches + (round < campaign->sampling.samples % launches);
}

/** The other modes go on; without one the comparison is over. */
static prem_status leave_out(prem_campaign *campaign, int32_t row_index) {
  prem_result *result = campaign->result;
  prem_left_out *left_out = &result->left_out[result->left_out_count++];
  const size_t problems = prem_diag_count(campaign->diag);
  const char *reason = problems > 0 ? prem_diag_at(campaign->diag, problems - 1)->reason : "";
  left_out->mode = result->rows[row_index].mode;
  snprintf(left_out->reason, sizeof left_out->reason, "%s", reason);
  campaign->is_left_out[row_index] = true;
  return result->left_out_count < result->row_count ? PREM_OK : PREM_ERR_UNAVAILABLE;
}

static prem_status run_in_round(prem_campaign *campaign, int32_t row_index, int64_t round) {
  const prem_compare_options *options = campaign->options;
  prem_status status;
  if (campaign->is_left_out[row_index])
    return PREM_OK;
  if (options->sampling.scenario == PREM_RESIDENT)
    status =
        run_once(campaign, row_index, campaign->sampling.discard + launch_share(campaign, round),
                 campaign->sampling.discard, true);
  else
    status = run_once(campaign, row_index, 1, 0, round >= campaign->sampling.discard);
  if (status == PREM_ERR_UNAVAILABLE)
    status = leave_out(campaign, row_index);
  ++campaign->runs_done;
  if (options->progress)
    options->progress(options->progress_context, campaign->runs_done,
                      campaign->rounds * options->mode_count, options->modes[row_index]);
  return status;
}

static prem_status run_round(prem_campaign *campaign, int64_t round) {
  int32_t order[PREM_MODE_COUNT];
  int32_t count = campaign->options->mode_count;
  for (int32_t i = 0; i < count; ++i)
    order[i] = i;
  prem_shuffle(order, count, &campaign->random);
  for (int32_t i = 0; i < count && !campaign->result->broke.found; ++i) {
    if (campaign->options->stop && *campaign->options->stop)
      return PREM_ERR_INTERRUPTED;
    prem_status status = run_in_round(campaign, order[i], round);
    if (status != PREM_OK)
      return status;
  }
  return PREM_OK;
}

static void lay_out_rounds(prem_campaign *campaign);
static prem_status make_room(prem_campaign *campaign);

/** Blocks that share cores take longer than planned: how long is seen by one hyperperiod of each
 *  mode, which is not counted, so that a resident launch ends when it should. */
static prem_status find_pace(prem_campaign *campaign) {
  const prem_compare_options *options = campaign->options;
  if (options->sampling.scenario != PREM_RESIDENT || !(options->sampling.duration_s > 0) ||
      strcmp(campaign->result->machine.backend, "cpu") != 0 ||
      (double)campaign->pace_ns * 1e-9 > options->sampling.duration_s / 2)
    return PREM_OK;
  for (int32_t i = 0; i < options->mode_count; ++i) {
    prem_status status = run_once(campaign, i, 1, 0, false);
    if (status == PREM_ERR_UNAVAILABLE) /* it is told in its first round */
      continue;
    if (status != PREM_OK)
      return status;
    campaign->pace_ns = prem_max_i64(campaign->pace_ns, prem_makespan_ns(campaign->trace, 0));
  }
  lay_out_rounds(campaign);
  return make_room(campaign);
}

static prem_status run_rounds(prem_campaign *campaign) {
  const double duration_s = campaign->options->sampling.duration_s;
  const bool relaunch = campaign->options->sampling.scenario == PREM_RELAUNCH;
  double began_s = prem_host_clock_s();
  prem_status status = find_pace(campaign);
  for (int64_t round = 0; status == PREM_OK && (campaign->rounds == 0 || round < campaign->rounds);
       ++round) {
    const double passed_s = duration_s > 0 ? prem_host_clock_s() - began_s : 0;
    if (relaunch && duration_s > 0 && round < campaign->sampling.discard &&
        passed_s >= duration_s / 2)
      campaign->sampling.discard = round; /* half of the time is enough for what does not count */
    /* However short the duration, one round counts. */
    if (duration_s > 0 && round >= 1 + (relaunch ? campaign->sampling.discard : 0) &&
        passed_s >= duration_s)
      break;
    status = run_round(campaign, round);
    if (status != PREM_OK || campaign->result->broke.found)
      break;
  }
  return status;
}

/* ---- setting up ----------------------------------------------------------------------------- */

static prem_status judge_options(const prem_compare_options *options, const prem_backend *backend,
                                 prem_diag *diag) {
  if (options->mode_count < 1 || options->mode_count > PREM_MODE_COUNT)
    return refuse(diag, PREM_ERR_ARGUMENT, "modes", "name at least one mode, and each once");
  if (options->sampling.samples < 0 || options->sampling.discard < 0 ||
      options->sampling.max_records < 0 || options->sampling.verify_every < 0 ||
      options->break_ns < 0)
    return refuse(diag, PREM_ERR_ARGUMENT, "repeat", "a count is negative; the least is 0");
  if (options->sampling.samples == 0 && !(options->sampling.duration_s > 0))
    return refuse(diag, PREM_ERR_ARGUMENT, "repeat",
                  "0 runs and no duration: ask for at least 1 run, or for a duration above 0 s");
  unsigned seen = 0;
  for (int32_t i = 0; i < options->mode_count; ++i) {
    prem_mode mode = options->modes[i];
    if (seen & 1u << mode)
      return refuse(diag, PREM_ERR_ARGUMENT, "modes", "a mode is named twice; name each once");
    seen |= 1u << mode;
    if (!prem_backend_has_mode(backend, mode)) {
      prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "modes",
                    "the backend '%s' has no mode '%s'", prem_backend_name(backend),
                    prem_mode_name(mode));
      return PREM_ERR_UNAVAILABLE;
    }
  }
  return PREM_OK;
}

/** Hyperperiods of each mode, those that do not count among them. */
static int64_t room_in_duration(const prem_campaign *campaign) {
  const prem_compare_options *options = campaign->options;
  double fitting =
      options->sampling.duration_s * 1e9 / (double)campaign->pace_ns / options->mode_count;
  return fitting < (double)PREM_MAX_NS ? (int64_t)fitting : PREM_MAX_NS;
}

/** A launch cannot be cut short by a duration without losing its verdict: as much is asked for as
 *  fits, and discarding takes no more than half of it. */
static void fit_into_duration(prem_campaign *campaign) {
  const int64_t room = room_in_duration(campaign);
  if (campaign->sampling.discard > 0 && campaign->rounds > room / 2 / campaign->sampling.discard)
    campaign->rounds = prem_max_i64(room / 2 / campaign->sampling.discard, 1);
  campaign->sampling.discard = prem_min_i64(campaign->sampling.discard, room / 2);
  int64_t counted = prem_max_i64(room - campaign->rounds * campaign->sampling.discard, 1);
  if (campaign->sampling.samples == 0 || campaign->sampling.samples > counted)
    campaign->sampling.samples = counted;
  campaign->rounds = prem_min_i64(campaign->rounds, campaign->sampling.samples);
}

static int64_t max_launches(const prem_compare_options *options) {
  return options->sampling.launches > 0 ? options->sampling.launches : MAX_RESIDENT_LAUNCHES;
}

/** More launches, where outputs would be verified too seldom. Each discards anew: within a duration
 *  no more than it counts. */
static void launch_for_verifying(prem_campaign *campaign) {
  prem_sampling *sampling = &campaign->sampling;
  const int64_t every = sampling->verify_every;
  if (every == 0 || (sampling->samples - 1) / campaign->rounds < every)
    return;
  if (sampling->duration_s > 0) {
    sampling->discard = prem_min_i64(sampling->discard, every);
    const int64_t launches = room_in_duration(campaign) / (every + sampling->discard);
    sampling->samples = prem_min_i64(sampling->samples, launches * every);
  }
  campaign->rounds = (sampling->samples - 1) / every + 1;
}

/** How often the modes are launched, and for how long. */
static void lay_out_rounds(prem_campaign *campaign) {
  const prem_compare_options *options = campaign->options;
  campaign->sampling = options->sampling;
  if (options->sampling.scenario == PREM_RELAUNCH) {
    campaign->rounds =
        options->sampling.samples ? options->sampling.discard + options->sampling.samples : 0;
    return;
  }
  campaign->rounds = max_launches(options);
  if (options->sampling.duration_s > 0)
    fit_into_duration(campaign);
  else
    campaign->rounds = prem_min_i64(campaign->sampling.samples, campaign->rounds);
  launch_for_verifying(campaign);
}

/** A trace with room for the longest launch. */
static prem_status make_room(prem_campaign *campaign) {
  const prem_compare_options *options = campaign->options;
  const int64_t hyperperiods = options->sampling.scenario == PREM_RESIDENT
                                   ? campaign->sampling.discard + launch_share(campaign, 0)
                                   : 1;
  prem_trace_free(campaign->trace);
  return prem_session_trace_new(campaign->session, hyperperiods, options->sampling.max_records,
                                &campaign->trace);
}

static prem_status make_trace(prem_campaign *campaign) {
  prem_slot *slots = NULL;
  prem_status status = prem_plan_expand(campaign->schedule, campaign->schedule->plan, &slots,
                                        &campaign->phases, campaign->diag);
  free(slots);
  return status == PREM_OK ? make_room(campaign) : status;
}

static int32_t memory_demand(const prem_phase_spec *spec) {
  return spec->demand ? spec->demand[0] : 0;
}

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
      min = prem_min_i64(min, memory_demand(spec));
    }
  if (min > memory->capacity / 2)
    return memory->per_task ? PREM_EXCLUSIVE_GANG : PREM_EXCLUSIVE_BLOCK;
  return PREM_EXCLUSIVE_NONE;
}

static bool mode_keeps_resources(prem_mode mode) {
  return mode == PREM_MODE_TT || mode == PREM_MODE_LOCK;
}

static prem_status make_row(const prem_campaign *campaign, prem_mode mode, prem_row *row) {
  const prem_schedule *schedule = campaign->schedule;
  row->mode = mode;
  row->scenario = campaign->options->sampling.scenario;
  row->exclusivity = mode_keeps_resources(mode) ? plan_exclusivity(schedule) : PREM_EXCLUSIVE_NONE;
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
    task->published_ns = task->padded.published_ns = -1;
    task->period_ns = schedule->tasks[t].period_ns;
    task->deadline_ns = schedule->tasks[t].deadline_ns;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      prem_phase_stats_clear(&task->phase[p]);
      task->wcet_ns[p] = schedule->tasks[t].phase[p].wcet_ns;
    }
  }
  return prem_beside_new(prem_session_best_effort(campaign->session), row);
}

static bool writes_arrays(const prem_schedule *schedule) {
  for (int32_t a = 0; schedule && a < schedule->array_count; ++a)
    if (schedule->arrays[a].writer >= 0)
      return true;
  return false;
}

static prem_status make_result(prem_campaign *campaign) {
  const prem_schedule *schedule = campaign->schedule;
  prem_result *result = campaign->result = calloc(1, sizeof *result);
  if (!result)
    return PREM_ERR_MEMORY;
  memcpy(result->schedule_name, schedule->name, sizeof result->schedule_name);
  memcpy(result->schedule_sha256, schedule->sha256, sizeof result->schedule_sha256);
  result->hyperperiod_ns = schedule->plan->hyperperiod_ns;
  result->machine = *prem_session_machine(campaign->session);
  result->late_ns = schedule->platform.late_ns;
  result->seed = campaign->options->sampling.seed;
  result->break_ns = campaign->options->break_ns;
  result->began_unix_s = (int64_t)time(NULL);
  campaign->has_outputs =
      writes_arrays(schedule) || writes_arrays(prem_session_best_effort(campaign->session));
  campaign->pace_ns = result->hyperperiod_ns;
  lay_out_rounds(campaign);
  prem_status status = make_trace(campaign);
  if (status != PREM_OK)
    return status;
  result->rows = calloc(PREM_MODE_COUNT, sizeof *result->rows);
  if (!result->rows)
    return PREM_ERR_MEMORY;
  for (; status == PREM_OK && result->row_count < campaign->options->mode_count;
       ++result->row_count)
    status = make_row(campaign, campaign->options->modes[result->row_count],
                      &result->rows[result->row_count]);
  return status;
}

/* ---- summing up ----------------------------------------------------------------------------- */

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
      if (!undisturbed || j >= samples->away.count || samples->away.ns[j] == 0)
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
  count = list_responses(samples, trace, t, !row->preempted.mixed, values);
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

/** Samples with a disturbed job are noted, and taken out of the others unless they are mixed in. */
static prem_status tell_apart(prem_row *row, prem_samples *samples) {
  const int64_t jobs = row->job_count, all = samples->makespan.count;
  int64_t kept = 0;
  for (int64_t s = 0; s < all; ++s) {
    int64_t away_ns = 0;
    for (int64_t j = s * jobs; j < (s + 1) * jobs && j < samples->away.count; ++j) {
      row->preempted.jobs += samples->away.ns[j] > 0;
      away_ns = prem_max_i64(away_ns, samples->away.ns[j]);
    }
    const prem_preempted_sample sample = {
        .after = kept, .makespan_ns = samples->makespan.ns[s], .away_ns = away_ns};
    if (away_ns > 0 && !prem_preempted_note(&row->preempted, &sample))
      return PREM_ERR_MEMORY;
    if (away_ns > 0 && !row->preempted.mixed)
      continue;
    samples->makespan.ns[kept] = samples->makespan.ns[s];
    memmove(samples->response.ns + kept++ * jobs, samples->response.ns + s * jobs,
            (size_t)jobs * sizeof *samples->response.ns);
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

static prem_status finish_row(const prem_campaign *campaign, prem_row *row, prem_samples *samples) {
  prem_status status = PREM_OK;
  row->preempted.watched = samples->away.count > 0;
  row->preempted.mixed = campaign->options->mix_preempted;
  for (int32_t t = 0; status == PREM_OK && t < row->task_count; ++t)
    status = summarise_responses(campaign, row, samples, t);
  if (status == PREM_OK)
    status = tell_apart(row, samples);
  if (status != PREM_OK)
    return status;
  row->samples_ns = samples->makespan.ns;
  row->response_samples_ns = samples->response.ns;
  samples->makespan.ns = samples->response.ns = NULL;
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

static prem_status copy_launch_search(prem_campaign *campaign) {
  const prem_launch_search *from = prem_session_launch_search(campaign->session);
  if (!from || from->candidate_count == 0)
    return PREM_OK;
  const size_t bytes = (size_t)from->candidate_count * sizeof *from->candidates;
  prem_launch_candidate *candidates = malloc(bytes);
  if (!candidates)
    return PREM_ERR_MEMORY;
  memcpy(candidates, from->candidates, bytes);
  campaign->result->launch_search =
      (prem_launch_search){.candidates = candidates, .candidate_count = from->candidate_count};
  return PREM_OK;
}

static void row_free(prem_row *row) {
  free(row->tasks);
  free(row->best_effort);
  free(row->samples_ns);
  free(row->response_samples_ns);
  free(row->chains);
  free(row->preempted.samples);
  prem_first_causes_free(&row->first);
  prem_trace_free(row->example);
  prem_trace_free(row->worst.trace);
  prem_trace_free(row->before.trace);
}

static void drop_left_out(prem_campaign *campaign) {
  prem_result *result = campaign->result;
  int32_t kept = 0;
  for (int32_t i = 0; i < result->row_count; ++i)
    if (campaign->is_left_out[i])
      row_free(&result->rows[i]);
    else
      result->rows[kept++] = result->rows[i];
  result->row_count = kept;
}

static prem_status finish_result(prem_campaign *campaign) {
  prem_status status = copy_launch_search(campaign);
  for (int32_t i = 0; status == PREM_OK && i < campaign->result->row_count; ++i)
    status = finish_row(campaign, &campaign->result->rows[i], &campaign->samples[i]);
  if (status == PREM_OK)
    drop_left_out(campaign);
  return status;
}

static bool measured_anything(const prem_result *result) {
  for (int32_t i = 0; i < result->row_count; ++i)
    if (result->rows[i].samples > 0 || result->rows[i].preempted.count > 0)
      return true;
  return false;
}

prem_status prem_compare(prem_session *session, const prem_schedule *schedule,
                         const prem_backend *backend, const prem_compare_options *options,
                         prem_result **out, prem_diag *diag) {
  *out = NULL;
  prem_status status = judge_options(options, backend, diag);
  if (status != PREM_OK)
    return status;
  if (!schedule->plan)
    return refuse(diag, PREM_ERR_ARGUMENT, "plan", "the schedule has no plan to run");
  prem_campaign campaign = {.session = session,
                            .schedule = prem_session_critical(session),
                            .options = options,
                            .diag = diag,
                            .random = options->sampling.seed};
  status = make_result(&campaign);
  if (status == PREM_OK) {
    status = run_rounds(&campaign);
    campaign.result->interrupted = status == PREM_ERR_INTERRUPTED;
    prem_status finished = finish_result(&campaign);
    status = finished == PREM_OK ? status : finished;
    if (status == PREM_OK && campaign.result->left_out_count > 0)
      status = PREM_ERR_UNAVAILABLE;
    if (finished == PREM_OK && measured_anything(campaign.result)) {
      *out = campaign.result;
      campaign.result = NULL;
    }
  }
  for (int32_t i = 0; i < PREM_MODE_COUNT; ++i)
    samples_free(&campaign.samples[i], campaign.schedule->measure.chain_count);
  prem_trace_free(campaign.trace);
  prem_result_free(campaign.result);
  return status;
}

void prem_result_free(prem_result *result) {
  if (!result)
    return;
  for (int32_t i = 0; i < result->row_count; ++i)
    row_free(&result->rows[i]);
  free(result->rows);
  free(result->launch_search.candidates);
  free(result);
}
