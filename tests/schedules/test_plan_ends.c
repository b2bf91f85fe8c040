/* SPDX-License-Identifier: Apache-2.0 */
/* Where the plan of one operating mode ends, that of any other may follow: the last phase, and what
 * rests behind it, lie within the hyperperiod. */
#include "schedules/planner/common/wrap.h"

#include <inttypes.h>

#include "tests/common/running.h"
#include "tests/common/suite.h"

/* Two works of 10 and 20 ns; the second one starts at an instant of the plan, the first at 0. */
static prem_schedule *with_end(int64_t start_ns, const char *period, int guard_ns) {
  return schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = 2; guard_ns = %dL; };\n"
           "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; %s\n"
           "    prefetch: { wcet_ns = 10L; }; },\n"
           "  { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; %s\n"
           "    compute: { wcet_ns = 20L; }; } );\n"
           "plan: { hyperperiod_ns = 100L; runs = (\n"
           "  { task = \"a\"; phase = \"prefetch\"; start_ns = 0L; },\n"
           "  { task = \"b\"; phase = \"compute\"; start_ns = %" PRId64 "L; } ); };\n",
           guard_ns, period, period, start_ns));
}

static prem_status judge(prem_schedule *schedule, bool ends_within, int64_t grid_ns,
                         prem_diag *diag) {
  const prem_planning planning = {.schedule = schedule,
                                  .grid_ns = grid_ns,
                                  .policy = "auto",
                                  .diag = diag,
                                  .ends_within = ends_within};
  return prem_planning_end_within(&planning, schedule->plan);
}

TEST(a_periodic_plan_that_reaches_over_the_end_is_refused) {
  for (int64_t guard_ns = 0; guard_ns <= 3; guard_ns += 3)
    for (int64_t start_ns = 70; start_ns <= 85; ++start_ns) {
      OWNED(prem_schedule) *schedule = with_end(start_ns, "period_ns = 100L;", (int)guard_ns);
      OWNED(prem_diag) *diag = prem_diag_new();
      const bool fits = start_ns + 20 + guard_ns <= 100;
      ck_assert_int_eq(judge(schedule, true, 1, diag), fits ? PREM_OK : PREM_ERR_INFEASIBLE);
      ck_assert_uint_eq(prem_diag_errors(diag), !fits);
      if (!fits) {
        char line[1024];
        prem_problem_format(prem_diag_at(diag, 0), line, sizeof line);
        ck_assert_str_eq(
            strstr(line, "E051"),
            text("E051: plan: no plan found: the compute of task 'b' ends at %" PRId64
                 " and would, with what its block and its successors need after it, reach over "
                 "the end of the hyperperiod of 100 ns, where operating modes with plans of their "
                 "own are switched; use policy \"auto\", and no older plan",
                 start_ns + 20));
        ck_assert_int_eq(prem_diag_at(diag, 0)->line, 4);
      }
      ck_assert_int_eq(schedule->plan->hyperperiod_ns, 100);
      ck_assert_int_eq(judge(schedule, false, 1, diag), PREM_OK); /* the only plan */
    }
}

TEST(a_one_shot_plan_gets_longer) {
  for (int64_t guard_ns = 0; guard_ns <= 3; guard_ns += 3)
    for (int64_t start_ns = 70; start_ns <= 95; ++start_ns)
      for (int64_t grid_ns = 1; grid_ns <= 8; grid_ns += 7) {
        OWNED(prem_schedule) *schedule = with_end(start_ns, "", (int)guard_ns);
        OWNED(prem_diag) *diag = prem_diag_new();
        ck_assert_int_eq(judge(schedule, false, grid_ns, diag), PREM_OK);
        ck_assert_int_eq(schedule->plan->hyperperiod_ns, 100);
        ck_assert_int_eq(judge(schedule, true, grid_ns, diag), PREM_OK);
        const int64_t end_ns = start_ns + 20 + guard_ns;
        ck_assert_int_eq(schedule->plan->hyperperiod_ns,
                         end_ns <= 100 ? 100 : (end_ns + grid_ns - 1) / grid_ns * grid_ns);
        ck_assert_uint_eq(prem_diag_count(diag), 0);
      }
}

/* As a draft, before it is written down: only sets with periods are judged so. */
TEST(a_draft_is_judged_alike) {
  for (int as_slot = 0; as_slot < 2; ++as_slot)
    for (int64_t start_ns = 70; start_ns <= 85; ++start_ns) {
      prem_schedule *schedule = with_end(0, "period_ns = 100L;", 3);
      prem_planning planning = {
          .schedule = schedule, .grid_ns = 1, .policy = "auto", .ends_within = true};
      prem_placement placements[] = {{.task = 0, .phase = PREM_PREFETCH},
                                     {.task = 1, .phase = PREM_COMPUTE, .start_ns = start_ns}};
      prem_slot slot = {.task = 1, .phase = PREM_COMPUTE, .planned_ns = start_ns, .length_ns = 20};
      const prem_draft draft = {
          .placements = placements, .count = 2 - as_slot, .slots = &slot, .slot_count = as_slot};
      ck_assert_int_eq(prem_planning_draft_ends_within(&planning, &draft), start_ns <= 77);
      planning.ends_within = false;
      ck_assert(prem_planning_draft_ends_within(&planning, &draft));
      prem_schedule_free(schedule);
      schedule = with_end(0, "", 3);
      planning = (prem_planning){
          .schedule = schedule, .grid_ns = 1, .policy = "auto", .ends_within = true};
      ck_assert(prem_planning_draft_ends_within(&planning, &draft));
      prem_schedule_free(schedule);
    }
}
