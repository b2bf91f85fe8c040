/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier: the carrier, a warp, which brings frames over and words to the host; and what the
 * decider says to it and to the keeper. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_CARRY_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_CARRY_CUH

#include "runtime/cuda/device/courier_parts.cuh"

namespace {

__device__ __forceinline__ void barrier_await(uint64_t *barrier, uint32_t number) {
  enum { NAP_NS = 100000 };
  while (!prem_barrier_await(barrier, number & 1u, NAP_NS)) {
  }
}

/** Pieces of 16 bytes that a lane has on their way at the same time. */
constexpr int32_t PIECES = 12, ROW_PIECES = 4;

/** Bytes that stand in a row. One warp. */
__device__ void carry_row(const unsigned char *from, unsigned char *to, int32_t bytes,
                          int32_t lane) {
  const int32_t count = bytes / 16;
  for (int32_t first = lane; first < count; first += 32 * PIECES) {
    int4 pieces[PIECES];
#pragma unroll
    for (int32_t i = 0; i < PIECES; ++i)
      if (first + 32 * i < count)
        pieces[i] = prem_load_fresh((const int4 *)from + first + 32 * i);
#pragma unroll
    for (int32_t i = 0; i < PIECES; ++i)
      if (first + 32 * i < count)
        ((int4 *)to)[first + 32 * i] = pieces[i];
  }
  for (int32_t at = 16 * count + lane; at < bytes; at += 32)
    to[at] = *(const volatile unsigned char *)(from + at);
}

/** A piece of a frame of many rows: where it lies in both, and how long it is. */
struct carried_piece {
  const unsigned char *from;
  unsigned char *to;
  int32_t bytes;
};

__device__ __forceinline__ carried_piece piece_at(uint32_t number, uint32_t in_row) {
  const uint32_t across = (uint32_t)order.shape[2], planes = (uint32_t)order.shape[1];
  const uint32_t row = number / in_row, at = 16 * (number - row * in_row);
  const uint32_t i2 = row % across, i1 = row / across % planes, i0 = row / across / planes;
  return carried_piece{order.from + i0 * order.from_pitch[0] + i1 * order.from_pitch[1] +
                           i2 * order.from_pitch[2] + at,
                       order.to + i0 * order.to_pitch[0] + i1 * order.to_pitch[1] +
                           i2 * order.to_pitch[2] + at,
                       min(16, order.row_bytes - (int32_t)at)};
}

/** All rows, a piece a lane. One warp. */
__device__ void carry_rows(int32_t lane) {
  const uint32_t in_row = (uint32_t)(order.row_bytes + 15) / 16;
  const uint32_t count = in_row * (uint32_t)order.rows;
  for (uint32_t first = (uint32_t)lane; first < count; first += 32 * ROW_PIECES) {
    carried_piece at[ROW_PIECES];
    int4 pieces[ROW_PIECES];
#pragma unroll
    for (int32_t i = 0; i < ROW_PIECES; ++i) {
      at[i].bytes = 0;
      if (first + 32u * i < count)
        at[i] = piece_at(first + 32u * i, in_row);
      if (at[i].bytes == 16)
        pieces[i] = prem_load_fresh((const int4 *)at[i].from);
    }
#pragma unroll
    for (int32_t i = 0; i < ROW_PIECES; ++i) {
      if (at[i].bytes == 16)
        *(int4 *)at[i].to = pieces[i];
      else
        for (int32_t b = 0; b < at[i].bytes; ++b)
          at[i].to[b] = *(const volatile unsigned char *)(at[i].from + b);
    }
  }
}

/** Words that were put down: what the decider did and saw before is before them. One warp. */
__device__ __forceinline__ void carry_words(int32_t lane) {
  const int32_t count = word_count;
  const put_down_word own = words[lane < count ? lane : 0];
  prem_fence_far();
  if (lane < count)
    prem_word_set_far_relaxed(own.to, own.value);
}

/** The carrier's part. A frame's note comes at the same time. That it is there the listener has
 *  seen, and what it saw before it told the decider is seen here. One warp. */
__device__ void carry(int32_t lane) {
  enum { NOTE_WORDS = sizeof(prem_note) / 8 };
  for (uint32_t number = 0;; ++number) {
    barrier_await(&is_ordered, number);
    if (order.row_bytes == 0)
      return;
    if (order.note != nullptr && lane < NOTE_WORDS)
      ((uint64_t *)&own_note)[lane] = prem_system_load_relaxed((const uint64_t *)order.note + lane);
    if (order.rows == 0)
      carry_words(lane);
    else if (order.rows == 1)
      carry_row(order.from, order.to, order.row_bytes, lane);
    else
      carry_rows(lane);
    if (order.note != nullptr)
      prem_fence_async(); /* bulk copies of blocks will fetch it */
    __syncwarp();
    if (lane == 0) /* the decider's release carries it to others, when it has met this */
      prem_barrier_arrive(&is_carried);
  }
}

__device__ __forceinline__ void carry_end(void) {
  if (!is_carrying)
    return;
  barrier_await(&is_carried, orders++);
  is_carrying = false;
}

/** To be waited for by carry_end(). */
__device__ __forceinline__ void carry_begin(const carry_order &of) {
  carry_end();
  order = of;
  is_carrying = true;
  prem_barrier_arrive(&is_ordered);
}

__device__ __forceinline__ void begin_to_tell(void) {
  carry_end();
  word_count = 0;
}

__device__ __forceinline__ void end_to_tell(void) {
  if (word_count > 0)
    carry_begin(carry_order{.row_bytes = -1});
}

__device__ __forceinline__ void await_told(void) {
  carry_end();
}

__device__ __forceinline__ void put_word(uint64_t *word, uint64_t value) {
  if (word_count == MOST_WORDS) {
    end_to_tell();
    begin_to_tell();
  }
  words[word_count++] = put_down_word{word, value};
}

/** A hyperperiod begins: what was done before is before. One lane. */
__device__ void tell_blocks(const prem_courier *c, int64_t hyperperiod, int64_t epoch_ns) {
  const uint32_t says[PREM_BEGIN_TICKETS] = {(uint32_t)epoch_ns, (uint32_t)(epoch_ns >> 32),
                                             (uint32_t)c->snapshot,
                                             c->plan_of_mode[c->mode_begun]}; /* tickets follow */
  uint64_t *words = c->begins[prem_courier_row(c, hyperperiod)].words;
  prem_gpu_fence();
#pragma unroll
  for (int32_t i = 0; i < PREM_BEGIN_TICKETS; ++i)
    prem_store_relaxed(&words[i], prem_begin_word(hyperperiod, says[i]));
}

__device__ __forceinline__ int32_t rows_of(const prem_device_carry *of) {
  return of->shape[0] * of->shape[1] * of->shape[2];
}

/** To be waited for by end_to_bring(); nothing where the frame is there or others bring it. */
__device__ void begin_to_bring(const prem_courier *c, const prem_stream *source, int32_t slot,
                               uint64_t number) {
  const int32_t s = (int32_t)(source - c->streams);
  prem_device_carry *of = &own_carries[s];
  if (of->host == nullptr || of->brought[slot] == number + 1)
    return;
  of->brought[slot] = number + 1;
  carry_begin(carry_order{of->host + slot * of->host_slot_bytes,
                          of->device + slot * of->device_slot_bytes, of->host_pitch,
                          of->device_pitch, of->shape, rows_of(of), of->row_bytes,
                          &source->face->channel.note[slot]});
  note_stream = s;
  note_number = number;
}

__device__ void end_to_bring(const prem_courier *, const prem_stream *) {
  carry_end();
}

/** The note that came with a frame. */
__device__ prem_note note_of(const prem_courier *c, const prem_stream *source, int32_t slot,
                             uint64_t number) {
  carry_end();
  if (note_stream == (int32_t)(source - c->streams) && note_number == number)
    return own_note;
  return source->face->channel.note[slot];
}

__device__ void send_frame(const prem_courier *c, const prem_stream *sink, int32_t slot) {
  prem_device_carry *of = &own_carries[sink - c->streams];
  if (of->host == nullptr)
    return;
  carry_begin(carry_order{of->device + slot * of->device_slot_bytes,
                          of->host + slot * of->host_slot_bytes, of->device_pitch, of->host_pitch,
                          of->shape, rows_of(of), of->row_bytes, nullptr});
  carry_end();
}

/** Its bytes and its note are with the host: the word follows at the instant. */
__device__ void promise(const prem_courier *c, const prem_stream *sink, int64_t at_ns,
                        uint64_t word) {
  promised_word *of = &handing.promises[sink - c->streams];
  of->to = &sink->producer.channel->filled.value;
  *(volatile int64_t *)&of->at_ns = zero_ns + at_ns;
  prem_fence_far();
  *(volatile uint64_t *)&of->word = word;
}

/** @return how long behind its instant, which has come. */
__device__ int64_t promise_kept(const prem_courier *c, prem_stream *sink) {
  promised_word *of = &handing.promises[sink - c->streams];
  while (prem_look(&of->word) != 0) {
  }
  __threadfence_block();
  sink->producer.handed_on = sink->producer.next;
  return *(volatile int64_t *)&of->behind_ns;
}

__device__ bool has_begun_ahead(prem_courier *c);
__device__ bool is_shown_ahead(prem_courier *c, prem_stream *sink);

} // namespace

#endif
