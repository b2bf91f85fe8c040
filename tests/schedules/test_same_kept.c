/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of random schedules with data, chains and joined phases that are kept for a schedule which
 * is a little another one are what they were (see tests/common/golden.h).
 */
#include "schedules/planner/common/data_gaps.h"
#include "tests/common/golden.h"
#include "tests/common/planted.h"
#include "tests/common/random_schedule.h"

enum { SEEDS = 200, CHANGES = 13, FEW = 90 /* seeds for what changes one number */ };

/* One number of a task, or of what all tasks have. */
static void change_one(prem_schedule *schedule, prem_task *task, prem_phase_spec *phase, int how) {
  switch (how) {
  case 5:
    phase->demand[0] += phase->exists ? 1 : 0;
    break;
  case 6:
    phase->busy_ns -= phase->busy_ns > 1;
    break;
  case 7:
    phase->turnaround_ns += 32;
    break;
  case 8:
    task->together = !task->together;
    break;
  case 9:
    task->publish_ns = task->period_ns / 2;
    break;
  case 10:
    if (task->after_count > 0)
      task->after[0].lag_ns += 320;
    break;
  case 11:
    schedule->job_turnaround_ns += 64;
    break;
  default:
    schedule->platform.precedence_ns += 64;
  }
}

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
  case 4:
    task->release_ns += 320;
    break;
  default:
    change_one(schedule, task, &task->phase[phase], how);
  }
  return schedule;
}

static void tell_kept(FILE *file, const prem_schedule *old, uint64_t seed, int how) {
  prem_schedule *schedule = load_changed(seed, how);
  const prem_plan_options options = {.keep = old};
  prem_plan_report report;
  prem_plan *plan = NULL;
  prem_diag *diag = prem_diag_new();
  const prem_status status =
      prem_plan_make_reported(schedule, NULL, &options, &plan, &report, diag);
  fprintf(file, "schedule %" PRIu64 ", change %d: %s", seed, how, prem_status_text(status));
  if (status == PREM_OK) {
    prem_schedule_set_plan(schedule, plan);
    char *saved = golden_saved(schedule);
    fprintf(file, " %s, %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 ": %s %016" PRIx64,
            report.method, report.kept, report.moved, report.added, report.removed,
            prem_check(schedule, NULL, NULL) == PREM_OK ? "legal" : "illegal", golden_text(saved));
    free(saved);
  } else {
    fprintf(file, " %016" PRIx64, golden_problems(diag));
  }
  prem_diag_free(diag);
  fputc('\n', file);
  prem_schedule_free(schedule);
}

/* ---- what the plan leaves between users of an array ----------------------------------------- */

static uint64_t sum;

static void add(int64_t value) {
  sum = golden_sum(sum, &value, sizeof value);
}

static void note_plan(prem_data_gaps *gaps, const prem_schedule *schedule) {
  if (!schedule->plan) { /* any times */
    for (int32_t t = 0; t < schedule->task_count; ++t)
      for (int p = 0; p < PREM_PHASE_COUNT; ++p)
        prem_data_gaps_note(gaps, t, 0, (prem_phase)p, 70 * (t * 5 % 7) + 100 * p,
                            70 * (t * 5 % 7) + 100 * p + 90);
    return;
  }
  prem_slot *slots = NULL;
  int64_t count = 0;
  ck_assert_int_eq(prem_plan_expand(schedule, schedule->plan, &slots, &count, NULL), PREM_OK);
  for (int64_t i = 0; i < count; ++i)
    prem_data_gaps_note(gaps, slots[i].task, slots[i].job, (prem_phase)slots[i].phase,
                        slots[i].planned_ns, slots[i].planned_ns + slots[i].length_ns);
  free(slots);
}

