/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a program in the form that the executive reads. */
#include "runtime/cuda/host/program.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/best_effort.h"
#include "runtime/cuda/device/executive.h"
#include "runtime/cuda/host/asks.h"
#include "runtime/cuda/host/tensor_map.h"

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
  unsigned char (*maps)[PREM_TENSOR_MAP_BYTES]; /* one a port */
  int32_t port_count;
} device_tables;

static void tables_free(device_tables *tables) {
  free(tables->tasks);
  free(tables->demands);
  free(tables->ports);
  free(tables->maps);
}

/* A work area is seen like a port behind the others that nothing is moved through. */
static int32_t view_count(const prem_task *task) {
  return task->definition->port_count + (task->work_bytes > 0);
}

static cudaError_t tables_new(const prem_program *program, device_tables *out) {
  size_t ports = 1;
  const size_t tasks = (size_t)program->schedule->task_count;
  for (size_t t = 0; t < tasks; ++t) {
    const prem_task *task = &program->schedule->tasks[t];
    ports += task->definition ? (size_t)view_count(task) : 0;
  }
  *out = (device_tables){.tasks = calloc(tasks, sizeof *out->tasks),
                         .demands = calloc(tasks, sizeof *out->demands),
                         .ports = calloc(ports, sizeof *out->ports),
                         .maps = calloc(ports, sizeof *out->maps)};
  if (!out->tasks || !out->demands || !out->ports || !out->maps) {
    tables_free(out);
    return cudaErrorMemoryAllocation;
  }
  return cudaSuccess;
}

static void port_fill(const prem_task *task, int32_t number, const prem_device_array *array,
                      prem_device_port *out) {
  const prem_window *window = &task->windows[number];
  const prem_port_layout *layout = &task->layout[number];
  *out = (prem_device_port){.offset_bytes = layout->offset_bytes,
                            .element_bytes = array->element_bytes,
                            .is_output = task->definition->ports[number].access == PREM_OUT,
                            .aim = window->aim};
  int32_t pitch = 1;
  for (int d = PREM_MAX_RANK - 1; d >= 0; --d) {
    prem_device_dim *dim = &out->dim[d];
    *dim = (prem_device_dim){.base = window->base[d],
                             .shape = array->shape[d],
                             .pitch_bytes = d < 3 ? array->pitch_bytes[d] : array->element_bytes,
                             .extent = window->extent[d],
                             .pitch = pitch};
    memcpy(dim->step, window->step[d], sizeof dim->step);
    if (d < 2)
      out->scratch_pitch[d] = pitch * array->element_bytes;
    pitch = d == 3 ? layout->row_bytes / array->element_bytes : pitch * window->extent[d];
  }
}

static void work_area_fill(const prem_task *task, prem_device_port *out) {
  *out = (prem_device_port){.offset_bytes = task->layout[task->definition->port_count].offset_bytes,
                            .element_bytes = 1,
                            .is_output = !task->work_is_input};
  for (int d = 0; d < PREM_MAX_RANK; ++d) {
    const int32_t bytes = d == PREM_MAX_RANK - 1 ? task->work_bytes : 1;
    out->dim[d] = (prem_device_dim){.shape = bytes, .extent = bytes, .pitch = task->work_bytes};
  }
}

/* A compatible interval's views lie in its arrays. */
static void ports_place(const prem_task *task, const prem_cuda_arrays *arrays,
                        prem_device_port *ports) {
  for (int32_t p = 0; p < task->definition->port_count; ++p) {
    const prem_device_array *array = &arrays->arrays[task->arrays[p]];
    ports[p].array = array->origin;
    for (int d = 0; d < PREM_MAX_RANK - 1; ++d)
      ports[p].dim[d].pitch = (int32_t)(array->pitch_bytes[d] / array->element_bytes);
  }
}

int32_t prem_cuda_views_make(const prem_task *task, const prem_cuda_arrays *arrays,
                             prem_device_port *out) {
  const int32_t ports = task->definition->port_count;
  for (int32_t p = 0; p < ports; ++p)
    port_fill(task, p, &arrays->arrays[task->arrays[p]], &out[p]);
  if (task->definition->compatible)
    ports_place(task, arrays, out);
  if (task->work_bytes > 0)
    work_area_fill(task, &out[ports]);
  return view_count(task);
}

