/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for better plans.
 *
 * A schedule stands for the order of its starts; prem_decode_forward() makes a schedule of any
 * order. The search keeps a small population of schedules, begun with priority rules, and makes new
 * ones in five ways: by crossing two (Hartmann 1998, A competitive genetic algorithm for
 * resource-constrained project scheduling), by taking the order of one apart in a window of time (a
 * large neighbourhood), and by a walk of small moves that swap neighbours on a critical path, which
 * also takes worse ones for a while (van Laarhoven, Aarts and Lenstra 1992, Job shop scheduling by
 * simulated annealing), and where tiles hold buffers by letting all blocks advance alike through
 * their tiles in a random order. Where nothing but arcs and renewables binds, a tabu search on the
 * graph of what waits for what joins them (graph.h). All others are justified forward and backward.
 * What has paid off is done more often.
 *
 * Nothing in here depends on time but the end: equal seeds and step limits give equal plans.
 */
#include "schedules/planner/search/search.h"
#include "prem/base/clock.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/random.h"
#include "prem/base/sorting.h"
#include "schedules/planner/search/decode.h"
#include "schedules/planner/search/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_MEMBERS = 20,
  MIN_MEMBERS = 3,
  MEMBER_BUDGET = 600000, /* activities in all members together */
  WALK_STEPS = 500,
  WINDOW_ACTIVITIES = 30,
  TABU_PATIENCE = 2500,   /* moves without a better schedule */
  MOVES_PER_STEP = 4,     /* that many moves take as long as a schedule made of an order, or less */
  PATIENCE_STEPS = 40000, /* without a better schedule, before everything begins anew */
  LONGEST_PATH = 4096,
  LOOK_EACH = 64 /* of a path, at the clock: in large sets each takes long */
};

typedef struct member {
  int64_t *start;
  prem_cost cost;
} member;

/** Ways to make a new schedule. */
typedef enum operator_kind { CROSS, WINDOW, WALK, SHARE, TABU, OPERATOR_COUNT } operator_kind;

typedef struct search {
  const prem_search_limits *limits;
  const prem_model *model;
  prem_decoder *decoder;
  prem_graph *graph; /* NULL: it does not serve the model */
  int64_t *head, *tail_ns;
  int64_t bound_ns;
  bool bounded;
  uint64_t random;
  int64_t steps;
  double told_s; /* when progress was last told */
  prem_status status;
  member best;
  member *members;
  int32_t member_count;
  bool pooled;                  /* there are tiles that hold a buffer */
  int64_t *key, *child, *spare; /* [count] each */
  int32_t *list[2];             /* [count] each */
  bool *chosen;
} search;

/* ---- the end -------------------------------------------------------------------------------- */

static bool is_optimal(const search *s) {
  return s->best.cost.violation == 0 && s->bounded && s->best.cost.value_ns <= s->bound_ns;
}

static void tell(search *s, double now_s) {
  const prem_plan_options *options = s->limits->options;
  if (!options->progress || now_s - s->told_s < 0.1)
    return;
  s->told_s = now_s;
  prem_plan_progress progress = {
      .seconds = now_s - s->limits->began_s,
      .steps = s->steps,
      .feasible = s->best.cost.violation == 0,
      .value_ns = s->model->makespan ? s->best.cost.value_ns : -s->best.cost.value_ns,
      .lower_bound_ns = s->model->makespan && s->bounded ? s->bound_ns : 0,
      .slack = !s->model->makespan};
  options->progress(options->progress_context, &progress);
}

static bool is_over(search *s) {
  const prem_plan_options *options = s->limits->options;
  if (s->status || is_optimal(s) || (options->stop && *options->stop) ||
      (options->step_limit > 0 && s->steps >= options->step_limit))
    return true;
  double now_s = prem_host_clock_s();
  tell(s, now_s);
  int64_t until_ns = s->best.cost.violation == 0 ? s->limits->until_ns : s->limits->give_up_ns;
  return now_s - s->limits->began_s >= (double)until_ns * 1e-9;
}

/* ---- schedules ------------------------------------------------------------------------------ */

static size_t schedule_bytes(const search *s) {
  return (size_t)s->model->count * sizeof(int64_t);
}

static void keep_best(search *s, const int64_t *start, prem_cost cost) {
  if (!prem_cost_less(cost, s->best.cost))
    return;
  memcpy(s->best.start, start, schedule_bytes(s));
  s->best.cost = cost;
}

