/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: long */
/* Servers: what is refused, each with its twin, and the bound of responses against a judge that
 * goes from one nanosecond to the next. */
#include "tests/common/cases.h"
#include "tests/common/rounds.h"
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

#include "prem/base/random.h"

/* ---- codes, with twins ----------------------------------------------------------------------- */

/* Memory phases of the critical job run in [0, 20) and [50, 60) of 200. A prefetch of a server asks
 * for 31 ns, so it begins in [60, 169]. At 170 it waits until 260, and a tile takes 45 ns. */
#define CRITICAL                                                                                   \
  "{ name = \"c\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 200L;"                \
  " prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 30L; }; writeback: { wcet_ns = 10L; }; }"
#define PHASES                                                                                     \
  "prefetch: { wcet_ns = 30L; }; compute: { wcet_ns = 5L; }; writeback: { wcet_ns = 10L; };"
#define TASK(name, settings)                                                                       \
  "{ name = \"" name "\"; class = \"best_effort\"; kernel = \"none\"; tiles = 4; " settings " }"
#define SERVER(settings, own)                                                                      \
  TASK("s", "blocks = [ 1 ]; server: { capacity = 2; " own " }; " settings)
#define PLAN                                                                                       \
  "hyperperiod_ns = 200L; runs = ( { task = \"c\"; phase = \"prefetch\"; start_ns = 0L; },"        \
  "{ task = \"c\"; phase = \"compute\"; start_ns = 20L; },"                                        \
  "{ task = \"c\"; phase = \"writeback\"; start_ns = 50L; } );"                                    \
  "closed: { open_ns = 109L; start_ns = [ 0L, 50L ]; end_ns = [ 20L, 60L ]; };"

GROUP("codes");

TEST(each_code_has_its_twin) {
  cases_judge("schedules/server_cases.txt");
}

TEST(no_plan_is_made_that_is_too_slow) {
  const char *tasks =
      text("version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ( %s, %s "
           ");",
           CRITICAL, SERVER(PHASES "deadline_ns = 50L;", "tiles = 1; distance_ns = 1000L;"));
  OWNED(prem_schedule) *schedule = schedule_from_text(tasks);
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, diag), PREM_ERR_INFEASIBLE);
  assert_says(diag, 57, "no plan found: 50 ns are less than");
}

/* ---- every nanosecond ------------------------------------------------------------------------ */

enum { LONGEST = 120, BLOCKS = 3, ERRANDS = 400, HISTORY_NS = 4000 };

/** A server, and the windows of a hyperperiod. */
typedef struct set {
  int64_t length_ns, start_ns[2], end_ns[2];
  int64_t wcet_ns[PREM_PHASE_COUNT];
  int32_t blocks, tiles, turns, burst;
  int64_t distance_ns;
} set;

static int64_t between(uint64_t *random, int64_t least, int64_t most) {
  return least + prem_random_below(random, most - least + 1);
}

static set random_set(uint64_t *random) {
  set s = {.length_ns = between(random, 40, LONGEST)};
  s.start_ns[0] = between(random, 0, 5);
  s.end_ns[0] = s.start_ns[0] + between(random, 1, 10);
  s.start_ns[1] = s.end_ns[0] + between(random, 8, s.length_ns / 3);
  s.end_ns[1] = s.start_ns[1] + between(random, 1, 4);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    s.wcet_ns[p] = between(random, 1, 7);
  s.blocks = (int32_t)between(random, 1, BLOCKS);
  s.tiles = (int32_t)between(random, 1, 4);
  s.turns = (int32_t)between(random, 1, 3);
  s.burst = (int32_t)between(random, 1, 3);
  s.distance_ns = s.turns * between(random, 30, 300);
  return s;
}

