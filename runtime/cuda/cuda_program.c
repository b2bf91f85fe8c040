/* Writing a program in the form that the executive reads. */
#include "cuda_program.h"

#include <stdlib.h>
#include <string.h>

#include "executive.h"

#define CUDA_TRY(call)                                                                             \
  do {                                                                                             \
    if ((error = (call)) != cudaSuccess)                                                           \
      goto fail;                                                                                   \
  } while (0)

cudaError_t prem_cuda_keep(prem_cuda_program *program, void **out, const void *from, size_t bytes) {
  *out = NULL;
  const size_t places = sizeof program->allocations / sizeof program->allocations[0];
  if ((size_t)program->allocation_count == places)
    return cudaErrorMemoryAllocation;
  cudaError_t error = cudaMalloc(out, bytes ? bytes : 16);
  if (error != cudaSuccess)
    return error;
  program->allocations[program->allocation_count++] = *out;
  if (bytes == 0)
    return cudaSuccess;
  return from ? cudaMemcpy(*out, from, bytes, cudaMemcpyHostToDevice) : cudaMemset(*out, 0, bytes);
}

/* ---- tasks, ports, precedence ---------------------------------------------------------------- */

typedef struct device_tables {
  prem_device_task *tasks;
  prem_device_demand *demands;
  prem_device_port *ports;
  prem_device_after *afters;
  int32_t *pred_jobs;
  int32_t port_count, after_count, pred_job_count;
} device_tables;

static void tables_free(device_tables *tables) {
  free(tables->tasks);
  free(tables->demands);
  free(tables->ports);
  free(tables->afters);
  free(tables->pred_jobs);
}

static cudaError_t tables_new(const prem_program *program, device_tables *out) {
  size_t ports = 1, afters = 1, pred_jobs = 1;
  const size_t tasks = (size_t)program->schedule->task_count;
  for (size_t t = 0; t < tasks; ++t) {
    const prem_kernel *kernel = program->schedule->tasks[t].definition;
    ports += kernel ? (size_t)kernel->port_count : 0;
    afters += (size_t)program->tasks[t].after_count;
    pred_jobs += (size_t)program->tasks[t].after_count * (size_t)program->tasks[t].jobs;
  }
  *out = (device_tables){.tasks = calloc(tasks, sizeof *out->tasks),
                         .demands = calloc(tasks, sizeof *out->demands),
                         .ports = calloc(ports, sizeof *out->ports),
                         .afters = calloc(afters, sizeof *out->afters),
                         .pred_jobs = calloc(pred_jobs, sizeof *out->pred_jobs)};
  if (!out->tasks || !out->demands || !out->ports || !out->afters || !out->pred_jobs) {
    tables_free(out);
    return cudaErrorMemoryAllocation;
  }
  return cudaSuccess;
}

static void port_fill(const prem_task *task, int32_t number, const prem_device_array *array,
                      prem_device_port *out) {
  const prem_window *window = &task->windows[number];
  const prem_port_layout *layout = &task->layout[number];
  *out = (prem_device_port){.origin = array->origin,
                            .offset_bytes = layout->offset_bytes,
                            .element_bytes = array->element_bytes,
                            .is_output = task->definition->ports[number].access == PREM_OUT};
  int32_t pitch = 1;
  for (int d = PREM_MAX_RANK - 1; d >= 0; --d) {
    prem_device_dim *dim = &out->dim[d];
    *dim = (prem_device_dim){.base = window->base[d],
                             .shape = array->shape[d],
                             .pitch_bytes = d < 3 ? array->pitch_bytes[d] : array->element_bytes,
                             .extent = window->extent[d],
                             .pitch = pitch};
    memcpy(dim->step, window->step[d], sizeof dim->step);
    pitch = d == 3 ? layout->row_bytes / array->element_bytes : pitch * window->extent[d];
  }
}

static void ports_fill(const prem_task *task, const prem_cuda_arrays *arrays, device_tables *tables,
                       prem_device_task *out) {
  out->first_port = tables->port_count;
  out->port_count = task->definition->port_count;
  for (int32_t p = 0; p < out->port_count; ++p)
    port_fill(task, p, &arrays->arrays[task->arrays[p]], &tables->ports[tables->port_count++]);
}

