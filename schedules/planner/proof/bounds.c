/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lower bounds of the makespan, from the relaxed reading of the rules.
 *
 * Each node has a head and a tail (the longest paths before and behind it). On a renewable of
 * capacity 1 what must be done between heads and tails takes at least as long as Jackson's
 * preemptive schedule; on a renewable of more, so do its uses counted in demand x time, and those
 * of which no two fit beside each other.
 */
#include "schedules/planner/proof/bounds.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "schedules/planner/common/jackson.h"
#include "schedules/planner/proof/refute.h"

#include <stdlib.h>

/* What small sets are worth, in steps of the refuter. */
enum { NARROW_STEPS = 30000000, PROBE_STEPS = 300000000 };

typedef struct bounding {
  prem_rules rules;
  int64_t *head, *tail, *latest;
  prem_work *works; /* of a renewable */
  int32_t *heap;    /* of works, the longest tail first */
  int64_t bound;
} bounding;

/* ---- renewables ----------------------------------------------------------------------------- */

static prem_wide longest(bounding *b, int32_t count) {
  return count > 0 ? prem_jackson_end(b->works, count, b->heap, NULL) : 0;
}

/* All uses as one machine that delivers the renewable's capacity: in demand x time. */
static prem_wide bound_volume(bounding *b, int32_t l, prem_renewable renewable) {
  const prem_rules *rules = &b->rules;
  int32_t count = 0;
  for (int64_t k = rules->first_hold[l]; k < rules->first_hold[l + 1]; ++k) {
    const prem_hold *hold = &rules->holds[rules->renewable_holds[k]];
    prem_wide after = (prem_wide)b->tail[hold->first] - hold->min;
    if (prem_rules_counts(rules, renewable, hold))
      b->works[count++] = (prem_work){.head = (prem_wide)b->head[hold->first] * renewable.capacity,
                                      .left = (prem_wide)hold->min * hold->demand,
                                      .tail = after * renewable.capacity};
  }
  return (longest(b, count) + renewable.capacity - 1) / renewable.capacity;
}

/* Those that ask for more than half of the renewable follow each other. */
static prem_wide bound_large(bounding *b, int32_t l, prem_renewable renewable) {
  const prem_rules *rules = &b->rules;
  int32_t count = 0;
  for (int64_t k = rules->first_hold[l]; k < rules->first_hold[l + 1]; ++k) {
    const prem_hold *hold = &rules->holds[rules->renewable_holds[k]];
    if (2 * (int64_t)hold->demand > renewable.capacity && prem_rules_counts(rules, renewable, hold))
      b->works[count++] = (prem_work){.head = b->head[hold->first],
                                      .left = hold->min,
                                      .tail = (prem_wide)b->tail[hold->first] - hold->min};
  }
  return longest(b, count);
}

static void bound_renewables(bounding *b) {
  for (int32_t l = 0; l < b->rules.renewable_count; ++l) {
    prem_renewable renewable = prem_rules_renewable(&b->rules, l);
    b->bound = (int64_t)prem_max_wide(b->bound, bound_volume(b, l, renewable));
    if (renewable.capacity > 1)
      b->bound = (int64_t)prem_max_wide(b->bound, bound_large(b, l, renewable));
  }
}

/* ---- jobs of many tiles --------------------------------------------------------------------- */

/** What one job asks of a renewable. */
typedef struct load {
  prem_wide volume;
  int64_t head, tail;
} load;

static void add_load(load *to, const prem_hold *hold, int64_t head, int64_t tail) {
  if (to->volume == 0)
    *to = (load){0, head, tail};
  to->volume += (prem_wide)hold->min * hold->demand;
  to->head = head < to->head ? head : to->head;
  to->tail = tail < to->tail ? tail : to->tail;
}

