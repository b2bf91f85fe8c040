/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: what runs, arrays of starts, chains and joins stand for, and the way back. */
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* ---- expanding ------------------------------------------------------------------------------ */

typedef struct slots {
  prem_slot *at;
  int64_t count;
} slots;

static void free_slots(slots *s) {
  free(s->at);
}

/* Freed at the end of its scope. */
#define SLOTS __attribute__((cleanup(free_slots))) slots

static slots expand(const prem_schedule *schedule, const prem_plan *plan) {
  slots s;
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_plan_expand(schedule, plan, &s.at, &s.count, diag) != PREM_OK)
    abort_with("expand", diag);
  return s;
}

static const char two_tasks[] =
    "{ name = \"a\"; kernel = \"none\"; blocks = [ 2, 0 ]; tiles = 5; period_ns = 500L;"
    "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; writeback: { wcet_ns = 5L; };"
    "  joined: { wcet_ns = 12L; }; },\n"
    "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3; period_ns = 1000L;"
    "  prefetch: { wcet_ns = 7L; }; writeback: { wcet_ns = 3L; }; }";

static prem_schedule *planned_text(const char *plan) {
  return schedule_from_text(text("version = 1; name = \"t\"; platform: { blocks = 3; };\n"
                                 "tasks = ( %s );\nplan: { hyperperiod_ns = 1000L; %s };",
                                 two_tasks, plan));
}

static void assert_slot(const prem_slot *slot, int32_t task, int32_t job, int32_t tile,
                        int32_t block, prem_phase phase, int64_t start_ns, int64_t length_ns) {
  ck_assert_int_eq(slot->task, task);
  ck_assert_int_eq(slot->job, job);
  ck_assert_int_eq(slot->tile, tile);
  ck_assert_int_eq(slot->block, block);
  ck_assert_uint_eq(slot->phase, phase);
  ck_assert_int_eq(slot->planned_ns, start_ns);
  ck_assert_int_eq(slot->length_ns, length_ns);
}

GROUP("expanding");

TEST(a_run_is_affine_in_blocks_repeats_and_jobs) {
  OWNED(prem_schedule) *schedule = planned_text(
      "runs = ( { task = \"a\"; phase = \"compute\"; count = 2; start_ns = 3L; block_step_ns = 4L;"
      " repeat = 2; step_ns = 50L; jobs = 2; } );");
  SLOTS s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 8);
  for (int64_t i = 0; i < s.count; ++i) {
    int32_t tile = s.at[i].tile, job = s.at[i].job;
    int32_t j = tile % 2, r = tile / 2;
    assert_slot(&s.at[i], 0, job, tile, j ? 0 : 2, PREM_COMPUTE, 3 + 4 * j + 50 * r + 500 * job,
                20);
    ck_assert_uint_eq(s.at[i].flags, 0);
    ck_assert_int_eq(s.at[i].head_ns, s.at[i].planned_ns);
    ck_assert_int_eq(s.at[i].place, 0);
  }
}

TEST(tiles_that_do_not_exist_are_left_out) {
  OWNED(prem_schedule) *schedule = planned_text(
      "runs = ( { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; repeat = 1000000; step_ns = "
      "1L;"
      " tile = -4; }, { task = \"a\"; phase = \"compute\"; start_ns = 100L; repeat = 9;"
      " step_ns = 1L; tile = 8; tile_per_repeat = -2; } );");
  SLOTS s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 6);
  for (int32_t i = 0; i < 3; ++i) {
    assert_slot(&s.at[i], 0, 0, 2 * i, 2, PREM_PREFETCH, 2 + i, 10);
    assert_slot(&s.at[3 + i], 0, 0, 4 - 2 * i, 2, PREM_COMPUTE, 102 + i, 20);
  }
}

TEST(followers_start_when_the_phase_before_them_ends) {
  OWNED(prem_schedule) *schedule =
      planned_text("runs = ( { task = \"a\"; phase = \"prefetch\";"
                   " chain = [ \"compute\", \"writeback\" ]; start_ns = 40L; },"
                   " { task = \"b\"; phase = \"prefetch\"; chain = [ \"writeback\" ];"
                   " start_ns = 90L; } );");
  SLOTS s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 5);
  assert_slot(&s.at[0], 0, 0, 0, 2, PREM_PREFETCH, 40, 10);
  assert_slot(&s.at[1], 0, 0, 0, 2, PREM_COMPUTE, 50, 20);
  assert_slot(&s.at[2], 0, 0, 0, 2, PREM_WRITEBACK, 70, 5);
  assert_slot(&s.at[4], 1, 0, 0, 0, PREM_WRITEBACK, 97, 3);
  for (int i = 0; i < 5; ++i) {
    ck_assert_uint_eq(s.at[i].flags, i == 0 || i == 3 ? 0 : PREM_SLOT_CHAINED);
    ck_assert_int_eq(s.at[i].head_ns, i < 3 ? 40 : 90);
  }
}

