/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs must not overtake which, for the sake of an array that they share. */
#include "runtime/core/data_edges.h"

#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "prem/model/conflicts.h"
#include "runtime/core/compilation.h"

#include <stdlib.h>

/* When a job is at work, in the plan. */
typedef struct job_span {
  int64_t planned_ns[PREM_PHASE_COUNT]; /* of its first phase of this kind or a later one */
  int64_t planned_end_ns;               /* then: of this job and all before it */
} job_span;

typedef struct ordering {
  prem_program *program;
  prem_conflict *conflicts;
  int64_t conflict_count;
  job_span **spans; /* [task]; NULL: has no part in a conflict */
} ordering;

/* ---- when the plan has them at work ---------------------------------------------------------- */

static prem_status make_span(ordering *o, int32_t task) {
  if (o->spans[task])
    return PREM_OK;
  const size_t jobs = (size_t)o->program->tasks[task].jobs;
  o->spans[task] = calloc(jobs, sizeof(job_span));
  if (!o->spans[task])
    return PREM_ERR_MEMORY;
  for (size_t j = 0; j < jobs; ++j)
    o->spans[task][j] = (job_span){.planned_ns = {INT64_MAX, INT64_MAX, INT64_MAX}};
  return PREM_OK;
}

static prem_status make_spans(ordering *o) {
  o->spans = calloc((size_t)o->program->schedule->task_count, sizeof(job_span *));
  prem_status status = o->spans ? PREM_OK : PREM_ERR_MEMORY;
  for (int64_t i = 0; !status && i < o->conflict_count; ++i) {
    status = make_span(o, o->conflicts[i].task);
    if (!status)
      status = make_span(o, o->conflicts[i].before);
  }
  return status;
}

/* Warm-up comes first in its hyperperiod, whatever its times. */
static void widen_span(job_span *span, const prem_slot *slot) {
  const int64_t begin_ns = slot->flags & PREM_SLOT_WARMUP ? 0 : slot->planned_ns;
  for (int p = 0; p <= slot->phase; ++p)
    span->planned_ns[p] = prem_min_i64(span->planned_ns[p], begin_ns);
  if (slot->planned_ns + slot->length_ns > span->planned_end_ns)
    span->planned_end_ns = slot->planned_ns + slot->length_ns;
}

/* Counts of jobs say that all of them have ended: each end becomes the latest one so far, where the
 * last one of the hyperperiod before may still be on its way. */
static void order_ends(const prem_program *program, int32_t task, job_span *spans) {
  const int32_t jobs = program->tasks[task].jobs;
  int64_t latest_ns = 0;
  for (int32_t j = 0; j < jobs; ++j)
    latest_ns = spans[j].planned_end_ns > latest_ns ? spans[j].planned_end_ns : latest_ns;
  latest_ns -= program->hyperperiod_ns;
  for (int32_t j = 0; j < jobs; ++j) {
    latest_ns = spans[j].planned_end_ns > latest_ns ? spans[j].planned_end_ns : latest_ns;
    spans[j].planned_end_ns = latest_ns;
  }
}

