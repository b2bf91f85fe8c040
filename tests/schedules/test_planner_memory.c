/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wherever memory runs out while a set is planned, that is what is said, or what was made before is
 * kept; no proof holds that does not hold with enough of it. tests/command/test_no_memory.c does
 * the same with one schedule and all that comes after its plan. See tests/common/memory_sweep.h.
 */
#include "tests/common/memory_sweep.h"

#include "schedules/planner/greedy/pipeline.h"
#include "schedules/planner/proof/bounds.h"
#include "schedules/planner/proof/exact.h"
#include "schedules/planner/proof/explain.h"
#include "tests/common/random_set.h"
#include "tests/common/sharing.h"
#include "tests/common/suite.h"

/* Under a sanitizer, which is slow, fewer. */
#ifdef __SANITIZE_ADDRESS__
enum { MOST = 60 /* tries of one set */ };
#else
enum { MOST = 300 };
#endif
enum { STEPS = 12 };

static prem_schedule *schedule, *older;

/* ---- sets ------------------------------------------------------------------------------------ */

/* Equal tasks, whose phases join in pipelines. */
static const char *equal_tasks(const char *writeback) {
  return text("version = 1; name = \"t\"; platform: { blocks = 4; buffers = 3; guard_ns = 2L; };"
              " tasks = ( { name = \"a\"; kernel = \"none\"; blocks = \"0-1\"; tiles = 12;"
              "  prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 60L; }; %s },"
              " { name = \"b\"; kernel = \"none\"; blocks = \"2-3\"; tiles = 12;"
              "  prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 60L; }; %s } );",
              writeback, writeback);
}

/* Works on one block, the first of which leaves too little room, or just enough, for one that has
 * to begin at once: only their orders tell. */
static const char *orders(int deadline_ns) {
  return text("version = 1; name = \"t\"; platform: { blocks = 3; }; tasks = ("
              " { name = \"long\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
              "   deadline_ns = %dL; prefetch: { wcet_ns = 9L; }; },"
              " { name = \"s\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; release_ns = 8L;"
              "   deadline_ns = 2L; prefetch: { wcet_ns = 2L; }; },"
              " { name = \"u\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1; release_ns = 14L;"
              "   deadline_ns = 2L; prefetch: { wcet_ns = 2L; }; } );",
              deadline_ns);
}

/* A path that is too long, or a resource that is asked for too much, unless there is more time. */
static const char *late(bool by_path, int deadline_ns) {
  return text(
      "version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ("
      " { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; %s"
      "   prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 5L; }; },"
      " { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; %s"
      "   deadline_ns = %dL; prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 5L; }; } );",
      by_path ? "" : text("deadline_ns = %dL;", deadline_ns),
      by_path ? "after = ( { task = \"a\"; } );" : "", deadline_ns);
}

enum { SETS = 8 };

/* Random ones with one, two and more buffers, periods, warm-up tiles, gangs; pipelines; an array
 * that two share. */
static prem_schedule *load_set(int which, int32_t longer_ns) {
  static const uint32_t seeds[] = {3, 7, 10, 14, 22, 31};
  if (which == 6)
    return schedule_from_text(equal_tasks("writeback: { wcet_ns = 15L; };"
                                          " joined: { wcet_ns = 25L; };"));
  if (which == 7)
    return schedule_from_text(sharing("precedence_ns = 25L;", "period_ns = 400L;",
                                      "period_ns = 200L; after = ( { task = \"w\";"
                                      " instance = \"latest\"; } );",
                                      ""));
  random_set set = random_set_draw(seeds[which]);
  set.tasks = RANDOM_SET_TASKS;
  set.longer_ns[1] = longer_ns;
  return schedule_from_text(random_set_text(&set));
}

static prem_planning planning_of(prem_diag *diag) {
  return (prem_planning){.schedule = schedule,
                         .grid_ns = schedule->platform.clock_step_ns,
                         .policy = "auto",
                         .diag = diag};
}

/* ---- what is tried --------------------------------------------------------------------------- */

static void sweep(attempt *of, prem_status expected) {
  memory_sweep_all("set", of, (memory_sweep){.expected = expected, .most = MOST});
}

