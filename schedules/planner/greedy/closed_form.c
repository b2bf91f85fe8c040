/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four closed-form schedules of the thesis on time-triggered PREM on a Jetson TX2 GPU: equal
 * kernels that start a fixed offset apart, round after round.
 *
 *   k  kernels (tasks) from 0, nk of them     n  a block's tiles from 0; the first w of them are
 *   b  blocks of a kernel from 0, nb each        warm-up and have no start (the thesis has w = 1)
 *   WU warm-up time                           T  the cycle, from one round to the next
 *
 *   whole tile, kernel-wise   start(k,b,n) = WU + (n-w) T + k PFoff
 *   whole tile, block-wise    start(k,b,n) = WU + (n-w) T + (k nb + b) PFoff
 *       T = number of offsets in a round times PFoff, at least one tile's length
 *       The prefetch is released, compute and writeback are chained.
 *   phases, kernel-wise       PF(k,b,n) = WU + (n-w) T + k PFoff
 *                             WB(k,b,n) = WU + (n-w) T + T_WBoff + k WBoff
 *   phases, block-wise        the same with k nb + b for k
 *       T_WBoff = (last k) PFoff + T_PF + T_C,  T = T_WBoff + (last k) WBoff + T_WB
 *       Compute is chained to its prefetch, the writeback has a release of its own.
 *
 * The thesis's text leaves T_C out of T_WBoff. A kernel's first writebacks could then precede the
 * end of its own compute; its public code has T_C in, and so have we. The text redefines only the
 * offsets of the block-wise schedules; the longer cycle is the code's, too.
 *
 * A guard (the thesis has none) is added where one round's last phase meets the next one's first,
 * and where the computes meet the writebacks. Tasks of different lengths get the slots of the
 * longest.
 */
#include "prem/base/fail.h"
#include "schedules/planner/common/planning.h"
#include "schedules/planner/greedy/greedy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"

typedef enum unit_kind { WHOLE_TILE, PHASES } unit_kind;

/** What the four policies differ in. */
typedef struct policy_form {
  const char *name;
  unit_kind unit;
  bool blockwise;
} policy_form;

static const policy_form forms[] = {{"tile_kernelwise", WHOLE_TILE, false},
                                    {"tile_blockwise", WHOLE_TILE, true},
                                    {"phase_kernelwise", PHASES, false},
                                    {"phase_blockwise", PHASES, true}};

static const policy_form *form_of(const char *policy) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i)
    if (strcmp(forms[i].name, policy) == 0)
      return &forms[i];
  return NULL;
}

bool prem_is_closed_form(const char *policy) {
  return form_of(policy) != NULL;
}

/* ---- what the formulas can serve ------------------------------------------------------------ */

static bool refuse(const prem_planning *planning, const prem_task *task, const char *what) {
  prem_diag_add(planning->diag, PREM_ERROR, 0, task->place, prem_key("tasks.%s", task->name).text,
                "policy '%s' cannot serve this task: %s; use policy \"auto\"", planning->policy,
                what);
  return false;
}

static bool serves_task(const prem_planning *planning, const policy_form *form,
                        const prem_task *task) {
  const prem_task *first = &planning->schedule->tasks[0];
  if (task->period_ns)
    return refuse(planning, task, "it is periodic, the formulas are for one-shot tasks");
  if (task->after_count)
    return refuse(planning, task, "it has `after`, the formulas know no precedence");
  if (task->release_ns)
    return refuse(planning, task, "it has a release_ns, the formulas start all tasks together");
  if (task->block_count != first->block_count || task->tile_count != first->tile_count)
    return refuse(planning, task,
                  "it has not as many tiles and blocks as the first task, the formulas are for "
                  "equal kernels");
  if (form->blockwise && task->together && task->block_count > 1)
    return refuse(planning, task, "its blocks start together, here they start one after another");
  return true;
}

