/* SPDX-License-Identifier: Apache-2.0 */
/** Inside the generator: what the planners get, and what they share. */
#pragma once

#include "ttprem/planner.h"

#include "prem/base/numbers.h"

/** The checker's voice: prem_check(). */
typedef prem_status prem_judge(const prem_schedule *schedule, const prem_machine *machine,
                               prem_diag *diag);

/** What a planner works on: judged, bound, every task with its WCETs. */
typedef struct prem_planning {
  const prem_schedule *schedule;
  int64_t grid_ns;   /* every start and step is a multiple of it */
  int64_t warmup_ns; /* nothing starts before */
  prem_diag *diag;
  const char *policy;                /* its name */
  const volatile sig_atomic_t *stop; /* of the options; NULL: never */
  int64_t machine_precedence_ns;     /* of the machine that the plan is for; the schedule may say
                                      * more */
  prem_judge *judge;
  const struct prem_search_limits *limits; /* who wants to know how long it takes; NULL: nobody */
  bool ends_within; /* so long before the hyperperiod's end all is over that any plan may follow */
} prem_planning;

/** When a job may run. */
typedef struct prem_job_window {
  int64_t earliest_ns;
  int64_t due_ns;        /* it must have ended; PREM_MAX_NS less the guard where nothing is said */
  int64_t target_ns;     /* its slack counts from here: due_ns, or the period's end if earlier */
  int64_t last_start_ns; /* the last instant of its period */
} prem_job_window;

/** A phase of the tiles `tile` to `tile + count - 1` of a job, which start together. */
typedef struct prem_placement {
  int64_t start_ns;
  int32_t task, job, tile, count;
  prem_phase phase;
} prem_placement;

/** A plan before it is written down: the phases of a tile stand together, tiles job by job. */
typedef struct prem_draft {
  prem_placement *placements;
  int64_t count;
  prem_slot *slots; /* chains and joined pairs that an older plan had; NULL: none */
  int64_t slot_count;
  int64_t hyperperiod_ns;
  bool complete; /* everything is placed, be it too late */
} prem_draft;

/** The buffer that a tile holds from the start of one of its phases to the end of another. */
typedef struct prem_holding {
  bool exists;
  prem_phase first, last;
} prem_holding;

/** How long, and from what on, a search may work. */
typedef struct prem_search_limits {
  const prem_plan_options *options;
  int64_t lower_bound_ns; /* of the makespan; 0: none known */
  double began_s;
  int64_t all_ns;     /* the time limit, less what is needed to write the plan down */
  int64_t until_ns;   /* it ends so long after began_s */
  int64_t give_up_ns; /* it ends then already if it has no plan that breaks no rule */
  uint64_t seed;
  bool tells; /* a report is wanted: bounds as well where nothing is searched */
} prem_search_limits;

/** Write a draft down. */
prem_status prem_planning_compress(const prem_planning *planning, const prem_draft *draft,
                                   prem_plan *plan);

/** Is there enough of everything, whatever the order? If not, say of what (E043). Times that cannot
 *  be added up are refused as well (E018). */
bool prem_planning_supplied(const prem_planning *planning);

/** First tiles of each block of a task that run without a release. */
int32_t prem_planning_warmup(const prem_planning *planning, const prem_task *task);
/** Tiles of a job on the block at `position` of the task's list. */
int64_t prem_planning_tiles_on(const prem_task *task, int32_t position);
/** The smallest slack of the jobs that are due; PREM_MAX_NS where none is. */
int64_t prem_planning_slack(const prem_planning *planning, const prem_draft *draft);
/** Phases of a task end no later, so that nothing reaches into the next hyperperiod; one-shot sets:
 *  PREM_MAX_NS less the guard. */
int64_t prem_planning_wrap_ns(const prem_planning *planning, const prem_task *task);
/** So long behind a phase of a task any plan may follow: its block is ready, and all have been
 * told.
 */
int64_t prem_planning_rest_ns(const prem_planning *planning, const prem_task *task);
/** When job `number` of a task may run. */
prem_job_window prem_planning_window(const prem_planning *planning, const prem_task *task,
                                     int32_t number);
/** The job of `after` that job `number` of a task follows; -1: the last one of the hyperperiod
 *  before. */
int64_t prem_planning_predecessor(const prem_planning *planning, const prem_task *task,
                                  const prem_after *after, int32_t number);
/** The larger of what the schedule and the machine say. */
int64_t prem_planning_precedence_ns(const prem_planning *planning);
/** From the end of a job to the first phase of one that comes after it, at least: the lag, the
 *  guard, or what telling it takes. */
int64_t prem_planning_gap_ns(const prem_planning *planning, const prem_after *after);
/** What a tile holds of its block's input buffers (with one buffer: of the block), or of its output
 *  buffers. */
prem_holding prem_planning_holding(const prem_planning *planning, const prem_task *task,
                                   bool input);
/** Is a time within the range of times? If not, say so (E018). */
bool prem_planning_in_range(const prem_planning *planning, prem_wide at_ns);
/** Round up to the grid: unchanged where it lies on it, else with a note; with `align = "exact"` an
 *  error (E022) and false. */
bool prem_planning_align(const prem_planning *planning, const char *key, int64_t *value_ns);
