/* SPDX-License-Identifier: Apache-2.0 */
/** vector_increment: out[i] = in[i] + increment. */
#pragma once

#include "kernels/pieces.h"

typedef struct vector_increment_params {
  float increment;
} vector_increment_params;

PREM_FN void vector_increment_compute(const vector_increment_params *params,
                                      const prem_view *views) {
  const float_piece *in = float_pieces(&views[0]);
  float_piece *__restrict__ out = float_pieces(&views[1]);
  const float increment = params->increment;
  PREM_LANES(i, (float_lead(&views[1]) + views[1].extent[3] + 3) / 4) {
    const float_piece piece = in[i];
    float_piece sum;
    for (int32_t k = 0; k < 4; ++k)
      sum.of[k] = piece.of[k] + increment;
    out[i] = sum;
  }
}

#if PREM_HOST

static prem_status vector_increment_bind(prem_bind *bind) {
  if (bind->rank[0] != 1)
    return prem_bind_refuse(bind, "arrays.in", "has %d dimensions, vector_increment takes 1",
                            (int)bind->rank[0]);
  if (bind->rank[1] != 0 && (bind->rank[1] != 1 || bind->shape[1][3] != bind->shape[0][3]))
    return prem_bind_refuse(bind, "arrays.out", "must be a vector of %lld, as `in` is",
                            (long long)bind->shape[0][3]);
  prem_window window;
  prem_status status = prem_bind_tile(bind, 1, bind->shape[0], &window);
  if (status != PREM_OK)
    return status;
  bind->window[0] = window;
  bind->window[1] = window;
  bind->new_rank[1] = 1;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[1][d] = bind->shape[0][d];
  vector_increment_params *params = (vector_increment_params *)bind->params.bytes;
  params->increment = 1.0F;
  return prem_arg_floats(bind, "increment", &params->increment, 1);
}

static void vector_increment_reference(const void *params, const prem_array_view *arrays) {
  const float increment = ((const vector_increment_params *)params)->increment;
  const float *in = (const float *)arrays[0].data;
  float *out = (float *)arrays[1].data;
  for (int64_t i = 0; i < arrays[1].shape[3]; ++i)
    out[i] = in[i] + increment;
}

static const prem_port vector_increment_ports[] = {
    {"in", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(vector_increment)

static const prem_kernel vector_increment_kernel = {
    PREM_KERNEL_OF(vector_increment, vector_increment_ports),
    .summary = "out = in + increment (1); vectors; tile = [n]",
    .version = 1,
};

#endif
