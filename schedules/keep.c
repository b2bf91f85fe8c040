/* Places of an older plan: reserved, settled or given up. */
#include "keep.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_USES = PREM_PHASE_COUNT * (PREM_MAX_RESOURCES + 1) };

typedef enum bundle_state {
  WISHED,   /* not reserved: it may be had when its turn comes */
  RESERVED, /* on the lines */
  SETTLED,  /* on the lines, its round is placed */
  GIVEN_UP
} bundle_state;

/** Phases that keep their places together: one phase of a round, a chain, or a joined pair with
 *  what is chained to it. */
typedef struct bundle {
  int64_t start_ns;
  int64_t first_slot; /* -1: one phase */
  int32_t slot_count;
  int32_t task, job, tile, count; /* the round of the first phase */
  uint8_t phase, state;
  bool joined;
  bool refused; /* parted, in this and all plans to come */
} bundle;

/** What a round has of a kind of buffer, guard included; nothing where from_ns == to_ns. */
typedef struct held {
  int64_t from_ns, to_ns;
} held;

/** `demand` of a line. */
typedef struct use {
  prem_timeline *line;
  int64_t from_ns, to_ns;
  int32_t demand;
} use;

typedef struct use_list {
  use uses[MOST_USES];
  int32_t count;
} use_list;

struct prem_keeper {
  const prem_planning *planning;
  const prem_schedule *schedule;
  const prem_slot *slots;
  int64_t slot_count;
  const bool *changed;
  int64_t guard_ns;
  int64_t *first_tile, *first_job; /* [task + 1] */
  bundle *bundles;
  int64_t bundle_count;
  int32_t *order;                        /* of bundles: as they are reserved */
  int32_t (*place_of)[PREM_PHASE_COUNT]; /* [first tile of a round]: bundle of each phase, or -1 */
  held (*held)[2];                       /* [first tile of a round]: of output, of input */
  bool *yields;                          /* [job] */
  int64_t *until_ns; /* [job]: when those that follow it want to begin, guard or lag before */
  int64_t *late;     /* jobs */
  int64_t late_count;
  bool parted;
  prem_placer *placer;
};