static const char *text_of(const set *s) {
  return text("version = 1; name = \"t\"; platform: { blocks = 4; };\ntasks = (\n" CRITICAL
              ",\n{ name = \"s\"; class = \"best_effort\"; kernel = \"none\"; tiles = 9; "
              "blocks = \"1-%d\"; server: { capacity = 9; tiles = %d; turns = %d; burst = %d; "
              "distance_ns = %ldL; }; prefetch: { wcet_ns = %ldL; }; compute: { wcet_ns = %ldL; }; "
              "writeback: { "
              "wcet_ns = %ldL; }; } );\nplan: { hyperperiod_ns = %ldL; closed: { open_ns = 1L; "
              "start_ns = [ %ldL, %ldL ]; end_ns = [ %ldL, %ldL ]; }; };",
              s->blocks, s->tiles, s->turns, s->burst, (long)s->distance_ns, (long)s->wcet_ns[0],
              (long)s->wcet_ns[1], (long)s->wcet_ns[2], (long)s->length_ns, (long)s->start_ns[0],
              (long)s->start_ns[1], (long)s->end_ns[0], (long)s->end_ns[1]);
}

static int64_t bound_of(const set *s) {
  OWNED(prem_schedule) *schedule = schedule_from_text(text_of(s));
  int64_t bound_ns;
  ck_assert_int_eq(prem_errand_bound(schedule, 1, &bound_ns), PREM_OK);
  return bound_ns;
}

static bool is_closed(const set *s, int64_t at_ns) {
  const int64_t in_ns = at_ns % s->length_ns;
  return (in_ns >= s->start_ns[0] && in_ns < s->end_ns[0]) ||
         (in_ns >= s->start_ns[1] && in_ns < s->end_ns[1]);
}

/* A phase and the step of a clock fit before the next window. */
static bool may_begin(const set *s, int phase, int64_t at_ns) {
  for (int64_t i = 0; phase != PREM_COMPUTE && i <= s->wcet_ns[phase]; ++i)
    if (is_closed(s, at_ns + i))
      return false;
  return true;
}

/** What a block has in hand. */
typedef struct working {
  int32_t errand; /* -1: nothing */
  int phase;      /* at work, or to begin */
  int32_t turn;
  bool works;
  int64_t end_ns;
} working;

typedef struct world {
  const set *s;
  const int64_t *comes_ns; /* [count], ascending */
  int32_t count, arrived, next_tile;
  int32_t left[ERRANDS];
  int64_t longest_ns; /* response */
  working workers[BLOCKS];
  uint64_t *random; /* NULL: phases take their bounds */
} world;

/* What a block does at an instant; false: nothing more. */
static bool act(world *w, working *worker, int64_t at_ns) {
  if (worker->errand < 0) {
    if (w->next_tile == w->arrived * w->s->tiles)
      return false;
    worker->errand = w->next_tile++ / w->s->tiles;
    worker->phase = PREM_PREFETCH;
    worker->turn = 0;
    return true;
  }
  if (!worker->works) {
    if (!may_begin(w->s, worker->phase, at_ns))
      return false;
    const int64_t wcet_ns = w->s->wcet_ns[worker->phase];
    worker->works = true;
    worker->end_ns = at_ns + (w->random ? between(w->random, 1, wcet_ns) : wcet_ns);
    return true;
  }
  if (worker->end_ns > at_ns)
    return false;
  worker->works = false;
  if (++worker->phase < PREM_PHASE_COUNT)
    return true;
  if (++worker->turn < w->s->turns) {
    worker->phase = PREM_PREFETCH;
    return true;
  }
  if (--w->left[worker->errand] == 0 && at_ns - w->comes_ns[worker->errand] > w->longest_ns)
    w->longest_ns = at_ns - w->comes_ns[worker->errand];
  worker->errand = -1;
  return true;
}

