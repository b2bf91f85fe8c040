/** kcf_divide: the quotient of two complex arrays, element by element (from the KCF tracker). */
#ifndef TTPREM_KERNELS_KCF_DIVIDE_H
#define TTPREM_KERNELS_KCF_DIVIDE_H

#include "kcf.h"

typedef struct kcf_divide_params {
  int32_t unused; /* C has no empty struct */
} kcf_divide_params;

/* The squares of b are neither scaled nor guarded: where |b|^2 is 0 or beyond a float's range, so
 * is the quotient of no use. */
PREM_FN prem_c64 kcf_divide_element(prem_c64 a, prem_c64 b) {
  const float square = kcf_square(b);
  prem_c64 quotient;
  quotient.re = fmaf(a.re, b.re, a.im * b.im) / square;
  quotient.im = fmaf(a.im, b.re, -(a.re * b.im)) / square;
  return quotient;
}

PREM_FN void kcf_divide_compute(const kcf_divide_params *params, const prem_view *views) {
  (void)params;
  const kcf_pair *a = kcf_pairs(&views[0]), *b = kcf_pairs(&views[1]);
  kcf_pair *__restrict__ out = kcf_pairs(&views[2]);
  PREM_LANES(i, kcf_window_pairs(&views[2])) {
    const kcf_pair x = a[i], y = b[i];
    kcf_pair result;
    result.of[0] = kcf_divide_element(x.of[0], y.of[0]);
    result.of[1] = kcf_divide_element(x.of[1], y.of[1]);
    out[i] = result;
  }
}

#if PREM_HOST

static void kcf_divide_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const prem_c64 *a = (const prem_c64 *)arrays[0].data, *b = (const prem_c64 *)arrays[1].data;
  prem_c64 *out = (prem_c64 *)arrays[2].data;
  for (int64_t i = 0; i < kcf_elements(&arrays[2]); ++i)
    out[i] = kcf_divide_element(a[i], b[i]);
}

static const prem_port kcf_divide_ports[] = {
    {"a", PREM_IN, PREM_C64},
    {"b", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static prem_status kcf_divide_bind(prem_bind *bind) {
  return kcf_bind_alike(bind, kcf_divide_ports, 3);
}

PREM_COMPUTE_ENTRY(kcf_divide)

static const prem_kernel kcf_divide_kernel = {
    .name = "kcf_divide",
    .summary = "out = a / b, complex, element by element; tile = [of the arrays' dimensions]",
    .version = 1,
    .ports = kcf_divide_ports,
    .port_count = 3,
    .bind = kcf_divide_bind,
    .compute = kcf_divide_entry,
    .reference = kcf_divide_reference,
};

#endif
#endif
