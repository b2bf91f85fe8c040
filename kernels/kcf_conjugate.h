/** kcf_conjugate: the conjugate of a complex array (from the KCF tracker). */
#ifndef TTPREM_KERNELS_KCF_CONJUGATE_H
#define TTPREM_KERNELS_KCF_CONJUGATE_H

#include "kcf.h"

typedef struct kcf_conjugate_params {
  int32_t unused; /* C has no empty struct */
} kcf_conjugate_params;

PREM_FN prem_c64 kcf_conjugate_element(prem_c64 a) {
  a.im = -a.im;
  return a;
}

PREM_FN void kcf_conjugate_compute(const kcf_conjugate_params *params, const prem_view *views) {
  (void)params;
  const kcf_pair *in = kcf_pairs(&views[0]);
  kcf_pair *__restrict__ out = kcf_pairs(&views[1]);
  PREM_LANES(i, kcf_window_pairs(&views[1])) {
    const kcf_pair x = in[i];
    kcf_pair result;
    result.of[0] = kcf_conjugate_element(x.of[0]);
    result.of[1] = kcf_conjugate_element(x.of[1]);
    out[i] = result;
  }
}

#if PREM_HOST

static void kcf_conjugate_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const prem_c64 *in = (const prem_c64 *)arrays[0].data;
  prem_c64 *out = (prem_c64 *)arrays[1].data;
  for (int64_t i = 0; i < kcf_elements(&arrays[1]); ++i)
    out[i] = kcf_conjugate_element(in[i]);
}

static const prem_port kcf_conjugate_ports[] = {
    {"in", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static prem_status kcf_conjugate_bind(prem_bind *bind) {
  return kcf_bind_alike(bind, kcf_conjugate_ports, 2);
}

PREM_COMPUTE_ENTRY(kcf_conjugate)

static const prem_kernel kcf_conjugate_kernel = {
    .name = "kcf_conjugate",
    .summary = "out = conjugate of in; tile = [of the array's dimensions]",
    .version = 1,
    .ports = kcf_conjugate_ports,
    .port_count = 2,
    .bind = kcf_conjugate_bind,
    .compute = kcf_conjugate_entry,
    .reference = kcf_conjugate_reference,
};

#endif
#endif
