/* Compiling a plan: slots into the tables of records that the blocks execute. */
#include "runtime/core/program.h"

#include "runtime/core/compilation.h"
#include "runtime/core/data_edges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slot's place in the order of its block. */
typedef struct prem_entry {
  int64_t start_ns;
  int64_t slot; /* index; breaks ties, so that joined halves stay together */
} entry;

/* A task as one block sees it. */
typedef struct prem_share {
  int32_t tiles;     /* of one job */
  int64_t first;     /* of its tile_phases among those of the block */
  int64_t first_job; /* of its jobs among those of the block */
} share;

static prem_status refuse(const prem_compilation *c, int code, const char *reason) {
  prem_diag_add(c->diag, PREM_ERROR, code, c->schedule->plan->place, "plan", "block %d: %s",
                c->block_index, reason);
  return PREM_ERR_INVALID;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static int64_t period_of(const prem_program *program, int32_t task) {
  int64_t period_ns = program->schedule->tasks[task].period_ns;
  return period_ns ? period_ns : program->hyperperiod_ns;
}

int64_t prem_job_release_ns(const prem_program *program, int32_t task, int64_t hyperperiod,
                            int32_t job) {
  return hyperperiod * program->hyperperiod_ns + job * period_of(program, task) +
         program->schedule->tasks[task].release_ns;
}

/* How many jobs of the predecessor, from the hyperperiod's first, job `job` waits for. */
static int32_t jobs_awaited(const prem_program *program, int32_t task, const prem_after *after,
                            int32_t job) {
  if (!after->latest)
    return job + 1;
  int64_t release_ns = prem_job_release_ns(program, task, 0, job);
  int64_t first_ns = prem_job_release_ns(program, after->task, 0, 0);
  return (int32_t)(prem_floor_div(release_ns - first_ns, period_of(program, after->task)) + 1);
}

static prem_status compile_after(prem_program *program, int32_t task) {
  const prem_task *source = &program->schedule->tasks[task];
  prem_task_program *out = &program->tasks[task];
  if (source->after_count == 0)
    return PREM_OK;
  out->after = calloc((size_t)source->after_count, sizeof *out->after);
  if (!out->after)
    return PREM_ERR_MEMORY;
  out->after_count = out->edge_count = source->after_count;
  int64_t guard_ns = program->schedule->platform.guard_ns;
  for (int32_t a = 0; a < out->after_count; ++a) {
    const prem_after *after = &source->after[a];
    prem_after_program *edge = &out->after[a];
    edge->task = after->task;
    edge->lag_ns = after->lag_ns > guard_ns ? after->lag_ns : guard_ns;
    edge->pred_jobs = malloc((size_t)out->jobs * sizeof *edge->pred_jobs);
    if (!edge->pred_jobs)
      return PREM_ERR_MEMORY;
    for (int32_t job = 0; job < out->jobs; ++job)
      edge->pred_jobs[job] = jobs_awaited(program, task, after, job);
  }
  return PREM_OK;
}

static prem_status refuse_jobs(const prem_program *program, const prem_task *task, int64_t jobs,
                               prem_diag *diag) {
  prem_diag_add(diag, PREM_ERROR, 13, task->place, task->name,
                "%lld jobs in a hyperperiod of %lld ns; the limit is %lld phases", (long long)jobs,
                (long long)program->hyperperiod_ns, (long long)PREM_MAX_SLOTS);
  return PREM_ERR_INVALID;
}

/* Warm-up tiles stand before everything else in a block's tables: what they would wait for might
 * stand behind them. */
static prem_status judge_warmup(const prem_program *program, const prem_task *task,
                                prem_diag *diag) {
  if (program->schedule->plan->warmup_tiles == 0 || task->period_ns || task->after_count == 0)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 26, task->after[0].place, task->name,
                "comes after task '%s', but its %d warm-up tiles run before all others: leave "
                "`warmup_tiles` or `after` out",
                program->schedule->tasks[task->after[0].task].name,
                program->schedule->plan->warmup_tiles);
  return PREM_ERR_INVALID;
}