static int64_t max_ns(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t min_ns(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static const prem_task *task_of(const prem_keeper *k, const bundle *b) {
  return &k->schedule->tasks[b->task];
}

static int64_t tile_index(const prem_keeper *k, int32_t task, int32_t job, int32_t tile) {
  return k->first_tile[task] + (int64_t)job * k->schedule->tasks[task].tile_count + tile;
}

/* ---- bundles -------------------------------------------------------------------------------- */

static prem_round round_of(const prem_keeper *k, const bundle *b) {
  prem_round r = prem_round_of(k->schedule, b->task, b->job, b->tile, b->count);
  r.start_ns[b->phase] = b->start_ns;
  return r;
}

static bool begins_pair(const prem_slot *slot, const prem_slot *end) {
  return (slot->flags & PREM_SLOT_JOINED) && slot->phase == PREM_PREFETCH && slot + 1 < end &&
         (slot[1].flags & PREM_SLOT_JOINED) && slot[1].phase == PREM_WRITEBACK &&
         slot[1].start_ns == slot->start_ns;
}

/* How many slots stand and fall together from this one on. */
static int32_t bundle_length(const prem_slot *slot, const prem_slot *end) {
  const prem_slot *next = slot + (begins_pair(slot, end) ? 2 : 1);
  while (next < end && (next->flags & PREM_SLOT_CHAINED) && next->task == slot->task &&
         next->job == slot->job && next->tile == slot->tile && next->head_ns == slot->start_ns)
    ++next;
  return (int32_t)(next - slot);
}

/* Where its members are all there, a round's phase is one bundle: the first member's. */
static void add_round(prem_keeper *k, const prem_slot *slot, int32_t count) {
  int64_t index = tile_index(k, slot->task, slot->job, slot->tile);
  k->place_of[index][slot->phase] = (int32_t)k->bundle_count;
  k->bundles[k->bundle_count++] = (bundle){.start_ns = slot->start_ns,
                                           .first_slot = -1,
                                           .task = slot->task,
                                           .job = slot->job,
                                           .tile = slot->tile,
                                           .count = count,
                                           .phase = slot->phase};
}

/* A chain or a pair of single tiles; gangs and `together` lose theirs. */
static void add_special(prem_keeper *k, int64_t first, int32_t count, const bool *by_rounds) {
  const prem_slot *slots = &k->slots[first];
  for (int32_t i = 0; i < count; ++i)
    if (by_rounds[slots[i].task])
      return;
  bundle *b = &k->bundles[k->bundle_count];
  *b = (bundle){.start_ns = slots->start_ns,
                .first_slot = first,
                .slot_count = count,
                .task = slots->task,
                .job = slots->job,
                .tile = slots->tile,
                .count = 1,
                .phase = slots->phase,
                .joined = begins_pair(slots, slots + count)};
  for (int32_t i = 0; i < count; ++i)
    k->place_of[tile_index(k, slots[i].task, slots[i].job, slots[i].tile)][slots[i].phase] =
        (int32_t)k->bundle_count;
  ++k->bundle_count;
}

/** The first slots of a round that may become one bundle: how many start where the first one does.
 */
typedef struct gathering {
  int64_t start_ns;
  int32_t count;
} gathering;

static int32_t round_size(const prem_task *task, int32_t tile) {
  int32_t left = task->tile_count - tile;
  return left < task->block_count ? left : task->block_count;
}

static prem_status gather_rounds(prem_keeper *k, const bool *by_rounds) {
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
    gathering *g = &gathered[tile_index(k, slot.task, slot.job, slot.tile)][slot.phase];
    if (g->count++ == 0)
      g->start_ns = slot.start_ns;
    if (g->start_ns != slot.start_ns)
      g->count = -task->block_count; /* never complete */
    if (g->count == round_size(task, slot.tile))
      add_round(k, &slot, g->count);
  }
  free(gathered);
  return PREM_OK;
}

static prem_status gather(prem_keeper *k) {
  prem_placer placer = {.planning = k->planning, .schedule = k->schedule};
  bool *by_rounds = malloc((size_t)k->schedule->task_count * sizeof *by_rounds);
  if (!by_rounds)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < k->schedule->task_count; ++t)
    by_rounds[t] = prem_placer_by_rounds(&placer, &k->schedule->tasks[t]);
  int32_t count;
  for (int64_t i = 0; i < k->slot_count; i += count) {
    const prem_slot *slot = &k->slots[i];
    count = bundle_length(slot, k->slots + k->slot_count);
    if (count > 1)
      add_special(k, i, count, by_rounds);
    else if (!by_rounds[slot->task] && !slot->flags)
      add_round(k, slot, 1);
  }
  prem_status status = gather_rounds(k, by_rounds);
  free(by_rounds);
  return status;
}

static int by_change_and_start(const void *left, const void *right, void *context) {
  const prem_keeper *k = context;
  const bundle *a = &k->bundles[*(const int32_t *)left], *b = &k->bundles[*(const int32_t *)right];
  if (k->changed[a->task] != k->changed[b->task])
    return k->changed[a->task] ? 1 : -1;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  return (a > b) - (a < b);
}

/* ---- what a bundle takes of lines ----------------------------------------------------------- */

static void add_use(use_list *list, prem_timeline *line, int64_t from_ns, int64_t to_ns,
                    int32_t demand) {
  if (demand > 0 && from_ns < to_ns)
    list->uses[list->count++] = (use){line, from_ns, to_ns, demand};
}

static bool is_partner(const prem_slot *slot) {
  return (slot->flags & PREM_SLOT_JOINED) && slot->phase == PREM_WRITEBACK;
}

/** A phase of a chain, or a joined pair: what it asks for. */
typedef struct link {
  int64_t end_ns, busy_end_ns;
  const int32_t *demand, *also; /* also: of the joined writeback; NULL */
  const prem_slot *slot;
} link;

static link link_of(const prem_keeper *k, const prem_slot *slot, const prem_slot *end) {
  const prem_task *task = &k->schedule->tasks[slot->task];
  const prem_phase_spec *spec = &task->phase[slot->phase];
  link l = {.end_ns = slot->start_ns + slot->length_ns,
            .busy_end_ns = slot->start_ns + spec->busy_ns,
            .demand = spec->demand,
            .slot = slot};
  if (!begins_pair(slot, end))
    return l;
  const prem_phase_spec *other = &k->schedule->tasks[slot[1].task].phase[PREM_WRITEBACK];
  if (slot[1].task == slot->task && task->joined.exists) {
    l.busy_end_ns = slot->start_ns + task->joined.busy_ns;
    l.demand = task->joined.demand;
  } else {
    l.busy_end_ns += other->busy_ns;
    l.also = other->demand;
  }
  return l;
}

