/* SPDX-License-Identifier: Apache-2.0 */
/* Where frames of a live session lie, and who brings them: before it starts. */
#include "runtime/cuda/host/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/host/driver_function.h"

enum {
  CARRIED_BYTES = 16384, /* a larger frame goes by the copy engines */
  PIECE_BYTES = 16,      /* what blocks fetch begins at a multiple, and is one */
  SLOTS = 1 << PREM_CHANNEL_SLOT_BITS
};

/* What its owner has made known already stays so. */
static cudaError_t make_known(prem_cuda_live *live, int32_t stream, void *memory, size_t bytes) {
  const prem_cuda_known known = {memory, stream};
  const cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterMapped);
  if (error == cudaErrorHostMemoryAlreadyRegistered) {
    cudaGetLastError();
    return cudaSuccess;
  }
  if (error != cudaSuccess)
    return error;
  prem_cuda_known *place = prem_list_add(&live->known);
  if (place) {
    *place = known;
    return cudaSuccess;
  }
  cudaHostUnregister(memory);
  return cudaErrorMemoryAllocation;
}

/* From slot to slot. */
static int64_t slot_bytes_of(const prem_storage *storage) {
  return prem_storage_slot(storage, 1).base - storage->base;
}

static size_t row_bytes_of(const prem_storage *storage) {
  return (size_t)(storage->shape[3] * storage->element_bytes);
}

/* Of a frame, from its first element to its last. */
static size_t frame_bytes_of(const prem_storage *storage) {
  const int64_t rows = storage->shape[0] * storage->shape[1] * storage->shape[2];
  return (size_t)((rows - 1) * storage->pitch_bytes) + row_bytes_of(storage);
}

/* Small, at the same distance from each other, and aligned to the pieces that the courier moves. */
static bool is_carried(const prem_storage *storage, int32_t slots) {
  const prem_storage first = prem_storage_slot(storage, 0);
  const int64_t way = slots > 1 ? prem_storage_slot(storage, 1).base - first.base : 0;
  bool is_even = storage->pitch_bytes % PIECE_BYTES == 0 && way % PIECE_BYTES == 0 &&
                 (uintptr_t)first.base % PIECE_BYTES == 0;
  for (int32_t slot = 2; slot < slots; ++slot)
    is_even &= prem_storage_slot(storage, slot).base - first.base == slot * way;
  return is_even && frame_bytes_of(storage) <= CARRIED_BYTES;
}

static cudaError_t relay_new(prem_cuda_live *live, int32_t s) {
  prem_cuda_relay *relay = &live->relays[s];
  prem_stream *stream = &live->courier->streams[s];
  prem_producer courier_side;
  cudaError_t error;
  CUDA_TRY(cudaHostAlloc((void **)&relay->face, sizeof *relay->face, cudaHostAllocMapped));
  memset(relay->face, 0, sizeof *relay->face);
  prem_channel_init(&relay->face->channel, &courier_side, &relay->consumer, stream->port.buffers,
                    stream->producer.is_queue, 0);
  CUDA_TRY(cudaEventCreateWithFlags(&relay->landed, cudaEventDisableTiming));
fail:
  return error;
}

static void relay_free(prem_cuda_relay *relay) {
  if (relay->landed)
    cudaEventDestroy(relay->landed);
  cudaFreeHost(relay->face);
  *relay = (prem_cuda_relay){.to = -1};
}

static cudaError_t make_frames_known(prem_cuda_live *live, int32_t s) {
  const prem_stream *stream = &live->courier->streams[s];
  const prem_storage *storage = &live->cuda->host->storage[stream->port.array];
  cudaError_t error = cudaSuccess;
  if (!storage->adopted)
    return make_known(live, s, storage->base,
                      (size_t)(slot_bytes_of(storage) * storage->slots) + PIECE_BYTES);
  for (int32_t slot = 0; slot < stream->port.buffers && error == cudaSuccess; ++slot)
    error = make_known(live, s, storage->adopted[slot], frame_bytes_of(storage));
  return error;
}

