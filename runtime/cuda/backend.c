/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend: opening, closing, and what ties its parts together: see
 * runtime/cuda/host/backend_parts.h. */
#include <stdlib.h>

#include "prem/base/fail.h"
#include "runtime/core/best_effort.h"
#include "runtime/cuda/baselines/baselines.h"
#include "runtime/cuda/host/backend_parts.h"

static void cuda_close(void *state) {
  prem_cuda *cuda = state;
  if (!cuda)
    return;
  cuda_close(cuda->beside);
  prem_cuda_live_free(cuda);
  prem_cuda_servers_free(cuda);
  if (cuda->gpu->loss != PREM_CUDA_HELD) { /* freeing would wait for the kernel */
    prem_cuda_enter(cuda->gpu);
    prem_baselines_free(cuda->baselines);
    prem_sentinel_free(cuda->sentinel);
    prem_cuda_program_free(&cuda->device);
    prem_cuda_arrays_free(&cuda->arrays);
    cudaFree(cuda->records_room);
    cudaFree(cuda->ends_room);
    cudaFreeHost(cuda->abort_word);
    cudaFreeHost(cuda->fault);
    cudaFreeHost(cuda->clock_word);
    if (cuda->attached)
      cudaGraphDestroy(cuda->attached);
    if (cuda->stream)
      cudaStreamDestroy(cuda->stream);
    if (cuda->control)
      cudaStreamDestroy(cuda->control);
  }
  free(cuda);
}

/* All but the executive's variant.
 * @param part  whose program it is; NULL: of the critical tasks, or all */
static prem_status open_program(prem_cuda_device *gpu, const prem_program *program,
                                prem_arrays *arrays, const prem_free_part *part,
                                const prem_machine *machine, prem_cuda **out, prem_diag *diag) {
  *out = NULL;
  prem_status status = prem_cuda_judge_tasks(program->schedule, arrays->is_live, diag);
  if (status == PREM_OK)
    status = prem_cuda_judge_order(program, diag);
  if (status == PREM_OK)
    status = prem_cuda_judge_beside(part, diag);
  if (status != PREM_OK)
    return status;
  prem_cuda *cuda = calloc(1, sizeof *cuda);
  if (!cuda)
    return PREM_ERR_MEMORY;
  cuda->gpu = gpu;
  cuda->program = program;
  cuda->part = part;
  cuda->host = arrays;
  cuda->sm_count = machine->cores;
  cudaError_t error;
  CUDA_TRY(prem_cuda_enter(gpu));
  CUDA_TRY(prem_cuda_arrays_new(program, arrays, &cuda->arrays));
  if ((status = prem_cuda_judge_intervals(cuda, diag)) != PREM_OK)
    goto refused;
  if ((status = prem_cuda_load(cuda, diag)) != PREM_OK)
    goto refused;
  CUDA_TRY(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking));
  CUDA_TRY(cudaStreamCreateWithFlags(&cuda->control, cudaStreamNonBlocking));
  CUDA_TRY(cudaHostAlloc((void **)&cuda->abort_word, 2 * sizeof *cuda->abort_word,
                         cudaHostAllocDefault));
  *cuda->abort_word = 1;
  CUDA_TRY(cudaHostAlloc((void **)&cuda->fault, sizeof *cuda->fault, cudaHostAllocDefault));
  CUDA_TRY(
      cudaHostAlloc((void **)&cuda->clock_word, sizeof *cuda->clock_word, cudaHostAllocMapped));
  cuda->device.launch.clock_step_ns = machine->clock_step_ns;
  *out = cuda;
  return PREM_OK;
fail:
  status = prem_cuda_report(error, diag, "preparing the schedule on the GPU");
refused:
  cuda_close(cuda);
  return status;
}

static prem_status choose_variant(prem_cuda *cuda, prem_diag *diag) {
  if (cuda->host->is_live)
    return prem_cuda_choose_live_variant(cuda, diag);
  return cuda->beside ? prem_cuda_choose_two_variants(cuda, diag)
                      : prem_cuda_choose_variant(cuda, diag);
}

/* Ordinary kernels: there when first asked for. */
static prem_status ask_baselines(prem_cuda *cuda) {
  const prem_native_place place = {.program = cuda->program,
                                   .arrays = &cuda->arrays,
                                   .host = cuda->host,
                                   .sm_count = cuda->sm_count};
  const prem_cuda *other = cuda->beside;
  const prem_native_place beside = {.program = other ? other->program : NULL,
                                    .arrays = other ? &other->arrays : NULL,
                                    .host = other ? other->host : NULL,
                                    .attached = other ? other->attached : NULL,
                                    .sm_count = cuda->sm_count};
  if (!cuda->baselines)
    cuda->baselines = prem_baselines_new(&place, &beside, other ? other->part : NULL,
                                         cuda->leader ? cuda->leader->baselines : NULL);
  return cuda->baselines ? PREM_OK : PREM_ERR_MEMORY;
}