static int32_t link_demand(const link *l, int32_t resource) {
  int32_t demand = l->demand[resource];
  return l->also && l->also[resource] > demand ? l->also[resource] : demand;
}

/* A phase of a chain may come as early as its head: until it ends at the latest, the chain holds
 * the largest demand of this phase and those behind it. */
static void list_resource(const prem_keeper *k, const link *links, int32_t count, int32_t resource,
                          use_list *list) {
  int64_t from_ns = links[0].slot->start_ns;
  prem_timeline *line = &k->placer->resources[resource];
  for (int32_t i = 0; i < count; ++i) {
    int32_t most = i;
    for (int32_t later = i + 1; later < count; ++later)
      if (link_demand(&links[later], resource) >= link_demand(&links[most], resource))
        most = later;
    int64_t to_ns = links[most].busy_end_ns + k->guard_ns;
    add_use(list, line, from_ns, to_ns, link_demand(&links[most], resource));
    from_ns = max_ns(from_ns, to_ns);
  }
}

static use_list list_special(const prem_keeper *k, const bundle *b) {
  use_list list = {.count = 0};
  link links[PREM_PHASE_COUNT];
  int32_t count = 0;
  const prem_slot *slots = &k->slots[b->first_slot], *end = slots + b->slot_count;
  for (const prem_slot *slot = slots; slot < end; ++slot) {
    if (is_partner(slot))
      continue;
    link *l = &links[count++];
    *l = link_of(k, slot, end);
    add_use(&list, prem_placer_unit(k->placer, slot->block, (prem_phase)slot->phase),
            slot->start_ns, l->end_ns + k->guard_ns, 1);
  }
  for (int32_t i = 0; i < k->schedule->platform.resource_count; ++i)
    list_resource(k, links, count, i, &list);
  return list;
}

static bool special_fits(const prem_keeper *k, const bundle *b) {
  use_list list = list_special(k, b);
  if (b->start_ns % k->planning->grid_ns)
    return false;
  for (int32_t i = 0; i < list.count; ++i) {
    const use *u = &list.uses[i];
    if (u->demand > u->line->capacity ||
        prem_timeline_fit(u->line, u->from_ns, u->to_ns - u->from_ns, u->demand, 1) != u->from_ns)
      return false;
  }
  return true;
}

static prem_status use_special(const prem_keeper *k, const bundle *b, int32_t sign) {
  use_list list = list_special(k, b);
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < list.count && !status; ++i)
    status = prem_timeline_use(list.uses[i].line, list.uses[i].from_ns, list.uses[i].to_ns,
                               sign * list.uses[i].demand);
  return status;
}

static bool fits(const prem_keeper *k, const bundle *b) {
  if (b->first_slot >= 0)
    return special_fits(k, b);
  prem_round r = round_of(k, b);
  return prem_placer_earliest(k->placer, &r, (prem_phase)b->phase, b->start_ns) == b->start_ns;
}

static prem_status use_bundle(const prem_keeper *k, const bundle *b, int32_t sign) {
  if (b->first_slot >= 0)
    return use_special(k, b, sign);
  prem_round r = round_of(k, b);
  return prem_placer_use_phase(k->placer, &r, (prem_phase)b->phase, sign);
}

/* ---- buffers of a round --------------------------------------------------------------------- */

static prem_timeline *buffers_of(const prem_keeper *k, const prem_task *task, int32_t tile,
                                 int input) {
  prem_block_lines *lines = &k->placer->blocks[task->blocks[tile % task->block_count]];
  return input ? &lines->input : &lines->output;
}

static prem_status use_buffer(const prem_keeper *k, const prem_task *task, int32_t tile,
                              int32_t count, int input, held what, int32_t sign) {
  prem_status status = PREM_OK;
  for (int32_t m = 0; m < count && !status; ++m)
    status =
        prem_timeline_use(buffers_of(k, task, tile + m, input), what.from_ns, what.to_ns, sign);
  return status;
}

