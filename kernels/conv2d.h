/* SPDX-License-Identifier: Apache-2.0 */
/**
 * conv2d: 3 x 3 coefficients over an image, without flipping: the first coefficient weighs the
 * neighbour above and to the left.
 *
 * An output of the input's shape takes neighbours outside the image as 0; an output smaller by 2 in
 * both dimensions leaves the border out.
 */
#pragma once

#include <math.h>

#include "kernels/convolution.h"

typedef struct conv2d_params {
  float coefficients[9]; /* row-major */
} conv2d_params;

/* The products of a pixel are added in this order, everywhere. `in` is the neighbour above left. */
PREM_FN float conv2d_pixel(const conv2d_params *params, const float *in, int32_t pitch) {
  const float *k = params->coefficients;
  float sum = k[0] * in[0];
  sum = fmaf(k[1], in[1], sum);
  sum = fmaf(k[2], in[2], sum);
  in += pitch;
  sum = fmaf(k[3], in[0], sum);
  sum = fmaf(k[4], in[1], sum);
  sum = fmaf(k[5], in[2], sum);
  in += pitch;
  sum = fmaf(k[6], in[0], sum);
  sum = fmaf(k[7], in[1], sum);
  return fmaf(k[8], in[2], sum);
}

#ifdef __CUDACC__

/* Six neighbours of a row, for four pixels. They begin at a 16-byte boundary or, where the border
 * is made, one element before. */
PREM_FN void conv2d_load(const float *in, bool border, float six[6]) {
  if (border) {
    const float4 four = *(const float4 *)(in + 1);
    six[0] = in[0], six[5] = in[5];
    six[1] = four.x, six[2] = four.y, six[3] = four.z, six[4] = four.w;
  } else {
    const float4 four = *(const float4 *)in;
    const float2 two = *(const float2 *)(in + 4);
    six[0] = four.x, six[1] = four.y, six[2] = four.z, six[3] = four.w;
    six[4] = two.x, six[5] = two.y;
  }
}

/* Four pixels, each as conv2d_pixel() says; what needs the last row only at the end, as that may
 * still be on its way. */
PREM_FN float4 conv2d_four(const float k[9], const float a[6], const float b[6], const float c[6]) {
  float sum[4];
#pragma unroll
  for (int32_t i = 0; i < 4; ++i)
    sum[i] = fmaf(k[2], a[i + 2], fmaf(k[1], a[i + 1], k[0] * a[i]));
#pragma unroll
  for (int32_t i = 0; i < 4; ++i)
    sum[i] = fmaf(k[5], b[i + 2], fmaf(k[4], b[i + 1], fmaf(k[3], b[i], sum[i])));
#pragma unroll
  for (int32_t i = 0; i < 4; ++i)
    sum[i] = fmaf(k[8], c[i + 2], fmaf(k[7], c[i + 1], fmaf(k[6], c[i], sum[i])));
  return make_float4(sum[0], sum[1], sum[2], sum[3]);
}

/* Down the rows of four columns: each row of the input is loaded once and kept for three of the
 * output. Rows are moved between registers: a loop in which the registers go round would be three
 * times as long, and fetching it take longer than the moves. */
PREM_FN void conv2d_down(const float k[9], const float *in, int32_t in_pitch, bool border,
                         float *out, int32_t out_pitch, int32_t rows) {
  float a[6], b[6], c[6];
  conv2d_load(in, border, a);
  conv2d_load(in + in_pitch, border, b);
  in += 2 * in_pitch;
  PREM_ROLLED for (;;) {
    conv2d_load(in, border, c);
    *(float4 *)out = conv2d_four(k, a, b, c);
    if (--rows == 0)
      return;
    in += in_pitch;
    out += out_pitch;
#pragma unroll
    for (int32_t i = 0; i < 6; ++i)
      a[i] = b[i], b[i] = c[i];
  }
}

/* A lane goes down four columns whose outputs lie on a 16-byte boundary. Where there are more lanes
 * than such columns, several share them, each with a part of the rows. */
PREM_FN void conv2d_fours(const float k[9], const float *in, int32_t in_pitch, float *out,
                          int32_t out_pitch, int32_t rows, int32_t fours) {
  const int32_t lanes = PREM_LANE_COUNT, lane = PREM_LANE;
  const bool border = ((size_t)in & 15) != 0;
  const int32_t parts = fours < lanes ? prem_lane_quotient(lanes, fours) : 1;
  const int32_t part = fours < lanes ? prem_lane_quotient(lane, fours) : 0;
  const int32_t part_rows = parts > 1 ? prem_lane_quotient(rows + parts - 1, parts) : rows;
  const int32_t first = part * part_rows, count = min(part_rows, rows - first);
  if (part >= parts || count <= 0)
    return;
  in += first * in_pitch;
  out += first * out_pitch;
  PREM_ROLLED for (int32_t four = lane - part * fours; four < fours; four += lanes) {
    if (border)
      conv2d_down(k, in + 4 * four, in_pitch, true, out + 4 * four, out_pitch, count);
    else
      conv2d_down(k, in + 4 * four, in_pitch, false, out + 4 * four, out_pitch, count);
  }
}

