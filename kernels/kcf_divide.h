/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_divide: the quotient of two complex arrays, element by element (from the KCF tracker). */
#pragma once

#include "kernels/kcf_element_wise.h"

typedef kcf_no_params kcf_divide_params;

/* The squares of b are neither scaled nor guarded: where |b|^2 is 0 or beyond a float's range, so
 * is the quotient of no use. */
PREM_FN prem_c64 kcf_divide_element(prem_c64 a, prem_c64 b) {
  const float square = kcf_square(b);
  prem_c64 quotient;
  quotient.re = fmaf(a.re, b.re, a.im * b.im) / square;
  quotient.im = fmaf(a.im, b.re, -(a.re * b.im)) / square;
  return quotient;
}

KCF_OF_TWO(kcf_divide, kcf_divide_element(a, b))
KCF_KERNEL(kcf_divide, kcf_ports_of_two, kcf_bind_of_two, 0, 1,
           "out = a / b, complex, element by element; tile = [of the arrays' dimensions]")
