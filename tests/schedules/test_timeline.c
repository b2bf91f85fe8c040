/* SPDX-License-Identifier: Apache-2.0 */
/* The free-gap timeline against an array with the level of every instant. */
#include "schedules/planner/common/gang_timeline.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { INSTANTS = 60000, CAPACITY = 3, USES = 30000 };

static int32_t levels[INSTANTS];
static prem_timeline timeline;
static uint64_t state;

static int64_t draw(int64_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((state >> 33) % (uint64_t)below);
}

static void begin(uint64_t seed, int32_t capacity) {
  memset(levels, 0, sizeof levels);
  prem_timeline_free(&timeline);
  timeline.capacity = capacity;
  state = seed;
}

static bool has_room(int64_t at, int64_t length, int32_t demand) {
  for (int64_t i = at; i < at + length && i < INSTANTS; ++i)
    if (levels[i] + demand > timeline.capacity)
      return false;
  return true;
}

static void use(int64_t at, int64_t length, int32_t demand) {
  for (int64_t i = at; i < at + length; ++i)
    levels[i] += demand;
  ck_assert_int_eq(prem_timeline_use(&timeline, at, at + length, demand), PREM_OK);
}

static void assert_first_fit(int64_t from, int64_t length, int32_t demand, int64_t grid) {
  int64_t at = (from + grid - 1) / grid * grid;
  while (!has_room(at, length, demand))
    at += grid;
  ck_assert_int_eq(prem_timeline_fit(&timeline, from, length, demand, grid), at);
}

TEST(the_first_instant_with_room_is_found) {
  for (int32_t capacity = 1; capacity <= CAPACITY; ++capacity) {
    begin((uint64_t)capacity, capacity);
    for (int i = 0; i < USES / 10; ++i) {
      int32_t demand = 1 + (int32_t)draw(capacity);
      int64_t length = 1 + draw(12), from = draw(INSTANTS / 4), grid = 1 + draw(3);
      assert_first_fit(from, length, demand, grid);
      int64_t at = prem_timeline_fit(&timeline, from, length, demand, grid);
      use(at, length, demand);
    }
  }
}

/* Thousands of gaps, so that there are several shelves of chunks. */
TEST(gaps_that_are_too_short_are_passed_over) {
  begin(1, 1);
  for (int64_t at = 0; at + 4 < INSTANTS / 2; at += 4)
    use(at, 1 + draw(3), 1);
  for (int64_t at = 4000; at < INSTANTS / 2; at += 7000)
    for (int64_t i = at; i < at + 12; ++i)
      if (levels[i])
        use(i, 1, -1);
  for (int i = 0; i < 200; ++i)
    assert_first_fit(draw(INSTANTS / 2), 1 + draw(16), 1, 1);
}

/* Searches on the timeline's grid, and on multiples of it: a gap may have no instant of it, or too
 * late a one. */
TEST(gaps_count_from_their_first_instant_on_the_grid) {
  for (int64_t grid = 2; grid <= 7; ++grid) {
    begin((uint64_t)grid, CAPACITY);
    timeline.grid_ns = grid;
    for (int i = 0; i < USES / 20; ++i) {
      const int32_t demand = 1 + (int32_t)draw(CAPACITY);
      const int64_t length = 1 + draw(12), from = draw(INSTANTS / 8), by = grid * (1 + draw(3));
      assert_first_fit(from, length, demand, by);
      use(prem_timeline_fit(&timeline, from, length, demand, by), length, demand);
    }
  }
  timeline.grid_ns = 0;
}

TEST(what_is_given_back_is_free) {
  enum { HELD = 2000 };
  static struct {
    int64_t at, length;
    int32_t demand;
  } held[HELD];
  begin(2, CAPACITY);
  for (int i = 0; i < USES; ++i) {
    int64_t k = draw(HELD), length = 1 + draw(20);
    int32_t demand = 1 + (int32_t)draw(CAPACITY);
    if (held[k].demand)
      use(held[k].at, held[k].length, -held[k].demand);
    int64_t at = prem_timeline_fit(&timeline, draw(INSTANTS / 4), length, demand, 1);
    held[k].at = at;
    held[k].length = length;
    held[k].demand = demand;
    use(at, length, demand);
    if (i % 50 == 0)
      assert_first_fit(draw(INSTANTS / 4), 1 + draw(20), 1 + (int32_t)draw(CAPACITY), 1);
  }
}

/* From some thousand uses to none, from either end or at random: what is left in between is right
 * as well. */
TESTS(all_that_is_given_back_leaves_nothing, 3) {
  enum { HELD = 4000, APART = 5 };
  static int32_t order[HELD];
  begin(3, 1);
  for (int32_t i = 0; i < HELD; ++i) {
    use((int64_t)APART * i, 2 + draw(2), 1);
    order[i] = _i == 1 ? HELD - 1 - i : i;
  }
  for (int32_t i = HELD - 1; i > 0 && _i == 2; --i) {
    const int32_t k = (int32_t)draw(i + 1), moved = order[i];
    order[i] = order[k];
    order[k] = moved;
  }
  ck_assert_int_gt(timeline.count, 100);
  for (int32_t i = 0; i < HELD; ++i) {
    const int64_t at = (int64_t)APART * order[i];
    use(at, levels[at + 2] ? 3 : 2, -1);
    if (i % 50 == 0)
      assert_first_fit(draw(INSTANTS / 3), 1 + draw(40), 1, 1);
  }
  ck_assert_int_eq(timeline.count, 1);
  assert_first_fit(0, INSTANTS, 1, 1);
}

/* What others have, and what a task asks for beside, is more than an int holds. */
TEST(a_gang_may_ask_for_as_much_as_an_int_holds) {
  enum { MOST = INT32_MAX - 1, FEW = 2, MORE = 10 };
  prem_gang_timeline gangs = {0};
  begin(1, MOST);
  ck_assert_int_eq(prem_gang_timeline_open(&gangs, &timeline, 2), PREM_OK);
  ck_assert_int_eq(prem_gang_timeline_use(&gangs, 0, 0, 10, FEW, 1), PREM_OK);
  ck_assert_int_eq(prem_gang_timeline_use(&gangs, 1, 0, 10, MOST - FEW, 1), PREM_OK);
  ck_assert_int_eq(prem_gang_timeline_fit(&gangs, 0, 0, 5, FEW, 1), 0);
  ck_assert_int_eq(prem_gang_timeline_fit(&gangs, 0, 0, 5, MORE, 1), 10);
  ck_assert_int_eq(prem_gang_timeline_fit(&gangs, 0, 0, 5, MOST, 1), 10);
  prem_gang_timeline_free(&gangs);
}
