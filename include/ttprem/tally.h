/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tally of a live session: what its host counts and times, while it runs.
 *
 *   prem_tally_new -> prem_tally_begin
 *                  -> { prem_tally_submitted | prem_tally_result | prem_tally_look, ... }*
 *                  -> prem_tally_print ... -> prem_tally_free
 *
 * docs/timing-method.md defines every number ("Of live sessions").
 */
#ifndef TTPREM_TALLY_H
#define TTPREM_TALLY_H

#include "ttprem/live.h"
#include "ttprem/measure.h"

enum {
  PREM_TALLY_BUCKETS = 10000, /* of a histogram; what is above them is counted as `over` */
  PREM_TALLY_TRIGGERS = 64,   /* hyperperiods that results can lie apart */
  PREM_TALLY_BOUNDS = 22      /* of the histogram for Prometheus: 1, 2, 5 us to 10 s */
};

/** Times that were seen. */
typedef struct prem_tally_times {
  int64_t count, min_ns, max_ns; /* 0 without any */
  double sum_ns;
  int64_t width_ns; /* of a bucket; the first one has all below 0 as well */
  int64_t over;     /* at least PREM_TALLY_BUCKETS * width_ns */
  int64_t buckets[PREM_TALLY_BUCKETS];
  int64_t bounded[PREM_TALLY_BOUNDS]; /* above the bound before, and not above prem_tally_bound() */
} prem_tally_times;

/** Of an output that is made of several inputs: how old results were by one of these. */
typedef struct prem_tally_input {
  prem_tally_times age; /* from the capture of its frame until the result is shown */
  prem_summary ages;    /* the same; filled by prem_tally_look() */
  /* its own: */
  struct prem_times *times;
} prem_tally_input;

/** An input or output, in the session's order. */
typedef struct prem_tally_stream {
  const char *name; /* the schedule's */
  bool is_output;
  prem_live_counts counts; /* as looked at last */
  uint64_t unfed; /* input: frames that the host did not hand over: it had no buffer, or no time */
  uint64_t seen;  /* output: frames that the host has seen */
  prem_tally_times age;      /* output: from the capture of its oldest input until it is shown */
  prem_tally_times lateness; /* output: shown so long after it was due */
  prem_summary ages;         /* the same as `age`; filled by prem_tally_look() */
  prem_tally_input *inputs;  /* output: [stream of the input]; those that counted have ages */
  /* its own: */
  struct prem_times *times;
  int64_t *due_ns; /* [operating mode][jobs] of its writer in a hyperperiod: from its beginning */
  int32_t jobs;
} prem_tally_stream;

typedef struct prem_tally {
  const prem_schedule *schedule;
  char backend[16];
  prem_mode mode;
  prem_live_state state; /* as looked at last */
  prem_live_task_counts *tasks;
  prem_tally_stream *streams; /* [stream_count] */
  int32_t stream_count;
  int64_t age_max_ns, lateness_max_ns; /* of all outputs; INT64_MIN without any */
  /* its own: */
  struct prem_times *second;
  int32_t trigger; /* stream; -1: none */
  /* of the last hyperperiods and trigger's frames, at their number modulo that many: where they
   * began, and when they were captured */
  int64_t epochs_ns[PREM_TALLY_TRIGGERS], captured_ns[PREM_TALLY_TRIGGERS];
  int64_t epoch_count;
} prem_tally;

/** What came in since the last prem_tally_second(): ages of results, over all outputs. */
typedef struct prem_tally_second_ages {
  int64_t count, min_ns, max_ns, p99_ns; /* 0 without any */
  double mean_ns;
} prem_tally_second_ages;

PREM_EXTERN_C_BEGIN

/** @param schedule     with a plan and live ports; must outlive the tally.
 *  @param interval_ns  the longest between two frames of an input, 0: a hyperperiod at most. Ages
 *                      of four of these and four hyperperiods have buckets.
 *  @param[out] out     free with prem_tally_free(); NULL on error.
 *  @retval PREM_ERR_ARGUMENT  no plan; others as prem_plan_expand() */
PREM_API prem_status prem_tally_new(const prem_schedule *schedule, const char *backend,
                                    prem_mode mode, int64_t interval_ns, prem_tally **out);
PREM_API void prem_tally_free(prem_tally *tally);
/** The session has started. */
PREM_API void prem_tally_begin(prem_tally *tally, const prem_live *live);
/** A frame that was submitted: its trigger says when a hyperperiod begins. */
PREM_API void prem_tally_submitted(prem_tally *tally, const prem_frame *frame);
/** A result that was waited for: count it. Returns how late it was shown; below 0: early.
 *  @param[out] hyperperiod  that it was made in, from the session's first; may be NULL */
PREM_API int64_t prem_tally_result(prem_tally *tally, const prem_frame *frame,
                                   int64_t *hyperperiod);
/** The same result, before it is released: where it is made of several inputs, count its age by
 *  each. */
PREM_API void prem_tally_inputs(prem_tally *tally, const prem_live *live, const prem_frame *frame);
/** Take the counts of the session and its streams. */
PREM_API void prem_tally_look(prem_tally *tally, const prem_live *live);
/** The results since it was called last; then forget them. */
PREM_API void prem_tally_second(prem_tally *tally, prem_tally_second_ages *out);
/** Bound number `index` of `bounded`, in ns. Thread-safe. */
PREM_API int64_t prem_tally_bound(int32_t index);

/** How many frames of all inputs, or outputs. */
PREM_API uint64_t prem_tally_frames(const prem_tally *tally, bool of_outputs);

/**
 * One line, without its end: time, frames, ages of the second and worst, lateness, losses.
 *
 * @param at_ns     of the line, from the session's start.
 * @param is_short  name no losses of which there are none.
 * Returns like snprintf.
 */
PREM_API int prem_tally_line(const prem_tally *tally, const prem_tally_second_ages *ages,
                             int64_t at_ns, bool is_short, char *text, size_t bytes);
/** The table of streams and what the session as a whole has counted. */
PREM_API void prem_tally_print(const prem_tally *tally, FILE *file);
/** Ages and latenesses for gnuplot: two blocks of lines `US COUNT...`, a column for each output. */
PREM_API void prem_tally_write_histogram(const prem_tally *tally, FILE *file);
/** All counts in Prometheus' text form, version 0.0.4. */
PREM_API void prem_tally_write_metrics(const prem_tally *tally, FILE *file);

/** What ended a session that was to end at the first lateness above a limit. */
typedef struct prem_late_find {
  prem_break release; /* the first release above it from that hyperperiod on, if there is one */
  bool has_cause;
  prem_first_cause cause; /* with what the worst lateness from that hyperperiod on began */
} prem_late_find;

/**
 * Look for the first release later than a limit, and for its first cause, in a sorted trace.
 *
 * @param hyperperiod  of a result that was late; -1: that of the first release.
 * @retval PREM_ERR_MEMORY  nothing was found
 */
PREM_API prem_status prem_find_late(const prem_schedule *schedule, const prem_trace *trace,
                                    int64_t clock_step_ns, int64_t limit_ns, int64_t hyperperiod,
                                    prem_late_find *out);
/** What a first cause is, as text: "the compute of a took longer than its window". Returns like
 *  snprintf. */
PREM_API int prem_first_cause_say(const prem_schedule *schedule, const prem_first_cause *cause,
                                  char *text, size_t bytes);

PREM_EXTERN_C_END
#endif
