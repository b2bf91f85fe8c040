/* SPDX-License-Identifier: Apache-2.0 */
/* The search: planted optima, deterministic and interruptible, deadlines that only a search keeps.
 */
/* ctest: release long */
#include "schedules/planner/greedy/greedy.h"
#include "schedules/planner/proof/exact.h"
#include "schedules/planner/search/model.h"
#include "tests/common/planted.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static prem_schedule *planted_schedule(int32_t tiles, int32_t blocks, int64_t *optimum_ns) {
  FILE *file = print_begin();
  FREED planted_tile *drawn = (planted_tile *)malloc((size_t)tiles * sizeof *drawn);
  ck_assert(drawn);
  *optimum_ns = planted_draw(drawn, tiles, blocks, 11);
  planted_print(file, drawn, tiles, blocks, 5);
  return print_end(file);
}

static prem_plan_report searched(prem_schedule *schedule, int64_t steps, uint64_t seed) {
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = steps, .seed = seed};
  prem_plan_report report;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  if (prem_plan_make_reported(schedule, NULL, &options, &plan, &report, diag) != PREM_OK)
    abort_with("plan", diag);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
  return report;
}

/* ---- planted optima ------------------------------------------------------------------------- */

static void assert_near(int32_t tiles, int32_t blocks, int64_t steps, double max_pct) {
  int64_t optimum_ns;
  OWNED(prem_schedule) *schedule = planted_schedule(tiles, blocks, &optimum_ns);
  prem_plan_report report = searched(schedule, steps, 1);
  ck_assert_int_le(report.lower_bound_ns, optimum_ns);
  ck_assert_int_ge(report.makespan_ns, optimum_ns);
  ck_assert_int_eq(report.phases, 3 * (int64_t)tiles);
  ck_assert(report.optimal == (report.makespan_ns == report.lower_bound_ns));
  double gap_pct = 100.0 * (double)(report.makespan_ns - optimum_ns) / (double)optimum_ns;
  if (gap_pct > max_pct)
    ck_abort_msg("%d tiles on %d blocks: %.3f %% above the optimum", tiles, blocks, gap_pct);
}

GROUP("optima");

TEST(planted_optima_are_nearly_reached) {
  assert_near(50, 4, 20000, 1);
  assert_near(200, 8, 6000, 0.5);
  assert_near(500, 33, 2000, 0.5);
  assert_near(2000, 132, 200, 0.5);
}

/* ---- gangs ---------------------------------------------------------------------------------- */

static prem_schedule *planted_gangs_schedule(const planted_gangs *set) {
  FILE *file = print_begin();
  planted_gangs_print(file, set);
  return print_end(file);
}

static double gang_gap_pct(const planted_gangs *set, int64_t steps) {
  OWNED(prem_schedule) *schedule = planted_gangs_schedule(set);
  prem_plan_report report = searched(schedule, steps, 1);
  ck_assert_int_le(report.lower_bound_ns, set->optimum_ns);
  ck_assert_int_ge(report.makespan_ns, set->optimum_ns);
  return 100.0 * (double)(report.makespan_ns - set->optimum_ns) / (double)set->optimum_ns;
}

/* Phases of one gang that do not start together are no rivals. */
TEST(gangs_with_a_second_resource_come_near_their_optima) {
  enum { SETS = 200, FEW_STEPS = 1000, STEPS = 15000 };
  static const double max_pct = 2;
  double sum_pct = 0, worst_pct = 0;
  for (uint64_t seed = 0; seed < SETS; ++seed) {
    planted_gangs set = planted_gangs_draw(seed);
    double gap_pct = gang_gap_pct(&set, FEW_STEPS);
    if (gap_pct > max_pct)
      gap_pct = gang_gap_pct(&set, STEPS);
    if (gap_pct > max_pct)
      ck_abort_msg("set %d: %.2f %% above the optimum", (int)seed, gap_pct);
    sum_pct += gap_pct;
    worst_pct = gap_pct > worst_pct ? gap_pct : worst_pct;
  }
  printf("gangs: %d sets, %.3f %% above the optimum in the mean, %.2f %% at worst\n", SETS,
         sum_pct / SETS, worst_pct);
}

static int64_t constructed_ns(const char *text) {
  OWNED(prem_schedule) *schedule = schedule_from_text(text);
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
  int64_t length_ns = plan->hyperperiod_ns;
  return length_ns;
}

GROUP("all");

