/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: what check_cases.txt has no words for, such as machines, lines and counts. */
#include "tests/common/sharing.h"
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

static const char *prefetch_at(int64_t start_ns, int64_t hyperperiod_ns) {
  return file_of(one_block,
                 "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
                 " prefetch: { wcet_ns = 10L; }; }",
                 text("hyperperiod_ns = %lldL; runs = ("
                      " { task = \"a\"; phase = \"prefetch\"; start_ns = %lldL; } );",
                      (long long)hyperperiod_ns, (long long)start_ns));
}

TEST(start_plus_wcet_overflows) {
  int64_t last = PREM_MAX_NS - 10;
  assert_twins(18, "2^62", prefetch_at(last + 1, PREM_MAX_NS), prefetch_at(last, PREM_MAX_NS));
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

static const char *off_grid_array(int start) {
  return file_of("blocks = 1; clock_step_ns = 8L;",
                 "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
                 " prefetch: { wcet_ns = 5L; }; }",
                 text("hyperperiod_ns = 1000L; starts = ( { task = \"a\"; phase = \"prefetch\";"
                      " block = 0; start_ns = [ 0L, %dL ]; } );",
                      start));
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

/* Where `after` stands. */
TEST(warmup_tiles_wait_for_nobody) {
  OWNED(prem_diag) *diag = verdict_on(
      "version = 1; name = \"t\"; platform: { blocks = 2; };\ntasks = (\n"
      "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2; compute: { wcet_ns = 10L; }; },\n"
      "{ name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 2; compute: { wcet_ns = 10L; };\n"
      "  after = ( { task = \"a\"; } ); } );\npolicy: { warmup_tiles = 1; warmup_ns = 50L; };");
  assert_says(diag, 26, "leave policy.warmup_tiles or `after` out");
  ck_assert_int_eq(prem_diag_at(diag, 0)->line, 5);
}

/* No plan: what can never work is said all the same. */
static const char *busy(const char *per, int wcet) {
  return text("version = 1; name = \"t\"; platform: { blocks = 4; resources ="
              " ( { name = \"memory\"; capacity = 1; per = \"%s\"; } ); };"
              "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 4;"
              " period_ns = 100L; prefetch: { wcet_ns = %dL; }; },"
              "{ name = \"b\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; period_ns = 50L;"
              " prefetch: { wcet_ns = 5L; }; } );",
              per, wcet);
}

TEST(more_blocks_than_can_be_resident) {
  prem_machine gpu = {.name = "tiny GPU", .max_blocks = 3};
  judged_on = &gpu;
  assert_refused(42, "4 blocks, but only 3 can be resident together on tiny GPU", busy("block", 5));
  gpu.yields = true;
  assert_legal(busy("block", 5));
  gpu = (prem_machine){.name = "GPU", .max_blocks = 4};
  assert_legal(busy("block", 5));
}

TEST(a_wcet_below_the_cost_of_a_dispatch) {
  prem_machine cpu = {.name = "old PC", .dispatch_ns = 6};
  judged_on = &cpu;
  assert_refused(23, "5 ns is below the 6 ns that starting a phase costs on old PC",
                 busy("block", 6));
  cpu.dispatch_ns = 5;
  assert_legal(busy("block", 6));
}

/* Chains of vector_increment over these tasks; 64 floats are 256 bytes, with 15 of lead 272, a
 * multiple of 128: 384 for the input and as much for the output. */
static const char *vectors(const char *platform, const char *tasks) {
  return text("version = 1; name = \"t\"; platform: { blocks = 4; %s };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
              " { name = \"y\"; type = \"f32\"; shape = [ 64 ]; },"
              " { name = \"z\"; type = \"f32\"; shape = [ 64 ]; } ); tasks = ( %s );",
              platform, tasks);
}

static const char *increment(const char *name, const char *in, const char *out, const char *after) {
  return text("{ name = \"%s\"; kernel = \"vector_increment\"; blocks = 1; tile = [ 64 ];"
              " arrays: { in = \"%s\"; out = \"%s\"; }; %s }",
              name, in, out, *after ? text("after = ( { task = \"%s\"; } );", after) : "");
}

TEST(a_block_needs_more_scratchpad_than_there_is) {
  const char *task = increment("a", "x", "y", "");
  OWNED(prem_schedule) *schedule = schedule_from_text(vectors("buffers = 2;", task));
  int64_t bytes = prem_block_scratch_bytes(schedule, 0);
  ck_assert_int_gt(bytes, 0);
  const char *platform = "buffers = 2; scratch_bytes = %lldL;";
  assert_refused(41,
                 text("block 0 needs %lld bytes of scratchpad for its buffers = 2, above the limit "
                      "of %lld (1 blocks",
                      (long long)bytes, (long long)bytes - 1),
                 vectors(text(platform, (long long)bytes - 1), task));
  assert_legal(vectors(text(platform, (long long)bytes), task));
  prem_machine small = {.name = "small", .scratch_bytes = bytes - 1};
  judged_on = &small;
  assert_refused(41, "above the limit", vectors(text(platform, (long long)bytes), task));
}

/* The reader ends at 70; the next hyperperiod's writeback comes 20 behind its start. */
static const char *one_shot(int hyperperiod, int precedence) {
  return sharing(
      text("precedence_ns = %dL;", precedence), "", "after = ( { task = \"w\"; } );",
      text("plan: { hyperperiod_ns = %dL; runs = ("
           "{ task = \"w\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
           " start_ns = 0L; },"
           "{ task = \"r\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
           " start_ns = 70L; } ); };",
           hyperperiod));
}

/* Two frames in 200; the reader follows the first one. The second one's writeback is at 120. */
static const char *periodic(int reader_start, int precedence) {
  return sharing(
      text("precedence_ns = %dL; resources = ( { name = \"memory\"; capacity = 2; } );",
           precedence),
      "period_ns = 100L;",
      "period_ns = 200L; after = ( { task = \"w\"; instance = \"latest\"; } );",
      text("plan: { hyperperiod_ns = 200L; runs = ("
           "{ task = \"w\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
           " start_ns = 0L; jobs = 2; },"
           "{ task = \"r\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
           " start_ns = %dL; } ); };",
           reader_start));
}

/* Warnings of a plan: how many, and what the first says. */
static int64_t warnings_of(const char *source, char *out, size_t out_bytes) {
  OWNED(prem_diag) *diag = verdict_on(source);
  int64_t count = 0;
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (prem_diag_at(diag, i)->severity == PREM_WARNING && ++count == 1)
      prem_problem_format(prem_diag_at(diag, i), out, out_bytes);
  return count;
}

/* The writer writes from 20 to 30 and from 120 to 130, the reader is at work for 30. */
TEST(who_reads_while_another_one_writes_is_warned) {
  char said[512];
  ck_assert_int_eq(warnings_of(periodic(90, 0), said, sizeof said), 0); /* until 120 */
  ck_assert_int_eq(warnings_of(periodic(30, 0), said, sizeof said), 0);
  ck_assert_int_eq(warnings_of(periodic(130, 0), said, sizeof said), 0);
  for (int start = 91; start < 130; ++start) {
    ck_assert_int_eq(warnings_of(periodic(start, 0), said, sizeof said), 1);
    ck_assert_ptr_nonnull(
        strstr(said, ": warning: tasks.r: job 0 uses array 'y' while job 1 of 'w' writes it: "
                     "neither waits for the other"));
    ck_assert_ptr_nonnull(strstr(said, "give it a deadline_ns of 100 at most"));
  }
  /* into the next hyperperiod, whose first frame is written from 220 on */
  ck_assert_int_eq(warnings_of(periodic(190, 0), said, sizeof said), 0);
  ck_assert_int_eq(warnings_of(periodic(191, 0), said, sizeof said), 1);
  ck_assert_ptr_nonnull(strstr(said, "job 0 uses array 'y' while job 0 of 'w' writes it"));
  /* one-shot tasks end before anything begins again */
  ck_assert_int_eq(warnings_of(one_shot(100, 0), said, sizeof said), 0);
}

TEST(the_machine_may_take_longer) {
  prem_machine gpu = {.name = "far GPU", .precedence_ns = 6};
  judged_on = &gpu;
  assert_twins(40, "precedence_ns = 6 (what telling a successor takes on far GPU) at least",
               periodic(85, 5), periodic(84, 5));
}