TEST(joined_phases_share_start_and_length) {
  OWNED(prem_schedule) *schedule =
      planned_text("runs = ( { task = \"a\"; phase = \"prefetch\"; chain = [ \"compute\" ];"
                   " join: { tile = -2; }; start_ns = 0L; repeat = 4; step_ns = 100L; } );");
  SLOTS s = expand(schedule, schedule->plan);
  /* a ramp up, two pairs, a ramp down; the halves alone are ordinary phases */
  ck_assert_int_eq(s.count, 2 + 3 + 3 + 1);
  assert_slot(&s.at[0], 0, 0, 0, 2, PREM_PREFETCH, 0, 10);
  assert_slot(&s.at[1], 0, 0, 0, 2, PREM_COMPUTE, 10, 20);
  ck_assert_uint_eq(s.at[0].flags, 0);
  for (int32_t r = 1; r <= 2; ++r) {
    const prem_slot *pair = &s.at[3 * r - 1];
    assert_slot(&pair[0], 0, 0, 2 * r, 2, PREM_PREFETCH, 100 * r, 12);
    assert_slot(&pair[1], 0, 0, 2 * r - 2, 2, PREM_WRITEBACK, 100 * r, 12);
    assert_slot(&pair[2], 0, 0, 2 * r, 2, PREM_COMPUTE, 100 * r + 12, 20);
    ck_assert_uint_eq(pair[0].flags, PREM_SLOT_JOINED);
    ck_assert_uint_eq(pair[1].flags, PREM_SLOT_JOINED);
    ck_assert_uint_eq(pair[2].flags, PREM_SLOT_CHAINED);
  }
  assert_slot(&s.at[8], 0, 0, 4, 2, PREM_WRITEBACK, 300, 5);
  ck_assert_uint_eq(s.at[8].flags, 0);
}

TEST(phases_of_two_tasks_join_to_the_sum_of_their_lengths) {
  OWNED(prem_schedule) *schedule = planned_text(
      "runs = ( { task = \"a\"; phase = \"prefetch\"; first_block = 1; tile = 3; start_ns = 20L;"
      " join: { task = \"b\"; tile = 1; job = 0; }; } );");
  SLOTS s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 2);
  assert_slot(&s.at[0], 0, 0, 3, 0, PREM_PREFETCH, 20, 13);
  assert_slot(&s.at[1], 1, 0, 1, 0, PREM_WRITEBACK, 20, 13);
}

TEST(halves_far_apart_are_found_without_trying_all) {
  OWNED(prem_schedule) *schedule = planned_text(
      "runs = ( { task = \"a\"; phase = \"prefetch\"; tile = 0; tile_per_repeat = 2; start_ns = 0L;"
      " repeat = 20000000; step_ns = 1L; join: { tile = -60000000; }; } );");
  slots s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 3);
  schedule->plan->affine[0].join_tile = -40000000 + 2;
  free(s.at);
  s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 4);
  assert_slot(&s.at[3], 0, 0, 0, 2, PREM_WRITEBACK, 19999999, 5);
  free(s.at);
}

TEST(starts_go_through_jobs_and_tiles) {
  OWNED(prem_schedule) *schedule =
      planned_text("starts = ( { task = \"a\"; phase = \"prefetch\"; block = 1;"
                   " start_ns = [ 5L, -1L, 510L, 520L ]; } );");
  SLOTS s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 3);
  assert_slot(&s.at[0], 0, 0, 1, 0, PREM_PREFETCH, 5, 10);
  assert_slot(&s.at[1], 0, 1, 1, 0, PREM_PREFETCH, 510, 10);
  assert_slot(&s.at[2], 0, 1, 3, 0, PREM_PREFETCH, 520, 10);
}

/* One tile of three is a warm-up one: after two starts the next is of another job, which the
 * checker refuses by that name. */
