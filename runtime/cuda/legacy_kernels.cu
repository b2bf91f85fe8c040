/*
 * Ordinary kernels, as somebody writes them who wants them fast and knows nothing of PREM: whole
 * arrays, 16-byte loads and stores, several rows or pieces a thread, neighbours from the warp. Each
 * exists in several variants; which is best is measured (legacy_tune.c). All of them stride over
 * the grid, so that any number of blocks is right: with a full grid the loop runs once.
 *
 * Arrays stand in boxes of zeros whose rows begin at 128 bytes (cuda_arrays.h): a halo is read like
 * any other element, and a 16-byte piece that begins in a row may be read whole, but only the
 * array's own elements are written.
 *
 * The end of a job is stamped by its blocks themselves, one atomic maximum each, after their last
 * store was issued. A stamping kernel behind it would add the two microseconds of a launch.
 */
#include "legacy_kernels.h"

#include "conv2d.h"
#include "device_clock.cuh"
#include "vector_increment.h"

namespace {

/** The whole block. */
__device__ __forceinline__ void stamp_end(long long *ends) {
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    atomicMax(&ends[blockIdx.x % PREM_LEGACY_SLOTS * PREM_LEGACY_SLOT_STRIDE],
              (long long)prem_clock_ns());
}

/* ---- conv2d ---------------------------------------------------------------------------------- */

/**
 * What a row of the input gives to VECTOR neighbouring pixels: VECTOR + 2 elements. Pixels 0 and up
 * of the output stand at `column`; with BORDER their neighbours begin one to the left.
 * With vectors the two elements besides come from the lanes on either side; the whole warp calls
 * it, all of it in one row.
 *
 * @param last  the last column that any pixel needs.
 */
template <int VECTOR, bool BORDER>
__device__ __forceinline__ void row_load(const float *row, int32_t column, int32_t last, bool there,
                                         float (&x)[VECTOR + 2]) {
  const bool mine = there && column <= last;
  if constexpr (VECTOR == 1) {
#pragma unroll
    for (int32_t i = 0; i < 3; ++i)
      x[i] = mine ? __ldg(row + column + i - (BORDER ? 1 : 0)) : 0.0f;
  } else {
    const uint32_t lane = threadIdx.x & 31u;
    const float4 own = mine ? __ldg((const float4 *)(row + column)) : make_float4(0, 0, 0, 0);
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

template <int VECTOR, bool STREAM>
__device__ __forceinline__ void row_store(float *to, int32_t count, const float (&sum)[VECTOR]) {
  if constexpr (VECTOR == 4)
    if (count >= 4) {
      const float4 all = make_float4(sum[0], sum[1], sum[2], sum[3]);
      if constexpr (STREAM)
        __stcs((float4 *)to, all);
      else
        *(float4 *)to = all;
      return;
    }
#pragma unroll
  for (int32_t i = 0; i < VECTOR; ++i)
    if (i < count) {
      if constexpr (STREAM)
        __stcs(to + i, sum[i]);
      else
        to[i] = sum[i];
    }
}

/** A thread computes ROWS rows of VECTOR pixels; everything is loaded before anything is used, so
 *  that the loads are in flight together. blockDim.x is whole warps. */
template <int VECTOR, int ROWS, bool STREAM, bool BORDER>
__global__ void __launch_bounds__(512) conv2d(const prem_legacy_work work) {
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
      row_load<VECTOR, BORDER>((const float *)(in + r * work.in_pitch_bytes[0][2]), column, last,
                               row + r < rows + 2, x[r]);
#pragma unroll
    for (int32_t r = 0; r < ROWS; ++r) {
      float sum[VECTOR];
#pragma unroll
      for (int32_t i = 0; i < VECTOR; ++i)
        sum[i] = conv2d_pixel(params, &x[r][i], VECTOR + 2);
      if (row + r < rows)
        row_store<VECTOR, STREAM>(
            (float *)(work.out + (int64_t)(row + r) * work.out_pitch_bytes[2]) + column,
            columns - column, sum);
    }
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

struct multiply_op {
  static constexpr int INPUTS = 2, ELEMENT_BYTES = 8;
  static __device__ __forceinline__ float4 apply(const unsigned char *, float4 p, float4 q) {
    return make_float4(fmaf(p.x, q.x, -(p.y * q.y)), fmaf(p.x, q.y, p.y * q.x),
                       fmaf(p.z, q.z, -(p.w * q.w)), fmaf(p.z, q.w, p.w * q.z));
  }
};

/** Where a row begins, from its number in the order of elements. */
__device__ __forceinline__ int64_t row_offset(const prem_legacy_work &work, int32_t row,
                                              const int64_t (&pitch_bytes)[3]) {
  if (work.rows_of[1] == work.rows) /* one plane */
    return row * pitch_bytes[2];
  const int32_t plane = row / work.rows_of[1];
  return plane / work.rows_of[0] * pitch_bytes[0] + plane % work.rows_of[0] * pitch_bytes[1] +
         row % work.rows_of[1] * pitch_bytes[2];
}

template <bool STREAM> __device__ __forceinline__ float4 piece_load(const unsigned char *from) {
  return STREAM ? __ldcs((const float4 *)from) : __ldg((const float4 *)from);
}

template <bool STREAM>
__device__ __forceinline__ void piece_store(unsigned char *to, int64_t bytes, float4 piece) {
  if (bytes >= 16) {
    if constexpr (STREAM)
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

/** A thread works PIECES pieces of 16 bytes of one row, a block's width apart; all are loaded
 * before any is used. */
template <class OP, int PIECES, bool STREAM>
__global__ void __launch_bounds__(512) element_wise(const prem_legacy_work work) {
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
        x[i] = piece_load<STREAM>(from[0] + (int64_t)piece * 16);
        if constexpr (OP::INPUTS == 2)
          y[i] = piece_load<STREAM>(from[1] + (int64_t)piece * 16);
      }
    }
#pragma unroll
    for (int32_t i = 0; i < PIECES; ++i) {
      const uint32_t piece = first + (uint32_t)i * blockDim.x;
      if (piece < pieces)
        piece_store<STREAM>(to + (int64_t)piece * 16, row_bytes - (int64_t)piece * 16,
                            OP::apply(work.params, x[i], y[i]));
    }
  }
  stamp_end(work.ends);
}

__global__ void __launch_bounds__(512) nothing(const prem_legacy_work work) {
  stamp_end(work.ends);
}

/* ---- the gate -------------------------------------------------------------------------------- */

enum { LOOK_NS = 100000 }; /* the host's word is far away: no look at it so shortly before */

__device__ void tell_host(const prem_legacy_gate &gate, prem_legacy_arrival how) {
  if (gate.arrived) {
    *(volatile uint32_t *)gate.arrived = how;
    __threadfence_system();
  }
}

__device__ uint32_t word_now(const prem_legacy_gate &gate) {
  return *(const volatile uint32_t *)gate.word;
}

/** Wait for GO, and agree on S. 0: stopped. */
__device__ int64_t start_wait(const prem_legacy_gate &gate) {
  const int64_t give_up_ns = prem_clock_ns() + gate.timeout_ns;
  uint32_t word;
  while ((word = word_now(gate)) == PREM_LEGACY_HOLD)
    if (prem_clock_ns() > give_up_ns) {
      atomicExch(&gate.state->stopped, 1u);
      return 0;
    }
  if (word == PREM_LEGACY_STOP)
    return 0;
  const long long start = prem_clock_ns() + gate.margin_ns;
  const long long agreed = (long long)atomicCAS((unsigned long long *)&gate.state->start_ns, 0ull,
                                                (unsigned long long)start);
  return agreed ? agreed : start;
}

/** When a job ended whose kernel has ended. */
__device__ int64_t end_of(const long long *ends) {
  long long last = 0;
  for (int32_t slot = 0; slot < PREM_LEGACY_SLOTS; ++slot)
    last = max(last, __ldcg(&ends[slot * PREM_LEGACY_SLOT_STRIDE]));
  return last;
}

__global__ void gate(const prem_legacy_gate gate) {
  tell_host(gate, PREM_LEGACY_WAITS);
  const int64_t came_ns = prem_clock_ns();
  const int64_t start = start_wait(gate);
  if (start == 0)
    return;
  tell_host(gate, PREM_LEGACY_STARTED);
  const int64_t until_ns = (gate.ends ? end_of(gate.ends) : start) + gate.offset_ns;
  if (gate.arrived && gate.margin_ns > 0 && came_ns > until_ns)
    atomicMax(&gate.state->late_ns, (long long)(came_ns - until_ns));
  for (int64_t now = prem_clock_ns(); now < until_ns; now = prem_clock_ns())
    if (until_ns - now > LOOK_NS && word_now(gate) == PREM_LEGACY_STOP)
      return;
}

/* ---- the variants ---------------------------------------------------------------------------- */

#define CONV2D(VECTOR, ROWS, STREAM, BORDER, WORDS)                                                \
  { "conv2d", WORDS, (const void *)conv2d<VECTOR, ROWS, STREAM, BORDER>, ROWS, VECTOR, 512, BORDER }
#define CONV2D_ROWS(ROWS, BORDER)                                                                  \
  CONV2D(4, ROWS, false, BORDER, "float4 x " #ROWS " rows"),                                       \
      CONV2D(4, ROWS, true, BORDER, "float4 x " #ROWS " rows, streaming"),                         \
      CONV2D(1, ROWS, false, BORDER, "float x " #ROWS " rows"),                                    \
      CONV2D(1, ROWS, true, BORDER, "float x " #ROWS " rows, streaming")
#define CONV2D_ALL(BORDER)                                                                         \
  CONV2D_ROWS(1, BORDER), CONV2D_ROWS(2, BORDER), CONV2D_ROWS(4, BORDER), CONV2D_ROWS(8, BORDER)
#define PIECES_OF(KERNEL, OP, PIECES)                                                              \
  {KERNEL,                                                                                         \
   "float4 x " #PIECES,                                                                            \
   (const void *)element_wise<OP, PIECES, false>,                                                  \
   1,                                                                                              \
   PIECES * 16 / OP::ELEMENT_BYTES,                                                                \
   512,                                                                                            \
   -1},                                                                                            \
  {                                                                                                \
    KERNEL, "float4 x " #PIECES ", streaming", (const void *)element_wise<OP, PIECES, true>, 1,    \
        PIECES * 16 / OP::ELEMENT_BYTES, 512, -1                                                   \
  }
#define ELEMENT_WISE(KERNEL, OP)                                                                   \
  PIECES_OF(KERNEL, OP, 1), PIECES_OF(KERNEL, OP, 2), PIECES_OF(KERNEL, OP, 4)

const prem_legacy_variant variants[] = {CONV2D_ALL(1),
                                        CONV2D_ALL(0),
                                        ELEMENT_WISE("kcf_multiply", multiply_op),
                                        {"noop", "nothing", (const void *)nothing, 0, 0, 512, -1},
                                        ELEMENT_WISE("vector_increment", increment_op)};

} // namespace

extern "C" const prem_legacy_variant *prem_legacy_variant_at(int32_t number) {
  return number < (int32_t)(sizeof variants / sizeof *variants) ? &variants[number] : nullptr;
}

extern "C" const void *prem_legacy_gate_code(void) {
  return (const void *)gate;
}