static prem_cost make_forward(search *s, const int64_t *key, bool waiting, int64_t *start) {
  prem_status status = prem_decode_forward(s->decoder, key, waiting, start);
  if (status) {
    s->status = status;
    return (prem_cost){INT64_MAX, INT64_MAX};
  }
  ++s->steps;
  prem_cost cost = prem_model_cost(s->model, start);
  keep_best(s, start, cost);
  return cost;
}

static bool helps(prem_cost now, prem_cost before) {
  return now.violation < before.violation ||
         (now.violation == before.violation &&
          before.value_ns - now.value_ns > llabs(before.value_ns) / 2000);
}

/* Push everything to the end, then to the front again, as long as that helps noticeably. */
static prem_cost justify(search *s, int64_t *start, prem_cost cost) {
  for (;;) {
    if (is_over(s))
      return cost;
    for (int32_t a = 0; a < s->model->count; ++a)
      s->key[a] = -start[a] - s->model->activities[a].length;
    memcpy(s->spare, start, schedule_bytes(s));
    prem_status status = prem_decode_backward(s->decoder, s->key, cost, s->spare);
    s->status = s->status ? s->status : status;
    ++s->steps;
    prem_cost now = make_forward(s, s->spare, false, s->spare);
    if (prem_cost_less(cost, now))
      return cost;
    memcpy(start, s->spare, schedule_bytes(s));
    if (!helps(now, cost))
      return now;
    cost = now;
  }
}

/* ---- the population ------------------------------------------------------------------------- */

static bool is_known(const search *s, const int64_t *start, prem_cost cost) {
  for (int32_t i = 0; i < s->member_count; ++i)
    if (s->members[i].cost.value_ns == cost.value_ns &&
        s->members[i].cost.violation == cost.violation &&
        memcmp(s->members[i].start, start, schedule_bytes(s)) == 0)
      return true;
  return false;
}

/* Take the place of the worst, if better. */
static bool join_members(search *s, const int64_t *start, prem_cost cost) {
  if (is_known(s, start, cost))
    return false;
  int32_t worst = 0;
  for (int32_t i = 1; i < s->member_count; ++i)
    if (prem_cost_less(s->members[worst].cost, s->members[i].cost))
      worst = i;
  if (prem_cost_less(s->members[worst].cost, cost))
    return false;
  memcpy(s->members[worst].start, start, schedule_bytes(s));
  s->members[worst].cost = cost;
  return true;
}

/* The better one of two. */
static const member *pick_member(search *s) {
  const member *a = &s->members[prem_random_below(&s->random, s->member_count)];
  const member *b = &s->members[prem_random_below(&s->random, s->member_count)];
  return prem_cost_less(b->cost, a->cost) ? b : a;
}

/* ---- rules ---------------------------------------------------------------------------------- */

static int64_t tail_steps(const search *s, int32_t a) {
  return s->tail_ns[a] == PREM_NO_TAIL ? INT64_MIN / 8 : s->tail_ns[a] / s->model->grid_ns;
}

static int64_t span_of(const search *s) {
  int64_t min = INT64_MAX, max = 0;
  for (int32_t a = 0; a < s->model->count; ++a)
    if (s->tail_ns[a] != PREM_NO_TAIL) {
      min = tail_steps(s, a) < min ? tail_steps(s, a) : min;
      max = tail_steps(s, a) > max ? tail_steps(s, a) : max;
    }
  return max > min ? max - min : 1;
}

static int by_key(const void *left, const void *right, void *context) {
  const int64_t *key = context;
  int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  if (key[a] != key[b])
    return key[a] < key[b] ? -1 : 1;
  return (a > b) - (a < b);
}

static void list_by(const search *s, int64_t *key, int32_t *list) {
  for (int32_t a = 0; a < s->model->count; ++a)
    list[a] = a;
  qsort_r(list, (size_t)s->model->count, sizeof *list, by_key, key);
}

/* The pool that an activity takes its buffer from, or gives it back to in that direction; -1: none.
 */
static int32_t pool_of(const search *s, int32_t a, int direction) {
  const prem_side *side = &s->model->side[direction];
  return side->first_pool[a] < side->first_pool[a + 1] ? side->pools[side->first_pool[a]] : -1;
}

