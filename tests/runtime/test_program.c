/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling plans: order, waits, buffers, flags. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

static prem_program *compile(const prem_schedule *schedule) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_program *program = NULL;
  if (prem_program_new(schedule, &program, diag) != PREM_OK)
    abort_with("compile", diag);
  return program;
}

static void assert_waits(const prem_record *record, int32_t prefetch, int32_t compute,
                         int32_t writeback) {
  ck_assert_int_eq(record->wait[PREM_PREFETCH], prefetch);
  ck_assert_int_eq(record->wait[PREM_COMPUTE], compute);
  ck_assert_int_eq(record->wait[PREM_WRITEBACK], writeback);
}

enum { NONE = PREM_NO_WAIT };

TEST(one_live_tile_waits_for_the_one_before) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
      "  prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 7L; }; writeback: { wcet_ns = 3L; }; } "
      ");"
      "plan: { hyperperiod_ns = 30L; runs = ("
      "  { task = \"a\"; phase = \"writeback\"; start_ns = 12L; repeat = 2; step_ns = 15L; },"
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 2; step_ns = 15L; },"
      "  { task = \"a\"; phase = \"compute\"; start_ns = 5L; repeat = 2; step_ns = 15L; } ); };");
  OWNED(prem_program) *program = compile(schedule);
  const prem_block_program *block = &program->blocks[0];
  ck_assert_int_eq(block->memory_count, 4);
  ck_assert_int_eq(block->compute_count, 2);
  ck_assert_int_eq(block->phase_count[PREM_WRITEBACK], 2);
  const prem_phase order[] = {PREM_PREFETCH, PREM_WRITEBACK, PREM_PREFETCH, PREM_WRITEBACK};
  for (int i = 0; i < 4; ++i) {
    ck_assert_int_eq(block->memory[i].phase, order[i]);
    ck_assert_int_eq(block->memory[i].tile, i / 2);
    ck_assert_int_eq(block->memory[i].in_buffer, 0);
  }
  assert_waits(&block->memory[0], NONE, NONE, 0); /* the last one of the hyperperiod before */
  assert_waits(&block->compute[0], 1, NONE, NONE);
  assert_waits(&block->memory[1], NONE, 1, NONE);
  assert_waits(&block->memory[2], NONE, NONE, 1);
  assert_waits(&block->compute[1], 2, NONE, NONE);
  assert_waits(&block->memory[3], NONE, 2, NONE);
  ck_assert_int_eq(block->memory[1].planned_ns, 12);
  ck_assert_int_eq(block->memory[1].planned_end_ns, 15);
  ck_assert(!(block->memory[1].flags & PREM_RECORD_LAST));
  ck_assert(block->memory[3].flags & PREM_RECORD_LAST);
}

/* One tile of `early` is fetched first and computed last; behind it `tiles` of `late`, one after
 * the other in the other buffer. */
static int32_t ahead_of_one_tile(int32_t tiles) {
  char text[2048];
  snprintf(text, sizeof text,
           "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };"
           "tasks = ( { name = \"early\"; kernel = \"none\"; blocks = \"0-0\"; tiles = 1;"
           "  prefetch: { wcet_ns = 1L; }; compute: { wcet_ns = 1L; }; },"
           "  { name = \"late\"; kernel = \"none\"; blocks = \"0-0\"; tiles = %d;"
           "  prefetch: { wcet_ns = 1L; }; compute: { wcet_ns = 1L; }; } );"
           "plan: { hyperperiod_ns = %dL; runs = ("
           "  { task = \"early\"; phase = \"prefetch\"; start_ns = 0L; },"
           "  { task = \"late\"; phase = \"prefetch\"; start_ns = 1L; repeat = %d; step_ns = 2L; },"
           "  { task = \"late\"; phase = \"compute\"; start_ns = 2L; repeat = %d; step_ns = 2L; },"
           "  { task = \"early\"; phase = \"compute\"; start_ns = %dL; } ); };",
           tiles, 2 * tiles + 2, tiles, tiles, 2 * tiles + 1);
  OWNED(prem_schedule) *schedule = checked_schedule(text);
  OWNED(prem_program) *program = compile(schedule);
  const int32_t ahead = prem_block_max_ahead(&program->blocks[0]);
  return ahead;
}

