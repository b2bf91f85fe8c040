/* The way into the generator: what every planner may rely on is judged here, once. */
#include "planners.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const prem_policy_info policies[] = {
    {"auto", "any set of tasks: phase after phase, latest finish first, each as early as it can"},
    {"tile_kernelwise", "whole tiles, kernels one offset apart (equal one-shot tasks)"},
    {"tile_blockwise", "whole tiles, blocks one offset apart (equal one-shot tasks)"},
    {"phase_kernelwise", "prefetches, then writebacks, kernels one offset apart (equal one-shot)"},
    {"phase_blockwise", "prefetches, then writebacks, blocks one offset apart (equal one-shot)"},
    {NULL, NULL}};

const prem_policy_info *prem_policy_list(void) {
  return policies;
}

/* ---- what the planners share ---------------------------------------------------------------- */

int32_t prem_planning_warmup(const prem_planning *planning, const prem_task *task) {
  return task->period_ns == 0 ? planning->schedule->policy.warmup_tiles : 0;
}

int64_t prem_planning_tiles_on(const prem_task *task, int32_t position) {
  if (position >= task->tile_count)
    return 0;
  return (task->tile_count - 1 - position) / task->block_count + 1;
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

/* ---- what is judged before any planner ------------------------------------------------------ */

static bool policy_exists(const prem_planning *planning) {
  char known[256] = "";
  for (const prem_policy_info *policy = policies; policy->name; ++policy) {
    if (strcmp(policy->name, planning->policy) == 0)
      return true;
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", policy->name);
  }
  prem_diag_add(planning->diag, PREM_ERROR, 24, planning->schedule->policy.place, "policy.use",
                "unknown policy '%s'; there are %s", planning->policy, known);
  return false;
}

static bool tasks_profiled(const prem_planning *planning) {
  enum { NAMED = 8 };
  char names[NAMED * (PREM_NAME_BYTES + 4)] = "";
  const prem_task *first = NULL;
  int32_t missing = 0;
  for (int32_t t = 0; t < planning->schedule->task_count; ++t) {
    const prem_task *task = &planning->schedule->tasks[t];
    if (prem_task_profiled(task))
      continue;
    first = first ? first : task;
    size_t used = strlen(names);
    if (missing++ < NAMED)
      snprintf(names + used, sizeof names - used, "%s'%s'", used ? ", " : "", task->name);
  }
  if (!first)
    return true;
  char more[32] = "";
  if (missing > NAMED)
    snprintf(more, sizeof more, " and %d more", missing - NAMED);
  prem_diag_add(planning->diag, PREM_ERROR, 0, first->place, "tasks",
                "no profile: run `ttprem profile`; there are no WCETs for %s%s", names, more);
  return false;
}

static bool is_plannable(const prem_schedule *schedule) {
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (schedule->tasks[t].broken || schedule->tasks[t].tile_count < 1)
      return false;
  return schedule->task_count > 0;
}

static bool size_allowed(const prem_planning *planning) {
  const prem_schedule *schedule = planning->schedule;
  prem_wide slots = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    int phases = 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      phases += task->phase[p].exists;
    slots += (prem_wide)prem_task_jobs(schedule, task) * task->tile_count * (phases ? phases : 1);
  }
  if (slots <= PREM_MAX_SLOTS)
    return true;
  prem_diag_add(planning->diag, PREM_ERROR, 13, schedule->tasks[0].place, "tasks",
                "%.0f phases in one hyperperiod, which take %.1f GiB; the limit is %" PRId64
                " phases",
                (double)slots, (double)slots * (double)sizeof(prem_slot) / 0x1p30, PREM_MAX_SLOTS);
  return false;
}

/* Not an error: warm-up tiles have no releases, so the first planned ones would only be late. */
static void judge_warmup(const prem_planning *planning) {
  const prem_schedule *schedule = planning->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    prem_wide tile_ns = 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      tile_ns += task->phase[p].exists ? task->phase[p].wcet_ns : 0;
    prem_wide needed = tile_ns * prem_planning_warmup(planning, task);
    if (needed <= schedule->policy.warmup_ns)
      continue;
    prem_diag_add(planning->diag, PREM_WARNING, 0, schedule->policy.place, "policy.warmup_ns",
                  "%" PRId64
                  " ns are less than the %.0f ns that the warm-up tiles of task '%s' take",
                  schedule->policy.warmup_ns, (double)needed, task->name);
    return;
  }
}

static int64_t coarser_step(const prem_schedule *schedule, const prem_machine *machine) {
  int64_t step = schedule->platform.clock_step_ns;
  if (machine && machine->clock_step_ns > step)
    step = machine->clock_step_ns;
  return step > 0 ? step : 1;
}

static prem_status judge(const prem_planning *planning) {
  if (!is_plannable(planning->schedule))
    return PREM_ERR_ARGUMENT;
  if (!policy_exists(planning) || !tasks_profiled(planning) || !size_allowed(planning))
    return PREM_ERR_INVALID;
  judge_warmup(planning);
  return PREM_OK;
}

prem_status prem_plan_make(const prem_schedule *schedule, const prem_machine *machine,
                           const prem_plan_options *options, prem_plan **out, prem_diag *diag) {
  *out = NULL;
  prem_planning planning = {.schedule = schedule,
                            .grid_ns = coarser_step(schedule, machine),
                            .diag = diag,
                            .policy = options && options->policy ? options->policy
                                                                 : schedule->policy.use};
  prem_status status = judge(&planning);
  if (status)
    return status;
  prem_plan *plan = prem_plan_new();
  if (!plan)
    return PREM_ERR_MEMORY;
  snprintf(plan->policy, sizeof plan->policy, "%s", planning.policy);
  snprintf(plan->generator, sizeof plan->generator, "ttprem %s", prem_version());
  plan->clock_step_ns = planning.grid_ns;
  plan->warmup_tiles = schedule->policy.warmup_tiles;
  plan->warmup_ns = schedule->policy.warmup_ns;
  status = prem_planning_align(&planning, "policy.warmup_ns", &plan->warmup_ns) ? PREM_OK
                                                                                : PREM_ERR_INVALID;
  if (!status)
    status = prem_is_closed_form(planning.policy) ? prem_plan_closed_form(&planning, plan)
                                                  : prem_plan_constructive(&planning, plan);
  if (plan->hyperperiod_ns < planning.grid_ns) /* nothing but warm-up: it is as long as it likes */
    plan->hyperperiod_ns = planning.grid_ns;
  if (status)
    prem_plan_free(plan);
  else
    *out = plan;
  return status;
}
