/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Ordinary kernels on two SMs, as the thesis has them: two blocks of 512 threads each that stride
 * over their data, one stream a kernel, all of a run starting together. A larger GPU is made one of
 * two SMs: idle blocks fill all the others, so that nothing else has room there, and the launches
 * are plain ones. Every loop is counted, every wait has a deadline.
 */
#pragma once

#include "experiments/common/experiment.h"

enum {
  PREM_ORDINARY_KERNELS = 4, /* that fill two SMs */
  PREM_ORDINARY_BLOCKS = 2,  /* of a kernel, */
  PREM_ORDINARY_THREADS = 512
};

/** What a kernel does. The KCF operators work 8 channels of 64 x 64 complex numbers; the kernels of
 *  Polybench matrices and grids of some 256 KiB, the first convolution the thesis's image. */
typedef enum prem_ordinary_work {
  PREM_ORDINARY_CONV2D,
  PREM_ORDINARY_KCF_ADD,
  PREM_ORDINARY_KCF_ADD_CONSTANT,
  PREM_ORDINARY_KCF_CONJUGATE,
  PREM_ORDINARY_KCF_DIVIDE,
  PREM_ORDINARY_KCF_MULTIPLY,
  PREM_ORDINARY_KCF_MULTIPLY_CHANNELS,
  PREM_ORDINARY_KCF_MULTIPLY_CONSTANT,
  PREM_ORDINARY_KCF_SQR_MAGNITUDE,
  PREM_ORDINARY_KCF_SQR_NORM,
  PREM_ORDINARY_KCF_SUM_CHANNELS,
  PREM_ORDINARY_2DCONV,
  PREM_ORDINARY_3DCONV,
  PREM_ORDINARY_FDTD_2D,
  PREM_ORDINARY_JACOBI_2D,
  PREM_ORDINARY_GEMM,
  PREM_ORDINARY_2MM,
  PREM_ORDINARY_3MM,
  PREM_ORDINARY_SYRK,
  PREM_ORDINARY_SYR2K,
  PREM_ORDINARY_ATAX,
  PREM_ORDINARY_BICG,
  PREM_ORDINARY_MVT,
  PREM_ORDINARY_GESUMMV,
  PREM_ORDINARY_COVAR,
  PREM_ORDINARY_CORR,
  PREM_ORDINARY_GRAMSCHM,
  PREM_ORDINARY_WORKS
} prem_ordinary_work;

typedef struct prem_ordinary prem_ordinary;

/** What came of the runs, one number each. */
typedef struct prem_ordinary_times {
  int64_t *scenario_ns; /* latest end of a block - earliest start of one */
  int64_t *own_ns;      /* the same of the first kernel's blocks */
  int64_t runs;         /* all blocks of which were where they belong; */
  int64_t elsewhere;    /* more of which one was on a third SM, or two of a kernel on one: those
                           are no runs on two SMs, and do not count */
} prem_ordinary_times;

PREM_EXTERN_C_BEGIN

/** "kcf_add", "gemm", ... */
const char *prem_ordinary_name(prem_ordinary_work work);
/**
 * @param works   of each kernel, each with arrays of its own
 * @param mapped  the arrays are in the host's memory
 * @param[out] out  close with prem_ordinary_close()
 */
prem_status prem_ordinary_open(const prem_ordinary_work *works, int32_t count, bool mapped,
                               prem_ordinary **out, prem_diag *diag);
/** Nothing happens for NULL. */
void prem_ordinary_close(prem_ordinary *ordinary);
/**
 * Run all kernels together until `runs` runs count, or twice as many were made, or it is time, and
 * one at least; the first one more, unmeasured.
 *
 * @param end_ns      of the host's clock; INT64_MAX: no matter
 * @param[out] times  with room for the runs
 * @retval PREM_ERR_INTERRUPTED  `stop` was seen
 * @retval PREM_ERR_UNAVAILABLE  the other SMs cannot be filled; `diag` says why
 */
prem_status prem_ordinary_measure(prem_ordinary *ordinary, int64_t runs, int64_t end_ns,
                                  const volatile sig_atomic_t *stop, prem_ordinary_times *times,
                                  prem_diag *diag);
/** Is the output of each kernel what the host computes? */
prem_status prem_ordinary_verify(prem_ordinary *ordinary, bool *right, prem_diag *diag);

/** Of many runs. */
typedef struct prem_ordinary_summary {
  double mean_ns, min_ns, max_ns, median_ns;
  double jitter_pct; /* (max - min) / mean */
} prem_ordinary_summary;

typedef struct prem_ordinary_found {
  prem_ordinary_summary scenario, own; /* all kernels; the first one alone */
  int64_t runs, elsewhere;
  bool right;
} prem_ordinary_found;

/**
 * All of the above: open, run, verify, close.
 *
 * @retval PREM_ERR_UNAVAILABLE  there is no GPU, or what prem_ordinary_measure() says
 */
prem_status prem_ordinary_find(const prem_experiment_context *context,
                               const prem_ordinary_work *works, int32_t count, bool mapped,
                               int64_t runs, prem_ordinary_found *out, prem_diag *diag);

/* ---- for the GPU's part --------------------------------------------------------------------- */

/** Arrays of a kernel, of floats; complex numbers take two. */
typedef struct prem_ordinary_arrays {
  float *a, *b, *c, *out;
} prem_ordinary_arrays;

/** Floats that a kernel needs: of each input, and of the output. */
int64_t prem_ordinary_floats(prem_ordinary_work work);
int64_t prem_ordinary_out_floats(prem_ordinary_work work);
/** The same on the host; `out` has room for as many. */
void prem_ordinary_reference(prem_ordinary_work work, const prem_ordinary_arrays *arrays);
/** Fill an input with numbers from 0.5 to 1.5, so that nothing is divided by about 0. */
void prem_ordinary_fill(float *values, int64_t count, uint32_t seed);

PREM_EXTERN_C_END
