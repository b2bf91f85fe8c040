/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Measuring: runs of several modes side by side, what they say, and how it is shown.
 *
 * Definitions of every number are in docs/timing-method.md.
 */
#ifndef TTPREM_MEASURE_H
#define TTPREM_MEASURE_H

#include <stdio.h>

#include "ttprem/runtime.h"
#include "ttprem/sampling.h"

/** Of a set of times. Percentiles are INT64_MIN where the sample does not carry them: p99 needs
 *  1000 samples, p99.9 10 000, p99.99 100 000. */
typedef struct prem_summary {
  int64_t count;
  int64_t min, p50, p99, p999, p9999, max;
  double mean;
} prem_summary;

/** Beside whom a task was measured. */
typedef enum prem_condition {
  PREM_ISOLATED,  /* itself and the tasks that it follows */
  PREM_CORUNNING, /* all tasks of the file */
  PREM_STRESSED, /* the others replaced by tasks that fill their windows, as far as buffers allow */
  PREM_PLANNED,  /* of a profile: all tasks of the file by its plan (tt), PREM_CORUNNING being free
                  */
  PREM_CONDITION_COUNT
} prem_condition;

/** Which rule the plan, in this mode, promises for `memory`. */
typedef enum prem_exclusivity {
  PREM_EXCLUSIVE_NONE,     /* phases may disturb each other, or the mode keeps no rule (free) */
  PREM_EXCLUSIVE_BLOCK,    /* one memory phase at a time, whichever block it runs on */
  PREM_EXCLUSIVE_GANG,     /* the memory phases of one task at a time */
  PREM_EXCLUSIVE_REGULATED /* busy_ns below wcet_ns */
} prem_exclusivity;

/** Why a phase began late, by its stamps. docs/timing-method.md says how they are told apart. */
typedef enum prem_cause {
  PREM_CAUSE_CLOCK,  /* released and ready, begun within two steps of the clock */
  PREM_CAUSE_COLD,   /* a block's first phase after a start, or behind a warm-up that took long */
  PREM_CAUSE_BUFFER, /* its buffer was still in use */
  PREM_CAUSE_DATA,   /* its tile's phase before it ended late */
  PREM_CAUSE_UNIT, /* another phase was still going on: the block moves, and computes, one by one */
  PREM_CAUSE_JOB,  /* a job that its own job follows, or must not overtake, ended late */
  PREM_CAUSE_HANDOVER, /* that job had ended in time; it took long until this one knew */
  PREM_CAUSE_EXECUTOR, /* released and ready, and begun late all the same */
  PREM_CAUSE_COUNT
} prem_cause;

/** The late phases of one phase of one task, and those that go back to it. */
typedef struct prem_late_causes {
  int64_t count[PREM_CAUSE_COUNT]; /* of its late ones; of those without raw records: none */
  int64_t blamed;   /* late phases of any task whose first cause is this one's window */
  int64_t widen_ns; /* so much longer a window and none of them would have waited; 0: none did */
} prem_late_causes;

/** With what a chain of waits begins, over all blocks and tasks. */
typedef enum prem_first_kind {
  PREM_FIRST_WINDOW,   /* a phase took longer than its window */
  PREM_FIRST_HANDOVER, /* from a job's last end to the task behind it took longer than planned */
  PREM_FIRST_EXECUTOR, /* nothing held a phase up, and it began late all the same */
  PREM_FIRST_CLOCK,    /* the same, within two steps of the clock */
  PREM_FIRST_COLD,     /* a block's first phase after a start, or behind a long warm-up */
  PREM_FIRST_LOST,     /* the chain leads to raw records that are lost: not known */
  PREM_FIRST_COUNT
} prem_first_kind;

/** A first cause, the late releases that go back to it, and where it was seen first. */
typedef struct prem_first_cause {
  prem_first_kind kind;
  int32_t task;            /* whose phase it is; of a hand-over, who waits */
  prem_phase phase;        /* of a hand-over and of lost ones: as where it was seen first */
  bool joined;             /* a prefetch under one window with a writeback */
  int32_t from;            /* of a hand-over, the task that ended; else -1 */
  int64_t late;            /* releases; each has one first cause */
  int64_t lateness_max_ns; /* the worst of them */
  int64_t widen_ns; /* so much longer a window, or a gap between the tasks, and none of them would
                       have waited; 0: neither is to blame */
  int64_t run;      /* where it was seen first: as in the trace's file */
  int32_t block, tile, job;
  int64_t start_ns; /* of the phase, from the run's start */
} prem_first_cause;

