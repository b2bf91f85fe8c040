/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the GPU's blocks ask of each other, in all orders in which they can run.
 *
 * Blocks start and end the jobs of a program, each in its own order. A block that starts a job
 * looks at the words of those that it follows, as runtime/cuda/device/waits.cuh does; a block that
 * ends one adds to its word, as runtime/cuda/device/record.cuh does. Every state that can be
 * reached is visited: a look must say yes exactly when all blocks have ended what is asked for,
 * however far others have run ahead and words have been used again, and somebody must always be
 * able to go on.
 */
#include "tests/common/schedule_text.h"
#include "tests/common/suite.h"

static int32_t part_blocks; /* that share a word */
#define PART_BLOCKS part_blocks
#include "runtime/cuda/host/asks.c"

enum { BLOCKS = 3, MAX_STEPS = 80 };

/* A job on a block. */
typedef struct step {
  int32_t task, job, phase;
  int64_t hyperperiod;
} step;

typedef struct world {
  prem_program *program; /* with several plans hyperperiods follow them in turn */
  prem_device_task *tasks;
  prem_device_ask *asks;
  prem_device_end *ends;
  int64_t words, count;          /* `count` asks for each plan */
  step steps[BLOCKS][MAX_STEPS]; /* done twice: started, ended */
  int32_t step_count[BLOCKS];
  int32_t at[BLOCKS]; /* how far each block is, in halves of steps */
  unsigned char *visited;
  int64_t states, looks, refusals;
} world;

static bool has_ended(const world *w, int32_t block, int32_t index) {
  return w->at[block] >= 2 * (index + 1);
}

/* The words as they are where every block is as far as it is: blocks only ever add. */
static void count_words(const world *w) {
  memset(w->ends, 0, (size_t)w->words * sizeof *w->ends);
  for (int32_t b = 0; b < BLOCKS; ++b)
    for (int32_t i = 0; i < w->step_count[b] && has_ended(w, b, i); ++i) {
      const step *done = &w->steps[b][i];
      const prem_device_task *task = &w->tasks[done->task];
      const uint32_t number = (uint32_t)(done->hyperperiod * task->jobs + done->job);
      if (task->ends)
        ++task->ends[((uint32_t)(b % task->ends_parts) << task->ends_shift) +
                     (number & ((1u << task->ends_shift) - 1u))]
              .blocks;
    }
}

/* As awaited_by() and has_ended() of the executive. */
static bool word_says_yes(const prem_device_ask *ask, int64_t hyperperiod) {
  const int64_t jobs = hyperperiod * ask->jobs + ask->need;
  if (jobs <= 0)
    return true;
  const int64_t last = jobs - 1, turn = last >> ask->shift;
  const prem_device_end *end = ask->ends + (last - (turn << ask->shift));
  return (int32_t)(end->blocks - (uint32_t)(turn + 1) * (uint32_t)ask->blocks) >= 0;
}

static int32_t task_of(const world *w, const prem_device_ask *ask, int32_t *part) {
  for (int32_t t = 0; t < w->program->schedule->task_count; ++t)
    for (*part = 0; w->tasks[t].ends && *part < w->tasks[t].ends_parts; ++*part)
      if (w->tasks[t].ends + ((size_t)*part << w->tasks[t].ends_shift) == ask->ends)
        return t;
  ck_abort_msg("an ask of nobody");
}

/* Have all blocks of the part that is asked for ended so many jobs? */
static bool is_true(const world *w, const prem_device_ask *ask, int64_t hyperperiod) {
  const int64_t jobs = hyperperiod * ask->jobs + ask->need;
  int32_t blocks = 0, part;
  const int32_t task = task_of(w, ask, &part);
  for (int32_t b = 0; b < BLOCKS; ++b) {
    if (b % w->tasks[task].ends_parts != part)
      continue;
    int64_t ended = 0;
    bool works = false;
    for (int32_t i = 0; i < w->step_count[b]; ++i) {
      works |= w->steps[b][i].task == task;
      ended += w->steps[b][i].task == task && has_ended(w, b, i);
    }
    if (works && ended < jobs)
      return false;
    blocks += works;
  }
  ck_assert_int_eq(blocks, ask->blocks);
  return true;
}

