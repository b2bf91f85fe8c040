/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning within a time, by a clock that goes on by so much at each look: what is made within it
 * is known to the step.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <time.h>

#include "tests/common/planted.h"
#include "tests/common/running.h"

#define LOOK_NS  INT64_C(1000000)
#define LIMIT_NS INT64_C(1200000000)

static bool is_made_up;
static int64_t now_ns;

/* The one that the library calls. */
int clock_gettime(clockid_t clock, struct timespec *out) {
  int (*next)(clockid_t, struct timespec *);
  *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
  if (!is_made_up)
    return next(clock, out);
  now_ns += LOOK_NS;
  *out = (struct timespec){now_ns / 1000000000, now_ns % 1000000000};
  return 0;
}

/* Jobs on machines one after the other, too many for a proof. */
static prem_schedule *shop(const char *modes) {
  enum { JOBS = 9, MACHINES = 5 };
  char *source = NULL;
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
  free(source);
  return schedule;
}

static int64_t steps_within(const char *modes, int64_t limit_ns) {
  prem_schedule *schedule = shop(modes);
  prem_plan *plan = NULL;
  prem_plan_report report;
  const prem_plan_options options = {.time_limit_ns = limit_ns};
  is_made_up = true;
  now_ns = 0;
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL);
  is_made_up = false;
  ck_assert_int_eq(status, PREM_OK);
  prem_plan_free(plan);
  prem_schedule_free(schedule);
  return report.steps;
}

#define QUICK(name) "{ name = \"" name "\"; off = [ \"j0k4\" ]; policy: { }; }"
#define SLOW(name)  "{ name = \"" name "\"; off = [ \"j1k4\" ]; }"

/* All plans of a schedule have the same share of the time. */
START_TEST(modes_with_plans_share_the_time) {
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
END_TEST

int main(void) {
  Suite *suite = suite_create("planning time");
  TCase *all = tcase_create("all");
  tcase_set_timeout(all, 60);
  tcase_add_test(all, modes_with_plans_share_the_time);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