static void afters_fill(const prem_task_program *compiled, device_tables *tables,
                        prem_device_task *out) {
  out->first_after = tables->after_count;
  out->after_count = compiled->after_count;
  for (int32_t a = 0; a < compiled->after_count; ++a) {
    const prem_after_program *after = &compiled->after[a];
    tables->afters[tables->after_count++] = (prem_device_after){
        .task = after->task, .first_pred_job = tables->pred_job_count, .lag_ns = after->lag_ns};
    memcpy(&tables->pred_jobs[tables->pred_job_count], after->pred_jobs,
           (size_t)compiled->jobs * sizeof *after->pred_jobs);
    tables->pred_job_count += compiled->jobs;
  }
}

static void task_fill(const prem_program *program, const prem_cuda_arrays *arrays, int32_t number,
                      device_tables *tables) {
  const prem_task *task = &program->schedule->tasks[number];
  const prem_task_program *compiled = &program->tasks[number];
  prem_device_task *out = &tables->tasks[number];
  out->number = number;
  out->kernel = prem_executive_kernel(task->definition->name);
  memcpy(out->grid, task->grid, sizeof out->grid);
  out->jobs = compiled->jobs;
  out->active_blocks = compiled->active_blocks;
  out->period_ns = task->period_ns;
  out->release_ns = task->release_ns;
  memcpy(out->params, task->params, sizeof out->params);
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    for (int32_t r = 0; r < program->schedule->platform.resource_count; ++r)
      if (task->phase[phase].exists && task->phase[phase].demand)
        tables->demands[number].of[phase][r] = task->phase[phase].demand[r];
  ports_fill(task, arrays, tables, out);
  afters_fill(compiled, tables, out);
}

static cudaError_t tasks_upload(const prem_program *program, const prem_cuda_arrays *arrays,
                                prem_cuda_program *out) {
  const size_t tasks = (size_t)program->schedule->task_count;
  device_tables tables;
  cudaError_t error = tables_new(program, &tables);
  if (error != cudaSuccess)
    return error;
  int64_t first_job = 0;
  for (int32_t t = 0; t < program->schedule->task_count; ++t) {
    task_fill(program, arrays, t, &tables);
    tables.tasks[t].first_job = first_job;
    first_job += tables.tasks[t].jobs;
    tables.tasks[t].first_done = out->done_words;
    out->done_words += program->schedule->tasks[t].block_count;
    if (tables.tasks[t].port_count > out->launch.widest_task)
      out->launch.widest_task = tables.tasks[t].port_count;
  }
  out->launch.job_count = first_job;
  CUDA_TRY(
      prem_cuda_keep(out, (void **)&out->launch.tasks, tables.tasks, tasks * sizeof *tables.tasks));
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.demands, tables.demands,
                          tasks * sizeof *tables.demands));
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.ports, tables.ports,
                          (size_t)tables.port_count * sizeof *tables.ports));
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.afters, tables.afters,
                          (size_t)tables.after_count * sizeof *tables.afters));
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.pred_jobs, tables.pred_jobs,
                          (size_t)tables.pred_job_count * sizeof *tables.pred_jobs));
fail:
  tables_free(&tables);
  return error;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* What is uploaded of all blocks, each in one allocation. */
typedef struct block_tables {
  prem_device_block *blocks;
  prem_device_record *records;
  int32_t *tasks, *positions; /* of block after block */
  int64_t record_count, task_count;
} block_tables;

static void block_tables_free(block_tables *tables) {
  free(tables->blocks);
  free(tables->records);
  free(tables->positions);
}

static cudaError_t block_tables_new(const prem_program *program, prem_cuda_program *out,
                                    block_tables *tables) {
  size_t pairs = 1;
  for (int32_t t = 0; t < program->schedule->task_count; ++t)
    pairs += (size_t)program->schedule->tasks[t].block_count;
  out->block_tasks = calloc(pairs, sizeof *out->block_tasks);
  *tables =
      (block_tables){.blocks = calloc((size_t)program->block_count, sizeof *tables->blocks),
                     .records = calloc((size_t)program->record_count + 1, sizeof *tables->records),
                     .tasks = out->block_tasks,
                     .positions = calloc(pairs, sizeof *tables->positions)};
  if (tables->blocks && tables->records && tables->tasks && tables->positions)
    return cudaSuccess;
  block_tables_free(tables);
  return cudaErrorMemoryAllocation;
}

