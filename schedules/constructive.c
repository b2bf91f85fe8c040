/*
 * The constructive planner: serial schedule generation. Jobs are taken in the order of their latest
 * finish (deadlines, tightened by what follows them; release and file order break ties), which is
 * also an order of precedence. Their tiles are taken round by round, and each phase is put at the
 * earliest instant that all rules allow, gaps left by earlier jobs included. Nothing is ever moved
 * again: this is fast and correct, not optimal. `objective` makes no difference: the order serves
 * the makespan as it serves the deadlines.
 *
 * A round, one tile on every block of the task, starts each of its phases together if the task is
 * `together`, or a gang (it has a demand on a resource counted per task); otherwise its tiles are
 * placed one by one. Every use of a unit, a buffer or a resource is kept guard_ns longer.
 */
#include "planners.h"
#include "timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What kept a job waiting, for the message when it is late. Resources follow. */
typedef enum wait_cause {
  MEMORY_UNIT,
  COMPUTE_UNIT,
  BUFFERS,
  PREDECESSORS,
  FIRST_RESOURCE,
  CAUSE_COUNT = FIRST_RESOURCE + PREM_MAX_RESOURCES
} wait_cause;

/** A block's supplies. With one buffer `input` holds whole tiles and `output` is not used. */
typedef struct block_lines {
  prem_timeline memory, compute, input, output;
} block_lines;

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

typedef struct construction {
  const prem_planning *planning;
  const prem_schedule *schedule;
  int64_t guard_ns;
  int64_t horizon_ns; /* the hyperperiod; PREM_MAX_NS when all tasks are one-shot */
  int32_t *order;     /* of tasks: predecessors first */
  int64_t *first_job; /* [task_count + 1] */
  job *jobs;
  int64_t *sequence; /* of jobs, as they are placed */
  block_lines *blocks;
  prem_timeline *resources;
  prem_draft *draft;
  /* of the job in hand: */
  int64_t waited_ns[CAUSE_COUNT];
  int64_t (*before_ns)[PREM_PHASE_COUNT]; /* [position]: where the tile before was placed */
} construction;

/** Tiles that are placed together: the next ones on `count` blocks from `position` on. */
typedef struct round {
  const prem_task *task;
  int32_t task_index, job;
  int32_t tile; /* the first one; the others follow */
  int32_t position, count;
  int64_t start_ns[PREM_PHASE_COUNT];
} round;

static int32_t block_of(const round *r, int32_t member) {
  return r->task->blocks[r->position + member];
}