static void ports_fill(const prem_task *task, const prem_cuda_arrays *arrays, device_tables *tables,
                       prem_device_task *out) {
  prem_device_port *ports = &tables->ports[tables->port_count];
  out->first_port = tables->port_count;
  out->port_count = prem_cuda_views_make(task, arrays, ports);
  for (int32_t p = 0; p < task->definition->port_count; ++p) {
    unsigned char *map = tables->maps[tables->port_count + p];
    if (!task->definition->compatible && task->windows[p].aim == 0 &&
        !prem_cuda_is_of_errands(arrays->host, task->arrays[p]) &&
        prem_tensor_map_make(&arrays->arrays[task->arrays[p]], &task->windows[p],
                             task->layout[p].row_bytes, map))
      ports[p].map = map;
  }
  tables->port_count += out->port_count;
}

/* What a task takes in mode lock. Of a resource that counts tasks, all its blocks share what the
 * first one took, whatever their phases: so every phase that uses it takes the most that one needs.
 */
static void demand_fill(const prem_platform *platform, const prem_task *task,
                        prem_device_demand *out) {
  for (int32_t r = 0; r < platform->resource_count; ++r) {
    int32_t max = 0;
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      if (task->phase[phase].exists && task->phase[phase].demand)
        out->of[phase][r] = task->phase[phase].demand[r];
      if (out->of[phase][r] > max)
        max = out->of[phase][r];
    }
    for (int phase = 0; platform->resources[r].per_task && phase < PREM_PHASE_COUNT; ++phase)
      if (out->of[phase][r] > 0)
        out->of[phase][r] = max;
  }
}

static void task_fill(const prem_program *program, const prem_cuda_arrays *arrays, int32_t number,
                      device_tables *tables) {
  const prem_task *task = &program->schedule->tasks[number];
  prem_device_task *out = &tables->tasks[number];
  out->number = number;
  out->kernel = prem_executive_kernel(task->definition->name, task->definition->compatible);
  out->jobs = program->tasks[number].jobs;
  memcpy(out->params, task->params, sizeof out->params);
  demand_fill(&program->schedule->platform, task, &tables->demands[number]);
  ports_fill(task, arrays, tables, out);
}

static cudaError_t asks_upload(const prem_program *program, prem_device_task *tasks,
                               prem_cuda_program *out) {
  const prem_asks_watch watch = out->gates        ? PREM_ASKS_OF_COURIER
                                : program->beside ? PREM_ASKS_OF_GATE
                                                  : PREM_ASKS_OF_TASKS;
  prem_device_ask *asks = NULL;
  int64_t count = 0;
  cudaError_t error = cudaErrorMemoryAllocation;
  out->end_words = prem_asks_words(program, watch);
  if (out->end_words < 0)
    goto fail;
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.ends, NULL,
                          (size_t)out->end_words * sizeof *out->launch.ends));
  const prem_status status = prem_asks_make(program, watch, out->launch.ends, tasks, &asks, &count);
  error = status == PREM_OK           ? cudaSuccess
          : status == PREM_ERR_MEMORY ? cudaErrorMemoryAllocation
                                      : cudaErrorInvalidValue;
  if (error == cudaSuccess)
    error = prem_cuda_keep(out, (void **)&out->launch.asks, asks,
                           (size_t)(count * program->plan_count) * sizeof *asks);
  out->asks_of_plan = count;
fail:
  free(asks);
  return error;
}

