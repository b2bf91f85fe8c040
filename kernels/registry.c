/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of kernels.def as a table, and the CPU side of their headers; then the one without
 * code. */
#include "ttprem/kernel.h"

#include "kernels/cuda_graph.h"
#include "kernels/kernel_headers.h"

#define PREM_KERNEL(NAME, FAMILY)    &NAME##_kernel,
#define PREM_COMPATIBLE_KERNEL(NAME) &NAME##_kernel,
static const prem_kernel *const builtin_kernels[] = {
#include "kernels/kernels.def"
    &cuda_graph_kernel,
};
#undef PREM_COMPATIBLE_KERNEL
#undef PREM_KERNEL

static const prem_registry builtin_registry = {
    .kernels = builtin_kernels,
    .count = (int32_t)(sizeof builtin_kernels / sizeof builtin_kernels[0]),
};

const prem_registry *prem_registry_builtin(void) {
  return &builtin_registry;
}
