/* SPDX-License-Identifier: Apache-2.0 */
/* The exact engine beside the search: where there is no plan yet, and where more slack is sought.
 */
#include <sys/resource.h>

#include "prem/base/clock.h"
#include "schedules/planner/proof/exact.h"
#include "schedules/planner/proof/solver.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

/* It ends as soon as it knows; so long it may take on a busy machine. */
#define LIMIT_NS INT64_C(10000000000)

static prem_schedule *schedule;
static prem_plan_report report;

static void set_up(void) {
  schedule = NULL;
}

static void tear_down(void) {
  prem_schedule_free(schedule);
}

static int64_t peak_bytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (int64_t)usage.ru_maxrss * 1024;
}

static prem_status plan_within(const char *source, int64_t limit_ns) {
  schedule = schedule_from_text(source);
  const prem_plan_options options = {.time_limit_ns = limit_ns};
  prem_plan *made = NULL;
  const int64_t before_bytes = peak_bytes();
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &made, &report, NULL);
  prem_schedule_set_plan(schedule, made);
  ck_assert_int_ge(report.peak_bytes, before_bytes);
  ck_assert_int_le(report.peak_bytes, peak_bytes());
  if (status == PREM_OK)
    assert_checked(schedule);
  return status;
}

static prem_status plan(const char *source) {
  return plan_within(source, LIMIT_NS);
}

GROUP("plans", .set_up = set_up, .tear_down = tear_down);

/* a needs 30 of its 100 ns, so that there is no more slack than 70, whatever b does. */
TEST(the_largest_slack_is_proven) {
  ck_assert_int_eq(
      plan("version = 1; name = \"t\"; platform: { blocks = 2; };\n"
           "policy: { objective = \"slack\"; }; tasks = (\n"
           "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;"
           "  deadline_ns = 100L; prefetch: { wcet_ns = 30L; }; },"
           "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 200L;"
           "  deadline_ns = 190L; prefetch: { wcet_ns = 60L; }; } );"),
      PREM_OK);
  ck_assert(report.periodic && report.due && report.optimal);
  ck_assert_int_eq(report.min_slack_ns, 70);
}

/* c goes over the end of the hyperperiod, where no search puts it: 30 ns from 80 on, until a. */
TEST(what_no_search_finds_is_solved) {
  if (!prem_exact_engine())
    return;
  const char *form = "{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
                     " period_ns = %dL; release_ns = %dL; deadline_ns = %dL;"
                     " prefetch: { wcet_ns = %dL; }; }";
  ck_assert_int_eq(
      plan(text("version = 1; name = \"t\"; platform: { blocks = 3; };\n"
                "tasks = ( %s, %s, %s );",
                text(form, "a", 0, 50, 10, 20, 20), text(form, "b", 1, 100, 30, 20, 20),
                text(form, "c", 2, 100, 80, 40, 30))),
      PREM_OK);
  ck_assert_str_eq(report.method, "exact");
  OWNED(prem_trace) *trace = simulate(schedule, PREM_MODE_TT, 1);
  ck_assert_int_eq(find_phase(trace, schedule, "c", 0, PREM_PREFETCH)->start_ns, 80);
}

/* Of 100 ns the memory is asked for 110: no time is spent on a search. */
/* Computes without a pause: the last one goes on in the next hyperperiod, which only the engine
 * plans. What the search makes of its plan, whose tiles stand in another order, is a plan as well.
 */
TEST(what_goes_on_in_the_next_hyperperiod_is_solved) {
  if (!prem_exact_engine())
    return;
  ck_assert_int_eq(
      plan_within(
          "version = 1; name = \"t\"; platform: { blocks = 1; buffers = 2; };\n"
          "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 3; period_ns = 120L;"
          "  prefetch: { wcet_ns = 5L; }; compute: { wcet_ns = 40L; }; } );",
          LIMIT_NS / 3),
      PREM_OK);
}

TEST(what_cannot_be_is_refused) {
  ck_assert_int_eq(
      plan("version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = (\n"
           "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 100L;"
           "  prefetch: { wcet_ns = 50L; }; },"
           "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 100L;"
           "  prefetch: { wcet_ns = 60L; }; } );"),
      PREM_ERR_INFEASIBLE);
}

/* Whatever the question: also one whose answer is plain. */
TEST(without_time_nothing_is_answered) {
  if (!prem_solver_name())
    return;
  schedule = schedule_from_text("version = 1; name = \"t\"; platform: { blocks = 1; }; tasks = ("
                                "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; "
                                "prefetch: { wcet_ns = 5L; }; } );");
  const prem_planning planning = {.schedule = schedule, .grid_ns = 1, .policy = "auto"};
  prem_rules rules;
  ck_assert_int_eq(prem_rules_build(&planning, false, NULL, INT32_MAX, &rules), PREM_OK);
  enum { MOST_NODES = 8 };
  int64_t first[MOST_NODES] = {0}, last[MOST_NODES], starts[MOST_NODES];
  ck_assert_int_le(rules.node_count, MOST_NODES);
  for (int32_t n = 0; n < rules.node_count; ++n)
    last[n] = 5;
  prem_solver *solver =
      prem_solver_new(&rules, first, last, prem_host_clock_s() + (double)LIMIT_NS * 1e-9, NULL);
  ck_assert_ptr_nonnull(solver);
  ck_assert_int_eq(prem_solver_ask(solver, 10, first, last, -1, NULL, starts), PREM_ANSWER_UNKNOWN);
  ck_assert_int_eq(prem_solver_ask(solver, 10, first, last, 0, NULL, starts), PREM_ANSWER_UNKNOWN);
  ck_assert_int_eq(prem_solver_ask(solver, 10, first, last, LIMIT_NS, NULL, starts),
                   PREM_ANSWER_YES);
  prem_solver_free(solver);
  prem_rules_free(&rules);
}
