/* SPDX-License-Identifier: Apache-2.0 */
/* Narrowing windows until one is empty. */
#include "schedules/planner/proof/refute.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"

enum { MAX_BODIES = 160, MAX_CLIQUES = 24, ROUNDS = 4 };

/** What cannot be cut: from the start of a node to that of another and `length` further. */
typedef struct body {
  int64_t length, min; /* as those of prem_hold, on the renewable where it is shortest */
  int32_t first, last;
} body;

/** Two bodies that cannot overlap. */
typedef struct pair {
  int32_t a, b;
} pair;

/** Bodies that share a supply. */
typedef struct team {
  int32_t *bodies, *demands;
  int64_t *length, *min; /* as those of prem_hold */
  int32_t count, capacity;
} team;

typedef struct windows {
  int64_t *first, *last; /* [node]: starts */
  char *order;           /* [pair]: 0 open, else who comes first: 'a' or 'b' */
} windows;

struct prem_refuter {
  const prem_rules *rules;
  const int64_t *head, *tail;
  prem_apart *arcs; /* in the order of their heads */
  int64_t arc_count;
  body *bodies;
  int32_t body_count;
  bool *apart; /* [body][body]: cannot overlap */
  pair *pairs;
  int32_t pair_count;
  team *teams;
  int32_t team_count;
  windows now, kept;
  int64_t *from, *to; /* candidates for the ends of intervals */
  prem_effort *effort;
};

static bool is_tired(const prem_refuter *r) {
  return r->effort->steps <= 0 || (r->effort->stop && *r->effort->stop);
}

/* ---- windows -------------------------------------------------------------------------------- */

static bool not_before(prem_refuter *r, int32_t node, int64_t at, bool *changed) {
  if (at <= r->now.first[node])
    return true;
  r->now.first[node] = at;
  *changed = true;
  return at <= r->now.last[node];
}

static bool not_after(prem_refuter *r, int32_t node, int64_t at, bool *changed) {
  if (at >= r->now.last[node])
    return true;
  r->now.last[node] = at;
  *changed = true;
  return at >= r->now.first[node];
}

static bool keep_apart(prem_refuter *r, int32_t from, int32_t to, int64_t gap, bool *changed) {
  return not_before(r, to, r->now.first[from] + gap, changed) &&
         not_after(r, from, r->now.last[to] - gap, changed);
}

static bool follow_arcs(prem_refuter *r, bool *changed) {
  r->effort->steps -= 2 * r->arc_count;
  for (int64_t a = 0; a < r->arc_count; ++a)
    if (!keep_apart(r, r->arcs[a].from, r->arcs[a].to, r->arcs[a].gap, changed))
      return false;
  for (int64_t a = r->arc_count - 1; a >= 0; --a)
    if (!keep_apart(r, r->arcs[a].from, r->arcs[a].to, r->arcs[a].gap, changed))
      return false;
  return true;
}

static bool can_precede(const prem_refuter *r, const body *a, const body *b) {
  return r->now.first[a->last] + a->length <= r->now.last[b->first];
}

static bool order_pairs(prem_refuter *r, bool *changed) {
  r->effort->steps -= r->pair_count;
  for (int32_t p = 0; p < r->pair_count; ++p) {
    const body *a = &r->bodies[r->pairs[p].a], *b = &r->bodies[r->pairs[p].b];
    bool a_first = r->now.order[p] != 'b' && can_precede(r, a, b);
    bool b_first = r->now.order[p] != 'a' && can_precede(r, b, a);
    if (!a_first && !b_first)
      return false;
    if (a_first && b_first)
      continue;
    r->now.order[p] = a_first ? 'a' : 'b';
    if (!keep_apart(r, a_first ? a->last : b->last, a_first ? b->first : a->first,
                    a_first ? a->length : b->length, changed))
      return false;
  }
  return true;
}

/* ---- energy --------------------------------------------------------------------------------- */

