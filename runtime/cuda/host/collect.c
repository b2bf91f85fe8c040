/* SPDX-License-Identifier: Apache-2.0 */
/* After a run: records, stats and counts from device memory to the trace. */
#include "runtime/cuda/host/live.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GAP = 1024 /* records: as long under way as a copy takes to begin */ };

/* What was taken out of it before counts beside. */
static void add_cell(prem_phase_stats *to, const prem_device_cell *from,
                     const prem_device_fold *before) {
  const uint64_t *folded = before->counts;
  if (from->count + folded[0] == 0)
    return;
  prem_phase_stats cell;
  prem_phase_stats_clear(&cell);
  cell.count = (int64_t)(folded[0] + from->count);
  cell.releases = (int64_t)(folded[1] + from->releases);
  cell.late = (int64_t)(folded[2] + from->late);
  cell.overruns = (int64_t)(folded[3] + from->overruns);
  cell.lateness_max_ns = from->lateness_max_ns;
  cell.overrun_max_ns = from->overrun_max_ns;
  cell.duration_min_ns = -from->duration_min_negated_ns;
  cell.duration_max_ns = from->duration_max_ns;
  cell.duration_sum_ns = from->duration_sum_ns;
  for (int i = 0; i < PREM_HIST_BUCKETS; ++i)
    cell.lateness_hist[i] = (int64_t)(folded[4 + i] + from->lateness_hist[i]);
  prem_phase_stats_merge(to, &cell);
}

static cudaError_t collect_cells(const prem_cuda *cuda, const prem_device_block *blocks,
                                 prem_trace *trace) {
  const size_t count = (size_t)cuda->device.cell_count;
  const prem_device_fold *there = cuda->live ? cuda->live->tables.folds : NULL;
  prem_device_cell *cells = calloc(count + 1, sizeof *cells);
  prem_device_fold *folds = calloc(count + 1, sizeof *folds);
  cudaError_t error = cudaErrorMemoryAllocation;
  if (cells && folds)
    error =
        cudaMemcpy(cells, cuda->device.launch.cells, count * sizeof *cells, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess && there)
    error = cudaMemcpy(folds, there, count * sizeof *folds, cudaMemcpyDeviceToHost);
  for (int32_t b = 0; b < cuda->program->block_count && error == cudaSuccess; ++b) {
    const int32_t *numbers = cuda->device.block_tasks + blocks[b].first_cell / PREM_PHASE_COUNT;
    for (int32_t t = 0; t < blocks[b].task_count; ++t)
      for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase)
        add_cell(&trace->stats[numbers[t] * PREM_PHASE_COUNT + phase],
                 &cells[blocks[b].first_cell + t * PREM_PHASE_COUNT + phase],
                 &folds[blocks[b].first_cell + t * PREM_PHASE_COUNT + phase]);
  }
  free(cells);
  free(folds);
  return error;
}

static cudaError_t copy_records(const prem_cuda *cuda, prem_trace *trace, int64_t begin,
                                int64_t end) {
  const prem_trace_record *room = cuda->records_room;
  return begin == end ? cudaSuccess
                      : cudaMemcpy(trace->records + begin, room + begin,
                                   (size_t)(end - begin) * sizeof *room, cudaMemcpyDeviceToHost);
}

static int64_t kept_of(int64_t recorded, int64_t capacity) {
  return recorded < capacity ? recorded : capacity;
}

/* To where they stand in the device's room, shares with little between them at once: a copy for
 * each share of hundreds of blocks takes far longer than a run. */
static cudaError_t fetch_shares(const prem_cuda *cuda, const prem_device_block *blocks,
                                const int64_t *recorded, prem_trace *trace) {
  int64_t first = 0, begin = 0, end = 0;
  for (int32_t b = 0; b < cuda->program->block_count; ++b)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      const int64_t capacity = blocks[b].capacity[phase];
      const int64_t kept = kept_of(recorded[b * PREM_PHASE_COUNT + phase], capacity);
      if (kept > 0 && first - end > MAX_GAP) {
        const cudaError_t error = copy_records(cuda, trace, begin, end);
        if (error != cudaSuccess)
          return error;
        begin = first;
      }
      if (kept > 0)
        end = first + kept;
      first += capacity;
    }
  return copy_records(cuda, trace, begin, end);
}

