/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiling: every task alone by the file's resources, and all of them each as fast as it can.
 *
 * A gate keeps best-effort tasks out of the critical ones' memory phases, so these are measured
 * without them. Bounds of best-effort tasks have to hold in all company, so these are measured with
 * all tasks at work and no gate. By a plan all run as they will, gate and all.
 */
#include "ttprem/profile.h"

#include "measure/disturbance.h"
#include "measure/handovers.h"
#include "measure/interleave.h"
#include "measure/pwcet.h"
#include "measure/quantile.h"
#include "measure/turnarounds.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "report/findings/tables.h"
#include "ttprem/prepare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double default_probability = 1e-6;
enum {
  HISTOGRAM_ROWS = 64,
  USUAL = 900,             /* of 1000 turnarounds, so many are no longer */
  MANY_LATE = 100,         /* one release of so many */
  ENOUGH_RECORDS = 1 << 16 /* of a resident launch, for what its phases usually take */
};

/** Variants: each critical task alone, in order; all of them; with best-effort tasks these too. */
typedef struct profiling {
  const prem_schedule *schedule;
  prem_schedule *critical; /* its critical tasks; NULL: all are */
  int32_t alone_count;     /* of variants, so many tasks are critical */
  int32_t variant_count;
  int32_t *places; /* [task]: among the critical ones, those of best effort behind them */
  const prem_backend *backend;
  const prem_profile_options *options;
  prem_profile *result;
  prem_variant *variants;
  prem_schedule **schedules;
  prem_disturbance *disturbance;
  prem_times *handovers;       /* [place] of all critical tasks together */
  prem_times *turnarounds;     /* [place * PREM_PHASE_COUNT + phase] the same */
  prem_times *job_turnarounds; /* [place] the same */
  prem_times job_prefetches;
  prem_times unit_turnarounds; /* of computes */
  int64_t *drains_ns;          /* [place * PREM_PHASE_COUNT + phase] of best-effort tasks, gated */
  prem_diag *diag;
} profiling;

static const prem_condition conditions[PREM_PROFILE_CONDITION_COUNT] = PREM_PROFILE_CONDITIONS;

/* ---- measuring ------------------------------------------------------------------------------ */

/* Only the plan is run? Whatever was seen otherwise made it. Turnarounds get no shorter then: a
 * plan that has room for them hides them. */
static bool is_by_plan(const prem_profile_options *options) {
  return options->anew || options->raise;
}

/* What there is of the file but best effort. */
static const prem_schedule *critical_of(const profiling *all) {
  return all->critical ? all->critical : all->schedule;
}

/* The variants that are measured: all of them, or the plan, which is the last. */
static int32_t first_variant(const profiling *all) {
  return is_by_plan(all->options) ? all->variant_count - 1 : 0;
}

static uint32_t modes_of(const profiling *all, int32_t variant) {
  const uint32_t by_plan = 1U << PREM_MODE_TT, free = 1U << PREM_MODE_FREE;
  if (variant < all->alone_count)
    return 1U << PREM_MODE_LOCK;
  if (variant < all->variant_count - 1)
    return free;
  return is_by_plan(all->options) ? by_plan : free | by_plan;
}

static prem_status open_alone(profiling *all, int32_t i) {
  bool *keep = calloc((size_t)all->alone_count + 1, sizeof *keep);
  if (!keep)
    return PREM_ERR_MEMORY;
  keep[i] = true;
  const prem_status status = prem_schedule_subset(critical_of(all), keep, &all->schedules[i]);
  all->variants[i].schedule = all->schedules[i];
  free(keep);
  return status;
}

static prem_status open_variants(profiling *all) {
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < all->variant_count && status == PREM_OK; ++i) {
    prem_variant *variant = &all->variants[i];
    variant->schedule = i == all->alone_count ? critical_of(all) : all->schedule;
    variant->modes = modes_of(all, i);
    if (i < all->alone_count)
      status = open_alone(all, i);
    if (status == PREM_OK)
      status = i < first_variant(all) ? prem_variant_forget(variant)
                                      : prem_variant_open(variant, all->backend, all->diag);
  }
  return status;
}

static void after_turn(void *context, int64_t done, int64_t all_turns) {
  const profiling *all = context;
  prem_disturbance_look(all->disturbance);
  if (all->options->progress)
    all->options->progress(all->options->progress_context, done, all_turns);
}

/* On the CPU they are the operating system's. */
static prem_status add_turnarounds(profiling *all, const prem_trace *trace, prem_mode mode,
                                   int64_t from) {
  const prem_machine *machine = &all->result->machine;
  const prem_turnarounds_of run = {
      .schedule = critical_of(all),
      .trace = trace,
      .mode = mode,
      .from = from,
      .clock_step_ns = machine->clock_step_ns,
      .told_ns = prem_max_i64(machine->precedence_ns, prem_schedule_precedence_ns(all->schedule))};
  if (strcmp(prem_backend_name(all->backend), "cpu") == 0)
    return PREM_OK;
  const prem_turnaround_times out = {.of = all->turnarounds,
                                     .jobs = all->job_turnarounds,
                                     .computes = &all->unit_turnarounds,
                                     .prefetches = &all->job_prefetches};
  return prem_turnarounds_add(&run, &out);
}

/* Where the gate held best-effort tasks back, a phase's bound is how long those still took that
 * were in flight when it closed: they had company, but nothing new came. */
static void add_drains(profiling *all, const prem_best_effort_trace *beside) {
  const prem_trace *trace = beside->trace;
  const int32_t first = critical_of(all)->task_count;
  for (int32_t t = 0; beside->gated && t < trace->task_count; ++t)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      int64_t *drain_ns = &all->drains_ns[(first + t) * PREM_PHASE_COUNT + phase];
      *drain_ns = prem_max_i64(*drain_ns, beside->counts[t].drain_ns[phase]);
    }
}

/* Alone means lock here. Where threads yield to each other, what a message takes is not theirs; nor
 * is it where no gate keeps best-effort tasks off. */
