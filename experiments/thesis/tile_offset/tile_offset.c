/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and jitter over the offset between tiles: where does keeping the plan begin to cost time? */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/ordinary/ordinary.h"
#include "experiments/thesis/original/originals.h"
#include "prem/base/numbers.h"

/* In units of the knee: a free tile's length / tiles that start in a round. Those with a fraction
 * of 1200 are the original's, whose knee is there. */
static const double offsets[] = {0.25,
                                 500.0 / 1200.0,
                                 0.5,
                                 0.75,
                                 1000.0 / 1200.0,
                                 0.9,
                                 1100.0 / 1200.0,
                                 1.0,
                                 1300.0 / 1200.0,
                                 1.1,
                                 1400.0 / 1200.0,
                                 1.25,
                                 1600.0 / 1200.0,
                                 1700.0 / 1200.0,
                                 1.5,
                                 1.75,
                                 2.0,
                                 2500.0 / 1200.0,
                                 2.5,
                                 3.0};
enum { OFFSET_COUNT = sizeof offsets / sizeof *offsets };

/** One way to release tiles, over all offsets. */
typedef struct offset_sweep {
  prem_scenario_request request; /* mode tt */
  prem_convolutions convolutions;
  const char *release; /* "kernel-wise" or "block-wise" */
  prem_table *table, *jitter;
  double free_ns, free_jitter_pct;
  double knee_ns;       /* a free tile's length / starts in a round */
  int64_t tile_ns;      /* a tile's length alone */
  int64_t kept_from_ns; /* the least offset whose plan was kept; 0: none was */
  double kept_ns, kept_jitter_pct;
  double kept_late_pct;
  int64_t kept_lateness_ns;
} offset_sweep;

static prem_table *begin_table(prem_findings *findings) {
  prem_table *table = prem_findings_table(
      findings, "offsets", "Mean, jitter and lateness over the offset between tiles", NULL);
  prem_table_columns(table, "release; offset [ns]; offset / knee; planned [us]; mean [us]; median "
                            "[us]; p5 [us]; p95 [us]; jitter [%]; late releases [%]; worst "
                            "lateness [us]; blocks at memory; least [us]; longest [us]");
  return table;
}

/* The middle nine tenths as well: on a machine that others use, single runs are interrupted. */
static prem_table *begin_jitter(prem_findings *findings) {
  prem_table *table =
      prem_findings_table(findings, "jitter", "Longest - shortest run, of the mean", NULL);
  prem_table_columns(table, "runs; offset / knee; jitter [%]");
  return table;
}

static void add_jitter(const offset_sweep *sweep, double of_knee, const prem_outcome *outcome) {
  const double mean_ns = outcome->row->makespan_ns.mean;
  const double min[] = {0.0, 0.05}, max[] = {1.0, 0.95};
  static const char *const runs[] = {"all runs", "90 % of the runs"};
  for (int i = 0; i < 2; ++i) {
    const double span_ns = prem_makespan_at(outcome, max[i]) - prem_makespan_at(outcome, min[i]);
    char name[64];
    snprintf(name, sizeof name, "%s, %s", sweep->release, runs[i]);
    prem_table_row(sweep->jitter, TEXT(name), REAL(of_knee), REAL(100.0 * span_ns / mean_ns));
  }
}

/* The plan knows releases only; the last tile ends after the last of them. */
static double planned_ns(const offset_sweep *sweep, const prem_measured *measured) {
  return (double)(measured->result->hyperperiod_ns + sweep->tile_ns -
                  prem_tile_ns(sweep->convolutions.wcet_ns));
}

