/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests: what a live session of one task on one block has to do, worked out ns by ns from the
 * words of docs/schedule-format.md and include/ttprem/live.h. It knows lists of frames and jobs,
 * and no slots, words, rings or events.
 *
 * At an instant phases end first, then frames are chosen and results shown, then phases start; the
 * host comes last.
 */
#ifndef TTPREM_TESTS_COMMON_LIVE_MODEL_H
#define TTPREM_TESTS_COMMON_LIVE_MODEL_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ttprem/ttprem.h"

enum { MODEL_MAX = 256, MODEL_OPEN = 3 };

/** Phases fetch, compute and store, planned back to back from the release on. */
typedef struct model_setup {
  prem_live_port in, out; /* without array and place */
  prem_overrun overrun;
  int64_t period_ns, release_ns, submit_timeout_ns;
  int64_t deadline_ns;                                               /* 0: none */
  int64_t planned_ns[PREM_PHASE_COUNT], length_ns[PREM_PHASE_COUNT]; /* as planned; as they take */
} model_setup;

typedef struct model_job {
  int64_t origin_ns;
  bool is_decided, is_skipped, is_repeat;
  int frame;                                                    /* of the input */
  bool is_judged, is_left_out, is_given_up, is_counted;         /* overruns */
  bool is_empty[PREM_PHASE_COUNT];                              /* of a phase that has started */
  bool is_placed, has_place, is_void, is_passed;                /* of the output */
  int64_t start_ns[PREM_PHASE_COUNT], end_ns[PREM_PHASE_COUNT]; /* -1: not yet */
} model_job;

typedef struct model_result {
  int job;
  int64_t published_ns;
  uint32_t flags;
  bool is_held;
} model_result;

typedef struct model {
  model_setup setup;
  int64_t t, begin_ns; /* now; of the first hyperperiod, -1: not started */
  int64_t captured_ns[MODEL_MAX];
  int frames, next_frame, last_frame; /* submitted; next of a queue; chosen last, -1: none */
  model_job jobs[MODEL_MAX];
  int permitted, completed, last; /* last -1: not known */
  model_result results[MODEL_MAX];
  int result_count, next_result, first_unpassed;
  bool is_draining, is_aborted, was_started, in_hand;
  prem_live_end end;
  prem_live_counts of_in, of_out;
  int64_t overruns, skipped, aborted;
  bool skips_next; /* the first job that is not released yet */
  int behind;      /* the last job that overran; -1: none */
} model;

/** The policies that leave jobs out look at the deadline, the others at the end. */
static inline bool model_leaves_out(const model *m) {
  return m->setup.deadline_ns > 0 &&
         (m->setup.overrun == PREM_OVERRUN_SKIP || m->setup.overrun == PREM_OVERRUN_ABORT);
}

static inline bool model_is_queue(const prem_live_port *port) {
  return port->kind != PREM_LIVE_SAMPLING;
}

static inline bool model_is_over(const model *m) {
  return m->is_aborted || (m->last >= 0 && m->completed >= m->last && m->first_unpassed >= m->last);
}

static inline bool model_refuses(const model *m) {
  return m->is_draining || m->last >= 0 || model_is_over(m);
}

static inline int64_t model_release(const model *m, const model_job *job) {
  return job->origin_ns + m->setup.release_ns;
}

static inline bool model_job_is_over(const model_job *job) {
  return job->end_ns[PREM_WRITEBACK] >= 0;
}

/* ---- places --------------------------------------------------------------------------------- */

/** Buffers of the input in use. */
static inline int model_inputs_in_use(const model *m) {
  bool used[MODEL_MAX] = {false};
  int count = m->in_hand;
  for (int j = m->completed; j < m->permitted; ++j)
    if (m->jobs[j].is_decided && !m->jobs[j].is_skipped && !model_job_is_over(&m->jobs[j]))
      used[m->jobs[j].frame] = true;
  for (int f = m->next_frame; model_is_queue(&m->setup.in) && f < m->frames; ++f)
    used[f] = true;
  if (!model_is_queue(&m->setup.in) && m->frames > 0)
    used[m->frames - 1] = true;
  if (model_is_queue(&m->setup.in) && m->setup.in.missing == PREM_MISSING_REPEAT &&
      m->last_frame >= 0)
    used[m->last_frame] = true;
  for (int f = 0; f < m->frames; ++f)
    count += used[f];
  return count; /* `completed` jobs, the first ones, are over */
}

static inline int model_outputs_in_use(const model *m) {
  int count = 0;
  for (int j = m->first_unpassed; j < m->permitted; ++j)
    count += m->jobs[j].has_place && !m->jobs[j].is_passed;
  for (int r = 0; r < m->result_count; ++r) {
    const bool is_newest = r == m->result_count - 1;
    const bool is_kept = model_is_queue(&m->setup.out) ? r >= m->next_result : is_newest;
    count += m->results[r].is_held || is_kept;
  }
  return count;
}