/** A body of a team, as an interval problem sees it. */
typedef struct piece {
  int64_t from, to; /* it lies between */
  int64_t min, length;
  int32_t demand, body;
} piece;

static int64_t overlap(int64_t from, int64_t to, int64_t begin, int64_t end) {
  return prem_max_i64(0, prem_min_i64(to, end) - prem_max_i64(from, begin));
}

/* The least time that it spends in [begin, end), wherever in its window it lies. */
static int64_t forced(const piece *p, int64_t begin, int64_t end) {
  return prem_min_i64(overlap(p->from, p->from + p->min, begin, end),
                      overlap(p->to - p->min, p->to, begin, end));
}

static bool narrow_piece(prem_refuter *r, const piece *p, int64_t begin, int64_t end,
                         prem_wide spare, bool *changed) {
  const body *b = &r->bodies[p->body];
  int64_t early = overlap(p->from, p->from + p->min, begin, end);
  int64_t late = overlap(p->to - p->min, p->to, begin, end);
  prem_wide room = spare + (prem_wide)prem_min_i64(early, late) * p->demand;
  if ((prem_wide)early * p->demand > room &&
      !not_before(r, b->first, end - (int64_t)(room / p->demand), changed))
    return false;
  int64_t by = begin + (int64_t)(room / p->demand);
  return (prem_wide)late * p->demand <= room || (not_after(r, b->last, by - p->length, changed) &&
                                                 not_after(r, b->first, by - p->min, changed));
}

static bool supply_interval(prem_refuter *r, const team *t, const piece *pieces, int64_t begin,
                            int64_t end, bool *changed) {
  prem_wide spare = (prem_wide)(end - begin) * t->capacity, largest = 0;
  for (int32_t i = 0; i < t->count; ++i) {
    spare -= (prem_wide)forced(&pieces[i], begin, end) * pieces[i].demand;
    prem_wide whole = (prem_wide)prem_min_i64(pieces[i].min, end - begin) * pieces[i].demand;
    largest = whole > largest ? whole : largest;
  }
  r->effort->steps -= t->count;
  if (spare < 0)
    return false;
  for (int32_t i = 0; i < t->count && spare < largest; ++i)
    if (!narrow_piece(r, &pieces[i], begin, end, spare, changed))
      return false;
  return true;
}

static int32_t sort_distinct(int64_t *values, int32_t count) {
  qsort(values, (size_t)count, sizeof *values, prem_by_i64);
  int32_t kept = 0;
  for (int32_t i = 0; i < count; ++i)
    if (i == 0 || values[i] != values[kept - 1])
      values[kept++] = values[i];
  return kept;
}

/* Intervals that begin and end where a body can. */
static bool supply_team(prem_refuter *r, const team *t, bool *changed) {
  piece pieces[MAX_BODIES];
  int32_t ends = 0;
  for (int32_t i = 0; i < t->count; ++i) {
    const body *b = &r->bodies[t->bodies[i]];
    int64_t from = r->now.first[b->first];
    int64_t to =
        prem_max_i64(r->now.last[b->last] + t->length[i], r->now.last[b->first] + t->min[i]);
    pieces[i] = (piece){from, to, t->min[i], t->length[i], t->demands[i], t->bodies[i]};
    r->from[ends] = from;
    r->to[ends++] = to;
    r->from[ends] = to - t->min[i];
    r->to[ends++] = from + t->min[i];
  }
  int32_t begins = sort_distinct(r->from, ends);
  ends = sort_distinct(r->to, ends);
  for (int32_t i = 0; i < begins; ++i)
    for (int32_t k = ends - 1; k >= 0 && r->to[k] > r->from[i]; --k)
      if (!supply_interval(r, t, pieces, r->from[i], r->to[k], changed))
        return false;
  return true;
}

/* ---- together ------------------------------------------------------------------------------- */

