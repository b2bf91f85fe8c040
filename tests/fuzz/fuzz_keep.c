/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with a plan, legal or not, and after a line of three dashes a schedule to be planned
 * beside it: any of both. What the planner makes of the second with the first at hand, the checker
 * accepts.
 */
#include "tests/fuzz/fuzzing.h"

enum { MAX_TILES = 300, MAX_BLOCKS = 32, MAX_TASKS = 32, STEPS = 4 };

static prem_schedule *read_part(const uint8_t *data, size_t size) {
  prem_diag *diag = prem_diag_new();
  prem_schedule *schedule = NULL;
  bool is_good = fuzz_read(data, size, &schedule, diag) == PREM_OK &&
                 prem_schedule_bind(schedule, prem_registry_builtin(), diag) == PREM_OK &&
                 prem_diag_errors(diag) == 0 && fuzz_is_small(schedule, MAX_TILES) &&
                 schedule->platform.blocks <= MAX_BLOCKS && schedule->task_count <= MAX_TASKS;
  for (int32_t t = 0; is_good && t < schedule->task_count; ++t) /* arrays may be large */
    is_good = strcmp(schedule->tasks[t].kernel, "none") == 0;
  prem_diag_free(diag);
  if (is_good)
    return schedule;
  prem_schedule_free(schedule);
  return NULL;
}

/* Is it sound without a plan? */
static bool is_plannable(prem_schedule *schedule) {
  prem_schedule_set_plan(schedule, NULL);
  return prem_check(schedule, NULL, NULL) == PREM_OK;
}

static void keep(prem_schedule *schedule, const prem_schedule *old) {
  const prem_plan_options options = {
      .time_limit_ns = PREM_MAX_NS, .step_limit = STEPS, .keep = old};
  prem_plan_report report;
  prem_plan *made = NULL;
  if (prem_plan_make_reported(schedule, NULL, &options, &made, &report, NULL) != PREM_OK)
    return;
  prem_schedule_set_plan(schedule, made);
  if (prem_check(schedule, NULL, NULL) != PREM_OK)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char mark[] = "\n---\n";
  const uint8_t *apart = size ? memmem(data, size, mark, sizeof mark - 1) : NULL;
  if (!apart)
    return 0;
  const uint8_t *second = apart + sizeof mark - 1;
  prem_schedule *old = read_part(data, (size_t)(apart - data));
  prem_schedule *schedule =
      old && old->plan ? read_part(second, size - (size_t)(second - data)) : NULL;
  if (schedule && is_plannable(schedule))
    keep(schedule, old);
  prem_schedule_free(schedule);
  prem_schedule_free(old);
  return 0;
}
