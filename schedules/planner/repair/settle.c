/* SPDX-License-Identifier: Apache-2.0 */
/* A round's turn: what is reserved stays, or as much of it as can. */
#include "schedules/planner/repair/state.h"

#include <stdlib.h>
#include <string.h>

/** A round in hand. */
typedef struct settling {
  prem_round *round;
  prem_kept_group *place[PREM_PHASE_COUNT]; /* NULL: none to be had */
  int64_t from_ns, due_ns, last_start_ns;
} settling;

static bool is_there(const settling *s, int phase) {
  return s->round->task->phase[phase].exists;
}

static int64_t start_of(const prem_repair *k, const settling *s, int phase) {
  const prem_slot *slot = prem_kept_group_slot(k, s->place[phase], s->round, phase);
  return slot ? slot->planned_ns : s->place[phase]->start_ns;
}

/* Everything has its place, and the job's predecessors are over. */
static bool is_settled(const prem_repair *k, const settling *s) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (is_there(s, p) &&
        (!s->place[p] || s->place[p]->state == PREM_PLACE_WISHED || start_of(k, s, p) < s->from_ns))
      return false;
  return true;
}

/* The round's own reservations; joined pairs belong to another one as well and stay. */
static prem_status let_go(prem_repair *k, settling *s) {
  prem_status status = prem_repair_give_back(k, s->round);
  for (int p = 0; p < PREM_PHASE_COUNT && !status; ++p) {
    prem_kept_group *b = s->place[p];
    if (!b || b->joined || b->state != PREM_PLACE_RESERVED)
      continue;
    status = prem_kept_group_use(k, b, -1);
    b->state = PREM_PLACE_WISHED;
  }
  return status;
}

/* Would these phases stay, and do they bring their chains? */
static bool may_stay(const prem_repair *k, const settling *s, int staying) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const prem_kept_group *b = s->place[p];
    bool stays = staying >> p & 1;
    if (!b && stays)
      return false;
    if (b && b->joined && !stays)
      return false;
    for (int q = 0; q < p && b && b->slot_count > 0; ++q)
      if (s->place[q] == b && (staying >> q & 1) != stays)
        return false;
    if (stays && (start_of(k, s, p) < s->from_ns || (!b->joined && !prem_kept_group_fits(k, b))))
      return false;
  }
  return true;
}

static void fix(const prem_repair *k, const settling *s, int phase, prem_placing_limits *limits) {
  const prem_slot *slot = prem_kept_group_slot(k, s->place[phase], s->round, phase);
  limits->fixed_ns[phase] = start_of(k, s, phase);
  limits->chained[phase] = slot && (slot->flags & PREM_SLOT_CHAINED);
  s->round->length_ns[phase] = slot ? slot->length_ns : s->round->length_ns[phase];
}

static bool find_between(prem_repair *k, settling *s, int staying, int64_t due_ns) {
  prem_placing_limits limits = {.last_start_ns = s->last_start_ns, .due_ns = due_ns};
  if (!may_stay(k, s, staying))
    return false;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    limits.fixed_ns[p] = -1;
    s->round->length_ns[p] = s->round->task->phase[p].wcet_ns;
    if (staying >> p & 1)
      fix(k, s, p, &limits);
  }
  return prem_placer_find(k->placer, s->round, s->from_ns, &limits);
}

static int bits(int mask) {
  return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1);
}

/* The most phases that can stay while the others find new places; -1: there are none in time. */
static int find_most(prem_repair *k, settling *s, int64_t due_ns) {
  int all = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    all |= is_there(s, p) << p;
  for (int stay = PREM_PHASE_COUNT; stay >= 0; --stay)
    for (int staying = 0; staying <= all; ++staying)
      if ((staying & ~all) == 0 && bits(staying) == stay && find_between(k, s, staying, due_ns))
        return staying;
  return -1;
}

