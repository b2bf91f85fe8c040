/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that put and take, and one that shows what a listing forgets. */
#include <stdlib.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "experiments/common/experiment.h"
#include "experiments/machine/queue_kinds/queue_world.h"

enum { IDLE_ROUNDS = 8, LEFT_ROUNDS = 64, ROUND_PATIENCES = 5, MOST_CORES = 64 };

/** A thread's own. */
typedef struct queue_user {
  queue_world *world;
  pthread_t thread;
  uint32_t block;
  uint64_t next, end;
  prem_ring_hand putting, taking;
  int64_t put, taken, refused, empties;
} queue_user;

static void mark(queue_user *user, uint64_t item) {
  if (item < user->world->most)
    __atomic_add_fetch(&user->world->marks[item], 1, __ATOMIC_RELAXED);
  ++user->taken;
}

/** A batch, or what is left; less when it is refused. */
static void put_some(queue_user *user, uint32_t batch) {
  queue_world *world = user->world;
  const uint64_t left = user->end - user->next;
  const uint32_t want = left < batch ? (uint32_t)left : batch;
  if (world->work.kind != QUEUE_RING) {
    queue_answer answer = QUEUE_OK;
    for (uint32_t i = 0; i < want && answer == QUEUE_OK; ++i) {
      answer = queue_put(&world->set, world->work.kind, user->block, user->next);
      user->next += answer == QUEUE_OK;
      user->put += answer == QUEUE_OK;
      user->refused += answer == QUEUE_REFUSED;
    }
    return;
  }
  if (want == 0)
    return;
  for (uint32_t i = 0; user->putting.kept == 0 && i < want; ++i)
    user->putting.items[i] = user->next + i;
  const prem_ring_answer answer = prem_ring_put(&world->ring, &user->putting, want);
  if (answer == PREM_RING_OK) {
    user->next += user->putting.count;
    user->put += user->putting.count;
  }
  user->refused += answer == PREM_RING_FULL;
}

/** Has anything come? */
static bool take_some(queue_user *user, uint32_t batch) {
  queue_world *world = user->world;
  if (world->work.kind != QUEUE_RING) {
    queue_answer answer = QUEUE_OK;
    bool any = false;
    for (uint32_t i = 0; i < batch && answer == QUEUE_OK; ++i) {
      uint64_t item = 0;
      answer = queue_take(&world->set, world->work.kind, user->block, &item);
      if (answer == QUEUE_OK)
        mark(user, item);
      user->empties += answer == QUEUE_REFUSED;
      any |= answer == QUEUE_OK;
    }
    return any;
  }
  const prem_ring_answer answer = prem_ring_take(&world->ring, &user->taking, batch);
  for (uint32_t i = 0; answer == PREM_RING_OK && i < user->taking.count; ++i)
    mark(user, user->taking.items[i]);
  user->empties += answer == PREM_RING_EMPTY;
  return answer == PREM_RING_OK;
}

static void *work_on(void *argument) {
  queue_user *user = argument;
  queue_world *world = user->world;
  const queue_work *work = &world->work;
  const bool puts = queue_block_puts(work, user->block);
  const bool takes = queue_block_takes(work, user->block);
  const int64_t end_ns = prem_host_clock_ns() + ROUND_PATIENCES * work->patience_ns;
  bool is_told = !puts;
  user->next = user->block * work->each;
  user->end = puts ? user->next + work->each : user->next;
  for (int idle = 0; !queue_is_stuck(&world->waits);) {
    const uint64_t before = user->next;
    put_some(user, work->batch);
    if (!is_told && user->next == user->end) {
      is_told = true;
      queue_add(&world->over.word, 1);
    }
    const bool any = takes && take_some(user, work->batch);
    idle = any ? 0 : idle + 1;
    if (is_told && queue_load(&world->over.word) == queue_putting(work) &&
        (!takes || (idle > IDLE_ROUNDS && user->taking.kept == 0)))
      return NULL;
    if (!any && user->next == before)
      queue_pause();
    if (idle % 64 == 1 && prem_host_clock_ns() > end_ns)
      queue_give_up(&world->waits);
  }
  return NULL;
}

