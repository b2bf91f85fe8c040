/* SPDX-License-Identifier: Apache-2.0 */
#include "heat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttprem/findings.h>

#include "instants.h"

/* A map's columns at most: as many as can be told apart. */
enum { BINS = 24, GROUPS = 22, TASKS = 64 };

/* Sums over all frames, ns. */
typedef struct heat {
  const prem_schedule *schedule;
  const prem_trace *trace;
  int32_t first; /* hyperperiod that counts */
  int64_t frames;
  int64_t bin_ns;
  int32_t group_blocks, groups; /* blocks side by side share a column */
  double phase[TASKS][PREM_PHASE_COUNT], block[TASKS][GROUPS], bin[TASKS][BINS];
} heat;

static bool counts(const heat *of, const prem_trace_record *record) {
  return record->hyperperiod >= of->first && of->trace->epoch_ns[record->hyperperiod] >= 0;
}

/* From its hyperperiod's begin. */
static int64_t since_begin(const heat *of, const prem_trace_record *record, int64_t at_ns) {
  return at_ns - of->trace->epoch_ns[record->hyperperiod];
}

/* Frames, and until when 95 of 100 phases are over: what comes later is in the last bin. */
static prem_status measure_frames(heat *of) {
  instants ends = {0};
  prem_status status = PREM_OK;
  for (int64_t i = 0; i < of->trace->record_count && status == PREM_OK; ++i)
    if (counts(of, &of->trace->records[i])) {
      const prem_trace_record *record = &of->trace->records[i];
      status = instants_add(&ends, since_begin(of, record, record->end_ns));
      if (record->hyperperiod - of->first + 1 > of->frames)
        of->frames = record->hyperperiod - of->first + 1;
    }
  instants_sort(&ends);
  const int64_t longest_ns = instants_at(&ends, 0.95);
  of->bin_ns = longest_ns / BINS + 1;
  if (status == PREM_OK && (ends.count == 0 || longest_ns <= 0))
    status = PREM_ERR_ARGUMENT;
  instants_free(&ends);
  return status;
}

/* A phase's share of each bin that it lies in; what lies behind the last one counts there. */
static void add_to_bins(heat *of, const prem_trace_record *record) {
  int64_t at_ns = since_begin(of, record, record->start_ns);
  const int64_t end_ns = since_begin(of, record, record->end_ns);
  at_ns = at_ns < 0 ? 0 : at_ns;
  while (at_ns < end_ns) {
    const int64_t bin = at_ns / of->bin_ns < BINS - 1 ? at_ns / of->bin_ns : BINS - 1;
    const int64_t next_ns = bin == BINS - 1 ? end_ns : (bin + 1) * of->bin_ns;
    const int64_t until_ns = next_ns < end_ns ? next_ns : end_ns;
    of->bin[record->task][bin] += (double)(until_ns - at_ns);
    at_ns = until_ns;
  }
}

static prem_status add_all(heat *of) {
  const int32_t blocks = of->schedule->platform.blocks;
  of->first = of->trace->hyperperiods > 1 ? 1 : 0;
  of->group_blocks = (blocks + GROUPS - 1) / GROUPS;
  of->groups = (blocks + of->group_blocks - 1) / of->group_blocks;
  const prem_status status =
      of->schedule->task_count <= TASKS ? measure_frames(of) : PREM_ERR_ARGUMENT;
  for (int64_t i = 0; i < of->trace->record_count && status == PREM_OK; ++i) {
    const prem_trace_record *record = &of->trace->records[i];
    if (!counts(of, record))
      continue;
    const double ns = (double)(record->end_ns - record->start_ns);
    of->phase[record->task][record->phase] += ns;
    of->block[record->task][record->block / of->group_blocks] += ns;
    add_to_bins(of, record);
  }
  return status;
}

/* ---- findings ---- */

typedef struct map {
  const char *name, *title, *column, *value, *unit;
} map;

static prem_table *begin_map(prem_findings *findings, const map *of) {
  prem_table *table = prem_findings_table(findings, of->name, of->title, NULL);
  prem_table_column(table, "task", "");
  prem_table_column(table, of->column, "");
  prem_table_column(table, of->value, of->unit);
  const prem_chart chart = {.kind = PREM_CHART_HEAT_MAP,
                            .title = of->title,
                            .table = of->name,
                            .x = of->column,
                            .y = of->value,
                            .series = "task"};
  prem_findings_chart(findings, &chart);
  return table;
}

