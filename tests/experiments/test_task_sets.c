/* SPDX-License-Identifier: Apache-2.0 */
/* Drawn sets of tasks: a user's files in all but their author. */
#include "experiments/machine/task_sets/draw.h"

#include "tests/common/running.h"

enum { SEEDS = 60 };

static const set_room rooms[] = {
    {.blocks = 2, .rows = 64, .columns = 128, .scratch_bytes = 49152, .late_ns = 50000},
    {.blocks = 8,
     .rows = 64,
     .columns = 128,
     .scratch_bytes = 49152,
     .late_ns = 50000,
     .has_times = true},
    {.sms = 132,
     .blocks = 264,
     .rows = 512,
     .columns = 1024,
     .scratch_bytes = 67584,
     .late_ns = 256}};

/* Everybody has as many tasks as were asked for, of several kernels, and breaks no rule. */
START_TEST(sets_are_legal) {
  const set_room *room = &rooms[_i / 2];
  for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
    const int32_t tasks = 16 + (int32_t)(seed * 7 % 49);
    FREED char *drawn = set_draw(room, _i % 2, tasks, seed);
    OWNED(prem_diag) *diag = prem_diag_new();
    OWNED(prem_schedule) *schedule = NULL;
    if (prem_schedule_load_text("drawn", drawn, &schedule, diag) != PREM_OK ||
        prem_schedule_bind(schedule, prem_registry_builtin(), diag) != PREM_OK ||
        prem_check(schedule, NULL, diag) != PREM_OK)
      abort_with(drawn, diag);
    ck_assert_int_eq(schedule->task_count, tasks);
    int32_t others = 0, follow = 0;
    for (int32_t t = 0; t < tasks; ++t) {
      others += strcmp(schedule->tasks[t].kernel, schedule->tasks[0].kernel) != 0;
      follow += schedule->tasks[t].after_count > 0;
      ck_assert(prem_task_profiled(&schedule->tasks[t]) == room->has_times);
    }
    ck_assert_int_gt(others, 0);
    ck_assert_int_eq(follow > 0, _i % 2);
  }
}
END_TEST

START_TEST(a_seed_is_one_set) {
  FREED char *one = set_draw(&rooms[2], true, 40, 7), *again = set_draw(&rooms[2], true, 40, 7);
  FREED char *other = set_draw(&rooms[2], true, 40, 8);
  ck_assert_str_eq(one, again);
  ck_assert_str_ne(one, other);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("task_sets");
  TCase *cases = tcase_create("task_sets");
  tcase_add_loop_test(cases, sets_are_legal, 0, 6);
  tcase_add_test(cases, a_seed_is_one_set);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
