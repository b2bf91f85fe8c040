/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinary kernels: making them ready. See native.h. */
#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "runtime/cuda/baselines/native_round.h"
#include "runtime/cuda/baselines/native_tiles.h"
#include "runtime/cuda/host/program.h"

enum { LARGEST_SIDE = INT32_MAX - 4096 };

#define CUDA_TRY(call)                                                                             \
  do {                                                                                             \
    if ((error = (call)) != cudaSuccess)                                                           \
      return error;                                                                                \
  } while (0)

/* ---- tasks ----------------------------------------------------------------------------------- */

static bool has_variant(const char *kernel) {
  const prem_native_variant *variant;
  for (int32_t number = 0; (variant = prem_native_variant_at(number)); ++number)
    if (strcmp(variant->task_kernel, kernel) == 0)
      return true;
  return false;
}

static prem_status refuse(prem_diag *diag, const prem_task *task, const char *reason) {
  prem_diag_add(diag, PREM_NOTE, 0, task->place, "", "cuda: ordinary kernels: task '%s' %s",
                task->name, reason);
  return PREM_ERR_UNAVAILABLE;
}

/* Rows of all planes at one distance? Dimensions of one index do not matter. */
static bool is_flat(const int64_t pitch_bytes[3], const int64_t shape[4]) {
  int64_t bytes = pitch_bytes[2] * shape[2];
  for (int d = 1; d >= 0; --d) {
    if (shape[d] > 1 && pitch_bytes[d] != bytes)
      return false;
    bytes *= shape[d];
  }
  return true;
}

static bool is_dense(const prem_native_work *work, int32_t inputs, const prem_device_array *out) {
  bool dense = work->out_pitch_bytes[2] == work->columns * out->element_bytes;
  for (int32_t i = 0; i < inputs; ++i)
    dense = dense && work->in_pitch_bytes[i][2] == work->out_pitch_bytes[2];
  return dense;
}

/* Kernels without neighbours see as few rows as they can: rows that stand behind each other without
 * a gap are one. */
static void flatten(prem_native_work *work, int32_t inputs, const prem_device_array *out) {
  bool flat = is_flat(work->out_pitch_bytes, out->shape);
  for (int32_t i = 0; i < inputs; ++i)
    flat = flat && is_flat(work->in_pitch_bytes[i], out->shape);
  if (!flat)
    return;
  work->rows_of[1] = work->rows;
  if (!is_dense(work, inputs, out) || work->rows * work->columns > LARGEST_SIDE)
    return;
  work->columns *= work->rows;
  work->rows = 1;
  work->rows_of[1] = 1;
}

/* The same for the rows of each plane. */
static void flatten_planes(prem_native_work *work, int32_t inputs, const prem_device_array *out) {
  const int64_t columns = work->columns * work->rows_of[1];
  if (!is_dense(work, inputs, out) || columns > LARGEST_SIDE)
    return;
  work->columns = columns;
  work->rows /= work->rows_of[1];
  work->rows_of[1] = 1;
}

static void take_input(prem_native_work *work, int32_t number, const prem_device_array *array) {
  work->in[number] = array->origin;
  memcpy(work->in_pitch_bytes[number], array->pitch_bytes, sizeof array->pitch_bytes);
}

/* What the code of a kernel wants to know besides, or does not want to know. */
static void arrange_work(prem_native_task *task, const prem_task *spec, const prem_device_array *in,
                         const prem_device_array *out) {
  prem_native_work *work = &task->work;
  const char *kernel = spec->definition->name;
  const int32_t inputs = spec->definition->port_count - 1;
  if (strcmp(kernel, "conv2d") == 0 || strcmp(kernel, "conv2d_7x7") == 0) {
    task->border = in->shape[2] == out->shape[2];
  } else if (strcmp(kernel, "kcf_multiply_channels") == 0) {
    work->in_pitch_bytes[1][0] = work->in_pitch_bytes[1][1];
    work->in_pitch_bytes[1][1] = 0;
    flatten_planes(work, inputs, out);
  } else if (strcmp(kernel, "kcf_sum_channels") == 0) {
    work->channel_bytes = work->in_pitch_bytes[0][1];
    work->in_pitch_bytes[0][1] = work->in_pitch_bytes[0][0];
    work->in_pitch_bytes[0][0] = 0;
    flatten(work, inputs, out);
  } else if (strcmp(kernel, "kcf_sqr_norm") != 0 && strcmp(kernel, "vector_sum") != 0 &&
             strcmp(kernel, "matvec") != 0) {
    flatten(work, inputs, out);
  }
}

