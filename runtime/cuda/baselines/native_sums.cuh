/* SPDX-License-Identifier: Apache-2.0 */
/** Ordinary kernels that add up: over channels, over the elements of tiles. They add in the order
 * of their kernels' headers, so that they give the same bits. */
#pragma once

#include "kernels/kcf_sqr_norm.h"
#include "kernels/matvec.h"
#include "kernels/vector_sum.h"
#include "runtime/cuda/baselines/native_device.cuh"

namespace {

__device__ __forceinline__ float4 two_together(prem_c64 a, prem_c64 b) {
  return make_float4(a.re, a.im, b.re, b.im);
}

/** A thread adds up the channels of a piece of 16 bytes; AHEAD of them are in flight together. */
template <int AHEAD, cache_use USE>
__global__ void __launch_bounds__(512) sum_channels(const prem_native_work work) {
  const int64_t row_bytes = work.columns * (int64_t)sizeof(prem_c64);
  const uint32_t pieces = (uint32_t)((row_bytes + 15) / 16);
  const uint32_t chunks_across = (pieces + blockDim.x - 1u) / blockDim.x;
  const uint32_t chunks = chunks_across * (((uint32_t)work.rows + blockDim.y - 1u) / blockDim.y);
  const int32_t channels = (int32_t)work.in_shape[1];
  for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const uint32_t chunk_row = chunk / chunks_across;
    const uint32_t piece = (chunk - chunk_row * chunks_across) * blockDim.x + threadIdx.x;
    const int32_t row = (int32_t)(chunk_row * blockDim.y + threadIdx.y);
    if (row >= work.rows || piece >= pieces)
      continue;
    const unsigned char *from =
        work.in[0] + row_offset(work, row, work.in_pitch_bytes[0]) + (int64_t)piece * 16;
    float4 sum = piece_load<USE>(from);
    for (int32_t first = 1; first < channels; first += AHEAD) {
      float4 x[AHEAD];
#pragma unroll
      for (int32_t c = 0; c < AHEAD; ++c)
        if (first + c < channels)
          x[c] = piece_load<USE>(from + (first + c) * work.channel_bytes);
#pragma unroll
      for (int32_t c = 0; c < AHEAD; ++c)
        if (first + c < channels)
          sum = make_float4(sum.x + x[c].x, sum.y + x[c].y, sum.z + x[c].z, sum.w + x[c].w);
    }
    piece_store<USE>(work.out + row_offset(work, row, work.out_pitch_bytes) + (int64_t)piece * 16,
                     row_bytes - (int64_t)piece * 16, sum);
  }
  stamp_end(work.ends);
}

/** A tile of the array whose squared norm is wanted. */
struct norm_tile {
  const unsigned char *first; /* its first element */
  int32_t extent[4];          /* cut to the array */
};

__device__ __forceinline__ norm_tile norm_tile_at(const prem_native_work &work, const int32_t *tile,
                                                  uint32_t number) {
  norm_tile at;
  at.first = work.in[0];
#pragma unroll
  for (int32_t d = 3; d >= 0; --d) {
    const uint32_t size = (uint32_t)tile[d];
    const uint32_t tiles = ((uint32_t)work.in_shape[d] + size - 1u) / size;
    const int64_t origin = (int64_t)(number % tiles) * size;
    number /= tiles;
    at.extent[d] = (int32_t)min((int64_t)size, work.in_shape[d] - origin);
    at.first += origin * (d < 3 ? work.in_pitch_bytes[0][d] : (int64_t)sizeof(prem_c64));
  }
  return at;
}

/** One strand of a tile; AHEAD rows are in flight together. What a tile lacks at the array's edge
 *  adds 0. */
template <int AHEAD, cache_use USE>
__device__ __forceinline__ double norm_strand(const prem_native_work &work, const norm_tile &tile,
                                              int32_t strand, int32_t column) {
  const int64_t row_bytes = KCF_STRANDS * work.in_pitch_bytes[0][2];
  double sum = 0.0;
  if (column >= tile.extent[3])
    return sum;
  for (int32_t i0 = 0; i0 < tile.extent[0]; ++i0)
    for (int32_t i1 = 0; i1 < tile.extent[1]; ++i1) {
      const unsigned char *at = tile.first + i0 * work.in_pitch_bytes[0][0] +
                                i1 * work.in_pitch_bytes[0][1] +
                                strand * work.in_pitch_bytes[0][2] + column * 8;
      for (int32_t row = strand; row < tile.extent[2];
           row += AHEAD * KCF_STRANDS, at += AHEAD * row_bytes) {
        float2 x[AHEAD];
#pragma unroll
        for (int32_t r = 0; r < AHEAD; ++r) {
          const float2 *from = (const float2 *)(at + r * row_bytes);
          x[r] = make_float2(0, 0);
          if (row + r * KCF_STRANDS < tile.extent[2])
            x[r] = USE == STREAMED ? __ldcs(from) : __ldg(from);
        }
#pragma unroll
        for (int32_t r = 0; r < AHEAD; ++r)
          sum += (double)kcf_square({x[r].x, x[r].y});
      }
    }
  return sum;
}

