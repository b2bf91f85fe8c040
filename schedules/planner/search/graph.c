/* SPDX-License-Identifier: Apache-2.0 */
/* A tabu search on the graph of what waits for what. */
#include "schedules/planner/search/graph.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"

enum {
  MAX_ACTIVITIES = 4000,
  TABU_ENTRIES = 1 << 14,
  MIN_TENURE = 8,
  MORE_TENURE = 10, /* less than so many, by chance */
  MAX_CANDIDATES = 256
};

static const int64_t NOTHING = INT64_MIN / 8; /* leads to no end */

/** An arc of one of the two lists of an activity. */
typedef struct edge {
  int64_t gap; /* from start to start */
  int32_t other;
} edge;

/** A server's work for an activity; -1: no other one before, or behind. */
typedef struct slot {
  int64_t length;
  int32_t activity, before, behind;
} slot;

/** The second comes before the first: as its neighbour in every chain in which it is right behind
 *  it, or from one server of a renewable to the one that serves the first. */
typedef struct pair {
  int32_t first, second;
  int32_t to, slot; /* slots of the first and the second on that renewable; -1: neighbours */
} pair;

/** A renewable's uses, from which its chains are tied: after each move where it has several
 * servers. */
typedef struct renewable_uses {
  int32_t *uses; /* by start, as they were */
  int32_t count, capacity;
} renewable_uses;

struct prem_graph {
  const prem_model *model;
  int32_t count;
  int32_t *first_in, *first_out; /* [count + 1] */
  edge *in, *out;
  slot *slots;
  int32_t *first_slot; /* [use + 1] */
  int32_t *user;       /* [use]: the activity */
  renewable_uses *renewables;
  int32_t *uses_by_renewable; /* all of `renewables` */
  bool wide;                  /* there is a renewable with several servers */
  int32_t *last;              /* [server]: its last slot; -1 */
  int64_t *own; /* [activity]: from its start to the end, as far as it counts itself */
  int64_t *head, *tail;
  int32_t *order, *waits;
  int64_t value;
  uint64_t *tabu; /* until which move */
  uint64_t moves;
  pair *candidates;
  int32_t candidate_count;
};

/* The slots of an activity are those of its uses, which stand together. */
static int32_t slots_begin(const prem_graph *g, int32_t a) {
  return g->first_slot[g->model->activities[a].first_use];
}

static int32_t slots_end(const prem_graph *g, int32_t a) {
  const prem_activity *activity = &g->model->activities[a];
  return g->first_slot[activity->first_use + activity->use_count];
}

/* ---- chains --------------------------------------------------------------------------------- */

static void tie(prem_graph *g, int32_t before, int32_t behind) {
  if (before >= 0)
    g->slots[before].behind = behind;
  if (behind >= 0)
    g->slots[behind].before = before;
}

/* The server that has been free the longest by the start of a use: what is tied to it keeps the
 * most room to move. */
static int32_t pick_server(const prem_graph *g, int32_t capacity, int64_t start) {
  int32_t picked = -1;
  int64_t earliest = start;
  for (int32_t i = 0; i < capacity; ++i) {
    const slot *last = g->last[i] < 0 ? NULL : &g->slots[g->last[i]];
    int64_t until = last ? g->head[last->activity] + last->length : INT64_MIN + 1;
    if (until <= earliest) {
      earliest = until;
      picked = i;
    }
  }
  return picked;
}

/* Who starts first is served first: as the starts keep the capacity, there is a server. */
static void serve(prem_graph *g, int32_t use, int32_t capacity) {
  for (int32_t s = g->first_slot[use]; s < g->first_slot[use + 1]; ++s) {
    int32_t server = pick_server(g, capacity, g->head[g->user[use]]);
    g->slots[s].before = g->slots[s].behind = -1;
    if (server < 0)
      continue;
    tie(g, g->last[server], s);
    g->last[server] = s;
  }
}

static void tie_renewable(prem_graph *g, renewable_uses *renewable) {
  for (int32_t i = 1; i < renewable->count; ++i) { /* nearly sorted from the last time */
    int32_t use = renewable->uses[i], k = i;
    int64_t start = g->head[g->user[use]];
    for (; k > 0 && g->head[g->user[renewable->uses[k - 1]]] > start; --k)
      renewable->uses[k] = renewable->uses[k - 1];
    renewable->uses[k] = use;
  }
  for (int32_t i = 0; i < renewable->capacity; ++i)
    g->last[i] = -1;
  for (int32_t i = 0; i < renewable->count; ++i)
    serve(g, renewable->uses[i], renewable->capacity);
}

