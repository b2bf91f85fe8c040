/* SPDX-License-Identifier: Apache-2.0 */
/** For suites that need a GPU. */
#pragma once

#include "tests/common/has_gpu.h"
#include "tests/common/suite.h"

static inline const char *why_no_gpu(void) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); /* as the command does */
  return has_gpu() ? NULL : "no GPU, or a build without it";
}

SUITE_NEEDS(why_no_gpu);
