/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: versions of state arrays are whole when they are read, and stay until they were
 * read; each case with its legal twin. */
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

/* Task `w` makes m of m and x on blocks 0 and 1: 10 to fetch, 20 to compute, 10 to store. */
#define PHASES                                                                                     \
  "prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 10L; };"
#define LEARN(BLOCKS, MORE)                                                                        \
  "{ name = \"w\"; kernel = \"blend\"; blocks = [ " BLOCKS " ]; tile = [ 4 ];"                     \
  "  arrays: { a = \"m\"; b = \"x\"; out = \"m\"; }; " PHASES MORE " }"
#define CHAIN(TASK)                                                                                \
  "{ task = \"" TASK "\"; phase = \"prefetch\"; chain = [ \"compute\", \"writeback\" ]; "

static const char *state_file(const char *platform, int versions, const char *tasks,
                              const char *plan) {
  return text("version = 1; name = \"t\"; platform: { blocks = 4; %s"
              "  resources = ( { name = \"memory\"; capacity = 8; } ); };\n"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 8 ]; },"
              "  { name = \"m\"; type = \"f32\"; shape = [ 8 ]; versions = %d; },"
              "  { name = \"y\"; type = \"f32\"; shape = [ 8 ]; },"
              "  { name = \"z\"; type = \"f32\"; shape = [ 8 ]; } );\n"
              "tasks = ( %s );\nplan: { %s };\n",
              platform, versions, tasks, plan);
}

/* ---- a version is whole ---------------------------------------------------------------------- */

/* The second tile of each job stores until 100 + `late`, when the next one begins to fetch. */
static const char *own(int late, int precedence) {
  return state_file(text("precedence_ns = %dL;", precedence), 2, LEARN("0, 1", "period_ns = 100L;"),
                    text("hyperperiod_ns = 100L; runs = ("
                         "  { task = \"w\"; phase = \"prefetch\"; count = 2; start_ns = 0L; "
                         "block_step_ns = 20L; },"
                         "  { task = \"w\"; phase = \"compute\"; count = 2; start_ns = 10L; "
                         "block_step_ns = 20L; },"
                         "  { task = \"w\"; phase = \"writeback\"; count = 2; start_ns = 30L; "
                         "block_step_ns = %dL; }"
                         " );",
                         60 + late));
}

TEST(a_job_reads_what_all_tiles_of_the_last_one_wrote) {
  assert_twins(50,
               "prefetch of 'w' tile 0 on block 0 starts at 0, 1 ns before a job of 'w' ends which "
               "makes the version that it reads of array 'm': plan again",
               own(1, 0), own(0, 0));
  assert_twins(40,
               "prefetch of 'w' tile 0 on block 0 starts at 0, 4 ns after a job of 'w' ends which "
               "makes the version that it reads of array 'm': the gap must be precedence_ns = 5",
               own(-4, 5), own(-5, 5));
}

/* A one-shot job ends at 40. */
static const char *one_shot(int hyperperiod, int precedence) {
  return state_file(
      text("precedence_ns = %dL;", precedence), 2, LEARN("0, 1", ""),
      text("hyperperiod_ns = %dL; runs = ( " CHAIN("w") "count = 2; start_ns = 0L; } );",
           hyperperiod));
}

TEST(the_next_hyperperiod_is_told) {
  assert_legal(one_shot(40, 0));
  assert_twins(40, "4 ns after a job of 'w' ends which makes the version", one_shot(44, 5),
               one_shot(45, 5));
}

/* Its first tile warms up, at no instant; the second one begins 40 after the job before it ended.
 */
TEST(who_begins_with_warm_up_is_not_judged) {
  assert_legal(
      state_file("precedence_ns = 50L;", 2, LEARN("0", ""),
                 "hyperperiod_ns = 80L; warmup_tiles = 1; warmup_ns = 40L; starts = ( " CHAIN(
                     "w") "block = 0; start_ns = [ 40L ]; } );"));
}

/* As above, beside a one-shot task on block 3 that does. */
static const char *beside_warm_up(int late) {
  return state_file(
      "", 2,
      LEARN("0, 1", "period_ns = 100L;") ", { name = \"o\"; kernel = \"none\"; blocks = [ 3 ];"
                                         "  tiles = 2; compute: { wcet_ns = 10L; }; }",
      text("hyperperiod_ns = 100L; warmup_tiles = 1; warmup_ns = 40L; runs = ("
           "  { task = \"w\"; phase = \"prefetch\"; count = 2; start_ns = 0L; "
           "block_step_ns = 20L; },"
           "  { task = \"w\"; phase = \"compute\"; count = 2; start_ns = 10L; "
           "block_step_ns = 20L; },"
           "  { task = \"w\"; phase = \"writeback\"; count = 2; start_ns = 30L; "
           "block_step_ns = %dL; } );"
           "starts = ( { task = \"o\"; phase = \"compute\"; block = 0; start_ns = [ 40L ]; } );",
           60 + late));
}

TEST(others_are_judged_beside_it) {
  assert_twins(50, "prefetch of 'w' tile 0 on block 0 starts at 0, 1 ns before a job of 'w' ends",
               beside_warm_up(1), beside_warm_up(0));
}

