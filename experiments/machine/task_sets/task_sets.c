/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of tasks that nobody laid out: what a fit makes of them, beside free and ordinary kernels.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/experiment.h"
#include "experiments/machine/task_sets/draw.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "report/findings/parts.h"
#include "report/findings/tables.h"
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
    return context->quick ? (amount){2, 2, 16, 64, true, 30} : (amount){20, 12, 16, 64, true, 540};
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

static void add_row(prem_table *table, const prem_schedule *schedule, const char *kind,
                    const prem_fit *fit) {
  const prem_fit_turn *turn = &fit->turns[fit->best];
  const int64_t bound_ns = turn->report.lower_bound_ns;
  prem_table_row(table, TEXT(schedule->name), TEXT(kind), INT(schedule->task_count),
                 REAL(median_us(fit->comparison, PREM_MODE_TT)),
                 REAL(median_us(fit->comparison, PREM_MODE_FREE)),
                 REAL(median_us(fit->comparison, PREM_MODE_GATED_GRAPH)),
                 REAL(median_us(fit->comparison, PREM_MODE_LEGACY)),
                 REAL(bound_ns > 0 ? (double)bound_ns / 1e3 : (double)NAN), INT(turn->releases),
                 INT(turn->late), REAL(fit->seconds));
}

/* An equal part of what is left; opening a set, for which no limit holds, takes some of it. */
static double seconds_of(double end_s, int32_t sets_left) {
  const double part_s = fit_part * (end_s - prem_host_clock_s()) / sets_left;
  return fmax(fmin(part_s, most_s), least_s);
}

static prem_status fit_set(const prem_experiment_context *context, prem_schedule *schedule,
                           const char *kind, double fit_s, prem_findings *findings,
                           prem_table *table, prem_diag *diag) {
  const prem_fit_options options = {.late = 1e-5,
                                    .margin = -1,
                                    .time_limit_s = fit_s,
                                    .seed = context->seed,
                                    .stop = context->stop};
  prem_fit *fit = NULL;
  prem_diag *found = prem_diag_new();
  prem_status status = prem_schedule_bind(schedule, prem_registry_builtin(), found);
  if (status == PREM_OK)
    status = prem_fit_schedule(schedule, context->backend, context->machine, &options, &fit, found);
  if (fit && status == PREM_OK) {
    add_row(table, schedule, kind, fit);
    prem_findings_output(findings, !prem_findings_wrong(fit->findings));
  }
  const prem_problem *first = prem_diag_count(found) > 0 ? prem_diag_at(found, 0) : NULL;
  if (status != PREM_OK && status != PREM_ERR_INTERRUPTED && status != PREM_ERR_MACHINE) {
    /* One that cannot be fitted is a finding, and no end of the others. */
    prem_findings_note(findings, "Left out: %s: %s", schedule->name,
                       first ? first->reason : prem_status_text(status));
    status = PREM_OK;
  } else if (status == PREM_OK && first) {
    prem_findings_note(findings, "%s: %s", schedule->name, first->reason);
  } else if (status == PREM_ERR_MACHINE && first) {
    prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, schedule->name, "%s", first->reason);
  }
  prem_diag_free(found);
  prem_fit_free(fit);
  return status;
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

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The median over a kind's rows of one column in times of another; NAN: neither is there. */
static double middle_ratio(const prem_table *table, const char *kind, int32_t of, int32_t to) {
  const int64_t count = prem_table_rows(table);
  double *ratios = calloc((size_t)count + 1, sizeof *ratios);
  int64_t known = 0;
  for (int64_t row = 0; ratios && row < count; ++row) {
    const double ratio = prem_value_number(prem_table_value(table, row, of)) /
                         prem_value_number(prem_table_value(table, row, to));
    if (strcmp(prem_table_value(table, row, 1)->text, kind) == 0 && !isnan(ratio))
      ratios[known++] = ratio;
  }
  if (known > 0)
    qsort(ratios, (size_t)known, sizeof *ratios, by_value);
  const double middle = known > 0 ? ratios[known / 2] : (double)NAN;
  free(ratios);
  return middle;
}

enum { COLUMN_TT = 3, COLUMN_FREE, COLUMN_GATED_GRAPH };

static void conclude(prem_findings *findings, const prem_table *table) {
  const double free_graph = middle_ratio(table, "graph", COLUMN_FREE, COLUMN_GATED_GRAPH);
  const double tt_graph = middle_ratio(table, "graph", COLUMN_TT, COLUMN_GATED_GRAPH);
  const double tt_free = middle_ratio(table, "graph", COLUMN_TT, COLUMN_FREE);
  if (!isnan(tt_graph))
    prem_findings_verdict(findings,
                          "At the median random task graphs take %.2f x their gated CUDA graph in "
                          "free, and %.2f x in tt.",
                          free_graph, tt_graph);
  else if (!isnan(tt_free))
    prem_findings_verdict(findings, "At the median random task graphs take %.2f x free in tt.",
                          tt_free);
  else
    prem_findings_uncounted(findings);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  const amount all = choose_amount(context);
  const int32_t count = all.graphs + all.different + (all.rows ? ROWS : 0);
  prem_table *table =
      prem_table_begin(findings, "sets", "What fit makes of the sets", NULL,
                       "set; kind; tasks; tt_us [us]; free_us [us]; graph_gated_us [us]; "
                       "ordinary_us [us]; bound_us [us]; releases; late; fit_s [s]");
  prem_chart_add(findings, PREM_CHART_POINTS, "sets", "Time-triggered over free", "free_us",
                 "tt_us", "kind", PREM_LOG_X | PREM_LOG_Y);
  const double end_s = prem_host_clock_s() + all.seconds;
  prem_status status = PREM_OK;
  prem_experiment_progress(context, 0, count);
  for (int32_t i = 0; i < count && status == PREM_OK; ++i) {
    prem_schedule *schedule = NULL;
    status = open_set(context, &all, i, &schedule, diag);
    if (status == PREM_OK)
      status = fit_set(context, schedule, kind_of(&all, i), seconds_of(end_s, count - i), findings,
                       table, diag);
    prem_schedule_free(schedule);
    prem_experiment_progress(context, i + 1, count);
  }
  conclude(findings, table);
  return status;
}

const prem_experiment prem_task_sets_experiment = {
    .name = "task_sets",
    .title = "Sets of tasks that nobody laid out",
    .question = "What do random task graphs and sets of tasks take by a plan, beside free and "
                "ordinary kernels?",
    .backends = "cuda cpu sim",
    .run = run};