/* The longest response. */
static int64_t observe(const set *s, const int64_t *comes_ns, int32_t count, uint64_t *random) {
  world w = {.s = s, .comes_ns = comes_ns, .count = count, .random = random};
  int32_t over = 0;
  for (int32_t b = 0; b < s->blocks; ++b)
    w.workers[b].errand = -1;
  for (int32_t e = 0; e < count; ++e)
    w.left[e] = s->tiles;
  for (int64_t at_ns = comes_ns[0]; over < count; ++at_ns) {
    ck_assert_int_lt(at_ns, comes_ns[0] + 10 * HISTORY_NS + 100 * LONGEST * count);
    while (w.arrived < count && comes_ns[w.arrived] <= at_ns)
      ++w.arrived;
    bool acts = true;
    while (acts) {
      acts = false;
      for (int32_t b = 0; b < s->blocks; ++b)
        acts |= act(&w, &w.workers[b], at_ns);
    }
    while (over < count && w.left[over] == 0)
      ++over;
  }
  return w.longest_ns;
}

/* Those before it as late as may be, the last of a burst at each instant of the hyperperiod. */
static int64_t worst_of_late_ones(const set *s) {
  const int32_t count = s->burst + (int32_t)(HISTORY_NS / s->distance_ns);
  int64_t comes_ns[ERRANDS], longest_ns = 0;
  for (int64_t phase_ns = 0; phase_ns < s->length_ns; ++phase_ns) {
    for (int32_t e = 0; e < count; ++e) {
      const int64_t before = count - 1 - e - (s->burst - 1);
      comes_ns[e] = 100 * s->length_ns + phase_ns - (before > 0 ? before : 0) * s->distance_ns;
    }
    const int64_t response_ns = observe(s, comes_ns, count, NULL);
    longest_ns = response_ns > longest_ns ? response_ns : longest_ns;
  }
  return longest_ns;
}

/* As the model lets them come, now and then later. */
static int64_t worst_of_random_ones(const set *s, uint64_t *random) {
  int64_t comes_ns[60];
  for (int32_t e = 0; e < 60; ++e) {
    comes_ns[e] = e ? comes_ns[e - 1] : between(random, 0, s->length_ns);
    for (int32_t j = 0; j < e; ++j) {
      const int64_t more = e - j + 1 - s->burst;
      if (more > 0 && comes_ns[e] < comes_ns[j] + more * s->distance_ns)
        comes_ns[e] = comes_ns[j] + more * s->distance_ns;
    }
    if (between(random, 0, 3) == 0)
      comes_ns[e] += between(random, 0, 2 * s->distance_ns);
  }
  return observe(s, comes_ns, 60, between(random, 0, 1) ? random : NULL);
}

GROUP("bound");

TEST(bounds_hold_and_are_near) {
  uint64_t random = 11;
  int32_t bounded = 0, exact = 0;
  for (int32_t i = 0; i < ROUNDS(600); ++i) {
    const set s = random_set(&random);
    const int64_t bound_ns = bound_of(&s);
    if (bound_ns < 0)
      continue;
    const int64_t worst_ns = worst_of_late_ones(&s);
    ++bounded;
    exact += bound_ns == worst_ns;
    if (worst_ns > bound_ns || 10 * bound_ns > 13 * worst_ns)
      ck_abort_msg("bound %ld, observed %ld:\n%s", (long)bound_ns, (long)worst_ns, text_of(&s));
    for (int32_t r = 0; r < 20; ++r)
      ck_assert_int_le(worst_of_random_ones(&s, &random), bound_ns);
  }
  ck_assert_int_gt(bounded, ROUNDS(400));
  ck_assert_int_gt(10 * exact, 9 * bounded);
}

/* A phase that fits into no gap ends never. */
TEST(what_never_begins_has_no_bound) {
  set s = {.length_ns = 40,
           .start_ns = {0, 20},
           .end_ns = {10, 30},
           .wcet_ns = {9, 1, 1},
           .blocks = 1,
           .tiles = 1,
           .turns = 1,
           .burst = 1,
           .distance_ns = 500};
  ck_assert_int_gt(bound_of(&s), 0);
  s.wcet_ns[0] = 10;
  ck_assert_int_eq(bound_of(&s), -1);
}