/* ---- choosing ------------------------------------------------------------------------------- */

static inline void model_use(model *m, model_job *job, int frame, bool is_repeat) {
  job->is_decided = true;
  job->frame = frame;
  job->is_repeat = is_repeat;
  m->last_frame = frame;
  ++*(is_repeat ? &m->of_in.repeated : &m->of_in.taken);
}

static inline void model_skip(model *m, model_job *job, bool is_stale) {
  job->is_decided = job->is_skipped = true;
  ++m->of_in.missing;
  m->of_in.stale += is_stale;
}

static inline bool model_choose(model *m, model_job *job) {
  const prem_live_port *in = &m->setup.in;
  const bool is_short = m->setup.deadline_ns > 0 && m->setup.deadline_ns < m->setup.period_ns;
  const int64_t waits_until =
      model_release(m, job) + (is_short ? m->setup.deadline_ns : m->setup.period_ns);
  bool is_stale = false;
  if (job->is_decided || m->t < model_release(m, job) - in->lead_ns)
    return false;
  if (model_is_queue(in)) {
    if (m->next_frame < m->frames) {
      model_use(m, job, m->next_frame++, false);
      return true;
    }
    if (in->missing == PREM_MISSING_REPEAT && m->last_frame >= 0) {
      model_use(m, job, m->last_frame, true);
      return true;
    }
  } else if (m->frames > 0) {
    const int newest = m->frames - 1;
    is_stale = in->max_age_ns > 0 && m->t - m->captured_ns[newest] > in->max_age_ns;
    const bool is_new = newest >= m->next_frame;
    m->next_frame = newest + 1; /* it has been looked at, as the courier does */
    if (!is_stale && (is_new || in->missing == PREM_MISSING_REPEAT)) {
      model_use(m, job, newest, !is_new);
      return true;
    }
  }
  if (in->missing == PREM_MISSING_WAIT && m->t < waits_until)
    return false;
  model_skip(m, job, is_stale);
  return true;
}

static inline bool model_place(model *m, model_job *job) {
  if (!job->is_decided || job->is_placed || m->t < model_release(m, job))
    return false;
  if (job->is_skipped || job->is_left_out || job->is_given_up) {
    ++*(job->is_given_up ? &m->of_out.aborted : &m->of_out.missing);
    return job->is_placed = true;
  }
  if (model_outputs_in_use(m) < m->setup.out.buffers)
    return job->is_placed = job->has_place = true;
  const int64_t bound =
      model_release(m, job) +
      (m->setup.out.drops ? m->setup.planned_ns[PREM_PREFETCH] + m->setup.planned_ns[PREM_COMPUTE]
       : m->setup.deadline_ns > 0 ? m->setup.deadline_ns
                                  : m->setup.period_ns);
  if (m->t < bound)
    return false;
  ++m->of_out.dropped;
  return job->is_placed = job->is_void = true;
}

static inline bool model_show(model *m, int number) {
  model_job *job = &m->jobs[number];
  if (job->is_passed || number != m->first_unpassed || !model_job_is_over(job))
    return false;
  if (job->is_given_up && job->has_place) {
    ++m->of_out.aborted;
  } else if (job->has_place) {
    const int64_t at = model_release(m, job) + m->setup.out.publish_ns;
    if (m->setup.out.publish_ns > 0 && m->t < at)
      return false;
    model_result *result = &m->results[m->result_count++];
    *result = (model_result){.job = number, .published_ns = m->t};
    if (m->setup.out.publish_ns > 0 && job->end_ns[PREM_WRITEBACK] > at)
      result->flags |= PREM_FRAME_LATE;
    if (job->is_repeat)
      result->flags |= PREM_FRAME_REPEATED;
    ++m->of_out.frames;
    m->of_out.late += (result->flags & PREM_FRAME_LATE) != 0;
    m->of_out.repeated += job->is_repeat;
  }
  job->is_passed = true;
  ++m->first_unpassed;
  return true;
}

/* ---- hyperperiods --------------------------------------------------------------------------- */

static inline void model_permit(model *m, int64_t origin_ns) {
  ck_assert_int_lt(m->permitted, MODEL_MAX);
  m->jobs[m->permitted++] =
      (model_job){.origin_ns = origin_ns, .start_ns = {-1, -1, -1}, .end_ns = {-1, -1, -1}};
}

static inline bool model_finish(model *m, prem_live_end why) {
  m->last = m->permitted;
  m->end = why;
  return true;
}