PREM_FN void conv2d_compute(const conv2d_params *given, const prem_view *views) {
  const float4 *pieces = (const float4 *)given->coefficients;
  const float4 upper = pieces[0], lower = pieces[1];
  const conv2d_params params = {{upper.x, upper.y, upper.z, upper.w, lower.x, lower.y, lower.z,
                                 lower.w, given->coefficients[8]}};
  const float *in = (const float *)views[0].data;
  float *out = (float *)views[1].data;
  const int32_t in_pitch = views[0].pitch[2], out_pitch = views[1].pitch[2];
  const int32_t rows = views[1].extent[2], columns = views[1].extent[3];
  const int32_t head = min((int32_t)(-(size_t)out / 4 & 3), columns);
  const int32_t fours = (columns - head) / 4, rest = columns - 4 * fours;
  if (rest > 0)
    PREM_ROLLED PREM_LANES_2D(row, rows, i, rest) {
      const int32_t column = i < head ? i : i + 4 * fours;
      out[row * out_pitch + column] = conv2d_pixel(&params, in + row * in_pitch + column, in_pitch);
    }
  if (fours > 0)
    conv2d_fours(params.coefficients, in + head, in_pitch, out + head, out_pitch, rows, fours);
}

#else

enum { CONV2D_STRIP_ROWS = 4 };

/* Strips of four pixels of a column, so that the compiler keeps the rows that they share in
 * registers. Nothing is stored before all is loaded. */
PREM_FN void conv2d_compute(const conv2d_params *given, const prem_view *views) {
  const conv2d_params params = *given;
  const float *__restrict__ in = (const float *)views[0].data;
  float *__restrict__ out = (float *)views[1].data;
  const int32_t in_pitch = views[0].pitch[2], out_pitch = views[1].pitch[2];
  const int32_t rows = views[1].extent[2], columns = views[1].extent[3];
  const int32_t strips = rows / CONV2D_STRIP_ROWS;

  PREM_LANES_2D(strip, strips, column, columns) {
    const float *above = in + strip * CONV2D_STRIP_ROWS * in_pitch + column;
    float *to = out + strip * CONV2D_STRIP_ROWS * out_pitch + column;
    const float first = conv2d_pixel(&params, above, in_pitch);
    const float second = conv2d_pixel(&params, above + in_pitch, in_pitch);
    const float third = conv2d_pixel(&params, above + 2 * in_pitch, in_pitch);
    const float fourth = conv2d_pixel(&params, above + 3 * in_pitch, in_pitch);
    to[0] = first;
    to[out_pitch] = second;
    to[2 * out_pitch] = third;
    to[3 * out_pitch] = fourth;
  }
  in += strips * CONV2D_STRIP_ROWS * in_pitch;
  out += strips * CONV2D_STRIP_ROWS * out_pitch;
  PREM_LANES_2D(row, rows - strips * CONV2D_STRIP_ROWS, column, columns) {
    out[row * out_pitch + column] = conv2d_pixel(&params, in + row * in_pitch + column, in_pitch);
  }
}

#endif

#if PREM_HOST

static prem_status conv2d_bind(prem_bind *bind) {
  static const conv2d_params polybench = {
      {0.2F, 0.5F, -0.8F, -0.3F, 0.6F, -0.9F, 0.4F, 0.7F, 0.1F}};
  prem_status status = convolution_bind(bind, "conv2d", 1);
  if (status != PREM_OK)
    return status;
  conv2d_params *params = (conv2d_params *)bind->params.bytes;
  *params = polybench;
  return prem_arg_floats(bind, "coefficients", params->coefficients, 9);
}

static void conv2d_reference(const void *params, const prem_array_view *arrays) {
  const float *k = ((const conv2d_params *)params)->coefficients;
  convolution_reference(k, 3, 3, arrays);
}

PREM_COMPUTE_ENTRY(conv2d)

static const prem_kernel conv2d_kernel = {
    PREM_KERNEL_OF(conv2d, convolution_ports),
    .summary = "3 x 3 convolution of an image; coefficients = [9 numbers]; tile = [rows, columns]",
    .version = 2,
};

#endif
