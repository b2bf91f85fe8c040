/* SPDX-License-Identifier: Apache-2.0 */
/** Do the windows of an output cut its array into parts? */
#pragma once

#include "ttprem/kernel.h"

/**
 * Is every element of an array in the window of exactly one tile? Of windows that do not meet the
 * array it is asked that they go on as the others do.
 *
 * @param shape  right-aligned; like `grid` and the window's extents at least 1. At most INT32_MAX
 *               tiles.
 * @param port   the output's name, for `reason`.
 * @return false: no, or an index moves the window in two dimensions. `reason` says where: "row 14
 *         of 'out' is in no tile's window"
 */
bool prem_is_cut(const int32_t grid[PREM_MAX_GRID], const prem_window *window,
                 const int64_t shape[4], const char *port, char *reason, size_t reason_bytes);
