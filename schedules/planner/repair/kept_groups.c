/* SPDX-License-Identifier: Apache-2.0 */
/* Tying the phases of an older plan into groups that stand and fall together. */
#include "schedules/planner/repair/state.h"

#include <stdlib.h>

prem_round prem_kept_group_round(const prem_repair *k, const prem_kept_group *b) {
  prem_round r = prem_round_of(k->schedule, b->task, b->job, b->tile, b->count);
  r.start_ns[b->phase] = b->start_ns;
  return r;
}

bool prem_slot_begins_pair(const prem_slot *slot, const prem_slot *end) {
  return (slot->flags & PREM_SLOT_JOINED) && slot->phase == PREM_PREFETCH && slot + 1 < end &&
         (slot[1].flags & PREM_SLOT_JOINED) && slot[1].phase == PREM_WRITEBACK &&
         slot[1].planned_ns == slot->planned_ns;
}

/* How many slots stand and fall together from this one on. */
static int32_t group_length(const prem_slot *slot, const prem_slot *end) {
  const prem_slot *next = slot + (prem_slot_begins_pair(slot, end) ? 2 : 1);
  while (next < end && next - slot < PREM_MAX_MEMBERS && (next->flags & PREM_SLOT_CHAINED) &&
         next->task == slot->task && next->job == slot->job && next->tile == slot->tile &&
         next->head_ns == slot->planned_ns)
    ++next;
  return (int32_t)(next - slot);
}

/* Where its members are all there, a round's phase is one group: the first member's. */
static void add_round(prem_repair *k, const prem_slot *slot, int32_t count) {
  int64_t index = prem_repair_tile(k, slot->task, slot->job, slot->tile);
  k->place_of[index][slot->phase] = (int32_t)k->group_count;
  k->groups[k->group_count++] = (prem_kept_group){.start_ns = slot->planned_ns,
                                                  .first_slot = -1,
                                                  .task = slot->task,
                                                  .job = slot->job,
                                                  .tile = slot->tile,
                                                  .count = count,
                                                  .phase = slot->phase};
}

/* A chain or a pair of single tiles; gangs and `together` lose theirs. */
static void add_special(prem_repair *k, int64_t first, int32_t count, const bool *by_rounds) {
  const prem_slot *slots = &k->slots[first];
  for (int32_t i = 0; i < count; ++i)
    if (by_rounds[slots[i].task])
      return;
  prem_kept_group *b = &k->groups[k->group_count];
  *b = (prem_kept_group){.start_ns = slots->planned_ns,
                         .first_slot = first,
                         .slot_count = count,
                         .task = slots->task,
                         .job = slots->job,
                         .tile = slots->tile,
                         .count = 1,
                         .phase = slots->phase,
                         .joined = prem_slot_begins_pair(slots, slots + count)};
  for (int32_t i = 0; i < count; ++i)
    k->place_of[prem_repair_tile(k, slots[i].task, slots[i].job, slots[i].tile)][slots[i].phase] =
        (int32_t)k->group_count;
  ++k->group_count;
}

/** The first slots of a round that may become one group: how many start where the first one does.
 */
typedef struct gathering {
  int64_t start_ns;
  int32_t count;
} gathering;

static int32_t round_size(const prem_task *task, int32_t tile) {
  int32_t left = task->tile_count - tile;
  return left < task->block_count ? left : task->block_count;
}

static prem_status gather_rounds(prem_repair *k, const bool *by_rounds) {
  int64_t tiles = k->first_tile[k->schedule->task_count];
  gathering(*gathered)[PREM_PHASE_COUNT] = calloc((size_t)tiles + 1, sizeof *gathered);
  if (!gathered)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < k->slot_count; ++i) {
    prem_slot slot = k->slots[i];
    if (!by_rounds[slot.task] || slot.flags)
      continue;
    const prem_task *task = &k->schedule->tasks[slot.task];
    slot.tile -= slot.tile % task->block_count;
    gathering *g = &gathered[prem_repair_tile(k, slot.task, slot.job, slot.tile)][slot.phase];
    if (g->count++ == 0)
      g->start_ns = slot.planned_ns;
    if (g->start_ns != slot.planned_ns)
      g->count = -task->block_count; /* never complete */
    if (g->count == round_size(task, slot.tile))
      add_round(k, &slot, g->count);
  }
  free(gathered);
  return PREM_OK;
}

prem_status prem_repair_gather(prem_repair *k) {
  prem_placer placer = {.planning = k->planning, .schedule = k->schedule};
  bool *by_rounds = malloc((size_t)k->schedule->task_count * sizeof *by_rounds);
  if (!by_rounds)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < k->schedule->task_count; ++t)
    by_rounds[t] = prem_placer_by_rounds(&placer, &k->schedule->tasks[t]);
  int32_t count;
  for (int64_t i = 0; i < k->slot_count; i += count) {
    const prem_slot *slot = &k->slots[i];
    count = group_length(slot, k->slots + k->slot_count);
    if (count > 1)
      add_special(k, i, count, by_rounds);
    else if (!by_rounds[slot->task] && !slot->flags)
      add_round(k, slot, 1);
  }
  prem_status status = gather_rounds(k, by_rounds);
  free(by_rounds);
  return status;
}

const prem_slot *prem_kept_group_slot(const prem_repair *k, const prem_kept_group *b,
                                      const prem_round *r, int phase) {
  for (int32_t i = 0; i < b->slot_count; ++i) {
    const prem_slot *slot = &k->slots[b->first_slot + i];
    if (slot->phase == phase && slot->tile == r->tile && slot->task == r->task_index &&
        slot->job == r->job)
      return slot;
  }
  return NULL;
}
