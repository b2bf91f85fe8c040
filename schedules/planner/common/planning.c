/* SPDX-License-Identifier: Apache-2.0 */
/* What all planners share: windows of jobs, gaps, slack, the grid; a draft written down. */
#include "schedules/planner/common/planning.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"

int32_t prem_planning_warmup(const prem_planning *planning, const prem_task *task) {
  return task->period_ns == 0 ? planning->schedule->policy.warmup_tiles : 0;
}

int64_t prem_planning_tiles_on(const prem_task *task, int32_t position) {
  if (position >= task->tile_count)
    return 0;
  return (task->tile_count - 1 - position) / task->block_count + 1;
}

static int64_t horizon_of(const prem_planning *planning) {
  int64_t lcm_ns = planning->schedule->period_lcm_ns;
  return lcm_ns ? lcm_ns : PREM_MAX_NS;
}

int64_t prem_planning_rest_ns(const prem_planning *planning, const prem_task *task) {
  return prem_max_i64(prem_schedule_gap_ns(planning->schedule, task),
                      planning->ends_within ? prem_planning_precedence_ns(planning) : 0);
}

int64_t prem_planning_wrap_ns(const prem_planning *planning, const prem_task *task) {
  const prem_schedule *schedule = planning->schedule;
  if (schedule->period_lcm_ns == 0)
    return PREM_MAX_NS - schedule->platform.guard_ns;
  return schedule->period_lcm_ns - prem_planning_rest_ns(planning, task);
}

prem_job_window prem_planning_window(const prem_planning *planning, const prem_task *task,
                                     int32_t number) {
  int64_t begin_ns = number * task->period_ns, release_ns = begin_ns + task->release_ns;
  prem_wide due_ns = PREM_MAX_NS;
  if (task->deadline_ns)
    due_ns = (prem_wide)release_ns + task->deadline_ns;
  if (task->publish_ns)
    due_ns = prem_min_wide(due_ns, (prem_wide)release_ns + task->publish_ns);
  due_ns = prem_min_wide(due_ns, prem_planning_wrap_ns(planning, task));
  prem_job_window window = {.earliest_ns =
                                release_ns > planning->warmup_ns ? release_ns : planning->warmup_ns,
                            .due_ns = (int64_t)due_ns,
                            .target_ns = (int64_t)due_ns,
                            .last_start_ns = PREM_MAX_NS};
  if (task->period_ns) {
    window.last_start_ns = begin_ns + task->period_ns - 1;
    window.target_ns = (int64_t)prem_min_wide(due_ns, begin_ns + task->period_ns);
  }
  if (task->is_copy) /* its instant is given: there is nothing to be gained */
    window.target_ns = PREM_MAX_NS;
  return window;
}

static void count_slack(const prem_planning *planning, int32_t t, int32_t job, int64_t end_ns,
                        int64_t *min_ns) {
  prem_job_window window = prem_planning_window(planning, &planning->schedule->tasks[t], job);
  bool is_due = window.target_ns < PREM_MAX_NS - planning->schedule->platform.guard_ns;
  if (is_due && window.target_ns - end_ns < *min_ns)
    *min_ns = window.target_ns - end_ns;
}

int64_t prem_planning_slack(const prem_planning *planning, const prem_draft *draft) {
  int64_t min_ns = PREM_MAX_NS;
  for (int64_t i = 0; i < draft->count; ++i) {
    const prem_placement *p = &draft->placements[i];
    const prem_task *task = &planning->schedule->tasks[p->task];
    count_slack(planning, p->task, p->job, p->start_ns + task->phase[p->phase].wcet_ns, &min_ns);
  }
  for (int64_t i = 0; i < draft->slot_count; ++i)
    count_slack(planning, draft->slots[i].task, draft->slots[i].job,
                draft->slots[i].planned_ns + draft->slots[i].length_ns, &min_ns);
  return min_ns;
}

int64_t prem_planning_predecessor(const prem_planning *planning, const prem_task *task,
                                  const prem_after *after, int32_t number) {
  const prem_task *before = &planning->schedule->tasks[after->task];
  if (before->period_ns == task->period_ns && !after->latest)
    return number;
  int64_t release_ns = number * task->period_ns + task->release_ns;
  int64_t period_ns = before->period_ns ? before->period_ns : horizon_of(planning);
  int64_t number_before = prem_div_floor(release_ns - before->release_ns, period_ns);
  /* a one-shot task may be released after the hyperperiod, and is too late then */
  const int64_t last = prem_task_jobs(planning->schedule, before) - 1;
  return number_before < 0 ? -1 : prem_min_i64(number_before, last);
}

