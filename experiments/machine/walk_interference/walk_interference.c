/* SPDX-License-Identifier: Apache-2.0 */
/* Walks while the host's cores keep their memory busy. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/common/caches.h"
#include "experiments/common/interference.h"
#include "experiments/common/tables.h"

enum {
  SIZES = 3,
  ORDERS = 2,
  MAX_THREADS = 3, /* different numbers of them */
  MEMORIES = 2,
  WALKS = SIZES * ORDERS * MAX_THREADS,
  GPU_STEPS = 2048,
  CPU_STEPS = 1 << 16,
  REPEATS = 5,
  QUICK_REPEATS = 3,
  UNKNOWN_CACHE_BYTES = 16 << 20
};

typedef struct interference_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_walker *walker;
  bool gpu;
  int64_t cache_bytes, sizes[SIZES];
  int32_t threads[MAX_THREADS];
  int thread_counts, memories;
  prem_table *tables[MEMORIES];
  double alone_ns[MEMORIES][WALKS];
  double within, beyond, mapped; /* largest slow-downs */
  int64_t done, all;
} interference_study;

/* ---- tables --------------------------------------------------------------------------------- */

static const char *memory_name(const interference_study *study, int memory) {
  if (!study->gpu)
    return "host";
  return memory ? "mapped" : "device";
}

static void begin_table(interference_study *study, int memory) {
  char title[96];
  const char *name = memory_name(study, memory);
  snprintf(title, sizeof title, "Walks in %s memory under interference of the cores: slow-down",
           name);
  prem_table *table = prem_findings_table(study->findings, name, title, NULL);
  prem_table_columns(table, "walk; interference; mean [ns]; least [ns]; largest [ns]; slow-down");
  prem_findings_chart(study->findings, &(prem_chart){.kind = PREM_CHART_BARS,
                                                     .title = title,
                                                     .table = name,
                                                     .x = "walk",
                                                     .y = "slow-down",
                                                     .series = "interference"});
  study->tables[memory] = table;
}

static void add_row(const interference_study *study, int memory, const prem_walk *walk,
                    prem_interference_kind kind, const prem_walk_time *time, double alone_ns) {
  prem_table *table = study->tables[memory];
  char name[64];
  snprintf(name, sizeof name, "%s, %" PRId32 " x %" PRId64 " KiB",
           prem_walk_order_name(walk->order), walk->threads, walk->bytes / 1024);
  prem_table_row(table, TEXT(name), TEXT(prem_interference_name(kind)), REAL(time->mean_ns),
                 REAL(time->min_ns), REAL(time->max_ns), REAL(time->mean_ns / alone_ns));
}

/* ---- measuring ------------------------------------------------------------------------------ */

static prem_status measure_walk(interference_study *study, int memory, int number,
                                const prem_walk *walk, prem_interference_kind kind) {
  const int32_t repeats = study->context->quick ? QUICK_REPEATS : REPEATS;
  prem_walk_time time;
  prem_status status = prem_walk_measure(study->walker, walk, repeats, &time, study->diag);
  if (status != PREM_OK)
    return status;
  double *alone_ns = &study->alone_ns[memory][number];
  if (kind == PREM_INTERFERENCE_NONE)
    *alone_ns = time.mean_ns;
  add_row(study, memory, walk, kind, &time, *alone_ns);
  double *max = memory                              ? &study->mapped
                : walk->bytes <= study->cache_bytes ? &study->within
                                                    : &study->beyond;
  *max = fmax(*max, time.mean_ns / *alone_ns);
  prem_findings_output(study->findings, time.right);
  prem_experiment_progress(study->context, ++study->done, study->all);
  return PREM_OK;
}

static prem_status measure_walks(interference_study *study, prem_interference_kind kind) {
  for (int memory = 0; memory < study->memories; ++memory) {
    int number = 0;
    for (int order = PREM_WALK_RANDOM; order >= PREM_WALK_SEQUENTIAL; --order)
      for (int size = 0; size < SIZES; ++size)
        for (int i = 0; i < study->thread_counts; ++i) {
          const prem_walk walk = {.bytes = study->sizes[size],
                                  .order = (prem_walk_order)order,
                                  .path = PREM_WALK_L2,
                                  .mapped = memory == 1,
                                  .kernels = 1,
                                  .threads = study->threads[i],
                                  .steps = study->gpu ? GPU_STEPS : CPU_STEPS};
          prem_status status = measure_walk(study, memory, number++, &walk, kind);
          if (status != PREM_OK)
            return status;
        }
  }
  return PREM_OK;
}