TEST(prefetches_run_ahead_of_a_tile_that_is_computed_late) {
  ck_assert_int_eq(ahead_of_one_tile(1), 2);
  ck_assert_int_eq(ahead_of_one_tile(5), 6);
  ck_assert_int_eq(ahead_of_one_tile(40), 41);
}

TEST(two_buffers_let_the_next_prefetch_run_ahead) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4;"
      "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 40L; };"
      "  writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 4; step_ns = 40L; },"
      "  { task = \"a\"; phase = \"compute\"; start_ns = 10L; repeat = 4; step_ns = 40L; },"
      "  { task = \"a\"; phase = \"writeback\"; start_ns = 50L; repeat = 4; step_ns = 40L; } ); "
      "};");
  OWNED(prem_program) *program = compile(schedule);
  const prem_block_program *block = &program->blocks[0];
  ck_assert(!block->turns);
  ck_assert_int_eq(prem_block_max_ahead(block), 2);
  /* order: PF0 PF1 WB0 PF2 WB1 PF3 WB2 WB3 */
  assert_waits(&block->memory[0], NONE, -1, NONE); /* input buffer 0: tile 2 of the one before */
  assert_waits(&block->memory[1], NONE, 0, NONE);
  assert_waits(&block->memory[3], NONE, 1, NONE);
  assert_waits(&block->memory[5], NONE, 2, NONE);
  assert_waits(&block->compute[0], 1, NONE, -1); /* and output buffer 0 likewise */
  assert_waits(&block->compute[2], 3, NONE, 1);
  assert_waits(&block->memory[7], NONE, 4, NONE);
  for (int i = 0; i < 4; ++i) {
    ck_assert_int_eq(block->compute[i].in_buffer, i % 2);
    ck_assert_int_eq(block->compute[i].out_buffer, i % 2);
  }
}

TEST(warmup_comes_first) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
      "    prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 7L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
      "    prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 7L; }; } );"
      "plan: { hyperperiod_ns = 200L; warmup_tiles = 1; warmup_ns = 100L; runs = ("
      "  { task = \"b\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = "
      "100L; tile = 1; },"
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = "
      "120L; tile = 1; } );"
      "};");
  OWNED(prem_program) *program = compile(schedule);
  const prem_block_program *block = &program->blocks[0];
  const int tasks[] = {0, 1, 1, 0}, tiles[] = {0, 0, 1, 1};
  for (int i = 0; i < 4; ++i) {
    ck_assert_int_eq(block->memory[i].task, tasks[i]);
    ck_assert_int_eq(block->compute[i].task, tasks[i]);
    ck_assert_int_eq(block->memory[i].tile, tiles[i]);
    ck_assert_int_eq(!!(block->memory[i].flags & PREM_SLOT_WARMUP), i < 2);
  }
  ck_assert_int_lt(block->compute[1].planned_ns, 0);
  ck_assert_int_eq(block->memory[2].planned_ns, 100);
  ck_assert_int_eq(block->compute[2].planned_ns, 105); /* the latest */
  ck_assert(block->compute[2].flags & PREM_SLOT_CHAINED);
  ck_assert(!(block->memory[2].flags & PREM_SLOT_CHAINED));
  /* one thread: both tables by time, warm-up included */
  ck_assert(prem_block_memory_first(block, 0, 0));
  ck_assert(!prem_block_memory_first(block, 1, 0));
  ck_assert(!prem_block_memory_first(block, 2, 1));
  ck_assert(prem_block_memory_first(block, 2, 2));
  ck_assert(!prem_block_memory_first(block, 4, 3));
  ck_assert(prem_block_memory_first(block, 3, 4));
}

