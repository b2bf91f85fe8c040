/* SPDX-License-Identifier: Apache-2.0 */
/* Turnarounds: every planner keeps them, the checker asks for them, and a run by such a plan is on
 * time on a simulator that takes them. */
#include "tests/common/random_set.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SETS = ROUNDS(400), STEPS = 40 };

static const char one_block[] =
    "version = 1; name = \"one\";"
    "platform: { blocks = 1; buffers = %d; guard_ns = %dL; clock_step_ns = %dL; };"
    "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2; %s"
    "  prefetch: { wcet_ns = 100L; }; compute: { wcet_ns = 50L; };"
    "  writeback: { wcet_ns = 30L; }; } );";

static prem_schedule *block_of(int buffers, int guard_ns, int step_ns, const char *period) {
  return schedule_from_text(text(one_block, buffers, guard_ns, step_ns, period));
}

/* Each phase's turnaround, of a set that a seed draws. */
static void draw_turnarounds(prem_schedule *schedule, uint32_t seed) {
  random_set_seed(seed, 77);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      schedule->tasks[t].phase[p].turnaround_ns = random_set_below(2) ? 0 : random_set_below(40);
  schedule->job_turnaround_ns = random_set_below(2) ? 0 : random_set_below(200);
  schedule->job_prefetch_ns = random_set_below(2) ? 0 : random_set_below(200);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    schedule->tasks[t].phase[PREM_COMPUTE].unit_turnaround_ns =
        random_set_below(2) ? 0 : random_set_below(200);
}

static prem_status plan_with(prem_schedule *schedule, const prem_plan_options *options) {
  prem_plan *plan = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status = prem_plan_make(schedule, NULL, options, &plan, diag);
  if (status && status != PREM_ERR_INFEASIBLE)
    abort_with("plan", diag);
  prem_schedule_set_plan(schedule, plan);
  return status;
}

/* Legal by the independent checker, and never late on the simulator. */
static void assert_kept(const prem_schedule *schedule) {
  assert_checked(schedule);
  if (schedule->plan->warmup_tiles > 0)
    return; /* their plan promises nothing of when they end */
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 3);
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].release_ns != PREM_NO_RELEASE)
      ck_assert_int_eq(trace->records[i].start_ns, trace->records[i].release_ns);
}

TEST(every_planner_keeps_them) {
  static const prem_plan_options ways[] = {{0},
                                           {.time_limit_ns = PREM_MAX_NS, .step_limit = STEPS}};
  int planned = 0;
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    const random_set set = random_set_draw(seed);
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; ++way) {
      OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(&set));
      draw_turnarounds(schedule, seed);
      if (plan_with(schedule, &ways[way]) == PREM_OK) {
        assert_kept(schedule);
        ++planned;
      }
    }
  }
  ck_assert_int_gt(planned, SETS);
}

/* A plan without turnarounds, then with them: what has to move moves. */
TEST(an_older_plan_is_moved_until_it_keeps_them) {
  int moved = 0;
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    const random_set set = random_set_draw(seed);
    OWNED(prem_schedule) *old = schedule_from_text(random_set_text(&set));
    OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(&set));
    draw_turnarounds(schedule, seed);
    const prem_plan_options options = {
        .time_limit_ns = PREM_MAX_NS, .step_limit = STEPS, .keep = old};
    if (plan_with(old, NULL) == PREM_OK && plan_with(schedule, &options) == PREM_OK) {
      assert_kept(schedule);
      prem_schedule_set_plan(old, NULL);
      ++moved;
    }
  }
  ck_assert_int_gt(moved, SETS / 4);
}

/* ---- the least that is asked for ------------------------------------------------------------- */

static int64_t planned_ns(const prem_schedule *schedule, int32_t tile, prem_phase phase) {
  FREED prem_slot *slots = NULL;
  int64_t count = 0, ns = -1;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  for (int64_t i = 0; i < count; ++i)
    if (slots[i].tile == tile && slots[i].phase == phase)
      ns = slots[i].planned_ns;
  return ns;
}

