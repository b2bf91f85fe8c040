/* SPDX-License-Identifier: Apache-2.0 */
#include "experiments/live/ways/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/originals.h"
#include "prem/base/clock.h"
#include "prem/base/random.h"
#include "report/findings/tables.h"

enum { STAMPED_PART = 4 /* so many times fewer turns are stamped than not */ };

void prem_way_rows_add(prem_way_rows *rows, const prem_way_setup *setup, const char *suffix) {
  if (!rows->rows)
    rows->rows = calloc(PREM_MAX_WAY_ROWS, sizeof *rows->rows);
  if (!rows->rows || rows->count == PREM_MAX_WAY_ROWS)
    return;
  prem_way_row *row = &rows->rows[rows->count++];
  row->setup = *setup;
  snprintf(row->name, sizeof row->name, "%s%s", prem_way_name(setup->way), suffix);
}

void prem_way_rows_add_work(prem_way_rows *rows, bool is_gpu, prem_way_setup setup) {
  if (setup.way == PREM_WAY_LIVE)
    setup.threads = is_gpu ? PREM_WAY_LIVE_THREADS : 1;
  setup.mode = PREM_MODE_FREE;
  prem_way_rows_add(rows, &setup, "");
}

void prem_way_samples_free(prem_way_samples *samples) {
  free(samples->response_ns);
  free(samples->whole_ns);
  free(samples->device_ns);
  free(samples->store_ns);
  free(samples->load_ns);
  free(samples->store_again_ns);
  free(samples->load_again_ns);
  *samples = (prem_way_samples){0};
}

static int64_t *times_of(int64_t room) {
  return calloc((size_t)room, sizeof(int64_t));
}

bool prem_way_samples_make(int64_t room, bool twice, prem_way_samples *out) {
  *out = (prem_way_samples){.room = room,
                            .response_ns = times_of(room),
                            .whole_ns = times_of(room),
                            .device_ns = times_of(room)};
  if (!twice)
    return out->response_ns && out->whole_ns && out->device_ns;
  out->store_ns = times_of(room);
  out->load_ns = times_of(room);
  out->store_again_ns = times_of(room);
  out->load_again_ns = times_of(room);
  return out->response_ns && out->whole_ns && out->device_ns && out->store_ns && out->load_ns &&
         out->store_again_ns && out->load_again_ns;
}

void prem_way_rows_free(prem_way_rows *rows) {
  for (int32_t r = 0; r < rows->count; ++r)
    prem_way_samples_free(&rows->rows[r].samples);
  free(rows->rows);
  rows->rows = NULL;
  rows->count = 0;
}

static bool make_room(prem_way_rows *rows) {
  for (int32_t r = 0; r < rows->count; ++r)
    if (!prem_way_samples_make(rows->turns, rows->twice, &rows->rows[r].samples))
      return false;
  return rows->rows != NULL;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Why a row cannot be: what was said last. */
static void leave_out(prem_way_row *row, prem_status status, const prem_diag *diag) {
  const size_t count = prem_diag_count(diag);
  snprintf(row->left_out, sizeof row->left_out, "%s",
           count > 0 ? prem_diag_at(diag, count - 1)->reason : prem_status_text(status));
}

/* A failure of one way is no reason to end, as long as the machine still works. */
static bool ends_all(const prem_experiment_context *context, prem_status status) {
  if (status == PREM_ERR_MEMORY)
    return true;
  return status == PREM_ERR_MACHINE && prem_is_gpu(context->backend) && !prem_gpu_way_lives();
}

static prem_status measure_part(const prem_experiment_context *context, prem_way_row *row,
                                const prem_way_turns *turns, prem_diag *diag) {
  prem_diag *of_row = prem_diag_new();
  if (!of_row)
    return PREM_ERR_MEMORY;
  const prem_status status = prem_way_run(context, &row->setup, turns, &row->samples, of_row);
  prem_status result = PREM_OK;
  if (status != PREM_OK) {
    leave_out(row, status, of_row);
    if (ends_all(context, status)) {
      prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "", "%s", row->left_out);
      result = status;
    }
  }
  prem_diag_free(of_row);
  return result;
}

