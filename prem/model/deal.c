/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing open tasks over blocks: see deal.h. */
#include "prem/model/deal.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/model/by_block.h"
#include "prem/model/scratchpad.h"

enum {
  LOOKS = 8,        /* at each block that a task could have, to choose how many it gets */
  ENTRIES = 1 << 22 /* blocks that are dealt, of all tasks */
};

#define MOST_NS (INT64_MAX / 4) /* later is as late */

/** A block, and when it is free. */
typedef struct dealt_block {
  int64_t free_ns;
  int32_t block;
} dealt_block;

typedef struct dealer {
  prem_schedule *schedule;
  int64_t *rank_ns;      /* [task]: from its begin to the end of all that follow it */
  int64_t *end_ns;       /* [task] */
  int64_t *free_ns;      /* [block] */
  bool *is_shut;         /* [block]: a best-effort task's */
  bool *is_taken;        /* [block]: by the task that is dealt */
  int32_t *order;        /* tasks, by their ranks */
  int32_t *turn;         /* [task]: lower than those of its predecessors */
  dealt_block *heap;     /* blocks, the one that is free first at the top */
  dealt_block *taken;    /* of the task that is dealt, in the order of its tiles */
  int64_t entries;       /* blocks that are dealt, task by task */
  int32_t blocks, count; /* of the platform; in the heap */
  bool by_times;
} dealer;

/* ---- costs ----------------------------------------------------------------------------------- */

static bool has_times(const prem_task *task) {
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists && task->phase[p].wcet_ns == 0)
      return false;
  return true;
}

/* A tile's; of several buffers the next one's memory phases go on while it computes. */
static int64_t tile_ns(const dealer *d, const prem_task *task) {
  int64_t memory = 0, compute = 0;
  if (!d->by_times) {
    memory = prem_task_phase_bytes(d->schedule, task, PREM_PREFETCH, 0) +
             prem_task_phase_bytes(d->schedule, task, PREM_WRITEBACK, 0);
    return prem_max_i64(memory, 1);
  }
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists)
      *(p == PREM_COMPUTE ? &compute : &memory) +=
          task->phase[p].wcet_ns + task->phase[p].turnaround_ns;
  const int64_t one =
      d->schedule->platform.buffers > 1 ? prem_max_i64(memory, compute) : memory + compute;
  return prem_max_i64(one, 1);
}

/* Tiles of all its jobs. */
static int64_t tiles_of(const dealer *d, const prem_task *task) {
  return prem_task_jobs(d->schedule, task) * task->tile_count;
}

static int64_t rounds_of(int64_t tiles, int64_t blocks) {
  return (tiles + blocks - 1) / blocks;
}

