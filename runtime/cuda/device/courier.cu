/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The courier of a live session on the GPU: one block beside the executive, which decides by the
 * GPU's own clock what prem_courier_decide() says. It has three warps:
 *
 *   - the dispatcher looks at the host's words over the bus, and at the blocks' words in L2, a lane
 *     each and both at the same time. Where something has changed, or an instant has come, its
 * first lane decides. A frame that begins a hyperperiod it brings over itself, if it is short
 *   - the keeper hands results on: at their instants; where none has one, as soon as they are made
 *   - the carrier brings other frames over, and words for the host that can wait; it sleeps at a
 *     barrier until there is one
 *
 *   courier_parts.cuh     what they share
 *   courier_carry.cuh     the carrier
 *   courier_look.cuh      the words of host and blocks, the session's begin
 *   courier_keep.cuh      the keeper
 *   courier_dispatch.cuh  the dispatcher
 *
 * It ends when all results are shown, when the session is stopped, or when the host is silent.
 */
#include "runtime/cuda/device/courier_dispatch.cuh"

namespace {

/** Until the session has begun: what never changes is there then. One warp. */
__device__ __forceinline__ void serving_await(void) {
  enum { NAP_NS = 200 };
  while (!__any_sync(WHOLE_WARP, *(volatile int32_t *)&is_serving != 0))
    __nanosleep(NAP_NS);
  prem_block_fence();
}

__global__ void __launch_bounds__(PREM_COURIER_THREADS, 6) /* 96 registers: room for blocks */
    courier(const __grid_constant__ prem_courier_launch launch) {
  const int32_t thread = (int32_t)threadIdx.x, lane = thread & 31;
  image_take(launch);
  if (thread == 0) {
    prem_barrier_init(&is_ordered);
    prem_barrier_init(&is_carried);
    orders = 0;
    stamps = launch.stamps;
    is_carrying = false;
    order.note = nullptr;
    is_serving = is_closing = 0;
    note_stream = -1;
  }
  if (thread < PREM_DEVICE_STREAMS)
    handing.promises[thread].word = 0;
  __syncthreads();
  switch (thread / 32) {
  case DISPATCHER:
    dispatch_all(launch, lane);
    break;
  case KEEPER:
    serving_await();
    if (keeper_shows)
      show_when_over(lane);
    else
      keep_promises(lane);
    break;
  default:
    carry(lane);
  }
}

} // namespace

extern "C" const void *prem_courier_kernel(void) {
  return (const void *)&courier;
}
