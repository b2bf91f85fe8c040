/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in device memory: boxes of zeros with room for every halo, references beside them. */
#include "runtime/cuda/host/arrays.h"

#include <stdlib.h>
#include <string.h>

#include "prem/model/private.h"
#include "runtime/cuda/device/verify.h"

enum { BOX_ALIGNMENT = 128, PIECE_BYTES = 16 };

#define CUDA_TRY(call)                                                                             \
  do {                                                                                             \
    if ((error = (call)) != cudaSuccess)                                                           \
      goto fail;                                                                                   \
  } while (0)

static int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

/* ---- how far windows hang over an array's edges ---------------------------------------------- */

typedef struct edge_margins {
  int64_t low[4], high[4]; /* elements */
  bool has_aims;           /* windows that are aimed are among them */
} edge_margins;

static void widen(edge_margins *margins, const prem_task *task, const prem_window *window,
                  const int64_t shape[4]) {
  if (window->aim) { /* within the array, but its rows' last piece may reach behind it */
    margins->high[3] = margins->high[3] > PIECE_BYTES ? margins->high[3] : PIECE_BYTES;
    margins->has_aims = true;
    return;
  }
  for (int d = 0; d < 4; ++d) {
    int64_t min = window->base[d], max = window->base[d];
    for (int k = 0; k < PREM_MAX_GRID; ++k) {
      const int64_t reach = window->step[d][k] * (task->grid[k] - 1);
      if (reach < 0)
        min += reach;
      else
        max += reach;
    }
    const int64_t over = max + window->extent[d] - shape[d];
    if (-min > margins->low[d])
      margins->low[d] = -min;
    if (over > margins->high[d])
      margins->high[d] = over;
  }
}

static edge_margins margins_of(const prem_schedule *schedule, int32_t array) {
  edge_margins result = {0};
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (!task->definition)
      continue;
    for (int32_t port = 0; port < task->definition->port_count; ++port)
      if (prem_port_reads(task, port, array))
        widen(&result, task, &task->windows[port], schedule->arrays[array].shape);
  }
  return result;
}

static bool has_halos(const edge_margins *around) {
  bool has_one = false;
  for (int d = 0; d < 4; ++d)
    has_one |= around->low[d] > 0 || (around->high[d] > 0 && !(d == 3 && around->has_aims));
  return has_one;
}

