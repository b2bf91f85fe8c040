/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What random sets are refused with that have no plan is what it was, to the last letter (see
 * tests/common/golden.h): demands above the supply, proofs, what tasks waited for. Others show that
 * it is right. Searches are limited in steps, so that no clock has a say.
 */
/* ctest: release */
#include "tests/common/golden.h"
#include "tests/common/random_set.h"
#include "tests/common/suite.h"

enum { OVERLOADED = 120, TIGHT = 240, STEPS = 10 };

static void tell_problems(FILE *file, const prem_diag *diag) {
  for (size_t i = 0; i < prem_diag_count(diag); ++i) {
    const prem_problem *problem = prem_diag_at(diag, i);
    fprintf(file, "  %d: E%03d: %s: %s\n", problem->line, problem->code, problem->key,
            problem->reason);
  }
}

/* Plans are compared elsewhere. */
static void tell_set(FILE *file, uint32_t seed, const random_set *set) {
  OWNED(prem_schedule) *schedule = schedule_from_text(random_set_text(set));
  OWNED(prem_diag) *diag = prem_diag_new();
  OWNED(prem_plan) *plan = NULL;
  const prem_plan_options options = {.time_limit_ns = PREM_MAX_NS, .step_limit = STEPS};
  const prem_status status = prem_plan_make(schedule, NULL, &options, &plan, diag);
  if (status != PREM_OK) {
    fprintf(file, "set %" PRIu32 ": %s\n", seed, prem_status_text(status));
    tell_problems(file, diag);
  }
}

GROUP("overloaded");

/* More than there is of each thing. */
TEST(of_overloaded_sets) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint32_t seed = 0; seed < OVERLOADED; ++seed) {
    random_set set = random_set_draw(seed);
    for (int32_t t = 0; t < set.tasks; ++t)
      set.longer_ns[t] = (int32_t)(seed % 6) * 90 + (seed % 6 ? 30 * t : 0);
    tell_set(file, seed, &set);
  }
  fclose(file);
  golden_judge("reasons.txt", found);
}

GROUP("tight");

/* A little too much, or just enough. */
TEST(of_tight_sets) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint32_t seed = 0; seed < TIGHT; ++seed) {
    random_set set = random_set_draw(seed);
    for (int32_t t = 0; t < set.tasks; ++t)
      set.longer_ns[t] = (int32_t)(seed % 16) * 6;
    tell_set(file, seed, &set);
  }
  fclose(file);
  golden_judge("reasons_tight.txt", found);
}
