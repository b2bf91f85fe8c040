/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU backend on real schedules: every example in every mode and by every engine has to give
 * the references' outputs. Exit status 77 without a GPU, or in a build without the backend.
 *   test_cuda [SOURCE_DIR]
 */

#include <stdio.h>
#include <string.h>

#include "tests/common/plan_order.h"

enum { SKIPPED = 77, HYPERPERIODS = 3 };

static const char *const examples[] = {"schedules/examples/increment.cfg",
                                       "schedules/examples/conv2d.cfg",
                                       "schedules/examples/gang.cfg",
                                       "schedules/examples/two_rates.cfg",
                                       "schedules/examples/mixed.cfg",
                                       "schedules/examples/kcf.cfg",
                                       "schedules/figures/thesis_tile_kernelwise.cfg",
                                       "schedules/figures/thesis_tile_blockwise.cfg",
                                       "tests/cuda/all_kernels.cfg",
                                       "tests/cuda/ragged.cfg",
                                       "tests/cuda/many_jobs.cfg",
                                       "tests/cuda/late_reader.cfg",
                                       "tests/cuda/walks.cfg",
                                       "schedules/examples/bytes.cfg",
                                       "tests/cuda/types.cfg",
                                       "schedules/examples/spectrum.cfg",
                                       "tests/cuda/ffts.cfg",
                                       "tests/cuda/products.cfg"};

static int failures, runs;

static void fail(const char *what, const prem_diag *diag) {
  ++failures;
  printf("FAILED: %s\n", what);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    printf("  %s\n", prem_diag_at(diag, i)->reason);
}

static prem_schedule *planned(const char *path, const prem_machine *machine, prem_diag *diag) {
  prem_schedule *schedule = NULL;
  if (prem_schedule_load(path, NULL, &schedule, diag) != PREM_OK)
    return NULL;
  if (prem_prepare(schedule, prem_registry_builtin(), machine, NULL, diag) == PREM_OK)
    return schedule;
  prem_schedule_free(schedule);
  return NULL;
}

/* False: this GPU has no such mode or engine. */
static bool run(prem_session *session, const char *name, prem_mode mode, prem_engine engine,
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
    return false;
  }
  if (status == PREM_OK && prem_mode_computes(mode))
    status = prem_session_verify(session, &verdict);
  if (status != PREM_OK || (prem_mode_computes(mode) && !verdict.ok) ||
      trace->hyperperiods != HYPERPERIODS)
    fail(what, diag);
  if (trace->launch_ns <= 0 || trace->launch_ns > 1000000000) /* a launch takes microseconds */
    fail("the time from the call to S is not known, or cannot be", diag);
  return true;
}

/* Every job has ended, and behind its release. */
static void judge_ends(const prem_schedule *schedule, const char *name, const prem_trace *trace,
                       const prem_diag *diag) {
  for (int64_t h = 0; h < HYPERPERIODS; ++h)
    for (int32_t t = 0; t < schedule->task_count; ++t)
      for (int64_t j = trace->first_job[t]; j < trace->first_job[t + 1]; ++j) {
        const prem_task *task = &schedule->tasks[t];
        const int64_t release_ns = h * schedule->plan->hyperperiod_ns +
                                   (j - trace->first_job[t]) * task->period_ns + task->release_ns;
        char what[256];
        snprintf(what, sizeof what, "%.150s: a job of '%.40s' has no end behind its release", name,
                 task->name);
        if (trace->job_end_ns[h * trace->job_count + j] <= release_ns)
          fail(what, diag);
      }
}

/* A copy has one end, behind its start, and says how many bytes it moves. */
static void run_copy(prem_session *session, const prem_schedule *schedule, const char *name,
                     prem_trace *trace, prem_diag *diag) {
  if (!run(session, name, PREM_MODE_COPY, PREM_ENGINE_BEST, trace, diag))
    return;
  for (int64_t h = 0; h < HYPERPERIODS; ++h)
    for (int64_t job = 0; job < trace->job_count; ++job) {
      const int64_t *ends_ns = trace->job_end_ns + h * trace->job_count;
      if (ends_ns[job] <= h * schedule->plan->hyperperiod_ns || ends_ns[job] != ends_ns[0])
        fail("mode copy: its jobs do not end with it", diag);
    }
  if (!prem_session_mode_note(session, PREM_MODE_COPY))
    fail("mode copy does not say what it moves", diag);
}

/* Stopped before it begins, a run ends at once; the next one is as good as any. */
static void stop_and_go(prem_session *session, const char *name, prem_mode mode, prem_trace *trace,
                        prem_diag *diag) {
  static const volatile sig_atomic_t stop = 1;
  const prem_run_request request = {.mode = mode, .hyperperiods = HYPERPERIODS, .stop = &stop};
  if (prem_session_run(session, &request, trace, diag) != PREM_ERR_INTERRUPTED)
    fail("a stopped run is not told as interrupted", diag);
  run(session, name, mode, PREM_ENGINE_BEST, trace, diag);
}

