/* SPDX-License-Identifier: Apache-2.0 */
/* The constructive planner: small plans by hand, refusals, and random sets that the independent
 * checker judges. */
#include "tests/common/cases.h"
#include "tests/common/random_set.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#include <glob.h>

static const char *file_of(const char *platform, const char *tasks) {
  return text("version = 1; name = \"t\"; platform: { %s };\ntasks = (\n%s\n);", platform, tasks);
}

/* ---- plans that can be worked out by hand --------------------------------------------------- */

static prem_slot find_slot(const prem_schedule *schedule, const char *task, int32_t job,
                           int32_t tile, prem_phase phase) {
  prem_slot *slots, found = {.task = -1};
  int64_t count;
  int32_t index = prem_schedule_find_task(schedule, task);
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  for (int64_t i = 0; i < count; ++i)
    if (slots[i].task == index && slots[i].job == job && slots[i].tile == tile &&
        slots[i].phase == phase)
      found = slots[i];
  free(slots);
  ck_assert_int_eq(found.task, index);
  return found;
}

static void assert_start(const prem_schedule *schedule, const char *task, int32_t job, int32_t tile,
                         prem_phase phase, int64_t start_ns) {
  ck_assert_int_eq(find_slot(schedule, task, job, tile, phase).planned_ns, start_ns);
}

typedef struct phase_start {
  const char *task;
  int32_t job, tile;
  prem_phase phase;
  int64_t start_ns;
} phase_start;

/* A plan so long that has these starts, up to one of no task. */
static void assert_plan(const prem_schedule *schedule, int64_t hyperperiod_ns,
                        const phase_start *starts) {
  for (; starts->task; ++starts)
    assert_start(schedule, starts->task, starts->job, starts->tile, starts->phase,
                 starts->start_ns);
  ck_assert_int_eq(schedule->plan->hyperperiod_ns, hyperperiod_ns);
}

static const char one_task[] =
    "{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 3; prefetch: { wcet_ns = 10L; };"
    " compute: { wcet_ns = 30L; }; writeback: { wcet_ns = 5L; }; }";

GROUP("by_hand");

TEST(one_buffer_holds_a_tile_at_a_time) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(file_of("blocks = 1; guard_ns = 2L;", one_task));
  assert_plan(schedule, 2 * 51 + 49,
              (phase_start[]){{"a", 0, 0, PREM_PREFETCH, 0},
                              {"a", 0, 0, PREM_COMPUTE, 12},
                              {"a", 0, 0, PREM_WRITEBACK, 44},
                              {"a", 0, 1, PREM_PREFETCH, 51},
                              {0}});
}

TEST(two_buffers_fetch_ahead) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(file_of("blocks = 1; guard_ns = 2L; buffers = 2;", one_task));
  assert_start(schedule, "a", 0, 1, PREM_PREFETCH, 12);
  assert_start(schedule, "a", 0, 1, PREM_COMPUTE, 44);
  assert_start(schedule, "a", 0, 2, PREM_PREFETCH, 51); /* the memory unit is busy from 44 to 49 */
  assert_start(schedule, "a", 0, 2, PREM_COMPUTE, 76);
}

static const char *streaming(const char *settings) {
  return file_of("blocks = 1; buffers = 2;",
                 text("{ name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 6; %s"
                      " prefetch: { wcet_ns = 25L; }; compute: { wcet_ns = 17L; };"
                      " writeback: { wcet_ns = 12L; }; }",
                      settings));
}

/* The memory unit has 6 times 25 and 12, and rests for 5 while the last tile is computed. */
TEST(a_prefetch_comes_before_the_writeback_of_the_tile_before) {
  OWNED(prem_schedule) *schedule = prepared_schedule(streaming(""));
  assert_plan(schedule, 227,
              (phase_start[]){{"a", 0, 1, PREM_PREFETCH, 25},
                              {"a", 0, 0, PREM_WRITEBACK, 50},
                              {"a", 0, 2, PREM_PREFETCH, 62},
                              {"a", 0, 1, PREM_WRITEBACK, 87},
                              {0}});
}

TEST(a_deadline_that_tile_after_tile_misses_is_kept) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(streaming("period_ns = 240L; deadline_ns = 227L;"));
  assert_start(schedule, "a", 0, 5, PREM_WRITEBACK, 215);
}

