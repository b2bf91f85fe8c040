/* SPDX-License-Identifier: Apache-2.0 */
/* One launch of the executive: its memory made ready, launched, watched, collected. */
#include "runtime/cuda/host/backend_parts.h"

#include "prem/base/clock.h"
#include "prem/base/numbers.h"

#include <stdlib.h>

#include "runtime/cuda/host/machine_facts.h"

static const prem_place nowhere = {0};

cudaError_t prem_cuda_make_room(prem_cuda *cuda, const prem_trace *trace, int64_t hyperperiods) {
  if (trace->record_capacity > cuda->records_capacity) {
    cudaFree(cuda->records_room);
    cuda->records_capacity = 0;
    cudaError_t error =
        cudaMalloc(&cuda->records_room, (size_t)trace->record_capacity * sizeof(prem_trace_record));
    if (error != cudaSuccess) {
      cuda->records_room = NULL;
      return error;
    }
    cuda->records_capacity = trace->record_capacity;
  }
  const int64_t ends = hyperperiods * trace->job_count;
  if (ends > cuda->ends_capacity) {
    cudaFree(cuda->ends_room);
    cuda->ends_capacity = 0;
    cudaError_t error =
        cudaMalloc((void **)&cuda->ends_room, (size_t)ends * sizeof *cuda->ends_room);
    if (error != cudaSuccess) {
      cuda->ends_room = NULL;
      return error;
    }
    cuda->ends_capacity = ends;
  }
  return cudaSuccess;
}

/* Each phase's share of the raw records on a block, by its number of them. */
static int64_t share_begin(const prem_cuda *cuda, int64_t capacity, int64_t before) {
  const int64_t all = cuda->program->record_count;
  return all ? (int64_t)((prem_wide)capacity * before / all) : 0;
}

cudaError_t prem_cuda_give_shares(prem_cuda *cuda, int64_t capacity, prem_device_block *blocks) {
  const size_t count = (size_t)cuda->program->block_count;
  cudaError_t error = cudaMemcpy(blocks, cuda->device.launch.blocks, count * sizeof *blocks,
                                 cudaMemcpyDeviceToHost);
  if (error != cudaSuccess)
    return error;
  int64_t before = 0, first = 0;
  for (size_t b = 0; b < count; ++b) {
    blocks[b].records = (prem_trace_record *)cuda->records_room + first;
    for (int phase = 0; phase < PREM_PHASE_COUNT; ++phase) {
      before += blocks[b].phase_count[phase];
      const int64_t end = share_begin(cuda, capacity, before);
      blocks[b].capacity[phase] = end - first;
      first = end;
    }
  }
  return cudaMemcpy((void *)(uintptr_t)cuda->device.launch.blocks, blocks, count * sizeof *blocks,
                    cudaMemcpyHostToDevice);
}

static cudaError_t reset_tokens(const prem_cuda *cuda) {
  const prem_platform *platform = &cuda->program->schedule->platform;
  prem_device_token tokens[PREM_MAX_RESOURCES] = {0};
  for (int32_t r = 0; r < platform->resource_count; ++r)
    tokens[r].available = platform->resources[r].capacity;
  return cudaMemcpy(cuda->device.launch.tokens, tokens,
                    (size_t)platform->resource_count * sizeof *tokens, cudaMemcpyHostToDevice);
}

/* Of two launches beside each other: nobody claims blocks of the other one, and those that are in
 * neither do not come to the start. */
static cudaError_t reset_company(const prem_cuda *cuda) {
  const prem_launch *launch = &cuda->device.launch;
  if (!cuda->device.taken)
    return cudaSuccess;
  const cudaError_t error =
      cudaMemcpy(launch->block_taken, cuda->device.taken,
                 (size_t)launch->block_count * sizeof(uint32_t), cudaMemcpyHostToDevice);
  return error == cudaSuccess ? cudaMemcpy(&launch->state->bound, &cuda->device.bound,
                                           sizeof cuda->device.bound, cudaMemcpyHostToDevice)
                              : error;
}

