/* SPDX-License-Identifier: Apache-2.0 */
/* Critical tasks alone, beside the load with its gate, and beside the load without one. */
#include "measure/disturbance.h"
#include "measure/interleave.h"
#include "prem/base/numbers.h"
#include "ttprem/isolation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALONE, GATE, NO_GATE, COMPANIES };
static const char *const companies[COMPANIES] = {"alone", "gate", "no gate"};

/** A variant for each company. */
typedef struct load_study {
  const prem_schedule *schedule;
  const prem_backend *backend;
  const prem_isolate_options *options;
  prem_load_isolation *result;
  prem_variant variants[COMPANIES];
  prem_schedule *alone, *open; /* owned */
  prem_disturbance *disturbance;
  prem_diag *diag;
} load_study;

/* ---- measuring ------------------------------------------------------------------------------ */

/* The same instants, and no closed windows. */
static prem_status make_open(load_study *study) {
  bool *keep = malloc((size_t)study->schedule->task_count * sizeof *keep);
  if (!keep)
    return PREM_ERR_MEMORY;
  memset(keep, true, (size_t)study->schedule->task_count * sizeof *keep);
  const prem_status status = prem_schedule_subset(study->schedule, keep, &study->open);
  if (status == PREM_OK)
    study->open->plan->closed_count = 0;
  free(keep);
  return status;
}

/* In mode free there is no gate, so that the second company would be the third. */
static prem_status open_variants(load_study *study) {
  prem_status status = prem_schedule_critical(study->schedule, &study->alone, NULL);
  if (status == PREM_OK)
    status = make_open(study);
  const prem_schedule *const schedules[COMPANIES] = {study->alone, study->schedule, study->open};
  for (int c = 0; c < COMPANIES && status == PREM_OK; ++c) {
    study->variants[c].schedule = schedules[c];
    study->variants[c].modes = 1U << PREM_MODE_TT | (c == GATE ? 0 : 1U << PREM_MODE_FREE);
    status = prem_variant_open(&study->variants[c], study->backend, study->diag);
  }
  return status;
}

static void after_turn(void *context, int64_t done, int64_t all_turns) {
  const load_study *study = context;
  prem_disturbance_look(study->disturbance);
  if (study->options->progress)
    study->options->progress(study->options->progress_context, done, all_turns);
}

static prem_status measure(load_study *study) {
  const prem_isolate_options *options = study->options;
  prem_interleave_options interleave = {.backend = study->backend,
                                        .mode_count = options->mode_count,
                                        .sampling = options->sampling,
                                        .disturbed_apart = true,
                                        .engine = options->engine,
                                        .stop = options->stop,
                                        .progress = after_turn,
                                        .progress_context = study,
                                        .around_round = prem_disturbance_round,
                                        .round_context = study->disturbance};
  interleave.sampling.rounds = prem_min_i64(options->sampling.rounds, options->sampling.samples);
  memcpy(interleave.modes, options->modes, sizeof interleave.modes);
  return prem_interleave(study->variants, COMPANIES, &interleave, study->diag);
}

/* ---- findings ------------------------------------------------------------------------------- */

static void name_columns(prem_table *table, const char *const *columns) {
  for (; *columns; columns += 2)
    prem_table_column(table, columns[0], columns[1]);
}

static const prem_variant_times *observed_in(const load_study *study, int company, prem_mode mode) {
  return &study->variants[company].observed[mode];
}

static prem_summary response_in(const load_study *study, int company, prem_mode mode,
                                const char *task) {
  const int32_t t = prem_schedule_find_task(study->variants[company].schedule, task);
  const prem_series *series = &observed_in(study, company, mode)->responses[t];
  prem_summary summary = {0};
  if (series->count > 0)
    prem_summarise(series->ns, series->count, &summary);
  return summary;
}

static void add_known(prem_table *table, int64_t ns) {
  if (ns == INT64_MIN)
    prem_table_add_real(table, (double)NAN);
  else
    prem_table_add_int(table, ns);
}

static double ratio(int64_t of, int64_t to) {
  return of > 0 && to > 0 ? (double)of / (double)to : (double)NAN;
}

static void add_response(const load_study *study, prem_table *table, const prem_task *task,
                         int company, prem_mode mode) {
  const prem_summary took = response_in(study, company, mode, task->name);
  const prem_summary alone = response_in(study, ALONE, mode, task->name);
  const int32_t t = prem_schedule_find_task(study->variants[company].schedule, task->name);
  const prem_series *series = &observed_in(study, company, mode)->responses[t];
  int64_t missed = 0;
  if (took.count == 0 && observed_in(study, company, mode)->disturbed == 0)
    return;
  for (int64_t i = 0; i < series->count; ++i)
    missed += task->deadline_ns > 0 && series->ns[i] > task->deadline_ns;
  prem_table_add_text(table, task->name);
  prem_table_add_text(table, companies[company]);
  prem_table_add_text(table, prem_mode_name(mode));
  prem_table_add_int(table, took.count);
  prem_table_add_int(table, observed_in(study, company, mode)->disturbed);
  add_known(table, took.count > 0 ? took.p50 : INT64_MIN);
  add_known(table, took.count > 0 ? took.p99 : INT64_MIN);
  add_known(table, took.count > 0 ? took.max : INT64_MIN);
  prem_table_add_real(table, ratio(took.p50, alone.p50));
  prem_table_add_real(table, ratio(took.max, alone.max));
  add_known(table, task->deadline_ns > 0 ? missed : INT64_MIN);
}

