/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objective "response". A job gets one instant on each of its blocks and has the block to itself
 * until it ends; what it does from there on is event-driven (prem/model/job_chain.h). So there is
 * one piece of work a job and block, or a job where its blocks start together, and pieces are put
 * one after the other at the earliest instant that blocks, resources and predecessors allow.
 *
 * Responses only grow where a piece begins later, so some order of the pieces gives the best plan.
 * The first one is by urgency: deadline, then place in the file. Then all orders are tried where
 * they are few, else pieces are moved by chance as long as there is time, and no task's worst
 * response gets longer that is more urgent than one whose gets shorter.
 */
#include "schedules/planner/response.h"

#include "prem/base/clock.h"
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/random.h"
#include "prem/base/sorting.h"
#include "prem/model/job_chain.h"
#include "schedules/planner/common/data_gaps.h"
#include "schedules/planner/common/placing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_PIECES = 7, MAX_ROUNDS = 64, LOOK_EACH = 64 };

/** The blocks of a job that start together. */
typedef struct piece {
  int64_t start_ns; /* once placed */
  int64_t length_ns;
  int64_t urgency_ns; /* the deadline of the task, or of a more urgent one that follows it */
  int32_t task, job, position, count;
  int32_t depth; /* predecessors first */
  int32_t rank;  /* place of the task among all, by deadline */
} piece;

/** What an order of the pieces comes to. */
typedef struct outcome {
  prem_wide late_ns;    /* all that is late, 0: a plan */
  int64_t *response_ns; /* [rank] */
} outcome;

typedef struct response {
  const prem_planning *planning;
  const prem_schedule *schedule;
  piece *pieces; /* [count], job by job */
  int32_t *order, *tried;
  int64_t count;
  int64_t *first_job; /* [task_count + 1] */
  int64_t *end_ns;    /* [job]: -1: a piece of it is not placed */
  int32_t *missing;   /* [job]: pieces that are not placed */
  int32_t *rank;      /* [task] */
  prem_placer placer;
  prem_data_gaps *gaps; /* NULL: there are none to keep */
  int64_t *later_ns;    /* [job]: for their sake; NULL with `gaps` */
  const piece *late;    /* the first late one of the last order that was placed */
  outcome best, now;
  int64_t steps;
} response;

/* ---- pieces --------------------------------------------------------------------------------- */

static int64_t length_of(const response *r, const prem_task *task, int32_t position) {
  return prem_job_chain(r->schedule, task, position, prem_planning_warmup(r->planning, task), NULL);
}

/* Behind it its blocks are ready for another job. */
static int64_t gap_of(const response *r, const prem_task *task) {
  int64_t gap_ns = prem_schedule_gap_ns(r->schedule, task);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists)
      gap_ns = prem_max_i64(
          gap_ns, prem_unit_gap_ns(r->schedule, task, (prem_phase)p, task->tile_count - 1));
  return gap_ns;
}

/* A memory phase and a compute may be at work at once; of a gang the larger one counts. */
static int32_t demand_of(const response *r, const prem_task *task, int32_t resource) {
  int32_t of_unit[2] = {0, 0};
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists)
      of_unit[p == PREM_COMPUTE] =
          prem_max_i32(of_unit[p == PREM_COMPUTE], task->phase[p].demand[resource]);
  return r->schedule->platform.resources[resource].per_task ? prem_max_i32(of_unit[0], of_unit[1])
                                                            : of_unit[0] + of_unit[1];
}

/* Those in which a tile is planned. */
static int32_t positions_of(const response *r, const prem_task *task) {
  int32_t count = 0;
  while (count < task->block_count &&
         prem_planning_tiles_on(task, count) > prem_planning_warmup(r->planning, task))
    ++count;
  return count;
}

static int64_t deadline_of(const prem_task *task) {
  return task->deadline_ns > 0 ? task->deadline_ns : PREM_MAX_NS;
}

