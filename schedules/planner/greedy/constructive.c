/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constructive planner: serial schedule generation. Jobs are taken in the order of their latest
 * finish (deadlines, tightened by what follows them; release and file order break ties), which is
 * also an order of precedence. Their tiles are taken round by round, and each phase is put at the
 * earliest instant that all rules allow, gaps left by earlier jobs included. Nothing is ever moved
 * again: this is fast and correct, not optimal. `objective` makes no difference: the order serves
 * the makespan as it serves the deadlines.
 *
 * That is done in two orders, and the better plan taken: tile after tile, and with each tile's
 * prefetch before the writeback of the tile before it, where there are buffers for both.
 *
 * A round, one tile on every block of the task, starts each of its phases together if the task is
 * `together`, or a gang (it has a demand on a resource counted per task); otherwise its tiles are
 * placed one by one. Every use of a unit, a buffer or a resource is kept guard_ns longer, units and
 * buffers as long as the turnaround of the phase if that is more.
 *
 * Where a job ends too short a time before another one touches an array that they share (see
 * data_gaps.h), all are placed once more, the other one later.
 */
#include "prem/base/clock.h"
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "schedules/planner/common/data_gaps.h"
#include "schedules/planner/greedy/greedy.h"
#include "schedules/planner/greedy/pipeline.h"
#include "schedules/planner/repair/repair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct job {
  int64_t earliest_ns; /* release, warm-up; predecessors are added when it is placed */
  int64_t due_ns;      /* its end is late after it; PREM_MAX_NS where there is none */
  int64_t
      finish_ns; /* latest finish: its window's target, and what follows it can still be in time */
  int64_t first_ns; /* start of its first phase once placed; PREM_MAX_NS where it has none */
  int64_t last_start_ns;
  int64_t end_ns; /* once placed; -1 before */
  int32_t task, number;
} job;

/* The jobs of a task that are late in one way. */
typedef struct lateness {
  int64_t count, worst_ns;
  int64_t is_ns, limit_ns; /* of the first one */
  int32_t job;
  char waited[160];
} lateness;

/* A tile whose writeback has no place yet. */
typedef struct open_tile {
  prem_round round;  /* `task` NULL: there is none */
  int64_t placement; /* of the writeback, among the draft's */
} open_tile;

typedef struct construction {
  const prem_planning *planning;
  const prem_schedule *schedule;
  int64_t guard_ns;
  int32_t *order;     /* of tasks: predecessors first */
  int64_t *first_job; /* [task_count + 1] */
  job *jobs;
  int64_t *sequence; /* of jobs, as they are placed */
  prem_placer placer;
  prem_repair *repair;  /* NULL: there is no plan to keep */
  bool ahead;           /* a writeback is placed after the next tile's prefetch */
  open_tile *open;      /* [position], with `ahead` */
  int32_t depth;        /* of pipelines of joined phases; 0: none are wanted */
  bool *piped;          /* [task]: its jobs are pipelines; NULL: none are */
  prem_data_gaps *gaps; /* NULL: there are none to keep */
  int64_t *later_ns;    /* [job]: it begins no earlier, for their sake; NULL with `gaps` */
  lateness *late;       /* [task][kind], of the round */
  prem_draft *draft;
  int64_t room;   /* for placements in the draft */
  int64_t rounds; /* that were placed */
  bool told;      /* that it takes longer than there is time */
} construction;

/* ---- order ---------------------------------------------------------------------------------- */

/* Predecessors first, else as in the file. */
static prem_status order_tasks(construction *c) {
  int32_t count = c->schedule->task_count, placed = 0;
  int32_t *followers = calloc((size_t)count + 1, sizeof *followers); /* not yet placed */
  int32_t *stack = malloc((size_t)count * sizeof *stack);
  if (!followers || !stack) {
    free(followers);
    free(stack);
    return PREM_ERR_MEMORY;
  }
  for (int32_t t = 0; t < count; ++t)
    for (int32_t a = 0; a < c->schedule->tasks[t].after_count; ++a)
      ++followers[c->schedule->tasks[t].after[a].task];
  int32_t waiting = 0;
  for (int32_t t = 0; t < count; ++t)
    if (followers[t] == 0)
      stack[waiting++] = t;
  while (waiting > 0) { /* from the last task back to the first */
    int32_t t = stack[--waiting];
    c->order[count - ++placed] = t;
    for (int32_t a = 0; a < c->schedule->tasks[t].after_count; ++a) {
      int32_t before = c->schedule->tasks[t].after[a].task;
      if (--followers[before] == 0)
        stack[waiting++] = before;
    }
  }
  free(followers);
  free(stack);
  return placed == count ? PREM_OK : PREM_ERR_ARGUMENT; /* a cycle; the reader refuses it */
}