static int32_t plan_of(const world *w, int64_t hyperperiod) {
  return (int32_t)(hyperperiod % w->program->plan_count);
}

/* A courier lets nobody into a hyperperiod while the third one before is not over. */
static bool is_permitted(const world *w, int64_t hyperperiod) {
  enum { OPEN = 3 };
  for (int32_t b = 0; b < BLOCKS && w->program->plan_count > 1; ++b)
    for (int32_t i = 0; i < w->step_count[b]; ++i)
      if (w->steps[b][i].hyperperiod + OPEN <= hyperperiod && !has_ended(w, b, i))
        return false;
  return true;
}

static bool may_start(world *w, const step *next) {
  const prem_device_task *task = &w->tasks[next->task];
  const int32_t count = task->ask_count[next->phase];
  const prem_device_ask *asks = w->asks + plan_of(w, next->hyperperiod) * w->count;
  bool yes = is_permitted(w, next->hyperperiod);
  for (int32_t a = 0; a < count; ++a) {
    const prem_device_ask *ask = &asks[task->first_ask[next->phase] + next->job * count + a];
    if (!ask->ends) { /* by this plan there are fewer */
      ck_assert(word_says_yes(ask, INT64_C(1) << 40));
      continue;
    }
    const bool says = word_says_yes(ask, next->hyperperiod);
    ck_assert_msg(says == is_true(w, ask, next->hyperperiod),
                  "task %d, job %d of hyperperiod %d: the word says %d", next->task, next->job,
                  (int)next->hyperperiod, says);
    ++w->looks;
    w->refusals += !says;
    yes &= says;
  }
  return yes;
}

static size_t state_of(const world *w) {
  size_t state = 0;
  for (int32_t b = 0; b < BLOCKS; ++b)
    state = state * (2 * MAX_STEPS + 1) + (size_t)w->at[b];
  return state;
}

static void explore(world *w) {
  const size_t state = state_of(w);
  if (w->visited[state / 8] >> state % 8 & 1)
    return;
  w->visited[state / 8] |= (unsigned char)(1 << state % 8);
  ++w->states;
  bool goes_on = false, is_over = true;
  for (int32_t b = 0; b < BLOCKS; ++b) {
    const int32_t index = w->at[b] / 2;
    if (index == w->step_count[b])
      continue;
    is_over = false;
    count_words(w);
    if (w->at[b] % 2 == 0 && !may_start(w, &w->steps[b][index]))
      continue;
    goes_on = true;
    ++w->at[b];
    explore(w);
    --w->at[b];
  }
  ck_assert_msg(goes_on || is_over, "nobody can go on");
}

/* The jobs of the compute tables, in their order: what these tasks have is one compute a block. */
static void list_steps(world *w, int64_t hyperperiods) {
  for (int32_t b = 0; b < BLOCKS; ++b)
    for (int64_t h = 0; h < hyperperiods; ++h) {
      const prem_block_program *block = &w->program->plans[plan_of(w, h)]->blocks[b];
      for (int32_t i = 0; i < block->compute_count; ++i) {
        ck_assert_int_lt(w->step_count[b], MAX_STEPS);
        ck_assert(block->compute[i].flags & PREM_RECORD_LAST);
        w->steps[b][w->step_count[b]++] =
            (step){block->compute[i].task, block->compute[i].job, PREM_COMPUTE, h};
      }
    }
}

/* The first task waits for jobs of the second one, as a writer does for late readers. */
static void add_data_edge(prem_program *program, int32_t need) {
  prem_task_program *task = &program->tasks[0];
  task->after = realloc(task->after, ((size_t)task->edge_count + 1) * sizeof *task->after);
  ck_assert_ptr_nonnull(task->after);
  int32_t *needed_jobs = malloc(sizeof *needed_jobs);
  *needed_jobs = need;
  task->after[task->edge_count++] =
      (prem_dependency){.task = 1, .phase = PREM_COMPUTE, .needed_jobs = needed_jobs};
}