TEST(joined_halves_are_neighbours) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4;"
      "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
      "  writeback: { wcet_ns = 10L; }; joined: { wcet_ns = 15L; }; } );"
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ]; start_ns = 0L; repeat = 6;"
      "    step_ns = 20L; join: { task = \"a\"; tile = -2; }; } ); };");
  OWNED(prem_program) *program = compile(schedule);
  const prem_block_program *block = &program->blocks[0];
  ck_assert_int_eq(block->memory_count, 8);
  int pairs = 0;
  for (int i = 0; i < 8; ++i) {
    const prem_record *record = &block->memory[i];
    if (!(record->flags & PREM_RECORD_JOIN_NEXT))
      continue;
    ++pairs;
    ck_assert_int_eq(record->phase, PREM_PREFETCH);
    ck_assert_int_eq(record[1].phase, PREM_WRITEBACK);
    ck_assert_int_eq(record[1].tile, record->tile - 2);
    ck_assert_int_eq(record->planned_ns, record[1].planned_ns);
    ck_assert_int_eq(record->planned_end_ns - record->planned_ns, 15);
    ck_assert(record[1].flags & PREM_SLOT_JOINED);
    ck_assert(!(record[1].flags & PREM_RECORD_JOIN_NEXT));
  }
  ck_assert_int_eq(pairs, 2);
}

TEST(precedence_is_ready_to_test) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"t\"; platform: { blocks = 3; guard_ns = 2L; };"
      "tasks = ( { name = \"slow\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 1;"
      "    period_ns = 200L; release_ns = 50L; prefetch: { wcet_ns = 10L; }; },"
      "  { name = \"fast\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; period_ns = 100L;"
      "    compute: { wcet_ns = 10L; };"
      "    after = ( { task = \"slow\"; lag_ns = 1L; instance = \"latest\"; } ); },"
      "  { name = \"twin\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 2; period_ns = 200L;"
      "    compute: { wcet_ns = 10L; }; after = ( { task = \"slow\"; lag_ns = 9L; } ); } );"
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"slow\"; phase = \"prefetch\"; start_ns = 50L; },"
      "  { task = \"fast\"; phase = \"compute\"; start_ns = 30L; jobs = 2; },"
      "  { task = \"twin\"; phase = \"compute\"; start_ns = 80L; repeat = 2; step_ns = 70L; } ); "
      "};");
  OWNED(prem_program) *program = compile(schedule);
  ck_assert_int_eq(program->tasks[0].active_blocks, 1);
  ck_assert_int_eq(program->tasks[1].jobs, 2);
  const prem_dependency *fast = &program->tasks[1].after[0], *twin = &program->tasks[2].after[0];
  ck_assert_int_eq(fast->lag_ns, 2); /* the guard is larger */
  ck_assert_int_eq(twin->lag_ns, 9);
  ck_assert_int_eq(fast->needed_jobs[0], 0); /* the slow job of the hyperperiod before */
  ck_assert_int_eq(fast->needed_jobs[1], 1);
  ck_assert_int_eq(twin->needed_jobs[0], 1);
  const prem_block_program *block = &program->blocks[2];
  const bool after[] = {true, true, true, false}, last[] = {true, false, true, true};
  for (int i = 0; i < 4; ++i) { /* fast, twin 0, fast, twin 1 */
    ck_assert_int_eq(!!(block->compute[i].flags & PREM_RECORD_AFTER), after[i]);
    ck_assert_int_eq(!!(block->compute[i].flags & PREM_RECORD_LAST), last[i]);
  }
  ck_assert_int_eq(prem_block_position(block, 0), -1);
  ck_assert_int_eq(prem_block_position(&program->blocks[1], 0), 1);
  ck_assert_int_eq(prem_job_release_ns(program, 1, 1, 600), 700);
  ck_assert_int_eq(prem_job_release_ns(program, 0, 0, 200), 250);
}

static void assert_uncompiled(const char *text, int code, const char *part) {
  OWNED(prem_schedule) *schedule = schedule_from_text(text);
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_program *program = NULL;
  ck_assert_int_eq(prem_program_new(schedule, &program, diag), PREM_ERR_INVALID);
  ck_assert_ptr_null(program);
  ck_assert(prem_diag_has(diag, code));
  ck_assert_ptr_nonnull(strstr(prem_diag_at(diag, 0)->reason, part));
}

#define TWO_TILES                                                                                  \
  "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };"                             \
  "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 3;"                            \
  "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; } );"

