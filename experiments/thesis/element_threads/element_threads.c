/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over elements by 1 to 1024 threads of one block: the thesis's Fig 4.2. */
#include <math.h>

#include "experiments/common/elements.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/original/originals.h"

static const int64_t sizes_kib[] = {1, 2, 12, 16, 64, 128, 256};
static const int32_t thread_counts[] = {1,   2,   4,   8,   16,  24,  32,  40,  48,  64,  96,  128,
                                        160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512,
                                        544, 576, 608, 640, 704, 768, 832, 896, 960, 1024};
enum {
  SIZES = sizeof sizes_kib / sizeof sizes_kib[0],
  THREAD_COUNTS = sizeof thread_counts / sizeof thread_counts[0],
  QUICK_STEP = 3, /* it keeps 1, 32 and 1024 threads */
  WARP = 32
};

/** Ten as in the original, more where they are short. */
static const prem_element_repeats repeats = {.min = 10, .max = 100, .budget_ns = 20000000};
static const prem_element_repeats quick_repeats = {.min = 2, .max = 10, .budget_ns = 5000000};

/** What the verdict compares: walks of the longest list, by order. */
typedef struct key_times {
  double one_ns[2], warp_ns[2], all_ns[2];
  double odd_ns[2], even_ns[2]; /* largest - least beyond 256 threads, at odd multiples of 32 and at
                                   multiples of 64, the mean */
  int32_t odd, even;
  double overhead_ns;
} key_times;

static prem_table *begin_table(prem_findings *findings, prem_walk_order order) {
  const bool random = order == PREM_WALK_RANDOM;
  const char *title = random ? "Random walks (Fig 4.2b): time of an access over the threads"
                             : "Sequential walks (Fig 4.2a): time of an access over the threads";
  const char *name = prem_walk_order_name(order);
  prem_table *table = prem_findings_table(findings, name, title, NULL);
  prem_table_columns(
      table,
      "list in KiB; threads; mean [ns]; least [ns]; largest [ns]; mean in cycles; repetitions");
  prem_findings_chart(findings, &(prem_chart){.kind = PREM_CHART_LINES,
                                              .title = title,
                                              .table = name,
                                              .x = "threads",
                                              .y = "mean",
                                              .low = "least",
                                              .high = "largest",
                                              .series = "list in KiB",
                                              .beside = prem_original_add(
                                                  findings, random ? "fig_4_2b" : "fig_4_2a")});
  return table;
}

static void add_row(prem_table *table, const prem_element_walk *walk,
                    const prem_element_time *time) {
  prem_table_row(table, INT(walk->bytes / 1024), INT(walk->threads), REAL(time->mean_ns),
                 REAL(time->min_ns), REAL(time->max_ns), REAL(time->mean_cycles),
                 INT(time->repeats));
}

static void keep_key_time(key_times *key, const prem_element_walk *walk,
                          const prem_element_time *time) {
  key->overhead_ns = time->overhead_ns;
  if (walk->bytes != sizes_kib[SIZES - 1] * 1024)
    return;
  if (walk->threads == 1)
    key->one_ns[walk->order] = time->mean_ns;
  if (walk->threads == WARP)
    key->warp_ns[walk->order] = time->mean_ns;
  if (walk->threads == PREM_WALK_THREADS)
    key->all_ns[walk->order] = time->mean_ns;
  if (walk->order != PREM_WALK_RANDOM || walk->threads <= 256 || walk->threads % WARP)
    return;
  const bool odd = walk->threads / WARP % 2;
  (odd ? key->odd_ns : key->even_ns)[0] += time->max_ns - time->min_ns;
  ++*(odd ? &key->odd : &key->even);
}

static prem_status measure(const prem_experiment_context *context, prem_elements *elements,
                           prem_findings *findings, key_times *key, prem_diag *diag) {
  const int step = context->quick ? QUICK_STEP : 1;
  const int64_t all = INT64_C(2) * SIZES * ((THREAD_COUNTS + step - 1) / step);
  int64_t done = 0;
  prem_experiment_progress(context, 0, all);
  for (int order = PREM_WALK_SEQUENTIAL; order <= PREM_WALK_RANDOM; ++order) {
    prem_table *table = begin_table(findings, (prem_walk_order)order);
    for (int size = 0; size < SIZES; ++size)
      for (int i = 0; i < THREAD_COUNTS; i += step) {
        const prem_element_walk walk = {.bytes = sizes_kib[size] * 1024,
                                        .order = (prem_walk_order)order,
                                        .kernels = 1,
                                        .threads = thread_counts[i]};
        prem_element_time time;
        const prem_status status = prem_elements_measure(
            elements, &walk, context->quick ? quick_repeats : repeats, &time, diag);
        if (status != PREM_OK)
          return status;
        add_row(table, &walk, &time);
        keep_key_time(key, &walk, &time);
        prem_findings_output(findings, time.right);
        prem_experiment_progress(context, ++done, all);
      }
  }
  return PREM_OK;
}

static void tell(prem_findings *findings, const key_times *key) {
  const int in_order = PREM_WALK_SEQUENTIAL, at_random = PREM_WALK_RANDOM;
  prem_findings_verdict(
      findings,
      "Walking 256 KiB in order, an access takes %.0f ns for one thread, %.0f for 32 and %.0f for "
      "1024 (%.2f times); at random %.0f, %.0f and %.0f ns (%.2f times).",
      key->one_ns[in_order], key->warp_ns[in_order], key->all_ns[in_order],
      key->all_ns[in_order] / key->one_ns[in_order], key->one_ns[at_random],
      key->warp_ns[at_random], key->all_ns[at_random],
      key->all_ns[at_random] / key->one_ns[at_random]);
  prem_findings_note(findings,
                     "Original: in order an access takes as long for 1024 threads as for one (157 "
                     "to 159 cycles); at random it takes longer up to 32 threads, is flat from 64 "
                     "to 256 and rises again.");
  if (key->odd && key->even)
    prem_findings_note(findings,
                       "Beyond 256 threads, 256 KiB at random: largest - least is %.1f ns at odd "
                       "multiples of 32 threads and %.1f ns at multiples of 64. The original saw a "
                       "spread at the odd ones alone.",
                       key->odd_ns[0] / key->odd, key->even_ns[0] / key->even);
  prem_findings_note(findings,
                     "The loop's own %.2f ns an element are subtracted, as there; in cycles they "
                     "are not.",
                     key->overhead_ns);
  prem_findings_note(findings,
                     "walk_threads has the other walk on purpose: elements of a sector, threads "
                     "spread over the list, so that no two accesses fall together.");
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  prem_elements *elements = NULL;
  key_times key = {.one_ns = {NAN, NAN}, .warp_ns = {NAN, NAN}, .all_ns = {NAN, NAN}};
  prem_status status = prem_elements_open(context, sizes_kib[SIZES - 1] * 1024, 0, &elements, diag);
  if (status == PREM_OK)
    status = measure(context, elements, findings, &key, diag);
  if (status == PREM_OK)
    tell(findings, &key);
  prem_elements_close(elements);
  return status;
}

const prem_experiment prem_element_threads_experiment = {
    .name = "element_threads",
    .title = "Walks over neighbouring elements by 1 to 1024 threads",
    .question = "How does the time of an access grow with the threads of a block, side by side in "
                "order and at random?",
    .backends = "cuda",
    .run = run,
};