/* Blocks have one task each. */
static prem_status judge_blocks(const prem_planning *planning) {
  const prem_schedule *schedule = planning->schedule;
  bool apart = true, *taken = calloc((size_t)schedule->platform.blocks + 1, sizeof *taken);
  if (!taken)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count && apart; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t i = 0; i < task->block_count && apart; ++i) {
      if (taken[task->blocks[i]])
        apart = refuse(planning, task, "it shares a block with a task further up");
      taken[task->blocks[i]] = true;
    }
  }
  free(taken);
  return apart ? PREM_OK : PREM_ERR_INVALID;
}

static bool serves(const prem_planning *planning, const policy_form *form) {
  bool all = true;
  for (int32_t t = 0; t < planning->schedule->task_count; ++t)
    if (!serves_task(planning, form, &planning->schedule->tasks[t]))
      all = false;
  return all;
}

/* ---- the times of a round ------------------------------------------------------------------- */

typedef struct round_times {
  int64_t phase_ns[PREM_PHASE_COUNT]; /* the longest of all tasks; 0 where no task has it */
  int64_t prefetch_offset_ns, writeback_offset_ns;
  int64_t first_writeback_ns; /* T_WBoff; 0 with whole tiles */
  int64_t cycle_ns;           /* T */
  int64_t rounds;             /* with a start: a block's tiles but the warm-up */
} round_times;

static int64_t longest(const prem_schedule *schedule, prem_phase phase) {
  int64_t max = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_phase_spec *spec = &schedule->tasks[t].phase[phase];
    if (spec->exists && spec->wcet_ns > max)
      max = spec->wcet_ns;
  }
  return max;
}

/* From a block's compute to its next one, a round later. */
static prem_wide between_computes_ns(const prem_schedule *schedule) {
  int64_t max = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->phase[PREM_COMPUTE].exists)
      max = prem_max_i64(max, prem_unit_gap_ns(schedule, task, PREM_COMPUTE, 0));
  }
  return (prem_wide)longest(schedule, PREM_COMPUTE) + max;
}

/* The offset that the file gives, or the phase's length with the guard. */
static bool offset_of(const prem_planning *planning, const char *key, int64_t given_ns,
                      int64_t phase_ns, int64_t *out) {
  prem_wide own = (prem_wide)phase_ns + prem_schedule_gap_ns(planning->schedule, NULL);
  if (!prem_planning_in_range(planning, own))
    return false;
  *out = given_ns ? given_ns : (int64_t)own;
  return prem_planning_align(planning, key, out);
}

static bool set_time(const prem_planning *planning, const char *key, prem_wide value_ns,
                     int64_t *out) {
  if (!prem_planning_in_range(planning, value_ns))
    return false;
  *out = (int64_t)value_ns;
  return prem_planning_align(planning, key, out);
}

/* The thesis's text asks for at least this offset: below it a round's last writeback begins before
 * its first one has ended, so that all of them meet. The checker judges whether they may. */
static void note_close_writebacks(const prem_planning *planning, prem_wide starts,
                                  const round_times *times) {
  const int64_t length_ns = times->phase_ns[PREM_WRITEBACK];
  if (starts < 2 || (starts - 1) * times->writeback_offset_ns >= length_ns)
    return;
  const int64_t min_ns =
      prem_round_up((length_ns + (int64_t)starts - 2) / ((int64_t)starts - 1), planning->grid_ns);
  prem_diag_add(planning->diag, PREM_NOTE, 0, planning->schedule->policy.place,
                "policy.writeback_offset_ns",
                "%" PRId64 " ns apart, all writebacks of a round meet: the last one begins before "
                "the first has ended, after %" PRId64 " ns; from %" PRId64 " ns on they do not",
                times->writeback_offset_ns, length_ns, min_ns);
}

/** What one start of a round holds of a resource. */
typedef struct round_hold {
  int64_t held_ns; /* from the start to the end of the last phase that holds it; 0: none does */
  int32_t demand;  /* of that phase: the chain holds as much from its start on */
} round_hold;

