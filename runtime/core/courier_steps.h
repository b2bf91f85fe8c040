/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The decisions of a live session: prem_courier_decide(). Compiled for the host by courier.c, and
 * for the GPU where the courier runs there; so it is C that is C++ as well, and calls nothing.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_STEPS_H
#define TTPREM_RUNTIME_CORE_COURIER_STEPS_H

#include "runtime/core/courier_omissions.h"
#include "runtime/core/courier_sinks.h"
#include "runtime/core/courier_sources.h"

enum { OPEN_HYPERPERIODS = 3 }; /* begun by one block and not over on all */

/* ---- hyperperiods --------------------------------------------------------------------------- */

PREM_SHARED_CODE bool is_draining(const prem_courier *c) {
  return c->request == (uint64_t)PREM_COURIER_DRAIN;
}

PREM_SHARED_CODE bool is_queued(const prem_courier *c) {
  for (int32_t s = 0; s < c->source_count; ++s)
    if (c->streams[s].consumer.is_queue && prem_channel_has_new(&c->streams[s].consumer))
      return true;
  return false;
}

/* The mode of a hyperperiod: as the host wished since the last one, else as it was or as overruns
 * have left it. */
PREM_SHARED_CODE void set_mode(prem_courier *c, int64_t hyperperiod, int64_t row) {
  const uint64_t wishes = c->wish >> 8;
  if (wishes != c->granted)
    c->mode = (int32_t)(c->wish & 0xFF);
  c->granted = wishes;
  c->mode_of[row] = (uint8_t)c->mode;
  if (c->mode_begun == c->mode)
    return;
  if (c->mode_begun >= 0)
    tell(c, PREM_EVENT_MODE, 0, hyperperiod, c->mode);
  c->mode_begun = c->mode;
  c->mode_from = hyperperiod;
  c->is_untold = true;
}

/* The newest there is, for all tasks. */
PREM_SHARED_CODE void set_snapshot(prem_courier *c, int64_t hyperperiod, int64_t row) {
  c->snapshot_of[row] = c->newest;
  if (c->newest == c->snapshot)
    return;
  c->snapshot = c->newest;
  tell(c, PREM_EVENT_ARGS, 0, hyperperiod, (int64_t)c->newest);
  c->is_untold = true;
}

PREM_SHARED_CODE uint64_t oldest_snapshot(const prem_courier *c) {
  return c->completed < c->begun ? c->snapshot_of[prem_courier_row(c, c->completed)] : c->snapshot;
}

/* What does not depend on when the next hyperperiod begins, ahead, so that it begins at once then.
 * The row that it uses belonged to one that nobody asks for any more. */
PREM_SHARED_CODE void make_ready(prem_courier *c) {
  const int64_t hyperperiod = c->begun, row = prem_courier_row(c, hyperperiod);
  if (c->ready == hyperperiod || c->mode_begun < 0)
    return;
  c->ready = hyperperiod;
  c->mode_of[row] = (uint8_t)c->mode_begun;
  c->snapshot_of[row] = c->snapshot;
  for (int64_t j = 0; j < c->job_count; ++j)
    prem_store_end_ns(&c->job_end_ns[row * c->job_count + j], -1);
}

/* It has been made ready, and neither its mode nor its snapshot has changed since. */
PREM_SHARED_CODE bool is_ready(const prem_courier *c) {
  return c->ready == c->begun && c->wish >> 8 == c->granted && c->mode == c->mode_begun &&
         c->newest == c->snapshot;
}

PREM_SHARED_CALL void begin_row(prem_courier *c, int64_t hyperperiod, int64_t row) {
  set_mode(c, hyperperiod, row);
  set_snapshot(c, hyperperiod, row);
  for (int64_t j = 0; j < c->job_count; ++j)
    prem_store_end_ns(&c->job_end_ns[row * c->job_count + j], -1);
}

/* The next one begins there. */
PREM_SHARED_CODE void count_begun(prem_courier *c, int64_t epoch_ns) {
  c->epoch_ns[prem_courier_row(c, c->begun)] = epoch_ns;
  ++c->begun;
  ++c->decided;
}

