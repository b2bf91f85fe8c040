/* SPDX-License-Identifier: Apache-2.0 */
/**
 * conv2d_7x7: 7 x 7 coefficients over an image, as conv2d does it with 3 x 3: 49 multiplications
 * for each element moved, so that computing takes longer than moving.
 *
 * An output of the input's shape takes neighbours outside the image as 0; an output smaller by 6 in
 * both dimensions leaves the border out.
 */
#pragma once

#include <math.h>

#include "kernels/convolution.h"

enum { CONV2D_7X7_SIDE = 7, CONV2D_7X7_PITCH = 8 };

/* Row-major. A row is two pieces of 16 bytes; its last element is 0 and has no meaning. */
typedef struct conv2d_7x7_params {
  float coefficients[CONV2D_7X7_SIDE * CONV2D_7X7_PITCH];
} conv2d_7x7_params;

/* The products of a pixel are added in this order, everywhere. `in` is the neighbour above left. */
PREM_FN float conv2d_7x7_pixel(const float *k, const float *in, int32_t pitch) {
  float sum = 0.0F;
  for (int32_t row = 0; row < CONV2D_7X7_SIDE; ++row, in += pitch, k += CONV2D_7X7_PITCH) {
    sum = row == 0 ? k[0] * in[0] : fmaf(k[0], in[0], sum);
    sum = fmaf(k[1], in[1], sum);
    sum = fmaf(k[2], in[2], sum);
    sum = fmaf(k[3], in[3], sum);
    sum = fmaf(k[4], in[4], sum);
    sum = fmaf(k[5], in[5], sum);
    sum = fmaf(k[6], in[6], sum);
  }
  return sum;
}

#ifdef __CUDACC__

/* Rows of the output that a lane makes at a time. Three or four would need fewer loads, and more
 * registers than the executive has. */
enum { CONV2D_7X7_ROWS = 2 };

/* Ten neighbours of a row, for four pixels; loads twelve, from a 16-byte boundary. */
PREM_FN void conv2d_7x7_load(const float *in, float x[12]) {
  const float4 *pieces = (const float4 *)in;
#pragma unroll
  for (int32_t i = 0; i < 3; ++i) {
    const float4 piece = pieces[i];
    x[4 * i] = piece.x, x[4 * i + 1] = piece.y, x[4 * i + 2] = piece.z, x[4 * i + 3] = piece.w;
  }
}

/* One row of coefficients over ten neighbours, added to four pixels. */
PREM_FN void conv2d_7x7_row(const float *k, const float *x, float sum[4]) {
#pragma unroll
  for (int32_t tap = 0; tap < CONV2D_7X7_SIDE; ++tap)
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
      sum[i] = fmaf(k[tap], x[i + tap], sum[i]);
}

/* Four columns, from as many rows of the input as count. Goes down the rows of the coefficients and
 * keeps the rows of the input that one of them meets: for the next one, a row more is loaded in
 * place of the first. So each row of both is loaded once, and none is moved between registers, for
 * which of them is the first goes round in an unrolled loop. */
PREM_FN void conv2d_7x7_lane(const float *k, const float *in, int32_t in_pitch, int32_t in_rows,
                             float sum[CONV2D_7X7_ROWS][4]) {
  const float *last = in + (in_rows - 1) * in_pitch; /* stands for those below as well */
  float x[CONV2D_7X7_ROWS][12];
#pragma unroll
  for (int32_t r = 0; r < CONV2D_7X7_ROWS - 1; ++r) {
    conv2d_7x7_load(in, x[r]);
    in += in == last ? 0 : in_pitch;
  }
  PREM_ROLLED for (int32_t row = 0;; row += CONV2D_7X7_ROWS) {
#pragma unroll
    for (int32_t turn = 0; turn < CONV2D_7X7_ROWS; ++turn, k += CONV2D_7X7_PITCH) {
      const float4 left = ((const float4 *)k)[0], right = ((const float4 *)k)[1];
      const float own[] = {left.x, left.y, left.z, left.w, right.x, right.y, right.z};
      conv2d_7x7_load(in, x[(turn + CONV2D_7X7_ROWS - 1) % CONV2D_7X7_ROWS]);
      in += in == last ? 0 : in_pitch;
#pragma unroll
      for (int32_t r = 0; r < CONV2D_7X7_ROWS; ++r)
        conv2d_7x7_row(own, x[(turn + r) % CONV2D_7X7_ROWS], sum[r]);
      if (turn == (CONV2D_7X7_SIDE - 1) % CONV2D_7X7_ROWS && row + turn == CONV2D_7X7_SIDE - 1)
        return;
    }
  }
}

/* Columns by fours, whose first neighbours lie on a 16-byte boundary. The pixels lie on one as
 * well, but not where the border is made. A sum begins with -0, which changes no product that is
 * added to it. */
