/* SPDX-License-Identifier: Apache-2.0 */
/* Walks by 1 to 16 kernels at once, each in a list of its own. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/common/caches.h"
#include "experiments/common/cores.h"
#include "experiments/common/tables.h"

enum {
  MAX_SIZES = 6,
  GPU_STEPS = 2048,
  CPU_STEPS = 1 << 16,
  REPEATS = 3,
  UNKNOWN_CACHE_BYTES = 16 << 20
};

static const double slower = 1.1; /* than alone: slowed down */

/** What is walked. */
typedef struct walk_plan {
  int64_t sizes[MAX_SIZES]; /* bytes of each kernel's list */
  int size_count;
  int32_t kernels[PREM_WALK_KERNELS];
  int kernel_counts;
  int32_t threads[3];
  int thread_counts;
  int64_t steps, cache_bytes;
} walk_plan;

/** The original's sizes, then parts of the cache that all share, so that its edge is met with few
 *  kernels as well as with many. */
static void choose_sizes(walk_plan *plan, bool gpu) {
  static const int64_t original_kib[] = {128, 256, 512};
  for (int i = 0; i < 3; ++i)
    plan->sizes[plan->size_count++] = original_kib[i] * 1024;
  const int64_t cache = plan->cache_bytes;
  const int64_t parts[] = {gpu ? cache / 16 : cache / 4, gpu ? cache / 8 : cache / 2,
                           gpu ? cache / 4 : cache};
  for (int i = 0; i < 3; ++i)
    if (parts[i] > plan->sizes[plan->size_count - 1])
      plan->sizes[plan->size_count++] = parts[i] / 4096 * 4096;
}

static void choose_kernels(walk_plan *plan, bool gpu, bool quick) {
  int32_t cores[PREM_WALK_KERNELS];
  const int32_t max = gpu ? PREM_WALK_KERNELS : prem_cores_list(cores, PREM_WALK_KERNELS);
  for (int32_t count = 1; count <= max; count = quick ? 2 * count : count + 1)
    plan->kernels[plan->kernel_counts++] = count;
}

static walk_plan choose(const prem_experiment_context *context) {
  const bool gpu = strcmp(prem_backend_name(context->backend), "cuda") == 0;
  walk_plan chosen = {.steps = gpu ? GPU_STEPS : CPU_STEPS,
                      .cache_bytes = prem_largest_cache_bytes(context->backend),
                      .threads = {1, 32, 128},
                      .thread_counts = gpu ? 3 : 1};
  if (chosen.cache_bytes == 0)
    chosen.cache_bytes = UNKNOWN_CACHE_BYTES;
  choose_sizes(&chosen, gpu);
  choose_kernels(&chosen, gpu, context->quick);
  return chosen;
}

/* ---- tables --------------------------------------------------------------------------------- */

static prem_table *begin_table(prem_findings *findings, prem_walk_order order) {
  const bool random = order == PREM_WALK_RANDOM;
  const char *title = random ? "Random walks: slow-down over the kernels that walk at once"
                             : "Sequential walks: slow-down over the kernels that walk at once";
  const char *name = prem_walk_order_name(order);
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_columns(table, "walk; threads; list [KiB]; kernels; all lists [KiB]; mean [ns]; least "
                            "[ns]; largest [ns]; slow-down");
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_LINES,
                                              .title = title,
                                              .table = name,
                                              .x = "kernels",
                                              .y = "slow-down",
                                              .series = "walk"});
  return table;
}

static void add_row(prem_table *table, const prem_walk *walk, const prem_walk_time *time,
                    double alone_ns) {
  char name[64];
  snprintf(name, sizeof name, "%" PRId32 " x %" PRId64 " KiB", walk->threads, walk->bytes / 1024);
  prem_table_row(table, TEXT(name), INT(walk->threads), INT(walk->bytes / 1024), INT(walk->kernels),
                 INT(walk->kernels * walk->bytes / 1024), REAL(time->mean_ns), REAL(time->min_ns),
                 REAL(time->max_ns), REAL(time->mean_ns / alone_ns));
}

/* ---- measuring ------------------------------------------------------------------------------ */

/** The verdict's numbers, for random walks and for sequential ones. */
typedef struct extremes {
  double within[2], beyond[2]; /* largest slow-down with all lists in the cache, and beyond it */
  int64_t first_bytes[2];      /* of all lists, least that was slowed down; 0: none */
  bool apart;                  /* some kernels did not begin together */
} extremes;

static void note_slowdown(extremes *seen, const walk_plan *plan, const prem_walk *walk,
                          double slow_down) {
  const int64_t bytes = walk->bytes * walk->kernels;
  double *max =
      bytes <= plan->cache_bytes ? &seen->within[walk->order] : &seen->beyond[walk->order];
  *max = fmax(*max, slow_down);
  int64_t *first = &seen->first_bytes[walk->order];
  if (slow_down > slower && (*first == 0 || bytes < *first))
    *first = bytes;
}

