/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU is, and whether it is still there. */
#include "runtime/cuda/host/backend_parts.h"

#include <stdio.h>

#include "runtime/cuda/device/executive.h"
#include "runtime/cuda/host/driver_version.h"
#include "runtime/cuda/host/machine_facts.h"

static const prem_place nowhere = {0};

/* The one GPU that is used so far: the process's and no session's, since a machine is probed before
 * there is a session, and since all sessions share its context and lose it together. Its number is
 * said here alone: everybody else asks it of the GPU that was opened. */
static prem_cuda_device first_gpu = {.number = 0, .guard = PTHREAD_MUTEX_INITIALIZER};

prem_cuda_device *prem_cuda_first_gpu(void) {
  return &first_gpu;
}

cudaError_t prem_cuda_enter(const prem_cuda_device *gpu) {
  return cudaSetDevice(gpu->number);
}

prem_status prem_cuda_is_usable(const prem_cuda_device *gpu, prem_diag *diag) {
  const prem_cuda_loss loss = gpu->loss;
  if (loss == PREM_CUDA_THERE && !gpu->live)
    return PREM_OK;
  if (loss == PREM_CUDA_THERE) {
    prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda",
                  "a live session of this process runs on the GPU; stop it first, or use another "
                  "process");
    return PREM_ERR_MACHINE;
  }
  prem_diag_add(diag, PREM_ERROR, 0, nowhere, "cuda", "%s: start the program again",
                loss == PREM_CUDA_HELD
                    ? "a compute of an earlier run still holds the GPU"
                    : "this process lost the GPU when an earlier run failed on it");
  return PREM_ERR_MACHINE;
}

/* The most blocks that any plan could have: small ones, of few threads. */
static cudaError_t count_resident_blocks(const prem_launch *smallest, int32_t sm_count,
                                         int32_t *resident) {
  int32_t max = 0, max_threads;
  const void *variant;
  for (int32_t number = 0; (variant = prem_executive_general(number, &max_threads)); ++number) {
    int blocks = 0;
    cudaError_t error = cudaFuncSetAttribute(
        variant, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
    if (error == cudaSuccess)
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, variant, PREM_CUDA_MIN_THREADS,
                                                            (size_t)smallest->buffers_at);
    if (error != cudaSuccess)
      return error;
    if (blocks > max)
      max = blocks;
  }
  *resident = max * sm_count;
  return cudaSuccess;
}

/* As the driver's own tools write it. */
static void write_uuid(const cudaUUID_t *uuid, char *text, size_t bytes) {
  const unsigned char *b = (const unsigned char *)uuid->bytes;
  snprintf(text, bytes, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
           b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
           b[14], b[15]);
}

static cudaError_t find_facts(prem_cuda_device *gpu) {
  const struct cudaDeviceProp *device = &gpu->properties;
  prem_machine *out = &gpu->machine;
  prem_launch smallest = {.max_views = 2, .max_tasks = 1, .max_ports = 2, .max_moves = 1};
  prem_executive_lay_out(&smallest, prem_executive_bytes());
  snprintf(out->name, sizeof out->name, "%.127s", device->name);
  snprintf(out->backend, sizeof out->backend, "cuda");
  write_uuid(&device->uuid, out->uuid, sizeof out->uuid);
  prem_driver_version(out->driver, sizeof out->driver);
  out->cores = device->multiProcessorCount;
  out->scratch_bytes = (int64_t)device->sharedMemPerBlockOptin - smallest.buffers_at;
  cudaError_t error = count_resident_blocks(&smallest, out->cores, &out->max_blocks);
  if (error == cudaSuccess)
    error = prem_measure_clock(&out->clock_step_ns, &out->clock_read_ns);
  if (error == cudaSuccess)
    error = prem_measure_skew(gpu->number, out->clock_step_ns, &out->clock_skew_ns);
  return error;
}

/* A driver that is not there is called too old by the runtime. */
static const char *why_no_device(cudaError_t error) {
  int version = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&version) == cudaSuccess &&
      version == 0)
    return "no NVIDIA driver is loaded";
  return error == cudaSuccess ? "no device" : cudaGetErrorString(error);
}

static prem_status does_not_answer(cudaError_t error, prem_diag *diag) {
  prem_diag_add(diag, PREM_NOTE, 0, nowhere, "", "cuda: the GPU does not answer: %s",
                cudaGetErrorString(error));
  cudaGetLastError();
  return PREM_ERR_UNAVAILABLE;
}

static prem_status find_machine(prem_cuda_device *gpu, prem_diag *diag) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    prem_diag_add(diag, PREM_NOTE, 0, nowhere, "", "no GPU here: %s", why_no_device(error));
    cudaGetLastError();
    return PREM_ERR_UNAVAILABLE;
  }
  const struct cudaDeviceProp *device = &gpu->properties;
  error = prem_cuda_enter(gpu);
  if (error == cudaSuccess)
    error = cudaGetDeviceProperties(&gpu->properties, gpu->number);
  if (error == cudaSuccess && device->major < 7) {
    prem_diag_add(diag, PREM_NOTE, 0, nowhere, "",
                  "cuda: %s has compute capability %d.%d; 7.5 or newer is needed", device->name,
                  device->major, device->minor);
    return PREM_ERR_UNAVAILABLE;
  }
  if (error == cudaSuccess)
    error = find_facts(gpu);
  return error == cudaSuccess ? PREM_OK : does_not_answer(error, diag);
}

/* Measured once: a later probe may come beside a kernel that holds the GPU. */
prem_status prem_cuda_probe(prem_machine *out, prem_diag *diag) {
  prem_cuda_device *gpu = prem_cuda_first_gpu();
  prem_status status = PREM_OK;
  pthread_mutex_lock(&gpu->guard);
  if (!gpu->is_known) {
    gpu->machine = (prem_machine){0};
    status = find_machine(gpu, diag);
    gpu->is_known = status == PREM_OK;
  }
  *out = gpu->machine;
  pthread_mutex_unlock(&gpu->guard);
  return status;
}

prem_status prem_cuda_measure(prem_machine *machine, prem_diag *diag) {
  const prem_cuda_device *gpu = prem_cuda_first_gpu();
  if (prem_cuda_is_usable(gpu, diag) != PREM_OK)
    return PREM_ERR_UNAVAILABLE;
  cudaError_t error = prem_cuda_enter(gpu);
  if (error == cudaSuccess)
    error = prem_measure_copy(&machine->bandwidth_bytes_per_s);
  return error == cudaSuccess ? PREM_OK : does_not_answer(error, diag);
}
