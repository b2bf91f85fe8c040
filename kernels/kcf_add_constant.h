/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_add_constant: a real constant added to the real parts of a complex array (from the KCF
 * tracker). */
#pragma once

#include "kernels/kcf_element_wise.h"

typedef kcf_constant_params kcf_add_constant_params;

PREM_FN prem_c64 kcf_add_constant_element(float constant, prem_c64 a) {
  a.re += constant;
  return a;
}

KCF_OF_ONE(kcf_add_constant, kcf_add_constant_element(params.constant, a))

#if PREM_HOST

PREM_COMPUTE_ENTRY(kcf_add_constant)

static const prem_kernel kcf_add_constant_kernel = {
    .name = "kcf_add_constant",
    .summary = "out = in + constant (1) in the real part; tile = [of the array's dimensions]",
    .version = 1,
    .params_bytes = sizeof(kcf_add_constant_params),
    .ports = kcf_ports_of_one,
    .port_count = 2,
    .bind = kcf_bind_constant,
    .compute = kcf_add_constant_entry,
    .reference = kcf_add_constant_reference,
};

#endif
