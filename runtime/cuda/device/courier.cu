/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The courier of a live session on the GPU: one block beside the executive, which decides by the
 * GPU's own clock what prem_courier_decide() says. It has four warps:
 *
 *   - the decider looks at the blocks' words, in L2, and at what the listener has heard. Where
 *     something has changed, or an instant has come, its first lane decides
 *   - the keeper hands results on at their instants; where no result has one, as soon as they are
 *     made, if the decider has prepared that
 *   - the listener looks at the host's words over the bus, a lane each. That takes as long as five
 *     looks at the blocks, and longer where a copy is under way. It begins a hyperperiod that the
 *     decider has prepared (courier_ahead.cuh)
 *   - the carrier brings frames over; it sleeps at a barrier until there is one
 *
 * It ends when all results are shown, when the session is stopped, or when the host is silent.
 */
#define PREM_CARRIES_FRAMES
#include "runtime/core/courier.h"

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
__shared__ uint64_t heard[32];
__shared__ uint64_t trigger_seen; /* the trigger's word, as soon as it is there */
/** Looks that begin behind something that the decider did: it counts `asked` up, and `answered`
 *  follows when what such a look has brought is in `heard`. */
__shared__ uint32_t asked, answered;

/** A result that is handed on at its instant. */
struct promised_word {
  uint64_t word; /* 0: none */
  uint64_t *to;
  int64_t at_ns, behind_ns;
};

/** A result that the keeper shows as soon as its job is over: courier_ahead.cuh. */
struct shown_result {
  uint64_t begun; /* its hyperperiod + 1; 0: none */
  int64_t job;
  uint64_t number, input; /* of its frame; of the first one that it is made of */
  int64_t sampled_ns;     /* when the oldest sample was captured that it is made of */
  const unsigned char *from;
  unsigned char *to;
  prem_channel *channel;
  int32_t bytes, slot, writer, mode;
  bool is_of_frame; /* made of the trigger's frame */
};
constexpr int32_t SHOWN_SINKS = 4; /* two results each */

/** What the keeper hands on. Where a result has an instant, it shows none of itself. */
__shared__ union {
  promised_word promises[PREM_DEVICE_STREAMS];
  shown_result results[2 * SHOWN_SINKS];
} handing;
static_assert(sizeof(shown_result) * 2 * SHOWN_SINKS <= sizeof(promised_word) * PREM_DEVICE_STREAMS,
              "it takes no scratchpad of its own");

