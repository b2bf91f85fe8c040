/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A channel hands frames from one producer to one consumer, over a few slots: the host to the
 * courier for an input, the courier to the host for an output. Neither ever waits for the other,
 * no lock, no read-modify-write: two words of 8 bytes, each with one writer, never reset, so that
 * they may as well lie in memory that a GPU and its host share.
 *
 *   filled   producer: frames so far << 8 | slot of the newest
 *   passed   consumer: the first frame that it may still take << 16 | a bit for each slot it holds
 *
 * Of a queue each frame is taken once, in order. A slot is free again when its frame lies before
 * `passed` and is not held. Of a sampling channel the newest frame may be taken, again and again.
 * Its slot must not be filled anew at that moment, so the consumer says first that it holds the
 * slot and then looks whether it is still the newest; the producer says first what is the newest
 * and then looks what is held. Both in the one order of sequentially consistent accesses: one of
 * them sees the other. So with three slots and a consumer that holds one,
 * there is always a free one.
 *
 * The producer of an input on a GPU hands a frame on in two steps: it puts it down, and the word is
 * written behind the copy of the bytes by who copies. Until then the frame before it is the newest
 * to the consumer, so neither of the two slots is free.
 *
 * What both sides share is the prem_channel; a prem_producer and a prem_consumer are each their
 * side's own.
 */
#pragma once

#include "runtime/core/live_words.h"
#include "ttprem/base.h"

/** A flag: the frame was put down before it was handed on at `published_ns`. How far behind that it
 *  really was stands elsewhere (prem_stream_face). */
enum { PREM_NOTE_PROMISED = 1 << 30 };

/** What goes with a frame. */
typedef struct prem_note {
  int64_t captured_ns;  /* on the host's clock; of an output: of the oldest input in it */
  int64_t published_ns; /* of an output */
  int64_t job;          /* of an output: of its writer, from the session's first */
  uint64_t input;       /* of an output: number of the first input's frame that is in it */
  uint32_t flags;       /* PREM_FRAME_..., PREM_NOTE_PROMISED */
  int32_t mode;         /* of an output: operating mode of the hyperperiod that made it */
} prem_note;

/** A frame of an input that a result is made of. */
typedef struct prem_input_note {
  uint64_t number;
  int64_t captured_ns;
} prem_input_note;

typedef struct prem_channel {
  prem_live_word filled;
  prem_live_word passed;
  /* written by the producer before `filled`, read by the consumer behind it: */
  alignas(PREM_LINE_BYTES) prem_note note[PREM_MAX_LIVE_BUFFERS]; /* of each slot */
  uint8_t slot_of[PREM_MAX_LIVE_BUFFERS]; /* of frame n at n modulo that many */
  /* of an output that is made of several inputs: [slot][input] */
  prem_input_note inputs[PREM_MAX_LIVE_BUFFERS][PREM_MAX_LIVE_PORTS];
} prem_channel;

typedef struct prem_producer {
  prem_channel *channel;
  int32_t slots;
  bool is_queue;
  int32_t last_slot;                        /* taken to be filled */
  uint64_t next;                            /* number of the next frame */
  uint64_t handed_on;                       /* on a GPU: so many were; */
  uint64_t asked_for;                       /* when what is held was last asked for; */
  uint64_t settled;                         /* before `seen` was looked at */
  uint64_t frame_in[PREM_MAX_LIVE_BUFFERS]; /* the last one filled into each slot */
  uint32_t used, writing;                   /* slots: ever filled; taken to be filled */
  uint64_t seen;                            /* `passed`, read before: on a GPU, whose courier looks
                                               at all words of the host at the same time */
} prem_producer;

typedef struct prem_consumer {
  prem_channel *channel;
  int32_t slots;
  bool is_queue;
  bool has_taken;                       /* any at all */
  uint64_t first;                       /* the next frame that is new to it */
  int32_t holds[PREM_MAX_LIVE_BUFFERS]; /* how often it holds each slot */
  uint64_t seen;                        /* `filled`, read before: on a GPU */
  bool is_untold;                       /* on a GPU: `passed` of a queue is to be written yet */
} prem_consumer;

enum { PREM_CHANNEL_SLOT_BITS = 8, PREM_CHANNEL_HELD_BITS = 16 };

