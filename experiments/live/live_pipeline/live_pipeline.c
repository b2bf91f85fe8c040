/* SPDX-License-Identifier: Apache-2.0 */
/* Frames a second and their ages, by buffers and bytes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/live/live_pipeline/pipeline.h"
#include "experiments/live/ways/rows.h"
#include "prem/base/clock.h"
#include "prem/base/random.h"
#include "report/findings/tables.h"

enum {
  FRAMES = 2000,
  QUICK_FRAMES = 20,
  CPU_FRAMES = 50,
  WARM_UP = 8,
  THREADS = 1024,
  LIVE_THREADS = 608,
  MAX_ROWS = 128,
  KIB = 1024
};

#define BUDGET_NS       INT64_C(50000000000)
#define QUICK_BUDGET_NS INT64_C(6000000000)

static const int32_t sizes_kib[] = {4, 64, 1024, 16384, 65536};
enum { SIZES = sizeof sizes_kib / sizeof *sizes_kib };

static const char *const way_names[PREM_PIPELINE_COUNT] = {
    [PREM_PIPELINE_LIVE] = "live queues",
    [PREM_PIPELINE_RESIDENT] = "resident kernel, mapped",
    [PREM_PIPELINE_STREAMS] = "streams: copy, launch, copy",
    [PREM_PIPELINE_GRAPHS] = "graphs: copy, kernel, copy",
};

typedef struct pipeline_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_table *table, *chart;
  prem_pipeline_setup rows[MAX_ROWS];
  int32_t count, left_out;
  bool is_gpu;
  int64_t frames, end_ns;
  double best_rate[PREM_PIPELINE_COUNT]; /* of frames of 1 MiB; 0: none */
} pipeline_study;

/* ---- rows ------------------------------------------------------------------------------------ */

static void add(pipeline_study *study, prem_pipeline_way way, int32_t kib, int32_t buffers) {
  const int32_t floats = kib * (KIB / (int32_t)sizeof(float));
  const int32_t parts = (floats + THREADS - 1) / THREADS,
                most = study->is_gpu ? study->context->machine->cores : 1;
  if (study->count < MAX_ROWS)
    study->rows[study->count++] =
        (prem_pipeline_setup){.way = way,
                              .buffers = buffers,
                              .floats = floats,
                              .blocks = parts < most ? parts : most,
                              .threads = way != PREM_PIPELINE_LIVE ? THREADS
                                         : study->is_gpu           ? LIVE_THREADS
                                                                   : 1};
}

static void add_rows(pipeline_study *study) {
  const bool quick = study->context->quick;
  for (size_t s = 0; s < SIZES; ++s)
    for (int32_t buffers = 1; buffers <= PREM_PIPELINE_MAX_BUFFERS; ++buffers)
      for (int way = 0; way < PREM_PIPELINE_COUNT; ++way) {
        if (way != PREM_PIPELINE_LIVE && !study->is_gpu)
          continue;
        if (!study->is_gpu && sizes_kib[s] > 1024)
          continue;
        if (quick && (buffers > 2 || (sizes_kib[s] != 4 && sizes_kib[s] != 1024)))
          continue;
        if (way == PREM_PIPELINE_LIVE && buffers == 1)
          continue; /* a port that starts hyperperiods has two at least */
        add(study, (prem_pipeline_way)way, sizes_kib[s], buffers);
      }
}

/* ---- telling --------------------------------------------------------------------------------- */

static void begin_tables(pipeline_study *study) {
  study->table = prem_table_begin(study->findings, "pipelines", "Frames one behind the other", NULL,
                                  "way; KiB; buffers; blocks; count; frames per s; GB per s each "
                                  "way; age p50 [ns]; age p99 [ns]; age largest [ns]");
  study->chart = prem_table_begin(study->findings, "rates", "Frames a second, by size", NULL,
                                  "way; frame [KiB]; rate [frames/s]");
  prem_chart_add(study->findings, PREM_CHART_POINTS, "rates",
                 "Frames a second, by size, buffers and way", "frame", "rate", "way",
                 PREM_LOG_X | PREM_LOG_Y);
}

static void tell_row(pipeline_study *study, const prem_pipeline_setup *row,
                     prem_pipeline_run *run) {
  const int32_t kib = row->floats / (KIB / (int32_t)sizeof(float));
  const double rate = run->took_ns > 0 ? 1e9 * (double)run->frames / (double)run->took_ns : 0;
  char series[96];
  prem_summary ages;
  prem_summarise(run->age_ns, run->frames, &ages);
  prem_table_row(study->table, TEXT(way_names[row->way]), INT(kib), INT(row->buffers),
                 INT(row->blocks), INT(run->frames), REAL(rate), REAL(rate * kib * KIB * 1e-9),
                 INT(ages.p50), KNOWN(ages.p99), INT(ages.max));
  snprintf(series, sizeof series, "%s, %" PRId32 " buffers", way_names[row->way], row->buffers);
  prem_table_row(study->chart, TEXT(series), INT(kib), REAL(rate));
  prem_findings_output(study->findings, run->wrong == 0);
  if (kib == KIB && rate > study->best_rate[row->way])
    study->best_rate[row->way] = rate;
}