typedef struct progress_count {
  int64_t done, all;
} progress_count;

/** One size and number of threads, with more and more kernels. */
static prem_status measure_line(const prem_experiment_context *context, prem_walker *walker,
                                const walk_plan *plan, prem_walk walk, prem_table *table,
                                prem_findings *findings, extremes *seen, progress_count *count,
                                prem_diag *diag) {
  double alone_ns = NAN;
  for (int i = 0; i < plan->kernel_counts; ++i) {
    prem_walk_time time;
    walk.kernels = plan->kernels[i];
    prem_status status = prem_walk_measure(walker, &walk, REPEATS, &time, diag);
    if (status != PREM_OK)
      return status;
    if (i == 0)
      alone_ns = time.mean_ns;
    add_row(table, &walk, &time, alone_ns);
    note_slowdown(seen, plan, &walk, time.mean_ns / alone_ns);
    seen->apart |= !time.together;
    prem_findings_output(findings, time.right);
    prem_experiment_progress(context, ++count->done, count->all);
  }
  return PREM_OK;
}

static prem_status measure(const prem_experiment_context *context, prem_walker *walker,
                           const walk_plan *plan, prem_findings *findings, extremes *seen,
                           prem_diag *diag) {
  progress_count count = {0, INT64_C(2) * plan->size_count * plan->thread_counts *
                                 plan->kernel_counts};
  prem_experiment_progress(context, 0, count.all);
  for (int order = PREM_WALK_RANDOM; order >= PREM_WALK_SEQUENTIAL; --order) {
    prem_table *table = begin_table(findings, (prem_walk_order)order);
    for (int size = 0; size < plan->size_count; ++size)
      for (int i = 0; i < plan->thread_counts; ++i) {
        const prem_walk walk = {.bytes = plan->sizes[size],
                                .order = (prem_walk_order)order,
                                .path = PREM_WALK_L2,
                                .threads = plan->threads[i],
                                .steps = plan->steps};
        prem_status status =
            measure_line(context, walker, plan, walk, table, findings, seen, &count, diag);
        if (status != PREM_OK)
          return status;
      }
  }
  return PREM_OK;
}

static void tell_first(prem_findings *findings, const walk_plan *plan, const extremes *seen,
                       int order) {
  const char *name = prem_walk_order_name((prem_walk_order)order);
  if (seen->first_bytes[order])
    prem_findings_note(findings,
                       "The least sum of lists at which %s walks are slowed down by a tenth is "
                       "%" PRId64 " KiB; the cache that all share has %" PRId64 " KiB.",
                       name, seen->first_bytes[order] / 1024, plan->cache_bytes / 1024);
  else
    prem_findings_note(findings, "No %s walk was slowed down by a tenth.", name);
}

static void tell(prem_findings *findings, const walk_plan *plan, const extremes *seen) {
  prem_findings_verdict(
      findings,
      "Up to %" PRId32 " kernels at once slow each other down by at most %.2f times (random) and "
      "%.2f times (sequential) while their lists together fit the shared cache of %" PRId64
      " KiB, and by up to %.2f and %.2f times beyond it.",
      plan->kernels[plan->kernel_counts - 1], seen->within[PREM_WALK_RANDOM],
      seen->within[PREM_WALK_SEQUENTIAL], plan->cache_bytes / 1024, seen->beyond[PREM_WALK_RANDOM],
      seen->beyond[PREM_WALK_SEQUENTIAL]);
  for (int order = 1; order >= 0; --order)
    tell_first(findings, plan, seen, order);
  if (seen->apart)
    prem_findings_note(findings, "Some kernels did not begin together: their rows show less "
                                 "company than they name.");
  prem_findings_note(findings,
                     "The original (thesis, TX2, L2 of 512 KiB) saw a slow-down as soon "
                     "as the lists together exceeded L2: from the 2nd, 3rd and 5th kernel on "
                     "with lists of 512, 256 and 128 KiB. Beyond it an access took some "
                     "350 cycles in random walks, 580 in sequential ones. There the threads "
                     "of a kernel begin at one element, here they are spread over the list.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  const walk_plan chosen = choose(context);
  const int64_t room_bytes =
      chosen.sizes[chosen.size_count - 1] * chosen.kernels[chosen.kernel_counts - 1];
  extremes seen = {{1, 1}, {1, 1}, {0, 0}, false};
  prem_walker *walker = NULL;
  prem_status status = prem_walker_open(context, room_bytes, false, &walker, diag);
  if (status == PREM_OK)
    status = measure(context, walker, &chosen, findings, &seen, diag);
  if (status == PREM_OK)
    tell(findings, &chosen, &seen);
  prem_walker_close(walker);
  return status;
}

const prem_experiment prem_walk_kernels_experiment = {
    .name = "walk_kernels",
    .title = "Walks by 1 to 16 kernels at once",
    .question = "From what number of kernels, and what sum of their data, do they slow each other "
                "down?",
    .backends = "cuda cpu",
    .run = run,
};
