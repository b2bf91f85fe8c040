/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Copies of live frames as tasks. A port's copy has its window in every period, known before
 * anything is planned. Planner and checker see it as a task of one phase on a block of its own that
 * can start at one instant alone, so that every rule for resources holds for it as well:
 * prem_copies_add() in ttprem/schedule.h.
 */
#pragma once

#include "ttprem/schedule.h"

/** Ports that have a copy. 0 of a schedule that is not bound: who reads an array is not known. */
int32_t prem_copy_count(const prem_schedule *schedule);
/** When the first copy of a port begins, from the hyperperiod's start, and how often it comes:
 *  `*period_ns`, 0: once in a hyperperiod. Of an input it lies before the release, so in the period
 *  before where the release is early; of an output it ends when the result is shown. */
int64_t prem_copy_start_ns(const prem_schedule *schedule, const prem_live_port *port,
                           int64_t *period_ns);

/** Take the copies' instants out of a plan that was made for the schedule with copies. */
void prem_copies_drop(const prem_schedule *schedule, prem_plan *plan);