/* The constructive planner alone. */
TEST(a_gang_is_no_rival_of_itself) {
  ck_assert_int_eq(
      constructed_ns(
          "version = 1; name = \"t\"; platform: { blocks = 4; buffers = 2; resources = ("
          " { name = \"memory\"; capacity = 1; per = \"task\"; },"
          " { name = \"bus\"; capacity = 2; } ); };"
          "tasks = ( { name = \"t\"; kernel = \"none\"; blocks = 4; tiles = 8;"
          " prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 13L; demand: { bus = 1; }; };"
          " writeback: { wcet_ns = 6L; }; } );"),
      63);
  ck_assert_int_eq(
      constructed_ns("version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; resources = ("
                     " { name = \"memory\"; capacity = 1; per = \"task\"; } ); };"
                     "tasks = ( { name = \"t\"; kernel = \"none\"; blocks = 1; tiles = 8;"
                     " prefetch: { wcet_ns = 10L; };"
                     " compute: { wcet_ns = 10L; demand: { memory = 1; }; };"
                     " writeback: { wcet_ns = 10L; }; } );"),
      160);
}

/* ---- projects ------------------------------------------------------------------------------- */

static const char project[] =
    "version = 1; name = \"t\"; platform: { blocks = 6; resources = ( { name = \"memory\";"
    " capacity = 4; } ); };\ntasks = (\n"
    "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; prefetch: { wcet_ns = 4L;"
    "  demand: { memory = 3; }; }; },"
    "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; prefetch: { wcet_ns = 6L;"
    "  demand: { memory = 2; }; }; },"
    "{ name = \"c\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; prefetch: { wcet_ns = 3L;"
    "  demand: { memory = 2; }; }; after = ( { task = \"a\"; } ); },"
    "{ name = \"d\"; kernel = \"none\"; blocks = [ 3 ]; tiles = 1; prefetch: { wcet_ns = 5L;"
    "  demand: { memory = 1; }; }; after = ( { task = \"a\"; } ); },"
    "{ name = \"e\"; kernel = \"none\"; blocks = [ 4 ]; tiles = 1; prefetch: { wcet_ns = 3L;"
    "  demand: { memory = 2; }; }; },"
    "{ name = \"f\"; kernel = \"none\"; blocks = [ 5 ]; tiles = 1; prefetch: { wcet_ns = 2L;"
    "  demand: { memory = 1; }; }; after = ( { task = \"c\"; lag_ns = 2L; } ); }\n);";

TEST(equal_seeds_and_steps_give_equal_plans) {
  int64_t optimum_ns;
  OWNED(prem_schedule) *one = planted_schedule(60, 5, &optimum_ns);
  OWNED(prem_schedule) *other = planted_schedule(60, 5, &optimum_ns);
  ck_assert_int_eq(searched(one, 500, 3).makespan_ns, searched(other, 500, 3).makespan_ns);
  prem_slot *slots[2];
  int64_t count[2];
  prem_plan_expand(one, one->plan, &slots[0], &count[0], NULL);
  prem_plan_expand(other, other->plan, &slots[1], &count[1], NULL);
  ck_assert_int_eq(count[0], count[1]);
  for (int64_t i = 0; i < count[0]; ++i)
    ck_assert_int_eq(slots[0][i].planned_ns, slots[1][i].planned_ns);
  free(slots[0]);
  free(slots[1]);
}

TEST(a_project_is_planned_to_its_optimum) {
  OWNED(prem_schedule) *schedule = schedule_from_text(project);
  prem_plan_report report = searched(schedule, 2000, 0);
  ck_assert_int_eq(report.makespan_ns, 13); /* 12 would leave one unit of memory idle in all */
  ck_assert(!report.due);
}

/* Lawrence 1984, 10 x 5, number 3: machine and length of each operation. */
static const int32_t job_shop[10][5][2] = {
    {{1, 23}, {2, 45}, {0, 82}, {4, 84}, {3, 38}}, {{2, 21}, {1, 29}, {0, 18}, {4, 41}, {3, 50}},
    {{2, 38}, {3, 54}, {4, 16}, {0, 52}, {1, 52}}, {{4, 37}, {0, 54}, {2, 74}, {1, 62}, {3, 57}},
    {{4, 57}, {0, 81}, {1, 61}, {3, 68}, {2, 30}}, {{4, 81}, {0, 79}, {1, 89}, {2, 89}, {3, 11}},
    {{3, 33}, {2, 20}, {0, 91}, {4, 20}, {1, 66}}, {{4, 24}, {1, 84}, {0, 32}, {2, 55}, {3, 8}},
    {{4, 56}, {0, 7}, {3, 54}, {2, 64}, {1, 39}},  {{4, 40}, {1, 83}, {0, 19}, {2, 8}, {3, 7}}};