/* Arcs and pairs until they are quiet, then the energy of one team after the other. */
static bool narrow(prem_refuter *r) {
  int32_t quiet = 0;
  for (int32_t t = 0; quiet <= r->team_count && !is_tired(r);) {
    bool changed;
    do {
      changed = false;
      if (!follow_arcs(r, &changed) || !order_pairs(r, &changed))
        return false;
    } while (changed && !is_tired(r));
    if (t < r->team_count && !supply_team(r, &r->teams[t], &changed))
      return false;
    quiet = changed ? 0 : quiet + 1;
    t = r->team_count ? (t + 1) % r->team_count : 0;
  }
  return true;
}

static void copy_windows(const prem_refuter *r, windows *to, const windows *from) {
  size_t nodes = (size_t)r->rules->node_count;
  memcpy(to->first, from->first, nodes * sizeof *to->first);
  memcpy(to->last, from->last, nodes * sizeof *to->last);
  memcpy(to->order, from->order, (size_t)r->pair_count);
}

/* Assume the order, or the window; what is impossible is excluded for good. */
static bool probe_pair(prem_refuter *r, int32_t p, char order, bool *changed) {
  copy_windows(r, &r->kept, &r->now);
  r->now.order[p] = order;
  bool possible = narrow(r);
  copy_windows(r, &r->now, &r->kept);
  if (possible)
    return true;
  r->now.order[p] = order == 'a' ? 'b' : 'a';
  *changed = true;
  return narrow(r);
}

static bool probe_start(prem_refuter *r, int32_t node, int64_t from, int64_t to, bool *excluded) {
  copy_windows(r, &r->kept, &r->now);
  r->now.first[node] = from;
  r->now.last[node] = to;
  *excluded = !narrow(r);
  copy_windows(r, &r->now, &r->kept);
  if (!*excluded)
    return true;
  bool changed;
  return (from == r->now.first[node] ? not_before(r, node, to + 1, &changed)
                                     : not_after(r, node, from - 1, &changed)) &&
         narrow(r);
}

/* Cut off as much as can be excluded from either end of a window: halves, quarters, ... */
static bool probe_node(prem_refuter *r, int32_t node, bool *changed) {
  for (int side = 0; side < 2; ++side) {
    for (int64_t parts = 2; parts <= 64 && !is_tired(r); parts *= 2) {
      int64_t first = r->now.first[node], last = r->now.last[node];
      int64_t size = (last - first + 1) / parts;
      bool excluded = false;
      if (size < 1)
        break;
      if (!probe_start(r, node, side ? last - size + 1 : first, side ? last : first + size - 1,
                       &excluded))
        return false;
      *changed = *changed || excluded;
    }
  }
  return true;
}

static bool probe_all(prem_refuter *r) {
  bool changed = true;
  for (int round = 0; changed && round < ROUNDS; ++round) {
    changed = false;
    for (int32_t p = 0; p < r->pair_count && !is_tired(r); ++p)
      for (int order = 'a'; order <= 'b'; ++order)
        if (r->now.order[p] == 0 && !probe_pair(r, p, (char)order, &changed))
          return false;
    for (int32_t i = 0; i < r->body_count && !is_tired(r); ++i)
      if (!probe_node(r, r->bodies[i].first, &changed))
        return false;
  }
  return true;
}

bool prem_refuter_excludes(prem_refuter *r, int64_t end, prem_effort *effort) {
  const prem_rules *rules = r->rules;
  r->effort = effort;
  memset(r->now.order, 0, (size_t)r->pair_count + 1);
  for (int32_t n = 0; n < rules->node_count; ++n) {
    r->now.first[n] = r->head[n];
    r->now.last[n] = prem_min_i64(rules->nodes[n].latest, end - r->tail[n]);
    if (r->now.first[n] > r->now.last[n])
      return true;
  }
  if (!narrow(r))
    return true;
  return effort->probe && !probe_all(r);
}