TEST(what_cannot_be_executed_is_refused) {
  assert_uncompiled(
      TWO_TILES
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; chain = [ \"compute\" ]; repeat = 2;"
      "    step_ns = 30L; } ); };",
      28, "tile 2, job 0 of task 'a' is not planned");
  assert_uncompiled(
      TWO_TILES
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; chain = [ \"compute\" ]; repeat = 3;"
      "    step_ns = 30L; tile_per_repeat = 0; } ); };",
      28, "is planned twice");
  assert_uncompiled(TWO_TILES "plan: { hyperperiod_ns = 200L; runs = ("
                              "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 3;"
                              "    step_ns = 10L; },"
                              "  { task = \"a\"; phase = \"compute\"; start_ns = 100L; repeat = 3;"
                              "    step_ns = 30L; } ); };",
                    39, "more than the block's 2 input buffers");
  /* the third prefetch one nanosecond too early */
  assert_uncompiled(TWO_TILES "plan: { hyperperiod_ns = 200L; starts = ("
                              "  { task = \"a\"; phase = \"prefetch\"; block = 0;"
                              "    start_ns = [ 0L, 10L, 29L ]; },"
                              "  { task = \"a\"; phase = \"compute\"; block = 0;"
                              "    start_ns = [ 10L, 30L, 50L ]; } ); };",
                    39, "at 29 ns needs more than the block's 2 input buffers");
  assert_uncompiled(
      TWO_TILES
      "plan: { hyperperiod_ns = 20L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; chain = [ \"compute\" ]; repeat = 3;"
      "    step_ns = 30L; } ); };",
      38, "hyperperiod is 20 ns long");
  assert_uncompiled("version = 1; name = \"t\"; platform: { blocks = 2; };"
                    "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 2;"
                    "    compute: { wcet_ns = 10L; }; },"
                    "  { name = \"b\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                    "    compute: { wcet_ns = 10L; }; after = ( { task = \"a\"; } ); } );"
                    "plan: { hyperperiod_ns = 200L; warmup_tiles = 1; warmup_ns = 50L; runs = ("
                    "  { task = \"a\"; phase = \"compute\"; tile = 1; start_ns = 50L; } ); };",
                    26, "comes after task 'a', but its 1 warm-up tiles");
  assert_uncompiled("version = 1; name = \"t\"; platform: { blocks = 1; };"
                    "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                    "    compute: { wcet_ns = 1L; }; period_ns = 1L; } );"
                    "plan: { hyperperiod_ns = 67108865L; runs = ("
                    "  { task = \"a\"; phase = \"compute\"; start_ns = 0L; } ); };",
                    13, "67108865 jobs in a hyperperiod of 67108865 ns; the limit is 67108864");
  /* Twice as many jobs as the places of its versions were chosen for. */
  assert_uncompiled("version = 1; name = \"t\"; platform: { blocks = 1; };"
                    "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 4 ]; },"
                    "  { name = \"m\"; type = \"f32\"; shape = [ 4 ]; versions = 2; } );"
                    "tasks = ( { name = \"w\"; kernel = \"blend\"; blocks = 1; tile = [ 4 ];"
                    "    arrays: { a = \"m\"; b = \"x\"; out = \"m\"; }; period_ns = 100L;"
                    "    prefetch: { wcet_ns = 1L; }; compute: { wcet_ns = 1L; };"
                    "    writeback: { wcet_ns = 1L; }; } );"
                    "plan: { hyperperiod_ns = 200L; runs = ( { task = \"w\"; phase = \"prefetch\";"
                    "  chain = [ \"compute\", \"writeback\" ]; start_ns = 0L; jobs = 2;"
                    "  job_step_ns = 100L; } ); };",
                    21,
                    "is 200 ns, in which task 'w', which uses a state array, has another number");
}

/* There is job 0 alone; a plan in memory may say anything. */
TEST(jobs_that_a_task_has_not_are_refused) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      TWO_TILES
      "plan: { hyperperiod_ns = 200L; runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; chain = [ \"compute\" ]; repeat = 3;"
      "    step_ns = 30L; } ); };");
  for (int32_t job = -1; job <= 1; ++job) {
    OWNED(prem_diag) *diag = prem_diag_new();
    OWNED(prem_program) *program = NULL;
    schedule->plan->affine[0].job = job;
    ck_assert_int_eq(prem_program_new(schedule, &program, diag) == PREM_OK, job == 0);
    if (job) {
      ck_assert_int_eq(prem_diag_at(diag, 0)->code, 28);
      ck_assert_ptr_nonnull(
          strstr(prem_diag_at(diag, 0)->reason,
                 text("tile 0, job %d of task 'a' does not belong to this block", job)));
    }
  }
}

