/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Best-effort tasks on the GPU: an executive of their own (device/best_effort.cuh) beside that of
 * the critical ones. Both agree on one start; it goes on until the critical one has ended. Or a
 * graph of ordinary kernels, which is launched after the critical ones.
 */
#include <stdio.h>
#include <stdlib.h>

#include "prem/base/numbers.h"
#include "runtime/core/best_effort.h"
#include "runtime/core/errand_words.h"
#include "runtime/cuda/host/asks.h"
#include "runtime/cuda/host/backend_parts.h"

static_assert((int)PREM_DEVICE_ROWS == (int)PREM_BEST_EFFORT_ROWS, "rows of ends are as many");

/* What servers cannot have here. */
static prem_status judge_server(const prem_free_part *part, const prem_task *task,
                                prem_diag *diag) {
  const prem_schedule *schedule = part->schedule;
  const int32_t most = (1 << PREM_TILE_BITS) - 1 - task->block_count;
  char key[PREM_NAME_BYTES + 16];
  snprintf(key, sizeof key, "tasks.%s", task->name);
  if (task->tile_count > most) {
    prem_diag_add(diag, PREM_ERROR, 0, task->place, key,
                  "has %d tiles, and a server on backend cuda %d at most; use larger tiles",
                  task->tile_count, most);
    return PREM_ERR_UNAVAILABLE;
  }
  for (int32_t p = 0; p < task->definition->port_count; ++p)
    if (part->arrays->servers[task->arrays[p]] >= 0 &&
        !prem_cuda_errands_rows_fit(schedule, task->arrays[p])) {
      prem_diag_add(diag, PREM_ERROR, 0, task->place, key,
                    "array '%s' has planes with halos, and an errand's own array on backend cuda "
                    "none; use an array of two dimensions, or --backend cpu",
                    schedule->arrays[task->arrays[p]].name);
      return PREM_ERR_UNAVAILABLE;
    }
  if (schedule->measure.load != PREM_LOAD_GRAPH)
    return PREM_OK;
  prem_diag_add(diag, PREM_ERROR, 0, schedule->measure.place, "measure.load",
                "\"graph\" has no servers, and task '%s' is one; remove one of them", task->name);
  return PREM_ERR_UNAVAILABLE;
}

prem_status prem_cuda_judge_beside(const prem_free_part *part, prem_diag *diag) {
  for (int32_t t = 0; part && t < part->schedule->task_count; ++t) {
    const prem_task *task = &part->schedule->tasks[t];
    char key[PREM_NAME_BYTES + 16];
    if (prem_task_is_cuda_graph(task)) /* the gate holds all of it */
      continue;
    if (task->server.capacity > 0 && judge_server(part, task, diag) != PREM_OK)
      return PREM_ERR_UNAVAILABLE;
    if (!task->definition->compatible && part->ahead_ns[t * PREM_PHASE_COUNT + PREM_COMPUTE] == 0)
      continue;
    snprintf(key, sizeof key, "tasks.%s.compute", task->name);
    prem_diag_add(diag, PREM_ERROR, 0, task->phase[PREM_COMPUTE].place, key,
                  "uses the memory, and on backend cuda the gate holds prefetches and writebacks "
                  "alone; use a kernel whose computes stay in the scratchpad, or --backend cpu");
    return PREM_ERR_UNAVAILABLE;
  }
  return PREM_OK;
}

/* What the gate asks before it opens early: of each job that a window is closed for, whether it has
 * ended on all blocks of a part. `asks`: room for PREM_DEVICE_PARTS of each. */
