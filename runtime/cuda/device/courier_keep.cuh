/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier: the keeper, a warp, which hands results on: at their instants, or in sessions in
 * which no result has one as soon as they are made. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_KEEP_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_KEEP_CUH

#include "runtime/cuda/device/courier_look.cuh"

#include "runtime/core/courier_steps.h"

namespace {

/** The keeper, a lane for each stream: write the words of results at their instants. */
__device__ void keep_promises(int32_t lane) {
  enum { NEAR_NS = 2000, NAP_NS = 400 };
  promised_word *own = &handing.promises[lane < PREM_DEVICE_STREAMS ? lane : 0];
  bool is_ready = false; /* what belongs to the result has been seen */
  while (!__any_sync(WHOLE_WARP, *(volatile int32_t *)&is_closing != 0)) {
    const bool has_one = lane < PREM_DEVICE_STREAMS && *(volatile uint64_t *)&own->word != 0;
    const int64_t at_ns = has_one ? *(volatile int64_t *)&own->at_ns : INT64_MAX;
    if (has_one && !is_ready)
      prem_fence_far();
    is_ready = has_one;
    const int64_t left_ns = has_one ? at_ns - prem_clock_ns() : INT32_MAX;
    const int32_t left = (int32_t)max(min((long long)left_ns, (long long)INT32_MAX), 0LL);
    int32_t least = left;
    for (int32_t other = 16; other > 0; other /= 2)
      least = min(least, __shfl_xor_sync(WHOLE_WARP, least, other));
    if (least > NEAR_NS) {
      __nanosleep(NAP_NS);
    } else if (has_one && left == least) { /* others' come later, and may not wait with it */
      const uint64_t word = own->word;
      uint64_t *behind = own_courier->streams[lane].face->behind;
      const int64_t behind_ns = prem_clock_await(at_ns) - at_ns;
      prem_word_set_far_relaxed(own->to, word);
      prem_word_set_far_relaxed(
          &behind[word & ((1u << PREM_CHANNEL_SLOT_BITS) - 1)],
          word >> PREM_CHANNEL_SLOT_BITS << PREM_BEHIND_BITS |
              (uint64_t)min((long long)behind_ns, (long long)PREM_MAX_BEHIND_NS));
      *(volatile int64_t *)&own->behind_ns = behind_ns;
      __threadfence_block();
      *(volatile uint64_t *)&own->word = 0;
      is_ready = false;
    }
    __syncwarp();
  }
}

/* ---- results without an instant -------------------------------------------------------------- */

/** One lane, before the session begins. */
__device__ void keeper_set_up(const prem_courier *c) {
  keeper_shows = true;
  for (int32_t s = c->source_count; s < c->stream_count; ++s)
    keeper_shows &= c->streams[s].port.publish_ns == 0;
  for (int32_t i = 0; keeper_shows && i < KEPT_SINKS; ++i)
    handing.sinks[i].handed = handing.sinks[i].shown = handing.sinks[i].results[0].frames =
        handing.sinks[i].results[1].frames = 0;
}

/** What the keeper has of a sink; NULL: it shows none of its results. */
__device__ __forceinline__ prem_kept_sink *kept_sink(const prem_courier *c,
                                                     const prem_stream *sink) {
  const int32_t s = (int32_t)(sink - c->streams);
  const bool is_kept =
      keeper_shows && s - c->source_count < KEPT_SINKS && is_short_row(&own_carries[s]);
  return is_kept ? &handing.sinks[s - c->source_count] : nullptr;
}

__device__ void hand_to_keeper(prem_courier *c, prem_stream *sink, const prem_decision *decision) {
  prem_kept_sink *of = kept_sink(c, sink);
  prem_kept_result *at = of != nullptr ? keeper_place(c, sink, of) : nullptr;
  if (at == nullptr)
    return;
  const prem_device_carry *carry = &own_carries[sink - c->streams];
  const int32_t slot = decision->ticket.slot;
  at->from = carry->device + slot * carry->device_slot_bytes;
  at->to = carry->host + slot * carry->host_slot_bytes;
  at->bytes = carry->host == nullptr ? 0 : carry->row_bytes;
  const prem_note note = note_of_result(c, sink, decision, 0);
  const uint64_t frames = keeper_put(sink, slot, &note, of, at);
  prem_block_fence();
  *(volatile uint64_t *)&at->frames = frames;
}

/** If it was the keeper's, it has been shown, or will be in a moment. */
__device__ bool is_shown_by_keeper(prem_courier *c, prem_stream *sink) {
  prem_kept_sink *of = kept_sink(c, sink);
  const prem_kept_result *at = of != nullptr ? keeper_oldest(sink, of) : nullptr;
  if (at == nullptr)
    return false;
  while (prem_look(&at->frames) != 0) {
  }
  prem_block_fence(); /* the word that handed it on is before what follows */
  keeper_count(c, sink, of, at);
  return true;
}

/** Show a result whose job is over: bytes and note, then the word, whose release carries those of
 * all lanes; then the dispatcher hears of it. Who fills samples asks what the host holds behind a
 * fence of its own (has_to_ask). One warp. */
__device__ __forceinline__ void result_show(prem_kept_result *of, int32_t lane) {
  enum { PUBLISHED = offsetof(prem_note, published_ns) / 8 };
  row_pieces pieces;
  const int64_t stamp_seen = prem_clock_ns();
  if (lane == 0)
    STAMP(20, *(volatile int64_t *)&stamp_told);
  row_load(of->from, of->bytes, lane, &pieces);
  const int64_t published_ns =
      *(const volatile int64_t *)&own_courier->base_ns + prem_clock_ns() - zero_ns;
  if (lane < NOTE_WORDS)
    ((volatile uint64_t *)&of->channel->note[of->slot])[lane] =
        lane == PUBLISHED ? (uint64_t)published_ns : ((const uint64_t *)&of->note)[lane];
  if (lane == NOTE_WORDS)
    of->channel->slot_of[(of->frames - 1) % PREM_MAX_LIVE_BUFFERS] = (uint8_t)of->slot;
  row_store(of->to, of->bytes, lane, pieces);
  __syncwarp();
  if (lane == 0) {
    prem_word_set_far(&of->channel->filled.value,
                      of->frames << PREM_CHANNEL_SLOT_BITS | (uint64_t)of->slot);
    prem_block_fence(); /* the dispatcher sees it gone behind its word */
    STAMP(21, stamp_seen);
    STAMP(22, *(volatile int64_t *)&stamp_zero);
    *(volatile uint64_t *)&of->frames = 0;
  }
  __syncwarp();
}

/** The keeper, where no result has an instant: a lane for each part of the blocks of each result;
 * of two of a sink's in turn. One warp. */
__device__ void show_when_over(int32_t lane) {
  enum { NAP_NS = 200 };
  const int32_t place = lane / PREM_DEVICE_PARTS, part = lane % PREM_DEVICE_PARTS;
  prem_kept_result *own = &handing.sinks[place / 2].results[place % 2];
  bool is_turn = (place & 1) == 0;
  while (!__any_sync(WHOLE_WARP, *(volatile int32_t *)&is_closing != 0)) {
    const bool is_open = is_turn && *(const volatile uint64_t *)&own->frames != 0;
    prem_block_fence();
    if (!__any_sync(WHOLE_WARP, is_open)) {
      __nanosleep(NAP_NS);
      continue;
    }
    bool is_over = is_open && is_part_over(&own_leaders[own->writer], part, own->job);
    is_over &= __shfl_xor_sync(WHOLE_WARP, (int32_t)is_over, 1) != 0;
    is_over &= __shfl_xor_sync(WHOLE_WARP, (int32_t)is_over, 2) != 0;
    __syncwarp(); /* what one lane has acquired all of them see */
    for (int32_t other = 0; other < 2 * KEPT_SINKS; ++other)
      if (__shfl_sync(WHOLE_WARP, (int32_t)is_over, other * PREM_DEVICE_PARTS) != 0) {
        result_show(&handing.sinks[other / 2].results[other % 2], lane);
        is_turn ^= other >> 1 == place >> 1;
      }
  }
}
static_assert(2 * KEPT_SINKS * PREM_DEVICE_PARTS == 32, "a lane for each part");
static_assert(PREM_DEVICE_PARTS == 4, "as the lanes meet");

} // namespace

#endif
