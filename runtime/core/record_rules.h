/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The rules of executing a record, once for all executors of the host: which records have a
 * release, when one may start, whose ends it waits for, what the trace keeps of it. Where a
 * hyperperiod begins, the trace says before the run: epoch_ns.
 *
 * The GPU has its own form of them in runtime/cuda/device/block.cuh and record.cuh;
 * tests/runtime/test_record_rules.c compiles that one too and holds it against this one.
 */
#pragma once

#include "prem/base/numbers.h"
#include "runtime/core/recorder.h"

/* ---- when a record may start ---------------------------------------------------------------- */

/** Does a record of these flags start at an instant of the plan? */
static inline bool prem_has_release(prem_mode mode, uint8_t flags) {
  return mode == PREM_MODE_TT && !(flags & (PREM_SLOT_CHAINED | PREM_SLOT_WARMUP));
}

/** That instant in this hyperperiod; PREM_NO_RELEASE without one. */
static inline int64_t prem_release_ns(prem_mode mode, const prem_record *record, int64_t epoch_ns) {
  return prem_has_release(mode, record->flags) ? epoch_ns + record->planned_ns : PREM_NO_RELEASE;
}

/** The earliest instant at which a record may start, its waits apart: releases of jobs hold in
 *  every mode. */
static inline int64_t prem_earliest_ns(const prem_program *program, prem_mode mode,
                                       const prem_record *record, int64_t epoch_ns) {
  return prem_max_i64(prem_job_release_ns(program, record->task, record->job, epoch_ns),
                      prem_release_ns(mode, record, epoch_ns));
}

/** Are the waits of a record on its own block over? `done`: phases that the block has done in the
 *  run; `before`: those of the hyperperiods before this one. */
static inline bool prem_waits_are_over(const prem_record *record,
                                       const int64_t done[PREM_PHASE_COUNT],
                                       const int64_t before[PREM_PHASE_COUNT]) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (record->wait[p] != PREM_NO_WAIT && done[p] < before[p] + record->wait[p])
      return false;
  return true;
}

/** So many jobs of the predecessor, from the run's start, must have ended; none if that is 0 or
 *  less. */
static inline int64_t prem_jobs_needed(const prem_program *program, const prem_dependency *after,
                                       int64_t hyperperiod, int32_t job) {
  return hyperperiod * program->tasks[after->task].jobs + after->needed_jobs[job];
}

/** Where the trace keeps the end of a task's job, numbered from the run's start. That of a live
 *  session keeps those of the last hyperperiods. */
static inline int64_t *prem_job_end(const prem_program *program, const prem_trace *trace,
                                    int32_t task, int64_t job_of_run) {
  const int32_t jobs = program->tasks[task].jobs;
  const int64_t row = job_of_run / jobs % trace->hyperperiod_capacity;
  return &trace->job_end_ns[row * trace->job_count + trace->first_job[task] + job_of_run % jobs];
}

/* ---- what the trace keeps ------------------------------------------------------------------- */

/** The flags that a record of the trace has. */
#define PREM_TRACED_FLAGS (PREM_SLOT_CHAINED | PREM_SLOT_JOINED | PREM_SLOT_WARMUP)

/** The end of a record's window; INT64_MAX where the plan's windows do not hold. */
static inline int64_t prem_window_end_ns(prem_mode mode, const prem_record *record,
                                         int64_t epoch_ns) {
  return mode == PREM_MODE_TT ? epoch_ns + record->planned_end_ns : INT64_MAX;
}

/** What happened to a record, from S. */
typedef struct prem_execution {
  int64_t epoch_ns; /* of its hyperperiod */
  int64_t ready_ns, start_ns, end_ns;
  int32_t hyperperiod;
  int32_t block;
} prem_execution;

/** As records have room for it: those of a live session that goes on for longer are counted, and
 *  have no room long since. */
static inline int32_t prem_traced_hyperperiod(int64_t hyperperiod) {
  return hyperperiod < INT32_MAX ? (int32_t)hyperperiod : INT32_MAX;
}

/** Write an executed record down. */
static inline void prem_record_executed(prem_recorder *recorder, prem_mode mode,
                                        const prem_record *record, const prem_execution *done) {
  const prem_trace_record traced = {.release_ns = prem_release_ns(mode, record, done->epoch_ns),
                                    .ready_ns = done->ready_ns,
                                    .start_ns = done->start_ns,
                                    .end_ns = done->end_ns,
                                    .hyperperiod = done->hyperperiod,
                                    .job = record->job,
                                    .tile = record->tile,
                                    .task = record->task,
                                    .block = (uint16_t)done->block,
                                    .phase = record->phase,
                                    .flags = record->flags & PREM_TRACED_FLAGS};
  prem_recorder_add(recorder, &traced, prem_window_end_ns(mode, record, done->epoch_ns));
}
