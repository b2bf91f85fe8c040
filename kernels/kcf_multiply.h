/** kcf_multiply: the product of two complex arrays, element by element (from the KCF tracker). */
#ifndef TTPREM_KERNELS_KCF_MULTIPLY_H
#define TTPREM_KERNELS_KCF_MULTIPLY_H

#include "kcf.h"

typedef struct kcf_multiply_params {
  int32_t unused; /* C has no empty struct */
} kcf_multiply_params;

PREM_FN void kcf_multiply_compute(const kcf_multiply_params *params, const prem_view *views) {
  (void)params;
  const kcf_pair *a = kcf_pairs(&views[0]), *b = kcf_pairs(&views[1]);
  kcf_pair *__restrict__ out = kcf_pairs(&views[2]);
  PREM_LANES(i, kcf_window_pairs(&views[2])) {
    const kcf_pair x = a[i], y = b[i];
    kcf_pair result;
    result.of[0] = kcf_product(x.of[0], y.of[0]);
    result.of[1] = kcf_product(x.of[1], y.of[1]);
    out[i] = result;
  }
}

#if PREM_HOST

static void kcf_multiply_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const prem_c64 *a = (const prem_c64 *)arrays[0].data, *b = (const prem_c64 *)arrays[1].data;
  prem_c64 *out = (prem_c64 *)arrays[2].data;
  for (int64_t i = 0; i < kcf_elements(&arrays[2]); ++i)
    out[i] = kcf_product(a[i], b[i]);
}

static const prem_port kcf_multiply_ports[] = {
    {"a", PREM_IN, PREM_C64},
    {"b", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static prem_status kcf_multiply_bind(prem_bind *bind) {
  return kcf_bind_alike(bind, kcf_multiply_ports, 3);
}

PREM_COMPUTE_ENTRY(kcf_multiply)

static const prem_kernel kcf_multiply_kernel = {
    .name = "kcf_multiply",
    .summary = "out = a * b, complex, element by element; tile = [of the arrays' dimensions]",
    .version = 2,
    .ports = kcf_multiply_ports,
    .port_count = 3,
    .bind = kcf_multiply_bind,
    .compute = kcf_multiply_entry,
    .reference = kcf_multiply_reference,
};

#endif
#endif
