/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of tasks that nobody laid out: what a fit makes of them, beside free and ordinary kernels.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/probe.h"
#include "experiments/machine/task_sets/draw.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "ttprem/fit.h"
#include "ttprem/schedule.h"

/** How much of it. */
typedef struct amount {
  int32_t graphs, different, least_tasks, most_tasks;
  bool rows;      /* the files as well */
  double seconds; /* for all of it: what one set leaves the others have */
} amount;

static const char *const rows[] = {"conv_row", "fan", "short_row", "picture", "different", "odd"};
static const double fit_part = 0.8, least_s = 1, most_s = 120; /* of a fit */
enum {
  ROWS = sizeof rows / sizeof rows[0],
  GPU_LATE_NS = 256,
  HOST_LATE_NS = 50000,
  HOST_SCRATCH_BYTES = 49152
};

static amount choose_amount(const prem_experiment_context *context) {
  const bool is_gpu = prem_is_gpu(context->backend);
  if (is_gpu)
    return context->quick ? (amount){2, 2, 16, 64, true, 30} : (amount){20, 12, 16, 64, true, 340};
  return context->quick ? (amount){1, 1, 16, 16, false, 6} : (amount){4, 4, 16, 64, false, 160};
}

static set_room choose_room(const prem_experiment_context *context) {
  const char *backend = prem_backend_name(context->backend);
  const int32_t cores = prem_max_i32(context->machine->cores, 1);
  if (strcmp(backend, "cuda") == 0)
    return (set_room){.sms = cores,
                      .blocks = 2 * cores,
                      .rows = 512,
                      .columns = 1024,
                      /* of two blocks an SM; the rest is for their tables */
                      .scratch_bytes = (int32_t)(context->machine->scratch_bytes / 2 * 2 / 3),
                      .late_ns = GPU_LATE_NS};
  return (set_room){.blocks = strcmp(backend, "sim") ? prem_min_i32(cores, 16) : 8,
                    .rows = 64,
                    .columns = 128,
                    .scratch_bytes = HOST_SCRATCH_BYTES,
                    .late_ns = HOST_LATE_NS,
                    .has_times = strcmp(backend, "sim") == 0};
}

/* Of a mode's runs the middle one; NAN: it was not possible here. */
static double median_us(const prem_result *comparison, prem_mode mode) {
  for (int32_t i = 0; comparison && i < comparison->row_count; ++i)
    if (comparison->rows[i].mode == mode && comparison->rows[i].makespan_ns.count > 0)
      return (double)comparison->rows[i].makespan_ns.p50 / 1e3;
  return (double)NAN;
}

/* A set that could not be fitted has a row as well: `fit` is NULL. */
static void add_row(prem_table *table, const prem_schedule *schedule, const char *kind,
                    const prem_fit *fit, double fit_s) {
  static const prem_fit_turn none;
  const prem_fit_turn *turn = fit ? &fit->turns[fit->best] : &none;
  const prem_result *comparison = fit ? fit->comparison : NULL;
  const int64_t bound_ns = turn->report.lower_bound_ns;
  prem_table_row(
      table, TEXT(schedule->name), TEXT(kind), INT(schedule->task_count),
      REAL(median_us(comparison, PREM_MODE_TT)), REAL(median_us(comparison, PREM_MODE_FREE)),
      REAL(median_us(comparison, PREM_MODE_GATED_GRAPH)),
      REAL(median_us(comparison, PREM_MODE_LEGACY)), REAL_IF(bound_ns > 0, (double)bound_ns / 1e3),
      INT_IF(fit, turn->releases), INT_IF(fit, turn->late), REAL(fit_s));
}

/* An equal part of what is left; opening a set, for which no limit holds, takes some of it. */
static double seconds_of(double end_s, int32_t sets_left) {
  const double part_s = fit_part * (end_s - prem_host_clock_s()) / sets_left;
  return fmax(fmin(part_s, most_s), least_s);
}

