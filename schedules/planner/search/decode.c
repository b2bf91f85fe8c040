/* SPDX-License-Identifier: Apache-2.0 */
/* Serial schedule generation, forward and backward. */
#include "schedules/planner/search/decode.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/clock.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"

enum { LOOK_EACH = 8192 }; /* activities, at the clock */

/** How much of a renewable is in use: level[i] from at[i] to at[i + 1]. */
typedef struct profile {
  int64_t *at;
  int32_t *level;
  int32_t count, capacity;
} profile;

/** A leftist heap, linked through `left` and `right` of the decoder. */
typedef int32_t heap;

struct prem_decoder {
  const prem_model *model;
  const prem_side *side; /* in hand */
  profile *renewables;
  profile *owned;     /* [owner]: what it has of its renewable */
  int64_t *free_from; /* [pool][buffers]: of the buffers that nobody holds */
  int32_t *free_count;
  heap *waiting;                /* [pool]: activities that ask for a buffer */
  int32_t *woken_by;            /* the pool whose buffer let the activity try again; -1 */
  int32_t *left, *right, *rank; /* of heaps */
  int32_t *arcs_left;
  int64_t *from; /* earliest start by arcs and release */
  int64_t *key, *start;
  const int64_t *base_key;
  bool from_end, relative;
  double until_s; /* 0: without end */
  const volatile sig_atomic_t *stop;
};

/* ---- heaps ---------------------------------------------------------------------------------- */

static bool goes_first(const prem_decoder *d, int32_t a, int32_t b) {
  return d->key[a] != d->key[b] ? d->key[a] < d->key[b] : a < b;
}

/* The right spine of a leftist heap is short: the recursion is as deep as a logarithm. */
static heap merge(prem_decoder *d, heap a, heap b) {
  if (a < 0)
    return b;
  if (b < 0)
    return a;
  if (goes_first(d, b, a)) {
    heap other = a;
    a = b;
    b = other;
  }
  d->right[a] = merge(d, d->right[a], b);
  int32_t left = d->left[a], right = d->right[a];
  int32_t left_rank = left < 0 ? 0 : d->rank[left], right_rank = d->rank[right];
  if (left_rank < right_rank) {
    d->left[a] = right;
    d->right[a] = left;
    right_rank = left_rank;
  }
  d->rank[a] = right_rank + 1;
  return a;
}

static void push(prem_decoder *d, heap *to, int32_t a) {
  d->left[a] = d->right[a] = -1;
  d->rank[a] = 1;
  *to = merge(d, *to, a);
}

static int32_t pop(prem_decoder *d, heap *from) {
  int32_t first = *from;
  *from = merge(d, d->left[first], d->right[first]);
  return first;
}

/* ---- renewables ----------------------------------------------------------------------------- */

static void clear(profile *p) {
  p->count = 1;
  p->at[0] = INT64_MIN;
  p->level[0] = 0;
}

