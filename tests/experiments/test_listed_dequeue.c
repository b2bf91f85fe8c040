/* SPDX-License-Identifier: Apache-2.0 */
/* Listing 4.1 of J. Rotter's thesis on persistent threads: how a block takes a task from a ring
 * that the host fills. All interleavings of the host and a few threads find each of its faults; the
 * memory reorders nothing, so none of them is for want of orders. Tickets are in its place in
 * experiment task_queue. */
/* ctest: release */
#define PREM_RING_WORDS "tests/common/explored_words.h"
#include "tests/common/explored_queue_words.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { MOST_SLOTS = 2, CALLS = 3, FREE = 0, TAKEN = 1, READY = 2, NOBODY = 0 };
enum { TAIL = 2 * MOST_SLOTS, BARRIER, SHARED, WORDS };

/* Thread 0 is the host; the others are `lanes` threads of each block, one block after the other. */
typedef struct listing_case {
  uint64_t slots, tasks;
  int lanes, calls;
  bool is_repaired; /* lane 0 claims for all, and frees when all are ready */
} listing_case;

typedef struct listing_user {
  uint64_t put; /* of the host */
  int32_t calls;
  uint64_t worked[CALLS]; /* tasks, from 1 */
  bool took[CALLS], saw_nothing;
} listing_user;

static prem_word tail = {TAIL}, barrier = {BARRIER}, shared = {SHARED};
static prem_word executing(uint64_t slot) {
  return (prem_word){(int)slot};
}
static prem_word task_of(uint64_t slot) {
  return (prem_word){MOST_SLOTS + (int)slot};
}
static void set(prem_word word, uint64_t value) {
  queue_store(&word, value);
}
static uint64_t get(prem_word word) {
  return queue_load(&word);
}

/* __syncthreads(); blocks of one lane have none to wait for. */
static void meet(const listing_case *of) {
  const uint64_t lanes = (uint64_t)of->lanes;
  if (lanes == 1)
    return;
  const uint64_t all = (queue_add(&barrier, 1) / lanes + 1) * lanes;
  const int mark = explore_mark();
  if (get(barrier) < all)
    explore_again(mark);
}

/* The host waits for a free place. */
static bool put(const listing_case *of, listing_user *user) {
  const uint64_t slot = user->put % of->slots;
  const int mark = explore_mark();
  if (get(executing(slot)) != FREE)
    explore_again(mark);
  set(task_of(slot), ++user->put);
  set(executing(slot), READY);
  return user->put < of->tasks;
}

static bool claim(const listing_case *of, uint64_t old) {
  prem_word slot = executing(old);
  if (queue_cas(&slot, READY, TAKEN, false) != READY)
    return false;
  queue_cas(&tail, old, (old + 1) % of->slots, false);
  return true;
}

static void execute(listing_user *user, uint64_t slot) {
  const uint64_t task = get(task_of(slot));
  user->took[user->calls] = true;
  user->worked[user->calls] = task;
  user->saw_nothing |= task == 0;
}

/* As listed: every thread reads the tail, lane 0 alone knows whether they go on, and every thread
 * frees the slot. */
static bool dequeue(const listing_case *of, listing_user *user, int lane) {
  const uint64_t old = get(tail);
  const bool terminates = lane == 0 && !claim(of, old);
  meet(of);
  if (!terminates) {
    meet(of);
    execute(user, old);
    set(executing(old), FREE);
  }
  return ++user->calls < of->calls;
}

static bool dequeue_repaired(const listing_case *of, listing_user *user, int lane) {
  if (lane == 0) {
    const uint64_t old = get(tail);
    set(shared, claim(of, old) ? old + 1 : NOBODY);
  }
  meet(of);
  const uint64_t claimed = get(shared);
  if (claimed != NOBODY)
    execute(user, claimed - 1);
  meet(of);
  if (lane == 0 && claimed != NOBODY)
    set(executing(claimed - 1), FREE);
  return ++user->calls < of->calls;
}

