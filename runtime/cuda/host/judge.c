/* SPDX-License-Identifier: Apache-2.0 */
/* Can this GPU run that program? What it cannot is refused before anything runs. */
#include "runtime/cuda/host/backend_parts.h"

#include <stdio.h>

#include "prem/base/numbers.h"
#include "runtime/core/best_effort.h"
#include "runtime/core/words.h"
#include "runtime/cuda/device/executive.h"

enum { DEFAULT_THREADS = 320 };

/* The places of windows are worked out before a run; of a state array they change from job to job.
 * In a live session the courier's tickets say them. */
static prem_status judge_arrays(const prem_schedule *schedule, prem_diag *diag) {
  for (int32_t a = 0; a < schedule->array_count; ++a) {
    const prem_array *array = &schedule->arrays[a];
    if (array->versions == 0 || array->writer < 0)
      continue;
    char key[PREM_NAME_BYTES + 16];
    snprintf(key, sizeof key, "arrays.%s.versions", array->name);
    prem_diag_add(
        diag, PREM_ERROR, 0, array->place, key,
        "on backend 'cuda' state arrays are there in live sessions alone; use cpu or sim");
    return PREM_ERR_UNAVAILABLE;
  }
  return PREM_OK;
}

/* Moves are worked out before a run. */
static prem_status judge_windows(const prem_schedule *schedule, prem_diag *diag) {
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t p = 0; task->definition && p < task->definition->port_count; ++p) {
      if (task->windows[p].aim == 0)
        continue;
      char key[PREM_NAME_BYTES + 16];
      snprintf(key, sizeof key, "tasks.%s.kernel", task->name);
      prem_diag_add(
          diag, PREM_ERROR, 0, task->place, key,
          "aimed windows, as kernel '%s' has, are there on backend 'cuda' in live sessions "
          "alone; use cpu or sim",
          task->kernel);
      return PREM_ERR_UNAVAILABLE;
    }
  }
  return PREM_OK;
}

prem_status prem_cuda_judge_tasks(const prem_schedule *schedule, bool is_live, prem_diag *diag) {
  prem_status status = is_live ? PREM_OK : judge_arrays(schedule, diag);
  if (!status && !is_live)
    status = judge_windows(schedule, diag);
  if (status)
    return status;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->definition &&
        (prem_task_is_cuda_graph(task) ||
         prem_executive_kernel(task->definition->name, task->definition->compatible) >= 0))
      continue;
    char key[PREM_NAME_BYTES + 16];
    snprintf(key, sizeof key, "tasks.%s.kernel", task->name);
    prem_diag_add(diag, PREM_ERROR, task->definition ? 31 : 0, task->place, key,
                  "kernel '%s' is not in the GPU's executive; name one of `ttprem list`",
                  task->kernel);
    status = PREM_ERR_INVALID;
  }
  return status == PREM_OK ? prem_judge_words(schedule, diag) : status;
}

/* The family of all kernels of a schedule; of kernels of several families `general`, or one behind
 * it. */
static prem_kernel_family family_of(const prem_schedule *schedule) {
  prem_kernel_family family = PREM_FAMILY_common;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_kernel_family of = prem_executive_family(schedule->tasks[t].definition->name);
    if (of == family || of == PREM_FAMILY_common)
      continue;
    if (family != PREM_FAMILY_common && family < PREM_FAMILY_general)
      family = PREM_FAMILY_general;
    if (of > family)
      family = of;
  }
  return family;
}

/* The executive with the fewest kernels that has all of a schedule's. */
typedef enum executive_use { OF_RUNS, OF_LIVE, OF_BEST_EFFORT, USE_COUNT } executive_use;

