/* SPDX-License-Identifier: Apache-2.0 */
/* Frames one behind the other, by buffers and bytes: the rows of the file's table `plan`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/common/probe.h"
#include "experiments/live/live_pipeline/pipeline.h"
#include "prem/base/clock.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "ttprem/measure.h"

enum { MAX_ROWS = 128 };

static const char *const way_names[PREM_PIPELINE_COUNT] = {
    [PREM_PIPELINE_LIVE] = "live queues",
    [PREM_PIPELINE_RESIDENT] = "resident kernel, mapped",
    [PREM_PIPELINE_STREAMS] = "streams: copy, launch, copy",
    [PREM_PIPELINE_GRAPHS] = "graphs: copy, kernel, copy",
};

static prem_pipeline_setup setup_at(const prem_table *plan, int64_t row) {
  prem_pipeline_setup setup = {
      .buffers = (int32_t)prem_probe_cell(plan, row, "buffers", 1, PREM_PIPELINE_MAX_BUFFERS),
      .floats = (int32_t)prem_probe_cell(plan, row, "floats", PREM_PIPELINE_MARKS, 1 << 28),
      .blocks = (int32_t)prem_probe_cell(plan, row, "blocks", 1, PREM_WAY_MAX_BLOCKS),
      .threads = (int32_t)prem_probe_cell(plan, row, "threads", 1, 1024)};
  const char *name = prem_probe_cell_text(plan, row, "way");
  while (setup.way + 1 < PREM_PIPELINE_COUNT && strcmp(way_names[setup.way], name) != 0)
    ++setup.way;
  return setup;
}

static prem_status run_row(const prem_experiment_context *context, const prem_pipeline_setup *row,
                           prem_pipeline_run *run, prem_diag *diag) {
  return row->way == PREM_PIPELINE_LIVE ? prem_pipeline_live(context, row, run, diag)
                                        : prem_pipeline_on_gpu(row, run, diag);
}

static void give(const prem_probe_call *call, const prem_pipeline_setup *row,
                 prem_pipeline_run *run) {
  prem_summary ages;
  prem_summarise(run->age_ns, run->frames, &ages);
  prem_table_row(call->found, TEXT(way_names[row->way]), INT(row->buffers), INT(row->floats),
                 INT(row->blocks), INT(run->frames),
                 REAL(run->took_ns > 0 ? 1e9 * (double)run->frames / (double)run->took_ns : 0),
                 INT(ages.p50), KNOWN(ages.p99), INT(ages.max));
  prem_findings_output(call->findings, run->wrong == 0);
}

/* A row that cannot be is left out, the first one with its reason. */
static prem_status judge(const prem_probe_call *call, const prem_pipeline_setup *row,
                         prem_status status, const prem_diag *reasons, int32_t *left_out) {
  const size_t count = prem_diag_count(reasons);
  const char *reason =
      count > 0 ? prem_diag_at(reasons, count - 1)->reason : prem_status_text(status);
  if (status == PREM_ERR_MEMORY ||
      (status == PREM_ERR_MACHINE && prem_is_gpu(call->context->backend) && !prem_gpu_way_lives()))
    return prem_experiment_refuse(call->diag, status, "%s", reason);
  if ((*left_out)++ == 0)
    prem_findings_note(call->findings, "Left out: %s, %" PRId32 " floats, %" PRId32 " buffers: %s.",
                       way_names[row->way], row->floats, row->buffers, reason);
  return PREM_OK;
}

static prem_status measure_row(const prem_probe_call *call, const prem_pipeline_setup *row,
                               int64_t row_ns, int32_t *left_out) {
  const int64_t frames = prem_probe_whole(call, "frames", 1, 1000000);
  prem_pipeline_run run = {.warm_up = prem_probe_whole(call, "warm_up", 0, 1000),
                           .count = frames,
                           .end_ns = prem_host_clock_ns() + row_ns,
                           .stop = call->context->stop,
                           .age_ns = calloc((size_t)frames, sizeof(int64_t))};
  prem_diag *reasons = prem_diag_new();
  prem_status status = PREM_ERR_MEMORY;
  if (run.age_ns && reasons) {
    status = run_row(call->context, row, &run, reasons);
    if (status == PREM_OK && run.frames > 0)
      give(call, row, &run);
    else if (status != PREM_OK)
      status = judge(call, row, status, reasons, left_out);
  }
  prem_diag_free(reasons);
  free(run.age_ns);
  return status;
}

/* In random order; in virtual time, which has no end, the same numbers every time. */
static prem_status measure(const prem_probe_call *call) {
  const prem_table *plan = prem_probe_table(call, "plan");
  const int32_t count = (int32_t)prem_min_i64(prem_probe_rows(plan), MAX_ROWS);
  const int64_t end_ns =
      prem_is_sim(call->context->backend)
          ? INT64_MAX / 2
          : prem_host_clock_ns() + prem_probe_whole(call, "budget", 1, 3600) * INT64_C(1000000000);
  int32_t order[MAX_ROWS], left_out = 0;
  uint64_t dice = call->context->seed;
  prem_status status = PREM_OK;
  for (int32_t r = 0; r < count; ++r)
    order[r] = r;
  prem_shuffle(order, count, &dice);
  for (int32_t r = 0; r < count && status == PREM_OK; ++r) {
    const prem_pipeline_setup row = setup_at(plan, order[r]);
    if (prem_experiment_stopped(call->context))
      return PREM_ERR_INTERRUPTED;
    status = measure_row(call, &row, prem_max_i64(end_ns - prem_host_clock_ns(), 0) / (count - r),
                         &left_out);
    prem_experiment_progress(call->context, r + 1, count);
  }
  if (left_out > 1)
    prem_findings_note(call->findings, "%" PRId32 " rows are left out altogether.", left_out);
  return status;
}

const prem_probe prem_pipelines_probe = {
    "way [text]; buffers; floats; blocks; frames; rate; p50; p99; max", measure, "plan"};