/* What follows in a plan: 100, 50 and 30 ns long, the first tile's writeback behind its compute and
 * the second tile's prefetch behind that. */
TEST(nothing_but_what_follows_moves) {
  OWNED(prem_schedule) *schedule = block_of(1, 0, 1, "");
  schedule->tasks[0].phase[PREM_COMPUTE].turnaround_ns = 7;
  schedule->tasks[0].phase[PREM_WRITEBACK].turnaround_ns = 11;
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  ck_assert_int_eq(planned_ns(schedule, 0, PREM_COMPUTE), 100);
  ck_assert_int_eq(planned_ns(schedule, 0, PREM_WRITEBACK), 157);
  ck_assert_int_eq(planned_ns(schedule, 1, PREM_PREFETCH), 198);
  ck_assert_int_eq(planned_ns(schedule, 1, PREM_WRITEBACK), 355);
  ck_assert_int_eq(schedule->plan->hyperperiod_ns, 396); /* the next one finds the block ready */
}

TEST(the_guard_is_no_addition) {
  OWNED(prem_schedule) *schedule = block_of(1, 9, 1, "");
  schedule->tasks[0].phase[PREM_COMPUTE].turnaround_ns = 7;
  schedule->tasks[0].phase[PREM_WRITEBACK].turnaround_ns = 11;
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  ck_assert_int_eq(planned_ns(schedule, 0, PREM_WRITEBACK), 168);
  ck_assert_int_eq(planned_ns(schedule, 1, PREM_PREFETCH), 209);
}

/* The memory is free as soon as the writeback ends: another block's prefetch begins there. */
TEST(resources_are_not_kept) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"two\"; platform: { blocks = 2; clock_step_ns = 1L; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "  writeback: { wcet_ns = 30L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
      "  writeback: { wcet_ns = 30L; }; } );");
  for (int t = 0; t < 2; ++t)
    schedule->tasks[t].phase[PREM_WRITEBACK].turnaround_ns = 1000;
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  FREED prem_slot *slots = NULL;
  int64_t count = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  ck_assert_int_eq(count, 2);
  ck_assert_int_eq(llabs(slots[0].planned_ns - slots[1].planned_ns), 30);
  assert_kept(schedule);
}

/* ---- the checker ----------------------------------------------------------------------------- */

static void assert_refused(const prem_schedule *schedule, const char *words) {
  OWNED(prem_diag) *diag = prem_diag_new();
  bool found = false;
  ck_assert_int_eq(prem_check(schedule, NULL, diag), PREM_ERR_INVALID);
  for (size_t i = 0; i < prem_diag_count(diag); ++i)
    found |= prem_diag_at(diag, i)->code == 40 && strstr(prem_diag_at(diag, i)->reason, words);
  if (!found)
    abort_with(words, diag);
}

/* A plan for turnarounds of a ns less is refused, whichever phase asks for the longer one. */
static void assert_exact(int buffers, const char *period, prem_phase phase, const char *words) {
  OWNED(prem_schedule) *schedule = block_of(buffers, 0, 1, period);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    schedule->tasks[0].phase[p].turnaround_ns = 20;
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  assert_kept(schedule);
  schedule->tasks[0].phase[phase].turnaround_ns = 21;
  assert_refused(schedule, words);
}

TEST(a_gap_below_a_turnaround_is_refused) {
  assert_exact(1, "", PREM_PREFETCH,
               "compute of 'a' tile 0 on block 0 starts at 120, 20 ns after its prefetch ends: the "
               "gap must be turnaround_ns = 21 at least (or chain it)");
  assert_exact(1, "", PREM_COMPUTE, "20 ns after its compute ends: the gap must be turnaround_ns");
  assert_exact(1, "", PREM_WRITEBACK,
               "20 ns after the end of writeback of 'a' tile 0 on block 0: the gap must be "
               "turnaround_ns = 21 at least");
  assert_exact(2, "", PREM_PREFETCH, "turnaround_ns = 21 at least");
  assert_exact(1, "period_ns = 480L;", PREM_WRITEBACK, "of the hyperperiod before");
}