static int64_t tile_length(const search *s, int32_t a) {
  int32_t pool = pool_of(s, a, PREM_FORWARD);
  int64_t length = s->model->activities[a].length;
  while (pool_of(s, a, PREM_BACKWARD) != pool)
    length += s->model->activities[++a].length;
  return length;
}

/* The tiles of each block in a random order: a phase's key is the share of its block's work that
 * comes before it, so that all blocks advance alike and end together. */
static bool key_by_share(search *s) {
  const prem_model *model = s->model;
  double *done = calloc((size_t)model->pool_count + 1, sizeof *done);
  double *all = calloc((size_t)model->pool_count + 1, sizeof *all), max = 1;
  for (int32_t a = 0; a < model->count && done && all; ++a) {
    int32_t pool = pool_of(s, a, PREM_FORWARD);
    s->key[a] = prem_random_below(&s->random, INT64_MAX);
    if (pool >= 0)
      all[pool] += (double)tile_length(s, a);
    if (pool >= 0 && all[pool] > max)
      max = all[pool];
  }
  if (done && all)
    list_by(s, s->key, s->list[0]);
  for (int32_t i = 0; i < model->count && done && all; ++i) {
    int32_t a = s->list[0][i], pool = pool_of(s, a, PREM_FORWARD);
    for (bool held = pool >= 0; held; ++a) {
      s->key[a] = (int64_t)(done[pool] / all[pool] * max);
      done[pool] += (double)model->activities[a].length;
      held = pool_of(s, a, PREM_BACKWARD) != pool;
    }
  }
  if (!done || !all)
    s->status = PREM_ERR_MEMORY;
  free(done);
  free(all);
  return !s->status;
}

static prem_cost make_by_share(search *s, int64_t *start) {
  if (!key_by_share(s))
    return (prem_cost){INT64_MAX, INT64_MAX};
  return justify(s, start, make_forward(s, s->key, false, start));
}

static prem_cost make_by_rule(search *s, int32_t number, int64_t *start) {
  static const double noises[] = {0, 0.05, 0.1, 0.2, 0.4, 1};
  if (s->pooled && number % 2 == 0)
    return make_by_share(s, start);
  /* Latest start first, more or less: with noise of up to `noise` of the range. */
  int64_t range = (int64_t)((double)span_of(s) * noises[number % 6]) + 1;
  for (int32_t a = 0; a < s->model->count; ++a)
    s->key[a] = -tail_steps(s, a) + prem_random_below(&s->random, range);
  return justify(s, start, make_forward(s, s->key, number % 4 == 1, start));
}

static void begin_members(search *s) {
  for (int32_t i = 0; i < s->member_count; ++i)
    s->members[i].cost = (prem_cost){INT64_MAX, INT64_MAX};
  for (int32_t i = 0; i < s->member_count && !is_over(s); ++i)
    s->members[i].cost = make_by_rule(s, i, s->members[i].start);
}

/* ---- crossing ------------------------------------------------------------------------------- */

/* As many as `until` in all: those of a list that are not there yet, in its order. */
static int32_t append(search *s, const int32_t *list, int32_t placed, int32_t until) {
  for (int32_t i = 0; placed < until; ++i)
    if (!s->chosen[list[i]]) {
      s->chosen[list[i]] = true;
      s->key[list[i]] = 4 * (int64_t)placed++;
    }
  return placed;
}

/* The order of a new schedule. */
static void cross_keys(search *s) {
  const member *mother = pick_member(s), *father = pick_member(s);
  int32_t count = s->model->count;
  list_by(s, mother->start, s->list[0]);
  list_by(s, father->start, s->list[1]);
  memset(s->chosen, 0, (size_t)count * sizeof *s->chosen);
  int32_t first = (int32_t)prem_random_below(&s->random, count),
          second = (int32_t)prem_random_below(&s->random, count);
  if (first > second) {
    int32_t other = first;
    first = second;
    second = other;
  }
  int32_t placed = append(s, s->list[0], 0, first);
  placed = append(s, s->list[1], placed, second);
  append(s, s->list[0], placed, count);
}

static bool cross(search *s) {
  cross_keys(s);
  int64_t reach = 4 * (s->model->count / 8 + 2);
  for (int32_t a = 0; a < s->model->count; ++a)
    if (prem_random_below(&s->random, 20) == 0)
      s->key[a] += prem_random_below(&s->random, 2 * reach) - reach;
  prem_cost cost = make_forward(s, s->key, false, s->child);
  return join_members(s, s->child, justify(s, s->child, cost));
}

