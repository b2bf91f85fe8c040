/* SPDX-License-Identifier: Apache-2.0 */
/* Variants by turns: each turn is a short comparison of the modes, whose traces are folded. */
#include "measure/interleave.h"
#include "measure/disturbed.h"
#include "measure/job_times.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"

#include <stdio.h>
#include <stdlib.h>

/* Hyperperiods, discarded ones among them: a GPU's first one took twice as long. */
enum { WARM_UP = 3 };

/** The variant that is running: what the callback of the comparison needs. */
typedef struct turn {
  prem_variant *variant;
  const prem_interleave_options *options;
  int64_t discard; /* hyperperiods of a trace that do not count */
  int64_t *max_ns; /* [task * 3 + phase] of the hyperperiod in hand; 0: none seen */
  int32_t *places; /* of the critical tasks in the schedule, then of the best-effort ones */
} turn;

/* ---- room ----------------------------------------------------------------------------------- */

static prem_status observed_new(prem_variant_times *observed, int32_t tasks) {
  observed->task_count = tasks;
  observed->lateness_max_ns = INT64_MIN;
  observed->phases = calloc((size_t)tasks * PREM_PHASE_COUNT + 1, sizeof *observed->phases);
  observed->responses = calloc((size_t)tasks + 1, sizeof *observed->responses);
  observed->beside = calloc((size_t)tasks + 1, sizeof *observed->beside);
  return observed->phases && observed->responses && observed->beside ? PREM_OK : PREM_ERR_MEMORY;
}

static void observed_free(prem_variant_times *observed) {
  for (int32_t i = 0; observed->phases && i < observed->task_count * PREM_PHASE_COUNT; ++i) {
    prem_times_free(&observed->phases[i].steady);
    prem_times_free(&observed->phases[i].cold);
    prem_times_free(&observed->phases[i].disturbed);
    free(observed->phases[i].run_max.ns);
  }
  for (int32_t t = 0; observed->responses && t < observed->task_count; ++t)
    free(observed->responses[t].ns);
  prem_times_free(&observed->makespan);
  prem_times_free(&observed->warm);
  PREM_FREE(observed->phases, observed->responses, observed->beside);
  *observed = (prem_variant_times){0};
}

