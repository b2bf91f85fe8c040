/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in memory: affine runs and arrays of starts, and the slots that they stand for. */
#include "ttprem/plan.h"
#include "prem/base/fail.h"

#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/model/job_chain.h"
#include "ttprem/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

prem_plan *prem_plan_new(void) {
  return calloc(1, sizeof(prem_plan));
}

void prem_plan_free(prem_plan *plan) {
  if (!plan)
    return;
  for (int32_t i = 0; i < plan->starts_count; ++i)
    free(plan->starts[i].start_ns);
  for (int32_t i = 0; i < plan->mode_count; ++i)
    prem_plan_free(plan->modes[i]);
  PREM_FREE(plan->modes, plan->closed, plan->starts, plan->affine, plan);
}

enum { MAX_ENTRIES = 1 << 30, MAX_IDLE_BLOCKS = 1 << 24 };

prem_status prem_plan_add_affine(prem_plan *plan, const prem_affine *affine) {
  if (plan->affine_count == MAX_ENTRIES)
    return PREM_ERR_MEMORY;
  return PREM_APPEND(plan->affine, plan->affine_count, *affine) ? PREM_OK : PREM_ERR_MEMORY;
}

prem_status prem_plan_add_starts(prem_plan *plan, const prem_starts *starts) {
  size_t bytes = (size_t)starts->count * sizeof *starts->start_ns;
  int64_t *copy = malloc(bytes ? bytes : 1);
  if (!copy)
    return PREM_ERR_MEMORY;
  prem_starts *grown = plan->starts_count == MAX_ENTRIES
                           ? NULL
                           : prem_grow(plan->starts, (size_t)plan->starts_count, sizeof *grown);
  if (!grown) {
    free(copy);
    return PREM_ERR_MEMORY;
  }
  plan->starts = grown;
  if (bytes)
    memcpy(copy, starts->start_ns, bytes);
  prem_starts *entry = &plan->starts[plan->starts_count++];
  *entry = *starts;
  entry->start_ns = copy;
  return PREM_OK;
}

prem_status prem_plan_add_closed(prem_plan *plan, int64_t start_ns, int64_t end_ns) {
  return PREM_APPEND(plan->closed, plan->closed_count, (prem_closed_window){start_ns, end_ns})
             ? PREM_OK
             : PREM_ERR_MEMORY;
}

prem_status prem_plan_add_mode(prem_plan *plan, prem_plan *of_mode) {
  return PREM_APPEND(plan->modes, plan->mode_count, of_mode) ? PREM_OK : PREM_ERR_MEMORY;
}

/* ---- expanding ------------------------------------------------------------------------------ */

/* What is known of one entry of the plan before its slots are written. */
typedef struct chain_shape {
  prem_phase phase[PREM_PHASE_COUNT]; /* the head, then what follows by itself */
  int64_t length_ns[PREM_PHASE_COUNT];
  int32_t count;
  int64_t total_ns;
} chain_shape;

/* Repeats [first, end) of a run in which a tile exists. */
typedef struct span {
  int64_t first, end;
} span;

/* Of a plan's setting, as messages name it. */
typedef struct plan_key {
  char text[PREM_NAME_BYTES + 48];
} plan_key;

typedef struct expansion {
  const prem_schedule *schedule;
  const prem_plan *plan;
  prem_diag *diag;
  plan_key runs, starts;
  prem_slot *next;     /* where the next slot goes */
  int64_t idle_blocks; /* that runs name without a tile of theirs */
  int32_t most_blocks; /* of a run */
  int32_t *with_tiles; /* [most_blocks]: those of the run in hand that have tiles */
} expansion;

static prem_place place_of(const prem_plan *plan, prem_place place) {
  return place.line ? place : plan->place;
}

static plan_key key_of(const prem_plan *plan, const char *setting) {
  plan_key key;
  snprintf(key.text, sizeof key.text, "plan%s%s%s", plan->mode[0] ? ".operating_modes." : "",
           plan->mode, setting);
  return key;
}