static bool is_too_large(const prem_device_array *array) {
  return array->shape[0] * array->shape[1] * array->shape[2] > LARGEST_SIDE ||
         array->shape[3] > LARGEST_SIDE;
}

/* Over whole arrays: all inputs, then one output. */
static prem_status furnish_whole(const prem_native *native, const prem_task *task,
                                 prem_native_task *to, prem_diag *diag) {
  const int32_t inputs = task->definition->port_count - 1;
  if (inputs < 1)
    return PREM_OK;
  const prem_device_array *in = &native->place.arrays->arrays[task->arrays[0]];
  const prem_device_array *out = &native->place.arrays->arrays[task->arrays[inputs]];
  if (is_too_large(in) || is_too_large(out))
    return refuse(diag, task, "has an array with more than 2^31 - 4097 rows or columns");
  for (int32_t i = 0; i < inputs; ++i)
    take_input(&to->work, i, &native->place.arrays->arrays[task->arrays[i]]);
  memcpy(to->work.in_shape, in->shape, sizeof in->shape);
  to->work.out = out->origin;
  memcpy(to->work.out_pitch_bytes, out->pitch_bytes, sizeof out->pitch_bytes);
  to->work.rows = (int32_t)(out->shape[0] * out->shape[1] * out->shape[2]);
  to->work.columns = out->shape[3];
  to->work.rows_of[0] = (int32_t)out->shape[1];
  to->work.rows_of[1] = (int32_t)out->shape[2];
  to->shared_bytes = prem_native_shared_bytes(task->definition->name, task->params);
  arrange_work(to, task, in, out);
  return PREM_OK;
}

/* Of a compatible interval nothing is moved, and the scratchpad has its work area alone. */
static void furnish_tiles(const prem_native *native, const prem_task *task, prem_native_task *to,
                          prem_native_tiles *tiles) {
  to->tile_count = task->tile_count;
  *tiles = (prem_native_tiles){.tiles = task->tile_count,
                               .port_count = task->definition->port_count,
                               .buffer_bytes = task->in_bytes + task->out_bytes};
  memcpy(tiles->grid, task->grid, sizeof tiles->grid);
  tiles->view_count = prem_cuda_views_make(task, native->place.arrays, tiles->ports);
  for (int32_t p = 0; p < tiles->view_count; ++p) {
    if (p < tiles->port_count)
      tiles->ports[p].array = native->place.arrays->arrays[task->arrays[p]].origin;
    if (tiles->ports[p].is_output)
      tiles->ports[p].offset_bytes += task->in_bytes;
  }
  to->shared_bytes = (size_t)prem_native_tiled_bytes(tiles->buffer_bytes);
}

static prem_status furnish_task(const prem_native *native, int32_t t, prem_native_tiles *tiles,
                                prem_diag *diag) {
  const prem_task *task = &native->place.program->schedule->tasks[t];
  prem_native_task *to = &native->tasks[t];
  to->kernel = task->definition->name;
  to->border = -1;
  memcpy(to->work.params, task->params, sizeof to->work.params);
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    if (task->definition->ports[p].access == PREM_OUT)
      to->outputs[to->output_count++] = task->arrays[p];
  if (native->place.attached)
    return PREM_OK;
  if (has_variant(to->kernel))
    return furnish_whole(native, task, to, diag);
  if (!prem_native_tiled_variant(to->kernel))
    return refuse(diag, task, "has a kernel that this build has no code of");
  furnish_tiles(native, task, to, tiles);
  return PREM_OK;
}

/* Alike: the same code over rows that lie the same way. */
static bool are_alike(const prem_native *native, int32_t a, int32_t b) {
  const prem_task *tasks = native->place.program->schedule->tasks;
  const prem_native_work *x = &native->tasks[a].work, *y = &native->tasks[b].work;
  return tasks[a].definition == tasks[b].definition &&
         native->tasks[a].border == native->tasks[b].border && x->rows == y->rows &&
         x->columns == y->columns && native->tasks[a].tile_count == native->tasks[b].tile_count &&
         native->tasks[a].shared_bytes == native->tasks[b].shared_bytes &&
         memcmp(x->in_shape, y->in_shape, sizeof x->in_shape) == 0 &&
         memcmp(x->in_pitch_bytes, y->in_pitch_bytes, sizeof x->in_pitch_bytes) == 0 &&
         memcmp(x->out_pitch_bytes, y->out_pitch_bytes, sizeof x->out_pitch_bytes) == 0;
}

