/* SPDX-License-Identifier: Apache-2.0 */
/* What reading a clock costs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/common/experiment.h"
#include "experiments/common/originals.h"
#include "experiments/machine/clock_cost/clock_reads.h"
#include "report/findings/tables.h"

/** A reading stands behind the operations if they are seen to take at least so many units each: no
 *  processor multiplies, and needs the result, in less than a cycle. */
static const double min_cycles = 1.0, min_ns = 0.1;

static bool stands_where_it_should(const prem_clock_cost *cost) {
  const int max = PREM_CLOCK_WORKS - 1;
  const double min = strcmp(cost->unit, "cycles") == 0 ? min_cycles : min_ns;
  return cost->over_work[max] - cost->over_work[max - 1] >=
         min * (prem_clock_work(max) - prem_clock_work(max - 1));
}

static void tell_costs(prem_findings *findings, const prem_clock_cost *costs, int32_t count) {
  prem_table *table = prem_table_begin(findings, "cost", "Cost of a reading", NULL,
                                       "clock; in a row [ns]; in a row, cycles");
  prem_table_column(table, "two at once", "its unit"); /* what the original measured */
  prem_table_columns(table, "its unit; sees the work before it");
  for (int32_t i = 0; i < count; ++i)
    prem_table_row(table, TEXT(costs[i].clock), REAL(costs[i].read_ns), REAL(costs[i].read_cycles),
                   REAL(costs[i].pair), TEXT(costs[i].unit),
                   TEXT(stands_where_it_should(&costs[i]) ? "yes" : "no"));
  prem_chart_add(findings, PREM_CHART_BARS, "cost", "Cost of a reading, of many in a row", "clock",
                 "in a row", NULL, 0);
}

static void tell_work(prem_findings *findings, const prem_clock_cost *costs, int32_t count) {
  prem_table *table = prem_table_begin(findings, "over_work",
                                       "Two readings with multiplications between them: difference",
                                       NULL, "clock; multiplications; difference [its unit]");
  for (int32_t i = 0; i < count; ++i)
    for (int work = 0; work < PREM_CLOCK_WORKS; ++work)
      prem_table_row(table, TEXT(costs[i].clock), INT(prem_clock_work(work)),
                     REAL(costs[i].over_work[work]));
  prem_chart_add(findings, PREM_CHART_LINES, "over_work",
                 "Two readings with multiplications between them: difference, in the clock's unit",
                 "multiplications", "difference", "clock", 0);
}

static void tell(prem_findings *findings, const prem_clock_cost *costs, int32_t count) {
  char verdict[300] = "";
  for (int32_t i = 0; i < count; ++i) {
    const size_t used = strlen(verdict);
    if (isnan(costs[i].read_cycles))
      snprintf(verdict + used, sizeof verdict - used, "%s%s %.1f ns", used ? ", " : "",
               costs[i].clock, costs[i].read_ns);
    else
      snprintf(verdict + used, sizeof verdict - used, "%s%s %.1f ns (%.1f cycles)",
               used ? ", " : "", costs[i].clock, costs[i].read_ns, costs[i].read_cycles);
  }
  prem_findings_verdict(findings, "A reading costs: %s.", verdict);
  prem_findings_note(findings, "The original's numbers are those of two readings at once: the "
                               "column of that name is to be compared with them.");
  prem_findings_note(findings, "Readings stand where they should if the difference of two grows "
                               "with the work between them, which each reading has to wait for.");
  for (int32_t i = 0; i < count; ++i) {
    const bool stands = stands_where_it_should(&costs[i]);
    if (costs[i].ordered)
      prem_findings_output(findings, stands);
    if (!stands)
      prem_findings_note(findings, "%s does not see all of the work before it%s.", costs[i].clock,
                         costs[i].ordered ? ": its readings stand in the wrong place"
                                          : ", as its makers say");
  }
}

static prem_status measure(const prem_experiment_context *context, prem_clock_cost *costs,
                           int32_t *count, prem_diag *diag) {
#ifdef TTPREM_CUDA
  if (prem_is_gpu(context->backend))
    return prem_gpu_clock_costs(costs, count, diag);
#endif
  (void)context;
  return prem_host_clock_costs(costs, count, diag);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  prem_clock_cost costs[PREM_MAX_CLOCKS];
  int32_t count = 0;
  prem_status status = measure(context, costs, &count, diag);
  if (status != PREM_OK)
    return status;
  tell_costs(findings, costs, count);
  prem_original_add(findings, "clock_cost", "original");
  tell_work(findings, costs, count);
  tell(findings, costs, count);
  prem_experiment_progress(context, 1, 1);
  return PREM_OK;
}

const prem_experiment prem_clock_cost_experiment = {
    .name = "clock_cost",
    .title = "Cost of reading the clocks",
    .question =
        "What does a reading of each clock cost, and does it stand where the source has it?",
    .backends = "cuda cpu",
    .run = run,
};