void prem_refuter_windows(const prem_refuter *r, const int64_t **first, const int64_t **last) {
  *first = r->now.first;
  *last = r->now.last;
}

/* ---- bodies --------------------------------------------------------------------------------- */

static int32_t body_of(prem_refuter *r, const prem_hold *hold) {
  for (int32_t i = 0; i < r->body_count; ++i) {
    body *b = &r->bodies[i];
    if (b->first != hold->first || b->last != hold->last)
      continue;
    b->length = prem_min_i64(b->length, hold->length);
    b->min = prem_min_i64(b->min, hold->min);
    return i;
  }
  if (r->body_count == MAX_BODIES)
    return -1;
  r->bodies[r->body_count] = (body){hold->length, hold->min, hold->first, hold->last};
  return r->body_count++;
}

/* of[hold]: its body */
static bool find_bodies(prem_refuter *r, int32_t *of) {
  for (int64_t h = 0; h < r->rules->hold_count; ++h)
    if ((of[h] = body_of(r, &r->rules->holds[h])) < 0)
      return false;
  return true;
}

static bool *apart_at(const prem_refuter *r, int32_t a, int32_t b) {
  return &r->apart[(size_t)a * MAX_BODIES + (size_t)b];
}

static void set_apart(prem_refuter *r, int32_t a, int32_t b) {
  *apart_at(r, a, b) = *apart_at(r, b, a) = true;
}

static void find_pairs_of(prem_refuter *r, int32_t l, const int32_t *of) {
  const prem_rules *rules = r->rules;
  prem_renewable renewable = prem_rules_renewable(rules, l);
  for (int64_t i = rules->first_hold[l]; i < rules->first_hold[l + 1]; ++i)
    for (int64_t k = rules->first_hold[l]; k < i; ++k) {
      int64_t x = rules->renewable_holds[i], y = rules->renewable_holds[k];
      const prem_hold *a = &rules->holds[x], *b = &rules->holds[y];
      bool gang = renewable.per_task && rules->nodes[a->first].task == rules->nodes[b->first].task;
      if ((int64_t)a->demand + b->demand > renewable.capacity && !gang &&
          !prem_rules_same_tile(r->rules, a, b))
        set_apart(r, of[x], of[y]);
    }
}

static bool list_pairs(prem_refuter *r) {
  r->pairs = malloc((size_t)r->body_count * (size_t)r->body_count * sizeof *r->pairs + 1);
  for (int32_t a = 0; a < r->body_count && r->pairs; ++a)
    for (int32_t b = 0; b < a; ++b)
      if (*apart_at(r, a, b))
        r->pairs[r->pair_count++] = (pair){a, b};
  return r->pairs;
}

/* ---- teams ---------------------------------------------------------------------------------- */

static team *add_team(prem_refuter *r, int32_t capacity) {
  team *t = &r->teams[r->team_count];
  *t = (team){.bodies = malloc(MAX_BODIES * sizeof *t->bodies),
              .demands = malloc(MAX_BODIES * sizeof *t->demands),
              .length = malloc(MAX_BODIES * sizeof *t->length),
              .min = malloc(MAX_BODIES * sizeof *t->min),
              .capacity = capacity};
  ++r->team_count;
  return t->bodies && t->demands && t->length && t->min ? t : NULL;
}

static void add_member(team *t, int32_t of, int32_t demand, int64_t length, int64_t min) {
  t->bodies[t->count] = of;
  t->length[t->count] = length;
  t->demands[t->count] = demand;
  t->min[t->count++] = min;
}

