/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process can still do after a run that failed: run_again BACKEND FAULTY.cfg GOOD.cfg
 * Exit status: 0 if GOOD ran and was right, 4 if the machine refused it, 1 for anything else.
 */
#include <stdio.h>
#include <string.h>

#include <ttprem/ttprem.h>

enum { RIGHT = 0, UNEXPECTED = 1, REFUSED = 4 };

static void print_diag(const prem_diag *diag) {
  char line[1024];
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    prem_problem_format(prem_diag_at(diag, i), line, sizeof line);
    puts(line);
  }
}

static prem_status load(const char *path, prem_schedule **schedule, prem_diag *diag) {
  prem_plan *plan = NULL;
  prem_status status = prem_schedule_load(path, NULL, schedule, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(*schedule, prem_registry_builtin(), diag);
  if (status == PREM_OK && !(*schedule)->plan) {
    status = prem_plan_make(*schedule, NULL, NULL, &plan, diag);
    if (status == PREM_OK)
      prem_schedule_set_plan(*schedule, plan);
  }
  return status;
}

static prem_status run(prem_session *session, prem_trace *trace, prem_diag *diag) {
  const prem_run_request request = {.mode = PREM_MODE_FREE, .hyperperiods = 1};
  prem_verdict verdict = {0};
  prem_status status = prem_session_poison(session);
  if (status == PREM_OK)
    status = prem_session_run(session, &request, trace, diag);
  if (status == PREM_OK)
    status = prem_session_verify(session, &verdict);
  return status == PREM_OK && !verdict.ok ? PREM_ERR_WRONG : status;
}

/* A failed session is good for closing only, and says so at once. */
static bool is_refused(prem_session *session, prem_trace *trace, prem_diag *diag) {
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = 1};
  prem_verdict verdict;
  return prem_session_poison(session) != PREM_OK &&
         prem_session_run(session, &request, trace, diag) != PREM_OK &&
         prem_session_verify(session, &verdict) != PREM_OK &&
         prem_session_save(session, true, diag) != PREM_OK;
}

/* A session of its own. @param fails  whether the run has to fail. */
static prem_status try(const prem_backend *backend, const char *path, bool fails, prem_diag *diag) {
  prem_schedule *schedule = NULL;
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  prem_status status = load(path, &schedule, diag);
  if (status == PREM_OK)
    status = prem_session_open(backend, schedule, &session, diag);
  if (status == PREM_OK)
    status = prem_trace_new(schedule, 1, 0, &trace);
  if (status == PREM_OK)
    status = run(session, trace, diag);
  if (fails && session && !is_refused(session, trace, diag)) {
    puts("a session runs on after a run that failed");
    status = PREM_ERR_ARGUMENT;
  }
  prem_trace_free(trace);
  prem_session_close(session);
  prem_schedule_free(schedule);
  printf("%s: %s\n", path, prem_status_text(status));
  return status;
}

int main(int argc, char **argv) {
  const prem_backend *backend = argc == 4 ? prem_backend_find(argv[1]) : NULL;
  if (!backend) {
    fputs("usage: run_again BACKEND FAULTY.cfg GOOD.cfg\n", stderr);
    return UNEXPECTED;
  }
  prem_diag *diag = prem_diag_new();
  int result = UNEXPECTED;
  if (try(backend, argv[2], true, diag) == PREM_ERR_MACHINE) {
    const prem_status again = try(backend, argv[3], false, diag);
    result = again == PREM_OK ? RIGHT : again == PREM_ERR_MACHINE ? REFUSED : UNEXPECTED;
  }
  print_diag(diag);
  prem_diag_free(diag);
  return result;
}
