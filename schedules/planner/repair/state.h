/* SPDX-License-Identifier: Apache-2.0 */
/** Inside a repair: what it remembers, and what its parts ask of each other. */
#pragma once

#include "schedules/planner/repair/repair.h"

#include "prem/base/numbers.h"

typedef enum prem_place_state {
  PREM_PLACE_WISHED,   /* not reserved: it may be had when its turn comes */
  PREM_PLACE_RESERVED, /* on the timelines */
  PREM_PLACE_SETTLED,  /* on the timelines, its round is placed */
  PREM_PLACE_GIVEN_UP
} prem_place_state;

/** The most phases that one start has: a joined pair, and all that can be chained to its prefetch.
 */
enum { PREM_MAX_MEMBERS = PREM_PHASE_COUNT + 1 };

/** Phases that keep their places together: one phase of a round, a chain, or a joined pair with
 *  what is chained to it. */
typedef struct prem_kept_group {
  int64_t start_ns;
  int64_t first_slot; /* -1: one phase */
  int32_t slot_count;
  int32_t task, job, tile, count; /* the round of the first phase */
  uint8_t phase, state;
  bool joined;
  bool refused; /* parted, in this and all plans to come */
} prem_kept_group;

/** What a round has of a kind of buffer, guard included; nothing where from_ns == to_ns. */
typedef struct prem_held {
  int64_t from_ns, to_ns;
} prem_held;

struct prem_repair {
  const prem_planning *planning;
  const prem_schedule *schedule;
  const prem_slot *slots;
  int64_t slot_count;
  const bool *changed;
  int64_t guard_ns;
  int64_t *first_tile, *first_job; /* [task + 1] */
  prem_kept_group *groups;
  int64_t group_count;
  int32_t *order;                        /* of groups: as they are reserved */
  int32_t (*place_of)[PREM_PHASE_COUNT]; /* [first tile of a round]: group of each phase, or -1 */
  prem_held (*held)[2];                  /* [first tile of a round]: of output, of input */
  bool *yields;                          /* [job] */
  int64_t *until_ns; /* [job]: when those that follow it want to begin, guard or lag before */
  int64_t *late;     /* jobs */
  int64_t late_count;
  bool parted;
  prem_placer *placer;
};

static inline const prem_task *prem_kept_group_task(const prem_repair *k,
                                                    const prem_kept_group *b) {
  return &k->schedule->tasks[b->task];
}

/** The index of a tile among all. */
static inline int64_t prem_repair_tile(const prem_repair *k, int32_t task, int32_t job,
                                       int32_t tile) {
  return k->first_tile[task] + (int64_t)job * k->schedule->tasks[task].tile_count + tile;
}

/* ---- kept_groups.c -------------------------------------------------------------------------- */

/** Tie the slots into groups. */
prem_status prem_repair_gather(prem_repair *k);
/** The round of a group's first phase, that phase at its start. */
prem_round prem_kept_group_round(const prem_repair *k, const prem_kept_group *b);
/** Does a joined pair begin here? */
bool prem_slot_begins_pair(const prem_slot *slot, const prem_slot *end);
/** The slot of one of the round's phases in a group of several; NULL: it is one phase. */
const prem_slot *prem_kept_group_slot(const prem_repair *k, const prem_kept_group *b,
                                      const prem_round *r, int phase);

/* ---- capacity.c ---------------------------------------------------------------------------- */

/** Are its units and resources free? */
bool prem_kept_group_fits(const prem_repair *k, const prem_kept_group *b);
/** Take them, or give them back with a `sign` of -1. */
prem_status prem_kept_group_use(const prem_repair *k, const prem_kept_group *b, int32_t sign);
/** The same for one kind of buffer of `count` tiles. */
prem_status prem_repair_use_buffer(const prem_repair *k, const prem_task *task, int32_t tile,
                                   int32_t count, int input, prem_held what, int32_t sign);
/** Hold the round's buffers for one more of its phases; false: they are taken. */
bool prem_repair_hold(prem_repair *k, const prem_round *r, prem_phase phase, int64_t from_ns,
                      int64_t to_ns, prem_status *status);
/** Give back what the round holds of buffers. */
prem_status prem_repair_give_back(prem_repair *k, const prem_round *r);
