/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks whose file leaves their blocks open: where they are dealt, how near to the best that is,
 * and that a plan keeps it. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

#define HEAD "version = 1; name = \"open\"; platform: { blocks = %d; buffers = %d; }; tasks = ( "
#define TIMES                                                                                      \
  "prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 10L; };"

/* "0,1,2" */
static const char *blocks_of(const prem_schedule *schedule, const char *name) {
  const prem_task *task = &schedule->tasks[prem_schedule_find_task(schedule, name)];
  const char *all = "";
  for (int32_t b = 0; b < task->block_count; ++b)
    all = text("%s%s%d", all, b ? "," : "", task->blocks[b]);
  return all;
}

static const char *task_text(const char *name, int tiles, const char *more) {
  return text("{ name = \"%s\"; kernel = \"none\"; tiles = %d; %s " TIMES " }", name, tiles, more);
}

/* ---- where they go --------------------------------------------------------------------------- */

TEST(who_runs_beside_others_has_blocks_of_his_own) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(text(HEAD "%s, %s, %s );", 8, 1, task_text("a", 3, ""),
                              task_text("b", 3, ""), task_text("c", 2, "")));
  ck_assert_str_eq(blocks_of(schedule, "a"), "0,1,2");
  ck_assert_str_eq(blocks_of(schedule, "b"), "3,4,5");
  ck_assert_str_eq(blocks_of(schedule, "c"), "6,7");
}

TEST(many_tiles_take_all_blocks_and_few_rounds_no_more_than_they_need) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(text(HEAD "%s );", 4, 1, task_text("a", 100, "")));
  ck_assert_str_eq(blocks_of(schedule, "a"), "0,1,2,3");
  OWNED(prem_schedule) *ten = schedule_from_text(text(HEAD "%s );", 8, 1, task_text("a", 10, "")));
  ck_assert_str_eq(blocks_of(ten, "a"), "0,1,2,3,4"); /* two rounds, on five as on eight */
}

TEST(a_chain_stays_where_it_is_and_a_fork_does_not) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(text(HEAD "%s, %s, %s, %s );", 6, 1, task_text("first", 2, ""),
                              task_text("next", 2, "after = ( { task = \"first\"; } );"),
                              task_text("left", 2, "after = ( { task = \"next\"; } );"),
                              task_text("right", 2, "after = ( { task = \"next\"; } );")));
  ck_assert_str_eq(blocks_of(schedule, "next"), blocks_of(schedule, "first"));
  ck_assert_str_eq(blocks_of(schedule, "left"), blocks_of(schedule, "first"));
  ck_assert_str_ne(blocks_of(schedule, "right"), blocks_of(schedule, "first"));
}

TEST(block_by_block_follows_on_the_same_blocks) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text(HEAD "%s, %s );", 6, 1, task_text("a", 5, "blocks = [ 4, 2, 3 ];"),
           task_text("b", 5, "after = ( { task = \"a\"; per = \"block\"; } );")));
  ck_assert_str_eq(blocks_of(schedule, "b"), "4,2,3");
}

TEST(the_longest_way_comes_first) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text(HEAD "%s, %s, %s );", 2, 1, task_text("short", 1, ""), task_text("long", 1, ""),
           task_text("end", 9, "after = ( { task = \"long\"; } );")));
  ck_assert_str_eq(blocks_of(schedule, "long"), "0");
  ck_assert_str_eq(blocks_of(schedule, "short"), "1");
}

/* Times that add up to more than there is: who comes first is known all the same. */
TEST(predecessors_come_first_however_long_all_takes) {
#define LONG "compute: { wcet_ns = 4611686018427387000L; };"
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text(HEAD "{ name = \"b\"; kernel = \"none\"; tiles = 9; after = ( { task = \"a\"; per = "
                "\"block\"; } ); " LONG " }, { name = \"a\"; kernel = \"none\"; tiles = 9; " LONG
                " } );",
           3, 1));
  ck_assert_str_eq(blocks_of(schedule, "b"), blocks_of(schedule, "a"));
}

TEST(given_blocks_are_busy_for_others) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(text(HEAD "%s, %s );", 3, 1, task_text("given", 9, "blocks = \"0-1\";"),
                              task_text("open", 1, "")));
  ck_assert_str_eq(blocks_of(schedule, "open"), "2");
}

#define LOAD                                                                                       \
  "{ name = \"load\"; kernel = \"none\"; class = \"best_effort\"; blocks = \"%s\"; tiles = 4; "    \
  "prefetch: { wcet_ns = 5L; }; }"

