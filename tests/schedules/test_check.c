/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: coverage, clock grid, instants and order, each with its legal twin one step away. */
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

static const char one_block[] = "blocks = 1;";
static const char tile_a[] =
    "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
    " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 5L; }; }";

static const char *three_starts(int prefetch, int compute, int writeback) {
  return text("hyperperiod_ns = 100L; runs = ("
              "{ task = \"a\"; phase = \"prefetch\"; start_ns = %dL; },\n"
              "{ task = \"a\"; phase = \"compute\"; start_ns = %dL; },\n"
              "{ task = \"a\"; phase = \"writeback\"; start_ns = %dL; } );",
              prefetch, compute, writeback);
}

/* ---- order inside a tile -------------------------------------------------------------------- */

GROUP("order inside a tile");

TEST(compute_starts_before_its_prefetch_ends) {
  assert_twins(34,
               "compute of 'a' tile 0 on block 0 starts at 9, 1 ns before its prefetch ends at 10",
               file_of(one_block, tile_a, three_starts(0, 9, 30)),
               file_of(one_block, tile_a, three_starts(0, 10, 30)));
}

TEST(writeback_starts_before_its_compute_ends) {
  assert_twins(
      35, "writeback of 'a' tile 0 on block 0 starts at 29, 1 ns before its compute ends at 30",
      file_of(one_block, tile_a, three_starts(0, 10, 29)),
      file_of(one_block, tile_a, three_starts(0, 10, 30)));
}

static const char *copy(int writeback) {
  return file_of(one_block,
                 "{ name = \"copy\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                 " prefetch: { wcet_ns = 10L; }; writeback: { wcet_ns = 5L; }; }",
                 text("hyperperiod_ns = 100L; runs = ("
                      "{ task = \"copy\"; phase = \"prefetch\"; start_ns = 0L; },"
                      "{ task = \"copy\"; phase = \"writeback\"; start_ns = %dL; } );",
                      writeback));
}

TEST(writeback_without_compute_starts_before_its_prefetch_ends) {
  assert_twins(35, "writeback of 'copy' tile 0 on block 0 starts at 9, 1 ns before its prefetch",
               copy(9), copy(10));
}

TEST(every_phase_may_be_chained) {
  assert_legal(file_of("blocks = 1; guard_ns = 7L;", tile_a,
                       "hyperperiod_ns = 35L; runs = ( { task = \"a\"; phase = \"prefetch\";"
                       " chain = [ \"compute\", \"writeback\" ]; start_ns = 0L; } );"));
}

/* ---- the plan as a whole -------------------------------------------------------------------- */

static const char *prefetch_at(int64_t start_ns, int64_t hyperperiod_ns) {
  return file_of(one_block,
                 "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                 " prefetch: { wcet_ns = 10L; }; }",
                 text("hyperperiod_ns = %lldL; runs = ("
                      " { task = \"a\"; phase = \"prefetch\"; start_ns = %lldL; } );",
                      (long long)hyperperiod_ns, (long long)start_ns));
}

GROUP("the plan as a whole");

TEST(start_plus_wcet_overflows) {
  int64_t last = PREM_MAX_NS - 10;
  assert_twins(18, "2^62", prefetch_at(last + 1, PREM_MAX_NS), prefetch_at(last, PREM_MAX_NS));
}

TEST(phases_end_after_a_one_shot_plan) {
  assert_twins(21, "1 phases end after the plan's hyperperiod_ns of 34", prefetch_at(25, 34),
               prefetch_at(25, 35));
}

static const char *two_ends(int hyperperiod_ns) {
  return file_of("blocks = 2;",
                 "{ name = \"long\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                 " compute: { wcet_ns = 300L; }; },"
                 "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
                 " compute: { wcet_ns = 50L; }; }",
                 text("hyperperiod_ns = %dL; runs = ("
                      " { task = \"long\"; phase = \"compute\"; start_ns = 0L; },"
                      " { task = \"b\"; phase = \"compute\"; start_ns = 200L; } );",
                      hyperperiod_ns));
}