static int64_t max_ns(int64_t a, int64_t b) {
  return a > b ? a : b;
}

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
               .finish_ns = window.target_ns,
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
      *(p == PREM_COMPUTE ? &compute : &memory) += (prem_wide)task->phase[p].wcet_ns + c->guard_ns;
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
    int64_t own_ns = max_ns(shortest_ns(c, task), 1), jobs = c->first_job[t + 1] - c->first_job[t];
    for (int32_t a = 0; a < task->after_count; ++a) {
      int64_t gap_ns = max_ns(task->after[a].lag_ns, c->guard_ns);
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
  if (a->finish_ns != b->finish_ns)
    return a->finish_ns < b->finish_ns ? -1 : 1;
  if (a->earliest_ns != b->earliest_ns)
    return a->earliest_ns < b->earliest_ns ? -1 : 1;
  return (x > y) - (x < y);
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

/* ---- placing a round ------------------------------------------------------------------------ */

static prem_timeline *unit_of(const construction *c, const round *r, int32_t member,
                              prem_phase phase) {
  block_lines *lines = &c->blocks[block_of(r, member)];
  return phase == PREM_COMPUTE ? &lines->compute : &lines->memory;
}

/* What a phase of a whole round takes of a resource: of a gang resource no more than one block. */
static int32_t demand_of(const construction *c, const round *r, prem_phase phase,
                         int32_t resource) {
  const prem_phase_spec *spec = &r->task->phase[phase];
  if (spec->busy_ns == 0)
    return 0;
  return spec->demand[resource] *
         (c->schedule->platform.resources[resource].per_task ? 1 : r->count);
}

/* Search on from *at_ns and remember what the search was for. */
static void wait_for(construction *c, const prem_timeline *line, int64_t length_ns, int32_t demand,
                     int32_t cause, int64_t *at_ns) {
  int64_t start_ns = prem_timeline_fit(line, *at_ns, length_ns, demand, c->planning->grid_ns);
  c->waited_ns[cause] += start_ns - *at_ns;
  *at_ns = start_ns;
}

/* The earliest instant from `from_ns` on at which a phase can start on all blocks of the round. */
static int64_t earliest_start(construction *c, const round *r, prem_phase phase, int64_t from_ns) {
  const prem_phase_spec *spec = &r->task->phase[phase];
  int64_t at_ns = from_ns, tried_ns;
  do {
    tried_ns = at_ns;
    for (int32_t m = 0; m < r->count; ++m)
      wait_for(c, unit_of(c, r, m, phase), spec->wcet_ns + c->guard_ns, 1,
               phase == PREM_COMPUTE ? COMPUTE_UNIT : MEMORY_UNIT, &at_ns);
    for (int32_t i = 0; i < c->schedule->platform.resource_count; ++i)
      wait_for(c, &c->resources[i], spec->busy_ns + c->guard_ns, demand_of(c, r, phase, i),
               FIRST_RESOURCE + i, &at_ns);
  } while (at_ns != tried_ns);
  return at_ns;
}

static int64_t end_of(const construction *c, const round *r, prem_phase phase) {
  return r->start_ns[phase] + r->task->phase[phase].wcet_ns + c->guard_ns;
}

/* Have all blocks a buffer for as long? If not, *lower_ns is when its first phase may start. */
static bool buffers_free(construction *c, const round *r, prem_holding h, bool input,
                         int64_t lower_ns[PREM_PHASE_COUNT]) {
  if (!h.exists)
    return true;
  int64_t start_ns = r->start_ns[h.first], length_ns = end_of(c, r, h.last) - start_ns;
  int64_t at_ns = start_ns;
  for (int32_t m = 0; m < r->count; ++m) {
    const block_lines *lines = &c->blocks[block_of(r, m)];
    wait_for(c, input ? &lines->input : &lines->output, length_ns, 1, BUFFERS, &at_ns);
  }
  lower_ns[h.first] = at_ns;
  return at_ns == start_ns;
}

/* No phase starts before its tile could have the buffer for the least time that it needs it. */
static void begin_at_buffers(construction *c, const round *r, prem_holding h, bool input,
                             int64_t from_ns, int64_t lower_ns[PREM_PHASE_COUNT]) {
  if (!h.exists)
    return;
  int64_t least_ns = 0, at_ns = max_ns(from_ns, lower_ns[h.first]);
  for (int p = (int)h.first; p <= (int)h.last; ++p)
    if (r->task->phase[p].exists)
      least_ns += r->task->phase[p].wcet_ns + c->guard_ns;
  for (int32_t m = 0; m < r->count; ++m) {
    const block_lines *lines = &c->blocks[block_of(r, m)];
    wait_for(c, input ? &lines->input : &lines->output, least_ns, 1, BUFFERS, &at_ns);
  }
  lower_ns[h.first] = at_ns;
}

/* Find the starts of all phases. A phase that waits for a buffer moves those behind it, which may
 * ask for another buffer: the bounds only grow, and far enough ahead everything is free. What the
 * tile before on the same block could not have, this one, which is equal, cannot have either. */
static bool find_starts(construction *c, round *r, int64_t from_ns) {
  int64_t lower_ns[PREM_PHASE_COUNT];
  memcpy(lower_ns, c->before_ns[r->position], sizeof lower_ns);
  prem_holding input = prem_planning_holding(c->planning, r->task, true),
               output = prem_planning_holding(c->planning, r->task, false);
  begin_at_buffers(c, r, input, true, from_ns, lower_ns);
  begin_at_buffers(c, r, output, false, from_ns, lower_ns);
  bool settled;
  do {
    int64_t at_ns = from_ns;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      if (!r->task->phase[p].exists)
        continue;
      at_ns = earliest_start(c, r, (prem_phase)p, max_ns(at_ns, lower_ns[p]));
      r->start_ns[p] = at_ns;
      if (!prem_planning_in_range(c->planning,
                                  (prem_wide)at_ns + r->task->phase[p].wcet_ns + c->guard_ns))
        return false;
      at_ns = end_of(c, r, (prem_phase)p);
    }
    settled = buffers_free(c, r, input, true, lower_ns);
    settled = buffers_free(c, r, output, false, lower_ns) && settled;
  } while (!settled);
  memcpy(c->before_ns[r->position], r->start_ns, sizeof r->start_ns);
  return true;
}

