/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs wait for across blocks, in the form that the executive asks. */
#include "runtime/cuda/host/asks.h"

#include <stdlib.h>

enum {
  MIN_WORDS = 8,
  MAX_PARTS = PREM_DEVICE_PARTS,
  HYPERPERIODS = 4 /* that the words of a task reach back, at least: see own_need() */
};

/* So many blocks add to one word: an add takes a nanosecond or two, one after the other. */
#ifndef PART_BLOCKS /* tests/cuda/test_asks.c tries others */
#define PART_BLOCKS 32
#endif

/* A task whose jobs' ends are counted. */
typedef struct leader {
  bool followed; /* by other tasks */
  bool counted;  /* by these, or by who watches all */
  bool lagged;
  int32_t shift;
  int32_t parts;             /* of its blocks, by their numbers: each has words of its own */
  int32_t blocks[MAX_PARTS]; /* that finish each job */
  int64_t first_word;
} leader;

typedef struct asking {
  const prem_program *program; /* of one of its plans */
  prem_asks_watch watch;
  leader *leaders;
  prem_device_ask *asks;
  int64_t ask_count;
  prem_device_end *ends; /* on the device */
} asking;

/* Each part of a leader's blocks has words of its own. */
static void divide_blocks(const asking *all, int32_t task, leader *of) {
  const int32_t active = all->program->tasks[task].active_blocks;
  const int32_t *blocks = all->program->schedule->tasks[task].blocks;
  while (of->parts < MAX_PARTS && of->parts * PART_BLOCKS < active)
    ++of->parts;
  for (int32_t i = 0; i < active; ++i)
    ++of->blocks[blocks[i] % of->parts];
}

static void find_followed(const asking *all, const prem_program *plan) {
  for (int32_t t = 0; t < plan->schedule->task_count; ++t)
    for (int32_t a = 0; a < plan->tasks[t].edge_count; ++a) {
      const prem_dependency *edge = &plan->tasks[t].after[a];
      all->leaders[edge->task].followed |= !edge->by_block;
      all->leaders[edge->task].lagged |= !edge->by_block && edge->lag_ns > 0;
    }
}

static int64_t find_leaders(const asking *all) {
  const int32_t tasks = all->program->schedule->task_count;
  int64_t words = 0;
  for (int32_t p = 0; p < all->program->plan_count; ++p)
    find_followed(all, all->program->plans[p]);
  for (int32_t t = 0; t < tasks; ++t) {
    leader *of = &all->leaders[t];
    of->counted = of->followed || all->watch != PREM_ASKS_OF_TASKS;
    if (!of->counted)
      continue;
    while (INT64_C(1) << of->shift < MIN_WORDS ||
           INT64_C(1) << of->shift < HYPERPERIODS * (int64_t)all->program->tasks[t].jobs)
      ++of->shift;
    divide_blocks(all, t, of);
    of->first_word = words;
    words += (int64_t)of->parts << of->shift;
  }
  return words;
}

/* Job `job` of a task waits until its job so many before it has ended on all blocks. */
static int32_t own_need(const asking *all, int32_t task, int32_t job) {
  return job + 1 - (int32_t)(INT64_C(1) << all->leaders[task].shift);
}

/* So many jobs of `task`, from the hyperperiod's first, have ended when `need` jobs of a follower
 * have; INT64_MIN: this says nothing of them. */
static int64_t jobs_implied(const asking *all, int32_t task, int32_t follower, int32_t need) {
  const prem_task_program *of = &all->program->tasks[follower];
  const int64_t hyperperiod = prem_floor_div((int64_t)need - 1, of->jobs);
  const int64_t job = (int64_t)need - 1 - hyperperiod * of->jobs;
  int64_t max = INT64_MIN;
  for (int32_t a = 0; a < of->after_count; ++a) {
    const prem_dependency *edge = &of->after[a];
    const int64_t implied = hyperperiod * all->program->tasks[task].jobs + edge->needed_jobs[job];
    if (!edge->by_block && edge->task == task && implied > max)
      max = implied;
  }
  return max;
}

/* Does what a job asks of others say that its words are free? */
static bool is_implied(const asking *all, int32_t task, int32_t job) {
  const prem_task_program *compiled = &all->program->tasks[task];
  for (int32_t a = 0; a < compiled->edge_count; ++a) {
    const prem_dependency *edge = &compiled->after[a];
    if (!edge->by_block &&
        jobs_implied(all, task, edge->task, edge->needed_jobs[job]) >= own_need(all, task, job))
      return true;
  }
  return false;
}

static bool asks_itself(const asking *all, int32_t task) {
  if (all->watch == PREM_ASKS_OF_COURIER || !all->leaders[task].followed)
    return false;
  for (int32_t job = 0; job < all->program->tasks[task].jobs; ++job)
    if (!is_implied(all, task, job))
      return true;
  return false;
}

static int32_t first_phase(const asking *all, int32_t task) {
  const prem_phase_spec *phase = all->program->schedule->tasks[task].phase;
  return phase[PREM_PREFETCH].exists  ? PREM_PREFETCH
         : phase[PREM_COMPUTE].exists ? PREM_COMPUTE
                                      : PREM_WRITEBACK;
}