/* The first phase of all, too. */
TEST(the_phase_that_ends_last_is_named) {
  assert_twins(21, "the last is compute of 'long' tile 0 on block 0, which ends at 300",
               two_ends(100), two_ends(300));
}

static const char *two_periods(int hyperperiod_ns) {
  return file_of(one_block,
                 "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 40L;"
                 " compute: { wcet_ns = 5L; }; },"
                 "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 60L;"
                 " compute: { wcet_ns = 5L; }; }",
                 text("hyperperiod_ns = %dL; runs = ("
                      "{ task = \"a\"; phase = \"compute\"; start_ns = 0L; jobs = 3; },"
                      "{ task = \"b\"; phase = \"compute\"; start_ns = 10L; jobs = 2; } );",
                      hyperperiod_ns));
}

TEST(hyperperiod_differs_from_the_periods) {
  assert_twins(21, "the hyperperiod is 119 ns, but the periods of the tasks make 120",
               two_periods(119), two_periods(120));
}

static const char *on_grid(int start, int block_step, int step) {
  return file_of(
      "blocks = 2; clock_step_ns = 8L; resources = ( { name = \"memory\"; capacity = 2; } );",
      "{ name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 4;"
      " prefetch: { wcet_ns = 5L; }; }",
      text("hyperperiod_ns = 1000L; runs = ( { task = \"a\"; phase = \"prefetch\";"
           " count = 2; repeat = 2; start_ns = %dL; block_step_ns = %dL;"
           " step_ns = %dL; } );",
           start, block_step, step));
}

TEST(starts_and_steps_off_the_grid) {
  assert_twins(22, "17 is not on the clock grid of 8 ns: the nearest instants are 16 and 24",
               on_grid(17, 8, 16), on_grid(16, 8, 16));
  assert_twins(22, "9 is not on the clock grid", on_grid(16, 9, 16), on_grid(16, 8, 16));
  assert_twins(22, "23 is not on the clock grid", on_grid(16, 8, 23), on_grid(16, 8, 24));
}

static const char *jobs_on_grid(int period) {
  return file_of(
      "blocks = 1; clock_step_ns = 8L;",
      text("{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = %dL;"
           " compute: { wcet_ns = 5L; }; },"
           "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = %dL;"
           " compute: { wcet_ns = 5L; }; }",
           period, 2 * period),
      text("hyperperiod_ns = %dL; runs = ("
           "{ task = \"a\"; phase = \"compute\"; start_ns = 0L; jobs = 2; },"
           "{ task = \"b\"; phase = \"compute\"; start_ns = 16L; } );",
           2 * period));
}

TEST(a_step_from_job_to_job_off_the_grid) {
  assert_twins(22, "36 is not on the clock grid", jobs_on_grid(36), jobs_on_grid(40));
}

static const char *off_grid_array(int start) {
  return file_of("blocks = 1; clock_step_ns = 8L;",
                 "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
                 " prefetch: { wcet_ns = 5L; }; }",
                 text("hyperperiod_ns = 1000L; starts = ( { task = \"a\"; phase = \"prefetch\";"
                      " block = 0; start_ns = [ 0L, %dL ]; } );",
                      start));
}

TEST(an_array_of_starts_off_the_grid) {
  assert_twins(22, "39 is not on the clock grid", off_grid_array(39), off_grid_array(40));
}

TEST(the_machine_has_a_coarser_clock) {
  prem_machine h200 = {.name = "H200", .clock_step_ns = 32};
  judged_on = &h200;
  assert_twins(22, "8 is not on the clock grid of 32 ns", prefetch_at(8, 100),
               prefetch_at(32, 100));
}

