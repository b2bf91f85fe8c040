/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds: by hand, and against every plan of tiny sets. */
#include "schedules/planner/common/jackson.h"
#include "schedules/planner/proof/bounds.h"
#include "schedules/planner/proof/explain.h"
#include "schedules/planner/proof/rules.h"
#include "tests/common/brute_force.h"
#include "tests/common/planted.h"
#include "tests/common/suite.h"

#include <dlfcn.h>

static int64_t bound_of(const prem_schedule *schedule) {
  prem_planning planning = {
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
  int64_t bound_ns = -1;
  if (prem_planning_lower_bound(&planning, &bound_ns))
    prem_planning_raise_bound(&planning, INT64_MAX, NULL, &bound_ns);
  return bound_ns;
}

static void assert_bound(const char *platform, const char *tasks, int64_t expected_ns) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { %s }; tasks = ( %s );", platform, tasks));
  ck_assert_int_eq(bound_of(schedule), expected_ns);
}

/* ---- by hand -------------------------------------------------------------------------------- */

static const char *task(const char *name, int block, int prefetch_ns, int compute_ns,
                        const char *more) {
  return text("{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
              " prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = %dL; }; %s }",
              name, block, prefetch_ns, compute_ns, more);
}

GROUP("by hand");

TEST(the_critical_path_counts_lags) {
  assert_bound("blocks = 2;",
               text("%s, %s", task("a", 0, 5, 10, ""),
                    task("b", 1, 4, 20, "after = ( { task = \"a\"; lag_ns = 3L; } );")),
               5 + 10 + 3 + 4 + 20);
}

/* The order in the file says nothing. */
TEST(the_first_task_may_follow_a_later_one) {
  assert_bound("blocks = 2;",
               text("%s, %s", task("b", 1, 4, 20, "after = ( { task = \"a\"; lag_ns = 3L; } );"),
                    task("a", 0, 5, 10, "")),
               5 + 10 + 3 + 4 + 20);
}

TEST(the_memory_is_loaded_between_heads_and_tails) {
  /* a goes first or last: 2 + 30 + 8, or */
  assert_bound("blocks = 3;",
               text("%s, %s, %s", task("a", 0, 10, 7, "release_ns = 2L;"),
                    task("b", 1, 10, 8, "release_ns = 3L;"),
                    task("c", 2, 10, 9, "release_ns = 4L;")),
               3 + 30 + 7);
}

/* 8 tiles take 2 of 4 each: 4 one after the other, twice. */
TEST(a_job_of_many_tiles_takes_as_long_as_its_demand) {
  const char *form = "{ name = \"%s\"; kernel = \"none\"; blocks = \"0-3\"; tiles = 8; %s"
                     " prefetch: { wcet_ns = 10L; demand: { memory = 2; }; }; }";
  assert_bound("blocks = 4; resources = ( { name = \"memory\"; capacity = 4; } );",
               text("%s, %s", text(form, "a", ""),
                    text(form, "b", "after = ( { task = \"a\"; lag_ns = 1000L; } );")),
               40 + 1000 + 40);
}

TEST(a_block_with_one_buffer_holds_whole_tiles) {
  assert_bound("blocks = 1; resources = ( { name = \"memory\"; capacity = 2; } );",
               text("%s, %s", task("a", 0, 10, 7, ""), task("b", 0, 10, 8, "")), 35);
  assert_bound("blocks = 1; buffers = 2; resources = ( { name = \"memory\"; capacity = 2; } );",
               text("%s, %s", task("a", 0, 10, 7, ""), task("b", 0, 10, 8, "")), 27);
}

TEST(a_gang_fetches_once) {
  const char *gang = "{ name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 4;"
                     " prefetch: { wcet_ns = 10L; }; }";
  assert_bound("blocks = 2; resources = ( { name = \"memory\"; capacity = 1; per = \"task\"; } );",
               gang, 20);
  assert_bound("blocks = 2;", gang, 40);
}

TEST(a_chain_needs_no_guards_and_no_grid_inside) {
  assert_bound("blocks = 1; guard_ns = 3L; clock_step_ns = 4L;", task("a", 0, 5, 6, ""), 12);
}

/* The memory cannot fetch for both blocks at once: only the order of equal tiles proves it fast. */
TEST(equal_tiles_are_taken_in_order) {
  assert_bound("blocks = 2;",
               "{ name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 8;"
               " prefetch: { wcet_ns = 1000L; }; compute: { wcet_ns = 3000L; };"
               " writeback: { wcet_ns = 500L; }; }",
               19500);
}

