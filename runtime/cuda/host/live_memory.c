/* SPDX-License-Identifier: Apache-2.0 */
/* Where frames of a live session lie, and who brings them: before it starts. */
#include "runtime/cuda/host/live.h"

#include <string.h>

#include "runtime/cuda/host/driver_function.h"

enum { CARRIED_BYTES = 16384 }; /* a larger frame goes by the copy engines */

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
  enum { PIECE_BYTES = 16 };
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
    return make_known(live, s, storage->base, (size_t)(slot_bytes_of(storage) * storage->slots));
  for (int32_t slot = 0; slot < stream->port.buffers && error == cudaSuccess; ++slot)
    error = make_known(live, s, storage->adopted[slot], frame_bytes_of(storage));
  return error;
}

cudaError_t prem_cuda_live_take_memory(prem_cuda_live *live, int32_t s) {
  const prem_courier *courier = live->courier;
  const prem_live_port *port = &courier->streams[s].port;
  const bool is_input = s < courier->source_count;
  cudaError_t error;
  live->is_large[s] = !is_carried(&live->cuda->host->storage[port->array], port->buffers);
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
  for (int32_t s = 0; s < PREM_MAX_LIVE_PORTS; ++s)
    relay_free(&live->relays[s]);
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
  }
  return cudaSuccess;
}
