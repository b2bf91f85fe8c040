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
 *     decider has prepared
 *   - the carrier brings frames over; it sleeps at a barrier until there is one
 *
 *   courier_parts.cuh    what they share
 *   courier_carry.cuh    the carrier
 *   courier_keep.cuh     the keeper, where results have instants
 *   courier_look.cuh     the words of host and blocks
 *   courier_ahead.cuh    hyperperiods that are prepared ahead: a part of all of them
 *   courier_listen.cuh   the listener
 *   courier_decide.cuh   the decider
 *
 * It ends when all results are shown, when the session is stopped, or when the host is silent.
 */
#include "runtime/cuda/device/courier_decide.cuh"

namespace {

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
    orders = 0;
    heard.answered = 0;
    heard.asked = 1;
    is_carrying = false;
    is_serving = is_closing = is_leaving = is_silent = 0;
    trigger_seen = 0;
    note_stream = -1;
  }
  if (thread < 32)
    heard.words[thread] = 0;
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