static void add_ask(asking *all, int32_t of, int32_t need, int64_t lag_ns) {
  const leader *leads = &all->leaders[of];
  for (int32_t part = 0; part < leads->parts; ++part) {
    if (leads->blocks[part] == 0)
      continue;
    const int64_t word = leads->first_word + ((int64_t)part << leads->shift);
    if (all->asks)
      all->asks[all->ask_count] = (prem_device_ask){.ends = all->ends + word,
                                                    .lag_ns = lag_ns,
                                                    .jobs = all->program->tasks[of].jobs,
                                                    .need = need,
                                                    .blocks = leads->blocks[part],
                                                    .shift = leads->shift};
    ++all->ask_count;
  }
}

/* All that one job asks before its first phase of a kind. @return how much. */
static int64_t add_job(asking *all, int32_t task, int32_t job, int phase, bool itself) {
  const prem_task_program *compiled = &all->program->tasks[task];
  const int64_t first = all->ask_count;
  for (int32_t a = 0; a < compiled->edge_count; ++a) {
    const prem_dependency *edge = &compiled->after[a];
    if (!edge->by_block && edge->phase == phase)
      add_ask(all, edge->task, edge->needed_jobs[job], edge->lag_ns);
  }
  if (itself && phase == first_phase(all, task))
    add_ask(all, task, own_need(all, task, job), 0);
  return all->ask_count - first;
}

/* What a job asks before its first phase of a kind, by the plan by which it asks most. */
static int64_t most_asks(const asking *all, int32_t task, int phase) {
  int64_t most = 0;
  for (int32_t p = 0; p < all->program->plan_count; ++p) {
    asking counting = *all;
    counting.program = all->program->plans[p];
    counting.asks = NULL;
    const int64_t count = add_job(&counting, task, 0, phase, asks_itself(&counting, task));
    most = count > most ? count : most;
  }
  return most;
}

/* Where each task's asks stand in the table of each plan. `*count`: in one table. */
static prem_status divide_asks(const asking *all, prem_device_task *tasks, int64_t *count) {
  *count = 0;
  for (int32_t t = 0; t < all->program->schedule->task_count; ++t)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      const int64_t most = most_asks(all, t, phase);
      tasks[t].first_ask[phase] = (int32_t)*count;
      tasks[t].ask_count[phase] = (uint16_t)most;
      *count += most * all->program->tasks[t].jobs;
      if (most > UINT16_MAX || *count > INT32_MAX)
        return PREM_ERR_INVALID;
    }
  return PREM_OK;
}

/* The table of a plan; where it has nothing zeros stand, which wait for no job. */
static void fill_asks(asking *all, const prem_program *plan, const prem_device_task *tasks,
                      int64_t first) {
  asking filling = *all;
  filling.program = plan;
  for (int32_t t = 0; t < plan->schedule->task_count; ++t) {
    const bool itself = asks_itself(&filling, t);
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
      for (int32_t job = 0; job < plan->tasks[t].jobs; ++job) {
        filling.ask_count = first + tasks[t].first_ask[phase] + job * tasks[t].ask_count[phase];
        add_job(&filling, t, job, phase, itself);
      }
  }
}

static void enter_leaders(const asking *all, prem_device_task *tasks) {
  for (int32_t t = 0; t < all->program->schedule->task_count; ++t) {
    const leader *of = &all->leaders[t];
    tasks[t].ends = of->counted ? all->ends + of->first_word : NULL;
    tasks[t].ends_shift = (uint8_t)of->shift;
    tasks[t].keeps_end = of->lagged;
    tasks[t].ends_parts = of->parts;
  }
}

int64_t prem_asks_words(const prem_program *program, prem_asks_watch watch) {
  asking all = {.program = program,
                .watch = watch,
                .leaders = calloc((size_t)program->schedule->task_count, sizeof *all.leaders)};
  const int64_t words = all.leaders ? find_leaders(&all) : -1;
  free(all.leaders);
  return words;
}

prem_status prem_asks_make(const prem_program *program, prem_asks_watch watch,
                           prem_device_end *ends, prem_device_task *tasks, prem_device_ask **asks,
                           int64_t *count) {
  asking all = {.program = program,
                .watch = watch,
                .leaders = calloc((size_t)program->schedule->task_count, sizeof *all.leaders),
                .ends = ends};
  prem_status status = PREM_ERR_MEMORY;
  *asks = NULL;
  if (!all.leaders)
    return status;
  find_leaders(&all);
  status = divide_asks(&all, tasks, count);
  if (!status) {
    all.asks = calloc((size_t)(*count * program->plan_count) + 1, sizeof *all.asks);
    status = all.asks ? PREM_OK : PREM_ERR_MEMORY;
  }
  for (int32_t p = 0; !status && p < program->plan_count; ++p)
    fill_asks(&all, program->plans[p], tasks, p * *count);
  enter_leaders(&all, tasks);
  free(all.leaders);
  *asks = all.asks;
  return status;
}

prem_status prem_asks_leaders(const prem_program *program, const prem_device_end *ends,
                              prem_device_leader *out) {
  asking all = {.program = program,
                .watch = PREM_ASKS_OF_COURIER,
                .leaders = calloc((size_t)program->schedule->task_count, sizeof *all.leaders)};
  if (!all.leaders)
    return PREM_ERR_MEMORY;
  find_leaders(&all);
  for (int32_t t = 0; t < program->schedule->task_count; ++t) {
    const leader *of = &all.leaders[t];
    out[t] = (prem_device_leader){.ends = ends + of->first_word, .shift = of->shift};
    for (int32_t part = 0; part < of->parts; ++part)
      out[t].blocks[part] = of->blocks[part];
  }
  free(all.leaders);
  return PREM_OK;
}