static prem_status add_waits(void *context, const prem_trace *trace, prem_mode mode) {
  profiling *all = context;
  const prem_profile_options *options = all->options;
  const int64_t from = options->sampling.scenario == PREM_RESIDENT ? options->sampling.discard : 0;
  if (trace->best_effort)
    add_drains(all, trace->best_effort);
  if (mode == PREM_MODE_LOCK || all->result->machine.yields ||
      (mode == PREM_MODE_FREE && trace->best_effort))
    return PREM_OK;
  const prem_status status = prem_handovers_add(critical_of(all), trace, from, all->handovers);
  return status == PREM_OK ? add_turnarounds(all, trace, mode, from) : status;
}

static prem_status measure(profiling *all) {
  const prem_profile_options *options = all->options;
  prem_interleave_options interleave = {.backend = all->backend,
                                        .modes = {PREM_MODE_LOCK, PREM_MODE_FREE, PREM_MODE_TT},
                                        .mode_count = options->times == PREM_PLANNED ? 3 : 2,
                                        .sampling = options->sampling,
                                        .disturbed_apart = !options->mix_disturbed,
                                        .engine = options->engine,
                                        .stop = options->stop,
                                        .progress = after_turn,
                                        .progress_context = all,
                                        .on_trace = add_waits,
                                        .trace_context = all,
                                        .around_round = prem_disturbance_round,
                                        .round_context = all->disturbance};
  /* Maxima need no stamps; those of long launches would take more memory than they tell. */
  const int64_t rounds = prem_max_i64(all->result->sampling.rounds, 1);
  const int64_t room = options->sampling.max_records;
  if (options->sampling.scenario == PREM_RESIDENT && room > ENOUGH_RECORDS)
    interleave.sampling.max_records = prem_max_i64(room / rounds, ENOUGH_RECORDS);
  return prem_interleave(all->variants + first_variant(all),
                         all->variant_count - first_variant(all), &interleave, all->diag);
}

/* ---- folding -------------------------------------------------------------------------------- */

/* Where the task was seen in a condition; -1: nowhere. */
static int32_t variant_in(const profiling *all, prem_condition condition, int32_t t) {
  if (condition == PREM_ISOLATED && all->options->together)
    return -1;
  if (all->schedule->tasks[t].best_effort)
    return condition == PREM_ISOLATED ? -1 : all->variant_count - 1;
  return condition == PREM_ISOLATED    ? all->places[t]
         : condition == PREM_CORUNNING ? all->alone_count
                                       : all->variant_count - 1;
}

static const prem_variant_phase *phase_in(const profiling *all, prem_condition condition, int32_t t,
                                          int phase) {
  static const prem_mode modes[PREM_CONDITION_COUNT] = {[PREM_ISOLATED] = PREM_MODE_LOCK,
                                                        [PREM_CORUNNING] = PREM_MODE_FREE,
                                                        [PREM_PLANNED] = PREM_MODE_TT};
  static const prem_variant_phase unseen;
  const int32_t i = variant_in(all, condition, t);
  if (i < 0)
    return &unseen;
  const prem_variant *variant = &all->variants[i];
  const int32_t at = prem_schedule_find_task(variant->schedule, all->schedule->tasks[t].name);
  return &variant->observed[modes[condition]].phases[at * PREM_PHASE_COUNT + phase];
}

/* The condition whose times count for the profile: best-effort tasks are never alone. */
static prem_condition condition_of(const profiling *all, int32_t t) {
  const prem_condition asked = all->options->times;
  return all->schedule->tasks[t].best_effort && asked == PREM_ISOLATED ? PREM_CORUNNING : asked;
}

static int64_t largest_bytes(const prem_schedule *schedule, const prem_task *task,
                             prem_phase phase) {
  int64_t largest = 0;
  for (int32_t tile = 0; tile < task->tile_count; ++tile)
    largest = prem_max_i64(largest, prem_task_phase_bytes(schedule, task, phase, tile));
  return largest;
}

/* How long the phase's share of the memory needs for what it asks for: a gang's blocks ask at once.
 */
static int64_t bandwidth_ns(const profiling *all, const prem_task *task, prem_phase phase) {
  const prem_resource *memory = &all->schedule->platform.resources[0];
  const int32_t *demand = task->phase[phase].demand;
  const double share = demand ? (double)demand[0] / memory->capacity : 0;
  const double rate = share * (double)all->result->machine.bandwidth_bytes_per_s;
  const int32_t gang = task->block_count < task->tile_count ? task->block_count : task->tile_count;
  const double bytes =
      (double)largest_bytes(all->schedule, task, phase) * (memory->per_task ? gang : 1);
  return rate > 0 ? (int64_t)ceil(bytes * 1e9 / rate) : 0;
}

static const prem_times no_times;

/* The times that count for a WCET, as two lists: steady and cold ones. Where all runs were
 * disturbed, those are all there is. */
typedef struct times_that_count {
  const prem_times *steady, *cold;
} times_that_count;

static times_that_count times_of(const profiling *all, prem_condition condition, int32_t t,
                                 int phase) {
  const prem_variant_phase *seen = phase_in(all, condition, t, phase);
  const bool takes_cold = all->result->counts_cold || seen->steady.count == 0;
  if (seen->steady.count + seen->cold.count == 0)
    return (times_that_count){&seen->disturbed, &no_times};
  return (times_that_count){&seen->steady, takes_cold ? &seen->cold : &no_times};
}

static int64_t longest_of(const profiling *all, prem_condition condition, int32_t t, int phase) {
  const times_that_count times = times_of(all, condition, t, phase);
  const double share = all->result->quantile;
  if (share > 0 && times.steady->count + times.cold->count > 0)
    return prem_quantile_bound(times.steady, times.cold, share, PREM_PROFILE_CONFIDENCE);
  const int64_t recorded_ns = prem_max_i64(times.steady->max_ns, times.cold->max_ns);
  return all->options->usual && recorded_ns > 0
             ? recorded_ns
             : prem_max_i64(recorded_ns, phase_in(all, condition, t, phase)->unrecorded_max_ns);
}

