/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hyperperiod that a GPU's courier has prepared ahead: runtime/cuda/device/courier_ahead.cuh,
 * step by step. The host makes wishes, sends samples and frames, the listener begins what is
 * prepared, the decider prepares, takes back, decides otherwise and catches up, a block works, the
 * keeper shows results. Every order of all their loads and stores is gone through, as far as a few
 * frames lead: each frame is worked once, whole, in order, in the mode that was wished for before
 * it and with the sample that was sent before it, and so are results; no slot is written that
 * somebody has. Whoever leaves a step out, or takes two in the wrong order, is found.
 */
/* ctest: long release */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SLOTS = 2, RING = 4, MOST_FRAMES = 3, NOTHING = 15 };

/* ahead.state */
enum { NONE, PREPARED, BEGUN, GIVEN_BACK };

/* Where each of them stands. */
enum { MAKE_WISH, FILL, SEND };
enum {
  LOOK,
  LOOK_EARLY,
  COMPARE,
  COMPARE_WORD,
  LOOK_AGAIN,
  STORE,
  TELL,
  PERMIT,
  SAY_TICKETS,
  LOOK_TWICE,
  PUT_DOWN
};
enum {
  TOP,
  CATCH_UP,
  SHOW,
  SHOW_WORD,
  HEAR,
  PUT_RESULT,
  EXPECT,
  PUBLISH,
  RECALL,
  TAKE_BACK_BLINDLY,
  AWAIT_BACK,
  UNDO,
  DECIDE_MODE,
  DECIDE_PERMIT,
  CARRY,
  DECIDE_TICKET
};
enum { AWAIT_BEGIN, AWAIT_TICKET, READ, AWAIT_SINK, WRITE, END };
enum { K_UNTIL, K_PLACE, K_LOOK, K_COPY, K_SHOW, K_CLEAR };

typedef struct ticket {
  uint8_t job, slot; /* job + 1; slot NOTHING: it is skipped */
} ticket;

/* All that there is, a byte each, so that states compare. */
typedef struct state {
  /* the host's memory: */
  uint8_t sent, sent_slot, wish, sample, bytes[SLOTS],
      in_use; /* bit: a slot that the courier still has */
  uint8_t shown, shown_slot, slot_of[RING], results[SLOTS], out_use; /* likewise, of results */
  /* the blocks': */
  uint8_t permitted, mode[RING], samples[RING], frames[SLOTS], made[SLOTS], ended;
  ticket tickets[RING], sinks[RING]; /* [job % RING] */
  /* what warps share: */
  uint8_t heard, heard_slot, heard_wish, heard_sample;
  struct {
    uint8_t state, is_recalled, word, slot, wish, sample, begun, sink, is_put, until;
  } ahead;
  struct {
    uint8_t begun, job, number, slot;
  } places[2];
  struct {
    uint8_t at, slot, wishes[MOST_FRAMES], samples[MOST_FRAMES], taken;
  } host;
  struct {
    uint8_t at, word, slot, known, value, wish, sample, is_expected, begun, mode, newest, sink;
  } listener;
  struct {
    uint8_t at, begun, first, wish, completed, oldest, next, number, filled, kept, timeouts;
    uint8_t slot, has_frame, last_slot, came, heard_wish, sample, renews;
    uint8_t slots[RING], sinks[RING];
  } decider;
  struct {
    uint8_t at, slot, value, next;
  } block;
  struct {
    uint8_t at, until, turn, job;
  } keeper;
} state;

typedef enum careless {
  CAREFUL,
  TAKES_ANY_TICKET,
  TAKES_BACK_BLINDLY,
  PERMITS_BEFORE_BYTES,
  LOOKS_AT_NO_WISH,
  LOOKS_AT_NO_SAMPLE,
  RENEWS_BLINDLY,
  READS_WORD_FIRST,
  TELLS_LATE,
  LOOKS_EARLY,
  SHOWS_WORD_FIRST,
  LEAVES_RESULTS_BEHIND,
  OVERTAKES_THE_DECIDER,
  SHOWS_WHAT_HAS_NOT_BEGUN,
  CATCHES_UP_TOO_LATE,
  WAYS
} careless;

