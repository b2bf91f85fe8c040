/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: every short sequence of calls against a model of lists, and two threads at full speed.
 */
/* ctest: threads */
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include "runtime/core/channel.h"

#include <pthread.h>
#include <sched.h>

/* ---- all sequences -------------------------------------------------------------------------- */

/* What slots are for, as lists of frames. */
typedef struct model {
  int slots;
  bool is_queue;
  uint64_t first;
  int waiting[16], waiting_count; /* slots of frames handed on and not taken, in order */
  int newest;                     /* slot; -1: none */
  int held[8];                    /* how often */
  bool writing[8];
  uint64_t number[8];
  uint64_t frames;
} model;

static bool model_is_free(const model *m, int slot) {
  for (int i = 0; i < m->waiting_count; ++i)
    if (m->waiting[i] == slot)
      return false;
  return !m->writing[slot] && m->held[slot] == 0 && (m->is_queue || slot != m->newest);
}

static void model_publish(model *m, int slot) {
  m->writing[slot] = false;
  m->number[slot] = m->first + m->frames++;
  m->newest = slot;
  if (!m->is_queue)
    m->waiting_count = 0; /* overtaken */
  m->waiting[m->waiting_count++] = slot;
}

static int model_take(model *m) {
  int slot = m->newest;
  if (m->is_queue) {
    if (m->waiting_count == 0)
      return -1;
    slot = m->waiting[0];
    memmove(m->waiting, m->waiting + 1, (size_t)--m->waiting_count * sizeof *m->waiting);
  } else {
    m->waiting_count = 0;
  }
  if (slot >= 0)
    ++m->held[slot];
  return slot;
}

static int64_t compared;

/* A channel with both its sides; a copy of it is another one. */
typedef struct sides {
  prem_channel channel;
  prem_producer producer;
  prem_consumer consumer;
} sides;

/* One call of five, of both; false: it has no meaning now. */
static bool make_call(sides *of, model *m, int call) {
  prem_channel *channel = &of->channel;
  const int kind = call % 3, which = call / 3;
  if (kind == 0 && which == 0) {
    const int32_t slot = prem_channel_take_free(&of->producer);
    bool is_any_free = false;
    for (int s = 0; s < m->slots; ++s)
      is_any_free |= model_is_free(m, s);
    ck_assert_int_eq(slot >= 0, is_any_free);
    if (slot < 0)
      return false;
    ck_assert(model_is_free(m, slot));
    m->writing[slot] = true;
    channel->note[slot].job = -1; /* overwritten from here on */
  } else if (kind == 0) {
    ck_assert_int_eq(prem_channel_has_new(&of->consumer), m->waiting_count > 0);
    uint64_t number;
    const int32_t slot = prem_channel_take(&of->consumer, &number);
    ck_assert_int_eq(slot, model_take(m));
    if (slot < 0)
      return false;
    ck_assert_uint_eq(number, m->number[slot]);
    ck_assert_int_eq(channel->note[slot].job, (int64_t)number);
  } else if (kind == 1) {
    if (which >= m->slots || !m->writing[which])
      return false;
    const prem_note note = {.job = (int64_t)(m->first + m->frames)};
    ck_assert_uint_eq(prem_channel_publish(&of->producer, which, &note), m->first + m->frames);
    model_publish(m, which);
  } else {
    if (which >= m->slots || m->held[which] == 0)
      return false;
    ck_assert_int_eq(channel->note[which].job, (int64_t)m->number[which]); /* never overwritten */
    prem_channel_release(&of->consumer, which);
    --m->held[which];
  }
  ++compared;
  return true;
}

static void try_all(const sides *of, const model *m, int depth) {
  for (int call = 0; depth > 0 && call < 9; ++call) {
    if (call % 3 == 0 && call / 3 > 1)
      continue;
    sides next = *of;
    next.producer.channel = next.consumer.channel = &next.channel;
    model next_model = *m;
    if (make_call(&next, &next_model, call))
      try_all(&next, &next_model, depth - 1);
  }
}

static const uint64_t firsts[] = {0, (1 << 16) - 2, (UINT64_C(1) << 32) - 2}; /* E18 */

TESTS(every_short_sequence_is_as_the_model, only_threads() ? 0 : 3) { /* E12 */
  for (int slots = 1; slots <= 3; ++slots)
    for (int queue = 0; queue < 2; ++queue) {
      sides of;
      prem_channel_init(&of.channel, &of.producer, &of.consumer, slots, queue, firsts[_i]);
      const model m = {.slots = slots, .is_queue = queue, .first = firsts[_i], .newest = -1};
      try_all(&of, &m, 10);
    }
  ck_assert_int_gt(compared, 20000);
}

/* ---- two threads ---------------------------------------------------------------------------- */

enum { FRAMES = 4000, WORDS = 16 };

typedef struct shared {
  sides of;
  uint64_t data[8][WORDS];
  _Atomic bool is_done;
} shared;

static void *produce(void *argument) {
  shared *s = argument;
  for (uint64_t frame = 0; frame < FRAMES;) {
    const int32_t slot = prem_channel_take_free(&s->of.producer);
    if (slot < 0) {
      sched_yield();
      continue;
    }
    for (int i = 0; i < WORDS; ++i)
      s->data[slot][i] = frame;
    const prem_note note = {.job = (int64_t)frame};
    ck_assert_uint_eq(prem_channel_publish(&s->of.producer, slot, &note), frame);
    ++frame;
  }
  atomic_store(&s->is_done, true);
  return NULL;
}

/* Frames that were looked at; each whole, and in the order of a channel of that kind. */
static uint64_t consume(shared *s) {
  uint64_t taken = 0, next = 0;
  for (;;) {
    const bool is_done = atomic_load(&s->is_done);
    uint64_t number;
    const int32_t slot =
        prem_channel_has_new(&s->of.consumer) ? prem_channel_take(&s->of.consumer, &number) : -1;
    if (slot < 0 && is_done && !prem_channel_has_new(&s->of.consumer))
      return taken;
    if (slot < 0) {
      sched_yield();
      continue;
    }
    if (s->of.consumer.is_queue)
      ck_assert_uint_eq(number, next);
    else
      ck_assert_uint_ge(number, next);
    ck_assert_int_eq(s->of.channel.note[slot].job, (int64_t)number);
    for (int i = 0; i < WORDS; ++i)
      ck_assert_uint_eq(s->data[slot][i], number);
    prem_channel_release(&s->of.consumer, slot);
    next = number + 1;
    ++taken;
  }
}

TESTS(no_frame_is_torn_between_threads, 6) { /* E17 */
  static shared s;
  const bool is_queue = _i & 1;
  const int32_t slots = _i / 2 + 2;
  memset(&s, 0, sizeof s);
  prem_channel_init(&s.of.channel, &s.of.producer, &s.of.consumer, slots, is_queue, 0);
  pthread_t producer;
  ck_assert_int_eq(pthread_create(&producer, NULL, produce, &s), 0);
  const uint64_t taken = consume(&s);
  pthread_join(producer, NULL);
  if (is_queue)
    ck_assert_uint_eq(taken, FRAMES);
  ck_assert_uint_gt(taken, 0);
  ck_assert_uint_eq(s.of.consumer.first, FRAMES); /* the last one was seen */
}
