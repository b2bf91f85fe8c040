/* SPDX-License-Identifier: Apache-2.0 */
/* Phases moved against each other, of one kind at a time: what does their overlap cost them? */
#include <inttypes.h>
#include <stdio.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/original/originals.h"
#include "prem/base/numbers.h"

/* In units of what the phase takes alone. The first stands for all at once: one step of the clock.
 */
static const double offsets[] = {0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0};
enum { OFFSET_COUNT = sizeof offsets / sizeof *offsets };

/** What is moved, while everything else keeps out of the way. */
typedef struct shifted {
  const char *table, *title, *original;
  prem_phase phase; /* that gives the unit of the offsets */
  bool shown[PREM_PHASE_COUNT];
} shifted;

static const shifted shifts[] = {{"prefetch_shift",
                                  "Prefetches, each with its compute, moved apart",
                                  "fig_4_11",
                                  PREM_PREFETCH,
                                  {true, true, false}},
                                 {"writeback_shift",
                                  "Writebacks moved apart",
                                  "fig_4_12",
                                  PREM_WRITEBACK,
                                  {false, false, true}}};
enum { SHIFT_COUNT = sizeof shifts / sizeof *shifts };

typedef struct spread {
  double median_us, spread_us;
  double jitter_pct; /* (max - min) / (mean prefetch + mean compute), of writebacks / their mean */
} spread;

typedef struct phase_shift {
  prem_scenario_request request;
  prem_convolutions convolutions; /* planned with what phases take with co-runners */
  prem_lengths alone;
  spread together[2][PREM_PHASE_COUNT]; /* kernel-wise, block-wise: at the first offset */
  spread apart[2][PREM_PHASE_COUNT];    /* at the last */
  spread at[SHIFT_COUNT][2][OFFSET_COUNT][PREM_PHASE_COUNT];
} phase_shift;

/* ---- the tables ----------------------------------------------------------------------------- */

static prem_table *begin_table(prem_findings *findings, const shifted *shift) {
  prem_table *table = prem_findings_table(findings, shift->table, shift->title, NULL);
  prem_table_columns(
      table,
      "phase; offset [ns]; offset / phase alone; median [us]; p5 [us]; p95 [us]; worst [us]; p95 - "
      "p5 [us]; blocks at memory; mean [us]; least [us]; longest [us]; jitter [%]");
  return table;
}

static double mean_ns(const prem_times *times) {
  return times->count ? times->sum_ns / (double)times->count : 0.0;
}

/* As the original has it. */
static double jitter_pct(const prem_outcome *outcome, prem_phase phase) {
  const prem_times *times = &outcome->phase[phase];
  const double of_ns = phase == PREM_WRITEBACK ? mean_ns(times)
                                               : mean_ns(&outcome->phase[PREM_PREFETCH]) +
                                                     mean_ns(&outcome->phase[PREM_COMPUTE]);
  return of_ns > 0 ? 100.0 * (double)(times->max_ns - times->min_ns) / of_ns : 0.0;
}

static spread add_row(prem_table *table, const char *release, prem_phase phase, int64_t offset_ns,
                      double of_alone, const prem_outcome *outcome) {
  const prem_times *times = &outcome->phase[phase];
  const double p5_us = (double)prem_times_at(times, 0.05) / 1e3;
  const double p95_us = (double)prem_times_at(times, 0.95) / 1e3;
  const spread found = {(double)prem_times_at(times, 0.5) / 1e3, p95_us - p5_us,
                        jitter_pct(outcome, phase)};
  char name[64];
  snprintf(name, sizeof name, "%s, %s", prem_phase_name(phase), release);
  prem_table_row(table, TEXT(name), INT(offset_ns), REAL(of_alone), REAL(found.median_us),
                 REAL(p5_us), REAL(p95_us), REAL((double)times->max_ns / 1e3),
                 REAL(found.spread_us), REAL(outcome->at_once), REAL(mean_ns(times) / 1e3),
                 REAL((double)times->min_ns / 1e3), REAL((double)times->max_ns / 1e3),
                 REAL(found.jitter_pct));
  return found;
}