static cudaError_t tasks_upload(const prem_program *program, const prem_cuda_arrays *arrays,
                                prem_cuda_program *out) {
  const size_t tasks = (size_t)program->schedule->task_count;
  device_tables tables;
  out->mapped = calloc(tasks * PREM_MAX_PORTS, sizeof *out->mapped);
  cudaError_t error = out->mapped ? tables_new(program, &tables) : cudaErrorMemoryAllocation;
  if (error != cudaSuccess)
    return error;
  int64_t first_job = 0;
  for (int32_t t = 0; t < program->schedule->task_count; ++t) {
    task_fill(program, arrays, t, &tables);
    tables.tasks[t].first_job = first_job;
    first_job += tables.tasks[t].jobs;
    /* inputs; outputs, and behind them what takes the first input's place in a later turn */
    int32_t widths[2] = {0, program->schedule->tasks[t].server.turns > 1};
    for (int32_t p = 0; p < tables.tasks[t].port_count; ++p) {
      const prem_device_port *port = &tables.ports[tables.tasks[t].first_port + p];
      ++widths[port->is_output];
      out->mapped[t * PREM_MAX_PORTS + p] =
          !program->schedule->tasks[t].definition->compatible && port->map != NULL;
    }
    if (tables.tasks[t].port_count > out->launch.max_views)
      out->launch.max_views = tables.tasks[t].port_count;
    for (int side = 0; side < 2; ++side)
      if (widths[side] > out->launch.max_moves)
        out->launch.max_moves = widths[side];
  }
  out->launch.job_count = first_job;
  const void *maps = NULL;
  const size_t map_bytes = (size_t)tables.port_count * sizeof *tables.maps;
  CUDA_TRY(prem_cuda_keep(out, (void **)&maps, tables.maps, map_bytes));
  for (size_t t = 0; t < tasks; ++t)
    for (int32_t p = tables.tasks[t].first_port;
         p < tables.tasks[t].first_port + tables.tasks[t].port_count; ++p)
      if (!program->schedule->tasks[t].definition->compatible && tables.ports[p].map)
        tables.ports[p].map = (const unsigned char *)maps + (size_t)p * sizeof *tables.maps;
  CUDA_TRY(asks_upload(program, tables.tasks, out));
  CUDA_TRY(
      prem_cuda_keep(out, (void **)&out->launch.tasks, tables.tasks, tasks * sizeof *tables.tasks));
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.demands, tables.demands,
                          tasks * sizeof *tables.demands));
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.ports, tables.ports,
                          (size_t)tables.port_count * sizeof *tables.ports));
fail:
  tables_free(&tables);
  return error;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* What is uploaded of all blocks, each in one allocation. */
typedef struct block_tables {
  prem_device_block *blocks; /* by each plan, [plan][block] */
  prem_device_record *records;
  prem_device_move *moves; /* of the memory phases, launch.max_moves each */
  int32_t *tasks;          /* of block after block */
  int64_t record_count, memory_count, task_count;
} block_tables;

static void block_tables_free(block_tables *tables) {
  free(tables->blocks);
  free(tables->records);
  free(tables->moves);
}

static cudaError_t block_tables_new(const prem_program *program, prem_cuda_program *out,
                                    block_tables *tables) {
  const size_t plans = (size_t)program->plan_count;
  size_t pairs = 1, memory_phases = 0;
  for (int32_t t = 0; t < program->schedule->task_count; ++t)
    pairs += (size_t)program->schedule->tasks[t].block_count;
  for (int32_t b = 0; b < program->block_count; ++b)
    memory_phases += (size_t)program->blocks[b].memory_count; /* by all plans the same */
  const size_t moves = plans * memory_phases * (size_t)out->launch.max_moves;
  out->block_tasks = calloc(pairs, sizeof *out->block_tasks);
  *tables = (block_tables){
      .blocks = calloc(plans * (size_t)program->block_count, sizeof *tables->blocks),
      .records = calloc(plans * (size_t)program->record_count + 1, sizeof *tables->records),
      .moves = calloc(moves + 1, sizeof *tables->moves),
      .tasks = out->block_tasks};
  if (tables->blocks && tables->records && tables->moves && tables->tasks)
    return cudaSuccess;
  block_tables_free(tables);
  return cudaErrorMemoryAllocation;
}

/* Rows that follow each other without a gap, in the array and in the scratchpad, are one row. One
 * row of whole pieces is a span. */
static void rows_join(prem_device_move *move) {
  enum { PIECE = 16 };
  if (move->planes[0] != 1 || move->planes[1] != 1 || move->width_bytes % PIECE != 0 ||
      move->width_bytes == 0 || (uintptr_t)move->array % PIECE != 0)
    return;
  if (move->pitch_bytes == move->width_bytes && move->scratch_pitch == move->width_bytes) {
    move->width_bytes *= move->rows;
    move->rows = move->rows > 0;
  }
  if (move->rows == 1)
    move->box_at[0] = PREM_MOVE_SPAN;
}

/* The copy of a tile's window: where it begins, how many rows of how many bytes. The device's
 * prem_window_at() says the same of views. What is written back are whole words: of shorter
 * elements prem_judge_words() has seen to it that only room between rows is written with them. */
