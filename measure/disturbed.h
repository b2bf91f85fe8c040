/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Jobs that were disturbed, since the operating system took a core away, told apart from the
 * others: what they say is about the system's other work, not about the schedule.
 */
#pragma once

#include "ttprem/measure.h"

static inline bool prem_is_disturbed(const prem_trace *trace, const prem_trace_record *record) {
  return trace->away_ns[record->hyperperiod * trace->job_count + trace->first_job[record->task] +
                        record->job] > 0;
}

/** Of one hyperperiod. */
int64_t prem_disturbed_in(const prem_trace *trace, int64_t hyperperiod);

/** Of the hyperperiods that count. */
int64_t prem_disturbed_jobs(const prem_trace *trace, int64_t discard);

/** Put the raw records of disturbed jobs behind all others, whose order stays. Returns how many
 *  others there are; -1: out of memory. */
int64_t prem_disturbed_apart(prem_trace *trace);

/**
 * The trace's counts without its disturbed jobs.
 *
 * @param[out] stats   [task_count * 3]
 * @param[out] *whole  false: records are lost, so the stats are the trace's, disturbed jobs
 * included
 */
prem_status prem_disturbed_recount(const prem_schedule *schedule, const prem_trace *trace,
                                   int64_t discard, prem_mode mode, prem_phase_stats *stats,
                                   bool *whole);

/** Note one sample in the row, the `after`-th of all that count. False: out of memory. */
bool prem_disturbed_note(prem_disturbed *disturbed, const prem_disturbed_sample *sample);

/** Add what a trace counted of its disturbed jobs: all that it counted without `stats`. */
void prem_disturbed_count_late(prem_disturbed *disturbed, const prem_trace *trace,
                               const prem_phase_stats *stats);
