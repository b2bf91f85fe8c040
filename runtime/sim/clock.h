/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The virtual clock: when each of the simulator's parts has its next event. A tournament tree, so
 * that the next event of all is at hand and a change costs one path to the root.
 */
#pragma once

#include "ttprem/base.h"

/** Ends come before starts at the same instant, then lower parts before higher ones. */
#define SIM_END(at_ns)   ((uint64_t)(at_ns) << 1)
#define SIM_START(at_ns) ((uint64_t)(at_ns) << 1 | 1)
#define SIM_NEVER        UINT64_MAX

typedef struct sim_event {
  uint64_t key;
  uint64_t part;
} sim_event;

typedef struct sim_clock {
  sim_event *node; /* node[1] is the winner; leaves from `leaves` on */
  uint64_t leaves; /* a power of two */
} sim_clock;

static inline void sim_clock_set(sim_clock *clock, int32_t part, uint64_t key) {
  uint64_t at = clock->leaves + (uint64_t)part;
  sim_event winner = {key, (uint64_t)part};
  clock->node[at] = winner;
  while (at > 1) {
    const sim_event *other = &clock->node[at ^ 1];
    bool left = at & 1; /* the other is the left one and wins ties */
    if (other->key < winner.key || (left && other->key == winner.key))
      winner = *other;
    at >>= 1;
    sim_event *parent = &clock->node[at];
    /* Nothing changes further up when another part stays the winner here. */
    if (parent->part == winner.part && parent->key == winner.key)
      return;
    *parent = winner;
  }
}

static inline sim_event sim_clock_next(const sim_clock *clock) {
  return clock->node[1];
}