static bool buffer_free(const prem_keeper *k, const prem_task *task, int32_t tile, int32_t count,
                        int input, int64_t from_ns, int64_t to_ns) {
  for (int32_t m = 0; m < count && from_ns < to_ns; ++m)
    if (prem_timeline_fit(buffers_of(k, task, tile + m, input), from_ns, to_ns - from_ns, 1, 1) !=
        from_ns)
      return false;
  return true;
}

/* Hold the round's buffers for one more of its phases; false: they are taken. */
static bool hold_more(prem_keeper *k, const prem_round *r, prem_phase phase, int64_t from_ns,
                      int64_t to_ns, prem_status *status) {
  held *has = k->held[tile_index(k, r->task_index, r->job, r->tile)];
  held wanted[2] = {has[0], has[1]};
  for (int input = 0; input < 2; ++input) {
    prem_holding h = prem_planning_holding(k->planning, r->task, input);
    if (!h.exists || phase < h.first || phase > h.last)
      continue;
    held *w = &wanted[input];
    bool none = w->from_ns == w->to_ns;
    w->from_ns = none ? from_ns : min_ns(w->from_ns, from_ns);
    w->to_ns = none ? to_ns : max_ns(w->to_ns, to_ns);
    int64_t middle_ns = none ? w->to_ns : has[input].from_ns;
    if (!buffer_free(k, r->task, r->tile, r->count, input, w->from_ns, middle_ns) ||
        (!none && !buffer_free(k, r->task, r->tile, r->count, input, has[input].to_ns, w->to_ns)))
      return false;
  }
  for (int input = 0; input < 2 && !*status; ++input) {
    *status = use_buffer(k, r->task, r->tile, r->count, input, has[input], -1);
    if (!*status)
      *status = use_buffer(k, r->task, r->tile, r->count, input, wanted[input], 1);
    has[input] = wanted[input];
  }
  return true;
}

static prem_status release_buffers(prem_keeper *k, const prem_round *r) {
  held *has = k->held[tile_index(k, r->task_index, r->job, r->tile)];
  prem_status status = PREM_OK;
  for (int input = 0; input < 2 && !status; ++input) {
    status = use_buffer(k, r->task, r->tile, r->count, input, has[input], -1);
    has[input] = (held){0, 0};
  }
  return status;
}

/* ---- reserving ------------------------------------------------------------------------------ */

/* The slot of one of the round's phases in a bundle of several; NULL: it is one phase. */
static const prem_slot *slot_of(const prem_keeper *k, const bundle *b, const prem_round *r,
                                int phase) {
  for (int32_t i = 0; i < b->slot_count; ++i) {
    const prem_slot *slot = &k->slots[b->first_slot + i];
    if (slot->phase == phase && slot->tile == r->tile && slot->task == r->task_index &&
        slot->job == r->job)
      return slot;
  }
  return NULL;
}

/* Its own window, and its order beside those phases of its tile that have a place. */
static bool is_in_order(const prem_keeper *k, const bundle *of, const prem_round *r,
                        prem_phase phase, int64_t start_ns, int64_t length_ns, bool chained) {
  prem_job_window window = prem_planning_window(k->planning, r->task, r->job);
  if (start_ns < window.earliest_ns || start_ns + length_ns > window.due_ns ||
      (!chained && (start_ns > window.last_start_ns || start_ns % k->planning->grid_ns)))
    return false;
  const int32_t *places = k->place_of[tile_index(k, r->task_index, r->job, r->tile)];
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const bundle *b = p == (int)phase || places[p] < 0 ? NULL : &k->bundles[places[p]];
    if (!b || b == of || b->state != RESERVED)
      continue;
    const prem_slot *slot = slot_of(k, b, r, p);
    int64_t other_ns = slot ? slot->start_ns : b->start_ns;
    int64_t other_length_ns = slot ? slot->length_ns : r->task->phase[p].wcet_ns;
    if (p < (int)phase ? other_ns + other_length_ns + k->guard_ns > start_ns
                       : start_ns + length_ns + k->guard_ns > other_ns)
      return false;
  }
  return true;
}

/** What a phase of a bundle is, one after the other. */
typedef struct member {
  prem_round round;
  prem_phase phase;
  int64_t start_ns, length_ns;
  bool chained;
} member;

static int32_t member_count(const bundle *b) {
  return b->first_slot < 0 ? 1 : b->slot_count;
}

