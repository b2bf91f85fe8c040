/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend: opening, running, closing. See cpu.h. */
#include "runtime/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "prem/base/fail.h"
#include "prem/base/list.h"

/* ---- a team --------------------------------------------------------------------------------- */

static prem_status copy_kernels(prem_cpu *cpu) {
  const prem_schedule *schedule = cpu->program->schedule;
  cpu->kernels = calloc((size_t)schedule->task_count, sizeof *cpu->kernels);
  if (!cpu->kernels)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    cpu->kernels[t].compute = schedule->tasks[t].definition->compute;
    if (schedule->tasks[t].params)
      memcpy(cpu->kernels[t].params, schedule->tasks[t].params, PREM_PARAMS_BYTES);
  }
  return PREM_OK;
}

static void *new_lines(size_t count, size_t bytes) {
  void *lines = aligned_alloc(2 * PREM_CPU_LINE_BYTES, (count * bytes + 127) / 128 * 128);
  if (lines)
    memset(lines, 0, count * bytes);
  return lines;
}

static prem_status new_counters(prem_cpu *cpu) {
  const prem_schedule *schedule = cpu->program->schedule;
  cpu->jobs_done = calloc((size_t)schedule->task_count, sizeof(prem_cpu_word *));
  if (!cpu->jobs_done)
    return PREM_ERR_MEMORY;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    cpu->jobs_done[t] =
        new_lines((size_t)schedule->tasks[t].block_count, sizeof *cpu->jobs_done[t]);
    if (!cpu->jobs_done[t])
      return PREM_ERR_MEMORY;
  }
  return PREM_OK;
}

static int32_t count_working_blocks(const prem_program *program) {
  int32_t count = 0;
  for (int32_t b = 0; b < program->block_count; ++b)
    count += program->blocks[b].memory_count + program->blocks[b].compute_count > 0;
  return count;
}

static prem_cpu_block *add_thread(prem_cpu *cpu, int32_t number, int64_t records) {
  prem_cpu_block *thread = &cpu->blocks[cpu->block_count];
  thread->cpu = cpu;
  thread->index = cpu->block_count++;
  thread->number = number;
  thread->records = records;
  thread->plan = cpu->program;
  return thread;
}

static void add_blocks(prem_cpu *cpu) {
  const prem_program *program = cpu->program;
  for (int32_t b = 0; b < program->block_count; ++b) {
    const prem_block_program *table = &program->blocks[b];
    const int64_t records = (int64_t)table->memory_count + table->compute_count;
    if (records == 0)
      continue;
    add_thread(cpu, b, records)->program = table;
  }
}

static prem_status new_threads(prem_cpu *cpu, bool untiled) {
  const int32_t count =
      untiled ? cpu->program->schedule->task_count : count_working_blocks(cpu->program);
  cpu->blocks = new_lines((size_t)count + 1, sizeof *cpu->blocks);
  if (!cpu->blocks)
    return PREM_ERR_MEMORY;
  if (untiled)
    for (int32_t t = 0; t < cpu->program->schedule->task_count; ++t)
      add_thread(cpu, t, cpu->program->tasks[t].jobs);
  else
    add_blocks(cpu);
  cpu->run_thread = untiled ? prem_cpu_run_task : prem_cpu_run_block;
  for (int32_t b = 0; b < cpu->block_count; ++b)
    if (!prem_cpu_away_new(&cpu->blocks[b]))
      return PREM_ERR_MEMORY;
  return PREM_OK;
}

/* Waits with a time limit are on the clock that nobody sets. */
static void open_gate(prem_cpu *cpu) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&cpu->mutex, NULL);
  pthread_cond_init(&cpu->go, &attributes);
  pthread_cond_init(&cpu->home, &attributes);
  pthread_condattr_destroy(&attributes);
}

void prem_cpu_release(prem_cpu *cpu) {
  if (atomic_fetch_sub_explicit(&cpu->owners, 1, memory_order_acq_rel) != 1)
    return;
  for (int32_t b = 0; cpu->blocks && b < cpu->block_count; ++b)
    free(cpu->blocks[b].absences);
  PREM_FREE(cpu->kernels, cpu->blocks, cpu);
}

