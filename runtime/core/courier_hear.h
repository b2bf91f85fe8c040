/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How a courier hears the host that looks at all of its words at the same time, as the one on a GPU
 * does. Of two words of one look either can be the earlier one. But wishes, arguments and frames of
 * other inputs that the host said before a trigger's frame belong to it. So the host tells a
 * trigger's frame by a *line*, which has these words as they were then, and the frame, if that is
 * short: one look brings all of it. A line's words of 8 bytes have 32 bits of content each, and in
 * the others whose frame it is, so it does not matter in which order they come. There is a line for
 * each frame that can be under way.
 *
 * That the host asks for the end is heard a look later, and when all frames before it are heard.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_HEAR_H
#define TTPREM_RUNTIME_CORE_COURIER_HEAR_H

#include "runtime/core/courier.h"

/** The host's words; behind them `filled` of each source and `passed` of each sink. */
enum {
  HOST_PING,
  HOST_LEAVE,
  HOST_BEAT,
  HOST_BASE,
  HOST_REQUEST,
  HOST_WISH,
  HOST_NEWEST,
  HOST_STREAMS
};

/** Values of 8 bytes in a line: words of the host that were said before stand at their numbers; at
 *  those of others: */
enum { LINE_CAPTURED = HOST_PING, LINE_FRAME = HOST_LEAVE };
enum { LINE_VALUES = 64 };

/** A trigger's frame, and what was said before it. */
typedef struct prem_line {
  alignas(PREM_LINE_BYTES) uint64_t words[2 * LINE_VALUES]; /* of each value the low half, the high
                                                                one; the number's are above it */
} prem_line;

/** The value LINE_FRAME. */
PREM_SHARED_CODE uint64_t line_frame(int32_t bytes, bool waits) {
  return (uint64_t)bytes << 1 | (uint64_t)waits;
}
/** Bytes of the frame that stand in it, behind all else; 0: none. */
PREM_SHARED_CODE int32_t line_bytes(uint64_t frame) {
  return (int32_t)(frame >> 1);
}
/** Does the frame come behind others, so that the channel's word says when it is there? */
PREM_SHARED_CODE bool line_waits(uint64_t frame) {
  return (frame & 1) != 0;
}
/** Values before the frame's; so many bytes of a frame there is room for. */
PREM_SHARED_CODE int32_t line_head(const prem_courier *c) {
  return HOST_STREAMS + c->source_count;
}
PREM_SHARED_CODE int32_t line_room(const prem_courier *c) {
  return (LINE_VALUES - line_head(c)) * 8;
}

/** A line's word, and whose it is. */
PREM_SHARED_CODE uint64_t line_word(uint64_t number, uint32_t content) {
  return (number + 1) << 32 | content;
}
PREM_SHARED_CODE bool line_is_of(uint64_t word, uint64_t number) {
  return word >> 32 == ((number + 1) & UINT32_MAX);
}

/** Is it said before a trigger's frame that it belongs to? Then its value stands in the line. */
PREM_SHARED_CODE bool is_said_before_frame(const prem_courier *c, int32_t word) {
  return word >= HOST_WISH && word < HOST_STREAMS + c->source_count;
}

/** What is heard of a word that was `before` when it was looked at last, is `now`, and was `told`
 *  if a line has come. A trigger's own is heard by lines alone. */
PREM_SHARED_CODE uint64_t word_as_heard(const prem_courier *c, int32_t word, uint64_t before,
                                        uint64_t now, bool has_come, uint64_t told) {
  if (word == HOST_REQUEST)
    return before;
  if (c->trigger >= 0 && word == HOST_STREAMS + c->trigger)
    return has_come ? told : c->streams[c->trigger].consumer.seen;
  return has_come && is_said_before_frame(c, word) && told > now ? told : now;
}

/** Has a word to be looked at behind a result that was shown, in the one order of both sides? */
PREM_SHARED_CODE bool has_to_ask(const prem_courier *c, int32_t word) {
  if (word < HOST_STREAMS || word - HOST_STREAMS >= c->stream_count)
    return false;
  const prem_producer *producer = &c->streams[word - HOST_STREAMS].producer;
  return !producer->is_queue && producer->handed_on != producer->settled;
}

/** A word was heard. What the lanes of a warp do at the same time. */
PREM_SHARED_CODE void word_hear(prem_courier *c, int32_t word, uint64_t value) {
  if (word == HOST_BASE)
    c->base_ns = (int64_t)value;
  if (word == HOST_WISH)
    c->wish = value;
  if (word == HOST_NEWEST)
    c->newest = value;
  if (word < HOST_STREAMS || word - HOST_STREAMS >= c->stream_count)
    return;
  prem_stream *stream = &c->streams[word - HOST_STREAMS];
  stream->consumer.seen = stream->producer.seen = value;
  stream->producer.settled = stream->producer.handed_on;
}

/** Behind all others: the host's request, unless a trigger's frame before it is not heard yet, whose
 *  word is `filled` now. */
PREM_SHARED_CODE void request_hear(prem_courier *c, uint64_t value, uint64_t filled) {
  const prem_consumer *trigger = c->trigger < 0 ? NULL : &c->streams[c->trigger].consumer;
  const uint64_t frames = filled >> PREM_CHANNEL_SLOT_BITS;
  if (!trigger || frames <= trigger->first || frames <= trigger->seen >> PREM_CHANNEL_SLOT_BITS)
    c->request = value;
}

#endif