/* The executive counts a record's task among those of its block (`numbers` has them), and does no
 * division: the tile's index is worked out here. */
static prem_device_record device_record(const prem_schedule *schedule, const prem_record *from,
                                        const int32_t *numbers) {
  const int32_t *grid = schedule->tasks[from->task].grid;
  prem_device_record out = {.start_ns = from->start_ns,
                            .end_ns = from->end_ns,
                            .index = {from->tile / grid[2] / grid[1],
                                      from->tile / grid[2] % grid[1], from->tile % grid[2]},
                            .tile = from->tile,
                            .job = from->job,
                            .task = (uint16_t)numbers[from->task],
                            .phase = from->phase,
                            .flags = from->flags,
                            .in_buffer = from->in_buffer,
                            .out_buffer = from->out_buffer};
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    out.wait[phase] = from->wait[phase] == PREM_NO_WAIT ? PREM_DEVICE_NO_WAIT : from->wait[phase];
  return out;
}

static void copy_records(const prem_schedule *schedule, block_tables *tables,
                         const prem_record *from, int32_t count, const int32_t *numbers) {
  for (int32_t i = 0; i < count; ++i)
    tables->records[tables->record_count++] = device_record(schedule, &from[i], numbers);
}

static void fill_block(const prem_program *program, int32_t b, int32_t *numbers,
                       block_tables *tables, prem_cuda_program *out) {
  const prem_block_program *block = &program->blocks[b];
  prem_device_block *to = &tables->blocks[b];
  int32_t ports = 0;
  to->first_cell = tables->task_count * PREM_PHASE_COUNT;
  for (int32_t t = 0; t < program->schedule->task_count; ++t) {
    if (block->task_position[t] < 0)
      continue;
    tables->tasks[tables->task_count] = t;
    tables->positions[tables->task_count++] = block->task_position[t];
    numbers[t] = to->task_count++;
    ports += program->schedule->tasks[t].definition->port_count;
  }
  to->memory_count = block->memory_count;
  to->compute_count = block->compute_count;
  memcpy(to->phase_count, block->phase_count, sizeof to->phase_count);
  to->in_bytes = block->in_bytes;
  to->out_bytes = block->out_bytes;
  to->turns = block->turns;
  memcpy(to->in_turn, block->in_turn, sizeof to->in_turn);
  memcpy(to->out_turn, block->out_turn, sizeof to->out_turn);
  copy_records(program->schedule, tables, block->memory, block->memory_count, numbers);
  copy_records(program->schedule, tables, block->compute, block->compute_count, numbers);
  prem_launch *launch = &out->launch;
  if (to->task_count > launch->most_tasks)
    launch->most_tasks = to->task_count;
  if (ports > launch->most_ports)
    launch->most_ports = ports;
  const int64_t bytes =
      (int64_t)program->schedule->platform.buffers * (block->in_bytes + block->out_bytes);
  if (bytes > out->buffer_bytes)
    out->buffer_bytes = bytes;
}

static cudaError_t blocks_upload(const prem_program *program, prem_cuda_program *out) {
  const size_t blocks = (size_t)program->block_count;
  block_tables tables;
  prem_device_record *records = NULL;
  int32_t *tasks = NULL, *positions = NULL;
  int32_t *numbers = calloc((size_t)program->schedule->task_count, sizeof *numbers);
  cudaError_t error = numbers ? block_tables_new(program, out, &tables) : cudaErrorMemoryAllocation;
  if (error != cudaSuccess) {
    free(numbers);
    return error;
  }
  for (int32_t b = 0; b < program->block_count; ++b)
    fill_block(program, b, numbers, &tables, out);
  out->cell_count = tables.task_count * PREM_PHASE_COUNT;
  CUDA_TRY(prem_cuda_keep(out, (void **)&records, tables.records,
                          (size_t)tables.record_count * sizeof *records));
  CUDA_TRY(prem_cuda_keep(out, (void **)&tasks, tables.tasks,
                          (size_t)tables.task_count * sizeof *tasks));
  CUDA_TRY(prem_cuda_keep(out, (void **)&positions, tables.positions,
                          (size_t)tables.task_count * sizeof *positions));
  for (size_t b = 0; b < blocks; ++b) {
    prem_device_block *block = &tables.blocks[b];
    block->memory = records;
    block->compute = records + block->memory_count;
    records += block->memory_count + block->compute_count;
    block->tasks = tasks + block->first_cell / PREM_PHASE_COUNT;
    block->positions = positions + block->first_cell / PREM_PHASE_COUNT;
  }
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.blocks, tables.blocks,
                          blocks * sizeof *tables.blocks));
