/* SPDX-License-Identifier: Apache-2.0 */
/* Before a plan: every group that may keeps its place. */
#include "schedules/planner/repair/state.h"

#include <stdlib.h>
#include <string.h>

/* ---- reserving ------------------------------------------------------------------------------- */

/* Its own window, and its order beside those phases of its tile that have a place. */
static bool is_in_order(const prem_repair *k, const prem_kept_group *of, const prem_round *r,
                        prem_phase phase, int64_t start_ns, int64_t length_ns, bool chained) {
  prem_job_window window = prem_planning_window(k->planning, r->task, r->job);
  if (start_ns < window.earliest_ns || start_ns + length_ns > window.due_ns ||
      (!chained && (start_ns > window.last_start_ns || start_ns % k->planning->grid_ns)))
    return false;
  const int32_t *places = k->place_of[prem_repair_tile(k, r->task_index, r->job, r->tile)];
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const prem_kept_group *b = p == (int)phase || places[p] < 0 ? NULL : &k->groups[places[p]];
    if (!b || b == of || b->state != PREM_PLACE_RESERVED)
      continue;
    const prem_slot *slot = prem_kept_group_slot(k, b, r, p);
    int64_t other_ns = slot ? slot->planned_ns : b->start_ns;
    int64_t other_length_ns = slot ? slot->length_ns : r->task->phase[p].wcet_ns;
    const int64_t gap_ns =
        prem_phase_gap_ns(k->schedule, r->task, p < (int)phase ? (prem_phase)p : phase);
    if (p < (int)phase ? other_ns + other_length_ns + gap_ns > start_ns
                       : start_ns + length_ns + gap_ns > other_ns)
      return false;
  }
  return true;
}

/** What a phase of a group is, one after the other. */
typedef struct member {
  prem_round round;
  prem_phase phase;
  int64_t start_ns, length_ns;
  bool chained;
} member;

static int32_t member_count(const prem_kept_group *b) {
  return b->first_slot < 0 ? 1 : b->slot_count;
}

static member member_of(const prem_repair *k, const prem_kept_group *b, int32_t i) {
  if (b->first_slot < 0)
    return (member){.round = prem_kept_group_round(k, b),
                    .phase = (prem_phase)b->phase,
                    .start_ns = b->start_ns,
                    .length_ns = prem_kept_group_task(k, b)->phase[b->phase].wcet_ns};
  const prem_slot *slot = &k->slots[b->first_slot + i];
  prem_kept_group one = {.task = slot->task,
                         .job = slot->job,
                         .tile = slot->tile,
                         .count = 1,
                         .phase = slot->phase,
                         .start_ns = slot->planned_ns};
  return (member){.round = prem_kept_group_round(k, &one),
                  .phase = (prem_phase)slot->phase,
                  .start_ns = slot->planned_ns,
                  .length_ns = slot->length_ns,
                  .chained = slot->flags & PREM_SLOT_CHAINED};
}

static bool yields(const prem_repair *k, const prem_kept_group *b) {
  for (int32_t i = 0; i < member_count(b); ++i) {
    const member m = member_of(k, b, i);
    if (k->yields[k->first_job[m.round.task_index] + m.round.job])
      return true;
  }
  return false;
}

