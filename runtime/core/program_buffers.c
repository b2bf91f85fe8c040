/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch buffers: which one each tile gets, and what that lets run ahead. */
#include "runtime/core/compilation.h"

#include "prem/base/numbers.h"

#include <stdio.h>
#include <string.h>

/* ---- scratch buffers ------------------------------------------------------------------------ */

/* How tiles hold a set of buffers. */
typedef enum holding {
  HOLD_LIVE,  /* one live tile: from its first phase's start to its last phase's end */
  HOLD_INPUT, /* from prefetch's start to compute's end */
  HOLD_OUTPUT /* from compute's start to writeback's end */
} holding;

/* The phases between which a tile holds a buffer; false: it holds none. */
static bool hold_of(holding kind, const prem_tile_phases *tile, int *from, int *to) {
  bool prefetch = tile->record[PREM_PREFETCH], compute = tile->record[PREM_COMPUTE],
       writeback = tile->record[PREM_WRITEBACK];
  int first = prefetch ? PREM_PREFETCH : compute ? PREM_COMPUTE : PREM_WRITEBACK;
  int last = writeback ? PREM_WRITEBACK : compute ? PREM_COMPUTE : PREM_PREFETCH;
  *from = first;
  *to = last;
  if (kind == HOLD_INPUT) {
    *to = compute ? PREM_COMPUTE : PREM_PREFETCH;
    return prefetch;
  }
  if (kind == HOLD_OUTPUT) {
    *from = compute ? PREM_COMPUTE : PREM_WRITEBACK;
    return writeback;
  }
  return true;
}

/* When a buffer was last given back: in the plan's time, and as a wait. */
typedef struct giving_back {
  int64_t at_ns;
  int64_t ready_ns; /* the turnaround behind it is over */
  int phase;        /* -1: never used */
  int32_t done;     /* phases of this kind done, from the hyperperiod's start */
} giving_back;

typedef struct buffer_set {
  holding kind;
  int32_t count;
  giving_back last[PREM_MAX_BUFFERS];
  prem_record *first_user[PREM_MAX_BUFFERS]; /* in this hyperperiod */
  uint8_t turn[PREM_MAX_BUFFERS];
} buffer_set;

static giving_back giving_back_of(const prem_compilation *c, const prem_tile_phases *tile, int to) {
  const prem_record *last = tile->record[to];
  const prem_task *task = &c->program->schedule->tasks[last->task];
  const int64_t turnaround_ns = prem_min_i64(task->phase[to].turnaround_ns, PREM_MAX_NS - 1);
  return (giving_back){last->planned_end_ns, last->planned_end_ns + turnaround_ns, to,
                       tile->ordinal[to] + 1};
}

/* The same one hyperperiod earlier. */
static giving_back a_hyperperiod_ago(const prem_compilation *c, giving_back g) {
  if (g.phase >= 0) {
    g.at_ns -= c->program->hyperperiod_ns;
    g.ready_ns -= c->program->hyperperiod_ns;
    g.done -= c->block->phase_count[g.phase];
  }
  return g;
}

/* The next record of the block's order that takes a buffer of the set, from index *i on. */
static prem_tile_phases *next_taker(const prem_compilation *c, const buffer_set *set, int64_t *i,
                                    int *to) {
  for (; *i < c->order_count; ++*i) {
    int from;
    prem_tile_phases *tile = prem_tile_phases_of(c, c->order[*i]);
    if (hold_of(set->kind, tile, &from, to) && from == c->order[*i]->phase)
      return tile;
  }
  return NULL;
}

static prem_status refuse_buffers(const prem_compilation *c, const buffer_set *set,
                                  const prem_record *record) {
  static const char *const held[] = {"tile", "input buffers", "output buffers"};
  char what[96];
  snprintf(what, sizeof what, "at %lld ns needs more than the block's %d %s",
           (long long)record->planned_ns, set->count, held[set->kind]);
  return prem_refuse_tile(c, record, 39, what);
}

