/* SPDX-License-Identifier: Apache-2.0 */
/* Several functions by one resident kernel, another one in each turn; and what starting anew costs.
 */
#include <inttypes.h>

#include "experiments/live/ways/rows.h"
#include "prem/base/clock.h"
#include "report/findings/tables.h"

enum { ANEW = 20, QUICK_ANEW = 2, SIZE = 1024 };

static const prem_work works[] = {PREM_WORK_EMPTY, PREM_WORK_INCREMENT, PREM_WORK_PRODUCT,
                                  PREM_WORK_SUM, PREM_WORK_MIXED};
enum { WORKS = sizeof works / sizeof *works };

static prem_way_setup setup_of(bool is_gpu, prem_way way, prem_work work) {
  return (prem_way_setup){.way = way,
                          .work = work,
                          .size = work == PREM_WORK_PRODUCT ? PREM_WORK_TILE : SIZE,
                          .memory = PREM_MEMORY_MAPPED,
                          .blocks = 1,
                          .threads = way != PREM_WAY_LIVE ? PREM_WAY_THREADS
                                     : is_gpu             ? PREM_WAY_LIVE_THREADS
                                                          : 1,
                          .mode = PREM_MODE_FREE};
}

static void add_rows(prem_way_rows *rows, const prem_experiment_context *context) {
  static const prem_way ways[] = {PREM_WAY_LIVE,   PREM_WAY_RESIDENT, PREM_WAY_ALL_POLL,
                                  PREM_WAY_LAUNCH, PREM_WAY_GRAPH,    PREM_WAY_QUEUED,
                                  PREM_WAY_LOOP,   PREM_WAY_RELAUNCH, PREM_WAY_CHILDREN};
  const bool is_gpu = prem_is_gpu(context->backend);
  for (size_t w = 0; w < WORKS; ++w)
    for (size_t v = 0; v < (is_gpu ? sizeof ways / sizeof *ways : 1); ++v)
      prem_way_rows_add_work(rows, is_gpu, setup_of(is_gpu, ways[v], works[w]));
}

/* ---- starting anew --------------------------------------------------------------------------- */

/* Open, one turn, close: what changing the plan or the kernel costs where nothing is resident for
 * both. */
static prem_status start_anew(const prem_experiment_context *context, const prem_way_setup *setup,
                              int64_t repeats, int64_t *took_ns, prem_diag *diag) {
  prem_way_samples samples;
  prem_status status = prem_way_samples_make(1, false, &samples) ? PREM_OK : PREM_ERR_MEMORY;
  for (int64_t i = 0; i < repeats && status == PREM_OK; ++i) {
    const prem_way_turns one = {.count = 1, .end_ns = INT64_MAX, .stop = context->stop};
    const int64_t begin_ns = prem_host_clock_ns();
    samples.count = 0;
    if (prem_experiment_stopped(context))
      status = PREM_ERR_INTERRUPTED;
    else
      status = prem_way_run(context, setup, &one, &samples, diag);
    took_ns[i] = prem_host_clock_ns() - begin_ns;
  }
  prem_way_samples_free(&samples);
  return status;
}

static prem_status tell_anew(const prem_experiment_context *context, prem_findings *findings) {
  static const prem_way ways[] = {PREM_WAY_LIVE, PREM_WAY_RESIDENT, PREM_WAY_GRAPH};
  const int64_t repeats = context->quick ? QUICK_ANEW : ANEW;
  prem_table *table =
      prem_table_begin(findings, "anew", "Opened, one turn, closed: the host's time", NULL,
                       "way; count; p50 [ns]; largest [ns]");
  for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) {
    const prem_way_setup setup =
        setup_of(prem_is_gpu(context->backend), ways[w], PREM_WORK_INCREMENT);
    int64_t took_ns[ANEW];
    prem_summary summary;
    prem_diag *diag = prem_diag_new();
    const prem_status status = start_anew(context, &setup, repeats, took_ns, diag);
    prem_diag_free(diag);
    if (status == PREM_ERR_INTERRUPTED || status == PREM_ERR_MEMORY)
      return status;
    if (status != PREM_OK) /* the rows above say why */
      continue;
    prem_summarise(took_ns, repeats, &summary);
    prem_table_row(table, TEXT(prem_way_name(ways[w])), INT(repeats), INT(summary.p50),
                   INT(summary.max));
  }
  return PREM_OK;
}

