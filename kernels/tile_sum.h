/* SPDX-License-Identifier: Apache-2.0 */
/**
 * tile_sum: the sum of each tile of an array of any rank. A tile as large as the array sums all of
 * it; a larger array takes two tasks, the second one over the first one's sums.
 *
 * The order is the same everywhere: strand s of a tile adds up the elements s, s +
 * TILE_SUM_STRANDS, ... of its rows, one row after the other, then strands are added in pairs half
 * their number apart, all as doubles. A sum is rounded to float once; of bytes it is exact before.
 */
#pragma once

#include "ttprem/kernel.h"

enum { TILE_SUM_STRANDS = 128 };

typedef struct tile_sum_params {
  int32_t of_bytes; /* in is u8 */
  int32_t tile[4];
} tile_sum_params;

/* Strand `strand` of a tile of FROM. Its elements are counted through all rows: where one row ends
 * short of the next one, the strand goes on with what is left over. */
#define TILE_SUM_STRAND(FROM)                                                                      \
  int32_t column = strand;                                                                         \
  PREM_ROLLED for (int32_t i = 0; i < in->extent[0]; ++i)                                          \
      PREM_ROLLED for (int32_t j = 0; j < in->extent[1]; ++j)                                      \
          PREM_ROLLED for (int32_t row = 0; row < in->extent[2]; ++row) {                          \
    const FROM *from = (const FROM *)in->data + (int64_t)i * in->pitch[0] +                        \
                       (int64_t)j * in->pitch[1] + (int64_t)row * in->pitch[2];                    \
    PREM_ROLLED for (; column < in->extent[3]; column += TILE_SUM_STRANDS) sum +=                  \
        (double)from[column];                                                                      \
    column -= in->extent[3];                                                                       \
  }

PREM_FN double tile_sum_strand(const tile_sum_params *params, const prem_view *in, int32_t strand) {
  double sum = 0.0;
  if (params->of_bytes) {
    TILE_SUM_STRAND(uint8_t)
  } else {
    TILE_SUM_STRAND(float)
  }
  return sum;
}

/* The sums of the strands lie in the work area, which comes behind the ports. */
PREM_FN void tile_sum_compute(const tile_sum_params *params, const prem_view *views) {
  double *sums = (double *)views[2].data;
  PREM_ROLLED PREM_LANES(strand, TILE_SUM_STRANDS) {
    sums[strand] = tile_sum_strand(params, &views[0], strand);
  }
  PREM_SYNC();
  PREM_ROLLED for (int32_t left = TILE_SUM_STRANDS / 2; left > 0; left /= 2) {
    PREM_ROLLED PREM_LANES(strand, left) {
      sums[strand] += sums[strand + left];
    }
    PREM_SYNC();
  }
  if (PREM_FIRST_LANE())
    *(float *)views[1].data = (float)sums[0];
}

#if PREM_HOST

static double tile_sum_element(const tile_sum_params *params, const prem_array_view *array,
                               const int64_t at[4]) {
  const int64_t *shape = array->shape;
  const int64_t i = ((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3];
  return params->of_bytes ? (double)((const uint8_t *)array->data)[i]
                          : (double)((const float *)array->data)[i];
}

/* Tiles at the array's edges are whole: what they lack is 0. */
static void tile_sum_reference(const void *given, const prem_array_view *arrays) {
  const tile_sum_params *params = (const tile_sum_params *)given;
  const int64_t *shape = arrays[0].shape;
  float *out = (float *)arrays[1].data;
  int64_t first[4] = {0}, at[4];
  int32_t d;
  do {
    double sums[TILE_SUM_STRANDS] = {0};
    int64_t number = 0;
    for (at[0] = first[0]; at[0] < first[0] + params->tile[0]; ++at[0])
      for (at[1] = first[1]; at[1] < first[1] + params->tile[1]; ++at[1])
        for (at[2] = first[2]; at[2] < first[2] + params->tile[2]; ++at[2])
          for (at[3] = first[3]; at[3] < first[3] + params->tile[3]; ++at[3], ++number)
            if (at[0] < shape[0] && at[1] < shape[1] && at[2] < shape[2] && at[3] < shape[3])
              sums[number % TILE_SUM_STRANDS] += tile_sum_element(params, &arrays[0], at);
    for (int32_t left = TILE_SUM_STRANDS / 2; left > 0; left /= 2)
      for (int32_t strand = 0; strand < left; ++strand)
        sums[strand] += sums[strand + left];
    *out++ = (float)sums[0];
    for (d = 3; d >= 0 && (first[d] += params->tile[d]) >= shape[d]; --d)
      first[d] = 0;
  } while (d >= 0);
}

static prem_status tile_sum_bind(prem_bind *bind) {
  tile_sum_params *params = (tile_sum_params *)bind->params.bytes;
  prem_status status = prem_bind_tile(bind, bind->rank[0], bind->shape[0], &bind->window[0]);
  if (status != PREM_OK)
    return status;
  params->of_bytes = bind->type[0] == PREM_U8;
  for (int32_t d = 0; d < 4; ++d)
    params->tile[d] = bind->window[0].extent[d];
  bind->work_bytes = TILE_SUM_STRANDS * (int32_t)sizeof(double);
  return prem_bind_tile_results(bind, 1, "out");
}

static const prem_port tile_sum_ports[] = {
    {"in", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

static const uint32_t tile_sum_port_types[] = {PREM_TYPE_BIT(PREM_F32) | PREM_TYPE_BIT(PREM_U8),
                                               PREM_TYPE_BIT(PREM_F32)};

PREM_COMPUTE_ENTRY(tile_sum)

static const prem_kernel tile_sum_kernel = {
    PREM_KERNEL_OF(tile_sum, tile_sum_ports),
    .summary = "out[t] = sum of tile t of in, f32 or u8; tile as the array's rank",
    .version = 1,
    .port_types = tile_sum_port_types,
};

#endif