static member member_of(const prem_keeper *k, const bundle *b, int32_t i) {
  if (b->first_slot < 0)
    return (member){.round = round_of(k, b),
                    .phase = (prem_phase)b->phase,
                    .start_ns = b->start_ns,
                    .length_ns = task_of(k, b)->phase[b->phase].wcet_ns};
  const prem_slot *slot = &k->slots[b->first_slot + i];
  bundle one = {.task = slot->task,
                .job = slot->job,
                .tile = slot->tile,
                .count = 1,
                .phase = slot->phase,
                .start_ns = slot->start_ns};
  return (member){.round = round_of(k, &one),
                  .phase = (prem_phase)slot->phase,
                  .start_ns = slot->start_ns,
                  .length_ns = slot->length_ns,
                  .chained = slot->flags & PREM_SLOT_CHAINED};
}

static bool yields(const prem_keeper *k, const bundle *b) {
  for (int32_t i = 0; i < member_count(b); ++i) {
    const member m = member_of(k, b, i);
    if (k->yields[k->first_job[m.round.task_index] + m.round.job])
      return true;
  }
  return false;
}

static prem_status reserve(prem_keeper *k, bundle *b) {
  b->state = b->joined ? GIVEN_UP : WISHED; /* the halves of a pair come at different turns */
  if (b->refused || yields(k, b))
    return PREM_OK;
  for (int32_t i = 0; i < member_count(b); ++i) {
    const member m = member_of(k, b, i);
    if (!is_in_order(k, b, &m.round, m.phase, m.start_ns, m.length_ns, m.chained))
      return PREM_OK;
  }
  if (!fits(k, b))
    return PREM_OK;
  held before[PREM_PHASE_COUNT][2];
  prem_status status = PREM_OK;
  int32_t done = 0;
  bool held_all = true;
  for (; done < member_count(b) && held_all && !status; ++done) {
    const member m = member_of(k, b, done);
    int64_t index = tile_index(k, m.round.task_index, m.round.job, m.round.tile);
    memcpy(before[done], k->held[index], sizeof before[done]);
    held_all = hold_more(k, &m.round, m.phase, m.start_ns, m.start_ns + m.length_ns + k->guard_ns,
                         &status);
  }
  for (int32_t i = done - 1; i >= 0 && !held_all && !status; --i) { /* as it was */
    const member m = member_of(k, b, i);
    status = release_buffers(k, &m.round);
    held *has = k->held[tile_index(k, m.round.task_index, m.round.job, m.round.tile)];
    memcpy(has, before[i], sizeof before[i]);
    for (int input = 0; input < 2 && !status; ++input)
      status = use_buffer(k, m.round.task, m.round.tile, m.round.count, input, has[input], 1);
  }
  if (status || !held_all)
    return status;
  b->state = RESERVED;
  return use_bundle(k, b, 1);
}

/* ---- those that follow ---------------------------------------------------------------------- */

static int64_t shortest_ns(const prem_task *task) {
  int64_t sum_ns = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    sum_ns += task->phase[p].exists ? task->phase[p].wcet_ns : 0;
  return sum_ns;
}

/* A job that has a place begins there; one that has none wants its shortest time before those that
 * follow it. */
static prem_status find_ends(prem_keeper *k, const int32_t *order) {
  int64_t jobs = k->first_job[k->schedule->task_count];
  int64_t *first_ns = malloc((size_t)(jobs + 1) * sizeof *first_ns);
  if (!first_ns)
    return PREM_ERR_MEMORY;
  for (int64_t q = 0; q < jobs; ++q)
    first_ns[q] = k->until_ns[q] = PREM_MAX_NS;
  for (int64_t i = 0; i < k->bundle_count; ++i) {
    const bundle *b = &k->bundles[i];
    int64_t q = k->first_job[b->task] + b->job;
    if (b->state == RESERVED)
      first_ns[q] = min_ns(first_ns[q], b->start_ns);
  }
  for (int32_t i = k->schedule->task_count - 1; i >= 0; --i) {
    const prem_task *task = &k->schedule->tasks[order[i]];
    for (int64_t q = k->first_job[order[i]]; q < k->first_job[order[i] + 1]; ++q) {
      int64_t begin_ns = min_ns(first_ns[q], k->until_ns[q] - shortest_ns(task));
      for (int32_t a = 0; a < task->after_count && begin_ns < PREM_MAX_NS; ++a) {
        int64_t number = prem_planning_predecessor(k->planning, task, &task->after[a],
                                                   (int32_t)(q - k->first_job[order[i]]));
        int64_t p = k->first_job[task->after[a].task] + number;
        if (number >= 0)
          k->until_ns[p] =
              min_ns(k->until_ns[p], begin_ns - max_ns(task->after[a].lag_ns, k->guard_ns));
      }
    }
  }
  free(first_ns);
  return PREM_OK;
}