static job *job_at(const construction *c, int32_t task, int64_t number) {
  return &c->jobs[c->first_job[task] + number];
}

static void set_job(const construction *c, int32_t t, int32_t number, job *out) {
  prem_job_window window = prem_planning_window(c->planning, &c->schedule->tasks[t], number);
  *out = (job){.earliest_ns = window.earliest_ns,
               .due_ns = window.due_ns,
               .finish_ns = prem_min_i64(window.due_ns, window.target_ns),
               .first_ns = PREM_MAX_NS,
               .end_ns = -1,
               .task = t,
               .number = number};
}

/* A bound on how long a job takes when it is alone. */
static int64_t shortest_ns(const construction *c, const prem_task *task) {
  prem_wide memory = 0, compute = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists)
      *(p == PREM_COMPUTE ? &compute : &memory) +=
          (prem_wide)task->phase[p].wcet_ns + prem_phase_gap_ns(c->schedule, task, (prem_phase)p);
  prem_wide rounds = prem_planning_tiles_on(task, 0) - prem_planning_warmup(c->planning, task);
  if (rounds < 1)
    return 0;
  prem_wide step = c->schedule->platform.buffers == 1 ? memory + compute
                   : memory > compute                 ? memory
                                                      : compute;
  prem_wide all = memory + compute + (rounds - 1) * step;
  return all > PREM_MAX_NS ? PREM_MAX_NS : (int64_t)all;
}

/* A job must leave time for those that follow it, and come before them in any case. */
static void tighten(construction *c) {
  for (int32_t i = c->schedule->task_count - 1; i >= 0; --i) {
    int32_t t = c->order[i];
    const prem_task *task = &c->schedule->tasks[t];
    int64_t own_ns = prem_max_i64(shortest_ns(c, task), 1),
            jobs = c->first_job[t + 1] - c->first_job[t];
    for (int32_t a = 0; a < task->after_count; ++a) {
      int64_t gap_ns = prem_planning_gap_ns(c->planning, &task->after[a]);
      for (int32_t q = 0; q < jobs; ++q) {
        int64_t number = prem_planning_predecessor(c->planning, task, &task->after[a], q);
        if (number < 0)
          continue;
        job *before = job_at(c, task->after[a].task, number);
        prem_wide finish = (prem_wide)job_at(c, t, q)->finish_ns - own_ns - gap_ns;
        if (finish < before->finish_ns)
          before->finish_ns = finish < -PREM_MAX_NS ? -PREM_MAX_NS : (int64_t)finish;
      }
    }
  }
}

static int by_latest_finish(const void *left, const void *right, void *context) {
  const construction *c = context;
  int64_t x = *(const int64_t *)left, y = *(const int64_t *)right;
  const job *a = &c->jobs[x], *b = &c->jobs[y];
  return prem_by_numbers((int64_t[]){a->finish_ns, a->earliest_ns, x},
                         (int64_t[]){b->finish_ns, b->earliest_ns, y}, 3);
}

