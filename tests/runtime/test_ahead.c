/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hyperperiod that a GPU's courier has prepared ahead: runtime/core/courier_warps.h, access by
 * access. The host makes wishes, sends samples and frames, the listener begins what is prepared,
 * the decider prepares, takes back, decides otherwise and catches up, a block works, the keeper
 * shows results. Every order of all their loads and stores is gone through, as far as a few frames
 * lead: each frame is worked once, whole, in order, in the mode that was wished for before it and
 * with the sample that was sent before it, and so are results; no slot is written that somebody
 * has. Whoever leaves a step out, or takes two in the wrong order, is found, in that source
 * (tests/warp_mutants.cmake) or beside it.
 */
/* ctest: long release */
#include <check.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/running.h"
#include "tests/common/suite.h"

/* What courier_warps.h is made of: bytes of the state below. An access is a step. */
#define PREM_WARP_WORDS  "tests/common/suite.h"
#define PREM_SHARED_CODE static inline
enum { PREM_LANE_WORDS = 3, PREM_HOST_WORDS = 3 }; /* what the host says, in this order: */
enum { FRAME, WISH, SAMPLE };
typedef uint8_t prem_inner_word;
typedef enum step_kind { LOADS, AWAITS, STORES } step_kind;
static uint64_t take_step(const prem_inner_word *word, step_kind kind, uint64_t value);

static inline uint64_t prem_word_inner(const prem_inner_word *word) {
  return take_step(word, LOADS, 0);
}
static inline uint64_t prem_word_inner_awaited(const prem_inner_word *word) {
  return take_step(word, AWAITS, 0);
}
static inline void prem_word_set_inner(prem_inner_word *word, uint64_t value) {
  take_step(word, STORES, value);
}
static inline void prem_fence_inner(void) {}
static inline void prem_lanes_meet(void) {}
static inline uint32_t prem_lanes_first(uint32_t value) {
  return value;
}
#include "runtime/core/courier_warps.h"

typedef struct warps_code {
  const char *name;
  void (*offer)(prem_ahead *);
  bool (*has_begun)(const prem_ahead *);
  bool (*recall)(prem_ahead *, const int32_t *);
  void (*close)(prem_ahead *);
  bool (*is_expected)(const prem_ahead *, int32_t, uint64_t);
  bool (*begins)(const prem_ahead *, int32_t, uint64_t);
  void (*give_back)(prem_ahead *);
  void (*answer)(prem_ahead *);
  void (*begin)(prem_ahead *, uint64_t);
  bool (*may_put)(const prem_ahead_sink *, uint32_t);
  int32_t (*put)(prem_ahead_sink *);
  void (*put_down)(prem_inner_word *, uint64_t);
  void (*take_back)(prem_ahead_sink *, prem_inner_word *, prem_inner_word *);
  int32_t (*oldest)(const prem_ahead_sink *);
  void (*await_shown)(prem_ahead_sink *, const prem_inner_word *);
  bool (*is_open)(const prem_ahead *, const prem_inner_word *);
  void (*is_shown)(prem_inner_word *);
} warps_code;
#define WARPS(of)                                                                                  \
  {                                                                                                \
#of, of##_ahead_offer, of##_ahead_has_begun, of##_ahead_recall, of##_ahead_close,              \
        of##_ahead_is_expected, of##_ahead_begins, of##_ahead_give_back, of##_ahead_answer,        \
        of##_ahead_begin, of##_ahead_may_put, of##_ahead_put, of##_ahead_put_down,                 \
        of##_ahead_take_back, of##_ahead_oldest, of##_ahead_await_shown, of##_ahead_is_open,       \
        of##_ahead_is_shown                                                                        \
  }
static const warps_code shipped = WARPS(prem);

#include <warp_mutants.h> /* made by tests/warp_mutants.cmake */
static const warps_code mutants[] = {AHEAD_MUTANTS};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

enum { SLOTS = 2, RING = 4, MOST_FRAMES = 3, NOTHING = 15, CALL_STEPS = 6 };

