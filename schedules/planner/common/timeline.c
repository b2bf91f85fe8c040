/* SPDX-License-Identifier: Apache-2.0 */
/* Step functions over time, in chunks on shelves. */
#include "schedules/planner/common/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/numbers.h"

enum { FULL_CHUNK = 128, SHELF = 64 /* chunks */ };

/* A step of a timeline. */
typedef struct cursor {
  int32_t chunk, step;
} cursor;

void prem_timeline_free(prem_timeline *timeline) {
  for (int32_t i = 0; i < timeline->count; ++i)
    free(timeline->chunks[i].steps);
  free(timeline->chunks);
  free(timeline->shelves);
  timeline->chunks = NULL;
  timeline->shelves = NULL;
  timeline->count = timeline->capacity_chunks = 0;
}

static const prem_step *step_at(const prem_timeline *timeline, cursor at) {
  return &timeline->chunks[at.chunk].steps[at.step];
}

static bool is_end(const prem_timeline *timeline, cursor at) {
  return at.chunk == timeline->count;
}

static cursor next_of(const prem_timeline *timeline, cursor at) {
  if (++at.step == timeline->chunks[at.chunk].count)
    at = (cursor){at.chunk + 1, 0};
  return at;
}

/* Where the step after `at` begins; the last one never ends. */
static int64_t end_of(const prem_timeline *timeline, cursor at) {
  cursor next = next_of(timeline, at);
  return is_end(timeline, next) ? INT64_MAX : step_at(timeline, next)->at_ns;
}

/* The last of chunks, and of their steps, that begins at or before `at_ns`: looked for from the
 * end, where most of what is placed goes. The first one begins before all times. */
static cursor find(const prem_timeline *timeline, int64_t at_ns) {
  int32_t low = timeline->count - 1, high = timeline->count; /* chunks before low begin in time */
  for (int32_t back = 1; low > 0 && timeline->chunks[low].steps[0].at_ns > at_ns; back *= 2) {
    high = low;
    low = low > back ? low - back : 0;
  }
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (timeline->chunks[middle].steps[0].at_ns <= at_ns)
      low = middle;
    else
      high = middle;
  }
  const prem_step_chunk *chunk = &timeline->chunks[low];
  int32_t first = chunk->count - 1, last = chunk->count;
  for (int32_t back = 1; first > 0 && chunk->steps[first].at_ns > at_ns; back *= 2) {
    last = first;
    first = first > back ? first - back : 0;
  }
  while (last - first > 1) {
    int32_t middle = first + (last - first) / 2;
    if (chunk->steps[middle].at_ns <= at_ns)
      first = middle;
    else
      last = middle;
  }
  return (cursor){low, first};
}

/* ---- searching ------------------------------------------------------------------------------ */

/** What is looked for. */
typedef struct wanted {
  int64_t length_ns;
  int32_t highest; /* level that leaves room for it */
} wanted;

static bool may_have(const prem_step_room *room, wanted what) {
  return room->min <= what.highest && room->longest_ns >= what.length_ns;
}

/* The first chunk from `chunk` on that may have it; the last one has all. */
static int32_t next_chunk(const prem_timeline *timeline, int32_t chunk, wanted what) {
  while (!may_have(&timeline->chunks[chunk].room, what)) {
    ++chunk;
    while (chunk % SHELF == 0 && !may_have(&timeline->shelves[chunk / SHELF], what))
      chunk += SHELF;
  }
  return chunk;
}

/* The first step from `at` on where it may begin. */
static cursor next_room(const prem_timeline *timeline, cursor at, wanted what) {
  for (;;) {
    if (!may_have(&timeline->chunks[at.chunk].room, what))
      at = (cursor){next_chunk(timeline, at.chunk, what), 0};
    if (step_at(timeline, at)->level <= what.highest)
      return at;
    at = next_of(timeline, at);
  }
}

int64_t prem_timeline_fit(const prem_timeline *timeline, int64_t from_ns, int64_t length_ns,
                          int32_t demand, int64_t grid_ns) {
  int64_t start_ns = prem_round_up(from_ns, grid_ns);
  if (timeline->count == 0 || demand == 0)
    return start_ns;
  wanted what = {length_ns, timeline->capacity - demand};
  cursor at = find(timeline, start_ns);
  for (;;) {
    if (step_at(timeline, at)->level > what.highest) {
      at = next_room(timeline, at, what);
      start_ns = prem_round_up(step_at(timeline, at)->at_ns, grid_ns);
    }
    int64_t end_ns = end_of(timeline, at);
    if (end_ns == INT64_MAX || end_ns - start_ns >= length_ns)
      return start_ns;
    /* either too short, or so short that the grid has no instant in it */
    at = next_of(timeline, at);
  }
}