TEST(starts_begin_again_behind_the_warm_up_tiles) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ( { name = \"a\";"
      "  kernel = \"none\"; blocks = 1; tiles = 3; compute: { wcet_ns = 5L; }; } );"
      "plan: { hyperperiod_ns = 100L; warmup_tiles = 1; warmup_ns = 10L; starts = ("
      "  { task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ 20L, 30L, 40L ]; } ); };");
  SLOTS s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 4);
  assert_slot(&s.at[1], 0, 0, 1, 0, PREM_COMPUTE, 20, 5);
  assert_slot(&s.at[2], 0, 0, 2, 0, PREM_COMPUTE, 30, 5);
  assert_slot(&s.at[3], 0, 1, 1, 0, PREM_COMPUTE, 40, 5);
}

TEST(warmup_tiles_are_the_first_of_every_block) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 5;"
      "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; },"
      "{ name = \"p\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 1000L;"
      "  compute: { wcet_ns = 1L; }; } );"
      "plan: { hyperperiod_ns = 1000L; warmup_tiles = 2; warmup_ns = 80L;"
      "  starts = ( { task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 90L ]; } ); };");
  SLOTS s = expand(schedule, schedule->plan);
  ck_assert_int_eq(s.count, 4 * 2 + 1);
  for (int i = 0; i < 8; ++i) {
    ck_assert_uint_eq(s.at[i].flags, PREM_SLOT_WARMUP | PREM_SLOT_CHAINED);
    ck_assert_int_eq(s.at[i].task, 0);
    ck_assert_int_lt(s.at[i].tile, 4);
    ck_assert_int_eq(s.at[i].place, -1);
  }
  assert_slot(&s.at[3], 0, 0, 2, 0, PREM_COMPUTE, 40, 20);
  assert_slot(&s.at[8], 0, 0, 4, 0, PREM_PREFETCH, 90, 10);
}

/* ---- refused, each with its legal twin ------------------------------------------------------ */

static prem_status expand_status(const prem_schedule *schedule, const prem_affine *run, int code) {
  OWNED(prem_plan) *plan = prem_plan_new();
  OWNED(prem_diag) *diag = prem_diag_new();
  slots s;
  ck_assert_int_eq(prem_plan_add_affine(plan, run), PREM_OK);
  prem_status status = prem_plan_expand(schedule, plan, &s.at, &s.count, diag);
  ck_assert((s.at != NULL) == (status == PREM_OK));
  ck_assert(prem_diag_has(diag, code) == (status == PREM_ERR_INVALID));
  free(s.at);
  return status;
}

static const prem_affine plain = {.chain = PREM_CHAIN_COMPUTE,
                                  .count = 2,
                                  .repeat = 2,
                                  .tile_per_block = 1,
                                  .tile_per_repeat = 2,
                                  .jobs = 1,
                                  .join_task = -1};

GROUP("refused");

TEST(starts_beyond_all_times) {
  OWNED(prem_schedule) *schedule = planned_text("");
  prem_affine run = plain;
  run.start_ns = -PREM_MAX_NS;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_OK);
  --run.start_ns;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_ERR_INVALID);
  run.start_ns = PREM_MAX_NS - 30; /* prefetch and compute */
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_OK);
  run.step_ns = 1;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_ERR_INVALID);
  run.step_ns = 0;
  run.block_step_ns = 1;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_ERR_INVALID);
  run = plain;
  run.step_ns = INT64_MAX;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_ERR_INVALID);
  run.repeat = 1;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_OK);
  run = plain;
  run.jobs = 3;
  run.job_step_ns = PREM_MAX_NS / 2;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_ERR_INVALID);
  run.jobs = 2;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_OK);
}

TEST(steps_that_cancel_each_other_are_no_overflow) {
  OWNED(prem_schedule) *schedule = planned_text("");
  prem_affine run = plain;
  run.start_ns = 77;
  run.block_step_ns = PREM_MAX_NS - 1000;
  run.count = 1;
  run.first_block = 1;
  run.repeat = 3;
  run.step_ns = -PREM_MAX_NS / 2;
  run.tile = -3; /* only the third repeat has a tile: 77 - 2^62 */
  run.tile_per_repeat = 2;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_OK);
  run.step_ns -= 40;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_ERR_INVALID);
}

/* Numbers of jobs have 32 bits: those of a phase, and those of the writeback that it takes along.
 */