/* Operations on the blocks of their machines. */
static prem_schedule *job_shop_schedule(void) {
  FILE *file = print_begin();
  fputs("version = 1; name = \"t\"; platform: { blocks = 5; resources = ("
        " { name = \"memory\"; capacity = 5; } ); };\ntasks = (\n",
        file);
  for (int j = 0; j < 10; ++j)
    for (int k = 0; k < 5; ++k) {
      fprintf(file,
              "%s{ name = \"j%dk%d\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
              " prefetch: { wcet_ns = %dL; };",
              j + k ? ",\n" : "", j, k, job_shop[j][k][0], job_shop[j][k][1]);
      if (k > 0)
        fprintf(file, " after = ( { task = \"j%dk%d\"; } );", j, k - 1);
      fputs(" }", file);
    }
  fputs("\n);\n", file);
  return print_end(file);
}

/* Without a way out of local optima 603 is as far as a hundred thousand schedules get. */
TEST(job_shops_do_not_stick) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    OWNED(prem_schedule) *schedule = job_shop_schedule();
    ck_assert_int_eq(searched(schedule, 40000, seed).makespan_ns, 597);
  }
}

/* No operator goes on for long behind the limit, which is looked at every 64 moves, 16 steps. */
TEST(steps_are_limited) {
  OWNED(prem_schedule) *schedule = job_shop_schedule();
  for (int64_t limit = 50; limit <= 1000; limit += 50) {
    const int64_t steps = searched(schedule, limit, 1).steps;
    ck_assert_int_ge(steps, limit);
    ck_assert_int_le(steps, limit + 16);
  }
}

TEST(without_time_there_is_no_search) {
  OWNED(prem_schedule) *schedule = schedule_from_text(project);
  prem_plan_options options = {.step_limit = 1000};
  prem_plan_report report;
  OWNED(prem_plan) *plan = NULL;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL),
                   PREM_OK);
  ck_assert_int_eq(report.steps, 0);
  ck_assert_str_eq(report.method, "constructive");
}

static void stop_it(void *context, const prem_plan_progress *progress) {
  volatile sig_atomic_t *stop = context;
  *stop = progress->steps > 0;
}

TEST(a_search_that_is_stopped_keeps_its_best_plan) {
  int64_t optimum_ns;
  volatile sig_atomic_t stop = 0;
  OWNED(prem_schedule) *schedule = planted_schedule(600, 6, &optimum_ns);
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS,
                               .stop = &stop,
                               .progress = stop_it,
                               .progress_context = (void *)&stop};
  prem_plan_report report;
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL),
                   PREM_OK);
  ck_assert(stop || report.optimal);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
}

static prem_schedule *text_of(const char *text) {
  prem_schedule *schedule = NULL;
  ck_assert_int_eq(prem_schedule_load_text("t", text, &schedule, NULL), PREM_OK);
  ck_assert_int_eq(prem_schedule_bind(schedule, prem_registry_builtin(), NULL), PREM_OK);
  return schedule;
}

/* Five million phases, which take seconds: nobody waits for a plan that nobody wants. */
TEST(a_stop_is_seen_before_there_is_a_plan) {
  static const char many[] =
      "version = 1; name = \"t\"; platform: { blocks = 8; };\ntasks = (\n"
      "{ name = \"a\"; kernel = \"none\"; blocks = 8; tiles = 1700000; prefetch: { wcet_ns = 30L; "
      "};"
      "  compute: { wcet_ns = 40L; }; writeback: { wcet_ns = 20L; }; }\n);\n";
  volatile sig_atomic_t stop = 1;
  OWNED(prem_schedule) *schedule = text_of(many);
  prem_plan_options options = {.stop = &stop};
  prem_plan_report report;
  prem_plan *plan;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL),
                   PREM_ERR_INTERRUPTED);
  ck_assert_ptr_null(plan);
  ck_assert_msg(report.seconds < 5, "after %.1f s",
                report.seconds); /* a second, if nobody else works */
  ck_assert(report.verdict == PREM_PLAN_UNKNOWN);
}

/** What takes no half second is made all the same. */
TEST(a_stop_from_the_start_leaves_the_constructive_plan) {
  volatile sig_atomic_t stop = 1;
  OWNED(prem_schedule) *schedule = text_of(
      "version = 1; name = \"t\"; platform: { blocks = 2; };\ntasks = (\n"
      "{ name = \"a\"; kernel = \"none\"; blocks = 2; tiles = 8; prefetch: { wcet_ns = 30L; }; }"
      "\n);\n");
  prem_plan_options options = {.stop = &stop, .time_limit_ns = 1000000000};
  OWNED(prem_plan) *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, &options, &plan, NULL), PREM_OK);
}

/* ---- deadlines ------------------------------------------------------------------------------ */

