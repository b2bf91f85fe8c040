/* SPDX-License-Identifier: Apache-2.0 */
/* Load a schedule, make it ready, run it time-triggered ten times, and say how late its phases were
 * and whether its outputs are right: hello FILE [BACKEND]. */
#include <inttypes.h>
#include <stdio.h>

#include <ttprem/ttprem.h>

static void tell(const prem_schedule *schedule, const prem_trace *trace) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      const prem_phase_stats *stats = &trace->stats[t * PREM_PHASE_COUNT + p];
      printf("%-10s %-9s %4" PRId64 " times, at most %" PRId64 " ns late, %" PRId64 " ns long\n",
             schedule->tasks[t].name, prem_phase_name((prem_phase)p), stats->count,
             stats->lateness_max_ns < 0 ? 0 : stats->lateness_max_ns, stats->duration_max_ns);
    }
}

static prem_status run(const prem_backend *backend, prem_schedule *schedule, prem_diag *diag) {
  const prem_run_request ten = {.mode = PREM_MODE_TT, .hyperperiods = 10};
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  prem_verdict verdict = {0};
  prem_status status = prem_session_open(backend, schedule, &session, diag);
  if (status == PREM_OK)
    status = prem_trace_new(schedule, ten.hyperperiods, 0, &trace); /* counts, no raw records */
  if (status == PREM_OK)
    status = prem_session_run(session, &ten, trace, diag);
  if (status == PREM_OK)
    status = prem_session_verify(session, &verdict);
  if (status == PREM_OK) {
    tell(schedule, trace);
    status = verdict.ok ? PREM_OK : PREM_ERR_WRONG;
    puts(verdict.ok ? "outputs right" : "outputs wrong");
  }
  prem_trace_free(trace);
  prem_session_close(session);
  return status;
}

int main(int argc, char **argv) {
  prem_diag *diag = prem_diag_new();
  const prem_backend *backend = prem_backend_find(argc > 2 ? argv[2] : "cpu");
  prem_schedule *schedule = NULL;
  prem_machine machine;
  if (argc < 2 || !backend)
    return puts("usage: hello FILE [sim|cpu|cuda]"), 2;
  prem_status status = prem_schedule_load(argv[1], NULL, &schedule, diag);
  if (status == PREM_OK)
    status = prem_backend_probe(backend, &machine, diag);
  if (status == PREM_OK)
    status = prem_prepare(schedule, prem_registry_builtin(), &machine, NULL, diag);
  if (status == PREM_OK)
    status = run(backend, schedule, diag);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    fprintf(stderr, "%s\n", prem_diag_at(diag, i)->reason);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  return status == PREM_OK ? 0 : 1;
}
