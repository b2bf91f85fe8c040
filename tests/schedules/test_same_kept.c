/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of random schedules with data, chains and joined phases that are kept for a schedule which
 * is a little another one are what they were (see tests/common/golden.h).
 */
#include "tests/common/golden.h"
#include "tests/common/random_schedule.h"

enum { SEEDS = 200 };

/* A schedule of the seed that takes a little longer, has less time, more to hold, another order. */
static prem_schedule *load_changed(uint64_t seed, int how) {
  prem_schedule *schedule = NULL;
  if (random_schedule_load(seed, &schedule, NULL) != PREM_OK)
    return schedule;
  prem_schedule_set_plan(schedule, NULL);
  snprintf(schedule->policy.use, sizeof schedule->policy.use, "auto");
  prem_task *task = &schedule->tasks[seed % (uint64_t)schedule->task_count];
  const int phase = (int)(seed / 3 % PREM_PHASE_COUNT);
  switch (how) {
  case 0:
    break;
  case 1:
    if (task->phase[phase].exists) {
      task->phase[phase].wcet_ns += 32 * (1 + (int64_t)(seed % 40));
      task->phase[phase].busy_ns = task->phase[phase].wcet_ns;
    }
    break;
  case 2:
    task->deadline_ns = task->period_ns ? task->period_ns / (2 + (int64_t)(seed % 3)) : 0;
    break;
  case 3:
    schedule->platform.guard_ns += 64;
    break;
  default:
    task->release_ns += 320;
  }
  return schedule;
}

static void tell_kept(FILE *file, const prem_schedule *old, uint64_t seed, int how) {
  prem_schedule *schedule = load_changed(seed, how);
  const prem_plan_options options = {.keep = old};
  prem_plan_report report;
  prem_plan *plan = NULL;
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &plan, &report, NULL);
  fprintf(file, "schedule %" PRIu64 ", change %d: %s", seed, how, prem_status_text(status));
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, plan);
    char *saved = golden_saved(schedule);
    fprintf(file, " %s, %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 ": %s %016" PRIx64,
            report.method, report.kept, report.moved, report.added, report.removed,
            prem_check(schedule, NULL, NULL) == PREM_OK ? "legal" : "illegal", golden_text(saved));
    free(saved);
  }
  fputc('\n', file);
  prem_schedule_free(schedule);
}

START_TEST(of_schedules) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint64_t seed = 0; seed < SEEDS; ++seed) {
    prem_schedule *old = NULL;
    if (random_schedule_plan(seed, NULL, &old, NULL) == PREM_OK)
      for (int how = 0; how < 5; ++how)
        tell_kept(file, old, seed, how);
    prem_schedule_free(old);
  }
  fclose(file);
  golden_judge("plans_kept_data.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same kept");
  TCase *all = tcase_create("schedules");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_schedules);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