/* @return `status`, or what a kernel that never came back makes of it */
static prem_status note_loss(prem_cuda *cuda, prem_status status) {
  if (prem_baselines_are_lost(cuda->baselines))
    cuda->gpu->loss = PREM_CUDA_HELD;
  else if (status == PREM_ERR_MACHINE && prem_cuda_is_broken(cuda))
    cuda->gpu->loss = PREM_CUDA_BROKEN;
  return status;
}

static prem_status graph_load_ready(prem_cuda *cuda, const prem_run_request *request,
                                    const prem_device_gated *gated, prem_diag *diag) {
  const prem_status status = ask_baselines(cuda);
  return status != PREM_OK
             ? status
             : note_loss(cuda, prem_baselines_graph_ready(cuda->baselines, request, gated, diag));
}

static prem_status graph_load_begin(prem_cuda *cuda, prem_diag *diag) {
  return prem_baselines_graph_begin(cuda->baselines, diag);
}

static prem_status graph_load_end(prem_cuda *cuda, prem_best_effort_trace *out, prem_diag *diag) {
  return note_loss(cuda, prem_baselines_graph_end(cuda->baselines, out, diag));
}

static const prem_cuda_graph_load graph_load = {graph_load_ready, graph_load_begin, graph_load_end};

static prem_status refuse_alone(const prem_task *task, prem_diag *diag) {
  return prem_fail(
      diag, PREM_ERR_UNAVAILABLE, 0, task->place, "tasks",
      "on backend cuda a graph runs beside critical tasks, and there is none; give one, "
      "or launch the graph yourself");
}

static prem_status cuda_open(const prem_program *program, prem_arrays *arrays,
                             const prem_machine *machine, void **state, prem_diag *diag) {
  const prem_free_part *beside = program->beside;
  prem_cuda_device *gpu = prem_cuda_first_gpu();
  prem_cuda *cuda = NULL;
  prem_status status = prem_cuda_is_usable(gpu, diag);
  *state = NULL;
  if (status == PREM_OK)
    status = open_program(gpu, program, arrays, NULL, machine, &cuda, diag);
  if (status == PREM_OK && beside)
    status =
        open_program(gpu, beside->program, beside->arrays, beside, machine, &cuda->beside, diag);
  if (status == PREM_OK && beside)
    status = prem_cuda_report(prem_cuda_beside_load(cuda), diag, "making the gate ready");
  if (status == PREM_OK && beside)
    status = prem_cuda_servers_new(cuda->beside, diag);
  if (status == PREM_OK)
    status = choose_variant(cuda, diag);
  if (status == PREM_OK && beside &&
      (beside->schedule->measure.load == PREM_LOAD_GRAPH ||
       prem_task_is_cuda_graph(&beside->schedule->tasks[0]))) {
    cuda->graph_load = &graph_load;
    status = prem_cuda_is_alone(cuda) ? refuse_alone(&beside->schedule->tasks[0], diag) : PREM_OK;
  }
  if (status == PREM_OK)
    *state = cuda;
  else
    cuda_close(cuda);
  return status;
}

static prem_status cuda_poison(void *state) {
  prem_cuda *cuda = state;
  if (cuda->gpu->loss != PREM_CUDA_THERE)
    return PREM_ERR_MACHINE;
  cudaError_t error = prem_cuda_enter(cuda->gpu);
  if (error == cudaSuccess)
    error = prem_cuda_arrays_poison(&cuda->arrays);
  if (error == cudaSuccess && cuda->beside)
    error = prem_cuda_arrays_poison(&cuda->beside->arrays);
  if (cuda->beside && cuda->beside->servers) /* errands' own arrays are the host's */
    prem_arrays_poison(cuda->beside->host);
  return prem_cuda_report(error, NULL, "");
}

static prem_status cuda_verify(void *state, prem_verdict *out) {
  prem_cuda *cuda = state;
  if (cuda->gpu->loss != PREM_CUDA_THERE)
    return PREM_ERR_MACHINE;
  cudaError_t error = prem_cuda_enter(cuda->gpu);
  if (error == cudaSuccess)
    error = prem_cuda_arrays_verify(&cuda->arrays, cuda->host, out);
  return prem_cuda_report(error, NULL, "");
}