static void tell_gaps(FILE *file, prem_schedule *schedule, uint64_t seed) {
  schedule->platform.precedence_ns = 40 * (1 + (int64_t)(seed % 90));
  const prem_planning planning = {
      .schedule = schedule, .grid_ns = schedule->platform.clock_step_ns, .policy = "auto"};
  prem_data_gaps *gaps = NULL;
  ck_assert_int_eq(prem_data_gaps_new(&planning, &gaps), PREM_OK);
  const int64_t hyperperiod_ns = schedule->plan ? schedule->plan->hyperperiod_ns : 800;
  fprintf(file, "gaps %" PRIu64 ":", seed);
  if (gaps) {
    sum = GOLDEN_SUM;
    for (int64_t i = 0; i < gaps->pair_count; ++i) {
      add(gaps->pairs[i].task);
      add(gaps->pairs[i].before);
      add(gaps->pairs[i].phase);
    }
    fprintf(file, " %" PRId64 " pairs of %" PRId64 " ns", gaps->pair_count, gaps->gap_ns);
    prem_data_gaps_clear(gaps);
    note_plan(gaps, schedule);
    const int64_t jobs = gaps->first_job[schedule->task_count];
    int64_t *later_ns = calloc((size_t)jobs + 1, sizeof *later_ns);
    for (int64_t percent = 90; percent <= 110; percent += 5)
      add(prem_data_gaps_short(gaps, hyperperiod_ns * percent / 100,
                               percent % 2 ? later_ns : NULL));
    add((int64_t)prem_data_gaps_length_ns(gaps));
    for (int64_t j = 0; j < jobs; ++j)
      add(later_ns[j]);
    free(later_ns);
    prem_data_gaps_free(gaps);
    fprintf(file, " %016" PRIx64, sum);
  }
  fputc('\n', file);
}

/* Tasks that read and write the same few arrays; some of them begin with a tile to warm up. */
static const char *sharing_tasks(uint64_t seed, bool warms_up) {
  uint64_t state = seed;
  const char *all = "";
  for (int t = 0; t < 6; ++t) {
    const int32_t in = planted_between(&state, 0, 2), out = planted_between(&state, 0, 2);
    all =
        text("%s%s{ name = \"t%d\"; kernel = \"vector_increment\"; blocks = [ %d ]; tile = [ 64 ];"
             " arrays: { in = \"%c\"; out = \"%c\"; }; prefetch: { wcet_ns = 90L; };"
             " compute: { wcet_ns = 90L; }; writeback: { wcet_ns = 90L; }; %s }",
             all, t ? ", " : "", t, t, 'x' + in, 'x' + (out == in ? (out + 1) % 3 : out),
             warms_up && t % 2 ? "period_ns = 6000L;" : "");
  }
  return text("version = 1; name = \"t\"; platform: { blocks = 6; };"
              " arrays = ( { name = \"x\"; type = \"f32\"; shape = [ 64 ]; },"
              " { name = \"y\"; type = \"f32\"; shape = [ 64 ]; },"
              " { name = \"z\"; type = \"f32\"; shape = [ 64 ]; } ); tasks = ( %s ); %s",
              all, warms_up ? "policy: { warmup_tiles = 1; warmup_ns = 900L; };" : "");
}

/* ---- all of it ------------------------------------------------------------------------------ */

START_TEST(of_schedules) {
  char *found = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&found, &bytes);
  for (uint64_t seed = 0; seed < SEEDS; ++seed) {
    prem_schedule *old = NULL;
    if (random_schedule_plan(seed, NULL, &old, NULL) == PREM_OK)
      for (int how = 0; how < 5; ++how)
        tell_kept(file, old, seed, how);
    if (old && old->plan)
      tell_gaps(file, old, seed);
    prem_schedule_free(old);
  }
  for (uint64_t seed = 0; seed < FEW; ++seed) {
    prem_schedule *old = NULL;
    if (random_schedule_plan(seed, NULL, &old, NULL) == PREM_OK)
      for (int how = 5; how < CHANGES; ++how)
        tell_kept(file, old, seed, how);
    prem_schedule_free(old);
  }
  for (uint64_t seed = 0; seed < 60; ++seed) {
    prem_schedule *sharing = schedule_from_text(sharing_tasks(seed, seed >= 30));
    tell_gaps(file, sharing, seed);
    prem_schedule_free(sharing);
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