TEST(small_sets_are_reasoned_about) {
  /* 9 of 2 in time would fit into 5, but all three are on in [2, 3) then */
  const char *fetch = "{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
                      " prefetch: { wcet_ns = 3L; }; }";
  assert_bound("blocks = 3; resources = ( { name = \"memory\"; capacity = 2; } );",
               text("%s, %s, %s", text(fetch, "a", 0), text(fetch, "b", 1), text(fetch, "c", 2)),
               6);
}

/* Two times of 2^62 each: their sum is no time, and no number of nanoseconds below 0 either. */
TEST(sums_of_the_longest_times_are_not_served) {
  static const char *const sets[] = {
      "platform: { blocks = 2; }; tasks = ("
      " { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "   compute: { wcet_ns = 4611686018427387904L; }; },"
      " { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; compute: { wcet_ns = 1L; };"
      "   after = ( { task = \"a\"; lag_ns = 4611686018427387904L; } ); } );",
      "platform: { blocks = 1; guard_ns = 4611686018427387904L; }; tasks = ("
      " { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
      "   compute: { wcet_ns = 4611686018427387904L; }; } );"};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    OWNED(prem_schedule) *schedule =
        schedule_from_text(text("version = 1; name = \"t\"; %s", sets[i]));
    prem_planning planning = {.schedule = schedule, .grid_ns = 1, .policy = "auto"};
    for (int relaxed = 0; relaxed < 2; ++relaxed) {
      prem_rules rules;
      ck_assert_int_eq(prem_rules_build(&planning, relaxed, NULL, INT32_MAX, &rules),
                       PREM_ERR_UNAVAILABLE);
    }
  }
}

TEST(periods_have_no_makespan) {
  assert_bound("blocks = 1;", task("a", 0, 5, 6, "period_ns = 100L;"), -1);
}

TEST(deadlines_that_cannot_be_met_end_the_reasoning) {
  assert_bound("blocks = 1;", task("a", 0, 5, 6, "deadline_ns = 10L;"), 11);
}

/* Instant by instant: of what is there the one with the longest tail. */
static int64_t end_by_instants(const prem_work *works, int32_t count, int64_t *name) {
  int64_t left[8], longest = 0;
  bool is_left = true;
  for (int32_t i = 0; i < count; ++i)
    left[i] = (int64_t)works[i].left;
  for (int64_t now = 0; is_left; ++now) {
    int32_t top = -1;
    is_left = false;
    for (int32_t i = 0; i < count; ++i) {
      is_left |= left[i] > 0;
      if (left[i] > 0 && works[i].head <= now && (top < 0 || works[i].tail > works[top].tail))
        top = i;
    }
    if (top >= 0 && --left[top] == 0 && now + 1 + works[top].tail > longest) {
      longest = now + 1 + (int64_t)works[top].tail;
      *name = works[top].name;
    }
  }
  return longest;
}

TEST(one_machine_that_may_interrupt_its_work) {
  uint64_t state = 5;
  for (int round = 0; round < 3000; ++round) {
    prem_work works[8];
    int32_t heap[8], worst = -1;
    const int32_t count = planted_between(&state, 1, 7);
    for (int32_t i = 0; i < count; ++i)
      works[i] = (prem_work){.head = planted_between(&state, 0, 25),
                             .left = planted_between(&state, 1, 9),
                             .tail = 8 * planted_between(&state, 0, 5) + i, /* no two alike */
                             .name = i};
    int64_t name = -1;
    const int64_t expected = end_by_instants(works, count, &name);
    ck_assert_int_eq((int64_t)prem_jackson_end(works, count, heap, &worst), expected);
    ck_assert_int_eq(works[worst].name, name);
  }
}

/* ---- against plans -------------------------------------------------------------------------- */

/* Going through all plans of one set takes 15 s, of all others together less than one. */
enum { TINY_SETS = 60, SET_OF_MANY_PLANS = 49 };

GROUP("against plans");

TEST(no_legal_plan_is_shorter) {
  int tight = 0;
  for (uint32_t seed = 0; seed <= TINY_SETS; ++seed) {
    if (seed == SET_OF_MANY_PLANS)
      continue;
    const char *source = tiny_set(seed, false);
    OWNED(prem_schedule) *schedule = schedule_from_text(source);
    int64_t bound_ns = bound_of(schedule), step_ns = schedule->platform.clock_step_ns;
    ck_assert_int_gt(bound_ns, 0);
    if (brute_plan_exists(schedule, bound_ns - step_ns))
      ck_abort_msg("a plan is shorter than %d:\n%s", (int)bound_ns, source);
    tight += brute_plan_exists(schedule, bound_ns);
  }
  ck_assert_int_ge(tight, TINY_SETS / 2);
}

