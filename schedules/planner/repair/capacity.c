/* SPDX-License-Identifier: Apache-2.0 */
/* What groups take of units and resources, and rounds of buffers. */
#include "schedules/planner/repair/state.h"

/* ---- units and resources --------------------------------------------------------------------- */

enum { MAX_USES = PREM_PHASE_COUNT * (PREM_MAX_RESOURCES + 1) };

/** `demand` of a unit, or of a resource. */
typedef struct use {
  prem_timeline *unit; /* NULL: of `resource`, for `task` */
  int64_t from_ns, to_ns;
  int32_t demand, resource, task;
} use;

typedef struct use_list {
  use uses[MAX_USES];
  int32_t count;
} use_list;

static void add_use(use_list *list, use what) {
  if (what.demand > 0 && what.from_ns < what.to_ns)
    list->uses[list->count++] = what;
}

/** A phase of a chain, or a joined pair: what it asks for. */
typedef struct chain_link {
  int64_t end_ns, busy_end_ns;
  int64_t gap_ns;               /* behind it, on its unit */
  const int32_t *demand, *also; /* also: of the joined writeback; NULL */
  const prem_slot *slot;
} chain_link;

static chain_link chain_link_of(const prem_repair *k, const prem_slot *slot, const prem_slot *end) {
  const prem_task *task = &k->schedule->tasks[slot->task];
  const prem_phase_spec *spec = &task->phase[slot->phase];
  chain_link l = {.end_ns = slot->planned_ns + slot->length_ns,
                  .busy_end_ns = slot->planned_ns + spec->busy_ns,
                  .gap_ns =
                      prem_unit_gap_ns(k->schedule, task, (prem_phase)slot->phase, slot->tile),
                  .demand = spec->demand,
                  .slot = slot};
  if (!prem_slot_begins_pair(slot, end))
    return l;
  const prem_task *other_task = &k->schedule->tasks[slot[1].task];
  const prem_phase_spec *other = &other_task->phase[PREM_WRITEBACK];
  l.gap_ns = prem_max_i64(l.gap_ns,
                          prem_unit_gap_ns(k->schedule, other_task, PREM_WRITEBACK, slot[1].tile));
  if (slot[1].task == slot->task && task->joined.exists) {
    l.busy_end_ns = slot->planned_ns + task->joined.busy_ns;
    l.demand = task->joined.demand;
  } else {
    l.busy_end_ns += other->busy_ns;
    l.also = other->demand;
  }
  return l;
}

static int32_t link_demand(const chain_link *l, int32_t resource) {
  int32_t demand = l->demand[resource];
  return l->also && l->also[resource] > demand ? l->also[resource] : demand;
}

/* A phase of a chain may come as early as its head: until it ends at the latest, the chain holds
 * the largest demand of this phase and those behind it. */
static void list_resource(const prem_repair *k, const prem_slot *head, const chain_link *links,
                          int32_t count, int32_t resource, use_list *list) {
  int64_t from_ns = head->planned_ns;
  for (int32_t i = 0; i < count; ++i) {
    int32_t max = i;
    for (int32_t later = i + 1; later < count; ++later)
      if (link_demand(&links[later], resource) >= link_demand(&links[max], resource))
        max = later;
    int64_t to_ns = links[max].busy_end_ns + k->guard_ns;
    add_use(list, (use){.from_ns = from_ns,
                        .to_ns = to_ns,
                        .demand = link_demand(&links[max], resource),
                        .resource = resource,
                        .task = head->task});
    from_ns = prem_max_i64(from_ns, to_ns);
  }
}

static use_list list_special(const prem_repair *k, const prem_kept_group *b) {
  use_list list = {.count = 0};
  chain_link links[PREM_PHASE_COUNT];
  int32_t count = 0;
  const prem_slot *slots = &k->slots[b->first_slot], *end = slots + b->slot_count;
  for (const prem_slot *slot = slots; slot < end; ++slot) {
    if ((slot->flags & PREM_SLOT_JOINED) && slot->phase == PREM_WRITEBACK)
      continue;
    chain_link *l = &links[count++];
    *l = chain_link_of(k, slot, end);
    add_use(&list, (use){.unit = prem_placer_unit(k->placer, slot->block, (prem_phase)slot->phase),
                         .from_ns = slot->planned_ns,
                         .to_ns = l->end_ns + l->gap_ns,
                         .demand = 1});
  }
  for (int32_t i = 0; i < k->schedule->platform.resource_count; ++i)
    list_resource(k, slots, links, count, i, &list);
  return list;
}

static bool use_fits(const prem_repair *k, const use *u) {
  int64_t length_ns = u->to_ns - u->from_ns;
  if (u->unit)
    return prem_timeline_fit(u->unit, u->from_ns, length_ns, u->demand, 1) == u->from_ns;
  return u->demand <= k->placer->resources[u->resource].capacity &&
         prem_placer_fit_resource(k->placer, u->resource, u->task, u->from_ns, length_ns, u->demand,
                                  1) == u->from_ns;
}