/** The next hyperperiod, prepared ahead: courier_ahead.cuh says who writes what. */
enum ahead_state : uint32_t {
  AHEAD_NONE,
  AHEAD_PREPARED,
  AHEAD_CLAIMED,
  AHEAD_BEGUN,
  AHEAD_GIVEN_BACK
};
constexpr int32_t CAPTURED = 4; /* more than are open; a power of two */
struct prepared_hyperperiod {
  /* constant: */
  bool is_used, shows_results;
  int32_t source_count;
  /* whoever may: */
  uint32_t state; /* ahead_state */
  /* the decider: */
  uint64_t trigger_word; /* that the host will write */
  uint64_t wish, newest; /* of the host, as they are known */
  const unsigned char *from;
  unsigned char *to;
  const prem_note *note;
  int64_t earliest_ns, lead_ns;
  int64_t from_ns;      /* before that it is too early for its samples */
  int64_t *epoch;       /* where blocks look */
  prem_word *permitted; /* likewise; */
  uint64_t begun;       /* what it becomes */
  int32_t bytes, slot;
  uint64_t samples[PREM_DEVICE_STREAMS];          /* [source]: the words of those that it has */
  uint8_t slots[PREM_DEVICE_STREAMS];             /* of results */
  uint8_t filled[SHOWN_SINKS], kept[SHOWN_SINKS]; /* counts: results put down; seen shown */
  bool is_put[SHOWN_SINKS], lacks_results;        /* this one's; not all of them */
  /* the listener: */
  int64_t epoch_ns;
  prem_note frame;
  int64_t captured_ns[CAPTURED]; /* [begun % CAPTURED], for the keeper */
  uint64_t shown_until;          /* likewise: `begun` of the last one that it has begun */
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

#include "runtime/core/courier_steps.h"

namespace {

/* ---- instants ------------------------------------------------------------------------------- */

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

/* ---- looking -------------------------------------------------------------------------------- */

/** Words that the host writes, in this order a lane each; behind them `filled` of each source and
 *  `passed` of each sink. */
enum host_word { PING, LEAVE, HOST_BEAT, BASE, REQUEST, WISH, NEWEST, STREAMS };

__device__ __forceinline__ const void *stream_word_at(const prem_stream *stream, bool is_source) {
  if (is_source)
    return &stream->consumer.channel->filled.value;
  /* Of a queue the reader's own, also where the copy engines take frames to it; of samples that of
   * who takes them, which may be ahead. */
  return stream->producer.is_queue ? &stream->face->channel.passed.value
                                   : &stream->producer.channel->passed.value;
}

__device__ __forceinline__ const void *host_word_at(const prem_courier_launch &launch,
                                                    int32_t lane) {
  const prem_courier *c = own_courier;
  const int32_t stream = lane - STREAMS;
  switch (lane) {
  case PING:
    return &launch.talk->ping;
  case LEAVE:
    return &launch.talk->leave;
  case HOST_BEAT:
    return &launch.talk->host_beat;
  case BASE:
    return &launch.talk->base_ns;
  case REQUEST:
    return &c->face->request.value;
  case WISH:
    return &c->face->wish.value;
  case NEWEST:
    return &c->face->newest.value;
  default:
    if (stream >= c->stream_count)
      return nullptr;
    return stream_word_at(&c->streams[stream], stream < c->source_count);
  }
}
static_assert(STREAMS + PREM_DEVICE_STREAMS <= 32, "a lane for each word of the host");

/** Have a part of a task's blocks done job `over`? One lane. */
__device__ __forceinline__ bool is_part_over(const prem_device_leader *leader, int32_t part,
                                             int64_t over) {
  if (leader->blocks[part] == 0)
    return true;
  const int64_t round = over >> leader->shift, word = over - (round << leader->shift);
  const prem_device_end *end = &leader->ends[((int64_t)part << leader->shift) + word];
  const uint32_t needed = (uint32_t)(round + 1) * (uint32_t)leader->blocks[part];
  return (int32_t)(prem_load_acquire(&end->blocks) - needed) >= 0;
}

/** The lanes look at the tasks, one at each part of one's blocks, and at the next job of each
 *  alone: to look further takes as long again, and the decider looks again soon. @return whether a
 *  job is over. One warp. */
__device__ __forceinline__ bool blocks_look(const prem_courier *c, int32_t lane) {
  constexpr int32_t AT_ONCE = 32 / PREM_DEVICE_PARTS;
  const int32_t part = lane % PREM_DEVICE_PARTS, own = lane / PREM_DEVICE_PARTS;
  bool has_changed = false;
  for (int32_t first = 0; first < c->task_count; first += AT_ONCE) {
    const int32_t t = first + own;
    bool is_over = t < c->task_count && is_part_over(&own_leaders[t], part, c->over_now[t]);
    for (int32_t other = 1; other < PREM_DEVICE_PARTS; other *= 2)
      is_over &= __shfl_xor_sync(WHOLE_WARP, (int32_t)is_over, other) != 0;
    if (part == 0 && is_over)
      has_changed |= prem_courier_see(c, t, c->over_now[t] + 1);
    __syncwarp();
  }
  return __any_sync(WHOLE_WARP, has_changed);
}

/** Hyperperiods that are over. One warp. */
__device__ __forceinline__ int64_t rounds_look(const prem_courier *c, int32_t lane) {
  int64_t completed = INT64_MAX;
  for (int32_t t = lane; t < c->task_count; t += 32)
    completed = min((long long)completed, (long long)prem_courier_rounds(c, t));
  for (int32_t other = 16; other > 0; other /= 2)
    completed = min((long long)completed,
                    (long long)__shfl_xor_sync(WHOLE_WARP, (long long)completed, other));
  return completed;
}

/** Until all blocks are resident and the host has said when to begin. @return S; 0: it is over. */
__device__ int64_t session_begin(const prem_courier_launch &launch) {
  prem_courier_talk *talk = launch.talk;
  prem_courier *c = own_courier;
  const int64_t limit_ns = prem_clock_ns() + 4 * launch.resident_timeout_ns;
  int64_t s_ns = 0;
  while (s_ns == 0) {
    s_ns = prem_load_acquire(&launch.state->start_ns);
    if (prem_load_relaxed(&launch.state->abort) || prem_clock_ns() > limit_ns ||
        prem_word_far(&talk->leave))
      return 0;
    __nanosleep(200);
  }
  prem_word_set_far((uint64_t *)&talk->s_ns, (uint64_t)s_ns);
  while (!prem_word_far(&talk->begin)) {
    prem_word_set_near(launch.beat, (uint64_t)prem_clock_ns());
    if (prem_load_relaxed(&launch.state->abort) || prem_word_far(&talk->leave) ||
        prem_clock_ns() > limit_ns + launch.resident_timeout_ns)
      return 0;
  }
  c->start_ns = (int64_t)prem_system_load_relaxed(&talk->start_ns);
  c->base_ns = (int64_t)prem_system_load_relaxed(&talk->base_ns);
  c->host_start_ns = c->base_ns + c->start_ns;
  return s_ns;
}

/** The host has asked what time it is. */
__device__ __forceinline__ void answer(prem_courier_talk *talk, uint64_t ping) {
  *(volatile int64_t *)&talk->pong_ns = prem_clock_ns();
  prem_word_set_far(&talk->pong, ping);
}

/** Take the image to the scratchpad, where there is room for it; its pointers lead there then. All
 *  threads. */
__device__ void image_take(const prem_courier_launch &launch) {
  unsigned char *image = launch.is_near ? own_image : launch.image;
  for (int32_t i = (int32_t)threadIdx.x; launch.is_near && i < launch.image_bytes / 16;
       i += (int32_t)blockDim.x)
    ((int4 *)image)[i] = ((const int4 *)launch.image)[i];
  __syncthreads();
  for (int32_t i = (int32_t)threadIdx.x; i < launch.pointer_count; i += (int32_t)blockDim.x)
    *(uint64_t *)(image + launch.pointers[i]) += (uint64_t)image;
  if (threadIdx.x == 0) {
    own_courier = (prem_courier *)image;
    own_leaders = (const prem_device_leader *)(image + launch.leaders_at);
    own_carries = (prem_device_carry *)(image + launch.carries_at);
  }
}

} // namespace

#include "runtime/cuda/device/courier_ahead.cuh"

namespace {

/* ---- the listener -----------------------------------------------------------------------------
 */

/** In which order the host says things: wishes, arguments and frames of other inputs that belong to
 *  a trigger's frame come before it, and all frames before it asks for the end. */
enum said : int32_t { SAID_FIRST, SAID_BEHIND, SAID_LAST, SAID_RANKS };

__device__ __forceinline__ said said_at(const prem_courier *c, int32_t lane) {
  if (lane == REQUEST)
    return SAID_LAST;
  return c->trigger >= 0 && lane == STREAMS + c->trigger ? SAID_BEHIND : SAID_FIRST;
}

/** The host's words have come: answer it, and see that it lives. One warp.
 *  @return false: the courier leaves. */
__device__ __forceinline__ bool host_hear(const prem_courier_launch &launch, int32_t lane,
                                          uint64_t word, bool has_changed, int64_t *heard_ns) {
  const int64_t now = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
  const uint32_t stops = prem_load_relaxed(&launch.state->abort);
  const bool is_asked = __shfl_sync(WHOLE_WARP, has_changed, PING);
  const uint64_t ping = __shfl_sync(WHOLE_WARP, word, PING);
  const uint64_t leave = __shfl_sync(WHOLE_WARP, word, LEAVE);
  if (__shfl_sync(WHOLE_WARP, has_changed, HOST_BEAT))
    *heard_ns = now;
  if (lane == 0) {
    if (is_asked)
      answer(launch.talk, ping);
    if (leave == PREM_COURIER_STOPS_ALL)
      atomicExch(&launch.state->abort, 1u);
    *(volatile int32_t *)&is_silent =
        launch.host_silence_ns > 0 && now - *heard_ns > launch.host_silence_ns;
  }
  return !__any_sync(WHOLE_WARP, stops != 0) && leave == PREM_COURIER_STAYS;
}

/** For the decider: what is said last is put down behind the rest. One warp. */
__device__ __forceinline__ void put_down(int32_t lane, uint64_t word, said when,
                                         uint32_t question) {
  volatile uint64_t *own = &heard[lane];
#pragma unroll
  for (int32_t rank = 0; rank < SAID_RANKS; ++rank) {
    if (when == rank)
      *own = word;
    prem_block_fence();
    __syncwarp();
  }
  if (lane == 0)
    *(volatile uint32_t *)&answered = question;
}

/** A trigger's frame has come, for a decision: the words that the host has said before it once
 * more. One warp. @return the lane's word */
__device__ __forceinline__ uint64_t look_again(const void *at, bool is_before_it, bool is_frame,
                                               uint64_t word) {
  if (is_frame)
    *(volatile uint64_t *)&trigger_seen = word;
  __syncwarp();
  const uint64_t again = at != nullptr ? prem_system_load_acquire(at) : 0;
  return is_before_it ? again : word;
}

/**
 * The listener looks at the host's words, until the session is over. Of two words that it looks at
 * at the same time either can be the earlier one. So where a trigger's frame has come, it looks at
 * the others once more; and that the host wishes to end it tells a look later. One warp.
 */
__device__ void listen(const prem_courier_launch &launch, int32_t lane) {
  const prem_courier *c = own_courier;
  const void *at = host_word_at(launch, lane);
  const said when = said_at(c, lane);
  const bool is_trigger = when == SAID_BEHIND;
  const bool is_before_it = lane >= WISH && when == SAID_FIRST;
  uint64_t known = 0;
  int64_t heard_ns = prem_clock_ns();
  while (!__any_sync(WHOLE_WARP, *(volatile int32_t *)&is_closing != 0)) {
    /* one lane's, which all know before they look */
    const uint32_t question = __shfl_sync(WHOLE_WARP, *(volatile uint32_t *)&asked, 0);
    prem_block_fence();
    uint64_t word = at != nullptr ? prem_system_load_acquire(at) : 0;
    const bool has_changed = word != known, is_prepared = is_trigger && is_expected(word);
    if (__any_sync(WHOLE_WARP, is_prepared || (is_trigger && has_changed)) &&
        !(prepared_claim(is_prepared) && prepared_begin(lane, at, is_before_it, is_trigger, &word)))
      word = look_again(at, is_before_it, is_trigger && has_changed, word);
    /* the end is told a look later: all frames before it have been seen by then */
    const uint64_t told = when == SAID_LAST ? known : word;
    known = word;
    put_down(lane, told, when, question);
    if (!host_hear(launch, lane, word, has_changed, &heard_ns)) {
      *(volatile int32_t *)&is_leaving = 1;
      return;
    }
  }
}

/* ---- the decider ------------------------------------------------------------------------------
 */

/** What the listener has heard; of what is said last what is not newer than the rest. One warp.
 *  @return a lane's word; in `*is_answered` whether the look began behind all that was asked. */
__device__ __forceinline__ uint64_t hear(int32_t lane, said when, bool *is_answered) {
  const volatile uint64_t *own = &heard[lane];
  *is_answered = *(volatile uint32_t *)&answered == *(volatile uint32_t *)&asked;
  uint64_t word = 0;
#pragma unroll
  for (int32_t rank = SAID_RANKS - 1; rank >= 0; --rank) {
    prem_block_fence();
    __syncwarp();
    if (when == rank)
      word = *own;
  }
  return word;
}

/** Does a lane know something that has to be decided? That a slot is free again only where a job
 *  waits for one, or the next hyperperiod cannot be prepared for want of one. */
__device__ __forceinline__ bool is_news(const prem_courier *c, int32_t lane, bool lacks_slots,
                                        bool has_changed, bool is_answered) {
  const int32_t stream = lane - STREAMS;
  if (stream < c->source_count)
    return has_changed && (stream >= 0 || lane == REQUEST);
  if (stream >= c->stream_count || !(lacks_slots || c->streams[stream].is_short))
    return false;
  const prem_producer *producer = &c->streams[stream].producer;
  return has_changed || (is_answered && producer->settled != producer->asked_for);
}

/** Samples were handed on: has what the host holds to be looked at behind that? One lane. */
__device__ __forceinline__ bool has_to_ask(prem_courier *c) {
  bool asks = false;
  for (int32_t s = c->source_count; s < c->stream_count; ++s) {
    prem_producer *producer = &c->streams[s].producer;
    asks |= !producer->is_queue && producer->handed_on != producer->asked_for;
    producer->asked_for = producer->handed_on;
  }
  return asks;
}

/** Ask it: a look behind what was handed on, in the one order of both sides. One lane. */
__device__ __forceinline__ void ask_what_is_held(prem_courier *c) {
  if (!has_to_ask(c))
    return;
  prem_system_fence_ordered();
  ++*(volatile uint32_t *)&asked;
}

/** What a lane has heard of its stream. */
__device__ __forceinline__ void stream_hear(prem_courier *c, int32_t lane, uint64_t word,
                                            bool is_answered) {
  if (lane < STREAMS || lane - STREAMS >= c->stream_count)
    return;
  prem_stream *stream = &c->streams[lane - STREAMS];
  stream->consumer.seen = stream->producer.seen = word;
  if (is_answered)
    stream->producer.settled = stream->producer.asked_for;
}

/** What a lane has heard of the host. */
__device__ __forceinline__ void word_hear(prem_courier *c, int32_t lane, uint64_t word) {
  if (lane == BASE)
    c->base_ns = (int64_t)word;
  if (lane == WISH)
    c->wish = word;
  if (lane == NEWEST)
    c->newest = word;
  if (lane == REQUEST)
    c->request = *(volatile int32_t *)&is_silent ? (uint64_t)PREM_COURIER_DRAIN : word;
}

/** What the lanes have heard, for its decisions. One warp. */
__device__ __forceinline__ void words_hear(prem_courier *c, int32_t lane, uint64_t word,
                                           bool is_answered) {
  stream_hear(c, lane, word, is_answered);
  word_hear(c, lane, word);
  __syncwarp();
}

/** Decide. One warp.
 *  @param completed  hyperperiods that are over, by what `has_over` says has changed
 *  @param tells      and tell the host
 *  @return whether the session is over; in `*wake_ns` when something will be due. */
__device__ __forceinline__ bool step(prem_courier *c, int32_t lane, bool has_over,
                                     int64_t completed, bool tells, int64_t s_ns,
                                     int64_t *wake_ns) {
  bool is_done = false;
  if (lane == 0) {
    c->has_over = has_over;
    c->completed_now = completed;
    *wake_ns = prem_courier_decide(c, prem_clock_ns() - s_ns, tells);
    is_done = is_over(c);
    ask_what_is_held(c);
  }
  *wake_ns = __shfl_sync(WHOLE_WARP, (long long)*wake_ns, 0);
  return __any_sync(WHOLE_WARP, is_done);
}

/** A frame that starts a hyperperiod is asked for before anything else. One lane. */
__device__ __forceinline__ void trigger_bring(const prem_courier *c, uint64_t filled) {
  const prem_stream *trigger = &c->streams[c->trigger];
  const uint64_t number = trigger->consumer.first;
  if (filled >> PREM_CHANNEL_SLOT_BITS == number + 1) /* of several it is not the next */
    begin_to_bring(c, trigger, (int32_t)(filled & ((1u << PREM_CHANNEL_SLOT_BITS) - 1)), number);
}

/** Has the trigger's word changed? Its frame can be brought while the listener looks once more. One
 *  warp. */
__device__ __forceinline__ bool trigger_look(const prem_courier *c, int32_t lane,
                                             uint64_t *brought) {
  const uint64_t seen = __shfl_sync(WHOLE_WARP, *(volatile unsigned long long *)&trigger_seen, 0);
  if (seen == *brought)
    return false;
  prem_block_fence();
  *brought = seen;
  if (lane == 0)
    trigger_bring(c, seen);
  __syncwarp();
  return true;
}

/** Until the listener has looked for the first time. @return false: the courier leaves. One warp.
 */
__device__ __forceinline__ bool first_look_await(void) {
  bool is_there = false, leaves = false;
  while (!is_there && !leaves) {
    is_there = __any_sync(WHOLE_WARP, *(volatile uint32_t *)&answered != 0);
    leaves = __any_sync(WHOLE_WARP, *(volatile int32_t *)&is_leaving != 0);
  }
  return is_there;
}

/** What the decider, a lane each, knows of the host's words, and what it has left to do. */
struct decided {
  uint64_t known;   /* a lane's word, when it was last decided by it */
  uint64_t brought; /* the trigger's, whose frame is on its way */
  int64_t wake_ns;  /* when something will be due */
  bool has_over;    /* jobs are over that only prem_courier_show() has looked at */
  int64_t rest_ns;  /* when all is decided, at the latest. INT64_MAX: nothing is left; */
  int64_t tell_ns;  /* when the host is told what has changed, likewise */
  bool prepares;    /* the next hyperperiod may be prepared now, and was not tried yet; */
  bool lacks_slots; /* it could not be: a result has no slot */
};

/** How long something may wait that nobody waits for. */
constexpr int64_t WAIT_NS = 20000;

/** Has an input given all its slots to jobs? The host may wait for one. One warp. */
__device__ __forceinline__ bool is_short_of_slots(const prem_courier *c, int32_t lane) {
  const prem_stream *source = &c->streams[lane < c->source_count ? lane : 0];
  return __any_sync(WHOLE_WARP, lane < c->source_count &&
                                    source->next - source->oldest >= source->port.buffers);
}

/** Is a frame that begins a hyperperiod all that has to be decided for it, beside its results'
 *  slots? */
__device__ __forceinline__ bool is_simple(const prem_courier *c) {
  return c->source_count == 1 && !c->leaves_out_jobs && c->version_count == 0;
}

/** Have all results of the hyperperiods that have begun their slots, and is there no frame that
 *  begins another one? One warp. */
__device__ __forceinline__ bool is_settled(const prem_courier *c, int32_t lane) {
  const prem_stream *stream = &c->streams[lane < c->stream_count ? lane : 0];
  const bool is_open =
      lane < c->stream_count && (stream->next < c->begun * stream->jobs ||
                                 (lane == c->trigger && prem_channel_has_new(&stream->consumer)));
  return !__any_sync(WHOLE_WARP, is_open);
}

/** Is there anything to do? Only what others have written is looked at here, without order: this is
 *  where the decider waits. One warp. */
__device__ __forceinline__ bool has_something(const prem_courier *c, int32_t lane,
                                              const decided &own, int64_t now_ns) {
  const uint64_t word = *(const volatile uint64_t *)&heard[lane];
  const bool is_answered =
      *(const volatile uint32_t *)&answered == *(const volatile uint32_t *)&asked;
  const bool is_alarm =
      (*(const volatile int32_t *)&is_leaving | *(const volatile int32_t *)&is_silent) != 0;
  const bool has_come = *(const volatile uint64_t *)&trigger_seen != own.brought;
  const bool is_due = now_ns >= own.wake_ns || now_ns >= own.rest_ns || now_ns >= own.tell_ns;
  return __any_sync(WHOLE_WARP,
                    is_alarm || has_come || is_due || ahead_look() == AHEAD_BEGUN ||
                        is_news(c, lane, own.lacks_slots, word != own.known, is_answered));
}

/** Tell the host what has changed. One warp. */
__device__ __forceinline__ void host_tell(prem_courier *c, int32_t lane, decided *own) {
  if (lane == 0)
    prem_courier_tell(c);
  own->tell_ns = INT64_MAX;
  __syncwarp();
}

/** Jobs are over: show their results. The rest can be decided while the host looks at them. One
 *  warp. */
__device__ __forceinline__ void over_show(prem_courier *c, int32_t lane, int64_t now_ns,
                                          decided *own) {
  int64_t wake_ns = 0;
  if (lane == 0) {
    prem_courier_show(c, now_ns);
    results_go_on(c);
    if (ahead.is_used) /* the next frame may come before the rest is decided */
      ask_what_is_held(c);
    wake_ns = c->wake_ns;
  }
  own->wake_ns = __shfl_sync(WHOLE_WARP, (long long)wake_ns, 0);
  own->has_over = true;
  own->rest_ns = now_ns;
}

/** Does a frame begin a hyperperiod now? It goes before all that is left to do. One warp. */
__device__ __forceinline__ bool begins_now(const prem_courier *c, int32_t lane, uint64_t word,
                                           const decided &own) {
  const bool is_there = c->trigger >= 0 && lane == STREAMS + c->trigger && word != own.known;
  return __any_sync(WHOLE_WARP, is_there) && !c->has_last &&
         c->begun - c->completed < OPEN_HYPERPERIODS;
}

/** A hyperperiod has begun: when the rest is decided. That can wait for the blocks, unless a result
 *  waits for a slot, or another frame has come. One warp. */
__device__ __forceinline__ int64_t rest_after_begin(const prem_courier *c, int32_t lane,
                                                    bool begins, int64_t now_ns) {
  return __any_sync(WHOLE_WARP, begins) && is_settled(c, lane) ? now_ns + WAIT_NS : now_ns;
}

/** A frame begins a hyperperiod for which nothing else has to be decided: the decider looks at the
 *  blocks first, and decides the rest when they are done; the host can be told of those before
 *  while they work. One warp. */
__device__ __forceinline__ void frame_start(prem_courier *c, int32_t lane, uint64_t word,
                                            bool is_answered, int64_t s_ns, decided *own) {
  words_hear(c, lane, word, is_answered);
  int64_t wake_ns = 0, now_ns = 0;
  bool begins = false;
  if (lane == 0) {
    now_ns = prem_clock_ns() - s_ns;
    begins = prem_courier_start(c, now_ns);
    wake_ns = c->wake_ns;
  }
  __syncwarp();
  own->wake_ns = __shfl_sync(WHOLE_WARP, (long long)wake_ns, 0);
  now_ns = __shfl_sync(WHOLE_WARP, (long long)now_ns, 0);
  own->rest_ns = rest_after_begin(c, lane, begins, now_ns);
  own->prepares = true;
  if (own->rest_ns > now_ns && own->tell_ns < INT64_MAX)
    host_tell(c, lane, own);
}

/** The listener has begun a hyperperiod, or is about to: catch up with it. What of its results has
 *  several jobs waits for the decider. One warp. @return whether there was one. */
__device__ __forceinline__ bool begun_take(prem_courier *c, int32_t lane, int64_t now_ns,
                                           decided *own) {
  const uint64_t word = *(const volatile uint64_t *)&ahead.trigger_word;
  bool has_begun = false;
  if (lane == 0 && ahead_look() >= AHEAD_CLAIMED && claimed_await() == AHEAD_BEGUN) {
    c->now_ns = now_ns;
    catch_up(c);
    step_versions(c); /* what the next one finds */
    grant_slots(c);
    has_begun = true;
  }
  if (!__any_sync(WHOLE_WARP, has_begun))
    return false;
  __syncwarp();
  if (lane == STREAMS + c->trigger)
    own->known = word;
  own->wake_ns = __shfl_sync(WHOLE_WARP, (long long)c->wake_ns, 0);
  own->rest_ns = min((long long)own->rest_ns, (long long)rest_after_begin(c, lane, true, now_ns));
  own->prepares = true;
  return true;
}

/** Prepare the next hyperperiod, if that is not done yet: by what the host has said until now, of
 *  slots that it gave back above all. What of that has to be decided stays news. One warp. */
__device__ __forceinline__ void next_prepare(prem_courier *c, int32_t lane, said when,
                                             decided *own) {
  if (!own->prepares || !ahead.is_used)
    return;
  bool is_answered;
  const uint64_t word = hear(lane, when, &is_answered);
  words_hear(c, lane, word, __all_sync(WHOLE_WARP, is_answered));
  const bool lacks_slots = lane == 0 && prepare_next(c) == LACKS_SLOTS;
  own->lacks_slots = __any_sync(WHOLE_WARP, lacks_slots);
  own->prepares = false;
  __syncwarp();
}

/** All that is due, and what was left. One warp. @return whether the session is over. */
__device__ __forceinline__ bool rest_decide(prem_courier *c, int32_t lane, uint64_t word,
                                            bool is_answered, int64_t now_ns, int64_t s_ns,
                                            decided *own) {
  const int64_t completed = own->has_over ? rounds_look(c, lane) : c->completed;
  /* of two hyperperiods the host is told before a third's end has to be kept */
  const bool tells = c->trigger < 0 || now_ns >= own->tell_ns || completed - c->kept > 1 ||
                     is_short_of_slots(c, lane);
  words_hear(c, lane, word, is_answered);
  const bool is_over = step(c, lane, own->has_over, completed, tells, s_ns, &own->wake_ns);
  own->has_over = false;
  own->rest_ns = INT64_MAX;
  own->tell_ns = tells ? INT64_MAX : min((long long)own->tell_ns, (long long)(now_ns + WAIT_NS));
  own->prepares = true;
  return is_over;
}

/** The decider, until the session is over. One warp. */
__device__ void serve(const prem_courier_launch &launch, int32_t lane, int64_t s_ns) {
  enum { BEAT_NS = 2000 };
  prem_courier *c = own_courier;
  const said when = said_at(c, lane);
  decided own = {0, 0, INT64_MIN, false, INT64_MAX, INT64_MAX, false, false};
  int64_t beat_ns = 0;
  for (bool is_over = false; !is_over;) {
    const int64_t now = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
    if (lane == 0 && now - beat_ns > BEAT_NS) {
      *(volatile uint64_t *)launch.beat = (uint64_t)now;
      beat_ns = now;
    }
    if (c->completed < c->begun && blocks_look(c, lane)) {
      /* Of the hyperperiod that the listener begins, too: who sees its end sees it claimed. */
      begun_take(c, lane, now - s_ns, &own);
      over_show(c, lane, now - s_ns, &own);
    }
    if (!has_something(c, lane, own, now - s_ns)) {
      next_prepare(c, lane, when, &own);
      continue;
    }
    if (__any_sync(WHOLE_WARP, *(volatile int32_t *)&is_leaving != 0))
      return;
    if (begun_take(c, lane, now - s_ns, &own) || trigger_look(c, lane, &own.brought))
      continue;
    bool is_answered;
    const uint64_t word = hear(lane, when, &is_answered);
    const bool begins = begins_now(c, lane, word, own);
    own.known = word;
    is_answered = __all_sync(WHOLE_WARP, is_answered);
    if (begins && is_simple(c)) {
      frame_start(c, lane, word, is_answered, s_ns, &own);
    } else {
      if (!begins) /* a frame may come meanwhile */
        next_prepare(c, lane, when, &own);
      is_over = rest_decide(c, lane, word, is_answered, now - s_ns, s_ns, &own);
    }
  }
}

/** The decider's part: from the session's begin to its end. One warp. */
__device__ __forceinline__ void decide_all(const prem_courier_launch &launch, int32_t lane) {
  int64_t s_ns = 0;
  if (lane == 0)
    s_ns = session_begin(launch);
  s_ns = __shfl_sync(WHOLE_WARP, (long long)s_ns, 0);
  if (lane == 0) {
    zero_ns = s_ns;
    ahead_set_up(own_courier);
    prem_block_fence();
    *(volatile int32_t *)&is_serving = 1;
  }
  __syncwarp();
  if (s_ns != 0 && first_look_await())
    serve(launch, lane, s_ns);
  if (lane == 0) {
    *(volatile int32_t *)&is_closing = 1;
    carry_end();
    order.row_bytes = 0;
    prem_barrier_arrive(&is_ordered);
    prem_word_set_far(&launch.talk->left, 1);
  }
}

/** Until the session has begun: what never changes is there then. One warp. */
__device__ __forceinline__ void serving_await(void) {
  enum { NAP_NS = 200 };
  while (!__any_sync(WHOLE_WARP, *(volatile int32_t *)&is_serving != 0))
    __nanosleep(NAP_NS);
  prem_block_fence();
}

__global__ void __launch_bounds__(PREM_COURIER_THREADS, 5) /* 96 registers: room for blocks */
    courier(const __grid_constant__ prem_courier_launch launch) {
  const int32_t thread = (int32_t)threadIdx.x, lane = thread & 31;
  image_take(launch);
  if (thread == 0) {
    prem_barrier_init(&is_ordered);
    prem_barrier_init(&is_carried);
    orders = answered = 0;
    asked = 1;
    is_carrying = false;
    is_serving = is_closing = is_leaving = is_silent = 0;
    trigger_seen = 0;
    note_stream = -1;
  }
  if (thread < 32)
    heard[thread] = 0;
  if (thread < PREM_DEVICE_STREAMS)
    handing.promises[thread].word = 0;
  __syncthreads();
  switch (thread / 32) {
  case DECIDER:
    decide_all(launch, lane);
    break;
  case KEEPER:
    serving_await();
    if (ahead.shows_results)
      results_show(lane);
    else
      keep_promises(lane);
    break;
  case LISTENER:
    serving_await();
    listen(launch, lane);
    break;
  default:
    carry(lane);
  }
}

} // namespace

extern "C" const void *prem_courier_kernel(void) {
  return (const void *)&courier;
}
