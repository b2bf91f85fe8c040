/* SPDX-License-Identifier: Apache-2.0 */
/** The arrays of a session in device memory. */
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/core/arrays.h"
#include "runtime/core/program.h"
#include "runtime/cuda/device/program.h"

typedef struct prem_cuda_arrays {
  prem_device_array *arrays;    /* one an array, on the host */
  prem_device_array *reference; /* the same for written arrays; box NULL for the others */
  unsigned long long *verdict;  /* two words in device memory */
  int32_t count;
  const prem_arrays *host;
} prem_cuda_arrays;

/** Allocate boxes with margins for every window of the program's tasks, upload arrays and
 *  references. On error everything is freed.
 *  @param host  outlives them; errands' own arrays lie where blocks reach them from here on */
cudaError_t prem_cuda_arrays_new(const prem_program *program, prem_arrays *host,
                                 prem_cuda_arrays *out);
void prem_cuda_arrays_free(prem_cuda_arrays *arrays);
/** Has each errand of a server an array of its own? */
bool prem_cuda_is_of_errands(const prem_arrays *host, int32_t array);
/** Can it lie in the host's memory, its rows equally far apart, and halos around it? */
bool prem_cuda_errands_rows_fit(const prem_schedule *schedule, int32_t array);
/** Bytes that copies of windows touch of a row, from its first element, where no window hangs over
 *  an edge of the array, or -1: one does. */
int64_t prem_cuda_row_room(const prem_schedule *schedule, int32_t array);
/** What is read before a run's first write of it holds its fill again. */
cudaError_t prem_cuda_arrays_begin_run(const prem_cuda_arrays *arrays);
cudaError_t prem_cuda_arrays_poison(const prem_cuda_arrays *arrays);
cudaError_t prem_cuda_arrays_verify(const prem_cuda_arrays *arrays, const prem_arrays *host,
                                    prem_verdict *out);
/** Bring the written arrays to the host's. */
cudaError_t prem_cuda_arrays_download(const prem_cuda_arrays *arrays, prem_arrays *host);
