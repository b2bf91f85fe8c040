/* SPDX-License-Identifier: Apache-2.0 */
/* The isolation certificate: every task alone, with its neighbours, with stressors. */
#include "measure/disturbance.h"
#include "measure/interleave.h"
#include "prem/base/numbers.h"
#include "studies/stressor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAUNCHES = 10, TAIL_BINS = PREM_ISOLATION_BINS / 4 };

/** Variants in the order alone, all together, stressed: [0, n), n, (n, 2 n]. */
typedef struct certifying {
  const prem_schedule *schedule;
  const prem_backend *backend;
  const prem_isolate_options *options;
  prem_isolation *result;
  prem_variant *variants;
  prem_schedule **schedules; /* of each variant but the one of all; owned */
  int32_t variant_count;
  prem_disturbance *disturbance;
  prem_diag *diag;
} certifying;

const char *prem_condition_name(prem_condition condition) {
  static const char *const names[PREM_ISOLATION_CONDITIONS] = {"alone", "neighbours", "hostile"};
  return (int)condition < PREM_ISOLATION_CONDITIONS ? names[condition] : "unknown";
}

int64_t prem_quantile_per_mille(int32_t index) {
  static const int64_t last[] = {990, 999, 1000};
  return index < PREM_QUANTILES - 3 ? 50 * index : last[index - (PREM_QUANTILES - 3)];
}

/* ---- variants ------------------------------------------------------------------------------- */

static prem_variant *variant_of(const certifying *all, prem_condition condition, int32_t t) {
  const int32_t tasks = all->schedule->task_count;
  const int32_t index = condition == PREM_ISOLATED    ? t
                        : condition == PREM_CORUNNING ? tasks
                                                      : tasks + 1 + t;
  return &all->variants[index];
}

static prem_status make_alone(certifying *all, int32_t t, bool *keep) {
  memset(keep, 0, (size_t)all->schedule->task_count * sizeof *keep);
  keep[t] = true;
  return prem_schedule_subset(all->schedule, keep, &all->schedules[t]);
}

static prem_status make_schedules(certifying *all, bool *keep, int32_t *elements) {
  const int32_t tasks = all->schedule->task_count;
  prem_status status = prem_stressor_size(all->schedule, all->backend, all->options, elements,
                                          all->result->stressors, all->diag);
  for (int32_t t = 0; t < tasks && status == PREM_OK; ++t) {
    status = make_alone(all, t, keep);
    if (status == PREM_OK)
      status = prem_stressor_schedule(all->schedule, all->result->hostile, elements, t,
                                      &all->schedules[tasks + 1 + t], all->diag);
  }
  return status;
}

static prem_status open_variants(certifying *all) {
  const size_t tasks = (size_t)all->schedule->task_count;
  bool *keep = calloc(tasks + 1, sizeof *keep);
  int32_t *elements = calloc(tasks + 1, sizeof *elements);
  prem_status status = PREM_ERR_MEMORY;
  if (keep && elements)
    status = make_schedules(all, keep, elements);
  for (int32_t i = 0; i < all->variant_count && status == PREM_OK; ++i) {
    all->variants[i].schedule = all->schedules[i] ? all->schedules[i] : all->schedule;
    status = prem_variant_open(&all->variants[i], all->backend, all->diag);
  }
  free(keep);
  free(elements);
  return status;
}

/* ---- modes without phases ------------------------------------------------------------------- */

static prem_status run_once(const certifying *all, prem_mode mode) {
  const prem_variant *whole = variant_of(all, PREM_CORUNNING, 0);
  const prem_run_request request = {
      .mode = mode, .hyperperiods = 1, .engine = all->options->engine, .stop = all->options->stop};
  prem_trace *trace = NULL;
  prem_status status = prem_trace_new(whole->schedule, 1, 0, &trace);
  if (status == PREM_OK)
    status = prem_session_run(whole->session, &request, trace, all->diag);
  prem_trace_free(trace);
  return status;
}

static void leave_out(const certifying *all, prem_mode mode) {
  const size_t problems = prem_diag_count(all->diag);
  for (int32_t i = 0; i < all->variant_count; ++i)
    snprintf(all->variants[i].left_out[mode], sizeof all->variants[i].left_out[mode], "%s",
             problems > 0 ? prem_diag_at(all->diag, problems - 1)->reason : "not possible here");
}

/* Ways to launch ordinary kernels, and their shares of the machine, are chosen with all tasks at
 * work and then the same in every condition: else a task alone would differ in more than that. */
