/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling a plan: slots into the tables of records that the blocks execute. */
#include "runtime/core/program.h"

#include "prem/base/fail.h"
#include "prem/base/list.h"
#include "prem/base/numbers.h"
#include "prem/base/sorting.h"
#include "prem/model/modes.h"
#include "runtime/core/compilation.h"
#include "runtime/core/data_edges.h"

#include <stdlib.h>

/* ---- tasks ---------------------------------------------------------------------------------- */

static int64_t period_of(const prem_program *program, int32_t task) {
  int64_t period_ns = program->schedule->tasks[task].period_ns;
  return period_ns ? period_ns : program->hyperperiod_ns;
}

/* How many jobs of the predecessor, from the hyperperiod's first, job `job` waits for. */
static int32_t jobs_awaited(const prem_program *program, int32_t task, const prem_after *after,
                            int32_t job) {
  if (!after->latest)
    return job + 1;
  int64_t release_ns = prem_job_release_ns(program, task, job, 0);
  int64_t first_ns = prem_job_release_ns(program, after->task, 0, 0);
  return (int32_t)(prem_floor_div(release_ns - first_ns, period_of(program, after->task)) + 1);
}

static prem_status compile_after(prem_program *program, int32_t task) {
  const prem_task *source = &program->schedule->tasks[task];
  prem_task_program *out = &program->tasks[task];
  if (source->after_count == 0 || prem_task_is_off(program, task))
    return PREM_OK;
  out->after = calloc((size_t)source->after_count, sizeof *out->after);
  if (!out->after)
    return PREM_ERR_MEMORY;
  out->after_count = out->edge_count = source->after_count;
  int64_t guard_ns = program->schedule->platform.guard_ns;
  for (int32_t a = 0; a < out->after_count; ++a) {
    const prem_after *after = &source->after[a];
    prem_dependency *edge = &out->after[a];
    edge->task = after->task;
    edge->by_block = after->per_block;
    edge->lag_ns = after->lag_ns > guard_ns ? after->lag_ns : guard_ns;
    edge->needed_jobs = malloc((size_t)out->jobs * sizeof *edge->needed_jobs);
    if (!edge->needed_jobs)
      return PREM_ERR_MEMORY;
    for (int32_t job = 0; job < out->jobs; ++job)
      edge->needed_jobs[job] =
          prem_needed_jobs(program, after->task, jobs_awaited(program, task, after, job));
  }
  return PREM_OK;
}

static prem_status refuse_jobs(const prem_program *program, const prem_task *task, int64_t jobs,
                               prem_diag *diag) {
  return prem_fail(diag, PREM_ERR_INVALID, 13, task->place, task->name,
                   "%lld jobs in a hyperperiod of %lld ns; the limit is %lld phases",
                   (long long)jobs, (long long)program->hyperperiod_ns, (long long)PREM_MAX_SLOTS);
}

/* Warm-up tiles stand before everything else in a block's tables: what they would wait for might
 * stand behind them. */
static prem_status judge_warmup(const prem_program *program, const prem_task *task,
                                prem_diag *diag) {
  if (program->plan->warmup_tiles == 0 || task->period_ns || task->after_count == 0)
    return PREM_OK;
  return prem_fail(diag, PREM_ERR_INVALID, 26, task->after[0].place, task->name,
                   "comes after task '%s', but its %d warm-up tiles run before all others: leave "
                   "`warmup_tiles` or `after` out",
                   program->schedule->tasks[task->after[0].task].name, program->plan->warmup_tiles);
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

/* Only where there is work: a table of all blocks and tasks could be thousands of times as large.
 */
static prem_status place_tasks(prem_program *program) {
  const prem_schedule *schedule = program->schedule;
  size_t count = 0;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    count += (size_t)schedule->tasks[t].block_count;
  program->block_tasks = malloc(count * sizeof *program->block_tasks + 1);
  if (!program->block_tasks)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t i = 0; i < schedule->tasks[t].block_count; ++i)
      ++program->blocks[schedule->tasks[t].blocks[i]].task_count;
  prem_block_task *next = program->block_tasks;
  for (int32_t b = 0; b < program->block_count; ++b) {
    program->blocks[b].tasks = next;
    next += program->blocks[b].task_count;
    program->blocks[b].task_count = 0;
  }
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    for (int32_t position = 0; position < task->block_count; ++position) {
      prem_block_program *block = &program->blocks[task->blocks[position]];
      program->block_tasks[block->tasks - program->block_tasks + block->task_count++] =
          (prem_block_task){t, position};
      block->in_bytes = prem_max_i32(block->in_bytes, task->in_bytes);
      block->out_bytes = prem_max_i32(block->out_bytes, task->out_bytes);
    }
  }
  return PREM_OK;
}

