/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ordinary kernels, as somebody writes them who wants them fast and knows nothing of PREM: whole
 * arrays, 16-byte loads and stores, several rows or pieces a thread, neighbours from the warp. Each
 * exists in several variants; which is best is measured (native_tune.c). All of them stride over
 * the grid, so that any number of blocks is right: with a full grid the loop runs once.
 *
 * Arrays stand in boxes of zeros whose rows begin at 128 bytes (runtime/cuda/host/arrays.h): a halo
 * is read like any other element, and a 16-byte piece that begins in a row may be read whole, but
 * only the array's own elements are written.
 *
 * The end of a job is stamped by its blocks themselves, one atomic maximum each, after their last
 * store was issued. A stamping kernel behind it would add the two microseconds of a launch.
 */
#include "runtime/cuda/baselines/native_kernels.h"

#include "kernels/conv2d.h"
#include "kernels/conv2d_7x7.h"
#include "kernels/kcf_add.h"
#include "kernels/kcf_add_constant.h"
#include "kernels/kcf_conjugate.h"
#include "kernels/kcf_divide.h"
#include "kernels/kcf_multiply_constant.h"
#include "kernels/kcf_sqr_magnitude.h"
#include "kernels/vector_increment.h"
#include "kernels/walk.h"
#include "runtime/cuda/baselines/native_gate.cuh"
#include "runtime/cuda/baselines/native_pass.cuh"
#include "runtime/cuda/baselines/native_sums.cuh"

#include <cstring>

namespace {

/* Neighbours read an element again: no convolution streams its input. */
template <cache_use USE> constexpr cache_use READ_USE = USE == EVICT_LAST ? EVICT_LAST : PLAIN;

/* ---- conv2d ---------------------------------------------------------------------------------- */

/**
 * What a row of the input gives to VECTOR neighbouring pixels: VECTOR + 2 elements. Pixels 0 and up
 * of the output stand at `column`; with BORDER their neighbours begin one to the left.
 * With vectors the two elements besides come from the lanes on either side; the whole warp calls
 * it, all of it in one row.
 *
 * @param last  the last column that any pixel needs.
 */
template <int VECTOR, cache_use READ, bool BORDER>
__device__ __forceinline__ void row_load(const float *row, int32_t column, int32_t last, bool there,
                                         float (&x)[VECTOR + 2]) {
  const bool mine = there && column <= last;
  if constexpr (VECTOR == 1) {
#pragma unroll
    for (int32_t i = 0; i < 3; ++i)
      x[i] = mine ? __ldg(row + column + i - (BORDER ? 1 : 0)) : 0.0f;
  } else {
    const uint32_t lane = threadIdx.x & 31u;
    const float4 own = mine ? piece_load<READ>(row + column) : make_float4(0, 0, 0, 0);
    if constexpr (BORDER) {
      const bool edge = mine && (lane == 0 || (lane == 31 && column + 4 <= last));
      const float outer = edge ? __ldg(row + column + (lane == 0 ? -1 : 4)) : 0.0f;
      const float left = __shfl_up_sync(0xffffffffu, own.w, 1);
      const float right = __shfl_down_sync(0xffffffffu, own.x, 1);
      x[0] = lane == 0 ? outer : left;
      x[1] = own.x, x[2] = own.y, x[3] = own.z, x[4] = own.w;
      x[5] = lane == 31 ? outer : right;
    } else {
      const bool edge = mine && lane == 31 && column + 4 <= last;
      const float2 outer = edge ? __ldg((const float2 *)(row + column + 4)) : make_float2(0, 0);
      const float next = __shfl_down_sync(0xffffffffu, own.x, 1);
      const float second = __shfl_down_sync(0xffffffffu, own.y, 1);
      x[0] = own.x, x[1] = own.y, x[2] = own.z, x[3] = own.w;
      x[4] = lane == 31 ? outer.x : next;
      x[5] = lane == 31 ? outer.y : second;
    }
  }
}

template <int VECTOR, cache_use USE>
__device__ __forceinline__ void row_store(float *to, int32_t count, const float (&sum)[VECTOR]) {
  if constexpr (VECTOR == 4)
    if (count >= 4) {
      const float4 all = make_float4(sum[0], sum[1], sum[2], sum[3]);
      if constexpr (USE == STREAMED)
        __stcs((float4 *)to, all);
      else
        *(float4 *)to = all;
      return;
    }
#pragma unroll
  for (int32_t i = 0; i < VECTOR; ++i)
    if (i < count) {
      if constexpr (USE == STREAMED)
        __stcs(to + i, sum[i]);
      else
        to[i] = sum[i];
    }
}

/** A thread computes ROWS rows of VECTOR pixels; everything is loaded before anything is used, so
 *  that the loads are in flight together. blockDim.x is whole warps. */
template <int VECTOR, int ROWS, cache_use USE, bool BORDER>
__global__ void __launch_bounds__(512) conv2d(const prem_native_work work) {
  const conv2d_params *params = (const conv2d_params *)work.params;
  const int32_t columns = (int32_t)work.columns, rows = work.rows;
  const int32_t last = VECTOR == 1 ? columns - 1 : columns + (BORDER ? 0 : 1);
  const uint32_t across = VECTOR * blockDim.x, down = ROWS * blockDim.y;
  const uint32_t chunks_across = ((uint32_t)columns + across - 1u) / across;
  const uint32_t chunks = chunks_across * (((uint32_t)rows + down - 1u) / down);
  for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const uint32_t chunk_row = chunk / chunks_across;
    const int32_t column =
        (int32_t)((chunk - chunk_row * chunks_across) * across + VECTOR * threadIdx.x);
    const int32_t row = (int32_t)(chunk_row * down + ROWS * threadIdx.y);
    const unsigned char *in =
        work.in[0] + (int64_t)(row - (BORDER ? 1 : 0)) * work.in_pitch_bytes[0][2];
    float x[ROWS + 2][VECTOR + 2];
#pragma unroll
    for (int32_t r = 0; r < ROWS + 2; ++r)
      row_load<VECTOR, READ_USE<USE>, BORDER>((const float *)(in + r * work.in_pitch_bytes[0][2]),
                                              column, last, row + r < rows + 2, x[r]);
#pragma unroll
    for (int32_t r = 0; r < ROWS; ++r) {
      float sum[VECTOR];
#pragma unroll
      for (int32_t i = 0; i < VECTOR; ++i)
        sum[i] = conv2d_pixel(params, &x[r][i], VECTOR + 2);
      if (row + r < rows)
        row_store<VECTOR, USE>((float *)(work.out + (int64_t)(row + r) * work.out_pitch_bytes[2]) +
                                   column,
                               columns - column, sum);
    }
  }
  stamp_end(work.ends);
}

