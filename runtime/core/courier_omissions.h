/* SPDX-License-Identifier: Apache-2.0 */
/** Decisions of a live session for its tasks: which jobs are left out, and where versions of state
 *  arrays lie. */
#ifndef TTPREM_RUNTIME_CORE_COURIER_OMISSIONS_H
#define TTPREM_RUNTIME_CORE_COURIER_OMISSIONS_H

#include "runtime/core/courier_common.h"

/* ---- tasks: leaving out jobs ----------------------------------------------------------------- */

/* Is the frame of a job, or of one that it depends on, not there for good? */
PREM_SHARED_CODE bool lacks_frame(const prem_courier *c, const prem_live_task *task, int64_t job) {
  PREM_ROLLED
  for (int32_t g = 0; g < task->gate_count; ++g) {
    const prem_gate *gate = &task->gates[g];
    const prem_stream *source = &c->streams[gate->source];
    const int64_t of = prem_quotient(job, task->jobs) * source->jobs +
                       gate->job_of[prem_remainder(job, task->jobs)];
    if (of < source->next && (decision_of(source, of)->ticket.flags & PREM_TICKET_SKIP))
      return true;
  }
  return false;
}

PREM_SHARED_CODE void tell_of_task(prem_courier *c, int32_t t) {
  c->tasks[t].is_untold = c->has_untold_tasks = true;
}

PREM_SHARED_CALL void count_skipped(prem_courier *c, int32_t t, int64_t job) {
  ++c->tasks[t].left_out->skipped;
  tell_of_task(c, t);
  tell(c, PREM_EVENT_SKIPPED, t, job, 0);
}

/* Several overruns in hyperperiods of one mode lead one mode on. */
PREM_SHARED_CALL void degrade(prem_courier *c, int64_t hyperperiod) {
  if (c->mode_of[prem_courier_row(c, hyperperiod)] == c->mode && c->mode + 1 < c->mode_count)
    ++c->mode;
}

PREM_SHARED_CALL void count_overrun(prem_courier *c, int32_t t, int64_t job) {
  ++c->overruns;
  c->is_untold = true;
  ++c->tasks[t].overruns;
  tell_of_task(c, t);
  tell(c, PREM_EVENT_OVERRUN, t, job, 0);
  if (c->tasks[t].overrun == PREM_OVERRUN_STOP && !c->has_last)
    end_after_permitted(c, PREM_LIVE_OVERRUN);
  if (c->tasks[t].overrun == PREM_OVERRUN_DEGRADE)
    degrade(c, prem_quotient(job, c->tasks[t].jobs));
}

/* First of those that come last: whoever sees that a job was left out, and then tells a successor
 * that it is over, tells one whose ticket says so already. */
PREM_SHARED_CALL void give_up(prem_courier *c, int32_t t, int64_t job) {
  prem_live_task *task = &c->tasks[t];
  PREM_ROLLED
  for (int32_t i = 0; i < task->left_out->dependent_count; ++i) {
    const int32_t d = task->left_out->dependents[i];
    prem_live_task *dependent = &c->tasks[d];
    if (job >= dependent->left_out->next || is_left_out(dependent, job))
      continue;
    write_task_ticket(c, dependent, job, PREM_TICKET_SKIP);
    count_skipped(c, d, job);
  }
  write_task_ticket(c, task, job, PREM_TICKET_VOID);
  ++task->left_out->aborted;
  tell_of_task(c, t);
  tell(c, PREM_EVENT_ABORTED, t, job, 0);
}

/* A job is not over at its deadline. One that is left out waits for another, and is none. */
PREM_SHARED_CALL void overrun(prem_courier *c, int32_t t, int64_t job) {
  prem_live_task *task = &c->tasks[t];
  if (!is_left_out(task, job) && !lacks_frame(c, task, job)) {
    task->left_out->behind = job;
    count_overrun(c, t, job);
    if (task->overrun == PREM_OVERRUN_ABORT)
      give_up(c, t, job);
  }
  if (task->overrun == PREM_OVERRUN_SKIP && c->over[t] <= task->left_out->behind)
    task->left_out->skips_next = true;
}

PREM_SHARED_CALL bool look_at_deadline(prem_courier *c, int32_t t) {
  const prem_live_task *task = &c->tasks[t];
  prem_omissions *own = task->left_out;
  const int64_t job = own->judged;
  if (job == own->next)
    return false;
  if (c->over[t] <= job) {
    if (!is_due(c, task_release_ns(c, task, job) + task->deadline_ns))
      return false;
    overrun(c, t, job);
  }
  ++own->judged;
  return true;
}

