/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The memory engine of the backends that run on the host: moving windows between arrays and a
 * block's scratchpad (laid out as prem_schedule_bind() says).
 */
#pragma once

#include "runtime/core/arrays.h"

/* `slots` says which slot of each port's array is meant; NULL, and no `slots`: the first of all.
 * Below 0, of prem_turn_ports.from: that of `to`, in its place. */

/**
 * The views that compute gets for a tile, once it is fetched.
 * @param in, out  the tile's input and output buffer in the scratchpad, 128-byte aligned.
 */
void prem_tile_views_slots(const prem_arrays *arrays, int32_t task, int32_t tile,
                           const int32_t *slots, void *in, void *out,
                           prem_view views[PREM_MAX_PORTS]);

/** Prefetch: copy all input windows of a tile into `in`; outside an array 0. An aimed window's
 *  place is what `in` then says, for the views as well. */
void prem_tile_fetch_slots(const prem_arrays *arrays, int32_t task, int32_t tile,
                           const int32_t *slots, void *in);
/** Writeback: copy all output windows of a tile from `out`; nothing outside the array is touched.
 */
void prem_tile_store_slots(prem_arrays *arrays, int32_t task, int32_t tile, const int32_t *slots,
                           const void *out);

/** What a tile has written to an output of type i32: the first row of its window.
 *  @param[out] count  how many numbers */
const int32_t *prem_tile_numbers(const prem_arrays *arrays, int32_t task, int32_t tile,
                                 const int32_t *slots, int32_t port, int32_t *count);

/** Compare the output windows of a tile with the references. */
void prem_tile_verify(const prem_arrays *arrays, int32_t task, int32_t tile, const int32_t *slots,
                      prem_verdict *verdict);

static inline void prem_tile_views(const prem_arrays *arrays, int32_t task, int32_t tile, void *in,
                                   void *out, prem_view views[PREM_MAX_PORTS]) {
  prem_tile_views_slots(arrays, task, tile, NULL, in, out, views);
}

static inline void prem_tile_fetch(const prem_arrays *arrays, int32_t task, int32_t tile,
                                   void *in) {
  prem_tile_fetch_slots(arrays, task, tile, NULL, in);
}

static inline void prem_tile_store(prem_arrays *arrays, int32_t task, int32_t tile,
                                   const void *out) {
  prem_tile_store_slots(arrays, task, tile, NULL, out);
}
