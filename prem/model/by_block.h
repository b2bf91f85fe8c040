/* SPDX-License-Identifier: Apache-2.0 */
/** Precedence by block: `after` with per = "block". */
#pragma once

#include "ttprem/schedule.h"

/**
 * Judge all such edges of a bound schedule: of every array that the predecessor writes, what the
 * tiles of a block read is written on the same block. So no block waits for another one, and none
 * overwrites what another one is still to read.
 *
 * O(n log n) in tiles, where those of a block read each what few have written. @return false: E046,
 * see diag, or out of memory: `*status`.
 */
bool prem_judge_by_block(const prem_schedule *schedule, prem_status *status, prem_diag *diag);

/**
 * Do tiles of the task read what tiles of the same numbers of the other one write, and nothing else
 * of what it writes, so that on the same blocks no block waits for another one?
 */
bool prem_reads_tile_by_tile(const prem_task *task, const prem_task *before);

/** Edges of which the file does not say it are by block where both tasks leave their blocks open,
 *  have the same and go tile by tile. */
void prem_join_by_block(const prem_schedule *schedule, prem_task *task);

/** The part of a tile's window inside the array: first element and size in each dimension. False:
 *  none. */
bool prem_window_clip(const prem_task *task, const prem_window *window, const int64_t shape[4],
                      int32_t tile, int64_t first[4], int64_t size[4]);
