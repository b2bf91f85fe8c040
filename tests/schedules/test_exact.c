/* SPDX-License-Identifier: Apache-2.0 */
/* The exact engine against every plan of tiny sets, and against planted optima. */
/* ctest: release long timing */
#include "schedules/planner/proof/exact.h"
#include "schedules/planner/proof/explain.h"
#include "tests/common/brute_force.h"
#include "tests/common/planted.h"
#include "tests/common/suite.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { ONE_SHOT_SETS = 40, PERIODIC_SETS = 40, LONG_NS = 40 };
#define LIMIT_NS INT64_C(60000000000)

static prem_planning planning_of(const prem_schedule *schedule) {
  return (prem_planning){
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
}

/* Plan it; what comes out the checker must accept. */
static prem_exact_verdict plan_exactly(prem_schedule *schedule, const char *source) {
  prem_planning planning = planning_of(schedule);
  prem_plan *plan = prem_plan_new();
  prem_exact_verdict verdict;
  ck_assert_int_eq(prem_plan_exact(&planning, LIMIT_NS, NULL, plan, &verdict), PREM_OK);
  if (verdict.verdict != PREM_PLAN_FEASIBLE) {
    prem_plan_free(plan);
    return verdict;
  }
  plan->clock_step_ns = planning.grid_ns;
  prem_schedule_set_plan(schedule, plan);
  prem_diag *diag = prem_diag_new();
  if (prem_check(schedule, NULL, diag) != PREM_OK) {
    print_problems(diag);
    ck_abort_msg("refused:\n%s", source);
  }
  if (!schedule->period_lcm_ns)
    ck_assert_int_eq(plan->hyperperiod_ns, verdict.makespan_ns);
  prem_diag_free(diag);
  prem_schedule_set_plan(schedule, NULL);
  return verdict;
}

static const char *why_no_solver(void) {
  return prem_exact_engine() ? NULL : "no solver is built in";
}

SUITE_NEEDS(why_no_solver);

GROUP("answers");

TEST(what_is_optimal_no_plan_is_shorter_than) {
  int optimal = 0, infeasible = 0;
  for (uint32_t seed = 1000; seed < 1000 + ONE_SHOT_SETS; ++seed) {
    const char *source = tiny_set(seed, false);
    OWNED(prem_schedule) *schedule = schedule_from_text(source);
    prem_exact_verdict verdict = plan_exactly(schedule, source);
    int64_t step_ns = schedule->platform.clock_step_ns;
    if (verdict.verdict == PREM_PLAN_FEASIBLE) {
      ck_assert_int_le(verdict.lower_bound_ns, verdict.makespan_ns);
      if (brute_plan_exists(schedule, verdict.lower_bound_ns - step_ns))
        ck_abort_msg("a plan is shorter than %d:\n%s", (int)verdict.lower_bound_ns, source);
      ck_assert(!verdict.optimal || verdict.lower_bound_ns == verdict.makespan_ns);
      optimal += verdict.optimal;
    } else if (verdict.verdict == PREM_PLAN_INFEASIBLE) {
      if (brute_plan_exists(schedule, LONG_NS / 2))
        ck_abort_msg("there is a plan:\n%s", source);
      ++infeasible;
    }
  }
  ck_assert_int_ge(optimal, ONE_SHOT_SETS / 3);
  ck_assert_int_ge(infeasible, 2);
}

TEST(periodic_sets_have_a_plan_or_have_none) {
  int feasible = 0, infeasible = 0;
  for (uint32_t seed = 2000; seed < 2000 + PERIODIC_SETS; ++seed) {
    const char *source = tiny_set(seed, true);
    OWNED(prem_schedule) *schedule = schedule_from_text(source);
    prem_exact_verdict verdict = plan_exactly(schedule, source);
    bool refuted = verdict.verdict == PREM_PLAN_INFEASIBLE;
    if (refuted && brute_plan_exists(schedule, schedule->period_lcm_ns - 1))
      ck_abort_msg("there is a plan:\n%s", source);
    prem_planning planning = planning_of(schedule);
    bool explained = prem_planning_explain(&planning, LIMIT_NS, NULL);
    if (explained && verdict.verdict == PREM_PLAN_FEASIBLE)
      ck_abort_msg("explained, and yet there is a plan:\n%s", source);
    feasible += verdict.verdict == PREM_PLAN_FEASIBLE;
    infeasible += refuted;
  }
  ck_assert_int_ge(feasible, PERIODIC_SETS / 4);
  ck_assert_int_ge(infeasible, PERIODIC_SETS / 8);
}

TEST(a_phase_may_run_into_the_next_hyperperiod) {
  const char *form =
      "version = 1; name = \"t\"; platform: { blocks = 2; }; tasks = ("
      "{ name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 10L;"
      "  release_ns = 7L; prefetch: { wcet_ns = 6L; }; },"
      "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 10L;"
      "  deadline_ns = %dL; prefetch: { wcet_ns = 4L; }; } );";
  const char *good = text(form, 7), *bad = text(form, 6);
  prem_schedule *schedule = schedule_from_text(good);
  ck_assert_int_eq(plan_exactly(schedule, good).verdict, PREM_PLAN_FEASIBLE);
  prem_schedule_free(schedule);
  schedule = schedule_from_text(bad);
  ck_assert_int_eq(plan_exactly(schedule, bad).verdict, PREM_PLAN_INFEASIBLE);
  prem_schedule_free(schedule);
}

TEST(a_planted_optimum_is_reached) {
  enum { TILES = 6, BLOCKS = 3 };
  planted_tile tiles[TILES];
  int64_t optimum_ns = planted_draw(tiles, TILES, BLOCKS, 5);
  FILE *file = print_begin();
  planted_print(file, tiles, TILES, BLOCKS, 5);
  OWNED(prem_schedule) *schedule = print_end(file);
  prem_exact_verdict verdict = plan_exactly(schedule, "planted");
  ck_assert_int_eq(verdict.makespan_ns, optimum_ns);
  ck_assert(verdict.optimal);
}

TEST(it_stops_when_it_is_told) {
  const char *source = tiny_set(7, false);
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  prem_planning planning = planning_of(schedule);
  OWNED(prem_plan) *plan = prem_plan_new();
  prem_exact_verdict verdict;
  const volatile sig_atomic_t stop = 1;
  ck_assert_int_eq(prem_plan_exact(&planning, LIMIT_NS, &stop, plan, &verdict), PREM_OK);
  ck_assert_int_ne(verdict.verdict, PREM_PLAN_INFEASIBLE);
}

/* Tiles that one unit takes turns with, all of which may come before each other. */
static prem_status take_turns(int32_t tiles) {
  OWNED(prem_schedule) *schedule = schedule_from_text(
      text("version = 1; name = \"turns\"; platform: { blocks = 1; }; tasks = ( { name = \"a\";"
           " kernel = \"none\"; blocks = 1; tiles = %d; compute: { wcet_ns = 9L; }; } );",
           tiles));
  prem_planning planning = planning_of(schedule);
  OWNED(prem_plan) *plan = prem_plan_new();
  prem_exact_verdict verdict;
  const volatile sig_atomic_t stop = 1;
  const prem_status status = prem_plan_exact(&planning, 0, &stop, plan, &verdict);
  return status;
}

GROUP("sizes");

/* 632 squared are the pairs that the engine takes on at most. */
TEST(a_large_set_is_left_to_others) {
  ck_assert_int_eq(take_turns(632), PREM_OK);
  ck_assert_int_eq(take_turns(633), PREM_ERR_UNAVAILABLE);
  ck_assert_int_eq(take_turns(4100), PREM_ERR_UNAVAILABLE);
}

/* ---- questions without an answer ------------------------------------------------------------- */

static int unanswered, questions;

/* The one that the library calls: at first it does not know. */
__attribute__((visibility("default"))) int Z3_solver_check(void *context, void *solver);
int Z3_solver_check(void *context, void *solver) {
  int (*next)(void *, void *);
  *(void **)&next = dlsym(RTLD_NEXT, "Z3_solver_check");
  ++questions;
  return unanswered-- > 0 ? 0 : next(context, solver);
}

static prem_exact_verdict plan_after(int without_an_answer, prem_schedule *schedule,
                                     const char *source) {
  questions = 0;
  unanswered = without_an_answer;
  return plan_exactly(schedule, source);
}

GROUP("answers");

/* The last one has all the time that is left: it settles what the first one could not. */
TEST(a_question_without_an_answer_is_asked_again) {
  int asked = 0;
  for (uint32_t seed = 1000; seed < 1000 + ONE_SHOT_SETS; ++seed) {
    const char *source = tiny_set(seed, false);
    OWNED(prem_schedule) *schedule = schedule_from_text(source);
    const prem_exact_verdict known = plan_after(0, schedule, source);
    if (questions > 0 && known.optimal) {
      const prem_exact_verdict verdict = plan_after(1, schedule, source);
      ck_assert_int_gt(questions, 1);
      ck_assert_msg(verdict.optimal, "seed %u", seed);
      ck_assert_int_eq(verdict.makespan_ns, known.makespan_ns);
      ++asked;
    }
  }
  ck_assert_int_gt(asked, 0);
}

/* ---- the time it takes ---------------------------------------------------------------------- */

/* Three rates on a counted resource, 300 phases: what the solver has to digest before it can answer
 * anything takes seconds. */
static prem_schedule *much_to_digest(void) {
  const char *form = "{ name = \"%s\"; kernel = \"none\"; blocks = [ %s ]; tiles = %d;"
                     " period_ns = %dL; deadline_ns = %dL; prefetch: { wcet_ns = %dL; };"
                     " compute: { wcet_ns = %dL; }; writeback: { wcet_ns = %dL; }; }";
  return schedule_from_text(
      text("version = 1; name = \"rates\"; platform: { blocks = 3; buffers = 2; guard_ns = 20000L;"
           " resources = ( { name = \"memory\"; capacity = 2; } ); }; tasks = ( %s, %s, %s );",
           text(form, "blur", "0, 1", 36, 6000000, 6000000, 30000, 60000, 30000),
           text(form, "edge", "1, 2", 8, 12000000, 12000000, 40000, 250000, 40000),
           text(form, "count", "2", 7, 4000000, 4000000, 20000, 20000, 20000)));
}

static volatile sig_atomic_t told_to_stop;
static double stopped_s; /* of processor time, which others on the machine do not take from */

/* To throw away what was digested takes a second of one machine and more of another; all of it to
 * be digested takes a minute. */
enum { MOST_S = 20 };

static double processor_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void stop_now(int signal) {
  (void)signal;
  stopped_s = processor_s();
  told_to_stop = 1;
}

/* @return  when it began */
static double raise_slack(int64_t limit_ns) {
  OWNED(prem_schedule) *schedule = much_to_digest();
  prem_planning planning = planning_of(schedule);
  OWNED(prem_plan) *plan = prem_plan_new();
  prem_exact_verdict verdict;
  double began_s = processor_s();
  ck_assert_int_eq(prem_plan_exact_slack(&planning, limit_ns, &told_to_stop, 0, plan, &verdict),
                   PREM_OK);
  ck_assert_int_ne(verdict.verdict, PREM_PLAN_INFEASIBLE);
  return began_s;
}

GROUP("time");

TEST(digesting_ends_at_the_limit) {
  double began_s = raise_slack(INT64_C(500000000));
  ck_assert_double_lt(processor_s() - began_s, 0.5 + MOST_S);
}

TEST(digesting_ends_when_it_is_told) {
  struct sigaction action = {.sa_handler = stop_now};
  const struct itimerval in_its_midst = {.it_value = {.tv_sec = 2}}; /* of processor time */
  ck_assert_int_eq(sigaction(SIGPROF, &action, NULL), 0);
  ck_assert_int_eq(setitimer(ITIMER_PROF, &in_its_midst, NULL), 0);
  raise_slack(INT64_C(100000000000));
  ck_assert(told_to_stop);
  ck_assert_double_lt(processor_s() - stopped_s, MOST_S);
}
