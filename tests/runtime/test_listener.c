/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the listener of a GPU's courier hears for the decider, over its source
 * (runtime/core/courier_warps.h): every order of all loads and stores of both and of the host is
 * gone through, as far as a few frames lead. While the decider hands samples on, no slot is ever
 * filled that the reader on the host holds. And what the host says before a frame is heard with it,
 * in a memory in which only fences make an order.
 */
/* ctest: long release */
#include "runtime/core/channel.h"
#include "tests/common/explorer.h"

/* What courier_warps.h is made of: words of the explorer's. One lane has them all. */
#define PREM_WARP_WORDS "tests/common/suite.h"
enum { PREM_LANE_WORDS = 2, PREM_HOST_WORDS = 2 };
typedef struct prem_inner_word {
  int number;
} prem_inner_word;

static uint64_t load(int word, int order) {
  return explore_access((explore_step){EXPLORE_LOAD, word, order, {0, 0}, {0, 0}}).low;
}
static void store(int word, uint64_t value, int order) {
  explore_access((explore_step){EXPLORE_STORE, word, order, {value, 0}, {0, 0}});
}
static inline uint64_t prem_word_inner(const prem_inner_word *word) {
  return load(word->number, EXPLORE_RELAXED);
}
static inline uint64_t prem_word_inner_awaited(const prem_inner_word *word) {
  return load(word->number, EXPLORE_RELAXED);
}
static inline void prem_word_set_inner(prem_inner_word *word, uint64_t value) {
  store(word->number, value, EXPLORE_RELAXED);
}
static inline void prem_fence_inner(void) {
  explore_access((explore_step){.kind = EXPLORE_FENCE});
}
static inline void prem_lanes_meet(void) {}
static inline uint32_t prem_lanes_first(uint32_t value) {
  return value;
}
#include "runtime/core/courier_warps.h"

