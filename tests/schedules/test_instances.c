/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances whose best makespan is known: TTPREM_INSTANCES names a folder with their files and an
 * index.csv of lines FILE,CLASS,OPTIMUM,PROVEN. Ends with status 77 where there is none.
 */
/* ctest: release long */
#include <inttypes.h>

#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { STEPS = 4000 };
static const double max_mean_gap_pct = 4;

static const char *folder;

/* How far above the best known makespan a short search comes; never below a proven one. */
static double gap_of(const char *file, int64_t best_ns, bool proven) {
  OWNED(prem_schedule) *schedule = NULL;
  OWNED(prem_diag) *diag = prem_diag_new();
  prem_plan *plan = NULL;
  prem_plan_report report;
  prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = STEPS};
  const char *path = text("%s/%s", folder, file);
  if (prem_schedule_load(path, NULL, &schedule, diag) != PREM_OK ||
      prem_plan_make_reported(schedule, NULL, &options, &plan, &report, diag) != PREM_OK)
    abort_with(path, diag);
  prem_schedule_set_plan(schedule, plan);
  assert_checked(schedule);
  ck_assert_msg(report.lower_bound_ns <= best_ns,
                "%s: the lower bound %" PRId64 " is above the best known %" PRId64, file,
                report.lower_bound_ns, best_ns);
  ck_assert_msg(!proven || report.makespan_ns >= best_ns,
                "%s: the makespan %" PRId64 " is below the optimum %" PRId64, file,
                report.makespan_ns, best_ns);
  return 100.0 * (double)(report.makespan_ns - best_ns) / (double)best_ns;
}

static const char *why_no_instances(void) {
  folder = getenv("TTPREM_INSTANCES");
  return folder && *folder ? NULL : "TTPREM_INSTANCES names no folder of instances";
}

SUITE_NEEDS(why_no_instances);

TEST(instances_come_near_the_best_known) {
  FILE *index = fopen(text("%s/index.csv", folder), "r");
  ck_assert_msg(index != NULL, "%s/index.csv cannot be read", folder);
  char line[512], file[256], proven[8];
  double sum_pct = 0;
  int count = 0;
  int64_t best_ns;
  while (fgets(line, sizeof line, index)) {
    proven[0] = '\0';
    if (sscanf(line, "%255[^,],%*[^,],%" SCNd64 ",%7s", file, &best_ns, proven) < 2)
      continue; /* the header */
    sum_pct += gap_of(file, best_ns, proven[0] != '\0');
    ++count;
  }
  fclose(index);
  ck_assert_int_gt(count, 0);
  printf("%d instances, %d schedules each: mean gap %.3f %%\n", count, STEPS, sum_pct / count);
  fflush(stdout);
  ck_assert(sum_pct / count <= max_mean_gap_pct);
}
