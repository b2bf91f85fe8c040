/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plans of random schedules are compiled to, what the simulator makes of them, and the same of
 * parts of them and of stretched plans, is what it was, record by record (see
 * tests/common/golden.h): others show that it is right.
 */
#include "tests/common/random_schedule.h"
#include "tests/common/told_program.h"

enum { SEEDS = 500, WHOLE = 120 };

/* ---- parts, stretched plans ----------------------------------------------------------------- */

static void tell_part(FILE *file, const prem_schedule *schedule, uint64_t seed) {
  bool keep[RANDOM_TASKS] = {false};
  for (int32_t t = 0; t < schedule->task_count && t < RANDOM_TASKS; ++t)
    keep[t] = seed >> t & 1;
  prem_schedule *part = NULL;
  if (prem_schedule_subset(schedule, keep, &part) != PREM_OK)
    return;
  fprintf(file, "\n  part of %d:", part->task_count);
  told_all(file, part);
  if (part->task_count > 0 && part->tasks[0].definition) {
    prem_diag *diag = prem_diag_new();
    fprintf(file, "\n  replaced: %s",
            prem_status_text(prem_schedule_replace(part, 0, "vector_increment", 64,
                                                   prem_registry_builtin(), diag)));
    told_add((int64_t)golden_problems(diag));
    told_all(file, part);
    prem_diag_free(diag);
  }
  prem_schedule_free(part);
}

static void tell_stretched(FILE *file, const prem_schedule *schedule, uint64_t seed) {
  prem_plan *plan = NULL;
  const int64_t offset_ns = prem_plan_offset_ns(schedule->plan);
  const prem_status status =
      prem_plan_stretch(schedule, schedule->plan,
                        offset_ns * (int64_t)(1 + seed % 3) + (int64_t)(seed % 2), &plan, NULL);
  fprintf(file, "\n  stretched: %s", prem_status_text(status));
  if (plan)
    told_slots(schedule, plan);
  told_end(file, "");
  prem_plan_free(plan);
}

static void tell_schedule(FILE *file, prem_schedule *schedule, uint64_t seed) {
  told_sum = GOLDEN_SUM;
  told_all(file, schedule);
  tell_part(file, schedule, seed / 2 + 1);
  tell_part(file, schedule, seed * 7 % 31);
  tell_stretched(file, schedule, seed);
  fputc('\n', file);
}

/* ---- precedence by block, units per task: what random schedules do not have ----------------- */

static const char *by_block(uint64_t seed) {
  return text(
      "version = 1; name = \"t\"; platform: { blocks = 3; buffers = %d; resources = ("
      " { name = \"memory\"; capacity = %d; }, { name = \"bus\"; capacity = 2; per = \"task\"; }"
      " ); };\n"
      "arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 96 ]; fill = \"random\"; },"
      " { name = \"y\"; type = \"f32\"; shape = [ 96 ]; },"
      " { name = \"z\"; type = \"f32\"; shape = [ 96 ]; } );\n"
      "tasks = ( { name = \"a\"; kernel = \"vector_increment\"; blocks = \"0-2\"; tile = [ %d ];"
      " %s arrays: { in = \"x\"; out = \"y\"; }; prefetch: { wcet_ns = 300L;"
      " demand: { memory = 2; bus = 1; }; }; compute: { wcet_ns = 200L; };"
      " writeback: { wcet_ns = %dL; }; },\n"
      " { name = \"b\"; kernel = \"vector_increment\"; blocks = \"0-2\"; tile = [ %d ]; %s"
      " arrays: { in = \"y\"; out = \"z\"; }; prefetch: { wcet_ns = 170L;"
      " demand: { memory = 3; bus = 2; }; }; compute: { wcet_ns = 450L; };"
      " writeback: { wcet_ns = 90L; };"
      " after = ( { task = \"a\"; %s } ); } );",
      1 + (int)(seed % 3), 3 + (int)(seed % 2), seed % 5 ? 16 : 12,
      seed % 4 == 3 ? "period_ns = 40000L;" : "", 100 + 10 * (int)(seed % 7), seed % 5 ? 16 : 12,
      seed % 4 == 3 ? "period_ns = 40000L;" : "", seed % 2 ? "per = \"block\";" : "lag_ns = 50L;");
}

START_TEST(of_schedules) {
  char *found = NULL;
  size_t bytes = 0;
  golden_lines lines = {.file = open_memstream(&found, &bytes)};
  for (uint64_t seed = 0; seed < SEEDS; ++seed) {
    FILE *file = golden_begin(&lines, seed < WHOLE);
    prem_schedule *schedule = NULL;
    if (random_schedule_plan(seed, NULL, &schedule, NULL) == PREM_OK) {
      fprintf(file, "schedule %" PRIu64 ":", seed);
      tell_schedule(file, schedule, seed);
    }
    prem_schedule_free(schedule);
    golden_end(&lines);
  }
  fclose(lines.file);
  golden_judge("programs.txt", found);
}
END_TEST

START_TEST(of_blocks) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    prem_schedule *schedule = schedule_from_text(by_block(seed));
    prem_plan *plan = NULL;
    const prem_status status = prem_plan_make(schedule, NULL, NULL, &plan, NULL);
    fprintf(file, "blocks %" PRIu64 ": %s", seed, prem_status_text(status));
    prem_schedule_set_plan(schedule, plan);
    if (plan)
      tell_schedule(file, schedule, seed);
    prem_schedule_free(schedule);
  }
  fclose(file);
  golden_judge("programs_blocks.txt", found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("same programs");
  TCase *schedules = tcase_create("schedules");
  tcase_set_timeout(schedules, 240);
  tcase_add_test(schedules, of_schedules);
  suite_add_tcase(suite, schedules);
  TCase *blocks = tcase_create("blocks");
  tcase_set_timeout(blocks, 240);
  tcase_add_test(blocks, of_blocks);
  suite_add_tcase(suite, blocks);
  return run_suite(suite);
}
