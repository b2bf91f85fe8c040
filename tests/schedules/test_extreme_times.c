/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sets of times up to 2^62, which the format promises: what is planned of them the checker
 * accepts, at first and when the plan is kept. Under the undefined-behaviour sanitizer no sum
 * leaves its type. TTPREM_EXTREME_SETS says how many.
 */
#include <inttypes.h>

#include "tests/common/rounds.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { SETS = ROUNDS(6000), STEPS = 20, MAX_JOBS = 2000 };

static uint64_t random_state;

static int64_t draw(int64_t from, int64_t to) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return from + (int64_t)((random_state >> 33) % (uint64_t)(to - from + 1));
}

static bool chance(int64_t percent) {
  return draw(1, 100) <= percent;
}

#define TWO_TO(n) (INT64_C(1) << (n))

/* Now and then one of the largest. */
static int64_t a_time(int64_t percent) {
  static const int64_t large[] = {TWO_TO(31) - 1, TWO_TO(31),     TWO_TO(32) + 1, TWO_TO(53) + 1,
                                  TWO_TO(59),     TWO_TO(60),     TWO_TO(60) + 7, TWO_TO(61) - 1,
                                  TWO_TO(61),     TWO_TO(62) - 1, TWO_TO(62)};
  return chance(percent) ? large[draw(0, (int64_t)(sizeof large / sizeof *large) - 1)]
                         : draw(1, 50);
}

static int64_t one_of(int64_t a, int64_t b, int64_t c) {
  const int64_t which = draw(0, 2);
  return which == 0 ? a : which == 1 ? b : c;
}

static const char *a_phase(const char *name) {
  const int64_t wcet_ns = a_time(15), busy_ns = a_time(15);
  const char *demand = chance(40) ? text("demand: { memory = %d; };", (int)draw(0, 3)) : "";
  if (chance(20))
    return "";
  return text("%s: { wcet_ns = %" PRId64 "L; busy_ns = %" PRId64 "L; %s };", name, wcet_ns,
              busy_ns < wcet_ns ? busy_ns : wcet_ns, demand);
}

static const char *a_time_of(const char *key, int64_t percent, int64_t large) {
  return chance(percent) ? text("%s = %" PRId64 "L;", key, a_time(large)) : "";
}

static const char *a_task(int index, bool periodic) {
  const char *timing = periodic && chance(80) ? text("period_ns = %" PRId64 "L;",
                                                     one_of(TWO_TO(62), TWO_TO(60), TWO_TO(54)))
                                              : "";
  const char *after =
      index > 0 && chance(60)
          ? text("after = ( { task = \"t%d\"; instance = \"latest\"; lag_ns = %" PRId64 "L; } );",
                 (int)draw(0, index - 1),
                 chance(70) ? 1 : one_of(TWO_TO(59), TWO_TO(61), TWO_TO(62)))
          : "";
  return text(
      "%s{ name = \"t%d\"; kernel = \"none\"; blocks = \"0-%d\"; tiles = %d; %s %s %s %s %s "
      "%s compute: { wcet_ns = %" PRId64 "L; }; %s }",
      index ? ", " : "", index, (int)draw(0, 1), (int)draw(1, 5), timing,
      a_time_of("release_ns", 30, 35), a_time_of("deadline_ns", 30, 70), after,
      chance(20) ? "together = true;" : "", a_phase("prefetch"), a_time(12), a_phase("writeback"));
}