static prem_device_move device_move(const prem_task *task, int32_t port, int32_t first_port,
                                    bool mapped, const prem_device_array *array,
                                    const int32_t *index) {
  enum { PIECE = 16, WORD = 4 };
  const prem_window *window = &task->windows[port];
  const bool is_output = task->definition->ports[port].access == PREM_OUT;
  int64_t origin[4], extent[4];
  for (int d = 0; d < 4; ++d) {
    int64_t at = window->base[d];
    for (int k = 0; k < PREM_MAX_GRID; ++k)
      at += window->step[d][k] * index[k];
    int64_t end = at + window->extent[d];
    if (is_output && at < 0)
      at = 0;
    if (is_output && end > array->shape[d])
      end = array->shape[d];
    origin[d] = at;
    extent[d] = end > at ? end - at : 0;
  }
  const int64_t first_byte = origin[3] * array->element_bytes;
  const int64_t lead = ((first_byte % PIECE) + PIECE) % PIECE;
  const int64_t bytes = extent[3] * array->element_bytes;
  const int64_t before = is_output ? 0 : lead;
  prem_device_move move = {.array = array->origin + origin[0] * array->pitch_bytes[0] +
                                    origin[1] * array->pitch_bytes[1] +
                                    origin[2] * array->pitch_bytes[2] + first_byte - before,
                           .scratch_at = task->layout[port].offset_bytes + (int32_t)(lead - before),
                           .width_bytes =
                               (int32_t)(is_output ? (bytes + WORD - 1) / WORD * WORD
                                                   : (lead + bytes + PIECE - 1) / PIECE * PIECE),
                           .pitch_bytes = (int32_t)array->pitch_bytes[2],
                           .scratch_pitch = task->layout[port].row_bytes,
                           .rows = (uint16_t)extent[2],
                           .planes = {(uint16_t)extent[0], (uint16_t)extent[1]},
                           .port = (uint16_t)(first_port + port)};
  const bool is_box = mapped && prem_tensor_map_place(array, window, is_output, &move);
  if (!is_box)
    move.box_at[0] = PREM_MOVE_ROWS;
  if (window->aim) /* wherever it will begin, as many pieces */
    move.width_bytes = task->layout[port].row_bytes;
  else if (!is_box)
    rows_join(&move);
  return move;
}

static bool has_aims(const prem_task *task) {
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    if (task->windows[p].aim != 0)
      return true;
  return false;
}

/* What the records of a block need to know of its tasks. */
typedef struct block_task {
  int32_t number;     /* among the tasks of the block */
  int32_t first_port; /* in the block's scratchpad */
} block_task;

static uint32_t window_of(const prem_record *record) {
  const int64_t window_ns = record->planned_end_ns - record->planned_ns;
  return window_ns < UINT32_MAX ? (uint32_t)window_ns : UINT32_MAX;
}

static void tile_index(const prem_task *task, int32_t tile, int32_t index[PREM_MAX_GRID]) {
  const int32_t *grid = task->grid;
  index[0] = tile / grid[2] / grid[1];
  index[1] = tile / grid[2] % grid[1];
  index[2] = tile % grid[2];
}

static prem_device_record device_record(const prem_program *program, const prem_cuda_program *to,
                                        const prem_record *from, const block_task *tasks) {
  const int32_t *gates = to->gates;
  const bool follows = program->tasks[from->task].edge_count > 0;
  prem_device_record out = {.start_ns = from->planned_ns,
                            .job_release_ns =
                                prem_job_release_ns(program, from->task, from->job, 0),
                            .window_ns = window_of(from),
                            .tile = from->tile,
                            .job = from->job,
                            .task = (uint16_t)tasks[from->task].number,
                            .phase = from->phase,
                            .flags = from->flags,
                            .in_buffer = from->in_buffer,
                            .out_buffer = from->out_buffer,
                            .at_memory = prem_record_is_at_memory(program->schedule, from) &&
                                         !(from->flags & PREM_SLOT_WARMUP)};
  tile_index(&program->schedule->tasks[from->task], from->tile, out.index);
  if (gates && gates[from->task] > 0) {
    out.at_memory |= PREM_DEVICE_GATED;
    if (program->schedule->tasks[from->task].phase[PREM_WRITEBACK].exists)
      out.at_memory |= PREM_DEVICE_STORES;
  }
  if (gates && has_aims(&program->schedule->tasks[from->task]))
    out.at_memory |= PREM_DEVICE_AIMED;
  if (to->ahead)
    out.start_ns = to->ahead[from->task * PREM_PHASE_COUNT + from->phase];
  if (!follows)
    out.flags &= (uint8_t)~PREM_RECORD_AFTER;
  for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
    out.wait[phase] = from->wait[phase] == PREM_NO_WAIT ? PREM_DEVICE_NO_WAIT : from->wait[phase];
  return out;
}