static void add_row(const offset_sweep *sweep, int64_t offset_ns, const prem_measured *measured) {
  const prem_outcome *outcome = &measured->outcomes[0];
  const prem_row *row = outcome->row;
  const bool timed = row->releases > 0;
  prem_table_row(
      sweep->table, TEXT(sweep->release), INT(offset_ns), REAL((double)offset_ns / sweep->knee_ns),
      REAL(timed ? planned_ns(sweep, measured) / 1e3 : (double)NAN),
      REAL(prem_of_runs(row, row->makespan_ns.mean / 1e3)),
      REAL(prem_of_runs(row, (double)row->makespan_ns.p50 / 1e3)),
      REAL(prem_makespan_at(outcome, 0.05) / 1e3), REAL(prem_makespan_at(outcome, 0.95) / 1e3),
      REAL(prem_of_runs(row, row->jitter_pct)),
      REAL(timed ? 100.0 * (double)row->late_releases / (double)row->releases : (double)NAN),
      REAL(timed ? (double)row->lateness_max_ns / 1e3 : (double)NAN), REAL(outcome->at_once),
      REAL(prem_of_runs(row, (double)row->makespan_ns.min / 1e3)),
      REAL(prem_of_runs(row, (double)row->makespan_ns.max / 1e3)));
  add_jitter(sweep, (double)offset_ns / sweep->knee_ns, outcome);
}

/* Ordinary kernels know no offset: a line from one end to the other. */
static void add_baseline(prem_table *table, const char *name, double of_knee,
                         const prem_ordinary_summary *found) {
  prem_table_row(table, TEXT(name), INT(0), REAL(of_knee), REAL((double)NAN),
                 REAL(found->mean_ns / 1e3), REAL(found->median_ns / 1e3), REAL((double)NAN),
                 REAL((double)NAN), REAL(found->jitter_pct));
  for (int i = 0; i < 3; ++i)
    prem_table_add_real(table, (double)NAN);
  prem_table_row(table, REAL(found->min_ns / 1e3), REAL(found->max_ns / 1e3));
}

/* The same four convolutions as ordinary kernels on two SMs; a GPU alone can have them. */
static prem_status run_baseline(offset_sweep *sweep, prem_diag *diag) {
  const prem_ordinary_work works[PREM_ORDINARY_KERNELS] = {
      PREM_ORDINARY_CONV2D, PREM_ORDINARY_CONV2D, PREM_ORDINARY_CONV2D, PREM_ORDINARY_CONV2D};
  prem_ordinary_found found;
  if (!sweep->convolutions.sms || sweep->request.context->quick)
    return PREM_OK;
  const prem_status status = prem_ordinary_find(sweep->request.context, works,
                                                PREM_ORDINARY_KERNELS, false, 200, &found, diag);
  if (status != PREM_OK)
    return status == PREM_ERR_UNAVAILABLE ? PREM_OK : status;
  prem_findings_output(sweep->request.findings, found.right);
  add_baseline(sweep->table, "4 ordinary kernels", 0.0, &found.scenario);
  add_baseline(sweep->table, "4 ordinary kernels", offsets[OFFSET_COUNT - 1], &found.scenario);
  prem_findings_note(sweep->request.findings,
                     "Four ordinary kernels on two SMs take %.1f us with a jitter of %.2f %%, in "
                     "%" PRId64 " runs; %" PRId64
                     " more had a block elsewhere than on its SM of the two and do not count.",
                     found.scenario.mean_ns / 1e3, found.scenario.jitter_pct, found.runs,
                     found.elsewhere);
  return PREM_OK;
}

static void add_original_charts(prem_findings *findings) {
  prem_chart chart = {.kind = PREM_CHART_LINES,
                      .title = "Fig 4.9: time of a run, mean (least to longest)",
                      .table = "offsets",
                      .x = "offset / knee",
                      .y = "mean",
                      .low = "least",
                      .high = "longest",
                      .series = "release",
                      .beside = prem_original_add(findings, "fig_4_9")};
  prem_findings_chart(findings, &chart);
  chart.title = "Fig 4.9: longest - shortest run, of the mean";
  chart.y = "jitter";
  chart.low = chart.high = NULL;
  prem_findings_chart(findings, &chart);
}

