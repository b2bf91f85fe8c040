/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How much of a supply is in use over time: a step function that the planner fills phase by phase.
 *
 * The steps lie in chunks, and chunks on shelves, that know their smallest level and their longest
 * gap, so that a search passes over stretches that are full or full of gaps too short, and an
 * insertion moves only a chunk. Neighbours of equal level are one step: what is packed without gaps
 * costs nothing to pass.
 */
#pragma once

#include "ttprem/base.h"

/** The level from here to the next step. */
typedef struct prem_step {
  int64_t at_ns;
  int32_t level;
} prem_step;

/** What can be had of some steps at most. */
typedef struct prem_step_room {
  int64_t longest_ns; /* of the stretches with something left that begin here, from their first
                         instant on the grid */
  int32_t min;        /* smallest level */
} prem_step_room;

typedef struct prem_step_chunk {
  prem_step *steps;
  int32_t count, capacity;
  prem_step_room room;
} prem_step_chunk;

/** All zeros is an empty timeline with nothing in use and capacity 0: set the capacity, and the
 * grid where there is one. */
typedef struct prem_timeline {
  prem_step_chunk *chunks;
  prem_step_room *shelves;        /* each of so many chunks */
  int32_t count, capacity_chunks; /* count 0: nothing in use, ever */
  int32_t capacity;               /* of the supply */
  int64_t grid_ns;                /* what is looked for begins on it; 0: at any instant */
} prem_timeline;

void prem_timeline_free(prem_timeline *timeline);

/**
 * The earliest instant on the grid, at or after `from_ns`, from which `demand` more can be had for
 * `length_ns`. `demand` is at most the capacity; 0 is always to be had. `grid_ns` is a multiple of
 * the timeline's, or whether there is room at `from_ns` is all that is asked.
 */
int64_t prem_timeline_fit(const prem_timeline *timeline, int64_t from_ns, int64_t length_ns,
                          int32_t demand, int64_t grid_ns);

/** The first instant on the grid from which `demand` more can be had all the time until `until_ns`.
 */
int64_t prem_timeline_since(const prem_timeline *timeline, int64_t until_ns, int32_t demand,
                            int64_t grid_ns);

/** What is in use at an instant, and when that may change next (INT64_MAX: never). */
int32_t prem_timeline_level(const prem_timeline *timeline, int64_t at_ns, int64_t *until_ns);

/** Use `demand` more in [start_ns, end_ns); below 0: less. */
prem_status prem_timeline_use(prem_timeline *timeline, int64_t start_ns, int64_t end_ns,
                              int32_t demand);
