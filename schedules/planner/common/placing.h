/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside the generator: units, buffers and resources with what is in use of them, and rounds of
 * tiles placed on them, each phase at the earliest instant that all of them allow.
 *
 * Every use is kept guard_ns longer, those of units and buffers the turnaround of their phase if
 * that is more.
 */
#pragma once

#include "schedules/planner/common/gang_timeline.h"
#include "schedules/planner/common/planning.h"
#include "schedules/planner/common/timeline.h"

/** What kept a job waiting, for the message when it is late. Resources follow. */
typedef enum prem_wait_cause {
  PREM_WAIT_MEMORY_UNIT,
  PREM_WAIT_COMPUTE_UNIT,
  PREM_WAIT_BUFFERS,
  PREM_WAIT_PREDECESSORS,
  PREM_WAIT_FIRST_RESOURCE,
  PREM_WAIT_COUNT = PREM_WAIT_FIRST_RESOURCE + PREM_MAX_RESOURCES
} prem_wait_cause;

/** A block's supplies. With one buffer `input` holds whole tiles and `output` is not used. */
typedef struct prem_block_timelines {
  prem_timeline memory, compute, input, output;
} prem_block_timelines;

typedef struct prem_placer {
  const prem_planning *planning;
  const prem_schedule *schedule;
  int64_t guard_ns;
  prem_block_timelines *blocks;
  prem_timeline *resources;
  prem_gang_timeline *gangs; /* [resource]: of those that are counted per task */
  double began_s;
  /* of the job in hand: */
  prem_wide waited_ns[PREM_WAIT_COUNT];   /* of sets that cannot be planned beyond all times */
  int64_t (*before_ns)[PREM_PHASE_COUNT]; /* [position]: where the tile before was placed */
} prem_placer;

/** Tiles that are placed together: the next ones on `count` blocks from `position` on. */
typedef struct prem_round {
  const prem_task *task;
  int32_t task_index, job;
  int32_t tile; /* the first one; the others follow */
  int32_t position, count;
  int64_t start_ns[PREM_PHASE_COUNT], length_ns[PREM_PHASE_COUNT];
} prem_round;

/** What a round must keep to. */
typedef struct prem_placing_limits {
  int64_t fixed_ns[PREM_PHASE_COUNT]; /* where a phase must start; -1: anywhere */
  bool chained[PREM_PHASE_COUNT];     /* fixed without a guard behind the one before */
  int64_t last_start_ns, due_ns;
} prem_placing_limits;

/** On PREM_ERR_MEMORY it is to be closed as well. */
prem_status prem_placer_open(prem_placer *placer, const prem_planning *planning);
void prem_placer_close(prem_placer *placer);
/** Is planning stopped, and was it long ago that placing began? What takes no half second is done,
 * so that somebody who stops a search has a plan. */
bool prem_placer_gives_up(const prem_placer *placer);
/** The next rounds are another job's. */
void prem_placer_begin_job(prem_placer *placer, const prem_task *task);
/** The round of tile `tile`, of one tile or as many as the task has blocks; its starts are 0. */
prem_round prem_round_of(const prem_schedule *schedule, int32_t task, int32_t job, int32_t tile,
                         int32_t count);
/** Does a job of this task go round by round, or tile by tile? */
bool prem_placer_by_rounds(const prem_placer *placer, const prem_task *task);

/**
 * Find the earliest starts from `from_ns` on.
 *
 * @param limits  NULL: none. Nothing but the buffers is looked up for what is fixed.
 * @return false: there are none within the limits, or within the range of times.
 */
bool prem_placer_find(prem_placer *placer, prem_round *round, int64_t from_ns,
                      const prem_placing_limits *limits);
/** The earliest instant from `from_ns` on at which a phase can start on all blocks of the round. */
int64_t prem_placer_earliest(prem_placer *placer, const prem_round *round, prem_phase phase,
                             int64_t from_ns);
/** Take what a phase needs of units and resources; sign -1: give it back. */
prem_status prem_placer_use_phase(prem_placer *placer, const prem_round *round, prem_phase phase,
                                  int32_t sign);
/** The same with buffers, from the first to the last phase of the round that holds them. */
prem_status prem_placer_use_buffers(prem_placer *placer, const prem_round *round, int32_t sign);
/** The earliest instant from `from_ns` on at which a phase of a task can have so much of a
 * resource; grid_ns 1: any instant. */
int64_t prem_placer_fit_resource(const prem_placer *placer, int32_t resource, int32_t task,
                                 int64_t from_ns, int64_t length_ns, int32_t demand,
                                 int64_t grid_ns);
/** Take so much of a resource for a phase of a task; sign -1: give it back. */
prem_status prem_placer_use_resource(const prem_placer *placer, int32_t resource, int32_t task,
                                     int64_t start_ns, int64_t end_ns, int32_t demand,
                                     int32_t sign);
/** The line of a block that a phase runs on. */
prem_timeline *prem_placer_unit(const prem_placer *placer, int32_t block, prem_phase phase);
