/* SPDX-License-Identifier: Apache-2.0 */
/** Profiling: what the phases of a schedule's tasks take on a machine, alone and with co-runners.
 */
#ifndef TTPREM_PROFILE_H
#define TTPREM_PROFILE_H

#include "ttprem/findings.h"
#include "ttprem/measure.h"

/** An extreme-value estimate, or why there is none. docs/timing-method.md says how. */
typedef struct prem_pwcet {
  bool known;
  int64_t estimate_ns; /* the longest time of a run is above it with `probability` */
  double probability;
  int64_t runs;
  int64_t threshold_ns, excesses;   /* so many runs have a longest time above the threshold */
  double mean_excess_ns, variation; /* of the excesses: mean, standard deviation / mean */
  char reason[192];                 /* why there is no estimate; "" when known */
} prem_pwcet;

/**
 * Beside whom the phases of a profile are measured: alone by the file's resources (lock), with
 * neighbours, each task as fast as it can (free), planned by the file's plan (tt). Planned ones
 * only when they are asked for, stressors never. Critical tasks have no best-effort ones as
 * neighbours; these have all tasks, no gate holds them back, and they are never measured alone.
 */
#define PREM_PROFILE_CONDITIONS                                                                    \
  { PREM_ISOLATED, PREM_CORUNNING, PREM_PLANNED }
enum { PREM_PROFILE_CONDITION_COUNT = 3 };

#define PREM_PROFILE_CONFIDENCE 0.95 /* one-sided, of the bounds of quantiles */

typedef struct prem_profile_phase {
  prem_summary steady_ns[PREM_CONDITION_COUNT];
  prem_summary cold_ns[PREM_CONDITION_COUNT]; /* warm-up, and each block's first tile */
  prem_pwcet pwcet[PREM_CONDITION_COUNT];
  int64_t wcet_ns;                 /* for the profile; 0: not measured */
  int64_t longest_ns;              /* of all times that count for it, disturbed runs included */
  int64_t busy_ns;                 /* 0: as wcet_ns */
  prem_summary turnaround_seen_ns; /* from its end to the start of what waited for it */
  int64_t turnaround_ns; /* for the profile: what of that a window of wcet_ns has no room for */
  int64_t unit_turnaround_ns; /* of a compute: the same of what was seen until the next compute */
} prem_profile_phase;

typedef struct prem_profile_task {
  char name[PREM_NAME_BYTES];
  prem_profile_phase phase[PREM_PHASE_COUNT];
  int64_t joined_ns, joined_busy_ns; /* planned, of its joined phases; 0: none, or as joined_ns */
  prem_summary handover_ns; /* from the last end of the jobs that it waits for until its first phase
                               on a block is ready; of all tasks together */
} prem_profile_task;

typedef struct prem_profile {
  prem_profile_task *tasks; /* [task_count] */
  int32_t task_count;
  prem_machine machine; /* precedence_ns: what its own tasks' hand-overs took, if that is more */
  int64_t job_turnaround_ns; /* for the profile: from a job's last writeback on a block to the
                                first one of another job there, beyond the window; 0: none seen */
  int64_t job_prefetch_ns;   /* for the profile: from the start of a job's last prefetch on a block
                                to the first one of a job that waits for others; 0: none seen */
  prem_sampling sampling;    /* as it was */
  double quantile;           /* of which wcet_ns is an upper bound; 0: it is the longest time */
  bool quantile_short;       /* some phase has too few times for it: their longest is taken */
  int64_t disturbed_runs;    /* runs in which a core was taken away: their times are in longest_ns
                                alone */
  bool none_counted;         /* of no phase are there other times */
  bool all_disturbed;        /* of some phase there are no other times: they count for wcet_ns */
  bool best_effort;          /* some of the tasks are */
  bool by_plan;              /* of the runs by the plan alone */
  bool raises;               /* no time is below the schedule's */
  int32_t raised;            /* so many are above it then, turnarounds and hand-overs included */
  bool counts_cold;          /* no warm-up: first tiles count in wcet_ns */
  bool valid;                /* false: the machine was disturbed while measuring */
  char disturbed[512];       /* by what; "" when valid */
  prem_summary makespan_ns[PREM_CONDITION_COUNT]; /* of company, without best effort, and planned */
  int64_t releases, late, lateness_max_ns;        /* of planned ones; INT64_MIN without a release */
  bool output_ok, interrupted;
  prem_findings *findings; /* tables and histograms of all this */
} prem_profile;

