/* SPDX-License-Identifier: Apache-2.0 */
/** The planners (schedules/planner/). */
#ifndef TTPREM_PLANNER_H
#define TTPREM_PLANNER_H

#include <signal.h>

#include "ttprem/schedule.h"

/** How planning stands. */
typedef struct prem_plan_progress {
  double seconds;
  double first_s;   /* above 0: the first plan takes longer than the time limit, or without a search
                     * than a second, about so long in all; nothing is known of the search then, and
                     * none follows */
  int64_t steps;    /* schedules made so far */
  bool feasible;    /* the best one breaks no rule */
  int64_t value_ns; /* its makespan, or with `slack` its smallest slack */
  int64_t lower_bound_ns; /* of the makespan; 0: none known */
  bool slack;
} prem_plan_progress;

/** All zeros: the policy of the file, no search. */
typedef struct prem_plan_options {
  const char *policy;                /* NULL: the file's */
  int64_t time_limit_ns;             /* of all that follows the first, constructive plan, counted
                                      * from the start of planning; 0: the first plan only */
  int64_t step_limit;                /* schedules that the search makes; 0: no limit */
  uint64_t seed;                     /* equal seeds and step limits give equal plans */
  const volatile sig_atomic_t *stop; /* planning ends within a second when it is not 0; NULL:
 never */
  const prem_schedule
      *keep; /* bound, with a plan of which as much as possible is to stay, be it
                legal or not; tasks are the same where their names are. NULL: none */
  /** Called now and then, by the thread that plans; may be NULL. */
  void (*progress)(void *context, const prem_plan_progress *progress);
  void *progress_context;
} prem_plan_options;

typedef enum prem_plan_verdict {
  PREM_PLAN_FEASIBLE,
  PREM_PLAN_INFEASIBLE, /* proven */
  PREM_PLAN_UNKNOWN     /* no plan was found */
} prem_plan_verdict;

/** What is known about a plan that was made, or that was not. */
typedef struct prem_plan_report {
  prem_plan_verdict verdict;
  bool optimal;        /* proven: no plan has a better makespan, or smallest slack */
  bool periodic;       /* the set has periods: no makespan, lower bound and gap */
  int64_t makespan_ns; /* of one-shot sets */
  int64_t hyperperiod_ns;
  int64_t lower_bound_ns; /* of the makespan; 0: none known */
  double gap_pct;         /* of the makespan above lower_bound_ns */
  bool due;               /* there are deadlines or periods */
  int64_t min_slack_ns;   /* over jobs: from the end to the deadline, publication or period's end */
  int64_t phases;
  int64_t steps; /* schedules that the search made */
  double seconds;
  int64_t peak_bytes; /* of the process, so far */
  uint64_t seed;
  const char *unsearched; /* why the search of policy auto could not run; NULL: it did, or was not
                           * asked for */
  char method[PREM_NAME_BYTES]; /* what made the plan: "constructive", "search", "keep", a policy */
  bool keeps;                   /* there was a plan to keep, and one was made: */
  int64_t kept, moved, added;   /* phases of the plan: where they were, elsewhere, not in the old */
  int64_t removed;              /* phases of the old plan that the set does not have */
} prem_plan_report;

/** A planning policy, for `ttprem list`. */
typedef struct prem_policy_info {
  const char *name;
  const char *summary;
} prem_policy_info;

PREM_EXTERN_C_BEGIN

/**
 * Make a plan. With a time limit the policy `auto` goes on from the constructive plan and searches
 * a better one: feasibility first (least maximum lateness), then the shortest makespan or, with
 * the objective "slack", the largest minimum slack. It ends when nothing can be better, and keeps
 * the best plan when it is stopped. The time limit is one of planning as a whole: bounds, search,
 * proofs and pipelines end by it. The first plan, without which there is none, is made whatever it
 * takes. Offsets and starts are rounded up to `clock_step_ns` of the
 * machine or the platform, whichever is coarser; each rounding is a note in `diag`.
 *
 * With a plan to keep, as few of its phases as possible are moved: the plan is not searched on, and
 * the time limit is one for giving places back to phases that had to yield. Where no plan can be
 * found that way, it is made as if there were none to keep.
 *
 * @param      schedule  bound; not changed.
 * @param      machine   NULL: the platform.
 * @param      options   NULL: defaults.
 * @param[out] out       new plan, or NULL; free with prem_plan_free().
 * @retval PREM_ERR_INVALID     no WCETs ("no profile: run `ttprem fit`"), tasks that the
 *                              policy cannot serve, an unknown policy
 * @retval PREM_ERR_INFEASIBLE  no plan found; diag says which task, which deadline or resource
 * @retval PREM_ERR_INTERRUPTED the stop flag was seen before there was any plan; a search that it
 *                              ends gives the best plan found
 */
PREM_API prem_status prem_plan_make(const prem_schedule *schedule, const prem_machine *machine,
                                    const prem_plan_options *options, prem_plan **out,
                                    prem_diag *diag);
/** As prem_plan_make(), and says what is known about the plan. The report is filled on every
 *  status. */
PREM_API prem_status prem_plan_make_reported(const prem_schedule *schedule,
                                             const prem_machine *machine,
                                             const prem_plan_options *options, prem_plan **out,
                                             prem_plan_report *report, prem_diag *diag);
/** "feasible", "infeasible", "unknown". */
PREM_API const char *prem_plan_verdict_name(prem_plan_verdict verdict);
/** The policies, ended by an entry whose name is NULL. */
PREM_API const prem_policy_info *prem_policy_list(void);

PREM_EXTERN_C_END
#endif
