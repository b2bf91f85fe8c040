/* SPDX-License-Identifier: Apache-2.0 */
/* How blocks share the tiles of errands: all orders of it, over its source, in C11's memory; and
 * what is planted in them. */
/* ctest: release */
#include "tests/common/explorer.h"

typedef struct explored_word {
  int number;
} explored_word;
#define prem_claim_word                   explored_word
#define PREM_CLAIM_CODE                   static inline
#define PREM_CLAIM_LOAD(word)             load((word)->number)
#define PREM_CLAIM_ADD(word, by)          add((word)->number, by)
#define PREM_CLAIM_SWAP(word, was, value) swap((word)->number, was, value)
#define PREM_CLAIM_RELEASE(word, value)   store((word)->number, value, EXPLORE_RELEASE)
#define PREM_CLAIM_FENCE()                fence()
static uint64_t access_low(explore_kind kind, int word, int order, uint64_t value) {
  return explore_access((explore_step){kind, word, order, {value, 0}, {0, 0}}).low;
}
static uint64_t load(int word) {
  return access_low(EXPLORE_LOAD, word, EXPLORE_RELAXED, 0);
}
static void store(int word, uint64_t value, int order) {
  access_low(EXPLORE_STORE, word, order, value);
}
static uint64_t add(int word, uint64_t by) {
  return access_low(EXPLORE_ADD, word, EXPLORE_RELAXED, by);
}
static bool swap(int word, uint64_t *was, uint64_t value) {
  const uint64_t expected = *was;
  *was =
      explore_access((explore_step){EXPLORE_CAS, word, EXPLORE_RELAXED, {value, 0}, {expected, 0}})
          .low;
  return *was == expected;
}
static void fence(void) {
  explore_access((explore_step){EXPLORE_FENCE, 0, EXPLORE_ACQ_REL, {0, 0}, {0, 0}});
}
#include "runtime/core/errand_claim.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { MOST_BLOCKS = 3, MOST_ERRANDS = 2, MOST_TILES = 9, SECRET = 7 };
/* The three words; of each errand what it is about, and the tiles left; of each block what it has
 * done for each errand. */
enum { OPEN, LOOKS, ASKED, ABOUT, LEFT = ABOUT + MOST_ERRANDS, DONE = LEFT + MOST_ERRANDS };

typedef struct claim_case {
  int blocks, parts, errands, tiles[MOST_ERRANDS];
  bool looks_unasked, claims_by_store; /* planted */
} claim_case;

typedef struct claim_user {
  uint16_t worked[MOST_ERRANDS]; /* bits: tiles */
  int8_t told[MOST_ERRANDS];
  uint8_t done[MOST_ERRANDS];
  bool was_blind, worked_twice, saw_less;
} claim_user;

static int done_word(int errand, int block) {
  return DONE + errand * MOST_BLOCKS + block;
}

static void work(const claim_case *of, int block, claim_user *user, int errand, int first,
                 int count) {
  user->was_blind |= load(ABOUT + errand) != SECRET;
  for (int tile = first; tile < first + count; ++tile) {
    user->worked_twice |= (user->worked[errand] >> tile & 1) != 0;
    user->worked[errand] |= (uint16_t)(1u << tile);
    store(done_word(errand, block), ++user->done[errand], EXPLORE_RELAXED);
    if (!prem_tile_is_last(&(explored_word){LEFT + errand}))
      continue;
    uint64_t done = 0;
    for (int other = 0; other < of->blocks; ++other)
      done += load(done_word(errand, other));
    user->saw_less |= done != (uint64_t)of->tiles[errand];
    ++user->told[errand];
  }
}

/* The host has sent all of them. False: there is no more. */
static bool look(const claim_case *of, int block, claim_user *user) {
  explored_word open = {OPEN}, looks = {LOOKS};
  const int errand = (int)load(ASKED);
  if (errand == of->errands) {
    if (!of->looks_unasked)
      prem_look_end(&looks);
    return false;
  }
  const int count = of->tiles[errand], claim = prem_claim_of(count, of->parts);
  store(ABOUT + errand, SECRET, EXPLORE_RELAXED);
  store(LEFT + errand, (uint64_t)count, EXPLORE_RELAXED);
  store(ASKED, (uint64_t)errand + 1, EXPLORE_RELAXED);
  prem_open_set(&open, errand, claim, count);
  if (!of->looks_unasked)
    prem_look_end(&looks);
  work(of, block, user, errand, 0, claim);
  return true;
}

/* A claim as who does not know that others claim would make it. */
static bool claim_by_store(uint64_t *word, int32_t *count) {
  *word = load(OPEN);
  *count = 1;
  if (prem_open_left(*word) <= 0)
    return false;
  store(OPEN, *word + 1, EXPLORE_RELAXED);
  fence();
  return true;
}