/* a + b * c, or as much as there is. */
static int64_t after_ns(int64_t a, int64_t b, int64_t c) {
  const prem_wide sum = (prem_wide)a + (prem_wide)b * c;
  return sum > MOST_NS ? MOST_NS : (int64_t)sum;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* As if every task had all blocks. From the last ones back. `*whole`: there is no circle, which is
 * refused elsewhere. */
static bool rank(dealer *d, bool *whole) {
  const prem_schedule *schedule = d->schedule;
  const int32_t tasks = schedule->task_count;
  int32_t *followers = calloc((size_t)tasks + 1, sizeof *followers);
  int32_t *ready = malloc(((size_t)tasks + 1) * sizeof *ready);
  int32_t count = 0;
  for (int32_t t = 0; followers && t < tasks; ++t)
    for (int32_t i = 0; i < schedule->tasks[t].after_count; ++i)
      ++followers[schedule->tasks[t].after[i].task];
  for (int32_t t = 0; followers && ready && t < tasks; ++t)
    if (followers[t] == 0)
      ready[count++] = t;
  for (int32_t next = 0; next < count; ++next) {
    const prem_task *task = &schedule->tasks[ready[next]];
    int64_t *own = &d->rank_ns[ready[next]];
    d->turn[ready[next]] = next;
    *own =
        after_ns(*own, rounds_of(tiles_of(d, task), prem_max_i64(d->count, 1)), tile_ns(d, task));
    for (int32_t i = 0; i < task->after_count; ++i) {
      const int32_t before = task->after[i].task;
      d->rank_ns[before] = prem_max_i64(d->rank_ns[before], *own);
      if (--followers[before] == 0)
        ready[count++] = before;
    }
  }
  const bool has_memory = followers && ready;
  *whole = count == tasks;
  free(followers);
  free(ready);
  return has_memory;
}

/* Predecessors come first, though their rank may be no higher: it has an end. */
static int by_rank(const void *a, const void *b, void *of) {
  const int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;
  const dealer *d = of;
  if (d->rank_ns[one] != d->rank_ns[other])
    return d->rank_ns[one] > d->rank_ns[other] ? -1 : 1;
  const bool is_capped = d->rank_ns[one] == MOST_NS;
  const int32_t first = is_capped ? d->turn[other] : one, second = is_capped ? d->turn[one] : other;
  return first < second ? -1 : first > second;
}

/* ---- blocks that are free first ---------------------------------------------------------------
 */

static bool is_before(const dealt_block *a, const dealt_block *b) {
  return a->free_ns != b->free_ns ? a->free_ns < b->free_ns : a->block < b->block;
}

static void heap_sink(dealer *d, int32_t at) {
  const dealt_block moved = d->heap[at];
  for (int32_t child; (child = 2 * at + 1) < d->count; at = child) {
    child += child + 1 < d->count && is_before(&d->heap[child + 1], &d->heap[child]);
    if (!is_before(&d->heap[child], &moved))
      break;
    d->heap[at] = d->heap[child];
  }
  d->heap[at] = moved;
}

static void heap_raise(dealer *d, int32_t at) {
  const dealt_block moved = d->heap[at];
  for (; at > 0 && is_before(&moved, &d->heap[(at - 1) / 2]); at = (at - 1) / 2)
    d->heap[at] = d->heap[(at - 1) / 2];
  d->heap[at] = moved;
}

/* Blocks only become free later, so it is enough to look when one comes to the top. */
static dealt_block heap_pop(dealer *d) {
  while (d->heap[0].free_ns != d->free_ns[d->heap[0].block]) {
    d->heap[0].free_ns = d->free_ns[d->heap[0].block];
    heap_sink(d, 0);
  }
  const dealt_block first = d->heap[0];
  d->heap[0] = d->heap[--d->count];
  if (d->count > 0)
    heap_sink(d, 0);
  d->heap[d->count] = first; /* behind the others, until all come back */
  return first;
}

/* ---- one task -------------------------------------------------------------------------------- */

/* When it knows that all that it follows have ended. */
static int64_t ready_of(const dealer *d, const prem_task *task) {
  int64_t ready_ns = task->release_ns;
  for (int32_t i = 0; i < task->after_count; ++i) {
    const bool is_told = d->by_times && !task->after[i].per_block;
    ready_ns = prem_max_i64(ready_ns, d->end_ns[task->after[i].task] +
                                          (is_told ? prem_schedule_precedence_ns(d->schedule) : 0));
  }
  return ready_ns;
}

/* Blocks of those that it follows, free by then, in the order of their tiles: what they bring is
 * there already. */
static int32_t take_neighbours(dealer *d, const prem_task *task, int64_t ready_ns, int32_t most) {
  int32_t taken = 0;
  int64_t looks = LOOKS * ((int64_t)most + 1);
  for (int32_t i = 0; i < task->after_count; ++i) {
    const prem_task *before = &d->schedule->tasks[task->after[i].task];
    for (int32_t b = 0; b < before->block_count && taken < most && looks > 0; ++b, --looks) {
      const int32_t block = before->blocks[b];
      if (d->is_taken[block] || d->is_shut[block] || d->free_ns[block] > ready_ns)
        continue;
      d->is_taken[block] = true;
      d->taken[taken++] = (dealt_block){ready_ns, block};
    }
  }
  return taken;
}

/* The others, those that are free first. */
static int32_t take_free(dealer *d, int64_t ready_ns, int32_t taken, int32_t most) {
  const int32_t all = d->count;
  while (taken < most && d->count > 0) {
    const dealt_block first = heap_pop(d);
    if (d->is_taken[first.block])
      continue;
    d->is_taken[first.block] = true;
    d->taken[taken++] = (dealt_block){prem_max_i64(first.free_ns, ready_ns), first.block};
  }
  while (d->count < all)
    heap_raise(d, d->count++);
  return taken;
}

/* When the last of `tiles` ends on the first `blocks` of those that are taken. */
static int64_t end_on(const dealer *d, int64_t tiles, int32_t blocks, int64_t one_ns) {
  int64_t end_ns = 0;
  for (int32_t b = 0; b < blocks && b < tiles; ++b)
    end_ns =
        prem_max_i64(end_ns, after_ns(d->taken[b].free_ns, rounds_of(tiles - b, blocks), one_ns));
  return end_ns;
}

/* So many of them that it ends first, and of those numbers the smallest: each block costs memory.
 */
static int32_t best_count(const dealer *d, int64_t tiles, int32_t taken, int64_t one_ns) {
  int32_t best = taken;
  int64_t best_ns = end_on(d, tiles, taken, one_ns), looks = LOOKS * (int64_t)taken;
  for (int64_t rounds = rounds_of(tiles, taken); looks > 0; ++rounds) {
    const int32_t blocks = (int32_t)rounds_of(tiles, rounds);
    const int64_t end_ns = end_on(d, tiles, blocks, one_ns);
    if (end_ns < best_ns || (end_ns == best_ns && blocks < best)) {
      best_ns = end_ns;
      best = blocks;
    }
    if (blocks == 1)
      break;
    looks -= blocks;
  }
  return best;
}

/* The task is on them from then on. */
static int64_t occupy(dealer *d, const prem_task *task, int64_t ready_ns) {
  const int64_t tiles = tiles_of(d, task), one_ns = tile_ns(d, task);
  int64_t end_ns = ready_ns;
  for (int32_t b = 0; b < task->block_count && b < tiles; ++b) {
    int64_t *free_ns = &d->free_ns[task->blocks[b]];
    *free_ns =
        after_ns(prem_max_i64(*free_ns, ready_ns), rounds_of(tiles - b, task->block_count), one_ns);
    end_ns = prem_max_i64(end_ns, *free_ns);
  }
  return end_ns;
}

/* Whose tiles have to run where those of the one before ran. */
static const prem_task *same_blocks(const dealer *d, const prem_task *task) {
  for (int32_t i = 0; i < task->after_count; ++i)
    if (task->after[i].per_block)
      return &d->schedule->tasks[task->after[i].task];
  return NULL;
}

/* When it would end on the blocks of one that it follows tile by tile: of that one it waits for no
 * message. */
static int64_t end_by_block(const dealer *d, const prem_task *task, prem_after *after,
                            int64_t one_ns) {
  const prem_task *before = &d->schedule->tasks[after->task];
  int64_t end_ns = 0;
  if (!after->per_open || !before->blocks_open || !prem_reads_tile_by_tile(task, before))
    return INT64_MAX;
  after->per_block = true;
  const int64_t ready_ns = ready_of(d, task);
  after->per_block = false;
  for (int32_t b = 0; b < before->block_count; ++b)
    end_ns = prem_max_i64(end_ns,
                          after_ns(prem_max_i64(d->free_ns[before->blocks[b]], ready_ns),
                                   rounds_of(task->tile_count - b, before->block_count), one_ns));
  return end_ns;
}

/* The one on whose blocks it ends first, and no later than elsewhere; NULL: none. */
static const prem_task *best_by_block(const dealer *d, prem_task *task, int64_t one_ns,
                                      int64_t elsewhere_ns) {
  const prem_task *best = NULL;
  for (int32_t i = 0; i < task->after_count; ++i) {
    const int64_t end_ns = end_by_block(d, task, &task->after[i], one_ns);
    if (end_ns > elsewhere_ns || (best && end_ns == elsewhere_ns))
      continue;
    elsewhere_ns = end_ns;
    best = &d->schedule->tasks[task->after[i].task];
  }
  return best;
}

/* Blocks that are free first, or those of one before it. */
static int32_t choose_blocks(dealer *d, prem_task *task, int64_t ready_ns) {
  const int32_t most = (int32_t)prem_min_i64(d->count, prem_min_i64(task->tile_count, d->blocks));
  const int32_t near = take_neighbours(d, task, ready_ns, most);
  const int64_t one_ns = after_ns(0, prem_task_jobs(d->schedule, task), tile_ns(d, task));
  int32_t count = take_free(d, ready_ns, near, most);
  for (int32_t b = 0; b < count; ++b)
    d->is_taken[d->taken[b].block] = false;
  if (count == 0)
    return 0;
  count = best_count(d, task->tile_count, count, one_ns);
  const prem_task *before =
      best_by_block(d, task, one_ns, end_on(d, task->tile_count, count, one_ns));
  for (int32_t b = 0; before && b < before->block_count; ++b)
    d->taken[b] = (dealt_block){ready_ns, before->blocks[b]};
  return before ? before->block_count : count;
}

static prem_status deal(dealer *d, prem_task *task, int64_t ready_ns, prem_diag *diag) {
  const prem_task *before = same_blocks(d, task);
  int32_t count = before ? before->block_count : 0;
  if (before) {
    for (int32_t b = 0; b < count; ++b)
      d->taken[b] = (dealt_block){ready_ns, before->blocks[b]};
  } else {
    count = choose_blocks(d, task, ready_ns);
  }
  if (count == 0) {
    prem_diag_add(diag, PREM_ERROR, 27, task->place, "blocks",
                  "no block is left for task '%s': best-effort tasks have all %d; leave one to "
                  "the critical tasks",
                  task->name, d->blocks);
    task->broken = true; /* it is said once */
    return PREM_ERR_INVALID;
  }
  if ((d->entries += count) > ENTRIES) {
    prem_diag_add(
        diag, PREM_ERROR, 20, task->place, "blocks",
        "the blocks of tasks that leave them open are above the limit of %d in all; name some",
        ENTRIES);
    task->broken = true;
    return PREM_ERR_INVALID;
  }
  task->blocks = calloc((size_t)count, sizeof *task->blocks);
  if (!task->blocks)
    return PREM_ERR_MEMORY;
  for (task->block_count = 0; task->block_count < count; ++task->block_count)
    task->blocks[task->block_count] = d->taken[task->block_count].block;
  prem_join_by_block(d->schedule, task);
  return PREM_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool is_open(const prem_task *task) {
  return task->blocks_open && task->block_count == 0 && !task->broken;
}

/* Are there any, and are all tiles known? */
static bool can_deal(const prem_schedule *schedule) {
  bool any = false, known = schedule->platform.blocks > 0;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    any |= is_open(&schedule->tasks[t]);
    known &= schedule->tasks[t].tile_count > 0 && !schedule->tasks[t].broken;
  }
  return any && known;
}

static bool dealer_new(dealer *d, prem_schedule *schedule) {
  const size_t tasks = (size_t)schedule->task_count + 1, blocks = (size_t)schedule->platform.blocks;
  *d = (dealer){.schedule = schedule,
                .rank_ns = calloc(tasks, sizeof *d->rank_ns),
                .end_ns = calloc(tasks, sizeof *d->end_ns),
                .free_ns = calloc(blocks, sizeof *d->free_ns),
                .is_shut = calloc(blocks, sizeof *d->is_shut),
                .is_taken = calloc(blocks, sizeof *d->is_taken),
                .order = malloc(tasks * sizeof *d->order),
                .turn = calloc(tasks, sizeof *d->turn),
                .heap = malloc(blocks * sizeof *d->heap),
                .taken = malloc(blocks * sizeof *d->taken),
                .blocks = (int32_t)blocks,
                .by_times = true};
  if (!d->rank_ns || !d->end_ns || !d->free_ns || !d->is_shut || !d->is_taken || !d->order ||
      !d->turn || !d->heap || !d->taken)
    return false;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    d->by_times &= has_times(task);
    for (int32_t b = 0; task->best_effort && b < task->block_count; ++b)
      d->is_shut[task->blocks[b]] = true;
  }
  for (int32_t b = 0; b < d->blocks; ++b)
    if (!d->is_shut[b]) /* a heap: all are free, and in their order */
      d->heap[d->count++] = (dealt_block){0, b};
  return true;
}

