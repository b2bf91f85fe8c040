/* SPDX-License-Identifier: Apache-2.0 */
/** What the Fourier transforms' kernels share beside ttprem/fft.h: their parameters, binding, and
 * the references. */
#pragma once

#include "kernels/kcf.h"
#include "ttprem/fft.h"

typedef struct fft_params {
  prem_fft_plan plan;
  int32_t planes; /* of a whole tile, for each index of dimension 0 */
} fft_params;

/* Planes from the first to the last one of a tile, dimension 0 included: they follow each other in
 * the scratchpad, also those that hang over the array's edge. */
PREM_FN int32_t fft_planes(const fft_params *params, const prem_view *view) {
  return (view->extent[0] - 1) * params->planes + view->extent[1];
}

#if PREM_HOST

/* Lines along dimension 2 or 3 of whole arrays, which may be one array. */
PREM_CLONES static inline void fft_reference(const void *params, const prem_array_view *in,
                                             const prem_array_view *out, int32_t along) {
  const prem_fft_plan *plan = &((const fft_params *)params)->plan;
  const int64_t *shape = in->shape, points = shape[along], point = along == 3 ? 1 : shape[3];
  const int64_t line_count = shape[5 - along], line = along == 3 ? shape[3] : 1;
  prem_fft_point work[1 << PREM_FFT_MAX_BITS], done[1 << PREM_FFT_MAX_BITS];
  const prem_fft_lines from = {work, 1, 0, 0}, to = {done, 1, 0, 0};
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane)
    for (int64_t l = 0; l < line_count; ++l) {
      const int64_t first = plane * shape[2] * shape[3] + l * line;
      for (int64_t i = 0; i < points; ++i)
        work[i] = ((const prem_fft_point *)in->data)[first + i * point];
      prem_fft_transform(plan, from, &from, &from, &to, 1, 1);
      for (int64_t i = 0; i < points; ++i)
        ((prem_fft_point *)out->data)[first + i * point] = done[i];
    }
}

/* The logarithm, or -1 of what is no power of two. */
static inline int32_t fft_bits(int64_t points) {
  for (int32_t bits = 0; bits < 63; ++bits)
    if (INT64_C(1) << bits == points)
      return bits;
  return -1;
}

static const prem_port fft_ports[] = {
    {"in", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

/* Dimensions `first` to `last` are transformed, and whole in every tile. */
static inline prem_status fft_bind(prem_bind *bind, const char *name, int32_t first, int32_t last,
                                   int32_t max_bits) {
  static const char *const words[] = {"", "", "rows", "columns"};
  if (bind->rank[0] < 4 - first)
    return prem_bind_refuse(bind, "arrays.in", "has %d dimensions, %s takes %d or more",
                            (int)bind->rank[0], name, (int)(4 - first));
  const int32_t bits = fft_bits(bind->shape[0][last]);
  for (int32_t d = first; d <= last; ++d) {
    const int32_t its = fft_bits(bind->shape[0][d]);
    if (its < PREM_FFT_MIN_BITS || its > max_bits)
      return prem_bind_refuse(
          bind, "arrays.in", "has %lld %s, %s takes a power of two from %d to %d",
          (long long)bind->shape[0][d], words[d], name, 1 << PREM_FFT_MIN_BITS, 1 << max_bits);
    if (its != bits)
      return prem_bind_refuse(bind, "arrays.in",
                              "has planes of %lld x %lld, %s takes square ones: use fft_rows and "
                              "fft_columns",
                              (long long)bind->shape[0][2], (long long)bind->shape[0][3], name);
  }
  prem_status status = kcf_bind_alike(bind, fft_ports, 2);
  for (int32_t d = first; status == PREM_OK && d <= last; ++d)
    if (bind->window[0].extent[d] != bind->shape[0][d])
      status = prem_bind_refuse(bind, "tile", "has %d of %lld %s, %s needs all of them in a tile",
                                (int)bind->window[0].extent[d], (long long)bind->shape[0][d],
                                words[d], name);
  int64_t inverse = 0;
  if (status == PREM_OK)
    status = prem_arg_ints(bind, "inverse", &inverse, 1);
  if (status == PREM_OK && inverse != 0 && inverse != 1)
    status = prem_bind_refuse(bind, "args.inverse", "is %lld, must be 0 or 1", (long long)inverse);
  fft_params *params = (fft_params *)bind->params.bytes;
  params->plan.bits = bits;
  params->plan.sign = inverse ? -1.0F : 1.0F;
  params->plan.scale = inverse ? 1.0F / (float)(1 << bits) : 1.0F;
  params->planes = bind->window[0].extent[1];
  return status;
}

#endif