static inline bool model_next(model *m) {
  const prem_live_port *in = &m->setup.in;
  const int64_t earliest =
      m->permitted == 0 ? m->begin_ns : m->jobs[m->permitted - 1].origin_ns + m->setup.period_ns;
  const bool has_frame = model_is_queue(in) && m->next_frame < m->frames;
  if (m->last >= 0 || m->permitted - m->completed >= MODEL_OPEN)
    return false;
  if (in->kind != PREM_LIVE_TRIGGER) {
    if (m->is_draining && !has_frame)
      return model_finish(m, PREM_LIVE_STOPPED);
    if (m->t < earliest - in->lead_ns)
      return false;
    model_permit(m, earliest);
    return true;
  }
  if (has_frame) {
    const int64_t soonest = m->t + in->lead_ns;
    model_permit(m, soonest > earliest ? soonest : earliest);
    model_use(m, &m->jobs[m->permitted - 1], m->next_frame++, false);
    return true;
  }
  if (m->is_draining)
    return model_finish(m, PREM_LIVE_STOPPED);
  if (m->t < earliest + m->setup.submit_timeout_ns)
    return false;
  if (in->missing == PREM_MISSING_WAIT)
    return model_finish(m, PREM_LIVE_NO_FRAME);
  model_permit(m, earliest > m->t ? earliest : m->t);
  if (in->missing == PREM_MISSING_REPEAT && m->last_frame >= 0)
    model_use(m, &m->jobs[m->permitted - 1], m->last_frame, true);
  else
    model_skip(m, &m->jobs[m->permitted - 1], false);
  return true;
}

/* ---- overruns ------------------------------------------------------------------------------- */

static inline int64_t model_deadline(const model *m, const model_job *job) {
  return model_release(m, job) + m->setup.deadline_ns;
}

static inline bool model_end_for_overrun(model *m) {
  ++m->overruns;
  return m->setup.overrun == PREM_OVERRUN_STOP && m->last < 0 && model_finish(m, PREM_LIVE_OVERRUN);
}

/* Jobs that are over are judged once. */
static inline bool model_judge_ends(model *m) {
  bool has_changed = false;
  for (int j = 0; j < m->completed; ++j) {
    model_job *job = &m->jobs[j];
    if (job->is_judged || m->setup.deadline_ns == 0)
      continue;
    job->is_judged = true;
    if (!model_leaves_out(m) && job->end_ns[PREM_WRITEBACK] > model_deadline(m, job))
      has_changed |= model_end_for_overrun(m);
  }
  return has_changed;
}

/* The deadline of a job that is not over has come. */
static inline void model_overrun(model *m, int j) {
  model_job *job = &m->jobs[j];
  if (!job->is_skipped && !job->is_left_out) {
    ++m->overruns;
    m->behind = j;
    if (m->setup.overrun == PREM_OVERRUN_ABORT) {
      job->is_given_up = true;
      ++m->aborted;
    }
  }
  if (m->setup.overrun == PREM_OVERRUN_SKIP && m->behind >= m->completed)
    m->skips_next = true;
}

/* A job's turn to be skipped comes when it is released; it is counted as soon as it is sure. */
static inline bool model_skip_next(model *m) {
  bool has_changed = false;
  for (int j = 0; j < m->permitted; ++j) {
    model_job *job = &m->jobs[j];
    const bool is_sure = j == 0 || m->jobs[j - 1].is_judged;
    if (job->is_counted)
      continue;
    if (!is_sure && m->t < model_release(m, job))
      break;
    has_changed = job->is_counted = true;
    job->is_left_out = m->skips_next;
    m->skipped += m->skips_next;
    m->skips_next = false;
  }
  return has_changed;
}

static inline bool model_judge_deadlines(model *m) {
  bool has_changed = false;
  for (int j = m->completed; j < m->permitted; ++j) {
    model_job *job = &m->jobs[j];
    if (job->is_judged || !job->is_counted || m->t < model_deadline(m, job))
      continue;
    has_changed = job->is_judged = true;
    model_overrun(m, j);
  }
  return has_changed;
}

static inline bool model_count(model *m) {
  bool has_changed = false;
  for (int j = m->completed; j < m->permitted; ++j) {
    has_changed |= !m->jobs[j].is_counted;
    m->jobs[j].is_counted = true;
  }
  return has_changed;
}

static inline bool model_judge(model *m) {
  bool has_changed = model_judge_deadlines(m);
  has_changed |= m->setup.overrun == PREM_OVERRUN_SKIP ? model_skip_next(m) : model_count(m);
  return has_changed;
}

/* ---- the block ------------------------------------------------------------------------------ */