static void add_responses(const load_study *study, prem_findings *findings) {
  static const char *const columns[] = {
      "task",   "",   "company", "",   "mode",    "",   "jobs",         "", "disturbed",        "",
      "p50",    "ns", "p99",     "ns", "longest", "ns", "p50_of_alone", "", "longest_of_alone", "",
      "missed", "",   NULL};
  prem_table *table =
      prem_findings_table(findings, "responses", "Response times of critical tasks", NULL);
  name_columns(table, columns);
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    for (int m = 0; m < study->options->mode_count && !study->schedule->tasks[t].best_effort; ++m)
      for (int company = 0; company < COMPANIES; ++company)
        add_response(study, table, &study->schedule->tasks[t], company, study->options->modes[m]);
}

/* Bytes in a nanosecond, or tiles where a task has no kernel; 0: it did not run. */
static double rate_in(const load_study *study, int company, prem_mode mode, int32_t t) {
  const prem_variant_times *observed = observed_in(study, company, mode);
  const prem_best_effort_counts *counts = &observed->beside[t];
  const int64_t done = counts->bytes > 0 ? counts->bytes : counts->tiles;
  return observed->beside_ns > 0 ? (double)done / (double)observed->beside_ns : 0;
}

static void add_load(const load_study *study, prem_table *table, int32_t t, int company,
                     prem_mode mode) {
  const prem_variant_times *observed = observed_in(study, company, mode);
  const prem_best_effort_counts *counts = &observed->beside[t];
  const double open_rate = rate_in(study, NO_GATE, PREM_MODE_TT, t);
  if (observed->beside_ns == 0)
    return;
  prem_table_add_text(table, study->schedule->tasks[t].name);
  prem_table_add_text(table, companies[company]);
  prem_table_add_text(table, prem_mode_name(mode));
  prem_table_add_int(table, counts->tiles);
  prem_table_add_real(table, counts->bytes > 0 ? rate_in(study, company, mode, t) : (double)NAN);
  prem_table_add_real(table,
                      open_rate > 0 ? rate_in(study, company, mode, t) / open_rate : (double)NAN);
  prem_table_add_int(table, counts->waits);
  prem_table_add_int(table, counts->overruns);
}

static void add_loads(const load_study *study, prem_findings *findings) {
  static const char *const columns[] = {"task",  "", "company",  "",     "mode", "",
                                        "tiles", "", "rate",     "GB/s", "kept", "",
                                        "waits", "", "overruns", "",     NULL};
  prem_table *table =
      prem_findings_table(findings, "load", "What best-effort tasks got done", NULL);
  name_columns(table, columns);
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    for (int m = 0; m < study->options->mode_count && study->schedule->tasks[t].best_effort; ++m)
      for (int company = GATE; company < COMPANIES; ++company)
        add_load(study, table, t, company, study->options->modes[m]);
}

/* Of all best-effort tasks together, of what they do in mode tt without a gate. */
static double load_kept(const load_study *study, int company, prem_mode mode) {
  double with = 0, without = 0;
  for (int32_t t = 0; t < study->schedule->task_count; ++t) {
    with += rate_in(study, company, mode, t);
    without += rate_in(study, NO_GATE, PREM_MODE_TT, t);
  }
  return without > 0 ? with / without : (double)NAN;
}

static void add_points(const load_study *study, prem_findings *findings) {
  static const char *const columns[] = {"task", "",        "company", "",  "kept",
                                        "",     "longest", "ns",      NULL};
  prem_table *table =
      prem_findings_table(findings, "points", "Longest response against load kept", NULL);
  name_columns(table, columns);
  for (int32_t t = 0; t < study->schedule->task_count; ++t)
    for (int i = 0; i < 2 * COMPANIES && !study->schedule->tasks[t].best_effort; ++i) {
      const prem_mode mode = i < COMPANIES ? PREM_MODE_TT : PREM_MODE_FREE;
      const char *task = study->schedule->tasks[t].name;
      const prem_summary took = response_in(study, i % COMPANIES, mode, task);
      char company[32];
      if (took.count == 0)
        continue;
      snprintf(company, sizeof company, "%s, %s", companies[i % COMPANIES], prem_mode_name(mode));
      prem_table_add_text(table, task);
      prem_table_add_text(table, company);
      prem_table_add_real(table, load_kept(study, i % COMPANIES, mode));
      prem_table_add_int(table, took.max);
    }
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_POINTS,
                                              .title = "Longest response against load kept",
                                              .table = "points",
                                              .x = "kept",
                                              .y = "longest",
                                              .series = "company",
                                              .log_y = true});
}

