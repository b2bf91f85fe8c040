/* SPDX-License-Identifier: Apache-2.0 */
/** What a run recorded: every phase with its stamps, counts per task and phase, ends of jobs. */
#ifndef TTPREM_TRACE_H
#define TTPREM_TRACE_H

#include <stdio.h>

#include "ttprem/schedule.h"

#define PREM_NO_RELEASE INT64_MIN /* release_ns of a phase that has none */

/**
 * One executed phase. Times count from the run's common start S.
 * release: when it was due; ready: when its buffer was free and its data there; start: when its
 * copy was issued or its computing began; end: when its last byte was visible or it had computed.
 * On a GPU the start is the first reading of the clock after the first copy was handed to the
 * copy engine (before it, of copies row by row), or after all warps that compute had met.
 */
typedef struct prem_trace_record {
  int64_t release_ns, ready_ns, start_ns, end_ns;
  int32_t hyperperiod;
  int32_t job; /* in its hyperperiod */
  int32_t tile;
  uint16_t task;
  uint16_t block;
  uint8_t phase;
  uint8_t flags; /* PREM_SLOT_... */
  uint8_t reserved[2];
  uint32_t issue_ns; /* so long before `start` the clock had shown that it may */
} prem_trace_record;

#if defined(__cplusplus)
static_assert(sizeof(prem_trace_record) == 56, "prem_trace_record is 56 bytes");
#else
_Static_assert(sizeof(prem_trace_record) == 56, "prem_trace_record is 56 bytes");
#endif

/** A release that came late (prem_phase_stats.late), for runs that are too long for records. */
typedef struct prem_late_release {
  int32_t hyperperiod, tile;
  uint32_t late_ns; /* 2^32 - 1: that or more */
  uint16_t task, block;
  uint8_t phase;
  uint8_t reserved[3];
} prem_late_release;

enum { PREM_LATE_KEPT = 65536 }; /* of each run: the first ones; stats count all */

/** Lateness histogram: bucket 0 counts 0 ns and below, bucket k >= 1 [2^(k-1), 2^k) ns, the last
 *  one everything above. */
enum { PREM_HIST_BUCKETS = 40 };

/** Counts of one phase of one task over all blocks; warm-up tiles and discarded hyperperiods are
 *  left out. */
typedef struct prem_phase_stats {
  int64_t count;
  int64_t releases;        /* phases with a release (the others are chained or not in tt) */
  int64_t late;            /* lateness above the platform's late_ns */
  int64_t overruns;        /* ended after their planned window */
  int64_t lateness_max_ns; /* INT64_MIN without a release */
  int64_t overrun_max_ns;  /* 0 without one */
  int64_t duration_min_ns, duration_max_ns, duration_sum_ns; /* end - start */
  int64_t lateness_hist[PREM_HIST_BUCKETS];
} prem_phase_stats;

/** A memory phase of a best-effort task that went on into a closed window; or a graph of all such
 *  tasks, then block and tile are -1. */
typedef struct prem_gate_overrun {
  int64_t at_ns; /* where the window began, from S */
  int64_t by_ns; /* so far into it */
  int32_t block, tile;
  int32_t into; /* the critical task whose window it was */
  prem_phase phase;
} prem_gate_overrun;

/** An errand: some tiles of a server, one after the other. Times from S. */
typedef struct prem_errand {
  uint64_t number; /* of its server's errands, in the order in which they were sent */
  uint64_t tag;    /* the application's */
  int32_t task;    /* of the session's schedule; in a trace, of its best-effort tasks */
  int32_t room;    /* which of the server's, with its own arrays */
  int32_t first_tile, tile_count;
  int64_t arrival_ns, begin_ns, end_ns; /* begin: of its first tile; -1: that did not begin */
  prem_errand_end end;
} prem_errand;

/** Errands of a server in a run. What was sent has ended: sent is the sum of `ended`. */
typedef struct prem_errand_counts {
  int64_t sent, ended[PREM_ERRAND_ENDS];
  int64_t full;                             /* that found no room, and were not sent */
  int64_t late;                             /* done, after their deadline */
  int64_t response_sum_ns, response_max_ns; /* of those that are done */
} prem_errand_counts;

/** What a best-effort task did in a run: from S to the end of the last hyperperiod. */
typedef struct prem_best_effort_counts {
  int64_t jobs;           /* that ended on all its blocks */
  int64_t tiles;          /* all phases of which ended */
  int64_t bytes;          /* that its memory phases moved */
  int64_t waits, wait_ns; /* of memory phases that the gate held back */
  int64_t overruns;       /* of the gate: phases that outlived their bound into a closed window */
  prem_gate_overrun longest;          /* of these */
  prem_errand_counts errands;         /* of a server, whose jobs they are */
  int64_t drain_ns[PREM_PHASE_COUNT]; /* the longest from the last instant at which the gate would
                                         have let a phase in to its last byte: what its bound has to
                                         be. 0: none was in flight then */
} prem_best_effort_counts;

enum { PREM_ERRANDS_KEPT = 65536 }; /* of each run: the first that end; counts have them all */

/** The best-effort tasks beside the critical ones of a trace. */
typedef struct prem_best_effort_trace {
  struct prem_trace *trace;        /* of prem_session_best_effort(): records and counts of phases;
                                      ends of the last hyperperiods alone */
  prem_best_effort_counts *counts; /* [trace->task_count] */
  prem_errand *errands;            /* [errand_count]: in the order of their ends */
  int64_t errand_count, errand_capacity;
  int64_t errands_lost; /* that found no room here; the counts have them all */
  int64_t length_ns;    /* from S to the end of the run */
  bool gated;           /* false: they ran free */
  double open_share;    /* of the time, as the plan has it */
} prem_best_effort_trace;