static bool team_renewable(prem_refuter *r, int32_t l, const int32_t *of) {
  const prem_rules *rules = r->rules;
  prem_renewable renewable = prem_rules_renewable(rules, l);
  if (rules->first_hold[l + 1] - rules->first_hold[l] < 2)
    return true;
  team *t = add_team(r, renewable.capacity);
  for (int64_t k = rules->first_hold[l]; t && k < rules->first_hold[l + 1]; ++k) {
    const prem_hold *hold = &rules->holds[rules->renewable_holds[k]];
    if (prem_rules_counts(rules, renewable, hold))
      add_member(t, of[rules->renewable_holds[k]], hold->demand, hold->length, hold->min);
  }
  return t;
}

/* Bodies of which no two can overlap, be it on different renewables or for precedence; from each
 * body on the longest ones first. */
static int32_t grow_clique(const prem_refuter *r, int32_t seed, const int32_t *sorted,
                           int32_t *clique) {
  int32_t count = 0;
  clique[count++] = seed;
  for (int32_t i = 0; i < r->body_count; ++i) {
    bool fits = true;
    for (int32_t k = 0; k < count && fits; ++k)
      fits = *apart_at(r, sorted[i], clique[k]);
    if (fits)
      clique[count++] = sorted[i];
  }
  return count;
}

static bool is_known(const prem_refuter *r, const int32_t *clique, int32_t count) {
  for (int32_t t = 0; t < r->team_count; ++t) {
    const team *of = &r->teams[t];
    int32_t found = 0;
    for (int32_t i = 0; i < count && of->capacity == 1; ++i)
      for (int32_t k = 0; k < of->count; ++k)
        found += of->bodies[k] == clique[i];
    if (found == count)
      return true;
  }
  return false;
}

static bool team_cliques(prem_refuter *r) {
  int32_t sorted[MAX_BODIES], clique[MAX_BODIES];
  for (int32_t i = 0; i < r->body_count; ++i) {
    int32_t at = i;
    for (; at > 0 && r->bodies[sorted[at - 1]].min < r->bodies[i].min; --at)
      sorted[at] = sorted[at - 1];
    sorted[at] = i;
  }
  for (int32_t seed = 0, found = 0; seed < r->body_count && found < MAX_CLIQUES; ++seed) {
    int32_t count = grow_clique(r, sorted[seed], sorted, clique);
    if (count < 3 || is_known(r, clique, count))
      continue;
    ++found;
    team *t = add_team(r, 1);
    for (int32_t i = 0; t && i < count; ++i)
      add_member(t, clique[i], 1, r->bodies[clique[i]].length, r->bodies[clique[i]].min);
    if (!t)
      return false;
  }
  return true;
}

/* ---- precedence ----------------------------------------------------------------------------- */

static int by_head(const void *left, const void *right, void *context) {
  const prem_refuter *r = context;
  const prem_apart *a = left, *b = right;
  int64_t x = r->head[a->from], y = r->head[b->from];
  if (x != y)
    return x < y ? -1 : 1;
  return a->from != b->from ? a->from - b->from : a->to - b->to;
}

static bool list_arcs(prem_refuter *r) {
  const prem_rules *rules = r->rules;
  r->arcs = malloc((size_t)(rules->arc_count + 2 * rules->together_count + 1) * sizeof *r->arcs);
  if (!r->arcs)
    return false;
  for (int64_t a = 0; a < rules->arc_count; ++a)
    r->arcs[r->arc_count++] = rules->arcs[a];
  for (int64_t a = 0; a < rules->together_count; ++a) {
    prem_apart tie = rules->together[a];
    r->arcs[r->arc_count++] = tie;
    r->arcs[r->arc_count++] = (prem_apart){0, tie.to, tie.from};
  }
  qsort_r(r->arcs, (size_t)r->arc_count, sizeof *r->arcs, by_head, r);
  return true;
}