static prem_status list_jobs(construction *c) {
  int64_t count = 0;
  for (int32_t t = 0; t < c->schedule->task_count; ++t) {
    c->first_job[t] = count;
    count += prem_task_jobs(c->schedule, &c->schedule->tasks[t]);
  }
  c->first_job[c->schedule->task_count] = count;
  c->jobs = calloc((size_t)count, sizeof *c->jobs);
  c->sequence = malloc((size_t)count * sizeof *c->sequence);
  if (!c->jobs || !c->sequence)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < c->schedule->task_count; ++t)
    for (int64_t q = c->first_job[t]; q < c->first_job[t + 1]; ++q)
      set_job(c, t, (int32_t)(q - c->first_job[t]), &c->jobs[q]);
  tighten(c);
  for (int64_t i = 0; i < count; ++i)
    c->sequence[i] = i;
  qsort_r(c->sequence, (size_t)count, sizeof *c->sequence, by_latest_finish, c);
  return PREM_OK;
}

/* ---- placing a job -------------------------------------------------------------------------- */

/* After all predecessors; false when one of them has no end yet, which only times beyond all bounds
 * can bring about. */
static bool wait_for_predecessors(construction *c, job *of) {
  const prem_task *task = &c->schedule->tasks[of->task];
  int64_t released_ns = of->earliest_ns;
  for (int32_t a = 0; a < task->after_count; ++a) {
    int64_t number = prem_planning_predecessor(c->planning, task, &task->after[a], of->number);
    if (number < 0)
      continue;
    const job *before = job_at(c, task->after[a].task, number);
    prem_wide from_ns =
        (prem_wide)before->end_ns + prem_planning_gap_ns(c->planning, &task->after[a]);
    if (before->end_ns < 0 || !prem_planning_in_range(c->planning, from_ns))
      return false;
    of->earliest_ns = prem_max_i64(of->earliest_ns, (int64_t)from_ns);
  }
  c->placer.waited_ns[PREM_WAIT_PREDECESSORS] += of->earliest_ns - released_ns;
  return true;
}

/* What an earlier round of placing found. */
static void wait_for_arrays(construction *c, job *of) {
  int64_t later_ns = c->later_ns[of - c->jobs];
  if (later_ns <= of->earliest_ns)
    return;
  c->placer.waited_ns[PREM_WAIT_PREDECESSORS] += later_ns - of->earliest_ns;
  of->earliest_ns = later_ns;
}

static prem_status place_anew(construction *c, prem_round *r, int64_t from_ns) {
  if (!prem_placer_find(&c->placer, r, from_ns, NULL))
    return PREM_ERR_INFEASIBLE;
  prem_status status = prem_placer_use_buffers(&c->placer, r, 1);
  for (int p = 0; p < PREM_PHASE_COUNT && !status; ++p)
    if (r->task->phase[p].exists)
      status = prem_placer_use_phase(&c->placer, r, (prem_phase)p, 1);
  return status;
}

static void note_phase(const construction *c, const prem_round *r, prem_phase phase, job *of) {
  int64_t start_ns = r->start_ns[phase];
  if (c->gaps)
    prem_data_gaps_note(c->gaps, of->task, of->number, phase, start_ns,
                        start_ns + r->length_ns[phase]);
  of->first_ns = prem_min_i64(of->first_ns, start_ns);
  of->end_ns = prem_max_i64(of->end_ns, start_ns + r->length_ns[phase]);
  of->last_start_ns = prem_max_i64(of->last_start_ns, start_ns);
}

static void keep_phase(construction *c, const prem_round *r, prem_phase phase) {
  c->draft->placements[c->draft->count++] = (prem_placement){.start_ns = r->start_ns[phase],
                                                             .task = r->task_index,
                                                             .job = r->job,
                                                             .tile = r->tile,
                                                             .count = r->count,
                                                             .phase = phase};
}

static prem_status place_round(construction *c, prem_round *r, job *of) {
  bool as_it_was[PREM_PHASE_COUNT] = {false};
  prem_status status = c->repair
                           ? prem_repair_place(c->repair, r, of->earliest_ns, of->due_ns, as_it_was)
                           : place_anew(c, r, of->earliest_ns);
  for (int p = 0; p < PREM_PHASE_COUNT && !status; ++p) {
    if (!r->task->phase[p].exists)
      continue;
    note_phase(c, r, (prem_phase)p, of);
    if (!as_it_was[p])
      keep_phase(c, r, (prem_phase)p);
  }
  return status;
}

/* ---- a tile's prefetch before the last one's writeback --------------------------------------- */

