/* SPDX-License-Identifier: Apache-2.0 */
/* A block's tables of records: their order, the phases of each tile, flags. */
#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "runtime/core/compilation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slot's place in the order of its block. */
typedef struct prem_entry {
  int64_t planned_ns;
  int64_t slot; /* index; breaks ties, so that joined halves stay together */
} entry;

/* A task as the block in hand sees it, which works it. */
typedef struct prem_share {
  int32_t tiles;     /* of one job */
  int64_t first;     /* of its tile_phases among those of the block */
  int64_t first_job; /* of its jobs among those of the block */
} share;

static prem_status refuse(const prem_compilation *c, int code, const char *reason) {
  return prem_fail(c->diag, PREM_ERR_INVALID, code, c->program->plan->place, "plan", "block %d: %s",
                   c->block_index, reason);
}

/* ---- the order of a block ------------------------------------------------------------------- */

static int compare_entries(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->planned_ns != b->planned_ns)
    return a->planned_ns < b->planned_ns ? -1 : 1;
  return (a->slot > b->slot) - (a->slot < b->slot);
}

static bool is_ordered(const entry *entries, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    if (compare_entries(&entries[i - 1], &entries[i]) > 0)
      return false;
  return true;
}

static prem_status bucket_entries(prem_compilation *c, int64_t slot_count) {
  c->first_entry = calloc((size_t)c->program->block_count + 2, sizeof *c->first_entry);
  if (!c->first_entry)
    return PREM_ERR_MEMORY;
  int64_t *next = c->first_entry + 1; /* shifted by one: filling advances it to its place */
  for (int64_t i = 0; i < slot_count; ++i)
    ++next[c->slots[i].block + 1];
  for (int32_t b = 0; b < c->program->block_count; ++b)
    next[b + 1] += next[b];
  for (int64_t i = 0; i < slot_count; ++i)
    c->entries[next[c->slots[i].block]++] = (entry){c->slots[i].planned_ns, i};
  return PREM_OK;
}

/* Warm-up comes before everything that has a time: its order stays, its times go below 0. */
static void shift_warmup(const prem_compilation *c, entry *entries, int64_t count) {
  int64_t end_ns = 0;
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &c->slots[entries[i].slot];
    if ((slot->flags & PREM_SLOT_WARMUP) && slot->planned_ns + slot->length_ns > end_ns)
      end_ns = slot->planned_ns + slot->length_ns;
  }
  for (int64_t i = 0; i < count; ++i)
    if (c->slots[entries[i].slot].flags & PREM_SLOT_WARMUP)
      entries[i].planned_ns -= end_ns;
}

static void fill_record(prem_record *record, const prem_slot *slot, int64_t planned_ns) {
  *record = (prem_record){.planned_ns = planned_ns,
                          .planned_end_ns = planned_ns + slot->length_ns,
                          .tile = slot->tile,
                          .job = slot->job,
                          .wait = {PREM_NO_WAIT, PREM_NO_WAIT, PREM_NO_WAIT},
                          .task = (uint16_t)slot->task,
                          .phase = slot->phase,
                          .flags = slot->flags};
}

static prem_status fill_tables(prem_compilation *c, const entry *entries, int64_t count) {
  prem_block_program *block = c->block;
  for (int64_t i = 0; i < count; ++i)
    ++block->phase_count[c->slots[entries[i].slot].phase];
  block->compute_count = block->phase_count[PREM_COMPUTE];
  block->memory_count = (int32_t)(count - block->compute_count);
  block->memory = malloc(((size_t)block->memory_count + 1) * sizeof *block->memory);
  block->compute = malloc(((size_t)block->compute_count + 1) * sizeof *block->compute);
  c->order = calloc((size_t)count + 1, sizeof(prem_record *));
  if (!block->memory || !block->compute || !c->order)
    return PREM_ERR_MEMORY;
  prem_record *memory = block->memory, *compute = block->compute;
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &c->slots[entries[i].slot];
    prem_record *record = slot->phase == PREM_COMPUTE ? compute++ : memory++;
    fill_record(record, slot, entries[i].planned_ns);
    c->order[i] = record;
  }
  c->order_count = count;
  return PREM_OK;
}

