/* SPDX-License-Identifier: Apache-2.0 */
/* The thesis's scenario: ordinary kernels, the same work in tiles, the same tiles on time. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/ordinary/ordinary.h"
#include "experiments/thesis/original/originals.h"
#include "prem/base/numbers.h"

/* The thesis's offsets, 1300 and 1400 ns, against the 1200 ns at which its curve bends. */
static const double offsets[] = {1300.0 / 1200.0, 1400.0 / 1200.0};
enum { OFFSET_COUNT = sizeof offsets / sizeof *offsets, H200_SMS = 132, THESIS_KERNELS = 4 };
/* Of table 4.1, as in the thesis; on a CPU, where runs are long and many are interrupted, as many
 * as of the rest. */
enum { ALIKE_RUNS = 1000 };

typedef struct kernel_time {
  double median_us, jitter_pct;
} kernel_time;

typedef struct kernel_comparison {
  prem_scenario_request request;
  prem_convolutions convolutions;
  prem_table *table, *jitter;              /* of the rows that are being added */
  kernel_time legacy, running_free, timed; /* the latest; `timed` at the larger offset */
  bool filled;                             /* they filled the GPU */
  prem_table *alike;                       /* the thesis's table 4.1 */
  kernel_time ordinary, tiles, on_time;    /* four of them there; means */
  int64_t elsewhere;                       /* runs of ordinary kernels that left their SMs */
} kernel_comparison;

static kernel_time time_of(const prem_outcome *outcome) {
  const prem_row *row = outcome->row;
  return (kernel_time){prem_of_runs(row, (double)row->makespan_ns.p50 / 1e3), row->jitter_pct};
}

/* ---- the table ------------------------------------------------------------------------------ */

/** A table of scenarios, `name`, and one of their jitter, `jitter`; with their charts. */
static void begin_tables(kernel_comparison *comparison, const char *name, const char *jitter,
                         const char *title) {
  prem_findings *findings = comparison->request.findings;
  prem_table *table = comparison->table = prem_findings_table(findings, name, title, NULL);
  prem_table_columns(table, "scenario; kernels; mean [us]; median [us]; max - min [us]; late "
                            "releases [%]; worst lateness [us]; overruns; blocks at memory; runs");
  comparison->jitter =
      prem_findings_table(findings, jitter, "Longest - shortest run, of the mean", NULL);
  prem_table_columns(comparison->jitter, "scenario; of runs; jitter [%]");
  char caption[128];
  snprintf(caption, sizeof caption, "%s: time of a run, median", title);
  prem_chart chart = {.kind = PREM_CHART_BARS,
                      .title = caption,
                      .table = name,
                      .x = "scenario",
                      .y = "median",
                      .log_y = true};
  prem_findings_chart(findings, &chart);
  snprintf(caption, sizeof caption, "%s: longest - shortest run, of the mean", title);
  chart.table = jitter;
  chart.y = "jitter";
  chart.series = "of runs";
  prem_findings_chart(findings, &chart);
}

/* The middle nine tenths as well: on a machine that others use, single runs are interrupted. */
static void add_jitter(const kernel_comparison *comparison, const char *scenario,
                       const prem_outcome *outcome) {
  const double middle_ns = prem_makespan_at(outcome, 0.95) - prem_makespan_at(outcome, 0.05);
  prem_table *table = comparison->jitter;
  prem_table_row(table, TEXT(scenario), TEXT("all"),
                 REAL(prem_of_runs(outcome->row, outcome->row->jitter_pct)), TEXT(scenario),
                 TEXT("the middle 90 %"), REAL(100.0 * middle_ns / outcome->row->makespan_ns.mean));
}

static void add_row(const kernel_comparison *comparison, const char *scenario, int32_t kernels,
                    const prem_outcome *outcome) {
  prem_table *table = comparison->table;
  const prem_row *row = outcome->row;
  const bool timed = row->releases > 0;
  prem_table_row(
      table, TEXT(scenario), INT(kernels), REAL(prem_of_runs(row, row->makespan_ns.mean / 1e3)),
      REAL(prem_of_runs(row, (double)row->makespan_ns.p50 / 1e3)),
      REAL(prem_of_runs(row, (double)row->jitter_ns / 1e3)),
      REAL(timed ? 100.0 * (double)row->late_releases / (double)row->releases : (double)NAN),
      REAL(timed ? (double)row->lateness_max_ns / 1e3 : (double)NAN),
      REAL(timed ? (double)row->overruns : (double)NAN),
      REAL(outcome->at_once > 0 ? outcome->at_once : (double)NAN), INT(row->samples));
  add_jitter(comparison, scenario, outcome);
}

