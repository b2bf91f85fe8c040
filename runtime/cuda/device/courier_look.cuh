/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier: the words of host and blocks that it looks at, and the session's begin. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_LOOK_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_LOOK_CUH

#include "runtime/cuda/device/courier_carry.cuh"

namespace {

__device__ __forceinline__ const void *stream_word_at(const prem_stream *stream, bool is_source) {
  if (is_source)
    return &stream->consumer.channel->filled.value;
  /* Of a queue the reader's own, also where the copy engines take frames to it; of samples that of
   * who takes them, which may be ahead. */
  return stream->producer.is_queue ? &stream->face->channel.passed.value
                                   : &stream->producer.channel->passed.value;
}

/** A lane for each. */
__device__ __forceinline__ const void *host_word_at(const prem_courier_launch &launch,
                                                    int32_t lane) {
  const prem_courier *c = own_courier;
  const int32_t stream = lane - HOST_STREAMS;
  switch (lane) {
  case HOST_PING:
    return &launch.talk->ping;
  case HOST_LEAVE:
    return &launch.talk->leave;
  case HOST_BEAT:
    return &launch.talk->host_beat;
  case HOST_BASE:
    return &launch.talk->base_ns;
  case HOST_REQUEST:
    return &c->face->request.value;
  case HOST_WISH:
    return &c->face->wish.value;
  case HOST_NEWEST:
    return &c->face->newest.value;
  default:
    if (stream >= c->stream_count)
      return nullptr;
    return stream_word_at(&c->streams[stream], stream < c->source_count);
  }
}
static_assert(HOST_STREAMS + PREM_DEVICE_STREAMS <= 32, "a lane for each word of the host");

/** Where a part of a task's blocks counts those that have done job `job`, and how many there will
 * be then; NULL: that part has no blocks. One lane. */
__device__ __forceinline__ const uint32_t *part_end(const prem_device_leader *leader, int32_t part,
                                                    int64_t job, uint32_t *needed) {
  const int64_t round = job >> leader->shift, word = job - (round << leader->shift);
  *needed = (uint32_t)(round + 1) * (uint32_t)leader->blocks[part];
  return leader->blocks[part] == 0 ? nullptr
                                   : &leader->ends[((int64_t)part << leader->shift) + word].blocks;
}

/** Have they done it? One lane. */
__device__ __forceinline__ bool is_part_over(const prem_device_leader *leader, int32_t part,
                                             int64_t job) {
  uint32_t needed;
  const uint32_t *end = part_end(leader, part, job, &needed);
  return end == nullptr || (int32_t)(prem_load_acquire(end) - needed) >= 0;
}

/** A look at blocks: a lane for each part of a task's, at the next job of each task alone. To look
 *  further takes as long again, and the dispatcher looks again soon. */
constexpr int32_t TASKS_ACROSS = 32 / PREM_DEVICE_PARTS, LOOKS = 4;
constexpr int32_t TASKS_AT_ONCE = TASKS_ACROSS * LOOKS;
struct blocks_look {
  int32_t first; /* task */
  uint32_t done[LOOKS], needed[LOOKS];
};

/** All of a lane's loads are on their way. One warp. */
__device__ __forceinline__ void blocks_look_begin(const prem_courier *c, int32_t lane,
                                                  blocks_look *look) {
#pragma unroll
  for (int32_t i = 0; i < LOOKS; ++i) {
    const int32_t t = look->first + TASKS_ACROSS * i + lane / PREM_DEVICE_PARTS;
    const uint32_t *end = nullptr;
    if (t < c->task_count)
      end = part_end(&own_leaders[t], lane % PREM_DEVICE_PARTS, c->over_now[t], &look->needed[i]);
    look->done[i] = end != nullptr ? prem_load_relaxed(end) : look->needed[i];
  }
}

/** They have come. One warp. @return whether a job is over: what blocks did before is seen then. */
__device__ __forceinline__ bool blocks_look_end(const prem_courier *c, int32_t lane,
                                                blocks_look *look) {
  constexpr uint32_t ALL_PARTS = (1u << PREM_DEVICE_PARTS) - 1;
  const int32_t own = lane / PREM_DEVICE_PARTS;
  bool has_changed = false;
#pragma unroll
  for (int32_t i = 0; i < LOOKS; ++i) {
    const int32_t t = look->first + TASKS_ACROSS * i + own;
    const uint32_t over =
        __ballot_sync(WHOLE_WARP, (int32_t)(look->done[i] - look->needed[i]) >= 0);
    if (t < c->task_count && lane % PREM_DEVICE_PARTS == 0 &&
        (over >> lane & ALL_PARTS) == ALL_PARTS)
      has_changed |= prem_courier_see(c, t, c->over_now[t] + 1);
  }
  look->first += TASKS_AT_ONCE;
  if (look->first >= c->task_count)
    look->first = 0;
  if (!__any_sync(WHOLE_WARP, has_changed))
    return false;
  prem_gpu_fence();
  __syncwarp();
  return true;
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
