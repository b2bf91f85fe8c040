/* SPDX-License-Identifier: Apache-2.0 */
/* How soon a successor begins, by blocks and by predecessors: the rows of the file's table `plan`,
 * as far as there is time. */
#include <string.h>

#include "experiments/common/probe.h"
#include "prem/base/clock.h"

static prem_status measure_row(const prem_probe_call *call, const prem_table *plan, int64_t row) {
  prem_precedence_setup setup = {
      .blocks = (int32_t)prem_probe_cell(plan, row, "blocks", 1, PREM_MAX_BLOCKS),
      .predecessors = (int32_t)prem_probe_cell(plan, row, "predecessors", 1, 8),
      .hyperperiods = prem_probe_whole(call, "hyperperiods", 1, 100000),
      .stop = call->context->stop};
  const char *mode = prem_probe_cell_text(plan, row, "mode");
  while (setup.mode + 1 < PREM_MODE_COUNT && strcmp(prem_mode_name(setup.mode), mode) != 0)
    ++setup.mode;
  prem_precedence_times times;
  const prem_status status =
      prem_measure_precedence(call->context->backend, &setup, &times, call->diag);
  if (status == PREM_OK)
    prem_table_row(call->found, INT(setup.blocks), INT(setup.predecessors), TEXT(mode),
                   INT(times.count), INT(times.first.p50_ns), INT(times.first.p99_ns),
                   INT(times.first.max_ns), INT(times.last.p50_ns), INT(times.last.p99_ns),
                   INT(times.last.max_ns));
  return status;
}

static prem_status measure(const prem_probe_call *call) {
  const prem_table *plan = prem_probe_table(call, "plan");
  const int64_t count = prem_probe_rows(plan);
  const int64_t until_ns =
      prem_host_clock_ns() + prem_probe_whole(call, "budget", 1, 3600) * 1000000000;
  prem_status status = PREM_OK;
  for (int64_t row = 0; row < count && status == PREM_OK && prem_host_clock_ns() < until_ns;
       ++row) {
    status = prem_experiment_stopped(call->context) ? PREM_ERR_INTERRUPTED
                                                    : measure_row(call, plan, row);
    prem_experiment_progress(call->context, row + 1, count);
  }
  return status;
}

const prem_probe prem_precedence_probe = {
    "blocks; predecessors; mode [text]; count; p50; p99; max; last_p50; last_p99; last_max",
    measure, "plan"};