static void ask_for_jobs(const prem_free_part *part, const prem_device_leader *leaders,
                         prem_device_ask *asks, int32_t *from) {
  int32_t count = 0;
  for (int32_t w = 0; w < part->closed.count; ++w) {
    from[w] = count;
    for (int64_t i = part->due_from[w]; i < part->due_from[w + 1]; ++i) {
      const prem_due *due = &part->due[i];
      const prem_device_leader *leader = &leaders[due->task];
      for (int32_t p = 0; p < PREM_DEVICE_PARTS; ++p)
        if (leader->blocks[p] > 0)
          asks[count++] = (prem_device_ask){.ends = leader->ends + ((int64_t)p << leader->shift),
                                            .jobs = part->jobs[due->task],
                                            .need = due->jobs,
                                            .blocks = leader->blocks[p],
                                            .shift = leader->shift};
    }
  }
  from[part->closed.count] = count;
}

static cudaError_t jobs_load(const prem_cuda *critical) {
  prem_cuda *beside = critical->beside;
  const prem_free_part *part = beside->part;
  const size_t windows = (size_t)part->closed.count;
  const size_t room = (size_t)part->due_from[windows] * PREM_DEVICE_PARTS;
  prem_device_leader *leaders =
      calloc((size_t)critical->program->schedule->task_count + 1, sizeof *leaders);
  prem_device_ask *asks = calloc(room + 1, sizeof *asks);
  int32_t *from = calloc(windows + 1, sizeof *from);
  cudaError_t error = cudaErrorMemoryAllocation;
  if (!leaders || !asks || !from ||
      prem_asks_leaders(critical->program, critical->device.launch.ends, leaders) != PREM_OK)
    goto fail;
  ask_for_jobs(part, leaders, asks, from);
  CUDA_TRY(prem_cuda_keep(&beside->device, (void **)&beside->gated.due, asks,
                          ((size_t)from[windows] + 1) * sizeof *asks));
  CUDA_TRY(prem_cuda_keep(&beside->device, (void **)&beside->gated.due_from, from,
                          (windows + 1) * sizeof *from));
fail:
  free(leaders);
  free(asks);
  free(from);
  return error;
}

cudaError_t prem_cuda_beside_load(const prem_cuda *critical) {
  prem_cuda *beside = critical->beside;
  const prem_free_part *part = beside->part;
  prem_cuda_program *device = &beside->device;
  prem_device_gated *gated = &beside->gated;
  gated->closed = part->closed;
  cudaError_t error;
  CUDA_TRY(jobs_load(critical));
  CUDA_TRY(prem_cuda_keep(device, (void **)&gated->closed.windows, part->closed.windows,
                          (size_t)part->closed.count * sizeof *part->closed.windows));
  CUDA_TRY(prem_cuda_keep(device, (void **)&gated->held, NULL,
                          (size_t)device->cell_count * sizeof *gated->held));
  CUDA_TRY(
      prem_cuda_keep(device, (void **)&gated->ended, NULL,
                     PREM_PHASE_COUNT * (size_t)part->program->block_count * sizeof *gated->ended));
fail:
  return error;
}

/* A wait may last as long as the memory is closed, besides what the caller grants. */
static int64_t longest_closed_ns(const prem_free_part *part) {
  int64_t longest_ns = 0;
  for (int32_t w = 0; w < part->closed.count; ++w)
    longest_ns =
        prem_max_i64(longest_ns, part->closed.windows[w].end_ns - part->closed.windows[w].start_ns);
  return longest_ns;
}

static cudaError_t reset_counts(const prem_cuda *cuda) {
  const size_t phases = PREM_PHASE_COUNT * (size_t)cuda->program->block_count;
  const cudaError_t error = cudaMemset(cuda->gated.ended, 0, phases * sizeof *cuda->gated.ended);
  return error == cudaSuccess
             ? cudaMemset(cuda->gated.held, 0,
                          (size_t)cuda->device.cell_count * sizeof *cuda->gated.held)
             : error;
}