/** Largest count first. */
typedef struct prem_first_causes {
  prem_first_cause *causes; /* [count] */
  int64_t count;
} prem_first_causes;

/** Which time of the first half sets the instant of a padded output. */
typedef enum prem_padding_by {
  PREM_PADDING_P9999,
  PREM_PADDING_P99999,
  PREM_PADDING_LONGEST,
  PREM_PADDING_COUNT
} prem_padding_by;

/** One such instant: the time and one clock step more, rounded up to the clock's grid. */
typedef struct prem_padded {
  int64_t published_ns;             /* -1: the first half has too few times */
  int64_t missed, missed_disturbed; /* of the second half */
} prem_padded;

/**
 * Publishing by padding: the output counts at an instant that the undisturbed times of the first
 * half set, and the second half shows how often it was not there in time. Where disturbed jobs are
 * mixed in, none counts as disturbed here.
 */
typedef struct prem_padding {
  prem_padded at[PREM_PADDING_COUNT];
  int64_t trained, judged, judged_disturbed; /* times of the first half, of the second */
} prem_padding;

/** Jobs and their deadlines. A job that never ended missed its own. */
typedef struct prem_deadlines {
  int64_t jobs;   /* -1: not known; nothing was computed */
  int64_t missed; /* -1: not known, or there is no deadline */
} prem_deadlines;

/** Of a phase of a task over all counted runs: prem_phase_stats without its histogram, which the
 * row has of all phases. */
typedef struct prem_phase_counts {
  int64_t count;
  int64_t releases, late, overruns;
  int64_t lateness_max_ns;                                   /* INT64_MIN without a release */
  int64_t overrun_max_ns;                                    /* 0 without one */
  int64_t duration_min_ns, duration_max_ns, duration_sum_ns; /* min: INT64_MAX without a phase */
} prem_phase_counts;

typedef struct prem_task_result {
  char name[PREM_NAME_BYTES];
  int64_t period_ns, deadline_ns;  /* 0: none */
  prem_summary response_ns;        /* of undisturbed jobs (prem_disturbed), as are all below */
  prem_summary all_response_ns;    /* of all jobs that ended */
  prem_deadlines all, undisturbed; /* of all jobs; of those in response_ns */
  int64_t published_ns; /* worst instant from the release at which the output counts; -1: no
                           publish_ns */
  prem_padding padded;  /* of its response times */
  prem_phase_counts phase[PREM_PHASE_COUNT];
  int64_t wcet_ns[PREM_PHASE_COUNT]; /* 0: not known */
} prem_task_result;

/** Latency of a chain of the schedule's `measure` group, as docs/timing-method.md defines it. */
typedef struct prem_chain_result {
  char name[PREM_NAME_BYTES];
  prem_summary reaction_ns; /* to an event that the first task just missed; count 0: not known */
  prem_summary age_ns;      /* of the data in an output */
} prem_chain_result;

/** Raw records of one run, or hyperperiod of a resident launch, sorted. */
typedef struct prem_kept_run {
  prem_trace *trace; /* NULL, or without records: none */
  int64_t run;       /* as in the trace's file */
  int64_t epoch_ns;  /* where the hyperperiod of its first record began, from the run's start */
} prem_kept_run;

/** The release that ended a comparison (`break_ns`). */
typedef struct prem_break {
  bool found;
  prem_mode mode;
  int32_t task;
  prem_phase phase;
  int64_t lateness_ns;
  bool has_place; /* false: its raw record is lost, what follows is not known, and it is the latest
                     of its launch, not the first */
  int64_t run;    /* as in the trace's file; without a place that of its launch's beginning */
  int32_t block, job, tile;
  int64_t planned_ns;
} prem_break;

/** A counted sample in which a job was disturbed: the operating system took a core away, or the GPU
 * stood still. */
typedef struct prem_disturbed_sample {
  int64_t after;       /* so many samples counted before it, disturbed ones left out */
  int64_t makespan_ns; /* its own */
  int64_t away_ns;     /* the longest that a block was without its core, or the GPU stood still */
} prem_disturbed_sample;

/**
 * On cpu and, with a sentinel, on cuda: what is told apart, since it speaks of the machine's other
 * work. A job is disturbed if a core was taken away that it may have needed, or if a stall of the
 * GPU lies between its release and its end. Disturbed jobs, with their phases, and samples with
 * such a job are in none of a row's other numbers, but for those of all jobs, unless they are
 * `mixed` in.
 */
