/* SPDX-License-Identifier: Apache-2.0 */
/** The simulator's own structures: a machine that exists only as numbers. */
#pragma once

#include "runtime/core/backend.h"
#include "runtime/core/recorder.h"
#include "runtime/sim/clock.h"

/** What a phase takes of one resource. */
typedef struct sim_demand {
  int32_t resource, amount;
} sim_demand;

/** How phases use the machine: one for every phase of every task, and one for every pair of tasks
 *  that have joined phases. Resources that can never run short are left out of the demand. */
typedef struct sim_use {
  int64_t wcet_ns, busy_ns;
  const sim_demand *demand;
  int32_t demand_count;
  int32_t group; /* of the uses that share the same resources; -1: none that can run short */
  int32_t task;
  int32_t next_of_task; /* -1: the last */
  int32_t writer;       /* joined: the writeback's task; -1: not joined */
  int32_t active;       /* how many are going on */
} sim_use;

/** A phase that is going on, in its group's own time. */
typedef struct sim_running {
  uint64_t finish;
  int32_t unit;
} sim_running;

/**
 * Uses of the same resources are slowed down alike. Their work is measured on a clock of their own,
 * which runs at capacity / demand of the shortest resource, so that a change of pace moves one
 * clock and not every phase. Its unit is 2^-fraction_bits ns.
 */
typedef struct sim_group {
  uint32_t resources;       /* one bit each */
  int64_t capacity, demand; /* of the resource that sets the pace; full pace: 1, 1 */
  uint64_t time;            /* at real time at_ns */
  int64_t at_ns;
  sim_running *running; /* ring, ordered by finish */
  uint32_t first, count, mask;
} sim_group;

typedef struct sim_share {
  const prem_program *program;
  int32_t resource_count;
  int64_t capacity[PREM_MAX_RESOURCES];
  bool per_task[PREM_MAX_RESOURCES];
  int64_t total[PREM_MAX_RESOURCES];  /* demand of what is going on, */
  int64_t beside[PREM_MAX_RESOURCES]; /* and of best-effort tasks */
  int32_t *gang;                      /* [task][resource]: what its blocks take together */
  sim_use *uses;                      /* [task * 3 + phase], then the joined ones */
  int32_t use_count;
  int32_t *first_use; /* of a task */
  sim_demand *demands;
  sim_group *groups;
  int32_t group_count;
  int fraction_bits;
  /* mode lock: who waits for tokens, in the order of asking */
  int32_t *queue;
  uint32_t queue_first, queue_count, queue_mask;
} sim_share;

/** The uses of a program. With `company` no resource is left out, since others take of them as
 * well. By each of its plans, `use_of[plan * block_count + b]` gets the use of each memory record
 * of block b. */
prem_status sim_share_new(const prem_program *program, bool company, int32_t **use_of,
                          sim_share *out);
void sim_share_free(sim_share *share);
/** Nothing is going on any more. */
void sim_share_reset(sim_share *share);

/** A phase with a group begins; its group, and all whose pace changes, get new events. */
void sim_share_begin(sim_share *share, sim_clock *clock, int32_t use, int32_t unit, int64_t now_ns);
/** The event of a group: its first phase has done its work. Returns the unit. */
int32_t sim_share_finish(sim_share *share, sim_clock *clock, int32_t group, int64_t now_ns);
/** And gives back what it took, once its use is known. */
void sim_share_end(sim_share *share, sim_clock *clock, int32_t use, int64_t now_ns);

/** Of best-effort tasks, which slow others down, but whose bounds hold in all company: one more, or
 *  one less, of this use goes on. The shares of others are told what they take together. */
void sim_share_count(sim_share *share, int32_t use, int sign);
void sim_share_tell(sim_share *share, sim_clock *clock, const sim_share *beside, int64_t now_ns);

/** Mode lock: take the tokens now (true), or stand in the queue. */
bool sim_lock_take(sim_share *share, int32_t use, int32_t unit);
void sim_lock_give(sim_share *share, int32_t use);
/** The unit that stands first, -1: none. */
int32_t sim_lock_first(const sim_share *share);
/** Serve it if its tokens are there now. */
bool sim_lock_serve(sim_share *share, int32_t use);
