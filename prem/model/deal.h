/* SPDX-License-Identifier: Apache-2.0 */
/** Blocks for the tasks whose file leaves them open. */
#ifndef TTPREM_PREM_MODEL_DEAL_H
#define TTPREM_PREM_MODEL_DEAL_H

#include "ttprem/schedule.h"

/**
 * Give each task with open blocks (prem_task.blocks_open) that has none yet the blocks on which it
 * ends first, by list scheduling: tasks with the longest way to go come first, each begins when all
 * that it follows have ended, and of blocks that are free by then it takes those of the ones it
 * follows. A tile counts the times of its phases where all tasks have some, else its bytes. Blocks
 * of best-effort tasks are not dealt.
 *
 * Source: H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task
 * scheduling for heterogeneous computing. IEEE TPDS 13(3), 2002 (upward ranks, earliest finish).
 *
 * @return PREM_ERR_INVALID  a task finds no block (E027); PREM_ERR_MEMORY; PREM_OK where the tiles
 *                           of a task are not known yet: nothing is dealt then
 */
prem_status prem_deal_blocks(prem_schedule *schedule, prem_diag *diag);

#endif
