/* SPDX-License-Identifier: Apache-2.0 */
/* 32 small products, handed to a GPU one by one: launched, or to blocks that stay. */
#include <inttypes.h>
#include <stdlib.h>

#include "experiments/common/experiment.h"
#include "experiments/machine/task_queue/products.h"
#include "report/findings/tables.h"
#include "ttprem/measure.h"

enum { EXTRAS = 3, MOST_TURNS = 1000, SIDES = 4 };

static const char *const ways[PRODUCT_WAYS] = {
    [PRODUCT_LOOP] = "loop, as the original's",
    [PRODUCT_KEPT] = "loop in memory that stays",
    [PRODUCT_STREAMS] = "eight streams",
    [PRODUCT_GRAPH] = "one graph",
    [PRODUCT_ONE] = "one kernel",
    [PRODUCT_QUEUE] = "resident blocks, copies",
    [PRODUCT_MAPPED] = "resident blocks, the host's memory",
};

/** A row: `distance` and `threads` other than usual are questions of their own. */
typedef struct product_row {
  product_way way;
  uint64_t extra, distance;
  uint32_t threads;
} product_row;

typedef struct products_study {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_table *products, *alone;
  product_run *run;
  int64_t median_ns[PRODUCT_WAYS]; /* without extra bytes, 0: not measured */
} products_study;

static prem_status measure(const products_study *study, int64_t *ns, product_result *result) {
#ifdef TTPREM_CUDA
  return prem_gpu_products(study->run, ns, result, study->diag);
#else
  (void)study, (void)ns, (void)result;
  return PREM_ERR_UNAVAILABLE;
#endif
}

static prem_status measure_row(products_study *study, const product_row *row) {
  int64_t ns[MOST_TURNS];
  product_run *run = study->run;
  product_result result;
  prem_summary times;
  if (prem_experiment_stopped(study->context))
    return PREM_ERR_INTERRUPTED;
  run->way = row->way;
  run->extra = row->extra;
  run->distance = row->distance;
  run->threads = row->threads;
  run->turns = row->extra == 0 ? MOST_TURNS : row->extra < 2 << 20 ? 100 : 20;
  run->turns = study->context->quick ? run->turns / 10 : run->turns;
  const prem_status status = measure(study, ns, &result);
  if (status == PREM_ERR_UNAVAILABLE)
    prem_findings_note(study->findings, "%s: not possible here.", ways[row->way]);
  if (status != PREM_OK)
    return status == PREM_ERR_UNAVAILABLE ? PREM_OK : status;
  prem_summarise(ns, result.turns, &times);
  const int64_t median_ns = times.p50, longest_ns = times.max;
  prem_table_row(study->products, TEXT(ways[row->way]), INT((int64_t)row->extra),
                 INT((int64_t)product_stride(run)), INT(row->threads), INT(median_ns),
                 INT(result.ok), INT(longest_ns), INT(result.turns));
  prem_findings_output(study->findings, result.ok);
  if (row->extra == 0 && row->distance == 0 && row->threads == PRODUCT_FLOATS)
    study->median_ns[row->way] = median_ns;
  return PREM_OK;
}

static prem_status measure_products(products_study *study) {
  static const uint64_t extras[EXTRAS] = {0, 1 << 20, 10 << 20};
  static const product_row others[] = {{PRODUCT_QUEUE, 0, 1 << 20, PRODUCT_FLOATS},
                                       {PRODUCT_QUEUE, 0, 10 << 20, PRODUCT_FLOATS},
                                       {PRODUCT_QUEUE, 0, 0, 32},
                                       {PRODUCT_QUEUE, 0, 0, 64},
                                       {PRODUCT_QUEUE, 0, 0, 1024}};
  const int other_rows = (int)(sizeof others / sizeof others[0]);
  const int64_t all = EXTRAS * PRODUCT_WAYS + other_rows;
  prem_status status = PREM_OK;
  int64_t done = 0;
  for (int e = 0; e < EXTRAS; ++e)
    for (int way = 0; way < PRODUCT_WAYS && status == PREM_OK; ++way) {
      const product_row row = {(product_way)way, extras[e], 0, PRODUCT_FLOATS};
      status = measure_row(study, &row);
      prem_experiment_progress(study->context, ++done, all);
    }
  for (int i = 0; i < other_rows && status == PREM_OK; ++i) {
    status = measure_row(study, &others[i]);
    prem_experiment_progress(study->context, ++done, all);
  }
  return status;
}

/* ---- one thread ------------------------------------------------------------------------------ */

