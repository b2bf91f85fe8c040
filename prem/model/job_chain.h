/* SPDX-License-Identifier: Apache-2.0 */
/** A job that is event-driven on a block: only its first phase has an instant. */
#pragma once

#include "prem/base/numbers.h"
#include "ttprem/schedule.h"

/** A phase of it: its latest start, counted from the job's instant on the block. */
typedef struct prem_job_step {
  int64_t start_ns, length_ns;
  int32_t tile;
  prem_phase phase;
} prem_job_step;

/** Phases of a job on the block at `position` of the task's list, without warm-up tiles. */
int64_t prem_job_chain_count(const prem_task *task, int32_t position, int32_t warmup);

/** No phase ends later, counted from the job's instant: a coarse bound, above PREM_MAX_NS where the
 *  times cannot be added up. */
prem_wide prem_job_chain_bound(const prem_schedule *schedule, const prem_task *task,
                               int32_t position, int32_t warmup);

/**
 * The latest starts, by the WCETs; its bound is within the range of times.
 *
 * @param steps  [prem_job_chain_count()], the first one at 0; NULL: not wanted.
 * @return when the last phase ends.
 */
int64_t prem_job_chain(const prem_schedule *schedule, const prem_task *task, int32_t position,
                       int32_t warmup, prem_job_step *steps);

/** The phase that a job begins with. */
static inline prem_phase prem_first_phase(const prem_task *task) {
  int phase = PREM_PREFETCH;
  while (phase < PREM_WRITEBACK && !task->phase[phase].exists)
    ++phase;
  return (prem_phase)phase;
}
