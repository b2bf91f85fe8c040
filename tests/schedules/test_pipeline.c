/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of joined phases: when the planner makes them, and that they hold. */
#include "schedules/planner/greedy/pipeline.h"
#include "tests/common/random_set.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SETS = ROUNDS(400), STEPS = ROUNDS(300) };

static prem_schedule *planned(const char *source, prem_plan_report *report) {
  prem_schedule *schedule = schedule_from_text(source);
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = STEPS};
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make_reported(schedule, NULL, &options, &plan, report, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
  return schedule;
}

static int joined_runs(const prem_schedule *schedule) {
  int count = 0;
  for (int32_t i = 0; i < schedule->plan->affine_count; ++i)
    count += schedule->plan->affine[i].join_task >= 0;
  return count;
}

/* 600 tiles on 4 blocks; two copies at once take less than one after the other. */
static const char regular[] =
    "version = 1; name = \"t\"; platform: { blocks = 4; buffers = %d; guard_ns = %dL; }; tasks = ("
    "{ name = \"a\"; kernel = \"none\"; blocks = 4; tiles = 600; prefetch: { wcet_ns = 20L; };"
    "  compute: { wcet_ns = %dL; }; writeback: { wcet_ns = 15L; }; %s } );";

TEST(joined_phases_shorten_a_regular_plan) {
  prem_plan_report report;
  OWNED(prem_schedule) *schedule =
      planned(text(regular, 2, 0, 80, "joined: { wcet_ns = 25L; };"), &report);
  ck_assert_str_eq(report.method, "pipelines");
  ck_assert_int_gt(joined_runs(schedule), 0);
  ck_assert_int_le(report.makespan_ns, 600 * 25 + 500); /* apart they need 600 x 35 of memory */
  ck_assert_int_le(report.lower_bound_ns, report.makespan_ns);
  ck_assert_int_le(schedule->plan->affine_count, 60);
  ck_assert_int_eq(schedule->plan->starts_count, 0);
}

TEST(a_guard_less_is_worth_it) {
  prem_plan_report report;
  OWNED(prem_schedule) *schedule = planned(text(regular, 2, 10, 60, ""), &report);
  ck_assert_str_eq(report.method, "pipelines");
  ck_assert_int_le(report.makespan_ns, 600 * 45 + 600); /* apart: 600 x 55 */
}

TEST(where_nothing_is_gained_nothing_is_joined) {
  prem_plan_report report;
  prem_schedule *schedule = planned(text(regular, 2, 0, 80, ""), &report);
  ck_assert_str_ne(report.method, "pipelines");
  ck_assert_int_eq(joined_runs(schedule), 0);
  prem_schedule_free(schedule);
  schedule = planned(text(regular, 1, 10, 80, "joined: { wcet_ns = 25L; };"), &report);
  ck_assert_int_eq(joined_runs(schedule), 0); /* one buffer */
  prem_schedule_free(schedule);
}

/* With two buffers a block waits for its compute, with three the others' turns fill the time. */
TEST(deeper_buffers_are_used) {
  prem_plan_report two, three;
  const char *joined = "joined: { wcet_ns = 25L; };";
  prem_schedule_free(planned(text(regular, 2, 0, 100, joined), &two));
  prem_schedule_free(planned(text(regular, 3, 0, 100, joined), &three));
  ck_assert_int_le(three.makespan_ns, two.makespan_ns);
}

static bool judge_pipelines(prem_schedule *schedule, const prem_planning *planning, int32_t depth) {
  prem_draft draft;
  bool planned = prem_plan_pipelines(planning, depth, &draft) == PREM_OK;
  bool joined = planned && draft.slot_count > 0;
  if (planned) {
    prem_plan *plan = prem_plan_new();
    ck_assert_int_eq(prem_planning_compress(planning, &draft, plan), PREM_OK);
    plan->clock_step_ns = planning->grid_ns;
    prem_schedule_set_plan(schedule, plan);
    assert_checked(schedule);
    prem_schedule_set_plan(schedule, NULL);
  }
  free(draft.placements);
  free(draft.slots);
  return joined;
}

/* Whatever the set, what comes of pipelines alone is legal. */
TEST(random_pipelines_pass_the_checker) {
  int served = 0;
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    const random_set set = random_set_draw(seed + 5000);
    OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(&set));
    const prem_planning planning = {
        .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
    bool plannable = schedule->policy.warmup_tiles == 0 && prem_planning_supplied(&planning);
    for (int32_t depth = 2; depth <= schedule->platform.buffers && plannable; ++depth)
      served += judge_pipelines(schedule, &planning, depth);
  }
  ck_assert_int_gt(served, SETS / 20);
}