/* What the copies of a prefetch bring. */
static int32_t move_bytes(const prem_device_move *move) {
  const int32_t rows = move->rows * move->planes[0] * move->planes[1];
  return rows * (move->box_at[0] < 0 ? move->width_bytes : move->scratch_pitch);
}

/* A memory phase and its copies. */
static void memory_record(const prem_program *program, const prem_cuda_arrays *arrays,
                          const prem_cuda_program *out, const prem_record *from,
                          const block_task *tasks, prem_device_record *record,
                          prem_device_move *moves) {
  const prem_task *task = &program->schedule->tasks[from->task];
  const prem_access access = from->phase == PREM_PREFETCH ? PREM_IN : PREM_OUT;
  *record = device_record(program, out, from, tasks);
  for (int32_t port = 0; port < task->definition->port_count; ++port) {
    if (task->definition->ports[port].access != access)
      continue;
    const prem_device_move move = device_move(task, port, tasks[from->task].first_port,
                                              out->mapped[from->task * PREM_MAX_PORTS + port],
                                              &arrays->arrays[task->arrays[port]], record->index);
    if (access == PREM_IN)
      record->fetch_bytes += move_bytes(&move);
    moves[record->move_count++] = move;
  }
}

void prem_cuda_tile_make(const prem_program *program, const prem_cuda_arrays *arrays,
                         const prem_cuda_program *to, int32_t task, int32_t tile,
                         prem_device_record *record, prem_device_move *moves) {
  const prem_task *of = &program->schedule->tasks[task];
  const prem_block_program *block = &program->blocks[of->blocks[0]];
  block_task at = {0}; /* on each of its blocks the same */
  while (block->tasks[at.number].task != task)
    at.first_port += view_count(&program->schedule->tasks[block->tasks[at.number++].task]);
  *record = (prem_device_record){.tile = tile, .task = (uint16_t)at.number};
  tile_index(of, tile, record->index);
  int32_t count = 0;
  for (int side = 0; side < 2; ++side)
    for (int32_t port = 0; port < of->definition->port_count; ++port) {
      if ((of->definition->ports[port].access == PREM_OUT) != (side == 1))
        continue;
      moves[count] = device_move(of, port, at.first_port, to->mapped[task * PREM_MAX_PORTS + port],
                                 &arrays->arrays[of->arrays[port]], record->index);
      record->fetch_bytes += side ? 0 : move_bytes(&moves[count]);
      ++count;
    }
  if (of->server.turns > 1) { /* where its own output lies, as if the first input were there */
    const prem_turn_ports turn = prem_kernel_turn_ports(of->definition);
    moves[count] = device_move(of, turn.from, at.first_port, false,
                               &arrays->arrays[of->arrays[turn.to]], record->index);
    moves[count].port = (uint16_t)(at.first_port + turn.to); /* whose planes they are */
  }
}

/* Best-effort tasks have a table of prefetches and one of writebacks, all others one of both. */
static void copy_records(const prem_program *program, const prem_cuda_arrays *arrays,
                         const prem_block_program *block, const block_task *tasks,
                         const prem_cuda_program *out, block_tables *tables) {
  for (int of_stores = 0; of_stores < 2; ++of_stores)
    for (int32_t i = 0; i < block->memory_count; ++i)
      if (of_stores == (out->ahead && block->memory[i].phase == PREM_WRITEBACK))
        memory_record(program, arrays, out, &block->memory[i], tasks,
                      &tables->records[tables->record_count++],
                      &tables->moves[tables->memory_count++ * out->launch.max_moves]);
  for (int32_t i = 0; i < block->compute_count; ++i)
    tables->records[tables->record_count++] =
        device_record(program, out, &block->compute[i], tasks);
}

