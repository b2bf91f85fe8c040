/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory engine: one warp moves the windows of a tile between the arrays and the scratchpad.
 *
 * Arrays stand in a box of zeros, so an input window is rows of whole 16-byte pieces wherever it
 * lies. An output row has a body of 16-byte pieces and at most three elements at either end, which
 * lanes store one by one, since what stands beside them belongs to another tile. Which rows, the
 * host has worked out.
 */
#pragma once

#include "runtime/cuda/device/clock.cuh"

/* ---- where a tile's windows lie -------------------------------------------------------------- */

/** Origin and extent of one dimension of a tile's window; outputs are cut to the array. */
static __device__ __forceinline__ void prem_window_at(const prem_device_dim *dim, bool is_output,
                                                      const int32_t index[PREM_MAX_GRID],
                                                      int64_t *origin, int32_t *extent) {
  int64_t at =
      dim->base + dim->step[0] * index[0] + dim->step[1] * index[1] + dim->step[2] * index[2];
  int64_t end = at + dim->extent;
  if (is_output) {
    at = at > 0 ? at : 0;
    end = end < dim->shape ? end : dim->shape;
  }
  *origin = at;
  *extent = (int32_t)(end > at ? end - at : 0);
}

/** Bytes between a 16-byte boundary and a window's rows, the same in the array and the scratchpad:
 *  arrays begin at such a boundary, and so do their rows. */
static __device__ __forceinline__ int32_t prem_lead_bytes(const prem_device_port *port,
                                                          int64_t innermost_origin) {
  return (int32_t)((uint32_t)innermost_origin * (uint32_t)port->element_bytes & 15u);
}

/** How a row of a writeback divides: bytes before the first 16-byte boundary, bytes in whole
 * pieces; what is left is its tail. */
struct prem_ends {
  int32_t head, body;
};

static __device__ __forceinline__ prem_ends prem_ends_of(const prem_device_move *move) {
  const int32_t lead = (int32_t)((uintptr_t)move->array & 15u);
  const int32_t head = min(lead ? 16 - lead : 0, move->width_bytes);
  return prem_ends{head, (move->width_bytes - head) & ~15};
}

/* ---- moving by bulk copies ------------------------------------------------------------------- */

/** Best-effort tasks pass through L2, so that what critical ones have there stays. */
#if defined(PREM_GATED) && PREM_GATED
constexpr bool PASSES_THROUGH = true;
#else
constexpr bool PASSES_THROUGH = false;
#endif

/**
 * What is fetched leaves L2 last. No byte is saved by it where the arrays are beyond L2, but the
 * memory delivers more, and fetches take long less often (docs/measured.md: measured, not
 * explained).
 */
static __device__ __forceinline__ uint64_t prem_fetch_policy(void) {
  return PASSES_THROUGH ? prem_pass_through_l2() : prem_keep_in_l2();
}

/** Start writing a box back. One lane. */
static __device__ __forceinline__ void prem_box_store(const int4 &box, const void *map,
                                                      uint32_t scratch) {
  if (PASSES_THROUGH)
    prem_bulk_store_box_by(map, box, scratch, prem_pass_through_l2());
  else
    prem_bulk_store_box(map, box, scratch);
}

/** Start writing a part of a row back. One lane. */
static __device__ __forceinline__ void prem_row_store(unsigned char *array, uint32_t scratch,
                                                      uint32_t bytes) {
  if (PASSES_THROUGH)
    prem_bulk_store_by(array, scratch, bytes, prem_pass_through_l2());
  else
    prem_bulk_store(array, scratch, bytes);
}

/** Start fetching a box into a buffer; the barrier expects the bytes already. One lane. It takes 80
 *  clocks, rows 30 and more for each of them. */
static __device__ __forceinline__ void prem_box_fetch(const int4 &box, const void *map,
                                                      uint32_t scratch, uint32_t signal) {
  prem_bulk_fetch_box(scratch, map, box, signal, prem_fetch_policy());
}