static prem_executive *executive_for(const prem_schedule *schedule, executive_use use) {
  static prem_executive *const executives[][USE_COUNT] = {
      [PREM_FAMILY_common] = {prem_executive_convolution, prem_executive_live_convolution,
                              prem_executive_gated_convolution},
      [PREM_FAMILY_convolution] = {prem_executive_convolution, prem_executive_live_convolution,
                                   prem_executive_gated_convolution},
      [PREM_FAMILY_kcf] = {prem_executive_kcf, prem_executive_live_kcf, prem_executive_gated},
      [PREM_FAMILY_general] = {prem_executive_general, prem_executive_live, prem_executive_gated},
      [PREM_FAMILY_intervals] = {prem_executive_intervals, prem_executive_live, NULL},
      [PREM_FAMILY_separate] = {prem_executive_separate, prem_executive_live, prem_executive_gated},
  };
  return executives[family_of(schedule)][use];
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

static prem_status judge_order(const prem_program *plan, prem_diag *diag) {
  for (int32_t b = 0; b < plan->block_count; ++b) {
    const int32_t ahead = prem_block_max_ahead(&plan->blocks[b]);
    if (ahead <= PREM_DEVICE_PREFETCHES)
      continue;
    prem_diag_add(
        diag, PREM_ERROR, 39, plan->plan->place, "plan",
        "block %d fetches more than %d tiles from one on before that one is computed; the "
        "GPU tells so many apart: let computes follow the order of the prefetches",
        b, PREM_DEVICE_PREFETCHES);
    return PREM_ERR_INVALID;
  }
  return PREM_OK;
}

prem_status prem_cuda_judge_order(const prem_program *program, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t p = 0; p < program->plan_count && status == PREM_OK; ++p)
    status = judge_order(program->plans[p], diag);
  return status;
}

/* The threads of a block, and the scratchpad that it gets, where so much of an SM's is kept back.
 */
static prem_status divide_sm(prem_cuda *cuda, int64_t kept_bytes, prem_diag *diag) {
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
  if (per_sm == 0) /* there are best-effort tasks alone */
    return PREM_OK;
  const int64_t control_bytes = cuda->device.launch.buffers_at;
  const int64_t needed = control_bytes + cuda->device.buffer_bytes;
  int64_t share = ((int64_t)device->sharedMemPerMultiprocessor - kept_bytes) / per_sm -
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
  return PREM_OK;
}

/* How many blocks of a variant an SM holds. A variant's limit is the GPU's, since other sessions of
 * the process launch it with other scratchpads. */
static cudaError_t ask_occupancy(const prem_cuda *cuda, const void *variant, int *blocks) {
  struct cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, variant);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(
        variant, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)(cuda->gpu->properties.sharedMemPerBlockOptin - attributes.sharedSizeBytes));
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(variant, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, variant, cuda->threads,
                                                          cuda->scratch_bytes);
  return error;
}

