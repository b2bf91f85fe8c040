/* SPDX-License-Identifier: Apache-2.0 */
/** What goes on beside the turns that are measured. */
#ifndef TTPREM_EXPERIMENTS_LIVE_LIVE_STRESS_LOADS_H
#define TTPREM_EXPERIMENTS_LIVE_LIVE_STRESS_LOADS_H

#include "experiments/common/experiment.h"

typedef enum prem_load {
  PREM_LOAD_NONE,
  PREM_LOAD_SPIN,    /* a thread on every core but the first */
  PREM_LOAD_MEMORY,  /* every core but the first at the host's memory */
  PREM_LOAD_FILES,   /* files are written, synchronized and removed */
  PREM_LOAD_COPIES,  /* both directions of the copy engines */
  PREM_LOAD_KERNELS, /* kernels of the same process at the GPU's memory, on half of its SMs */
  PREM_LOAD_COUNT
} prem_load;

typedef struct prem_load_run prem_load_run;

PREM_EXTERN_C_BEGIN

const char *prem_load_name(prem_load load);
/**
 * Returns when it goes on.
 * @param[out] out  end with prem_load_end(); NULL on error
 * @retval PREM_ERR_UNAVAILABLE  the machine lacks something for it: `diag` says what
 */
prem_status prem_load_begin(prem_load load, const prem_experiment_context *context,
                            prem_load_run **out, prem_diag *diag);
/** Waits for it. Nothing happens for NULL. */
void prem_load_end(prem_load_run *run);

/** The GPU's loads, in a thread of the caller: goes on until *stop is not 0.
 *  @param[out] begun  1: goes on; -1: could not begin */
void prem_gpu_load(prem_load load, const int32_t *stop, int32_t *begun);

PREM_EXTERN_C_END
#endif
