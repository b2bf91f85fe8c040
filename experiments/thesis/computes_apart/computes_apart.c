/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thesis's open question: what if computes that share an SM are kept apart, and not only those
 * that share the memory?
 *
 * Every kernel has one block on each SM, and its blocks start together. So a resource that computes
 * hold, counted by kernels and of capacity 1, lets one compute at a time on each SM. The planner
 * needs to know nothing of SMs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "prem/base/numbers.h"

/** Kernels at once; 0: as many as there are. */
typedef struct rule {
  const char *name;
  int32_t memory, computes;
} rule;

static const rule rules[] = {{"nothing apart", 0, 0},
                             {"memory phases apart", 1, 0},
                             {"computes of an SM apart", 0, 1},
                             {"both apart", 1, 1}};
enum { RULES = sizeof rules / sizeof *rules };

typedef struct rule_study {
  prem_scenario_request request;
  prem_convolutions convolutions; /* planned with what phases take with co-runners */
  prem_table *runs, *phases;
  double compute_us[RULES + 1], spread_us[RULES + 1], run_us[RULES + 1]; /* the first runs free */
} rule_study;

static char *schedule_text(const prem_convolutions *all, const rule *apart) {
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  if (!file)
    return NULL;
  const int32_t many = all->kernels;
  fputs("version = 1;\nname = \"computes_apart\";\nplatform: { ", file);
  if (all->sms)
    fprintf(file, "sms = %" PRId32 "; blocks_per_sm = %" PRId32 "; block_threads = %" PRId32 ";",
            all->sms, all->blocks_per_sm, all->block_threads);
  else
    fprintf(file, "blocks = %" PRId32 ";", all->kernels * all->blocks);
  fprintf(file,
          " buffers = 1; clock_step_ns = %" PRId64 "L; late_ns = %" PRId64 "L;\n"
          "  resources = ( { name = \"memory\"; capacity = %" PRId32 "; per = \"task\"; },\n"
          "    { name = \"computes_of_sm\"; capacity = %" PRId32 "; per = \"task\"; } ); };\n",
          all->clock_step_ns, all->late_ns, apart->memory ? apart->memory : many,
          apart->computes ? apart->computes : many);
  fprintf(file,
          "arrays = ( { name = \"image\"; type = \"f32\"; shape = [ %" PRId32 ", %" PRId32
          " ]; fill = \"random\"; seed = 7; } );\n",
          all->rows + 2, all->columns + 2);
  fprintf(file,
          "tasks = ( { name = \"conv\"; copies = %" PRId32
          "; kernel = \"conv2d\"; blocks = %" PRId32 "; together = true;\n  tile = [ %" PRId32
          ", %" PRId32 " ]; arrays: { in = \"image\"; out = \"new\"; };\n",
          all->kernels, all->blocks, all->tile_rows, all->tile_columns);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    fprintf(file, "  %s: { wcet_ns = %" PRId64 "L;%s };\n", prem_phase_name((prem_phase)p),
            all->wcet_ns[p], p == PREM_COMPUTE ? " demand: { computes_of_sm = 1; };" : "");
  fprintf(file, "} );\npolicy: { use = \"auto\"; warmup_tiles = 1; warmup_ns = %" PRId64 "L; };\n",
          all->warmup_ns);
  const bool whole = !ferror(file);
  if (fclose(file) == 0 && whole)
    return text;
  free(text);
  return NULL;
}

/* ---- tables --------------------------------------------------------------------------------- */

static void begin_tables(rule_study *study) {
  prem_findings *findings = study->request.findings;
  study->runs =
      prem_findings_table(findings, "runs", "What is kept apart, and what it costs", NULL);
  prem_table_columns(study->runs,
                     "apart; mean [us]; jitter [%]; late releases [%]; planned [us]; runs");
  study->phases = prem_findings_table(findings, "phases", "Phases by what is kept apart", NULL);
  prem_table_columns(
      study->phases,
      "apart; phase; mean [us]; median [us]; p5 [us]; p95 [us]; p95 - p5 [us]; longest [us]");
  prem_chart chart = {.kind = PREM_CHART_BARS,
                      .title = "Phases: median, and 90 % of all",
                      .table = "phases",
                      .x = "apart",
                      .y = "median",
                      .low = "p5",
                      .high = "p95",
                      .series = "phase"};
  prem_findings_chart(findings, &chart);
  chart = (prem_chart){.kind = PREM_CHART_BARS,
                       .title = "Time of a run, mean",
                       .table = "runs",
                       .x = "apart",
                       .y = "mean"};
  prem_findings_chart(findings, &chart);
  chart.title = "Longest - shortest run, of the mean";
  chart.y = "jitter";
  prem_findings_chart(findings, &chart);
}

