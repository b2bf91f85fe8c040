/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier of a live session on the GPU: what its warps share, in the scratchpad. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_PARTS_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_PARTS_CUH

#define PREM_CARRIES_FRAMES
#include "runtime/core/courier_hear.h"
#include "runtime/core/courier_keeper.h"

#include "runtime/cuda/device/engine.cuh"
#include "runtime/cuda/device/executive.h"

namespace {

constexpr uint32_t WHOLE_WARP = 0xffffffffu;
constexpr int32_t NOTE_WORDS = sizeof(prem_note) / 8;

enum courier_warp { DISPATCHER, KEEPER, CARRIER, COURIER_WARPS };
static_assert(PREM_COURIER_THREADS == 32 * COURIER_WARPS, "a warp each");

/** A frame to be brought over; `rows` 0: words for the host; `row_bytes` 0: the carrier leaves. */
struct carry_order {
  const unsigned char *from;
  unsigned char *to;
  const int64_t *from_pitch, *to_pitch;
  const int32_t *shape;
  int32_t rows, row_bytes;
  const prem_note *note; /* the host's, which comes with it; NULL: it goes to the host */
};

/** A word for the host that need not be there soon. */
struct put_down_word {
  uint64_t *to;
  uint64_t value;
};
constexpr int32_t MOST_WORDS = 32;
__shared__ put_down_word words[MOST_WORDS];
__shared__ int32_t word_count;

__shared__ carry_order order;
__shared__ uint64_t is_ordered; /* mbarriers: the courier has written `order`; */
__shared__ uint64_t is_carried; /* the carrier has done it */
__shared__ uint32_t orders;
__shared__ int64_t zero_ns;    /* the courier's time 0 */
__shared__ int32_t is_serving; /* 1: the session has begun */
__shared__ int32_t is_closing; /* 1: it is over */

/** A result that is handed on at its instant. */
struct promised_word {
  uint64_t word; /* 0: none */
  uint64_t *to;
  int64_t at_ns, behind_ns;
};

constexpr int32_t KEPT_SINKS = 4;

/** What the keeper hands on: in a session words at their instants, or results. */
__shared__ union {
  promised_word promises[PREM_DEVICE_STREAMS];
  prem_kept_sink sinks[KEPT_SINKS];
} handing;
__shared__ bool keeper_shows; /* results: none has an instant */

__shared__ uint32_t *stamps;
__shared__ int64_t stamp_zero, stamp_look, stamp_told, stamp_over;
#define STAMP(STAGE, SINCE) stamp_count(stamps, STAGE, prem_clock_ns() - (SINCE))
__shared__ bool is_carrying;
__shared__ prem_note own_note; /* of the frame that was brought last, which is this: */
__shared__ int32_t note_stream;
__shared__ uint64_t note_number;
__shared__ prem_courier *own_courier;
__shared__ const prem_device_leader *own_leaders; /* [task] */
__shared__ prem_device_carry *own_carries;        /* [stream] */

extern __shared__ __align__(128) unsigned char own_image[];

} // namespace

#endif