TEST(starts_lie_on_the_clock_grid) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(file_of("blocks = 1; clock_step_ns = 32L;", one_task));
  assert_plan(schedule, 3 * 96,
              (phase_start[]){{"a", 0, 0, PREM_COMPUTE, 32},
                              {"a", 0, 0, PREM_WRITEBACK, 64},
                              {"a", 0, 1, PREM_PREFETCH, 96},
                              {0}});
}

static const char *fetchers(const char *settings, const char *of_each) {
  return file_of(text("blocks = 4; guard_ns = 1L; %s", settings),
                 text("{ name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2; %s },"
                      "{ name = \"b\"; kernel = \"none\"; blocks = [ 2, 3 ]; tiles = 2; %s }",
                      of_each, of_each));
}

TEST(a_resource_is_used_up_to_its_capacity) {
  OWNED(prem_schedule) *schedule = prepared_schedule(fetchers(
      "resources = ( { name = \"memory\"; capacity = 3; } );", "prefetch: { wcet_ns = 10L; };"));
  assert_start(schedule, "a", 0, 1, PREM_PREFETCH, 0);
  assert_start(schedule, "b", 0, 0, PREM_PREFETCH, 0);
  assert_start(schedule, "b", 0, 1, PREM_PREFETCH, 11);
}

TEST(a_phase_holds_its_resources_while_busy_only) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(fetchers("resources = ( { name = \"memory\"; capacity = 1; } );",
                                 "prefetch: { wcet_ns = 10L; busy_ns = 4L; };"));
  assert_start(schedule, "a", 0, 1, PREM_PREFETCH, 5);
  assert_start(schedule, "b", 0, 1, PREM_PREFETCH, 15);
}

TEST(a_gang_fetches_together) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      fetchers("resources = ( { name = \"memory\"; capacity = 1; per = \"task\"; } );",
               "prefetch: { wcet_ns = 10L; };"));
  assert_start(schedule, "a", 0, 1, PREM_PREFETCH, 0);
  assert_start(schedule, "b", 0, 0, PREM_PREFETCH, 11);
  assert_start(schedule, "b", 0, 1, PREM_PREFETCH, 11);
}

TEST(a_gang_too_large_for_a_resource_of_blocks_is_placed_tile_by_tile) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      fetchers("resources = ( { name = \"memory\"; capacity = 2; per = \"task\"; },"
               " { name = \"bus\"; capacity = 1; } );",
               "prefetch: { wcet_ns = 10L; demand: { memory = 1; bus = 1; }; };"));
  assert_start(schedule, "a", 0, 1, PREM_PREFETCH, 11);
  assert_start(schedule, "b", 0, 1, PREM_PREFETCH, 33);
}

TEST(a_job_follows_its_predecessor_by_lag_or_guard) {
  const char *form =
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
      "  prefetch: { wcet_ns = 4L; }; after = ( { task = \"a\"; lag_ns = %dL; } ); },"
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
      "  prefetch: { wcet_ns = 10L; }; }";
  prem_schedule *schedule = prepared_schedule(file_of("blocks = 2; guard_ns = 3L;", text(form, 8)));
  assert_start(schedule, "b", 0, 0, PREM_PREFETCH, 23 + 8);
  prem_schedule_free(schedule);
  schedule = prepared_schedule(file_of("blocks = 2; guard_ns = 3L;", text(form, 0)));
  assert_start(schedule, "b", 0, 0, PREM_PREFETCH, 23 + 3);
  prem_schedule_free(schedule);
}

TEST(a_job_follows_its_predecessor_by_what_telling_it_takes) {
  const char *tasks =
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; prefetch: { wcet_ns = 10L; }; "
      "},"
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1;"
      "  prefetch: { wcet_ns = 4L; }; after = ( { task = \"a\"; lag_ns = 8L; } ); }";
  OWNED(prem_schedule) *schedule =
      prepared_schedule(file_of("blocks = 2; precedence_ns = 9L;", tasks));
  assert_start(schedule, "b", 0, 0, PREM_PREFETCH, 10 + 9);
  prem_machine machine;
  prem_schedule_machine(schedule, &machine);
  ck_assert_int_eq(machine.precedence_ns, 9);
  machine.precedence_ns = 11;
  OWNED(prem_plan) *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, &machine, NULL, &plan, NULL), PREM_OK);
  ck_assert_int_eq(plan->hyperperiod_ns, 10 + 11 + 4);
}

