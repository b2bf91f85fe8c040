/* SPDX-License-Identifier: Apache-2.0 */
/* `after` with per = "block": what is refused, what the tables wait for, what plans leave between
 * jobs, and that outputs are right whatever blocks do. */
/* ctest: threads */
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* Two tasks on four blocks, rows of 8 x 16 in tiles of `tile`; the second one reads what the first
 * one writes. */
static const char *pair(const char *first, const char *second, const char *after) {
  return text("version = 1; name = \"pair\";"
              "platform: { blocks = 4; buffers = 1; guard_ns = 20L; precedence_ns = 5000L;"
              "  resources = ( { name = \"memory\"; capacity = 4; } ); };"
              "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 128 ]; fill = \"random\"; } );"
              "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; %s"
              "    arrays: { in = \"x\"; out = \"new\"; };"
              "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
              "    writeback: { wcet_ns = 100L; }; },"
              "  { name = \"b\"; kernel = \"vector_increment\"; %s"
              "    arrays: { in = \"a.out\"; out = \"new\"; };"
              "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
              "    writeback: { wcet_ns = 100L; };"
              "    after = ( { task = \"a\"; %s } ); } );",
              first, second, after);
}

static const char *same = "blocks = \"0-3\"; tile = [ 16 ];";

static prem_diag *bound_with(const char *source, prem_schedule **schedule) {
  prem_diag *diag = prem_diag_new();
  if (prem_schedule_load_text("pair.cfg", source, schedule, diag) == PREM_OK)
    prem_schedule_bind(*schedule, prem_registry_builtin(), diag);
  return diag;
}

static void assert_says(const prem_diag *diag, int code, const char *fragment) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    if (prem_diag_at(diag, i)->code == code && strstr(prem_diag_at(diag, i)->reason, fragment))
      return;
  print_problems(diag);
  ck_abort_msg("expected E%03d: ...%s...", code, fragment);
}

static void assert_bind_says(int code, const char *fragment, const char *source) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = bound_with(source, &schedule);
  assert_says(diag, code, fragment);
}

TEST(other_blocks_are_refused) {
  assert_bind_says(46,
                   "tile 0 on block 1 reads elements of array 'a.out' that task 'a' writes on "
                   "another block",
                   pair(same, "blocks = [ 1, 0, 2, 3 ]; tile = [ 16 ];", "per = \"block\";"));
}

/* Eight tiles of 16 on four blocks, and four of 32: tile 0 of 32 needs tiles 0 and 1. */
TEST(other_tiles_are_refused) {
  assert_bind_says(46, "tile 0 on block 0",
                   pair(same, "blocks = \"0-3\"; tile = [ 32 ];", "per = \"block\";"));
}

/* Two rounds of 64 elements in tiles of 16 beside one of 128 on one block: covered by several. */
TEST(several_tiles_may_cover_one) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = bound_with(
      pair("blocks = \"0\"; tile = [ 16 ];", "blocks = \"0\"; tile = [ 128 ];", "per = \"block\";"),
      &schedule);
  ck_assert_uint_eq(prem_diag_errors(diag), 0);
  ck_assert(prem_tasks_are_by_block(schedule, 0, 1));
  ck_assert(prem_tasks_are_by_block(schedule, 1, 0));
}

/* The second task's output is the first one's input, or the other way round. */
TEST(writing_what_the_other_uses_is_refused) {
  assert_bind_says(46, "it writes array 'x', which task 'a' uses: leave per = \"block\" out",
                   text("version = 1; name = \"pair\"; platform: { blocks = 4; };"
                        "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 128 ]; },"
                        "  { name = \"y\"; type = \"f32\"; shape = [ 128 ]; } );"
                        "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; %s"
                        "    arrays: { in = \"x\"; out = \"new\"; }; },"
                        "  { name = \"b\"; kernel = \"vector_increment\"; %s"
                        "    arrays: { in = \"y\"; out = \"x\"; };"
                        "    after = ( { task = \"a\"; per = \"block\"; } ); } );",
                        same, same));
}

