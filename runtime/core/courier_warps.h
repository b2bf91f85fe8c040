/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How the warps of a courier on a GPU work together (runtime/cuda/device/courier.cu): what the
 * listener hears for the decider, and the next hyperperiod, prepared ahead. tests/runtime goes
 * through all orders of these accesses, over this source (test_listener.c, test_ahead.c): so it is
 * C that is C++ as well, and what it is made of can be replaced.
 *
 * What warps tell each other are *inner* words: they lie in the scratchpad, and have no order but
 * that of the fences between them.
 */
#ifndef TTPREM_RUNTIME_CORE_COURIER_WARPS_H
#define TTPREM_RUNTIME_CORE_COURIER_WARPS_H

#ifdef PREM_WARP_WORDS
#include PREM_WARP_WORDS
#else
#include "runtime/core/live_words.h"

typedef uint64_t prem_inner_word;

/** A lane has one of the words that the host writes. */
enum { PREM_LANE_WORDS = 1, PREM_HOST_WORDS = 32 };

PREM_SHARED_CODE uint64_t prem_word_inner(const prem_inner_word *word) {
  return *(const volatile prem_inner_word *)word;
}
/** Of who waits until it changes. */
PREM_SHARED_CODE uint64_t prem_word_inner_awaited(const prem_inner_word *word) {
  return prem_look(word);
}
PREM_SHARED_CODE void prem_word_set_inner(prem_inner_word *word, uint64_t value) {
  *(volatile prem_inner_word *)word = value;
}
PREM_SHARED_CODE void prem_fence_inner(void) {
  prem_block_fence();
}
/** What one lane has done or seen all have then. */
PREM_SHARED_CODE void prem_lanes_meet(void) {
  __syncwarp();
}
PREM_SHARED_CODE uint32_t prem_lanes_first(uint32_t value) {
  return __shfl_sync(0xffffffffu, value, 0);
}
#endif

/** In which order the host says things: wishes, arguments and frames of other inputs that belong to
 *  a trigger's frame come before it, and all frames before it asks for the end. */
typedef enum prem_said {
  PREM_SAID_FIRST,
  PREM_SAID_AFTER,
  PREM_SAID_LAST,
  PREM_SAID_RANKS
} prem_said;

typedef struct prem_heard {
  prem_inner_word words[PREM_HOST_WORDS]; /* the listener's; */
  /* looks that begin after something that the decider did: it counts `asked` up, and `answered`
   * follows when what such a look has brought is in `words` */
  prem_inner_word asked, answered;
} prem_heard;

/**
 * Whose it is. What is prepared is the listener's, all else the decider's, so each step has one who
 * can take it:
 *
 *   - NONE -> PREPARED, the decider: what it has written for it is before it
 *   - PREPARED -> BEGUN, the listener, before blocks may begin, so that who sees that they have
 *     ended sees it: the decider has to catch up
 *   - PREPARED -> GIVEN_BACK, the listener, which has changed nothing: the frame is not as it was
 *     expected, or the decider recalls it, to decide the hyperperiod otherwise, or to prepare it
 *     with a newer sample
 *   - BEGUN, GIVEN_BACK -> NONE, the decider
 */
typedef enum prem_ahead_state {
  PREM_AHEAD_NONE,
  PREM_AHEAD_PREPARED,
  PREM_AHEAD_BEGUN,
  PREM_AHEAD_GIVEN_BACK
} prem_ahead_state;

typedef struct prem_ahead {
  prem_inner_word state;                     /* prem_ahead_state */
  prem_inner_word is_recalled;               /* the decider's: 1: it wants it back */
  prem_inner_word expected[PREM_HOST_WORDS]; /* the decider's: the host's words, for it to begin */
  uint32_t compared; /* constant: a bit for each of them that has to be as expected */
  prem_inner_word
      shown_until; /* the listener's, for the keeper: `begun` of the last that it has begun */
} prem_ahead;

/** The decider's own, of an output: it has two places for results, which are used in turn. */
typedef struct prem_ahead_sink {
  uint8_t put, shown; /* counts: put down; seen shown */
  bool is_put;        /* that of what is prepared */
} prem_ahead_sink;

/* ---- what is heard of the host --------------------------------------------------------------- */