cudaError_t prem_cuda_reset_state(const prem_cuda *cuda, int64_t ends) {
  const prem_launch *launch = &cuda->device.launch;
  const size_t blocks = (size_t)launch->block_count, ledgers = blocks * PREM_PHASE_COUNT;
  const size_t gangs = (size_t)launch->task_count * (size_t)launch->resource_count;
  cudaError_t error;
  CUDA_TRY(cudaMemset(launch->state, 0, sizeof *launch->state));
  CUDA_TRY(cudaMemset(&launch->late->count, 0, sizeof launch->late->count));
  CUDA_TRY(cudaMemset(launch->sm_claims, 0, (size_t)launch->sm_count * sizeof(uint32_t)));
  CUDA_TRY(cudaMemset(launch->block_taken, 0, blocks * sizeof(uint32_t)));
  CUDA_TRY(cudaMemset(launch->ends, 0, (size_t)cuda->device.end_words * sizeof *launch->ends));
  CUDA_TRY(cudaMemset(launch->warmup_counts, 0, ledgers * sizeof *launch->warmup_counts));
  CUDA_TRY(cudaMemset(launch->cells, 0, (size_t)cuda->device.cell_count * sizeof *launch->cells));
  CUDA_TRY(cudaMemset(launch->record_counts, 0, ledgers * sizeof *launch->record_counts));
  CUDA_TRY(cudaMemset(launch->gangs, 0, gangs * sizeof *launch->gangs));
  if (ends > 0) /* without jobs there is no room for them */
    CUDA_TRY(cudaMemset(cuda->ends_room, 0xFF, (size_t)ends * sizeof *cuda->ends_room));
  CUDA_TRY(reset_tokens(cuda));
  CUDA_TRY(reset_company(cuda));
fail:
  return error;
}

prem_status prem_cuda_choose_engine(const prem_cuda *cuda, prem_engine *engine, prem_diag *diag) {
  const int capability = cuda->gpu->properties.major;
  const prem_engine best = capability >= 9   ? PREM_ENGINE_BULK
                           : capability == 8 ? PREM_ENGINE_CP_ASYNC
                                             : PREM_ENGINE_VECTOR;
  if (*engine == PREM_ENGINE_BEST)
    *engine = best;
  if (*engine >= best)
    return PREM_OK;
  prem_diag_add(diag, PREM_NOTE, 0, nowhere, "",
                "cuda: this GPU has no engine '%s'; its best is '%s'", prem_engine_name(*engine),
                prem_engine_name(best));
  return PREM_ERR_UNAVAILABLE;
}

cudaError_t prem_cuda_get_ready(prem_cuda *cuda, const prem_run_request *request,
                                prem_engine engine, const prem_trace *trace,
                                prem_device_block *blocks, prem_launch *launch) {
  cudaError_t error;
  CUDA_TRY(prem_cuda_make_room(cuda, trace, request->hyperperiods));
  CUDA_TRY(prem_cuda_give_shares(cuda, trace->record_capacity, blocks));
  CUDA_TRY(prem_cuda_reset_state(cuda, request->hyperperiods * trace->job_count));
  *launch = cuda->device.launch;
  launch->job_end_ns = cuda->ends_room;
  launch->engine = (int32_t)engine;
  launch->mode = (int32_t)request->mode;
  launch->hyperperiods = request->hyperperiods;
  launch->discard = request->discard;
  launch->start_margin_ns = PREM_CUDA_START_MARGIN_NS;
  launch->resident_timeout_ns = PREM_CUDA_RESIDENT_NS;
  launch->stall_timeout_ns = request->timeout_ns > 0 ? request->timeout_ns : PREM_CUDA_STALL_NS;
fail:
  return error;
}

/* ---- the sentinel ---------------------------------------------------------------------------- */

