/* SPDX-License-Identifier: Apache-2.0 */
/* How long phases take, alone and with co-runners: cumulative distributions and worst cases. */
#include <math.h>
#include <stdio.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/original/originals.h"

/* Every hundredth, and the tail. */
static const double tail[] = {0.995, 0.999, 0.9999, 1.0};
enum { HUNDREDTHS = 100, TAIL_COUNT = sizeof tail / sizeof *tail, SERIES_COUNT = 3 };

/** Who runs beside whom. */
typedef struct cdf_series {
  char name[64];
  prem_measured measured;
} cdf_series;

typedef struct phase_cdf {
  prem_scenario_request request;
  prem_convolutions convolutions;
  cdf_series series[SERIES_COUNT]; /* alone; together, free; together, on time */
  int32_t count;                   /* measured so far */
} phase_cdf;

/* ---- measuring ------------------------------------------------------------------------------ */

static prem_status add_series(phase_cdf *cdf, const char *how,
                              const prem_convolutions *convolutions, prem_mode mode,
                              prem_diag *diag) {
  cdf_series *series = &cdf->series[cdf->count++];
  const int blocks = convolutions->kernels * convolutions->blocks;
  snprintf(series->name, sizeof series->name, blocks == 1 ? "%s" : "%s, %d blocks", how, blocks);
  prem_scenario_request request = cdf->request;
  request.modes[0] = mode;
  request.mode_count = 1;
  return prem_convolutions_run(&request, convolutions, &series->measured, diag);
}

static prem_status measure(phase_cdf *cdf, prem_diag *diag) {
  prem_convolutions together = cdf->convolutions;
  prem_convolutions alone = prem_convolutions_alone(&together);
  prem_status status = add_series(cdf, "alone", &alone, PREM_MODE_FREE, diag);
  if (status == PREM_OK)
    status = add_series(cdf, "free", &together, PREM_MODE_FREE, diag);
  if (status != PREM_OK)
    return status;
  /* Never two blocks at the memory: each phase gets the time that 99 of 100 need alone. */
  const prem_lengths lengths = prem_lengths_of(&cdf->series[0].measured.outcomes[0]);
  prem_convolutions_expect(&together, lengths.planned);
  together.policy = "phase_blockwise";
  together.capacity = 1;
  together.warmup_ns = prem_convolutions_warmup_ns(&together);
  return add_series(cdf, "on time", &together, PREM_MODE_TT, diag);
}

/* ---- what it says --------------------------------------------------------------------------- */

static void add_distribution(const phase_cdf *cdf, prem_phase phase, prem_findings *findings) {
  const char *name = prem_phase_name(phase);
  char title[96];
  snprintf(title, sizeof title, "How long a %s takes: share of all that took no longer", name);
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_columns(table, "company; duration [us]; share [%]");
  for (int32_t s = 0; s < cdf->count; ++s)
    for (int i = 0; i < HUNDREDTHS + TAIL_COUNT; ++i) {
      const prem_times *times = &cdf->series[s].measured.outcomes[0].phase[phase];
      const double share = i < HUNDREDTHS ? (double)i / HUNDREDTHS : tail[i - HUNDREDTHS];
      prem_table_row(table, TEXT(cdf->series[s].name),
                     REAL((double)prem_times_at(times, share) / 1e3), REAL(100.0 * share));
    }
  char figure[32];
  snprintf(figure, sizeof figure, "fig_4_10_%s", name);
  const prem_chart chart = {.kind = PREM_CHART_STEPS,
                            .beside = prem_original_add(findings, figure),
                            .title = title,
                            .table = name,
                            .x = "duration",
                            .y = "share",
                            .series = "company",
                            .log_x = true};
  prem_findings_chart(findings, &chart);
}

static void add_durations(const phase_cdf *cdf, prem_findings *findings) {
  prem_table *table =
      prem_findings_table(findings, "durations", "Phases alone and in company", NULL);
  prem_table_columns(table, "company; phase; count; mean [us]; median [us]; p99 [us]; worst [us]");
  for (int32_t s = 0; s < cdf->count; ++s)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_times *times = &cdf->series[s].measured.outcomes[0].phase[p];
      prem_table_row(
          table, TEXT(cdf->series[s].name), TEXT(prem_phase_name((prem_phase)p)), INT(times->count),
          REAL(times->count ? times->sum_ns / (double)times->count / 1e3 : (double)NAN),
          REAL((double)prem_times_at(times, 0.5) / 1e3),
          REAL((double)prem_times_at(times, 0.99) / 1e3), REAL((double)times->max_ns / 1e3));
    }
}

