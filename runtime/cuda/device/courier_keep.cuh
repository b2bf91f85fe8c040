/* SPDX-License-Identifier: Apache-2.0 */
/* Of the courier: the keeper, a warp, where results have instants; where they have none it is in
 * courier_ahead.cuh. */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_KEEP_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_KEEP_CUH

#include "runtime/cuda/device/courier_carry.cuh"

#include "runtime/core/courier_steps.h"

namespace {

/** The keeper, a lane for each stream: write the words of results at their instants. */
__device__ void keep_promises(int32_t lane) {
  enum { NEAR_NS = 2000, NAP_NS = 400 };
  promised_word *own = &handing.promises[lane < PREM_DEVICE_STREAMS ? lane : 0];
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
      uint64_t *behind = own_courier->streams[lane].face->behind;
      const int64_t behind_ns = prem_clock_await(at_ns) - at_ns;
      prem_word_set_far_relaxed(own->to, word);
      prem_word_set_far_relaxed(
          &behind[word & ((1u << PREM_CHANNEL_SLOT_BITS) - 1)],
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

} // namespace

#endif