int32_t prem_block_position(const prem_block_program *block, int32_t task) {
  int32_t low = 0, high = block->task_count;
  PREM_BISECT(low, high, middle, block->tasks[middle].task < task);
  return low < block->task_count && block->tasks[low].task == task ? block->tasks[low].position
                                                                   : -1;
}

/* ---- versions of state arrays ---------------------------------------------------------------- */

static prem_status refuse_length(const prem_program *program, const prem_task *task,
                                 prem_diag *diag) {
  return prem_fail(
      diag, PREM_ERR_INVALID, 21, program->plan->place, "plan.hyperperiod_ns",
      "is %lld ns, in which task '%s', which uses a state array, has another number of "
      "jobs than the periods make: plan again",
      (long long)program->hyperperiod_ns, task->name);
}

static prem_status find_versions(prem_program *program, prem_diag *diag) {
  prem_status status = prem_versions_new(program->schedule, &program->versions);
  for (int32_t i = 0; !status && i < program->versions.use_count; ++i) {
    const prem_version_use *use = &program->versions.uses[i];
    prem_task_program *task = &program->tasks[use->task];
    if (task->jobs != prem_task_jobs(program->schedule, &program->schedule->tasks[use->task]))
      return refuse_length(program, &program->schedule->tasks[use->task], diag);
    if (!task->versions)
      task->versions = calloc(PREM_MAX_PORTS, sizeof(prem_version_use *));
    if (!task->versions)
      return PREM_ERR_MEMORY;
    task->versions[use->port] = use;
  }
  return status;
}

const int32_t *prem_program_slots(const prem_program *program, int64_t hyperperiod,
                                  const prem_record *record, int32_t room[PREM_MAX_PORTS]) {
  const prem_version_use *const *uses = program->tasks[record->task].versions;
  if (!uses)
    return NULL;
  for (int32_t p = 0; p < PREM_MAX_PORTS; ++p)
    room[p] =
        uses[p]
            ? (int32_t)(prem_version_of(&program->versions, uses[p], hyperperiod, record->job, 0) %
                        program->versions.arrays[uses[p]->of].versions)
            : 0;
  return room;
}

/* ---- putting it together -------------------------------------------------------------------- */

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

/* ---- jobs that are left out ------------------------------------------------------------------ */

static int64_t count_off(const prem_program *program) {
  int64_t count = 0;
  for (int32_t t = 0; t < program->schedule->task_count; ++t)
    for (int p = 0; prem_task_is_off(program, t) && p < PREM_PHASE_COUNT; ++p)
      if (program->schedule->tasks[t].phase[p].exists)
        count += (int64_t)program->tasks[t].jobs * program->schedule->tasks[t].tile_count;
  return count;
}

static void put_tile_off(const prem_program *program, int32_t t, int32_t job, int32_t tile,
                         prem_slot **next, int64_t *at_ns) {
  const prem_task *task = &program->schedule->tasks[t];
  for (int p = 0; p < PREM_PHASE_COUNT; ++p)
    if (task->phase[p].exists)
      *(*next)++ = (prem_slot){.planned_ns = (*at_ns)++,
                               .task = t,
                               .job = job,
                               .tile = tile,
                               .block = task->blocks[tile % task->block_count],
                               .phase = (uint8_t)p,
                               .flags = PREM_SLOT_CHAINED | PREM_RECORD_OFF,
                               .place = -1};
}

/* Counts of phases are the same by all plans. What is left out stands behind the hyperperiod's end,
 * each phase at an instant of its own, for the order alone. */
static prem_status put_off(const prem_program *program, prem_slot **slots, int64_t *count) {
  const int64_t off = count_off(program);
  int64_t at_ns = program->hyperperiod_ns;
  if (off == 0)
    return PREM_OK;
  prem_slot *grown = reallocarray(*slots, (size_t)(*count + off), sizeof *grown);
  if (!grown)
    return PREM_ERR_MEMORY;
  *slots = grown;
  prem_slot *next = grown + *count;
  for (int32_t t = 0; t < program->schedule->task_count; ++t)
    for (int32_t job = 0; prem_task_is_off(program, t) && job < program->tasks[t].jobs; ++job)
      for (int32_t tile = 0; tile < program->schedule->tasks[t].tile_count; ++tile)
        put_tile_off(program, t, job, tile, &next, &at_ns);
  *count += off;
  return PREM_OK;
}

static prem_status compile_plan(prem_program *program, prem_diag *diag) {
  prem_slot *slots = NULL;
  int64_t count = 0;
  prem_status status = prem_plan_expand(program->schedule, program->plan, &slots, &count, diag);
  if (!status)
    status = put_off(program, &slots, &count);
  if (!status)
    status = prem_program_add_data_edges(program, slots, count);
  settle_edges(program);
  if (!status)
    status = prem_tables_make(program, slots, count, diag);
  free(slots);
  return status;
}