/* With two buffers nothing comes right after a writeback: so all but that one. */
TESTS(a_turnaround_of_one_is_one, 2 * PREM_PHASE_COUNT - 1) {
  OWNED(prem_schedule) *schedule = block_of(1 + _i / PREM_PHASE_COUNT, 0, 1, "");
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  assert_kept(schedule);
  schedule->tasks[0].phase[_i % PREM_PHASE_COUNT].turnaround_ns = 1;
  assert_refused(schedule, "turnaround_ns = 1 at least");
}

/* Two tiles of 220 ns and the last turnaround: 460 and 20. */
TEST(a_hyperperiod_ends_ready_for_the_next) {
  for (int period_ns = 479; period_ns <= 480; ++period_ns) {
    OWNED(prem_schedule) *schedule = block_of(1, 0, 1, text("period_ns = %dL;", period_ns));
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      schedule->tasks[0].phase[p].turnaround_ns = 20;
    ck_assert_int_eq(plan_with(schedule, NULL), period_ns < 480 ? PREM_ERR_INFEASIBLE : PREM_OK);
    if (period_ns == 480)
      assert_kept(schedule);
  }
}

/* Two input buffers: the third tile's prefetch waits for the first one's compute alone, which ends
 * at 110. */
TEST(a_buffer_is_kept_as_well) {
  for (int gap_ns = 0; gap_ns <= 5; gap_ns += 5) {
    OWNED(prem_schedule) *schedule = checked_schedule(text(
        "version = 1; name = \"b\"; platform: { blocks = 1; buffers = 2; };"
        "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3;"
        "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 100L; }; } );"
        "plan: { hyperperiod_ns = 1000L; starts = ("
        "  { task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 0L, 10L, %dL ]; },"
        "  { task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ 10L, 120L, 300L ]; } ); "
        "};",
        110 + gap_ns));
    schedule->tasks[0].phase[PREM_COMPUTE].turnaround_ns = gap_ns;
    assert_checked(schedule);
    schedule->tasks[0].phase[PREM_COMPUTE].turnaround_ns = gap_ns + 1;
    assert_refused(schedule,
                   text("input buffers of block 0: prefetch of 'a' tile 2 on block 0 starts at %d, "
                        "%d ns after the end of compute of 'a' tile 0 on block 0: the gap must be "
                        "turnaround_ns = %d at least",
                        110 + gap_ns, gap_ns, gap_ns + 1));
  }
}

/* Two tasks with a tile each: the memory unit is theirs by turns. */
TEST(a_job_s_last_writeback_is_followed_later) {
  const char *source =
      "version = 1; name = \"j\"; platform: { blocks = 1; buffers = %d; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
      "  writeback: { wcet_ns = 10L; }; },"
      "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
      "  writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 1000L; starts = ("
      "  { task = \"a\"; phase = \"writeback\"; block = 0; start_ns = [ 0L, 10L ]; },"
      "  { task = \"b\"; phase = \"writeback\"; block = 0; start_ns = [ 45L ]; } ); };";
  prem_schedule *schedule = checked_schedule(text(source, 2));
  schedule->job_turnaround_ns = 25;
  assert_checked(schedule);
  schedule->job_turnaround_ns = 26;
  assert_refused(schedule,
                 "writeback of 'b' tile 0 on block 0 starts at 45, 25 ns after the end of "
                 "writeback of 'a' tile 1 on block 0, the last writeback of its job on "
                 "the block: the gap must be job_turnaround_ns = 26 at least");
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  assert_checked(schedule);
  ck_assert_int_eq(schedule->plan->hyperperiod_ns, 56);
  prem_schedule_free(schedule);
  schedule = checked_schedule(text(source, 1)); /* no such writer */
  schedule->job_turnaround_ns = 26;
  assert_checked(schedule);
  prem_schedule_free(schedule);
}

/* Both on a block of their own first, so that the one before is the block's first of all; in the
 * plan the later one stands first as well. */
