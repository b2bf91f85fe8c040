/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plans of random sets (gangs, chains of tasks, demands, deadlines) are compiled to, what the
 * simulator makes of them, and what is said of plans that somebody has changed, is what it was (see
 * tests/common/golden.h): others show that it is right.
 */
/* ctest: release */
#include "tests/common/random_set.h"
#include "tests/common/told_program.h"

enum { SETS = 600, WHOLE = 200, CHANGES = 8 };

/* ---- plans that somebody has changed --------------------------------------------------------- */

static uint64_t drawn;

static int32_t draw(int32_t below) {
  drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int32_t)((drawn >> 33) % (uint64_t)below);
}

/* One number of one run is another, or a run is missing, or there twice. */
static void change(prem_plan *plan) {
  prem_affine *run = &plan->affine[draw(plan->affine_count)];
  const int32_t by = draw(2) ? 1 : -1;
  switch (draw(10)) {
  case 0:
    run->start_ns += by * (1 + draw(40));
    break;
  case 1:
    run->tile += by;
    break;
  case 2:
    run->job += by;
    break;
  case 3:
    run->first_block += by;
    break;
  case 4:
    run->repeat += by;
    break;
  case 5:
    *run = plan->affine[--plan->affine_count];
    break;
  case 6: {
    const prem_affine again = *run; /* the plan's own may move */
    ck_assert_int_eq(prem_plan_add_affine(plan, &again), PREM_OK);
    break;
  }
  case 7:
    run->phase = (prem_phase)draw(PREM_PHASE_COUNT);
    break;
  case 8:
    run->step_ns += by * (1 + draw(9));
    break;
  default:
    plan->hyperperiod_ns += by * (1 + draw(900));
  }
}

static prem_plan *made_plan(const prem_schedule *schedule) {
  prem_plan *plan = NULL;
  prem_plan_make(schedule, NULL, NULL, &plan, NULL);
  return plan;
}

/* What is said of it, and what is made of it where nothing is. */
static void tell_changed(FILE *file, prem_schedule *schedule, int changes) {
  prem_plan *plan = made_plan(schedule);
  for (int i = 0; i < changes && plan->affine_count > 0; ++i)
    change(plan);
  prem_schedule_set_plan(schedule, plan);
  prem_diag *diag = prem_diag_new();
  prem_program *program = NULL;
  const prem_status status = prem_program_new(schedule, &program, diag);
  fprintf(file, " %d%s", (int)status, prem_diag_errors(diag) > 0 ? "!" : "");
  told_add((int64_t)golden_problems(diag));
  prem_program_free(program);
  told_slots(schedule, plan);
  told_program(schedule);
  prem_diag_free(diag);
}

static void tell_set(FILE *file, uint32_t seed) {
  const random_set set = random_set_draw(seed);
  prem_schedule *schedule = schedule_from_text(random_set_text(&set));
  prem_plan *plan = made_plan(schedule);
  fprintf(file, "set %" PRIu32 ":%s", seed, plan ? "" : " no plan");
  prem_schedule_set_plan(schedule, plan);
  told_all(file, schedule);
  drawn = seed * UINT64_C(0x9E3779B97F4A7C15);
  if (plan)
    for (int i = 0; i < CHANGES; ++i)
      tell_changed(file, schedule, 1 + i / 4);
  told_end(file, "");
  fputc('\n', file);
  prem_schedule_free(schedule);
}

START_TEST(of_sets) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  told_sum = GOLDEN_SUM;
  for (uint32_t seed = 0; seed < SETS; ++seed) {
    tell_set(golden_begin(&lines, seed < WHOLE), seed + 7000);
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge("sets.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same sets");
  TCase *cases = tcase_create("sets");
  tcase_set_timeout(cases, 120);
  tcase_add_test(cases, of_sets);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
