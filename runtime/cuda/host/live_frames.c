/* SPDX-License-Identifier: Apache-2.0 */
/* Frames on their way between the host and the GPU. Nothing that waits is ever put into a stream,
 * so no order among streams can deadlock; and nothing that is called of CUDA here waits:
 * tests/cuda/ live_calls.sh has the list. */
#include "runtime/cuda/host/live.h"

#include <string.h>

#include "prem/base/clock.h"
#include "runtime/core/courier_hear.h"

static size_t row_bytes_of(const prem_storage *storage) {
  return (size_t)(storage->shape[3] * storage->element_bytes);
}

/* Bytes between rows of the application's memory stay as they are. */
int64_t prem_cuda_live_one_row(const prem_device_array *device, const prem_storage *host) {
  const int64_t pitch = host->pitch_bytes, width = (int64_t)row_bytes_of(host);
  const bool is_alike = device->pitch_bytes[2] == pitch &&
                        device->pitch_bytes[1] == pitch * host->shape[2] &&
                        device->pitch_bytes[0] == pitch * host->shape[2] * host->shape[1];
  if (!is_alike || (host->adopted && width < pitch))
    return 0;
  return (host->row_count - 1) * pitch + width;
}

/* A frame, as one row where it lies so, else one plane of the two innermost dimensions at a time.
 */
