/* SPDX-License-Identifier: Apache-2.0 */
/* The checker against what it did not foresee: every mutant of a plan without slack is refused, and
 * on random plans it agrees with a judge that looks at every nanosecond. */
#include "tests/common/suite.h"
#include "tests/common/verdict.h"

/* A small generator of its own: the same numbers on every machine. */
static uint64_t random_state;

static int64_t draw(int64_t from, int64_t to) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return from + (int64_t)((random_state >> 33) % (uint64_t)(to - from + 1));
}

/* ---- plans without slack -------------------------------------------------------------------- */

/* Four blocks take turns at the memory, which is never idle; every compute fills its gap. */
static const char saturated[] =
    "version = 1; name = \"saturated\"; platform: { blocks = 4; };"
    "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 4; tiles = 20;"
    " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 30L; }; writeback: { wcet_ns = 10L; }; } "
    ");"
    "plan: { hyperperiod_ns = 400L; runs = ("
    "{ task = \"a\"; phase = \"prefetch\"; count = 4; repeat = 5; start_ns = 0L; block_step_ns = "
    "10L;"
    " step_ns = 80L; },"
    "{ task = \"a\"; phase = \"compute\"; count = 4; repeat = 5; start_ns = 10L; block_step_ns = "
    "10L;"
    " step_ns = 80L; },"
    "{ task = \"a\"; phase = \"writeback\"; count = 4; repeat = 5; start_ns = 40L;"
    " block_step_ns = 10L; step_ns = 80L; } ); };";

/* Two periods that fill the memory together. */
static const char periodic[] =
    "version = 1; name = \"periodic\"; platform: { blocks = 2; };"
    "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = [ 0 ]; tiles = 1; period_ns = 40L;"
    " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 25L; }; writeback: { wcet_ns = 5L; }; },"
    "{ name = \"b\"; kernel = \"none\"; blocks = [ 1 ]; tiles = 1; period_ns = 80L;"
    " prefetch: { wcet_ns = 25L; }; compute: { wcet_ns = 15L; }; writeback: { wcet_ns = 25L; }; } "
    ");"
    "plan: { hyperperiod_ns = 80L; runs = ("
    "{ task = \"a\"; phase = \"prefetch\"; start_ns = 0L; jobs = 2; },"
    "{ task = \"a\"; phase = \"compute\"; start_ns = 10L; jobs = 2; },"
    "{ task = \"a\"; phase = \"writeback\"; start_ns = 35L; jobs = 2; },"
    "{ task = \"b\"; phase = \"prefetch\"; start_ns = 10L; },"
    "{ task = \"b\"; phase = \"compute\"; start_ns = 35L; },"
    "{ task = \"b\"; phase = \"writeback\"; start_ns = 50L; } ); };";

/* A pipeline of joined phases on one block. */
static const char pipeline[] =
    "version = 1; name = \"pipeline\"; platform: { blocks = 1; buffers = 2; };"
    "tasks = ( { name = \"a\"; kernel = \"none\"; blocks = 1; tiles = 6;"
    " prefetch: { wcet_ns = 10L; }; compute: { wcet_ns = 15L; }; writeback: { wcet_ns = 5L; }; } );"
    "plan: { hyperperiod_ns = 110L; runs = ("
    "{ task = \"a\"; phase = \"prefetch\"; repeat = 8; start_ns = 0L; step_ns = 15L;"
    " join: { tile = -2; }; },"
    "{ task = \"a\"; phase = \"compute\"; repeat = 6; start_ns = 15L; step_ns = 15L; } ); };";

static const char *const tight[] = {saturated, periodic, pipeline};
enum { TIGHT = sizeof tight / sizeof tight[0] };

static bool refused(const prem_schedule *schedule) {
  return prem_check(schedule, NULL, NULL) == PREM_ERR_INVALID;
}

GROUP("mutants");

TEST(plans_without_slack_are_legal) {
  for (int p = 0; p < TIGHT; ++p)
    assert_legal(tight[p]);
}

typedef enum mutation {
  DROP_RUN,
  REPEAT_RUN,
  SHIFT,
  STEP,
  BLOCK_STEP,
  JOB_STEP,
  FEWER,
  TILE,
  JOB,
  SLOWER,
  HYPERPERIOD,
  GUARD,
  DEADLINE,
  RELEASE,
  GRID,
  DEMAND,
  MUTATIONS
} mutation;

static int64_t longer_or_shorter(int64_t value) {
  int64_t change = draw(1, 9);
  return draw(0, 1) ? value + change : value - change;
}

