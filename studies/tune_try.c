/* SPDX-License-Identifier: Apache-2.0 */
/* One try at an offset: the schedule in tt, and tasks of it alone beside it. */
#include "measure/interleave.h"
#include "ttprem/tuning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** The variants of a try: the whole first, then tasks alone. */
struct prem_tune_trial {
  const prem_schedule *schedule;
  const prem_backend *backend;
  const prem_tune_try_options *options;
  prem_variant *variants;
  prem_schedule **alone; /* of each variant but the first */
  int32_t *tasks;        /* that stand alone in it */
  int32_t count;
  uint64_t tries;
};

static bool is_first_of_kernel(const prem_schedule *schedule, int32_t t) {
  for (int32_t before = 0; before < t; ++before)
    if (strcmp(schedule->tasks[before].kernel, schedule->tasks[t].kernel) == 0)
      return false;
  return true;
}

static prem_status add_alone(prem_tune_trial *all, int32_t t) {
  bool *keep = calloc((size_t)all->schedule->task_count, sizeof *keep);
  if (!keep)
    return PREM_ERR_MEMORY;
  keep[t] = true;
  prem_status status = prem_schedule_subset(all->schedule, keep, &all->alone[all->count]);
  free(keep);
  if (status != PREM_OK)
    return status;
  all->tasks[all->count] = t;
  all->variants[all->count] = (prem_variant){.schedule = all->alone[all->count]};
  ++all->count;
  return PREM_OK;
}

static prem_status make_variants(prem_tune_trial *all, prem_diag *diag) {
  const size_t room = (size_t)all->schedule->task_count + 1;
  all->variants = calloc(room, sizeof *all->variants);
  all->alone = calloc(room, sizeof(prem_schedule *));
  all->tasks = calloc(room, sizeof *all->tasks);
  if (!all->variants || !all->alone || !all->tasks)
    return PREM_ERR_MEMORY;
  all->variants[all->count++] = (prem_variant){.schedule = all->schedule};
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < all->schedule->task_count && status == PREM_OK; ++t)
    if (all->schedule->task_count > 1 && is_first_of_kernel(all->schedule, t))
      status = add_alone(all, t);
  for (int32_t i = 0; i < all->count && status == PREM_OK; ++i)
    status = prem_variant_open(&all->variants[i], all->backend, diag);
  return status;
}

void prem_tune_trial_close(prem_tune_trial *all) {
  if (!all)
    return;
  for (int32_t i = 0; i < all->count; ++i) {
    prem_variant_close(&all->variants[i]);
    prem_schedule_free(all->alone[i]);
  }
  free(all->variants);
  free(all->alone);
  free(all->tasks);
  free(all);
}

prem_status prem_tune_trial_open(const prem_schedule *schedule, const prem_backend *backend,
                                 const prem_tune_try_options *options, prem_tune_trial **out,
                                 prem_diag *diag) {
  *out = NULL;
  prem_tune_trial *all = calloc(1, sizeof *all);
  if (!all)
    return PREM_ERR_MEMORY;
  all->schedule = schedule;
  all->backend = backend;
  all->options = options;
  const prem_status status = make_variants(all, diag);
  if (status == PREM_OK)
    *out = all;
  else
    prem_tune_trial_close(all);
  return status;
}

/* ---- what was seen -------------------------------------------------------------------------- */

static void keep_largest(double *largest, double value) {
  if (!isnan(value) && (isnan(*largest) || value > *largest))
    *largest = value;
}

static double ratio(int64_t beside_ns, int64_t alone_ns) {
  return beside_ns < 0 || alone_ns <= 0 ? (double)NAN : (double)beside_ns / (double)alone_ns;
}

static void fold_isolation(const prem_tune_trial *all, int32_t variant, prem_tune_point *out) {
  const int32_t t = all->tasks[variant];
  const int32_t at = prem_schedule_find_task(all->alone[variant], all->schedule->tasks[t].name);
  const prem_variant_times *together = &all->variants[0].observed[PREM_MODE_TT];
  const prem_variant_times *apart = &all->variants[variant].observed[PREM_MODE_TT];
  for (int p = PREM_PREFETCH; p <= PREM_WRITEBACK; p += PREM_WRITEBACK - PREM_PREFETCH) {
    prem_summary beside, alone;
    prem_times_summarise(&together->phases[t * PREM_PHASE_COUNT + p].steady, &beside);
    prem_times_summarise(&apart->phases[at * PREM_PHASE_COUNT + p].steady, &alone);
    if (beside.count == 0 || alone.count == 0)
      continue;
    keep_largest(&out->isolation_p50, ratio(beside.p50, alone.p50));
    keep_largest(&out->isolation_p999, ratio(beside.p999, alone.p999));
    keep_largest(&out->isolation_max, ratio(beside.max, alone.max));
  }
}

static prem_status fold(const prem_tune_trial *all, prem_tune_point *out) {
  const prem_variant_times *seen = &all->variants[0].observed[PREM_MODE_TT];
  prem_summary makespan;
  prem_times_summarise(&seen->makespan, &makespan);
  out->samples = makespan.count;
  out->makespan_ns = makespan.mean;
  out->makespan_max_ns = makespan.max;
  out->phases = seen->counted;
  out->releases = seen->releases;
  out->late = seen->late;
  out->overruns = seen->overruns;
  out->lateness_max_ns = seen->lateness_max_ns;
  out->isolation_p50 = out->isolation_p999 = out->isolation_max = (double)NAN;
  bool wrong = seen->output_wrong;
  for (int32_t i = 1; i < all->count; ++i) {
    fold_isolation(all, i, out);
    wrong |= all->variants[i].observed[PREM_MODE_TT].output_wrong;
  }
  return wrong ? PREM_ERR_WRONG : PREM_OK;
}

prem_status prem_tune_trial_run(prem_tune_trial *all, prem_tune_point *out, prem_diag *diag) {
  const prem_tune_try_options *options = all->options;
  prem_interleave_options interleave = {.backend = all->backend,
                                        .modes = {PREM_MODE_TT},
                                        .mode_count = 1,
                                        .sampling = options->sampling,
                                        .engine = options->engine,
                                        .stop = options->stop};
  interleave.sampling.seed += all->tries++;
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < all->count && status == PREM_OK; ++i)
    status = prem_variant_forget(&all->variants[i]);
  if (status == PREM_OK)
    status = prem_interleave(all->variants, all->count, &interleave, diag);
  return status == PREM_OK ? fold(all, out) : status;
}