typedef struct prem_disturbed {
  bool watched;      /* somebody looked: cpu, and no more blocks than cores; or a sentinel */
  bool mixed;        /* counted among the others as well */
  bool counts_mixed; /* raw records were lost, so that releases, overruns and phases are of all */
  int64_t jobs;      /* disturbed ones */
  int64_t unwatched; /* jobs of which nobody knows, that count as undisturbed; 0 where nobody
                        looked */
  int64_t count, longest_away_ns, makespan_max_ns; /* of samples with a disturbed job */
  int64_t releases, late_releases, overruns;       /* of disturbed jobs */
  prem_disturbed_sample *samples;                  /* [count], in the order of execution */
} prem_disturbed;

/** A best-effort task over all counted runs. */
typedef struct prem_best_effort_result {
  char name[PREM_NAME_BYTES];
  prem_best_effort_counts counts;
  int64_t job_tiles;            /* that one of its jobs has */
  char into[PREM_NAME_BYTES];   /* the critical task whose window counts.longest is in */
  int64_t run;                  /* and the launch in which that was */
  bool serves;                  /* it has a server, whose errands are counts.errands */
  int64_t bound_ns;             /* of their responses: prem_errand_bound() */
  prem_summary response_ns;     /* of those that are done, from arrival to end; of each run's first
                                   PREM_ERRANDS_KEPT */
  struct prem_times *responses; /* what it is made from */
} prem_best_effort_result;

/** One mode of one schedule on one backend. In mode copy nothing is computed: no response times, no
 *  padding, no verdict. */
typedef struct prem_row {
  char label[PREM_NAME_BYTES];
  prem_mode mode;
  char mode_note[PREM_MODE_NOTE_BYTES]; /* how the mode was run; "": nothing to say */
  char backend[16];
  prem_scenario scenario;
  prem_exclusivity exclusivity;
  int64_t samples; /* that counted; disturbed ones apart, all of whose jobs need not be disturbed */
  int64_t all_samples; /* the same, disturbed ones among them */
  int64_t discarded;
  prem_summary makespan_ns;
  prem_padding padded;    /* of the makespan */
  prem_summary launch_ns; /* of every counted launch: host time from the call to S; count 0: not
                             measured */
  int64_t jitter_ns;      /* max - min */
  double jitter_pct;      /* relative to the mean */
  int64_t max_minus_mean_ns;
  int64_t releases, late_releases, overruns;
  int64_t lateness_max_ns; /* INT64_MIN without a release */
  int64_t lateness_hist[PREM_HIST_BUCKETS];
  int64_t violations_certain, violations_possible;
  int64_t violations_checked;             /* counted hyperperiods whose raw records were complete */
  int64_t standstills, standstill_max_ns; /* of all blocks at once, as the raw records show: for 50
                                     us, twice the longest window and four times the mean of any
                                     task's phase, no phase began or ended though some were under
                                     way. The processor was somebody else's. Not on sim. */
  int64_t trace_lost;
  int64_t warmup_phases;
  int64_t hyperperiods;          /* that ran: those that count, disturbed and discarded ones */
  int64_t verified_hyperperiods; /* the last of a launch, after which all outputs were compared with
                                    their references; what came before it was overwritten */
  int64_t partly_verified;       /* of these: those after which outputs of best-effort tasks were
                                    not compared, as in prem_verdict.partial */
  bool output_ok, output_checked; /* not checked: the schedule writes no array */
  bool oversubscribed;
  prem_task_result *tasks; /* [task_count] */
  int32_t task_count;
  prem_late_causes *late; /* [task_count * PREM_PHASE_COUNT]; NULL: no release was late */
  prem_best_effort_result *best_effort; /* [best_effort_count]: tasks beside these */
  int32_t best_effort_count;
  int64_t best_effort_ns;    /* for how long they ran in all */
  bool gated;                /* were they held back while windows of the plan were closed? */
  double open_share;         /* of the time, as the plan has it */
  prem_chain_result *chains; /* [chain_count], as in the schedule */
  int32_t chain_count;
  prem_first_causes first; /* of its late releases that have raw records */
  int64_t *samples_ns; /* [samples]: makespan of each counted sample, in the order of execution */
  int64_t *response_samples_ns; /* [all_samples][job_count], jobs as in prem_trace.first_job */
  int64_t *away_samples_ns;     /* the same, as in prem_trace.away_ns; above 0: disturbed */
  int64_t job_count;            /* of all tasks in a hyperperiod */
  prem_disturbed disturbed;
  prem_stalls stalls;   /* in all launches that count, with what they discard */
  prem_trace *example;  /* the counted raw records of the first counted run, sorted; may be NULL */
  int64_t example_run;  /* with which hyperperiod they begin */
  prem_kept_run worst;  /* of those with raw records: in which a release came latest, or, in a mode
                           without releases, the longest; the first of equal ones */
  prem_kept_run before; /* the one before that; none where that was the first of a launch */
  int64_t worst_ns;     /* lateness, or makespan, of the worst */
  prem_verdict verdict; /* of the first wrong output */
} prem_row;

