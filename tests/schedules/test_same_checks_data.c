/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker says of random schedules with data whose plans are a little too early, too late,
 * too long is what it was (see tests/common/golden.h): others show that it is right,
 * and run it under the sanitizers. */
/* ctest: release */
#include "tests/common/nudged.h"
#include "tests/common/random_schedule.h"

enum { SETS = 60 };

START_TEST(of_schedules) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    prem_schedule *schedule = NULL;
    if (random_schedule_plan(seed, NULL, &schedule, NULL) != PREM_OK) {
      prem_schedule_free(schedule);
      continue;
    }
    fprintf(file, "schedule %" PRIu32 ":", seed);
    nudged_schedule(file, schedule);
    prem_schedule_free(schedule);
  }
  fclose(file);
  golden_judge("checks_data.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same checks of data");
  TCase *all = tcase_create("schedules");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_schedules);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
