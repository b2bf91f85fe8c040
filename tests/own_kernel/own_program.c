/* A program that brings its own kernels: plan a schedule, have the plan checked, run it, verify
 * what was computed. */
#include <stdio.h>

#include <ttprem/ttprem.h>

/* A plan that says what it was made for, and that the checker accepts for this machine. */
static prem_status plan_and_check(prem_schedule *schedule, const prem_backend *backend,
                                  prem_diag *diag) {
  prem_machine machine;
  prem_plan *plan = NULL;
  prem_status status = prem_backend_probe(backend, &machine, diag);
  if (status == PREM_OK)
    status = prem_plan_make(schedule, &machine, NULL, &plan, diag);
  if (status != PREM_OK)
    return status;
  prem_plan_sign(schedule, plan);         /* for these kernels, on the machine that was profiled */
  prem_schedule_set_plan(schedule, plan); /* the schedule's from here on */
  return prem_check(schedule, &machine, diag);
}

static prem_status run(const prem_schedule *schedule, const prem_backend *backend,
                       prem_verdict *verdict, prem_diag *diag) {
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 1};
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  prem_status status = prem_session_open(backend, schedule, &session, diag);
  if (status == PREM_OK)
    status = prem_trace_new(schedule, 1, 0, &trace);
  if (status == PREM_OK)
    status = prem_session_poison(session);
  if (status == PREM_OK)
    status = prem_session_run(session, &request, trace, diag);
  if (status == PREM_OK)
    status = prem_session_verify(session, verdict);
  prem_trace_free(trace);
  prem_session_close(session);
  return status;
}

int main(int argc, char **argv) {
  prem_schedule *schedule = NULL;
  prem_verdict verdict = {0};
  prem_diag *diag = prem_diag_new();
  const prem_backend *backend = prem_backend_find(argc > 2 ? argv[2] : "sim");
  if (argc < 2 || !diag || !backend) {
    fputs("usage: own_program FILE [BACKEND]\n", stderr);
    return 2;
  }
  prem_status status = prem_schedule_load(argv[1], NULL, &schedule, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  if (status == PREM_OK)
    status = plan_and_check(schedule, backend, diag);
  if (status == PREM_OK)
    status = run(schedule, backend, &verdict, diag);
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    char line[512];
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    fprintf(stderr, "%s\n", line);
  }
  printf("%s, outputs %s\n", prem_status_text(status), verdict.ok ? "right" : "wrong");
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return status == PREM_OK && verdict.ok ? 0 : 1;
}
