/* SPDX-License-Identifier: Apache-2.0 */
/* The door of senders: all orders of who enters and who shuts it, over its source, in C11's memory;
 * and what is planted in them. */
/* ctest: release */
#include "tests/common/explorer.h"

typedef struct explored_door {
  int number; /* of its word */
} explored_door;
#define prem_door               explored_door
#define PREM_DOOR_ADD(door, by) door_add(door, by)
#define PREM_DOOR_LOAD(door)    door_load(door)
static uint64_t door_add(const explored_door *door, uint64_t by) {
  return explore_access((explore_step){EXPLORE_ADD, door->number, EXPLORE_ACQ_REL, {by, 0}, {0, 0}})
      .low;
}
static uint64_t door_load(const explored_door *door) {
  return explore_access((explore_step){EXPLORE_LOAD, door->number, EXPLORE_ACQUIRE, {0, 0}, {0, 0}})
      .low;
}
#include "runtime/core/door.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* A word for the door, and one for each guest: how often it was inside. */
enum { DOOR, GUESTS = 2, VISITS = 2, ROUNDS = 2 };

typedef struct door_case {
  bool enters_unasked, waits_for_nobody; /* planted */
} door_case;

/* A guest's visits; what the one who shuts has seen, and whether it was alone. */
typedef struct door_user {
  int done, visits;
  uint64_t seen[ROUNDS][GUESTS][2];
} door_user;

static uint64_t load(int word) {
  return explore_access((explore_step){EXPLORE_LOAD, word, EXPLORE_RELAXED, {0, 0}, {0, 0}}).low;
}
static void store(int word, uint64_t value) {
  explore_access((explore_step){EXPLORE_STORE, word, EXPLORE_RELAXED, {value, 0}, {0, 0}});
}

static bool visit(const door_case *of, int guest, door_user *user) {
  explored_door door = {DOOR};
  if (prem_door_enter(&door)) {
    store(1 + guest, (uint64_t)++user->visits);
    prem_door_leave(&door);
  } else if (of->enters_unasked) {
    store(1 + guest, (uint64_t)++user->visits);
  }
  return ++user->done < VISITS;
}

/* What lies there once it is alone, and again before it opens. */
static bool shut(const door_case *of, door_user *user) {
  explored_door door = {DOOR};
  prem_door_shut(&door);
  const int mark = explore_mark();
  if (!prem_door_is_empty(&door) && !of->waits_for_nobody)
    explore_again(mark);
  for (int look = 0; look < 2; ++look)
    for (int guest = 0; guest < GUESTS; ++guest)
      user->seen[user->done][guest][look] = load(1 + guest);
  prem_door_open(&door);
  return ++user->done < ROUNDS;
}

static bool act(explorer *of, int thread, void *own) {
  return thread < GUESTS ? visit(of->context, thread, own) : shut(of->context, own);
}

/* Of what the others did before, all was seen; meanwhile they did nothing. */
static const char *judge_call(explorer *of, int thread, const void *own) {
  const door_user *user = own;
  (void)of;
  for (int r = 0; thread == GUESTS && r < user->done; ++r)
    for (int guest = 0; guest < GUESTS; ++guest)
      if (user->seen[r][guest][0] != user->seen[r][guest][1])
        return "somebody came in while the door was shut, or was seen late";
  return NULL;
}

static const char *judge_end(explorer *of, const explore_state *state) {
  (void)of;
  return explore_newest(state, DOOR) == 0 ? NULL : "somebody is still counted";
}

static explorer explore(const door_case *of, explorer made) {
  made.threads = GUESTS + 1;
  made.own_bytes = sizeof(door_user), made.context = of;
  made.call = act, made.judge_call = judge_call, made.judge_end = judge_end;
  for (int word = 0; word <= GUESTS; ++word)
    explore_set(&made, word, (explore_value){0, 0});
  explore_all(&made);
  return made;
}

TEST(who_shuts_the_door_is_alone) {
  const explorer found = explore(&(door_case){0}, (explorer){0});
  if (found.wrong || found.stuck)
    ck_abort_msg("%s; %lld states are stuck", found.what ? found.what : "nothing wrong",
                 (long long)found.stuck);
  ck_assert_int_gt(found.ends, 0);
}

TEST(what_is_planted_is_found) {
  ck_assert_int_gt(explore(&(door_case){.enters_unasked = true}, (explorer){0}).wrong, 0);
  ck_assert_int_gt(explore(&(door_case){.waits_for_nobody = true}, (explorer){0}).wrong, 0);
  ck_assert_int_gt(explore(&(door_case){0}, (explorer){.drops_release = true}).wrong, 0);
  ck_assert_int_gt(explore(&(door_case){0}, (explorer){.drops_acquire = true}).wrong, 0);
}
