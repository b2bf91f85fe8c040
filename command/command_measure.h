/* SPDX-License-Identifier: Apache-2.0 */
/** What `ttprem run` and `ttprem compare` share: options, the way of a measurement, its outputs. */
#pragma once

#include "command/command_sampling.h"

enum { MEASURE_MAX_CORES = 4096 };

typedef struct measure_options {
  const char *file, *backend, *profile;
  const char *trace, *late_log, *json;
  const char *pictures[2]; /* one of each kind */
  int picture_count;
  prem_mode modes[PREM_MODE_COUNT]; /* named on the command line */
  int mode_count;                   /* 0: the file's */
  prem_sampling sampling;           /* SAMPLING_DEFAULTS, and what is given */
  bool scenario_given;
  bool strict;
  int64_t break_ns;                  /* 0: none */
  bool no_records;                   /* keep no raw records: counts alone */
  int32_t cores[MEASURE_MAX_CORES];  /* the blocks' threads run on them; on cpu alone */
  int32_t core_count, fifo_priority; /* 0: not given */
  bool lock_memory;
  bool with_disturbed;
  bool sentinel;
  const char *errands;
  bool no_save; /* leave the `save`s of the file alone */
  bool save_anywhere;
  prem_engine engine;
  const char *runs_only; /* the first option given that live sessions do not have; NULL: none */
} measure_options;

#define MEASURE_EXIT_DOC                                                                           \
  COMMAND_EXIT_DOC " With --break: 5 when a release came later, and nothing else was wrong."

/** Child parser; its input is a measure_options. */
extern const struct argp measure_argp;

/** Add a mode to those named on the command line; usage error when it is unknown or twice. */
void measure_add_mode(measure_options *options, struct argp_state *state, const char *text);
/** What the blocks' threads are given, and the process. Returns an exit status. */
int measure_set_up_cpu(const measure_options *options, const prem_backend *backend,
                       prem_cpu_setup *out);
/** Open, plan, check, run, report. Returns the exit status. */
int measure_run(measure_options *options);