static prem_status plan_with(FILE *told, const prem_plan_options *options) {
  prem_plan *plan = NULL;
  prem_plan_report report;
  const prem_status status = prem_plan_make_reported(schedule, NULL, options, &plan, &report, NULL);
  failing.armed = false;
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, plan);
    const bool is_beside = schedule->tasks[0].joined.exists; /* pipelines: they may be left out */
    if (options->step_limit == 0 && !is_beside) {
      fprintf(told, "%s %" PRId64 " ns:", report.method, report.makespan_ns);
      FREED prem_slot *slots = NULL;
      int64_t count = 0;
      ck_assert_int_eq(prem_plan_expand(schedule, plan, &slots, &count, NULL), PREM_OK);
      for (int64_t i = 0; i < count; ++i)
        fprintf(told, " %" PRId64, slots[i].planned_ns);
    }
    if (!options->policy) /* formulas ask for offsets that fit */
      ck_assert_int_eq(prem_check(schedule, NULL, NULL), PREM_OK);
    prem_schedule_set_plan(schedule, NULL);
  }
  return status;
}

static const char *policy; /* of plan() */

static prem_status plan(FILE *told) {
  return plan_with(told, &(prem_plan_options){.policy = policy});
}

/* The plan to begin with is kept where the search fails. */
static prem_status search(FILE *told) {
  return plan_with(told, &(prem_plan_options){.time_limit_ns = PREM_MAX_NS, .step_limit = STEPS});
}

static prem_status keep(FILE *told) {
  return plan_with(told, &(prem_plan_options){.keep = older});
}

/* A lower bound may be lower. */
static int64_t whole_bound_ns;

static prem_status bound(FILE *told) {
  const prem_planning planning = planning_of(NULL);
  int64_t bound_ns = -1;
  const bool known = prem_planning_lower_bound(&planning, &bound_ns);
  failing.armed = false;
  ck_assert_int_eq(bound_ns >= 0, known);
  ck_assert_int_le(bound_ns, whole_bound_ns);
  fprintf(told, "%" PRId64, bound_ns);
  return known && bound_ns == whole_bound_ns ? PREM_OK : PREM_ERR_MEMORY;
}

/* A proof may be missed; it may name more than it needs. */
static prem_status explain(FILE *told) {
  OWNED(prem_diag) *diag = prem_diag_new();
  if (!diag)
    return PREM_ERR_MEMORY;
  const prem_planning planning = planning_of(diag);
  const bool proven = prem_planning_explain(&planning, PREM_NS_PER_STEP * INT64_C(100000), NULL);
  failing.armed = false;
  ck_assert_uint_eq(prem_diag_errors(diag), proven);
  fprintf(told, "%d", proven);
  return proven ? PREM_ERR_INFEASIBLE : PREM_ERR_MEMORY;
}

/* Of a set that has a plan none is found. */
static void assert_unproven(void) {
  char *told;
  int64_t requests = 1, had;
  failing_prepare();
  for (int64_t i = 0; i <= requests; ++i) {
    ck_assert_int_eq(memory_try(explain, i, &told, i ? &had : &requests), PREM_ERR_MEMORY);
    free(told);
  }
}

static prem_status solve(FILE *told) {
  const prem_planning planning = planning_of(NULL);
  OWNED(prem_plan) *plan = prem_plan_new();
  if (!plan)
    return PREM_ERR_MEMORY;
  prem_exact_verdict verdict = {0};
  const prem_status status =
      prem_plan_exact(&planning, INT64_C(100000000000), NULL, plan, &verdict);
  failing.armed = false;
  if (status != PREM_OK)
    return status;
  ck_assert_int_ne(verdict.verdict, PREM_PLAN_INFEASIBLE);
  const bool is_known = verdict.verdict == PREM_PLAN_FEASIBLE && verdict.optimal;
  if (is_known)
    fprintf(told, "%" PRId64 " %" PRId64, verdict.makespan_ns, verdict.lower_bound_ns);
  return is_known ? PREM_OK : PREM_ERR_MEMORY;
}