/* No place at all with its joined pairs: the next plan does without them. */
static void part(prem_repair *k, settling *s) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (s->place[p] && s->place[p]->joined) {
      s->place[p]->refused = true;
      k->parted = true;
    }
}

static prem_status settle_phase(prem_repair *k, settling *s, int phase, bool stays,
                                bool *as_it_was) {
  prem_kept_group *b = s->place[phase];
  if (stays && b->slot_count > 0) {
    bool is_used = b->state == PREM_PLACE_RESERVED || b->state == PREM_PLACE_SETTLED;
    b->state = PREM_PLACE_SETTLED;
    *as_it_was = true;
    return is_used ? PREM_OK : prem_kept_group_use(k, b, 1);
  }
  return prem_placer_use_phase(k->placer, s->round, (prem_phase)phase, 1);
}

static prem_status settle(prem_repair *k, settling *s, int64_t until_ns, bool *as_it_was) {
  prem_status status = let_go(k, s);
  int staying = status ? -1 : find_most(k, s, prem_min_i64(s->due_ns, until_ns));
  if (staying < 0 && !status && until_ns < s->due_ns)
    staying = find_most(k, s, s->due_ns);
  if (staying < 0 && !status) {
    part(k, s);
    staying = 0;
    *s->round = prem_round_of(k->schedule, s->round->task_index, s->round->job, s->round->tile,
                              s->round->count);
    if (!prem_placer_find(k->placer, s->round, s->from_ns, NULL))
      return PREM_ERR_INFEASIBLE;
  }
  if (!status)
    status = prem_placer_use_buffers(k->placer, s->round, 1);
  for (int p = 0; p < PREM_PHASE_COUNT && !status; ++p)
    if (is_there(s, p))
      status = settle_phase(k, s, p, staying >> p & 1, &as_it_was[p]);
  return status;
}

prem_status prem_repair_place(prem_repair *k, prem_round *r, int64_t from_ns, int64_t due_ns,
                              bool as_it_was[PREM_PHASE_COUNT]) {
  const int32_t *places = k->place_of[prem_repair_tile(k, r->task_index, r->job, r->tile)];
  settling s = {.round = r, .from_ns = from_ns, .due_ns = due_ns};
  s.last_start_ns = prem_planning_window(k->planning, r->task, r->job).last_start_ns;
  bool any = false;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    prem_kept_group *b = places[p] < 0 ? NULL : &k->groups[places[p]];
    s.place[p] = b && b->state != PREM_PLACE_GIVEN_UP ? b : NULL;
    any = any || s.place[p];
  }
  if (any && is_settled(k, &s)) {
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (is_there(&s, p)) {
        const prem_slot *slot = prem_kept_group_slot(k, s.place[p], r, p);
        r->start_ns[p] = start_of(k, &s, p);
        r->length_ns[p] = slot ? slot->length_ns : r->length_ns[p];
        s.place[p]->state = PREM_PLACE_SETTLED;
        as_it_was[p] = s.place[p]->slot_count > 0;
      }
    return PREM_OK;
  }
  return settle(k, &s, k->until_ns[k->first_job[r->task_index] + r->job], as_it_was);
}

prem_status prem_repair_end(const prem_repair *k, prem_draft *draft) {
  int64_t count = 0;
  for (int64_t i = 0; i < k->group_count; ++i)
    count += k->groups[i].state == PREM_PLACE_SETTLED ? k->groups[i].slot_count : 0;
  draft->slots = malloc((size_t)(count + 1) * sizeof *draft->slots);
  if (!draft->slots)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < k->group_count; ++i) {
    const prem_kept_group *b = &k->groups[i];
    if (b->state != PREM_PLACE_SETTLED || b->slot_count == 0)
      continue;
    memcpy(&draft->slots[draft->slot_count], &k->slots[b->first_slot],
           (size_t)b->slot_count * sizeof *draft->slots);
    draft->slot_count += b->slot_count;
  }
  return PREM_OK;
}