/* Where each of them stands. */
enum { MAKE_WISH, FILL, SEND };
enum {
  LOOK,
  LOOK_EARLY,
  COMPARE,
  LOOK_AGAIN,
  VOTE,
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
  TAKE_HEARD,
  PUT_RESULT,
  EXPECT,
  PUBLISH,
  RECALL,
  UNDO,
  DECIDE_MODE,
  DECIDE_PERMIT,
  CARRY,
  DECIDE_TICKET
};
enum { AWAIT_BEGIN, AWAIT_TICKET, READ, AWAIT_SINK, WRITE, END };
enum { K_PLACE, K_LOOK, K_COPY, K_SHOW, K_CLEAR };

typedef struct ticket {
  uint8_t job, slot; /* job + 1; slot NOTHING: it is skipped */
} ticket;

enum { HOST, LISTENER, DECIDER, BLOCK, KEEPER, READER, ACTORS };

/* All that there is. States compare by their bytes: those that no member has are 0 in all, since
 * each is a copy of the first one. */
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
  prem_ahead ahead;
  struct {
    uint8_t slot, begun, sink;
  } prepared;
  struct {
    prem_inner_word begun;
    uint8_t job, number, slot;
  } places[2];
  struct {
    uint8_t at, slot, wishes[MOST_FRAMES], samples[MOST_FRAMES], taken;
  } host;
  struct {
    uint8_t at, word, slot, known, value, wish, sample, begun, mode, newest, sink;
  } listener;
  struct {
    uint8_t at, begun, first, wish, completed, oldest, next, number, timeouts;
    prem_ahead_sink results;
    uint8_t slot, has_frame, last_slot, came, heard_wish, sample, renews;
    uint8_t slots[RING], sinks[RING];
  } decider;
  struct {
    uint8_t at, slot, value, next;
  } block;
  struct {
    uint8_t at, turn, job;
  } keeper;
  /* of the call that is under way: what its accesses have brought so far */
  struct {
    uint8_t count, values[CALL_STEPS];
  } calls[ACTORS];
} state;

/* What is wrong beside the source. */
typedef enum careless {
  CAREFUL,
  TAKES_ANY_TICKET,
  PERMITS_BEFORE_BYTES,
  TELLS_LATE,
  LOOKS_EARLY,
  SHOWS_WORD_FIRST,
  CATCHES_UP_TOO_LATE,
  WAYS
} careless;