TEST(the_urgent_job_comes_first_and_gaps_are_filled) {
  /* slow would keep the block busy for 60 at a time if it were placed first */
  OWNED(prem_schedule) *schedule = prepared_schedule(
      file_of("blocks = 1;",
              "{ name = \"slow\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 3; period_ns = 400L;"
              "  compute: { wcet_ns = 60L; }; },"
              "{ name = \"fast\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;"
              "  deadline_ns = 30L; compute: { wcet_ns = 20L; }; }"));
  assert_plan(schedule, 400,
              (phase_start[]){{"fast", 0, 0, PREM_COMPUTE, 0},
                              {"fast", 3, 0, PREM_COMPUTE, 300},
                              {"slow", 0, 0, PREM_COMPUTE, 20},
                              {"slow", 0, 1, PREM_COMPUTE, 120},
                              {"slow", 0, 2, PREM_COMPUTE, 220},
                              {0}});
}

TEST(latest_joins_jobs_of_unequal_periods) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      file_of("blocks = 2;",
              "{ name = \"fast\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;"
              "  prefetch: { wcet_ns = 20L; }; },"
              "{ name = \"slow\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 300L;"
              "  release_ns = 150L; compute: { wcet_ns = 20L; };"
              "  after = ( { task = \"fast\"; instance = \"latest\"; lag_ns = 40L; } ); }"));
  assert_start(schedule, "slow", 0, 0, PREM_COMPUTE, 160);
}

TEST(a_one_shot_beside_periodic_tasks_runs_once) {
  OWNED(prem_schedule) *schedule = prepared_schedule(
      file_of("blocks = 1;",
              "{ name = \"p\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 50L;"
              "  deadline_ns = 20L; prefetch: { wcet_ns = 20L; }; },"
              "{ name = \"q\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;"
              "  prefetch: { wcet_ns = 5L; }; },"
              "{ name = \"once\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
              "  prefetch: { wcet_ns = 30L; }; }"));
  assert_start(schedule, "q", 0, 0, PREM_PREFETCH, 20);
  assert_start(schedule, "once", 0, 0, PREM_PREFETCH, 70);
}

TEST(nothing_starts_before_the_warmup_is_over) {
  OWNED(prem_schedule) *schedule =
      prepared_schedule(text("version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ( %s );"
                             "policy: { warmup_tiles = 1; warmup_ns = 1000L; };",
                             one_task));
  assert_start(schedule, "a", 0, 1, PREM_PREFETCH, 1000);
  ck_assert_int_eq(find_slot(schedule, "a", 0, 0, PREM_PREFETCH).flags,
                   PREM_SLOT_WARMUP | PREM_SLOT_CHAINED);
  ck_assert_int_eq(schedule->plan->hyperperiod_ns, 1090);
}

/* ---- refused, each with its legal twin ------------------------------------------------------ */

GROUP("refused");

/* As the closed forms are, and each with its legal twin. */
TEST(sets_are_refused_and_their_twins_are_planned) {
  cases_judge("schedules/plan_cases.txt");
}

TEST(a_policy_that_does_not_exist) {
  const char *form = "version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ( %s );"
                     "policy: { use = \"auto\"; };";
  OWNED(prem_schedule) *schedule = schedule_from_text(text(form, one_task));
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_plan) *plan = NULL;
  prem_plan_options options = {.policy = "tile_kernelwize"};
  ck_assert_int_eq(prem_plan_make(schedule, NULL, &options, &plan, diag), PREM_ERR_INVALID);
  ck_assert_ptr_null(plan);
  ck_assert(prem_diag_has(diag, 24));
  options.policy = "tile_kernelwise";
  ck_assert_int_eq(prem_plan_make(schedule, NULL, &options, &plan, diag), PREM_OK);
  ck_assert_str_eq(plan->policy, "tile_kernelwise");
}

/* ---- random sets against the checker -------------------------------------------------------- */

enum { SETS = ROUNDS(400) };

static void assert_passes(const char *source, prem_schedule *schedule, prem_plan *plan) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_schedule_set_plan(schedule, plan);
  if (prem_check(schedule, NULL, diag) != PREM_OK) {
    printf("%s\n", source);
    abort_with("check", diag);
  }
}

