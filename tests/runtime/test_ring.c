/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: calls of one thread against a model of a list, tickets that are kept, and many threads
 * at full speed. test_ring_orders.c has all interleavings of a few. */
/* ctest: threads */
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include "runtime/core/ring.h"

#include <pthread.h>
#include <sched.h>

static const uint64_t firsts[] = {0, (UINT64_C(1) << 32) - 5, (UINT64_C(1) << 63) - 5,
                                  UINT64_MAX - 4};
enum { FIRSTS = 4, MOST = 64 };

/* ---- one thread ----------------------------------------------------------------------------- */

static uint32_t at_most(uint32_t want, uint64_t most) {
  return want < most ? want : (uint32_t)most;
}

/* Random puts and takes of every size: first in, first out, FULL and EMPTY when it is, never BUSY.
 */
static void try_calls(uint64_t capacity, uint64_t first) {
  prem_ring ring;
  prem_ring_slot slots[MOST];
  prem_ring_init(&ring, slots, capacity, first);
  uint64_t put = 0, taken = 0;
  uint32_t dice = (uint32_t)(capacity + first);
  for (int call = 0; call < 3000; ++call) {
    prem_ring_hand hand = {.count = 0};
    dice = dice * 1664525u + 1013904223u;
    const uint32_t want = 1 + (dice >> 16) % PREM_RING_BATCH;
    if (dice >> 31) {
      for (uint32_t i = 0; i < want; ++i)
        hand.items[i] = 7 * (put + i);
      const uint32_t room = at_most(want, capacity - (put - taken));
      ck_assert_int_eq(prem_ring_put(&ring, &hand, want), room ? PREM_RING_OK : PREM_RING_FULL);
      ck_assert_uint_eq(hand.count, room);
      put += room;
    } else {
      const uint32_t there = at_most(want, put - taken);
      ck_assert_int_eq(prem_ring_take(&ring, &hand, want), there ? PREM_RING_OK : PREM_RING_EMPTY);
      ck_assert_uint_eq(hand.count, there);
      for (uint32_t i = 0; i < there; ++i)
        ck_assert_uint_eq(hand.items[i], 7 * taken++);
    }
    ck_assert_uint_eq(hand.kept, 0);
  }
  ck_assert_uint_gt(taken, 1000);
}

TESTS(it_is_a_list_of_limited_length, only_threads() ? 0 : FIRSTS) {
  for (uint64_t capacity = 2; capacity <= MOST; capacity *= 2)
    try_calls(capacity, firsts[_i]);
}

/* Another thread has ticket 0 and stands before its slot: who takes gets ticket 0, and keeps it. */
TESTS(a_ticket_that_must_wait_is_kept, only_threads() ? 0 : FIRSTS) {
  prem_ring ring;
  prem_ring_slot slots[4];
  prem_ring_init(&ring, slots, 4, firsts[_i]);
  prem_ring_hand slow = {.items = {11}}, fast = {.items = {12}}, taking = {.count = 0};
  ck_assert(prem_ring_draw(&slow, &ring.room.word, &ring.tail.word, 1));
  ck_assert_int_eq(prem_ring_put(&ring, &fast, 1), PREM_RING_OK);
  for (int call = 0; call < 3;
       ++call) { /* one item lies there, but not in the slot of its ticket */
    ck_assert_int_eq(prem_ring_take(&ring, &taking, 2), PREM_RING_BUSY);
    ck_assert_uint_eq(taking.count, 1);
    ck_assert_uint_eq(taking.kept, 1);
  }
  prem_ring_hand other = {.count = 0};
  ck_assert_int_eq(prem_ring_take(&ring, &other, 1), PREM_RING_EMPTY); /* it is promised */
  ck_assert_int_eq(prem_ring_put(&ring, &slow, 1), PREM_RING_OK);
  ck_assert_int_eq(prem_ring_take(&ring, &taking, 2), PREM_RING_OK);
  ck_assert_uint_eq(taking.items[0], 11);
  ck_assert_int_eq(prem_ring_take(&ring, &other, 1), PREM_RING_OK);
  ck_assert_uint_eq(other.items[0], 12);
}

/* The same the other way round, in a batch: one slot of three is not free yet. What lies there is
 * not put again. */