/* The writeback of the tile at a position gets its place, if it has none yet. */
static prem_status close_tile(construction *c, int32_t position, job *of) {
  prem_round *r = &c->open[position].round;
  if (!r->task)
    return PREM_OK;
  const prem_placing_limits limits = {
      .fixed_ns = {r->start_ns[PREM_PREFETCH], r->start_ns[PREM_COMPUTE], -1},
      .last_start_ns = INT64_MAX,
      .due_ns = INT64_MAX};
  prem_status status = prem_placer_use_buffers(&c->placer, r, -1);
  if (!status && !prem_placer_find(&c->placer, r, r->start_ns[PREM_PREFETCH], &limits))
    status = PREM_ERR_INFEASIBLE;
  if (!status)
    status = prem_placer_use_buffers(&c->placer, r, 1);
  if (!status)
    status = prem_placer_use_phase(&c->placer, r, PREM_WRITEBACK, 1);
  if (!status)
    note_phase(c, r, PREM_WRITEBACK, of);
  c->draft->placements[c->open[position].placement].start_ns = r->start_ns[PREM_WRITEBACK];
  r->task = NULL;
  return status;
}

/* Its buffers are kept until where its writeback would be now: the next prefetch may move that. */
static prem_status place_open(construction *c, prem_round *r, job *of) {
  if (!prem_placer_find(&c->placer, r, of->earliest_ns, NULL))
    return PREM_ERR_INFEASIBLE;
  prem_status status = prem_placer_use_buffers(&c->placer, r, 1);
  for (int p = 0; p < PREM_PHASE_COUNT && !status; ++p) {
    keep_phase(c, r, (prem_phase)p);
    if (p == PREM_WRITEBACK)
      continue;
    status = prem_placer_use_phase(&c->placer, r, (prem_phase)p, 1);
    note_phase(c, r, (prem_phase)p, of);
  }
  if (!status)
    status = close_tile(c, r->position, of);
  c->open[r->position] = (open_tile){*r, c->draft->count - 1};
  return status;
}

/* Does a task gain by it, if anything does? One tile on each block has no next one. */
static bool goes_ahead(const prem_placer *placer, const prem_task *task) {
  return placer->schedule->platform.buffers > 1 && task->phase[PREM_PREFETCH].exists &&
         task->phase[PREM_COMPUTE].exists && task->phase[PREM_WRITEBACK].exists &&
         task->tile_count > task->block_count && !prem_placer_by_rounds(placer, task);
}

/* A task's jobs come one after the other: their blocks belong to none but them. */
static prem_status place_pipeline(construction *c, job *of) {
  int64_t from_ns = of->earliest_ns, count;
  if (of->number > 0)
    from_ns = prem_max_i64(from_ns, job_at(c, of->task, of->number - 1)->end_ns + c->guard_ns);
  prem_pipeline_span span;
  prem_status status = prem_pipeline_place(&c->placer, of->task, of->number, from_ns, c->depth,
                                           c->draft->slots + c->draft->slot_count, &count, &span);
  for (int64_t i = c->draft->slot_count; i < c->draft->slot_count + count && c->gaps; ++i) {
    const prem_slot *slot = &c->draft->slots[i];
    prem_data_gaps_note(c->gaps, slot->task, slot->job, (prem_phase)slot->phase, slot->planned_ns,
                        slot->planned_ns + slot->length_ns);
  }
  c->draft->slot_count += count;
  of->first_ns = span.first_ns;
  of->last_start_ns = span.last_start_ns;
  of->end_ns = prem_max_i64(span.end_ns, span.first_ns == PREM_MAX_NS ? c->planning->warmup_ns : 0);
  return status;
}

/* Whoever waits is told once when this plan will take longer than all of the time, or where it is
 * the only one, than a second: what was placed so far says how long, and bounds and writing it down
 * take a microsecond a phase or more. Data gaps may have all placed several times, which nobody can
 * know. */
enum { LOOK_EACH = 1024, FINISH_NS = 1000 };