prem_status prem_keeper_begin(prem_keeper *k, prem_placer *placer, const int32_t *order) {
  k->placer = placer;
  k->late_count = 0;
  k->parted = false;
  memset(k->held, 0, (size_t)k->first_tile[k->schedule->task_count] * sizeof *k->held);
  prem_status status = PREM_OK;
  for (int64_t i = 0; i < k->bundle_count; ++i)
    k->bundles[i].state = GIVEN_UP;
  for (int64_t i = 0; i < k->bundle_count && !status; ++i)
    status = reserve(k, &k->bundles[k->order[i]]);
  return status ? status : find_ends(k, order);
}

/* ---- settling a round ----------------------------------------------------------------------- */

/** A round in hand. */
typedef struct settling {
  prem_round *round;
  bundle *place[PREM_PHASE_COUNT]; /* NULL: none to be had */
  int64_t from_ns, due_ns, last_start_ns;
} settling;

static bool is_there(const settling *s, int phase) {
  return s->round->task->phase[phase].exists;
}

static int64_t start_of(const prem_keeper *k, const settling *s, int phase) {
  const prem_slot *slot = slot_of(k, s->place[phase], s->round, phase);
  return slot ? slot->start_ns : s->place[phase]->start_ns;
}

/* Everything has its place, and the job's predecessors are over. */
static bool is_settled(const prem_keeper *k, const settling *s) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (is_there(s, p) &&
        (!s->place[p] || s->place[p]->state == WISHED || start_of(k, s, p) < s->from_ns))
      return false;
  return true;
}

/* The round's own reservations; joined pairs belong to another one as well and stay. */
static prem_status let_go(prem_keeper *k, settling *s) {
  prem_status status = release_buffers(k, s->round);
  for (int p = 0; p < PREM_PHASE_COUNT && !status; ++p) {
    bundle *b = s->place[p];
    if (!b || b->joined || b->state != RESERVED)
      continue;
    status = use_bundle(k, b, -1);
    b->state = WISHED;
  }
  return status;
}

/* Would these phases stay, and do they bring their chains? */
static bool may_stay(const prem_keeper *k, const settling *s, int staying) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    const bundle *b = s->place[p];
    bool stays = staying >> p & 1;
    if (!b && stays)
      return false;
    if (b && b->joined && !stays)
      return false;
    for (int q = 0; q < p && b && b->slot_count > 0; ++q)
      if (s->place[q] == b && (staying >> q & 1) != stays)
        return false;
    if (stays && (start_of(k, s, p) < s->from_ns || (!b->joined && !fits(k, b))))
      return false;
  }
  return true;
}

static void fix(const prem_keeper *k, const settling *s, int phase, prem_placing_limits *limits) {
  const prem_slot *slot = slot_of(k, s->place[phase], s->round, phase);
  limits->fixed_ns[phase] = start_of(k, s, phase);
  limits->chained[phase] = slot && (slot->flags & PREM_SLOT_CHAINED);
  s->round->length_ns[phase] = slot ? slot->length_ns : s->round->length_ns[phase];
}

