/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_multiply: the product of two complex arrays, element by element (from the KCF tracker). */
#pragma once

#include "kernels/kcf_element_wise.h"

typedef kcf_no_params kcf_multiply_params;

KCF_OF_TWO(kcf_multiply, kcf_product(a, b))

#if PREM_HOST

PREM_COMPUTE_ENTRY(kcf_multiply)

static const prem_kernel kcf_multiply_kernel = {
    .name = "kcf_multiply",
    .summary = "out = a * b, complex, element by element; tile = [of the arrays' dimensions]",
    .version = 2,
    .ports = kcf_ports_of_two,
    .port_count = 3,
    .bind = kcf_bind_of_two,
    .compute = kcf_multiply_entry,
    .reference = kcf_multiply_reference,
};

#endif