TEST(a_full_channel_is_its_own_bound) {
  enum { TILES = 400, BLOCKS = 12 };
  static planted_tile tiles[TILES];
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    int64_t optimum_ns = planted_draw(tiles, TILES, BLOCKS, seed);
    FILE *file = print_begin();
    planted_print(file, tiles, TILES, BLOCKS, seed);
    OWNED(prem_schedule) *schedule = print_end(file);
    ck_assert_int_eq(bound_of(schedule), optimum_ns);
  }
}

/* ---- why there is no plan ------------------------------------------------------------------- */

static bool explain(const char *source, char *line, size_t bytes) {
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_planning planning = {.schedule = schedule, .grid_ns = 1, .policy = "auto", .diag = diag};
  bool proven = prem_planning_explain(&planning, INT64_C(5000000000), NULL);
  ck_assert_int_eq((int)prem_diag_count(diag), proven);
  ck_assert_int_eq(prem_diag_has(diag, 43), proven);
  if (proven)
    prem_problem_format(prem_diag_at(diag, 0), line, bytes);
  return proven;
}

static void assert_explained(const char *words, const char *bad, const char *good) {
  char line[4096] = "";
  ck_assert(explain(bad, line, sizeof line));
  if (!strstr(line, words))
    ck_abort_msg("expected ...%s..., not\n%s", words, line);
  ck_assert(!explain(good, line, sizeof line));
}

/* Beside fetches of other tasks at [8, 10) and [14, 16): a long one, and one that matters not. */
static const char *gaps(int long_ns) {
  const char *fetch = "{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
                      " release_ns = %dL; deadline_ns = %dL; prefetch: { wcet_ns = %dL; }; }";
  return text("version = 1; name = \"t\"; platform: { blocks = 4; }; tasks = ( %s, %s, %s, %s );",
              text(fetch, "long", 0, 0, 20, long_ns), text(fetch, "s", 1, 8, 2, 2),
              text(fetch, "u", 2, 14, 2, 2), text(fetch, "idle", 3, 0, 400, 1));
}

GROUP("why there is no plan");

TEST(no_order_is_left) {
  assert_explained("tasks 'long', 's', 'u' cannot all be in time on 'memory'", gaps(9), gaps(8));
}

static int64_t step_ns,
    looks; /* of a clock that goes on by so much at each look; 0: the real one */

/* The one that the library calls. */
int clock_gettime(clockid_t clock, struct timespec *out) {
  int (*next)(clockid_t, struct timespec *);
  *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
  const int64_t now_ns = ++looks * step_ns;
  if (step_ns == 0)
    return next(clock, out);
  *out = (struct timespec){now_ns / 1000000000, now_ns % 1000000000};
  return 0;
}

static bool explain_by_steps(int64_t of_ns, char *line, size_t bytes) {
  step_ns = of_ns;
  looks = 0;
  const bool is_proven = explain(gaps(9), line, bytes);
  step_ns = 0;
  return is_proven;
}

/* Five seconds: enough for all, for some of what can be left out, and for no proof. */
TEST(a_smaller_set_is_looked_for_in_time) {
  char line[4096] = "";
  ck_assert(explain_by_steps(50000000, line, sizeof line));
  ck_assert_msg(strstr(line, "'s', 'u' cannot") && strstr(line, "on 'memory': every"), "%s", line);
  ck_assert(explain_by_steps(1000000000, line, sizeof line));
  ck_assert_msg(strstr(line, "'u', 'idle' cannot") && strstr(line, "on 'memory', block 0"), "%s",
                line);
  ck_assert(!explain_by_steps(5000000000, line, sizeof line));
}

static const char *fetching(const char *name, int block, int wcet_ns, const char *more) {
  return text("{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1; %s"
              " prefetch: { wcet_ns = %dL; }; }",
              name, block, more, wcet_ns);
}

/* Two of a chain are too late. Without time to leave any out it is the earlier one that is told,
 * and who leads to it, whatever their places in the file. */