typedef struct prem_profile_options {
  prem_sampling sampling; /* of each task alone and of all */
  prem_engine engine;
  prem_condition times; /* which of them the WCETs are; planned ones are measured for that */
  bool together;        /* no task is measured alone, which takes a turn for each: of company and
                           planned times alone */
  bool regulated;       /* busy_ns from bytes and the machine's bandwidth */
  bool steady;          /* the WCETs leave cold tiles out, warm-up or not */
  bool anew;            /* planned: only the plan is run. Its WCETs and hand-overs take the place of
                           the schedule's, shorter ones as well; turnarounds get no shorter, since a
                           plan that has room for them hides them */
  bool raise;           /* planned: the same, but no WCET and no hand-over gets shorter than the
                           schedule's, so that measuring and planning by turns comes to an end */
  bool raise_late; /* with `raise`: of critical tasks only windows get longer of which more than
                      `late`, a part of the phases, began or ended late */
  double late;
  bool usual;         /* what is rare does not count: of turnarounds and hand-overs, in company
                         and by a plan that is often late, the one that 90 % do not exceed; of
                         windows no time without a record. A plan by these may be late, so that
                         it takes several turns */
  bool mix_disturbed; /* disturbed jobs count like all others */
  bool shared;        /* where all_disturbed, and `quantile` is 0: the 0.95 quantile of all phases,
                         or the 0.90 one, where 0.95 has no longer time above its bound */
  double margin_pct;  /* room above that time */
  double quantile; /* wcet_ns bounds it, with PREM_PROFILE_CONFIDENCE; 1: it is the longest time; 0:
                      the longest, but on a disturbed machine the 0.999 or 0.99 quantile, whichever
                      all phases have the samples for */
  double probability;                /* of the estimates; 0: 1e-6 */
  const volatile sig_atomic_t *stop; /* not 0 ends it; may be NULL */
  /** Turns that are done; 0 as soon as the first one can begin; may be NULL. */
  void (*progress)(void *context, int64_t done, int64_t all);
  void *progress_context;
} prem_profile_options;

PREM_EXTERN_C_BEGIN

/**
 * Give a schedule whose times nobody knows yet a plan for prem_profile_measure(): the order of the
 * tiles is all that the modes lock and free take from it, so any times do to make one. All times
 * are 1 ns afterwards, and what best effort asks for is 0.
 *
 * @param stop  may be NULL.
 * @return as prem_plan_make() and prem_check()
 */
PREM_API prem_status prem_profile_order(prem_schedule *schedule, const prem_machine *machine,
                                        const volatile sig_atomic_t *stop, prem_diag *diag);

/**
 * Measure every task alone and all of them together, interleaved in rounds.
 *
 * @param schedule  bound, with a plan: only the order of its phases counts.
 * @param machine   the backend's, with what prem_backend_measure() adds if `regulated`.
 * @param[out] out  also when interrupted; free with prem_profile_free().
 * @retval PREM_ERR_ARGUMENT     no plan or no sample, or times alone with nobody alone
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen; those of prem_session_open() and
 *                               prem_session_run()
 */
PREM_API prem_status prem_profile_measure(const prem_schedule *schedule,
                                          const prem_backend *backend, const prem_machine *machine,
                                          const prem_profile_options *options, prem_profile **out,
                                          prem_diag *diag);
PREM_API void prem_profile_free(prem_profile *profile);
/**
 * Give the schedule the times of the profile, as if its file named it: the same plans, the same
 * hash.
 *
 * @param name    of the profile; all tasks take it.
 * @param joined  [task_count]: what the file says of joined phases, where the profile says nothing.
 * @retval PREM_ERR_MEMORY
 */
PREM_API prem_status prem_profile_apply(const prem_profile *profile, prem_schedule *schedule,
                                        const char *name, const prem_phase_spec *joined);
/** Write the profile as a file for `profiles`; "-" is stdout. @retval PREM_ERR_IO  see diag */
PREM_API prem_status prem_profile_write(const prem_profile *profile, const char *path,
                                        prem_diag *diag);

PREM_EXTERN_C_END
#endif