TEST(a_job_s_last_is_followed_later_from_the_first_on) {
  static const char *const names[] = {"writeback", "prefetch"};
  for (int n = 0; n < 4; ++n) {
    const int i = n % 2;
    const char *start = "{ task = \"%s\"; phase = \"%s\"; block = 0; start_ns = [ %dL ]; }";
    const char *of_a = text(start, "a", names[i], 20), *of_b = text(start, "b", names[i], 45);
    OWNED(prem_schedule) *schedule = checked_schedule(
        text("version = 1; name = \"f\"; platform: { blocks = 2; buffers = 2; };"
             "tasks = ( { name = \"o\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
             "  compute: { wcet_ns = 5L; }; },"
             "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
             "  %s: { wcet_ns = 10L; }; },"
             "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
             "  after = ( { task = \"o\"; } ); %s: { wcet_ns = 10L; }; } );"
             "plan: { hyperperiod_ns = 1000L; starts = ( %s, %s,"
             "  { task = \"o\"; phase = \"compute\"; block = 0; start_ns = [ 0L ]; } ); };",
             names[i], names[i], n / 2 ? of_b : of_a, n / 2 ? of_a : of_b));
    schedule->job_turnaround_ns = i == 0 ? 15 : 0; /* from its end at 30 */
    schedule->job_prefetch_ns = i == 0 ? 0 : 25;   /* from its start at 20 */
    assert_checked(schedule);
    schedule->job_turnaround_ns += i == 0;
    schedule->job_prefetch_ns += i == 1;
    assert_refused(schedule, i == 0 ? "the last writeback of its job on the block: the gap must be "
                                      "job_turnaround_ns = 16 at least"
                                    : "the last prefetch of its job on the block, and waits for "
                                      "other jobs: it must be job_prefetch_ns = 26 at least");
  }
}

static const char two_fetchers[] =
    "version = 1; name = \"p\"; platform: { blocks = 2; buffers = %d; };"
    "tasks = ( { name = \"o\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
    "  compute: { wcet_ns = 10L; }; },"
    "  { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2; release_ns = 20L;"
    "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 5L; }; },"
    "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2; release_ns = 20L; %s"
    "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 5L; }; } );"
    "plan: { hyperperiod_ns = 1000L; starts = ("
    "  { task = \"o\"; phase = \"compute\"; block = 0; start_ns = [ 0L ]; },"
    "  { task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 20L, 30L ]; },"
    "  { task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ 30L, 40L ]; },"
    "  { task = \"b\"; phase = \"prefetch\"; block = 0; start_ns = [ 55L, 65L ]; },"
    "  { task = \"b\"; phase = \"compute\"; block = 0; start_ns = [ 70L, 80L ]; } ); };";

/* Two tasks on one block; the second one asks for a third when the first one's last prefetch has
 * begun. */
TEST(a_job_s_first_prefetch_finds_time_to_ask) {
  const char *after = "after = ( { task = \"o\"; } );";
  prem_schedule *schedule = checked_schedule(text(two_fetchers, 2, after));
  schedule->job_prefetch_ns = 25;
  assert_checked(schedule);
  schedule->job_prefetch_ns = 26;
  assert_refused(schedule, "prefetch of 'b' tile 0 on block 0 starts at 55, 25 ns after the start "
                           "of prefetch of 'a' tile 1 on block 0, the last prefetch of its job on "
                           "the block, and waits for other jobs: it must be job_prefetch_ns = 26 "
                           "at least");
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  assert_checked(schedule);
  prem_schedule_free(schedule);
  schedule = checked_schedule(text(two_fetchers, 2, "")); /* it asks for nobody */
  schedule->job_prefetch_ns = 26;
  assert_checked(schedule);
  prem_schedule_free(schedule);
}

/* From the hyperperiod's last compute to the next one's first there are 27: the unit's gap is one
 * within a hyperperiod. */