/* Where few enough are late, a longer window would keep others waiting for nothing. */
static bool may_raise(const profiling *all, const prem_variant_phase *seen, int32_t t) {
  const prem_profile_options *options = all->options;
  return !options->raise_late || all->schedule->tasks[t].best_effort ||
         (double)seen->late > options->late * (double)seen->due;
}

static void find_wcet(const profiling *all, int32_t t, int phase, prem_profile_phase *out) {
  const prem_profile_options *options = all->options;
  const prem_condition condition = condition_of(all, t);
  const prem_variant_phase *seen = phase_in(all, condition, t, phase);
  const prem_variant_phase *alone = phase_in(all, PREM_ISOLATED, t, phase);
  if (seen->steady.count + seen->cold.count + seen->disturbed.count == 0 &&
      seen->unrecorded_max_ns == 0)
    return;
  /* what was seen alone can happen in any condition */
  int64_t longest_ns = prem_max_i64(longest_of(all, condition, t, phase),
                                    alone->steady.count > 0 || alone->unrecorded_max_ns > 0
                                        ? longest_of(all, PREM_ISOLATED, t, phase)
                                        : 0);
  out->longest_ns =
      prem_max_i64(prem_max_i64(seen->disturbed.max_ns, alone->disturbed.max_ns), longest_ns);
  out->longest_ns =
      prem_max_i64(prem_max_i64(seen->steady.max_ns, alone->steady.max_ns), out->longest_ns);
  out->longest_ns = prem_max_i64(prem_max_i64(seen->unrecorded_max_ns, alone->unrecorded_max_ns),
                                 out->longest_ns);
  if (all->result->counts_cold)
    out->longest_ns = prem_max_i64(seen->cold.max_ns, out->longest_ns);
  const int64_t drain_ns = all->drains_ns[all->places[t] * PREM_PHASE_COUNT + phase];
  if (condition == PREM_PLANNED && drain_ns > 0)
    longest_ns = prem_min_i64(longest_ns, drain_ns);
  const double with_room = (double)longest_ns * (1 + options->margin_pct / 100);
  out->wcet_ns =
      prem_max_i64((int64_t)ceil(with_room), prem_max_i64(all->result->machine.dispatch_ns, 1));
  const int64_t planned_ns = all->schedule->tasks[t].phase[phase].wcet_ns;
  if (options->raise && !may_raise(all, seen, t))
    out->wcet_ns = planned_ns;
  if (options->raise) {
    all->result->raised += out->wcet_ns > planned_ns;
    out->wcet_ns = prem_max_i64(out->wcet_ns, planned_ns);
  }
  if (options->regulated && phase != PREM_COMPUTE && !all->schedule->tasks[t].best_effort) {
    const int64_t busy_ns = bandwidth_ns(all, &all->schedule->tasks[t], (prem_phase)phase);
    if (busy_ns > 0 && busy_ns < out->wcet_ns)
      out->busy_ns = busy_ns;
  }
}

/* ---- turnarounds ----------------------------------------------------------------------------- */

/* Do the longest of them count? Where much is late, much of what is waited for is late itself. */
static bool counts_longest(const profiling *all) {
  const prem_variant_times *planned = &all->variants[all->variant_count - 1].observed[PREM_MODE_TT];
  return !all->options->usual ||
         (is_by_plan(all->options) && planned->late < planned->releases / MANY_LATE);
}

static int64_t longest_wait(const profiling *all, const prem_times *times) {
  const double share = all->result->quantile;
  if (times->count == 0)
    return times->max_ns;
  if (!counts_longest(all))
    return prem_times_percentile(times, USUAL);
  return share > 0 ? prem_quantile_bound(times, &no_times, share, PREM_PROFILE_CONFIDENCE)
                   : times->max_ns;
}

static const prem_times *turnarounds_of(const profiling *all, int32_t t, int phase) {
  return &all->turnarounds[all->places[t] * PREM_PHASE_COUNT + phase];
}

/* Of the tasks whose phases of this kind were followed by something: the middle one. */
static prem_status usual_turnaround(const profiling *all, int phase, int64_t *out) {
  const int32_t tasks = all->schedule->task_count;
  int64_t *list = malloc((size_t)tasks * sizeof *list + 1);
  int32_t count = 0;
  *out = 0;
  if (!list)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < tasks; ++t)
    if (turnarounds_of(all, t, phase)->count > 0)
      list[count++] = longest_wait(all, turnarounds_of(all, t, phase));
  if (count > 0) {
    qsort(list, (size_t)count, sizeof *list, prem_by_i64);
    *out = list[count / 2];
  }
  free(list);
  return PREM_OK;
}

/* What a window has no room for of so long a turnaround behind it. */
static int64_t beyond_window_ns(const profiling *all, const prem_profile_phase *phase,
                                int64_t turnaround_ns) {
  const double room = 1 + all->options->margin_pct / 100;
  if (turnaround_ns <= 0) /* nothing was behind it, or that was ready before */
    return 0;
  if (room < 1) /* the window is no longer than the phase: there is no room in it */
    return turnaround_ns;
  const int64_t longest_ns = (int64_t)((double)phase->wcet_ns / room);
  return prem_max_i64(longest_ns + turnaround_ns - phase->wcet_ns, 0);
}

/* Behind the job's last writeback on a block; the longest of all tasks. */
static void fold_job_turnarounds(const profiling *all) {
  int64_t *out = &all->result->job_turnaround_ns;
  *out = is_by_plan(all->options) ? all->schedule->job_turnaround_ns : 0;
  for (int32_t t = 0; t < all->schedule->task_count; ++t) {
    const prem_profile_phase *phase = &all->result->tasks[t].phase[PREM_WRITEBACK];
    const prem_times *times = &all->job_turnarounds[all->places[t]];
    if (times->count > 0 && phase->wcet_ns > 0)
      *out = prem_max_i64(*out, beyond_window_ns(all, phase, longest_wait(all, times)));
  }
}