static void look_at_clock(construction *c) {
  const prem_search_limits *limits = c->planning->limits;
  if (c->told || !limits || !limits->options->progress || ++c->rounds % LOOK_EACH != 0)
    return;
  const int64_t limit_ns = limits->options->time_limit_ns;
  const double limit_s = limit_ns > 0 ? (double)limit_ns * 1e-9 : 1;
  const double now_s = prem_host_clock_s(), before_s = c->placer.began_s - limits->began_s;
  const double placing_s = (now_s - c->placer.began_s) * (double)c->room / (double)c->draft->count;
  const double first_s = before_s + placing_s + 1e-9 * FINISH_NS * (double)c->room;
  if (now_s - limits->began_s < limit_s / 4 || first_s < limit_s)
    return;
  const prem_plan_progress told = {.seconds = now_s - limits->began_s, .first_s = first_s};
  limits->options->progress(limits->options->progress_context, &told);
  c->told = true;
}

static prem_status place_job(construction *c, job *of) {
  const prem_task *task = &c->schedule->tasks[of->task];
  prem_placer_begin_job(&c->placer, task);
  if (!wait_for_predecessors(c, of))
    return PREM_ERR_INFEASIBLE;
  if (c->gaps)
    wait_for_arrays(c, of);
  if (c->piped && c->piped[of->task])
    return place_pipeline(c, of);
  int32_t step = prem_placer_by_rounds(&c->placer, task) ? task->block_count : 1;
  int64_t tile = (int64_t)prem_planning_warmup(c->planning, task) * task->block_count;
  prem_status status = PREM_OK;
  const bool ahead = c->ahead && goes_ahead(&c->placer, task);
  for (; tile < task->tile_count && !status; tile += step) {
    int64_t left = task->tile_count - tile;
    prem_round r = prem_round_of(c->schedule, of->task, of->number, (int32_t)tile,
                                 left < step ? (int32_t)left : step);
    status = prem_placer_gives_up(&c->placer) ? PREM_ERR_INTERRUPTED
             : ahead                          ? place_open(c, &r, of)
                                              : place_round(c, &r, of);
    look_at_clock(c);
  }
  for (int32_t position = 0; ahead && position < task->block_count && !status; ++position)
    status = close_tile(c, position, of);
  of->end_ns = prem_max_i64(of->end_ns, of->first_ns == PREM_MAX_NS ? c->planning->warmup_ns : 0);
  return status;
}

/* ---- judging what was placed ---------------------------------------------------------------- */

static void name_cause(const construction *c, char *out, size_t bytes) {
  static const char *const names[PREM_WAIT_FIRST_RESOURCE] = {
      "the memory units of its blocks", "the compute units of its blocks", "buffers of its blocks",
      "the tasks that it follows"};
  int32_t max = 0;
  for (int32_t i = 1; i < PREM_WAIT_COUNT; ++i)
    if (c->placer.waited_ns[i] > c->placer.waited_ns[max])
      max = i;
  if (c->placer.waited_ns[max] == 0)
    snprintf(out, bytes, "it waited for nothing, its own phases take too long");
  else if (max < PREM_WAIT_FIRST_RESOURCE)
    snprintf(out, bytes, "it waited longest for %s", names[max]);
  else
    snprintf(out, bytes, "it waited longest for '%s' (capacity %d)",
             c->schedule->platform.resources[max - PREM_WAIT_FIRST_RESOURCE].name,
             c->schedule->platform.resources[max - PREM_WAIT_FIRST_RESOURCE].capacity);
}

enum { LATE_KINDS = 3 };

/* Right after it was placed, while it is known what it waited for. */
static bool in_time(const construction *c, const job *of) {
  const prem_task *task = &c->schedule->tasks[of->task];
  const int64_t last_ns = of->number * task->period_ns + task->period_ns - 1;
  int64_t is_ns = of->end_ns, limit_ns = of->due_ns;
  int kind = 0;
  if (of->end_ns > of->due_ns) {
    kind = c->schedule->period_lcm_ns && of->due_ns == prem_planning_wrap_ns(c->planning, task);
  } else if (task->period_ns && of->first_ns < PREM_MAX_NS && of->last_start_ns > last_ns) {
    kind = 2;
    is_ns = of->last_start_ns;
    limit_ns = last_ns;
  } else {
    return true;
  }
  lateness *late = &c->late[of->task * LATE_KINDS + kind];
  late->worst_ns = prem_max_i64(late->worst_ns, is_ns - limit_ns);
  if (late->count++ > 0)
    return false;
  late->job = of->number;
  late->is_ns = is_ns;
  late->limit_ns = limit_ns;
  name_cause(c, late->waited, sizeof late->waited);
  return false;
}

