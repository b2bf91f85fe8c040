/* SPDX-License-Identifier: Apache-2.0 */
/* Whose ends the first phases of a job wait for. */
#include "measure/predecessors.h"

#include <stdlib.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "prem/model/conflicts.h"

/* Phases of `task` of kind `phase` and later ones wait for jobs of `before`. */
typedef struct edge {
  int32_t task, before, phase;
  const prem_after *after; /* NULL: they use the same array */
} edge;

/* When the plan has a job at work, from the hyperperiod's start. */
typedef struct job_span {
  int64_t planned_ns[PREM_PHASE_COUNT]; /* of its first phase of this kind or a later one */
  int64_t planned_end_ns;
  int64_t latest_ns; /* end of it and of all jobs of its task before it */
} job_span;

struct prem_predecessors {
  const prem_schedule *schedule;
  const prem_trace *trace;
  edge *edges; /* by task */
  int64_t edge_count;
  int64_t *first_edge; /* [task_count + 1] */
  job_span *spans;     /* [plan_count][trace->job_count] */
  int32_t plan_count;  /* one for each operating mode where they have plans of their own; else 1 */
  const prem_trace_record **last; /* [hyperperiods][job_count]: that ended last; NULL: none */
  int64_t hyperperiods;
};

/* ---- edges ----------------------------------------------------------------------------------- */

static bool add_edges(prem_predecessors *of, const prem_conflict *conflicts, int64_t count) {
  bool added = true;
  for (int32_t t = 0; t < of->schedule->task_count; ++t)
    for (int32_t a = 0; a < of->schedule->tasks[t].after_count && added; ++a) {
      const prem_after *after = &of->schedule->tasks[t].after[a];
      if (!after->per_block)
        added = PREM_APPEND(of->edges, of->edge_count,
                            (edge){.task = t, .before = after->task, .after = after});
    }
  for (int64_t i = 0; i < count && added; ++i) {
    const prem_conflict *c = &conflicts[i];
    if (!prem_tasks_are_by_block(of->schedule, c->task, c->before))
      added = PREM_APPEND(of->edges, of->edge_count,
                          (edge){.task = c->task, .before = c->before, .phase = (int32_t)c->phase});
  }
  return added;
}

static int compare_edges(const void *left, const void *right) {
  const edge *a = left, *b = right;
  return prem_by_numbers((int64_t[]){a->task, a->before, a->phase},
                         (int64_t[]){b->task, b->before, b->phase}, 3);
}

static prem_status find_edges(prem_predecessors *of) {
  prem_conflict *conflicts;
  int64_t count;
  of->first_edge = calloc((size_t)of->schedule->task_count + 1, sizeof *of->first_edge);
  prem_status status = prem_conflicts_new(of->schedule, NULL, &conflicts, &count);
  if (!status && (!of->first_edge || !add_edges(of, conflicts, count)))
    status = PREM_ERR_MEMORY;
  free(conflicts);
  if (status)
    return status;
  if (of->edge_count > 0)
    qsort(of->edges, (size_t)of->edge_count, sizeof *of->edges, compare_edges);
  for (int64_t i = 0; i < of->edge_count; ++i)
    ++of->first_edge[of->edges[i].task + 1];
  for (int32_t t = 0; t < of->schedule->task_count; ++t)
    of->first_edge[t + 1] += of->first_edge[t];
  return PREM_OK;
}

/* ---- when the plan has jobs at work ---------------------------------------------------------- */

static int32_t jobs_of(const prem_predecessors *of, int32_t task) {
  return (int32_t)(of->trace->first_job[task + 1] - of->trace->first_job[task]);
}

/* Of all jobs of a hyperperiod, by the plan that it was worked by. */
static job_span *spans_of(const prem_predecessors *of, int64_t hyperperiod) {
  const bool is_known = of->plan_count > 1 && hyperperiod < of->trace->hyperperiod_capacity;
  const int64_t plan = is_known ? of->trace->operating_mode[hyperperiod] : 0;
  return of->spans + plan * of->trace->job_count;
}

/* Has a job no phases, since the operating mode leaves it out? */
static bool is_off(const job_span *span) {
  return span->planned_ns[PREM_PREFETCH] == INT64_MAX;
}

/* Warm-up comes first in its hyperperiod, whatever its times. */
static void widen_span(job_span *span, const prem_slot *slot) {
  const int64_t begin_ns = slot->flags & PREM_SLOT_WARMUP ? 0 : slot->planned_ns;
  for (int p = 0; p <= slot->phase; ++p)
    span->planned_ns[p] = prem_min_i64(span->planned_ns[p], begin_ns);
  if (slot->planned_ns + slot->length_ns > span->planned_end_ns)
    span->planned_end_ns = slot->planned_ns + slot->length_ns;
}