/* No file can have it, for it names its tasks; who makes plans can. */
TESTS(a_plan_of_a_task_that_is_not_there, 4) {
  for (int list = 0; list < 2; ++list) {
    OWNED(prem_schedule) *schedule =
        schedule_from_text(list ? off_grid_array(40) : jobs_on_grid(40));
    const int32_t tasks[] = {INT32_MIN, -1, schedule->task_count, INT32_MAX};
    OWNED(prem_diag) *diag = prem_diag_new();
    ck_assert_int_eq(prem_check(schedule, NULL, diag), PREM_OK);
    int32_t *task = list ? &schedule->plan->starts[0].task : &schedule->plan->affine[0].task;
    *task = tasks[_i];
    ck_assert_int_eq(prem_check(schedule, NULL, diag), PREM_ERR_ARGUMENT);
    ck_assert_uint_eq(prem_diag_errors(diag), 0);
  }
}

TEST(phases_without_a_profile_are_not_planned) {
  assert_refused(
      16, "run `ttprem profile`",
      "version = 1; name = \"t\"; platform: { blocks = 1; };"
      "arrays = ( { name = \"v\"; type = \"f32\"; shape = [ 64 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 64 ];"
      " arrays: { in = \"v\"; out = \"new\"; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"prefetch\";"
      " chain = [ \"compute\", \"writeback\" ]; start_ns = 0L; } ); };");
}

/* ---- coverage ------------------------------------------------------------------------------- */

static const char four_tiles[] = "{ name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 8;"
                                 " prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 5L; }; }";
static const char two_blocks[] =
    "blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } );";

static const char *rounds(int repeat, int count, const char *more) {
  return file_of(two_blocks, four_tiles,
                 text("hyperperiod_ns = 1000L; runs = ( { task = \"a\"; phase = \"prefetch\";"
                      " chain = [ \"compute\" ]; count = %d; repeat = %d; start_ns = 0L;"
                      " step_ns = 20L; }%s );",
                      count, repeat, more));
}

GROUP("coverage");

TEST(a_tile_is_missing) {
  assert_twins(28, "tiles 6, 7 of task 'a' are missing", rounds(3, 2, ""), rounds(4, 2, ""));
  assert_refused(28, "tiles 2, 3, 4 and 3 more of task 'a' are missing", rounds(1, 2, ""));
}

TEST(a_task_is_missing) {
  assert_refused(28, "tiles 0, 1, 2 and 5 more of task 'a' are missing",
                 file_of(two_blocks, four_tiles, "hyperperiod_ns = 1000L;"));
}

TEST(a_tile_is_there_twice) {
  const char *again = ", { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ];"
                      " start_ns = 500L; tile = %d; tile_per_repeat = 2; }";
  assert_twins(28,
               "prefetch of 'a' tile 6 on block 0 is in the plan twice: it starts at 60 and at 500",
               rounds(4, 2, text(again, 6)),
               rounds(3, 2,
                      text("%s, { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ];"
                           " start_ns = 500L; first_block = 1; tile = 7; }",
                           text(again, 6))));
}

TEST(a_tile_is_on_the_wrong_block) {
  assert_refused(28, "prefetch of 'a' tile 7 on block 0: this tile belongs on block 1",
                 rounds(3, 2,
                        ", { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ];"
                        " start_ns = 500L; tile = 7; }"));
}

TEST(a_block_is_missing) {
  const char *second = ", { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ];"
                       " first_block = 1; repeat = 4; start_ns = 0L; step_ns = 20L; }";
  assert_only(30, "starts for 1 blocks of task 'a' where 2 exist: none on block 1",
              rounds(4, 1, ""));
  assert_legal(rounds(4, 1, second));
}

TEST(a_phase_is_missing) {
  const char *runs = "hyperperiod_ns = 1000L; runs = ("
                     "{ task = \"a\"; phase = \"prefetch\"; count = 2; repeat = 4; start_ns = 0L;"
                     " step_ns = 20L; },"
                     "{ task = \"a\"; phase = \"compute\"; count = 2; repeat = %d; start_ns = 5L;"
                     " step_ns = 20L; } );";
  assert_twins(29, "tiles 6, 7 of task 'a' have no compute in the plan",
               file_of(two_blocks, four_tiles, text(runs, 3)),
               file_of(two_blocks, four_tiles, text(runs, 4)));
}