/* By deadline, then as in the file. */
static int by_deadline(const void *left, const void *right, void *context) {
  const prem_task *tasks = context;
  const int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  if (deadline_of(&tasks[a]) != deadline_of(&tasks[b]))
    return deadline_of(&tasks[a]) < deadline_of(&tasks[b]) ? -1 : 1;
  return (a > b) - (a < b);
}

/* Who comes before an urgent task is as urgent. */
static void rank_tasks(response *r, int64_t *urgency_ns, int32_t *depth, int32_t *by_rank) {
  const prem_schedule *schedule = r->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    by_rank[t] = t;
    urgency_ns[t] = deadline_of(&schedule->tasks[t]);
  }
  qsort_r(by_rank, (size_t)schedule->task_count, sizeof *by_rank, by_deadline, schedule->tasks);
  for (int32_t i = 0; i < schedule->task_count; ++i)
    r->rank[by_rank[i]] = i;
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t t = 0; t < schedule->task_count; ++t)
      for (int32_t a = 0; a < schedule->tasks[t].after_count; ++a) {
        const int32_t before = schedule->tasks[t].after[a].task;
        changed |= urgency_ns[before] > urgency_ns[t] || depth[t] <= depth[before];
        urgency_ns[before] = prem_min_i64(urgency_ns[before], urgency_ns[t]);
        depth[t] = prem_max_i32(depth[t], depth[before] + 1);
      }
  }
}

static int by_urgency(const void *left, const void *right, void *context) {
  const piece *pieces = context;
  const int32_t x = *(const int32_t *)left, y = *(const int32_t *)right;
  const piece *a = &pieces[x], *b = &pieces[y];
  return prem_by_numbers((int64_t[]){a->urgency_ns, a->depth, a->rank, x},
                         (int64_t[]){b->urgency_ns, b->depth, b->rank, y}, 4);
}

static void add_pieces(response *r, int32_t t, int32_t job, int64_t urgency_ns, int32_t depth) {
  const prem_task *task = &r->schedule->tasks[t];
  const int32_t positions = positions_of(r, task);
  const int32_t step = prem_placer_by_rounds(&r->placer, task) ? positions : 1;
  for (int32_t position = 0; position < positions; position += step)
    r->pieces[r->count++] = (piece){.length_ns = length_of(r, task, position), /* the longest */
                                    .urgency_ns = urgency_ns,
                                    .task = t,
                                    .job = job,
                                    .position = position,
                                    .count = step,
                                    .depth = depth,
                                    .rank = r->rank[t]};
}

static int64_t most_pieces(const response *r) {
  int64_t count = 0;
  for (int32_t t = 0; t < r->schedule->task_count; ++t)
    count += prem_task_jobs(r->schedule, &r->schedule->tasks[t]) *
             positions_of(r, &r->schedule->tasks[t]);
  return count;
}

static prem_status list_pieces(response *r) {
  const prem_schedule *schedule = r->schedule;
  const size_t tasks = (size_t)schedule->task_count, most = (size_t)most_pieces(r);
  int64_t *urgency_ns = calloc(tasks + 1, sizeof *urgency_ns);
  int32_t *depth = calloc(tasks + 1, sizeof *depth), *by_rank = calloc(tasks + 1, sizeof *by_rank);
  r->pieces = calloc(most + 1, sizeof *r->pieces);
  r->order = calloc(most + 1, sizeof *r->order);
  r->tried = calloc(most + 1, sizeof *r->tried);
  const bool whole = urgency_ns && depth && by_rank && r->pieces && r->order && r->tried;
  if (whole) {
    rank_tasks(r, urgency_ns, depth, by_rank);
    for (int32_t t = 0; t < schedule->task_count; ++t)
      for (int64_t q = r->first_job[t]; q < r->first_job[t + 1]; ++q)
        add_pieces(r, t, (int32_t)(q - r->first_job[t]), urgency_ns[t], depth[t]);
    for (int32_t i = 0; i < r->count; ++i)
      r->order[i] = i;
    qsort_r(r->order, (size_t)r->count, sizeof *r->order, by_urgency, r->pieces);
  }
  PREM_FREE(urgency_ns, depth, by_rank);
  return whole ? PREM_OK : PREM_ERR_MEMORY;
}

