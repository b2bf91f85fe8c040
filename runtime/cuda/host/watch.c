/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's thread during a run: the watchdog. */
#include "runtime/cuda/host/backend_parts.h"

#include "prem/base/clock.h"

enum {
  POLL_NS = 20000,    /* the host's look at the stream */
  LOOK_NS = 20000000, /* and at the abort word */
  LOOK_ALONE_NS = 1000000,
  FETCH_LOOKS = 10000 /* for a copy beside a running kernel, some 0.7 s */
};

static const prem_place nowhere = {0};

static void host_pause(int64_t ns) {
  struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)ns};
  nanosleep(&pause, NULL);
}

/* Read device memory beside a running kernel, into pinned memory. Looks are counted, not time: a
 * process that is stopped meanwhile has not looked. */
static bool fetch(const prem_cuda *cuda, void *to, const void *from, size_t bytes) {
  cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, cuda->control);
  if (error != cudaSuccess)
    return false;
  for (int look = 0; look < FETCH_LOOKS; ++look) {
    error = cudaStreamQuery(cuda->control);
    if (error != cudaErrorNotReady)
      break;
    host_pause(POLL_NS);
  }
  return error == cudaSuccess;
}

/* Has a block raised a fault, or does the GPU not even answer? */
bool prem_cuda_has_to_end(const prem_cuda *cuda) {
  uint32_t *seen = cuda->abort_word + 1;
  return !fetch(cuda, seen, &cuda->device.launch.state->abort, sizeof *seen) || *seen;
}

/* A compute does not return. The fault, where there is one, names who waits for it. */
void prem_cuda_say_endless(const prem_cuda *cuda, prem_diag *diag) {
  cuda->gpu->loss = PREM_CUDA_HELD;
  if (fetch(cuda, cuda->fault, &cuda->device.launch.state->fault, sizeof *cuda->fault) &&
      cuda->fault->code != PREM_FAULT_NONE)
    prem_cuda_say_fault(cuda, cuda->fault, diag);
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda",
                "a compute does not return, %d ms after the run was stopped: the GPU is free again "
                "when this process ends",
                PREM_CUDA_LAST_GRACE_NS / 1000000);
}

void prem_cuda_stop_blocks(const prem_cuda *cuda) {
  cudaMemcpyAsync(&cuda->device.launch.state->abort, cuda->abort_word, sizeof(uint32_t),
                  cudaMemcpyHostToDevice, cuda->control);
}

prem_status prem_cuda_watch(const prem_cuda *cuda, const prem_run_request *request,
                            prem_engine engine, prem_diag *diag) {
  int64_t give_up_ns = INT64_MAX, look_ns = prem_host_clock_ns() + LOOK_NS;
  bool stopped = false;
  for (;;) {
    const cudaError_t error = cudaStreamQuery(cuda->stream);
    prem_sentinel_tell(cuda->sentinel);
    prem_cuda_servers_look(cuda);
    if (error == cudaSuccess)
      return stopped ? PREM_ERR_INTERRUPTED : PREM_OK;
    if (error != cudaErrorNotReady)
      return prem_cuda_say_broken(cuda, request->mode, engine, error, diag);
    const int64_t now = prem_host_clock_ns();
    if (!stopped && request->stop && *request->stop) {
      stopped = true;
      prem_cuda_stop_blocks(cuda);
      give_up_ns = now + PREM_CUDA_LAST_GRACE_NS;
    }
    if (now >= look_ns && give_up_ns == INT64_MAX) {
      look_ns = now + LOOK_NS;
      if (prem_cuda_has_to_end(cuda))
        give_up_ns = now + PREM_CUDA_LAST_GRACE_NS;
    }
    if (now > give_up_ns) {
      prem_cuda_say_endless(cuda, diag);
      return stopped ? PREM_ERR_INTERRUPTED : PREM_ERR_MACHINE;
    }
    host_pause(POLL_NS);
  }
}

prem_status prem_cuda_watch_alone(const prem_cuda *cuda, const prem_run_request *request) {
  const prem_cuda *beside = cuda->beside;
  const int64_t length_ns = request->hyperperiods * cuda->program->hyperperiod_ns;
  int64_t look_ns = 0, end_ns = INT64_MAX;
  while (cudaStreamQuery(beside->stream) == cudaErrorNotReady && prem_host_clock_ns() < end_ns) {
    if (request->stop && *request->stop)
      return PREM_ERR_INTERRUPTED;
    prem_sentinel_tell(cuda->sentinel);
    prem_cuda_servers_look(cuda);
    if (end_ns == INT64_MAX && prem_host_clock_ns() >= look_ns) {
      if (!fetch(cuda, cuda->clock_word, &cuda->device.launch.state->start_ns,
                 sizeof *cuda->clock_word))
        return PREM_OK; /* stopping it will say why */
      if (*cuda->clock_word != 0)
        end_ns = prem_host_clock_ns() + PREM_CUDA_START_MARGIN_NS + length_ns;
      look_ns = prem_host_clock_ns() + LOOK_ALONE_NS;
    }
    host_pause(POLL_NS);
  }
  return PREM_OK;
}