/* Graphs first, then different tasks, then the files. */
static prem_status open_set(const prem_experiment_context *context, const amount *all,
                            int32_t number, prem_schedule **out, prem_diag *diag) {
  const set_room room = choose_room(context);
  const int32_t drawn = all->graphs + all->different;
  if (number >= drawn) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sets/%s.cfg", context->schedules, rows[number - drawn]);
    return prem_schedule_load(path, NULL, out, diag);
  }
  const uint64_t seed = context->seed * 1000 + (uint64_t)number;
  uint64_t random = seed;
  const int32_t tasks = all->least_tasks +
                        (int32_t)prem_random_below(&random, all->most_tasks - all->least_tasks + 1);
  char *text = set_draw(&room, number < all->graphs, tasks, seed);
  const prem_status status =
      text ? prem_schedule_load_text("drawn", text, out, diag) : PREM_ERR_MEMORY;
  free(text);
  return status;
}

static const char *kind_of(const amount *all, int32_t number) {
  return number < all->graphs                    ? "graph"
         : number < all->graphs + all->different ? "different"
                                                 : "row";
}

/** All sets, whatever becomes of one. */
typedef struct sets_run {
  const prem_experiment_context *context;
  const amount *all;
  prem_findings *findings;
  prem_table *table;
  int32_t failed;
  prem_status failure; /* the last one's, */
  char why[200];       /* and its reason */
} sets_run;

/* What weighs most of it; NULL: nothing was said. */
static const prem_problem *worst_of(const prem_diag *found) {
  const prem_problem *worst = NULL;
  for (size_t i = 0; i < prem_diag_count(found); ++i)
    if (!worst || prem_diag_at(found, i)->severity > worst->severity)
      worst = prem_diag_at(found, i);
  return worst;
}

/* One that cannot be fitted is a finding, and no end of the others. `name` NULL: its file cannot be
 * read. */
static void note_end(sets_run *run, const char *name, prem_status status, const prem_diag *found) {
  const prem_problem *worst = worst_of(found);
  const char *reason = worst ? worst->reason : NULL;
  if (status == PREM_OK && reason)
    prem_findings_note(run->findings, "%s: %s", name, reason);
  if (status == PREM_OK)
    return;
  if (!name)
    name = worst ? worst->file : "a file";
  ++run->failed;
  run->failure = status;
  snprintf(run->why, sizeof run->why, "%s: %s", name, reason ? reason : prem_status_text(status));
  prem_findings_note(run->findings, "Not fitted: %s", run->why);
  if (status == PREM_ERR_WRONG)
    prem_findings_output(run->findings, false);
}

static prem_status fit_set(sets_run *run, int32_t number, double fit_s) {
  const prem_experiment_context *context = run->context;
  const prem_fit_options options = {.late = 1e-5,
                                    .margin = -1,
                                    .time_limit_s = fit_s,
                                    .seed = context->seed,
                                    .stop = context->stop};
  const double began_s = prem_host_clock_s();
  prem_schedule *schedule = NULL;
  prem_fit *fit = NULL;
  prem_diag *found = prem_diag_new();
  prem_status status = open_set(context, run->all, number, &schedule, found);
  if (status == PREM_OK)
    status = prem_schedule_bind(schedule, prem_registry_builtin(), found);
  if (status == PREM_OK)
    status = prem_fit_schedule(schedule, context->backend, context->machine, &options, &fit, found);
  const bool has_ended = status != PREM_ERR_INTERRUPTED && status != PREM_ERR_MEMORY;
  if (has_ended && schedule)
    add_row(run->table, schedule, kind_of(run->all, number), status == PREM_OK ? fit : NULL,
            prem_host_clock_s() - began_s);
  if (status == PREM_OK)
    prem_findings_output(run->findings, !prem_findings_wrong(fit->findings));
  if (status == PREM_OK && !fit->comparison)
    prem_findings_note(run->findings, "%s: no time was left to compare the plan.", schedule->name);
  if (has_ended)
    note_end(run, schedule ? schedule->name : NULL, status, found);
  prem_diag_free(found);
  prem_fit_free(fit);
  prem_schedule_free(schedule);
  return has_ended ? PREM_OK : status;
}

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/** One column in times of another, over a kind's rows. */
typedef struct ratio {
  double middle, worst; /* NAN: neither is there */
} ratio;

