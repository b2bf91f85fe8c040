/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordinary version of any kernel, a user's own included: one launch over all tiles. A block
 * takes one tile after the other: its threads bring the windows to shared memory, all of them
 * compute with the kernel's own compute function, and store what it made. No clock, no plan, no
 * warps of their own for memory; what hides the loads is how many blocks an SM holds. It serves
 * kernels that nobody has written over whole arrays (native_kernels.cu).
 */
#include "runtime/cuda/baselines/native_tiles.h"

#include "ttprem/kernel.h"
#undef PREM_MEMORY_THREADS
#define PREM_MEMORY_THREADS 0 /* of its lanes */
#include "kernels/kernel_headers.h"
#include "runtime/cuda/baselines/native_device.cuh"
#include "runtime/cuda/device/engine.cuh"

namespace {

enum { PIECE = 16 };

/** Where a port's window of the current tile lies. */
struct tile_window {
  int64_t origin[4];
  unsigned char *array; /* its first element in the array */
  int32_t extent[4];
  int32_t at;   /* the same element in the scratchpad */
  int32_t lead; /* bytes before it in its 16-byte piece */
};

extern __shared__ __align__(128) unsigned char tile_scratch[]; /* inputs, outputs, windows */

__device__ __forceinline__ tile_window *windows_of(const prem_native_tiles *of) {
  return (tile_window *)(tile_scratch + of->buffer_bytes);
}

/** What an aimed window's numbers add in dimension d: they lie in the window of another port. */
__device__ __noinline__ int32_t aim_number(const prem_native_tiles *of,
                                           const prem_device_port *port, const int32_t *index,
                                           int32_t d) {
  const prem_device_port *from = &of->ports[port->aim - 1];
  const unsigned char *numbers = from->array;
  int64_t origin;
  int32_t count = 0;
  for (int32_t i = 0; i < PREM_MAX_RANK; ++i) {
    prem_window_at(&from->dim[i], false, index, &origin, &count);
    numbers += origin * from->dim[i].pitch_bytes;
  }
  const int32_t number = d - (PREM_MAX_RANK - count);
  return number >= 0 ? ((const int32_t *)numbers)[number] : 0;
}

/** One thread. */
__device__ __forceinline__ void window_find(const prem_native_tiles *of, int32_t p,
                                            const int32_t *index, tile_window *out) {
  const prem_device_port *port = &of->ports[p];
  unsigned char *array = port->array;
#pragma unroll
  for (int32_t d = 0; d < PREM_MAX_RANK; ++d) {
    int64_t origin;
    prem_window_at(&port->dim[d], port->is_output != 0, index, &origin, &out->extent[d]);
    if (port->aim != 0)
      origin = prem_aimed(origin, aim_number(of, port, index, d), port->dim[d].extent,
                          port->dim[d].shape);
    out->origin[d] = origin;
    array += origin * port->dim[d].pitch_bytes;
  }
  out->array = array;
  out->lead = prem_lead_bytes(port, out->origin[3]);
  out->at = port->offset_bytes + out->lead;
}

/** A 16-byte piece of a window's rows. */
struct row_piece {
  unsigned char *array;   /* where it begins there */
  unsigned char *scratch; /* and in the scratchpad */
  int32_t first, end;     /* bytes of it that are the window's */
};

__device__ __forceinline__ row_piece piece_at(const prem_device_port *port,
                                              const tile_window *window, int32_t number,
                                              int32_t pieces) {
  const int32_t row = prem_lane_quotient(number, pieces), at = PIECE * (number - row * pieces);
  const int32_t plane = prem_lane_quotient(row, window->extent[2]);
  const int32_t box = prem_lane_quotient(plane, window->extent[1]);
  const int32_t i2 = row - plane * window->extent[2], i1 = plane - box * window->extent[1];
  const int32_t bytes = window->lead + window->extent[3] * port->element_bytes;
  return row_piece{
      window->array + box * port->dim[0].pitch_bytes + i1 * port->dim[1].pitch_bytes +
          i2 * port->dim[2].pitch_bytes + (at - window->lead),
      tile_scratch + window->at + (at - window->lead) +
          (box * port->dim[0].pitch + i1 * port->dim[1].pitch + i2 * port->dim[2].pitch) *
              port->element_bytes,
      max(window->lead - at, 0), min(bytes - at, PIECE)};
}

__device__ __forceinline__ int32_t row_pieces(const prem_device_port *port,
                                              const tile_window *window) {
  return (window->lead + window->extent[3] * port->element_bytes + PIECE - 1) / PIECE;
}

__device__ __forceinline__ int32_t rows_of(const tile_window *window) {
  return window->extent[0] * window->extent[1] * window->extent[2];
}

/** Whole pieces: around the array are zeros, and room. The block. */
__device__ __forceinline__ void window_fetch(const prem_device_port *port,
                                             const tile_window *window) {
  const int32_t pieces = row_pieces(port, window), count = pieces * rows_of(window);
#pragma unroll 4
  for (int32_t i = (int32_t)threadIdx.x; i < count; i += (int32_t)blockDim.x) {
    const row_piece piece = piece_at(port, window, i, pieces);
    *(int4 *)piece.scratch = *(const int4 *)piece.array;
  }
}

template <class WORD> __device__ __forceinline__ void words_store(const row_piece &piece) {
#pragma unroll 1
  for (int32_t at = piece.first; at < piece.end; at += (int32_t)sizeof(WORD))
    *(WORD *)(piece.array + at) = *(const WORD *)(piece.scratch + at);
}

/** What stands beside the window in a piece is another tile's. The block. */
__device__ __forceinline__ void window_store(const prem_device_port *port,
                                             const tile_window *window) {
  const int32_t pieces = row_pieces(port, window), count = pieces * rows_of(window);
  for (int32_t i = (int32_t)threadIdx.x; i < count; i += (int32_t)blockDim.x) {
    const row_piece piece = piece_at(port, window, i, pieces);
    if (piece.first == 0 && piece.end == PIECE)
      *(int4 *)piece.array = *(const int4 *)piece.scratch;
    else if (port->element_bytes >= 4)
      words_store<uint32_t>(piece);
    else if (port->element_bytes == 2)
      words_store<uint16_t>(piece);
    else
      words_store<unsigned char>(piece);
  }
}

/** Each thread makes its own copy, so that the compiler loads only what the kernel uses.
 *  @param IN_ARRAYS  of a compatible interval: they lie there */
template <bool IN_ARRAYS>
__device__ __forceinline__ void views_load(const prem_native_tiles *of,
                                           prem_view (&views)[PREM_MAX_PORTS]) {
#pragma unroll
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p) {
    const tile_window *from = &windows_of(of)[p];
    views[p].data = IN_ARRAYS ? (void *)from->array : (void *)(tile_scratch + from->at);
    views[p].reserved = 0;
#pragma unroll
    for (int32_t d = 0; d < 4; ++d) {
      views[p].extent[d] = from->extent[d];
      views[p].origin[d] = from->origin[d];
      if (d < 3)
        views[p].pitch[d] = of->ports[p].dim[d].pitch;
    }
  }
}

