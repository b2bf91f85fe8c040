/** kcf_multiply: the product of two complex arrays, element by element (from the KCF tracker). */
#ifndef TTPREM_KERNELS_KCF_MULTIPLY_H
#define TTPREM_KERNELS_KCF_MULTIPLY_H

#include <math.h>

#include "ttprem/kernel.h"

typedef struct kcf_multiply_params {
  int32_t unused; /* C has no empty struct */
} kcf_multiply_params;

PREM_FN void kcf_multiply_compute(const kcf_multiply_params *params, const prem_view *views) {
  (void)params;
  const prem_view a = views[0], b = views[1], out = views[2];
  for (int32_t i0 = 0; i0 < out.extent[0]; ++i0)
    for (int32_t i1 = 0; i1 < out.extent[1]; ++i1) {
      const prem_c64 *x = (const prem_c64 *)a.data + i0 * a.pitch[0] + i1 * a.pitch[1];
      const prem_c64 *y = (const prem_c64 *)b.data + i0 * b.pitch[0] + i1 * b.pitch[1];
      prem_c64 *__restrict__ to = (prem_c64 *)out.data + i0 * out.pitch[0] + i1 * out.pitch[1];
      PREM_LANES_2D(row, out.extent[2], column, out.extent[3]) {
        const prem_c64 p = x[row * a.pitch[2] + column], q = y[row * b.pitch[2] + column];
        prem_c64 product;
        product.re = fmaf(p.re, q.re, -(p.im * q.im));
        product.im = fmaf(p.re, q.im, p.im * q.re);
        to[row * out.pitch[2] + column] = product;
      }
    }
}

#if PREM_HOST

static prem_status kcf_multiply_bind(prem_bind *bind) {
  static const char *const keys[] = {"arrays.a", "arrays.b", "arrays.out"};
  const int32_t rank = bind->rank[0];
  for (int32_t port = 1; port < 3; ++port) {
    bool same = bind->rank[port] == rank;
    for (int32_t d = 0; d < 4; ++d)
      same = same && bind->shape[port][d] == bind->shape[0][d];
    if (!same && !(port == 2 && bind->rank[port] == 0))
      return prem_bind_refuse(bind, keys[port], "must have the shape of `a`");
  }
  prem_window window;
  prem_status status = prem_bind_tile(bind, rank, bind->shape[0], &window);
  if (status != PREM_OK)
    return status;
  for (int32_t port = 0; port < 3; ++port)
    bind->window[port] = window;
  bind->new_rank[2] = rank;
  for (int32_t d = 0; d < 4; ++d)
    bind->new_shape[2][d] = bind->shape[0][d];
  return PREM_OK;
}

static void kcf_multiply_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const prem_c64 *a = (const prem_c64 *)arrays[0].data, *b = (const prem_c64 *)arrays[1].data;
  prem_c64 *out = (prem_c64 *)arrays[2].data;
  const int64_t *shape = arrays[2].shape;
  for (int64_t i = 0; i < shape[0] * shape[1] * shape[2] * shape[3]; ++i) {
    out[i].re = fmaf(a[i].re, b[i].re, -(a[i].im * b[i].im));
    out[i].im = fmaf(a[i].re, b[i].im, a[i].im * b[i].re);
  }
}

static const prem_port kcf_multiply_ports[] = {
    {"a", PREM_IN, PREM_C64},
    {"b", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

PREM_COMPUTE_ENTRY(kcf_multiply)

static const prem_kernel kcf_multiply_kernel = {
    .name = "kcf_multiply",
    .summary = "out = a * b, complex, element by element; tile = [of the arrays' dimensions]",
    .version = 1,
    .ports = kcf_multiply_ports,
    .port_count = 3,
    .bind = kcf_multiply_bind,
    .compute = kcf_multiply_entry,
    .reference = kcf_multiply_reference,
};

#endif
#endif
