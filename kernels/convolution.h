/* SPDX-License-Identifier: Apache-2.0 */
/** What convolutions of all sizes share: how their images are cut into tiles. */
#pragma once

#include <math.h>

#include "ttprem/kernel.h"

#if PREM_HOST

static const prem_port convolution_ports[] = {
    {"in", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

/* `side` x `side` coefficients, rows of which are `pitch` apart. */
PREM_CLONES static inline void convolution_reference(const float *k, int64_t side, int64_t pitch,
                                                     const prem_array_view *arrays) {
  const prem_array_view in = arrays[0], out = arrays[1];
  const int64_t reach = side / 2;
  const int64_t border = (in.shape[2] - out.shape[2]) / 2; /* `reach` where it is left out */
  for (int64_t row = 0; row < out.shape[2]; ++row)
    for (int64_t column = 0; column < out.shape[3]; ++column) {
      float sum = 0.0F;
      for (int64_t i = 0; i < side * side; ++i) {
        const int64_t y = row + border + i / side - reach, x = column + border + i % side - reach;
        const bool inside = y >= 0 && y < in.shape[2] && x >= 0 && x < in.shape[3];
        const float value = inside ? ((const float *)in.data)[y * in.shape[3] + x] : 0.0F;
        const float weight = k[i / side * pitch + i % side];
        sum = i == 0 ? weight * value : fmaf(weight, value, sum);
      }
      ((float *)out.data)[row * out.shape[3] + column] = sum;
    }
}

/* The output's shape, and how far its windows of the input reach over the edge. */
static inline prem_status convolution_shape(prem_bind *bind, const char *name, int32_t reach,
                                            int64_t out[4], int64_t *halo) {
  const int64_t *in = bind->shape[0], *given = bind->shape[1];
  const int side = 2 * reach + 1;
  if (bind->rank[0] != 2)
    return prem_bind_refuse(bind, "arrays.in", "has %d dimensions, %s takes an image of 2",
                            (int)bind->rank[0], name);
  out[0] = 1;
  out[1] = 1;
  out[2] = in[2] - 2 * reach;
  out[3] = in[3] - 2 * reach;
  *halo = 0;
  if (bind->rank[1] == 0) {
    if (out[2] < 1 || out[3] < 1)
      return prem_bind_refuse(bind, "arrays.out",
                              "a new output leaves the border out, but `in` is %lld x %lld, less "
                              "than %d x %d; name an array of the same shape instead",
                              (long long)in[2], (long long)in[3], side, side);
    return PREM_OK;
  }
  if (bind->rank[1] == 2 && given[2] == out[2] && given[3] == out[3])
    return PREM_OK;
  if (bind->rank[1] != 2 || given[2] != in[2] || given[3] != in[3])
    return prem_bind_refuse(bind, "arrays.out",
                            "must be %lld x %lld (as `in`, zeros around it), or smaller by %d in "
                            "both dimensions (the border left out)",
                            (long long)in[2], (long long)in[3], (int)(2 * reach));
  out[2] = in[2];
  out[3] = in[3];
  *halo = reach;
  return PREM_OK;
}

/**
 * Tiles of the output of a convolution `name` whose coefficients reach `reach` elements to all
 * sides; port 0 is the input, 1 the output.
 */
static inline prem_status convolution_bind(prem_bind *bind, const char *name, int32_t reach) {
  int64_t shape[4], halo;
  prem_status status = convolution_shape(bind, name, reach, shape, &halo);
  if (status != PREM_OK)
    return status;
  status = prem_bind_tile(bind, 2, shape, &bind->window[1]);
  if (status != PREM_OK)
    return status;
  bind->window[0] = bind->window[1];
  for (int32_t d = 2; d < 4; ++d) {
    if (bind->window[0].extent[d] > INT32_MAX - 2 * reach)
      return prem_bind_refuse(bind, "tile", "%d is too large", (int)bind->window[0].extent[d]);
    bind->window[0].base[d] = -halo;
    bind->window[0].extent[d] += 2 * reach;
  }
  bind->new_rank[1] = 2;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[1][d] = shape[d];
  return PREM_OK;
}

#endif
