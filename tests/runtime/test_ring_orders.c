/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: all interleavings of two and three threads over its source, with the slots of the host
 * and of the GPU, from tickets around 0, 2^32, 2^63 and 2^64; and faults that are planted in it,
 * each of which is found. */
/* ctest: long release */
#define PREM_RING_WORDS "tests/common/explored_words.h"
#define PREM_RING_LOOKS 1u
#include "runtime/core/ring.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

typedef struct ring_code {
  const char *name;
  prem_ring_answer (*put)(prem_ring *, prem_ring_hand *, uint32_t);
  prem_ring_answer (*take)(prem_ring *, prem_ring_hand *, uint32_t);
} ring_code;

static const ring_code shipped = {"shipped", prem_ring_put, prem_ring_take};

#include <ring_mutants.h> /* made by tests/ring_mutants.cmake */

/* ---- what threads do ------------------------------------------------------------------------ */

enum { OPS = 3, ITEMS = 6, MOST_SLOTS = 4, DATA = 4 + 2 * MOST_SLOTS, STAMP = 100 };

/* In order, one a thread: 2 puts two items, -1 takes one. */
typedef struct ring_case {
  uint64_t capacity;
  int ops[EXPLORE_THREADS][OPS];
} ring_case;

static const ring_case cases[] = {
    {2, {{1, -1}, {1, -1}}},          {2, {{2, 1}, {-2, -1}}},       {2, {{2, -2}, {2, -2}}},
    {2, {{1}, {1, -1}, {-1}}},        {2, {{1, 1}, {-1, -1}, {-1}}}, {2, {{1}, {1}, {-2}}},
    {4, {{2, 1}, {-2, 1}, {-2}}},     {2, {{2}, {-1}, {-2}}},        {2, {{1}, {-2}, {-2}}},
    {2, {{1, -1}, {1, 1}, {-1, -1}}},
};

typedef struct ring_world {
  const ring_case *of;
  const ring_code *code;
  prem_ring ring;
  prem_ring_slot slots[MOST_SLOTS];
  prem_word data[ITEMS]; /* what lies behind each item */
  uint64_t first;
} ring_world;

/* A thread's own. */
typedef struct ring_user {
  prem_ring_hand hand;
  int32_t op;
  int32_t puts, takes;
  uint64_t put[ITEMS][2], took[ITEMS][2]; /* ticket, item */
  bool saw_old;
} ring_user;

/* The item of a thread's put number `of`: no two are equal, and none is 0. */
static uint64_t item_of(const ring_world *world, int thread, int of) {
  uint64_t number = 1;
  for (int t = 0; t < EXPLORE_THREADS; ++t)
    for (int op = 0; op < OPS; ++op)
      if (t < thread && world->of->ops[t][op] > 0)
        number += (uint64_t)world->of->ops[t][op];
  return number + (uint64_t)of;
}

static int items_before(const ring_world *world, int thread, int op) {
  int items = 0;
  for (int o = 0; o < op; ++o)
    items += world->of->ops[thread][o] > 0 ? world->of->ops[thread][o] : 0;
  return items;
}

static prem_ring_answer put_some(ring_world *world, ring_user *user, int thread, int count) {
  if (user->hand.kept == 0)
    for (int i = 0; i < count; ++i) {
      const uint64_t item = item_of(world, thread, items_before(world, thread, user->op) + i);
      user->hand.items[i] = item;
      explored_store(world->data[item - 1], STAMP + item, EXPLORE_RELAXED);
    }
  const prem_ring_answer answer = world->code->put(&world->ring, &user->hand, (uint32_t)count);
  for (uint32_t i = 0; answer == PREM_RING_OK && i < user->hand.count && user->puts < ITEMS; ++i) {
    user->put[user->puts][0] = user->hand.first + i;
    user->put[user->puts++][1] = user->hand.items[i];
  }
  return answer;
}

static prem_ring_answer take_some(ring_world *world, ring_user *user, int count) {
  const prem_ring_answer answer = world->code->take(&world->ring, &user->hand, (uint32_t)count);
  for (uint32_t i = 0; answer == PREM_RING_OK && i < user->hand.count && user->takes < ITEMS; ++i) {
    const uint64_t item = user->hand.items[i];
    user->took[user->takes][0] = user->hand.first + i;
    user->took[user->takes++][1] = item;
    user->saw_old |= item < 1 || item > ITEMS ||
                     explored_load(world->data[item - 1], EXPLORE_RELAXED) != STAMP + item;
  }
  return answer;
}

static bool work(explorer *of, int thread, void *own) {
  ring_world *world = (ring_world *)of->context;
  ring_user *user = own;
  const int count = world->of->ops[thread][user->op];
  const prem_ring_answer answer =
      count > 0 ? put_some(world, user, thread, count) : take_some(world, user, -count);
  if (answer == PREM_RING_BUSY)
    return true;
  ++user->op;
  memset(&user->hand, 0, sizeof user->hand);
  return user->op < OPS && world->of->ops[thread][user->op] != 0;
}