TEST(a_phase_that_the_task_does_not_have) {
  assert_refused(29, "task 'a' has no writeback, but the plan starts one",
                 rounds(4, 2, ", { task = \"a\"; phase = \"writeback\"; start_ns = 500L; }"));
}

static const char *warmed_up(int first_tile, int start) {
  return file_of(two_blocks, four_tiles,
                 text("hyperperiod_ns = 1000L; warmup_tiles = 1; warmup_ns = 100L; runs = ("
                      " { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; count = 2;"
                      " repeat = 4; start_ns = %dL; step_ns = 20L; tile = %d; } );",
                      start, first_tile));
}

TEST(a_warmup_tile_has_a_start) {
  assert_twins(28, "prefetch of 'a' tile 0 on block 0 is in the plan twice: it is a warm-up tile",
               warmed_up(0, 100), warmed_up(2, 100));
}

/* ---- releases and deadlines ----------------------------------------------------------------- */

static const char *periodic(int start, int deadline, int publish) {
  return file_of(
      one_block,
      text("{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;"
           " release_ns = 10L; %s %s compute: { wcet_ns = 5L; }; },"
           "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 200L;"
           " compute: { wcet_ns = 1L; }; }",
           deadline ? text("deadline_ns = %dL;", deadline) : "",
           publish ? text("publish_ns = %dL;", publish) : ""),
      text("hyperperiod_ns = 200L; runs = ("
           "{ task = \"a\"; phase = \"compute\"; start_ns = %dL; jobs = 2; },"
           "{ task = \"b\"; phase = \"compute\"; start_ns = 50L; } );",
           start));
}

GROUP("releases and deadlines");

TEST(a_phase_starts_before_its_release) {
  assert_twins(32,
               "compute of 'a' job 1 tile 0 on block 0 starts at 109, before its job is "
               "released at 110",
               periodic(9, 0, 0), periodic(10, 0, 0));
}

TEST(an_offset_is_not_below_the_period) {
  assert_twins(32,
               "compute of 'a' job 0 tile 0 on block 0 starts at 100, 100 ns after the start of "
               "its period: the offset must be below the period of 100 ns",
               periodic(100, 0, 0), periodic(99, 0, 0));
}

TEST(a_job_ends_after_its_deadline) {
  assert_twins(33,
               "compute of 'a' job 0 tile 0 on block 0 ends at 26, 1 ns after its job's deadline "
               "at 25",
               periodic(21, 15, 0), periodic(20, 15, 0));
}

TEST(a_job_ends_after_it_is_published) {
  assert_twins(33,
               "compute of 'a' job 0 tile 0 on block 0 ends at 26, 1 ns after its job's publish_ns "
               "at 25 (release 10 + 15); 2 of 2 jobs are late, none by more",
               periodic(21, 0, 15), periodic(20, 0, 15));
}

TEST(a_job_that_is_not_in_the_hyperperiod) {
  const char *tasks = "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1; period_ns = 100L;"
                      " compute: { wcet_ns = 5L; }; }";
  assert_only(32, "job 1 of task 'a' is not in the hyperperiod, which has 1 of its jobs",
              file_of(one_block, tasks,
                      "hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"compute\";"
                      " start_ns = 0L; jobs = 2; job_step_ns = 50L; } );"));
  assert_legal(file_of(one_block, tasks,
                       "hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"compute\";"
                       " start_ns = 0L; } );"));
}

static const char *backwards(int start) {
  return file_of(two_blocks,
                 "{ name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 2;"
                 " prefetch: { wcet_ns = 5L; }; }",
                 text("hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"prefetch\";"
                      " count = 2; start_ns = %dL; block_step_ns = -10L; } );",
                      start));
}

TEST(a_phase_starts_before_the_hyperperiod) {
  assert_twins(32, "prefetch of 'a' tile 1 on block 1 starts at -1, before the hyperperiod",
               backwards(9), backwards(10));
}