/* Latest finish first lets `long` in before the urgent one is released. */
static const char late[] =
    "version = 1; name = \"t\"; platform: { blocks = 2; };\ntasks = (\n"
    "{ name = \"long\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; deadline_ns = 60L;"
    "  prefetch: { wcet_ns = 30L; }; },"
    "{ name = \"urgent\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; release_ns = 10L;"
    "  deadline_ns = 20L; prefetch: { wcet_ns = 10L; }; },"
    "{ name = \"first\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; deadline_ns = 61L;"
    "  prefetch: { wcet_ns = 10L; }; } );";

TEST(deadlines_come_before_the_makespan) {
  OWNED(prem_schedule) *schedule = schedule_from_text(late);
  prem_plan_report report = searched(schedule, 500, 0);
  ck_assert(report.due);
  ck_assert_int_ge(report.min_slack_ns, 0);
  ck_assert_int_eq(report.makespan_ns, 50);
}

TEST(periodic_sets_get_the_largest_slack) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 2; };\ntasks = (\n"
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;"
      "  deadline_ns = 100L; prefetch: { wcet_ns = 30L; }; },"
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 200L;"
      "  deadline_ns = 190L; prefetch: { wcet_ns = 60L; }; } );");
  prem_plan_report report = searched(schedule, 500, 0);
  ck_assert(report.periodic && report.due);
  ck_assert_int_eq(report.min_slack_ns, 70); /* a needs 30 of its 100 */
  ck_assert(report.optimal);
}

TEST(equal_tiles_keep_a_regular_plan) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      "version = 1; name = \"t\"; platform: { blocks = 4; };\ntasks = ( { name = \"a\";"
      " kernel = \"none\"; blocks = 4; tiles = 400; prefetch: { wcet_ns = 10L; };"
      " compute: { wcet_ns = 45L; }; writeback: { wcet_ns = 5L; }; } );");
  searched(schedule, 300, 0);
  ck_assert_int_le(schedule->plan->affine_count, 40);
  ck_assert_int_eq(schedule->plan->starts_count, 0);
}

/* The gang goes together across the end of the hyperperiod alone, which only the exact engine
 * finds; apart, as the search would go on from there, it would be in time earlier. */
TEST(a_gang_that_was_solved_stays_together) {
  if (!prem_exact_engine())
    return;
  const char *form = "{ name = \"%s\"; kernel = \"none\"; blocks = [ %s ]; tiles = %d;"
                     " period_ns = %dL; release_ns = %dL; deadline_ns = %dL; %s"
                     " prefetch: { wcet_ns = %dL; }; }";
  const char *nothing = "wcet_ns = 2L; demand: { memory = 0; };";
  OWNED(prem_schedule) *schedule = schedule_from_text(text(
      "version = 1; name = \"t\"; platform: { blocks = 5; buffers = 2; resources = ("
      " { name = \"memory\"; capacity = 2; } ); }; policy: { objective = \"slack\"; };"
      "tasks = ( %s, %s, %s, { name = \"pair\"; kernel = \"none\"; blocks = [ 4 ]; tiles = 1;"
      " period_ns = 24L; prefetch: { %s }; writeback: { %s }; joined: { %s }; } );",
      text(form, "x", "2", 1, 12, 2, 8, "", 8), text(form, "z", "3", 1, 24, 10, 4, "", 4),
      text(form, "gang", "0, 1", 2, 24, 4, 24, "together = true;", 4), nothing, nothing, nothing));
  const prem_plan_options options = {.time_limit_ns = 20000000000};
  prem_plan_report report;
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL),
                   PREM_OK);
  ck_assert_str_eq(report.method, "exact");
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
}

/* Every tile of b after every tile of a in the hyperperiod before: too many pairs are not searched.
 */
static prem_status modelled(int before, int behind) {
  const char *form = "{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = %d;"
                     " period_ns = 2000L; release_ns = %dL; prefetch: { wcet_ns = 1L; }; %s }";
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ( %s, %s );",
           text(form, "a", 0, before, 10, ""),
           text(form, "b", 1, behind, 0, "after = ( { task = \"a\"; instance = \"latest\"; } );")));
  const prem_planning planning = {
      .schedule = schedule, .grid_ns = 1, .policy = "auto", .judge = prem_check};
  prem_draft draft = {0};
  prem_model model;
  ck_assert_int_eq(prem_plan_constructive(&planning, &draft), PREM_OK);
  const prem_status status = prem_model_build(&planning, &draft, &model);
  if (status == PREM_OK) {
    ck_assert_int_eq(model.wrap_count, before * behind);
    prem_model_free(&model);
  }
  free(draft.placements);
  free(draft.slots);
  return status;
}

TEST(ten_thousand_pairs_across_the_end_are_searched) {
  ck_assert_int_eq(modelled(100, 100), PREM_OK);
  ck_assert_int_eq(modelled(73, 137), PREM_ERR_UNAVAILABLE);
}