int64_t prem_timeline_since(const prem_timeline *timeline, int64_t until_ns, int32_t demand,
                            int64_t grid_ns) {
  int64_t since_ns = until_ns;
  if (timeline->count == 0)
    return 0;
  cursor at = find(timeline, until_ns - 1);
  while (step_at(timeline, at)->level <= timeline->capacity - demand) {
    since_ns = step_at(timeline, at)->at_ns;
    if (since_ns <= 0)
      return 0;
    at = find(timeline, since_ns - 1);
  }
  return prem_round_up(since_ns, grid_ns);
}

int32_t prem_timeline_level(const prem_timeline *timeline, int64_t at_ns, int64_t *until_ns) {
  *until_ns = INT64_MAX;
  if (timeline->count == 0)
    return 0;
  cursor at = find(timeline, at_ns);
  *until_ns = end_of(timeline, at);
  return step_at(timeline, at)->level;
}

/* ---- filling -------------------------------------------------------------------------------- */

/* When the stretch with which a chunk begins is over. */
static int64_t first_full(const prem_timeline *timeline, int32_t index) {
  if (index < timeline->count) {
    const prem_step_chunk *chunk = &timeline->chunks[index];
    for (int32_t i = 0; i < chunk->count; ++i)
      if (chunk->steps[i].level >= timeline->capacity)
        return chunk->steps[i].at_ns;
  }
  return INT64_MAX;
}

static prem_step_room room_of(const prem_timeline *timeline, int32_t index) {
  const prem_step_chunk *chunk = &timeline->chunks[index];
  const int64_t grid_ns = timeline->grid_ns > 0 ? timeline->grid_ns : 1;
  prem_step_room room = {0, INT32_MAX};
  if (index == timeline->count - 1 && chunk->steps[chunk->count - 1].level == 0)
    return (prem_step_room){INT64_MAX, 0}; /* no need to look at all of what most is added to */
  int64_t free_ns = -1; /* since when something is left, on the grid; -1: nothing is */
  for (int32_t i = 0; i < chunk->count; ++i) {
    const prem_step *step = &chunk->steps[i];
    if (step->level < room.min)
      room.min = step->level;
    if (step->level < timeline->capacity) {
      if (free_ns < 0)
        free_ns = step->at_ns > 0 ? prem_round_up(step->at_ns, grid_ns)
                                  : 0; /* nothing is asked for before 0 */
      continue;
    }
    if (free_ns >= 0 && step->at_ns - free_ns > room.longest_ns)
      room.longest_ns = step->at_ns - free_ns;
    free_ns = -1;
  }
  int64_t end_ns = free_ns < 0 ? 0 : first_full(timeline, index + 1);
  if (end_ns == INT64_MAX || end_ns - free_ns > room.longest_ns)
    room.longest_ns = end_ns == INT64_MAX ? INT64_MAX : end_ns - free_ns;
  return room;
}

static void survey_shelf(prem_timeline *timeline, int32_t shelf) {
  prem_step_room room = {0, INT32_MAX};
  for (int32_t i = shelf * SHELF; i < timeline->count && i < (shelf + 1) * SHELF; ++i) {
    const prem_step_room *of = &timeline->chunks[i].room;
    if (of->min < room.min)
      room.min = of->min;
    if (of->longest_ns > room.longest_ns)
      room.longest_ns = of->longest_ns;
  }
  timeline->shelves[shelf] = room;
}

static void survey(prem_timeline *timeline, int32_t index) {
  prem_step_room *room = &timeline->chunks[index].room, before = *room;
  *room = room_of(timeline, index);
  prem_step_room *shelf = &timeline->shelves[index / SHELF];
  if (room->longest_ns >= shelf->longest_ns && room->min <= shelf->min)
    *shelf = *room;
  else if (room->longest_ns != before.longest_ns || room->min != before.min)
    survey_shelf(timeline, index / SHELF);
}

static bool grow_chunk(prem_step_chunk *chunk) {
  if (chunk->count < chunk->capacity)
    return true;
  int32_t capacity = chunk->capacity ? 2 * chunk->capacity : 4;
  prem_step *grown = realloc(chunk->steps, (size_t)capacity * sizeof *grown);
  if (!grown)
    return false;
  chunk->steps = grown;
  chunk->capacity = capacity;
  return true;
}

static bool grow_timeline(prem_timeline *timeline) {
  if (timeline->count < timeline->capacity_chunks)
    return true;
  int32_t capacity = timeline->capacity_chunks ? 2 * timeline->capacity_chunks : 1;
  prem_step_chunk *chunks = realloc(timeline->chunks, (size_t)capacity * sizeof *chunks);
  if (chunks)
    timeline->chunks = chunks;
  size_t shelf_count = (size_t)(capacity + SHELF - 1) / SHELF;
  prem_step_room *shelves = realloc(timeline->shelves, shelf_count * sizeof *shelves);
  if (shelves)
    timeline->shelves = shelves;
  if (!chunks || !shelves)
    return false;
  timeline->capacity_chunks = capacity;
  return true;
}

