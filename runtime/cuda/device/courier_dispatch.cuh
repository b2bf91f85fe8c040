/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier: the dispatcher, a warp, which looks at the words of the host and of the blocks,
 * and decides. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_DISPATCH_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_DISPATCH_CUH

#include "runtime/cuda/device/courier_keep.cuh"

namespace {

/** What a lane of the dispatcher knows of its word of the host; and what all of them have left to
 *  do. */
struct dispatch {
  const void *at;        /* NULL: it has none */
  uint64_t known;        /* as it was looked at last; */
  uint64_t heard;        /* as it stands in the courier; */
  uint64_t decided;      /* as it stood there when all was last decided */
  bool is_newly_settled; /* what the host holds was looked at behind the last result since then */
  bool is_silent;        /* nothing is heard of the host */
  bool has_over;         /* jobs are over that only prem_courier_show() has looked at */
  bool prepares;         /* the next hyperperiod may be prepared, and was not yet */
  int32_t line_values;   /* of the lines of a trigger's frames: so many are looked at */
  int32_t trigger_lane;  /* whose word is the trigger's */
  bool has_told;         /* blocks have been told first of the hyperperiod that a frame begins, */
  int64_t told_ns;       /* at that instant */
  int64_t wake_ns;       /* when something will be due */
  int64_t rest_ns;       /* when all is decided, at the latest. INT64_MAX: nothing is left; */
  int64_t tell_ns;       /* when the host is told what has changed, likewise */
  int64_t heard_ns;      /* when the host was heard of */
  int64_t beat_ns;       /* when it was told that the courier lives */
  blocks_look blocks;
};

/** How long something may wait that nobody waits for. */
constexpr int64_t WAIT_NS = 20000, BEAT_NS = 2000;

/* ---- looking --------------------------------------------------------------------------------- */

/** A lane's two values of the line that the trigger's next frame will be told by. */
struct line_look {
  ulonglong2 low, high;
};

__device__ __forceinline__ uint64_t line_value(const ulonglong2 &words) {
  return (words.x & UINT32_MAX) | words.y << 32;
}

__device__ __forceinline__ const uint64_t *line_words(const prem_courier_launch &launch,
                                                      const prem_courier *c) {
  return launch.lines[c->streams[c->trigger].consumer.first % PREM_MAX_LIVE_BUFFERS].words;
}

/** A frame that its line has goes to its slot. One warp. */
__device__ __forceinline__ void line_store(const prem_courier *c, const line_look &line,
                                           unsigned char *to, int32_t bytes, int32_t lane) {
  const int32_t head = line_head(c);
#pragma unroll
  for (int32_t half = 0; half < 2; ++half) {
    const int32_t at = 8 * (lane + 32 * half - head);
    const uint64_t value = line_value(half == 0 ? line.low : line.high);
    if (at >= 0 && at + 8 <= bytes)
      *(uint64_t *)(to + at) = value;
    else
      for (int32_t i = 0; at >= 0 && at + i < bytes; ++i)
        to[at + i] = (unsigned char)(value >> 8 * i);
  }
}

/** A short frame that its line has not comes over. One warp. */
__device__ __noinline__ void row_bring(const unsigned char *from, unsigned char *to, int32_t bytes,
                                       int32_t lane) {
  row_pieces pieces;
  row_load(from, bytes, lane, &pieces);
  row_store(to, bytes, lane, pieces);
}

/** A frame of the trigger has come, the next one: bring it over, if it is not there. One warp. */
__device__ __forceinline__ void frame_bring(const prem_courier *c, const line_look &line,
                                            int32_t slot, int32_t lane) {
  const prem_stream *trigger = &c->streams[c->trigger];
  prem_device_carry *carry = &own_carries[c->trigger];
  const uint64_t number = trigger->consumer.first;
  const uint64_t value = line_value(line.low);
  const int32_t bytes =
      line_bytes(__shfl_sync(WHOLE_WARP, (unsigned long long)value, LINE_FRAME));
  const bool is_there = carry->brought[slot] == number + 1;
  const bool is_short = is_short_row(carry);
  __syncwarp();
  if (is_there)
    return;
  if (!is_short) { /* its note comes at the same time */
    if (lane == 0)
      begin_to_bring(c, trigger, slot, number);
    __syncwarp();
    return;
  }
  unsigned char *to = carry->device + slot * carry->device_slot_bytes;
  if (carry->host != nullptr && bytes == carry->row_bytes)
    line_store(c, line, to, bytes, lane);
  else if (carry->host != nullptr)
    row_bring(carry->host + slot * carry->host_slot_bytes, to, carry->row_bytes, lane);
  prem_fence_async(); /* bulk copies of blocks will fetch it */
  if (lane == 0) {
    carry_end_of_frame(); /* its note would come behind this one */
    own_note = prem_note{};
    own_note.captured_ns = (int64_t)value;
    carry->brought[slot] = number + 1;
    note_stream = c->trigger;
    note_number = number;
  }
  __syncwarp();
}
static_assert(LINE_CAPTURED == 0, "lane 0 has it");

/** Has the line of the trigger's next frame come, of which so many values were looked at, and the
 *  frame? One warp. */
__device__ __forceinline__ bool is_told(const prem_courier *c, const line_look &line,
                                        uint64_t filled, int32_t lane, int32_t values) {
  const uint64_t number = c->streams[c->trigger].consumer.first;
  const uint64_t frame =
      __shfl_sync(WHOLE_WARP, (unsigned long long)line_value(line.low), LINE_FRAME);
  const int32_t needed = min(line_head(c) + (line_bytes(frame) + 7) / 8, values);
  const bool is_low = line_is_of(line.low.x, number) && line_is_of(line.low.y, number);
  const bool is_high = line_is_of(line.high.x, number) && line_is_of(line.high.y, number);
  const bool is_unused = lane > LINE_FRAME && lane < HOST_WISH;
  return __all_sync(WHOLE_WARP, (is_low || is_unused || lane >= needed) &&
                                    (is_high || lane + 32 >= needed)) &&
         (!line_waits(frame) || filled >> PREM_CHANNEL_SLOT_BITS > number);
}

/** The frame has come that begins the next hyperperiod: blocks are told first. One warp. */
__device__ __forceinline__ void first_tell(const line_look &line, int32_t lane, int64_t s_ns,
                                           dispatch *own) {
  const uint64_t filled = own_courier->streams[own_courier->trigger].consumer.seen;
  const int32_t slot = (int32_t)(filled & ((1u << PREM_CHANNEL_SLOT_BITS) - 1));
  frame_bring(own_courier, line, slot, lane);
  own->told_ns = __shfl_sync(WHOLE_WARP, (long long)(prem_clock_ns() - s_ns), 0);
  bool has_told = false;
  if (lane == 0)
    has_told = prem_courier_tell_first(own_courier, own->told_ns, slot);
  if (lane == 0) {
    stamp_told = prem_clock_ns();
    STAMP(has_told ? 2 : 3, stamp_zero);
  }
  own->has_told = __any_sync(WHOLE_WARP, has_told);
}

/** The host's words have come: answer it, and see that it lives. One warp.
 *  @return false: the courier leaves. */
__device__ __forceinline__ bool host_hear(const prem_courier_launch &launch, int32_t lane,
                                          uint64_t word, uint64_t before, uint32_t stops,
                                          int64_t now, dispatch *own) {
  const uint32_t changed = __ballot_sync(WHOLE_WARP, word != before);
  const uint64_t leave = __shfl_sync(WHOLE_WARP, word, HOST_LEAVE);
  if (changed >> HOST_BEAT & 1)
    own->heard_ns = now;
  own->is_silent = launch.host_silence_ns > 0 && now - own->heard_ns > launch.host_silence_ns;
  if (lane == HOST_PING && (changed >> HOST_PING & 1))
    answer(launch.talk, word);
  if (lane == HOST_LEAVE && leave == PREM_COURIER_STOPS_ALL)
    atomicExch(&launch.state->abort, 1u);
  if (lane == 0 && now - own->beat_ns > BEAT_NS)
    *(volatile uint64_t *)launch.beat = (uint64_t)now;
  if (now - own->beat_ns > BEAT_NS)
    own->beat_ns = now;
  return !__any_sync(WHOLE_WARP, stops != 0) && leave == PREM_COURIER_STAYS;
}

/**
 * Look at the words of the host, over the bus, and at those of the blocks, in L2: all loads are on
 * their way before one is used. What is known then stands in the courier. One warp.
 * @param[out] is_over  a job is over that was not
 * @return false: the courier leaves
 */
__device__ __forceinline__ bool look(const prem_courier_launch &launch, int32_t lane, int64_t s_ns,
                                     dispatch *own, bool *is_over) {
  prem_courier *c = own_courier;
  const bool is_open = c->completed < c->begun;
  if (__any_sync(WHOLE_WARP, has_to_ask(c, lane)))
    prem_system_fence_ordered();
  const int64_t stamp_begin = prem_clock_ns();
  const uint32_t stops = prem_load_relaxed(&launch.state->abort);
  const int32_t values = own->line_values;
  const uint64_t *words = values > 0 ? line_words(launch, c) : nullptr;
  line_look line = {{0, 0}, {0, 0}};
  if (is_open)
    blocks_look_begin(c, lane, &own->blocks);
  const uint64_t word = own->at != nullptr ? prem_system_load_relaxed(own->at) : 0;
  if (lane + 32 < values)
    line.high = prem_system_load_two(words + 2 * (lane + 32));
  if (lane < values) /* the last of them: what follows comes behind it */
    line.low = prem_system_load_two_acquire(words + 2 * lane);
  const int64_t now = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
  *is_over = is_open && blocks_look_end(c, lane, &own->blocks);
  const int64_t stamp_words = prem_clock_ns();
  const uint64_t before = own->known, told = line_value(line.low);
  const uint64_t filled = __shfl_sync(WHOLE_WARP, (unsigned long long)word, own->trigger_lane);
  const bool has_come = values > 0 && is_told(c, line, filled, lane, values);
  own->known = word;
  own->heard = word_as_heard(c, lane, before, word, has_come, told);
  own->is_newly_settled |= has_to_ask(c, lane);
  __syncwarp(); /* all have looked at what the courier has heard */
  word_hear(c, lane, own->heard);
  __syncwarp();
  if (lane == HOST_REQUEST) {
    request_hear(c, own->heard, filled);
    if (own->is_silent)
      c->request = PREM_COURIER_DRAIN;
    own->heard = c->request;
  }
  if (has_come) {
    if (lane == 0) {
      stamp_zero = stamp_words;
      stamp_count(stamps, 0, stamp_words - stamp_begin);
      stamp_count(stamps, 18, stamp_words - stamp_look);
      STAMP(1, stamp_zero);
    }
    first_tell(line, lane, s_ns, own);
  }
  if (__any_sync(WHOLE_WARP, lane >= HOST_REQUEST && word != before))
    prem_system_fence(); /* what others did before they said it is seen */
  __syncwarp();
  return host_hear(launch, lane, word, before, stops, now, own);
}

/* ---- deciding -------------------------------------------------------------------------------- */

/** Does a lane know something that has to be decided? That a slot is free again only where a job
 *  waits for one. */
__device__ __forceinline__ bool is_news(const prem_courier *c, int32_t lane, const dispatch &own) {
  const int32_t stream = lane - HOST_STREAMS;
  const bool has_changed = own.heard != own.decided;
  if (stream < c->source_count)
    return has_changed && (stream >= 0 || lane == HOST_REQUEST);
  return stream < c->stream_count && c->streams[stream].is_short &&
         (has_changed || own.is_newly_settled);
}

/** All was decided by what is known now, or will be soon. */
__device__ __forceinline__ void news_end(dispatch *own) {
  own->decided = own->heard;
  own->is_newly_settled = false;
}

/** Has an input given all its slots to jobs? The host may wait for one. One warp. */
__device__ __forceinline__ bool is_short_of_slots(const prem_courier *c, int32_t lane) {
  const prem_stream *source = &c->streams[lane < c->source_count ? lane : 0];
  return __any_sync(WHOLE_WARP, lane < c->source_count &&
                                    source->next - source->oldest >= source->port.buffers);
}

/** When the rest is decided: that can wait where frames begin hyperperiods, so that the next one
 *  finds the dispatcher looking; unless a job or the host waits for it, a frame is there already,
 *  or it ends. One warp. */
__device__ __forceinline__ int64_t rest_at(const prem_courier *c, int32_t lane, int64_t now_ns) {
  const prem_stream *stream = &c->streams[lane < c->stream_count ? lane : 0];
  const bool is_open =
      lane < c->stream_count && (stream->next < c->begun * stream->jobs ||
                                 (lane == c->trigger && prem_channel_has_new(&stream->consumer)));
  const bool is_urgent = c->trigger < 0 || c->has_last || c->leaves_out_jobs;
  const bool is_short = is_short_of_slots(c, lane);
  return __any_sync(WHOLE_WARP, is_open || is_urgent || is_short) ? now_ns : now_ns + WAIT_NS;
}

/** Jobs are over: show their results. The rest can be decided while the host looks at them. One
 *  warp. */
__device__ __forceinline__ void over_show(prem_courier *c, int32_t lane, int64_t now_ns,
                                          dispatch *own) {
  if (lane == 0)
    prem_courier_show(c, now_ns);
  __syncwarp();
  own->wake_ns = c->wake_ns;
  own->has_over = true;
  own->rest_ns = min((long long)own->rest_ns, (long long)rest_at(c, lane, now_ns));
}

/** Has a frame come that begins a hyperperiod now? It goes before all that is left to do. One warp.
 */
__device__ __forceinline__ bool begins_now(const prem_courier *c, int32_t lane,
                                           const dispatch &own) {
  const bool is_there =
      c->trigger >= 0 && lane == HOST_STREAMS + c->trigger && own.heard != own.decided;
  return __any_sync(WHOLE_WARP, is_there) && !c->has_last &&
         c->begun - c->completed < OPEN_HYPERPERIODS;
}

/** It begins. What is left of the one before is decided next, while blocks work. One warp. */
__device__ __forceinline__ void frame_start(prem_courier *c, int32_t lane, int64_t now_ns,
                                            dispatch *own) {
  if (lane == 0)
    prem_courier_start(c, now_ns);
  __syncwarp();
  news_end(own);
  own->has_told = false;
  own->wake_ns = c->wake_ns;
  /* what is left of the one before is done while blocks work */
  const bool has_left = own->has_over || own->rest_ns != INT64_MAX || own->tell_ns != INT64_MAX;
  own->rest_ns = has_left ? now_ns : rest_at(c, lane, now_ns);
  own->prepares = true;
}

/** All that is due, and what was left. One warp. @return whether the session is over. */
__device__ __forceinline__ bool rest_decide(prem_courier *c, int32_t lane, int64_t now_ns,
                                            dispatch *own) {
  const int64_t completed = own->has_over ? rounds_look(c, lane) : c->completed;
  /* of two hyperperiods the host is told before a third's end has to be kept */
  const bool tells = c->trigger < 0 || now_ns >= own->tell_ns || completed - c->kept > 1 ||
                     is_short_of_slots(c, lane);
  bool is_done = false;
  __syncwarp();
  if (lane == 0) {
    c->has_over = own->has_over;
    c->completed_now = completed;
    prem_courier_decide(c, now_ns, tells);
    is_done = is_over(c);
  }
  __syncwarp();
  news_end(own);
  own->wake_ns = c->wake_ns;
  own->has_over = own->prepares = false;
  own->rest_ns = INT64_MAX;
  own->tell_ns = tells ? INT64_MAX : min((long long)own->tell_ns, (long long)(now_ns + WAIT_NS));
  return __any_sync(WHOLE_WARP, is_done);
}

/** Of a line: a frame that is longer than there is room for stands in none. */
__device__ __forceinline__ int32_t line_values_of(const prem_courier *c) {
  const prem_device_carry *carry = &own_carries[c->trigger];
  const int32_t bytes = is_short_row(carry) && carry->host != nullptr ? carry->row_bytes : 0;
  return line_head(c) + (bytes <= line_room(c) ? (bytes + 7) / 8 : 0);
}

/** Until the session is over. One warp. */
__device__ void serve(const prem_courier_launch &launch, int32_t lane, int64_t s_ns) {
  prem_courier *c = own_courier;
  dispatch own = {};
  own.at = host_word_at(launch, lane);
  own.trigger_lane = c->trigger < 0 ? 0 : HOST_STREAMS + c->trigger;
  own.line_values = c->trigger < 0 ? 0 : line_values_of(c);
  own.wake_ns = INT64_MIN;
  own.rest_ns = own.tell_ns = INT64_MAX;
  own.heard_ns = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
  for (bool is_over = false, has_ended; !is_over;) {
    if (lane == 0)
      stamp_look = prem_clock_ns();
    if (!look(launch, lane, s_ns, &own, &has_ended))
      return;
    if (own.has_told) {
      frame_start(c, lane, own.told_ns, &own);
      if (lane == 0)
        STAMP(4, stamp_zero);
    }
    const int64_t now = __shfl_sync(WHOLE_WARP, (long long)(prem_clock_ns() - s_ns), 0);
    if (has_ended) {
      const int64_t stamp_show = prem_clock_ns();
      if (lane == 0)
        STAMP(8, stamp_told);
      over_show(c, lane, now, &own);
      if (lane == 0)
        STAMP(9, stamp_show);
    }
    const bool begins = begins_now(c, lane, own);
    const bool is_due =
        own.is_silent || now >= own.wake_ns || now >= own.rest_ns || now >= own.tell_ns;
    /* and here all lanes have looked at what the first one may change now */
    const bool has_news = __any_sync(WHOLE_WARP, is_due || is_news(c, lane, own));
    const int64_t stamp_now = prem_clock_ns();
    if (begins) {
      frame_start(c, lane, now, &own);
      if (lane == 0) {
        stamp_told = prem_clock_ns();
        STAMP(5, stamp_now);
      }
    } else if (has_news) {
      is_over = rest_decide(c, lane, now, &own);
      if (lane == 0) {
        STAMP(6, stamp_now);
        STAMP(7, stamp_zero);
      }
    }
    else if (own.prepares) {
      if (lane == 0)
        prem_courier_prepare(c);
      if (lane == 0)
        STAMP(10, stamp_now);
      own.prepares = false;
      __syncwarp();
    }
  }
}

/** The dispatcher's part: from the session's begin to its end. One warp. */
__device__ __forceinline__ void dispatch_all(const prem_courier_launch &launch, int32_t lane) {
  int64_t s_ns = 0;
  if (lane == 0)
    s_ns = session_begin(launch);
  s_ns = __shfl_sync(WHOLE_WARP, (long long)s_ns, 0);
  if (lane == 0) {
    zero_ns = s_ns;
    keeper_set_up(own_courier);
    prem_block_fence();
    *(volatile int32_t *)&is_serving = 1;
  }
  __syncwarp();
  if (s_ns != 0)
    serve(launch, lane, s_ns);
  if (lane == 0) {
    *(volatile int32_t *)&is_closing = 1;
    carry_end();
    order.row_bytes = 0;
    prem_barrier_arrive(&is_ordered);
    prem_word_set_far(&launch.talk->left, 1);
  }
}

} // namespace

#endif