/* The job alone: the renewable of which it asks most. Its holds begin at *hold. */
static int64_t shortest_job(const bounding *b, int32_t begin, int32_t nodes, int64_t *hold,
                            load *loads) {
  const prem_rules *rules = &b->rules;
  int64_t first = *hold;
  prem_wide longest = 0;
  for (; *hold < rules->hold_count && rules->holds[*hold].first < begin + nodes; ++*hold) {
    const prem_hold *of = &rules->holds[*hold];
    if (prem_rules_counts(rules, prem_rules_renewable(rules, of->renewable), of))
      add_load(&loads[of->renewable], of, b->head[of->first] - b->head[begin],
               b->tail[of->first] - of->min - b->tail[begin + 1]);
  }
  for (int64_t h = first; h < *hold; ++h) {
    int32_t l = rules->holds[h].renewable, capacity = prem_rules_renewable(rules, l).capacity;
    if (loads[l].volume > 0)
      longest = prem_max_wide(longest, loads[l].head + (loads[l].volume + capacity - 1) / capacity +
                                           loads[l].tail);
    loads[l].volume = 0;
  }
  return (int64_t)longest;
}

/* Keep begin and end of each job as far apart as it takes. */
static bool stretch_jobs(bounding *b, load *loads) {
  prem_rules *rules = &b->rules;
  size_t max = (size_t)rules->arc_count + (size_t)rules->node_count;
  prem_apart *grown = realloc(rules->arcs, (max + 1) * sizeof *grown);
  if (!grown)
    return false;
  rules->arcs = grown;
  int64_t hold = 0;
  for (int32_t begin = 0, next; begin < rules->node_count; begin = next) {
    next = begin + 2;
    while (next < rules->node_count && rules->nodes[next].tile >= 0)
      ++next;
    int64_t gap = shortest_job(b, begin, next - begin, &hold, loads);
    rules->arcs[rules->arc_count++] = (prem_apart){gap, begin, begin + 1};
  }
  return true;
}

/* ---- equal tiles ---------------------------------------------------------------------------- */

/* Beyond it nothing is probed, and little is won. */
enum { MAX_ORDERED = 4000 };

/* The tiles of a job on one block are equal: any plan is as long if the first prefetch, compute and
 * writeback become those of the first tile, and so on. The phases of a job stand tile by tile. */
static bool order_job(bounding *b, int32_t begin, int32_t nodes) {
  prem_rules *rules = &b->rules;
  const prem_task *task = &rules->planning->schedule->tasks[rules->nodes[begin].task];
  bool single = rules->planning->schedule->platform.buffers == 1;
  int32_t phases = 0, first = begin + 2, end = begin + nodes;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    phases += task->phase[p].exists;
  if (task->together) /* its rounds are tied, be they full or not */
    return true;
  size_t max = (size_t)rules->arc_count + (size_t)nodes;
  prem_apart *grown = realloc(rules->arcs, (max + 1) * sizeof *grown);
  if (!grown)
    return false;
  rules->arcs = grown;
  for (int32_t n = first; n < end; ++n) {
    int64_t next = n + (int64_t)phases * task->block_count;
    bool last = (n - first) % phases == phases - 1;
    if (single && !last) /* a tile begins when the one before has ended */
      continue;
    if (single)
      next -= phases - 1;
    if (next < end)
      rules->arcs[rules->arc_count++] =
          (prem_apart){prem_div_ceil(rules->nodes[n].wcet_ns, rules->unit_ns), n, (int32_t)next};
  }
  return true;
}

/* Joined phases share their time. */
static bool order_tiles(bounding *b) {
  if (b->rules.joinable || b->rules.node_count > MAX_ORDERED)
    return true;
  for (int32_t begin = 0, next; begin < b->rules.node_count; begin = next) {
    next = begin + 2;
    while (next < b->rules.node_count && b->rules.nodes[next].tile >= 0)
      ++next;
    if (!order_job(b, begin, next - begin))
      return false;
  }
  return true;
}

/* ---- small sets ----------------------------------------------------------------------------- */