/**
 * Ten elements of a row for four neighbouring pixels, in pieces of 16 bytes; with BORDER the first
 * of them stands three to the left of `column`.
 */
template <cache_use READ, bool BORDER>
__device__ __forceinline__ void row_load_7x7(const float *row, int32_t column, int32_t last,
                                             bool there, float (&x)[10]) {
  constexpr int32_t skip = BORDER ? 1 : 0;
  float all[12];
#pragma unroll
  for (int32_t p = 0; p < 3; ++p) {
    const int32_t first = column + 4 * (p - skip);
    const float4 piece =
        there && first <= last ? piece_load<READ>(row + first) : make_float4(0, 0, 0, 0);
    all[4 * p] = piece.x, all[4 * p + 1] = piece.y;
    all[4 * p + 2] = piece.z, all[4 * p + 3] = piece.w;
  }
#pragma unroll
  for (int32_t i = 0; i < 10; ++i)
    x[i] = all[i + skip];
}

/** A thread computes ROWS rows of four pixels from ROWS + 6 rows of the input, each loaded once. A
 *  sum begins with -0, which changes no product that is added to it. */
template <int ROWS, cache_use USE, bool BORDER>
__global__ void __launch_bounds__(512) conv2d_7x7(const prem_native_work work) {
  constexpr int32_t SIDE = CONV2D_7X7_SIDE;
  const float *k = ((const conv2d_7x7_params *)work.params)->coefficients;
  const int32_t columns = (int32_t)work.columns, rows = work.rows;
  const int32_t last = columns - 1 + (BORDER ? SIDE / 2 : SIDE - 1);
  const uint32_t across = 4 * blockDim.x, down = ROWS * blockDim.y;
  const uint32_t chunks_across = ((uint32_t)columns + across - 1u) / across;
  const uint32_t chunks = chunks_across * (((uint32_t)rows + down - 1u) / down);
  for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const uint32_t chunk_row = chunk / chunks_across;
    const int32_t column =
        (int32_t)((chunk - chunk_row * chunks_across) * across + 4 * threadIdx.x);
    const int32_t row = (int32_t)(chunk_row * down + ROWS * threadIdx.y);
    const unsigned char *in =
        work.in[0] + (int64_t)(row - (BORDER ? SIDE / 2 : 0)) * work.in_pitch_bytes[0][2];
    float sum[ROWS][4];
#pragma unroll
    for (int32_t r = 0; r < ROWS; ++r)
      sum[r][0] = sum[r][1] = sum[r][2] = sum[r][3] = -0.0f;
#pragma unroll
    for (int32_t r = 0; r < ROWS + SIDE - 1; ++r) {
      float x[10];
      row_load_7x7<READ_USE<USE>, BORDER>((const float *)(in + r * work.in_pitch_bytes[0][2]),
                                          column, last, row + r < rows + SIDE - 1, x);
#pragma unroll
      for (int32_t o = 0; o < ROWS; ++o)
        if (r - o >= 0 && r - o < SIDE)
          conv2d_7x7_row(k + (r - o) * CONV2D_7X7_PITCH, x, sum[o]);
    }
#pragma unroll
    for (int32_t r = 0; r < ROWS; ++r)
      if (row + r < rows)
        row_store<4, USE>((float *)(work.out + (int64_t)(row + r) * work.out_pitch_bytes[2]) +
                              column,
                          columns - column, sum[r]);
  }
  stamp_end(work.ends);
}

