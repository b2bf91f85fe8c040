/* SPDX-License-Identifier: Apache-2.0 */
/* What the checker says of random sets whose plans are a little too early, too late, too long is
 * what it was (see tests/common/golden.h): others show that it is right,
 * and run it under the sanitizers. */
/* ctest: release */
#include "tests/common/nudged.h"
#include "tests/common/random_set.h"

enum { SETS = 60 };

START_TEST(of_sets) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    const random_set set = random_set_draw(seed);
    prem_schedule *schedule = schedule_from_text(random_set_text(&set));
    prem_plan *plan = NULL;
    prem_plan_make(schedule, NULL, NULL, &plan, NULL);
    prem_schedule_set_plan(schedule, plan);
    fprintf(file, "set %" PRIu32 ":", seed);
    nudged_schedule(file, schedule);
    prem_schedule_free(schedule);
  }
  fclose(file);
  golden_judge("checks.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same checks");
  TCase *all = tcase_create("sets");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_sets);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