prem_status prem_cuda_sentinel_ready(prem_cuda *cuda, const prem_run_request *request, int carveout,
                                     prem_diag *diag) {
  if (!request->sentinel)
    return PREM_OK;
  cudaError_t error = cuda->sentinel ? cudaSuccess : prem_sentinel_new(&cuda->sentinel);
  if (error == cudaSuccess)
    error = prem_sentinel_prepare(cuda->sentinel, carveout);
  return prem_cuda_report(error, diag, "making the sentinel ready");
}

/* Of a run whose blocks have ended, but for those of a GPU that is lost. */
static prem_status end_sentinel(const prem_cuda *cuda, const prem_run_request *request,
                                prem_diag *diag) {
  if (!request->sentinel)
    return PREM_OK;
  const cudaError_t error = prem_sentinel_end(cuda->sentinel, cuda->gpu->loss == PREM_CUDA_THERE);
  if (error != cudaErrorNotReady)
    return prem_cuda_report(error, diag, "ending the sentinel");
  cuda->gpu->loss = PREM_CUDA_HELD;
  return prem_cuda_say_held(cuda, diag);
}

/* Is there an SM without a block of the plan? */
static cudaError_t find_spare_sm(const prem_cuda *cuda, bool *found) {
  const size_t count = (size_t)cuda->sm_count + 1;
  int32_t *first = calloc(count, sizeof *first);
  *found = false;
  if (!first)
    return cudaErrorMemoryAllocation;
  const cudaError_t error = cudaMemcpy(first, cuda->device.launch.sm_first, count * sizeof *first,
                                       cudaMemcpyDeviceToHost);
  for (int32_t sm = 0; error == cudaSuccess && sm < cuda->sm_count; ++sm)
    *found = *found || first[sm] == first[sm + 1];
  free(first);
  return error;
}

static cudaError_t launch_sentinel(const prem_cuda *cuda, bool to_spare_sm) {
  return prem_sentinel_launch(cuda->sentinel, PREM_SENTINEL_SILENCE_NS,
                              to_spare_sm ? cuda->device.launch.sm_first : NULL, cuda->sm_count);
}

