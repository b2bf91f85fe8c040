/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles that make tiles: all orders in which blocks make, take and end them, over the source that
 * the host and the GPU have, in C11's memory; and what is planted in it. */
/* ctest: long release */
#define PREM_RING_WORDS "tests/common/explored_words.h"
#define PREM_RING_LOOKS 1u
#include "runtime/core/errand_made.h"

#define prem_claim_word                   prem_word
#define PREM_CLAIM_CODE                   static inline __attribute__((unused))
#define PREM_CLAIM_LOAD(word)             explored_load(*(word), EXPLORE_RELAXED)
#define PREM_CLAIM_ADD(word, by)          prem_ring_add(word, by)
#define PREM_CLAIM_SWAP(word, was, value) explored_swap(*(word), was, value)
#define PREM_CLAIM_RELEASE(word, value)   explored_store(*(word), value, EXPLORE_RELEASE)
#define PREM_CLAIM_FENCE()                explore_access((explore_step){.kind = EXPLORE_FENCE})
static inline bool explored_swap(prem_word word, uint64_t *was, uint64_t value) {
  const uint64_t expected = *was;
  *was = explore_access(
             (explore_step){EXPLORE_CAS, word.number, EXPLORE_RELAXED, {value, 0}, {expected, 0}})
             .low;
  return *was == expected;
}
#include "runtime/core/errand_claim.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { BLOCKS = 2, TILES = 5, PLACES = 4, NAMED = 2, ROOM = 9, NUMBER = 70, SECRET = 7 };

typedef enum making_fault {
  AS_SHIPPED,
  ENDS_FIRST,       /* a tile ends before it makes others */
  COUNTS_LATE,      /* a made tile is in the ring before it is counted */
  MARKS_IN_TWO,     /* a mark is looked at, and then set */
  BOUNDS_IN_TWO,    /* the same of the bound */
  FORGETS_TO_REFUSE /* a tile is left out, and the errand seems to be done */
} making_fault;

/* `asked` tiles come in one errand, which has at most `most` in `depth` generations. */
typedef struct making_case {
  int asked, most, depth;
  int names[TILES][NAMED]; /* 1 + tile */
  int want;                /* tiles that are worked in the end */
  bool expires;
} making_case;

static const making_case cases[] = {
    {1, 5, 5, {{2}}, 2, false},
    {2, 5, 5, {{3}, {3}}, 3, false},         /* both name one */
    {1, 5, 5, {{2, 3}, {3}, {1}}, 3, false}, /* a circle */
    {2, 3, 5, {{3}, {4}}, 3, true},          /* one too many */
    {1, 5, 2, {{2}, {3}}, 2, true},          /* too deep */
};

typedef struct making_world {
  const making_case *of;
  making_fault fault;
  prem_ring ring;
  prem_ring_slot slots[PLACES];
  prem_word open, about, all, left, expired, had[TILES], done[BLOCKS];
} making_world;

typedef enum making_step { IDLE, TAKING, MAKING, PUTTING, ENDING } making_step;

/* A block's own. */
typedef struct making_user {
  prem_ring_hand hand;
  int8_t step, tile, generation, named, told, done;
  uint8_t worked; /* bits: tiles */
  bool has_ended, saw_expired, was_blind, saw_less, worked_twice;
} making_user;

static prem_making errand_of(making_world *world) {
  return (prem_making){world->had, &world->all,      &world->left, NUMBER,
                       0,          world->of->asked, TILES,        world->of->most};
}

/* As shipped, or with what is planted. */
static prem_made make_one(making_world *world, int32_t tile, bool may) {
  const prem_making of = errand_of(world);
  if (world->fault != MARKS_IN_TWO && world->fault != BOUNDS_IN_TWO && world->fault != COUNTS_LATE)
    return prem_tile_make(&of, tile, may);
  if (tile < of.count)
    return PREM_MADE_BEFORE;
  if (world->fault == MARKS_IN_TWO) {
    if (explored_load(of.had[tile], EXPLORE_RELAXED) == NUMBER + 1)
      return PREM_MADE_BEFORE;
    explored_store(of.had[tile], NUMBER + 1, EXPLORE_RELAXED);
  } else if (prem_ring_exchange(&of.had[tile], NUMBER + 1) == NUMBER + 1) {
    return PREM_MADE_BEFORE;
  }
  if (world->fault == BOUNDS_IN_TWO) {
    const uint64_t all = explored_load(*of.all, EXPLORE_RELAXED);
    if (all >= (uint64_t)of.most)
      return PREM_MADE_NONE;
    explored_store(*of.all, all + 1, EXPLORE_RELAXED);
  } else if (!may || prem_ring_add(of.all, 1) >= (uint64_t)of.most) {
    return PREM_MADE_NONE;
  }
  if (world->fault != COUNTS_LATE)
    prem_ring_add(of.left, 1);
  return PREM_MADE_NEW;
}

