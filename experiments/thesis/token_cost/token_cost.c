/* SPDX-License-Identifier: Apache-2.0 */
/* A token for the memory phase, against the same exclusion by the clock and against none. */
#include <math.h>
#include <stdio.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"

static const prem_mode modes[] = {PREM_MODE_FREE, PREM_MODE_LOCK, PREM_MODE_TT};
enum { MODE_COUNT = sizeof modes / sizeof *modes };

static const char *const mode_names[MODE_COUNT] = {"free", "token", "on time"};

typedef struct token_cost {
  prem_scenario_request request;
  prem_convolutions convolutions;
  prem_table *table;
  double of_free[MODE_COUNT], waiting_pct[MODE_COUNT]; /* with a token for all blocks */
  double handover_ns;                                  /* median; NAN: none was seen */
} token_cost;

static prem_table *begin_table(prem_findings *findings) {
  prem_table *table = prem_findings_table(
      findings, "modes", "Tiles without a rule, behind a token for the memory, and on time", NULL);
  prem_table_columns(
      table, "at the memory; mode; mean [us]; median [us]; of free; jitter [%]; waiting [%]; "
             "blocks at memory; handover median [ns]; handover p99 [ns]; handover worst [ns]");
  return table;
}

static void add_row(const token_cost *cost, bool per_task, int m, const prem_measured *measured) {
  prem_table *table = cost->table;
  const prem_outcome *outcome = &measured->outcomes[m];
  const prem_row *row = outcome->row;
  prem_table_row(table, TEXT(per_task ? "one kernel at a time" : "one block at a time"),
                 TEXT(mode_names[m]), REAL(prem_of_runs(row, row->makespan_ns.mean / 1e3)),
                 REAL(prem_of_runs(row, (double)row->makespan_ns.p50 / 1e3)),
                 REAL(prem_of_runs(row, (double)row->makespan_ns.p50) /
                      (double)measured->outcomes[0].row->makespan_ns.p50),
                 REAL(prem_of_runs(row, row->jitter_pct)), REAL(outcome->waiting_pct),
                 REAL(outcome->at_once));
  /* Blocks of one kernel need not hand it over. */
  const bool handed = modes[m] == PREM_MODE_LOCK && !per_task && outcome->handover.count > 0;
  for (int i = 0; i < 3; ++i) {
    static const double shares[] = {0.5, 0.99, 1.0};
    prem_table_add_real(table, handed ? (double)prem_times_at(&outcome->handover, shares[i])
                                      : (double)NAN);
  }
}

static void add_charts(prem_findings *findings) {
  prem_chart chart = {.kind = PREM_CHART_BARS,
                      .title = "Time of a run, median",
                      .table = "modes",
                      .x = "mode",
                      .y = "median",
                      .series = "at the memory"};
  prem_findings_chart(findings, &chart);
  chart.title = "Of the blocks' time: memory phases that could begin and wait for their turn";
  chart.y = "waiting";
  prem_findings_chart(findings, &chart);
}

static prem_status run_token(token_cost *cost, bool per_task, prem_diag *diag) {
  prem_convolutions all = cost->convolutions;
  all.capacity = 1;
  all.per_task = per_task;
  all.policy = per_task ? "phase_kernelwise" : "phase_blockwise";
  prem_measured measured;
  const prem_status status = prem_convolutions_run(&cost->request, &all, &measured, diag);
  for (int m = 0; m < MODE_COUNT && status == PREM_OK; ++m) {
    add_row(cost, per_task, m, &measured);
    cost->of_free[m] = (double)measured.outcomes[m].row->makespan_ns.p50 /
                       (double)measured.outcomes[0].row->makespan_ns.p50;
    cost->waiting_pct[m] = measured.outcomes[m].waiting_pct;
    if (modes[m] == PREM_MODE_LOCK)
      cost->handover_ns = measured.outcomes[m].handover.count > 0
                              ? (double)prem_times_at(&measured.outcomes[m].handover, 0.5)
                              : (double)NAN;
  }
  prem_measured_free(&measured);
  return status;
}

static void conclude(const token_cost *cost, prem_findings *findings) {
  char handover[64] = "No token was waited for.";
  if (!isnan(cost->handover_ns))
    snprintf(handover, sizeof handover, "Handing the token over takes %.0f ns.", cost->handover_ns);
  prem_findings_verdict(findings,
                        "Behind one token for all blocks the tiles take %.2f times as long as free "
                        "and wait %.0f %% of "
                        "the time; on time they take %.2f times as long and wait %.0f %%. %s",
                        cost->of_free[1], cost->waiting_pct[1], cost->of_free[2],
                        cost->waiting_pct[2], handover);
  prem_findings_note(findings,
                     "Waiting is measured from the instant at which a memory phase has its "
                     "data and its buffer until it begins.");
  prem_findings_note(findings, "On time every phase gets what 99 of 100 need alone, and runs are "
                               "planned from that; the token is passed on as soon as it can be.");
}

static void add_thesis(prem_findings *findings) {
  prem_table *table = prem_findings_table(
      findings, "thesis",
      "What the thesis reports of a token between CPU and GPU (GPUguard, MemGuard)", "thesis, TX2");
  prem_table_columns(table, "what; share of the run time [%]");
  prem_table_row(table, TEXT("synchronising, about"), INT(50));
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  int64_t done = 0;
  token_cost cost = {.request = {.context = context,
                                 .findings = findings,
                                 .mode_count = MODE_COUNT,
                                 .repeat = context->quick ? 50 : 100,
                                 .discard = 1,
                                 .task = -1,
                                 .done = &done},
                     .convolutions = prem_convolutions_of(context->machine, true),
                     .table = begin_table(findings)};
  for (int m = 0; m < MODE_COUNT; ++m)
    cost.request.modes[m] = modes[m];
  const bool has_blocks = cost.convolutions.blocks > 1;
  cost.request.all = 2 + has_blocks;
  const prem_convolutions single = prem_convolutions_alone(&cost.convolutions);
  prem_lengths alone;
  prem_status status = prem_convolutions_lengths(&cost.request, &single, &alone, diag);
  prem_convolutions_expect(&cost.convolutions, alone.planned);
  cost.convolutions.warmup_ns = prem_convolutions_warmup_ns(&cost.convolutions);
  if (status == PREM_OK && has_blocks)
    status = run_token(&cost, true, diag);
  if (status == PREM_OK)
    status = run_token(&cost, false, diag);
  add_charts(findings);
  add_thesis(findings);
  if (status == PREM_OK)
    conclude(&cost, findings);
  return status;
}

const prem_experiment prem_token_cost_experiment = {
    .name = "token_cost",
    .title = "What a token for the memory costs",
    .question =
        "What does keeping memory phases apart by a token cost, against a schedule and against "
        "no rule?",
    .backends = "cuda cpu",
    .run = run};
