/* SPDX-License-Identifier: Apache-2.0 */
/** Where a tile's windows lie in its block's scratchpad. */
#pragma once

#include "ttprem/kernel.h"
#include "ttprem/schedule.h"

enum { PREM_PIECE_BYTES = 16 /* rows are moved in such */ };

/** The layout of a task's ports, one behind the other, each at a multiple of 128, and of its work
 *  area, behind the outputs. @return false: a buffer beyond 2 GiB. */
bool prem_scratchpad_lay_out(const prem_schedule *schedule, prem_task *task,
                             const prem_kernel *kernel);
/** Of a schedule whose tasks are bound: what each block needs, with work areas where the block that
 *  needs most needs least. For prem_block_scratch_bytes(). @return PREM_OK, or memory. */
prem_status prem_scratchpad_measure(prem_schedule *schedule);