/* In virtual time all turns are had, so that it gives the same numbers every time. */
static prem_status measure_row(const prem_experiment_context *context, const prem_way_rows *rows,
                               prem_way_row *row, int64_t row_ns, prem_diag *diag) {
  const int64_t now_ns = prem_host_clock_ns(), turns = rows->turns / rows->rounds;
  prem_way_turns part = {.warm_up = rows->warm_up,
                         .count = turns > 0 ? turns : 1,
                         .end_ns = prem_is_sim(context->backend)
                                       ? INT64_MAX
                                       : now_ns + row_ns / STAMPED_PART * (STAMPED_PART - 1),
                         .twice = rows->twice,
                         .stop = context->stop};
  prem_status status = measure_part(context, row, &part, diag);
  if (row->setup.way == PREM_WAY_LIVE || status != PREM_OK || *row->left_out)
    return status;
  part.stamped = true;
  part.end_ns = now_ns + row_ns;
  part.count = turns / STAMPED_PART > 0 ? turns / STAMPED_PART : 1;
  return measure_part(context, row, &part, diag);
}

static prem_status measure_round(const prem_experiment_context *context, prem_way_rows *rows,
                                 int32_t round, int64_t end_ns, uint64_t *dice, prem_diag *diag) {
  int32_t order[PREM_MAX_WAY_ROWS];
  prem_status status = PREM_OK;
  for (int32_t r = 0; r < rows->count; ++r)
    order[r] = r;
  prem_shuffle(order, rows->count, dice);
  for (int32_t r = 0; r < rows->count && status == PREM_OK; ++r) {
    const int64_t done = (int64_t)round * rows->count + r,
                  all = (int64_t)rows->rounds * rows->count;
    const int64_t left_ns = end_ns - prem_host_clock_ns();
    prem_way_row *row = &rows->rows[order[r]];
    if (prem_experiment_stopped(context))
      return PREM_ERR_INTERRUPTED;
    if (!*row->left_out)
      status = measure_row(context, rows, row, (left_ns > 0 ? left_ns : 0) / (all - done), diag);
    prem_experiment_progress(context, done + 1, all);
  }
  return status;
}

static void conclude(prem_way_rows *rows, prem_findings *findings) {
  for (int32_t r = 0; r < rows->count; ++r) {
    prem_way_row *row = &rows->rows[r];
    prem_summarise(row->samples.response_ns, row->samples.count, &row->response);
    prem_summarise(row->samples.whole_ns, row->samples.count, &row->whole);
    prem_summarise(row->samples.device_ns, row->samples.device_count, &row->device);
    if (row->samples.count + row->samples.device_count > 0)
      prem_findings_output(findings, row->samples.wrong == 0);
    if (row->samples.wrong > 0)
      prem_findings_note(findings,
                         "%s, %" PRId32 " x %" PRId32 ": %" PRId64 " turns gave wrong outputs.",
                         row->name, row->setup.blocks, row->setup.threads, row->samples.wrong);
  }
}

prem_status prem_way_rows_measure(const prem_experiment_context *context, prem_way_rows *rows,
                                  prem_findings *findings, prem_diag *diag) {
  if (!make_room(rows))
    return PREM_ERR_MEMORY;
  uint64_t dice = context->seed;
  const int64_t end_ns = prem_host_clock_ns() + rows->budget_ns;
  prem_status status = PREM_OK;
  for (int32_t round = 0; round < rows->rounds && status == PREM_OK; ++round)
    status = measure_round(context, rows, round, end_ns, &dice, diag);
  conclude(rows, findings);
  return status;
}

/* ---- telling --------------------------------------------------------------------------------- */

const prem_way_row *prem_way_rows_find(const prem_way_rows *rows, prem_way way, int32_t blocks,
                                       int32_t threads) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    if (row->setup.way == way && row->setup.blocks == blocks && row->setup.threads == threads &&
        row->response.count > 0)
      return row;
  }
  return NULL;
}

void prem_way_columns(prem_table *table) {
  prem_table_columns(table, "count; p50 [ns]; p99 [ns]; p99.9 [ns]; p99.99 [ns]; largest [ns]; "
                            "mean [ns]; max - mean [ns]; device p50 [ns]; device p99 [ns]; device "
                            "largest [ns]; device max - min [ns]; to and fro p50 [ns]");
}

void prem_way_cells(prem_table *table, const prem_way_row *row) {
  const prem_summary *host = &row->response, *gpu = &row->device;
  const bool any = host->count > 0, stamped = gpu->count > 0;
  prem_table_row(table, INT(host->count), INT_IF(any, host->p50), KNOWN(host->p99),
                 KNOWN(host->p999), KNOWN(host->p9999), INT_IF(any, host->max),
                 REAL_IF(any, host->mean), REAL_IF(any, (double)host->max - host->mean),
                 INT_IF(stamped, gpu->p50), KNOWN(gpu->p99), INT_IF(stamped, gpu->max),
                 INT_IF(stamped, gpu->max - gpu->min),
                 INT_IF(any && stamped, host->p50 - gpu->p50));
}

