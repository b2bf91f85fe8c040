/* SPDX-License-Identifier: Apache-2.0 */
/** Tiles for the tasks whose file leaves them open. */
#ifndef TTPREM_PREM_MODEL_TILE_H
#define TTPREM_PREM_MODEL_TILE_H

#include "ttprem/kernel.h"
#include "ttprem/schedule.h"

/**
 * Choose the tile of a task with tile_open, whose ports are connected, into `bind` as the kernel
 * gets it: of those that fill a buffer (platform.tile_parts: a part of one) the one of which all
 * tiles together move least, whole rows where nothing speaks for others, then so many more
 * of them that the last round of tiles has work for all blocks. The kernel's bind
 * says what is legal. `bind` is as the kernel left it, and the task has its tile.
 *
 * @return PREM_OK             the kernel needs no tile, or one is chosen; tile_open says which
 *         PREM_ERR_INVALID    none is possible: `bind` has the kernel's reason
 */
prem_status prem_tile_choose(prem_schedule *schedule, prem_task *task, const prem_kernel *kernel,
                             prem_bind *bind);

#endif
