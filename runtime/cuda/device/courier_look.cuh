/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier: the words of host and blocks that its warps look at, and the session's begin. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_LOOK_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_LOOK_CUH

#include "runtime/cuda/device/courier_keep.cuh"

namespace {

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

/** Have a part of a task's blocks done job `over`? One lane. @param is_noted  and noted its end */
__device__ __forceinline__ bool is_part_over(const prem_device_leader *leader, int32_t part,
                                             int64_t over, bool is_noted) {
  if (leader->blocks[part] == 0)
    return true;
  const int64_t round = over >> leader->shift, word = over - (round << leader->shift);
  const prem_device_end *end = &leader->ends[((int64_t)part << leader->shift) + word];
  const uint32_t needed = (uint32_t)(round + 1) * (uint32_t)leader->blocks[part];
  return (int32_t)(prem_load_acquire(is_noted ? &end->noted : &end->blocks) - needed) >= 0;
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
    bool is_over = t < c->task_count && is_part_over(&own_leaders[t], part, c->over_now[t], true);
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

#endif