/* ---- buffers that blocks reach where they lie -------------------------------------------------
 */

/* @return whether it is on a GPU, in `*gpu` on which. */
static bool is_device_memory(const void *memory, int *gpu) {
  struct cudaPointerAttributes of;
  if (cudaPointerGetAttributes(&of, memory) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  *gpu = of.device;
  return of.type == cudaMemoryTypeDevice;
}

static prem_status refuse_buffers(const char *name, const char *why, prem_diag *diag) {
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "adopt",
                "buffers of '%s' %s; this session can only be closed", name, why);
  return PREM_ERR_UNAVAILABLE;
}

prem_status prem_cuda_live_judge_buffers(const prem_cuda_live *live, int32_t s, prem_diag *diag) {
  const prem_live_port *port = &live->courier->streams[s].port;
  const prem_storage *storage = &live->cuda->host->storage[port->array];
  const prem_schedule *schedule = live->cuda->program->schedule;
  const char *name = schedule->arrays[port->array].name;
  int32_t here = 0, there = 0;
  bool is_even = storage->pitch_bytes % PIECE_BYTES == 0;
  for (int32_t slot = 0; storage->adopted && slot < port->buffers; ++slot) {
    int gpu = 0;
    const bool is_there = is_device_memory(storage->adopted[slot], &gpu);
    here += is_there && gpu == live->cuda->gpu->number;
    there += is_there && gpu != live->cuda->gpu->number;
    is_even &= (uintptr_t)storage->adopted[slot] % PIECE_BYTES == 0;
  }
  if (here + there == 0)
    return PREM_OK;
  if (here < port->buffers)
    return refuse_buffers(
        name, "do not all lie on the session's GPU: give all of them there, or all on the host",
        diag);
  if (!is_even)
    return refuse_buffers(
        name,
        "or their rows do not begin at multiples of 16 bytes, as the GPU's copies do: align both",
        diag);
  const int64_t room = prem_cuda_row_room(schedule, port->array);
  if (room < 0)
    return refuse_buffers(
        name,
        "have no zeros around them, and windows hang over the array's edges: give "
        "arrays that the tiles fill, or prem_live_keep_on_device()",
        diag);
  char why[160];
  snprintf(
      why, sizeof why,
      "have rows of %lld bytes, and pieces of an aimed window reach up to %lld: give a pitch of "
      "so much or more",
      (long long)storage->pitch_bytes, (long long)room);
  if (room > storage->pitch_bytes)
    return refuse_buffers(name, why, diag);
  return PREM_OK;
}

static void give_back_device(prem_cuda_live *live, int32_t s);

/* Blocks fetch from there and write there; the rows are the host's. */
static cudaError_t place_slots(prem_cuda_live *live, int32_t s, unsigned char *const slots[SLOTS]) {
  const prem_live_port *port = &live->courier->streams[s].port;
  const prem_storage *storage = &live->cuda->host->storage[port->array];
  prem_device_array *array = &live->cuda->arrays.arrays[port->array];
  int64_t offsets[SLOTS] = {0};
  give_back_device(live, s);
  prem_device_array *before = malloc(sizeof *before);
  if (!before)
    return cudaErrorMemoryAllocation;
  *before = *array;
  live->session_arrays[s] = before;
  for (int64_t slot = 0; slot < storage->slots; ++slot)
    offsets[slot] = slots[slot] - slots[0];
  const cudaError_t error =
      prem_cuda_live_keep(live, (void **)&array->slot_offsets, offsets, sizeof offsets);
  if (error != cudaSuccess)
    return error;
  array->origin = slots[0];
  array->pitch_bytes[2] = storage->pitch_bytes;
  array->pitch_bytes[1] = array->pitch_bytes[2] * storage->shape[2];
  array->pitch_bytes[0] = array->pitch_bytes[1] * storage->shape[1];
  live->stays[s] = live->has_memory[s] = true;
  live->is_large[s] = false;
  return cudaSuccess;
}