/* From start to start, so that no window has room for any of it. */
static void fold_job_prefetches(const profiling *all) {
  const int64_t planned_ns = is_by_plan(all->options) ? all->schedule->job_prefetch_ns : 0;
  const int64_t seen_ns = longest_wait(all, &all->job_prefetches);
  all->result->job_prefetch_ns = prem_max_i64(planned_ns, seen_ns);
  all->result->raised += is_by_plan(all->options) && seen_ns > planned_ns;
}

/* The compute warps take it whatever they compute: of all tasks the longest, of which the windows
 * of each have room for more or less. */
static void fold_unit_turnarounds(const profiling *all) {
  const int64_t seen_ns = longest_wait(all, &all->unit_turnarounds);
  for (int32_t t = 0; t < all->schedule->task_count; ++t) {
    const int64_t planned_ns = all->schedule->tasks[t].phase[PREM_COMPUTE].unit_turnaround_ns;
    prem_profile_phase *phase = &all->result->tasks[t].phase[PREM_COMPUTE];
    if (phase->wcet_ns == 0 || all->schedule->tasks[t].best_effort)
      continue;
    phase->unit_turnaround_ns = beyond_window_ns(all, phase, seen_ns);
    if (is_by_plan(all->options)) {
      all->result->raised += phase->unit_turnaround_ns > planned_ns;
      phase->unit_turnaround_ns = prem_max_i64(phase->unit_turnaround_ns, planned_ns);
    }
  }
}

/* What a window has no room for, where the phase takes the longest time that was seen. By a plan
 * all that came late was seen; what follows in none of the runs may follow in a plan. */
static prem_status find_turnaround(const profiling *all, int32_t t, int phase,
                                   prem_profile_phase *out) {
  const prem_times *seen = turnarounds_of(all, t, phase);
  int64_t turnaround_ns = longest_wait(all, seen);
  prem_times_summarise(seen, &out->turnaround_seen_ns);
  if (out->wcet_ns == 0 || phase == PREM_PREFETCH || all->schedule->tasks[t].best_effort)
    return PREM_OK;
  if (seen->count == 0 && !is_by_plan(all->options)) {
    const prem_status status = usual_turnaround(all, phase, &turnaround_ns);
    if (status != PREM_OK)
      return status;
  }
  out->turnaround_ns = beyond_window_ns(all, out, turnaround_ns);
  const int64_t planned_ns = all->schedule->tasks[t].phase[phase].turnaround_ns;
  if (is_by_plan(all->options)) {
    all->result->raised += out->turnaround_ns > planned_ns;
    out->turnaround_ns = prem_max_i64(out->turnaround_ns, planned_ns);
  }
  return PREM_OK;
}

static prem_status fold_phase(const profiling *all, int32_t t, int phase) {
  const double probability =
      all->options->probability > 0 ? all->options->probability : default_probability;
  prem_profile_phase *out = &all->result->tasks[t].phase[phase];
  prem_status status = PREM_OK;
  for (int i = 0; i < PREM_PROFILE_CONDITION_COUNT && status == PREM_OK; ++i) {
    const prem_condition c = conditions[i];
    const prem_variant_phase *seen = phase_in(all, c, t, phase);
    prem_times_summarise(&seen->steady, &out->steady_ns[c]);
    prem_times_summarise(&seen->cold, &out->cold_ns[c]);
    status =
        prem_pwcet_estimate(seen->run_max.ns, seen->run_max.count, probability, &out->pwcet[c]);
  }
  find_wcet(all, t, phase, out);
  return status == PREM_OK ? find_turnaround(all, t, phase, out) : status;
}

static bool is_joined(const prem_plan *plan, int32_t task) {
  for (int32_t i = 0; i < plan->affine_count; ++i)
    if (plan->affine[i].join_task >= 0 &&
        (plan->affine[i].task == task || plan->affine[i].join_task == task))
      return true;
  return false;
}

/* The halves of a joined pair begin and end together: each of them took as long as the pair. */
static void fold_joined(const profiling *all, int32_t t) {
  prem_profile_task *task = &all->result->tasks[t];
  const prem_profile_phase *fetch = &task->phase[PREM_PREFETCH];
  const prem_profile_phase *store = &task->phase[PREM_WRITEBACK];
  if (all->options->times != PREM_PLANNED || !is_joined(all->schedule->plan, t))
    return;
  task->joined_ns = prem_max_i64(fetch->wcet_ns, store->wcet_ns);
  if (all->options->raise)
    task->joined_ns = prem_max_i64(task->joined_ns, all->schedule->tasks[t].joined.wcet_ns);
  const int64_t busy_ns = fetch->busy_ns + store->busy_ns;
  if (fetch->busy_ns > 0 && store->busy_ns > 0 && busy_ns < task->joined_ns)
    task->joined_busy_ns = busy_ns;
}

/* Do the samples of all phases bound this quantile, or of those of best effort, with so many above
 * the bound? */
static bool all_bound(const profiling *all, double share, bool of_best_effort, int64_t above) {
  for (int32_t i = 0; i < all->schedule->task_count * PREM_PHASE_COUNT; ++i) {
    const int32_t t = i / PREM_PHASE_COUNT;
    if (of_best_effort && !all->schedule->tasks[t].best_effort)
      continue;
    const times_that_count times = times_of(all, condition_of(all, t), t, i % PREM_PHASE_COUNT);
    const int64_t count = times.steady->count + times.cold->count;
    if (count > 0 && prem_quantile_above(count, share, PREM_PROFILE_CONFIDENCE) < above)
      return false;
  }
  return true;
}

/* The longest time of a quiet machine is the best that is known; that of a disturbed one says what
 * else it did. Where it is shared all the time, a quantile has to leave the longest out. Of
 * best-effort phases there are many times, and nobody tells the disturbed ones apart: theirs decide
 * where critical phases have too few. */