static void add_charts(prem_findings *findings, const shifted *shift) {
  char title[128];
  snprintf(title, sizeof title, "%s: duration (median, 90 %% of all)", shift->title);
  prem_chart chart = {.kind = PREM_CHART_LINES,
                      .title = title,
                      .table = shift->table,
                      .x = "offset / phase alone",
                      .y = "median",
                      .low = "p5",
                      .high = "p95",
                      .series = "phase"};
  prem_findings_chart(findings, &chart);
  snprintf(title, sizeof title, "%s: spread of the durations", shift->title);
  chart.y = "p95 - p5";
  chart.low = chart.high = NULL;
  prem_findings_chart(findings, &chart);
  snprintf(title, sizeof title, "%s: mean (least to longest)", shift->title);
  chart.y = "mean";
  chart.low = "least";
  chart.high = "longest";
  chart.log_y = true; /* one interruption would hide all the rest */
  chart.beside = prem_original_add(findings, shift->original);
  prem_findings_chart(findings, &chart);
  snprintf(title, sizeof title, "%s: jitter as the original has it", shift->title);
  chart.y = "jitter";
  chart.low = chart.high = NULL;
  prem_findings_chart(findings, &chart);
}

/* At one shift, so beside rows of both tables; jitter there is max - min in percent of the mean
 * prefetch and compute together. */
static void add_thesis(prem_findings *findings) {
  static const struct {
    const char *phase;
    int64_t shift_ns, change_pct;
  } rows[] = {{"prefetch", 3000, -17}, {"compute", 3000, -48}, {"writeback", 1000, -25}};
  prem_table *table = prem_findings_table(
      findings, "thesis",
      "Change of the phases' jitter from kernel-wise to block-wise release, on a Jetson TX2",
      "thesis, TX2");
  prem_table_columns(table, "phase; shift [ns]; jitter [%]");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    prem_table_row(table, TEXT(rows[i].phase), INT(rows[i].shift_ns), INT(rows[i].change_pct));
  }
}

/* ---- measuring ------------------------------------------------------------------------------ */

static prem_status run_offset(phase_shift *experiment, const shifted *shift, bool blockwise,
                              int place, prem_table *table, prem_diag *diag) {
  prem_convolutions moved = experiment->convolutions;
  const int64_t step_ns = moved.clock_step_ns;
  const double alone_ns = (double)experiment->alone.typical[shift->phase];
  int64_t offset_ns = prem_round_up((int64_t)(offsets[place] * alone_ns), step_ns);
  offset_ns = offset_ns > 0 ? offset_ns : step_ns;
  moved.policy = blockwise ? "phase_blockwise" : "phase_kernelwise";
  /* Left out, an offset is what the phase takes with co-runners: nothing meets. */
  if (shift->phase == PREM_PREFETCH)
    moved.prefetch_offset_ns = offset_ns;
  else
    moved.writeback_offset_ns = offset_ns;
  prem_measured measured;
  const prem_status status = prem_convolutions_run(&experiment->request, &moved, &measured, diag);
  for (int p = 0; p < PREM_PHASE_COUNT && status == PREM_OK; ++p) {
    if (!shift->shown[p])
      continue;
    const spread found = add_row(table, blockwise ? "block-wise" : "kernel-wise", (prem_phase)p,
                                 offset_ns, (double)offset_ns / alone_ns, &measured.outcomes[0]);
    experiment->at[shift - shifts][blockwise][place][p] = found;
    if (place == 0)
      experiment->together[blockwise][p] = found;
    experiment->apart[blockwise][p] = found;
  }
  prem_measured_free(&measured);
  return status;
}

static prem_status run_shift(phase_shift *experiment, const shifted *shift, prem_table *table,
                             prem_diag *diag) {
  const bool has_blocks = experiment->convolutions.blocks > 1;
  prem_status status = PREM_OK;
  for (int blockwise = 0; blockwise <= has_blocks; ++blockwise)
    for (int i = 0; i < OFFSET_COUNT && status == PREM_OK; ++i)
      status = run_offset(experiment, shift, blockwise, i, table, diag);
  return status;
}

static prem_status find_lengths(phase_shift *experiment, prem_diag *diag) {
  prem_convolutions *convolutions = &experiment->convolutions;
  const prem_convolutions single = prem_convolutions_alone(convolutions);
  prem_lengths corunners;
  prem_status status =
      prem_convolutions_lengths(&experiment->request, &single, &experiment->alone, diag);
  if (status == PREM_OK)
    status = prem_convolutions_lengths(&experiment->request, convolutions, &corunners, diag);
  if (status != PREM_OK)
    return status;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (corunners.planned[p] < experiment->alone.planned[p])
      corunners.planned[p] = experiment->alone.planned[p];
  prem_convolutions_expect(convolutions, corunners.planned);
  convolutions->warmup_ns = prem_convolutions_warmup_ns(convolutions);
  return PREM_OK;
}

