/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What random sets that ask for too much are refused with is what it was, to the last letter (see
 * tests/common/golden.h): each resource, each unit of each block, by how much. Others show that it
 * is right.
 */
/* ctest: release */
#include "tests/common/golden.h"
#include "tests/common/random_set.h"

enum { SETS = 240 };

/* Of the demand alone: what else is said is looked for as long as there is time. */
static bool is_of_demand(const prem_problem *problem) {
  return strstr(problem->reason, "whatever the order") ||
         strstr(problem->reason, "together as well");
}

static void tell_demands(FILE *file, const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    if (is_of_demand(problem))
      fprintf(file, "  %d: E%03d: %s: %s\n", problem->line, problem->code, problem->key,
              problem->reason);
  }
}

/* As it is, which is seldom too much, and with times that are. */
static void tell_set(FILE *file, uint32_t seed) {
  random_set set = random_set_draw(seed);
  for (int32_t t = 0; t < set.tasks; ++t)
    set.longer_ns[t] = (int32_t)(seed % 6) * 90 + (seed % 6 ? 30 * t : 0);
  prem_schedule *schedule = schedule_from_text(random_set_text(&set));
  const bool is_periodic = schedule->period_lcm_ns > 0;
  prem_diag *diag = prem_diag_new();
  prem_plan *plan = NULL;
  volatile sig_atomic_t stop = 1; /* before reasons are looked for */
  const prem_plan_options options = {.stop = &stop};
  prem_plan_make(schedule, NULL, &options, &plan, diag);
  fprintf(file, "set %" PRIu32 "%s:\n", seed, is_periodic ? ", periodic" : "");
  tell_demands(file, diag);
  prem_plan_free(plan);
  prem_diag_free(diag);
  prem_schedule_free(schedule);
}

START_TEST(of_sets) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint32_t seed = 0; seed < SETS; ++seed)
    tell_set(file, seed);
  fclose(file);
  golden_judge("demands.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same demands");
  TCase *all = tcase_create("sets");
  tcase_set_timeout(all, 240);
  tcase_add_test(all, of_sets);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