/* The last job of the hyperperiod before may still be on its way. */
static void order_ends(const prem_predecessors *of, job_span *all, int32_t task) {
  job_span *spans = &all[of->trace->first_job[task]];
  const int32_t jobs = jobs_of(of, task);
  int64_t latest_ns = 0;
  for (int32_t j = 0; j < jobs; ++j)
    latest_ns = spans[j].planned_end_ns > latest_ns ? spans[j].planned_end_ns : latest_ns;
  latest_ns -= of->schedule->plan->hyperperiod_ns;
  for (int32_t j = 0; j < jobs; ++j) {
    latest_ns = spans[j].planned_end_ns > latest_ns ? spans[j].planned_end_ns : latest_ns;
    spans[j].latest_ns = latest_ns;
  }
}

static prem_status find_spans_of(const prem_predecessors *of, const prem_plan *plan,
                                 job_span *spans) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  prem_status status = prem_plan_expand(of->schedule, plan, &slots, &count, NULL);
  if (status)
    return status;
  for (int64_t j = 0; j < of->trace->job_count; ++j)
    spans[j] = (job_span){.planned_ns = {INT64_MAX, INT64_MAX, INT64_MAX}};
  for (int64_t i = 0; i < count; ++i)
    if (slots[i].job >= 0 && slots[i].job < jobs_of(of, slots[i].task))
      widen_span(&spans[of->trace->first_job[slots[i].task] + slots[i].job], &slots[i]);
  free(slots);
  for (int32_t t = 0; t < of->schedule->task_count; ++t)
    order_ends(of, spans, t);
  return PREM_OK;
}

static prem_status find_spans(prem_predecessors *of) {
  const prem_schedule *schedule = of->schedule;
  of->plan_count = prem_schedule_has_mode_plans(schedule) ? schedule->operating_mode_count : 1;
  of->spans = reallocarray(NULL, (size_t)of->plan_count * (size_t)(of->trace->job_count + 1),
                           sizeof *of->spans);
  prem_status status = of->spans ? PREM_OK : PREM_ERR_MEMORY;
  for (int32_t m = 0; !status && m < of->plan_count; ++m)
    status =
        find_spans_of(of, prem_schedule_plan_of(schedule, m), of->spans + m * of->trace->job_count);
  return status;
}

/* ---- when they ended in fact ----------------------------------------------------------------- */

static prem_status find_last(prem_predecessors *of) {
  const prem_trace *trace = of->trace;
  for (int64_t i = 0; i < trace->record_count; ++i)
    if (trace->records[i].hyperperiod >= of->hyperperiods)
      of->hyperperiods = trace->records[i].hyperperiod + 1;
  const size_t count = (size_t)of->hyperperiods * (size_t)trace->job_count;
  of->last = (const prem_trace_record **)calloc(count + 1, sizeof(prem_trace_record *));
  if (!of->last)
    return PREM_ERR_MEMORY;
  for (int64_t i = 0; i < trace->record_count; ++i) {
    const prem_trace_record *record = &trace->records[i];
    const prem_trace_record **last = &of->last[record->hyperperiod * trace->job_count +
                                               trace->first_job[record->task] + record->job];
    if (!*last || record->end_ns > (*last)->end_ns)
      *last = record;
  }
  return PREM_OK;
}

/* The end of a job, numbered over all hyperperiods, by the records; where one of them is lost, by
 * the run's own count of ends. */
static void find_end(const prem_predecessors *of, int64_t number, prem_predecessor *out) {
  const prem_trace *trace = of->trace;
  const int64_t jobs = jobs_of(of, out->task), hyperperiod = number / jobs;
  const int64_t job = trace->first_job[out->task] + number % jobs;
  const int64_t at = hyperperiod * trace->job_count + job;
  const prem_trace_record *last = hyperperiod < of->hyperperiods ? of->last[at] : NULL;
  int64_t end_ns = last ? last->end_ns : -1;
  out->record = last ? last - trace->records : -1;
  if (hyperperiod < trace->hyperperiod_capacity && trace->job_end_ns[at] > end_ns &&
      (!last || trace->lost > 0)) {
    end_ns = trace->job_end_ns[at];
    out->record = -1;
  }
  out->known = end_ns >= 0;
  out->free_ns = end_ns;
  if (out->known)
    out->tardy_ns =
        end_ns - trace->epoch_ns[hyperperiod] - spans_of(of, hyperperiod)[job].planned_end_ns;
}

/* ---- whom a phase waits for ------------------------------------------------------------------ */

/* How many jobs of a task, from the hyperperiod's first, the plan ends until an instant of it;
 * below 0 if the last so many of the one before are still going on. */
