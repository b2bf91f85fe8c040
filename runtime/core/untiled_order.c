/* SPDX-License-Identifier: Apache-2.0 */
/* Ordering whole jobs for launching. */
#include "runtime/core/untiled_order.h"

#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"

/* How far ordering has come with a task. */
typedef struct task_progress {
  int32_t next;        /* its first job that is not in the order yet */
  int64_t first;       /* of the numbers of those that are in the order */
  int64_t earliest_ns; /* of its last one */
} task_progress;

typedef struct ordering {
  const prem_program *program;
  prem_untiled_order *order;
  task_progress *tasks;
  int64_t *numbers;     /* of all tasks */
  int64_t *earliest_ns; /* of each job in the order */
  int64_t pred_count;
} ordering;

/* When the next job of a task can begin; INT64_MAX while it follows one that is not in the order.
 */
static int64_t earliest_of_next(const ordering *at, int32_t t) {
  const prem_task_program *task = &at->program->tasks[t];
  const task_progress *progress = &at->tasks[t];
  if (progress->next == task->jobs)
    return INT64_MAX;
  int64_t earliest_ns = prem_max_i64(prem_job_release_ns(at->program, t, progress->next, 0),
                                     progress->next > 0 ? progress->earliest_ns : 0);
  for (int32_t a = 0; a < task->after_count; ++a) {
    const prem_dependency *after = &task->after[a];
    const task_progress *pred = &at->tasks[after->task];
    const int32_t awaited = after->needed_jobs[progress->next];
    if (awaited > pred->next)
      return INT64_MAX;
    if (awaited > 0)
      earliest_ns =
          prem_max_i64(earliest_ns, at->earliest_ns[at->numbers[pred->first + awaited - 1]]);
  }
  return earliest_ns;
}

static void append(ordering *at, int32_t t, int64_t earliest_ns) {
  const prem_task_program *task = &at->program->tasks[t];
  task_progress *progress = &at->tasks[t];
  const int64_t number = at->order->job_count++;
  prem_untiled_job *job = &at->order->jobs[number];
  *job = (prem_untiled_job){.task = t,
                            .job = progress->next,
                            .release_ns = prem_job_release_ns(at->program, t, progress->next, 0),
                            .first_pred = at->pred_count};
  for (int32_t a = 0; a < task->after_count; ++a) {
    const int32_t awaited = task->after[a].needed_jobs[job->job];
    if (awaited <= 0)
      continue;
    const int64_t pred = at->numbers[at->tasks[task->after[a].task].first + awaited - 1];
    at->order->preds[at->pred_count++] =
        (prem_untiled_pred){.number = pred, .lag_ns = task->after[a].lag_ns};
    at->order->jobs[pred].awaited = true;
    ++job->pred_count;
  }
  at->numbers[progress->first + progress->next++] = number;
  progress->earliest_ns = earliest_ns;
  at->earliest_ns[number] = earliest_ns;
}

/* The checker has seen that `after` makes no circle, so there is always a job that can be next. */
static void order_all(ordering *at, int64_t all) {
  while (at->order->job_count < all) {
    int32_t best = 0;
    int64_t best_ns = INT64_MAX;
    for (int32_t t = 0; t < at->program->schedule->task_count; ++t) {
      const int64_t earliest_ns = earliest_of_next(at, t);
      if (earliest_ns < best_ns) {
        best = t;
        best_ns = earliest_ns;
      }
    }
    if (best_ns == INT64_MAX)
      return;
    append(at, best, best_ns);
  }
}

prem_status prem_untiled_order_new(const prem_program *program, prem_untiled_order *out) {
  const int32_t tasks = program->schedule->task_count;
  size_t jobs = 0, preds = 0;
  for (int32_t t = 0; t < tasks; ++t) {
    jobs += (size_t)program->tasks[t].jobs;
    preds += (size_t)program->tasks[t].jobs * (size_t)program->tasks[t].after_count;
  }
  *out = (prem_untiled_order){.jobs = calloc(jobs + 1, sizeof *out->jobs),
                              .preds = calloc(preds + 1, sizeof *out->preds)};
  ordering at = {.program = program,
                 .order = out,
                 .tasks = calloc((size_t)tasks + 1, sizeof *at.tasks),
                 .numbers = calloc(jobs + 1, sizeof *at.numbers),
                 .earliest_ns = calloc(jobs + 1, sizeof *at.earliest_ns)};
  prem_status status = PREM_ERR_MEMORY;
  if (out->jobs && out->preds && at.tasks && at.numbers && at.earliest_ns) {
    int64_t first = 0;
    for (int32_t t = 0; t < tasks; ++t) {
      at.tasks[t].first = first;
      first += program->tasks[t].jobs;
    }
    order_all(&at, (int64_t)jobs);
    status = PREM_OK;
  }
  PREM_FREE(at.tasks, at.numbers, at.earliest_ns);
  if (status != PREM_OK)
    prem_untiled_order_free(out);
  return status;
}

prem_status prem_untiled_order_first(const prem_untiled_order *from, prem_untiled_order *out) {
  const size_t jobs = (size_t)from->job_count;
  int64_t preds = 0, pred_count = 0;
  for (size_t i = 0; i < jobs; ++i)
    preds += from->jobs[i].pred_count;
  int64_t *numbers = calloc(jobs + 1, sizeof *numbers); /* in the new order */
  *out = (prem_untiled_order){.jobs = calloc(jobs + 1, sizeof *out->jobs),
                              .preds = calloc((size_t)preds + 1, sizeof *out->preds)};
  if (!numbers || !out->jobs || !out->preds) {
    free(numbers);
    prem_untiled_order_free(out);
    return PREM_ERR_MEMORY;
  }
  for (size_t i = 0; i < jobs; ++i) {
    const prem_untiled_job *job = &from->jobs[i];
    if (job->job != 0)
      continue;
    prem_untiled_job *to = &out->jobs[out->job_count];
    *to = (prem_untiled_job){.task = job->task, .first_pred = pred_count, .awaited = job->awaited};
    for (int32_t p = 0; p < job->pred_count; ++p) {
      const int64_t pred = from->preds[job->first_pred + p].number;
      if (from->jobs[pred].job != 0)
        continue;
      out->preds[pred_count++].number = numbers[pred];
      ++to->pred_count;
    }
    numbers[i] = out->job_count++;
  }
  free(numbers);
  return PREM_OK;
}

void prem_untiled_order_free(prem_untiled_order *order) {
  free(order->jobs);
  free(order->preds);
  *order = (prem_untiled_order){0};
}