static bool find_between(prem_keeper *k, settling *s, int staying, int64_t due_ns) {
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
static int find_most(prem_keeper *k, settling *s, int64_t due_ns) {
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
static void part(prem_keeper *k, settling *s) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (s->place[p] && s->place[p]->joined) {
      s->place[p]->refused = true;
      k->parted = true;
    }
}

static prem_status settle_phase(prem_keeper *k, settling *s, int phase, bool stays,
                                bool *as_it_was) {
  bundle *b = s->place[phase];
  if (stays && b->slot_count > 0) {
    bool is_used = b->state == RESERVED || b->state == SETTLED;
    b->state = SETTLED;
    *as_it_was = true;
    return is_used ? PREM_OK : use_bundle(k, b, 1);
  }
  return prem_placer_use_phase(k->placer, s->round, (prem_phase)phase, 1);
}

static prem_status settle(prem_keeper *k, settling *s, int64_t until_ns, bool *as_it_was) {
  prem_status status = let_go(k, s);
  int staying = status ? -1 : find_most(k, s, min_ns(s->due_ns, until_ns));
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

prem_status prem_keeper_place(prem_keeper *k, prem_round *r, int64_t from_ns, int64_t due_ns,
                              bool as_it_was[PREM_PHASE_COUNT]) {
  const int32_t *places = k->place_of[tile_index(k, r->task_index, r->job, r->tile)];
  settling s = {.round = r, .from_ns = from_ns, .due_ns = due_ns};
  s.last_start_ns = prem_planning_window(k->planning, r->task, r->job).last_start_ns;
  bool any = false;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    bundle *b = places[p] < 0 ? NULL : &k->bundles[places[p]];
    s.place[p] = b && b->state != GIVEN_UP ? b : NULL;
    any = any || s.place[p];
  }
  if (any && is_settled(k, &s)) {
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (is_there(&s, p)) {
        const prem_slot *slot = slot_of(k, s.place[p], r, p);
        r->start_ns[p] = start_of(k, &s, p);
        r->length_ns[p] = slot ? slot->length_ns : r->length_ns[p];
        s.place[p]->state = SETTLED;
        as_it_was[p] = s.place[p]->slot_count > 0;
      }
    return PREM_OK;
  }
  return settle(k, &s, k->until_ns[k->first_job[r->task_index] + r->job], as_it_was);
}

prem_status prem_keeper_end(const prem_keeper *k, prem_draft *draft) {
  int64_t count = 0;
  for (int64_t i = 0; i < k->bundle_count; ++i)
    count += k->bundles[i].state == SETTLED ? k->bundles[i].slot_count : 0;
  draft->slots = malloc((size_t)(count + 1) * sizeof *draft->slots);
  if (!draft->slots)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < k->bundle_count; ++i) {
    const bundle *b = &k->bundles[i];
    if (b->state != SETTLED || b->slot_count == 0)
      continue;
    memcpy(&draft->slots[draft->slot_count], &k->slots[b->first_slot],
           (size_t)b->slot_count * sizeof *draft->slots);
    draft->slot_count += b->slot_count;
  }
  return PREM_OK;
}

/* ---- yielding ------------------------------------------------------------------------------- */

void prem_keeper_miss(prem_keeper *k, int64_t job) {
  k->late[k->late_count++] = job;
}

int64_t prem_keeper_late_count(const prem_keeper *k) {
  return k->late_count;
}

bool prem_keeper_parted(const prem_keeper *k) {
  return k->parted;
}

bool *prem_keeper_yielding(prem_keeper *k, int64_t *jobs) {
  *jobs = k->first_job[k->schedule->task_count];
  return k->yields;
}

static prem_job_window window_of(const prem_keeper *k, int32_t task, int64_t job) {
  return prem_planning_window(k->planning, &k->schedule->tasks[task],
                              (int32_t)(job - k->first_job[task]));
}