/** A block makes the share of a tile; the strands' sums stand in dynamic shared memory. */
template <int AHEAD, cache_use USE>
__global__ void __launch_bounds__(512) sqr_norm(const prem_native_work work) {
  extern __shared__ double sums[];
  const kcf_sqr_norm_params *params = (const kcf_sqr_norm_params *)work.params;
  const int32_t columns = params->tile[3], strands = min(params->tile[2], (int32_t)KCF_STRANDS);
  const int32_t threads = (int32_t)(blockDim.x * blockDim.y);
  const int32_t thread = (int32_t)(threadIdx.y * blockDim.x + threadIdx.x);
  for (uint32_t number = blockIdx.x; number < (uint32_t)work.columns; number += gridDim.x) {
    const norm_tile tile = norm_tile_at(work, params->tile, number);
    for (int32_t i = thread; i < strands * columns; i += threads)
      sums[i] = norm_strand<AHEAD, USE>(work, tile, i / columns, i % columns);
    __syncthreads();
    for (int32_t left = columns, half; left > 1; left = half) {
      half = (left + 1) / 2;
      for (int32_t i = thread; i < strands * (left - half); i += threads) {
        double *to = &sums[i / (left - half) * columns + i % (left - half)];
        *to += to[half];
      }
      __syncthreads();
    }
    if (thread == 0) {
      for (int32_t left = strands, half; left > 1; left = half) {
        half = (left + 1) / 2;
        for (int32_t strand = 0; strand < left - half; ++strand)
          sums[strand * columns] += sums[(strand + half) * columns];
      }
      ((float *)work.out)[number] = (float)(sums[0] * params->inverse_area);
    }
    __syncthreads();
  }
  stamp_end(work.ends);
}

enum { MATVEC_ROWS = 8 };

/** A warp makes a row's element, a block MATVEC_ROWS of them; AHEAD terms of a strand are in flight
 *  together. */
template <int AHEAD, cache_use USE>
__global__ void __launch_bounds__(512) matvec(const prem_native_work work) {
  const int32_t columns = ((const matvec_params *)work.params)->columns;
  const int32_t thread = (int32_t)(threadIdx.y * blockDim.x + threadIdx.x);
  const int32_t warps = (int32_t)(blockDim.x * blockDim.y) / 32, strand = thread % 32;
  const float *x = (const float *)work.in[1];
  for (int64_t first = (int64_t)blockIdx.x * MATVEC_ROWS; first < work.columns;
       first += (int64_t)gridDim.x * MATVEC_ROWS)
    for (int64_t row = first + thread / 32; row < min(first + MATVEC_ROWS, work.columns);
         row += warps) {
      const float *terms = (const float *)(work.in[0] + row * work.in_pitch_bytes[0][2]);
      float sum = 0.0F;
      for (int32_t c = strand; c < columns; c += AHEAD * MATVEC_STRANDS) {
        float term[AHEAD], factor[AHEAD];
#pragma unroll
        for (int32_t i = 0; i < AHEAD; ++i)
          if (c + i * MATVEC_STRANDS < columns) {
            const float *from = terms + c + i * MATVEC_STRANDS;
            term[i] = USE == STREAMED ? __ldcs(from) : __ldg(from);
            factor[i] = __ldg(x + c + i * MATVEC_STRANDS);
          }
#pragma unroll
        for (int32_t i = 0; i < AHEAD; ++i)
          if (c + i * MATVEC_STRANDS < columns)
            sum = fmaf(term[i], factor[i], sum);
      }
      for (int32_t left = min(columns, (int32_t)MATVEC_STRANDS), half; left > 1; left = half) {
        half = (left + 1) / 2;
        const float other = __shfl_down_sync(0xffffffffu, sum, (unsigned)half);
        if (strand < left - half)
          sum += other;
      }
      if (strand == 0)
        ((float *)work.out)[row] = sum;
    }
  stamp_end(work.ends);
}

/** A block sums a tile of a vector. */
__global__ void __launch_bounds__(512) vector_sum(const prem_native_work work) {
  __shared__ float sums[VECTOR_SUM_STRANDS];
  const int64_t tile = ((const vector_sum_params *)work.params)->tile;
  const int32_t strands = (int32_t)min(tile, (int64_t)VECTOR_SUM_STRANDS);
  const int32_t threads = (int32_t)(blockDim.x * blockDim.y);
  const int32_t thread = (int32_t)(threadIdx.y * blockDim.x + threadIdx.x);
  for (int64_t number = blockIdx.x; number < work.columns; number += gridDim.x) {
    const int64_t count = min(tile, work.in_shape[3] - number * tile);
    const float *terms = (const float *)work.in[0] + number * tile;
    for (int32_t strand = thread; strand < strands; strand += threads) {
      double sum = 0.0;
#pragma unroll 8
      for (int64_t i = strand; i < count; i += VECTOR_SUM_STRANDS)
        sum += (double)__ldg(terms + i);
      sums[strand] = (float)sum;
    }
    __syncthreads();
    for (int32_t left = strands, half; left > 1; left = half) {
      half = (left + 1) / 2;
      for (int32_t strand = thread; strand < left - half; strand += threads)
        sums[strand] += sums[strand + half];
      __syncthreads();
    }
    if (thread == 0)
      ((float *)work.out)[number] = sums[0];
    __syncthreads();
  }
  stamp_end(work.ends);
}

} // namespace