static void add_charts(prem_findings *findings) {
  prem_chart chart = {.kind = PREM_CHART_LINES,
                      .title = "Time of a run (median, 90 % of the runs): flat to the knee, at 1",
                      .table = "offsets",
                      .x = "offset / knee",
                      .y = "median",
                      .low = "p5",
                      .high = "p95",
                      .series = "release"};
  prem_findings_chart(findings, &chart);
  chart.low = chart.high = NULL;
  chart.title = "Releases that came late";
  chart.y = "late releases";
  prem_findings_chart(findings, &chart);
  chart.title = "Latest release";
  chart.y = "worst lateness";
  chart.log_y = true;
  prem_findings_chart(findings, &chart);
  chart.title = "Jitter of a run, longest - shortest of the mean: falls behind the knee";
  chart.table = "jitter";
  chart.series = "runs";
  chart.y = "jitter";
  prem_findings_chart(findings, &chart);
}

/* ---- the sweep ------------------------------------------------------------------------------ */

/* Tiles that run free: their length gives the knee; they are the sweep's offset 0. */
static prem_status run_free(offset_sweep *sweep, int32_t starts, prem_diag *diag) {
  prem_scenario_request request = sweep->request;
  request.modes[0] = PREM_MODE_FREE;
  prem_measured measured;
  prem_status status = prem_convolutions_run(&request, &sweep->convolutions, &measured, diag);
  if (status == PREM_OK) {
    const prem_row *row = measured.outcomes[0].row;
    sweep->free_ns = (double)row->makespan_ns.p50;
    sweep->free_jitter_pct = row->jitter_pct;
    sweep->knee_ns =
        sweep->free_ns / (double)(prem_convolutions_tiles(&sweep->convolutions) * starts);
    add_row(sweep, 0, &measured);
  }
  prem_measured_free(&measured);
  return status;
}

/* A run is kept when it takes as long as planned, and no longer; releases may be late for all that.
 */
static void judge(offset_sweep *sweep, int64_t offset_ns, const prem_measured *measured) {
  const prem_row *row = measured->outcomes[0].row;
  const bool kept = (double)row->makespan_ns.p50 <= 1.01 * planned_ns(sweep, measured);
  if (!kept || sweep->kept_from_ns > 0)
    return;
  sweep->kept_from_ns = offset_ns;
  sweep->kept_ns = (double)row->makespan_ns.p50;
  sweep->kept_jitter_pct = row->jitter_pct;
  sweep->kept_late_pct =
      row->releases > 0 ? 100.0 * (double)row->late_releases / (double)row->releases : 0.0;
  sweep->kept_lateness_ns = row->lateness_max_ns;
}

static prem_status run_offset(offset_sweep *sweep, double of_knee, prem_diag *diag) {
  const int64_t offset_ns =
      prem_round_up((int64_t)(of_knee * sweep->knee_ns), sweep->convolutions.clock_step_ns);
  sweep->convolutions.prefetch_offset_ns = offset_ns;
  prem_measured measured;
  const prem_status status =
      prem_convolutions_run(&sweep->request, &sweep->convolutions, &measured, diag);
  if (status == PREM_OK) {
    add_row(sweep, offset_ns, &measured);
    judge(sweep, offset_ns, &measured);
  }
  prem_measured_free(&measured);
  return status;
}

static prem_status run_sweep(offset_sweep *sweep, bool blockwise, prem_diag *diag) {
  prem_convolutions *convolutions = &sweep->convolutions;
  const int32_t starts = convolutions->kernels * (blockwise ? convolutions->blocks : 1);
  convolutions->policy = blockwise ? "tile_blockwise" : "tile_kernelwise";
  sweep->release = blockwise ? "block-wise" : "kernel-wise";
  prem_status status = run_free(sweep, starts, diag);
  for (int i = 0; i < OFFSET_COUNT && status == PREM_OK; ++i)
    status = run_offset(sweep, offsets[i], diag);
  return status;
}

/* ---- what it says --------------------------------------------------------------------------- */