static void begin(making_world *world, making_user *user, int tile, int generation) {
  user->was_blind |= explored_load(world->about, EXPLORE_RELAXED) != SECRET;
  user->worked_twice |= (user->worked >> tile & 1) != 0;
  user->worked |= (uint8_t)(1u << tile);
  user->tile = (int8_t)tile;
  user->generation = (int8_t)generation;
  user->named = 0;
  user->has_ended = false;
  user->step = MAKING;
}

static void end(making_world *world, making_user *user, int block) {
  explored_store(world->done[block], (uint64_t)++user->done, EXPLORE_RELAXED);
  user->step = IDLE;
  if (!prem_tile_is_last(&world->left))
    return;
  uint64_t done = 0;
  for (int other = 0; other < BLOCKS; ++other)
    done += explored_load(world->done[other], EXPLORE_RELAXED);
  user->saw_less |= done != (uint64_t)world->of->want;
  user->saw_expired = explored_load(world->expired, EXPLORE_RELAXED) != 0;
  ++user->told;
}

/* The next tile that the one in hand names. */
static void make(making_world *world, making_user *user) {
  if (user->named == NAMED) {
    user->step = user->has_ended ? IDLE : ENDING;
    return;
  }
  const int tile = world->of->names[user->tile][user->named++] - 1;
  if (tile < 0)
    return;
  const prem_made made = make_one(world, tile, user->generation + 1 < world->of->depth);
  if (made == PREM_MADE_NONE && world->fault != FORGETS_TO_REFUSE)
    explored_store(world->expired, 1, EXPLORE_RELAXED);
  if (made != PREM_MADE_NEW)
    return;
  user->hand.items[0] = prem_tile_item(user->generation + 1, ROOM, tile);
  user->step = PUTTING;
}

static void put(making_world *world, making_user *user) {
  if (prem_ring_put(&world->ring, &user->hand, 1) != PREM_RING_OK)
    return;
  if (world->fault == COUNTS_LATE)
    prem_ring_add(&world->left, 1);
  memset(&user->hand, 0, sizeof user->hand);
  user->step = MAKING;
}

/* @return whether something was there, or will be soon */
static bool take(making_world *world, making_user *user) {
  const prem_ring_answer answer = prem_ring_take(&world->ring, &user->hand, 1);
  user->step = answer == PREM_RING_BUSY ? TAKING : IDLE;
  if (answer != PREM_RING_OK)
    return answer == PREM_RING_BUSY;
  const uint64_t item = user->hand.items[0];
  memset(&user->hand, 0, sizeof user->hand);
  begin(world, user, prem_item_tile(item), prem_item_generation(item));
  return true;
}

/* The host has sent it, and block 0 has found it. */
static void look(making_world *world) {
  explored_store(world->about, SECRET, EXPLORE_RELAXED);
  prem_open_set(&world->open, ROOM, 0, world->of->asked);
}

static bool act(explorer *of, int block, void *own) {
  making_world *world = (making_world *)of->context;
  making_user *user = own;
  const int mark = explore_mark();
  const bool is_at_work = user->step != IDLE && user->step != TAKING;
  uint64_t word;
  int32_t count;
  if (user->step == MAKING)
    make(world, user);
  else if (user->step == PUTTING)
    put(world, user);
  else if (user->step == ENDING)
    end(world, user, block);
  if (is_at_work)
    return true;
  if (take(world, user))
    return true;
  if (explored_load(world->left, EXPLORE_RELAXED) == 0)
    return false;
  if (prem_open_claim(&world->open, INT32_MAX, &word, &count)) {
    begin(world, user, prem_open_next(word), 0);
    if (world->fault == ENDS_FIRST) {
      end(world, user, block);
      user->has_ended = true;
      user->step = MAKING;
    }
    return true;
  }
  if (block == 0 && explored_load(world->about, EXPLORE_RELAXED) == 0) {
    look(world);
    return true;
  }
  explore_again(mark);
  return true;
}

