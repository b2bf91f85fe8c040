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
KCF_KERNEL(kcf_add_constant, kcf_ports_of_one, kcf_bind_constant, sizeof(kcf_add_constant_params),
           1, "out = in + constant (1) in the real part; tile = [of the array's dimensions]")