/* ---- telling --------------------------------------------------------------------------------- */

static prem_table *begin_rates(prem_findings *findings) {
  prem_table *table = prem_table_begin(findings, "rates", "Commands, one behind the other", NULL,
                                       "command; way; commands per s");
  prem_chart_add(findings, PREM_CHART_BARS, "rates", "Commands a second, by way", "command",
                 "commands per s", "way", PREM_LOG_Y);
  return table;
}

static void tell_rates(const prem_way_rows *rows, prem_table *table) {
  for (int32_t r = 0; r < rows->count; ++r) {
    const prem_way_row *row = &rows->rows[r];
    if (row->response.count == 0)
      continue;
    prem_table_row(table, TEXT(prem_work_name(row->setup.work)), TEXT(row->name),
                   REAL(row->response.mean > 0 ? 1e9 / row->response.mean : 0));
  }
}

static const prem_way_row *find(const prem_way_rows *rows, prem_way way, prem_work work) {
  for (int32_t r = 0; r < rows->count; ++r)
    if (rows->rows[r].setup.way == way && rows->rows[r].setup.work == work &&
        rows->rows[r].response.count > 0)
      return &rows->rows[r];
  return NULL;
}

static void tell_verdict(const prem_way_rows *rows, prem_findings *findings) {
  const prem_way_row *resident = find(rows, PREM_WAY_RESIDENT, PREM_WORK_MIXED),
                     *launch = find(rows, PREM_WAY_LAUNCH, PREM_WORK_MIXED),
                     *live = find(rows, PREM_WAY_LIVE, PREM_WORK_INCREMENT);
  if (resident && launch)
    prem_findings_verdict(findings,
                          "Another command in each turn takes a resident kernel %" PRId64
                          " ns at the median, a launch %" PRId64 " ns.",
                          resident->response.p50, launch->response.p50);
  else if (live)
    prem_findings_verdict(findings,
                          "A live event that increments takes %" PRId64 " ns at the median.",
                          live->response.p50);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  const bool is_virtual = prem_is_sim(context->backend);
  /* all turns and warm-ups are multiples of the variants */
  static const prem_way_effort effort = {8000, 200, 40, 52, 4, 40, 6};
  prem_way_rows rows = prem_way_rows_make(context, &effort);
  prem_table *table = prem_way_works_begin(findings, "commands", "Commands, by ways");
  prem_table *rates = begin_rates(findings);
  add_rows(&rows, context);
  prem_status status = prem_way_rows_measure(context, &rows, findings, diag);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    prem_way_works_tell(&rows, table, findings);
    tell_rates(&rows, rates);
    tell_verdict(&rows, findings);
    prem_way_works_explain(findings);
    prem_findings_note(
        findings,
        "A live session with several commands has a task for each; those whose frames have not "
        "come are skipped. Right behind each other its turns wait for the plan's end.");
    prem_findings_note(findings, "Mixed: empty, increment, product of 32 x 32 and sum by turns. "
                                 "Graphs are launched by their commands; kernels in a stream or in "
                                 "a graph that launches itself read the command themselves.");
    prem_way_tell_left_out(&rows, findings);
  }
  if (status == PREM_OK && !is_virtual) /* the host's time has no place in virtual time */
    status = tell_anew(context, findings);
  prem_way_rows_free(&rows);
  return status;
}

const prem_experiment prem_live_commands_experiment = {
    .name = "live_commands",
    .title = "Several functions, one resident kernel",
    .question = "How many commands a second can a GPU be given, and what does another one cost?",
    .backends = "cuda cpu sim",
    .run = run,
};