PREM_SHARED_CODE void permit(prem_courier *c, int64_t epoch_ns) {
  const int64_t hyperperiod = c->begun, row = prem_courier_row(c, hyperperiod);
  if (!is_ready(c))
    begin_row(c, hyperperiod, row);
  count_begun(c, epoch_ns);
  tell_blocks(c, hyperperiod, epoch_ns);
}

/* Where the next one begins by the host's clock, a little nearer to it than the last one was, by
 * whole steps: a block that waits for an instant between two sees it late. */
PREM_SHARED_CODE int64_t follow_host(const prem_courier *c, int64_t next, int64_t planned_ns) {
  enum { PARTS = 10000 };
  const int64_t most_steps = (c->hyperperiod_ns / PARTS + c->step_ns) / c->step_ns;
  const int64_t wanted_ns =
      c->host_start_ns + (next - c->first_hyperperiod) * c->hyperperiod_ns - c->base_ns;
  const int64_t steps = (wanted_ns - planned_ns) / c->step_ns;
  if (steps > most_steps)
    return planned_ns + most_steps * c->step_ns;
  return planned_ns + later_of(steps, -most_steps) * c->step_ns;
}

PREM_SHARED_CODE int64_t earliest_epoch_ns(const prem_courier *c) {
  const int64_t next = c->begun;
  if (next == c->first_hyperperiod)
    return c->start_ns;
  const int64_t planned_ns = prem_courier_epoch_ns(c, next - 1) + c->hyperperiod_ns;
  return c->follows_host ? follow_host(c, next, planned_ns) : planned_ns;
}

PREM_SHARED_CODE bool permit_periodic(prem_courier *c) {
  if (is_draining(c) && !is_queued(c)) {
    end_after_permitted(c, PREM_LIVE_STOPPED);
    return true;
  }
  const int64_t epoch_ns = earliest_epoch_ns(c);
  if (!is_due(c, epoch_ns - c->ahead_ns))
    return false;
  permit(c, epoch_ns);
  return true;
}

/* No frame came for the next hyperperiod in all the time it had. */
PREM_SHARED_CALL void begin_without_frame(prem_courier *c, prem_stream *trigger) {
  if (trigger->port.missing == PREM_MISSING_WAIT) {
    end_after_permitted(c, PREM_LIVE_NO_FRAME);
    return;
  }
  permit(c, later_of(earliest_epoch_ns(c), c->now_ns));
  if (trigger->port.missing == PREM_MISSING_REPEAT && trigger->has_last)
    repeat_frame(c, trigger);
  else
    skip_job(c, trigger);
}

/* As it was seen before the clock. */
PREM_SHARED_CODE bool has_come(const prem_courier *c, const prem_stream *trigger) {
#ifdef __CUDACC__
  (void)c;
  return prem_channel_has_new(&trigger->consumer);
#else
  return c->came >> PREM_CHANNEL_SLOT_BITS > trigger->consumer.first;
#endif
}

/* The ticket is written behind the permission: a block that begins finds it, or waits for it. */
PREM_SHARED_CODE bool permit_triggered(prem_courier *c) {
  prem_stream *trigger = &c->streams[c->trigger];
  const int64_t earliest_ns = earliest_epoch_ns(c);
  const bool has_one = has_come(c, trigger);
  uint64_t number = 0;
  if (!has_one && !is_draining(c) && !is_due(c, earliest_ns + c->submit_timeout_ns))
    return false;
  if (has_begun_ahead(c))
    return true;
  if (has_one) {
    const int32_t slot = prem_channel_take(&trigger->consumer, &number);
    begin_to_bring(c, trigger, slot, number); /* blocks begin meanwhile */
    permit(c, later_of(earliest_ns, c->now_ns + trigger->port.lead_ns));
    const prem_decision frame = new_frame(c, trigger, slot, number);
    use_frame(c, trigger, &frame);
    return true;
  }
  if (is_draining(c)) {
    end_after_permitted(c, PREM_LIVE_STOPPED);
    return true;
  }
  begin_without_frame(c, trigger);
  return true;
}