TEST(the_next_hyperperiod_s_compute_is_not_concerned) {
  OWNED(prem_schedule) *schedule = checked_schedule(
      "version = 1; name = \"c\"; platform: { blocks = 1; buffers = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2; period_ns = 157L;"
      "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 50L; };"
      "  writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 157L; starts = ("
      "  { task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 0L, 10L ]; },"
      "  { task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ 10L, 90L ]; },"
      "  { task = \"a\"; phase = \"writeback\"; block = 0; start_ns = [ 67L, 147L ]; } ); };");
  schedule->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns = 30;
  assert_checked(schedule);
  schedule->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns = 31;
  assert_refused(schedule, "the gap must be unit_turnaround_ns = 31 at least");
}

/* Two computes that follow each other, and a writeback that the longer gap does not concern. */
TEST(the_next_compute_finds_its_unit_ready) {
  const char *source =
      "version = 1; name = \"c\"; platform: { blocks = 1; buffers = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
      "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 50L; };"
      "  writeback: { wcet_ns = 10L; }; } );"
      "plan: { hyperperiod_ns = 1000L; starts = ("
      "  { task = \"a\"; phase = \"prefetch\"; block = 0; start_ns = [ 0L, 10L ]; },"
      "  { task = \"a\"; phase = \"compute\"; block = 0; start_ns = [ 10L, 85L ]; },"
      "  { task = \"a\"; phase = \"writeback\"; block = 0; start_ns = [ 67L, 142L ]; } ); };";
  OWNED(prem_schedule) *schedule = checked_schedule(source);
  schedule->tasks[0].phase[PREM_COMPUTE].turnaround_ns = 7;
  schedule->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns = 25;
  assert_checked(schedule);
  schedule->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns = 26;
  assert_refused(schedule, "compute of 'a' tile 1 on block 0 starts at 85, 25 ns after the end of "
                           "compute of 'a' tile 0 on block 0, the compute before it on the block: "
                           "the gap must be unit_turnaround_ns = 26 at least");
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  ck_assert_int_eq(planned_ns(schedule, 0, PREM_WRITEBACK), 67);
  ck_assert_int_eq(planned_ns(schedule, 1, PREM_COMPUTE), 86);
  assert_kept(schedule);
  schedule->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns = 6; /* the other one is longer */
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  ck_assert_int_eq(planned_ns(schedule, 1, PREM_COMPUTE), 67);
  schedule->tasks[0].phase[PREM_COMPUTE].turnaround_ns = 8;
  assert_refused(schedule, "the gap must be turnaround_ns = 8 at least");
}

/* By a formula as well, whose rounds are so far apart. */
TEST(rounds_of_a_formula_leave_it_too) {
  OWNED(prem_schedule) *schedule =
      schedule_from_text("version = 1; name = \"f\"; platform: { blocks = 1; buffers = 2; };"
                         "policy: { use = \"tile_blockwise\"; };"
                         "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3;"
                         "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 50L; };"
                         "  writeback: { wcet_ns = 10L; }; } );");
  schedule->tasks[0].phase[PREM_COMPUTE].unit_turnaround_ns = 30;
  ck_assert_int_eq(plan_with(schedule, NULL), PREM_OK);
  assert_checked(schedule);
  ck_assert_int_eq(planned_ns(schedule, 1, PREM_COMPUTE) - planned_ns(schedule, 0, PREM_COMPUTE),
                   80);
}

/* With one buffer a tile has its block to itself until its last phase is over, which may be a
 * compute, and the next one's first one as well. */
TEST(a_buffer_s_end_is_not_enough) {
  static const prem_plan_options ways[] = {{0},
                                           {.time_limit_ns = PREM_MAX_NS, .step_limit = STEPS}};
  for (size_t way = 0; way < sizeof ways / sizeof ways[0]; ++way) {
    OWNED(prem_schedule) *schedule =
        schedule_from_text("version = 1; name = \"o\"; platform: { blocks = 1; };"
                           "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
                           "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 50L; }; },"
                           "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
                           "  compute: { wcet_ns = 20L; }; } );");
    for (int t = 0; t < 2; ++t)
      schedule->tasks[t].phase[PREM_COMPUTE].unit_turnaround_ns = 40;
    ck_assert_int_eq(plan_with(schedule, &ways[way]), PREM_OK);
    assert_kept(schedule);
  }
}
