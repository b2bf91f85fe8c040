/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots back to a compact plan. What repeats with equal steps becomes an affine run, in three
 * passes that each need one sort: tiles of a block, blocks of a task, jobs. What is left over and
 * shorter that way becomes arrays of starts.
 */
#include "ttprem/plan.h"

#include "ttprem/schedule.h"

#include <stdlib.h>

/* What an entry costs in a file, roughly: for choosing between runs and starts only. */
enum { RUN_BYTES = 130, ENTRY_BYTES = 80, START_BYTES = 10, HOLE_BYTES = 5, LONG_RUN = 16 };

/* Regular sequences that take turns on a block: so many at most, so many starts of each at least.
 */
enum { MAX_TURNS = 32, WORTH_TURNS = 4 };

/* One start: the head of a chain with what follows it, or a joined pair. */
typedef struct head {
  int64_t start_ns, head_ns;
  int64_t join_tile_delta, join_job_delta; /* the writeback's tile and job minus the prefetch's */
  int32_t task, job, tile, position, join_task;
  uint8_t phase, chain;
  bool chained;
} head;

typedef struct run_list {
  prem_affine *runs;
  int64_t count;
} run_list;

static int order(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int order_all(const int64_t *a, const int64_t *b, int count) {
  int result = 0;
  for (int i = 0; i < count && !result; ++i)
    result = order(a[i], b[i]);
  return result;
}

/* ---- heads ---------------------------------------------------------------------------------- */

static int by_tile(const void *left, const void *right) {
  const head *a = left, *b = right;
  int64_t ka[] = {a->task, a->job, a->tile, a->phase};
  int64_t kb[] = {b->task, b->job, b->tile, b->phase};
  return order_all(ka, kb, 4);
}

static int by_sequence(const void *left, const void *right) {
  const head *a = left, *b = right;
  int64_t ka[] = {a->task,           a->phase,    a->chain, a->join_task, a->join_tile_delta,
                  a->join_job_delta, a->position, a->job,   a->tile};
  int64_t kb[] = {b->task,           b->phase,    b->chain, b->join_task, b->join_tile_delta,
                  b->join_job_delta, b->position, b->job,   b->tile};
  return order_all(ka, kb, 9);
}

static prem_status head_of(const prem_schedule *schedule, const prem_slot *slot, head *out) {
  if (slot->task < 0 || slot->task >= schedule->task_count || slot->phase >= PREM_PHASE_COUNT)
    return PREM_ERR_ARGUMENT;
  const prem_task *task = &schedule->tasks[slot->task];
  if (slot->tile < 0 || slot->tile >= task->tile_count || slot->job < 0 ||
      slot->job >= prem_task_jobs(schedule, task))
    return PREM_ERR_ARGUMENT;
  int32_t position = slot->tile % task->block_count;
  if (slot->block != task->blocks[position])
    return PREM_ERR_ARGUMENT;
  *out = (head){.start_ns = slot->planned_ns,
                .head_ns = slot->head_ns,
                .task = slot->task,
                .job = slot->job,
                .tile = slot->tile,
                .position = position,
                .join_task = -1,
                .phase = slot->phase,
                .chained = slot->flags & PREM_SLOT_CHAINED};
  return PREM_OK;
}

/* All slots but warm-up; the writeback of a pair goes into its prefetch. */
static prem_status collect_heads(const prem_schedule *schedule, const prem_slot *slots,
                                 int64_t count, head *heads, int64_t *head_count) {
  int64_t n = 0;
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &slots[i];
    if (slot->flags & PREM_SLOT_WARMUP)
      continue;
    prem_status status = head_of(schedule, slot, &heads[n]);
    if (status)
      return status;
    if (slot->flags & PREM_SLOT_JOINED) {
      if (slot->phase != PREM_PREFETCH || i + 1 == count ||
          !(slots[i + 1].flags & PREM_SLOT_JOINED) || slots[i + 1].phase != PREM_WRITEBACK)
        return PREM_ERR_ARGUMENT;
      const prem_slot *writeback = &slots[++i];
      heads[n].join_task = writeback->task;
      heads[n].join_tile_delta = (int64_t)writeback->tile - slot->tile;
      heads[n].join_job_delta = (int64_t)writeback->job - slot->job;
    }
    ++n;
  }
  *head_count = n;
  return PREM_OK;
}

