/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each policy makes of sets of equal tasks, of nearly equal ones and of random ones, with
 * offsets, a coarser clock and pairs of phases that join, and what it says where it refuses them,
 * is what it was (see tests/common/golden.h): others show that it is right.
 */
/* ctest: release */
#include "tests/common/golden.h"
#include "tests/common/random_set.h"

enum { EQUAL = 260, RANDOM = 360, WHOLE = 120 };

static uint64_t drawn;

static int draw(int below) {
  drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((drawn >> 33) % (uint64_t)below);
}

#define DRAW_OF(list) ((list)[draw((int)(sizeof(list) / sizeof *(list)))])

/* ---- sets of equal tasks --------------------------------------------------------------------- */

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

static void tell_policy(FILE *file, prem_schedule *schedule, const char *policy,
                        const prem_machine *machine) {
  const prem_plan_options options = {0};
  prem_plan_report report = {0};
  prem_plan *plan = NULL;
  prem_diag *diag = prem_diag_new();
  snprintf(schedule->policy.use, sizeof schedule->policy.use, "%s", policy);
  const prem_status status =
      prem_plan_make_reported(schedule, machine, &options, &plan, &report, diag);
  uint64_t sum = golden_problems(diag);
  if (plan) {
    const int64_t all[] = {report.makespan_ns, report.lower_bound_ns, report.due,
                           report.due ? report.min_slack_ns : 0, report.phases};
    sum = golden_sum(sum, all, sizeof all);
    sum = golden_sum(sum, report.method, strlen(report.method));
    prem_schedule_set_plan(schedule, plan);
    char *saved = golden_saved(schedule);
    sum = golden_sum(sum, saved, strlen(saved));
    free(saved);
    fprintf(file, " %" PRId64, report.makespan_ns);
    fprintf(file, "%s", prem_check(schedule, machine, NULL) == PREM_OK ? "" : "?");
    prem_schedule_set_plan(schedule, NULL);
  } else {
    fprintf(file, " %s", prem_status_text(status));
  }
  fprintf(file, " %08" PRIx32 ";", (uint32_t)(sum ^ sum >> 32));
  prem_diag_free(diag);
}

static void tell_set(FILE *file, int seed, const char *source) {
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = schedule_from_text_lenient(source, diag);
  fprintf(file, "%d: %08" PRIx32, seed, (uint32_t)golden_problems(diag));
  for (int coarse = 0; coarse < 2 && prem_diag_errors(diag) == 0; ++coarse) {
    prem_machine machine;
    prem_schedule_machine(schedule, &machine);
    machine.clock_step_ns = 16;
    for (const prem_policy_info *policy = prem_policy_list(); policy->name; ++policy)
      if (!coarse || policy == prem_policy_list() + 1 + seed % 4)
        tell_policy(file, schedule, policy->name, coarse ? &machine : NULL);
  }
  fputc('\n', file);
  prem_schedule_free(schedule);
  prem_diag_free(diag);
}

START_TEST(of_equal_tasks) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (int seed = 0; seed < EQUAL; ++seed)
    tell_set(file, seed, equal_set(seed));
  fclose(file);
  golden_judge("policies.txt", found);
}
END_TEST

START_TEST(of_random_sets) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  for (int seed = 0; seed < RANDOM; ++seed) {
    const random_set set = random_set_draw((uint32_t)seed + 4000);
    tell_set(golden_begin(&lines, seed < WHOLE), seed, random_set_text(&set));
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge("policies_random.txt", found);
}
END_TEST

/* ---- what is judged before any of them ------------------------------------------------------- */

static void assert_said(const char *source, prem_status expected, const char *words) {
  prem_schedule *schedule = schedule_from_text(source);
  prem_diag *diag = prem_diag_new();
  prem_plan *plan = NULL;
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, diag), expected);
  ck_assert_uint_eq(prem_diag_count(diag), words ? 1 : 0);
  if (words)
    ck_assert_str_eq(prem_diag_at(diag, 0)->reason, words);
  prem_plan_free(plan);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
}

static const char *unprofiled(int tasks) {
  const char *all = "{ name = \"ready\"; kernel = \"none\"; blocks = 1; tiles = 1;"
                    " compute: { wcet_ns = 1L; }; }";
  for (int t = 0; t < tasks; ++t)
    all = text("%s, { name = \"t%d\"; kernel = \"none\"; blocks = 1; tiles = 1; compute: { }; }",
               all, t);
  return text("version = 1; name = \"t\"; platform: { blocks = 12; }; tasks = ( %s );", all);
}

START_TEST(eight_tasks_without_times_are_named) {
  static const char *const said[] = {"'t0', 't1', 't2', 't3', 't4', 't5', 't6'",
                                     "'t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7'",
                                     "'t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7' and 1 more",
                                     "'t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7' and 2 more"};
  assert_said(unprofiled(7 + _i), PREM_ERR_INVALID,
              text("no profile: run `ttprem fit`; there are no WCETs for %s", said[_i]));
}
END_TEST

/* Two tiles take 2 * (3 + 4 + 5) ns. */
START_TEST(a_warm_up_that_is_too_short_is_told) {
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
END_TEST

int main(void) {
  Suite *suite = suite_create("same policies");
  TCase *cases = tcase_create("sets");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, of_equal_tasks);
  tcase_add_test(cases, of_random_sets);
  suite_add_tcase(suite, cases);
  cases = tcase_create("before");
  tcase_add_loop_test(cases, eight_tasks_without_times_are_named, 0, 4);
  tcase_add_loop_test(cases, a_warm_up_that_is_too_short_is_told, 0, 4);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