static round_hold hold_of(const prem_task *task, prem_phase first, prem_phase last,
                          int32_t resource) {
  round_hold hold = {0};
  int64_t before_ns = 0;
  for (int p = (int)first; p <= (int)last; ++p) {
    const prem_phase_spec *spec = &task->phase[p];
    if (!spec->exists)
      continue;
    if (spec->demand[resource] > 0)
      hold = (round_hold){before_ns + spec->busy_ns, spec->demand[resource]};
    before_ns += spec->wcet_ns;
  }
  return hold;
}

/* The least that any start of a round holds, and for how long at most. */
static round_hold least_hold(const prem_schedule *schedule, prem_phase first, prem_phase last,
                             int32_t resource, int64_t *most_ns) {
  round_hold least = hold_of(&schedule->tasks[0], first, last, resource);
  *most_ns = least.held_ns;
  for (int32_t t = 1; t < schedule->task_count; ++t) {
    const round_hold hold = hold_of(&schedule->tasks[t], first, last, resource);
    least.held_ns = prem_min_i64(least.held_ns, hold.held_ns);
    least.demand = prem_min_i32(least.demand, hold.demand);
    *most_ns = prem_max_i64(*most_ns, hold.held_ns);
  }
  return least;
}

/* Refuse an offset of the file at which starts of a round must exceed a resource (E037). Only what
 * is certain is refused here; the checker judges the rest. */
static bool judge_offset(const prem_planning *planning, const policy_form *form, const char *key,
                         int64_t offset_ns, prem_phase first, prem_phase last, prem_wide starts) {
  const prem_schedule *schedule = planning->schedule;
  const int32_t blocks = schedule->tasks[0].block_count;
  for (int32_t r = 0; r < schedule->platform.resource_count; ++r) {
    const prem_resource *resource = &schedule->platform.resources[r];
    if (resource->per_task && form->blockwise && blocks > 1)
      continue; /* blocks of one task count once, those of two tasks twice */
    int64_t most_ns;
    const round_hold hold = least_hold(schedule, first, last, r, &most_ns);
    const int64_t demand =
        (int64_t)hold.demand * (resource->per_task || form->blockwise ? 1 : blocks);
    if (demand == 0 || demand > resource->capacity)
      continue; /* no offset helps */
    const int64_t at_once = resource->capacity / demand;
    if (starts <= at_once || at_once * (prem_wide)offset_ns >= hold.held_ns)
      continue;
    const int64_t need_ns = most_ns + prem_schedule_gap_ns(schedule, NULL);
    prem_diag_add(planning->diag, PREM_ERROR, 37, schedule->policy.place, key,
                  "%" PRId64 " ns apart, %" PRId64 " starts of a round hold '%s' at once, and its "
                  "capacity is for %" PRId64 "; give %" PRId64 " ns or more, or leave the key out",
                  offset_ns,
                  prem_min_i64((int64_t)starts, (hold.held_ns + offset_ns - 1) / offset_ns),
                  resource->name, at_once,
                  prem_round_up((need_ns + at_once - 1) / at_once, planning->grid_ns));
    return false;
  }
  return true;
}

