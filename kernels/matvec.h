/* SPDX-License-Identifier: Apache-2.0 */
/**
 * matvec: out = a x, a matrix times a vector. A tile takes whole rows of `a`, and all of `x`.
 *
 * The order is the same everywhere: strand s of a row adds the products of columns s,
 * s + MATVEC_STRANDS, ... from the first to the last, each by one rounding: fmaf(). Then strands
 * are added in pairs half their number apart.
 */
#pragma once

#include <math.h>

#include "kernels/pieces.h"

enum { MATVEC_STRANDS = 32 };

typedef struct matvec_params {
  int32_t columns; /* of a; elements of x */
} matvec_params;

/* The sum of a row's first `left` strands takes the place of its first element. */
PREM_FN void matvec_fold(const prem_view *of, int32_t left) {
  const prem_view a = *of;
  PREM_ROLLED while (left > 1) {
    const int32_t half = (left + 1) / 2;
    PREM_ROLLED PREM_LANES_2D(row, a.extent[2], strand, left - half) {
      PREM_AT(float, a, row, strand) += PREM_AT(float, a, row, strand + half);
    }
    left = half;
    PREM_SYNC();
  }
}

/* The same of all 32 strands, additions in the same order: of four each, then of the eight sums. */
PREM_FN void matvec_fold_all(const prem_view *of) {
  const prem_view a = *of;
  PREM_LANES_2D(row, a.extent[2], strand, 8) {
    float *terms = &PREM_AT(float, a, row, strand);
    *terms = (terms[0] + terms[16]) + (terms[8] + terms[24]);
  }
  PREM_SYNC();
  PREM_LANES(row, a.extent[2]) {
    float *terms = &PREM_AT(float, a, row, 0);
    *terms = ((terms[0] + terms[4]) + (terms[2] + terms[6])) +
             ((terms[1] + terms[5]) + (terms[3] + terms[7]));
  }
}

/* Four strands of a row, the first of which is 4 * `four`: their sums take the places of their
 * first elements. A row and `x` begin at a piece. */
PREM_FN void matvec_strands(float *row, const float *x, int32_t columns, int32_t four) {
  float_piece *terms = (float_piece *)(void *)row;
  const float_piece *factors = (const float_piece *)(const void *)x;
  float_piece sums = {{0.0F, 0.0F, 0.0F, 0.0F}};
  int32_t i = four;
  for (; i < columns / 4; i += MATVEC_STRANDS / 4) {
    const float_piece term = terms[i], factor = factors[i];
    for (int32_t k = 0; k < 4; ++k)
      sums.of[k] = fmaf(term.of[k], factor.of[k], sums.of[k]);
  }
  PREM_ROLLED for (int32_t k = 0; 4 * i + k < columns && k < 4; ++k) {
    sums.of[k] = fmaf(row[4 * i + k], x[4 * i + k], sums.of[k]);
  }
  terms[four] = sums;
}

PREM_FN void matvec_compute(const matvec_params *params, const prem_view *views) {
  const prem_view a = views[0];
  const float *x = (const float *)views[1].data;
  const int32_t columns = params->columns;
  const int32_t left = columns < MATVEC_STRANDS ? columns : MATVEC_STRANDS;
  PREM_LANES_2D(row, a.extent[2], four, (left + 3) / 4) {
    matvec_strands(&PREM_AT(float, a, row, 0), x, columns, four);
  }
  PREM_SYNC();
  if (left == MATVEC_STRANDS)
    matvec_fold_all(&a);
  else
    matvec_fold(&a, left);
  PREM_ROLLED PREM_LANES(row, a.extent[2]) {
    ((float *)views[2].data)[row] = PREM_AT(float, a, row, 0);
  }
}

#if PREM_HOST

PREM_CLONES static float matvec_row(const float *row, const float *x, int64_t columns) {
  float sums[MATVEC_STRANDS];
  int64_t left = columns < MATVEC_STRANDS ? columns : MATVEC_STRANDS;
  for (int64_t strand = 0; strand < left; ++strand) {
    sums[strand] = 0.0F;
    for (int64_t c = strand; c < columns; c += MATVEC_STRANDS)
      sums[strand] = fmaf(row[c], x[c], sums[strand]);
  }
  while (left > 1) {
    const int64_t half = (left + 1) / 2;
    for (int64_t strand = 0; strand < left - half; ++strand)
      sums[strand] += sums[strand + half];
    left = half;
  }
  return sums[0];
}

static void matvec_reference(const void *params, const prem_array_view *arrays) {
  const int64_t columns = ((const matvec_params *)params)->columns;
  for (int64_t r = 0; r < arrays[0].shape[2]; ++r)
    ((float *)arrays[2].data)[r] = matvec_row((const float *)arrays[0].data + r * columns,
                                              (const float *)arrays[1].data, columns);
}

static prem_status matvec_judge(prem_bind *bind) {
  if (bind->rank[0] != 2)
    return prem_bind_refuse(bind, "arrays.a", "has %d dimensions, matvec takes a matrix of 2",
                            (int)bind->rank[0]);
  if (bind->shape[0][3] > INT32_MAX)
    return prem_bind_refuse(bind, "arrays.a", "has %lld columns, more than 2^31 - 1",
                            (long long)bind->shape[0][3]);
  if (bind->rank[1] != 1 || bind->shape[1][3] != bind->shape[0][3])
    return prem_bind_refuse(bind, "arrays.x", "must be a vector of %lld elements, columns of `a`",
                            (long long)bind->shape[0][3]);
  if (bind->rank[2] != 0 && (bind->rank[2] != 1 || bind->shape[2][3] != bind->shape[0][2]))
    return prem_bind_refuse(bind, "arrays.out", "must be a vector of %lld elements, rows of `a`",
                            (long long)bind->shape[0][2]);
  return PREM_OK;
}

/* A tile's rows move with its elements of `out`; columns, and `x`, are whole. */
static prem_status matvec_bind(prem_bind *bind) {
  prem_status status = matvec_judge(bind);
  if (status != PREM_OK)
    return status;
  const int64_t shape[4] = {1, 1, 1, bind->shape[0][2]};
  prem_window *rows = &bind->window[2];
  status = prem_bind_tile(bind, 1, shape, rows);
  if (status != PREM_OK)
    return status;
  const int32_t columns = (int32_t)bind->shape[0][3];
  for (int port = 0; port < 2; ++port) {
    bind->window[port] = *rows;
    bind->window[port].base[3] = 0;
    bind->window[port].extent[3] = columns;
    for (int g = 0; g < PREM_MAX_GRID; ++g)
      bind->window[port].step[3][g] = 0;
  }
  bind->window[0].base[2] = rows->base[3];
  bind->window[0].extent[2] = rows->extent[3];
  for (int g = 0; g < PREM_MAX_GRID; ++g)
    bind->window[0].step[2][g] = rows->step[3][g];
  bind->new_rank[2] = 1;
  for (int d = 0; d < 4; ++d)
    bind->new_shape[2][d] = shape[d];
  ((matvec_params *)bind->params.bytes)->columns = columns;
  return PREM_OK;
}

static const prem_port matvec_ports[] = {
    {"a", PREM_IN, PREM_F32},
    {"x", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(matvec)

static const prem_kernel matvec_kernel = {
    PREM_KERNEL_OF(matvec, matvec_ports),
    .summary = "out = a x, a matrix times a vector, each tile with its rows of a; tile = [rows]",
    .version = 1,
};

#endif