static int64_t multiply_here(uint32_t side, const float *factors, float *product) {
  const int64_t begin_ns = prem_host_clock_ns();
  for (uint32_t row = 0; row < side; ++row)
    for (uint32_t column = 0; column < side; ++column)
      product[row * side + column] =
          product_element(factors, factors + side * side, side, row, column);
  return prem_host_clock_ns() - begin_ns;
}

static prem_status measure_side(products_study *study, uint32_t side, double original,
                                float *factors) {
  float *here = factors + 2 * side * side, *there = here + side * side;
  int64_t here_ns = INT64_MAX, there_ns = INT64_MAX;
  prem_status status = PREM_ERR_UNAVAILABLE;
  for (uint32_t i = 0; i < 2 * side * side; ++i)
    factors[i] = product_factor(side, i);
  for (int turn = 0; turn < 3; ++turn) {
    const int64_t ns = multiply_here(side, factors, here);
    here_ns = ns < here_ns ? ns : here_ns;
  }
#ifdef TTPREM_CUDA
  status = prem_gpu_one_thread(side, factors, there, &there_ns, study->diag);
#endif
  if (status != PREM_OK)
    return status;
  const bool is_right = memcmp(here, there, side * side * sizeof *here) == 0;
  prem_table_row(study->alone, INT(side), INT(here_ns), INT(there_ns),
                 REAL((double)there_ns / (double)here_ns), REAL(original), INT(is_right));
  prem_findings_output(study->findings, is_right);
  return PREM_OK;
}

static prem_status measure_one_thread(products_study *study) {
  static const double original[SIDES] = {0.615584 / 0.068705, 4.249685 / 0.285104,
                                         28.923530 / 2.751817, 287.933700 / 20.706290};
  float *room = malloc(4 * PRODUCT_MOST_SIDE * PRODUCT_MOST_SIDE * sizeof *room);
  prem_status status = room ? PREM_OK : PREM_ERR_MEMORY;
  for (int i = 0; i < (study->context->quick ? 2 : SIDES) && status == PREM_OK; ++i)
    status = prem_experiment_stopped(study->context)
                 ? PREM_ERR_INTERRUPTED
                 : measure_side(study, 32u << i, original[i], room);
  free(room);
  return status;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void tell(const products_study *study) {
  int best = PRODUCT_KEPT;
  for (int way = PRODUCT_KEPT; way <= PRODUCT_ONE; ++way)
    if (study->median_ns[way] > 0 && study->median_ns[way] < study->median_ns[best])
      best = way;
  prem_findings_verdict(study->findings,
                        "32 products of 16 x 16: the loop takes %" PRId64
                        " ns, resident blocks %" PRId64 " with copies and %" PRId64
                        " in the host's memory; of what is launched %s is best, %" PRId64 ".",
                        study->median_ns[PRODUCT_LOOP], study->median_ns[PRODUCT_QUEUE],
                        study->median_ns[PRODUCT_MAPPED], ways[best], study->median_ns[best]);
  prem_findings_note(
      study->findings,
      "The original, on a V100, a mean of 10000 turns that differ by 50 ms: resident "
      "blocks 189.165 ms, the loop 229.604; with 10 MiB a task 623.915 ms.");
}

static void begin_tables(products_study *study) {
  study->products = prem_table_begin(study->findings, "products",
                                     "From the first call until all results are on the host", NULL,
                                     "way; extra [bytes]; distance [bytes]; threads; median [ns]; "
                                     "output_ok; longest [ns]; turns");
  study->alone = prem_table_begin(study->findings, "one_thread", "A product by one thread", NULL,
                                  "side; CPU [ns]; GPU [ns]; times as long; original; output_ok");
  prem_chart_add(study->findings, PREM_CHART_BARS, "products", "Median by way and extra bytes",
                 "extra", "median", "way", PREM_LOG_Y);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  products_study study = {.context = context, .findings = findings, .diag = diag};
  study.run = calloc(1, sizeof *study.run);
  if (!study.run)
    return PREM_ERR_MEMORY;
  study.run->patience_ns = 2000000000;
  product_rights(study.run);
  begin_tables(&study);
  prem_status status = measure_products(&study);
  if (status == PREM_OK)
    status = measure_one_thread(&study);
  if (study.median_ns[PRODUCT_LOOP] > 0)
    tell(&study);
  free(study.run);
  return status;
}

const prem_experiment prem_task_queue_experiment = {
    .name = "task_queue",
    .title = "Small products, one by one",
    .question = "Is it faster to hand small tasks to blocks that stay than to launch each?",
    .backends = "cuda",
    .run = run,
};
