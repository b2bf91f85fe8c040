/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_multiply_channels: every channel of a complex array times the one of another (from the KCF
 *  tracker). */
#pragma once

#include "kernels/kcf.h"

typedef struct kcf_multiply_channels_params {
  int32_t unused; /* C has no empty struct */
} kcf_multiply_channels_params;

PREM_FN void kcf_multiply_channels_compute(const kcf_multiply_channels_params *params,
                                           const prem_view *views) {
  (void)params;
  const prem_view *shape = &views[2];
  const int32_t channels = shape->extent[1], pairs = kcf_rows_pairs(shape, shape->extent[2]);
  const int32_t channel_pairs = shape->pitch[1] / 2;
  for (int32_t scale = 0; scale < shape->extent[0]; ++scale) {
    const float_piece *a = float_pieces(&views[0]) + scale * (views[0].pitch[0] / 2);
    const float_piece *b = float_pieces(&views[1]) + scale * (views[1].pitch[1] / 2);
    float_piece *__restrict__ out = float_pieces(shape) + scale * (shape->pitch[0] / 2);
    PREM_LANES_2D(channel, channels, i, pairs) {
      const int32_t at = channel * channel_pairs + i;
      const float_piece x = a[at], y = b[i];
      out[at] = kcf_pair(kcf_product(kcf_of(x, 0), kcf_of(y, 0)),
                         kcf_product(kcf_of(x, 1), kcf_of(y, 1)));
    }
  }
}

#if PREM_HOST

static void kcf_multiply_channels_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const prem_c64 *a = (const prem_c64 *)arrays[0].data, *b = (const prem_c64 *)arrays[1].data;
  prem_c64 *out = (prem_c64 *)arrays[2].data;
  const int64_t *shape = arrays[2].shape, plane = shape[2] * shape[3];
  for (int64_t scale = 0; scale < shape[0]; ++scale, b += plane)
    for (int64_t channel = 0; channel < shape[1]; ++channel, a += plane, out += plane)
      for (int64_t i = 0; i < plane; ++i)
        out[i] = kcf_product(a[i], b[i]);
}

static const prem_port kcf_multiply_channels_ports[] = {
    {"a", PREM_IN, PREM_C64},
    {"b", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static prem_status kcf_multiply_channels_bind(prem_bind *bind) {
  int64_t one[4];
  prem_status status = kcf_without_channels(bind, 0, "a", one);
  if (status != PREM_OK)
    return status;
  if (!kcf_has_shape(bind, 1, bind->rank[0] - 1, one))
    return prem_bind_refuse(bind, "arrays.b", "must have the shape of `a` without its channels");
  if (bind->rank[2] != 0 && !kcf_has_shape(bind, 2, bind->rank[0], bind->shape[0]))
    return prem_bind_refuse(bind, "arrays.out", "must have the shape of `a`");
  status = prem_bind_tile(bind, bind->rank[0], bind->shape[0], &bind->window[0]);
  if (status != PREM_OK)
    return status;
  bind->window[1] = kcf_window_without_channels(&bind->window[0]);
  bind->window[2] = bind->window[0];
  bind->new_rank[2] = bind->rank[0];
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[2][d] = bind->shape[0][d];
  return PREM_OK;
}

PREM_COMPUTE_ENTRY(kcf_multiply_channels)

static const prem_kernel kcf_multiply_channels_kernel = {
    .name = "kcf_multiply_channels",
    .summary = "out = a * b, complex, b the same for all channels of a; tile = [of a's dimensions]",
    .version = 1,
    .ports = kcf_multiply_channels_ports,
    .port_count = 3,
    .bind = kcf_multiply_channels_bind,
    .compute = kcf_multiply_channels_entry,
    .reference = kcf_multiply_channels_reference,
};

#endif
