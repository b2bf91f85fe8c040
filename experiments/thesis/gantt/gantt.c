/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks and their phases over time, by SM: the thesis's Fig 4.7. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "experiments/common/scenario.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/original/originals.h"
#include "prem/base/numbers.h"

enum { FIRST_TILE = 1, SHOWN_TILES = 3, MAX_BLOCKS = 64, ATTEMPTS = 20 };

/** The thesis's 1400 ns, against the 1200 at which its curve bends. */
static const double of_knee = 1400.0 / 1200.0;

typedef struct lanes {
  const prem_convolutions *convolutions;
  int64_t begin_ns; /* of the excerpt; times count from it */
} lanes;

/* Lanes of an SM stand together, an empty one between two SMs: block b is on SM b % sms. */
static int32_t lane_of(const lanes *at, const prem_trace_record *record) {
  const int32_t sms = at->convolutions->sms;
  return sms ? record->block % sms * (at->convolutions->kernels + 1) + record->task : record->block;
}

static prem_table *begin_table(prem_findings *findings, const char *name, const char *title,
                               const char *series, const char *unit, const char *beside) {
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_column(table, series, "");
  prem_table_column(table, "time", unit);
  prem_table_column(table, "lane", "");
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_LINES,
                                              .title = title,
                                              .table = name,
                                              .x = "time",
                                              .y = "lane",
                                              .series = series,
                                              .beside = beside});
  return table;
}

/* From one time to the other, and no line to the next. */
static void add_span(prem_table *table, const char *series, double from, double to, int32_t lane) {
  const double times[] = {from, to, (double)NAN};
  for (int i = 0; i < 3; ++i) {
    prem_table_row(table, TEXT(series), REAL(times[i]), REAL(i < 2 ? (double)lane : (double)NAN));
  }
}

static void add_blocks(prem_findings *findings, const lanes *at, const prem_trace *trace) {
  int64_t first_ns[MAX_BLOCKS], last_ns[MAX_BLOCKS];
  int32_t lane[MAX_BLOCKS], place[MAX_BLOCKS];
  bool seen[MAX_BLOCKS] = {false};
  prem_table *table =
      begin_table(findings, "blocks", "Fig 4.7: blocks of a run over time, lanes by SM",
                  "blocks of", "us", NULL);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (record->block >= MAX_BLOCKS)
      continue;
    const int32_t b = record->block;
    if (!seen[b] || record->start_ns < first_ns[b])
      first_ns[b] = record->start_ns;
    if (!seen[b] || record->end_ns > last_ns[b])
      last_ns[b] = record->end_ns;
    seen[b] = true;
    lane[b] = lane_of(at, record);
    place[b] = at->convolutions->sms ? b % at->convolutions->sms : b;
  }
  for (int32_t b = 0; b < MAX_BLOCKS; ++b)
    if (seen[b]) {
      char name[32];
      snprintf(name, sizeof name, "%s %" PRId32, at->convolutions->sms ? "SM" : "core", place[b]);
      add_span(table, name, (double)first_ns[b] / 1e3, (double)last_ns[b] / 1e3, lane[b]);
    }
}

static void add_phases(prem_findings *findings, lanes *at, const prem_trace *trace) {
  prem_table *table =
      begin_table(findings, "phases", "Fig 4.7: phases of the first tiles after the warm-up",
                  "phase", "us", prem_original_add(findings, "fig_4_7"));
  at->begin_ns = INT64_MAX;
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (!(trace->records[i].flags & PREM_SLOT_WARMUP) && trace->records[i].start_ns < at->begin_ns)
      at->begin_ns = trace->records[i].start_ns;
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    for (int64_t i = 0; i < trace->record_count; ++i) {
      const prem_trace_record *record = &trace->records[i];
      const int32_t tile = record->tile / at->convolutions->blocks;
      if (record->phase == phase && tile >= FIRST_TILE && tile < FIRST_TILE + SHOWN_TILES)
        add_span(table, prem_phase_name((prem_phase)phase),
                 (double)(record->start_ns - at->begin_ns) / 1e3,
                 (double)(record->end_ns - at->begin_ns) / 1e3, lane_of(at, record));
    }
}

