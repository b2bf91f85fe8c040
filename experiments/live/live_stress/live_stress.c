/* SPDX-License-Identifier: Apache-2.0 */
/* Empty turns beside loads of the host and of the GPU. */
#include <inttypes.h>

#include "experiments/live/live_stress/loads.h"
#include "experiments/live/ways/rows.h"
#include "prem/base/random.h"
#include "report/findings/tables.h"

enum { TURNS = 10000, QUICK_TURNS = 40, CPU_TURNS = 400, WARM_UP = 50, ROUNDS = 2, THREADS = 256 };

#define BUDGET_NS       INT64_C(50000000000)
#define QUICK_BUDGET_NS INT64_C(6000000000)

typedef struct stress_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_table *table, *chart;
  bool is_gpu;
  int64_t live_p50[PREM_LOAD_COUNT], live_spread[PREM_LOAD_COUNT]; /* INT64_MIN: not measured */
} stress_study;

static void add_rows(prem_way_rows *rows, const stress_study *study) {
  static const prem_way ways[] = {PREM_WAY_LIVE, PREM_WAY_RESIDENT, PREM_WAY_LAUNCH,
                                  PREM_WAY_GRAPH};
  for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) {
    const prem_way_setup setup = {.way = ways[w],
                                  .work = PREM_WORK_EMPTY,
                                  .blocks = 1,
                                  .threads = study->is_gpu ? THREADS : 1,
                                  .pace_ns = study->is_gpu ? 20000 : 400000,
                                  .mode = PREM_MODE_TT};
    if (study->is_gpu || ways[w] == PREM_WAY_LIVE)
      prem_way_rows_add(rows, &setup, "");
  }
}

static void begin_tables(stress_study *study) {
  study->table =
      prem_table_begin(study->findings, "stress", "Empty turns beside loads", NULL, "load; way");
  prem_way_columns(study->table);
  study->chart = prem_table_begin(study->findings, "tails", "The largest, by load", NULL,
                                  "load; way; largest time [ns]");
  prem_chart_add(study->findings, PREM_CHART_BARS, "tails",
                 "Largest time from start to outputs, by load", "load", "largest time", "way",
                 PREM_LOG_Y);
}

static void tell_rows(stress_study *study, prem_load load, const prem_way_rows *rows) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    if (row->response.count == 0)
      continue;
    prem_table_row(study->table, TEXT(prem_load_name(load)), TEXT(row->name));
    prem_way_cells(study->table, row);
    prem_table_row(study->chart, TEXT(prem_load_name(load)), TEXT(row->name),
                   INT(row->response.max));
    if (row->setup.way != PREM_WAY_LIVE)
      continue;
    study->live_p50[load] = row->response.p50;
    study->live_spread[load] =
        row->device.count > 0 ? row->device.max - row->device.min : INT64_MIN;
  }
}

static prem_status measure_beside(stress_study *study, prem_load load) {
  const prem_experiment_context *context = study->context;
  prem_way_rows rows = {.turns = context->quick  ? QUICK_TURNS
                                 : study->is_gpu ? TURNS
                                                 : CPU_TURNS,
                        .warm_up = context->quick ? WARM_UP / 10 : WARM_UP,
                        .rounds = ROUNDS,
                        .budget_ns =
                            (context->quick ? QUICK_BUDGET_NS : BUDGET_NS) / PREM_LOAD_COUNT};
  prem_load_run *run = NULL;
  prem_diag *reasons = prem_diag_new();
  prem_status status = reasons ? prem_load_begin(load, context, &run, reasons) : PREM_ERR_MEMORY;
  if (status == PREM_ERR_UNAVAILABLE) {
    prem_findings_note(study->findings, "Left out: %s.", prem_diag_at(reasons, 0)->reason);
    status = PREM_OK;
  } else if (status == PREM_OK) {
    add_rows(&rows, study);
    status = prem_way_rows_measure(context, &rows, study->findings, study->diag);
    tell_rows(study, load, &rows);
    if (load == PREM_LOAD_NONE)
      prem_way_tell_left_out(&rows, study->findings);
  }
  prem_load_end(run);
  prem_diag_free(reasons);
  prem_way_rows_free(&rows);
  return status;
}

static void tell_verdict(const stress_study *study) {
  prem_load worst = PREM_LOAD_NONE;
  if (study->live_p50[PREM_LOAD_NONE] == INT64_MIN)
    return;
  for (int load = 0; load < PREM_LOAD_COUNT; ++load)
    if (study->live_spread[load] > study->live_spread[worst])
      worst = (prem_load)load;
  prem_findings_verdict(
      study->findings,
      "Without a load an empty live event takes %" PRId64
      " ns at the median; on its own clock it spreads most beside '%s', over %" PRId64 " ns.",
      study->live_p50[PREM_LOAD_NONE], prem_load_name(worst), study->live_spread[worst]);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  stress_study study = {.context = context,
                        .findings = findings,
                        .diag = diag,
                        .is_gpu = prem_is_gpu(context->backend)};
  int32_t order[PREM_LOAD_COUNT];
  uint64_t dice = context->seed;
  prem_status status = PREM_OK;
  begin_tables(&study);
  for (int load = 0; load < PREM_LOAD_COUNT; ++load) {
    order[load] = load;
    study.live_p50[load] = study.live_spread[load] = INT64_MIN;
  }
  prem_shuffle(order, PREM_LOAD_COUNT, &dice);
  for (int i = 0; i < PREM_LOAD_COUNT && status == PREM_OK; ++i)
    status = measure_beside(&study, (prem_load)order[i]);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    tell_verdict(&study);
    prem_findings_note(findings,
                       "A second process at the GPU is not among the loads: the machine takes "
                       "turns between processes, which experiment intruders shows.");
  }
  return status;
}

const prem_experiment prem_live_stress_experiment = {
    .name = "live_stress",
    .title = "Start and wait beside loads",
    .question = "What do loads of the host and of the GPU do to starting and waiting?",
    .backends = "cuda cpu",
    .run = run,
};
