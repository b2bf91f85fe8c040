/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way to start work on the GPU and to wait for it, with every work: outputs are right, all
 * blocks run, and nothing stays behind. Live sessions are shown where the backend has them. Exit
 * status 77 without a GPU, or in a build without the backend.
 *   test_cuda_ways [SOURCE_DIR [WAY]]     all of them, or number WAY alone
 */
#include "experiments/live/live_pipeline/pipeline.h"
#include "experiments/live/ways/ways.h"

#include "tests/common/owned.h"

#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77, TURNS = 250 /* more than a parent may launch */, FRAMES = 20 };

static int failures, runs, left_out;
static volatile sig_atomic_t stop;

static void ignore_progress(void *context, int64_t done, int64_t all) {
  (void)context, (void)done, (void)all;
}

static const char *reason_of(const prem_diag *diag, prem_status status) {
  const size_t count = prem_diag_count(diag);
  return count > 0 ? prem_diag_at(diag, count - 1)->reason : prem_status_text(status);
}

static void judge(const char *what, prem_status status, bool right, const prem_diag *diag) {
  ++runs;
  if (status == PREM_ERR_UNAVAILABLE) {
    ++left_out;
    printf("left out: %s: %s\n", what, reason_of(diag, status));
  } else if (status != PREM_OK || !right) {
    ++failures;
    printf("FAILED: %s: %s\n", what, status == PREM_OK ? "wrong outputs" : reason_of(diag, status));
  }
}

static void run_way(const prem_experiment_context *context, const prem_way_setup *setup,
                    bool stamped) {
  static int64_t response_ns[TURNS], whole_ns[TURNS], device_ns[TURNS];
  prem_way_samples samples = {
      .room = TURNS, .response_ns = response_ns, .whole_ns = whole_ns, .device_ns = device_ns};
  const prem_way_turns turns = {
      .warm_up = 5, .count = TURNS, .end_ns = INT64_MAX, .stamped = stamped, .stop = &stop};
  char what[200];
  snprintf(what, sizeof what, "%s, %s %d, %s, %d x %d%s", prem_way_name(setup->way),
           prem_work_name(setup->work), (int)setup->size, prem_way_memory_name(setup->memory),
           (int)setup->blocks, (int)setup->threads, stamped ? ", stamped" : "");
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status = prem_way_run(context, setup, &turns, &samples, diag);
  bool right = samples.wrong == 0;
  right &= (stamped ? samples.device_count : samples.count) == TURNS;
  judge(what, status, right, diag);
}

static void run_works(const prem_experiment_context *context, prem_way way, int32_t blocks) {
  static const int32_t sizes[] = {0, 1000, 64, 1000, 1000};
  for (int work = 0; work <= PREM_WORK_MIXED; ++work) {
    if (way == PREM_WAY_WORD && (work != PREM_WORK_EMPTY || blocks != 1))
      continue;
    if (way == PREM_WAY_QUEUED_GRAPH && work == PREM_WORK_MIXED)
      continue; /* graphs of one batch are chosen before their commands are known */
    const prem_way_setup setup = {.way = way,
                                  .work = (prem_work)work,
                                  .size = sizes[work],
                                  .blocks = blocks,
                                  .threads = way == PREM_WAY_WORD ? 1 : 256,
                                  .pace_ns = way == PREM_WAY_LIVE ? 100000 : 0,
                                  .mode = PREM_MODE_FREE};
    run_way(context, &setup, false);
    if (way != PREM_WAY_LIVE)
      run_way(context, &setup, true);
  }
}

static void run_memories(const prem_experiment_context *context, prem_way way) {
  for (int memory = 0; memory < PREM_MEMORY_COUNT; ++memory) {
    const bool copied = memory >= PREM_MEMORY_COPIED;
    if (way == PREM_WAY_RESIDENT && copied)
      continue;
    if (way == PREM_WAY_GRAPH && memory == PREM_MEMORY_PAGEABLE)
      continue;
    const prem_way_setup setup = {.way = way,
                                  .work = PREM_WORK_INCREMENT,
                                  .size = 1024,
                                  .memory = (prem_way_memory)memory,
                                  .blocks = 4,
                                  .threads = 256};
    run_way(context, &setup, false);
  }
}

