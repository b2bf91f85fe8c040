/* SPDX-License-Identifier: Apache-2.0 */
/* Walks by 1 to 1024 threads of one block. */
#include <inttypes.h>
#include <math.h>

#include "experiments/common/tables.h"
#include "experiments/common/walks.h"

static const int64_t sizes_kib[] = {1, 4, 16, 64, 256};
static const int32_t thread_counts[] = {1,   2,   4,   8,   16,  24,  32,  40,  48,  64,  96,  128,
                                        160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512,
                                        544, 576, 608, 640, 704, 768, 832, 896, 960, 1024};
enum {
  SIZES = sizeof sizes_kib / sizeof sizes_kib[0],
  THREAD_COUNTS = sizeof thread_counts / sizeof thread_counts[0],
  QUICK_STEP = 3, /* it keeps 1, 32 and 1024 threads */
  STEPS = 2048,
  REPEATS = 3
};

/** What the verdict compares: random walks of the longest list. */
typedef struct key_times {
  double one_ns, warp_ns, all_ns;
} key_times;

static prem_table *begin_table(prem_findings *findings, prem_walk_order order) {
  const bool random = order == PREM_WALK_RANDOM;
  const char *title = random ? "Random walks: time of an access over the threads"
                             : "Sequential walks: time of an access over the threads";
  const char *name = prem_walk_order_name(order);
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_columns(table, "list in KiB; threads; mean [ns]; least [ns]; largest [ns]");
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_LINES,
                                              .title = title,
                                              .table = name,
                                              .x = "threads",
                                              .y = "mean",
                                              .low = "least",
                                              .high = "largest",
                                              .series = "list in KiB"});
  return table;
}

static void add_row(prem_table *table, const prem_walk *walk, const prem_walk_time *time) {
  prem_table_row(table, INT(walk->bytes / 1024), INT(walk->threads), REAL(time->mean_ns),
                 REAL(time->min_ns), REAL(time->max_ns));
}

static void keep_key_time(key_times *key, const prem_walk *walk, double mean_ns) {
  if (walk->order != PREM_WALK_RANDOM || walk->bytes != sizes_kib[SIZES - 1] * 1024)
    return;
  if (walk->threads == 1)
    key->one_ns = mean_ns;
  if (walk->threads == 32)
    key->warp_ns = mean_ns;
  if (walk->threads == PREM_WALK_THREADS)
    key->all_ns = mean_ns;
}

static prem_status measure(const prem_experiment_context *context, prem_walker *walker,
                           prem_findings *findings, key_times *key, prem_diag *diag) {
  const int step = context->quick ? QUICK_STEP : 1;
  const int64_t all = INT64_C(2) * SIZES * ((THREAD_COUNTS + step - 1) / step);
  int64_t done = 0;
  prem_experiment_progress(context, 0, all);
  for (int order = PREM_WALK_RANDOM; order >= PREM_WALK_SEQUENTIAL; --order) {
    prem_table *table = begin_table(findings, (prem_walk_order)order);
    for (int size = 0; size < SIZES; ++size)
      for (int i = 0; i < THREAD_COUNTS; i += step) {
        const prem_walk walk = {.bytes = sizes_kib[size] * 1024,
                                .order = (prem_walk_order)order,
                                .path = PREM_WALK_L2,
                                .kernels = 1,
                                .threads = thread_counts[i],
                                .steps = STEPS};
        prem_walk_time time;
        prem_status status = prem_walk_measure(walker, &walk, REPEATS, &time, diag);
        if (status != PREM_OK)
          return status;
        add_row(table, &walk, &time);
        keep_key_time(key, &walk, time.mean_ns);
        prem_findings_output(findings, time.right);
        prem_experiment_progress(context, ++done, all);
      }
  }
  return PREM_OK;
}

static void tell(prem_findings *findings, const key_times *key) {
  prem_findings_verdict(findings,
                        "Walking %" PRId64
                        " KiB at random past L1, an access takes %.0f ns for one "
                        "thread, %.0f ns (%.2f times) for 32 and %.0f ns (%.2f times) for 1024.",
                        sizes_kib[SIZES - 1], key->one_ns, key->warp_ns, key->warp_ns / key->one_ns,
                        key->all_ns, key->all_ns / key->one_ns);
  prem_findings_note(findings,
                     "The original (thesis, TX2; random walks) saw the mean rise to 32 threads, "
                     "dip, stay flat from 64 to 256 and rise again, and beyond 256 no spread at "
                     "multiples of 64 threads. Its sequential walks take about as long with any "
                     "number of threads (157 to 159 cycles in the authors' raw data, "
                     "github.com/CTU-IIG/tt-gpu): there neighbouring threads begin at neighbouring "
                     "elements, here they are spread over the list.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  prem_walker *walker = NULL;
  key_times key = {NAN, NAN, NAN};
  prem_status status = prem_walker_open(context, sizes_kib[SIZES - 1] * 1024, false, &walker, diag);
  if (status == PREM_OK)
    status = measure(context, walker, findings, &key, diag);
  if (status == PREM_OK)
    tell(findings, &key);
  prem_walker_close(walker);
  return status;
}

const prem_experiment prem_walk_threads_experiment = {
    .name = "walk_threads",
    .title = "Walks by 1 to 1024 threads of a block",
    .question = "How does the time of an access grow with the threads that walk at once?",
    .backends = "cuda",
    .run = run,
};