prem_status prem_cuda_choose_variant(prem_cuda *cuda, prem_diag *diag) {
  const prem_platform *platform = &cuda->program->schedule->platform;
  const int32_t per_sm = cuda->device.blocks_per_sm;
  const prem_status status = divide_sm(cuda, 0, diag);
  if (status != PREM_OK)
    return status;
  prem_executive *const executive = executive_for(cuda->program->schedule, OF_RUNS);
  int32_t max_threads = 0, max_blocks = 0;
  const void *variant;
  for (int32_t number = 0; (variant = executive(number, &max_threads)); ++number) {
    if (cuda->threads > max_threads)
      continue;
    int blocks = 0;
    const cudaError_t error = ask_occupancy(cuda, variant, &blocks);
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

/* Registers that a block takes: each warp so many times 256. */
static int64_t registers_of(int32_t threads, int32_t of_thread) {
  enum { GRAIN = 256 };
  return (int64_t)(threads / 32) * ((32 * (int64_t)of_thread + GRAIN - 1) / GRAIN * GRAIN);
}

/* Do the plan's blocks and the courier's fit on one SM? */
static cudaError_t ask_room(const prem_cuda *cuda, const void *variant, bool *fits) {
  const struct cudaDeviceProp *device = &cuda->gpu->properties;
  const int32_t per_sm = cuda->device.blocks_per_sm;
  struct cudaFuncAttributes of_block, of_courier;
  int blocks = 0;
  cudaError_t error = ask_occupancy(cuda, variant, &blocks);
  if (error == cudaSuccess)
    error = cudaFuncGetAttributes(&of_block, variant);
  if (error == cudaSuccess)
    error = cudaFuncGetAttributes(&of_courier, prem_courier_kernel());
  if (error != cudaSuccess)
    return error;
  *fits = blocks >= per_sm &&
          per_sm * registers_of(cuda->threads, of_block.numRegs) +
                  registers_of(PREM_COURIER_THREADS, of_courier.numRegs) <=
              device->regsPerMultiprocessor &&
          per_sm * cuda->threads + PREM_COURIER_THREADS <= device->maxThreadsPerMultiProcessor;
  return cudaSuccess;
}

/* ---- two launches beside each other ---------------------------------------------------------- */

/* What a block takes of an SM's scratchpad. */
static int64_t block_bytes(const prem_cuda *cuda) {
  enum { GRAIN = 128 };
  const int64_t bytes = cuda->device.launch.buffers_at + cuda->device.buffer_bytes;
  return (bytes + GRAIN - 1) / GRAIN * GRAIN +
         (int64_t)cuda->gpu->properties.reservedSharedMemPerBlock;
}

/* Best-effort blocks are launched first: they take so much that no more of them fit on an SM, where
 * that leaves enough; critical ones all the rest, for the same reason. */
static prem_status divide_sm_for_two(prem_cuda *cuda, prem_diag *diag) {
  enum { GRAIN = 128 };
  prem_cuda *beside = cuda->beside;
  const int64_t all = (int64_t)cuda->gpu->properties.sharedMemPerMultiprocessor;
  const int64_t critical = cuda->device.blocks_per_sm, own = beside->device.blocks_per_sm;
  const int64_t most = (all - critical * block_bytes(cuda)) / own;
  int64_t each = prem_max_i64(block_bytes(beside), all / (own + 1) + GRAIN);
  if (each > most)
    each = most;
  if (most < block_bytes(beside)) {
    const prem_platform *platform = &cuda->program->schedule->platform;
    prem_diag_add(
        diag, PREM_ERROR, 41, platform->best_effort.place, "platform.best_effort",
        "%lld critical and %lld best-effort blocks share an SM: they need %lld and %lld "
        "bytes of scratchpad each, and the SM has %lld; use smaller tiles or fewer buffers",
        (long long)critical, (long long)own, (long long)block_bytes(cuda),
        (long long)block_bytes(beside), (long long)all);
    return PREM_ERR_INVALID;
  }
  const prem_status status = divide_sm(beside, all - own * each, diag);
  return status == PREM_OK ? divide_sm(cuda, own * each, diag) : status;
}

/* Of each of an SM's four parts: where a block's warps do not divide by four, its last ones may be
 * in any. */
static int64_t part_registers(const prem_cuda *cuda, const struct cudaFuncAttributes *of) {
  enum { PARTS = 4, LANES = 32 };
  const int64_t warps = (cuda->threads / LANES + PARTS - 1) / PARTS;
  return cuda->device.blocks_per_sm * warps * registers_of(LANES, of->numRegs) * PARTS;
}

/* `registers`: that a thread of either has. */
static cudaError_t ask_company(const prem_cuda *cuda, const void *variant,
                               const void *beside_variant, bool *fits, int32_t registers[2]) {
  const struct cudaDeviceProp *device = &cuda->gpu->properties;
  const prem_cuda *beside = cuda->beside;
  struct cudaFuncAttributes of_block, of_beside;
  int blocks = 0, beside_blocks = 0;
  cudaError_t error = ask_occupancy(cuda, variant, &blocks);
  if (error == cudaSuccess)
    error = ask_occupancy(beside, beside_variant, &beside_blocks);
  if (error == cudaSuccess)
    error = cudaFuncGetAttributes(&of_block, variant);
  if (error == cudaSuccess)
    error = cudaFuncGetAttributes(&of_beside, beside_variant);
  if (error != cudaSuccess)
    return error;
  const int32_t threads =
      cuda->device.blocks_per_sm * cuda->threads + beside->device.blocks_per_sm * beside->threads;
  *fits = blocks >= cuda->device.blocks_per_sm && beside_blocks >= beside->device.blocks_per_sm &&
          part_registers(cuda, &of_block) + part_registers(beside, &of_beside) <=
              device->regsPerMultiprocessor &&
          threads <= device->maxThreadsPerMultiProcessor;
  registers[0] = of_block.numRegs;
  registers[1] = of_beside.numRegs;
  return cudaSuccess;
}

/* Whose threads have fewer registers has as many as can be: the other one hardly needs what it
 * would have more. */
static cudaError_t choose_two(prem_cuda *cuda, bool *fits) {
  prem_executive *const executive = executive_for(cuda->program->schedule, OF_RUNS);
  prem_executive *const gated =
      prem_errands_make(cuda->beside->part->errands) ? prem_executive_making
      : cuda->beside->part->errands
          ? prem_executive_serving
          : executive_for(cuda->beside->program->schedule, OF_BEST_EFFORT);
  int32_t max_threads = 0, max_beside = 0, least = 0, all = 0;
  const void *variant, *beside;
  *fits = false;
  for (int32_t c = 0; (variant = executive(c, &max_threads)); ++c)
    for (int32_t b = 0; (beside = gated(b, &max_beside)); ++b) {
      if (cuda->threads > max_threads || cuda->beside->threads > max_beside)
        continue;
      bool fit = false;
      int32_t of[2] = {0, 0};
      const cudaError_t error = ask_company(cuda, variant, beside, &fit, of);
      if (error != cudaSuccess)
        return error;
      const int32_t fewer = prem_min_i32(of[0], of[1]);
      if (!fit || fewer < least || (fewer == least && of[0] + of[1] <= all))
        continue;
      *fits = true;
      least = fewer;
      all = of[0] + of[1];
      cuda->executive = variant;
      cuda->beside->executive = beside;
    }
  return cudaSuccess;
}

prem_status prem_cuda_choose_two_variants(prem_cuda *cuda, prem_diag *diag) {
  const prem_platform *platform = &cuda->program->schedule->platform;
  bool fits;
  const prem_status status = divide_sm_for_two(cuda, diag);
  if (status != PREM_OK)
    return status;
  const cudaError_t error = choose_two(cuda, &fits);
  if (error != cudaSuccess)
    return prem_cuda_report(error, diag, "asking for the executives' occupancy");
  if (fits)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 42, platform->best_effort.place, "platform.best_effort",
                "%d critical blocks of %d threads and %d best-effort blocks of %d are not resident "
                "on one SM together; take fewer threads (platform.block_threads, and those of "
                "best_effort) or fewer blocks",
                cuda->device.blocks_per_sm, cuda->threads, cuda->beside->device.blocks_per_sm,
                cuda->beside->threads);
  return PREM_ERR_INVALID;
}

/* ---- live sessions --------------------------------------------------------------------------- */

/* Of an SM's scratchpad, for what is the courier's own: what its blocks leave, but not so much that
 * one block more would fit there. */
static int32_t near_bytes_of(const prem_cuda *cuda, int64_t beside_bytes) {
  enum { GRAIN = 128 };
  const struct cudaDeviceProp *device = &cuda->gpu->properties;
  const int64_t per_sm = cuda->device.blocks_per_sm,
                all = (int64_t)device->sharedMemPerMultiprocessor;
  const int64_t of_block = (int64_t)cuda->device.launch.buffers_at + cuda->device.buffer_bytes +
                           (int64_t)device->reservedSharedMemPerBlock + GRAIN;
  const int64_t left =
      prem_min_i64(all - per_sm * of_block, all / (per_sm + 1) - (per_sm + 1) * GRAIN) -
      beside_bytes;
  return (int32_t)prem_max_i64(PREM_DEVICE_NEAR_BYTES,
                               prem_min_i64(left / GRAIN * GRAIN, PREM_DEVICE_MOST_NEAR_BYTES));
}

prem_status prem_cuda_choose_live_variant(prem_cuda *cuda, prem_diag *diag) {
  enum { BESIDE_BYTES = 2048 }; /* what the courier and the GPU keep beside */
  const prem_platform *platform = &cuda->program->schedule->platform;
  cuda->near_bytes = near_bytes_of(cuda, BESIDE_BYTES);
  const prem_status status = divide_sm(cuda, cuda->near_bytes + BESIDE_BYTES, diag);
  if (status != PREM_OK)
    return status;
  prem_executive *const executive = executive_for(cuda->program->schedule, OF_LIVE);
  int32_t max_threads = 0;
  const void *variant;
  for (int32_t number = 0; (variant = executive(number, &max_threads)); ++number) {
    bool fits = false;
    if (cuda->threads > max_threads)
      continue;
    const cudaError_t error = ask_room(cuda, variant, &fits);
    if (error != cudaSuccess)
      return prem_cuda_report(error, diag, "asking for the executive's occupancy");
    if (fits) {
      cuda->executive = variant;
      return PREM_OK;
    }
  }
  prem_diag_add(diag, PREM_ERROR, 42, platform->place, "platform.block_threads",
                "%d blocks of %d threads on one SM leave no registers for the courier of a live "
                "session; take fewer threads or fewer blocks: one block of up to 896 threads is "
                "possible, two of up to 288",
                cuda->device.blocks_per_sm, cuda->threads);
  return PREM_ERR_INVALID;
}