static void take_stalls(const prem_cuda *cuda, bool has_own_sm, int64_t start_ns, prem_trace *trace,
                        prem_diag *diag) {
  prem_sentinel_report(cuda->sentinel, trace, diag);
  for (int64_t h = 0; h < trace->hyperperiods; ++h)
    prem_sentinel_judge(cuda->sentinel, cuda->program, h, start_ns + trace->epoch_ns[h], trace);
  trace->stalls.has_own_sm = has_own_sm && trace->stalls.watched_ns > 0;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* What was measured ended with the last hyperperiod, or when the run was stopped. */
static int64_t length_of(const prem_cuda *cuda, const prem_run_request *request,
                         const prem_trace *trace, int64_t start_ns) {
  const int64_t all_ns = request->hyperperiods * cuda->program->hyperperiod_ns;
  if (trace->hyperperiods == request->hyperperiods)
    return all_ns;
  return start_ns ? prem_min_i64(prem_max_i64(prem_host_clock_ns() - start_ns, 0), all_ns) : 0;
}

prem_status prem_cuda_run_executive(prem_cuda *cuda, const prem_run_request *request,
                                    prem_trace *trace, prem_diag *diag) {
  prem_device_block *blocks = calloc((size_t)cuda->program->block_count, sizeof *blocks);
  if (!blocks)
    return PREM_ERR_MEMORY;
  prem_engine engine = request->engine;
  prem_status status = prem_cuda_choose_engine(cuda, &engine, diag), besides;
  prem_cuda_beside beside = {0};
  prem_launch launch;
  prem_device_state after;
  cudaError_t error;
  if (status != PREM_OK)
    goto done;
  CUDA_TRY(prem_cuda_get_ready(cuda, request, engine, trace, blocks, &launch));
  status = prem_cuda_beside_prepare(cuda, request, engine, trace, &beside, diag);
  if (status != PREM_OK)
    goto done;
  status = prem_cuda_sentinel_ready(cuda, request, cudaSharedmemCarveoutMaxShared, diag);
  if (status != PREM_OK)
    goto done;
  bool has_spare_sm = false;
  if (request->sentinel)
    CUDA_TRY(find_spare_sm(cuda, &has_spare_sm));
  status = prem_cuda_servers_begin(cuda->beside, request, trace->best_effort, diag);
  if (status != PREM_OK)
    goto done;
  CUDA_TRY(cudaDeviceSynchronize());
  void *arguments[] = {&launch};
  const dim3 grid = {(unsigned)(cuda->sm_count * cuda->device.blocks_per_sm), 1, 1};
  const dim3 threads = {(unsigned)cuda->threads, 1, 1};
  int64_t offset_ns = INT64_MIN, width_ns = 0, start_ns = 0;
  CUDA_TRY(prem_measure_offset(cuda->stream, cuda->clock_word, &offset_ns, &width_ns));
  CUDA_TRY(prem_cuda_beside_launch(&beside));
  const int64_t called_at_ns = prem_host_clock_ns();
  if (!prem_cuda_is_alone(cuda))
    CUDA_TRY(cudaLaunchCooperativeKernel(cuda->executive, grid, threads, arguments,
                                         cuda->scratch_bytes, cuda->stream));
  const cudaError_t watched = request->sentinel ? launch_sentinel(cuda, has_spare_sm) : cudaSuccess;
  const prem_status begun = prem_cuda_beside_begin(&beside, diag);
  if (begun != PREM_OK)
    prem_cuda_stop_blocks(cuda);
  status = prem_cuda_is_alone(cuda) ? prem_cuda_watch_alone(cuda, request)
                                    : prem_cuda_watch(cuda, request, engine, diag);
  status = begun != PREM_OK ? begun : status;
  besides = prem_cuda_beside_stop(&beside, request, diag);
  status = status == PREM_OK ? besides : status;
  besides = end_sentinel(cuda, request, diag);
  status = status == PREM_OK ? besides : status;
  if (cuda->gpu->loss != PREM_CUDA_THERE)
    goto done;
  CUDA_TRY(watched);
  CUDA_TRY(cudaMemcpy(&after, launch.state, sizeof after, cudaMemcpyDeviceToHost));
  if (after.start_ns > 0 && offset_ns != INT64_MIN) {
    start_ns = after.start_ns - offset_ns;
    trace->launch_ns = start_ns - called_at_ns;
  }
  CUDA_TRY(prem_cuda_collect_trace(cuda, blocks, trace, request->hyperperiods));
  trace->hyperperiods = prem_cuda_hyperperiods_complete(trace, request->hyperperiods);
  if (request->sentinel)
    take_stalls(cuda, has_spare_sm && !cuda->beside, after.start_ns, trace, diag);
  CUDA_TRY(prem_cuda_beside_collect(&beside, length_of(cuda, request, trace, start_ns), trace));
  if (after.left_over > 0)
    prem_diag_add(diag, PREM_WARNING, 0, nowhere, "cuda",
                  "%u of %d blocks ran on another SM than planned: something else holds room on "
                  "theirs, and their neighbours were others than the plan's",
                  after.left_over, cuda->program->block_count);
  if (after.fault.code != PREM_FAULT_NONE)
    status = prem_cuda_say_fault(cuda, &after.fault, diag);
  goto done;
fail:
  status = prem_cuda_is_broken(cuda)
               ? prem_cuda_say_broken(cuda, request->mode, engine, error, diag)
               : prem_cuda_report(error, diag, "running on the GPU");
  prem_cuda_beside_stop(&beside, request, NULL);
  if (cuda->sentinel)
    prem_sentinel_end(cuda->sentinel, false);
done:
  besides = prem_cuda_servers_end(cuda->beside, trace->best_effort, status, diag);
  status = status == PREM_OK ? besides : status;
  prem_cuda_beside_free(&beside);
  free(blocks);
  return status;
}