static int32_t task_of_job(const prem_keeper *k, int64_t job) {
  int32_t low = 0, high = k->schedule->task_count;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (k->first_job[middle] <= job)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/** Where jobs were late: windows that do not overlap. */
typedef struct lateness {
  prem_wide from_ns, to_ns;
  int64_t due_ns; /* the first one that was missed */
} lateness;

static int by_from(const void *left, const void *right) {
  const lateness *a = left, *b = right;
  return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int64_t merge(lateness *late, int64_t count) {
  int64_t merged = 0;
  qsort(late, (size_t)count, sizeof *late, by_from);
  for (int64_t i = 1; i < count; ++i) {
    lateness *last = &late[merged];
    if (late[i].from_ns >= last->to_ns) {
      late[++merged] = late[i];
      continue;
    }
    last->due_ns = min_ns(last->due_ns, late[i].due_ns);
    last->to_ns = late[i].to_ns > last->to_ns ? late[i].to_ns : last->to_ns;
  }
  return count ? merged + 1 : 0;
}

/* The last window that begins before `end_ns`, if it is not over by `start_ns`. */
static const lateness *window_at(const lateness *late, int64_t count, int64_t start_ns,
                                 int64_t end_ns) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (late[middle].from_ns < end_ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && late[low - 1].to_ns > start_ns ? &late[low - 1] : NULL;
}

static void yield_within(prem_keeper *k, const lateness *late, int64_t count, bool any) {
  for (int64_t i = 0; i < k->bundle_count; ++i) {
    const bundle *b = &k->bundles[i];
    int64_t job = k->first_job[b->task] + b->job;
    int64_t end_ns = b->start_ns + task_of(k, b)->phase[b->phase].wcet_ns;
    const lateness *within = window_at(late, count, b->start_ns, end_ns);
    if (within && (any || window_of(k, b->task, job).due_ns > within->due_ns))
      k->yields[job] = true;
  }
}

prem_status prem_keeper_yield(prem_keeper *k, int64_t around, bool any, int64_t *count) {
  lateness *late = malloc((size_t)(k->late_count + 1) * sizeof *late);
  if (!late)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < k->late_count; ++i) {
    prem_job_window window = window_of(k, task_of_job(k, k->late[i]), k->late[i]);
    prem_wide reach = (prem_wide)(window.due_ns - window.earliest_ns) * (around - 1);
    late[i] = (lateness){window.earliest_ns - reach, window.due_ns + reach, window.due_ns};
    k->yields[k->late[i]] = true;
  }
  yield_within(k, late, merge(late, k->late_count), any);
  free(late);
  *count = 0;
  for (int64_t q = 0; q < k->first_job[k->schedule->task_count]; ++q)
    *count += k->yields[q];
  return PREM_OK;
}

/* ---- life ----------------------------------------------------------------------------------- */

static bool allocate(prem_keeper *k) {
  size_t tasks = (size_t)k->schedule->task_count;
  k->first_tile = calloc(tasks + 1, sizeof *k->first_tile);
  k->first_job = calloc(tasks + 1, sizeof *k->first_job);
  if (!k->first_tile || !k->first_job)
    return false;
  for (size_t t = 0; t < tasks; ++t) {
    const prem_task *task = &k->schedule->tasks[t];
    int64_t jobs = prem_task_jobs(k->schedule, task);
    k->first_job[t + 1] = k->first_job[t] + jobs;
    k->first_tile[t + 1] = k->first_tile[t] + jobs * task->tile_count;
  }
  size_t tiles = (size_t)k->first_tile[tasks] + 1, jobs = (size_t)k->first_job[tasks] + 1;
  k->place_of = malloc(tiles * sizeof *k->place_of);
  k->held = calloc(tiles, sizeof *k->held);
  k->bundles = malloc((size_t)(k->slot_count + 1) * sizeof *k->bundles);
  k->order = malloc((size_t)(k->slot_count + 1) * sizeof *k->order);
  k->yields = calloc(jobs, sizeof *k->yields);
  k->until_ns = malloc(jobs * sizeof *k->until_ns);
  k->late = malloc(jobs * sizeof *k->late);
  return k->place_of && k->held && k->bundles && k->order && k->yields && k->until_ns && k->late;
}

prem_status prem_keeper_new(const prem_planning *planning, const prem_slot *slots, int64_t count,
                            const bool *changed, prem_keeper **out) {
  prem_keeper *k = *out = calloc(1, sizeof *k);
  if (!k)
    return PREM_ERR_MEMORY;
  k->planning = planning;
  k->schedule = planning->schedule;
  k->guard_ns = planning->schedule->platform.guard_ns;
  k->slots = slots;
  k->slot_count = count;
  k->changed = changed;
  prem_status status = allocate(k) ? PREM_OK : PREM_ERR_MEMORY;
  if (!status) {
    int64_t tiles = k->first_tile[k->schedule->task_count];
    memset(k->place_of, -1, (size_t)tiles * sizeof *k->place_of);
    status = gather(k);
  }
  if (!status) {
    for (int64_t i = 0; i < k->bundle_count; ++i)
      k->order[i] = (int32_t)i;
    qsort_r(k->order, (size_t)k->bundle_count, sizeof *k->order, by_change_and_start, k);
    return PREM_OK;
  }
  prem_keeper_free(k);
  *out = NULL;
  return status;
}

void prem_keeper_free(prem_keeper *k) {
  if (!k)
    return;
  free(k->first_tile);
  free(k->first_job);
  free(k->bundles);
  free(k->order);
  free(k->place_of);
  free(k->held);
  free(k->yields);
  free(k->until_ns);
  free(k->late);
  free(k);
}
