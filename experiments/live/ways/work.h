/* SPDX-License-Identifier: Apache-2.0 */
/** What is done in a turn, with inputs that differ from turn to turn and the outputs they give. All
 *  numbers are small integers, so that sums are exact in whatever order they are made. */
#ifndef TTPREM_EXPERIMENTS_LIVE_WAYS_WORK_H
#define TTPREM_EXPERIMENTS_LIVE_WAYS_WORK_H

#include "ttprem/base.h"

typedef enum prem_work {
  PREM_WORK_EMPTY,
  PREM_WORK_INCREMENT, /* of `size` floats */
  PREM_WORK_PRODUCT,   /* of two matrices, `size` a side */
  PREM_WORK_SUM,       /* of `size` floats */
  PREM_WORK_COUNT,
  PREM_WORK_MIXED = PREM_WORK_COUNT /* one of the above, another one in each turn */
} prem_work;

enum {
  PREM_WORK_VARIANTS = 4, /* turn t takes number t % PREM_WORK_VARIANTS */
  PREM_WORK_TILE = 32     /* sides of matrices are multiples of it */
};

typedef struct prem_work_data {
  prem_work command[PREM_WORK_VARIANTS]; /* of each variant; the same but in PREM_WORK_MIXED */
  int32_t size[PREM_WORK_COUNT];         /* of each command */
  int64_t in_count[2], out_count;        /* floats; the most of any variant */
  int64_t used_in[PREM_WORK_VARIANTS][2], used_out[PREM_WORK_VARIANTS];
  float *in[PREM_WORK_VARIANTS][2]; /* NULL: none */
  float *out[PREM_WORK_VARIANTS];
} prem_work_data;

PREM_EXTERN_C_BEGIN

/** @param size  floats or side; of PREM_WORK_MIXED the floats of increment and sum, whose product
 *               is PREM_WORK_TILE a side.
 *  @return false without memory; free in either case */
bool prem_work_data_make(prem_work work, int32_t size, prem_work_data *out);
void prem_work_data_free(prem_work_data *data);
/** "empty", "increment", ... */
const char *prem_work_name(prem_work work);

PREM_EXTERN_C_END
#endif
