/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to execute work that makes work, side by side. */
#include "experiments/common/cores.h"
#include "experiments/common/probe.h"
#include "experiments/machine/execution_models/world.h"
#include "ttprem/measure.h"

enum { MOST_CORES = 64, MOST_TURNS = 31, TRIES = 3 };

static const char *const workloads[MODEL_WORKLOADS] = {"ships", "reyes", "queens", "field"};
static const char *const models[MODEL_KINDS] = {
    "stage by stage",     "streams",    "graphs from the GPU",    "nested kernels", "one queue",
    "persistent threads", "megakernel", "megakernel, local first"};

typedef struct models_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_table *found;
  bool gpu;
  int32_t cores;
} models_study;

static bool is_here(const models_study *study, int kind) {
  return kind >= MODEL_PERSISTENT || kind == MODEL_STAGE_BY_STAGE ||
         (kind == MODEL_POOL) != study->gpu;
}

/** Does it have so many blocks on each SM? The others have as many as there are items for. */
static bool has_blocks(const models_study *study, int kind) {
  return study->gpu && (kind == MODEL_GRAPHS || kind >= MODEL_PERSISTENT);
}

static prem_status measure(const models_study *study, const model_run *run, prem_summary *times,
                           model_result *result) {
  int64_t ns[MOST_TURNS];
  prem_status status = PREM_ERR_INTERRUPTED;
  if (prem_experiment_stopped(study->context))
    return status;
#ifdef TTPREM_CUDA
  if (study->gpu)
    status = prem_gpu_model_run(run, ns, result, study->diag);
#endif
  if (!study->gpu)
    status = model_host_run(run, ns, result, study->diag);
  if (status == PREM_OK)
    prem_summarise(ns, result->turns, times);
  return status;
}

/** The best of some shapes: threads of a block and blocks that stay; threads of a CPU. One that is
 *  wrong ends the search, so that it has a row. */
static prem_status choose_shape(const models_study *study, model_run *run, model_result *result) {
  const uint32_t cores = (uint32_t)study->cores, blocks = has_blocks(study, (int)run->kind) ? 8 : 1;
  const uint32_t step = study->gpu && study->context->quick ? 4 : 2;
  model_run best = *run;
  int64_t least_ns = INT64_MAX;
  run->turns = TRIES;
  for (run->threads = study->gpu ? 64 : cores; run->threads <= (study->gpu ? 256 : 2 * cores);
       run->threads *= step)
    for (run->blocks = 1; run->blocks <= blocks; run->blocks *= step) {
      prem_summary times;
      const prem_status status = measure(study, run, &times, result);
      if (status != PREM_OK && status != PREM_ERR_UNAVAILABLE)
        return status;
      if (status == PREM_OK && !result->ok)
        return PREM_OK;
      if (status == PREM_OK && times.p50 < least_ns) {
        least_ns = times.p50;
        best = *run;
      }
    }
  *run = best;
  return least_ns == INT64_MAX ? PREM_ERR_UNAVAILABLE : PREM_OK;
}

static prem_status begin_workload(const models_study *study, int workload, model_run *run,
                                  uint64_t *items) {
  static const model_work all[MODEL_WORKLOADS] = {{MODEL_SHIPS, 8, 1024},
                                                  {MODEL_REYES, 7, 128},
                                                  {MODEL_QUEENS, 14, 196},
                                                  {MODEL_FIELD, 9, 256}};
  static const model_work few[MODEL_WORKLOADS] = {
      {MODEL_SHIPS, 5, 64}, {MODEL_REYES, 3, 8}, {MODEL_QUEENS, 10, 100}, {MODEL_FIELD, 6, 256}};
  const bool is_small = study->context->quick || !study->gpu;
  const uint64_t solutions = is_small ? 724 : 365596; /* of 10 and of 14 queens */
  uint64_t counts[MODEL_STAGES];
  *run = (model_run){.work = is_small ? few[workload] : all[workload],
                     .room = 2,
                     .patience_ns = study->gpu ? 1000000000 : 20000000000};
  const prem_status status = model_reference(&run->work, &run->right, counts);
  *items = 0;
  for (int stage = 0; stage < MODEL_STAGES && status == PREM_OK; ++stage) {
    while (run->room < counts[stage])
      run->room *= 2;
    *items += counts[stage];
  }
  prem_findings_output(study->findings, workload != MODEL_QUEENS || run->right.value == solutions);
  return status;
}

static prem_status measure_workload(models_study *study, int workload) {
  model_run run;
  uint64_t items;
  prem_status status = begin_workload(study, workload, &run, &items);
  for (int kind = 0; kind < MODEL_KINDS && status == PREM_OK; ++kind) {
    prem_summary times;
    model_result result;
    run.kind = (model_kind)kind;
    run.ring_room = kind == MODEL_MEGAKERNEL || kind == MODEL_LOCAL ? run.room : 2;
    if (!is_here(study, kind))
      continue;
    status = choose_shape(study, &run, &result);
    if (status == PREM_ERR_UNAVAILABLE) {
      prem_findings_note(study->findings, "%s, %s: not possible here: %s.", workloads[workload],
                         models[kind], result.why);
      status = PREM_OK;
      continue;
    }
    run.turns = study->context->quick ? 5 : MOST_TURNS;
    if (status == PREM_OK)
      status = measure(study, &run, &times, &result);
    if (status != PREM_OK)
      return status;
    prem_table_row(study->found, TEXT(workloads[workload]), TEXT(models[kind]), INT(times.p50),
                   INT(result.ok), INT(times.max), INT((int64_t)items),
                   INT_IF(kind != MODEL_PERSISTENT, 8 * (int64_t)result.most),
                   INT((int64_t)result.full), INT((int64_t)result.launches), INT(run.threads),
                   INT_IF(has_blocks(study, kind), run.blocks));
    prem_findings_output(study->findings, result.ok);
    prem_experiment_progress(study->context, workload * MODEL_KINDS + kind + 1,
                             MODEL_WORKLOADS * MODEL_KINDS);
  }
  return status;
}

static prem_status measure_all(const prem_probe_call *call) {
  int32_t cores[MOST_CORES];
  models_study study = {.context = call->context,
                        .findings = call->findings,
                        .diag = call->diag,
                        .found = call->found,
                        .gpu = prem_is_gpu(call->context->backend),
                        .cores = prem_cores_list(cores, MOST_CORES)};
  prem_status status = PREM_OK;
  for (int workload = 0; workload < MODEL_WORKLOADS && status == PREM_OK; ++workload)
    status = measure_workload(&study, workload);
  return status;
}

const prem_probe prem_models_probe = {
    "workload [text]; model [text]; p50; ok; max; items; most; full; launches; threads; blocks",
    measure_all, NULL};