/* The tables are worked hyperperiod after hyperperiod, so one must not reach beyond the next. */
static prem_status judge_spread(const prem_compilation *c) {
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (int64_t i = 0; i < c->order_count; ++i) {
    if (c->order[i]->flags & (PREM_SLOT_WARMUP | PREM_RECORD_OFF))
      continue;
    if (first_ns == INT64_MAX)
      first_ns = c->order[i]->planned_ns;
    last_ns = c->order[i]->planned_ns;
  }
  int64_t spread_ns = last_ns < first_ns ? 0 : last_ns - first_ns;
  if (spread_ns <= c->program->hyperperiod_ns)
    return PREM_OK;
  char reason[160];
  snprintf(reason, sizeof reason,
           "its starts lie %lld ns apart, the hyperperiod is %lld ns long: a job that outlives the "
           "next one's start cannot be executed",
           (long long)spread_ns, (long long)c->program->hyperperiod_ns);
  return refuse(c, 38, reason);
}

/* ---- the phases of a tile ------------------------------------------------------------------- */

static prem_status share_block(prem_compilation *c) {
  c->tile_count = 0;
  c->job_count = 0;
  for (int32_t i = 0; i < c->block->task_count; ++i) {
    const int32_t t = c->block->tasks[i].task, position = c->block->tasks[i].position;
    const prem_task *task = &c->schedule->tasks[t];
    share *of_task = &c->shares[t];
    of_task->tiles = 0;
    if (position < task->tile_count)
      of_task->tiles = (task->tile_count - 1 - position) / task->block_count + 1;
    of_task->first = c->tile_count;
    of_task->first_job = c->job_count;
    c->tile_count += (int64_t)of_task->tiles * c->program->tasks[t].jobs;
    c->job_count += of_task->tiles ? c->program->tasks[t].jobs : 0;
  }
  c->tiles = calloc((size_t)c->tile_count + 1, sizeof *c->tiles);
  c->job_seen = malloc((size_t)c->job_count + 1);
  return c->tiles && c->job_seen ? PREM_OK : PREM_ERR_MEMORY;
}

prem_tile_phases *prem_tile_phases_of(const prem_compilation *c, const prem_record *record) {
  const prem_task *task = &c->schedule->tasks[record->task];
  const share *of_task = &c->shares[record->task];
  int32_t position = prem_block_position(c->block, record->task);
  if (record->job < 0 || record->job >= c->program->tasks[record->task].jobs || record->tile < 0 ||
      record->tile >= task->tile_count || record->tile % task->block_count != position)
    return NULL;
  int64_t round = record->tile / task->block_count;
  return &c->tiles[of_task->first + (int64_t)record->job * of_task->tiles + round];
}

prem_status prem_refuse_tile(const prem_compilation *c, const prem_record *record, int code,
                             const char *what) {
  char reason[240];
  snprintf(reason, sizeof reason, "the %s of tile %d, job %d of task '%s' %s",
           prem_phase_name((prem_phase)record->phase), record->tile, record->job,
           c->schedule->tasks[record->task].name, what);
  return refuse(c, code, reason);
}

static prem_status link_tiles(prem_compilation *c) {
  int32_t ordinal[PREM_PHASE_COUNT] = {0};
  for (int64_t i = 0; i < c->order_count; ++i) {
    prem_record *record = c->order[i];
    prem_tile_phases *tile = prem_tile_phases_of(c, record);
    if (!tile)
      return prem_refuse_tile(c, record, 28, "does not belong to this block");
    if (!c->schedule->tasks[record->task].phase[record->phase].exists)
      return prem_refuse_tile(c, record, 29, "is planned, but the task has no such phase");
    if (tile->record[record->phase])
      return prem_refuse_tile(c, record, 28, "is planned twice");
    tile->record[record->phase] = record;
    tile->ordinal[record->phase] = ordinal[record->phase]++;
  }
  return PREM_OK;
}

