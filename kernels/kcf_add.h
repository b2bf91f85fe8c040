/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_add: the sum of two complex arrays, element by element (from the KCF tracker). */
#pragma once

#include "kernels/kcf_element_wise.h"

typedef kcf_no_params kcf_add_params;

KCF_OF_TWO(kcf_add, kcf_sum(a, b))
KCF_KERNEL(kcf_add, kcf_ports_of_two, kcf_bind_of_two, 0, 1,
           "out = a + b, complex, element by element; tile = [of the arrays' dimensions]")
