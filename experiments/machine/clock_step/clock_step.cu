/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's clock as its SMs see it. Every wait has a deadline. */
#include <stdlib.h>

#include "experiments/common/gpu_work.cuh"
#include "experiments/common/gpu_work.h"
#include "experiments/machine/clock_step/clock_looks.h"

namespace {

enum { EXCHANGES = 256, LINE_WORDS = 32 };
constexpr int64_t patience_ns = 1000000000;

/** Between block 0 and one other; each word has one writer, and they lie on two lines. */
struct exchange {
  uint32_t sent, sent_line[LINE_WORDS - 1];
  uint32_t seen, seen_line[LINE_WORDS - 3];
  int64_t seen_ns; /* written before `seen` */
};

__global__ void read_clock(int32_t count, int64_t *readings_ns) {
  for (int32_t i = 0; i < count; ++i)
    readings_ns[i] = prem_gpu_clock_ns();
}

__device__ void answer(exchange *with, int64_t deadline_ns) {
  for (uint32_t number = 1; number <= EXCHANGES; ++number) {
    if (!prem_gpu_wait<prem_gpu_wide>(&with->sent, number, deadline_ns))
      return;
    *(volatile int64_t *)&with->seen_ns = prem_gpu_clock_ns();
    prem_gpu_wide::tell(&with->seen, number);
  }
}

__device__ bool ask(exchange *with, prem_clock_gap *gap, int64_t deadline_ns) {
  for (uint32_t number = 1; number <= EXCHANGES; ++number) {
    const int64_t sent_ns = prem_gpu_clock_ns();
    prem_gpu_wide::tell(&with->sent, number);
    if (!prem_gpu_wait<prem_gpu_wide>(&with->seen, number, deadline_ns))
      return false;
    const int64_t back_ns = prem_gpu_clock_ns();
    prem_clock_gap_narrow(gap, sent_ns, *(volatile int64_t *)&with->seen_ns, back_ns);
  }
  return true;
}

/** Block 0 asks all others, one after the other. `gaps` has a place for every block. */
__global__ void compare_clocks(exchange *exchanges, prem_clock_gap *gaps, int32_t *compared) {
  const int64_t deadline_ns = prem_gpu_clock_ns() + patience_ns;
  gaps[blockIdx.x].place = (int32_t)prem_gpu_sm();
  if (blockIdx.x > 0) {
    answer(&exchanges[blockIdx.x], deadline_ns);
    return;
  }
  for (uint32_t other = 1; other < gridDim.x; ++other) {
    prem_clock_gap gap = {0, INT64_MIN, INT64_MAX};
    if (!ask(&exchanges[other], &gap, deadline_ns))
      return;
    gaps[other].min_ns = gap.min_ns;
    gaps[other].max_ns = gap.max_ns;
    *compared = (int32_t)other;
  }
}

/** `host` has a gap for each block; `compared` is how many others block 0 has met. */
cudaError_t compare_all(prem_clock_gap *host, int32_t *compared, int32_t blocks) {
  const size_t exchange_bytes = (size_t)blocks * sizeof(exchange);
  const size_t gap_bytes = (size_t)blocks * sizeof(prem_clock_gap);
  unsigned char *room = NULL;
  cudaError_t error = prem_gpu_zeros((void **)&room, exchange_bytes + gap_bytes + sizeof *compared);
  unsigned char *gaps = room + exchange_bytes, *met = gaps + gap_bytes;
  void *arguments[] = {&room, &gaps, &met};
  if (error == cudaSuccess)
    error = prem_gpu_launch_apart((const void *)compare_clocks, blocks, 1, arguments);
  if (error == cudaSuccess)
    error = cudaMemcpy(host, gaps, gap_bytes, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error = cudaMemcpy(compared, met, sizeof *compared, cudaMemcpyDeviceToHost);
  cudaFree(room);
  return error;
}

} // namespace

prem_status prem_gpu_read_clock(int32_t count, int64_t *readings_ns, prem_diag *diag) {
  int64_t *here = NULL;
  const size_t bytes = (size_t)count * sizeof *readings_ns;
  cudaError_t error = cudaMalloc((void **)&here, bytes);
  if (error == cudaSuccess) {
    read_clock<<<1, 1>>>(count, here);
    error = cudaGetLastError();
  }
  if (error == cudaSuccess)
    error = cudaMemcpy(readings_ns, here, bytes, cudaMemcpyDeviceToHost);
  cudaFree(here);
  return prem_gpu_judge(error, "reading its clock", diag);
}

prem_status prem_gpu_clock_gaps(prem_clock_gap *gaps, int32_t *count, int32_t *first,
                                prem_diag *diag) {
  int32_t compared = 0, blocks = 0;
  cudaError_t error = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0);
  prem_clock_gap *all = (prem_clock_gap *)calloc((size_t)blocks + 1, sizeof *all);
  if (!all)
    return PREM_ERR_MEMORY;
  if (error == cudaSuccess)
    error = compare_all(all, &compared, blocks);
  prem_status status = prem_gpu_judge(error, "comparing its clocks", diag);
  if (status == PREM_OK && compared + 1 < blocks) {
    prem_diag_add(diag, PREM_NOTE, 0, (prem_place){NULL, 0}, "",
                  "the SMs' clocks were not compared within 1 s: %d of %d were", (int)compared + 1,
                  (int)blocks);
    status = PREM_ERR_UNAVAILABLE;
  }
  *first = all[0].place;
  for (int32_t i = 0; status == PREM_OK && i < compared && i < *count; ++i)
    gaps[i] = all[i + 1];
  *count = compared < *count ? compared : *count;
  free(all);
  return status;
}
