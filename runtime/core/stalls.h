/* SPDX-License-Identifier: Apache-2.0 */
/** Which jobs a stall met: of what a sentinel watched. */
#pragma once

#include "runtime/core/program.h"
#include "ttprem/trace.h"

/** A time between two readings of a clock, both on it. */
typedef struct prem_gap {
  int64_t start_ns, length_ns;
} prem_gap;

/** All on one clock. */
typedef struct prem_watch {
  int64_t begin_ns, until_ns; /* it knows of all gaps between; equal: of none */
  const prem_gap *gaps;       /* [gap_count], one after the other */
  int64_t gap_count;
} prem_watch;

/**
 * Of a hyperperiod that began at an instant of the watch's clock: a gap disturbs each job that it
 * meets between release and end, for the longest such gap (prem_trace.away_ns). Jobs that were not
 * watched from release to end stay unknown. How long a job took plays no part.
 */
void prem_watch_judge(const prem_watch *watch, const prem_program *program, int64_t hyperperiod,
                      int64_t start_ns, prem_trace *trace);