/* Tiles of a task of nothing but times are nobody's input; blocks that the other has not are. */
TEST(times_alone_and_blocks_of_one_s_own) {
  OWNED(prem_schedule) *schedule = NULL;
  prem_diag *diag =
      bound_with("version = 1; name = \"times\"; platform: { blocks = 2; };"
                 "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
                 "    compute: { wcet_ns = 5L; }; },"
                 "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 2;"
                 "    compute: { wcet_ns = 5L; }; after = ( { task = \"a\"; per = \"block\"; } );"
                 "  } );",
                 &schedule);
  ck_assert_uint_eq(prem_diag_errors(diag), 0);
  prem_diag_free(diag);
  assert_bind_says(
      46, "tile 0 on block 1",
      pair("blocks = [ 0 ]; tile = [ 16 ];", "blocks = [ 1 ]; tile = [ 16 ];", "per = \"block\";"));
}

/* On either side. */
TESTS(a_compatible_interval_has_no_tiles_to_wait_for, 2) {
  static const char walk[] = "kernel = \"walk\"; args: { walkers = 16; steps = 2; };"
                             "arrays: { vector = \"%s\"; out = \"new\"; };",
                    increment[] = "kernel = \"vector_increment\";"
                                  "arrays: { in = \"%s\"; out = \"new\"; };";
  char first[200], second[200];
  snprintf(first, sizeof first, _i == 0 ? walk : increment, "x");
  snprintf(second, sizeof second, _i == 0 ? increment : walk, "a.out");
  assert_bind_says(46, "which a compatible interval's are not: leave it out",
                   text("version = 1; name = \"pair\"; platform: { blocks = 1;"
                        "  resources = ( { name = \"memory\"; capacity = 1; } ); };"
                        "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 16 ]; } );"
                        "tasks = ( { name = \"a\"; blocks = [ 0 ]; tile = [ 16 ]; %s },"
                        "  { name = \"b\"; blocks = [ 0 ]; tile = [ 16 ]; %s"
                        "    after = ( { task = \"a\"; per = \"block\"; } ); } );",
                        first, second));
}

TEST(no_lag_and_no_latest) {
  assert_bind_says(26, "leave lag_ns out", pair(same, same, "per = \"block\"; lag_ns = 5L;"));
  assert_bind_says(26, "leave instance = \"latest\" out",
                   pair(same, same, "per = \"block\"; instance = \"latest\";"));
}

/* Two blocks write a half each, one of them reads the whole; along each dimension in turn. */
TESTS(half_of_a_tile_is_not_enough, 8) {
  static const int shape[] = {2, 4, 6, 16};
  int half[4];
  for (int d = 0; d < 4; ++d)
    half[d] = shape[d] / (d == _i % 4 ? 2 : 1);
  const int *read = _i < 4 ? shape : half;
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = bound_with(
      text("version = 1; name = \"pair\"; platform: { blocks = 2; };"
           "arrays = ( { name = \"x\"; type = \"c64\"; shape = [ 2, 4, 6, 16 ];"
           "    fill = \"random\"; } );"
           "tasks = ( { name = \"a\"; kernel = \"kcf_multiply\"; blocks = [ 0, 1 ];"
           "    tile = [ %d, %d, %d, %d ]; arrays: { a = \"x\"; b = \"x\"; out = \"new\"; };"
           "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
           "    writeback: { wcet_ns = 100L; }; },"
           "  { name = \"b\"; kernel = \"kcf_multiply\"; blocks = [ 0, 1 ];"
           "    tile = [ %d, %d, %d, %d ]; arrays: { a = \"a.out\"; b = \"x\"; out = \"new\"; };"
           "    prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
           "    writeback: { wcet_ns = 100L; };"
           "    after = ( { task = \"a\"; per = \"block\"; } ); } );",
           half[0], half[1], half[2], half[3], read[0], read[1], read[2], read[3]),
      &schedule);
  if (_i < 4)
    assert_says(diag, 46,
                "tile 0 on block 0 reads elements of array 'a.out' that task 'a' writes on another "
                "block");
  else
    ck_assert_uint_eq(prem_diag_errors(diag), 0);
}

static prem_schedule *prepared(const char *source) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  if (prem_schedule_load_text("pair.cfg", source, &schedule, diag) != PREM_OK ||
      prem_prepare(schedule, prem_registry_builtin(), NULL, NULL, diag) != PREM_OK)
    abort_with(source, diag);
  return schedule;
}

/* Eight tiles on four blocks: the second task's first prefetch of a block waits for the first one's
 * two writebacks there, and no message is asked for. */