static const char *together(int block_step) {
  return file_of("blocks = 2; resources = ( { name = \"memory\"; capacity = 2; } );",
                 "{ name = \"a\"; kernel = \"none\"; blocks = 2; together = true; tiles = 4;"
                 " prefetch: { wcet_ns = 5L; }; }",
                 text("hyperperiod_ns = 100L; runs = ( { task = \"a\"; phase = \"prefetch\";"
                      " count = 2; repeat = 2; step_ns = 20L; start_ns = 0L;"
                      " block_step_ns = %dL; } );",
                      block_step));
}

TEST(blocks_of_a_round_do_not_start_together) {
  assert_twins(32, "tile 3 on block 1 starts at 21, but the first tile of its round at 20",
               together(1), together(0));
}

/* ---- precedence ----------------------------------------------------------------------------- */

static const char *in_order(int start, int lag, int guard) {
  return file_of(
      text("blocks = 2; guard_ns = %dL;", guard),
      text("{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
           " compute: { wcet_ns = 10L; }; },"
           "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
           " compute: { wcet_ns = 10L; }; after = ( { task = \"a\"; lag_ns = %dL; } ); }",
           lag),
      text("hyperperiod_ns = 100L; runs = ("
           "{ task = \"a\"; phase = \"compute\"; start_ns = 0L; },"
           "{ task = \"b\"; phase = \"compute\"; start_ns = %dL; } );",
           start));
}

TEST(a_job_starts_before_its_predecessor_ends) {
  assert_twins(35,
               "compute of 'b' tile 0 on block 1 starts at 9, 1 ns before its predecessor task's "
               "job ends at 10",
               in_order(9, 0, 0), in_order(10, 0, 0));
}

TEST(a_job_starts_within_the_lag_or_the_guard) {
  assert_twins(40, "3 ns after the job of 'a' that it follows: the gap must be lag_ns = 4",
               in_order(13, 4, 2), in_order(14, 4, 2));
  assert_twins(40, "the gap must be guard_ns = 5", in_order(14, 4, 5), in_order(15, 4, 5));
}

static const char *told_in_order(int start, int lag, int precedence) {
  return file_of(
      text("blocks = 2; guard_ns = 2L; precedence_ns = %dL;", precedence),
      text("{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
           " prefetch: { wcet_ns = 10L; }; },"
           "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
           " prefetch: { wcet_ns = 4L; }; compute: { wcet_ns = 10L; };"
           " after = ( { task = \"a\"; lag_ns = %dL; } ); }",
           lag),
      text("hyperperiod_ns = 100L; runs = ("
           "{ task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 2; step_ns = 12L; },"
           "{ task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = %dL; } );",
           start));
}

TEST(a_job_starts_before_it_can_be_told) {
  assert_twins(40,
               "prefetch of 'b' tile 0 on block 1 starts at 28, 6 ns after the job of 'a' that it "
               "follows: the gap must be precedence_ns = 7 at least: plan again",
               told_in_order(28, 4, 7), told_in_order(29, 4, 7));
  assert_twins(40, "the gap must be lag_ns = 9 at least", told_in_order(30, 9, 7),
               told_in_order(31, 9, 7));
  prem_machine gpu = {.name = "far GPU", .precedence_ns = 8};
  judged_on = &gpu;
  assert_twins(40,
               "the gap must be precedence_ns = 8 (what telling a successor takes on far GPU) at "
               "least",
               told_in_order(29, 4, 7), told_in_order(30, 4, 7));
  gpu.precedence_ns = 6; /* the platform says more */
  assert_twins(40, "the gap must be precedence_ns = 7 at least", told_in_order(28, 4, 7),
               told_in_order(29, 4, 7));
}

/* b follows the latest job of a released no later than itself: at 0 the one of the hyperperiod
 * before (released at 10, so 60 is the last), which ends in this one. */
static const char *latest(int start) {
  return file_of("blocks = 2;",
                 "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 50L;"
                 " release_ns = 10L; compute: { wcet_ns = 15L; }; },"
                 "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 100L;"
                 " compute: { wcet_ns = 10L; };"
                 " after = ( { task = \"a\"; instance = \"latest\"; } ); }",
                 text("hyperperiod_ns = 100L; runs = ("
                      "{ task = \"a\"; phase = \"compute\"; start_ns = 40L; jobs = 2; },"
                      "{ task = \"b\"; phase = \"compute\"; start_ns = %dL; } );",
                      start));
}

