/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that a GPU's courier hands on, while another warp, the listener, looks at what the host
 * holds: runtime/cuda/device/courier.cu, step by step. Every order of all loads and stores of the
 * three (the decider, the listener, the reader on the host) is gone through, as far as a few frames
 * lead, and no slot is ever filled that the reader holds. And what the host says before a frame is
 * heard with it.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/channel.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SLOTS = 3, MOST_HELD = 2, NOTHING = 7 };

/* Where each of them stands. */
enum { HEAR_ANSWER, HEAR_WORD, HAND_ON, GRANT, ASK };
enum { TAKE_QUESTION, LOOK, PUT_DOWN, ANSWER };
enum { LOOK_FOR_ONE, HOLD, LOOK_AGAIN, READ };

/* All that there is: words in memory, then what each of them knows. A byte each, so that states
 * compare. */
typedef struct state {
  uint8_t filled, filled_slot; /* frames handed on; slot of the newest */
  uint8_t passed;              /* a bit for each slot that the reader says it holds */
  uint8_t heard, asked, answered;
  struct {
    uint8_t at, is_answered, word;
    uint8_t frame_in[SLOTS], used, writing; /* slot that is filled; NOTHING */
    uint8_t next, handed_on, asked_for, settled, seen, last_slot;
  } decider;
  struct {
    uint8_t at, question, word;
  } listener;
  struct {
    uint8_t at, count, slot, held; /* of the frame that it is taking; slots it reads */
  } reader;
} state;

typedef struct exploration {
  uint8_t frames;     /* so many are handed on */
  bool trusts_old;    /* what is held was looked at before: as if nobody had asked */
  bool is_torn;       /* found: */
  size_t count, room; /* states that were met, in a table by their sums */
  state *met;
  bool *is_taken;
} exploration;

/* ---- steps ---------------------------------------------------------------------------------- */

static bool is_free(const state *s, int slot) {
  prem_producer producer = {.used = s->decider.used};
  producer.writing = s->decider.writing == NOTHING ? 0 : 1U << s->decider.writing;
  for (int i = 0; i < SLOTS; ++i)
    producer.frame_in[i] = s->decider.frame_in[i];
  return prem_producer_is_free(&producer, slot, s->decider.settled, s->decider.seen);
}

static void grant(state *s) {
  for (int i = 1; i <= SLOTS && s->decider.writing == NOTHING; ++i) {
    const int slot = (s->decider.last_slot + i) % SLOTS;
    if (is_free(s, slot))
      s->decider.writing = s->decider.last_slot = (uint8_t)slot;
  }
}

static void hand_on(state *s) {
  const uint8_t slot = s->decider.writing;
  s->decider.frame_in[slot] = s->decider.next++;
  s->decider.used |= (uint8_t)(1 << slot);
  s->decider.writing = NOTHING;
  s->filled = s->decider.next;
  s->filled_slot = slot;
  s->decider.handed_on = s->decider.next;
}

/* @return false: it has nothing to do any more. */
static bool decider_step(state *s, const exploration *of) {
  switch (s->decider.at++) {
  case HEAR_ANSWER:
    s->decider.is_answered = s->answered == s->asked;
    return true;
  case HEAR_WORD:
    s->decider.seen = s->heard;
    if (s->decider.is_answered)
      s->decider.settled = s->decider.asked_for;
    return true;
  case HAND_ON:
    if (s->decider.writing != NOTHING)
      hand_on(s);
    if (of->trusts_old)
      s->decider.settled = s->decider.handed_on;
    return true;
  case GRANT:
    if (s->decider.next < of->frames)
      grant(s);
    return true;
  default:
    s->decider.at = HEAR_ANSWER;
    if (s->decider.handed_on != s->decider.asked_for)
      ++s->asked;
    s->decider.asked_for = s->decider.handed_on;
    return s->decider.next < of->frames;
  }
}

static void listener_step(state *s) {
  switch (s->listener.at++) {
  case TAKE_QUESTION:
    s->listener.question = s->asked;
    break;
  case LOOK:
    s->listener.word = s->passed;
    break;
  case PUT_DOWN:
    s->heard = s->listener.word;
    break;
  default:
    s->answered = s->listener.question;
    s->listener.at = TAKE_QUESTION;
  }
}