/* ---- element by element ---------------------------------------------------------------------- */

struct increment_op {
  static constexpr int INPUTS = 1, ELEMENT_BYTES = 4;
  static __device__ __forceinline__ float4 apply(const unsigned char *params, float4 x, float4) {
    const float increment = ((const vector_increment_params *)params)->increment;
    return make_float4(x.x + increment, x.y + increment, x.z + increment, x.w + increment);
  }
};

/** Mode copy: what moving the bytes takes at the least. */
struct copy_op {
  static constexpr int INPUTS = 1, ELEMENT_BYTES = 4;
  static __device__ __forceinline__ float4 apply(const unsigned char *, float4 x, float4) {
    return x;
  }
};

/** Of two complex numbers, as the kernel's header says. */
template <prem_c64 (*F)(prem_c64, prem_c64)> struct complex_op {
  static constexpr int INPUTS = 2, ELEMENT_BYTES = 8;
  static __device__ __forceinline__ float4 apply(const unsigned char *, float4 p, float4 q) {
    return two_together(F({p.x, p.y}, {q.x, q.y}), F({p.z, p.w}, {q.z, q.w}));
  }
};

/** Of one complex number. */
template <prem_c64 (*F)(prem_c64)> struct single_op {
  static constexpr int INPUTS = 1, ELEMENT_BYTES = 8;
  static __device__ __forceinline__ float4 apply(const unsigned char *, float4 p, float4) {
    return two_together(F({p.x, p.y}), F({p.z, p.w}));
  }
};

/** Of a real constant, the only parameter, and a complex number. */
template <prem_c64 (*F)(float, prem_c64)> struct constant_op {
  static constexpr int INPUTS = 1, ELEMENT_BYTES = 8;
  static __device__ __forceinline__ float4 apply(const unsigned char *params, float4 p, float4) {
    const float constant = *(const float *)params;
    return two_together(F(constant, {p.x, p.y}), F(constant, {p.z, p.w}));
  }
};

/** A thread works PIECES pieces of 16 bytes of one row, a block's width apart; all are loaded
 * before any is used. */
