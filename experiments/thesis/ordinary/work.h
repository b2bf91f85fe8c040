/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the ordinary kernels compute, written once for both sides: worker `me` of `all` takes the
 * elements me, me + all, ... as Polybench's kernels and the thesis's do. Works of several steps say
 * how many there are; all workers are through with a step before the next begins.
 */
#pragma once

#include <math.h>

#include "experiments/thesis/ordinary/ordinary.h"

#ifdef __CUDACC__
#define PREM_WORK __host__ __device__ static inline
#else
#define PREM_WORK static inline
#endif

enum {
  CONV_ROWS = 1026,
  CONV_COLUMNS = 1022,
  CHANNELS = 8,
  PLANE = 64 * 64,    /* complex numbers of a channel */
  SIDE = 256,         /* of a matrix */
  PRODUCT_SIDE = 128, /* of one that others are multiplied with: the work grows with its cube */
  CUBE = 40,          /* of a grid of three dimensions */
  VECTORS = 32        /* that Gram-Schmidt makes orthogonal */
};

/** One of several workers. */
typedef struct worker_place {
  int32_t me, all;
} worker_place;

#define FOR_ALL(i, from, to) for (int32_t i = (from) + at.me; i < (to); i += at.all)

PREM_WORK float conv3x3(const float *row0, const float *row1, const float *row2) {
  return 0.2f * row0[0] + 0.5f * row0[1] - 0.8f * row0[2] - 0.3f * row1[0] + 0.6f * row1[1] -
         0.9f * row1[2] + 0.4f * row2[0] + 0.7f * row2[1] + 0.1f * row2[2];
}

/** Rows one after the other, the columns of each dealt to the workers: the original's order. */
PREM_WORK void conv2d_rows(const float *in, float *out, int32_t rows, int32_t columns,
                           worker_place at) {
  for (int32_t i = 1; i < rows - 1; ++i)
    FOR_ALL(j, 1, columns - 1) {
      const float *middle = in + (int64_t)i * columns + j - 1;
      out[(int64_t)i * columns + j] = conv3x3(middle - columns, middle, middle + columns);
    }
}

PREM_WORK void kcf_element(prem_ordinary_work work, const prem_ordinary_arrays *x, int32_t i) {
  const float re = x->a[2 * i], im = x->a[2 * i + 1];
  const int32_t other = work == PREM_ORDINARY_KCF_MULTIPLY_CHANNELS ? i % PLANE : i;
  const float bre = x->b[2 * other], bim = x->b[2 * other + 1];
  float *out = x->out + 2 * i;
  switch (work) {
  case PREM_ORDINARY_KCF_ADD:
    out[0] = re + bre, out[1] = im + bim;
    break;
  case PREM_ORDINARY_KCF_ADD_CONSTANT:
    out[0] = re + 0.5f, out[1] = im;
    break;
  case PREM_ORDINARY_KCF_CONJUGATE:
    out[0] = re, out[1] = -im;
    break;
  case PREM_ORDINARY_KCF_DIVIDE: {
    const float norm = bre * bre + bim * bim;
    out[0] = (re * bre + im * bim) / norm, out[1] = (im * bre - re * bim) / norm;
    break;
  }
  case PREM_ORDINARY_KCF_MULTIPLY_CONSTANT:
    out[0] = re * 0.5f, out[1] = im * 0.5f;
    break;
  case PREM_ORDINARY_KCF_SQR_MAGNITUDE:
    out[0] = re * re + im * im, out[1] = 0;
    break;
  default: /* both products */
    out[0] = re * bre - im * bim, out[1] = re * bim + im * bre;
    break;
  }
}

PREM_WORK void sum_channels(const prem_ordinary_arrays *x, worker_place at) {
  FOR_ALL(i, 0, 2 * PLANE) {
    float sum = 0;
    for (int32_t channel = 0; channel < CHANNELS; ++channel)
      sum += x->a[2 * PLANE * channel + i];
    x->out[i] = sum;
  }
}

/** A worker's share of the sum; who calls it adds them up in `out[worker]`. */
PREM_WORK void sqr_norm(const prem_ordinary_arrays *x, worker_place at) {
  float sum = 0;
  FOR_ALL(i, 0, 2 * PLANE * CHANNELS) {
    sum += x->a[i] * x->a[i];
  }
  x->out[at.me] = sum;
}

PREM_WORK void conv3d(const prem_ordinary_arrays *x, worker_place at) {
  FOR_ALL(i, 0, CUBE * CUBE * CUBE) {
    const int32_t plane = i / (CUBE * CUBE), row = i / CUBE % CUBE, column = i % CUBE;
    if (plane == 0 || row == 0 || column == 0 || plane == CUBE - 1 || row == CUBE - 1 ||
        column == CUBE - 1)
      continue;
    float sum = 0;
    for (int32_t p = -1; p <= 1; ++p) {
      const float *middle = x->a + i + p * CUBE * CUBE - 1;
      sum += (float)(p + 2) * conv3x3(middle - CUBE, middle, middle + CUBE);
    }
    x->out[i] = sum;
  }
}

