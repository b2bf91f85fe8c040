/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_sum_channels: the sum of all channels of a complex array, added in their order (from the KCF
 *  tracker). */
#pragma once

#include "kernels/kcf.h"

typedef struct kcf_sum_channels_params {
  int32_t channels;
} kcf_sum_channels_params;

PREM_FN void kcf_sum_channels_compute(const kcf_sum_channels_params *params,
                                      const prem_view *views) {
  const prem_view *in = &views[0], *out = &views[1];
  const int32_t channels = params->channels, channel_pairs = in->pitch[1] / 2;
  for (int32_t scale = 0; scale < out->extent[1]; ++scale) {
    const float_piece *from = float_pieces(in) + scale * (in->pitch[0] / 2);
    float_piece *__restrict__ to = float_pieces(out) + scale * (out->pitch[1] / 2);
    PREM_LANES(i, kcf_rows_pairs(out, out->extent[2])) {
      float_piece sum = from[i];
      for (int32_t channel = 1; channel < channels; ++channel) {
        const float_piece x = from[channel * channel_pairs + i];
        for (int32_t k = 0; k < 4; ++k)
          sum.of[k] += x.of[k];
      }
      to[i] = sum;
    }
  }
}

#if PREM_HOST

static void kcf_sum_channels_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const int64_t *shape = arrays[0].shape, plane = shape[2] * shape[3];
  const prem_c64 *in = (const prem_c64 *)arrays[0].data;
  prem_c64 *out = (prem_c64 *)arrays[1].data;
  for (int64_t scale = 0; scale < shape[0]; ++scale, out += plane)
    for (int64_t channel = 0; channel < shape[1]; ++channel, in += plane)
      for (int64_t i = 0; i < plane; ++i)
        out[i] = channel == 0 ? in[i] : kcf_sum(out[i], in[i]);
}

static const prem_port kcf_sum_channels_ports[] = {
    {"in", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static prem_status kcf_sum_channels_bind(prem_bind *bind) {
  int64_t shape[4];
  const int32_t rank = bind->rank[0] - 1;
  prem_status status = kcf_without_channels(bind, 0, "in", shape);
  if (status != PREM_OK)
    return status;
  if (bind->rank[1] != 0 && !kcf_has_shape(bind, 1, rank, shape))
    return prem_bind_refuse(bind, "arrays.out", "must have the shape of `in` without its channels");
  status = prem_bind_tile(bind, rank, shape, &bind->window[1]);
  if (status != PREM_OK)
    return status;
  if (bind->shape[0][1] > INT32_MAX)
    return prem_bind_refuse(bind, "arrays.in", "has %lld channels, more than a window holds",
                            (long long)bind->shape[0][1]);
  const int32_t channels = (int32_t)bind->shape[0][1];
  bind->window[0] = kcf_window_with_channels(&bind->window[1], channels);
  bind->new_rank[1] = rank;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[1][d] = shape[d];
  ((kcf_sum_channels_params *)bind->params.bytes)->channels = channels;
  return PREM_OK;
}

PREM_COMPUTE_ENTRY(kcf_sum_channels)

static const prem_kernel kcf_sum_channels_kernel = {
    PREM_KERNEL_OF(kcf_sum_channels, kcf_sum_channels_ports),
    .summary = "out = sum of all channels of in, complex; tile = [of out's dimensions]",
    .version = 1,
};

#endif