/* When the next hyperperiod takes its first buffer, if `first` is the one that takes it in this. */
static int64_t next_start_ns(const prem_compilation *c, const prem_record *first) {
  int64_t planned_ns = first->flags & PREM_SLOT_WARMUP ? 0 : first->planned_ns;
  return planned_ns + c->program->hyperperiod_ns;
}

/*
 * Tiles that are alive when the hyperperiod ends hold buffers 0, 1, ... at the start of the next.
 * Where they had other buffers in their own hyperperiod, the numbers turn.
 */
static prem_status enter_hyperperiod(const prem_compilation *c, buffer_set *set) {
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    set->last[i] = (giving_back){INT64_MIN, INT64_MIN, -1, 0};
  int64_t i = 0;
  int to;
  if (!next_taker(c, set, &i, &to))
    return PREM_OK;
  int64_t next_ns = next_start_ns(c, c->order[i]);
  int32_t alive = 0;
  for (prem_tile_phases *tile; (tile = next_taker(c, set, &i, &to)); ++i) {
    if (tile->record[to]->planned_end_ns <= next_ns || c->program->switches)
      continue;
    if (alive == set->count)
      return refuse_buffers(c, set, c->order[i]);
    set->last[alive++] = a_hyperperiod_ago(c, giving_back_of(c, tile, to));
  }
  return PREM_OK;
}

/* The free buffer that has been ready for longest, or -1. */
static int32_t free_buffer(const buffer_set *set, int64_t at_ns) {
  int32_t best = -1;
  for (int32_t b = 0; b < set->count; ++b)
    if (set->last[b].at_ns <= at_ns &&
        (best < 0 || set->last[b].ready_ns < set->last[best].ready_ns))
      best = b;
  return best;
}

static void give_buffer(const buffer_set *set, const prem_tile_phases *tile, int32_t buffer) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (!tile->record[p])
      continue;
    if (set->kind == HOLD_INPUT)
      tile->record[p]->in_buffer = (uint8_t)buffer;
    else if (set->kind == HOLD_OUTPUT)
      tile->record[p]->out_buffer = (uint8_t)buffer;
  }
}

/* A permutation that takes buffer i, at a hyperperiod's start, to the one that the tile in it had
 * been given in its own hyperperiod; all others stay as far as they can. */
static void close_turn(buffer_set *set, const int32_t *crossing, int32_t crossings) {
  bool taken[PREM_MAX_BUFFERS] = {false};
  for (int32_t i = 0; i < crossings; ++i) {
    set->turn[i] = (uint8_t)crossing[i];
    taken[crossing[i]] = true;
  }
  int32_t spare = 0;
  for (int32_t i = crossings; i < PREM_MAX_BUFFERS; ++i) {
    while (taken[spare])
      ++spare;
    int32_t to = taken[i] ? spare : i;
    set->turn[i] = (uint8_t)to;
    taken[to] = true;
  }
}

/* The first user of a buffer waits for its last user in some hyperperiod before. */
static void wait_across_hyperperiods(const prem_compilation *c, const buffer_set *set) {
  giving_back before[PREM_MAX_BUFFERS];
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    before[i] = (giving_back){INT64_MIN, INT64_MIN, -1, 0};
  for (int round = 0; round < PREM_MAX_BUFFERS; ++round) {
    giving_back next[PREM_MAX_BUFFERS];
    for (int i = 0; i < PREM_MAX_BUFFERS; ++i) {
      int was = set->turn[i];
      next[i] = a_hyperperiod_ago(c, set->first_user[was] ? set->last[was] : before[was]);
    }
    memcpy(before, next, sizeof before);
  }
  for (int i = 0; i < set->count; ++i)
    if (set->first_user[i] && before[i].phase >= 0)
      prem_record_wait_for(set->first_user[i], before[i].phase, before[i].done);
}

/* Nothing is alive where another plan may come before: all phases before are over. */
static void wait_for_all_before(const buffer_set *set) {
  for (int i = 0; i < set->count; ++i)
    for (int p = 0; set->first_user[i] && p < PREM_PHASE_COUNT; ++p)
      prem_record_wait_for(set->first_user[i], p, 0);
}

/* Walk the block's order and give each tile the buffer that has been free for longest: what the
 * plan's own times allow, whatever the real ones will be, is expressed as waits. */
