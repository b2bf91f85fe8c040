/* SPDX-License-Identifier: Apache-2.0 */
/** For tests: runtime/core/ring_words.h once more, with accesses that ask the explorer. A slot is
 * as on the host or as on the GPU, or wrong. */
#pragma once

#include "tests/common/explorer.h"

/** Its number. */
typedef struct prem_word {
  int number;
} prem_word;

typedef struct prem_ring_slot {
  prem_word sequence, item; /* the same, where a slot is one word */
} prem_ring_slot;

typedef enum explored_slots {
  SLOTS_OF_HOST,  /* two words, with acquire and release; no fences */
  SLOTS_OF_GPU,   /* one word, relaxed; fences */
  SLOTS_BACKWARD, /* as of the host, the number before the item: wrong */
  SLOTS_IN_PIECES /* of a GPU, by accesses of 8 bytes: wrong */
} explored_slots;

static explored_slots explored_slots_are;

#define PREM_RING_CODE static inline
#define PREM_RING_INIT static inline
enum { PREM_RING_LANES = 1 };

static inline uint64_t explored_load(prem_word word, int order) {
  return explore_access((explore_step){EXPLORE_LOAD, word.number, order, {0, 0}, {0, 0}}).low;
}
static inline void explored_store(prem_word word, uint64_t value, int order) {
  explore_access((explore_step){EXPLORE_STORE, word.number, order, {value, 0}, {0, 0}});
}

static inline uint32_t prem_ring_lane(void) {
  return 0;
}
static inline uint64_t prem_ring_from_first(uint64_t value) {
  return value;
}
static inline uint32_t prem_ring_of_all(uint32_t bits) {
  return bits;
}
static inline uint32_t prem_ring_count(uint32_t bits) {
  return (uint32_t)__builtin_popcount(bits);
}
static inline void prem_ring_meet(void) {}

static inline uint64_t prem_ring_load(const prem_word *word) {
  return explored_load(*word, EXPLORE_RELAXED);
}
static inline uint64_t prem_ring_add(prem_word *word, uint64_t value) {
  return explore_access(
             (explore_step){EXPLORE_ADD, word->number, EXPLORE_RELAXED, {value, 0}, {0, 0}})
      .low;
}
static inline uint64_t prem_ring_exchange(prem_word *word, uint64_t value) {
  return explore_access(
             (explore_step){EXPLORE_EXCHANGE, word->number, EXPLORE_RELAXED, {value, 0}, {0, 0}})
      .low;
}
static inline void prem_ring_fence(void) {
  if (explored_slots_are == SLOTS_OF_GPU || explored_slots_are == SLOTS_IN_PIECES)
    explore_access((explore_step){.kind = EXPLORE_FENCE});
}
static inline uint64_t prem_ring_look(const prem_ring_slot *slot, uint64_t *item) {
  if (explored_slots_are == SLOTS_OF_GPU) {
    const explore_value both =
        explore_access((explore_step){EXPLORE_LOAD, slot->sequence.number, 0, {0, 0}, {0, 0}});
    *item = both.high;
    return both.low;
  }
  const bool has_order = explored_slots_are != SLOTS_IN_PIECES;
  const uint64_t sequence =
      explored_load(slot->sequence, has_order ? EXPLORE_ACQUIRE : EXPLORE_RELAXED);
  *item = explored_load(slot->item, EXPLORE_RELAXED);
  return sequence;
}
static inline void prem_ring_set(prem_ring_slot *slot, uint64_t sequence, uint64_t item) {
  if (explored_slots_are == SLOTS_OF_GPU) {
    explore_access(
        (explore_step){EXPLORE_STORE, slot->sequence.number, 0, {sequence, item}, {0, 0}});
    return;
  }
  const bool has_order = explored_slots_are != SLOTS_IN_PIECES;
  if (explored_slots_are != SLOTS_BACKWARD)
    explored_store(slot->item, item, EXPLORE_RELAXED);
  explored_store(slot->sequence, sequence, has_order ? EXPLORE_RELEASE : EXPLORE_RELAXED);
  if (explored_slots_are == SLOTS_BACKWARD)
    explored_store(slot->item, item, EXPLORE_RELAXED);
}
/* It says to the explorer what the word holds. */
static inline void prem_ring_word_init(prem_word *word, uint64_t value) {
  explore_set(explore_now, word->number, (explore_value){value, 0});
}