/** Were outputs of best-effort tasks never compared, and those of the others right? */
PREM_API bool prem_row_is_partial(const prem_row *row);

/** A mode that was asked for and could not be measured here. */
typedef struct prem_left_out {
  prem_mode mode;
  char reason[256];
} prem_left_out;

typedef struct prem_result {
  char schedule_name[PREM_NAME_BYTES];
  char schedule_sha256[65];
  int64_t hyperperiod_ns;
  prem_machine machine;
  int64_t late_ns;      /* a release is late above this */
  uint64_t seed;        /* of the order of the modes */
  int64_t began_unix_s; /* wall-clock time at which measuring began */
  bool interrupted;
  int64_t break_ns; /* what was asked for; 0: nothing */
  prem_break broke; /* what ended it, if a release came later than that */
  prem_row *rows;   /* [row_count] */
  int32_t row_count;
  prem_left_out left_out[PREM_MODE_COUNT];
  int32_t left_out_count;
  prem_launch_search
      launch_search; /* a copy of the ways of launching that were tried; empty: none */
} prem_result;

typedef struct prem_compare_options {
  prem_mode modes[PREM_MODE_COUNT];
  int32_t mode_count;
  prem_sampling sampling; /* its rounds are for studies */
  prem_engine engine;
  prem_cpu_setup cpu;
  bool mix_disturbed;           /* count jobs that the system disturbed among the others, too */
  bool sentinel;                /* cuda: one beside every run, see prem_run_request */
  const prem_arrival *arrivals; /* [arrival_count]: errands that come in each run */
  int64_t arrival_count;
  bool times_only;  /* look for no violations, no causes of lateness, keep no example; traces come
                       unsorted: for measurements that take many short turns */
  int64_t break_ns; /* a counted release later than this ends it after its launch; 0: none does */
  const volatile sig_atomic_t *stop; /* not 0 ends it; may be NULL */
  /** Called after every run, discarded ones included: done of all (0: not known beforehand); may be
   *  NULL. */
  void (*progress)(void *context, int64_t done, int64_t all, prem_mode mode);
  void *progress_context;
  /** Called with the trace, sorted unless `times_only`, of every counted run (its number in its
   * mode, from 0); another status than PREM_OK ends the comparison with it. May be NULL. */
  prem_status (*on_trace)(void *context, const prem_trace *trace, prem_mode mode, int64_t run);
  void *trace_context;
} prem_compare_options;

PREM_EXTERN_C_BEGIN

/**
 * Run the modes interleaved in random order and measure them. Outputs are poisoned before every
 * run and verified after it.
 *
 * Best-effort tasks of the session run beside the others in modes tt and free. `schedule` is what
 * the session was opened with, or its critical part; the result is of prem_session_critical().
 *
 * Relaunch: every round launches each mode once, in a fresh random order.
 * Resident: the samples are divided into at most `launches` of each mode, or as many more as
 * `verify_every` asks for, interleaved likewise.
 *
 * @param[out] out  what was measured, also when interrupted (PREM_ERR_INTERRUPTED) or when the
 *                  machine failed (PREM_ERR_MACHINE), as far as it got, and when a mode turned out
 *                  not to be possible (PREM_ERR_UNAVAILABLE; the others are measured to the end);
 *                  NULL only when nothing was. Free with prem_result_free(). A wrong output is a
 *                  row's output_ok = false, not a status.
 */
PREM_API prem_status prem_compare(prem_session *session, const prem_schedule *schedule,
                                  const prem_backend *backend, const prem_compare_options *options,
                                  prem_result **out, prem_diag *diag);
PREM_API void prem_result_free(prem_result *result);

enum { PREM_MAX_KEPT = 3 };
/** The runs of a row that can be shown, each once: the worst, the one before it, the first; or the
 *  first alone, where that was the worst. Returns how many; they are the row's. Thread-safe. */
PREM_API int32_t prem_row_kept(const prem_row *row, prem_kept_run kept[PREM_MAX_KEPT]);

/** How many times the first half has to have: at least one has to lie above a percentile. */
PREM_API int64_t prem_padding_needs(prem_padding_by by);