/* The last step that begins at or before `at`. */
static int32_t find(const profile *p, int64_t at) {
  int32_t low = 0, high = p->count;
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (p->at[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static int64_t fit(const profile *p, int64_t from, int64_t length, int32_t highest) {
  int32_t i = find(p, from);
  for (;;) {
    while (p->level[i] > highest) /* the last level is 0 */
      from = p->at[++i];
    do {
      if (++i == p->count || p->at[i] - from >= length)
        return from;
    } while (p->level[i] <= highest);
  }
}

static bool reserve(profile *p, int32_t more) {
  if (p->count + more <= p->capacity)
    return true;
  int32_t capacity = 2 * p->capacity + more;
  int64_t *at = realloc(p->at, (size_t)capacity * sizeof *at);
  if (at)
    p->at = at;
  int32_t *level = realloc(p->level, (size_t)capacity * sizeof *level);
  if (level)
    p->level = level;
  if (!at || !level)
    return false;
  p->capacity = capacity;
  return true;
}

static int32_t cut(profile *p, int64_t at) {
  int32_t i = find(p, at);
  if (p->at[i] == at)
    return i;
  size_t behind = (size_t)(p->count - i - 1);
  memmove(p->at + i + 2, p->at + i + 1, behind * sizeof *p->at);
  memmove(p->level + i + 2, p->level + i + 1, behind * sizeof *p->level);
  p->at[i + 1] = at;
  p->level[i + 1] = p->level[i];
  ++p->count;
  return i + 1;
}

/* Take step i away where it has the level of the one before. */
static void mend(profile *p, int32_t i) {
  if (p->level[i] != p->level[i - 1])
    return;
  size_t behind = (size_t)(p->count - i - 1);
  memmove(p->at + i, p->at + i + 1, behind * sizeof *p->at);
  memmove(p->level + i, p->level + i + 1, behind * sizeof *p->level);
  --p->count;
}

static bool use_renewable(profile *p, int64_t from, int64_t to, int32_t demand) {
  if (!reserve(p, 2))
    return false;
  int32_t first = cut(p, from), last = cut(p, to);
  for (int32_t i = first; i < last; ++i)
    p->level[i] += demand;
  mend(p, last);
  mend(p, first);
  return true;
}

static int64_t end_of(const profile *p, int32_t i) {
  return i + 1 < p->count ? p->at[i + 1] : INT64_MAX;
}

/* The same for one more use of an owner, who has some of the renewable already. */
static int64_t fit_owned(const profile *renewable, const profile *own, int64_t from, int64_t length,
                         int32_t demand, int32_t capacity) {
  int32_t i = find(renewable, from), k = find(own, from);
  for (;;) {
    int64_t renewable_end = end_of(renewable, i), own_end = end_of(own, k);
    int64_t end = renewable_end < own_end ? renewable_end : own_end;
    bool enough =
        own->level[k] >= demand || renewable->level[i] - own->level[k] <= capacity - demand;
    if (enough && (end == INT64_MAX || end - from >= length))
      return from;
    if (!enough)
      from = end;
    i += renewable_end == end;
    k += own_end == end;
  }
}

static bool use_owned(profile *renewable, profile *own, int64_t from, int64_t to, int32_t demand) {
  if (!reserve(own, 2))
    return false;
  int32_t first = cut(own, from), last = cut(own, to);
  for (int32_t k = first; k < last; ++k)
    if (own->level[k] < demand) {
      if (!use_renewable(renewable, own->at[k], own->at[k + 1], demand - own->level[k]))
        return false;
      own->level[k] = demand;
    }
  for (int32_t k = last; k >= first; --k)
    mend(own, k);
  return true;
}

/* Read backwards, a phase holds its renewables at the end of its own length. */
static int64_t use_offset(const prem_decoder *d, const prem_activity *activity,
                          const prem_use *use) {
  return d->from_end ? activity->length - use->length : 0;
}

static int64_t fit_renewables(const prem_decoder *d, const prem_activity *activity, int64_t from) {
  const prem_use *uses = &d->model->uses[activity->first_use];
  for (int32_t u = 0, settled = 0; settled < activity->use_count;
       u = (u + 1) % activity->use_count) {
    const prem_use *use = &uses[u];
    int64_t offset = use_offset(d, activity, use);
    const profile *renewable = &d->renewables[use->renewable];
    int32_t capacity = d->model->renewable_capacity[use->renewable];
    int64_t at = use->owner < 0 ? fit(renewable, from + offset, use->length, capacity - use->demand)
                                : fit_owned(renewable, &d->owned[use->owner], from + offset,
                                            use->length, use->demand, capacity);
    at -= offset;
    settled = at == from ? settled + 1 : 1;
    from = at;
  }
  return from;
}

static bool use_renewables(prem_decoder *d, const prem_activity *activity, int64_t start) {
  for (int32_t u = 0; u < activity->use_count; ++u) {
    const prem_use *use = &d->model->uses[activity->first_use + u];
    int64_t from = start + use_offset(d, activity, use);
    profile *renewable = &d->renewables[use->renewable];
    int64_t to = from + use->length;
    if (!(use->owner < 0 ? use_renewable(renewable, from, to, use->demand)
                         : use_owned(renewable, &d->owned[use->owner], from, to, use->demand)))
      return false;
  }
  return true;
}

/* ---- pools ---------------------------------------------------------------------------------- */

static int64_t *free_buffers(const prem_decoder *d, int32_t pool) {
  return d->free_from + (size_t)pool * (size_t)d->model->buffers;
}

/* The pool that has no buffer left for an activity; -1: it can have all. */
static int32_t missing_pool(const prem_decoder *d, int32_t a) {
  for (int32_t k = d->side->first_pool[a]; k < d->side->first_pool[a + 1]; ++k)
    if (d->free_count[d->side->pools[k]] == 0)
      return d->side->pools[k];
  return -1;
}

static int32_t first_free(const prem_decoder *d, int32_t pool) {
  const int64_t *buffers = free_buffers(d, pool);
  int32_t first = 0;
  for (int32_t i = 1; i < d->free_count[pool]; ++i)
    if (buffers[i] < buffers[first])
      first = i;
  return first;
}

static int64_t buffers_from(const prem_decoder *d, int32_t a) {
  int64_t from = d->from[a];
  for (int32_t k = d->side->first_pool[a]; k < d->side->first_pool[a + 1]; ++k) {
    int32_t pool = d->side->pools[k];
    int64_t free_from = free_buffers(d, pool)[first_free(d, pool)];
    from = free_from > from ? free_from : from;
  }
  return from;
}

static void take_buffers(prem_decoder *d, int32_t a) {
  for (int32_t k = d->side->first_pool[a]; k < d->side->first_pool[a + 1]; ++k) {
    int32_t pool = d->side->pools[k];
    int64_t *buffers = free_buffers(d, pool);
    int32_t taken = first_free(d, pool);
    buffers[taken] = buffers[--d->free_count[pool]];
  }
}

/* ---- placing -------------------------------------------------------------------------------- */

/* Let an activity whose predecessors are placed ask for its turn. */
static void offer(prem_decoder *d, heap *ready, int32_t a, int32_t woken_by) {
  int32_t pool = missing_pool(d, a);
  d->woken_by[a] = woken_by;
  if (d->relative)
    d->key[a] = d->base_key[a] + (pool < 0 ? buffers_from(d, a) : 0);
  push(d, pool < 0 ? ready : &d->waiting[pool], a);
}

/* A buffer of the pool may be had: the first that waits for it tries. */
static void wake(prem_decoder *d, heap *ready, int32_t pool) {
  if (d->waiting[pool] >= 0 && d->free_count[pool] > 0)
    offer(d, ready, pop(d, &d->waiting[pool]), pool);
}

static void give_buffers(prem_decoder *d, heap *ready, int32_t a, int64_t at) {
  const prem_side *other = &d->model->side[d->from_end ? PREM_FORWARD : PREM_BACKWARD];
  for (int32_t k = other->first_pool[a]; k < other->first_pool[a + 1]; ++k) {
    int32_t pool = other->pools[k];
    free_buffers(d, pool)[d->free_count[pool]++] = at;
    wake(d, ready, pool);
  }
}

static bool place(prem_decoder *d, heap *ready, int32_t a) {
  const prem_activity *activity = &d->model->activities[a];
  int64_t start = fit_renewables(d, activity, buffers_from(d, a));
  d->start[a] = start;
  take_buffers(d, a);
  if (!use_renewables(d, activity, start))
    return false;
  give_buffers(d, ready, a, start + activity->length);
  for (int32_t k = d->side->first_arc[a]; k < d->side->first_arc[a + 1]; ++k) {
    const prem_arc *arc = &d->side->arcs[k];
    d->from[arc->to] = prem_max_i64(d->from[arc->to], start + arc->gap);
    if (--d->arcs_left[arc->to] == 0)
      offer(d, ready, arc->to, -1);
  }
  return true;
}

static bool is_over(const prem_decoder *d) {
  return (d->stop && *d->stop) || (d->until_s > 0 && prem_host_clock_s() >= d->until_s);
}

/* d->from holds the releases. */
static prem_status decode(prem_decoder *d, const int64_t *key) {
  const prem_model *model = d->model;
  size_t count = (size_t)model->count;
  d->side = &model->side[d->from_end ? PREM_BACKWARD : PREM_FORWARD];
  d->base_key = key;
  if (!d->relative)
    memcpy(d->key, key, count * sizeof *key);
  memcpy(d->arcs_left, d->side->arc_count, count * sizeof *d->arcs_left);
  for (int32_t l = 0; l < model->renewable_count; ++l)
    clear(&d->renewables[l]);
  for (int32_t o = 0; o < model->owner_count; ++o)
    clear(&d->owned[o]);
  for (int32_t p = 0; p < model->pool_count; ++p) {
    d->free_count[p] = model->buffers;
    d->waiting[p] = -1;
    for (int32_t i = 0; i < model->buffers; ++i)
      free_buffers(d, p)[i] = INT64_MIN;
  }
  heap ready = -1;
  for (int32_t a = 0; a < model->count; ++a)
    if (d->arcs_left[a] == 0)
      offer(d, &ready, a, -1);
  for (int32_t turn = 1; ready >= 0; ++turn) {
    if (turn % LOOK_EACH == 0 && is_over(d))
      return PREM_ERR_INTERRUPTED;
    int32_t a = pop(d, &ready), pool = missing_pool(d, a);
    if (pool < 0) {
      if (!place(d, &ready, a))
        return PREM_ERR_MEMORY;
      continue;
    }
    /* another one took the buffer; the one that a was woken for may serve the next in the queue */
    int32_t woken_by = d->woken_by[a];
    push(d, &d->waiting[pool], a);
    if (woken_by >= 0 && woken_by != pool)
      wake(d, &ready, woken_by);
  }
  return PREM_OK;
}

prem_status prem_decode_forward(prem_decoder *d, const int64_t *key, bool waiting, int64_t *start) {
  d->from_end = false;
  d->relative = waiting;
  memcpy(d->from, d->model->release, (size_t)d->model->count * sizeof *d->from);
  prem_status status = decode(d, key);
  memcpy(start, d->start, (size_t)d->model->count * sizeof *start);
  return status;
}

/* The last start with which an activity does no harm to a cost; everything ends by `end`. */
static int64_t latest_start(const prem_model *model, const prem_activity *activity, prem_cost cost,
                            int64_t end) {
  int64_t latest = end - activity->length;
  if (activity->tail_ns != PREM_NO_TAIL) {
    int64_t harmless = prem_div_floor(cost.value_ns - activity->tail_ns, model->grid_ns);
    latest = model->makespan || harmless < latest ? harmless : latest;
  }
  if (activity->latest < PREM_MAX_NS && activity->latest + cost.violation < latest)
    latest = activity->latest + cost.violation;
  return latest;
}

prem_status prem_decode_backward(prem_decoder *d, const int64_t *key, prem_cost cost,
                                 int64_t *start) {
  const prem_model *model = d->model;
  int64_t end = 0;
  for (int32_t a = 0; a < model->count; ++a)
    end = prem_max_i64(end, start[a] + model->activities[a].length);
  d->from_end = true;
  d->relative = false;
  for (int32_t a = 0; a < model->count; ++a)
    d->from[a] =
        -latest_start(model, &model->activities[a], cost, end) - model->activities[a].length;
  prem_status status = decode(d, key);
  for (int32_t a = 0; a < model->count; ++a)
    start[a] = -d->start[a] - model->activities[a].length;
  return status;
}

/* ---- life ----------------------------------------------------------------------------------- */

static bool make_renewables(prem_decoder *d) {
  d->renewables = calloc((size_t)d->model->renewable_count + 1, sizeof *d->renewables);
  if (!d->renewables)
    return false;
  for (int32_t l = 0; l < d->model->renewable_count; ++l)
    if (!reserve(&d->renewables[l], 16))
      return false;
  d->owned = calloc((size_t)d->model->owner_count + 1, sizeof *d->owned);
  for (int32_t o = 0; d->owned && o < d->model->owner_count; ++o)
    if (!reserve(&d->owned[o], 16))
      return false;
  return d->owned;
}

prem_decoder *prem_decoder_new(const prem_model *model) {
  prem_decoder *d = calloc(1, sizeof *d);
  if (!d)
    return NULL;
  d->model = model;
  size_t count = (size_t)model->count + 1, pools = (size_t)model->pool_count + 1;
  d->free_from = malloc(pools * (size_t)model->buffers * sizeof *d->free_from);
  d->free_count = malloc(pools * sizeof *d->free_count);
  d->waiting = malloc(pools * sizeof *d->waiting);
  d->woken_by = malloc(count * sizeof *d->woken_by);
  d->left = malloc(count * sizeof *d->left);
  d->right = malloc(count * sizeof *d->right);
  d->rank = malloc(count * sizeof *d->rank);
  d->arcs_left = malloc(count * sizeof *d->arcs_left);
  d->from = malloc(count * sizeof *d->from);
  d->key = malloc(count * sizeof *d->key);
  d->start = malloc(count * sizeof *d->start);
  if (make_renewables(d) && d->free_from && d->free_count && d->waiting && d->woken_by && d->left &&
      d->right && d->rank && d->arcs_left && d->from && d->key && d->start)
    return d;
  prem_decoder_free(d);
  return NULL;
}

void prem_decoder_end_at(prem_decoder *d, double until_s, const volatile sig_atomic_t *stop) {
  d->until_s = until_s;
  d->stop = stop;
}

void prem_decoder_free(prem_decoder *d) {
  if (!d)
    return;
  for (int32_t l = 0; d->renewables && l < d->model->renewable_count; ++l) {
    free(d->renewables[l].at);
    free(d->renewables[l].level);
  }
  for (int32_t o = 0; d->owned && o < d->model->owner_count; ++o) {
    free(d->owned[o].at);
    free(d->owned[o].level);
  }
  PREM_FREE(d->renewables, d->owned, d->free_from, d->free_count, d->waiting, d->woken_by, d->left,
            d->right, d->rank, d->arcs_left, d->from, d->key, d->start, d);
}
