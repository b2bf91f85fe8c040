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

/** A frame of a trigger has come: all words once more, and at the same time the frame, if it is
 *  short, with its note. One warp.
 *  @param filled  the trigger's word
 *  @param at      where the lane's is; NULL: it has none
 *  @return the lane's word, as it is now */
__device__ __noinline__ uint64_t frame_look(const prem_courier *c, int32_t lane, uint64_t filled,
                                            const void *at) {
  const prem_stream *trigger = &c->streams[c->trigger];
  prem_device_carry *carry = &own_carries[c->trigger];
  const uint64_t number = trigger->consumer.first;
  const int32_t slot = (int32_t)(filled & ((1u << PREM_CHANNEL_SLOT_BITS) - 1));
  const bool is_next = filled >> PREM_CHANNEL_SLOT_BITS == number + 1; /* else it is not the next */
  const bool is_brought = is_next && is_short_row(carry);
  const int32_t bytes = is_brought && carry->host != nullptr ? carry->row_bytes : 0;
  const unsigned char *from = carry->host != nullptr ? carry->host : carry->device;
  row_pieces pieces;
  __syncwarp(); /* one lane has acquired the word; the frame is there for all of them */
  row_load(from + slot * carry->host_slot_bytes, bytes, lane, &pieces);
  uint64_t note_word = 0;
  if (is_brought && lane < NOTE_WORDS)
    note_word =
        prem_system_load_relaxed((const uint64_t *)&trigger->face->channel.note[slot] + lane);
  if (lane == 0 && is_next && !is_brought)
    begin_to_bring(c, trigger, slot, number);
  const uint64_t word = at != nullptr ? prem_system_load_acquire(at) : 0;
  if (!is_brought)
    return word;
  row_store(carry->device + slot * carry->device_slot_bytes, bytes, lane, pieces);
  prem_fence_async(); /* bulk copies of blocks will fetch it */
  if (lane == 0)
    carry_end_of_frame(); /* its note would come behind this one */
  __syncwarp();
  if (lane < NOTE_WORDS)
    ((uint64_t *)&own_note)[lane] = note_word;
  if (lane == 0) {
    carry->brought[slot] = number + 1;
    note_stream = c->trigger;
    note_number = number;
  }
  __syncwarp();
  return word;
}

/** The host's words have come: answer it, and see that it lives. One warp.
 *  @return false: the courier leaves. */
__device__ __forceinline__ bool host_hear(const prem_courier_launch &launch, int32_t lane,
                                          uint64_t word, uint32_t stops, int64_t now,
                                          dispatch *own) {
  const uint32_t changed = __ballot_sync(WHOLE_WARP, word != own->known);
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
__device__ __forceinline__ bool look(const prem_courier_launch &launch, int32_t lane, dispatch *own,
                                     bool *is_over) {
  prem_courier *c = own_courier;
  const bool is_open = c->completed < c->begun;
  if (__any_sync(WHOLE_WARP, has_to_ask(c, lane)))
    prem_system_fence_ordered();
  const uint32_t stops = prem_load_relaxed(&launch.state->abort);
  if (is_open)
    blocks_look_begin(c, lane, &own->blocks);
  const uint64_t word = own->at != nullptr ? prem_system_load_acquire(own->at) : 0;
  const int64_t now = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
  *is_over = is_open && blocks_look_end(c, lane, &own->blocks);
  uint64_t newer = word;
  const int32_t trigger = c->trigger < 0 ? -1 : HOST_STREAMS + c->trigger;
  if (__any_sync(WHOLE_WARP, lane == trigger && word != own->known)) {
    const uint64_t again = frame_look(c, lane, __shfl_sync(WHOLE_WARP, word, trigger), own->at);
    if (is_said_before_frame(c, lane))
      newer = again;
  }
  const bool stays = host_hear(launch, lane, word, stops, now, own);
  const bool is_drained = lane == HOST_REQUEST && own->is_silent;
  own->heard = is_drained ? (uint64_t)PREM_COURIER_DRAIN : word_as_heard(lane, own->known, newer);
  own->known = newer;
  own->is_newly_settled |= has_to_ask(c, lane);
  word_hear(c, lane, own->heard);
  __syncwarp();
  return stays;
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

/** It begins. The dispatcher looks at the blocks first, and decides the rest when they are done;
 * the host can be told of those before while they work. One warp. */
__device__ __forceinline__ void frame_start(prem_courier *c, int32_t lane, int64_t now_ns,
                                            dispatch *own) {
  if (lane == 0)
    prem_courier_start(c, now_ns);
  __syncwarp();
  news_end(own);
  own->wake_ns = c->wake_ns;
  own->rest_ns = min((long long)own->rest_ns, (long long)rest_at(c, lane, now_ns));
  own->prepares = true;
  if (own->rest_ns <= now_ns || own->tell_ns == INT64_MAX)
    return;
  if (lane == 0)
    prem_courier_tell(c);
  own->tell_ns = INT64_MAX;
  __syncwarp();
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

/** Until the session is over. One warp. */
__device__ void serve(const prem_courier_launch &launch, int32_t lane, int64_t s_ns) {
  prem_courier *c = own_courier;
  dispatch own = {};
  own.at = host_word_at(launch, lane);
  own.wake_ns = INT64_MIN;
  own.rest_ns = own.tell_ns = INT64_MAX;
  own.heard_ns = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
  for (bool is_over = false, has_ended; !is_over;) {
    if (!look(launch, lane, &own, &has_ended))
      return;
    const int64_t now = __shfl_sync(WHOLE_WARP, (long long)(prem_clock_ns() - s_ns), 0);
    if (has_ended)
      over_show(c, lane, now, &own);
    const bool begins = begins_now(c, lane, own);
    const bool is_due =
        own.is_silent || now >= own.wake_ns || now >= own.rest_ns || now >= own.tell_ns;
    /* and here all lanes have looked at what the first one may change now */
    const bool has_news = __any_sync(WHOLE_WARP, is_due || is_news(c, lane, own));
    if (begins)
      frame_start(c, lane, now, &own);
    else if (has_news)
      is_over = rest_decide(c, lane, now, &own);
    else if (own.prepares) {
      if (lane == 0)
        prem_courier_prepare(c);
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
