/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier of a live session on the GPU: what its warps share, in the scratchpad. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_PARTS_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_PARTS_CUH

#define PREM_CARRIES_FRAMES
#include "runtime/core/courier.h"
#include "runtime/core/courier_warps.h"

#include "runtime/cuda/device/engine.cuh"
#include "runtime/cuda/device/executive.h"

namespace {

constexpr uint32_t WHOLE_WARP = 0xffffffffu;

enum courier_warp { DECIDER, KEEPER, LISTENER, CARRIER, COURIER_WARPS };
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
__shared__ int32_t is_leaving; /* 1: the courier has to leave, whatever is open */
__shared__ int32_t is_silent;  /* 1: nothing is heard of the host */

/** What the listener has heard, a word of each of its lanes (host_word). */
__shared__ prem_heard heard;
__shared__ uint64_t trigger_seen; /* the trigger's word, as soon as it is there */

/** A result that is handed on at its instant. */
struct promised_word {
  uint64_t word; /* 0: none */
  uint64_t *to;
  int64_t at_ns, behind_ns;
};

/** A result that the keeper shows as soon as its job is over: courier_ahead.cuh. */
struct shown_result {
  prem_inner_word begun; /* as courier_warps.h has it */
  prem_note note;        /* but when it is published, and when the trigger's frame was captured */
  uint64_t number;       /* of its frame */
  const unsigned char *from;
  unsigned char *to;
  prem_channel *channel;
  int32_t bytes, slot, writer;
  bool has_inputs; /* there the host looks when the trigger's frame was captured, too */
};
constexpr int32_t SHOWN_SINKS = 4; /* two results each */

/** What the keeper hands on. Where a result has an instant, it shows none of itself. */
__shared__ union {
  promised_word promises[PREM_DEVICE_STREAMS];
  shown_result results[2 * SHOWN_SINKS];
} handing;
static_assert(sizeof(shown_result) * 2 * SHOWN_SINKS <= sizeof(promised_word) * PREM_DEVICE_STREAMS,
              "it takes no scratchpad of its own");

/** The next hyperperiod, prepared ahead: courier_warps.h says whose it is when. */
constexpr int32_t CAPTURED = 4; /* more than are open; a power of two */
struct prepared_hyperperiod {
  /* constant: */
  bool is_used, shows_results;
  prem_ahead shared;
  /* the decider: */
  const unsigned char *from;
  unsigned char *to;
  const prem_note *note;
  int64_t earliest_ns, lead_ns;
  int64_t from_ns;                 /* before that it is too early for its samples */
  uint64_t *words;                 /* where blocks look: of a prem_begin_line */
  uint32_t says[PREM_BEGIN_WORDS]; /* what they have to find there, but for the epoch */
  uint64_t begun;                  /* what `begun` becomes */
  int32_t bytes, slot;
  uint8_t slots[PREM_DEVICE_STREAMS]; /* of results */
  prem_ahead_sink sinks[SHOWN_SINKS];
  bool lacks_results; /* the keeper is not to show all of this one's */
  /* the listener: */
  int64_t epoch_ns;
  prem_note frame;
  int64_t captured_ns[CAPTURED]; /* [begun % CAPTURED], for the keeper */
};
__shared__ prepared_hyperperiod ahead;

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