PREM_SHARED_CODE bool permit_next(prem_courier *c) {
  if (c->has_last || c->begun - c->completed >= OPEN_HYPERPERIODS)
    return false;
  return c->trigger < 0 ? permit_periodic(c) : permit_triggered(c);
}

/* ---- what blocks have done ------------------------------------------------------------------ */

/* Of a task that leaves out jobs, those that overran were counted at their deadlines. */
PREM_SHARED_CALL void judge_deadlines(prem_courier *c, int32_t t, int64_t from, int64_t to) {
  const prem_live_task *task = &c->tasks[t];
  for (int64_t job = from; task->deadline_ns > 0 && job < to; ++job) {
    const bool is_late = job_end_ns(c, t, job) > task_release_ns(c, task, job) + task->deadline_ns;
    const bool is_counted = task->left_out && (job < task->left_out->judged ||
                                               is_left_out(task, job) || lacks_frame(c, task, job));
    if (is_late && !is_counted)
      count_overrun(c, t, job);
  }
}

/* The caller's trace keeps the first hyperperiods. */
PREM_SHARED_CODE void keep_row(prem_courier *c, int64_t hyperperiod) {
  const int64_t at = hyperperiod - c->first_hyperperiod, row = prem_courier_row(c, hyperperiod);
  if (at >= c->kept_rows)
    return; /* full */
  c->kept_epoch_ns[at] = c->epoch_ns[row];
  if (c->kept_mode_of)
    c->kept_mode_of[at] = c->mode_of[row];
  for (int64_t j = 0; j < c->job_count; ++j)
    c->kept_end_ns[at * c->job_count + j] =
        prem_load_end_ns(&c->job_end_ns[row * c->job_count + j]);
  put_word(&c->face->kept.value, (uint64_t)at + 1);
}

PREM_SHARED_CODE void judge_jobs(prem_courier *c) {
  for (int32_t t = 0; c->has_deadlines && t < c->task_count; ++t) {
    const int64_t over = c->over_now[t];
    judge_deadlines(c, t, c->over[t], over);
    c->over[t] = over;
  }
}

/* @return whether a job is over that was not. */
PREM_SHARED_CODE bool look_at_blocks(prem_courier *c) {
  if (!c->has_over)
    return false;
  c->has_over = false;
  judge_jobs(c);
  c->is_untold |= c->completed_now != c->completed;
  c->completed = c->completed_now;
  return true;
}

/* All hyperperiods are over, and of every sink every result is shown. */
PREM_SHARED_CODE bool is_over(const prem_courier *c) {
  if (!c->has_last || c->completed < c->begun)
    return false;
  for (int32_t s = c->source_count; s < c->stream_count; ++s)
    if (c->streams[s].oldest < c->begun * c->streams[s].jobs)
      return false;
  return true;
}

PREM_SHARED_CODE void step_sources(prem_courier *c) {
  for (int32_t s = 0; s < c->source_count; ++s) {
    while (retire_frame(c, &c->streams[s])) {
    }
    while (choose_frame(c, &c->streams[s])) {
    }
  }
}

PREM_SHARED_CODE void show_results(prem_courier *c) {
  for (int32_t s = c->source_count; s < c->stream_count; ++s)
    while (show_result(c, &c->streams[s])) {
    }
}

/** Ahead of all else, and of prem_courier_decide(): results of jobs that are over, for which the
 *  host waits. */
PREM_SHARED_CODE void prem_courier_show(prem_courier *c, int64_t now_ns) {
  c->now_ns = now_ns;
  judge_jobs(c);
  show_results(c);
}

PREM_SHARED_CODE void grant_slots(prem_courier *c) {
  for (int32_t s = c->source_count; s < c->stream_count; ++s)
    while (grant_slot(c, &c->streams[s])) {
    }
}