/* false: this plan has nothing to change there. */
static bool mutate(prem_schedule *schedule, mutation kind) {
  prem_plan *plan = schedule->plan;
  prem_affine *run = &plan->affine[draw(0, plan->affine_count - 1)];
  prem_task *task = &schedule->tasks[run->task];
  switch (kind) {
  case DROP_RUN:
    *run = plan->affine[--plan->affine_count];
    return true;
  case REPEAT_RUN: {
    prem_affine copy = *run;
    copy.start_ns = draw(0, plan->hyperperiod_ns);
    ck_assert_int_eq(prem_plan_add_affine(plan, &copy), PREM_OK);
    return true;
  }
  case SHIFT:
    run->start_ns = longer_or_shorter(run->start_ns);
    return true;
  case STEP:
    run->step_ns = longer_or_shorter(run->step_ns);
    return run->repeat > 1;
  case BLOCK_STEP:
    run->block_step_ns = longer_or_shorter(run->block_step_ns);
    return run->count > 1;
  case JOB_STEP:
    run->job_step_ns = longer_or_shorter(run->job_step_ns);
    return run->jobs > 1;
  case FEWER:
    if (run->repeat > 1)
      --run->repeat;
    else
      --run->jobs;
    return true;
  case TILE:
    run->tile += draw(0, 1) ? 1 : -1;
    return true;
  case JOB:
    run->job += draw(0, 1) ? 1 : -1;
    return true;
  case SLOWER: {
    prem_phase_spec *spec = &task->phase[draw(0, 2)];
    int64_t more = draw(1, 9);
    spec->wcet_ns += more;
    spec->busy_ns += more;
    return true;
  }
  case HYPERPERIOD:
    plan->hyperperiod_ns -= draw(1, 9);
    return true;
  case GUARD:
    schedule->platform.guard_ns = draw(1, 9);
    return true;
  case DEADLINE: /* the first job of every plan ends later than this */
    task->deadline_ns = draw(1, 39);
    return true;
  case RELEASE:
    task->release_ns = draw(11, 39);
    return true;
  case GRID:
    schedule->platform.clock_step_ns = 11;
    return true;
  case DEMAND:
    task->phase[PREM_PREFETCH].demand[0] = 2;
    return true;
  case MUTATIONS:
    break;
  }
  return false;
}

TEST(every_mutant_of_a_plan_without_slack_is_refused) {
  int made[MUTATIONS] = {0};
  random_state = 1;
  for (int trial = 0; trial < 1200; ++trial) {
    mutation kind = (mutation)(trial % MUTATIONS);
    int plan = (int)draw(0, TIGHT - 1);
    OWNED(prem_schedule) *schedule = schedule_from_text(tight[plan]);
    bool changed = mutate(schedule, kind);
    if (changed && !refused(schedule))
      ck_abort_msg("mutation %d of plan '%s' (trial %d) was accepted", kind, schedule->name, trial);
    made[kind] += changed;
  }
  for (int kind = 0; kind < MUTATIONS; ++kind)
    ck_assert_int_gt(made[kind], 10);
}

/* ---- the judge that looks at every nanosecond ----------------------------------------------- */

enum { TASKS = 3, TILES = 3, BLOCKS = 2, LONGEST = 60 };

typedef struct interval {
  int64_t start, end;
} interval;

typedef struct abstract_task {
  int blocks[BLOCKS], block_count, tiles;
  int64_t wcet[PREM_PHASE_COUNT]; /* 0: no such phase */
  int demand[PREM_PHASE_COUNT];
  bool chained; /* all phases follow the first one by themselves */
  interval at[TILES][PREM_PHASE_COUNT];
} abstract_task;

typedef struct abstract_plan {
  abstract_task task[TASKS];
  int capacity, buffers;
  bool per_task, periodic;
  int64_t hyperperiod, guard;
} abstract_plan;

static void draw_tile(abstract_task *task, int tile, int64_t hyperperiod, int64_t guard) {
  int64_t time = draw(0, hyperperiod * 3 / 4);
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (!task->wcet[p])
      continue;
    if (time < 0)
      time = 0;
    task->at[tile][p] = (interval){time, time + task->wcet[p]};
    time += task->wcet[p] + (task->chained ? 0 : guard + (draw(0, 2) ? 0 : draw(-1, 4)));
  }
}