/* ---- windows -------------------------------------------------------------------------------- */

/* Let everything that starts within a window of time start in any order; where gangs share, at
 * times with equal phases that started together kept so. */
static bool shuffle_window(search *s) {
  member *from = &s->members[prem_random_below(&s->random, s->member_count)];
  int32_t count = s->model->count;
  list_by(s, from->start, s->list[0]);
  int32_t max = count / 2 < WINDOW_ACTIVITIES ? count / 2 + 1 : WINDOW_ACTIVITIES;
  int64_t size = 4 + prem_random_below(&s->random, max);
  int64_t first = prem_random_below(&s->random, count);
  for (int32_t a = 0; a < count; ++a)
    s->key[a] = 4 * from->start[a];
  int64_t begin = s->key[s->list[0][first]];
  int64_t last = first + size < count ? first + size : count - 1;
  int64_t end = s->key[s->list[0][last]] + 1;
  bool together = s->model->owner_count > 0 && prem_random_below(&s->random, 2) == 0;
  for (int64_t i = first; i <= last; ++i) {
    int32_t a = s->list[0][i], before = i > first ? s->list[0][i - 1] : -1;
    bool follows = together && before >= 0 && from->start[a] == from->start[before] &&
                   s->model->activities[a].length == s->model->activities[before].length;
    s->key[a] = follows ? s->key[before] : begin + prem_random_below(&s->random, end - begin);
  }
  prem_cost cost = make_forward(s, s->key, false, s->child);
  cost = justify(s, s->child, cost);
  if (prem_cost_less(from->cost, cost) || is_known(s, s->child, cost))
    return false;
  bool better = prem_cost_less(cost, from->cost);
  memcpy(from->start, s->child, schedule_bytes(s));
  from->cost = cost;
  return better;
}

/* ---- walking along critical paths ----------------------------------------------------------- */

/** Something that waits for something else only because both need the same: the order could be the
 *  other one. `first` and `second` are the first phases that would have to change places. */
typedef struct swap {
  int32_t first, second;
} swap;

/* When another activity leaves a renewable to this use; INT64_MIN: it is no rival. */
static int64_t use_end(const prem_model *model, int32_t a, const prem_use *by, int64_t start) {
  const prem_activity *activity = &model->activities[a];
  for (int32_t u = activity->first_use; u < activity->first_use + activity->use_count; ++u) {
    const prem_use *use = &model->uses[u];
    if (use->renewable == by->renewable)
      return use->owner < 0 || use->owner != by->owner ? start + use->length : INT64_MIN;
  }
  return INT64_MIN;
}

/* The phase of the same tile that took the buffer which `a` gives back. */
static int32_t taker_of(const prem_model *model, int32_t a, int32_t pool) {
  const prem_side *side = &model->side[PREM_FORWARD];
  for (;; --a)
    for (int32_t k = side->first_pool[a]; k < side->first_pool[a + 1]; ++k)
      if (side->pools[k] == pool)
        return a;
}

/** A random one of those seen, each with equal chance. */
typedef struct draw {
  int32_t seen;
  int32_t activity;
  swap swap;
  bool swaps;
} draw;

static void see(search *s, draw *d, int32_t activity, bool swaps, int32_t first, int32_t second) {
  if (prem_random_below(&s->random, ++d->seen) == 0)
    *d = (draw){.seen = d->seen, .activity = activity, .swap = {first, second}, .swaps = swaps};
}

/* What a waited for until the very instant at which it starts. */
static draw draw_cause(search *s, const int64_t *start, int32_t a) {
  const prem_model *model = s->model;
  const prem_activity *activity = &model->activities[a];
  draw d = {0};
  const prem_side *back = &model->side[PREM_BACKWARD];
  for (int32_t k = back->first_arc[a]; k < back->first_arc[a + 1]; ++k) {
    const prem_arc *arc = &back->arcs[k];
    int64_t gap = arc->gap - activity->length + model->activities[arc->to].length;
    if (start[arc->to] + gap == start[a])
      see(s, &d, arc->to, false, 0, 0);
  }
  for (int32_t u = activity->first_use; u < activity->first_use + activity->use_count; ++u) {
    int32_t renewable = model->uses[u].renewable;
    for (int32_t i = model->first_user[renewable]; i < model->first_user[renewable + 1]; ++i) {
      int32_t other = model->users[i];
      if (start[other] < start[a] &&
          use_end(model, other, &model->uses[u], start[other]) == start[a])
        see(s, &d, other, true, other, a);
    }
  }
  const prem_side *takes = &model->side[PREM_FORWARD];
  for (int32_t k = takes->first_pool[a]; k < takes->first_pool[a + 1]; ++k) {
    int32_t pool = takes->pools[k];
    for (int32_t i = model->first_giver[pool]; i < model->first_giver[pool + 1]; ++i) {
      int32_t other = model->givers[i];
      if (other != a && start[other] + model->activities[other].length == start[a])
        see(s, &d, other, true, taker_of(model, other, pool), a);
    }
  }
  return d;
}