TEST(blocks_of_best_effort_are_not_dealt) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(text(HEAD LOAD ", %s );", 4, 1, "0-1", task_text("open", 8, "")));
  ck_assert_str_eq(blocks_of(schedule, "open"), "2,3");
}

/* ---- what is refused ------------------------------------------------------------------------- */

static const char *first_problem(const char *source) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(source, diag);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  const prem_problem *problem = prem_diag_at(diag, 0);
  return text("E%03d: %s: %s", problem->code, problem->key, problem->reason);
}

TEST(without_a_block_left_nothing_is_dealt) {
  ck_assert_str_eq(
      first_problem(text(HEAD LOAD ", %s );", 2, 1, "0-1", task_text("open", 8, ""))),
      "E027: blocks: no block is left for task 'open': best-effort tasks have all 2; leave "
      "one to the critical tasks");
}

/* A second dealing that finds none leaves them where they are. */
TEST(what_cannot_be_dealt_anew_stays) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text(HEAD "%s, %s );", 2, 1, task_text("a", 2, ""), task_text("b", 2, "blocks = [ 0, 1 ];")));
  bool changed = true;
  schedule->tasks[1].best_effort = true; /* from now on it has all blocks for itself */
  ck_assert_int_eq(prem_schedule_deal(schedule, &changed, diag), PREM_ERR_INVALID);
  ck_assert(!changed);
  ck_assert(!schedule->tasks[0].broken);
  ck_assert_str_eq(blocks_of(schedule, "a"), "0,1");
}

TEST(best_effort_names_its_blocks) {
  ck_assert_str_eq(
      first_problem(text(HEAD "%s );", 2, 1, task_text("load", 1, "class = \"best_effort\";"))),
      "E003: tasks.load.blocks: missing; a best-effort task has blocks of its own: give a number, "
      "[ 0, 1 ] or \"0-1\"");
}

/* Nobody is dealt anything beside a task in error, and nobody judges who has no block. */
TEST(errors_elsewhere_are_told_alone) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(
      text(HEAD "%s, %s );", 2, 1, task_text("a", 2, "perod_ns = 4L;"), task_text("b", 2, "")),
      diag);
  ck_assert_int_eq(prem_check(schedule, NULL, diag), PREM_OK); /* nothing more */
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_int_eq(prem_diag_at(diag, 0)->code, 5);
}

/* ---- a plan keeps it ------------------------------------------------------------------------- */

#define PLAN                                                                                       \
  " plan: { hyperperiod_ns = 100L; %s runs = ( { task = \"a\"; phase = \"prefetch\"; chain = [ "   \
  "\"compute\", \"writeback\" ]; start_ns = 0L; } ); };"

TEST(a_plan_says_where_they_are) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text(text(HEAD "%s );" PLAN, 4, 1, task_text("a", 1, ""),
                              "blocks = ( { task = \"a\"; blocks = \"3\"; } );"));
  ck_assert_str_eq(blocks_of(schedule, "a"), "3");
  assert_checked(schedule);
}