static prem_status refuse_overflow(const expansion *e, prem_place place, const char *key) {
  return prem_fail(
      e->diag, PREM_ERR_INVALID, 18, place_of(e->plan, place), key,
      "a start plus its length leaves the range of times, which ends at %lld ns (2^62)",
      (long long)PREM_MAX_NS);
}

static prem_status refuse_size(const expansion *e, prem_wide slots) {
  double count = (double)slots;
  return prem_fail(e->diag, PREM_ERR_INVALID, 13, e->plan->place, key_of(e->plan, "").text,
                   "%.0f phases in one hyperperiod, which would take some %.1f GiB to check; the "
                   "limit is %lld phases",
                   count, count * PREM_CHECKING_BYTES / 0x1p30, (long long)PREM_MAX_SLOTS);
}

/* They cost time, and are in no phase that counts. */
static prem_status refuse_idle_blocks(const expansion *e, const prem_affine *run) {
  return prem_fail(e->diag, PREM_ERR_INVALID, 13, place_of(e->plan, run->place), e->runs.text,
                   "the runs up to this one name %lld blocks on which they have no tile; the limit "
                   "is %d: leave these blocks out",
                   (long long)e->idle_blocks, MAX_IDLE_BLOCKS);
}

/* false: the sum of the lengths leaves the range of times. */
static bool chain_shape_of(const prem_task *task, prem_phase head, uint32_t chain,
                           chain_shape *out) {
  const uint32_t bit[PREM_PHASE_COUNT] = {0, PREM_CHAIN_COMPUTE, PREM_CHAIN_WRITEBACK};
  *out = (chain_shape){0};
  prem_wide total = 0;
  for (int p = (int)head; p < PREM_PHASE_COUNT; ++p) {
    bool follows = p > (int)head && (chain & bit[p]) && task->phase[p].exists;
    if (p != (int)head && !follows)
      continue;
    out->phase[out->count] = (prem_phase)p;
    out->length_ns[out->count++] = task->phase[p].wcet_ns;
    total += task->phase[p].wcet_ns;
  }
  out->total_ns = (int64_t)total;
  return total <= PREM_MAX_NS;
}

/* Above PREM_MAX_NS where the sum of both is; count_run() refuses that. */
static int64_t joined_length(const prem_schedule *schedule, const prem_affine *run) {
  const prem_task *task = &schedule->tasks[run->task];
  if (run->join_task == run->task && task->joined.exists)
    return task->joined.wcet_ns;
  prem_wide sum = (prem_wide)task->phase[PREM_PREFETCH].wcet_ns +
                  schedule->tasks[run->join_task].phase[PREM_WRITEBACK].wcet_ns;
  return sum > PREM_MAX_NS ? PREM_MAX_NS + 1 : (int64_t)sum;
}

static int32_t warmup_tiles_of(const prem_plan *plan, const prem_task *task) {
  return task->period_ns == 0 && !task->best_effort ? plan->warmup_tiles : 0;
}

/* Tiles of one job on the block at `position` of the task's list. */
static int64_t tiles_on(const prem_task *task, int32_t position) {
  if (position >= task->tile_count)
    return 0;
  return ((int64_t)task->tile_count - 1 - position) / task->block_count + 1;
}

static prem_wide floor_div(prem_wide a, prem_wide b) {
  prem_wide q = a / b;
  return q * b > a ? q - 1 : q;
}

static int64_t clamp(prem_wide value, int64_t end) {
  return value < 0 ? 0 : value > end ? end : (int64_t)value;
}

/* The repeats r with 0 <= tile + r * step < tile_count. */
static span repeats_inside(prem_wide tile, int64_t step, int64_t repeat, int64_t tile_count) {
  const bool is_outside = step >= 0 ? tile >= tile_count : tile < 0; /* and goes further away */
  if (step == 0 || is_outside)
    return (span){0, tile >= 0 && tile < tile_count ? repeat : 0};
  prem_wide first, last;
  if (step > 0) {
    first = -floor_div(tile, step);
    last = floor_div(tile_count - 1 - tile, step);
  } else {
    first = -floor_div(tile_count - 1 - tile, -(prem_wide)step);
    last = floor_div(tile, -(prem_wide)step);
  }
  span inside = {clamp(first, repeat), clamp(last + 1, repeat)};
  inside.end = prem_max_i64(inside.end, inside.first);
  return inside;
}

