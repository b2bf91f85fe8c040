/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The courier of a live session on the GPU: one block beside the executive, which decides by the
 * GPU's own clock what prem_courier_decide() says.
 *
 * Its first warp looks at all words at the same time, a lane each: those of the host over the bus,
 * those of the blocks in L2. Where something has changed, or an instant has come, its first lane
 * decides. The other warps sleep at a barrier until there is a frame to bring over.
 *
 * It ends when all results are shown, when the session is stopped, or when the host is silent.
 */
#define PREM_CARRIES_FRAMES
#include "runtime/core/courier.h"

#include "runtime/cuda/device/engine.cuh"
#include "runtime/cuda/device/executive.h"

namespace {

constexpr uint32_t WHOLE_WARP = 0xffffffffu;
constexpr int32_t CARRIERS = PREM_COURIER_THREADS - 32; /* threads that bring frames over */

/** A frame to be brought over; `row_bytes` 0: the carriers leave. */
struct carry_order {
  const unsigned char *from;
  unsigned char *to;
  const int64_t *from_pitch, *to_pitch;
  const int32_t *shape;
  int32_t row_bytes;
};

__shared__ carry_order order;
__shared__ uint64_t is_ordered; /* mbarriers: the courier has written `order`; */
__shared__ uint64_t is_carried; /* all carriers have done it */
__shared__ uint32_t orders;
__shared__ bool is_carrying;
__shared__ prem_courier *own_courier;
__shared__ const prem_device_leader *own_leaders; /* [task] */
__shared__ prem_device_carry *own_carries;        /* [stream] */

extern __shared__ __align__(128) unsigned char own_image[];

__device__ __forceinline__ void barrier_await(uint64_t *barrier, uint32_t number) {
  enum { NAP_NS = 100000 };
  while (!prem_barrier_await(barrier, number & 1u, NAP_NS)) {
  }
}

/** What another processor or block has written, not what a cache remembers of it. */
__device__ __forceinline__ int4 load_fresh(const int4 *from) {
  int4 value;
  asm volatile("ld.volatile.global.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from)
               : "memory");
  return value;
}

__device__ void carry_row(const unsigned char *from, unsigned char *to, int32_t bytes,
                          int32_t first, int32_t step) {
  const int32_t pieces = bytes / 16;
  for (int32_t i = first; i < pieces; i += step)
    ((int4 *)to)[i] = load_fresh((const int4 *)from + i);
  for (int32_t at = 16 * pieces + first; at < bytes; at += step)
    to[at] = *(const volatile unsigned char *)(from + at);
}

/** The carriers' part: rows one behind the other, or side by side where they are short. */
__device__ void carry(int32_t thread) {
  for (uint32_t number = 0;; ++number) {
    barrier_await(&is_ordered, number);
    if (order.row_bytes == 0)
      return;
    const int32_t row_pieces = (order.row_bytes + 15) / 16;
    const int32_t lanes = row_pieces < CARRIERS ? row_pieces : CARRIERS; /* of a row */
    const int32_t rows_at_once = CARRIERS / lanes;
    const int64_t rows = (int64_t)order.shape[0] * order.shape[1] * order.shape[2];
    for (int64_t row = thread / lanes; row < rows && thread / lanes < rows_at_once;
         row += rows_at_once) {
      const int64_t i2 = row % order.shape[2], plane = row / order.shape[2];
      const int64_t i1 = plane % order.shape[1], i0 = plane / order.shape[1];
      carry_row(order.from + i0 * order.from_pitch[0] + i1 * order.from_pitch[1] +
                    i2 * order.from_pitch[2],
                order.to + i0 * order.to_pitch[0] + i1 * order.to_pitch[1] + i2 * order.to_pitch[2],
                order.row_bytes, thread % lanes, lanes);
    }
    /* the courier's release carries it to others, when these have met it */
    prem_fence_async(); /* bulk copies of blocks will fetch it */
    asm volatile("bar.sync 1, %0;" ::"n"((int)CARRIERS) : "memory");
    if (thread == 0)
      prem_barrier_arrive(&is_carried);
  }
}

__device__ __forceinline__ void carry_begin(const unsigned char *from, unsigned char *to,
                                            const int64_t *from_pitch, const int64_t *to_pitch,
                                            const prem_device_carry *frame) {
  order = carry_order{from, to, from_pitch, to_pitch, frame->shape, frame->row_bytes};
  is_carrying = true;
  prem_barrier_arrive(&is_ordered);
}

__device__ __forceinline__ void carry_end(void) {
  if (!is_carrying)
    return;
  barrier_await(&is_carried, orders++);
  is_carrying = false;
}

/** To be waited for by end_to_bring(); nothing where the frame is there or others bring it. */
__device__ void begin_to_bring(const prem_courier *c, const prem_stream *source, int32_t slot,
                               uint64_t number) {
  prem_device_carry *of = &own_carries[source - c->streams];
  if (of->host == nullptr || of->brought[slot] == number + 1)
    return;
  of->brought[slot] = number + 1;
  carry_begin(of->host + slot * of->host_slot_bytes, of->device + slot * of->device_slot_bytes,
              of->host_pitch, of->device_pitch, of);
}

__device__ void end_to_bring(const prem_courier *, const prem_stream *) {
  carry_end();
}

__device__ void send_frame(const prem_courier *c, const prem_stream *sink, int32_t slot) {
  prem_device_carry *of = &own_carries[sink - c->streams];
  if (of->host == nullptr)
    return;
  carry_begin(of->device + slot * of->device_slot_bytes, of->host + slot * of->host_slot_bytes,
              of->device_pitch, of->host_pitch, of);
  carry_end();
}

} // namespace