/* No share moves to the right, so none is overwritten before it has moved. */
static void close_gaps(const prem_cuda *cuda, const prem_device_block *blocks,
                       const int64_t *recorded, prem_trace *trace) {
  int64_t first = 0;
  for (int32_t b = 0; b < cuda->program->block_count; ++b)
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      const int64_t capacity = blocks[b].capacity[phase];
      const int64_t all = recorded[b * PREM_PHASE_COUNT + phase], kept = kept_of(all, capacity);
      if (kept > 0)
        memmove(trace->records + trace->record_count, trace->records + first,
                (size_t)kept * sizeof *trace->records);
      trace->record_count += kept;
      trace->lost += all - kept;
      first += capacity;
    }
}

static cudaError_t collect_late(const prem_cuda *cuda, prem_trace *trace) {
  const prem_device_late *there = cuda->device.launch.late;
  uint32_t count = 0;
  cudaError_t error = cudaMemcpy(&count, &there->count, sizeof count, cudaMemcpyDeviceToHost);
  count = count < PREM_LATE_KEPT ? count : PREM_LATE_KEPT;
  if (error == cudaSuccess && count > 0)
    error =
        cudaMemcpy(trace->late, there->kept, count * sizeof *trace->late, cudaMemcpyDeviceToHost);
  trace->late_count = error == cudaSuccess ? (int32_t)count : 0;
  return error;
}

cudaError_t prem_cuda_collect_phases(const prem_cuda *cuda, const prem_device_block *blocks,
                                     prem_trace *trace) {
  const size_t ledgers = (size_t)cuda->program->block_count * PREM_PHASE_COUNT;
  cudaError_t error = cudaErrorMemoryAllocation;
  int64_t *recorded = calloc(ledgers, sizeof *recorded);
  if (!recorded)
    return error;
  CUDA_TRY(cudaMemcpy(recorded, cuda->device.launch.record_counts, ledgers * sizeof *recorded,
                      cudaMemcpyDeviceToHost));
  CUDA_TRY(fetch_shares(cuda, blocks, recorded, trace));
  close_gaps(cuda, blocks, recorded, trace);
  CUDA_TRY(collect_cells(cuda, blocks, trace));
  CUDA_TRY(collect_late(cuda, trace));
  CUDA_TRY(cudaMemcpy(recorded, cuda->device.launch.warmup_counts, ledgers * sizeof *recorded,
                      cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < ledgers; ++i)
    trace->warmup_count += recorded[i];
fail:
  free(recorded);
  return error;
}

cudaError_t prem_cuda_collect_trace(const prem_cuda *cuda, const prem_device_block *blocks,
                                    prem_trace *trace, int64_t hyperperiods) {
  const int64_t ends = hyperperiods * trace->job_count;
  cudaError_t error = prem_cuda_collect_phases(cuda, blocks, trace);
  if (error != cudaSuccess)
    return error;
  if (ends > 0)
    error = cudaMemcpy(trace->job_end_ns, cuda->ends_room, (size_t)ends * sizeof *cuda->ends_room,
                       cudaMemcpyDeviceToHost);
  /* as origin_of() of the executive has them */
  prem_trace_begin_periodically(trace, cuda->program->hyperperiod_ns, hyperperiods);
  return error;
}

int64_t prem_cuda_hyperperiods_complete(const prem_trace *trace, int64_t hyperperiods) {
  for (int64_t h = 0; h < hyperperiods; ++h)
    for (int64_t job = 0; job < trace->job_count; ++job)
      if (trace->job_end_ns[h * trace->job_count + job] < 0)
        return h;
  return hyperperiods;
}