static prem_status cuda_verify_beside(void *state, prem_verdict *out) {
  const prem_cuda *cuda = state;
  return cuda_verify(cuda->beside, out);
}

static prem_status cuda_download(void *state) {
  prem_cuda *cuda = state;
  if (cuda->gpu->loss != PREM_CUDA_THERE)
    return PREM_ERR_MACHINE;
  cudaError_t error = prem_cuda_enter(cuda->gpu);
  if (error == cudaSuccess)
    error = prem_cuda_arrays_download(&cuda->arrays, cuda->host);
  if (error == cudaSuccess && cuda->beside)
    error = prem_cuda_arrays_download(&cuda->beside->arrays, cuda->beside->host);
  return prem_cuda_report(error, NULL, "");
}

/* Modes without phases. */
static prem_status run_baseline(prem_cuda *cuda, const prem_run_request *request, prem_trace *trace,
                                prem_diag *diag) {
  prem_status status = ask_baselines(cuda);
  if (status == PREM_OK)
    status = prem_cuda_sentinel_ready(cuda, request, cudaSharedmemCarveoutMaxL1, diag);
  if (status == PREM_OK)
    status = prem_baselines_run(cuda->baselines, request, cuda->sentinel, trace, diag);
  return note_loss(cuda, status);
}

static void cuda_follow(void *state, const void *from) {
  prem_cuda *cuda = state;
  cuda->leader = from;
}

static const prem_launch_search *cuda_launch_search(const void *state) {
  const prem_cuda *cuda = state;
  return prem_baselines_launch_search(cuda->baselines);
}

static const char *cuda_mode_note(const void *state, prem_mode mode) {
  const prem_cuda *cuda = state;
  return prem_baselines_mode_note(cuda->baselines, mode);
}

static prem_status cuda_attach_graph(void *state, void *graph, prem_diag *diag) {
  prem_cuda *cuda = state;
  const prem_status status = prem_cuda_is_usable(cuda->gpu, diag);
  return status == PREM_OK ? prem_cuda_attach(cuda, graph, diag) : status;
}

static prem_status cuda_run(void *state, const prem_run_request *request, prem_trace *trace,
                            prem_diag *diag) {
  prem_cuda *cuda = state;
  prem_status status = prem_cuda_is_usable(cuda->gpu, diag);
  if (status == PREM_OK)
    status = prem_cuda_judge_attached(cuda, request->mode, diag);
  if (status == PREM_OK)
    status = prem_cuda_report(prem_cuda_enter(cuda->gpu), diag, "choosing the GPU");
  if (status == PREM_OK)
    status = prem_cuda_report(prem_cuda_arrays_begin_run(&cuda->arrays), diag,
                              "filling what is read before it is written");
  if (status != PREM_OK)
    return status;
  return prem_mode_has_phases(request->mode) ? prem_cuda_run_executive(cuda, request, trace, diag)
                                             : run_baseline(cuda, request, trace, diag);
}

const prem_backend prem_backend_cuda = {
    .name = "cuda",
    .summary = "one persistent kernel on the GPU, releases by %globaltimer",
    .modes = 1u << PREM_MODE_TT | 1u << PREM_MODE_FREE | 1u << PREM_MODE_LOCK |
             1u << PREM_MODE_LEGACY | 1u << PREM_MODE_LAUNCHED | 1u << PREM_MODE_GRAPH |
             1u << PREM_MODE_PRIORITY | 1u << PREM_MODE_PARTITION | 1u << PREM_MODE_COPY |
             1u << PREM_MODE_GATED_GRAPH,
    .modes_beside = 1u << PREM_MODE_LEGACY | 1u << PREM_MODE_LAUNCHED | 1u << PREM_MODE_GRAPH |
                    1u << PREM_MODE_GATED_GRAPH | 1u << PREM_MODE_PRIORITY |
                    1u << PREM_MODE_PARTITION,
    .probe = prem_cuda_probe,
    .measure = prem_cuda_measure,
    .open = cuda_open,
    .run = cuda_run,
    .poison = cuda_poison,
    .verify = cuda_verify,
    .verify_beside = cuda_verify_beside,
    .download = cuda_download,
    .launch_search = cuda_launch_search,
    .mode_note = cuda_mode_note,
    .attach_graph = cuda_attach_graph,
    .follow = cuda_follow,
    .live = &prem_cuda_live_engine,
    .serves = true,
    .close = cuda_close,
};
