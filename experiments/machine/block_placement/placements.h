/* SPDX-License-Identifier: Apache-2.0 */
/** Where blocks land. */
#pragma once

#include "ttprem/diag.h"

enum { PREM_MAX_LAUNCHED = 8 };

/** Kernels that are launched at once, each in a stream of its own. */
typedef struct prem_launching {
  int32_t kernels, blocks, threads; /* blocks of each kernel */
  int64_t scratch_bytes;            /* of each block */
  bool claimed; /* one kernel, whose CUDA blocks take the plan blocks of the SM that they are on:
                   plan block b belongs to SM b % SMs */
} prem_launching;

/** A block: of its kernel, or in the plan. */
typedef struct prem_block_place {
  int32_t sm;
  int64_t begin_ns, end_ns; /* of the GPU's clock */
} prem_block_place;

PREM_EXTERN_C_BEGIN

int32_t prem_gpu_sm_count(void);
/** Most scratchpad of a block. */
int64_t prem_gpu_scratch_bytes(void);
/**
 * Launch, every block staying for a while, so that all that fit are on the GPU at once.
 *
 * @param[out] placements  [kernels][blocks]; sm is -1 where nobody took the plan block
 */
prem_status prem_gpu_place(const prem_launching *launching, prem_block_place *placements,
                           prem_diag *diag);

PREM_EXTERN_C_END
