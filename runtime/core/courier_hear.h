/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How a courier hears the host that looks at all of its words at the same time, as the one on a GPU
 * does. Of two words of one look either can be the earlier one. But the host says wishes, arguments
 * and frames of other inputs that belong to a trigger's frame before that, and all frames before it
 * asks for the end. So where a trigger's frame has come, the words before it are looked at once
 * more; and that the host asks for the end is heard a look later.
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

/** Is it said before a trigger's frame that it belongs to? */
PREM_SHARED_CODE bool is_said_before_frame(const prem_courier *c, int32_t word) {
  return word >= HOST_WISH && word != HOST_STREAMS + c->trigger;
}

/** What is heard of a word that was `before` when it was looked at last, and is `now`. */
PREM_SHARED_CODE uint64_t word_as_heard(int32_t word, uint64_t before, uint64_t now) {
  return word == HOST_REQUEST ? before : now;
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
  if (word == HOST_REQUEST)
    c->request = value;
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

#endif
