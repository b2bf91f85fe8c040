/* SPDX-License-Identifier: Apache-2.0 */
/** Decisions of a live session for its inputs: which frame a job gets. */
#ifndef TTPREM_RUNTIME_CORE_COURIER_SOURCES_H
#define TTPREM_RUNTIME_CORE_COURIER_SOURCES_H

#include "runtime/core/courier_common.h"

/* ---- sources: choosing frames --------------------------------------------------------------- */

PREM_SHARED_CALL void skip_job(prem_courier *c, prem_stream *source) {
  count_and_tell(c, source, PREM_COUNT_MISSING, source->next, 0);
  prem_decision nothing = no_decision();
  nothing.ticket.flags = PREM_TICKET_SKIP;
  decide(c, source, &nothing);
}

PREM_SHARED_CODE void count_frame(prem_stream *source, const prem_decision *frame) {
  count(source, frame->ticket.flags & PREM_TICKET_REPEAT ? PREM_COUNT_REPEATED : PREM_COUNT_TAKEN);
}

PREM_SHARED_CODE void use_frame(prem_courier *c, prem_stream *source, const prem_decision *frame) {
  begin_to_bring(c, source, frame->ticket.slot, frame->note.input);
  end_to_bring(c, source);
  count_frame(source, frame);
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

/* A frame that was taken, with its note. */
PREM_SHARED_CODE prem_decision frame_with(prem_stream *source, int32_t slot, uint64_t number,
                                          const prem_note *note) {
  prem_decision frame = no_decision();
  frame.ticket.slot = slot;
  frame.note = *note;
  frame.note.input = number;
  source->last = frame;
  source->has_last = true;
  keep_slot(source, slot);
  return frame;
}

/* The frame that was just taken. */
PREM_SHARED_CODE prem_decision new_frame(const prem_courier *c, prem_stream *source, int32_t slot,
                                         uint64_t number) {
  begin_to_bring(c, source, slot, number);
  const prem_note note = note_of(c, source, slot, number); /* it comes at the same time */
  return frame_with(source, slot, number, &note);
}

PREM_SHARED_CODE void mark_repeated(prem_decision *frame) {
  frame->ticket.flags = PREM_TICKET_REPEAT;
  frame->note.flags = PREM_FRAME_REPEATED;
}

PREM_SHARED_CALL void repeat_frame(prem_courier *c, prem_stream *source) {
  prem_decision frame = source->last;
  mark_repeated(&frame);
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

/* The note of a frame of a sampling port, and the frame with it; what the last job had is known. */
PREM_SHARED_CODE const prem_note *note_of_sample(const prem_courier *c, prem_stream *source,
                                                 int32_t slot, uint64_t number) {
  if (!source->has_last || source->last.note.input != number) {
    begin_to_bring(c, source, slot, number);
    source->last.note = note_of(c, source, slot, number);
    source->last.note.input = number;
    source->has_last = true;
  }
  return &source->last.note;
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
  const prem_note *note = note_of_sample(c, source, slot, number);
  if (is_too_old(c, source, note)) {
    prem_channel_release(&source->consumer, slot);
    return SAMPLE_STALE;
  }
  *out = no_decision();
  out->ticket.slot = slot;
  out->note = *note;
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
    if (found == SAMPLE_OLD)
      mark_repeated(&frame);
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

#endif
