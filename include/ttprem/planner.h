/** The offline generator and the independent checker (schedules/). */
#ifndef TTPREM_PLANNER_H
#define TTPREM_PLANNER_H

#include "ttprem/schedule.h"

typedef struct prem_plan_options {
  const char *policy; /* NULL: the file's */
} prem_plan_options;

/** A planning policy, for `ttprem list`. */
typedef struct prem_policy_info {
  const char *name;
  const char *summary;
} prem_policy_info;

PREM_EXTERN_C_BEGIN

/**
 * Make a plan. Offsets and starts are rounded up to `clock_step_ns` of the machine or the platform,
 * whichever is coarser; each rounding is a note in `diag`.
 *
 * @param      schedule  bound; not changed.
 * @param      machine   NULL: the platform.
 * @param      options   NULL: defaults.
 * @param[out] out       new plan, or NULL; free with prem_plan_free().
 * @retval PREM_ERR_INVALID     no WCETs ("no profile: run `ttprem profile`"), tasks that the
 *                              policy cannot serve, an unknown policy
 * @retval PREM_ERR_INFEASIBLE  no plan found; diag says which task, which deadline or resource
 */
PREM_API prem_status prem_plan_make(const prem_schedule *schedule, const prem_machine *machine,
                                    const prem_plan_options *options, prem_plan **out,
                                    prem_diag *diag);
/** The policies, ended by an entry whose name is NULL. */
PREM_API const prem_policy_info *prem_policy_list(void);

/**
 * Judge the schedule's plan: the second opinion. Shares no code with the planners. Reports every
 * problem (E016, E018, E021..E023, E028..E030, E032..E043, E045), errors only; broken tasks are
 * skipped.
 *
 * @param schedule  bound, with a plan. Without a plan only what needs none is judged.
 * @param machine   NULL: the platform.
 * @retval PREM_OK           no error was added
 * @retval PREM_ERR_INVALID  see diag
 */
PREM_API prem_status prem_check(const prem_schedule *schedule, const prem_machine *machine,
                                prem_diag *diag);

PREM_EXTERN_C_END
#endif