static prem_status judge_missing(const prem_compilation *c) {
  for (int32_t b = 0; b < c->block->task_count; ++b) {
    const int32_t t = c->block->tasks[b].task;
    const prem_task *task = &c->schedule->tasks[t];
    const share *of_task = &c->shares[t];
    int64_t count = (int64_t)of_task->tiles * c->program->tasks[t].jobs;
    for (int64_t i = 0; i < count; ++i)
      for (int p = 0; p < PREM_PHASE_COUNT; ++p)
        if (task->phase[p].exists && !c->tiles[of_task->first + i].record[p]) {
          int32_t round = (int32_t)(i % of_task->tiles), job = (int32_t)(i / of_task->tiles);
          prem_record missing = {.task = (uint16_t)t,
                                 .phase = (uint8_t)p,
                                 .job = job,
                                 .tile = c->block->tasks[b].position + round * task->block_count};
          return prem_refuse_tile(c, &missing, 28, "is not planned");
        }
  }
  return PREM_OK;
}

/* A phase needs what its tile did before it. */
static void wait_for_own_tile(const prem_compilation *c) {
  for (int64_t i = 0; i < c->tile_count; ++i) {
    const prem_tile_phases *tile = &c->tiles[i];
    int before = -1;
    for (int p = 0; p < PREM_PHASE_COUNT; ++p) {
      if (!tile->record[p])
        continue;
      if (before >= 0)
        prem_record_wait_for(tile->record[p], before, tile->ordinal[before] + 1);
      before = p;
    }
  }
}

/* How often the last kind of phase of a job has run on this block when the job has ended here. */
static int32_t last_ordinal(const prem_compilation *c, int32_t task, int32_t job, int *phase) {
  const share *of_task = &c->shares[task];
  int32_t last = -1;
  for (int32_t i = 0; i < of_task->tiles; ++i) {
    const prem_tile_phases *tile = &c->tiles[of_task->first + (int64_t)job * of_task->tiles + i];
    for (int p = 0; p < PREM_PHASE_COUNT; ++p)
      if (tile->record[p] && p >= *phase) {
        last = p > *phase || tile->ordinal[p] > last ? tile->ordinal[p] : last;
        *phase = p;
      }
  }
  return last;
}

/* Precedence by block: a job's tiles here wait for the other job's tiles here, and for nothing
 * else. */
static void wait_for_block(const prem_compilation *c, int32_t task, int32_t before) {
  const share *of_task = &c->shares[task];
  for (int32_t job = 0; c->shares[before].tiles > 0 && job < c->program->tasks[task].jobs; ++job) {
    int phase = PREM_PREFETCH;
    const int32_t last = last_ordinal(c, before, job, &phase);
    for (int32_t i = 0; i < of_task->tiles; ++i) {
      prem_tile_phases *tile = &c->tiles[of_task->first + (int64_t)job * of_task->tiles + i];
      int first = PREM_PREFETCH;
      while (first < PREM_WRITEBACK && !tile->record[first])
        ++first;
      prem_record_wait_for(tile->record[first], phase, last + 1);
    }
  }
}

static void wait_for_blocks(const prem_compilation *c) {
  for (int32_t i = 0; i < c->block->task_count; ++i) {
    const int32_t t = c->block->tasks[i].task;
    const prem_task *task = &c->schedule->tasks[t];
    for (int32_t a = 0; a < task->after_count && c->shares[t].tiles > 0; ++a)
      if (task->after[a].per_block && !prem_task_is_off(c->program, t) &&
          !prem_task_is_off(c->program, task->after[a].task) &&
          prem_block_position(c->block, task->after[a].task) >= 0)
        wait_for_block(c, t, task->after[a].task);
  }
}

/* ---- flags ---------------------------------------------------------------------------------- */

/* Has this job been met since the marks were cleared? Marks it. */
static bool meet_job(const prem_compilation *c, const prem_record *record) {
  uint8_t *seen = &c->job_seen[c->shares[record->task].first_job + record->job];
  bool before = *seen;
  *seen = 1;
  return before;
}

/* Does a task have an edge for phases of this kind? */
static bool is_tested(const prem_task_program *task, int phase) {
  for (int32_t a = 0; a < task->edge_count; ++a)
    if (task->after[a].phase == phase && !task->after[a].by_block)
      return true;
  return false;
}

/* Of each job the table's first phase of this kind. Those behind it, and what its tiles do next,
 * come later in any case: nothing is asked twice. */