/* A result that nobody takes goes to a slot of the session's. */
static cudaError_t adopt_on_device(prem_cuda_live *live, int32_t s) {
  const prem_live_port *port = &live->courier->streams[s].port;
  const prem_storage *storage = &live->cuda->host->storage[port->array];
  unsigned char *slots[SLOTS] = {0};
  for (int32_t slot = 0; slot < port->buffers; ++slot)
    slots[slot] = storage->adopted[slot];
  cudaError_t error = cudaSuccess;
  if (storage->slots > port->buffers)
    error = prem_cuda_live_keep(live, (void **)&slots[port->buffers], NULL,
                                frame_bytes_of(storage) + PIECE_BYTES);
  return error == cudaSuccess ? place_slots(live, s, slots) : error;
}

/* Why blocks cannot fetch frames from the host; NULL: they can. */
static const char *why_not_there(const prem_cuda_live *live, int32_t s) {
  const prem_live_port *port = &live->courier->streams[s].port;
  const prem_storage *storage = &live->cuda->host->storage[port->array];
  const int64_t room = prem_cuda_row_room(live->cuda->program->schedule, port->array);
  bool is_even = storage->pitch_bytes % PIECE_BYTES == 0;
  int gpu;
  for (int32_t slot = 0; slot < port->buffers; ++slot)
    is_even &= (uintptr_t)prem_storage_slot(storage, slot).base % PIECE_BYTES == 0;
  if (storage->adopted && is_device_memory(storage->adopted[0], &gpu))
    return "lie on the GPU";
  if (room < 0)
    return "have no zeros around them, and windows hang over the array's edges";
  if (!is_even)
    return "or their rows do not begin at multiples of 16 bytes";
  if (storage->adopted && room > storage->pitch_bytes)
    return "have rows that are shorter than what is fetched of an aimed window";
  return NULL;
}

static cudaError_t fetch_there(prem_cuda_live *live, int32_t s) {
  const prem_live_port *port = &live->courier->streams[s].port;
  const prem_storage *storage = &live->cuda->host->storage[port->array];
  unsigned char *slots[SLOTS] = {0};
  for (int32_t slot = 0; slot < port->buffers; ++slot) {
    const cudaError_t error =
        cudaHostGetDevicePointer((void **)&slots[slot], prem_storage_slot(storage, slot).base, 0);
    if (error != cudaSuccess)
      return error;
  }
  return place_slots(live, s, slots);
}

prem_status prem_cuda_live_fetch_there(prem_cuda_live *live, int32_t s, prem_diag *diag) {
  const prem_schedule *schedule = live->cuda->program->schedule;
  const char *why = why_not_there(live, s);
  if (!why)
    return prem_cuda_report(fetch_there(live, s), diag, "placing frames on the host");
  prem_diag_add(diag, PREM_ERROR, 0, (prem_place){0}, "keep_on_host",
                "frames of '%s' %s; they are copied, as before",
                schedule->arrays[schedule->live[s].array].name, why);
  return PREM_ERR_UNAVAILABLE;
}

static void give_back_device(prem_cuda_live *live, int32_t s) {
  prem_device_array *before = live->session_arrays[s];
  if (!before)
    return;
  live->cuda->arrays.arrays[live->courier->streams[s].port.array] = *before;
  live->stays[s] = false;
  live->session_arrays[s] = NULL;
  free(before);
}

/* ---- any stream's ---------------------------------------------------------------------------- */

cudaError_t prem_cuda_live_take_memory(prem_cuda_live *live, int32_t s) {
  const prem_courier *courier = live->courier;
  const prem_live_port *port = &courier->streams[s].port;
  const prem_storage *storage = &live->cuda->host->storage[port->array];
  const bool is_input = s < courier->source_count;
  cudaError_t error;
  int gpu;
  if (storage->adopted && is_device_memory(storage->adopted[0], &gpu))
    return adopt_on_device(live, s);
  live->is_large[s] = !is_carried(storage, port->buffers);
  CUDA_TRY(make_frames_known(live, s));
  if (live->is_large[s] && !is_input)
    CUDA_TRY(relay_new(live, s));
  if (live->is_large[s] && is_input && !live->write &&
      !prem_driver_function("cuStreamWriteValue64", &live->write, sizeof live->write))
    return cudaErrorNotSupported;
  live->has_memory[s] = true;
fail:
  return error;
}