/* Rows of one reason are told together. */
void prem_way_tell_left_out(const prem_way_rows *rows, prem_findings *findings) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const char *reason = rows->rows[r].left_out;
    int32_t same = 0, before = 0;
    for (int32_t other = 0; other < rows->count && *reason; ++other)
      if (strcmp(rows->rows[other].left_out, reason) == 0) {
        ++same;
        before += other < r;
      }
    if (same > 0 && before == 0)
      prem_findings_note(findings,
                         "%" PRId32 " row%s left out, the first of them '%s' with %" PRId32
                         " x %" PRId32 " threads: %s.",
                         same, same == 1 ? " is" : "s are", rows->rows[r].name,
                         rows->rows[r].setup.blocks, rows->rows[r].setup.threads, reason);
  }
}

/* ---- turns with work ------------------------------------------------------------------------- */

prem_table *prem_way_works_begin(prem_findings *findings, const char *name, const char *title) {
  prem_table *table =
      prem_table_begin(findings, name, title, NULL, "work; size; way; memory; blocks; threads");
  prem_way_columns(table);
  prem_table_columns(table, "whole p50 [ns]; whole p99 [ns]; whole largest [ns]");
  return table;
}

/* A live session moves its frames as its backend does. */
static const char *memory_of(const prem_way_row *row) {
  return row->setup.way == PREM_WAY_LIVE ? "its own" : prem_way_memory_name(row->setup.memory);
}

static void tell_work(const prem_way_row *row, prem_table *table) {
  prem_table_row(table, TEXT(prem_work_name(row->setup.work)), INT(row->setup.size),
                 TEXT(row->name), TEXT(memory_of(row)), INT(row->setup.blocks),
                 INT(row->setup.threads));
  prem_way_cells(table, row);
  prem_table_row(table, INT(row->whole.p50), KNOWN(row->whole.p99), INT(row->whole.max));
}

static void tell_median(const prem_way_row *row, prem_table *table) {
  char what[64], who[128];
  snprintf(what, sizeof what, "%s %" PRId32, prem_work_name(row->setup.work), row->setup.size);
  snprintf(who, sizeof who, "%s, %s, %" PRId32 " blocks", row->name, memory_of(row),
           row->setup.blocks);
  prem_table_row(table, TEXT(what), TEXT(who), INT(row->response.p50));
}

void prem_way_works_tell(const prem_way_rows *rows, prem_table *table, prem_findings *findings) {
  prem_table *medians =
      prem_table_begin(findings, "medians", "Medians by work", NULL, "what; row; median [ns]");
  for (int32_t r = 0; r < rows->count; ++r) {
    if (rows->rows[r].response.count == 0)
      continue;
    tell_work(&rows->rows[r], table);
    tell_median(&rows->rows[r], medians);
  }
  prem_chart_add(findings, PREM_CHART_BARS, "medians",
                 "Median from the start to outputs that can be read", "what", "median", "row",
                 PREM_LOG_Y);
}

void prem_way_works_explain(prem_findings *findings) {
  prem_findings_note(
      findings, "Times are from the start to outputs that can be read, copies included; `whole` "
                "ones also have the host's stores into inputs and loads from outputs.");
  prem_findings_note(findings, "Columns that begin with `device` are by the GPU's clock (on cpu "
                               "and sim the executive's), from the first block's begin to the last "
                               "block's end, without copies by copy engines but for live events.");
}

prem_way_rows prem_way_rows_make(const prem_experiment_context *context,
                                 const prem_way_effort *effort) {
  const bool is_gpu = prem_is_gpu(context->backend);
  if (context->quick)
    return (prem_way_rows){.turns = effort->quick_turns,
                           .warm_up = effort->quick_warm_up,
                           .rounds = 2,
                           .budget_ns = effort->quick_budget_s * 1000000000};
  return (prem_way_rows){.turns = is_gpu ? effort->turns : effort->cpu_turns,
                         .warm_up = effort->warm_up,
                         .rounds = 4,
                         .budget_ns = effort->budget_s * 1000000000};
}

prem_status prem_way_study_run(const prem_way_study *study, const prem_experiment_context *context,
                               prem_findings *findings, prem_diag *diag) {
  prem_way_rows rows = prem_way_rows_make(context, &study->effort);
  prem_table *table = prem_way_works_begin(findings, study->table, study->title);
  prem_original_add(findings, study->original, "original");
  study->add_rows(&rows, context);
  const prem_status status = prem_way_rows_measure(context, &rows, findings, diag);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    prem_way_works_tell(&rows, table, findings);
    study->tell_verdict(&rows, findings);
    prem_way_works_explain(findings);
    prem_findings_note(findings, "%s", study->note);
    prem_way_tell_left_out(&rows, findings);
  }
  prem_way_rows_free(&rows);
  return status;
}