static span head_repeats(const prem_schedule *schedule, const prem_affine *run, int64_t j) {
  return repeats_inside((prem_wide)run->tile + (prem_wide)j * run->tile_per_block,
                        run->tile_per_repeat, run->repeat, schedule->tasks[run->task].tile_count);
}

static span join_repeats(const prem_schedule *schedule, const prem_affine *run, int64_t j) {
  if (run->join_task < 0)
    return (span){0, 0};
  return repeats_inside((prem_wide)run->join_tile + (prem_wide)j * run->tile_per_block,
                        run->tile_per_repeat, run->repeat,
                        schedule->tasks[run->join_task].tile_count);
}

/* Are all starts of block j in repeats [first, end), and what follows them, times? An affine
 * function has its extremes at the corners. */
static bool starts_in_range(const prem_affine *run, int64_t j, span repeats, int64_t length_ns) {
  if (repeats.first == repeats.end)
    return true;
  for (int corner = 0; corner < 4; ++corner) {
    int64_t r = corner & 1 ? repeats.end - 1 : repeats.first;
    int64_t q = corner & 2 ? run->jobs - 1 : 0;
    prem_wide start = (prem_wide)run->start_ns + (prem_wide)j * run->block_step_ns +
                      (prem_wide)r * run->step_ns + (prem_wide)q * run->job_step_ns;
    if (start < -PREM_MAX_NS || start + length_ns > PREM_MAX_NS)
      return false;
  }
  return true;
}

static prem_status count_job_run(expansion *e, const prem_affine *run, const char *key,
                                 prem_wide *slots) {
  const prem_task *task = &e->schedule->tasks[run->task];
  const int32_t warmup = warmup_tiles_of(e->plan, task);
  const prem_wide last_job = (prem_wide)run->job + run->jobs - 1;
  if (run->phase != prem_first_phase(task))
    return prem_fail(
        e->diag, PREM_ERR_INVALID, 29, place_of(e->plan, run->place), key,
        "a chain of the whole job begins with its first phase: of task '%s' that is the "
        "%s",
        task->name, prem_phase_name(prem_first_phase(task)));
  for (int32_t j = 0; j < run->count; ++j) {
    const int32_t position = run->first_block + j;
    const prem_wide bound = prem_job_chain_bound(e->schedule, task, position, warmup);
    if (bound > PREM_MAX_NS || run->job < INT32_MIN || last_job > INT32_MAX ||
        !starts_in_range(run, j, (span){0, 1}, (int64_t)bound))
      return refuse_overflow(e, run->place, key);
    const int64_t of_a_job = prem_job_chain_count(task, position, warmup);
    e->idle_blocks += of_a_job == 0;
    *slots += (prem_wide)of_a_job * run->jobs;
  }
  return e->idle_blocks > MAX_IDLE_BLOCKS ? refuse_idle_blocks(e, run) : PREM_OK;
}

