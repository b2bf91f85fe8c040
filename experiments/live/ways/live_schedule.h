/* SPDX-License-Identifier: Apache-2.0 */
/** The schedule of a live session that does a work in each turn, as a file has it. */
#ifndef TTPREM_EXPERIMENTS_LIVE_WAYS_LIVE_SCHEDULE_H
#define TTPREM_EXPERIMENTS_LIVE_WAYS_LIVE_SCHEDULE_H

#include "experiments/live/ways/ways.h"

enum { PREM_EMPTY_FLOATS = 4 }; /* of each block in a turn without work: the smallest frame */

/**
 * Inputs: `x`, whose frames start hyperperiods, and of a product `y`, queued; output: `z`. A sum on
 * several blocks takes a second task, on one.
 *
 * Of mixed work, on one block, each command but the empty one has arrays of its own: x1, z1 and so
 * on. Their frames come before that of `x`, and commands without one are skipped.
 *
 * @param machine  as probed: its times count
 */
prem_status prem_live_schedule_make(const prem_way_setup *setup, const prem_machine *machine,
                                    prem_schedule **out, prem_diag *diag);

#endif