/** Before either side uses it. `first` is the number of the first frame: 0, but in tests. */
void prem_channel_init(prem_channel *channel, prem_producer *producer, prem_consumer *consumer,
                       int32_t slots, bool is_queue, uint64_t first);

/** Frames handed on so far, from the first. Anybody may ask. */
PREM_SHARED_CODE uint64_t prem_channel_count(const prem_channel *channel) {
  return prem_word_far(&channel->filled.value) >> PREM_CHANNEL_SLOT_BITS;
}

/* ---- the producer --------------------------------------------------------------------------- */

PREM_SHARED_CODE bool prem_producer_is_free(const prem_producer *producer, int32_t slot,
                                            uint64_t settled, uint64_t passed) {
  const uint32_t bit = 1U << slot;
  if (producer->writing & bit)
    return false;
  if (!(producer->used & bit))
    return true;
  if (passed & bit)
    return false;
  return producer->is_queue ? producer->frame_in[slot] < passed >> PREM_CHANNEL_HELD_BITS
                            : producer->frame_in[slot] + 1 < settled;
}

/** Take a free slot to be filled; -1: there is none. */
PREM_SHARED_CODE int32_t prem_channel_take_free(prem_producer *producer) {
#ifdef __CUDACC__
  const uint64_t settled = producer->settled, passed = producer->seen;
#else
  const uint64_t settled =
      prem_word_far_ordered(&producer->channel->filled.value) >> PREM_CHANNEL_SLOT_BITS;
  const uint64_t passed = prem_word_far_ordered(&producer->channel->passed.value);
#endif
  for (int32_t i = 1; i <= producer->slots; ++i) {
    const int32_t slot = (producer->last_slot + i) % producer->slots;
    if (!prem_producer_is_free(producer, slot, settled, passed))
      continue;
    producer->writing |= 1U << slot;
    producer->last_slot = slot;
    return slot;
  }
  return -1;
}

/** Give it back as it was. */
PREM_SHARED_CODE void prem_channel_put_back(prem_producer *producer, int32_t slot) {
  producer->writing &= ~(1U << slot);
}

/** A slot is filled: what the producer itself has to know of it. Returns the frame's number. */
PREM_SHARED_CODE uint64_t prem_producer_fill(prem_producer *producer, int32_t slot) {
  const uint64_t number = producer->next++;
  producer->frame_in[slot] = number;
  producer->used |= 1U << slot;
  producer->writing &= ~(1U << slot);
  return number;
}

/** Put a filled slot down. Returns what has to be written to `filled` for it to be handed on. */
PREM_SHARED_CODE uint64_t prem_channel_put_down(prem_producer *producer, int32_t slot,
                                                const prem_note *note) {
  const uint64_t number = prem_producer_fill(producer, slot);
  producer->channel->note[slot] = *note;
  producer->channel->slot_of[number % PREM_MAX_LIVE_BUFFERS] = (uint8_t)slot;
  return producer->next << PREM_CHANNEL_SLOT_BITS | (uint64_t)slot;
}

/** It is filled: hand it on. Returns the frame's number. */
PREM_SHARED_CODE uint64_t prem_channel_publish(prem_producer *producer, int32_t slot,
                                               const prem_note *note) {
  const uint64_t number = producer->next;
  const uint64_t word = prem_channel_put_down(producer, slot, note);
  prem_word_set_far_ordered(&producer->channel->filled.value, word);
  producer->handed_on = producer->next;
  return number;
}

/* ---- the consumer --------------------------------------------------------------------------- */

PREM_SHARED_CODE uint64_t prem_consumer_filled(const prem_consumer *consumer) {
#ifdef __CUDACC__
  return consumer->seen;
#else
  return prem_word_far(&consumer->channel->filled.value);
#endif
}

/** Is there a frame that the consumer has not taken yet? */
PREM_SHARED_CODE bool prem_channel_has_new(const prem_consumer *consumer) {
  return prem_consumer_filled(consumer) >> PREM_CHANNEL_SLOT_BITS > consumer->first;
}