static void tell_verdict(const pipeline_study *study) {
  char text[400] = "";
  for (int way = 0; way < PREM_PIPELINE_COUNT; ++way)
    if (study->best_rate[way] > 0)
      snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %.4g", *text ? ", " : "",
               way_names[way], study->best_rate[way]);
  if (*text)
    prem_findings_verdict(study->findings,
                          "Most frames of 1 MiB a second, by any number of buffers: %s.", text);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static prem_status run_row(pipeline_study *study, const prem_pipeline_setup *row,
                           prem_pipeline_run *run, prem_diag *diag) {
  if (row->way == PREM_PIPELINE_LIVE)
    return prem_pipeline_live(study->context, row, run, diag);
  return prem_pipeline_on_gpu(row, run, diag);
}

/* A row that cannot be is left out, the first one with its reason. */
static prem_status judge(pipeline_study *study, const prem_pipeline_setup *row, prem_status status,
                         const prem_diag *reasons) {
  const size_t count = prem_diag_count(reasons);
  const char *reason =
      count > 0 ? prem_diag_at(reasons, count - 1)->reason : prem_status_text(status);
  if (status == PREM_ERR_MEMORY ||
      (status == PREM_ERR_MACHINE && study->is_gpu && !prem_gpu_way_lives()))
    return prem_experiment_refuse(study->diag, status, "%s", reason);
  if (study->left_out++ == 0)
    prem_findings_note(study->findings,
                       "Left out: %s, %" PRId32 " floats, %" PRId32 " buffers: %s.",
                       way_names[row->way], row->floats, row->buffers, reason);
  return PREM_OK;
}

static prem_status measure_row(pipeline_study *study, const prem_pipeline_setup *row,
                               int64_t row_ns) {
  prem_pipeline_run run = {.warm_up = WARM_UP,
                           .count = study->frames,
                           .end_ns = prem_host_clock_ns() + row_ns,
                           .stop = study->context->stop,
                           .age_ns = calloc((size_t)study->frames, sizeof(int64_t))};
  prem_diag *reasons = prem_diag_new();
  prem_status status = PREM_ERR_MEMORY;
  if (run.age_ns && reasons) {
    status = run_row(study, row, &run, reasons);
    if (status == PREM_OK && run.frames > 0)
      tell_row(study, row, &run);
    else if (status != PREM_OK)
      status = judge(study, row, status, reasons);
  }
  prem_diag_free(reasons);
  free(run.age_ns);
  return status;
}

static prem_status measure_all(pipeline_study *study) {
  int32_t order[MAX_ROWS];
  uint64_t dice = study->context->seed;
  prem_status status = PREM_OK;
  for (int32_t r = 0; r < study->count; ++r)
    order[r] = r;
  prem_shuffle(order, study->count, &dice);
  for (int32_t r = 0; r < study->count && status == PREM_OK; ++r) {
    const int64_t left_ns = study->end_ns - prem_host_clock_ns();
    if (prem_experiment_stopped(study->context))
      return PREM_ERR_INTERRUPTED;
    status = measure_row(study, &study->rows[order[r]],
                         (left_ns > 0 ? left_ns : 0) / (study->count - r));
    prem_experiment_progress(study->context, r + 1, study->count);
  }
  if (study->left_out > 1)
    prem_findings_note(study->findings, "%" PRId32 " rows are left out altogether.",
                       study->left_out);
  return status;
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  pipeline_study *study = calloc(1, sizeof *study);
  if (!study)
    return PREM_ERR_MEMORY;
  *study = (pipeline_study){.context = context,
                            .findings = findings,
                            .diag = diag,
                            .is_gpu = prem_is_gpu(context->backend)};
  study->frames = context->quick ? QUICK_FRAMES : study->is_gpu ? FRAMES : CPU_FRAMES;
  study->end_ns = prem_host_clock_ns() + (context->quick ? QUICK_BUDGET_NS : BUDGET_NS);
  if (prem_is_sim(context->backend))
    study->end_ns = INT64_MAX / 2; /* in virtual time the same numbers every time */
  begin_tables(study);
  add_rows(study);
  const prem_status status = measure_all(study);
  if (status == PREM_OK || status == PREM_ERR_INTERRUPTED) {
    tell_verdict(study);
    prem_findings_note(findings, "A frame's age counts from when it is there until its result is: "
                                 "with n buffers it waits for the n - 1 before it.");
    prem_findings_note(findings, "The host writes and reads three numbers of a frame, so that its "
                                 "own stores and loads do not decide.");
    prem_findings_note(findings, "The paper has no numbers for its double buffers.");
  }
  free(study);
  return status;
}

const prem_experiment prem_live_pipeline_experiment = {
    .name = "live_pipeline",
    .title = "Frames under way at once",
    .question = "How many frames a second go through, and how old are their results, by buffers?",
    .backends = "cuda cpu sim",
    .run = run,
};