static abstract_plan draw_plan(bool with_guard) {
  abstract_plan plan = {.capacity = (int)draw(1, 2),
                        .buffers = (int)draw(1, 2),
                        .per_task = draw(0, 1),
                        .periodic = draw(0, 1),
                        .hyperperiod = draw(40, LONGEST),
                        .guard = with_guard ? draw(1, 3) : 0};
  for (int t = 0; t < TASKS; ++t) {
    abstract_task *task = &plan.task[t];
    task->block_count = (int)draw(1, BLOCKS);
    task->blocks[0] = (int)draw(0, BLOCKS - 1);
    task->blocks[1] = 1 - task->blocks[0];
    task->tiles = (int)draw(1, TILES - 1);
    task->chained = draw(0, 3) == 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      task->wcet[p] = draw(0, 4);
      task->demand[p] = p == PREM_COMPUTE ? draw(0, 4) == 0 : (int)draw(0, plan.capacity);
    }
    if (!task->wcet[0] && !task->wcet[1] && !task->wcet[2])
      task->wcet[draw(0, 2)] = 3;
    for (int tile = 0; tile < task->tiles; ++tile)
      draw_tile(task, tile, plan.hyperperiod, plan.guard);
  }
  return plan;
}

static int first_of(const abstract_task *task) {
  int p = 0;
  while (!task->wcet[p])
    ++p;
  return p;
}

static const char *chain_of(const abstract_task *task, int head) {
  const char *chain = "";
  for (int p = head + 1; p < PREM_PHASE_COUNT; ++p)
    if (task->wcet[p])
      chain = text("%s%s\"%s\"", chain, *chain ? ", " : "", prem_phase_name((prem_phase)p));
  return task->chained && *chain ? text("chain = [ %s ];", chain) : "";
}

static const char *source_of(const abstract_plan *plan) {
  const char *tasks = "", *runs = "";
  for (int t = 0; t < TASKS; ++t) {
    const abstract_task *task = &plan->task[t];
    const char *phases = "";
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (task->wcet[p])
        phases = text("%s %s: { wcet_ns = %dL; demand: { memory = %d; }; };", phases,
                      prem_phase_name((prem_phase)p), (int)task->wcet[p], task->demand[p]);
    tasks = text("%s%s{ name = \"t%d\"; kernel = \"none\"; blocks = [ %d%s ]; tiles = %d; %s %s }",
                 tasks, t ? ",\n" : "", t, task->blocks[0],
                 task->block_count > 1 ? text(", %d", task->blocks[1]) : "", task->tiles,
                 plan->periodic ? text("period_ns = %dL;", (int)plan->hyperperiod) : "", phases);
    for (int tile = 0; tile < task->tiles; ++tile)
      for (int p = 0; p < PREM_PHASE_COUNT; ++p)
        if (task->wcet[p] && (!task->chained || p == first_of(task)))
          runs = text("%s%s{ task = \"t%d\"; phase = \"%s\"; tile = %d; first_block = %d; %s"
                      " start_ns = %dL; }",
                      runs, *runs ? ",\n" : "", t, prem_phase_name((prem_phase)p), tile,
                      tile % task->block_count, chain_of(task, p), (int)task->at[tile][p].start);
  }
  return file_of(
      text("blocks = %d; buffers = %d; guard_ns = %dL; resources = ( { name = \"memory\";"
           " capacity = %d; per = \"%s\"; } );",
           BLOCKS, plan->buffers, (int)plan->guard, plan->capacity,
           plan->per_task ? "task" : "block"),
      tasks, text("hyperperiod_ns = %dL; runs = (\n%s );", (int)plan->hyperperiod, runs));
}

/* Is it held at this instant of the hyperperiod, or so long after its end? */
static bool holds(const abstract_plan *plan, interval i, int64_t instant, int64_t after) {
  if (i.start == i.end)
    return false;
  return (instant >= i.start && instant < i.end + after) ||
         (plan->periodic && instant + plan->hyperperiod >= i.start &&
          instant + plan->hyperperiod < i.end + after);
}

/* A chained phase may use its resource from the chain's release. */
static interval use_of(const abstract_task *task, int tile, int p) {
  interval use = task->at[tile][p];
  if (task->chained)
    use.start = task->at[tile][first_of(task)].start;
  return use;
}

static int tile_demand(const abstract_plan *plan, const abstract_task *task, int tile,
                       int64_t instant) {
  int demand = 0, sum = 0;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (!task->wcet[p] || !holds(plan, use_of(task, tile, p), instant, plan->guard))
      continue;
    sum += task->demand[p];
    if (task->demand[p] > demand)
      demand = task->demand[p];
  }
  return task->chained || plan->per_task ? demand : sum;
}

