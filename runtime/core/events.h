/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Events of a live session: a ring that the courier writes, and one thread of the host reads.
 *
 * The courier never waits. A reader that is more than the ring behind finds that out, and how many
 * it has lost. Words of an entry are stored with release behind `claimed`; so who has loaded one of
 * a later lap, with acquire, sees from `claimed` that it did.
 */
#pragma once

#include "runtime/core/live_words.h"

enum { PREM_EVENTS = 256, PREM_EVENT_WORDS = 4 };

typedef struct prem_event_ring {
  prem_live_word claimed; /* events that are being written, or are */
  prem_live_word written; /* events that are */
  prem_word words[PREM_EVENTS][PREM_EVENT_WORDS];
} prem_event_ring;

/** One writer. `number`: of events before. */
PREM_SHARED_CODE void prem_events_write(prem_event_ring *ring, uint64_t number,
                                        const uint64_t words[PREM_EVENT_WORDS]) {
  prem_word *to = ring->words[number % PREM_EVENTS];
  prem_word_set_far_relaxed(&ring->claimed.value, number + 1);
  for (int w = 0; w < PREM_EVENT_WORDS; ++w)
    prem_word_set_far(&to[w], words[w]);
  prem_word_set_far(&ring->written.value, number + 1);
}

#ifndef __CUDACC__
/** Read the next event, one reader. `*next`: its number; goes on, over those that are lost too.
 *  @return false: there is none. */
static inline bool prem_events_read(const prem_event_ring *ring, uint64_t *next, uint64_t *lost,
                                    uint64_t words[PREM_EVENT_WORDS]) {
  for (;;) {
    const uint64_t written = prem_word_far(&ring->written.value);
    if (written <= *next)
      return false;
    const prem_word *from = ring->words[*next % PREM_EVENTS];
    for (int w = 0; w < PREM_EVENT_WORDS; ++w)
      words[w] = prem_word_far(&from[w]);
    const uint64_t claimed = prem_word_far(&ring->claimed.value);
    if (claimed - *next <= PREM_EVENTS) {
      ++*next;
      return true;
    }
    *lost += claimed - PREM_EVENTS - *next;
    *next = claimed - PREM_EVENTS;
  }
}
#endif
