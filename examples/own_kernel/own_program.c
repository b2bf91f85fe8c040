/* A program that brings its own kernels: plan a schedule, have the plan checked, run it, verify
 * what was computed. */
#include <stdio.h>

#include <ttprem/ttprem.h>

/* Bound to these kernels, with a plan for this machine that the checker accepts. */
static prem_status prepare(prem_schedule *schedule, const prem_backend *backend, prem_diag *diag) {
  prem_machine machine;
  prem_status status = prem_backend_probe(backend, &machine, diag);
  return status == PREM_OK ? prem_prepare(schedule, prem_registry_builtin(), &machine, NULL, diag)
                           : status;
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
    status = prepare(schedule, backend, diag);
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
