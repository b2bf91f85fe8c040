/* SPDX-License-Identifier: Apache-2.0 */
/** Tensor maps: with one, the copy engine of sm_90 moves a whole window by one instruction. */
#pragma once

#include "runtime/cuda/device/program.h"

enum {
  PREM_TENSOR_MAP_BYTES = 128, /* a CUtensorMap, aligned to 64 */
  PREM_TENSOR_PIECE = 8        /* bytes of what the map calls an element: the widest there is */
};

/**
 * Write the map of an array's box for the windows of a port.
 *
 * @return false: these windows go row by row. They are wider than a map's box may be (2048 bytes a
 * row, 256 rows or planes), or driver or toolkit (12.5) are too old for tensor maps.
 */
bool prem_tensor_map_make(const prem_device_array *array, const prem_window *window,
                          int32_t row_bytes, unsigned char out[PREM_TENSOR_MAP_BYTES]);

/**
 * Where a window lies in its map. An input's box is as wide as its rows in the scratchpad, and may
 * bring zeros behind the window; an output must fill its own.
 * @return false: this one goes row by row
 */
bool prem_tensor_map_place(const prem_device_array *array, const prem_window *window,
                           bool is_output, prem_device_move *move);