static bool find_times(const prem_planning *planning, const policy_form *form, round_times *out) {
  const prem_schedule *schedule = planning->schedule;
  const prem_task *first = &schedule->tasks[0];
  int64_t guard_ns = prem_schedule_gap_ns(schedule, NULL);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    out->phase_ns[p] = longest(schedule, (prem_phase)p);
  out->rounds = prem_planning_tiles_on(first, 0) - prem_planning_warmup(planning, first);
  if (!offset_of(planning, "policy.prefetch_offset_ns", schedule->policy.prefetch_offset_ns,
                 out->phase_ns[PREM_PREFETCH], &out->prefetch_offset_ns))
    return false;
  prem_wide starts = (prem_wide)schedule->task_count * (form->blockwise ? first->block_count : 1);
  const bool is_whole = form->unit == WHOLE_TILE;
  if (out->rounds > 0 && schedule->policy.prefetch_offset_ns > 0 &&
      !judge_offset(planning, form, "policy.prefetch_offset_ns", out->prefetch_offset_ns,
                    PREM_PREFETCH, is_whole ? PREM_WRITEBACK : PREM_COMPUTE, starts))
    return false;
  const prem_wide computes = between_computes_ns(schedule);
  prem_wide fetch_and_compute =
      (prem_wide)out->phase_ns[PREM_PREFETCH] + out->phase_ns[PREM_COMPUTE];
  if (is_whole) {
    prem_wide tile = fetch_and_compute + out->phase_ns[PREM_WRITEBACK] + guard_ns;
    prem_wide length = prem_max_wide(starts * out->prefetch_offset_ns, computes);
    return set_time(planning, "policy.use: the cycle", length < tile ? tile : length,
                    &out->cycle_ns);
  }
  if (!offset_of(planning, "policy.writeback_offset_ns", schedule->policy.writeback_offset_ns,
                 out->phase_ns[PREM_WRITEBACK], &out->writeback_offset_ns))
    return false;
  if (out->rounds > 0 && schedule->policy.writeback_offset_ns > 0 &&
      !judge_offset(planning, form, "policy.writeback_offset_ns", out->writeback_offset_ns,
                    PREM_WRITEBACK, PREM_WRITEBACK, starts))
    return false;
  note_close_writebacks(planning, starts, out);
  prem_wide first_writeback = (starts - 1) * out->prefetch_offset_ns + fetch_and_compute + guard_ns;
  if (!set_time(planning, "policy.use: the first writeback", first_writeback,
                &out->first_writeback_ns))
    return false;
  prem_wide length = out->first_writeback_ns + (starts - 1) * out->writeback_offset_ns +
                     out->phase_ns[PREM_WRITEBACK] + guard_ns;
  return set_time(planning, "policy.use: the cycle", prem_max_wide(length, computes),
                  &out->cycle_ns);
}

/* ---- the runs ------------------------------------------------------------------------------- */

/* One phase of all rounds of a task, started at `first_ns` + its place in the round times the
 * offset, with what follows it. */
static prem_affine run_of(const prem_planning *planning, const policy_form *form,
                          const round_times *times, int32_t t, prem_phase phase, int64_t first_ns,
                          int64_t offset_ns) {
  const prem_task *task = &planning->schedule->tasks[t];
  int64_t place = form->blockwise ? (int64_t)t * task->block_count : t;
  int64_t warmup = prem_planning_warmup(planning, task);
  return (prem_affine){.task = t,
                       .phase = phase,
                       .count = task->block_count,
                       .start_ns = first_ns + place * offset_ns,
                       .block_step_ns = form->blockwise ? offset_ns : 0,
                       .repeat = times->rounds,
                       .step_ns = times->rounds > 1 ? times->cycle_ns : 0,
                       .tile = warmup * task->block_count,
                       .tile_per_block = 1,
                       .tile_per_repeat = task->block_count,
                       .jobs = 1,
                       .join_task = -1};
}

/* The first of the task's phases from `first` to `last`, the rest of them chained to it. */
static bool head_of(const prem_task *task, prem_phase first, prem_phase last, prem_phase *head,
                    uint32_t *chain) {
  const uint32_t bit[PREM_PHASE_COUNT] = {0, PREM_CHAIN_COMPUTE, PREM_CHAIN_WRITEBACK};
  bool found = false;
  *chain = 0;
  for (int p = (int)first; p <= (int)last; ++p) {
    if (!task->phase[p].exists)
      continue;
    if (found)
      *chain |= bit[p];
    else
      *head = (prem_phase)p;
    found = true;
  }
  return found;
}