/* An activity that makes the cost what it is. */
static int32_t draw_last(search *s, const int64_t *start, prem_cost cost) {
  draw d = {0};
  for (int32_t a = 0; a < s->model->count; ++a) {
    const prem_activity *activity = &s->model->activities[a];
    bool last = cost.violation > 0
                    ? start[a] - activity->latest == cost.violation
                    : activity->tail_ns != PREM_NO_TAIL &&
                          start[a] * s->model->grid_ns + activity->tail_ns == cost.value_ns;
    if (last)
      see(s, &d, a, false, 0, 0);
  }
  return d.seen ? d.activity : -1;
}

static bool draw_swap(search *s, const int64_t *start, prem_cost cost, swap *out) {
  int32_t a = draw_last(s, start, cost), swaps = 0;
  for (int32_t length = 0; a >= 0 && length < LONGEST_PATH; ++length) {
    if (length % LOOK_EACH == LOOK_EACH - 1 && is_over(s))
      return false;
    draw d = draw_cause(s, start, a);
    if (d.swaps && prem_random_below(&s->random, ++swaps) == 0)
      *out = d.swap;
    a = d.seen ? d.activity : -1;
  }
  return swaps > 0;
}

/* Give an activity the key, and with it what must be placed before it and has no earlier one. */
static void advance(search *s, int32_t a, int64_t key) {
  if (s->key[a] <= key)
    return;
  s->key[a] = key;
  const prem_side *back = &s->model->side[PREM_BACKWARD];
  for (int32_t k = back->first_arc[a]; k < back->first_arc[a + 1]; ++k)
    advance(s, back->arcs[k].to, key);
}

static bool same_tile(const search *s, int32_t a, int32_t b) {
  return s->model->placement[b] >= 0 &&
         s->model->side[PREM_FORWARD].first_arc[a] <
             s->model->side[PREM_FORWARD].first_arc[a + 1] &&
         b == a + 1 &&
         s->model->side[PREM_FORWARD].arcs[s->model->side[PREM_FORWARD].first_arc[a]].to == b;
}

/* The second before the first; or the first behind the second. */
static void apply_swap(search *s, const int64_t *start, swap by) {
  int32_t count = s->model->count;
  for (int32_t a = 0; a < count; ++a)
    s->key[a] = 4 * start[a];
  int64_t shift = 4 * (start[by.second] - start[by.first]) + 1;
  if (prem_random_below(&s->random, 2) == 0) {
    for (int32_t a = by.first;; ++a) {
      s->key[a] += shift;
      if (a + 1 >= count || !same_tile(s, a, a + 1))
        return;
    }
  }
  for (int32_t a = by.second;; ++a) {
    advance(s, a, s->key[a] - shift);
    if (a + 1 >= count || !same_tile(s, a, a + 1))
      return;
  }
}

static double difference(const search *s, prem_cost to, prem_cost from) {
  double violation = (double)(to.violation - from.violation) * (double)s->model->grid_ns;
  return violation != 0 ? violation : (double)(to.value_ns - from.value_ns);
}

