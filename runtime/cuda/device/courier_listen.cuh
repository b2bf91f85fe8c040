/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier: the listener, a warp, which looks at the host's words. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_LISTEN_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_LISTEN_CUH

#include "runtime/cuda/device/courier_ahead.cuh"

namespace {

/** Of so many looks one is at all words, where there is a trigger. */
constexpr uint32_t WHOLE_LOOKS = 4;

/** When a lane's word is said. */
__device__ __forceinline__ prem_said said_at(const prem_courier *c, int32_t lane) {
  if (lane == REQUEST)
    return PREM_SAID_LAST;
  return c->trigger >= 0 && lane == STREAMS + c->trigger ? PREM_SAID_AFTER : PREM_SAID_FIRST;
}

/** The host's words have come: answer it, and see that it lives. One warp.
 *  @return false: the courier leaves. */
__device__ __forceinline__ bool host_hear(const prem_courier_launch &launch, int32_t lane,
                                          uint64_t word, bool has_changed, uint32_t stops,
                                          int64_t *heard_ns) {
  const int64_t now = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0);
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

/** A trigger's frame has come, for a decision: the words that the host has said before it once
 * more. One warp. @return the lane's word */
__device__ __forceinline__ uint64_t look_again(const void *at, bool is_before_it, bool is_frame,
                                               uint64_t word) {
  if (is_frame)
    *(volatile uint64_t *)&trigger_seen = word;
  __syncwarp();
  return is_before_it ? prem_system_load_acquire(at) : word;
}

/**
 * The listener looks at the host's words, until the session is over; where there is a trigger, at
 * its word alone most of the time, since that is sooner back. Of two words that it looks at at the
 * same time either can be the earlier one. So where a trigger's frame has come, it looks at the
 * others once more; and that the host wishes to end it tells a look later. One warp.
 */
__device__ void listen(const prem_courier_launch &launch, int32_t lane) {
  const prem_courier *c = own_courier;
  const void *at = host_word_at(launch, lane);
  const prem_said when = said_at(c, lane);
  const bool is_trigger = when == PREM_SAID_AFTER;
  const bool is_before_it = lane >= WISH && when == PREM_SAID_FIRST && at != nullptr;
  uint64_t known = 0;
  int64_t heard_ns = prem_clock_ns();
  uint32_t question = 0, stops = 0;
  for (uint32_t look = 0; !__any_sync(WHOLE_WARP, *(volatile int32_t *)&is_closing != 0); ++look) {
    const bool is_whole = c->trigger < 0 || look % WHOLE_LOOKS == 0;
    if (is_whole) {
      question = prem_heard_question(&heard);
      stops = prem_load_relaxed(&launch.state->abort); /* comes with the words */
    }
    uint64_t word = known;
    if (at != nullptr && (is_whole || is_trigger))
      word = prem_system_load_acquire(at);
    const bool has_changed = word != known,
               is_prepared = is_trigger && prem_ahead_begins(&ahead.shared, lane, word);
    bool begins = __any_sync(WHOLE_WARP, is_prepared);
    const bool has_come = begins || __any_sync(WHOLE_WARP, is_trigger && has_changed);
    if (!begins && is_trigger)
      prem_ahead_answer(&ahead.shared);
    if (!has_come && !is_whole)
      continue;
    if (begins) { /* what one lane has seen all of them do */
      prem_block_fence();
      __syncwarp();
      begins = prepared_begin(lane, at, is_before_it, is_trigger, &word);
    }
    if (has_come && !begins)
      word = look_again(at, is_before_it, is_trigger && has_changed, word);
    /* the end is told a look later: all frames before it have been seen by then */
    const uint64_t told = when == PREM_SAID_LAST ? known : word;
    known = word;
    prem_heard_put_down(&heard, lane, &when, &told, question);
    if (is_whole && !host_hear(launch, lane, word, has_changed, stops, &heard_ns)) {
      *(volatile int32_t *)&is_leaving = 1;
      return;
    }
  }
}

} // namespace

#endif