/* One launch a job. Every way that was tried at the first run has to give the right output. */
static void run_ordinary(prem_session *session, const prem_schedule *schedule, const char *name,
                         prem_trace *trace, prem_diag *diag) {
  for (int mode = PREM_MODE_LEGACY; mode < PREM_MODE_COUNT; ++mode) {
    if (mode == PREM_MODE_COPY ||
        !run(session, name, (prem_mode)mode, PREM_ENGINE_BEST, trace, diag))
      continue;
    judge_ends(schedule, name, trace, diag);
    stop_and_go(session, name, (prem_mode)mode, trace, diag);
    if (mode > PREM_MODE_LAUNCHED && !prem_session_mode_note(session, (prem_mode)mode))
      fail("a mode does not say how it was run", diag);
  }
  run_copy(session, schedule, name, trace, diag);
  const prem_launch_search *launch_search = prem_session_launch_search(session);
  int32_t chosen = 0;
  for (int32_t i = 0; launch_search && i < launch_search->candidate_count; ++i) {
    char what[256];
    chosen += launch_search->candidates[i].chosen;
    snprintf(what, sizeof what, "%.100s, ordinary kernel: wrong output of %s", name,
             launch_search->candidates[i].way);
    if (launch_search->candidates[i].wrong)
      fail(what, diag);
  }
  if (chosen == 0)
    fail("no way of launching was chosen", diag);
}

/* Eight blocks and one token: somebody waits for longer than a phase takes, and the trace shows it.
 */
static void judge_token(const prem_backend *backend, const char *path,
                        const prem_machine *machine) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = planned(path, machine, diag);
  prem_session *session = NULL;
  OWNED(prem_trace) *trace = NULL;
  if (!schedule || prem_session_open(backend, schedule, &session, diag) != PREM_OK ||
      prem_trace_new(schedule, HYPERPERIODS, 100000, &trace) != PREM_OK) {
    fail(path, diag);
  } else {
    int64_t longest_wait_ns = 0, shortest_ns = INT64_MAX;
    run(session, path, PREM_MODE_LOCK, PREM_ENGINE_BEST, trace, diag);
    for (int64_t i = 0; i < trace->record_count; ++i) {
      const prem_trace_record *record = &trace->records[i];
      const int64_t wait_ns = record->start_ns - record->ready_ns;
      const int64_t took_ns = record->end_ns - record->start_ns;
      if (record->phase == PREM_COMPUTE || (record->flags & PREM_SLOT_WARMUP))
        continue;
      longest_wait_ns = wait_ns > longest_wait_ns ? wait_ns : longest_wait_ns;
      shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    if (longest_wait_ns <= shortest_ns)
      fail("mode lock: no memory phase was seen to wait for its token", diag);
  }
  prem_session_close(session);
}

/* No record twice, and each of a phase of this schedule that took some time. */
static bool records_are_whole(const prem_schedule *schedule, prem_trace *trace) {
  prem_trace_sort(trace);
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    if (i > 0 && memcmp(record - 1, record, sizeof *record) == 0)
      return false;
    if (record->task >= schedule->task_count || record->block >= schedule->platform.blocks ||
        record->phase >= PREM_PHASE_COUNT || record->hyperperiod < 0 ||
        record->hyperperiod >= HYPERPERIODS || record->end_ns < record->start_ns)
      return false;
  }
  return true;
}

/* With room for every record, and for a third of them: what is not there is counted. */
static void judge_room(const prem_backend *backend, const char *path, const prem_machine *machine) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = planned(path, machine, diag);
  OWNED(prem_session) *session = NULL;
  if (!schedule || prem_session_open(backend, schedule, &session, diag) != PREM_OK)
    fail(path, diag);
  int64_t all = 0;
  for (int tight = 0; session && tight < 2; ++tight) {
    OWNED(prem_trace) *trace = NULL;
    const int64_t room = tight ? all / 3 : 100000;
    if (prem_trace_new(schedule, HYPERPERIODS, room, &trace) != PREM_OK ||
        !run(session, path, PREM_MODE_TT, PREM_ENGINE_BEST, trace, diag)) {
      fail("no trace", diag);
    } else {
      if (!tight)
        all = trace->record_count;
      if (all == 0 || trace->record_count + trace->lost != all || (trace->lost > 0) != tight ||
          trace->record_count > trace->record_capacity)
        fail("records are neither there nor counted as lost", diag);
      if (!records_are_whole(schedule, trace))
        fail("a record is there twice, or is none of this schedule's", diag);
    }
  }
}

/* Tasks that share an array kept the plan's order, however late they were. */
static void judge_order(const prem_schedule *schedule, const char *name, const prem_trace *trace,
                        const prem_machine *machine) {
  if (trace->lost > 0)
    return;
  const order_counts order = order_judge(schedule, trace, 2 * machine->clock_step_ns);
  char what[256];
  snprintf(what, sizeof what, "%.150s: %lld of %lld jobs overtook another that uses their array",
           name, (long long)order.broken, (long long)order.pairs);
  if (order.broken > 0)
    fail(what, NULL);
}

/* But in mode free nobody is at the memory beside a walk of three blocks, or beside any other phase
 * where the plan has joined pairs: their halves are one. */