static cudaError_t prepare_tiles(prem_cuda_beside *run, const prem_run_request *request) {
  prem_cuda *cuda = run->cuda;
  const prem_run_request own = prem_free_part_request(request);
  run->blocks = calloc((size_t)cuda->program->block_count, sizeof *run->blocks);
  if (!run->blocks)
    return cudaErrorMemoryAllocation;
  cudaError_t error;
  CUDA_TRY(
      prem_cuda_get_ready(cuda, &own, run->engine, run->out->trace, run->blocks, &run->launch));
  CUDA_TRY(reset_counts(cuda));
  run->launch.hyperperiods = INT32_MAX; /* until they are stopped */
  run->launch.hyperperiod_ns = cuda->program->schedule->period_lcm_ns;
  run->launch.stall_timeout_ns += longest_closed_ns(cuda->part);
fail:
  return error;
}

/* The blocks of tiles are not launched: nobody waits for them. */
static cudaError_t leave_tiles_out(const prem_cuda *critical) {
  uint32_t others = 0;
  for (int32_t b = 0; b < critical->program->block_count; ++b)
    others += critical->device.taken[b];
  return cudaMemcpy(&critical->device.launch.state->bound, &others, sizeof others,
                    cudaMemcpyHostToDevice);
}

prem_status prem_cuda_beside_prepare(prem_cuda *critical, const prem_run_request *request,
                                     prem_engine engine, const prem_trace *trace,
                                     prem_cuda_beside *run, prem_diag *diag) {
  prem_cuda *cuda = critical->beside;
  if (!cuda)
    return PREM_OK;
  *run = (prem_cuda_beside){.cuda = cuda,
                            .critical = critical,
                            .out = trace->best_effort,
                            .engine = engine,
                            .gated = cuda->gated};
  run->gated.meeting = critical->device.launch.state;
  run->gated.counted_ns = request->hyperperiods * critical->program->hyperperiod_ns;
  run->gated.is_gated = request->mode == PREM_MODE_TT;
  const cudaError_t error =
      critical->graph_load ? leave_tiles_out(critical) : prepare_tiles(run, request);
  if (error != cudaSuccess || !critical->graph_load)
    return prem_cuda_report(error, diag, "making best-effort tasks ready");
  return critical->graph_load->ready(critical, request, &run->gated, diag);
}

/* It comes first, so that the critical blocks find room beside it alone, on each SM as planned. The
 * driver does not promise that its blocks are resident together, as it would of the other launch:
 * they wait for each other no longer than for that one's. */
cudaError_t prem_cuda_beside_launch(prem_cuda_beside *run) {
  const prem_cuda *cuda = run->cuda;
  if (!cuda || run->critical->graph_load)
    return cudaSuccess;
  void *arguments[] = {&run->launch, &run->gated};
  const dim3 grid = {(unsigned)(cuda->sm_count * cuda->device.blocks_per_sm), 1, 1};
  const dim3 threads = {(unsigned)cuda->threads, 1, 1};
  const cudaError_t error = cudaLaunchKernel(cuda->executive, grid, threads, arguments,
                                             cuda->scratch_bytes, cuda->stream);
  run->is_launched = error == cudaSuccess;
  return error;
}

prem_status prem_cuda_beside_begin(prem_cuda_beside *run, prem_diag *diag) {
  if (!run->cuda || !run->critical->graph_load)
    return PREM_OK;
  const prem_status status = run->critical->graph_load->begin(run->critical, diag);
  run->is_launched = status == PREM_OK;
  return status;
}

prem_status prem_cuda_beside_stop(prem_cuda_beside *run, const prem_run_request *request,
                                  prem_diag *diag) {
  if (!run->is_launched)
    return PREM_OK;
  if (run->critical->graph_load) { /* a thread of the host, which ends in any case */
    run->is_launched = false;
    return run->critical->graph_load->end(run->critical, run->out, diag);
  }
  if (run->cuda->gpu->loss != PREM_CUDA_THERE)
    return PREM_OK;
  const prem_cuda *cuda = run->cuda;
  const prem_run_request own = {.mode = request->mode};
  prem_device_fault fault = {0};
  run->is_launched = false;
  prem_cuda_stop_blocks(cuda);
  prem_status status = prem_cuda_watch(cuda, &own, run->engine, diag);
  if (status != PREM_OK)
    return status;
  status = prem_cuda_report(
      cudaMemcpy(&fault, &run->launch.state->fault, sizeof fault, cudaMemcpyDeviceToHost), diag,
      "asking how best-effort tasks ended");
  if (status == PREM_OK && fault.code != PREM_FAULT_NONE)
    status = prem_cuda_say_fault(cuda, &fault, diag);
  return status;
}