typedef struct exploration {
  careless how;
  const warps_code *code;
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

/* ---- calls of the source --------------------------------------------------------------------- */

/* An actor's step: the call that it is in begins anew, goes on with what its accesses have brought
 * so far, takes one more, and is left where the one after that would be. */
static struct {
  state *of;
  int who, which, at;
  bool has_stepped, is_stored;
  size_t word;
  uint8_t value;
  jmp_buf leave;
} now;

static uint64_t take_step(const prem_inner_word *word, step_kind kind, uint64_t value) {
  uint8_t *values = now.of->calls[now.who].values, *count = &now.of->calls[now.who].count;
  if (now.at < *count)
    return values[now.at++];
  if (now.has_stepped)
    longjmp(now.leave, 1);
  now.has_stepped = true;
  now.is_stored = kind == STORES;
  now.word = (size_t)(word - (const uint8_t *)now.of);
  now.value = kind == STORES ? (uint8_t)value : *word;
  if (kind == STORES)
    ((uint8_t *)now.of)[now.word] = now.value;
  if (kind == AWAITS && now.at > 0 && values[now.at - 1] == now.value)
    longjmp(now.leave, 1); /* nothing new */
  ck_assert_int_lt(now.at, CALL_STEPS);
  values[now.at++] = now.value;
  *count = (uint8_t)now.at;
  return now.value;
}

/* ---- the listener --------------------------------------------------------------------------- */

static uint8_t word_of_frame(uint8_t count, uint8_t slot) {
  return (uint8_t)(count << 1 | slot);
}

/* Is it what is expected? Else it is given back, if it is recalled. A look that has brought nothing
 * new ends there. */
static void compare(state *s, const exploration *of) {
  const bool begins =
      of->code->begins(&s->ahead, FRAME, word_of_frame(s->listener.word, s->listener.slot));
  if (!begins)
    of->code->answer(&s->ahead);
  s->listener.at = begins                                  ? LOOK_AGAIN
                   : s->listener.word != s->listener.known ? LOOK_TWICE
                                                           : PUT_DOWN;
}

/* The second look and the frame: of what it reads the wish and the sample alone can change
 * meanwhile. */
static void look_again(state *s, const exploration *of) {
  if (of->how != LOOKS_EARLY) {
    s->listener.wish = s->wish;
    s->listener.sample = s->sample;
  }
  s->listener.value = s->bytes[s->prepared.slot];
  s->listener.begun = s->prepared.begun;
  s->listener.mode = s->ahead.expected[WISH];
  s->listener.newest = s->ahead.expected[SAMPLE];
  s->listener.sink = s->prepared.sink;
  s->listener.at = VOTE;
}

static void vote(state *s, const exploration *of) {
  const bool is_as_prepared = of->code->is_expected(&s->ahead, WISH, s->listener.wish) &&
                              of->code->is_expected(&s->ahead, SAMPLE, s->listener.sample);
  if (!is_as_prepared)
    of->code->give_back(&s->ahead);
  else if (of->how == TELLS_LATE)
    s->frames[s->listener.slot] = s->listener.value;
  s->listener.at = !is_as_prepared                                            ? PUT_DOWN
                   : of->how == PERMITS_BEFORE_BYTES || of->how == TELLS_LATE ? PERMIT
                                                                              : STORE;
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
    compare(s, of);
    break;
  case LOOK_AGAIN:
    look_again(s, of);
    break;
  case VOTE:
    vote(s, of);
    break;
  case STORE:
    s->frames[s->listener.slot] = s->listener.value;
    s->listener.at = TELL;
    break;
  case TELL: /* what is prepared is the decider's again */
    of->code->begin(&s->ahead, s->listener.begun);
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
  if (s->decider.results.is_put || !of->code->may_put(&s->decider.results, before))
    return;
  const int place = of->code->put(&s->decider.results);
  s->places[place].job = s->decider.begun;
  s->places[place].slot = s->prepared.sink;
  s->places[place].number = s->decider.number + before;
  of->code->put_down(&s->places[place].begun, s->decider.begun + 1);
}

static void catch_up(state *s, exploration *of) {
  of->is_begun_ahead = true;
  const uint8_t job = s->decider.begun++;
  s->decider.slots[job % RING] = s->decider.last_slot = s->prepared.slot;
  s->decider.sinks[job % RING] = s->prepared.sink;
  s->decider.next = s->decider.begun;
  ++s->decider.first;
  memset(s->ahead.expected, 0, sizeof s->ahead.expected); /* nobody reads it any more */
  memset(&s->prepared, 0, sizeof s->prepared);
  of->code->close(&s->ahead);
}

static bool may_prepare(const state *s, const exploration *of) {
  return s->ahead.state == PREM_AHEAD_NONE && s->decider.first == s->decider.came &&
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
        s->heard_sample == s->decider.sample && s->ahead.state != PREM_AHEAD_BEGUN)
      return false;
    s->decider.at = HEAR;
    return true;
  case 2: /* prepare; anew, with a newer sample */
    if (s->ahead.state == PREM_AHEAD_PREPARED && s->ahead.expected[SAMPLE] != s->decider.sample) {
      s->decider.renews = 1;
      s->decider.at = RECALL;
      return true;
    }
    if (!may_prepare(s, of) || s->decider.wish != s->decider.heard_wish)
      return false;
    s->prepared.sink = (uint8_t)free_slot(s);
    s->out_use |= (uint8_t)(1 << s->prepared.sink);
    s->decider.slot = (uint8_t)((s->decider.last_slot + 1) % SLOTS);
    s->decider.results.is_put = false;
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
    s->decider.at = RECALL;
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
  s->decider.at = s->ahead.state != PREM_AHEAD_NONE ? PUT_RESULT : TOP;
}