TESTS(jobs_beyond_all_numbers, 2) {
  OWNED(prem_schedule) *schedule = planned_text("");
  prem_affine run = plain;
  int64_t *first = _i ? &run.join_job : &run.job;
  run.jobs = 3;
  run.join_task = _i ? 1 : -1;
  *first = INT64_C(0x7FFFFFFF) - 2;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_OK);
  ++*first;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_ERR_INVALID);
  *first = INT32_MIN;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_OK);
  --*first;
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_ERR_INVALID);
  run.job = 0;
  run.join_task = -1; /* where nothing is taken along, its number does not matter */
  ck_assert_int_eq(expand_status(schedule, &run, 18), PREM_OK);
}

TEST(blocks_that_the_task_has_not) {
  OWNED(prem_schedule) *schedule = planned_text("");
  prem_affine run = plain;
  run.first_block = 1;
  ck_assert_int_eq(expand_status(schedule, &run, 25), PREM_ERR_INVALID);
  run.count = 1;
  ck_assert_int_eq(expand_status(schedule, &run, 25), PREM_OK);
}

/* A plan in memory may name whatever it likes. */
TEST(references_to_nothing) {
  OWNED(prem_schedule) *schedule = planned_text("");
  prem_affine run = plain;
#define NAMES(member, good, bad)                                                                   \
  do {                                                                                             \
    run = plain;                                                                                   \
    run.member = good;                                                                             \
    ck_assert_int_eq(expand_status(schedule, &run, 0), PREM_OK);                                   \
    run.member = bad;                                                                              \
    ck_assert_int_eq(expand_status(schedule, &run, 0), PREM_ERR_ARGUMENT);                         \
  } while (0)
  NAMES(task, 0, -1);
  NAMES(task, 0, 2);
  NAMES(join_task, 1, 2);
  NAMES(phase, PREM_COMPUTE, (prem_phase)PREM_PHASE_COUNT);
#undef NAMES
  int64_t none = -1;
  const prem_starts bad[] = {
      {.task = -1, .start_ns = &none, .count = 1},
      {.task = 2, .start_ns = &none, .count = 1},
      {.phase = (prem_phase)PREM_PHASE_COUNT, .start_ns = &none, .count = 1}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    OWNED(prem_plan) *plan = prem_plan_new();
    slots s;
    ck_assert_int_eq(prem_plan_add_starts(plan, &bad[i]), PREM_OK);
    ck_assert_int_eq(prem_plan_expand(schedule, plan, &s.at, &s.count, NULL), PREM_ERR_ARGUMENT);
  }
}

/* The first start of `a` alone: its prefetch, with its compute chained to it 30 long. */
static prem_status expand_start(int64_t start_ns, int code) {
  OWNED(prem_schedule) *schedule = planned_text("");
  OWNED(prem_plan) *plan = prem_plan_new();
  OWNED(prem_diag) *diag = prem_diag_new();
  slots s;
  ck_assert_int_eq(
      prem_plan_add_starts(
          plan, &(prem_starts){.chain = PREM_CHAIN_COMPUTE, .start_ns = &start_ns, .count = 1}),
      PREM_OK);
  const prem_status status = prem_plan_expand(schedule, plan, &s.at, &s.count, diag);
  ck_assert(prem_diag_has(diag, code) == (status == PREM_ERR_INVALID));
  free(s.at);
  return status;
}

TEST(listed_starts_beyond_all_times) {
  ck_assert_int_eq(expand_start(-PREM_MAX_NS, 18), PREM_OK);
  ck_assert_int_eq(expand_start(-PREM_MAX_NS - 1, 18), PREM_ERR_INVALID);
  ck_assert_int_eq(expand_start(PREM_MAX_NS - 30, 18), PREM_OK);
  ck_assert_int_eq(expand_start(PREM_MAX_NS - 29, 18), PREM_ERR_INVALID);
}

/* Of `a`, which is one-shot, as many tiles as warm up; each takes 2^61 and ends at 2^62 at most. */
TEST(warm_up_beyond_all_times) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text("version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ("
                         "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4;"
                         "  compute: { wcet_ns = 2305843009213693952L; }; } );\n"
                         "plan: { hyperperiod_ns = 1000L; };");
  for (int32_t tiles = 2; tiles <= 3; ++tiles) {
    OWNED(prem_diag) *diag = prem_diag_new();
    slots s;
    schedule->plan->warmup_tiles = tiles;
    ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &s.at, &s.count, diag),
                     tiles == 2 ? PREM_OK : PREM_ERR_INVALID);
    ck_assert(prem_diag_has(diag, 18) == (tiles == 3));
    free(s.at);
  }
}

