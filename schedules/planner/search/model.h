/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside the search: a set of tasks as activities, and schedules made of them.
 *
 * An activity is one phase of the tiles that start together. Time is counted in steps of the clock
 * grid: since every start lies on the grid, a length can be rounded up to it without loss. Units
 * and resources are *renewables* with a capacity; what a tile holds from one of its phases to
 * another (its buffer, and with one buffer its block) is a buffer of a *pool*; all else are arcs
 * from start to start. The same model read backwards in time schedules from the end.
 */
#pragma once

#include "schedules/planner/common/planning.h"

/** start(to) is at least start(from) + gap. */
typedef struct prem_arc {
  int64_t gap;
  int32_t to;
} prem_arc;

/** `demand` of a renewable in [start, start + length). */
typedef struct prem_use {
  int64_t length;
  int32_t renewable, demand;
  int32_t owner;  /* the uses of one owner count once, with the largest demand; -1: it has none */
  bool exclusive; /* no other one that is exclusive overlaps it but as a rival */
} prem_use;

typedef struct prem_activity {
  int64_t length;  /* until what follows in its tile can start */
  int64_t tail_ns; /* start + tail_ns counts for the value (see prem_cost); PREM_NO_TAIL: not */
  int64_t latest;  /* a later start breaks a rule; PREM_MAX_NS: none does */
  int32_t first_use, use_count;
} prem_activity;

#define PREM_NO_TAIL INT64_MIN

/** What one direction of time looks like. Lists of an activity a are [first[a], first[a + 1]). */
typedef struct prem_side {
  int32_t *first_arc, *arc_count; /* arc_count: of arcs that end here */
  prem_arc *arcs;
  int32_t *first_pool, *pools; /* of which it takes a buffer */
} prem_side;

/** Between the last job of a hyperperiod and the first of the next one. */
typedef struct prem_wrap {
  int32_t from, to; /* from: -1 for the end of the warm-up */
  int64_t gap_ns;
} prem_wrap;

enum { PREM_FORWARD, PREM_BACKWARD };

typedef struct prem_model {
  int64_t grid_ns;
  int64_t horizon_ns; /* 0: as long as it takes */
  int32_t count;      /* of activities */
  prem_activity *activities;
  int64_t *release;
  prem_use *uses;
  int32_t renewable_count, *renewable_capacity;
  int32_t owner_count;           /* tasks times resources that are counted per task */
  int32_t *first_user, *users;   /* of each renewable */
  int32_t *first_giver, *givers; /* of each pool: who gives a buffer back */
  int32_t pool_count, buffers;   /* of each pool */
  prem_side side[2];
  prem_wrap *wraps;
  int32_t wrap_count;
  int32_t *placement;  /* of the draft; -1: no phase, the end of a job */
  bool makespan;       /* the value is the end of the plan, else the largest lateness */
  const char *refusal; /* of what could not be built; NULL: there is nothing to search */
} prem_model;

/** What is to be small: first how far rules are broken (steps), then the plan's end, or the largest
 *  lateness (minus the smallest slack), in ns. */
typedef struct prem_cost {
  int64_t violation, value_ns;
} prem_cost;

/** PREM_ERR_UNAVAILABLE: it cannot be searched, and `refusal` says why. */
prem_status prem_model_build(const prem_planning *planning, const prem_draft *draft,
                             prem_model *out);
void prem_model_free(prem_model *model);
prem_cost prem_model_cost(const prem_model *model, const int64_t *start);
bool prem_cost_less(prem_cost a, prem_cost b);
/** For each activity the earliest start (head, in steps) that arcs and releases allow, and what
 *  value its start leads to at least: start + tail_ns; PREM_NO_TAIL where to none. */
prem_status prem_model_chains(const prem_model *model, int64_t *head, int64_t *tail_ns);
/** A value that no schedule is below: the longest chain, and what renewables and pools are asked
 * for. */
prem_status prem_model_bound(const prem_model *model, const int64_t *head, const int64_t *tail_ns,
                             int64_t *bound_ns);
