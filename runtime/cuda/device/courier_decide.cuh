/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier: the decider, a warp, which looks at the blocks and at what has been heard, and
 * decides. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_DECIDE_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_DECIDE_CUH

#include "runtime/cuda/device/courier_listen.cuh"

namespace {

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
  prem_heard_ask(&heard);
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
    is_there = __any_sync(WHOLE_WARP, prem_word_inner(&heard.answered) != 0);
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
  const uint64_t word = prem_word_inner(&heard.words[lane]);
  const bool is_answered = prem_heard_is_answered(&heard);
  const bool is_alarm =
      (*(const volatile int32_t *)&is_leaving | *(const volatile int32_t *)&is_silent) != 0;
  const bool has_come = *(const volatile uint64_t *)&trigger_seen != own.brought;
  const bool is_due = now_ns >= own.wake_ns || now_ns >= own.rest_ns || now_ns >= own.tell_ns;
  return __any_sync(WHOLE_WARP,
                    is_alarm || has_come || is_due ||
                        prem_ahead_look(&ahead.shared) == PREM_AHEAD_BEGUN ||
                        is_news(c, lane, own.lacks_slots, word != own.known, is_answered));
}

/** Tell the host what has changed. One warp. */
__device__ __forceinline__ void host_tell(prem_courier *c, int32_t lane, decided *own) {
  if (lane == 0)
    prem_courier_tell(c);
  own->tell_ns = INT64_MAX;
  __syncwarp();
}

/** Jobs are over, and their results shown: when the rest is decided. It takes as long as half an
 *  event, so of two that follow each other it is decided once, where the second one can begin
 *  without it. One warp. */
__device__ __forceinline__ int64_t rest_after_end(const prem_courier *c, int32_t lane,
                                                  int64_t now_ns) {
  const bool can_wait = ahead.is_used && !c->has_last && !is_draining(c) &&
                        c->begun - c->completed < OPEN_HYPERPERIODS - 1;
  return can_wait && !is_short_of_slots(c, lane) ? now_ns + WAIT_NS : now_ns;
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
  own->rest_ns = min((long long)own->rest_ns, (long long)rest_after_end(c, lane, now_ns));
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

/** The listener has begun a hyperperiod: catch up with it. What of its results has
 *  several jobs waits for the decider. One warp. @return whether there was one. */
__device__ __forceinline__ bool begun_take(prem_courier *c, int32_t lane, int64_t now_ns,
                                           decided *own) {
  bool has_begun = false;
  if (lane == 0 && prem_ahead_has_begun(&ahead.shared)) {
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
    own->known = prem_word_inner(&ahead.shared.expected[lane]);
  own->wake_ns = __shfl_sync(WHOLE_WARP, (long long)c->wake_ns, 0);
  own->rest_ns = min((long long)own->rest_ns, (long long)rest_after_begin(c, lane, true, now_ns));
  own->prepares = true;
  return true;
}

/** Prepare the next hyperperiod, if that is not done yet: by what the host has said until now, of
 *  slots that it gave back above all. What of that has to be decided stays news. One warp. */
__device__ __forceinline__ void next_prepare(prem_courier *c, int32_t lane, prem_said when,
                                             decided *own) {
  if (!own->prepares || !ahead.is_used)
    return;
  uint64_t word = 0;
  const bool is_answered = prem_heard_take(&heard, lane, &when, &word);
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
  const prem_said when = said_at(c, lane);
  decided own = {0, 0, INT64_MIN, false, INT64_MAX, INT64_MAX, false, false};
  int64_t beat_ns = 0;
  for (bool is_over = false; !is_over;) {
    const int64_t now = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
    if (lane == 0 && now - beat_ns > BEAT_NS) {
      *(volatile uint64_t *)launch.beat = (uint64_t)now;
      beat_ns = now;
    }
    if (c->completed < c->begun && blocks_look(c, lane)) {
      /* Of the hyperperiod that the listener begins, too: who sees its end sees it begun. */
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
    uint64_t word = 0;
    const bool is_answered = __all_sync(WHOLE_WARP, prem_heard_take(&heard, lane, &when, &word));
    const bool begins = begins_now(c, lane, word, own);
    own.known = word;
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

} // namespace

#endif