static prem_status count_run(expansion *e, const prem_affine *run, prem_wide *slots) {
  const prem_schedule *schedule = e->schedule;
  const prem_task *task = &schedule->tasks[run->task];
  const char *key = e->runs.text;
  if (run->count < 1 || run->repeat < 1 || run->jobs < 1)
    return PREM_OK;
  if (e->idle_blocks > MAX_IDLE_BLOCKS) /* said */
    return PREM_ERR_INVALID;
  if (run->first_block < 0 || run->first_block > task->block_count - run->count)
    return prem_fail(e->diag, PREM_ERR_INVALID, 25, place_of(e->plan, run->place), key,
                     "blocks number %d to %lld of task '%s', which has %d (0 to %d)",
                     run->first_block, (long long)run->first_block + run->count - 1, task->name,
                     task->block_count, task->block_count - 1);
  if (run->chain & PREM_CHAIN_JOB)
    return count_job_run(e, run, key, slots);
  e->most_blocks = run->count > e->most_blocks ? run->count : e->most_blocks;
  chain_shape shape;
  prem_wide last_job = (prem_wide)run->job + run->jobs - 1;
  prem_wide last_join = run->join_task < 0 ? 0 : (prem_wide)run->join_job + run->jobs - 1;
  if (!chain_shape_of(task, run->phase, run->chain, &shape) || run->job < INT32_MIN ||
      last_job > INT32_MAX || (run->join_task >= 0 && run->join_job < INT32_MIN) ||
      last_join > INT32_MAX)
    return refuse_overflow(e, run->place, key);
  int64_t head_ns = shape.total_ns, pair_ns = 0;
  if (run->join_task >= 0) {
    pair_ns = joined_length(schedule, run);
    prem_wide longest = (prem_wide)head_ns + pair_ns;
    if (longest > PREM_MAX_NS)
      return refuse_overflow(e, run->place, key);
    head_ns = (int64_t)longest;
  }
  prem_wide of_a_job = 0;
  for (int64_t j = 0; j < run->count; ++j) {
    span head = head_repeats(schedule, run, j), join = join_repeats(schedule, run, j);
    if (!starts_in_range(run, j, head, head_ns) || !starts_in_range(run, j, join, pair_ns))
      return refuse_overflow(e, run->place, key);
    e->idle_blocks += head.first == head.end && join.first == join.end;
    of_a_job += (prem_wide)(head.end - head.first) * shape.count + (join.end - join.first);
  }
  *slots += of_a_job * run->jobs;
  return e->idle_blocks > MAX_IDLE_BLOCKS ? refuse_idle_blocks(e, run) : PREM_OK;
}

static prem_status count_starts(const expansion *e, const prem_starts *entry, prem_wide *slots) {
  const prem_task *task = &e->schedule->tasks[entry->task];
  const char *key = e->starts.text;
  prem_place place = place_of(e->plan, entry->place);
  if (entry->block < 0 || entry->block >= task->block_count)
    return prem_fail(e->diag, PREM_ERR_INVALID, 25, place, key,
                     "block number %d of task '%s', which has %d (0 to %d)", entry->block,
                     task->name, task->block_count, task->block_count - 1);
  if (entry->count > 0 && tiles_on(task, entry->block) <= warmup_tiles_of(e->plan, task))
    return prem_fail(e->diag, PREM_ERR_INVALID, 30, place, key,
                     "%lld starts, but task '%s' has no tile on its block number %d that needs one",
                     (long long)entry->count, task->name, entry->block);
  chain_shape shape;
  if (!chain_shape_of(task, entry->phase, entry->chain, &shape))
    return refuse_overflow(e, entry->place, key);
  for (int64_t i = 0; i < entry->count; ++i) {
    if (entry->start_ns[i] == -1)
      continue;
    if (entry->start_ns[i] < -PREM_MAX_NS || entry->start_ns[i] > PREM_MAX_NS - shape.total_ns)
      return refuse_overflow(e, entry->place, key);
    *slots += shape.count;
  }
  return PREM_OK;
}

static int64_t warmup_tiles_on(const prem_plan *plan, const prem_task *task, int32_t position) {
  int64_t tiles = tiles_on(task, position), warmup = warmup_tiles_of(plan, task);
  return tiles < warmup ? tiles : warmup;
}

static prem_wide count_warmup(const expansion *e) {
  prem_wide slots = 0;
  for (int32_t t = 0; t < e->schedule->task_count; ++t) {
    const prem_task *task = &e->schedule->tasks[t];
    int phases = 0;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      phases += task->phase[p].exists;
    for (int32_t position = 0; position < task->block_count; ++position)
      slots += (prem_wide)warmup_tiles_on(e->plan, task, position) * phases;
  }
  return slots;
}