static void run_pipeline(const prem_experiment_context *context, prem_pipeline_way way,
                         int32_t buffers) {
  const prem_pipeline_setup setup = {
      .way = way, .buffers = buffers, .floats = 100000, .blocks = 8, .threads = 512};
  int64_t age_ns[FRAMES];
  prem_pipeline_run run = {
      .warm_up = 5, .count = FRAMES, .end_ns = INT64_MAX, .stop = &stop, .age_ns = age_ns};
  char what[64];
  snprintf(what, sizeof what, "pipeline %d with %d buffers", way, (int)buffers);
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status = way == PREM_PIPELINE_LIVE
                                 ? prem_pipeline_live(context, &setup, &run, diag)
                                 : prem_pipeline_on_gpu(&setup, &run, diag);
  judge(what, status, run.wrong == 0 && run.frames == FRAMES, diag);
}

/* What live sessions multiply with: no other suite runs it on the GPU. */
static void run_products(const prem_experiment_context *context, const char *source) {
  static const prem_mode modes[] = {PREM_MODE_TT, PREM_MODE_FREE, PREM_MODE_LOCK};
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_session) *session = NULL;
  OWNED(prem_trace) *trace = NULL;
  char path[512];
  snprintf(path, sizeof path, "%s/tests/cuda/products.cfg", source);
  prem_status status = prem_schedule_load(path, NULL, &schedule, diag);
  if (status == PREM_OK)
    status = prem_prepare(schedule, prem_registry_builtin(), context->machine, NULL, diag);
  if (status == PREM_OK)
    status = prem_session_open(context->backend, schedule, &session, diag);
  if (status == PREM_OK)
    status = prem_trace_new(schedule, 3, 0, &trace);
  for (size_t m = 0; m < sizeof modes / sizeof *modes && status == PREM_OK; ++m) {
    const prem_run_request request = {.mode = modes[m], .hyperperiods = 3};
    prem_verdict verdict = {0};
    status = prem_session_poison(session);
    if (status == PREM_OK)
      status = prem_session_run(session, &request, trace, diag);
    if (status == PREM_OK)
      status = prem_session_verify(session, &verdict);
    judge("products.cfg", status, verdict.ok, diag);
  }
  if (!trace)
    judge("products.cfg", status, false, diag);
}

static void run_all(const prem_experiment_context *context, const char *source, int only) {
  static const prem_way memories[] = {PREM_WAY_LAUNCH, PREM_WAY_RESIDENT, PREM_WAY_GRAPH};
  for (int way = 0; way < PREM_WAY_COUNT; ++way)
    for (int32_t blocks = 1; blocks <= 3 && (only < 0 || only == way); blocks += 2)
      run_works(context, (prem_way)way, blocks);
  for (size_t m = 0; m < sizeof memories / sizeof *memories && only < 0; ++m)
    run_memories(context, memories[m]);
  for (int way = 0; way < PREM_PIPELINE_COUNT && only < 0; ++way)
    for (int32_t buffers = way == PREM_PIPELINE_LIVE ? 2 : 1; buffers <= 4; ++buffers)
      run_pipeline(context, (prem_pipeline_way)way, buffers);
  if (only < 0)
    run_products(context, source);
}

int main(int argc, char **argv) {
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
  run_all(&context, argc > 1 ? argv[1] : SOURCE_DIR, argc > 2 ? atoi(argv[2]) : -1);
  prem_diag_free(diag);
  printf("%d runs, %d left out, %d failures%s\n", runs, left_out, failures,
         prem_gpu_way_lives() ? "" : "; the GPU does not work any more");
  return failures || !prem_gpu_way_lives() ? 1 : 0;
}