/** Before the listener looks at the host. One warp. @return which question the look answers */
PREM_SHARED_CODE uint32_t prem_heard_question(const prem_heard *heard) {
  const uint32_t question = prem_lanes_first((uint32_t)prem_word_inner(&heard->asked));
  prem_fence_inner(); /* all know it before they look */
  return question;
}

/** The listener, for the decider: what is said last is put down after the rest. A lane's words.
 *  One warp. */
PREM_SHARED_CODE void prem_heard_put_down(prem_heard *heard, int32_t lane, const prem_said *when,
                                          const uint64_t *words, uint32_t question) {
  for (int32_t rank = 0; rank < PREM_SAID_RANKS; ++rank) {
    for (int32_t w = 0; w < PREM_LANE_WORDS; ++w)
      if ((int32_t)when[w] == rank)
        prem_word_set_inner(&heard->words[PREM_LANE_WORDS * lane + w], words[w]);
    prem_fence_inner();
    prem_lanes_meet();
  }
  if (lane == 0)
    prem_word_set_inner(&heard->answered, question);
}

/** Has all been answered that the decider asked? */
PREM_SHARED_CODE bool prem_heard_is_answered(const prem_heard *heard) {
  return (uint32_t)prem_word_inner(&heard->answered) == (uint32_t)prem_word_inner(&heard->asked);
}

/** The decider: what the listener has heard, of what is said last what is not newer than the rest.
 *  One warp. @return whether the look began after all that was asked */
PREM_SHARED_CODE bool prem_heard_take(const prem_heard *heard, int32_t lane, const prem_said *when,
                                      uint64_t *words) {
  const bool is_answered = prem_heard_is_answered(heard);
  for (int32_t rank = PREM_SAID_RANKS - 1; rank >= 0; --rank) {
    prem_fence_inner();
    prem_lanes_meet();
    for (int32_t w = 0; w < PREM_LANE_WORDS; ++w)
      if ((int32_t)when[w] == rank)
        words[w] = prem_word_inner(&heard->words[PREM_LANE_WORDS * lane + w]);
  }
  return is_answered;
}

/** The decider asks for a look. One lane. */
PREM_SHARED_CODE void prem_heard_ask(prem_heard *heard) {
  prem_word_set_inner(&heard->asked, prem_word_inner(&heard->asked) + 1);
}

/* ---- the next hyperperiod, prepared ahead ------------------------------------------------------
 */

PREM_SHARED_CODE uint64_t prem_ahead_look(const prem_ahead *ahead) {
  return prem_word_inner(&ahead->state);
}

/** The decider: all is written that belongs to it. One lane. */
PREM_SHARED_CODE void prem_ahead_offer(prem_ahead *ahead) {
  prem_fence_inner();
  prem_word_set_inner(&ahead->state, PREM_AHEAD_PREPARED);
}

/** The decider: has it begun? Then what the listener left is there. One lane. */
PREM_SHARED_CODE bool prem_ahead_has_begun(const prem_ahead *ahead) {
  const bool has_begun = prem_ahead_look(ahead) == PREM_AHEAD_BEGUN;
  prem_fence_inner();
  return has_begun;
}

/** The decider: have the listener give it back, in two looks at most, if it has not begun it.
 *  @return whether it has. One lane. */
PREM_SHARED_CODE bool prem_ahead_recall(prem_ahead *ahead, const int32_t *is_leaving) {
  prem_word_set_inner(&ahead->is_recalled, 1);
  while (prem_word_inner_awaited(&ahead->state) == PREM_AHEAD_PREPARED &&
         *(const volatile int32_t *)is_leaving == 0) {
  }
  prem_word_set_inner(&ahead->is_recalled, 0);
  return prem_ahead_has_begun(ahead);
}

/** The decider: it has caught up, or decides otherwise. One lane. */
PREM_SHARED_CODE void prem_ahead_close(prem_ahead *ahead) {
  prem_fence_inner();
  prem_word_set_inner(&ahead->state, PREM_AHEAD_NONE);
}

/** The listener: is it as it was when that was prepared? A lane's word. */
PREM_SHARED_CODE bool prem_ahead_is_expected(const prem_ahead *ahead, int32_t at, uint64_t word) {
  return !(ahead->compared >> at & 1) || word == prem_word_inner(&ahead->expected[at]);
}

/** The listener: is it the trigger's word that is waited for? It is also asked where the word has
 *  not changed: it may have come before that was prepared. */