int64_t prem_planning_precedence_ns(const prem_planning *planning) {
  int64_t said_ns = prem_schedule_precedence_ns(planning->schedule);
  return said_ns > planning->machine_precedence_ns ? said_ns : planning->machine_precedence_ns;
}

int64_t prem_planning_gap_ns(const prem_planning *planning, const prem_after *after) {
  int64_t guard_ns = planning->schedule->platform.guard_ns;
  int64_t gap_ns = after->lag_ns > guard_ns ? after->lag_ns : guard_ns;
  int64_t precedence_ns = after->per_block ? 0 : prem_planning_precedence_ns(planning);
  return gap_ns > precedence_ns ? gap_ns : precedence_ns;
}

prem_holding prem_planning_holding(const prem_planning *planning, const prem_task *task,
                                   bool input) {
  int first = input ? PREM_PREFETCH : PREM_COMPUTE, last = input ? PREM_COMPUTE : PREM_WRITEBACK;
  if (planning->schedule->platform.buffers == 1) {
    if (!input)
      return (prem_holding){0};
    last = PREM_WRITEBACK;
  } else if (!task->phase[input ? PREM_PREFETCH : PREM_WRITEBACK].exists) {
    return (prem_holding){0};
  }
  while (first < last && !task->phase[first].exists)
    ++first;
  while (last > first && !task->phase[last].exists)
    --last;
  return (prem_holding){task->phase[first].exists, (prem_phase)first, (prem_phase)last};
}

bool prem_planning_in_range(const prem_planning *planning, prem_wide at_ns) {
  if (at_ns <= PREM_MAX_NS)
    return true;
  prem_diag_add(planning->diag, PREM_ERROR, 18, planning->schedule->policy.place, "policy",
                "the plan does not end before 2^62 ns (%" PRId64
                "): the times of the tasks are too large to be added up",
                PREM_MAX_NS);
  return false;
}

bool prem_planning_align(const prem_planning *planning, const char *key, int64_t *value_ns) {
  const prem_policy *policy = &planning->schedule->policy;
  int64_t above = *value_ns % planning->grid_ns;
  if (above == 0)
    return true;
  if (!prem_planning_in_range(planning, (prem_wide)*value_ns - above + planning->grid_ns))
    return false;
  int64_t rounded = *value_ns - above + planning->grid_ns;
  if (policy->align_exact) {
    prem_diag_add(planning->diag, PREM_ERROR, 22, policy->place, key,
                  "%" PRId64 " ns is not on the clock grid of %" PRId64
                  " ns, and align = \"exact\": use %" PRId64 " or %" PRId64 ", or align = \"up\"",
                  *value_ns, planning->grid_ns, *value_ns - above, rounded);
    return false;
  }
  prem_diag_add(planning->diag, PREM_NOTE, 0, policy->place, key,
                "%" PRId64 " ns rounded up to %" PRId64 ", the clock's step is %" PRId64 " ns",
                *value_ns, rounded, planning->grid_ns);
  *value_ns = rounded;
  return true;
}

prem_status prem_planning_compress(const prem_planning *planning, const prem_draft *draft,
                                   prem_plan *plan) {
  int64_t count = draft->slot_count;
  for (int64_t i = 0; i < draft->count; ++i)
    count += draft->placements[i].count;
  prem_slot *slots = malloc((size_t)(count + 1) * sizeof *slots);
  if (!slots)
    return PREM_ERR_MEMORY;
  prem_slot *slot = slots;
  for (int64_t i = 0; i < draft->count; ++i) {
    const prem_placement *placed = &draft->placements[i];
    const prem_task *task = &planning->schedule->tasks[placed->task];
    for (int32_t m = 0; m < placed->count; ++m)
      *slot++ = (prem_slot){.planned_ns = placed->start_ns,
                            .length_ns = task->phase[placed->phase].wcet_ns,
                            .head_ns = placed->start_ns,
                            .task = placed->task,
                            .job = placed->job,
                            .tile = placed->tile + m,
                            .block = task->blocks[(placed->tile + m) % task->block_count],
                            .phase = (uint8_t)placed->phase};
  }
  if (draft->slot_count)
    memcpy(slot, draft->slots, (size_t)draft->slot_count * sizeof *slot);
  plan->hyperperiod_ns = draft->hyperperiod_ns;
  prem_status status = prem_plan_compress(planning->schedule, slots, count, plan);
  free(slots);
  return status;
}
