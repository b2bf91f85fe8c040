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
 * them sees the other. So with three slots and a consumer that holds one, there is always a free
 * one.
 */
#ifndef TTPREM_RUNTIME_CORE_CHANNEL_H
#define TTPREM_RUNTIME_CORE_CHANNEL_H

#include <stdatomic.h>

#include "ttprem/base.h"

enum { PREM_CHANNEL_LINE_BYTES = 128 };

/** A word alone in two cache lines, which the prefetcher fetches in pairs. */
typedef struct prem_live_word {
  _Alignas(PREM_CHANNEL_LINE_BYTES) _Atomic uint64_t value;
} prem_live_word;

/** What goes with a frame. */
typedef struct prem_note {
  int64_t captured_ns;  /* on the host's clock; of an output: of the oldest input in it */
  int64_t published_ns; /* of an output */
  int64_t job;          /* of an output: of its writer, from the session's first */
  uint64_t input;       /* of an output: number of the first input's frame that is in it */
  uint32_t flags;       /* PREM_FRAME_... */
} prem_note;

typedef struct prem_channel {
  prem_live_word filled;
  prem_live_word passed;
  /* written by the producer before `filled`, read by the consumer behind it: */
  _Alignas(PREM_CHANNEL_LINE_BYTES) prem_note note[PREM_MAX_LIVE_BUFFERS]; /* of each slot */
  uint8_t slot_of[PREM_MAX_LIVE_BUFFERS]; /* of frame n at n modulo that many */
  /* constant: */
  int32_t slots;
  bool is_queue;
  /* the producer's own: */
  _Alignas(PREM_CHANNEL_LINE_BYTES) uint64_t next; /* number of the next frame */
  uint64_t frame_in[PREM_MAX_LIVE_BUFFERS];        /* the last one filled into each slot */
  uint32_t used, writing;                          /* slots: ever filled; taken to be filled */
  int32_t last_slot;                               /* taken to be filled */
  /* the consumer's own: */
  _Alignas(PREM_CHANNEL_LINE_BYTES) uint64_t first; /* the next frame that is new to it */
  int32_t holds[PREM_MAX_LIVE_BUFFERS];             /* how often it holds each slot */
  bool has_taken;                                   /* any at all */
} prem_channel;

/** Before either side uses it. `first` is the number of the first frame: 0, but in tests. */
void prem_channel_init(prem_channel *channel, int32_t slots, bool is_queue, uint64_t first);

/* ---- the producer --------------------------------------------------------------------------- */

/** Take a free slot to be filled; -1: there is none. */
int32_t prem_channel_take_free(prem_channel *channel);
/** Give it back as it was. */
void prem_channel_put_back(prem_channel *channel, int32_t slot);
/** It is filled: hand it on. Returns the frame's number. */
uint64_t prem_channel_publish(prem_channel *channel, int32_t slot, const prem_note *note);

/* ---- the consumer --------------------------------------------------------------------------- */

/** Frames handed on so far, from the first. Anybody may ask. */
static inline uint64_t prem_channel_count(const prem_channel *channel) {
  return atomic_load_explicit(&channel->filled.value, memory_order_acquire) >> 8;
}

/** Is there a frame that the consumer has not taken yet? */
static inline bool prem_channel_has_new(const prem_channel *channel) {
  return prem_channel_count(channel) > channel->first;
}

/** Take and hold a frame: of a queue the next one, else the newest, new or not; `*number` is its
 *  own. -1: there is none. */
int32_t prem_channel_take(prem_channel *channel, uint64_t *number);
/** Hold a slot once more that is held. */
void prem_channel_hold(prem_channel *channel, int32_t slot);
/** Hold it once less. */
void prem_channel_release(prem_channel *channel, int32_t slot);

#endif
