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

#if PREM_HOST

PREM_COMPUTE_ENTRY(kcf_sqr_magnitude)

static const prem_kernel kcf_sqr_magnitude_kernel = {
    .name = "kcf_sqr_magnitude",
    .summary = "out = |in|^2, complex with imaginary part 0; tile = [of the array's dimensions]",
    .version = 1,
    .ports = kcf_ports_of_one,
    .port_count = 2,
    .bind = kcf_bind_of_one,
    .compute = kcf_sqr_magnitude_entry,
    .reference = kcf_sqr_magnitude_reference,
};

#endif