static prem_status compile(prem_program *program, prem_diag *diag) {
  const prem_schedule *schedule = program->schedule;
  program->hyperperiod_ns = program->plan->hyperperiod_ns;
  program->block_count = schedule->platform.blocks;
  program->blocks = calloc((size_t)program->block_count, sizeof *program->blocks);
  program->tasks = calloc((size_t)schedule->task_count, sizeof *program->tasks);
  prem_status status = program->blocks && program->tasks ? PREM_OK : PREM_ERR_MEMORY;
  if (!status)
    status = compile_tasks(program, diag);
  if (!status)
    status = find_versions(program, diag);
  if (!status)
    status = place_tasks(program);
  if (!status)
    status = compile_plan(program, diag);
  return status;
}

/* Not compiled yet. */
static prem_program *new_program(const prem_schedule *schedule, const prem_plan *plan) {
  prem_program *program = calloc(1, sizeof *program);
  if (!program)
    return NULL;
  program->schedule = schedule;
  program->plan = plan;
  program->plans = calloc(1 + (size_t)plan->mode_count, sizeof(prem_program *));
  if (!program->plans) {
    free(program);
    return NULL;
  }
  program->plans[0] = program;
  program->plan_count = 1;
  return program;
}

static prem_status finish(prem_program *program, prem_status status, prem_program **out) {
  if (status)
    prem_program_free(program);
  else
    *out = program;
  return status;
}

static bool is_possible(const prem_schedule *schedule) {
  return schedule->plan && schedule->plan->hyperperiod_ns > 0;
}

prem_status prem_program_new(const prem_schedule *schedule, prem_program **out, prem_diag *diag) {
  *out = NULL;
  if (!is_possible(schedule))
    return PREM_ERR_ARGUMENT;
  prem_program *program = new_program(schedule, schedule->plan);
  return program ? finish(program, compile(program, diag), out) : PREM_ERR_MEMORY;
}

/* ---- plans of operating modes ---------------------------------------------------------------- */

static prem_status add_plan(prem_program *program, int32_t mode, const uint32_t *off,
                            prem_diag *diag) {
  const prem_schedule *schedule = program->schedule;
  const prem_plan *plan = prem_schedule_plan_of(schedule, mode);
  if (!plan)
    return prem_fail(diag, PREM_ERR_INVALID, 51, schedule->operating_modes[mode].place,
                     "live.operating_modes", "mode '%s' has a `policy`, but no plan: plan again",
                     schedule->operating_modes[mode].name);
  prem_program *other = new_program(schedule, plan);
  if (!other)
    return PREM_ERR_MEMORY;
  program->plan_of_mode[mode] = (uint8_t)program->plan_count;
  program->plans[program->plan_count++] = other;
  other->switches = true;
  other->off = calloc((size_t)schedule->task_count, sizeof *other->off);
  if (!other->off)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t)
    other->off[t] = off[t] >> mode & 1;
  return compile(other, diag);
}

static prem_status add_plans(prem_program *program, prem_diag *diag) {
  const prem_schedule *schedule = program->schedule;
  uint32_t *off = reallocarray(NULL, (size_t)schedule->task_count, sizeof *off);
  prem_status status = off ? prem_tasks_off(schedule, off) : PREM_ERR_MEMORY;
  for (int32_t m = 0; !status && m < schedule->operating_mode_count; ++m)
    if (schedule->operating_modes[m].has_plan)
      status = add_plan(program, m, off, diag);
  free(off);
  return status;
}

prem_status prem_program_new_live(const prem_schedule *schedule, prem_program **out,
                                  prem_diag *diag) {
  *out = NULL;
  if (!prem_schedule_has_mode_plans(schedule))
    return prem_program_new(schedule, out, diag);
  if (!is_possible(schedule))
    return PREM_ERR_ARGUMENT;
  prem_program *program = new_program(schedule, schedule->plan);
  if (!program)
    return PREM_ERR_MEMORY;
  program->switches = true;
  prem_status status = compile(program, diag);
  if (!status)
    status = add_plans(program, diag);
  return finish(program, status, out);
}

/* ---- freeing -------------------------------------------------------------------------------- */

static void free_tasks(prem_program *program) {
  for (int32_t t = 0; program->tasks && t < program->schedule->task_count; ++t) {
    for (int32_t a = 0; a < program->tasks[t].edge_count; ++a)
      free(program->tasks[t].after[a].needed_jobs);
    free(program->tasks[t].after);
    free(program->tasks[t].versions);
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
  free(program->block_tasks);
  free(program->blocks);
  free_tasks(program);
  prem_versions_free(&program->versions);
  for (int32_t p = 1; p < program->plan_count; ++p)
    prem_program_free(program->plans[p]);
  PREM_FREE(program->plans, program->off, program);
}

bool prem_block_memory_first(const prem_block_program *block, int32_t m, int32_t c) {
  if (m >= block->memory_count)
    return false;
  if (c >= block->compute_count)
    return true;
  return block->memory[m].planned_ns <= block->compute[c].planned_ns;
}