static bool act(explorer *explored, int block, void *own) {
  const claim_case *of = explored->context;
  claim_user *user = own;
  explored_word open = {OPEN}, looks = {LOOKS};
  const int mark = explore_mark();
  uint64_t word;
  int32_t count;
  if (of->claims_by_store ? claim_by_store(&word, &count)
                          : prem_open_claim(&open, of->parts, &word, &count)) {
    work(of, block, user, prem_open_room(word), prem_open_next(word), count);
    return true;
  }
  if (of->looks_unasked || prem_look_begin(&looks, &open))
    return look(of, block, user);
  explore_again(mark);
  return true;
}

static const char *judge_call(explorer *of, int block, const void *own) {
  const claim_user *user = own;
  (void)of, (void)block;
  return user->was_blind      ? "a tile was worked without what the errand is about"
         : user->worked_twice ? "a block worked a tile twice"
         : user->saw_less     ? "who ended an errand did not see all of it"
                              : NULL;
}

static const char *judge_end(explorer *of, const explore_state *state) {
  const claim_case *settings = of->context;
  for (int e = 0; e < settings->errands; ++e) {
    int told = 0, count = 0;
    unsigned worked = 0;
    for (int block = 0; block < settings->blocks; ++block) {
      claim_user user;
      memcpy(&user, state->thread[block].own, sizeof user);
      told += user.told[e];
      count += user.done[e];
      worked |= user.worked[e];
    }
    if (worked != (1u << settings->tiles[e]) - 1 || count != settings->tiles[e])
      return "a tile was not worked once";
    if (told != 1)
      return "an errand did not end once";
  }
  return NULL;
}

static explorer explore(const claim_case *of, explorer made) {
  made.threads = of->blocks;
  made.late = 3;
  made.own_bytes = sizeof(claim_user), made.context = of;
  made.call = act, made.judge_call = judge_call, made.judge_end = judge_end;
  for (int word = 0; word < done_word(of->errands - 1, MOST_BLOCKS); ++word)
    explore_set(&made, word, (explore_value){0, 0});
  explore_all(&made);
  return made;
}

static void assert_right(claim_case of) {
  const explorer found = explore(&of, (explorer){0});
  if (found.wrong || found.stuck)
    ck_abort_msg("%s; %lld states are stuck", found.what ? found.what : "nothing wrong",
                 (long long)found.stuck);
  ck_assert_int_gt(found.ends, 0);
}

TEST(each_tile_is_worked_once_and_each_errand_ends_once) {
  assert_right((claim_case){.blocks = 2, .parts = 4, .errands = 2, .tiles = {2, 2}});
  assert_right((claim_case){.blocks = 3, .parts = 6, .errands = 1, .tiles = {1}});
}

TEST(several_tiles_are_claimed_at_once) {
  assert_right((claim_case){.blocks = 2, .parts = 2, .errands = 1, .tiles = {7}});
}

TEST(what_is_planted_is_found) {
  const claim_case usual = {.blocks = 2, .parts = 4, .errands = 2, .tiles = {2, 1}};
  claim_case planted = usual;
  planted.looks_unasked = true;
  ck_assert_int_gt(explore(&planted, (explorer){0}).wrong, 0);
  planted = usual;
  planted.claims_by_store = true;
  ck_assert_int_gt(explore(&planted, (explorer){0}).wrong, 0);
  ck_assert_int_gt(explore(&usual, (explorer){.drops_release = true}).wrong, 0);
  ck_assert_int_gt(explore(&usual, (explorer){.drops_fences = true}).wrong, 0);
}

/* ---- words ----------------------------------------------------------------------------------- */

TEST(a_word_says_which_lap_it_is_of) {
  for (uint64_t places = 2; places <= 65536; places *= 8)
    for (uint64_t ticket = 0; ticket < 3 * places; ticket += 1 + places / 7) {
      const uint64_t word = prem_message_word(ticket, places, UINT64_MAX);
      ck_assert(prem_message_is(word, ticket, places));
      ck_assert(!prem_message_is(word, ticket + places, places));
      ck_assert(!prem_message_is(0, ticket, places));
      ck_assert_uint_eq(prem_message_value(word), (UINT64_C(1) << 48) - 1);
    }
}

TEST(an_instant_is_the_one_that_is_near) {
  const int64_t near_ns[] = {0, 1, INT64_C(1) << 48, (INT64_C(1) << 48) - 1, INT64_C(1) << 60};
  for (int i = 0; i < 5; ++i)
    for (int64_t away_ns = -(INT64_C(1) << 40); away_ns <= INT64_C(1) << 40;
         away_ns += (INT64_C(1) << 38) + 1)
      ck_assert_int_eq(
          prem_message_ns(prem_message_word(5, 2, (uint64_t)(near_ns[i] + away_ns)), near_ns[i]),
          near_ns[i] + away_ns);
}

TEST(an_open_errand_keeps_its_parts) {
  const int32_t most = (1 << PREM_TILE_BITS) - 1;
  const uint64_t word = prem_open_word(65535, most - 5, most);
  ck_assert_int_eq(prem_open_room(word + 3), 65535);
  ck_assert_int_eq(prem_open_next(word + 3), most - 2);
  ck_assert_int_eq(prem_open_end(word + 3), most);
  ck_assert_int_eq(prem_open_left(word), 5);
}
