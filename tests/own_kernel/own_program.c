/* A program that brings its own kernels: plan a schedule, simulate it, verify what was computed. */
#include <stdio.h>

#include <ttprem/ttprem.h>

static prem_status simulate(prem_schedule *schedule, prem_verdict *verdict) {
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 1};
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  prem_status status = prem_session_open(prem_backend_find("sim"), schedule, &session, NULL);
  if (status == PREM_OK)
    status = prem_trace_new(schedule, 1, 0, &trace);
  if (status == PREM_OK)
    status = prem_session_poison(session);
  if (status == PREM_OK)
    status = prem_session_run(session, &request, trace, NULL);
  if (status == PREM_OK)
    status = prem_session_verify(session, verdict);
  prem_trace_free(trace);
  prem_session_close(session);
  return status;
}

int main(int argc, char **argv) {
  prem_schedule *schedule = NULL;
  prem_plan *plan = NULL;
  prem_verdict verdict = {0};
  if (argc != 2)
    return 2;
  prem_status status = prem_schedule_load(argv[1], NULL, &schedule, NULL);
  if (status == PREM_OK)
    status = prem_schedule_bind(schedule, prem_registry_builtin(), NULL);
  if (status == PREM_OK)
    status = prem_plan_make(schedule, NULL, NULL, &plan, NULL);
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, plan);
    status = simulate(schedule, &verdict);
  }
  printf("%s, outputs %s\n", prem_status_text(status), verdict.ok ? "right" : "wrong");
  prem_schedule_free(schedule);
  return status == PREM_OK && verdict.ok ? 0 : 1;
}