/* ---- placing -------------------------------------------------------------------------------- */

static int64_t job_of(const response *r, const piece *p) {
  return r->first_job[p->task] + p->job;
}

/* False: a predecessor is not whole yet. */
static bool find_earliest(const response *r, const piece *p, int64_t *from_ns) {
  const prem_task *task = &r->schedule->tasks[p->task];
  *from_ns = prem_planning_window(r->planning, task, p->job).earliest_ns;
  for (int32_t a = 0; a < task->after_count; ++a) {
    const int64_t number = prem_planning_predecessor(r->planning, task, &task->after[a], p->job);
    const int64_t before = number < 0 ? -1 : r->first_job[task->after[a].task] + number;
    if (before < 0)
      continue;
    if (r->missing[before] > 0)
      return false;
    *from_ns = prem_max_i64(*from_ns,
                            r->end_ns[before] + prem_planning_gap_ns(r->planning, &task->after[a]));
  }
  if (r->later_ns)
    *from_ns = prem_max_i64(*from_ns, r->later_ns[job_of(r, p)]);
  return true;
}

static int64_t members_of(const response *r, int32_t resource, const piece *p) {
  return r->schedule->platform.resources[resource].per_task ? 1 : p->count;
}

static int64_t fit(const response *r, const piece *p, int64_t from_ns) {
  const prem_task *task = &r->schedule->tasks[p->task];
  const int64_t grid_ns = r->planning->grid_ns, gap_ns = gap_of(r, task);
  int64_t at_ns = prem_round_up(from_ns, grid_ns), tried_ns;
  do {
    tried_ns = at_ns;
    for (int32_t m = 0; m < p->count; ++m)
      at_ns = prem_timeline_fit(
          prem_placer_unit(&r->placer, task->blocks[p->position + m], PREM_PREFETCH), at_ns,
          p->length_ns + gap_ns, 1, grid_ns);
    for (int32_t i = 0; i < r->schedule->platform.resource_count; ++i)
      if (demand_of(r, task, i) > 0)
        at_ns = prem_placer_fit_resource(
            &r->placer, i, p->task, at_ns, p->length_ns + r->placer.guard_ns,
            demand_of(r, task, i) * (int32_t)members_of(r, i, p), grid_ns);
  } while (at_ns != tried_ns);
  return at_ns;
}

static prem_status take(response *r, const piece *p) {
  const prem_task *task = &r->schedule->tasks[p->task];
  const int64_t end_ns = p->start_ns + p->length_ns;
  prem_status status = PREM_OK;
  for (int32_t m = 0; m < p->count && !status; ++m)
    status = prem_timeline_use(
        prem_placer_unit(&r->placer, task->blocks[p->position + m], PREM_PREFETCH), p->start_ns,
        end_ns + gap_of(r, task), 1);
  for (int32_t i = 0; i < r->schedule->platform.resource_count && !status; ++i)
    if (demand_of(r, task, i) > 0)
      status =
          prem_placer_use_resource(&r->placer, i, p->task, p->start_ns, end_ns + r->placer.guard_ns,
                                   demand_of(r, task, i) * (int32_t)members_of(r, i, p), 1);
  return status;
}

static void note_gaps(response *r, const piece *p) {
  const prem_task *task = &r->schedule->tasks[p->task];
  int64_t at_ns = p->start_ns;
  for (int i = 0; r->gaps && i < PREM_PHASE_COUNT; ++i)
    if (task->phase[i].exists) {
      prem_data_gaps_note(r->gaps, p->task, p->job, (prem_phase)i, at_ns,
                          p->start_ns + p->length_ns);
      at_ns += task->phase[i].wcet_ns + task->phase[i].turnaround_ns;
    }
}

/* How much too late a piece is. */
static int64_t lateness_of(const response *r, const piece *p) {
  const prem_job_window window =
      prem_planning_window(r->planning, &r->schedule->tasks[p->task], p->job);
  const int64_t end_ns = p->start_ns + p->length_ns;
  return prem_max_i64(0, prem_max_i64(end_ns - window.due_ns, p->start_ns - window.last_start_ns));
}