static bool same_tile(const head *a, const head *b) {
  return a->task == b->task && a->job == b->job && a->tile == b->tile;
}

/* Let the chained phases go into the head of their chain. */
static prem_status fold_chains(head *heads, int64_t *count) {
  const uint8_t bit[PREM_PHASE_COUNT] = {0, PREM_CHAIN_COMPUTE, PREM_CHAIN_WRITEBACK};
  qsort(heads, (size_t)*count, sizeof *heads, by_tile);
  int64_t kept = 0;
  for (int64_t i = 0; i < *count; ++i) {
    if (i > 0 && by_tile(&heads[i - 1], &heads[i]) == 0)
      return PREM_ERR_ARGUMENT;
    head one = heads[i];
    if (!one.chained) {
      heads[kept++] = one;
      continue;
    }
    int64_t k = kept - 1;
    while (k >= 0 && same_tile(&heads[k], &one) && heads[k].start_ns != one.head_ns)
      --k;
    if (k < 0 || !same_tile(&heads[k], &one))
      return PREM_ERR_ARGUMENT;
    heads[k].chain |= bit[one.phase];
  }
  *count = kept;
  return PREM_OK;
}

/* ---- tiles of a block ----------------------------------------------------------------------- */

static bool same_sequence(const head *a, const head *b) {
  return a->task == b->task && a->phase == b->phase && a->chain == b->chain &&
         a->join_task == b->join_task && a->join_tile_delta == b->join_tile_delta &&
         a->join_job_delta == b->join_job_delta && a->position == b->position && a->job == b->job;
}

/* How many of the `count` heads from the first on have equal steps over `stride` of them: several
 * regular sequences that take turns. */
static int64_t equal_steps(const head *heads, int64_t count, int64_t stride) {
  int64_t n = count <= stride ? count : stride + 1;
  int64_t step_ns = heads[n - 1].start_ns - heads->start_ns, step = heads[n - 1].tile - heads->tile;
  while (n < count && heads[n].start_ns - heads[n - stride].start_ns == step_ns &&
         heads[n].tile - heads[n - stride].tile == step)
    ++n;
  return n;
}

static prem_affine run_of(const prem_schedule *schedule, const head *heads, int64_t stride,
                          int64_t repeat) {
  const prem_task *task = &schedule->tasks[heads->task];
  return (prem_affine){.task = heads->task,
                       .phase = (prem_phase)heads->phase,
                       .chain = heads->chain,
                       .first_block = heads->position,
                       .count = 1,
                       .start_ns = heads->start_ns,
                       .repeat = repeat,
                       .step_ns = repeat > 1 ? heads[stride].start_ns - heads->start_ns : 0,
                       .tile = heads->tile,
                       .tile_per_block = 1,
                       .tile_per_repeat =
                           repeat > 1 ? heads[stride].tile - heads->tile : task->block_count,
                       .job = heads->job,
                       .jobs = 1,
                       .job_step_ns = task->period_ns,
                       .join_task = heads->join_task,
                       .join_tile = heads->join_task < 0 ? 0 : heads->tile + heads->join_tile_delta,
                       .join_job = heads->join_task < 0 ? 0 : heads->job + heads->join_job_delta};
}

/* The stride with the most starts for each of its runs; 1 where none is worth its runs. */
static int64_t best_stride(const head *heads, int64_t count, int64_t *covered) {
  int64_t best = 1;
  *covered = equal_steps(heads, count, 1);
  for (int64_t stride = 2; stride <= MAX_TURNS && *covered < count; ++stride) {
    int64_t more = equal_steps(heads, count, stride);
    if (more < WORTH_TURNS * stride || more * best <= *covered * stride)
      continue;
    *covered = more;
    best = stride;
  }
  /* one start on its own in front of a regular sequence must not take its first away */
  if (*covered == 2 && equal_steps(heads + 1, count - 1, 1) > 2)
    *covered = 1;
  return best;
}

