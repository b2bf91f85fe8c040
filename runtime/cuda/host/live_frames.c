/* SPDX-License-Identifier: Apache-2.0 */
/* Frames between the host and the GPU. Nothing that waits is ever put into a stream, so no order
 * among streams can deadlock. */
#include "runtime/cuda/host/live.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"
#include "runtime/cuda/host/driver_function.h"

enum { CARRIED_BYTES = 16384 }; /* a larger frame goes by the copy engines */

static cudaError_t make_known(prem_cuda_live *live, void *memory, size_t bytes) {
  const cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterMapped);
  if (error == cudaSuccess)
    live->registered[live->registered_count++] = memory;
  return error;
}

/* From slot to slot. */
static int64_t slot_bytes_of(const prem_storage *storage) {
  return prem_storage_slot(storage, 1).base - storage->base;
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

cudaError_t prem_cuda_live_frames_new(prem_cuda_live *live) {
  prem_courier *courier = live->courier;
  const prem_arrays *arrays = live->cuda->host;
  cudaError_t error;
  CUDA_TRY(make_known(live, courier->face, prem_courier_face_bytes(courier)));
  CUDA_TRY(cudaHostGetDevicePointer((void **)&live->face_there, courier->face, 0));
  for (int32_t s = 0; s < courier->stream_count; ++s) {
    const prem_storage *storage = &arrays->storage[courier->streams[s].port.array];
    live->relays[s].to = -1;
    live->is_large[s] = slot_bytes_of(storage) > CARRIED_BYTES;
    CUDA_TRY(make_known(live, storage->base, (size_t)(slot_bytes_of(storage) * storage->slots)));
    if (live->is_large[s] && s >= courier->source_count)
      CUDA_TRY(relay_new(live, s));
    if (live->is_large[s] && s < courier->source_count && !live->write &&
        !prem_driver_function("cuStreamWriteValue64", &live->write, sizeof live->write)) {
      error = cudaErrorNotSupported;
      goto fail;
    }
  }
fail:
  return error;
}

void prem_cuda_live_frames_free(prem_cuda_live *live) {
  for (int32_t s = 0; s < PREM_MAX_LIVE_PORTS; ++s) {
    if (live->relays[s].landed)
      cudaEventDestroy(live->relays[s].landed);
    cudaFreeHost(live->relays[s].face);
  }
  for (int32_t i = 0; i < live->registered_count; ++i)
    cudaHostUnregister(live->registered[i]);
}

void prem_cuda_live_carries(const prem_cuda_live *live, prem_device_carry *out) {
  for (int32_t s = 0; s < live->courier->stream_count; ++s) {
    const int32_t a = live->courier->streams[s].port.array;
    const prem_storage *host = &live->cuda->host->storage[a];
    const prem_device_array *device = &live->cuda->arrays.arrays[a];
    void *there = NULL;
    if (live->is_large[s] || cudaHostGetDevicePointer(&there, host->base, 0) != cudaSuccess)
      continue;
    const int64_t row = host->pitch_bytes;
    out[s] = (prem_device_carry){
        .host = there,
        .device = device->origin,
        .host_slot_bytes = slot_bytes_of(host),
        .device_slot_bytes = device->slot_bytes,
        .host_pitch = {row * host->shape[2] * host->shape[1], row * host->shape[2], row},
        .shape = {(int32_t)host->shape[0], (int32_t)host->shape[1], (int32_t)host->shape[2]},
        .row_bytes = (int32_t)(host->shape[3] * host->element_bytes)};
    memcpy(out[s].device_pitch, device->pitch_bytes, sizeof out[s].device_pitch);
  }
}

/* A frame, one plane of the two innermost dimensions at a time. */
static cudaError_t copy_frame(const prem_cuda_live *live, int32_t s, int32_t device_slot,
                              int32_t host_slot, bool to_device, cudaStream_t stream) {
  const int32_t a = live->courier->streams[s].port.array;
  const prem_device_array *device = &live->cuda->arrays.arrays[a];
  const prem_storage host = prem_storage_slot(&live->cuda->host->storage[a], host_slot);
  const size_t width = (size_t)(host.shape[3] * host.element_bytes), rows = (size_t)host.shape[2];
  for (int64_t i = 0; i < host.shape[0]; ++i)
    for (int64_t j = 0; j < host.shape[1]; ++j) {
      unsigned char *there = device->origin + device_slot * device->slot_bytes +
                             i * device->pitch_bytes[0] + j * device->pitch_bytes[1];
      unsigned char *here = host.base + (i * host.shape[1] + j) * host.shape[2] * host.pitch_bytes;
      const size_t there_pitch = (size_t)device->pitch_bytes[2];
      const size_t here_pitch = (size_t)host.pitch_bytes;
      const cudaError_t error = to_device
                                    ? cudaMemcpy2DAsync(there, there_pitch, here, here_pitch, width,
                                                        rows, cudaMemcpyHostToDevice, stream)
                                    : cudaMemcpy2DAsync(here, here_pitch, there, there_pitch, width,
                                                        rows, cudaMemcpyDeviceToHost, stream);
      if (error != cudaSuccess)
        return error;
    }
  return cudaSuccess;
}

/* Behind all that is under way to the GPU. */
static cudaError_t write_behind(const prem_cuda_live *live, prem_live_word *word, uint64_t value) {
  const CUdeviceptr at = (CUdeviceptr)(uintptr_t)&word->value;
  return live->write((CUstream)live->sending, at, value, 0) == CUDA_SUCCESS ? cudaSuccess
                                                                            : cudaErrorUnknown;
}

cudaError_t prem_cuda_live_send(prem_cuda_live *live, int32_t s, int32_t slot, uint64_t word) {
  const cudaError_t error = copy_frame(live, s, slot, slot, true, live->sending);
  if (error != cudaSuccess)
    return error;
  return write_behind(live, &live->face_there->streams[s].channel.filled, word);
}

void prem_cuda_live_drain(prem_cuda_live *live) {
  bool sends = false;
  for (int32_t s = 0; s < live->courier->source_count; ++s)
    sends |= live->is_large[s];
  if (sends && prem_cuda_enter(live->cuda->gpu) == cudaSuccess &&
      write_behind(live, &live->face_there->request, PREM_COURIER_DRAIN) == cudaSuccess)
    return;
  prem_word_set_far(&live->courier->face->request.value, PREM_COURIER_DRAIN);
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* The next frame, when both sides have a slot for it. */
static cudaError_t fetch_begin(prem_cuda_live *live, int32_t s) {
  prem_cuda_relay *relay = &live->relays[s];
  prem_producer *host = &live->courier->streams[s].producer;
  uint64_t number;
  if (!prem_channel_has_new(&relay->consumer))
    return cudaSuccess;
  const int32_t to = prem_channel_take_free(host);
  if (to < 0)
    return cudaSuccess;
  relay->from = prem_channel_take(&relay->consumer, &number);
  if (relay->from < 0) {
    prem_channel_put_back(host, to);
    return cudaSuccess;
  }
  relay->to = to;
  relay->note = relay->face->channel.note[relay->from];
  const cudaError_t error = copy_frame(live, s, relay->from, to, false, live->fetching);
  return error == cudaSuccess ? cudaEventRecord(relay->landed, live->fetching) : error;
}

static cudaError_t fetch_end(prem_cuda_live *live, int32_t s) {
  prem_cuda_relay *relay = &live->relays[s];
  const cudaError_t error = cudaEventQuery(relay->landed);
  if (error != cudaSuccess)
    return error == cudaErrorNotReady ? cudaSuccess : error;
  relay->note.published_ns = prem_host_clock_ns();
  prem_channel_publish(&live->courier->streams[s].producer, relay->to, &relay->note);
  prem_channel_release(&relay->consumer, relay->from);
  relay->to = -1;
  return cudaSuccess;
}

cudaError_t prem_cuda_live_fetch(prem_cuda_live *live, bool *is_idle) {
  *is_idle = true;
  for (int32_t s = live->courier->source_count; s < live->courier->stream_count; ++s) {
    prem_cuda_relay *relay = &live->relays[s];
    if (!relay->face)
      continue;
    cudaError_t error = relay->to >= 0 ? fetch_end(live, s) : cudaSuccess;
    if (error == cudaSuccess && relay->to < 0)
      error = fetch_begin(live, s);
    if (error != cudaSuccess)
      return error;
    *is_idle &= relay->to < 0 && !prem_channel_has_new(&relay->consumer);
  }
  return cudaSuccess;
}
