/* SPDX-License-Identifier: Apache-2.0 */
/**
 * conv2d_u8: 3 x 3 coefficients over an image of bytes, which gives an image of bytes. Sums are
 * floats; they are rounded to nearest, ties to even, and saturated.
 *
 * Coefficients and borders are as in conv2d.
 */
#pragma once

#include "kernels/convolution.h"
#include "kernels/elements.h"

typedef struct conv2d_u8_params {
  float coefficients[9]; /* row-major */
  float offset;          /* that the sum begins with */
} conv2d_u8_params;

/* The products of a pixel are added in this order, everywhere. `in` is the neighbour above left. */
PREM_FN uint8_t conv2d_u8_pixel(const conv2d_u8_params *params, const uint8_t *in, int32_t pitch) {
  const float *k = params->coefficients;
  float sum = fmaf(k[0], (float)in[0], params->offset);
  sum = fmaf(k[1], (float)in[1], sum);
  sum = fmaf(k[2], (float)in[2], sum);
  in += pitch;
  sum = fmaf(k[3], (float)in[0], sum);
  sum = fmaf(k[4], (float)in[1], sum);
  sum = fmaf(k[5], (float)in[2], sum);
  in += pitch;
  sum = fmaf(k[6], (float)in[0], sum);
  sum = fmaf(k[7], (float)in[1], sum);
  return element_u8(fmaf(k[8], (float)in[2], sum));
}

PREM_FN void conv2d_u8_compute(const conv2d_u8_params *given, const prem_view *views) {
  const conv2d_u8_params params = *given;
  const uint8_t *in = (const uint8_t *)views[0].data;
  uint8_t *out = (uint8_t *)views[1].data;
  const int32_t in_pitch = views[0].pitch[2], out_pitch = views[1].pitch[2];
  PREM_ROLLED PREM_LANES_2D(row, views[1].extent[2], column, views[1].extent[3]) {
    out[row * out_pitch + column] =
        conv2d_u8_pixel(&params, in + row * in_pitch + column, in_pitch);
  }
}

#if PREM_HOST

static prem_status conv2d_u8_bind(prem_bind *bind) {
  static const conv2d_u8_params blur = {
      {0.0625F, 0.125F, 0.0625F, 0.125F, 0.25F, 0.125F, 0.0625F, 0.125F, 0.0625F}, 0.0F};
  prem_status status = convolution_bind(bind, "conv2d_u8", 1);
  if (status != PREM_OK)
    return status;
  conv2d_u8_params *params = (conv2d_u8_params *)bind->params.bytes;
  *params = blur;
  status = prem_arg_floats(bind, "coefficients", params->coefficients, 9);
  return status == PREM_OK ? prem_arg_floats(bind, "offset", &params->offset, 1) : status;
}

PREM_CLONES static void conv2d_u8_reference(const void *given, const prem_array_view *arrays) {
  const conv2d_u8_params *params = (const conv2d_u8_params *)given;
  const prem_array_view in = arrays[0], out = arrays[1];
  const int64_t border = (in.shape[2] - out.shape[2]) / 2; /* 1 where it is left out */
  for (int64_t row = 0; row < out.shape[2]; ++row)
    for (int64_t column = 0; column < out.shape[3]; ++column) {
      float sum = params->offset;
      for (int64_t i = 0; i < 9; ++i) {
        const int64_t y = row + border + i / 3 - 1, x = column + border + i % 3 - 1;
        const bool inside = y >= 0 && y < in.shape[2] && x >= 0 && x < in.shape[3];
        const uint8_t value = inside ? ((const uint8_t *)in.data)[y * in.shape[3] + x] : 0;
        sum = fmaf(params->coefficients[i], (float)value, sum);
      }
      ((uint8_t *)out.data)[row * out.shape[3] + column] = element_u8(sum);
    }
}

static const prem_port conv2d_u8_ports[] = {
    {"in", PREM_IN, PREM_U8},
    {"out", PREM_OUT, PREM_U8},
};

PREM_COMPUTE_ENTRY(conv2d_u8)

static const prem_kernel conv2d_u8_kernel = {
    PREM_KERNEL_OF(conv2d_u8, conv2d_u8_ports),
    .summary = "3 x 3 convolution of bytes, saturated; coefficients = [9 numbers], offset (0); "
               "tile = [rows, columns]",
    .version = 1,
};

#endif
