/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fitting: a schedule's times are measured, it is planned and judged, and the plan is measured, by
 * turns until it settles. What `ttprem fit` does, without its files.
 */
#ifndef TTPREM_FIT_H
#define TTPREM_FIT_H

#include "ttprem/planner.h"
#include "ttprem/profile.h"

#define PREM_FIT_PROFILE "fit" /* the entry of `profiles` that the schedule has its times from */

typedef struct prem_fit_options {
  const char *objective; /* of the plans, as in the file's `policy`; NULL: the file's */
  double late;           /* part of the releases that may be late in a plan that has settled */
  bool keeps_late;     /* a plan that keeps `late` is better than any that does not, however long */
  double margin;       /* room above the longest times, as a part of them; < 0: it is chosen */
  double time_limit_s; /* of all of it, above 0; what is under way then comes to its end, and a
                          first plan is made, and run where that takes the limit once more at
                          most */
  bool quick;          /* measure the times once and make the first plan, no more */
  uint64_t seed;       /* of random orders and searches */
  prem_engine engine;
  const volatile sig_atomic_t *stop; /* not 0 ends it with the best plan so far; may be NULL */
  /** What is being done, as a part of the time limit; may be NULL. */
  void (*progress)(void *context, double part, const char *what);
  /** A sentence when something is done; may be NULL. */
  void (*tell)(void *context, const char *sentence);
  void *context;
} prem_fit_options;

/** Where a plan's times come from. */
typedef enum prem_fit_times {
  PREM_FIT_FILE,    /* the schedule itself: on sim there is nothing to measure */
  PREM_FIT_COMPANY, /* all tasks, each as fast as it can */
  PREM_FIT_ALONE,   /* each task alone: by those of company there was no plan */
  PREM_FIT_ANEW,    /* the plan before */
  PREM_FIT_RAISED,  /* the plan before, where they are longer than those that it was made with, of
                       phases that were late */
  PREM_FIT_LOWERED, /* the best plan so far, the raised times as well */
  PREM_FIT_TIMES_COUNT
} prem_fit_times;

/** A plan that the checker has accepted, and what was measured of it. */
typedef struct prem_fit_turn {
  prem_fit_times times;
  double margin;
  prem_plan_report report; /* of the search */
  int64_t hyperperiod_ns;  /* planned; of one-shot sets the makespan */
  int64_t open_ns;         /* of it, for best-effort tasks; 0: there are none */
  bool is_measured;        /* false: time was up, or it was interrupted; all below is 0 then */
  prem_summary makespan_ns;
  int64_t releases, late, lateness_max_ns; /* INT64_MIN without a release */
  int32_t raised; /* so many times were longer than those that it was made with; -1: not counted */
  double measured_s;
} prem_fit_turn;

/** One way to lay out what the file leaves open. */
typedef struct prem_fit_layout {
  prem_layout layout;
  int64_t makespan_ns; /* the shortest of a few runs in mode free; 0: not possible, or not tried */
  int64_t planned_ns; /* hyperperiod of a first plan by the times of these runs; 0: there is none */
} prem_fit_layout;

enum { PREM_FIT_LAYOUTS = 8 };

typedef struct prem_fit {
  prem_fit_layout layouts[PREM_FIT_LAYOUTS]; /* [layout_count] */
  int32_t layout_count;                      /* 0: nothing is open */
  int32_t layout;                            /* the one that the schedule has */
  prem_fit_turn *turns;                      /* [count] */
  int32_t count;
  int32_t best;            /* the turn whose plan the schedule has */
  bool is_settled;         /* its plan keeps `late`, or no time was longer than its windows */
  bool interrupted;        /* the stop flag was seen */
  const char *why;         /* it ended: half a sentence */
  prem_profile *profile;   /* the times of that plan; NULL: the schedule's own */
  prem_result *comparison; /* tt beside free and, where the kernels have them, ordinary kernels;
                              NULL: there was no time for it, or nothing was asked for but a plan */
  double seconds;
  prem_findings *findings; /* tables of all this */
} prem_fit;

PREM_EXTERN_C_BEGIN

/**
 * Fit a schedule to a machine. On backend sim the times are the schedule's and stay; elsewhere all
 * of them are measured, whatever it says.
 *
 * First ways to lay out what the file leaves open are tried in mode free, each with a first plan:
 * the one is taken of which both are short, by their product.
 * Then all tasks run together, which is the worst company, and a plan is made by these times. Then
 * that plan is measured: by its times the next one is made, and from then on times only get longer,
 * those of phases of which more than `late` are late, until nothing does and no margin helps, or
 * few enough releases are late, or the next plan would be too long, were none. Where one rare time
 * makes it that, windows bound 99.9 or 99 % of the times. Then times get shorter again, where that
 * helps. The best plan is the shortest: by its hyperperiod, or by the median of its runs where that
 * is more, and ten times as many late releases as `late` count as 20 % more length, a hundred times
 * as 44 %. Of equal ones it is the one that leaves best effort most time, then the one with most
 * slack. Where the machine disturbs all runs a quantile of all times counts instead of the longest,
 * and nothing is raised.
 *
 * @param schedule  bound; has times, plan and profile of the best plan afterwards, judged by the
 *                  checker. After an error it is good for prem_schedule_free() only.
 * @param machine   the backend's.
 * @param[out] out  also with PREM_ERR_INTERRUPTED where there was a plan; free with
 *                  prem_fit_free(). NULL on any other error.
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen
 * @retval PREM_ERR_INFEASIBLE   there is no plan by the times that were measured
 * @retval PREM_ERR_WRONG        an output differs from its reference
 * @retval PREM_ERR_INVALID      on sim: a task has no times
 */
PREM_API prem_status prem_fit_schedule(prem_schedule *schedule, const prem_backend *backend,
                                       const prem_machine *machine, const prem_fit_options *options,
                                       prem_fit **out, prem_diag *diag);
PREM_API void prem_fit_free(prem_fit *fit);
/** "file", "company", "alone", "anew", "raised", "lowered". */
PREM_API const char *prem_fit_times_name(prem_fit_times times);

PREM_EXTERN_C_END
#endif