static void judge_memory(const prem_backend *backend, const char *path,
                         const prem_machine *machine) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_LOCK, PREM_MODE_FREE};
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = planned(path, machine, diag);
  prem_session *session = NULL;
  if (!schedule || prem_session_open(backend, schedule, &session, diag) != PREM_OK)
    fail(path, diag);
  for (size_t m = 0; session && m < sizeof modes / sizeof *modes; ++m) {
    OWNED(prem_trace) *trace = NULL;
    int64_t certain = -1, possible = -1;
    char what[256];
    if (prem_trace_new(schedule, HYPERPERIODS, 100000, &trace) != PREM_OK)
      fail("trace", NULL);
    /* where a GPU has stood still for a moment, phases meet once, and not again */
    for (int turn = modes[m] == PREM_MODE_FREE ? 2 : 0; trace && turn < 3 && certain != 0; ++turn) {
      if (!run(session, path, modes[m], PREM_ENGINE_BEST, trace, diag))
        break;
      prem_trace_sort(trace);
      prem_violations(schedule, trace, 0, machine->clock_skew_ns, &certain, &possible);
    }
    snprintf(what, sizeof what, "%.150s, mode %s: too many at the memory, %lld times", path,
             prem_mode_name(modes[m]), (long long)certain);
    if (modes[m] == PREM_MODE_FREE ? certain <= 0 : certain != 0)
      fail(what, diag);
  }
  prem_session_close(session);
}

static bool says(const prem_diag *diag, const char *words) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (strstr(prem_diag_at(diag, i)->reason, words))
      return true;
  return false;
}

/* A walk of seconds, for which nobody waits, is given up long before. The last case of all: the GPU
 * is lost to this process then. */
static void judge_long_walk(const prem_backend *backend, const char *path,
                            const prem_machine *machine) {
  const prem_run_request request = {
      .mode = PREM_MODE_FREE, .hyperperiods = 1, .timeout_ns = 100000000};
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = planned(path, machine, diag);
  prem_session *session = NULL;
  OWNED(prem_trace) *trace = NULL;
  ++runs;
  if (!schedule || prem_session_open(backend, schedule, &session, diag) != PREM_OK ||
      prem_trace_new(schedule, 1, 0, &trace) != PREM_OK)
    fail(path, diag);
  else if (prem_session_run(session, &request, trace, diag) != PREM_ERR_MACHINE)
    fail("a walk of seconds is not given up", diag);
  else if (!says(diag, "block 1, record 0 (compute of tile 0 of task 'walk'") ||
           !says(diag, "did not end in its planned time") || !says(diag, "does not return"))
    fail("a walk that is given up is not named", diag);
  prem_session_close(session);
}

static void run_all(const prem_backend *backend, const char *path, const prem_machine *machine) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = planned(path, machine, diag);
  OWNED(prem_session) *session = NULL;
  OWNED(prem_trace) *trace = NULL;
  if (!schedule || prem_session_open(backend, schedule, &session, diag) != PREM_OK ||
      prem_trace_new(schedule, HYPERPERIODS, 100000, &trace) != PREM_OK) {
    fail(path, diag);
  } else {
    static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; ++m)
      for (int engine = PREM_ENGINE_BULK; engine < PREM_ENGINE_COUNT; ++engine)
        if (run(session, path, modes[m], (prem_engine)engine, trace, diag))
          judge_order(schedule, path, trace, machine);
    run_ordinary(session, schedule, path, trace, diag);
  }
}

int main(int argc, char **argv) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* as the command does */
  const prem_backend *backend = prem_backend_find("cuda");
  prem_machine machine;
  if (!backend || prem_backend_probe(backend, &machine, NULL) != PREM_OK) {
    puts(backend ? "skipped: no GPU here" : "skipped: the GPU backend is not in this build");
    return SKIPPED;
  }
  if (strncmp(machine.uuid, "GPU-", 4) != 0 || !strstr(machine.driver, "CUDA "))
    fail("the GPU's UUID or its driver's version is not known", NULL);
  for (size_t i = 0; i < sizeof examples / sizeof *examples; ++i) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", argc > 1 ? argv[1] : SOURCE_DIR, examples[i]);
    run_all(backend, path, &machine);
  }
  char path[1024];
  snprintf(path, sizeof path, "%s/schedules/figures/thesis_phase_blockwise.cfg",
           argc > 1 ? argv[1] : SOURCE_DIR);
  judge_token(backend, path, &machine);
  judge_room(backend, path, &machine);
  snprintf(path, sizeof path, "%s/schedules/examples/mixed.cfg", argc > 1 ? argv[1] : SOURCE_DIR);
  judge_memory(backend, path, &machine);
  snprintf(path, sizeof path, "%s/tests/cuda/walks.cfg", argc > 1 ? argv[1] : SOURCE_DIR);
  judge_memory(backend, path, &machine);
  snprintf(path, sizeof path, "%s/tests/cuda/long_walk.cfg", argc > 1 ? argv[1] : SOURCE_DIR);
  judge_long_walk(backend, path, &machine);
  printf("%d runs, %d failed\n", runs, failures);
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