static ratio ratio_of(const prem_table *table, const char *kind, int32_t of, int32_t to) {
  const int64_t count = prem_table_rows(table);
  double *ratios = calloc((size_t)count + 1, sizeof *ratios);
  int64_t known = 0;
  for (int64_t row = 0; ratios && row < count; ++row) {
    const double one = prem_value_number(prem_table_value(table, row, of)) /
                       prem_value_number(prem_table_value(table, row, to));
    if (strcmp(prem_table_value(table, row, 1)->text, kind) == 0 && !isnan(one))
      ratios[known++] = one;
  }
  if (known > 0)
    qsort(ratios, (size_t)known, sizeof *ratios, by_value);
  const ratio out =
      known > 0 ? (ratio){(ratios[(known - 1) / 2] + ratios[known / 2]) / 2, ratios[known - 1]}
                : (ratio){(double)NAN, (double)NAN};
  free(ratios);
  return out;
}

enum { COLUMN_TT = 3, COLUMN_FREE, COLUMN_GATED_GRAPH, COLUMN_ORDINARY, COLUMN_RELEASES = 8 };

static void note_late(prem_findings *findings, const prem_table *table) {
  double releases = 0, late = 0;
  for (int64_t row = 0; row < prem_table_rows(table); ++row) {
    const double of_row = prem_value_number(prem_table_value(table, row, COLUMN_RELEASES));
    releases += isnan(of_row) ? 0 : of_row;
    late +=
        isnan(of_row) ? 0 : prem_value_number(prem_table_value(table, row, COLUMN_RELEASES + 1));
  }
  if (releases > 0)
    prem_findings_note(findings, "Of %.0f releases of all sets %.0f were late: %.2g.", releases,
                       late, late / releases);
}

static void conclude(const sets_run *run) {
  prem_findings *findings = run->findings;
  const prem_table *table = run->table;
  const ratio free_graph = ratio_of(table, "graph", COLUMN_FREE, COLUMN_GATED_GRAPH);
  const ratio tt_graph = ratio_of(table, "graph", COLUMN_TT, COLUMN_GATED_GRAPH);
  const ratio free_set = ratio_of(table, "different", COLUMN_FREE, COLUMN_ORDINARY);
  const ratio tt_set = ratio_of(table, "different", COLUMN_TT, COLUMN_ORDINARY);
  const ratio tt_free = ratio_of(table, "graph", COLUMN_TT, COLUMN_FREE);
  if (!isnan(tt_set.middle))
    prem_findings_note(findings,
                       "Sets of different tasks take %.2f x their ordinary kernels in free at the "
                       "median and %.2f x at worst, and %.2f x and %.2f x in tt.",
                       free_set.middle, free_set.worst, tt_set.middle, tt_set.worst);
  note_late(findings, table);
  if (!isnan(tt_graph.middle))
    prem_findings_verdict(findings,
                          "Random task graphs take %.2f x their gated CUDA graph in free at the "
                          "median and %.2f x at worst, and %.2f x and %.2f x in tt.",
                          free_graph.middle, free_graph.worst, tt_graph.middle, tt_graph.worst);
  else if (!isnan(tt_free.middle))
    prem_findings_verdict(findings, "At the median random task graphs take %.2f x free in tt.",
                          tt_free.middle);
  else
    prem_findings_uncounted(findings);
}

static prem_status measure(const prem_probe_call *call) {
  const prem_experiment_context *context = call->context;
  const amount all = choose_amount(context);
  const int32_t count = all.graphs + all.different + (all.rows ? ROWS : 0);
  sets_run sets = {.context = context,
                   .all = &all,
                   .findings = call->findings,
                   .table = prem_probe_table(call, "sets")};
  const double end_s = prem_host_clock_s() + all.seconds;
  prem_status status = PREM_OK;
  prem_experiment_progress(context, 0, count);
  for (int32_t i = 0; i < count && status == PREM_OK; ++i) {
    status = fit_set(&sets, i, seconds_of(end_s, count - i));
    prem_experiment_progress(context, i + 1, count);
  }
  conclude(&sets);
  if (status == PREM_OK && sets.failed == count)
    return prem_experiment_refuse(call->diag, sets.failure,
                                  "none of %d sets could be fitted; the last, %s", count, sets.why);
  return status;
}

const prem_probe prem_fitted_sets_probe = {"none", measure, "sets"};