static bool work(explorer *of, int thread, void *own) {
  const listing_case *listing = of->context;
  const int lane = (thread - 1) % listing->lanes;
  return thread == 0            ? put(listing, own)
         : listing->is_repaired ? dequeue_repaired(listing, own, lane)
                                : dequeue(listing, own, lane);
}

static const char UNCLAIMED[] = "a thread works where no task is";
static const char DIFFERENT[] = "threads of a block work different tasks";
static const char FORGOTTEN[] = "the tail stands before no task while another one waits";

static const char *judge_call(explorer *of, int thread, const void *own) {
  (void)of;
  return thread > 0 && ((const listing_user *)own)->saw_nothing ? UNCLAIMED : NULL;
}

static const char *judge_end(explorer *of, const explore_state *state) {
  const listing_case *listing = of->context;
  bool is_ready = false;
  for (int thread = 1; thread < of->threads; ++thread) {
    const int first = thread - (thread - 1) % listing->lanes;
    const listing_user *user = (const listing_user *)state->thread[thread].own;
    const listing_user *lane_0 = (const listing_user *)state->thread[first].own;
    for (int call = 0; call < listing->calls; ++call)
      if (user->took[call] != lane_0->took[call] || user->worked[call] != lane_0->worked[call])
        return DIFFERENT;
  }
  for (uint64_t slot = 0; slot < listing->slots; ++slot)
    is_ready |= explore_newest(state, executing(slot).number) == READY;
  const uint64_t at = explore_newest(state, TAIL);
  return is_ready && explore_newest(state, executing(at).number) != READY ? FORGOTTEN : NULL;
}

static explorer explore(listing_case of, bool is_repaired) {
  enum { THREADS = 3 };
  of.is_repaired = is_repaired;
  explorer made = {.call = work,
                   .judge_call = judge_call,
                   .judge_end = judge_end,
                   .threads = THREADS,
                   .context = &of};
  made.own_bytes = sizeof(listing_user);
  explored_are_all_ordered = true;
  explore_now = &made;
  for (int word = 0; word < WORDS; ++word)
    explore_set(&made, word, (explore_value){0, 0});
  explore_all(&made);
  return made;
}

static void expect(const explorer *found, const char *what) {
  if (what ? !found->what || strcmp(found->what, what) != 0 : found->wrong != 0 || found->ends == 0)
    ck_abort_msg("expected: %s; found: %s, %lld wrong, %lld ends of %lld states",
                 what ? what : "nothing", found->what ? found->what : "nothing",
                 (long long)found->wrong, (long long)found->ends, (long long)found->states);
}

/* Each case leaves room for one fault alone. */
static const struct {
  listing_case of;
  const char *what;
} block_faults[] = {
    {{.slots = 1, .tasks = 1, .lanes = 2, .calls = 2}, UNCLAIMED}, /* lane 0 terminates alone */
    {{.slots = 2, .tasks = 1, .lanes = 2, .calls = 1}, UNCLAIMED}, /* each reads the tail */
    {{.slots = 1, .tasks = 2, .lanes = 2, .calls = 1}, DIFFERENT}, /* who is ready frees for all */
};

TESTS(threads_of_a_block_part, sizeof block_faults / sizeof block_faults[0]) {
  const explorer listed = explore(block_faults[_i].of, false);
  const explorer repaired = explore(block_faults[_i].of, true);
  expect(&listed, block_faults[_i].what);
  expect(&repaired, NULL);
}

/* Two blocks of one thread: who has looked at the tail a lap ago claims a later task, and the tail
 * goes past the one that comes next. */
TEST(a_block_that_is_late_leaves_a_task_behind) {
  const explorer found = explore((listing_case){2, 4, 1, 3, false}, false);
  const explorer no_lap = explore((listing_case){2, 2, 1, 2, false}, false);
  expect(&found, FORGOTTEN);
  expect(&no_lap, NULL);
}