static void runs_of_sequence(const prem_schedule *schedule, const head *heads, int64_t count,
                             run_list *list) {
  int64_t covered;
  for (int64_t i = 0; i < count; i += covered) {
    int64_t stride = best_stride(&heads[i], count - i, &covered);
    for (int64_t turn = 0; turn < stride && turn < covered; ++turn)
      list->runs[list->count++] =
          run_of(schedule, &heads[i + turn], stride, (covered - turn + stride - 1) / stride);
  }
}

/* ---- blocks of a task, jobs ----------------------------------------------------------------- */

static int by_group(const prem_affine *a, const prem_affine *b) {
  int64_t ka[] = {
      a->task, a->phase, a->chain, a->join_task, a->join_tile - a->tile, a->join_job - a->job};
  int64_t kb[] = {
      b->task, b->phase, b->chain, b->join_task, b->join_tile - b->tile, b->join_job - b->job};
  /* without a join the differences mean nothing */
  return order_all(ka, kb, a->join_task < 0 ? 4 : 6);
}

static int by_block(const void *left, const void *right) {
  const prem_affine *a = left, *b = right;
  int group = by_group(a, b);
  int64_t ka[] = {a->job, a->repeat, a->step_ns, a->tile_per_repeat, a->tile};
  int64_t kb[] = {b->job, b->repeat, b->step_ns, b->tile_per_repeat, b->tile};
  return group ? group : order_all(ka, kb, 5);
}

/* All but job and start. */
static int by_shape(const prem_affine *a, const prem_affine *b) {
  int group = by_group(a, b);
  int64_t ka[] = {a->first_block, a->count,          a->block_step_ns,   a->repeat,
                  a->step_ns,     a->tile_per_block, a->tile_per_repeat, a->tile};
  int64_t kb[] = {b->first_block, b->count,          b->block_step_ns,   b->repeat,
                  b->step_ns,     b->tile_per_block, b->tile_per_repeat, b->tile};
  return group ? group : order_all(ka, kb, 8);
}

static int by_job(const void *left, const void *right) {
  const prem_affine *a = left, *b = right;
  int shape = by_shape(a, b);
  return shape ? shape : order(a->job, b->job);
}

static int for_reading(const void *left, const void *right) {
  const prem_affine *a = left, *b = right;
  int64_t ka[] = {a->task, a->phase, a->start_ns, a->tile, a->job};
  int64_t kb[] = {b->task, b->phase, b->start_ns, b->tile, b->job};
  return order_all(ka, kb, 5);
}

static void sort_runs(run_list *list, int (*compare)(const void *, const void *)) {
  qsort(list->runs, (size_t)list->count, sizeof *list->runs, compare);
}

/* Does `next`, of one block, continue `run` on the next block? */
static bool joins_block(prem_affine *run, const prem_affine *next) {
  if (by_group(run, next) || run->job != next->job || run->repeat != next->repeat ||
      run->step_ns != next->step_ns || run->tile_per_repeat != next->tile_per_repeat ||
      next->first_block != run->first_block + run->count)
    return false;
  int64_t count = run->count;
  if (count == 1) {
    run->block_step_ns = next->start_ns - run->start_ns;
    run->tile_per_block = next->tile - run->tile;
  }
  int64_t last_ns = run->start_ns + (count - 1) * run->block_step_ns;
  return next->start_ns - last_ns == run->block_step_ns &&
         next->tile == run->tile + count * run->tile_per_block;
}

static bool joins_job(prem_affine *run, const prem_affine *next) {
  if (by_shape(run, next) || next->job != run->job + run->jobs)
    return false;
  if (run->jobs == 1)
    run->job_step_ns = next->start_ns - run->start_ns;
  int64_t last_ns = run->start_ns + (run->jobs - 1) * run->job_step_ns;
  return next->start_ns - last_ns == run->job_step_ns;
}

static void merge_blocks(run_list *list) {
  sort_runs(list, by_block);
  int64_t kept = 0;
  for (int64_t i = 0; i < list->count; ++i) {
    if (kept && joins_block(&list->runs[kept - 1], &list->runs[i]))
      ++list->runs[kept - 1].count;
    else
      list->runs[kept++] = list->runs[i];
  }
  list->count = kept;
}

