/* SPDX-License-Identifier: Apache-2.0 */
/** Readings of the clock by blocks on two SMs. */
#pragma once

#include "ttprem/diag.h"

/** Two blocks on each of two SMs, so many readings each. */
enum { PREM_STAMP_BLOCKS = 4, PREM_STAMPS = 4096 };

typedef struct prem_stamps {
  int64_t readings_ns[PREM_STAMP_BLOCKS][PREM_STAMPS];
  int32_t place[PREM_STAMP_BLOCKS]; /* the SM + 1; 0: no block came there */
} prem_stamps;

PREM_EXTERN_C_BEGIN

/** All four begin when all blocks that fill the GPU are there. */
prem_status prem_gpu_stamps(prem_stamps *out, prem_diag *diag);

PREM_EXTERN_C_END