typedef struct exploration {
  careless how;
  uint8_t frames, wishes, samples, timeouts; /* so many of each, at most */
  bool is_wrong, is_renewed, is_begun_ahead, is_shown_ahead, is_taken_back, is_given_back, is_over;
  size_t count;
  state *met;      /* [MOST_STATES] */
  uint32_t *table; /* [PLACES]: 1 + which of them, by their sums; 0: none */
  uint32_t *open;  /* [MOST_STATES]: from which no step was taken yet */
  size_t open_count;
} exploration;

static void assert_that(exploration *of, bool holds) {
  of->is_wrong |= !holds;
}

/* ---- the host ------------------------------------------------------------------------------- */

/* `which`: one of the things it may do. @return whether it can. */
static bool host_step(state *s, int which, const exploration *of) {
  switch (s->host.at) {
  case MAKE_WISH: /* or not */
    if (s->sent == of->frames)
      return false;
    if (which == 0 && s->wish == of->wishes)
      return false;
    if (which == 2 && s->sample == of->samples)
      return false;
    if (which == 0)
      ++s->wish;
    if (which == 2)
      ++s->sample;
    s->host.at = which == 2 ? MAKE_WISH : FILL;
    return which < 3;
  case FILL: /* slots in turn, or not */
    if (which >= SLOTS || s->in_use >> which & 1)
      return false;
    s->host.slot = (uint8_t)which;
    s->in_use |= (uint8_t)(1 << which);
    s->bytes[which] = s->sent + 1;
    s->host.at = SEND;
    return true;
  default:
    s->host.wishes[s->sent] = s->wish;
    s->host.samples[s->sent] = s->sample;
    s->sent_slot = s->host.slot;
    ++s->sent;
    s->host.at = MAKE_WISH;
    return which == 0;
  }
}

/* Another thread of the host takes a result, looks at it and gives it back. */
static bool reader_step(state *s, exploration *of) {
  if (s->shown == s->host.taken)
    return false;
  const uint8_t number = s->host.taken++;
  const uint8_t slot = s->shown == s->host.taken ? s->shown_slot : s->slot_of[number % RING];
  assert_that(of, s->results[slot] == number + 1);
  s->results[slot] = s->slot_of[number % RING] = 0;
  s->out_use &= (uint8_t) ~(1 << slot);
  return true;
}

/* ---- the listener --------------------------------------------------------------------------- */

/* Is it what is expected? Else it is given back, if it is recalled. A look that has brought nothing
 * new ends there. */
static bool is_expected(const state *s) {
  return s->listener.word == s->ahead.word && s->listener.slot == s->ahead.slot;
}

static void compare(state *s, const exploration *of) {
  const bool is_first = s->listener.at == COMPARE;
  if ((of->how == READS_WORD_FIRST) == is_first)
    s->listener.is_expected = is_expected(s);
  if (is_first && (s->ahead.state == PREPARED || of->how == READS_WORD_FIRST)) {
    s->listener.at = COMPARE_WORD;
    return;
  }
  const bool is_ours = s->ahead.state == PREPARED;
  s->listener.at = s->listener.word != s->listener.known ? LOOK_TWICE : PUT_DOWN;
  if (is_ours && s->listener.is_expected)
    s->listener.at = LOOK_AGAIN;
  else if (is_ours && s->ahead.is_recalled)
    s->ahead.state = GIVEN_BACK;
  s->listener.is_expected = 0;
}

/* The second look and the frame, and what follows from them: of what it reads the wish and the
 * sample alone can change meanwhile. */
static void look_again(state *s, const exploration *of) {
  if (of->how != LOOKS_EARLY) {
    s->listener.wish = s->wish;
    s->listener.sample = s->sample;
  }
  const bool is_wished = s->listener.wish != s->ahead.wish && of->how != LOOKS_AT_NO_WISH;
  const bool is_newer = s->listener.sample != s->ahead.sample && of->how != LOOKS_AT_NO_SAMPLE;
  s->listener.value = s->bytes[s->ahead.slot];
  s->listener.begun = s->ahead.begun;
  s->listener.mode = s->ahead.wish;
  s->listener.newest = s->ahead.sample;
  s->listener.sink = s->ahead.sink;
  s->listener.at = of->how == PERMITS_BEFORE_BYTES || of->how == TELLS_LATE ? PERMIT : STORE;
  if (of->how == TELLS_LATE)
    s->frames[s->listener.slot] = s->listener.value;
  if (is_wished || is_newer) {
    s->ahead.state = GIVEN_BACK;
    s->listener.at = PUT_DOWN;
  }
}