static prem_status use_buffers(construction *c, const round *r, prem_holding h, bool input) {
  prem_status status = PREM_OK;
  for (int32_t m = 0; m < r->count && h.exists && !status; ++m) {
    block_lines *lines = &c->blocks[block_of(r, m)];
    status = prem_timeline_use(input ? &lines->input : &lines->output, r->start_ns[h.first],
                               end_of(c, r, h.last), 1);
  }
  return status;
}

static prem_status use_phase(construction *c, const round *r, prem_phase phase) {
  const prem_phase_spec *spec = &r->task->phase[phase];
  int64_t start_ns = r->start_ns[phase];
  prem_status status = PREM_OK;
  c->draft->placements[c->draft->count++] = (prem_placement){.start_ns = start_ns,
                                                             .task = r->task_index,
                                                             .job = r->job,
                                                             .tile = r->tile,
                                                             .count = r->count,
                                                             .phase = phase};
  for (int32_t m = 0; m < r->count && !status; ++m)
    status = prem_timeline_use(unit_of(c, r, m, phase), start_ns, end_of(c, r, phase), 1);
  for (int32_t i = 0; i < c->schedule->platform.resource_count && !status; ++i)
    status = prem_timeline_use(&c->resources[i], start_ns, start_ns + spec->busy_ns + c->guard_ns,
                               demand_of(c, r, phase, i));
  return status;
}

static prem_status place_round(construction *c, round *r, job *of) {
  if (!find_starts(c, r, of->earliest_ns))
    return PREM_ERR_INFEASIBLE;
  prem_status status = use_buffers(c, r, prem_planning_holding(c->planning, r->task, true), true);
  if (!status)
    status = use_buffers(c, r, prem_planning_holding(c->planning, r->task, false), false);
  for (int p = 0; p < PREM_PHASE_COUNT && !status; ++p) {
    if (!r->task->phase[p].exists)
      continue;
    status = use_phase(c, r, (prem_phase)p);
    if (r->start_ns[p] < of->first_ns)
      of->first_ns = r->start_ns[p];
    of->end_ns = max_ns(of->end_ns, r->start_ns[p] + r->task->phase[p].wcet_ns);
    of->last_start_ns = max_ns(of->last_start_ns, r->start_ns[p]);
  }
  return status;
}

/* ---- placing a job -------------------------------------------------------------------------- */

/* Does a full round fit into the resources that every block counts in? A gang that does not is
 * placed tile by tile; for one that is `together` prem_planning_supplied() has refused. */
static bool placed_by_rounds(const construction *c, const prem_task *task) {
  bool gang = task->together, fits = true;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    for (int32_t i = 0; i < c->schedule->platform.resource_count; ++i) {
      const prem_resource *resource = &c->schedule->platform.resources[i];
      int64_t demand = task->phase[p].exists ? task->phase[p].demand[i] : 0;
      if (resource->per_task)
        gang = gang || demand > 0;
      else
        fits = fits && demand * task->block_count <= resource->capacity;
    }
  }
  return task->together || (gang && fits);
}

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
    prem_wide from_ns = (prem_wide)before->end_ns + max_ns(task->after[a].lag_ns, c->guard_ns);
    if (before->end_ns < 0 || !prem_planning_in_range(c->planning, from_ns))
      return false;
    of->earliest_ns = max_ns(of->earliest_ns, (int64_t)from_ns);
  }
  c->waited_ns[PREDECESSORS] += of->earliest_ns - released_ns;
  return true;
}

