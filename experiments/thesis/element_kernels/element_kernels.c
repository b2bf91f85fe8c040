/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over elements by 1 to 16 kernels, with and without load of the CPU: Figs 4.3 and 4.4. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "experiments/common/elements.h"
#include "experiments/common/interference.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/original/originals.h"

enum { SIZES = 3, MAX_THREADS = 3, SCALED_THREADS = 128 };

static const double slower = 1.1; /* than alone: slowed down */

/** A table: one order of walks under one load. */
typedef struct kernel_figure {
  const char *name, *title, *original; /* original NULL: for lists scaled to the machine */
  prem_walk_order order;
  prem_interference_kind load;
} kernel_figure;

static const kernel_figure figures[] = {
    {"sequential", "Sequential walks over the kernels at once (Fig 4.3b)", "fig_4_3b",
     PREM_WALK_SEQUENTIAL, PREM_INTERFERENCE_NONE},
    {"random", "Random walks over the kernels at once (Fig 4.3a)", "fig_4_3a", PREM_WALK_RANDOM,
     PREM_INTERFERENCE_NONE},
    {"sequential_scaled", "Sequential walks, lists of a quarter to all of the shared cache", NULL,
     PREM_WALK_SEQUENTIAL, PREM_INTERFERENCE_NONE},
    {"random_scaled", "Random walks, lists of a quarter to all of the shared cache", NULL,
     PREM_WALK_RANDOM, PREM_INTERFERENCE_NONE},
    {"load_sequential", "Sequential walks under sequential load of the CPU (Fig 4.4a)", "fig_4_4a",
     PREM_WALK_SEQUENTIAL, PREM_INTERFERENCE_SEQUENTIAL},
    {"load_random", "Sequential walks under random load of the CPU (Fig 4.4b)", "fig_4_4b",
     PREM_WALK_SEQUENTIAL, PREM_INTERFERENCE_RANDOM},
    {"load_sequential_scaled", "The scaled lists in order, under sequential load of the CPU", NULL,
     PREM_WALK_SEQUENTIAL, PREM_INTERFERENCE_SEQUENTIAL},
    {"load_random_scaled", "The scaled lists in order, under random load of the CPU", NULL,
     PREM_WALK_SEQUENTIAL, PREM_INTERFERENCE_RANDOM},
};
enum { FIGURES = sizeof figures / sizeof *figures };

typedef struct kernel_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_elements *elements;
  bool gpu;
  int64_t cache_bytes;
  int32_t max_kernels;
  int32_t threads[MAX_THREADS];
  int thread_counts;
  double bandwidth; /* of the host's memory, bytes a second */
  double load[PREM_INTERFERENCE_COUNT];
  double max[FIGURES]; /* largest slow-down, */
  double alone_ns[FIGURES][SIZES][MAX_THREADS];
  int32_t first[FIGURES][SIZES]; /* least number of kernels that were slowed down; 0: none */
  bool apart, few;
  int64_t done, all;
} kernel_study;

/* ---- what is walked ------------------------------------------------------------------------- */

static int64_t size_of(const kernel_study *study, const kernel_figure *figure, int size) {
  static const int64_t original_kib[SIZES] = {128, 256, 512};
  if (figure->original)
    return original_kib[size] * 1024;
  const int64_t part = study->cache_bytes >> (2 - size);
  return part / 4096 * 4096;
}

/** The scaled lists are walked by 128 threads that share them: each a part. One thread would walk
 *  for seconds. */
static prem_element_walk walk_of(const kernel_study *study, const kernel_figure *figure, int size,
                                 int32_t threads) {
  prem_element_walk walk = {
      .bytes = size_of(study, figure, size), .order = figure->order, .threads = threads};
  if (!figure->original)
    walk.steps = walk.bytes / PREM_ELEMENT_BYTES / threads;
  return walk;
}

static bool is_walked(const kernel_study *study, const kernel_figure *figure, int32_t kernels) {
  if (figure->original && !figure->load && !study->context->quick)
    return true;
  return kernels <= 6 ? !study->context->quick || kernels <= 3 : kernels % 4 == 0;
}

static prem_element_repeats repeats_of(const kernel_study *study, const kernel_figure *figure) {
  if (study->context->quick)
    return (prem_element_repeats){1, 3, 20000000};
  if (!figure->original)
    return (prem_element_repeats){2, 10, 50000000};
  return study->gpu ? (prem_element_repeats){10, 20, 60000000}
                    : (prem_element_repeats){10, 100, 20000000};
}

/* ---- tables --------------------------------------------------------------------------------- */