/* A search finds no less than what it begins with, nothing that the checker refuses, and nothing
 * below the bound. */
static void search_from(const char *source, prem_schedule *schedule, bool planned) {
  prem_plan_report before, after;
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = 60};
  prem_plan *plan = NULL;
  prem_status status = prem_plan_make_reported(schedule, NULL, NULL, &plan, &before, NULL);
  prem_plan_free(plan);
  ck_assert((status == PREM_OK) == planned);
  status = prem_plan_make_reported(schedule, NULL, &options, &plan, &after, NULL);
  ck_assert((status == PREM_OK) == (after.verdict == PREM_PLAN_FEASIBLE));
  ck_assert(!planned || status == PREM_OK);
  if (planned && !after.periodic) {
    ck_assert_int_le(after.makespan_ns, before.makespan_ns);
    ck_assert_int_le(after.lower_bound_ns, after.makespan_ns);
  }
  if (planned && after.periodic)
    ck_assert_int_ge(after.min_slack_ns, before.min_slack_ns);
  if (status == PREM_OK)
    assert_passes(source, schedule, plan);
}

GROUP("random");

/* The checker finds nothing, whatever the set; most sets have a plan. */
TESTS(random_sets_pass_the_checker, 4) {
  int planned = 0;
  for (int i = 0; i < SETS; ++i) {
    const random_set set = random_set_draw((uint32_t)(_i * SETS + i));
    const char *source = random_set_text(&set);
    OWNED(prem_schedule) *schedule = schedule_from_text(source);
    OWNED(prem_diag) *diag = prem_diag_new();
    prem_plan *plan = NULL;
    prem_status status = prem_plan_make(schedule, NULL, NULL, &plan, diag);
    if (status != PREM_OK && status != PREM_ERR_INFEASIBLE)
      abort_with("plan", diag);
    ck_assert((prem_diag_errors(diag) > 0) == (status != PREM_OK));
    if (plan)
      assert_passes(source, schedule, plan);
    planned += plan != NULL;
    search_from(source, schedule, plan != NULL);
  }
  ck_assert_int_gt(planned, SETS / 2);
}

/* ---- every file that comes with the project ------------------------------------------------- */

/* Relative names count from the schedule's folder, where the pictures are not; that they can be
 * opened is all that planning asks. */
static void copy_with_pictures(const char *pattern, const char *folder) {
  char command[1024];
  snprintf(command, sizeof command,
           "cp %s/%s %s/ && cp -r %s/schedules/examples/profiles %s/ && "
           "touch %s/frame.png %s/scene.png",
           SOURCE_DIR, pattern, folder, SOURCE_DIR, folder, folder, folder);
  ck_assert_int_eq(system(command), 0);
}

/* Its times are measured on the machine that it is for, and nobody has done so yet. */
static bool waits_for_its_profile(const char *path) {
  OWNED(prem_schedule) *schedule = NULL;
  ck_assert_int_eq(prem_schedule_load(path, NULL, &schedule, NULL), PREM_OK);
  ck_assert_int_eq(prem_schedule_bind(schedule, prem_registry_builtin(), NULL), PREM_OK);
  bool waits = false;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    waits |= schedule->tasks[t].profile[0] && !prem_task_profiled(&schedule->tasks[t]);
  return waits;
}

static void plan_all(const char *pattern, size_t min) {
  char folder[] = "/tmp/ttprem-files-XXXXXX", files[64], command[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  copy_with_pictures(pattern, folder);
  snprintf(files, sizeof files, "%s/*.cfg", folder);
  glob_t found;
  ck_assert_int_eq(glob(files, 0, NULL, &found), 0);
  size_t planned = 0;
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    if (strstr(found.gl_pathv[i], ".profile.cfg") || waits_for_its_profile(found.gl_pathv[i]))
      continue;
    prem_schedule_free(planned_schedule(found.gl_pathv[i]));
    ++planned;
  }
  globfree(&found);
  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
  ck_assert_uint_ge(planned, min);
}

GROUP("files");

TEST(all_examples_are_planned) {
  plan_all("schedules/examples/*.cfg", 11);
}

TEST(all_figures_are_planned) {
  plan_all("schedules/figures/*.cfg", 4);
}