static prem_status place_job(construction *c, job *of) {
  const prem_task *task = &c->schedule->tasks[of->task];
  memset(c->waited_ns, 0, sizeof c->waited_ns);
  memset(c->before_ns, 0, (size_t)task->block_count * sizeof *c->before_ns);
  if (!wait_for_predecessors(c, of))
    return PREM_ERR_INFEASIBLE;
  int32_t step = placed_by_rounds(c, task) ? task->block_count : 1;
  int64_t tile = (int64_t)prem_planning_warmup(c->planning, task) * task->block_count;
  prem_status status = PREM_OK;
  for (; tile < task->tile_count && !status; tile += step) {
    int64_t left = task->tile_count - tile;
    round r = {.task = task,
               .task_index = of->task,
               .job = of->number,
               .tile = (int32_t)tile,
               .start_ns = {0},
               .position = (int32_t)(tile % task->block_count),
               .count = left < step ? (int32_t)left : step};
    status = place_round(c, &r, of);
  }
  of->end_ns = max_ns(of->end_ns, of->first_ns == PREM_MAX_NS ? c->planning->warmup_ns : 0);
  return status;
}

/* ---- judging what was placed ---------------------------------------------------------------- */

static void name_cause(const construction *c, char *out, size_t bytes) {
  static const char *const names[FIRST_RESOURCE] = {
      "the memory units of its blocks", "the compute units of its blocks", "buffers of its blocks",
      "the tasks that it follows"};
  int32_t most = 0;
  for (int32_t i = 1; i < CAUSE_COUNT; ++i)
    if (c->waited_ns[i] > c->waited_ns[most])
      most = i;
  if (c->waited_ns[most] == 0)
    snprintf(out, bytes, "it waited for nothing, its own phases take too long");
  else if (most < FIRST_RESOURCE)
    snprintf(out, bytes, "it waited longest for %s", names[most]);
  else
    snprintf(out, bytes, "it waited longest for '%s' (capacity %d)",
             c->schedule->platform.resources[most - FIRST_RESOURCE].name,
             c->schedule->platform.resources[most - FIRST_RESOURCE].capacity);
}

static bool report_late(const construction *c, const job *of, int code, const char *what,
                        int64_t is_ns, int64_t limit_ns) {
  const prem_task *task = &c->schedule->tasks[of->task];
  char key[PREM_NAME_BYTES + 8], waited[160];
  snprintf(key, sizeof key, "tasks.%s", task->name);
  name_cause(c, waited, sizeof waited);
  prem_diag_add(c->planning->diag, PREM_ERROR, code, task->place, key,
                "no plan found: job %d %s at %" PRId64 ", %" PRId64 " ns after %" PRId64 "; %s",
                of->number, what, is_ns, is_ns - limit_ns, limit_ns, waited);
  return false;
}

/* Right after it was placed, while it is known what it waited for. */
static bool in_time(const construction *c, const job *of) {
  const prem_task *task = &c->schedule->tasks[of->task];
  if (of->end_ns > of->due_ns) {
    bool wraps = of->due_ns == c->horizon_ns - c->guard_ns;
    return report_late(c, of, wraps ? 38 : 33,
                       wraps ? "would wrap around the hyperperiod: it ends (with the guard)"
                             : "misses its deadline_ns or publish_ns: it ends",
                       of->end_ns, of->due_ns);
  }
  int64_t last_ns = of->number * task->period_ns + task->period_ns - 1;
  if (task->period_ns && of->first_ns < PREM_MAX_NS && of->last_start_ns > last_ns)
    return report_late(c, of, 32, "has a phase outside its period: it starts", of->last_start_ns,
                       last_ns);
  return true;
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
                           max_ns(task->after[a].lag_ns, c->guard_ns) - c->jobs[q].first_ns;
        needed = length > needed ? length : needed;
      }
    }
  }
  return needed;
}

static prem_status set_hyperperiod(const construction *c) {
  prem_draft *draft = c->draft;
  prem_wide needed = needed_horizon(c);
  if (c->schedule->period_lcm_ns) {
    draft->hyperperiod_ns = c->schedule->period_lcm_ns;
    if (needed <= draft->hyperperiod_ns)
      return PREM_OK;
    prem_diag_add(c->planning->diag, PREM_ERROR, 33, c->schedule->tasks[0].place, "tasks",
                  "no plan found: the tasks that follow jobs of the hyperperiod before (`after` "
                  "with \"latest\") need one of %.0f ns, the periods make %" PRId64,
                  (double)needed, draft->hyperperiod_ns);
    return PREM_ERR_INFEASIBLE;
  }
  int64_t count = c->first_job[c->schedule->task_count], end_ns = c->planning->warmup_ns;
  for (int64_t q = 0; q < count; ++q)
    end_ns = max_ns(end_ns, c->jobs[q].end_ns);
  prem_wide length = needed > end_ns ? needed : end_ns;
  length = (length + c->planning->grid_ns - 1) / c->planning->grid_ns * c->planning->grid_ns;
  if (!prem_planning_in_range(c->planning, length))
    return PREM_ERR_INFEASIBLE;
  draft->hyperperiod_ns = (int64_t)length;
  return PREM_OK;
}