static void put_down(state *s, const exploration *of) {
  if (s->listener.word != s->listener.known)
    s->heard_wish = s->listener.wish;
  s->heard_sample = s->listener.sample;
  s->heard = s->listener.known = s->listener.word;
  s->heard_slot = s->listener.slot;
  s->listener.word = s->listener.slot = s->listener.value = s->listener.wish = 0;
  s->listener.sample = s->listener.begun = s->listener.mode = s->listener.newest = 0;
  s->listener.sink = 0;
  s->listener.at = of->how == LOOKS_EARLY ? LOOK_EARLY : LOOK;
}

static void listener_step(state *s, const exploration *of) {
  const uint8_t row = (uint8_t)(s->listener.begun - 1) % RING;
  switch (s->listener.at) {
  case LOOK_EARLY:
    s->listener.wish = s->wish;
    s->listener.sample = s->sample;
    s->listener.at = LOOK;
    break;
  case LOOK:
    s->listener.word = s->sent;
    s->listener.slot = s->sent_slot;
    if (of->how != LOOKS_EARLY)
      s->listener.sample = s->sample;
    s->listener.at = COMPARE;
    break;
  case COMPARE:
  case COMPARE_WORD:
    compare(s, of);
    break;
  case LOOK_AGAIN:
    look_again(s, of);
    break;
  case STORE:
    s->frames[s->listener.slot] = s->listener.value;
    s->listener.at = TELL;
    break;
  case TELL: /* what is prepared is the decider's again */
    s->ahead.until = s->listener.begun;
    s->ahead.state = BEGUN;
    s->listener.at = of->how == PERMITS_BEFORE_BYTES || of->how == TELLS_LATE ? PUT_DOWN : PERMIT;
    break;
  case PERMIT: /* words of a line, in no order: blocks look at the number in each */
    s->permitted = s->listener.begun;
    s->mode[row] = s->listener.mode;
    s->samples[row] = s->listener.newest;
    s->listener.at = SAY_TICKETS;
    break;
  case SAY_TICKETS:
    s->tickets[row] = (ticket){s->listener.begun, s->listener.slot};
    s->sinks[row] = (ticket){s->listener.begun, s->listener.sink};
    s->listener.at = of->how == PERMITS_BEFORE_BYTES ? STORE
                     : of->how == TELLS_LATE         ? TELL
                                                     : PUT_DOWN;
    break;
  case LOOK_TWICE:
    if (of->how != LOOKS_EARLY) {
      s->listener.wish = s->wish;
      s->listener.sample = s->sample;
    }
    s->listener.at = PUT_DOWN;
    break;
  default:
    put_down(s, of);
  }
}

/* ---- the decider ---------------------------------------------------------------------------- */

static int32_t free_slot(const state *s) {
  for (int slot = 0; slot < SLOTS; ++slot)
    if (!(s->out_use >> slot & 1))
      return slot;
  return -1;
}

/* Of the result of job `sink`'s place among those of the keeper. */
static bool is_keepers(const state *s) {
  return s->decider.filled != s->decider.kept &&
         s->places[s->decider.kept & 1].job == s->decider.oldest;
}

/* Results that have a slot, and are not shown. Skipped jobs have none. */
static uint8_t outstanding(const state *s) {
  uint8_t count = 0;
  for (uint8_t job = s->decider.oldest; job != s->decider.next; ++job)
    if (s->decider.sinks[job % RING] != NOTHING)
      ++count;
  return count;
}

static void put_result(state *s, const exploration *of) {
  const uint8_t before = outstanding(s);
  const uint8_t keepers = (uint8_t)(s->decider.filled - s->decider.kept);
  if (s->ahead.is_put || keepers > 1 || (before != keepers && of->how != OVERTAKES_THE_DECIDER))
    return;
  s->ahead.is_put = 1;
  const int place = s->decider.filled++ & 1;
  s->places[place].job = s->decider.begun;
  s->places[place].slot = s->ahead.sink;
  s->places[place].number = s->decider.number + before;
  s->places[place].begun = s->decider.begun + 1;
}