static bool show_step(state *s, exploration *of) {
  const uint8_t job = s->decider.oldest, slot = s->decider.sinks[job % RING];
  if (job == s->decider.next) { /* not known: the listener has begun it */
    assert_that(of, false);
    return true;
  }
  const int place = of->code->oldest(&s->decider.results);
  if (place >= 0 && s->places[place].job == s->decider.oldest) {
    of->code->await_shown(&s->decider.results, &s->places[place].begun);
    s->places[place].job = NOTHING;
    s->places[place].number = s->places[place].slot = 0;
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
    if (of->code->has_begun(&s->ahead))
      catch_up(s, of);
    s->decider.at = SHOW;
    return true;
  case SHOW:
    return show_step(s, of);
  case SHOW_WORD:
    show_word(s);
    return true;
  case HEAR:
    if (of->code->has_begun(&s->ahead))
      catch_up(s, of);
    s->decider.at = TAKE_HEARD;
    return true;
  case TAKE_HEARD:
    s->decider.came = s->heard;
    s->decider.heard_wish = s->heard_wish;
    s->decider.sample = s->heard_sample;
    s->decider.at = TOP;
    return true;
  case PUT_RESULT: /* of what is prepared, behind one that was shown */
    if (s->ahead.state != PREM_AHEAD_NONE)
      put_result(s, of);
    s->decider.at = TOP;
    return true;
  case EXPECT:
    s->ahead.expected[FRAME] = word_of_frame(s->decider.first + 1, s->decider.slot);
    s->ahead.expected[WISH] = s->decider.wish;
    s->ahead.expected[SAMPLE] = s->decider.sample;
    s->prepared.slot = s->decider.slot;
    s->prepared.begun = job + 1;
    s->decider.at = PUBLISH;
    return true;
  case PUBLISH:
    of->code->offer(&s->ahead);
    s->decider.slot = 0;
    s->decider.at = TOP;
    return true;
  case RECALL: {
    static const int32_t is_leaving = 0;
    const uint64_t was = prem_ahead_look(&s->ahead);
    if (was == PREM_AHEAD_NONE) {
      s->decider.at = DECIDE_MODE;
      return true;
    }
    s->decider.at = UNDO;
    if (of->code->recall(&s->ahead, &is_leaving)) {
      catch_up(s, of);
      s->decider.renews = 0;
      s->decider.at = TOP;
    } else {
      of->is_taken_back |= was == PREM_AHEAD_PREPARED;
      of->is_given_back |= was == PREM_AHEAD_GIVEN_BACK;
    }
    return true;
  }
  case UNDO:
    s->out_use &= (uint8_t) ~(1 << s->prepared.sink);
    of->code->take_back(&s->decider.results, &s->places[0].begun, &s->places[1].begun);
    of->code->close(&s->ahead);
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
  case K_PLACE: {
    const uint8_t job = s->places[turn].job; /* its own, if it is open */
    if (s->places[turn].begun == 0)          /* there is nothing that a look would find */
      return false;
    const bool is_open = of->code->is_open(&s->ahead, &s->places[turn].begun);
    s->keeper.job = is_open ? job : 0;
    s->keeper.at = is_open ? K_LOOK : K_PLACE;
    return true;
  }
  case K_LOOK:
    s->keeper.at = s->ended <= s->keeper.job ? K_PLACE : shows_word_first ? K_SHOW : K_COPY;
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
    of->code->is_shown(&s->places[turn].begun);
    s->keeper.job = 0;
    s->keeper.turn ^= 1;
    s->keeper.at = K_PLACE;
    return true;
  }
}

/* ---- all orders ----------------------------------------------------------------------------- */

enum { MOST_STATES = 1 << 22, PLACES = 2 * MOST_STATES };

