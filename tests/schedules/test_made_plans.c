/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every planner makes of random sets, with each policy, on the clock of the file and on a
 * coarser one, with and without a search, beside an older plan and alone: the checker accepts it,
 * the report is right, the same request gives the same plan, and a search is never worse than what
 * it begins with. What is refused is refused with a reason.
 */
#include "schedules/planner/greedy/greedy.h"
#include "tests/common/planted.h"
#include "tests/common/random_schedule.h"
#include "tests/common/random_set.h"
#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"
#include "ttprem/plan_file.h"

enum { EQUAL = ROUNDS(260), RANDOM = ROUNDS(360), SEARCHED = ROUNDS(150), DATA = ROUNDS(120) };

/* ---- a plan and what is reported of it ------------------------------------------------------- */

/* The plan, as CSV. Free with free(); NULL: there is none. */
static char *made(prem_schedule *schedule, const prem_machine *machine,
                  const prem_plan_options *options, prem_plan_report *report) {
  prem_plan *plan = NULL;
  prem_diag *diag = prem_diag_new();
  *report = (prem_plan_report){0};
  const prem_status status =
      prem_plan_make_reported(schedule, machine, options, &plan, report, diag);
  ck_assert_int_eq(status == PREM_OK, plan != NULL);
  ck_assert_int_eq(status == PREM_OK, prem_diag_errors(diag) == 0);
  prem_diag_free(diag);
  if (!plan)
    return NULL;
  prem_schedule_set_plan(schedule, plan);
  diag = prem_diag_new();
  /* a formula gives what its offsets give: the checker alone judges it */
  if (prem_check(schedule, machine, diag) != PREM_OK && !prem_is_closed_form(report->method))
    abort_with("a plan that the checker refuses", diag);
  prem_diag_free(diag);
  char *phases = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&phases, &bytes);
  ck_assert_int_eq(prem_plan_write_csv(schedule, file, NULL), PREM_OK);
  fclose(file);
  FREED prem_slot *slots = NULL;
  int64_t count = 0, warming = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  for (int64_t i = 0; i < count; ++i)
    warming += (slots[i].flags & PREM_SLOT_WARMUP) != 0;
  ck_assert_int_eq(report->phases, count);
  ck_assert_int_eq(report->hyperperiod_ns, schedule->plan->hyperperiod_ns);
  ck_assert(report->lower_bound_ns <= report->makespan_ns);
  if (report->due && !prem_is_closed_form(report->method))
    ck_assert_int_ge(report->min_slack_ns, 0);
  if (report->keeps)
    ck_assert_int_eq(report->kept + report->moved + report->added, count - warming);
  prem_schedule_set_plan(schedule, NULL);
  return phases;
}

/* The plan, made twice; NULL: there is none. Free with free(). */
static char *made_twice(prem_schedule *schedule, const prem_machine *machine,
                        const prem_plan_options *options, prem_plan_report *report) {
  prem_plan_report again;
  char *first = made(schedule, machine, options, report);
  FREED char *second = made(schedule, machine, options, &again);
  ck_assert_pstr_eq(first, second);
  ck_assert_str_eq(report->method, again.method);
  return first;
}

/* ---- sets of equal tasks --------------------------------------------------------------------- */

static uint64_t drawn;

static int draw(int below) {
  drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((drawn >> 33) % (uint64_t)below);
}

#define DRAW_OF(list) ((list)[draw((int)(sizeof(list) / sizeof *(list)))])

static const char *phase(const char *name, int wcet_ns) {
  const char *busy = draw(3) ? "" : text("busy_ns = %dL;", 1 + draw(wcet_ns));
  return text("%s: { wcet_ns = %dL; %s };", name, wcet_ns, busy);
}