/** Start fetching row by row. One lane. */
static __device__ __forceinline__ void prem_rows_fetch(const prem_device_move *move,
                                                       const prem_device_port *port,
                                                       const unsigned char *buffer,
                                                       uint64_t *barrier) {
  const uint32_t at = prem_shared_address(buffer) + (uint32_t)move->scratch_at;
  const uint32_t signal = prem_shared_address(barrier);
  const uint32_t bytes = (uint32_t)move->width_bytes;
  const int64_t pitch = move->pitch_bytes;
  const uint32_t scratch_pitch = (uint32_t)move->scratch_pitch;
  const int32_t rows = move->rows;
  const uint64_t policy = prem_fetch_policy();
#pragma unroll 1
  for (int32_t p0 = 0; p0 < move->planes[0]; ++p0)
#pragma unroll 1
    for (int32_t p1 = 0; p1 < move->planes[1]; ++p1) {
      const unsigned char *array =
          move->array + p0 * port->dim[0].pitch_bytes + p1 * port->dim[1].pitch_bytes;
      uint32_t scratch = at + (uint32_t)(p0 * port->scratch_pitch[0] + p1 * port->scratch_pitch[1]);
#pragma unroll 4
      for (int32_t row = 0; row < rows; ++row) {
        prem_bulk_fetch(scratch, array, bytes, signal, policy);
        array += pitch;
        scratch += scratch_pitch;
      }
    }
}

/** A phase's first copy, its operands at hand before the phase may start. */
struct first_copy {
  int4 box;         /* see prem_device_move::box_at */
  const void *from; /* of a box its map, of a span the array */
  uint32_t scratch, bytes;
};

static __device__ __forceinline__ first_copy prem_first_copy(const prem_device_move *move,
                                                             int32_t count,
                                                             const prem_device_port *ports,
                                                             const unsigned char *buffer) {
  if (count == 0)
    return first_copy{{PREM_MOVE_ROWS, 0, 0, 0}, nullptr, 0, 0};
  const int4 box = *(const int4 *)move->box_at;
  return first_copy{
      box, prem_at_hand(box.x >= 0 ? ports[move->port].map : (const void *)move->array),
      prem_shared_address(buffer) + (uint32_t)move->scratch_at, (uint32_t)move->width_bytes};
}

/** Is it one copy, a box or a span? */
static __device__ __forceinline__ bool prem_is_one(const first_copy &first) {
  return first.box.x != PREM_MOVE_ROWS;
}

/** Start fetching into a buffer. One lane. */
static __device__ __forceinline__ void prem_move_fetch(const prem_device_move *move,
                                                       const prem_device_port *port,
                                                       const unsigned char *buffer,
                                                       uint64_t *barrier) {
  const int4 box = *(const int4 *)move->box_at;
  if (box.x >= 0)
    prem_box_fetch(box, port->map, prem_shared_address(buffer) + (uint32_t)move->scratch_at,
                   prem_shared_address(barrier));
  else
    prem_rows_fetch(move, port, buffer, barrier);
}

/** Start writing back the whole 16-byte pieces of the rows, if it is no box. One lane. */
static __device__ __forceinline__ void prem_move_store(const prem_device_move *move,
                                                       const prem_device_port *port,
                                                       const unsigned char *buffer,
                                                       const prem_ends &ends) {
  const uint32_t at = prem_shared_address(buffer) + (uint32_t)(move->scratch_at + ends.head);
  const int64_t pitch = move->pitch_bytes;
  const uint32_t scratch_pitch = (uint32_t)move->scratch_pitch;
  const int32_t rows = move->rows;
#pragma unroll 1
  for (int32_t p0 = 0; p0 < move->planes[0]; ++p0)
#pragma unroll 1
    for (int32_t p1 = 0; p1 < move->planes[1]; ++p1) {
      unsigned char *array =
          move->array + ends.head + p0 * port->dim[0].pitch_bytes + p1 * port->dim[1].pitch_bytes;
      uint32_t scratch = at + (uint32_t)(p0 * port->scratch_pitch[0] + p1 * port->scratch_pitch[1]);
#pragma unroll 1
      for (int32_t row = 0; row < rows; ++row) {
        prem_row_store(array, scratch, (uint32_t)ends.body);
        array += pitch;
        scratch += scratch_pitch;
      }
    }
}