/* A line for all the jobs of a task that are late in the same way. */
static void report_late(const construction *c, int32_t t, int kind) {
  static const struct {
    int code;
    const char *what;
  } kinds[LATE_KINDS] = {
      {33, "misses its deadline_ns or publish_ns: it ends"},
      {38, "would wrap around the hyperperiod: it ends (with the guard)"},
      {32, "has a phase outside its period: it starts"},
  };
  const prem_task *task = &c->schedule->tasks[t];
  const lateness *late = &c->late[t * LATE_KINDS + kind];
  const int64_t jobs = c->first_job[t + 1] - c->first_job[t];
  char key[PREM_NAME_BYTES + 8], others[128] = "";
  snprintf(key, sizeof key, "tasks.%s", task->name);
  if (late->count > 1 && late->count == jobs)
    snprintf(others, sizeof others, "; all its %" PRId64 " jobs do, by %" PRId64 " ns at most",
             jobs, late->worst_ns);
  else if (late->count > 1)
    snprintf(others, sizeof others,
             "; %" PRId64 " of its %" PRId64 " jobs do, by %" PRId64 " ns at most", late->count,
             jobs, late->worst_ns);
  prem_diag_add(c->planning->diag, PREM_ERROR, kinds[kind].code, task->place, key,
                "no plan found: job %d %s at %" PRId64 ", %" PRId64 " ns after %" PRId64 "; %s%s",
                late->job, kinds[kind].what, late->is_ns, late->is_ns - late->limit_ns,
                late->limit_ns, late->waited, others);
}

/* A job that follows one of the hyperperiod before: how long the hyperperiod must be for that. */
static prem_wide needed_horizon(const construction *c) {
  prem_wide needed = 0;
  for (int32_t t = 0; t < c->schedule->task_count; ++t) {
    const prem_task *task = &c->schedule->tasks[t];
    for (int32_t a = 0; a < task->after_count; ++a) {
      int64_t last = c->first_job[task->after[a].task + 1] - 1;
      for (int64_t q = c->first_job[t]; q < c->first_job[t + 1]; ++q) {
        if (prem_planning_predecessor(c->planning, task, &task->after[a], c->jobs[q].number) >= 0 ||
            c->jobs[q].first_ns == PREM_MAX_NS)
          continue;
        prem_wide length = (prem_wide)c->jobs[last].end_ns +
                           prem_planning_gap_ns(c->planning, &task->after[a]) - c->jobs[q].first_ns;
        needed = length > needed ? length : needed;
      }
    }
  }
  return needed;
}

static prem_status set_hyperperiod(const construction *c) {
  prem_draft *draft = c->draft;
  prem_wide needed = needed_horizon(c);
  if (c->gaps && !c->schedule->period_lcm_ns && prem_data_gaps_length_ns(c->gaps) > needed)
    needed = prem_data_gaps_length_ns(c->gaps);
  if (c->schedule->period_lcm_ns) {
    draft->hyperperiod_ns = c->schedule->period_lcm_ns;
    if (needed <= draft->hyperperiod_ns)
      return PREM_OK;
    return prem_fail(c->planning->diag, PREM_ERR_INFEASIBLE, 33, c->schedule->tasks[0].place,
                     "tasks",
                     "no plan found: the tasks that follow jobs of the hyperperiod before (`after` "
                     "with \"latest\") need one of %.0f ns, the periods make %" PRId64,
                     (double)needed, draft->hyperperiod_ns);
  }
  int64_t count = c->first_job[c->schedule->task_count], end_ns = c->planning->warmup_ns;
  for (int64_t q = 0; q < count; ++q)
    end_ns = prem_max_i64(end_ns, c->jobs[q].end_ns);
  prem_wide length = needed > end_ns ? needed : end_ns;
  length = (length + c->planning->grid_ns - 1) / c->planning->grid_ns * c->planning->grid_ns;
  if (!prem_planning_in_range(c->planning, length))
    return PREM_ERR_INFEASIBLE;
  draft->hyperperiod_ns = (int64_t)length;
  return PREM_OK;
}