/* In one of four sets one task differs from the others in something. */
static const char *equal_set(int seed) {
  static const char *const steps[] = {"1L", "1L", "8L", "32L"};
  drawn = (uint64_t)seed * UINT64_C(0x9E3779B97F4A7C15);
  const int tasks = 1 + draw(4), blocks = 1 + draw(4), tiles = 1 + draw(8);
  const int fetch_ns = 10 + draw(90), work_ns = 5 + draw(120), store_ns = 10 + draw(60);
  const int odd = draw(4) == 0 ? draw(tasks) : -1, what = draw(5);
  const bool joins = draw(2), writes = draw(5) > 0;
  const int joined_ns = fetch_ns + store_ns - draw(20);
  const char *period = draw(6) == 0 ? text("period_ns = %dL;", 20000 + 4000 * draw(3)) : "";
  const char *all = "";
  for (int t = 0; t < tasks; ++t) {
    const bool is_odd = t == odd;
    const uint64_t kept = drawn;
    const char *phases = text("%s %s %s", phase("prefetch", fetch_ns + (is_odd && what == 0)),
                              phase("compute", work_ns + (is_odd && what == 1)),
                              writes ? phase("writeback", store_ns + (is_odd && what == 2)) : "");
    drawn = kept;
    all = text("%s%s{ name = \"t%d\"; kernel = \"none\"; blocks = %d; tiles = %d; %s %s %s"
               " %s }",
               all, t ? ", " : "", t, blocks, tiles + (is_odd && what == 3), phases,
               joins && writes ? text("joined: { wcet_ns = %dL; };", joined_ns) : "", period,
               is_odd && what == 4 ? "release_ns = 7L;" : "");
  }
  const char *platform =
      text("platform: { blocks = %d; buffers = %d; guard_ns = %dL; clock_step_ns = %s;"
           " resources = ( { name = \"memory\"; capacity = %d; per = \"%s\"; } ); };",
           tasks * blocks, 1 + draw(5), draw(2) * draw(9), DRAW_OF(steps), 1 + draw(3),
           draw(2) ? "block" : "task");
  const char *offsets =
      text("%s %s %s", draw(2) ? text("prefetch_offset_ns = %dL;", 1 + draw(160)) : "",
           draw(3) ? "" : text("writeback_offset_ns = %dL;", 1 + draw(120)),
           draw(4) ? "" : "align = \"exact\";");
  const char *warm_up =
      draw(4) ? "" : text("warmup_tiles = %d; warmup_ns = %dL;", 1 + draw(2), draw(900));
  return text("version = 1; name = \"t\"; %s\ntasks = ( %s );\n"
              "policy: { objective = \"%s\"; %s %s };",
              platform, all, draw(3) ? "makespan" : "slack", offsets, warm_up);
}

/* ---- each policy ----------------------------------------------------------------------------- */

static int planned; /* sets */

static void try_policies(const char *source, int seed) {
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_schedule) *schedule = schedule_from_text_lenient(source, diag);
  for (int coarse = 0; coarse < 2 && prem_diag_errors(diag) == 0; ++coarse) {
    prem_machine machine;
    prem_schedule_machine(schedule, &machine);
    machine.clock_step_ns = 16;
    for (const prem_policy_info *policy = prem_policy_list(); policy->name; ++policy)
      if (!coarse || policy == prem_policy_list() + 1 + seed % 4) {
        prem_plan_report report;
        snprintf(schedule->policy.use, sizeof schedule->policy.use, "%s", policy->name);
        char *plan =
            made_twice(schedule, coarse ? &machine : NULL, &(prem_plan_options){0}, &report);
        planned += plan != NULL;
        free(plan);
      }
  }
}

GROUP("equal");

TEST(of_equal_tasks) {
  planned = 0;
  for (int seed = 0; seed < EQUAL; ++seed)
    try_policies(equal_set(seed), seed);
  ck_assert_int_ge(planned, EQUAL);
}

GROUP("random");

TEST(of_random_sets) {
  planned = 0;
  for (int seed = 0; seed < RANDOM; ++seed) {
    const random_set set = random_set_draw((uint32_t)seed + 4000);
    try_policies(random_set_text(&set), seed);
  }
  ck_assert_int_ge(planned, RANDOM / 2);
}

/* ---- searches, older plans ------------------------------------------------------------------- */

static void assert_no_worse(const prem_plan_report *now, const prem_plan_report *before) {
  if (now->periodic)
    ck_assert_int_ge(now->min_slack_ns, before->min_slack_ns);
  else if (!before->due)
    ck_assert_int_le(now->makespan_ns, before->makespan_ns);
}

static const prem_plan_options searched = {.time_limit_ns = PREM_MAX_NS, .step_limit = 60};

GROUP("searched");

TEST(of_searches) {
  for (uint32_t seed = 0; seed < SEARCHED; ++seed) {
    const random_set set = random_set_draw(seed);
    OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(&set));
    prem_plan_report before, now;
    FREED char *start = made(schedule, NULL, &(prem_plan_options){0}, &before);
    FREED char *plan = start ? made_twice(schedule, NULL, &searched, &now) : NULL;
    ck_assert_int_eq(start != NULL, plan != NULL);
    if (plan)
      assert_no_worse(&now, &before);
  }
}

