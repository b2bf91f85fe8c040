/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The host of a live session: feeds its inputs, waits for its outputs, counts, until it is to end.
 * One thread, the public API alone, no wait without a bound; on `sim` the same text each time.
 */
#ifndef TTPREM_TOOLS_LIVE_HOST_H
#define TTPREM_TOOLS_LIVE_HOST_H

#include "command/live_options.h"
#include "ttprem/live.h"
#include "ttprem/tally.h"

/** What feeds an input. Frame 0 is handed over before the start. */
typedef struct live_input {
  double hz;                  /* frames a second; 0: one each `step_ns` */
  int64_t offset_ns, step_ns; /* frame 1 is due so long after the session's start, and the next */
  bool is_back_to_back;       /* one is worked on and one waits, always */
  uint64_t next;              /* frame to be handed over; those missed count */
  uint64_t handed;
  int64_t asked_ns; /* since when it waits for a buffer; INT64_MIN: it does not */
} live_input;

typedef struct live_output {
  int64_t asked_ns; /* since when the next result is waited for */
  bool has_ended;
} live_output;

/** The result that came later than `--break` allows. */
typedef struct live_break {
  bool found;
  int32_t stream;
  uint64_t frame;
  int64_t lateness_ns, hyperperiod;
  bool is_in_time; /* its job was over by its publish_ns */
} live_break;

typedef struct live_host {
  const measure_options *measure;
  const live_options *options;
  const prem_schedule *schedule;
  const prem_backend *backend;
  prem_live *live;
  prem_tally *tally;
  prem_trace *trace; /* NULL: nobody asks for it */
  prem_cpu_setup cpu;
  prem_diag *diag;
  live_input inputs[PREM_MAX_LIVE_PORTS]; /* by stream, as outputs */
  live_output outputs[PREM_MAX_LIVE_PORTS];
  int64_t poll_ns; /* between two looks where there is more than one thing to wait for */
  int64_t opened_ns, seconds;
  live_break broke;
  bool has_failed;       /* a call did: stop says how */
  bool has_lost_reader;  /* nobody reads the lines any more */
  bool has_lost_metrics; /* they could not be written, which was said */
  bool has_line;         /* one that is rewritten stands on the terminal */
  int shown_columns;
  prem_host_event *events; /* for the time line; those that found no memory are lost */
  int64_t event_count;
} live_host;

/* ---- live_feed.c ---------------------------------------------------------------------------- */

/** When each input's frames are due. */
void live_feed_plan(live_host *host);
/** The first frames, before the session starts. */
void live_feed_first(live_host *host);
/** Hand over what is due; never waits. */
void live_feed(live_host *host);
/** When a frame is due next; INT64_MAX: that is not known, or none is. */
int64_t live_feed_next_ns(const live_host *host);
/** Has each input had all the frames that were asked for? */
bool live_feed_is_done(const live_host *host);

/* ---- live_host.c ---------------------------------------------------------------------------- */

/** Start, run, drain, stop. PREM_OK also where something was found late, or a signal ended it. */
prem_status live_host_run(live_host *host);
/** Write an event down, where there is a time line. */
void live_host_note(live_host *host, const prem_host_event *event);

/* ---- live_show.c ---------------------------------------------------------------------------- */

/** Where lines and the table go: stdout, unless an output does. */
FILE *live_show_file(const live_host *host);
/** The line of a second, and the metrics. */
void live_show_second(live_host *host, int64_t at_ns);
/** Everything that is written in the end. Returns an exit status. */
int live_show_all(live_host *host);

#endif