/* ---- all together --------------------------------------------------------------------------- */

static prem_status make_placements(construction *c) {
  int64_t count = 0;
  for (int32_t t = 0; t < c->schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (c->schedule->tasks[t].phase[p].exists)
        count += (c->first_job[t + 1] - c->first_job[t]) * c->schedule->tasks[t].tile_count;
  c->room = count;
  c->draft->placements = malloc((size_t)(count + 1) * sizeof *c->draft->placements);
  if (c->depth)
    c->draft->slots = malloc((size_t)(count + 1) * sizeof *c->draft->slots);
  return c->draft->placements && (!c->depth || c->draft->slots) ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status prepare(construction *c) {
  size_t tasks = (size_t)c->schedule->task_count;
  c->order = malloc(tasks * sizeof *c->order);
  c->first_job = malloc((tasks + 1) * sizeof *c->first_job);
  c->late = calloc(tasks * LATE_KINDS, sizeof *c->late);
  if (!c->order || !c->first_job || !c->late)
    return PREM_ERR_MEMORY;
  prem_status status = order_tasks(c);
  if (!status)
    status = list_jobs(c);
  if (!status)
    status = prem_placer_open(&c->placer, c->planning);
  if (!status && c->ahead) {
    c->open = calloc((size_t)c->schedule->platform.blocks, sizeof *c->open);
    status = c->open ? PREM_OK : PREM_ERR_MEMORY;
  }
  if (!status)
    status = make_placements(c);
  if (!status && c->depth) {
    bool any;
    c->piped = prem_pipeline_list(&c->placer, &any);
    status = c->piped ? PREM_OK : PREM_ERR_MEMORY;
  }
  if (!status)
    status = prem_data_gaps_new(c->planning, &c->gaps);
  if (!status && c->gaps) {
    c->later_ns = calloc((size_t)c->first_job[tasks] + 1, sizeof *c->later_ns);
    status = c->later_ns ? PREM_OK : PREM_ERR_MEMORY;
  }
  if (!status && c->repair)
    status = prem_repair_begin(c->repair, &c->placer, c->order);
  return status;
}

static prem_status place_all(construction *c) {
  prem_status result = PREM_OK;
  for (int64_t i = 0; i < c->first_job[c->schedule->task_count]; ++i) {
    job *of = &c->jobs[c->sequence[i]];
    prem_status status = place_job(c, of);
    if (status)
      return status;
    if (in_time(c, of))
      continue;
    result = PREM_ERR_INFEASIBLE;
    if (c->repair)
      prem_repair_miss(c->repair, c->sequence[i]);
  }
  for (int32_t i = 0; result && i < c->schedule->task_count * LATE_KINDS; ++i)
    if (c->late[i].count > 0)
      report_late(c, i / LATE_KINDS, i % LATE_KINDS);
  c->draft->complete = true;
  return result;
}

/* As before the first job was placed. */
static prem_status begin_again(construction *c) {
  prem_placer_close(&c->placer);
  prem_status status = prem_placer_open(&c->placer, c->planning);
  for (int32_t t = 0; t < c->schedule->task_count; ++t)
    for (int64_t q = c->first_job[t]; q < c->first_job[t + 1]; ++q) {
      int64_t finish_ns = c->jobs[q].finish_ns;
      set_job(c, t, (int32_t)(q - c->first_job[t]), &c->jobs[q]);
      c->jobs[q].finish_ns = finish_ns;
    }
  prem_data_gaps_clear(c->gaps);
  c->draft->count = c->draft->slot_count = 0;
  c->draft->complete = false;
  return status || !c->repair ? status : prem_repair_begin(c->repair, &c->placer, c->order);
}

static prem_status report_crowded(const construction *c) {
  return prem_fail(
      c->planning->diag, PREM_ERR_INFEASIBLE, 40, c->schedule->tasks[0].place, "tasks",
      "no plan found: jobs that share arrays could not be kept precedence_ns = %" PRId64
      " apart; give them `after`, or longer periods",
      c->gaps->gap_ns);
}

/* A job that is moved may come too close to another one: that is seen in the next round. */
enum { MAX_ROUNDS = 64 };

static prem_status place_apart(construction *c) {
  prem_status status = place_all(c);
  if (!c->gaps || !c->schedule->period_lcm_ns)
    return status; /* one-shot tasks that share an array have an order */
  for (int round = 1; !status; ++round) {
    if (prem_data_gaps_short(c->gaps, c->schedule->period_lcm_ns, c->later_ns) == 0)
      return PREM_OK;
    if (round == MAX_ROUNDS)
      return report_crowded(c);
    status = begin_again(c);
    if (!status)
      status = place_all(c);
  }
  return status;
}

static prem_status construct(const prem_planning *planning, prem_repair *repair, int32_t depth,
                             bool ahead, prem_draft *out) {
  const prem_schedule *schedule = planning->schedule;
  *out = (prem_draft){0};
  construction c = {.planning = planning,
                    .schedule = schedule,
                    .guard_ns = schedule->platform.guard_ns,
                    .repair = repair,
                    .ahead = ahead,
                    .depth = depth,
                    .draft = out};
  prem_status status = prepare(&c);
  if (!status) {
    status = place_apart(&c);
    if (out->complete) {
      prem_status hyperperiod = set_hyperperiod(&c);
      status = status ? status : hyperperiod;
    }
  }
  if (c.placer.schedule)
    prem_placer_close(&c.placer);
  PREM_FREE(c.order, c.first_job, c.jobs, c.sequence, c.piped, c.later_ns, c.late, c.open);
  prem_data_gaps_free(c.gaps);
  return status;
}

/* Would the other order of writebacks make a difference? */
static bool may_go_ahead(const prem_planning *planning) {
  const prem_schedule *schedule = planning->schedule;
  prem_placer placer = {.planning = planning, .schedule = schedule};
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if (goes_ahead(&placer, &schedule->tasks[t]))
      return true;
  return false;
}

/* The second order takes as long as the first one, or twice that: is there time for it, and some
 * left? */
static bool has_time_for_both(const prem_planning *planning, double first_s) {
  const prem_search_limits *limits = planning->limits;
  const int64_t limit_ns = limits ? limits->options->time_limit_ns : 0;
  return limit_ns <= 0 || 4 * first_s < (double)limit_ns * 1e-9;
}

/* Both orders of writebacks, and the plan that is in time, or shorter. */
prem_status prem_plan_constructive(const prem_planning *planning, prem_draft *out) {
  const double began_s = prem_host_clock_s();
  prem_status status = construct(planning, NULL, 0, false, out);
  const bool is_late = status == PREM_ERR_INFEASIBLE;
  const bool may_be_shorter = status == PREM_OK && planning->schedule->period_lcm_ns == 0 &&
                              has_time_for_both(planning, prem_host_clock_s() - began_s);
  if ((!is_late && !may_be_shorter) || !may_go_ahead(planning))
    return status;
  prem_planning quiet = *planning;
  prem_draft other;
  quiet.diag = NULL;
  quiet.limits = NULL;
  const prem_status tried = construct(&quiet, NULL, 0, true, &other);
  if (tried == PREM_OK && (is_late || other.hyperperiod_ns < out->hyperperiod_ns)) {
    const prem_draft longer = *out;
    *out = other;
    other = longer;
    status = PREM_OK;
  }
  PREM_FREE(other.placements, other.slots);
  return tried == PREM_ERR_MEMORY ? tried : status;
}

prem_status prem_plan_repair(const prem_planning *planning, prem_repair *repair, prem_draft *out) {
  return construct(planning, repair, 0, false, out);
}

prem_status prem_plan_pipelines(const prem_planning *planning, int32_t depth, prem_draft *out) {
  return construct(planning, NULL, depth, false, out);
}