TEST(more_phases_than_the_limit) {
  OWNED(prem_schedule) *schedule = planned_text("");
  prem_affine run = plain;
  run.tile_per_repeat = 0; /* the same two tiles over and over */
  run.chain = 0;
  run.repeat = PREM_MAX_SLOTS / 2 + 1;
  ck_assert_int_eq(expand_status(schedule, &run, 13), PREM_ERR_INVALID);
  run.repeat = 1000;
  ck_assert_int_eq(expand_status(schedule, &run, 13), PREM_OK);
  run.jobs = INT64_C(1) << 30;
  ck_assert_int_eq(expand_status(schedule, &run, 13), PREM_ERR_INVALID);
  run.tile = 100; /* no tile at all, in any job */
  ck_assert_int_eq(expand_status(schedule, &run, 13), PREM_OK);
}

/* ---- compressing ---------------------------------------------------------------------------- */

static int by_identity(const void *left, const void *right) {
  const prem_slot *a = left, *b = right;
  int64_t ka[] = {a->task, a->job, a->tile, a->phase}, kb[] = {b->task, b->job, b->tile, b->phase};
  for (int i = 0; i < 4; ++i)
    if (ka[i] != kb[i])
      return ka[i] < kb[i] ? -1 : 1;
  return 0;
}

static bool equal_slots(const prem_slot *a, const prem_slot *b) {
  return by_identity(a, b) == 0 && a->block == b->block && a->planned_ns == b->planned_ns &&
         a->length_ns == b->length_ns && a->head_ns == b->head_ns && a->flags == b->flags;
}

static void assert_same_slots(slots a, slots b) {
  ck_assert_int_eq(a.count, b.count);
  qsort(a.at, (size_t)a.count, sizeof *a.at, by_identity);
  qsort(b.at, (size_t)b.count, sizeof *b.at, by_identity);
  for (int64_t i = 0; i < a.count; ++i)
    if (!equal_slots(&a.at[i], &b.at[i])) /* an assertion for each of them is slow */
      ck_abort_msg("task %d job %d tile %d phase %d: start %lld became %lld", a.at[i].task,
                   a.at[i].job, a.at[i].tile, a.at[i].phase, (long long)a.at[i].planned_ns,
                   (long long)b.at[i].planned_ns);
}

/* There and back; the compressed plan is the caller's. */
static prem_plan *assert_round_trip(const prem_schedule *schedule, slots s, int32_t warmup_tiles) {
  prem_plan *plan = prem_plan_new();
  plan->warmup_tiles = warmup_tiles;
  ck_assert_int_eq(prem_plan_compress(schedule, s.at, s.count, plan), PREM_OK);
  slots back = expand(schedule, plan);
  assert_same_slots(s, back);
  free(back.at);
  return plan;
}

static uint32_t random_state;

static int32_t draw(int32_t below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (int32_t)((random_state >> 8) % (uint32_t)below);
}

/* One task on its blocks, periodic or not, with or without a length of its own for joined pairs. */
static const char *random_task(const char *name, bool periodic) {
  static const int32_t periods[] = {1000, 2000, 4000};
  return text("{ name = \"%s\"; kernel = \"none\"; blocks = \"%d-%d\"; tiles = %d; %s"
              "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
              "  writeback: { wcet_ns = 5L; }; %s }",
              name, draw(2), 2 + draw(3), 1 + draw(60),
              periodic ? text("period_ns = %dL;", periods[draw(3)]) : "",
              draw(2) ? "joined: { wcet_ns = 13L; };" : "");
}

/* Start of a tile's phase: regular, in turns, or anything. */
static int64_t random_start(int32_t kind, int32_t job, int32_t round, int32_t position,
                            prem_phase phase) {
  int64_t base = 4000 * job + 37 * position + 10 * (int64_t)phase;
  if (kind == 0)
    return base + 100 * round;
  if (kind == 1)
    return base + 100 * round + (round % 3) * 7;
  if (kind == 2)
    return base + (draw(8) ? 100 : 101) * round;
  return draw(1000000);
}

