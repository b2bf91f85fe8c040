/* SPDX-License-Identifier: Apache-2.0 */
/* Random plans on the backends that need no GPU; test_cuda_random.c runs them on one. */
#include "tests/common/random_schedule.h"

#include "tests/common/running.h"
#include "tests/common/suite.h"

enum { PLANS = 60, FIRST_SEED = 1 };

TEST(random_plans_run_on_the_simulator) {
  random_counts counts;
  ck_assert(random_plans_run(prem_backend_find("sim"), NULL, FIRST_SEED, PLANS, &counts));
  ck_assert_int_eq(counts.runs, 3 * PLANS);
  /* the generator serves every policy, and writes joined plans itself */
  int policies = 0;
  while (prem_policy_list()[policies].name)
    ck_assert_int_gt(counts.by_policy[policies++], 0);
  ck_assert_int_gt(counts.by_policy[policies], 0);
}

TEST(random_plans_run_on_the_cpu) {
  random_counts counts;
  ck_assert(random_plans_run(prem_backend_find("cpu"), NULL, FIRST_SEED, PLANS, &counts));
}

TEST(equal_seeds_give_equal_schedules) {
  char *texts[3];
  static const uint64_t seeds[] = {7, 7, 8};
  for (int i = 0; i < 3; ++i) {
    size_t bytes;
    FILE *file = open_memstream(&texts[i], &bytes);
    random_schedule_print(file, seeds[i]);
    fclose(file);
  }
  ck_assert_str_eq(texts[0], texts[1]);
  ck_assert_str_ne(texts[0], texts[2]);
  for (int i = 0; i < 3; ++i)
    free(texts[i]);
}
