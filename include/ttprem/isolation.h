/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The isolation certificate: how far a task's response times and phases move when it gets
 * neighbours, and when its neighbours are stressors.
 */
#ifndef TTPREM_ISOLATION_H
#define TTPREM_ISOLATION_H

#include "ttprem/findings.h"
#include "ttprem/measure.h"

enum { PREM_ISOLATION_CONDITIONS = PREM_STRESSED + 1 }; /* alone, with neighbours, with stressors */

/** Quantiles at which distributions are kept: the least, every 5 %, 99 %, 99.9 %, the longest. */
enum { PREM_QUANTILES = 23 };

enum { PREM_ISOLATION_BINS = 64 };

#define PREM_STRESSOR_KERNEL "vector_increment"

/** Response times, counted: `count[i]` of them are not longer than ns[i] and longer than ns[i - 1].
 *  Exact where there are no more than 64 different ones, and always among the 16 longest. */
typedef struct prem_isolation_bins {
  int64_t ns[PREM_ISOLATION_BINS], count[PREM_ISOLATION_BINS];
  int32_t bin_count;
} prem_isolation_bins;

/** How far numbers of a response time lie from what they are alone, in ns; INT64_MIN: one of the
 * two is not known. */
typedef struct prem_isolation_move {
  int64_t p50_ns, p9999_ns, max_ns;
} prem_isolation_move;

typedef struct prem_isolation_task {
  char name[PREM_NAME_BYTES];
  prem_summary response_ns[PREM_ISOLATION_CONDITIONS];
  int64_t missed[PREM_ISOLATION_CONDITIONS]; /* deadlines; -1: there is none */
  prem_isolation_bins response_bins[PREM_ISOLATION_CONDITIONS];
  prem_summary phase_ns[PREM_PHASE_COUNT]
                       [PREM_ISOLATION_CONDITIONS]; /* warm-up and first tiles apart */
  int64_t quantile_ns[PREM_PHASE_COUNT][PREM_ISOLATION_CONDITIONS]
                     [PREM_QUANTILES]; /* of the same */
} prem_isolation_task;

/** What a sentinel saw of a mode in a condition, over all that ran. */
typedef struct prem_isolation_stalls {
  int64_t watched_ns; /* 0: there was none */
  int64_t count, longest_ns;
  int64_t hyperperiods; /* with a stalled job: in no response time */
  int64_t all_makespan_max_ns, undisturbed_makespan_max_ns; /* 0: there is none */
} prem_isolation_stalls;

/** All tasks in one mode. A mode without phases has response times, and nothing else. */
typedef struct prem_isolation_mode {
  prem_mode mode;
  prem_isolation_task *tasks; /* [task_count of the schedule] */
  prem_summary makespan_ns;   /* with its neighbours */
  /* of all tasks that ran in that condition, stressors included */
  int64_t releases[PREM_ISOLATION_CONDITIONS], late[PREM_ISOLATION_CONDITIONS],
      overruns[PREM_ISOLATION_CONDITIONS];
  int64_t lateness_max_ns[PREM_ISOLATION_CONDITIONS]; /* INT64_MIN without a release */
  prem_isolation_stalls stalls[PREM_ISOLATION_CONDITIONS];
  char left_out[PREM_ISOLATION_CONDITIONS]
               [256]; /* why some or all of it could not run; "": it ran */
} prem_isolation_mode;

/** How a stressor fills the windows of the task whose place it takes. */
typedef struct prem_stressor {
  bool replaced; /* false: it has no kernel, lacks a memory phase, or moves more than a stressor
                    in its place could: it stands for itself */
  int64_t bytes_per_tile,
      own_bytes_per_tile; /* read and written, by the stressor and the real task */
  double fill_pct;        /* longest phase of the stressor alone, of its window; the fullest of its
                             memory phases */
} prem_stressor;

typedef struct prem_isolation {
  prem_isolation_mode modes[PREM_MODE_COUNT];
  int32_t mode_count;
  prem_stressor *stressors;      /* [task_count] */
  char hostile[PREM_NAME_BYTES]; /* their kernel */
  int32_t task_count;
  int64_t clock_step_ns;
  prem_sampling sampling; /* as it was; launches 0: one for each sample */
  bool output_ok, oversubscribed, interrupted;
  bool repeats_itself; /* a simulator: what was not seen will not be */
  bool valid;          /* false: the machine was disturbed while measuring */
  char disturbed[512]; /* by what; "" when valid */
  int64_t lost;        /* phases whose raw records found no room: not in the phases' times */
} prem_isolation;

/** What runs with the critical tasks of a schedule that has best-effort ones. */
typedef enum prem_load_company {
  PREM_LOAD_ALONE,       /* nothing, in all modes but partition */
  PREM_LOAD_COLD,        /* nothing while a window is closed; caches as the load leaves them */
  PREM_LOAD_GATE,        /* the load, with its gate */
  PREM_LOAD_NO_GATE,     /* the load, in all modes but partition */
  PREM_LOAD_PARTITION,   /* the load on SMs of its own, in mode partition */
  PREM_LOAD_GATED_GRAPH, /* the load as a CUDA graph that begins where it ends in time */
  PREM_LOAD_OPEN_GRAPH,  /* the load as a CUDA graph */
  PREM_LOAD_COMPANIES
} prem_load_company;

