/* SPDX-License-Identifier: Apache-2.0 */
/**
 * kcf_sqr_norm: the squared norm of a complex array divided by its rows x columns, as one share for
 * each tile (from the KCF tracker). vector_sum adds the shares up.
 *
 * Squares are floats, sums are doubles and are made in one order everywhere: strand (g, c) of a
 * tile adds up column c of the rows g, g + KCF_STRANDS, ... of all planes, then strands are added
 * in pairs half their number apart, columns first. A share is rounded to float once.
 */
#pragma once

#include "kernels/kcf.h"

enum { KCF_STRANDS = 8 }; /* in a column */

typedef struct kcf_sqr_norm_params {
  double inverse_area; /* 1 / (rows x columns) */
  int32_t tile[4];
} kcf_sqr_norm_params;

/* A strand's sum takes the place of its first element. */
typedef union kcf_cell {
  prem_c64 element;
  double sum;
} kcf_cell;

PREM_FN double kcf_strand(const kcf_cell *first, const prem_view *in, int32_t rows,
                          int32_t row_step) {
  double sum = 0.0;
  PREM_ROLLED for (int32_t i0 = 0; i0 < in->extent[0]; ++i0)
      PREM_ROLLED for (int32_t i1 = 0; i1 < in->extent[1]; ++i1) {
    const kcf_cell *at = first + i0 * in->pitch[0] + i1 * in->pitch[1];
    PREM_ROLLED for (int32_t row = 0; row < rows; row += KCF_STRANDS, at += row_step) sum +=
        (double)kcf_square(at->element);
  }
  return sum;
}

PREM_FN void kcf_sqr_norm_compute(const kcf_sqr_norm_params *params, const prem_view *views) {
  const prem_view in = views[0];
  kcf_cell *cells = (kcf_cell *)in.data;
  const int32_t pitch = in.pitch[2], columns = in.extent[3];
  const int32_t strands = in.extent[2] < KCF_STRANDS ? in.extent[2] : KCF_STRANDS;
  PREM_ROLLED PREM_LANES_2D(strand, strands, column, columns) {
    kcf_cell *first = &cells[strand * pitch + column];
    first->sum = kcf_strand(first, &in, in.extent[2] - strand, KCF_STRANDS * pitch);
  }
  PREM_SYNC();
  PREM_ROLLED for (int32_t left = columns, half; left > 1; left = half) {
    half = (left + 1) / 2;
    PREM_ROLLED PREM_LANES_2D(strand, strands, column, left - half) {
      kcf_cell *to = &cells[strand * pitch + column];
      to->sum += to[half].sum;
    }
    PREM_SYNC();
  }
  PREM_ROLLED for (int32_t left = strands, half; left > 1; left = half) {
    half = (left + 1) / 2;
    PREM_ROLLED PREM_LANES(strand, left - half) {
      cells[strand * pitch].sum += cells[(strand + half) * pitch].sum;
    }
    PREM_SYNC();
  }
  if (PREM_FIRST_LANE())
    *(float *)views[1].data = (float)(cells[0].sum * params->inverse_area);
}

#if PREM_HOST

typedef struct kcf_sqr_norm_tile {
  const prem_array_view *array;
  int64_t first[4], end[4];
  int64_t rows, columns; /* of whole tiles */
} kcf_sqr_norm_tile;

static double kcf_sqr_norm_strand(const kcf_sqr_norm_tile *tile, int64_t strand, int64_t column) {
  const int64_t *shape = tile->array->shape, *first = tile->first, *end = tile->end;
  const prem_c64 *all = (const prem_c64 *)tile->array->data;
  double sum = 0.0;
  if (first[3] + column >= end[3])
    return sum;
  for (int64_t i0 = first[0]; i0 < end[0]; ++i0)
    for (int64_t i1 = first[1]; i1 < end[1]; ++i1)
      for (int64_t row = first[2] + strand; row < end[2]; row += KCF_STRANDS)
        sum += (double)kcf_square(
            all[((i0 * shape[1] + i1) * shape[2] + row) * shape[3] + first[3] + column]);
  return sum;
}

/* What stands in `column` once only `left` columns are. */
static double kcf_sqr_norm_columns(const kcf_sqr_norm_tile *tile, int64_t strand, int64_t column,
                                   int64_t left) {
  int64_t before = tile->columns, half;
  while ((half = (before + 1) / 2) > left)
    before = half;
  if (left == tile->columns)
    return kcf_sqr_norm_strand(tile, strand, column);
  double sum = kcf_sqr_norm_columns(tile, strand, column, before);
  if (column + left < before)
    sum += kcf_sqr_norm_columns(tile, strand, column + left, before);
  return sum;
}

static double kcf_sqr_norm_share(const kcf_sqr_norm_tile *tile) {
  double sums[KCF_STRANDS];
  int64_t left = tile->rows < KCF_STRANDS ? tile->rows : KCF_STRANDS;
  for (int64_t strand = 0; strand < left; ++strand)
    sums[strand] = kcf_sqr_norm_columns(tile, strand, 0, 1);
  while (left > 1) {
    const int64_t half = (left + 1) / 2;
    for (int64_t strand = 0; strand < left - half; ++strand)
      sums[strand] += sums[strand + half];
    left = half;
  }
  return sums[0];
}

static void kcf_sqr_norm_reference(const void *params, const prem_array_view *arrays) {
  const kcf_sqr_norm_params *given = (const kcf_sqr_norm_params *)params;
  const int64_t *shape = arrays[0].shape;
  float *out = (float *)arrays[1].data;
  kcf_sqr_norm_tile tile = {.array = &arrays[0], .rows = given->tile[2], .columns = given->tile[3]};
  int64_t tiles[4], count = 1;
  for (int32_t d = 0; d < 4; ++d) {
    tiles[d] = (shape[d] + given->tile[d] - 1) / given->tile[d];
    count *= tiles[d];
  }
  for (int64_t t = 0; t < count; ++t) {
    int64_t number = t;
    for (int32_t d = 3; d >= 0; --d) {
      tile.first[d] = number % tiles[d] * given->tile[d];
      number /= tiles[d];
      tile.end[d] = tile.first[d] + given->tile[d];
      if (tile.end[d] > shape[d])
        tile.end[d] = shape[d];
    }
    out[t] = (float)(kcf_sqr_norm_share(&tile) * given->inverse_area);
  }
}

static prem_status kcf_sqr_norm_bind(prem_bind *bind) {
  kcf_sqr_norm_params *params = (kcf_sqr_norm_params *)bind->params.bytes;
  prem_status status = prem_bind_tile(bind, bind->rank[0], bind->shape[0], &bind->window[0]);
  if (status != PREM_OK)
    return status;
  params->inverse_area = 1.0 / ((double)bind->shape[0][2] * (double)bind->shape[0][3]);
  for (int32_t d = 0; d < 4; ++d)
    params->tile[d] = bind->window[0].extent[d];
  return prem_bind_tile_results(bind, 1, "out");
}

static const prem_port kcf_sqr_norm_ports[] = {
    {"in", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(kcf_sqr_norm)

static const prem_kernel kcf_sqr_norm_kernel = {
    PREM_KERNEL_OF(kcf_sqr_norm, kcf_sqr_norm_ports),
    .summary = "out[t] = sum of |in|^2 in tile t / (rows x columns of in); tile = [of in's "
               "dimensions]",
    .version = 1,
};

#endif
