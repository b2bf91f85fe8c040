/* SPDX-License-Identifier: Apache-2.0 */
/** What intruders did to a schedule, one visit each. */
#pragma once

#include "experiments/common/probe.h"
#include "experiments/thesis/intruders/intruder.h"
#include "measure/interleave.h"

/** All turns of a schedule beside one intruder. */
typedef struct prem_visit {
  prem_variant variant;
  prem_intrusion done;
  prem_standstills standstills[PREM_MODE_COUNT]; /* of all blocks at once, by the traces */
  prem_times launch_ns[PREM_MODE_COUNT];         /* from the call to S */
  bool took_place;
  bool warned; /* what a run had to say beside its numbers has been said */
} prem_visit;

typedef struct prem_visits {
  const char *backend;
  const prem_schedule *schedule;
  int64_t clock_step_ns;
  prem_visit of[PREM_INTRUDER_COUNT];
} prem_visits;

/** A row of PREM_VISIT_COLUMNS for each intruder and mode, and the distribution of responses. */
void prem_visits_give(const prem_visits *visits, const prem_probe_call *call);
#define PREM_VISIT_COLUMNS                                                                         \
  "intruder [text]; mode [text]; schedule [text]; kind; count; mean; longest; spread; "            \
  "spread_pct; moved; free_moved; launch_mean; launch_max; releases; late; lateness; overruns; "   \
  "wrong; kept_ns; lasted; bytes; prefetch_p50; prefetch_p999; prefetch_max; calm_prefetch_p50; "  \
  "calm_prefetch_p999; calm_prefetch_max; writeback_p50; writeback_p999; writeback_max; "          \
  "calm_writeback_p50; calm_writeback_p999; calm_writeback_max; trace_watched; trace_stops; "      \
  "trace_longest; trace_share; seen_watched; seen_stops; seen_longest; seen_share; "               \
  "their_watched; their_stops; their_longest; their_share"
