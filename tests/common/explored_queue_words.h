/* SPDX-License-Identifier: Apache-2.0 */
/** For tests: experiments/machine/queue_kinds/queue_words.h once more, with accesses that ask the
 * explorer. Waits have no end: who waits in vain for ever is stuck. */
#pragma once

#include "runtime/core/ring.h"
#include "tests/common/explored_words.h"

#define QUEUE_CODE static inline __attribute__((unused))

/* A memory that reorders nothing, since all see the newest: what is wrong then is not for want of
 * orders. */
static bool explored_are_all_ordered;

/* Planted: who has given a promise back does not look again. */
static bool explored_promises_end;
static explore_kind explored_last;

typedef struct queue_waits {
  int none;
} queue_waits;

/** Where a round of the wait begins. */
typedef struct queue_wait_state {
  int mark;
} queue_wait_state;

QUEUE_CODE queue_wait_state queue_wait_begin(queue_waits *waits) {
  (void)waits;
  return (queue_wait_state){explore_mark()};
}
QUEUE_CODE bool queue_wait(queue_wait_state *wait) {
  if (!explored_promises_end || explored_last != EXPLORE_ADD)
    explore_again(wait->mark);
  return false;
}

static inline uint64_t explored_queue_access(explore_kind kind, const prem_word *word, int order,
                                             uint64_t value, uint64_t expected) {
  if (explored_are_all_ordered && kind == EXPLORE_LOAD)
    kind = EXPLORE_NEWEST;
  explored_last = kind;
  return explore_access((explore_step){kind, word->number, order, {value, 0}, {expected, 0}}).low;
}
QUEUE_CODE uint64_t queue_load(const prem_word *word) {
  return explored_queue_access(EXPLORE_LOAD, word, EXPLORE_RELAXED, 0, 0);
}
QUEUE_CODE uint64_t queue_load_acquire(const prem_word *word) {
  return explored_queue_access(EXPLORE_LOAD, word, EXPLORE_ACQUIRE, 0, 0);
}
QUEUE_CODE void queue_store(prem_word *word, uint64_t value) {
  explored_queue_access(EXPLORE_STORE, word, EXPLORE_RELAXED, value, 0);
}
QUEUE_CODE void queue_store_release(prem_word *word, uint64_t value) {
  explored_queue_access(EXPLORE_STORE, word, EXPLORE_RELEASE, value, 0);
}
QUEUE_CODE uint64_t queue_add(prem_word *word, uint64_t value) {
  return explored_queue_access(EXPLORE_ADD, word, EXPLORE_RELAXED, value, 0);
}
QUEUE_CODE uint32_t queue_add_low(prem_word *word, uint32_t value) {
  return (uint32_t)explored_queue_access(EXPLORE_ADD_LOW, word, EXPLORE_RELAXED, value, 0);
}
QUEUE_CODE uint32_t queue_add_high(prem_word *word, uint32_t value) {
  return (uint32_t)(explored_queue_access(EXPLORE_ADD_HIGH, word, EXPLORE_RELAXED, value, 0) >> 32);
}
QUEUE_CODE uint64_t queue_cas(prem_word *word, uint64_t expected, uint64_t value, bool releases) {
  return explored_queue_access(EXPLORE_CAS, word, releases ? EXPLORE_RELEASE : EXPLORE_RELAXED,
                               value, expected);
}
QUEUE_CODE uint64_t queue_exchange(prem_word *word, uint64_t value, bool acquires) {
  return explored_queue_access(EXPLORE_EXCHANGE, word, acquires ? EXPLORE_ACQUIRE : EXPLORE_RELAXED,
                               value, 0);
}
