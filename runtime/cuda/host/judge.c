/* SPDX-License-Identifier: Apache-2.0 */
/* Can this GPU run that program? What it cannot is refused before anything runs. */
#include "runtime/cuda/host/backend_parts.h"

#include <stdio.h>

#include "runtime/cuda/device/executive.h"

enum { DEFAULT_THREADS = 320 };

prem_status prem_cuda_judge_tasks(const prem_schedule *schedule, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->definition &&
        prem_executive_kernel(task->definition->name, task->definition->compatible) >= 0)
      continue;
    char key[PREM_NAME_BYTES + 16];
    snprintf(key, sizeof key, "tasks.%s.kernel", task->name);
    prem_diag_add(diag, PREM_ERROR, task->definition ? 31 : 0, task->place, key,
                  "kernel '%s' is not in the GPU's executive; name one of `ttprem list`",
                  task->kernel);
    status = PREM_ERR_INVALID;
  }
  return status;
}

static bool has_intervals(const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].definition->compatible)
      return true;
  return false;
}

prem_status prem_cuda_judge_intervals(const prem_cuda *cuda, prem_diag *diag) {
  const prem_schedule *schedule = cuda->program->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; task->definition->compatible && p < task->definition->port_count; ++p) {
      const prem_device_array *array = &cuda->arrays.arrays[task->arrays[p]];
      if (array->pitch_bytes[0] / array->element_bytes <= INT32_MAX)
        continue;
      prem_diag_add(diag, PREM_ERROR, 31, task->place, "arrays",
                    "array '%s' takes room for %lld elements on the GPU, where its rows begin at "
                    "128 bytes; %d are the most for a compatible interval",
                    schedule->arrays[task->arrays[p]].name,
                    (long long)(array->pitch_bytes[0] / array->element_bytes), INT32_MAX);
      return PREM_ERR_INVALID;
    }
  }
  return PREM_OK;
}

prem_status prem_cuda_judge_order(const prem_program *program, prem_diag *diag) {
  for (int32_t b = 0; b < program->block_count; ++b) {
    const int32_t ahead = prem_block_max_ahead(&program->blocks[b]);
    if (ahead <= PREM_DEVICE_PREFETCHES)
      continue;
    prem_diag_add(
        diag, PREM_ERROR, 39, program->schedule->plan->place, "plan",
        "block %d fetches more than %d tiles from one on before that one is computed; the "
        "GPU tells so many apart: let computes follow the order of the prefetches",
        b, PREM_DEVICE_PREFETCHES);
    return PREM_ERR_INVALID;
  }
  return PREM_OK;
}

prem_status prem_cuda_choose_variant(prem_cuda *cuda, prem_diag *diag) {
  const prem_platform *platform = &cuda->program->schedule->platform;
  const struct cudaDeviceProp *device = &cuda->gpu->properties;
  const int32_t per_sm = cuda->device.blocks_per_sm;
  cuda->threads = platform->block_threads ? platform->block_threads : DEFAULT_THREADS;
  if (cuda->threads < PREM_CUDA_MIN_THREADS || cuda->threads > 1024 || cuda->threads % 32) {
    prem_diag_add(diag, PREM_ERROR, 42, platform->place, "platform.block_threads",
                  "%d threads: a block on the GPU takes %d to 1024, a multiple of 32 (the first "
                  "%d move memory)",
                  cuda->threads, PREM_CUDA_MIN_THREADS, PREM_MEMORY_THREADS);
    return PREM_ERR_INVALID;
  }
  const int64_t control_bytes = cuda->device.launch.buffers_at;
  const int64_t needed = control_bytes + cuda->device.buffer_bytes;
  int64_t share = (int64_t)device->sharedMemPerMultiprocessor / per_sm -
                  (int64_t)device->reservedSharedMemPerBlock;
  share -= share % 128;
  if (share > (int64_t)device->sharedMemPerBlockOptin)
    share = (int64_t)device->sharedMemPerBlockOptin;
  if (needed > share) {
    prem_diag_add(diag, PREM_ERROR, 41, platform->place, "platform",
                  "%d blocks share an SM, each needs %lld bytes of scratchpad (%lld for the "
                  "executive), the SM has %lld for each; take smaller tiles or fewer buffers",
                  per_sm, (long long)needed, (long long)control_bytes, (long long)share);
    return PREM_ERR_INVALID;
  }
  cuda->scratch_bytes = (size_t)share;
  const bool intervals = has_intervals(cuda->program->schedule);
  int32_t max_threads = 0, max_blocks = 0;
  const void *variant;
  for (int32_t number = 0; (variant = prem_executive_variant(number, intervals, &max_threads));
       ++number) {
    if (cuda->threads > max_threads)
      continue;
    int blocks = 0;
    cudaError_t error =
        cudaFuncSetAttribute(variant, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)share);
    if (error == cudaSuccess)
      error = cudaFuncSetAttribute(variant, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared);
    if (error == cudaSuccess)
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, variant, cuda->threads,
                                                            cuda->scratch_bytes);
    if (error != cudaSuccess)
      return prem_cuda_report(error, diag, "asking for the executive's occupancy");
    if (blocks > max_blocks)
      max_blocks = blocks;
    if (blocks >= per_sm) {
      cuda->executive = variant;
      return PREM_OK;
    }
  }
  prem_diag_add(diag, PREM_ERROR, 42, platform->place, "platform.blocks",
                "%d blocks of %d threads on one SM, at most %d can be resident together: the plan "
                "would deadlock; take fewer blocks, fewer threads or smaller tiles",
                per_sm, cuda->threads, max_blocks);
  return PREM_ERR_INVALID;
}