static void add_thesis(prem_findings *findings) {
  static const struct {
    const char *scenario;
    int kernels;
    double mean_us, jitter_pct;
  } rows[] = {{"legacy", 1, 657, 1.84},
              {"legacy", 4, 2675, 6.47},
              {"free", 4, 2397, 1.47},
              {"tt, offset 1300 ns", 4, 2670, 0.15},
              {"tt, offset 1400 ns", 4, 2874, 0.04}};
  prem_table *table = prem_findings_table(
      findings, "thesis", "The same on a Jetson TX2, 1000 runs each", "thesis, TX2");
  prem_table_columns(table, "scenario; kernels; mean [us]; jitter [%]");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    prem_table_row(table, TEXT(rows[i].scenario), INT(rows[i].kernels), REAL(rows[i].mean_us),
                   REAL(rows[i].jitter_pct));
  }
}

/* ---- table 4.1, as the thesis has it ------------------------------------------------------- */

static const char *const alike_offsets[OFFSET_COUNT] = {"on time, 1.08 knees",
                                                        "on time, 1.17 knees"};

/* Four kernels on two SMs, tiles or not; a run from the earliest start of a block to the latest
 * end.
 */
static void begin_alike(kernel_comparison *comparison) {
  prem_findings *findings = comparison->request.findings;
  prem_table *table = comparison->alike = prem_findings_table(
      findings, "alike",
      comparison->convolutions.sms ? "Table 4.1: two SMs, latest end - earliest start"
                                   : "Table 4.1: a core for each kernel",
      NULL);
  prem_table_columns(table,
                     "scenario; kernels; mean [us]; least [us]; longest [us]; jitter [%]; runs");
  prem_chart chart = {.kind = PREM_CHART_BARS,
                      .title = "Table 4.1, Fig 4.8: time of a run, mean (least to longest)",
                      .table = "alike",
                      .x = "scenario",
                      .y = "mean",
                      .low = "least",
                      .high = "longest",
                      .beside = prem_original_add(findings, "table_4_1")};
  prem_findings_chart(findings, &chart);
  chart.title = "Table 4.1, Fig 4.8: longest - shortest run, of the mean";
  chart.y = "jitter";
  chart.log_y = true;
  chart.low = chart.high = NULL;
  prem_findings_chart(findings, &chart);
}

static void add_alike(const kernel_comparison *comparison, const char *scenario, int32_t kernels,
                      const prem_ordinary_summary *of, int64_t runs) {
  prem_table *table = comparison->alike;
  prem_table_row(table, TEXT(scenario), INT(kernels), REAL(of->mean_ns / 1e3),
                 REAL(of->min_ns / 1e3), REAL(of->max_ns / 1e3), REAL(of->jitter_pct), INT(runs));
}

