/* SPDX-License-Identifier: Apache-2.0 */
/* Starts of a plan that stand for no tile, and bounds where a guard is longer than the gap. */
#include "schedules/planner/proof/bounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* ---- starts ---------------------------------------------------------------------------------- */

static prem_status expand_starts(int tiles, int block, int *problems) {
  OWNED(prem_schedule) *schedule = schedule_from_text(text(
      "version = 1; name = \"t\"; platform: { blocks = 2; };"
      "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 2; tiles = %d;"
      "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; }; } );"
      "plan: { hyperperiod_ns = 1000L; warmup_tiles = 2; warmup_ns = 80L;"
      "  starts = ( { task = \"a\"; phase = \"prefetch\"; block = %d; start_ns = [ 90L ]; } ); };",
      tiles, block));
  OWNED(prem_diag) *diag = prem_diag_new();
  FREED prem_slot *slots = NULL;
  int64_t count = 0;
  const prem_status status = prem_plan_expand(schedule, schedule->plan, &slots, &count, diag);
  *problems = (int)prem_diag_has(diag, 30);
  return status;
}

TEST(a_block_of_warm_up_alone_has_no_starts) {
  int problems = 0;
  ck_assert_int_eq(expand_starts(4, 0, &problems), PREM_ERR_INVALID);
  ck_assert_int_eq(problems, 1);
  ck_assert_int_eq(expand_starts(5, 1, &problems), PREM_ERR_INVALID);
  ck_assert_int_eq(problems, 1);
  ck_assert_int_eq(expand_starts(5, 0, &problems), PREM_OK);
  ck_assert_int_eq(problems, 0);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static int64_t bound_of(const char *platform, const char *tasks) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { %s }; tasks = ( %s );", platform, tasks));
  prem_planning planning = {
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
  int64_t bound_ns = -1;
  ck_assert(prem_planning_lower_bound(&planning, &bound_ns));
  prem_planning_raise_bound(&planning, INT64_MAX, NULL, &bound_ns);
  return bound_ns;
}

static const char *fetching(const char *name, int block, int fetch_ns, int compute_ns) {
  return text("{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
              " prefetch: { wcet_ns = %dL; }; compute: { wcet_ns = %dL; }; }",
              name, block, fetch_ns, compute_ns);
}

/* Two fetches with a guard between them, and none behind the second one: its compute is chained. */
TEST(no_guard_stands_behind_the_last_use) {
  const char *tasks = text("%s, %s", fetching("a", 0, 10, 3), fetching("b", 1, 10, 3));
  ck_assert_int_eq(bound_of("blocks = 2; guard_ns = 5L;", tasks), 10 + 5 + 10 + 3);
  ck_assert_int_eq(bound_of("blocks = 2;", tasks), 10 + 10 + 3);
  ck_assert_int_eq(bound_of("blocks = 2; guard_ns = 50L;", tasks), 10 + 50 + 10 + 3);
}

/* Fetch and compute of a tile use the memory one right behind the other: the guard, longer than
 * that gap, stands between tiles alone. */
TEST(no_guard_stands_inside_a_chain) {
  const char *tasks = "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 2;"
                      " prefetch: { wcet_ns = 10L; };"
                      " compute: { wcet_ns = 10L; demand: { memory = 1; }; }; }";
  ck_assert_int_eq(bound_of("blocks = 1; guard_ns = 50L;", tasks), 20 + 50 + 20);
}

/* Of three on a memory for two, where no two large ones fit beside each other. */
TEST(guards_count_between_large_demands_alone) {
  const char *large = "{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
                      " prefetch: { wcet_ns = 10L; demand: { memory = %d; }; }; }";
  const char *platform =
      "blocks = 3; guard_ns = 7L; resources = ( { name = \"memory\"; capacity = 3; } );";
  ck_assert_int_eq(
      bound_of(platform, text("%s, %s", text(large, "a", 0, 2), text(large, "b", 1, 2))), 27);
  ck_assert_int_eq(
      bound_of(platform, text("%s, %s", text(large, "a", 0, 2), text(large, "b", 1, 1))), 10);
}
