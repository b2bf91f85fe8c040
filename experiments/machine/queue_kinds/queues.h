/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The queues of the literature, as they are listed and repaired, for the host and for the GPU:
 *
 *   index queue         Kerbl, Kenzel, Winter, Steinberger: CUDA and Applications to Task-based
 *                       Programming, Eurographics tutorial 2022; Ouroboros has the same
 *   bucket queue        two of them, the first is looked at first: Kerbl et al., Hierarchical
 *                       Bucket Queuing, 2017
 *   broker queue,       Kerbl et al., The Broker Queue, 2018: linearizable; the same without its
 *   work distributor,   loop; one broker queue a block, others are looked at when the own one is
 *   stealing queue      empty
 *
 * Listed means: every access in the order of the listing, and with no memory order, since none is
 * listed; 32-bit positions. What is not listed (the broker's promises) is as published. A slot is 8
 * bytes in all of them. Who waits in a listing waits for ever; here until somebody's patience ends.
 *
 * Repaired means: a refusal takes its promise back and goes on if that leaves a place; positions of
 * 64 bits and sizes of powers of two; acquire and release. It still waits inside.
 */
#pragma once

#ifndef QUEUE_WORDS
#define QUEUE_WORDS "experiments/machine/queue_kinds/queue_words.h"
#endif
#include QUEUE_WORDS

typedef enum queue_kind {
  QUEUE_INDEX_LISTED,
  QUEUE_INDEX,
  QUEUE_BUCKETS_LISTED,
  QUEUE_BUCKETS,
  QUEUE_BROKER_LISTED,
  QUEUE_BROKER,
  QUEUE_DISTRIBUTOR_LISTED,
  QUEUE_DISTRIBUTOR,
  QUEUE_STEALING_LISTED,
  QUEUE_STEALING,
  QUEUE_RING,
  QUEUE_KINDS
} queue_kind;

typedef enum queue_answer { QUEUE_OK, QUEUE_REFUSED, QUEUE_STUCK } queue_answer;

/** No item: what an empty slot of an index queue holds. */
#define QUEUE_FREE UINT64_MAX

enum { QUEUE_BUCKET_COUNT = 2, QUEUE_VISITS = 4 /* of a thief */ };

/** One queue of any kind but the ring. */
typedef struct queue_part {
  prem_ring_line count;
  prem_ring_line back, front; /* the next positions; listed: 32 bits */
  prem_ring_line both;        /* of a listed broker queue: tail in the low half, head in the high */
  prem_word *items;           /* [size] */
  prem_word *tickets;         /* [size] */
  uint64_t size;
  uint32_t most_threads; /* that use it */
} queue_part;

/** A queue of several parts. */
typedef struct queue_set {
  queue_part *parts;
  uint32_t part_count;
  queue_waits *waits;
} queue_set;

/* ---- index queue ---------------------------------------------------------------------------- */

QUEUE_CODE queue_answer queue_index_fill(prem_word *slot, uint64_t item, bool is_listed,
                                         queue_waits *waits) {
  queue_wait_state wait = queue_wait_begin(waits);
  while (queue_cas(slot, QUEUE_FREE, item, !is_listed) != QUEUE_FREE)
    if (!queue_wait(&wait))
      return QUEUE_STUCK;
  return QUEUE_OK;
}
QUEUE_CODE queue_answer queue_index_empty(prem_word *slot, uint64_t *item, bool is_listed,
                                          queue_waits *waits) {
  queue_wait_state wait = queue_wait_begin(waits);
  while ((*item = queue_exchange(slot, QUEUE_FREE, !is_listed)) == QUEUE_FREE)
    if (!queue_wait(&wait))
      return QUEUE_STUCK;
  return QUEUE_OK;
}

QUEUE_CODE queue_answer queue_index_put_listed(queue_part *q, uint64_t item, queue_waits *waits) {
  const int32_t fill = (int32_t)queue_add_low(&q->count.word, 1);
  if (fill < (int32_t)q->size) {
    const uint32_t at = queue_add_low(&q->back.word, 1) % (uint32_t)q->size;
    return queue_index_fill(&q->items[at], item, true, waits);
  }
  return QUEUE_REFUSED;
}
QUEUE_CODE queue_answer queue_index_take_listed(queue_part *q, uint64_t *item, queue_waits *waits) {
  if ((int32_t)queue_add_low(&q->count.word, UINT32_MAX) <= 0) {
    queue_add_low(&q->count.word, 1);
    return QUEUE_REFUSED;
  }
  const uint32_t at = queue_add_low(&q->front.word, 1) % (uint32_t)q->size;
  return queue_index_empty(&q->items[at], item, true, waits);
}

/* ---- promises: the broker's, which cure the index queue as well ----------------------------- */

QUEUE_CODE bool queue_allows(const queue_part *q, bool puts, uint64_t count) {
  return puts ? (int64_t)count < (int64_t)q->size : (int64_t)count > 0;
}
/* One place, or one item, is promised, unless there is none. Who was let in for nothing meanwhile
 * has a partner: the one who goes on here. */
QUEUE_CODE queue_answer queue_promise(queue_part *q, bool puts, queue_waits *waits) {
  const uint64_t one = puts ? 1 : UINT64_MAX;
  queue_wait_state wait = queue_wait_begin(waits);
  while (queue_allows(q, puts, queue_load(&q->count.word))) {
    if (queue_allows(q, puts, queue_add(&q->count.word, one)))
      return QUEUE_OK;
    queue_add(&q->count.word, 0 - one);
    if (!queue_wait(&wait))
      return QUEUE_STUCK;
  }
  return QUEUE_REFUSED;
}

QUEUE_CODE queue_answer queue_index_put(queue_part *q, uint64_t item, queue_waits *waits) {
  const queue_answer promised = queue_promise(q, true, waits);
  if (promised != QUEUE_OK)
    return promised;
  const uint64_t at = queue_add(&q->back.word, 1) & (q->size - 1);
  return queue_index_fill(&q->items[at], item, false, waits);
}
QUEUE_CODE queue_answer queue_index_take(queue_part *q, uint64_t *item, queue_waits *waits) {
  const queue_answer promised = queue_promise(q, false, waits);
  if (promised != QUEUE_OK)
    return promised;
  const uint64_t at = queue_add(&q->front.word, 1) & (q->size - 1);
  return queue_index_empty(&q->items[at], item, false, waits);
}

/* ---- broker queue --------------------------------------------------------------------------- */

/* Is it full, or empty, beyond doubt? As listed, by both halves of one word; */
QUEUE_CODE bool queue_is_sure_listed(const queue_part *q, bool puts) {
  const uint64_t both = queue_load(&q->both.word), most = q->size + q->most_threads / 2;
  const uint32_t filled = (uint32_t)both - (uint32_t)(both >> 32); /* tail less head */
  return puts ? q->size <= filled && filled < most : most <= filled - 1;
}
/* repaired, by both words of one instant. */
QUEUE_CODE bool queue_is_sure(const queue_part *q, bool puts, queue_wait_state *wait) {
  for (;;) {
    const uint64_t tail = queue_load_acquire(&q->back.word);
    const uint64_t head = queue_load_acquire(&q->front.word);
    if (queue_load_acquire(&q->back.word) == tail || !queue_wait(wait))
      return puts ? (int64_t)(tail - head) >= (int64_t)q->size : (int64_t)(tail - head) <= 0;
  }
}

/* Ask the broker until he promises, or the queue is full or empty; a work distributor asks once. */
QUEUE_CODE queue_answer queue_broker_ask(queue_part *q, bool puts, bool is_listed, bool loops,
                                         queue_waits *waits) {
  queue_wait_state wait = queue_wait_begin(waits);
  for (;;) {
    const queue_answer promised = queue_promise(q, puts, waits);
    if (promised != QUEUE_REFUSED || !loops ||
        (is_listed ? queue_is_sure_listed(q, puts) : queue_is_sure(q, puts, &wait)))
      return promised;
    if (!queue_wait(&wait))
      return QUEUE_STUCK;
  }
}

QUEUE_CODE bool queue_ticket_await(prem_word *ticket, uint64_t expected, bool is_listed,
                                   queue_waits *waits) {
  queue_wait_state wait = queue_wait_begin(waits);
  while ((is_listed ? queue_load(ticket) : queue_load_acquire(ticket)) != expected)
    if (!queue_wait(&wait))
      return false;
  return true;
}

QUEUE_CODE queue_answer queue_broker_put_listed(queue_part *q, uint64_t item, bool loops,
                                                queue_waits *waits) {
  const queue_answer promised = queue_broker_ask(q, true, true, loops, waits);
  if (promised != QUEUE_OK)
    return promised;
  const uint32_t position = queue_add_low(&q->both.word, 1), size = (uint32_t)q->size;
  if (!queue_ticket_await(&q->tickets[position % size], 2 * (position / size), true, waits))
    return QUEUE_STUCK;
  queue_store(&q->items[position % size], item);
  queue_store(&q->tickets[position % size], 2 * (position / size) + 1);
  return QUEUE_OK;
}
QUEUE_CODE queue_answer queue_broker_take_listed(queue_part *q, uint64_t *item, bool loops,
                                                 queue_waits *waits) {
  const queue_answer promised = queue_broker_ask(q, false, true, loops, waits);
  if (promised != QUEUE_OK)
    return promised;
  const uint32_t position = queue_add_high(&q->both.word, 1), size = (uint32_t)q->size;
  if (!queue_ticket_await(&q->tickets[position % size], 2 * (position / size) + 1, true, waits))
    return QUEUE_STUCK;
  *item = queue_load(&q->items[position % size]);
  queue_store(&q->tickets[position % size], 2 * ((position + size) / size));
  return QUEUE_OK;
}

QUEUE_CODE queue_answer queue_broker_put(queue_part *q, uint64_t item, bool loops,
                                         queue_waits *waits) {
  const queue_answer promised = queue_broker_ask(q, true, false, loops, waits);
  if (promised != QUEUE_OK)
    return promised;
  const uint64_t position = queue_add(&q->back.word, 1), at = position & (q->size - 1);
  if (!queue_ticket_await(&q->tickets[at], 2 * (position / q->size), false, waits))
    return QUEUE_STUCK;
  queue_store(&q->items[at], item);
  queue_store_release(&q->tickets[at], 2 * (position / q->size) + 1);
  return QUEUE_OK;
}
QUEUE_CODE queue_answer queue_broker_take(queue_part *q, uint64_t *item, bool loops,
                                          queue_waits *waits) {
  const queue_answer promised = queue_broker_ask(q, false, false, loops, waits);
  if (promised != QUEUE_OK)
    return promised;
  const uint64_t position = queue_add(&q->front.word, 1), at = position & (q->size - 1);
  if (!queue_ticket_await(&q->tickets[at], 2 * (position / q->size) + 1, false, waits))
    return QUEUE_STUCK;
  *item = queue_load(&q->items[at]);
  queue_store_release(&q->tickets[at], 2 * (position / q->size + 1));
  return QUEUE_OK;
}

/* ---- several parts -------------------------------------------------------------------------- */

/** How many parts a queue of so many users has. */
static inline uint32_t queue_part_count(queue_kind kind, uint32_t users) {
  if (kind == QUEUE_BUCKETS_LISTED || kind == QUEUE_BUCKETS)
    return QUEUE_BUCKET_COUNT;
  return kind == QUEUE_STEALING_LISTED || kind == QUEUE_STEALING ? users : 1;
}

QUEUE_CODE bool queue_is_listed(queue_kind kind) {
  return kind != QUEUE_RING && kind % 2 == 0;
}
QUEUE_CODE queue_answer queue_part_put(queue_part *q, queue_kind kind, uint64_t item,
                                       queue_waits *waits) {
  const bool loops = kind != QUEUE_DISTRIBUTOR_LISTED && kind != QUEUE_DISTRIBUTOR;
  if (kind <= QUEUE_BUCKETS)
    return queue_is_listed(kind) ? queue_index_put_listed(q, item, waits)
                                 : queue_index_put(q, item, waits);
  return queue_is_listed(kind) ? queue_broker_put_listed(q, item, loops, waits)
                               : queue_broker_put(q, item, loops, waits);
}

QUEUE_CODE queue_answer queue_part_take(queue_part *q, queue_kind kind, uint64_t *item,
                                        queue_waits *waits) {
  const bool loops = kind != QUEUE_DISTRIBUTOR_LISTED && kind != QUEUE_DISTRIBUTOR;
  if (kind <= QUEUE_BUCKETS)
    return queue_is_listed(kind) ? queue_index_take_listed(q, item, waits)
                                 : queue_index_take(q, item, waits);
  return queue_is_listed(kind) ? queue_broker_take_listed(q, item, loops, waits)
                               : queue_broker_take(q, item, loops, waits);
}

/** Put an item: a bucket queue by what it is, a stealing queue where its owner is. */
QUEUE_CODE queue_answer queue_put(const queue_set *set, queue_kind kind, uint32_t self,
                                  uint64_t item) {
  const uint64_t part = kind == QUEUE_BUCKETS_LISTED || kind == QUEUE_BUCKETS ? item : self;
  return queue_part_put(&set->parts[part % set->part_count], kind, item, set->waits);
}

/** Take one: of a bucket queue the first bucket first, of a stealing queue the own part first. */
QUEUE_CODE queue_answer queue_take(const queue_set *set, queue_kind kind, uint32_t self,
                                   uint64_t *item) {
  const bool steals = kind == QUEUE_STEALING_LISTED || kind == QUEUE_STEALING;
  const uint32_t visits = set->part_count < QUEUE_VISITS ? set->part_count : (uint32_t)QUEUE_VISITS;
  queue_answer answer = QUEUE_REFUSED;
  for (uint32_t v = 0; v < visits && answer == QUEUE_REFUSED; ++v)
    answer = queue_part_take(&set->parts[((steals ? self : 0) + v) % set->part_count], kind, item,
                             set->waits);
  return answer;
}

/** Before anybody uses it. Positions begin at `first`; a listed queue has its low 32 bits. */
PREM_RING_INIT void queue_part_init(queue_part *q, queue_kind kind, prem_word *items,
                                    prem_word *tickets, uint64_t size, uint64_t first,
                                    uint32_t most_threads) {
  const uint64_t mask = kind % 2 == 0 ? UINT32_MAX : UINT64_MAX, low = first & mask;
  prem_ring_word_init(&q->count.word, 0);
  prem_ring_word_init(&q->back.word, low);
  prem_ring_word_init(&q->front.word, low);
  prem_ring_word_init(&q->both.word, low << 32 | (low & UINT32_MAX));
  q->items = items;
  q->tickets = tickets;
  q->size = size;
  q->most_threads = most_threads;
  for (uint64_t i = 0; i < size; ++i) {
    const uint64_t position = (low + i) & mask;
    prem_ring_word_init(&tickets[position % size], 2 * (position / size));
    prem_ring_word_init(&items[position % size], QUEUE_FREE);
  }
}