static prem_status choose_ways(const certifying *all) {
  const prem_session *whole = variant_of(all, PREM_CORUNNING, 0)->session;
  for (int32_t i = 0; i < all->variant_count; ++i)
    if (all->variants[i].session != whole)
      prem_session_follow(all->variants[i].session, whole);
  for (int32_t m = 0; m < all->options->mode_count; ++m) {
    const prem_mode mode = all->options->modes[m];
    const prem_status status = prem_mode_has_phases(mode) ? PREM_OK : run_once(all, mode);
    if (status == PREM_ERR_UNAVAILABLE)
      leave_out(all, mode);
    else if (status != PREM_OK)
      return status;
  }
  return PREM_OK;
}

/* ---- folding -------------------------------------------------------------------------------- */

static void fold_phase(const prem_times *times, prem_summary *summary, int64_t *quantiles) {
  prem_times_summarise(times, summary);
  for (int32_t i = 0; i < PREM_QUANTILES; ++i)
    quantiles[i] = prem_times_percentile(times, prem_quantile_per_mille(i));
}

static int64_t count_distinct(const int64_t *sorted, int64_t count) {
  int64_t distinct = 0;
  for (int64_t i = 0; i < count; ++i)
    distinct += i == 0 || sorted[i] != sorted[i - 1];
  return distinct;
}

/* Where there are too many, neighbours share a bin, but for the longest. */
static void fold_bins(const int64_t *sorted, int64_t count, prem_isolation_bins *out) {
  const int64_t distinct = count_distinct(sorted, count);
  const int64_t shared = distinct - TAIL_BINS, room = PREM_ISOLATION_BINS - TAIL_BINS;
  int64_t number = -1;
  for (int64_t i = 0; i < count; ++i) {
    number += i == 0 || sorted[i] != sorted[i - 1];
    const int64_t bin = distinct <= PREM_ISOLATION_BINS ? number
                        : number < shared               ? number * room / shared
                                                        : number - shared + room;
    out->ns[bin] = sorted[i];
    ++out->count[bin];
    out->bin_count = (int32_t)bin + 1;
  }
}

static void fold_task(const certifying *all, const prem_isolation_mode *mode, int32_t t,
                      prem_condition condition) {
  const prem_variant *variant = variant_of(all, condition, t);
  const prem_variant_times *observed = &variant->observed[mode->mode];
  prem_isolation_task *task = &mode->tasks[t];
  const int32_t at = prem_schedule_find_task(variant->schedule, task->name);
  prem_summarise(observed->responses[at].ns, observed->responses[at].count,
                 &task->response_ns[condition]); /* it sorts */
  const int64_t deadline_ns = all->schedule->tasks[t].deadline_ns;
  task->missed[condition] = deadline_ns > 0 ? 0 : -1;
  for (int64_t i = 0; i < observed->responses[at].count && deadline_ns > 0; ++i)
    task->missed[condition] += observed->responses[at].ns[i] > deadline_ns;
  fold_bins(observed->responses[at].ns, observed->responses[at].count,
            &task->response_bins[condition]);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    fold_phase(&observed->phases[at * PREM_PHASE_COUNT + p].steady, &task->phase_ns[p][condition],
               task->quantile_ns[p][condition]);
}

static void fold_stalls(const prem_variant_times *observed, prem_isolation_stalls *to) {
  prem_summary makespan_ns;
  prem_times_summarise(&observed->makespan, &makespan_ns);
  to->watched_ns += observed->stalls.watched_ns;
  to->count += observed->stalls.count;
  to->longest_ns = prem_max_i64(to->longest_ns, observed->stalls.longest_ns);
  to->hyperperiods += observed->disturbed;
  if (makespan_ns.count > 0)
    to->undisturbed_makespan_max_ns =
        prem_max_i64(to->undisturbed_makespan_max_ns, makespan_ns.max);
  to->all_makespan_max_ns =
      prem_max_i64(to->all_makespan_max_ns,
                   prem_max_i64(to->undisturbed_makespan_max_ns, observed->disturbed_max_ns));
}

static void fold_counts(const certifying *all, prem_isolation_mode *mode, prem_condition condition,
                        int32_t t) {
  const prem_variant *variant = variant_of(all, condition, t);
  const prem_variant_times *observed = &variant->observed[mode->mode];
  if (observed->lateness_max_ns > mode->lateness_max_ns[condition])
    mode->lateness_max_ns[condition] = observed->lateness_max_ns;
  if (!mode->left_out[condition][0])
    memcpy(mode->left_out[condition], variant->left_out[mode->mode],
           sizeof mode->left_out[condition]);
  mode->releases[condition] += observed->releases;
  mode->late[condition] += observed->late;
  mode->overruns[condition] += observed->overruns;
  if (observed->stalls.watched_ns > 0)
    fold_stalls(observed, &mode->stalls[condition]);
  all->result->output_ok &= !observed->output_wrong;
  all->result->oversubscribed |= observed->oversubscribed;
  all->result->lost += observed->lost;
}