TEST(the_first_that_is_too_late_is_told) {
  static const char *const names[] = {"first", "late", "later", "idle"};
  const char *all[] = {
      fetching("first", 0, 50, ""),
      fetching("late", 1, 30, "deadline_ns = 70L; after = ( { task = \"first\"; } );"),
      fetching("later", 2, 10, "deadline_ns = 75L; after = ( { task = \"late\"; } );"),
      fetching("idle", 3, 10, "deadline_ns = 400L;")};
  for (int order = 0; order < 4 * 4 * 4 * 4; ++order) {
    const int at[] = {order % 4, order / 4 % 4, order / 16 % 4, order / 64};
    char line[4096] = "", places[5] = "";
    for (int i = 0; i < 4; ++i)
      places[at[i]] = (char)('0' + i);
    if (strlen(places) < 4)
      continue;
    step_ns = INT64_C(5000000000);
    looks = 0;
    const bool is_proven = explain(text("version = 1; name = \"t\"; platform: { blocks = 4; };"
                                        " tasks = ( %s, %s, %s, %s );",
                                        all[places[0] - '0'], all[places[1] - '0'],
                                        all[places[2] - '0'], all[places[3] - '0']),
                                   line, sizeof line);
    step_ns = 0;
    ck_assert(is_proven);
    const bool in_turn = at[0] < at[1];
    const char *expected =
        text("E043: tasks.late: no time is left even if nothing else runs than '%s', '%s': the"
             " prefetch of tile 0, job 0, cannot start before 50 ns and must start by 40:"
             " infeasible whatever the order",
             names[in_turn ? 0 : 1], names[in_turn ? 1 : 0]);
    ck_assert_msg(strstr(line, expected) != NULL, "%s: expected %s, not %s", places, expected,
                  line);
  }
}

static const char *due(int a_ns, int b_ns) {
  return text("version = 1; name = \"t\"; platform: { blocks = 3; }; tasks = ( %s, %s, %s );",
              task("a", 0, 20, 1, text("deadline_ns = %dL;", a_ns)),
              task("b", 1, 25, 1, text("deadline_ns = %dL;", b_ns)),
              task("other", 2, 25, 1, "deadline_ns = 400L;"));
}

TEST(a_resource_is_asked_for_too_much) {
  assert_explained("'memory' has 44 ns in [0, 44), where tasks 'a', 'b' need 45 of it", due(45, 45),
                   due(46, 46));
}

/* Proven is what is said of the whole set, and nothing else is a proof. */
TEST(a_set_without_a_plan_is_told_as_such) {
  for (int due_ns = 45; due_ns <= 46; ++due_ns) {
    OWNED(prem_schedule) *schedule = schedule_from_text(due(due_ns, due_ns));
    prem_diag *diag = prem_diag_new();
    prem_plan *plan = NULL;
    prem_plan_report report;
    const prem_status status = prem_plan_make_reported(schedule, NULL, NULL, &plan, &report, diag);
    ck_assert_int_eq(status, due_ns == 45 ? PREM_ERR_INFEASIBLE : PREM_OK);
    ck_assert_int_eq(report.verdict, due_ns == 45 ? PREM_PLAN_INFEASIBLE : PREM_PLAN_FEASIBLE);
    prem_plan_free(plan);
    prem_diag_free(diag);
    diag = prem_diag_new();
    ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, &(prem_plan_options){.policy = "no"},
                                             &plan, &report, diag),
                     PREM_ERR_INVALID);
    ck_assert_int_eq(report.verdict, PREM_PLAN_UNKNOWN);
    prem_diag_free(diag);
  }
}

/* No two of them go together; of four times the interval they need three times their time. */
static const char *three_of_four(int deadline_ns) {
  const char *fetch =
      "{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
      " deadline_ns = %dL; prefetch: { wcet_ns = 20L; demand: { memory = 3; }; }; }";
  return text("version = 1; name = \"t\"; platform: { blocks = 3; resources = ("
              " { name = \"memory\"; capacity = 4; } ); }; tasks = ( %s, %s, %s );",
              text(fetch, "a", 0, deadline_ns), text(fetch, "b", 1, deadline_ns),
              text(fetch, "c", 2, deadline_ns));
}

TEST(a_resource_of_several_is_asked_for_too_much) {
  assert_explained("'memory' has 176 ns (4 x 44) in [0, 44), where tasks 'a', 'b', 'c' need 180",
                   three_of_four(44), three_of_four(60));
}