/** Min, max, mean and percentiles; `values` is sorted in place. count 0 gives all 0. */
PREM_API void prem_summarise(int64_t *values, int64_t count, prem_summary *out);

/**
 * How often more of a resource was held in fact than its capacity allows, from a sorted trace:
 * certain where it lasted longer than `skew_ns`, else possible. Warm-up is not judged, nor are the
 * hyperperiods before number `discard`.
 *
 * @retval PREM_ERR_MEMORY  both counts are 0
 */
PREM_API prem_status prem_violations(const prem_schedule *schedule, const prem_trace *trace,
                                     int64_t discard, int64_t skew_ns, int64_t *certain,
                                     int64_t *possible);

/** "clock", "cold", "buffer", "data", "unit", "job", "handover", "executor". Thread-safe. */
PREM_API const char *prem_cause_name(prem_cause cause);
/** "window", "handover", "executor", "clock", "cold", "lost". Thread-safe. */
PREM_API const char *prem_first_kind_name(prem_first_kind kind);
/**
 * Why the late phases of a sorted trace were late, and with what each one's chain of waits began.
 * O(records), and O(slots of the plan) where tasks wait for each other.
 *
 * @param         discard        hyperperiods at the start that do not count
 * @param         clock_step_ns  of the machine
 * @param         first_run      number of the trace's first hyperperiod, for the places
 * @param[in,out] causes         [task * 3 + phase]; the counts are added to.
 * @param[in,out] first          is added to; {0} at first. Free with prem_first_causes_free().
 * @retval PREM_ERR_MEMORY  nothing was added
 */
PREM_API prem_status prem_find_causes(const prem_schedule *schedule, const prem_trace *trace,
                                      int64_t discard, int64_t clock_step_ns, int64_t first_run,
                                      prem_late_causes *causes, prem_first_causes *first);
PREM_API void prem_first_causes_free(prem_first_causes *first);

/**
 * Write the result as JSON ("ttprem.result/1") with provenance; raw samples, disturbed ones among
 * them, go to PATH with `.samples.csv` for its extension, planned and real phases of the rows'
 * examples (20 000 at most) with `.phases.csv`. All written beside and renamed. "-" writes the JSON
 * to stdout, alone.
 *
 * @param command  the command line, for the provenance.
 * @retval PREM_ERR_IO  unwritable; files that were not complete are not left
 */
PREM_API prem_status prem_result_write(const prem_result *result, const prem_schedule *schedule,
                                       const char *command, const char *path, prem_diag *diag);

enum { PREM_RESULT_SIDES = 2 };
/** The files that prem_result_write() writes beside `path`: number 0 the samples, 1 the phases.
 * Free with free(); NULL when out of memory. */
PREM_API char *prem_result_side(const char *path, int number);

/** The table of rows as text, worst lateness first and jitter last. */
PREM_API void prem_result_print(const prem_result *result, FILE *file);

/**
 * Draw scheduled against real phases of every row's example run, with its lateness beneath: SVG or
 * PNG by the path's extension, by a gnuplot process, which gets a minute and ends with this one.
 *
 * @param stop  not 0 ends it within a second, or, when it was so from the start, within ten; may be
 *              NULL.
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen; no file is left
 * @retval PREM_ERR_ARGUMENT     another extension
 * @retval PREM_ERR_UNAVAILABLE  no gnuplot on the PATH
 * @retval PREM_ERR_IO           unwritable, or gnuplot failed; no file is left
 */
PREM_API prem_status prem_result_draw(const prem_result *result, const prem_schedule *schedule,
                                      const char *path, const volatile sig_atomic_t *stop,
                                      prem_diag *diag);

/**
 * Draw the schedule's plan: a lane for each block, beneath it the use of every resource against its
 * capacity: SVG or PNG by the path's extension, by a gnuplot process. A plan too dense to read is
 * cut, at 20 000 phases at most, and the picture says where.
 *
 * @param schedule  bound, with a plan.
 * @param stop      as of prem_result_draw().
 * @retval PREM_ERR_INTERRUPTED  the stop flag was seen; no file is left
 * @retval PREM_ERR_ARGUMENT     another extension, or no plan
 * @retval PREM_ERR_UNAVAILABLE  no gnuplot on the PATH
 * @retval PREM_ERR_IO           unwritable, or gnuplot failed; no file is left
 */
PREM_API prem_status prem_plan_draw(const prem_schedule *schedule, const char *path,
                                    const volatile sig_atomic_t *stop, prem_diag *diag);

PREM_EXTERN_C_END
#endif