static void fold_mode(const certifying *all, prem_isolation_mode *mode) {
  for (int32_t t = 0; t < all->schedule->task_count; ++t)
    for (int condition = 0; condition < PREM_ISOLATION_CONDITIONS; ++condition) {
      fold_task(all, mode, t, (prem_condition)condition);
      if (condition != PREM_CORUNNING || t == 0)
        fold_counts(all, mode, (prem_condition)condition, t);
    }
  prem_times_summarise(&variant_of(all, PREM_CORUNNING, 0)->observed[mode->mode].makespan,
                       &mode->makespan_ns);
}

static void after_turn(void *context, int64_t done, int64_t all_turns) {
  const certifying *all = context;
  prem_disturbance_look(all->disturbance);
  if (all->options->progress)
    all->options->progress(all->options->progress_context, done, all_turns);
}

static void fold(const certifying *all) {
  prem_isolation *result = all->result;
  for (int32_t m = 0; m < result->mode_count; ++m)
    fold_mode(all, &result->modes[m]);
  result->valid = prem_disturbance_none(
      all->disturbance, result->sampling.samples * all->variant_count * result->mode_count,
      result->disturbed, sizeof result->disturbed);
}

static prem_status measure(certifying *all) {
  const prem_isolate_options *options = all->options;
  const int64_t launches = all->result->sampling.launches;
  prem_interleave_options interleave = {.backend = all->backend,
                                        .mode_count = options->mode_count,
                                        .sampling = all->result->sampling,
                                        .leave_out = true,
                                        .disturbed_apart = options->sentinel,
                                        .sentinel = options->sentinel,
                                        .engine = options->engine,
                                        .stop = options->stop,
                                        .progress = after_turn,
                                        .progress_context = all,
                                        .around_round = prem_disturbance_round,
                                        .round_context = all->disturbance};
  interleave.sampling.max_records /= launches > 0 ? launches : 1;
  for (int32_t m = 0; m < options->mode_count; ++m)
    interleave.modes[m] = options->modes[m];
  prem_status status = prem_interleave(all->variants, all->variant_count, &interleave, all->diag);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED)
    fold(all);
  return status;
}

/* Some of it, or all? */
static prem_status judge_left_out(const prem_isolation *result) {
  bool any = false;
  for (int32_t m = 0; m < result->mode_count; ++m)
    for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
      any |= result->modes[m].left_out[c][0] != '\0';
  return any ? PREM_ERR_UNAVAILABLE : PREM_OK;
}