static void begin(response *r, outcome *out) {
  for (int64_t q = 0; q < r->first_job[r->schedule->task_count]; ++q) {
    r->end_ns[q] = 0;
    r->missing[q] = 0;
  }
  for (int64_t i = 0; i < r->count; ++i)
    ++r->missing[job_of(r, &r->pieces[i])];
  for (int32_t t = 0; t < r->schedule->task_count; ++t)
    out->response_ns[t] = 0;
  out->late_ns = 0;
  r->late = NULL;
  if (r->gaps)
    prem_data_gaps_clear(r->gaps);
}

static prem_status place(response *r, const int32_t *order, outcome *out) {
  prem_placer_close(&r->placer);
  prem_status status = prem_placer_open(&r->placer, r->planning);
  begin(r, out);
  for (int64_t i = 0; i < r->count && !status; ++i) {
    piece *p = &r->pieces[order[i]];
    const prem_task *task = &r->schedule->tasks[p->task];
    int64_t from_ns;
    if (!find_earliest(r, p, &from_ns))
      return PREM_ERR_ARGUMENT;
    if (from_ns > PREM_MAX_NS / 2)
      return PREM_ERR_INFEASIBLE;
    p->start_ns = fit(r, p, from_ns);
    status = take(r, p);
    note_gaps(r, p);
    const int64_t end_ns = p->start_ns + p->length_ns, job = job_of(r, p);
    r->end_ns[job] = prem_max_i64(r->end_ns[job], end_ns);
    --r->missing[job];
    int64_t *worst_ns = &out->response_ns[p->rank];
    *worst_ns = prem_max_i64(*worst_ns, end_ns - p->job * task->period_ns - task->release_ns);
    out->late_ns += lateness_of(r, p);
    r->late = !r->late && lateness_of(r, p) > 0 ? p : r->late;
  }
  return status;
}

/* Where jobs that share an array come too close, one of them is put later, as in other plans. */
static prem_status evaluate(response *r, const int32_t *order, outcome *out) {
  const size_t jobs = (size_t)r->first_job[r->schedule->task_count];
  if (r->later_ns)
    memset(r->later_ns, 0, jobs * sizeof *r->later_ns);
  ++r->steps;
  for (int round = 0;; ++round) {
    const prem_status status = place(r, order, out);
    if (status || !r->gaps || !r->schedule->period_lcm_ns ||
        prem_data_gaps_short(r->gaps, r->schedule->period_lcm_ns, r->later_ns) == 0)
      return status;
    if (round == MAX_ROUNDS)
      return PREM_ERR_INFEASIBLE;
  }
}

/* ---- orders --------------------------------------------------------------------------------- */

/* Below 0: a is better. In time first, then the most urgent task's worst response. */
static int compare(const response *r, const outcome *a, const outcome *b) {
  if (a->late_ns != b->late_ns)
    return a->late_ns < b->late_ns ? -1 : 1;
  for (int32_t i = 0; i < r->schedule->task_count; ++i)
    if (a->response_ns[i] != b->response_ns[i])
      return a->response_ns[i] < b->response_ns[i] ? -1 : 1;
  return 0;
}

static void exchange(response *r) {
  const outcome was = r->best;
  r->best = r->now;
  r->now = was;
  memcpy(r->order, r->tried, (size_t)r->count * sizeof *r->order);
}

/* Is each task as fast as if there were no others but those that it follows? */
static bool is_unbeaten(response *r) {
  const int64_t grid_ns = r->planning->grid_ns;
  int64_t *least_ns = r->now.response_ns;
  memset(r->end_ns, 0, (size_t)r->first_job[r->schedule->task_count] * sizeof *r->end_ns);
  memset(least_ns, 0, (size_t)r->schedule->task_count * sizeof *least_ns);
  for (int64_t i = 0; i < r->count; ++i) { /* in an order of precedence; nothing is missing */
    const piece *p = &r->pieces[r->order[i]];
    const prem_task *task = &r->schedule->tasks[p->task];
    int64_t from_ns, *end_ns = &r->end_ns[job_of(r, p)];
    find_earliest(r, p, &from_ns);
    *end_ns = prem_max_i64(*end_ns, prem_round_up(from_ns, grid_ns) + p->length_ns);
    least_ns[p->rank] =
        prem_max_i64(least_ns[p->rank], *end_ns - p->job * task->period_ns - task->release_ns);
  }
  return compare(r, &r->best, &(outcome){0, least_ns}) <= 0;
}

