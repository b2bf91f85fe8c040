/* SPDX-License-Identifier: Apache-2.0 */
/** kcf_add: the sum of two complex arrays, element by element (from the KCF tracker). */
#pragma once

#include "kernels/kcf_element_wise.h"

typedef kcf_no_params kcf_add_params;

KCF_OF_TWO(kcf_add, kcf_sum(a, b))

#if PREM_HOST

PREM_COMPUTE_ENTRY(kcf_add)

static const prem_kernel kcf_add_kernel = {
    .name = "kcf_add",
    .summary = "out = a + b, complex, element by element; tile = [of the arrays' dimensions]",
    .version = 1,
    .ports = kcf_ports_of_two,
    .port_count = 3,
    .bind = kcf_bind_of_two,
    .compute = kcf_add_entry,
    .reference = kcf_add_reference,
};

#endif
