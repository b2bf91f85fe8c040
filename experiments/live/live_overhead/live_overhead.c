/* SPDX-License-Identifier: Apache-2.0 */
/* What starting and waiting cost, with nothing to do, by ways, blocks and threads. */
#include <inttypes.h>

#include "experiments/common/originals.h"
#include "experiments/live/ways/rows.h"
#include "report/findings/tables.h"

enum {
  THREADS = 256, /* where blocks are compared */
  PAYLOAD = 16   /* floats */
};

#define GPU_PACE_NS INT64_C(20000)
#define CPU_PACE_NS INT64_C(400000)

/* ---- rows ------------------------------------------------------------------------------------ */

static void add(prem_way_rows *rows, prem_way way, int32_t blocks, int32_t threads) {
  const prem_way_setup setup = {.way = way,
                                .work = PREM_WORK_EMPTY,
                                .memory = PREM_MEMORY_MAPPED,
                                .blocks = blocks,
                                .threads = threads,
                                .pace_ns = GPU_PACE_NS,
                                .mode = PREM_MODE_TT};
  prem_way_rows_add(rows, &setup, "");
}

static void add_free(prem_way_rows *rows, int32_t blocks, int32_t threads, int64_t pace_ns) {
  const prem_way_setup setup = {.way = PREM_WAY_LIVE,
                                .blocks = blocks,
                                .threads = threads,
                                .pace_ns = pace_ns,
                                .mode = PREM_MODE_FREE};
  prem_way_rows_add(rows, &setup, ", free");
}

/* A word that hands nothing over, and one that hands 64 bytes over each way. */
static void add_round_trips(prem_way_rows *rows) {
  const prem_way_setup payload = {.way = PREM_WAY_RESIDENT,
                                  .work = PREM_WORK_INCREMENT,
                                  .size = PAYLOAD,
                                  .blocks = 1,
                                  .threads = 32,
                                  .pace_ns = GPU_PACE_NS};
  add(rows, PREM_WAY_WORD, 1, 1);
  prem_way_rows_add(rows, &payload, ", 64 bytes");
}

/* One block, by threads, as the paper's first table; all blocks, as its second. */
static void add_shapes(prem_way_rows *rows, bool quick, int32_t sms) {
  static const prem_way ways[] = {PREM_WAY_LIVE, PREM_WAY_RESIDENT, PREM_WAY_ALL_POLL,
                                  PREM_WAY_LAUNCH};
  static const int32_t threads[] = {32, 64, 128, 256, 512, 1024}, few[] = {2, 4};
  const int32_t many[] = {sms, 2 * sms};
  for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) {
    for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t)
      if ((ways[w] != PREM_WAY_LIVE || threads[t] >= 128) && (!quick || threads[t] == THREADS))
        add(rows, ways[w], 1, threads[t]);
    for (size_t b = 0; b < 2 && !quick; ++b) {
      add(rows, ways[w], few[b], 128);
      add(rows, ways[w], few[b], THREADS);
      if (ways[w] != PREM_WAY_LIVE)
        add(rows, ways[w], few[b], 1024);
    }
    for (size_t b = 0; b < 2 && ways[w] != PREM_WAY_ALL_POLL; ++b)
      if (!quick || b == 0)
        add(rows, ways[w], many[b], THREADS);
  }
}

static void add_others(prem_way_rows *rows, bool quick, int32_t sms) {
  const int32_t blocks[] = {1, sms, 2 * sms};
  for (prem_way way = PREM_WAY_BLOCKING; way < PREM_WAY_COUNT; ++way)
    for (size_t b = 0; b < 3; ++b)
      if (!quick || b == 0)
        add(rows, way, blocks[b], THREADS);
}

static void add_rows(prem_way_rows *rows, const prem_experiment_context *context) {
  if (prem_is_gpu(context->backend)) {
    add_round_trips(rows);
    add_shapes(rows, context->quick, context->machine->cores);
    add_others(rows, context->quick, context->machine->cores);
    add_free(rows, 1, THREADS, GPU_PACE_NS);
    add_free(rows, context->machine->cores, THREADS, GPU_PACE_NS);
    return;
  }
  for (int32_t blocks = 1; blocks <= 2; ++blocks) {
    const prem_way_setup setup = {.way = PREM_WAY_LIVE,
                                  .blocks = blocks,
                                  .threads = 1,
                                  .pace_ns = CPU_PACE_NS,
                                  .mode = PREM_MODE_TT};
    prem_way_rows_add(rows, &setup, "");
    add_free(rows, blocks, 1, CPU_PACE_NS);
  }
}

/* ---- telling --------------------------------------------------------------------------------- */