static cudaError_t copy_frame(const prem_cuda_live *live, int32_t s, int32_t device_slot,
                              int32_t host_slot, bool to_device, cudaStream_t stream) {
  const int32_t a = live->courier->streams[s].port.array;
  const prem_device_array *device = &live->cuda->arrays.arrays[a];
  const prem_storage host = prem_storage_slot(&live->cuda->host->storage[a], host_slot);
  const size_t one_row = (size_t)prem_cuda_live_one_row(device, &host);
  unsigned char *first = device->origin + device_slot * device->slot_bytes;
  if (one_row > 0)
    return to_device ? cudaMemcpyAsync(first, host.base, one_row, cudaMemcpyHostToDevice, stream)
                     : cudaMemcpyAsync(host.base, first, one_row, cudaMemcpyDeviceToHost, stream);
  const size_t width = row_bytes_of(&host), rows = (size_t)host.shape[2];
  for (int64_t i = 0; i < host.shape[0]; ++i)
    for (int64_t j = 0; j < host.shape[1]; ++j) {
      unsigned char *there = first + i * device->pitch_bytes[0] + j * device->pitch_bytes[1];
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

/* ---- lines ----------------------------------------------------------------------------------- */

/* None is of a frame that it could tell: these have other numbers. */
cudaError_t prem_cuda_live_lines_new(prem_cuda_live *live) {
  const cudaError_t error =
      cudaHostAlloc((void **)&live->lines, PREM_MAX_LIVE_BUFFERS * sizeof *live->lines,
                    cudaHostAllocMapped);
  for (uint64_t line = 0; error == cudaSuccess && line < PREM_MAX_LIVE_BUFFERS; ++line)
    for (int i = 0; i < 2 * LINE_VALUES; ++i)
      live->lines[line].words[i] = line_word(line + 1, 0);
  return error;
}

static void put_value(prem_line *line, int32_t place, uint64_t number, uint64_t value) {
  __atomic_store_n(&line->words[2 * place], line_word(number, (uint32_t)value), __ATOMIC_RELAXED);
  __atomic_store_n(&line->words[2 * place + 1], line_word(number, (uint32_t)(value >> 32)),
                   __ATOMIC_RELAXED);
}

/* Bytes of a frame of the trigger that its line has. */
static int32_t bytes_in_line(const prem_cuda_live *live, int32_t s, const prem_storage *host) {
  const prem_courier *c = live->courier;
  const int64_t row =
      prem_cuda_live_one_row(&live->cuda->arrays.arrays[c->streams[s].port.array], host);
  return live->is_large[s] || live->stays[s] || row > line_room(c) ? 0 : (int32_t)row;
}

/* A frame of the trigger, and what was said before it. Whoever says that does it in this thread, or
 * has told it of it.
 * @param word   what is written to its channel
 * @param waits  it is written behind what is under way */
static void tell_line(const prem_cuda_live *live, int32_t s, int32_t slot, const prem_note *note,
                      uint64_t word, bool waits) {
  const prem_courier *c = live->courier;
  const uint64_t number = (word >> PREM_CHANNEL_SLOT_BITS) - 1;
  prem_line *line = &live->lines[number % PREM_MAX_LIVE_BUFFERS];
  const prem_storage host =
      prem_storage_slot(&live->cuda->host->storage[c->streams[s].port.array], slot);
  const int32_t bytes = bytes_in_line(live, s, &host);
  put_value(line, LINE_CAPTURED, number, (uint64_t)note->captured_ns);
  put_value(line, LINE_FRAME, number, line_frame(bytes, waits));
  put_value(line, HOST_WISH, number, prem_word_far(&c->face->wish.value));
  put_value(line, HOST_NEWEST, number, prem_word_far(&c->face->newest.value));
  for (int32_t i = 0; i < c->source_count; ++i)
    put_value(line, HOST_STREAMS + i, number,
              i == s ? word : prem_word_far(&c->face->streams[i].channel.filled.value));
  for (int32_t at = 0; at < bytes; at += 8) {
    uint64_t value = 0;
    memcpy(&value, host.base + at, (size_t)(bytes - at < 8 ? bytes - at : 8));
    put_value(line, line_head(c) + at / 8, number, value);
  }
}

/* ---- to the GPU ------------------------------------------------------------------------------ */

/* Behind all that is under way to the GPU. */
static cudaError_t write_behind(const prem_cuda_live *live, prem_live_word *word, uint64_t value) {
  const CUdeviceptr at = (CUdeviceptr)(uintptr_t)&word->value;
  return live->write((CUstream)live->sending, at, value, 0) == CUDA_SUCCESS ? cudaSuccess
                                                                            : cudaErrorUnknown;
}

static bool sends_frames(const prem_cuda_live *live) {
  bool sends = false;
  for (int32_t s = 0; s < live->courier->source_count; ++s)
    sends |= live->is_large[s];
  return sends;
}

/* Are frames on their way by the copy engines? */
static bool is_sending(const prem_cuda_live *live) {
  return sends_frames(live) && prem_cuda_enter(live->cuda->gpu) == cudaSuccess &&
         cudaStreamQuery(live->sending) == cudaErrorNotReady;
}

/* Send a frame of an input, where it is large, and `word` to its channel, behind all that is on its
 * way. */
static cudaError_t send(prem_cuda_live *live, int32_t s, int32_t slot, uint64_t word) {
  const cudaError_t error =
      live->is_large[s] ? copy_frame(live, s, slot, slot, true, live->sending) : cudaSuccess;
  if (error != cudaSuccess)
    return error;
  return write_behind(live, &live->face_there->streams[s].channel.filled, word);
}

/* A large frame of an input: its word is written behind its bytes. A small one behind it must not
 * come before it: the frame of a trigger belongs to those that were handed on before. */
prem_status prem_cuda_live_submit(void *state, int32_t stream, int32_t slot, const prem_note *note,
                                  uint64_t *number, prem_diag *diag) {
  prem_cuda_live *live = ((const prem_cuda *)state)->live;
  prem_producer *producer = &live->courier->streams[stream].producer;
  *number = producer->next;
  const bool waits = live->is_large[stream] || is_sending(live);
  const uint64_t word = prem_channel_put_down(producer, slot, note);
  if (stream == live->courier->trigger)
    tell_line(live, stream, slot, note, word, waits);
  if (!waits) {
    prem_channel_hand_on(producer, word);
    return PREM_OK;
  }
  cudaError_t error = prem_cuda_enter(live->cuda->gpu);
  if (error == cudaSuccess)
    error = send(live, stream, slot, word);
  return prem_cuda_report(error, diag, "sending a frame to the GPU");
}

void prem_cuda_live_drain(prem_cuda_live *live) {
  if (sends_frames(live) && prem_cuda_enter(live->cuda->gpu) == cudaSuccess &&
      write_behind(live, &live->face_there->request, PREM_COURIER_DRAIN) == cudaSuccess)
    return;
  prem_word_set_far(&live->courier->face->request.value, PREM_COURIER_DRAIN);
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Take the newest sample, when the host has a slot for it. */
static void take_sample(prem_cuda_relay *relay, prem_producer *host) {
  uint64_t number;
  const int32_t to = prem_channel_take_free(host);
  if (to < 0)
    return;
  relay->from = prem_channel_take(&relay->consumer, &number);
  if (relay->from < 0)
    prem_channel_put_back(host, to);
  else
    relay->to = to;
}

/* Of a queue the courier has found the host's slot free before it granted its own, of the same
 * number: a queue is as deep as its port says, not twice. */
static void take_queued(prem_cuda_relay *relay) {
  uint64_t number;
  relay->from = relay->to = prem_channel_take(&relay->consumer, &number);
}

static cudaError_t fetch_begin(prem_cuda_live *live, int32_t s) {
  prem_cuda_relay *relay = &live->relays[s];
  prem_producer *host = &live->courier->streams[s].producer;
  if (!prem_channel_has_new(&relay->consumer))
    return cudaSuccess;
  if (host->is_queue)
    take_queued(relay);
  else
    take_sample(relay, host);
  if (relay->to < 0)
    return cudaSuccess;
  relay->note = relay->face->channel.note[relay->from];
  memcpy(host->channel->inputs[relay->to], relay->face->channel.inputs[relay->from],
         sizeof host->channel->inputs[relay->to]);
  const cudaError_t error = copy_frame(live, s, relay->from, relay->to, false, live->fetching);
  return error == cudaSuccess ? cudaEventRecord(relay->landed, live->fetching) : error;
}

static cudaError_t fetch_end(prem_cuda_live *live, int32_t s) {
  prem_cuda_relay *relay = &live->relays[s];
  const cudaError_t error = cudaEventQuery(relay->landed);
  if (error != cudaSuccess)
    return error == cudaErrorNotReady ? cudaSuccess : error;
  relay->note.published_ns = prem_host_clock_ns();
  relay->note.flags &= ~(uint32_t)PREM_NOTE_PROMISED;
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