TESTS(of_a_batch_only_what_waits_is_kept, only_threads() ? 0 : FIRSTS) {
  prem_ring ring;
  prem_ring_slot slots[4];
  prem_ring_init(&ring, slots, 4, firsts[_i]);
  prem_ring_hand full = {.items = {1, 2, 3, 4}}, slow = {.count = 0}, fast = {.count = 0},
                 next = {.items = {5, 6, 7}};
  ck_assert_int_eq(prem_ring_put(&ring, &full, 4), PREM_RING_OK);
  ck_assert(prem_ring_draw(&slow, &ring.there.word, &ring.head.word, 1));
  ck_assert_int_eq(prem_ring_take(&ring, &fast, 3), PREM_RING_OK);
  ck_assert_int_eq(prem_ring_put(&ring, &next, 3), PREM_RING_BUSY);
  ck_assert_uint_eq(next.kept, 1);
  next.items[1] = 60; /* too late: it lies in the ring */
  ck_assert_int_eq(prem_ring_take(&ring, &slow, 1), PREM_RING_OK);
  ck_assert_uint_eq(slow.items[0], 1);
  ck_assert_int_eq(prem_ring_put(&ring, &next, 3), PREM_RING_OK);
  prem_ring_hand rest = {.count = 0};
  ck_assert_int_eq(prem_ring_take(&ring, &rest, 32), PREM_RING_OK);
  ck_assert_uint_eq(rest.count, 3);
  for (uint64_t i = 0; i < 3; ++i)
    ck_assert_uint_eq(rest.items[i], 5 + i);
}

/* ---- many threads --------------------------------------------------------------------------- */

enum { THREADS = 6, EACH = 4000 };

typedef struct crowd {
  prem_ring ring;
  prem_ring_slot slots[MOST];
  uint64_t data[THREADS * EACH]; /* behind the items: plain memory, for the thread sanitizer */
  _Atomic uint32_t marks[THREADS * EACH];
  _Atomic int64_t left;
  int64_t each;
  uint32_t batch;
} crowd;

typedef struct member {
  crowd *of;
  uint64_t number;
} member;

static void put_batch(crowd *of, prem_ring_hand *hand, uint64_t *next, uint64_t end) {
  if (*next == end && hand->kept == 0)
    return;
  uint32_t count = at_most(of->batch, end - *next);
  for (uint32_t i = 0; hand->kept == 0 && i < count; ++i) {
    hand->items[i] = *next + i;
    of->data[*next + i] = ~(*next + i);
  }
  if (prem_ring_put(&of->ring, hand, count) == PREM_RING_OK)
    *next += hand->count;
  else
    sched_yield();
}

static void take_batch(crowd *of, prem_ring_hand *hand) {
  if (prem_ring_take(&of->ring, hand, of->batch) != PREM_RING_OK) {
    sched_yield();
    return;
  }
  for (uint32_t i = 0; i < hand->count; ++i) {
    const uint64_t item = hand->items[i];
    ck_assert_uint_eq(of->data[item], ~item);
    atomic_fetch_add_explicit(&of->marks[item], 1, memory_order_relaxed);
  }
  atomic_fetch_sub_explicit(&of->left, (int64_t)hand->count, memory_order_relaxed);
}

static void *take_part(void *argument) {
  const member *self = argument;
  crowd *of = self->of;
  prem_ring_hand putting = {.count = 0}, taking = {.count = 0};
  uint64_t next = self->number * (uint64_t)of->each;
  const uint64_t end = next + (uint64_t)of->each;
  while (next < end || taking.kept != 0 ||
         atomic_load_explicit(&of->left, memory_order_relaxed) > 0) {
    put_batch(of, &putting, &next, end);
    take_batch(of, &taking);
  }
  return NULL;
}

TESTS(many_threads_take_each_item_once, 9) {
  static const uint64_t capacities[] = {2, 4, 64};
  static const uint32_t batches[] = {1, 3, 32};
  static crowd of;
  memset(&of, 0, sizeof of);
  prem_ring_init(&of.ring, of.slots, capacities[_i % 3], firsts[1 + _i % 3]);
  of.batch = batches[_i / 3];
  of.each = ROUNDS(EACH);
  of.left = THREADS * of.each;
  pthread_t threads[THREADS];
  member members[THREADS];
  for (uint64_t t = 0; t < THREADS; ++t) {
    members[t] = (member){&of, t};
    ck_assert_int_eq(pthread_create(&threads[t], NULL, take_part, &members[t]), 0);
  }
  for (int t = 0; t < THREADS; ++t)
    pthread_join(threads[t], NULL);
  for (int64_t i = 0; i < THREADS * of.each; ++i)
    ck_assert_uint_eq(of.marks[i], 1);
  ck_assert_int_eq(of.left, 0);
  ck_assert_uint_eq(of.ring.there.word, 0);
  ck_assert_uint_eq(of.ring.room.word, of.ring.capacity);
}