static void merge_jobs(run_list *list) {
  sort_runs(list, by_job);
  int64_t kept = 0;
  for (int64_t i = 0; i < list->count; ++i) {
    if (kept && joins_job(&list->runs[kept - 1], &list->runs[i]))
      ++list->runs[kept - 1].jobs;
    else
      list->runs[kept++] = list->runs[i];
  }
  list->count = kept;
}

/* ---- arrays of starts ----------------------------------------------------------------------- */

static int64_t slots_of(const prem_affine *run) {
  return run->count * run->repeat * run->jobs;
}

static int64_t warmup_of(const prem_plan *plan, const prem_task *task) {
  return task->period_ns == 0 ? plan->warmup_tiles : 0;
}

/* Starts of one job on a block, warm-up left out. */
static int64_t starts_of_job(const prem_plan *plan, const prem_task *task, int32_t position) {
  int64_t tiles =
      position < task->tile_count ? (task->tile_count - 1 - position) / task->block_count + 1 : 0;
  int64_t warmup = warmup_of(plan, task);
  return tiles > warmup ? tiles - warmup : 0;
}

/* Arrays have no place for a tile of the warm-up, nor for joined pairs. */
static bool fits_arrays(const prem_plan *plan, const prem_task *task, const prem_affine *run) {
  return run->join_task < 0 && run->tile / task->block_count >= warmup_of(plan, task);
}

/* The starts of one task, phase and chain: an array for each block that needs one. */
typedef struct arrays {
  int64_t **starts; /* [block_count]; NULL: none */
  const prem_task *task;
  int64_t jobs;
} arrays;

static prem_status arrays_set(arrays *a, const prem_plan *plan, int32_t position, int64_t job,
                              int64_t tile, int64_t start_ns) {
  int64_t of_a_job = starts_of_job(plan, a->task, position), count = of_a_job * a->jobs;
  if (!a->starts[position]) {
    a->starts[position] = malloc((size_t)count * sizeof(int64_t));
    if (!a->starts[position])
      return PREM_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i)
      a->starts[position][i] = -1;
  }
  int64_t round = tile / a->task->block_count - warmup_of(plan, a->task);
  a->starts[position][job * of_a_job + round] = start_ns;
  return PREM_OK;
}

static prem_status arrays_set_run(arrays *a, const prem_plan *plan, const prem_affine *run) {
  for (int64_t q = 0; q < run->jobs; ++q) {
    for (int32_t j = 0; j < run->count; ++j) {
      for (int64_t r = 0; r < run->repeat; ++r) {
        prem_status status = arrays_set(
            a, plan, run->first_block + j, run->job + q,
            run->tile + j * run->tile_per_block + r * run->tile_per_repeat,
            run->start_ns + j * run->block_step_ns + r * run->step_ns + q * run->job_step_ns);
        if (status)
          return status;
      }
    }
  }
  return PREM_OK;
}

static prem_status arrays_flush(arrays *a, prem_plan *plan, const prem_affine *like) {
  prem_status status = PREM_OK;
  for (int32_t position = 0; position < a->task->block_count; ++position) {
    if (a->starts[position] && !status) {
      prem_starts entry = {.task = like->task,
                           .phase = like->phase,
                           .chain = like->chain,
                           .block = position,
                           .start_ns = a->starts[position],
                           .count = starts_of_job(plan, a->task, position) * a->jobs};
      status = prem_plan_add_starts(plan, &entry);
    }
    free(a->starts[position]);
    a->starts[position] = NULL;
  }
  return status;
}