static void catch_up(state *s, exploration *of) {
  of->is_begun_ahead = true;
  const uint8_t job = s->decider.begun++;
  s->decider.slots[job % RING] = s->decider.last_slot = s->ahead.slot;
  s->decider.sinks[job % RING] = s->ahead.sink;
  s->decider.next = s->decider.begun;
  ++s->decider.first;
  s->ahead.state = NONE;
  s->ahead.word = s->ahead.slot = s->ahead.wish = s->ahead.begun = s->ahead.sink = 0;
  s->ahead.sample = 0;
}

static void take_back_result(state *s, const exploration *of) {
  s->out_use &= (uint8_t) ~(1 << s->ahead.sink);
  if (s->ahead.is_put && of->how != LEAVES_RESULTS_BEHIND) {
    s->places[--s->decider.filled & 1].begun = 0;
    s->ahead.is_put = 0;
  }
}

static bool may_prepare(const state *s, const exploration *of) {
  return s->ahead.state == NONE && s->decider.first == s->decider.came &&
         s->decider.next == s->decider.begun && s->decider.begun - s->decider.completed < 3 &&
         s->decider.first < of->frames && free_slot(s) >= 0;
}

/* Not everything is decided at once: which of the things that are due comes next. */
static bool decider_choose(state *s, int which, exploration *of) {
  const bool has_new = s->decider.came > s->decider.first;
  switch (which) {
  case 0: /* look at the blocks */
    if (s->ended == s->decider.completed)
      return false;
    s->decider.at = of->how == CATCHES_UP_TOO_LATE ? SHOW : CATCH_UP;
    return true;
  case 1: /* hear */
    if (s->heard == s->decider.came && s->heard_wish == s->decider.heard_wish &&
        s->heard_sample == s->decider.sample && s->ahead.state != BEGUN)
      return false;
    s->decider.at = HEAR;
    return true;
  case 2: /* prepare; anew, with a newer sample */
    if (s->ahead.state == PREPARED && s->ahead.sample != s->decider.sample) {
      s->decider.renews = 1;
      s->decider.at = of->how == RENEWS_BLINDLY ? TAKE_BACK_BLINDLY : RECALL;
      return true;
    }
    if (!may_prepare(s, of) || s->decider.wish != s->decider.heard_wish)
      return false;
    s->ahead.sink = (uint8_t)free_slot(s);
    s->out_use |= (uint8_t)(1 << s->ahead.sink);
    s->decider.slot = (uint8_t)((s->decider.last_slot + 1) % SLOTS);
    s->ahead.is_put = 0;
    s->decider.at = EXPECT;
    put_result(s, of);
    return true;
  case 3: /* a frame is there, or none came for long */
    if (s->decider.begun - s->decider.completed >= 3 || s->decider.next != s->decider.begun ||
        (!has_new && (s->decider.timeouts == of->timeouts || s->decider.first == of->frames)))
      return false;
    if (!has_new)
      ++s->decider.timeouts;
    s->decider.has_frame = has_new;
    s->decider.at =
        of->how == TAKES_BACK_BLINDLY && s->ahead.state == PREPARED ? TAKE_BACK_BLINDLY : RECALL;
    return true;
  default: { /* grant a slot */
    const int32_t slot = free_slot(s);
    if (which > 4 || s->decider.next == s->decider.begun || slot < 0)
      return false;
    s->out_use |= (uint8_t)(1 << slot);
    s->decider.sinks[s->decider.next % RING] = (uint8_t)slot;
    s->sinks[s->decider.next % RING] = (ticket){s->decider.next + 1, (uint8_t)slot};
    ++s->decider.next;
    return true;
  }
  }
}

/* What nobody reads any more of a job: fewer states, which differ in nothing that matters. */
static void forget(state *s, uint8_t job) {
  const uint8_t row = job % RING, slot = s->decider.slots[row];
  if (slot != NOTHING)
    s->bytes[slot] = s->frames[slot] = 0;
  s->tickets[row] = s->sinks[row] = (ticket){0, 0};
  s->samples[row] = s->mode[row] = s->decider.slots[row] = s->decider.sinks[row] = 0;
}