/* `b` shows what `w` finds, and ends at 40; `w` from `start` on. */
static const char *before(int start, int precedence) {
  return state_file(
      text("precedence_ns = %dL;", precedence), 2,
      LEARN(
          "0, 1",
          "period_ns = 100L; after = ( { task = \"b\"; } );") ","
                                                              "{ name = \"b\"; kernel = "
                                                              "\"vector_increment\"; blocks = [ 2, "
                                                              "3 ]; tile = [ 4 ];"
                                                              "  arrays: { in = \"m\"; out = "
                                                              "\"y\"; }; period_ns = 100L; " PHASES
                                                              " }",
      text("hyperperiod_ns = 100L; runs = ( " CHAIN("b") "count = 2; start_ns = 0L; }," CHAIN(
               "w") "count = 2; start_ns = %dL; } );",
           start));
}

TEST(who_comes_before_reads_the_last_version) {
  assert_legal(before(60, 0)); /* ends at 100 */
  assert_twins(50, "prefetch of 'b' tile 0 on block 2 starts at 0, 1 ns before a job of 'w' ends",
               before(61, 0), before(60, 0));
  assert_twins(40, "prefetch of 'b' tile 0 on block 2 starts at 0, 4 ns after a job of 'w' ends",
               before(56, 5), before(55, 5));
}

/* ---- and stays ------------------------------------------------------------------------------- */

/* `w` stores from 30 + 50 j to 40 + 50 j; `s` reads the version of job 0 from 45 on and ends at
 * `end`. */
static const char *slow(int end, int versions, int precedence) {
  return state_file(
      text("precedence_ns = %dL;", precedence), versions,
      LEARN("0, 1",
            "period_ns = 50L;") ","
                                "{ name = \"s\"; kernel = \"vector_increment\"; blocks = [ 2, 3 ]; "
                                "tile = [ 4 ];"
                                "  arrays: { in = \"m\"; out = \"y\"; }; period_ns = 200L;"
                                "  after = ( { task = \"w\"; instance = \"latest\"; } ); " PHASES
                                " }",
      text("hyperperiod_ns = 200L; runs = ( " CHAIN(
               "w") "count = 2; start_ns = 0L; jobs = 4; },"
                    "  { task = \"s\"; phase = \"prefetch\"; count = 2; start_ns = 45L; },"
                    "  { task = \"s\"; phase = \"compute\"; count = 2; start_ns = 55L; },"
                    "  { task = \"s\"; phase = \"writeback\"; count = 2; start_ns = %dL; } );",
           end - 10));
}

TEST(a_version_stays_until_it_was_read) {
  assert_legal(slow(130, 2, 0)); /* job 2 stores at 130 in its place */
  assert_twins(50,
               "writeback of 'w' job 2 tile 0 on block 0 starts at 130, 1 ns before a job of 's' "
               "ends which reads the version that it overwrites of array 'm': plan again, or give "
               "the array more `versions`",
               slow(131, 2, 0), slow(131, 3, 0));
  assert_twins(40,
               "writeback of 'w' job 2 tile 0 on block 0 starts at 130, 4 ns after a job of 's' "
               "ends which reads the version that it overwrites",
               slow(126, 2, 5), slow(125, 2, 5));
  assert_legal(slow(180, 3, 0)); /* job 3 stores at 180 */
  assert_refused(50, "job 3 tile 0 on block 0 starts at 180, 1 ns before", slow(181, 3, 0));
}

/* `y` is made of m, and `c` reads it until `end`; `a` stores it from 80 to 90, every 100. */
static const char *made_of(int end, int precedence) {
  return state_file(
      text("precedence_ns = %dL;", precedence), 2,
      text("%s, { name = \"a\"; kernel = \"vector_increment\"; blocks = [ 2 ]; tile = [ 8 ];"
           "  arrays: { in = \"m\"; out = \"y\"; }; period_ns = 100L;"
           "  after = ( { task = \"w\"; } ); %s },"
           "{ name = \"c\"; kernel = \"vector_increment\"; blocks = [ 3 ]; tile = [ 8 ];"
           "  arrays: { in = \"y\"; out = \"z\"; }; period_ns = 100L;"
           "  after = ( { task = \"a\"; } ); prefetch: { wcet_ns = 1L; };"
           "  compute: { wcet_ns = 1L; }; writeback: { wcet_ns = %dL; }; }",
           LEARN("0, 1", "period_ns = 100L;"), PHASES, end - 99),
      "hyperperiod_ns = 100L; runs = ( " CHAIN("w") "count = 2; start_ns = 0L; }," CHAIN(
          "a") "start_ns = 50L; }, " CHAIN("c") "start_ns = 97L; } );");
}

TEST(what_is_made_of_a_state_is_kept_as_well) {
  assert_legal(made_of(180, 0));
  assert_twins(
      50, "1 ns before a job of 'c' ends which reads the version that it overwrites of array 'y'",
      made_of(181, 0), made_of(180, 0));
  assert_twins(
      40, "4 ns after a job of 'c' ends which reads the version that it overwrites of array 'y'",
      made_of(176, 5), made_of(175, 5));
}

/* ---- no state -------------------------------------------------------------------------------- */

TEST(a_state_array_has_a_writer) {
  assert_refused(
      49, "no task writes a version of state array 'm'",
      state_file("", 2,
                 "{ name = \"r\"; kernel = \"vector_increment\"; blocks = [ 0 ]; tile = [ 8 ];"
                 "  arrays: { in = \"m\"; out = \"y\"; }; " PHASES " }",
                 "hyperperiod_ns = 100L; runs = ( " CHAIN("r") "start_ns = 0L; } );"));
}