static prem_status reserve(prem_repair *k, prem_kept_group *b) {
  b->state = b->joined ? PREM_PLACE_GIVEN_UP
                       : PREM_PLACE_WISHED; /* the halves of a pair come at different turns */
  if (b->refused || yields(k, b))
    return PREM_OK;
  for (int32_t i = 0; i < member_count(b); ++i) {
    const member m = member_of(k, b, i);
    if (!is_in_order(k, b, &m.round, m.phase, m.start_ns, m.length_ns, m.chained))
      return PREM_OK;
  }
  if (!prem_kept_group_fits(k, b))
    return PREM_OK;
  prem_held before[PREM_MAX_MEMBERS][2];
  prem_status status = PREM_OK;
  int32_t done = 0;
  bool held_all = true;
  for (; done < member_count(b) && held_all && !status; ++done) {
    const member m = member_of(k, b, done);
    int64_t index = prem_repair_tile(k, m.round.task_index, m.round.job, m.round.tile);
    memcpy(before[done], k->held[index], sizeof before[done]);
    const int64_t gap_ns = prem_phase_gap_ns(k->schedule, m.round.task, m.phase);
    held_all = prem_repair_hold(k, &m.round, m.phase, m.start_ns, m.start_ns + m.length_ns + gap_ns,
                                &status);
  }
  for (int32_t i = done - 1; i >= 0 && !held_all && !status; --i) { /* as it was */
    const member m = member_of(k, b, i);
    status = prem_repair_give_back(k, &m.round);
    prem_held *has = k->held[prem_repair_tile(k, m.round.task_index, m.round.job, m.round.tile)];
    memcpy(has, before[i], sizeof before[i]);
    for (int input = 0; input < 2 && !status; ++input)
      status = prem_repair_use_buffer(k, m.round.task, m.round.tile, m.round.count, input,
                                      has[input], 1);
  }
  if (status || !held_all)
    return status;
  b->state = PREM_PLACE_RESERVED;
  return prem_kept_group_use(k, b, 1);
}

/* ---- those that follow ----------------------------------------------------------------------- */

static int64_t shortest_ns(const prem_task *task) {
  int64_t sum_ns = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists)
      sum_ns += task->phase[p].wcet_ns;
  return sum_ns;
}

/* A job that has a place begins there; one that has none wants its shortest time before those that
 * follow it. */
static prem_status find_ends(prem_repair *k, const int32_t *order) {
  int64_t jobs = k->first_job[k->schedule->task_count];
  int64_t *first_ns = malloc((size_t)(jobs + 1) * sizeof *first_ns);
  if (!first_ns)
    return PREM_ERR_MEMORY;
  for (int64_t q = 0; q < jobs; ++q)
    first_ns[q] = k->until_ns[q] = PREM_MAX_NS;
  for (int64_t i = 0; i < k->group_count; ++i) {
    const prem_kept_group *b = &k->groups[i];
    int64_t q = k->first_job[b->task] + b->job;
    if (b->state == PREM_PLACE_RESERVED)
      first_ns[q] = prem_min_i64(first_ns[q], b->start_ns);
  }
  for (int32_t i = k->schedule->task_count - 1; i >= 0; --i) {
    const prem_task *task = &k->schedule->tasks[order[i]];
    for (int64_t q = k->first_job[order[i]]; q < k->first_job[order[i] + 1]; ++q) {
      int64_t begin_ns = prem_min_i64(first_ns[q], k->until_ns[q] - shortest_ns(task));
      for (int32_t a = 0; a < task->after_count && begin_ns < PREM_MAX_NS; ++a) {
        int64_t number = prem_planning_predecessor(k->planning, task, &task->after[a],
                                                   (int32_t)(q - k->first_job[order[i]]));
        int64_t p = k->first_job[task->after[a].task] + number;
        if (number >= 0)
          k->until_ns[p] = prem_min_i64(
              k->until_ns[p], begin_ns - prem_planning_gap_ns(k->planning, &task->after[a]));
      }
    }
  }
  free(first_ns);
  return PREM_OK;
}

prem_status prem_repair_begin(prem_repair *k, prem_placer *placer, const int32_t *order) {
  k->placer = placer;
  k->late_count = 0;
  k->parted = false;
  memset(k->held, 0, (size_t)k->first_tile[k->schedule->task_count] * sizeof *k->held);
  prem_status status = PREM_OK;
  for (int64_t i = 0; i < k->group_count; ++i)
    k->groups[i].state = PREM_PLACE_GIVEN_UP;
  for (int64_t i = 0; i < k->group_count && !status; ++i)
    status = reserve(k, &k->groups[k->order[i]]);
  return status ? status : find_ends(k, order);
}
