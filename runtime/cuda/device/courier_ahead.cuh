/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of the courier of a live session on the GPU: the next hyperperiod that a frame will begin,
 * prepared ahead. All that is to be decided for it but the frame's instant is decided while nothing
 * else is to be done. So what is between a frame and its result is short, and done by warps that
 * wait for it:
 *
 *   - the decider prepares it: what blocks will find at its begin (prem_begin_line), which has the
 *     tickets of the frame that will come next, of the newest samples and of its results; and it
 *     catches up when it has begun
 *   - the listener begins it, where the frame is the one that was expected and nothing came with it
 *     that would have to be decided: a wish, newer arguments, a newer sample
 *   - the keeper shows its results as soon as their writer's job is over on all blocks
 *
 * Whose it is when says runtime/core/courier_warps.h, and all orders of the steps that are there
 * are gone through in tests/runtime/test_ahead.c.
 *
 * Limits: sessions with a trigger whose jobs are never left out, and beside it samples alone that
 * are taken when the hyperperiod begins, whatever their age (is_plain_sample); frames of one row of
 * up to 4.5 KiB, or such as others bring. Other frames, or what cannot be prepared, go by
 * prem_courier_start() and prem_courier_decide(). The keeper shows results of the first four
 * outputs, of the same size, and only in sessions in which no result has an instant.
 */
#ifndef TTPREM_RUNTIME_CUDA_DEVICE_COURIER_AHEAD_CUH
#define TTPREM_RUNTIME_CUDA_DEVICE_COURIER_AHEAD_CUH

#include "runtime/cuda/device/courier_look.cuh"

