/* Step functions over time, in chunks. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

enum { FULL_CHUNK = 128 };

/* A step of a timeline. */
typedef struct cursor {
  int32_t chunk, step;
} cursor;

void prem_timeline_free(prem_timeline *timeline) {
  for (int32_t i = 0; i < timeline->count; ++i)
    free(timeline->chunks[i].steps);
  free(timeline->chunks);
  timeline->chunks = NULL;
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

/* The last step that begins at or before `at_ns`. The first one begins before all times. */
static cursor find(const prem_timeline *timeline, int64_t at_ns) {
  int32_t low = 0, high = timeline->count; /* chunks before low begin in time */
  while (high - low > 1) {
    int32_t middle = low + (high - low) / 2;
    if (timeline->chunks[middle].steps[0].at_ns <= at_ns)
      low = middle;
    else
      high = middle;
  }
  const prem_step_chunk *chunk = &timeline->chunks[low];
  int32_t first = 0, last = chunk->count;
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

static int64_t round_up(int64_t at_ns, int64_t grid_ns) {
  int64_t above = at_ns % grid_ns;
  return above ? at_ns + grid_ns - above : at_ns;
}

/* No stretch that begins in this chunk is long enough. */
static bool passes(const prem_timeline *timeline, cursor at, int64_t length_ns) {
  return at.step == 0 && timeline->chunks[at.chunk].longest_ns < length_ns;
}

/* The first step from `at` on with a level that leaves room; there is one, the last. */
static cursor skip_full(const prem_timeline *timeline, cursor at, int64_t length_ns,
                        int32_t highest) {
  while (step_at(timeline, at)->level > highest || passes(timeline, at, length_ns)) {
    while (at.step == 0 &&
           (timeline->chunks[at.chunk].least > highest || passes(timeline, at, length_ns)))
      ++at.chunk;
    if (step_at(timeline, at)->level > highest)
      at = next_of(timeline, at);
  }
  return at;
}

int64_t prem_timeline_fit(const prem_timeline *timeline, int64_t from_ns, int64_t length_ns,
                          int32_t demand, int64_t grid_ns) {
  int64_t start_ns = round_up(from_ns, grid_ns);
  if (timeline->count == 0 || demand == 0)
    return start_ns;
  int32_t highest = timeline->capacity - demand;
  cursor at = find(timeline, start_ns);
  for (;;) {
    if (step_at(timeline, at)->level > highest) {
      at = skip_full(timeline, at, length_ns, highest);
      start_ns = round_up(step_at(timeline, at)->at_ns, grid_ns);
    }
    int64_t end_ns = end_of(timeline, at);
    if (end_ns == INT64_MAX || end_ns - start_ns >= length_ns)
      return start_ns;
    /* either too short, or so short that the grid has no instant in it */
    at = next_of(timeline, at);
  }
}

/* ---- filling -------------------------------------------------------------------------------- */

static void survey(prem_step_chunk *chunk, int32_t capacity) {
  int64_t free_ns = 0; /* since when something is left */
  bool free = false;
  chunk->least = INT32_MAX;
  chunk->longest_ns = 0;
  for (int32_t i = 0; i < chunk->count; ++i) {
    const prem_step *step = &chunk->steps[i];
    if (step->level < chunk->least)
      chunk->least = step->level;
    if (free && step->level >= capacity && step->at_ns - free_ns > chunk->longest_ns)
      chunk->longest_ns = step->at_ns - free_ns;
    if (!free || step->level >= capacity)
      free_ns = step->at_ns > 0 ? step->at_ns : 0; /* nothing is asked for before 0 */
    free = step->level < capacity;
  }
  if (free)
    chunk->longest_ns = INT64_MAX;
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

/* A new, empty chunk at `index`. */
static bool insert_chunk(prem_timeline *timeline, int32_t index) {
  if (!timeline->chunks || timeline->count == timeline->capacity_chunks) {
    int32_t capacity = timeline->capacity_chunks ? 2 * timeline->capacity_chunks : 1;
    prem_step_chunk *grown = realloc(timeline->chunks, (size_t)capacity * sizeof *grown);
    if (!grown)
      return false;
    timeline->chunks = grown;
    timeline->capacity_chunks = capacity;
  }
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
}

static bool split_chunk(prem_timeline *timeline, int32_t index) {
  if (!insert_chunk(timeline, index + 1))
    return false;
  prem_step_chunk *left = &timeline->chunks[index], *right = left + 1;
  prem_step *steps = malloc(FULL_CHUNK * sizeof *steps);
  if (!steps) {
    remove_chunk(timeline, index + 1);
    return false;
  }
  int32_t kept = left->count / 2;
  *right = (prem_step_chunk){.steps = steps, .count = left->count - kept, .capacity = FULL_CHUNK};
  memcpy(steps, left->steps + kept, (size_t)right->count * sizeof *steps);
  left->count = kept;
  survey(left, timeline->capacity);
  survey(right, timeline->capacity);
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
  else
    survey(chunk, timeline->capacity);
}

static bool begin(prem_timeline *timeline) {
  if (timeline->count > 0)
    return true;
  if (!insert_chunk(timeline, 0))
    return false;
  prem_step_chunk *chunk = &timeline->chunks[0];
  if (!grow_chunk(chunk)) {
    remove_chunk(timeline, 0);
    return false;
  }
  chunk->steps[chunk->count++] = (prem_step){INT64_MIN, 0};
  survey(chunk, timeline->capacity);
  return true;
}

prem_status prem_timeline_use(prem_timeline *timeline, int64_t start_ns, int64_t end_ns,
                              int32_t demand) {
  if (demand == 0 || start_ns >= end_ns)
    return PREM_OK;
  if (!begin(timeline) || !cut(timeline, start_ns) || !cut(timeline, end_ns))
    return PREM_ERR_MEMORY;
  int32_t touched = -1;
  for (cursor at = find(timeline, start_ns); step_at(timeline, at)->at_ns < end_ns;
       at = next_of(timeline, at)) {
    if (touched >= 0 && touched != at.chunk)
      survey(&timeline->chunks[touched], timeline->capacity);
    touched = at.chunk;
    timeline->chunks[at.chunk].steps[at.step].level += demand;
  }
  survey(&timeline->chunks[touched], timeline->capacity);
  mend(timeline, start_ns);
  mend(timeline, end_ns);
  return PREM_OK;
}