/** The walker of the host keeps the first core for itself. */
static prem_status measure(interference_study *study) {
  prem_experiment_progress(study->context, 0, study->all);
  for (int kind = 0; kind < PREM_INTERFERENCE_COUNT; ++kind) {
    prem_interference *interference = NULL;
    prem_status status = prem_interference_begin((prem_interference_kind)kind, study->gpu ? 0 : 1,
                                                 study->context->seed, &interference, study->diag);
    if (status == PREM_OK)
      status = measure_walks(study, (prem_interference_kind)kind);
    const double bytes_per_s = prem_interference_end(interference);
    if (status != PREM_OK)
      return status;
    if (bytes_per_s > 0)
      prem_findings_note(study->findings,
                         "Cores that changed lines in %s order read and wrote %.1f GB/s.",
                         prem_interference_name((prem_interference_kind)kind), bytes_per_s * 1e-9);
    else if (kind != PREM_INTERFERENCE_NONE)
      prem_findings_note(study->findings,
                         "There is no core left that could interfere: the machine has but one.");
  }
  return PREM_OK;
}

/* ---- the experiment ------------------------------------------------------------------------- */

static void choose(interference_study *study) {
  static const int32_t gpu_threads[MAX_THREADS] = {1, 32, 128};
  study->gpu = strcmp(prem_backend_name(study->context->backend), "cuda") == 0;
  study->memories = study->gpu ? MEMORIES : 1;
  study->thread_counts = study->gpu ? MAX_THREADS : 1;
  memcpy(study->threads, gpu_threads, sizeof gpu_threads);
  study->cache_bytes = prem_largest_cache_bytes(study->context->backend);
  if (study->cache_bytes == 0)
    study->cache_bytes = UNKNOWN_CACHE_BYTES;
  study->sizes[0] = 128 * 1024;
  study->sizes[1] = 512 * 1024;
  study->sizes[2] = 2 * study->cache_bytes;
  study->all =
      (int64_t)PREM_INTERFERENCE_COUNT * study->memories * ORDERS * SIZES * study->thread_counts;
}

static void tell(const interference_study *study) {
  if (study->gpu)
    prem_findings_verdict(study->findings,
                          "Interference of all cores slows walks in device memory down by at most "
                          "%.2f times within L2 and %.2f times beyond it, and walks in mapped host "
                          "memory by up to %.2f times.",
                          study->within, study->beyond, study->mapped);
  else
    prem_findings_verdict(study->findings,
                          "Interference of the other cores slows walks down by at most %.2f times "
                          "within the shared cache of %" PRId64 " KiB and by up to %.2f times "
                          "beyond it.",
                          study->within, study->cache_bytes / 1024, study->beyond);
  prem_findings_note(study->findings,
                     "The original (thesis, TX2, whose GPU and cores share one memory) saw only "
                     "data sets beyond L2 suffer, and walks in mapped memory always. Its cores' "
                     "sequential walks load the memory controller to 70 %%, random ones to 17 %%.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  interference_study study = {.context = context,
                              .findings = findings,
                              .diag = diag,
                              .within = 1,
                              .beyond = 1,
                              .mapped = 1};
  choose(&study);
  prem_status status =
      prem_walker_open(context, study.sizes[SIZES - 1], study.gpu, &study.walker, diag);
  if (status != PREM_OK)
    return status;
  for (int memory = 0; memory < study.memories; ++memory)
    begin_table(&study, memory);
  status = measure(&study);
  if (status == PREM_OK)
    tell(&study);
  prem_walker_close(study.walker);
  return status;
}

const prem_experiment prem_walk_interference_experiment = {
    .name = "walk_interference",
    .title = "Walks under interference of the host's cores",
    .question = "Whose walks do cores slow down that keep their own memory busy?",
    .backends = "cuda cpu",
    .run = run,
};