static void tell_rows(const prem_way_rows *rows, prem_table *table) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    if (row->response.count == 0)
      continue;
    prem_table_row(table, TEXT(row->name), INT(row->setup.blocks), INT(row->setup.threads));
    prem_way_cells(table, row);
  }
}

static prem_table *begin_tables(prem_findings *findings) {
  prem_table *table = prem_table_begin(
      findings, "ways", "From the start to outputs that can be read", NULL, "way; blocks; threads");
  prem_way_columns(table);
  /* By totals of threads the paper has one launch for several numbers of blocks: its first table.
   */
  prem_original_add(findings, "live_overhead", "original");
  return table;
}

/* What is compared by threads alone, of one block; charts have one series. */
static void tell_one_block(const prem_way_rows *rows, prem_findings *findings) {
  prem_table *table = prem_table_begin(findings, "one_block", "One block, by its threads", NULL,
                                       "way; threads; median [ns]");
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    if (row->response.count == 0 || row->setup.blocks != 1)
      continue;
    prem_table_row(table, TEXT(row->name), INT(row->setup.threads), INT(row->response.p50));
  }
  prem_chart_add(findings, PREM_CHART_LINES, "one_block", "Median from start to outputs, one block",
                 "threads", "median", "way", PREM_LOG_X | PREM_LOG_Y);
}

static void tell_verdict(const prem_way_rows *rows, const prem_experiment_context *context,
                         prem_findings *findings) {
  const prem_way_row *word = prem_way_rows_find(rows, PREM_WAY_WORD, 1, 1),
                     *launch = prem_way_rows_find(rows, PREM_WAY_LAUNCH, 1, THREADS),
                     *graph = prem_way_rows_find(rows, PREM_WAY_GRAPH, 1, THREADS),
                     *live = prem_way_rows_find(rows, PREM_WAY_LIVE, 1, THREADS);
  if (!live)
    live = prem_way_rows_find(rows, PREM_WAY_LIVE, 1, 1);
  if (word && launch && graph && live)
    prem_findings_verdict(
        findings,
        "An empty live event takes %" PRId64
        " ns at the median, %.2f times the mapped round trip (%" PRId64
        " ns), %.2f times launch + synchronize (%" PRId64 " ns) and %.2f times a graph (%" PRId64
        " ns).",
        live->response.p50, (double)live->response.p50 / (double)word->response.p50,
        word->response.p50, (double)live->response.p50 / (double)launch->response.p50,
        launch->response.p50, (double)live->response.p50 / (double)graph->response.p50,
        graph->response.p50);
  else if (word && launch && graph)
    prem_findings_verdict(findings,
                          "A mapped round trip takes %" PRId64
                          " ns at the median, launch + synchronize %" PRId64 " ns, a graph %" PRId64
                          " ns; there is no live event beside them.",
                          word->response.p50, launch->response.p50, graph->response.p50);
  else if (live)
    prem_findings_verdict(findings,
                          "An empty live event on backend %s takes %" PRId64 " ns at the median.",
                          prem_backend_name(context->backend), live->response.p50);
}

static void tell_notes(const prem_way_rows *rows, prem_findings *findings) {
  prem_findings_note(findings,
                     "Columns that begin with `device` are by the GPU's clock (on cpu and sim the "
                     "executive's), from the first block's begin to the last block's end; all "
                     "others by the host's. Both are of different turns, but for live events.");
  prem_findings_note(findings, "A turn of a live event is a frame of 16 bytes for each block, to "
                               "which 1 is added; other ways hand nothing over.");
  prem_findings_note(findings, "Dynamic parallelism, which the paper has, needs device code that "
                               "is linked apart, and on GPUs of today a parent cannot wait for its "
                               "children; graphs launched from the GPU stand for it.");
  prem_way_tell_left_out(rows, findings);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  static const prem_way_effort effort = {12000, 400, 200, 50, 5, 50, 8};
  prem_way_rows rows = prem_way_rows_make(context, &effort);
  prem_table *table = begin_tables(findings);
  add_rows(&rows, context);
  const prem_status status = prem_way_rows_measure(context, &rows, findings, diag);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    tell_rows(&rows, table);
    tell_one_block(&rows, findings);
    tell_verdict(&rows, context, findings);
    tell_notes(&rows, findings);
  }
  prem_way_rows_free(&rows);
  return status;
}

const prem_experiment prem_live_overhead_experiment = {
    .name = "live_overhead",
    .title = "Start and wait, with nothing to do",
    .question = "How long does it take to have a GPU do something and to know that it is done?",
    .backends = "cuda cpu sim",
    .run = run,
};
