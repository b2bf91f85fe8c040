/* SPDX-License-Identifier: Apache-2.0 */
/* 32 small products, handed to a GPU one by one: launched, or to blocks that stay. */
#include <stdlib.h>

#include "experiments/common/probe.h"
#include "experiments/machine/task_queue/products.h"
#include "ttprem/measure.h"

enum { MOST_TURNS = 1000, PATIENCE_NS = 2000000000 };

static const char *const ways[PRODUCT_WAYS] = {
    [PRODUCT_LOOP] = "loop, as the original's",
    [PRODUCT_KEPT] = "loop in memory that stays",
    [PRODUCT_STREAMS] = "eight streams",
    [PRODUCT_GRAPH] = "one graph",
    [PRODUCT_ONE] = "one kernel",
    [PRODUCT_QUEUE] = "resident blocks, copies",
    [PRODUCT_MAPPED] = "resident blocks, the host's memory",
};

static prem_status run_products(const product_run *run, int64_t *ns, product_result *result,
                                prem_diag *diag) {
#ifdef TTPREM_CUDA
  return prem_gpu_products(run, ns, result, diag);
#else
  (void)run, (void)ns, (void)result, (void)diag;
  return PREM_ERR_UNAVAILABLE;
#endif
}

static prem_status measure(const prem_probe_call *call) {
  const uint64_t extra = (uint64_t)prem_probe_whole(call, "extra", 0, 1 << 30);
  product_run run = {.way = (product_way)prem_probe_whole(call, "way", 0, PRODUCT_WAYS - 1),
                     .extra = extra,
                     .distance = (uint64_t)prem_probe_whole(call, "distance", 0, 1 << 30),
                     .threads = (uint32_t)prem_probe_whole(call, "threads", 32, 1024),
                     .turns = extra == 0        ? MOST_TURNS
                              : extra < 2 << 20 ? 100
                                                : 20,
                     .patience_ns = PATIENCE_NS};
  int64_t ns[MOST_TURNS];
  product_result result;
  prem_summary times;
  run.turns = call->context->quick ? run.turns / 10 : run.turns;
  product_rights(&run);
  const prem_status status = run_products(&run, ns, &result, call->diag);
  if (status == PREM_ERR_UNAVAILABLE)
    prem_findings_note(call->findings, "%s: not possible here.", ways[run.way]);
  if (status != PREM_OK)
    return status == PREM_ERR_UNAVAILABLE ? PREM_OK : status;
  prem_summarise(ns, result.turns, &times);
  prem_table_row(call->found, TEXT(ways[run.way]), INT((int64_t)product_stride(&run)),
                 INT(times.p50), INT(result.ok), INT(times.max), INT(result.turns));
  return PREM_OK;
}

const prem_probe prem_products_probe = {"way [text]; stride; p50; ok; max; turns", measure, NULL};

/* ---- one thread ------------------------------------------------------------------------------ */

static int64_t multiply_here(uint32_t side, const float *factors, float *product) {
  const int64_t begin_ns = prem_host_clock_ns();
  for (uint32_t row = 0; row < side; ++row)
    for (uint32_t column = 0; column < side; ++column)
      product[row * side + column] =
          product_element(factors, factors + side * side, side, row, column);
  return prem_host_clock_ns() - begin_ns;
}

static prem_status measure_side(const prem_probe_call *call) {
  const uint32_t side = (uint32_t)prem_probe_whole(call, "side", 1, PRODUCT_MOST_SIDE);
  float *factors = malloc((size_t)4 * side * side * sizeof *factors);
  float *here = factors + 2 * side * side, *there = here + side * side;
  int64_t here_ns = INT64_MAX, there_ns = INT64_MAX;
  prem_status status = PREM_ERR_UNAVAILABLE;
  if (!factors)
    return PREM_ERR_MEMORY;
  for (uint32_t i = 0; i < 2 * side * side; ++i)
    factors[i] = product_factor(side, i);
  for (int turn = 0; turn < 3; ++turn) {
    const int64_t ns = multiply_here(side, factors, here);
    here_ns = ns < here_ns ? ns : here_ns;
  }
#ifdef TTPREM_CUDA
  status = prem_gpu_one_thread(side, factors, there, &there_ns, call->diag);
#endif
  if (status == PREM_OK)
    prem_table_row(call->found, INT(here_ns), INT(there_ns),
                   INT(memcmp(here, there, side * side * sizeof *here) == 0));
  free(factors);
  return status;
}

const prem_probe prem_one_thread_probe = {"here; there; right", measure_side, NULL};