enum {
  PREM_STALL_NS = 10000, /* a stall is longer */
  PREM_STALLS_KEPT = 64  /* of each launch and of each row; all are counted */
};

/** A time in which the GPU stood still for everybody: its sentinel read no clock. */
typedef struct prem_stall {
  int64_t launch;   /* in a row: which of those that count, from 0 */
  int64_t start_ns; /* from the sentinel's first reading in the launch */
  int64_t length_ns;
} prem_stall;

/** What a sentinel saw (prem_run_request.sentinel), in a launch, or in all that a row counts. */
typedef struct prem_stalls {
  int64_t watched_ns; /* from its first reading to its last; 0: there was none */
  int64_t count, longest_ns, sum_ns;
  int32_t sm;         /* where it ran; of a row, last */
  bool has_own_sm;    /* no block of the schedule came there; of modes without phases not known */
  int32_t kept_count; /* the first ones */
  prem_stall kept[PREM_STALLS_KEPT];
} prem_stalls;

typedef struct prem_trace {
  int32_t task_count;
  int64_t job_count;  /* jobs of all tasks in one hyperperiod */
  int64_t *first_job; /* [task_count + 1]: where a task's jobs begin in job_end_ns */
  /* raw records: the first ones, as many as there was room for */
  prem_trace_record *records; /* [record_count] */
  int64_t record_count, record_capacity;
  int64_t lost;            /* phases that found no room (the counts below have them all) */
  prem_late_release *late; /* [late_count], PREM_LATE_KEPT at most, as they came */
  int32_t late_count;
  /* counts: stats[task * 3 + phase] */
  prem_phase_stats *stats;
  int64_t warmup_count;
  /* ends: [hyperperiod][first_job[task] + job], from the run's start; -1: did not end */
  int64_t *job_end_ns;
  int64_t hyperperiod_capacity;
  int64_t hyperperiods; /* completed by every block */
  int64_t launch_ns;    /* host time from the call to S; -1: not measured */
  bool oversubscribed;  /* more blocks than the machine runs at once */
  /* the same places as job_end_ns: how long a core was taken away that may have disturbed the job,
   * on cuda the longest stall between its release and its end; 0: none was; -1: not known, as on
   * sim, and on cuda without a sentinel. docs/timing-method.md says what is seen. */
  int64_t *away_ns;
  int64_t *epoch_ns; /* [hyperperiod]: where it began, from S; -1: it was not to run */
  /* [hyperperiod]: of a live session whose operating modes have plans of their own, the mode that
   * it was in (prem_schedule_plan_of()); else 0 */
  uint8_t *operating_mode;
  prem_best_effort_trace *best_effort; /* NULL: no room for any; see prem_session_trace_new() */
  prem_stalls stalls;
} prem_trace;

PREM_EXTERN_C_BEGIN

/**
 * Room for the records and ends of `hyperperiods` hyperperiods of a schedule with a plan.
 * All memory is allocated and touched here: nothing is allocated while a run records.
 *
 * @param      max_records  raw records kept at most (0: counts and ends only).
 * @param[out] out          free with prem_trace_free(); NULL on error.
 * @retval PREM_ERR_ARGUMENT  no plan, no hyperperiod, fewer than 0 records
 */
PREM_API prem_status prem_trace_new(const prem_schedule *schedule, int64_t hyperperiods,
                                    int64_t max_records, prem_trace **out);
PREM_API void prem_trace_free(prem_trace *trace);
/** Forget what was recorded, keep the room. */
PREM_API void prem_trace_clear(prem_trace *trace);
/** Hyperperiods follow each other without a gap, as they do on every backend today: number h of the
 *  first `hyperperiods` began at h times `hyperperiod_ns`. */
PREM_API void prem_trace_begin_periodically(prem_trace *trace, int64_t hyperperiod_ns,
                                            int64_t hyperperiods);
/** Order the records by start, then block, then phase. */
PREM_API void prem_trace_sort(prem_trace *trace);
/** Count one phase into its stats (the record's flags decide; window_end_ns from the run's start).
 */
PREM_API void prem_phase_stats_add(prem_phase_stats *stats, const prem_trace_record *record,
                                   int64_t window_end_ns, int64_t late_ns);
/** Add the counts of `from` to `to`. */
PREM_API void prem_phase_stats_merge(prem_phase_stats *to, const prem_phase_stats *from);
/** Stats that have counted nothing. */
PREM_API void prem_phase_stats_clear(prem_phase_stats *stats);
/** Add the counts of `from` to `to`, which keeps the longest overrun of both. */
PREM_API void prem_best_effort_counts_merge(prem_best_effort_counts *to,
                                            const prem_best_effort_counts *from);

/**
 * Write the records as CSV, header
 * `run,task,block,tile,phase,release_ns,ready_ns,start_ns,end_ns,job,issue_ns`. `run` is
 * first_run + the record's hyperperiod.
 * @param header  write the header line first.
 * @retval PREM_ERR_IO  it could not be written
 */
PREM_API prem_status prem_trace_write_csv(const prem_trace *trace, const prem_schedule *schedule,
                                          int64_t first_run, bool header, FILE *file);
/** Write the late releases as CSV, header `mode,run,task,block,tile,phase,late_ns`; else as
 *  prem_trace_write_csv(). */
PREM_API prem_status prem_trace_write_late(const prem_trace *trace, const prem_schedule *schedule,
                                           prem_mode mode, int64_t first_run, bool header,
                                           FILE *file);

PREM_EXTERN_C_END
#endif