PREM_SHARED_CODE bool prem_ahead_begins(const prem_ahead *ahead, int32_t at, uint64_t word) {
  if (prem_ahead_look(ahead) != PREM_AHEAD_PREPARED)
    return false;
  prem_fence_inner(); /* what the decider wrote before is there */
  return prem_ahead_is_expected(ahead, at, word);
}

/** The listener, of what is prepared: nothing is changed. One lane. */
PREM_SHARED_CODE void prem_ahead_give_back(prem_ahead *ahead) {
  prem_word_set_inner(&ahead->state, PREM_AHEAD_GIVEN_BACK);
}

/** The listener: nothing has come that begins it; give it back, if it is recalled. One lane. */
PREM_SHARED_CODE void prem_ahead_answer(prem_ahead *ahead) {
  if (prem_ahead_look(ahead) != PREM_AHEAD_PREPARED)
    return;
  prem_fence_inner();
  if (prem_word_inner(&ahead->is_recalled) != 0)
    prem_ahead_give_back(ahead);
}

/** The listener, before blocks may begin: `shown_until` carries what it leaves to the keeper,
 *  `state` the same to the decider, whose all of it is then. One lane. */
PREM_SHARED_CODE void prem_ahead_begin(prem_ahead *ahead, uint64_t begun) {
  prem_fence_inner();
  prem_word_set_inner(&ahead->shown_until, begun);
  prem_word_set_inner(&ahead->state, PREM_AHEAD_BEGUN);
}

/* ---- its results ------------------------------------------------------------------------------
 */

/** Does the keeper show all results that come before the next one? There are `before` that are not
 *  shown. One that the decider shows it may not overtake. */
PREM_SHARED_CODE bool prem_ahead_may_put(const prem_ahead_sink *sink, uint32_t before) {
  return before <= 1 && before == (uint8_t)(sink->put - sink->shown);
}

/** The place of the next result. */
PREM_SHARED_CODE int32_t prem_ahead_put(prem_ahead_sink *sink) {
  sink->is_put = true;
  return sink->put++ & 1;
}

/* A place's word `begun` is the hyperperiod + 1 of the result in it: the decider's, which sets it;
 * 0, which the keeper sets: none, it is shown. */

/** Its place is written; its hyperperiod may have begun: the keeper takes it from here on. One
 *  lane. */
PREM_SHARED_CODE void prem_ahead_put_down(prem_inner_word *begun, uint64_t hyperperiods) {
  prem_fence_inner();
  prem_word_set_inner(begun, hyperperiods);
}

/** The keeper was to show that of what is prepared, if it has it, and will not: it has not begun.
 *  One lane. */
PREM_SHARED_CODE void prem_ahead_take_back(prem_ahead_sink *sink, prem_inner_word *first,
                                           prem_inner_word *second) {
  if (sink->is_put)
    prem_word_set_inner(--sink->put & 1 ? second : first, 0);
  sink->is_put = false;
}

/** The place of the oldest result; -1: the keeper has none. */
PREM_SHARED_CODE int32_t prem_ahead_oldest(const prem_ahead_sink *sink) {
  return sink->put == sink->shown ? -1 : sink->shown & 1;
}

/** The keeper has shown the oldest one, or will in a moment. One lane. */
PREM_SHARED_CODE void prem_ahead_await_shown(prem_ahead_sink *sink, const prem_inner_word *begun) {
  while (prem_word_inner_awaited(begun) != 0) {
  }
  prem_fence_inner(); /* the word that handed it on is before what follows */
  ++sink->shown;
}

/** The keeper: has a result's hyperperiod begun? Until when is read first, so a place that the
 *  decider writes anew meanwhile has a later one, and is not looked at. */
PREM_SHARED_CODE bool prem_ahead_is_open(const prem_ahead *ahead, const prem_inner_word *begun) {
  const uint64_t until = prem_word_inner(&ahead->shown_until);
  prem_fence_inner();
  const uint64_t of = prem_word_inner(begun);
  prem_fence_inner();
  return of != 0 && of <= until;
}

/** The keeper has handed it on: the decider sees it gone after that. One lane. */
PREM_SHARED_CODE void prem_ahead_is_shown(prem_inner_word *begun) {
  prem_fence_inner();
  prem_word_set_inner(begun, 0);
}

#endif