void prem_cuda_live_leave_memory(prem_cuda_live *live, int32_t s) {
  prem_cuda_known *known = live->known.items;
  live->has_memory[s] = false;
  give_back_device(live, s);
  relay_free(&live->relays[s]);
  for (int64_t i = live->known.count - 1; i >= 0; --i) {
    if (known[i].stream != s)
      continue;
    cudaHostUnregister(known[i].memory);
    known[i] = known[--live->known.count];
  }
}

void prem_cuda_live_keep_frames(prem_cuda_live *live, int32_t s, prem_frame_place *out) {
  const prem_device_array *array = &live->cuda->arrays.arrays[live->courier->streams[s].port.array];
  prem_cuda_live_leave_memory(live, s);
  live->stays[s] = live->has_memory[s] = true;
  live->is_large[s] = false;
  *out = (prem_frame_place){.first = array->origin, .slot_bytes = array->slot_bytes};
  memcpy(out->pitch_bytes, array->pitch_bytes, sizeof out->pitch_bytes);
}

cudaError_t prem_cuda_live_frames_new(prem_cuda_live *live) {
  prem_courier *courier = live->courier;
  cudaError_t error;
  live->known.size = sizeof(prem_cuda_known);
  CUDA_TRY(make_known(live, -1, courier->face, prem_courier_face_bytes(courier)));
  CUDA_TRY(cudaHostGetDevicePointer((void **)&live->face_there, courier->face, 0));
  for (int32_t s = 0; s < courier->stream_count; ++s) {
    live->relays[s].to = -1;
    CUDA_TRY(prem_cuda_live_take_memory(live, s));
  }
fail:
  return error;
}

void prem_cuda_live_frames_free(prem_cuda_live *live) {
  const prem_cuda_known *known = live->known.items;
  for (int32_t s = 0; s < PREM_MAX_LIVE_PORTS; ++s) {
    give_back_device(live, s);
    relay_free(&live->relays[s]);
  }
  for (int64_t i = 0; i < live->known.count; ++i)
    cudaHostUnregister(known[i].memory);
}

cudaError_t prem_cuda_live_carries(const prem_cuda_live *live, prem_device_carry *out) {
  for (int32_t s = 0; s < live->courier->stream_count; ++s) {
    const prem_live_port *port = &live->courier->streams[s].port;
    const prem_storage *host = &live->cuda->host->storage[port->array];
    const prem_device_array *device = &live->cuda->arrays.arrays[port->array];
    const prem_storage first = prem_storage_slot(host, 0);
    void *there = NULL;
    if (live->is_large[s] || live->stays[s])
      continue;
    const cudaError_t error = cudaHostGetDevicePointer(&there, first.base, 0);
    if (error != cudaSuccess)
      return error;
    const int64_t row = host->pitch_bytes;
    out[s] = (prem_device_carry){
        .host = there,
        .device = device->origin,
        .host_slot_bytes = port->buffers > 1 ? prem_storage_slot(host, 1).base - first.base : 0,
        .device_slot_bytes = device->slot_bytes,
        .host_pitch = {row * host->shape[2] * host->shape[1], row * host->shape[2], row},
        .shape = {(int32_t)host->shape[0], (int32_t)host->shape[1], (int32_t)host->shape[2]},
        .row_bytes = (int32_t)row_bytes_of(host)};
    memcpy(out[s].device_pitch, device->pitch_bytes, sizeof out[s].device_pitch);
    const int64_t one_row = prem_cuda_live_one_row(device, &first);
    if (one_row > 0) {
      out[s].row_bytes = (int32_t)one_row;
      memcpy(out[s].shape, (const int32_t[3]){1, 1, 1}, sizeof out[s].shape);
    }
  }
  return cudaSuccess;
}