/* The oldest result, whose job is over: its frame's slot is given back as well. */
static void result_is_shown(state *s) {
  const uint8_t slot = s->decider.slots[s->decider.oldest % RING];
  if (slot != NOTHING) {
    ++s->decider.number;
    s->in_use &= (uint8_t) ~(1 << slot);
  }
  forget(s, s->decider.oldest);
  ++s->decider.oldest;
  ++s->decider.completed;
  if (s->ahead.state != NONE)
    s->decider.at = PUT_RESULT;
  else
    s->decider.at = TOP;
}

static bool show_step(state *s, exploration *of) {
  const uint8_t job = s->decider.oldest, slot = s->decider.sinks[job % RING];
  if (job == s->decider.next) { /* not known: the listener has begun it */
    assert_that(of, false);
    return true;
  }
  if (is_keepers(s)) {
    if (s->places[s->decider.kept & 1].begun != 0)
      return false;
    s->places[s->decider.kept & 1].job = NOTHING;
    s->places[s->decider.kept & 1].number = s->places[s->decider.kept & 1].slot = 0;
    ++s->decider.kept;
    of->is_shown_ahead = true;
    result_is_shown(s);
  } else if (slot == NOTHING) {
    result_is_shown(s);
  } else {
    s->results[slot] = s->made[slot];
    s->made[slot] = 0;
    s->decider.at = SHOW_WORD;
  }
  return true;
}

static void show_word(state *s) {
  const uint8_t slot = s->decider.sinks[s->decider.oldest % RING];
  s->slot_of[s->decider.number % RING] = s->shown_slot = slot;
  s->shown = s->decider.number + 1;
  result_is_shown(s);
}

/* @return false: it waits. */
static bool decider_step(state *s, int which, exploration *of) {
  const uint8_t job = s->decider.begun, row = job % RING;
  if (s->decider.at == TOP)
    return decider_choose(s, which, of);
  if (which > 0)
    return false;
  switch (s->decider.at) {
  case CATCH_UP:
    if (s->ahead.state == BEGUN)
      catch_up(s, of);
    s->decider.at = SHOW;
    return true;
  case SHOW:
    return show_step(s, of);
  case SHOW_WORD:
    show_word(s);
    return true;
  case HEAR:
    if (s->ahead.state == BEGUN)
      catch_up(s, of);
    s->decider.came = s->heard;
    s->decider.heard_wish = s->heard_wish;
    s->decider.sample = s->heard_sample;
    s->decider.at = TOP;
    return true;
  case PUT_RESULT: /* of what is prepared, behind one that was shown */
    if (s->ahead.state != NONE)
      put_result(s, of);
    s->decider.at = TOP;
    return true;
  case EXPECT:
    s->ahead.word = s->decider.first + 1;
    s->ahead.slot = s->decider.slot;
    s->ahead.wish = s->decider.wish;
    s->ahead.sample = s->decider.sample;
    s->ahead.begun = job + 1;
    s->decider.at = PUBLISH;
    return true;
  case PUBLISH:
    s->ahead.state = PREPARED;
    s->decider.slot = 0;
    s->decider.at = TOP;
    return true;
  case RECALL:
    s->ahead.is_recalled = s->ahead.state == PREPARED;
    s->decider.at = s->ahead.state == NONE ? DECIDE_MODE : AWAIT_BACK;
    return true;
  case TAKE_BACK_BLINDLY: /* what it saw a step ago was PREPARED */
    s->decider.at = UNDO;
    return true;
  case AWAIT_BACK:
    if (s->ahead.state == PREPARED)
      return false;
    of->is_taken_back |= s->ahead.is_recalled;
    of->is_given_back |= !s->ahead.is_recalled && s->ahead.state == GIVEN_BACK;
    s->ahead.is_recalled = 0;
    s->decider.at = UNDO;
    if (s->ahead.state == BEGUN) {
      catch_up(s, of);
      s->decider.renews = 0;
      s->decider.at = TOP;
    }
    return true;
  case UNDO:
    take_back_result(s, of);
    s->ahead.state = NONE;
    of->is_renewed |= s->decider.renews;
    s->decider.at = s->decider.renews ? TOP : DECIDE_MODE;
    s->decider.renews = 0;
    return true;
  case DECIDE_MODE:
    s->decider.wish = s->decider.heard_wish;
    s->mode[row] = s->decider.wish;
    s->decider.at = DECIDE_PERMIT;
    return true;
  case DECIDE_PERMIT:
    s->permitted = job + 1;
    s->decider.at = CARRY;
    return true;
  case CARRY:
    s->decider.slot = NOTHING;
    if (s->decider.has_frame) { /* of several the oldest one */
      for (int slot = 0; slot < SLOTS; ++slot)
        if ((s->in_use >> slot & 1) && s->bytes[slot] == s->decider.first + 1)
          s->decider.slot = (uint8_t)slot;
      s->frames[s->decider.slot] = s->bytes[s->decider.slot];
      s->decider.last_slot = s->decider.slot;
      ++s->decider.first;
    }
    s->decider.at = DECIDE_TICKET;
    return true;
  default:
    s->tickets[row] = (ticket){job + 1, s->decider.slot};
    s->samples[row] = s->decider.slot == NOTHING ? 0 : s->decider.sample;
    s->decider.slots[row] = s->decider.slot;
    if (s->decider.slot == NOTHING) { /* so is its result */
      s->sinks[row] = (ticket){job + 1, NOTHING};
      s->decider.sinks[row] = NOTHING;
      ++s->decider.next;
    }
    ++s->decider.begun;
    s->decider.slot = s->decider.has_frame = 0;
    s->decider.at = TOP;
    return true;
  }
}