TEST(tables_wait_on_their_block) {
  OWNED(prem_schedule) *schedule = prepared(pair(same, same, "per = \"block\";"));
  OWNED(prem_program) *program = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, NULL), PREM_OK);
  ck_assert_int_eq(program->tasks[1].edge_count, 1);
  ck_assert(program->tasks[1].after[0].by_block);
  ck_assert_int_eq(program->tasks[0].edge_count, 1); /* the writer waits for its reader */
  ck_assert(program->tasks[0].after[0].by_block);
  for (int32_t b = 0; b < 4; ++b) {
    const prem_block_program *block = &program->blocks[b];
    int32_t met = 0;
    for (int32_t i = 0; i < block->memory_count; ++i) {
      const prem_record *record = &block->memory[i];
      ck_assert_int_eq(record->flags & PREM_RECORD_AFTER, 0);
      if (record->task != 1 || record->phase != PREM_PREFETCH)
        continue;
      ck_assert_int_ge(record->wait[PREM_WRITEBACK], 2);
      ++met;
    }
    ck_assert_int_eq(met, 2);
  }
}

static int64_t first_start(const prem_schedule *schedule, const char *task) {
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 1);
  int64_t first_ns = INT64_MAX;
  const int32_t index = prem_schedule_find_task(schedule, task);
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].task == index && trace->records[i].start_ns < first_ns)
      first_ns = trace->records[i].start_ns;
  return first_ns;
}

/* By job a plan leaves 5000 ns for the message, by block the guard. */
TEST(a_plan_leaves_the_guard) {
  OWNED(prem_schedule) *by_job = prepared(pair(same, same, ""));
  OWNED(prem_schedule) *by_block = prepared(pair(same, same, "per = \"block\";"));
  ck_assert_int_eq(first_start(by_job, "b") - first_start(by_block, "b"), 5000 - 20);
}

/* NULL: nothing. */
static void check_says(const char *fragment, const char *source) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = bound_with(source, &schedule);
  prem_check(schedule, NULL, diag);
  if (fragment)
    assert_says(diag, 40, fragment);
  else if (prem_diag_errors(diag) > 0)
    abort_with(source, diag);
}

/* The checker judges the gap as it is by block: the guard, and nothing else. */
TEST(the_checker_wants_the_guard) {
  const char *plan = "plan: { hyperperiod_ns = 2000L; runs = ("
                     "  { task = \"a\"; phase = \"prefetch\"; count = 4; start_ns = 0L; },"
                     "  { task = \"a\"; phase = \"compute\"; count = 4; start_ns = 120L; },"
                     "  { task = \"a\"; phase = \"writeback\"; count = 4; start_ns = 190L; },"
                     "  { task = \"b\"; phase = \"prefetch\"; count = 4; start_ns = %dL; },"
                     "  { task = \"b\"; phase = \"compute\"; count = 4; start_ns = 450L; },"
                     "  { task = \"b\"; phase = \"writeback\"; count = 4; start_ns = 520L; } ); };";
  const char *one = "blocks = \"0-3\"; tile = [ 32 ];";
  const char *by_block = pair(one, one, "per = \"block\";");
  check_says("the gap must be guard_ns = 20 at least", text("%s%s", by_block, text(plan, 309)));
  check_says(NULL, text("%s%s", by_block, text(plan, 310)));
  check_says("the gap must be precedence_ns = 5000",
             text("%s%s", pair(one, one, ""), text(plan, 310)));
}

/* Threads that go as they like: each block keeps its own order, or the outputs are wrong. */
TEST(outputs_are_right_on_the_cpu) {
  OWNED(prem_schedule) *schedule = prepared(pair(same, same, "per = \"block\";"));
  OWNED(prem_session) *session = open_on("cpu", schedule);
  static const prem_mode modes[] = {PREM_MODE_FREE, PREM_MODE_LOCK, PREM_MODE_TT, PREM_MODE_LEGACY};
  for (size_t m = 0; m < sizeof modes / sizeof modes[0]; ++m) {
    OWNED(prem_trace) *trace = run_in(session, schedule, modes[m], 200);
    prem_verdict verdict;
    ck_assert_int_eq(prem_session_verify(session, &verdict), PREM_OK);
    ck_assert_msg(verdict.ok, "mode %s", prem_mode_name(modes[m]));
  }
}