static const char *judge_call(explorer *of, int thread, const void *own) {
  (void)of, (void)thread;
  return ((const ring_user *)own)->saw_old ? "old data lies behind an item" : NULL;
}

/* ---- what has to hold in the end ------------------------------------------------------------ */

static const uint64_t *find_ticket(const explore_state *state, uint64_t ticket, bool of_put,
                                   int *times) {
  const uint64_t *found = NULL;
  *times = 0;
  for (int t = 0; t < EXPLORE_THREADS; ++t) {
    const ring_user *user = (const ring_user *)state->thread[t].own;
    for (int i = 0; i < (of_put ? user->puts : user->takes); ++i)
      if ((of_put ? user->put : user->took)[i][0] == ticket) {
        found = (of_put ? user->put : user->took)[i];
        ++*times;
      }
  }
  return found;
}

/* Every ticket was given once, taken in order, and what is left lies in the ring. */
static const char *judge_end(explorer *of, const explore_state *state) {
  const ring_world *world = of->context;
  const uint64_t tail = explore_newest(state, world->ring.tail.word.number);
  const uint64_t head = explore_newest(state, world->ring.head.word.number);
  const uint64_t room = explore_newest(state, world->ring.room.word.number);
  const uint64_t there = explore_newest(state, world->ring.there.word.number);
  if (there != tail - head || room != world->of->capacity - there)
    return "credits drifted";
  for (uint64_t ticket = world->first; ticket != tail; ++ticket) {
    int puts, takes;
    const uint64_t *put = find_ticket(state, ticket, true, &puts);
    const uint64_t *took = find_ticket(state, ticket, false, &takes);
    if (puts != 1)
      return "a ticket without an item, or with two";
    if (takes != (ticket - world->first < head - world->first))
      return "an item is lost, or taken twice";
    if (took && took[1] != put[1])
      return "another item was taken";
  }
  return NULL;
}

static void number_words(ring_world *world, bool are_whole) {
  int number = 0;
  prem_word *words[] = {&world->ring.tail.word, &world->ring.head.word, &world->ring.room.word,
                        &world->ring.there.word};
  for (int i = 0; i < 4; ++i)
    words[i]->number = number++;
  for (uint64_t s = 0; s < world->of->capacity; ++s) {
    world->slots[s].sequence.number = number++;
    world->slots[s].item.number = are_whole ? number - 1 : number++;
  }
  for (int i = 0; i < ITEMS; ++i)
    world->data[i].number = number++;
}

static explorer explore(const ring_case *of, const ring_code *code, explored_slots slots,
                        uint64_t first, const explorer *planted) {
  ring_world world = {.of = of, .code = code, .first = first};
  explorer made = planted ? *planted : (explorer){0};
  explored_slots_are = slots;
  number_words(&world, slots == SLOTS_OF_GPU);
  made.call = work, made.judge_call = judge_call, made.judge_end = judge_end;
  made.own_bytes = sizeof(ring_user), made.context = &world;
  explore_now = &made;
  prem_ring_init(&world.ring, world.slots, of->capacity, first);
  for (uint64_t s = 0; s < of->capacity; ++s)
    if (slots == SLOTS_OF_GPU)
      explore_set(&made, world.slots[s].sequence.number,
                  (explore_value){first + ((s - first) & (of->capacity - 1)), 0});
  for (int i = 0; i < ITEMS; ++i)
    explore_set(&made, world.data[i].number, (explore_value){0, 0});
  while (made.threads < EXPLORE_THREADS && of->ops[made.threads][0] != 0)
    ++made.threads;
  explore_all(&made);
  return made;
}

/* ---- the tests ------------------------------------------------------------------------------ */

static const uint64_t firsts[] = {0, (UINT64_C(1) << 32) - 2, (UINT64_C(1) << 63) - 1,
                                  UINT64_MAX - 1};
enum { FIRSTS = 4, CASES = sizeof cases / sizeof cases[0] };

/* Half a million states and more. */
static bool is_large(const ring_case *of) {
  return of->ops[2][0] != 0 && of->ops[0][1] != 0;
}

TESTS(nothing_is_lost_in_any_order, 2 * CASES) {
  const ring_case *of = &cases[_i / 2];
  if (is_large(of) && !getenv("TTPREM_RING_ORDERS")) /* by hand */
    return;
  for (int f = 0; f < FIRSTS; ++f) {
    const explorer found =
        explore(of, &shipped, _i % 2 ? SLOTS_OF_GPU : SLOTS_OF_HOST, firsts[f], NULL);
    if (found.wrong || found.stuck)
      ck_abort_msg("case %d, first %llx: %s; %lld states are stuck", _i / 2,
                   (unsigned long long)firsts[f], found.what ? found.what : "nothing wrong",
                   (long long)found.stuck);
    ck_assert_int_gt(found.ends, 0);
    /* 2 stores of data, or loads; 4 of counters; of each of two slots 2 to look and 2 to set; fence
     */
    ck_assert_int_le(found.longest, 2 + 4 + 2 * 4 + 1 + 1);
  }
}