/* What the gate did to a task, over its blocks and phases. */
static void add_held(const prem_cuda_beside *run, const prem_device_held *held,
                     prem_best_effort_counts *counts) {
  const prem_cuda *cuda = run->cuda;
  for (int32_t b = 0; b < cuda->program->block_count; ++b)
    for (int32_t i = 0; i < run->blocks[b].task_count * PREM_PHASE_COUNT; ++i) {
      const int64_t at = run->blocks[b].first_cell;
      const prem_device_held *of = &held[at + i];
      prem_best_effort_counts *to =
          &counts[cuda->device.block_tasks[at / PREM_PHASE_COUNT + i / PREM_PHASE_COUNT]];
      to->waits += (int64_t)of->waits;
      to->wait_ns += (int64_t)of->wait_ns;
      to->overruns += (int64_t)of->overruns;
      int64_t *drain_ns = &to->drain_ns[i % PREM_PHASE_COUNT];
      *drain_ns = prem_max_i64(*drain_ns, of->drain_ns);
      if (of->by_ns > to->longest.by_ns)
        to->longest = (prem_gate_overrun){.at_ns = of->at_ns,
                                          .by_ns = of->by_ns,
                                          .block = b,
                                          .tile = of->tile,
                                          .into = cuda->part->closed_for[of->window],
                                          .phase = (prem_phase)(i % PREM_PHASE_COUNT)};
    }
}

static cudaError_t collect_counts(const prem_cuda_beside *run, prem_best_effort_trace *out) {
  const prem_cuda *cuda = run->cuda;
  const size_t cells = (size_t)cuda->device.cell_count;
  const size_t phases = PREM_PHASE_COUNT * (size_t)cuda->program->block_count;
  prem_device_held *held = calloc(cells + 1, sizeof *held);
  int64_t *ended = calloc(phases + 1, sizeof *ended);
  cudaError_t error = cudaErrorMemoryAllocation;
  if (!held || !ended)
    goto fail;
  CUDA_TRY(cudaMemcpy(held, cuda->gated.held, cells * sizeof *held, cudaMemcpyDeviceToHost));
  CUDA_TRY(cudaMemcpy(ended, cuda->gated.ended, phases * sizeof *ended, cudaMemcpyDeviceToHost));
  add_held(run, held, out->counts);
  out->trace->hyperperiods = prem_free_part_count(cuda->part, ended, out->counts);
  if (out->trace->hyperperiods < 0)
    error = cudaErrorMemoryAllocation;
fail:
  free(held);
  free(ended);
  return error;
}

cudaError_t prem_cuda_beside_collect(const prem_cuda_beside *run, int64_t length_ns,
                                     prem_trace *trace) {
  const prem_cuda *cuda = run->cuda;
  if (!cuda)
    return cudaSuccess;
  prem_best_effort_trace *out = trace->best_effort;
  out->length_ns = length_ns;
  if (run->critical->graph_load)
    return cudaSuccess;
  out->gated = run->gated.is_gated;
  out->open_share = cuda->part->open_share;
  cudaError_t error;
  CUDA_TRY(prem_cuda_collect_phases(cuda, run->blocks, out->trace));
  CUDA_TRY(cudaMemcpy(out->trace->job_end_ns, cuda->ends_room,
                      (size_t)(PREM_DEVICE_ROWS * out->trace->job_count) *
                          sizeof *out->trace->job_end_ns,
                      cudaMemcpyDeviceToHost));
  CUDA_TRY(collect_counts(run, out));
fail:
  return error;
}

void prem_cuda_beside_free(prem_cuda_beside *run) {
  free(run->blocks);
  *run = (prem_cuda_beside){0};
}
