/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Products of 16 x 16 matrices that a host hands to a GPU one by one, in several ways. The data of
 * a task lies in one piece, on the host and on the GPU: two factors, so many *extra* bytes, which
 * go there and come back, and the product.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ttprem/diag.h"

#ifdef __CUDACC__
#define PRODUCT_CODE static __host__ __device__ inline
#else
#define PRODUCT_CODE static inline
#endif

enum {
  PRODUCT_TASKS = 32,
  PRODUCT_SIDE = 16,
  PRODUCT_FLOATS = PRODUCT_SIDE * PRODUCT_SIDE,
  PRODUCT_IN_BYTES = 2 * PRODUCT_FLOATS * 4,
  PRODUCT_OUT_BYTES = PRODUCT_FLOATS * 4,
  PRODUCT_MOST_SIDE = 256 /* of one thread's */
};

typedef enum product_way {
  PRODUCT_LOOP,    /* the original's: memory, copy, launch, copy, memory back, task by task */
  PRODUCT_KEPT,    /* the same in memory that stays */
  PRODUCT_STREAMS, /* as many tasks at once as there are streams */
  PRODUCT_GRAPH,   /* all tasks in one graph */
  PRODUCT_ONE,     /* one copy, one kernel, one copy */
  PRODUCT_QUEUE,  /* resident blocks; as in the original a stream copies tasks to them, another back
                   */
  PRODUCT_MAPPED, /* resident blocks that work in the host's memory */
  PRODUCT_WAYS
} product_way;

typedef struct product_run {
  product_way way;
  uint32_t threads;    /* of a block */
  uint64_t extra;      /* bytes, whole pieces of 256 */
  uint64_t distance;   /* from one task's data to the next's at least */
  int64_t patience_ns; /* of a wait, and of the host for a turn */
  int32_t turns;       /* of all tasks */
  float right[PRODUCT_TASKS][PRODUCT_FLOATS];
} product_run;

typedef struct product_result {
  bool ok;
  int32_t turns; /* up to the first that was wrong */
} product_result;

static inline uint64_t product_stride(const product_run *run) {
  const uint64_t bytes = PRODUCT_IN_BYTES + run->extra + PRODUCT_OUT_BYTES;
  return bytes < run->distance ? run->distance : bytes;
}

/** An element of a product of square matrices. */
PRODUCT_CODE float product_element(const float *a, const float *b, uint32_t side, uint32_t row,
                                   uint32_t column) {
  float sum = 0;
  for (uint32_t k = 0; k < side; ++k)
    sum += a[row * side + k] * b[k * side + column];
  return sum;
}
/** Element i of a factor: a number of which sums are exact, in any order. */
PRODUCT_CODE float product_factor(uint32_t task, uint32_t i) {
  return (float)((int32_t)((task * 2654435761u + i * 2246822519u) >> 24) - 128) / 16;
}
/** Byte i of what goes there and comes back. */
PRODUCT_CODE unsigned char product_extra(uint32_t task, uint64_t i) {
  return (unsigned char)(i * 31 + task * 7 + 1);
}

/** What has to come of all tasks. */
static inline void product_rights(product_run *run) {
  float factors[2 * PRODUCT_FLOATS];
  for (uint32_t task = 0; task < PRODUCT_TASKS; ++task) {
    for (uint32_t i = 0; i < 2 * PRODUCT_FLOATS; ++i)
      factors[i] = product_factor(task, i);
    for (uint32_t i = 0; i < PRODUCT_FLOATS; ++i)
      run->right[task][i] = product_element(factors, factors + PRODUCT_FLOATS, PRODUCT_SIDE,
                                            i / PRODUCT_SIDE, i % PRODUCT_SIDE);
  }
}

PREM_EXTERN_C_BEGIN

/** All tasks so many turns, each from its begin until all is back on the host: ns[turns]. One that
 *  is wrong is the last. @retval PREM_ERR_UNAVAILABLE  there are no such graphs */
prem_status prem_gpu_products(const product_run *run, int64_t *ns, product_result *result,
                              prem_diag *diag);
/** One product by one thread: its least time of some. */
prem_status prem_gpu_one_thread(uint32_t side, const float *factors, float *product, int64_t *ns,
                                prem_diag *diag);

PREM_EXTERN_C_END
