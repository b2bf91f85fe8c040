/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Data edges: jobs that use the same array keep the order that the plan gives them, from one
 * hyperperiod to the next as well.
 *
 * A task's first phase that touches an array waits for all jobs of another task that the plan ends
 * before it, where one of the two writes the array: a writer does not overtake those who still read
 * (or write) what was there before, a reader does not overtake a writer. What the plan itself lets
 * run at the same time is not waited for.
 *
 * Of state arrays, and of what is made of them, each job sees a certain version: there the edges
 * are those of prem/model/versions.h, whatever the plan's order.
 */
#pragma once

#include "runtime/core/program.h"

/**
 * Append a program's data edges to the edges of its tasks, whose `after` is complete. Those that an
 * edge of the schedule file implies are left out. Slots as from prem_plan_expand(); those of jobs
 * that do not exist are passed over.
 *
 * No mode can deadlock on them: an edge never waits for a later hyperperiod, and within one only
 * for what the plan ends before. O(slots) where tasks share arrays that one writes, and O(jobs log
 * jobs) for each two of them; else nothing.
 */
prem_status prem_program_add_data_edges(prem_program *program, const prem_slot *slots,
                                        int64_t slot_count);
