/* SPDX-License-Identifier: Apache-2.0 */
/* The gate against a machine that looks at every instant: all sets of closed instants of short
 * hyperperiods, all bounds, all pairs of readings; and windows that are over before their ends. */
#include <stdbool.h>

#include "runtime/core/gate.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { MAX_HYPERPERIOD = 7, MAX_OVER_EARLY = 5, HYPERPERIODS = 4 };

/* Instant i of the hyperperiod is closed: bit i. */
typedef struct closed_set {
  uint32_t bits;
  int32_t hyperperiod;
} closed_set;

static bool is_closed(const closed_set *set, int64_t at) {
  const int64_t instant = (at % set->hyperperiod + set->hyperperiod) % set->hyperperiod;
  return set->bits >> instant & 1;
}

/* The first instant from `now` on at which [instant, instant + bound) is open; -1: there is none.
 */
static int64_t first_possible(const closed_set *set, int64_t now, int64_t bound) {
  for (int64_t at = now; at < now + 3 * set->hyperperiod; ++at) {
    bool is_open = true;
    for (int64_t i = at; i < at + bound && is_open; ++i)
      is_open = !is_closed(set, i);
    if (is_open)
      return at;
  }
  return -1;
}

/* The windows of the set. `over`: one that reaches over the hyperperiod's end stays whole, else it
 * is cut there. */
static int32_t list_windows(const closed_set *set, bool over, prem_gate_window *windows) {
  int32_t count = 0;
  for (int32_t i = 0; i < set->hyperperiod; ++i) {
    const bool begins = is_closed(set, i) && ((i == 0 && !over) || !is_closed(set, i - 1));
    int32_t end = i;
    while (begins && is_closed(set, end) && end < (over ? i + set->hyperperiod : set->hyperperiod))
      ++end;
    if (begins)
      windows[count++] = (prem_gate_window){i, end};
  }
  return count;
}

/* Asks until the gate opens; every answer gets on, and none beyond the first possible instant. */
static int64_t wait_at(prem_memory_gate *gate, const prem_gate_list *list, const closed_set *set,
                       int64_t now, int64_t bound) {
  const int64_t possible = first_possible(set, now, bound);
  for (int32_t asked = 0; asked <= 3 * list->count; ++asked) {
    const int64_t from = prem_gate_ask(gate, list, now, bound);
    if (from == now)
      return now;
    ck_assert_int_gt(from, now);
    if (possible >= 0)
      ck_assert_int_le(from, possible);
    now = from;
  }
  return -1;
}

static void try_pairs(const prem_gate_list *list, const closed_set *set, int64_t epoch,
                      int64_t bound) {
  const int64_t end = HYPERPERIODS * set->hyperperiod;
  for (int64_t first = 0; first < end; ++first)
    for (int64_t second = first; second < end; ++second) {
      prem_memory_gate gate = prem_gate_new(list, epoch);
      /* a first one that stays short, so that the second finds the gate wherever it may be */
      prem_gate_ask(&gate, list, epoch + first, 1);
      const int64_t possible = first_possible(set, second, bound);
      const int64_t found = wait_at(&gate, list, set, epoch + second, bound);
      ck_assert_int_eq(found, possible < 0 ? -1 : epoch + possible);
      if (found < 0)
        continue;
      ck_assert_int_eq(prem_gate_overrun_ns(&gate, found + bound), 0);
      int64_t next = found;
      while (next < found + 3 * set->hyperperiod && !is_closed(set, next - epoch))
        ++next;
      if (set->bits)
        ck_assert_int_eq(prem_gate_overrun_ns(&gate, next + 5), 5);
    }
}

static void try_hyperperiod(int32_t hyperperiod) {
  for (uint32_t bits = 0; bits < 1u << hyperperiod; ++bits)
    for (int over = 0; over < 2; ++over) {
      const closed_set set = {bits, hyperperiod};
      prem_gate_window windows[MAX_HYPERPERIOD];
      if (bits == (1u << hyperperiod) - 1 && over)
        continue; /* it never begins */
      const prem_gate_list list = {windows, list_windows(&set, over, windows), hyperperiod};
      for (int64_t bound = 1; bound <= hyperperiod; ++bound)
        try_pairs(&list, &set, 1000 * hyperperiod, bound);
    }
}

TEST(it_opens_at_the_first_possible_instant_and_never_before) {
  for (int32_t hyperperiod = 1; hyperperiod <= MAX_HYPERPERIOD; ++hyperperiod)
    try_hyperperiod(hyperperiod);
}

