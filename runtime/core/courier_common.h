/* SPDX-License-Identifier: Apache-2.0 */
/** What all decisions of a live session share: time and counts, jobs, what is left out. Begin with
 *  courier_steps.h. */
#ifndef TTPREM_RUNTIME_CORE_COURIER_COMMON_H
#define TTPREM_RUNTIME_CORE_COURIER_COMMON_H

#include "runtime/core/courier.h"

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
/* A hyperperiod begins. */
PREM_SHARED_CODE void tell_blocks(const prem_courier *c, int64_t hyperperiod, int64_t epoch_ns) {
  (void)epoch_ns;
  prem_word_set_near(&c->near->permitted.value, (uint64_t)hyperperiod + 1);
}
/* The next hyperperiod and its results, where others may have them in hand. */
PREM_SHARED_CODE bool has_begun_ahead(const prem_courier *c) {
  (void)c;
  return false;
}
/* Words for the host that need not be there soon. */
PREM_SHARED_CODE void begin_to_tell(void) {}
PREM_SHARED_CODE void put_word(prem_word *word, uint64_t value) {
  prem_word_set_far(word, value);
}
PREM_SHARED_CODE void end_to_tell(void) {}
PREM_SHARED_CODE void await_told(void) {}
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

/* Where the ticket of a stream's next job is written, and what. */
PREM_SHARED_CODE prem_word *next_ticket(const prem_stream *stream) {
  return &stream->tickets[(uint64_t)stream->next & stream->ring_mask];
}
PREM_SHARED_CODE uint64_t word_of_ticket(const prem_stream *stream, prem_ticket ticket) {
  return ((uint64_t)stream->next + 1) << 16 | (uint64_t)ticket.flags << 8 | (uint64_t)ticket.slot;
}

/* The ticket of a stream's next job is written: that job is decided. */
PREM_SHARED_CODE void settle(prem_courier *c, prem_stream *stream, const prem_decision *decision) {
  *decision_of(stream, stream->next) = *decision;
  ++stream->next;
  ++c->decided;
}

PREM_SHARED_CODE void decide(prem_courier *c, prem_stream *stream, const prem_decision *decision) {
  prem_word_set_near(next_ticket(stream), word_of_ticket(stream, decision->ticket));
  settle(c, stream, decision);
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

#endif