/* A slot and what is chained to it, as prem_plan_expand() would give them. */
static void put(slots *s, const prem_task *task, prem_slot slot, uint32_t chain,
                const prem_slot *join) {
  slot.head_ns = slot.planned_ns;
  slot.length_ns = join ? join->length_ns : task->phase[slot.phase].wcet_ns;
  slot.flags = join ? PREM_SLOT_JOINED : 0;
  s->at[s->count++] = slot;
  if (join)
    s->at[s->count++] = *join;
  for (int p = slot.phase + 1; p < PREM_PHASE_COUNT; ++p) {
    if (!(chain & (p == PREM_COMPUTE ? PREM_CHAIN_COMPUTE : PREM_CHAIN_WRITEBACK)))
      continue;
    slot.planned_ns += slot.length_ns;
    slot.length_ns = task->phase[p].wcet_ns;
    slot.phase = (uint8_t)p;
    slot.flags = PREM_SLOT_CHAINED;
    s->at[s->count++] = slot;
  }
}

typedef enum shape { ALL_CHAINED, COMPUTE_CHAINED, APART, JOINED } shape;

static void put_tile(slots *s, const prem_schedule *schedule, int32_t t, int32_t job, int32_t tile,
                     shape form, int32_t kind) {
  const prem_task *task = &schedule->tasks[t];
  int32_t n = task->block_count, position = tile % n, round = tile / n;
  prem_slot slot = {.task = t, .job = job, .tile = tile, .block = task->blocks[position]};
  slot.planned_ns = random_start(kind, job, round, position, PREM_PREFETCH);
  bool has_join = form == JOINED && tile >= n,
       is_joined = form == JOINED && tile + n < task->tile_count;
  prem_slot join = slot;
  join.tile = tile - n;
  join.phase = PREM_WRITEBACK;
  join.flags = PREM_SLOT_JOINED;
  join.head_ns = join.planned_ns;
  join.length_ns = task->joined.exists ? 13 : 15;
  put(s, task, slot,
      form == ALL_CHAINED       ? PREM_CHAIN_COMPUTE | PREM_CHAIN_WRITEBACK
      : form == COMPUTE_CHAINED ? PREM_CHAIN_COMPUTE
                                : 0,
      has_join ? &join : NULL);
  for (int p = PREM_COMPUTE; p < PREM_PHASE_COUNT; ++p) {
    bool apart =
        p == PREM_COMPUTE ? form == APART || form == JOINED : form != ALL_CHAINED && !is_joined;
    if (!apart)
      continue;
    slot.phase = (uint8_t)p;
    slot.planned_ns = random_start(kind, job, round, position, (prem_phase)p);
    put(s, task, slot, 0, NULL);
  }
}

GROUP("compressing");

TESTS(random_slots_survive_the_round_trip, 4) {
  random_state = (uint32_t)_i * 31337u + 5;
  for (int i = 0; i < 100; ++i) {
    bool periodic = draw(2);
    OWNED(prem_schedule) *schedule = schedule_from_text(
        text("version = 1; name = \"t\"; platform: { blocks = 8; }; tasks = ( %s, %s );",
             random_task("a", periodic), random_task("b", periodic && draw(2))));
    slots s = {.at = malloc(sizeof *s.at * 4 * 60 * 3 * 2)};
    int32_t warmup = draw(3) ? 0 : draw(3);
    for (int32_t t = 0; t < 2; ++t) {
      const prem_task *task = &schedule->tasks[t];
      shape form = (shape)draw(4),
            other = draw(4) ? form : (form == JOINED ? JOINED : (shape)draw(3));
      int32_t kind = draw(4), skipped = task->period_ns ? 0 : warmup * task->block_count;
      for (int32_t job = 0; job < prem_task_jobs(schedule, task); ++job)
        for (int32_t tile = skipped; tile < task->tile_count; ++tile)
          if (form != JOINED || skipped == 0)
            put_tile(&s, schedule, t, job, tile, tile % 5 ? form : other, kind);
    }
    OWNED(prem_plan) *plan = prem_plan_new();
    plan->warmup_tiles = warmup;
    ck_assert_int_eq(prem_plan_compress(schedule, s.at, s.count, plan), PREM_OK);
    slots back = expand(schedule, plan), planned = {.at = back.at, .count = 0};
    for (int64_t k = 0; k < back.count; ++k)
      if (!(back.at[k].flags & PREM_SLOT_WARMUP))
        back.at[planned.count++] = back.at[k];
    assert_same_slots(s, planned);
    free(back.at);
    free(s.at);
  }
}

static prem_schedule *large(const char *settings) {
  return schedule_from_text(text("version = 1; name = \"t\"; platform: { blocks = 132; };"
                                 "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 132; %s"
                                 "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
                                 "  writeback: { wcet_ns = 5L; }; } );",
                                 settings));
}