static prem_table *begin_table(kernel_study *study, const kernel_figure *figure) {
  prem_findings *findings = study->findings;
  prem_table *table = prem_findings_table(findings, figure->name, figure->title, NULL);
  prem_table_columns(table, "walk; kernels; all lists [KiB]; mean [ns]; least [ns]; largest [ns]; "
                            "slow-down; mean in cycles; repetitions");
  prem_findings_chart(findings,
                      &(prem_chart){.kind = PREM_CHART_LINES,
                                    .title = figure->title,
                                    .table = figure->name,
                                    .x = "kernels",
                                    .y = "slow-down",
                                    .series = "walk",
                                    .beside = figure->original
                                                  ? prem_original_add(findings, figure->original)
                                                  : NULL});
  return table;
}

static void add_row(prem_table *table, const prem_element_walk *walk, const prem_element_time *time,
                    double alone_ns) {
  char name[64];
  snprintf(name, sizeof name, "%" PRId32 " x %" PRId64 " KiB", walk->threads, walk->bytes / 1024);
  prem_table_row(table, TEXT(name), INT(walk->kernels), INT(walk->kernels * walk->bytes / 1024),
                 REAL(time->mean_ns), REAL(time->min_ns), REAL(time->max_ns),
                 REAL(time->mean_ns / alone_ns), REAL(time->mean_cycles), INT(time->repeats));
}

/* ---- measuring ------------------------------------------------------------------------------ */

static void note_slowdown(kernel_study *study, int number, int size, int32_t kernels,
                          double slow_down) {
  study->max[number] = fmax(study->max[number], slow_down);
  int32_t *first = &study->first[number][size];
  if (slow_down > slower && *first == 0)
    *first = kernels;
}

/** Under load the slow-down is against the same kernel alone without it. */
static double *alone_of(kernel_study *study, int number, int size, int i) {
  const kernel_figure *figure = &figures[number];
  int unloaded = 0;
  while (figures[unloaded].load != PREM_INTERFERENCE_NONE ||
         figures[unloaded].order != figure->order ||
         !figures[unloaded].original != !figure->original)
    ++unloaded;
  return &study->alone_ns[unloaded][size][i];
}

static prem_status measure_line(kernel_study *study, int number, int size, int i,
                                prem_table *table) {
  const kernel_figure *figure = &figures[number];
  const bool shared = !figure->original && study->gpu;
  prem_element_walk walk =
      walk_of(study, figure, size, shared ? SCALED_THREADS : study->threads[i]);
  double alone_ns = *alone_of(study, number, size, i);
  for (int32_t kernels = 1; kernels <= study->max_kernels; ++kernels) {
    if (!is_walked(study, figure, kernels))
      continue;
    prem_element_time time;
    walk.kernels = kernels;
    const prem_status status = prem_elements_measure(study->elements, &walk,
                                                     repeats_of(study, figure), &time, study->diag);
    if (status != PREM_OK)
      return status;
    if (kernels == 1 && !figure->load)
      *alone_of(study, number, size, i) = alone_ns = time.mean_ns;
    add_row(table, &walk, &time, alone_ns);
    note_slowdown(study, number, size, kernels, time.mean_ns / alone_ns);
    study->apart |= !time.together;
    study->few |= time.repeats < 10;
    prem_findings_output(study->findings, time.right);
    prem_experiment_progress(study->context, ++study->done, study->all);
  }
  return PREM_OK;
}

static prem_status measure_figure(kernel_study *study, int number) {
  prem_table *table = begin_table(study, &figures[number]);
  prem_status status = PREM_OK;
  const int counts = figures[number].original ? study->thread_counts : 1;
  for (int size = 0; size < SIZES; ++size)
    for (int i = 0; i < counts && status == PREM_OK; ++i)
      status = measure_line(study, number, size, i, table);
  return status;
}

/** A CPU's walkers leave no core to others: its load are the cores that do not walk. */
static prem_status measure_under_load(kernel_study *study, prem_interference_kind load) {
  prem_interference *interference = NULL;
  prem_status status = prem_interference_begin(load, study->gpu ? 0 : study->max_kernels,
                                               study->context->seed, &interference, study->diag);
  for (int i = 0; i < FIGURES && status == PREM_OK; ++i)
    if (figures[i].load == load)
      status = measure_figure(study, i);
  study->load[load] = prem_interference_end(interference);
  study->bandwidth = fmax(study->bandwidth, study->load[load]);
  return status;
}