/* The longest end that is refuted, by steps that double and then halve. No end below `bound` is
 * open. */
static void destroy(bounding *b, prem_refuter *refuter, prem_effort effort, int64_t open) {
  int64_t step = 1;
  while (effort.steps > 0 && b->bound < open) {
    int64_t end = b->bound + step - 1;
    if (end >= open)
      end = b->bound + (open - 1 - b->bound) / 2;
    if (prem_refuter_excludes(refuter, end, &effort)) {
      b->bound = end + 1;
      step = prem_min_i64(2 * step, PREM_MAX_NS / 2);
    } else {
      open = end;
      step = 1 + (open - b->bound) / 2;
    }
  }
}

static void bound_small(bounding *b, prem_effort effort, int64_t open) {
  prem_refuter *refuter = prem_refuter_new(&b->rules, b->head, b->tail);
  int64_t far = prem_rules_far(&b->rules), before = b->bound;
  if (refuter)
    destroy(b, refuter, effort, open < far ? open : far);
  if (b->bound >= far) /* deadlines that cannot be met exclude every end */
    b->bound = before;
  prem_refuter_free(refuter);
}

/* ---- all together --------------------------------------------------------------------------- */

static bool find_paths(bounding *b) {
  load *loads = calloc((size_t)b->rules.renewable_count, sizeof *loads);
  bool found = loads && order_tiles(b) &&
               prem_rules_paths(&b->rules, b->head, b->tail, b->latest) == PREM_OK &&
               stretch_jobs(b, loads) &&
               prem_rules_paths(&b->rules, b->head, b->tail, b->latest) == PREM_OK;
  free(loads);
  return found;
}

static void release(bounding *b) {
  PREM_FREE(b->head, b->tail, b->latest, b->works, b->heap);
  prem_rules_free(&b->rules);
}

static bool start(const prem_planning *planning, bounding *b) {
  *b = (bounding){0};
  if (planning->schedule->period_lcm_ns ||
      prem_rules_build(planning, true, NULL, INT32_MAX, &b->rules))
    return false;
  size_t nodes = (size_t)b->rules.node_count, holds = (size_t)b->rules.hold_count;
  b->head = malloc((nodes + 1) * sizeof *b->head);
  b->tail = malloc((nodes + 1) * sizeof *b->tail);
  b->latest = malloc((nodes + 1) * sizeof *b->latest);
  b->works = malloc((holds + 1) * sizeof *b->works);
  b->heap = malloc((holds + 1) * sizeof *b->heap);
  if (b->head && b->tail && b->latest && b->works && b->heap && find_paths(b))
    return true;
  release(b);
  return false;
}

static int64_t on_grid(const prem_planning *planning, int64_t ns) {
  return prem_round_up(ns, planning->grid_ns);
}

bool prem_planning_lower_bound(const prem_planning *planning, int64_t *out_ns) {
  bounding b;
  if (!start(planning, &b))
    return false;
  b.bound = planning->warmup_ns;
  for (int32_t n = 0; n < b.rules.node_count; ++n)
    b.bound = (int64_t)prem_max_wide(b.bound, (prem_wide)b.head[n] + b.tail[n]);
  bound_renewables(&b);
  bound_small(&b, (prem_effort){.steps = NARROW_STEPS}, INT64_MAX);
  *out_ns = on_grid(planning, b.bound);
  release(&b);
  return true;
}

void prem_planning_raise_bound(const prem_planning *planning, int64_t known_ns,
                               const volatile sig_atomic_t *stop, int64_t *bound_ns) {
  bounding b;
  if (*bound_ns >= known_ns || !start(planning, &b))
    return;
  b.bound = *bound_ns;
  bound_small(&b, (prem_effort){.steps = PROBE_STEPS, .probe = true, .stop = stop},
              known_ns - planning->grid_ns + 1); /* the next shorter plan is refuted: enough */
  *bound_ns = on_grid(planning, b.bound);
  release(&b);
}
