/* SPDX-License-Identifier: Apache-2.0 */
/** Decisions of a live session for its outputs: where results go, and when they are shown. */
#ifndef TTPREM_RUNTIME_CORE_COURIER_SINKS_H
#define TTPREM_RUNTIME_CORE_COURIER_SINKS_H

#include "runtime/core/courier_common.h"

/* ---- sinks: granting slots, showing results -------------------------------------------------- */

/* What the writer's job is made of; false: that is not decided yet, of `prepared` 1 not even where
 * the next decision of each source will be. */
PREM_SHARED_CODE bool gather_inputs(const prem_courier *c, const prem_stream *sink,
                                    int32_t prepared, prem_decision *out) {
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
    if (of >= source->next + prepared)
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

/* Which frame of each source the writer's next job is made of, where its note cannot say it: with
 * the slot, which the host looks at only when the result is shown. Of several of a source the one
 * that was captured first. */
PREM_SHARED_CALL void put_inputs(const prem_courier *c, const prem_stream *sink, int32_t slot) {
  const prem_live_task *writer = &c->tasks[sink->writer];
  const int64_t hyperperiod = prem_quotient(sink->next, sink->jobs),
                job = prem_remainder(sink->next, sink->jobs);
  int32_t before = -1;
  int64_t oldest_ns = 0;
  for (int32_t g = 0; sink->has_inputs && g < writer->gate_count; ++g) {
    const prem_gate *gate = &writer->gates[g];
    const prem_stream *source = &c->streams[gate->source];
    const prem_note *of =
        &decision_of(source, hyperperiod * source->jobs + gate->job_of[job])->note;
    if (gate->source == before && of->captured_ns >= oldest_ns)
      continue;
    before = gate->source;
    oldest_ns = of->captured_ns;
    prem_input_note *to = &sink->producer.channel->inputs[slot][gate->source];
    to->number = of->input;
    to->captured_ns = of->captured_ns;
  }
}

/* When the job's first writeback is planned, by the plan of the hyperperiod's mode. */
PREM_SHARED_CODE int64_t due_ns(const prem_courier *c, const prem_stream *sink, int64_t job) {
  return sink->due_ns[prem_courier_plan(c, prem_quotient(job, sink->jobs)) * sink->jobs +
                      prem_remainder(job, sink->jobs)];
}

/* A slot is granted when the job is released, not sooner: until then the host may need it. */
PREM_SHARED_CODE bool grant_slot(prem_courier *c, prem_stream *sink) {
  prem_decision decision;
  if (!may_decide(c, sink) || !gather_inputs(c, sink, 0, &decision) ||
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
  } else {
    put_inputs(c, sink, decision.ticket.slot);
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

/* It was ready before its instant, which has come, or others hand it on: has that been done? */
PREM_SHARED_CODE bool is_handed_on(prem_courier *c, prem_stream *sink) {
#ifdef PREM_CARRIES_FRAMES
  if (is_shown_ahead(c, sink))
    return true;
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

#endif
