/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside the generator: a set is planned anew, and the phases of an older plan keep their places
 * wherever that is possible.
 *
 * All of them are reserved first, those of unchanged tasks before the others, by start. What then
 * does not fit (a task that takes longer now, a new deadline) loses its place. The constructive
 * planner comes by, job by job: a round whose phases all have a place is left alone; for any other
 * one the largest subset of its phases is sought that can stay while the rest finds new places
 * between them, first without disturbing the jobs that follow, then at all.
 *
 * Phases whose starts the planner would not write itself (chains, joined pairs) keep their places
 * together or not at all.
 */
#pragma once

#include "schedules/planner/common/placing.h"

typedef struct prem_repair prem_repair;

/**
 * @param planning  must stay.
 * @param slots     the older plan's, in terms of the new set, as prem_plan_expand() gives them,
 * none that the new set does not have. They must stay.
 * @param changed   [task]: it is another one than in the older plan, or new
 */
prem_status prem_repair_new(const prem_planning *planning, const prem_slot *slots, int64_t count,
                            const bool *changed, prem_repair **out);
void prem_repair_free(prem_repair *repair);

/** As prem_plan_constructive(), with places to keep. NULL: none. */
prem_status prem_plan_repair(const prem_planning *planning, prem_repair *repair, prem_draft *out);

/** What the last plan did not do: jobs that were late, and joined pairs that had to be parted,
 * which the next one does without. */
int64_t prem_repair_late_count(const prem_repair *repair);
bool prem_repair_parted(const prem_repair *repair);
/** Let jobs yield in the next plan: those that were late, and those of which a place lies within
 *  `around` times the window of one that was late and, unless `any`, that have more time than it.
 *  Their places are not reserved; they stay where they are if nobody took it before their turn.
 *  `count` is how many yield now. */
prem_status prem_repair_yield(prem_repair *repair, int64_t around, bool any, int64_t *count);
/** [job] (task by task): whether it yields; may be changed between plans. */
bool *prem_repair_yielding(prem_repair *repair, int64_t *jobs);

/* For the constructive planner: */

/** The placer is empty; `order` has predecessors first. */
prem_status prem_repair_begin(prem_repair *repair, prem_placer *placer, const int32_t *order);
/** Place the next round; as_it_was[phase]: it stands in prem_draft.slots. */
prem_status prem_repair_place(prem_repair *repair, prem_round *round, int64_t from_ns,
                              int64_t due_ns, bool as_it_was[PREM_PHASE_COUNT]);
/** A job is too late. */
void prem_repair_miss(prem_repair *repair, int64_t job);
/** The chains and joined pairs that kept their places, for the draft. */
prem_status prem_repair_end(const prem_repair *repair, prem_draft *draft);