static void tie_renewables(prem_graph *g, bool all) {
  for (int32_t l = 0; l < g->model->renewable_count; ++l)
    if (all || g->renewables[l].capacity > 1)
      tie_renewable(g, &g->renewables[l]);
}

/* ---- longest paths -------------------------------------------------------------------------- */

static void reach(prem_graph *g, int32_t to, int64_t at, int32_t *ready) {
  g->head[to] = prem_max_i64(g->head[to], at);
  if (--g->waits[to] == 0)
    g->order[(*ready)++] = to;
}

/* False: there is a cycle. */
static bool find_heads(prem_graph *g) {
  int32_t ready = 0;
  for (int32_t a = 0; a < g->count; ++a) {
    g->head[a] = g->model->release[a];
    g->waits[a] = g->first_in[a + 1] - g->first_in[a];
    for (int32_t s = slots_begin(g, a); s < slots_end(g, a); ++s)
      g->waits[a] += g->slots[s].before >= 0;
    if (g->waits[a] == 0)
      g->order[ready++] = a;
  }
  for (int32_t i = 0; i < ready; ++i) {
    int32_t a = g->order[i];
    for (int32_t k = g->first_out[a]; k < g->first_out[a + 1]; ++k)
      reach(g, g->out[k].other, g->head[a] + g->out[k].gap, &ready);
    for (int32_t s = slots_begin(g, a); s < slots_end(g, a); ++s)
      if (g->slots[s].behind >= 0)
        reach(g, g->slots[g->slots[s].behind].activity, g->head[a] + g->slots[s].length, &ready);
  }
  return ready == g->count;
}

static void find_tails(prem_graph *g) {
  g->value = INT64_MIN;
  for (int32_t i = g->count - 1; i >= 0; --i) {
    int32_t a = g->order[i];
    int64_t tail = g->own[a];
    for (int32_t k = g->first_out[a]; k < g->first_out[a + 1]; ++k)
      tail = prem_max_i64(tail, g->out[k].gap + g->tail[g->out[k].other]);
    for (int32_t s = slots_begin(g, a); s < slots_end(g, a); ++s)
      if (g->slots[s].behind >= 0)
        tail =
            prem_max_i64(tail, g->slots[s].length + g->tail[g->slots[g->slots[s].behind].activity]);
    g->tail[a] = tail;
    g->value = prem_max_i64(g->value, g->head[a] + tail);
  }
}

/* ---- moves ---------------------------------------------------------------------------------- */

static bool is_before(const prem_graph *g, int32_t s, int32_t a) {
  return s >= 0 && g->slots[s].activity == a;
}

/* When the second could start in the place of the first. */
static int64_t head_of_second(const prem_graph *g, pair p) {
  int64_t head = g->model->release[p.second];
  for (int32_t k = g->first_in[p.second]; k < g->first_in[p.second + 1]; ++k)
    head = prem_max_i64(head, g->head[g->in[k].other] + g->in[k].gap);
  for (int32_t s = slots_begin(g, p.second); s < slots_end(g, p.second); ++s) {
    int32_t before = g->slots[s].before;
    if (is_before(g, before, p.first))
      before = g->slots[before].before;
    if (before >= 0)
      head = prem_max_i64(head, g->head[g->slots[before].activity] + g->slots[before].length);
  }
  return head;
}

static int64_t head_of_first(const prem_graph *g, pair p, int64_t second_head) {
  int64_t head = g->model->release[p.first];
  for (int32_t k = g->first_in[p.first]; k < g->first_in[p.first + 1]; ++k)
    head = prem_max_i64(head, g->head[g->in[k].other] + g->in[k].gap);
  for (int32_t s = slots_begin(g, p.first); s < slots_end(g, p.first); ++s) {
    int32_t before = g->slots[s].before, behind = g->slots[s].behind;
    if (is_before(g, behind, p.second))
      head = prem_max_i64(head, second_head + g->slots[behind].length);
    else if (before >= 0)
      head = prem_max_i64(head, g->head[g->slots[before].activity] + g->slots[before].length);
  }
  return head;
}