static double choose_quantile(const profiling *all) {
  static const double shares[] = {0.999, 0.99}, of_shared[] = {0.95, 0.90};
  const double asked = all->options->quantile;
  if (asked > 0)
    return asked < 1 ? asked : 0;
  if (all->options->shared && all->result->all_disturbed) {
    size_t i = 0;
    while (i + 1 < sizeof of_shared / sizeof of_shared[0] &&
           !all_bound(all, of_shared[i], false, 1))
      ++i;
    return of_shared[i];
  }
  for (int only = 0; !all->result->valid && only <= all->result->best_effort; ++only)
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; ++i)
      if (all_bound(all, shares[i], only, 0))
        return shares[i];
  return 0;
}

static void count_disturbed(const profiling *all) {
  int64_t counted = 0;
  for (int32_t i = 0; i < all->schedule->task_count * PREM_PHASE_COUNT; ++i) {
    const int32_t t = i / PREM_PHASE_COUNT;
    const prem_variant_phase *seen = phase_in(all, condition_of(all, t), t, i % PREM_PHASE_COUNT);
    counted += seen->steady.count + seen->cold.count + (seen->unrecorded_max_ns > 0);
    all->result->all_disturbed |=
        seen->steady.count + seen->cold.count == 0 && seen->disturbed.count > 0;
  }
  for (int32_t i = 0; i < all->variant_count; ++i)
    for (int m = 0; m < PREM_MODE_COUNT; ++m)
      all->result->disturbed_runs += all->variants[i].observed[m].disturbed;
  all->result->none_counted = counted == 0 && all->result->disturbed_runs > 0;
}

/* Of these the longest; but a message takes as long whoever follows: where what is rare does not
 * count, one that waits much longer than most waits for something else as well. So what nine of ten
 * do not exceed is enough for a plan whose releases have not been late yet. */
static int64_t longest_handover(const profiling *all, int64_t *list, int32_t count) {
  qsort(list, (size_t)count, sizeof *list, prem_by_i64);
  if (count == 0)
    return 0;
  if (!all->options->usual)
    return list[count - 1];
  const int32_t last = all->options->raise ? count - 1 : prem_min_i32(count * 9 / 10, count - 1);
  return prem_min_i64(list[last], list[count / 2] * 3 / 2);
}

/* What telling a successor takes, beside the memory phases of these very tasks. */
static prem_status fold_handovers(const profiling *all) {
  const double room = 1 + all->options->margin_pct / 100;
  const int32_t tasks = all->schedule->task_count;
  int64_t *told_ns = &all->result->machine.precedence_ns;
  int64_t *list = malloc(((size_t)tasks + 1) * sizeof *list);
  int32_t count = 0;
  if (!list)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < tasks; ++t) {
    const prem_times *times = &all->handovers[all->places[t]];
    prem_times_summarise(times, &all->result->tasks[t].handover_ns);
    if (times->count > 0)
      list[count++] = longest_wait(all, times);
  }
  *told_ns =
      prem_max_i64(*told_ns, (int64_t)ceil((double)longest_handover(all, list, count) * room));
  free(list);
  if (all->options->raise) {
    const int64_t planned_ns = prem_schedule_precedence_ns(all->schedule);
    all->result->raised += *told_ns > planned_ns;
    *told_ns = prem_max_i64(*told_ns, planned_ns);
  }
  return PREM_OK;
}

/* Of all critical tasks, in company and by the plan. */
static void fold_runs(const profiling *all) {
  prem_profile *result = all->result;
  const prem_variant_times *company = &all->variants[all->alone_count].observed[PREM_MODE_FREE];
  const prem_variant_times *planned = &all->variants[all->variant_count - 1].observed[PREM_MODE_TT];
  prem_times_summarise(&company->makespan, &result->makespan_ns[PREM_CORUNNING]);
  prem_times_summarise(&planned->makespan, &result->makespan_ns[PREM_PLANNED]);
  result->releases = planned->releases;
  result->late = planned->late;
  result->lateness_max_ns = planned->lateness_max_ns;
}

static prem_status fold(const profiling *all) {
  prem_status status = PREM_OK;
  all->result->valid = prem_disturbance_none(all->disturbance, all->options->sampling.samples,
                                             all->result->disturbed, sizeof all->result->disturbed);
  count_disturbed(all);
  all->result->quantile = choose_quantile(all);
  all->result->quantile_short =
      all->result->quantile > 0 && !all_bound(all, all->result->quantile, false, 0);
  status = fold_handovers(all);
  for (int32_t t = 0; t < all->schedule->task_count && status == PREM_OK; ++t) {
    memcpy(all->result->tasks[t].name, all->schedule->tasks[t].name,
           sizeof all->result->tasks[t].name);
    for (int p = 0; p < PREM_PHASE_COUNT && status == PREM_OK; ++p)
      status = fold_phase(all, t, p);
    fold_joined(all, t);
  }
  for (int32_t i = 0; i < all->variant_count; ++i)
    for (int m = 0; m < PREM_MODE_COUNT; ++m)
      all->result->output_ok &= !all->variants[i].observed[m].output_wrong;
  fold_job_turnarounds(all);
  fold_job_prefetches(all);
  fold_unit_turnarounds(all);
  fold_runs(all);
  return status;
}

/* ---- findings ------------------------------------------------------------------------------- */

static const char *condition_name(prem_condition condition) {
  static const char *const names[PREM_CONDITION_COUNT] = {
      [PREM_ISOLATED] = "alone", [PREM_CORUNNING] = "company", [PREM_PLANNED] = "planned"};
  return names[condition];
}

static void add_times_row(prem_table *table, const prem_profile_task *task, int phase,
                          prem_condition condition, bool is_cold) {
  const prem_profile_phase *times = &task->phase[phase];
  const prem_summary *summary = is_cold ? &times->cold_ns[condition] : &times->steady_ns[condition];
  const prem_pwcet *pwcet = &times->pwcet[condition];
  if (summary->count == 0)
    return;
  prem_table_row(table, TEXT(task->name), TEXT(prem_phase_name((prem_phase)phase)),
                 TEXT(condition_name(condition)), TEXT(is_cold ? "cold" : "steady"),
                 INT(summary->count), INT(summary->max), KNOWN(summary->p999), KNOWN(summary->p99),
                 INT(summary->p50), INT(summary->min), REAL(summary->mean),
                 INT_IF(!is_cold && pwcet->known, pwcet->estimate_ns),
                 TEXT(is_cold            ? ""
                      : pwcet->known     ? "estimate"
                      : pwcet->reason[0] ? "no estimate"
                                         : ""));
}