TEST(the_latest_job_is_of_the_hyperperiod_before) {
  assert_twins(35, "starts at 4, 1 ns before its predecessor task's job ends at 5", latest(4),
               latest(5));
}

/* ---- the report ----------------------------------------------------------------------------- */

GROUP("the report");

TEST(all_problems_are_reported_in_one_go) {
  OWNED(prem_diag) *diag = verdict_on(
      file_of("blocks = 2; clock_step_ns = 2L;",
              "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; deadline_ns = 30L;"
              " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
              " writeback: { wcet_ns = 6L; }; },\n"
              "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 2;"
              " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; }",
              "hyperperiod_ns = 70L; runs = (\n"
              "{ task = \"a\"; phase = \"prefetch\"; start_ns = 0L; },\n"
              "{ task = \"a\"; phase = \"compute\"; start_ns = 8L; },\n"
              "{ task = \"a\"; phase = \"writeback\"; start_ns = 30L; },\n"
              "{ task = \"b\"; phase = \"prefetch\"; start_ns = 7L; },\n"
              "{ task = \"b\"; phase = \"compute\"; start_ns = 60L; } );"));
  assert_says(diag, 34, "compute of 'a' tile 0");
  assert_says(diag, 33, "ends at 36, 6 ns after its job's deadline at 30");
  assert_says(diag, 22, "7 is not on the clock grid");
  assert_says(diag, 37,
              "memory: 2 in use in [7, 10), the limit is 1: prefetch of 'a' tile 0 on block "
              "0, prefetch of 'b' tile 0 on block 1");
  assert_says(diag, 28, "tile 1 of task 'b' is missing");
  assert_says(diag, 21, "the last is compute of 'b' tile 0 on block 1, which ends at 80");
  ck_assert_uint_eq(prem_diag_errors(diag), 6);
}

TEST(a_problem_names_its_line_and_key) {
  OWNED(prem_diag) *diag = verdict_on(file_of(one_block, tile_a, three_starts(0, 9, 30)));
  ck_assert_uint_eq(prem_diag_count(diag), 1);
  const prem_problem *problem = prem_diag_at(diag, 0);
  ck_assert_int_eq(problem->line, 8);
  ck_assert_str_eq(problem->key, "plan.runs[1]");
  ck_assert_ptr_nonnull(strstr(problem->file, ".cfg"));
}

TEST(a_plan_wrong_in_every_tile_stays_readable) {
  OWNED(prem_diag) *diag = verdict_on(file_of(
      one_block,
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1000;"
      " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; }",
      "hyperperiod_ns = 100000L; runs = ("
      "{ task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 1000; step_ns = 100L; },"
      "{ task = \"a\"; phase = \"compute\"; start_ns = 9L; repeat = 1000; step_ns = 100L; } );"));
  ck_assert_uint_eq(prem_diag_errors(diag), 1000);
  ck_assert_uint_eq(prem_diag_count(diag), 20);
}

TEST(broken_tasks_are_skipped_and_the_rest_is_judged) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(
      file_of("blocks = 2;",
              "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
              " prefetch: { wcet_ns = -10L; }; },"
              "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; deadline_ns = 9L;"
              " prefetch: { wcet_ns = 10L; }; }",
              "hyperperiod_ns = 100L; runs = ("
              "{ task = \"a\"; phase = \"prefetch\"; start_ns = 3L; },"
              "{ task = \"b\"; phase = \"prefetch\"; start_ns = 0L; } );"),
      diag);
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
  ck_assert_int_eq(prem_check(schedule, NULL, diag), PREM_ERR_INVALID);
  ck_assert_uint_eq(prem_diag_errors(diag), 2);
  assert_says(diag, 33, "prefetch of 'b' tile 0 on block 1 ends at 10");
}