/* Without time for a question: what is known is the bound, or nothing. */
static prem_status solve_at_once(FILE *told) {
  const prem_planning planning = planning_of(NULL);
  OWNED(prem_plan) *plan = prem_plan_new();
  if (!plan)
    return PREM_ERR_MEMORY;
  prem_exact_verdict verdict = {0};
  const prem_status status = prem_plan_exact(&planning, 1, NULL, plan, &verdict);
  failing.armed = false;
  if (status != PREM_OK)
    return status;
  ck_assert(verdict.lower_bound_ns == 0 || verdict.lower_bound_ns > 9);
  fprintf(told, "%d %" PRId64, verdict.verdict, verdict.lower_bound_ns);
  return verdict.lower_bound_ns == whole_bound_ns ? PREM_OK : PREM_ERR_MEMORY;
}

/* ---- all of it ------------------------------------------------------------------------------- */

GROUP("sets");

TESTS(of_sets, SETS) {
  schedule = load_set(_i, 0);
  policy = NULL;
  sweep(plan, PREM_OK);
  sweep(search, PREM_OK);
  if (schedule->period_lcm_ns == 0) {
    const prem_planning planning = planning_of(NULL);
    ck_assert(prem_planning_lower_bound(&planning, &whole_bound_ns));
    sweep(bound, PREM_OK);
  }
  prem_schedule_free(schedule);
}

GROUP("kept");

TESTS(that_keep_older_ones, SETS) {
  older = load_set(_i, 0);
  schedule = load_set(_i, 7);
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(older, NULL, NULL, &plan, NULL), PREM_OK);
  prem_schedule_set_plan(older, plan);
  sweep(keep, PREM_OK);
  prem_schedule_free(schedule);
  prem_schedule_free(older);
}

GROUP("sets");

TESTS(of_equal_tasks, 8) {
  schedule = schedule_from_text(equal_tasks(_i % 2 ? "writeback: { wcet_ns = 15L; };" : ""));
  policy = prem_policy_list()[1 + _i / 2].name;
  sweep(plan, PREM_OK);
  prem_schedule_free(schedule);
}

/* The plan of the critical tasks, and closed windows; its jobs are chains, where asked for. */
TESTS(of_best_effort, 2) {
  schedule = schedule_from_text(
      text("version = 1; name = \"t\"; platform: { blocks = 3; buffers = 2; }; tasks = ("
           " { name = \"a\"; kernel = \"none\"; blocks = \"0-1\"; tiles = 5; period_ns = 900L;"
           "   prefetch: { wcet_ns = 20L; }; compute: { wcet_ns = 50L; };"
           "   writeback: { wcet_ns = 9L; }; },"
           " { name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 450L;"
           "   deadline_ns = 300L; prefetch: { wcet_ns = 20L; }; },"
           " { name = \"l\"; class = \"best_effort\"; kernel = \"none\"; blocks = [ 2 ]; tiles = "
           "9; prefetch: { wcet_ns = 20L; }; } ); policy: { objective = \"%s\"; };",
           _i ? "response" : "slack"));
  sweep(plan, PREM_OK);
  prem_schedule_free(schedule);
}

GROUP("proofs");

TESTS(of_proofs, 3) {
  schedule = schedule_from_text(_i == 2 ? orders(20) : late(_i, _i ? 46 : 40));
  sweep(explain, PREM_ERR_INFEASIBLE);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(_i == 2 ? orders(25) : late(_i, 50));
  assert_unproven();
  prem_schedule_free(schedule);
}

TESTS(of_solvers, 2) {
  schedule = schedule_from_text(
      _i ? sharing("precedence_ns = 5L;", "", "after = ( { task = \"w\"; } );", "") : late(0, 90));
  if (prem_exact_engine()) {
    sweep(solve, PREM_OK);
    prem_planning planning = planning_of(NULL);
    OWNED(prem_plan) *plan = prem_plan_new();
    prem_exact_verdict verdict;
    ck_assert_int_eq(prem_plan_exact(&planning, 1, NULL, plan, &verdict), PREM_OK);
    whole_bound_ns = verdict.lower_bound_ns;
    sweep(solve_at_once, PREM_OK);
  }
  prem_schedule_free(schedule);
}