static void add_cell(prem_table *table, const char *task, const char *column, double value) {
  prem_table_add_text(table, task);
  prem_table_add_text(table, column);
  prem_table_add_real(table, value);
}

/* Three digits. */
static double rounded(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.3g", value);
  return strtod(text, NULL);
}

static void tell_phases(const heat *of, prem_findings *findings) {
  static const map all = {"phases", "Tasks and phases: time a frame, all blocks together", "phase",
                          "time", "us"};
  prem_table *table = begin_map(findings, &all);
  for (int32_t t = 0; t < of->schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      add_cell(table, of->schedule->tasks[t].name, prem_phase_name((prem_phase)p),
               rounded(of->phase[t][p] / (double)of->frames / 1e3));
}

static void tell_blocks(const heat *of, prem_findings *findings) {
  static const map all = {"blocks", "Tasks and blocks: time a frame, a block's", "blocks",
                          "time of a block", "us"};
  prem_table *table = begin_map(findings, &all);
  const int32_t blocks = of->schedule->platform.blocks, wide = of->group_blocks;
  for (int32_t t = 0; t < of->schedule->task_count; ++t)
    for (int32_t g = 0; g < of->groups; ++g) {
      const int32_t first = g * wide, last = first + wide < blocks ? first + wide - 1 : blocks - 1;
      char name[32];
      snprintf(name, sizeof name, first < last ? "%" PRId32 "-%" PRId32 : "%" PRId32, first, last);
      add_cell(table, of->schedule->tasks[t].name, name,
               rounded(of->block[t][g] / (double)of->frames / (last - first + 1) / 1e3));
    }
}

static void tell_bins(const heat *of, prem_findings *findings) {
  static const map all = {"times",
                          "Tasks and time since a frame's begin: share of the blocks at it",
                          "from, ms", "busy", "%"};
  prem_table *table = begin_map(findings, &all);
  const double whole = (double)of->frames * (double)of->bin_ns * of->schedule->platform.blocks;
  for (int32_t t = 0; t < of->schedule->task_count; ++t)
    for (int b = 0; b < BINS; ++b) {
      char name[32];
      snprintf(name, sizeof name, "%.3g", (double)(b * of->bin_ns) / 1e6);
      add_cell(table, of->schedule->tasks[t].name, name, round(of->bin[t][b] / whole * 1000) / 10);
    }
}

static void tell_verdict(const heat *of, prem_findings *findings) {
  double all = 0, most = 0, memory = 0;
  int32_t hottest = 0;
  for (int32_t t = 0; t < of->schedule->task_count; ++t) {
    double sum = 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      sum += of->phase[t][p];
    memory += sum - of->phase[t][PREM_COMPUTE];
    all += sum;
    if (sum > most) {
      most = sum;
      hottest = t;
    }
  }
  prem_findings_verdict(findings,
                        "A frame's phases take %.2f ms, all blocks together: %.0f %% of it memory "
                        "phases, %.0f %% of it all phases of %s.",
                        all / (double)of->frames / 1e6, memory / all * 100, most / all * 100,
                        of->schedule->tasks[hottest].name);
  prem_findings_note(findings,
                     "%" PRId64 " frames on %" PRId32 " blocks. Memory phases of a block run "
                     "beside its computing, so a block can be busy twice at a time.",
                     of->frames, of->schedule->platform.blocks);
}

prem_status heat_write(const prem_schedule *schedule, const prem_trace *trace,
                       const prem_machine *machine, const char *command, const char *json,
                       const char *svg, const volatile sig_atomic_t *stop, prem_diag *diag) {
  heat *of = calloc(1, sizeof *of);
  prem_findings *findings =
      prem_findings_new("tracker_heat", "Where a frame's time goes",
                        "Which tasks and phases take a frame's time, on which blocks, and when?");
  prem_status status = of && findings ? PREM_OK : PREM_ERR_MEMORY;
  if (status == PREM_OK) {
    of->schedule = schedule;
    of->trace = trace;
    status = add_all(of);
    if (status == PREM_ERR_ARGUMENT)
      prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "--heat", "no phase was recorded");
  }
  if (status == PREM_OK) {
    tell_verdict(of, findings);
    tell_phases(of, findings);
    tell_blocks(of, findings);
    tell_bins(of, findings);
    status = prem_findings_write(findings, machine, command, json, diag);
  }
  if (status == PREM_OK)
    status = prem_findings_draw(findings, svg, stop, diag);
  prem_findings_free(findings);
  free(of);
  return status;
}
