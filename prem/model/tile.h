/* SPDX-License-Identifier: Apache-2.0 */
/** Tiles for the tasks whose file leaves them open. */
#pragma once

#include "ttprem/kernel.h"
#include "ttprem/schedule.h"

/**
 * Before tiles are chosen: for how many blocks each task gets tiles. Tasks that may run beside each
 * other, since as many follow each other before them, share the blocks by the bytes of their
 * arrays. @return PREM_OK, or memory.
 */
prem_status prem_tile_share(prem_schedule *schedule);
/**
 * Choose the tile of a task with tile_open, whose ports are connected, into `bind` as the kernel
 * gets it: of those that fit a buffer, and of which each of the task's blocks has one
 * (platform.tile_pct: of all that it would get) or as few more as fit, the one with which the
 * blocks are done first, by bytes and a turn for each tile; of equal ones that which moves least.
 * The kernel's bind says what is legal. `bind` is as the kernel left it, and the task has its tile.
 *
 * @return PREM_OK             the kernel needs no tile, or one is chosen; tile_open says which
 *         PREM_ERR_INVALID    none is possible: `bind` has the kernel's reason
 */
prem_status prem_tile_choose(prem_schedule *schedule, prem_task *task, const prem_kernel *kernel,
                             prem_bind *bind);