TEST(a_plan_without_them_is_refused) {
  static const struct refused {
    const char *task, *plan, *reason;
  } cases[] = {
      {"", "",
       "E025: plan.runs[0].task: 'a' leaves its blocks open, and plan.blocks does not name them; "
       "take the plan out and plan anew"},
      {"blocks = 1;", "blocks = ( { task = \"a\"; blocks = \"3\"; } );",
       "E025: plan.blocks[0].task: 'a' has its blocks in `tasks`; leave it out"},
      {"", "blocks = ( { task = \"a\"; blocks = \"3\"; }, { task = \"a\"; blocks = \"3\"; } );",
       "E025: plan.blocks[1].task: 'a' has its blocks further up; leave it out"},
      {"", "blocks = ( { task = \"a\"; blocks = \"4\"; } );",
       "E027: plan.blocks[0].blocks: block 4 does not exist; the platform has blocks 0 to 3"},
      {"", "blocks = ( { task = \"a\"; blocks = \"3,3\"; } );",
       "E027: plan.blocks[0].blocks: block 3 stands here twice"},
      {"", "blocks = ( { task = \"a\"; blocks = \"x\"; } );",
       "E008: plan.blocks[0].blocks: \"x\" names no blocks; write ranges such as \"0-3,8\""},
      {"", "blocks = ( { task = \"b\"; blocks = \"3\"; }, { task = \"a\"; blocks = \"3\"; } );",
       "E024: plan.blocks[0].task: there is no task 'b' in `tasks`"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    OWNED(prem_diag) *diag = prem_diag_new();
    OWNED(prem_schedule) *schedule = schedule_from_text_lenient(
        text(HEAD "%s );" PLAN, 4, 1, task_text("a", 1, cases[i].task), cases[i].plan), diag);
    ck_assert_uint_ge(prem_diag_errors(diag), 1);
    const prem_problem *problem = prem_diag_at(diag, 0);
    ck_assert_str_eq(text("E%03d: %s: %s", problem->code, problem->key, problem->reason),
                     cases[i].reason);
  }
}

TEST(what_is_saved_is_read_again) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text(HEAD "%s, %s, %s );", 5, 2, task_text("a", 3, ""), task_text("b", 7, ""),
           task_text("c", 4, "after = ( { task = \"a\"; } );")));
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, diag), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  char path[] = "/tmp/ttprem-test-XXXXXX.cfg";
  close(mkstemps(path, 4));
  ck_assert_int_eq(prem_schedule_save(schedule, path, diag), PREM_OK);
  OWNED(prem_schedule) *again = NULL;
  ck_assert_int_eq(prem_schedule_load(path, NULL, &again, diag), PREM_OK);
  unlink(path);
  ck_assert_int_eq(prem_schedule_bind(again, prem_registry_builtin(), diag), PREM_OK);
  assert_checked(again);
  for (const char *name = "a"; *name; name = *name == 'a' ? "b" : *name == 'b' ? "c" : "")
    ck_assert_str_eq(blocks_of(again, name), blocks_of(schedule, name));
}

/* ---- beside all that could be dealt ------------------------------------------------------------
 */

enum { TASKS = 3, BLOCKS = 3, SETS = 60 };

static uint32_t state;

static int below(int count) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (uint32_t)count);
}

/* With `given[t]` a set of blocks for each task; 0: open. */
static int64_t makespan_of(uint32_t seed, const int given[TASKS]) {
  state = seed * 2654435761u + 1;
  const char *all = "";
  for (int t = 0; t < TASKS; ++t) {
    const int tiles = 1 + below(4), length = 1 + below(30), before = t && below(2) ? below(t) : -1;
    const char *blocks = "";
    for (int b = 0; b < BLOCKS; ++b)
      if (given[t] >> b & 1)
        blocks = text("%s%s%d", blocks, *blocks ? ", " : "", b);
    all = text(
        "%s%s{ name = \"t%d\"; kernel = \"none\"; tiles = %d; %s %s prefetch: { wcet_ns = %dL; }; "
        "compute: { wcet_ns = %dL; }; }",
        all, t ? ", " : "", t, tiles, *blocks ? text("blocks = [ %s ];", blocks) : "",
        before < 0 ? "" : text("after = ( { task = \"t%d\"; } );", before), 1 + length / 3, length);
  }
  OWNED(prem_schedule) *schedule = schedule_from_text(text(HEAD "%s );", BLOCKS, 1, all));
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_plan) *plan = NULL;
  prem_plan_report report;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, NULL, &plan, &report, diag), PREM_OK);
  return report.makespan_ns;
}

/* No dealing is much better; on the whole it is the best. */
TEST(dealt_is_near_the_best_of_all) {
  static const int open[TASKS];
  double sum = 0, worst = 0;
  int best_sets = 0;
  for (uint32_t seed = 1; seed <= SETS; ++seed) {
    const int64_t dealt_ns = makespan_of(seed, open);
    int64_t best_ns = INT64_MAX;
    for (int a = 1; a < 1 << BLOCKS; ++a)
      for (int b = 1; b < 1 << BLOCKS; ++b)
        for (int c = 1; c < 1 << BLOCKS; ++c) {
          const int64_t ns = makespan_of(seed, (const int[TASKS]){a, b, c});
          best_ns = ns < best_ns ? ns : best_ns;
        }
    const double ratio = (double)dealt_ns / (double)best_ns;
    sum += ratio;
    worst = ratio > worst ? ratio : worst;
    best_sets += ratio <= 1;
  }
  printf("%d of %d sets as short as the best of %d dealings; %.3f of it on the average, %.3f at "
         "most\n",
         best_sets, SETS, 343, sum / SETS, worst);
  fflush(stdout);
  ck_assert(best_sets >= SETS / 3 && sum / SETS < 1.1 && worst < 1.7);
}
