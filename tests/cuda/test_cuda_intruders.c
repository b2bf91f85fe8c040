/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intruders on the GPU: each works while a schedule runs, ends when it is told to, and what the
 * schedule computes stays right. Exit status 77 without a GPU, or in a build without the backend.
 *   test_cuda_intruders [SOURCE_DIR]
 */
#include "experiments/thesis/intruders/intruder.h"

#include "ttprem/ttprem.h"

#include <stdio.h>
#include <time.h>

enum { SKIPPED = 77, HYPERPERIODS = 200, SPARE_SMS = 2 };

static int failures;

static void expect(bool holds, const char *what, const prem_diag *diag) {
  if (holds)
    return;
  ++failures;
  printf("FAILED: %s\n", what);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    printf("  %s\n", prem_diag_at(diag, i)->reason);
}

static void ignore_progress(void *context, int64_t done, int64_t all) {
  (void)context;
  (void)done;
  (void)all;
}

static prem_session *open_schedule(const char *path, const prem_backend *backend,
                                   const prem_machine *machine, prem_schedule **schedule,
                                   prem_diag *diag) {
  prem_session *session = NULL;
  prem_plan *plan = NULL;
  prem_status status = prem_schedule_load(path, NULL, schedule, diag);
  if (status == PREM_OK)
    status = prem_schedule_bind(*schedule, prem_registry_builtin(), diag);
  if (status == PREM_OK && !(*schedule)->plan) {
    status = prem_plan_make(*schedule, machine, NULL, &plan, diag);
    prem_schedule_set_plan(*schedule, plan);
  }
  if (status == PREM_OK)
    prem_session_open(backend, *schedule, &session, diag);
  return session;
}

/* Something of the intruder before, during and after the run. */
static void run_beside(prem_intruder *intruder, prem_intruder_kind kind, prem_session *session,
                       const prem_schedule *schedule, prem_diag *diag) {
  const struct timespec pause = {.tv_nsec = 20000000};
  const prem_run_request request = {.mode = PREM_MODE_TT, .hyperperiods = HYPERPERIODS};
  const char *name = prem_intruder_name(kind, "cuda");
  prem_trace *trace = NULL;
  prem_intrusion done = {0};
  prem_verdict verdict = {0};
  expect(prem_trace_new(schedule, HYPERPERIODS, 0, &trace) == PREM_OK, name, diag);
  expect(prem_intruder_begin(intruder, kind, diag) == PREM_OK, name, diag);
  nanosleep(&pause, NULL);
  prem_session_poison(session);
  expect(prem_session_run(session, &request, trace, diag) == PREM_OK, name, diag);
  nanosleep(&pause, NULL);
  expect(prem_intruder_end(intruder, &done, diag) == PREM_OK, name, diag);
  expect(prem_session_verify(session, &verdict) == PREM_OK && verdict.ok, name, diag);
  printf("%s: %lld ns, %lld bytes; watched for %lld ns, %lld stops\n", name,
         (long long)done.lasted_ns, (long long)done.moved_bytes, (long long)done.seen.watched_ns,
         (long long)done.seen.count);
  expect(trace->hyperperiods == HYPERPERIODS, "all hyperperiods", diag);
  expect((done.moved_bytes > 0) == (kind != PREM_INTRUDER_NONE), "bytes moved", diag);
  expect(done.seen.watched_ns > done.lasted_ns / 10, "the clock was watched", diag);
  prem_trace_free(trace);
}

int main(int argc, char **argv) {
  static volatile sig_atomic_t stop;
  char path[4096];
  snprintf(path, sizeof path, "%s/schedules/examples/increment.cfg",
           argc > 1 ? argv[1] : SOURCE_DIR);
  prem_diag *diag = prem_diag_new();
  prem_machine machine;
  const prem_backend *backend = prem_backend_find("cuda");
  if (!backend || prem_backend_probe(backend, &machine, diag) != PREM_OK) {
    printf("no GPU\n");
    prem_diag_free(diag);
    return SKIPPED;
  }
  const prem_experiment_context context = {.backend = backend,
                                           .machine = &machine,
                                           .seed = 1,
                                           .stop = &stop,
                                           .progress = ignore_progress};
  prem_schedule *schedule = NULL;
  prem_intruder *intruder = NULL;
  prem_session *session = open_schedule(path, backend, &machine, &schedule, diag);
  expect(session != NULL, path, diag);
  expect(prem_intruder_open(&context, SPARE_SMS, &intruder, diag) == PREM_OK, "open", diag);
  for (int kind = 0; kind < PREM_INTRUDER_COUNT && !failures; ++kind)
    if (kind != PREM_INTRUDER_PROCESS) /* needs the command: tests/experiments/intruders.sh */
      run_beside(intruder, (prem_intruder_kind)kind, session, schedule, diag);
  prem_intruder_close(intruder);
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
  printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
