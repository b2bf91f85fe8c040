/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: time between jobs that share an array, each case with its legal twin. */
#include "tests/common/sharing.h"
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

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

TEST(the_next_hyperperiod_writes_too_early) {
  assert_legal(one_shot(100, 20));
  assert_twins(40,
               "writeback of 'w' tile 0 on block 0 starts at 20, 20 ns after a job of 'r' ends (in "
               "the hyperperiod before), which uses array 'y' as well: the gap must be "
               "precedence_ns = 21 at least: plan again",
               one_shot(100, 21), one_shot(101, 21));
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

TEST(a_writer_is_told_of_the_reader_before_it) {
  assert_twins(40,
               "writeback of 'w' job 1 tile 0 on block 0 starts at 120, 4 ns after a job of 'r' "
               "ends, which uses array 'y' as well: the gap must be precedence_ns = 5 at least",
               periodic(86, 5), periodic(85, 5));
  assert_refused(40, "0 ns after a job of 'r' ends", periodic(90, 5));
  assert_legal(periodic(91, 5)); /* they are at work at the same time: nobody waits */
  assert_legal(periodic(90, 0));
}

TEST(a_reader_is_told_of_a_writer_that_it_does_not_follow) {
  /* the reader follows the frame from 0 on; it is told of the second one, which ends at 130 */
  assert_twins(40, "prefetch of 'r' tile 0 on block 1 starts at 134, 4 ns after a job of 'w' ends",
               periodic(134, 5), periodic(135, 5));
  assert_legal(periodic(129, 5));
}

/* Each reads what the other one writes: `a` is told of `b` twice, first of what it touches first,
 * though its array stands behind the other one. */
TEST(what_is_touched_first_is_said_first) {
  OWNED(prem_diag) *diag = verdict_on(
      "version = 1; name = \"t\"; platform: { blocks = 2; precedence_ns = 60L; };"
      "arrays = ( { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },"
      "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; } );"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
      "    arrays: { in = \"z\"; out = \"y\"; }; prefetch: { wcet_ns = 10L; };"
      "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"vector_increment\"; blocks = [ 1 ]; tile = [ 8 ];"
      "    arrays: { in = \"y\"; out = \"z\"; }; after = ( { task = \"a\"; } );"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 150L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ]; start_ns = "
      "0L; },"
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ]; start_ns = "
      "90L; } ); };");
  ck_assert_uint_eq(prem_diag_errors(diag), 2);
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason,
                               "prefetch of 'a' tile 0 on block 0 starts at 0, 30 ns after a job"));
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 1)->reason,
                               "writeback of 'a' tile 0 on block 0 starts at 20, 50 ns after a"));
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

/* The reader reads the array through both its ports. */
TEST(each_array_that_is_read_meanwhile_is_warned_once) {
  const char *source =
      "version = 1; name = \"t\"; platform: { blocks = 3;"
      "  resources = ( { name = \"memory\"; capacity = 3; } ); };"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8, 8 ]; },"
      "  { name = \"y\"; type = \"f32\"; shape = [ 8, 8 ]; } );"
      "tasks = ( { name = \"w\"; kernel = \"blend\"; blocks = [ 0 ]; period_ns = 100L;"
      "    arrays: { a = \"x\"; b = \"x\"; out = \"y\"; }; tile = [ 8, 8 ];"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; },"
      "  { name = \"r\"; kernel = \"blend\"; blocks = [ 1 ]; period_ns = 100L;"
      "    arrays: { a = \"y\"; b = \"y\"; out = \"new\"; }; tile = [ 8, 8 ];"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"w\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 0L; },"
      "  { task = \"r\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ];"
      "    start_ns = 15L; } ); };";
  char said[512];
  ck_assert_int_eq(warnings_of(source, said, sizeof said), 1);
  ck_assert_ptr_nonnull(strstr(said, "job 0 uses array 'y' while job 0 of 'w' writes it"));
}

/* In one phase the walk writes y and reads z; the other task does it the other way round. */
TEST(the_second_array_of_a_phase_is_warned_too) {
  const char *source =
      "version = 1; name = \"t\"; platform: { blocks = 2;"
      "  resources = ( { name = \"memory\"; capacity = 3; } ); };"
      "arrays = ( { name = \"y\"; type = \"f32\"; shape = [ 64 ]; },"
      "  { name = \"z\"; type = \"f32\"; shape = [ 64 ]; } );"
      "tasks = ( { name = \"w\"; kernel = \"walk\"; blocks = [ 0 ]; period_ns = 100L;"
      "    arrays: { vector = \"z\"; out = \"y\"; }; tile = [ 64 ];"
      "    args: { walkers = 64; steps = 2; }; compute: { wcet_ns = 20L; }; },"
      "  { name = \"r\"; kernel = \"vector_increment\"; blocks = [ 1 ]; period_ns = 100L;"
      "    arrays: { in = \"y\"; out = \"z\"; }; tile = [ 64 ]; after = ( { task = \"w\"; } );"
      "    prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 10L; };"
      "    writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 100L; runs = ("
      "  { task = \"w\"; phase = \"compute\"; start_ns = 0L; },"
      "  { task = \"r\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 30L; },"
      "  { task = \"r\"; phase = \"writeback\"; start_ns = 95L; } ); };";
  char said[512];
  ck_assert_int_eq(warnings_of(source, said, sizeof said), 2);
  ck_assert_ptr_nonnull(strstr(said, "tasks.w: job 0 uses array 'z' while job 0 of 'r' writes it"));
}

TEST(what_after_says_is_said_once) {
  OWNED(prem_diag) *diag = verdict_on(periodic(34, 5));
  assert_says(diag, 40,
              "prefetch of 'r' tile 0 on block 1 starts at 34, 4 ns after the job of 'w'");
  ck_assert_uint_eq(prem_diag_errors(diag), 1);
}

TEST(the_machine_may_take_longer) {
  prem_machine gpu = {.name = "far GPU", .precedence_ns = 6};
  judged_on = &gpu;
  assert_twins(40, "precedence_ns = 6 (what telling a successor takes on far GPU) at least",
               periodic(85, 5), periodic(84, 5));
}

TEST(arrays_that_nobody_writes_tie_nobody) {
  assert_legal(text("version = 1; name = \"t\"; platform: { blocks = 2; precedence_ns = 5L; };"
                    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; } );"
                    "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; copies = 2; blocks = "
                    "1; tile = [ 64 ];"
                    "    arrays: { in = \"x\"; out = \"new\"; }; prefetch: { wcet_ns = 10L; };"
                    "    compute: { wcet_ns = 10L; }; writeback: { wcet_ns = 10L; }; } );"
                    "plan: { hyperperiod_ns = 60L; runs = ("
                    "{ task = \"a.0\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" "
                    "]; start_ns = 0L; },"
                    "{ task = \"a.1\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" "
                    "]; start_ns = 30L; "
                    "} ); };"));
}