/* Chunks from `index` on have another place. */
static void survey_shelves(prem_timeline *timeline, int32_t index) {
  for (int32_t shelf = index / SHELF; shelf * SHELF < timeline->count; ++shelf)
    survey_shelf(timeline, shelf);
}

/* A new, empty chunk at `index`. */
static bool insert_chunk(prem_timeline *timeline, int32_t index) {
  if (!grow_timeline(timeline))
    return false;
  prem_step_chunk *at = &timeline->chunks[index];
  memmove(at + 1, at, (size_t)(timeline->count - index) * sizeof *at);
  *at = (prem_step_chunk){0};
  ++timeline->count;
  return true;
}

static void remove_chunk(prem_timeline *timeline, int32_t index) {
  prem_step_chunk *at = &timeline->chunks[index];
  free(at->steps);
  memmove(at, at + 1, (size_t)(timeline->count - index - 1) * sizeof *at);
  --timeline->count;
  survey_shelves(timeline, index);
}

static bool split_chunk(prem_timeline *timeline, int32_t index) {
  prem_step *steps = malloc(FULL_CHUNK * sizeof *steps);
  if (!steps || !insert_chunk(timeline, index + 1)) {
    free(steps);
    return false;
  }
  prem_step_chunk *left = &timeline->chunks[index], *right = left + 1;
  int32_t kept = left->count / 2;
  *right = (prem_step_chunk){.steps = steps, .count = left->count - kept, .capacity = FULL_CHUNK};
  memcpy(steps, left->steps + kept, (size_t)right->count * sizeof *steps);
  left->count = kept;
  left->room = room_of(timeline, index);
  right->room = room_of(timeline, index + 1);
  survey_shelves(timeline, index);
  return true;
}

/* Let a step begin at `at_ns`, the level unchanged. */
static bool cut(prem_timeline *timeline, int64_t at_ns) {
  cursor at = find(timeline, at_ns);
  if (step_at(timeline, at)->at_ns == at_ns)
    return true;
  if (timeline->chunks[at.chunk].count == FULL_CHUNK) {
    if (!split_chunk(timeline, at.chunk))
      return false;
    at = find(timeline, at_ns);
  }
  prem_step_chunk *chunk = &timeline->chunks[at.chunk];
  if (!grow_chunk(chunk))
    return false;
  prem_step *step = &chunk->steps[at.step];
  memmove(step + 1, step, (size_t)(chunk->count - at.step) * sizeof *step);
  step[1].at_ns = at_ns;
  ++chunk->count;
  return true;
}

/* Take the step that begins at `at_ns` away where it has the level of the one before. */
static void mend(prem_timeline *timeline, int64_t at_ns) {
  cursor before = find(timeline, at_ns - 1), at = find(timeline, at_ns);
  if (step_at(timeline, before)->level != step_at(timeline, at)->level ||
      step_at(timeline, at)->at_ns != at_ns)
    return;
  prem_step_chunk *chunk = &timeline->chunks[at.chunk];
  prem_step *step = &chunk->steps[at.step];
  memmove(step, step + 1, (size_t)(chunk->count - at.step - 1) * sizeof *step);
  if (--chunk->count == 0)
    remove_chunk(timeline, at.chunk);
}

static bool begin(prem_timeline *timeline) {
  if (timeline->count > 0)
    return true;
  prem_step *steps = malloc(4 * sizeof *steps);
  if (!steps || !insert_chunk(timeline, 0)) {
    free(steps);
    return false;
  }
  steps[0] = (prem_step){INT64_MIN, 0};
  timeline->chunks[0] = (prem_step_chunk){.steps = steps, .count = 1, .capacity = 4};
  survey_shelves(timeline, 0);
  return true;
}

prem_status prem_timeline_use(prem_timeline *timeline, int64_t start_ns, int64_t end_ns,
                              int32_t demand) {
  if (demand == 0 || start_ns >= end_ns)
    return PREM_OK;
  if (!begin(timeline) || !cut(timeline, start_ns) || !cut(timeline, end_ns))
    return PREM_ERR_MEMORY;
  for (cursor at = find(timeline, start_ns); step_at(timeline, at)->at_ns < end_ns;
       at = next_of(timeline, at))
    timeline->chunks[at.chunk].steps[at.step].level += demand;
  mend(timeline, start_ns);
  mend(timeline, end_ns);
  int32_t first = find(timeline, start_ns).chunk, last = find(timeline, end_ns).chunk;
  if (first > 0 && first_full(timeline, first) >= start_ns)
    --first; /* what leads to it is shorter now */
  for (int32_t i = first; i <= last; ++i)
    survey(timeline, i);
  return PREM_OK;
}