static void free_team(prem_cpu *cpu) {
  if (!cpu)
    return;
  prem_cpu_team_stop(cpu);
  prem_cpu_whole_free(cpu);
  prem_cpu_tokens_free(&cpu->tokens);
  for (int32_t t = 0; cpu->jobs_done && t < cpu->program->schedule->task_count; ++t)
    free(cpu->jobs_done[t]);
  free(cpu->jobs_done);
  pthread_cond_destroy(&cpu->go);
  pthread_cond_destroy(&cpu->home);
  pthread_mutex_destroy(&cpu->mutex);
  prem_cpu_release(cpu);
}

/* `critical`: the team that best-effort tasks run beside, on the cores that it leaves. */
static void place_beside(prem_cpu *cpu, prem_cpu *critical, int32_t cores) {
  const int32_t left = cores - critical->block_count;
  cpu->critical = critical;
  cpu->oversubscribed = cpu->block_count > left;
  if (left > 0) {
    cpu->first_core = critical->block_count;
    cpu->core_count = left;
  } else {
    critical->oversubscribed = true; /* they share its cores */
  }
}

static prem_status new_team(const prem_program *program, prem_arrays *arrays, int32_t cores,
                            bool untiled, prem_cpu *critical, prem_cpu **out, prem_diag *diag) {
  *out = NULL;
  prem_cpu *cpu = new_lines(1, sizeof *cpu);
  if (!cpu)
    return PREM_ERR_MEMORY;
  cpu->program = program;
  cpu->arrays = arrays;
  atomic_store(&cpu->owners, 1);
  open_gate(cpu);
  prem_status status = new_threads(cpu, untiled);
  cpu->oversubscribed = cpu->block_count > cores;
  if (critical)
    place_beside(cpu, critical, cores);
  if (status == PREM_OK)
    status = new_counters(cpu);
  if (status == PREM_OK)
    status = prem_cpu_tokens_new(&cpu->tokens, program->schedule, !cpu->oversubscribed);
  if (status == PREM_OK)
    status = untiled ? prem_cpu_whole_new(cpu) : copy_kernels(cpu);
  if (status == PREM_OK)
    status = prem_cpu_team_start(cpu, diag);
  if (status != PREM_OK)
    free_team(cpu);
  else
    *out = cpu;
  return status;
}

void prem_cpu_reset_run(prem_cpu *cpu, const prem_run_request *request, prem_trace *trace,
                        prem_recorder *recorders) {
  const prem_schedule *schedule = cpu->program->schedule;
  cpu->request = request;
  cpu->trace = trace;
  cpu->fault.block = NULL;
  atomic_store(&cpu->fault.claimed, false);
  atomic_store(&cpu->common_start_ns.value, 0);
  atomic_store(&cpu->arrived.value, 0);
  atomic_store(&cpu->abort.value, PREM_CPU_GO_ON);
  prem_cpu_tokens_reset(&cpu->tokens);
  prem_trace_begin_periodically(trace, cpu->program->hyperperiod_ns, request->hyperperiods);
  for (int32_t t = 0; t < schedule->task_count; ++t)
    for (int32_t p = 0; p < schedule->tasks[t].block_count; ++p)
      atomic_store(&cpu->jobs_done[t][p].value, 0);
  for (int32_t b = 0; b < cpu->block_count; ++b) {
    prem_cpu_block *block = &cpu->blocks[b];
    block->recorder = recorders ? &recorders[block->number] : NULL;
    atomic_store(&block->records_done, 0);
    atomic_store(&block->waits_until_ns, 0);
    atomic_store(&block->stage, PREM_CPU_RUNNING);
  }
}

/* ---- a session ------------------------------------------------------------------------------ */

static prem_status refuse_abstract(const prem_schedule *schedule, prem_diag *diag) {
  prem_status status = PREM_OK;
  for (int32_t t = 0; t < schedule->task_count; ++t) {
    const prem_task *task = &schedule->tasks[t];
    if (task->definition)
      continue;
    prem_diag_add(diag, PREM_ERROR, 0, task->place, prem_key("tasks.%s.kernel", task->name).text,
                  "task '%s' has no kernel: it can be planned, checked and simulated only; use "
                  "--backend sim, or name a kernel of `ttprem list`",
                  task->name);
    status = PREM_ERR_INVALID;
  }
  return status;
}

static void cpu_close(void *state) {
  prem_cpu_session *session = state;
  prem_cpu_live_free(session);
  free_team(session->beside);
  free_team(session->blocks);
  free_team(session->tasks);
  free(session);
}