static void add_rows(rule_study *study, int place, const char *name, const prem_measured *measured,
                     const prem_outcome *outcome) {
  const prem_row *row = outcome->row;
  const bool timed = row->releases > 0;
  const bool any = row->samples > 0; /* on a CPU all may have been interrupted */
  prem_table_row(
      study->runs, TEXT(name), REAL(any ? row->makespan_ns.mean / 1e3 : (double)NAN),
      REAL(any ? row->jitter_pct : (double)NAN),
      REAL(timed ? 100.0 * (double)row->late_releases / (double)row->releases : (double)NAN),
      REAL(timed ? (double)measured->result->hyperperiod_ns / 1e3 : (double)NAN),
      INT(row->samples));
  study->run_us[place] = row->makespan_ns.mean / 1e3;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const prem_times *times = &outcome->phase[p];
    const double p5 = (double)prem_times_at(times, 0.05) / 1e3;
    const double p95 = (double)prem_times_at(times, 0.95) / 1e3;
    const double mean = times->count ? times->sum_ns / (double)times->count / 1e3 : (double)NAN;
    prem_table_row(study->phases, TEXT(name), TEXT(prem_phase_name((prem_phase)p)), REAL(mean),
                   REAL((double)prem_times_at(times, 0.5) / 1e3), REAL(p5), REAL(p95),
                   REAL(p95 - p5), REAL((double)times->max_ns / 1e3));
    if (p == PREM_COMPUTE) {
      study->compute_us[place] = mean;
      study->spread_us[place] = p95 - p5;
    }
  }
}

/* ---- measuring ------------------------------------------------------------------------------ */

static prem_status find_lengths(rule_study *study, prem_diag *diag) {
  prem_convolutions *all = &study->convolutions;
  prem_lengths corunners;
  const prem_status status = prem_convolutions_lengths(&study->request, all, &corunners, diag);
  if (status != PREM_OK)
    return status;
  prem_convolutions_expect(all, corunners.planned);
  all->warmup_ns = prem_convolutions_warmup_ns(all);
  return PREM_OK;
}

static prem_status run_rule(rule_study *study, int number, prem_diag *diag) {
  char *text = schedule_text(&study->convolutions, &rules[number]);
  prem_scenario_request request = study->request;
  request.text = text;
  int32_t modes = 0;
  if (number == 0)
    request.modes[modes++] = PREM_MODE_FREE;
  request.modes[modes++] = PREM_MODE_TT;
  request.mode_count = modes;
  prem_measured measured = {0};
  const prem_status status = text ? prem_scenario_run(&request, &measured, diag) : PREM_ERR_MEMORY;
  if (status == PREM_OK && number == 0)
    add_rows(study, 0, "free", &measured, &measured.outcomes[0]);
  if (status == PREM_OK)
    add_rows(study, 1 + number, rules[number].name, &measured, &measured.outcomes[modes - 1]);
  prem_measured_free(&measured);
  free(text);
  return status;
}

static void tell(const rule_study *study) {
  prem_findings_verdict(
      study->request.findings,
      "A compute takes %.2f us (mean; p95 - p5 %.2f us) where the memory phases of kernels are "
      "apart, %.2f (%.2f) where computes of an SM are, %.2f (%.2f) where both are, %.2f (%.2f) "
      "free; a run %.1f, %.1f, %.1f and %.1f us.",
      study->compute_us[2], study->spread_us[2], study->compute_us[3], study->spread_us[3],
      study->compute_us[4], study->spread_us[4], study->compute_us[0], study->spread_us[0],
      study->run_us[2], study->run_us[3], study->run_us[4], study->run_us[0]);
  prem_findings_note(study->request.findings,
                     "Original: it concludes that computes are disturbed by computes, and leaves "
                     "open whether to keep them apart. It has no numbers of that.");
  prem_findings_note(study->request.findings,
                     "Each kernel has a block on each SM: a resource of capacity 1 that computes "
                     "hold, counted by kernels, keeps one compute at a time on an SM. "
                     "schedules/figures/thesis_computes_apart.cfg is such a plan.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  int64_t done = 0;
  rule_study study = {.request = {.context = context,
                                  .findings = findings,
                                  .repeat = context->quick ? 20 : 200,
                                  .discard = 1,
                                  .task = -1,
                                  .done = &done,
                                  .all = 1 + RULES},
                      .convolutions = prem_convolutions_of(context->machine, true)};
  begin_tables(&study);
  prem_status status = find_lengths(&study, diag);
  for (int i = 0; i < RULES && status == PREM_OK; ++i)
    status = run_rule(&study, i, diag);
  if (status == PREM_OK)
    tell(&study);
  return status;
}

const prem_experiment prem_computes_apart_experiment = {
    .name = "computes_apart",
    .title = "Computes of one SM kept apart",
    .question = "Does it make phases shorter or steadier to keep the computes of an SM apart?",
    .backends = "cuda cpu",
    .run = run};
