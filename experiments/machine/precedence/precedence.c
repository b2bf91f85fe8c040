/* SPDX-License-Identifier: Apache-2.0 */
/* How soon a successor begins, by blocks and by predecessors. */
#include <inttypes.h>

#include "experiments/common/experiment.h"
#include "prem/base/clock.h"
#include "report/findings/tables.h"

enum { COUNTED = 500, QUICK_COUNTED = 100, MAX_BLOCK_COUNTS = 5, MODE_COUNT = 3 };

/* Each row takes some 40 ms, and making ready for it; what is left after this is left out. */
#define BUDGET_NS INT64_C(15000000000)

static const int32_t predecessors[] = {1, 2, 4, 8};
enum { PREDECESSOR_COUNTS = sizeof predecessors / sizeof *predecessors };

static const prem_mode modes[MODE_COUNT] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};

typedef struct telling_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_table *rows, *growth;
  int32_t blocks[MAX_BLOCK_COUNTS];
  int32_t block_counts;
  int64_t done, all, until_ns;
  prem_precedence_times one, max; /* all blocks, mode free, with one predecessor and with most */
} telling_study;

static void list_blocks(telling_study *study) {
  static const int32_t wanted[] = {1, 2, 8, 32};
  const prem_machine *machine = study->context->machine;
  int32_t all = machine->cores < machine->max_blocks ? machine->cores : machine->max_blocks;
  all = all < PREM_MAX_BLOCKS ? all : PREM_MAX_BLOCKS;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i)
    if (wanted[i] < all)
      study->blocks[study->block_counts++] = wanted[i];
  study->blocks[study->block_counts++] = all;
  study->all = (int64_t)study->block_counts * PREDECESSOR_COUNTS * MODE_COUNT;
}

static void begin_tables(telling_study *study) {
  study->rows = prem_table_begin(
      study->findings, "latency", "From the last end of all predecessors to the successor", NULL,
      "blocks; predecessors; mode; count; p50 [ns]; p99 [ns]; largest [ns]; last block p50 [ns]; "
      "last block p99 [ns]; last block largest [ns]");
  study->growth =
      prem_table_begin(study->findings, "free", "In mode free, until the last block has begun",
                       NULL, "blocks; predecessors; median [ns]; p99 [ns]");
}

static void add_latencies(prem_table *table, const prem_latencies *latencies) {
  prem_table_row(table, INT(latencies->p50_ns), INT(latencies->p99_ns), INT(latencies->max_ns));
}

static void add_row(telling_study *study, const prem_precedence_setup *setup,
                    const prem_precedence_times *times) {
  prem_table_row(study->rows, INT(setup->blocks), INT(setup->predecessors),
                 TEXT(prem_mode_name(setup->mode)), INT(times->count));
  add_latencies(study->rows, &times->first);
  add_latencies(study->rows, &times->last);
  if (setup->mode != PREM_MODE_FREE)
    return;
  prem_table_row(study->growth, INT(setup->blocks), INT(setup->predecessors),
                 INT(times->last.p50_ns), INT(times->last.p99_ns));
  if (setup->blocks == study->blocks[study->block_counts - 1])
    *(setup->predecessors == 1 ? &study->one : &study->max) = *times;
}

/* One row; PREM_ERR_INTERRUPTED leaves it out. */
static prem_status measure(telling_study *study, int32_t blocks, int32_t before, prem_mode mode,
                           prem_diag *diag) {
  const prem_precedence_setup setup = {.mode = mode,
                                       .blocks = blocks,
                                       .predecessors = before,
                                       .hyperperiods =
                                           study->context->quick ? QUICK_COUNTED : COUNTED,
                                       .stop = study->context->stop};
  prem_precedence_times times;
  if (prem_experiment_stopped(study->context))
    return PREM_ERR_INTERRUPTED;
  const prem_status status = prem_measure_precedence(study->context->backend, &setup, &times, diag);
  if (status == PREM_OK)
    add_row(study, &setup, &times);
  prem_experiment_progress(study->context, ++study->done, study->all);
  return status;
}

static prem_status measure_modes(telling_study *study, int32_t blocks, int32_t before,
                                 prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int m = 0; m < MODE_COUNT && status == PREM_OK; ++m)
    if (prem_host_clock_ns() < study->until_ns)
      status = measure(study, blocks, before, modes[m], diag);
  return status;
}

static prem_status measure_all(telling_study *study, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t b = study->block_counts - 1; b >= 0 && status == PREM_OK; --b)
    for (int32_t p = 0; p < PREDECESSOR_COUNTS && status == PREM_OK; ++p)
      status = measure_modes(study, study->blocks[b], predecessors[p], diag);
  return status;
}

static void conclude(const telling_study *study) {
  const int32_t blocks = study->blocks[study->block_counts - 1];
  if (study->one.count > 0 && study->max.count > 0)
    prem_findings_verdict(
        study->findings,
        "With one predecessor on %" PRId32 " block%s the successor's first block begins %" PRId64
        " ns behind its last end at the median and %" PRId64
        " ns in 99 of 100, its last block %" PRId64 " and %" PRId64 " ns; with %" PRId32
        " predecessors the last block %" PRId64 " and %" PRId64 " ns.",
        blocks, blocks == 1 ? "" : "s", study->one.first.p50_ns, study->one.first.p99_ns,
        study->one.last.p50_ns, study->one.last.p99_ns, predecessors[PREDECESSOR_COUNTS - 1],
        study->max.last.p50_ns, study->max.last.p99_ns);
  prem_findings_note(study->findings, "The tiles compute nothing, so that the blocks wait for "
                                      "nothing but each other; a busy block looks later.");
  prem_findings_note(study->findings, "On time (tt) the releases are over when the predecessors "
                                      "end, so that the plan holds nobody up.");
  if (study->done < study->all)
    prem_findings_note(study->findings,
                       "%" PRId64 " of %" PRId64 " rows were measured in the time there was.",
                       study->done, study->all);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  telling_study study = {
      .context = context, .findings = findings, .until_ns = prem_host_clock_ns() + BUDGET_NS};
  list_blocks(&study);
  begin_tables(&study);
  prem_chart_add(findings, PREM_CHART_LINES, "free",
                 "In 99 of 100 hyperperiods all blocks have begun after", "blocks", "p99",
                 "predecessors", PREM_LOG_X | PREM_LOG_Y);
  const prem_status status = measure_all(&study, diag);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED)
    conclude(&study);
  return status;
}

const prem_experiment prem_precedence_experiment = {
    .name = "precedence",
    .title = "What telling a successor takes",
    .question = "How soon does a task begin when the tasks before it have ended?",
    .backends = "cuda cpu",
    .run = run};
