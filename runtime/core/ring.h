/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A ring of items of 8 bytes for many who put and many who take, on the host or on the GPU. Every
 * call is bounded: it makes at most 5 accesses to counters and PREM_RING_LOOKS + 1 to the slot of
 * each item, and then it answers.
 *
 * Who puts takes *credits* of `room` first, and then tickets of `tail`. The slot of ticket t is
 * number t modulo the capacity. A sequence number in it says whose turn it is:
 *
 *   t                 the put of ticket t
 *   t + 1             the take of ticket t
 *   t + capacity      the put of the next lap
 *
 * When the items lie in their slots, as many credits go to `there`. Taking is the mirror of it:
 * credits of `there`, tickets of `head`, credits to `room`.
 *
 * Who asks for more credits than there are gives the rest back at once. Until then the word is too
 * low and never too high: others may be told FULL or EMPTY for nothing, and nobody is let in for
 * whom there is no slot. Credits are given after the slots were used, so a ticket waits only for
 * others who stand between their tickets and their slots: a few instructions each, or until they
 * call again. After PREM_RING_LOOKS looks the call does not wait any longer: it answers BUSY and
 * *keeps* the ticket in the caller's hand, and the next call with that hand goes on with it. So who
 * keeps tickets calls again soon, and never gives up the hand: the ring has no other way to learn
 * of them.
 *
 * Sequence numbers are 64 bits wide and compared for equality, so they may run over. The capacity
 * is a power of two, so that slots stay in order when they do, and at least 2: of one slot "filled
 * by t" and "free for t + 1" would be the same number.
 *
 * What was written before an item was put is visible to who has taken it. From EMPTY nobody may
 * conclude that no more will come.
 */
#pragma once

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef PREM_RING_WORDS
#define PREM_RING_WORDS "runtime/core/ring_words.h"
#endif
#include PREM_RING_WORDS

#ifndef PREM_RING_LOOKS
#define PREM_RING_LOOKS 32u
#endif

enum { PREM_RING_BATCH = 32, PREM_RING_LINE_BYTES = 128 };

typedef enum prem_ring_answer {
  PREM_RING_OK,
  PREM_RING_FULL,
  PREM_RING_EMPTY,
  PREM_RING_BUSY /* let others go on, and call again with the same hand, unchanged */
} prem_ring_answer;

/** A word alone in its lines. */
typedef struct prem_ring_line {
  alignas(PREM_RING_LINE_BYTES) prem_word word;
} prem_ring_line;

typedef struct prem_ring {
  prem_ring_line tail, head;  /* the next tickets */
  prem_ring_line room, there; /* credits; below 0 while somebody gives back */
  prem_ring_slot *slots;      /* [capacity] */
  uint64_t capacity;
} prem_ring;

/** What one who puts, or takes, has in hand: all zero at first. One thread's own; on the GPU one
 *  warp's, in its scratchpad. */
typedef struct prem_ring_hand {
  uint64_t items[PREM_RING_BATCH];
  uint64_t first; /* the ticket of items[0] */
  uint32_t count; /* items that have tickets; the others were refused */
  uint32_t kept;  /* bit i: items[i] still waits for its slot */
} prem_ring_hand;

/** Before anybody uses it. `slots` are where this code runs; prem_ring.slots may be set to where
 *  they are for those who use them. `first` is the first ticket: 0, but in tests. */
PREM_RING_INIT void prem_ring_init(prem_ring *ring, prem_ring_slot *slots, uint64_t capacity,
                                   uint64_t first) {
  prem_ring_word_init(&ring->tail.word, first);
  prem_ring_word_init(&ring->head.word, first);
  prem_ring_word_init(&ring->room.word, capacity);
  prem_ring_word_init(&ring->there.word, 0);
  ring->slots = slots;
  ring->capacity = capacity;
  for (uint64_t ticket = first; ticket != first + capacity; ++ticket) {
    prem_ring_word_init(&slots[ticket & (capacity - 1)].sequence, ticket);
    prem_ring_word_init(&slots[ticket & (capacity - 1)].item, 0);
  }
}

/* One lane: at most `want` credits. */
PREM_RING_CODE uint32_t prem_ring_credits(prem_word *credits, uint32_t want) {
  if ((int64_t)prem_ring_load(credits) <= 0)
    return 0;
  const int64_t had = (int64_t)prem_ring_add(credits, 0 - (uint64_t)want);
  const uint32_t got = had <= 0 ? 0 : had < (int64_t)want ? (uint32_t)had : want;
  if (got < want)
    prem_ring_add(credits, want - got);
  return got;
}