/* Warm-up tiles run as soon as they can: their starts say only in which order. */
static prem_status put_warmup(expansion *e) {
  if (e->plan->warmup_tiles < 1)
    return PREM_OK;
  int64_t *free_ns = calloc((size_t)e->schedule->platform.blocks, sizeof *free_ns);
  if (!free_ns)
    return PREM_ERR_MEMORY;
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < e->schedule->task_count; ++t) {
    const prem_task *task = &e->schedule->tasks[t];
    for (int32_t position = 0; position < task->block_count; ++position) {
      int32_t block = task->blocks[position];
      int64_t tiles = warmup_tiles_on(e->plan, task, position);
      for (int64_t i = 0; i < tiles; ++i) {
        for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
          const prem_phase_spec *phase = &task->phase[p];
          if (!phase->exists)
            continue;
          if (phase->wcet_ns > PREM_MAX_NS - free_ns[block]) {
            status = refuse_overflow(e, task->place, "plan.warmup_tiles");
            goto done;
          }
          *e->next++ = (prem_slot){.planned_ns = free_ns[block],
                                   .length_ns = phase->wcet_ns,
                                   .task = t,
                                   .tile = (int32_t)(position + i * task->block_count),
                                   .block = block,
                                   .phase = (uint8_t)p,
                                   .flags = PREM_SLOT_WARMUP | PREM_SLOT_CHAINED,
                                   .place = -1};
          free_ns[block] += phase->wcet_ns;
        }
      }
    }
  }
done:
  free(free_ns);
  return status;
}

/* The slots of one start: the head and what follows it. `slot` holds what they have in common. */
static void put_chain(expansion *e, prem_slot slot, const chain_shape *shape) {
  slot.head_ns = slot.planned_ns;
  for (int32_t i = 0; i < shape->count; ++i) {
    slot.phase = (uint8_t)shape->phase[i];
    slot.flags = i ? PREM_SLOT_CHAINED : 0;
    slot.length_ns = shape->length_ns[i];
    *e->next++ = slot;
    slot.planned_ns += slot.length_ns;
  }
}

/* A prefetch and a writeback as one; the prefetch's followers behind both. */
static void put_pair(expansion *e, prem_slot slot, const prem_slot *writeback,
                     const chain_shape *shape, int64_t length_ns) {
  slot.head_ns = slot.planned_ns;
  slot.phase = PREM_PREFETCH;
  slot.flags = PREM_SLOT_JOINED;
  slot.length_ns = length_ns;
  *e->next++ = slot;
  *e->next++ = *writeback;
  for (int32_t i = 1; i < shape->count; ++i) {
    slot.planned_ns += slot.length_ns;
    slot.phase = (uint8_t)shape->phase[i];
    slot.flags = PREM_SLOT_CHAINED;
    slot.length_ns = shape->length_ns[i];
    *e->next++ = slot;
  }
}

/* The sum may pass through values outside int64 although it ends inside (starts_in_range() has
 * seen to that): unsigned arithmetic wraps back. */
static int64_t affine(int64_t base, int64_t j, int64_t j_step, int64_t r, int64_t r_step, int64_t q,
                      int64_t q_step) {
  return (int64_t)((uint64_t)base + (uint64_t)j * (uint64_t)j_step +
                   (uint64_t)r * (uint64_t)r_step + (uint64_t)q * (uint64_t)q_step);
}

static void put_joined_block(expansion *e, const prem_affine *run, const chain_shape *shape,
                             int64_t j, int64_t q, prem_slot slot) {
  span head = head_repeats(e->schedule, run, j), join = join_repeats(e->schedule, run, j);
  const prem_task *writer = &e->schedule->tasks[run->join_task];
  int64_t pair_ns = joined_length(e->schedule, run);
  int64_t first = head.first < join.first ? head.first : join.first;
  int64_t end = head.end > join.end ? head.end : join.end;
  for (int64_t r = first; r < end; ++r) {
    bool has_head = r >= head.first && r < head.end, has_join = r >= join.first && r < join.end;
    if (!has_head && !has_join) { /* between two spans that do not touch */
      r = (head.first > r ? head.first : join.first) - 1;
      continue;
    }
    slot.planned_ns =
        affine(run->start_ns, j, run->block_step_ns, r, run->step_ns, q, run->job_step_ns);
    slot.tile = (int32_t)affine(run->tile, j, run->tile_per_block, r, run->tile_per_repeat, 0, 0);
    prem_slot writeback = slot;
    writeback.task = run->join_task;
    writeback.job = (int32_t)(run->join_job + q);
    writeback.tile =
        (int32_t)affine(run->join_tile, j, run->tile_per_block, r, run->tile_per_repeat, 0, 0);
    writeback.head_ns = writeback.planned_ns;
    writeback.phase = PREM_WRITEBACK;
    if (has_head && has_join) {
      writeback.flags = PREM_SLOT_JOINED;
      writeback.length_ns = pair_ns;
      put_pair(e, slot, &writeback, shape, pair_ns);
    } else if (has_head) {
      put_chain(e, slot, shape);
    } else {
      writeback.length_ns = writer->phase[PREM_WRITEBACK].wcet_ns;
      *e->next++ = writeback;
    }
  }
}