template <class KERNEL>
__device__ __forceinline__ void tile_work(const prem_native_work &work, int32_t tile) {
  const prem_native_tiles *of = work.tiles;
  const int32_t row = tile / of->grid[2];
  const int32_t index[PREM_MAX_GRID] = {row / of->grid[1], row % of->grid[1], tile % of->grid[2]};
  tile_window *windows = windows_of(of);
  for (int32_t p = (int32_t)threadIdx.x; p < of->view_count; p += (int32_t)blockDim.x)
    window_find(of, p, index, &windows[p]);
  __syncthreads();
  for (int32_t p = 0; p < of->port_count && !KERNEL::IS_INTERVAL; ++p)
    if (!of->ports[p].is_output)
      window_fetch(&of->ports[p], &windows[p]);
  __syncthreads();
  prem_view views[PREM_MAX_PORTS];
  views_load<KERNEL::IS_INTERVAL>(of, views);
  KERNEL::compute(work.params, views);
  __syncthreads();
  for (int32_t p = 0; p < of->port_count && !KERNEL::IS_INTERVAL; ++p)
    if (of->ports[p].is_output)
      window_store(&of->ports[p], &windows[p]);
}

template <class KERNEL>
__global__ void __launch_bounds__(512) by_tiles(const prem_native_work work) {
  for (int32_t tile = (int32_t)blockIdx.x; tile < work.tiles->tiles; tile += (int32_t)gridDim.x) {
    tile_work<KERNEL>(work, tile);
    __syncthreads();
  }
  stamp_end(work.ends);
}

#define TILED(NAME, INTERVAL)                                                                      \
  struct tiled_##NAME {                                                                            \
    static constexpr bool IS_INTERVAL = INTERVAL;                                                  \
    static __device__ __forceinline__ void compute(const unsigned char *params,                    \
                                                   const prem_view *views) {                       \
      NAME##_compute((const NAME##_params *)params, views);                                        \
    }                                                                                              \
  };
#define PREM_KERNEL(NAME, FAMILY)    TILED(NAME, false)
#define PREM_COMPATIBLE_KERNEL(NAME) TILED(NAME, true)
#include "kernels/kernels.def"
#undef PREM_COMPATIBLE_KERNEL
#undef PREM_KERNEL

const prem_native_variant variants[] = {
#define PREM_COMPATIBLE_KERNEL(NAME) PREM_KERNEL(NAME, )
#define PREM_KERNEL(NAME, FAMILY)                                                                  \
  {#NAME, "tile by tile", (const void *)by_tiles<tiled_##NAME>, 1, 1, 512, -1, true, false},
#include "kernels/kernels.def"
#undef PREM_KERNEL
#undef PREM_COMPATIBLE_KERNEL
    {nullptr, nullptr, nullptr, 0, 0, 0, 0, false, false}};

} // namespace

extern "C" const prem_native_variant *prem_native_tiled_variant(const char *task_kernel) {
  for (const prem_native_variant *variant = variants; variant->task_kernel; ++variant)
    if (strcmp(variant->task_kernel, task_kernel) == 0)
      return variant;
  return nullptr;
}

extern "C" int32_t prem_native_tiled_bytes(int32_t buffer_bytes) {
  return buffer_bytes + PREM_MAX_PORTS * (int32_t)sizeof(tile_window);
}