fail:
  block_tables_free(&tables);
  free(numbers);
  return error;
}

/* Block b belongs on SM b % sms of the platform (or of the device, where the file says nothing). */
static cudaError_t placement_upload(const prem_program *program, int32_t sm_count,
                                    prem_cuda_program *out) {
  const int32_t given = program->schedule->platform.sms;
  const int32_t sms = given > 0 && given < sm_count ? given : sm_count;
  int32_t *first = calloc((size_t)sm_count + 1, sizeof *first);
  int32_t *blocks = calloc((size_t)program->block_count, sizeof *blocks);
  cudaError_t error = cudaErrorMemoryAllocation;
  if (!first || !blocks)
    goto fail;
  int32_t next = 0;
  for (int32_t sm = 0; sm < sm_count; ++sm) {
    first[sm] = next;
    for (int32_t b = sm; sm < sms && b < program->block_count; b += sms)
      blocks[next++] = b;
    if (next - first[sm] > out->blocks_per_sm)
      out->blocks_per_sm = next - first[sm];
  }
  first[sm_count] = next;
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.sm_first, first,
                          ((size_t)sm_count + 1) * sizeof *first));
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.sm_blocks, blocks,
                          (size_t)program->block_count * sizeof *blocks));
fail:
  free(first);
  free(blocks);
  return error;
}

/* ---- what changes during a run ----------------------------------------------------------------
 */

static cudaError_t state_allocate(const prem_program *program, int32_t sm_count,
                                  prem_cuda_program *out) {
  const prem_schedule *schedule = program->schedule;
  const size_t tasks = (size_t)schedule->task_count;
  const size_t resources = (size_t)schedule->platform.resource_count;
  prem_launch *launch = &out->launch;
  cudaError_t error;
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->state, NULL, sizeof *launch->state));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->sm_claims, NULL,
                          (size_t)sm_count * sizeof *launch->sm_claims));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->block_taken, NULL,
                          (size_t)program->block_count * sizeof *launch->block_taken));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->done_jobs, NULL,
                          (size_t)out->done_words * sizeof *launch->done_jobs));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->done_at, NULL,
                          (size_t)out->done_words * sizeof *launch->done_at));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->cells, NULL,
                          (size_t)out->cell_count * sizeof *launch->cells));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->warmup_counts, NULL,
                          2 * (size_t)program->block_count * sizeof *launch->warmup_counts));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->record_counts, NULL,
                          2 * (size_t)program->block_count * sizeof *launch->record_counts));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->tokens, NULL, resources * sizeof *launch->tokens));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->gangs, NULL,
                          tasks * resources * sizeof *launch->gangs));
fail:
  return error;
}

cudaError_t prem_cuda_program_new(const prem_program *program, const prem_cuda_arrays *arrays,
                                  int32_t sm_count, prem_cuda_program *out) {
  const prem_platform *platform = &program->schedule->platform;
  *out = (prem_cuda_program){0};
  out->launch = (prem_launch){.resource_count = platform->resource_count,
                              .task_count = program->schedule->task_count,
                              .block_count = program->block_count,
                              .sm_count = sm_count,
                              .buffers = platform->buffers,
                              .hyperperiod_ns = program->hyperperiod_ns,
                              .late_ns = platform->late_ns};
  for (int32_t r = 0; r < platform->resource_count; ++r)
    if (platform->resources[r].per_task)
      out->launch.per_task_mask |= 1u << r;
  cudaError_t error;
  CUDA_TRY(tasks_upload(program, arrays, out));
  CUDA_TRY(blocks_upload(program, out));
  CUDA_TRY(placement_upload(program, sm_count, out));
  CUDA_TRY(state_allocate(program, sm_count, out));
  prem_executive_lay_out(&out->launch);
  return cudaSuccess;
fail:
  prem_cuda_program_free(out);
  return error;
}

void prem_cuda_program_free(prem_cuda_program *program) {
  for (int32_t i = 0; i < program->allocation_count; ++i)
    cudaFree(program->allocations[i]);
  free(program->block_tasks);
  *program = (prem_cuda_program){0};
}