static void put_plain_block(expansion *e, const prem_affine *run, const chain_shape *shape,
                            int64_t j, int64_t q, prem_slot slot) {
  span head = head_repeats(e->schedule, run, j);
  for (int64_t r = head.first; r < head.end; ++r) {
    slot.planned_ns =
        affine(run->start_ns, j, run->block_step_ns, r, run->step_ns, q, run->job_step_ns);
    slot.tile = (int32_t)affine(run->tile, j, run->tile_per_block, r, run->tile_per_repeat, 0, 0);
    put_chain(e, slot, shape);
  }
}

/* A job on a block, which has tiles; its steps are worked out once. The first one is the head. */
static prem_status put_job(expansion *e, prem_slot slot, int32_t position, prem_job_step **steps) {
  const prem_task *task = &e->schedule->tasks[slot.task];
  const int32_t warmup = warmup_tiles_of(e->plan, task);
  const int64_t count = prem_job_chain_count(task, position, warmup);
  if (!*steps) {
    *steps = malloc((size_t)count * sizeof **steps);
    if (!*steps)
      return PREM_ERR_MEMORY;
    prem_job_chain(e->schedule, task, position, warmup, *steps);
  }
  slot.head_ns = slot.planned_ns;
  for (int64_t i = 0; i < count; ++i) {
    const prem_job_step *step = &(*steps)[i];
    slot.planned_ns = slot.head_ns + step->start_ns;
    slot.length_ns = step->length_ns;
    slot.tile = step->tile;
    slot.phase = (uint8_t)step->phase;
    slot.flags = i ? PREM_SLOT_CHAINED : 0;
    *e->next++ = slot;
  }
  return PREM_OK;
}

static prem_status put_job_run(expansion *e, int32_t index) {
  const prem_affine *run = &e->plan->affine[index];
  prem_status status = PREM_OK;
  for (int32_t j = 0; j < run->count && status == PREM_OK; ++j) {
    const prem_task *task = &e->schedule->tasks[run->task];
    const bool is_idle =
        prem_job_chain_count(task, run->first_block + j, warmup_tiles_of(e->plan, task)) == 0;
    prem_job_step *steps = NULL;
    for (int64_t q = 0; q < run->jobs && !is_idle && status == PREM_OK; ++q)
      status = put_job(e,
                       (prem_slot){.planned_ns = affine(run->start_ns, j, run->block_step_ns, 0, 0,
                                                        q, run->job_step_ns),
                                   .task = run->task,
                                   .job = (int32_t)(run->job + q),
                                   .block = task->blocks[run->first_block + j],
                                   .place = index},
                       run->first_block + j, &steps);
    free(steps);
  }
  return status;
}

static bool has_tiles(const expansion *e, const prem_affine *run, int64_t j) {
  const span head = head_repeats(e->schedule, run, j), join = join_repeats(e->schedule, run, j);
  return head.first < head.end || join.first < join.end;
}

