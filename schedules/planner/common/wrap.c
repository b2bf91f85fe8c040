/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a plan. */
#include "schedules/planner/common/wrap.h"

#include <inttypes.h>
#include <stdlib.h>

#include "prem/base/fail.h"
#include "prem/base/numbers.h"

/* A block in a hyperperiod. Its first phases may wait for the last ones by its units or buffers. */
typedef struct block_span {
  int64_t first_ns; /* its first start; PREM_MAX_NS: it has nothing to do */
  int64_t ready_ns; /* it is ready again */
} block_span;

static void note_slot(const prem_schedule *schedule, const prem_slot *slot, block_span *spans) {
  const prem_task *task = &schedule->tasks[slot->task];
  const int64_t gap_ns =
      prem_min_i64(prem_phase_gap_ns(schedule, task, (prem_phase)slot->phase), PREM_MAX_NS - 1);
  block_span *of = &spans[slot->block];
  of->first_ns = prem_min_i64(of->first_ns, slot->planned_ns);
  of->ready_ns = prem_max_i64(of->ready_ns, slot->planned_ns + slot->length_ns + gap_ns);
}

/* How long a hyperperiod must be. */
static prem_wide needed_ns(const prem_schedule *schedule, const block_span *spans) {
  prem_wide needed = 0;
  for (int32_t b = 0; b < schedule->platform.blocks; ++b) {
    const prem_wide length = (prem_wide)spans[b].ready_ns - spans[b].first_ns;
    needed = length > needed ? length : needed; /* below 0 where there is nothing to do */
  }
  return needed;
}

prem_status prem_planning_turn_around(const prem_planning *planning, prem_plan *plan) {
  const prem_schedule *schedule = planning->schedule;
  prem_slot *slots = NULL;
  int64_t count = 0;
  if (schedule->period_lcm_ns ||
      prem_schedule_gap_ns(schedule, NULL) == schedule->platform.guard_ns)
    return PREM_OK;
  block_span *spans = malloc(((size_t)schedule->platform.blocks + 1) * sizeof *spans);
  prem_status status =
      spans ? prem_plan_expand(schedule, plan, &slots, &count, planning->diag) : PREM_ERR_MEMORY;
  for (int32_t b = 0; b < schedule->platform.blocks && !status; ++b)
    spans[b] = (block_span){.first_ns = PREM_MAX_NS};
  for (int64_t i = 0; i < count && !status; ++i)
    if (!(slots[i].flags & PREM_SLOT_WARMUP))
      note_slot(schedule, &slots[i], spans);
  if (!status) {
    const prem_wide needed = needed_ns(schedule, spans) + planning->grid_ns - 1;
    const prem_wide length = needed - needed % planning->grid_ns;
    if (length > plan->hyperperiod_ns) {
      status = prem_planning_in_range(planning, length) ? PREM_OK : PREM_ERR_INFEASIBLE;
      plan->hyperperiod_ns = status ? plan->hyperperiod_ns : (int64_t)length;
    }
  }
  free(slots);
  free(spans);
  return status;
}

/* ---- where any plan may follow --------------------------------------------------------------- */

/* When the last phase is over and the rest behind it as well; `*last` is its slot, -1: none. */
static prem_wide rested_ns(const prem_planning *planning, const prem_slot *slots, int64_t count,
                           int64_t *last) {
  prem_wide latest_ns = 0;
  *last = -1;
  for (int64_t i = 0; i < count; ++i) {
    const prem_task *task = &planning->schedule->tasks[slots[i].task];
    const prem_wide rested =
        (prem_wide)slots[i].planned_ns + slots[i].length_ns + prem_planning_rest_ns(planning, task);
    if (rested <= latest_ns)
      continue;
    latest_ns = rested;
    *last = i;
  }
  return latest_ns;
}

static prem_status refuse_end(const prem_planning *planning, const prem_plan *plan,
                              const prem_slot *slot) {
  const prem_task *task = &planning->schedule->tasks[slot->task];
  return prem_fail(
      planning->diag, PREM_ERR_INFEASIBLE, 51, task->place, "plan",
      "no plan found: the %s of task '%s' ends at %" PRId64
      " and would, with what its block and its successors need after it, reach over the "
      "end of the hyperperiod of %" PRId64
      " ns, where operating modes with plans of their own are switched; use policy "
      "\"auto\", and no older plan",
      prem_phase_name((prem_phase)slot->phase), task->name, slot->planned_ns + slot->length_ns,
      plan->hyperperiod_ns);
}

prem_status prem_planning_end_within(const prem_planning *planning, prem_plan *plan) {
  prem_slot *slots = NULL;
  int64_t count = 0, last;
  if (!planning->ends_within)
    return PREM_OK;
  prem_status status = prem_plan_expand(planning->schedule, plan, &slots, &count, planning->diag);
  const prem_wide rested = status ? 0 : rested_ns(planning, slots, count, &last);
  if (!status && rested > plan->hyperperiod_ns) {
    const prem_wide needed = rested + planning->grid_ns - 1;
    if (planning->schedule->period_lcm_ns)
      status = refuse_end(planning, plan, &slots[last]);
    else if (!prem_planning_in_range(planning, needed))
      status = PREM_ERR_INFEASIBLE;
    else
      plan->hyperperiod_ns = (int64_t)(needed - needed % planning->grid_ns);
  }
  free(slots);
  return status;
}

bool prem_planning_draft_ends_within(const prem_planning *planning, const prem_draft *draft) {
  const prem_schedule *schedule = planning->schedule;
  bool is_within = true;
  if (!planning->ends_within || schedule->period_lcm_ns == 0)
    return true;
  for (int64_t i = 0; i < draft->count; ++i) {
    const prem_placement *p = &draft->placements[i];
    const prem_task *task = &schedule->tasks[p->task];
    is_within &= (prem_wide)p->start_ns + task->phase[p->phase].wcet_ns +
                     prem_planning_rest_ns(planning, task) <=
                 schedule->period_lcm_ns;
  }
  for (int64_t i = 0; i < draft->slot_count; ++i) {
    const prem_slot *s = &draft->slots[i];
    is_within &= (prem_wide)s->planned_ns + s->length_ns +
                     prem_planning_rest_ns(planning, &schedule->tasks[s->task]) <=
                 schedule->period_lcm_ns;
  }
  return is_within;
}
