/** kcf_sqr_magnitude: the squared magnitudes of a complex array, with imaginary parts of 0, so that
 * other operators take them (from the KCF tracker). */
#ifndef TTPREM_KERNELS_KCF_SQR_MAGNITUDE_H
#define TTPREM_KERNELS_KCF_SQR_MAGNITUDE_H

#include "kcf.h"

typedef struct kcf_sqr_magnitude_params {
  int32_t unused; /* C has no empty struct */
} kcf_sqr_magnitude_params;

PREM_FN prem_c64 kcf_sqr_magnitude_element(prem_c64 a) {
  a.re = kcf_square(a);
  a.im = 0.0F;
  return a;
}

PREM_FN void kcf_sqr_magnitude_compute(const kcf_sqr_magnitude_params *params,
                                       const prem_view *views) {
  (void)params;
  const kcf_pair *in = kcf_pairs(&views[0]);
  kcf_pair *__restrict__ out = kcf_pairs(&views[1]);
  PREM_LANES(i, kcf_window_pairs(&views[1])) {
    const kcf_pair x = in[i];
    kcf_pair result;
    result.of[0] = kcf_sqr_magnitude_element(x.of[0]);
    result.of[1] = kcf_sqr_magnitude_element(x.of[1]);
    out[i] = result;
  }
}

#if PREM_HOST

static void kcf_sqr_magnitude_reference(const void *params, const prem_array_view *arrays) {
  (void)params;
  const prem_c64 *in = (const prem_c64 *)arrays[0].data;
  prem_c64 *out = (prem_c64 *)arrays[1].data;
  for (int64_t i = 0; i < kcf_elements(&arrays[1]); ++i)
    out[i] = kcf_sqr_magnitude_element(in[i]);
}

static const prem_port kcf_sqr_magnitude_ports[] = {
    {"in", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static prem_status kcf_sqr_magnitude_bind(prem_bind *bind) {
  return kcf_bind_alike(bind, kcf_sqr_magnitude_ports, 2);
}

PREM_COMPUTE_ENTRY(kcf_sqr_magnitude)

static const prem_kernel kcf_sqr_magnitude_kernel = {
    .name = "kcf_sqr_magnitude",
    .summary = "out = |in|^2, complex with imaginary part 0; tile = [of the array's dimensions]",
    .version = 1,
    .ports = kcf_sqr_magnitude_ports,
    .port_count = 2,
    .bind = kcf_sqr_magnitude_bind,
    .compute = kcf_sqr_magnitude_entry,
    .reference = kcf_sqr_magnitude_reference,
};

#endif
#endif