static prem_status add_phases(const prem_planning *planning, const policy_form *form,
                              const round_times *times, int32_t t, prem_plan *plan) {
  const prem_task *task = &planning->schedule->tasks[t];
  prem_phase last = form->unit == WHOLE_TILE ? PREM_WRITEBACK : PREM_COMPUTE;
  prem_phase head = PREM_PREFETCH;
  uint32_t chain;
  prem_status status = PREM_OK;
  if (head_of(task, PREM_PREFETCH, last, &head, &chain)) {
    prem_affine run =
        run_of(planning, form, times, t, head, plan->warmup_ns, times->prefetch_offset_ns);
    run.chain = chain;
    status = prem_plan_add_affine(plan, &run);
  }
  if (status || form->unit == WHOLE_TILE || !task->phase[PREM_WRITEBACK].exists)
    return status;
  prem_affine run = run_of(planning, form, times, t, PREM_WRITEBACK,
                           plan->warmup_ns + times->first_writeback_ns, times->writeback_offset_ns);
  return prem_plan_add_affine(plan, &run);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* The last instant that a round can reach; no start of it is later, so that all fit if it does. */
static bool round_fits(const prem_planning *planning, const policy_form *form,
                       const round_times *times, const prem_plan *plan) {
  prem_wide starts = (prem_wide)planning->schedule->task_count *
                     (form->blockwise ? planning->schedule->tasks[0].block_count : 1);
  prem_wide tile = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    tile += times->phase_ns[p];
  return prem_planning_in_range(planning, (prem_wide)plan->warmup_ns +
                                              (prem_wide)times->rounds * times->cycle_ns +
                                              starts * times->prefetch_offset_ns +
                                              starts * times->writeback_offset_ns + tile);
}

/* Ends of the plan and of its tasks: the length of the plan, and the deadlines. */
static prem_status judge_ends(const prem_planning *planning, prem_plan *plan) {
  const prem_schedule *schedule = planning->schedule;
  prem_slot *slots;
  int64_t count, *end_ns = calloc((size_t)schedule->task_count, sizeof *end_ns);
  if (!end_ns)
    return PREM_ERR_MEMORY;
  int64_t last_ns = plan->warmup_ns;
  prem_status status = prem_plan_expand(schedule, plan, &slots, &count, planning->diag);
  for (int64_t i = 0; i < count; ++i) {
    if (slots[i].flags & PREM_SLOT_WARMUP)
      continue;
    int64_t end = slots[i].planned_ns + slots[i].length_ns;
    end_ns[slots[i].task] = prem_max_i64(end_ns[slots[i].task], end);
    if (end > last_ns)
      last_ns = end;
  }
  free(slots);
  for (int32_t t = 0; t < schedule->task_count && !status; ++t) {
    const prem_task *task = &schedule->tasks[t];
    int64_t due_ns = task->deadline_ns;
    if (task->publish_ns && (!due_ns || task->publish_ns < due_ns))
      due_ns = task->publish_ns;
    if (!due_ns || end_ns[t] <= due_ns)
      continue;
    prem_diag_add(planning->diag, PREM_ERROR, 33, task->place,
                  prem_key("tasks.%s", task->name).text,
                  "ends at %" PRId64 " ns, %" PRId64 " ns after it is due at %" PRId64
                  ": policy '%s' starts every phase by its formula",
                  end_ns[t], end_ns[t] - due_ns, due_ns, planning->policy);
    status = PREM_ERR_INFEASIBLE;
  }
  free(end_ns);
  if (!status)
    plan->hyperperiod_ns = prem_round_up(last_ns, planning->grid_ns);
  return status;
}

prem_status prem_plan_closed_form(const prem_planning *planning, prem_plan *plan) {
  const policy_form *form = form_of(planning->policy);
  round_times times = {0};
  if (!serves(planning, form))
    return PREM_ERR_INVALID;
  prem_status status = judge_blocks(planning);
  if (status)
    return status;
  if (!find_times(planning, form, &times) || !round_fits(planning, form, &times, plan))
    return PREM_ERR_INVALID;
  for (int32_t t = 0; t < planning->schedule->task_count && times.rounds > 0 && !status; ++t)
    status = add_phases(planning, form, &times, t, plan);
  return status ? status : judge_ends(planning, plan);
}