static bool exceeds_memory(const abstract_plan *plan, int64_t instant) {
  int used = 0;
  for (int t = 0; t < TASKS; ++t) {
    int max = 0, sum = 0;
    for (int tile = 0; tile < plan->task[t].tiles; ++tile) {
      int demand = tile_demand(plan, &plan->task[t], tile, instant);
      sum += demand;
      if (demand > max)
        max = demand;
    }
    used += plan->per_task ? max : sum;
  }
  return used > plan->capacity;
}

static interval life_of(const abstract_task *task, int tile, int first, int last) {
  interval life = {INT64_MAX, INT64_MIN};
  for (int p = first; p <= last; ++p) {
    if (!task->wcet[p])
      continue;
    if (life.end == INT64_MIN)
      life.start = task->at[tile][p].start;
    life.end = task->at[tile][p].end;
  }
  return life.end > life.start ? life : (interval){0, 0};
}

/* Units and buffers of one block. */
static bool exceeds_block(const abstract_plan *plan, int block, int64_t instant) {
  int computes = 0, memory = 0, tiles = 0, inputs = 0, outputs = 0;
  for (int t = 0; t < TASKS; ++t) {
    const abstract_task *task = &plan->task[t];
    for (int tile = 0; tile < task->tiles; ++tile) {
      if (task->blocks[tile % task->block_count] != block)
        continue;
      /* inside a tile the guard is judged by judge_order(), and it does not hold in a chain */
      bool fetches = task->wcet[0] && holds(plan, task->at[tile][0], instant, plan->guard);
      bool stores = task->wcet[2] && holds(plan, task->at[tile][2], instant, plan->guard);
      memory += fetches || stores;
      computes += task->wcet[1] && holds(plan, task->at[tile][1], instant, plan->guard);
      tiles += holds(plan, life_of(task, tile, 0, 2), instant, plan->guard);
      inputs += task->wcet[0] && holds(plan, life_of(task, tile, 0, 1), instant, plan->guard);
      outputs += task->wcet[2] && holds(plan, life_of(task, tile, 1, 2), instant, plan->guard);
    }
  }
  if (computes > 1 || memory > 1)
    return true;
  return plan->buffers == 1 ? tiles > 1 : inputs > plan->buffers || outputs > plan->buffers;
}

static bool order_is_wrong(const abstract_plan *plan, const abstract_task *task, int tile) {
  int64_t end = -LONGEST;
  for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
    if (!task->wcet[p])
      continue;
    if (task->at[tile][p].start - end < (task->chained ? 0 : plan->guard))
      return true;
    end = task->at[tile][p].end;
    if (!plan->periodic && end > plan->hyperperiod)
      return true;
    if (task->at[tile][p].start >= plan->hyperperiod && !task->chained)
      return true;
  }
  return false;
}

static bool is_wrong(const abstract_plan *plan) {
  for (int t = 0; t < TASKS; ++t)
    for (int tile = 0; tile < plan->task[t].tiles; ++tile)
      if (order_is_wrong(plan, &plan->task[t], tile))
        return true;
  for (int64_t instant = 0; instant < plan->hyperperiod; ++instant) {
    if (exceeds_memory(plan, instant))
      return true;
    for (int block = 0; block < BLOCKS; ++block)
      if (exceeds_block(plan, block, instant))
        return true;
  }
  return false;
}

static void compare_with_judge(bool with_guard, int trials) {
  int legal = 0;
  for (int trial = 0; trial < trials; ++trial) {
    abstract_plan plan = draw_plan(with_guard);
    const char *source = source_of(&plan);
    bool wrong = is_wrong(&plan);
    OWNED(prem_diag) *diag = verdict_on(source);
    if ((prem_diag_errors(diag) > 0) != wrong) {
      print_problems(diag);
      ck_abort_msg("trial %d: %s\n%s", trial, wrong ? "accepted" : "refused", source);
    }
    legal += !wrong;
  }
  printf("%d of %d random plans are legal\n", legal, trials);
  ck_assert_int_gt(legal, trials / 50);
  ck_assert_int_lt(legal, trials * 9 / 10);
}

GROUP("random plans");

TEST(random_plans_are_judged_as_instant_by_instant) {
  random_state = 2;
  compare_with_judge(false, 1500);
}

TEST(random_plans_with_a_guard_are_judged_as_instant_by_instant) {
  random_state = 3;
  compare_with_judge(true, 1500);
}