static bool special_fits(const prem_repair *k, const prem_kept_group *b) {
  use_list list = list_special(k, b);
  if (b->start_ns % k->planning->grid_ns)
    return false;
  for (int32_t i = 0; i < list.count; ++i)
    if (!use_fits(k, &list.uses[i]))
      return false;
  return true;
}

static prem_status use_special(const prem_repair *k, const prem_kept_group *b, int32_t sign) {
  use_list list = list_special(k, b);
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < list.count && !status; ++i) {
    const use *u = &list.uses[i];
    status = u->unit ? prem_timeline_use(u->unit, u->from_ns, u->to_ns, sign * u->demand)
                     : prem_placer_use_resource(k->placer, u->resource, u->task, u->from_ns,
                                                u->to_ns, u->demand, sign);
  }
  return status;
}

bool prem_kept_group_fits(const prem_repair *k, const prem_kept_group *b) {
  if (b->first_slot >= 0)
    return special_fits(k, b);
  prem_round r = prem_kept_group_round(k, b);
  return prem_placer_earliest(k->placer, &r, (prem_phase)b->phase, b->start_ns) == b->start_ns;
}

prem_status prem_kept_group_use(const prem_repair *k, const prem_kept_group *b, int32_t sign) {
  if (b->first_slot >= 0)
    return use_special(k, b, sign);
  prem_round r = prem_kept_group_round(k, b);
  return prem_placer_use_phase(k->placer, &r, (prem_phase)b->phase, sign);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static prem_timeline *buffers_of(const prem_repair *k, const prem_task *task, int32_t tile,
                                 int input) {
  prem_block_timelines *timelines = &k->placer->blocks[task->blocks[tile % task->block_count]];
  return input ? &timelines->input : &timelines->output;
}

prem_status prem_repair_use_buffer(const prem_repair *k, const prem_task *task, int32_t tile,
                                   int32_t count, int input, prem_held what, int32_t sign) {
  prem_status status = PREM_OK;
  for (int32_t m = 0; m < count && !status; ++m)
    status =
        prem_timeline_use(buffers_of(k, task, tile + m, input), what.from_ns, what.to_ns, sign);
  return status;
}

static bool buffer_free(const prem_repair *k, const prem_task *task, int32_t tile, int32_t count,
                        int input, int64_t from_ns, int64_t to_ns) {
  for (int32_t m = 0; m < count && from_ns < to_ns; ++m)
    if (prem_timeline_fit(buffers_of(k, task, tile + m, input), from_ns, to_ns - from_ns, 1, 1) !=
        from_ns)
      return false;
  return true;
}

/* Hold the round's buffers for one more of its phases; false: they are taken. */
bool prem_repair_hold(prem_repair *k, const prem_round *r, prem_phase phase, int64_t from_ns,
                      int64_t to_ns, prem_status *status) {
  prem_held *has = k->held[prem_repair_tile(k, r->task_index, r->job, r->tile)];
  prem_held wanted[2] = {has[0], has[1]};
  for (int input = 0; input < 2; ++input) {
    prem_holding h = prem_planning_holding(k->planning, r->task, input);
    if (!h.exists || phase < h.first || phase > h.last)
      continue;
    prem_held *w = &wanted[input];
    bool none = w->from_ns == w->to_ns;
    w->from_ns = none ? from_ns : prem_min_i64(w->from_ns, from_ns);
    w->to_ns = none ? to_ns : prem_max_i64(w->to_ns, to_ns);
    int64_t middle_ns = none ? w->to_ns : has[input].from_ns;
    if (!buffer_free(k, r->task, r->tile, r->count, input, w->from_ns, middle_ns) ||
        (!none && !buffer_free(k, r->task, r->tile, r->count, input, has[input].to_ns, w->to_ns)))
      return false;
  }
  for (int input = 0; input < 2 && !*status; ++input) {
    *status = prem_repair_use_buffer(k, r->task, r->tile, r->count, input, has[input], -1);
    if (!*status)
      *status = prem_repair_use_buffer(k, r->task, r->tile, r->count, input, wanted[input], 1);
    has[input] = wanted[input];
  }
  return true;
}

prem_status prem_repair_give_back(prem_repair *k, const prem_round *r) {
  prem_held *has = k->held[prem_repair_tile(k, r->task_index, r->job, r->tile)];
  prem_status status = PREM_OK;
  for (int input = 0; input < 2 && !status; ++input) {
    status = prem_repair_use_buffer(k, r->task, r->tile, r->count, input, has[input], -1);
    has[input] = (prem_held){0, 0};
  }
  return status;
}