static prem_status compile_tasks(prem_program *program, prem_diag *diag) {
  const prem_schedule *schedule = program->schedule;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    int64_t jobs = task->period_ns ? program->hyperperiod_ns / task->period_ns : 1;
    if (jobs > PREM_MAX_SLOTS)
      return refuse_jobs(program, task, jobs, diag);
    program->tasks[t].jobs = (int32_t)jobs;
    program->tasks[t].active_blocks =
        task->tile_count < task->block_count ? task->tile_count : task->block_count;
    prem_status status = judge_warmup(program, task, diag);
    if (!status)
      status = compile_after(program, t);
    if (status)
      return status;
  }
  return PREM_OK;
}

static int32_t max_i32(int32_t a, int32_t b) {
  return a > b ? a : b;
}

static prem_status place_tasks(prem_program *program) {
  const prem_schedule *schedule = program->schedule;
  size_t tasks = (size_t)schedule->task_count, blocks = (size_t)program->block_count;
  int32_t *positions = reallocarray(NULL, blocks, tasks * sizeof *positions); /* of all blocks */
  if (!positions)
    return PREM_ERR_MEMORY;
  for (size_t b = 0; b < blocks; ++b) {
    program->blocks[b].task_position = positions + b * tasks;
    for (size_t t = 0; t < tasks; ++t)
      positions[b * tasks + t] = -1;
  }
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t position = 0; position < task->block_count; ++position) {
      prem_block_program *block = &program->blocks[task->blocks[position]];
      positions[(size_t)task->blocks[position] * tasks + (size_t)t] = position;
      block->in_bytes = max_i32(block->in_bytes, task->in_bytes);
      block->out_bytes = max_i32(block->out_bytes, task->out_bytes);
    }
  }
  return PREM_OK;
}

/* ---- the order of a block ------------------------------------------------------------------- */

static int compare_entries(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->start_ns != b->start_ns)
    return a->start_ns < b->start_ns ? -1 : 1;
  return (a->slot > b->slot) - (a->slot < b->slot);
}

static bool is_ordered(const entry *entries, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    if (compare_entries(&entries[i - 1], &entries[i]) > 0)
      return false;
  return true;
}

static void order_entries(entry *entries, int64_t count) {
  if (!is_ordered(entries, count))
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
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
    c->entries[next[c->slots[i].block]++] = (entry){c->slots[i].start_ns, i};
  return PREM_OK;
}

/* Warm-up comes before everything that has a time: its order stays, its times go below 0. */
static void shift_warmup(const prem_compilation *c, entry *entries, int64_t count) {
  int64_t end_ns = 0;
  for (int64_t i = 0; i < count; ++i) {
    const prem_slot *slot = &c->slots[entries[i].slot];
    if ((slot->flags & PREM_SLOT_WARMUP) && slot->start_ns + slot->length_ns > end_ns)
      end_ns = slot->start_ns + slot->length_ns;
  }
  for (int64_t i = 0; i < count; ++i)
    if (c->slots[entries[i].slot].flags & PREM_SLOT_WARMUP)
      entries[i].start_ns -= end_ns;
}

static void fill_record(prem_record *record, const prem_slot *slot, int64_t start_ns) {
  *record = (prem_record){.start_ns = start_ns,
                          .end_ns = start_ns + slot->length_ns,
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
    fill_record(record, slot, entries[i].start_ns);
    c->order[i] = record;
  }
  c->order_count = count;
  return PREM_OK;
}