static bool walk(search *s) {
  member *from = &s->members[prem_random_below(&s->random, s->member_count)];
  int64_t *here = s->child, *there = s->spare;
  prem_cost cost = from->cost, min = from->cost;
  memcpy(here, from->start, schedule_bytes(s));
  double scale = fabs((double)cost.value_ns) * 0.004 + 1;
  for (int32_t step = 0; step < WALK_STEPS && !is_over(s); ++step) {
    swap by = {0, 0};
    if (!draw_swap(s, here, cost, &by))
      break;
    apply_swap(s, here, by);
    prem_cost now = make_forward(s, s->key, false, there);
    double heat = scale * (1 - (double)step / WALK_STEPS) + 1e-9;
    double worse = difference(s, now, cost);
    if (worse > 0 && prem_random_unit(&s->random) >= exp(-worse / heat))
      continue;
    memcpy(here, there, schedule_bytes(s));
    cost = now;
    if (prem_cost_less(cost, min))
      min = cost;
  }
  cost = justify(s, here, cost);
  if (prem_cost_less(from->cost, cost) || is_known(s, here, cost))
    return false;
  bool better = prem_cost_less(cost, from->cost);
  memcpy(from->start, here, schedule_bytes(s));
  from->cost = cost;
  return better;
}

/* ---- tabu ----------------------------------------------------------------------------------- */

/* The best schedule on the way from s->child is left there. */
static prem_cost go_tabu(search *s, prem_cost cost) {
  prem_graph_begin(s->graph, s->child);
  int64_t min = INT64_MAX;
  for (int32_t moves = 0, since = 0; since < TABU_PATIENCE && !s->status; ++moves, ++since) {
    if (moves % MOVES_PER_STEP == 0) {
      ++s->steps;
      if (moves % 64 == 0 && is_over(s))
        break;
    }
    if (prem_graph_value(s->graph) < min) {
      since = 0;
      min = prem_graph_value(s->graph);
      prem_cost now = prem_model_cost(s->model, prem_graph_starts(s->graph));
      if (prem_cost_less(now, cost)) {
        cost = now;
        memcpy(s->child, prem_graph_starts(s->graph), schedule_bytes(s));
        keep_best(s, s->child, cost);
        if (is_optimal(s))
          break;
      }
    }
    if (!prem_graph_move(s->graph, prem_random_next(&s->random)))
      break;
  }
  return cost;
}

/* From a member, or from the crossing of two. */
static bool tabu(search *s) {
  if (prem_random_below(&s->random, 2) == 0) {
    cross_keys(s);
    prem_cost cost = make_forward(s, s->key, false, s->child);
    return join_members(s, s->child, go_tabu(s, cost));
  }
  member *from = &s->members[prem_random_below(&s->random, s->member_count)];
  memcpy(s->child, from->start, schedule_bytes(s));
  prem_cost cost = go_tabu(s, from->cost);
  if (!prem_cost_less(cost, from->cost) || is_known(s, s->child, cost))
    return false;
  memcpy(from->start, s->child, schedule_bytes(s));
  from->cost = cost;
  return true;
}

/* ---- all together --------------------------------------------------------------------------- */

static bool share(search *s) {
  prem_cost cost = make_by_share(s, s->child);
  return join_members(s, s->child, cost);
}

/** What came of an operator. */
typedef struct account {
  bool (*apply)(search *);
  double trust; /* before anything is known */
  int64_t steps, wins;
} account;

/* The one that has made the fewest schedules for what it has brought. */
static account *pick_operator(account accounts[OPERATOR_COUNT]) {
  account *chosen = NULL;
  double min = INFINITY;
  for (int i = 0; i < OPERATOR_COUNT; ++i) {
    account *a = &accounts[i];
    double price = (double)a->steps / (a->trust * (double)(1 + a->wins));
    if (price < min) {
      min = price;
      chosen = a;
    }
  }
  return chosen;
}

static void evolve(search *s) {
  account accounts[OPERATOR_COUNT] = {[CROSS] = {cross, 0.2, 0, 0},
                                      [WINDOW] = {shuffle_window, 1, 0, 0},
                                      [WALK] = {walk, 1, 0, 0},
                                      [SHARE] = {share, 0.5, s->pooled ? 0 : INT64_MAX / 4, 0},
                                      [TABU] = {tabu, 2, s->graph ? 0 : INT64_MAX / 4, 0}};
  int64_t patience = PATIENCE_STEPS, begun = s->steps;
  while (!is_over(s)) {
    account *a = pick_operator(accounts);
    int64_t before = s->steps;
    prem_cost best = s->best.cost;
    a->apply(s);
    a->steps += s->steps - before + 1;
    if (prem_cost_less(s->best.cost, best)) {
      ++a->wins;
      begun = s->steps;
    }
    if (s->steps - begun > patience) {
      begin_members(s);
      begun = s->steps;
      patience *= 2;
    }
  }
}