static prem_status furnish_each(prem_native *native, prem_native_tiles *tiles, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < native->task_count && status == PREM_OK; ++t) {
    status = furnish_task(native, t, &tiles[t], diag);
    native->tasks[t].like = t;
    for (int32_t other = 0; other < t && status == PREM_OK; ++other)
      if (are_alike(native, t, other)) {
        native->tasks[t].like = other;
        break;
      }
  }
  return status;
}

/* Where a task goes tile by tile. */
static cudaError_t upload_tiles(prem_native *native, const prem_native_tiles *tiles) {
  const size_t bytes = (size_t)native->task_count * sizeof *tiles;
  bool any = false;
  cudaError_t error;
  for (int32_t t = 0; t < native->task_count; ++t)
    any |= native->tasks[t].tile_count > 0;
  if (!any)
    return cudaSuccess;
  CUDA_TRY(cudaMalloc((void **)&native->tiles, bytes));
  for (int32_t t = 0; t < native->task_count; ++t)
    native->tasks[t].work.tiles = &native->tiles[t];
  return cudaMemcpy(native->tiles, tiles, bytes, cudaMemcpyHostToDevice);
}

static prem_status furnish_tasks(prem_native *native, prem_diag *diag) {
  prem_native_tiles *tiles = calloc((size_t)native->task_count + 1, sizeof *tiles);
  prem_status status = tiles ? furnish_each(native, tiles, diag) : PREM_ERR_MEMORY;
  if (status == PREM_OK)
    status = prem_native_report(upload_tiles(native, tiles), diag);
  free(tiles);
  return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Loaded before anything waits: loading a kernel may wait for those that run. All that need no
 * shared memory want the same division of L1, so that none of them has to wait for an idle SM; the
 * others may have as much of it as a block can. */
static cudaError_t load_kernel(const void *code, bool by_block, int max_shared_bytes) {
  struct cudaFuncAttributes attributes;
  cudaError_t error;
  CUDA_TRY(cudaFuncGetAttributes(&attributes, code));
  if (by_block)
    return cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                max_shared_bytes - (int)attributes.sharedSizeBytes);
  return cudaFuncSetAttribute(code, cudaFuncAttributePreferredSharedMemoryCarveout,
                              cudaSharedmemCarveoutMaxL1);
}