static int64_t tail_of_first(const prem_graph *g, pair p) {
  int64_t tail = g->own[p.first];
  for (int32_t k = g->first_out[p.first]; k < g->first_out[p.first + 1]; ++k)
    tail = prem_max_i64(tail, g->tail[g->out[k].other] + g->out[k].gap);
  for (int32_t s = slots_begin(g, p.first); s < slots_end(g, p.first); ++s) {
    int32_t behind = g->slots[s].behind;
    if (is_before(g, behind, p.second))
      behind = g->slots[behind].behind;
    if (behind >= 0)
      tail = prem_max_i64(tail, g->slots[s].length + g->tail[g->slots[behind].activity]);
  }
  return tail;
}

static int64_t tail_of_second(const prem_graph *g, pair p, int64_t first_tail) {
  int64_t tail = g->own[p.second];
  for (int32_t k = g->first_out[p.second]; k < g->first_out[p.second + 1]; ++k)
    tail = prem_max_i64(tail, g->tail[g->out[k].other] + g->out[k].gap);
  for (int32_t s = slots_begin(g, p.second); s < slots_end(g, p.second); ++s) {
    int32_t before = g->slots[s].before, behind = g->slots[s].behind;
    if (is_before(g, before, p.first))
      tail = prem_max_i64(tail, g->slots[s].length + first_tail);
    else if (behind >= 0)
      tail = prem_max_i64(tail, g->slots[s].length + g->tail[g->slots[behind].activity]);
  }
  return tail;
}

/* The longest path through the two, once they have changed places. */
static int64_t estimate(const prem_graph *g, pair p) {
  int64_t second_head = head_of_second(g, p), first_head = head_of_first(g, p, second_head);
  int64_t first_tail = tail_of_first(g, p), second_tail = tail_of_second(g, p, first_tail);
  return prem_max_i64(second_head + second_tail, first_head + first_tail);
}

/* In every chain in which the second is right behind the first. */
static void swap_pair(prem_graph *g, pair p) {
  for (int32_t s = slots_begin(g, p.first); s < slots_end(g, p.first); ++s) {
    int32_t other = g->slots[s].behind;
    if (!is_before(g, other, p.second))
      continue;
    int32_t before = g->slots[s].before, behind = g->slots[other].behind;
    tie(g, before, other);
    tie(g, other, s);
    tie(g, s, behind);
    if (before < 0)
      g->slots[other].before = -1;
    if (behind < 0)
      g->slots[s].behind = -1;
  }
}

static int64_t estimate_transfer(const prem_graph *g, pair p) {
  const slot *moved = &g->slots[p.slot], *to = &g->slots[p.to];
  int64_t head = g->model->release[p.second], tail = g->own[p.second];
  for (int32_t k = g->first_in[p.second]; k < g->first_in[p.second + 1]; ++k)
    head = prem_max_i64(head, g->head[g->in[k].other] + g->in[k].gap);
  for (int32_t k = g->first_out[p.second]; k < g->first_out[p.second + 1]; ++k)
    tail = prem_max_i64(tail, g->tail[g->out[k].other] + g->out[k].gap);
  for (int32_t s = slots_begin(g, p.second); s < slots_end(g, p.second); ++s) {
    int32_t before = s == p.slot ? to->before : g->slots[s].before;
    int32_t behind = s == p.slot ? p.to : g->slots[s].behind;
    if (before >= 0)
      head = prem_max_i64(head, g->head[g->slots[before].activity] + g->slots[before].length);
    if (behind >= 0)
      tail = prem_max_i64(tail, g->slots[s].length + g->tail[g->slots[behind].activity]);
  }
  int64_t first_head = prem_max_i64(g->head[p.first], head + moved->length);
  return prem_max_i64(head + tail, first_head + g->tail[p.first]);
}

/* Take a slot out of its chain, and put it before another one; -1: behind `before`, as its last. */
static void move_slot(prem_graph *g, int32_t moved, int32_t before, int32_t behind) {
  if (g->slots[moved].before >= 0)
    g->slots[g->slots[moved].before].behind = g->slots[moved].behind;
  if (g->slots[moved].behind >= 0)
    g->slots[g->slots[moved].behind].before = g->slots[moved].before;
  tie(g, before, moved);
  tie(g, moved, behind);
  if (before < 0)
    g->slots[moved].before = -1;
}

/* ---- longest paths and their blocks --------------------------------------------------------- */

/** A step back on a longest path. */
typedef struct step_back {
  int32_t from;
  int32_t renewable; /* -1: along an arc */
} step_back;

static void see(step_back *step, int32_t *seen, uint64_t *random, int32_t from, int32_t renewable) {
  *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  if ((*random >> 33) % (uint64_t)++ * seen == 0)
    *step = (step_back){from, renewable};
}

