/* SPDX-License-Identifier: Apache-2.0 */
/** Options of `ttprem run --live`. */
#ifndef TTPREM_TOOLS_LIVE_OPTIONS_H
#define TTPREM_TOOLS_LIVE_OPTIONS_H

#include "command/command_measure.h"

/** Frames a second of a stream, or of all inputs (stream NULL). */
typedef struct live_rate {
  const char *stream;
  double hz;
} live_rate;

typedef struct live_options {
  bool is_live;
  const char *given; /* the first option that live sessions alone have; NULL: none */
  int64_t frames;    /* of each input; 0: no limit */
  live_rate rates[PREM_MAX_LIVE_PORTS];
  int rate_count;
  const char *histogram, *metrics, *timeline;
} live_options;

/** What verb_run parses. */
typedef struct run_options {
  measure_options measure;
  live_options live;
} run_options;

/** One of its options; ARGP_ERR_UNKNOWN: none of them. */
error_t live_options_parse(live_options *live, int key, char *text, struct argp_state *state);
/** Usage error where options contradict each other. */
void live_options_judge(const run_options *options, struct argp_state *state);
/** Run the session. Returns the exit status. */
int live_run(run_options *options);

#endif
