/*
 * The GPU backend on real schedules: every example in every mode and by every engine has to give
 * the references' outputs. Exit status 77 without a GPU, or in a build without the backend.
 *   test_cuda [SOURCE_DIR]
 */
#include "ttprem/ttprem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, HYPERPERIODS = 3 };

static const char *const examples[] = {
    "examples/increment.cfg",           "examples/conv2d.cfg", "examples/gang.cfg",
    "examples/two_rates.cfg",           "examples/mixed.cfg",  "figures/thesis_tile_kernelwise.cfg",
    "figures/thesis_tile_blockwise.cfg"};

static int failures, runs;

static void fail(const char *what, const prem_diag *diag) {
  ++failures;
  printf("FAILED: %s\n", what);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    printf("  %s\n", prem_diag_at(diag, i)->reason);
}

static prem_schedule *planned(const char *path, const prem_machine *machine, prem_diag *diag) {
  prem_schedule *schedule = NULL;
  prem_plan *plan = NULL;
  if (prem_schedule_load(path, NULL, &schedule, diag) != PREM_OK)
    return NULL;
  prem_status status = prem_schedule_bind(schedule, prem_registry_builtin(), diag);
  if (status == PREM_OK && !schedule->plan) {
    status = prem_plan_make(schedule, machine, NULL, &plan, diag);
    prem_schedule_set_plan(schedule, plan);
  }
  if (status == PREM_OK)
    status = prem_check(schedule, machine, diag);
  if (status == PREM_OK)
    return schedule;
  prem_schedule_free(schedule);
  return NULL;
}

static void run(prem_session *session, const char *name, prem_mode mode, prem_engine engine,
                prem_trace *trace, prem_diag *diag) {
  const prem_run_request request = {.mode = mode, .hyperperiods = HYPERPERIODS, .engine = engine};
  char what[256];
  snprintf(what, sizeof what, "%.180s, mode %s, engine %s", name, prem_mode_name(mode),
           prem_engine_name(engine));
  ++runs;
  prem_verdict verdict = {0};
  prem_status status = prem_session_poison(session);
  if (status == PREM_OK)
    status = prem_session_run(session, &request, trace, diag);
  if (status == PREM_ERR_UNAVAILABLE) {
    printf("not on this GPU: %s\n", what);
    return;
  }
  if (status == PREM_OK)
    status = prem_session_verify(session, &verdict);
  if (status != PREM_OK || !verdict.ok || trace->hyperperiods != HYPERPERIODS)
    fail(what, diag);
}

static void run_all(const prem_backend *backend, const char *path, const prem_machine *machine) {
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = planned(path, machine, diag);
  prem_session *session = NULL;
  prem_trace *trace = NULL;
  if (!schedule || prem_session_open(backend, schedule, &session, diag) != PREM_OK ||
      prem_trace_new(schedule, HYPERPERIODS, 100000, &trace) != PREM_OK) {
    fail(path, diag);
  } else {
    static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m)
      for (int engine = PREM_ENGINE_BULK; engine < PREM_ENGINE_COUNT; ++engine)
        run(session, path, modes[m], (prem_engine)engine, trace, diag);
  }
  prem_trace_free(trace);
  prem_session_close(session);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

int main(int argc, char **argv) {
  const prem_backend *backend = prem_backend_find("cuda");
  prem_machine machine;
  if (!backend || prem_backend_probe(backend, &machine, NULL) != PREM_OK) {
    puts(backend ? "skipped: no GPU here" : "skipped: the GPU backend is not in this build");
    return SKIPPED;
  }
  for (size_t i = 0; i < sizeof examples / sizeof *examples; ++i) {
    char path[1024];
    snprintf(path, sizeof path, "%s/schedules/%s", argc > 1 ? argv[1] : SOURCE_DIR, examples[i]);
    run_all(backend, path, &machine);
  }
  printf("%d runs, %d failed\n", runs, failures);
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
