/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Several schedules (a task alone, with its neighbours, with stressors) run by turns in the same
 * modes, and what their phases and jobs took.
 */
#pragma once

#include "measure/times.h"

/** Times in the order of execution, as they are: where single clock steps count. */
typedef struct prem_series {
  int64_t *ns;
  int64_t count;
} prem_series;

/** One phase of one task. */
typedef struct prem_variant_phase {
  prem_times steady;
  prem_times cold;     /* warm-up tiles, and the first tile of each block in a launch */
  prem_series run_max; /* the longest steady one of each launch, of those that were recorded */
  int64_t unrecorded_max_ns; /* by the counts, of launches whose stamps found no room; 0: none, or
                                the counts tell too little apart */
  int64_t due, late; /* by the counts: releases, or phases without them; those that began late, or
                        ended late if these are more */
  prem_times disturbed; /* of disturbed jobs that were told apart, steady and cold; in no other */
} prem_variant_phase;

/** What one schedule did in one mode; tasks as the schedule numbers them. */
typedef struct prem_variant_times {
  prem_variant_phase *phases;      /* [task * 3 + phase] */
  prem_series *responses;          /* [task]: of critical tasks */
  prem_best_effort_counts *beside; /* [task]: of these */
  int64_t beside_ns;               /* for how long these ran in all */
  prem_times makespan;
  prem_times
      warm; /* the same, without the first ones of each launch or, relaunched, of each turn */
  int32_t task_count;
  int64_t counted; /* phases, warm-up and what was discarded apart */
  int64_t releases, late, overruns, lateness_max_ns; /* INT64_MIN without a release */
  int64_t lost;                                      /* phases whose raw record found no room */
  int64_t discarded;
  int64_t disturbed;        /* hyperperiods with disturbed jobs that were told apart */
  int64_t disturbed_max_ns; /* the longest makespan of these */
  prem_stalls stalls;       /* of all launches; none is kept */
  bool output_wrong, oversubscribed;
} prem_variant_times;

/** A schedule that takes part; the caller owns it. */
typedef struct prem_variant {
  const prem_schedule *schedule; /* with a plan */
  uint32_t modes; /* bits 1 << prem_mode: of the options' modes only these; 0: all of them */
  prem_session *session;
  prem_variant_times observed[PREM_MODE_COUNT];
  char left_out[PREM_MODE_COUNT][256]; /* why a mode was not possible; "": nothing known of it */
} prem_variant;

typedef struct prem_interleave_options {
  const prem_backend *backend;
  prem_mode modes[PREM_MODE_COUNT];
  int32_t mode_count;
  prem_sampling
      sampling;   /* of each variant and mode; resident: at least one launch in each round */
  bool leave_out; /* a mode that is not possible is left out of that variant, whose left_out says
                     why; false: it ends everything */
  bool disturbed_apart; /* disturbed jobs are told apart, and hyperperiods that have any */
  bool sentinel;        /* as in prem_compare_options */
  prem_engine engine;
  const volatile sig_atomic_t *stop;
  void (*progress)(void *context, int64_t done, int64_t all); /* variants run; may be NULL */
  void *progress_context;
  /** Called with the trace, unsorted, of every counted run; another status than PREM_OK ends it all
   *  with that. May be NULL. */
  prem_status (*on_trace)(void *context, const prem_trace *trace, prem_mode mode);
  void *trace_context;
  /** Called before and after each round; may be NULL. */
  void (*around_round)(void *context, int64_t round, bool begins);
  void *round_context;
} prem_interleave_options;

/** Open a variant's session and make room for what it will show. */
PREM_API prem_status prem_variant_open(prem_variant *variant, const prem_backend *backend,
                                       prem_diag *diag);
/** Forget what was observed, keep the session. */
PREM_API prem_status prem_variant_forget(prem_variant *variant);
/** Session and what was observed; the variant's memory is the caller's. */
PREM_API void prem_variant_close(prem_variant *variant);

/**
 * Every round runs every variant in every mode, variants in a random order of its own, modes
 * interleaved run by run.
 *
 * @retval PREM_ERR_INTERRUPTED  what was measured is kept
 */
PREM_API prem_status prem_interleave(prem_variant *variants, int32_t count,
                                     const prem_interleave_options *options, prem_diag *diag);