prem_status prem_deal_blocks(prem_schedule *schedule, prem_diag *diag) {
  if (!can_deal(schedule))
    return PREM_OK;
  dealer d;
  bool whole = false;
  prem_status status = dealer_new(&d, schedule) && rank(&d, &whole) ? PREM_OK : PREM_ERR_MEMORY;
  int32_t count = 0;
  for (int32_t t = 0; whole && t < schedule->task_count; ++t)
    if (!schedule->tasks[t].best_effort)
      d.order[count++] = t;
  if (!status)
    qsort_r(d.order, (size_t)count, sizeof *d.order, by_rank, &d);
  for (int32_t t = 0; t < schedule->task_count; ++t) /* nobody is on the blocks of another yet */
    prem_join_by_block(schedule, &schedule->tasks[t]);
  for (int32_t i = 0; !status && i < count; ++i) {
    prem_task *task = &schedule->tasks[d.order[i]];
    const int64_t ready_ns = ready_of(&d, task);
    if (is_open(task))
      status = deal(&d, task, ready_ns, diag);
    if (!status)
      d.end_ns[d.order[i]] = occupy(&d, task, ready_of(&d, task));
  }
  PREM_FREE(d.rank_ns, d.end_ns, d.free_ns, d.is_shut, d.is_taken, d.order, d.turn, d.heap,
            d.taken);
  return status;
}

