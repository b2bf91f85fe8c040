/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The courier of a live session on the GPU: one block beside the executive, which decides by the
 * GPU's own clock what prem_courier_decide() says.
 *
 * Its first warp looks at all words at the same time, a lane each: those of the host over the bus,
 * those of the blocks in L2. Where something has changed, or an instant has come, its first lane
 * decides. The second warp hands results on at their instants: a look at the host's words can take
 * as long as a copy that is under way. The others sleep at a barrier until there is a frame to
 * bring over.
 *
 * It ends when all results are shown, when the session is stopped, or when the host is silent.
 */
#define PREM_CARRIES_FRAMES
#include "runtime/core/courier.h"

#include "runtime/cuda/device/engine.cuh"
#include "runtime/cuda/device/executive.h"

namespace {

constexpr uint32_t WHOLE_WARP = 0xffffffffu;
constexpr int32_t CARRIERS = PREM_COURIER_THREADS - 64; /* threads that bring frames over */

/** A frame to be brought over; `row_bytes` 0: the carriers leave. */
struct carry_order {
  const unsigned char *from;
  unsigned char *to;
  const int64_t *from_pitch, *to_pitch;
  const int32_t *shape;
  int32_t rows, row_bytes;
  const prem_note *note; /* the host's, which comes with it; NULL: it goes to the host */
};

__shared__ carry_order order;
__shared__ uint64_t is_ordered; /* mbarriers: the courier has written `order`; */
__shared__ uint64_t is_carried; /* all carriers have done it */
__shared__ uint32_t orders;
__shared__ int64_t zero_ns; /* the courier's time 0 */
__shared__ int32_t is_closing;

/** A result that is handed on at its instant. */
struct promised_word {
  uint64_t word;         /* 0: none */
  uint64_t *to, *behind; /* [slot]: prem_stream_face */
  int64_t at_ns, behind_ns;
};
__shared__ promised_word promises[PREM_DEVICE_STREAMS];
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

__device__ void carry_row(const unsigned char *from, unsigned char *to, int32_t bytes,
                          int32_t first, int32_t step) {
  const int32_t pieces = bytes / 16;
  for (int32_t i = first; i < pieces; i += step)
    ((int4 *)to)[i] = prem_load_fresh((const int4 *)from + i);
  for (int32_t at = 16 * pieces + first; at < bytes; at += step)
    to[at] = *(const volatile unsigned char *)(from + at);
}

/** Rows one behind the other, or side by side where they are short. */
__device__ void carry_rows(int32_t thread) {
  const uint32_t row_pieces = (uint32_t)(order.row_bytes + 15) / 16;
  const uint32_t lanes = min(row_pieces, (uint32_t)CARRIERS); /* of a row */
  const uint32_t rows_at_once = (uint32_t)CARRIERS / lanes, first = (uint32_t)thread / lanes;
  const uint32_t across = (uint32_t)order.shape[2], planes = (uint32_t)order.shape[1];
  for (uint32_t row = first; row < (uint32_t)order.rows && first < rows_at_once;
       row += rows_at_once) {
    const uint32_t i2 = row % across, i1 = row / across % planes, i0 = row / across / planes;
    carry_row(order.from + i0 * order.from_pitch[0] + i1 * order.from_pitch[1] +
                  i2 * order.from_pitch[2],
              order.to + i0 * order.to_pitch[0] + i1 * order.to_pitch[1] + i2 * order.to_pitch[2],
              order.row_bytes, (int32_t)((uint32_t)thread % lanes), (int32_t)lanes);
  }
}

/** The carriers' part. A frame's note comes at the same time, by the last of them. */
__device__ void carry(int32_t thread) {
  enum { NOTE_WORDS = sizeof(prem_note) / 8 };
  const int32_t word = CARRIERS - 1 - thread;
  for (uint32_t number = 0;; ++number) {
    barrier_await(&is_ordered, number);
    if (order.row_bytes == 0)
      return;
    if (order.note != nullptr) /* the courier has seen that it is there */
      prem_fence_far();
    if (order.note != nullptr && word < NOTE_WORDS)
      ((uint64_t *)&own_note)[word] = prem_system_load_relaxed((const uint64_t *)order.note + word);
    if (order.rows == 1)
      carry_row(order.from, order.to, order.row_bytes, thread, CARRIERS);
    else
      carry_rows(thread);
    if (order.note != nullptr)
      prem_fence_async(); /* bulk copies of blocks will fetch it */
    /* the courier's release carries it to others, when these have met it */
    prem_meet(CARRIERS);
    if (thread == 0)
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
  promised_word *of = &promises[sink - c->streams];
  of->to = &sink->producer.channel->filled.value;
  of->behind = sink->face->behind;
  *(volatile int64_t *)&of->at_ns = zero_ns + at_ns;
  prem_fence_far();
  *(volatile uint64_t *)&of->word = word;
}

/** @return how long behind its instant, which has come. */
__device__ int64_t promise_kept(const prem_courier *c, prem_stream *sink) {
  promised_word *of = &promises[sink - c->streams];
  while (prem_look(&of->word) != 0) {
  }
  __threadfence_block();
  sink->producer.settled = sink->producer.next;
  sink->producer.has_published = true;
  if (!sink->producer.is_queue) /* what is held was looked at before */
    sink->producer.seen = prem_word_far_ordered(&sink->producer.channel->passed.value);
  return *(volatile int64_t *)&of->behind_ns;
}

} // namespace

#include "runtime/core/courier_steps.h"

namespace {

/* ---- instants ------------------------------------------------------------------------------- */

/** The second warp, a lane for each stream: write the words of results at their instants. */
__device__ void keep_promises(int32_t lane) {
  enum { NEAR_NS = 2000, NAP_NS = 400 };
  promised_word *own = &promises[lane < PREM_DEVICE_STREAMS ? lane : 0];
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
      const int64_t behind_ns = prem_clock_await(at_ns) - at_ns;
      prem_word_set_far_relaxed(own->to, word);
      prem_word_set_far_relaxed(
          &own->behind[word & ((1u << PREM_CHANNEL_SLOT_BITS) - 1)],
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

/** Jobs of a task that are over, from `over` on. One lane. */
__device__ __forceinline__ int64_t jobs_over_from(const prem_device_leader *leader, int64_t over) {
  for (;;) {
    const int64_t round = over >> leader->shift;
    const int64_t word = over - (round << leader->shift);
    bool is_over = true;
    for (int32_t part = 0; part < PREM_DEVICE_PARTS; ++part) {
      if (leader->blocks[part] == 0)
        continue;
      const prem_device_end *end = &leader->ends[((int64_t)part << leader->shift) + word];
      const uint32_t needed = (uint32_t)(round + 1) * (uint32_t)leader->blocks[part];
      is_over = is_over && (int32_t)(prem_load_relaxed(&end->told) - needed) >= 0;
    }
    if (!is_over)
      return over;
    ++over;
  }
}

/** The lanes look at the tasks. @return whether a job is over. One warp. */
__device__ __forceinline__ bool blocks_look(const prem_courier *c, int32_t lane) {
  bool has_changed = false;
  for (int32_t t = lane; t < c->task_count; t += 32)
    has_changed |= prem_courier_see(c, t, jobs_over_from(&own_leaders[t], c->over_now[t]));
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

/** Has a sampling output been published since this was asked? One lane. */
__device__ __forceinline__ bool publishes(prem_courier *c) {
  bool has_published = false;
  for (int32_t s = c->source_count; s < c->stream_count; ++s) {
    has_published |= c->streams[s].producer.has_published && !c->streams[s].producer.is_queue;
    c->streams[s].producer.has_published = false;
  }
  return has_published;
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

/** Is there something to decide when a lane's word has changed? That a slot is free again only
 * where a job waits for one. */
__device__ __forceinline__ bool is_news(const prem_courier *c, int32_t lane) {
  if (lane < STREAMS)
    return lane == LEAVE || lane == REQUEST;
  return lane - STREAMS < c->source_count || c->streams[lane - STREAMS].is_short;
}

/** Decide by the host's words, a lane each. One warp.
 *  @return whether the session is over; in `*wake_ns` when something will be due. */
__device__ __forceinline__ bool step(prem_courier *c, int32_t lane, uint64_t word, bool is_silent,
                                     bool has_over, int64_t s_ns, int64_t *wake_ns) {
  if (lane >= STREAMS && lane - STREAMS < c->stream_count) {
    prem_stream *stream = &c->streams[lane - STREAMS];
    stream->consumer.seen = stream->producer.seen = word;
  }
  const uint64_t base = __shfl_sync(WHOLE_WARP, word, BASE);
  const uint64_t request = __shfl_sync(WHOLE_WARP, word, REQUEST);
  const uint64_t wish = __shfl_sync(WHOLE_WARP, word, WISH);
  const uint64_t newest = __shfl_sync(WHOLE_WARP, word, NEWEST);
  const int64_t completed = has_over ? rounds_look(c, lane) : 0;
  __syncwarp();
  bool is_done = false, has_published = false;
  if (lane == 0) {
    c->base_ns = (int64_t)base;
    c->wish = wish;
    c->newest = newest;
    c->has_over = has_over;
    c->completed_now = has_over ? completed : c->completed;
    c->request = is_silent ? (uint64_t)PREM_COURIER_DRAIN : request;
    *wake_ns = prem_courier_decide(c, prem_clock_ns() - s_ns);
    is_done = is_over(c);
    has_published = publishes(c);
  }
  if (__any_sync(WHOLE_WARP, has_published)) /* before the next look at what is held */
    prem_system_fence_ordered();
  *wake_ns = __shfl_sync(WHOLE_WARP, (long long)*wake_ns, 0);
  return __any_sync(WHOLE_WARP, is_done);
}

/** The frame that starts a hyperperiod is asked for before anything else. One lane. */
__device__ __forceinline__ void trigger_bring(const prem_courier *c, uint64_t filled) {
  const prem_stream *trigger = &c->streams[c->trigger];
  const uint64_t number = trigger->consumer.first;
  if (filled >> PREM_CHANNEL_SLOT_BITS == number + 1) /* of several it is not the next */
    begin_to_bring(c, trigger, (int32_t)(filled & ((1u << PREM_CHANNEL_SLOT_BITS) - 1)), number);
}

/** So often in a row blocks may be answered before the host is heard. */
constexpr int32_t MOST_UNHEARD = 2;

/** What a lane knows of its word of the host. */
struct heard_word {
  const void *at; /* nullptr: it has none */
  uint64_t value;
  bool has_changed; /* at the last look */
  bool is_seen;     /* what the host did before it wrote it is seen, too */
};

/** The host's words have come: answer it, and see that it lives. One warp.
 *  @return false: the courier leaves. */
__device__ __forceinline__ bool host_hear(const prem_courier_launch &launch, int32_t lane,
                                          uint64_t fresh, int64_t now, heard_word *own,
                                          int64_t *heard_ns) {
  own->has_changed = fresh != own->value;
  own->is_seen &= !own->has_changed;
  own->value = fresh;
  const uint32_t stops = prem_load_relaxed(&launch.state->abort);
  const bool is_asked = __shfl_sync(WHOLE_WARP, own->has_changed, PING);
  const uint64_t ping = __shfl_sync(WHOLE_WARP, own->value, PING);
  const uint64_t leave = __shfl_sync(WHOLE_WARP, own->value, LEAVE);
  if (__shfl_sync(WHOLE_WARP, own->has_changed, HOST_BEAT))
    *heard_ns = now;
  if (lane == 0) {
    *(volatile uint64_t *)launch.beat = (uint64_t)now;
    if (is_asked)
      answer(launch.talk, ping);
    if (leave == PREM_COURIER_STOPS_ALL)
      atomicExch(&launch.state->abort, 1u);
  }
  return !__any_sync(WHOLE_WARP, stops != 0) && leave == PREM_COURIER_STAYS;
}

/**
 * Look once more, where a trigger's frame or a request has come: the host hands on what belongs to
 * a trigger's frame before it, wishes and arguments as well, and all frames before it asks for the
 * end; of two looks at the same time either can be the earlier one. So what comes last stays as it
 * was seen first. One warp.
 */
__device__ __forceinline__ void host_hear_again(const prem_courier *c, int32_t lane,
                                                heard_word *own) {
  const int32_t trigger_lane = c->trigger < 0 ? -1 : STREAMS + c->trigger;
  const bool begins = trigger_lane >= 0 && __shfl_sync(WHOLE_WARP, own->has_changed, trigger_lane);
  const uint64_t filled = __shfl_sync(WHOLE_WARP, own->value, begins ? trigger_lane : 0);
  if (!begins && !__shfl_sync(WHOLE_WARP, own->has_changed, REQUEST))
    return;
  if (begins && lane == 0)
    trigger_bring(c, filled);
  __syncwarp();
  const uint64_t again = own->at != nullptr ? prem_system_load_acquire(own->at) : 0;
  if (lane >= WISH && lane != trigger_lane)
    own->value = again;
  own->is_seen = true;
}

/** One warp, until the session is over. */
__device__ void serve(const prem_courier_launch &launch, int32_t lane, int64_t s_ns) {
  prem_courier *c = own_courier;
  heard_word own = {host_word_at(launch, lane), 0, false, true};
  int32_t unheard = 0;
  int64_t wake_ns = INT64_MIN, heard_ns = prem_clock_ns();
  for (bool is_over = false; !is_over;) {
    bool is_silent = false;
    /* It takes a microsecond to come, in which the blocks are looked at twice. */
    const uint64_t fresh = own.at != nullptr ? prem_system_load_relaxed(own.at) : 0;
    const bool has_over = blocks_look(c, lane) || blocks_look(c, lane);
    if (has_over && unheard < MOST_UNHEARD) {
      ++unheard;
    } else {
      const int64_t now = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
      unheard = 0;
      if (!host_hear(launch, lane, fresh, now, &own, &heard_ns))
        return;
      is_silent = launch.host_silence_ns > 0 && now - heard_ns > launch.host_silence_ns;
      const bool is_news_here = own.has_changed && is_news(c, lane);
      if (!__any_sync(WHOLE_WARP, is_news_here) && !is_silent && !has_over && now - s_ns < wake_ns)
        continue;
      host_hear_again(c, lane, &own);
    }
    if (has_over || !__all_sync(WHOLE_WARP, own.is_seen))
      prem_fence_far();
    own.is_seen = true;
    __syncwarp();
    is_over = step(c, lane, own.value, is_silent, has_over, s_ns, &wake_ns);
  }
}

__global__ void __launch_bounds__(PREM_COURIER_THREADS, 1)
    courier(const __grid_constant__ prem_courier_launch launch) {
  const int32_t thread = (int32_t)threadIdx.x;
  image_take(launch);
  if (thread == 0) {
    prem_barrier_init(&is_ordered);
    prem_barrier_init(&is_carried);
    orders = 0;
    is_carrying = false;
    is_closing = 0;
    note_stream = -1;
  }
  if (thread < PREM_DEVICE_STREAMS)
    promises[thread].word = 0;
  __syncthreads();
  if (thread >= 64) {
    carry(thread - 64);
    return;
  }
  if (thread >= 32) {
    keep_promises(thread - 32);
    return;
  }
  int64_t s_ns = 0;
  if (thread == 0)
    s_ns = session_begin(launch);
  s_ns = __shfl_sync(WHOLE_WARP, (long long)s_ns, 0);
  if (thread == 0)
    zero_ns = s_ns;
  if (s_ns != 0)
    serve(launch, thread, s_ns);
  if (thread == 0) {
    *(volatile int32_t *)&is_closing = 1;
    order.row_bytes = 0;
    prem_barrier_arrive(&is_ordered);
    prem_word_set_far(&launch.talk->left, 1);
  }
}

} // namespace

extern "C" const void *prem_courier_kernel(void) {
  return (const void *)&courier;
}
