/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The decisions of a live session: prem_courier_decide(). Compiled for the host by courier.c, and
 * for the GPU where the courier runs there; so it is C that is C++ as well, and calls nothing.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_STEPS_H
#define TTPREM_RUNTIME_CORE_COURIER_STEPS_H

#include "runtime/core/courier.h"

enum { OPEN_HYPERPERIODS = 3 }; /* begun by one block and not over on all */

/* Where frames lie in memory of two kinds, the courier brings small ones over itself. */
#ifndef PREM_CARRIES_FRAMES
PREM_SHARED_CODE void begin_to_bring(const prem_courier *c, const prem_stream *source, int32_t slot,
                                     uint64_t number) {
  (void)c, (void)source, (void)slot, (void)number;
}
PREM_SHARED_CODE void end_to_bring(const prem_courier *c, const prem_stream *source) {
  (void)c, (void)source;
}
PREM_SHARED_CODE prem_note note_of(const prem_courier *c, const prem_stream *source, int32_t slot,
                                   uint64_t number) {
  (void)c, (void)number;
  return source->face->channel.note[slot];
}
PREM_SHARED_CODE void send_frame(const prem_courier *c, const prem_stream *sink, int32_t slot) {
  (void)c, (void)sink, (void)slot;
}
#endif

/* ---- time and counts ------------------------------------------------------------------------ */

PREM_SHARED_CALL void tell_event(prem_courier *c, prem_live_event_kind kind, int64_t who,
                                 int64_t job, int64_t value) {
  const uint64_t words[PREM_EVENT_WORDS] = {(uint64_t)who << 8 | (uint64_t)kind, (uint64_t)job,
                                            (uint64_t)(c->base_ns + c->now_ns), (uint64_t)value};
  prem_events_write(&c->face->events, c->events++, words);
}

/* `who`: a stream or a task; of neither 0. */
PREM_SHARED_CODE void tell(prem_courier *c, prem_live_event_kind kind, int64_t who, int64_t job,
                           int64_t value) {
  if (c->listens)
    tell_event(c, kind, who, job, value);
}

PREM_SHARED_CODE void count(prem_stream *stream, int kind) {
  ++stream->counted[kind];
  stream->untold |= 1U << kind;
}

PREM_SHARED_CALL void count_and_tell(prem_courier *c, prem_stream *stream, int kind, int64_t job,
                                     int64_t value) {
  const prem_live_event_kind event = kind == PREM_COUNT_STALE     ? PREM_EVENT_STALE
                                     : kind == PREM_COUNT_DROPPED ? PREM_EVENT_DROPPED
                                     : kind == PREM_COUNT_LATE    ? PREM_EVENT_LATE
                                                                  : PREM_EVENT_MISSING;
  count(stream, kind);
  tell(c, event, stream - c->streams, job, value);
}

