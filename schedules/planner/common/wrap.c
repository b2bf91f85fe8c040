/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a one-shot plan. */
#include "schedules/planner/common/wrap.h"

#include <stdlib.h>

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