static const char *a_set(void) {
  const bool periodic = chance(50);
  const int64_t tasks = draw(1, 4);
  const char *all = "", *policy = "";
  for (int i = 0; i < tasks; ++i)
    all = text("%s%s", all, a_task(i, periodic));
  if (chance(25))
    policy = text("policy: { objective = \"%s\"; warmup_tiles = %d; warmup_ns = %" PRId64 "L; };",
                  chance(50) ? "slack" : "makespan", (int)draw(0, 1), a_time(40));
  return text("version = 1; name = \"t\"; platform: { blocks = 2; buffers = %d; guard_ns = %" PRId64
              "L; precedence_ns = %" PRId64 "L; clock_step_ns = %" PRId64
              "L; resources = ( { name = \"memory\"; capacity = %d; per = \"%s\"; } ); };\n"
              "tasks = ( %s );\n%s",
              (int)draw(1, 3), chance(15) ? one_of(1, TWO_TO(61), TWO_TO(62)) : draw(0, 3),
              chance(20) ? one_of(5, TWO_TO(61), TWO_TO(62)) : 0,
              chance(20) ? one_of(2, TWO_TO(40), TWO_TO(62)) : 1, (int)draw(1, 3),
              chance(30) ? "task" : "block", all, policy);
}

static bool is_small(const prem_schedule *schedule) {
  int64_t jobs = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    jobs += prem_task_jobs(schedule, &schedule->tasks[t]);
  return jobs <= MAX_JOBS;
}

/* Also beside a plan that is there; false: none was made. */
static bool plan(prem_schedule *schedule, const prem_schedule *old, int64_t steps) {
  const prem_plan_options options = {
      .time_limit_ns = steps ? PREM_MAX_NS : 0, .step_limit = steps, .keep = old};
  prem_plan_report report;
  prem_plan *made = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &made, &report, diag);
  if (status && status != PREM_ERR_INFEASIBLE && status != PREM_ERR_INVALID)
    abort_with("planned", diag);
  if (!made)
    return false;
  prem_schedule_set_plan(schedule, made);
  assert_checked(schedule);
  return true;
}

GROUP("all", .timeout_s = getenv("TTPREM_EXTREME_SETS") ? 0 : 60);

TEST(times_may_be_as_large_as_the_format_says) {
  const char *wanted = getenv("TTPREM_EXTREME_SETS");
  const int64_t sets = wanted ? strtoll(wanted, NULL, 10) : SETS;
  int64_t made = 0;
  for (int64_t seed = 0; seed < sets; ++seed) {
    random_state = (uint64_t)seed + 1;
    const char *source = a_set();
    OWNED(prem_diag) *diag = prem_diag_new();
    OWNED(prem_schedule) *schedule = schedule_from_text_lenient(source, diag);
    if (prem_diag_errors(diag) == 0 && is_small(schedule) &&
        prem_check(schedule, NULL, diag) == PREM_OK &&
        plan(schedule, NULL, chance(50) ? 0 : STEPS)) {
      ++made;
      OWNED(prem_diag) *again = prem_diag_new();
      OWNED(prem_schedule) *longer = schedule_from_text_lenient(source, again);
      longer->tasks[0].phase[PREM_COMPUTE].wcet_ns = a_time(20);
      plan(longer, schedule, STEPS);
    }
  }
  printf("%" PRId64 " sets, %" PRId64 " plans\n", sets, made);
  ck_assert_int_gt(made, sets / 20);
}

/* So may demands, of which several together are above what an int holds. */
TEST(demands_may_be_as_large_as_capacities) {
  static const int64_t steps[] = {0, STEPS};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
    OWNED(prem_schedule) *schedule = schedule_from_text(
        "version = 1; name = \"t\"; platform: { blocks = 3; buffers = 16; resources ="
        " ( { name = \"memory\"; capacity = 2147483646; per = \"task\"; } ); }; tasks = ("
        "{ name = \"a\"; kernel = \"none\"; blocks = [ 1, 2 ]; tiles = 4; period_ns = 1000L;"
        " prefetch: { wcet_ns = 18L; demand: { memory = 2; }; };"
        " writeback: { wcet_ns = 35L; demand: { memory = 2147483646; }; }; },"
        "{ name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 4; period_ns = 1000L;"
        " release_ns = 9L; deadline_ns = 500L; prefetch: { wcet_ns = 26L; demand: { memory = 2; }; "
        "};"
        " compute: { wcet_ns = 44L; }; } );");
    ck_assert(plan(schedule, NULL, steps[i]));
  }
}
