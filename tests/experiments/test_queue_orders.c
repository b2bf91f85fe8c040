/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of experiment queue_kinds: all interleavings of two and three threads over their
 * source. Every fault of the listings is found, and the repaired ones have none.
 * tests/runtime/test_ring_orders.c has the ring. */
/* ctest: long release */
#define PREM_RING_WORDS "tests/common/explored_words.h"
#define QUEUE_WORDS     "tests/common/explored_queue_words.h"
#include "experiments/machine/queue_kinds/queues.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { OPS = 4, ITEMS = 6, MOST_SIZE = 4, PARTS = 2, STAMP = 100 };

/* Of each thread in order: 1 puts an item, -1 takes one. */
typedef struct queue_case {
  uint64_t size, first;
  int ops[EXPLORE_THREADS][OPS];
} queue_case;

typedef struct queue_model {
  const queue_case *of;
  queue_kind kind;
  queue_set set;
  queue_part parts[PARTS];
  prem_word items[PARTS][MOST_SIZE], tickets[PARTS][MOST_SIZE];
  prem_word data[ITEMS]; /* what lies behind each item */
  int64_t *most;         /* puts that succeeded in one order; NULL: it is not asked */
} queue_model;

typedef struct queue_user {
  int32_t op, puts, takes;
  uint64_t put[OPS], took[OPS];
  bool saw_old;
} queue_user;

/* Items are 0, 1, 2, ... in the order of the case. */
static uint64_t item_of(const queue_case *of, int thread, int op) {
  uint64_t item = 0;
  for (int t = 0; t <= thread; ++t)
    for (int o = 0; o < (t < thread ? OPS : op); ++o)
      item += of->ops[t][o] > 0;
  return item;
}

static bool work(explorer *of, int thread, void *own) {
  const queue_model *model = of->context;
  queue_user *user = own;
  if (model->of->ops[thread][user->op] > 0) {
    const uint64_t item = item_of(model->of, thread, user->op);
    queue_store((prem_word *)&model->data[item], STAMP + item);
    if (queue_put(&model->set, model->kind, (uint32_t)thread, item) == QUEUE_OK)
      user->put[user->puts++] = item;
  } else {
    uint64_t item = 0;
    if (queue_take(&model->set, model->kind, (uint32_t)thread, &item) == QUEUE_OK) {
      user->took[user->takes++] = item;
      user->saw_old |= item < ITEMS && queue_load(&model->data[item]) != STAMP + item;
    }
  }
  ++user->op;
  return user->op < OPS && model->of->ops[thread][user->op] != 0;
}

static const char *judge_call(explorer *of, int thread, const void *own) {
  (void)of, (void)thread;
  return ((const queue_user *)own)->saw_old ? "old data lies behind an item" : NULL;
}

static bool is_broker(queue_kind kind) {
  return kind >= QUEUE_BROKER_LISTED;
}

/* What lies in a part: how often each item. */
static void add_left(const queue_model *model, const explore_state *state, const queue_part *q,
                     int *times) {
  const uint64_t both = explore_newest(state, q->both.word.number);
  const bool is_listed = model->kind % 2 == 0;
  const uint64_t tail = is_listed ? (uint32_t)both : explore_newest(state, q->back.word.number);
  const uint64_t head = is_listed ? both >> 32 : explore_newest(state, q->front.word.number);
  const uint64_t left = is_listed ? (uint32_t)tail - (uint32_t)head : tail - head;
  for (uint64_t i = 0; i < (is_broker(model->kind) ? left : q->size); ++i) {
    const uint64_t at =
        is_broker(model->kind) ? (is_listed ? (uint32_t)(head + i) : head + i) % q->size : i;
    const uint64_t item = explore_newest(state, q->items[at].number);
    if (item < ITEMS)
      ++times[item];
  }
}

/* Every item that was put is there once: taken, or still in the queue. */
static const char *judge_end(explorer *of, const explore_state *state) {
  const queue_model *model = of->context;
  int put[ITEMS] = {0}, there[ITEMS] = {0};
  int64_t count = 0, left = 0, puts = 0;
  for (int t = 0; t < of->threads; ++t) {
    const queue_user *user = (const queue_user *)state->thread[t].own;
    left += user->puts - user->takes;
    puts += user->puts;
    for (int i = 0; i < user->puts; ++i)
      ++put[user->put[i]];
    for (int i = 0; i < user->takes; ++i) {
      if (user->took[i] >= ITEMS)
        return "nothing was taken for an item";
      ++there[user->took[i]];
    }
  }
  if (model->most)
    *model->most = puts > *model->most ? puts : *model->most;
  for (uint32_t p = 0; p < model->set.part_count; ++p) {
    add_left(model, state, &model->parts[p], there);
    count += (int32_t)explore_newest(state, model->parts[p].count.word.number);
  }
  for (int i = 0; i < ITEMS; ++i)
    if (put[i] != there[i])
      return put[i] > there[i] ? "an item is lost" : "an item is there twice";
  return count != left ? "the count drifted" : NULL;
}