static prem_status cpu_open(const prem_program *program, prem_arrays *arrays,
                            const prem_machine *machine, void **state, prem_diag *diag) {
  *state = NULL;
  const prem_free_part *beside = program->beside;
  prem_status status = refuse_abstract(program->schedule, diag);
  if (status == PREM_OK && beside)
    status = refuse_abstract(beside->schedule, diag);
  if (status != PREM_OK)
    return status;
  prem_cpu_session *session = calloc(1, sizeof *session);
  if (!session)
    return PREM_ERR_MEMORY;
  session->cores = machine->max_blocks;
  status = new_team(program, arrays, session->cores, false, NULL, &session->blocks, diag);
  if (status == PREM_OK && beside)
    status = new_team(beside->program, beside->arrays, session->cores, false, session->blocks,
                      &session->beside, diag);
  if (status != PREM_OK)
    cpu_close(session);
  else
    *state = session;
  return status;
}

static prem_status run_blocks(prem_cpu_session *session, const prem_run_request *request,
                              prem_trace *trace, prem_diag *diag) {
  prem_cpu *cpu = session->blocks, *beside = session->beside;
  const prem_run_request own = prem_free_part_request(request);
  prem_recorder *recorders;
  prem_status status = prem_cpu_set_up(cpu, &request->cpu, diag);
  if (status == PREM_OK)
    status = prem_recorders_new(cpu->program, request, trace, false, &recorders);
  if (status != PREM_OK)
    return status;
  prem_cpu_reset_run(cpu, request, trace, recorders);
  if (beside)
    status = prem_cpu_beside_begin(beside, request, &own, trace->best_effort, diag);
  if (status == PREM_OK) {
    status = prem_cpu_watch(cpu, diag);
    const prem_status ended =
        beside ? prem_cpu_beside_end(beside, status, trace->best_effort, diag) : PREM_OK;
    status = status == PREM_OK || ended == PREM_ERR_MACHINE ? ended : status;
  }
  if (status == PREM_OK)
    status = prem_cpu_judge_stores(cpu, diag);
  prem_recorders_collect(cpu->program, recorders, trace);
  prem_recorders_free(recorders, cpu->program->block_count);
  const prem_status judged = prem_cpu_away_collect(cpu);
  return status == PREM_OK ? judged : status;
}

static prem_status run_tasks(prem_cpu_session *session, const prem_run_request *request,
                             prem_trace *trace, prem_diag *diag) {
  prem_status status = PREM_OK;
  if (!session->tasks)
    status = new_team(session->blocks->program, session->blocks->arrays, session->cores, true, NULL,
                      &session->tasks, diag);
  if (status == PREM_OK)
    status = prem_cpu_set_up(session->tasks, &request->cpu, diag);
  if (status != PREM_OK)
    return status;
  prem_cpu_whole_load(session->tasks);
  prem_cpu_reset_run(session->tasks, request, trace, NULL);
  status = prem_cpu_watch(session->tasks, diag);
  prem_cpu_whole_store(session->tasks);
  const prem_status judged = prem_cpu_away_collect(session->tasks);
  return status == PREM_OK ? judged : status;
}

static prem_status cpu_run(void *state, const prem_run_request *request, prem_trace *trace,
                           prem_diag *diag) {
  prem_cpu_session *session = state;
  const prem_place nowhere = {0};
  if (session->blocks->lost || (session->beside && session->beside->lost))
    return prem_fail(diag, PREM_ERR_MACHINE, 0, nowhere, "",
                     "a block of this session never came back from an earlier run; open a new one");
  return request->mode == PREM_MODE_LEGACY ? run_tasks(session, request, trace, diag)
                                           : run_blocks(session, request, trace, diag);
}

const prem_backend prem_backend_cpu = {
    .name = "cpu",
    .summary = "one pinned thread a block, real copies, the monotonic clock",
    .serves = true,
    .modes =
        1U << PREM_MODE_TT | 1U << PREM_MODE_FREE | 1U << PREM_MODE_LOCK | 1U << PREM_MODE_LEGACY,
    .probe = prem_cpu_probe,
    .open = cpu_open,
    .run = cpu_run,
    .close = cpu_close,
    .live = &prem_cpu_live_engine,
};