typedef struct warps_code {
  const char *name;
  uint32_t (*question)(const prem_heard *);
  void (*put_down)(prem_heard *, int32_t, const prem_said *, const uint64_t *, uint32_t);
  bool (*take)(const prem_heard *, int32_t, const prem_said *, uint64_t *);
  void (*ask)(prem_heard *);
} warps_code;
#define WARPS(of)                                                                                  \
  { #of, of##_heard_question, of##_heard_put_down, of##_heard_take, of##_heard_ask }
static const warps_code shipped = WARPS(prem);

#include <warp_mutants.h> /* made by tests/warp_mutants.cmake */
static const warps_code mutants[] = {HEARD_MUTANTS};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

/* The words. */
enum { HEARD, ASKED = HEARD + PREM_HOST_WORDS, ANSWERED, HOST, CLOSING = HOST + 2, DATA };

static prem_heard heard = {{{HEARD}, {HEARD + 1}}, {ASKED}, {ANSWERED}};

/* ---- samples --------------------------------------------------------------------------------- */

enum { SLOTS = 3, FILLED = HOST, PASSED, SLOT_BITS = 2 };
enum { DECIDER, LISTENER, READER };
static uint64_t frames; /* that are handed on; planted faults need fewer to be seen */

/* What the reader says of what it holds is the first word; there is no second one. */
static const prem_said passed_said[PREM_LANE_WORDS] = {PREM_SAID_FIRST, PREM_SAID_RANKS};

typedef struct sample_user {
  prem_producer producer; /* the decider's */
  int32_t filling;        /* slot + 1; 0: none */
  uint64_t count;         /* the reader: frames before the one that it holds; */
  int32_t held;           /* its slot + 1 */
  bool is_torn;
} sample_user;

/* It hands on what it has filled, takes a free slot, fills it, and asks what is held. */
static bool decide(const warps_code *code, sample_user *own) {
  prem_producer *producer = &own->producer;
  uint64_t words[PREM_LANE_WORDS];
  const bool is_answered = code->take(&heard, 0, passed_said, words);
  producer->seen = words[0];
  if (is_answered)
    producer->settled = producer->asked_for;
  if (own->filling > 0) {
    const int32_t slot = own->filling - 1;
    store(DATA + slot, producer->next + 1, EXPLORE_RELAXED);
    prem_producer_fill(producer, slot);
    store(FILLED, producer->next << SLOT_BITS | (uint64_t)slot, EXPLORE_RELEASE);
    producer->handed_on = producer->next;
    own->filling = 0;
  }
  for (int32_t i = 1; i <= SLOTS && own->filling == 0; ++i) {
    const int32_t slot = (producer->last_slot + i) % SLOTS;
    if (!prem_producer_is_free(producer, slot, producer->settled, producer->seen))
      continue;
    own->filling = slot + 1;
    producer->last_slot = slot;
    store(DATA + slot, 0, EXPLORE_RELAXED);
  }
  if (producer->handed_on != producer->asked_for)
    code->ask(&heard);
  producer->asked_for = producer->handed_on;
  if (producer->next < frames)
    return true;
  store(CLOSING, 1, EXPLORE_RELEASE);
  return false;
}

static bool hear_passed(const warps_code *code) {
  if (load(CLOSING, EXPLORE_ACQUIRE) != 0)
    return false;
  const uint32_t question = code->question(&heard);
  const uint64_t words[PREM_LANE_WORDS] = {load(PASSED, EXPLORE_ACQUIRE), 0};
  code->put_down(&heard, 0, passed_said, words, question);
  return true;
}

/* It takes the newest frame, and gives the one before back when it has it. */
static bool read_newest(sample_user *own) {
  const int mark = explore_mark();
  uint64_t filled = load(FILLED, EXPLORE_ACQUIRE);
  if (filled >> SLOT_BITS == own->count)
    explore_again(mark);
  const uint64_t held = own->held > 0 ? UINT64_C(1) << (own->held - 1) : 0;
  for (uint64_t again = 0; again != filled;) {
    filled = again > 0 ? again : filled;
    store(PASSED, held | UINT64_C(1) << (filled & ((1U << SLOT_BITS) - 1)), EXPLORE_RELEASE);
    again = load(FILLED, EXPLORE_ACQUIRE);
  }
  const int32_t slot = (int32_t)(filled & ((1U << SLOT_BITS) - 1));
  if (own->held > 0) /* it is whole until it is given back */
    own->is_torn |= load(DATA + own->held - 1, EXPLORE_RELAXED) != own->count;
  own->count = filled >> SLOT_BITS;
  own->held = slot + 1;
  own->is_torn |= load(DATA + slot, EXPLORE_RELAXED) != own->count;
  store(PASSED, UINT64_C(1) << slot, EXPLORE_RELEASE);
  return own->count < frames;
}

static bool pass_samples(explorer *of, int thread, void *bytes) {
  sample_user *own = bytes;
  if (thread == DECIDER) {
    own->producer.slots = SLOTS;
    return decide(of->context, own);
  }
  return thread == LISTENER ? hear_passed(of->context) : read_newest(own);
}

static const char *judge_sample(explorer *of, int thread, const void *own) {
  (void)of, (void)thread;
  return ((const sample_user *)own)->is_torn ? "a slot was filled that is held" : NULL;
}

static explorer explore(explorer made) {
  for (int word = 0; word < DATA + SLOTS; ++word)
    explore_set(&made, word, (explore_value){0, 0});
  explore_set(&made, ASKED, (explore_value){1, 0}); /* before it is answered nothing is heard */
  explore_all(&made);
  return made;
}

/* The host's and the courier's words are ordered: all see the newest. */
static explorer explore_samples(const warps_code *code, uint64_t of_frames) {
  frames = of_frames;
  return explore((explorer){.threads = 3,
                            .late = 1,
                            .deep = 8000,
                            .own_bytes = sizeof(sample_user),
                            .call = pass_samples,
                            .judge_call = judge_sample,
                            .context = code});
}

TEST(no_slot_is_filled_that_is_held) {
  const explorer found = explore_samples(&shipped, 5);
  if (found.wrong || found.stuck)
    ck_abort_msg("%s; %lld states are stuck", found.what ? found.what : "nothing wrong",
                 (long long)found.stuck);
  ck_assert_int_gt(found.states, 100000);
}

/* ---- what is said last ----------------------------------------------------------------------- */

/* The host makes a wish, then hands a frame on, again and again; the listener looks at both, now
 * and then at the frame alone. Who hears of a frame has to hear of the wish before it. */
enum { ROUNDS = 2, LOOKS = 3, WISH = HOST, FRAME };
enum { SPEAKER, HEARER, TAKER };

static const prem_said frame_said[PREM_LANE_WORDS] = {PREM_SAID_FIRST, PREM_SAID_AFTER};

typedef struct talk_case {
  const warps_code *code;
  bool wish_first, looks_once; /* which is looked at first; planted: and not again behind a frame */
} talk_case;

typedef struct talk_user {
  uint64_t rounds, known[PREM_LANE_WORDS];
} talk_user;

static bool speak(talk_user *own) {
  store(WISH, ++own->rounds, EXPLORE_RELAXED);
  store(FRAME, own->rounds, EXPLORE_RELEASE);
  return own->rounds < ROUNDS;
}

static bool look(const talk_case *of, talk_user *own) {
  const bool is_whole = own->rounds % 2 == 0;
  uint64_t words[PREM_LANE_WORDS] = {own->known[0], 0};
  if (is_whole && of->wish_first)
    words[0] = load(WISH, EXPLORE_ACQUIRE);
  words[1] = load(FRAME, EXPLORE_ACQUIRE);
  if (is_whole && !of->wish_first)
    words[0] = load(WISH, EXPLORE_ACQUIRE);
  if (words[1] != own->known[1] && !of->looks_once)
    words[0] = load(WISH, EXPLORE_ACQUIRE);
  memcpy(own->known, words, sizeof words);
  of->code->put_down(&heard, 0, frame_said, words, 0);
  return ++own->rounds < LOOKS;
}

static bool talk(explorer *of, int thread, void *bytes) {
  const talk_case *how = of->context;
  talk_user *own = bytes;
  if (thread == SPEAKER)
    return speak(own);
  if (thread == HEARER)
    return look(how, own);
  how->code->take(&heard, 0, frame_said, own->known);
  return ++own->rounds < LOOKS;
}

static const char *judge_talk(explorer *of, int thread, const void *bytes) {
  const talk_user *own = bytes;
  (void)of;
  return thread == TAKER && own->known[0] < own->known[1] ? "a frame was heard without its wish"
                                                          : NULL;
}

static explorer explore_talk(talk_case how, bool drops_fences) {
  return explore((explorer){.threads = 3,
                            .own_bytes = sizeof(talk_user),
                            .call = talk,
                            .judge_call = judge_talk,
                            .context = &how,
                            .drops_fences = drops_fences});
}

TESTS(a_wish_is_heard_with_the_frame_behind_it, 2) {
  const talk_case right = {.code = &shipped, .wish_first = _i};
  const explorer found = explore_talk(right, false);
  if (found.wrong || found.stuck)
    ck_abort_msg("%s; %lld states are stuck", found.what ? found.what : "nothing wrong",
                 (long long)found.stuck);
  ck_assert_int_gt(found.states, 1000);
  ck_assert_int_gt(explore_talk(right, true).wrong, 0);
}

/* ---- what is planted ------------------------------------------------------------------------- */

TEST(who_looks_once_is_found) {
  const talk_case wrong = {.code = &shipped, .wish_first = true, .looks_once = true};
  ck_assert_int_gt(explore_talk(wrong, false).wrong, 0);
}

TESTS(what_is_planted_is_found, MUTANTS) {
  const talk_case wrong = {.code = &mutants[_i]};
  if (explore_talk(wrong, false).wrong == 0 && explore_samples(&mutants[_i], 4).wrong == 0)
    ck_abort_msg("%s is not found", mutants[_i].name);
}