int64_t prem_cuda_row_room(const prem_schedule *schedule, int32_t array) {
  const edge_margins around = margins_of(schedule, array);
  if (has_halos(&around))
    return -1;
  return round_up((schedule->arrays[array].shape[3] + around.high[3]) *
                      prem_type_bytes(schedule->arrays[array].type),
                  PIECE_BYTES);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Frames of a session lie in rows as long as the host's, if no halo lies between them: then a frame
 * is copied as one row. */
static bool lies_as_the_hosts(const prem_arrays *host, int32_t array, const edge_margins *around) {
  return host->is_live && prem_schedule_live_port(host->schedule, array) >= 0 &&
         host->storage[array].pitch_bytes % PIECE_BYTES == 0 && !has_halos(around);
}

/* @param pitch_bytes  of its rows; 0: its own, with each row at the begin of a line.
 * @param on_host      in the host's memory, where blocks reach it over the bus */
static cudaError_t box_new(const prem_storage *storage, const edge_margins *margins,
                           int64_t pitch_bytes, bool on_host, prem_device_array *out) {
  const int32_t bytes = storage->element_bytes;
  const int64_t left_bytes = round_up(margins->low[3] * bytes, BOX_ALIGNMENT);
  const int64_t right_bytes = (storage->shape[3] + margins->high[3]) * bytes;
  int64_t size[3];
  for (int d = 0; d < 3; ++d)
    size[d] = margins->low[d] + storage->shape[d] + margins->high[d];
  *out = (prem_device_array){.element_bytes = bytes, .type = (int32_t)storage->type};
  memcpy(out->shape, storage->shape, sizeof out->shape);
  out->pitch_bytes[2] =
      pitch_bytes > 0 ? pitch_bytes : left_bytes + round_up(right_bytes, BOX_ALIGNMENT);
  out->pitch_bytes[1] = out->pitch_bytes[2] * size[2];
  out->pitch_bytes[0] = out->pitch_bytes[1] * size[1];
  out->slot_bytes = out->pitch_bytes[0] * size[0];
  out->box_bytes = out->slot_bytes * (storage->slots > 1 ? storage->slots : 1);
  if (pitch_bytes > 0) /* the last row's last piece may reach behind it */
    out->box_bytes += PIECE_BYTES;
  cudaError_t error =
      on_host ? cudaHostAlloc((void **)&out->box, (size_t)out->box_bytes, cudaHostAllocMapped)
              : cudaMalloc((void **)&out->box, (size_t)out->box_bytes);
  if (error != cudaSuccess) {
    out->box = NULL;
    return error;
  }
  out->origin = out->box + margins->low[0] * out->pitch_bytes[0] +
                margins->low[1] * out->pitch_bytes[1] + margins->low[2] * out->pitch_bytes[2] +
                left_bytes;
  if (on_host)
    memset(out->box, 0, (size_t)out->box_bytes);
  return on_host ? cudaSuccess : cudaMemset(out->box, 0, (size_t)out->box_bytes);
}

/* Each errand's own array: the host fills and reads it where blocks fetch and write it. */
static cudaError_t errands_box_new(prem_arrays *host, int32_t array, const edge_margins *around,
                                   prem_device_array *out) {
  const prem_storage *storage = &host->storage[array];
  const size_t slots = (size_t)storage->slots;
  unsigned char **places = calloc(slots, sizeof *places);
  cudaError_t error = places ? box_new(storage, around, 0, true, out) : cudaErrorMemoryAllocation;
  for (size_t slot = 0; error == cudaSuccess && slot < slots; ++slot) {
    const prem_storage from = prem_storage_slot(storage, (int32_t)slot);
    places[slot] = out->origin + (int64_t)slot * out->slot_bytes;
    for (int64_t row = 0; row < from.row_count; ++row)
      memcpy(places[slot] + row * out->pitch_bytes[2], from.base + row * from.pitch_bytes,
             (size_t)(from.shape[3] * from.element_bytes));
  }
  if (error == cudaSuccess && prem_arrays_adopt(host, array, (void *const *)places, (int32_t)slots,
                                                out->pitch_bytes[2]) != PREM_OK)
    error = cudaErrorMemoryAllocation;
  free(places);
  return error;
}

bool prem_cuda_is_of_errands(const prem_arrays *host, int32_t array) {
  return host->servers[array] >= 0;
}

bool prem_cuda_errands_rows_fit(const prem_schedule *schedule, int32_t array) {
  const edge_margins around = margins_of(schedule, array);
  const int64_t *shape = schedule->arrays[array].shape;
  return (shape[0] * shape[1] == 1 || around.low[2] + around.high[2] <= 0) &&
         (shape[0] == 1 || around.low[1] + around.high[1] <= 0);
}

/* Rows between the host's storage and a box, one plane of the two innermost dimensions at a time.
 */
static cudaError_t planes_copy(const prem_device_array *box, const prem_storage *storage,
                               enum cudaMemcpyKind kind) {
  const size_t width = (size_t)(box->shape[3] * box->element_bytes);
  const size_t rows = (size_t)box->shape[2];
  for (int64_t i = 0; i < box->shape[0]; ++i)
    for (int64_t j = 0; j < box->shape[1]; ++j) {
      unsigned char *device = box->origin + i * box->pitch_bytes[0] + j * box->pitch_bytes[1];
      unsigned char *host =
          storage->base + (i * box->shape[1] + j) * box->shape[2] * storage->pitch_bytes;
      cudaError_t error = kind == cudaMemcpyHostToDevice
                              ? cudaMemcpy2D(device, (size_t)box->pitch_bytes[2], host,
                                             (size_t)storage->pitch_bytes, width, rows, kind)
                              : cudaMemcpy2D(host, (size_t)storage->pitch_bytes, device,
                                             (size_t)box->pitch_bytes[2], width, rows, kind);
      if (error != cudaSuccess)
        return error;
    }
  return cudaSuccess;
}

cudaError_t prem_cuda_arrays_new(const prem_program *program, prem_arrays *host,
                                 prem_cuda_arrays *out) {
  const prem_schedule *schedule = program->schedule;
  const size_t count = (size_t)schedule->array_count;
  cudaError_t error = cudaErrorMemoryAllocation;
  *out = (prem_cuda_arrays){.count = schedule->array_count, .host = host};
  out->arrays = calloc(count + 1, sizeof *out->arrays);
  out->reference = calloc(count + 1, sizeof *out->reference);
  if (!out->arrays || !out->reference)
    goto fail;
  for (int32_t a = 0; a < out->count; ++a) {
    const edge_margins around = margins_of(schedule, a);
    if (prem_cuda_is_of_errands(host, a)) {
      CUDA_TRY(errands_box_new(host, a, &around, &out->arrays[a]));
      continue;
    }
    const int64_t pitch_bytes =
        lies_as_the_hosts(host, a, &around) ? host->storage[a].pitch_bytes : 0;
    CUDA_TRY(box_new(&host->storage[a], &around, pitch_bytes, false, &out->arrays[a]));
    CUDA_TRY(planes_copy(&out->arrays[a], &host->storage[a], cudaMemcpyHostToDevice));
    if (host->reference[a].base) {
      const edge_margins none = {0};
      CUDA_TRY(box_new(&host->reference[a], &none, 0, false, &out->reference[a]));
      CUDA_TRY(planes_copy(&out->reference[a], &host->reference[a], cudaMemcpyHostToDevice));
    }
  }
  CUDA_TRY(cudaMalloc((void **)&out->verdict, 2 * sizeof *out->verdict));
  return cudaSuccess;
fail:
  prem_cuda_arrays_free(out);
  return error;
}

void prem_cuda_arrays_free(prem_cuda_arrays *arrays) {
  for (int32_t a = 0; a < arrays->count; ++a) {
    if (arrays->arrays && prem_cuda_is_of_errands(arrays->host, a))
      cudaFreeHost(arrays->arrays[a].box);
    else if (arrays->arrays)
      cudaFree(arrays->arrays[a].box);
    if (arrays->reference)
      cudaFree(arrays->reference[a].box);
  }
  cudaFree(arrays->verdict);
  free(arrays->arrays);
  free(arrays->reference);
  *arrays = (prem_cuda_arrays){0};
}

/* ---- around a run ---------------------------------------------------------------------------- */

/* The device's kernels around a run know words of floats; the host does all else. */
static bool is_of_floats(const prem_device_array *array) {
  return array->type == PREM_F32 || array->type == PREM_C64;
}

/* A host's array of the same shape; base NULL: no memory. */
static prem_storage room_for(const prem_storage *storage) {
  prem_storage room = *storage;
  room.slots = 1;
  room.base = malloc((size_t)(room.pitch_bytes * room.row_count));
  return room;
}

static cudaError_t poison_by_host(const prem_cuda_arrays *arrays, int32_t a) {
  const prem_storage *reference = &arrays->host->reference[a];
  prem_storage room = room_for(reference);
  if (!room.base)
    return cudaErrorMemoryAllocation;
  prem_bytes_poison(room.type, room.base, reference->base, room.pitch_bytes * room.row_count);
  const cudaError_t error = planes_copy(&arrays->arrays[a], &room, cudaMemcpyHostToDevice);
  free(room.base);
  return error;
}

static cudaError_t verify_by_host(const prem_cuda_arrays *arrays, int32_t a, prem_verdict *out) {
  prem_storage room = room_for(&arrays->host->reference[a]);
  if (!room.base)
    return cudaErrorMemoryAllocation;
  const cudaError_t error = planes_copy(&arrays->arrays[a], &room, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    prem_array_verify(&room, arrays->host, a, out);
  free(room.base);
  return error;
}

cudaError_t prem_cuda_arrays_begin_run(const prem_cuda_arrays *arrays) {
  cudaError_t error = cudaSuccess;
  for (int32_t a = 0; a < arrays->count && error == cudaSuccess; ++a)
    if (arrays->host->first[a].base)
      error = planes_copy(&arrays->arrays[a], &arrays->host->first[a], cudaMemcpyHostToDevice);
  return error;
}

cudaError_t prem_cuda_arrays_poison(const prem_cuda_arrays *arrays) {
  const uint32_t byte = PREM_POISON;
  cudaError_t error = cudaSuccess;
  for (int32_t a = 0; a < arrays->count && error == cudaSuccess; ++a)
    if (arrays->reference[a].box)
      error = is_of_floats(&arrays->arrays[a])
                  ? prem_device_poison(&arrays->arrays[a], byte * 0x01010101u, NULL)
                  : poison_by_host(arrays, a);
  return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

/* The first wrong element, for the message: both values fetched from the device. */
static cudaError_t describe_wrong(const prem_cuda_arrays *arrays, int32_t a, int64_t number,
                                  prem_verdict *out) {
  const prem_device_array *found = &arrays->arrays[a], *expected = &arrays->reference[a];
  out->ok = false;
  out->array = a;
  int64_t left = number, at_found = 0, at_expected = 0;
  for (int d = 3; d >= 0; --d) {
    out->index[d] = left % found->shape[d];
    left /= found->shape[d];
    at_found += out->index[d] * (d == 3 ? found->element_bytes : found->pitch_bytes[d]);
    at_expected += out->index[d] * (d == 3 ? expected->element_bytes : expected->pitch_bytes[d]);
  }
  float got[2] = {0}, wanted[2] = {0};
  const size_t bytes = (size_t)found->element_bytes;
  cudaError_t error = cudaMemcpy(got, found->origin + at_found, bytes, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error = cudaMemcpy(wanted, expected->origin + at_expected, bytes, cudaMemcpyDeviceToHost);
  const int part = memcmp(&got[0], &wanted[0], sizeof got[0]) == 0 && bytes == sizeof got ? 1 : 0;
  out->found = got[part];
  out->expected = wanted[part];
  return error;
}

cudaError_t prem_cuda_arrays_verify(const prem_cuda_arrays *arrays, const prem_arrays *host,
                                    prem_verdict *out) {
  *out = (prem_verdict){.ok = true, .array = -1};
  for (int32_t a = 0; a < arrays->count; ++a) {
    if (!arrays->reference[a].box || !prem_arrays_can_judge(host, a))
      continue;
    if (host->made_at) { /* the length of the run has changed them */
      const cudaError_t error =
          planes_copy(&arrays->reference[a], &host->reference[a], cudaMemcpyHostToDevice);
      if (error != cudaSuccess)
        return error;
    }
    if (!is_of_floats(&arrays->arrays[a])) {
      const cudaError_t error = verify_by_host(arrays, a, out);
      if (error != cudaSuccess)
        return error;
      continue;
    }
    unsigned long long words[2] = {0, ~0ULL};
    cudaError_t error = cudaMemcpy(arrays->verdict, words, sizeof words, cudaMemcpyHostToDevice);
    if (error == cudaSuccess)
      error = prem_device_compare(&arrays->arrays[a], &arrays->reference[a], host->tolerance[a],
                                  arrays->verdict, NULL);
    if (error == cudaSuccess)
      error = cudaMemcpy(words, arrays->verdict, sizeof words, cudaMemcpyDeviceToHost);
    if (error == cudaSuccess && words[0] && out->ok)
      error = describe_wrong(arrays, a, (int64_t)words[1], out);
    if (error != cudaSuccess)
      return error;
    out->wrong += (int64_t)words[0];
  }
  return cudaSuccess;
}

cudaError_t prem_cuda_arrays_download(const prem_cuda_arrays *arrays, prem_arrays *host) {
  cudaError_t error = cudaSuccess;
  for (int32_t a = 0; a < arrays->count && error == cudaSuccess; ++a)
    if (arrays->reference[a].box)
      error = planes_copy(&arrays->arrays[a], &host->storage[a], cudaMemcpyDeviceToHost);
  return error;
}
