/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning within a time, by a clock that goes on by so much at each look: what is made within it
 * is known to the step.
 */
/* ctest: timing release */
#include <dlfcn.h>
#include <math.h>
#include <time.h>

#include "tests/common/planted.h"
#include "tests/common/running.h"
#include "tests/common/suite.h"

#define LOOK_NS  INT64_C(1000000)
#define LIMIT_NS INT64_C(1200000000)

static bool is_made_up;
static int64_t now_ns, look_ns = LOOK_NS;

/* The one that the library calls. */
int clock_gettime(clockid_t clock, struct timespec *out) {
  int (*next)(clockid_t, struct timespec *);
  *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
  if (!is_made_up)
    return next(clock, out);
  now_ns += look_ns;
  *out = (struct timespec){now_ns / 1000000000, now_ns % 1000000000};
  return 0;
}

/* Jobs on machines one after the other, too many for a proof. */
static prem_schedule *shop(const char *modes) {
  enum { JOBS = 9, MACHINES = 5 };
  FREED char *source = NULL;
  size_t bytes = 0;
  uint64_t state = 10;
  FILE *file = open_memstream(&source, &bytes);
  fprintf(file,
          "version = 1; name = \"t\"; platform: { blocks = %d; resources = ("
          " { name = \"memory\"; capacity = %d; } ); };\ntasks = (\n",
          MACHINES, MACHINES);
  for (int j = 0; j < JOBS; ++j)
    for (int k = 0; k < MACHINES; ++k) {
      const int32_t at = (k * (j % 2 ? 1 : 3) + planted_between(&state, 0, 2)) % MACHINES;
      fprintf(file,
              "%s{ name = \"j%dk%d\"; kernel = \"none\"; blocks = [ %" PRId32 " ]; tiles = 1;"
              " prefetch: { wcet_ns = %" PRId32 "L; };",
              j + k ? ",\n" : "", j, k, at, planted_between(&state, 5, 90));
      if (k > 0)
        fprintf(file, " after = ( { task = \"j%dk%d\"; } );", j, k - 1);
      fputs(" }", file);
    }
  fprintf(file, "\n);\nlive: { %s };\n", modes);
  fclose(file);
  prem_schedule *schedule = schedule_from_text(source);
  return schedule;
}

static int64_t steps_within(const char *modes, int64_t limit_ns) {
  OWNED(prem_schedule) *schedule = shop(modes);
  OWNED(prem_plan) *plan = NULL;
  prem_plan_report report;
  const prem_plan_options options = {.time_limit_ns = limit_ns};
  is_made_up = true;
  now_ns = 0;
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL);
  is_made_up = false;
  ck_assert_int_eq(status, PREM_OK);
  return report.steps;
}

#define QUICK(name) "{ name = \"" name "\"; off = [ \"j0k4\" ]; policy: { }; }"
#define SLOW(name)  "{ name = \"" name "\"; off = [ \"j1k4\" ]; }"

/* All plans of a schedule have the same share of the time. */
TEST(modes_with_plans_share_the_time) {
  static const struct {
    const char *modes;
    int plans;
  } cases[] = {{"", 1},
               {SLOW("a"), 1},
               {QUICK("a"), 2},
               {QUICK("a") ", " SLOW("b"), 2},
               {SLOW("a") ", " QUICK("b"), 2},
               {QUICK("a") ", " QUICK("b"), 3},
               {SLOW("a") ", " QUICK("b") ", " QUICK("c"), 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const char *modes = *cases[i].modes ? text("operating_modes = ( %s );", cases[i].modes) : "";
    const int64_t steps = steps_within(modes, LIMIT_NS);
    ck_assert_int_gt(steps, 0);
    ck_assert_msg(steps == steps_within("", LIMIT_NS / cases[i].plans), "%zu: %" PRId64, i, steps);
    ck_assert_int_lt(steps_within("", LIMIT_NS / (cases[i].plans + 1)), steps);
  }
}

/* ---- sets that are too large for their time ---------------------------------------------------
 */

/* Tasks of one block, each with its own numbers. */
static prem_schedule *many(int32_t tasks, int32_t tiles, const char *more) {
  FREED char *source = NULL;
  size_t bytes = 0;
  uint64_t state = 3;
  FILE *file = open_memstream(&source, &bytes);
  fputs("version = 1; name = \"t\"; platform: { blocks = 2; buffers = 2; };\ntasks = (\n", file);
  for (int32_t t = 0; t < tasks; ++t)
    fprintf(file,
            "%s{ name = \"t%" PRId32 "\"; kernel = \"none\"; blocks = [ %" PRId32
            " ]; tiles = %" PRId32 "; prefetch: { wcet_ns = %" PRId32
            "L; }; compute: { wcet_ns = %" PRId32 "L; }; %s }",
            t ? ",\n" : "", t, t % 2, tiles, planted_between(&state, 5, 90),
            planted_between(&state, 5, 90), t ? more : "");
  fputs("\n);\n", file);
  fclose(file);
  prem_schedule *schedule = schedule_from_text(source);
  return schedule;
}

typedef struct told {
  int times;
  double first_s;
} told;

static void note(void *context, const prem_plan_progress *progress) {
  told *what = context;
  what->times += progress->first_s > 0;
  what->first_s = progress->first_s > 0 ? progress->first_s : what->first_s;
}

static prem_plan_report plan_within(const prem_schedule *schedule, int64_t limit_ns, told *what) {
  const prem_plan_options options = {
      .time_limit_ns = limit_ns, .progress = note, .progress_context = what};
  prem_plan_report report;
  OWNED(prem_plan) *plan = NULL;
  is_made_up = true;
  now_ns = 0;
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL);
  is_made_up = false;
  ck_assert_int_eq(status, PREM_OK);
  return report;
}

