/* SPDX-License-Identifier: Apache-2.0 */
/* Ways beside loads of the host and of the GPU. */
#include "experiments/live/live_stress/loads.h"
#include "experiments/live/ways/rows.h"
#include "prem/base/random.h"

static prem_status measure_beside(const prem_probe_call *call, prem_load load) {
  prem_way_rows rows = prem_way_rows_of(call);
  rows.budget_ns /= PREM_LOAD_COUNT;
  prem_load_run *run = NULL;
  prem_diag *reasons = prem_diag_new();
  prem_status status =
      reasons ? prem_load_begin(load, call->context, &run, reasons) : PREM_ERR_MEMORY;
  if (status == PREM_ERR_UNAVAILABLE) {
    prem_findings_note(call->findings, "Left out: %s.", prem_diag_at(reasons, 0)->reason);
    status = PREM_OK;
  } else if (status == PREM_OK) {
    status = prem_way_rows_measure(call->context, &rows, call->findings, call->diag);
    prem_way_rows_give(&rows, prem_load_name(load), call->found);
    if (load == PREM_LOAD_NONE)
      prem_way_tell_left_out(&rows, call->findings);
  }
  prem_load_end(run);
  prem_diag_free(reasons);
  prem_way_rows_free(&rows);
  return status;
}

static prem_status measure(const prem_probe_call *call) {
  int32_t order[PREM_LOAD_COUNT];
  uint64_t dice = call->context->seed;
  prem_status status = PREM_OK;
  for (int load = 0; load < PREM_LOAD_COUNT; ++load)
    order[load] = load;
  prem_shuffle(order, PREM_LOAD_COUNT, &dice);
  for (int i = 0; i < PREM_LOAD_COUNT && status == PREM_OK; ++i)
    status = measure_beside(call, (prem_load)order[i]);
  return status;
}

const prem_probe prem_loaded_ways_probe = {PREM_WAY_COLUMNS, measure, "plan"};