prem_status prem_schedule_deal(prem_schedule *schedule, bool *changed, prem_diag *diag) {
  *changed = false;
  if (!schedule->bound || schedule->plan)
    return PREM_ERR_ARGUMENT;
  const size_t tasks = (size_t)schedule->task_count;
  prem_task *before = malloc((tasks + 1) * sizeof *before); /* their blocks, to be compared */
  if (!before)
    return PREM_ERR_MEMORY;
  memcpy(before, schedule->tasks, tasks * sizeof *before);
  for (size_t t = 0; t < tasks; ++t)
    if (before[t].blocks_open) {
      schedule->tasks[t].blocks = NULL;
      schedule->tasks[t].block_count = 0;
    }
  prem_status status = prem_deal_blocks(schedule, diag);
  for (size_t t = 0; t < tasks; ++t) {
    prem_task *task = &schedule->tasks[t];
    if (!before[t].blocks_open)
      continue;
    if (status || task->block_count == 0) { /* as it was */
      free(task->blocks);
      task->blocks = before[t].blocks;
      task->block_count = before[t].block_count;
      task->broken = before[t].broken;
      continue;
    }
    *changed |= task->block_count != before[t].block_count ||
                memcmp(task->blocks, before[t].blocks,
                       (size_t)task->block_count * sizeof *task->blocks) != 0;
    free(before[t].blocks);
  }
  for (size_t t = 0; t < tasks; ++t)
    prem_join_by_block(schedule, &schedule->tasks[t]);
  free(before);
  return status ? status : prem_scratchpad_measure(schedule);
}