PREM_WORK void jacobi(const float *in, float *out, worker_place at) {
  FOR_ALL(i, 0, SIDE * SIDE) {
    const int32_t row = i / SIDE, column = i % SIDE;
    if (row > 0 && column > 0 && row < SIDE - 1 && column < SIDE - 1)
      out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - SIDE] + in[i + SIDE]);
    else
      out[i] = in[i];
  }
}

/** One time step: ex is a, ey is b, hz is c; what is new of all three stands in `out`. */
PREM_WORK void fdtd(const prem_ordinary_arrays *x, int32_t step, worker_place at) {
  float *ex = x->out, *ey = x->out + SIDE * SIDE, *hz = x->out + 2 * SIDE * SIDE;
  FOR_ALL(i, 0, SIDE * SIDE) {
    const int32_t row = i / SIDE, column = i % SIDE;
    if (step == 0)
      ey[i] = row > 0 ? x->b[i] - 0.5f * (x->c[i] - x->c[i - SIDE]) : 0.0f;
    else if (step == 1)
      ex[i] = column > 0 ? x->a[i] - 0.5f * (x->c[i] - x->c[i - 1]) : x->a[i];
    else
      hz[i] = row < SIDE - 1 && column < SIDE - 1
                  ? x->c[i] - 0.7f * (ex[i + 1] - ex[i] + ey[i + SIDE] - ey[i])
                  : x->c[i];
  }
}

/** out = a b, or with `transposed` a b'; `more` adds to what is there. */
PREM_WORK void product(const float *a, const float *b, float *out, bool transposed, bool more,
                       worker_place at) {
  FOR_ALL(i, 0, PRODUCT_SIDE * PRODUCT_SIDE) {
    const int32_t row = i / PRODUCT_SIDE, column = i % PRODUCT_SIDE;
    float sum = more ? out[i] : 0.0f;
    for (int32_t k = 0; k < PRODUCT_SIDE; ++k)
      sum += a[row * PRODUCT_SIDE + k] *
             (transposed ? b[column * PRODUCT_SIDE + k] : b[k * PRODUCT_SIDE + column]);
    out[i] = sum;
  }
}

/** out = m v, or with `transposed` m' v. */
PREM_WORK void times_vector(const float *m, const float *v, float *out, bool transposed,
                            worker_place at) {
  FOR_ALL(i, 0, SIDE) {
    float sum = 0;
    for (int32_t k = 0; k < SIDE; ++k)
      sum += (transposed ? m[k * SIDE + i] : m[i * SIDE + k]) * v[k];
    out[i] = sum;
  }
}

/** Of the columns of a: means, then what is left without them, then every two of them. */
PREM_WORK void covariance(const prem_ordinary_arrays *x, int32_t step, bool normalised,
                          worker_place at) {
  const int32_t n = PRODUCT_SIDE;
  float *mean = x->out + n * n, *spread = mean + n, *rest = spread + n;
  if (step == 0)
    FOR_ALL(j, 0, n) {
      float sum = 0, squares = 0;
      for (int32_t i = 0; i < n; ++i)
        sum += x->a[i * n + j];
      mean[j] = sum / (float)n;
      for (int32_t i = 0; i < n; ++i)
        squares += (x->a[i * n + j] - mean[j]) * (x->a[i * n + j] - mean[j]);
      spread[j] = normalised ? sqrtf(squares) : 1.0f;
    }
  else if (step == 1)
    FOR_ALL(i, 0, n * n) {
      rest[i] = (x->a[i] - mean[i % n]) / spread[i % n];
    }
  else
    FOR_ALL(i, 0, n * n) {
      float sum = 0;
      for (int32_t k = 0; k < n; ++k)
        sum += rest[k * n + i / n] * rest[k * n + i % n];
      x->out[i] = sum;
    }
}

/** Steps 0, 1 copy and normalise vector 0, ...: 2 k normalises vector k, 2 k + 1 takes it out of
 * all behind it. Vectors are rows of SIDE. */
PREM_WORK void gram_schmidt(const prem_ordinary_arrays *x, int32_t step, worker_place at) {
  const int32_t k = step / 2;
  float *all = x->out;
  if (step == 0)
    FOR_ALL(i, 0, VECTORS * SIDE) {
      all[i] = x->a[i] + (i % SIDE == i / SIDE ? 4.0f : 0.0f);
    }
  if (step % 2 == 0)
    return;
  FOR_ALL(j, k + 1, VECTORS) {
    float dot = 0, norm = 0;
    for (int32_t i = 0; i < SIDE; ++i) {
      dot += all[k * SIDE + i] * all[j * SIDE + i];
      norm += all[k * SIDE + i] * all[k * SIDE + i];
    }
    for (int32_t i = 0; i < SIDE; ++i)
      all[j * SIDE + i] -= dot / norm * all[k * SIDE + i];
  }
}