PREM_SHARED_CODE int64_t later_of(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Something will be due then. */
PREM_SHARED_CODE void wake_at(prem_courier *c, int64_t at_ns) {
  if (at_ns < c->wake_ns)
    c->wake_ns = at_ns;
}

PREM_SHARED_CODE bool is_due(prem_courier *c, int64_t at_ns) {
  if (c->now_ns >= at_ns)
    return true;
  wake_at(c, at_ns);
  return false;
}

PREM_SHARED_CODE void end_after_permitted(prem_courier *c, prem_live_end why) {
  c->has_last = true;
  c->end = why;
  c->is_untold = true;
  prem_word_set_near(&c->near->last.value, (uint64_t)c->begun);
  ++c->decided;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

/* When the last block had done it. */
PREM_SHARED_CODE int64_t job_end_ns(const prem_courier *c, int32_t task, int64_t job) {
  const prem_live_task *of = &c->tasks[task];
  const int64_t row = prem_courier_row(c, prem_quotient(job, of->jobs));
  return prem_load_end_ns(
      &c->job_end_ns[row * c->job_count + of->first_job + prem_remainder(job, of->jobs)]);
}

PREM_SHARED_CODE int64_t job_release_ns(const prem_courier *c, const prem_stream *stream,
                                        int64_t job) {
  return prem_courier_epoch_ns(c, prem_quotient(job, stream->jobs)) +
         prem_remainder(job, stream->jobs) * stream->period_ns + stream->release_ns;
}

PREM_SHARED_CODE prem_decision no_decision(void) {
  const prem_decision nothing = {{0, 0}, {0, 0, 0, 0, 0, 0}};
  return nothing;
}

PREM_SHARED_CODE prem_decision *decision_of(const prem_stream *stream, int64_t job) {
  return &stream->decisions[(uint64_t)job & stream->ring_mask];
}

/* May the next job of a stream be decided: its hyperperiod begins, and its ticket has room? */
PREM_SHARED_CODE bool may_decide(const prem_courier *c, const prem_stream *stream) {
  return prem_quotient(stream->next, stream->jobs) < c->begun &&
         stream->next - stream->oldest <= (int64_t)stream->ring_mask;
}

PREM_SHARED_CODE void decide(prem_courier *c, prem_stream *stream, const prem_decision *decision) {
  const prem_ticket ticket = decision->ticket;
  const uint64_t word =
      ((uint64_t)stream->next + 1) << 16 | (uint64_t)ticket.flags << 8 | (uint64_t)ticket.slot;
  *decision_of(stream, stream->next) = *decision;
  prem_word_set_near(&stream->tickets[(uint64_t)stream->next & stream->ring_mask], word);
  ++stream->next;
  ++c->decided;
}

/* ---- what is left out ----------------------------------------------------------------------- */

PREM_SHARED_CODE int64_t task_release_ns(const prem_courier *c, const prem_live_task *task,
                                         int64_t job) {
  return prem_courier_epoch_ns(c, prem_quotient(job, task->jobs)) +
         prem_remainder(job, task->jobs) * task->period_ns + task->release_ns;
}

/* Of a job that is decided. */
PREM_SHARED_CODE uint32_t task_flags(const prem_live_task *task, int64_t job) {
  uint32_t flags;
  prem_courier_task_ticket(task, job, &flags);
  return flags;
}

PREM_SHARED_CALL void write_task_ticket(prem_courier *c, prem_live_task *task, int64_t job,
                                        uint32_t flags) {
  prem_word_set_near(&task->left_out->tickets[(uint64_t)job & task->left_out->ring_mask],
                     ((uint64_t)job + 1) << 16 | (uint64_t)flags << 8);
  ++c->decided;
}

/* For an overrun, as far as that is known. */
PREM_SHARED_CODE bool is_left_out(const prem_live_task *task, int64_t job) {
  return task->left_out && job < task->left_out->next && task_flags(task, job) != 0;
}

/* How a result ends that will not be seen. */
PREM_SHARED_CODE int fate_of_result(const prem_live_task *writer, int64_t job) {
  const bool is_given_up = is_left_out(writer, job) && (task_flags(writer, job) & PREM_TICKET_VOID);
  return is_given_up ? PREM_COUNT_ABORTED : PREM_COUNT_MISSING;
}

/* ---- sources: choosing frames --------------------------------------------------------------- */

PREM_SHARED_CALL void skip_job(prem_courier *c, prem_stream *source) {
  count_and_tell(c, source, PREM_COUNT_MISSING, source->next, 0);
  prem_decision nothing = no_decision();
  nothing.ticket.flags = PREM_TICKET_SKIP;
  decide(c, source, &nothing);
}

PREM_SHARED_CODE void use_frame(prem_courier *c, prem_stream *source, const prem_decision *frame) {
  begin_to_bring(c, source, frame->ticket.slot, frame->note.input);
  end_to_bring(c, source);
  count(source, frame->ticket.flags & PREM_TICKET_REPEAT ? PREM_COUNT_REPEATED : PREM_COUNT_TAKEN);
  decide(c, source, frame);
}

PREM_SHARED_CODE void keep_slot(prem_stream *source, int32_t slot) {
  if (source->port.kind == PREM_LIVE_SAMPLING || source->port.missing != PREM_MISSING_REPEAT)
    return;
  prem_channel_hold(&source->consumer, slot);
  if (source->kept_slot >= 0)
    prem_channel_release(&source->consumer, source->kept_slot);
  source->kept_slot = slot;
}

/* The frame that was just taken. */
PREM_SHARED_CODE prem_decision new_frame(const prem_courier *c, prem_stream *source, int32_t slot,
                                         uint64_t number) {
  prem_decision frame = no_decision();
  begin_to_bring(c, source, slot, number);
  frame.ticket.slot = slot;
  frame.note = note_of(c, source, slot, number); /* it comes at the same time */
  frame.note.input = number;
  source->last = frame;
  source->has_last = true;
  keep_slot(source, slot);
  return frame;
}

PREM_SHARED_CALL void repeat_frame(prem_courier *c, prem_stream *source) {
  prem_decision frame = source->last;
  frame.ticket.flags = PREM_TICKET_REPEAT;
  frame.note.flags = PREM_FRAME_REPEATED;
  prem_channel_hold(&source->consumer, frame.ticket.slot);
  use_frame(c, source, &frame);
}

PREM_SHARED_CALL bool take_next(prem_courier *c, prem_stream *source) {
  uint64_t number;
  const int32_t slot = prem_channel_take(&source->consumer, &number);
  if (slot < 0)
    return false;
  const prem_decision frame = new_frame(c, source, slot, number);
  use_frame(c, source, &frame);
  return true;
}

/* Of a sampling port: the newest frame, if it may be used. */
typedef enum sample { SAMPLE_NONE, SAMPLE_STALE, SAMPLE_OLD, SAMPLE_NEW } sample;

PREM_SHARED_CODE bool is_too_old(const prem_courier *c, const prem_stream *source,
                                 const prem_note *note) {
  const int64_t age_ns = c->base_ns + c->now_ns - note->captured_ns;
  return source->port.max_age_ns > 0 && age_ns > source->port.max_age_ns;
}

/* SAMPLE_OLD and SAMPLE_NEW hold the slot of *out. */
PREM_SHARED_CALL sample look_at_newest(const prem_courier *c, prem_stream *source,
                                       prem_decision *out) {
  uint64_t number;
  const uint64_t new_from = source->consumer.first;
  const bool had_one = source->consumer.has_taken;
  const int32_t slot = prem_channel_take(&source->consumer, &number);
  if (slot < 0)
    return SAMPLE_NONE;
  const bool is_new = !had_one || number >= new_from;
  if (is_too_old(c, source, &source->face->channel.note[slot])) {
    prem_channel_release(&source->consumer, slot);
    return SAMPLE_STALE;
  }
  *out = no_decision();
  out->ticket.slot = slot;
  out->note = source->face->channel.note[slot];
  out->note.input = number;
  return is_new ? SAMPLE_NEW : SAMPLE_OLD;
}

/* False: it is waited with. */
PREM_SHARED_CALL bool do_without(prem_courier *c, prem_stream *source, int64_t job) {
  if (source->port.missing == PREM_MISSING_WAIT &&
      !is_due(c, job_release_ns(c, source, job) + source->bound_ns))
    return false;
  skip_job(c, source);
  return true;
}

PREM_SHARED_CALL bool sample_frame(prem_courier *c, prem_stream *source) {
  prem_decision frame;
  const sample found = look_at_newest(c, source, &frame);
  if (found == SAMPLE_NEW || (found == SAMPLE_OLD && source->port.missing == PREM_MISSING_REPEAT)) {
    if (found == SAMPLE_OLD) {
      frame.ticket.flags = PREM_TICKET_REPEAT;
      frame.note.flags = PREM_FRAME_REPEATED;
    }
    use_frame(c, source, &frame);
    return true;
  }
  if (found == SAMPLE_OLD)
    prem_channel_release(&source->consumer, frame.ticket.slot);
  const bool is_decided = do_without(c, source, source->next);
  if (is_decided && found == SAMPLE_STALE)
    count_and_tell(c, source, PREM_COUNT_STALE, source->next - 1, 0);
  return is_decided;
}

PREM_SHARED_CALL bool dequeue_frame(prem_courier *c, prem_stream *source) {
  if (take_next(c, source))
    return true;
  if (source->port.missing == PREM_MISSING_REPEAT && source->has_last) {
    repeat_frame(c, source);
    return true;
  }
  return do_without(c, source, source->next);
}

/* The frame of the next job, when it is time; a trigger's was chosen with its hyperperiod. */
PREM_SHARED_CODE bool choose_frame(prem_courier *c, prem_stream *source) {
  if (!may_decide(c, source) ||
      !is_due(c, job_release_ns(c, source, source->next) - source->port.lead_ns))
    return false;
  return source->port.kind == PREM_LIVE_SAMPLING ? sample_frame(c, source)
                                                 : dequeue_frame(c, source);
}

/* Nobody reads the ticket of this job any more. */
PREM_SHARED_CODE bool is_unused(const prem_courier *c, const prem_stream *source, int64_t job) {
  const int64_t hyperperiod = prem_quotient(job, source->jobs);
  for (int32_t u = 0; u < source->user_count; ++u) {
    const prem_source_user *user = &source->users[u];
    const int64_t needed =
        hyperperiod * c->tasks[user->task].jobs + user->done_by[prem_remainder(job, source->jobs)];
    if (c->over[user->task] < needed)
      return false;
  }
  return true;
}

PREM_SHARED_CODE bool retire_frame(prem_courier *c, prem_stream *source) {
  if (source->oldest == source->next || !is_unused(c, source, source->oldest))
    return false;
  const prem_ticket ticket = decision_of(source, source->oldest++)->ticket;
  if (!(ticket.flags & PREM_TICKET_SKIP))
    prem_channel_release(&source->consumer, ticket.slot);
  return true;
}

/* ---- tasks: leaving out jobs ----------------------------------------------------------------- */

/* Is the frame of a job, or of one that it depends on, not there for good? */
PREM_SHARED_CODE bool lacks_frame(const prem_courier *c, const prem_live_task *task, int64_t job) {
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
  for (int32_t i = 0; i < c->version_count; ++i)
    while (c->versions[i].slots > 1 && find_version(c, &c->versions[i])) {
    }
}

/* ---- sinks: granting slots, showing results -------------------------------------------------- */

/* What the writer's job is made of; false: that is not decided yet. */
PREM_SHARED_CODE bool gather_inputs(const prem_courier *c, const prem_stream *sink,
                                    prem_decision *out) {
  const prem_live_task *writer = &c->tasks[sink->writer];
  const int64_t hyperperiod = prem_quotient(sink->next, sink->jobs),
                job = prem_remainder(sink->next, sink->jobs);
  int32_t repeated = 0;
  *out = no_decision();
  out->note.job = sink->next;
  out->note.mode = c->mode_of[prem_courier_row(c, hyperperiod)];
  if (writer->left_out && writer->left_out->next <= sink->next)
    return false;
  if (is_left_out(writer, sink->next))
    out->ticket.flags = PREM_TICKET_SKIP;
  for (int32_t g = 0; g < writer->gate_count; ++g) {
    const prem_gate *gate = &writer->gates[g];
    const prem_stream *source = &c->streams[gate->source];
    const int64_t of = hyperperiod * source->jobs + gate->job_of[job];
    if (of >= source->next)
      return false;
    const prem_decision *input = decision_of(source, of);
    out->ticket.flags |= input->ticket.flags & PREM_TICKET_SKIP;
    repeated += (input->ticket.flags & PREM_TICKET_REPEAT) != 0;
    if (g == 0)
      out->note.input = input->note.input;
    if (g == 0 || input->note.captured_ns < out->note.captured_ns)
      out->note.captured_ns = input->note.captured_ns;
  }
  if (repeated > 0 && repeated == writer->gate_count)
    out->note.flags = PREM_FRAME_REPEATED;
  return true;
}

/* When the job's first writeback is planned, by the plan of the hyperperiod's mode. */
PREM_SHARED_CODE int64_t due_ns(const prem_courier *c, const prem_stream *sink, int64_t job) {
  return sink->due_ns[prem_courier_plan(c, prem_quotient(job, sink->jobs)) * sink->jobs +
                      prem_remainder(job, sink->jobs)];
}

/* A slot is granted when the job is released, not sooner: until then the host may need it. */
PREM_SHARED_CODE bool grant_slot(prem_courier *c, prem_stream *sink) {
  prem_decision decision;
  if (!may_decide(c, sink) || !gather_inputs(c, sink, &decision) ||
      !is_due(c, job_release_ns(c, sink, sink->next)))
    return false;
  if (decision.ticket.flags & PREM_TICKET_SKIP) {
    count_and_tell(c, sink, fate_of_result(&c->tasks[sink->writer], sink->next), sink->next, 0);
    decide(c, sink, &decision);
    return true;
  }
  decision.ticket.slot = prem_channel_take_free(&sink->producer);
  sink->is_short = decision.ticket.slot < 0;
  if (sink->is_short) {
    const int64_t epoch_ns = prem_courier_epoch_ns(c, prem_quotient(sink->next, sink->jobs));
    if (!is_due(c, sink->port.drops ? epoch_ns + due_ns(c, sink, sink->next)
                                    : job_release_ns(c, sink, sink->next) + sink->bound_ns))
      return false;
    count_and_tell(c, sink, PREM_COUNT_DROPPED, sink->next, 0);
    decision.ticket.flags = PREM_TICKET_VOID;
    decision.ticket.slot = sink->port.buffers;
    sink->is_short = false;
  }
  decide(c, sink, &decision);
  return true;
}

PREM_SHARED_CODE void count_behind(prem_stream *sink, int64_t behind_ns) {
  if (behind_ns <= (int64_t)sink->counted[PREM_COUNT_BEHIND])
    return;
  sink->counted[PREM_COUNT_BEHIND] = (uint64_t)behind_ns;
  sink->untold |= 1U << PREM_COUNT_BEHIND;
}

/* What goes with a result; at which instant it is shown. */
PREM_SHARED_CODE prem_note note_of_result(prem_courier *c, prem_stream *sink,
                                          const prem_decision *decision, int64_t at_ns) {
  prem_note note = decision->note;
  if (note.flags & PREM_FRAME_REPEATED)
    count(sink, PREM_COUNT_REPEATED);
  note.published_ns = c->base_ns + at_ns;
  return note;
}

#ifdef PREM_CARRIES_FRAMES
/* Ahead of its instant, at which it only takes a word then, which others write. */
PREM_SHARED_CODE void prepare_result(prem_courier *c, prem_stream *sink,
                                     const prem_decision *decision, int64_t at_ns) {
  if (sink->is_prepared)
    return;
  prem_note note = note_of_result(c, sink, decision, at_ns);
  note.flags |= PREM_NOTE_PROMISED;
  send_frame(c, sink, decision->ticket.slot);
  promise(c, sink, at_ns, prem_channel_put_down(&sink->producer, decision->ticket.slot, &note));
  sink->is_prepared = true;
}
#endif

/* It was ready before its instant, which has come: has it been handed on? */
PREM_SHARED_CODE bool is_handed_on(prem_courier *c, prem_stream *sink) {
#ifdef PREM_CARRIES_FRAMES
  if (!sink->is_prepared)
    return false;
  sink->is_prepared = false;
  count_behind(sink, promise_kept(c, sink));
  return true;
#else
  (void)c, (void)sink;
  return false;
#endif
}

/* At once; `at_ns` is its instant, if it has one. */
PREM_SHARED_CODE void publish_result(prem_courier *c, prem_stream *sink,
                                     const prem_decision *decision, int64_t at_ns) {
  const int64_t end_ns = at_ns < INT64_MAX ? job_end_ns(c, sink->writer, sink->oldest) : 0;
  prem_note note = note_of_result(c, sink, decision, c->now_ns);
  const int64_t copied_from_ns = at_ns - sink->port.copy.wcet_ns;
  if (end_ns > copied_from_ns) {
    note.flags |= PREM_FRAME_LATE;
    count_and_tell(c, sink, PREM_COUNT_LATE, sink->oldest, end_ns - copied_from_ns);
  } else if (at_ns < INT64_MAX) {
    count_behind(sink, c->now_ns - at_ns);
  }
  send_frame(c, sink, decision->ticket.slot);
  prem_channel_publish(&sink->producer, decision->ticket.slot, &note);
}

/* In the order of jobs, each when it is over on all blocks, and not before its instant. */
PREM_SHARED_CODE bool show_result(prem_courier *c, prem_stream *sink) {
  if (sink->oldest == sink->next || c->over[sink->writer] <= sink->oldest)
    return false;
  const prem_decision *decision = decision_of(sink, sink->oldest);
  const bool has_slot = !(decision->ticket.flags & (PREM_TICKET_SKIP | PREM_TICKET_VOID));
  if (has_slot && is_left_out(&c->tasks[sink->writer], sink->oldest)) {
    prem_channel_put_back(&sink->producer, decision->ticket.slot);
    count_and_tell(c, sink, fate_of_result(&c->tasks[sink->writer], sink->oldest), sink->oldest, 0);
  } else if (has_slot) {
    const bool is_timed = sink->port.publish_ns > 0;
    const int64_t at_ns = job_release_ns(c, sink, sink->oldest) + sink->port.publish_ns;
    if (is_timed && !is_due(c, at_ns)) {
#ifdef PREM_CARRIES_FRAMES
      const int64_t copy_ns = sink->port.copy.wcet_ns;
      if (copy_ns == 0 || is_due(c, at_ns - copy_ns))
        prepare_result(c, sink, decision, at_ns);
#endif
      return false;
    }
    if (!is_handed_on(c, sink))
      publish_result(c, sink, decision, is_timed ? at_ns : INT64_MAX);
  }
  ++sink->oldest;
  return true;
}

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
  if (c->block_snapshots)
    c->block_snapshots[row] = c->newest;
  if (c->newest == c->snapshot)
    return;
  c->snapshot = c->newest;
  tell(c, PREM_EVENT_ARGS, 0, hyperperiod, (int64_t)c->newest);
  c->is_untold = true;
}

PREM_SHARED_CODE uint64_t oldest_snapshot(const prem_courier *c) {
  return c->completed < c->begun ? c->snapshot_of[prem_courier_row(c, c->completed)] : c->snapshot;
}

/* The row that it uses belonged to a hyperperiod that nobody asks for any more. */
PREM_SHARED_CODE void permit(prem_courier *c, int64_t epoch_ns) {
  const int64_t hyperperiod = c->begun, row = prem_courier_row(c, hyperperiod);
  set_mode(c, hyperperiod, row);
  set_snapshot(c, hyperperiod, row);
  for (int64_t j = 0; j < c->job_count; ++j)
    prem_store_end_ns(&c->job_end_ns[row * c->job_count + j], -1);
  c->epoch_ns[row] = epoch_ns;
  if (c->block_epochs_ns)
    c->block_epochs_ns[row] = epoch_ns;
  if (c->block_plans)
    c->block_plans[row] = c->plan_of_mode[c->mode];
  c->begun = hyperperiod + 1;
  prem_word_set_near(&c->near->permitted.value, (uint64_t)c->begun);
  ++c->decided;
}

/* Where the next one begins by the host's clock, a little nearer to it than the last one was. */
PREM_SHARED_CODE int64_t follow_host(const prem_courier *c, int64_t next, int64_t planned_ns) {
  enum { PARTS = 10000 };
  const int64_t most_ns = c->hyperperiod_ns / PARTS + 1;
  const int64_t wanted_ns =
      c->host_start_ns + (next - c->first_hyperperiod) * c->hyperperiod_ns - c->base_ns;
  if (wanted_ns > planned_ns + most_ns)
    return planned_ns + most_ns;
  return later_of(wanted_ns, planned_ns - most_ns);
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
  uint64_t number = 0;
  if (has_come(c, trigger)) {
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
  if (!is_due(c, earliest_ns + c->submit_timeout_ns))
    return false;
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
  prem_word_set_behind(&c->face->kept.value, (uint64_t)at + 1);
}

/* @return whether a job is over that was not. */
PREM_SHARED_CODE bool look_at_blocks(prem_courier *c) {
  int64_t completed = INT64_MAX;
  bool has_changed = false;
  for (int32_t t = 0; t < c->task_count; ++t) {
    const int64_t over = c->over_now[t];
    has_changed |= over != c->over[t];
    judge_deadlines(c, t, c->over[t], over);
    c->over[t] = over;
    if (prem_quotient(over, c->tasks[t].jobs) < completed)
      completed = prem_quotient(over, c->tasks[t].jobs);
  }
  c->is_untold |= completed != c->completed;
  c->completed = completed;
  return has_changed;
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
    prem_word_set_behind(&counts[PREM_TASK_COUNT_OVERRUNS], task->overruns);
    if (!task->left_out)
      continue;
    prem_word_set_behind(&counts[PREM_TASK_COUNT_SKIPPED], task->left_out->skipped);
    prem_word_set_behind(&counts[PREM_TASK_COUNT_ABORTED], task->left_out->aborted);
    prem_word_set_behind(&counts[PREM_TASK_COUNT_OFF], task->left_out->off);
  }
  c->has_untold_tasks = false;
}

PREM_SHARED_CODE void tell_stream(prem_stream *stream) {
  for (int k = 0; stream->untold >> k != 0; ++k)
    if (stream->untold >> k & 1)
      prem_word_set_behind(&stream->face->counts[k], stream->counted[k]);
  stream->untold = 0;
  if (stream->consumer.is_untold)
    prem_word_set_behind(&stream->consumer.channel->passed.value,
                         prem_consumer_passed(&stream->consumer));
  stream->consumer.is_untold = false;
}

/* The host, for whom it need not be soon: nobody waits for it as long as there is something to
 * decide. What stands here says that others have read what is older. */
PREM_SHARED_CODE void tell_host(prem_courier *c) {
  prem_fence_far();
  for (int32_t s = 0; s < c->stream_count; ++s)
    tell_stream(&c->streams[s]);
  if (c->has_untold_tasks)
    tell_tasks(c);
  if (!c->is_untold)
    return;
  c->is_untold = false;
  for (; c->kept < c->completed; ++c->kept)
    keep_row(c, c->kept);
  prem_word_set_behind(&c->face->completed.value, (uint64_t)c->completed);
  prem_word_set_behind(&c->face->overruns.value, c->overruns);
  if (c->mode_begun >= 0)
    prem_word_set_behind(&c->face->mode.value,
                         (uint64_t)c->mode_from << 8 | (uint64_t)c->mode_begun);
  prem_word_set_behind(&c->face->snapshot.value, c->snapshot);
  prem_word_set_behind(&c->face->oldest.value, oldest_snapshot(c));
  prem_word_set_behind(&c->face->end.value, (uint64_t)c->end);
  if (c->has_last)
    prem_word_set_far(&c->face->ending.value, 1);
}

/**
 * All that is due, where `over_now` says what blocks have done. As prem_courier_step().
 *
 * Each step waits for those before it alone, and the first for hyperperiods that begin: so once is
 * enough, unless one begins. What others wait for comes before all: results, where jobs are over;
 * else a frame that starts a hyperperiod.
 */
PREM_SHARED_CODE int64_t prem_courier_decide(prem_courier *c, int64_t now_ns) {
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
  tell_host(c);
  if (is_over(c))
    prem_word_set_far(&c->face->done.value, 1);
  return c->wake_ns;
}

#endif