static const char *judge_call(explorer *of, int block, const void *own) {
  const making_user *user = own;
  (void)of, (void)block;
  return user->was_blind      ? "a tile was worked without what the errand is about"
         : user->worked_twice ? "a block worked a tile twice"
         : user->saw_less     ? "who ended an errand did not see all of it"
                              : NULL;
}

static const char *judge_end(explorer *of, const explore_state *state) {
  const making_world *world = of->context;
  int told = 0, done = 0, worked = 0;
  bool has_expired = false;
  for (int block = 0; block < BLOCKS; ++block) {
    making_user user;
    memcpy(&user, state->thread[block].own, sizeof user);
    told += user.told;
    done += user.done;
    has_expired |= user.saw_expired;
    worked |= user.worked;
  }
  return told != 1 ? "an errand did not end once"
         : done != world->of->want || __builtin_popcount((unsigned)worked) != done
             ? "a tile was not worked once"
         : has_expired != world->of->expires ? "an errand ended otherwise than it should"
                                             : NULL;
}

static explorer explore(const making_case *of, making_fault fault, explored_slots slots,
                        explorer made) {
  making_world world = {.of = of, .fault = fault};
  explored_slots_are = slots;
  explore_now = &made;
  prem_word *words[] = {&world.open,           &world.about,          &world.all,
                        &world.left,           &world.expired,        &world.ring.tail.word,
                        &world.ring.head.word, &world.ring.room.word, &world.ring.there.word};
  int number = 0;
  for (; number < 9; ++number)
    words[number]->number = number;
  const uint64_t places = slots == SLOTS_OF_GPU ? PLACES : 2;
  for (uint64_t s = 0; s < places; ++s) {
    world.slots[s].sequence.number = number++;
    world.slots[s].item.number = slots == SLOTS_OF_GPU ? number - 1 : number++;
  }
  for (int tile = of->asked; tile < TILES - 1; ++tile)
    world.had[tile].number = number++;
  for (int block = 0; block < BLOCKS; ++block)
    world.done[block].number = number++;
  for (int word = 0; word < number; ++word)
    explore_set(&made, word, (explore_value){0, 0});
  prem_ring_init(&world.ring, world.slots, places, 0);
  for (uint64_t s = 0; s < places && slots == SLOTS_OF_GPU; ++s)
    explore_set(&made, world.slots[s].sequence.number, (explore_value){s, 0});
  explore_set(&made, world.all.number, (explore_value){(uint64_t)of->asked, 0});
  explore_set(&made, world.left.number, (explore_value){(uint64_t)of->asked, 0});
  made.threads = BLOCKS;
  made.late = 3;
  made.own_bytes = sizeof(making_user), made.context = &world;
  made.call = act, made.judge_call = judge_call, made.judge_end = judge_end;
  explore_all(&made);
  return made;
}

TESTS(each_tile_is_made_and_worked_once, 2 * (int)(sizeof cases / sizeof cases[0])) {
  const explorer found =
      explore(&cases[_i / 2], AS_SHIPPED, _i % 2 ? SLOTS_OF_GPU : SLOTS_OF_HOST, (explorer){0});
  if (found.wrong || found.stuck)
    ck_abort_msg("case %d: %s; %lld states are stuck", _i / 2,
                 found.what ? found.what : "nothing wrong", (long long)found.stuck);
  ck_assert_int_gt(found.ends, 0);
}

static bool is_found(making_fault fault, explored_slots slots, explorer planted) {
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
    const explorer found = explore(&cases[c], fault, slots, planted);
    if (found.wrong || found.stuck)
      return true;
  }
  return false;
}

TESTS(what_is_planted_is_found, FORGETS_TO_REFUSE) {
  ck_assert(is_found((making_fault)(_i + 1), SLOTS_OF_GPU, (explorer){0}));
}

TEST(every_order_is_needed) {
  ck_assert(is_found(AS_SHIPPED, SLOTS_OF_HOST, (explorer){.drops_release = true}));
  ck_assert(is_found(AS_SHIPPED, SLOTS_OF_GPU, (explorer){.drops_fences = true}));
}