/* What ended on a server when `a` starts. */
static void see_servers(const prem_graph *g, int32_t a, bool wide, step_back *out, int32_t *seen,
                        uint64_t *random) {
  const prem_activity *activity = &g->model->activities[a];
  for (int32_t u = activity->first_use; u < activity->first_use + activity->use_count; ++u) {
    int32_t renewable = g->model->uses[u].renewable;
    if ((g->model->renewable_capacity[renewable] > 1) != wide)
      continue;
    for (int32_t s = g->first_slot[u]; s < g->first_slot[u + 1]; ++s) {
      int32_t before = g->slots[s].before;
      if (before >= 0 && g->head[g->slots[before].activity] + g->slots[before].length == g->head[a])
        see(out, seen, random, g->slots[before].activity, renewable);
    }
  }
}

/* A server of several is a cause only where nothing else is: it has hardly waited for that one. */
static bool go_back(const prem_graph *g, int32_t a, uint64_t *random, step_back *out) {
  int32_t seen = 0;
  for (int32_t k = g->first_in[a]; k < g->first_in[a + 1]; ++k)
    if (g->head[g->in[k].other] + g->in[k].gap == g->head[a])
      see(out, &seen, random, g->in[k].other, -1);
  see_servers(g, a, false, out, &seen, random);
  if (seen == 0 && g->wide)
    see_servers(g, a, true, out, &seen, random);
  return seen > 0;
}

static int32_t last_of_path(const prem_graph *g, uint64_t *random) {
  step_back last = {-1, -1};
  int32_t seen = 0;
  for (int32_t a = 0; a < g->count; ++a)
    if (g->own[a] > NOTHING && g->head[a] + g->own[a] == g->value)
      see(&last, &seen, random, a, -1);
  return last.from;
}

static void add_candidate(prem_graph *g, int32_t first, int32_t second) {
  if (g->candidate_count < MAX_CANDIDATES)
    g->candidates[g->candidate_count++] = (pair){first, second, -1, -1};
}

/* Who is served by a renewable when `a` starts to be, and could be later. */
static void add_transfers(prem_graph *g, int32_t a, int32_t renewable) {
  const renewable_uses *uses = &g->renewables[renewable];
  int32_t own = -1;
  for (int32_t s = slots_begin(g, a); s < slots_end(g, a) && own < 0; ++s)
    for (int32_t u = g->model->activities[a].first_use; g->first_slot[u] <= s; ++u)
      own = g->model->uses[u].renewable == renewable && s < g->first_slot[u + 1] ? s : own;
  for (int32_t i = 0; i < uses->count && own >= 0; ++i) {
    int32_t other = g->user[uses->uses[i]], s = g->first_slot[uses->uses[i]];
    if (g->head[other] >= g->head[a])
      break;
    if (g->head[other] + g->slots[s].length >= g->head[a] && g->slots[s].behind != own &&
        g->candidate_count < MAX_CANDIDATES)
      g->candidates[g->candidate_count++] = (pair){other, a, s, own};
  }
}

/* Neighbours at either end of a block, as those within it cannot shorten the path; of a renewable
 * with several servers all, as others may leave. Seen from the end. */
static void list_candidates(prem_graph *g, uint64_t *random) {
  g->candidate_count = 0;
  int32_t block_renewable = -1;
  pair inner = {-1, -1, -1, -1}; /* the neighbours seen last, if they are not listed yet */
  step_back step;
  for (int32_t a = last_of_path(g, random); a >= 0 && go_back(g, a, random, &step); a = step.from) {
    if (step.renewable != block_renewable && inner.first >= 0) {
      add_candidate(g, inner.first, inner.second);
      inner.first = -1;
    }
    bool begins = step.renewable != block_renewable;
    block_renewable = step.renewable;
    if (step.renewable < 0)
      continue;
    bool wide = g->model->renewable_capacity[step.renewable] > 1;
    if (wide)
      add_transfers(g, a, step.renewable);
    if (begins || wide)
      add_candidate(g, step.from, a);
    else
      inner = (pair){step.from, a, -1, -1};
  }
  if (inner.first >= 0)
    add_candidate(g, inner.first, inner.second);
}