template <class OP, int PIECES, cache_use USE>
__global__ void __launch_bounds__(512) element_wise(const prem_native_work work) {
  const int64_t row_bytes = work.columns * OP::ELEMENT_BYTES;
  const uint32_t across = PIECES * blockDim.x;
  const uint32_t pieces = (uint32_t)((row_bytes + 15) / 16);
  const uint32_t chunks_across = (pieces + across - 1u) / across;
  const uint32_t chunks = chunks_across * (((uint32_t)work.rows + blockDim.y - 1u) / blockDim.y);
  for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const uint32_t chunk_row = chunk / chunks_across;
    const uint32_t first = (chunk - chunk_row * chunks_across) * across + threadIdx.x;
    const int32_t row = (int32_t)(chunk_row * blockDim.y + threadIdx.y);
    if (row >= work.rows)
      continue;
    const unsigned char *from[2] = {
        work.in[0] + row_offset(work, row, work.in_pitch_bytes[0]),
        OP::INPUTS == 2 ? work.in[1] + row_offset(work, row, work.in_pitch_bytes[1]) : nullptr};
    unsigned char *to = work.out + row_offset(work, row, work.out_pitch_bytes);
    float4 x[PIECES], y[PIECES];
#pragma unroll
    for (int32_t i = 0; i < PIECES; ++i) {
      const uint32_t piece = first + (uint32_t)i * blockDim.x;
      x[i] = y[i] = make_float4(0, 0, 0, 0);
      if (piece < pieces) {
        x[i] = piece_load<USE>(from[0] + (int64_t)piece * 16);
        if constexpr (OP::INPUTS == 2)
          y[i] = piece_load<USE>(from[1] + (int64_t)piece * 16);
      }
    }
#pragma unroll
    for (int32_t i = 0; i < PIECES; ++i) {
      const uint32_t piece = first + (uint32_t)i * blockDim.x;
      if (piece < pieces)
        piece_store<USE>(to + (int64_t)piece * 16, row_bytes - (int64_t)piece * 16,
                         OP::apply(work.params, x[i], y[i]));
    }
  }
  stamp_end(work.ends);
}

/** Every channel times the one of the other input, which is loaded once for CHANNELS of them. Rows
 *  are those of all scales and groups of channels. */
template <int CHANNELS, cache_use USE>
__global__ void __launch_bounds__(512) multiply_channels(const prem_native_work work) {
  const int64_t row_bytes = work.columns * (int64_t)sizeof(prem_c64);
  const uint32_t pieces = (uint32_t)((row_bytes + 15) / 16), plane_rows = (uint32_t)work.rows_of[1];
  const uint32_t channels = (uint32_t)work.rows_of[0];
  const uint32_t groups = (channels + CHANNELS - 1u) / CHANNELS;
  const uint32_t rows = (uint32_t)work.rows / channels * groups;
  const uint32_t chunks_across = (pieces + blockDim.x - 1u) / blockDim.x;
  const uint32_t chunks = chunks_across * ((rows + blockDim.y - 1u) / blockDim.y);
  for (uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const uint32_t chunk_row = chunk / chunks_across;
    const uint32_t piece = (chunk - chunk_row * chunks_across) * blockDim.x + threadIdx.x;
    const uint32_t row = chunk_row * blockDim.y + threadIdx.y;
    if (row >= rows || piece >= pieces)
      continue;
    const uint32_t plane = row / plane_rows, scale = plane / groups;
    const int64_t row_in_plane = row - plane * plane_rows,
                  first = (plane - scale * groups) * CHANNELS;
    const unsigned char *a = work.in[0] + scale * work.in_pitch_bytes[0][0] +
                             first * work.in_pitch_bytes[0][1] +
                             row_in_plane * work.in_pitch_bytes[0][2] + (int64_t)piece * 16;
    const unsigned char *b = work.in[1] + scale * work.in_pitch_bytes[1][0] +
                             row_in_plane * work.in_pitch_bytes[1][2] + (int64_t)piece * 16;
    unsigned char *out = work.out + scale * work.out_pitch_bytes[0] +
                         first * work.out_pitch_bytes[1] + row_in_plane * work.out_pitch_bytes[2] +
                         (int64_t)piece * 16;
    const int64_t here = channels - first;
    const float4 y = piece_load<PLAIN>(b);
    float4 x[CHANNELS];
#pragma unroll
    for (int32_t c = 0; c < CHANNELS; ++c)
      x[c] =
          c < here ? piece_load<USE>(a + c * work.in_pitch_bytes[0][1]) : make_float4(0, 0, 0, 0);
#pragma unroll
    for (int32_t c = 0; c < CHANNELS; ++c)
      if (c < here)
        piece_store<USE>(out + c * work.out_pitch_bytes[1], row_bytes - (int64_t)piece * 16,
                         complex_op<kcf_product>::apply(work.params, x[c], y));
  }
  stamp_end(work.ends);
}

/** A thread a walker. */
__global__ void __launch_bounds__(512) walk(const prem_native_work work) {
  const int64_t threads = (int64_t)blockDim.x * blockDim.y;
  const int64_t own = (int64_t)threadIdx.y * blockDim.x + threadIdx.x;
  for (int64_t w = blockIdx.x * threads + own; w < work.columns; w += gridDim.x * threads)
    ((float *)work.out)[w] =
        walk_alone((const walk_params *)work.params, (const float *)work.in[0], w);
  stamp_end(work.ends);
}