/* Tickets for at most `want` items into the hand; false: not one. */
PREM_RING_CODE bool prem_ring_draw(prem_ring_hand *hand, prem_word *credits, prem_word *tickets,
                                   uint32_t want) {
  uint64_t first = 0;
  uint32_t count = 0;
  if (prem_ring_lane() == 0) {
    count = prem_ring_credits(credits, want);
    if (count > 0)
      first = prem_ring_add(tickets, count);
  }
  count = (uint32_t)prem_ring_from_first(count); /* here all lanes have looked at the hand */
  if (prem_ring_lane() == 0) {
    hand->first = first;
    hand->count = count;
    hand->kept = (uint32_t)((UINT64_C(1) << count) - 1);
  }
  prem_ring_meet();
  return count > 0;
}

/* Wait for the slot's turn, but not long. */
PREM_RING_CODE bool prem_ring_await(const prem_ring_slot *slot, uint64_t turn, uint64_t *item) {
  for (uint32_t looks = 0; looks < PREM_RING_LOOKS; ++looks)
    if (prem_ring_look(slot, item) == turn)
      return true;
  return false;
}

/* All lanes: `left` are the items whose turn has not come. Credits for the others. */
PREM_RING_CODE prem_ring_answer prem_ring_settle(prem_ring_hand *hand, uint32_t left,
                                                 prem_word *credits) {
  const uint32_t kept = prem_ring_of_all(left);
  if (prem_ring_lane() == 0) {
    const uint32_t done = prem_ring_count(hand->kept & ~kept);
    if (done > 0)
      prem_ring_add(credits, done);
    hand->kept = kept;
  }
  prem_ring_meet();
  return kept == 0 ? PREM_RING_OK : PREM_RING_BUSY;
}

/**
 * Put items[0 .. want) of the hand, 1 to PREM_RING_BATCH. On the GPU all lanes of a warp call it.
 *
 * @return PREM_RING_OK: items[0 .. count) lie in the ring, the others found no room;
 *         PREM_RING_FULL: none does; PREM_RING_BUSY: as many have tickets, and not all lie there
 * yet
 */
PREM_RING_CODE prem_ring_answer prem_ring_put(prem_ring *ring, prem_ring_hand *hand,
                                              uint32_t want) {
  prem_ring_slot *slots = ring->slots; /* one look at each, under way while credits are asked for */
  const uint64_t capacity = ring->capacity;
  if (hand->kept == 0 && !prem_ring_draw(hand, &ring->room.word, &ring->tail.word, want))
    return PREM_RING_FULL;
  prem_ring_fence(); /* what lies behind the items is there before them */
  uint32_t left = 0;
  for (uint32_t i = prem_ring_lane(); i < hand->count; i += PREM_RING_LANES) {
    const uint64_t ticket = hand->first + i;
    prem_ring_slot *slot = &slots[ticket & (capacity - 1)];
    uint64_t old;
    if (!(hand->kept >> i & 1))
      continue;
    if (prem_ring_await(slot, ticket, &old))
      prem_ring_set(slot, ticket + 1, hand->items[i]);
    else
      left |= 1u << i;
  }
  return prem_ring_settle(hand, left, &ring->there.word);
}

/**
 * Take at most `want` items, 1 to PREM_RING_BATCH. On the GPU all lanes of a warp call it.
 *
 * @return PREM_RING_OK: items[0 .. count) are taken; PREM_RING_EMPTY: none is; PREM_RING_BUSY: as
 *         many have tickets, and not all are taken yet
 */
PREM_RING_CODE prem_ring_answer prem_ring_take(prem_ring *ring, prem_ring_hand *hand,
                                               uint32_t want) {
  prem_ring_slot *slots = ring->slots; /* one look at each, under way while credits are asked for */
  const uint64_t capacity = ring->capacity;
  if (hand->kept == 0 && !prem_ring_draw(hand, &ring->there.word, &ring->head.word, want))
    return PREM_RING_EMPTY;
  uint32_t left = 0;
  for (uint32_t i = prem_ring_lane(); i < hand->count; i += PREM_RING_LANES) {
    const uint64_t ticket = hand->first + i;
    prem_ring_slot *slot = &slots[ticket & (capacity - 1)];
    uint64_t item;
    if (!(hand->kept >> i & 1))
      continue;
    if (prem_ring_await(slot, ticket + 1, &item)) {
      prem_ring_set(slot, ticket + capacity, 0);
      hand->items[i] = item;
    } else {
      left |= 1u << i;
    }
  }
  prem_ring_fence(); /* what lies behind the items is read after them */
  return prem_ring_settle(hand, left, &ring->room.word);
}
