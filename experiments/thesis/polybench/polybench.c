/* SPDX-License-Identifier: Apache-2.0 */
/* Polybench's kernels under load of the CPU, their data in the GPU's memory and in the host's. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "experiments/common/interference.h"
#include "experiments/common/tables.h"
#include "experiments/thesis/ordinary/ordinary.h"

enum {
  FIRST = PREM_ORDINARY_2DCONV,
  KERNELS = PREM_ORDINARY_WORKS - FIRST,
  MEMORIES = 2,
  RUNS = 50,
  QUICK_RUNS = 5
};

typedef struct survey {
  const prem_experiment_context *context;
  prem_findings *findings;
  prem_diag *diag;
  prem_table *table;
  double alone_ns[MEMORIES][KERNELS];
  double max[MEMORIES];
  int max_kernel[MEMORIES];
  double load[PREM_INTERFERENCE_COUNT];
  int64_t done, elsewhere;
} survey;

/* Which have a form in tiles: a tile's windows have to be affine in its number. */
static void add_forms(prem_findings *findings) {
  static const struct {
    const char *kernel, *complexity, *form;
  } rows[] = {
      {"2DCONV", "n m", "kernel conv2d: tiles with a halo of 1"},
      {"3DCONV", "n m k", "possible: windows of three dimensions with a halo"},
      {"FDTD-2D", "n m a step", "possible a step: three fields, a halo of 1, a job a step"},
      {"JACOBI-2D", "n m a step", "possible a step, as 2DCONV"},
      {"GEMM", "n3",
       "not as one phase: a tile needs a whole row and column of its inputs, which exceed a "
       "scratchpad; partial sums would have to stay"},
      {"2MM, 3MM", "n3", "as GEMM, one task each product with `after`"},
      {"SYRK, SYR2K", "n3", "as GEMM"},
      {"ATAX, BICG, MVT, GESUMMV", "n2",
       "possible a product: rows by tile, the vector whole; the transposed one by columns"},
      {"COVAR, CORR", "n m2", "means possible as sums; the product as GEMM"},
      {"GRAMSCHM", "n m2", "none: each step needs the one before, a job a vector of one tile each"},
  };
  prem_table *table =
      prem_table_begin(findings, "forms", "Which of Polybench's kernels have a form in tiles here",
                       NULL, "kernel; work; in tiles");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    prem_table_row(table, TEXT(rows[i].kernel), TEXT(rows[i].complexity), TEXT(rows[i].form));
}

static void begin_table(survey *study) {
  prem_table *table = study->table = prem_findings_table(
      study->findings, "load", "Polybench's kernels on two SMs under load of the CPU", NULL);
  prem_table_columns(
      table,
      "kernel; memory, load; mean [us]; least [us]; longest [us]; jitter [%]; slowdown; runs");
  prem_chart chart = {.kind = PREM_CHART_HEAT_MAP,
                      .title = "Mean time under load (column), of the same without",
                      .table = "load",
                      .x = "memory, load",
                      .y = "slowdown",
                      .series = "kernel"};
  prem_findings_chart(study->findings, &chart);
  chart.title = "Jitter under load (column), in % of the mean";
  chart.y = "jitter";
  prem_findings_chart(study->findings, &chart);
}

static prem_status measure(survey *study, prem_interference_kind load, int memory, int kernel) {
  const prem_ordinary_work work = (prem_ordinary_work)(FIRST + kernel);
  prem_ordinary_found found;
  const prem_status status =
      prem_ordinary_find(study->context, &work, 1, memory == 1,
                         study->context->quick ? QUICK_RUNS : RUNS, &found, study->diag);
  if (status != PREM_OK)
    return status;
  double *alone_ns = &study->alone_ns[memory][kernel];
  if (load == PREM_INTERFERENCE_NONE)
    *alone_ns = found.own.mean_ns;
  const double slowdown = found.own.mean_ns / *alone_ns;
  char column[48];
  snprintf(column, sizeof column, "%s, %s", memory ? "mapped" : "device",
           prem_interference_name(load));
  prem_table_row(study->table, TEXT(prem_ordinary_name(work)), TEXT(column),
                 REAL(found.own.mean_ns / 1e3), REAL(found.own.min_ns / 1e3),
                 REAL(found.own.max_ns / 1e3), REAL(found.own.jitter_pct), REAL(slowdown),
                 INT(found.runs));
  study->elsewhere += found.elsewhere;
  prem_findings_output(study->findings, found.right);
  if (slowdown > study->max[memory]) {
    study->max[memory] = slowdown;
    study->max_kernel[memory] = kernel;
  }
  prem_experiment_progress(study->context, ++study->done,
                           (int64_t)KERNELS * MEMORIES * PREM_INTERFERENCE_COUNT);
  return PREM_OK;
}

static prem_status measure_under_load(survey *study, prem_interference_kind load) {
  prem_interference *interference = NULL;
  prem_status status =
      prem_interference_begin(load, 0, study->context->seed, &interference, study->diag);
  for (int memory = 0; memory < MEMORIES; ++memory)
    for (int kernel = 0; kernel < KERNELS && status == PREM_OK; ++kernel)
      status = measure(study, load, memory, kernel);
  study->load[load] = prem_interference_end(interference);
  return status;
}

static void tell(const survey *study) {
  prem_findings_verdict(
      study->findings,
      "Under load of the CPU %d of Polybench's kernels take at most %.2f times as long with their "
      "data in the GPU's memory (%s), and %.2f times in the host's (%s).",
      (int)KERNELS, study->max[0],
      prem_ordinary_name((prem_ordinary_work)(FIRST + study->max_kernel[0])), study->max[1],
      prem_ordinary_name((prem_ordinary_work)(FIRST + study->max_kernel[1])));
  prem_findings_note(study->findings,
                     "The loads read and write %.1f (sequential) and %.1f GB/s (random).",
                     study->load[PREM_INTERFERENCE_SEQUENTIAL] * 1e-9,
                     study->load[PREM_INTERFERENCE_RANDOM] * 1e-9);
  prem_findings_note(study->findings,
                     "The original picked its convolution by such a survey of all kernels, and "
                     "gives no numbers of it. GPU and cores share one memory there; here only "
                     "mapped data are where the cores' are.");
  prem_findings_note(study->findings,
                     "Kernels are plain ones, without tiles in the scratchpad, two blocks of 512 "
                     "threads on two SMs; matrices and grids have some 256 KiB. %" PRId64
                     " runs more had a block elsewhere than on its SM of the two and do not count.",
                     study->elsewhere);
}

static prem_status run(const prem_experiment_context *context, prem_findings *findings,
                       prem_diag *diag) {
  survey study = {.context = context, .findings = findings, .diag = diag};
  begin_table(&study);
  prem_experiment_progress(context, 0, (int64_t)KERNELS * MEMORIES * PREM_INTERFERENCE_COUNT);
  add_forms(findings);
  prem_status status = PREM_OK;
  for (int load = 0; load < PREM_INTERFERENCE_COUNT && status == PREM_OK; ++load)
    status = measure_under_load(&study, (prem_interference_kind)load);
  if (status == PREM_OK)
    tell(&study);
  return status;
}

const prem_experiment prem_polybench_experiment = {
    .name = "polybench",
    .title = "Polybench's kernels under load of the CPU",
    .question = "Which kernels are sensitive to interference of the CPU at the memory?",
    .backends = "cuda",
    .run = run};