static void fill_spans(const ordering *o, const prem_slot *slots, int64_t slot_count) {
  for (int64_t i = 0; i < slot_count; ++i) {
    job_span *spans = o->spans[slots[i].task];
    if (spans && slots[i].job >= 0 && slots[i].job < o->program->tasks[slots[i].task].jobs)
      widen_span(&spans[slots[i].job], &slots[i]);
  }
  for (int32_t t = 0; t < o->program->schedule->task_count; ++t)
    if (o->spans[t])
      order_ends(o->program, t, o->spans[t]);
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* How many of these jobs have ended at an instant of the same hyperperiod. */
static int32_t count_ended(const job_span *spans, int32_t jobs, int64_t at_ns) {
  int32_t low = 0, high = jobs;
  PREM_BISECT(low, high, middle, spans[middle].planned_end_ns <= at_ns);
  return low;
}

/* How many jobs of a task, from the hyperperiod's first, the plan ends until an instant of it;
 * below 0 if the last so many of the one before are still going on. None of a later hyperperiod:
 * the run may end before it. */
static int32_t jobs_ended(const ordering *o, int32_t task, int64_t at_ns) {
  const job_span *spans = o->spans[task];
  const int64_t jobs = o->program->tasks[task].jobs, length_ns = o->program->hyperperiod_ns;
  const int64_t hyperperiod = prem_floor_div(at_ns - spans[0].planned_end_ns, length_ns);
  if (hyperperiod > 0)
    return (int32_t)jobs;
  const int64_t ended =
      hyperperiod * jobs + count_ended(spans, (int32_t)jobs, at_ns - hyperperiod * length_ns);
  return ended < INT32_MIN ? INT32_MIN : (int32_t)ended;
}

static bool is_implied(const prem_task_program *task, const prem_dependency *edge) {
  for (int32_t a = 0; a < task->after_count; ++a) {
    const prem_dependency *after = &task->after[a];
    int32_t job = 0;
    while (after->task == edge->task && job < task->jobs &&
           after->needed_jobs[job] >= edge->needed_jobs[job])
      ++job;
    if (job == task->jobs)
      return true;
  }
  return false;
}

static prem_status append_edge(prem_task_program *task, const prem_dependency *edge) {
  prem_dependency *grown =
      realloc(task->after, ((size_t)task->edge_count + 1) * sizeof *task->after);
  if (!grown)
    return PREM_ERR_MEMORY;
  task->after = grown;
  task->after[task->edge_count++] = *edge;
  return PREM_OK;
}

static prem_status add_edge(const ordering *o, const prem_conflict *between) {
  prem_task_program *task = &o->program->tasks[between->task];
  if (prem_task_is_off(o->program, between->task))
    return PREM_OK;
  prem_dependency edge = {
      .task = between->before,
      .phase = (int32_t)between->phase,
      .by_block = prem_tasks_are_by_block(o->program->schedule, between->task, between->before),
      .needed_jobs = malloc((size_t)task->jobs * sizeof *edge.needed_jobs)};
  if (!edge.needed_jobs)
    return PREM_ERR_MEMORY;
  for (int32_t job = 0; job < task->jobs; ++job)
    edge.needed_jobs[job] = prem_needed_jobs(
        o->program, between->before,
        jobs_ended(o, between->before, o->spans[between->task][job].planned_ns[between->phase]));
  const bool implied = is_implied(task, &edge);
  prem_status status = implied ? PREM_OK : append_edge(task, &edge);
  if (implied || status)
    free(edge.needed_jobs);
  return status;
}

/* Of arrays that are kept by versions the file itself says who waits for which job. */
static prem_status add_version_edges(prem_program *program) {
  prem_version_edge *edges;
  int32_t count;
  prem_status status = prem_version_edges_new(&program->versions, &edges, &count);
  for (int32_t i = 0; !status && i < count; ++i) {
    prem_task_program *task = &program->tasks[edges[i].task];
    if (prem_task_is_off(program, edges[i].task))
      continue;
    for (int32_t job = 0; job < task->jobs; ++job)
      edges[i].needed_jobs[job] =
          prem_needed_jobs(program, edges[i].before, edges[i].needed_jobs[job]);
    const prem_dependency edge = {.task = edges[i].before,
                                  .phase = (int32_t)edges[i].phase,
                                  .by_block = edges[i].by_block,
                                  .needed_jobs = edges[i].needed_jobs};
    if (is_implied(task, &edge))
      continue;
    status = append_edge(task, &edge);
    if (!status)
      edges[i].needed_jobs = NULL;
  }
  prem_version_edges_free(edges, count);
  return status;
}

prem_status prem_program_add_data_edges(prem_program *program, const prem_slot *slots,
                                        int64_t slot_count) {
  ordering o = {.program = program};
  prem_status status =
      prem_conflicts_new(program->schedule, &program->versions, &o.conflicts, &o.conflict_count);
  if (!status && o.conflict_count > 0) {
    status = make_spans(&o);
    if (!status)
      fill_spans(&o, slots, slot_count);
    for (int64_t i = 0; !status && i < o.conflict_count; ++i)
      status = add_edge(&o, &o.conflicts[i]);
  }
  for (int32_t t = 0; o.spans && t < o.program->schedule->task_count; ++t)
    free(o.spans[t]);
  free(o.spans);
  free(o.conflicts);
  return status ? status : add_version_edges(program);
}