prem_status prem_variant_forget(prem_variant *variant) {
  for (int m = 0; m < PREM_MODE_COUNT; ++m) {
    observed_free(&variant->observed[m]);
    if (observed_new(&variant->observed[m], variant->schedule->task_count) != PREM_OK)
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

prem_status prem_variant_open(prem_variant *variant, const prem_backend *backend, prem_diag *diag) {
  if (prem_variant_forget(variant) != PREM_OK)
    return PREM_ERR_MEMORY;
  return prem_session_open(backend, variant->schedule, &variant->session, diag);
}

void prem_variant_close(prem_variant *variant) {
  prem_session_close(variant->session);
  variant->session = NULL;
  for (int m = 0; m < PREM_MODE_COUNT; ++m)
    observed_free(&variant->observed[m]);
}

/* ---- folding a trace ------------------------------------------------------------------------ */

static bool add_to_series(prem_series *series, int64_t ns) {
  return PREM_APPEND(series->ns, series->count, ns);
}

/* Instruction caches and address translation are filled by the first tile of each block. */
static bool is_cold(const turn *now, const int32_t *places, const prem_trace_record *record) {
  return (record->flags & PREM_SLOT_WARMUP) ||
         (record->hyperperiod == 0 && record->job == 0 &&
          record->tile < now->variant->schedule->tasks[places[record->task]].block_count);
}

static bool has_apart(const turn *now, const prem_trace *trace, int64_t hyperperiod) {
  return now->options->disturbed_apart && prem_disturbed_in(trace, hyperperiod) > 0;
}

static bool add_record(const turn *now, prem_variant_times *to, const prem_trace *trace,
                       const prem_trace_record *record) {
  const int32_t index = now->places[record->task] * PREM_PHASE_COUNT + record->phase;
  prem_variant_phase *phase = &to->phases[index];
  const int64_t took_ns = record->end_ns - record->start_ns;
  if (now->options->disturbed_apart && prem_is_disturbed(trace, record))
    return record->hyperperiod < now->discard || prem_times_add(&phase->disturbed, took_ns);
  if (is_cold(now, now->places, record))
    return prem_times_add(&phase->cold, took_ns);
  if (record->hyperperiod < now->discard)
    return true;
  now->max_ns[index] = prem_max_i64(now->max_ns[index], took_ns);
  return prem_times_add(&phase->steady, took_ns);
}

/* Launches are what is alike and independent: a resident launch gives one maximum. */
static bool add_maxima(const turn *now, prem_variant_times *to) {
  bool room = true;
  for (int32_t i = 0; i < to->task_count * PREM_PHASE_COUNT; ++i) {
    if (now->max_ns[i] > 0)
      room &= add_to_series(&to->phases[i].run_max, now->max_ns[i]);
    now->max_ns[i] = 0;
  }
  return room;
}

/* Relaunched, each run is a launch, and those that are discarded have no trace. */
static bool is_warm(const turn *now, int64_t run, int64_t hyperperiod) {
  const prem_sampling *sampling = &now->options->sampling;
  const bool is_resident = sampling->scenario == PREM_RESIDENT;
  return (is_resident ? hyperperiod : run + sampling->discard) >= WARM_UP;
}

static bool add_jobs(const turn *now, prem_variant_times *to, const prem_trace *trace, int64_t run,
                     int64_t hyperperiod) {
  const prem_schedule *schedule = prem_session_critical(now->variant->session);
  bool room = true;
  for (int32_t t = 0; t < trace->task_count; ++t)
    for (int64_t j = 0; j < trace->first_job[t + 1] - trace->first_job[t]; ++j)
      room &= add_to_series(&to->responses[now->places[t]],
                            prem_response_ns(schedule, trace, hyperperiod, t, j));
  const int64_t makespan_ns = prem_makespan_ns(trace, hyperperiod);
  if (is_warm(now, run, hyperperiod))
    room &= prem_times_add(&to->warm, makespan_ns);
  return room && prem_times_add(&to->makespan, makespan_ns);
}

/* May the counts stand for stamps that found no room? They tell neither first tiles apart, unless
 * those are discarded, nor disturbed jobs. */
static bool counts_stand_in(const turn *now, const prem_trace *trace) {
  bool stand_in = trace->lost > 0 && now->discard > 0;
  for (int64_t h = 0; h < trace->hyperperiods && stand_in; ++h)
    stand_in = !has_apart(now, trace, h);
  return stand_in;
}

static void add_unrecorded(const int32_t *places, prem_variant_times *to, const prem_trace *trace,
                           int32_t i) {
  prem_variant_phase *phase =
      &to->phases[places[i / PREM_PHASE_COUNT] * PREM_PHASE_COUNT + i % PREM_PHASE_COUNT];
  if (trace->stats[i].count > 0)
    phase->unrecorded_max_ns =
        prem_max_i64(phase->unrecorded_max_ns, trace->stats[i].duration_max_ns);
}

static void add_counts(const turn *now, prem_variant_times *to, const prem_trace *trace) {
  const bool unrecorded = counts_stand_in(now, trace);
  for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT; ++i) {
    if (unrecorded)
      add_unrecorded(now->places, to, trace, i);
    prem_variant_phase *phase =
        &to->phases[now->places[i / PREM_PHASE_COUNT] * PREM_PHASE_COUNT + i % PREM_PHASE_COUNT];
    phase->due += trace->stats[i].releases > 0 ? trace->stats[i].releases : trace->stats[i].count;
    phase->late += prem_max_i64(trace->stats[i].late, trace->stats[i].overruns);
    to->counted += trace->stats[i].count;
    to->releases += trace->stats[i].releases;
    to->late += trace->stats[i].late;
    to->overruns += trace->stats[i].overruns;
    to->lateness_max_ns = prem_max_i64(to->lateness_max_ns, trace->stats[i].lateness_max_ns);
  }
  to->lost += trace->lost;
  to->oversubscribed |= trace->oversubscribed;
}

/* Best-effort tasks have no hyperperiods that are discarded, and nobody watches their cores. What
 * found no room counts, be it cold: they do more than any trace has room for. */
static bool add_beside(const turn *now, prem_variant_times *to,
                       const prem_best_effort_trace *beside, int32_t critical_count) {
  const prem_trace *trace = beside->trace;
  const int32_t *places = now->places + critical_count;
  bool room = true;
  for (int64_t i = 0; i < trace->record_count && room; ++i) {
    const prem_trace_record *record = &trace->records[i];
    const int32_t index = places[record->task] * PREM_PHASE_COUNT + record->phase;
    const int64_t took_ns = record->end_ns - record->start_ns;
    const bool cold = is_cold(now, places, record);
    room = prem_times_add(cold ? &to->phases[index].cold : &to->phases[index].steady, took_ns);
    if (!cold)
      now->max_ns[index] = prem_max_i64(now->max_ns[index], took_ns);
  }
  for (int32_t i = 0; i < trace->task_count * PREM_PHASE_COUNT && trace->lost > 0; ++i)
    add_unrecorded(places, to, trace, i);
  for (int32_t t = 0; t < trace->task_count; ++t)
    prem_best_effort_counts_merge(&to->beside[places[t]], &beside->counts[t]);
  to->beside_ns += beside->length_ns;
  return room;
}

static prem_status fold_trace(void *context, const prem_trace *trace, prem_mode mode, int64_t run) {
  const turn *now = context;
  prem_variant_times *to = &now->variant->observed[mode];
  bool room = true;
  add_counts(now, to, trace);
  to->stalls.watched_ns += trace->stalls.watched_ns;
  to->stalls.count += trace->stalls.count;
  to->stalls.sum_ns += trace->stalls.sum_ns;
  to->stalls.longest_ns = prem_max_i64(to->stalls.longest_ns, trace->stalls.longest_ns);
  for (int64_t i = 0; i < trace->record_count && room; ++i)
    room = add_record(now, to, trace, &trace->records[i]);
  for (int64_t h = now->discard; h < trace->hyperperiods && room; ++h)
    if (has_apart(now, trace, h)) {
      ++to->disturbed;
      to->disturbed_max_ns = prem_max_i64(to->disturbed_max_ns, prem_makespan_ns(trace, h));
    } else {
      room = add_jobs(now, to, trace, run, h);
    }
  if (room && trace->best_effort)
    room = add_beside(now, to, trace->best_effort, trace->task_count);
  if (!room || !add_maxima(now, to))
    return PREM_ERR_MEMORY;
  const prem_interleave_options *options = now->options;
  return options->on_trace ? options->on_trace(options->trace_context, trace, mode) : PREM_OK;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static void leave_out(prem_variant *variant, prem_mode mode, const char *reason) {
  snprintf(variant->left_out[mode], sizeof variant->left_out[mode], "%s",
           reason[0] ? reason : "not possible here");
}

/* A comparison of several modes says which are not possible; of the only one the diag says it. */
static void note_left_out(prem_variant *variant, const prem_compare_options *compare,
                          const prem_result *result, const prem_diag *diag) {
  const size_t problems = prem_diag_count(diag);
  const char *last = problems > 0 ? prem_diag_at(diag, problems - 1)->reason : "";
  for (int32_t i = 0; result && i < result->left_out_count; ++i)
    leave_out(variant, result->left_out[i].mode, result->left_out[i].reason);
  for (int32_t m = 0; !result && m < compare->mode_count; ++m)
    leave_out(variant, compare->modes[m], last);
}

static bool takes_part(const prem_variant *variant, prem_mode mode) {
  return (!variant->modes || variant->modes & 1U << mode) && !variant->left_out[mode][0];
}

/* As the traces of a session number them. */
static int32_t *places_of(const prem_schedule *schedule) {
  int32_t *places = malloc(((size_t)schedule->task_count + 1) * sizeof *places), count = 0;
  for (int beside = 0; places && beside < 2; ++beside)
    for (int32_t t = 0; t < schedule->task_count; ++t)
      if (schedule->tasks[t].best_effort == beside)
        places[count++] = t;
  return places;
}

static prem_status take_turn(prem_variant *variant, const prem_interleave_options *options,
                             const prem_sampling *sampling, prem_diag *diag) {
  turn now = {.variant = variant,
              .options = options,
              .discard = sampling->scenario == PREM_RESIDENT ? sampling->discard : 0,
              .places = places_of(variant->schedule),
              .max_ns = calloc((size_t)variant->schedule->task_count * PREM_PHASE_COUNT + 1,
                               sizeof *now.max_ns)};
  if (!now.max_ns || !now.places) {
    free(now.max_ns);
    free(now.places);
    return PREM_ERR_MEMORY;
  }
  prem_compare_options compare = {.sampling = *sampling,
                                  .engine = options->engine,
                                  .times_only = true,
                                  .mix_disturbed = true, /* the traces tell them apart */
                                  .sentinel = options->sentinel,
                                  .stop = options->stop,
                                  .on_trace = fold_trace,
                                  .trace_context = &now};
  for (int32_t m = 0; m < options->mode_count; ++m)
    if (takes_part(variant, options->modes[m]))
      compare.modes[compare.mode_count++] = options->modes[m];
  prem_result *result = NULL;
  prem_status status = PREM_OK;
  if (compare.mode_count > 0)
    status = prem_compare(variant->session, variant->schedule, options->backend, &compare, &result,
                          diag);
  if (status == PREM_ERR_UNAVAILABLE && options->leave_out) {
    note_left_out(variant, &compare, result, diag);
    status = PREM_OK;
  }
  for (int32_t i = 0; result && i < result->row_count; ++i) {
    prem_variant_times *observed = &variant->observed[result->rows[i].mode];
    observed->output_wrong |= result->rows[i].output_checked && !result->rows[i].output_ok;
    observed->discarded += result->rows[i].discarded;
  }
  prem_result_free(result);
  free(now.max_ns);
  free(now.places);
  return status;
}

static int64_t share_of(int64_t samples, int64_t rounds, int64_t round) {
  return samples / rounds + (round < samples % rounds);
}

/* What every variant does in a round. */
static prem_sampling share_of_round(const prem_sampling *all, int64_t rounds, int64_t round) {
  prem_sampling share = *all;
  share.samples = share_of(all->samples, rounds, round);
  share.launches = all->launches > 0 ? prem_max_i64(share_of(all->launches, rounds, round), 1) : 0;
  share.duration_s = 0;
  return share;
}

prem_status prem_interleave(prem_variant *variants, int32_t count,
                            const prem_interleave_options *options, prem_diag *diag) {
  const int64_t rounds = prem_min_i64(options->sampling.rounds, options->sampling.samples);
  int32_t *order = calloc((size_t)count + 1, sizeof *order);
  uint64_t random = options->sampling.seed;
  prem_status status = order ? PREM_OK : PREM_ERR_MEMORY;
  for (int32_t i = 0; order && i < count; ++i)
    order[i] = i;
  for (int64_t round = 0; round < rounds && status == PREM_OK; ++round) {
    prem_shuffle(order, count, &random);
    if (options->around_round)
      options->around_round(options->round_context, round, true);
    prem_sampling share = share_of_round(&options->sampling, rounds, round);
    for (int32_t i = 0; i < count && status == PREM_OK; ++i) {
      share.seed = prem_random_next(&random);
      status = options->stop && *options->stop
                   ? PREM_ERR_INTERRUPTED
                   : take_turn(&variants[order[i]], options, &share, diag);
      if (options->progress && status == PREM_OK)
        options->progress(options->progress_context, round * count + i + 1, rounds * count);
    }
    if (options->around_round)
      options->around_round(options->round_context, round, false);
  }
  free(order);
  return status;
}
