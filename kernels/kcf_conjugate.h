/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_conjugate: the conjugate of a complex array (from the KCF tracker). */
#pragma once

#include "kernels/kcf_element_wise.h"

typedef kcf_no_params kcf_conjugate_params;

PREM_FN prem_c64 kcf_conjugate_element(prem_c64 a) {
  a.im = -a.im;
  return a;
}

KCF_OF_ONE(kcf_conjugate, kcf_conjugate_element(a))

#if PREM_HOST

PREM_COMPUTE_ENTRY(kcf_conjugate)

static const prem_kernel kcf_conjugate_kernel = {
    .name = "kcf_conjugate",
    .summary = "out = conjugate of in; tile = [of the array's dimensions]",
    .version = 1,
    .ports = kcf_ports_of_one,
    .port_count = 2,
    .bind = kcf_bind_of_one,
    .compute = kcf_conjugate_entry,
    .reference = kcf_conjugate_reference,
};

#endif
