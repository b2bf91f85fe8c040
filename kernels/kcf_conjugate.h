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
KCF_KERNEL(kcf_conjugate, kcf_ports_of_one, kcf_bind_of_one, 0, 1,
           "out = conjugate of in; tile = [of the array's dimensions]")
