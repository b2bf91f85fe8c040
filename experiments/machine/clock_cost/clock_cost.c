/* SPDX-License-Identifier: Apache-2.0 */
/* What reading a clock costs. */
#include "experiments/common/probe.h"
#include "experiments/machine/clock_cost/clock_reads.h"

static prem_status measure(const prem_probe_call *call) {
  prem_clock_cost costs[PREM_MAX_CLOCKS];
  int32_t count = 0;
#ifdef TTPREM_CUDA
  const prem_status status = prem_is_gpu(call->context->backend)
                                 ? prem_gpu_clock_costs(costs, &count, call->diag)
                                 : prem_host_clock_costs(costs, &count, call->diag);
#else
  const prem_status status = prem_host_clock_costs(costs, &count, call->diag);
#endif
  for (int32_t i = 0; i < count && status == PREM_OK; ++i) {
    prem_table_row(call->found, TEXT(costs[i].clock), TEXT(costs[i].unit), INT(costs[i].ordered),
                   REAL(costs[i].read_ns), REAL(costs[i].read_cycles), REAL(costs[i].pair));
    for (int work = 0; work < PREM_CLOCK_WORKS; ++work)
      prem_table_row(call->found, REAL(costs[i].over_work[work]));
  }
  return status;
}

const prem_probe prem_clock_costs_probe = {
    "clock [text]; unit [text]; ordered; read_ns; "
    "read_cycles; pair; work_0; work_1; work_2; work_3; work_4; "
    "work_5",
    measure, NULL};