static prem_status find_offset(const prem_scenario_request *request,
                               prem_convolutions *convolutions, prem_diag *diag) {
  const prem_convolutions single = prem_convolutions_alone(convolutions);
  prem_lengths alone;
  prem_status status = prem_convolutions_lengths(request, &single, &alone, diag);
  if (status != PREM_OK)
    return status;
  prem_convolutions_expect(convolutions, alone.typical);
  convolutions->warmup_ns = prem_convolutions_warmup_ns(convolutions);
  prem_scenario_request running_free = *request;
  running_free.modes[0] = PREM_MODE_FREE;
  prem_measured measured;
  status = prem_convolutions_run(&running_free, convolutions, &measured, diag);
  if (status == PREM_OK) {
    const double tile_ns = (double)measured.outcomes[0].row->makespan_ns.p50 /
                           (double)prem_convolutions_tiles(convolutions);
    convolutions->prefetch_offset_ns = prem_round_up(
        (int64_t)(of_knee * tile_ns / convolutions->kernels), convolutions->clock_step_ns);
  }
  prem_measured_free(&measured);
  return status;
}

static void tell(prem_findings *findings, const prem_convolutions *convolutions,
                 const prem_row *row) {
  prem_findings_verdict(
      findings,
      "%" PRId32 " blocks%s, kernels %" PRId64
      " ns apart, are done after %.1f us (plan kept by %.1f %% of the releases).",
      convolutions->kernels * convolutions->blocks, convolutions->sms ? " on two SMs" : "",
      convolutions->prefetch_offset_ns, (double)row->makespan_ns.p50 / 1e3,
      row->releases ? 100.0 - 100.0 * (double)row->late_releases / (double)row->releases : 0.0);
  prem_findings_note(findings,
                     "Original: 8 blocks of four kernels, 1400 ns apart, 2.8 ms on two SMs. A lane "
                     "is a block, those of an SM stand together; the first run that counted is "
                     "shown.");
}

/* On a busy machine the system may interrupt all of a few runs, and none is fit to be shown. */
static prem_status find_example(const prem_scenario_request *request,
                                const prem_convolutions *convolutions, prem_measured *out,
                                prem_diag *diag) {
  prem_status status = prem_convolutions_run(request, convolutions, out, diag);
  for (int attempt = 1; attempt < ATTEMPTS && status == PREM_OK && !out->outcomes[0].row->example;
       ++attempt) {
    prem_measured_free(out);
    --*request->done;
    status = prem_convolutions_run(request, convolutions, out, diag);
  }
  return status;
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  int64_t done = 0;
  prem_scenario_request request = {.context = context,
                                   .findings = findings,
                                   .modes = {PREM_MODE_TT},
                                   .mode_count = 1,
                                   .repeat = 10,
                                   .discard = 1,
                                   .task = -1,
                                   .done = &done,
                                   .all = 3};
  prem_convolutions convolutions = prem_convolutions_of(context->machine, context->quick);
  prem_status status = find_offset(&request, &convolutions, diag);
  if (status != PREM_OK)
    return status;
  prem_measured measured;
  status = find_example(&request, &convolutions, &measured, diag);
  if (status == PREM_OK && measured.outcomes[0].row->example) {
    lanes at = {.convolutions = &convolutions};
    add_blocks(findings, &at, measured.outcomes[0].row->example);
    add_phases(findings, &at, measured.outcomes[0].row->example);
    tell(findings, &convolutions, measured.outcomes[0].row);
  } else if (status == PREM_OK) {
    prem_findings_verdict(findings, "The system interrupted every run; there is none to show.");
  }
  prem_measured_free(&measured);
  return status;
}

const prem_experiment prem_gantt_experiment = {
    .name = "gantt",
    .title = "Blocks and phases over time, by SM",
    .question = "Where and when do the blocks of four kernels run, whole tiles on time?",
    .backends = "cuda cpu",
    .run = run};
