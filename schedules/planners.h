/** Inside the generator: what the planners get, and what they share. */
#ifndef TTPREM_PLANNERS_H
#define TTPREM_PLANNERS_H

#include "ttprem/planner.h"

/** Products and sums of times before it is known that they are times. */
__extension__ typedef __int128 prem_wide;

/** What a planner works on: judged, bound, every task with its WCETs. */
typedef struct prem_planning {
  const prem_schedule *schedule;
  int64_t grid_ns; /* every start and step is a multiple of it */
  prem_diag *diag;
  const char *policy; /* its name */
} prem_planning;

/** The four schedules of the thesis. The plan comes empty; a failure leaves it half filled. */
prem_status prem_plan_closed_form(const prem_planning *planning, prem_plan *plan);
bool prem_is_closed_form(const char *policy);

/** Any set of tasks: each phase in turn at the earliest instant that every rule allows. */
prem_status prem_plan_constructive(const prem_planning *planning, prem_plan *plan);

/** Is there enough of everything, whatever the order? If not, say of what (E043). Times that cannot
 *  be added up are refused as well (E018). */
bool prem_planning_supplied(const prem_planning *planning);

/** First tiles of each block of a task that run without a release. */
int32_t prem_planning_warmup(const prem_planning *planning, const prem_task *task);
/** Tiles of a job on the block at `position` of the task's list. */
int64_t prem_planning_tiles_on(const prem_task *task, int32_t position);
/** Is a time within the range of times? If not, say so (E018). */
bool prem_planning_in_range(const prem_planning *planning, prem_wide at_ns);
/** Round up to the grid: unchanged where it lies on it, else with a note; with `align = "exact"` an
 *  error (E022) and false. */
bool prem_planning_align(const prem_planning *planning, const char *key, int64_t *value_ns);

#endif