static void add_verdict(const load_study *study, prem_findings *findings) {
  const prem_load_isolation *result = study->result;
  char text[2048] = "";
  size_t used = 0;
  for (int32_t t = 0; t < study->schedule->task_count && used < sizeof text / 2; ++t) {
    const char *name = study->schedule->tasks[t].name;
    if (study->schedule->tasks[t].best_effort)
      continue;
    const prem_summary alone = response_in(study, ALONE, PREM_MODE_TT, name);
    const prem_summary gate = response_in(study, GATE, PREM_MODE_TT, name);
    const prem_summary open = response_in(study, NO_GATE, PREM_MODE_TT, name);
    if (alone.count == 0 || gate.count == 0 || open.count == 0)
      used += (size_t)snprintf(text + used, sizeof text - used,
                               "%s: all jobs of a company were disturbed; ", name);
    else
      used += (size_t)snprintf(text + used, sizeof text - used,
                               "%s: longest response %.2f x alone with the gate, %.2f x without; ",
                               name, ratio(gate.max, alone.max), ratio(open.max, alone.max));
  }
  prem_findings_verdict(findings, "%sthe load keeps %.3f of what it does without a gate. %s%s.",
                        text, load_kept(study, GATE, PREM_MODE_TT),
                        result->valid ? "Valid: nothing disturbed it"
                                      : "INVALID, the machine was disturbed: ",
                        result->disturbed);
}

static prem_status make_findings(const load_study *study) {
  char title[PREM_NAME_BYTES + 32];
  snprintf(title, sizeof title, "%s beside its load", study->schedule->name);
  prem_findings *findings = study->result->findings = prem_findings_new(
      "load", title, "What does the load do to critical tasks, and the gate to the load?");
  if (!findings)
    return PREM_ERR_MEMORY;
  add_responses(study, findings);
  add_loads(study, findings);
  add_points(study, findings);
  prem_findings_note(
      findings,
      "%" PRId64 " samples of each company and mode, interleaved. Alone: critical "
      "tasks without best-effort ones. Gate: by the plan, with its closed windows. No "
      "gate: these are left out.",
      study->options->sampling.samples);
  prem_findings_note(findings, "Disturbed: hyperperiods in which the operating system took a core "
                               "away from critical tasks; their jobs are left out.");
  prem_findings_note(findings, "Kept: of what the task gets done in mode tt without a gate.");
  add_verdict(study, findings);
  if (study->result->interrupted)
    prem_findings_incomplete(findings);
  prem_findings_promise(findings, study->result->valid);
  prem_findings_seed(findings, study->options->sampling.seed);
  prem_findings_output(findings, study->result->output_ok);
  return PREM_OK;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static prem_status fold(load_study *study) {
  prem_load_isolation *result = study->result;
  result->output_ok = true;
  for (int c = 0; c < COMPANIES; ++c)
    for (int m = 0; m < PREM_MODE_COUNT; ++m)
      result->output_ok &= !study->variants[c].observed[m].output_wrong;
  result->valid = prem_disturbance_none(
      study->disturbance, study->options->sampling.samples * COMPANIES * study->options->mode_count,
      result->disturbed, sizeof result->disturbed);
  return make_findings(study);
}

static bool can_be_isolated(const prem_schedule *schedule, const prem_isolate_options *options) {
  bool has_tt = false, all = true;
  for (int32_t m = 0; m < options->mode_count; ++m) {
    has_tt |= options->modes[m] == PREM_MODE_TT;
    all &= options->modes[m] == PREM_MODE_TT || options->modes[m] == PREM_MODE_FREE;
  }
  return schedule->plan && prem_schedule_has_best_effort(schedule) && has_tt && all &&
         options->sampling.samples >= 1;
}

prem_status prem_isolate_load(const prem_schedule *schedule, const prem_backend *backend,
                              const prem_isolate_options *options, prem_load_isolation **out,
                              prem_diag *diag) {
  *out = NULL;
  if (!can_be_isolated(schedule, options))
    return PREM_ERR_ARGUMENT;
  load_study study = {.schedule = schedule,
                      .backend = backend,
                      .options = options,
                      .diag = diag,
                      .result = calloc(1, sizeof *study.result)};
  study.disturbance = prem_disturbance_new(prem_backend_name(backend), study.variants, COMPANIES);
  prem_status status = study.result && study.disturbance ? open_variants(&study) : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = measure(&study);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    study.result->interrupted = status == PREM_ERR_INTERRUPTED;
    const prem_status folded = fold(&study);
    status = folded == PREM_OK ? status : folded;
  }
  for (int c = 0; c < COMPANIES; ++c)
    prem_variant_close(&study.variants[c]);
  prem_schedule_free(study.alone);
  prem_schedule_free(study.open);
  prem_disturbance_free(study.disturbance);
  if (study.result && study.result->findings)
    *out = study.result;
  else
    free(study.result);
  return status;
}

void prem_load_isolation_free(prem_load_isolation *isolation) {
  if (!isolation)
    return;
  prem_findings_free(isolation->findings);
  free(isolation);
}