/* Starts from 0 to 70 ns; of a warm-up tile none counts. */
TESTS(starts_may_lie_a_hyperperiod_apart, 4) {
  const char *plan =
      "plan: { hyperperiod_ns = %dL; %s runs = ("
      "  { task = \"a\"; phase = \"prefetch\"; start_ns = %dL; chain = [ \"compute\" ];"
      "    repeat = %d; step_ns = 30L; tile = %d; } ); };";
  const int hyperperiod_ns = 69 + _i % 2;
  const bool warms_up = _i >= 2;
  OWNED(prem_schedule) *schedule = schedule_from_text(text(
      "%s%s", TWO_TILES,
      warms_up ? text(plan, hyperperiod_ns - 30, "warmup_tiles = 1; warmup_ns = 100L;", 100, 2, 1)
               : text(plan, hyperperiod_ns, "", 0, 3, 0)));
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_program) *program = NULL;
  prem_program_new(schedule, &program, diag);
  ck_assert_int_eq(prem_diag_has(diag, 38), _i % 2 == 0);
  if (_i == 0)
    ck_assert_str_eq(prem_diag_at(diag, 0)->reason,
                     "block 0: its starts lie 70 ns apart, the hyperperiod is 69 ns long: a job "
                     "that outlives the next one's start cannot be executed");
}

/* ---- the buffers of random plans, hyperperiod after hyperperiod ----------------------------- */

enum { HYPERPERIODS = 12, MAX_TILES = 8 };

typedef struct random_plan {
  int32_t tiles, buffers;
  int64_t hyperperiod_ns;
  int64_t start_ns[PREM_PHASE_COUNT][MAX_TILES], length_ns[PREM_PHASE_COUNT];
} random_plan;

static uint32_t random_state;

static int64_t draw(int64_t below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (int64_t)(random_state >> 8) % below;
}

/* Does [start, start + length) meet the busy part of a unit that repeats every hyperperiod? */
static bool is_taken(const uint8_t *busy, int64_t hyperperiod_ns, int64_t start, int64_t length) {
  for (int64_t t = start; t < start + length; ++t)
    if (busy[t % hyperperiod_ns])
      return true;
  return false;
}

static void take(uint8_t *use, int64_t hyperperiod_ns, int64_t start, int64_t end) {
  for (int64_t t = start; t < end; ++t)
    ++use[t % hyperperiod_ns];
}

static bool exceeds(const uint8_t *use, int64_t hyperperiod_ns, int32_t limit) {
  for (int64_t t = 0; t < hyperperiod_ns; ++t)
    if (use[t] > limit)
      return true;
  return false;
}

/* Tiles at random, kept where units and buffers have room round the hyperperiod. Prefetches and
 * computes only: computes may then reach into the next hyperperiod, where they hold buffers. */
static bool draw_plan(random_plan *plan) {
  uint8_t memory[400] = {0}, compute[400] = {0}, input[400] = {0};
  plan->buffers = 2 + (int32_t)draw(2);
  plan->hyperperiod_ns = 60 + draw(60);
  plan->length_ns[PREM_PREFETCH] = 1 + draw(10);
  plan->length_ns[PREM_COMPUTE] = 5 + draw(30);
  plan->tiles = 0;
  int64_t h = plan->hyperperiod_ns, pf = plan->length_ns[0], c = plan->length_ns[1], after = 0;
  for (int tries = 0; tries < 300 && plan->tiles < MAX_TILES; ++tries) {
    int64_t start = after + draw(h), begin = start + pf + draw(20);
    uint8_t trial[400];
    memcpy(trial, input, sizeof trial);
    take(trial, h, start, begin + c);
    if (start >= h || begin >= h || begin + c - start > h || is_taken(memory, h, start, pf) ||
        is_taken(compute, h, begin, c) || exceeds(trial, h, plan->buffers))
      continue;
    memcpy(input, trial, sizeof input);
    take(memory, h, start, start + pf);
    take(compute, h, begin, begin + c);
    plan->start_ns[PREM_PREFETCH][plan->tiles] = start;
    plan->start_ns[PREM_COMPUTE][plan->tiles++] = begin;
    after = start;
  }
  return plan->tiles > 0;
}