PREM_SHARED_CODE uint64_t prem_consumer_passed(const prem_consumer *consumer) {
  uint64_t word = consumer->first << PREM_CHANNEL_HELD_BITS;
  for (int32_t slot = 0; slot < consumer->slots; ++slot)
    word |= (uint64_t)(consumer->holds[slot] > 0) << slot;
  return word;
}

PREM_SHARED_CALL void prem_consumer_tell(prem_consumer *consumer) {
  const uint64_t word = prem_consumer_passed(consumer);
  if (consumer->is_queue)
    prem_word_set_far(&consumer->channel->passed.value, word);
  else
    prem_word_set_far_ordered(&consumer->channel->passed.value, word);
}

/* Of a queue it says only that slots are free again, which can wait until all is decided. */
PREM_SHARED_CODE void prem_consumer_say_passed(prem_consumer *consumer) {
#ifdef __CUDACC__
  if (consumer->is_queue) {
    consumer->is_untold = true;
    return;
  }
#endif
  prem_consumer_tell(consumer);
}

/** Take and hold the next frame of a queue, which is known to lie there. Returns its number. */
PREM_SHARED_CODE uint64_t prem_consumer_take_from(prem_consumer *consumer, int32_t slot) {
  const uint64_t number = consumer->first++;
  ++consumer->holds[slot];
  prem_consumer_say_passed(consumer);
  return number;
}

PREM_SHARED_CODE int32_t prem_consumer_take_next(prem_consumer *consumer, uint64_t *number) {
  const uint64_t filled = prem_consumer_filled(consumer);
  const uint64_t count = filled >> PREM_CHANNEL_SLOT_BITS;
  if (count <= consumer->first)
    return -1;
  const int32_t slot = count == consumer->first + 1 /* it is the newest */
                           ? (int32_t)(filled & ((1U << PREM_CHANNEL_SLOT_BITS) - 1))
                           : consumer->channel->slot_of[consumer->first % PREM_MAX_LIVE_BUFFERS];
  *number = prem_consumer_take_from(consumer, slot);
  return slot;
}

/* A producer that hands on frames faster than they can be looked at is given up after a while: the
 * next attempt finds one. What is still held from before need not be said, nor looked at again. */
PREM_SHARED_CALL int32_t prem_consumer_take_newest(prem_consumer *consumer, uint64_t *number) {
  enum { MAX_LOOKS = 64 };
  uint64_t filled = prem_consumer_filled(consumer);
  const int32_t newest = (int32_t)(filled & ((1U << PREM_CHANNEL_SLOT_BITS) - 1));
  if (consumer->has_taken && filled >> PREM_CHANNEL_SLOT_BITS == consumer->first &&
      consumer->holds[newest] > 0) {
    ++consumer->holds[newest];
    *number = consumer->first - 1;
    return newest;
  }
  for (int look = 0; look < MAX_LOOKS; ++look) {
    const int32_t slot = (int32_t)(filled & ((1U << PREM_CHANNEL_SLOT_BITS) - 1));
    ++consumer->holds[slot];
    prem_consumer_say_passed(consumer);
    const uint64_t again = prem_word_far_ordered(&consumer->channel->filled.value);
    if (again == filled) {
      *number = (filled >> PREM_CHANNEL_SLOT_BITS) - 1;
      consumer->first = *number + 1;
      consumer->has_taken = true;
      return slot;
    }
    --consumer->holds[slot];
    filled = again;
  }
  prem_consumer_say_passed(consumer);
  return -1;
}

/** Take and hold a frame: of a queue the next one, else the newest, new or not; `*number` is its
 *  own. -1: there is none. */
PREM_SHARED_CODE int32_t prem_channel_take(prem_consumer *consumer, uint64_t *number) {
  if (consumer->is_queue)
    return prem_consumer_take_next(consumer, number);
  if (!consumer->has_taken && !prem_channel_has_new(consumer))
    return -1;
  return prem_consumer_take_newest(consumer, number);
}

/** Hold a slot once more that is held. */
PREM_SHARED_CODE void prem_channel_hold(prem_consumer *consumer, int32_t slot) {
  ++consumer->holds[slot];
}

/** Hold it once less. */
PREM_SHARED_CODE void prem_channel_release(prem_consumer *consumer, int32_t slot) {
  if (--consumer->holds[slot] == 0)
    prem_consumer_say_passed(consumer);
}