/* Is it much shorter to give the short runs of a group as arrays? Runs are the ones to read. */
static bool arrays_are_shorter(const prem_schedule *schedule, const prem_plan *plan,
                               const prem_affine *runs, int64_t count, unsigned char *needs_array) {
  const prem_task *task = &schedule->tasks[runs->task];
  int64_t jobs = prem_task_jobs(schedule, task);
  int64_t as_runs = 0, as_arrays = 0;
  for (int64_t i = 0; i < count; ++i) {
    const prem_affine *run = &runs[i];
    if (!fits_arrays(plan, task, run) || slots_of(run) >= LONG_RUN)
      continue;
    as_runs += RUN_BYTES;
    as_arrays += slots_of(run) * (START_BYTES - HOLE_BYTES);
    for (int32_t j = run->first_block; j < run->first_block + run->count; ++j) {
      if (!needs_array[j])
        as_arrays += ENTRY_BYTES + HOLE_BYTES * jobs * starts_of_job(plan, task, j);
      needs_array[j] = 1;
    }
  }
  for (int64_t i = 0; i < count; ++i) /* leave the marks as they were found */
    for (int32_t j = runs[i].first_block; j < runs[i].first_block + runs[i].count; ++j)
      needs_array[j] = 0;
  return 2 * as_arrays < as_runs;
}

static prem_status emit_group(const prem_schedule *schedule, prem_plan *plan,
                              const prem_affine *runs, int64_t count, int64_t **starts,
                              unsigned char *marks) {
  const prem_task *task = &schedule->tasks[runs->task];
  arrays a = {.starts = starts, .task = task, .jobs = prem_task_jobs(schedule, task)};
  bool use_arrays = arrays_are_shorter(schedule, plan, runs, count, marks);
  prem_status status = PREM_OK;
  for (int64_t i = 0; i < count && !status; ++i) {
    const prem_affine *run = &runs[i];
    if (use_arrays && fits_arrays(plan, task, run) && slots_of(run) < LONG_RUN)
      status = arrays_set_run(&a, plan, run);
    else
      status = prem_plan_add_affine(plan, run);
  }
  prem_status flushed = arrays_flush(&a, plan, runs);
  return status ? status : flushed;
}

static prem_status emit(const prem_schedule *schedule, const run_list *list, prem_plan *plan) {
  size_t blocks = 1;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    if ((size_t)schedule->tasks[t].block_count > blocks)
      blocks = (size_t)schedule->tasks[t].block_count;
  int64_t **starts = calloc(blocks, sizeof *starts);
  unsigned char *marks = calloc(blocks, 1);
  prem_status status = starts && marks ? PREM_OK : PREM_ERR_MEMORY;
  for (int64_t i = 0, end; i < list->count && !status; i = end) {
    for (end = i + 1; end < list->count && by_group(&list->runs[i], &list->runs[end]) == 0;)
      ++end;
    int32_t before = plan->affine_count;
    status = emit_group(schedule, plan, &list->runs[i], end - i, starts, marks);
    if (plan->affine_count > before)
      qsort(plan->affine + before, (size_t)(plan->affine_count - before), sizeof *plan->affine,
            for_reading);
  }
  free(starts);
  free(marks);
  return status;
}

/* ---- all together --------------------------------------------------------------------------- */

prem_status prem_plan_compress(const prem_schedule *schedule, const prem_slot *slots, int64_t count,
                               prem_plan *plan) {
  if (count == 0)
    return PREM_OK;
  int64_t head_count = 0;
  run_list list = {0};
  head *heads = malloc((size_t)count * sizeof *heads);
  prem_status status = heads ? PREM_OK : PREM_ERR_MEMORY;
  if (!status)
    status = collect_heads(schedule, slots, count, heads, &head_count);
  if (!status)
    status = fold_chains(heads, &head_count);
  if (status || head_count == 0)
    goto done;
  list.runs = malloc((size_t)head_count * sizeof *list.runs);
  if (!list.runs) {
    status = PREM_ERR_MEMORY;
    goto done;
  }
  qsort(heads, (size_t)head_count, sizeof *heads, by_sequence);
  for (int64_t i = 0, end; i < head_count; i = end) {
    for (end = i + 1; end < head_count && same_sequence(&heads[i], &heads[end]);)
      ++end;
    runs_of_sequence(schedule, &heads[i], end - i, &list);
  }
  merge_blocks(&list);
  merge_jobs(&list);
  status = emit(schedule, &list, plan);
done:
  free(heads);
  free(list.runs);
  return status;
}