namespace {

/** Tickets and slots of streams that have one job in a hyperperiod are prepared; of others the
 *  decider writes them as ever. */
__device__ __forceinline__ bool is_once(const prem_stream *stream) {
  return stream->jobs == 1;
}

/* ---- short rows ------------------------------------------------------------------------------ */

/** A frame that a warp brings over at once, all its pieces at the same time. */
constexpr int32_t SHORT_PIECES = 9, SHORT_BYTES = 32 * 16 * SHORT_PIECES;

__device__ __forceinline__ bool is_short_row(const prem_device_carry *of) {
  return of->host == nullptr || (rows_of(of) == 1 && of->row_bytes <= SHORT_BYTES);
}

struct row_pieces {
  int4 whole[SHORT_PIECES];
  unsigned char last;
};

/** A lane's pieces of a row are on their way. */
__device__ __forceinline__ void row_load(const unsigned char *from, int32_t bytes, int32_t lane,
                                         row_pieces *out) {
  const int32_t count = bytes >> 4;
#pragma unroll
  for (int32_t i = 0; i < SHORT_PIECES; ++i)
    if (lane + 32 * i < count)
      out->whole[i] = prem_load_fresh((const int4 *)from + lane + 32 * i);
  if (lane < (bytes & 15))
    out->last = *(const volatile unsigned char *)(from + 16 * count + lane);
}

__device__ __forceinline__ void row_store(unsigned char *to, int32_t bytes, int32_t lane,
                                          const row_pieces &pieces) {
  const int32_t count = bytes >> 4;
#pragma unroll
  for (int32_t i = 0; i < SHORT_PIECES; ++i)
    if (lane + 32 * i < count)
      ((int4 *)to)[lane + 32 * i] = pieces.whole[i];
  if (lane < (bytes & 15))
    to[16 * count + lane] = pieces.last;
}

/* ---- the decider: preparing ------------------------------------------------------------------ */

/** Has a session no task whose overruns end it, and no state array whose versions depend on more
 *  than the hyperperiod before? One lane. */
__device__ bool has_simple_tasks(const prem_courier *c) {
  for (int32_t t = 0; t < c->task_count; ++t)
    if (c->tasks[t].deadline_ns > 0 && c->tasks[t].overrun == PREM_OVERRUN_STOP)
      return false;
  for (int32_t i = 0; i < c->version_count; ++i)
    if (c->versions[i].slots > 1 && c->versions[i].jobs != 1)
      return false;
  return !c->leaves_out_jobs;
}

/** From the begin of a hyperperiod: when a sample is taken, which has one job in it. */
__device__ __forceinline__ int64_t sampled_ns(const prem_stream *source) {
  return source->release_ns - source->port.lead_ns;
}

/** Is a sample taken as soon as a frame begins a hyperperiod, and is the newest one used, however
 *  old it is? */
__device__ bool is_plain_sample(const prem_courier *c, const prem_stream *source) {
  return source->port.kind == PREM_LIVE_SAMPLING && is_once(source) &&
         source->port.missing == PREM_MISSING_REPEAT && source->port.max_age_ns == 0 &&
         sampled_ns(source) + c->streams[c->trigger].port.lead_ns <= 0;
}

/** Are all inputs but the trigger such samples? One lane. */
__device__ bool has_plain_samples(const prem_courier *c) {
  for (int32_t s = 0; s < c->source_count; ++s)
    if (s != c->trigger && !is_plain_sample(c, &c->streams[s]))
      return false;
  return true;
}

/** What never changes: are hyperperiods prepared ahead, and are their results shown by the keeper?
 *  One lane. */
__device__ void ahead_set_up(const prem_courier *c) {
  ahead.shared.state = PREM_AHEAD_NONE;
  ahead.shared.is_recalled = ahead.shared.shown_until = 0;
  ahead.shared.compared = 1u << WISH | 1u << NEWEST | ((1u << c->source_count) - 1) << STREAMS;
  ahead.is_used = c->trigger >= 0 && is_once(&c->streams[c->trigger]) &&
                  is_short_row(&own_carries[c->trigger]) && has_simple_tasks(c) &&
                  has_plain_samples(c);
  ahead.shows_results = ahead.is_used;
  for (int32_t s = c->source_count; s < c->stream_count; ++s)
    ahead.shows_results &= c->streams[s].port.publish_ns == 0;
  ahead.lacks_results = false;
  for (int32_t i = 0; i < SHOWN_SINKS; ++i)
    ahead.sinks[i] = prem_ahead_sink{0, 0, false};
  for (int32_t i = 0; ahead.shows_results && i < 2 * SHOWN_SINKS; ++i)
    handing.results[i].begun = 0;
}

/** Is the ticket of its next job, of the next hyperperiod, all that there is to be decided for it,
 * and is there room for it? */
__device__ __forceinline__ bool is_at_next(const prem_courier *c, const prem_stream *stream) {
  return stream->next == c->begun && stream->next - stream->oldest <= (int64_t)stream->ring_mask;
}

/** Nothing is known that would have the next hyperperiod begin otherwise than by the next frame.
 * One lane. */
__device__ bool can_prepare(const prem_courier *c) {
  const prem_stream *trigger = &c->streams[c->trigger];
  const uint64_t count = trigger->consumer.first + 1;
  if (c->has_last || c->begun - c->completed >= OPEN_HYPERPERIODS || is_draining(c) ||
      prem_channel_has_new(&trigger->consumer) || !is_at_next(c, trigger) ||
      count << PREM_CHANNEL_SLOT_BITS >> PREM_CHANNEL_SLOT_BITS != count)
    return false;
  for (int32_t i = 0; i < c->version_count; ++i) /* the version that it finds is known */
    if (c->versions[i].slots > 1 && c->versions[i].next <= c->begun)
      return false;
  for (int32_t s = 0; s < c->stream_count; ++s)
    if (is_once(&c->streams[s]) && !is_at_next(c, &c->streams[s]))
      return false;
  return is_ready(c);
}

/* ---- the decider: samples -------------------------------------------------------------------- */

/** Its next job's decision is where it will be when that is decided. */
__device__ __forceinline__ prem_decision *next_decision(const prem_stream *source) {
  return decision_of(source, source->next);
}

/** As if it had not been taken: what was new to its consumer is so again. One lane. */
__device__ void sample_put_back(prem_stream *source) {
  const prem_decision *taken = next_decision(source);
  if (!(taken->ticket.flags & PREM_TICKET_REPEAT))
    source->consumer.first = taken->note.input;
  prem_channel_release(&source->consumer, taken->ticket.slot);
}

/** Has the host two of its slots left, beside those that are held? */
__device__ bool has_slots_left(const prem_stream *source) {
  int32_t held = 0;
  for (int32_t slot = 0; slot < source->port.buffers; ++slot)
    held += source->consumer.holds[slot] > 0;
  return held + 2 <= source->port.buffers;
}

/** The newest sample, as it is now: the listener sees to it that it still is when the frame comes.
 *  One lane.
 *  @return false: there is none, or the host would lack a slot; nothing is held. */
__device__ bool sample_take(const prem_courier *c, prem_stream *source) {
  prem_decision *taken = next_decision(source);
  const sample found = look_at_newest(c, source, taken);
  if (found != SAMPLE_OLD && found != SAMPLE_NEW)
    return false;
  if (found == SAMPLE_OLD)
    mark_repeated(taken);
  if (!has_slots_left(source)) {
    sample_put_back(source);
    return false;
  }
  begin_to_bring(c, source, taken->ticket.slot, taken->note.input);
  end_to_bring(c, source);
  ahead.shared.expected[STREAMS + (source - c->streams)] =
      (taken->note.input + 1) << PREM_CHANNEL_SLOT_BITS | (uint64_t)taken->ticket.slot;
  return true;
}

/** Of those before source `end`. One lane. */
__device__ void samples_put_back(prem_courier *c, int32_t end) {
  for (int32_t s = 0; s < end; ++s)
    if (s != c->trigger)
      sample_put_back(&c->streams[s]);
}

/** One lane. @return false: one lacks, and none is held. */
__device__ bool samples_take(prem_courier *c) {
  for (int32_t s = 0; s < c->source_count; ++s)
    if (s != c->trigger && !sample_take(c, &c->streams[s])) {
      samples_put_back(c, s);
      return false;
    }
  return true;
}

/** Is there a newer one than what is prepared has? */
__device__ bool has_newer_sample(const prem_courier *c) {
  bool has_one = false;
  for (int32_t s = 0; s < c->source_count; ++s)
    has_one |= s != c->trigger && prem_channel_has_new(&c->streams[s].consumer);
  return has_one;
}

/* ---- the decider: results -------------------------------------------------------------------- */

/** Put back the slots of its results, of those before stream `end`. One lane. */
__device__ void slots_put_back(prem_courier *c, int32_t end) {
  for (int32_t s = c->source_count; s < end; ++s)
    if (is_once(&c->streams[s]))
      prem_channel_put_back(&c->streams[s].producer, ahead.slots[s]);
}

/** Slots for all its results. A slot that is free now will be free when the result is made. One
 * lane.
 *  @return false: one has none, and none was taken. */
__device__ bool slots_take(prem_courier *c) {
  for (int32_t s = c->source_count; s < c->stream_count; ++s) {
    if (!is_once(&c->streams[s]))
      continue;
    const int32_t slot = prem_channel_take_free(&c->streams[s].producer);
    if (slot < 0) {
      slots_put_back(c, s);
      return false;
    }
    ahead.slots[s] = (uint8_t)slot;
  }
  return true;
}

/** Its place among those that the keeper shows; -1: none. */
__device__ __forceinline__ int32_t shown_place(const prem_courier *c, const prem_stream *sink) {
  const int32_t place = (int32_t)(sink - c->streams) - c->source_count;
  return ahead.shows_results && place < SHOWN_SINKS ? place : -1;
}

/** Slots that are being filled. */
__device__ __forceinline__ uint32_t slots_in_hand(const prem_stream *sink) {
  uint32_t count = 0;
  for (uint32_t left = sink->producer.writing; left != 0; left &= left - 1)
    ++count;
  return count;
}

/** Is its result made of the trigger's frame, perhaps of samples too, or of no frame at all? Of one
 *  that is made of samples alone the decider has to count those that are repeated. */
__device__ bool is_told_by_frame(const prem_courier *c, const prem_stream *sink) {
  const prem_live_task *writer = &c->tasks[sink->writer];
  bool has_trigger = writer->gate_count == 0;
  for (int32_t g = 0; g < writer->gate_count; ++g)
    has_trigger |= writer->gates[g].source == c->trigger;
  return has_trigger;
}

/** Have the keeper show its result. Its slot is taken, and `before` are behind the last one that
 * was shown. One lane. */
__device__ void result_put_down(const prem_courier *c, const prem_stream *sink, uint32_t before) {
  const int32_t place = shown_place(c, sink), s = (int32_t)(sink - c->streams);
  const prem_device_carry *carry = &own_carries[s];
  shown_result *of = &handing.results[2 * place + prem_ahead_put(&ahead.sinks[place])];
  const int32_t slot = ahead.slots[s];
  prem_decision made;
  gather_inputs(c, sink, 1, &made);
  of->note = made.note;
  of->number = sink->producer.next + before;
  of->from = carry->device + slot * carry->device_slot_bytes;
  of->to = carry->host + slot * carry->host_slot_bytes;
  of->bytes = carry->host == nullptr ? 0 : carry->row_bytes;
  of->channel = sink->producer.channel;
  of->slot = slot;
  of->writer = sink->writer;
  put_inputs(c, sink, slot);
  of->has_inputs = sink->has_inputs;
  prem_ahead_put_down(&of->begun, (uint64_t)c->begun + 1);
}

/** Of what is prepared, have the keeper show the results that it is not to show yet, and that come
 *  right behind others of its own: one that the decider shows it may not overtake. One lane. */
__device__ void results_put_down(const prem_courier *c) {
  bool lacks_one = false;
  for (int32_t s = c->source_count; s < c->stream_count; ++s) {
    const prem_stream *sink = &c->streams[s];
    const int32_t place = shown_place(c, sink);
    if (place < 0 || ahead.sinks[place].is_put || !is_once(sink) ||
        !is_short_row(&own_carries[s]) || !is_told_by_frame(c, sink))
      continue;
    const uint32_t before = slots_in_hand(sink) - 1;
    if (prem_ahead_may_put(&ahead.sinks[place], before))
      result_put_down(c, sink, before);
    lacks_one |= !ahead.sinks[place].is_put;
  }
  ahead.lacks_results = lacks_one;
}

/** The keeper was to show it, and will not: it has not begun. One lane. */
__device__ void result_take_back(const prem_courier *c, const prem_stream *sink) {
  const int32_t place = shown_place(c, sink);
  if (place >= 0)
    prem_ahead_take_back(&ahead.sinks[place], &handing.results[2 * place].begun,
                         &handing.results[2 * place + 1].begun);
}

/** What blocks will find at its begin: the tickets of all streams that have one job, too. One lane.
 */
__device__ void begin_put_down(const prem_courier *c, int32_t frame_slot) {
  static_assert(PREM_BEGIN_TICKETS + PREM_DEVICE_STREAMS <= PREM_BEGIN_WORDS &&
                    8 + PREM_DEVICE_STREAMS <= 32,
                "a word for each stream's ticket, and a bit that it is there");
  uint32_t tickets = 0;
  for (int32_t s = 0; s < c->stream_count; ++s) {
    if (!is_once(&c->streams[s]))
      continue;
    prem_ticket ticket = {0, s == c->trigger ? frame_slot : ahead.slots[s]};
    if (s != c->trigger && s < c->source_count)
      ticket = next_decision(&c->streams[s])->ticket;
    ahead.says[PREM_BEGIN_TICKETS + s] =
        PREM_BEGIN_TOLD | ticket.flags << 8 | (uint32_t)ticket.slot;
    tickets |= 1u << s;
  }
  ahead.says[PREM_BEGIN_SNAPSHOT] = (uint32_t)c->snapshot;
  ahead.says[PREM_BEGIN_PLAN] = c->plan_of_mode[c->mode_begun] | tickets << 8;
  ahead.words = c->begins[prem_courier_row(c, c->begun)].words;
  ahead.begun = (uint64_t)c->begun + 1;
}

/** What is known of the trigger's frame, where its decision will be: all but its instant. One lane.
 */
__device__ void trigger_put_down(const prem_stream *trigger) {
  prem_decision *frame = next_decision(trigger);
  *frame = no_decision();
  frame->note.input = trigger->consumer.first;
  frame->note.captured_ns = INT64_MAX;
}

/** What the listener has to know. One lane. */
__device__ void frame_expect(const prem_courier *c, int32_t slot) {
  const prem_stream *trigger = &c->streams[c->trigger];
  const prem_device_carry *carry = &own_carries[c->trigger];
  ahead.shared.expected[WISH] = c->wish;
  ahead.shared.expected[NEWEST] = c->newest;
  ahead.shared.expected[STREAMS + c->trigger] =
      (trigger->consumer.first + 1) << PREM_CHANNEL_SLOT_BITS | (uint64_t)slot;
  ahead.from = carry->host + slot * carry->host_slot_bytes;
  ahead.to = carry->device + slot * carry->device_slot_bytes;
  ahead.bytes = carry->host == nullptr ? 0 : carry->row_bytes;
  ahead.note = &trigger->face->channel.note[slot];
  ahead.earliest_ns = earliest_epoch_ns(c);
  ahead.from_ns = INT64_MIN;
  for (int32_t s = 0; s < c->source_count; ++s)
    if (s != c->trigger)
      ahead.from_ns = max((long long)ahead.from_ns,
                          (long long)(ahead.earliest_ns + sampled_ns(&c->streams[s])));
  ahead.lead_ns = trigger->port.lead_ns;
  ahead.slot = slot;
}

/** The slot that the host fills next, if it takes them in turn and fills what it takes. */
__device__ __forceinline__ int32_t next_slot(const prem_stream *trigger) {
  const int32_t slot = trigger->has_last ? trigger->last.ticket.slot + 1 : 0;
  return slot < trigger->port.buffers ? slot : 0;
}

enum outlook : int32_t { NOT_NOW, LACKS_SLOTS, IS_PREPARED };

__device__ void prepared_undo(prem_courier *c);

/** Prepare the next hyperperiod, if a frame is all that it lacks; anew, if there is a newer sample.
 *  One lane. */
__device__ __noinline__ outlook prepare_next(prem_courier *c) {
  if (prem_ahead_look(&ahead.shared) == PREM_AHEAD_PREPARED && has_newer_sample(c) &&
      !prem_ahead_recall(&ahead.shared, &is_leaving))
    prepared_undo(c);
  if (prem_ahead_look(&ahead.shared) != PREM_AHEAD_NONE)
    return NOT_NOW;
  make_ready(c);
  if (!can_prepare(c) || !samples_take(c))
    return NOT_NOW;
  if (!slots_take(c)) {
    samples_put_back(c, c->source_count);
    return LACKS_SLOTS;
  }
  const int32_t slot = next_slot(&c->streams[c->trigger]);
  trigger_put_down(&c->streams[c->trigger]);
  begin_put_down(c, slot);
  for (int32_t i = 0; i < SHOWN_SINKS; ++i)
    ahead.sinks[i].is_put = false;
  results_put_down(c);
  frame_expect(c, slot);
  prem_ahead_offer(&ahead.shared);
  return IS_PREPARED;
}

/** Results were shown: those of what is prepared may come right behind them now. One lane. */
__device__ __forceinline__ void results_go_on(const prem_courier *c) {
  if (ahead.lacks_results && prem_ahead_look(&ahead.shared) != PREM_AHEAD_NONE)
    results_put_down(c);
}

/* ---- the decider: catching up, and taking back ------------------------------------------------
 */

/** It is decided otherwise: as if it had not been prepared. One lane. */
__device__ void prepared_undo(prem_courier *c) {
  for (int32_t s = c->source_count; s < c->stream_count; ++s)
    if (is_once(&c->streams[s]))
      result_take_back(c, &c->streams[s]);
  slots_put_back(c, c->stream_count);
  samples_put_back(c, c->source_count);
  prem_ahead_close(&ahead.shared);
}

/** The frame that has begun it and the samples that it has are taken. One lane. */
__device__ void frames_count(prem_courier *c) {
  for (int32_t s = 0; s < c->source_count; ++s) {
    prem_stream *source = &c->streams[s];
    prem_decision *taken = next_decision(source);
    if (s == c->trigger) {
      const uint64_t number = prem_consumer_take_from(&source->consumer, ahead.slot);
      own_carries[s].brought[ahead.slot] = number + 1;
      *taken = frame_with(source, ahead.slot, number, &ahead.frame);
    }
    count_frame(source, taken);
    settle(c, source, taken);
  }
}

/** The listener has begun it: what it has done is done to the decider's own state. One lane. */
__device__ __noinline__ void catch_up(prem_courier *c) {
  const int64_t hyperperiod = c->begun;
  count_begun(c, ahead.epoch_ns);
  frames_count(c);
  for (int32_t s = c->source_count; s < c->stream_count; ++s) {
    prem_stream *sink = &c->streams[s];
    prem_decision decision;
    if (!is_once(sink) || sink->next != hyperperiod || !gather_inputs(c, sink, 0, &decision))
      continue;
    decision.ticket.slot = ahead.slots[s];
    const int32_t place = shown_place(c, sink);
    if (place < 0 || !ahead.sinks[place].is_put) /* else the keeper may have shown it */
      put_inputs(c, sink, decision.ticket.slot);
    settle(c, sink, &decision);
  }
  c->ahead += UINT64_C(1) << 32;
  prem_ahead_close(&ahead.shared);
}

/** Before the next hyperperiod is decided: it is not, if the listener has begun it. One lane. */
__device__ bool has_begun_ahead(prem_courier *c) {
  if (prem_ahead_look(&ahead.shared) == PREM_AHEAD_NONE)
    return false;
  const bool has_begun = prem_ahead_recall(&ahead.shared, &is_leaving);
  if (has_begun)
    catch_up(c);
  else
    prepared_undo(c);
  return has_begun;
}

/** Does the keeper show the oldest result? Then it has, or will in a moment. One lane. */
__device__ bool is_shown_ahead(prem_courier *c, prem_stream *sink) {
  const int32_t place = shown_place(c, sink);
  const int32_t oldest = place < 0 ? -1 : prem_ahead_oldest(&ahead.sinks[place]);
  if (oldest < 0)
    return false;
  const shown_result *of = &handing.results[2 * place + oldest];
  if (of->note.job != sink->oldest)
    return false;
  prem_ahead_await_shown(&ahead.sinks[place], &of->begun);
  prem_producer_fill(&sink->producer, of->slot);
  sink->producer.handed_on = sink->producer.next;
  ++c->ahead;
  return true;
}

/* ---- the listener ---------------------------------------------------------------------------- */

/** All lanes have stored the frame, and have met: let blocks begin. Each word carries the frame to
 *  them, and what the decider had written before it was prepared. What is prepared is no more the
 *  listener's then. One warp. */
__device__ __forceinline__ void prepared_permit(int32_t lane, int64_t captured_ns) {
  const int64_t now_ns = __shfl_sync(WHOLE_WARP, (long long)prem_clock_ns(), 0) - zero_ns;
  const int64_t epoch_ns = max((long long)ahead.earliest_ns, (long long)(now_ns + ahead.lead_ns));
  uint32_t says = ahead.says[lane];
  if (lane <= PREM_BEGIN_EPOCH_HIGH)
    says = (uint32_t)(lane == PREM_BEGIN_EPOCH ? epoch_ns : epoch_ns >> 32);
  uint64_t *word = &ahead.words[lane];
  const uint64_t begun = ahead.begun;
  __syncwarp();
  if (lane == 0) {
    ahead.epoch_ns = epoch_ns;
    ahead.captured_ns[begun & (CAPTURED - 1)] = captured_ns;
    prem_ahead_begin(&ahead.shared, begun);
  }
  __syncwarp();
  prem_gpu_fence();
  prem_store_relaxed(word, prem_begin_word((int64_t)begun - 1, says));
}

/**
 * The frame has come that is expected: the second look, the frame and its note at the same time;
 * then it begins, or is given back. That the frame is there the first look has seen: the loads are
 * behind it. One warp.
 * @param is_before_it  the lane's word is said before a frame: it is looked at once more
 * @param word          the lane's word, which becomes the newer one
 * @return whether it has begun
 */
__device__ __forceinline__ bool prepared_begin(int32_t lane, const void *at, bool is_before_it,
                                               bool is_trigger, uint64_t *word) {
  enum { NOTE_WORDS = sizeof(prem_note) / 8 };
  row_pieces pieces;
  row_load(ahead.from, ahead.bytes, lane, &pieces);
  uint64_t note_word = 0;
  if (lane < NOTE_WORDS)
    note_word = prem_system_load_relaxed((const uint64_t *)ahead.note + lane);
  if (is_before_it)
    *word = prem_system_load_acquire(at);
  const bool is_too_early = is_trigger && prem_clock_ns() - zero_ns < ahead.from_ns;
  if (!__all_sync(WHOLE_WARP,
                  !is_too_early && prem_ahead_is_expected(&ahead.shared, lane, *word))) {
    if (lane == 0)
      prem_ahead_give_back(&ahead.shared);
    __syncwarp();
    return false;
  }
  row_store(ahead.to, ahead.bytes, lane, pieces);
  prem_fence_async(); /* bulk copies of blocks will fetch it */
  if (lane < NOTE_WORDS)
    ((uint64_t *)&ahead.frame)[lane] = note_word;
  __syncwarp();
  prepared_permit(lane, (int64_t)note_word); /* the first lane's word of the note is the first */
  __syncwarp();
  return true;
}
static_assert(offsetof(prem_note, captured_ns) == 0 && offsetof(prem_note, published_ns) == 8,
              "a note begins with its instants");

/* ---- the keeper ------------------------------------------------------------------------------ */

/** Show a result whose job is over: bytes and note, then the word, whose release carries those of
 * all lanes; then the decider hears of it. Who fills samples asks what the host holds behind a
 * fence of its own (has_to_ask). One warp. */
__device__ __forceinline__ void result_show(shown_result *of, int32_t lane) {
  enum { NOTE_WORDS = sizeof(prem_note) / 8 };
  row_pieces pieces;
  row_load(of->from, of->bytes, lane, &pieces);
  const int64_t *captured_ns = &ahead.captured_ns[of->begun & (CAPTURED - 1)];
  if (lane < NOTE_WORDS) {
    int64_t word = ((const int64_t *)&of->note)[lane];
    if (lane == 0) /* of what is made of no frame it is 0 */
      word = min((long long)word, (long long)*captured_ns);
    if (lane == 1)
      word = (int64_t)prem_word_inner(&heard.words[BASE]) + prem_clock_ns() - zero_ns;
    ((volatile int64_t *)&of->channel->note[of->slot])[lane] = word;
  }
  if (lane == NOTE_WORDS)
    of->channel->slot_of[of->number % PREM_MAX_LIVE_BUFFERS] = (uint8_t)of->slot;
  if (lane == NOTE_WORDS + 1 && of->has_inputs)
    *(volatile int64_t *)&of->channel->inputs[of->slot][own_courier->trigger].captured_ns =
        *captured_ns;
  row_store(of->to, of->bytes, lane, pieces);
  __syncwarp();
  if (lane == 0) {
    prem_word_set_far(&of->channel->filled.value,
                      (of->number + 1) << PREM_CHANNEL_SLOT_BITS | (uint64_t)of->slot);
    prem_ahead_is_shown(&of->begun);
  }
  __syncwarp();
}

/**
 * The keeper, where no result has an instant: show those that were put down, as soon as their jobs
 * are over. A lane for each part of the blocks of each of them; of two of a sink's in turn. One
 * warp.
 */
__device__ void results_show(int32_t lane) {
  enum { NAP_NS = 200 };
  const int32_t place = lane / PREM_DEVICE_PARTS, part = lane % PREM_DEVICE_PARTS;
  shown_result *own = &handing.results[place];
  bool is_turn = (place & 1) == 0;
  while (!__any_sync(WHOLE_WARP, *(volatile int32_t *)&is_closing != 0)) {
    const bool is_open = prem_ahead_is_open(&ahead.shared, &own->begun) && is_turn;
    if (!__any_sync(WHOLE_WARP, is_open)) {
      __nanosleep(NAP_NS);
      continue;
    }
    bool is_over = is_open && is_part_over(&own_leaders[own->writer], part, own->note.job, false);
    is_over &= __shfl_xor_sync(WHOLE_WARP, (int32_t)is_over, 1) != 0;
    is_over &= __shfl_xor_sync(WHOLE_WARP, (int32_t)is_over, 2) != 0;
    __syncwarp(); /* what one lane has acquired all of them see */
    uint32_t left = __ballot_sync(WHOLE_WARP, is_over && part == 0);
    for (; left != 0; left &= left - 1) {
      const int32_t other = (63 - __clzll(left & (0 - left))) / PREM_DEVICE_PARTS;
      result_show(&handing.results[other], lane);
      is_turn ^= other >> 1 == place >> 1;
    }
  }
}
static_assert(2 * SHOWN_SINKS * PREM_DEVICE_PARTS == 32, "a lane for each part");
static_assert(PREM_DEVICE_PARTS == 4, "as the lanes meet");

} // namespace

#endif
