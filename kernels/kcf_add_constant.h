/** kcf_add_constant: a real constant added to the real parts of a complex array (from the KCF
 * tracker). */
#ifndef TTPREM_KERNELS_KCF_ADD_CONSTANT_H
#define TTPREM_KERNELS_KCF_ADD_CONSTANT_H

#include "kcf.h"

typedef struct kcf_add_constant_params {
  float constant;
} kcf_add_constant_params;

PREM_FN prem_c64 kcf_add_constant_element(float constant, prem_c64 a) {
  a.re += constant;
  return a;
}

PREM_FN void kcf_add_constant_compute(const kcf_add_constant_params *params,
                                      const prem_view *views) {
  const float constant = params->constant;
  const kcf_pair *in = kcf_pairs(&views[0]);
  kcf_pair *__restrict__ out = kcf_pairs(&views[1]);
  PREM_LANES(i, kcf_window_pairs(&views[1])) {
    const kcf_pair x = in[i];
    kcf_pair result;
    result.of[0] = kcf_add_constant_element(constant, x.of[0]);
    result.of[1] = kcf_add_constant_element(constant, x.of[1]);
    out[i] = result;
  }
}

#if PREM_HOST

static void kcf_add_constant_reference(const void *params, const prem_array_view *arrays) {
  const float constant = ((const kcf_add_constant_params *)params)->constant;
  const prem_c64 *in = (const prem_c64 *)arrays[0].data;
  prem_c64 *out = (prem_c64 *)arrays[1].data;
  for (int64_t i = 0; i < kcf_elements(&arrays[1]); ++i)
    out[i] = kcf_add_constant_element(constant, in[i]);
}

static const prem_port kcf_add_constant_ports[] = {
    {"in", PREM_IN, PREM_C64},
    {"out", PREM_OUT, PREM_C64},
};

static prem_status kcf_add_constant_bind(prem_bind *bind) {
  kcf_add_constant_params *params = (kcf_add_constant_params *)bind->params.bytes;
  params->constant = 1.0F;
  prem_status status = prem_arg_floats(bind, "constant", &params->constant, 1);
  return status == PREM_OK ? kcf_bind_alike(bind, kcf_add_constant_ports, 2) : status;
}

PREM_COMPUTE_ENTRY(kcf_add_constant)

static const prem_kernel kcf_add_constant_kernel = {
    .name = "kcf_add_constant",
    .summary = "out = in + constant (1) in the real part; tile = [of the array's dimensions]",
    .version = 1,
    .params_bytes = sizeof(kcf_add_constant_params),
    .ports = kcf_add_constant_ports,
    .port_count = 2,
    .bind = kcf_add_constant_bind,
    .compute = kcf_add_constant_entry,
    .reference = kcf_add_constant_reference,
};

#endif
#endif