static void fill_block(const prem_program *program, const prem_cuda_arrays *arrays, int32_t b,
                       block_task *tasks, block_tables *tables, prem_device_block *to,
                       prem_cuda_program *out) {
  const prem_block_program *block = &program->blocks[b];
  int32_t ports = 0;
  to->first_cell = tables->task_count * PREM_PHASE_COUNT;
  for (int32_t i = 0; i < block->task_count; ++i) {
    const int32_t t = block->tasks[i].task;
    tables->tasks[tables->task_count++] = t;
    tasks[t] = (block_task){.number = to->task_count++, .first_port = ports};
    ports += view_count(&program->schedule->tasks[t]);
  }
  to->store_count = out->ahead ? block->phase_count[PREM_WRITEBACK] : 0;
  to->memory_count = block->memory_count - to->store_count;
  to->compute_count = block->compute_count;
  memcpy(to->phase_count, block->phase_count, sizeof to->phase_count);
  to->in_bytes = block->in_bytes;
  to->out_bytes = block->out_bytes;
  to->rotates = block->turns;
  memcpy(to->in_rotation, block->in_turn, sizeof to->in_rotation);
  memcpy(to->out_rotation, block->out_turn, sizeof to->out_rotation);
  copy_records(program, arrays, block, tasks, out, tables);
  prem_launch *launch = &out->launch;
  if (to->task_count > launch->max_tasks)
    launch->max_tasks = to->task_count;
  if (ports > launch->max_ports)
    launch->max_ports = ports;
  const int64_t bytes =
      (int64_t)program->schedule->platform.buffers * (block->in_bytes + block->out_bytes);
  if (bytes > out->buffer_bytes)
    out->buffer_bytes = bytes;
}

static cudaError_t blocks_upload(const prem_program *program, const prem_cuda_arrays *arrays,
                                 prem_cuda_program *out) {
  const size_t blocks = (size_t)program->plan_count * (size_t)program->block_count;
  block_tables tables;
  prem_device_record *records = NULL;
  prem_device_move *moves = NULL;
  int32_t *tasks = NULL;
  block_task *block_tasks = calloc((size_t)program->schedule->task_count, sizeof *block_tasks);
  cudaError_t error =
      block_tasks ? block_tables_new(program, out, &tables) : cudaErrorMemoryAllocation;
  if (error != cudaSuccess) {
    free(block_tasks);
    return error;
  }
  for (int32_t p = 0; p < program->plan_count; ++p) {
    tables.task_count = 0; /* by all plans they have the same */
    for (int32_t b = 0; b < program->block_count; ++b)
      fill_block(program->plans[p], arrays, b, block_tasks, &tables,
                 &tables.blocks[p * program->block_count + b], out);
  }
  out->cell_count = tables.task_count * PREM_PHASE_COUNT;
  CUDA_TRY(prem_cuda_keep(out, (void **)&records, tables.records,
                          (size_t)tables.record_count * sizeof *records));
  CUDA_TRY(
      prem_cuda_keep(out, (void **)&moves, tables.moves,
                     (size_t)tables.memory_count * (size_t)out->launch.max_moves * sizeof *moves));
  CUDA_TRY(prem_cuda_keep(out, (void **)&tasks, tables.tasks,
                          (size_t)tables.task_count * sizeof *tasks));
  for (size_t b = 0; b < blocks; ++b) {
    prem_device_block *block = &tables.blocks[b];
    const int32_t moved = block->memory_count + block->store_count;
    block->memory = records;
    block->store = records + block->memory_count;
    block->compute = records + moved;
    records += moved + block->compute_count;
    block->moves = moves;
    moves += (int64_t)moved * out->launch.max_moves;
    block->tasks = tasks + block->first_cell / PREM_PHASE_COUNT;
  }
  CUDA_TRY(prem_cuda_keep(out, (void **)&out->launch.blocks, tables.blocks,
                          blocks * sizeof *tables.blocks));
fail:
  block_tables_free(&tables);
  free(block_tasks);
  return error;
}

static bool has_tasks(const prem_program *program, int32_t block) {
  return program->blocks[block].task_count > 0;
}

/* Of two launches that run beside each other each has the blocks of its tasks, and where
 * best-effort ones are left out theirs take no room. In other schedules blocks without a task do,
 * so that parts of a schedule run as the whole does. */