static void put_run(expansion *e, int32_t index) {
  const prem_affine *run = &e->plan->affine[index];
  const prem_task *task = &e->schedule->tasks[run->task];
  chain_shape shape;
  chain_shape_of(task, run->phase, run->chain, &shape);
  int32_t blocks = 0;
  for (int32_t j = 0; j < run->count; ++j)
    if (has_tiles(e, run, j))
      e->with_tiles[blocks++] = j;
  for (int64_t q = 0; q < run->jobs && blocks > 0; ++q)
    for (int32_t i = 0; i < blocks; ++i) {
      const int64_t j = e->with_tiles[i];
      prem_slot slot = {.task = run->task,
                        .job = (int32_t)(run->job + q),
                        .block = task->blocks[run->first_block + j],
                        .place = index};
      if (run->join_task >= 0)
        put_joined_block(e, run, &shape, j, q, slot);
      else
        put_plain_block(e, run, &shape, j, q, slot);
    }
}

static void put_starts(expansion *e, int32_t index) {
  const prem_starts *entry = &e->plan->starts[index];
  const prem_task *task = &e->schedule->tasks[entry->task];
  int64_t warmup = warmup_tiles_of(e->plan, task);
  int64_t of_a_job = tiles_on(task, entry->block) - warmup;
  chain_shape shape;
  chain_shape_of(task, entry->phase, entry->chain, &shape);
  for (int64_t i = 0; i < entry->count; ++i) {
    if (entry->start_ns[i] == -1)
      continue;
    int64_t round = warmup + i % of_a_job;
    put_chain(e,
              (prem_slot){.planned_ns = entry->start_ns[i],
                          .task = entry->task,
                          .job = (int32_t)(i / of_a_job),
                          .tile = (int32_t)(entry->block + round * task->block_count),
                          .block = task->blocks[entry->block],
                          .place = e->plan->affine_count + index},
              &shape);
  }
}

static bool references_exist(const prem_schedule *schedule, const prem_plan *plan) {
  for (int32_t i = 0; i < plan->affine_count; ++i) {
    const prem_affine *run = &plan->affine[i];
    if (run->task < 0 || run->task >= schedule->task_count ||
        run->join_task >= schedule->task_count || run->phase >= PREM_PHASE_COUNT)
      return false;
  }
  for (int32_t i = 0; i < plan->starts_count; ++i) {
    const prem_starts *entry = &plan->starts[i];
    if (entry->task < 0 || entry->task >= schedule->task_count || entry->phase >= PREM_PHASE_COUNT)
      return false;
  }
  return true;
}

prem_status prem_plan_expand(const prem_schedule *schedule, const prem_plan *plan,
                             prem_slot **slots, int64_t *count, prem_diag *diag) {
  *slots = NULL;
  *count = 0;
  if (!references_exist(schedule, plan))
    return PREM_ERR_ARGUMENT;
  expansion e = {.schedule = schedule,
                 .plan = plan,
                 .diag = diag,
                 .runs = key_of(plan, ".runs"),
                 .starts = key_of(plan, ".starts")};
  prem_wide total = count_warmup(&e);
  prem_status status = PREM_OK;
  for (int32_t i = 0; i < plan->affine_count; ++i) {
    prem_status one = count_run(&e, &plan->affine[i], &total);
    status = one ? one : status;
  }
  for (int32_t i = 0; i < plan->starts_count; ++i) {
    prem_status one = count_starts(&e, &plan->starts[i], &total);
    status = one ? one : status;
  }
  if (status)
    return status;
  if (total > PREM_MAX_SLOTS)
    return refuse_size(&e, total);
  prem_slot *out = malloc((total ? (size_t)total : 1) * sizeof *out);
  e.next = out;
  e.with_tiles = malloc((size_t)e.most_blocks * sizeof *e.with_tiles + 1);
  status = out && e.with_tiles ? put_warmup(&e) : PREM_ERR_MEMORY;
  if (status) {
    free(out);
    free(e.with_tiles);
    return status;
  }
  for (int32_t i = 0; i < plan->affine_count && !status; ++i)
    if (plan->affine[i].chain & PREM_CHAIN_JOB)
      status = put_job_run(&e, i);
    else
      put_run(&e, i);
  for (int32_t i = 0; i < plan->starts_count && !status; ++i)
    put_starts(&e, i);
  free(e.with_tiles);
  if (status) {
    free(out);
    return status;
  }
  *slots = out;
  *count = (int64_t)total;
  return PREM_OK;
}