/* When even one schedule in the midst of its making is too late. */
static double until_s(const search *s) {
  const int64_t until_ns = prem_max_i64(s->limits->until_ns, s->limits->give_up_ns);
  return s->limits->began_s + (double)until_ns * 1e-9;
}

static bool make_arrays(search *s) {
  size_t count = (size_t)s->model->count + 1;
  s->head = malloc(count * sizeof *s->head);
  s->tail_ns = malloc(count * sizeof *s->tail_ns);
  s->best.start = malloc(count * sizeof *s->best.start);
  s->key = malloc(count * sizeof *s->key);
  s->child = malloc(count * sizeof *s->child);
  s->spare = malloc(count * sizeof *s->spare);
  s->list[0] = malloc(count * sizeof *s->list[0]);
  s->list[1] = malloc(count * sizeof *s->list[1]);
  s->chosen = malloc(count * sizeof *s->chosen);
  s->member_count = MEMBER_BUDGET / (int32_t)count;
  if (s->member_count < MIN_MEMBERS)
    s->member_count = MIN_MEMBERS;
  if (s->member_count > MAX_MEMBERS)
    s->member_count = MAX_MEMBERS;
  s->members = calloc((size_t)s->member_count, sizeof *s->members);
  if (!s->head || !s->tail_ns || !s->best.start || !s->key || !s->child || !s->spare ||
      !s->list[0] || !s->list[1] || !s->chosen || !s->members)
    return false;
  for (int32_t i = 0; i < s->member_count; ++i) {
    s->members[i].start = calloc(count, sizeof *s->members[i].start);
    if (!s->members[i].start)
      return false;
  }
  s->pooled = s->model->side[PREM_FORWARD].first_pool[s->model->count] > 0;
  s->decoder = prem_decoder_new(s->model);
  if (s->decoder)
    prem_decoder_end_at(s->decoder, until_s(s), s->limits->options->stop);
  return s->decoder && prem_graph_new(s->model, &s->graph) == PREM_OK;
}

static void release(search *s) {
  for (int32_t i = 0; s->members && i < s->member_count; ++i)
    free(s->members[i].start);
  PREM_FREE(s->members, s->head, s->tail_ns, s->best.start, s->key, s->child, s->spare, s->list[0],
            s->list[1], s->chosen);
  prem_decoder_free(s->decoder);
  prem_graph_free(s->graph);
}

static void find_bound(search *s) {
  s->status = prem_model_chains(s->model, s->head, s->tail_ns);
  if (!s->status)
    s->status = prem_model_bound(s->model, s->head, s->tail_ns, &s->bound_ns);
  s->bounded = !s->status && s->bound_ns != INT64_MIN;
  int64_t given_ns = s->limits->lower_bound_ns;
  if (s->bounded && s->model->makespan && given_ns > s->bound_ns)
    s->bound_ns = given_ns;
}

/** A tile of the draft: its first placement. */
typedef struct tile_ref {
  const prem_placement *placed;
  int64_t index; /* of the placement */
  int64_t start_ns;
  int32_t position;
} tile_ref;

static int by_block(const tile_ref *a, const tile_ref *b) {
  const prem_placement *x = a->placed, *y = b->placed;
  return prem_by_numbers((int64_t[]){x->task, x->job, a->position, x->count},
                         (int64_t[]){y->task, y->job, b->position, y->count}, 4);
}

static int by_block_and_tile(const void *left, const void *right) {
  const tile_ref *a = left, *b = right;
  int order = by_block(a, b);
  return order ? order : (a->placed->tile > b->placed->tile) - (a->placed->tile < b->placed->tile);
}

