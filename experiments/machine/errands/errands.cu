/* SPDX-License-Identifier: Apache-2.0 */
/* The tile of an errand, launched and waited for. */
#include "experiments/common/gpu_work.h"
#include "experiments/machine/errands/launches.h"
#include "prem/base/clock.h"

/** Unless something went wrong before. */
#define NEXT(call) error = error == cudaSuccess ? (call) : error

namespace {

enum { BYTES = ERRAND_FLOATS * sizeof(float) };

struct launch_room {
  float *in, *out; /* on the host */
  float *device_in, *device_out;
  cudaStream_t stream;
};

__global__ void work_tile(const float *in, float *out) {
  for (int i = threadIdx.x; i < ERRAND_FLOATS; i += blockDim.x)
    out[i] = in[i] + 1.0f;
}

cudaError_t launch(const launch_room &room, bool copies) {
  const float *in = copies ? room.device_in : room.in;
  float *out = copies ? room.device_out : room.out;
  void *arguments[] = {&in, &out};
  cudaError_t error = cudaSuccess;
  if (copies)
    NEXT(cudaMemcpyAsync(room.device_in, room.in, BYTES, cudaMemcpyHostToDevice, room.stream));
  NEXT(cudaLaunchKernel((const void *)work_tile, dim3(1), dim3(ERRAND_THREADS), arguments, 0,
                        room.stream));
  if (copies)
    NEXT(cudaMemcpyAsync(room.out, room.device_out, BYTES, cudaMemcpyDeviceToHost, room.stream));
  NEXT(cudaStreamSynchronize(room.stream));
  return error;
}

cudaError_t launch_all(const launch_room &room, errand_launches *launches, int64_t *ns) {
  const int64_t all = launches->count;
  cudaError_t error = cudaSuccess;
  launches->right = true;
  launches->count = 0;
  for (int64_t i = 0; i < ERRAND_WARM_UP + all && !*launches->stop && error == cudaSuccess; ++i) {
    room.in[0] = (float)i;
    const int64_t begin_ns = prem_host_clock_ns();
    error = launch(room, launches->copies);
    if (i >= ERRAND_WARM_UP)
      ns[launches->count++] = prem_host_clock_ns() - begin_ns;
    launches->right = launches->right && room.out[0] == (float)i + 1 &&
                      room.out[ERRAND_FLOATS - 1] == room.in[ERRAND_FLOATS - 1] + 1;
  }
  return error;
}

} // namespace

prem_status prem_gpu_errand_launches(errand_launches *launches, int64_t *ns, prem_diag *diag) {
  launch_room room = {};
  cudaError_t error = cudaStreamCreateWithFlags(&room.stream, cudaStreamNonBlocking);
  NEXT(cudaHostAlloc((void **)&room.in, BYTES, cudaHostAllocMapped));
  NEXT(cudaHostAlloc((void **)&room.out, BYTES, cudaHostAllocMapped));
  NEXT(cudaMalloc((void **)&room.device_in, BYTES));
  NEXT(cudaMalloc((void **)&room.device_out, BYTES));
  for (int i = 0; i < ERRAND_FLOATS && error == cudaSuccess; ++i)
    room.in[i] = (float)i;
  NEXT(launch_all(room, launches, ns));
  cudaFree(room.device_out);
  cudaFree(room.device_in);
  cudaFreeHost(room.out);
  cudaFreeHost(room.in);
  if (room.stream)
    cudaStreamDestroy(room.stream);
  return prem_gpu_judge(error, "launching tiles", diag);
}