static inline bool model_end_phases(model *m) {
  bool has_changed = false;
  for (int j = m->completed; j < m->permitted; ++j)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      model_job *job = &m->jobs[j];
      const int64_t length = job->is_empty[p] ? 0 : m->setup.length_ns[p];
      if (job->start_ns[p] < 0 || job->end_ns[p] >= 0 || m->t < job->start_ns[p] + length)
        continue;
      job->end_ns[p] = m->t;
      m->completed += p == PREM_WRITEBACK;
      has_changed = true;
    }
  return has_changed;
}

static inline bool model_may_start(const model *m, int j, int p) {
  const model_job *job = &m->jobs[j];
  const model_job *before = j > 0 ? &m->jobs[j - 1] : NULL;
  int64_t due = model_release(m, job);
  for (int q = 0; q < p; ++q)
    due += m->setup.planned_ns[q];
  if (job->start_ns[p] >= 0 || m->t < due)
    return false;
  switch (p) {
  case PREM_PREFETCH:
    return job->is_decided && (!before || model_job_is_over(before));
  case PREM_COMPUTE:
    return job->end_ns[PREM_PREFETCH] >= 0 && (!before || before->end_ns[PREM_COMPUTE] >= 0);
  default:
    return job->end_ns[PREM_COMPUTE] >= 0 && job->is_placed;
  }
}

static inline bool model_start_phases(model *m) {
  bool has_changed = false;
  for (int j = m->completed; j < m->permitted; ++j)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (model_may_start(m, j, p)) {
        model_job *job = &m->jobs[j];
        job->start_ns[p] = m->t;
        job->is_empty[p] = job->is_skipped || job->is_left_out || job->is_given_up;
        has_changed = true;
      }
  return has_changed;
}

static inline bool model_decide(model *m) {
  bool has_changed = model_judge_ends(m);
  for (int j = m->completed; j < m->permitted; ++j)
    if (model_choose(m, &m->jobs[j]))
      has_changed = true;
    else if (!m->jobs[j].is_decided)
      break; /* in order */
  while (model_leaves_out(m) && model_judge(m)) {
  }
  while (m->first_unpassed < m->permitted && model_show(m, m->first_unpassed))
    has_changed = true;
  for (int j = m->completed; j < m->permitted; ++j) {
    model_job *job = &m->jobs[j];
    has_changed |= model_place(m, job);
    if (!job->is_placed)
      break;
  }
  return has_changed | model_next(m);
}

/** All that happens at the present. */
static inline void model_settle(model *m) {
  if (!m->was_started || m->is_aborted)
    return;
  do {
    while (model_end_phases(m)) {
    }
    while (model_decide(m)) {
    }
  } while (model_start_phases(m));
}

static inline void model_pass(model *m) {
  ++m->t;
  model_settle(m);
}

/* ---- what the host does ---------------------------------------------------------------------- */

static inline prem_status model_acquire(model *m, int64_t until_ns) {
  for (;; model_pass(m)) {
    if (model_refuses(m))
      return PREM_ERR_ENDED;
    if (model_inputs_in_use(m) < m->setup.in.buffers) {
      m->in_hand = true;
      return PREM_OK;
    }
    if (m->t >= until_ns)
      return PREM_ERR_FULL;
  }
}

static inline prem_status model_submit(model *m, int64_t captured_ns) {
  m->in_hand = false;
  if (model_refuses(m))
    return PREM_ERR_ENDED;
  ck_assert_int_lt(m->frames, MODEL_MAX);
  m->captured_ns[m->frames++] = captured_ns;
  ++m->of_in.frames;
  model_settle(m);
  return PREM_OK;
}

/** The result is number *out. */
static inline prem_status model_wait(model *m, int64_t until_ns, int *out) {
  for (;; model_pass(m)) {
    if (m->next_result < m->result_count) {
      *out = model_is_queue(&m->setup.out) ? m->next_result : m->result_count - 1;
      m->next_result = *out + 1;
      m->results[*out].is_held = true;
      return PREM_OK;
    }
    if (model_is_over(m) && m->was_started)
      return PREM_ERR_ENDED;
    if (m->t >= until_ns)
      return PREM_ERR_TIMEOUT;
  }
}

static inline void model_release_result(model *m, int result) {
  m->results[result].is_held = false;
  model_settle(m);
}

static inline void model_sleep(model *m, int64_t until_ns) {
  while (m->t < until_ns)
    model_pass(m);
}

static inline prem_status model_stop(model *m, bool drain, int64_t until_ns) {
  if (model_is_over(m))
    return PREM_OK;
  m->is_draining = true;
  if (!drain) {
    m->is_aborted = true;
    return PREM_OK;
  }
  model_settle(m);
  for (; !model_is_over(m); model_pass(m))
    if (m->t >= until_ns)
      return PREM_ERR_TIMEOUT;
  return PREM_OK;
}

#endif
