/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests of the checker: a schedule with a plan of which each number is a little more or less,
 * one at a time, and what the checker says of it.
 */
#ifndef TTPREM_TESTS_COMMON_NUDGED_H
#define TTPREM_TESTS_COMMON_NUDGED_H

#include "tests/common/golden.h"

enum { NUDGED_MAX = 12 /* tasks, and runs of a plan */ };

typedef struct nudged {
  prem_schedule *schedule;
  FILE *file;
  uint64_t sum;
  int64_t refused, tried;
} nudged;

static inline void nudged_check(nudged *n) {
  prem_diag *diag = prem_diag_new();
  const prem_status status = prem_check(n->schedule, NULL, diag);
  const int64_t all[] = {(int64_t)status, (int64_t)golden_problems(diag)};
  n->sum = golden_sum(n->sum, all, sizeof all);
  n->refused += status != PREM_OK;
  ++n->tried;
  prem_diag_free(diag);
}

/** `value` as it is, by one and by some steps more and less, but not below `min`. */
static inline void nudged_time(nudged *n, int64_t *value, int64_t min) {
  const int64_t step_ns = n->schedule->platform.clock_step_ns, was = *value;
  const int64_t by[] = {1, -1, step_ns, -step_ns, 7 * step_ns, -5 * step_ns};
  for (int i = step_ns > 1 ? 0 : 2; i < 6; ++i) {
    *value = was + by[i] < min ? min : was + by[i];
    if (*value != was)
      nudged_check(n);
  }
  *value = was;
}

static inline void nudged_count(nudged *n, int32_t *value, int32_t min) {
  const int32_t was = *value;
  for (int by = -1; by <= 1; by += 2) {
    *value = was + by;
    if (*value >= min)
      nudged_check(n);
  }
  *value = was;
}

static inline void nudged_wide(nudged *n, int64_t *value) {
  const int64_t was = *value;
  for (int by = -1; by <= 1; by += 2) {
    *value = was + by;
    nudged_check(n);
  }
  *value = was;
}

static inline void nudged_tell(nudged *n, const char *what) {
  fprintf(n->file, " %s %" PRId64 "/%" PRId64 " %016" PRIx64, what, n->refused, n->tried, n->sum);
  n->sum = GOLDEN_SUM;
  n->refused = n->tried = 0;
}

static inline void nudged_tasks(nudged *n) {
  for (int32_t t = 0; t < n->schedule->task_count && t < NUDGED_MAX; ++t) {
    prem_task *task = &n->schedule->tasks[t];
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      prem_phase_spec *phase = &task->phase[p];
      if (!phase->exists)
        continue;
      nudged_time(n, &phase->wcet_ns, phase->busy_ns > 1 ? phase->busy_ns : 1);
      const int64_t busy_ns = phase->busy_ns;
      phase->busy_ns = busy_ns > 1 ? busy_ns - 1 : busy_ns;
      nudged_check(n);
      phase->busy_ns = busy_ns;
      for (int32_t r = 0; r < n->schedule->platform.resource_count; ++r)
        nudged_count(n, &phase->demand[r], 0);
    }
    nudged_time(n, &task->release_ns, 0);
    if (task->period_ns > 0)
      nudged_time(n, &task->deadline_ns, 0);
    for (int32_t a = 0; a < task->after_count; ++a)
      nudged_time(n, &task->after[a].lag_ns, 0);
    task->together = !task->together;
    nudged_check(n);
    task->together = !task->together;
  }
  nudged_tell(n, "tasks");
}

static inline void nudged_platform(nudged *n) {
  prem_platform *platform = &n->schedule->platform;
  nudged_time(n, &platform->guard_ns, 0);
  nudged_time(n, &platform->precedence_ns, 0);
  nudged_time(n, &platform->clock_step_ns, 1);
  nudged_wide(n, &platform->scratch_bytes);
  nudged_count(n, &platform->buffers, 1);
  for (int32_t r = 0; r < platform->resource_count; ++r) {
    nudged_count(n, &platform->resources[r].capacity, 1);
    platform->resources[r].per_task = !platform->resources[r].per_task;
    nudged_check(n);
    platform->resources[r].per_task = !platform->resources[r].per_task;
  }
  nudged_tell(n, "platform");
}

static inline void nudged_plan(nudged *n) {
  prem_plan *plan = n->schedule->plan;
  nudged_time(n, &plan->hyperperiod_ns, 1);
  nudged_time(n, &plan->warmup_ns, 0);
  for (int32_t i = 0; i < plan->affine_count && i < NUDGED_MAX; ++i) {
    prem_affine *run = &plan->affine[i];
    nudged_time(n, &run->start_ns, 0);
    nudged_time(n, &run->step_ns, 0);
    nudged_time(n, &run->block_step_ns, INT64_MIN / 2);
    nudged_time(n, &run->job_step_ns, 0);
    nudged_count(n, &run->count, 1);
    nudged_count(n, &run->first_block, 0);
    nudged_wide(n, &run->repeat);
    nudged_wide(n, &run->tile);
    nudged_wide(n, &run->tile_per_block);
    nudged_wide(n, &run->tile_per_repeat);
    nudged_wide(n, &run->job);
    nudged_wide(n, &run->jobs);
    if (run->join_task >= 0) {
      nudged_wide(n, &run->join_tile);
      nudged_wide(n, &run->join_job);
    }
    run->chain ^= 1U << PREM_COMPUTE;
    nudged_check(n);
    run->chain ^= 1U << PREM_COMPUTE;
  }
  for (int32_t i = 0; i < plan->starts_count && i < NUDGED_MAX; ++i) {
    prem_starts *starts = &plan->starts[i];
    for (int64_t s = 0; s < starts->count && s < NUDGED_MAX; ++s)
      nudged_time(n, &starts->start_ns[s], 0);
    nudged_count(n, &starts->block, 0);
  }
  nudged_tell(n, "plan");
}

/** The schedule, and all that is a little another one. */
static inline void nudged_schedule(FILE *file, prem_schedule *schedule) {
  nudged n = {.schedule = schedule, .file = file, .sum = GOLDEN_SUM};
  nudged_check(&n);
  nudged_tell(&n, "itself");
  nudged_tasks(&n);
  nudged_platform(&n);
  if (schedule->plan)
    nudged_plan(&n);
  fputc('\n', file);
}

#endif