/* It takes the newest frame, holds up to two, and gives the older one back. */
static void reader_step(state *s) {
  switch (s->reader.at) {
  case LOOK_FOR_ONE:
    s->reader.count = s->filled;
    s->reader.slot = s->filled_slot;
    s->reader.at = s->filled == 0 || s->reader.held >> s->filled_slot & 1 ? LOOK_FOR_ONE : HOLD;
    break;
  case HOLD:
    s->passed = (uint8_t)(s->reader.held | 1 << s->reader.slot);
    s->reader.at = LOOK_AGAIN;
    break;
  case LOOK_AGAIN:
    if (s->filled != s->reader.count) {
      s->reader.count = s->filled;
      s->reader.slot = s->filled_slot;
      s->reader.at = s->reader.held >> s->filled_slot & 1 ? LOOK_FOR_ONE : HOLD;
    } else {
      s->reader.held |= (uint8_t)(1 << s->reader.slot);
      s->reader.at = READ;
    }
    break;
  default:
    if (__builtin_popcount(s->reader.held) >= MOST_HELD)
      s->reader.held = (uint8_t)(1 << s->reader.slot);
    s->passed = s->reader.held;
    s->reader.at = LOOK_FOR_ONE;
  }
}

/* ---- all orders ----------------------------------------------------------------------------- */

static size_t place_of(const exploration *of, const state *s) {
  uint64_t sum = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < sizeof *s; ++i)
    sum = (sum ^ ((const uint8_t *)s)[i]) * UINT64_C(1099511628211);
  size_t place = sum % of->room;
  while (of->is_taken[place] && memcmp(&of->met[place], s, sizeof *s) != 0)
    place = (place + 1) % of->room;
  return place;
}

static void meet(exploration *of, const state *s, state *open, size_t *open_count) {
  const size_t place = place_of(of, s);
  if (of->is_taken[place])
    return;
  ck_assert_uint_lt(2 * of->count, of->room);
  of->is_taken[place] = true;
  of->met[place] = *s;
  ++of->count;
  open[(*open_count)++] = *s;
}

static void explore(exploration *of) {
  of->room = (size_t)1 << 22;
  of->met = calloc(of->room, sizeof *of->met);
  of->is_taken = calloc(of->room, sizeof *of->is_taken);
  state *open = calloc(of->room, sizeof *open);
  size_t open_count = 0;
  state first = {.decider = {.writing = NOTHING, .last_slot = SLOTS - 1}};
  ck_assert(of->met && of->is_taken && open);
  meet(of, &first, open, &open_count);
  while (open_count > 0 && !of->is_torn) {
    const state now = open[--open_count];
    for (int who = 0; who < 3; ++who) {
      state next = now;
      if (who == 0 && !decider_step(&next, of))
        continue;
      if (who == 1)
        listener_step(&next);
      if (who == 2)
        reader_step(&next);
      of->is_torn |=
          next.decider.writing != NOTHING && next.reader.held >> next.decider.writing & 1;
      meet(of, &next, open, &open_count);
    }
  }
  free(of->met);
  free(of->is_taken);
  free(open);
}

TEST(no_slot_is_filled_that_is_held) {
  exploration right = {.frames = 6};
  explore(&right);
  ck_assert(!right.is_torn);
  ck_assert_uint_gt(right.count, 100000);
}

/* Whoever takes an older look for a newer one is found. */
TEST(an_older_look_is_not_enough) {
  exploration wrong = {.frames = 6, .trusts_old = true};
  explore(&wrong);
  ck_assert(wrong.is_torn);
}

/* ---- what is said last ----------------------------------------------------------------------- */

/* The host makes a wish, then hands a frame on, again and again; a lane of the listener looks at
 * each. Whoever hears of a frame has to hear of the wish before it. */
enum { ROUNDS_SAID = 3 };
enum { MAKE_WISH, SEND_FRAME };
enum { LOOK_BOTH, LOOK_OTHER, LOOK_ONCE_MORE, PUT_WISH_DOWN, PUT_FRAME_DOWN };
enum { HEAR_FRAME, HEAR_WISH };