static uint32_t *place_of(const exploration *of, const state *s) {
  const uint8_t *bytes = (const uint8_t *)s;
  uint64_t sum = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < sizeof *s; ++i)
    sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
  size_t place = (sum ^ sum >> 32) % PLACES;
  while (of->table[place] != 0 &&
         memcmp((const uint8_t *)&of->met[of->table[place] - 1], bytes, sizeof *s) != 0)
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
static bool choose_step(state *s, int who, int which, exploration *of) {
  switch (who) {
  case HOST:
    return host_step(s, which, of);
  case LISTENER:
    if (which == 0)
      listener_step(s, of);
    return which == 0;
  case DECIDER:
    return decider_step(s, which, of);
  case BLOCK:
    return which == 0 && block_step(s, of);
  case KEEPER:
    return which == 0 && keeper_step(s, of);
  default:
    return which == 0 && reader_step(s, of);
  }
}

static bool step_of(state *s, int who, int which, exploration *of) {
  const state before = *s;
  now.of = s;
  now.who = who;
  now.which = which;
  now.at = 0;
  now.has_stepped = false;
  if (setjmp(now.leave) == 0) {
    const bool steps = choose_step(s, who, now.which, of);
    memset(&s->calls[who], 0, sizeof s->calls[who]);
    return steps;
  }
  /* it is in the middle of a call: of what it has done there is that access alone */
  const uint8_t count = s->calls[who].count;
  *s = before;
  if (now.is_stored)
    ((uint8_t *)s)[now.word] = now.value;
  if (count > before.calls[who].count)
    s->calls[who].values[s->calls[who].count++] = now.value;
  return true;
}

static void explore(exploration *of) {
  of->met = malloc(MOST_STATES * sizeof *of->met);
  of->table = calloc(PLACES, sizeof *of->table);
  of->open = malloc(MOST_STATES * sizeof *of->open);
  of->code = of->code ? of->code : &shipped;
  ck_assert(of->met && of->table && of->open);
  meet(of, &(state){.ahead = {.compared = 7}, .decider = {.last_slot = SLOTS - 1}});
  while (of->open_count > 0 && !of->is_wrong) {
    const state was = of->met[of->open[--of->open_count]];
    of->is_over |= was.host.taken == of->frames;
    for (int who = 0; who < ACTORS && !of->is_wrong; ++who)
      for (int which = 0; which < CHOICES && !of->is_wrong; ++which) {
        state next = was;
        if (step_of(&next, who, which, of))
          meet(of, &next);
      }
  }
  free(of->met);
  free(of->table);
  free(of->open);
}

TESTS(each_frame_is_worked_once_and_as_it_was_wished, 2) {
  exploration right = {.frames = _i == 0 ? 3 : 2, .wishes = (uint8_t)_i, .timeouts = (uint8_t)_i};
  explore(&right);
  ck_assert(!right.is_wrong);
  ck_assert(right.is_begun_ahead && right.is_shown_ahead && right.is_taken_back && right.is_over);
  ck_assert_int_eq(right.is_given_back, _i == 1);
  ck_assert_uint_gt(right.count, 1000000);
}

TESTS(each_frame_is_worked_with_the_sample_before_it, 2) {
  exploration right = {.frames = _i == 0 ? 2 : 1, .samples = 2, .timeouts = (uint8_t)_i};
  explore(&right);
  ck_assert(!right.is_wrong);
  ck_assert(right.is_begun_ahead && right.is_renewed && right.is_given_back && right.is_over);
  ck_assert_uint_gt(right.count, 100000);
}

/* The smallest exploration first. */
static bool is_found(careless how, const warps_code *code) {
  exploration wrong[] = {
      {.frames = 2, .wishes = 1}, {.frames = 2, .samples = 1}, {.frames = 3, .timeouts = 1}};
  bool is_found = false;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong && !is_found; ++i) {
    wrong[i].how = how;
    wrong[i].code = code;
    explore(&wrong[i]);
    is_found = wrong[i].is_wrong;
  }
  return is_found;
}

TESTS_FROM(whoever_is_careless_is_found, CAREFUL + 1, WAYS) {
  ck_assert(is_found((careless)_i, NULL));
}

TESTS(what_is_planted_is_found, MUTANTS) {
  if (!is_found(CAREFUL, &mutants[_i]))
    ck_abort_msg("%s is not found", mutants[_i].name);
}
