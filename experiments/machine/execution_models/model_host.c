/* SPDX-License-Identifier: Apache-2.0 */
/* What is right, and the models on threads. */
#include <stdlib.h>

#include "experiments/common/cores.h"
#include "experiments/common/experiment.h"
#include "experiments/machine/execution_models/world.h"

enum { MOST_CORES = 64 };

uint32_t *model_new_input(void) {
  uint32_t *input = malloc(MODEL_INPUT_WORDS * sizeof *input);
  for (uint32_t i = 0; input && i < MODEL_INPUT_WORDS; ++i)
    input[i] = (uint32_t)model_hash(i);
  return input;
}

/** An item and all that come of it; as deep as they are. */
static void work_item(const model_work *work, const uint32_t *input, uint64_t item,
                      model_sums *sums, uint64_t *counts) {
  const int stage = (int)model_stage_in(item);
  const model_stage of = model_stage_of(work->workload, stage);
  ++counts[stage];
  for (uint32_t lane = 0; lane < of.lanes; ++lane)
    model_part(work->workload, stage, item, lane, work->size, input + model_input_at(item), sums);
  for (uint32_t which = 0; which < of.fan; ++which) {
    const uint64_t child = model_child(work->workload, item, which, work->size);
    if (child != MODEL_NONE)
      work_item(work, input, child, sums, counts);
  }
}

prem_status model_reference(const model_work *work, model_sums *sums, uint64_t *counts) {
  uint32_t *input = model_new_input();
  if (!input)
    return PREM_ERR_MEMORY;
  *sums = (model_sums){0};
  memset(counts, 0, MODEL_STAGES * sizeof *counts);
  for (uint32_t i = 0; i < work->roots; ++i)
    if (model_root(work, i) != MODEL_NONE)
      work_item(work, input, model_root(work, i), sums, counts);
  free(input);
  return PREM_OK;
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct host_team {
  model_world *world;
  prem_word arrived; /* at all meetings */
  uint32_t stages;   /* of the step under way, as bits */
  pthread_mutex_t lock;
  model_own pool; /* its stack is as large as the arrays */
} host_team;

typedef struct host_worker {
  host_team *team;
  pthread_t thread;
  uint32_t number, meetings;
  model_own own;
} host_worker;

static bool meet(host_worker *worker) {
  model_world *world = worker->team->world;
  const uint64_t all = (uint64_t)++worker->meetings * world->run.threads;
  atomic_fetch_add(&worker->team->arrived, 1);
  while (prem_word_near(&worker->team->arrived) < all) {
    if (!model_goes_on(world, &worker->own, true))
      return false;
    sched_yield();
  }
  return true;
}

/** All threads meet before and after each stage. */
static void go_by_stages(host_worker *worker) {
  host_team *team = worker->team;
  model_world *world = team->world;
  while (meet(worker)) {
    uint64_t most = world->most.word;
    if (worker->number == 0) {
      team->stages = model_plan(world->tails, world->ranges, world->run.room, true, &most);
      world->most.word = most;
      world->launches.word += team->stages != 0;
    }
    if (!meet(worker) || team->stages == 0)
      return;
    const int stage = __builtin_ctz(team->stages);
    model_work_range(world, world->run.work.workload, stage, world->ranges[stage].first,
                     world->ranges[stage].last, worker->number, world->run.threads, NULL);
  }
}

/** Move all from one stack to another. */
static void move(model_own *from, size_t from_room, model_own *to, size_t to_room) {
  for (size_t stage = 0; stage < MODEL_STAGES; ++stage)
    while (from->count[stage] > 0)
      to->stack[stage * to_room + to->count[stage]++] =
          from->stack[stage * from_room + --from->count[stage]];
}

static void go_by_pool(host_worker *worker) {
  host_team *team = worker->team;
  model_world *world = team->world;
  model_own *own = &worker->own;
  const int workload = world->run.work.workload;
  const size_t room = world->run.room;
  model_sums sums = {0};
  for (uint32_t count = 1; model_goes_on(world, own, count == 0);) {
    int stage = 0;
    pthread_mutex_lock(&team->lock);
    move(own, MODEL_STACK, &team->pool, room);
    model_settle(world, own);
    count = model_pop(&team->pool, (uint32_t)room, workload, false, own->taking.items, &stage);
    pthread_mutex_unlock(&team->lock);
    if (count == 0 && !model_may_come(world, own))
      break;
    if (count == 0)
      sched_yield();
    else
      model_batch(world, own, workload, stage, own->taking.items, count, NULL, &sums);
    own->owed -= count;
  }
  model_raise(&world->most.word, own->most);
  model_tell(world, worker->number, sums);
}

static void *go(void *argument) {
  host_worker *worker = argument;
  model_world *world = worker->team->world;
  const model_kind kind = world->run.kind;
  worker->own.stack = world->stacks + (size_t)worker->number * MODEL_STAGES * MODEL_STACK;
  worker->own.end_ns = prem_host_clock_ns() + world->run.patience_ns;
  if (kind == MODEL_STAGE_BY_STAGE)
    go_by_stages(worker);
  else if (kind == MODEL_POOL)
    go_by_pool(worker);
  else
    model_work_on(world, &worker->own, world->run.work.workload, worker->number, model_keep(kind),
                  NULL);
  return NULL;
}

static prem_status take_turn(host_team *team, host_worker *workers, int64_t *ns, prem_diag *diag) {
  int32_t cores[MOST_CORES];
  const uint32_t count = (uint32_t)prem_cores_list(cores, MOST_CORES);
  const uint32_t threads = team->world->run.threads;
  uint32_t started = 0;
  int error = 0;
  const int64_t begin_ns = prem_host_clock_ns();
  for (; started < threads && error == 0; started += error == 0) {
    workers[started] = (host_worker){.team = team, .number = started};
    error =
        prem_core_start(&workers[started].thread, cores[started % count], go, &workers[started]);
  }
  prem_ring_add(&team->world->stop.word, error != 0);
  for (uint32_t w = 0; w < started; ++w)
    pthread_join(workers[w].thread, NULL);
  *ns = prem_host_clock_ns() - begin_ns;
  return error == 0
             ? PREM_OK
             : prem_experiment_refuse(diag, PREM_ERR_MACHINE, "thread %u of %u cannot start: %s",
                                      started + 1, threads, strerror(error));
}

prem_status model_host_run(const model_run *run, int64_t *ns, model_result *result,
                           prem_diag *diag) {
  const size_t lines = model_world_bytes(run, run->threads) / PREM_RING_LINE_BYTES + 1;
  model_world *world = aligned_alloc(PREM_RING_LINE_BYTES, lines * PREM_RING_LINE_BYTES);
  host_worker *workers = malloc(run->threads * sizeof *workers);
  host_team team = {.world = world, .lock = PTHREAD_MUTEX_INITIALIZER};
  uint32_t *input = model_new_input();
  prem_status status = world && workers && input ? PREM_OK : PREM_ERR_MEMORY;
  *result = (model_result){.ok = true};
  while (status == PREM_OK && result->ok && result->turns < run->turns) {
    model_world_init(world, world, run, input);
    team.arrived = 0;
    team.pool.stack = world->items; /* with the items to begin with */
    team.pool.count[0] = (uint32_t)world->roots;
    status = take_turn(&team, workers, &ns[result->turns], diag);
    ++result->turns;
    model_judge(world, result);
  }
  free(input);
  free(workers);
  free(world);
  return status;
}
