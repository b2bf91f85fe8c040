/* SPDX-License-Identifier: Apache-2.0 */
/* How much shorter are the phases of a GPU than those of a CPU? */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"

/** Rows of a tile of 510 columns: the GPU's own, what a core can follow, and as much as PREM on a
 *  CPU moves at once, a private cache full. */
static const int32_t cpu_rows[] = {2, 16, 64};
enum { CPU_TILES = sizeof cpu_rows / sizeof *cpu_rows };

typedef struct length_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_table *table;
  double gpu_us[PREM_PHASE_COUNT]; /* medians; 0: there is no GPU */
  double cpu_us[CPU_TILES][PREM_PHASE_COUNT];
  int64_t done;
} length_study;

static void add_rows(length_study *study, const char *backend, const prem_convolutions *alone,
                     const prem_outcome *outcome, double median_us[PREM_PHASE_COUNT]) {
  char tile[48];
  snprintf(tile, sizeof tile, "%s, %" PRId32 " x %" PRId32, backend, alone->tile_rows,
           alone->tile_columns);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const prem_times *times = &outcome->phase[p];
    median_us[p] = (double)prem_times_at(times, 0.5) / 1e3;
    prem_table_row(study->table, TEXT(tile), TEXT(prem_phase_name((prem_phase)p)),
                   REAL(median_us[p]), REAL((double)prem_times_at(times, 0.99) / 1e3),
                   REAL((double)times->max_ns / 1e3),
                   REAL(study->gpu_us[p] > 0 ? median_us[p] / study->gpu_us[p] : (double)NAN));
  }
}

/* One block alone: nobody disturbs its phases. */
static prem_status measure(length_study *study, const prem_backend *backend,
                           const prem_machine *machine, int32_t tile_rows,
                           double median_us[PREM_PHASE_COUNT], prem_diag *diag) {
  prem_experiment_context context = *study->context;
  context.backend = backend;
  context.machine = machine;
  const prem_scenario_request request = {.context = &context,
                                         .findings = study->findings,
                                         .modes = {PREM_MODE_FREE},
                                         .mode_count = 1,
                                         .repeat = context.quick ? 20 : 100,
                                         .discard = 1,
                                         .task = -1,
                                         .done = &study->done,
                                         .all = 1 + CPU_TILES};
  prem_convolutions convolutions = prem_convolutions_of(machine, true);
  if (tile_rows)
    convolutions.tile_rows = tile_rows;
  const prem_convolutions alone = prem_convolutions_alone(&convolutions);
  prem_measured measured;
  const prem_status status = prem_convolutions_run(&request, &alone, &measured, diag);
  if (status == PREM_OK)
    add_rows(study, prem_backend_name(backend), &alone, &measured.outcomes[0], median_us);
  prem_measured_free(&measured);
  return status;
}

static prem_status measure_cpu(length_study *study, prem_diag *diag) {
  const prem_backend *cpu = prem_backend_find("cpu");
  prem_machine machine;
  prem_status status = cpu ? prem_backend_probe(cpu, &machine, diag) : PREM_ERR_UNAVAILABLE;
  for (int i = 0; i < CPU_TILES && status == PREM_OK; ++i)
    status = measure(study, cpu, &machine, cpu_rows[i], study->cpu_us[i], diag);
  return status;
}

static void tell(const length_study *study) {
  const double *same = study->cpu_us[0], *large = study->cpu_us[CPU_TILES - 1],
               *gpu = study->gpu_us;
  if (gpu[PREM_PREFETCH] > 0)
    prem_findings_verdict(
        study->findings,
        "A prefetch takes %.2f us on the GPU; of the same tile %.2f us on a core (%.1f times), of "
        "a tile that fills a private cache %.1f us (%.0f times). Computes: %.2f, %.2f and %.1f us.",
        gpu[PREM_PREFETCH], same[PREM_PREFETCH], same[PREM_PREFETCH] / gpu[PREM_PREFETCH],
        large[PREM_PREFETCH], large[PREM_PREFETCH] / gpu[PREM_PREFETCH], gpu[PREM_COMPUTE],
        same[PREM_COMPUTE], large[PREM_COMPUTE]);
  else
    prem_findings_verdict(study->findings,
                          "On a core a prefetch of 2 x 510 takes %.2f us and its compute %.2f us; "
                          "of 64 x 510 %.2f and %.2f us. There is no GPU to compare with.",
                          same[PREM_PREFETCH], same[PREM_COMPUTE], large[PREM_PREFETCH],
                          large[PREM_COMPUTE]);
  prem_findings_note(study->findings,
                     "Original: GPU phases (1.8, 0.5, 0.4 us) are 100 to 1000 times shorter than "
                     "those that others published of PREM on CPUs (100 us, 400 us, 3 ms), which "
                     "are of other programs. The ratio here is of one kernel on both.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  length_study study = {.context = context, .findings = findings};
  study.table = prem_findings_table(findings, "lengths",
                                    "Phases of a convolution's tile, one block alone", NULL);
  prem_table_columns(study.table,
                     "tile; phase; median [us]; p99 [us]; longest [us]; median / GPU's");
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_BARS,
                                              .title = "Length of phases, median",
                                              .table = "lengths",
                                              .x = "tile",
                                              .y = "median",
                                              .series = "phase",
                                              .log_y = true});
  prem_status status = PREM_OK;
  if (strcmp(prem_backend_name(context->backend), "cuda") == 0)
    status = measure(&study, context->backend, context->machine, 0, study.gpu_us, diag);
  if (status == PREM_OK)
    status = measure_cpu(&study, diag);
  if (status == PREM_OK)
    tell(&study);
  return status;
}

const prem_experiment prem_phase_lengths_experiment = {
    .name = "phase_lengths",
    .title = "Phases of a GPU and of a CPU",
    .question = "How much shorter are the phases of a GPU than those of a CPU?",
    .backends = "cuda cpu",
    .run = run};