PREM_SHARED_CODE bool is_off(const prem_courier *c, const prem_live_task *task, int64_t job) {
  const int64_t hyperperiod = prem_quotient(job, task->jobs);
  return task->off >> c->mode_of[prem_courier_row(c, hyperperiod)] & 1;
}

/* As soon as what it is made of is decided, and, unless it is off, it is known whether the job
 * before has overrun: at the job's release at the latest. */
PREM_SHARED_CALL bool decide_job(prem_courier *c, int32_t t) {
  prem_live_task *task = &c->tasks[t];
  prem_omissions *own = task->left_out;
  const int64_t job = own->next;
  if (prem_quotient(job, task->jobs) >= c->begun)
    return false;
  bool is_skipped = own->skips_next;
  PREM_ROLLED
  for (int32_t i = 0; i < own->maker_count; ++i) {
    const prem_live_task *maker = &c->tasks[own->makers[i]];
    if (maker->left_out->next <= job)
      return false;
    is_skipped |= task_flags(maker, job) != 0;
  }
  const bool has_no_job = is_off(c, task, job);
  if (task->overrun == PREM_OVERRUN_SKIP && own->judged < job && !has_no_job &&
      !is_due(c, task_release_ns(c, task, job)))
    return false;
  if (has_no_job) {
    is_skipped = true;
    ++own->off;
    tell_of_task(c, t);
  } else {
    own->skips_next = false;
    if (is_skipped)
      count_skipped(c, t, job);
  }
  ++own->next;
  write_task_ticket(c, task, job, is_skipped ? PREM_TICKET_SKIP : 0);
  return true;
}

PREM_SHARED_CODE bool leaves_out_jobs(const prem_live_task *task) {
  return task->deadline_ns > 0 &&
         (task->overrun == PREM_OVERRUN_SKIP || task->overrun == PREM_OVERRUN_ABORT ||
          task->overrun == PREM_OVERRUN_DEGRADE);
}

PREM_SHARED_CALL bool step_tasks(prem_courier *c) {
  bool has_changed = false;
  PREM_ROLLED
  for (int32_t t = 0; t < c->task_count; ++t) {
    if (!c->tasks[t].left_out)
      continue;
    while (leaves_out_jobs(&c->tasks[t]) && look_at_deadline(c, t))
      has_changed = true;
    while (decide_job(c, t))
      has_changed = true;
  }
  return has_changed;
}

/* ---- state arrays: where versions lie -------------------------------------------------------- */

/* What became of a job; -1: that is not known yet. A frame that lacks and a ticket say so before it
 * begins; that it is whole is known when it is over, where it can be given up until then. */
PREM_SHARED_CALL int has_run(const prem_courier *c, const prem_live_versions *of, int64_t job) {
  const prem_live_task *writer = &c->tasks[of->writer];
  if (writer->left_out && writer->left_out->next > job && is_left_out(writer, job))
    return 0;
  PREM_ROLLED
  for (int32_t g = 0; g < writer->gate_count; ++g) {
    const prem_gate *gate = &writer->gates[g];
    if (prem_quotient(job, writer->jobs) * c->streams[gate->source].jobs +
            gate->job_of[prem_remainder(job, writer->jobs)] >=
        c->streams[gate->source].next)
      return -1;
  }
  if (writer->left_out && writer->left_out->next <= job)
    return -1;
  if (is_left_out(writer, job) || lacks_frame(c, writer, job))
    return 0;
  return of->waits_for_end && c->over[of->writer] <= job ? -1 : 1;
}

PREM_SHARED_CALL bool find_version(prem_courier *c, prem_live_versions *of) {
  const int64_t job = of->next;
  const bool is_first = job == c->first_hyperperiod * of->jobs;
  if (!is_first && prem_quotient(job - 1, of->jobs) >= c->begun)
    return false;
  const int made = is_first ? 0 : has_run(c, of, job - 1);
  if (made < 0)
    return false;
  of->newest = (of->newest + made) % of->slots;
  prem_word_set_near(&of->tickets[(uint64_t)job & of->ring_mask],
                     ((uint64_t)job + 1) << 16 | (uint64_t)((of->newest + 1) % of->slots) << 8 |
                         (uint64_t)of->newest);
  ++of->next;
  ++c->decided;
  return true;
}

PREM_SHARED_CODE void step_versions(prem_courier *c) {
  PREM_ROLLED
  for (int32_t i = 0; i < c->version_count; ++i)
    while (c->versions[i].slots > 1 && find_version(c, &c->versions[i])) {
    }
}

#endif