static prem_status assign_buffers(const prem_compilation *c, buffer_set *set) {
  prem_status status = enter_hyperperiod(c, set);
  if (status)
    return status;
  int32_t crossing[PREM_MAX_BUFFERS], crossings = 0;
  int64_t next_ns = 0;
  bool first = true;
  int to;
  int64_t i = 0;
  for (prem_tile_phases *tile; (tile = next_taker(c, set, &i, &to)); ++i) {
    prem_record *taker = c->order[i];
    if (first)
      next_ns = next_start_ns(c, taker);
    int32_t b = free_buffer(set, taker->planned_ns);
    if (b < 0)
      return refuse_buffers(c, set, taker);
    if (!set->first_user[b])
      set->first_user[b] = taker;
    else if (set->last[b].phase >= 0)
      prem_record_wait_for(taker, set->last[b].phase, set->last[b].done);
    give_buffer(set, tile, b);
    set->last[b] = giving_back_of(c, tile, to);
    if (set->last[b].at_ns > next_ns && !c->program->switches)
      crossing[crossings++] = b;
    first = false;
  }
  close_turn(set, crossing, crossings);
  if (c->program->switches)
    wait_for_all_before(set);
  else
    wait_across_hyperperiods(c, set);
  return PREM_OK;
}

static bool is_turned(const uint8_t *turn) {
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    if (turn[i] != i)
      return true;
  return false;
}

prem_status prem_buffers_hold(const prem_compilation *c) {
  prem_block_program *block = c->block;
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i)
    block->in_turn[i] = block->out_turn[i] = (uint8_t)i;
  int32_t buffers = c->schedule->platform.buffers;
  if (buffers == 1) {
    buffer_set live = {.kind = HOLD_LIVE, .count = 1};
    return assign_buffers(c, &live);
  }
  buffer_set in = {.kind = HOLD_INPUT, .count = buffers};
  buffer_set out = {.kind = HOLD_OUTPUT, .count = buffers};
  prem_status status = assign_buffers(c, &in);
  if (!status)
    status = assign_buffers(c, &out);
  memcpy(block->in_turn, in.turn, sizeof in.turn);
  memcpy(block->out_turn, out.turn, sizeof out.turn);
  block->turns = is_turned(in.turn) || is_turned(out.turn);
  return status;
}

/* ---- running ahead --------------------------------------------------------------------------- */

/* Where the memory unit may be, and the prefetches that it has started until then. */
typedef struct memory_place {
  int64_t index; /* in its table, hyperperiod after hyperperiod */
  int64_t prefetches;
} memory_place;

/* A hyperperiod that fetches takes a buffer at least, so a wait comes before so many have gone by.
 */
static int64_t farthest_index(const prem_block_program *block) {
  return (PREM_MAX_BUFFERS + 1) * (int64_t)block->memory_count;
}

/* On to the first record that waits for more computes than `computes`. */
static void advance_memory(const prem_block_program *block, int64_t computes, memory_place *at) {
  for (; at->index < farthest_index(block); ++at->index) {
    const prem_record *record = &block->memory[at->index % block->memory_count];
    const int32_t wait = record->wait[PREM_COMPUTE];
    const int64_t hyperperiod = at->index / block->memory_count;
    if (wait != PREM_NO_WAIT && wait + hyperperiod * block->phase_count[PREM_COMPUTE] > computes)
      return;
    at->prefetches += record->phase == PREM_PREFETCH;
  }
}

int32_t prem_block_max_ahead(const prem_block_program *block) {
  memory_place at = {0, 0};
  int64_t max = 0;
  for (int32_t k = 0; k < block->compute_count; ++k) {
    const int32_t own = block->compute[k].wait[PREM_PREFETCH];
    if (own == PREM_NO_WAIT)
      continue;
    advance_memory(block, k, &at);
    if (at.index == farthest_index(block))
      return INT32_MAX;
    const int64_t ahead = at.prefetches - own + 1;
    max = ahead > max ? ahead : max;
  }
  return max < INT32_MAX ? (int32_t)max : INT32_MAX;
}
