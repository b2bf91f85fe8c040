/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary kernels: their names, their data, and the same on the host. */
#include "experiments/thesis/ordinary/ordinary.h"

#include <math.h>
#include <stdlib.h>

#include "experiments/thesis/ordinary/work.h"

const char *prem_ordinary_name(prem_ordinary_work work) {
  static const char *const names[PREM_ORDINARY_WORKS] = {"conv2d",
                                                         "add",
                                                         "add_constant",
                                                         "conjugate",
                                                         "divide",
                                                         "multiply",
                                                         "multiply_channels",
                                                         "multiply_constant",
                                                         "sqr_magnitude",
                                                         "sqr_norm",
                                                         "sum_channels",
                                                         "2DCONV",
                                                         "3DCONV",
                                                         "FDTD-2D",
                                                         "JACOBI-2D",
                                                         "GEMM",
                                                         "2MM",
                                                         "3MM",
                                                         "SYRK",
                                                         "SYR2K",
                                                         "ATAX",
                                                         "BICG",
                                                         "MVT",
                                                         "GESUMMV",
                                                         "COVAR",
                                                         "CORR",
                                                         "GRAMSCHM"};
  return names[work];
}

int64_t prem_ordinary_floats(prem_ordinary_work work) {
  if (work == PREM_ORDINARY_CONV2D)
    return (int64_t)CONV_ROWS * CONV_COLUMNS;
  return 2 * PLANE * CHANNELS; /* 65536: enough for a matrix and for the cube */
}

int64_t prem_ordinary_out_floats(prem_ordinary_work work) {
  if (work == PREM_ORDINARY_FDTD_2D)
    return 3 * SIDE * SIDE;
  return work == PREM_ORDINARY_CONV2D ? prem_ordinary_floats(work) : 2 * SIDE * SIDE;
}

/* Workers as on the GPU, one after the other: sums have the same order. */
void prem_ordinary_reference(prem_ordinary_work work, const prem_ordinary_arrays *arrays) {
  const int32_t all = PREM_ORDINARY_BLOCKS * PREM_ORDINARY_THREADS;
  for (int32_t step = 0; step < work_steps(work); ++step)
    for (int32_t me = 0; me < all; ++me)
      work_step(work, arrays, step, (worker_place){me, all});
}

void prem_ordinary_fill(float *values, int64_t count, uint32_t seed) {
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = 0.5f + (float)(state >> 8) / (float)(1u << 24);
  }
}

/* ---- many runs ------------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static prem_ordinary_summary summarise(int64_t *times_ns, int64_t count) {
  const double none = (double)NAN;
  if (count == 0)
    return (prem_ordinary_summary){none, none, none, none, none};
  prem_ordinary_summary summary = {0};
  qsort(times_ns, (size_t)count, sizeof *times_ns, ascending);
  for (int64_t i = 0; i < count; ++i)
    summary.mean_ns += (double)times_ns[i] / (double)count;
  summary.min_ns = (double)times_ns[0];
  summary.max_ns = (double)times_ns[count - 1];
  const int64_t middle = (count - 1) / 2;
  summary.median_ns = (double)times_ns[middle];
  summary.jitter_pct = 100.0 * (summary.max_ns - summary.min_ns) / summary.mean_ns;
  return summary;
}

#ifdef TTPREM_CUDA
static prem_status measure(const prem_experiment_context *context, prem_ordinary *ordinary,
                           int64_t runs, prem_ordinary_times *times, prem_ordinary_found *out,
                           prem_diag *diag) {
  const int64_t end_ns = prem_experiment_row_end_ns(context);
  prem_status status = prem_ordinary_measure(ordinary, runs, end_ns, context->stop, times, diag);
  if (status == PREM_OK)
    status = prem_ordinary_verify(ordinary, &out->right, diag);
  out->scenario = summarise(times->scenario_ns, times->runs);
  out->own = summarise(times->own_ns, times->runs);
  /* Too many strays end it as well: those runs are not missing for lack of time. */
  const bool strayed = times->runs + times->elsewhere >= 2 * runs;
  if (status == PREM_OK)
    prem_experiment_repeated(context, strayed ? times->runs : runs, times->runs);
  out->runs = times->runs;
  out->elsewhere = times->elsewhere;
  return status;
}
#endif

prem_status prem_ordinary_find(const prem_experiment_context *context,
                               const prem_ordinary_work *works, int32_t count, bool mapped,
                               int64_t runs, prem_ordinary_found *out, prem_diag *diag) {
  *out = (prem_ordinary_found){0};
  if (!prem_is_gpu(context->backend))
    return PREM_ERR_UNAVAILABLE;
  prem_status status = PREM_ERR_UNAVAILABLE;
#ifdef TTPREM_CUDA
  prem_ordinary_times times = {.scenario_ns = calloc((size_t)runs, sizeof(int64_t)),
                               .own_ns = calloc((size_t)runs, sizeof(int64_t))};
  prem_ordinary *ordinary = NULL;
  status = times.scenario_ns && times.own_ns
               ? prem_ordinary_open(works, count, mapped, &ordinary, diag)
               : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = measure(context, ordinary, runs, &times, out, diag);
  prem_ordinary_close(ordinary);
  free(times.scenario_ns);
  free(times.own_ns);
#else
  (void)works, (void)count, (void)mapped, (void)runs, (void)diag, (void)summarise;
#endif
  return status;
}