static bool measured_anything(const prem_isolation *result) {
  int64_t jobs = 0;
  for (int32_t m = 0; m < result->mode_count; ++m)
    for (int32_t t = 0; t < result->task_count; ++t)
      for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
        jobs += result->modes[m].tasks[t].response_ns[c].count;
  return jobs > 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static prem_status make_result(const prem_schedule *schedule, const prem_isolate_options *options,
                               prem_isolation **out) {
  const size_t tasks = (size_t)schedule->task_count + 1;
  prem_isolation *result = *out = calloc(1, sizeof *result);
  if (!result)
    return PREM_ERR_MEMORY;
  result->task_count = schedule->task_count;
  result->mode_count = options->mode_count;
  result->sampling = options->sampling;
  result->sampling.rounds = prem_min_i64(options->sampling.rounds, options->sampling.samples);
  result->sampling.launches =
      options->sampling.scenario == PREM_RESIDENT
          ? prem_max_i64(result->sampling.rounds,
                         prem_min_i64(options->sampling.samples, MAX_LAUNCHES))
          : 0;
  result->output_ok = true;
  result->valid = true;
  snprintf(result->hostile, sizeof result->hostile, "%s",
           options->hostile ? options->hostile : PREM_STRESSOR_KERNEL);
  result->stressors = calloc(tasks, sizeof *result->stressors);
  bool whole = result->stressors != NULL;
  for (int32_t m = 0; m < options->mode_count; ++m) {
    prem_isolation_mode *mode = &result->modes[m];
    mode->mode = options->modes[m];
    for (int c = 0; c < PREM_ISOLATION_CONDITIONS; ++c)
      mode->lateness_max_ns[c] = INT64_MIN;
    mode->tasks = calloc(tasks, sizeof *mode->tasks);
    whole &= mode->tasks != NULL;
    for (int32_t t = 0; mode->tasks && t < schedule->task_count; ++t)
      memcpy(mode->tasks[t].name, schedule->tasks[t].name, sizeof mode->tasks[t].name);
  }
  return whole ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status certify(certifying *all) {
  prem_status status = open_variants(all);
  if (status == PREM_OK) {
    const prem_machine *machine = prem_session_machine(variant_of(all, PREM_CORUNNING, 0)->session);
    all->result->clock_step_ns = machine->clock_step_ns;
    all->result->repeats_itself = strcmp(machine->backend, "sim") == 0;
    status = choose_ways(all);
  }
  if (status == PREM_OK)
    status = measure(all);
  return status == PREM_OK ? judge_left_out(all->result) : status;
}

/* The session that others follow is the last one. */
static void close_variants(certifying *all) {
  const int32_t whole = all->schedule->task_count;
  for (int32_t i = 0; all->variants && i < all->variant_count; ++i)
    if (i != whole)
      prem_variant_close(&all->variants[i]);
  if (all->variants)
    prem_variant_close(&all->variants[whole]);
  for (int32_t i = 0; all->schedules && i < all->variant_count; ++i)
    prem_schedule_free(all->schedules[i]);
  free(all->variants);
  free(all->schedules);
  prem_disturbance_free(all->disturbance);
}

static bool can_be_isolated(const prem_isolate_options *options) {
  bool all = options->sampling.samples >= 1 && options->mode_count >= 1 &&
             options->mode_count <= PREM_MODE_COUNT;
  for (int32_t m = 0; all && m < options->mode_count; ++m)
    all = prem_mode_computes(options->modes[m]);
  return all;
}

prem_status prem_isolate(const prem_schedule *schedule, const prem_backend *backend,
                         const prem_isolate_options *options, prem_isolation **out,
                         prem_diag *diag) {
  *out = NULL;
  if (!schedule->plan || !can_be_isolated(options))
    return PREM_ERR_ARGUMENT;
  if (options->hostile && prem_stressor_judge(options->hostile, diag) != PREM_OK)
    return PREM_ERR_ARGUMENT;
  certifying all = {.schedule = schedule,
                    .backend = backend,
                    .options = options,
                    .diag = diag,
                    .variant_count = 2 * schedule->task_count + 1};
  const size_t variants = (size_t)all.variant_count;
  prem_status status = make_result(schedule, options, &all.result);
  all.variants = calloc(variants, sizeof *all.variants);
  all.schedules = calloc(variants, sizeof(prem_schedule *));
  if (all.variants)
    all.disturbance =
        prem_disturbance_new(prem_backend_name(backend), all.variants, all.variant_count);
  if (status == PREM_OK)
    status = all.variants && all.schedules && all.disturbance ? certify(&all) : PREM_ERR_MEMORY;
  close_variants(&all);
  const bool found = status == PREM_OK || status == PREM_ERR_INTERRUPTED ||
                     (status == PREM_ERR_UNAVAILABLE && measured_anything(all.result));
  if (found) {
    all.result->interrupted = status == PREM_ERR_INTERRUPTED;
    *out = all.result;
  } else {
    prem_isolation_free(all.result);
  }
  return status;
}

void prem_isolation_free(prem_isolation *isolation) {
  if (!isolation)
    return;
  for (int32_t m = 0; m < isolation->mode_count; ++m)
    free(isolation->modes[m].tasks);
  free(isolation->stressors);
  free(isolation);
}

static int64_t move_of(int64_t beside_ns, int64_t alone_ns) {
  return beside_ns == INT64_MIN || alone_ns == INT64_MIN ? INT64_MIN : beside_ns - alone_ns;
}

prem_isolation_move prem_isolation_move_of(const prem_isolation_task *task,
                                           prem_condition condition) {
  const prem_summary *alone = &task->response_ns[PREM_ISOLATED];
  const prem_summary *beside = &task->response_ns[condition];
  if (alone->count == 0 || beside->count == 0)
    return (prem_isolation_move){INT64_MIN, INT64_MIN, INT64_MIN};
  return (prem_isolation_move){move_of(beside->p50, alone->p50),
                               move_of(beside->p9999, alone->p9999),
                               move_of(beside->max, alone->max)};
}

static int64_t distance(int64_t moved_ns) {
  return moved_ns == INT64_MIN ? -1 : llabs(moved_ns);
}

int64_t prem_isolation_moved_ns(const prem_isolation_task *task, prem_condition condition) {
  const prem_isolation_move move = prem_isolation_move_of(task, condition);
  return prem_max_i64(distance(move.p50_ns),
                      prem_max_i64(distance(move.p9999_ns), distance(move.max_ns)));
}