static bool is_stopped(const response *r, const prem_search_limits *limits) {
  const prem_plan_options *options = limits->options;
  const bool out_of_steps = options->step_limit > 0 && r->steps >= options->step_limit;
  return out_of_steps || (options->stop && *options->stop) ||
         (r->steps % LOOK_EACH == 0 &&
          (prem_host_clock_s() - limits->began_s) * 1e9 >= (double)options->time_limit_ns);
}

static void show(const response *r, const prem_search_limits *limits) {
  const prem_plan_options *options = limits->options;
  if (options->progress && r->steps % LOOK_EACH == 0)
    options->progress(options->progress_context,
                      &(prem_plan_progress){.seconds = prem_host_clock_s() - limits->began_s,
                                            .steps = r->steps,
                                            .feasible = r->best.late_ns == 0,
                                            .value_ns = r->best.response_ns[0]});
}

static prem_status try_order(response *r) {
  const prem_status status = evaluate(r, r->tried, &r->now);
  if (status == PREM_OK && compare(r, &r->now, &r->best) < 0)
    exchange(r);
  return status == PREM_ERR_MEMORY ? status : PREM_OK;
}

/* Each place takes each of the pieces behind it. */
static prem_status try_all(response *r, int64_t from) {
  prem_status status = from == r->count ? try_order(r) : PREM_OK;
  for (int64_t i = from; i < r->count && !status; ++i) {
    const int32_t moved = r->tried[i];
    memmove(&r->tried[from + 1], &r->tried[from], (size_t)(i - from) * sizeof *r->tried);
    r->tried[from] = moved;
    status = try_all(r, from + 1);
    memmove(&r->tried[from], &r->tried[from + 1], (size_t)(i - from) * sizeof *r->tried);
    r->tried[i] = moved;
  }
  return status;
}

static prem_status try_some(response *r, const prem_search_limits *limits) {
  uint64_t random = limits->seed;
  prem_status status = PREM_OK;
  while (!status && !is_stopped(r, limits)) {
    memcpy(r->tried, r->order, (size_t)r->count * sizeof *r->order);
    const int64_t from = prem_random_below(&random, r->count);
    const int64_t to = prem_random_below(&random, r->count);
    const int32_t moved = r->tried[from];
    const int64_t low = prem_min_i64(from, to), high = prem_max_i64(from, to);
    memmove(&r->tried[from < to ? low : low + 1], &r->tried[from < to ? low + 1 : low],
            (size_t)(high - low) * sizeof *r->tried);
    r->tried[to] = moved;
    status = try_order(r);
    show(r, limits);
  }
  return status;
}

