/**
 * conv2d_7x7: 7 x 7 coefficients over an image, as conv2d does it with 3 x 3: 49 multiplications
 * for each element moved, so that computing takes longer than moving.
 *
 * An output of the input's shape takes neighbours outside the image as 0; an output smaller by 6 in
 * both dimensions leaves the border out.
 */
#ifndef TTPREM_KERNELS_CONV2D_7X7_H
#define TTPREM_KERNELS_CONV2D_7X7_H

#include <math.h>

#include "convolution.h"

enum { CONV2D_7X7_SIDE = 7 };

typedef struct conv2d_7x7_params {
  float coefficients[CONV2D_7X7_SIDE * CONV2D_7X7_SIDE]; /* row-major */
} conv2d_7x7_params;

/* The products of a pixel are added in this order, everywhere. `in` is the neighbour above left. */
PREM_FN float conv2d_7x7_pixel(const float *k, const float *in, int32_t pitch) {
  float sum = 0.0F;
  for (int32_t row = 0; row < CONV2D_7X7_SIDE; ++row, in += pitch, k += CONV2D_7X7_SIDE) {
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

/* Ten neighbours of a row, for four pixels whose outputs lie on a 16-byte boundary. The first one
 * then lies on a boundary as well, or, where the border is made, three elements to the left of one:
 * `phase` is 0 or 1. Loads whole pieces of 16 bytes. */
PREM_FN void conv2d_7x7_load(const float *in, int32_t phase, float ten[10]) {
  const float4 *pieces = (const float4 *)(in - phase);
  const float4 a = pieces[0], b = pieces[1], c = pieces[2];
  if (phase == 0) {
    ten[0] = a.x, ten[1] = a.y, ten[2] = a.z, ten[3] = a.w, ten[4] = b.x;
    ten[5] = b.y, ten[6] = b.z, ten[7] = b.w, ten[8] = c.x, ten[9] = c.y;
  } else {
    ten[0] = a.y, ten[1] = a.z, ten[2] = a.w, ten[3] = b.x, ten[4] = b.y;
    ten[5] = b.z, ten[6] = b.w, ten[7] = c.x, ten[8] = c.y, ten[9] = c.z;
  }
}

/* One row of coefficients over ten neighbours, added to four pixels. */
PREM_FN void conv2d_7x7_row(const float *k, const float ten[10], float sum[4]) {
#pragma unroll
  for (int32_t tap = 0; tap < CONV2D_7X7_SIDE; ++tap)
#pragma unroll
    for (int32_t i = 0; i < 4; ++i)
      sum[i] = fmaf(k[tap], ten[i + tap], sum[i]);
}

/* A lane makes four columns of two rows whose outputs lie on a 16-byte boundary: it loads eight
 * rows of the input, and each row of coefficients but the outermost for both. A sum begins with -0,
 * which changes no product that is added to it. */
PREM_FN void conv2d_7x7_fours(const float *k, const float *in, int32_t in_pitch, float *out,
                              int32_t out_pitch, int32_t rows, int32_t fours) {
  const int32_t phase = (int32_t)((size_t)in / 4 & 3);
  PREM_ROLLED PREM_LANES_2D(two, (rows + 1) / 2, four, fours) {
    const float *from = in + 2 * two * in_pitch + 4 * four;
    float *to = out + 2 * two * out_pitch + 4 * four;
    const bool both = 2 * two + 1 < rows;
    float ten[10], upper[4] = {-0.0F, -0.0F, -0.0F, -0.0F}, lower[4] = {-0.0F, -0.0F, -0.0F, -0.0F};
    conv2d_7x7_load(from, phase, ten);
    conv2d_7x7_row(k, ten, upper);
    PREM_ROLLED for (int32_t row = 1; row < CONV2D_7X7_SIDE; ++row) {
      from += in_pitch;
      conv2d_7x7_load(from, phase, ten);
      conv2d_7x7_row(k + row * CONV2D_7X7_SIDE, ten, upper);
      conv2d_7x7_row(k + (row - 1) * CONV2D_7X7_SIDE, ten, lower);
    }
    *(float4 *)to = make_float4(upper[0], upper[1], upper[2], upper[3]);
    if (both) {
      conv2d_7x7_load(from + in_pitch, phase, ten);
      conv2d_7x7_row(k + (CONV2D_7X7_SIDE - 1) * CONV2D_7X7_SIDE, ten, lower);
      *(float4 *)(to + out_pitch) = make_float4(lower[0], lower[1], lower[2], lower[3]);
    }
  }
}

PREM_FN void conv2d_7x7_compute(const conv2d_7x7_params *params, const prem_view *views) {
  const float *in = (const float *)views[0].data;
  float *out = (float *)views[1].data;
  const int32_t in_pitch = views[0].pitch[2], out_pitch = views[1].pitch[2];
  const int32_t rows = views[1].extent[2], columns = views[1].extent[3];
  const int32_t head = min((int32_t)(-(size_t)out / 4 & 3), columns);
  const int32_t fours = (columns - head) / 4, rest = columns - 4 * fours;
  if (fours > 0)
    conv2d_7x7_fours(params->coefficients, in + head, in_pitch, out + head, out_pitch, rows, fours);
  if (rest > 0)
    PREM_ROLLED PREM_LANES_2D(row, rows, i, rest) {
      const int32_t column = i < head ? i : i + 4 * fours;
      out[row * out_pitch + column] =
          conv2d_7x7_pixel(params->coefficients, in + row * in_pitch + column, in_pitch);
    }
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
  conv2d_7x7_blur(params->coefficients);
  prem_status status = prem_arg_floats(bind, "coefficients", params->coefficients,
                                       CONV2D_7X7_SIDE * CONV2D_7X7_SIDE);
  return status == PREM_OK ? convolution_bind(bind, "conv2d_7x7", CONV2D_7X7_SIDE / 2) : status;
}

static void conv2d_7x7_reference(const void *params, const prem_array_view *arrays) {
  const float *k = ((const conv2d_7x7_params *)params)->coefficients;
  const prem_array_view in = arrays[0], out = arrays[1];
  const int64_t side = CONV2D_7X7_SIDE, reach = side / 2;
  const int64_t border = (in.shape[2] - out.shape[2]) / 2; /* `reach` where it is left out */
  for (int64_t row = 0; row < out.shape[2]; ++row)
    for (int64_t column = 0; column < out.shape[3]; ++column) {
      float sum = 0.0F;
      for (int64_t i = 0; i < side * side; ++i) {
        const int64_t y = row + border + i / side - reach, x = column + border + i % side - reach;
        const bool inside = y >= 0 && y < in.shape[2] && x >= 0 && x < in.shape[3];
        const float value = inside ? ((const float *)in.data)[y * in.shape[3] + x] : 0.0F;
        sum = i == 0 ? k[i] * value : fmaf(k[i], value, sum);
      }
      ((float *)out.data)[row * out.shape[3] + column] = sum;
    }
}

static const prem_port conv2d_7x7_ports[] = {
    {"in", PREM_IN, PREM_F32},
    {"out", PREM_OUT, PREM_F32},
};

PREM_COMPUTE_ENTRY(conv2d_7x7)

static const prem_kernel conv2d_7x7_kernel = {
    .name = "conv2d_7x7",
    .summary = "7 x 7 convolution of an image; coefficients = [49 numbers]; tile = [rows, columns]",
    .version = 1,
    .params_bytes = sizeof(conv2d_7x7_params),
    .ports = conv2d_7x7_ports,
    .port_count = 2,
    .bind = conv2d_7x7_bind,
    .compute = conv2d_7x7_entry,
    .reference = conv2d_7x7_reference,
};

#endif
#endif