static void describe(const offset_sweep *sweep, char *out, size_t out_bytes) {
  if (sweep->kept_from_ns == 0)
    snprintf(out, out_bytes,
             "Released %s, no run took as long as planned: all offsets, up to %" PRId64
             " ns, were too short.",
             sweep->release, sweep->convolutions.prefetch_offset_ns);
  else
    snprintf(out, out_bytes,
             "Released %s, a run takes as long as planned from an offset of %" PRId64
             " ns on: there %.1f us (median) with a jitter of %.3f %%, %.3g %% of the releases "
             "late, by up to %.1f us; free running takes %.1f us with %.3f %%.",
             sweep->release, sweep->kept_from_ns, sweep->kept_ns / 1e3, sweep->kept_jitter_pct,
             sweep->kept_late_pct, (double)sweep->kept_lateness_ns / 1e3, sweep->free_ns / 1e3,
             sweep->free_jitter_pct);
}

/* The thesis's kernel-wise release gives the verdict. */
static void conclude(const offset_sweep *sweep, bool blockwise, prem_findings *findings) {
  char said[512];
  describe(sweep, said, sizeof said);
  if (blockwise)
    prem_findings_note(findings, "%s", said);
  else
    prem_findings_verdict(findings, "%s", said);
  prem_findings_note(
      findings,
      "Released %s, a free tile's length divided by the starts in a round, the knee, is "
      "%.0f ns.",
      sweep->release, sweep->knee_ns);
}

static void add_thesis(prem_findings *findings) {
  static const struct {
    const char *release;
    int64_t offset_ns;
    double mean_us, jitter_pct;
  } rows[] = {{"free", 0, 2397, 1.47},
              {"kernel-wise", 1300, 2670, 0.15},
              {"kernel-wise", 1400, 2874, 0.04}};
  prem_table *table = prem_findings_table(
      findings, "thesis", "The same on a Jetson TX2, where the knee lies at about 1200 ns",
      "thesis, TX2");
  prem_table_columns(table, "release; offset [ns]; mean [us]; jitter [%]");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    prem_table_row(table, TEXT(rows[i].release), INT(rows[i].offset_ns), REAL(rows[i].mean_us),
                   REAL(rows[i].jitter_pct));
  }
}

static prem_status find_tile(offset_sweep *sweep, prem_diag *diag) {
  prem_convolutions single = prem_convolutions_alone(&sweep->convolutions);
  prem_lengths alone;
  const prem_status status = prem_convolutions_lengths(&sweep->request, &single, &alone, diag);
  if (status != PREM_OK)
    return status;
  sweep->tile_ns = prem_tile_ns(alone.typical);
  /* What is swept has phases of no length: its cycle is starts x offset, however short. */
  prem_convolutions timed = sweep->convolutions;
  prem_convolutions_expect(&timed, alone.typical);
  sweep->convolutions.warmup_ns = prem_convolutions_warmup_ns(&timed);
  return PREM_OK;
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  int64_t done = 0;
  offset_sweep sweep = {.request = {.context = context,
                                    .findings = findings,
                                    .modes = {PREM_MODE_TT},
                                    .mode_count = 1,
                                    .repeat = context->quick ? 40 : 50,
                                    .discard = 1,
                                    .task = -1,
                                    .done = &done},
                        .convolutions = prem_convolutions_of(context->machine, context->quick),
                        .table = begin_table(findings),
                        .jitter = begin_jitter(findings)};
  add_charts(findings);
  add_original_charts(findings);
  add_thesis(findings);
  const bool has_blocks = sweep.convolutions.blocks > 1;
  sweep.request.all = 1 + (1 + OFFSET_COUNT) * (has_blocks ? 2 : 1);
  prem_status status = find_tile(&sweep, diag);
  for (int blockwise = has_blocks; blockwise >= 0 && status == PREM_OK; --blockwise) {
    sweep.kept_from_ns = 0;
    status = run_sweep(&sweep, blockwise, diag);
    if (status == PREM_OK)
      conclude(&sweep, blockwise, findings);
  }
  if (status == PREM_OK)
    status = run_baseline(&sweep, diag);
  return status;
}

const prem_experiment prem_tile_offset_experiment = {
    .name = "tile_offset",
    .title = "Mean and jitter over the offset between tiles",
    .question = "How far apart must tiles start for a plan to be kept, and what does it cost?",
    .backends = "cuda cpu",
    .run = run};