/* ---- the variants ---------------------------------------------------------------------------- */

/* KERNEL, words, code, what a thread makes: rows x columns of elements, border */
#define VARIANT(KERNEL, WORDS, CODE, ROWS, COLUMNS, BORDER)                                        \
  { KERNEL, WORDS, (const void *)CODE, ROWS, COLUMNS, 512, BORDER, false, false }
#define BLOCK_VARIANT(KERNEL, WORDS, CODE)                                                         \
  { KERNEL, WORDS, (const void *)CODE, 1, 1, 512, -1, true, false }

#define CONV2D(VECTOR, ROWS, USE, BORDER, WORDS)                                                   \
  VARIANT("conv2d", WORDS, (conv2d<VECTOR, ROWS, USE, BORDER>), ROWS, VECTOR, BORDER)
#define CONV2D_ROWS(ROWS, BORDER)                                                                  \
  CONV2D(4, ROWS, PLAIN, BORDER, "float4 x " #ROWS " rows"),                                       \
      CONV2D(4, ROWS, STREAMED, BORDER, "float4 x " #ROWS " rows, streaming"),                     \
      CONV2D(4, ROWS, EVICT_LAST, BORDER, "float4 x " #ROWS " rows, evict last"),                  \
      CONV2D(1, ROWS, PLAIN, BORDER, "float x " #ROWS " rows"),                                    \
      CONV2D(1, ROWS, STREAMED, BORDER, "float x " #ROWS " rows, streaming")
#define CONV2D_ALL(BORDER)                                                                         \
  CONV2D_ROWS(1, BORDER), CONV2D_ROWS(2, BORDER), CONV2D_ROWS(4, BORDER), CONV2D_ROWS(8, BORDER)
#define CONV2D_7X7(ROWS, BORDER)                                                                   \
  VARIANT("conv2d_7x7", "float4 x " #ROWS " rows", (conv2d_7x7<ROWS, PLAIN, BORDER>), ROWS, 4,     \
          BORDER),                                                                                 \
      VARIANT("conv2d_7x7", "float4 x " #ROWS " rows, streaming",                                  \
              (conv2d_7x7<ROWS, STREAMED, BORDER>), ROWS, 4, BORDER),                              \
      VARIANT("conv2d_7x7", "float4 x " #ROWS " rows, evict last",                                 \
              (conv2d_7x7<ROWS, EVICT_LAST, BORDER>), ROWS, 4, BORDER)
#define CONV2D_7X7_ALL(BORDER)                                                                     \
  CONV2D_7X7(1, BORDER), CONV2D_7X7(2, BORDER), CONV2D_7X7(4, BORDER), CONV2D_7X7(8, BORDER)
#define PIECES_OF(KERNEL, PIECES, ...)                                                             \
  VARIANT(KERNEL, "float4 x " #PIECES, (element_wise<__VA_ARGS__, PIECES, PLAIN>), 1,              \
          PIECES * 16 / (__VA_ARGS__::ELEMENT_BYTES), -1),                                         \
      VARIANT(KERNEL, "float4 x " #PIECES ", streaming",                                           \
              (element_wise<__VA_ARGS__, PIECES, STREAMED>), 1,                                    \
              PIECES * 16 / (__VA_ARGS__::ELEMENT_BYTES), -1),                                     \
      VARIANT(KERNEL, "float4 x " #PIECES ", evict last",                                          \
              (element_wise<__VA_ARGS__, PIECES, EVICT_LAST>), 1,                                  \
              PIECES * 16 / (__VA_ARGS__::ELEMENT_BYTES), -1)
#define ELEMENT_WISE(KERNEL, ...)                                                                  \
  PIECES_OF(KERNEL, 1, __VA_ARGS__), PIECES_OF(KERNEL, 2, __VA_ARGS__),                            \
      PIECES_OF(KERNEL, 4, __VA_ARGS__)
#define CHANNELS_OF(CHANNELS)                                                                      \
  VARIANT("kcf_multiply_channels", "float4 x " #CHANNELS " channels",                              \
          (multiply_channels<CHANNELS, PLAIN>), CHANNELS, 2, -1),                                  \
      VARIANT("kcf_multiply_channels", "float4 x " #CHANNELS " channels, streaming",               \
              (multiply_channels<CHANNELS, STREAMED>), CHANNELS, 2, -1)
#define SUM_CHANNELS(AHEAD)                                                                        \
  VARIANT("kcf_sum_channels", "float4, " #AHEAD " channels ahead", (sum_channels<AHEAD, PLAIN>),   \
          1, 2, -1),                                                                               \
      VARIANT("kcf_sum_channels", "float4, " #AHEAD " channels ahead, streaming",                  \
              (sum_channels<AHEAD, STREAMED>), 1, 2, -1)
#define SQR_NORM(AHEAD)                                                                            \
  BLOCK_VARIANT("kcf_sqr_norm", "a block a tile, " #AHEAD " rows ahead",                           \
                (sqr_norm<AHEAD, PLAIN>)),                                                         \
      BLOCK_VARIANT("kcf_sqr_norm", "a block a tile, " #AHEAD " rows ahead, streaming",            \
                    (sqr_norm<AHEAD, STREAMED>))

#define MATVEC(AHEAD)                                                                              \
  {"matvec",                                                                                       \
   "a warp a row, " #AHEAD " ahead",                                                               \
   (const void *)(matvec<AHEAD, PLAIN>),                                                           \
   1,                                                                                              \
   MATVEC_ROWS,                                                                                    \
   512,                                                                                            \
   -1,                                                                                             \
   true,                                                                                           \
   false},                                                                                         \
  {                                                                                                \
    "matvec", "a warp a row, " #AHEAD " ahead, streaming",                                         \
        (const void *)(matvec<AHEAD, STREAMED>), 1, MATVEC_ROWS, 512, -1, true, false              \
  }

const prem_native_variant variants[] = {
    CONV2D_ALL(1),
    CONV2D_ALL(0),
    CONV2D_7X7_ALL(1),
    CONV2D_7X7_ALL(0),
    ELEMENT_WISE("kcf_add", complex_op<kcf_sum>),
    ELEMENT_WISE("kcf_add_constant", constant_op<kcf_add_constant_element>),
    ELEMENT_WISE("kcf_conjugate", single_op<kcf_conjugate_element>),
    ELEMENT_WISE("kcf_divide", complex_op<kcf_divide_element>),
    ELEMENT_WISE("kcf_multiply", complex_op<kcf_product>),
    CHANNELS_OF(1),
    CHANNELS_OF(2),
    CHANNELS_OF(4),
    CHANNELS_OF(8),
    ELEMENT_WISE("kcf_multiply_constant", constant_op<kcf_multiply_constant_element>),
    ELEMENT_WISE("kcf_sqr_magnitude", single_op<kcf_sqr_magnitude_element>),
    MATVEC(4),
    MATVEC(16),
    SQR_NORM(4),
    SQR_NORM(8),
    SUM_CHANNELS(2),
    SUM_CHANNELS(8),
    SUM_CHANNELS(16),
    VARIANT("noop", "nothing", nothing, 0, 0, -1),
    ELEMENT_WISE("vector_increment", increment_op),
    PIECES_OF("vector_increment", 8, increment_op),
    BLOCK_VARIANT("vector_sum", "a block a tile", vector_sum),
    VARIANT("walk", "a thread a walker", walk, 1, 1, -1),
    {PREM_NATIVE_COPY, "cudaMemcpyAsync", (const void *)nothing, 0, 0, 512, -1, false, true},
    ELEMENT_WISE(PREM_NATIVE_COPY, copy_op),
    PIECES_OF(PREM_NATIVE_COPY, 8, copy_op)};

} // namespace

extern "C" const prem_native_variant *prem_native_variant_at(int32_t number) {
  return number < (int32_t)(sizeof variants / sizeof *variants) ? &variants[number] : nullptr;
}

extern "C" size_t prem_native_shared_bytes(const char *task_kernel, const void *params) {
  if (strcmp(task_kernel, "kcf_sqr_norm") != 0)
    return 0;
  const int32_t *tile = ((const kcf_sqr_norm_params *)params)->tile;
  const int32_t strands = tile[2] < KCF_STRANDS ? tile[2] : KCF_STRANDS;
  return (size_t)strands * (size_t)tile[3] * sizeof(double);
}

extern "C" const void *prem_native_gate_code(void) {
  return (const void *)gate;
}

extern "C" const void *prem_native_pass_gate_code(void) {
  return (const void *)pass_gate;
}

extern "C" const void *prem_native_pass_end_code(void) {
  return (const void *)pass_end;
}
