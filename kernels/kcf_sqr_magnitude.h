/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_sqr_magnitude: the squared magnitudes of a complex array, with imaginary parts of 0, so that
 * other operators take them (from the KCF tracker). */
#pragma once

#include "kernels/kcf_element_wise.h"

typedef kcf_no_params kcf_sqr_magnitude_params;

PREM_FN prem_c64 kcf_sqr_magnitude_element(prem_c64 a) {
  a.re = kcf_square(a);
  a.im = 0.0F;
  return a;
}

KCF_OF_ONE(kcf_sqr_magnitude, kcf_sqr_magnitude_element(a))
KCF_KERNEL(kcf_sqr_magnitude, kcf_ports_of_one, kcf_bind_of_one, 0, 1,
           "out = |in|^2, complex with imaginary part 0; tile = [of the array's dimensions]")