/* ---- what it says --------------------------------------------------------------------------- */

static double change_pct(double from, double to) {
  return from > 0 ? 100.0 * (to - from) / from : 0.0;
}

/* Figs 4.13 and 4.14: the two releases at one shift. */
static void add_changes(const phase_shift *experiment, prem_findings *findings) {
  prem_table *table =
      prem_findings_table(findings, "blockwise",
                          "Change from kernel-wise to block-wise release at the same shift", NULL);
  prem_table_columns(table, "phase; offset / phase alone; jitter [%]; p95 - p5 [%]; median [%]");
  for (int i = 0; i < SHIFT_COUNT; ++i)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      for (int place = 0; place < OFFSET_COUNT && shifts[i].shown[p]; ++place) {
        const spread *from = &experiment->at[i][0][place][p], *to = &experiment->at[i][1][place][p];
        prem_table_row(table, TEXT(prem_phase_name((prem_phase)p)), REAL(offsets[place]),
                       REAL(change_pct(from->jitter_pct, to->jitter_pct)),
                       REAL(change_pct(from->spread_us, to->spread_us)),
                       REAL(change_pct(from->median_us, to->median_us)));
      }
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_LINES,
                                              .title = "Figs 4.13, 4.14: change of the jitter from "
                                                       "kernel-wise to block-wise release",
                                              .table = "blockwise",
                                              .x = "offset / phase alone",
                                              .y = "jitter",
                                              .series = "phase"});
}

static void conclude(const phase_shift *experiment, prem_findings *findings) {
  const bool blockwise = experiment->convolutions.blocks > 1;
  const spread *from = experiment->together[blockwise], *to = experiment->apart[blockwise];
  double median[PREM_PHASE_COUNT], width[PREM_PHASE_COUNT];
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    median[p] = change_pct(from[p].median_us, to[p].median_us);
    width[p] = change_pct(from[p].spread_us, to[p].spread_us);
  }
  prem_findings_verdict(
      findings,
      "Moved from all at once to far apart (%s), prefetches change by %+.0f %% (spread %+.0f %%), "
      "computes by %+.0f %% (%+.0f %%), writebacks by %+.0f %% (%+.0f %%).",
      blockwise ? "block-wise" : "kernel-wise", median[PREM_PREFETCH], width[PREM_PREFETCH],
      median[PREM_COMPUTE], width[PREM_COMPUTE], median[PREM_WRITEBACK], width[PREM_WRITEBACK]);
  prem_findings_note(findings,
                     "Least and longest are of all runs: of %" PRId64
                     " here, of one in the original, whose jitter has fewer phases to find an "
                     "extreme in.",
                     experiment->request.repeat);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  int64_t done = 0;
  phase_shift experiment = {.request = {.context = context,
                                        .findings = findings,
                                        .modes = {PREM_MODE_TT},
                                        .mode_count = 1,
                                        .repeat = context->quick ? 20 : 50,
                                        .discard = 1,
                                        .task = -1,
                                        .done = &done},
                            .convolutions = prem_convolutions_of(context->machine, true)};
  const int releases = experiment.convolutions.blocks > 1 ? 2 : 1;
  experiment.request.all = 2 + SHIFT_COUNT * OFFSET_COUNT * releases;
  prem_table *tables[SHIFT_COUNT];
  for (int i = 0; i < SHIFT_COUNT; ++i) {
    tables[i] = begin_table(findings, &shifts[i]);
    add_charts(findings, &shifts[i]);
  }
  add_thesis(findings);
  prem_status status = find_lengths(&experiment, diag);
  for (int i = 0; i < SHIFT_COUNT && status == PREM_OK; ++i)
    status = run_shift(&experiment, &shifts[i], tables[i], diag);
  if (status == PREM_OK && releases > 1)
    add_changes(&experiment, findings);
  if (status == PREM_OK)
    conclude(&experiment, findings);
  return status;
}

const prem_experiment prem_phase_shift_experiment = {
    .name = "phase_shift",
    .title = "Phases moved against each other",
    .question = "How long and how steady are phases, the further apart those of one kind start?",
    .backends = "cuda cpu",
    .run = run};