static int64_t jobs_ended(const prem_predecessors *of, const job_span *spans, int32_t task,
                          int64_t at_ns) {
  const int64_t length_ns = of->schedule->plan->hyperperiod_ns;
  const int32_t jobs = jobs_of(of, task);
  const int64_t since_ns = at_ns - spans[0].latest_ns;
  const int64_t hyperperiod = prem_div_floor(since_ns, length_ns);
  const int64_t within_ns =
      spans[0].latest_ns + since_ns % length_ns + (since_ns % length_ns < 0 ? length_ns : 0);
  int32_t low = 0, high = jobs;
  if (hyperperiod > 0)
    return jobs;
  PREM_BISECT(low, high, middle, spans[middle].latest_ns <= within_ns);
  return hyperperiod * jobs + low;
}

/* How many jobs of the predecessor, from the hyperperiod's first, have to end by the plan alone. */
static int64_t jobs_planned(const prem_predecessors *of, const edge *from, const job_span *spans,
                            int32_t job) {
  const prem_task *task = &of->schedule->tasks[from->task];
  const prem_task *before = &of->schedule->tasks[from->before];
  const int64_t length_ns = of->schedule->plan->hyperperiod_ns;
  if (!from->after)
    return jobs_ended(of, &spans[of->trace->first_job[from->before]], from->before,
                      spans[of->trace->first_job[from->task] + job].planned_ns[from->phase]);
  if (!from->after->latest)
    return job + 1;
  const int64_t release_ns = task->release_ns + job * task->period_ns;
  const int64_t period_ns = before->period_ns ? before->period_ns : length_ns;
  return prem_div_floor(release_ns - before->release_ns, period_ns) + 1;
}

/* Where plans are switched all jobs of earlier hyperperiods are over, and those that are left out
 * are not waited for. */
static int64_t jobs_awaited(const prem_predecessors *of, const edge *from,
                            const prem_trace_record *record) {
  const job_span *spans = spans_of(of, record->hyperperiod);
  if (of->plan_count > 1 && is_off(&spans[of->trace->first_job[from->before]]))
    return 0;
  const int64_t needed = jobs_planned(of, from, spans, record->job);
  return of->plan_count > 1 ? prem_max_i64(needed, 0) : needed;
}

/* A first writeback asks again for what touches its array; all else the prefetch has seen. */
static bool is_asked(const prem_predecessors *of, const edge *from,
                     const prem_trace_record *record) {
  if (from->phase > record->phase)
    return false;
  return record->phase != PREM_WRITEBACK || from->phase == PREM_WRITEBACK ||
         !of->schedule->tasks[record->task].phase[PREM_PREFETCH].exists;
}

static int64_t lag_of(const prem_predecessors *of, const edge *from) {
  const int64_t guard_ns = of->schedule->platform.guard_ns;
  if (!from->after)
    return 0;
  return from->after->lag_ns > guard_ns ? from->after->lag_ns : guard_ns;
}

static prem_predecessor judge_edge(const prem_predecessors *of, const edge *from,
                                   const prem_trace_record *record) {
  prem_predecessor found = {.task = from->before, .record = -1};
  const int64_t number =
      record->hyperperiod * (int64_t)jobs_of(of, from->before) + jobs_awaited(of, from, record) - 1;
  found.exists = number >= 0;
  if (found.exists)
    find_end(of, number, &found);
  found.free_ns += lag_of(of, from);
  return found;
}

prem_predecessor prem_predecessor_of(const prem_predecessors *of, const prem_trace_record *record) {
  prem_predecessor latest = {.record = -1};
  for (int64_t e = of->first_edge[record->task]; e < of->first_edge[record->task + 1]; ++e) {
    if (!is_asked(of, &of->edges[e], record))
      continue;
    const prem_predecessor found = judge_edge(of, &of->edges[e], record);
    if (!found.exists || (latest.exists && !latest.known))
      continue;
    if (!latest.exists || !found.known || found.free_ns > latest.free_ns)
      latest = found;
  }
  return latest;
}

/* ---- making ---------------------------------------------------------------------------------- */

void prem_predecessors_free(prem_predecessors *of) {
  if (!of)
    return;
  PREM_FREE(of->edges, of->first_edge, of->spans, (void *)of->last, of);
}

prem_status prem_predecessors_new(const prem_schedule *schedule, const prem_trace *trace,
                                  prem_predecessors **out) {
  *out = NULL;
  prem_predecessors *of = calloc(1, sizeof *of);
  if (!of)
    return PREM_ERR_MEMORY;
  of->schedule = schedule;
  of->trace = trace;
  prem_status status = find_edges(of);
  if (!status && of->edge_count > 0)
    status = find_spans(of);
  if (!status && of->edge_count > 0)
    status = find_last(of);
  if (status)
    prem_predecessors_free(of);
  else
    *out = of;
  return status;
}