/* On a CPU from the common start: runs that the system interrupted are left out of those. */
static prem_ordinary_summary summary_of(const kernel_comparison *comparison,
                                        const prem_outcome *outcome) {
  const prem_times *span = &outcome->span;
  const prem_row *row = outcome->row;
  if (row->samples == 0) /* all were interrupted */
    return (prem_ordinary_summary){(double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
  prem_ordinary_summary found = {.mean_ns = row->makespan_ns.mean,
                                 .min_ns = (double)row->makespan_ns.min,
                                 .max_ns = (double)row->makespan_ns.max};
  if (comparison->convolutions.sms && span->count > 0)
    found = (prem_ordinary_summary){.mean_ns = span->sum_ns / (double)span->count,
                                    .min_ns = (double)span->min_ns,
                                    .max_ns = (double)span->max_ns};
  found.jitter_pct =
      found.mean_ns > 0 ? 100.0 * (found.max_ns - found.min_ns) / found.mean_ns : (double)NAN;
  return found;
}

static kernel_time add_tiles_alike(const kernel_comparison *comparison, const char *scenario,
                                   const prem_outcome *outcome) {
  const prem_ordinary_summary found = summary_of(comparison, outcome);
  add_alike(comparison, scenario, comparison->convolutions.kernels, &found, outcome->row->samples);
  return (kernel_time){found.mean_ns / 1e3, found.jitter_pct};
}

/* On a CPU mode legacy is what comes nearest: a thread a kernel. */
static prem_status run_ordinary(kernel_comparison *comparison, int32_t kernels, prem_diag *diag) {
  const char *name = kernels == 1 ? "legacy, one" : "legacy, four";
  if (!comparison->convolutions.sms) {
    prem_scenario_request request = comparison->request;
    prem_convolutions some = comparison->convolutions;
    some.kernels = kernels < some.kernels ? kernels : some.kernels;
    request.modes[0] = PREM_MODE_LEGACY;
    request.mode_count = 1;
    prem_measured measured;
    const prem_status status = prem_convolutions_run(&request, &some, &measured, diag);
    if (status == PREM_OK) {
      const prem_ordinary_summary found = summary_of(comparison, &measured.outcomes[0]);
      add_alike(comparison, name, some.kernels, &found, measured.outcomes[0].row->samples);
      comparison->ordinary = (kernel_time){found.mean_ns / 1e3, found.jitter_pct};
    }
    prem_measured_free(&measured);
    return status;
  }
  const prem_ordinary_work works[THESIS_KERNELS] = {PREM_ORDINARY_CONV2D, PREM_ORDINARY_CONV2D,
                                                    PREM_ORDINARY_CONV2D, PREM_ORDINARY_CONV2D};
  prem_ordinary_found found;
  const prem_status status = prem_ordinary_find(comparison->request.context, works, kernels, false,
                                                comparison->request.repeat, &found, diag);
  if (status == PREM_ERR_UNAVAILABLE) {
    prem_findings_note(comparison->request.findings,
                       "%s: left out, two SMs could not be had alone.", name);
    return PREM_OK;
  }
  if (status != PREM_OK)
    return status;
  add_alike(comparison, name, kernels, &found.scenario, found.runs);
  prem_findings_output(comparison->request.findings, found.right);
  comparison->elsewhere += found.elsewhere;
  comparison->ordinary = (kernel_time){found.scenario.mean_ns / 1e3, found.scenario.jitter_pct};
  return PREM_OK;
}

/* As many runs as the thesis has. */
static prem_status run_alike_first(kernel_comparison *comparison, prem_diag *diag) {
  prem_status status = run_ordinary(comparison, 1, diag);
  if (status == PREM_OK)
    status = run_ordinary(comparison, THESIS_KERNELS, diag);
  if (status != PREM_OK)
    return status;
  prem_scenario_request request = comparison->request;
  request.modes[0] = PREM_MODE_FREE;
  request.mode_count = 1;
  prem_measured measured;
  status = prem_convolutions_run(&request, &comparison->convolutions, &measured, diag);
  if (status == PREM_OK)
    comparison->tiles = add_tiles_alike(comparison, "free, four", &measured.outcomes[0]);
  prem_measured_free(&measured);
  return status;
}

static void conclude_alike(const kernel_comparison *comparison, prem_findings *findings) {
  const kernel_time ordinary = comparison->ordinary, tiles = comparison->tiles,
                    timed = comparison->on_time;
  if (!isnan(ordinary.median_us + tiles.median_us + timed.median_us)) /* else a note says why */
    prem_findings_note(
        findings,
        "Table 4.1 like for like: %.1f us (jitter %.2f %%) as ordinary kernels, %.1f "
        "us (%.2f %%) in free tiles, %.1f us (%.3f %%) in tiles on time, 1.17 knees "
        "apart. Original: 2675 us (6.47 %%), 2397 (1.47), 2874 (0.04).",
        ordinary.median_us, ordinary.jitter_pct, tiles.median_us, tiles.jitter_pct, timed.median_us,
        timed.jitter_pct);
  if (comparison->convolutions.sms)
    prem_findings_note(findings,
                       "There, ordinary kernels are two blocks of 512 threads on two SMs, as in "
                       "the original: idle blocks fill the others. %" PRId64
                       " runs more had a block elsewhere and do not count.",
                       comparison->elsewhere);
}

/* ---- the scenarios -------------------------------------------------------------------------- */

static void set_modes(prem_scenario_request *request, const prem_mode *modes, int32_t count) {
  request->mode_count = count;
  memcpy(request->modes, modes, (size_t)count * sizeof *modes);
}

/* Ordinary kernels know no plan: any will do. */
static prem_status run_one_kernel(kernel_comparison *comparison, prem_diag *diag) {
  prem_scenario_request request = comparison->request;
  prem_convolutions one = comparison->convolutions;
  one.kernels = 1;
  set_modes(&request, (const prem_mode[]){PREM_MODE_LEGACY, PREM_MODE_FREE}, 2);
  prem_measured measured;
  const prem_status status = prem_convolutions_run(&request, &one, &measured, diag);
  if (status == PREM_OK) {
    add_row(comparison, "legacy, one", 1, &measured.outcomes[0]);
    add_row(comparison, "free, one", 1, &measured.outcomes[1]);
  }
  prem_measured_free(&measured);
  return status;
}

/* All kernels, with a plan in which the memory belongs to one of them at a time. */
static prem_status run_exclusive(kernel_comparison *comparison, prem_diag *diag) {
  static const prem_mode modes[] = {PREM_MODE_LEGACY, PREM_MODE_FREE, PREM_MODE_LOCK, PREM_MODE_TT};
  static const char *const names[] = {"legacy", "free", "lock", "tt, exclusive"};
  prem_scenario_request request = comparison->request;
  set_modes(&request, modes, 4);
  prem_convolutions all = comparison->convolutions;
  all.policy = "phase_kernelwise";
  all.capacity = 1;
  all.per_task = true;
  prem_measured measured;
  const prem_status status = prem_convolutions_run(&request, &all, &measured, diag);
  if (status == PREM_OK) {
    for (int m = 0; m < 4; ++m)
      add_row(comparison, names[m], all.kernels, &measured.outcomes[m]);
    comparison->legacy = time_of(&measured.outcomes[0]);
    comparison->running_free = time_of(&measured.outcomes[1]);
  }
  prem_measured_free(&measured);
  return status;
}

/* Whole tiles, kernels so far apart as the thesis had them; their memory phases may meet. */
static prem_status run_offset(kernel_comparison *comparison, int number, prem_diag *diag) {
  const double of_knee = offsets[number];
  if (isnan(comparison->running_free.median_us)) /* there is no knee without it */
    return PREM_OK;
  prem_scenario_request request = comparison->request;
  set_modes(&request, (const prem_mode[]){PREM_MODE_TT}, 1);
  prem_convolutions all = comparison->convolutions;
  const double tile_ns =
      comparison->running_free.median_us * 1e3 / (double)prem_convolutions_tiles(&all);
  all.prefetch_offset_ns =
      prem_round_up((int64_t)(of_knee * tile_ns / all.kernels), all.clock_step_ns);
  prem_measured measured;
  const prem_status status = prem_convolutions_run(&request, &all, &measured, diag);
  if (status == PREM_OK) {
    char name[64];
    snprintf(name, sizeof name, "tt, offset %" PRId64 " ns", all.prefetch_offset_ns);
    add_row(comparison, name, all.kernels, &measured.outcomes[0]);
    comparison->timed = time_of(&measured.outcomes[0]);
    comparison->on_time = add_tiles_alike(comparison, alike_offsets[number], &measured.outcomes[0]);
  }
  prem_measured_free(&measured);
  return status;
}

static void filled_path(const prem_experiment_context *context, char *out, size_t out_bytes) {
  snprintf(out, out_bytes, "%s/figures/h200_conv2d_x4.cfg", context->schedules);
}

/* The thesis filled its GPU; two SMs do not fill this one, and ordinary kernels use all of it. */
static prem_status run_filled(kernel_comparison *comparison, prem_diag *diag) {
  static const prem_mode modes[] = {PREM_MODE_LEGACY, PREM_MODE_FREE, PREM_MODE_TT};
  static const char *const names[] = {"legacy", "free", "tt"};
  char path[4096];
  filled_path(comparison->request.context, path, sizeof path);
  prem_scenario_request request = comparison->request;
  request.path = path;
  set_modes(&request, modes, 3);
  begin_tables(comparison, "full_gpu", "full_gpu_jitter", "On all SMs");
  prem_measured measured;
  const prem_status status = prem_scenario_run(&request, &measured, diag);
  if (status == PREM_OK) {
    for (int m = 0; m < 3; ++m)
      add_row(comparison, names[m], THESIS_KERNELS, &measured.outcomes[m]);
    comparison->legacy = time_of(&measured.outcomes[0]);
    comparison->running_free = time_of(&measured.outcomes[1]);
    comparison->timed = time_of(&measured.outcomes[2]);
    comparison->filled = true;
  }
  prem_measured_free(&measured);
  return status;
}

/* The schedule that fills the GPU is made for 132 SMs, and need not be there. */
static bool can_fill(const prem_experiment_context *context) {
  char path[4096];
  filled_path(context, path, sizeof path);
  return strcmp(context->machine->backend, "cuda") == 0 && context->machine->cores == H200_SMS &&
         access(path, R_OK) == 0;
}

/* ---- what it says --------------------------------------------------------------------------- */

static void conclude(const kernel_comparison *comparison, prem_findings *findings) {
  const kernel_time legacy = comparison->legacy, tiles = comparison->running_free,
                    timed = comparison->timed;
  const bool comparable = comparison->filled || !comparison->convolutions.sms;
  char ordinary[96] = "";
  if (comparable)
    snprintf(ordinary, sizeof ordinary, "%.1f us (jitter %.2f %%) as ordinary kernels, ",
             legacy.median_us, legacy.jitter_pct);
  prem_findings_verdict(findings,
                        "%" PRId32 " convolutions%s take %s%.1f us (jitter %.2f %%) in tiles that "
                        "run free, %.1f us (%.3f %%) in tiles on time.",
                        comparison->convolutions.kernels,
                        comparison->filled ? " that fill the GPU" : "", ordinary, tiles.median_us,
                        tiles.jitter_pct, timed.median_us, timed.jitter_pct);
  prem_findings_note(findings, "Only lock and exclusive keep blocks of different kernels apart at "
                               "the memory; blocks at memory says how many were there at once.");
  if (comparison->convolutions.sms)
    prem_findings_note(findings,
                       "In the first table tiles have two SMs, as in the thesis, and ordinary "
                       "kernels all of them; in table 4.1 both have two, and with the GPU full "
                       "both have all.");
  else
    prem_findings_note(findings, "A kernel has one block, on a core of its own; legacy is one "
                                 "thread a kernel that runs a plain loop.");
}

static prem_status run_all(kernel_comparison *comparison, prem_diag *diag) {
  prem_convolutions *convolutions = &comparison->convolutions;
  const prem_convolutions single = prem_convolutions_alone(convolutions);
  prem_lengths alone;
  prem_status status = prem_convolutions_lengths(&comparison->request, &single, &alone, diag);
  if (status != PREM_OK)
    return status;
  prem_convolutions_expect(convolutions, alone.planned);
  convolutions->warmup_ns = prem_convolutions_warmup_ns(convolutions);
  status = run_one_kernel(comparison, diag);
  if (status == PREM_OK)
    status = run_exclusive(comparison, diag);
  prem_convolutions_expect(convolutions, alone.typical);
  const int64_t repeat = comparison->request.repeat;
  if (convolutions->sms && !comparison->request.context->quick)
    comparison->request.repeat = ALIKE_RUNS;
  if (status == PREM_OK)
    status = run_alike_first(comparison, diag);
  for (int i = 0; i < OFFSET_COUNT && status == PREM_OK; ++i)
    status = run_offset(comparison, i, diag);
  comparison->request.repeat = repeat;
  if (status == PREM_OK && can_fill(comparison->request.context))
    status = run_filled(comparison, diag);
  return status;
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  int64_t done = 0;
  const prem_convolutions convolutions = prem_convolutions_of(context->machine, context->quick);
  kernel_comparison comparison = {
      .request = {.context = context,
                  .findings = findings,
                  .repeat = context->quick ? 50 : 200,
                  .discard = 1,
                  .task = -1,
                  .done = &done,
                  .all = 4 + OFFSET_COUNT + can_fill(context) + (convolutions.sms ? 0 : 2)},
      .convolutions = convolutions};
  begin_tables(&comparison, "scenarios", "jitter",
               convolutions.sms ? "On two SMs" : "A core for each kernel");
  begin_alike(&comparison);
  const prem_status status = run_all(&comparison, diag);
  add_thesis(findings);
  if (status == PREM_OK) {
    conclude(&comparison, findings);
    conclude_alike(&comparison, findings);
  }
  return status;
}

const prem_experiment prem_convolution_experiment = {
    .name = "convolution",
    .title = "Convolutions: ordinary kernels, tiles that run free, tiles on time",
    .question =
        "What does time-triggered execution of the thesis's convolutions cost, and what does it "
        "give?",
    .backends = "cuda cpu",
    .run = run};