#include "runtime/core/courier_steps.h"

namespace {

/* ---- looking -------------------------------------------------------------------------------- */

__device__ __forceinline__ uint64_t far_relaxed(const void *word) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

/** Words that the host writes, in this order a lane each; behind them `filled` of each source and
 *  `passed` of each sink. */
enum host_word { PING, LEAVE, HOST_BEAT, BASE, REQUEST, WISH, NEWEST, STREAMS };

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
    return stream < c->source_count ? &c->streams[stream].consumer.channel->filled.value
                                    : &c->streams[stream].producer.channel->passed.value;
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

/** The lanes look at the tasks. @return whether a job of this lane's is over. */
__device__ __forceinline__ bool blocks_look(prem_courier *c, int32_t lane) {
  bool has_changed = false;
  for (int32_t t = lane; t < c->task_count; t += 32) {
    const int64_t over = jobs_over_from(&own_leaders[t], c->over_now[t]);
    has_changed |= over != c->over_now[t];
    c->over_now[t] = over;
  }
  return has_changed;
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
  c->start_ns = (int64_t)far_relaxed(&talk->start_ns);
  c->base_ns = (int64_t)far_relaxed(&talk->base_ns);
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

/** One warp, until the session is over. */
__device__ void serve(const prem_courier_launch &launch, int32_t lane, int64_t s_ns) {
  prem_courier *c = own_courier;
  const void *word_at = host_word_at(launch, lane);
  const int32_t trigger_lane = c->trigger < 0 ? -1 : STREAMS + c->trigger;
  uint64_t word = 0, last_word = 0;
  int64_t wake_ns = INT64_MIN, heard_ns = prem_clock_ns();
  for (;;) {
    if (word_at != nullptr)
      word = far_relaxed(word_at);
    bool has_changed = blocks_look(c, lane);
    has_changed |= word != last_word && is_news(c, lane);
    const int64_t now = prem_clock_ns();
    const uint32_t stops = prem_load_relaxed(&launch.state->abort);
    const uint64_t ping = __shfl_sync(WHOLE_WARP, word, PING);
    const bool is_asked = ping != __shfl_sync(WHOLE_WARP, last_word, PING);
    if (__shfl_sync(WHOLE_WARP, word != last_word, HOST_BEAT))
      heard_ns = now;
    last_word = word;
    if (lane == 0) {
      *(volatile uint64_t *)launch.beat = (uint64_t)now;
      if (is_asked)
        answer(launch.talk, ping);
    }
    const uint64_t leave = __shfl_sync(WHOLE_WARP, word, LEAVE);
    if (lane == 0 && leave == PREM_COURIER_STOPS_ALL)
      atomicExch(&launch.state->abort, 1u);
    if (__any_sync(WHOLE_WARP, stops != 0) || leave != PREM_COURIER_STAYS)
      return;
    const bool is_silent = launch.host_silence_ns > 0 && now - heard_ns > launch.host_silence_ns;
    const bool is_due = __shfl_sync(WHOLE_WARP, (long long)(now - s_ns), 0) >= wake_ns;
    if (!__any_sync(WHOLE_WARP, has_changed || is_silent) && !is_due)
      continue;
    __threadfence_system(); /* what those who wrote the words had written before */
    /* Once more: the host hands on what belongs to a trigger's frame before it, wishes and
     * arguments as well, and all frames before it asks for the end; of two looks at the same time
     * either can be the earlier one. So what comes last stays as it was seen first. */
    if (word_at != nullptr && lane >= WISH && lane != trigger_lane)
      last_word = word = far_relaxed(word_at);
    if (lane >= STREAMS && word_at != nullptr) {
      prem_stream *stream = &c->streams[lane - STREAMS];
      stream->consumer.seen = stream->producer.seen = word;
    }
    const uint64_t base = __shfl_sync(WHOLE_WARP, word, BASE);
    const uint64_t request = __shfl_sync(WHOLE_WARP, word, REQUEST);
    const uint64_t wish = __shfl_sync(WHOLE_WARP, word, WISH);
    const uint64_t newest = __shfl_sync(WHOLE_WARP, word, NEWEST);
    __threadfence_system();
    __syncwarp();
    bool is_done = false, has_published = false;
    if (lane == 0) {
      c->base_ns = (int64_t)base;
      c->wish = wish;
      c->newest = newest;
      c->request = is_silent ? (uint64_t)PREM_COURIER_DRAIN : request;
      wake_ns = prem_courier_decide(c, prem_clock_ns() - s_ns);
      is_done = is_over(c);
      has_published = publishes(c);
    }
    if (__any_sync(WHOLE_WARP, has_published)) /* before the next look at what is held */
      asm volatile("fence.sc.sys;" ::: "memory");
    wake_ns = __shfl_sync(WHOLE_WARP, (long long)wake_ns, 0);
    if (__any_sync(WHOLE_WARP, is_done))
      return;
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
  }
  __syncthreads();
  if (thread >= 32) {
    carry(thread - 32);
    return;
  }
  int64_t s_ns = 0;
  if (thread == 0)
    s_ns = session_begin(launch);
  s_ns = __shfl_sync(WHOLE_WARP, (long long)s_ns, 0);
  if (s_ns != 0)
    serve(launch, thread, s_ns);
  if (thread == 0) {
    order.row_bytes = 0;
    prem_barrier_arrive(&is_ordered);
    prem_word_set_far(&launch.talk->left, 1);
  }
}

} // namespace

extern "C" const void *prem_courier_kernel(void) {
  return (const void *)&courier;
}