static void choose(kernel_study *study) {
  static const int32_t gpu_threads[MAX_THREADS] = {1, 32, 128};
  int32_t cores[PREM_WALK_KERNELS];
  study->gpu = strcmp(prem_backend_name(study->context->backend), "cuda") == 0;
  memcpy(study->threads, gpu_threads, sizeof gpu_threads);
  study->thread_counts = study->gpu ? MAX_THREADS : 1;
  study->cache_bytes = prem_elements_cache_bytes(study->context);
  const int32_t count = prem_cores_list(cores, PREM_WALK_KERNELS);
  study->max_kernels = study->gpu ? PREM_WALK_KERNELS : count > 1 ? count - count / 2 : 1;
  for (int i = 0; i < FIGURES; ++i)
    for (int32_t kernels = 1; kernels <= study->max_kernels; ++kernels)
      study->all += is_walked(study, &figures[i], kernels) * SIZES *
                    (figures[i].original ? study->thread_counts : 1);
  prem_experiment_progress(study->context, 0, study->all);
}

/* ---- what it says --------------------------------------------------------------------------- */

static void tell_load(const kernel_study *study, prem_interference_kind load, int original_pct) {
  if (study->load[load] > 0)
    prem_findings_note(study->findings,
                       "The %s load reads and writes %.1f GB/s, %.0f %% of the %.1f GB/s that all "
                       "cores reach at most. In the original it is %d %% of the controller.",
                       prem_interference_name(load), study->load[load] * 1e-9,
                       100 * study->load[load] / study->bandwidth, study->bandwidth * 1e-9,
                       original_pct);
  else
    prem_findings_note(study->findings, "There is no core left for a %s load.",
                       prem_interference_name(load));
}

static void tell_first(const kernel_study *study, int number) {
  char said[SIZES][32];
  for (int size = 0; size < SIZES; ++size)
    if (study->first[number][size])
      snprintf(said[size], sizeof said[size], "%" PRId32, study->first[number][size]);
    else
      snprintf(said[size], sizeof said[size], "none");
  prem_findings_note(study->findings,
                     "%s: slowed down by a tenth from kernel %s, %s, %s on with lists of a "
                     "quarter, half and all of the shared cache. Original: 5, 3, 2.",
                     figures[number].title, said[0], said[1], said[2]);
}

static void tell(const kernel_study *study) {
  prem_findings_verdict(
      study->findings,
      "With lists of 128 to 512 KiB, up to %" PRId32 " kernels slow each other down by at most "
      "%.2f times in order and %.2f at random; with lists scaled to the shared cache of %" PRId64
      " KiB by %.2f and %.2f times. Load of the CPU makes it %.2f (sequential) and %.2f (random), "
      "scaled %.2f and %.2f.",
      study->max_kernels, study->max[0], study->max[1], study->cache_bytes / 1024, study->max[2],
      study->max[3], study->max[4], study->max[5], study->max[6], study->max[7]);
  tell_first(study, 2);
  tell_first(study, 3);
  tell_load(study, PREM_INTERFERENCE_SEQUENTIAL, 70);
  tell_load(study, PREM_INTERFERENCE_RANDOM, 17);
  prem_findings_note(study->findings,
                     "Original: beyond L2 (512 KiB) an access takes some 350 cycles at random and "
                     "580 in order; GPU and cores share one memory. Its script gives 256 threads "
                     "under the name of 128 where the CPU is under load.");
  if (study->gpu)
    prem_findings_note(study->findings,
                       "The scaled lists are shared by the 128 threads of a kernel, which walk "
                       "them once together; each repetition is one such walk.");
  if (study->few)
    prem_findings_note(study->findings, "Fewer than 10 repetitions where the column says so.");
  if (study->apart)
    prem_findings_note(study->findings, "Some kernels did not begin together: their rows show "
                                        "less company than they name.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  kernel_study study = {.context = context, .findings = findings, .diag = diag};
  choose(&study);
  prem_status status = prem_host_bandwidth(context, &study.bandwidth, diag);
  if (status == PREM_OK)
    status = prem_elements_open(context,
                                (study.cache_bytes > 512 * 1024 ? study.cache_bytes : 512 * 1024) *
                                    study.max_kernels,
                                0, &study.elements, diag);
  for (int load = 0; load < PREM_INTERFERENCE_COUNT && status == PREM_OK; ++load)
    status = measure_under_load(&study, (prem_interference_kind)load);
  if (status == PREM_OK)
    tell(&study);
  prem_elements_close(study.elements);
  return status;
}

const prem_experiment prem_element_kernels_experiment = {
    .name = "element_kernels",
    .title = "Walks over elements by 1 to 16 kernels, also under load of the CPU",
    .question = "From what number of kernels do walks slow each other down, and what does load of "
                "the CPU add?",
    .backends = "cuda cpu",
    .run = run,
};