typedef struct talk {
  uint8_t host_at, wish, frame;
  uint8_t listener_at, first, wish_seen, frame_seen, known; /* first: the word looked at first */
  uint8_t wish_down, frame_down;
  uint8_t decider_at, frame_heard, wish_heard;
} talk;

typedef enum careless { CAREFUL, LOOKS_ONCE, PUTS_FRAME_DOWN_FIRST, HEARS_WISH_FIRST } careless;

static void host_talks(talk *t) {
  if (t->host_at == MAKE_WISH && t->wish < ROUNDS_SAID) {
    ++t->wish;
    t->host_at = SEND_FRAME;
  } else if (t->host_at == SEND_FRAME) {
    ++t->frame;
    t->host_at = MAKE_WISH;
  }
}

static void look_at(talk *t, bool at_wish) {
  if (at_wish)
    t->wish_seen = t->wish;
  else
    t->frame_seen = t->frame;
}

/* `wish_first`: which of two words that are looked at together is the earlier one. */
static void listener_talks(talk *t, bool wish_first, careless how) {
  switch (t->listener_at++) {
  case LOOK_BOTH:
    t->first = wish_first;
    look_at(t, wish_first);
    break;
  case LOOK_OTHER:
    look_at(t, !t->first);
    break;
  case LOOK_ONCE_MORE:
    if (t->frame_seen != t->known && how != LOOKS_ONCE)
      look_at(t, true);
    t->known = t->frame_seen;
    break;
  case PUT_WISH_DOWN:
    if (how == PUTS_FRAME_DOWN_FIRST)
      t->frame_down = t->frame_seen;
    else
      t->wish_down = t->wish_seen;
    break;
  default:
    t->wish_down = t->wish_seen;
    t->frame_down = t->frame_seen;
    t->listener_at = LOOK_BOTH;
  }
}

/* A look at the frame alone: of what it has seen of the wish nothing changes. */
static bool listener_looks_short(talk *t) {
  if (t->listener_at != LOOK_BOTH)
    return false;
  look_at(t, false);
  t->listener_at = t->frame_seen != t->known ? LOOK_ONCE_MORE : LOOK_BOTH;
  return true;
}

/* @return false: it has heard of a frame, and not of the wish before it. */
static bool decider_talks(talk *t, careless how) {
  const bool hears_wish = (t->decider_at == HEAR_WISH) != (how == HEARS_WISH_FIRST);
  if (hears_wish)
    t->wish_heard = t->wish_down;
  else
    t->frame_heard = t->frame_down;
  t->decider_at = t->decider_at == HEAR_FRAME ? HEAR_WISH : HEAR_FRAME;
  return t->decider_at != HEAR_FRAME || t->wish_heard >= t->frame_heard;
}

/* All orders, each state once. */
static bool is_always_heard(careless how, size_t *count) {
  enum { ROOM = 1 << 18 };
  talk *met = calloc(ROOM, sizeof *met);
  bool is_heard = true;
  size_t done = 0;
  ck_assert_ptr_nonnull(met);
  for (*count = 1; done < *count && is_heard; ++done)
    for (int who = 0; who < 5 && is_heard; ++who) {
      talk next = met[done];
      if (who == 4 && !listener_looks_short(&next))
        continue;
      if (who == 0)
        host_talks(&next);
      else if (who == 1)
        is_heard = decider_talks(&next, how);
      else if (who < 4)
        listener_talks(&next, who == 2, how);
      size_t at = 0;
      while (at < *count && memcmp(&met[at], &next, sizeof next) != 0)
        ++at;
      ck_assert_uint_lt(at, ROOM);
      if (at == *count)
        met[(*count)++] = next;
    }
  free(met);
  return is_heard;
}

TEST(a_wish_is_heard_with_the_frame_behind_it) {
  size_t count;
  ck_assert(is_always_heard(CAREFUL, &count));
  ck_assert_uint_gt(count, 1000);
  for (careless how = LOOKS_ONCE; how <= HEARS_WISH_FIRST; ++how)
    ck_assert(!is_always_heard(how, &count));
}