static void print_starts(char *out, size_t bytes, const int64_t *starts, int32_t count) {
  size_t used = 0;
  for (int32_t i = 0; i < count; ++i)
    used +=
        (size_t)snprintf(out + used, bytes - used, "%s%lldL", i ? ", " : "", (long long)starts[i]);
}

static prem_schedule *schedule_of(const random_plan *plan) {
  char text[2048], prefetch[256], compute[256];
  print_starts(prefetch, sizeof prefetch, plan->start_ns[PREM_PREFETCH], plan->tiles);
  print_starts(compute, sizeof compute, plan->start_ns[PREM_COMPUTE], plan->tiles);
  snprintf(text, sizeof text,
           "version = 1; name = \"t\"; platform: { blocks = 1; buffers = %d; };"
           "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = %d; period_ns = %lldL;"
           "  prefetch: { wcet_ns = %lldL; }; compute: { wcet_ns = %lldL; }; } );"
           "plan: { hyperperiod_ns = %lldL; starts = ("
           "  { task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ %s ]; },"
           "  { task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ %s ]; } ); };",
           plan->buffers, plan->tiles, (long long)plan->hyperperiod_ns,
           (long long)plan->length_ns[0], (long long)plan->length_ns[1],
           (long long)plan->hyperperiod_ns, prefetch, compute);
  return checked_schedule(text);
}

/* In every hyperperiod: the buffer's last user is awaited, and the plan's times meet every wait. */
static bool assert_buffers(const prem_program *program, int32_t buffers) {
  const prem_block_program *block = &program->blocks[0];
  uint8_t in[PREM_MAX_BUFFERS];
  int64_t last_user[PREM_MAX_BUFFERS]; /* its compute's number, from 1 */
  for (int i = 0; i < PREM_MAX_BUFFERS; ++i) {
    in[i] = (uint8_t)i;
    last_user[i] = 0;
  }
  int32_t count = block->compute_count;
  for (int64_t h = 0; h < HYPERPERIODS; ++h) {
    for (int32_t i = 0; i < block->memory_count; ++i) {
      const prem_record *prefetch = &block->memory[i];
      int32_t c = 0;
      while (block->compute[c].tile != prefetch->tile)
        ++c;
      ck_assert_int_lt(prefetch->in_buffer, buffers);
      ck_assert_int_eq(block->compute[c].in_buffer, prefetch->in_buffer);
      uint8_t buffer = in[prefetch->in_buffer];
      int64_t needed = h * count + prefetch->wait[PREM_COMPUTE];
      if (prefetch->wait[PREM_COMPUTE] == PREM_NO_WAIT || needed < 0)
        needed = 0;
      ck_assert_int_ge(needed, last_user[buffer]);
      if (needed > 0) {
        int64_t user = needed - 1, of = user / count;
        ck_assert_int_le(block->compute[user % count].planned_end_ns + of * program->hyperperiod_ns,
                         prefetch->planned_ns + h * program->hyperperiod_ns);
      }
      last_user[buffer] = h * count + c + 1;
    }
    prem_turn_buffers(block->in_turn, in);
  }
  return block->turns;
}

TEST(buffers_are_free_when_they_are_taken) {
  int plans = 0, turning = 0;
  for (random_state = 1; plans < 150;) {
    random_plan plan;
    if (!draw_plan(&plan))
      continue;
    ++plans;
    OWNED(prem_schedule) *schedule = schedule_of(&plan);
    OWNED(prem_program) *program = compile(schedule);
    turning += assert_buffers(program, plan.buffers);
  }
  ck_assert_int_gt(turning, 5); /* the generator reaches the case that needs them */
  ck_assert_int_lt(turning, plans);
}