/* The longest paths from a node; -1: there is none. */
static void paths_from(const prem_refuter *r, int32_t node, int64_t *path) {
  for (int32_t n = 0; n < r->rules->node_count; ++n)
    path[n] = n == node ? 0 : -1;
  for (bool changed = true; changed;) {
    changed = false;
    for (int64_t a = 0; a < r->arc_count; ++a) {
      const prem_apart *arc = &r->arcs[a];
      if (path[arc->from] < 0 || path[arc->from] + arc->gap <= path[arc->to])
        continue;
      path[arc->to] = path[arc->from] + arc->gap;
      changed = true;
    }
  }
}

/* Bodies that precedence keeps apart, for the cliques: they need no decision. What is lost behind
 * a body on its renewable alone (see prem_hold) does not count there. */
static void mark_ordered(prem_refuter *r, int64_t *path) {
  for (int32_t a = 0; a < r->body_count; ++a) {
    paths_from(r, r->bodies[a].first, path);
    r->bodies[a].min =
        prem_min_i64(r->bodies[a].min, path[r->bodies[a].last] + r->bodies[a].length);
    paths_from(r, r->bodies[a].last, path);
    for (int32_t b = 0; b < r->body_count; ++b)
      if (a != b && path[r->bodies[b].first] >= r->bodies[a].length)
        set_apart(r, a, b);
  }
}

/* ---- all together --------------------------------------------------------------------------- */

static bool make_windows(const prem_refuter *r, windows *w) {
  size_t nodes = (size_t)r->rules->node_count + 1;
  w->first = calloc(nodes, sizeof *w->first);
  w->last = calloc(nodes, sizeof *w->last);
  w->order = calloc((size_t)r->pair_count + 1, 1);
  return w->first && w->last && w->order;
}

static bool fill(prem_refuter *r, int32_t *of, int64_t *path) {
  if (!find_bodies(r, of) || !list_arcs(r))
    return false;
  for (int32_t l = 0; l < r->rules->renewable_count; ++l)
    find_pairs_of(r, l, of);
  if (!list_pairs(r))
    return false;
  mark_ordered(r, path);
  for (int32_t l = 0; l < r->rules->renewable_count; ++l)
    if (!team_renewable(r, l, of))
      return false;
  return team_cliques(r) && make_windows(r, &r->now) && make_windows(r, &r->kept);
}

prem_refuter *prem_refuter_new(const prem_rules *rules, const int64_t *head, const int64_t *tail) {
  if (rules->joinable || rules->hold_count > (int64_t)MAX_BODIES * (PREM_MAX_RESOURCES + 2))
    return NULL;
  prem_refuter *r = calloc(1, sizeof *r);
  if (!r)
    return NULL;
  *r = (prem_refuter){.rules = rules, .head = head, .tail = tail};
  r->bodies = malloc(MAX_BODIES * sizeof *r->bodies);
  r->apart = calloc((size_t)MAX_BODIES * MAX_BODIES, sizeof *r->apart);
  r->teams = calloc((size_t)rules->renewable_count + MAX_CLIQUES + 1, sizeof *r->teams);
  r->from = malloc(2 * MAX_BODIES * sizeof *r->from);
  r->to = malloc(2 * MAX_BODIES * sizeof *r->to);
  int32_t *of = malloc((size_t)(rules->hold_count + 1) * sizeof *of);
  int64_t *path = malloc((size_t)(rules->node_count + 1) * sizeof *path);
  bool filled =
      r->bodies && r->apart && r->teams && r->from && r->to && of && path && fill(r, of, path);
  free(of);
  free(path);
  if (filled)
    return r;
  prem_refuter_free(r);
  return NULL;
}

void prem_refuter_free(prem_refuter *r) {
  if (!r)
    return;
  for (int32_t t = 0; t < r->team_count; ++t) {
    PREM_FREE(r->teams[t].bodies, r->teams[t].demands, r->teams[t].length, r->teams[t].min);
  }
  PREM_FREE(r->now.first, r->now.last, r->now.order, r->kept.first, r->kept.last, r->kept.order,
            r->arcs, r->bodies, r->apart, r->pairs, r->teams, r->from, r->to, r);
}