/* Some 12 looks for the first plan, and a microsecond for each of its 24 000 phases. */
TEST(a_first_plan_beyond_the_limit_is_told) {
  OWNED(prem_schedule) *schedule = many(40, 300, "");
  told what = {0};
  prem_plan_report report = plan_within(schedule, 8 * LOOK_NS, &what);
  ck_assert_int_eq(what.times, 1);
  ck_assert(what.first_s > 0.032 && what.first_s < 0.044);
  ck_assert_int_eq(report.steps, 0);
  ck_assert_ptr_nonnull(strstr(report.unsearched, "no time"));
  what = (told){0};
  report = plan_within(schedule, 100 * LOOK_NS, &what);
  ck_assert_int_eq(what.times, 0);
  ck_assert_int_gt(report.steps, 0);
  ck_assert_ptr_null(report.unsearched);
}

/* Without a search as well: a look takes 0.1 s here. */
TEST(a_first_plan_of_seconds_is_told_without_a_limit) {
  OWNED(prem_schedule) *schedule = many(40, 300, "");
  told what = {0};
  look_ns = 100 * LOOK_NS;
  plan_within(schedule, 0, &what);
  look_ns = LOOK_NS;
  ck_assert_int_eq(what.times, 1);
  ck_assert(what.first_s > 1 && what.first_s < 3);
  what = (told){0};
  plan_within(schedule, 0, &what); /* the same, within a second */
  ck_assert_int_eq(what.times, 0);
}

/* All of planning ends by the limit, looks in the midst of schedules included. */
TEST(the_limit_holds_for_all_that_follows_the_first_plan) {
  OWNED(prem_schedule) *schedule = many(40, 300, "");
  for (int64_t looks = 80; looks <= 160; looks *= 2) {
    told what = {0};
    plan_within(schedule, looks * LOOK_NS, &what);
    ck_assert_int_lt(now_ns, looks * LOOK_NS * 12 / 10);
  }
}

TEST(what_cannot_be_searched_says_why) {
  told what = {0};
  OWNED(prem_schedule) *schedule =
      many(3, 2, "after = ( { task = \"t0\"; lag_ns = 2305843009213693952L; } );");
  prem_plan_report report = plan_within(schedule, LIMIT_NS, &what);
  ck_assert_ptr_nonnull(strstr(report.unsearched, "2^60"));
  ck_assert_int_eq(report.steps, 0);
  ck_assert_int_eq(what.times, 0);
}

static double cpu_s_of(int32_t tasks) {
  OWNED(prem_schedule) *schedule = many(tasks, 1, "");
  OWNED(prem_plan) *plan = NULL;
  const clock_t began = clock();
  ck_assert_int_eq(prem_plan_make(schedule, NULL, NULL, &plan, NULL), PREM_OK);
  const double took_s = (double)(clock() - began) / CLOCKS_PER_SEC;
  return took_s;
}

/* Eight times the tasks take 64 times as long where each looks at all others. */
TEST(many_tasks_take_time_in_proportion) {
  enum { MOST = 48 }; /* of processor time, for which caches are shared on a busy machine */
  double best = 1e9;
  for (int i = 0; i < 8 && best > MOST; ++i) {
    const double few_s = cpu_s_of(2000);
    best = fmin(best, cpu_s_of(16000) / few_s);
  }
  ck_assert_double_lt(best, MOST);
}
