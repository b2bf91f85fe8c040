/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_multiply_constant: a complex array times a real constant (from the KCF tracker). */
#pragma once

#include "kernels/kcf_element_wise.h"

typedef kcf_constant_params kcf_multiply_constant_params;

PREM_FN prem_c64 kcf_multiply_constant_element(float constant, prem_c64 a) {
  a.re *= constant;
  a.im *= constant;
  return a;
}

KCF_OF_ONE(kcf_multiply_constant, kcf_multiply_constant_element(params.constant, a))
KCF_KERNEL(kcf_multiply_constant, kcf_ports_of_one, kcf_bind_constant,
           sizeof(kcf_multiply_constant_params), 1,
           "out = in * constant (1), real; tile = [of the array's dimensions]")