static const char *followed(int deadline_ns) {
  return text(
      "version = 1; name = \"t\"; platform: { blocks = 3; }; tasks = ( %s, %s, %s );",
      task("a", 0, 20, 1, ""),
      task("b", 1, 25, 1, text("deadline_ns = %dL; after = ( { task = \"a\"; } );", deadline_ns)),
      task("other", 2, 25, 1, "deadline_ns = 400L;"));
}

TEST(a_path_leaves_no_time) {
  assert_explained("even if nothing else runs than 'a', 'b': the compute of tile 0, job 0, cannot "
                   "start before 46 ns and must start by 45",
                   followed(46), followed(47));
}

/* Too many to leave out one after the other: those that take part in the proof are kept. The others
 * follow one of these, and are left out all the same. */
TEST(a_path_among_many_tasks) {
  char line[4096] = "";
  ck_assert(
      explain(text("version = 1; name = \"t\"; platform: { blocks = 3; }; tasks = ( %s, %s, %s );",
                   task("a", 0, 20, 1, ""),
                   task("b", 1, 25, 1, "deadline_ns = 46L; after = ( { task = \"a\"; } );"),
                   task("other", 2, 25, 1, "copies = 600; after = ( { task = \"a\"; } );")),
              line, sizeof line));
  if (!strstr(line, "even if nothing else runs than 'a', 'b': "))
    ck_abort_msg("%s", line);
}

static void assert_same_arcs(const prem_apart *found, int64_t found_count,
                             const prem_apart *expected, int64_t expected_count) {
  ck_assert_int_eq(found_count, expected_count);
  for (int64_t a = 0; a < expected_count; ++a) {
    ck_assert_int_eq(found[a].from, expected[a].from);
    ck_assert_int_eq(found[a].to, expected[a].to);
    ck_assert_int_eq(found[a].gap, expected[a].gap);
  }
}

/* Two of three that share arrays, and follow each other. */
static const char *sharing_tasks(bool with_first, bool with_second, bool with_third) {
  const char *form = "{ name = \"%s\"; kernel = \"vector_increment\"; blocks = [ %d ];"
                     " tile = [ 8 ]; arrays: { in = \"%s\"; out = \"%s\"; }; %s"
                     " prefetch: { wcet_ns = 3L; }; compute: { wcet_ns = 5L; };"
                     " writeback: { wcet_ns = 2L; }; }";
  const char *first = text(form, "first", 0, "x", "y", ""),
             *second = text(form, "second", 1, "y", "z",
                            with_first ? "after = ( { task = \"first\"; } );" : ""),
             *third = text(form, "third", 2, "z", "x",
                           with_second ? "after = ( { task = \"second\"; } );" : "");
  const char *array = "{ name = \"%s\"; type = \"f32\"; shape = [ 8 ]; }";
  return text("version = 1; name = \"t\"; platform: { blocks = 3; precedence_ns = 4L; };"
              " arrays = ( %s, %s, %s ); tasks = ( %s %s %s %s %s );",
              text(array, "x"), text(array, "y"), text(array, "z"), with_first ? first : "",
              with_first ? "," : "", with_second ? second : "",
              with_second && with_third ? "," : "", with_third ? third : "");
}

/* A task that is left out is as if the file had none of that name: it ties nobody. */
TESTS(what_is_left_out_ties_nobody, 3) {
  OWNED(prem_schedule) *all = schedule_from_text(sharing_tasks(true, true, true)),
                       *rest = schedule_from_text(sharing_tasks(_i != 0, _i != 1, _i != 2));
  const prem_planning of_all = {.schedule = all, .grid_ns = 1, .policy = "auto"},
                      of_rest = {.schedule = rest, .grid_ns = 1, .policy = "auto"};
  bool left_out[3] = {false};
  left_out[_i] = true;
  const prem_without without = {.tasks = left_out};
  for (int relaxed = 0; relaxed < 2; ++relaxed) {
    prem_rules found, expected;
    ck_assert_int_eq(prem_rules_build(&of_all, relaxed, &without, INT32_MAX, &found), PREM_OK);
    ck_assert_int_eq(prem_rules_build(&of_rest, relaxed, NULL, INT32_MAX, &expected), PREM_OK);
    ck_assert_int_eq(found.node_count, expected.node_count);
    ck_assert_int_gt(expected.wrap_count, 0);
    assert_same_arcs(found.arcs, found.arc_count, expected.arcs, expected.arc_count);
    assert_same_arcs(found.wraps, found.wrap_count, expected.wraps, expected.wrap_count);
    prem_rules_free(&found);
    prem_rules_free(&expected);
  }
}