/* The tables are worked hyperperiod after hyperperiod, so one must not reach beyond the next. */
static prem_status judge_spread(const prem_compilation *c) {
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (int64_t i = 0; i < c->order_count; ++i) {
    if (c->order[i]->flags & PREM_SLOT_WARMUP)
      continue;
    if (first_ns == INT64_MAX)
      first_ns = c->order[i]->start_ns;
    last_ns = c->order[i]->start_ns;
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
  for (int32_t t = 0; t < c->schedule->task_count; ++t) {
    const prem_task *task = &c->schedule->tasks[t];
    int32_t position = c->block->task_position[t];
    share *of_task = &c->shares[t];
    of_task->tiles = 0;
    if (position >= 0 && position < task->tile_count)
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
  int32_t position = c->block->task_position[record->task];
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
  for (int32_t t = 0; t < c->schedule->task_count; ++t) {
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
                                 .tile = c->block->task_position[t] + round * task->block_count};
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
    if (task->after[a].phase == phase)
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
        table[i].start_ns == table[i + 1].start_ns) {
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

static void leave_block(prem_compilation *c) {
  free(c->order);
  free(c->tiles);
  free(c->job_seen);
  c->order = NULL;
  c->tiles = NULL;
  c->job_seen = NULL;
}

static prem_status compile_block(prem_compilation *c, int32_t b) {
  c->block_index = b;
  c->block = &c->program->blocks[b];
  entry *entries = c->entries + c->first_entry[b];
  int64_t count = c->first_entry[b + 1] - c->first_entry[b];
  if (count > INT32_MAX)
    return refuse(c, 20, "more phases than a table holds");
  shift_warmup(c, entries, count);
  order_entries(entries, count);
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
    leave_block(c);
  }
  return status;
}

static prem_status compile_slots(prem_program *program, const prem_slot *slots, int64_t count,
                                 prem_diag *diag) {
  prem_compilation c = {.schedule = program->schedule,
                        .program = program,
                        .diag = diag,
                        .slots = slots,
                        .entries = malloc(((size_t)count + 1) * sizeof *c.entries)};
  prem_status status = c.entries ? compile_blocks(&c, count) : PREM_ERR_MEMORY;
  program->record_count = count;
  free(c.entries);
  free(c.first_entry);
  free(c.shares);
  return status;
}

/* An edge says from which kind of phase on a task has to wait: the first of these that it has does.
 */
static void settle_edges(prem_program *program) {
  for (int32_t t = 0; t < program->schedule->task_count; ++t) {
    const prem_phase_spec *phase = program->schedule->tasks[t].phase;
    for (int32_t a = 0; a < program->tasks[t].edge_count; ++a) {
      int32_t *waits = &program->tasks[t].after[a].phase;
      while (*waits < PREM_WRITEBACK && !phase[*waits].exists)
        ++*waits;
    }
  }
}

static prem_status compile_plan(prem_program *program, prem_diag *diag) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  prem_status status =
      prem_plan_expand(program->schedule, program->schedule->plan, &slots, &count, diag);
  if (!status)
    status = prem_program_add_data_edges(program, slots, count);
  settle_edges(program);
  if (!status)
    status = compile_slots(program, slots, count, diag);
  free(slots);
  return status;
}

prem_status prem_program_new(const prem_schedule *schedule, prem_program **out, prem_diag *diag) {
  *out = NULL;
  if (!schedule->plan || schedule->task_count < 1 || schedule->plan->hyperperiod_ns < 1)
    return PREM_ERR_ARGUMENT;
  prem_program *program = calloc(1, sizeof *program);
  if (!program)
    return PREM_ERR_MEMORY;
  program->schedule = schedule;
  program->hyperperiod_ns = schedule->plan->hyperperiod_ns;
  program->block_count = schedule->platform.blocks;
  program->blocks = calloc((size_t)program->block_count, sizeof *program->blocks);
  program->tasks = calloc((size_t)schedule->task_count, sizeof *program->tasks);
  prem_status status = program->blocks && program->tasks ? PREM_OK : PREM_ERR_MEMORY;
  if (!status)
    status = compile_tasks(program, diag);
  if (!status)
    status = place_tasks(program);
  if (!status)
    status = compile_plan(program, diag);
  if (status) {
    prem_program_free(program);
    return status;
  }
  *out = program;
  return PREM_OK;
}

static void free_tasks(prem_program *program) {
  for (int32_t t = 0; program->tasks && t < program->schedule->task_count; ++t) {
    for (int32_t a = 0; a < program->tasks[t].edge_count; ++a)
      free(program->tasks[t].after[a].pred_jobs);
    free(program->tasks[t].after);
  }
  free(program->tasks);
}

void prem_program_free(prem_program *program) {
  if (!program)
    return;
  for (int32_t b = 0; program->blocks && b < program->block_count; ++b) {
    free(program->blocks[b].memory);
    free(program->blocks[b].compute);
  }
  if (program->blocks && program->block_count > 0)
    free(program->blocks[0].task_position);
  free(program->blocks);
  free_tasks(program);
  free(program);
}

bool prem_block_memory_first(const prem_block_program *block, int32_t m, int32_t c) {
  if (m >= block->memory_count)
    return false;
  if (c >= block->compute_count)
    return true;
  return block->memory[m].start_ns <= block->compute[c].start_ns;
}