static void add_times(prem_findings *findings, const prem_profile *profile) {
  prem_table *table =
      prem_table_begin(findings, "times", "What the phases took", NULL,
                       "task; phase; company; state; count; longest [ns]; p99.9 [ns]; p99 [ns]; "
                       "p50 [ns]; min [ns]; mean [ns]; tail [ns]; tail_says");
  for (int32_t t = 0; t < profile->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      for (int i = 0; i < PREM_PROFILE_CONDITION_COUNT; ++i) {
        add_times_row(table, &profile->tasks[t], p, conditions[i], false);
        add_times_row(table, &profile->tasks[t], p, conditions[i], true);
      }
}

static void add_handover_table(prem_findings *findings, const prem_profile *profile) {
  prem_table *table = NULL;
  for (int32_t t = 0; t < profile->task_count; ++t) {
    const prem_summary *took = &profile->tasks[t].handover_ns;
    if (took->count == 0)
      continue;
    if (!table) {
      table = prem_table_begin(findings, "handovers",
                               "Until a task knew that those before it had ended", NULL,
                               "task; count; longest [ns]; p99 [ns]; p50 [ns]; min [ns]");
    }
    prem_table_row(table, TEXT(profile->tasks[t].name), INT(took->count), INT(took->max),
                   KNOWN(took->p99), INT(took->p50), INT(took->min));
  }
}

/* Nothing where every block was ready at once, as on a virtual clock. */
static void add_turnaround_table(prem_findings *findings, const prem_profile *profile) {
  prem_table *table = NULL;
  for (int32_t i = 0; i < profile->task_count * PREM_PHASE_COUNT; ++i) {
    const prem_profile_task *task = &profile->tasks[i / PREM_PHASE_COUNT];
    const prem_profile_phase *phase = &task->phase[i % PREM_PHASE_COUNT];
    const prem_summary *took = &phase->turnaround_seen_ns;
    if (took->count == 0 || took->max <= 0)
      continue;
    if (!table) {
      table = prem_table_begin(
          findings, "turnarounds", "Until a block was ready for what came after a phase", NULL,
          "task; phase; count; longest [ns]; p99 [ns]; p50 [ns]; min [ns]; planned [ns]");
    }
    prem_table_row(table, TEXT(task->name),
                   TEXT(prem_phase_name((prem_phase)(i % PREM_PHASE_COUNT))), INT(took->count),
                   INT(took->max), KNOWN(took->p99), INT(took->p50), INT(took->min),
                   INT(phase->turnaround_ns));
  }
}

static void add_pwcets(prem_findings *findings, const prem_profile *profile) {
  prem_table *table = prem_table_begin(
      findings, "tails", "The longest time of a run: what may be said beyond what was seen", NULL,
      "task; phase; company; runs; threshold [ns]; excesses; variation; probability; "
      "estimate [ns]; why_not");
  for (int32_t t = 0; t < profile->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      for (int i = 0; i < PREM_PROFILE_CONDITION_COUNT; ++i) {
        const prem_condition c = conditions[i];
        const prem_pwcet *pwcet = &profile->tasks[t].phase[p].pwcet[c];
        if (profile->tasks[t].phase[p].steady_ns[c].count == 0)
          continue;
        prem_table_row(
            table, TEXT(profile->tasks[t].name), TEXT(prem_phase_name((prem_phase)p)),
            TEXT(condition_name(c)), INT(pwcet->runs), INT_IF(pwcet->known, pwcet->threshold_ns),
            INT_IF(pwcet->known, pwcet->excesses), REAL_IF(pwcet->variation > 0, pwcet->variation),
            REAL(pwcet->probability), INT_IF(pwcet->known, pwcet->estimate_ns),
            TEXT(pwcet->known ? "" : pwcet->reason));
      }
}

/* A histogram of at most HISTOGRAM_ROWS rows: neighbours share one, at the longest of them. */
static void add_histogram_of(prem_table *table, const prem_times *times, const char *task,
                             int phase, prem_condition condition, bool is_cold) {
  const int64_t step = (times->distinct + HISTOGRAM_ROWS - 1) / HISTOGRAM_ROWS;
  char series[PREM_NAME_BYTES + 48];
  int64_t before = 0, count = 0;
  snprintf(series, sizeof series, "%s %s %s%s", task, prem_phase_name((prem_phase)phase),
           condition_name(condition), is_cold ? " cold" : "");
  for (int64_t i = 0; i < times->distinct; ++i) {
    count += times->list[i].count;
    before += times->list[i].count;
    if ((i + 1) % step != 0 && i + 1 < times->distinct)
      continue;
    prem_table_row(table, TEXT(series), INT(times->list[i].ns), INT(count),
                   REAL((double)before / (double)times->count));
    count = 0;
  }
}

static void add_histograms(prem_findings *findings, const profiling *all) {
  static const prem_chart chart = {.kind = PREM_CHART_STEPS,
                                   .title = "Share of phases that take no longer",
                                   .table = "histograms",
                                   .x = "time",
                                   .y = "share",
                                   .series = "phase",
                                   .log_x = true};
  prem_table *table = prem_table_begin(findings, "histograms", "Times of the phases, counted", NULL,
                                       "phase; time [ns]; count; share");
  for (int32_t t = 0; t < all->schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      for (int i = 0; i < PREM_PROFILE_CONDITION_COUNT; ++i) {
        const prem_condition c = conditions[i];
        const prem_variant_phase *seen = phase_in(all, c, t, p);
        const char *name = all->schedule->tasks[t].name;
        add_histogram_of(table, &seen->steady, name, p, c, false);
        add_histogram_of(table, &seen->cold, name, p, c, true);
      }
  prem_findings_chart(findings, &chart);
}

static void add_notes(prem_findings *findings, const profiling *all) {
  const prem_profile *profile = all->result;
  if (all->options->together)
    prem_findings_note(findings, "%" PRId64 " runs of all tasks together, in %" PRId64 " rounds.",
                       profile->sampling.samples, profile->sampling.rounds);
  else if (profile->by_plan)
    prem_findings_note(findings,
                       "%" PRId64 " runs of all tasks by the file's plan (mode tt), in %" PRId64
                       " rounds.",
                       profile->sampling.samples, profile->sampling.rounds);
  else
    prem_findings_note(
        findings,
        "%" PRId64 " runs of each task alone and of all together, in %" PRId64
        " interleaved rounds. Alone: the file's resources are kept (mode lock). "
        "Company: all tasks, each as fast as it can (mode free). Planned: all of them by "
        "the file's plan (mode tt).",
        profile->sampling.samples, profile->sampling.rounds);
  if (profile->best_effort && !profile->by_plan)
    prem_findings_note(
        findings, "Best effort: bounds are measured in company, all tasks at work and no gate; "
                  "critical tasks without best-effort ones, which the gate keeps out.");
  if (profile->disturbed_runs > 0)
    prem_findings_note(findings,
                       "In %" PRId64 " runs the operating system took a core away; the jobs that "
                       "it disturbed are left out, but for longest_ns in the profile.",
                       profile->disturbed_runs);
  if (profile->raises)
    prem_findings_note(findings,
                       "Raised: %d times are longer than in the schedule; the others, hand-overs "
                       "included, are at least as long as there.",
                       (int)profile->raised);
  if (profile->quantile > 0)
    prem_findings_note(findings,
                       "wcet_ns is an upper bound of the %g %% quantile, with a confidence of "
                       "%g %%.",
                       100 * profile->quantile, 100 * PREM_PROFILE_CONFIDENCE);
  prem_findings_note(findings, "A longest time seen is no bound; cold are the first tiles of each "
                               "block in a launch, warm-up included.");
  if (profile->valid)
    prem_findings_verdict(findings, "The profile is valid: nothing disturbed it.");
  else
    prem_findings_verdict(findings, "The profile is INVALID, the machine was disturbed: %s.",
                          profile->disturbed);
  if (profile->interrupted)
    prem_findings_incomplete(findings);
  prem_findings_seed(findings, profile->sampling.seed);
  prem_findings_output(findings, profile->output_ok);
}

static prem_status make_findings(const profiling *all) {
  char title[PREM_NAME_BYTES + 32];
  snprintf(title, sizeof title, "Profile of %s", all->schedule->name);
  prem_findings *findings = all->result->findings =
      prem_findings_new("profile", title,
                        "What do the phases of each task take, alone and in company, cold and "
                        "steady?");
  if (!findings)
    return PREM_ERR_MEMORY;
  add_times(findings, all->result);
  add_handover_table(findings, all->result);
  add_turnaround_table(findings, all->result);
  add_pwcets(findings, all->result);
  add_histograms(findings, all);
  add_notes(findings, all);
  return PREM_OK;
}

/* ---- before and after ----------------------------------------------------------------------- */

/* No gate is asked for: times of which all are one leave best effort no room. */
static void forget_times(prem_schedule *schedule) {
  schedule->policy.open_share = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      prem_phase_spec *spec = &schedule->tasks[t].phase[phase];
      if (spec->exists)
        spec->wcet_ns = spec->busy_ns = 1;
      if (spec->exists && schedule->tasks[t].best_effort)
        spec->demand[0] = 0;
    }
}

prem_status prem_profile_order(prem_schedule *schedule, const prem_machine *machine,
                               const volatile sig_atomic_t *stop, prem_diag *diag) {
  const prem_plan_options options = {.policy = "auto", .stop = stop};
  prem_plan *plan = NULL;
  forget_times(schedule);
  const prem_status status = prem_plan_make(schedule, machine, &options, &plan, diag);
  return status == PREM_OK ? prem_adopt_plan(schedule, machine, plan, diag) : status;
}

/* Does the profile give it? As the reader, busy_ns stays 0 where it is not given. */
static bool apply_phase(prem_phase_spec *spec, const prem_profile_phase *phase) {
  if (phase->wcet_ns == 0)
    return false;
  spec->wcet_ns = phase->wcet_ns;
  spec->busy_ns = phase->busy_ns;
  spec->turnaround_ns = phase->turnaround_ns;
  spec->unit_turnaround_ns = phase->unit_turnaround_ns;
  return true;
}

static void complete_busy(prem_phase_spec *spec) {
  if (spec->busy_ns == 0)
    spec->busy_ns = spec->wcet_ns;
}

static void complete(prem_task *task) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    complete_busy(&task->phase[p]);
  if (task->joined.exists && task->joined.wcet_ns == 0) /* one after the other */
    task->joined.wcet_ns = task->phase[PREM_PREFETCH].wcet_ns + task->phase[PREM_WRITEBACK].wcet_ns;
  complete_busy(&task->joined);
}

static void apply_machine(const prem_profile *profile, prem_schedule *schedule) {
  snprintf(schedule->profiled_on, sizeof schedule->profiled_on, "%s", profile->machine.name);
  schedule->dispatch_ns = profile->machine.dispatch_ns;
  schedule->precedence_ns = profile->machine.precedence_ns;
  schedule->job_turnaround_ns = profile->job_turnaround_ns;
  schedule->job_prefetch_ns = profile->job_prefetch_ns;
  schedule->bandwidth_bytes_per_s = profile->machine.bandwidth_bytes_per_s;
}

prem_status prem_profile_apply(const prem_profile *profile, prem_schedule *schedule,
                               const char *name, const prem_phase_spec *joined) {
  uint8_t *given = calloc((size_t)schedule->task_count + 1, sizeof *given);
  if (!given)
    return PREM_ERR_MEMORY;
  snprintf(schedule->profile, sizeof schedule->profile, "%s", name);
  apply_machine(profile, schedule);
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    prem_task *task = &schedule->tasks[t];
    const prem_profile_task *from = &profile->tasks[t];
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      given[t] |= (uint8_t)(apply_phase(&task->phase[p], &from->phase[p]) << p);
    task->joined = joined[t];
    if (from->joined_ns > 0) {
      task->joined.exists = true;
      task->joined.wcet_ns = from->joined_ns;
      task->joined.busy_ns = from->joined_busy_ns;
      given[t] |= 1U << PREM_PHASE_COUNT;
    }
  }
  const bool hashed = prem_schedule_hash_times(schedule, given);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    complete(&schedule->tasks[t]);
  free(given);
  return hashed ? PREM_OK : PREM_ERR_MEMORY;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static prem_status make_variants(profiling *all) {
  const prem_schedule *schedule = all->schedule;
  int32_t place = 0;
  all->places = calloc((size_t)schedule->task_count, sizeof *all->places);
  if (!all->places)
    return PREM_ERR_MEMORY;
  for (int best_effort = 0; best_effort < 2; ++best_effort)
    for (int32_t t = 0; t < schedule->task_count; ++t)
      if (schedule->tasks[t].best_effort == best_effort)
        all->places[t] = place++;
  const bool is_split = prem_schedule_has_best_effort(schedule);
  const prem_status status =
      is_split ? prem_schedule_critical(schedule, &all->critical, NULL) : PREM_OK;
  all->alone_count = all->options->together ? 0 : critical_of(all)->task_count;
  all->variant_count = all->alone_count + 1 + is_split;
  all->result->best_effort = is_split;
  all->variants = calloc((size_t)all->variant_count, sizeof *all->variants);
  all->schedules = calloc((size_t)all->variant_count, sizeof(prem_schedule *));
  return all->variants && all->schedules ? status : PREM_ERR_MEMORY;
}

static prem_status make_result(profiling *all, const prem_machine *machine) {
  prem_profile *result = all->result = calloc(1, sizeof *result);
  const size_t tasks = (size_t)all->schedule->task_count;
  if (!result)
    return PREM_ERR_MEMORY;
  result->task_count = all->schedule->task_count;
  result->machine = *machine;
  result->sampling = all->options->sampling;
  if (result->sampling.rounds > result->sampling.samples)
    result->sampling.rounds = result->sampling.samples;
  result->by_plan = is_by_plan(all->options);
  result->raises = all->options->raise;
  result->counts_cold = !all->options->steady && all->schedule->plan->warmup_tiles == 0;
  result->output_ok = true;
  result->tasks = calloc(tasks, sizeof *result->tasks);
  all->handovers = calloc(tasks, sizeof *all->handovers);
  all->turnarounds = calloc(tasks * PREM_PHASE_COUNT, sizeof *all->turnarounds);
  all->job_turnarounds = calloc(tasks, sizeof *all->job_turnarounds);
  all->drains_ns = calloc(tasks * PREM_PHASE_COUNT, sizeof *all->drains_ns);
  const prem_status status = make_variants(all);
  if (status != PREM_OK)
    return status;
  all->disturbance =
      prem_disturbance_new(prem_backend_name(all->backend), all->variants, all->variant_count);
  return result->tasks && all->handovers && all->turnarounds && all->job_turnarounds &&
                 all->drains_ns && all->disturbance
             ? PREM_OK
             : PREM_ERR_MEMORY;
}

static void free_all(profiling *all) {
  for (int32_t i = 0; i < all->variant_count; ++i) {
    if (all->variants)
      prem_variant_close(&all->variants[i]);
    if (all->schedules)
      prem_schedule_free(all->schedules[i]);
  }
  for (int32_t i = 0; i < all->schedule->task_count; ++i) {
    if (all->handovers)
      prem_times_free(&all->handovers[i]);
    if (all->job_turnarounds)
      prem_times_free(&all->job_turnarounds[i]);
    for (int p = 0; p < PREM_PHASE_COUNT && all->turnarounds; ++p)
      prem_times_free(&all->turnarounds[i * PREM_PHASE_COUNT + p]);
  }
  prem_times_free(&all->job_prefetches);
  prem_times_free(&all->unit_turnarounds);
  free(all->handovers);
  free(all->turnarounds);
  free(all->job_turnarounds);
  free(all->drains_ns);
  free(all->variants);
  free(all->schedules);
  free(all->places);
  prem_schedule_free(all->critical);
  prem_disturbance_free(all->disturbance);
}

prem_status prem_profile_measure(const prem_schedule *schedule, const prem_backend *backend,
                                 const prem_machine *machine, const prem_profile_options *options,
                                 prem_profile **out, prem_diag *diag) {
  *out = NULL;
  if (!schedule->plan || options->sampling.samples < 1 ||
      (options->together && options->times == PREM_ISOLATED))
    return PREM_ERR_ARGUMENT;
  if (schedule->measure.load == PREM_LOAD_GRAPH && prem_schedule_has_best_effort(schedule)) {
    prem_diag_add(diag, PREM_ERROR, 0, schedule->measure.place, "measure.load",
                  "a graph has no phases that could be timed; profile the file with load = "
                  "\"tiles\"");
    return PREM_ERR_INVALID;
  }
  profiling all = {.schedule = schedule, .backend = backend, .options = options, .diag = diag};
  prem_status status = make_result(&all, machine);
  if (status == PREM_OK)
    status = open_variants(&all);
  if (status == PREM_OK && options->progress)
    options->progress(options->progress_context, 0,
                      (all.variant_count - first_variant(&all)) *
                          prem_min_i64(options->sampling.rounds, options->sampling.samples));
  if (status == PREM_OK)
    status = measure(&all);
  bool kept = false;
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    all.result->interrupted = status == PREM_ERR_INTERRUPTED;
    prem_status folded = fold(&all);
    folded = folded == PREM_OK ? make_findings(&all) : folded;
    kept = folded == PREM_OK;
    status = kept ? status : folded;
  }
  free_all(&all);
  if (kept)
    *out = all.result;
  else
    prem_profile_free(all.result);
  return status;
}

void prem_profile_free(prem_profile *profile) {
  if (!profile)
    return;
  prem_findings_free(profile->findings);
  free(profile->tasks);
  free(profile);
}
