/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How an executor records: one recorder a block, written by one thread only, memory touched before
 * the run, no locks and no allocation. prem_recorders_collect() joins them into the trace.
 */
#pragma once

#include "runtime/core/program.h"

typedef struct prem_late_log prem_late_log; /* of all blocks */

typedef struct prem_recorder {
  prem_trace_record *records; /* this block's share of the trace's room */
  int64_t count, capacity, lost;
  prem_phase_stats *stats;     /* [task_count * 3]: the block's own, or the trace's */
  prem_phase_stats *own_stats; /* the former, or NULL */
  int64_t warmup_count;
  int64_t discard; /* hyperperiods left out of the stats */
  int64_t late_ns;
  prem_late_log *late;
  char pad[64]; /* two blocks' counters never share a cache line */
} prem_recorder;

/** Was the trace made for the schedule, or for one with as many jobs of each task? */
bool prem_trace_is_of(const prem_trace *trace, const prem_schedule *schedule);

/** One recorder a block; the trace's room is divided by the blocks' numbers of records.
 *  `one_thread` writes them all: then they count in the trace itself, since stats of many blocks
 * and tasks would be many times as large as the plan. */
prem_status prem_recorders_new(const prem_program *program, const prem_run_request *request,
                               prem_trace *trace, bool one_thread, prem_recorder **out);

/** prem_phase_stats_add(), for hot loops. */
static inline void prem_phase_stats_count(prem_phase_stats *stats, const prem_trace_record *record,
                                          int64_t window_end_ns, int64_t late_ns) {
  int64_t duration_ns = record->end_ns - record->start_ns;
  ++stats->count;
  stats->duration_sum_ns += duration_ns;
  if (duration_ns < stats->duration_min_ns)
    stats->duration_min_ns = duration_ns;
  if (duration_ns > stats->duration_max_ns)
    stats->duration_max_ns = duration_ns;
  if (record->end_ns > window_end_ns) {
    ++stats->overruns;
    if (record->end_ns - window_end_ns > stats->overrun_max_ns)
      stats->overrun_max_ns = record->end_ns - window_end_ns;
  }
  if (record->release_ns == PREM_NO_RELEASE)
    return;
  int64_t lateness_ns = record->start_ns - record->release_ns;
  ++stats->releases;
  stats->late += lateness_ns > late_ns;
  if (lateness_ns > stats->lateness_max_ns)
    stats->lateness_max_ns = lateness_ns;
  int bucket = lateness_ns <= 0 ? 0 : 64 - __builtin_clzll((unsigned long long)lateness_ns);
  ++stats->lateness_hist[bucket < PREM_HIST_BUCKETS ? bucket : PREM_HIST_BUCKETS - 1];
}

/** Log a late release: of any block, at any time. */
void prem_late_log_add(prem_late_log *log, const prem_trace_record *record, int64_t late_ns);

/** Append one executed phase. `window_end_ns` from the run's start; INT64_MAX where the plan's
 *  windows do not hold (every mode but tt). */
static inline void prem_recorder_add(prem_recorder *recorder, const prem_trace_record *record,
                                     int64_t window_end_ns) {
  if (recorder->count < recorder->capacity)
    recorder->records[recorder->count++] = *record;
  else
    ++recorder->lost;
  if (record->flags & PREM_SLOT_WARMUP)
    ++recorder->warmup_count;
  else if (record->hyperperiod >= recorder->discard) {
    prem_phase_stats_count(&recorder->stats[record->task * PREM_PHASE_COUNT + record->phase],
                           record, window_end_ns, recorder->late_ns);
    if (record->release_ns != PREM_NO_RELEASE &&
        record->start_ns - record->release_ns > recorder->late_ns)
      prem_late_log_add(recorder->late, record, record->start_ns - record->release_ns);
  }
}
/** Close the gaps between the blocks' records, add up stats and counts. */
void prem_recorders_collect(const prem_program *program, prem_recorder *recorders,
                            prem_trace *trace);
void prem_recorders_free(prem_recorder *recorders, int32_t block_count);