PREM_FN void conv2d_7x7_fours(const float *k, const float *in, int32_t in_pitch, float *out,
                              int32_t out_pitch, int32_t rows, int32_t fours) {
  const int32_t parts = (rows + CONV2D_7X7_ROWS - 1) / CONV2D_7X7_ROWS;
  PREM_ROLLED PREM_LANES(i, parts * fours) {
    const int32_t part = prem_lane_quotient(i, fours), column = 4 * (i - part * fours);
    const int32_t first = part * CONV2D_7X7_ROWS;
    const int32_t count = min(rows - first, (int32_t)CONV2D_7X7_ROWS);
    float sum[CONV2D_7X7_ROWS][4];
#pragma unroll
    for (int32_t r = 0; r < CONV2D_7X7_ROWS; ++r)
      sum[r][0] = sum[r][1] = sum[r][2] = sum[r][3] = -0.0F;
    conv2d_7x7_lane(k, in + first * in_pitch + column, in_pitch, count + CONV2D_7X7_SIDE - 1, sum);
    float *to = out + first * out_pitch + column;
    const bool whole = ((size_t)to & 15) == 0;
#pragma unroll
    for (int32_t r = 0; r < CONV2D_7X7_ROWS; ++r, to += out_pitch)
      if (r < count && whole)
        *(float4 *)to = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
      else if (r < count)
        to[0] = sum[r][0], to[1] = sum[r][1], to[2] = sum[r][2], to[3] = sum[r][3];
  }
}

PREM_FN void conv2d_7x7_compute(const conv2d_7x7_params *params, const prem_view *views) {
  const float *in = (const float *)views[0].data;
  float *out = (float *)views[1].data;
  const int32_t in_pitch = views[0].pitch[2], out_pitch = views[1].pitch[2];
  const int32_t rows = views[1].extent[2], columns = views[1].extent[3];
  const int32_t head = min((int32_t)(-(size_t)in / 4 & 3), columns);
  const int32_t fours = (columns - head) / 4, rest = columns - 4 * fours;
  if (rest > 0)
    PREM_ROLLED PREM_LANES_2D(row, rows, i, rest) {
      const int32_t column = i < head ? i : i + 4 * fours;
      out[row * out_pitch + column] =
          conv2d_7x7_pixel(params->coefficients, in + row * in_pitch + column, in_pitch);
    }
  if (fours > 0)
    conv2d_7x7_fours(params->coefficients, in + head, in_pitch, out + head, out_pitch, rows, fours);
}

#else

PREM_FN void conv2d_7x7_compute(const conv2d_7x7_params *given, const prem_view *views) {
  const conv2d_7x7_params params = *given;
  const float *__restrict__ in = (const float *)views[0].data;
  float *__restrict__ out = (float *)views[1].data;
  const int32_t in_pitch = views[0].pitch[2], out_pitch = views[1].pitch[2];
  PREM_LANES_2D(row, views[1].extent[2], column, views[1].extent[3]) {
    out[row * out_pitch + column] =
        conv2d_7x7_pixel(params.coefficients, in + row * in_pitch + column, in_pitch);
  }
}

#endif

#if PREM_HOST

/* A blur: what lies nearer counts more, all of it together 1. */
static void conv2d_7x7_blur(float coefficients[CONV2D_7X7_SIDE * CONV2D_7X7_SIDE]) {
  static const float weights[CONV2D_7X7_SIDE] = {1, 6, 15, 20, 15, 6, 1};
  for (int32_t row = 0; row < CONV2D_7X7_SIDE; ++row)
    for (int32_t column = 0; column < CONV2D_7X7_SIDE; ++column)
      coefficients[row * CONV2D_7X7_SIDE + column] = weights[row] * weights[column] / 4096.0F;
}

static prem_status conv2d_7x7_bind(prem_bind *bind) {
  conv2d_7x7_params *params = (conv2d_7x7_params *)bind->params.bytes;
  float given[CONV2D_7X7_SIDE * CONV2D_7X7_SIDE];
  conv2d_7x7_blur(given);
  prem_status status =
      prem_arg_floats(bind, "coefficients", given, CONV2D_7X7_SIDE * CONV2D_7X7_SIDE);
  for (int32_t i = 0; i < CONV2D_7X7_SIDE * CONV2D_7X7_SIDE; ++i)
    params->coefficients[i / CONV2D_7X7_SIDE * CONV2D_7X7_PITCH + i % CONV2D_7X7_SIDE] = given[i];
  return status == PREM_OK ? convolution_bind(bind, "conv2d_7x7", CONV2D_7X7_SIDE / 2) : status;
}

static void conv2d_7x7_reference(const void *params, const prem_array_view *arrays) {
  const float *k = ((const conv2d_7x7_params *)params)->coefficients;
  convolution_reference(k, CONV2D_7X7_SIDE, CONV2D_7X7_PITCH, arrays);
}

PREM_COMPUTE_ENTRY(conv2d_7x7)

static const prem_kernel conv2d_7x7_kernel = {
    PREM_KERNEL_OF(conv2d_7x7, convolution_ports),
    .summary = "7 x 7 convolution of an image; coefficients = [49 numbers]; tile = [rows, columns]",
    .version = 2,
};

#endif
