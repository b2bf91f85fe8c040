/* SPDX-License-Identifier: Apache-2.0 */
/**
 * matmul: out = a b, matrices. A tile of `out` takes whole rows of `a` and whole columns of `b`, so
 * that matrices are small enough for a scratchpad, or their inner side is.
 *
 * Terms are added from the first to the last, each by one rounding: fmaf().
 */
#pragma once

#include <math.h>

#include "ttprem/kernel.h"

typedef struct matmul_params {
  int32_t inner; /* columns of a, rows of b */
} matmul_params;

enum {
  MATMUL_ROWS = 4
}; /* of `out` that a lane makes at once: it reads `b` that much less often */

/* So many rows of one column. Rows beyond the last are made of the last one, and not stored. */
PREM_FN void matmul_rows(int32_t inner, const prem_view *a, const prem_view *b,
                         const prem_view *out, int32_t first, int32_t column) {
  const int32_t last = out->extent[2] - 1;
  const float *rows[MATMUL_ROWS];
  float sums[MATMUL_ROWS];
  for (int32_t r = 0; r < MATMUL_ROWS; ++r) {
    const int32_t row = first + r < last ? first + r : last;
    rows[r] = &PREM_AT(const float, *a, row, 0);
    sums[r] = 0.0F;
  }
  const float *down = &PREM_AT(const float, *b, 0, column);
  PREM_ROLLED for (int32_t k = 0; k < inner; ++k) {
    const float factor = down[(int64_t)k * b->pitch[2]];
    for (int32_t r = 0; r < MATMUL_ROWS; ++r)
      sums[r] = fmaf(rows[r][k], factor, sums[r]);
  }
  for (int32_t r = 0; r < MATMUL_ROWS; ++r)
    if (first + r <= last)
      PREM_AT(float, *out, first + r, column) = sums[r];
}

PREM_FN void matmul_compute(const matmul_params *params, const prem_view *views) {
  const int32_t inner = params->inner;
  const prem_view a = views[0], b = views[1], out = views[2];
  const int32_t groups = (out.extent[2] + MATMUL_ROWS - 1) / MATMUL_ROWS;
  PREM_LANES_2D(group, groups, column, out.extent[3]) {
    matmul_rows(inner, &a, &b, &out, group * MATMUL_ROWS, column);
  }
}

#if PREM_HOST

PREM_CLONES static void matmul_reference(const void *params, const prem_array_view *arrays) {
  const int64_t inner = ((const matmul_params *)params)->inner;
  const int64_t rows = arrays[2].shape[2], columns = arrays[2].shape[3];
  const float *a = (const float *)arrays[0].data, *b = (const float *)arrays[1].data;
  float *out = (float *)arrays[2].data;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      float sum = 0.0F;
      for (int64_t k = 0; k < inner; ++k)
        sum = fmaf(a[r * inner + k], b[k * columns + c], sum);
      out[r * columns + c] = sum;
    }
}

static prem_status matmul_judge(prem_bind *bind) {
  static const char *const keys[] = {"arrays.a", "arrays.b"};
  for (int port = 0; port < 2; ++port)
    if (bind->rank[port] != 2)
      return prem_bind_refuse(bind, keys[port], "has %d dimensions, matmul takes matrices of 2",
                              (int)bind->rank[port]);
  if (bind->shape[0][3] != bind->shape[1][2])
    return prem_bind_refuse(bind, "arrays.b",
                            "has %lld rows, but must have as many as `a` has columns: %lld",
                            (long long)bind->shape[1][2], (long long)bind->shape[0][3]);
  if (bind->shape[0][3] > INT32_MAX)
    return prem_bind_refuse(bind, "arrays.a", "has %lld columns, more than 2^31 - 1",
                            (long long)bind->shape[0][3]);
  if (bind->rank[2] != 0 && (bind->rank[2] != 2 || bind->shape[2][2] != bind->shape[0][2] ||
                             bind->shape[2][3] != bind->shape[1][3]))
    return prem_bind_refuse(bind, "arrays.out", "must be %lld x %lld, rows of `a` x columns of `b`",
                            (long long)bind->shape[0][2], (long long)bind->shape[1][3]);
  return PREM_OK;
}

/* A tile's rows of `a` move with it from row to row, its columns of `b` from column to column. */
static prem_status matmul_bind(prem_bind *bind) {
  prem_status status = matmul_judge(bind);
  if (status != PREM_OK)
    return status;
  const int64_t shape[4] = {1, 1, bind->shape[0][2], bind->shape[1][3]};
  prem_window window;
  status = prem_bind_tile(bind, 2, shape, &window);
  if (status != PREM_OK)
    return status;
  const int32_t inner = (int32_t)bind->shape[0][3];
  for (int port = 0; port < 2; ++port) {
    const int whole = port == 0 ? 3 : 2; /* the dimension that is not cut */
    bind->window[port] = window;
    bind->window[port].extent[whole] = inner;
    bind->window[port].base[whole] = 0;
    for (int g = 0; g < PREM_MAX_GRID; ++g)
      bind->window[port].step[whole][g] = 0;
  }
  bind->window[2] = window;
  bind->new_rank[2] = 2;
  for (int d = 0; d < 4; ++d)
    bind->new_shape[2][d] = shape[d];
  ((matmul_params *)bind->params.bytes)->inner = inner;
  return PREM_OK;
}

static const prem_port matmul_ports[] = {
    {"a", PREM_IN, PREM_F32},
    {"b", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(matmul)

static const prem_kernel matmul_kernel = {
    PREM_KERNEL_OF(matmul, matmul_ports),
    .summary = "out = a b, matrices, each tile with its rows of a and columns of b; tile = [rows, "
               "columns] of out",
    .version = 1,
};

#endif