static uint64_t *tabu_of(const prem_graph *g, int32_t first, int32_t second) {
  uint64_t key = (uint64_t)(uint32_t)first << 32 | (uint32_t)second;
  key = (key ^ (key >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
  return &g->tabu[(key >> 40) % TABU_ENTRIES];
}

/* The best one that is not tabu, or by chance one of all. */
static int32_t pick_candidate(const prem_graph *g, uint64_t *random) {
  int32_t picked = -1;
  int64_t min = INT64_MAX;
  for (int32_t i = 0; i < g->candidate_count; ++i) {
    pair p = g->candidates[i];
    if (*tabu_of(g, p.first, p.second) > g->moves)
      continue;
    int64_t worth = p.slot < 0 ? estimate(g, p) : estimate_transfer(g, p);
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (worth < min || (worth == min && *random >> 63)) {
      min = worth;
      picked = i;
    }
  }
  if (picked < 0 && g->candidate_count > 0)
    picked = (int32_t)((*random >> 33) % (uint64_t)g->candidate_count);
  return picked;
}

bool prem_graph_move(prem_graph *g, uint64_t random) {
  list_candidates(g, &random);
  while (g->candidate_count > 0) {
    int32_t i = pick_candidate(g, &random);
    pair p = g->candidates[i];
    int32_t before = p.slot < 0 ? -1 : g->slots[p.slot].before;
    int32_t behind = p.slot < 0 ? -1 : g->slots[p.slot].behind;
    if (p.slot < 0)
      swap_pair(g, p);
    else
      move_slot(g, p.slot, g->slots[p.to].before, p.to);
    ++g->moves;
    *tabu_of(g, p.second, p.first) =
        g->moves + MIN_TENURE + (random >> 40) % MORE_TENURE; /* not taken back */
    if (find_heads(g)) {
      if (g->wide) {
        tie_renewables(g, false);
        find_heads(g);
      }
      find_tails(g);
      return true;
    }
    if (p.slot < 0) /* something between them waits for the first */
      swap_pair(g, (pair){p.second, p.first, -1, -1});
    else
      move_slot(g, p.slot, before, behind);
    g->candidates[i] = g->candidates[--g->candidate_count];
    find_heads(g);
  }
  return false;
}

void prem_graph_begin(prem_graph *g, const int64_t *start) {
  memcpy(g->head, start, (size_t)g->count * sizeof *start);
  memset(g->tabu, 0, TABU_ENTRIES * sizeof *g->tabu);
  tie_renewables(g, true);
  find_heads(g);
  find_tails(g);
}

int64_t prem_graph_value(const prem_graph *g) {
  return g->value;
}

const int64_t *prem_graph_starts(const prem_graph *g) {
  return g->head;
}

/* ---- life ----------------------------------------------------------------------------------- */

static int64_t slots_of(const prem_model *model) {
  int64_t slots = 0;
  for (int32_t a = 0; a < model->count; ++a)
    for (int32_t u = 0; u < model->activities[a].use_count; ++u)
      slots += model->uses[model->activities[a].first_use + u].demand;
  return slots;
}

static int32_t use_count(const prem_model *model) {
  int32_t count = 0;
  for (int32_t a = 0; a < model->count; ++a)
    count += model->activities[a].use_count;
  return count;
}

static bool serves(const prem_model *model) {
  if (model->count > MAX_ACTIVITIES || model->owner_count > 0 || model->wrap_count > 0 ||
      !model->makespan || model->side[PREM_FORWARD].first_pool[model->count] > 0)
    return false;
  for (int32_t a = 0; a < model->count; ++a)
    if (model->activities[a].latest < PREM_MAX_NS)
      return false;
  /* who needs several servers at once hardly gains by a move on one of them: windows do better */
  return slots_of(model) == use_count(model);
}

static bool allocate(prem_graph *g) {
  const prem_model *model = g->model;
  size_t count = (size_t)model->count + 1, uses = (size_t)use_count(model) + 1, servers = 1;
  size_t arcs = (size_t)model->side[PREM_FORWARD].first_arc[model->count] + 1;
  for (int32_t l = 0; l < model->renewable_count; ++l)
    servers += (size_t)model->renewable_capacity[l];
  g->first_in = malloc(count * sizeof *g->first_in);
  g->first_out = malloc(count * sizeof *g->first_out);
  g->in = malloc(arcs * sizeof *g->in);
  g->out = malloc(arcs * sizeof *g->out);
  g->slots = malloc(((size_t)slots_of(model) + 1) * sizeof *g->slots);
  g->first_slot = malloc((uses + 1) * sizeof *g->first_slot);
  g->user = malloc(uses * sizeof *g->user);
  g->renewables = calloc((size_t)model->renewable_count + 1, sizeof *g->renewables);
  g->uses_by_renewable = malloc(uses * sizeof *g->uses_by_renewable);
  g->last = malloc(servers * sizeof *g->last);
  g->own = malloc(count * sizeof *g->own);
  g->head = malloc(count * sizeof *g->head);
  g->tail = malloc(count * sizeof *g->tail);
  g->order = malloc(count * sizeof *g->order);
  g->waits = malloc(count * sizeof *g->waits);
  g->tabu = calloc(TABU_ENTRIES, sizeof *g->tabu);
  g->candidates = malloc(MAX_CANDIDATES * sizeof *g->candidates);
  return g->first_in && g->first_out && g->in && g->out && g->slots && g->first_slot && g->user &&
         g->renewables && g->uses_by_renewable && g->last && g->own && g->head && g->tail &&
         g->order && g->waits && g->tabu && g->candidates;
}

/* The model's arcs backward count from end to end. */
static void read_arcs(prem_graph *g) {
  const prem_model *model = g->model;
  const prem_side *ahead = &model->side[PREM_FORWARD], *back = &model->side[PREM_BACKWARD];
  for (int32_t a = 0; a <= g->count; ++a) {
    g->first_out[a] = ahead->first_arc[a];
    g->first_in[a] = back->first_arc[a];
  }
  for (int32_t a = 0; a < g->count; ++a) {
    for (int32_t k = ahead->first_arc[a]; k < ahead->first_arc[a + 1]; ++k)
      g->out[k] = (edge){ahead->arcs[k].gap, ahead->arcs[k].to};
    for (int32_t k = back->first_arc[a]; k < back->first_arc[a + 1]; ++k) {
      const prem_arc *arc = &back->arcs[k];
      int64_t gap = arc->gap - model->activities[a].length + model->activities[arc->to].length;
      g->in[k] = (edge){gap, arc->to};
    }
  }
}

static void read_uses(prem_graph *g) {
  const prem_model *model = g->model;
  int32_t uses = 0, slots = 0;
  for (int32_t a = 0; a < g->count; ++a) {
    const prem_activity *activity = &model->activities[a];
    for (int32_t u = activity->first_use; u < activity->first_use + activity->use_count; ++u) {
      const prem_use *use = &model->uses[u];
      g->first_slot[u] = slots;
      g->user[u] = a;
      ++g->renewables[use->renewable].count;
      for (int32_t k = 0; k < use->demand; ++k)
        g->slots[slots++] = (slot){use->length, a, -1, -1};
      ++uses;
    }
    int64_t grid_ns = model->grid_ns, ns = activity->tail_ns;
    g->own[a] = ns == PREM_NO_TAIL ? NOTHING : ns / grid_ns + (ns % grid_ns > 0);
  }
  g->first_slot[uses] = slots;
}

static void list_uses(prem_graph *g) {
  const prem_model *model = g->model;
  int32_t *next = g->uses_by_renewable;
  for (int32_t l = 0; l < model->renewable_count; ++l) {
    g->renewables[l].uses = next;
    g->renewables[l].capacity = model->renewable_capacity[l];
    g->wide = g->wide || model->renewable_capacity[l] > 1;
    next += g->renewables[l].count;
    g->renewables[l].count = 0;
  }
  for (int32_t a = 0; a < g->count; ++a)
    for (int32_t u = 0; u < model->activities[a].use_count; ++u) {
      int32_t use = model->activities[a].first_use + u;
      renewable_uses *renewable = &g->renewables[model->uses[use].renewable];
      renewable->uses[renewable->count++] = use;
    }
}

prem_status prem_graph_new(const prem_model *model, prem_graph **out) {
  *out = NULL;
  if (!serves(model))
    return PREM_OK;
  prem_graph *g = calloc(1, sizeof *g);
  if (!g)
    return PREM_ERR_MEMORY;
  g->model = model;
  g->count = model->count;
  if (!allocate(g)) {
    prem_graph_free(g);
    return PREM_ERR_MEMORY;
  }
  read_arcs(g);
  read_uses(g);
  list_uses(g);
  *out = g;
  return PREM_OK;
}

void prem_graph_free(prem_graph *g) {
  if (!g)
    return;
  PREM_FREE(g->first_in, g->first_out, g->in, g->out, g->slots, g->first_slot, g->user,
            g->renewables, g->uses_by_renewable, g->last, g->own, g->head, g->tail, g->order,
            g->waits, g->tabu, g->candidates, g);
}
