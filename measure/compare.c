/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of several modes, interleaved in random order, folded into one row for each mode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/campaign.h"
#include "measure/job_times.h"
#include "prem/base/clock.h"
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"

static prem_status refuse(prem_diag *diag, prem_status status, const char *key,
                          const char *reason) {
  return prem_fail(diag, status, 0, (prem_place){0}, key, "%s", reason);
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
  row->partly_verified += verdict.partial;
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
                              .sentinel = campaign->options->sentinel,
                              .arrivals = campaign->options->arrivals,
                              .arrival_count = campaign->options->arrival_count,
                              .cpu = campaign->options->cpu};
  /* What computes nothing leaves the outputs of the run before. */
  prem_status status =
      prem_mode_computes(row->mode) ? prem_session_poison(campaign->session) : PREM_OK;
  if (status != PREM_OK)
    return status;
  status = prem_session_run(campaign->session, &request, campaign->trace, campaign->diag);
  bool measured = status == PREM_OK || status == PREM_ERR_INTERRUPTED || status == PREM_ERR_MACHINE;
  if (measured && counted) {
    prem_status folded = prem_row_fold(campaign, row_index, discard);
    if (status == PREM_ERR_MACHINE)
      prem_row_count_unended(row, campaign->trace);
    status = status == PREM_OK ? folded : status;
  }
  if (measured)
    row->hyperperiods += campaign->trace->hyperperiods;
  row->discarded += counted ? prem_min_i64(discard, campaign->trace->hyperperiods) : 1;
  return status == PREM_OK ? verify_outputs(campaign, row) : status;
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
    status = run_once(campaign, row_index,
                      campaign->sampling.discard + prem_rounds_share(campaign, round),
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
  prem_rounds_lay_out(campaign);
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
    if (!prem_backend_has_mode(backend, mode))
      return prem_fail(diag, PREM_ERR_UNAVAILABLE, 0, (prem_place){0}, "modes",
                       "the backend '%s' has no mode '%s'", prem_backend_name(backend),
                       prem_mode_name(mode));
  }
  return PREM_OK;
}

/** A trace with room for the longest launch. */
static prem_status make_room(prem_campaign *campaign) {
  const prem_compare_options *options = campaign->options;
  const int64_t hyperperiods = options->sampling.scenario == PREM_RESIDENT
                                   ? campaign->sampling.discard + prem_rounds_share(campaign, 0)
                                   : 1;
  prem_trace_free(campaign->trace);
  return prem_session_trace_new(campaign->session, hyperperiods, options->sampling.max_records,
                                &campaign->trace);
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
  prem_rounds_lay_out(campaign);
  campaign->phases = prem_phases_in(schedule);
  prem_status status = make_room(campaign);
  if (status != PREM_OK)
    return status;
  result->rows = calloc(PREM_MODE_COUNT, sizeof *result->rows);
  if (!result->rows)
    return PREM_ERR_MEMORY;
  for (; status == PREM_OK && result->row_count < campaign->options->mode_count;
       ++result->row_count)
    status = prem_row_make(campaign, campaign->options->modes[result->row_count],
                           &result->rows[result->row_count]);
  return status;
}

/* ---- summing up ----------------------------------------------------------------------------- */

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

static void drop_left_out(prem_campaign *campaign) {
  prem_result *result = campaign->result;
  int32_t kept = 0;
  for (int32_t i = 0; i < result->row_count; ++i)
    if (campaign->is_left_out[i])
      prem_row_free(&result->rows[i]);
    else
      result->rows[kept++] = result->rows[i];
  result->row_count = kept;
}

static prem_status finish_result(prem_campaign *campaign) {
  prem_status status = copy_launch_search(campaign);
  for (int32_t i = 0; status == PREM_OK && i < campaign->result->row_count; ++i)
    status = prem_row_finish(campaign, &campaign->result->rows[i], &campaign->samples[i]);
  if (status == PREM_OK)
    drop_left_out(campaign);
  return status;
}

static bool measured_anything(const prem_result *result) {
  for (int32_t i = 0; i < result->row_count; ++i)
    if (result->rows[i].samples > 0 || result->rows[i].disturbed.count > 0)
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
    prem_samples_free(&campaign.samples[i], campaign.schedule->measure.chain_count);
  prem_trace_free(campaign.trace);
  prem_result_free(campaign.result);
  return status;
}

void prem_result_free(prem_result *result) {
  if (!result)
    return;
  for (int32_t i = 0; i < result->row_count; ++i)
    prem_row_free(&result->rows[i]);
  PREM_FREE(result->rows, result->launch_search.candidates, result);
}
