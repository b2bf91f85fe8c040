/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mode copy: one task that is no task of the file, and only moves bytes. A copy of half as many
 * bytes reads as much as it writes, which memory does no slower than the mix of the tasks.
 *
 * Source and destination are its own. Where the whole does not fit into a quarter of the memory
 * that is free, it goes through them in several jobs.
 */
#include <stdlib.h>

#include "prem/base/numbers.h"
#include "runtime/cuda/baselines/native_round.h"

enum { PIECE_BYTES = 16 };
#define MAX_BYTES (INT64_C(4) << 30)

#define CUDA_TRY(call)                                                                             \
  do {                                                                                             \
    if ((error = (call)) != cudaSuccess)                                                           \
      return error;                                                                                \
  } while (0)

/* Bytes of a job's copy: the memory that there is bounds them. */
static cudaError_t choose_part(int64_t half_bytes, int64_t *part_bytes, int64_t *parts) {
  size_t room, all;
  cudaError_t error;
  CUDA_TRY(cudaMemGetInfo(&room, &all));
  int64_t max_bytes = (int64_t)room / 4;
  max_bytes = prem_min_i64(max_bytes, MAX_BYTES);
  if (max_bytes < PIECE_BYTES)
    return cudaErrorMemoryAllocation;
  *parts = (half_bytes + max_bytes - 1) / max_bytes;
  *part_bytes = prem_round_up((half_bytes + *parts - 1) / *parts, PIECE_BYTES);
  return cudaSuccess;
}

/* What the tasks work on, again and again: zeros would be moved with less power. */
static cudaError_t fill_source(const prem_native *native, unsigned char *source, int64_t bytes) {
  const prem_cuda_arrays *arrays = native->place.arrays;
  int64_t at = 0;
  cudaError_t error;
  for (int32_t a = 0; at < bytes; a = (a + 1) % arrays->count) {
    const int64_t here = arrays->arrays[a].box_bytes;
    const int64_t part = here < bytes - at ? here : bytes - at;
    CUDA_TRY(cudaMemcpyAsync(source + at, arrays->arrays[a].box, (size_t)part,
                             cudaMemcpyDeviceToDevice, native->leader));
    at += part;
  }
  return cudaStreamSynchronize(native->leader);
}

static cudaError_t furnish(prem_native *native, int64_t part_bytes) {
  prem_native_task *task = native->tasks;
  cudaError_t error;
  CUDA_TRY(cudaMalloc(&native->copied, (size_t)(2 * part_bytes)));
  unsigned char *source = native->copied;
  *task = (prem_native_task){.kernel = PREM_NATIVE_COPY, .border = -1, .stream = task->stream};
  task->work.in[0] = source;
  task->work.out = source + part_bytes;
  task->work.columns = part_bytes / (int64_t)sizeof(float);
  task->work.rows = task->work.rows_of[0] = task->work.rows_of[1] = 1;
  return fill_source(native, source, part_bytes);
}

prem_status prem_native_copy_new(const prem_native_place *place, int64_t bytes, prem_native **out,
                                 prem_diag *diag) {
  *out = NULL;
  int64_t part_bytes = 0, parts = 0;
  prem_status status = prem_native_report(choose_part((bytes + 1) / 2, &part_bytes, &parts), diag);
  if (status != PREM_OK)
    return status;
  prem_native *native = calloc(1, sizeof *native);
  if (!native)
    return PREM_ERR_MEMORY;
  *native = (prem_native){.place = *place, .task_count = 1};
  native->tasks = calloc(1, sizeof *native->tasks);
  native->order.jobs = calloc((size_t)parts, sizeof *native->order.jobs);
  native->order.job_count = parts;
  status = native->tasks && native->order.jobs ? PREM_OK : PREM_ERR_MEMORY;
  for (int64_t part = 0; part < parts && status == PREM_OK; ++part)
    native->order.jobs[part].job = (int32_t)part;
  if (status == PREM_OK)
    status = prem_native_make_room(native, diag);
  if (status == PREM_OK)
    status = prem_native_report(furnish(native, part_bytes), diag);
  if (status != PREM_OK)
    prem_native_free(native);
  else
    *out = native;
  return status;
}