static cudaError_t load_kernels(const prem_native *native) {
  const prem_native_variant *variant;
  int device = 0, max_shared_bytes = 0;
  cudaError_t error;
  CUDA_TRY(cudaGetDevice(&device));
  CUDA_TRY(
      cudaDeviceGetAttribute(&max_shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  for (int32_t number = 0; (variant = prem_native_variant_at(number)); ++number)
    CUDA_TRY(load_kernel(variant->code, variant->by_block, max_shared_bytes));
  for (int32_t t = 0; t < native->task_count; ++t)
    if (native->tasks[t].tile_count > 0) {
      variant = prem_native_tiled_variant(native->tasks[t].kernel);
      CUDA_TRY(load_kernel(variant->code, variant->by_block, max_shared_bytes));
    }
  return load_kernel(prem_native_gate_code(), false, 0);
}

static cudaError_t make_streams(prem_native *native) {
  cudaError_t error;
  CUDA_TRY(cudaStreamCreateWithFlags(&native->leader, cudaStreamNonBlocking));
  for (int32_t t = 0; t < native->task_count; ++t)
    if (!native->tasks[t].stream)
      CUDA_TRY(cudaStreamCreateWithFlags(&native->tasks[t].stream, cudaStreamNonBlocking));
  return cudaSuccess;
}

static cudaError_t make_room(prem_native *native) {
  const size_t tasks = (size_t)native->task_count;
  const size_t jobs = (size_t)native->order.job_count;
  const size_t bytes = jobs * PREM_NATIVE_END_WORDS * sizeof *native->ends;
  cudaError_t error;
  native->ended = calloc(jobs + 1, sizeof(cudaEvent_t));
  native->ends_seen = malloc(bytes + 1);
  if (!native->ended || !native->ends_seen)
    return cudaErrorMemoryAllocation;
  CUDA_TRY(load_kernels(native));
  CUDA_TRY(make_streams(native));
  for (size_t number = 0; number < jobs; ++number)
    CUDA_TRY(cudaEventCreateWithFlags(&native->ended[number], cudaEventDisableTiming));
  CUDA_TRY(cudaMalloc((void **)&native->state, sizeof *native->state));
  CUDA_TRY(cudaMalloc((void **)&native->ends, bytes + 1));
  return cudaHostAlloc((void **)&native->words, (tasks + 1) * sizeof *native->words,
                       cudaHostAllocMapped);
}

prem_status prem_native_make_room(prem_native *native, prem_diag *diag) {
  return prem_native_report(make_room(native), diag);
}

prem_status prem_native_new(const prem_native_place *place, const cudaStream_t *streams,
                            prem_native **out, prem_diag *diag) {
  *out = NULL;
  const int32_t tasks = place->program->schedule->task_count;
  prem_native *native = calloc(1, sizeof *native);
  prem_native_task *of_tasks = calloc((size_t)tasks + 1, sizeof *of_tasks);
  if (!native || !of_tasks) {
    for (int32_t t = 0; streams && t < tasks; ++t)
      cudaStreamDestroy(streams[t]);
    free(native);
    free(of_tasks);
    return PREM_ERR_MEMORY;
  }
  *native = (prem_native){.place = *place, .tasks = of_tasks, .task_count = tasks};
  for (int32_t t = 0; streams && t < tasks; ++t)
    of_tasks[t].stream = streams[t];
  prem_status status = prem_untiled_order_new(place->program, &native->order);
  if (status == PREM_OK)
    status = furnish_tasks(native, diag);
  if (status == PREM_OK)
    status = prem_native_make_room(native, diag);
  if (status != PREM_OK)
    prem_native_free(native);
  else
    *out = native;
  return status;
}

void prem_native_free(prem_native *native) {
  if (!native)
    return;
  for (int64_t number = 0; native->ended && number < native->order.job_count; ++number)
    if (native->ended[number])
      cudaEventDestroy(native->ended[number]);
  for (int32_t t = 0; native->tasks && t < native->task_count; ++t)
    if (native->tasks[t].stream)
      cudaStreamDestroy(native->tasks[t].stream);
  if (native->leader)
    cudaStreamDestroy(native->leader);
  cudaFree(native->state);
  cudaFree(native->ends);
  cudaFree(native->tiles);
  cudaFree(native->copied);
  cudaFreeHost(native->words);
  prem_untiled_order_free(&native->order);
  PREM_FREE(native->launch_search.candidates, native->ends_seen, native->ended, native->tasks,
            native);
}

bool prem_native_is_lost(const prem_native *native) {
  return native && native->lost;
}

/* ---- ways ------------------------------------------------------------------------------------ */

const prem_launch_search *prem_native_launch_search(const prem_native *native) {
  return &native->launch_search;
}

void prem_native_take_ways(prem_native *native, const prem_native *from) {
  for (int32_t t = 0; t < native->task_count; ++t)
    native->tasks[t].way = from->tasks[t].way;
}

/* The same code over as much: of a part of a schedule the arrays may lie differently. */
static bool can_follow(const prem_native *native, int32_t t, const prem_native *from, int32_t f) {
  const prem_native_task *a = &native->tasks[t], *b = &from->tasks[f];
  return native->place.program->schedule->tasks[t].definition ==
             from->place.program->schedule->tasks[f].definition &&
         native->place.sm_count == from->place.sm_count && a->border == b->border &&
         a->work.rows == b->work.rows && a->work.columns == b->work.columns &&
         a->tile_count == b->tile_count && a->shared_bytes == b->shared_bytes;
}

bool prem_native_follow(prem_native *native, const prem_native *from) {
  bool all = true;
  for (int32_t t = 0; t < native->task_count; ++t) {
    const int32_t f = prem_schedule_find_task(from->place.program->schedule,
                                              native->place.program->schedule->tasks[t].name);
    if (f >= 0 && can_follow(native, t, from, f))
      native->tasks[t].way = from->tasks[f].way;
    else
      all = false;
  }
  return all;
}