/* @param need  0: without a data edge. */
static void explore_one(const char *source, int64_t hyperperiods, int32_t need) {
  world w = {0};
  OWNED(prem_schedule) *schedule = schedule_from_text(source);
  ck_assert_ptr_nonnull(schedule);
  ck_assert_int_eq(prem_program_new_live(schedule, &w.program, NULL), PREM_OK);
  const prem_asks_watch watch =
      w.program->plan_count > 1 ? PREM_ASKS_OF_COURIER : PREM_ASKS_OF_TASKS;
  if (need != 0)
    add_data_edge(w.program, need);
  w.tasks = calloc((size_t)schedule->task_count, sizeof *w.tasks);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    w.tasks[t].jobs = w.program->tasks[t].jobs;
  w.words = prem_asks_words(w.program, watch);
  w.ends = calloc((size_t)w.words + 1, sizeof *w.ends);
  ck_assert_int_eq(prem_asks_make(w.program, watch, w.ends, w.tasks, &w.asks, &w.count), PREM_OK);
  ck_assert_int_gt(w.count, 0);
  list_steps(&w, hyperperiods);
  const size_t states = (2 * MAX_STEPS + 1) * (2 * MAX_STEPS + 1) * (2 * MAX_STEPS + 1);
  w.visited = calloc(states / 8 + 1, 1);
  explore(&w);
  printf("%lld states, %lld looks, %lld of them in vain\n", (long long)w.states, (long long)w.looks,
         (long long)w.refusals);
  ck_assert_int_gt(w.refusals, 0);
  free(w.visited);
  free(w.asks);
  free(w.ends);
  free(w.tasks);
  prem_program_free(w.program);
}

/* A word for all blocks, and a word for each. */
static void explore_all(const char *source, int64_t hyperperiods, int32_t need) {
  for (part_blocks = 32; part_blocks > 0; part_blocks -= 31)
    explore_one(source, hyperperiods, need);
}

#define HEAD                                                                                       \
  "version = 1; name = \"asks\"; platform: { blocks = 3; resources = ( { name = \"memory\"; "      \
  "capacity = 3; } ); };"

static const char led[] =
    HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;"
         "    compute: { wcet_ns = 10L; }; },"
         "  { name = \"b\"; kernel = \"none\"; blocks = [ 2 ]; tiles = 1;"
         "    compute: { wcet_ns = 10L; }; after = ( { task = \"a\"; } ); } );"
         "plan: { hyperperiod_ns = 20L; runs = ("
         "  { task = \"a\"; phase = \"compute\"; count = 2; start_ns = 0L; },"
         "  { task = \"b\"; phase = \"compute\"; start_ns = 10L; } ); };";

/* `b` may lag as far as it likes: nothing but words that are used again holds `a` back, whose
 * blocks drift apart by as many jobs as there are words. */
TEST(a_leader_runs_ahead) {
  explore_all(led, 18, 0);
}

/* A reader that may be seven jobs behind says that the words are free, one that may be eight behind
 * does not: the writer asks for itself as well. */
TEST(a_reader_far_behind) {
  explore_all(led, 18, -7);
  explore_all(led, 18, -8);
  explore_all(led, 18, -9);
}