static slots regular_slots(const prem_schedule *schedule) {
  OWNED(prem_plan) *plan = prem_plan_new();
  const prem_task *task = &schedule->tasks[0];
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    prem_affine run = {.phase = (prem_phase)p,
                       .count = 132,
                       .start_ns = 40 * p,
                       .block_step_ns = 3,
                       .repeat = (task->tile_count + 131) / 132,
                       .step_ns = 500,
                       .tile_per_block = 1,
                       .tile_per_repeat = 132,
                       .jobs = prem_task_jobs(schedule, task),
                       .job_step_ns = task->period_ns,
                       .join_task = -1};
    ck_assert_int_eq(prem_plan_add_affine(plan, &run), PREM_OK);
  }
  slots s = expand(schedule, plan);
  return s;
}

TEST(a_hundred_thousand_regular_tiles_are_a_few_runs) {
  OWNED(prem_schedule) *schedule = large("tiles = 100000;");
  SLOTS s = regular_slots(schedule);
  ck_assert_int_eq(s.count, 300000);
  OWNED(prem_plan) *plan = assert_round_trip(schedule, s, 0);
  ck_assert_int_le(plan->affine_count, 6); /* 100000 is no multiple of 132 */
  ck_assert_int_eq(plan->starts_count, 0);
}

TEST(jobs_merge_as_well) {
  OWNED(prem_schedule) *schedule = large("tiles = 264; period_ns = 1000000L;");
  schedule->period_lcm_ns = 100000000; /* as if another task had the longer period */
  SLOTS s = regular_slots(schedule);
  OWNED(prem_plan) *plan = assert_round_trip(schedule, s, 0);
  ck_assert_int_eq(plan->affine_count, 3);
  ck_assert_int_eq(plan->affine[0].jobs, 100);
  ck_assert_int_eq(plan->affine[0].job_step_ns, 1000000);
  ck_assert_int_eq(plan->starts_count, 0);
}

TEST(sequences_that_take_turns_are_found) {
  OWNED(prem_schedule) *schedule = large("tiles = 13200;");
  SLOTS s = regular_slots(schedule);
  for (int64_t i = 0; i < s.count; ++i) {
    s.at[i].planned_ns += s.at[i].tile / 132 % 7 * 11;
    s.at[i].head_ns = s.at[i].planned_ns;
  }
  OWNED(prem_plan) *plan = assert_round_trip(schedule, s, 0);
  ck_assert_int_eq(plan->affine_count, 3 * 7);
  ck_assert_int_eq(plan->starts_count, 0);
}

/* As many as 32 have a run each. */
TEST(no_more_than_32_take_turns) {
  for (int turns = 32; turns <= 33; ++turns) {
    OWNED(prem_schedule) *schedule = large(text("tiles = %d;", 132 * 200));
    slots s = regular_slots(schedule);
    for (int64_t i = 0; i < s.count; ++i) {
      const int64_t turn = s.at[i].tile / 132 % turns;
      s.at[i].planned_ns += turn * turn;
      s.at[i].head_ns = s.at[i].planned_ns;
    }
    OWNED(prem_plan) *plan = assert_round_trip(schedule, s, 0);
    ck_assert_int_eq(plan->affine_count == 3 * turns && plan->starts_count == 0, turns == 32);
    free(s.at);
  }
}

TEST(irregular_starts_become_arrays) {
  OWNED(prem_schedule) *schedule = large("tiles = 13200;");
  SLOTS s = regular_slots(schedule);
  random_state = 1;
  for (int64_t i = 0; i < s.count; ++i)
    s.at[i].head_ns = s.at[i].planned_ns = draw(1000000000);
  OWNED(prem_plan) *plan = assert_round_trip(schedule, s, 0);
  ck_assert_int_eq(plan->starts_count, 3 * 132);
  ck_assert_int_le(plan->affine_count, 3);
}

TEST(slots_that_are_no_plan) {
  OWNED(prem_schedule) *schedule = large("tiles = 264;");
  SLOTS s = regular_slots(schedule);
  OWNED(prem_plan) *plan = prem_plan_new();
  const prem_slot good = s.at[0];
#define REFUSED_WITH(change)                                                                       \
  do {                                                                                             \
    s.at[0] = good;                                                                                \
    change;                                                                                        \
    ck_assert_int_eq(prem_plan_compress(schedule, s.at, s.count, plan), PREM_ERR_ARGUMENT);        \
  } while (0)
  REFUSED_WITH(s.at[0].tile = 132);                /* a second time */
  REFUSED_WITH(s.at[0].block = 1);                 /* not its tile's */
  REFUSED_WITH(s.at[0].job = 1);                   /* does not exist */
  REFUSED_WITH(s.at[0].flags = PREM_SLOT_JOINED);  /* with nothing */
  REFUSED_WITH(s.at[0].flags = PREM_SLOT_CHAINED); /* to nothing */
#undef REFUSED_WITH
  ck_assert_int_eq(plan->affine_count + plan->starts_count, 0);
  s.at[0] = good;
  ck_assert_int_eq(prem_plan_compress(schedule, s.at, s.count, plan), PREM_OK);
}

