/* SPDX-License-Identifier: Apache-2.0 */
/** What ordinary kernels share: stamping the end of a job, finding rows, moving pieces of 16 bytes.
 */
#pragma once

#include "runtime/cuda/baselines/native_kernels.h"
#include "runtime/cuda/device/clock.cuh"

namespace {

/** The whole block. */
__device__ __forceinline__ void stamp_end(long long *ends) {
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    atomicMax(&ends[blockIdx.x % PREM_NATIVE_SLOTS * PREM_NATIVE_SLOT_STRIDE],
              (long long)prem_clock_ns());
}

/** Where a row begins, from its number in the order of elements. */
__device__ __forceinline__ int64_t row_offset(const prem_native_work &work, int32_t row,
                                              const int64_t (&pitch_bytes)[3]) {
  if (work.rows_of[1] == work.rows) /* one plane */
    return row * pitch_bytes[2];
  const int32_t plane = row / work.rows_of[1];
  return plane / work.rows_of[0] * pitch_bytes[0] + plane % work.rows_of[0] * pitch_bytes[1] +
         row % work.rows_of[1] * pitch_bytes[2];
}

/** What the caches are told of the data. STREAMED: not needed again, read or written. EVICT_LAST:
 * what is read leaves L2 last; prefetches of tiles say the same (runtime/cuda/device/engine.cuh).
 */
enum cache_use { PLAIN, STREAMED, EVICT_LAST };

template <cache_use USE> __device__ __forceinline__ float4 piece_load(const void *from) {
  if constexpr (USE == STREAMED)
    return __ldcs((const float4 *)from);
#if PREM_ARCH >= 800
  if constexpr (USE == EVICT_LAST) {
    uint64_t policy;
    float4 piece;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
        : "=f"(piece.x), "=f"(piece.y), "=f"(piece.z), "=f"(piece.w)
        : "l"(from), "l"(policy));
    return piece;
  }
#endif
  return __ldg((const float4 *)from);
}

template <cache_use USE>
__device__ __forceinline__ void piece_store(unsigned char *to, int64_t bytes, float4 piece) {
  if (bytes >= 16) {
    if constexpr (USE == STREAMED)
      __stcs((float4 *)to, piece);
    else
      *(float4 *)to = piece;
    return;
  }
  ((float *)to)[0] = piece.x;
  if (bytes > 4)
    ((float *)to)[1] = piece.y;
  if (bytes > 8)
    ((float *)to)[2] = piece.z;
}

} // namespace
