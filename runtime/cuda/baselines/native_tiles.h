/* SPDX-License-Identifier: Apache-2.0 */
/** A task's kernel as an ordinary launch over its tiles. */
#pragma once

#include "runtime/cuda/baselines/native_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What such a launch needs to know of the task besides; in device memory. */
typedef struct prem_native_tiles {
  int32_t tiles, grid[PREM_MAX_GRID];
  int32_t port_count; /* that are arrays */
  int32_t view_count; /* with the work area */
  int32_t
      buffer_bytes; /* the inputs' buffer, then the outputs'; a port's offset is from the first */
  prem_device_port ports[PREM_MAX_PORTS]; /* with `array` */
} prem_native_tiles;

/** The code that does a kernel's tiles, a thread in one dimension; NULL: this build has none. */
const prem_native_variant *prem_native_tiled_variant(const char *task_kernel);
/** Dynamic shared memory of a block. */
int32_t prem_native_tiled_bytes(int32_t buffer_bytes);

#ifdef __cplusplus
}
#endif
