/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of the ways on a GPU. Every wait of the host has a deadline, but for the driver's own,
 * which are for kernels that have one. */
#include "experiments/live/ways/gpu_way.h"

#include <stdlib.h>
#include <string.h>

#include "experiments/common/cores.h"
#include "prem/base/clock.h"

enum { LOOKS = 256, BATCH = 16, POISON = 0xA5 };
#define TURN_NS  INT64_C(1000000000) /* the GPU's answer takes no longer, or it will not come */
#define LEAVE_NS INT64_C(6000000000)

/* ---- words ---------------------------------------------------------------------------------- */

/* The clock is looked at now and then only: it takes as long as the word itself. */
cudaError_t prem_gpu_way_await(const uint64_t *word, uint64_t value, int64_t patience_ns) {
  const int64_t deadline_ns = prem_host_clock_ns() + patience_ns;
  for (uint32_t look = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; ++look) {
    if (look % LOOKS == 0 && prem_host_clock_ns() > deadline_ns)
      return cudaErrorTimeout;
    prem_host_relax();
  }
  return cudaSuccess;
}

static void tell_word(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* ---- what is resident, or goes on by itself -------------------------------------------------- */

static cudaError_t launch_resident(prem_gpu_way *way, prem_way_kernel kernel) {
  void *arguments[] = {&way->job};
  const dim3 grid = {(unsigned)way->setup.blocks, 1, 1};
  const dim3 block = {(unsigned)way->setup.threads, 1, 1};
  const void *function = prem_way_kernel_of(kernel, way->setup.work);
  cudaError_t error = cudaLaunchCooperativeKernel(function, grid, block, arguments, 0, way->stream);
  if (error != cudaSuccess)
    return error;
  way->is_resident = true;
  error = cudaStreamQuery(way->stream); /* submits what the driver may still hold back */
  return error == cudaErrorNotReady ? cudaSuccess : error;
}

static cudaError_t launch_graph(prem_gpu_way *way) {
  cudaError_t error = cudaGraphLaunch(way->exec[0], way->stream);
  if (error != cudaSuccess)
    return error;
  way->is_resident = true;
  error = cudaStreamQuery(way->stream);
  return error == cudaErrorNotReady ? cudaSuccess : error;
}

cudaError_t prem_gpu_way_begin(prem_gpu_way *way) {
  switch (way->setup.way) {
  case PREM_WAY_WORD:
    return launch_resident(way, PREM_KERNEL_WORD);
  case PREM_WAY_RESIDENT:
    return launch_resident(way, PREM_KERNEL_RESIDENT);
  case PREM_WAY_ALL_POLL:
    return launch_resident(way, PREM_KERNEL_ALL_POLL);
  case PREM_WAY_LOOP:
  case PREM_WAY_RELAUNCH:
  case PREM_WAY_CHILDREN:
    return launch_graph(way);
  default:
    return cudaSuccess;
  }
}

/* Whatever waits for `start` leaves, and at the latest when its patience ends. */
cudaError_t prem_gpu_way_end(prem_gpu_way *way) {
  cudaError_t error = cudaSuccess;
  if (way->queued > 0) {
    tell_word(&way->words->start, way->queued);
    error = prem_gpu_way_await(&way->words->done, way->queued, LEAVE_NS);
  } else if (way->is_resident) {
    tell_word(&way->words->start, PREM_WAY_LEAVE);
    error = prem_gpu_way_await(&way->words->left, PREM_WAY_HAS_LEFT, LEAVE_NS);
  }
  const cudaError_t ended = cudaStreamSynchronize(way->stream);
  return error == cudaSuccess ? ended : error;
}

/* ---- before a turn --------------------------------------------------------------------------- */

static CUdeviceptr address_of(const void *word) {
  return (CUdeviceptr)(uintptr_t)word;
}

/* A wait, a turn, a write. Graphs one at a time: the driver might wait for the one before, which
 * waits for the host. */
static cudaError_t queue_turn(prem_gpu_way *way) {
  const uint64_t turn = way->queued + 1;
  if (way->memory.wait(way->stream, address_of(&way->job.words->start), turn,
                       CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS)
    return cudaErrorNotSupported;
  cudaError_t error = way->setup.way == PREM_WAY_QUEUED
                          ? prem_gpu_way_enqueue(way, way->setup.work, false)
                          : cudaGraphLaunch(way->exec[way->command], way->stream);
  if (way->memory.write(way->stream, address_of(&way->job.words->done), turn,
                        CU_STREAM_WRITE_VALUE_DEFAULT) != CUDA_SUCCESS)
    error = cudaErrorNotSupported;
  way->queued = turn; /* also after an error: somebody waits for it */
  return error;
}

static cudaError_t prepare(prem_gpu_way *way) {
  ++way->turn;
  way->command = way->data->command[way->turn % PREM_WORK_VARIANTS];
  memset(way->out, POISON,
         (size_t)(way->data->out_count > 0 ? way->data->out_count : 1) * sizeof(float));
  if (way->stamps)
    memset(way->stamps, 0, (size_t)way->setup.blocks * sizeof *way->stamps);
  if (way->setup.way != PREM_WAY_QUEUED && way->setup.way != PREM_WAY_QUEUED_GRAPH)
    return cudaSuccess;
  const int batch = way->setup.way == PREM_WAY_QUEUED ? BATCH : 1;
  cudaError_t error = cudaSuccess;
  if (way->turn > way->queued)
    for (int i = 0; i < batch && error == cudaSuccess; ++i)
      error = queue_turn(way);
  return error;
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static cudaError_t await_event(const prem_gpu_way *way) {
  const int64_t deadline_ns = prem_host_clock_ns() + TURN_NS;
  cudaError_t error;
  while ((error = cudaEventQuery(way->event)) == cudaErrorNotReady)
    if (prem_host_clock_ns() > deadline_ns)
      return cudaErrorTimeout;
  return error;
}

static cudaError_t run_turn(prem_gpu_way *way) {
  cudaError_t error = cudaSuccess;
  switch (way->setup.way) {
  case PREM_WAY_LAUNCH:
  case PREM_WAY_COOPERATIVE:
    error = prem_gpu_way_enqueue(way, way->command, false);
    return error == cudaSuccess ? cudaStreamSynchronize(way->stream) : error;
  case PREM_WAY_GRAPH:
    error = cudaGraphLaunch(way->exec[way->command], way->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(way->stream) : error;
  case PREM_WAY_BLOCKING:
  case PREM_WAY_QUERY:
    error = prem_gpu_way_enqueue(way, way->command, false);
    if (error == cudaSuccess)
      error = cudaEventRecord(way->event, way->stream);
    if (error != cudaSuccess)
      return error;
    return way->setup.way == PREM_WAY_QUERY ? await_event(way) : cudaEventSynchronize(way->event);
  default:
    __atomic_store_n(&way->words->command, (uint64_t)way->command, __ATOMIC_RELAXED);
    tell_word(&way->words->start, way->turn);
    return prem_gpu_way_await(&way->words->done, way->turn, TURN_NS);
  }
}

/* All blocks ran in this turn. */
static bool read_stamps(const prem_gpu_way *way, int64_t *device_ns) {
  int64_t first_ns = INT64_MAX, last_ns = 0;
  bool all = true;
  for (int32_t b = 0; b < way->setup.blocks; ++b) {
    const prem_way_stamp *stamp = &way->stamps[b];
    all &= stamp->begin_ns != 0 && stamp->end_ns >= stamp->begin_ns;
    first_ns = stamp->begin_ns < first_ns ? stamp->begin_ns : first_ns;
    last_ns = stamp->end_ns > last_ns ? stamp->end_ns : last_ns;
  }
  *device_ns = all ? last_ns - first_ns : 0;
  return all;
}

static int64_t store_inputs(const prem_gpu_way *way, int variant) {
  const int64_t begin_ns = prem_host_clock_ns();
  for (int i = 0; i < 2; ++i)
    if (way->data->used_in[variant][i] > 0)
      memcpy(way->in[i], way->data->in[variant][i],
             (size_t)way->data->used_in[variant][i] * sizeof(float));
  return prem_host_clock_ns() - begin_ns;
}

static int64_t load_outputs(const prem_gpu_way *way, float *to, size_t bytes) {
  const int64_t begin_ns = prem_host_clock_ns();
  memcpy(to, way->out, bytes);
  __asm__ volatile("" ::"r"(to) : "memory"); /* the second time as well */
  return prem_host_clock_ns() - begin_ns;
}

/* `loaded` has room for the outputs, in ordinary memory. */
static cudaError_t take_turn(prem_gpu_way *way, bool twice, float *loaded, prem_way_times *out,
                             int64_t *device_ns) {
  const int variant = (int)(way->turn % PREM_WORK_VARIANTS);
  const size_t out_bytes = (size_t)way->data->used_out[variant] * sizeof(float);
  const int64_t begin_ns = prem_host_clock_ns();
  out->store_ns = store_inputs(way, variant);
  if (twice)
    out->store_again_ns = store_inputs(way, variant);
  const int64_t started_ns = prem_host_clock_ns();
  const cudaError_t error = run_turn(way);
  out->response_ns = prem_host_clock_ns() - started_ns;
  if (error != cudaSuccess)
    return error;
  out->load_ns = load_outputs(way, loaded, out_bytes);
  if (twice)
    out->load_again_ns = load_outputs(way, loaded, out_bytes);
  out->whole_ns = prem_host_clock_ns() - begin_ns;
  out->wrong = memcmp(loaded, way->data->out[variant], out_bytes) != 0;
  if (way->stamps && !read_stamps(way, device_ns))
    out->wrong = true;
  return cudaSuccess;
}

/* Of a stamped turn the GPU's time alone counts. */
static void keep(prem_way_samples *samples, const prem_way_times *times, bool stamped,
                 int64_t device_ns) {
  if (!stamped) {
    prem_way_keep(samples, times);
    return;
  }
  samples->wrong += times->wrong;
  if (samples->device_count < samples->room)
    samples->device_ns[samples->device_count++] = device_ns;
}

static cudaError_t take_turns(prem_gpu_way *way, const prem_way_turns *turns, float *loaded,
                              prem_way_samples *samples) {
  int64_t next_ns = 0;
  cudaError_t error = cudaSuccess;
  for (int64_t turn = 0; turn < turns->warm_up + turns->count; ++turn) {
    if (*turns->stop != 0 || (turn > turns->warm_up && prem_host_clock_ns() > turns->end_ns))
      break;
    prem_way_times times = {0};
    int64_t device_ns = 0;
    error = prepare(way);
    while (prem_host_clock_ns() < next_ns)
      prem_host_relax();
    next_ns = prem_host_clock_ns() + way->setup.pace_ns;
    if (error == cudaSuccess)
      error = take_turn(way, turns->twice, loaded, &times, &device_ns);
    if (error != cudaSuccess)
      break;
    if (turn >= turns->warm_up)
      keep(samples, &times, turns->stamped, device_ns);
  }
  return error;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Loading code while something waits on the GPU may wait for that in turn. */
cudaError_t prem_gpu_way_touch(const prem_gpu_way *way) {
  struct cudaFuncAttributes facts;
  cudaError_t error = cudaSuccess;
  for (int kernel = PREM_KERNEL_NOTHING; kernel <= PREM_KERNEL_PARENT && error == cudaSuccess;
       ++kernel)
    for (int v = 0; v <= PREM_WORK_VARIANTS && error == cudaSuccess; ++v)
      error = cudaFuncGetAttributes(
          &facts,
          prem_way_kernel_of((prem_way_kernel)kernel,
                             v < PREM_WORK_VARIANTS ? way->data->command[v] : way->setup.work));
  return error;
}

static cudaError_t run_way(prem_gpu_way *way, const prem_way_turns *turns, float *loaded,
                           prem_way_samples *samples) {
  cudaError_t error = prem_gpu_way_room(way, turns->stamped);
  if (error == cudaSuccess)
    error = prem_gpu_way_touch(way);
  if (error == cudaSuccess)
    error = prem_gpu_way_graphs(way);
  if (error == cudaSuccess &&
      (way->setup.way == PREM_WAY_QUEUED || way->setup.way == PREM_WAY_QUEUED_GRAPH))
    error = prem_gpu_way_find_memory(way);
  if (error == cudaSuccess)
    error = cudaStreamSynchronize(way->stream);
  if (error != cudaSuccess)
    return error;
  error = prem_gpu_way_begin(way);
  if (error == cudaSuccess)
    error = take_turns(way, turns, loaded, samples);
  const cudaError_t ended = prem_gpu_way_end(way);
  return error == cudaSuccess ? ended : error;
}

prem_status prem_gpu_way_judge(cudaError_t error, const prem_gpu_way *way, prem_diag *diag) {
  if (error == cudaSuccess)
    return PREM_OK;
  (void)cudaGetLastError();
  const bool lacks = error == cudaErrorNotSupported ||
                     error == cudaErrorCooperativeLaunchTooLarge ||
                     error == cudaErrorLaunchOutOfResources;
  const uint64_t left = way->words ? way->words->left : 0;
  prem_diag_add(
      diag, lacks ? PREM_NOTE : PREM_ERROR, 0, (prem_place){0}, "",
      "%s, %d blocks of %d threads: %s%s%s", prem_way_name(way->setup.way), way->setup.blocks,
      way->setup.threads, cudaGetErrorString(error),
      left > PREM_WAY_HAS_LEFT ? "; on the GPU: " : "",
      left > PREM_WAY_HAS_LEFT ? cudaGetErrorString((cudaError_t)(left - PREM_WAY_HAS_LEFT)) : "");
  return lacks ? PREM_ERR_UNAVAILABLE : PREM_ERR_MACHINE;
}

prem_status prem_gpu_way_run(const prem_way_setup *setup, const prem_way_turns *turns,
                             const prem_work_data *data, prem_way_samples *samples,
                             prem_diag *diag) {
  prem_gpu_way way = {.setup = *setup, .data = data};
  float *loaded = calloc((size_t)data->out_count + 1, sizeof *loaded);
  if (!loaded)
    return PREM_ERR_MEMORY;
  const cudaError_t error = run_way(&way, turns, loaded, samples);
  const prem_status status = prem_gpu_way_judge(error, &way, diag);
  prem_gpu_way_free(&way);
  free(loaded);
  return status;
}

bool prem_gpu_way_lives(void) {
  return cudaDeviceSynchronize() == cudaSuccess;
}