static explorer explore_most(queue_kind kind, const queue_case *of, bool all_ordered,
                             int64_t *most) {
  queue_model model = {.of = of, .kind = kind, .most = most};
  explorer made = {.call = work, .judge_call = judge_call, .judge_end = judge_end};
  int number = 0;
  made.own_bytes = sizeof(queue_user), made.context = &model, made.late = 4;
  explored_are_all_ordered = all_ordered;
  explore_now = &made;
  while (made.threads < EXPLORE_THREADS && of->ops[made.threads][0] != 0)
    ++made.threads;
  model.set.parts = model.parts;
  model.set.part_count = queue_part_count(kind, (uint32_t)made.threads);
  model.set.part_count = model.set.part_count < PARTS ? model.set.part_count : PARTS;
  for (uint32_t p = 0; p < model.set.part_count; ++p) {
    queue_part *q = &model.parts[p];
    prem_word *words[] = {&q->count.word, &q->back.word, &q->front.word, &q->both.word};
    for (int w = 0; w < 4; ++w)
      words[w]->number = number++;
    for (uint64_t s = 0; s < of->size; ++s) {
      model.items[p][s].number = number++;
      model.tickets[p][s].number = is_broker(kind) ? number++ : EXPLORE_WORDS - 1;
    }
    queue_part_init(q, kind, model.items[p], model.tickets[p], of->size, of->first,
                    (uint32_t)made.threads);
  }
  for (int i = 0; i < ITEMS && number < EXPLORE_WORDS; ++i) {
    model.data[i].number = number++;
    explore_set(&made, model.data[i].number, (explore_value){0, 0});
  }
  explore_all(&made);
  return made;
}

static explorer explore(queue_kind kind, const queue_case *of, bool all_ordered) {
  return explore_most(kind, of, all_ordered, NULL);
}

/* ---- what is found -------------------------------------------------------------------------- */

#define WRAPS ((UINT64_C(1) << 32) - 1)

static void expect_fault(queue_kind kind, const queue_case *of, bool all_ordered,
                         const char *what) {
  const explorer found = explore(kind, of, all_ordered);
  if (found.wrong == 0 && found.stuck == 0)
    ck_abort_msg("queue %d: nobody notices: %s", kind, what);
}

TEST(every_listing_lacks_its_orders) { /* even of one who puts and one who takes */
  static const queue_case two = {2, 0, {{1}, {-1}}};
  for (int kind = 0; kind < QUEUE_RING; kind += 2)
    expect_fault((queue_kind)kind, &two, false, "what lies behind an item, or the item, is old");
}

TEST(listed_index_queues_keep_what_they_refused) {
  static const queue_case alone = {2, 0, {{1, 1, 1, -1}}}, buckets = {1, 0, {{1}, {1}, {1, 1}}};
  static const queue_case both = {1, 0, {{1, 1}, {-1, -1}}};
  expect_fault(QUEUE_INDEX_LISTED, &alone, true, "the count is not given back");
  expect_fault(QUEUE_INDEX_LISTED, &both, true, "who takes is let in for nothing");
  expect_fault(QUEUE_BUCKETS_LISTED, &buckets, true, "the count is not given back");
}

TEST(listed_queues_break_at_2_to_32) { /* unless their size is a power of two */
  static const queue_case odd = {3, WRAPS, {{1, 1}, {1, -1}}},
                          even = {2, WRAPS, {{1, -1}, {1, -1}}};
  for (int kind = 0; kind < QUEUE_RING; kind += 2) {
    if (kind != QUEUE_BUCKETS_LISTED && kind != QUEUE_STEALING_LISTED)
      expect_fault((queue_kind)kind, &odd, true, "two positions have one slot");
    const explorer found = explore((queue_kind)kind, &even, true);
    ck_assert_int_eq(found.wrong + found.stuck, 0); /* so it was that */
  }
}

TEST(to_give_back_and_leave_lets_others_in_for_nothing) {
  static const queue_case of = {1, 0, {{1, -1}, {1}, {-1}}};
  explored_promises_end = true;
  expect_fault(QUEUE_INDEX, &of, true, "a place is promised twice");
  explored_promises_end = false;
  ck_assert_int_eq(explore(QUEUE_INDEX, &of, true).stuck, 0);
}

/* The example of the listing, with half as many threads: so many puts pass as there are places and
 * takes, in some order that many, in none more. */
TEST(a_broker_lets_in_whom_a_take_will_make_room_for) {
  static const queue_case of = {1, 0, {{1}, {1}, {1}, {-1}}};
  for (int kind = QUEUE_BROKER_LISTED; kind <= QUEUE_DISTRIBUTOR; ++kind) {
    int64_t most = 0;
    const explorer found = explore_most((queue_kind)kind, &of, true, &most);
    ck_assert_int_eq(found.wrong + found.stuck, 0);
    ck_assert_int_eq(most, 2);
  }
}

static const queue_case sound[] = {
    {2, 0, {{1, -1}, {1, -1}}},
    {2, WRAPS, {{1, 1, 1}, {-1, -1}}},
    {2, (UINT64_C(1) << 63) - 2, {{1, 1}, {-1, 1}}},
    {1, WRAPS, {{1}, {1}, {-1}}},
    {2, 0, {{1, 1}, {-1}, {1, -1}}},
    {1, WRAPS + 1, {{1}, {-1}, {1, -1}}},
};

TESTS(repaired_queues_are_right_in_any_order, sizeof sound / sizeof sound[0]) {
  for (int kind = QUEUE_INDEX; kind < QUEUE_RING; kind += 2) {
    const bool is_wide = kind == QUEUE_BUCKETS || kind == QUEUE_STEALING;
    if (is_wide && sound[_i].ops[2][0] != 0)
      continue; /* of parts that are tried themselves */
    const explorer found = explore((queue_kind)kind, &sound[_i], false);
    if (found.wrong || found.stuck)
      ck_abort_msg("queue %d, case %d: %s; %lld states are stuck", kind, _i,
                   found.what ? found.what : "nothing wrong", (long long)found.stuck);
    ck_assert_int_gt(found.ends, 0);
  }
}