/** What EMPTY for nothing has left, and tickets that a stopped thread has kept. */
static void take_left(queue_world *world, queue_user *users) {
  for (int idle = 0; idle < LEFT_ROUNDS && !queue_is_stuck(&world->waits); ++idle)
    for (uint32_t u = 0; u < world->work.blocks; ++u)
      while (!queue_is_stuck(&world->waits) && take_some(&users[u], PREM_RING_BATCH))
        idle = 0;
}

static void count_calls(const queue_user *users, uint32_t count, queue_counts *counts) {
  for (uint32_t u = 0; u < count; ++u) {
    counts->put += users[u].put;
    counts->taken += users[u].taken;
    counts->refused += users[u].refused;
    counts->empties += users[u].empties;
  }
}

static prem_status work_world(queue_world *world, queue_user *users, queue_counts *counts,
                              prem_diag *diag) {
  const queue_work *work = &world->work;
  int32_t cores[MOST_CORES];
  const uint32_t count = (uint32_t)prem_cores_list(cores, MOST_CORES);
  uint32_t started = 0;
  int error = 0;
  const int64_t begin_ns = prem_host_clock_ns();
  for (uint32_t u = 0; u < work->blocks && error == 0; ++u) {
    users[u] = (queue_user){.world = world, .block = u};
    error = prem_core_start(&users[u].thread, cores[u % count], work_on, &users[u]);
    started += error == 0;
  }
  if (error)
    queue_give_up(&world->waits);
  for (uint32_t u = 0; u < started; ++u)
    pthread_join(users[u].thread, NULL);
  counts->ns = prem_host_clock_ns() - begin_ns;
  if (error)
    return prem_experiment_refuse(diag, PREM_ERR_MACHINE, "thread %u of %u cannot start: %s",
                                  started + 1, work->blocks, strerror(error));
  count_calls(users, work->blocks, counts);
  take_left(world, users);
  counts->is_stuck = queue_is_stuck(&world->waits);
  queue_count_items(world->most, world->marks, counts);
  return PREM_OK;
}

static void *new_world(const queue_work *work) {
  const size_t lines = queue_world_bytes(work) / PREM_RING_LINE_BYTES + 1;
  void *memory = aligned_alloc(PREM_RING_LINE_BYTES, lines * PREM_RING_LINE_BYTES);
  if (memory) {
    memset(memory, 0, lines * PREM_RING_LINE_BYTES);
    queue_world_init(memory, memory, work);
  }
  return memory;
}

prem_status queue_host_work(const queue_work *work, queue_counts *counts, prem_diag *diag) {
  queue_world *world = new_world(work);
  queue_user *users = calloc(work->blocks, sizeof *users);
  prem_status status = PREM_ERR_MEMORY;
  *counts = (queue_counts){0};
  if (world && users)
    status = work_world(world, users, counts, diag);
  free(users);
  free(world);
  return status;
}

prem_status queue_host_fill(const queue_work *work, uint64_t tries, queue_counts *counts) {
  queue_world *world = new_world(work);
  *counts = (queue_counts){0};
  if (!world)
    return PREM_ERR_MEMORY;
  queue_user user = {.world = world, .end = work->each};
  for (uint64_t i = 0; i < tries && !queue_is_stuck(&world->waits); ++i)
    put_some(&user, 1);
  while (user.empties == 0 && !queue_is_stuck(&world->waits))
    take_some(&user, 1);
  count_calls(&user, 1, counts);
  counts->is_stuck = queue_is_stuck(&world->waits);
  queue_count_items(world->most, world->marks, counts);
  free(world);
  return PREM_OK;
}