PREM_WORK int32_t work_steps(prem_ordinary_work work) {
  switch (work) {
  case PREM_ORDINARY_FDTD_2D:
  case PREM_ORDINARY_3MM:
  case PREM_ORDINARY_COVAR:
  case PREM_ORDINARY_CORR:
    return 3;
  case PREM_ORDINARY_JACOBI_2D:
  case PREM_ORDINARY_2MM:
  case PREM_ORDINARY_SYR2K:
  case PREM_ORDINARY_ATAX:
  case PREM_ORDINARY_BICG:
  case PREM_ORDINARY_MVT:
  case PREM_ORDINARY_GESUMMV:
    return 2;
  case PREM_ORDINARY_GRAMSCHM:
    return 2 * VECTORS;
  default:
    return 1;
  }
}

PREM_WORK void do_linear(prem_ordinary_work work, const prem_ordinary_arrays *x, int32_t step,
                         worker_place at) {
  const int32_t n = PRODUCT_SIDE * PRODUCT_SIDE;
  float *first = x->out + n, *second = x->out + 2 * n;
  switch (work) {
  case PREM_ORDINARY_GEMM:
    product(x->a, x->b, x->out, false, false, at);
    break;
  case PREM_ORDINARY_2MM:
    if (step == 0)
      product(x->a, x->b, first, false, false, at);
    else
      product(first, x->c, x->out, false, false, at);
    break;
  case PREM_ORDINARY_3MM:
    if (step == 0)
      product(x->a, x->b, first, false, false, at);
    else if (step == 1)
      product(x->b, x->c, second, false, false, at);
    else
      product(first, second, x->out, false, false, at);
    break;
  case PREM_ORDINARY_SYRK:
    product(x->a, x->a, x->out, true, false, at);
    break;
  case PREM_ORDINARY_SYR2K:
    product(step ? x->b : x->a, step ? x->a : x->b, x->out, true, step > 0, at);
    break;
  case PREM_ORDINARY_ATAX: /* a'(a b) */
    times_vector(x->a, step ? x->out + SIDE : x->b, step ? x->out : x->out + SIDE, step > 0, at);
    break;
  case PREM_ORDINARY_BICG:
    times_vector(x->a, step ? x->c : x->b, step ? x->out : x->out + SIDE, step > 0, at);
    break;
  case PREM_ORDINARY_MVT:
    times_vector(x->a, step ? x->b : x->c, step ? x->out : x->out + SIDE, step == 0, at);
    break;
  default: /* gesummv: a c and b c; their sum is left to who reads them */
    times_vector(step ? x->a : x->b, x->c, step ? x->out : x->out + SIDE, false, at);
    break;
  }
}

/** A worker's share of a step. */
PREM_WORK void work_step(prem_ordinary_work work, const prem_ordinary_arrays *x, int32_t step,
                         worker_place at) {
  switch (work) {
  case PREM_ORDINARY_CONV2D:
    conv2d_rows(x->a, x->out, CONV_ROWS, CONV_COLUMNS, at);
    break;
  case PREM_ORDINARY_2DCONV:
    conv2d_rows(x->a, x->out, SIDE, SIDE, at);
    break;
  case PREM_ORDINARY_3DCONV:
    conv3d(x, at);
    break;
  case PREM_ORDINARY_JACOBI_2D:
    jacobi(step ? x->out + SIDE * SIDE : x->a, step ? x->out : x->out + SIDE * SIDE, at);
    break;
  case PREM_ORDINARY_FDTD_2D:
    fdtd(x, step, at);
    break;
  case PREM_ORDINARY_COVAR:
  case PREM_ORDINARY_CORR:
    covariance(x, step, work == PREM_ORDINARY_CORR, at);
    break;
  case PREM_ORDINARY_GRAMSCHM:
    gram_schmidt(x, step, at);
    break;
  case PREM_ORDINARY_KCF_SUM_CHANNELS:
    sum_channels(x, at);
    break;
  case PREM_ORDINARY_KCF_SQR_NORM:
    sqr_norm(x, at);
    break;
  default:
    if (work >= PREM_ORDINARY_GEMM) {
      do_linear(work, x, step, at);
      break;
    }
    FOR_ALL(i, 0, PLANE * CHANNELS) {
      kcf_element(work, x, i);
    }
    break;
  }
}

#undef FOR_ALL