static prem_status search(response *r, const prem_search_limits *limits, bool *optimal) {
  prem_status status = evaluate(r, r->order, &r->best);
  if (status)
    return status;
  *optimal = is_unbeaten(r);
  if (!*optimal && r->count <= FEW_PIECES) {
    memcpy(r->tried, r->order, (size_t)r->count * sizeof *r->order);
    status = try_all(r, 0);
    *optimal = status == PREM_OK && !r->gaps; /* those depend on more than the order */
  } else if (!*optimal && limits->options->time_limit_ns > 0) {
    status = try_some(r, limits);
  }
  return status ? status : evaluate(r, r->order, &r->best);
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* The next run of a job: equal steps from block to block. */
static int64_t run_of(const response *r, int64_t i, prem_affine *run) {
  const piece *first = &r->pieces[i];
  const prem_task *task = &r->schedule->tasks[first->task];
  *run = (prem_affine){.task = first->task,
                       .phase = prem_first_phase(task),
                       .chain = PREM_CHAIN_JOB,
                       .first_block = first->position,
                       .count = first->count,
                       .start_ns = first->start_ns,
                       .repeat = 1,
                       .tile = first->position,
                       .tile_per_block = 1,
                       .tile_per_repeat = task->block_count,
                       .job = first->job,
                       .jobs = 1,
                       .job_step_ns = task->period_ns,
                       .join_task = -1};
  int64_t next = i + 1;
  for (; next < r->count && first->count == 1; ++next) {
    const piece *p = &r->pieces[next];
    const int64_t step_ns = p->start_ns - r->pieces[next - 1].start_ns;
    if (p->task != first->task || p->job != first->job ||
        (next > i + 1 && step_ns != run->block_step_ns))
      break;
    run->block_step_ns = step_ns;
    ++run->count;
  }
  return next;
}

/* One that continues the same task's run of the job before, a period later. */
static bool continues(const prem_plan *plan, const prem_affine *run) {
  for (int32_t i = plan->affine_count - 1; i >= 0; --i) {
    prem_affine *before = &plan->affine[i];
    if (before->task != run->task || before->job + before->jobs + 1 < run->job)
      return false;
    if (before->first_block == run->first_block && before->count == run->count &&
        before->block_step_ns == run->block_step_ns && before->job + before->jobs == run->job &&
        before->start_ns + before->jobs * before->job_step_ns == run->start_ns) {
      ++before->jobs;
      return true;
    }
  }
  return false;
}

static prem_status write_plan(const response *r, prem_plan *plan) {
  prem_status status = PREM_OK;
  int64_t end_ns = plan->warmup_tiles > 0 ? plan->warmup_ns : 0;
  for (int64_t i = 0; i < r->count && !status;) {
    prem_affine run;
    i = run_of(r, i, &run);
    if (!continues(plan, &run))
      status = prem_plan_add_affine(plan, &run);
  }
  for (int64_t i = 0; i < r->count; ++i)
    end_ns = prem_max_i64(end_ns, r->pieces[i].start_ns + r->pieces[i].length_ns);
  plan->hyperperiod_ns = r->schedule->period_lcm_ns ? r->schedule->period_lcm_ns
                                                    : prem_round_up(end_ns, r->planning->grid_ns);
  return status;
}

/* The key that a job is due by; "": it is the hyperperiod's end. */
static const char *due_key(const prem_task *task, int64_t due_ns) {
  return due_ns == task->deadline_ns  ? "deadline_ns"
         : due_ns == task->publish_ns ? "publish_ns"
                                      : "";
}

static prem_status refuse_late(const response *r) {
  const piece *p = r->late;
  const prem_task *task = &r->schedule->tasks[p->task];
  const prem_job_window window = prem_planning_window(r->planning, task, p->job);
  const int64_t release_ns = p->job * task->period_ns + task->release_ns;
  const int64_t end_ns = p->start_ns + p->length_ns;
  const char *due = due_key(task, window.due_ns - release_ns);
  char key[PREM_NAME_BYTES + 8], later[80] = "", wider[80] = "";
  snprintf(key, sizeof key, "tasks.%s", task->name);
  if (due[0])
    snprintf(later, sizeof later, "a later %s (this job takes %" PRId64 "), ", due,
             end_ns - release_ns);
  if (task->tile_count > task->block_count)
    snprintf(wider, sizeof wider, "more blocks (it has %d tiles on %d), ", task->tile_count,
             task->block_count);
  return prem_fail(
      r->planning->diag, PREM_ERR_INFEASIBLE, 33, task->place, key,
      "no plan found: job %d, event-driven from one instant on, begins at %" PRId64
      " and ends at %" PRId64 ", it is due at %" PRId64
      "; what may help: %s%s%sobjective = \"slack\", which gives each phase a window of "
      "its own",
      p->job, p->start_ns, end_ns, window.due_ns, later, wider, later[0] || wider[0] ? "or " : "");
}

static void tell(const response *r, prem_plan_report *report) {
  report->min_slack_ns = PREM_MAX_NS;
  for (int64_t i = 0; i < r->count; ++i) {
    const piece *p = &r->pieces[i];
    const prem_job_window window =
        prem_planning_window(r->planning, &r->schedule->tasks[p->task], p->job);
    if (window.target_ns < PREM_MAX_NS - r->schedule->platform.guard_ns)
      report->min_slack_ns =
          prem_min_i64(report->min_slack_ns, window.target_ns - p->start_ns - p->length_ns);
  }
  report->due = report->min_slack_ns < PREM_MAX_NS;
  report->steps = r->steps;
  snprintf(report->method, sizeof report->method, "response");
}

/* What starts together must be had together. */
static bool is_supplied(const response *r) {
  for (int64_t i = 0; i < r->count; ++i)
    for (int32_t k = 0; k < r->schedule->platform.resource_count; ++k) {
      const piece *p = &r->pieces[i];
      const prem_resource *resource = &r->schedule->platform.resources[k];
      const prem_task *task = &r->schedule->tasks[p->task];
      const int64_t asked = demand_of(r, task, k) * members_of(r, k, p);
      if (asked <= resource->capacity)
        continue;
      prem_diag_add(
          r->planning->diag, PREM_ERROR, 43, task->place, prem_key("tasks.%s", task->name).text,
          "a job that is event-driven asks for %" PRId64
          " of '%s' at once, the capacity is %d; count it per = \"task\", leave `together` "
          "out, or use objective = \"slack\"",
          asked, resource->name, resource->capacity);
      return false;
    }
  return true;
}

static prem_status prepare(response *r) {
  const prem_schedule *schedule = r->schedule;
  const size_t tasks = (size_t)schedule->task_count + 1;
  r->first_job = calloc(tasks, sizeof *r->first_job);
  r->rank = calloc(tasks, sizeof *r->rank);
  r->best.response_ns = calloc(tasks, sizeof(int64_t));
  r->now.response_ns = calloc(tasks, sizeof(int64_t));
  if (!r->first_job || !r->rank || !r->best.response_ns || !r->now.response_ns)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    r->first_job[t + 1] = r->first_job[t] + prem_task_jobs(schedule, task);
    if (prem_job_chain_bound(schedule, task, 0, 0) > PREM_MAX_NS / 4) {
      prem_planning_in_range(r->planning, (prem_wide)PREM_MAX_NS + 1);
      return PREM_ERR_INFEASIBLE;
    }
  }
  const size_t jobs = (size_t)r->first_job[schedule->task_count] + 1;
  r->end_ns = calloc(jobs, sizeof *r->end_ns);
  r->missing = calloc(jobs, sizeof *r->missing);
  prem_status status =
      r->end_ns && r->missing ? prem_placer_open(&r->placer, r->planning) : PREM_ERR_MEMORY;
  if (!status)
    status = list_pieces(r);
  if (!status && !is_supplied(r))
    status = PREM_ERR_INFEASIBLE;
  if (!status)
    status = prem_data_gaps_new(r->planning, &r->gaps);
  if (!status && r->gaps && !(r->later_ns = calloc(jobs, sizeof *r->later_ns)))
    status = PREM_ERR_MEMORY;
  return status;
}

prem_status prem_plan_response(const prem_planning *planning, const prem_search_limits *limits,
                               prem_plan *plan, prem_plan_report *report) {
  if (!prem_planning_supplied(planning))
    return PREM_ERR_INFEASIBLE;
  response r = {.planning = planning, .schedule = planning->schedule};
  bool optimal = false;
  prem_status status = prepare(&r);
  if (!status)
    status = search(&r, limits, &optimal);
  if (!status && r.late)
    status = refuse_late(&r);
  if (!status)
    status = write_plan(&r, plan);
  if (!status)
    tell(&r, report);
  report->optimal = !status && optimal;
  if (r.placer.schedule)
    prem_placer_close(&r.placer);
  prem_data_gaps_free(r.gaps);
  PREM_FREE(r.pieces, r.order, r.tried, r.first_job, r.end_ns, r.missing, r.rank, r.later_ns,
            r.best.response_ns, r.now.response_ns);
  return status;
}
