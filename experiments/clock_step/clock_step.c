/* Step of the clock, and how well the clocks of all cores or SMs agree. */
#include "experiment.h"

static prem_status run(const prem_experiment_setting *setting, prem_findings *findings,
                       prem_diag *diag) {
  (void)diag;
  const prem_machine *machine = setting->machine;
  prem_table *table = prem_findings_table(findings, "clock", "The clock of the backend", NULL);
  prem_table_column(table, "what", "");
  prem_table_column(table, "value", "ns");
  prem_table_add_text(table, "step");
  prem_table_add_int(table, machine->clock_step_ns);
  prem_table_add_text(table, "cost of a reading");
  prem_table_add_int(table, machine->clock_read_ns);
  prem_table_add_text(table, "bound on the skew");
  prem_table_add_int(table, machine->clock_skew_ns);
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_BARS,
                                              .title = "The clock",
                                              .table = "clock",
                                              .x = "what",
                                              .y = "value"});
  prem_findings_verdict(findings, "the clock steps %lld ns", (long long)machine->clock_step_ns);
  setting->progress(setting->progress_context, 1, 1);
  return PREM_OK;
}

const prem_experiment prem_clock_step_experiment = {
    .name = "clock_step",
    .title = "Step of the clock and agreement of all cores",
    .question =
        "How fine is the clock that releases the phases, and do all cores see the same one?",
    .backends = "cuda cpu",
    .run = run,
};