/* ---- all together --------------------------------------------------------------------------- */

static prem_status make_lines(construction *c) {
  const prem_platform *platform = &c->schedule->platform;
  c->blocks = calloc((size_t)platform->blocks, sizeof *c->blocks);
  c->resources = calloc((size_t)platform->resource_count, sizeof *c->resources);
  c->before_ns = calloc((size_t)platform->blocks, sizeof *c->before_ns);
  if (!c->blocks || !c->resources || !c->before_ns)
    return PREM_ERR_MEMORY;
  for (int32_t b = 0; b < platform->blocks; ++b) {
    c->blocks[b].memory.capacity = c->blocks[b].compute.capacity = 1;
    c->blocks[b].input.capacity = c->blocks[b].output.capacity = platform->buffers;
  }
  for (int32_t i = 0; i < platform->resource_count; ++i)
    c->resources[i].capacity = platform->resources[i].capacity;
  return PREM_OK;
}

static prem_status make_placements(construction *c) {
  int64_t count = 0;
  for (int32_t t = 0; t < c->schedule->task_count; ++t)
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (c->schedule->tasks[t].phase[p].exists)
        count += (c->first_job[t + 1] - c->first_job[t]) * c->schedule->tasks[t].tile_count;
  c->draft->placements = malloc((size_t)(count + 1) * sizeof *c->draft->placements);
  return c->draft->placements ? PREM_OK : PREM_ERR_MEMORY;
}

static prem_status prepare(construction *c) {
  size_t tasks = (size_t)c->schedule->task_count;
  c->order = malloc(tasks * sizeof *c->order);
  c->first_job = malloc((tasks + 1) * sizeof *c->first_job);
  if (!c->order || !c->first_job)
    return PREM_ERR_MEMORY;
  prem_status status = order_tasks(c);
  if (!status)
    status = list_jobs(c);
  if (!status)
    status = make_lines(c);
  return status ? status : make_placements(c);
}

static prem_status place_all(construction *c) {
  prem_status result = PREM_OK;
  for (int64_t i = 0; i < c->first_job[c->schedule->task_count]; ++i) {
    job *of = &c->jobs[c->sequence[i]];
    prem_status status = place_job(c, of);
    if (status)
      return status;
    if (!in_time(c, of))
      result = PREM_ERR_INFEASIBLE;
  }
  c->draft->complete = true;
  return result;
}

static void release(construction *c) {
  for (int32_t b = 0; c->blocks && b < c->schedule->platform.blocks; ++b) {
    prem_timeline_free(&c->blocks[b].memory);
    prem_timeline_free(&c->blocks[b].compute);
    prem_timeline_free(&c->blocks[b].input);
    prem_timeline_free(&c->blocks[b].output);
  }
  for (int32_t i = 0; c->resources && i < c->schedule->platform.resource_count; ++i)
    prem_timeline_free(&c->resources[i]);
  free(c->order);
  free(c->first_job);
  free(c->jobs);
  free(c->sequence);
  free(c->blocks);
  free(c->resources);
  free(c->before_ns);
}

prem_status prem_plan_constructive(const prem_planning *planning, prem_draft *out) {
  const prem_schedule *schedule = planning->schedule;
  *out = (prem_draft){0};
  construction c = {.planning = planning,
                    .schedule = schedule,
                    .guard_ns = schedule->platform.guard_ns,
                    .horizon_ns = schedule->period_lcm_ns ? schedule->period_lcm_ns : PREM_MAX_NS,
                    .draft = out};
  prem_status status = prepare(&c);
  if (!status) {
    status = place_all(&c);
    if (out->complete) {
      prem_status hyperperiod = set_hyperperiod(&c);
      status = status ? status : hyperperiod;
    }
  }
  release(&c);
  return status;
}