static bool is_found(const ring_code *code, explored_slots slots, const explorer *planted) {
  for (int large = 0; large < 2; ++large)
    for (size_t c = 0; c < CASES; ++c)
      for (int f = 0; f < FIRSTS && is_large(&cases[c]) == large; ++f) {
        const explorer found = explore(&cases[c], code, slots, firsts[f], planted);
        if (found.wrong || found.stuck)
          return true;
      }
  return false;
}

TESTS(every_planted_fault_is_found, (int)(sizeof ring_mutants / sizeof ring_mutants[0])) {
  const ring_code *code = &ring_mutants[_i];
  const bool is_of_fence = strncmp(code->name, "fence", 5) == 0; /* there are none on the host */
  if (!is_found(code, is_of_fence ? SLOTS_OF_GPU : SLOTS_OF_HOST, NULL))
    ck_abort_msg("nobody notices: %s", code->name);
}

TEST(every_order_is_needed) {
  const explorer no_release = {.drops_release = true}, no_acquire = {.drops_acquire = true};
  const explorer no_fences = {.drops_fences = true};
  ck_assert(is_found(&shipped, SLOTS_OF_HOST, &no_release));
  ck_assert(is_found(&shipped, SLOTS_OF_HOST, &no_acquire));
  ck_assert(is_found(&shipped, SLOTS_OF_GPU, &no_fences));
  ck_assert(is_found(&shipped, SLOTS_BACKWARD, NULL));
  ck_assert(is_found(&shipped, SLOTS_IN_PIECES, NULL));
}

/* ---- the explorer itself: what C11 allows and forbids --------------------------------------- */

typedef struct litmus {
  int orders[2]; /* of the store and of the load */
  bool has_fences;
} litmus;

static bool pass_message(explorer *of, int thread, void *own) {
  const litmus *l = of->context;
  uint64_t *saw = own;
  const prem_word data = {0}, flag = {1};
  if (thread == 0) {
    explored_store(data, 1, EXPLORE_RELAXED);
    if (l->has_fences)
      explore_access((explore_step){.kind = EXPLORE_FENCE});
    explored_store(flag, 1, l->orders[0]);
  } else {
    saw[0] = explored_load(flag, l->orders[1]);
    if (l->has_fences)
      explore_access((explore_step){.kind = EXPLORE_FENCE});
    saw[1] = explored_load(data, EXPLORE_RELAXED);
  }
  return false;
}
static const char *judge_message(explorer *of, const explore_state *state) {
  (void)of;
  const uint64_t *saw = (const uint64_t *)state->thread[1].own;
  return saw[0] == 1 && saw[1] == 0 ? "the flag, and not the data" : NULL;
}
static bool buffer_stores(explorer *of, int thread, void *own) {
  (void)of;
  explored_store((prem_word){thread}, 1, EXPLORE_RELEASE);
  *(uint64_t *)own = explored_load((prem_word){1 - thread}, EXPLORE_ACQUIRE);
  return false;
}
static const char *judge_buffers(explorer *of, const explore_state *state) {
  (void)of;
  return state->thread[0].own[0] == 0 && state->thread[1].own[0] == 0 ? "both see nothing" : NULL;
}

static int64_t litmus_wrong(const litmus *l, bool of_message) {
  explorer made = {.threads = 2, .own_bytes = 16, .context = l};
  made.call = of_message ? pass_message : buffer_stores;
  made.judge_end = of_message ? judge_message : judge_buffers;
  explore_set(&made, 0, (explore_value){0, 0});
  explore_set(&made, 1, (explore_value){0, 0});
  explore_all(&made);
  ck_assert_int_eq(made.stuck, 0);
  return made.wrong;
}

TEST(the_explorer_knows_what_may_happen) {
  ck_assert_int_gt(litmus_wrong(&(litmus){{EXPLORE_RELAXED, EXPLORE_ACQUIRE}, false}, true), 0);
  ck_assert_int_gt(litmus_wrong(&(litmus){{EXPLORE_RELEASE, EXPLORE_RELAXED}, false}, true), 0);
  ck_assert_int_eq(litmus_wrong(&(litmus){{EXPLORE_RELEASE, EXPLORE_ACQUIRE}, false}, true), 0);
  ck_assert_int_eq(litmus_wrong(&(litmus){{EXPLORE_RELAXED, EXPLORE_RELAXED}, true}, true), 0);
  ck_assert_int_gt(litmus_wrong(&(litmus){{0, 0}, false}, false), 0); /* a store buffer */
}