/* Of each window of the list so much is used, in every hyperperiod. */
typedef struct early {
  const prem_gate_list *list;
  int64_t used[MAX_HYPERPERIOD];
} early;

static bool is_over(const early *e, int64_t h, int32_t w, int64_t now) {
  return now >= h * e->list->hyperperiod_ns + e->list->windows[w].start_ns + e->used[w];
}

/* Is no window in the way that is not over yet? */
static bool may_begin(const early *e, int64_t now, int64_t bound) {
  for (int64_t h = now / e->list->hyperperiod_ns - 1; h <= now / e->list->hyperperiod_ns + 3; ++h)
    for (int32_t w = 0; w < e->list->count; ++w) {
      const int64_t at = h * e->list->hyperperiod_ns;
      if (!is_over(e, h, w, now) && now + bound > at + e->list->windows[w].start_ns &&
          now < at + e->list->windows[w].end_ns)
        return false;
    }
  return true;
}

/* Who asks at each instant, as blocks do, begins at the first one that is possible. */
static void ask_each_instant(const early *e, int64_t first, int64_t bound) {
  const int64_t length = e->list->hyperperiod_ns;
  prem_memory_gate gate = prem_gate_new(e->list, 0);
  for (int64_t now = first; now < first + 3 * length; ++now) {
    int64_t from = prem_gate_ask(&gate, e->list, now, bound);
    while (from > now && is_over(e, gate.epoch_ns / length, gate.index, now)) {
      prem_gate_next(&gate, e->list);
      from = prem_gate_ask(&gate, e->list, now, bound);
    }
    ck_assert_int_eq(from == now, may_begin(e, now, bound));
    if (from == now)
      now += bound - 1; /* and asks again behind it */
  }
}

static void try_early(early *e, int32_t w) {
  const prem_gate_window *window = &e->list->windows[w];
  if (w < e->list->count) {
    for (e->used[w] = 0; e->used[w] <= window->end_ns - window->start_ns; ++e->used[w])
      try_early(e, w + 1);
    return;
  }
  for (int64_t first = 0; first < 2 * e->list->hyperperiod_ns; ++first)
    for (int64_t bound = 1; bound <= e->list->hyperperiod_ns; ++bound)
      ask_each_instant(e, first, bound);
}

TEST(it_opens_as_soon_as_a_window_is_over) {
  for (int32_t hyperperiod = 1; hyperperiod <= MAX_OVER_EARLY; ++hyperperiod)
    for (uint32_t bits = 1; bits < 1u << hyperperiod; ++bits) {
      const closed_set set = {bits, hyperperiod};
      prem_gate_window windows[MAX_HYPERPERIOD];
      const prem_gate_list list = {windows, list_windows(&set, false, windows), hyperperiod};
      early e = {.list = &list};
      try_early(&e, 0);
    }
}

TEST(the_first_hyperperiod_is_closed_by_what_reaches_over_the_end) {
  const prem_gate_window window = {95, 103};
  const prem_gate_list list = {&window, 1, 100};
  prem_memory_gate gate = prem_gate_new(&list, 5000);
  ck_assert_int_eq(prem_gate_ask(&gate, &list, 5000, 10), 5003);
  ck_assert_int_eq(prem_gate_ask(&gate, &list, 5003, 10), 5003);
  ck_assert_int_eq(prem_gate_ask(&gate, &list, 5085, 10), 5085);
  ck_assert_int_eq(prem_gate_ask(&gate, &list, 5086, 10), 5103);
}

TEST(without_windows_it_is_open) {
  const prem_gate_list list = {NULL, 0, 100};
  prem_memory_gate gate = prem_gate_new(&list, 0);
  for (int64_t now = 0; now < 1000; now += 7)
    ck_assert_int_eq(prem_gate_ask(&gate, &list, now, 1 << 20), now);
  ck_assert_int_eq(prem_gate_overrun_ns(&gate, INT64_MAX / 2), 0);
}

/* A block that computed for a second has a few steps to make, not millions. */
TEST(it_catches_up_at_once) {
  const prem_gate_window windows[] = {{10, 20}, {50, 60}};
  const prem_gate_list list = {windows, 2, 100};
  prem_memory_gate gate = prem_gate_new(&list, 0);
  const int64_t late = INT64_C(4000000000000000000) + 35; /* 35 in its hyperperiod */
  ck_assert_int_eq(prem_gate_ask(&gate, &list, late, 15), late);
  ck_assert_int_eq(prem_gate_ask(&gate, &list, late, 16), late + 25);
}
