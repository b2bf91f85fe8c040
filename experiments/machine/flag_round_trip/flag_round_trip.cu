/* SPDX-License-Identifier: Apache-2.0 */
/* A flag goes to and fro between two blocks, or a block and a core. Both give up at a deadline. */
#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/machine/flag_round_trip/flag_trips.h"
#include "prem/base/clock.h"

namespace {

enum { LINE_WORDS = 64, LOOKS = 256, KEPT = 4096 };
constexpr int64_t patience_ns = 2000000000;

/** Each word has one writer, and a line of its own. */
struct flags {
  uint32_t ping, ping_line[LINE_WORDS - 1];
  uint32_t pong, pong_line[LINE_WORDS - 1];
};

template <typename order> __device__ void answer(flags *words, int32_t count, int64_t deadline_ns) {
  for (int32_t trip = 1; trip <= count; ++trip) {
    if (!prem_gpu_wait<order>(&words->ping, (uint32_t)trip, deadline_ns))
      return;
    order::tell(&words->pong, (uint32_t)trip);
  }
}

/** The times stay in the scratchpad for KEPT trips: a release would wait for one written to memory
 *  just before it. */
template <typename order>
__device__ void ask(flags *words, int32_t count, int64_t deadline_ns, int64_t *trips_ns) {
  extern __shared__ int64_t kept_ns[];
  for (int32_t trip = 0; trip < count; ++trip) {
    const int64_t begin_ns = prem_gpu_clock_ns();
    order::tell(&words->ping, (uint32_t)trip + 1u);
    if (!prem_gpu_wait<order>(&words->pong, (uint32_t)trip + 1u, deadline_ns))
      return;
    const int32_t place = trip % KEPT;
    kept_ns[place] = prem_gpu_clock_ns() - begin_ns;
    if (place + 1 < KEPT && trip + 1 < count)
      continue;
    for (int32_t i = 0; i <= place; ++i)
      trips_ns[trip - place + i] = kept_ns[i];
    __threadfence_system();
  }
}

/** Block 0 asks, block 1 answers. */
template <typename order>
__global__ void between_blocks(flags *words, int32_t count, int64_t *trips_ns) {
  const int64_t deadline_ns = prem_gpu_clock_ns() + patience_ns;
  if (blockIdx.x == 0)
    ask<order>(words, count, deadline_ns, trips_ns);
  else
    answer<order>(words, count, deadline_ns);
}

__global__ void with_host(flags *words, int32_t count) {
  answer<prem_system_wide>(words, count, prem_gpu_clock_ns() + patience_ns);
}

/* ---- on the host ---------------------------------------------------------------------------- */

/** Wait for the GPU's answer; false at the deadline. */
bool host_wait(const volatile uint32_t *word, uint32_t value, int64_t deadline_ns) {
  for (uint32_t look = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; ++look)
    if (look % LOOKS == 0 && prem_host_clock_ns() > deadline_ns)
      return false;
  return true;
}

void host_ask(flags *words, int32_t count, int64_t *trips_ns) {
  const int64_t deadline_ns = prem_host_clock_ns() + patience_ns;
  for (int32_t trip = 1; trip <= count; ++trip) {
    const int64_t begin_ns = prem_host_clock_ns();
    __atomic_store_n(&words->ping, (uint32_t)trip, __ATOMIC_RELEASE);
    if (!host_wait(&words->pong, (uint32_t)trip, deadline_ns))
      return;
    trips_ns[trip - 1] = prem_host_clock_ns() - begin_ns;
  }
}

cudaError_t trips_with_host(flags *words, flags *words_here, int32_t count, int64_t *trips_ns) {
  with_host<<<1, 1>>>(words_here, count);
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess)
    cudaStreamQuery(NULL); /* submits what the driver may still hold back */
  if (error == cudaSuccess)
    host_ask(words, count, trips_ns);
  const cudaError_t ended = cudaDeviceSynchronize();
  return error == cudaSuccess ? ended : error;
}

/** Each block takes most of an SM's scratchpad, so that they are on two; a cooperative launch
 *  promises that both run. */
cudaError_t trips_between_blocks(prem_trip_way way, flags *words_here, int32_t count,
                                 int64_t *trips_ns) {
  const void *kernel = way == PREM_TRIP_ALONE ? (const void *)between_blocks<prem_word_alone>
                       : way == PREM_TRIP_L2  ? (const void *)between_blocks<prem_gpu_wide>
                                              : (const void *)between_blocks<prem_system_wide>;
  int64_t *trips_here = NULL;
  const size_t bytes = (size_t)count * sizeof *trips_ns;
  cudaError_t error = prem_gpu_zeros((void **)&trips_here, bytes);
  void *arguments[] = {&words_here, &count, &trips_here};
  if (error == cudaSuccess)
    error = prem_gpu_launch_apart(kernel, 2, 1, arguments);
  if (error == cudaSuccess)
    error = cudaMemcpy(trips_ns, trips_here, bytes, cudaMemcpyDeviceToHost);
  cudaFree(trips_here);
  return error;
}

cudaError_t trips_through_host(prem_trip_way way, int32_t count, int64_t *trips_ns) {
  flags *words = NULL, *words_here = NULL;
  cudaError_t error = cudaHostAlloc((void **)&words, sizeof *words, cudaHostAllocMapped);
  if (error == cudaSuccess)
    error = cudaHostGetDevicePointer((void **)&words_here, words, 0);
  if (error == cudaSuccess) {
    *words = flags{};
    error = way == PREM_TRIP_HOST ? trips_with_host(words, words_here, count, trips_ns)
                                  : trips_between_blocks(way, words_here, count, trips_ns);
  }
  cudaFreeHost(words);
  return error;
}

cudaError_t trips_through_l2(prem_trip_way way, int32_t count, int64_t *trips_ns) {
  flags *words_here = NULL;
  cudaError_t error = prem_gpu_zeros((void **)&words_here, sizeof *words_here);
  if (error == cudaSuccess)
    error = trips_between_blocks(way, words_here, count, trips_ns);
  cudaFree(words_here);
  return error;
}

} // namespace

prem_status prem_gpu_trips(prem_trip_way way, int32_t count, int64_t *trips_ns, prem_diag *diag) {
  for (int32_t i = 0; i < count; ++i)
    trips_ns[i] = 0;
  prem_status status =
      prem_gpu_judge(way <= PREM_TRIP_L2 ? trips_through_l2(way, count, trips_ns)
                                         : trips_through_host(way, count, trips_ns),
                     "passing a flag", diag);
  if (status != PREM_OK || trips_ns[count - 1] > 0)
    return status;
  prem_diag_add(diag, PREM_NOTE, 0, (prem_place){NULL, 0}, "",
                "a flag was not answered within 2 s: are the two on the machine at the same time?");
  return PREM_ERR_UNAVAILABLE;
}
