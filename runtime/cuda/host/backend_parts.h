/** The cuda backend inside: what its parts share. */
#ifndef TTPREM_RUNTIME_CUDA_HOST_BACKEND_PARTS_H
#define TTPREM_RUNTIME_CUDA_HOST_BACKEND_PARTS_H

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "runtime/core/backend.h"
#include "runtime/cuda/host/program.h"

/** A compute that never comes back and an error of the device take the GPU from the whole process:
 *  calls that touch the device would wait for the one for ever, and fail after the other. */
typedef enum prem_cuda_loss { PREM_CUDA_THERE, PREM_CUDA_HELD, PREM_CUDA_BROKEN } prem_cuda_loss;

/** A GPU, shared by all sessions that use it. */
typedef struct prem_cuda_device {
  int number;
  pthread_mutex_t guard;
  bool is_known; /* under guard; when set, `properties` and `machine` stay as they are */
  struct cudaDeviceProp properties;
  prem_machine machine;
  _Atomic prem_cuda_loss loss;
} prem_cuda_device;

/** A session on a GPU. */
typedef struct prem_cuda {
  prem_cuda_device *gpu;
  const prem_program *program;
  prem_arrays *host;
  prem_cuda_arrays arrays;
  prem_cuda_program device;
  const void *executive; /* the variant with the most registers of which enough blocks fit */
  int32_t threads;
  size_t scratch_bytes;
  int32_t sm_count;
  cudaStream_t stream, control; /* the launch; the abort word */
  uint32_t *abort_word;         /* pinned: 1, and room for what the device says */
  prem_device_fault *fault;     /* pinned: what it says of a run that does not end */
  int64_t *clock_word;          /* pinned: a reading of its clock */
  void *records_room;           /* raw records in device memory */
  int64_t records_capacity;
  long long *ends_room; /* job_end_ns in device memory */
  int64_t ends_capacity;
  struct prem_opponents *opponents; /* NULL until a run asks for a mode without phases */
  const struct prem_cuda *leader;   /* whose ways they take; NULL: nobody's */
} prem_cuda;

#endif