/* ---- moving by lanes ------------------------------------------------------------------------- */

/** Row `row` of plane (p0, p1) of a window: where it begins in the array and in the scratchpad. */
static __device__ __forceinline__ void
prem_move_row(const prem_device_move *move, const prem_device_port *port, unsigned char *buffer,
              int32_t p0, int32_t p1, int32_t row, unsigned char **array, unsigned char **scratch) {
  *array = move->array + p0 * port->dim[0].pitch_bytes + p1 * port->dim[1].pitch_bytes +
           (int64_t)row * move->pitch_bytes;
  *scratch = buffer + move->scratch_at + p0 * port->scratch_pitch[0] + p1 * port->scratch_pitch[1] +
             row * move->scratch_pitch;
}

/** Fetch, and let it arrive. The whole warp. */
static __device__ __noinline__ void prem_move_fetch_lanes(const prem_device_move *move,
                                                          const prem_device_port *port,
                                                          unsigned char *buffer, int32_t engine) {
  const int32_t lane = (int32_t)(threadIdx.x & 31u);
  unsigned char *array, *scratch;
  for (int32_t p0 = 0; p0 < move->planes[0]; ++p0)
    for (int32_t p1 = 0; p1 < move->planes[1]; ++p1)
      for (int32_t row = 0; row < move->rows; ++row) {
        prem_move_row(move, port, buffer, p0, p1, row, &array, &scratch);
        for (int32_t at = 16 * lane; at < move->width_bytes; at += 16 * 32) {
          if (engine == PREM_ENGINE_CP_ASYNC) {
            prem_copy_16_from_l2(scratch + at, array + at);
            continue;
          }
          /* other blocks may have written it in this very launch: read it in L2, not in L1 */
          *(int4 *)(scratch + at) = __ldcg((const int4 *)(array + at));
        }
      }
  if (engine == PREM_ENGINE_CP_ASYNC)
    prem_copies_wait();
  __threadfence_block();
  __syncwarp();
}

/** Write back the whole 16-byte pieces of the rows. The whole warp. */
static __device__ __noinline__ void prem_move_store_lanes(const prem_device_move *move,
                                                          const prem_device_port *port,
                                                          unsigned char *buffer,
                                                          const prem_ends &ends) {
  const int32_t lane = (int32_t)(threadIdx.x & 31u);
  unsigned char *array, *scratch;
  for (int32_t p0 = 0; p0 < move->planes[0]; ++p0)
    for (int32_t p1 = 0; p1 < move->planes[1]; ++p1)
      for (int32_t row = 0; row < move->rows; ++row) {
        prem_move_row(move, port, buffer, p0, p1, row, &array, &scratch);
        for (int32_t at = ends.head + 16 * lane; at < ends.head + ends.body; at += 16 * 32)
          *(int4 *)(array + at) = *(const int4 *)(scratch + at);
      }
}

/** Write back the words at the two ragged ends of the rows, six at most, eight lanes a row; all of
 * a narrow row may be in them. The whole warp. */
static __device__ __noinline__ void prem_move_store_ends(const prem_device_move *move,
                                                         const prem_device_port *port,
                                                         unsigned char *buffer,
                                                         const prem_ends &ends) {
  const int32_t lane = (int32_t)(threadIdx.x & 31u);
  const int32_t word = 4 * (lane & 7);
  const int32_t at = word < ends.head ? word : ends.body + word;
  unsigned char *array, *scratch;
  if (at < move->width_bytes)
    for (int32_t p0 = 0; p0 < move->planes[0]; ++p0)
      for (int32_t p1 = 0; p1 < move->planes[1]; ++p1)
        for (int32_t row = lane >> 3; row < move->rows; row += 4) {
          prem_move_row(move, port, buffer, p0, p1, row, &array, &scratch);
          *(uint32_t *)(array + at) = *(const uint32_t *)(scratch + at);
        }
  __syncwarp();
}

/** Until every byte that this lane wrote is visible to all blocks and their bulk copies. */
static __device__ __forceinline__ void prem_store_publish(void) {
  __threadfence();
  prem_fence_async();
  __syncwarp();
}