static int by_block_and_start(const void *left, const void *right) {
  const tile_ref *a = left, *b = right;
  int order = by_block(a, b);
  return order ? order : (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int64_t list_tiles(const prem_planning *planning, const prem_draft *draft, tile_ref *tiles) {
  int64_t count = 0;
  for (int64_t i = 0; i < draft->count; ++i) {
    const prem_placement *placed = &draft->placements[i];
    if (i > 0 && placed[-1].task == placed->task && placed[-1].job == placed->job &&
        placed[-1].tile == placed->tile)
      continue;
    int32_t blocks = planning->schedule->tasks[placed->task].block_count;
    tiles[count++] = (tile_ref){placed, i, placed->start_ns, placed->tile % blocks};
  }
  return count;
}

/* The tiles of a job on one block are equal: let them run in the order of their numbers, which is
 * what a reader expects, and what makes a plan regular. */
static prem_status number_tiles(const prem_planning *planning, prem_draft *draft) {
  size_t room = (size_t)draft->count + 1;
  tile_ref *in_time = malloc(room * sizeof *in_time), *in_order = malloc(room * sizeof *in_order);
  prem_placement *old = malloc(room * sizeof *old);
  if (in_time && in_order && old) {
    int64_t count = list_tiles(planning, draft, in_time);
    memcpy(old, draft->placements, (size_t)draft->count * sizeof *old);
    memcpy(in_order, in_time, (size_t)count * sizeof *in_order);
    qsort(in_order, (size_t)count, sizeof *in_order, by_block_and_tile);
    qsort(in_time, (size_t)count, sizeof *in_time, by_block_and_start);
    for (int64_t k = 0; k < count; ++k) {
      int64_t to = in_order[k].index, from = in_time[k].index;
      int32_t tile = old[to].tile;
      for (; to < draft->count && old[to].task == in_order[k].placed->task &&
             old[to].job == in_order[k].placed->job && old[to].tile == tile;
           ++to, ++from)
        draft->placements[to].start_ns = old[from].start_ns;
    }
  }
  prem_status status = in_time && in_order && old ? PREM_OK : PREM_ERR_MEMORY;
  PREM_FREE(in_time, in_order, old);
  return status;
}

static void write_draft(const search *s, prem_draft *draft) {
  const prem_model *model = s->model;
  for (int32_t a = 0; a < model->count; ++a)
    if (model->placement[a] >= 0)
      draft->placements[model->placement[a]].start_ns = s->best.start[a] * model->grid_ns;
  int64_t value_ns = s->best.cost.value_ns, above = value_ns % model->grid_ns;
  if (model->makespan && !model->horizon_ns)
    draft->hyperperiod_ns = above ? value_ns + model->grid_ns - above : value_ns;
}

/* The search ends at its own bound; but plans with chains and joined phases, which it does not
 * make, know neither guard nor grid within a tile. A makespan is optimal by the given bound only.
 */
static bool is_proof(const search *s, const prem_planning *planning) {
  if (s->model->makespan)
    return s->best.cost.value_ns <= s->limits->lower_bound_ns;
  for (int32_t t = 0; t < planning->schedule->task_count; ++t)
    if (planning->schedule->tasks[t].joined.exists)
      return false;
  return planning->grid_ns == 1 && prem_schedule_gap_ns(planning->schedule, NULL) == 0 &&
         prem_schedule_unit_gap_ns(planning->schedule) == 0;
}

static void run(search *s, const prem_planning *planning, prem_draft *draft,
                prem_search_result *out) {
  find_bound(s);
  if (s->status)
    return;
  for (int32_t a = 0; a < s->model->count; ++a)
    s->child[a] = s->model->placement[a] < 0
                      ? 0
                      : draft->placements[s->model->placement[a]].start_ns / s->model->grid_ns;
  prem_cost begin = prem_model_cost(s->model, s->child);
  s->best.cost = (prem_cost){INT64_MAX, INT64_MAX};
  keep_best(s, s->child, begin);
  justify(s, s->child, begin);
  begin_members(s);
  evolve(s);
  if (s->status == PREM_ERR_INTERRUPTED) /* in the midst of a schedule, which does not count */
    s->status = PREM_OK;
  out->steps = s->steps;
  out->improved = prem_cost_less(s->best.cost, begin);
  out->feasible = s->best.cost.violation == 0;
  out->optimal = is_optimal(s) && is_proof(s, planning);
  if (!out->improved)
    return;
  write_draft(s, draft);
  prem_status status = number_tiles(planning, draft);
  s->status = s->status ? s->status : status;
}

prem_status prem_plan_search(const prem_planning *planning, const prem_search_limits *limits,
                             prem_draft *draft, prem_search_result *out) {
  *out = (prem_search_result){0};
  prem_model model;
  prem_status status = prem_model_build(planning, draft, &model);
  out->unsearched = model.refusal;
  if (status)
    return status;
  search s = {.limits = limits, .model = &model, .random = limits->seed};
  if (make_arrays(&s))
    run(&s, planning, draft, out);
  else
    s.status = PREM_ERR_MEMORY;
  release(&s);
  prem_model_free(&model);
  return s.status;
}