static cudaError_t share_blocks(const prem_program *program, const prem_free_part *part,
                                prem_cuda_program *out) {
  if (!part && !program->beside && !program->schedule->platform.best_effort.left_out)
    return cudaSuccess;
  const prem_program *other = part || !program->beside ? NULL : program->beside->program;
  out->taken = calloc((size_t)program->block_count, sizeof *out->taken);
  if (!out->taken)
    return cudaErrorMemoryAllocation;
  for (int32_t b = 0; b < program->block_count; ++b) {
    out->taken[b] = !has_tasks(program, b);
    out->bound += out->taken[b] && !(other && has_tasks(other, b));
  }
  return cudaSuccess;
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
      if (!out->taken || !out->taken[b])
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

/* ---- what changes during a run --------------------------------------------------------------- */

static cudaError_t state_allocate(const prem_program *program, int32_t sm_count,
                                  prem_cuda_program *out) {
  const prem_schedule *schedule = program->schedule;
  const size_t tasks = (size_t)schedule->task_count;
  const size_t resources = (size_t)schedule->platform.resource_count;
  prem_launch *launch = &out->launch;
  cudaError_t error;
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->state, NULL, sizeof *launch->state));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->late, NULL, sizeof *launch->late));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->sm_claims, NULL,
                          (size_t)sm_count * sizeof *launch->sm_claims));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->block_taken, NULL,
                          (size_t)program->block_count * sizeof *launch->block_taken));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->cells, NULL,
                          (size_t)out->cell_count * sizeof *launch->cells));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->warmup_counts, NULL,
                          PREM_PHASE_COUNT * (size_t)program->block_count *
                              sizeof *launch->warmup_counts));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->record_counts, NULL,
                          PREM_PHASE_COUNT * (size_t)program->block_count *
                              sizeof *launch->record_counts));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->tokens, NULL, resources * sizeof *launch->tokens));
  CUDA_TRY(prem_cuda_keep(out, (void **)&launch->gangs, NULL,
                          tasks * resources * sizeof *launch->gangs));
fail:
  return error;
}

/* Behind all else in the scratchpad, before the buffers: the gates of a block's tasks. */
static void lay_out_gates(const prem_program *program, prem_cuda_program *out) {
  enum { ALIGNMENT = 128 };
  int64_t most = 0;
  for (int32_t b = 0; b < program->block_count; ++b) {
    int64_t gates = 0;
    for (int32_t i = 0; i < program->blocks[b].task_count; ++i)
      gates += out->gates[program->blocks[b].tasks[i].task];
    most = gates > most ? gates : most;
  }
  prem_launch *launch = &out->launch;
  out->live_tasks_at = launch->buffers_at;
  out->live_gates_at =
      out->live_tasks_at + launch->max_tasks * (int32_t)sizeof(prem_device_live_task);
  const int64_t end = out->live_gates_at + most * (int64_t)sizeof(prem_device_gate);
  launch->buffers_at = (int32_t)((end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

cudaError_t prem_cuda_program_new(const prem_program *program, const prem_cuda_arrays *arrays,
                                  int32_t sm_count, const int32_t *gates,
                                  const prem_free_part *part, prem_cuda_program *out) {
  const prem_platform *platform = &program->schedule->platform;
  *out = (prem_cuda_program){.gates = gates, .ahead = part ? part->ahead_ns : NULL};
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
  CUDA_TRY(blocks_upload(program, arrays, out));
  CUDA_TRY(share_blocks(program, part, out));
  CUDA_TRY(placement_upload(program, sm_count, out));
  CUDA_TRY(state_allocate(program, sm_count, out));
  prem_executive_lay_out(&out->launch, gates   ? prem_executive_live_bytes()
                                       : !part ? prem_executive_bytes()
                                       : prem_errands_make(part->errands)
                                           ? prem_executive_making_bytes()
                                       : part->errands ? prem_executive_serving_bytes()
                                                       : prem_executive_gated_bytes());
  if (gates)
    lay_out_gates(program, out);
  out->gates = NULL;
  return cudaSuccess;
fail:
  prem_cuda_program_free(out);
  return error;
}

void prem_cuda_program_free(prem_cuda_program *program) {
  for (int32_t i = 0; i < program->allocation_count; ++i)
    cudaFree(program->allocations[i]);
  free(program->block_tasks);
  free(program->mapped);
  free(program->taken);
  *program = (prem_cuda_program){0};
}