static void flag_after(const prem_compilation *c, prem_record *table, int32_t count, int phase) {
  memset(c->job_seen, 0, (size_t)c->job_count);
  for (int32_t i = 0; i < count; ++i)
    if (table[i].phase == phase && !meet_job(c, &table[i]) &&
        is_tested(&c->program->tasks[table[i].task], phase))
      table[i].flags |= PREM_RECORD_AFTER;
}

/* All tiles of a task have the same phases: the last of the last kind ends the job. */
static void flag_last(const prem_compilation *c, prem_record *table, int32_t count) {
  memset(c->job_seen, 0, (size_t)c->job_count);
  for (int32_t i = count - 1; i >= 0; --i) {
    const prem_phase_spec *phase = c->schedule->tasks[table[i].task].phase;
    int last = phase[PREM_WRITEBACK].exists ? PREM_WRITEBACK
               : phase[PREM_COMPUTE].exists ? PREM_COMPUTE
                                            : PREM_PREFETCH;
    if (table[i].phase == last && !meet_job(c, &table[i]))
      table[i].flags |= PREM_RECORD_LAST;
  }
}

static void flag_joined(prem_record *table, int32_t count) {
  for (int32_t i = 0; i + 1 < count; ++i)
    if ((table[i].flags & PREM_SLOT_JOINED) && (table[i + 1].flags & PREM_SLOT_JOINED) &&
        table[i].planned_ns == table[i + 1].planned_ns) {
      table[i].flags |= PREM_RECORD_JOIN_NEXT;
      ++i;
    }
}

static void flag_records(const prem_compilation *c) {
  prem_block_program *block = c->block;
  flag_after(c, block->memory, block->memory_count, PREM_PREFETCH);
  flag_after(c, block->memory, block->memory_count, PREM_WRITEBACK);
  flag_after(c, block->compute, block->compute_count, PREM_COMPUTE);
  flag_last(c, block->memory, block->memory_count);
  flag_last(c, block->compute, block->compute_count);
  flag_joined(block->memory, block->memory_count);
}

/* ---- putting it together -------------------------------------------------------------------- */

static prem_status compile_block(prem_compilation *c, int32_t b) {
  c->block_index = b;
  c->block = &c->program->blocks[b];
  entry *entries = c->entries + c->first_entry[b];
  int64_t count = c->first_entry[b + 1] - c->first_entry[b];
  if (count > INT32_MAX)
    return refuse(c, 20, "more phases than a table holds");
  shift_warmup(c, entries, count);
  if (!is_ordered(entries, count))
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
  prem_status status = fill_tables(c, entries, count);
  if (!status)
    status = judge_spread(c);
  if (!status)
    status = share_block(c);
  if (!status)
    status = link_tiles(c);
  if (!status)
    status = judge_missing(c);
  if (status)
    return status;
  wait_for_own_tile(c);
  wait_for_blocks(c);
  status = prem_buffers_hold(c);
  if (!status)
    flag_records(c);
  return status;
}

static prem_status compile_blocks(prem_compilation *c, int64_t slot_count) {
  c->shares = calloc((size_t)c->schedule->task_count, sizeof *c->shares);
  if (!c->shares)
    return PREM_ERR_MEMORY;
  prem_status status = bucket_entries(c, slot_count);
  for (int32_t b = 0; !status && b < c->program->block_count; ++b) {
    status = compile_block(c, b);
    PREM_FREE(c->order, c->tiles, c->job_seen);
    c->order = NULL;
    c->tiles = NULL;
    c->job_seen = NULL;
  }
  return status;
}

prem_status prem_tables_make(prem_program *program, const prem_slot *slots, int64_t slot_count,
                             prem_diag *diag) {
  prem_compilation c = {.schedule = program->schedule,
                        .program = program,
                        .diag = diag,
                        .slots = slots,
                        .entries = malloc(((size_t)slot_count + 1) * sizeof *c.entries)};
  prem_status status = c.entries ? compile_blocks(&c, slot_count) : PREM_ERR_MEMORY;
  program->record_count = slot_count;
  PREM_FREE(c.entries, c.first_entry, c.shares);
  return status;
}