static double max_us(const phase_cdf *cdf, int32_t series) {
  const prem_lengths lengths = prem_lengths_of(&cdf->series[series].measured.outcomes[0]);
  return (double)prem_tile_ns(lengths.max) / 1e3;
}

static double worst_us(const phase_cdf *cdf, int32_t series) {
  const prem_lengths lengths = prem_lengths_of(&cdf->series[series].measured.outcomes[0]);
  return (double)prem_tile_ns(lengths.worst) / 1e3;
}

static double median_us(const phase_cdf *cdf, int32_t series) {
  return (double)cdf->series[series].measured.outcomes[0].row->makespan_ns.p50 / 1e3;
}

/* What an analysis would have to promise that knows the worst phases and nothing else. */
static void add_bounds(const phase_cdf *cdf, prem_findings *findings) {
  prem_table *table = prem_findings_table(
      findings, "bounds", "Worst phases of a tile x tiles of a block, against the real run", NULL);
  prem_table_columns(table, "company; worst tile [us]; bound [us]; real [us]; bound / real");
  for (int32_t s = 0; s < cdf->count; ++s) {
    const double bound_us = worst_us(cdf, s) * (double)prem_convolutions_tiles(&cdf->convolutions);
    prem_table_row(table, TEXT(cdf->series[s].name), REAL(worst_us(cdf, s)), REAL(bound_us),
                   REAL(median_us(cdf, s)), REAL(bound_us / median_us(cdf, s)));
  }
}

static void add_thesis(prem_findings *findings) {
  static const struct {
    const char *phase;
    double alone_us, worst_us;
  } rows[] = {{"prefetch", 1.781, 7.68}, {"compute", 0.506, 3.2}, {"writeback", 0.421, 2.88}};
  prem_table *table =
      prem_findings_table(findings, "thesis",
                          "The same on a Jetson TX2; the worst times x 512 tiles bound a run to "
                          "7.045 ms, three times the "
                          "real one. The end of a writeback is stamped at its issue there",
                          "thesis, TX2");
  prem_table_columns(table, "phase; mean alone [us]; worst of four [us]");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    prem_table_row(table, TEXT(rows[i].phase), REAL(rows[i].alone_us), REAL(rows[i].worst_us));
  }
}

static void conclude(const phase_cdf *cdf, prem_findings *findings) {
  prem_findings_verdict(findings,
                        "The phases of a tile add up to %.2f us alone, %.2f us beside others that "
                        "run free, %.2f us on "
                        "time (99 of 100); the longest seen to %.2f, %.2f and %.2f us.",
                        max_us(cdf, 0), max_us(cdf, 1), max_us(cdf, 2), worst_us(cdf, 0),
                        worst_us(cdf, 1), worst_us(cdf, 2));
  prem_findings_note(findings, "Blocks at the memory at once, on average: %.2f free, %.2f on time.",
                     cdf->series[1].measured.outcomes[0].at_once,
                     cdf->series[2].measured.outcomes[0].at_once);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  int64_t done = 0;
  phase_cdf cdf = {.request = {.context = context,
                               .findings = findings,
                               .repeat = 100,
                               .discard = 1,
                               .task = -1,
                               .done = &done,
                               .all = SERIES_COUNT},
                   .convolutions = prem_convolutions_of(context->machine, context->quick)};
  const prem_status status = measure(&cdf, diag);
  /* The last one may have got nowhere. */
  while (cdf.count > 0 && !cdf.series[cdf.count - 1].measured.result)
    --cdf.count;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    add_distribution(&cdf, (prem_phase)p, findings);
  add_durations(&cdf, findings);
  add_bounds(&cdf, findings);
  add_thesis(findings);
  if (status == PREM_OK)
    conclude(&cdf, findings);
  for (int s = 0; s < SERIES_COUNT; ++s)
    prem_measured_free(&cdf.series[s].measured);
  return status;
}

const prem_experiment prem_phase_cdf_experiment = {
    .name = "phase_cdf",
    .title = "Durations of phases, alone and in company",
    .question = "How much longer do phases take in company, and does a schedule undo it?",
    .backends = "cuda cpu",
    .run = run};