typedef struct prem_isolate_options {
  prem_mode modes[PREM_MODE_COUNT]; /* any that has jobs: all but copy */
  int32_t mode_count;
  const char *hostile;    /* kernel of stressors, with f32 vectors `in` and `out`; NULL:
                             PREM_STRESSOR_KERNEL */
  prem_sampling sampling; /* of each condition and mode; resident: max_records of all launches, and
                             their number is chosen */
  uint32_t companies;     /* prem_isolate_load(): 1 << each that is measured; 0: all */
  prem_engine engine;
  bool sentinel; /* as in prem_compare_options; hyperperiods with a stalled job are left out */
  const volatile sig_atomic_t *stop;                          /* not 0 ends it; may be NULL */
  void (*progress)(void *context, int64_t done, int64_t all); /* may be NULL */
  void *progress_context;
} prem_isolate_options;

/** Critical tasks alone and beside best-effort ones, with the gate and without it. */
typedef struct prem_load_isolation {
  bool output_ok, interrupted;
  bool valid;          /* false: the machine was disturbed while measuring, or nothing counts */
  char disturbed[512]; /* by what; "" when valid */
  char nothing[160];   /* of what nothing counts, so that there is no answer; "": of none */
  prem_findings *findings;
} prem_load_isolation;

PREM_EXTERN_C_BEGIN

/**
 * Measure every task alone, with its neighbours and with stressors, all of it interleaved in
 * random order; resident in at most ten launches of each condition and mode, or one a round. In
 * modes without phases, all conditions launch a task in the way, and on the SMs, that were chosen
 * for it with its neighbours.
 *
 * @param schedule  bound, with a plan that prem_check() accepts; must outlive the call.
 * @param[out] out  also when interrupted, as far as it got, and when some of it was not possible;
 *                  free with prem_isolation_free().
 * @retval PREM_ERR_ARGUMENT     no plan, no mode, mode copy, or no sample; no kernel of that name,
 *                               or with other ports (diag)
 * @retval PREM_ERR_UNAVAILABLE  a mode, or a condition in it, is not possible: `left_out` and diag
 * say why; all others were measured
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen; those of prem_session_open() and
 *                               prem_session_run()
 */
PREM_API prem_status prem_isolate(const prem_schedule *schedule, const prem_backend *backend,
                                  const prem_isolate_options *options, prem_isolation **out,
                                  prem_diag *diag);
PREM_API void prem_isolation_free(prem_isolation *isolation);

/** In the condition minus alone. */
PREM_API prem_isolation_move prem_isolation_move_of(const prem_isolation_task *task,
                                                    prem_condition condition);
/** How far a response time moved from what it was alone: the largest of the distances of p50, of
 *  p99.99 where the samples carry it, and of the longest; -1 where it was not measured. */
PREM_API int64_t prem_isolation_moved_ns(const prem_isolation_task *task, prem_condition condition);
/** Number `index` of the quantiles, in thousandths: 0, 50, ... 950, 990, 999, 1000. */
PREM_API int64_t prem_quantile_per_mille(int32_t index);
/** "alone", "neighbours", "hostile". */
PREM_API const char *prem_condition_name(prem_condition condition);

/** Tables, charts and the certificate's sentence; NULL when there is no memory. Free with
 *  prem_findings_free(). */
PREM_API prem_findings *prem_isolation_findings(const prem_isolation *isolation,
                                                const prem_schedule *schedule);

/**
 * The same question of a schedule with best-effort tasks, which are the company: its critical tasks
 * run alone, beside the load with the plan's closed windows, and beside it without any, interleaved
 * in random order; once more beside a load that ends long before each window, for what it does to
 * the caches. The gate is there in mode tt alone. Mode partition is measured with several splits of
 * the SMs, or with the one that the file names.
 *
 * @param options   modes: tt, and any others but lock and copy. What is not possible of these is
 *                  left out, and the findings say why.
 * @param[out] out  also when interrupted; free with prem_load_isolation_free().
 * @retval PREM_ERR_ARGUMENT     no plan, no best-effort task, no sample, mode tt missing, or mode
 *                               lock or copy
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen; those of prem_session_open() and
 *                               prem_session_run()
 */
PREM_API prem_status prem_isolate_load(const prem_schedule *schedule, const prem_backend *backend,
                                       const prem_isolate_options *options,
                                       prem_load_isolation **out, prem_diag *diag);
PREM_API void prem_load_isolation_free(prem_load_isolation *isolation);

/** "alone", "cold", "gate", "no-gate", "partition", "gated-graph", "graph"; NULL: not a company. */
PREM_API const char *prem_load_company_name(prem_load_company company);

PREM_EXTERN_C_END
#endif