PREM_SHARED_CALL void tell_tasks(prem_courier *c) {
  for (int32_t t = 0; t < c->task_count; ++t) {
    prem_live_task *task = &c->tasks[t];
    prem_word *counts = c->task_faces[t].counts;
    if (!task->is_untold)
      continue;
    task->is_untold = false;
    put_word(&counts[PREM_TASK_COUNT_OVERRUNS], task->overruns);
    if (!task->left_out)
      continue;
    put_word(&counts[PREM_TASK_COUNT_SKIPPED], task->left_out->skipped);
    put_word(&counts[PREM_TASK_COUNT_ABORTED], task->left_out->aborted);
    put_word(&counts[PREM_TASK_COUNT_OFF], task->left_out->off);
  }
  c->has_untold_tasks = false;
}

PREM_SHARED_CODE void tell_stream(prem_stream *stream) {
  for (int k = 0; stream->untold >> k != 0; ++k)
    if (stream->untold >> k & 1)
      put_word(&stream->face->counts[k], stream->counted[k]);
  stream->untold = 0;
  if (stream->consumer.is_untold)
    put_word(&stream->consumer.channel->passed.value, prem_consumer_passed(&stream->consumer));
  stream->consumer.is_untold = false;
}

PREM_SHARED_CODE void tell_progress(prem_courier *c) {
  c->is_untold = false;
  for (; c->kept < c->completed; ++c->kept)
    keep_row(c, c->kept);
  put_word(&c->face->completed.value, (uint64_t)c->completed);
  put_word(&c->face->overruns.value, c->overruns);
  if (c->mode_begun >= 0)
    put_word(&c->face->mode.value, (uint64_t)c->mode_from << 8 | (uint64_t)c->mode_begun);
  put_word(&c->face->snapshot.value, c->snapshot);
  put_word(&c->face->oldest.value, oldest_snapshot(c));
  put_word(&c->face->end.value, (uint64_t)c->end);
  if (c->ahead > 0)
    put_word(&c->face->ahead.value, c->ahead);
  if (c->has_last)
    prem_word_set_far(&c->face->ending.value, 1);
}

/** The host, for whom it need not be soon: nobody waits for it as long as there is something to
 *  decide. What stands here says that others have read what is older. */
PREM_SHARED_CODE void prem_courier_tell(prem_courier *c) {
  begin_to_tell();
  for (int32_t s = 0; s < c->stream_count; ++s)
    tell_stream(&c->streams[s]);
  if (c->has_untold_tasks)
    tell_tasks(c);
  if (c->is_untold)
    tell_progress(c);
  end_to_tell();
}

/** Ahead of all else, and of prem_courier_decide(), which has to follow: a hyperperiod that a frame
 *  begins, and slots for its results, where those wait for nothing else.
 *  @return whether one began. */
PREM_SHARED_CODE bool prem_courier_start(prem_courier *c, int64_t now_ns) {
  c->now_ns = now_ns;
  if (!permit_next(c))
    return false;
  grant_slots(c);
  return true;
}

/**
 * All that is due, where prem_courier_see() has said what blocks have done. As
 * prem_courier_step().
 *
 * Each step waits for those before it alone, and the first for hyperperiods that begin: so once is
 * enough, unless one begins. What others wait for comes before all: results, where jobs are over;
 * else a frame that starts a hyperperiod.
 *
 * @param tells  tell the host what has changed: else the next one will, or prem_courier_tell()
 */
PREM_SHARED_CODE int64_t prem_courier_decide(prem_courier *c, int64_t now_ns, bool tells) {
  c->now_ns = now_ns;
  bool is_once = false, asks = !look_at_blocks(c) && c->trigger >= 0;
  for (;;) {
    const bool begins = asks && permit_next(c);
    if (is_once && !begins)
      break;
    is_once = asks = true;
    c->wake_ns = INT64_MAX;
    show_results(c);
    step_sources(c);
    /* all of it: a job that is given up has no result that could be dropped */
    while (c->leaves_out_jobs && step_tasks(c)) {
    }
    step_versions(c);
    grant_slots(c);
  }
  if (!c->has_last)
    make_ready(c);
  if (tells || is_over(c))
    prem_courier_tell(c);
  if (is_over(c)) {
    await_told();
    prem_word_set_far(&c->face->done.value, 1);
  }
  return c->wake_ns;
}

#endif
