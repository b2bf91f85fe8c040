/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which whole jobs are launched. */
#include "runtime/core/untiled_order.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

static prem_program *program;
static prem_schedule *schedule;
static prem_untiled_order order;

static void prepare(const char *tasks) {
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  schedule =
      schedule_from_text(text("version = 1; name = \"t\"; platform: { blocks = 3; buffers = 2; };"
                              "tasks = ( %s );",
                              tasks));
  if (prem_plan_make(schedule, NULL, NULL, &plan, diag) != PREM_OK)
    abort_with("plan", diag);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
  if (prem_program_new(schedule, &program, diag) != PREM_OK)
    abort_with("program", diag);
  ck_assert_int_eq(prem_untiled_order_new(program, &order), PREM_OK);
}

static void forget(void) {
  prem_untiled_order_free(&order);
  prem_program_free(program);
  prem_schedule_free(schedule);
}

static const char *task(const char *name, int block, const char *rest) {
  return text("{ name = \"%s\"; kernel = \"none\"; blocks = [ %d ]; tiles = 1;"
              "  prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 20L; };"
              "  writeback: { wcet_ns = 10L; }; %s }",
              name, block, rest);
}

static void assert_job(const prem_untiled_order *in, int64_t number, int32_t of_task, int32_t job,
                       int64_t release_ns) {
  ck_assert_int_lt(number, in->job_count);
  ck_assert_int_eq(in->jobs[number].task, of_task);
  ck_assert_int_eq(in->jobs[number].job, job);
  ck_assert_int_eq(in->jobs[number].release_ns, release_ns);
}

static void assert_pred(const prem_untiled_order *in, int64_t number, int32_t which, int64_t pred,
                        int64_t lag_ns) {
  const prem_untiled_job *job = &in->jobs[number];
  ck_assert_int_lt(which, job->pred_count);
  ck_assert_int_eq(in->preds[job->first_pred + which].number, pred);
  ck_assert_int_eq(in->preds[job->first_pred + which].lag_ns, lag_ns);
  ck_assert(in->jobs[pred].awaited);
}

TEST(one_shot_tasks_keep_the_order_of_the_file) {
  prepare(text("%s, %s, %s", task("a", 0, ""), task("b", 1, ""), task("c", 2, "")));
  ck_assert_int_eq(order.job_count, 3);
  for (int32_t t = 0; t < 3; ++t) {
    assert_job(&order, t, t, 0, 0);
    ck_assert_int_eq(order.jobs[t].pred_count, 0);
    ck_assert(!order.jobs[t].awaited);
  }
  forget();
}

TEST(a_successor_stands_behind_all_that_it_follows) {
  prepare(text("%s, %s, %s",
               task("c", 0, "after = ( { task = \"b\"; lag_ns = 7L; }, { task = \"a\"; } );"),
               task("b", 1, "after = ( { task = \"a\"; } );"), task("a", 2, "")));
  assert_job(&order, 0, 2, 0, 0);
  assert_job(&order, 1, 1, 0, 0);
  assert_job(&order, 2, 0, 0, 0);
  assert_pred(&order, 1, 0, 0, 0);
  ck_assert_int_eq(order.jobs[2].pred_count, 2);
  assert_pred(&order, 2, 0, 1, 7);
  assert_pred(&order, 2, 1, 0, 0);
  ck_assert(!order.jobs[2].awaited);
  forget();
}

TEST(jobs_stand_in_the_order_of_their_releases) {
  prepare(text("%s, %s", task("slow", 0, "period_ns = 3000L;"),
               task("fast", 1, "period_ns = 1000L; release_ns = 100L;")));
  ck_assert_int_eq(order.job_count, 4);
  assert_job(&order, 0, 0, 0, 0);
  assert_job(&order, 1, 1, 0, 100);
  assert_job(&order, 2, 1, 1, 1100);
  assert_job(&order, 3, 1, 2, 2100);
  forget();
}

TEST(a_successor_stands_behind_a_predecessor_that_is_released_later) {
  prepare(text("%s, %s, %s",
               task("late", 0, "period_ns = 1000L; after = ( { task = \"pred\"; } );"),
               task("pred", 1, "period_ns = 1000L; release_ns = 500L;"),
               task("other", 2, "period_ns = 1000L; release_ns = 200L;")));
  assert_job(&order, 0, 2, 0, 200);
  /* both can begin at 500: the predecessor first, since the other is not ready without it */
  assert_job(&order, 1, 1, 0, 500);
  assert_job(&order, 2, 0, 0, 0);
  assert_pred(&order, 2, 0, 1, 0);
  forget();
}

TEST(the_latest_job_is_awaited_and_those_of_earlier_hyperperiods_are_not) {
  prepare(text("%s, %s", task("fast", 0, "period_ns = 1000L;"),
               task("slow", 1,
                    "period_ns = 3000L; release_ns = 1500L;"
                    "after = ( { task = \"fast\"; instance = \"latest\"; lag_ns = 5L; } );")));
  assert_job(&order, 0, 0, 0, 0);
  assert_job(&order, 1, 0, 1, 1000);
  assert_job(&order, 2, 1, 0, 1500);
  assert_job(&order, 3, 0, 2, 2000);
  assert_pred(&order, 2, 0, 1, 5);
  ck_assert(!order.jobs[0].awaited);
  ck_assert(!order.jobs[3].awaited);
  forget();

  prepare(text("%s, %s",
               task("early", 0,
                    "period_ns = 1000L;"
                    "after = ( { task = \"pred\"; instance = \"latest\"; } );"),
               task("pred", 1, "period_ns = 1000L; release_ns = 500L;")));
  assert_job(&order, 0, 0, 0, 0);
  ck_assert_int_eq(order.jobs[0].pred_count, 0);
  forget();
}

TEST(the_first_jobs_begin_at_once) {
  prepare(
      text("%s, %s, %s", task("fast", 0, "period_ns = 1000L;"),
           task("slow", 1,
                "period_ns = 3000L; release_ns = 1500L;"
                "after = ( { task = \"fast\"; instance = \"latest\"; } );"),
           task("next", 2, "period_ns = 1000L; after = ( { task = \"fast\"; lag_ns = 9L; } );")));
  prem_untiled_order first;
  ck_assert_int_eq(prem_untiled_order_first(&order, &first), PREM_OK);
  ck_assert_int_eq(first.job_count, 3);
  assert_job(&first, 0, 0, 0, 0);
  assert_job(&first, 1, 2, 0, 0);
  assert_job(&first, 2, 1, 0, 0); /* follows fast's job 1, which is left out */
  assert_pred(&first, 1, 0, 0, 0);
  ck_assert_int_eq(first.jobs[2].pred_count, 0);
  prem_untiled_order_free(&first);
  forget();
}