/* A schedule with data, chains and joined phases of which one number is another. */
static prem_schedule *load_changed(uint64_t seed, int how) {
  prem_schedule *schedule = NULL;
  ck_assert_int_eq(random_schedule_load(seed, &schedule, NULL), PREM_OK);
  prem_schedule_set_plan(schedule, NULL);
  snprintf(schedule->policy.use, sizeof schedule->policy.use, "auto");
  prem_task *task = &schedule->tasks[seed % (uint64_t)schedule->task_count];
  prem_phase_spec *phase = &task->phase[seed / 3 % PREM_PHASE_COUNT];
  int64_t *const longer[] = {&schedule->platform.guard_ns, &schedule->platform.precedence_ns,
                             &schedule->job_turnaround_ns, &phase->turnaround_ns,
                             &task->release_ns};
  if (how == 1 && phase->exists)
    phase->busy_ns = phase->wcet_ns += 32 * (1 + (int64_t)(seed % 40));
  if (how == 2)
    task->deadline_ns = task->period_ns ? task->period_ns / (2 + (int64_t)(seed % 3)) : 0;
  if (how == 3)
    phase->busy_ns -= phase->busy_ns > 1;
  if (how == 4)
    task->together = !task->together;
  if (how >= 5)
    *longer[how - 5] += 64;
  return schedule;
}

GROUP("kept");

/* Where nothing has changed everything is kept. */
TEST(beside_an_older_plan) {
  enum { CHANGES = 10 };
  int kept = 0;
  for (uint64_t seed = 0; seed < DATA; ++seed) {
    OWNED(prem_schedule) *old = NULL;
    const bool has_plan = random_schedule_plan(seed, NULL, &old, NULL) == PREM_OK;
    for (int how = 0; has_plan && how < CHANGES; ++how) {
      OWNED(prem_schedule) *schedule = load_changed(seed, how);
      prem_plan_report report;
      FREED char *plan = made_twice(schedule, NULL, &(prem_plan_options){.keep = old}, &report);
      kept += plan && report.keeps && report.kept > 0;
      if (how == 0)
        ck_assert(plan && report.moved + report.added + report.removed == 0);
    }
  }
  ck_assert_int_ge(kept, DATA);
}

/* ---- what is judged before any of them ------------------------------------------------------- */

static void assert_said(const char *source, prem_status expected, const char *words) {
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_plan) *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, diag), expected);
  ck_assert_uint_eq(prem_diag_count(diag), words ? 1 : 0);
  if (words)
    ck_assert_str_eq(prem_diag_at(diag, 0)->reason, words);
}

static const char *unprofiled(int tasks) {
  const char *all = "{ name = \"ready\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                    " compute: { wcet_ns = 1L; }; }";
  for (int t = 0; t < tasks; ++t)
    all = text("%s, { name = \"t%d\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { }; }",
               all, t);
  return text("version = 1; name = \"t\"; platform: { blocks = 12; }; tasks = ( %s );", all);
}

GROUP("before");

TESTS(eight_tasks_without_times_are_named, 4) {
  static const char *const said[] = {"'t0', 't1', 't2', 't3', 't4', 't5', 't6'",
                                     "'t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7'",
                                     "'t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7' and 1 more",
                                     "'t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7' and 2 more"};
  assert_said(unprofiled(7 + _i), PREM_ERR_INVALID,
              text("no profile: run `ttprem fit`; there are no WCETs for %s", said[_i]));
}

/* Two tiles take 2 * (3 + 4 + 5) ns. */
TESTS(a_warm_up_that_is_too_short_is_told, 4) {
  assert_said(text("version = 1; name = \"t\"; platform: { blocks = 1; };"
                   "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 4;"
                   " prefetch: { wcet_ns = 3L; }; compute: { wcet_ns = 4L; };"
                   " writeback: { wcet_ns = 5L; }; } );"
                   "policy: { warmup_tiles = 2; warmup_ns = %dL; };",
                   22 + _i),
              PREM_OK,
              _i < 2 ? text("%d ns are less than the 24 ns that the warm-up tiles of task 'a' take",
                            22 + _i)
                     : NULL);
}