/* ---- a block, and the keeper ----------------------------------------------------------------- */

static bool block_step(state *s, exploration *of) {
  const uint8_t job = s->ended, row = job % RING;
  switch (s->block.at) {
  case AWAIT_BEGIN:
    if (s->permitted <= job)
      return false;
    s->block.at = AWAIT_TICKET;
    return true;
  case AWAIT_TICKET:
    if (s->tickets[row].job != job + 1 && of->how != TAKES_ANY_TICKET)
      return false;
    s->block.slot = s->tickets[row].slot;
    s->block.at = s->block.slot == NOTHING ? END : READ;
    return true;
  case READ: /* the next frame, whole, in the mode that was wished for before it, or a later one */
    s->block.value = s->frames[s->block.slot];
    assert_that(of, s->block.value == s->block.next + 1);
    assert_that(of, s->block.next < MOST_FRAMES &&
                        s->mode[row] >= s->host.wishes[s->block.next % MOST_FRAMES]);
    assert_that(of, s->samples[row] >= s->host.samples[s->block.next % MOST_FRAMES]);
    s->host.wishes[s->block.next % MOST_FRAMES] = s->host.samples[s->block.next % MOST_FRAMES] = 0;
    ++s->block.next;
    s->block.at = AWAIT_SINK;
    return true;
  case AWAIT_SINK:
    if (s->sinks[row].job != job + 1)
      return false;
    s->block.slot = s->sinks[row].slot;
    s->block.at = WRITE;
    return true;
  case WRITE: /* it was taken, for this job */
    assert_that(of, s->out_use >> s->block.slot & 1);
    s->made[s->block.slot] = s->block.value;
    s->block.at = END;
    return true;
  default:
    ++s->ended;
    s->block.at = AWAIT_BEGIN;
    s->block.slot = s->block.value = 0;
    return true;
  }
}

static bool keeper_step(state *s, const exploration *of) {
  const int turn = s->keeper.turn;
  const bool shows_word_first = of->how == SHOWS_WORD_FIRST;
  switch (s->keeper.at) {
  case K_UNTIL:
    if (s->places[turn].begun == 0) /* there is nothing that a look would find */
      return false;
    s->keeper.until = s->ahead.until;
    s->keeper.at = K_PLACE;
    return true;
  case K_PLACE: {
    const uint8_t begun = s->places[turn].begun;
    const bool is_open =
        begun != 0 && (begun <= s->keeper.until || of->how == SHOWS_WHAT_HAS_NOT_BEGUN);
    s->keeper.job = is_open ? s->places[turn].job : 0;
    s->keeper.until = 0;
    s->keeper.at = is_open ? K_LOOK : K_UNTIL;
    return true;
  }
  case K_LOOK:
    s->keeper.at = s->ended <= s->keeper.job ? K_UNTIL : shows_word_first ? K_SHOW : K_COPY;
    return true;
  case K_COPY:
    s->results[s->places[turn].slot] = s->made[s->places[turn].slot];
    s->made[s->places[turn].slot] = 0;
    s->keeper.at = shows_word_first ? K_CLEAR : K_SHOW;
    return true;
  case K_SHOW:
    s->slot_of[s->places[turn].number % RING] = s->shown_slot = s->places[turn].slot;
    s->shown = s->places[turn].number + 1;
    s->keeper.at = shows_word_first ? K_COPY : K_CLEAR;
    return true;
  default:
    s->places[turn].begun = 0;
    s->keeper.job = 0;
    s->keeper.turn ^= 1;
    s->keeper.at = K_UNTIL;
    return true;
  }
}

