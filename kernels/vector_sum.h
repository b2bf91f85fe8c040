/* SPDX-License-Identifier: Apache-2.0 */
/**
 * vector_sum: the sum of each tile of a vector. A tile as long as the vector sums all of it; a
 * longer vector takes two tasks, one `after` the other.
 *
 * The order is the same everywhere: strand s of a tile adds up the elements s, s +
 * VECTOR_SUM_STRANDS, ... as a double, and is rounded; then strands are added in pairs half their
 * number apart. Of terms of one sign the sum is within 8 * 2^-24 of itself, however many there are.
 */
#pragma once

#include "ttprem/kernel.h"

enum { VECTOR_SUM_STRANDS = 128 };

typedef struct vector_sum_params {
  int32_t tile; /* elements */
} vector_sum_params;

/* A strand's sum takes the place of its first element. */
PREM_FN void vector_sum_compute(const vector_sum_params *params, const prem_view *views) {
  float *terms = (float *)views[0].data;
  const int32_t count = params->tile;
  int32_t left = count < VECTOR_SUM_STRANDS ? count : VECTOR_SUM_STRANDS;
  PREM_ROLLED PREM_LANES(strand, left) {
    double sum = 0.0;
    for (int32_t i = strand; i < count; i += VECTOR_SUM_STRANDS)
      sum += (double)terms[i];
    terms[strand] = (float)sum;
  }
  PREM_SYNC();
  PREM_ROLLED while (left > 1) {
    const int32_t half = (left + 1) / 2;
    PREM_ROLLED PREM_LANES(strand, left - half) {
      terms[strand] += terms[strand + half];
    }
    left = half;
    PREM_SYNC();
  }
  if (PREM_FIRST_LANE())
    *(float *)views[1].data = terms[0];
}

#if PREM_HOST

static void vector_sum_reference(const void *params, const prem_array_view *arrays) {
  const int64_t tile = ((const vector_sum_params *)params)->tile, length = arrays[0].shape[3];
  const float *terms = (const float *)arrays[0].data;
  float *out = (float *)arrays[1].data;
  for (int64_t first = 0; first < length; first += tile) {
    float strands[VECTOR_SUM_STRANDS];
    int64_t left = tile < VECTOR_SUM_STRANDS ? tile : VECTOR_SUM_STRANDS;
    for (int64_t strand = 0; strand < left; ++strand) {
      double sum = 0.0;
      for (int64_t i = first + strand; i < first + tile && i < length; i += VECTOR_SUM_STRANDS)
        sum += (double)terms[i];
      strands[strand] = (float)sum;
    }
    while (left > 1) {
      const int64_t half = (left + 1) / 2;
      for (int64_t strand = 0; strand < left - half; ++strand)
        strands[strand] += strands[strand + half];
      left = half;
    }
    *out++ = strands[0];
  }
}

static prem_status vector_sum_bind(prem_bind *bind) {
  if (bind->rank[0] != 1)
    return prem_bind_refuse(bind, "arrays.in", "has %d dimensions, vector_sum takes 1",
                            (int)bind->rank[0]);
  prem_status status = prem_bind_tile(bind, 1, bind->shape[0], &bind->window[0]);
  if (status != PREM_OK)
    return status;
  ((vector_sum_params *)bind->params.bytes)->tile = bind->window[0].extent[3];
  return prem_bind_tile_results(bind, 1, "out");
}

static const prem_port vector_sum_ports[] = {
    {"in", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(vector_sum)

static const prem_kernel vector_sum_kernel = {
    PREM_KERNEL_OF(vector_sum, vector_sum_ports),
    .summary = "out[t] = sum of tile t of in, a vector; tile = [n]",
    .version = 1,
};

#endif