/* A fork and a join, tasks that share blocks, and a lag. */
TEST(a_fork_and_a_join) {
  explore_all(
      HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1, 2 ]; tiles = 3;"
           "    compute: { wcet_ns = 10L; }; },"
           "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
           "    compute: { wcet_ns = 10L; }; after = ( { task = \"a\"; } ); },"
           "  { name = \"c\"; kernel = \"none\"; blocks = [ 1, 2 ]; tiles = 2;"
           "    compute: { wcet_ns = 10L; }; after = ( { task = \"a\"; lag_ns = 2L; } ); },"
           "  { name = \"d\"; kernel = \"none\"; blocks = [ 2, 0 ]; tiles = 2;"
           "    compute: { wcet_ns = 10L; }; after = ( { task = \"b\"; }, { task = \"c\"; } ); } );"
           "plan: { hyperperiod_ns = 40L; runs = ("
           "  { task = \"a\"; phase = \"compute\"; count = 3; start_ns = 0L; },"
           "  { task = \"b\"; phase = \"compute\"; start_ns = 12L; },"
           "  { task = \"c\"; phase = \"compute\"; count = 2; start_ns = 12L; },"
           "  { task = \"d\"; phase = \"compute\"; count = 2; start_ns = 22L; } ); };",
      12, 0);
}

/* Two rates: the slow one follows the latest job of the fast one. */
TEST(two_rates) {
  explore_all(HEAD
              "tasks = ( { name = \"fast\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;"
              "    period_ns = 20L; compute: { wcet_ns = 5L; }; },"
              "  { name = \"slow\"; kernel = \"none\"; blocks = [ 1, 2 ]; tiles = 2;"
              "    period_ns = 40L; compute: { wcet_ns = 5L; };"
              "    after = ( { task = \"fast\"; instance = \"latest\"; } ); } );"
              "plan: { hyperperiod_ns = 40L; runs = ("
              "  { task = \"fast\"; phase = \"compute\"; count = 2; start_ns = 0L; jobs = 2; },"
              "  { task = \"slow\"; phase = \"compute\"; count = 2; start_ns = 5L; } ); };",
              12, 0);
}

/* Modes with plans of their own, in turn: d joins b and c, of which each mode has one alone, and by
 * the file's plan it follows them both. Words are counted on across all switches. */
TEST(plans_of_modes) {
  explore_all(
      HEAD "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0, 1 ]; tiles = 2;"
           "    compute: { wcet_ns = 10L; }; },"
           "  { name = \"b\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1;"
           "    compute: { wcet_ns = 10L; }; after = ( { task = \"a\"; } ); },"
           "  { name = \"c\"; kernel = \"none\"; blocks = [ 1, 2 ]; tiles = 2;"
           "    compute: { wcet_ns = 10L; }; after = ( { task = \"a\"; } ); },"
           "  { name = \"d\"; kernel = \"none\"; blocks = [ 2, 0 ]; tiles = 2;"
           "    compute: { wcet_ns = 10L; }; after = ( { task = \"b\"; }, { task = \"c\"; } ); } );"
           "live: { operating_modes = ( { name = \"all\"; },"
           "  { name = \"one\"; off = [ \"b\" ]; policy: { }; },"
           "  { name = \"other\"; off = [ \"a\", \"c\" ]; policy: { }; } ); };"
           "plan: { hyperperiod_ns = 40L; runs = ("
           "  { task = \"a\"; phase = \"compute\"; count = 2; start_ns = 0L; },"
           "  { task = \"b\"; phase = \"compute\"; start_ns = 10L; },"
           "  { task = \"c\"; phase = \"compute\"; count = 2; start_ns = 10L; },"
           "  { task = \"d\"; phase = \"compute\"; count = 2; start_ns = 20L; } );"
           "  operating_modes = ( { name = \"one\"; runs = ("
           "      { task = \"a\"; phase = \"compute\"; count = 2; start_ns = 0L; },"
           "      { task = \"c\"; phase = \"compute\"; count = 2; start_ns = 10L; },"
           "      { task = \"d\"; phase = \"compute\"; count = 2; start_ns = 20L; } ); },"
           "    { name = \"other\"; runs = ("
           "      { task = \"b\"; phase = \"compute\"; start_ns = 0L; },"
           "      { task = \"d\"; phase = \"compute\"; count = 2; start_ns = 10L; } ); } ); };",
      7, 0);
}