/* The first tile of all as well. */
TEST(a_chain_has_a_head_of_its_own_tile) {
  OWNED(prem_schedule) *schedule = large("tiles = 264;");
  SLOTS s = regular_slots(schedule);
  for (int32_t tile = 0; tile < 264; tile += 263) {
    prem_slot *head = NULL, *compute = NULL;
    for (int64_t i = 0; i < s.count; ++i) {
      if (s.at[i].tile == tile && s.at[i].phase == PREM_PREFETCH)
        head = &s.at[i];
      if (s.at[i].tile == tile && s.at[i].phase == PREM_COMPUTE)
        compute = &s.at[i];
    }
    const prem_slot good = *compute;
    compute->flags = PREM_SLOT_CHAINED;
    for (int64_t away_ns = -1; away_ns <= 1; ++away_ns) {
      OWNED(prem_plan) *plan = prem_plan_new();
      compute->head_ns = head->planned_ns + away_ns;
      ck_assert_int_eq(prem_plan_compress(schedule, s.at, s.count, plan),
                       away_ns ? PREM_ERR_ARGUMENT : PREM_OK);
    }
    *compute = good;
  }
}

/* Neither half alone, nor both the other way round, nor two that are no pair. */
TEST(a_pair_has_two_halves) {
  OWNED(prem_schedule) *schedule = large("tiles = 264;");
  const prem_slot fetch = {.planned_ns = 7,
                           .head_ns = 7,
                           .tile = 132,
                           .phase = PREM_PREFETCH,
                           .flags = PREM_SLOT_JOINED};
  prem_slot store = fetch;
  store.tile = 0;
  store.phase = PREM_WRITEBACK;
  prem_slot compute = store, alone = store;
  compute.phase = PREM_COMPUTE;
  alone.flags = 0;
  const struct {
    prem_slot at[2];
    int64_t count;
    bool is_pair;
  } cases[] = {{{fetch, store}, 2, true},    {{fetch, store}, 1, false},
               {{store, fetch}, 2, false},   {{store, fetch}, 1, false},
               {{fetch, compute}, 2, false}, {{fetch, alone}, 2, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    OWNED(prem_plan) *plan = prem_plan_new();
    ck_assert_int_eq(prem_plan_compress(schedule, cases[i].at, cases[i].count, plan),
                     cases[i].is_pair ? PREM_OK : PREM_ERR_ARGUMENT);
    ck_assert_int_eq(plan->affine_count + plan->starts_count, cases[i].is_pair);
    if (cases[i].is_pair)
      ck_assert_int_eq(plan->affine[0].join_tile, 0);
  }
}

/* ---- in a file ------------------------------------------------------------------------------ */

TEST(a_large_regular_plan_is_a_small_file) {
  OWNED(prem_schedule) *schedule = large("tiles = 100000;");
  SLOTS s = regular_slots(schedule);
  prem_plan *plan = assert_round_trip(schedule, s, 0);
  plan->hyperperiod_ns = 1000000;
  prem_schedule_set_plan(schedule, plan);
  char path[] = "/tmp/ttprem-plan-XXXXXX.cfg";
  close(mkstemps(path, 4));
  OWNED(prem_diag) *diag = prem_diag_new();
  if (prem_schedule_save(schedule, path, diag) != PREM_OK)
    abort_with("save", diag);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  fseek(file, 0, SEEK_END);
  ck_assert_int_lt(ftell(file), 100000);
  fclose(file);
  OWNED(prem_schedule) *loaded = NULL;
  if (prem_schedule_load(path, NULL, &loaded, diag) != PREM_OK)
    abort_with("load", diag);
  unlink(path);
  ck_assert_int_eq(prem_schedule_bind(loaded, prem_registry_builtin(), NULL), PREM_OK);
  SLOTS back = expand(loaded, loaded->plan);
  assert_same_slots(s, back);
}