/* ---- all orders ----------------------------------------------------------------------------- */

enum { MOST_STATES = 1 << 22, PLACES = 2 * MOST_STATES };

static uint32_t *place_of(const exploration *of, const state *s) {
  uint64_t sum = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < sizeof *s; ++i)
    sum = (sum ^ ((const uint8_t *)s)[i]) * UINT64_C(1099511628211);
  size_t place = (sum ^ sum >> 32) % PLACES;
  while (of->table[place] != 0 && memcmp(&of->met[of->table[place] - 1], s, sizeof *s) != 0)
    place = (place + 1) % PLACES;
  return &of->table[place];
}

static void meet(exploration *of, const state *s) {
  uint32_t *place = place_of(of, s);
  if (*place != 0)
    return;
  ck_assert_uint_lt(of->count, MOST_STATES);
  of->met[of->count] = *s;
  of->open[of->open_count++] = (uint32_t)of->count;
  *place = (uint32_t)++of->count;
}

/* Who may take a step, and which of several. */
enum { CHOICES = 5 };
static bool step_of(state *s, int who, int which, exploration *of) {
  switch (who) {
  case 0:
    return host_step(s, which, of);
  case 1:
    if (which == 0)
      listener_step(s, of);
    return which == 0;
  case 2:
    return decider_step(s, which, of);
  case 3:
    return which == 0 && block_step(s, of);
  case 4:
    return which == 0 && keeper_step(s, of);
  default:
    return which == 0 && reader_step(s, of);
  }
}

static void explore(exploration *of) {
  of->met = malloc(MOST_STATES * sizeof *of->met);
  of->table = calloc(PLACES, sizeof *of->table);
  of->open = malloc(MOST_STATES * sizeof *of->open);
  ck_assert(of->met && of->table && of->open);
  meet(of, &(state){.decider = {.last_slot = SLOTS - 1}});
  while (of->open_count > 0 && !of->is_wrong) {
    const state now = of->met[of->open[--of->open_count]];
    of->is_over |= now.host.taken == of->frames;
    for (int who = 0; who < 6 && !of->is_wrong; ++who)
      for (int which = 0; which < CHOICES && !of->is_wrong; ++which) {
        state next = now;
        if (step_of(&next, who, which, of))
          meet(of, &next);
      }
  }
  free(of->met);
  free(of->table);
  free(of->open);
}

TESTS(each_frame_is_worked_once_and_as_it_was_wished, 2) {
  exploration right = {.frames = _i == 0 ? 3 : 2, .wishes = 1, .timeouts = (uint8_t)_i};
  explore(&right);
  ck_assert(!right.is_wrong);
  ck_assert(right.is_begun_ahead && right.is_shown_ahead && right.is_taken_back &&
            right.is_given_back && right.is_over);
  ck_assert_uint_gt(right.count, 1000000);
}

TESTS(each_frame_is_worked_with_the_sample_before_it, 2) {
  exploration right = {.frames = 2, .samples = _i == 0 ? 2 : 1, .timeouts = (uint8_t)_i};
  explore(&right);
  ck_assert(!right.is_wrong);
  ck_assert(right.is_begun_ahead && right.is_renewed && right.is_given_back && right.is_over);
  ck_assert_uint_gt(right.count, 1000000);
}

TESTS_FROM(whoever_is_careless_is_found, CAREFUL + 1, WAYS) {
  const bool is_of_samples = _i == LOOKS_AT_NO_SAMPLE || _i == RENEWS_BLINDLY;
  exploration wrong = {.how = (careless)_i,
                       .frames = 3,
                       .wishes = !is_of_samples,
                       .samples = is_of_samples,
                       .timeouts = 1};
  explore(&wrong);
  ck_assert(wrong.is_wrong);
}
